"""``tf.distributions``: random variables with logarithms of densities that have derivatives, and samples.

Samples are functions of the parameters, through which gradients pass, of all but counts and classes.
"""

from graph_api.legacy.distributions.base import (
    FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED,
    Distribution,
    RegisterKL,
    kl_divergence,
)
from graph_api.legacy.distributions.scalars import Bernoulli, Beta, Exponential, Gamma, Normal, Uniform
from graph_api.legacy.distributions.vectors import Categorical, Dirichlet, MultivariateNormalDiag

__all__ = [
    "FULLY_REPARAMETERIZED",
    "NOT_REPARAMETERIZED",
    "Bernoulli",
    "Beta",
    "Categorical",
    "Dirichlet",
    "Distribution",
    "Exponential",
    "Gamma",
    "MultivariateNormalDiag",
    "Normal",
    "RegisterKL",
    "Uniform",
    "kl_divergence",
]
