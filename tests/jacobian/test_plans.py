"""What plans consist of: ends that are peeled off, directions, colors, cuts; one plan for both front ends."""

import itertools
import math
import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from engine import clear_caches
from engine.core.op import Node
from engine.core.sparsity import Sites
from engine.jacobian.execution import decompression
from engine.jacobian.planning import cost
from engine.jacobian.planning import plan as planning
from engine.jacobian.planning.direction import DirectionAssignment, Ways
from engine.jacobian.planning.elimination import Product, Step, Sweep, plan_chain
from engine.jacobian.planning.plan import Plan
from engine.jacobian.structure.path import Path
from engine.jacobian.structure.peeling import peel_sources, peel_targets, unpeeled
from engine.transforms.vjp import recorded
from tests.jacobian.both import Function, on_tape, points
from tests.tapes import gradient_in


def path_of(fn: Any, *values: Any) -> Path:
    """The path of a function of the tape front end, from all its arguments to its result or results."""
    nodes, sources, out = recorded(lambda *xs: fn(tape_api, *xs), *values)
    return Path(nodes, sources, out if isinstance(out, (list, tuple)) else [out])


def tape_plan(fn: Function, *values: Any, **options: Any) -> Plan:
    return on_tape(fn, *values, method="jacobian_plan", **options).plan


def graph_plan(fn: Function, *values: Any, **options: Any) -> Plan:
    with graph_api.Graph().as_default():
        xs = [graph_api.placeholder(v.dtype, v.shape) for v in values]
        return graph_api.jacobian_plan(fn(graph_api, *xs), xs, **options).plan


# ---- structured functions --------------------------------------------------------------------------------------------

WIDE, TALL = np.random.default_rng(0).normal(size=(8, 300)), np.random.default_rng(1).normal(size=(300, 8))


def bottleneck(tf: Any, x: Any) -> Any:
    return tf.linalg.matvec(TALL, tf.tanh(tf.linalg.matvec(WIDE, x)))


def tridiagonal(tf: Any, u: Any) -> Any:
    return u[1:-1] * (u[2:] - u[:-2]) - (u[2:] - 2.0 * u[1:-1] + u[:-2])


def arrowhead(tf: Any, x: Any) -> Any:
    return tf.concat([[tf.reduce_sum(x**2.0)], x[1:] ** 2.0 * x[0]], 0)


def hidden_arrowhead(tf: Any, x: Any) -> Any:
    """Nothing can be peeled off the targets, so that the full row has to be found in the pattern."""
    return tf.sin(tf.pad([tf.reduce_sum(x**2.0)], [[0, x.shape[0] - 1]]) + x**2.0 * x[0])


def block_diagonal(tf: Any, x: Any) -> Any:
    blocks = tf.reshape(x, [-1, 3])
    return tf.reshape(blocks * tf.reduce_sum(blocks**2.0, axis=1, keepdims=True), [-1])


def two_scalars(tf: Any, x: Any, y: Any) -> Any:
    return tf.stack([tf.reduce_sum(tf.exp(x)), tf.reduce_sum(tf.sin(y))])


SEEDS: dict[str, tuple[Function, tuple[tuple[int, ...], ...], int]] = {
    "elementwise": (lambda tf, x: tf.sin(x) * x, ((50,),), 1),
    "tridiagonal by slices": (tridiagonal, ((50,),), 1),
    "tridiagonal after an elementwise op": (lambda tf, u: tridiagonal(tf, tf.sin(u)), ((50,),), 3),
    "arrowhead": (arrowhead, ((3000,),), 3),
    "arrowhead that cannot be peeled": (hidden_arrowhead, ((3000,),), 3),
    "block diagonal": (block_diagonal, ((30,),), 3),
    "two scalars": (two_scalars, ((50,), (60,)), 2),
    "wide": (lambda tf, x: tf.linalg.matvec(WIDE, x), ((300,),), 8),
    "tall": (lambda tf, x: tf.linalg.matvec(TALL, x), ((8,),), 8),
    "sums of rows": (lambda tf, x: tf.sin(tf.reduce_sum(tf.reshape(x, (6, 5)) ** 2.0, 1)), ((30,),), 1),
    "moves only": (lambda tf, x: tf.transpose(x)[::2], ((4, 3),), 1),
}


@pytest.mark.parametrize("name", SEEDS)
def test_seeds_and_one_plan_for_both_front_ends(name: str) -> None:
    fn, shapes, seeds = SEEDS[name]
    values = points(*shapes)
    plan = tape_plan(fn, *values)
    assert plan.seeds == seeds, str(plan)
    assert graph_plan(fn, *values) is plan
    forced = [tape_plan(fn, *values, mode=mode) for mode in ("forward", "reverse")]
    assert [{p.direction for p in f.sweeps} for f in forced] == [{"forward"}, {"reverse"}]


def test_each_scalar_is_swept_through_its_own_part_only() -> None:
    plan = tape_plan(two_scalars, *points((50,), (60,)))
    assert [(p.direction, p.count, len(p.reads)) for p in plan.sweeps] == [("reverse", 1, 1)] * 2
    assert plan.blocks[0][0] is not None


def test_a_bottleneck_is_a_cut() -> None:
    (x,) = points((300,))
    plan = tape_plan(bottleneck, x)
    (one,) = plan.sweeps
    assert one.chain is not None and len(one.chain.cuts) == 1
    assert isinstance(one.chain.step, (Product, Sweep)) and "cut at" in str(plan)
    assert graph_plan(bottleneck, x) is plan
    assert all(
        p.chain is None or one_way(p.chain.step, "forward") for p in tape_plan(bottleneck, x, mode="forward").sweeps
    )


@pytest.mark.parametrize(
    ("widths", "mode", "expected"),
    [
        # each side of the bottleneck is a matrix as it is
        ((500, 8, 500), "auto", 2 * 500 * 8 * 500),
        ((60, 80, 70, 30), "reverse", 30 * 2 * (60 * 80 + 80 * 70 + 70 * 30)),
        ((30, 80, 70, 60), "forward", 30 * 2 * (30 * 80 + 80 * 70 + 70 * 60)),
    ],
)
def test_flops(widths: tuple[int, ...], mode: str, expected: int) -> None:
    """Those of the products of matrices, and a little for what is elementwise."""
    weights = points(*itertools.pairwise(widths))

    def layers(tf: Any, x: Any) -> Any:
        for w in weights:
            x = tf.tanh(tf.matmul(x, w))
        return x

    plan = tape_plan(layers, *points((1, widths[0])), mode=mode)
    assert expected <= plan.facts["flops"] <= 1.1 * expected


def one_way(step: Step, direction: str) -> bool:
    """Whether all sweeps of a bracketing go in one direction."""
    if isinstance(step, Product):
        return one_way(step.left, direction) and one_way(step.right, direction)
    return step.direction == direction and (step.seeds is None or one_way(step.seeds, direction))


def test_the_plan_says_why() -> None:
    text = str(tape_plan(arrowhead, *points((3000,))))
    for word in ("reverse from", "forward from", "seeds", "why", "flops", "bytes", "predicted seconds", "block [0][0]"):
        assert word in text


def test_a_plan_in_words() -> None:
    def two_parts(tf: Any, x: Any) -> Any:
        h = tf.tanh(tf.reshape(x, [1, 100]) @ np.ones((100, 5)))
        return tf.concat([tf.reshape(h @ np.ones((5, 80)), [-1]), x[1:] * x[:-1]], 0)

    text = str(tape_plan(two_parts, *points((100,)), max_bytes=10**9))
    assert re.search(
        r"v\d+ \(MatMul, shape \(1, 80\)\) by the sources, cut at v\d+ \((MatMul|Tanh), shape \(1, 5\)\): "
        r"\(\[\w+, v\d+ to v\d+\] @ \[reverse, v\d+ to sources\]\)",
        text,
    )
    assert "reverse from v" in text and "(Mul, shape (99,)): 2 seeds (2 colors)" in text
    assert "block [0][0] 179 x 100: 8198 entries, each put in its place" in text
    assert "kB; results and the largest sweep)" in text
    assert "the result of a sweep" in str(tape_plan(lambda tf, x: tf.reduce_sum(x * x), *points((5,))))
    path = path_of(lambda tf, x: tf.reduce_sum(x) * x, *points((3,)))
    mirrored = planning.plan_for(path, planning.Options(symmetric=True))
    assert "the result of a sweep, mirrored at the diagonal" in str(mirrored)


# ---- plans are kept --------------------------------------------------------------------------------------------------


def test_equal_paths_share_a_plan() -> None:
    (x,) = points((7, 2), seed=3)
    fn = lambda tf, x: tf.sin(x) * tf.reduce_sum(x, 1, keepdims=True)  # noqa: E731
    first, second = path_of(fn, x), path_of(fn, x + 1.0)
    assert first.key == second.key and first.key is not None
    assert path_of(fn, x[:5]).key != first.key and path_of(fn, x.astype(np.float32)).key != first.key
    plan = tape_plan(fn, x)
    made = dict(planning.counters)
    assert tape_plan(fn, x - 1.0) is plan is graph_plan(fn, x)
    assert planning.counters["planned"] == made["planned"] and planning.counters["reused"] == made["reused"] + 2
    assert tape_plan(fn, x, max_bytes=10_000) is not plan


def test_parameters_that_cannot_be_compared_make_no_key() -> None:
    @tape_api.custom_gradient
    def own(x: Any) -> Any:
        return tape_api.sin(x), lambda dy: dy * tape_api.cos(x)

    plans = [tape_plan(lambda tf, x: own(x) * x, *points((3,))) for _ in range(2)]
    assert plans[0].seeds == plans[1].seeds


# ---- ends ------------------------------------------------------------------------------------------------------------


def test_targets_fall_into_parts() -> None:
    path = path_of(lambda tf, x: tf.reverse(tf.concat([tf.sin(x), tf.reshape(tf.cos(x)[:2], [2])], 0), [0]), np.ones(3))
    parts = peel_targets(path, Sites(path.contents))
    assert len(parts) == 2 and {p.of for p in parts} == {0}
    sizes = [path.size(p.slot) for p in parts]
    covered = np.concatenate([p.indices(size)[1] for p, size in zip(parts, sizes, strict=True)])
    assert sorted(covered) == [0, 1, 2, 3, 4]


def test_a_target_with_many_parts_stays_as_it_is() -> None:
    path = path_of(lambda tf, x: tf.stack([tf.sin(e) for e in tf.unstack(x)]), np.ones(100))
    assert [p.slot for p in peel_targets(path, Sites(path.contents))] == path.targets
    assert on_tape(lambda tf, x: tf.stack([tf.sin(e) for e in tf.unstack(x)]), np.ones(100))[0].shape == (100, 100)


def test_sources_behind_moves() -> None:
    path = path_of(lambda tf, x: x[1:] * x[:-1], np.ones(4))
    parts, nodes = peel_sources(path, Sites(path.contents), unpeeled(path)[0])
    assert len(nodes) < len(path.nodes) and len(parts) == 2
    first, second = (p.indices(3) for p in parts)
    assert sorted([list(first[1]), list(second[1])]) == [[0, 1, 2], [1, 2, 3]]


def test_a_source_that_is_read_elsewhere_stays() -> None:
    fn = lambda tf, x: tf.concat([x[1:] * x[:-1], tf.sin(x)], 0)  # noqa: E731
    path = path_of(fn, np.ones(4))
    parts, _ = peel_sources(path, Sites(path.contents), unpeeled(path)[0])
    assert len(parts) == 3 and path.sources[0] in {p.slot for p in parts}


def test_parts_of_a_source_are_swept_apart() -> None:
    """What only some of the parameters go through is not swept with all of them; results stand beside one another."""
    w = np.random.default_rng(0).normal(size=(3000, 20))

    def posed(tf: Any, x: Any) -> Any:
        at, a, b = tf.linalg.matvec(w, tf.sin(x[2:])), x[0], x[1]
        for _ in range(5):
            at = at * tf.cos(a) + tf.sin(at) * b
        return at

    x = np.random.default_rng(1).normal(size=22)
    plan = tape_plan(posed, x)
    assert "sources peeled" in plan.facts["why"] and type(plan.blocks[0][0]).__name__ == "Beside"
    auto, forward, reverse = (on_tape(posed, x, mode=mode)[0] for mode in ("auto", "forward", "reverse"))
    np.testing.assert_allclose(auto, reverse, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(forward, reverse, rtol=1e-9, atol=1e-12)


MOVED = (
    lambda tf, x: tf.reverse(tf.concat([x[1:] * x[:-1], tf.sin(x[::2])], 0), [0]),
    lambda tf, x: tf.reshape(tf.gather(tf.reshape(x, [4, 3]), [0, 2, 2])[:, 1:] * x[:2], [-1])[1:],
    lambda tf, x: tf.stack([x[:6], tf.cos(x[6:]) * x[5]]),
    lambda tf, x: tf.pad(x[1:4] * x[2], [[1, 2]]) + tf.pad(x[5:8] ** 2, [[3, 0]]),
    lambda tf, x: tf.concat([tf.reshape(tf.transpose(tf.reshape(x, [3, 4])) ** 2, [-1]), x[3:5]], 0),
)


def _rows_of_a_table(tf: Any, x: Any) -> Any:
    table = tf.gather(tf.reshape(x, [4, 3]), [0, 1, 1, 2, 3, 3])
    return tf.stack([table[:, 0] * table[:, 1], table[:, 2] / table[:, 0], tf.sin(table[:, 1] * table[:, 2])], 1)


@pytest.mark.parametrize(
    "fn",
    [
        *MOVED,
        _rows_of_a_table,
        lambda tf, x: x[1:] * x[:-1],
        lambda tf, x: tf.concat([x[1:] * x[:-1], x[:-1] ** 2], 0),
        # the same column, met by way of two moves: a seed each behind them, one from the source
        lambda tf, x: tf.sin(tf.gather(x, np.arange(12)) * tf.reverse(tf.reverse(x, [0]), [0])),
        # what has few columns is swept forward
        lambda tf, x: tf.tanh(tf.gather(x[:2], np.arange(600) % 2)) * x[2],
        lambda tf, x: tf.stack([x[:6] * x[0], tf.exp(x[:6]) * x[1]], 1),
        # parts of one target that are added up
        lambda tf, x: tf.pad(tf.exp(x[:3]), [[0, 9]]) + tf.pad(tf.sin(x[:3] * x[4]), [[0, 9]]),
    ],
)
def test_ends_that_are_not_looked_at_would_not_be_cheaper(fn: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = path_of(fn, np.arange(1.0, 13.0) / 12)
    quick = planning._cheapest(planning._candidates(path, Ways("auto", False, False), None))
    monkeypatch.setattr(planning, "_is_cheaper_than_ends", lambda *given: False)
    best = planning._cheapest(planning._candidates(path, Ways("auto", False, False), None))
    assert quick.time <= best.time * (1 + 1e-12), (str(quick), str(best))


def test_patterns_of_the_ends_are_not_made_where_they_are_not_needed() -> None:
    """A large table of which many see each row takes two seeds behind the gather, and many from its ends."""
    for size in (600, 5000):
        # equal costs must not differ by rounding, however large what gathering adds to them
        seen = np.arange(size) % 8
        fn = lambda tf, x: tf.reshape(tf.sin(tf.gather(tf.reshape(x, [8, 3]), seen)[:, :2]), [-1])  # noqa: B023, E731
        path = path_of(fn, np.arange(24.0))
        found = [str(c).split(":")[0] for c in planning._candidates(path, Ways("auto", True, False), None)]
        assert found == ["sources peeled"]


def test_not_each_of_many_targets_is_followed_back(monkeypatch: pytest.MonkeyPatch) -> None:
    followed: list[str] = []
    near = DirectionAssignment._near

    def counted(self: DirectionAssignment, direction: str, ends: Sequence[int]) -> Any:
        followed.append(direction)
        return near(self, direction, ends)

    def trajectory(tf: Any, z: Any) -> Any:
        found = [z]
        for _ in range(60):
            found.append(found[-1] + 0.1 * tf.sin(found[-1]) * found[-1][0])
        return tf.stack(found)

    monkeypatch.setattr(DirectionAssignment, "_near", counted)
    plan = graph_plan(trajectory, np.ones(3))
    assert {sweep.direction for sweep in plan.sweeps} == {"forward"}
    assert 0 < len(followed) < 60


def interleaved(x: Any) -> Any:
    u, v = x[::2], x[1::2]
    return tape_api.reshape(tape_api.stack([u * v - np.roll(u, 1), tape_api.exp(v) + v[::-1] * np.roll(v, 2)], 1), [-1])


STRETCHES: dict[str, tuple[Any, tuple[int, ...]]] = {
    "slices": (lambda x: x[2:] * x[1:-1] - tape_api.sin(x[:-2]), (900,)),
    "ends apart": (lambda x: tape_api.concat([x[:1] ** 2, x[2:] * x[:-2], x[-1:]], 0), (900,)),
    "around": (lambda x: np.roll(x, 1) * x - tape_api.sin(np.roll(x, -1)), (900,)),
    "backwards": (lambda x: x * x[::-1], (900,)),
    "one for all": (lambda x: x[1:] * x[0] * x[:-1], (900,)),
    "two fields in turn": (interleaved, (1800,)),
    "a grid": (lambda x: x[1:-1, 1:-1] * (x[:-2, 1:-1] + x[2:, 1:-1]) - x[1:-1, :-2] * x[1:-1, 2:], (5, 700)),
    "a grid around": (lambda x: x * (np.roll(x, 1, 0) + np.roll(x, -1, 1)) * np.roll(x, 1, 1), (4, 700)),
}


@pytest.mark.parametrize("method", ["jacobian", "hessian"])
@pytest.mark.parametrize("name", STRETCHES)
def test_entries_are_where_sorting_would_put_them(name: str, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are the same numbers in the same places, and places are short integers."""
    fn, shape = STRETCHES[name]
    x = tape_api.constant(points(shape)[0])

    def found() -> Any:
        clear_caches()
        return gradient_in(x, lambda: fn(x), method=method, format="csr")

    at_once = found()
    assert at_once.has_canonical_format and at_once.indices.dtype == at_once.indptr.dtype == np.int32
    monkeypatch.setattr(decompression, "_AT_ONCE", 100)
    in_turn = found()
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(at_once, part), getattr(in_turn, part))


@pytest.mark.parametrize("seed", range(20))
def test_pieces_are_put_in_order_a_few_rows_at_a_time(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decompression, "_AT_ONCE", 50)
    rng = np.random.default_rng(seed)
    rows, columns, expected = int(rng.integers(1, 300)), 400, defaultdict[tuple[int, int], list[int]](list)
    pieces, lower = [], seed % 4 == 3
    for k in range(int(rng.integers(1, 6))):
        outer = rng.permutation(rows)[: int(rng.integers(rows + 1))] if rng.random() < 0.6 else None
        row = np.arange(rows) if outer is None else outer
        column = (row + 7 * k if rng.random() < 0.7 else rng.integers(20, size=len(row))) % columns
        of = row, column, rng.permutation(1000)[: len(row)] + 1000 * k
        pieces.append(decompression._Piece(lambda which, of=of: tuple([x[which] for x in of]), len(row), outer))
        for *place, position in zip(*of, strict=True):
            if not lower or place[0] >= place[1]:
                expected[tuple(place)].append(position)
    found = decompression._in_csr_order([], pieces, (rows, columns), 100, lower)
    assert list(zip(np.repeat(np.arange(rows), np.diff(found.indptr)), found.indices, strict=True)) == sorted(expected)
    numbers = [[k] for k in found.positions]
    for k, entry in zip(*(found.more or ((), ())), strict=True):
        numbers[entry].append(k)
    assert [sorted(of) for of in numbers] == [sorted(of) for _, of in sorted(expected.items())]
    assert all(of[1:] == sorted(of[1:]) for of in numbers)


def test_an_index_that_only_begins_and_ends_in_place() -> None:
    order, x = [0, 2, 1, 4, 3, 5], np.arange(1.0, 7.0)
    found: Any = on_tape(lambda tf, x: tf.gather(x, order) ** 2, x, format="csr")
    np.testing.assert_array_equal(found[0].toarray(), 2 * x[order][:, None] * np.eye(6)[order])


def test_columns_of_zeros_beside_others() -> None:
    fn = lambda tf, x: tf.concat([tf.exp(x[:3]) * tf.reduce_sum(x[:3]), x[:2] ** 2], 0)  # noqa: E731
    x = np.arange(1.0, 6.0)
    expected = np.zeros((5, 5))
    expected[:3, :3] = np.exp(x[:3])[:, None] + np.diag(np.exp(x[:3]) * 6.0)
    expected[3:, :2] = np.diag(2 * x[:2])
    for mode in ("auto", "forward", "reverse"):
        np.testing.assert_allclose(on_tape(fn, x, mode=mode)[0], expected, rtol=1e-12)


# ---- cuts ------------------------------------------------------------------------------------------------------------
# The formulas are written down once more here: a test that asked the planner for them would agree with any.


def product_seconds(rows: int, inner: int, columns: int) -> float:
    """A product of two matrices: two calls, a multiplication and an addition for each of its terms, its result."""
    return 2 * cost.CALL + 2 * rows * inner * columns * cost.FLOP + rows * columns * cost.ELEMENT


def stretch_seconds(path: Path, nodes: Sequence[Node], seeds: int) -> float:
    """A sweep through some nodes.

    Each operand on the way takes a product, and each but a node's first is added to something.
    """
    total = 0.0
    for node in nodes:
        live = sum(path.slots[id(x)] in path.live for x in node.inputs)
        shapes = [np.shape(x) for x in node.inputs]
        moved = max(math.prod(shape) for shape in shapes) + sum(path.size(path.slots[id(o)]) for o in node.outputs)
        arithmetic = 0.0
        if node.op.name == "matmul_op":
            (m, k), n = shapes[0], math.prod(path.shape(path.slots[id(node.outputs[0])])) // shapes[0][0]
            arithmetic = 2 * m * k * n * cost.FLOP
        per_seed = live * arithmetic + (2 * live - 1) * moved / 2 * cost.ELEMENT
        total += 2 * live * cost.CALL * (0.5 if seeds == 1 else 1.0) + seeds * per_seed
    return total


def cheapest(path: Path, sizes: list[int], stretches: list[list[Node]], directions: tuple[str, ...]) -> float:
    """The least time over all bracketings of a chain, by trying all of them."""

    def sweep(low: int, high: int, seeds: int) -> float:
        return sum(stretch_seconds(path, stretch, seeds) for stretch in stretches[low:high])

    def times(low: int, high: int) -> list[float]:
        found = [sweep(low, high, sizes[high] if d == "reverse" else sizes[low]) for d in directions]
        for middle in range(low + 1, high):
            for left, right in itertools.product(times(middle, high), times(low, middle)):
                found.append(left + right + product_seconds(sizes[high], sizes[middle], sizes[low]))
            if "reverse" in directions:
                found += [left + sweep(low, middle, sizes[high]) for left in times(middle, high)]
            if "forward" in directions:
                found += [right + sweep(middle, high, sizes[low]) for right in times(low, middle)]
        return found

    return min(times(0, len(stretches)))


def layers(weights: Sequence[np.ndarray], squared: bool) -> Function:
    """Products with matrices, a function of one operand or of two after each."""

    def fn(tf: Any, x: Any) -> Any:
        for w in weights:
            x = tf.linalg.matvec(w, x)
            x = x * tf.sin(x) if squared else tf.tanh(x)
        return x

    return fn


@pytest.mark.parametrize("directions", [("reverse",), ("forward",), ("reverse", "forward")])
@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("widths", [(40, 3, 40), (5, 60, 2, 50, 7), (30, 4, 25, 3, 35), (9, 8, 7, 6), (2, 50, 50, 2)])
def test_no_bracketing_is_cheaper(widths: tuple[int, ...], squared: bool, directions: tuple[str, ...]) -> None:
    rng = np.random.default_rng(0)
    fn = layers([rng.normal(size=(m, n)) for n, m in itertools.pairwise(widths)], squared)
    path = path_of(fn, np.ones(widths[0]))
    chain = plan_chain(path, path.nodes, path.sources, path.targets[0], widths[-1], directions)
    sizes = [widths[0], *[path.size(cut) for cut in chain.cuts], widths[-1]]
    ends = [0, *[position_of(path, cut) for cut in chain.cuts], len(path.nodes)]
    stretches = [path.nodes[a:b] for a, b in itertools.pairwise(ends)]
    assert chain.time == pytest.approx(cheapest(path, sizes, stretches, directions), rel=1e-12)
    assert one_way(chain.step, directions[0]) or len(directions) == 2
    # narrow places are cuts, where a product may be taken
    narrow = [w for before, w, after in zip(widths, widths[1:], widths[2:], strict=False) if before > w < after]
    assert len(chain.cuts) >= len(narrow)


def position_of(path: Path, slot: int) -> int:
    """How many nodes come before a value is there."""
    return next(i + 1 for i, n in enumerate(path.nodes) if any(path.slots[id(o)] == slot for o in n.outputs))
