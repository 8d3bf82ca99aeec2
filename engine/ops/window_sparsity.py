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


def forward_rule(depthwise: bool) -> Rule:
    """Of ``(data, filters) -> convolution``."""

    def rule(site: Site, i: int) -> list[Links]:
        (data, filters), (made,) = site.shapes, site.results
        if site.params["stack"]:
            return every(site, i)
        if i == 0:
            return [_taps(data, filters, made, site.params["windows"], depthwise)]
        return [[paired(_with_outputs_last(filters, depthwise), made, [(-1, -1)])]]

    return rule


def data_rule(depthwise: bool) -> Rule:
    """Of ``(sizes, filters, convolution) -> data``."""

    def rule(site: Site, i: int) -> list[Links]:
        (_, filters, made), (data,) = site.shapes, site.results
        if site.params["stack"]:
            return every(site, i)
        if i == 2:
            taps = _taps(data, filters, made, site.params["windows"], depthwise)
            return [[Link(link.operand, link.out, link.labels) for link in taps]]
        return [[paired(filters, data, [(-1, -2)])]]

    return rule


def filters_rule(depthwise: bool) -> Rule:
    """Of ``(data, sizes, convolution) -> filters``."""

    def rule(site: Site, i: int) -> list[Links]:
        (filters,) = site.results
        if site.params["stack"]:
            return every(site, i)
        if i == 0:
            return [[paired(site.shapes[0], filters, [(-2, -1)])]]
        return [[paired(site.shapes[2], _with_outputs_last(filters, depthwise), [(-1, -1)])]]

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
