"""Penalties on weights: ``tf.keras.regularizers``. A layer adds those of its weights to its ``losses``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dualgrad.keras import functions as tf
from dualgrad.keras.configs import Configured
from dualgrad.keras.lookup import by_name, described
from engine.core.operands import Operand


class Regularizer(Configured):
    """Base of the regularizers. A subclass defines `__call__`."""

    def __call__(self, x: Any) -> Operand:
        """The penalty on a weight, a scalar."""
        raise NotImplementedError(f"{type(self).__name__} must define __call__(x)")


class L1L2(Regularizer):
    """``l1 * sum(abs(x)) + l2 * sum(x ** 2)``."""

    def __init__(self, l1: float = 0.0, l2: float = 0.0) -> None:
        self.l1, self.l2 = float(l1), float(l2)

    def __call__(self, x: Any) -> Operand:
        """The penalty on a weight, a scalar."""
        parts = []
        if self.l1:
            parts.append(self.l1 * tf.reduce_sum(tf.abs(x)))
        if self.l2:
            parts.append(self.l2 * tf.reduce_sum(tf.square(x)))
        return tf.add_n(parts) if parts else tf.reduce_sum(tf.zeros_like(x))


class L1(L1L2):
    """``l1 * sum(abs(x))``."""

    def __init__(self, l1: float = 0.01) -> None:
        super().__init__(l1=l1)


class L2(L1L2):
    """``l2 * sum(x ** 2)``."""

    def __init__(self, l2: float = 0.01) -> None:
        super().__init__(l2=l2)


l1, l2, l1_l2 = L1, L2, L1L2
KNOWN = {"l1": L1, "l2": L2, "l1_l2": L1L2, "L1": L1, "L2": L2, "L1L2": L1L2}


def get(host: Any, identifier: Any) -> Callable[..., Any] | None:
    """The regularizer that `identifier` stands for: a name, a class, or a function of a weight; None for none."""
    return None if identifier is None else by_name(host, KNOWN, identifier, "regularizer")


def serialize(regularizer: Any) -> dict[str, Any]:
    """A regularizer as plain data: its module, class and arguments."""
    return described("regularizers", regularizer)


def deserialize(host: Any, config: Any, custom_objects: Mapping[str, Any] | None = None) -> Any:
    """The regularizer that `serialize` has described; `custom_objects` are a program's own, by name."""
    return by_name(host, {**KNOWN, **(custom_objects or {})}, config, "regularizer")
