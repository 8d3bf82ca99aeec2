"""Functions that only TensorFlow's internal modules have: slots of variables, the list of devices, `pfor`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import graph_api as tf
from engine.core.value import shape_of


def create_slot(primary: Any, val: Any, name: str, colocate_with_primary: bool = True) -> Any:
    """A variable that is named after `primary`, begins with `val` and is not trained.

    Parameters
    ----------
    primary
        The variable that the slot belongs to.
    val
        The initial value: a tensor or an array.
    name
        The last part of the new name.
    colocate_with_primary
        Ignored: there is one device.
    """
    return tf.get_variable(f"{primary.op.name}/{name}", initializer=val, trainable=False)


def create_slot_with_initializer(
    primary: Any, initializer: Any, shape: Any, dtype: Any, name: str, colocate_with_primary: bool = True
) -> Any:
    """A slot of a shape and dtype of its own; see `create_slot`."""
    return tf.get_variable(f"{primary.op.name}/{name}", shape, dtype, initializer, trainable=False)


def create_zeros_slot(primary: Any, name: str, dtype: Any = None, colocate_with_primary: bool = True) -> Any:
    """A slot of zeros in the shape of `primary`; see `create_slot`."""
    zeros, kind = tf.zeros_initializer(), primary.dtype.base_dtype if dtype is None else dtype
    return create_slot_with_initializer(primary, zeros, shape_of(primary), kind, name)


class DeviceAttributes(NamedTuple):
    """A device as TensorFlow lists it."""

    name: str
    device_type: str
    memory_limit: int = 268435456
    physical_device_desc: str = ""


def list_local_devices(session_config: Any = None) -> list[DeviceAttributes]:
    """The devices of this machine: its processor."""
    return [DeviceAttributes("/device:CPU:0", "CPU")]


def broadcast_shape(shape_x: Any, shape_y: Any) -> Any:
    """The static shape to which two shapes are broadcast."""
    return tf.broadcast_static_shape(tf.TensorShape(shape_x), tf.TensorShape(shape_y))


def pfor(
    loop_fn: Callable[[Any], Any], iters: Any, fallback_to_while_loop: bool = True, parallel_iterations: Any = None
) -> Any:
    """Results of ``loop_fn(i)`` for ``i = 0 … iters - 1``, stacked; other arguments are accepted for compatibility."""
    return tf.vectorized_map(loop_fn, tf.range(iters))
