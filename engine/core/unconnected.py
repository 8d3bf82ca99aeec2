"""The derivative with respect to a source that the target does not depend on: None, or zeros.

Why a variable had none is noted, once a variable, so that an optimizer which is given None can say it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from enum import Enum
from typing import Any

from engine.core.value import address
from engine.runtime.cache import Cache


class UnconnectedGradients(Enum):
    """The gradient with respect to a source that the target does not depend on."""

    NONE = "none"
    ZERO = "zero"


def as_policy(unconnected_gradients: Any) -> UnconnectedGradients:
    """The `UnconnectedGradients` member that a user's argument names, or a ValueError."""
    if type(unconnected_gradients) is UnconnectedGradients:
        return unconnected_gradients
    try:
        return UnconnectedGradients(unconnected_gradients)
    except ValueError:
        raise ValueError(
            f"Unknown value for unconnected_gradients: {unconnected_gradients!r}; it must be 'none' or 'zero'"
        ) from None


_reasons: Cache[int, tuple[Any, Any, Callable[[], str]]] = Cache(
    "reasons of missing gradients", 1024, key="target and source themselves"
)


def note_missing(variable: Any, of: Any, reason: Callable[[], str]) -> None:
    """Note that `variable` had no gradient, and how to find out why.

    ``reason()`` is a sentence. It is asked at most once, must keep nothing alive, and is not looked for again for one
    thing `of` which a derivative is.
    """
    _reasons.put(address(variable), (weakref.ref(variable), of, reason))


def is_noted(variable: Any, of: Any) -> bool:
    """Whether the same has been noted before."""
    noted = _reasons.get(address(variable))
    return noted is not None and noted[0]() is variable and noted[1] == of


def why_missing(variable: Any) -> str | None:
    """Why the last gradient of a variable that was None was so; None if there was none."""
    noted = _reasons.get(address(variable))
    return noted[2]() if noted is not None and noted[0]() is variable else None


def reasons(variables: Any) -> str:
    """A line for each variable that says why it has no gradient, after a line break; empty if nothing is known."""
    known = [(v.name, why_missing(v)) for v in variables]
    lines = [f"\n  {name}: {why}" for name, why in known if why is not None][:8]
    if 0 < len(lines) < len(known):
        # of a tape's variables the reason has not been looked for either
        lines.append(f"\n  and {len(known) - len(lines)} more")
    return "".join(lines)
