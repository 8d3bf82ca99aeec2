"""Which inner loop NumPy uses for which dtypes, and whether calling it directly gives the same bits as NumPy's call.

NumPy does not promise that its loops give the bits of its calls, so each loop is compared with the call before it is
first used: on ordinary and special numbers, in one piece and with gaps. One that differs is left out for good.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NoReturn

import numpy as np

from engine.core.eager import in_c
from engine.executor.extension import executor
from engine.executor.hidden import offset_in
from engine.executor.own_loops import LOOPS, instead_of
from engine.executor.refs import Ref, Root, Row, constant_ref, elementwise
from engine.runtime.tuning import TUNING

rejected: list[str] = []
"""Loops that are left out because they gave other bits."""

_COUNT = 67
_STEP = 31
"""Has no divisor in common with the number of numbers to choose from, so that each is chosen once at most."""
_ALIGN = 64
_PERIOD = 1009
"""After so many numbers they come again."""
_LARGE = 1 << 20
"""Bytes of an array from which on its own numbers are taken."""
_SPECIAL = (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-310, 1e-40, 2.5, -0.5, 88.0, -745.0, 1e30, 3.0, 0.1)


@lru_cache(maxsize=1 << 10)
def loop_of(ufunc: np.ufunc, dtypes: tuple[Any, ...]) -> tuple[tuple[np.ufunc, int], tuple[np.dtype, ...]] | None:
    """The loop for operands of these dtypes, and the dtypes that it takes and gives; None if there is none to be used.

    In place of a dtype a Python number has its type.
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
            trusted = ufunc.signature is not None or is_trusted(ufunc, _kept(loop, resolved), resolved)
            return (loop, resolved) if trusted else None
    return None


def loop_alone(ufunc: np.ufunc, dtypes: tuple[np.dtype, ...]) -> tuple[int, int] | None:
    """Which of its loops a ufunc uses for operands of exactly these dtypes, and the number of the result's; or None."""
    loop = loop_of(ufunc, dtypes)
    if loop is None or loop[1][:-1] != dtypes:
        return None
    (_, index), resolved = loop
    return index, resolved[-1].num


if in_c and executor is not None:
    in_c.setup_loops(np.ufunc, loop_alone)


@lru_cache(maxsize=1 << 8)
def samples(dtype: np.dtype, shift: int) -> np.ndarray:
    """Ordinary and special numbers of a dtype, in an order of their own for each `shift`."""
    each = np.arange(_COUNT)
    spread = _spread(_COUNT, shift)
    if dtype.kind in "biu":
        return _rounded(spread, dtype)
    numbers = np.concatenate([np.array(_SPECIAL).repeat(3), spread * np.array([1e-3, 1, 20])[each % 3]])
    with np.errstate(all="ignore"):
        mixed = numbers[(each * _STEP + 7 * shift) % len(numbers)].astype(dtype)
        if dtype.kind == "c":
            mixed.imag = numbers[(each * _STEP + 7 * shift + 40) % len(numbers)]
    return mixed


def _spread(count: int, shift: int) -> np.ndarray:
    """Numbers between -1 and 1, whose sums are rounded; it takes 10 ms to load NumPy's random ones."""
    return np.sin((np.arange(count) + 1) * (1 + 0.7548776662466927 * shift))


def _rounded(numbers: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Numbers between -1 and 1 in another dtype, integers up to a hundred times as large."""
    if dtype.kind == "b":
        return numbers > 0
    if dtype.kind in "iu":
        return (100 * (abs(numbers) if dtype.kind == "u" else numbers)).astype(dtype)
    return (numbers + 1j * numbers[::-1]).astype(dtype) if dtype.kind == "c" else numbers.astype(dtype)


def numbers_like(x: np.ndarray, shift: int = 1) -> np.ndarray:
    """Ordinary numbers that lie in memory as an array does; a large one itself, which takes no more memory."""
    low, high = Root("constant", x.dtype, x.shape, x.strides).extent
    if high - low > _LARGE:
        return x
    held = np.resize(_ordinary(x.dtype, shift), -(-(high - low) // x.itemsize))
    return np.ndarray(x.shape, x.dtype, held, -low, x.strides)


@lru_cache(maxsize=1 << 6)
def _ordinary(dtype: np.dtype, shift: int) -> np.ndarray:
    return _rounded(_spread(_PERIOD, shift), dtype)


def special_like(dtype: np.dtype, shape: tuple[int, ...], strides: tuple[int, ...], shift: int) -> np.ndarray:
    """Ordinary and special numbers that lie in memory in such a way."""
    low, high = Root("constant", dtype, shape, strides).extent
    held = np.resize(samples(dtype, shift), -(-(high - low) // dtype.itemsize))
    return np.ndarray(shape, dtype, held, -low, strides)


def same_bits(a: Any, b: Any) -> bool:
    """Whether arrays agree in all bits, but for those inside of a NaN."""
    a, b = np.atleast_1d(np.asarray(a)), np.atleast_1d(np.asarray(b))
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.tobytes() == b.tobytes():
        return True
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
        places = [(*known.get(root, (len(given), 0)), offset) for root, offset in row.operands]
        numbers += encoded(row, loops.index(row.loop), [(base, offset - start) for base, start, offset in places])
    steps, results = (("rows", 0, len(rows), False),), (("whole", len(given)),)
    packed = np.array(numbers, np.intp).tobytes()
    table = executor.Table(len(given), bases, tuple(names), packed, steps, results, NO_HOST, None)
    return table(*[x for _, x in given])[0]


def _refuse(*_: Any) -> NoReturn:
    raise RuntimeError("rows were given arrays of another form than they were made for")


NO_HOST = (_refuse, _refuse, _refuse, bool)
"""Of tables whose rows call no Python."""


def reduces_alike(rows: Sequence[Row], given: Sequence[tuple[Ref, np.ndarray]], expected: Any) -> bool:
    """Whether rows reduce arrays to the same bits as NumPy did."""
    result = np.asarray(expected)
    return same_bits(run_rows(rows, given, result), result)


def encoded(row: Row, loop: int, places: list[tuple[int, int]], advance: tuple[int, ...] | None = None) -> list[int]:
    """A row as numbers; see ``row_read`` in rows.c."""
    numbers = [loop, len(row.outer), *[base for base, _ in places], *[offset for _, offset in places]]
    numbers += advance or (0,) * len(places)
    return [*numbers, *row.dims, *row.steps, *row.outer, *row.strides]


_INSTEAD = instead_of(0, 0)
"""By ufunc: the loop of our own that takes the place of NumPy's."""


def _kept(loop: tuple[Any, ...], dtypes: Sequence[np.dtype]) -> tuple[Any, ...]:
    """A loop, or ours of the same name in its place where NumPy's is wrong."""
    ufunc, name = loop[0], f"{getattr(loop[0], '__name__', '')}_{dtypes[0].char}"
    return (name,) if isinstance(ufunc, np.ufunc) and ufunc.__name__ in _INSTEAD and name in LOOPS else loop


def replaced(loop: tuple[Any, ...], operands: Sequence[Ref]) -> tuple[Any, ...]:
    """A loop, or one of our own in its place.

    For the larger or smaller of numbers and one number NumPy's takes four times as long.
    """
    loop = _kept(loop, [x.dtype for x in operands])
    if not isinstance(loop[0], np.ufunc) or loop[0].__name__ not in _INSTEAD or all(x.size != 1 for x in operands):
        return loop
    kind = operands[0].dtype.char
    name = f"{_INSTEAD[loop[0].__name__]}_{kind}"
    return (name,) if name in LOOPS and _gives_the_same(name, loop[0], kind) else loop


@lru_cache(maxsize=8)
def _gives_the_same(name: str, ufunc: np.ufunc, kind: str) -> bool:
    """Whether a loop of our own gives the bits of NumPy's call for numbers and one number, in either order."""
    many, numbers = samples(np.dtype(kind), 0), np.array(_SPECIAL[:8], kind)[:, np.newaxis]
    for operands in ((many, numbers), (numbers, many), (many[:5], numbers), (numbers, many[:5])):
        expected = ufunc(*operands)
        arrays = [(constant_ref(x), x) for x in operands]
        row = elementwise((name,), [*[ref for ref, _ in arrays], constant_ref(expected)])
        if not reduces_alike([row], arrays, expected):
            return False
    return True


@lru_cache(maxsize=1 << 8)
def _trials(dtypes: tuple[np.dtype, ...]) -> tuple[list[list[np.ndarray]], tuple[Any, ...], bytes, np.ndarray]:
    """Trials of a loop: operands of one after the other, and for a table the bases and a row per trial.

    The operands lie in one piece or with gaps, all or one of them, and the result does; one of several operands is a
    single number; they are many or few. The last item says where in the table's result the elements of all trials are:
    like values in a table's block, those of each trial are aligned.
    """
    *of_operands, result = dtypes
    whole = [samples(d, i) for i, d in enumerate(of_operands)]
    gaps = [np.repeat(x, 3)[::3] for x in whole]
    single = [np.broadcast_to(x[:1], _COUNT) for x in whole]
    trials = [whole, gaps, [whole[0], *gaps[1:]]]
    if len(of_operands) > 1:
        trials += [[whole[0], *single[1:]], [single[0], *whole[1:]]]
    trials += [[x[i : i + n] for x in whole] for n in (1, 2, 5) for i in (0, 10, 30, 50)]
    wide = [np.repeat(x, 4)[::4] for x in whole]
    apart = [whole, gaps, wide]
    held = [*whole, *gaps, *wide]
    numbers: list[int] = []
    where: list[int] = []
    at, item = 0, result.itemsize
    for step, operands in [*[(item, x) for x in trials], *[(2 * item, x) for x in apart]]:
        offsets = [[offset_in(y, x) for x in held] for y in operands]
        places = [next((k, offset) for k, offset in enumerate(each) if offset is not None) for each in offsets]
        count = len(operands[0])
        row = Row((), (), (count,), (*[y.strides[0] for y in operands], step))
        numbers += encoded(row, 0, [*places, (len(held), at)])
        where += range(at // item, (at + count * step) // item, step // item)
        at += -(-count * step // _ALIGN) * _ALIGN
    bases = (*[("constant", x) for x in held], ("fresh", result, (at // item,), (item,), None))
    return [*trials, *apart], bases, np.array(numbers, np.intp).tobytes(), np.array(where)


def is_trusted(ufunc: np.ufunc, loop: tuple[np.ufunc, int], dtypes: tuple[np.dtype, ...]) -> bool:
    """Whether a loop gives the bits of the ufunc's calls; what does not is noted in `rejected`."""
    assert executor is not None
    special: Any = sys.modules.get("scipy.special")
    if ufunc.nout != 1 or (ufunc.nin > 2 and ufunc is getattr(special, ufunc.__name__, None)):
        # at extreme samples some of SciPy's functions with parameters (hyperu, hyp2f1) never end
        return False
    trials, bases, numbers, where = _trials(dtypes)
    try:
        with np.errstate(all="ignore"):
            expected = np.concatenate([ufunc(*operands) for operands in trials])
    except ValueError:
        # it refuses some numbers, as integers do negative powers; rows could not say so
        return False
    steps, results = (("rows", 0, len(trials), False),), (("whole", len(bases) - 1),)
    table = executor.Table(0, bases, (loop[0] if len(loop) == 1 else loop,), numbers, steps, results, NO_HOST, None)
    if same_bits(table()[0][where], expected):
        return True
    rejected.append(f"{ufunc.__name__} {''.join(d.char for d in dtypes)}")
    return False


# ---- calls tile by tile ----------------------------------------------------------------------------------------------

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
    step, tile = dtype.itemsize, min(size, TUNING.native_tile // dtype.itemsize)
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
    rows = ("rows", 0, len(calls), size > TUNING.release_elements, tiles, size - (tiles - 1) * tile)
    count = arrays + len(numbers)
    return executor.Table(count, tuple(bases), named, np.array(packed, np.intp).tobytes(), (rows,), (), NO_HOST, None)
