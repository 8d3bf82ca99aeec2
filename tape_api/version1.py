"""What programs of the time of TensorFlow 1's eager mode call, beside TensorFlow 2's names: ``tf.compat.v1``."""

from __future__ import annotations

from typing import Any

from engine.row_assignment import (
    scatter_add,
    scatter_div,
    scatter_max,
    scatter_min,
    scatter_mul,
    scatter_nd_add,
    scatter_nd_sub,
    scatter_nd_update,
    scatter_sub,
    scatter_update,
)
from tape_api.variable import Variable

__all__ = [
    "assign", "assign_add", "assign_sub", "disable_eager_execution", "disable_v2_behavior", "enable_eager_execution",
    "enable_resource_variables", "enable_v2_behavior", "enable_v2_tensorshape", "scatter_add", "scatter_div",
    "scatter_max", "scatter_min", "scatter_mul", "scatter_nd_add", "scatter_nd_sub", "scatter_nd_update", "scatter_sub",
    "scatter_update",
]  # fmt: skip


def enable_eager_execution(config: Any = None, device_policy: Any = None, execution_mode: Any = None) -> None:
    """Nothing: everything here is eager."""


def disable_eager_execution() -> None:
    """Not here: for placeholders and sessions there is `graph_api`."""
    raise RuntimeError("tape_api is eager throughout; a program with placeholders and sessions imports graph_api as tf")


enable_v2_behavior = enable_v2_tensorshape = enable_resource_variables = enable_eager_execution
disable_v2_behavior = disable_eager_execution


def assign(ref: Variable, value: Any, validate_shape: Any = None, use_locking: Any = None, name: Any = None) -> Any:
    """``ref.assign(value)``."""
    return ref.assign(value)


def assign_add(ref: Variable, value: Any, use_locking: Any = None, name: Any = None) -> Any:
    """``ref.assign_add(value)``."""
    return ref.assign_add(value)


def assign_sub(ref: Variable, value: Any, use_locking: Any = None, name: Any = None) -> Any:
    """``ref.assign_sub(value)``."""
    return ref.assign_sub(value)
