"""Branches and loops of a ``tf.function`` as single ops, while it is recorded.

The values of a function are there while it is recorded. Those of a branch, or of the body of a loop, are not: they are
other ones in each run. So the functions that users give to `cond`, `while_loop`, `scan` and so on are called once with
symbols, and add their operations to a trace (`FlowTrace`). What becomes of them there is what becomes of them in a
graph (`dualgrad.frontend.flow`): one op with closed functions. This op is then applied to the values that there are,
by which it is recorded, and computes them.

While such a function runs, each op on a tensor that differs from call to call adds an operation, and variables are read
and assigned in the trace. If it does what is no op, there is no trace of it: the control flow runs as Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from dualgrad.frontend.flow.composites import closed, opened
from dualgrad.frontend.flow.contexts import Contexts, apart
from dualgrad.frontend.flow.host import FlowHost
from dualgrad.frontend.flow.places import user_line
from dualgrad.frontend.flow.stacked_array import StackedArray
from engine.closed.call_record import Untraceable
from engine.compiler.ir.instruction import is_stateful
from engine.core import nest
from engine.core.aval import Aval, compatible, format_shape
from engine.core.batching import Batched, innermost, within
from engine.core.eager import EagerTensor, Reference, applied_in_python
from engine.core.function_tape import FunctionTape
from engine.core.instantiate import applied, instantiate
from engine.core.op import Node, Op
from engine.core.tape import active, record, record_read
from engine.core.trace import Symbol, constant, needed_nodes, placeholder
from engine.core.value import Value, address
from engine.core.variable import Variable, assign_variable, read_variable, variable_handle
from engine.numpy_api.operators import equality
from engine.ops import compare
from engine.runtime.errors import DTypeError, InvalidArgumentError, ShapeError, UnimplementedError
from tape_api.control_flow.tensor_array import TensorArray
from tape_api.random import position
from tape_api.tensor import convert_to_tensor

_NOTHING: dict[int, Any] = {}


def is_symbolic(x: Any) -> bool:
    """Whether `x` is a value whose contents the function that is recorded may not look at: another one in each call."""
    function = active.function
    if isinstance(x, Symbol):
        return True
    if function is None or not isinstance(x, Value):
        return False
    return bool(x.level) or function.depends(x)


def has_shape_only(x: Any) -> bool:
    """Whether `x` is what stands for a tensor while a model is built from its layers."""
    return isinstance(x, Symbol) and x.has_shape_only


def captured(
    build: Callable[[], Any], python: Callable[[], Any], fits: Callable[[FlowTrace, Any], bool] | None = None
) -> Any:
    """Control flow of a function that is recorded as one op, or else as Python runs it.

    Parameters
    ----------
    build : callable
        Adds the op to `HOST`'s trace, and returns what it gives.
    python : callable
        The same without a trace.
    fits : callable, optional
        Whether the op, in its trace, may take the place of Python; for what has to be no op.
    """
    function = active.function
    if active.region is not None:
        return build()
    if function.refusal:
        return python()
    trace, before = FlowTrace(function), position()
    try:
        with trace.capturing():
            result = build()
        if fits is not None and not fits(trace, result):
            raise Untraceable("it may do otherwise than Python")
    except Exception as error:
        if fits is None and getattr(error, "is_refused", False):
            raise
        position(before)
        result = python()
        if function.refusal:
            function.refusal = f"{error}; so {function.refusal}"
        return result
    values = closed(trace.applied(opened(result)))
    trace.forget()
    return values


class FlowNode(Node):
    """An operation of a branch or a loop.

    Attributes
    ----------
    name : str
    context : Context or None
    control_inputs : tuple
        None: operations with effects run in the order in which they were made.
    where : tuple of (str, int)
    """

    __slots__ = ("context", "name", "where")
    control_inputs = ()

    def __init__(self, trace: FlowTrace, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
        super().__init__(op, inputs, params, ())
        self.name, self.where = op.type, user_line(4)
        self.context = None if trace.context is None else trace.belongs(self)


class FlowTensor(Symbol):
    """A tensor of a branch or a loop, which has another value each time that it runs."""

    __slots__ = ("__dict__",)
    is_a_tensor = True
    __eq__ = equality(compare.equal, False)
    __ne__ = equality(compare.not_equal, True)
    __hash__ = EagerTensor.__hash__

    @property
    def ndim(self) -> int | None:
        """The rank, None if not known."""
        return self._aval.ndim

    @property
    def name(self) -> str:
        """A name for messages."""
        return f"{self.node.op.type}:{self.index}"

    def ref(self) -> Reference:
        """A hashable stand-in, usable as a key."""
        return Reference(self)

    def __len__(self) -> int:
        shape = self._aval.shape
        if not shape or shape[0] is None:
            super().__iter__()
        return shape[0]  # type: ignore[index, return-value]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __int__(self) -> int:  # type: ignore[override]
        value: Any = self._aval.value
        return int(value if isinstance(value, int) else self._has_no_number())

    __index__ = __int__

    def __repr__(self) -> str:
        return f"<tf.Tensor {self.name!r} shape={self.shape} dtype={self.dtype.name}>"


nest.LEAVES.add(FlowTensor)


class _Inside(FunctionTape):
    """Stands for the tape of the function around while a branch or the body of a loop runs: it records nothing."""

    __slots__ = ("_around",)

    def __init__(self, around: FunctionTape | None) -> None:
        super().__init__()
        self._around = around
        self.has_variables = around is not None and around.has_variables

    def knows(self, value: Any) -> bool:
        """Whether the function follows it."""
        return isinstance(value, Symbol) or (self._around is not None and self._around.knows(value))

    def depends(self, value: Any) -> bool:
        """Whether its contents differ from call to call."""
        return isinstance(value, Symbol) or (self._around is not None and self._around.depends(value))

    def read(self, variable: Any, op: Op, out: Any) -> None:
        """Nothing: the trace knows."""

    def copied(self, op: Op, value: Any, out: Any) -> None:
        """Nothing: the trace knows."""

    def write(self, variable: Any, value: Any) -> None:
        """Refuse what is assigned without the trace."""
        raise Untraceable(f"variable {variable.name!r} is assigned to by what is no op")


class FlowTrace(Contexts):
    """The trace to which branches and bodies of loops add their operations.

    Parameters
    ----------
    function : FunctionTape, optional
        Records the function around; None if the whole function adds its operations here.

    Attributes
    ----------
    made_variables, draws : bool
        Whether the function has made any, and whether it draws random numbers.
    for_specs : bool
        Whether it is made for the shapes and dtypes of results only: no Python function is called for numbers.
    """

    flow_assignments = 0
    for_specs = False

    def __init__(self, function: FunctionTape | None = None, has_variables: bool = False) -> None:
        super().__init__()
        self._has_variables, self.made_variables, self.draws = has_variables, False, False
        self._function, self._tapes = function, () if function is None else active.tapes
        self._handles: dict[int, tuple[Variable, Any]] = {}
        self._outside: dict[int, EagerTensor] = {}
        self._differs: dict[int, tuple[Any, bool]] = {}

    # ---- what a trace is asked ---------------------------------------------------------------------------------------

    def make_node(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any], name: str | None = None) -> Node:
        """A node that knows which function made it."""
        if active.region is not self:
            raise InvalidArgumentError(
                f"{op.type}: a tensor of a function, or of a branch or a loop in one, is out of scope here: it has a "
                f"value only while that runs. Return it, and use what the call returns in its place"
            )
        self.require_in_reach(op.type, inputs)
        return FlowNode(self, op, inputs, params)

    def make_symbol(self, node: Node, index: int, aval: Aval) -> Symbol:
        """A tensor as users know it."""
        return FlowTensor(self, node, index, aval)

    def capture(self, x: Any, dtype: Any = None, name: str = "value") -> Symbol:
        """A constant; of a tensor that differs from call to call a placeholder, of whose contents nothing is known."""
        if not isinstance(x, EagerTensor):
            return super().capture(x, dtype, name)
        if id(x) not in self._captured:
            given = self._is_given(x)
            symbol = self.placeholder(Aval(x._shape, x.dtype)) if given else self.constant(x._array)
            self._captured[id(x)], self._outside[id(symbol)] = (x, symbol), x
        return self._captured[id(x)][1]

    def _is_given(self, x: EagerTensor) -> bool:
        """Whether a tensor from outside differs from call to call, or is followed by a tape."""
        if id(x) in self._captured and self._captured[id(x)][1].node.op is placeholder:
            return True
        if any(address(x) in t.tracked for t in active.tapes):
            return True
        if not any(address(x) in t.tracked or address(x) in t.nondifferentiable for t in self._tapes):
            return False
        if id(x) not in self._differs:
            others = [t for t in self._tapes if t is not self._function]
            function: Any = self._function
            self._differs[id(x)] = x, function.depends(x) or any(address(x) in t.tracked for t in others)
        return self._differs[id(x)][1]

    def apply(self, op: Op, inputs: Sequence[Any], params: dict[str, Any], name: str | None = None) -> Any:
        """Append a node, and let tapes within the function know of it; they know tensors from outside as they are."""
        instead = active.instead
        if instead is not None and instead != self._instead:
            replaced = instead(op, tuple(inputs), params)
            if replaced is not None:
                return replaced
        if op is read_variable and isinstance(inputs[0], Symbol):
            # also where control flow takes a variable as an operand: tapes know it as itself
            return self.read(self.tracked_as(inputs[0]))
        operands = self.operands(op, inputs)
        avals = op.result_avals([x.aval for x in operands], params)
        outputs = self.append(op, operands, params, avals if op.multi else (avals,), name=name)
        out = outputs if op.multi else outputs[0]
        if len(active.tapes) > 1:
            record(op, tuple([self._outside.get(id(x), x) for x in operands]), params, out)
        return out

    def control_dependencies(self, control_inputs: Any) -> AbstractContextManager[None]:
        """Nothing: effects happen in the order in which they were made."""
        return nullcontext()

    def name_scope(self, name: str) -> AbstractContextManager[None]:
        """Nothing: there are no names."""
        return nullcontext()

    # ---- variables ---------------------------------------------------------------------------------------------------

    def handle(self, variable: Variable) -> Any:
        """The symbol that stands for a variable."""
        if id(variable) not in self._handles:
            with self.within(None):
                aval = Aval(variable.aval.shape, variable.aval.dtype)
                (handle,) = self.append(variable_handle, (), {"aval": aval, "default": None}, (aval,))
            self._handles[id(variable)] = variable, handle
        return self._handles[id(variable)][1]

    def tracked_as(self, handle: Any) -> Any:
        """The variable itself."""
        return next(variable for variable, other in self._handles.values() if other is handle)

    def read(self, variable: Variable) -> Any:
        """The value of a variable at this point."""
        handle = self.handle(variable)
        (out,) = self.append(read_variable, (handle,), {}, (Aval(handle.aval.shape, handle.dtype),))
        record_read(variable, read_variable, (variable,), out)
        return out

    def assign(self, variable: Variable, value: Any) -> None:
        """Give a variable another value from here on."""
        new, have = self.operand(value), variable.aval
        if new.dtype is not have.dtype:
            raise DTypeError(
                f"assign: the variable {variable.name!r} has dtype {have.dtype.name}, got {new.dtype.name}"
            )
        if not compatible(have.shape, new.aval.shape):
            raise ShapeError(
                f"assign: the variable {variable.name!r} has shape {format_shape(have.shape)}, the value "
                f"{format_shape(new.aval.shape)}"
            )
        self.apply(assign_variable, (self.handle(variable), new), {})

    # ---- capturing ---------------------------------------------------------------------------------------------------

    @contextmanager
    def capturing(self) -> Iterator[None]:
        """Have whatever is done inside add operations here.

        Raises
        ------
        Untraceable
            If something is done that is no op.
        """
        inside = _Inside(self._function)
        inside.has_variables |= self._has_variables
        before = active.tapes, active.function, active.instead
        with applied_in_python():
            active.tapes, active.function, active.instead, active.region = (inside,), inside, self._instead, self
            try:
                yield
            finally:
                active.tapes, active.function, active.instead = before
                active.region = None
        if inside.refusal:
            raise Untraceable(inside.refusal)
        self.made_variables = inside.made_variables
        if self._function is not None:
            self._function.looked_at += inside.looked_at
            self._function.made_variables |= inside.made_variables
            self._function.draws |= self.draws

    def _instead(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """An op on tensors from outside: a constant, if they are the same in each call."""
        if any(isinstance(x, EagerTensor) and self._is_given(x) for x in inputs):
            return self.apply(op, inputs, params)
        return None

    def effects(self, first: int) -> list[Node]:
        """Those of the nodes from `first` on that the running function has made, and that must run."""
        return [n for n in self.nodes[first:] if n.context is self.context and _has_effects(n)]

    def applied(self, result: Any) -> Any:
        """Apply what was captured to the values that there are; a structure with values in place of its symbols."""
        leaves = nest.flatten(result)
        arrays = {i: x for i, x in enumerate(leaves) if isinstance(x, StackedArray)}
        wanted = [arrays[i]._buffer if i in arrays else x for i, x in enumerate(leaves)]
        of = self.instantiated(self.needed_for(map(innermost, wanted)))
        values = [within(x, of[id(innermost(x))]) if isinstance(innermost(x), Symbol) else x for x in wanted]
        return nest.pack_sequence_as(result, [arrays[i].holding(x) if i in arrays else x for i, x in enumerate(values)])

    def computed_at_once(self, x: Any) -> Any:
        """The value of a tensor that depends on no argument: what a variable starts with."""
        if not isinstance(x, Symbol):
            return x
        nodes = needed_nodes(self.nodes, [x])
        if any(n.op is placeholder and id(n.outputs[0]) not in self._outside for n in nodes):
            raise InvalidArgumentError("Variable: argument `initial_value` depends on an argument of the function")
        with apart():
            return self.instantiated(nodes)[id(x)]

    def forget(self) -> None:
        """Let go of what came from outside: a program may keep a symbol, which keeps the trace."""
        self._captured, self._outside, self._differs, self._handles = {}, {}, {}, {}

    def needed_for(self, results: Iterable[Any]) -> list[Node]:
        """The nodes that the symbols among some results, and all effects, need."""
        return needed_nodes(self.nodes, [*[x for x in results if isinstance(x, Symbol)], *self.effects(0)])

    def instantiated(self, nodes: Sequence[Node], given: dict[int, Any] = _NOTHING) -> dict[int, Any]:
        """Apply the ops of some nodes, one by one, to values `given` for symbols, by identity, and to what there is."""
        of: dict[int, Any] = dict(self._outside)
        of |= {id(handle): variable for variable, handle in self._handles.values()}
        of |= given
        return instantiate([n for n in nodes if not n.outputs or id(n.outputs[0]) not in of], of, on_values)

    def variables(self) -> dict[int, Variable]:
        """The variables that are read or assigned to, by the identities of their handles."""
        return {id(handle): variable for variable, handle in self._handles.values()}


def _has_effects(node: Any) -> bool:
    if node.op in (placeholder, variable_handle, read_variable):
        return False
    return node.op is assign_variable or is_stateful(node.op, node.params)


def on_values(node: Node, operands: tuple[Any, ...]) -> Sequence[Any]:
    """The values of a node's results."""
    if node.op is constant:
        return [EagerTensor(node.params["value"])]
    if node.op is read_variable:
        return [operands[0]._snapshot()]
    if node.op is assign_variable:
        operands[0].assign(operands[1])
        return operands[1:]
    return applied(node, operands)


class TapeFlow(FlowHost):
    """Functions add operations to the trace of the control flow that is being captured; what has effects is run."""

    allows_none = True

    def trace(self) -> Any:
        """That of the outermost control flow."""
        return active.region

    def convert(self, value: Any, dtype: Any = None, dtype_hint: Any = None) -> Any:
        """`convert_to_tensor`, as a symbol."""
        if isinstance(value, Batched):
            return value
        tensor = convert_to_tensor(value, dtype, dtype_hint)
        return tensor if active.region is None else active.region.operand(tensor)

    def array(self, leaf: Any) -> StackedArray | None:
        """A list of tensors as one, stacked."""
        return (
            LoopArray.of(leaf)
            if isinstance(leaf, TensorArray) and not isinstance(leaf, LoopArray)
            else super().array(leaf)
        )

    def effects(self, trace: Any, first: int, leaves: Sequence[Any]) -> list[Node]:
        """Those of the nodes that have effects."""
        return trace.effects(first)

    def waiting_for(self, holds: Any, message: str, data: Sequence[Any], function: Any) -> Any:
        """Refuse to wait: Python raises the error."""
        raise UnimplementedError("case: a condition that must hold is looked at by Python")


HOST = TapeFlow()


class LoopArray(StackedArray, TensorArray):
    """A `TensorArray` that a loop hands on: all elements are one tensor, and each `write` gives another array."""

    @classmethod
    def of(cls, array: TensorArray) -> LoopArray:
        """The same as a `TensorArray` that is a list."""
        if array._taken:
            raise UnimplementedError("TensorArray: elements that have been read are gone")
        shape = array.element_shape.as_tuple() if array.element_shape.rank is not None else None
        made = cls(array.dtype, len(array._items), array.dynamic_size, element_shape=shape)
        if any(x is not None for x in array._items):
            made._buffer = array.stack()
        return made

    def convert(self, value: Any, dtype: Any = None) -> Any:
        """A tensor."""
        return convert_to_tensor(value, dtype)

    def __len__(self) -> int:
        return int(self.size())
