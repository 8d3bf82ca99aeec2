"""Elementwise calls on arrays of one size as a table that goes through them tile by tile and writes to some of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.executor.extension import executor
from engine.executor.loops import NO_HOST, encoded, loop_of
from engine.executor.refs import Row
from engine.runtime.tuning import TUNING

_TILE_BYTES = TUNING.native_tile
_RELEASE = TUNING.release_elements
_GAP = 64
"""Bytes between two tiles of scratch."""


def tiled_table(
    calls: Sequence[tuple[np.ufunc | None, tuple[int, ...], int]],
    size: int,
    dtype: np.dtype,
    arrays: int,
    written: Sequence[int],
    numbers: Sequence[np.dtype],
    scratch: int,
) -> Any:
    """A table for calls of ufuncs; None if a loop of NumPy's cannot be used.

    It takes vectors of one size and dtype, those that are written among them, then numbers. A call names the positions
    of its operands and of its result, which count the vectors, the numbers, and the tiles of scratch. Without a ufunc
    it copies.
    """
    if executor is None or not size:
        return None
    step, tile = dtype.itemsize, min(size, _TILE_BYTES // dtype.itemsize)
    tiles = -(-size // tile)
    bases: list[tuple[Any, ...]] = [("scratch", scratch * (tile * step + _GAP))]
    bases += [("target" if k in written else "argument", k, dtype, (size,), (step,)) for k in range(arrays)]
    bases += [("argument", arrays + k, kind, (), ()) for k, kind in enumerate(numbers)]
    loops: dict[Any, int] = {}
    packed: list[int] = []
    for ufunc, operands, out in calls:
        places, steps, advance, kinds = [], [], [], []
        for p in (*operands, out):
            vector, number = p < arrays, arrays <= p < arrays + len(numbers)
            held = p - arrays - len(numbers)
            places.append((1 + p, 0) if vector or number else (0, held * (tile * step + _GAP)))
            steps.append(0 if number else step)
            advance.append(tile * step if vector else 0)
            kinds.append(numbers[p - arrays] if number else dtype)
        if ufunc is None:
            loop: Any = (f"copy_{step}",)
        else:
            resolved = loop_of(ufunc, tuple(kinds[:-1]))
            if resolved is None or tuple(resolved[1]) != tuple(kinds):
                return None
            loop = resolved[0]
        number_of = loops.setdefault(loop, len(loops))
        row = Row(loop, (), (tile,), tuple(steps))
        packed += encoded(row, number_of, places, tuple(advance))
    named = tuple([loop[0] if len(loop) == 1 else loop for loop in loops])
    rows = ("rows", 0, len(calls), size > _RELEASE, tiles, size - (tiles - 1) * tile)
    count = arrays + len(numbers)
    return executor.Table(count, tuple(bases), named, np.array(packed, np.intp).tobytes(), (rows,), (), NO_HOST, None)
