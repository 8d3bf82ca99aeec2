"""Sparsity rules of pooling and convolutions (`engine.ops.pool` and `engine.ops.conv` say what the operands are).

Each tap of a window links an entry of the result with the place in the data that the tap reads: with all channels
there, or with one channel in pooling and depthwise convolutions.
"""

from __future__ import annotations

import math

import numpy as np

from engine.core.sparsity import Link, Links, Rule, Site, every, paired
from engine.ops.windows import Windows, tap_numbers

Shape = tuple[int, ...]


# ---- pooling ---------------------------------------------------------------------------------------------------------


def pooled(site: Site, i: int) -> list[Links]:
    """Of ``data -> something per window and channel``."""
    return [[Link(read, None, site.size(0)) for read in tap_numbers(site.shapes[0], **site.params)]]


def spread_over_windows(site: Site, i: int) -> list[Links]:
    """Of its transposes."""
    (shape,) = site.results
    return [[Link(None, read, math.prod(shape)) for read in tap_numbers(shape, **site.params)]]


# ---- convolutions ----------------------------------------------------------------------------------------------------


def convolution_rule(made: int, depthwise: bool) -> Rule:
    """Of the op that computes the data (0), the filters (1) or the convolution (2) from the two others."""

    def rule(site: Site, i: int) -> list[Links]:
        if site.params["stack"]:
            return every(site, i)
        known = *site.shapes[:made], *site.results, *site.shapes[made + 1 :]
        data, filters, result = known
        if 1 not in (i, made):
            taps = _taps(data, filters, result, site.params["windows"], depthwise)
            return [taps if made else [Link(link.operand, link.out, link.labels) for link in taps]]
        # the dimensions that count the same channels
        shapes, along = (data, filters, result), (-1, -2, -1)
        if 2 in (i, made):
            shapes, along = (data, _with_outputs_last(filters, depthwise), result), (-1, -1, -1)
        return [[paired(shapes[i], shapes[made], [(along[made], along[i])])]]

    return rule


def _with_outputs_last(filters: Shape, depthwise: bool) -> Shape:
    """The shape of filters whose last dimension counts the channels of the result."""
    return (*filters[:-2], filters[-2] * filters[-1]) if depthwise else filters


def _taps(data: Shape, filters: Shape, made: Shape, windows: Windows, depthwise: bool) -> list[Link]:
    """The links between a convolution and its data, one per tap."""
    size, channels = filters[:-2], data[-1]
    if depthwise:
        reads = tap_numbers(data, size, windows)
        return [Link(np.repeat(read, filters[-1]), None, math.prod(data)) for read in reads]
    places = math.prod(data[:-1])
    at = np.repeat(np.arange(places), channels)
    return [Link(np.repeat(read, made[-1]), at, places) for read in tap_numbers((*data[:-1], 1), size, windows)]
