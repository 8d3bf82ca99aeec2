"""Layers that compute in float16: ``tf.keras.mixed_precision``. Defined in `dualgrad.keras.policies`."""

from dualgrad.keras.policies import (
    DTypePolicy,
    Policy,
    dtype_policy,
    global_policy,
    set_dtype_policy,
    set_global_policy,
)
from optim.loss_scaling import LossScaleOptimizer

__all__ = [
    "DTypePolicy",
    "LossScaleOptimizer",
    "Policy",
    "dtype_policy",
    "global_policy",
    "set_dtype_policy",
    "set_global_policy",
]
