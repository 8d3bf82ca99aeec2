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
from engine.program.native.memory import Ref, Row, constant_ref, elementwise

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


def run_rows(rows: Sequence[Row], given: Sequence[tuple[Ref, np.ndarray]], result: np.ndarray) -> np.ndarray:
    """Run rows on arrays; what they write and is not given goes to a new array like `result`."""
    assert executor is not None
    out = np.zeros_like(result)
    bases = (
        *[("argument", i, x.dtype, x.shape, x.strides) for i, (_, x) in enumerate(given)],
        ("fresh", out.dtype, out.shape, out.strides, lambda: out),
    )
    known = {ref.root: (i, ref.offset) for i, (ref, _) in enumerate(given)}
    loops = list(dict.fromkeys([row.loop for row in rows]))
    names = [loop[0] if len(loop) == 1 else loop for loop in loops]
    numbers: list[int] = []
    for row in rows:
        found = [(*known.get(root, (len(given), 0)), offset) for root, offset in row.operands]
        numbers += encoded(row, loops.index(row.loop), [(base, offset - start) for base, start, offset in found])
    steps, results = (("rows", 0, len(rows), False),), (("whole", len(given)),)
    host = (_refuse, _refuse, _refuse, lambda: False)
    packed = np.array(numbers, np.intp).tobytes()
    table = executor.Table(len(given), bases, tuple(names), packed, steps, results, host, None)
    return table(*[x for _, x in given])[0]


def _refuse(*_: Any) -> NoReturn:
    raise RuntimeError("a loop cannot be tried")


def reduces_alike(rows: Sequence[Row], given: Sequence[tuple[Ref, np.ndarray]], expected: Any) -> bool:
    """Whether rows reduce arrays to the same bits as NumPy did."""
    result = np.asarray(expected)
    return same_bits(run_rows(rows, given, result), result)


def encoded(row: Row, loop: int, places: list[tuple[int, int]], advance: tuple[int, ...] | None = None) -> list[int]:
    """A row as numbers; see ``row_read`` in rows.c."""
    numbers = [loop, len(row.outer), *[base for base, _ in places], *[offset for _, offset in places]]
    numbers += advance or (0,) * len(places)
    return [*numbers, *row.dims, *row.steps, *row.outer, *row.strides]


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
        given = [(constant_ref(x), x) for x in operands]
        row = elementwise(loop, [*[ref for ref, _ in given], constant_ref(expected)])
        found = run_rows([row], given, expected)
        if not same_bits(found, expected):
            rejected.append(f"{ufunc.__name__} {''.join(d.char for d in dtypes)}")
            return False
    return True
