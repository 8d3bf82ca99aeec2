"""The passes that look at a whole program, once all its instructions are there. See `engine.program.lowering`."""

from __future__ import annotations

from collections.abc import Collection

from engine.program.instruction import is_stateful, without_unused
from engine.program.passes.buffer_assignment import workspace
from engine.program.passes.horizontal_fusion import together
from engine.program.passes.inplace_concat import in_place
from engine.program.passes.loop_fusion import fused
from engine.program.passes.nan_checks import plain
from engine.program.passes.slice_concat import by_slices
from engine.program.program import Program


def finish(program: Program, passes: Collection[str]) -> None:
    """Apply those of the passes that are wanted."""
    for name, apply in _PASSES.items():
        if name in passes:
            apply(program)


def _join_siblings(program: Program) -> None:
    """Put instructions of one kind on many small arrays together."""
    program.instructions, count = together(program.instructions, program.avals, set(program.outputs), program.orders)
    if count:
        program.report["siblings"] = count


def _lay_out(program: Program) -> None:
    """Put vectors together slice by slice."""
    program.instructions, count = by_slices(
        program.instructions, program.avals, program.constants, set(program.outputs)
    )
    if count:
        program.report["slices"] = count


def _run_in_blocks(program: Program) -> None:
    """Put elementwise instructions on large arrays together."""
    program.instructions, count = fused(program.instructions, program.avals, set(program.outputs))
    if count:
        program.report["blocks"] = count


def _write_pieces(program: Program) -> None:
    """Put large arrays together piece by piece."""
    program.instructions, count = in_place(program.instructions, program.avals, set(program.outputs))
    if count:
        program.report["pieces"] = count


def _keep_places(program: Program) -> None:
    """Say where to write large results."""
    products = program.plain.products if program.plain is not None else ()
    program.workspace = workspace(program.instructions, program.avals, program.outputs, products)
    if program.workspace is not None:
        program.report["workspace"] = len(program.workspace.places) + len(program.workspace.results)


def _trust(program: Program) -> None:
    """Note which products may be plain, in a program that may be run twice."""
    if any(is_stateful(i.op, i.params) for i in program.instructions):
        return
    found = plain(program.instructions, program.avals)
    if found.products:
        program.plain = found
        program.report["finite"] = len(found.products)


def _prune(program: Program) -> None:
    """Drop what no output needs, except stateful instructions."""
    kept = without_unused(program.instructions, program.outputs)
    program.report["prune"] = len(program.instructions) - len(kept)
    program.instructions = kept
    needed = {*program.outputs, *(s for instruction in kept for s in instruction.inputs)}
    program.constants = {s: a for s, a in program.constants.items() if s in needed}


def _write_out(program: Program) -> None:
    """Write out what needs no call of a function of ours."""
    program.inline = True


_PASSES = {
    "prune": _prune,
    "siblings": _join_siblings,
    "slices": _lay_out,
    "blocks": _run_in_blocks,
    "pieces": _write_pieces,
    "finite": _trust,
    "inline": _write_out,
    "workspace": _keep_places,
}
