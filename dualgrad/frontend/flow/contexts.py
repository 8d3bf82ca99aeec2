"""Which function of control flow an operation belongs to, and who may use it.

The functions that users give to `cond`, `while_loop`, `map_fn` and so on add their operations to the graph, from which
they are copied into a closed function (`dualgrad.frontend.flow.closures`). Those left in the graph have no value: a
branch that is not taken has none, an iteration has another one each time. So each operation knows the function that
made it, its `Context`, and only operations of that function and of those inside it may use it. A constant, a
placeholder, and what is made while `Contexts.lifted` (variables, with their initial values) belong to no function.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from dualgrad.frontend.flow.places import user_line
from engine.core.aval import Aval
from engine.core.dtypes import int64
from engine.core.op import Node
from engine.core.tape import active
from engine.core.trace import Symbol, Trace, constant, needed_nodes, placeholder
from engine.core.variable import variable_handle
from engine.derivatives.reverse import live_path
from engine.ops.indexing import getitem_op
from engine.runtime.errors import InvalidArgumentError, UnimplementedError

_EVERYWHERE = (constant, placeholder, variable_handle)
"""Ops whose results have a value wherever they are made."""
_ROW: dict[str, Any] = {"spec": ("operand",)}
"""``whole[index]``."""
_RETURN_IT = "Let the function return it, and use what the call returns in its place"
WAIT_INSIDE = (
    f"{_RETURN_IT}; or let what the function returns wait for it, inside: "
    f"`with tf.control_dependencies([update]): return tf.identity(y)`"
)
"""Advice for an update that something outside should wait for, one in UPDATE_OPS say."""


@contextmanager
def apart() -> Iterator[None]:
    """Inside, operations are not added to the trace of a function that is called with symbols."""
    before = active.tapes, active.instead, active.region
    try:
        if active.region is not None:
            active.tapes, active.instead, active.region = (), None, None
        yield
    finally:
        active.tapes, active.instead, active.region = before


class Context:
    """A function that is called by control flow, as long as its operations are made and after.

    Parameters
    ----------
    outer : Context or None
        What is around it.
    title : str
        What it is, for messages: ``"the function `true_fn` of cond"``.
    when : str
        When its operations have a value: ``"if that branch is taken"``.

    Attributes
    ----------
    rows : list of (parameter, tensor)
        The parameters that are one row of a tensor after the other.
    carried : list of (parameter, tensor)
        The parameters that an iteration hands to the next, and what they start with (None: nothing that is known).
    index : Tensor or None
        The number of the row, once it is asked for.
    """

    __slots__ = ("carried", "index", "outer", "rows", "title", "when")

    def __init__(self, outer: Context | None, title: str, when: str) -> None:
        self.outer, self.title, self.when = outer, title, when
        self.rows: list[tuple[Any, Any]] = []
        self.carried: list[tuple[Any, Any]] = []
        self.index: Any = None

    def holds(self, node: Any) -> bool:
        """Whether a node was made by this function, or by one inside it."""
        return self in _outwards(node.context)


class Contexts(Trace):
    """A trace to which functions of control flow add operations.

    Attributes
    ----------
    context : Context or None
        The function that is running now.
    """

    nodes: list[Any]

    def __init__(self) -> None:
        super().__init__()
        self.context: Context | None = None
        self._has_contexts = False

    # ---- where operations belong -------------------------------------------------------------------------------------

    def new_context(self, title: str, when: str) -> Context:
        """The context of a function that is about to be called here."""
        self._has_contexts = True
        return Context(self.context, title, when)

    @contextmanager
    def within(self, context: Context | None) -> Iterator[None]:
        """Have whatever is made inside belong to `context`."""
        before, self.context = self.context, context
        try:
            yield
        finally:
            self.context = before

    @contextmanager
    def lifted(self) -> Iterator[None]:
        """Have whatever is made inside belong to no function and wait for nothing."""
        with self.control_dependencies(None), self.within(None):
            yield

    def control_dependencies(self, control_inputs: Any) -> Any:
        """Have whatever is made inside run after all of `control_inputs`."""
        raise NotImplementedError

    def tracked_as(self, handle: Any) -> Any:
        """The value by which tapes know the variable of a handle."""
        return handle

    def rule_context(self, node: Any) -> AbstractContextManager[None]:
        """Where the rule of a custom gradient is called to be closed: inside the function that `node` is in."""
        self._has_contexts = True
        title = "a gradient function of custom_gradient"
        return self.within(Context(node.outputs[0].node.context, title, "for the cotangents that it is called with"))

    def belongs(self, operation: Any) -> Context | None:
        """The context of an operation that is made now."""
        if operation.op in _EVERYWHERE and (operation.op is not constant or not operation.control_inputs):
            return None
        return self.context

    def inside(self, nodes: Sequence[Any]) -> list[Any]:
        """Those among `nodes` that belong to functions called here."""
        around = {None, *_outwards(self.context)}
        return [node for node in nodes if node.context not in around]

    # ---- who may use them --------------------------------------------------------------------------------------------

    def require_in_reach(self, user: str, values: Sequence[Any], instead: str = _RETURN_IT) -> None:
        """Raise if one of `values`, tensors or operations, was made in a function that is not running now.

        Parameters
        ----------
        user : str
            What uses them, for the message.
        values : sequence
        instead : str
            What to do.
        """
        if not self._has_contexts:
            return
        here = self.context
        for x in values:
            node: Any = x.node if isinstance(x, Symbol) else x
            context = getattr(node, "context", None)
            if context is not None and context is not here and context not in _outwards(here):
                raise InvalidArgumentError(
                    f"{user}: {node.name!r}, made at {_place(node.where)} in {context.title}, cannot be used at "
                    f"{_place(user_line(1))}, outside of that function: it has a value only {context.when}. {instead}"
                )

    def require_feedable(self, fed: Sequence[Any]) -> None:
        """Raise if one of the tensors fed is computed by a function, in each of its calls."""
        for x in fed:
            if x.node.context is not None:
                raise InvalidArgumentError(
                    f"Session.run: {x.name!r}, made at {_place(x.node.where)} in {x.node.context.title}, cannot be "
                    f"fed: each call of the function computes it. Feed what the function takes from outside"
                )

    def needed(self, wanted: Sequence[Any], fed: set[int]) -> list[Node]:
        """The nodes that a run of `wanted`, tensors and operations, needs."""
        with self.within(None):
            self.require_in_reach("Session.run", wanted)
        return needed_nodes(self.nodes, wanted, fed, lambda node: node.control_inputs)

    # ---- derivatives through parameters ------------------------------------------------------------------------------

    def parameter(self, aval: Aval, name: str) -> Any:
        """A placeholder for what the function that is running is called with."""
        made = self.placeholder(aval, name=name)
        made.node.context = self.context
        return made

    def path_nodes(self, targets: Sequence[Any], sources: Sequence[Any], stop: Sequence[Any] = ()) -> list[Any]:
        """The nodes that targets are computed from, also through the elements of the loops that this happens in.

        An element is a row of what the loop goes through: if that depends on a source, it is given as one. What a loop
        carries counts as given, as in TensorFlow.

        Raises
        ------
        UnimplementedError
            If what a loop carries starts with something that depends on a source: its derivative is known only where
            the loop ends.
        """
        around = [c for c in _outwards(self.context) if c.rows or c.carried]
        if not around:
            return needed_nodes(self.nodes, targets)
        behind = {id(p.node): (c, x) for c in around for p, x in (*c.rows, *c.carried) if x is not None}
        carried = [p for c in around for p, _ in c.carried]
        nodes = needed_nodes(self.nodes, targets, extra=lambda n: [behind[id(n)][1].node] if id(n) in behind else [])
        stopped = {id(x) for x in stop}
        linked = [Node(getitem_op, (behind[id(n)][1],), _ROW, n.outputs) if id(n) in behind else n for n in nodes]
        live = live_path(linked, {id(x) for x in sources}, stopped)[1]
        own = {id(x) for x in sources}
        for p in carried:
            if id(p) in live - own and not {id(y) for y in targets}.isdisjoint(live_path(nodes, {id(p)}, stopped)[1]):
                raise _carries_it(p, sources)
        rows = {id(p.node) for c in around for p, x in c.rows if id(x) in live}
        return [self._row(n, *behind[id(n)]) if id(n) in rows else n for n in nodes]

    def _row(self, element: Any, context: Context, whole: Any) -> Node:
        """An element as a row of something."""
        if context.index is None:
            with self.within(context):
                context.index = self.parameter(Aval((), int64), "index")
        return Node(getitem_op, (whole, context.index), _ROW, element.outputs)


def _carries_it(parameter: Any, sources: Sequence[Any]) -> UnimplementedError:
    names = ", ".join(repr(s.name) for s in sources)
    return UnimplementedError(
        f"gradients: in {parameter.node.context.title}, at {_place(user_line(1))}, the derivative with respect to "
        f"{names} leads through {parameter.name!r}, which iterations hand on, and which starts with a value that "
        f"depends on it: its derivative is not known there. Differentiate what the loop returns; or, for the "
        f"derivative at a given value of it, pass it through tf.stop_gradient, or name it in `stop_gradients`"
    )


def _outwards(context: Context | None) -> Iterator[Context]:
    """A context and those around it."""
    while context is not None:
        yield context
        context = context.outer


def _place(where: tuple[str, int]) -> str:
    return f"{where[0]}:{where[1]}"
