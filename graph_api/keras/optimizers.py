"""Optimizers: ``tf.keras.optimizers``. They are those of `optim`, but for those that TensorFlow 1 has not."""

from __future__ import annotations

from optim.keras import *  # noqa: F403
from optim.keras import __all__ as _offered

__all__ = [name for name in _offered if name not in ("Lamb", "LossScaleOptimizer")]
