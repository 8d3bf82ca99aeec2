"""Hessians whose entries are read at either of their two places: few seeds where some variables meet all others."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tape_api
from engine.jacobian.planning import plan as plans
from engine.jacobian.planning.plan import Options, plan_for
from engine.jacobian.second import _differentiated
from engine.jacobian.structure.path import Path
from tests.jacobian.both import Function, in_graph, on_tape
from tests.jacobian.test_second_order import whole
from tests.tapes import watching

RNG = np.random.default_rng(7)
WHY = "entries read at either place"


def plan_of(fn: Function, *values: np.ndarray, mode: str = "auto") -> plans.Plan:
    tensors = [tape_api.constant(v) for v in values]
    tape, y = watching(tensors, lambda: fn(tape_api, *tensors))
    second = _differentiated(Path(tape._tape.nodes, tensors, [y]))[3]
    return plan_for(second, Options(mode, values_only=True, symmetric=True))


def arrow(tf: Any, x: Any) -> Any:
    # by a product of matrices, since what only moves and adds x[0] is swept behind the sum (test_sums)
    hub = tf.linalg.matvec(np.ones((x.shape[0] - 1, 1)), x[:1])
    return tf.reduce_sum(tf.sin(x[1:]) * hub) + tf.reduce_sum(x**4)


COVARIATES = RNG.normal(size=(200, 3))
OBSERVED = RNG.normal(size=200)


def mixed_effects(tf: Any, fixed: Any, random: Any, log_scale: Any) -> Any:
    expected = tf.linalg.matvec(COVARIATES, fixed) + tf.exp(log_scale) * random
    return tf.reduce_sum((OBSERVED - tf.sin(expected)) ** 2) + tf.reduce_sum(random**2) / 2


def crossed(tf: Any, rows: Any, columns: Any, shared: Any) -> Any:
    # a table whose cells know a number of their row and one of their column, and two that all share
    return tf.reduce_sum(tf.sin(rows[:, None] * columns[None, :] * shared[0]) * tf.exp(shared[1]))


CASES = {
    "arrow": (arrow, [RNG.normal(size=300)], 2),
    "mixed effects": (mixed_effects, [RNG.normal(size=3), RNG.normal(size=200), np.array(0.3)], 5),
    "mixed effects, shared ones last": (
        lambda tf, u, s, b: mixed_effects(tf, b, u, s),
        [RNG.normal(size=200), np.array(0.3), RNG.normal(size=3)],
        5,
    ),
    "crossed effects": (crossed, [RNG.normal(size=40), RNG.normal(size=5), RNG.normal(size=2)], 8),
}


@pytest.mark.parametrize("case", CASES)
def test_shared_parameters_take_a_seed_each(case: str) -> None:
    fn, values, seeds = CASES[case]
    plan = plan_of(fn, *values)
    assert plan.facts["why"] == WHY
    assert plan.seeds == seeds


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("format", ["csr", "dense"])
def test_they_are_what_plain_sweeps_give(case: str, format: str) -> None:
    fn, values, _ = CASES[case]
    sizes = [v.size for v in values]
    tape, graph = (f(fn, *values, method="hessian", format=format) for f in (on_tape, in_graph))
    found = whole(tape, sizes)
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_array_equal(found, whole(graph, sizes))
    plain = on_tape(fn, *values, method="hessian", format=format, mode="reverse")
    np.testing.assert_allclose(found, whole(plain, sizes), rtol=1e-11, atol=1e-12)
    if format == "csr":
        for row, others in zip(tape, plain, strict=True):
            for block, other in zip(row, others, strict=True):
                # the same pattern, not only the same numbers
                assert block.has_canonical_format
                np.testing.assert_array_equal(block.indices, other.indices)
                np.testing.assert_array_equal(block.indptr, other.indptr)


def test_large_ones_are_colored_where_some_variables_meet_all_others() -> None:
    assert plan_of(arrow, RNG.normal(size=5000)).seeds == 2


def test_sweeps_leave_out_what_others_find() -> None:
    fn, values, _ = CASES["mixed effects"]
    of_fixed, of_random, _ = plan_of(fn, *values).sweeps
    assert len(of_fixed.reads) == 3
    assert of_random.count == 1 and len(of_random.reads) == 1


def test_the_choice_is_by_cost() -> None:
    # three colors are as many as there would be anyway, and peeling makes the sweep shorter
    chain = lambda tf, x: tf.reduce_sum((x[1:] - x[:-1] ** 2) ** 2)  # noqa: E731
    assert plan_of(chain, np.ones(500)).facts["why"] != WHY
    # a caller who wants reverse sweeps gets them
    assert all(p.direction == "reverse" for p in plan_of(arrow, np.ones(300), mode="reverse").sweeps)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 30), st.integers(0, 4), st.integers(1, 2))
def test_random_patterns(seed: int, size: int, hubs: int, sources: int) -> None:
    rng = np.random.default_rng(seed)
    pairs = rng.integers(0, size, (2, 2 * size))
    pairs[0, : hubs * size // 3] = rng.integers(0, min(max(hubs, 1), size), hubs * size // 3)
    weights = rng.normal(size=2 * size)

    def fn(tf: Any, *parts: Any) -> Any:
        x = tf.concat(parts, 0)
        return tf.reduce_sum(weights * tf.gather(x, pairs[0]) ** 2 * tf.gather(x, pairs[1]) ** 3)

    x = rng.normal(size=size)
    values = [x] if sources == 1 else [x[: size // 2], x[size // 2 :]]
    sizes = [v.size for v in values]
    exact = np.zeros((size, size))
    i, j = pairs
    np.add.at(exact, (i, i), 2 * weights * x[j] ** 3)
    np.add.at(exact, (j, j), 6 * weights * x[i] ** 2 * x[j])
    np.add.at(exact, (i, j), 6 * weights * x[i] * x[j] ** 2)
    np.add.at(exact, (j, i), 6 * weights * x[i] * x[j] ** 2)
    found = whole(on_tape(fn, *values, method="hessian", format="csr"), sizes)
    np.testing.assert_allclose(found, exact, rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_array_equal(found, whole(in_graph(fn, *values, method="hessian", format="csr"), sizes))
