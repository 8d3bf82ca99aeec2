"""Exponentials, logarithms, roots, powers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from engine.core.dtypes import NUMERIC
from engine.core.kinds import elementwise, real_elementwise
from engine.core.op import Op
from engine.core.operands import Operand
from engine.core.structural import all_beyond, scale
from engine.core.value import dtype_of, scalar
from engine.ops.arithmetic import reciprocal
from engine.ops.compare import greater, not_equal, where
from engine.ops.creation import ones_like, zeros_like
from engine.runtime import elementary


def in_single(function: Any, *arrays: Any) -> Operand:
    """A function of our own, also of half precision, which it has no loop for."""
    kind = arrays[0].dtype
    return function(*arrays) if kind.itemsize > 2 else function(*[x.astype(np.float32) for x in arrays]).astype(kind)


_LEAST_LEFT = {"e": 0.5, "f": 0.05, "d": 0.001}
"""By dtype: the number from which on the difference between 1 and a rounded number is exact enough."""


def by_tails(quick: Callable[..., Any], exact: Callable[..., Any], near: float = 0.0) -> Callable[..., Any]:
    """The kernel of a derivative that follows from a function's value, but for the tails, where that is rounded to 1.

    Parameters
    ----------
    quick : callable
        ``quick(out)``, in which a number of size 1 is subtracted from 1.
    exact : callable
        ``exact(out, x)``, which is computed for the tails alone: it takes an exponential. Complex numbers have none.
    near : float
        What the value is near in the tails; 0, if the tails are where the derivative itself is small.
    """

    def kernel(out: Any, x: Any) -> Operand:
        y = quick(out)
        left = _LEAST_LEFT.get(y.dtype.char)
        if left is None:
            return y
        seen, limit = (out, near * (1 - left)) if near else (y, left)
        if all_beyond(seen, limit, least=near <= 0):
            return y
        return _with_tails(y, np.less_equal(seen, limit) if near <= 0 else np.greater_equal(seen, limit), exact, out, x)

    return kernel


def _with_tails(y: Any, tail: Any, exact: Callable[..., Any], *operands: Any) -> Any:
    observed = not isinstance(y, (np.ndarray, np.generic))
    if observed:
        with np.errstate(all="ignore"):
            return np.where(tail, exact(*operands), y)  # rows compute all in less time than they find the tails
    wide = np.float32 if y.dtype.itemsize == 2 else y.dtype
    if not np.ndim(y):
        return exact(*[v.astype(wide) for v in operands]).astype(y.dtype) if tail else y
    places = np.nonzero(tail)  # few mostly, which are quicker than a mask
    y[places] = exact(*[np.broadcast_to(v, y.shape)[places].astype(wide) for v in operands])
    return y


def slope_within(
    of: str,
    limits: dict[str, float],
    size: Callable[..., Any],
    quick: Callable[..., Any],
    exact: Callable[..., Any],
    following: Callable[..., Any],
    value: Callable[..., Any] | None = None,
    *,
    module: str,
    given: tuple[str, ...] = ("out",),
) -> Op:
    """The derivative of an elementwise op, which follows from value and argument alike where no terms cancel.

    Parameters
    ----------
    of : str
        The op's name.
    limits : dict
        By dtype: for ``size(x)`` below this number ``quick(out, x)`` is exact enough. Other dtypes have none.
    size, quick : callable
    exact : callable
        ``exact(x)``, which is computed elsewhere alone.
    following : callable
        ``following(slope, out, x)``, the next derivative.
    value : callable, optional
        The function itself: single precision takes it, and `quick`, in double precision where its own limit is passed.
    module : str
        Where the op is found.
    given : tuple of str
        What `quick` takes besides the argument; of a second derivative the first, too, which `value` then returns.
    """

    def kernel(*operands: Any) -> Operand:
        x = operands[-1]
        limit = limits.get(x.dtype.char)
        if limit is None:
            return exact(x)
        seen = size(x)
        if all_beyond(seen, limit):
            return quick(*operands)
        with np.errstate(all="ignore"):
            elsewhere = (
                in_double if value is not None and x.dtype.char == "f" else lambda *operands: exact(operands[-1])
            )
            return _with_tails(quick(*operands), np.greater_equal(seen, limit), elsewhere, *operands)

    def in_double(*operands: Any) -> Any:
        wide = operands[-1].astype(np.float64)
        known: Any = value(wide)  # type: ignore[misc]
        found: Any = kernel(*(known if len(given) > 1 else (known,)), wide)
        return found.astype(np.float32)

    order = ("slope", "curve")[len(given) - 1]
    return real_elementwise(
        f"{of}_{order}",
        kernel,
        (*[None] * len(given), following),
        args=(*given, "x"),
        strict=False,
        module=module,
        doc=f"The {'first' if order == 'slope' else 'second'} derivative of `{of}`, for {' and '.join(given)} there.",
    )


def slopes_within(
    of: str,
    limits: dict[str, float],
    size: Any,
    quick: Sequence[Any],
    exact: Any,
    op: Op,
    value: Any,
    module: str,
    first: int = 1,
) -> tuple[Op, Op]:
    """The first and the second derivative as by `slope_within`; both are ``exact(op or its kernel, x, times)``.

    `first` is the `times` of the first one; `quick` has a function for each, of which the second takes the first, too.
    """
    within = partial(slope_within, of, limits, size, module=module)
    slope = within(
        quick[0],
        exact=lambda x: exact(op.kernel, x, first),
        following=lambda slope, out, x: curve(slope, out, x),
        value=value,
    )
    curve = within(
        quick[1],
        exact=lambda x: exact(op.kernel, x, first + 1),
        following=lambda _, slope, out, x: exact(op, x, first + 2),
        value=lambda x: (slope.kernel(out := value(x), x), out),
        given=("slope", "out"),
    )
    return slope, curve


exp = elementwise("exp", elementary.exp, (lambda out, x: out,), doc="e to the power x.")
expm1 = elementwise(
    "expm1", elementary.expm1, (lambda out, x: expm1_slope(out, x),), doc="``exp(x) - 1``, accurate near 0."
)
expm1_slope = elementwise(
    "expm1_slope",
    by_tails(lambda out: out + 1, lambda out, x: elementary.exp(x), -1.0),
    (1, None),
    args=("out", "x"),
    strict=False,
    doc="``out + 1``, for ``out = expm1(x)`` that may have been rounded to -1.",
)
log = elementwise(
    "log", elementary.log, (lambda out, x: reciprocal(x),), doc="Natural logarithm; the derivative at 0 is inf."
)
log2 = elementwise(
    "log2", elementary.log2, (lambda out, x: reciprocal(x) * (1 / math.log(2)),), doc="Logarithm to the base 2."
)
log10 = elementwise(
    "log10", elementary.log10, (lambda out, x: reciprocal(x) * (1 / math.log(10)),), doc="Logarithm to the base 10."
)
log1p = elementwise(
    "log1p", elementary.log1p, (lambda out, x: reciprocal(x + 1),), doc="``log(1 + x)``, accurate near 0."
)
sqrt = elementwise(
    "sqrt", np.sqrt, (lambda out, x: 0.5 / out,), rounds_correctly=True, doc="Square root; the derivative at 0 is inf."
)
rsqrt = elementwise(
    "rsqrt", lambda x: np.reciprocal(np.sqrt(x)), (lambda out, x: -0.5 * out / x,), doc="``1 / sqrt(x)``."
)


def _root(x: Any) -> Operand:
    """``x ** 0.5``: the square root, but 0 for -0 and infinity for minus infinity."""
    out = np.add(np.sqrt(x), x.dtype.type(0))
    if np.minimum.reduce(x, axis=None, initial=0) > -np.inf:
        return out
    return scalar(np.where(np.equal(x, -np.inf), x.dtype.type(np.inf), out))  # or there is a NaN


_SIMPLE: dict[float, Callable[[Any], Any]] = {
    2.0: np.square,
    3.0: lambda x: np.multiply(np.square(x), x),
    4.0: lambda x: np.square(np.square(x)),
    1.0: np.positive,
    -1.0: np.reciprocal,
    0.5: _root,
}
"""Powers that are up to 20 times quicker without a logarithm, by exponent."""


def _power_kernel(x: Any, y: Any) -> Operand:
    """Each element follows from its base and its exponent alone, to the bit."""
    if x.dtype.kind != "f" or x.dtype.itemsize == 2:
        return np.power(x, y)
    if y.size == 1:
        simple = _SIMPLE.get(y.item())
        if simple is None:
            return elementary.pow(x, y)
        return simple(x if x.ndim >= y.ndim else x.reshape((1,) * (y.ndim - x.ndim) + x.shape))
    out = elementary.pow(x, y)
    for exponent, simple in _SIMPLE.items():
        if np.equal(y, exponent).any():
            bases, exponents = np.broadcast_arrays(x, y)
            of_these = np.equal(exponents, exponent)
            out[of_these] = simple(bases[of_these])
    return out


def _power_dy(out: Any, x: Any, y: Any) -> Operand:
    zero = zeros_like(x)
    defined = not_equal(x, zero) if dtype_of(x).is_complex else greater(x, zero)
    return out * where(defined, log(where(defined, x, ones_like(x))), zero)


pow = elementwise(
    "pow",
    _power_kernel,
    # exponent 0 means a constant, also at x = 0, where 0 * 0 ** -1 would be NaN
    (lambda out, x, y: scale(y, pow(x, y - 1)), _power_dy),
    accepts=NUMERIC,
    static=(1,),
    doc="""``x ** y``. Derivatives: for ``y == 0`` zero in x; for ``x <= 0`` zero in y (as in TensorFlow).""",
)
