"""``tf.assert_*``: operations that raise when a tensor is not as it should be; at once where that is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import graph_api as tf
from engine.core.op import Op
from engine.core.operands import Operation
from engine.core.trace import constant_value
from engine.ops import compare
from engine.runtime.errors import InvalidArgumentError
from graph_api.control_flow.flow import assertion, no_op
from graph_api.graphs.tensor import Tensor


def _held(
    holds: Callable[..., Any], operands: dict[str, Tensor], text: str, label: str, data: Any, message: str | None,
    name: str | None,
) -> Operation:  # fmt: skip
    """The operation; the error at once if the condition is known not to hold."""
    full = f"{message + ' ' if message else ''}{text}"
    known = {letter: constant_value(x) for letter, x in operands.items()}
    if all(array is not None for array in known.values()) and not np.all(np.asarray(holds(*known.values()))):
        shown = "".join([f"\n{letter} ({x.name}) = {known[letter]}" for letter, x in operands.items()])
        raise InvalidArgumentError(f"{label}: {full}{shown}")
    return assertion(tf.reduce_all(holds(*operands.values())), data or [*operands.values()], full, name or label)


def _pair(x: Any, y: Any) -> dict[str, Tensor]:
    first = tf.convert_to_tensor(x)
    return {"x": first, "y": tf.convert_to_tensor(y, dtype_hint=first.dtype)}


def _compared(relation: Op, symbol: str, label: str, where: str = "element-wise") -> Callable[..., Operation]:
    text = f"Condition x {symbol} y did not hold {where}:"

    def check(
        x: Any, y: Any, data: Any = None, summarize: int | None = None, message: str | None = None,
        name: str | None = None,
    ) -> Operation:  # fmt: skip
        return _held(relation, _pair(x, y), text, label, data, message, name)

    check.__name__ = check.__qualname__ = label
    check.__doc__ = (
        f"An operation that raises InvalidArgumentError unless ``x {symbol} y`` for all elements when it runs. Where "
        f"both are known, it is raised while the graph is built."
    )
    return check


assert_equal = _compared(compare.equal, "==", "assert_equal")
assert_none_equal = _compared(compare.not_equal, "!=", "assert_none_equal", "for every single element")
assert_less = _compared(compare.less, "<", "assert_less")
assert_less_equal = _compared(compare.less_equal, "<=", "assert_less_equal")
assert_greater = _compared(compare.greater, ">", "assert_greater")
assert_greater_equal = _compared(compare.greater_equal, ">=", "assert_greater_equal")


def _signed(label: str, holds: Callable[[Any], Any], text: str) -> Callable[..., Any]:
    def check(
        x: Any, data: Any = None, summarize: Any = None, message: str | None = None, name: Any = None
    ) -> Operation:
        words = f"Condition {text} did not hold element-wise:"
        return _held(holds, {"x": tf.convert_to_tensor(x)}, words, label, data, message, name)

    check.__name__ = check.__qualname__ = label
    check.__doc__ = f"An operation that raises InvalidArgumentError unless ``{text}`` for all elements."
    return check


assert_positive = _signed("assert_positive", lambda x: x > 0, "x > 0")
assert_negative = _signed("assert_negative", lambda x: x < 0, "x < 0")
assert_non_negative = _signed("assert_non_negative", lambda x: x >= 0, "x >= 0")
assert_non_positive = _signed("assert_non_positive", lambda x: x <= 0, "x <= 0")


def assert_near(
    x: Any, y: Any, rtol: Any = None, atol: Any = None, data: Any = None, summarize: Any = None,
    message: str | None = None, name: str | None = None,
) -> Operation:  # fmt: skip
    """An operation that raises InvalidArgumentError unless ``abs(x - y) <= atol + rtol * abs(y)`` for all elements.

    By default both tolerances are ten times the dtype's precision.
    """
    operands = _pair(x, y)
    dtype = operands["x"].dtype
    eps = 10 * np.finfo(dtype.numpy).eps if dtype.is_floating else 0
    relative, absolute = (dtype.as_numpy_dtype(eps if t is None else t) for t in (rtol, atol))
    return _held(
        lambda a, b: abs(a - b) <= absolute + relative * abs(b), operands,
        "x and y not equal to tolerance", "assert_near", data, message, name,
    )  # fmt: skip


# ---- ranks and dtypes ------------------------------------------------------------------------------------------------


def _ranked(label: str, fits: Callable[[Any, Any], Any], words: str) -> Callable[..., Any]:
    def check(
        x: Any, rank: Any, data: Any = None, summarize: Any = None, message: str | None = None, name: Any = None
    ) -> Operation:
        tensor = tf.convert_to_tensor_or_sparse_tensor(x)
        shape = tensor.shape
        text = f"{message + ' ' if message else ''}Tensor {tensor.name} must have rank {words} {rank}."
        asked = tf.convert_to_tensor(rank)
        if asked.shape.ndims not in (None, 0):
            raise ValueError(f"{label}: Rank must be a scalar, got {rank!r}")
        if not asked.dtype.is_integer:
            raise TypeError(f"{label}: argument `rank` must be an integer, got {asked.dtype.name}")
        if shape.ndims is not None and isinstance(rank, int):
            if not fits(shape.ndims, rank):
                raise ValueError(f"{label}: {text} Received rank {shape.ndims}, shape {shape}")
            return no_op(name or "static_checks_determined_all_ok")
        return assertion(fits(tf.rank(tensor), asked), [tf.shape(tensor)], text, name or label)

    check.__name__ = check.__qualname__ = label
    check.__doc__ = f"An operation that raises unless the rank of `x` is {words} `rank`: at once where it is known."
    return check


def _equal(a: Any, b: Any) -> Tensor:
    return a == b if isinstance(a, int) else tf.equal(a, b)


assert_rank = _ranked("assert_rank", _equal, "equal to")
assert_rank_at_least = _ranked("assert_rank_at_least", lambda a, b: a >= b, "at least")


def is_numeric_tensor(tensor: Any) -> bool:
    """Whether something is a tensor of numbers."""
    return tf.is_tensor(tensor) and (tensor.dtype.is_differentiable or tensor.dtype.is_integer)


def is_tensor(x: Any) -> bool:
    """Whether something is a tensor, dense or not, or a variable of a graph."""
    return isinstance(x, (tf.Tensor, tf.Variable, tf.IndexedSlices, tf.SparseTensor))
