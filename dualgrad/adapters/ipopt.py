"""Ipopt, by cyipopt."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.jacobian.views.for_scipy import SciPyFunction

NO_BOUND = 2.0e19
"""Ipopt takes what is larger for infinite."""


class Callbacks:
    """The functions that cyipopt calls for a problem: see `problem`.

    Parameters
    ----------
    function : SciPyFunction
        It gives the objective, and the constraints after it, if there are any.
    """

    def __init__(self, function: SciPyFunction) -> None:
        self.function = function.like(format="csr", fixed_pattern=True)
        self._parts = self.function.parts()

    def objective(self, x: np.ndarray) -> float:
        """The value to be minimized."""
        return float(np.squeeze(self._parts[0].fun(x)))

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """Its gradient."""
        return self._parts[0].grad(x)

    def constraints(self, x: np.ndarray) -> np.ndarray:
        """The values that have bounds."""
        return np.concatenate([np.zeros(0), *[np.ravel(p.fun(x)) for p in self._parts[1:]]])

    def jacobian(self, x: np.ndarray) -> np.ndarray:
        """The entries of their Jacobian."""
        return np.concatenate([np.zeros(0), *[p.jac(x).data for p in self._parts[1:]]])

    def jacobianstructure(self) -> tuple[np.ndarray, np.ndarray]:
        """Their rows and columns."""
        patterns = [p.jac_sparsity().tocoo() for p in self._parts[1:]]
        starts = np.cumsum([0, *[p.shape[0] for p in patterns]])
        rows = [p.coords[0] + start for p, start in zip(patterns, starts[:-1], strict=True)]
        none = np.zeros(0, np.int32)
        return np.concatenate([none, *rows]), np.concatenate([none, *[p.coords[1] for p in patterns]])

    def hessian(self, x: np.ndarray, multipliers: np.ndarray, factor: float) -> np.ndarray:
        """The entries of the Lagrangian's Hessian on and below the diagonal."""
        return self.function.weighted_hess(x, [factor, *multipliers], triangle="lower").data

    def hessianstructure(self) -> tuple[np.ndarray, np.ndarray]:
        """Their rows and columns."""
        return self.function.hess_sparsity(triangle="lower").tocoo().coords


def problem(function: SciPyFunction, lb: Any = None, ub: Any = None, cl: Any = None, cu: Any = None) -> Any:
    """A problem for Ipopt, with exact derivatives and their patterns.

    Parameters
    ----------
    function : SciPyFunction
        Of ``for_scipy``: it gives the objective, or ``(objective, constraints, ...)``.
    lb, ub : array or number, optional
        Bounds of the point.
    cl, cu : array or number, optional
        Bounds of the constraints, 0 by default; equal ones for an equation.

    Returns
    -------
    cyipopt.Problem
        ``solve(function.x0)`` gives the point and what is known of it.
    """
    import cyipopt

    made = Callbacks(function)
    n, m = made.function.x0.size, made.constraints(made.function.x0).size
    limits = [(lb, -NO_BOUND, n), (ub, NO_BOUND, n), (cl, 0.0, m), (cu, 0.0, m)]
    bounds = [np.full(size, usual if given is None else given, np.float64) for given, usual, size in limits]
    return cyipopt.Problem(n=n, m=m, problem_obj=made, **dict(zip(("lb", "ub", "cl", "cu"), bounds, strict=True)))
