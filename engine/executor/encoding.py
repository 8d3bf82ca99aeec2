"""From a recording to a table: where values are put in memory, and rows as numbers.

What rows compute lies in one block, at offsets by liveness: memory that is not needed any more is used again. A result
that leaves the program gets an array of its own. Between any two values there is a gap: NumPy's loops look whether
operands overlap, and take neighbors for overlapping.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.compiler import verify
from engine.compiler.ir.instruction import Instruction
from engine.compiler.liveness import Needed, last_uses, placed
from engine.compiler.passes.buffer_assignment import MOST
from engine.executor.extension import executor
from engine.executor.grouping import Group, grouped
from engine.executor.loops import encoded
from engine.executor.own_loops import LOOPS
from engine.executor.refs import Call, Recording, Ref, Root, Row
from engine.runtime import buffer_pool
from engine.runtime.tuning import TUNING

_ALIGN = 64
_POOLED = TUNING.buffer_bytes
_LARGE = TUNING.pool_least
_RELEASE = TUNING.release_elements


class Fixed(tuple[Any]):
    """Something that is the same in each run, among the operands of calls and the results."""

    __slots__ = ()


def table_of(
    recording: Recording,
    instructions: Sequence[Instruction],
    kernels: Sequence[Callable[..., Any]],
    host: tuple[Callable[..., Any], ...],
) -> Any:
    """The table that does what was recorded, with a kernel per instruction; `host` is described in _executor.c.

    None if its block would be larger than programs in Python may have.
    """
    encoding = _Encoding(recording)
    if verify.ENABLED:
        verify_block(encoding.steps, recording.results, encoding.sizes)
    return encoding.table(instructions, kernels, host) if sum(encoding.sizes) <= MOST else None


class _Encoding:
    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.steps = grouped(recording.steps)
        self.bases: list[tuple[Any, ...]] = [(), ()]
        self.sizes = [0, 0]
        self.loops: dict[Any, int] = {}
        self.place()

    # ---- memory ------------------------------------------------------------------------------------------------------

    def place(self) -> None:
        """Give each root a base, and those in the block an offset."""
        steps, results = self.steps, [x for x in self.recording.results if isinstance(x, (Ref, Root))]
        roots = [_roots(step) for step in steps]
        self.last = last_uses(roots, map(_root, results))
        leaving = {_root(x) for x in results if not (isinstance(x, Ref) and x.scalar)}
        for root in self.recording.arguments:
            self.external(root, leaving)
        needed: dict[Root, Needed] = {}
        tiles: dict[Root, Needed] = {}
        for i, (step, used) in enumerate(zip(steps, roots, strict=True)):
            for root in used:
                if root.base >= 0 or root in needed:
                    continue
                if root.kind != "computed" or root.escapes or root in leaving:
                    self.external(root, leaving)
                elif isinstance(step, Group) and step.holds(root) and self.last[root] == i:
                    root.tiled = True
                else:
                    needed[root] = Needed(_aligned(root.extent[1]), i, self.last[root])
            if isinstance(step, Group):
                step.fuse()
                tiles |= _tiles(step, i)
        for x in results:
            if _root(x).base < 0 and _root(x) not in needed:
                self.external(_root(x), leaving)
        for base, (kind, held) in enumerate((("block", needed), ("scratch", tiles))):
            offsets, self.sizes[base] = placed(held)
            for root, offset in offsets.items():
                root.base, root.offset = base, offset
            self.bases[base] = kind, self.sizes[base]

    def external(self, root: Root, leaving: set[Any]) -> None:
        """A base of its own."""
        root.base, root.offset = len(self.bases), 0
        if root.kind == "argument":
            form: tuple[Any, ...] = (root.position, root.dtype, root.shape, root.strides)
            form += () if root.array is None else (root.array.tobytes(),)
            self.bases.append(("argument", *form) if root.dtype is not None else ("slot",))
        elif root.kind == "constant":
            self.bases.append(("constant", root.array))
        elif root.kind == "slot":
            form = (root.dtype, root.shape, root.strides) if root.dtype is not None else ()
            self.bases.append(("slot", *form))
        else:
            assert root.dtype is not None
            large = root.extent[1] >= _LARGE and _is_c_order(root)
            make = functools.partial(buffer_pool.empty, root.shape, root.dtype) if large else None
            self.bases.append(("fresh", root.dtype, root.shape, root.strides, make))

    # ---- steps -------------------------------------------------------------------------------------------------------

    def table(
        self, instructions: Sequence[Instruction], kernels: Sequence[Callable[..., Any]], host: tuple[Any, ...]
    ) -> Any:
        numbers: list[int] = []
        steps: list[tuple[Any, ...]] = []
        first = count = work = 0
        checked = -1
        ends: dict[int, list[Root]] = {}
        for root, last in self.last.items():
            if root.kind == "slot":
                ends.setdefault(last, []).append(root)
        dead: list[Root] = []
        for i, step in enumerate(self.steps):
            dead += ends.get(i, ())
            if isinstance(step, Row) and step.position == checked:
                numbers += self.row(step)
                count, work = count + 1, work + step.work
                continue
            if count > first:
                steps.append(_stretch(first, count, work, checked))
            first, work, checked = count, 0, -1
            if isinstance(step, Group):
                each, (tiles, rest) = step.tile, divmod(step.count, step.tile)
                for start, some, times in ((0, each, tiles), (tiles * each, rest, 1)):
                    parts = [self.part(step, *part, start) for part in step.parts(some)] if some else []
                    numbers += itertools.chain(*parts)
                    count += len(parts)
                    steps += [("rows", first, count, True, times, 0)] if parts else []
                    first = count
                continue
            if isinstance(step, Row):
                numbers += self.row(step)
                count, work, checked = count + 1, step.work, step.position
                continue
            steps.append(self.call(step, instructions[step.position], kernels[step.position], dead))
            dead = []
        if count > first:
            steps.append(_stretch(first, count, work, checked))
        outputs = tuple([self.access(x) for x in self.recording.results])
        pool = (buffer_pool.take, buffer_pool.give_back) if sum(self.sizes) >= _POOLED else None
        assert executor is not None
        return executor.Table(
            len(self.recording.arguments),
            tuple(self.bases),
            tuple([loop[0] if len(loop) == 1 else loop for loop in self.loops]),
            np.array(numbers, np.intp).tobytes(),
            tuple(steps),
            outputs,
            host,
            pool,
        )

    def row(self, row: Row) -> list[int]:
        loop = self.loops.setdefault(row.loop, len(self.loops))
        own = LOOPS.get(row.loop[0])
        if own is not None and own.indexed:
            held = row.operands[0][0]
            self.bases[held.base] = ("constant", held.array.tobytes())
        places = [(root.base, root.offset + offset) for root, offset in row.operands]
        return encoded(row, loop, places)

    def part(self, group: Group, row: Row, by: tuple[int, ...], start: int) -> list[int]:
        """A row for some lines of a group, from one on."""
        loop = self.loops.setdefault(row.loop, len(self.loops))
        places, advance = [], []
        for (root, offset), step in zip(row.operands, by, strict=True):
            places.append((root.base, root.offset + offset + (0 if root.tiled else start * step)))
            advance.append(0 if root.tiled else group.tile * step)
        return encoded(row, loop, places, tuple(advance))

    def call(
        self, call: Call, instruction: Instruction, kernel: Callable[..., Any], dead: Sequence[Root]
    ) -> tuple[Any, ...]:
        operands = [self.access(x, call.copies) for x in call.operands]
        names = tuple(instruction.params)
        operands += [("object", instruction.params[name]) for name in names]
        outs = tuple([root.base for root in call.results])
        frees = tuple([root.base for root in dead])
        return "call", call.position, kernel, tuple(operands), names or None, outs, instruction.op.multi, frees

    def access(self, x: Any, copies: bool = False) -> tuple[Any, ...]:
        """How an operand of a call, or a result, is made a Python object."""
        if isinstance(x, Fixed):
            return "object", x[0]
        root = _root(x)
        if isinstance(x, Root) or (x.is_root and root.kind in ("argument", "slot")):
            return ("given", root.position) if root.kind == "argument" else ("whole", root.base)
        if x.is_root and root.kind == "computed" and root.base and not x.scalar and not copies:
            return "whole", root.base
        kind = "copy" if copies else "view"
        return kind, root.base, root.offset + x.offset, x.dtype, x.shape, x.strides, x.scalar, x.writable


def verify_block(steps: Sequence[Row | Call | Group], results: Sequence[Any], sizes: Sequence[int]) -> None:
    """Check that what is read in the block of a table, and in its scratch, is still there, or raise IllegalProgram."""
    memory, numbers = [verify.Memory() for _ in sizes], _Numbers()

    def read(root: Root) -> None:
        # what has no elements, or is only filled, is read as it is
        if 0 <= root.base < len(sizes) and root.extent[1]:
            memory[root.base].read(numbers[root])

    def write(root: Root, end: int) -> None:
        if 0 <= root.base < len(sizes) and root.extent[1]:
            if not 0 <= root.offset <= root.offset + end <= sizes[root.base]:
                raise verify.IllegalProgram(f"{numbers[root]} does not fit into {sizes[root.base]} bytes")
            memory[root.base].write(numbers[root], root.offset, root.offset + end)

    for step in steps:
        # a second tile shows whether the first one has written over what it needs
        for _ in range(2 if isinstance(step, Group) else 1):
            if isinstance(step, Group):
                for root in {root for row in step.rows for root, _ in row.operands if root.tiled}:
                    memory[root.base].drop(numbers[root])
            for row in step.rows if isinstance(step, Group) else [step]:
                written = [root for root, _ in row.operands[-row.outputs :]] if isinstance(row, Row) else row.results
                for root in _roots(row):
                    if root not in written:
                        read(root)
                for root in written:
                    tile = step.held(root) if isinstance(step, Group) and root.tiled else 0
                    write(root, tile or root.extent[1])
    for x in results:
        if isinstance(x, (Ref, Root)):
            read(_root(x))
            if _root(x).base == 0 and not (isinstance(x, Ref) and x.scalar):
                raise verify.IllegalProgram(f"result {numbers[_root(x)]} lies in the block")


class _Numbers(dict[Root, str]):
    """Names of roots, for messages."""

    def __missing__(self, root: Root) -> str:
        name = self[root] = f"root {len(self)} of shape {root.shape}"
        return name


def _stretch(first: int, end: int, work: int, position: int) -> tuple[Any, ...]:
    """The step of some rows; those of the instruction at `position` may refuse what they are given."""
    step = first, end, work > _RELEASE
    return ("rows", *step) if position < 0 else ("checked", *step, position)


def _root(x: Any) -> Root:
    return x.root if isinstance(x, Ref) else x


def _roots(step: Row | Call | Group) -> list[Root]:
    if isinstance(step, Row):
        return [*[root for root, _ in step.operands], *step.keeps]
    if isinstance(step, Group):
        return list(step.forms)
    operands = [_root(x) for x in step.operands if not isinstance(x, Fixed)]
    return [*operands, *step.results]


def _aligned(size: int) -> int:
    """Memory that so many bytes take in the block, with a gap."""
    return -(-(size + 1) // _ALIGN) * _ALIGN + _ALIGN


def _tiles(group: Group, i: int) -> dict[Root, Needed]:
    """Memory that step `i` needs for one tile at a time, from row to row."""
    held = [[root for root in used if root.tiled] for used in group.used()]
    last = last_uses(held)
    first = {root: j for j, roots in reversed([*enumerate(held)]) for root in roots}
    return {root: Needed(_aligned(group.held(root)), (i, j), (i, last[root])) for root, j in first.items()}


def _is_c_order(root: Root) -> bool:
    step = 0 if root.dtype is None else root.dtype.itemsize
    for d, stride in zip(reversed(root.shape), reversed(root.strides), strict=True):
        if d != 1 and stride != step:
            return False
        step *= d
    return True
