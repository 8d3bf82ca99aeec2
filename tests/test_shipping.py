"""Functions, dtypes and models as other processes get them: by pickle, cloudpickle and its users."""

from __future__ import annotations

import multiprocessing
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api as tf

HOME = Path(__file__).resolve().parent.parent


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
    with ProcessPoolExecutor(2, multiprocessing.get_context(method)) as pool:
        p = tf.for_scipy(square, np.ones(2))
        assert list(pool.map(slope, [np.ones(2), np.zeros(2)])) == [[2.0, 2.0], [0.0, 0.0]]
        assert [v.tolist() for v in pool.map(p.jac, [np.ones(2)])] == [[2.0, 2.0]]


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
