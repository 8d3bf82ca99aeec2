"""Optimizers: ``tf.keras.optimizers``. They are those of `optim`."""

from __future__ import annotations

from optim.keras import SGD, Adadelta, Adagrad, Adam, Adamax, AdamW, Ftrl, Nadam, Optimizer, RMSprop, get, schedules

__all__ = [
    "SGD",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Ftrl",
    "Nadam",
    "Optimizer",
    "RMSprop",
    "get",
    "schedules",
]
