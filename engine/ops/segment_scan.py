"""Recurrences along the rows of each segment: the linear one, of which the derivatives of products are made.

As in `engine.ops.scan`, but row by row of the segments that ids name, in whatever order they stand. Rows with a
negative id are in no segment; each stands alone.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from engine.core.aval import Aval, merge_shapes
from engine.core.batching import aligned
from engine.core.dtypes import INEXACT, INTEGER, NUMERIC
from engine.core.kinds import check_dtype, general, linear, same_dtype
from engine.core.operands import Operand
from engine.core.sparsity import MOVES, Link, Links, Site
from engine.core.structural import conj
from engine.ops.creation import ones_like


class _Rows:
    """The rows of all segments in order of these, each segment's one after the other."""

    def __init__(self, ids: Any, lead: int, reverse: bool) -> None:
        batch = math.prod(ids.shape[:lead])
        keys = ids.reshape(batch, math.prod(ids.shape[lead:])).astype(np.int64)
        # those of each batch element behind those of the one before
        keys = np.where(keys < 0, -1, keys + np.arange(batch)[:, None] * (keys.max(initial=0) + 1)).ravel()
        self.order = np.argsort(keys, kind="stable")
        if reverse:
            self.order = self.order[::-1]
        self.keys = keys[self.order]

    def together(self, step: int) -> np.ndarray:
        """For each row but the first so many, whether the one so many before is of the same segment, as a column."""
        late = self.keys[step:]
        return ((late == self.keys[:-step]) & (late >= 0))[:, None]

    def sorted(self, x: Any) -> np.ndarray:
        """The rows of x in this order."""
        return x.reshape(len(self.order), -1 if x.size else 0)[self.order]

    def back(self, rows: Any, shape: tuple[int, ...]) -> np.ndarray:
        """Rows in this order where they belong."""
        out = np.empty_like(rows)
        out[self.order] = rows
        return out.reshape(shape)


_batch = aligned(counts="lead")


def _shift_kernel(x: Any, ids: Any, *, reverse: bool, lead: int = 0) -> np.ndarray:
    rows = _Rows(ids, lead, reverse)
    ordered = rows.sorted(x)
    out = np.zeros_like(ordered)
    np.copyto(out[1:], ordered[:-1], where=rows.together(1))
    return rows.back(out, x.shape)


def _shift_abstract(x: Aval, ids: Aval, *, reverse: bool, lead: int = 0) -> Aval:
    check_dtype("segment_shift", "x", x, NUMERIC)
    check_dtype("segment_shift", "segment_ids", ids, INTEGER)
    return Aval(x.shape, x.dtype)


segment_shift = linear(
    "segment_shift",
    _shift_kernel,
    lambda ct, x, ids, *, reverse, lead=0: segment_shift(ct, ids, reverse=not reverse, lead=lead),
    _shift_abstract,
    _batch,
    args=("x", "segment_ids"),
    sparsity=MOVES,
    doc="For each row the one before it in its segment (after it if ``reverse``); zeros for the first.",
)


def _recurrence_kernel(u: Any, a: Any, ids: Any, *, reverse: bool, lead: int = 0) -> np.ndarray:
    # by doubling, as `engine.ops.scan.recurrence`
    rows = _Rows(ids, lead, reverse)
    r, a = rows.sorted(u), rows.sorted(a)
    step = 1
    while step < len(r) and (there := rows.together(step)).any():
        r[step:] += np.where(there, a[step:] * r[:-step], 0)
        a[step:] = np.where(there, a[step:] * a[:-step], a[step:])
        step *= 2
    return rows.back(r, u.shape)


def _recurrence_abstract(u: Aval, a: Aval, ids: Aval, *, reverse: bool, lead: int = 0) -> Aval:
    check_dtype("segment_recurrence", "u", u, INEXACT)
    check_dtype("segment_recurrence", "segment_ids", ids, INTEGER)
    return Aval(merge_shapes(u.shape, a.shape), same_dtype("segment_recurrence", ("u", "a"), (u, a)))


def _recurrence_du(ct: Any, out: Any, u: Any, a: Any, ids: Any, *, reverse: bool, lead: int = 0) -> Operand:
    following = segment_shift(conj(a), ids, reverse=not reverse, lead=lead)
    return segment_recurrence(ct, following, ids, reverse=not reverse, lead=lead)


def _recurrence_da(ct: Any, out: Any, u: Any, a: Any, ids: Any, *, reverse: bool, lead: int = 0) -> Operand:
    adjoint = _recurrence_du(ct, out, u, a, ids, reverse=reverse, lead=lead)
    return adjoint * segment_shift(conj(out), ids, reverse=reverse, lead=lead)


def _recurrence_jvp_a(t: Any, out: Any, u: Any, a: Any, ids: Any, *, reverse: bool, lead: int = 0) -> Operand:
    driven = t * segment_shift(out, ids, reverse=reverse, lead=lead)
    return segment_recurrence(driven, a, ids, reverse=reverse, lead=lead)


def _within(site: Site, i: int) -> list[Links]:
    """An element depends on those of its column in its segment."""
    ids, shape = site.other(2), site.shapes[0]
    keys = np.ravel(ids)
    # a row in no segment depends on itself
    keys = np.where(keys < 0, keys.max(initial=0) + 1 + np.arange(len(keys)), keys)
    keys = np.unique(keys, return_inverse=True)[1]
    columns = math.prod(shape[ids.ndim :])
    labels = (keys[:, None] * columns + np.arange(columns)).ravel()
    return [[Link(labels, labels, math.prod(shape))]]


segment_recurrence = general(
    "segment_recurrence",
    _recurrence_kernel,
    _recurrence_abstract,
    vjp=(_recurrence_du, _recurrence_da, None),
    jvp=(lambda t, out, u, a, ids, **how: segment_recurrence(t, a, ids, **how), _recurrence_jvp_a, None),
    batch=_batch,
    strict=False,
    args=("u", "a", "segment_ids"),
    sparsity=_within,
    doc="``r = u + a * (r of the row before in its segment)``, of the row after if ``reverse``.",
)


def segment_products_of_others(x: Any, ids: Any, lead: int) -> Operand:
    """For each row the product of the others in its segment: of those before, times those after."""
    products = []
    for reverse in (False, True):
        first = ones_like(x) - segment_shift(ones_like(x), ids, reverse=reverse, lead=lead)
        before = segment_shift(x, ids, reverse=reverse, lead=lead)
        products.append(segment_recurrence(first, before, ids, reverse=reverse, lead=lead))
    return products[0] * products[1]
