"""From Python functions that add operations to a trace to closed functions: what all control flow rests on.

The user's functions run once, while the graph is built, and add their operations to it as any code does. The operations
that their results need are then copied into a closed function (`engine.closed.capture.Region`), which one
control-flow operation runs as often as it turns out; those in the graph are never run. What a function takes from the
graph around it becomes an operand. So do the variables it reads; one that it assigns to becomes a result too, and is
assigned after the control-flow operation, on which the results wait. Random operations, whose counters are variables,
need nothing more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import Any

import numpy as np

from dualgrad.frontend.flow.contexts import Contexts
from dualgrad.frontend.flow.host import FlowHost
from engine.closed.capture import Region
from engine.closed.function import ClosedFunction
from engine.core import nest
from engine.core.aval import Shape, compatible, format_shape
from engine.core.nest import Structure
from engine.core.op import Node, Op
from engine.core.tape import active
from engine.core.value import address
from engine.core.variable import assign_variable, read_variable
from engine.ops import shape
from engine.ops.checked import checked_op
from engine.runtime.errors import ShapeError


class Call:
    """The result of a call of one of the user's functions: its structure, tensors and effects.

    `first` is the number of operations before, if the function has been called already.
    """

    def __init__(
        self,
        host: FlowHost,
        name: str,
        function: Callable[..., Any],
        arguments: Sequence[Any] = (),
        first: int | None = None,
    ) -> None:
        if not callable(function):
            raise TypeError(f"{name} must be callable, got {function!r}")
        trace = host.trace()
        first = len(trace.nodes) if first is None else first
        self.structure = function(*arguments)
        if self.structure is None and not host.allows_none:
            raise ValueError(
                f"{name} must have a return value, got None; if that is a gradient, tf.explain(y, x) says why"
            )
        self.leaves = nest.flatten(self.structure)
        # nothing stays nothing
        self.valued = [i for i, x in enumerate(self.leaves) if x is not None]
        self.tensors = [as_tensor(host, self.leaves[i]) for i in self.valued]
        self.effects: list[Node] = host.effects(trace, first, self.leaves)
        trace.require_in_reach(f"{name} returns", [*self.effects, *self.tensors])

    def packed(self, host: FlowHost, tensors: Sequence[Any]) -> Structure[Any]:
        """The structure of other tensors."""
        made: list[Any] = [None] * len(self.leaves)
        for i, t in zip(self.valued, tensors, strict=True):
            made[i] = holding(host, self.leaves[i], t)
        return nest.pack_sequence_as(self.structure, made)


def refused(error: Exception) -> Exception:
    """Mark an error as one of the user's, whatever values there are: no other way to run the program avoids it."""
    error.is_refused = True  # type: ignore[attr-defined]
    return error


def as_tensor(host: FlowHost, leaf: Any) -> Any:
    """A leaf of a structure as the tensor that stands for it; True for an operation, which is run for its effect."""
    if host.is_operation(leaf):
        return host.convert(True)
    array = host.array(leaf)
    return host.convert(leaf if array is None else array.buffer)


def holding(host: FlowHost, leaf: Any, tensor: Any) -> Any:
    """The leaf with a tensor for its value: an array holds it, all else is the tensor."""
    array = host.array(leaf)
    return tensor if array is None else array.holding(tensor)


def packed(host: FlowHost, structure: Any, leaves: Sequence[Any], tensors: Sequence[Any]) -> Structure[Any]:
    """A structure of tensors like the one of `leaves`."""
    return nest.pack_sequence_as(structure, [holding(host, x, t) for x, t in zip(leaves, tensors, strict=True)])


def kept_apart(values: Sequence[Any], others: Sequence[Any]) -> list[Any]:
    """The values, each one's cotangent to be added up by itself, also if it occurs twice or among `others`.

    So a tape adds them up: `tape_api.functions.own_values` does the same.
    """
    every = [id(x) for x in (*values, *others)]
    # a variable may be captured as well
    shared = [every.count(id(x)) > 1 or x.node.op is read_variable for x in values]
    return [shape.identity(x) if s and x.dtype.is_differentiable else x for x, s in zip(values, shared, strict=True)]


def where(node: Any) -> str:
    """Where in the user's program a node was made, for error messages."""
    at = getattr(node, "where", None)
    return f" [[operation {node.name!r}, made at {at[0]}:{at[1]}]]" if at else ""


def _is_current(graph: Contexts, read: Any) -> bool:
    """Whether what was read from a variable is what it holds now, on all tapes as well."""
    (handle,) = read.node.inputs
    watched = address(graph.tracked_as(handle))
    if any(watched in t.tracked and address(read) not in t.tracked for t in active.tapes):
        return False
    later = takewhile(lambda node: node is not read.node, reversed(graph.nodes))
    return not any(node.op is assign_variable and node.inputs[0] is handle for node in later)


class Closure:
    """Functions that have added their operations to a graph, about to be replaced by one operation.

    Parameters
    ----------
    first : int
        The graph's number of operations before.
    bound : sequence of Symbol
        Placeholders that the functions had for arguments.
    calls : sequence of (tensors, effects)
        What each of them returned.

    Attributes
    ----------
    captured : list of Symbol
        What they take from the graph.
    assigned : list of Symbol
        Handles of the variables they assign to.
    read : list of Symbol
        Handles of those they use besides.
    known : dict
        ``id(handle) -> tensor`` of those whose value is among `captured` already. So each enters once, and what comes
        from its uses is added up use by use, as on a tape.
    """

    def __init__(
        self, graph: Any, first: int, bound: Sequence[Any], calls: Sequence[tuple[Sequence[Any], Sequence[Node]]]
    ) -> None:
        self.graph = graph
        self.nodes = graph.inside(graph.nodes[first:])
        self.regions = [Region(self.nodes, bound, *call, lambda node: node.control_inputs) for call in calls]  # type: ignore[attr-defined]
        captured: dict[int, Any] = {}
        handles: dict[int, Any] = {}
        for region in self.regions:
            captured |= region.captured
            handles |= region.handles
        changed = set().union(*[region.assigned for region in self.regions])
        self.captured = list(captured.values())
        self.assigned = [h for h in handles.values() if id(h) in changed]
        self.read = [h for h in handles.values() if id(h) not in changed]
        again = {id(h) for h in self.read}
        reads = [x for x in self.captured if x.node.op is read_variable and id(x.node.inputs[0]) in again]
        self.known = {id(x.node.inputs[0]): x for x in reads if _is_current(graph, x)}
        self.read = [h for h in self.read if id(h) not in self.known]
        self.after = [node for region in self.regions for node in region.after]

    def values(self, handles: Sequence[Any]) -> list[Any]:
        """The present values of variables."""
        with self.graph.control_dependencies(self.after):
            return [self.graph.apply(read_variable, (h,), {}, name="read") for h in handles]

    def closed(self, region: Region, new: Sequence[Any], states_first: int | None = None) -> ClosedFunction:
        """The closed function of one function, its results followed by the values of the handles `new`.

        Its parameters are what is bound, what is captured, and the variables read; those assigned to stand behind what
        is bound, or before the bound parameter `states_first`.
        """
        made = region.closed(self.captured, [*self.assigned, *self.read], new, where, self.known)
        bound, inner = len(region.bound), len(region.bound) + len(self.captured)
        parameters = made.parameters
        states = parameters[inner : inner + len(self.assigned)]
        at = bound if states_first is None else states_first
        order = [*parameters[:at], *states, *parameters[at:inner], *parameters[inner + len(self.assigned) :]]
        return ClosedFunction(made.trace, order, made.results)

    def apply(self, op: Op, operands: Sequence[Any], params: dict[str, Any], states_at: int, name: str) -> list[Any]:
        """The operation's outputs; those from `states_at` on, as many as `assigned`, go to the variables."""
        graph = self.graph
        with graph.control_dependencies(self.after):
            outputs = list(graph.apply(op, operands, params, name=name))
        count = len(self.assigned)
        if not count:
            return outputs
        new = outputs[states_at : states_at + count]
        written = [
            graph.apply(assign_variable, pair, {}, name="Assign") for pair in zip(self.assigned, new, strict=True)
        ]
        graph.flow_assignments += 1
        with graph.control_dependencies(written):
            return [shape.identity(x) for x in [*outputs[:states_at], *outputs[states_at + count :]]]


class _SameShape:
    """Raises if a value has not the shape that a loop was built for."""

    def __init__(self, what: str, expected: Shape) -> None:
        self.what, self.expected = what, expected

    def __call__(self, dims: np.ndarray) -> None:
        """Examine the dimensions."""
        shape = tuple(dims.tolist())
        if not compatible(shape, self.expected):
            raise ShapeError(
                f"{self.what} changes its shape between iterations: it enters the loop with shape "
                f"{format_shape(self.expected)}, and an iteration gives {format_shape(shape)}. Let it enter the loop "
                f"with a shape that is not known, or say what stays the same with `shape_invariants`"
            )


def same_shapes(what: str, before: Sequence[Any], after: Sequence[Any]) -> list[Any]:
    """The results of an iteration, examined when it runs where less is known of them than of what it started with.

    The ops of a body are chosen for the shapes that values enter it with.
    """
    examined = []
    for i, (b, a) in enumerate(zip(before, after, strict=True)):
        wanted, have = b.aval.shape, a.aval.shape
        if wanted is not None and (
            have is None or any(d is None and e is not None for d, e in zip(have, wanted, strict=True))
        ):
            a = checked_op(a, shape.shape(a), check=_SameShape(f"{what} {i}", wanted))
            a.set_shape(wanted)
        examined.append(a)
    return examined
