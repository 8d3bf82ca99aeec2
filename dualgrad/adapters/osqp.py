"""OSQP."""

from __future__ import annotations

from typing import Any

from dualgrad.adapters.quadratic import model
from engine.jacobian.views.for_scipy import SciPyFunction


def step(
    function: SciPyFunction, x: Any, lb: Any = None, ub: Any = None, cl: Any = None, cu: Any = None,
    multipliers: Any = None, **settings: Any,
) -> Any:  # fmt: skip
    """OSQP for the step from a point that the quadratic model there calls best: ``solve().x``.

    Parameters
    ----------
    function, x, lb, ub, cl, cu, multipliers
        See `dualgrad.adapters.quadratic.model`.
    **settings
        As of ``osqp.OSQP.setup``.
    """
    import osqp

    made = osqp.OSQP()
    made.setup(*model(function, x, "upper", multipliers, lb, ub, cl, cu), **settings)
    return made
