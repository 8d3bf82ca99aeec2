"""What the derivative with respect to a source is that the target does not depend on: None, or zeros."""

from __future__ import annotations

from enum import Enum
from typing import Any


class UnconnectedGradients(Enum):
    """What the gradient with respect to a source is that the target does not depend on."""

    NONE = "none"
    ZERO = "zero"


def as_policy(unconnected_gradients: Any) -> UnconnectedGradients:
    """The `UnconnectedGradients` member that a user's argument names, or a ValueError."""
    try:
        return UnconnectedGradients(unconnected_gradients)
    except ValueError:
        raise ValueError(
            f"argument `unconnected_gradients` must be 'none' or 'zero', got {unconnected_gradients!r}"
        ) from None
