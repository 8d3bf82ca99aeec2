"""The order in which contributions to a gradient are added up: `AggregationMethod`, in both modes."""

from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from engine.derivatives.aggregation import PairwiseSum
from graph_api import AggregationMethod as Method
from tests.optim.test_transforms import run
from tests.tapes import watching

METHODS = [Method.ADD_N, Method.EXPERIMENTAL_TREE, Method.EXPERIMENTAL_ACCUMULATE_N]
SIZES = 10.0 ** np.arange(-4, 5)[np.arange(1000) % 9, None]
FACTORS = (np.random.default_rng(0).standard_normal((1000, 3)) * SIZES).astype(np.float32)


def one_after_the_other(parts: np.ndarray) -> Any:
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def in_pairs(parts: np.ndarray) -> Any:
    """Pairs, then pairs of pairs, written down once more: blocks of the largest power of two, from the front."""
    if len(parts) == 1:
        return parts[0]
    half = 1 << (len(parts) - 1).bit_length() - 1
    return in_pairs(parts[:half]) + in_pairs(parts[half:])


def gradient(tf: Any, evaluate: Any, n: int, method: Any) -> Any:
    x = tf.Variable(np.ones(3, np.float32))

    def loss() -> Any:
        return tf.add_n([tf.reduce_sum(x * f) for f in FACTORS[:n]])

    if tf is graph_api:
        (found,) = tf.gradients(loss(), [x], aggregation_method=method)
        return evaluate(found)
    with tf.GradientTape() as tape:
        y = loss()
    return tape.gradient(y, x, aggregation_method=method).numpy()


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 100, 1000])
@pytest.mark.parametrize("method", METHODS)
def test_the_method_decides_the_order_to_the_bit(method: int, n: int) -> None:
    tape, graph = (run(mode, lambda tf, evaluate: gradient(tf, evaluate, n, method)) for mode in ("tape", "graph"))
    backwards = FACTORS[:n][::-1]
    expected = in_pairs(backwards) if method == Method.EXPERIMENTAL_TREE else one_after_the_other(backwards)
    assert tape.tobytes() == graph.tobytes() == expected.tobytes()


def test_sums_in_pairs_are_nearer_to_the_truth() -> None:
    parts = np.full((100_000, 1), 0.1, np.float32)
    truth = 100_000 * np.float64(np.float32(0.1))
    assert abs(in_pairs(parts) - truth) < 1e-3 * abs(one_after_the_other(parts) - truth)


def test_a_sum_in_pairs_holds_few_partial_sums() -> None:
    total = PairwiseSum(np.ones(3))
    for n in range(2, 1001):
        total = total.plus(np.ones(3))
        assert len(total._parts) == n.bit_count()
    np.testing.assert_array_equal(total.value(), np.full(3, 1000.0))


def test_replayed_gradients_know_their_method() -> None:
    x, other = tape_api.Variable(np.ones(3, np.float32)), FACTORS[:9]
    found: dict[Any, set[bytes]] = {}
    for _ in range(6):
        for method in METHODS:
            with tape_api.GradientTape() as tape:
                y = tape_api.add_n([tape_api.reduce_sum(x * f) for f in other])
            found.setdefault(method, set()).add(tape.gradient(y, x, aggregation_method=method).numpy().tobytes())
    assert [len(bits) for bits in found.values()] == [1, 1, 1]
    assert found[Method.ADD_N] == found[Method.EXPERIMENTAL_ACCUMULATE_N] != found[Method.EXPERIMENTAL_TREE]


@pytest.mark.parametrize("method", METHODS)
def test_rows_stay_rows(method: int) -> None:
    x = tape_api.Variable(np.ones((4, 2)))
    tape, y = watching((), lambda: tape_api.add_n([tape_api.reduce_sum(tape_api.gather(x, [i, 3])) for i in range(3)]))
    rows = tape.gradient(y, x, aggregation_method=method)
    assert isinstance(rows, tape_api.IndexedSlices)
    np.testing.assert_array_equal(tape_api.convert_to_tensor(rows), [[1, 1], [1, 1], [1, 1], [3, 3]])


@pytest.mark.parametrize("method", METHODS)
def test_joined_operands_and_mixed_uses(method: int) -> None:
    # concat, stack and add_n answer for all their operands at once
    def loss(tf: Any, x: Any) -> Any:
        joined = tf.concat([x, x * 2.0, x], 0)
        return tf.reduce_sum(tf.stack([joined, joined]) ** 2) + tf.reduce_sum(tf.add_n([x, x, x]) * x)

    v = tape_api.Variable(np.array([0.5, -2.0]))
    tape, y = watching((), lambda: loss(tape_api, v))
    # 2 (1 + 4 + 1) x² + 3 x²
    np.testing.assert_allclose(tape.gradient(y, v, aggregation_method=method), 30.0 * v.numpy(), rtol=1e-14)


def test_a_step_takes_the_method() -> None:
    def value(method: Any) -> bytes:
        x = tape_api.Variable(np.ones(3, np.float32))
        loss = lambda: tape_api.add_n([tape_api.reduce_sum(x * f) for f in FACTORS[:20]])  # noqa: E731
        tape_api.compat.v1.train.GradientDescentOptimizer(1.0).minimize(loss, var_list=[x], aggregation_method=method)
        return x.numpy().tobytes()

    assert value(None) == value(Method.ADD_N) != value(Method.EXPERIMENTAL_TREE)


def test_an_operation_is_colocated_with_itself() -> None:
    with graph_api.Graph().as_default():
        x = graph_api.constant(1.0, name="x")
        assert x.op.colocation_groups() == [b"loc:@x"]


@pytest.mark.parametrize("method", [3, -1, "tree", True])
def test_an_unknown_method_is_refused(method: Any) -> None:
    x = tape_api.Variable(1.0)
    tape, y = watching((), lambda: x * x)
    with pytest.raises(ValueError, match="gradient: argument `aggregation_method` must be an AggregationMethod"):
        tape.gradient(y, x, aggregation_method=method)
    with graph_api.Graph().as_default():
        v = graph_api.Variable(1.0)
        with pytest.raises(ValueError, match="gradients: argument `aggregation_method` must be an AggregationMethod"):
            graph_api.gradients(v * v, v, aggregation_method=method)
