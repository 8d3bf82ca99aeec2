"""Threads that update the same state lose nothing; threads that differentiate, replay and plan at once agree.

The environment's DUALGRAD_THREADS_UPDATES says how many updates each of the 8 threads makes, by default a few.
"""

import os
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_api as g
import tape_api as t
from engine.runtime.commit import Lock, exclusively, in_order
from engine.runtime.errors import CancelledError

THREADS = 8
UPDATES = int(os.environ.get("DUALGRAD_THREADS_UPDATES", "150"))


@pytest.fixture(autouse=True)
def switching_often() -> Any:
    """Let threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(work: Callable[[int], Any], threads: int = THREADS) -> None:
    """Do ``work(number)`` in so many threads at once; what one raises, this raises."""
    errors: list[BaseException] = []
    start = threading.Barrier(threads)

    def run(number: int) -> None:
        try:
            start.wait()
            work(number)
        except BaseException as error:  # noqa: BLE001 - raised again below
            errors.append(error)

    running = [threading.Thread(target=run, args=(i,), daemon=True) for i in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join(600)
        assert not thread.is_alive(), "threads wait for each other"
    if errors:
        raise errors[0]


def often(update: Callable[[int], Any]) -> None:
    """Each thread does ``update(number)`` UPDATES times."""

    def work(number: int) -> None:
        for _ in range(UPDATES):
            update(number)

    together(work)


# ---- tapes -----------------------------------------------------------------------------------------------------------


def test_tape_assign_add_and_sub_lose_nothing() -> None:
    v = t.Variable(np.zeros(3), dtype=t.float64)
    often(lambda number: v.assign_add([3.0, 2.0, 1.0]) if number % 2 else v.assign_sub([1.0, 1.0, 1.0]))
    assert v.numpy().tolist() == [THREADS / 2 * UPDATES * x for x in (2.0, 1.0, 0.0)]


def test_tape_scatter_loses_nothing_while_others_read() -> None:
    v = t.Variable(np.zeros((THREADS, 64)), dtype=t.float64)

    def update(number: int) -> None:
        v.scatter_add(t.IndexedSlices(t.ones([1, 64], t.float64), t.constant([number])))
        rows = v.read_value()
        before = rows.numpy()
        assert (before == before[:, :1]).all(), "half a row was read"
        v.scatter_nd_add([[number, 0]], t.constant([0.0], t.float64))
        assert (rows.numpy() == before).all(), "a value that was read has changed"

    often(update)
    assert (v.numpy() == UPDATES).all()


@pytest.mark.parametrize("sparse", [False, True])
def test_tape_optimizers_and_global_step_lose_nothing(sparse: bool) -> None:
    v, w = t.Variable(np.zeros((4, 2))), t.Variable(0.0, dtype=t.float64)
    step = t.Variable(np.int64(0))
    optimizer = t.train.GradientDescentOptimizer(1.0)
    row = t.IndexedSlices(-t.ones([1, 2], v.dtype), t.constant([1]))
    gradient = row if sparse else np.full((4, 2), -1.0)
    often(lambda _: optimizer.apply_gradients([(gradient, v), (-1.0, w)], global_step=step))
    assert step.numpy() == w.numpy() == v.numpy()[1, 0] == THREADS * UPDATES


def test_tape_minimize_counts_each_step_and_makes_slots_once() -> None:
    v, w = t.Variable([0.0, 0.0]), t.Variable(0.0)
    optimizer = t.keras.optimizers.SGD(1e-3, momentum=0.5)
    # threads that differ in which variable comes first share one count
    often(lambda number: optimizer.minimize(lambda: t.reduce_sum(v) + w, [v, w] if number % 2 else [w, v]))
    assert optimizer.iterations.numpy() == THREADS * UPDATES
    assert len(optimizer.variables) == 4


def test_tape_averages_and_metrics_lose_nothing() -> None:
    v = t.Variable(1.0, dtype=t.float64)
    averages = t.train.ExponentialMovingAverage(0.0)
    mean = t.keras.metrics.Mean()

    def update(_: int) -> None:
        averages.apply([v])
        mean.update_state([1.0, 3.0])

    often(update)
    assert averages.average(v).numpy() == 1.0  # type: ignore[union-attr]
    assert mean.count.numpy() == 2 * THREADS * UPDATES and mean.result().numpy() == 2.0


def test_tape_random_numbers_are_drawn_once() -> None:
    source = t.random.Generator.from_seed(1)
    drawn: list[float] = []
    often(lambda _: drawn.append(float(source.uniform([], dtype=t.float64))))
    assert len(set(drawn)) == THREADS * UPDATES


# ---- graphs ----------------------------------------------------------------------------------------------------------


def _session(fetches: Any) -> g.Session:
    session = g.Session()
    session.run(g.global_variables_initializer())
    return session


def test_graph_assign_add_loses_nothing() -> None:
    with g.Graph().as_default():
        v, w = g.Variable(0.0, dtype=g.float64), g.Variable(0.0, dtype=g.float64)
        one, both = v.assign_add(1.0), g.group(w.assign_add(1.0), v.assign_add(1.0))
        session = _session(v)
        often(lambda number: session.run(one if number % 2 else both))
        assert session.run([v, w]) == [THREADS * UPDATES, THREADS / 2 * UPDATES]


def test_graph_scatter_loses_nothing_while_others_read() -> None:
    with g.Graph().as_default():
        v = g.Variable(np.zeros((THREADS, 64)))
        counted = g.Variable(0.0, dtype=g.float64)
        updates = [g.group(g.scatter_add(v, [i], np.ones((1, 64))), g.assign_add(counted, 1.0)) for i in range(THREADS)]
        total, read = g.reduce_sum(v.value(), axis=0), v.value()
        session = _session(v)

        def update(number: int) -> None:
            session.run(updates[number])
            whole, sums, count = session.run([read, total, counted])
            assert (whole == whole[:, :1]).all() and (sums == count).all(), "a run saw half an update"

        often(update)
        assert (session.run(v) == UPDATES).all()


def test_graph_minimize_and_global_step_lose_nothing() -> None:
    with g.Graph().as_default():
        v = g.Variable(np.zeros(2))
        step = g.train.get_or_create_global_step()
        train = g.train.GradientDescentOptimizer(1.0).minimize(-g.reduce_sum(v), global_step=step)
        session = _session(v)
        often(lambda _: session.run(train))
        assert session.run(step) == THREADS * UPDATES and (session.run(v) == THREADS * UPDATES).all()


def test_graph_random_numbers_are_drawn_once() -> None:
    with g.Graph().as_default():
        x = g.random_uniform([], dtype=g.float64, seed=1)
        session = g.Session()
        drawn: list[float] = []
        often(lambda _: drawn.append(float(session.run(x))))
        assert len(set(drawn)) == THREADS * UPDATES


def test_a_run_that_only_reads_does_not_wait_for_one_that_assigns() -> None:
    entered, finish = threading.Event(), threading.Event()

    def slowly(x: Any) -> Any:
        entered.set()
        assert finish.wait(60)
        return x

    with g.Graph().as_default():
        v, other = g.Variable(1.0), g.Variable(1.0)
        slow = v.assign(g.py_func(slowly, [v + 1.0], g.float32, stateful=True))
        forward, elsewhere = v * 10.0, other.assign_add(1.0)
        session = _session(v)
        thread = threading.Thread(target=session.run, args=(slow.op,))
        thread.start()
        assert entered.wait(60)
        assert session.run(forward) == 10.0 and session.run(elsewhere) == 2.0
        finish.set()
        thread.join(60)
        assert session.run(forward) == 20.0


def test_a_run_that_a_callback_makes_may_change_the_same_variable() -> None:
    with g.Graph().as_default():
        v = g.Variable(1.0)
        inner = v.assign(5.0).op

        def nested(x: Any) -> Any:
            session.run(inner)
            return x

        outer = v.assign_add(g.py_func(nested, [v + 1.0], g.float32, stateful=True))
        session = _session(v)
        session.run(outer.op)
        assert session.run(v) == 3.0


def test_updates_that_wait_for_each_other_say_so() -> None:
    first, second = in_order([Lock(), Lock()])
    met = threading.Barrier(2)
    told: list[str] = []

    def work(number: int) -> None:
        mine, other = ((first,), (second,)) if number else ((second,), (first,))

        def outer() -> None:
            met.wait(60)
            exclusively(other, lambda: None)

        try:
            exclusively(mine, outer)
        except CancelledError as error:
            told.append(str(error))

    together(work, 2)
    assert len(told) == 1 and "wait for each other" in told[0]


def test_shapes_are_those_of_the_values_that_a_run_gets() -> None:
    # the program of another shape gives another gradient: 1 / 4 for 1 / 2
    with g.Graph().as_default():
        v = g.Variable(np.ones(2), validate_shape=False)
        loss = g.reduce_mean(v * v)
        gradient = g.gradients(loss, [v])[0]
        short, long = (g.assign(v, np.ones(n), validate_shape=False).op for n in (2, 4))
        session = _session(v)
        for assign, n in ((short, 2), (long, 4), (short, 2), (long, 4)):
            session.run(assign)
            assert session.run(gradient).tolist() == [2 / n] * n

        def update(number: int) -> None:
            if number < 2:
                session.run((short, long)[number])
            else:
                found = session.run(gradient)
                assert found.tolist() == [2 / len(found)] * len(found)

        often(update)


# ---- caches ----------------------------------------------------------------------------------------------------------


def test_threads_differentiate_replay_and_plan_at_once() -> None:
    def derivatives(n: int) -> list[Any]:
        x = t.Variable(np.linspace(0.1, 1.0, n))
        with t.GradientTape(persistent=True) as tape:
            y = t.sin(x) * t.reduce_sum(x)
            z = t.reduce_sum(y * y)
        return [tape.gradient(z, x).numpy(), tape.jacobian(y, x).numpy()]

    wanted = [derivatives(n) for n in range(1, 30)]

    def work(number: int) -> None:
        for round in range(max(1, UPDATES // 50)):
            for n in range(1, 30):
                m = (n * (number + 1) + round) % 29 + 1
                for found, expected in zip(derivatives(m), wanted[m - 1], strict=True):
                    assert np.array_equal(found, expected)

    together(work)


def test_threads_compile_in_one_session_at_once() -> None:
    with g.Graph().as_default():
        x = g.placeholder(g.float64, [None])
        y = g.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * 2.0), [g.constant(0), x])[1]
        total = g.gradients(g.reduce_sum(y * y), [x])[0]
        session = g.Session()

        def work(number: int) -> None:
            for n in range(1, 40):
                assert (session.run(total, {x: np.ones(n)}) == 128.0).all()

        together(work)


@pytest.mark.skipif(getattr(sys, "_is_gil_enabled", lambda: True)(), reason="needs a free-threaded build")
def test_without_the_gil_nothing_is_lost() -> None:
    test_tape_assign_add_and_sub_lose_nothing()
    test_graph_assign_add_loses_nothing()
    test_threads_differentiate_replay_and_plan_at_once()


def test_everybody_takes_locks_in_one_order() -> None:
    locks = [Lock() for _ in range(8)]
    assert in_order(locks) == in_order(reversed(locks)) == in_order([*locks, *locks])
