"""SUNDIALS' CVODE and IDA, by scikit-sundae."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from engine.jacobian.views.fixed_patterns import FixedPattern
from engine.jacobian.views.for_scipy import SciPyFunction, SciPyODE

KRYLOV = ("gmres", "bicgstab", "tfqmr")
"""Linear solvers that take products with the Jacobian."""


def cvode(ode: SciPyODE, linsolver: str = "dense", **options: Any) -> Any:
    """CVODE for ``dy/dt = f(t, y)`` with its Jacobian: ``solve(times, ode.y0)``.

    Parameters
    ----------
    ode : SciPyODE
        Of ``for_ode``.
    linsolver : str
        ``"dense"``; ``"band"``, whose diagonals are counted; ``"sparse"``; or an iterative one, which gets products in
        place of a matrix.
    **options
        As of ``sksundae.cvode.CVODE``.
    """
    from sksundae.cvode import CVODE, CVODEJacTimes

    function, layout = _in_layout(ode.function, linsolver)

    def right(t: float, y: np.ndarray, yp: np.ndarray) -> None:
        yp[:] = function.fun(y, t)

    def product(t: float, y: np.ndarray, yp: np.ndarray, v: np.ndarray, jv: np.ndarray) -> None:
        jv[:] = function.jac(y, t) @ v

    def jacobian(t: float, y: np.ndarray, yp: np.ndarray, jj: np.ndarray) -> None:
        found = function.jac(y, t)
        jj[:] = found.data if linsolver == "sparse" else found

    if linsolver in KRYLOV:
        return CVODE(right, linsolver=linsolver, jactimes=CVODEJacTimes(None, product), **options)
    with warnings.catch_warnings(action="ignore"):
        # that the pattern is for differences alone: the sparse solver refuses to go without it
        return CVODE(right, linsolver=linsolver, jacfn=jacobian, **_options_of(layout, linsolver), **options)


def ida(residual: SciPyFunction, linsolver: str = "dense", **options: Any) -> Any:
    """IDA for ``F(t, y, dy/dt) = 0`` with both of its derivatives: ``solve(times, y0, yp0)``.

    Parameters
    ----------
    residual : SciPyFunction
        ``for_scipy(lambda state, t: F(t, *state), (y0, yp0))``.
    linsolver, **options
        As in `cvode`.
    """
    from sksundae.ida import IDA, IDAJacTimes

    residual.fun(residual.x0, 0.0)
    function, layout = _in_layout(residual, linsolver)
    n = residual.x0.size // 2

    def left(t: float, y: np.ndarray, yp: np.ndarray, res: np.ndarray) -> None:
        res[:] = function.fun(np.concatenate([y, yp]), t)

    def product(t: float, y: np.ndarray, yp: np.ndarray, res: Any, v: np.ndarray, jv: np.ndarray, cj: float) -> None:
        jv[:] = function.jac(np.concatenate([y, yp]), t) @ np.concatenate([v, cj * v])

    def jacobian(t: float, y: np.ndarray, yp: np.ndarray, res: Any, cj: float, jj: np.ndarray) -> None:
        found = function.jac(np.concatenate([y, yp]), t)
        if linsolver == "sparse":
            jj[:] = by_state.data_of(found[:, :n], "jac") + cj * by_slope.data_of(found[:, n:], "jac")
        else:
            jj[:] = found[:, :n] + cj * found[:, n:]

    if linsolver in KRYLOV:
        return IDA(left, linsolver=linsolver, jactimes=IDAJacTimes(None, product), **options)
    both = (layout[:, :n] + layout[:, n:]).astype(np.int8)
    by_state, by_slope = FixedPattern(both), FixedPattern(both)
    with warnings.catch_warnings(action="ignore"):
        return IDA(left, linsolver=linsolver, jacfn=jacobian, **_options_of(both, linsolver), **options)


def _in_layout(function: SciPyFunction, linsolver: str) -> tuple[SciPyFunction, Any]:
    """The function with Jacobians as a linear solver takes them, and their pattern in columns, if there is one."""
    if linsolver in KRYLOV:
        return function.like(format="operator", fixed_pattern=False), None
    sparse = function.like(format="csc", fixed_pattern=True)
    return (
        sparse if linsolver == "sparse" else function.like(format="dense", fixed_pattern=False)
    ), sparse.jac_sparsity()


def _options_of(pattern: Any, linsolver: str) -> dict[str, Any]:
    """Say to SUNDIALS where the Jacobian may have entries."""
    if linsolver.endswith("band"):
        rows, columns = pattern.tocoo().coords
        off = rows.astype(np.int64) - columns
        return {"lband": int(max(off.max(initial=0), 0)), "uband": int(max(-off.min(initial=0), 0))}
    return {"sparsity": pattern} if linsolver == "sparse" else {}
