"""Settings: ``tf.keras.config``."""

from dualgrad.keras.policies import dtype_policy, set_dtype_policy
from dualgrad.keras.settings import epsilon, floatx, set_epsilon, set_floatx

__all__ = ["dtype_policy", "epsilon", "floatx", "set_dtype_policy", "set_epsilon", "set_floatx"]
