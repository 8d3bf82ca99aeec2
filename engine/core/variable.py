"""Variables: values that are assigned to, seen from the engine.

A front end's variable derives from `Variable`. The engine knows three things about one: it has a *handle*, the value
that tapes and gradients identify it by; reading it gives a value connected to the handle by a `read_variable` node, so
that the gradient with respect to the handle collects those of all reads, before and after assignments; and it can be
assigned. Optimizers rest on these alone, so one update rule serves both modes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn, cast

from engine.core.aval import Aval, compatible, format_shape, merge_shapes
from engine.core.batching import elementwise_rule
from engine.core.dtypes import bool_
from engine.core.kinds import linear, nondifferentiable
from engine.core.op import Layout, Op
from engine.core.operands import Operand
from engine.core.sparsity import IN_ORDER
from engine.core.value import Value
from engine.runtime.errors import DTypeError, FailedPreconditionError, ShapeError, UnimplementedError

read_variable = linear(
    "read_variable",
    lambda handle: handle,
    lambda ct, handle: ct,
    lambda handle: Aval(handle.shape, handle.dtype),
    elementwise_rule,
    type="ReadVariableOp",
    args=("handle",),
    sparsity=IN_ORDER,
    doc="The value of a variable at this point. Its derivative is that of the identity.",
    layout=Layout.VIEW,
)


def _stateless(*_: Any, **__: Any) -> NoReturn:
    raise FailedPreconditionError("variables of a graph hold their values in sessions; run this in one")


def _assign_abstract(handle: Aval, value: Aval) -> Aval:
    if not compatible(handle.shape, value.shape):
        raise ShapeError(
            f"assign: the variable has shape {format_shape(handle.shape)}, the value {format_shape(value.shape)}"
        )
    if handle.dtype is not value.dtype:
        raise DTypeError(f"assign: the variable has dtype {handle.dtype.name}, the value {value.dtype.name}")
    return Aval(merge_shapes(handle.shape, value.shape), handle.dtype)


def _handle_batch(op: Op, *_: Any) -> NoReturn:
    raise UnimplementedError(f"{op.title}: a variable cannot be assigned a different value per batch element")


variable_handle = nondifferentiable(
    "variable_handle",
    _stateless,
    abstract=lambda *, aval, default: aval,
    batch=_handle_batch,
    type="VarHandleOp",
    args=(),
    stateful=True,
    doc="A variable of a graph. Its value lives in a session; `default()`, if given, is that before any assignment.",
)
assign_variable = nondifferentiable(
    "assign_variable",
    _stateless,
    abstract=_assign_abstract,
    batch=_handle_batch,
    type="AssignVariableOp",
    args=("handle", "value"),
    stateful=True,
    doc="Sets a variable of a graph; the result is the value assigned.",
)


variable_is_initialized = nondifferentiable(
    "variable_is_initialized",
    _stateless,
    abstract=lambda handle: Aval((), bool_),
    batch=_handle_batch,
    type="VarIsInitializedOp",
    args=("handle",),
    stateful=True,
    doc="Whether a variable of a graph has a value when a run begins.",
)


class Variable(Value):
    """Base of the front ends' variables."""

    if TYPE_CHECKING:
        # arithmetic on a variable gives a tensor, of the front end's own class
        __getitem__ = __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = cast("Any", None)
        __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = cast("Any", None)
        __pow__ = __rpow__ = __matmul__ = __rmatmul__ = __and__ = __or__ = __xor__ = cast("Any", None)
        __lt__ = __le__ = __gt__ = __ge__ = __neg__ = __pos__ = __abs__ = __invert__ = cast("Any", None)

    __slots__ = ()
    level = 1000
    name: str
    trainable: bool
    """Whether tapes watch it when it is read, and optimizers update it by default."""
    locks: tuple[Any, ...] = ()
    """Held by an update (`engine.runtime.commit`); none for a variable of a graph: a session updates it."""

    @property
    def handle(self) -> Value:
        """The value by which tapes and gradients identify the variable."""
        raise AttributeError(f"{type(self).__name__} does not define `handle`")

    def read_value(self) -> Any:
        """The current value, as a tensor; recorded by tapes that watch the variable."""
        raise AttributeError(f"{type(self).__name__} does not define `read_value`")

    def assign(self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Any:
        """Set the value; an operation in a graph, immediate on eager variables."""
        raise AttributeError(f"{type(self).__name__} does not define `assign`")

    def assign_rows(self, rows: Any, name: str | None = None) -> Any:
        """Replace the rows of an `IndexedSlices`; an operation in a graph, immediate on eager variables."""
        raise AttributeError(f"{type(self).__name__} does not define `assign_rows`")

    def writes(self, value: Any) -> list[tuple[Any, ...]]:
        """The write (for `engine.runtime.commit`) that sets an eager variable to a tensor or some of its rows."""
        raise AttributeError(f"{type(self).__name__} does not define `writes`")

    def entry_writes(self, indices: Any, entries: Any) -> list[tuple[Any, ...]]:
        """The write that sets the entries of an eager variable at index vectors."""
        raise AttributeError(f"{type(self).__name__} does not define `entry_writes`")

    def renewal(self) -> tuple[Any, Any, list[tuple[Any, ...]]]:
        """The array of an eager variable, an array for its new value, and the writes that make that its value."""
        raise AttributeError(f"{type(self).__name__} does not define `renewal`")

    @staticmethod
    def arrays(variables: Sequence[Any]) -> list[Any]:
        """The arrays that eager variables of this class hold."""
        raise AttributeError("this class of variables does not define `arrays`")

    @staticmethod
    def tensors(variables: Sequence[Any]) -> list[Any]:
        """The tensors that ops on eager variables of this class work on; nothing records that they are read."""
        raise AttributeError("this class of variables does not define `tensors`")

    @staticmethod
    def replacement(variables: Sequence[Any], arrays: Sequence[Any]) -> tuple[Any, ...]:
        """The write that sets eager variables of this class to arrays of their shapes and dtypes."""
        raise AttributeError("this class of variables does not define `replacement`")

    def new_slot(self, name: str, initial_value: Any, below: bool = True) -> Variable:
        """A new non-trainable variable of the same kind beside this one, for an optimizer's state.

        Its name stands below this one's, or by itself.
        """
        raise AttributeError(f"{type(self).__name__} does not define `new_slot`")

    def _bind(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Operand:
        return op(*[x.read_value() if isinstance(x, Variable) else x for x in inputs], **params)


def tracked_value(x: Any) -> Any:
    """The value by which a tape identifies `x`: a variable's handle, any other value itself."""
    return x.handle if isinstance(x, Variable) else x


def checked_constraint(constraint: Any) -> Any:
    """The constraint on a variable's new value, a callable or None; anything else raises ValueError."""
    if constraint is None or callable(constraint):
        return constraint
    raise ValueError(f"Variable: argument `constraint` must be None or a callable, got {constraint!r}")


def go_on(holder: Any) -> None:
    """Let checkpoints that wait for variables of an object restore those that it has made by now."""
    waiting, holder._restoring = holder._restoring, []
    for checkpoint, number in waiting:
        checkpoint.go_on(holder, number)
