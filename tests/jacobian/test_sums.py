"""Functions of sums and differences of their sources: swept from these, whatever becomes of them behind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from engine.core.sparsity import Sites
from engine.jacobian.planning import plan as planning
from engine.jacobian.structure.through_sums import peel_sums
from tests.jacobian.both import Function, in_graph, least_memory, matrix, on_tape, points, row_by_row
from tests.jacobian.test_plans import graph_plan, path_of, tape_plan
from tests.support import assert_close, assert_same_bits

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
