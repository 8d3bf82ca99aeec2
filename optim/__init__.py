"""Optimizers, clipping, transforms, schedules and averages for graphs and eager variables alike, each written once.

TensorFlow 1's classes are here under their names; `keras` holds Keras's.
"""

import sys as _sys
from importlib.machinery import SourceFileLoader as _Loader
from typing import TYPE_CHECKING as _TYPE_CHECKING

_guard = __path__[0] + "/../engine/guard.py"
exec(_Loader("guard", _guard).get_code("guard"), {"__file__": _guard})  # type: ignore[arg-type]

from dualgrad.frontend.namespace import FOUNDATION as _FOUNDATION
from dualgrad.frontend.namespace import place_later as _place_later
from optim.names import AVERAGES as _AVERAGES
from optim.names import OPTIMIZERS as _OPTIMIZERS
from optim.names import SCHEDULES as _SCHEDULES

if _TYPE_CHECKING:
    from optim import keras, schedules, transforms
    from optim.adadelta import AdadeltaOptimizer
    from optim.adagrad import AdagradOptimizer
    from optim.adam import AdamOptimizer
    from optim.averages import ExponentialMovingAverage
    from optim.clip import clip_by_average_norm, clip_by_global_norm, clip_by_norm, clip_by_value, global_norm
    from optim.external import ScipyOptimizerInterface, minimize
    from optim.ftrl import FtrlOptimizer
    from optim.gradient_descent import GradientDescentOptimizer
    from optim.momentum import MomentumOptimizer
    from optim.optimizer import Optimizer
    from optim.rmsprop import RMSPropOptimizer
    from optim.schedules import (
        cosine_decay,
        cosine_decay_restarts,
        exponential_decay,
        inverse_time_decay,
        linear_cosine_decay,
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
    "RMSPropOptimizer",
    "ScipyOptimizerInterface",
    "clip_by_average_norm",
    "clip_by_global_norm",
    "clip_by_norm",
    "clip_by_value",
    "cosine_decay",
    "cosine_decay_restarts",
    "exponential_decay",
    "global_norm",
    "inverse_time_decay",
    "keras",
    "linear_cosine_decay",
    "minimize",
    "natural_exp_decay",
    "piecewise_constant",
    "polynomial_decay",
    "schedules",
    "transforms",
]

_NAMES = (
    ("optim.keras", "keras"),
    ("optim.schedules", "schedules"),
    ("optim.transforms", "transforms"),
    *_OPTIMIZERS,
    *_AVERAGES,
    *_SCHEDULES,
    ("optim.clip:", "clip_by_average_norm clip_by_global_norm clip_by_norm clip_by_value global_norm"),
    ("optim.external:", "ScipyOptimizerInterface minimize"),
)

_FOUNDATION["optim"] = "engine.numpy_api.operators"
_place_later(_sys.modules[__name__], _NAMES)
