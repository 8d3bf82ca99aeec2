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
from graph_api.legacy.distributions.scalars import (
    Bernoulli,
    Beta,
    Exponential,
    Gamma,
    Laplace,
    Normal,
    StudentT,
    Uniform,
)
from graph_api.legacy.distributions.vectors import (
    Categorical,
    Dirichlet,
    DirichletMultinomial,
    Multinomial,
    MultivariateNormalDiag,
)

__all__ = [
    "FULLY_REPARAMETERIZED",
    "NOT_REPARAMETERIZED",
    "Bernoulli",
    "Beta",
    "Categorical",
    "Dirichlet",
    "DirichletMultinomial",
    "Distribution",
    "Exponential",
    "Gamma",
    "Laplace",
    "Multinomial",
    "MultivariateNormalDiag",
    "Normal",
    "RegisterKL",
    "StudentT",
    "Uniform",
    "kl_divergence",
]
