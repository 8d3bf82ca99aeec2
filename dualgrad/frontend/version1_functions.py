"""Functions that TensorFlow 1 has of its own: rows of `dualgrad.frontend.version1`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.core.aval import compatible, format_shape, normalize_shape
from engine.core.dtypes import DType, as_dtype, complex64, complex128, float32, float64, int32, int64
from engine.core.operands import Operand, operands
from engine.core.value import dtype_of, shape_of
from engine.ops import arithmetic, compare, cross_entropy, layers, reduce, shape
from engine.runtime.errors import DTypeError, ShapeError


@operands("labels", "logits")
def softmax_cross_entropy_with_logits(labels: Any, logits: Any, axis: Any = -1) -> Operand:
    """As in `engine.ops.cross_entropy`, but the labels count as constants (TensorFlow 1)."""
    return cross_entropy.softmax_cross_entropy_with_logits(shape.stop_gradient(labels), logits, axis)


@operands("x", "y", alone=("condition",))
def where(condition: Any, x: Any = None, y: Any = None) -> Operand:
    """As `engine.ops.compare.where`, but a vector condition beside higher ranks chooses rows, as in TensorFlow 1."""
    ranks = [shape_of(v) for v in (condition, x) if v is not None]
    if len(ranks) == 2 and None not in ranks and len(ranks[0] or ()) == 1 < len(ranks[1] or ()):
        condition = shape.reshape(condition, [-1] + [1] * (len(ranks[1] or ()) - 1))
    return compare.where(condition, x, y)


@operands("*params", alone=("ids",))
def embedding_lookup(params: Any, ids: Any, max_norm: Any = None, partition_strategy: str = "mod") -> Operand:
    """As in `engine.ops.layers`, but the rows of several `params` are dealt out to them by default."""
    return layers.embedding_lookup(params, ids, max_norm, partition_strategy)


@operands("*inputs")
def accumulate_n(inputs: Any, shape: Any = None, tensor_dtype: Any = None) -> Operand:
    """As `engine.ops.reduce.add_n`, with the shape and the dtype that the tensors are said to have.

    Raises
    ------
    TypeError
        If the tensors have another dtype than `tensor_dtype`.
    ShapeError
        If they have another shape than `shape`.
    """
    total = reduce.add_n(inputs)
    if tensor_dtype is not None and as_dtype(tensor_dtype) is not dtype_of(total):
        differ = f"is {as_dtype(tensor_dtype).name}, but `inputs` are of type {dtype_of(total).name}"
        raise DTypeError(f"accumulate_n: the `tensor_dtype` argument {differ}; cast them with tf.cast")
    if shape is not None and not compatible(known := normalize_shape(shape), shape_of(total)):
        shapes = f"{format_shape(known)} and {format_shape(shape_of(total))}"
        raise ShapeError(f"accumulate_n: argument `shape`: Shapes {shapes} are not compatible")
    return total


@operands("x", "y")
def div(x: Any, y: Any) -> Operand:
    """The quotient as Python 2 has it: of integers the floor."""
    whole = all(dtype_of(v).is_integer for v in (x, y))
    return arithmetic.floordiv(x, y) if whole else arithmetic.truediv(x, y)


def _casting(target: DType) -> Callable[..., Any]:
    """TensorFlow 1's ``to_float`` and its like."""

    @operands("x")
    def to_dtype(x: Any) -> Operand:
        return compare.cast(x, target)

    to_dtype.__doc__ = f"`x` cast to {target.name}."
    return to_dtype


to_float = _casting(float32)
to_double = _casting(float64)
to_int32 = _casting(int32)
to_int64 = _casting(int64)
to_complex64 = _casting(complex64)
to_complex128 = _casting(complex128)
