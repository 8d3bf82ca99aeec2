"""NLopt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.jacobian.views.for_scipy import SciPyFunction


def objective(function: SciPyFunction) -> Callable[[np.ndarray, np.ndarray], float]:
    """A function for ``set_min_objective``: it writes the gradient into NLopt's array, if there is one.

    The same is a constraint of one number for ``add_inequality_constraint`` and ``add_equality_constraint``.

    Parameters
    ----------
    function : SciPyFunction
        Of ``for_scipy``; it gives one number.
    """
    dense = function.like(format="dense", fixed_pattern=False)

    def value(x: np.ndarray, grad: np.ndarray) -> float:
        if not grad.size:
            return float(np.squeeze(dense.fun(x)))
        found, grad[:] = dense.fun_and_jac(x)
        return float(np.squeeze(found))

    return value


def constraints(function: SciPyFunction) -> Callable[[np.ndarray, np.ndarray, np.ndarray], None]:
    """A function for ``add_inequality_mconstraint`` and ``add_equality_mconstraint``: values that are at most 0, or 0.

    Parameters
    ----------
    function : SciPyFunction
        Of ``for_scipy``.
    """
    dense = function.like(format="dense", fixed_pattern=False)

    def values(result: np.ndarray, x: np.ndarray, grad: np.ndarray) -> None:
        result[:] = dense.fun(x)
        if grad.size:
            grad[:] = dense.jac(x)

    return values


def minimizer(function: SciPyFunction, algorithm: str, lb: Any = None, ub: Any = None, tol: float = 1e-8) -> Any:
    """An optimizer of NLopt for a problem: ``optimize(function.x0)`` gives the point.

    Parameters
    ----------
    function : SciPyFunction
        It gives the objective, or ``(objective, inequalities)``, which are to be at most 0.
    algorithm : str
        NLopt's name: ``"LD_SLSQP"``.
    lb, ub : array or number, optional
        Bounds of the point.
    tol : float
        By how much a constraint may be violated, and the relative change of the point that ends the search.
    """
    import nlopt

    made, (first, *rest) = nlopt.opt(getattr(nlopt, algorithm), function.x0.size), function.parts()
    made.set_min_objective(objective(first))
    for part in rest:
        size = np.size(part.fun(part.x0))
        made.add_inequality_mconstraint(constraints(part), np.full(size, tol))
    for bound, settle in ((lb, made.set_lower_bounds), (ub, made.set_upper_bounds)):
        if bound is not None:
            settle(bound)
    made.set_xtol_rel(tol)
    return made
