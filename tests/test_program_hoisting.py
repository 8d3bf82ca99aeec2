"""Functions that take long, of elements that are taken from a table: computed of the table, with the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graph_api as tf
from engine.compiler.program import Program
from engine.ops import arithmetic, explog, joining, trig
from engine.ops.gather import gather
from engine.runtime import elementary
from tests.support import assert_same_bits
from tests.test_program import ALL_PASSES, lowered, names

MANY = np.random.default_rng(0).permutation(np.arange(2000) % 50)
WITHOUT = [name for name in ALL_PASSES if name != "hoisting"]


def table(*shape: int, dtype: str = "float64") -> Any:
    x = np.random.default_rng(1).uniform(0.5, 1.5, shape)
    x.flat[:3] = 0.0, -0.0, 1e-310
    return x.astype(dtype)


def sizes(program: Program, op: Any) -> list[int]:
    """Of what an op makes."""
    return [program.avals[i.outputs[0]].size or 0 for i in program.instructions if i.op is op]


def same(f: Any, *inputs: Any) -> Program:
    """The program with hoisting, which gives the bits of the one without, natively and not."""
    program, plain = lowered(f, inputs), lowered(f, inputs, WITHOUT)
    expected = plain.run_generated(*inputs)
    for _ in range(3):
        assert_same_bits(program(*inputs), expected)
    assert_same_bits(program.run_generated(*inputs), expected)
    return program


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_of_a_table_that_is_gathered(dtype: str) -> None:
    def f(x: Any) -> list[Any]:
        angle = gather(x, MANY)
        return [trig.sin(angle) * angle + trig.cos(angle * angle + 1.0)]

    program = same(f, table(50, dtype=dtype))
    assert sizes(program, trig.sin) == sizes(program, trig.cos) == [50]
    assert program.report["hoisting"] == 2


@pytest.mark.parametrize("op", [trig.sin, trig.tanh, explog.exp, explog.log1p], ids=lambda op: op.name)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_of_a_column(op: Any, dtype: str) -> None:
    """What is gathered lies side by side, as a column of a table does not."""
    f = lambda x: [op(gather(x[:, 1], MANY)) * 2.0]  # noqa: E731
    program = same(f, table(50, 3, dtype=dtype))
    assert sizes(program, op) == [50] and "contiguous" in names(program)


def test_of_slices_of_one_vector() -> None:
    f = lambda x: [trig.sin(x[1:]) * trig.cos(x[:-1]) + trig.sin(x[:-1]) * trig.cos(x[1:]) * trig.sin(x[1:] + x[:-1])]  # noqa: E731
    program = same(f, table(1000))
    assert sorted(sizes(program, trig.sin)) == [999, 1000] and sizes(program, trig.cos) == [1000]


def test_one_behind_the_other() -> None:
    f = lambda x: [trig.sin(explog.exp(gather(x, MANY)) * 3.0) + explog.exp(gather(x, MANY))]  # noqa: E731
    program = same(f, table(50))
    assert sizes(program, trig.sin) == sizes(program, explog.exp) == [50]


@pytest.mark.parametrize(
    "f",
    [
        # there is somebody whom nobody takes
        lambda x, i: [explog.log(gather(x, MANY % 49)) * 1.5],
        # who is taken is not known
        lambda x, i: [explog.log(gather(x, i)) * 1.5],
        # a table as large as what is taken
        lambda x, i: [explog.log(gather(x, np.arange(50).repeat(2))) * 1.5],
        lambda x, i: [explog.log(x[1:]) * 1.5],
        # of two tables, or at two places, together
        lambda x, i: [trig.sin(gather(x, MANY) * gather(x, MANY[::-1].copy()))],
        # what is quick
        lambda x, i: [arithmetic.multiply(gather(x, MANY), gather(x, MANY)) + 1.0],
        # results
        lambda x, i: [trig.sin(gather(x, MANY))],
    ],
)
def test_what_stays_where_it_is(f: Any) -> None:
    with np.errstate(all="ignore"):
        program = same(f, table(50), MANY)
    assert "hoisting" not in program.report


def test_elements_that_nobody_takes_raise_nothing() -> None:
    x = table(50)
    x[49] = -1.0
    x[:3] = 1.0
    f = lambda x: [explog.log(gather(x, MANY % 49)) + 1.0]  # noqa: E731
    with np.errstate(all="raise"):
        assert np.isfinite(lowered(f, [x])(x)[0]).all()


def test_of_what_is_put_together() -> None:
    f = lambda x: [trig.sin(gather(joining.concat([x, x * 2.0], 0), np.arange(2000) % 100)) + 1.0]  # noqa: E731
    assert sizes(same(f, table(50)), trig.sin) == [100]


def test_of_slices_of_unknown_length() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x, sizes = tf.placeholder(tf.float64, [400]), tf.placeholder(tf.int32, [2])
        part = tf.split(x, sizes)[1]
        y = tf.sin(part[1:]) * tf.sin(part[:-1])
        fed = table(400)
        found = session.run(y, {x: fed, sizes: [10, 390]})
    assert_same_bits([found], [elementary.sin(fed[11:]) * elementary.sin(fed[10:-1])])
