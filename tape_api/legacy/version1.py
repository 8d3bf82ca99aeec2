"""``tf.compat.v1``: what programs of the time of TensorFlow 1's eager mode call.

Functions take TensorFlow 1's arguments here (`dualgrad.frontend.version1`); what it has not, or has the same, is
TensorFlow 2's.
"""

from __future__ import annotations

from typing import Any

from engine.core.operands import Operand, Operation
from engine.core.value import Value
from tape_api import random
from tape_api.control_flow.flow import numpy_function
from tape_api.variable import Variable

random_gamma = random.gamma
random_normal = random.normal
random_poisson = random.poisson
random_shuffle = random.shuffle
random_uniform = random.uniform
set_random_seed = random.set_seed
truncated_normal = random.truncated_normal
py_func = numpy_function


def multinomial(logits: Any, num_samples: Any, seed: Any = None, name: Any = None, output_dtype: Any = None) -> Operand:
    """``tf.random.categorical`` with another order of arguments."""
    return random.categorical(logits, num_samples, output_dtype, seed)


def enable_eager_execution(config: Any = None, device_policy: Any = None, execution_mode: Any = None) -> None:
    """Nothing: everything here is eager."""


def disable_eager_execution() -> None:
    """Not here: for placeholders and sessions there is `graph_api`."""
    raise RuntimeError("tape_api is eager throughout; a program with placeholders and sessions imports graph_api as tf")


enable_v2_behavior = enable_v2_tensorshape = enable_resource_variables = enable_eager_execution
disable_v2_behavior = disable_eager_execution


def assign(
    ref: Variable, value: Any, validate_shape: Any = None, use_locking: Any = None, name: Any = None
) -> Operation | Value | None:
    """``ref.assign(value)``."""
    return ref.assign(value)


def assign_add(ref: Variable, value: Any, use_locking: Any = None, name: Any = None) -> Variable:
    """``ref.assign_add(value)``."""
    return ref.assign_add(value)


def assign_sub(ref: Variable, value: Any, use_locking: Any = None, name: Any = None) -> Variable:
    """``ref.assign_sub(value)``."""
    return ref.assign_sub(value)
