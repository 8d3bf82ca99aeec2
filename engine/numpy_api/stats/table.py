"""All methods of SciPy's distributions that there are functions for, as `engine.numpy_api.scipy_functions` has them."""

from __future__ import annotations

from engine.numpy_api.functions import Row
from engine.numpy_api.stats import multivariate
from engine.numpy_api.stats.continuous import CONTINUOUS
from engine.numpy_api.stats.discrete import DISCRETE
from engine.numpy_api.stats.elementary import ELEMENTARY

UNIVARIATE = {**CONTINUOUS, **ELEMENTARY, **DISCRETE}
"""By SciPy's name."""

_ADVICE = "a formula of NumPy's functions"

STATS: dict[str, Row] = {
    **{
        f"scipy.stats.{name}.{method}": (function, _ADVICE)
        for name, distribution in UNIVARIATE.items()
        for method, function in distribution.methods()
    },
    **{f"scipy.stats.{name}": (function, _ADVICE) for name, function in multivariate.methods()},
}
"""By ``scipy.stats.norm.logpdf`` and the like."""
