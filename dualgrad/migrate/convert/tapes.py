"""Which steps of a function a tape must see, and how tapes lie within each other.

The tape of a call of `gradients` sees the steps on the ways from its xs to its ys. Calls that need not wait for each
other share one tape, which is persistent then; a call that differentiates the result of another has the outer tape.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dualgrad.migrate.convert.items import GradientItem, Item, parts, source
from engine.core.trace import Symbol, needed_nodes
from engine.core.variable import Variable, read_variable


@dataclass(eq=False)
class Block:
    """A tape: the steps `start` to `end` (inclusive), and the calls of `gradient` that follow.

    Attributes
    ----------
    watched : list of tensor
        What the tape must be told to watch when it starts.
    """

    start: int
    end: int
    calls: list[GradientItem]
    steps: list[Any] = field(default_factory=list)
    watched: list[Any] = field(default_factory=list)
    name: str = ""

    @property
    def persistent(self) -> bool:
        """Whether it is asked more than once."""
        return sum(1 if c.call.method == "gradient" else len(c.call.xs) for c in self.calls) > 1


def arranged(steps: Sequence[Item]) -> tuple[list[Any], dict[int, list[Block]]]:
    """The steps with those that tapes see inside of `Block`s; and by tensor the tapes to watch it once it is made."""
    blocks: list[Block] = []
    for at, step in enumerate(steps):
        if isinstance(step, GradientItem):
            step.block = None  # type: ignore[attr-defined]
            if any(r is not None for r in step.call.results):
                _place(step, at, steps, blocks)
    watches: dict[int, list[Block]] = {}
    for block in blocks:
        for call in block.calls:
            call.block = block  # type: ignore[attr-defined]
            _watch(call, block, steps, watches)
    for block in blocks:
        if not any(other.start <= block.start <= other.end for other in blocks if other is not block):
            _begin_earlier(block, steps, blocks)
    return _nested(steps, 0, len(steps) - 1, sorted(blocks, key=lambda b: (b.start, -b.end))), watches


def has_choices(ys: Sequence[Any]) -> bool:
    """Whether what some tensors depend on is decided while the program runs: by a choice or a loop."""
    every = [p for y in ys for p in parts(y)]
    nodes = needed_nodes(every[0].graph.nodes, every) if every else ()
    return any(node.op.name in ("cond_op", "while_op") for node in nodes)


def _place(call: GradientItem, at: int, steps: Sequence[Item], blocks: list[Block]) -> None:
    seen = _visible_steps(call, at, steps, blocks)
    start, end = (min(seen), max(seen)) if seen else (at, at - 1)
    for block in reversed(blocks):
        apart = start > block.end or end < block.start
        if not apart and seen and not _waits(call, block):
            block.start, block.end = min(start, block.start), max(end, block.end)
            block.calls.append(call)
            return
    new = Block(start, end, [call])
    changed = bool(seen)
    while changed:
        changed = False
        for block in blocks:
            if block.start < new.start <= block.end < new.end:
                new.start, changed = block.start, True
            elif new.start < block.start <= new.end < block.end:
                if at > block.end:
                    new.end, changed = block.end, True
                else:
                    block.start, changed = new.start, True
    blocks.append(new)


def _begin_earlier(block: Block, steps: Sequence[Item], blocks: Sequence[Block]) -> None:
    """Let a tape begin with the steps right before it that only prepare what it sees: one writes these there."""
    needed = {id(x) for step in steps[block.start : block.end + 1] for x in step.inputs}
    fixed = {id(x) for x in block.watched}
    while block.start and not any(other.end == block.start - 1 for other in blocks):
        before = steps[block.start - 1]
        made = {id(x) for x in before.outputs}
        if isinstance(before, GradientItem) or before.after or not made or made & fixed or not made & needed:
            return
        needed.update([id(x) for x in before.inputs])
        block.start -= 1


def _visible_steps(call: GradientItem, at: int, steps: Sequence[Item], blocks: Sequence[Block]) -> list[int]:
    """The steps on the ways from the sources of a call to its targets, by number."""
    live = {id(source(x)) for x in call.call.xs}
    on_way = []
    for i, step in enumerate(steps[:at]):
        if any(_is_live(x, live) for x in step.inputs):
            on_way.append(i)
            live.update([id(x) for x in step.outputs])
    needed = {id(y) for target in call.call.ys for y in parts(target)}
    seen: list[int] = []
    for i in reversed(range(at)):
        step = steps[i]
        if not any(id(x) in needed for x in step.outputs):
            continue
        needed.update([id(x) for x in step.inputs])
        if i in on_way:
            seen.append(i)
            inner = next((b for b in blocks if step in b.calls), None)
            seen += [inner.start, inner.end] if inner else []
    return seen


def _is_live(x: Any, live: set[int]) -> bool:
    if id(x) in live:
        return True
    return isinstance(x, Symbol) and x.node.op is read_variable and id(x.node.inputs[0]) in live


def _waits(call: GradientItem, block: Block) -> bool:
    """Whether a call differentiates what calls of a tape gave."""
    outputs = {id(x) for other in block.calls for x in other.outputs}
    left, met = [y for target in call.call.ys for y in parts(target)], set()
    while left:
        x = left.pop()
        if id(x) in outputs:
            return True
        if id(x) not in met and isinstance(x, Symbol):
            met.add(id(x))
            left += x.node.inputs
    return False


def _is_used(call: Any, steps: Sequence[Any]) -> bool:
    """Whether one of some steps uses what a call gives."""
    outputs = {id(x) for x in call.outputs}
    inside = [s for step in steps for s in (step.steps if isinstance(step, Block) else [step])]
    return any(id(x) in outputs for step in inside for x in step.inputs)


def _watch(call: GradientItem, block: Block, steps: Sequence[Item], watches: dict[int, list[Block]]) -> None:
    made = {id(x): i for i, step in enumerate(steps) for x in step.outputs}
    for x, result in zip(call.call.xs, call.call.results, strict=True):
        if result is None or (isinstance(x, Variable) and getattr(x, "trainable", True)):
            continue
        at = made.get(id(source(x)), -1)
        if at < block.start or isinstance(x, Variable):
            if not any(source(x) is w for w in block.watched):
                block.watched.append(source(x))
        elif block not in watches.setdefault(id(x), []):
            watches[id(x)].append(block)


def _nested(steps: Sequence[Any], first: int, last: int, blocks: Sequence[Block]) -> list[Any]:
    nested: list[Any] = []
    i, left = first, list(blocks)
    while i <= last or left:
        if left and left[0].start <= i:
            block = left.pop(0)
            inside = [b for b in left if b.end <= block.end and b.start >= block.start and b.end >= b.start]
            left = [b for b in left if b not in inside]
            nested.append(block)
            if block.end < block.start:
                continue
            block.steps = _nested(steps, block.start, block.end, inside)
            # one whose results steps of the tape use stays among them
            later = [s for s in block.steps if s in block.calls and not _is_used(s, block.steps)]
            block.steps = [s for s in block.steps if s not in later]
            nested += later
            i = block.end + 1
            continue
        if i > last:
            break
        nested.append(steps[i])
        i += 1
    return nested
