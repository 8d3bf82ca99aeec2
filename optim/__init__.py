"""Optimizers, clipping, schedules and averages for graphs and eager variables alike, each written once.

TensorFlow 1's classes are here under their names; `keras` holds Keras's.
"""

import engine.frontend.operators  # noqa: F401  (values get their operators)
from optim import keras, schedules
from optim.adadelta import AdadeltaOptimizer
from optim.adagrad import AdagradOptimizer
from optim.adam import AdamOptimizer
from optim.averages import ExponentialMovingAverage
from optim.clip import clip_by_average_norm, clip_by_global_norm, clip_by_norm, clip_by_value, global_norm
from optim.ftrl import FtrlOptimizer
from optim.gradient_descent import GradientDescentOptimizer
from optim.momentum import MomentumOptimizer
from optim.optimizer import Optimizer
from optim.proximal import ProximalAdagradOptimizer, ProximalGradientDescentOptimizer
from optim.rmsprop import RMSPropOptimizer
from optim.schedules import (
    cosine_decay,
    exponential_decay,
    inverse_time_decay,
    natural_exp_decay,
    piecewise_constant,
    polynomial_decay,
)

__all__ = [
    "AdadeltaOptimizer",
    "AdagradOptimizer",
    "AdamOptimizer",
    "ExponentialMovingAverage",
    "FtrlOptimizer",
    "GradientDescentOptimizer",
    "MomentumOptimizer",
    "Optimizer",
    "ProximalAdagradOptimizer",
    "ProximalGradientDescentOptimizer",
    "RMSPropOptimizer",
    "clip_by_average_norm",
    "clip_by_global_norm",
    "clip_by_norm",
    "clip_by_value",
    "cosine_decay",
    "exponential_decay",
    "global_norm",
    "inverse_time_decay",
    "keras",
    "natural_exp_decay",
    "piecewise_constant",
    "polynomial_decay",
    "schedules",
]
