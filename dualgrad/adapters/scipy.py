"""`scipy.optimize.minimize`, with the derivatives that each method takes, in the form that it takes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from engine.jacobian.views.for_scipy import SciPyFunction

DENSE = ("dogleg", "trust-exact")
"""Methods that factor a dense Hessian."""
PRODUCTS = ("newton-cg", "trust-ncg", "trust-krylov")
"""Methods that take products with the Hessian."""
CONSTRAINED = ("trust-constr", "slsqp", "cobyla", "cobyqa")
WITHOUT = ("nelder-mead", "powell", "cobyla", "cobyqa")
"""Methods that take no gradient."""


def pair(function: SciPyFunction) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """``fun`` and ``grad``, as many optimizers take them side by side."""
    dense = function.like(format="dense", fixed_pattern=False)
    return dense.fun, dense.grad


def minimize(function: SciPyFunction, method: str, cl: Any = 0.0, cu: Any = 0.0, **options: Any) -> Any:
    """``scipy.optimize.minimize`` from ``function.x0``.

    Parameters
    ----------
    function : SciPyFunction
        Of ``for_scipy``: it gives the objective, or ``(objective, constraints, ...)``. The Hessians and constraints'
        Jacobians of trust-constr are in its format.
    method : str
    cl, cu : array or number
        Bounds of the constraints, one pair for all.
    **options
        As of SciPy: ``bounds``, ``tol``, ``options``.
    """
    from scipy import optimize

    first, *rest = function.parts()
    name, dense = method.lower(), first.like(format="dense", fixed_pattern=False)
    if rest and name not in CONSTRAINED:
        raise ValueError(f"scipy: {method} takes no constraints; {', '.join(CONSTRAINED)} do")
    given: dict[str, Any] = {} if name in WITHOUT else {"jac": dense.grad}
    given |= {"hess": dense.hess} if name in DENSE else {"hessp": dense.hessp} if name in PRODUCTS else {}
    given |= {"hess": first.hess} if name == "trust-constr" else {}
    ends = np.cumsum([0, *[np.size(p.fun(p.x0)) for p in rest]])
    low, high = (np.broadcast_to(np.asarray(b, np.float64), (ends[-1],)) for b in (cl, cu))
    spans = [(p, low[a:b], high[a:b]) for p, a, b in zip(rest, ends[:-1], ends[1:], strict=True)]
    if name == "trust-constr":
        made = [optimize.NonlinearConstraint(p.fun, a, b, jac=p.jac, hess=p.weighted_hess) for p, a, b in spans]
    else:
        made = [one for span in spans for one in _apart(*span, None if name in WITHOUT else "jac")]
    given |= {"constraints": made} if made else {}
    return optimize.minimize(dense.fun, function.x0, method=method, **{**given, **options})


def _apart(function: SciPyFunction, low: np.ndarray, high: np.ndarray, slope: str | None) -> list[Any]:
    """Equations and inequalities as constraints of their own, as all methods but trust-constr want them."""
    from scipy import optimize

    dense, made = function.like(format="dense", fixed_pattern=False), []
    for rows in (np.flatnonzero(low == high), np.flatnonzero(low != high)):
        how = {} if slope is None else {slope: partial(_rows, dense.jac, rows, 2)}
        if rows.size:
            made.append(optimize.NonlinearConstraint(partial(_rows, dense.fun, rows, 1), low[rows], high[rows], **how))
    return made


def _rows(function: Callable[[Any], Any], rows: np.ndarray, dimensions: int, x: Any) -> Any:
    return np.array(function(x), ndmin=dimensions)[rows]
