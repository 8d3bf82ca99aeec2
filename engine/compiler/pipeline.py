"""The pass pipeline: one table of all passes, in the order in which they are applied.

A pass of level "node" looks at one node at a time, while `engine.compiler.lowering` makes instructions of nodes; so all
passes of that level run interleaved. A pass of level "state" looks at the assignments to variables. A pass of level
"program" or "buffers" is a function of a finished program (`engine.compiler.ir.code.Code`). Every pass is exact: any
subset of the passes gives the same bits, infinities, NaN and signs of zero included.

`PIPELINE` is the one place that lists passes. The arguments ``passes=``, the on/off tests, `Program.explain` and
docs/passes.md are made from it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from engine.compiler import verify
from engine.compiler.passes.buffer_assignment import assign_buffers
from engine.compiler.passes.columns import as_columns
from engine.compiler.passes.inplace_concat import concat_in_place
from engine.compiler.passes.inplace_scatter import at_entries
from engine.compiler.passes.narrowing import narrow
from engine.compiler.passes.outer_sum import sum_outers
from engine.compiler.passes.slice_concat import concat_slices
from engine.compiler.passes.slice_sum import sum_slices
from engine.compiler.passes.while_merging import merge_loops
from engine.compiler.program import Program
from engine.runtime.structs import struct


@struct(frozen=True)
class Pass:
    """One row of the table."""

    name: str
    """The key in ``passes=`` and in `Program.report`."""
    level: str
    """The things it looks at: ``"node"``, ``"state"``, ``"program"`` or ``"buffers"``."""
    summary: str
    """One sentence about what it does."""
    apply: Callable[[Program], int] | None = None
    """Changes a program and gives the number of values or instructions changed; None where lowering applies it."""
    exact: bool = True
    """Whether it changes no bit."""
    default: bool = True
    """Whether it is applied unless a caller says otherwise."""


def run_pipeline(program: Program, passes: Collection[str]) -> None:
    """Apply the passes of the levels "program" and "buffers" that are in `passes`, and note what each did."""
    if verify.ENABLED:
        verify.verify(program, "lowering")
    for one in PIPELINE:
        if one.apply is not None and one.name in passes:
            if count := one.apply(program):
                program.report[one.name] = count
            program.stages[one.name] = program.instructions
            if verify.ENABLED and (count or one is PIPELINE[-1]):
                verify.verify(program, one.name)


def table() -> str:
    """The passes as a table in Markdown."""
    rows = [f"| `{p.name}` | {p.level} | {_yes(p.exact)} | {_yes(p.default)} | {p.summary} |" for p in PIPELINE]
    return "\n".join(["| pass | level | exact | default | what it does |", "|---|---|---|---|---|", *rows])


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _inlining(program: Program) -> int:
    program.inline = True
    return 0


def _buffer_assignment(program: Program) -> int:
    program.buffers = assign_buffers(program)
    return 0 if program.buffers is None else len(program.buffers.offsets) + len(program.buffers.results)


PIPELINE = (
    Pass("noop_elimination", "node", "Drops a node that changes nothing for these shapes; merges reshapes."),
    Pass("shape_specialization", "node", "Replaces a node by simpler ops where its shapes allow it (`Op.specialize`)."),
    Pass("unrolling", "node", "Writes out the steps of a short loop over large arrays (`Op.unroll`)."),
    Pass("algebraic_simplification", "node", "Uses known contents: a product with ones is the other operand."),
    Pass("reference_operands", "node", "Reads the shape of an operand off an earlier value of that shape."),
    Pass("constant_folding", "node", "Computes a node of constants while lowering."),
    Pass("common_subexpression_elimination", "node", "Uses an earlier result of the same op, operands and parameters."),
    Pass("partial_assignment", "state", "Assigns to a variable the entries that changed, without a copy of the rest."),
    Pass(
        "deferred_updates",
        "state",
        "Leaves elementwise updates of variables to the moment when they are written: tile by tile, or many in one.",
    ),
    Pass("dead_code_elimination", "program", "Drops what no output needs.", Program.drop_unused),
    Pass("while_merging", "program", "Runs a loop once for its results and for its gradient.", merge_loops),
    Pass("narrowing", "program", "Computes of a value only what is needed and not known to be zero.", narrow),
    Pass("columns", "program", "Splits arrays of short rows into vectors, one for each place in a row.", as_columns),
    Pass("slice_concat", "program", "Copies slices in place of concatenating vectors and indexing.", concat_slices),
    Pass("slice_sum", "program", "Adds slices where they belong, without zeros around each.", sum_slices),
    Pass("outer_sum", "program", "Adds up products of columns and rows, several at a time.", sum_outers),
    Pass(
        "entries",
        "program",
        "Replaces entries of arrays in place, and takes one before what is done to all.",
        at_entries,
    ),
    Pass("inplace_concat", "program", "Writes the operands of a large concat straight into it.", concat_in_place),
    Pass("inlining", "program", "Writes NumPy calls out in the generated code (`Op.inline`).", _inlining),
    Pass("buffer_assignment", "buffers", "Gives large intermediates offsets in one block.", _buffer_assignment),
)
ALL_PASSES = tuple(one.name for one in PIPELINE)
DEFAULT_PASSES = tuple(one.name for one in PIPELINE if one.default)
