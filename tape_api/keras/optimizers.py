"""Optimizers: ``tf.keras.optimizers``. They are those of `optim`."""

from __future__ import annotations

from optim import keras as legacy
from optim import schedules
from optim.keras import SGD, Adadelta, Adagrad, Adam, Adamax, AdamW, Ftrl, Lamb, Lion, Nadam, Optimizer, RMSprop, get

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
    "Nadam",
    "Optimizer",
    "RMSprop",
    "get",
    "legacy",
    "schedules",
]
