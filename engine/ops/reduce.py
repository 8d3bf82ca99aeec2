"""Reductions: sums, means, products, extrema, norms and logical ones, over any axes.

All reductions share the parameters ``axis`` (a tuple; the public functions count it from the end where the rank is
known, so that it means the same in a batch; None stands for all axes of a tensor of unknown rank) and ``keepdims``.
Their rules rest on `spread_like`, which repeats a reduced value along the axes it was reduced over.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from engine.core.aval import Aval, Shape, compatible, format_shape, merge_shapes
from engine.core.batching import Batches, all_batched, axis_param, logical_rank
from engine.core.dtypes import BOOL, FLOATING, NUMERIC, DType
from engine.core.eager import EagerTensor
from engine.core.kinds import PerOperand, PushedTogether, check_dtype, general, linear, nondifferentiable, same_dtype
from engine.core.op import Layout, Op
from engine.core.operands import Array, Operand, operands
from engine.core.sparsity import ELEMENTWISE, along, scaled
from engine.core.structural import all_beyond, conj, like_abstract, like_batch, reshape_like, scale
from engine.core.sums import add_over
from engine.core.value import shape_of
from engine.ops.arithmetic import add
from engine.ops.axis_args import Axes, count_reduced, kept_shape, negative_axes, reduced_shape, reduction_axes
from engine.ops.compare import cast, not_equal
from engine.ops.creation import ones_like, zeros_like
from engine.ops.scan import cumprod_op
from engine.ops.shape import reshape
from engine.runtime import elementary
from engine.runtime.cache import cached
from engine.runtime.errors import InvalidArgumentError, ShapeError


def reduction_abstract(name: str, accepts: Iterable[DType]) -> Callable[..., Aval]:
    """Abstract evaluation of a reduction that keeps the dtype."""

    def abstract(x: Aval, *, axis: Axes, keepdims: bool) -> Aval:
        check_dtype(name, "input_tensor", x, accepts)
        if x.shape is not None:
            negative_axes(name, axis, len(x.shape))
        return Aval(reduced_shape(x.shape, axis, keepdims), x.dtype)

    return abstract


def nothing_reduced(avals: Any, params: dict[str, Any]) -> int | None:
    """Reducing only axes of size one (or none at all) changes nothing, if the shape stays."""
    x = avals[0]
    return 0 if x.is_static and reduced_shape(x.shape, params["axis"], params["keepdims"]) == x.shape else None


# ---- spread_like: the transpose of sum and mean ----------------------------------------------------------------------


def share(x: Any, count: int) -> Any:
    """The share of each of so many elements in a mean, or in its derivative: ``x / count`` in x's dtype.

    No half float is as large as a count may be.
    """
    return (x.astype(np.float32) / np.float32(count)).astype(x.dtype) if x.dtype.itemsize == 2 else x / count


def _spread_kernel(
    x: Any, ref: Any, *, axis: Axes, keepdims: bool, mean: bool = False, lead: int = 0, ref_lead: int = 0
) -> np.ndarray:
    leading, shape = x.shape[:lead], ref.shape[ref_lead:]
    if mean and (count := count_reduced(shape, axis)) > 1:
        x = share(x, count)
    return np.broadcast_to(np.reshape(x, leading + kept_shape(shape, axis)), leading + shape)


def _spread_batch(
    op: Op, size: int, flags: tuple[bool, ...], inputs: tuple[Any, ...], params: dict[str, Any]
) -> Batches:
    # counted from the end, the axes stay what they are whatever stands in front
    rank = logical_rank(op, inputs[1], flags[1]) - params.get("ref_lead", 0)
    return like_batch(op, size, flags, inputs, {**params, "axis": negative_axes(op.name, params["axis"], rank)})


spread_like_op = linear(
    "spread_like_op",
    _spread_kernel,
    lambda ct, x, ref, *, axis, keepdims, mean=False, **_: (reduce_mean_op if mean else reduce_sum_op)(
        ct, axis=axis, keepdims=keepdims
    ),
    like_abstract,
    _spread_batch,
    type="SpreadLike",
    args=("x", "ref"),
    sparsity=scaled(mean=False),
    layout=Layout.PART,
    repeats=True,
    doc="A reduced value repeated along the axes over which `ref` was reduced; with ``mean`` divided by their size.",
)


def spread_like(x: Any, ref: Any, axis: Axes, keepdims: bool, mean: bool = False) -> Operand:
    """`x`, of the shape that reducing `ref` gives, repeated to the shape of `ref`: the transpose of a sum.

    With `mean` it is divided by the number of elements reduced: the transpose of a mean. No size need be known.
    """
    return spread_like_op(x, ref, axis=axis, keepdims=keepdims, mean=mean)


# ---- sum and mean ----------------------------------------------------------------------------------------------------


def _reduced(x: Any, out: Any) -> Array:
    """The result of a sum, mean or product: of one element each, that element with its sign, even of a zero."""
    return np.positive(x, order="C").reshape(out.shape)[()] if out.size == x.size else out


def _sum_kernel(x: Any, *, axis: Axes, keepdims: bool) -> Operand:
    out = add_over(x, axis, keepdims)
    return out if out.size != x.size else _reduced(x, out)


def mean_kernel(x: Any, *, axis: Axes, keepdims: bool) -> Operand:
    """The mean of an array in its own dtype."""
    count = count_reduced(x.shape, axis)
    kind = x.dtype.kind
    if kind in "iu":
        total = add_over(x, axis, keepdims, np.int64)
        # toward zero, as integers divide in TensorFlow
        return (np.sign(total) * (np.absolute(total) // count)).astype(x.dtype)
    if x.dtype.itemsize == 2:
        # a sum of half floats overflows long before their mean does
        return _reduced(x, (add_over(x, axis, keepdims, np.float32) / np.float32(count)).astype(x.dtype))
    return _reduced(x, np.true_divide(add_over(x, axis, keepdims), x.dtype.type(count)))


reduce_sum_op = linear(
    "reduce_sum_op",
    _sum_kernel,
    lambda ct, x, *, axis, keepdims: spread_like(ct, x, axis, keepdims),
    reduction_abstract("reduce_sum", NUMERIC),
    axis_param,
    type="Sum",
    args=("input_tensor",),
    simplify=nothing_reduced,
    sparsity=along,
    shares=(),
    keeps_nan=(0,),
    doc="Sum over axes.",
)
reduce_mean_op = linear(
    "reduce_mean_op",
    mean_kernel,
    lambda ct, x, *, axis, keepdims: spread_like(ct, x, axis, keepdims, mean=True),
    reduction_abstract("reduce_mean", NUMERIC),
    axis_param,
    type="Mean",
    args=("input_tensor",),
    simplify=nothing_reduced,
    sparsity=along,
    shares=(),
    doc="Mean over axes.",
)


@cached(4096, typed=True)
def _axes_of(op: Op, axis: int | None, rank: int) -> tuple[int, ...]:
    """`reduction_axes` for the common arguments."""
    return negative_axes(op.title, axis, rank)


def reduce_with(op: Op, x: Any, axis: Any, keepdims: bool) -> Operand:
    """Apply a reduction op, with `axis` as users write it."""
    if axis is None or type(axis) is int:
        shape = x._array.shape if type(x) is EagerTensor else shape_of(x)
        if shape is not None:
            return op(x, axis=_axes_of(op, axis, len(shape)), keepdims=bool(keepdims))
    result = (None,) * len(shape_of(x) or ()) if keepdims else ()
    return op(x, axis=reduction_axes(op.title, x, axis, result or None), keepdims=bool(keepdims))


@operands("input_tensor")
def reduce_sum(input_tensor: Any, axis: Any = None, keepdims: bool = False) -> Operand:
    """Sum over axes.

    Parameters
    ----------
    input_tensor : value, numeric
        Integers keep their dtype (and wrap around).
    axis : int or sequence of int, optional
        By default all axes.
    keepdims : bool
        Keep the reduced axes with size one.

    Examples
    --------
    >>> reduce_sum(np.ones((2, 3)), axis=1)
    array([3., 3.])
    """
    return reduce_with(reduce_sum_op, input_tensor, axis, keepdims)


@operands("input_tensor")
def reduce_mean(input_tensor: Any, axis: Any = None, keepdims: bool = False) -> Operand:
    """Mean over axes (parameters as in `reduce_sum`). The mean of integers is an integer, rounded toward zero.

    Examples
    --------
    >>> reduce_mean(np.array([[1.0, 2.0], [3.0, 5.0]]), axis=0)
    array([2. , 3.5])
    """
    return reduce_with(reduce_mean_op, input_tensor, axis, keepdims)


# ---- reductions with a partial derivative ----------------------------------------------------------------------------


def reduction(
    name: str,
    kernel: Callable[..., Any],
    partial: Callable[..., Any],
    *,
    accepts: Iterable[DType] = FLOATING,
    mean: bool = False,
    selects: bool = False,
    kinked: bool = False,
    type: str = "",
    simplify: Any = None,
    module: str = __name__,
    doc: str = "",
) -> Op:
    """A reduction whose derivative in each element is ``partial(out, x, axis)``, of x's shape.

    `out` is given with the reduced axes kept. With `mean`, the derivative is the partial divided by the number of
    elements reduced. `selects` as in `elementwise`. `kinked`: the partial is taken to be 0 where there is none, so a
    zero that was computed times it has a derivative that is not known.
    """
    either = {"either": True} if selects else {}

    def local(out: Any, x: Any, axis: Axes, keepdims: bool) -> Operand:
        return partial(spread_like(out, x, axis, keepdims), x, axis)

    def vjp(ct: Any, out: Any, x: Any, *, axis: Axes, keepdims: bool) -> Operand:
        return scale(spread_like(ct, x, axis, keepdims, mean), conj(local(out, x, axis, keepdims)), **either)

    def jvp(t: Any, out: Any, x: Any, *, axis: Axes, keepdims: bool) -> Operand:
        total = reduce_mean_op if mean else reduce_sum_op
        return total(scale(t, local(out, x, axis, keepdims), **either), axis=axis, keepdims=keepdims)

    if kinked:
        vjp.product = lambda ct, out, x, *, axis, keepdims: (  # type: ignore[attr-defined]
            spread_like(ct, x, axis, keepdims, mean) * local(out, x, axis, keepdims)
        )
    return general(
        f"{name}_op",
        kernel,
        reduction_abstract(name, accepts),
        (vjp,),
        (jvp,),
        axis_param,
        type=type,
        module=module,
        args=("input_tensor",),
        selects=selects,
        sparsity=along,
        simplify=simplify,
        shares=(),
        doc=doc,
    )


def _product_of_others(x: Any, axis: Axes) -> Operand:
    """For each element the product of all others it is multiplied with: exact, also if some are zero."""
    if axis is None:
        return reshape_like(_product_of_others(reshape(x, (-1,)), (-1,)), x)
    if not axis:
        return ones_like(x)
    first, *rest = axis
    before = cumprod_op(x, axis=first, exclusive=True, reverse=False)
    others = before * cumprod_op(x, axis=first, exclusive=True, reverse=True)
    if rest:
        others = others * _product_of_others(reduce_prod_op(x, axis=(first,), keepdims=True), tuple(rest))
    return others


def _logsumexp_kernel(x: Any, *, axis: Axes, keepdims: bool) -> Any:
    largest = np.maximum.reduce(x, axis=axis, keepdims=True, initial=-np.inf)
    largest = np.where(np.isfinite(largest), largest, np.zeros((), x.dtype))
    total = np.add.reduce(elementary.exp(np.subtract(x, largest)), axis=axis, keepdims=True)
    out = np.add(elementary.log(total), largest)
    return out if keepdims else out.reshape(reduced_shape(out.shape, axis, False))


_PLAIN = {"f": 8.0, "d": 256.0}
"""By dtype: the size up to which the last place of a logarithm of a sum is too small to be seen in its exponential."""


def _shares_kernel(x: Any, out: Any, *, axis: Axes) -> Operand:
    shares = np.subtract(x, out)
    shares = elementary.exp(shares, out=shares) if shares.ndim else elementary.exp(shares)
    over = range(x.ndim) if axis is None else [i % x.ndim for i in axis]
    size = np.absolute(out[tuple([slice(0, 1) if i in over else slice(None) for i in range(x.ndim)])])
    most = _PLAIN.get(x.dtype.char, 0.0)
    if not x.size or all_beyond(size, most):
        return shares
    total = np.add.reduce(shares, axis=axis, keepdims=True)
    return np.divide(shares, np.where(np.less(size, most), 1, total), dtype=x.dtype)


_NEAR_ONE = {"e": 0.5, "f": 0.9}
"""By dtype: the share from which on too few digits are left of 1 less it."""


def _balanced_kernel(change: Any, shares: Any, *, axis: Axes, back: bool) -> Operand:
    limit = _NEAR_ONE.get(shares.dtype.char, 0.99)
    if all_beyond(shares, limit):
        return change
    largest, zero = np.greater(shares, limit), np.zeros((), change.dtype)
    if back:
        own = np.add.reduce(np.where(largest, change, zero), axis=axis, keepdims=True)
        return np.where(largest, zero, np.subtract(change, own))
    others = np.where(largest, zero, change)
    return np.where(largest, np.negative(np.add.reduce(others, axis=axis, keepdims=True)), others)


balanced = linear(
    "balanced",
    _balanced_kernel,
    lambda ct, change, shares, *, axis, back: balanced(ct, shares, axis=axis, back=not back),
    lambda change, shares, *, axis, back: change,
    axis_param,
    args=("change", "shares"),
    sparsity=along,
    shares=(0,),
    strict=False,
    doc="""Changes whose sum over axes is 0: that of a share of a sum that is nearly all of it comes of the others.

    Its own may be a difference of rounded numbers. With `back`, the transpose.
    """,
)


def as_axes(axis: Any) -> Axes:
    """A tuple of one axis, where one is given."""
    return (axis,) if isinstance(axis, int) else axis


def change_of_shares(t: Any, shares: Any, x: Any, *others: Any, axis: Any) -> Operand:
    """Reverse and forward rule alike: the Jacobian ``diag(shares) - shares shares'`` is symmetric."""
    weighted, axis = t * shares, as_axes(axis)
    return balanced(
        weighted - shares * reduce_sum_op(weighted, axis=axis, keepdims=True), shares, axis=axis, back=False
    )


exp_shares = general(
    "exp_shares",
    _shares_kernel,
    lambda x, out, *, axis: Aval(merge_shapes(x.shape, out.shape), same_dtype("exp_shares", ("x", "out"), (x, out))),
    vjp=(change_of_shares, None),
    jvp=(change_of_shares, None),
    batch=axis_param,
    args=("x", "out"),
    sparsity=along,
    strict=False,
    doc="""``exp(x - out)``, for the logarithm `out` of ``sum(exp(x))`` over axes, which may have been rounded.

    Its derivative in `x` is that of both.
    """,
)
reduce_prod_op = reduction(
    "reduce_prod",
    lambda x, *, axis, keepdims: _reduced(x, np.multiply.reduce(x, axis=axis, keepdims=keepdims, dtype=x.dtype)),
    lambda out, x, axis: _product_of_others(x, axis),
    accepts=NUMERIC,
    type="Prod",
    simplify=nothing_reduced,
    doc="""Product over axes.

    Its derivative costs some 10 times as much: running products from both ends, so that zeros do no harm.
    """,
)
reduce_logsumexp_op = reduction(
    "reduce_logsumexp",
    _logsumexp_kernel,
    lambda out, x, axis: exp_shares(x, out, axis=axis),
    type="LogSumExp",
    doc="``log(sum(exp(x)))`` over axes.",
)


@operands("input_tensor")
def reduce_prod(input_tensor: Any, axis: Any = None, keepdims: bool = False) -> Operand:
    """Product over axes (parameters as in `reduce_sum`). Its derivatives are exact where elements are zero.

    Examples
    --------
    >>> reduce_prod(np.array([[1.0, 2.0], [3.0, 4.0]]), axis=0)
    array([3., 8.])
    """
    # all axes are all elements in a row, as they must be where the rank is not known
    axes = None if axis is None else reduction_axes("reduce_prod", input_tensor, axis)
    return reduce_prod_op(input_tensor, axis=axes, keepdims=bool(keepdims))


@operands("input_tensor")
def reduce_logsumexp(input_tensor: Any, axis: Any = None, keepdims: bool = False) -> Operand:
    """``log(sum(exp(x)))`` over axes, without overflow (parameters as in `reduce_sum`; floats only).

    Examples
    --------
    >>> float(reduce_logsumexp(np.array([1000.0, 1000.0]))) - 1000
    0.693147180559...
    """
    return reduce_with(reduce_logsumexp_op, input_tensor, axis, keepdims)


# ---- logic and counts ----------------------------------------------------------------------------------------


def _logical(name: str, ufunc: Any, type: str, doc: str) -> Op:
    return nondifferentiable(
        name,
        lambda x, *, axis, keepdims: ufunc.reduce(x, axis=axis, keepdims=keepdims),
        abstract=reduction_abstract(name.removesuffix("_op"), BOOL),
        batch=axis_param,
        type=type,
        args=("input_tensor",),
        doc=doc,
    )


reduce_any_op = _logical("reduce_any_op", np.logical_or, "Any", "Whether any element over axes is true.")
reduce_all_op = _logical("reduce_all_op", np.logical_and, "All", "Whether all elements over axes are true.")


@operands("input_tensor")
def reduce_any(input_tensor: Any, axis: Any = None, keepdims: bool = False) -> Operand:
    """Whether any element over axes is true (parameters as in `reduce_sum`; bool only)."""
    return reduce_with(reduce_any_op, input_tensor, axis, keepdims)


@operands("input_tensor")
def reduce_all(input_tensor: Any, axis: Any = None, keepdims: bool = False) -> Operand:
    """Whether all elements over axes are true (parameters as in `reduce_sum`; bool only)."""
    return reduce_with(reduce_all_op, input_tensor, axis, keepdims)


@operands("input")
def count_nonzero(input: Any, axis: Any = None, keepdims: bool = False, dtype: Any = "int64") -> Operand:
    """How many elements over axes differ from zero.

    Examples
    --------
    >>> count_nonzero(np.array([[1.0, 0.0], [2.0, 3.0]]), axis=1)
    array([1, 2])
    """
    return reduce_sum(cast(not_equal(input, zeros_like(input)), dtype), axis, keepdims)


# ---- add_n -----------------------------------------------------------------------------------------------------------


def _add_n_kernel(*inputs: Any) -> Operand:
    first, *rest = inputs
    if any(x.shape != first.shape for x in rest):
        raise _different_shapes(*[x.shape for x in inputs])
    if not rest:
        return first
    total = np.add(first, rest[0])
    for x in rest[1:]:
        total += x
    return total


def _add_n_abstract(*inputs: Aval) -> Aval:
    for x in inputs:
        check_dtype("add_n", "inputs", x, NUMERIC)
    dtype = same_dtype("add_n", ("*inputs",), inputs)
    shape = inputs[0].shape
    for x in inputs[1:]:
        if not compatible(shape, x.shape):
            raise _different_shapes(*[i.shape for i in inputs])
        shape = merge_shapes(shape, x.shape)
    return Aval(shape, dtype)


def _different_shapes(*shapes: Shape) -> ShapeError:
    shown = ", ".join(format_shape(s) for s in shapes)
    return ShapeError(f"add_n: argument `inputs` must have one shape (nothing is broadcast), got {shown}")


add_n_op = general(
    "add_n_op",
    _add_n_kernel,
    _add_n_abstract,
    vjp=PerOperand(lambda i, ct, out, *inputs: ct, at_once=lambda ct, out, *inputs: lambda i: ct),
    jvp=PushedTogether(lambda ts, out, *inputs: [functools.reduce(add, [t for t in ts if t is not None])]),
    batch=all_batched,
    type="AddN",
    args=("*inputs",),
    sparsity=ELEMENTWISE,
    doc="Sum of any number of tensors of one shape.",
)


@operands("*inputs")
def add_n(inputs: Any) -> Operand:
    """Sum of a list of tensors of one shape and dtype.

    Raises
    ------
    InvalidArgumentError
        If the list is empty.
    ShapeError
        If the shapes differ: nothing is broadcast.

    Examples
    --------
    >>> add_n([np.ones(2), np.ones(2), np.ones(2)])
    array([3., 3.])
    """
    values = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    if not values:
        raise InvalidArgumentError("add_n: argument `inputs` must be a list of at least one tensor, got an empty one")
    return add_n_op(*values)
