"""Rows of TensorArrays and of lists of tensors: what loops of TensorFlow keep their steps in.

In a file an array has a handle, and a *flow*, a number that puts reads and writes in order. Here the flow is the array
itself (`graph_api.control_flow.tensor_array`), and the handle is nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from engine.runtime.errors import InvalidArgumentError
from graph_api.control_flow.tensor_array import TensorArray
from graph_api.graph_files.rows import Made, Site, row
from graph_api.library import root as tf


class Handle:
    """Stands for an array where only its flow matters."""


def _array(site: Site, i: int) -> TensorArray:
    array = site.inputs[i]
    if not isinstance(array, TensorArray):
        raise InvalidArgumentError(f"input {i} must be the flow of a TensorArray")
    return array


@row("TensorArrayV3")
def _tensor_array(site: Site) -> list[Handle | TensorArray]:
    made = TensorArray(
        site.attr("dtype"),
        site.inputs[0],
        dynamic_size=site.attr("dynamic_size", False),
        element_shape=site.attr("element_shape", None),
    )
    return [Handle(), made]


@row("TensorArrayScatterV3")
def _scatter(site: Site) -> TensorArray:
    array, indices, value = _array(site, 3), site.inputs[1], site.inputs[2]
    # `unstack` writes them as a scatter to 0, 1, ...
    if indices.op.type == "Range" and not array.is_allocated:
        return array.unstack(value)
    return array.scatter(indices, value)


@row("TensorArrayConcatV3")
def _concat(site: Site) -> Made:
    array = _array(site, 1)
    dims = tf.shape(array.buffer)
    lengths = tf.cast(tf.fill(tf.stack([dims[0]]), dims[1]), "int64")
    return [array.concat(), lengths]


# ---- lists -----------------------------------------------------------------------------------------------------------


@row("TensorListReserve")
def _reserve(site: Site) -> Made:
    dims = site.known(0, "element_shape").reshape(-1).tolist() if site.inputs[0].shape.ndims == 1 else None
    shape = None if dims is None or any(d < 0 for d in dims) else dims
    return TensorArray(site.attr("element_dtype"), site.inputs[1], element_shape=shape)


@row("TensorListFromTensor")
def _from_tensor(site: Site) -> Made:
    value = site.inputs[0]
    return TensorArray(value.dtype, tf.shape(value)[0]).unstack(value)


# ---- what is one expression ------------------------------------------------------------------------------------------

_SHORT: dict[str, Callable[[Site], Made]] = {
    "TensorArrayWriteV3": lambda site: _array(site, 3).write(site.inputs[1], site.inputs[2]),
    "TensorArrayReadV3": lambda site: _array(site, 2).read(site.inputs[1]),
    "TensorArrayGatherV3": lambda site: _array(site, 2).gather(site.inputs[1]),
    "TensorArraySizeV3": lambda site: _array(site, 1).size(),
    "TensorArrayCloseV3": lambda site: site.graph.group([]),
    "TensorListSetItem": lambda site: _array(site, 0).write(site.inputs[1], site.inputs[2]),
    "TensorListGetItem": lambda site: _array(site, 0).read(site.inputs[1]),
    "TensorListStack": lambda site: _array(site, 0).stack(),
    "TensorListLength": lambda site: _array(site, 0).size(),
}
for _types, _make in _SHORT.items():
    row(_types)(_make)
