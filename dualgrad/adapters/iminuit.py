"""iminuit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.jacobian.views.for_scipy import SciPyFunction


def minuit(function: SciPyFunction, names: Sequence[str] | None = None, errordef: float = 1.0) -> Any:
    """A ``Minuit`` with the exact gradient and Hessian of a cost.

    Parameters
    ----------
    function : SciPyFunction
        Of ``for_scipy``; it gives one number: half of what is squared, say, or a negative log-likelihood.
    names : sequence of str, optional
        Of the parameters.
    errordef : float
        1 for sums of squares, 0.5 for negative log-likelihoods: by how much the cost is larger one error away.
    """
    import iminuit

    dense = function.like(format="dense", fixed_pattern=False)
    second = {"g2": lambda x: np.diagonal(dense.hess(x)), "hessian": dense.hess}
    made = iminuit.Minuit(lambda x: float(np.squeeze(dense.fun(x))), function.x0, grad=dense.grad, name=names, **second)
    made.errordef = errordef
    return made
