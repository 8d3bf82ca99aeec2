"""Finders of the x of an `implicit_op`: SciPy's solvers on the compiled programs, and Newton's steps at the end.

A finder is called with the residual (a closed function of x and parameters), a first guess and the parameters' arrays.
SciPy stops where its tolerances are met. The implicit function theorem holds at the solution itself, so a few of
Newton's steps follow where the matrix is small enough.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.optimize

from dualgrad.adapters.scipy import DENSE, PRODUCTS, WITHOUT
from dualgrad.solvers.implicit_op import derivative_in_x
from dualgrad.solvers.matrices import compiled_blocks
from engine.closed.function import ClosedFunction, build, plain
from engine.ops.creation import ones_like
from engine.runtime.errors import ConvergenceError

_POLISHED = 300
"""Unknowns up to which Newton's steps follow."""
_ENOUGH = 1e-6
"""Of the residual at the guess: what is left of it where a solver says that it failed, and did not."""

Arrays = Sequence[np.ndarray]


def function_of(closed: ClosedFunction, like: np.ndarray, params: Arrays) -> Callable[[Any], np.ndarray]:
    """The first result as a function of the first parameter, in NumPy; what `params` has besides is left alone."""

    def value(x: Any, *_: Any) -> np.ndarray:
        x = np.asarray(x, like.dtype).reshape(like.shape)
        return np.asarray(closed.run(x, *params[: len(closed.parameters) - 1])[0], np.float64)

    return value


def matrix_function(closed: ClosedFunction, like: np.ndarray, params: Arrays) -> Callable[[Any], np.ndarray]:
    """Its Jacobian with respect to the first parameter, likewise."""
    return function_of(compiled_blocks(closed, [0]), like, params)


def polished(residual: ClosedFunction, x: np.ndarray, params: Arrays, steps: int = 4) -> np.ndarray:
    """`x` after a few of Newton's steps, as long as the residual shrinks."""
    if x.size > _POLISHED:
        return x
    value, matrix = function_of(residual, x, params), matrix_function(residual, x, params)
    left = value(x)
    for _ in range(steps):
        if not np.any(left):
            break
        try:
            better = x - np.linalg.solve(matrix(x), left).astype(x.dtype)
        except np.linalg.LinAlgError:
            break
        after = value(better)
        if not np.linalg.norm(after) < np.linalg.norm(left):
            break
        x, left = better, after
    return x


def _checked(name: str, found: Any, residual: ClosedFunction, guess: np.ndarray, params: Arrays) -> np.ndarray:
    """The solution of one of SciPy's solvers, polished; raises if it is none."""
    value = function_of(residual, guess, params)
    x = polished(residual, np.asarray(found.x, guess.dtype).reshape(guess.shape), params)
    left = np.linalg.norm(value(x))
    if not np.all(np.isfinite(x)) or not np.isfinite(left):
        raise ConvergenceError(f"{name}: the solution is not finite. {found.message}")
    if not found.success and left > _ENOUGH * (1.0 + np.linalg.norm(value(guess))):
        raise ConvergenceError(f"{name}: no solution was found, so there is no derivative. {found.message}")
    return x


def root(
    residual: ClosedFunction, guess: np.ndarray, params: Arrays, method: str = "hybr", **options: Any
) -> np.ndarray:
    """`scipy.optimize.root`; by ``"known"`` the guess is the solution but for a few of Newton's steps."""
    if method == "known":
        return polished(residual, guess, params)
    if method in ("hybr", "lm"):
        options["jac"] = matrix_function(residual, guess, params)
    found = scipy.optimize.root(function_of(residual, guess, params), guess, method=method, **options)
    return _checked("root", found, residual, guess, params)


def _slope(closed: ClosedFunction) -> ClosedFunction:
    """The derivative of a function that takes each number by itself, as such a function."""
    avals = [plain(p.aval) for p in closed.parameters]

    def function(body: Any, values: Sequence[Any]) -> list[Any]:
        return derivative_in_x(closed).inline(body, [ones_like(values[0]), *values])

    return closed.derived("slope", lambda: build(avals, function))


def _slopes(residual: ClosedFunction, guess: np.ndarray, params: Arrays, number: int) -> dict[str, Any]:
    """As many derivatives as Newton's method (1) or Halley's (2) takes, as SciPy names them."""
    functions = {}
    for name in ("fprime", "fprime2")[:number]:
        residual = _slope(residual)
        functions[name] = function_of(residual, guess, params)
    return functions


def root_scalar(
    residual: ClosedFunction, guess: np.ndarray, params: Arrays, slopes: int = 0, **options: Any
) -> np.ndarray:
    """`scipy.optimize.root_scalar`."""
    functions = {"f": function_of(residual, guess, params), **_slopes(residual, guess, params, slopes)}
    items: dict[str, Any] = {k: lambda x, f=f: f(x).item() for k, f in functions.items()}
    try:
        found = scipy.optimize.root_scalar(x0=float(guess[0]), **items, **options)
    except (ValueError, RuntimeError) as error:
        raise ConvergenceError(f"root_scalar: {error}") from error
    found.x, found.success, found.message = np.asarray([found.root]), found.converged, found.flag
    return _checked("root_scalar", found, residual, guess, params)


def newton(residual: ClosedFunction, guess: np.ndarray, params: Arrays, slopes: int = 0, **options: Any) -> np.ndarray:
    """`scipy.optimize.newton`, which goes by secants without a derivative."""
    options |= {"full_output": True, **_slopes(residual, guess, params, slopes)}
    return _iterated("newton", function_of(residual, guess, params), residual, guess, params, options)


def fixed_point(residual: ClosedFunction, guess: np.ndarray, params: Arrays, **options: Any) -> np.ndarray:
    """`scipy.optimize.fixed_point`, of ``residual = f(x) - x``."""
    value = function_of(residual, guess, params)
    return _iterated("fixed_point", lambda x: value(x) + x, residual, guess, params, options)


def _iterated(
    name: str, f: Any, residual: ClosedFunction, guess: np.ndarray, params: Arrays, options: dict[str, Any]
) -> np.ndarray:
    """The solution by one of SciPy's functions that raise, or say of arrays which elements they found."""
    try:
        found = getattr(scipy.optimize, name)(f, guess, **options)
    except RuntimeError as error:
        raise ConvergenceError(f"{name}: {error}") from error
    x, done = found[:2] if "full_output" in options else (found, True)
    success = bool(np.all(getattr(done, "converged", done)))
    result = scipy.optimize.OptimizeResult(x=x, success=success, message="It failed to converge.")
    return _checked(name, result, residual, guess, params)


def minimize(
    residual: ClosedFunction, guess: np.ndarray, params: Arrays, value: ClosedFunction, gradient: ClosedFunction,
    method: str | None = None, **options: Any,
) -> np.ndarray:  # fmt: skip
    """`scipy.optimize.minimize`; the gradient it takes is `gradient`, the residual may add bounds to it."""
    if len(params) > len(gradient.parameters):
        options["bounds"] = scipy.optimize.Bounds(*params[-2:])
    cost, name = function_of(value, guess, params), (method or "").lower()
    if name not in WITHOUT:
        options["jac"] = function_of(gradient, guess, params)
    if name in DENSE or name == "trust-constr":
        options["hess"] = matrix_function(gradient, guess, params)
    elif name in PRODUCTS:
        product = derivative_in_x(gradient)
        options["hessp"] = lambda x, p: function_of(product, guess, (np.asarray(x, guess.dtype), *params))(p)
    found = scipy.optimize.minimize(lambda x: cost(x).item(), guess, method=method, **options)
    return _checked("minimize", found, residual, guess, params)


def least_squares(
    residual: ClosedFunction, guess: np.ndarray, params: Arrays, misses: ClosedFunction, **options: Any
) -> np.ndarray:
    """`scipy.optimize.least_squares` of the function `misses`."""
    if len(params) > len(misses.parameters):
        options["bounds"] = scipy.optimize.Bounds(*params[-2:])
    value, matrix = (f(misses, guess, params) for f in (function_of, matrix_function))
    found = scipy.optimize.least_squares(value, guess, matrix, **options)
    return _checked("least_squares", found, residual, guess, params)


def custom(residual: ClosedFunction, guess: np.ndarray, params: Arrays, solve: Callable[..., Any]) -> np.ndarray:
    """A function of the user's: ``solve(residual, guess)``, of NumPy arrays."""
    found = np.asarray(solve(function_of(residual, guess, params), guess.astype(np.float64)))
    if found.size != guess.size or not np.all(np.isfinite(found)):
        raise ConvergenceError(f"custom_root: `solve` must give {guess.size} finite numbers; got {found!r}")
    return found.reshape(guess.shape).astype(guess.dtype)
