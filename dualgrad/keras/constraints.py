"""Constraints that optimizers apply to weights after each step: ``tf.keras.constraints``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dualgrad.keras import functions as tf
from dualgrad.keras.configs import Configured
from dualgrad.keras.lookup import by_name, described
from dualgrad.keras.settings import epsilon
from engine.core.operands import Operand
from engine.core.value import dtype_of


class Constraint(Configured):
    """Base of the constraints. A subclass defines `__call__`."""

    def __call__(self, w: Any) -> Operand:
        """The weight as it should be."""
        raise NotImplementedError(f"{type(self).__name__} must define __call__(w)")


def _norms(w: Any, axis: Any) -> Operand:
    return tf.sqrt(tf.reduce_sum(tf.square(w), axis=axis, keepdims=True))


class MaxNorm(Constraint):
    """Scales the columns (along `axis`) of norms above `max_value` down to it.

    Examples
    --------
    >>> import tape_api as tf
    >>> tf.keras.constraints.MaxNorm(1.0)(tf.constant([[3.0, 0.6], [4.0, 0.0]])).numpy().round(4)
    array([[0.6, 0.6], [0.8, 0. ]], dtype=float32)
    """

    def __init__(self, max_value: float = 2, axis: Any = 0) -> None:
        self.max_value, self.axis = max_value, axis

    def __call__(self, w: Any) -> Operand:
        """The weight with shorter columns."""
        norms = _norms(w, self.axis)
        return w * (tf.clip(norms, 0.0, float(self.max_value)) / (epsilon() + norms))


class NonNeg(Constraint):
    """Sets negative elements to 0."""

    def __call__(self, w: Any) -> Operand:
        """The weight without negative elements."""
        return w * tf.cast(w >= 0.0, dtype_of(w))


class UnitNorm(Constraint):
    """Scales the columns (along `axis`) to norm 1."""

    def __init__(self, axis: Any = 0) -> None:
        self.axis = axis

    def __call__(self, w: Any) -> Operand:
        """The weight with columns of length 1."""
        return w / (epsilon() + _norms(w, self.axis))


class MinMaxNorm(Constraint):
    """Moves the norms of the columns (along `axis`) into [`min_value`, `max_value`], by the part `rate` of the way."""

    def __init__(self, min_value: float = 0.0, max_value: float = 1.0, rate: float = 1.0, axis: Any = 0) -> None:
        self.min_value, self.max_value, self.rate, self.axis = min_value, max_value, rate, axis

    def __call__(self, w: Any) -> Operand:
        """The weight with other lengths of columns."""
        norms = _norms(w, self.axis)
        wanted = self.rate * tf.clip(norms, float(self.min_value), float(self.max_value)) + (1 - self.rate) * norms
        return w * (wanted / (epsilon() + norms))


max_norm, non_neg, unit_norm, min_max_norm = MaxNorm, NonNeg, UnitNorm, MinMaxNorm
KNOWN = {kind.__name__: kind for kind in (MaxNorm, NonNeg, UnitNorm, MinMaxNorm)} | {
    "max_norm": MaxNorm,
    "non_neg": NonNeg,
    "unit_norm": UnitNorm,
    "min_max_norm": MinMaxNorm,
}


def get(host: Any, identifier: Any) -> Callable[..., Any] | None:
    """The constraint that `identifier` stands for: a name, a class, or a function of a weight; None for none."""
    return None if identifier is None else by_name(host, KNOWN, identifier, "constraint")


def serialize(constraint: Any) -> dict[str, Any]:
    """A constraint as plain data: its module, class and arguments."""
    return described("constraints", constraint)


def deserialize(host: Any, config: Any, custom_objects: Mapping[str, Any] | None = None) -> Any:
    """The constraint that `serialize` has described; `custom_objects` are a program's own, by name."""
    return by_name(host, {**KNOWN, **(custom_objects or {})}, config, "constraint")
