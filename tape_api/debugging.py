"""Assertions about tensors: ``tf.debugging``."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from dualgrad.sparse.functions import convert_to_tensor_or_sparse_tensor as taken
from engine.core.dtypes import NUMERIC
from engine.core.operands import Operand
from engine.core.value import Value
from engine.ops import checked
from engine.runtime.errors import InvalidArgumentError, ShapeError
from engine.runtime.public_names import named
from tape_api.library import root as tf
from tape_api.printing import tensor_text
from tape_api.tensor import convert_to_tensor


def _comparison(name: str, holds: Callable[..., Any], sign: str) -> Callable[..., None]:
    """An assertion that a comparison holds for all elements."""

    def check(x: Any, y: Any, message: str | None = None, summarize: int = 3, name: str | None = None) -> None:
        a = convert_to_tensor(x)
        b = convert_to_tensor(y, dtype_hint=a.dtype)
        if not np.all(holds(a.numpy(), b.numpy())):
            raise InvalidArgumentError(
                f"{message or ''}\nCondition x {sign} y did not hold.\nx: {tensor_text(a.numpy(), summarize)}\n"
                f"y: {tensor_text(b.numpy(), summarize)}"
            )

    return named(check, name, f"Raise InvalidArgumentError unless ``x {sign} y`` for all elements.")


assert_equal = _comparison("assert_equal", np.equal, "==")
assert_none_equal = _comparison("assert_none_equal", np.not_equal, "!=")
assert_less = _comparison("assert_less", np.less, "<")
assert_less_equal = _comparison("assert_less_equal", np.less_equal, "<=")
assert_greater = _comparison("assert_greater", np.greater, ">")
assert_greater_equal = _comparison("assert_greater_equal", np.greater_equal, ">=")


def assert_near(
    x: Any, y: Any, rtol: float | None = None, atol: float | None = None, message: str | None = None,
    summarize: int = 3, name: str | None = None,
) -> None:  # fmt: skip
    """Raise InvalidArgumentError unless ``abs(x - y) <= atol + rtol * abs(y)``; by default ten times the epsilon."""
    a = convert_to_tensor(x)
    b = convert_to_tensor(y, dtype_hint=a.dtype)
    tolerance = 10 * float(np.finfo(a.dtype.real_dtype.numpy).eps)
    rtol, atol = tolerance if rtol is None else rtol, tolerance if atol is None else atol
    if not np.all(np.abs(a.numpy() - b.numpy()) <= atol + rtol * np.abs(b.numpy())):
        raise InvalidArgumentError(
            f"{message or ''}\nx and y not equal to tolerance rtol = {rtol}, atol = {atol}\n"
            f"x: {tensor_text(a.numpy(), summarize)}\ny: {tensor_text(b.numpy(), summarize)}"
        )


def _signed(name: str, compared: Callable[..., None], words: str) -> Callable[..., None]:
    def check(x: Any, message: str | None = None, summarize: int = 3, name: str | None = None) -> None:
        compared(x, 0, message, summarize)

    return named(check, name, f"Raise InvalidArgumentError unless all elements are {words}.")


assert_positive = _signed("assert_positive", assert_greater, "positive")
assert_non_negative = _signed("assert_non_negative", assert_greater_equal, "0 or more")
assert_negative = _signed("assert_negative", assert_less, "negative")
assert_non_positive = _signed("assert_non_positive", assert_less_equal, "0 or less")


def _ranked(name: str, fits: Callable[[int, int], bool], words: str) -> Callable[..., None]:
    def check(x: Any, rank: int, message: str | None = None, name: str | None = None) -> None:
        have = taken(tf, x).shape.rank
        if not fits(have, rank):
            raise ShapeError(f"{message or ''}: tensor must have rank {words}{rank}. Received rank {have}")

    return named(check, name, f"Raise ShapeError (a ValueError) unless `x` has rank {words}`rank`.")


assert_rank = _ranked("assert_rank", operator.eq, "")
assert_rank_at_least = _ranked("assert_rank_at_least", operator.ge, "at least ")


def Assert(condition: Any, data: Any, summarize: int | None = None, name: str | None = None) -> None:
    """Raise InvalidArgumentError, showing `data`, unless `condition` holds."""
    if not convert_to_tensor(condition).numpy():
        shown = "\n".join(tensor_text(convert_to_tensor(x).numpy(), summarize or 3) for x in data)
        raise InvalidArgumentError(f"Expected '{condition}' to be true. Summarized data: {shown}")


def _old(check: Callable[..., None]) -> Callable[..., None]:
    """An assertion with TensorFlow 1's arguments: `data` comes before the message."""
    own = inspect.signature(check).parameters
    more = [inspect.Parameter(n, _EITHER_WAY, default=None) for n in ("data", "summarize", "message", "name")]
    signature = inspect.Signature([*[p for p in own.values() if p.default is p.empty], *more])

    def old(*args: Any, **kwargs: Any) -> None:
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise TypeError(f"{check.__name__}() {error}") from None
        check(**{key: x for key, x in given.items() if key in own and x is not None})

    old.__signature__ = signature  # type: ignore[attr-defined]
    return named(old, check.__name__, check.__doc__)


_EITHER_WAY = inspect.Parameter.POSITIONAL_OR_KEYWORD
old_assert_equal, old_assert_none_equal, old_assert_rank = map(_old, (assert_equal, assert_none_equal, assert_rank))
old_assert_greater, old_assert_less, old_assert_positive = map(_old, (assert_greater, assert_less, assert_positive))
old_assert_greater_equal, old_assert_less_equal = _old(assert_greater_equal), _old(assert_less_equal)
old_assert_non_negative, old_assert_non_positive = _old(assert_non_negative), _old(assert_non_positive)
old_assert_negative, old_assert_rank_at_least = _old(assert_negative), _old(assert_rank_at_least)


def check_numerics(tensor: Any, message: str, name: str | None = None) -> Operand:
    """`tensor`, if all its elements are finite; the same is asked of its gradient, when it passes here.

    Raises
    ------
    InvalidArgumentError
        If there are infinities or NaNs. See `enable_check_numerics` for all ops at once.
    """
    return checked.check_numerics(convert_to_tensor(tensor), message)


def assert_all_finite(x: Any, message: str, name: str | None = None) -> Operand:
    """`x`, if all its elements are finite, as `check_numerics`."""
    return check_numerics(x, message)


def is_numeric_tensor(tensor: Any) -> bool:
    """Whether it is a tensor of numbers (not bools)."""
    return isinstance(tensor, Value) and tensor.dtype in NUMERIC


def ensure_shape(x: Any, shape: Any, name: str | None = None) -> Operand:
    """`x`, if its shape fits.

    Raises
    ------
    ShapeError
        If it does not.
    """
    tensor = convert_to_tensor(x)
    if not tensor.shape.is_compatible_with(shape):
        raise ShapeError(f"ensure_shape: Shape of tensor {tensor.shape} is not compatible with expected shape {shape}.")
    return tf.identity(tensor)


__all__ = [
    "Assert",
    "assert_all_finite",
    "assert_equal",
    "assert_greater",
    "assert_greater_equal",
    "assert_less",
    "assert_less_equal",
    "assert_near",
    "assert_negative",
    "assert_non_negative",
    "assert_non_positive",
    "assert_none_equal",
    "assert_positive",
    "assert_rank",
    "assert_rank_at_least",
    "check_numerics",
    "ensure_shape",
    "is_numeric_tensor",
]
