"""Functions, dtypes and models as other processes get them: by pickle, cloudpickle and its users."""

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import differential_evolution

import graph_api
import tape_api as tf

HOME = Path(__file__).resolve().parents[2]


def square(x: Any) -> Any:
    return tf.reduce_sum(tf.math.square(x))


@tf.function
def decorated(x: Any) -> Any:
    return tf.sin(x)


@tf.custom_gradient
def ruled(x: Any) -> Any:
    return x * x, lambda d: d * 3.0


@pytest.mark.parametrize(
    "what",
    [
        *(tf, graph_api, tf.sin, tf.math.sin, tf.map_fn, tf.nn.relu, tf.linalg.solve, tf.compat.v1.layers.dense),
        *(graph_api.sin, graph_api.while_loop, decorated, ruled, tf.float64, tf.string, tf.TensorShape([1, None])),
    ],
    ids=lambda x: getattr(x, "__name__", None) or repr(x),
)
def test_what_has_a_name_pickles_by_it(what: Any) -> None:
    assert pickle.loads(pickle.dumps(what)) is what or what == tf.TensorShape([1, None])


def test_functions_made_of_others_pickle_as_such() -> None:
    made = pickle.loads(pickle.dumps(tf.function(square)))
    assert made(tf.constant([1.0, 2.0])).numpy() == 5.0


@pytest.mark.parametrize("asked", [False, True])
def test_right_hand_sides_pickle_before_their_first_call(asked: bool) -> None:
    p = tf.for_ode(lambda t, y: -t * y, np.ones(2))
    if asked:
        p.fun(1.0, np.ones(2))
    q = pickle.loads(pickle.dumps(p))
    assert q.fun(2.0, np.array([1.0, 3.0])).tolist() == [-2.0, -6.0]
    assert q.jac(2.0, np.ones(2)).tolist() == [[-2.0, 0.0], [0.0, -2.0]]


def test_compiled_models_and_their_history_pickle() -> None:
    model = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,)), tf.keras.layers.Dense(1)])
    model.compile("adam", "mse", metrics=["mae"])
    x, y = np.ones((4, 3), np.float32), np.ones((4, 1), np.float32)
    history = model.fit(x, y, verbose=0)
    copied = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copied.predict(x, verbose=0), model.predict(x, verbose=0))
    assert pickle.loads(pickle.dumps(history)).history == history.history
    copied.fit(x, y, verbose=0)


def test_cloudpickle_takes_functions_that_name_the_front_end() -> None:
    cloudpickle = pytest.importorskip("cloudpickle")
    inner = tf.primitive(np.sin, lambda ct, out, x: ct * tf.cos(x))
    pushed = tf.primitive(np.cbrt, jvp=lambda tangents, out, x: tangents[0] / (3 * out**2))
    of_primitives = lambda x: tf.reduce_sum(inner(x) * pushed(x))  # noqa: E731
    x = tf.constant([0.5, 2.0], tf.float64)
    for f in (
        lambda x: tf.reduce_sum(tf.sin(x)),
        tf.transforms.grad(lambda x: tf.reduce_sum(tf.exp(x))),
        tf.transforms.vmap(lambda x: tf.cos(x)),
        tf.transforms.hessian(lambda x: tf.reduce_sum(x**3)),
        tf.transforms.grad(of_primitives),
        tf.custom_gradient(lambda x: (x * x, lambda d: 3.0 * d)),
        tf.function(lambda x: tf.reduce_sum(x)),
    ):
        g = pickle.loads(cloudpickle.dumps(f))
        np.testing.assert_array_equal(np.asarray(g(x)), np.asarray(f(x)))
    p = pickle.loads(cloudpickle.dumps(tf.for_scipy(of_primitives, [1.0, 2.0])))
    np.testing.assert_array_equal(p.jac([0.5, 2.0]), tf.for_scipy(of_primitives, [1.0, 2.0]).jac([0.5, 2.0]))


def slope(x: np.ndarray) -> list[float]:
    return tf.transforms.grad(square)(x).numpy().tolist()


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_other_processes(method: str) -> None:
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} here")
    p, bounds = tf.for_scipy(square, np.ones(2)), [(-1.0, 1.0)] * 2
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map(slope, [np.ones(2), np.zeros(2)]) == [[2.0, 2.0], [0.0, 0.0]]
        assert [v.tolist() for v in pool.map(p.jac, [np.ones(2)])] == [[2.0, 2.0]]
        found = differential_evolution(p.fun, bounds, workers=pool.map, updating="deferred", maxiter=3, rng=0)
    alone = differential_evolution(p.fun, bounds, updating="deferred", maxiter=3, rng=0)
    np.testing.assert_array_equal(found.x, alone.x)


def in_forks(count: int, work: Callable[[], Any], child: Callable[[int], Any]) -> None:
    """Fork while two threads work; each child must come to an end, and say that all is well."""
    work()  # a fork while Python imports a module leaves that module locked in the child
    stop = threading.Event()

    def load() -> None:
        while not stop.is_set():
            work()

    threads = [threading.Thread(target=load, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for i in range(count):
            pid = os.fork()
            if not pid:
                code = 1
                try:
                    code = 0 if child(i) else 2
                finally:
                    os._exit(code)
            until = time.monotonic() + 60.0
            while not (ended := os.waitpid(pid, os.WNOHANG))[0]:
                if time.monotonic() > until:
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)
                    raise AssertionError(f"fork {i} hangs")
                time.sleep(0.002)
            assert ended[1] == 0, f"fork {i}"
    finally:
        stop.set()
        for thread in threads:
            thread.join()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_forks_under_load_do_not_hang() -> None:
    def work() -> None:
        slope(np.ones(3))
        tf.for_scipy(square, np.ones(2)).hess(np.ones(2))

    def child(i: int) -> bool:
        # of a number of its own, so that nothing that is kept answers
        cube = tf.transforms.grad(lambda x: tf.reduce_sum(x**3 + np.sin(x) * i))
        tf.for_scipy(lambda x: tf.reduce_sum(x**2) * i, np.ones(2)).hess(np.ones(2))
        return bool(np.isfinite(cube(np.ones(2))).all())

    in_forks(100, work, child)


def _sine(x: Any) -> Any:
    return tf.reduce_sum(tf.sin(x))


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_joblib(backend: str, tmp_path: Path) -> None:
    joblib = pytest.importorskip("joblib")
    points = [np.zeros(2), np.ones(2)]
    p = tf.for_scipy(_sine, np.ones(2))
    expected = [np.cos(x) for x in points]
    found = joblib.Parallel(2, backend=backend)(joblib.delayed(p.jac)(x) for x in points)
    np.testing.assert_array_equal(found, expected)
    if backend != "multiprocessing":
        # which ships by plain pickle what has no name
        g = tf.transforms.grad(lambda x: tf.reduce_sum(tf.sin(x)))
        found = joblib.Parallel(2, backend=backend)(joblib.delayed(g)(x) for x in points)
        np.testing.assert_array_equal([y.numpy() for y in found], expected)
    joblib.dump(p, tmp_path / "p.joblib")
    np.testing.assert_array_equal(joblib.load(tmp_path / "p.joblib").jac(points[1]), expected[1])
    assert joblib.hash(tf.constant(points[1])) == joblib.hash(tf.constant(points[1]))


def test_dask() -> None:
    dask = pytest.importorskip("dask")
    g = tf.transforms.grad(lambda x: tf.reduce_sum(tf.sin(x)))
    (found,) = dask.compute([dask.delayed(g)(x) for x in (np.zeros(2), np.ones(2))], scheduler="processes")
    np.testing.assert_array_equal([y.numpy() for y in found], np.cos([np.zeros(2), np.ones(2)]))


def test_loky_runs_functions_of_a_program(tmp_path: Path) -> None:
    pytest.importorskip("loky")
    program = tmp_path / "program.py"
    program.write_text(
        "import numpy as np, tape_api as tf\n"
        "from loky import get_reusable_executor\n"
        "@tf.function\n"
        "def s(x): return tf.sin(x)\n"
        "@tf.custom_gradient\n"
        "def t(x): return x * x, lambda d: d * 3.0\n"
        "def f(x): return tf.reduce_sum(s(x)) + 0.0 * tf.reduce_sum(t(x))\n"
        "if __name__ == '__main__':\n"
        "    pool = get_reusable_executor(2)\n"
        "    g = tf.transforms.grad(f)\n"
        "    print(list(pool.map(lambda x: float(g(np.array([x]))[0]), [0.0, 0.0])))\n"
        "    print(list(pool.map(lambda x: float(tf.cos(x)), [0.0])))\n"
    )
    run = subprocess.run(
        [sys.executable, str(program)],
        cwd=tmp_path, env={"PYTHONPATH": str(HOME), "PATH": ""}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.stdout.split("\n")[:2] == ["[1.0, 1.0]", "[1.0]"], run.stderr
