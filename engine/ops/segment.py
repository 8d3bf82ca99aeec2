"""Reductions over segments: rows of data are grouped by an id each, and each group is reduced to one row.

``unsorted_segment_*`` take the number of segments and ids in any order; rows with a negative id are dropped.
``segment_*`` take ascending ids, the last of which says how many segments there are. All rules rest on `unsegment`,
which hands each row what its segment got.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from engine.core.aval import Aval, compatible, format_shape
from engine.core.batching import materialized
from engine.core.dtypes import INTEGER, NUMERIC, REAL, float16, float32
from engine.core.kinds import check_dtype, general, linear
from engine.core.op import Op, Rule
from engine.core.operands import Operand, operands
from engine.core.sparsity import MOVES, collected
from engine.core.structural import conj, scale
from engine.core.value import Value, dtype_of
from engine.ops.arithmetic import divide_no_nan, maximum
from engine.ops.axis_args import static_int
from engine.ops.compare import cast, cast_like, equal
from engine.ops.creation import ones_like
from engine.ops.explog import sqrt
from engine.ops.gather import add_at
from engine.ops.segment_scan import segment_products_of_others
from engine.runtime.errors import InvalidArgumentError, ShapeError
from engine.runtime.public_names import named

# ---- what all ops share ----------------------------------------------------------------------------------------------


def _batch(op: Op, size: int, flags: tuple[bool, ...], inputs: tuple[Any, ...], params: dict[str, Any]) -> Operand:
    """Data, ids and a reference all get the batch axis; a number of segments must not have it."""
    full = materialized(inputs, flags, size)
    if op.args[-1] == "num_segments":
        if flags[-1]:
            raise ShapeError(f"{op.title}: argument `num_segments` must not differ between batch elements")
        full[-1] = inputs[-1]
    elif op.args[-1] == "segment_ids" and op is not unsegment and flags[-1]:
        raise ShapeError(
            f"{op.title}: argument `segment_ids` must not differ between batch elements, for it decides the result's "
            f"shape; use the unsorted function, which is told the number of segments"
        )
    return op(*full, **{**params, "lead": params.get("lead", 0) + 1})


def _flat_ids(ids: Any, lead: int, count: int, name: str) -> np.ndarray:
    """The ids as a vector, those of each batch element moved behind those of the one before."""
    if np.any(ids >= count):
        raise InvalidArgumentError(f"{name}: argument `segment_ids` must be below {count}, got {np.max(ids)}")
    size = math.prod(ids.shape[:lead])
    flat = ids.reshape(size, math.prod(ids.shape[lead:])).astype(np.int64)
    if size > 1:
        flat = np.where(flat < 0, -1, flat + np.arange(size)[:, None] * count)
    return flat.ravel()


def _check_rows(name: str, data: Any, ids: Any, lead: int) -> None:
    """Raise ShapeError unless there is one id per row: the shape of the data starts with that of the ids."""
    if data.shape is None or ids.shape is None:
        return
    if not compatible(data.shape[: len(ids.shape)], ids.shape):
        raise ShapeError(
            f"{name}: the shape of `data` must start with that of `segment_ids`, "
            f"got {format_shape(data.shape[lead:])} and {format_shape(ids.shape[lead:])}"
        )


def _abstract(name: str, data: Aval, ids: Aval, count: int | None, lead: int) -> Aval:
    check_dtype(name, "segment_ids", ids, INTEGER)
    _check_rows(name, data, ids, lead)
    if data.shape is None or ids.shape is None:
        return Aval(None, data.dtype)
    return Aval((*data.shape[:lead], count, *data.shape[len(ids.shape) :]), data.dtype)


# ---- unsegment and its transpose -------------------------------------------------------------------------------------


def _unsegment_kernel(x: Any, ids: Any, *, lead: int = 0) -> np.ndarray:
    count, row = x.shape[lead], x.shape[lead + 1 :]
    flat = _flat_ids(ids, lead, count, "unsegment")
    rows = x.reshape(math.prod(x.shape[: lead + 1]), *row)
    dropped = flat < 0
    if not dropped.any():
        out = rows[flat]
    else:
        out = np.zeros((len(flat), *row), x.dtype)
        out[~dropped] = rows[flat[~dropped]]
    return out.reshape(ids.shape + row)


def _unsegment_abstract(x: Aval, ids: Aval, *, lead: int = 0) -> Aval:
    check_dtype("unsegment", "segment_ids", ids, INTEGER)
    if x.shape is None or ids.shape is None:
        return Aval(None, x.dtype)
    return Aval(ids.shape + x.shape[lead + 1 :], x.dtype)


unsegment = linear(
    "unsegment",
    _unsegment_kernel,
    lambda ct, x, ids, *, lead=0: segment_sum_like(ct, ids, x, lead=lead),
    _unsegment_abstract,
    _batch,
    args=("x", "segment_ids"),
    sparsity=MOVES,
    doc="The row of x that each id names; zeros for negative ids.",
)


def _sum_kernel(data: Any, ids: Any, count: int, lead: int) -> np.ndarray:
    flat = _flat_ids(ids, lead, count, "unsorted_segment_sum")
    leading, row = data.shape[:lead], data.shape[ids.ndim :]
    values = data.reshape(len(flat), math.prod(row))
    kept = flat >= 0
    if not kept.all():
        flat, values = flat[kept], values[kept]
    return add_at(math.prod(leading) * count, flat, values).reshape(*leading, count, *row)


_by_segment = collected(lambda out, data, ids, *_, lead=0: _unsegment_kernel(out, ids, lead=lead))
segment_sum_like = linear(
    "segment_sum_like",
    lambda data, ids, ref, *, lead=0: _sum_kernel(data, ids, ref.shape[lead], lead),
    lambda ct, data, ids, ref, *, lead=0: unsegment(ct, ids, lead=lead),
    lambda data, ids, ref, *, lead=0: _abstract(
        "segment_sum_like", data, ids, None if ref.shape is None else ref.shape[lead], lead
    ),
    _batch,
    strict=False,
    args=("data", "segment_ids", "ref"),
    sparsity=_by_segment,
    doc="Sums over segments, as many as `ref` has rows.",
)


# ---- reductions ------------------------------------------------------------------------------------------------------


def _folding(name: str, ufunc: Any, empty: Callable[[Any], Any]) -> Callable[..., Any]:
    """``fold(data, ids, count, lead)``: rows folded by a ufunc; ``empty(dtype)`` for a segment without rows."""

    def fold(data: Any, ids: Any, count: int, lead: int) -> np.ndarray:
        flat = _flat_ids(ids, lead, count, f"unsorted_{name}")
        leading, row = data.shape[:lead], data.shape[ids.ndim :]
        values = data.reshape(len(flat), math.prod(row))
        out = np.full((math.prod(leading) * count, math.prod(row)), empty(data.dtype), data.dtype)
        # NumPy sorts 16-bit integers several times faster than longer ones
        keys = np.maximum(flat, -1).astype(np.int16) if len(out) <= np.iinfo(np.int16).max else flat
        order = np.argsort(keys, kind="stable")
        order = order[np.searchsorted(flat, 0, sorter=order) :]
        if len(order):
            ordered = flat[order]
            starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
            out[ordered[starts]] = ufunc.reduceat(values[order], starts, axis=0)
        return out.reshape(*leading, count, *row)

    return fold


def _segment_count(name: str, ids: Any, lead: int) -> int:
    """The number of segments that ascending ids name, after checking that they ascend."""
    one = ids[(0,) * lead]
    if one.ndim != 1:
        raise ShapeError(f"{name}: argument `segment_ids` must be a vector, got shape {format_shape(one.shape)}")
    if len(one) and (one[0] < 0 or np.any(one[1:] < one[:-1])):
        raise InvalidArgumentError(
            f"{name}: argument `segment_ids`: segment ids are not increasing from 0 or more: {one}"
        )
    return int(one[-1]) + 1 if len(one) else 0


def _pair(
    name: str,
    folds: tuple[Callable[..., Any], Callable[..., Any]],
    rules: tuple[Rule, Rule],
    accepts: Any,
    doc: str,
    selects: bool = False,
) -> tuple[Op, Op]:
    """The unsorted and the sorted op that fold rows in one way (up to what a segment without rows gets)."""
    (unsorted_fold, sorted_fold), (vjp, jvp) = folds, rules

    def unsorted_abstract(data: Aval, ids: Aval, number: Aval, *, lead: int = 0) -> Aval:
        check_dtype(f"unsorted_{name}", "data", data, accepts)
        count = number.value if isinstance(number.value, int) else None
        return _abstract(f"unsorted_{name}", data, ids, count, lead)

    def unsorted_kernel(data: Any, ids: Any, number: Any, *, lead: int = 0) -> np.ndarray:
        _check_rows(f"unsorted_{name}", data, ids, lead)
        return unsorted_fold(data, ids, int(number), lead)

    def sorted_abstract(data: Aval, ids: Aval, *, lead: int = 0) -> Aval:
        check_dtype(name, "data", data, accepts)
        known = isinstance(ids.value, tuple) and None not in ids.value
        return _abstract(name, data, ids, _segment_count(name, np.asarray(ids.value), 0) if known else None, lead)

    def sorted_kernel(data: Any, ids: Any, *, lead: int = 0) -> np.ndarray:
        _check_rows(name, data, ids, lead)
        return sorted_fold(data, ids, _segment_count(name, ids, lead), lead)

    made = []
    for prefix, kernel, abstract, args in (
        ("unsorted_", unsorted_kernel, unsorted_abstract, ("data", "segment_ids", "num_segments")),
        ("", sorted_kernel, sorted_abstract, ("data", "segment_ids")),
    ):
        none = (None,) * (len(args) - 1)
        op = general(
            f"{prefix}{name}_op",
            kernel,
            abstract,
            vjp=(vjp, *none),
            jvp=(jvp, *none),
            batch=_batch,
            selects=selects,
            type="".join(part.capitalize() for part in f"{prefix}{name}".split("_")),
            args=args,
            sparsity=_by_segment,
            doc=doc,
        )
        made.append(op)
    return made[0], made[1]


def _with_slope(slope: Callable[..., Any], **either: bool) -> tuple[Rule, Rule]:
    """Both rules of an op; each row's derivative is ``slope(out, data, ids, *number)``; `either` as in `scale`."""

    def vjp(ct: Any, out: Any, data: Any, ids: Any, *number: Any, lead: int = 0) -> Operand:
        return scale(unsegment(ct, ids, lead=lead), conj(slope(out, data, ids, *number, lead=lead)), **either)

    def jvp(t: Any, out: Any, data: Any, ids: Any, *number: Any, lead: int = 0) -> Operand:
        return segment_sum_like(scale(t, slope(out, data, ids, *number, lead=lead), **either), ids, out, lead=lead)

    return vjp, jvp


def _share_of_ties(out: Any, data: Any, ids: Any, *number: Any, lead: int) -> Operand:
    """1 at the extremum of each segment; 1/k at each of k ties."""
    chosen = cast_like(equal(data, unsegment(out, ids, lead=lead)), data)
    return divide_no_nan(chosen, unsegment(segment_sum_like(chosen, ids, out, lead=lead), ids, lead=lead))


def _limits(dtype: Any) -> Any:
    return np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype)


_product = _folding("segment_prod", np.multiply, lambda dtype: 1)


def _extremes(name: str, ufunc: Any, empty: str, doc: str) -> tuple[Op, Op]:
    """The ops that choose elements; a segment without rows gets that limit of the dtype, or 0 if they are sorted."""
    folds = _folding(name, ufunc, lambda dtype: getattr(_limits(dtype), empty)), _folding(name, ufunc, lambda dtype: 0)
    return _pair(name, folds, _with_slope(_share_of_ties, either=True), REAL, doc, selects=True)


unsorted_segment_sum_op, segment_sum_op = _pair(
    "segment_sum",
    (_sum_kernel, _sum_kernel),
    (
        lambda ct, out, data, ids, *number, lead=0: unsegment(ct, ids, lead=lead),
        lambda t, out, data, ids, *number, lead=0: segment_sum_like(t, ids, out, lead=lead),
    ),
    NUMERIC,
    "Sums over segments; 0 for a segment without rows.",
)
unsorted_segment_max_op, segment_max_op = _extremes("segment_max", np.maximum, "min", "Largest elements of segments.")
unsorted_segment_min_op, segment_min_op = _extremes("segment_min", np.minimum, "max", "Smallest elements of segments.")
unsorted_segment_prod_op, segment_prod_op = _pair(
    "segment_prod",
    (_product, _product),
    _with_slope(lambda out, data, ids, *number, lead: segment_products_of_others(data, ids, lead)),
    NUMERIC,
    """Products over segments; 1 for a segment without rows.

    The derivative costs some 20 times as much: running products from both ends, so that zeros do no harm.
    """,
)


def _number(num_segments: Any) -> Operand:
    """The number of segments as an operand: an integer tensor stays one, an int does not take the data's dtype."""
    if isinstance(num_segments, Value):
        return num_segments
    number = static_int("unsorted_segment", "num_segments", num_segments)
    try:
        return np.asarray(number, np.int32)
    except OverflowError:
        raise InvalidArgumentError(f"argument `num_segments` must be below 2**31, got {num_segments}") from None


@operands("data", alone=("segment_ids",))
def unsorted_segment_sum(data: Any, segment_ids: Any, num_segments: Any) -> Operand:
    """Sums of the rows of `data` that have the same id.

    Parameters
    ----------
    data : value
        Its shape starts with that of `segment_ids`.
    segment_ids : integer value
        Below `num_segments`; rows with a negative id are dropped.
    num_segments : int or integer scalar

    Returns
    -------
    value
        One row per segment, 0 for a segment without rows.

    Raises
    ------
    InvalidArgumentError
        If an id is too large.
    ShapeError
        If there is not one id per row.

    Examples
    --------
    >>> unsorted_segment_sum(np.array([1.0, 2.0, 4.0]), np.array([1, 0, 1]), 3)
    array([2., 5., 0.])
    """
    return unsorted_segment_sum_op(data, segment_ids, _number(num_segments))


def _countable(data: Any) -> Operand:
    """`data`, half floats in single precision: they cannot count to 2049."""
    return cast(data, float32) if dtype_of(data) is float16 else data


def _rows_per_segment(data: Any, segment_ids: Any, num_segments: Any) -> Operand:
    """How many rows each segment has (1 if none), in the shape and dtype of its sum."""
    count = unsorted_segment_sum(ones_like(data), segment_ids, num_segments)
    return maximum(count, ones_like(count))


@operands("data", alone=("segment_ids",))
def unsorted_segment_mean(data: Any, segment_ids: Any, num_segments: Any) -> Operand:
    """Means of the rows that have the same id (parameters as in `unsorted_segment_sum`); 0 for a segment without rows.

    Examples
    --------
    >>> unsorted_segment_mean(np.array([1.0, 2.0, 4.0]), np.array([1, 0, 1]), 3)
    array([2. , 2.5, 0. ])
    """
    rows = _countable(data)
    total = unsorted_segment_sum(rows, segment_ids, num_segments)
    mean = total / _rows_per_segment(rows, segment_ids, num_segments)
    return cast_like(mean, data) if rows is not data else mean


@operands("data", alone=("segment_ids",))
def unsorted_segment_sqrt_n(data: Any, segment_ids: Any, num_segments: Any) -> Operand:
    """Sums of the rows that have the same id over the root of their number (else as `unsorted_segment_sum`)."""
    rows = _countable(data)
    total = unsorted_segment_sum(rows, segment_ids, num_segments)
    means = total / sqrt(_rows_per_segment(rows, segment_ids, num_segments))
    return cast_like(means, data) if rows is not data else means


@operands("data", alone=("segment_ids",))
def segment_sum(data: Any, segment_ids: Any) -> Operand:
    """Sums of the rows of `data` that have the same id.

    Parameters
    ----------
    data : value
    segment_ids : integer value of shape (rows,)
        Ascending; the last one is the number of segments less 1.

    Returns
    -------
    value
        One row per segment, 0 for a segment without rows.

    Examples
    --------
    >>> segment_sum(np.array([1.0, 2.0, 4.0]), np.array([0, 0, 2]))
    array([3., 0., 4.])
    """
    return segment_sum_op(data, segment_ids)


@operands("data", alone=("segment_ids",))
def segment_mean(data: Any, segment_ids: Any) -> Operand:
    """Means of the rows that have the same id (parameters as in `segment_sum`); 0 for a segment without rows."""
    rows = _countable(data)
    count = segment_sum(ones_like(rows), segment_ids)
    return cast_like(segment_sum(rows, segment_ids) / maximum(count, ones_like(count)), data)


def _both(name: str, unsorted_op: Op, sorted_op: Op, what: str, empty: tuple[str, str], more: str) -> tuple[Any, Any]:
    """The function that is told the number of segments, and the one of ascending ids."""

    @operands("data", alone=("segment_ids",))
    def unsorted(data: Any, segment_ids: Any, num_segments: Any) -> Operand:
        return unsorted_op(data, segment_ids, _number(num_segments))

    @operands("data", alone=("segment_ids",))
    def ascending(data: Any, segment_ids: Any) -> Operand:
        return sorted_op(data, segment_ids)

    def doc(full: str, value: str) -> str:
        first = f"{what} of the rows that have the same id (see `{full}`)."
        return f"{first}\n\n    {value} for a segment without rows. {more}\n    "

    named(ascending, name, doc("segment_sum", empty[1]))
    return named(unsorted, f"unsorted_{name}", doc("unsorted_segment_sum", empty[0])), ascending


_TIES = "Each of k ties has the derivative 1/k."
unsorted_segment_max, segment_max = _both(
    "segment_max", unsorted_segment_max_op, segment_max_op, "Largest elements", ("The lowest number", "0"), _TIES
)
unsorted_segment_min, segment_min = _both(
    "segment_min", unsorted_segment_min_op, segment_min_op, "Smallest elements", ("The highest number", "0"), _TIES
)
unsorted_segment_prod, segment_prod = _both(
    "segment_prod",
    unsorted_segment_prod_op,
    segment_prod_op,
    "Products",
    ("1", "1"),
    "Derivatives of any order are exact where elements are zero.",
)
