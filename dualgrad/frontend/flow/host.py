"""`FlowHost`: a front end, as control flow sees it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from dualgrad.frontend.flow.contexts import Contexts
from dualgrad.frontend.flow.stacked_array import StackedArray
from engine.core.op import Node


class FlowHost(ABC):
    """A front end, as control flow sees it."""

    @abstractmethod
    def trace(self) -> Any:
        """The trace to which functions that are called now add operations: a `Contexts`."""

    @abstractmethod
    def convert(self, value: Any, dtype: Any = None, dtype_hint: Any = None) -> Any:
        """A symbol of that trace for whatever users write."""

    def is_operation(self, leaf: Any) -> bool:
        """Whether a part of a result is no value, but stands for something that is to be run."""
        return False

    def array(self, leaf: Any) -> StackedArray | None:
        """A part of a structure as an array of tensors that is a value, if it is one."""
        return leaf if isinstance(leaf, StackedArray) else None

    @abstractmethod
    def effects(self, trace: Contexts, first: int, leaves: Sequence[Any]) -> list[Node]:
        """Those of the nodes from `first` on, added by a function, that must run besides its results `leaves`."""

    @abstractmethod
    def waiting_for(self, holds: Any, message: str, data: Sequence[Any], function: Any) -> Any:
        """The results of ``function()``, which wait for the assertion that the tensor ``holds()`` is true."""

    allows_none = False
    """Whether functions may return None, which stands for nothing."""
