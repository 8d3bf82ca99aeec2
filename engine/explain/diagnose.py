"""Which reason of the list it is that there is no gradient, or only a part of one."""

from __future__ import annotations

import linecache
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from engine.closed.function import ClosedFunction
from engine.core.detach import Detached, instead
from engine.core.op import Node
from engine.core.trace import Symbol, constant, placeholder
from engine.core.value import dtype_of
from engine.core.variable import Variable, read_variable, tracked_value, variable_handle
from engine.explain.evidence import array_of, label, op_label, site_text
from engine.explain.reasons import REASONS
from engine.explain.search import Break, Search
from engine.explain.witness import Site


class Finding(NamedTuple):
    """A reason for the case at hand."""

    code: str
    """One of `REASONS`."""
    message: str
    instead: str
    """The matter, and what to write instead."""
    site: Site | None = None
    """The user's line."""
    node: Node | None = None
    """The op."""

    def __str__(self) -> str:
        where = site_text(self.site)
        return f"{self.message} ({where})" if where else self.message


class Case:
    """A search, and how its two ends are called in messages: the source is a variable rather than its handle."""

    def __init__(self, search: Search, source: Any) -> None:
        self.search, self.evidence = search, search.evidence
        self.target, self.given = search.target, source
        self.names = {"source": label(source, "the source"), "target": label(search.target, "the target")}

    def finding(self, code: str, node: Node | None = None, site: Site | None = None, **facts: Any) -> Finding:
        """A finding, its sentences filled in."""
        if node is not None:
            facts.setdefault("op", op_label(node))
            site = site or self.evidence.site(node)
        reason = REASONS[code]
        facts = {"detail": "", "write": "", **self.names, **facts}
        return Finding(code, reason.message.format(**facts), reason.instead.format(**facts), site, node)


def source_line(site: Site | None) -> str:
    """The text of a line of the user's program; empty where it is not known."""
    return "" if site is None else linecache.getline(site.file, site.line).strip()


# ---- a path that ends ------------------------------------------------------------------------------------------------


def at_break(case: Case, broken: Break) -> Finding:
    """Why an edge does not carry."""
    node, i = broken
    op, x = node.op, node.inputs[i]
    if not case.evidence.recorded(node):
        detail = f"the tape was not recording when {op_label(node)} was computed"
        return case.finding("not-recording", node, detail=detail)
    if not case.evidence.since(node, case.search.source) and node.carries(i):
        return case.finding("watched-late", node)
    if any(id(out) in case.evidence.stop for out in node.outputs) and node.carries(i):
        return case.finding("stopped", node, op="`stop_gradients` names its result: it")
    if op.name == "stop_gradient":
        return case.finding("stopped", node)
    if op.from_avals or i in op.references:
        return case.finding("shape-only", node)
    if op.type in ("PyFunc", "PyFuncStateless", "EagerPyFunc"):
        return case.finding("python-function", node)
    if op.type == "IdentityN":
        return case.finding("custom-rule", node, detail="the tensor is captured, not one of its arguments")
    if op.name == "truncate":
        kinds = f"cast turns {dtype_of(x).name} into {dtype_of(node.outputs[0]).name}"
        return case.finding("integer", node, detail=kinds)
    inner = _inside(case, node, i)
    if inner is not None:
        return inner
    name = op.args[min(i, len(op.args) - 1)].lstrip("*") if op.args else str(i)
    if i in op.smooth:
        return case.finding("not-implemented", node, operand=name)
    if op.vjp is None:
        return case.finding("no-derivative", node)
    return case.finding("no-derivative", node, detail=f" with respect to its operand `{name}`")


def _inside(case: Case, node: Node, i: int) -> Finding | None:
    """Where the path ends inside the branches of a `cond` or the body of a loop."""
    for name, body in node.params.items():
        if not isinstance(body, ClosedFunction) or name == "cond":
            continue
        # a branch takes all operands but the condition; how a loop's body takes them is its own affair
        own = body.parameters[i - 1 : i] if name in ("true", "false") else body.parameters
        live = {id(p) for p in own if dtype_of(p).is_differentiable}
        for inner in body.nodes:
            touched = [k for k, x in enumerate(inner.inputs) if id(x) in live]
            if any(inner.carries(k) for k in touched):
                live.update(map(id, inner.outputs))
            elif touched and not inner.op.from_avals:
                finding = at_break(case, Break(inner, touched[0]))
                return finding._replace(site=_site_inside(inner) or case.evidence.site(node), node=node)
    return None


def _site_inside(node: Node) -> Site | None:
    """The line of a node in a branch or body, which has it as text."""
    made = re.search(r"made at (.*):(\d+)\]", str(getattr(node, "where", "")))
    return None if made is None else Site(made[1], int(made[2]))


def ways_missed(case: Case) -> list[Finding]:
    """Where other ways from the source to a target that is connected end.

    Functions of ours stop gradients where they know them to be zero, and take conditions and indices of what they are
    given. These are not named: only what the user's own line does.
    """
    search = case.search
    ends = [b for b in search.breaks if any(id(out) in search.feeds for out in b.node.outputs)]
    missed = [at_break(case, b) for b in ends]
    return [*[f for f in missed if f.code in _OF_THE_TAPE or _is_written(f)], *losses(case)]


_OF_THE_TAPE = ("not-recording", "watched-late", "python-function")


def _is_written(finding: Finding) -> bool:
    names = finding.message.split()[:1] if finding.node is None else [op_label(finding.node).split()[0]]
    return finding.code != "shape-only" and any(f"{name}" in source_line(finding.site) for name in names)


# ---- no path ---------------------------------------------------------------------------------------------------------


def losses(case: Case) -> Iterator[Finding]:
    """Where values that depend on the source left the tape: for NumPy, or into variables."""
    tape, search = case.evidence.tape, case.search
    for note in () if tape is None else tape.detached.values():
        if id(tracked_value(note.value)) not in search.live | {id(search.source)}:
            continue
        if note.kind == "assigned":
            if note.into is not None and id(tracked_value(note.into)) in case.search.needed:
                yield _assigned(case, note.into, Site(note.file, note.line))
        elif note.kind in ("array", "function") or not search.is_connected or _came_back(case, note.value):
            yield _left(case, note)
    for node in search.evidence.nodes if tape is None else ():
        if node.op.type != "AssignVariableOp" or id(node.inputs[1]) not in search.live:
            continue
        if id(node.inputs[0]) in search.needed:
            yield _assigned(case, node.inputs[0], case.evidence.site(node), node)


def _came_back(case: Case, value: Any) -> bool:
    """Whether the very numbers of a value are among those that the target is computed from, rather than printed."""
    array = array_of(value)
    plain = [array_of(x) if array_of(x) is not None else np.asarray(x) for x in case.search.leaves()
             if not case.evidence.is_tracked(x)]  # fmt: skip
    return array is not None and any(p.size and np.isin(array, p).all() for p in plain)


def _left(case: Case, note: Detached) -> Finding:
    site = Site(note.file, note.line)
    if note.kind == "function":
        return case.finding("python-function", site=site, op=note.by.rpartition(".")[2] or "a function")
    by = f"{note.by or note.kind}()" if note.by or note.kind != "array" else "NumPy"
    detail = f"{by} made plain numbers of a tensor that depends on {case.names['source']}"
    write = instead(note.by) if note.kind == "array" else "the tensor itself, without .numpy() or float()"
    return case.finding("left-for-numpy", site=site, detail=detail, write=write)


def _assigned(case: Case, variable: Any, site: Site | None, node: Node | None = None) -> Finding:
    return case.finding("assigned", node, site, variable=repr(getattr(variable, "name", "Variable")))


def no_path(case: Case) -> Finding:
    """Why nothing leads from the source to the target."""
    lost = next(losses(case), None)
    if lost is not None:
        return lost
    search, evidence = case.search, case.evidence
    unwatched = _not_watched(case)
    if unwatched is not None:
        return unwatched
    other = search_back(case)
    if other is not None:
        return other
    early = _read_early(case)
    if early is not None:
        return early
    if evidence.tape is not None and id(search.target) not in search.made:
        return _outside(case)
    roots = list(_roots(case))
    if not roots:
        return case.finding("constant", detail="nothing that it is computed from is a variable, an input or watched")
    named = ", ".join(dict.fromkeys(label(x, "an unnamed tensor") for x in roots[:3]))
    return case.finding("no-path", detail=f"; it depends on {named}" + (" ..." if len(roots) > 3 else ""))


def _not_watched(case: Case) -> Finding | None:
    """The finding for a source that the tape does not follow, if watching it would help."""
    search, evidence, source = case.search, case.evidence, case.given
    if evidence.is_tracked(search.source) or not dtype_of(source).is_differentiable:
        return None
    uses = [n for n in evidence.nodes if any(id(x) in search.reached for x in n.inputs)]
    if evidence.complete and id(search.target) not in search.reached and not isinstance(source, Variable):
        return None
    if isinstance(source, Variable):
        if not source.trainable:
            detail = "it is a variable with trainable=False, which a tape does not watch by itself"
        elif evidence.tape is not None and not evidence.tape.watch_accessed_variables:
            detail = "the tape was made with watch_accessed_variables=False"
        else:
            return None
    else:
        detail = "it is a tensor that was not watched, nor computed from one that was"
    site = evidence.site(uses[0]) if uses else None
    return case.finding("not-watched", site=site, detail=detail)


def search_back(case: Case) -> Finding | None:
    """Whether the source was computed from the target, or both from something else."""
    search = case.search
    above = {id(search.source)}
    for node in reversed(search.evidence.nodes):
        if any(id(out) in above for out in node.outputs):
            above.update(map(id, node.inputs))
    if id(search.target) in above and search.source is not search.target:
        return case.finding("reversed", search.made.get(id(search.source)))
    made = search.made.get(id(search.source))
    if made is None or isinstance(case.given, Variable):
        return None
    for node in reversed(search.evidence.nodes):
        for value in (*node.outputs, *node.inputs):
            if id(value) in above and id(value) in search.needed and _varies(value):
                return case.finding("side-branch", made, shared=_shared_label(search, value))
    return None


def _varies(value: Any) -> bool:
    return dtype_of(value).is_differentiable and not (isinstance(value, Symbol) and value.node.op is constant)


def _shared_label(search: Search, value: Any) -> str:
    made = search.made.get(id(value))
    if made is not None and made.op is read_variable:
        return label(made.inputs[0], "a variable")
    return label(value, "one tensor" if made is None else f"the result of {op_label(made)}")


def _read_early(case: Case) -> Finding | None:
    """Whether the target is computed from a value that the source, a variable, had outside the recording."""
    array = array_of(case.given)
    if array is None or not isinstance(case.given, Variable):
        return None
    for leaf in case.search.leaves():
        if leaf is not case.search.source and array_of(leaf) is array:
            users = [n for n in case.evidence.nodes if any(x is leaf for x in n.inputs)]
            detail = "where the tape did not record: before the with block, or inside stop_recording"
            return case.finding("read-early", site=case.evidence.site(users[0]) if users else None, detail=detail)
    return None


def _outside(case: Case) -> Finding:
    """The finding for a target that the tape has not seen computed."""
    search = case.search
    if any(any(x is search.target for x in n.inputs) for n in search.evidence.nodes):
        return case.finding("constant", detail="it was there before the tape recorded, and was only used")
    detail = f"{case.names['target']} was not computed while the tape recorded, but before or after"
    return case.finding("not-recording", detail=f"{detail}, on another thread, or from plain numbers")


def _roots(case: Case) -> Iterator[Any]:
    """The variables, inputs and watched values that the target is computed from."""
    for leaf in case.search.leaves():
        if isinstance(leaf, Variable) or (case.evidence.tape is not None and case.evidence.is_tracked(leaf)):
            yield leaf
    for node in case.evidence.nodes if case.evidence.tape is None else ():
        if node.op in (placeholder, variable_handle) and id(node.outputs[0]) in case.search.needed:
            yield node.outputs[0]
