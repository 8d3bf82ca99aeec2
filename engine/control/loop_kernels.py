"""How loops run: the kernels of `scan_op` and of while loops.

A step runs the program of the body. Once that has a table (`engine.executor`), the table runs all steps that are
left, without a return to Python, if it can: then the carries keep their form, and no step calls Python.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from engine.closed.function import ClosedFunction
from engine.control.in_place import stepping
from engine.core.aval import Aval, format_shape
from engine.core.eager import abstract_operand
from engine.core.operands import Operand
from engine.core.value import aval_of
from engine.runtime.errors import ShapeError, UnimplementedError

_ASKED = (0, 1, 2, 3)
"""Steps before which a table is asked to run those left: a program has one after two runs, perhaps of another form."""
_FEWEST, _MOST_BYTES, _ENDLESS = 1 << 6, 1 << 22, 1 << 30
"""Iterations that a table runs in one go, of a loop whose end nobody knows: so many, later bytes of what is saved.

Where nothing is saved there needs to be no room for it; and a loop that has had as many steps twice is likely to have
as many again.
"""


def row_of(sequence: Aval) -> Aval:
    """The aval of what a sequence has in one row."""
    return Aval(None if sequence.shape is None else sequence.shape[1:], sequence.dtype)


def length_of(sequences: Sequence[Aval]) -> int | None:
    """How many rows sequences have, None if nobody knows; ShapeError if they differ, or one is a scalar."""
    for aval in sequences:
        if aval.shape == ():
            raise ShapeError("scan: what to loop over must have at least one dimension, got a scalar")
    known = {a.shape[0] for a in sequences if a.shape is not None and a.shape[0] is not None}
    if len(known) > 1:
        shown = ", ".join(format_shape(a.shape) for a in sequences)
        raise ShapeError(f"scan: what to loop over must agree in the first dimension, got shapes {shown}")
    return known.pop() if known else None


def stacked(pieces: Sequence[np.ndarray], what: str) -> np.ndarray:
    """The values of all iterations in one array; each piece holds those of some, all of one shape."""
    if len({piece.shape[1:] for piece in pieces}) > 1:
        shown = ", ".join(sorted({format_shape(piece.shape[1:]) for piece in pieces}))
        raise UnimplementedError(
            f"{what} changes its shape between iterations ({shown}), so its values cannot be stacked (as the "
            f"gradient of a while_loop needs them). Give it one shape, for example by padding; or let it enter the "
            f"loop with a known shape (set_shape), from which it departs"
        )
    if len(pieces) == 1:
        return pieces[0]
    # in C order, as on a tape; else the order would be that of the pieces
    whole = np.empty((sum(map(len, pieces)), *pieces[0].shape[1:]), pieces[0].dtype)
    return np.concatenate(pieces, out=whole)


def scan_kernel(
    *operands: Any, body: ClosedFunction, carries: int, sequences: int, backwards: bool = False,
    max_bytes: int | None = None,
) -> list[Operand]:  # fmt: skip
    """The last carries and the stacked results of a body, run once for each row of the sequences."""
    state: Sequence[Any] = operands[:carries]
    # rows lie as those of `unstack` do, by which a tape takes them
    columns = [np.ascontiguousarray(c) for c in operands[carries : carries + sequences]]
    captures = operands[carries + sequences :]
    length = length_of([aval_of(c) for c in columns])
    assert length is not None
    if length == 0:
        return [*state, *no_rows(state, columns, captures, body, carries)]
    pieces: list[list[np.ndarray]] = [[] for _ in body.results[carries:]]
    steps = range(length - 1, -1, -1) if backwards else range(length)
    step = stepping(body, state, lambda: [*[c[steps[0]] for c in columns], *captures])
    for done, t in enumerate(steps):
        if done in _ASKED:
            outcome = step.loop([*state, *columns, *captures], carries, sequences, steps[done:], before=done)
            if outcome is not None:
                _, state, stacks = outcome
                pieces = [_with_first(*pair, backwards) for pair in zip(pieces, stacks, strict=True)]
                break
        results = step.run(*state, *[c[t] for c in columns], *captures)
        state = results[:carries]
        _append(pieces, results[carries:])
    if backwards:
        for piece in pieces:
            piece.reverse()
    return [*state, *[stacked(piece, f"scan: result {i}") for i, piece in enumerate(pieces)]]


def _with_first(piece: list[np.ndarray], stack: np.ndarray, backwards: bool) -> list[np.ndarray]:
    """The rows of all steps, of which a stack has those behind the first ones, and room for these."""
    for k, row in enumerate(piece):
        if row.shape[1:] != stack.shape[1:]:
            return [*piece, stack[: -len(piece)] if backwards else stack[len(piece) :]]
        stack[-1 - k if backwards else k] = row[0]
    return [stack]


def no_rows(
    state: Sequence[Any], columns: Sequence[Any], captures: Sequence[Any], body: ClosedFunction, carries: int
) -> list[Operand]:
    """The stacks, without rows, of the further results of a body in a loop without steps."""
    # captured numbers may be those of a shape
    known = [*map(aval_of, state), *[row_of(aval_of(c)) for c in columns], *map(abstract_operand, captures)]
    try:
        avals: Sequence[Aval] = body.result_avals(known)
    except ShapeError:
        # rows that do not exist may have shapes that no step would take: none is made, so none is refused
        avals = [r.aval for r in body.results]
    # a row that is a carry has that one's shape, also where no body tells it
    carried = (*body.results[:carries], *body.parameters[:carries])
    shapes = {id(r): aval_of(x) for r, x in zip(carried, (*state, *state), strict=True)}
    made = [shapes.get(id(r), a) for r, a in zip(body.results[carries:], avals[carries:], strict=True)]
    return [_empty(a) for a in made]


def _empty(row: Aval) -> np.ndarray:
    return np.zeros((0, *[d or 0 for d in row.shape or ()]), row.dtype.numpy)


def iterated(
    operands: Sequence[Any], cond: ClosedFunction, body: ClosedFunction, count: int
) -> tuple[Sequence[Operand], int, list[list[np.ndarray]]]:
    """Run a while loop over `count` loop variables: these at the end, the number of iterations, and pieces.

    Per further result of `body`, these are its values of some iterations, one after the other.
    """
    found = _iterated(operands, cond, body, count)
    body.steps = found[1], found[1] == body.steps[0]
    return found


def _iterated(
    operands: Sequence[Any], cond: ClosedFunction, body: ClosedFunction, count: int
) -> tuple[Sequence[Operand], int, list[list[np.ndarray]]]:
    state, captures = operands[:count], operands[count:]
    pieces: list[list[np.ndarray]] = [[] for _ in body.results[count:]]
    last, steady = body.steps
    # one more, for the loop ends where fewer have run than may
    done, most = 0, (last + 1 if steady else _FEWEST) if pieces else _ENDLESS
    asked, step = True, stepping(body, state, lambda: captures)
    while True:
        if asked or done in _ASKED:
            outcome = step.loop([*state, *captures], count, 0, range(done, done + most), cond)
            asked = outcome is not None
            if outcome is not None:
                steps, state, stacks = outcome
                for piece, stack in zip(pieces, stacks, strict=True):
                    piece.append(stack[:steps])
                done += steps
                if steps < most:
                    return state, done, pieces
                saved = sum(stack.nbytes for stack in stacks) // steps
                most = max(_FEWEST, min(2 * most, _MOST_BYTES // max(saved, 1)))
                continue
        if not cond.run(*state, *captures)[0]:
            return state, done, pieces
        results = step.run(*state, *captures)
        state = results[:count]
        _append(pieces, results[count:])
        done += 1


def _append(pieces: Sequence[list[np.ndarray]], rows: Iterable[Any]) -> None:
    for piece, row in zip(pieces, rows, strict=True):
        piece.append(row[None])
