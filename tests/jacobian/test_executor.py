"""Jacobians whose chunks an executor sweeps: the same bits as in one process, errors that come home."""

import multiprocessing
import pickle
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api as tf
from engine.jacobian import plan_cache as recorded
from engine.jacobian.execution.parallel import Sent, View, _portable
from engine.jacobian.planning import plan as plans
from engine.runtime.errors import InvalidArgumentError, UnimplementedError
from tests.jacobian.both import dense
from tests.tapes import gradient_in, watching

RNG = np.random.default_rng(5)
POINT = RNG.normal(size=(6, 10))
WEIGHTS = [RNG.normal(size=shape) / 4 for shape in ((10, 16), (16, 7))]


class Here(Executor):
    """Runs what it is given at once, after sending it there and back; counts."""

    def __init__(self, workers: int = 2) -> None:
        self._max_workers = workers
        self.submitted = 0
        self.bytes = 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.submitted += 1
        sent = pickle.dumps((fn, args))
        self.bytes += len(sent)
        function, arguments = pickle.loads(sent)
        future: Future[Any] = Future()
        try:
            future.set_result(pickle.loads(pickle.dumps(function(*arguments))))
        except Exception as error:  # noqa: BLE001  (as executors do)
            future.set_exception(error)
        return future


class Threads(ThreadPoolExecutor):
    """Counts."""

    submitted = 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.submitted += 1
        return super().submit(fn, *args, **kwargs)


@pytest.fixture(scope="module")
def processes() -> Iterator[Executor]:
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool


@pytest.fixture(scope="module")
def threads() -> Iterator[Executor]:
    with ThreadPoolExecutor(2) as pool:
        yield pool


@pytest.fixture(params=["here", "threads", "processes"])
def executor(request: pytest.FixtureRequest) -> Any:
    return Here() if request.param == "here" else request.getfixturevalue(request.param)


def layers(x: Any, lib: Any) -> Any:
    """Dense, 42 targets of 60 sources."""
    for w in WEIGHTS:
        x = lib.tanh(lib.matmul(x, lib.constant(w)))
    return x


def stencil(x: Any, lib: Any) -> Any:
    """Sparse, three neighbors in a row that is not contiguous in memory."""
    y = lib.sin(x)
    return y[1:-1, :] * (y[2:, :] - 2.0 * y[1:-1, :] + y[:-2, :])


def summed(x: Any, lib: Any) -> Any:
    """Sums over views of every kind: the order of additions follows from the strides."""
    z = lib.transpose(x)
    a = lib.reduce_sum(lib.exp(z[::2, 1:5]) * z[1::2, 2:], 1)
    return lib.concat([a, lib.reduce_sum(lib.sin(lib.reverse(z, [1])) * z, 0)], 0)


FUNCTIONS = [layers, stencil, summed]


def on_tape(function: Any, **options: Any) -> Any:
    x = tf.constant(POINT)
    return gradient_in(x, lambda: function(x, tf), method="jacobian", **options)


def plan_on_tape(function: Any, **options: Any) -> Any:
    x = tf.constant(POINT)
    return gradient_in(x, lambda: function(x, tf), method="jacobian_plan", **options)


# ---- the same numbers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", ["dense", "csr", "coo"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_tape(function: Any, format: str, executor: Any) -> None:
    expected = plan_on_tape(function, format=format).in_chunks(2)(POINT)
    found = on_tape(function, format=format, executor=executor)
    np.testing.assert_array_equal(dense(found), dense(expected))
    np.testing.assert_allclose(dense(found), dense(on_tape(function, format=format)), rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("format", ["dense", "csr"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_graph(function: Any, format: str, executor: Any) -> None:
    expected = plan_on_tape(function, format=format).in_chunks(2)(POINT)
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        x = graph_api.placeholder(graph_api.float64, POINT.shape)
        j = graph_api.jacobian(function(x, graph_api), x, format=format, executor=executor)
        found = session.run(j, {x: POINT})
    np.testing.assert_array_equal(dense(found), dense(expected))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_plan(function: Any, executor: Any) -> None:
    plan = plan_on_tape(function)
    expected = plan.in_chunks(2)(POINT)
    np.testing.assert_array_equal(plan(POINT, executor=executor), expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(plan))(POINT, executor=executor), expected)


def coupled(x: Any, tf: Any = tf) -> Any:
    """Each element depends on all of x: a seed for each."""
    return layers(x, tf) * tf.reduce_sum(x)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_chunks_that_the_memory_limit_asks_for_are_kept(mode: str) -> None:
    for limit in range(4_000, 400_000, 400):
        options = {"mode": mode, "max_bytes": limit}
        try:
            plan = plan_on_tape(coupled, **options).plan
        except InvalidArgumentError:
            # not enough for one seed
            continue
        (chunk,), (one,) = plan.chunks, plan.sweeps
        if 1 < chunk < one.count:
            break
    assert 1 < chunk < one.count
    pool = Here(workers=1)
    np.testing.assert_array_equal(dense(on_tape(coupled, executor=pool, **options)), dense(on_tape(coupled, **options)))
    assert pool.submitted == 1
    with Threads(2) as threads:
        np.testing.assert_array_equal(
            dense(on_tape(coupled, executor=threads, **options)), dense(on_tape(coupled, **options))
        )
    assert threads.submitted == -(-one.count // chunk)


def test_a_plan_in_one_chunk_gets_one_per_worker() -> None:
    for workers, chunks in ((1, 1), (2, 2), (3, 3), (5, 4)):  # of 7 seeds: 7; 4 and 3; 3, 3 and 1; 2, 2, 2 and 1
        pool = Here(workers)
        on_tape(layers, executor=pool)
        assert pool.submitted == chunks


def test_cuts_stay_in_one_piece() -> None:
    a, b = tf.constant(RNG.normal(size=(60, 3))), tf.constant(RNG.normal(size=(3, 50)))

    def bottleneck(x: Any, lib: Any) -> Any:
        inner = lib.tanh(lib.matmul(lib.reshape(x, (1, 60)), a))
        return lib.sin(lib.matmul(lib.sin(inner), b))

    pool = Here()
    expected = on_tape(bottleneck)
    np.testing.assert_array_equal(dense(on_tape(bottleneck, executor=pool)), dense(expected))
    assert plan_on_tape(bottleneck).plan.sweeps[0].chain is not None
    assert pool.submitted == 1


def test_structures_unconnected_pairs_and_variables() -> None:
    x, v, other = tf.constant(POINT), tf.Variable(POINT[:2]), tf.constant(1.0)
    pool = Here()

    def blocks(**options: Any) -> Any:
        tape, y = watching([x, other], lambda: {"a": tf.sin(x[:2]) * v, "b": tf.exp(x[3])})
        return tape.jacobian(y, [x, v, other], **options)

    expected, found = blocks(), blocks(executor=pool)
    assert pool.submitted
    for key in "ab":
        assert found[key][2] is None
        np.testing.assert_array_equal(dense(found[key][0]), dense(expected[key][0]))
    np.testing.assert_array_equal(dense(found["a"][1]), dense(expected["a"][1]))
    assert found["b"][1] is None


def test_nothing_to_sweep() -> None:
    x = tf.constant(POINT)
    tape, (empty, constant) = watching(x, lambda: (x[:0] * 2.0, tf.constant([1.0])), persistent=True)
    assert tape.jacobian(constant, x, executor=Here()) is None
    assert tape.jacobian(empty, x, executor=Here()).shape == (0, 10, 6, 10)
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        y = graph_api.placeholder(graph_api.float64, [3])
        # a linear function: its Jacobian takes no values
        j = graph_api.jacobian(graph_api.cumsum(y), y, executor=Here())
        np.testing.assert_array_equal(session.run(j, {y: np.zeros(3)}), np.tri(3))


# ---- done once -------------------------------------------------------------------------------------------------------


def test_the_second_call_plans_and_compiles_nothing() -> None:
    pool = Here()
    on_tape(layers, executor=pool)
    planned, compiled, sent = plans.counters["planned"], recorded.counters["compiled"], pool.submitted
    on_tape(layers, executor=pool)
    assert (plans.counters["planned"], recorded.counters["compiled"]) == (planned, compiled)
    assert pool.submitted == 2 * sent


def test_a_worker_makes_a_program_once() -> None:
    plan = plan_on_tape(layers)
    sent = Sent(plan.program)
    first, second = (pickle.loads(pickle.dumps(sent)) for _ in range(2))
    assert first is second
    np.testing.assert_array_equal(first.program(POINT)[0], plan.program(POINT)[0])


def test_graph_sweeps_when_fetched() -> None:
    pool = Here()
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        x = graph_api.placeholder(graph_api.float64, POINT.shape)
        y = layers(x, graph_api)
        j = graph_api.jacobian(y, x, executor=pool)
        session.run(y, {x: POINT})
        assert pool.submitted == 0
        session.run(j, {x: POINT})
        assert pool.submitted == 2


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a,
        lambda a: a.T,
        lambda a: a[:, 1:4],
        lambda a: a[::-1, ::2],
        lambda a: a[1],
        lambda a: a[:, 3::4],
        lambda a: a.reshape(15, 4)[:, 3],
        lambda a: np.broadcast_to(a[0], (5, 10)),
        lambda a: a.reshape(2, 3, 10).transpose(1, 2, 0)[1:, ::3],
        lambda a: a[:0, 2:],
        lambda a: a[2, 3],
        lambda a: np.asarray(a[2, 3]),
    ],
)
def test_views_keep_their_strides(view: Any) -> None:
    before = np.asarray(view(POINT))
    after = pickle.loads(pickle.dumps(View(before))).array
    np.testing.assert_array_equal(after, before)
    if before.size:
        assert after.strides == before.strides or before.flags.forc
    assert before.sum() == after.sum()


def test_a_small_view_of_a_large_array_goes_alone() -> None:
    column = np.ones((1000, 1000))[:, 3]
    assert len(pickle.dumps(View(column))) < 2 * column.nbytes


# ---- errors ----------------------------------------------------------------------------------------------------------


def gathering(x: Any, index: Any) -> Any:
    return graph_api.gather(graph_api.sin(x) * x, index) * graph_api.gather(x, index)


def test_an_error_in_a_worker_comes_home(processes: Executor, threads: Executor) -> None:
    for pool in (processes, threads):
        with graph_api.Graph().as_default(), graph_api.Session() as session:
            x = graph_api.placeholder(graph_api.float64, [6])
            index = graph_api.placeholder(graph_api.int32, [2])
            y = gathering(x, index)
            j = graph_api.jacobian(y, x, executor=pool)
            assert session.run(j, {x: POINT[:, 0], index: [0, 5]}).shape == (2, 6)
            with pytest.raises(InvalidArgumentError, match="indices"):
                session.run(j, {x: POINT[:, 0], index: [0, 6]})


class Failing(Here):
    """The third submission goes wrong in the worker."""

    def __init__(self) -> None:
        super().__init__(workers=4)
        self.futures: list[Future[Any]] = []

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.submitted += 1
        future: Future[Any] = Future()
        if self.submitted == 1:
            future.set_exception(MemoryError("worker 3 has no memory left"))
        self.futures.append(future)
        return future


def test_the_other_chunks_are_called_off() -> None:
    pool = Failing()
    with pytest.raises(MemoryError, match="worker 3 has no memory left"):
        on_tape(layers, executor=pool)
    assert [f.cancelled() for f in pool.futures] == [False, True, True, True]


class Odd(Exception):
    """Cannot be sent."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.lock = threading.Lock()


def test_an_error_that_cannot_be_pickled_is_told() -> None:
    assert str(_portable(Odd("something odd"))) == "Odd: something odd"
    error = InvalidArgumentError("slice: bad")
    assert _portable(error) is error


def test_bad_arguments() -> None:
    with pytest.raises(InvalidArgumentError, match=r"`executor` must be a concurrent\.futures\.Executor; got 4"):
        on_tape(layers, executor=4)
    with pytest.raises(InvalidArgumentError, match="operator"):
        on_tape(layers, executor=Here(), format="operator")
    x = tf.constant(POINT)
    tape, y = watching(x, lambda: layers(x, tf))
    with pytest.raises(InvalidArgumentError):
        tape.jacobian(y, x, executor="pool")
    assert tape.jacobian(y, x).shape == (6, 7, 6, 10), "the tape is not spent"


def test_no_second_derivative_through_an_executor() -> None:
    with graph_api.Graph().as_default():
        x = graph_api.placeholder(graph_api.float64, [3])
        j = graph_api.jacobian(graph_api.sin(x) * x, x, executor=Here())
        with pytest.raises(UnimplementedError, match="executor"):
            graph_api.gradients(j, x)
    v = tf.constant([1.0, 2.0])
    with tf.GradientTape() as outer:
        outer.watch(v)
        first = gradient_in(v, lambda: v * tf.sin(v), method="jacobian", executor=Here())
    with pytest.raises(UnimplementedError, match="executor"):
        outer.gradient(first, v)


# ---- a cluster -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("front_end", ["tape", "graph"])
def test_a_constant_is_sent_once_to_a_worker(front_end: str) -> None:
    w = RNG.normal(size=(60, 60)) / 8
    x = RNG.normal(size=60)

    def chain(lib: Any, x: Any) -> Any:
        for _ in range(20):
            x = lib.tanh(lib.linalg.matvec(w, x))
        return x

    here = Here(2)
    if front_end == "tape":
        c = tf.constant(x)
        tape, y = watching(c, lambda: chain(tf, c))
        plan = tape.jacobian_plan(y, c)
        whole, found = plan.in_chunks(2)(x), plan.in_chunks(2)(x, executor=here)
    else:
        with graph_api.Graph().as_default(), graph_api.Session() as session:
            given = graph_api.placeholder(x.dtype, x.shape)
            y = chain(graph_api, given)
            plan = graph_api.jacobian_plan(y, given)
            whole, found = plan.in_chunks(2)(x), session.run(graph_api.jacobian(y, given, executor=here), {given: x})
    np.testing.assert_array_equal(found, whole)
    # the constant, and what lies between its 20 uses
    assert here.submitted == 2
    assert here.bytes / here.submitted < 2 * w.nbytes + 100_000
