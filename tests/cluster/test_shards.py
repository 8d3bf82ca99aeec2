"""Functions over shards of data: the numbers of one process, the same bits for any number of workers."""

import itertools
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import least_squares, minimize
from scipy.sparse.linalg import cg

import graph_api
import tape_api as tf
from dualgrad import cluster
from dualgrad.cluster import workers
from engine.runtime.errors import InvalidArgumentError

pytestmark = pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
RNG = np.random.default_rng(5)
DATA = [(RNG.normal(size=(40, 3)), RNG.normal(size=40)) for _ in range(7)]
X = np.array([0.3, -0.2, 0.5])


def loss(w: Any, a: Any, b: Any) -> Any:
    return tf.reduce_sum(tf.math.softplus(tf.linalg.matvec(a, w) * b)) + 0.1 * tf.reduce_sum(w**4)


def misses(w: Any, a: Any, b: Any) -> Any:
    return tf.tanh(tf.linalg.matvec(a, w)) - b


def load(k: int) -> tuple[Any, ...]:
    return DATA[k]


def processes(count: int = 2) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("fork"))


@contextmanager
def loky() -> Iterator[Any]:
    with pytest.importorskip("loky").ProcessPoolExecutor(2) as pool:
        yield pool


@contextmanager
def dask() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as local,
        distributed.Client(local) as client,
    ):
        yield client


ENGINES: dict[str, Callable[[], Any]] = {
    "threads": lambda: ThreadPoolExecutor(3),
    "processes": processes,
    "one": lambda: processes(1),
    "loky": loky,
    "dask": dask,
}
engines = pytest.mark.parametrize(
    "engine", [pytest.param(e, marks=[pytest.mark.cluster] * (e in ("dask", "loky"))) for e in ENGINES]
)


@engines
def test_results_do_not_depend_on_the_workers(engine: str) -> None:
    scalar, residuals = tf.for_scipy(loss, X), tf.for_scipy(misses, X, format="operator")
    v, u = np.array([1.0, 2.0, -1.0]), RNG.normal(size=280)
    with ENGINES[engine]() as pool:
        found: dict[Any, list[Any]] = {}
        for per_task, executor in itertools.product((None, 3), (None, pool)):
            p, r = [cluster.over(f, DATA, executor, per_task=per_task) for f in (scalar, residuals)]
            for _ in range(2):
                half, gradient, normal = r.gauss_newton(X)
                jacobian = r.jac(X)
                last = [
                    *(p.fun(X), *p.fun_and_jac(X), p.jac(X), p.hessp(X, v), p.hess(X) @ v, r.fun(X), half, gradient),
                    *(normal @ v, jacobian @ v, jacobian.T @ u),
                ]
            found.setdefault(per_task, []).append(last)
    for both in found.values():
        for here, there in zip(*both, strict=True):
            np.testing.assert_array_equal(here, there)


def test_the_numbers_are_those_of_all_data_at_once() -> None:
    a, b = (np.concatenate(parts) for parts in zip(*DATA, strict=True))
    p, r = (cluster.over(tf.for_scipy(f, X), DATA) for f in (loss, misses))
    whole, rows = tf.for_scipy(loss, X), tf.for_scipy(misses, X)
    few = 0.1 * (len(DATA) - 1)
    np.testing.assert_allclose(p.fun(X), whole.fun(X, a, b) + few * np.sum(X**4), rtol=1e-13)
    np.testing.assert_allclose(p.jac(X), whole.jac(X, a, b) + 4 * few * X**3, rtol=1e-13)
    np.testing.assert_allclose(p.hess(X) @ np.eye(3), whole.hess(X, a, b) + np.diag(12 * few * X**2), rtol=1e-12)
    jacobian, residuals = rows.jac(X, a, b), rows.fun(X, a, b)
    half, gradient, normal = r.gauss_newton(X)
    np.testing.assert_allclose(half, residuals @ residuals / 2, rtol=1e-13)
    np.testing.assert_allclose(gradient, jacobian.T @ residuals, rtol=1e-12)
    np.testing.assert_allclose(normal @ np.eye(3), jacobian.T @ jacobian, rtol=1e-12)
    np.testing.assert_array_equal(np.concatenate([f.result() for f in r.jac_blocks(X)]), jacobian)


def test_scipys_solvers_take_them() -> None:
    with processes() as pool:
        p = cluster.over(tf.for_scipy(loss, X), DATA, pool)
        found = minimize(p.fun_and_jac, p.x0, jac=True, hessp=p.hessp, method="trust-ncg", options={"gtol": 1e-9})
        assert found.success
        assert np.abs(p.jac(found.x)).max() < 1e-8
        r = cluster.over(tf.for_scipy(misses, X, format="operator"), DATA, pool)
        fitted = least_squares(r.fun, r.x0, r.jac, xtol=1e-12, ftol=1e-12, gtol=1e-10)
        x = r.x0
        for _ in range(30):
            _, gradient, normal = r.gauss_newton(x)
            x = x + cg(normal, -gradient, rtol=1e-12)[0]
    np.testing.assert_allclose(x, fitted.x, atol=1e-6)


def test_functions_of_graphs_too() -> None:
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        x, a = graph_api.placeholder(graph_api.float64, [3]), graph_api.placeholder(graph_api.float64, [4])
        w = graph_api.Variable(np.array(2.0))
        session.run(w.initializer)
        y = graph_api.reduce_sum(w * graph_api.reduce_sum(x**2) * a)
        p = graph_api.for_scipy(y, x, X, args=[a], session=session)
        with processes() as pool:
            np.testing.assert_allclose(cluster.over(p, [np.ones(4), np.ones(4) * 2], pool).jac(X), 48 * X, rtol=1e-14)


def test_what_a_worker_lacks_is_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    p = cluster.over(tf.for_scipy(loss, X), DATA)
    first = p.jac(X)
    for cache in (workers._shards, workers._pickled, workers._own.functions):
        cache._entries.clear()
    np.testing.assert_array_equal(p.jac(X), first)
    monkeypatch.setattr(workers._shards, "max_bytes", 1)
    np.testing.assert_array_equal(p.jac(X), first)


def dies_once(w: Any, a: Any, b: Any, flag: Any) -> Any:
    file = Path(bytes(np.asarray(flag)).decode())
    if file.exists():
        file.unlink()
        os.kill(os.getpid(), signal.SIGKILL)
    return loss(w, a, b)


def test_a_worker_that_dies_costs_its_shards(tmp_path: Path) -> None:
    flags = [np.frombuffer(str(tmp_path / str(k)).encode(), np.uint8) for k in range(3)]
    shards = [(*DATA[k], flags[k]) for k in range(3)]
    calm = cluster.over(tf.for_scipy(dies_once, X), shards).jac(X)
    (tmp_path / "1").touch()
    p = cluster.over(tf.for_scipy(dies_once, X), shards, processes)
    np.testing.assert_array_equal(p.jac(X), calm)
    (tmp_path / "2").touch()
    with processes() as pool, pytest.raises(RuntimeError, match=r"a worker has died .* give a function") as raised:
        cluster.over(tf.for_scipy(dies_once, X), shards, pool).jac(X)
    assert isinstance(raised.value.__cause__, BrokenProcessPool)


def always_dies(w: Any, a: Any, b: Any) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_function_that_kills_its_workers_is_given_up() -> None:
    with pytest.raises(RuntimeError, match="has died 3 times"):
        cluster.over(tf.for_scipy(always_dies, X), DATA[:1], partial(processes, 1)).jac(X)


def raises(w: Any, a: Any, b: Any) -> Any:
    raise ZeroDivisionError("of the function")


def test_what_the_function_raises_is_raised() -> None:
    with processes() as pool, pytest.raises(ZeroDivisionError, match="of the function"):
        cluster.over(tf.for_scipy(raises, X), DATA, pool).jac(X)


class Locked:
    """A function that no process can be sent, and that is no program: it looks at values."""

    def __init__(self) -> None:
        self.lock = threading.Lock()

    def __call__(self, w: Any, a: Any, b: Any) -> Any:
        return loss(w, a, b) if float(w[0]) > 0 else loss(-w, a, b)


def test_wrong_arguments() -> None:
    p = tf.for_scipy(loss, X)
    with pytest.raises(InvalidArgumentError, match="`shards` must have one shard or more"):
        cluster.over(p, [])
    with pytest.raises(InvalidArgumentError, match="`per_task` must be 1 or more"):
        cluster.over(p, DATA, per_task=0)
    with pytest.raises(InvalidArgumentError, match="`function` cannot be sent to another process"):
        cluster.over(tf.for_scipy(Locked(), X), DATA)
    with pytest.raises(InvalidArgumentError, match="needs a function that gives one scalar"):
        cluster.over(tf.for_scipy(misses, X), DATA).hessp(X, X)


@pytest.mark.cluster
def test_shards_and_blocks_stay_on_dasks_workers() -> None:
    with dask() as client:
        places = sorted(client.scheduler_info()["workers"])
        shards = [client.submit(load, k, workers=[w], pure=False) for k, w in enumerate(places)]
        p = cluster.over(tf.for_scipy(misses, X), shards, client)
        one = cluster.over(tf.for_scipy(misses, X), DATA[:2])
        blocks = p.jac_blocks(X)
        whole = p.jac_array(X)
        expected = one.jac(X).T.matmat(one.jac(X).matmat(np.eye(3)))
        np.testing.assert_allclose(whole.T.dot(whole).compute(), expected, rtol=1e-12)
        np.testing.assert_array_equal(p.gauss_newton(X)[1], one.gauss_newton(X)[1])
        assert {len(client.who_has([b])[b.key]) for b in blocks} == {1}


def kill_one(client: Any) -> None:
    os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)


@pytest.mark.cluster
def test_an_array_of_dask_has_sparse_blocks_which_outlive_a_worker() -> None:
    with dask() as client:
        f, shards = tf.for_scipy(misses, X, format="csr"), [partial(load, k) for k in range(7)]
        here, there = (cluster.over(f, shards, e, per_task=2).jac_array(X) for e in (None, client))
        assert there.chunks == here.chunks == ((80, 80, 80, 40), (3,))
        wanted = here.compute()
        kill_one(client)
        for found in (there, there.map_blocks(lambda block: 2.0 * block) / 2.0):
            assert isinstance(found.compute(), sparse.csr_array)
            np.testing.assert_array_equal(found.compute().toarray(), wanted.toarray())
    with pytest.raises(InvalidArgumentError, match="needs a function that gives residuals"):
        cluster.over(tf.for_scipy(loss, X), DATA).jac_array(X)


def descended(rows: Any, gradient: Any) -> Any:
    return rows - 0.1 * gradient


@engines
def test_rows_of_a_table_are_changed_where_they_are(engine: str, tmp_path: Path) -> None:
    rng, whole = np.random.default_rng(0), np.arange(33.0).reshape(11, 3)
    with ENGINES[engine]() as pool:
        table = cluster.ShardedTable([whole[:4], partial(np.copy, whole[4:9]), whole[9:]], pool)
        assert table.shape == (11, 3)
        for k in range(5):
            each = [tf.IndexedSlices(rng.normal(size=(n, 3)), rng.integers(0, 11, n)) for n in (8, 3)]
            table.apply(descended, *each)
            summed = np.zeros_like(whole)
            for g in each:
                np.add.at(summed, np.asarray(g.indices), np.asarray(g.values))
            whole = descended(whole, summed)
            if k == 2:
                table.save(str(tmp_path / "saved"))
            if k in (1, 3) and engine == "dask":
                kill_one(pool)
        ids = rng.integers(0, 11, (2, 6))
        np.testing.assert_array_equal(table.lookup(ids), whole[ids])
        assert table.lookup(np.zeros((0, 2), np.int64)).shape == (0, 2, 3)
        with pytest.raises(InvalidArgumentError, match="integers below 11"):
            table.lookup([11])
    with pytest.raises(InvalidArgumentError, match="rows of one shape and dtype"):
        cluster.ShardedTable([np.ones((2, 3)), np.ones((2, 2))])


# ---- more workers ----------------------------------------------------------------------------------------------------


def test_predicted_times() -> None:
    p = cluster.over(tf.for_scipy(loss, X), DATA)
    p.seconds = [1.0] * 7
    found = cluster.predicted(p, (1, 2, 4, 8, 16), handling=0.1, bytes_per_second=1e12)
    np.testing.assert_allclose(found.seconds, [7.1, 4.1, 2.3, 1.7, 1.7], rtol=1e-6)
    assert found.bytes == 2 * 3 * 8 * 7
    assert found.pays_up_to == 8
    assert str(found).splitlines()[-1].endswith("pays up to 8 workers")
    assert isinstance(processes(1), Executor)
