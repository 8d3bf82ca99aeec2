"""Functions of sums and differences of their sources: swept from these, whatever becomes of them behind."""

from typing import Any

import numpy as np
import pytest

import tape_api
from engine.core.sparsity import Sites
from engine.jacobian.planning import plan as planning
from engine.jacobian.second import _differentiated
from engine.jacobian.structure.path import Path
from engine.jacobian.structure.through_sums import peel_sums
from tests.jacobian.both import Function, in_graph, least_memory, matrix, on_tape, points, row_by_row
from tests.jacobian.test_plans import graph_plan, path_of, tape_plan
from tests.support import assert_close, assert_same_bits
from tests.tapes import gradient_in, watching

_N = 18
APART = np.ones((_N, _N)) - np.eye(_N)


def differences(tf: Any, x: Any) -> Any:
    return tf.reshape(x, [_N, 1, 3]) - tf.reshape(x, [1, _N, 3])


def forces(tf: Any, x: Any) -> Any:
    """Of points on each other, and a spring to the origin."""
    between = differences(tf, x)
    weights = tf.exp(-tf.reduce_sum(between * between, 2))
    return tf.reduce_sum(between * tf.reshape(weights, [_N, _N, 1]), 1) - x * x


def by_coordinates(tf: Any, x: Any) -> Any:
    """Between all pairs, each coordinate a slice of its own; those on the diagonal cancel."""
    columns = [x[:, k : k + 1] for k in range(3)]
    squares = [(c - tf.transpose(c)) ** 2.0 for c in columns]
    return tf.reduce_sum(tf.sqrt(squares[0] + squares[1] + squares[2] + 0.1), 1)


def of_two(tf: Any, x: Any, y: Any) -> Any:
    """What two sources have in common, added to what is swept from one of them."""
    pairs = tf.tanh(tf.reshape(x, [-1, 1]) + tf.reshape(y, [1, -1]))
    return tf.reduce_sum(pairs, 1) - tf.reduce_sum(-pairs, 0) + tf.sin(x) - y


EDGES = np.random.default_rng(5).integers(0, 40, (2, 120))
EDGES[1] = np.where(EDGES[0] == EDGES[1], (EDGES[1] + 1) % 40, EDGES[1])
TO, FROM = EDGES


def springs(tf: Any, p: Any) -> Any:
    """Between points that are neighbors: two gathers of one table."""
    d = tf.gather(p, TO) - tf.gather(p, FROM)
    return tf.reduce_sum((tf.sqrt(tf.reduce_sum(d * d, 1) + 0.1) - 0.5) ** 2.0)


def products(tf: Any, p: Any) -> Any:
    """Of rows that are neighbors, which are moved and not added up; so are the parts of their gradient."""
    return tf.reduce_sum(tf.sin(tf.reduce_sum(tf.gather_nd(p, TO[:, None]) * tf.gather_nd(p, FROM[:, None]), 1)))


def in_one_gather(tf: Any, p: Any) -> Any:
    both = tf.gather(p, np.stack([TO, FROM], 1))
    return tf.reduce_sum(tf.exp(tf.reduce_sum(both[:, 0] * both[:, 1], 1) / 10.0))


def by_segments(tf: Any, p: Any) -> Any:
    """Each point's sum of what its neighbors are, which is behind the sum, and a function of it, which is before."""
    sums = tf.math.unsorted_segment_sum(tf.gather(p, FROM) ** 2.0, TO, 40)
    return tf.reduce_sum(tf.tanh(sums / 10.0) * p)


def bent(tf: Any, p: Any) -> Any:
    """The angles of a chain, whose links are differences of slices."""
    a, b = p[:-2] - p[1:-1], p[2:] - p[1:-1]
    return tf.reduce_sum(tf.reduce_sum(a * b, 1) / tf.sqrt(tf.reduce_sum(a * a, 1) * tf.reduce_sum(b * b, 1) + 0.1))


NEIGHBORS: dict[str, tuple[Function, int]] = {
    "springs": (springs, 3),
    "products": (products, 6),
    "in one gather": (in_one_gather, 6),
    "bent": (bent, 6),
}
"""Energies of neighbors, and the seeds of their Hessians: one for each coordinate of what lies between the sums."""


def plan_of_a_hessian(fn: Function, *values: np.ndarray) -> planning.Plan:
    tensors = [tape_api.constant(v) for v in values]
    tape, y = watching(tensors, lambda: fn(tape_api, *tensors))
    second = _differentiated(Path(tape._tape.nodes, tensors, [y]))[3]
    return planning.plan_for(second, planning.Options("auto", values_only=True, symmetric=True))


@pytest.mark.parametrize("name", NEIGHBORS)
def test_seeds_of_energies_of_neighbors(name: str) -> None:
    """As many as a pair has coordinates, however many neighbors a point has."""
    fn, seeds = NEIGHBORS[name]
    plan = plan_of_a_hessian(fn, *points((40, 3)))
    assert (plan.facts["why"], plan.seeds) == ("sums peeled", seeds), str(plan)


@pytest.mark.parametrize("fn", [springs, products, in_one_gather, bent, by_segments])
def test_sparse_hessians_of_energies_of_neighbors(fn: Function) -> None:
    """Against differences of gradients; symmetric to the bit, the same bits in both front ends and in a function."""
    (p,) = points((40, 3))

    def gradient(x: np.ndarray) -> np.ndarray:
        tensor = tape_api.constant(x.reshape(p.shape))
        return np.ravel(tape_api.convert_to_tensor(gradient_in(tensor, lambda: fn(tape_api, tensor))).numpy())

    steps = 1e-6 * np.eye(p.size)
    expected = np.stack([(gradient(p.ravel() + h) - gradient(p.ravel() - h)) / 2e-6 for h in steps], 1)
    ((found,),) = on_tape(fn, p, method="hessian", format="csr")
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-6, atol=1e-7)
    assert found.nnz < p.size**2 and found.has_canonical_format
    assert_same_bits([found.toarray()], [found.toarray().T])

    @tape_api.function
    def hessian(x: Any) -> Any:
        return gradient_in(x, lambda: fn(tape_api, x), method="hessian", format="csr")

    others = [in_graph(fn, p, method="hessian", format="csr")[0][0], *(hessian(tape_api.constant(p)) for _ in range(3))]
    for other in others:
        assert_same_bits([other.data, other.indices, other.indptr], [found.data, found.indices, found.indptr])


JACOBIANS: dict[str, tuple[Function, tuple[tuple[int, ...], ...], int]] = {
    "forces": (forces, ((_N, 3),), 4),
    "by coordinates": (by_coordinates, ((_N, 3),), 1),
    "of two": (of_two, ((20,), (20,)), 3),
}


@pytest.mark.parametrize("format", ["dense", "csr"])
@pytest.mark.parametrize("name", JACOBIANS)
def test_jacobians(name: str, format: str) -> None:
    """A seed for each color of the sums, one plan and the same bits in both front ends."""
    fn, shapes, seeds = JACOBIANS[name]
    values = points(*shapes)
    plan = tape_plan(fn, *values)
    assert plan.facts["why"] == "sums peeled" and plan.seeds == seeds, str(plan)
    assert graph_plan(fn, *values) is plan
    found, expected = on_tape(fn, *values, format=format), row_by_row(fn, *values)
    full = [matrix(block if format == "csr" else block.numpy(), e) for block, e in zip(found, expected, strict=True)]
    for block, e in zip(full, expected, strict=True):
        assert_close(block, e)
    for _ in range(3):
        again = in_graph(fn, *values, format=format)
        assert_same_bits([matrix(block, e) for block, e in zip(again, expected, strict=True)], full)


@pytest.mark.parametrize("fn", [forces, by_coordinates])
def test_hessians(fn: Function) -> None:
    """Of energies of pairs: symmetric to the bit, and with the same bits in both front ends."""
    (x,) = points((_N, 3))

    def energy(tf: Any, x: Any) -> Any:
        return tf.reduce_sum(fn(tf, x) ** 2.0) if fn is forces else tf.reduce_sum(fn(tf, x))

    def gradient(tf: Any, x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = energy(tf, x)
        return tape.gradient(y, x)

    ((found,),) = on_tape(energy, x, method="hessian")
    full = found.numpy().reshape(x.size, x.size)
    (expected,) = row_by_row(gradient, x)
    assert_close(full, expected)
    assert_same_bits([full], [full.T])
    assert_same_bits([matrix(in_graph(energy, x, method="hessian")[0][0], full)], [full])


def test_the_seeds_of_an_energy(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as a difference has coordinates, however many there are."""
    made: list[planning.Plan] = []
    plan = planning._made
    monkeypatch.setattr(planning, "_made", lambda *given: made.append(plan(*given)) or made[-1])

    def energy(tf: Any, x: Any) -> Any:
        between = differences(tf, x)
        return tf.reduce_sum(APART / tf.sqrt(tf.reduce_sum(between * between, 2) + np.eye(_N)))

    with planning._plans.emptied():
        on_tape(energy, *points((_N, 3)), method="hessian")
    assert [plan.seeds for plan in made] == [3], list(map(str, made))


@pytest.mark.parametrize("name", JACOBIANS)
def test_little_memory(name: str) -> None:
    """Chunks, or another plan, where results of all seeds do not fit."""
    fn, shapes, _ = JACOBIANS[name]
    values = points(*shapes)
    limit = least_memory(fn, *values)
    for found, expected in zip(on_tape(fn, *values, max_bytes=limit), row_by_row(fn, *values), strict=True):
        assert_close(matrix(found.numpy(), expected), expected)


def test_what_is_no_sum_of_sources() -> None:
    """Multiples, complex numbers, other dtypes, and sources that are only moved, stay what they are."""
    x, y = points((6,), (6,))
    for fn in (
        lambda tf, x, y: tf.sin(x) * y,
        lambda tf, x, y: tf.exp(x + x) * tf.reverse(y, [0]),
        lambda tf, x, y: tf.sin(tf.cast(x, tf.float32) + tf.cast(y, tf.float32)),
    ):
        path = path_of(fn, x, y)
        assert peel_sums(path, Sites(path.contents)) is None
    path = path_of(lambda tf, x, y: tf.exp(x - y) * x, x, y)
    peeled = peel_sums(path, Sites(path.contents))
    assert peeled is not None
    assert [(part.of, list(part.sign)) for part in peeled.columns] == [(0, [1] * 6), (0, [1] * 6), (1, [-1] * 6)]
    assert [node.op.name for node in peeled.nodes] == ["exp", "multiply"]
