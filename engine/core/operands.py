"""How an engine function says which of its parameters are tensors; `engine.frontend.api` makes use of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def operands(*same: str, alone: tuple[str, ...] = ()) -> Callable[[F], F]:
    """Declare which parameters of an engine function are tensors.

    Parameters
    ----------
    *same : str
        Parameters that share one dtype: Python data among them take the dtype of the first tensor or array among them.
        A name starting with ``*`` is a list of tensors.
    alone : tuple of str
        Tensor parameters that are converted on their own (conditions, indices).
    """

    def declare(function: F) -> F:
        function.__operands__ = (same, alone)  # type: ignore[attr-defined]
        return function

    return declare
