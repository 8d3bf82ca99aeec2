"""Products of sweeps: shared factors are multiplied first, known zeros left out, and bits are the same in all modes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from engine.compiler.program import Program
from engine.jacobian.execution.contraction import Contraction, split
from engine.ops.gather import gather_op
from tests.jacobian.both import Function, in_graph, matrix, on_tape, row_by_row
from tests.tapes import gradient_in, watching

RNG = np.random.default_rng(3)
VERTICES, BONES = 1000, 24
WEIGHTS = RNG.uniform(size=(VERTICES, BONES))
PLACES = RNG.normal(size=(VERTICES, 4))
SEEN = RNG.integers(0, VERTICES, 900).astype(np.int32)
TURNS = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])


def poses(tf: Any, angles: Any) -> Any:
    """Six limbs of four bones, of which each turns all behind it: (bones, 3, 4)."""
    steps = tf.reshape(angles, [BONES, 1, 1]) * np.eye(4)[:3] + np.pad(TURNS, ((0, 0), (0, 1)))
    moved: list[Any] = []
    for bone, step in enumerate(tf.unstack(steps)):
        moved.append(step if bone % 4 == 0 else step + tf.matmul(moved[-1][:, :3], step))
    return tf.stack(moved)


def by_einsum(tf: Any, x: Any) -> Any:
    return tf.einsum("bij,vj,vb->vi", poses(tf, x[:BONES]), PLACES, WEIGHTS)


def by_blended_matrices(tf: Any, x: Any) -> Any:
    blended = tf.matmul(WEIGHTS, tf.reshape(poses(tf, x[:BONES]), [BONES, 12]))
    return tf.linalg.matvec(tf.reshape(blended, [VERTICES, 3, 4]), PLACES)


def by_tensordot(tf: Any, x: Any) -> Any:
    return tf.einsum("vij,vj->vi", tf.tensordot(WEIGHTS, poses(tf, x[:BONES]), 1), PLACES)


def turned_and_gathered(tf: Any, x: Any) -> Any:
    turn = tf.reshape(x[BONES], [1, 1]) * TURNS + np.eye(3)
    return 1.0 - tf.gather(tf.matmul(by_einsum(tf, x), turn, transpose_b=True) + x[BONES + 1 :], SEEN)


def gathered_and_bent(tf: Any, x: Any) -> Any:
    return tf.tanh(tf.gather(by_blended_matrices(tf, x) - x[BONES + 1 :], SEEN)) * 2.0


def used_twice(tf: Any, x: Any) -> Any:
    blended = tf.matmul(WEIGHTS, tf.reshape(poses(tf, x[:BONES]), [BONES, 12]))
    return tf.matmul(blended, np.ones((12, 2))) + tf.exp(-tf.matmul(blended, np.ones((12, 1)))) + blended[:, :1]


def added_in_pieces(tf: Any, x: Any) -> Any:
    """All angles are one source, so tangents of both factors of the turn are added up, zero for other seeds each."""
    return turned_and_gathered(tf, tf.sin(x)) + gathered_and_bent(tf, tf.sin(x))


POINT = np.linspace(0.2, 0.9, BONES + 4)
FUNCTIONS = [
    *(by_einsum, by_blended_matrices, by_tensordot, turned_and_gathered, gathered_and_bent, used_twice),
    added_in_pieces,
]


def by_differences(fn: Function, x: np.ndarray) -> np.ndarray:
    value: Callable[[np.ndarray], np.ndarray] = lambda at: fn(tape_api, tape_api.constant(at)).numpy().ravel()  # noqa: E731
    steps = 1e-6 * np.eye(len(x))
    return np.stack([(value(x + step) - value(x - step)) / 2e-6 for step in steps], axis=1)


@pytest.mark.parametrize("fn", FUNCTIONS)
@pytest.mark.parametrize("mode", ["auto", "forward"])
def test_right_and_the_same_in_both_modes(fn: Function, mode: str) -> None:
    (graph,), (tape,) = in_graph(fn, POINT, mode=mode), on_tape(fn, POINT, mode=mode)
    assert graph.tobytes() == tape.numpy().tobytes()
    want = by_differences(fn, POINT)
    np.testing.assert_allclose(matrix(graph, want), want, rtol=1e-6, atol=1e-6 * np.abs(want).max())


@pytest.mark.parametrize("fn", FUNCTIONS)
def test_the_same_again_in_functions_and_under_an_outer_tape(fn: Function) -> None:
    def jacobian(x: Any) -> Any:
        return gradient_in(x, lambda: fn(tape_api, x), method="jacobian")

    x, function = tape_api.constant(POINT), tape_api.function(jacobian)
    first = jacobian(x).numpy().tobytes()
    for _ in range(3):
        assert jacobian(x).numpy().tobytes() == first
        assert function(x).numpy().tobytes() == first
    _, found = watching(x, lambda: jacobian(x))
    assert found.numpy().tobytes() == first


def test_reverse_sweeps_wait_too() -> None:
    def fn(tf: Any, x: Any) -> Any:
        wide = tf.matmul(np.ones((3, 40)), tf.matmul(RNG_MATRIX, tf.tanh(x)))
        return tf.reduce_sum(wide, axis=1) + wide[:, 0]

    x = np.linspace(0.1, 0.8, 120).reshape(60, 2)
    (got,) = on_tape(fn, x, mode="reverse")
    (want,) = row_by_row(fn, x)
    np.testing.assert_allclose(matrix(got, want), want, rtol=1e-12)
    assert in_graph(fn, x, mode="reverse")[0].tobytes() == got.numpy().tobytes()


RNG_MATRIX = RNG.normal(size=(40, 60))


def sizes(fn: Function) -> list[tuple[int, ...]]:
    """The shapes of all that a graph's program computes for a Jacobian."""
    with graph_api.Graph().as_default():
        x = graph_api.placeholder(graph_api.float64, POINT.shape)
        jacobian = graph_api.jacobian(fn(graph_api, x), x)
        with graph_api.Session() as session:
            closed = session._compile([jacobian], [x], [x.aval])
    program: Program = closed.program
    return [program.avals[s].shape or () for each in program.instructions for s in each.outputs]


@pytest.mark.parametrize("fn", [by_einsum, by_blended_matrices, by_tensordot])
def test_nothing_is_larger_than_the_jacobian(fn: Function) -> None:
    # places by bones, and matrices by vertices, would be for each seed
    assert max(map(np.prod, sizes(fn))) <= VERTICES * 3 * len(POINT)


def test_blocks_of_seeds_leave_out_what_is_zero() -> None:
    # each limb's four seeds with its four bones; what does not move the vertices has no product
    products = [s for s in sizes(by_einsum) if VERTICES in s and 4 in s]
    assert len(products) >= 6
    assert not any(VERTICES in s and np.prod(s) == VERTICES * 3 * BONES for s in products)


@pytest.mark.parametrize(("first", "second"), [([0, 0, 1, 1], [1, 1, 0, 0]), ([0, 0, 1, 1], [0, 1, 0, 1])])
def test_other_contents_of_indices_have_other_zeros(first: list[int], second: list[int]) -> None:
    """Zeros are those of the indices that a plan was made for."""
    mixed = RNG.normal(size=(800, 4))

    def fn(tf: Any, x: Any, index: Any) -> Any:
        own = tf.gather(tf.reshape(x, [2, 40]), index)
        return tf.matmul(mixed, own * own)

    x = np.linspace(0.1, 1.0, 80)
    for index in (first, second, first):
        of = np.array(index, np.int32)
        got = on_tape(fn, x, of)[0].numpy().reshape(-1, 80)
        want = np.zeros((800, 40, 2, 40))
        for row, k in enumerate(index):
            want[:, np.arange(40), k, np.arange(40)] += mixed[:, row, None] * 2 * x.reshape(2, 40)[k]
        np.testing.assert_allclose(got, want.reshape(-1, 80), rtol=1e-12, atol=1e-12)


def test_chunks_of_seeds() -> None:
    (whole,) = on_tape(turned_and_gathered, POINT)
    (got,) = on_tape(turned_and_gathered, POINT, max_bytes=1_500_000, mode="forward")
    np.testing.assert_allclose(got.numpy(), whole.numpy(), rtol=1e-12, atol=1e-12)


# ---- the order, and blocks -------------------------------------------------------------------------------------------


def network(seeds: int) -> tuple[Contraction, list[np.ndarray]]:
    """Tangents of poses, weights, places, a turn: as in `turned_and_gathered`."""
    tensors = [RNG.normal(size=s) for s in ((seeds, BONES, 3, 4), (VERTICES, BONES), (VERTICES, 4), (3, 3))]
    made: Contraction | None = Contraction.of(tensors[0], seeds, (BONES, 3, 4), lambda: None)
    for equation, x in zip(("bij,vb->vij", "vij,vj->vi", "vi,ki->vk"), tensors[1:], strict=True):
        assert made is not None
        made = made.times(equation, 0, x)
    assert made is not None
    return made, tensors


@pytest.mark.parametrize("last", [False, True])
def test_shared_factors_first(last: bool) -> None:
    product, tensors = network(20)
    seconds, steps = product.order()
    assert seconds < 0.7 * product.given
    assert steps[0] == (1, 2)
    got = np.asarray(product.made(steps, last))
    np.testing.assert_allclose(got, np.einsum("sbij,vb,vj,ki->svk", *tensors), rtol=1e-12, atol=1e-12)
    assert (np.argmin(got.strides) == 0) == last
    assert not product.is_stacked(steps)
    shared = product.shared()
    assert [len(letters) for letters in shared.letters] == [4, 3, 2]


def test_a_letter_of_one_tensor_alone_is_not_summed_over() -> None:
    x = Contraction.of(np.ones((2, 3, 4)), 2, (3, 4), lambda: None)
    assert x.times("ab,cb->ca", 0, np.ones((5, 4))) is not None
    assert x.times("ab,cb->c", 0, np.ones((5, 4))) is None
    assert x.times("ab,bc->ac", 0, np.ones((5, 4))) is None


def test_stacks_of_matrices() -> None:
    x = Contraction.of(np.ones((2, 30, 7, 8)), 2, (30, 7, 8), lambda: None)
    product = x.times("pij,pj->pi", 0, np.ones((30, 8)))
    assert product is not None
    assert product.is_stacked(product.order()[1])


def test_dimensions_are_split_but_not_joined() -> None:
    x = Contraction.of(np.ones((2, 6, 4)), 2, (6, 4), lambda: None)
    assert x.reshaped((24,)) is None
    split_up = x.reshaped((1, 2, 3, 4))
    assert split_up is not None
    assert [split_up.sizes[k] for k in split_up.out] == [2, 2, 3, 4]
    assert split_up.moved([3, 0, 2, 1]).shape == (4, 1, 3, 2)


def test_blocks_in_the_least_time() -> None:
    there = np.zeros((6, 4), bool)
    there[1:3, :2] = there[4:, 2:] = True
    total, blocks = split(there, lambda seeds, part: 1.0 * bool(part) + seeds * part)
    assert [(start, stop, part.tolist()) for start, stop, part in blocks] == [
        (0, 1, []),
        (1, 3, [0, 1]),
        (3, 4, []),
        (4, 6, [2, 3]),
    ]
    assert total == 10.0
    assert split(there, lambda seeds, part: 100.0 * bool(part) + seeds * part)[1][-1][0] < 4


# ---- rows that move together -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 2, 0), (2, 0, 1), (0, 2, 1)])
@pytest.mark.parametrize("index", [np.array([1, 0, 2, 2, 1]), np.array([[0, 1], [2, 0]]), np.array(1)])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_entries_keep_the_order_of_axes_in_memory(order: tuple[int, ...], index: np.ndarray, axis: int) -> None:
    x = np.ascontiguousarray(np.arange(60.0).reshape(3, 4, 5).transpose(order)).transpose(np.argsort(order))
    got = np.asarray(gather_op.kernel(x, index, axis=axis, batch_dims=0))
    np.testing.assert_array_equal(got, np.take(x, index, axis))
    rank = len(order)
    place = [k for k in order if k != axis % rank]
    if index.ndim:
        kept = [got.strides[k + (index.ndim - 1) * (k > axis % rank)] for k in place]
        assert kept == sorted(kept, reverse=True)
