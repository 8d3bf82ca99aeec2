"""Which inner loop NumPy uses for which dtypes, and whether calling it directly gives the same bits as NumPy's call.

NumPy does not promise that its loops give the bits of its calls, so each loop is compared with the call before it is
first used: on ordinary and special numbers, in one piece and with gaps. One that differs is left out for good.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NoReturn

import numpy as np

from engine.program.native.extension import executor
from engine.program.native.memory import Row

rejected: list[str] = []
"""Loops that are left out because they gave other bits."""

_COUNT = 67
_SPECIAL = (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-310, 1e-40, 2.5, -0.5, 88.0, -745.0, 1e30, 3.0, 0.1)


@lru_cache(maxsize=1 << 10)
def loop_of(ufunc: np.ufunc, dtypes: tuple[Any, ...]) -> tuple[tuple[np.ufunc, int], tuple[np.dtype, ...]] | None:
    """The loop for operands of these dtypes, and the dtypes that it takes and gives; None if there is none to be used.

    Parameters
    ----------
    dtypes : tuple
        A dtype per operand; for a Python number its type.
    """
    assert executor is not None
    try:
        resolved = ufunc.resolve_dtypes((*dtypes, *[None] * ufunc.nout))
    except TypeError:
        return None
    numbers = bytes([d.num for d in resolved if d.num < 128])
    types, width = executor.ufunc_types(ufunc), ufunc.nargs
    for index in range(len(types) // width):
        if types[index * width : (index + 1) * width] == numbers:
            loop = ufunc, index
            return (loop, resolved) if ufunc.signature is not None or _is_trusted(loop, resolved) else None
    return None


def samples(dtype: np.dtype, shift: int, count: int = _COUNT) -> np.ndarray:
    """Ordinary and special numbers of a dtype."""
    rng = np.random.default_rng(shift)
    if dtype.kind == "b":
        return rng.integers(0, 2, count).astype(dtype)
    if dtype.kind in "iu":
        return rng.integers(0 if dtype.kind == "u" else -100, 100, count).astype(dtype)
    special = np.array(_SPECIAL).repeat(3)
    numbers = np.concatenate([special, rng.normal(size=count) * rng.choice([1e-3, 1, 20], count)])
    with np.errstate(all="ignore"):
        mixed = numbers[rng.permutation(len(numbers))[:count]].astype(dtype)
        if dtype.kind == "c":
            mixed.imag = numbers[rng.permutation(len(numbers))[:count]]
    return mixed


def same_bits(a: Any, b: Any) -> bool:
    """Whether arrays agree in all bits, but for those inside of a NaN."""
    a, b = np.atleast_1d(np.asarray(a)), np.atleast_1d(np.asarray(b))
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind == "c":
        return same_bits(a.real, b.real) and same_bits(a.imag, b.imag)
    if a.dtype.kind != "f":
        return bool((a == b).all())
    return bool((((a == b) & (np.signbit(a) == np.signbit(b))) | ((a != a) & (b != b))).all())


def run_row(row: Row, given: Sequence[np.ndarray], start: np.ndarray, places: Sequence[int]) -> np.ndarray:
    """Run a row on arrays, written to a copy of `start`; `places`: which operand is which, -1 for what is written."""
    assert executor is not None
    out = start.copy(order="K")
    forms = [("argument", i, x.dtype, x.shape, x.strides) for i, x in enumerate(given)]
    bases = (*forms, ("fresh", out.dtype, out.shape, out.strides, lambda: out))
    numbers = encoded(row, 0, [(place % len(bases), 0) for place in places])
    host = (_refuse, _refuse, _refuse, lambda: False)
    steps, results = (("rows", 0, 1, False),), (("whole", len(given)),)
    packed = np.array(numbers, np.intp).tobytes()
    return executor.Table(len(given), bases, (row.loop,), packed, steps, results, host, None)(*given)[0]


def _refuse(*_: Any) -> NoReturn:
    raise RuntimeError("a loop cannot be tried")


def reduces_alike(row: Row, x: np.ndarray, start: np.ndarray, expected: Any) -> bool:
    """Whether a row reduces an array to the same bits as NumPy did."""
    result = np.asarray(expected)
    blank = np.empty_like(result)
    blank[...] = start
    return same_bits(run_row(row, [x], blank, (-1, 0, -1)), result)


def encoded(row: Row, loop: int, places: list[tuple[int, int]], advance: tuple[int, ...] | None = None) -> list[int]:
    """A row as numbers; see ``row_read`` in rows.c."""
    bases, offsets = zip(*places, strict=True)
    moved = advance or (0,) * len(places)
    return [loop, len(row.outer), *bases, *offsets, *moved, *row.dims, *row.steps, *row.outer, *row.strides]


def _is_trusted(loop: tuple[np.ufunc, int], dtypes: tuple[np.dtype, ...]) -> bool:
    ufunc, _ = loop
    whole = [samples(d, i) for i, d in enumerate(dtypes[: ufunc.nin])]
    gaps = [np.repeat(x, 3)[::3] for x in whole]
    single = [whole[0], *[x[:1].repeat(_COUNT) for x in whole[1:]]]
    if ufunc.nout != 1:
        return False
    few = [[x[i : i + n] for x in whole] for n in (1, 2, 5) for i in (0, 10, 30, 50)]
    for operands in (whole, gaps, single, *few):
        with np.errstate(all="ignore"):
            expected = ufunc(*operands)
        row = Row(loop, (), (len(expected),), (*[x.strides[0] for x in operands], expected.itemsize))
        found = run_row(row, operands, np.zeros_like(expected), (*range(len(operands)), -1))
        if not same_bits(found, expected):
            rejected.append(f"{ufunc.__name__} {''.join(d.char for d in dtypes)}")
            return False
    return True
