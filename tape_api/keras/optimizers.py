"""Optimizers: ``tf.keras.optimizers``. They are those of `optim`."""

from __future__ import annotations

from optim import keras as legacy
from optim.keras import *  # noqa: F403
from optim.keras import __all__ as _offered

__all__ = [*_offered, "legacy"]  # noqa: PLE0604 - they are strings
