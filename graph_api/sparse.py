"""``tf.sparse`` of graphs: `dualgrad.sparse`, placeholders, and TensorFlow 1's spellings of arguments."""

from __future__ import annotations

from typing import Any

import graph_api
from dualgrad.frontend.bound import bound
from dualgrad.sparse import functions
from dualgrad.sparse.functions import *  # noqa: F403 - all that it has
from dualgrad.sparse.sparse_tensor import SparseTensor as AnySparseTensor
from dualgrad.sparse.sparse_tensor import SparseTensorSpec, SparseTensorValue  # noqa: F401 - public names
from engine.core.aval import normalize_shape
from engine.core.dtypes import int64
from engine.core.operands import Operand
from engine.core.trace import constant_value
from engine.core.value import Value, shape_of


class SparseTensor(AnySparseTensor):
    """A tensor that is zero but for some elements (`dualgrad.sparse.sparse_tensor.SparseTensor`), of graph tensors."""

    tf = graph_api


from_dense = bound(functions.from_dense, graph_api)
eye = bound(functions.eye, graph_api)
convert_to_tensor_or_sparse_tensor = bound(functions.convert_to_tensor_or_sparse_tensor, graph_api)
sparse_to_dense = bound(functions.sparse_to_dense, graph_api)


def placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> AnySparseTensor:
    """A sparse tensor that is fed, as a `SparseTensorValue` or a tuple of indices, values and shape.

    Parameters
    ----------
    dtype : DType
    shape : shape or int64 tensor, optional
        If all of it is known, it need not be fed with the rest.
    name : str, optional

    Examples
    --------
    >>> import graph_api as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.sparse_placeholder(tf.float32)
    ...     total = tf.sparse_reduce_sum(x)
    ...     print(sess.run(total, {x: tf.SparseTensorValue([[0, 1], [2, 0]], [1.5, 2.0], [3, 2])}))
    3.5
    """
    tensor = shape if isinstance(shape, Value) else None
    if tensor is not None:
        value, length = constant_value(tensor), (shape_of(tensor) or (None,))[0]
        shape = value if value is not None else None if length is None else [None] * length
    dims = normalize_shape(shape)
    rank = None if dims is None else len(dims)
    label = f"{name}/" if name else ""
    values = graph_api.placeholder(dtype, [None], f"{label}values" if name else None)
    indices = graph_api.placeholder(int64, [None, rank], f"{label}indices" if name else None)
    if tensor is not None or (dims is not None and None not in dims):
        known = graph_api.constant(list(dims or ()), int64, [rank]) if tensor is None else graph_api.cast(tensor, int64)
        whole = graph_api.placeholder_with_default(known, [rank], f"{label}shape" if name else None)
    else:
        whole = graph_api.placeholder(int64, [rank], f"{label}shape" if name else None)
    made = SparseTensor(indices, values, whole)
    made._static = dims
    return made


def _sparse(name: str, x: Any) -> AnySparseTensor:
    return functions.sparse(name, x, SparseTensor)


def _either(first: Any, second: Any, default: Any = None) -> Any:
    return default if first is None and second is None else second if first is None else first


def reduce_sum(  # type: ignore[no-redef]
    sp_input: Any, axis: Any = None, keepdims: Any = None, reduction_axes: Any = None, keep_dims: Any = None
) -> Operand | AnySparseTensor:
    """Sums along axes (by default all), as a dense tensor."""
    return functions.reduce_sum(_sparse("reduce_sum", sp_input), _either(axis, reduction_axes), keepdims or keep_dims)


def add(  # type: ignore[no-redef]
    a: Any, b: Any, threshold: Any = None, thresh: Any = None
) -> Operand | AnySparseTensor:
    """The sum of two tensors at least one of which is sparse (`dualgrad.sparse.functions.add`)."""
    return functions.add(a, b, _either(threshold, thresh, 0))


def sparse_concat(
    axis: Any = None,
    sp_inputs: Any = None,
    name: str | None = None,
    expand_nonconcat_dim: Any = None,
    concat_dim: Any = None,
    expand_nonconcat_dims: Any = None,
) -> AnySparseTensor:
    """Several one after the other along an axis (`dualgrad.sparse.functions.concat`)."""
    return functions.concat(
        _either(axis, concat_dim), sp_inputs, bool(_either(expand_nonconcat_dims, expand_nonconcat_dim, False))
    )


__all__ = ["SparseTensor", "eye", "from_dense", "placeholder"]
__all__ += functions.__all__
