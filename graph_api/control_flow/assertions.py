"""``tf.assert_*``: operations that raise when a tensor is not as it should be; at once where that is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import graph_api as tf
from engine.core.operands import Operation
from engine.core.trace import constant_value
from engine.runtime.errors import InvalidArgumentError
from graph_api.control_flow.flow import assertion, no_op
from graph_api.graphs.tensor import Tensor


def _held(condition: Any, data: Any, text: str, message: str | None, name: str) -> Operation:
    """The operation; the error at once if the condition is known not to hold."""
    full = f"{message + ' ' if message else ''}{text}"
    operands = [tf.convert_to_tensor(d) for d in data]
    known = [constant_value(d) for d in operands]
    holds = tf.reduce_all(condition(*operands))
    if all(k is not None for k in known) and not np.all(np.asarray(condition(*known))):
        shown = " ".join(str(k) for k in known)
        raise InvalidArgumentError(f"{name}: {full} {shown}")
    return assertion(holds, operands, full, name)


def _signed(label: str, holds: Callable[[Any], Any], text: str) -> Callable[..., Any]:
    def check(
        x: Any, data: Any = None, summarize: Any = None, message: str | None = None, name: Any = None
    ) -> Operation:
        return _held(holds, [x], f"Condition {text} did not hold element-wise:", message, name or label)

    check.__name__ = check.__qualname__ = label
    check.__doc__ = f"An operation that raises InvalidArgumentError unless ``{text}`` for all elements."
    return check


assert_positive = _signed("assert_positive", lambda x: x > 0, "x > 0")
assert_negative = _signed("assert_negative", lambda x: x < 0, "x < 0")
assert_non_negative = _signed("assert_non_negative", lambda x: x >= 0, "x >= 0")
assert_non_positive = _signed("assert_non_positive", lambda x: x <= 0, "x <= 0")


def assert_none_equal(
    x: Any, y: Any, data: Any = None, summarize: Any = None, message: str | None = None, name: str | None = None
) -> Operation:
    """An operation that raises InvalidArgumentError unless ``x != y`` for all elements."""
    first = tf.convert_to_tensor(x)
    second = tf.convert_to_tensor(y, dtype_hint=first.dtype)
    differ = lambda a, b: np.not_equal(a, b) if isinstance(a, (np.ndarray, np.generic)) else tf.not_equal(a, b)  # noqa: E731
    text = "Condition x != y did not hold for every single element:"
    return _held(differ, [first, second], text, message, name or "assert_none_equal")


def assert_near(
    x: Any, y: Any, rtol: Any = None, atol: Any = None, data: Any = None, summarize: Any = None,
    message: str | None = None, name: str | None = None,
) -> Operation:  # fmt: skip
    """An operation that raises InvalidArgumentError unless ``abs(x - y) <= atol + rtol * abs(y)`` for all elements.

    By default both tolerances are ten times the dtype's precision.
    """
    first = tf.convert_to_tensor(x)
    second = tf.convert_to_tensor(y, dtype_hint=first.dtype)
    eps = 10 * np.finfo(first.dtype.numpy).eps if first.dtype.is_floating else 0
    relative, absolute = (first.dtype.as_numpy_dtype(eps if t is None else t) for t in (rtol, atol))
    return _held(
        lambda a, b: abs(a - b) <= absolute + relative * abs(b), [first, second],
        "x and y not equal to tolerance", message, name or "assert_near",
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
