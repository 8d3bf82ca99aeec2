"""The optimizers of ``tf.contrib.opt`` and those around others, against their formulas and TensorFlow's kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_api
import optim
import tape_api
from optim import contrib

START = np.array([[1.0, -2.0], [0.5, 3.0]])
STEPS = 6


def gradient(k: int) -> np.ndarray:
    return np.random.default_rng(k).standard_normal(START.shape)


def on_tape(make: Callable[[], Any], dtype: str = "float64") -> list[np.ndarray]:
    w, optimizer, values = tape_api.Variable(START, dtype=dtype), make(), []
    for k in range(STEPS):
        optimizer.apply_gradients([(tape_api.constant(gradient(k).astype(dtype)), w)])
        values.append(w.numpy())
    return values


def in_graph(make: Callable[[], Any], dtype: str = "float64") -> list[np.ndarray]:
    tf = graph_api
    with tf.Graph().as_default(), tf.Session() as session:
        w, feed = tf.Variable(START, dtype=dtype), tf.placeholder(dtype, START.shape)
        train = make().apply_gradients([(feed, w)])
        session.run(tf.global_variables_initializer())
        return [(session.run(train, {feed: gradient(k)}), session.run(w))[1] for k in range(STEPS)]


def f32(x: float) -> float:
    return float(np.float32(x))


def powers(beta: float, exact: bool = False) -> list[float]:
    """β, β² ... as float32 products, or exactly."""
    if exact:
        return [float(np.float32(beta)) ** k for k in range(1, STEPS + 2)]
    found = [np.float32(beta)]
    for _ in range(STEPS):
        found.append(found[-1] * np.float32(beta))
    return [float(x) for x in found]


def adam_like(
    kind: str, rate: float = 0.1, b1: float = 0.9, b2: float = 0.999, exact: bool = False
) -> list[np.ndarray]:
    rate, eps, p1, p2, b1, b2 = f32(rate), f32(1e-8), powers(b1, exact), powers(b2, exact), f32(b1), f32(b2)
    w, m, v, values = START, 0.0 * START, 0.0 * START, []
    for k in range(STEPS):
        g = gradient(k)
        if kind == "adamw":
            w = w - w * f32(0.01)
        m = m + (g - m) * (1 - b1)
        if kind == "adamax":
            v = np.maximum(b2 * v, abs(g))
            w = w - rate / (1 - p1[k]) * m / (v + eps)
        else:
            v = v + (g * g - v) * (1 - b2)
            mean = m * b1 + g * (1 - b1) if kind == "nadam" else m
            w = w - mean * (rate * np.sqrt(1 - p2[k]) / (1 - p1[k])) / (np.sqrt(v) + eps)
        values.append(w)
    return values


def momentum_w() -> list[np.ndarray]:
    w, a, values = START, 0.0 * START, []
    for k in range(STEPS):
        w = w - w * f32(0.01)
        a = a * f32(0.9) + gradient(k)
        w = w - a * f32(0.1)
        values.append(w)
    return values


def lars(skipped: bool) -> list[np.ndarray]:
    w, a, values = START, 0.0 * START, []
    for k in range(STEPS):
        g, rate = gradient(k), f32(0.1)
        if not skipped:
            size, weights = np.linalg.norm(g), np.linalg.norm(w)
            rate *= f32(0.02) * weights / (size + f32(0.001) * weights)
            g = g + f32(0.001) * w
        a = a * f32(0.9) + g
        w = w - a * rate
        values.append(w)
    return values


SGD = optim.GradientDescentOptimizer
CASES: dict[str, tuple[Callable[[], Any], Callable[[], list[np.ndarray]]]] = {
    "AdamOptimizer": (lambda: optim.AdamOptimizer(0.1), lambda: adam_like("adam")),
    "NadamOptimizer": (lambda: contrib.NadamOptimizer(0.1), lambda: adam_like("nadam")),
    "AdaMaxOptimizer": (lambda: contrib.AdaMaxOptimizer(0.1), lambda: adam_like("adamax")),
    "AdamWOptimizer": (lambda: contrib.AdamWOptimizer(0.01, 0.1), lambda: adam_like("adamw")),
    "LazyAdamOptimizer": (lambda: contrib.LazyAdamOptimizer(0.1), lambda: adam_like("adam")),
    "MomentumWOptimizer": (lambda: contrib.MomentumWOptimizer(0.01, 0.1, 0.9), momentum_w),
    "LARSOptimizer": (lambda: contrib.LARSOptimizer(0.1, weight_decay=0.001, eeta=0.02), lambda: lars(False)),
    "LARSOptimizer-skipped": (lambda: contrib.LARSOptimizer(0.1, skip_list=["Vari"]), lambda: lars(True)),
}


@pytest.mark.parametrize("name", CASES)
def test_an_optimizer_follows_its_formulas_in_both_modes(name: str) -> None:
    make, formula = CASES[name]
    tape, graph = on_tape(make), in_graph(make)
    for t, g, e in zip(tape, graph, formula(), strict=True):
        np.testing.assert_allclose(t, e, rtol=1e-13)
        assert t.tobytes() == g.tobytes()


@pytest.mark.parametrize("name", CASES)
def test_single_precision_stays_near(name: str) -> None:
    make, formula = CASES[name]
    for t, e in zip(on_tape(make, "float32"), formula(), strict=True):
        assert t.dtype == np.float32
        np.testing.assert_allclose(t, e, rtol=2e-5)


@pytest.mark.parametrize("name", ["AdamOptimizer", "NadamOptimizer", "AdaMaxOptimizer", "LazyAdamOptimizer"])
def test_rows_of_all_are_the_whole(name: str) -> None:
    make, formula = CASES[name]
    w, optimizer = tape_api.Variable(START), make()
    for k in range(STEPS):
        rows = tape_api.IndexedSlices(tape_api.constant(gradient(k)), tape_api.constant([0, 1]))
        optimizer.apply_gradients([(rows, w)])
    np.testing.assert_allclose(w.numpy(), formula()[-1], rtol=1e-13)


def test_lazy_adam_leaves_the_other_rows_alone() -> None:
    w, optimizer = tape_api.Variable(START), contrib.LazyAdamOptimizer(0.1)
    for _ in range(3):
        rows = tape_api.IndexedSlices(tape_api.constant([[1.0, 1.0]], tape_api.float64), tape_api.constant([1]))
        optimizer.apply_gradients([(rows, w)])
    np.testing.assert_array_equal(w.numpy()[0], START[0])
    np.testing.assert_array_equal(optimizer.get_slot(w, "m").numpy()[0], 0.0)
    assert (w.numpy()[1] != START[1]).all()


def test_exact_powers_are_there_for_double_precision() -> None:
    def ended(**options: Any) -> np.ndarray:
        return on_tape(lambda: optim.AdamOptimizer(0.1, **options))[-1]

    exact = adam_like("adam", exact=True)[-1]
    np.testing.assert_allclose(ended(power_dtype="float64"), exact, rtol=1e-12)
    assert abs(ended() / exact - 1).max() > 1e-9


def test_averages_follow_each_step() -> None:
    def formula() -> tuple[np.ndarray, np.ndarray]:
        w, average = START, START
        for k in range(STEPS):
            w = w - gradient(k) * f32(0.1)
            average = average - (average - w) * (1 - np.float32(0.75))
        return w, average

    def make() -> Any:
        return contrib.MovingAverageOptimizer(SGD(0.1), average_decay=0.75)

    w, optimizer = tape_api.Variable(START), make()
    for k in range(STEPS):
        optimizer.apply_gradients([(tape_api.constant(gradient(k)), w)])
    for got, expected in zip((w, optimizer.average(w)), formula(), strict=True):
        np.testing.assert_allclose(got.numpy(), expected, rtol=1e-13)
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        v, feed = graph_api.Variable(START, name="v"), graph_api.placeholder("float64", START.shape)
        inside = make()
        train = inside.apply_gradients([(feed, v)])
        session.run(graph_api.global_variables_initializer())
        for k in range(STEPS):
            session.run(train, {feed: gradient(k)})
        assert session.run(v).tobytes() == w.numpy().tobytes()
        assert session.run(inside.average(v)).tobytes() == optimizer.average(w).numpy().tobytes()
        assert inside.variables_to_restore() == {"v/ExponentialMovingAverage": v}


@pytest.mark.peer
@pytest.mark.parametrize("name", ["AdamOptimizer", "NadamOptimizer", "AdaMaxOptimizer"])
def test_tensorflows_kernels_do_the_same(name: str) -> None:
    tensorflow = pytest.importorskip("tensorflow")
    v1, raw = tensorflow.compat.v1, tensorflow.raw_ops
    with v1.Graph().as_default(), v1.Session() as session:
        w, m, v = [v1.Variable(x, use_resource=True) for x in (START, 0.0 * START, 0.0 * START)]
        feed = v1.placeholder("float64", START.shape)
        p1, p2 = v1.placeholder("float64", []), v1.placeholder("float64", [])
        common = {"lr": np.float64(f32(0.1)), "beta1": np.float64(f32(0.9)), "beta2": np.float64(f32(0.999)),
                  "epsilon": np.float64(f32(1e-8)), "grad": feed}  # fmt: skip
        handles = {"var": w.handle, "m": m.handle, "v": v.handle}
        if name == "AdaMaxOptimizer":
            train = raw.ResourceApplyAdaMax(**handles, **common, beta1_power=p1)
        else:
            nesterov = name == "NadamOptimizer"
            train = raw.ResourceApplyAdam(**handles, **common, beta1_power=p1, beta2_power=p2, use_nesterov=nesterov)
        session.run(v1.global_variables_initializer())
        theirs = []
        for k in range(STEPS):
            session.run(train, {feed: gradient(k), p1: powers(0.9)[k], p2: powers(0.999)[k]})
            theirs.append(session.run(w))
    np.testing.assert_allclose(on_tape(CASES[name][0]), theirs, rtol=1e-12)


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="momentum should be positive"):
        contrib.LARSOptimizer(0.1, momentum=-1.0)
    with pytest.raises(ValueError, match="beta_1"):
        optim.keras.Lion(beta_1=0.0)
