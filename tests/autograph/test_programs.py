"""Rewritten functions give what Python gives: as functions that are recorded, and in graphs, to the bit."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from tests.autograph import program_calls
from tests.autograph.programs import PROGRAMS

X = np.array([0.3, -0.7, 1.1], np.float32)
INPUTS = [
    (X, np.float32(1.3), np.int32(3)),
    (X, np.float32(-0.6), np.int32(3)),
    (X, np.float32(2.5), np.int32(1)),
    (-X, np.float32(0.4), np.int32(0)),
    (X * 2, np.float32(-3.0), np.int32(4)),
]
assert program_calls.SCALE, "its programs are among `PROGRAMS`"
Results = list[Any]


def on_a_tape(f: Callable[..., Any], given: Any) -> Results:
    """Value and gradients of a function that is called while a tape records."""
    tf = tape_api
    x, s, n = map(tf.constant, given)
    with tf.GradientTape() as tape:
        tape.watch([x, s])
        y = f(x, s, n)
        loss = tf.reduce_sum(y * y)
    return [y.numpy(), *[g if g is None else g.numpy() for g in tape.gradient(loss, [x, s])]]


def in_a_graph(program: Callable[..., Any]) -> Callable[[Any], Results]:
    tf = graph_api
    with tf.Graph().as_default() as graph:
        x, s, n = [tf.placeholder(v.dtype, v.shape) for v in INPUTS[0]]
        y = tf.autograph.to_graph(program)(tf, x, s, n)
        wanted = [y, *tf.gradients(tf.reduce_sum(y * y), [x, s])]

    def run(given: Any) -> Results:
        with tf.Session(graph=graph) as session:
            fetched = iter(session.run([w for w in wanted if w is not None], dict(zip((x, s, n), given, strict=True))))
        return [None if w is None else next(fetched) for w in wanted]

    return run


def same(a: Any, b: Any) -> bool:
    """Whether two results are the same bits; derivatives of zero may be None, or -0.0, as docs/numbers.md says."""
    if a is None or b is None:
        return not np.any(b if a is None else a)
    return a.dtype == b.dtype and a.shape == b.shape and (a + 0).tobytes() == (b + 0).tobytes()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_function_and_graph_give_what_python_gives(program: Callable[..., Any]) -> None:
    recorded = tape_api.function(lambda x, s, n: program(tape_api, x, s, n))
    graph = in_a_graph(program)
    values = tape_api.function(lambda x, s, n: program(tape_api, x, s, n))
    for given in [*INPUTS, *INPUTS]:
        expected = on_a_tape(lambda x, s, n: program(tape_api, x, s, n), given)
        for name, got in (
            ("function", on_a_tape(recorded, given)),
            ("graph", graph(given)),
            ("value", [values(*map(tape_api.constant, given)).numpy()]),
        ):
            assert all(same(a, b) for a, b in zip(expected, got, strict=False)), (name, given, expected, got)
    assert "as Python" not in values.explain(), values.explain()
    assert "as Python" in recorded.explain() or recorded.experimental_get_tracing_count() <= 2
