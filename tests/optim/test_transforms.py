"""Transforms of gradients: each against its formula in NumPy, in both modes, of dense gradients and of rows."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_api
import optim
import tape_api
from optim import transforms as tr

W, B = np.array([[0.5, -1.0, 2.0], [0.001, 0.0, -0.002]]), np.array([1.0, -3.0, 0.5])
GW, GB = np.array([[3.0, -0.25, 0.0], [-4.0, 2.0, 0.0]]), np.array([0.5, 6.0, -1.0])
ROWS, AT = np.array([[1.0, 2.0, -3.0], [4.0, 0.5, 0.0], [-1.0, 1.0, 1.0]]), [1, 0, 1]


def norm(x: np.ndarray) -> Any:
    return np.sqrt((x * x).sum())


def clipped(x: np.ndarray, limit: float) -> np.ndarray:
    return x * limit / max(norm(x), limit)


def adaptive(g: np.ndarray, w: np.ndarray) -> np.ndarray:
    axes = 0 if g.ndim > 1 else None
    size, weights = np.sqrt((g * g).sum(axes)), np.sqrt((w * w).sum(axes))
    limit = np.maximum(weights, 1e-3) * 0.1
    return g * np.where(size <= limit, 1.0, limit / np.maximum(size, 1e-30))


BOTH = np.sqrt(norm(GW) ** 2 + norm(GB) ** 2)
# a transform, and its formula for the gradient and value of a variable
EACH: dict[str, tuple[Callable[[], tr.Transform], Callable[[np.ndarray, np.ndarray], np.ndarray]]] = {
    "clip_by_value": (lambda: tr.clip_by_value(-1.0, 2.5), lambda g, w: np.clip(g, -1.0, 2.5)),
    "clip_by_norm": (lambda: tr.clip_by_norm(2.0), lambda g, w: clipped(g, 2.0)),
    "clip_by_average_norm": (
        lambda: tr.clip_by_average_norm(0.5), lambda g, w: g * 0.5 / max(norm(g) / g.size, 0.5),
    ),
    "clip_adaptively": (lambda: tr.clip_adaptively(0.1), adaptive),
    "scale": (lambda: tr.scale(0.25), lambda g, w: g * 0.25),
    "weight_decay": (lambda: tr.weight_decay(0.1), lambda g, w: g + 0.1 * w),
    "centralize": (lambda: tr.centralize(), lambda g, w: g - g.mean(0) if g.ndim > 1 else g),
    "multiply_by_name": (
        lambda: tr.multiply_by_name({"net/": 3.0, ".*": 0.5}), lambda g, w: g * (3.0 if g.ndim > 1 else 0.5),
    ),
    "chain": (
        lambda: tr.scale(2.0) | tr.clip_by_value(-1.0, 1.0) | tr.scale(3.0), lambda g, w: 3 * np.clip(2 * g, -1, 1),
    ),
    "nothing": (lambda: tr.chain(), lambda g, w: g),
}  # fmt: skip
MODES = {"tape": tape_api, "graph": graph_api}


def run(mode: str, function: Callable[[Any, Any], Any]) -> Any:
    """``function(tf, evaluate)``, in a mode."""
    if mode == "tape":
        return function(tape_api, lambda x: np.asarray(x))
    with graph_api.Graph().as_default(), graph_api.Session() as session:

        def evaluate(x: Any) -> Any:
            missing = session.run(graph_api.report_uninitialized_variables())
            session.run([v.initializer for v in graph_api.global_variables() if v.op.name.encode() in missing])
            return session.run(x)

        return function(graph_api, evaluate)


def variables(tf: Any, dtype: str = "float64") -> tuple[Any, Any]:
    return tf.Variable(W, dtype=dtype, name="net/w"), tf.Variable(B, dtype=dtype, name="b")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", EACH)
def test_a_transform_is_its_formula(name: str, mode: str, dtype: str) -> None:
    make, formula = EACH[name]

    def transformed(tf: Any, evaluate: Any) -> Any:
        w, b = variables(tf, dtype)
        pairs = make()([(tf.constant(GW.astype(dtype)), w), (None, w), (tf.constant(GB.astype(dtype)), b)])
        assert pairs[1] == (None, w)
        assert [v for _, v in pairs] == [w, w, b] or mode == "tape"
        return [evaluate(pairs[0][0]), evaluate(pairs[2][0])]

    got = run(mode, transformed)
    for g, given, value in zip(got, (GW, GB), (W, B), strict=True):
        assert g.dtype == dtype
        np.testing.assert_allclose(g, formula(given, value), rtol=1e-6 if dtype == "float32" else 1e-13, atol=1e-15)
    assert [g.tobytes() for g in got] == [g.tobytes() for g in run("tape", transformed)]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", [W.shape, None])
@pytest.mark.parametrize("name", EACH)
def test_rows_become_what_the_whole_becomes(name: str, shape: Any, mode: str) -> None:
    if name in ("clip_by_value", "chain"):
        pytest.skip("limits rows of equal index one by one, as tf.clip_by_value does")
    if name == "nothing" and shape is None:
        pytest.skip("leaves rows as they are, and so without a shape")
    make, formula = EACH[name]
    whole = np.zeros_like(W)
    np.add.at(whole, AT, ROWS)

    def transformed(tf: Any, evaluate: Any) -> Any:
        w, _ = variables(tf)
        rows = tf.IndexedSlices(tf.constant(ROWS), tf.constant(AT), None if shape is None else tf.constant(shape))
        ((g, _),) = make()([(rows, w)])
        return evaluate(tf.convert_to_tensor(g))

    np.testing.assert_allclose(run(mode, transformed), formula(whole, W), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("mode", MODES)
def test_the_global_norm_is_that_of_all_gradients(mode: str) -> None:
    def transformed(tf: Any, evaluate: Any) -> Any:
        w, b = variables(tf)
        pairs = tr.clip_by_global_norm(2.0)([(tf.constant(GW), w), (None, b), (tf.constant(GB), b)])
        assert tr.clip_by_global_norm(2.0)([(None, w)]) == [(None, w)]
        return evaluate(pairs[0][0]), evaluate(pairs[2][0])

    w, b = run(mode, transformed)
    np.testing.assert_allclose(w, GW * 2.0 / BOTH, rtol=1e-13)
    np.testing.assert_allclose(b, GB * 2.0 / BOTH, rtol=1e-13)


@pytest.mark.parametrize("mode", MODES)
def test_variables_are_chosen_themselves_or_by_name(mode: str) -> None:
    def transformed(tf: Any, evaluate: Any) -> None:
        w, b = variables(tf)
        pairs = [(tf.constant(GW), w), (None, b)]
        assert [v.name for _, v in tr.freeze("net/")(pairs)] == [b.name]
        assert [v.name for _, v in tr.freeze(b)(pairs)] == [w.name]
        assert [v.name for _, v in tr.only("net/", b)(pairs)] == [w.name, b.name]
        assert [v.name for _, v in tr.only("et/")(pairs)] == []

    run(mode, transformed)


@pytest.mark.parametrize("optimizer", ["keras.Adam", "MomentumOptimizer"])
@pytest.mark.parametrize("mode", MODES)
def test_accumulated_steps_are_one_step_along_the_mean(mode: str, optimizer: str) -> None:
    gradients = np.random.default_rng(0).standard_normal((6, *W.shape))

    def make() -> Any:
        return optim.keras.Adam(0.1) if optimizer == "keras.Adam" else optim.MomentumOptimizer(0.1, 0.9)

    def trained(tf: Any, evaluate: Any) -> Any:
        w, _ = variables(tf)
        chain, ours = tr.accumulate(3), make()
        if mode == "tape":
            values = []
            for g in gradients:
                ours.apply_gradients(chain([(tf.constant(g), w)]))
                values.append(w.numpy())
            return values
        feed = tf.placeholder(tf.float64, W.shape)
        train = ours.apply_gradients(chain([(feed, w)]))
        evaluate(w)
        session = tf.get_default_session()
        return [(session.run(train, {feed: g}), session.run(w))[1] for g in gradients]

    values = run(mode, trained)
    w, plain, expected = tape_api.Variable(W), make(), []
    for k in range(6):
        if k % 3 == 2:
            total = (gradients[k - 2] + gradients[k - 1]) + gradients[k]
            plain.apply_gradients([(tape_api.constant(total / 3.0), w)])
        expected.append(w.numpy())
    assert [v.tobytes() for v in values] == [e.tobytes() for e in expected]


@pytest.mark.parametrize("mode", MODES)
def test_steps_with_infinities_are_left_out_as_a_whole_and_counted(mode: str) -> None:
    gradients = [np.ones(3), np.array([1.0, np.nan, 1.0]), np.array([np.inf, 0.0, 0.0]), np.ones(3)]

    def trained(tf: Any, evaluate: Any) -> Any:
        _, b = variables(tf)
        skip, ours = tr.skip_nonfinite(), optim.keras.Adam(0.5)
        assert skip.skipped == 0
        chain = skip | tr.clip_by_global_norm(1.0)
        if mode == "tape":
            for g in gradients:
                ours.apply_gradients(chain([(tf.constant(g), b)]))
            return b.numpy(), skip.skipped.numpy(), ours.iterations.numpy(), [v.numpy() for v in ours.variables]
        feed = tf.placeholder(tf.float64, [3])
        train = ours.apply_gradients(chain([(feed, b)]))
        evaluate(b)
        for g in gradients:
            tf.get_default_session().run(train, {feed: g})
        return (*evaluate([b, skip.skipped, ours.iterations]), [])

    value, skipped, iterations, state = run(mode, trained)
    assert (skipped, iterations) == (2, 2)
    b, plain = tape_api.Variable(B), optim.keras.Adam(0.5)
    for _ in range(2):
        plain.apply_gradients(tr.clip_by_global_norm(1.0)([(tape_api.constant(np.ones(3)), b)]))
    np.testing.assert_array_equal(value, b.numpy())
    assert all(np.isfinite(x).all() for x in state)


def test_what_follows_a_step_left_out_keeps_its_state() -> None:
    # a gradient that is not finite must not get into the sums
    w, ours = tape_api.Variable(0.0), optim.GradientDescentOptimizer(1.0)
    chain = tr.skip_nonfinite() | tr.accumulate(2)
    for g in (1.0, np.nan, 3.0):
        ours.apply_gradients(chain([(tape_api.constant(g), w)]))
    assert w.numpy() == -2.0


@pytest.mark.parametrize("mode", MODES)
def test_a_loss_scale_halves_and_grows(mode: str) -> None:
    def trained(tf: Any, evaluate: Any) -> Any:
        x = tf.Variable(np.float16(2.0))
        scaling = tr.LossScale(x, initial=2.0**15, growth_interval=2)
        ours = optim.GradientDescentOptimizer(0.25)
        if mode == "tape":

            def step() -> Any:
                ours.apply_gradients(scaling(ours.compute_gradients(scaling.scaled(lambda: x * x), [x])))
                return float(x.numpy()), float(scaling.scale.numpy())

            return [step() for _ in range(4)]
        train = ours.apply_gradients(scaling(ours.compute_gradients(scaling.scaled(x * x), [x])))
        evaluate(x)
        session = tf.get_default_session()
        return [(session.run(train), *map(float, session.run([x, scaling.scale])))[1:] for _ in range(4)]

    # 2 * 2 * 2**15 overflows float16; 2 * 2 * 2**14 = 65536 too; 2**13 does not
    assert run(mode, trained) == [(2.0, 2.0**14), (2.0, 2.0**13), (1.0, 2.0**13), (0.5, 2.0**14)]


def test_noise_has_its_size_and_is_the_same_in_both_modes() -> None:
    def noisy(tf: Any, evaluate: Any) -> Any:
        v = tf.Variable(np.zeros(20_000))
        noise = tr.add_noise(stddev=2.0, decay=1.0, seed=3)
        ours, got = optim.GradientDescentOptimizer(1.0), []
        zero = tf.constant(np.zeros(20_000))
        if tf is tape_api:
            for _ in range(3):
                ours.apply_gradients(noise([(zero, v)]))
                got.append(v.numpy())
            return got
        train = ours.apply_gradients(noise([(zero, v)]))
        evaluate(v)
        session = tf.get_default_session()
        return [(session.run(train), session.run(v))[1] for _ in range(3)]

    tape, graph = run("tape", noisy), run("graph", noisy)
    assert [t.tobytes() for t in tape] == [g.tobytes() for g in graph]
    for t, step in enumerate(np.diff([np.zeros(20_000), *tape], axis=0)):
        assert step.std() == pytest.approx(2.0 / np.sqrt(1 + t), rel=0.03)


def test_bad_arguments_are_refused() -> None:
    for steps in (0, 2.0, True, None):
        with pytest.raises(ValueError, match="`steps` must be a positive int"):
            tr.accumulate(steps)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="expected transforms"):
        tr.chain(tr.scale(1.0), lambda pairs: pairs)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="pairs"):
        tr.scale(1.0)([1.0])
    with pytest.raises(TypeError):
        tr.scale(1.0) | (lambda pairs: pairs)  # type: ignore[operator]
    with pytest.raises(TypeError, match="`factors` must map"):
        tr.multiply_by_name(2.0)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="`near` must be a variable"):
        tr.LossScale(8.0)  # type: ignore[arg-type]
    assert repr(tr.scale(1.0) | tr.centralize()) == "<<scale> | <centralize>>"
