"""Why a gradient that arrives is zero or not finite: the recording is gone through again, number by number.

Forwards, the earliest op is looked for that made a NaN or an infinity from finite operands. Backwards, the walk is
taken one node at a time by `engine.derivatives.reverse` itself, so that each node's part in it is seen: where a
cotangent that is not zero gives zeros only, and where a finite one gives what is not finite.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.core.eager import EagerTensor
from engine.core.op import Node
from engine.core.trace import Symbol
from engine.core.value import Zero
from engine.core.variable import read_variable, variable_handle
from engine.derivatives.aggregation import total
from engine.derivatives.reverse import live_path, reverse
from engine.explain.diagnose import Case, Finding
from engine.explain.evidence import array_of, label, op_label
from engine.explain.rewrite import remedy
from engine.runtime.errors import UnimplementedError


class Walk:
    """A recording with its numbers, and the cotangents of all values on the way, by ``id``.

    `nodes` are those that the target is computed from, in order, each with eager values and as the user made it.
    `parts` are the number of a node, an operand, and what the node gave it, as the walk went.
    """

    def __init__(self, nodes: list[tuple[Node, Node]], target: Any, source: Any) -> None:
        self.nodes, self.source, self.target = nodes, source, target
        self.cotangents: dict[int, Any] = {}
        self.parts: list[tuple[int, int, Any]] = []
        array = array_of(target)
        self.cotangents[id(target)] = np.ones(array.shape, array.dtype)
        path, live = live_path([node for node, _ in nodes], {id(source)}, set())
        on_path = set(map(id, path))
        for i in range(len(nodes) - 1, -1, -1):
            if id(nodes[i][0]) in on_path:
                self._back(i, nodes[i][0], live)

    def _back(self, i: int, node: Node, live: set[int]) -> None:
        seeds = [(out, self.cotangents[id(out)]) for out in node.outputs if id(out) in self.cotangents]
        sources = {id(x): x for k, x in enumerate(node.inputs) if id(x) in live and node.carries(k)}
        if not seeds or not sources:
            return
        cotangents = reverse([node], seeds, list(sources.values()))
        for (key, x), ct in zip(sources.items(), cotangents, strict=True):
            if ct is None or type(ct) is Zero:
                continue
            ct = np.asarray(array_of(ct) if isinstance(ct, EagerTensor) else ct)
            operand = next(k for k, y in enumerate(node.inputs) if y is x)
            self.parts.append((i, operand, ct))
            self.cotangents[key] = ct if key not in self.cotangents else total(self.cotangents[key], ct)

    @property
    def gradient(self) -> np.ndarray | None:
        """The gradient, None if a rule stopped it."""
        return self.cotangents.get(id(self.source)) if self.source is not self.target or self.parts else None


def of_numbers(case: Case, session: Any, feed_dict: Any) -> tuple[list[Finding], Any]:
    """Findings about the numbers of a connected target, and the gradient; none without numbers."""
    try:
        walk = _walk(case, session, feed_dict)
    except UnimplementedError:
        return [], None  # who asks for the gradient is told
    if walk is None or case.search.source is case.search.target:
        return [], None
    gradient = walk.gradient
    if gradient is None:
        return [_by_rule(case)], None
    if not _finite(array_of(walk.target)) or not _finite(gradient):
        return [*_bad_forwards(case, walk), *_bad_backwards(case, walk)], gradient
    if gradient.size and not gradient.any():
        return _zeros(case, walk), gradient
    return [], gradient


def _by_rule(case: Case) -> Finding:
    nodes = [n for n in case.search.path(case.search.target) if n.op.type in ("IdentityN", "PyFunc")]
    detail = "it returns None for the argument that leads to the source"
    if not nodes:
        return case.finding("custom-rule", detail=detail, op="an op on the path")
    return case.finding("custom-rule", nodes[0], detail=detail)


def _walk(case: Case, session: Any, feed_dict: Any) -> Walk | None:
    search = case.search
    needed = [n for n in case.evidence.nodes if any(id(out) in search.needed for out in n.outputs)]
    if not isinstance(search.target, Symbol):
        recorded = [n for n in needed if case.evidence.recorded(n)]
        values = {id(x): x for n in recorded for x in (*n.inputs, *n.outputs)}
        if any(isinstance(x, Symbol) for x in values.values()):
            return None
        return Walk([(n, n) for n in recorded], search.target, search.source)
    if session is None and feed_dict is None:
        return None
    return _computed(case, needed, search.target.trace.session_for(session, "explain numbers"), feed_dict)


def _computed(case: Case, needed: Sequence[Node], session: Any, feed_dict: Any) -> Walk:
    """The numbers of one run of a graph."""
    wanted: dict[int, Any] = {id(case.search.target): case.search.target}
    for node in needed:
        wanted.update({id(out): out for out in node.outputs if node.op is not variable_handle})
    arrays = dict(zip(wanted, session.run(list(wanted.values()), feed_dict), strict=True))
    values: dict[int, Any] = {key: EagerTensor(np.asarray(array)) for key, array in arrays.items()}
    for node in needed:
        if node.op is read_variable:
            values.setdefault(id(node.inputs[0]), EagerTensor(np.asarray(arrays[id(node.outputs[0])])))
    nodes = []
    for node in needed:
        if any(id(x) not in values for x in node.inputs) or any(id(out) not in values for out in node.outputs):
            continue
        outs = tuple([values[id(out)] for out in node.outputs])
        nodes.append((Node(node.op, tuple([values[id(x)] for x in node.inputs]), node.params, outs), node))
    return Walk(nodes, values[id(case.search.target)], values.get(id(case.search.source)))


# ---- NaN and infinity ------------------------------------------------------------------------------------------------


def _finite(array: Any) -> bool:
    return array is None or array.dtype.kind not in "fc" or bool(np.isfinite(array).all())


def _word(array: Any) -> str:
    return "NaN" if np.isnan(array).any() else "infinity"


def _first_bad(array: Any) -> tuple[int, ...]:
    bad = np.isnan(array) if np.isnan(array).any() else ~np.isfinite(array)
    return tuple(int(k) for k in np.argwhere(bad)[0])


def _bad_forwards(case: Case, walk: Walk) -> list[Finding]:
    """The earliest op that made what is not finite, or the value that was not from the start."""
    made: set[int] = set()
    for node, original in walk.nodes:
        for x, value in zip(node.inputs, original.inputs, strict=True):
            array = array_of(x)
            if id(x) not in made and not _finite(array):
                return [_input(case, value, original, array)]
        if not node.inputs or node.op is read_variable:
            continue  # a constant, or what is fed: it is named where it is used
        made.update(map(id, node.outputs))
        bad = next((o for o in node.outputs if not _finite(array_of(o))), None)
        if bad is None:
            continue
        if all(_finite(array_of(x)) for x in node.inputs):
            array = array_of(bad)
            return [_bad(case, "nan-forward", node, original, array)]
    return []


def _input(case: Case, x: Any, node: Node, array: Any) -> Finding:
    """The finding for a value that was not finite when it was first used, by `node`."""
    name = getattr(x, "name", None)
    op = case.names["source"] if x is case.search.source else label(x, "an operand") if name else "an operand"
    return case.finding("nan-input", node, op=f"{op} of {op_label(node)}", word=_word(array), index=_first_bad(array))


def _bad_backwards(case: Case, walk: Walk) -> list[Finding]:
    """The op whose rule made what is not finite, as the walk goes."""
    before: dict[int, bool] = {}
    for i, _, ct in walk.parts:
        node, original = walk.nodes[i]
        if i not in before:
            cts = [walk.cotangents[id(o)] for o in node.outputs if id(o) in walk.cotangents]
            values = [array_of(x) for x in (*node.inputs, *node.outputs)]
            before[i] = all(map(_finite, [*cts, *values]))
        if before[i] and not _finite(ct):
            return [_bad(case, "nan-backward", node, original, ct)]
    return []


def _bad(case: Case, code: str, node: Node, original: Node, array: Any) -> Finding:
    index = _first_bad(array)
    operands = ", ".join(_at(node, k, index, array.shape) for k in range(len(node.inputs)))
    site = case.evidence.site(original)
    return case.finding(
        code, original, word=_word(array), index=index, operands=operands, write=remedy(node.op.name, site)
    )


def _at(node: Node, k: int, index: tuple[int, ...], shape: tuple[int, ...]) -> str:
    """``x = 0.0``: an operand at an index."""
    array = np.asarray(array_of(node.inputs[k]))
    names = node.op.args
    name = names[k] if k < len(names) and not names[k].startswith("*") else f"operand {k}"
    try:
        value = np.broadcast_to(array, shape)[index]
    except ValueError:
        if array.size == 0:
            return f"{name} is empty"
        return f"{name} between {array.min()} and {array.max()}" if array.dtype.kind in "fiu" else name
    return f"{name} = {value}"


# ---- zeros -----------------------------------------------------------------------------------------------------------


def _any(array: Any) -> bool:
    return bool(np.asarray(array).any())


def _zeros(case: Case, walk: Walk) -> list[Finding]:
    """Where cotangents that are not zero become zero; that they cancel if it is nowhere."""
    by_operand: dict[int, list[tuple[int, Any]]] = {}
    for i, operand, ct in walk.parts:
        by_operand.setdefault(i, []).append((operand, ct))
    findings = []
    for i, parts in by_operand.items():
        node, original = walk.nodes[i]
        alive = any(_any(walk.cotangents.get(id(out), 0)) for out in node.outputs)
        if alive and not any(_any(ct) for _, ct in parts):
            findings.append(_killed(case, walk, node, original, parts[0][0]))
    if findings:
        return findings
    count = sum(_any(ct) for i, k, ct in walk.parts if walk.nodes[i][0].inputs[k] is walk.source)
    return [case.finding("zero-cancelled", detail=f"{count} that are not zero" if count else "some on the way to it")]


def _killed(case: Case, walk: Walk, node: Node, original: Node, operand: int) -> Finding:
    """Why a node that has a cotangent gives zeros only."""
    out, x = array_of(node.outputs[0]), array_of(node.inputs[operand])
    others = [array_of(y) for k, y in enumerate(node.inputs) if k != operand]
    if x is not None and x.size == 0:
        return _empty(case, walk, node.inputs[operand], original)
    if any(hasattr(p, "parameters") for p in node.params.values()):
        return case.finding("zero-branch", original, detail="no derivative leads through what ran inside")
    if node.op.name == "select":
        return case.finding("zero-branch", original, detail=_choice(others[0], operand))
    if node.op.moves:
        detail = "what is used of it does not contain the elements that depend on the source"
        return case.finding("zero-slice", original, detail=detail)
    if node.op.kind in ("multilinear",) or node.op.name == "multiply":
        zeros = [k for k, y in enumerate(node.inputs) if k != operand and not _any(array_of(y))]
        return case.finding("zero-mask", original, detail=f": its operand {zeros[0]} is zero" if zeros else "")
    if node.op.elementwise and len(others) == 1 and bool(np.all(out == others[0])):
        return case.finding("zero-branch", original, detail="all its elements are those of the other operand")
    return case.finding("zero-flat", original, detail=f", at operands {_range(x)}")


def _choice(condition: Any, operand: int) -> str:
    word = {1: "false", 2: "true"}.get(operand, "so")
    return f"the condition is {word} at every element that would reach the source" if condition is not None else ""


def _empty(case: Case, walk: Walk, empty: Any, original: Node) -> Finding:
    """The finding for an empty operand: the op that made it empty."""
    for node, made in walk.nodes:
        if node.inputs and any(o is empty for o in node.outputs):
            before = [x for x in node.inputs if (array := array_of(x)) is not None and not array.size]
            if before:
                return _empty(case, walk, before[0], made)
            return case.finding("zero-slice", made, detail="its result is empty, so nothing depends on it")
    return case.finding("zero-slice", original, detail="its operand is empty from the start")


def _range(array: Any) -> str:
    if array is None or array.size == 0 or array.dtype.kind not in "fiu":
        return "of this kind"
    low, high = array.min(), array.max()
    return f"equal to {low}" if low == high else f"between {low} and {high}"
