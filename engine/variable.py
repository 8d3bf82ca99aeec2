"""Variables: values that are assigned to, seen from the engine.

A front end's variable derives from `Variable`. The engine knows three things about one: it has a *handle*, the value
that tapes and gradients identify it by; reading it gives a value connected to the handle by a `read_variable` node, so
that the gradient with respect to the handle collects those of all reads, before and after assignments; and it can be
assigned. Optimizers rest on these alone, so one update rule serves both modes.
"""

from __future__ import annotations

from typing import Any

from engine.aval import Aval
from engine.batching import elementwise_rule
from engine.kinds import linear
from engine.op import Op
from engine.value import Value

read_variable = linear(
    "read_variable",
    lambda handle: handle,
    lambda ct, handle: ct,
    lambda handle: Aval(handle.shape, handle.dtype),
    elementwise_rule,
    type="ReadVariableOp",
    args=("handle",),
    doc="The value of a variable at this point. Its derivative is that of the identity.",
)


class Variable(Value):
    """Base of the front ends' variables.

    Attributes
    ----------
    name : str
    trainable : bool
        Whether tapes watch it when it is read, and optimizers update it by default.
    """

    __slots__ = ()
    level = 1000
    name: str
    trainable: bool

    @property
    def handle(self) -> Any:
        """What tapes and gradients identify the variable by."""
        raise AttributeError(f"{type(self).__name__} does not define `handle`")

    def read_value(self) -> Any:
        """The current value, as a tensor; recorded by tapes that watch the variable."""
        raise AttributeError(f"{type(self).__name__} does not define `read_value`")

    def assign(self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Any:
        """Set the value; an operation in a graph, immediate on eager variables."""
        raise AttributeError(f"{type(self).__name__} does not define `assign`")

    def new_slot(self, name: str, initial_value: Any) -> Variable:
        """A new non-trainable variable of the same kind beside this one, for an optimizer's state."""
        raise AttributeError(f"{type(self).__name__} does not define `new_slot`")

    def _bind(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        return op(*[x.read_value() if isinstance(x, Variable) else x for x in inputs], **params)


def tracked_value(x: Any) -> Any:
    """What a tape identifies `x` by: a variable's handle, any other value itself."""
    return x.handle if isinstance(x, Variable) else x
