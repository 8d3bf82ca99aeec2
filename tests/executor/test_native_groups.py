"""Rows that run tile by tile in groups: the same bits as one after the other, whatever they read and write."""

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import graph_api
from engine import executor
from engine.compiler.passes import slice_sum
from engine.compiler.passes.nan_checks import without_choices
from engine.compiler.pipeline import ALL_PASSES
from engine.core.structural import scale
from engine.derivatives.reverse import reverse
from engine.executor import encoding, extension, fusion, grouping, staged
from engine.executor.grouping import Group
from engine.executor.refs import Root, Row
from engine.ops import (
    arithmetic,
    compare,
    complexes,
    creation,
    explog,
    extrema,
    gather,
    joining,
    matrix_roots,
    reduce,
    scan,
    shape,
    trig,
)
from engine.ops.compare import cast_like, keep_chosen, where
from engine.runtime.errors import IndexOutOfRangeError
from tests.compiler.test_program import lowered
from tests.compiler.test_same_numbers import assert_same
from tests.executor.test_native import check_random_programs, derived, natively, other
from tests.support import assert_same_bits

WHOLE = tuple(name for name in ALL_PASSES if name not in ("narrowing", "columns"))
"""Passes that leave arrays whole: parts of these small ones would be one tile."""

pytestmark = [
    pytest.mark.skipif(not executor.status().active, reason=str(executor.status())),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
]


@pytest.fixture(params=[(64, 16, 3), (1000, 16, 1)])
def groups(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Group]]:
    """The groups that tables are made of, of small arrays too; threads share them."""
    found: list[Group] = []

    def noted(steps: Any) -> Any:
        made = grouping.grouped(steps)
        found.extend([s for s in made if isinstance(s, Group)])
        return made

    # sums of slices in the place of what groups hold
    monkeypatch.setattr(slice_sum, "_LEAST", 3 << 14)
    monkeypatch.setattr(grouping, "_LEAST", request.param[1])
    monkeypatch.setattr(grouping, "_LEAST_FUSED", request.param[1])
    monkeypatch.setattr(grouping, "_TILE", request.param[0])
    monkeypatch.setattr(encoding, "grouped", noted)
    extension.executor.use_threads(request.param[2], 1.0)
    yield found
    extension.share(0)


def chain(x: Any, y: Any) -> Any:
    """Elementwise ops of two dtypes, with results that others use."""
    a = trig.sin(x) * x + 2.0
    b = explog.exp(-a * y)
    c = where(x > y, b, arithmetic.maximum(x, y))
    return c * c, reduce.reduce_sum(a, 0)


def stencil(x: Any, y: Any) -> Any:
    """Slices along both axes, of arguments and of what is computed just before."""
    z = x * y
    across, down = z[:, 1:] - z[:, :-1], z[1:, :] - z[:-1, :]
    return explog.sqrt(1.0 + across[1:] * across[1:] + down[:, 1:] * down[:, 1:])


def shifted(x: Any, y: Any) -> Any:
    """What is written in one place and read in others."""
    z = arithmetic.square(shape.reshape(x, (-1,)))
    return trig.sin(z[1:] - z[:-1]) * z[:-1] + z[1:]


def spread(x: Any, y: Any) -> Any:
    """Rows and columns that are used for all of a matrix."""
    return explog.exp(x[:1] - y[:, :1]) * x + y[0] / (1.0 + y[:, 1:2] * x)


def sums(x: Any, y: Any) -> Any:
    """Arithmetic whose parts are needed once, twice, and on either side; infinities and zeros among them."""
    a = x * y - y / x + (x - 1.5 * y)
    b = (y - a * x) * (2.0 - (x + x)) / (a - 3.0) - x[:1] * y
    c = arithmetic.square(x - y) * -(b / 3.0) + (a + b) * (a + b)
    return b * (y[:, :1] - c * x) + (a - (c - x * y) * y) / (1.0 - c)


def kinks(x: Any, y: Any) -> Any:
    """What has a kink, and its choices."""
    a = complexes.abs(x - y) * arithmetic.sign(x * 2.0 - y) + 1.0 / (x * y)
    b = arithmetic.maximum(a * x, 0.25) - arithmetic.minimum(a + y, -0.5) * arithmetic.maximum(1.5, y - a)
    c = where(x < y, x * b, arithmetic.maximum(y, x)) + where(a < b, y, arithmetic.minimum(x, b) * y)
    return where(complexes.abs(b) < 1.0, 0.5 * b * b, complexes.abs(b) - 0.5) * c


def waves(x: Any, y: Any) -> Any:
    """Complex numbers, their parts, and products in which a zero stays zero; infinities and zeros among them."""
    a = explog.exp(complexes.complex(0.0 * x, y)) * complexes.complex(x, y)
    b = a * complexes.conj(a - complexes.complex(y, x)) / (a * a + 2.0)
    c = scale(b - a, b * a) + scale(complexes.complex(x - 3.0 * y, 0.0 * y), 1.0 / (b - b[:1]))
    return complexes.abs(b) * complexes.real(a * b) + complexes.angle(c) * complexes.imag(c - b)


def guarded(x: Any, y: Any) -> Any:
    """Products in which a zero stays zero."""
    a = scale(x - y, y * x) + scale(y + x, scale(x * 2.0, y) - 1.0) + scale(y, x * y - 2.0 * x)
    b = a - scale(x - 3.0 * y, y + y) + scale(x - 5.0 * y, x + x)
    c = b + scale(x - 7.0 * y, cast_like(x < y, x)) + scale(x - 9.0 * y, cast_like(x > y, x), either=True)
    chosen = cast_like(y > 0.0, y)
    return keep_chosen(x / y, chosen, fixed=True) * c + keep_chosen(x, cast_like(x < y, x) * y, fixed=True)


def normalized(x: Any, y: Any) -> Any:
    """What reduces each line and goes on with it, and what adds up all lines; some lines are needed behind that."""
    shares = explog.exp(x - extrema.reduce_max(x, 1, keepdims=True))
    shares = shares / reduce.reduce_sum(shares, 1, keepdims=True)
    apart = y - reduce.reduce_mean(y, 1, keepdims=True)
    apart = apart / explog.sqrt(reduce.reduce_mean(apart * apart, 1, keepdims=True) + 0.1)
    across = reduce.reduce_sum(shares * apart, 0)
    down = extrema.reduce_max(apart, 0) + reduce.reduce_logsumexp(x * y, 0)
    return apart * shares + across * x + down * reduce.reduce_sum(across * apart, 1, keepdims=True)


def components(x: Any, y: Any) -> Any:
    """Columns, each read several times and once, and put together again; what is put together is read at once."""
    a, b, c = (x[:, k] for k in range(3))
    u, v = shape.reshape(y[:, 0], (-1,)), y[:, 2]
    parts = [a * u - b * v, b * u + c * c, where(a < v, a * b, c), c / u + y[:, 1]]
    turned = joining.stack(parts, axis=1)
    return turned[:, 0] * turned[:, 3] - turned[:, 1] * a, trig.sin(a) * trig.sin(turned[:, 2])


def halves(x: Any, y: Any) -> Any:
    """What is written in two halves and read across their border."""
    a, b = shape.reshape(x, (-1,)), shape.reshape(y, (-1,))
    both = joining.concat([a * b, a - b], 0)
    middle = a.shape[0] // 3
    return trig.sin(both[middle : middle + a.shape[0]] * a + b) * b


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(
    "f", [chain, stencil, shifted, spread, sums, kinks, waves, normalized, components, halves], ids=lambda f: f.__name__
)
def test_tiles_change_no_bit(f: Callable[..., Any], dtype: str, groups: list[Group]) -> None:
    rng = np.random.default_rng(0)
    for size in ((41, 37), (40, 32), (3, 300)):
        inputs = [rng.standard_normal(size).astype(dtype) for _ in range(2)]
        program = lowered(lambda *xs: derived(functools.partial(_sum_of, f), xs), inputs, WHOLE)
        table = natively(program, inputs)
        for given in (inputs, [other(x) for x in inputs]):
            assert_same(table(*given), program.run_generated(*given), f.__name__)
    assert any(group.count > group.tile for group in groups)
    assert any(root.tiled for group in groups for root in group.forms)


@pytest.mark.parametrize(
    ("mask", "count", "times", "stay"),
    [(compare.equal, 30, 4, 0), (compare.equal, 5000, 1, 0), (compare.equal, 5000, 4, 1), (compare.less, 5000, 4, 0)],
)
def test_choices_stay_where_what_equals_something_is_repeated_and_added_up(
    mask: Any, count: int, times: int, stay: int
) -> None:
    """Nothing is known of how many elements another mask chooses."""

    def chosen(x: Any, y: Any) -> list[Any]:
        scaled = keep_chosen(x / y, cast_like(mask(y, 0.0), y), fixed=True)
        return [scaled * x, reduce.reduce_sum(2.0 * keep_chosen(x * y, cast_like(mask(y, 0.5), y), fixed=True), axis=1)]

    y = np.linspace(-1.0, 1.0, count)[None, :, None]
    plain = without_choices(lowered(chosen, [np.repeat(y, times, axis=2), y], WHOLE))
    assert plain is not None
    assert [i.op for i in plain.instructions].count(keep_chosen) == stay


@pytest.mark.parametrize("count", [6, 30])
def test_a_jacobian_of_attention_has_no_masks_until_there_is_a_nan(count: int) -> None:
    """The masks of its seeds are constants, although their shapes are taken from values."""
    given = [np.random.default_rng(0).normal(size=size) for size in ((count, 5), (5, 5))]

    def results() -> tuple[list[Any], Any]:
        with graph_api.Graph().as_default(), graph_api.Session() as session:
            x, w = (graph_api.placeholder(graph_api.float64, a.shape) for a in given)
            weights = graph_api.nn.softmax(x @ w @ graph_api.transpose(x))
            jacobian = graph_api.jacobian(weights @ graph_api.sqrt(x) + x, x)
            found = []
            for least in (0.5, 0.5, 0.5, 0.0, -1.0, 0.5):
                rows = np.abs(given[0])
                rows[0, 0] = least
                found.append(session.run(jacobian, {x: rows, w: given[1]}))
            (program,) = [e.program for e in session._executables.own.values()]
        return found, program

    found, program = results()
    with staged.in_python():
        assert_same_bits(found, results()[0])
    assert np.isinf(found[3]).any() and np.isfinite(found[5]).all()
    left = [i.op for i in (without_choices(program) or program).instructions]
    assert {keep_chosen, compare.not_equal, arithmetic.maximum}.isdisjoint(left)


def test_choices_of_few_elements_stay_where_something_equals_an_extreme() -> None:
    """Of pairs of places in the plane: a mask of what is larger than a number leaves out too little."""

    def near(x: Any, y: Any) -> Any:
        return reduce.reduce_sum(arithmetic.maximum(1.0 - squares_of_pairs(x, y), 0.0))

    inputs = [np.random.default_rng(0).normal(size=(k, 2)) for k in (500, 40)]
    for f, stay in ((nearest_on_average, True), (nearest, False), (near, False)):
        program = lowered(lambda *xs, f=f: derived(f, xs), inputs)
        plain = without_choices(program) or program
        large = [
            i for i in plain.instructions if i.op is keep_chosen and (plain.avals[i.outputs[0]].size or 0) >= 40_000
        ]
        assert bool(large) == stay, f.__name__


EVEN = np.arange(5000) % 2 == 0


@pytest.mark.parametrize(
    "part",
    [
        lambda x: gather.gather(trig.sin(x), np.flatnonzero(EVEN)),
        lambda x: [scale(x, EVEN * 1.0, either=True), reduce.reduce_sum(scale(x, ~EVEN * 1.0, either=True))],
        lambda x: matrix_roots.logm(gather.gather(x, np.array([[0, 1], [1, 3]])) + 4.0 * np.eye(2)),
    ],
    ids=["gathered", "chosen again", "refused"],
)
def test_a_value_that_no_other_one_tells_of_is_looked_at_itself(part: Callable[[Any], Any]) -> None:
    """A part of it need not hold the NaN that a choice makes zero, and a kernel may refuse the NaN."""

    def chosen(x: Any, y: Any) -> Any:
        return part(1.0 + keep_chosen(x * y, y, fixed=True))

    x, y = np.linspace(0.5, 1.0, 5000), np.linspace(1.0, 2.0, 5000)
    program = lowered(chosen, [x, y], WHOLE)
    plain = without_choices(program)
    assert plain is not None and keep_chosen not in [i.op for i in plain.instructions]
    table = natively(program, [x, y])
    for place in (None, 0, 1):
        given = [x.copy(), y.copy()]
        if place is not None:
            given[0][place], given[1][place] = np.inf, 0.0
        assert_same(table(*given), program.run_generated(*given), str(place))


def test_what_reduces_lines_belongs_to_their_group(groups: list[Group], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouping, "_LEAST", 4000)
    rng = np.random.default_rng(2)
    for width in (100, 300):
        x, y = [rng.standard_normal((40, width)) for _ in range(2)]
        program = lowered(lambda *xs: derived(functools.partial(_sum_of, normalized), xs), [x, y])
        assert_same(natively(program, [x, y])(x, y), program.run_generated(x, y), "normalized")
        found = [group for group in groups if (group.count, group.length) == (40, width)]
        rows = [row for group in found for row in group.rows]
        assert any(row.loop[0] == "sum_each_d" for row in rows)
        assert any(row.work == 40 for row in rows)
        assert any(root.tiled and root.extent == (0, 40 * 8) for group in found for root in group.forms)
        assert any(group.sums for group in found)
        groups.clear()


def test_a_sum_of_all_leaves_tiles_small() -> None:
    x = np.linspace(-1.0, 1.0, 40000)
    found: list[Any] = []
    program = lowered(lambda x: derived(lambda x: reduce.reduce_sum(x * x / (1.0 + x * x)), (x,)), [x])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoding, "grouped", lambda steps: found.extend(made := grouping.grouped(steps)) or made)
        assert_same(natively(program, [x])(x), program.run_generated(x), "a sum")
    groups = [step for step in found if isinstance(step, Group)]
    assert groups and all(group.length == 1 and group.tile < group.count for group in groups)


def test_arithmetic_stays_in_registers(groups: list[Group]) -> None:
    rng = np.random.default_rng(1)
    for size in ((41, 37), (8, 1), (7, 300), (1, 2001)):
        for dtype in ("f4", "f8"):
            x, y = [np.round(3 * rng.standard_normal(size)).astype(dtype) for _ in range(2)]
            x.flat[:3] = np.inf, -0.0, np.nan
            found = [lambda *xs, f=f: derived(functools.partial(_sum_of, f), xs) for f in (sums, kinks, guarded)]
            for f in (*found, guarded):
                program = lowered(f, [x, y])
                table = natively(program, [x, y])
                for given in ([x, y], [x[:], -y], [other(x), other(y)], [-0.0 * x, y]):
                    assert_same(table(*given), program.run_generated(*given), f"{size} {dtype}")
    names = {row.loop[0] for group in groups for row in group.rows if isinstance(row.loop[0], str)}
    letters = {letter for name in names if name.startswith("fused") for letter in name[8:]}
    assert set("l+-*/nQ2stagibeXYkK") <= letters
    assert (
        letters & set("GH")
        and letters & set("IJ")
        and letters & set("ABCDEF")
        and letters & set("MN")
        and letters & set("mo")
    )


@pytest.mark.parametrize(("f", "many"), [(lambda x: x, True), (explog.exp, False)], ids=["arithmetic", "exponentials"])
def test_short_arrays_are_one_group_where_they_stay_in_registers(
    f: Callable[..., Any], many: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[Any] = []
    grouped = grouping.grouped
    monkeypatch.setattr(encoding, "grouped", lambda steps: [found.append(grouped(steps)), found[-1]][1])
    x, y = np.linspace(-1.0, 1.0, 300), np.linspace(1.0, 2.0, 300)
    program = lowered(lambda x, y: (f(x * y + x) - y) / y + 1.0, [x, y])
    assert_same(natively(program, [x, y])(x, y), program.run_generated(x, y), "short")
    assert any(isinstance(step, Group) for step in found[-1]) == many


def test_columns_are_copied_once_and_written_where_they_belong(groups: list[Group]) -> None:
    rng = np.random.default_rng(3)
    for rows in (5, 16, 131, 1030):
        for dtype in ("f4", "f8"):
            x, y = [rng.standard_normal((rows, 5)).astype(dtype) for _ in range(2)]
            x[-1], y[0, 0] = np.nan, -0.0
            program = lowered(lambda *xs: derived(functools.partial(_sum_of, components), xs), [x, y])
            table = natively(program, [x, y])
            for given in ([x, y], [other(x), -y]):
                assert_same(table(*given), program.run_generated(*given), f"{rows} {dtype}")
    rows_of = [row for group in groups for row in group.rows]
    packs = [
        [row for row in group.rows if row.loop[0] in ("copy_4", "copy_8") and row.steps[0] > 8] for group in groups
    ]
    assert any(packs) and all(len({row.operands[0] for row in each}) == len(each) for each in packs)
    fused = [row for row in rows_of if str(row.loop[0]).startswith("fused")]
    assert any(row.steps[-1] > row.operands[-1][0].item for row in fused)
    assert any(step > root.item for row in fused for (root, _), step in zip(row.operands[:-1], row.steps, strict=False))
    assert any(len(group.forms[root]) > 1 for group in groups for root in group.writes)


def test_what_a_group_writes_is_not_copied() -> None:
    """It may be written again behind the copy."""
    n, real = 100, np.dtype(float)
    pairs, y, a, b = [Root("computed", real, (n, d), (8 * d, 8)) for d in (2, 1, 1, 1)]
    rows = [
        Row((ufunc, 0), ((pairs, 0), (y, 0), (to, 0)), (n,), (16, 8, step))
        for ufunc, to, step in ((np.add, a, 8), (np.multiply, pairs, 16), (np.subtract, b, 8))
    ]
    assert [row.loop for row in fusion.fused(rows, n)] == [row.loop for row in rows]


@pytest.mark.parametrize(("loop", "dtype"), [("copy_8", float), ("cast_b_d", bool)])
def test_a_copy_of_a_copy_reads_what_is_there(loop: str, dtype: type) -> None:
    """The one between is left out, so nobody may read it."""
    n, real = 100, np.dtype(float)
    x = Root("argument", np.dtype(dtype), (n,), (np.dtype(dtype).itemsize,))
    between, result = [Root("computed", real, (n,), (8,), tiled=tiled) for tiled in (True, False)]
    rows = [
        Row((name,), ((of, 0), (to, 0)), (n,), (of.item, 8))
        for name, of, to in ((loop, x, between), ("copy_8", between, result))
    ]
    assert [[root for root, _ in row.operands] for row in fusion.fused(rows, n)] == [[x, result]]


def _sum_of(f: Callable[..., Any], x: Any, y: Any) -> Any:
    found = f(x, y)
    return reduce.reduce_sum(found[0] if isinstance(found, tuple) else found)


def test_what_is_read_elsewhere_is_written_before(groups: list[Group]) -> None:
    x = np.arange(400.0).reshape(20, 20) % 7
    program = lowered(lambda x: shifted(x, x), [x])
    assert_same_bits(natively(program, [x])(x), program.run_generated(x))
    for group in groups:
        for root in group.writes:
            assert len(group.forms[root]) == 1


@pytest.mark.parametrize("first", [1000, 1020])
def test_random_programs_tile_by_tile(first: int, groups: list[Group]) -> None:
    check_random_programs(first)
    assert groups


def apart(x: Any, y: Any) -> Any:
    """Differences of all pairs of rows."""
    return shape.expand_dims(x, 1) - shape.expand_dims(y, 0)


def nearest(x: Any, y: Any) -> Any:
    """The squared distances of rows from the nearest of others, and of these from the nearest of them."""
    squares = reduce.reduce_sum(arithmetic.square(apart(x, y)), 2)
    return reduce.reduce_sum(extrema.reduce_min(squares, 1)) + reduce.reduce_sum(extrema.reduce_min(squares, 0))


def farthest(x: Any, y: Any) -> Any:
    """The largest differences: what is chosen is used as it is, and in a quotient."""
    largest = extrema.reduce_max(complexes.abs(apart(x, y)), 1)
    return reduce.reduce_sum(largest * largest) + reduce.reduce_sum(extrema.reduce_max(apart(x, y) / (1.0 + y * y), 1))


def mixture(x: Any, y: Any) -> Any:
    """Soft choices: no share is zero, but where it is too small."""
    squares = reduce.reduce_sum(arithmetic.square(apart(x, y)), -1)
    return -reduce.reduce_sum(reduce.reduce_logsumexp(-30.0 * squares, 1)) + reduce.reduce_mean(explog.exp(-squares))


def variation(x: Any, y: Any) -> Any:
    """Neighbors along both axes, and sums along the middle of three."""
    across = complexes.abs(x[:, 1:] - x[:, :-1])
    return reduce.reduce_sum(across) + reduce.reduce_sum(reduce.reduce_sum(arithmetic.square(apart(x, y)), 1) * x)


def masked(x: Any, y: Any) -> Any:
    """Weights that are zero for most pairs, on numbers that may be infinite."""
    scores = where(reduce.reduce_sum(apart(x, y), 2) > 1.5, reduce.reduce_sum(apart(x, y) * apart(x, y), 2), 0.0)
    return reduce.reduce_sum(shape.expand_dims(scores, 2) * apart(x, y) * explog.exp(apart(x, y)))


def nearest_of_few(x: Any, y: Any) -> Any:
    """Those that others are compared with come first: reductions over the first axis."""
    squares = reduce.reduce_sum(arithmetic.squared_difference(shape.expand_dims(y, 1), shape.expand_dims(x, 0)), 2)
    return reduce.reduce_sum(extrema.reduce_min(squares, 0))


def shares_of_few(x: Any, y: Any) -> Any:
    """Soft choices along the first axis, and a sum over it of what has three axes."""
    scores = reduce.reduce_sum(arithmetic.multiply(shape.expand_dims(y, 1), shape.expand_dims(x, 0)), 2)
    shares = explog.exp(scores - extrema.reduce_max(scores, 0, keepdims=True))
    shares = shares / reduce.reduce_sum(shares, 0, keepdims=True)
    away = reduce.reduce_sum(complexes.abs(shape.expand_dims(y, 1) - shape.expand_dims(x, 0)), 0)
    return reduce.reduce_sum(shares * shares) + reduce.reduce_sum(away * x)


_OF_PAIRS = [nearest, farthest, mixture, variation, masked, nearest_of_few, shares_of_few]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("f", _OF_PAIRS, ids=lambda f: f.__name__)
def test_maps_of_pairs_are_reduced_in_tiles(f: Callable[..., Any], dtype: str, groups: list[Group]) -> None:
    rng = np.random.default_rng(4)
    for n, k, d in ((41, 37, 4), (150, 12, 8), (7, 5, 3), (1500, 9, 5), (64, 2, 1)):
        inputs = [rng.standard_normal((m, d)).astype(dtype) for m in (n, k)]
        program = lowered(lambda *xs: derived(f, xs), inputs)
        table = natively(program, inputs)
        ties, odd = [np.round(x) for x in inputs], [x.copy() for x in inputs]
        odd[0][1], odd[0][2], odd[1][-1, -1] = np.inf, np.nan, -np.inf
        for given in (inputs, [other(x) for x in inputs], ties, odd, [0 * x for x in inputs]):
            assert_same(table(*given), program.run_generated(*given), f"{f.__name__} {n} {k} {d}")
    assert max(len(group.rows) for group in groups) > 5


def springs(x: Any, i: Any, j: Any) -> Any:
    """Of pairs of places: what is taken at indices, and whose gradient is added up there."""
    apart = gather.gather(x, i) - gather.gather(x, j)
    stretched = explog.sqrt(reduce.reduce_sum(apart * apart, 1) + 0.5) - 1.0
    return stretched * stretched


@pytest.mark.parametrize("ints", ["i4", "i8"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(
    ("passes", "width"), [(ALL_PASSES, 3), (WHOLE, 3), (WHOLE, 7)], ids=["columns", "rows", "long rows"]
)
def test_rows_at_indices(passes: Any, width: int, dtype: str, ints: str, groups: list[Group]) -> None:
    rng = np.random.default_rng(6)
    x = rng.standard_normal((90, width)).astype(dtype)
    ends = [rng.integers(0, 90, 1300).astype(ints) for _ in range(2)]

    def f(x: Any, i: Any, j: Any) -> Any:
        y = springs(x, i, j)
        return [y, *reverse(list(x.trace.nodes), [(y, creation.ones_like(y))], [x])]

    for given in ([x], [x, *ends]):
        program = lowered(f if given[1:] else (lambda x: f(x, *ends)), given, passes)
        table = natively(program, given)
        for first in (x, x[::-1].copy(), np.where(x > 1.5, np.inf, x).astype(dtype)):
            now = [first, *[end[::-1].copy() for end in given[1:]]]
            assert_same(table(*now), program.run_generated(*now), "springs")
    for wrong in (-1, 90):
        bad = [x, ends[0], np.where(np.arange(1300) == 1299, wrong, ends[1]).astype(ints)]
        for run in (program, program.run_generated):
            with pytest.raises(IndexOutOfRangeError, match=f"= {wrong} is not in"):
                run(*bad)


def test_what_is_seen_in_several_pieces_is_no_tile(groups: list[Group]) -> None:
    def f(x: Any) -> Any:
        parts = [trig.sin(x * k) for k in (1.0, 2.0, 3.0)]
        first, second = joining.stack(parts), joining.stack(parts[::-1])
        for k in (2, 1, 0):
            x = x * trig.cos(shape.reshape(first[k : k + 1], [-1])) + shape.reshape(second[k : k + 1], [-1])
        return x

    x = np.random.default_rng(9).standard_normal(4000)
    program = lowered(f, [x])
    assert_same_bits(natively(program, [x])(x), program.run_generated(x))
    assert groups


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_a_running_sum_of_one_line_is_one_call(dtype: str, groups: list[Group]) -> None:
    x = np.random.default_rng(8).standard_normal((6, 700)).astype(dtype)

    def f(x: Any) -> Any:
        return explog.exp(2.0 * scan.cumsum(x * x - 1.0, axis=1, reverse=True)) * x

    program = lowered(f, [x])
    table = natively(program, [x])
    for given in (x, x[::-1].copy(), np.where(x > 2, np.inf, x).astype(dtype)):
        assert_same(table(given), program.run_generated(given), "running sums")
    parts = [row for group in groups for row, _ in group.parts(1) if row.operands[0][0] is row.operands[-1][0]]
    assert [(row.dims, set(row.outer)) for row in parts] == [((699,), {1})]


def test_zeros_are_left_out_of_sums(groups: list[Group]) -> None:
    rng = np.random.default_rng(5)
    x, y = rng.standard_normal((300, 6)), rng.standard_normal((40, 6))

    def to_nearest(x: Any, y: Any) -> Any:
        return reduce.reduce_sum(extrema.reduce_min(reduce.reduce_sum(arithmetic.square(apart(x, y)), 2), 1))

    program = lowered(lambda *xs: derived(to_nearest, xs), [x, y])
    table = natively(program, [x, y])
    for given in ([x, y], [x[::-1].copy(), -y], [np.round(x), np.round(y)]):
        assert_same(table(*given), program.run_generated(*given), "nearest")
    found = [chain for group in groups for chain in group.chains]
    assert found
    parts = [row.loop[0] for group in groups for row, _ in group.parts(2) if group.chains]
    assert "shares_d" in parts
    # where one of 40 is not zero, little is left to be done
    assert all(len(chain.some) < len(chain.rows) for chain in found)


def squares_of_pairs(x: Any, y: Any) -> Any:
    return reduce.reduce_sum(arithmetic.square(apart(x, y)), 2)


def nearest_on_average(x: Any, y: Any) -> Any:
    """A cotangent that is a number."""
    return reduce.reduce_mean(extrema.reduce_min(squares_of_pairs(x, y), 1))


def nearest_by_roots(x: Any, y: Any) -> Any:
    """A cotangent for each line."""
    return reduce.reduce_sum(explog.sqrt(extrema.reduce_min(squares_of_pairs(x, y), 1)))


def best_of_products(x: Any, y: Any) -> Any:
    scores = reduce.reduce_sum(arithmetic.multiply(shape.expand_dims(x, 1), shape.expand_dims(y, 0)), 2)
    return reduce.reduce_sum(arithmetic.square(extrema.reduce_max(scores, 1)))


_CHOSEN = [nearest_on_average, nearest_by_roots, best_of_products]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("f", _CHOSEN, ids=lambda f: f.__name__)
def test_shares_of_extremes_are_found_behind_any_cotangent(
    f: Callable[..., Any], dtype: str, groups: list[Group]
) -> None:
    """Pairs are summed up in registers, those that were chosen are found, and nothing else of pairs is computed."""
    rng = np.random.default_rng(11)
    for k, d in ((40, 6), (9, 8), (70, 2), (24, 17)):
        groups.clear()
        x, y = rng.standard_normal((300, d)).astype(dtype), rng.standard_normal((k, d)).astype(dtype)
        program = lowered(lambda *xs: derived(f, xs), [x, y])
        table = natively(program, [x, y])
        odd = np.where(np.arange(300)[:, None] == 7, np.inf, x).astype(dtype), np.where(y == y[1, 0], np.nan, y)
        for given in (
            [x, y],
            [x[::-1].copy(), -y],
            [np.round(x), np.round(y)],
            [0 * x, 0 * y],
            [odd[0], y],
            [x, odd[1]],
        ):
            assert_same(table(*given), program.run_generated(*given), f"{f.__name__} {k} {d}")
        parts = [row.loop[0] for group in groups for row, _ in group.parts(2) if group.chains]
        assert f"shares_{np.dtype(dtype).char}" in parts
        always = [
            row for group in groups for row in group.rows[: len(group.rows) - sum(len(c.rows) for c in group.chains)]
        ]
        assert any(str(row.loop[0]).startswith("summed_") for row in always)
        assert not any(root.shape == (300, k, d) for row in always for root, _ in row.operands)


def test_a_second_chain_takes_nothing_from_the_first(groups: list[Group]) -> None:
    """The mask of what was chosen is needed for second derivatives, too, behind another number."""
    rng = np.random.default_rng(3)
    x, y = rng.standard_normal((300, 6)), rng.standard_normal((12, 6))

    def f(x: Any, y: Any) -> list[Any]:
        total = nearest_on_average(x, y)
        nodes = list(x.trace.nodes)
        (slope,) = reverse(nodes, [(total, creation.ones_like(total))], [y])
        nodes = list(x.trace.nodes)
        return [slope, *reverse(nodes, [(slope, creation.ones_like(slope))], [y])]

    program = lowered(f, [x, y])
    table = natively(program, [x, y])
    for given in ([x, y], [x * np.inf, y], [np.round(x), np.round(y)], [x, y]):
        assert_same(table(*given), program.run_generated(*given), "second derivatives")
    assert any(group.chains for group in groups)


def test_differences_of_pairs_are_made_again_where_they_are_needed() -> None:
    """Neither of the groups that need them keeps them beyond a tile: minima along both axes."""
    found: list[Group] = []
    rng = np.random.default_rng(4)
    x, y = rng.standard_normal((700, 6)), rng.standard_normal((90, 6))

    def noted(steps: Any) -> Any:
        made = grouping.grouped(steps)
        found.extend([s for s in made if isinstance(s, Group)])
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoding, "grouped", noted)
        program = lowered(lambda *xs: derived(nearest, xs), [x, y])
        table = natively(program, [x, y])
    for given in ([x, y], [np.round(x), np.round(y)]):
        assert_same(table(*given), program.run_generated(*given), "nearest")
    pairs = [root for group in found for root in group.forms if root.shape == (700, 90, 6) and root.kind == "computed"]
    assert pairs and all(root.tiled for root in pairs)


def test_second_derivatives_of_what_was_chosen(groups: list[Group]) -> None:
    """What only rows for single elements hand on must not lie where another one writes."""
    rng = np.random.default_rng(9)

    def curved(x: Any, y: Any) -> list[Any]:
        z = nearest(x, y)
        (g,) = reverse(list(x.trace.nodes), [(z, creation.ones_like(z))], [y])
        total = reduce.reduce_sum(g)
        return [z, g, *reverse(list(x.trace.nodes), [(total, creation.ones_like(total))], [y])]

    for n, k, d in ((900, 20, 16), (1500, 9, 5)):
        inputs = [rng.uniform(size=(n, d)), rng.uniform(size=(k, d))]
        program = lowered(curved, inputs)
        table = natively(program, inputs)
        for given in (inputs, [-x for x in inputs]):
            assert_same(table(*given), program.run_generated(*given), "curved")
    assert any(group.chains for group in groups)


def test_what_was_chosen_is_computed_in_parts(groups: list[Group]) -> None:
    """More elements than go side by side at a time, of lines of several lengths."""
    rng = np.random.default_rng(8)
    for n, k, d in ((900, 8, 1), (700, 16, 3), (500, 8, 40), (60, 9, 300)):
        x, y = rng.standard_normal((n, d)), rng.standard_normal((k, d))
        for dtype in (np.float64, np.float32):
            inputs = [x.astype(dtype), y.astype(dtype)]
            program = lowered(lambda *xs: derived(nearest_of_few, xs), inputs)
            table = natively(program, inputs)
            for given in (inputs, [np.round(z) for z in inputs], [-z for z in inputs]):
                assert_same(table(*given), program.run_generated(*given), f"{n} {k} {d}")


def test_what_follows_from_large_constants_is_computed_in_the_group(groups: list[Group]) -> None:
    """It is too large to be kept, and no reason to leave the group."""
    numbers = np.random.default_rng(0).normal(size=20_000)

    def f(x: Any) -> Any:
        return trig.sin(x) * (x.trace.operand(numbers) * 2.0) + x

    x = np.ones(numbers.shape)
    program = lowered(f, [x], [name for name in ALL_PASSES if name != "constant_folding"])
    table = natively(program, [x])
    assert_same(table(x), program.run_generated(x))
    assert len(groups) == 1 and len(groups[0].rows) >= 2
