"""Numeric checks of derivatives: finite differences and random directions.

`check_grads` is what the tests of every op rest on, and what to run on a custom gradient. It never builds a Jacobian:
in each mode it compares one number, the derivative along a random direction, seen by a random cotangent, and then does
the same to the derivative itself, which is a function like any other, to check the next order.

References
----------
.. [1] D. Maclaurin, D. Duvenaud, M. Johnson et al., autograd, ``test_util.py``: the recursive form of the check.
.. [2] A. Curtis and J. Reid, "The choice of step lengths when using differences to approximate Jacobian matrices",
   IMA J. Appl. Math. 13 (1974): the step that balances truncation and rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.core.aval import Aval
from engine.core.eager import EagerTensor
from engine.core.nest import flatten, pack_sequence_as
from engine.core.value import Value, aval_of, dtype_of
from engine.runtime.errors import DTypeError
from engine.transforms.vjp import as_value, jvp, vjp

_TOLERANCE = {2: 0.1, 4: 1e-2, 8: 1e-6}
"""Relative and absolute tolerance of a comparison with finite differences, by the bytes of a real number."""


def numeric_jvp(
    fn: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], eps: float | None = None
) -> Any:
    """The derivative of `fn` along `tangents` by central differences.

    Parameters
    ----------
    fn : callable
        ``fn(*values)`` returns a value or a structure of values.
    primals, tangents : sequence of (value or array)
        Real or complex. Tangents of None leave their argument alone.
    eps : float, optional
        Half the distance of the two points, in units of the tangents. By default the cube root of the machine epsilon
        of the least precise argument or result, which balances truncation (``eps ** 2``) and rounding (``1 / eps``)
        [2]_.

    Returns
    -------
    array or structure of arrays
        ``(fn(x + eps * t) - fn(x - eps * t)) / (2 * eps)``; zeros in place of integer results.

    Examples
    --------
    >>> from engine.ops.arithmetic import square
    >>> float(numeric_jvp(square, [np.array(3.0)], [np.array(2.0)]).round(6))
    12.0
    """
    points = [_array(x) for x in primals]
    directions = [None if t is None else _array(t) for t in tangents]

    def at(step: float) -> Any:
        return fn(*[_moved(x, t, step) for x, t in zip(points, directions, strict=True)])

    step = eps or max((_step(t) for t in directions if t is not None), default=1.0)
    high = at(step)
    if eps is None and (coarser := max(map(_step, map(_array, flatten(high))), default=step)) > step:
        step = coarser
        high = at(step)
    slopes = [_slope(_array(h), _array(m), step) for h, m in zip(flatten(high), flatten(at(-step)), strict=True)]
    return pack_sequence_as(high, slopes)


def _array(x: Any) -> np.ndarray:
    return np.asarray(x._array if isinstance(x, EagerTensor) else x)


def _moved(x: np.ndarray, t: np.ndarray | None, step: float) -> Value:
    return as_value(x if t is None else (x + step * t).astype(x.dtype))


def _slope(high: np.ndarray, low: np.ndarray, step: float) -> np.ndarray:
    if high.dtype.kind not in "fc":
        return np.zeros_like(high)
    return ((high - low) / (2 * step)).astype(high.dtype)


def _step(x: np.ndarray) -> float:
    return float(np.cbrt(np.finfo(x.dtype).eps)) if x.dtype.kind in "fc" else 0.0


def check_grads(
    fn: Callable[..., Any],
    args: Sequence[Any],
    order: int = 2,
    modes: Sequence[str] = ("forward", "reverse"),
    rtol: float | None = None,
    atol: float | None = None,
    eps: float | None = None,
    seed: int = 0,
) -> None:
    """Raise unless the derivatives of `fn` at `args` agree with central differences.

    Parameters
    ----------
    fn : callable
        ``fn(*values)`` returns a value or a structure of values. Integer and boolean results are left out.
    args : sequence of (value or array)
        Those of floating or complex dtype are varied.
    order : int
        Highest order of derivative to check.
    modes : sequence of str
        "forward", "reverse" or both. For order 2 with both modes, all four combinations are checked.
    rtol, atol : float, optional
        Tolerances; by default 1e-6 in double, 1e-2 in single precision.
    eps : float, optional
        Step of the differences, see `numeric_jvp`.
    seed : int
        Of the random directions.

    Raises
    ------
    AssertionError
        If a tangent or cotangent has another shape or dtype than its value, or if the numbers differ. The message shows
        both numbers and says in which mode and order.
    ValueError
        If there is nothing to differentiate.

    Examples
    --------
    >>> from engine.ops.trig import sin
    >>> check_grads(sin, [np.array([0.5, 1.0])], order=3)
    """
    unknown = set(modes) - {"forward", "reverse"}
    if unknown:
        raise ValueError(f"check_grads: argument `modes` may hold 'forward' and 'reverse', got {sorted(unknown)}")
    values = [EagerTensor(_array(x)) for x in args]
    varied = [i for i, x in enumerate(values) if x.dtype.is_differentiable]

    def of_varied(*points: Any) -> list[Any]:
        full = list(values)
        for i, point in zip(varied, points, strict=True):
            full[i] = point
        return [o for o in flatten(fn(*full)) if dtype_of(o).is_differentiable]

    if not varied or not of_varied(*[values[i] for i in varied]):
        raise ValueError(
            "check_grads: nothing to differentiate, the arguments or the results are all integer or boolean"
        )
    checker = _Checker(tuple(modes), rtol, atol, eps, np.random.default_rng(seed))
    checker.check(of_varied, [values[i] for i in varied], order, ())


class _Checker:
    """The settings of one `check_grads` and its recursion over orders.

    The functions checked here take differentiable values and return a list of differentiable values.
    """

    def __init__(
        self,
        modes: tuple[str, ...],
        rtol: float | None,
        atol: float | None,
        eps: float | None,
        rng: np.random.Generator,
    ) -> None:
        self.modes, self.rtol, self.atol, self.eps, self.rng = modes, rtol, atol, eps, rng

    def check(self, fn: Callable[..., list[Any]], points: list[Any], order: int, path: tuple[str, ...]) -> None:
        """Check the first derivative of `fn`, then that derivative as a function of the point and the direction."""
        count = len(points)
        tangents = [self.random_like(x) for x in points]
        slope = numeric_jvp(fn, points, tangents, self.eps)
        cts = [self.random_like(s) for s in slope]
        expected = inner(cts, slope)

        def pushed(*values: Any) -> list[EagerTensor]:
            return jvp(fn, values[:count], values[count:])[1]

        def pulled(*values: Any) -> list[EagerTensor]:
            return vjp(fn, *values[:count])[1](values[count:])

        if "forward" in self.modes:
            here = (*path, "forward")
            got = pushed(*points, *tangents)
            self.same_space(got, slope, "tangent", here)
            self.close(inner(cts, got), expected, [*points, *slope], here)
            if order > 1:
                self.check(pushed, [*points, *tangents], order - 1, here)
        if "reverse" in self.modes:
            here = (*path, "reverse")
            got = pulled(*points, *cts)
            self.same_space(got, points, "cotangent", here)
            self.close(inner(tangents, got), expected, [*points, *slope], here)
            if order > 1:
                self.check(pulled, [*points, *cts], order - 1, here)

    def random_like(self, x: Any) -> EagerTensor:
        """A random value of x's shape and dtype."""
        aval = aval_of(x)
        shape: Any = aval.shape
        values: Any = self.rng.standard_normal(shape)
        if aval.dtype.is_complex:
            values = values + 1j * self.rng.standard_normal(shape)
        return EagerTensor(np.asarray(values, aval.dtype.numpy))

    def same_space(self, got: Sequence[Any], values: Sequence[Any], what: str, path: tuple[str, ...]) -> None:
        """Raise unless each tangent or cotangent has the shape and dtype of its value."""
        for i, (g, x) in enumerate(zip(got, values, strict=True)):
            if aval_of(g) != aval_of(x):
                raise AssertionError(f"{_title(path)}: {what} {i} is {aval_of(g)}, but its value is {aval_of(x)}")

    def close(self, got: float, expected: float, values: Sequence[Any], path: tuple[str, ...]) -> None:
        """Raise unless the two numbers agree, as far as the least precise of the values allows."""
        default = max(_TOLERANCE[dtype_of(x).real_dtype.size] for x in values)
        rtol = default if self.rtol is None else self.rtol
        atol = default if self.atol is None else self.atol
        allowed = atol + rtol * abs(expected)
        if not abs(got - expected) <= allowed:
            raise AssertionError(
                f"{_title(path)}: the derivative along a random direction is {got!r} by the rules and {expected!r} by "
                f"central differences (difference {abs(got - expected):.3g}, allowed {allowed:.3g})"
            )


def _title(path: tuple[str, ...]) -> str:
    """``order 2, reverse of forward mode`` for a path from the inside out."""
    return f"order {len(path)}, {' of '.join(reversed(path))} mode"


def inner(a: Sequence[Any], b: Sequence[Any]) -> float:
    """The real inner product of two lists of values: complex numbers count as pairs of reals."""
    return float(sum(np.vdot(_array(x), _array(y)).real for x, y in zip(a, b, strict=True)))


# ---- whole Jacobians -------------------------------------------------------------------------------------------------


def compute_gradient(
    f: Callable[..., Any], x: Sequence[Any], delta: float | None = None
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The Jacobians of `f` by reverse mode and by central differences (as ``tf.test.compute_gradient``).

    Parameters
    ----------
    f : callable
        ``f(*x)`` returns one value.
    x : list or tuple of (value or array)
        The arguments, floating or complex.
    delta : float, optional
        Step of the differences; by default see `numeric_jvp`. (TensorFlow's default is 1/1024.)

    Returns
    -------
    theoretical, numerical : list of ndarray, shape (size of f(*x), size of the argument)
        One Jacobian per argument. A complex number counts as two reals, so complex sizes double.

    Examples
    --------
    >>> from engine.ops.arithmetic import square
    >>> theoretical, numerical = compute_gradient(square, [np.array([1.0, 3.0])])
    >>> theoretical[0].tolist(), max_error(theoretical, numerical) < 1e-8
    ([[2.0, 0.0], [0.0, 6.0]], True)
    """
    if not isinstance(x, (list, tuple)):
        raise ValueError(f"compute_gradient: argument `x` must be a list or tuple of arguments, got {type(x).__name__}")
    points = [as_value(v) for v in x]
    out, pull = vjp(f, *points)
    if not dtype_of(out).is_differentiable:
        raise DTypeError(f"compute_gradient: the result must be floating or complex, got {dtype_of(out).name}")
    rows = [pull(seed) for seed in unit_seeds(aval_of(out))]
    theoretical = [_stacked([reals(r[i]) for r in rows], aval_of(v)) for i, v in enumerate(points)]
    numerical = [_numeric_jacobian(f, points, i, aval_of(out), delta) for i in range(len(points))]
    return theoretical, numerical


def max_error(grad1: Sequence[np.ndarray], grad2: Sequence[np.ndarray]) -> float:
    """The largest elementwise difference of two lists of Jacobians, as `compute_gradient` gives them."""
    return max((float(np.abs(a - b).max(initial=0.0)) for a, b in zip(grad1, grad2, strict=True)), default=0.0)


def unit_seeds(aval: Aval) -> list[np.ndarray]:
    """One value per (real) element of the aval that is 1 there and 0 elsewhere."""
    shape, dtype = aval.shape, aval.dtype
    units = np.eye(_real_size(aval), dtype=dtype.real_dtype.numpy)
    return [row.view(dtype.numpy).reshape(shape) for row in units]  # type: ignore[arg-type]


def _real_size(aval: Aval) -> int:
    assert aval.size is not None
    return aval.size * (2 if aval.dtype.is_complex else 1)


def reals(x: Any) -> np.ndarray:
    """The elements as a flat vector of reals."""
    array = np.ascontiguousarray(_array(x)).ravel()
    return array.view(array.real.dtype)


def _stacked(rows: list[np.ndarray], aval: Aval) -> np.ndarray:
    return np.array(rows, aval.dtype.real_dtype.numpy).reshape(len(rows), _real_size(aval))


def _numeric_jacobian(f: Any, points: list[Any], i: int, out: Aval, delta: float | None) -> np.ndarray:
    others = [None] * len(points)
    columns = [
        reals(numeric_jvp(f, points, [*others[:i], seed, *others[i + 1 :]], delta))
        for seed in unit_seeds(aval_of(points[i]))
    ]
    return _stacked(columns, out).T


__all__ = ["check_grads", "compute_gradient", "inner", "max_error", "numeric_jvp", "reals", "unit_seeds"]
