"""``tf.assert_*``: operations that raise when a tensor is not as it should be; at once where that is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import graph_api as tf
from engine.core.dtypes import as_dtype
from engine.core.operands import Operand, Operation
from engine.core.trace import constant_value
from engine.core.value import shape_of
from engine.runtime.errors import InvalidArgumentError
from graph_api.flow import assertion, no_op
from graph_api.tensor import Tensor


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
        tensor = tf.convert_to_tensor(x)
        shape = shape_of(tensor)
        text = f"{message + ' ' if message else ''}Tensor {tensor.name} must have rank {words} {rank}."
        if shape is not None and isinstance(rank, int):
            if not fits(len(shape), rank):
                raise ValueError(f"{label}: {text} Received rank {len(shape)}, shape {shape}")
            return no_op(name or "static_checks_determined_all_ok")
        return assertion(fits(tf.rank(tensor), tf.convert_to_tensor(rank)), [tf.shape(tensor)], text, name or label)

    check.__name__ = check.__qualname__ = label
    check.__doc__ = f"An operation that raises unless the rank of `x` is {words} `rank`: at once where it is known."
    return check


def assert_rank_in(
    x: Any, ranks: Any, data: Any = None, summarize: Any = None, message: str | None = None, name: str | None = None
) -> Operation:
    """An operation that raises unless the rank of `x` is one of `ranks`: at once where it is known."""
    tensor, text = (
        tf.convert_to_tensor(x),
        f"{message + ' ' if message else ''}Tensor must have rank in {tuple(ranks)}.",
    )
    shape = shape_of(tensor)
    if shape is None:
        fits = tf.reduce_any([tf.equal(tf.rank(tensor), rank) for rank in ranks])
        return assertion(fits, [tf.shape(tensor)], text, name or "assert_rank_in")
    if len(shape) not in ranks:
        raise ValueError(f"assert_rank_in: {text} Received rank {len(shape)}, shape {shape}, of {tensor.name}")
    return no_op(name or "static_checks_determined_all_ok")


def assert_shapes(
    shapes: Any, data: Any = None, summarize: Any = None, message: str | None = None, name: str | None = None
) -> Operation:
    """An operation that raises unless tensors have shapes that agree: at once where the shapes are known.

    Parameters
    ----------
    shapes
        Pairs of a tensor and its shape, or a dict of such: a tuple of sizes, of names (one name, one size) and of None
        (any size). ``...`` or ``"*"`` first stands for any leading axes.

    Examples
    --------
    >>> with tf.Graph().as_default():
    ...     x, w = tf.placeholder(tf.float32, [None, 3]), tf.zeros([3, 2])
    ...     check = tf.debugging.assert_shapes([(x, ("N", "D")), (w, ("D", 2))])
    """
    sizes: dict[Any, tuple[Any, Tensor]] = {}
    checks: list[Any] = []
    prefix = f"{message + ' ' if message else ''}"

    def agree(size: Any, other: Any, text: str, tensor: Tensor) -> None:
        if isinstance(size, int) and isinstance(other, int):
            if size != other:
                raise ValueError(f"assert_shapes: {prefix}{text}: got {size} and {other}")
        else:
            checks.append(assertion(tf.equal(size, other), [tf.shape(tensor)], f"{prefix}{text}", "assert_shapes"))

    for x, wanted in shapes.items() if isinstance(shapes, dict) else shapes:
        tensor, symbols = tf.convert_to_tensor(x), list(wanted) if isinstance(wanted, (tuple, list, str)) else [wanted]
        open_front = bool(symbols) and symbols[0] in (Ellipsis, "*")
        symbols = symbols[1:] if open_front else symbols
        (assert_rank_at_least if open_front else assert_rank)(tensor, len(symbols), message=message)
        dims = shape_of(tensor) or (None,) * len(symbols)
        for axis, symbol in enumerate(symbols, start=-len(symbols)):
            if symbol is None:
                continue
            size = tf.shape(tensor)[axis] if dims[axis] is None else dims[axis]
            known = symbol if isinstance(symbol, int) else sizes.setdefault(symbol, (size, tensor))[0]
            agree(size, known, f"axis {axis} of {tensor.name} must have size {symbol!r}", tensor)
    return tf.group(*checks, name=name or "assert_shapes")


def _equal(a: Any, b: Any) -> Tensor:
    return a == b if isinstance(a, int) else tf.equal(a, b)


assert_rank = _ranked("assert_rank", _equal, "equal to")
assert_rank_at_least = _ranked("assert_rank_at_least", lambda a, b: a >= b, "at least")


def assert_scalar(tensor: Any, name: str | None = None, message: str | None = None) -> Operand:
    """`tensor`, which must be known to be of rank 0.

    Raises
    ------
    ValueError
        If it is not.
    """
    tensor = tf.convert_to_tensor(tensor)
    if shape_of(tensor) != ():
        raise ValueError(f"{message or ''}Expected scalar shape for {tensor.name}, saw shape: {tensor.shape}.")
    return tensor


def assert_type(tensor: Any, tf_type: Any, message: str | None = None, name: str | None = None) -> Operation:
    """An operation that does nothing.

    Raises
    ------
    TypeError
        If `tensor` is not of the dtype.
    """
    tensor, wanted = tf.convert_to_tensor(tensor), as_dtype(tf_type)
    if tensor.dtype is not wanted:
        raise TypeError(f"{message or ''} {tensor.name} must be of type {wanted!r}; got {tensor.dtype!r}")
    return no_op(name or "statically_determined_correct_type")


def assert_integer(x: Any, message: str | None = None, name: str | None = None) -> Operation:
    """An operation that does nothing.

    Raises
    ------
    TypeError
        If `x` is not of an integer dtype.
    """
    tensor = tf.convert_to_tensor(x)
    if not tensor.dtype.is_integer:
        raise TypeError(f'{message or ""} Expected "x" to be integer type. Found: {tensor.dtype!r}')
    return no_op(name or "statically_determined_was_integer")


def is_numeric_tensor(tensor: Any) -> bool:
    """Whether something is a tensor of numbers."""
    return tf.is_tensor(tensor) and (tensor.dtype.is_differentiable or tensor.dtype.is_integer)


def is_tensor(x: Any) -> bool:
    """Whether something is a tensor or a variable of a graph."""
    return isinstance(x, (tf.Tensor, tf.Variable, tf.IndexedSlices))
