"""Running sums and products along an axis, and the linear recurrence that their derivatives are made of.

``exclusive`` leaves out the element itself (the first result is then the sum or product of nothing); ``reverse`` runs
from the last element to the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from engine.core.arguments import normalize_axis
from engine.core.aval import Aval, merge_shapes
from engine.core.batching import axis_param
from engine.core.dtypes import FLOATING, INEXACT, NUMERIC, DType
from engine.core.kinds import check_dtype, general, linear, nondifferentiable, real_elementwise, same_dtype
from engine.core.op import Layout
from engine.core.operands import Operand, operands
from engine.core.sparsity import MOVES, running
from engine.core.structural import conj, scale
from engine.ops.arithmetic import minimum
from engine.ops.axis_args import single_axis
from engine.ops.compare import equal, where
from engine.ops.creation import zeros_like
from engine.ops.explog import exp
from engine.runtime.errors import InvalidArgumentError


def _abstract(name: str, accepts: Iterable[DType]) -> Callable[..., Aval]:
    """Abstract evaluation of an op along one axis that keeps shape and dtype."""

    def abstract(*avals: Aval, axis: int, **_: Any) -> Aval:
        check_dtype(name, "x", avals[0], accepts)
        shape = avals[0].shape
        for other in avals[1:]:
            shape = merge_shapes(shape, other.shape)
        if shape is not None:
            if not shape:
                raise InvalidArgumentError(f"{name}: argument `x` must have at least one dimension, got a scalar")
            normalize_axis(name, axis, len(shape))
        return Aval(shape, same_dtype(name, ("x", "y"), avals))

    return abstract


def _along(x: Any, axis: int, start: int | None, stop: int | None) -> tuple[slice, ...]:
    """The index that takes a range along one axis."""
    index = [slice(None)] * x.ndim
    index[axis] = slice(start, stop)
    return tuple(index)


def _flipped(x: Any, axis: int, reverse: bool) -> np.ndarray:
    return np.flip(x, axis) if reverse else x


# ---- shift and recurrence --------------------------------------------------------------------------------------------


def _shifted_array(x: Any, axis: int, reverse: bool, fill: float) -> np.ndarray:
    """`x` moved on by one place along the axis (back if `reverse`); `fill` moves in."""
    if not x.shape[axis]:
        return x
    edge = np.full([1 if k == axis % x.ndim else n for k, n in enumerate(x.shape)], fill, x.dtype)
    if reverse:
        return np.concatenate([x[_along(x, axis, 1, None)], edge], axis)
    return np.concatenate([edge, x[_along(x, axis, None, -1)]], axis)


shift = linear(
    "shift",
    lambda x, *, axis, reverse: _shifted_array(x, axis, reverse, 0),
    lambda ct, x, *, axis, reverse: shift(ct, axis=axis, reverse=not reverse),
    _abstract("shift", NUMERIC),
    axis_param,
    sparsity=MOVES,
    doc="x moved on by one place along an axis (back if ``reverse``); a zero moves in.",
)


_MOST_STEPS = 1024
"""Steps that a recurrence takes one by one."""


def _recurrence_kernel(u: Any, a: Any, *, axis: int, reverse: bool) -> np.ndarray:
    r, a = _flipped(u, axis, reverse), _flipped(a, axis, reverse)
    count = r.shape[axis]
    one_by_one = count <= _MOST_STEPS and count * count <= r.size
    return _flipped((_step_by_step if one_by_one else _by_doubling)(r, a, axis), axis, reverse)


def _step_by_step(u: Any, a: Any, axis: int) -> np.ndarray:
    """For few steps with much to do in each, beside which its call costs little."""
    rows = [u[_along(u, axis, 0, 1)]]
    for i in range(1, u.shape[axis]):
        rows.append(u[_along(u, axis, i, i + 1)] + a[_along(a, axis, i, i + 1)] * rows[-1])
    return np.concatenate(rows, axis)


def _by_doubling(r: Any, a: Any, axis: int) -> np.ndarray:
    """After the pass with step d, r sums the last 2d terms and a is the product of the last 2d factors."""
    step = 1
    while step < r.shape[axis]:
        first, late, early = (_along(r, axis, *ends) for ends in ((None, step), (step, None), (None, -step)))
        r = np.concatenate([r[first], r[late] + a[late] * r[early]], axis)
        if 2 * step < r.shape[axis]:
            a = np.concatenate([a[first], a[late] * a[early]], axis)
        step *= 2
    return r


def _recurrence_du(ct: Any, out: Any, u: Any, a: Any, *, axis: int, reverse: bool) -> Operand:
    following = shift(conj(a), axis=axis, reverse=not reverse)
    return recurrence(ct, following, axis=axis, reverse=not reverse)


def _recurrence_da(ct: Any, out: Any, u: Any, a: Any, *, axis: int, reverse: bool) -> Operand:
    adjoint = _recurrence_du(ct, out, u, a, axis=axis, reverse=reverse)
    return adjoint * shift(conj(out), axis=axis, reverse=reverse)


def _recurrence_jvp_a(t: Any, out: Any, u: Any, a: Any, *, axis: int, reverse: bool) -> Operand:
    return recurrence(t * shift(out, axis=axis, reverse=reverse), a, axis=axis, reverse=reverse)


recurrence = general(
    "recurrence",
    _recurrence_kernel,
    _abstract("recurrence", INEXACT),
    vjp=(_recurrence_du, _recurrence_da),
    jvp=(lambda t, out, u, a, *, axis, reverse: recurrence(t, a, axis=axis, reverse=reverse), _recurrence_jvp_a),
    batch=axis_param,
    strict=False,
    args=("u", "a"),
    sparsity=running,
    layout=Layout.ANY,
    doc="``r[i] = u[i] + a[i] * r[i - 1]`` along an axis (``r[i + 1]`` if ``reverse``).",
)


# ---- cumsum, cumprod, cumulative_logsumexp ---------------------------------------------------------------------------


def _accumulating(ufunc: np.ufunc, start: float) -> Callable[..., Any]:
    """The kernel of a running ufunc that gives `start` for no elements."""

    def kernel(x: Any, *, axis: int, exclusive: bool, reverse: bool) -> np.ndarray:
        x = _flipped(x, axis, reverse)
        if exclusive:
            x = _shifted_array(x, axis, False, start)
        return _flipped(ufunc.accumulate(x, axis=axis, dtype=x.dtype), axis, reverse)

    return kernel


cumsum_op = linear(
    "cumsum_op",
    _accumulating(np.add, 0),
    lambda ct, x, *, axis, exclusive, reverse: cumsum_op(ct, axis=axis, exclusive=exclusive, reverse=not reverse),
    _abstract("cumsum", NUMERIC),
    axis_param,
    type="Cumsum",
    sparsity=running,
    layout=Layout.ANY,
    doc="Running sum along an axis.",
)


def _cumprod_vjp(ct: Any, out: Any, x: Any, *, axis: int, exclusive: bool, reverse: bool) -> Operand:
    # x[i] occurs in out[k] for k >= i, times the product of all before i and of those between i and k. The sum over k
    # of ct[k] times the latter obeys a recurrence from the end, so nothing is ever divided by x.
    back = {"axis": axis, "reverse": not reverse}
    before = cumprod_op(conj(x), axis=axis, exclusive=True, reverse=reverse)
    return before * recurrence(shift(ct, **back) if exclusive else ct, shift(conj(x), **back), **back)


def _cumprod_jvp(t: Any, out: Any, x: Any, *, axis: int, exclusive: bool, reverse: bool) -> Operand:
    on = {"axis": axis, "reverse": reverse}
    driven = t * cumprod_op(x, axis=axis, exclusive=True, reverse=reverse)
    return recurrence(shift(driven, **on), shift(x, **on), **on) if exclusive else recurrence(driven, x, **on)


cumprod_op = general(
    "cumprod_op",
    _accumulating(np.multiply, 1),
    _abstract("cumprod", NUMERIC),
    vjp=(_cumprod_vjp,),
    jvp=(_cumprod_jvp,),
    batch=axis_param,
    type="Cumprod",
    sparsity=running,
    layout=Layout.ANY,
    doc="""Running product along an axis.

    Its derivative costs some 8 times as much: a recurrence, so that nothing is divided by x and zeros do no harm.
    """,
)


running_maximum = nondifferentiable(
    "running_maximum",
    lambda x, *, axis, reverse: _accumulating(np.maximum, -np.inf)(x, axis=axis, exclusive=False, reverse=reverse),
    abstract=_abstract("running_maximum", FLOATING),
    batch=axis_param,
    layout=Layout.ANY,
    doc="The largest of all elements up to each one, along an axis.",
)


def _or_one(x: Any) -> Operand:
    return where(equal(x, zeros_like(x)), zeros_like(x) + 1.0, x)


part = real_elementwise(
    "part",
    lambda x, y: np.divide(x, np.where(np.equal(x, 0), 1, x + y), dtype=x.dtype),
    (lambda out, x, y: part(y, x) / _or_one(x + y), lambda out, x, y: -out / _or_one(x + y)),
    doc="``x / (x + y)`` of numbers that are not negative; 0 where x is 0.",
)


def _logsumexp_weights(x: Any, *, axis: int, reverse: bool) -> tuple[Any, Any]:
    """The shares of element i in the sum of all up to i, and of that sum in the one up to i + 1.

    In units of the largest element so far, on which the shares do not depend: logarithms of sums have been rounded.
    """
    on = {"axis": axis, "reverse": reverse}
    zero = zeros_like(x)
    top = running_maximum(x, **on)
    top = where(equal(top, zero - np.inf), zero, top)
    own = exp(x - top)
    # at the first place a zero has moved in, for which nobody asks; minimum keeps it from overflowing
    kept = exp(minimum(shift(top, **on) - top, zero))
    total = recurrence(own, kept, **on)
    before = shift(total, **on) * kept
    return part(own, before), shift(part(before, own), axis=axis, reverse=not reverse)


def _cumulative_logsumexp_vjp(ct: Any, out: Any, x: Any, *, axis: int, exclusive: bool, reverse: bool) -> Operand:
    own, carried = _logsumexp_weights(x, axis=axis, reverse=reverse)
    back = {"axis": axis, "reverse": not reverse}
    return scale(recurrence(shift(ct, **back) if exclusive else ct, carried, **back), own)


def _cumulative_logsumexp_jvp(t: Any, out: Any, x: Any, *, axis: int, exclusive: bool, reverse: bool) -> Operand:
    own, carried = _logsumexp_weights(x, axis=axis, reverse=reverse)
    on = {"axis": axis, "reverse": reverse}
    tangent = recurrence(scale(t, own), shift(carried, **on), **on)
    return shift(tangent, **on) if exclusive else tangent


cumulative_logsumexp_op = general(
    "cumulative_logsumexp_op",
    _accumulating(np.logaddexp, -np.inf),
    _abstract("cumulative_logsumexp", FLOATING),
    vjp=(_cumulative_logsumexp_vjp,),
    jvp=(_cumulative_logsumexp_jvp,),
    batch=axis_param,
    type="CumulativeLogsumexp",
    sparsity=running,
    layout=Layout.ANY,
    doc="Running ``log(sum(exp(x)))`` along an axis.",
)


@operands("x")
def cumsum(x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False) -> Operand:
    """Running sum along an axis.

    Parameters
    ----------
    x : value, numeric
    axis : int
    exclusive : bool
        Leave out the element itself: the first result is 0.
    reverse : bool
        From the last element to the first.

    Examples
    --------
    >>> cumsum(np.array([1.0, 2.0, 3.0])), cumsum(np.array([1.0, 2.0, 3.0]), exclusive=True)
    (array([1., 3., 6.]), array([0., 1., 3.]))
    """
    return cumsum_op(x, axis=single_axis("cumsum", x, axis), exclusive=bool(exclusive), reverse=bool(reverse))


@operands("x")
def cumprod(x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False) -> Operand:
    """Running product along an axis (parameters as in `cumsum`). Its derivatives are exact where elements are zero.

    Examples
    --------
    >>> cumprod(np.array([1.0, 2.0, 3.0])), cumprod(np.array([1.0, 2.0, 3.0]), reverse=True)
    (array([1., 2., 6.]), array([6., 6., 3.]))
    """
    return cumprod_op(x, axis=single_axis("cumprod", x, axis), exclusive=bool(exclusive), reverse=bool(reverse))


@operands("x")
def cumulative_logsumexp(x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False) -> Operand:
    """Running ``log(sum(exp(x)))`` along an axis, without overflow (parameters as in `cumsum`; floats only).

    Examples
    --------
    >>> cumulative_logsumexp(np.array([0.0, 0.0])) - np.log([1, 2])
    array([0., 0.])
    """
    at = single_axis("cumulative_logsumexp", x, axis)
    return cumulative_logsumexp_op(x, axis=at, exclusive=bool(exclusive), reverse=bool(reverse))
