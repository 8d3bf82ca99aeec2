"""Traces: append-only lists of nodes, and the symbols that stand for their results.

A graph is a `Trace` with names (`graph_api.Graph`); a traced function is a plain one. Applying an op to a symbol
appends a node; operands that are not symbols yet (arrays, eager tensors, Python numbers) become constants of the trace.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, NoReturn, Self

import numpy as np

from engine.core.aval import Aval, Shape, compatible, format_shape, merge_shapes, normalize_shape
from engine.core.batching import NotBatched
from engine.core.detach import looked_at
from engine.core.dtypes import DType, as_dtype, bool_
from engine.core.eager import EagerTensor, abstract_operand
from engine.core.op import Node, Op, are_plain
from engine.core.operands import Array, Operation, Results
from engine.core.structural import contiguous
from engine.core.tape import NOTHING, active, record
from engine.core.value import Value, address, as_array, aval_of, not_an_array
from engine.runtime.errors import InvalidArgumentError, OperatorNotAllowedInGraphError, ShapeError, SymbolicArrayError

LARGE = 1000
"""Elements up to which what a function computes from arrays becomes a constant of a graph, as in TensorFlow."""


class Symbol(Value):
    """The value that a node of a trace will have.

    Attributes
    ----------
    trace : Trace
    node : Node
        The node that makes it.
    index : int
        Which of the node's outputs it is.
    aval : Aval
    has_shape_only : bool
        Whether nobody ever computes it, as while a model is built from its layers: then any branch shows the shape.
    """

    __slots__ = ("__weakref__", "_aval", "index", "node", "trace")
    level = 1
    has_shape_only = False

    def __init__(self, trace: Trace, node: Node, index: int, aval: Aval) -> None:
        self.trace = trace
        self.node = node
        self.index = index
        self._aval = aval

    @property
    def aval(self) -> Aval:
        """Shape and dtype, as far as they are known."""
        return self._aval

    @property
    def dtype(self) -> DType:
        """Element type."""
        return self._aval.dtype

    @property
    def _shape(self) -> Shape:
        """The static shape as a tuple, None where not known."""
        return self._aval.shape

    def set_shape(self, shape: Any) -> None:
        """Add to what is known of the shape.

        Raises
        ------
        ValueError
            If it contradicts what is known already.
        """
        new = normalize_shape(shape)
        if not compatible(self._aval.shape, new):
            raise ShapeError(
                f"set_shape: {getattr(self, 'name', 'a symbol')} has shape {format_shape(self._aval.shape)}, which "
                f"does not fit {format_shape(new)}"
            )
        self._aval = Aval(merge_shapes(self._aval.shape, new), self._aval.dtype, self._aval.value)

    def _bind(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Results:
        return self.trace.apply(op, inputs, params)

    def __bool__(self) -> bool:
        raise OperatorNotAllowedInGraphError(
            f"{self!r} is symbolic and has no truth value yet: Python's `if`, `while`, `and`, `or` and `not` need one. "
            f"Use tf.cond or tf.where for a choice, tf.logical_and and tf.logical_or for logic, `is None` to test for "
            f"None"
        )

    def __iter__(self) -> Iterator[Any]:
        raise OperatorNotAllowedInGraphError(
            f"{self!r} is symbolic: Python cannot iterate over it. Use tf.unstack to split it, or tf.map_fn to loop "
            f"over it"
        )

    def __len__(self) -> int:
        raise TypeError(f"len is not well defined for the symbolic tensor {self!r}; use its shape, or tf.shape(x)[0]")

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        declined = not_an_array(sys._getframe(1))
        if declined is not None:
            return declined
        raise SymbolicArrayError(
            f"{self!r} is symbolic and has no array yet: a NumPy function was called on it, or it was passed where an "
            f"array is needed. Use the corresponding function of this package (np.stack or tf.stack for the parts of a "
            f"list), or run it in a session first"
        )

    def _has_no_number(self) -> NoReturn:
        raise SymbolicArrayError(
            f"{self!r} is symbolic and is no number yet: it was given to float, int, a function of math, a format, or "
            f"assigned to an element of an array. Use the corresponding function of this package (tf.sin, tf.cast, "
            f"tf.stack), or run it in a session first"
        )

    __float__ = __int__ = __complex__ = _has_no_number

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        # it is nothing but its place in the trace
        return self

    def __repr__(self) -> str:
        return f"<Symbol {self.node.op.name}:{self.index} {self.aval}>"


class Trace:
    """An append-only list of nodes.

    Attributes
    ----------
    nodes : list of Node
        In an order in which they can be executed.
    """

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._captured: dict[int, tuple[Any, Symbol]] = {}

    def apply(self, op: Op, inputs: Sequence[Any], params: dict[str, Any], name: str | None = None) -> Any:
        """Append a node that applies `op`; return its output (a tuple of them if the op has several).

        `name` is for traces whose nodes have names.
        """
        operands = self.operands(op, inputs)
        avals = op.result_avals([x.aval for x in operands], params)
        outputs = self.append(op, operands, params, avals if op.multi else (avals,), name=name)
        out = outputs if op.multi else outputs[0]
        if active.tapes:
            record(op, operands, params, out)
        return out

    @contextmanager
    def building(self) -> Iterator[None]:
        """Have `unless_large` make constants of this trace."""
        before, active.building = active.building, self
        try:
            yield
        finally:
            active.building = before

    def append(
        self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any], avals: Sequence[Aval], name: str | None = None
    ) -> tuple[Symbol, ...]:
        """Append a node whose outputs have the given avals; return its outputs."""
        node = self.make_node(op, inputs, params, name=name)
        outputs = tuple([
            self.make_symbol(node, i, _with_known_value(op, inputs, params, aval) if aval.dtype.is_integer else aval)
            for i, aval in enumerate(avals)
        ])  # fmt: skip
        node.outputs = outputs
        self.nodes.append(node)
        return outputs

    def make_node(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any], name: str | None = None) -> Node:
        """The record of one application. A subclass may return a richer one."""
        return Node(op, inputs, params, ())

    def make_symbol(self, node: Node, index: int, aval: Aval) -> Symbol:
        """The symbol of an output. A subclass may return a richer one."""
        return Symbol(self, node, index, aval)

    def operands(self, op: Op, inputs: Sequence[Any]) -> tuple[Any, ...]:
        """`inputs` as values of this trace; numbers take the dtype of the value beside them, conditions aside."""
        for x in inputs:
            if not isinstance(x, Symbol) or x.trace is not self:
                break
        else:
            return tuple(inputs)
        dtype = next((x.dtype for x in inputs if isinstance(x, Value) and x.dtype is not bool_), None)
        return tuple([self.operand(x, dtype, op.name) for x in inputs])

    def operand(self, x: Any, dtype: Any = None, name: str = "value") -> Any:
        """`x` as a value of this trace; a Python number takes the given dtype."""
        if isinstance(x, Symbol):
            if x.trace is not self:
                raise InvalidArgumentError(f"{name}: {x!r} belongs to another graph than the other operands")
            return x
        if isinstance(x, Value) and not isinstance(x, EagerTensor):
            return x
        return self.capture(x, dtype, name)

    def capture(self, x: Any, dtype: Any = None, name: str = "value") -> Symbol:
        """A constant of this trace holding `x`. An eager tensor gives the same constant each time."""
        if isinstance(x, EagerTensor):
            if id(x) not in self._captured:
                self._captured[id(x)] = (x, self.constant(x._array))
            symbol = self._captured[id(x)][1]
            return follow(x, symbol)
        if isinstance(x, (tuple, list)) and all(isinstance(d, (int, np.integer)) for d in x):
            return self.constant(np.asarray(x, np.int32))
        # NumPy's double is a float, but it has a dtype of its own
        is_number = isinstance(x, (int, float, complex, bool)) and not isinstance(x, np.generic)
        return self.constant(as_array(x, dtype if is_number else None, name))

    def constant(self, array: Any, name: str | None = None) -> Any:
        """A node holding `array`."""
        return self.append(constant, (), {"value": array}, (abstract_operand(array),), name=name)[0]

    def placeholder(self, aval: Aval, name: str | None = None) -> Any:
        """A node whose value is given from outside."""
        return self.append(placeholder, (), {"dtype": aval.dtype, "shape": aval.shape}, (aval,), name=name)[0]

    def parameter(self, aval: Aval, name: str) -> Any:
        """A placeholder for what a function, which is called now, is called with."""
        return self.placeholder(aval, name=name)

    def rely(self, on: Sequence[Any], results: Sequence[Any]) -> None:
        """Note that `results` are right only for the contents that the values `on` are known to have.

        A trace in which something else can be given in place of constants keeps this in mind.
        """

    def visited(self, nodes: Iterable[Node]) -> Iterable[Node]:
        """The nodes, as the reverse walk visits them; around each it may do something around the node's rules."""
        return nodes

    def path_nodes(self, targets: Sequence[Any], sources: Sequence[Any], stop: Sequence[Any] = ()) -> list[Node]:
        """The nodes that `targets` are computed from, as far as derivatives with respect to `sources` need them."""
        return needed_nodes(self.nodes, targets)

    def rule_context(self, node: Node) -> AbstractContextManager[None]:
        """Where the rule of a custom gradient, that of `node`, is called to be closed."""
        return nullcontext()

    def operator(self, function: Callable[..., Any], operands: tuple[Any, ...], name: str) -> Results:
        """Apply a Python operator. A trace with names may name the result after it."""
        return function(*operands)

    def trainable_variables(self) -> list[Any]:
        """The trainable variables that live here. A plain trace has none."""
        return []

    def global_variables(self) -> list[Any]:
        """The variables that live here and are saved by default. A plain trace has none."""
        return []

    def saver(self, variables: Any, **options: Any) -> Any:
        """A saver that writes variables, by name, to checkpoints. A plain trace has none."""
        raise InvalidArgumentError(f"{type(self).__name__} has no sessions, and so no values to save; build a graph")

    def session_for(self, session: Any, purpose: str) -> Any:
        """The session given, or the default one, which must run this trace. A plain trace has none."""
        raise InvalidArgumentError(f"Cannot {purpose}: {type(self).__name__} has no sessions; build a graph for that")

    @property
    def is_current(self) -> bool:
        """Whether new nodes go here. A plain trace is given its nodes by whoever made it."""
        return True

    def note_step(self, operation: Operation) -> None:
        """Keep the operation that makes a step of an optimizer, for who looks for it. A plain trace does not."""

    def group(self, operations: Sequence[Any], name: str) -> Operation:
        """One operation that runs all of `operations`. A plain trace runs nothing."""
        raise InvalidArgumentError(f"group: {type(self).__name__} has no operations to run; build a graph for that")


def unless_large(x: Any, size: int) -> Any:
    """`x`; as a constant of the graph being built, if a function makes more elements of it, and more than `LARGE`.

    So its result is a node, and no constant that would take memory, and room in files, without having been given.
    """
    if active.building is None or size <= LARGE or isinstance(x, Symbol) or size <= (aval_of(x).size or 0):
        return x
    return active.building.operand(x)


def follow(x: EagerTensor, symbol: Any) -> Any:
    """The constant that stands for an eager tensor: the tapes that track the tensor track it too from here on."""
    for tape in active.tapes:
        if address(x) in tape.tracked and address(symbol) not in tape.tracked:
            tape.nodes.log += (contiguous, (x,), NOTHING, symbol)
            tape.tracked[address(symbol)] = symbol
    return symbol


def needed_nodes(
    nodes: Sequence[Node],
    outputs: Sequence[Any],
    fed: Collection[int] = (),
    extra: Callable[[Any], Sequence[Node]] = lambda node: (),
    by_shape: bool = False,
) -> list[Node]:
    """The nodes that `outputs` (symbols or nodes) are computed from, in the order of execution.

    What lies behind symbols whose values are `fed`, by ``id``, is not needed. ``extra(node)`` are further nodes that
    must run before it (control dependencies). If `by_shape`, an operand of known shape is not needed where nothing but
    its shape is looked at.
    """
    needed: set[int] = set()
    pending = [x if isinstance(x, Node) else x.node for x in outputs if isinstance(x, Node) or id(x) not in fed]
    while pending:
        node = pending.pop()
        if id(node) in needed:
            continue
        needed.add(id(node))
        inputs: Iterable[Any] = node.inputs
        op = node.op
        if by_shape and (op.from_avals or op.references or op.args[-1:] == ("*like",)):
            first = 0 if op.from_avals else len(op.args) - 1 if op.args[-1:] == ("*like",) else len(node.inputs)
            inputs = [x for i, x in enumerate(inputs) if not (i >= first or i in op.references) or not x.aval.is_static]
        pending += [x.node for x in inputs if id(x) not in fed and isinstance(x, Symbol)]
        pending += extra(node)
    return [node for node in nodes if id(node) in needed]


def _with_known_value(op: Op, inputs: Sequence[Any], params: dict[str, Any], out: Aval) -> Aval:
    """`out`, of integers, with its contents if it is a small value computed from known ones."""
    if out.value is not None or not inputs or op.stateful or op.multi or (out.size or 0) > LARGE:
        return out
    avals = [x.aval for x in inputs]
    if out.shape is None or len(out.shape) > 1 or not all(a.has_contents for a in avals):
        return out
    try:
        value = np.asarray(op.kernel(*[np.asarray(a.value, a.dtype.numpy) for a in avals], **params))
    except (ValueError, TypeError, IndexError, ArithmeticError):
        return out
    return Aval(out.shape, out.dtype, int(value) if value.ndim == 0 else tuple(value.tolist()))


def constant_value(x: Any) -> Array | None:
    """The array that a value is known to hold while a graph is built, or None."""
    if isinstance(x, EagerTensor):
        looked_at(x)
        return x._array
    if not isinstance(x, Value):
        return np.asarray(x)
    if isinstance(x, Symbol) and x.node.op is constant:
        return x.node.params["value"]
    aval = aval_of(x)
    return np.asarray(aval.value, aval.dtype.numpy) if aval.has_contents else None


def known_value(x: Any, known: Callable[[Any], Any] = constant_value) -> np.ndarray | None:
    """The array that a value holds whatever is fed or assigned, or None.

    That is what ``known(x)`` says; or, of an integer or a bool (indices, shifts, masks), what ops compute from such
    arrays. Contents of other values tell nothing about structure, and may be large.
    """
    found = known(x)
    if found is not None or not isinstance(x, Symbol) or x.dtype.is_differentiable:
        return found
    arrays: dict[int, Any] = {}
    left = [x]
    while left:
        value = left[-1]
        array = arrays[id(value)] if id(value) in arrays else known(value)
        if array is None:
            operands = computed_from(value)
            if operands is None:
                return None
            missing = [y for y in operands.values() if id(y) not in arrays]
            if missing:
                left += missing
                continue
            array = _computed(value, {i: arrays[id(y)] for i, y in operands.items()})
            if array is None:
                return None
        arrays[id(left.pop())] = array
    return arrays[id(x)]


def computed_from(x: Any) -> dict[int, Any] | None:
    """By position, the operands from whose contents a symbol is computed; None if these do not tell its own."""
    if not isinstance(x, Symbol):
        return None
    op, inputs = x.node.op, x.node.inputs
    if op.stateful or not inputs:
        return None
    if _hands_on(x):
        return {0: inputs[0]}
    if not are_plain(x.node.params):
        return None
    read = {i: y for i, y in enumerate(inputs) if not (op.from_avals or i in op.references)}
    return read if all(aval_of(y).is_static for i, y in enumerate(inputs) if i not in read) else None


def _hands_on(x: Symbol) -> bool:
    """Whether a symbol holds the elements of operand 0 in their order, once a check that there may be has passed."""
    return getattr(x.node.op.sparsity, "in_order", False) and x.aval.is_static


def _computed(x: Symbol, read: dict[int, Any]) -> Array | None:
    """The value of a symbol's op for the contents of some operands; the others only lend their shapes."""
    node = x.node
    if _hands_on(x):
        return np.reshape(read[0], [d or 0 for d in x.aval.shape or ()])
    arrays = [read[i] if i in read else _in_shape(aval_of(y)) for i, y in enumerate(node.inputs)]
    try:
        out = node.op.kernel(*arrays, **node.params)
    except (ValueError, TypeError, IndexError, ArithmeticError):
        return None
    return out[x.index] if node.op.multi else out


def _in_shape(aval: Aval) -> np.ndarray:
    assert aval.shape is not None
    return np.broadcast_to(np.zeros((), aval.dtype.numpy), [d or 0 for d in aval.shape])


def _batch_leaf(op: Op, size: int, flags: Any, inputs: Any, params: dict[str, Any]) -> NotBatched:
    return NotBatched(op(**params))


def _unfed(*, dtype: Any, shape: Any) -> NoReturn:
    raise InvalidArgumentError(f"a placeholder of dtype {dtype.name} and shape {shape} was not fed")


_LEAF: dict[str, Any] = {
    "module": __name__, "args": (), "vjp": None, "jvp": None, "batch": _batch_leaf, "kind": "nondifferentiable",
}  # fmt: skip

constant = Op(
    name="constant",
    type="Const",
    kernel=lambda *, value: value,
    abstract=lambda *, value: abstract_operand(value),
    doc="A value known when the graph is built.",
    **_LEAF,
)
placeholder = Op(
    name="placeholder",
    type="Placeholder",
    kernel=_unfed,
    abstract=lambda *, dtype, shape: Aval(shape, as_dtype(dtype)),
    stateful=True,
    doc="A value given from outside.",
    **_LEAF,
)
