"""Roots, fixed points and minima as functions that can be differentiated, by the implicit function theorem.

The names and arguments are those of `scipy.optimize`. The first guess carries no derivative; all else that the
functions use does. See `dualgrad.solvers.implicit_op`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import scipy.optimize

from dualgrad.solvers import finders
from dualgrad.solvers.closures import Closure, Packed, as_value, closure, flat
from dualgrad.solvers.implicit_op import implicit_op
from engine.closed.function import ClosedFunction, build, plain
from engine.core.aval import format_shape
from engine.core.eager import EagerTensor
from engine.core.value import dtype_of, shape_of
from engine.ops.reduce import reduce_sum
from engine.ops.shape import reshape, stop_gradient
from engine.runtime.errors import InvalidArgumentError, ShapeError, UnimplementedError
from engine.transforms.functions import opened


def _tuple(args: Any) -> Sequence[Any]:
    return args if isinstance(args, (tuple, list)) else (args,)


def _closed(name: str, fun: Callable[..., Any], packed: Packed, args: Any, size: int | None) -> Closure:
    """The function of the flat vector, its results one vector of `size` elements."""

    def value(x: Any) -> Any:
        leaves, _ = opened(fun(packed.unpacked(x), *_tuple(args)))
        return flat([as_value(y, packed.dtype) for y in leaves])

    made = closure(value, [packed.aval], name, packed.dtype)
    (shape,) = [shape_of(r) for r in made.closed.results]
    if size is not None and shape != (size,):
        raise ShapeError(
            f"{name}: the function must give {size} numbers, as many as there are unknowns; got shape "
            f"{format_shape(shape)}"
        )
    return made


def _found(packed: Packed, params: Sequence[Any], residual: ClosedFunction, find: Any, linear: Any) -> Any:
    guess = stop_gradient(packed.vector)
    return as_value(implicit_op(guess, *params, residual=residual, find=find, linear=linear))


def _by(finder: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """A finder with the options that were given."""
    return partial(finder, **{k: v for k, v in options.items() if v is not None})


def _result(packed: Packed, x: Any, **more: Any) -> scipy.optimize.OptimizeResult:
    return scipy.optimize.OptimizeResult(x=packed.unpacked(x), success=True, status=1, message="found", **more)


def root(
    fun: Callable[..., Any], x0: Any, args: Any = (), method: str = "hybr", jac: Any = None, tol: float | None = None,
    options: dict[str, Any] | None = None, linear: Any = None,
) -> scipy.optimize.OptimizeResult:  # fmt: skip
    """Solve ``fun(x, *args) = 0`` as `scipy.optimize.root` does, so that the solution can be differentiated.

    Parameters
    ----------
    fun : callable
        It gives as many numbers as `x0` has. It is traced once.
    x0 : array, tensor or structure
        A first guess. It carries no derivative.
    args : tuple
    method, tol, options
        As in SciPy.
    jac
        Not needed and not looked at: the exact one is known.
    linear : "dense", "sparse", callable, optional
        How the linear equations of the derivative are solved: with the whole matrix, with a sparse one (its pattern is
        found), or by ``linear(product, rhs)``, where ``product(v)`` is the matrix times a vector. By default densely up
        to 300 unknowns. A callable with an attribute ``transposed`` has that used for the transposed matrix.

    Returns
    -------
    scipy.optimize.OptimizeResult
        `x` in the structure of `x0`, and `fun`, `success`, `message`.

    Raises
    ------
    ConvergenceError
        If no solution was found.

    Examples
    --------
    >>> import numpy as np
    >>> import tape_api as tf
    >>> from dualgrad.solvers.implicit import root
    >>> square_root = lambda a: root(lambda x: x**2 - a, 1.0).x
    >>> print(np.round(square_root(2.0), 6), np.round(tf.transforms.grad(square_root)(2.0), 6))
    1.414214 0.353553
    """
    packed = Packed(x0, "root: argument `x0`")
    made = _closed("root", fun, packed, args, packed.size)
    find = _by(finders.root, method=method, tol=tol, options=options)
    x = _found(packed, made.captured, made.closed, find, linear)
    return _result(packed, x, fun=as_value(made.closed.inline(None, [x, *made.captured])[0]))


def fsolve(func: Callable[..., Any], x0: Any, args: Any = (), xtol: float = 1.49012e-08, **ignored: Any) -> Any:
    """Solve ``func(x, *args) = 0`` as `scipy.optimize.fsolve` does; see `root`."""
    _only("fsolve", ignored, "fprime col_deriv maxfev band epsfcn factor diag")
    return root(func, x0, args, tol=xtol).x


def custom_root(fun: Callable[..., Any], x0: Any, solve: Callable[..., Any], args: Any = (), linear: Any = None) -> Any:
    """The x with ``fun(x, *args) = 0`` that a solver of your own finds, differentiable as if it were exact.

    Parameters
    ----------
    fun : callable
        Made of functions of tensors; it gives as many numbers as `x0` has.
    x0 : array, tensor or structure
    solve : callable
        ``solve(residual, x0)``: the solution, from a function of flat NumPy vectors and the first guess.
    args : tuple
    linear
        As in `root`.

    Returns
    -------
    structure like `x0`

    Examples
    --------
    >>> import numpy as np, scipy.optimize
    >>> import tape_api as tf
    >>> from dualgrad.solvers.implicit import custom_root
    >>> by_krylov = lambda residual, x0: scipy.optimize.newton_krylov(residual, x0, f_tol=1e-10)
    >>> cube_root = lambda a: custom_root(lambda x: x**3 - a, 1.5, by_krylov)
    >>> print(np.round(tf.transforms.grad(cube_root)(8.0), 6))
    0.083333
    """
    packed = Packed(x0, "custom_root: argument `x0`")
    made = _closed("custom_root", fun, packed, args, packed.size)
    return packed.unpacked(_found(packed, made.captured, made.closed, _by(finders.custom, solve=solve), linear))


def fixed_point(
    func: Callable[..., Any], x0: Any, args: Any = (), xtol: float = 1e-08, maxiter: int = 500, method: str = "del2",
    linear: Any = None,
) -> Any:  # fmt: skip
    """The x with ``func(x, *args) = x``, as `scipy.optimize.fixed_point` finds it.

    Examples
    --------
    >>> import numpy as np
    >>> import tape_api as tf
    >>> from dualgrad.solvers.implicit import fixed_point
    >>> print(np.round(tf.transforms.grad(lambda a: fixed_point(lambda x: np.cos(a * x), 0.7))(1.0), 6))
    -0.297474
    """
    packed = Packed(x0, "fixed_point: argument `x0`")
    made = _closed("fixed_point", lambda x: _difference(func(x, *_tuple(args)), x), packed, (), packed.size)
    find = _by(finders.fixed_point, xtol=xtol, maxiter=maxiter, method=method)
    return packed.unpacked(_found(packed, made.captured, made.closed, find, linear))


def _difference(a: Any, b: Any) -> list[Any]:
    (left, _), (right, _) = opened(a), opened(b)
    if len(left) != len(right):
        raise InvalidArgumentError(f"fixed_point: the function must give a structure like `x0`; got {a!r}")
    return [p - q for p, q in zip(left, right, strict=True)]


def root_scalar(
    f: Callable[..., Any], args: Any = (), method: str | None = None, bracket: Any = None, fprime: Any = None,
    fprime2: Any = None, x0: Any = None, x1: float | None = None, xtol: float | None = None, rtol: float | None = None,
    maxiter: int | None = None, options: dict[str, Any] | None = None,
) -> scipy.optimize.RootResults:  # fmt: skip
    """Solve ``f(x, *args) = 0`` of one unknown as `scipy.optimize.root_scalar` does; see `root`.

    Examples
    --------
    >>> import numpy as np
    >>> import tape_api as tf
    >>> from dualgrad.solvers.implicit import root_scalar
    >>> angle = lambda e: root_scalar(lambda x: x - e * np.sin(x) - 1.0, bracket=[0.0, 4.0]).root
    >>> print(np.round(angle(0.3), 6), np.round(tf.transforms.grad(angle)(0.3), 6))
    1.288091 1.048008
    """
    ends = None if bracket is None else [float(np.asarray(b)) for b in bracket]
    start = (0.5 * (ends[0] + ends[1]) if ends is not None else None) if x0 is None else x0
    if start is None:
        raise InvalidArgumentError("root_scalar: give `bracket` or `x0`")
    packed = Packed(start, "root_scalar: argument `x0`")
    made = _closed("root_scalar", f, packed, args, 1)
    how = {"xtol": xtol, "rtol": rtol, "maxiter": maxiter, "options": options, "x1": x1}
    by_newton = method in ("newton", "halley") or (method is None and ends is None and (fprime or x1 is None))
    slopes = 2 if method == "halley" or (method is None and fprime and fprime2) else 1
    find = _by(finders.root_scalar, method=method, bracket=ends, slopes=slopes if by_newton else 0, **how)
    x = packed.unpacked(_found(packed, made.captured, made.closed, find, "dense"))
    return scipy.optimize.RootResults(root=x, iterations=None, function_calls=None, flag=0, method=method)


def newton(
    func: Callable[..., Any], x0: Any, fprime: Any = None, args: Any = (), tol: float = 1.48e-8, **options: Any
) -> Any:
    """A root by `scipy.optimize.newton`, of one number or, element by element, of an array; see `root`."""
    _only("newton", options, "maxiter fprime2 x1 rtol full_output disp")
    packed = Packed(x0, "newton: argument `x0`")
    made = _closed("newton", func, packed, args, packed.size)
    slopes = 0 if fprime is None else 1 if options.get("fprime2") is None else 2
    find = _by(finders.newton, slopes=slopes, tol=tol, **{k: options.get(k) for k in ("maxiter", "x1", "rtol")})
    return packed.unpacked(_found(packed, made.captured, made.closed, find, None))


def brentq(
    f: Callable[..., Any], a: Any, b: Any, args: Any = (), xtol: float = 2e-12, rtol: float = 8.9e-16, **ignored: Any
) -> Any:
    """A root between two points by `scipy.optimize.brentq`; see `root_scalar`."""
    _only("brentq", ignored, "maxiter full_output disp")
    return root_scalar(f, args, "brentq", (a, b), xtol=xtol, rtol=rtol).root


def _only(name: str, given: dict[str, Any], known: str) -> None:
    unknown = [k for k in given if k not in known.split()]
    if unknown:
        raise TypeError(f"{name}: got an unexpected argument {unknown[0]!r}")
    if given.get("full_output"):
        raise UnimplementedError(f"{name}: `full_output` is not given with tensors; leave it out")


# ---- minima ----------------------------------------------------------------------------------------------------------


def _gradient(value: ClosedFunction) -> ClosedFunction:
    """The gradient of a function that gives one number, in its first parameter."""

    def make() -> ClosedFunction:
        pulled = value.pullback([0], [0])[0]

        def function(body: Any, values: Sequence[Any]) -> list[Any]:
            return pulled.inline(body, [*values, EagerTensor(np.ones(1, dtype_of(value.results[0]).numpy))])

        return build([plain(p.aval) for p in value.parameters], function)

    return value.derived("gradient", make)


def _within(gradient: ClosedFunction, ends: Sequence[Any]) -> ClosedFunction:
    """The function that is zero at a minimum within bounds: ``x`` less the projection of ``x - gradient``.

    Its last two parameters are the bounds, if there are any. Source: Blondel et al., "Efficient and Modular Implicit
    Differentiation" (2022), sec. 2.2.
    """
    avals = [plain(p.aval) for p in gradient.parameters]

    def function(body: Any, values: Sequence[Any]) -> list[Any]:
        x, (slope,) = values[0], gradient.inline(body, values[:-2])
        return [x - np.minimum(np.maximum(x - slope, values[-2]), values[-1])]

    return build([*avals, avals[0], avals[0]], function) if ends else gradient


def _ends(bounds: Any, packed: Packed) -> list[Any]:
    """The lower and upper bounds as vectors; none if nothing is bounded."""
    sides = (bounds.lb, bounds.ub) if isinstance(bounds, scipy.optimize.Bounds) else bounds
    parts = [[as_value(b, packed.dtype) for b in opened(side)[0]] for side in sides]
    if all(isinstance(b, EagerTensor) and np.all(np.isinf(b._array)) for part in parts for b in part):
        return []
    return [np.broadcast_to(flat(part), (packed.size,)) for part in parts]


def minimize(
    fun: Callable[..., Any], x0: Any, args: Any = (), method: str | None = None, jac: Any = None, hess: Any = None,
    hessp: Any = None, bounds: Any = None, constraints: Any = (), tol: float | None = None, callback: Any = None,
    options: dict[str, Any] | None = None, linear: Any = None,
) -> scipy.optimize.OptimizeResult:  # fmt: skip
    """Minimize ``fun(x, *args)`` as `scipy.optimize.minimize` does, so that the minimum can be differentiated.

    The derivative is that of the point where the gradient vanishes; within `bounds`, of the point that the projected
    gradient step keeps, so that what lies at a bound stays there.

    Parameters
    ----------
    fun : callable
        It gives one number. It is traced once.
    x0 : array, tensor or structure
        A first guess. It carries no derivative.
    args : tuple
    method, bounds, tol, options
        As in SciPy. Bounds may be tensors: what lies at one follows it.
    jac, hess, hessp
        Not needed and not looked at: they are known.
    constraints, callback
        Must be left out: write down the conditions of Karush, Kuhn and Tucker, and use `root`.
    linear
        As in `root`.

    Returns
    -------
    scipy.optimize.OptimizeResult
        `x` in the structure of `x0`, and `fun`, `success`, `message`.

    Raises
    ------
    ConvergenceError
        If no minimum was found.

    Examples
    --------
    >>> import numpy as np
    >>> import tape_api as tf
    >>> from dualgrad.solvers.implicit import minimize
    >>> ridge = lambda weight: minimize(lambda x: ((x - 1.0) ** 2).sum() + weight * (x**2).sum(), np.zeros(2)).x
    >>> tf.transforms.jacrev(ridge)(1.0).numpy().round(6)
    array([-0.25, -0.25])
    """
    if constraints not in ((), [], None):
        raise UnimplementedError(
            "minimize: with `constraints` its solution has no derivative here; write down the conditions of "
            "Karush, Kuhn and Tucker and solve them by root, or give `bounds`"
        )
    if callback is not None:
        raise UnimplementedError(
            "minimize: argument `callback` must be left out where the minimum has a derivative; to watch the steps, "
            "give scipy.optimize.minimize the functions of tf.for_scipy"
        )
    packed = Packed(x0, "minimize: argument `x0`")
    made = _closed("minimize", fun, packed, args, 1)
    if bounds is not None and not isinstance(bounds, scipy.optimize.Bounds):
        bounds = zip(*[(-np.inf if a is None else a, np.inf if b is None else b) for a, b in bounds], strict=True)
    gradient, ends = _gradient(made.closed), _ends((-np.inf, np.inf) if bounds is None else bounds, packed)
    find = _by(finders.minimize, value=made.closed, gradient=gradient, method=method, tol=tol, options=options)
    x = _found(packed, [*made.captured, *ends], _within(gradient, ends), find, linear)
    return _result(packed, x, fun=reshape(as_value(made.closed.inline(None, [x, *made.captured])[0]), []))


def least_squares(
    fun: Callable[..., Any], x0: Any, jac: Any = None, bounds: Any = (-np.inf, np.inf), method: str = "trf",
    args: Any = (), kwargs: dict[str, Any] | None = None, linear: Any = None, **options: Any,
) -> scipy.optimize.OptimizeResult:  # fmt: skip
    """Minimize the squares of ``fun(x, *args, **kwargs)`` as `scipy.optimize.least_squares` does; see `minimize`.

    Examples
    --------
    >>> import numpy as np
    >>> import tape_api as tf
    >>> from dualgrad.solvers.implicit import least_squares
    >>> slope = lambda data: least_squares(lambda a: a * np.arange(3.0) - data, 0.0).x
    >>> tf.transforms.grad(slope)(np.ones(3)).numpy().round(6)
    array([0. , 0.2, 0.4])
    """
    if options.get("loss", "linear") != "linear":
        raise UnimplementedError("least_squares: of the losses only 'linear' has a derivative here; use minimize")
    packed = Packed(x0, "least_squares: argument `x0`")
    misses = _closed("least_squares", lambda x: fun(x, *_tuple(args), **(kwargs or {})), packed, (), None)

    def total(body: Any, values: Sequence[Any]) -> list[Any]:
        (found,) = misses.closed.inline(body, values)
        return [0.5 * reduce_sum(found * found, keepdims=True)]

    value = misses.closed.derived("squares", lambda: build([plain(p.aval) for p in misses.closed.parameters], total))
    ends = _ends(bounds, packed)
    find = _by(finders.least_squares, misses=misses.closed, method=method, **options)
    x = _found(packed, [*misses.captured, *ends], _within(_gradient(value), ends), find, linear)
    return _result(packed, x, fun=as_value(misses.closed.inline(None, [x, *misses.captured])[0]))
