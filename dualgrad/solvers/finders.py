"""Finders of the x of an `implicit_op`: SciPy's solvers on the compiled programs, and Newton's steps at the end.

A finder is called with the residual (a closed function of x and parameters), a first guess and the parameters' arrays.
SciPy stops where its tolerances are met. The implicit function theorem holds at the solution itself, so a few of
Newton's steps follow where the matrix is small enough.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.optimize

from dualgrad.solvers.matrices import compiled_blocks
from engine.closed.function import ClosedFunction
from engine.runtime.errors import ConvergenceError

_POLISHED = 300
"""Unknowns up to which Newton's steps follow."""
_ENOUGH = 1e-6
"""Of the residual at the guess: what is left of it where a solver says that it failed, and did not."""

Arrays = Sequence[np.ndarray]


def function_of(closed: ClosedFunction, like: np.ndarray, params: Arrays) -> Callable[[Any], np.ndarray]:
    """The first result as a function of the first parameter, in NumPy."""

    def value(x: Any, *_: Any) -> np.ndarray:
        return np.asarray(closed.run(np.asarray(x, like.dtype).reshape(like.shape), *params)[0], np.float64)

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


@dataclass(frozen=True)
class Roots:
    """`scipy.optimize.root`; by ``"known"`` the guess is the solution but for a few of Newton's steps."""

    method: str = "hybr"
    options: dict[str, Any] = field(default_factory=dict)

    def __call__(self, residual: ClosedFunction, guess: np.ndarray, params: Arrays) -> np.ndarray:
        """Find it."""
        if self.method == "known":
            return polished(residual, guess, params)
        value = function_of(residual, guess, params)
        exact: dict[str, Any] = (
            {"jac": matrix_function(residual, guess, params)} if self.method in ("hybr", "lm") else {}
        )
        found = scipy.optimize.root(value, guess, method=self.method, **exact, **self.options)
        return _checked("root", found, residual, guess, params)


@dataclass(frozen=True)
class ScalarRoot:
    """`scipy.optimize.root_scalar`."""

    options: dict[str, Any] = field(default_factory=dict)

    def __call__(self, residual: ClosedFunction, guess: np.ndarray, params: Arrays) -> np.ndarray:
        """Find it."""
        value, matrix = function_of(residual, guess, params), matrix_function(residual, guess, params)
        options = dict(self.options)
        if options.get("bracket") is None and options.get("method") in (None, "newton", "halley"):
            options |= {"method": "newton", "fprime": lambda x: matrix(x).item()}
        try:
            found = scipy.optimize.root_scalar(lambda x: value(x).item(), x0=float(guess[0]), **options)
        except (ValueError, RuntimeError) as error:
            raise ConvergenceError(f"root_scalar: {error}") from error
        found.x, found.success, found.message = np.asarray([found.root]), found.converged, found.flag
        return _checked("root_scalar", found, residual, guess, params)


@dataclass(frozen=True)
class FixedPoint:
    """`scipy.optimize.fixed_point`, of ``residual = f(x) - x``."""

    options: dict[str, Any] = field(default_factory=dict)

    def __call__(self, residual: ClosedFunction, guess: np.ndarray, params: Arrays) -> np.ndarray:
        """Find it."""
        value = function_of(residual, guess, params)
        try:
            found = scipy.optimize.fixed_point(lambda x: value(x) + x, guess, **self.options)
        except RuntimeError as error:
            raise ConvergenceError(f"fixed_point: {error}") from error
        result = scipy.optimize.OptimizeResult(x=found, success=True, message="")
        return _checked("fixed_point", result, residual, guess, params)


_WITH_HESSIAN = ("dogleg", "trust-exact")
_WITH_PRODUCTS = ("newton-cg", "trust-ncg", "trust-krylov", "trust-constr")


@dataclass(frozen=True)
class Minimum:
    """`scipy.optimize.minimize`; the gradient it takes is `gradient`, the residual may add bounds to it."""

    value: ClosedFunction
    gradient: ClosedFunction
    method: str | None = None
    options: dict[str, Any] = field(default_factory=dict)

    def __call__(self, residual: ClosedFunction, guess: np.ndarray, params: Arrays) -> np.ndarray:
        """Find it."""
        value, gradient = (function_of(f, guess, params) for f in (self.value, self.gradient))
        more: dict[str, Any] = {}
        method = (self.method or "").lower()
        if method not in ("nelder-mead", "powell", "cobyla", "cobyqa"):
            more["jac"] = gradient
        if method in _WITH_HESSIAN or method == "trust-constr":
            more["hess"] = matrix_function(self.gradient, guess, params)
        elif method in _WITH_PRODUCTS:
            push = self.gradient.pushforward([0], [0])[0]
            more["hessp"] = lambda x, p: push.run(np.asarray(x, guess.dtype), *params, np.asarray(p, guess.dtype))[
                1
            ].astype(np.float64)
        found = scipy.optimize.minimize(lambda x: value(x).item(), guess, method=self.method, **more, **self.options)
        return _checked("minimize", found, residual, guess, params)


@dataclass(frozen=True)
class LeastSquares:
    """`scipy.optimize.least_squares` of the function `misses`."""

    misses: ClosedFunction
    options: dict[str, Any] = field(default_factory=dict)

    def __call__(self, residual: ClosedFunction, guess: np.ndarray, params: Arrays) -> np.ndarray:
        """Find it."""
        value, matrix = (f(self.misses, guess, params) for f in (function_of, matrix_function))
        found = scipy.optimize.least_squares(value, guess, matrix, **self.options)
        return _checked("least_squares", found, residual, guess, params)


@dataclass(frozen=True, eq=False)
class Custom:
    """A function of the user's: ``solve(residual, guess)``, of NumPy arrays."""

    solve: Callable[..., Any]

    def __call__(self, residual: ClosedFunction, guess: np.ndarray, params: Arrays) -> np.ndarray:
        """Find it."""
        found = np.asarray(self.solve(function_of(residual, guess, params), guess.astype(np.float64)))
        if found.size != guess.size or not np.all(np.isfinite(found)):
            raise ConvergenceError(f"custom_root: `solve` must give {guess.size} finite numbers; got {found!r}")
        return found.reshape(guess.shape).astype(guess.dtype)
