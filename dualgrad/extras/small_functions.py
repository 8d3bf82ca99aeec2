"""Short functions beside tensors that programs for TensorFlow call, made of a front end's own functions."""

from __future__ import annotations

import enum
import logging
import time
from typing import Any

from engine.core.operands import Operand
from engine.core.value import Value


class VariableSynchronization(enum.Enum):
    """When copies of a variable on several devices are brought together: there is one device."""

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


class VariableAggregation(enum.Enum):
    """How copies of a variable on several devices are brought together: there is one device."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3


def get_logger() -> logging.Logger:
    """The logger that is called ``tensorflow``."""
    return logging.getLogger("tensorflow")


def timestamp(tf: Any, name: str | None = None) -> Operand:
    """Seconds since 1970, as a float64 tensor of the time when this is called."""
    stamp: Operand = tf.constant(time.time(), tf.float64)
    return stamp


def type_spec_from_value(tf: Any, value: Any) -> Any:
    """The `TensorSpec` of a tensor, or of what becomes one."""
    tensor = value if isinstance(value, Value) else tf.convert_to_tensor(value)
    return tf.TensorSpec(tensor.shape, tensor.dtype)
