"""The smallest program that fails like a given one: parts are left out as long as it still does."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tests.fuzz.around import quiet
from tests.fuzz.compare import Difference, differences
from tests.fuzz.programs import Body, Instruction, Leaf, Program, everywhere, taken


def shrunk(program: Program, failure: Difference, seconds: float = 10.0) -> tuple[Program, Difference]:
    """The smallest program found whose ways differ in the same way, and in what."""
    with quiet():
        return _shrunk(program, failure, seconds)


def _shrunk(program: Program, failure: Difference, seconds: float) -> tuple[Program, Difference]:
    end = time.monotonic() + seconds

    def fails(candidate: Program) -> Difference | None:
        arrays = {x.name for x in candidate.leaves if x.kind in ("array", "variable")}
        if arrays.intersection(candidate.targets):
            return None
        try:
            return next((d for d in differences(candidate, (failure.way,)) if d == failure), None)
        except Exception:  # noqa: BLE001 - it is no program
            return None

    keys = tuple(k for k in program.keys if k in failure.key)
    smaller = replace(program, keys=keys, ways=(failure.way,))
    if fails(smaller) is None:
        smaller = replace(program, ways=(failure.way,))
    if (last := fails(smaller)) is None:
        return program, failure
    progress = True
    while progress and time.monotonic() < end:
        progress = False
        for candidate in candidates(smaller):
            if time.monotonic() > end:
                break
            if repr(candidate) != repr(smaller) and (found := fails(candidate)) is not None:
                smaller, last, progress = candidate, found, True
                break
    return smaller, last


def candidates(program: Program) -> Iterator[Program]:
    """Programs that are a little smaller, boldest first."""
    for step in (_fewer_targets, _without_instructions, _plainer_codes, _fewer_sources, _plainer, _smaller_leaves):
        for candidate in step(program):
            yield _tidy(candidate)


def _tidy(program: Program) -> Program:
    """Without leaves and instructions that nobody uses."""
    instructions = list(program.instructions)
    while True:
        used = set(program.results).union(*map(taken, instructions))
        kept = [i for i in instructions if used.intersection(i.names)]
        if len(kept) == len(instructions):
            break
        instructions = kept
    used |= set(program.sources)
    leaves = tuple(x for x in program.leaves if x.name in used)
    return replace(program, instructions=tuple(instructions), leaves=leaves)


def _fewer_targets(program: Program) -> Iterator[Program]:
    if len(program.targets) > 1:
        for target in program.targets:
            yield replace(program, targets=(target,))
    names = [n for i in program.instructions for n in i.names]
    for name in names[:-1]:
        if name not in program.targets:
            yield replace(program, targets=(name,))


def _without_instructions(program: Program) -> Iterator[Program]:
    """One instruction less, an operand of it in place of its result; in bodies, too."""
    for i in reversed(list(everywhere(program.instructions))):
        for name in i.names:
            for other in i.args:
                yield _renamed(_dropping(program, i) if len(i.names) == 1 else program, name, other)


def _dropping(program: Program, unwanted: Instruction) -> Program:
    def kept(instructions: Sequence[Instruction]) -> tuple[Instruction, ...]:
        return tuple(replace(i, bodies=tuple(map(body, i.bodies))) for i in instructions if i is not unwanted)

    def body(b: Body) -> Body:
        return replace(b, instructions=kept(b.instructions), bodies=tuple(map(body, b.bodies)))

    return replace(program, instructions=kept(program.instructions))


def _mapped(program: Program, change: Callable[[Instruction], Instruction], name: Callable[[str], str]) -> Program:
    def each(instructions: Sequence[Instruction]) -> tuple[Instruction, ...]:
        return tuple(
            change(replace(i, args=tuple(map(name, i.args)), bodies=tuple(map(body, i.bodies)))) for i in instructions
        )

    def body(b: Body) -> Body:
        return replace(
            b, instructions=each(b.instructions), args=tuple(map(name, b.args)), bodies=tuple(map(body, b.bodies))
        )

    return replace(
        program,
        instructions=each(program.instructions),
        targets=tuple(dict.fromkeys(map(name, program.targets))),
        sources=tuple(map(name, program.sources)),
    )


def _renamed(program: Program, old: str, new: str) -> Program:
    return _mapped(program, lambda i: i, lambda n: new if n == old else n)


def _plainer_codes(program: Program) -> Iterator[Program]:
    """A sine or a copy in place of an instruction."""
    for i in list(everywhere(program.instructions)):
        if i.args and not i.bodies and len(i.names) == 1:
            for code in ("tf.identity({0})", "tf.sin({0})", "{0} * 2.0"):
                if i.code not in ("tf.identity({0})", code):
                    new = replace(i, code=code, recipe=code, args=i.args[:1])
                    yield _mapped(program, lambda j, i=i, new=new: new if j.names == i.names else j, str)  # type: ignore[misc]
    for i in list(everywhere(program.instructions)):
        for a in i.args:
            for leaf in program.leaves:
                # another operand, already there
                if leaf.name < a:
                    changed = replace(i, args=tuple(leaf.name if b == a else b for b in i.args))
                    yield _mapped(program, lambda j, i=i, c=changed: c if j.names == i.names else j, str)  # type: ignore[misc]


def _fewer_sources(program: Program) -> Iterator[Program]:
    if len(program.sources) > 1:
        for i, source in enumerate(program.sources):
            yield replace(program, sources=(source,))
            yield replace(program, sources=program.sources[:i] + program.sources[i + 1 :])


def _plainer(program: Program) -> Iterator[Program]:
    if program.weighted:
        yield replace(program, weighted=False)
    if program.keys:
        yield replace(program, keys=())
    for leaf in program.leaves:
        if leaf.layout != "C":
            yield _with(program, leaf, layout="C")
        if leaf.known != "all":
            yield _with(program, leaf, known="all")
        if leaf.kind in ("variable", "constant", "array") and leaf.value.dtype.kind in "fc":
            yield _with(program, leaf, kind="source", layout="C")


def _with(program: Program, leaf: Leaf, **changes: Any) -> Program:
    return replace(program, leaves=tuple(replace(x, **changes) if x is leaf else x for x in program.leaves))


def _smaller_leaves(program: Program) -> Iterator[Program]:
    """Fewer and rounder numbers."""
    sizes = sorted({s for x in program.leaves for s in x.value.shape if s > 1}, reverse=True)
    for size in sizes:
        for new in (1, 2, size - 1):
            if new < size:
                yield replace(program, leaves=tuple(replace(x, value=_cut(x.value, size, new)) for x in program.leaves))
    for leaf in program.leaves:
        for axis, size in enumerate(leaf.value.shape):
            if size > 1:
                yield _with(program, leaf, value=np.take(leaf.value, range(size - 1), axis))
        if leaf.value.ndim:
            yield _with(program, leaf, value=leaf.value[0] if len(leaf.value) else leaf.value.reshape(-1))
        a = leaf.value
        if a.dtype.kind not in "fc":
            continue
        if a.dtype.name != "float64":
            others = [
                _with(program, x, value=x.value.astype("float64")) for x in program.leaves if x.value.dtype == a.dtype
            ]
            yield from others
        for plain in (np.ones_like(a), np.full_like(a, 2), np.round(a), np.round(a, 1)):
            if plain.tobytes() != a.tobytes() and _simplicity(plain) < _simplicity(a):
                yield _with(program, leaf, value=plain)
        for k in range(min(a.size, 12)):
            if a.flat[k] != 1 and _simplicity(a) > 0:
                b = a.copy()
                b.flat[k] = 1
                yield _with(program, leaf, value=b)
    floats = [x for x in program.leaves if x.value.dtype.kind in "fc"]
    if len({x.value.dtype for x in floats}) == 1 and floats[0].value.dtype != np.float64:
        yield replace(
            program,
            leaves=tuple(
                replace(x, value=np.real(x.value).astype("float64")) if x in floats else x for x in program.leaves
            ),
        )


def _simplicity(a: np.ndarray) -> int:
    return sum(len(repr(x)) - 3 for x in a.ravel().tolist() if x != 1)


def _cut(a: np.ndarray, size: int, new: int) -> np.ndarray:
    for axis, n in enumerate(a.shape):
        if n == size:
            a = np.take(a, range(new), axis)
    return a
