"""HiGHS, by highspy."""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgrad.adapters.quadratic import model
from engine.jacobian.views.for_scipy import SciPyFunction


def step(function: SciPyFunction, x: Any, **problem: Any) -> Any:
    """HiGHS for the step from a point that the quadratic model there calls best.

    ``run()`` finds it, ``getSolution().col_value`` has it.

    Parameters
    ----------
    function, x, **problem
        `lb`, `ub`, `cl`, `cu` and `multipliers`, see `dualgrad.adapters.quadratic.model`.
    """
    import highspy

    made, n = model(function, x, "lower", **problem), function.x0.size
    program = highspy.HighsModel()
    linear, hessian = program.lp_, program.hessian_
    linear.num_col_, linear.num_row_ = n, made.A.shape[0]
    linear.col_cost_, linear.row_lower_, linear.row_upper_ = made.q, made.l, made.u
    linear.col_lower_, linear.col_upper_ = np.full(n, -highspy.kHighsInf), np.full(n, highspy.kHighsInf)
    rows = linear.a_matrix_
    rows.start_, rows.index_, rows.value_ = made.A.indptr, made.A.indices, made.A.data
    hessian.dim_, hessian.format_ = n, highspy.HessianFormat.kTriangular
    hessian.start_, hessian.index_, hessian.value_ = made.P.indptr, made.P.indices, made.P.data
    solver = highspy.Highs()
    solver.passModel(program)
    return solver
