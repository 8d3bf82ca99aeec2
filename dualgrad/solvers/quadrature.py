"""`quad` and its kin, differentiable in the limits and in all that the integrand uses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dualgrad.solvers.closures import as_floating, as_value, closure
from dualgrad.solvers.quad_op import quad_op
from engine.core.aval import Aval, format_shape
from engine.core.value import dtype_of, shape_of
from engine.runtime.errors import ShapeError


def _integral(name: str, func: Callable[..., Any], a: Any, b: Any, options: dict[str, Any]) -> tuple[Any, Any]:
    a, b = as_floating(a, f"{name}: argument `a`"), as_floating(b, f"{name}: argument `b`")
    if dtype_of(a) is not dtype_of(b):
        b = as_value(b, dtype_of(a))
    for what, x in (("a", a), ("b", b)):
        if shape_of(x) != ():
            raise ShapeError(f"{name}: argument `{what}` must be one number; got shape {format_shape(shape_of(x))}")
    made = closure(func, [Aval((), dtype_of(a))], name, dtype_of(a))
    chosen = tuple(sorted((k, v) for k, v in options.items() if v is not None))
    *values, error = quad_op(a, b, *made.captured, body=made.closed, options=chosen)
    return made.close([as_value(v) for v in values]), as_value(error)


def quad(
    func: Callable[..., Any],
    a: Any,
    b: Any,
    args: Any = (),
    full_output: int = 0,
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
    limit: int = 50,
    points: Sequence[float] | None = None,
) -> tuple[Any, Any]:
    """Integrate ``func(x, *args)`` from `a` to `b` as `scipy.integrate.quad` does, so that it can be differentiated.

    Parameters
    ----------
    func : callable
        ``func(x, *args)``, of a tensor, gives one number. It is traced once.
    a, b : float or scalar tensor
        Limits; they may be infinite.
    args : tuple
    epsabs, epsrel, limit, points
        As in SciPy. Derivatives are integrals, and computed to the same tolerances.

    Returns
    -------
    value, error : scalar tensors

    Warns
    -----
    scipy.integrate.IntegrationWarning
        If the tolerances are not met.

    Examples
    --------
    >>> import numpy as np
    >>> import tape_api as tf
    >>> from dualgrad.solvers.quadrature import quad
    >>> area = lambda rate, end: quad(lambda x: np.exp(-rate * x), 0.0, end)[0]
    >>> [round(float(g), 6) for g in tf.transforms.grad(area, (0, 1))(2.0, np.inf)]
    [-0.25, 0.0]
    >>> round(float(tf.transforms.grad(area, 1)(2.0, 1.0)), 6)
    0.135335
    """
    if full_output:
        raise TypeError("quad: `full_output` is not given with tensors; leave it out")
    args = args if isinstance(args, tuple) else (args,)
    chosen = {"epsabs": epsabs, "epsrel": epsrel, "limit": limit, "points": None if points is None else tuple(points)}

    def one(x: Any) -> Any:
        y = as_value(func(x, *args), dtype_of(x))
        if shape_of(y) != ():
            raise ShapeError(f"quad: the function must give one number; got shape {shape_of(y)}. See quad_vec")
        return y

    return _integral("quad", one, a, b, chosen)


def quad_vec(
    f: Callable[..., Any],
    a: Any,
    b: Any,
    epsabs: float = 1e-200,
    epsrel: float = 1e-8,
    points: Any = None,
    args: Any = (),
) -> tuple[Any, Any]:
    """Integrate a function that gives an array, or a structure of arrays; see `quad`.

    Examples
    --------
    >>> import numpy as np
    >>> from dualgrad.solvers.quadrature import quad_vec
    >>> quad_vec(lambda x: x ** np.arange(3.0), 0.0, 1.0)[0].numpy().round(6)
    array([1.      , 0.5     , 0.333333])
    """
    chosen = {"epsabs": epsabs, "epsrel": epsrel, "points": None if points is None else tuple(points)}
    return _integral("quad_vec", lambda x: f(x, *args), a, b, chosen)


def _end(limit: Any, *xs: Any) -> Any:
    return limit(*xs) if callable(limit) else limit


def dblquad(
    func: Callable[..., Any],
    a: Any,
    b: Any,
    gfun: Any,
    hfun: Any,
    args: Any = (),
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
) -> tuple[Any, Any]:
    """Integrate ``func(y, x)`` over x from `a` to `b` and y from ``gfun(x)`` to ``hfun(x)``; see `quad`.

    Examples
    --------
    >>> from dualgrad.solvers.quadrature import dblquad
    >>> round(float(dblquad(lambda y, x: x * y**2, 0.0, 2.0, 0.0, 1.0)[0]), 6)
    0.666667
    """
    how: dict[str, Any] = {"epsabs": epsabs, "epsrel": epsrel}

    def inner(x: Any) -> Any:
        return quad(lambda y: func(y, x, *args), _end(gfun, x), _end(hfun, x), **how)[0]

    return quad(inner, a, b, **how)


def nquad(func: Callable[..., Any], ranges: Sequence[Any], args: Any = ()) -> tuple[Any, Any]:
    """Integrate ``func(x0, x1, ..., *args)`` over `ranges`, those of x0 first, as `scipy.integrate.nquad` does.

    A range is a pair, or a function of the variables behind it that gives one; see `quad`.
    """
    if not ranges:
        return func(*args), as_value(np.float64(0.0))
    low, high = _end(ranges[-1], *args)
    return quad(lambda x: nquad(func, ranges[:-1], (x, *args))[0], low, high)
