"""The verifier refuses programs that are broken on purpose, each in one way."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from engine import executor
from engine.compiler import pipeline, verify
from engine.compiler.program import Program
from engine.compiler.verify import IllegalProgram
from engine.core.aval import Aval
from engine.core.dtypes import float32, float64
from engine.core.structural import scale
from engine.executor import encoding
from engine.executor.refs import Root, Row
from engine.executor.rowlines import lines_of
from engine.ops import linalg, reduce, shape, trig
from engine.ops.joining import concat, unstack
from engine.runtime.structs import replace
from tests.compiler.test_program import lowered, names
from tests.processes import printed

A = np.random.default_rng(0).normal(size=(400, 400))


def several(x: Any) -> Any:
    """Ops of one and of several results, a constant, a view, values in the block."""
    a = trig.tanh(x) * 0.5
    b = linalg.matmul(a, x)
    first, *_ = unstack(b, axis=0)
    c = linalg.matmul(trig.sin(b), x)
    return [reduce.reduce_sum(scale(c, trig.cos(c))), first, reduce.reduce_sum(shape.transpose(c, (1, 0)), 0)]


def joined(x: Any) -> Any:
    """Operands of a large concat, computed in place."""
    return concat([trig.sin(x), trig.cos(x)], 0) * 2.0


def at(program: Program, name: str) -> int:
    return names(program).index(name)


def changed(program: Program, name: str, **facts: Any) -> None:
    """The first instruction of an op, with something else in it."""
    program.instructions = list(program.instructions)
    k = at(program, name)
    program.instructions[k] = replace(program.instructions[k], **facts)


def over_its_operand(program: Program) -> None:
    """A cosine is written over what it is made of, which others read later."""
    k = at(program, "cos")
    s, (t,) = program.instructions[k].outputs[0], program.instructions[k].inputs
    program.buffers.offsets[s] = program.buffers.offsets[t]


def reversed_(program: Program) -> None:
    program.instructions = program.instructions[::-1]


def written_twice(program: Program) -> None:
    changed(program, "sin", outputs=program.instructions[at(program, "tanh")].outputs)


def without(name: str) -> Callable[[Program], None]:
    def broken(program: Program) -> None:
        program.instructions = [i for i in program.instructions if i.op.name != name]

    return broken


def said_to_be(aval: Aval) -> Callable[[Program], None]:
    def broken(program: Program) -> None:
        program.avals[program.instructions[at(program, "sin")].outputs[0]] = aval

    return broken


def fewer_results(program: Program) -> None:
    k = at(program, "unstack_op")
    changed(program, "unstack_op", outputs=program.instructions[k].outputs[:-1])


def another_constant(program: Program) -> None:
    s = next(s for s, x in program.constants.items() if np.shape(x) == ())
    program.constants[s] = np.zeros(3)


def not_there(program: Program) -> None:
    program.outputs = (*program.outputs, max(program.avals) + 1)


def result_in_block(program: Program) -> None:
    program.outputs = (*program.outputs, next(iter(program.buffers.offsets)))


def view_in_block(program: Program) -> None:
    program.outputs = (*program.outputs, program.instructions[at(program, "transpose_op")].outputs[0])


def too_small(program: Program) -> None:
    program.buffers.size -= 1


def operands_lost(program: Program) -> None:
    # the product is written over what it multiplies, which its kernel still reads
    k = at(program, "matmul_op")
    s, (t, _) = program.instructions[k].outputs[0], program.instructions[k].inputs
    program.buffers.offsets[s] = program.buffers.offsets[t]


def rows_twice(program: Program) -> None:
    last = max(k for k, n in enumerate(names(program)) if n == "write_rows")
    program.instructions = list(program.instructions)
    program.instructions[last] = replace(program.instructions[last], params={"start": 0})


def rows_elsewhere(program: Program) -> None:
    s, (whole, start, stop) = next(iter(program.buffers.concat_rows.items()))
    program.buffers.concat_rows[s] = whole, start + 1, stop + 1


def rows_missing(program: Program) -> None:
    first, last = [i for i in program.instructions if i.op.name == "write_rows"]
    program.instructions = [i for i in program.instructions if i is not first]
    changed(program, "write_rows", inputs=(first.inputs[0], last.inputs[1]))
    program.buffers.concat_rows.clear()


def read_too_early(program: Program) -> None:
    (whole,) = program.instructions[at(program, "alloc")].outputs
    changed(program, "multiply", inputs=(whole, program.instructions[at(program, "multiply")].inputs[1]))


def not_there_yet(program: Program) -> None:
    k = at(program, "alloc")
    program.instructions.insert(at(program, "write_rows") - 1, program.instructions.pop(k))


BROKEN = {
    "uses before definitions": (several, reversed_, "not defined there"),
    "a value that is written twice": (several, written_twice, "is written twice"),
    "a value that is never written": (several, without("tanh"), "not defined there"),
    "another shape": (several, said_to_be(Aval((400, 1), float64)), "is said to be"),
    "another dtype": (several, said_to_be(Aval((400, 400), float32)), "is said to be"),
    "fewer results": (several, fewer_results, "has 400 results"),
    "another constant": (several, another_constant, "is said to be"),
    "a result that is not there": (several, not_there, "is a result and is not defined"),
    "a result in the block": (several, result_in_block, "is a result and lies in the block"),
    "a view of the block as a result": (several, view_in_block, "is a result and lies in the block"),
    "a block that is too small": (several, too_small, "does not fit into the block"),
    "memory that is used again too early": (several, over_its_operand, "is needed after"),
    "a product over what it reads": (several, operands_lost, "is needed after"),
    "rows that are written twice": (joined, rows_twice, "have been written"),
    "rows that lie elsewhere": (joined, rows_elsewhere, "lies in rows|does not fit into rows"),
    "rows that are missing": (joined, rows_missing, "is being filled"),
    "an array that is not full": (joined, read_too_early, "is being filled"),
    "rows of what is not there": (joined, not_there_yet, "not there yet"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_programs_are_refused(name: str) -> None:
    function, broken, message = BROKEN[name]
    program = lowered(function, [A])
    verify.verify(program, "all passes")
    broken(program)
    with pytest.raises(IllegalProgram, match=message) as caught:
        verify.verify(program, "what the test did")
    assert str(caught.value).startswith("after what the test did: ")


def test_the_pass_at_fault_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(program: Program) -> int:
        reversed_(program)
        return 1

    table = [replace(p, apply=broken) if p.name == "slice_concat" else p for p in pipeline.PIPELINE]
    monkeypatch.setattr(pipeline, "PIPELINE", tuple(table))
    with pytest.raises(IllegalProgram, match=r"^after slice_concat: "):
        lowered(several, [A])
    monkeypatch.setattr(verify, "ENABLED", False)
    lowered(several, [A])


@pytest.mark.parametrize(("value", "on"), [("1", True), ("0", False), ("", False), (None, False)])
def test_it_is_off_by_default(value: str | None, on: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(verify.VARIABLE, raising=False)
    said = {} if value is None else {verify.VARIABLE: value}
    assert printed("from engine.compiler import verify; print(verify.ENABLED)", **said) == f"{on}\n"


# ---- tables of the native executor -----------------------------------------------------------------------------------


def root(size: int, offset: int, base: int = 0) -> Root:
    return Root("computed", np.dtype(float), (size,), (8,), base=base, offset=offset)


def row(*roots: Root, count: int = 1) -> Row:
    return Row((np.add, 0), tuple([(r, 0) for r in roots]), (count,), tuple([8] * len(roots)))


def test_tables_whose_memory_is_used_again_too_early_are_refused() -> None:
    given, a, b = root(4, 0, base=2), root(4, 0), root(4, 64)
    encoding.verify_block([row(given, a), row(a, b), row(b, a)], [given], [96, 0])
    with pytest.raises(IllegalProgram, match="is read before it is written"):
        encoding.verify_block([row(a, b)], [], [96, 0])
    with pytest.raises(IllegalProgram, match="does not fit into 64 bytes"):
        encoding.verify_block([row(given, b)], [], [64, 0])
    with pytest.raises(IllegalProgram, match="lies in the block"):
        encoding.verify_block([row(given, a)], [a], [96, 0])
    over = root(1, 24)
    with pytest.raises(IllegalProgram, match="is needed after"):
        encoding.verify_block([row(given, a), row(given, over), row(a, b)], [], [96, 0])
    # a part of what is gone is written
    with pytest.raises(IllegalProgram, match="is needed after"):
        encoding.verify_block([row(given, a), row(given, over), row(given, a)], [], [96, 0])


def test_groups_are_looked_at_tile_by_tile() -> None:
    given, a, b = root(8, 0, base=2), root(8, 0), root(8, 128)
    held = root(8, 0)
    held.tiled = True
    group = encoding.Group([], 8)
    for each in ((a, b), (given, held), (held, b)):
        lines = lines_of(row(*each, count=8))
        assert lines is not None and group.add([lines], True)
    # one row after the other nothing would be amiss
    encoding.verify_block([row(given, a), *[row(a, b), row(given, root(8, 0)), row(b, b)]], [], [192, 0])
    with pytest.raises(IllegalProgram, match="is needed after"):
        encoding.verify_block([row(given, a), group], [], [192, 0])


@pytest.mark.skipif(not executor.status().active, reason=str(executor.status()))
def test_tables_of_programs_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    program = lowered(several, [A[:5, :5]])

    monkeypatch.setattr(encoding, "placed", lambda needed: (dict.fromkeys(needed, 0), 1 << 12))
    program(A[:5, :5])
    with pytest.raises(IllegalProgram, match="is needed after"):
        program(A[:5, :5])
