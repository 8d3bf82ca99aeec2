"""Where Python looks at a tensor: plans refuse points where it is something else, patterns hold for all decisions."""

import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import tape_api as tf
from engine.jacobian.views import for_scipy
from engine.runtime.errors import InvalidArgumentError
from tests.tapes import gradient_in

HERE, THERE = np.array([0.3, -1.2, 2.5]), np.array([1.3, 0.2, -0.5])
RUN = tf.function(lambda v: v.numpy()[0])


def plan_of(f: Callable[[Any], Any], source: Any) -> Any:
    return gradient_in(source, lambda: f(source), method="jacobian_plan")


def decided(x: Any) -> Any:
    return x * x if x[0] > 1.0 else 3.0 * x


LOOKS: dict[str, Callable[[Any], Any]] = {
    "if": decided,
    "float": lambda x: x * float(x[0]),
    "int": lambda x: x * int(10.0 * x[0]),
    "numpy": lambda x: x * x.numpy(),
    "eval": lambda x: x * x.eval(),
    "item": lambda x: x * x[0].item(),
    "round": lambda x: x * round(x[0]),
    "array": lambda x: x * np.array([np.floor(x)[0], 1.0, 2.0]),
    "an element of an array": lambda x: x * _assigned(np.ones(3), np.floor(x)[0]),
    "a key": lambda x: x * {0: 2.0, 1: 3.0, 2: 4.0}[np.argmax(x)],
    "numpy_function": lambda x: x * tf.numpy_function(np.floor, [tf.stop_gradient(x)], tf.float64),
    "a function": lambda x: x * RUN(x),
    "cond": lambda x: tf.cond(x[0] > 1.0, lambda: x * x, lambda: x),
    "case": lambda x: tf.case([(x[0] > 1.0, lambda: x * x)], default=lambda: x),
    "switch_case": lambda x: tf.switch_case(tf.cast(x[0], tf.int32), [lambda: x, lambda: x * x]),
    "while_loop": lambda x: tf.while_loop(lambda y: y[0] < 3.0, lambda y: (y + 1.0 + y * y,), (x,))[0],
}


def _assigned(array: np.ndarray, value: Any) -> np.ndarray:
    array[0] = value
    return array


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", LOOKS)
def test_a_plan_is_refused_where_python_finds_something_else(name: str) -> None:
    f = LOOKS[name]
    plan = plan_of(f, tf.constant(HERE))
    np.testing.assert_array_equal(plan(HERE), plan_of(f, tf.constant(HERE))(HERE))
    for other in (plan, pickle.loads(pickle.dumps(plan)), plan.in_chunks(2)):
        with pytest.raises(InvalidArgumentError, match=r"\.py, line \d+, looked at a tensor that was .* and is "):
            other(THERE)


def test_a_plan_holds_where_python_finds_the_same() -> None:
    plan = plan_of(decided, tf.constant(HERE))
    at = np.array([0.9, 5.0, 6.0])
    np.testing.assert_allclose(np.diag(plan(at)), [3.0, 3.0, 3.0])
    other = plan_of(lambda x: x**2 if not np.isnan(x).any() else x, tf.constant(HERE))
    np.testing.assert_allclose(np.diag(other(THERE)), 2 * THERE)
    with ThreadPoolExecutor(2) as pool:
        np.testing.assert_allclose(np.diag(plan(at, executor=pool)), [3.0, 3.0, 3.0])
        with pytest.raises(InvalidArgumentError, match="looked at"):
            plan(THERE, executor=pool)


def test_shapes_and_texts_are_no_contents() -> None:
    def f(x: Any) -> Any:
        assert all([str(x), repr(x), f"{x[0]:.3f}"])
        return x * float(tf.shape(x)[0]) * len(x) * int(tf.size(x)) * np.size(x) * np.floor(x).size

    np.testing.assert_allclose(np.diag(plan_of(f, tf.constant(HERE))(THERE)), 243.0)
    assert tf.for_scipy(f, HERE, format="csr").jac_sparsity().nnz == 3


def test_what_numpy_computes_of_variables_is_known() -> None:
    v, steps = tf.Variable(HERE), tf.Variable(np.zeros(3), trainable=False)

    def f(at: np.ndarray, wait: bool) -> tuple[Any, Any]:
        v.assign(at)
        with tf.GradientTape() as tape:
            y = np.floor(v) * v
            if wait:
                steps.assign(tf.floor(v))
                y = steps * v
        return tape, y

    tape, y = f(HERE, False)
    np.testing.assert_array_equal(np.diag(tape.jacobian_plan(y, v)(THERE)), np.floor(THERE))
    tape, y = f(HERE, True)
    plan = tape.jacobian_plan(y, v)
    np.testing.assert_array_equal(np.diag(plan(HERE)), np.floor(HERE))
    with pytest.raises(InvalidArgumentError, match="looked at"):
        plan(THERE)


# ---- patterns --------------------------------------------------------------------------------------------------------


def nested(x: Any) -> Any:
    if x[0] > 0.0:
        return x**2
    return x * x[0] if x[1] > 0.0 else x[::-1]


def checked(x: Any) -> Any:
    if not np.isfinite(x).all():
        raise ValueError("not finite")
    assert x[0] > -100.0
    return x**2


def in_steps(x: Any) -> Any:
    for i in range(2):
        if x[i] > 1.0:
            x = x + tf.roll(x, 1, 0)
    return x


PATTERNS: dict[str, tuple[Callable[[Any], Any], int]] = {
    "if": (decided, 3),
    "nested": (nested, 6),
    "what raises is left out": (checked, 3),
    "in steps": (in_steps, 9),
    "cond": (lambda x: tf.cond(x[0] > 0.0, lambda: x**2, lambda: x[::-1] ** 2), 5),
    "a number": (lambda x: x * float(tf.stop_gradient(x)[0]), 9),
    "more than is tried": (lambda x: tf.stack([v if v > k else x[0] for k in range(9) for v in x[:1]]), 27),
    "an error of an op": (lambda x: tf.linalg.cholesky(tf.linalg.diag(x + 9.0 * (x[0] > 0.0).numpy())), 27),
    "a mask": (lambda x: tf.reduce_sum(tf.boolean_mask(x, x > 0.0)) * x, 9),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PATTERNS)
def test_a_pattern_holds_for_all_decisions(name: str) -> None:
    f, entries = PATTERNS[name]
    made = tf.for_scipy(f, np.array([1.5, 2.0, 3.0]), format="csr")
    counts = dict(made.counts)
    assert made.jac_sparsity().nnz == entries
    assert made.counts["fun"] == counts["fun"] + 1
    found = made.jac_sparsity().toarray() != 0
    rng = np.random.default_rng(0)
    for _ in range(12):
        at = 2.0 * rng.normal(size=3)
        try:
            slope = np.asarray(tf.transforms.jacrev(f)(at)).reshape(-1, 3)
        except Exception:  # noqa: BLE001
            continue
        assert not ((slope != 0.0) & ~found).any()
        np.testing.assert_allclose(made.jac(at).toarray(), slope, rtol=1e-12)


def test_a_full_pattern_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(for_scipy, "_MOST_ENTRIES", 8)
    made = tf.for_scipy(lambda x: x * x.numpy()[0], HERE, format="csr")
    with pytest.warns(match="numpy"), pytest.raises(InvalidArgumentError, match="jac_sparsity: Python decides"):
        made.jac_sparsity()
