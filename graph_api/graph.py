"""Graphs: named traces, with scopes, collections and control dependencies."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from engine.aval import Aval, compatible, format_shape, merge_shapes, normalize_shape
from engine.eager import EagerTensor
from engine.errors import InvalidArgumentError, ShapeError
from engine.kinds import nondifferentiable
from engine.op import Node, Op
from engine.tensor_shape import TensorShape
from engine.trace import Symbol, Trace
from engine.value import Value

_HOUSE = tuple(
    str(Path(__file__).resolve().parent.parent / name) for name in ("engine", "graph_api", "tape_api", "optim")
)
_is_ours: dict[str, bool] = {}


def _user_line() -> tuple[str, int]:
    """File and line of the innermost caller outside this project."""
    frame = sys._getframe(2)
    while frame.f_back is not None:
        name = frame.f_code.co_filename
        ours = _is_ours.get(name)
        if ours is None:
            ours = _is_ours[name] = name.startswith(_HOUSE)
        if not ours:
            break
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


class UnknownDimension:
    """A dimension that is not known: ``.value`` is None, and it equals None."""

    value = None

    def __eq__(self, other: object) -> bool:
        return other is None or isinstance(other, UnknownDimension)

    def __hash__(self) -> int:
        return hash(None)

    def __repr__(self) -> str:
        return "Dimension(None)"

    def __str__(self) -> str:
        return "?"

    def __int__(self) -> int:
        raise ShapeError("the dimension is not known while the graph is built; use tf.shape(x)[i]")

    __index__ = __int__


class GraphShape(TensorShape):
    """TensorFlow 1's shape: an unknown dimension is an object with ``.value``, not None."""

    __slots__ = ()
    unknown_dimension = UnknownDimension()


class Operation(Node):
    """A node of a graph, with a name.

    Attributes
    ----------
    name : str
        Unique in the graph.
    graph : Graph
    control_inputs : list of Operation
        What must run before it although it gives it no data.
    device : str
        As requested; everything runs on this machine's CPU.
    where : tuple of (str, int)
        File and line of the user's program that made it.
    """

    __slots__ = ("control_inputs", "device", "graph", "name", "where")

    def __init__(self, graph: Graph, op: Op, inputs: tuple[Any, ...], params: dict[str, Any], name: str) -> None:
        super().__init__(op, inputs, params, ())
        self.graph = graph
        self.name = name
        self.control_inputs = graph.current_control_inputs()
        self.device = graph.current_device
        self.where = _user_line()

    @property
    def type(self) -> str:
        """TensorFlow's op type, ``"MatMul"``."""
        return self.op.type

    @property
    def traceback(self) -> list[tuple[str, int]]:
        """Where the user's program made it."""
        return [self.where]

    @property
    def node_def(self) -> Operation:
        """The operation itself; there are no protocol buffers."""
        return self

    def values(self) -> tuple[Any, ...]:
        """The outputs."""
        return self.outputs

    def get_attr(self, name: str) -> Any:
        """A static parameter of the op.

        Raises
        ------
        ValueError
            If it has none of that name.
        """
        if name == "T" and self.inputs:
            return self.inputs[0].dtype
        if name in ("dtype", "T") and self.outputs:
            return self.outputs[0].dtype
        if name not in self.params:
            raise ValueError(f"operation {self.name!r} ({self.type}) has no attribute {name!r}; it has {list(self.params)}")
        return self.params[name]

    def run(self, feed_dict: Any = None, session: Any = None) -> None:
        """Run the operation in `session`, or in the default session."""
        _session_for(self.graph, session, f"run operation {self.name!r}").run(self, feed_dict)

    def __repr__(self) -> str:
        return f"<tf.Operation '{self.name}' type={self.type}>"


class Tensor(Symbol):
    """The output of an operation of a graph."""

    __slots__ = ()

    @property
    def graph(self) -> Graph:
        """The graph it belongs to."""
        return self.trace  # type: ignore[return-value]

    @property
    def op(self) -> Operation:
        """The operation that makes it."""
        return self.node  # type: ignore[return-value]

    @property
    def name(self) -> str:
        """``"operation:index"``."""
        return f"{self.op.name}:{self.index}"

    @property
    def value_index(self) -> int:
        """Which output of its operation it is."""
        return self.index

    @property
    def device(self) -> str:
        """As requested; everything runs on this machine's CPU."""
        return self.op.device

    @property
    def shape(self) -> GraphShape:
        """The shape, as far as it is known."""
        return GraphShape(self._aval.shape)

    def get_shape(self) -> GraphShape:
        """The shape, as far as it is known."""
        return self.shape

    @property
    def ndim(self) -> int | None:
        """The rank, None if not known."""
        return self._aval.ndim

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
                f"set_shape: {self.name} has shape {format_shape(self._aval.shape)}, which does not fit {format_shape(new)}"
            )
        self._aval = Aval(merge_shapes(self._aval.shape, new), self._aval.dtype, self._aval.value)

    def consumers(self) -> list[Operation]:
        """The operations that take it as an input."""
        return [n for n in self.graph.nodes if any(x is self for x in n.inputs)]  # type: ignore[misc]

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """The value, computed in `session` or in the default session."""
        return _session_for(self.graph, session, f"evaluate {self.name!r}").run(self, feed_dict)

    def __repr__(self) -> str:
        shape = "<unknown>" if self._aval.shape is None else str(self.shape)
        return f"<tf.Tensor '{self.name}' shape={shape} dtype={self.dtype.name}>"

    def __str__(self) -> str:
        shape = "" if self._aval.shape is None else f", shape={self.shape}"
        return f'Tensor("{self.name}"{shape}, dtype={self.dtype.name})'


no_op = nondifferentiable(
    "no_op",
    lambda *_: (),
    abstract=lambda *_: (),
    batch=lambda op, size, flags, inputs, params: (),
    args=(),
    multi=True,
    doc="Does nothing; its control inputs run before it.",
)


def _session_for(graph: Graph, session: Any, purpose: str) -> Any:
    session = session or _stacks.session()
    if session is None:
        raise ValueError(
            f"Cannot {purpose}: no session is registered as default. Use `with sess.as_default()` or pass `session=`"
        )
    if session.graph is not graph:
        raise ValueError(f"Cannot {purpose}: the session's graph is another than the tensor's")
    return session


class _Stacks(threading.local):
    """The default graphs and sessions of the current thread, innermost last."""

    def __init__(self) -> None:
        self.graphs: list[Graph] = []
        self.sessions: list[Any] = []

    def session(self) -> Any:
        return self.sessions[-1] if self.sessions else None


_stacks = _Stacks()


class Graph(Trace):
    """A graph under construction: operations, names, scopes and collections.

    Examples
    --------
    >>> import graph_api as tf
    >>> g = tf.Graph()
    >>> with g.as_default():
    ...     c = tf.constant(30.0, name="c")
    >>> c.graph is g, g.get_tensor_by_name("c:0") is c
    (True, True)
    """

    def __init__(self) -> None:
        super().__init__()
        self.seed: int | None = None
        self.current_device = ""
        self._by_name: dict[str, Operation] = {}
        self._names_in_use: dict[str, int] = {}
        self._scope = ""
        self._collections: dict[str, list[Any]] = {}
        self._control: list[list[Operation]] = []
        self._finalized = False
        self.variable_store: dict[str, Any] = {}

    # ---- nodes -------------------------------------------------------------------------------------------------------

    def make_node(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any], name: str | None = None) -> Node:
        """A named operation."""
        if self._finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")
        operation = Operation(self, op, inputs, params, self.unique_name(name or _default_name(op)))
        self._by_name[operation.name] = operation
        return operation

    def make_symbol(self, node: Node, index: int, aval: Aval) -> Tensor:
        """A graph tensor."""
        return Tensor(self, node, index, aval)

    def capture(self, x: Any, dtype: Any = None, name: str = "value") -> Symbol:
        """A constant; it waits for nothing, whatever the control dependencies around it."""
        if isinstance(x, EagerTensor) and id(x) in self._captured:
            return super().capture(x, dtype, name)
        with self.control_dependencies(None):
            return super().capture(x, dtype, name)

    def rename(self, operation: Operation, name: str) -> None:
        """Give an operation made just now another name, which must be free; the old one is free again."""
        del self._by_name[operation.name]
        operation.name = name
        self._by_name[name] = operation

    def operator(self, function: Callable[..., Any], operands: tuple[Any, ...], name: str) -> Any:
        """Apply a Python operator; its operation is named after the operator (``mul``), not the op (``Mul``)."""
        if isinstance(function, Op) and not any(isinstance(x, Value) and x.level > Symbol.level for x in operands):
            return self.apply(function, operands, {}, name=name)
        return function(*operands)

    def group(self, operations: Sequence[Any], name: str | None = None) -> Operation:
        """An operation that runs all the given ones."""
        with self.control_dependencies([*operations]):
            self.apply(no_op, (), {}, name=name or "group_deps")
        return self.nodes[-1]  # type: ignore[return-value]

    def finalize(self) -> None:
        """Forbid further changes."""
        self._finalized = True

    @property
    def finalized(self) -> bool:
        """Whether `finalize` was called."""
        return self._finalized

    # ---- names -------------------------------------------------------------------------------------------------------

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """`name` in the current scope, with a number appended if it is taken. A trailing slash means: exactly so."""
        if name.endswith("/"):
            return name[:-1]
        full = f"{self._scope}/{name}" if self._scope else name
        key = full.lower()
        count = self._names_in_use.get(key, 0)
        if mark_as_used:
            self._names_in_use[key] = count + 1
        if not count:
            return full
        while (candidate := f"{full}_{count}").lower() in self._names_in_use:
            count += 1
        if mark_as_used:
            self._names_in_use[key] = count + 1
            self._names_in_use[candidate.lower()] = 1
        return candidate

    @contextmanager
    def name_scope(self, name: str | None) -> Iterator[str]:
        """Put a prefix before the names of what is made inside; a name ending in a slash re-enters that scope."""
        before = self._scope
        if not name:
            self._scope = ""
        elif name.endswith("/"):
            self._scope = name[:-1]
        else:
            self._scope = self.unique_name(name)
        try:
            yield f"{self._scope}/" if self._scope else ""
        finally:
            self._scope = before

    def get_name_scope(self) -> str:
        """The current name scope."""
        return self._scope

    def get_operations(self) -> list[Operation]:
        """All operations, in the order in which they were made."""
        return list(self.nodes)  # type: ignore[arg-type]

    def get_operation_by_name(self, name: str) -> Operation:
        """The operation of that name, or a KeyError."""
        try:
            return self._by_name[name]
        except KeyError:
            near = [n for n in self._by_name if n.rpartition("/")[2] == name.rpartition("/")[2]][:3]
            hint = f"; similar names: {', '.join(near)}" if near else ""
            raise KeyError(f"The name {name!r} refers to an Operation not in the graph{hint}.") from None

    def get_tensor_by_name(self, name: str) -> Tensor:
        """The tensor ``"operation:index"``, or an error."""
        operation, colon, index = name.rpartition(":")
        if not colon or not index.isdigit():
            raise ValueError(f"{name!r} is not the name of a tensor, which has the form 'operation:index'")
        outputs = self.get_operation_by_name(operation).outputs
        if int(index) >= len(outputs):
            raise KeyError(f"The name {name!r} refers to a Tensor which does not exist: {operation!r} has {len(outputs)}")
        return outputs[int(index)]  # type: ignore[no-any-return]

    def as_graph_element(self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True) -> Any:
        """The tensor or operation that `obj` (a name, tensor, operation or variable) stands for.

        Raises
        ------
        TypeError
            If it stands for none.
        ValueError
            If it belongs to another graph.
        """
        if isinstance(obj, str):
            return self.get_tensor_by_name(obj) if ":" in obj else self.get_operation_by_name(obj)
        element = obj._as_graph_element() if hasattr(obj, "_as_graph_element") else obj
        if isinstance(element, Tensor) and allow_tensor or isinstance(element, Operation) and allow_operation:
            if element.graph is not self:
                raise ValueError(f"{obj!r} is not an element of this graph.")
            return element
        raise TypeError(f"{obj!r} of type {type(obj).__name__} is not a tensor, operation or name of this graph")

    # ---- context -----------------------------------------------------------------------------------------------------

    @contextmanager
    def as_default(self) -> Iterator[Graph]:
        """Make this the default graph inside the `with` block."""
        _stacks.graphs.append(self)
        try:
            yield self
        finally:
            _stacks.graphs.remove(self)

    @contextmanager
    def control_dependencies(self, control_inputs: Any) -> Iterator[None]:
        """What is made inside runs after all of `control_inputs` (None: after nothing)."""
        before = self._control
        if control_inputs is None:
            self._control = []
        else:
            after = [self.as_graph_element(c) for c in control_inputs]
            self._control = [*before, [e if isinstance(e, Operation) else e.op for e in after]]
        try:
            yield
        finally:
            self._control = before

    def current_control_inputs(self) -> list[Operation]:
        """What an operation made now must wait for."""
        return [op for level in self._control for op in level] if self._control else []

    @contextmanager
    def device(self, device_name_or_function: Any) -> Iterator[None]:
        """Note a device on what is made inside. All computation happens on this machine's CPU nevertheless."""
        before = self.current_device
        self.current_device = device_name_or_function if isinstance(device_name_or_function, str) else ""
        try:
            yield
        finally:
            self.current_device = before

    def gradient_override_map(self, op_type_map: Any) -> Any:
        """Not supported: ops are objects here, not names. Use `custom_gradient`."""
        raise InvalidArgumentError("gradient_override_map is not supported; wrap the function in tf.custom_gradient")

    # ---- collections -------------------------------------------------------------------------------------------------

    def add_to_collection(self, name: str, value: Any) -> None:
        """Append `value` to a collection."""
        self._collections.setdefault(name, []).append(value)

    def add_to_collections(self, names: Any, value: Any) -> None:
        """Append `value` to one or several collections."""
        for name in (names,) if isinstance(names, str) else set(names):
            self.add_to_collection(name, value)

    def get_collection(self, name: str, scope: str | None = None) -> list[Any]:
        """A copy of a collection, of items whose name starts with `scope` (a regular expression) if it is given."""
        items = self._collections.get(name, [])
        if scope is None:
            return list(items)
        pattern = re.compile(scope)
        return [i for i in items if hasattr(i, "name") and pattern.match(i.name)]

    def get_collection_ref(self, name: str) -> list[Any]:
        """The collection itself."""
        return self._collections.setdefault(name, [])

    def clear_collection(self, name: str) -> None:
        """Empty a collection."""
        self._collections.pop(name, None)

    def get_all_collection_keys(self) -> list[str]:
        """The names of all collections."""
        return list(self._collections)

    def trainable_variables(self) -> list[Any]:
        """The variables that optimizers train by default."""
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)


class GraphKeys:
    """Names of the standard collections."""

    GLOBAL_VARIABLES = "variables"
    VARIABLES = "variables"
    LOCAL_VARIABLES = "local_variables"
    MODEL_VARIABLES = "model_variables"
    TRAINABLE_VARIABLES = "trainable_variables"
    REGULARIZATION_LOSSES = "regularization_losses"
    LOSSES = "losses"
    UPDATE_OPS = "update_ops"
    SUMMARIES = "summaries"
    TRAIN_OP = "train_op"
    GLOBAL_STEP = "global_step"
    WEIGHTS = "weights"
    BIASES = "biases"
    ACTIVATIONS = "activations"
    MOVING_AVERAGE_VARIABLES = "moving_average_variables"


_PLAIN_NAMES = {
    "AddV2": "Add", "ConcatV2": "concat", "GatherV2": "GatherV2", "Pack": "stack", "SelectV2": "SelectV2",
    "Split": "split", "SplitV": "split", "Unpack": "unstack", "RealDiv": "truediv", "Range": "range", "OneHot": "one_hot",
}  # fmt: skip


def _default_name(op: Op) -> str:
    """TensorFlow's default name of an operation."""
    return _PLAIN_NAMES.get(op.type, op.type)


_root: list[Graph] = []


def get_default_graph() -> Graph:
    """The graph that new operations go to."""
    if _stacks.graphs:
        return _stacks.graphs[-1]
    if not _root:
        _root.append(Graph())
    return _root[0]


def control_dependencies(control_inputs: Any) -> AbstractContextManager[None]:
    """What is made in the default graph inside the `with` block runs after all of `control_inputs`."""
    return get_default_graph().control_dependencies(control_inputs)


def device(device_name_or_function: Any) -> AbstractContextManager[None]:
    """Note a device on what is made inside. All computation happens on this machine's CPU nevertheless."""
    return get_default_graph().device(device_name_or_function)


def add_to_collection(name: str, value: Any) -> None:
    """Append `value` to a collection of the default graph."""
    get_default_graph().add_to_collection(name, value)


def add_to_collections(names: Any, value: Any) -> None:
    """Append `value` to one or several collections of the default graph."""
    get_default_graph().add_to_collections(names, value)


def get_collection(key: str, scope: str | None = None) -> list[Any]:
    """A copy of a collection of the default graph."""
    return get_default_graph().get_collection(key, scope)


def get_collection_ref(key: str) -> list[Any]:
    """A collection of the default graph itself."""
    return get_default_graph().get_collection_ref(key)


def reset_default_graph() -> None:
    """Replace the global default graph by an empty one.

    Raises
    ------
    AssertionError
        Inside a `with graph.as_default()` block.
    """
    if _stacks.graphs:
        raise AssertionError("Do not use tf.reset_default_graph() to clear nested graphs.")
    _root[:] = [Graph()]

