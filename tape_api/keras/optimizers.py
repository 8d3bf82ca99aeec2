"""Optimizers: ``tf.keras.optimizers``. They are those of `optim`."""

from __future__ import annotations

from optim import keras as legacy
from optim import schedules
from optim.keras import SGD, Adadelta, Adagrad, Adam, Adamax, AdamW, Ftrl, Lamb, Lion, Nadam, Optimizer, RMSprop, get
from optim.loss_scaling import LossScaleOptimizer

__all__ = [
    "SGD",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Ftrl",
    "Lamb",
    "Lion",
    "LossScaleOptimizer",
    "Nadam",
    "Optimizer",
    "RMSprop",
    "get",
    "legacy",
    "schedules",
]
