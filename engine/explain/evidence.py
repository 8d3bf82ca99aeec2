"""Evidence of how values came about: the nodes of a graph, what a tape recorded, what a witness saw beside it."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from engine.core.eager import EagerTensor
from engine.core.op import Node
from engine.core.tape import Tape
from engine.core.trace import Symbol
from engine.core.value import address
from engine.core.variable import Variable
from engine.explain.witness import ExplainedTape, Notes, Site


@dataclass
class Evidence:
    """All that is known."""

    nodes: Sequence[Node]
    """In the order of execution."""
    site: Callable[[Node], Site | None]
    """``site(node)``: the user's line, None where it is not known."""
    tape: Tape | None = None
    """With what was recorded; None in a graph."""
    recorded: Callable[[Node], bool] = lambda node: True
    """``recorded(node)``: whether the tape was recording then. True in a graph."""
    since: Callable[[Node, Any], bool] = lambda node, value: True
    """``since(node, value)``: whether a value had been watched by then, where that is known."""
    complete: bool = True
    """Whether `nodes` holds what the tape did not record, too."""
    stop: frozenset[int] = frozenset()
    """``id`` of values that count as constants."""

    def is_tracked(self, value: Any) -> bool:
        """Whether the tape follows a value; in a graph, all are followed."""
        return self.tape is None or address(value) in self.tape.tracked


def of_graph(target: Symbol, stop: Iterable[Any] = ()) -> Evidence:
    """The evidence of a graph."""
    return Evidence(target.trace.nodes, _site_in_graph, stop=frozenset(map(id, stop)))


def _site_in_graph(node: Node) -> Site | None:
    where = getattr(node, "where", None)
    return Site(*where) if isinstance(where, tuple) else None


def of_tape(tape: Tape) -> Evidence:
    """The evidence of a tape."""
    if not isinstance(tape, ExplainedTape):
        return Evidence(tape.everything(), lambda node: None, tape, complete=False)
    notes = tape.notes
    at = {id(node): i for i, node in enumerate(notes.nodes)}

    def site(node: Node) -> Site | None:
        return notes.sites[at[id(node)]]

    def recorded(node: Node) -> bool:
        return notes.recorded[at[id(node)]]

    def since(node: Node, value: Any) -> bool:
        return at[id(node)] >= tape.watched.get(address(value), 0)

    return Evidence(notes.nodes, site, tape.kept, recorded, since)


def find_tape(target: Any, source: Any) -> Tape:
    """The tape that knows most of two eager values; the latest of several. RuntimeError if there is none.

    They do not know their tapes, and recording is to cost nothing for it: so the living tapes are looked for.
    """
    living = [x for x in gc.get_objects() if isinstance(x, Tape) and not isinstance(x.nondifferentiable, Notes)]
    known = [_knowledge(tape, target, source) for tape in living]
    best = max(range(len(living)), key=lambda i: (known[i], i), default=None)
    if best is None or not known[best][0]:
        raise RuntimeError(
            "explain: no tape knows of these tensors. A tape lets go of its recording when a derivative is taken, or "
            "the tape is dropped: use tf.GradientTape(explain=True), which keeps it, and give explain the `tape`"
        )
    return living[best]


def _knowledge(tape: Tape, target: Any, source: Any) -> tuple[int, int, int]:
    """How many of two values a tape knows, whether the target is one, whether it was made to explain."""
    if isinstance(tape, ExplainedTape):
        known = {id(x) for node in tape.notes.nodes for x in (*node.inputs, *node.outputs)}
        tracked = [id(x) in known or address(x) in tape.kept.tracked for x in (target, source)]
    else:
        tracked = [address(x) in tape.tracked or address(x) in tape.nondifferentiable for x in (target, source)]
    return sum(tracked), tracked[0], tape.explains


# ---- words -----------------------------------------------------------------------------------------------------------


def label(value: Any, otherwise: str) -> str:
    """The name of a value in a message: its own if it has one."""
    name = getattr(value, "name", None)
    if isinstance(value, (Variable, Symbol)) and isinstance(name, str):
        return f"variable {name!r}" if isinstance(value, Variable) else f"tensor {name!r}"
    return otherwise


def op_label(node: Node) -> str:
    """The name of an op in a message: its public name, and its name in the graph."""
    public = node.op.title
    public = {"truncate": "cast", "select": "where", "custom_call": "custom_gradient"}.get(public, public)
    name = getattr(node, "name", None)
    return f"{public} {name!r}" if isinstance(name, str) else public


def site_text(site: Site | None) -> str:
    """``program.py, line 3``, or nothing."""
    if site is None:
        return ""
    file = os.path.relpath(site.file) if os.path.isabs(site.file) else site.file
    return f"{file if len(file) < len(site.file) else site.file}, line {site.line}"


def array_of(value: Any) -> Any:
    """The array of an eager value; None for others."""
    if isinstance(value, EagerTensor):
        return value._array
    tensor = getattr(value, "_tensor", None)
    return tensor._array if isinstance(tensor, EagerTensor) else None
