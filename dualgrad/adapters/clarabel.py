"""Clarabel."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from dualgrad.adapters.quadratic import model
from engine.jacobian.views.for_scipy import SciPyFunction


def step(function: SciPyFunction, x: Any, settings: Any = None, **problem: Any) -> Any:
    """Clarabel for the step from a point that the quadratic model there calls best: ``solve().x``.

    Equations are its zero cone, the finite ones of the other bounds its nonnegative one.

    Parameters
    ----------
    function, x, **problem
        `lb`, `ub`, `cl`, `cu` and `multipliers`, see `dualgrad.adapters.quadratic.model`.
    settings : clarabel.DefaultSettings, optional
    """
    import clarabel

    made = model(function, x, "upper", **problem)
    rows, equal = made.A.tocsr(), made.l == made.u
    above, below = ~equal & np.isfinite(made.u), ~equal & np.isfinite(made.l)
    matrix = sparse.vstack([rows[equal], rows[above], -rows[below]], format="csc")
    right = np.concatenate([made.u[equal], made.u[above], -made.l[below]])
    sizes = int(equal.sum()), int(above.sum() + below.sum())
    kinds = clarabel.ZeroConeT, clarabel.NonnegativeConeT
    cones = [kind(size) for kind, size in zip(kinds, sizes, strict=True) if size]
    return clarabel.DefaultSolver(
        made.P, made.q, sparse.csc_matrix(matrix), right, cones, settings or clarabel.DefaultSettings()
    )
