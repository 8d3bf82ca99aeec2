"""Graphs: named traces, with scopes, collections and control dependencies."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from dualgrad.frontend import seeds
from dualgrad.frontend.flow.contexts import WAIT_INSIDE, Contexts
from dualgrad.frontend.flow.places import user_line
from dualgrad.frontend.namespace import lazily
from dualgrad.frontend.overrides import apply_overridden, checked_map
from engine.core.aval import Aval
from engine.core.kinds import nondifferentiable
from engine.core.op import Node, Op
from engine.core.operands import Results
from engine.core.trace import Symbol, Trace, computed_from, placeholder
from engine.core.value import NotCopied, Value
from engine.core.variable import Variable as EngineVariable
from engine.core.variable import assign_variable, read_variable
from engine.runtime.errors import InvalidArgumentError
from engine.runtime.faces import Shown
from graph_api.graphs.defaults import session_for, stacks
from graph_api.graphs.graph_keys import GraphKeys
from graph_api.graphs.node_names import PLAIN_NAMES, check_name
from graph_api.graphs.tensor import Operation, Tensor
from graph_api.lazy_names import EXTENSIONS as EXTENDED

if TYPE_CHECKING:
    from dualgrad.files.graph_protos import GraphDef

no_op = nondifferentiable(
    "no_op",
    lambda *_: (),
    abstract=lambda *_: (),
    batch=lambda op, size, flags, inputs, params: (),
    args=(),
    multi=True,
    doc="Does nothing; its control inputs run before it.",
)


_LOOKS_ONLY = {
    *("IteratorToStringHandle", "MergeSummary", "Placeholder", "PlaceholderWithDefault", "PyFuncStateless"),
    *("QueueIsClosedV2", "QueueSizeV2", "Summary", "VarHandleOp", "VarIsInitializedOp"),
}
"""Types of operations that are stateful, and do no more than to give their outputs."""

EXTENSIONS: dict[str, Callable[..., Any]] = {name: lazily(where) for name, where in EXTENDED.items()}
"""Functions that files add to graphs and savers, which do not know them."""


class Graph(Shown, NotCopied, Contexts):
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
        self.seeds_given = 0  # to operations without a seed of their own
        self.current_device = ""
        self.colocating = False  # whether gradients are noted to be where what they are of is
        self._placers: list[Callable[[Operation], Any]] = []  # functions that say where an operation belongs
        self.kept_out: defaultdict[str, set[int]] = defaultdict(set)  # what may not be "fetched", or "fed"
        self._by_name: dict[str, Operation] = {}
        self._names_in_use: dict[str, int] = {}
        self._scope = ""
        self.made_at: tuple[str, int] | None = None  # where in the program operations are made now, if that is known
        self.lines: dict[tuple[str, int], tuple[str, int]] = {}  # what a line makes shares one tuple
        self._collections: dict[str, list[Any]] = {}
        self._control: list[list[Operation]] = []
        self._finalized = False
        # moved on by control flow that may have assigned to variables: reads made before are out of date then
        self.flow_assignments = 0
        self.variable_store: dict[str, Any] = {}
        self.scope_counts: dict[str, int] = {}  # how often each variable scope has been opened
        self._overrides: dict[str, str] = {}
        self._relied: list[tuple[list[Any], list[Any]]] = []
        # inside a `function`: of each context and variable (None: all else) what used it last
        self._last: dict[Any, Operation] | None = None

    # ---- nodes -------------------------------------------------------------------------------------------------------

    def make_node(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any], name: str | None = None) -> Node:
        """A named operation."""
        if self._finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")
        if name:
            check_name("node", name, within=self._scope)
        self.require_in_reach(op.type, inputs)
        operation = Operation(self, op, inputs, params, self.unique_name(name or PLAIN_NAMES.get(op.type, op.type)))
        self._by_name[operation.name] = operation
        if self._last is not None:
            self._put_in_order(operation, self._last)
        for place in self._placers:
            operation.device = merged(operation.device, place(operation) or "")
        return operation

    def _put_in_order(self, operation: Operation, last: dict[Any, Operation]) -> None:
        """Have an operation with effects, or that reads a variable, wait for what used the same before."""
        op = operation.op
        if op is not read_variable and not has_effect(operation):
            return
        on_variable = op is assign_variable or op is read_variable
        key = operation.context, id(operation.inputs[0]) if on_variable else None
        if key in last and last[key] not in operation.control_inputs:
            operation.control_inputs = [*operation.control_inputs, last[key]]
        if op is not read_variable or key not in last:
            last[key] = operation

    @contextmanager
    def in_order(self) -> Iterator[list[Operation]]:
        """Have effects inside happen in the order in which they are written; gives a list, in the end that of them."""
        first, before = len(self.nodes), self._last
        effects: list[Operation] = []
        self._last = {} if before is None else before
        try:
            yield effects
        finally:
            self._last = before
        effects += self.effects(first)

    def effects(self, first: int) -> list[Operation]:
        """The operations with effects that the function which runs now has made from number `first` on."""
        return [n for n in self.nodes[first:] if n.context is self.context and has_effect(n)]

    @property
    def keeps_order(self) -> bool:
        """Whether a `function` is being called, in which nothing has to be asked for to happen."""
        return self._last is not None

    def make_symbol(self, node: Node, index: int, aval: Aval) -> Tensor:
        """A graph tensor."""
        return Tensor(self, node, index, aval)

    def capture(self, x: Any, dtype: Any = None, name: str = "value") -> Symbol:
        """A constant; it waits for nothing, whatever the control dependencies around it."""
        before, self._control = self._control, []
        try:
            return super().capture(x, dtype, name)
        finally:
            self._control = before

    def rely(self, on: Sequence[Any], results: Sequence[Any]) -> None:
        """Note that `results` are right only for the contents that the values `on` are known to have."""
        if on:
            self._relied.append((list(on), [r for r in results if isinstance(r, Symbol)]))

    def is_feedable(self, tensor: Tensor) -> bool:
        """Whether a run may be given a value for a tensor: not for what each call of a function computes."""
        return tensor.graph is self and tensor.node.context is None and id(tensor) not in self.kept_out["fed"]

    def is_fetchable(self, tensor_or_op: Any) -> bool:
        """Whether a run may be asked for something: not for what each call of a function computes."""
        node = tensor_or_op.node if isinstance(tensor_or_op, Tensor) else tensor_or_op
        return node.graph is self and node.context is None and id(node) not in self.kept_out["fetched"]

    def prevent_feeding(self, tensor: Tensor) -> None:
        """Have runs refuse a value for a tensor."""
        self.kept_out["fed"].add(id(tensor))

    def prevent_fetching(self, op: Operation) -> None:
        """Have runs refuse to fetch an operation, and its outputs."""
        self.kept_out["fetched"].add(id(op))

    def require_allowed(self, fetched: Sequence[Any], fed: Sequence[Any]) -> None:
        """Raise ValueError if something may not be fetched, or not be fed."""
        for x in fetched:
            if id(x.node if isinstance(x, Tensor) else x) in self.kept_out["fetched"]:
                raise ValueError(f"{x!r} may not be fetched: it has been marked as not fetchable")
        for x in fed:
            if id(x) in self.kept_out["fed"]:
                raise ValueError(f"Tensor {x!r} may not be fed: it has been marked as not feedable")

    def check_fed(self, fed: Sequence[Any], nodes: Sequence[Node]) -> None:
        """Raise if a value is fed in place of a constant on whose contents something computed by `nodes` relies."""
        self.require_feedable(fed)
        fixed = {id(t): t for t in fed if t.node.op is not placeholder}
        needed = {id(node) for node in nodes} if fixed else set()
        for on, results in self._relied if fixed else ():
            left = list(on) if any(id(r.node) in needed for r in results) else []
            seen = set()
            while left:
                x = left.pop()
                if id(x) in fixed:
                    raise InvalidArgumentError(
                        f"Session.run: the constant {x!r} cannot be fed here: a Jacobian was planned for its contents. "
                        f"Make it a placeholder_with_default"
                    )
                if id(x) not in seen:
                    seen.add(id(x))
                    left += (computed_from(x) or {}).values()

    def rename(self, operation: Operation, name: str) -> None:
        """Give an operation made just now another name, which must be free; the old one is free again."""
        del self._by_name[operation.name]
        operation.name = name
        self._by_name[name] = operation

    def operator(self, function: Callable[..., Any], operands: tuple[Any, ...], name: str) -> Results:
        """Apply a Python operator; its operation is named after the operator (``mul``), not the op (``Mul``)."""
        operands = tuple([x.read_value() if isinstance(x, EngineVariable) else x for x in operands])
        if isinstance(function, Op) and not any(isinstance(x, Value) and x.level > Symbol.level for x in operands):
            return self.apply(function, operands, {}, name=name)
        return function(*operands)

    def visited(self, nodes: Iterable[Node]) -> Iterator[Node]:
        """The nodes; what their rules make is named after them (``gradients/y_grad/Mul``), and knows them."""
        line = user_line(1)
        for node in nodes:
            before, scope, at = len(self.nodes), self._scope, self.made_at
            self._scope = self.unique_name(f"{getattr(node, 'name', node.op.type)}_grad")
            # a rule of the user's own has lines of its own
            self.made_at = line if node.op.module.startswith("engine.ops.") else None
            try:
                yield node
            finally:
                self._scope, self.made_at = scope, at
            for made in self.nodes[before:]:
                made.made_for(node, self.colocating)

    def group(self, operations: Sequence[Any], name: str | None = None) -> Operation:
        """An operation that runs all the given ones."""
        with self.control_dependencies([*operations]):
            return self.apply_for_effect(no_op, (), {}, name or "group_deps")

    def apply(self, op: Op, inputs: Sequence[Any], params: dict[str, Any], name: str | None = None) -> Any:
        """Append a node that applies `op`, with a gradient of the user's own if there is one; return its output."""
        gradient = self._overrides.get(op.type) if self._overrides else None
        if gradient is None:
            return Trace.apply(self, op, inputs, params, name)
        overrides, self._overrides = self._overrides, {}
        try:
            made = partial(super().apply, op, params=params, name=name)
            result = apply_overridden(lambda *x: made(x), self.operands(op, inputs), gradient)
            self._stand_for(result, op, gradient)
            return result
        finally:
            self._overrides = overrides

    def _stand_for(self, result: Any, op: Op, gradient: str) -> None:
        """Give what an op with a gradient of the user's own gives its name and type; it stands for the op."""
        outer = (result[0] if op.multi else result).op
        inner = outer.inputs[-1].op
        name = inner.name
        self.rename(inner, f"{name}/{inner.type}")
        self.rename(outer, name)
        outer.overridden = inner.type, gradient

    def apply_for_effect(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any], name: str) -> Operation:
        """Apply an op whose outputs do not matter; return the operation."""
        self.apply(op, inputs, params, name=name)
        operation = self.nodes[-1]
        assert isinstance(operation, Operation)
        return operation

    @contextmanager
    def unchanged_by_errors(self) -> Iterator[None]:
        """Forget all that is made inside if that ends with an error."""
        count, names, used = len(self.nodes), dict(self._by_name), dict(self._names_in_use)
        kept = {name: list(items) for name, items in self._collections.items()}
        captured, store = dict(self._captured), dict(self.variable_store)
        try:
            yield
        except BaseException:
            del self.nodes[count:]
            self._by_name, self._names_in_use, self._captured, self.variable_store = names, used, captured, store
            for name in [*self._collections]:
                self._collections[name][:] = kept.get(name, [])
            raise

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
        while (candidate := f"{key}_{count}") in self._names_in_use:
            count += 1
        if mark_as_used:
            self._names_in_use[key] = count + 1
            self._names_in_use[candidate] = 1
        return f"{full}_{count}"

    @contextmanager
    def name_scope(self, name: str | None) -> Iterator[str]:
        """Put a prefix before the names of what is made inside; a name ending in a slash re-enters that scope."""
        before = self._scope
        if not name:
            self._scope = ""
        elif isinstance(name, str) and name.endswith("/"):
            self._scope = name[:-1]
        else:
            check_name("scope", name, within=self._scope)
            self._scope = self.unique_name(name)
        try:
            yield f"{self._scope}/" if self._scope else ""
        finally:
            self._scope = before

    def get_name_scope(self) -> str:
        """The current name scope."""
        return self._scope

    def get_operations(self) -> list[Operation]:
        """All operations, in the order in which they were made; not those that others stand for (`_stand_for`)."""
        operations = [node for node in self.nodes if isinstance(node, Operation)]
        inner = {node.inputs[-1].op for node in operations if node.overridden}
        return [node for node in operations if node not in inner]

    def get_operation_by_name(self, name: str) -> Operation:
        """The operation of that name, or a KeyError."""
        if not isinstance(name, str):
            raise TypeError(f"Operation names are strings (or similar), not {type(name).__name__}.")
        try:
            return self._by_name[name]
        except KeyError:
            raise KeyError(f"The name {name!r} refers to an Operation not in the graph{self._near(name)}.") from None

    def _near(self, name: str) -> str:
        """The names like one that is not there, for messages."""
        near = [n for n in self._by_name if n.rpartition("/")[2] == name.rpartition("/")[2]][:3]
        return f"; similar names: {', '.join(near)}" if near else ""

    def get_tensor_by_name(self, name: str) -> Tensor:
        """The tensor ``"operation:index"``, or an error."""
        if not isinstance(name, str):
            raise TypeError(
                f"get_tensor_by_name: Tensor names are strings: argument `name` must be a string, got {name!r}"
            )
        operation, colon, index = name.rpartition(":")
        if not colon or not index.isdigit():
            raise ValueError(f"Tensor names must be of the form '<op_name>:<output_index>', got {name!r}")
        outputs = self._by_name[operation].outputs if operation in self._by_name else ()
        if int(index) >= len(outputs):
            has = (
                f"has {len(outputs)} outputs"
                if operation in self._by_name
                else f"is not in the graph{self._near(operation)}"
            )
            raise KeyError(f"The name {name!r} refers to a Tensor which does not exist: {operation!r} {has}")
        return outputs[int(index)]

    def as_graph_element(self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True) -> Any:
        """The tensor or operation that `obj` (a name, tensor, operation or variable) stands for.

        Raises
        ------
        TypeError
            If it stands for none.
        ValueError
            If it belongs to another graph, or is of the kind that is not allowed.
        """
        if isinstance(obj, str):
            found = self.get_tensor_by_name(obj) if ":" in obj else self.get_operation_by_name(obj)
            if isinstance(found, Tensor) and not allow_tensor:
                raise ValueError(f"Name {obj!r} appears to refer to a Tensor, not a Operation.")
            if isinstance(found, Operation) and not allow_operation:
                raise ValueError(
                    f"The name {obj!r} refers to an Operation, not a Tensor. Tensor names must be of the form "
                    f'"<op_name>:<output_index>".'
                )
            return found
        element = obj._as_graph_element() if hasattr(obj, "_as_graph_element") else obj
        if (isinstance(element, Tensor) and allow_tensor) or (isinstance(element, Operation) and allow_operation):
            if element.graph is not self:
                raise ValueError(f"{obj!r} is not an element of this graph.")
            return element
        raise TypeError(f"{obj!r} of type {type(obj).__name__} is not a tensor, operation or name of this graph")

    def as_graph_def(self, from_version: int | None = None, add_shapes: bool = False) -> GraphDef:
        """The graph as a message, as TensorFlow writes it: for `import_graph_def`, here or there, and for TensorBoard.

        Operations that TensorFlow has not (some that gradients are made of, Python functions) have types of ours,
        ``Dualgrad>...``, which only dualgrad reads.

        Parameters
        ----------
        from_version : int, optional
            Only what was made after the graph's `version` was this.
        add_shapes : bool
            Whether to add the shapes of all outputs.
        """
        return EXTENSIONS["graph_def"](self, from_version or 0, add_shapes)

    def dot(self) -> str:
        """A picture in Graphviz's language: scopes are clusters, gradients are blue."""
        from engine.explain.picture import dot, picture_of

        return dot(picture_of(self.nodes))

    def svg(self) -> str:
        """A picture: scopes, gradients and an optimizer's step are one box each. `dot` shows each operation.

        Raises
        ------
        InvalidArgumentError
            If there are too many boxes all the same.
        """
        from engine.explain.folding import folded
        from engine.explain.picture import svg

        return svg(folded(self.nodes))

    def _facts_(self) -> dict[str, Any]:
        return {"operations": len(self.nodes), "variables": len(self.get_collection_ref(GraphKeys.GLOBAL_VARIABLES))}

    def _picture_(self) -> str:
        try:
            return self.svg()
        except InvalidArgumentError:
            return "<p>Too large to be drawn here: give <code>graph.dot()</code> to Graphviz.</p>"

    @property
    def version(self) -> int:
        """The number of operations made so far."""
        return len(self.nodes)

    # ---- context -----------------------------------------------------------------------------------------------------

    @contextmanager
    def as_default(self) -> Iterator[Graph]:
        """Make this the default graph inside the `with` block."""
        stacks.graphs.append(self)
        try:
            yield self
        finally:
            stacks.graphs.remove(self)

    @contextmanager
    def control_dependencies(self, control_inputs: Any) -> Iterator[None]:
        """Have whatever is made inside run after all of `control_inputs` (None: after nothing)."""
        before = self._control
        if control_inputs is None:
            self._control = []
        else:
            after = [self.as_graph_element(c) for c in control_inputs]
            self.require_in_reach("control_dependencies", after, WAIT_INSIDE)
            self._control = [*before, [e if isinstance(e, Operation) else e.op for e in after]]
        try:
            yield
        finally:
            self._control = before

    def current_control_inputs(self) -> list[Operation]:
        """The operations that one made now must wait for."""
        return [op for level in self._control for op in level] if self._control else []

    @contextmanager
    def device(self, device_name_or_function: Any) -> Iterator[None]:
        """Note a device on what is made inside. All computation happens on this machine's CPU nevertheless.

        Parameters
        ----------
        device_name_or_function : str, callable or None
            What it does not say (``"/job:a/task:1"`` no device, say) stays as it is outside. A function is asked
            for each operation. None forgets what was said outside.
        """
        before, placers = self.current_device, self._placers
        if callable(device_name_or_function):
            self._placers = [*placers, device_name_or_function]
        else:
            self.current_device = merged(before, device_name_or_function)
            self._placers = [] if device_name_or_function is None else placers
        try:
            yield
        finally:
            self.current_device, self._placers = before, placers

    @contextmanager
    def gradient_override_map(self, op_type_map: dict[str, str]) -> Iterator[None]:
        """Give ops of some types, where they are made inside, the gradients registered under some names.

        Parameters
        ----------
        op_type_map : dict
            An op's type (``"Relu"``) to the name of a `RegisterGradient`.
        """
        before = self._overrides
        self._overrides = {**before, **checked_map(op_type_map)}
        try:
            yield
        finally:
            self._overrides = before

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

    @property
    def collections(self) -> list[str]:
        """The names of all collections."""
        return self.get_all_collection_keys()

    def get_all_collection_keys(self) -> list[str]:
        """The names of all collections, but for those of the front end's own, which are no strings."""
        return [name for name in self._collections if isinstance(name, str)]

    def trainable_variables(self) -> list[Any]:
        """The variables that optimizers train by default."""
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)

    @property
    def is_current(self) -> bool:
        """Whether it is the default graph."""
        return get_default_graph() is self

    def global_variables(self) -> list[Any]:
        """The variables that a `Saver` saves by default."""
        return self.get_collection(GraphKeys.GLOBAL_VARIABLES)

    def note_step(self, operation: Any) -> None:
        """Add the operation that makes a step to the collection TRAIN_OP."""
        if operation not in self.get_collection_ref(GraphKeys.TRAIN_OP):
            self.add_to_collection(GraphKeys.TRAIN_OP, operation)

    def count_up_to(self, variable: Any, limit: int) -> Any:
        """`count_up_to` of a variable."""
        return EXTENSIONS["count_up_to"](variable, limit)

    def saver(self, variables: Any, **options: Any) -> Any:
        """A `train.Saver` of some variables."""
        return EXTENSIONS["saver"](variables, **options)

    def session_for(self, session: Any, purpose: str) -> Any:
        """The session given, or the default one, which must run this graph."""
        return session_for(self, session, purpose)


def merged(outer: str, inner: str | None) -> str:
    """A device's name, of which `inner` says a part and `outer` the rest (None: nothing is said).

    Examples
    --------
    >>> merged("/job:a/task:1", "/gpu:2"), merged("/gpu:0", "/cpu:0")
    ('/job:a/task:1/device:GPU:2', '/device:CPU:0')
    """
    said: dict[str, str] = {}
    for part in "" if inner is None else f"{outer}/{inner}".split("/"):
        kind, _, value = part.partition(":")
        if kind.lower() in ("cpu", "gpu"):
            kind, value = "device", f"{kind.upper()}:{value}"
        if part and kind not in ("job", "replica", "task", "device"):
            raise InvalidArgumentError(
                f"Unknown attribute {part!r} is encountered while parsing the device spec: {inner!r}."
            )
        if value and value != "*":
            said[kind] = value
    order = [*(k for k in ("job", "replica", "task", "device") if k in said)]
    return "".join(f"/{kind}:{said[kind]}" for kind in order)


def has_effect(operation: Node) -> bool:
    """Whether running an operation does more than to give its outputs."""
    return operation.op.stateful and operation.op.type not in _LOOKS_ONLY


def get_default_graph() -> Graph:
    """The graph that new operations go to. Each thread has a default graph of its own."""
    if stacks.graphs:
        return stacks.graphs[-1]
    if stacks.root is None:
        stacks.root = Graph()
    return stacks.root


def control_dependencies(control_inputs: Any) -> AbstractContextManager[None]:
    """Have whatever is made in the default graph inside the `with` block run after all of `control_inputs`."""
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
    """Replace the thread's default graph by an empty one.

    Raises
    ------
    AssertionError
        Inside a `with graph.as_default()` block.
    """
    if stacks.graphs:
        raise AssertionError("Do not use tf.reset_default_graph() to clear nested graphs.")
    stacks.root = Graph()


seeds.SET.append(lambda: get_default_graph().seed)
