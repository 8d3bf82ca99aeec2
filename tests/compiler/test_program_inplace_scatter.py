"""Entries of arrays that are replaced in place, in programs and from step to step of a loop: it changes no bit."""

from typing import Any

import numpy as np
import pytest

import graph_api as gf
import tape_api as tf
from engine import executor
from engine.closed.function import ClosedFunction
from engine.control import in_place
from engine.ops import arithmetic, trig
from engine.ops.gather import gather
from engine.ops.scatter import tensor_scatter_nd_update
from engine.runtime.errors import IndexOutOfRangeError
from tests.compiler.test_program import lowered, names, numbers
from tests.compiler.test_program_passes import ALWAYS
from tests.support import assert_same_bits


def _written(x: Any, row: Any, count: int) -> list[Any]:
    arrays = [x]
    for t in range(count):
        row = trig.sin(row)
        arrays.append(tensor_scatter_nd_update(arrays[-1], np.array([[t]]), row[None]))
    return arrays


@pytest.mark.parametrize("run", [1, 3])
def test_only_the_first_write_copies(run: int) -> None:
    x, row = numbers(5, 30), numbers(30)
    f = lambda x, row: _written(x, row, 5)[-1]  # noqa: E731
    program, plain = lowered(f, [x, row]), lowered(f, [x, row], ALWAYS)
    assert names(program).count("tensor_scatter_update_op") == 1 and names(program).count("write_entries") == 4
    before = x.copy()
    results = [program(x, row) for _ in range(run)]
    for result in results:
        assert_same_bits(result, plain(x, row))
    assert_same_bits(x, before)


def test_an_array_that_is_read_later_stays() -> None:
    x, row = numbers(4, 3), numbers(3)

    def f(x: Any, row: Any) -> list[Any]:
        arrays = _written(x, row, 4)
        return [arrays[2], gather(arrays[3], np.array(2)) + arrays[4][0], arrays[4]]

    program, plain = lowered(f, [x, row]), lowered(f, [x, row], ALWAYS)
    for _ in range(3):
        for got, expected in zip(program(x, row), plain(x, row), strict=True):
            assert_same_bits(got, expected)


def test_readers_of_an_array_come_before_its_entries_are_replaced() -> None:
    x, row = numbers(4, 3), numbers(3)

    def f(x: Any, row: Any) -> Any:
        a = tensor_scatter_nd_update(x, np.array([[0]]), row[None])
        b = tensor_scatter_nd_update(a, np.array([[1]]), row[None])
        return [b, gather(a, np.array(1))]

    program = lowered(f, [x, row])
    assert names(program).index("gather_op") < names(program).index("write_entries")
    for got, expected in zip(program(x, row), lowered(f, [x, row], ALWAYS)(x, row), strict=True):
        assert_same_bits(got, expected)


def test_one_entry_is_taken_before_what_is_done_to_all() -> None:
    x = numbers(50, 30)
    f = lambda x: gather(arithmetic.multiply(trig.sin(x), 2.0), np.array(7))  # noqa: E731
    program = lowered(f, [x])
    assert names(program)[0] == "gather_op" and program.report["entries"] == 1
    assert_same_bits(program(x), lowered(f, [x], ALWAYS)(x))
    both = lowered(lambda x: [gather(y := trig.sin(x), np.array(7)), y], [x])
    assert names(both)[0] == "sin"


# ---- loops -----------------------------------------------------------------------------------------------------------

_T, _D = 7, 5


def _case(kind: str, x: Any, fetch: str) -> tuple[Any, Any]:
    """A loop that writes a TensorArray, by kind, and its gradient."""
    array = gf.TensorArray(x.dtype, size=_T).write(0, x)

    def body(t: Any, h: Any, a: Any, b: Any) -> Any:
        if kind == "reads":
            h = h + a.read(t - 1)
        if kind == "reads a view":
            h = h + a.stack()[t - 1]
        h = gf.sin(h) * 0.5
        if kind == "reads what it wrote":
            a = a.write(t, h)
            return t + 1, h + a.read(t), a, b
        if kind == "twice":
            return t + 1, h, a.write(t - 1, h * 2.0).write(t, h), b
        if kind == "the old one":
            return t + 1, h, a.write(t, h), a
        return t + 1, h, a.write(t, h), (b.write(t, -h) if kind == "two" else b)

    steps = gf.placeholder(gf.int32, [], name="steps")
    _, h, a, b = gf.while_loop(lambda t, *_: t < steps, body, (gf.constant(1), x, array, array))
    y = gf.reduce_sum(gf.square(a.stack()) * gf.cast(gf.range(_T), x.dtype)[:, None] - b.stack()) + gf.reduce_sum(h)
    return [a.stack(), b.stack(), h] if fetch == "values" else gf.gradients(y, x), steps


_KINDS = ["writes", "reads", "reads a view", "reads what it wrote", "twice", "the old one", "two"]


@pytest.mark.parametrize("fetch", ["values", "gradient"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", _KINDS)
def test_loops_that_write_entries_have_the_same_bits(
    kind: str, dtype: Any, fetch: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    point = numbers(_D).astype(dtype)
    point[:2] = -0.0, np.nan if kind == "writes" else 0.0
    runs = []
    for least, by in ((1 << 40, ClosedFunction.loop), (0, ClosedFunction.loop), (0, lambda *_, **__: None)):
        monkeypatch.setattr(in_place, "_LEAST", least)
        monkeypatch.setattr(ClosedFunction, "loop", by)
        with gf.Graph().as_default(), gf.Session() as session:
            x = gf.placeholder(dtype, [_D])
            results, steps = _case(kind, x, fetch)
            runs.append([session.run(results, {x: point * k, steps: _T}) for k in (1, 1, 2, 3)])
    for plain, written, by_step in zip(*runs, strict=True):
        for a, b, c in zip(plain, written, by_step, strict=True):
            assert_same_bits(a, b)
            assert_same_bits(a, c)


@pytest.mark.skipif(not executor.status().active, reason=str(executor.status()))
@pytest.mark.parametrize("kind", ["writes", "reads", "twice", "two"])
def test_a_table_writes_entries_itself(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_place, "_LEAST", 0)
    ran: list[int] = []
    loop = in_place.InPlace.loop

    def noted(self: Any, *args: Any, **more: Any) -> Any:
        outcome = loop(self, *args, **more)
        ran.append(0 if outcome is None else outcome[0])
        return outcome

    monkeypatch.setattr(in_place.InPlace, "loop", noted)
    with gf.Graph().as_default(), gf.Session() as session:
        x = gf.placeholder(gf.float64, [_D])
        results, steps = _case(kind, x, "gradient")
        for _ in range(4):
            ran.clear()
            session.run(results, {x: numbers(_D).astype(float), steps: _T})
    # the first steps show in what form arrays come
    assert max(ran) >= _T - 3 and (kind in ("reads", "twice") or sum(ran) >= 2 * _T - 5), ran


def _copied(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The bytes of arrays that loops write to, as these are made."""
    made: list[int] = []
    init = in_place.InPlace.__init__

    def noted(self: Any, *args: Any) -> None:
        init(self, *args)
        assert "tensor_scatter_update_op" not in names(self.plan.program)
        sizes = [self.plan.program.avals[s].size or 0 for i in self.plan.program.instructions for s in i.outputs]
        assert max(sizes) < 1000
        made.append(sum(args[2][i].nbytes for i in {write.carry for write in self.plan.writes}))

    monkeypatch.setattr(in_place.InPlace, "__init__", noted)
    return made


@pytest.mark.parametrize("mode", ["graph", "function"])
def test_a_loop_copies_a_large_array_once(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    count, width = 2000, 100
    copied = _copied(monkeypatch)

    def last(x: Any, n: Any, api: Any) -> Any:
        array = api.TensorArray(api.float64, size=count, element_shape=[width])
        body = lambda t, h, a: (t + 1, api.sin(h), a.write(t, h))  # noqa: E731
        return api.while_loop(lambda t, *_: t < n, body, (0, x, array))[2].stack()

    point = numbers(width).astype(float)
    if mode == "graph":
        with gf.Graph().as_default(), gf.Session() as session:
            x = gf.placeholder(gf.float64, [width])
            y = last(x, count, gf)
            (g,) = gf.gradients(gf.reduce_sum(y * y), x)
            session.run(y, {x: point})
            assert copied == [8 * count * width]
            session.run(g, {x: point})
    else:
        function = tf.function(lambda x: last(x, count, tf))
        x = tf.constant(point)
        for _ in range(3):  # the first calls record
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = function(x)
                z = tf.reduce_sum(y * y)
            tape.gradient(z, x).numpy()
    assert copied == [8 * count * width] * len(copied) and 2 <= len(copied) <= 4


def test_an_index_outside_is_an_error_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_place, "_LEAST", 0)
    start = numbers(4, 3).astype(float)
    kept = start.copy()
    with gf.Graph().as_default(), gf.Session() as session:
        whole, n = gf.placeholder(gf.float64, [4, 3]), gf.placeholder(gf.int32, [])
        array = gf.TensorArray(gf.float64, size=4).unstack(whole)
        body = lambda t, a: (t + 1, a.write(t, np.array([1.0, 2.0, 3.0])))  # noqa: E731
        y = gf.while_loop(lambda t, *_: t < n, body, (0, array))[1].stack()
        for _ in range(3):
            with pytest.raises(IndexOutOfRangeError, match=r"indices\[0\] = \[4\] does not index"):
                session.run(y, {whole: start, n: 5})
            assert session.run(y, {whole: start, n: 4}).tolist() == [[1.0, 2.0, 3.0]] * 4
    assert_same_bits(start, kept)
