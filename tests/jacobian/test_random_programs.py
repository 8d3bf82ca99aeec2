"""Jacobians of random programs: every way to get them against gradients row by row, in both front ends."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import graph_api
import tape_api
from tests.jacobian.both import in_graph, least_memory, matrix, on_tape, row_by_row
from tests.test_random_programs import NAMES, Instruction, points, programs, run

OPTIONS = st.fixed_dictionaries(
    {
        "mode": st.sampled_from(("auto", "forward", "reverse")),
        "format": st.sampled_from(("dense", "csr", "csc", "coo")),
        # by that of one seed at a time
        "max_bytes": st.sampled_from((None, 1.0, 1.5)),
    }
)


def smooth(program: list[Instruction]) -> Any:
    """The program as a function of a front end and the points."""
    # the shape of its result would be unknown in a graph
    assume(all(NAMES[op] != "boolean_mask" for op, _, _ in program))
    return lambda tf, *xs: run(tf, program, *xs)


def order_is_computed(program: list[Instruction]) -> bool:
    """Whether a tape knows indices that a graph does not: the two may then choose different directions."""
    return any(NAMES[op] in {"sort", "top_k"} for op, _, _ in program)


def as_rows(found: Any) -> list[list[Any]]:
    """What a plan gives, ``[target][source]``."""
    return found if isinstance(found, list) else [[found]]


def check(found: Any, rows: np.ndarray) -> None:
    np.testing.assert_allclose(matrix(found, rows), rows, rtol=1e-10, atol=1e-12)


@settings(max_examples=150)
@given(programs, OPTIONS)
def test_rows_are_gradients(program: list[Instruction], options: dict[str, Any]) -> None:
    fn, xs = smooth(program), points()
    share = options.pop("max_bytes")
    if share is not None:
        options["max_bytes"] = int(share * least_memory(fn, *xs, **options))
    expected = row_by_row(fn, *xs)
    tape, graph = on_tape(fn, *xs, **options), in_graph(fn, *xs, **options)
    for one, other, rows in zip(tape, graph, expected, strict=True):
        assert (one is None) == (other is None)
        if options["mode"] != "auto" or not order_is_computed(program):
            np.testing.assert_array_equal(matrix(one, rows), matrix(other, rows))
        np.testing.assert_allclose(matrix(one, rows), rows, rtol=1e-10, atol=1e-12)


@settings(max_examples=60)
@given(programs, st.sampled_from(("auto", "forward", "reverse")), st.integers(2, 7))
def test_all_ways_agree(program: list[Instruction], mode: str, chunks: int) -> None:
    fn, xs = smooth(program), points()
    expected = row_by_row(fn, *xs)
    plan = on_tape(fn, *xs, method="jacobian_plan", mode=mode)
    (whole,), (chunked,) = as_rows(plan(*xs)), as_rows(plan.in_chunks(chunks)(*xs))
    with ThreadPoolExecutor(2) as pool:
        # the same chunks (one for each worker) give the same bits, wherever they are swept, and whoever made the plan
        (elsewhere,) = as_rows(plan.in_chunks(chunks)(*xs, executor=pool))
        for taken in (on_tape, in_graph):
            spread = taken(fn, *xs, mode=mode, executor=pool)
            for one, other, rows in zip(spread, as_rows(plan.in_chunks(2)(*xs))[0], expected, strict=True):
                np.testing.assert_array_equal(matrix(one, rows), matrix(other, rows))
    sparse = on_tape(fn, *xs, mode=mode, format="csr")
    for ways in zip(whole, chunked, elsewhere, sparse, expected, strict=True):
        *found, rows = ways
        np.testing.assert_array_equal(matrix(found[1], rows), matrix(found[2], rows))
        for one in found:
            check(one, rows)


@settings(max_examples=40)
@given(programs)
def test_operators_agree(program: list[Instruction]) -> None:
    fn, xs = smooth(program), points()
    expected = row_by_row(fn, *xs)
    for taken in (on_tape, in_graph):
        for operator, rows in zip(taken(fn, *xs, format="operator"), expected, strict=True):
            if operator is not None:
                check(operator @ np.eye(rows.shape[1]), rows)
                check(operator.rmatmat(np.eye(rows.shape[0])).T, rows)


@settings(max_examples=40)
@given(programs, st.sampled_from(("auto", "forward", "reverse")))
def test_batches_agree(program: list[Instruction], mode: str) -> None:
    fn, (x, *others) = smooth(program), points()
    batch = np.stack([x, x[::-1] * 0.9])

    def rowwise(tf: Any, xs: Any) -> Any:
        return tf.stack([tf.reshape(fn(tf, row, *others), [-1]) for row in tf.unstack(xs)])

    expected = np.stack([row_by_row(fn, row, *others)[0] for row in batch])
    c = tape_api.constant(batch)
    with tape_api.GradientTape() as tape:
        tape.watch(c)
        y = rowwise(tape_api, c)
    found = tape.batch_jacobian(y, c, mode=mode).numpy()
    check(found.reshape(expected.shape), expected)
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        given = graph_api.placeholder(batch.dtype, batch.shape)
        again = session.run(graph_api.batch_jacobian(rowwise(graph_api, given), given, mode=mode), {given: batch})
    np.testing.assert_array_equal(found, again)
