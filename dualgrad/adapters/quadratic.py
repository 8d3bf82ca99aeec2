"""A quadratic model of a problem at a point, which solvers of quadratic programs take."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from engine.jacobian.views.fixed_patterns import Triangle
from engine.jacobian.views.for_scipy import SciPyFunction


class Model(NamedTuple):
    """``d @ P @ d / 2 + q @ d``, to be least for ``l <= A @ d <= u``: `d` is the step from the point.

    Attributes
    ----------
    P : csc_matrix
        One triangle of the Lagrangian's Hessian.
    q : array
    A : csc_matrix
        The Jacobian of the constraints, and below it the identity for bounds of the point.
    l, u : array
    """

    P: sparse.csc_matrix
    q: np.ndarray
    A: sparse.csc_matrix
    l: np.ndarray  # noqa: E741 - as the solvers call it
    u: np.ndarray


def model(
    function: SciPyFunction,
    x: Any,
    triangle: Triangle,
    multipliers: Any = None,
    lb: Any = None,
    ub: Any = None,
    cl: Any = None,
    cu: Any = None,
) -> Model:
    """The quadratic model of the objective and the linear ones of the constraints at a point.

    Parameters
    ----------
    function : SciPyFunction
        Of ``for_scipy``: it gives the objective, or ``(objective, constraints, ...)``.
    x : array
    triangle : "lower" or "upper"
        Of the Hessian.
    multipliers : array, or None
        Of the constraints in the Lagrangian whose Hessian it is; None: that of the objective.
    lb, ub, cl, cu : array, number or None
        Bounds of the point and of the constraints, 0 for the latter by default.
    """
    columns = function.like(format="csc", fixed_pattern=True)
    x, (first, *rest) = np.asarray(x, np.float64), columns.parts()
    values = np.concatenate([np.zeros(0), *[np.ravel(p.fun(x)) for p in rest]])
    weights = np.zeros(values.size) if multipliers is None else np.asarray(multipliers, np.float64)
    hessian = columns.weighted_hess(x, [1.0, *weights], triangle=triangle)
    limits = [(cl, 0.0, values), (cu, 0.0, values), (lb, -np.inf, x), (ub, np.inf, x)]
    low, high, below, above = (np.full(at.size, usual if b is None else b) - at for b, usual, at in limits)
    rows = [p.jac(x) for p in rest] or [sparse.csc_array((0, x.size))]
    whole = sparse.vstack(rows, format="csc") if len(rows) > 1 else rows[0]
    if lb is not None or ub is not None:
        # the identity below: an entry at the end of each column
        ends, m = whole.indptr[1:], values.size
        indices = np.insert(whole.indices, ends, np.arange(m, m + x.size, dtype=np.int32))
        entries = np.insert(whole.data, ends, 1.0), indices, whole.indptr + np.arange(x.size + 1, dtype=np.int32)
        whole = sparse.csc_matrix(entries, (m + x.size, x.size))
        low, high = np.concatenate([low, below]), np.concatenate([high, above])
    return Model(sparse.csc_matrix(hessian), first.grad(x), sparse.csc_matrix(whole), low, high)
