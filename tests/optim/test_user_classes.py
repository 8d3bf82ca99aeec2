"""Optimizers as users wrote them for TensorFlow, unchanged: the same source runs on ours and on the real one."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from optim import transforms

STARTS = [np.array([[1.0, -2.0], [0.5, 3.0]]), np.array([0.25, -1.0])]


def gradients(k: int) -> list[np.ndarray]:
    rng = np.random.default_rng(k)
    return [rng.standard_normal(s.shape) for s in STARTS]


def version1(train: Any, tf: Any) -> Any:
    """PowerSign, in the style of TensorFlow 1's tutorials."""

    class PowerSign(train.Optimizer):  # type: ignore[misc, name-defined]
        def __init__(self, learning_rate: float = 0.01, alpha: float = 0.5, beta: float = 0.9) -> None:
            super().__init__(False, "PowerSign")
            self._lr, self._alpha, self._beta = learning_rate, alpha, beta

        def _prepare(self) -> None:
            self._lr_t = tf.convert_to_tensor(self._lr, name="learning_rate")
            self._alpha_t = tf.convert_to_tensor(self._alpha, name="alpha_t")

        def _create_slots(self, var_list: Any) -> None:
            for v in var_list:
                self._zeros_slot(v, "m", self._name)

        def _apply_dense(self, grad: Any, var: Any) -> Any:
            lr_t = tf.cast(self._lr_t, var.dtype.base_dtype)
            alpha_t = tf.cast(self._alpha_t, var.dtype.base_dtype)
            m = self.get_slot(var, "m")
            m_t = m.assign(tf.maximum(tf.cast(self._beta, var.dtype.base_dtype) * m, tf.abs(grad)))
            update = tf.assign_sub(var, lr_t * grad * tf.exp(tf.math.log(alpha_t) * tf.sign(grad) * tf.sign(m_t)))
            return tf.group(update, m_t)

        _resource_apply_dense = _apply_dense

        def _apply_sparse(self, grad: Any, var: Any) -> Any:
            raise NotImplementedError("Sparse gradient updates are not supported.")

    return PowerSign()


def keras_slots(keras: Any, tf: Any) -> Any:
    """Momentum, in the style of TensorFlow 2.0 to 2.10."""

    class Heavy(keras.optimizers.Optimizer):  # type: ignore[misc, name-defined]
        def __init__(self, learning_rate: float = 0.1, rho: float = 0.9, name: str = "Heavy", **kwargs: Any) -> None:
            super().__init__(name, **kwargs)
            self._set_hyper("learning_rate", kwargs.get("lr", learning_rate))
            self._set_hyper("decay", self._initial_decay)
            self._set_hyper("rho", rho)

        def _create_slots(self, var_list: Any) -> None:
            for var in var_list:
                self.add_slot(var, "v")

        def _resource_apply_dense(self, grad: Any, var: Any, apply_state: Any = None) -> Any:
            rate, rho = self._decayed_lr(var.dtype.base_dtype), self._get_hyper("rho", var.dtype.base_dtype)
            v = self.get_slot(var, "v")
            v_t = v.assign(rho * v - rate * grad)
            return var.assign_add(v_t)

        def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any) -> Any:
            raise NotImplementedError

        def get_config(self) -> dict[str, Any]:
            return {**super().get_config(), "rho": self._serialize_hyperparameter("rho")}

    return Heavy()


def keras_step(keras: Any, tf: Any) -> Any:
    """Momentum, in the style of Keras 3."""

    class Heavy(keras.optimizers.Optimizer):  # type: ignore[misc, name-defined]
        def __init__(self, learning_rate: float = 0.1, rho: float = 0.9, **kwargs: Any) -> None:
            super().__init__(learning_rate=learning_rate, **kwargs)
            self.rho = rho

        def build(self, variables: Any) -> None:
            if self.built:
                return
            super().build(variables)
            self.velocities = [self.add_variable_from_reference(reference_variable=v, name="v") for v in variables]

        def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
            v = self.velocities[self._get_variable_index(variable)]
            rate = tf.cast(learning_rate, variable.dtype)
            self.assign(v, tf.cast(self.rho, variable.dtype) * v - rate * gradient)
            self.assign_add(variable, v)

    return Heavy()


def heavy(k: int) -> list[np.ndarray]:
    """What the two classes of momentum shall give after k steps."""
    values, speeds = [s.copy() for s in STARTS], [0.0 * s for s in STARTS]
    for i in range(k):
        for j, g in enumerate(gradients(i)):
            speeds[j] = np.float64(np.float32(0.9)) * speeds[j] - np.float64(np.float32(0.1)) * g
            values[j] = values[j] + speeds[j]
    return values


def power_sign(k: int) -> list[np.ndarray]:
    values, means = [s.copy() for s in STARTS], [0.0 * s for s in STARTS]
    for i in range(k):
        for j, g in enumerate(gradients(i)):
            means[j] = np.maximum(np.float32(0.9) * means[j], abs(g))
            values[j] = values[j] - np.float32(0.01) * g * np.exp(np.log(0.5) * np.sign(g) * np.sign(means[j]))
    return values


def on_tape(optimizer: Any, tf: Any = tape_api, steps: int = 5) -> list[np.ndarray]:
    variables = [tf.Variable(s) for s in STARTS]
    for k in range(steps):
        optimizer.apply_gradients([(tf.constant(g), v) for g, v in zip(gradients(k), variables, strict=True)])
    return [v.numpy() for v in variables]


def in_graph(make: Callable[[], Any], tf: Any = graph_api, steps: int = 5) -> list[np.ndarray]:
    with tf.Graph().as_default(), tf.Session() as session:
        variables = [tf.Variable(s) for s in STARTS]
        feeds = [tf.placeholder(tf.float64, s.shape) for s in STARTS]
        train = make().apply_gradients(list(zip(feeds, variables, strict=True)))
        session.run(tf.global_variables_initializer())
        for k in range(steps):
            session.run(train, dict(zip(feeds, gradients(k), strict=True)))
        return list(session.run(variables))


STYLES: dict[str, tuple[Any, Any]] = {
    "version1": (lambda tf: version1(tf.train if tf is graph_api else tf.compat.v1.train, _v1(tf)), power_sign),
    "keras_slots": (lambda tf: keras_slots(tape_api.keras, tf), heavy),
    "keras_step": (lambda tf: keras_step(tape_api.keras, tf), heavy),
}


def _v1(tf: Any) -> Any:
    return tf if tf is graph_api else tf.compat.v1


@pytest.mark.parametrize("style", STYLES)
def test_a_users_class_runs_in_both_modes(style: str) -> None:
    make, expected = STYLES[style]
    tape, graph = on_tape(make(tape_api)), in_graph(lambda: make(graph_api))
    for t, g, e in zip(tape, graph, expected(5), strict=True):
        np.testing.assert_allclose(t, e, rtol=1e-5)
        assert t.tobytes() == g.tobytes()


@pytest.mark.parametrize("style", STYLES)
def test_an_update_that_fails_on_the_way_leaves_all_as_it_was(style: str) -> None:
    optimizer, calls = STYLES[style][0](tape_api), []
    variables = [tape_api.Variable(s) for s in STARTS]
    pairs = [(tape_api.constant(g), v) for g, v in zip(gradients(0), variables, strict=True)]
    optimizer.apply_gradients(pairs)
    before = [v.numpy().copy() for v in [*variables, *optimizer._slots.all(), *optimizer._counters.all()]]
    kind = type(optimizer)
    name = (
        "update_step" if style == "keras_step" else "_apply_dense" if style == "version1" else "_resource_apply_dense"
    )
    plain = getattr(kind, name)

    def failing(self: Any, *arguments: Any) -> Any:
        calls.append(plain(self, *arguments))
        if len(calls) == 2:
            raise KeyboardInterrupt
        return calls[-1]

    failing.__signature__ = __import__("inspect").signature(plain)  # type: ignore[attr-defined]
    setattr(kind, name, failing)
    with pytest.raises(KeyboardInterrupt):
        optimizer.apply_gradients(pairs)
    after = [v.numpy() for v in [*variables, *optimizer._slots.all(), *optimizer._counters.all()]]
    np.testing.assert_equal(before, after)


def test_rows_reach_the_methods_for_them() -> None:
    seen = []

    class Rows(tape_api.compat.v1.train.Optimizer):  # type: ignore[misc, name-defined]
        def _apply_sparse(self, grad: Any, var: Any) -> Any:
            seen.append((grad.indices.numpy().tolist(), grad.values.numpy().tolist()))

        def _apply_dense(self, grad: Any, var: Any) -> Any:
            raise AssertionError("dense")

    v = tape_api.Variable(np.zeros((3, 1)))
    rows = tape_api.IndexedSlices(tape_api.constant([[1.0], [2.0], [4.0]]), tape_api.constant([2, 0, 2]))
    Rows(False, "Rows").apply_gradients(
        [(tape_api.IndexedSlices(tape_api.cast(rows.values, tape_api.float64), rows.indices), v)]
    )
    ((indices, values),) = seen
    assert sorted(zip(indices, values, strict=True)) == [(0, [2.0]), (2, [5.0])]


def test_transforms_that_leave_steps_out_work_or_say_why_not() -> None:
    make = STYLES["version1"][0]
    optimizer, v = make(tape_api), tape_api.Variable(STARTS[1])
    skip = transforms.skip_nonfinite()
    optimizer.apply_gradients(skip([(tape_api.constant([np.nan, 1.0], tape_api.float64), v)]))
    np.testing.assert_array_equal(v.numpy(), STARTS[1])
    assert skip.skipped.numpy() == 1
    with graph_api.Graph().as_default():
        w = graph_api.Variable(STARTS[1])
        with pytest.raises(ValueError, match="PowerSign assigns variables itself, so a graph cannot"):
            make(graph_api).apply_gradients(skip([(graph_api.constant(STARTS[1]), w)]))


def test_a_class_that_defines_nothing_says_so() -> None:
    class Nothing(graph_api.train.Optimizer):  # type: ignore[misc, name-defined]
        pass

    with graph_api.Graph().as_default():
        w = graph_api.Variable(1.0)
        with pytest.raises(NotImplementedError, match="must define `update`"):
            Nothing(False, "Nothing").minimize(w * w)


@pytest.mark.peer
@pytest.mark.parametrize("style", ["version1", "keras_step"])
def test_the_same_classes_on_real_tensorflow(style: str) -> None:
    tensorflow = pytest.importorskip("tensorflow")
    if style == "version1":
        v1 = tensorflow.compat.v1
        theirs = in_graph(lambda: version1(v1.train, v1), v1)
    else:
        theirs = on_tape(keras_step(tensorflow.keras, tensorflow), tensorflow)
    for t, e in zip(theirs, STYLES[style][1](5), strict=True):
        np.testing.assert_allclose(t, e, rtol=1e-6)


def test_what_a_subclass_of_version_1_finds() -> None:
    class Locked(graph_api.train.AdamOptimizer):  # type: ignore[misc]
        @property
        def learning_rate(self) -> Any:
            return self._lr

    with graph_api.Graph().as_default(), graph_api.Session() as session:
        x = graph_api.Variable(1.0)
        optimizer = Locked(0.1, use_locking=True)
        step = optimizer.minimize(x * x)
        session.run(graph_api.global_variables_initializer())
        session.run(step)
        assert optimizer._use_locking
        assert optimizer.learning_rate == 0.1
        assert session.run(x) == pytest.approx(0.9)
        assert len(optimizer.variables()) == 4
        with graph_api.Graph().as_default():
            assert optimizer.variables() == []


def test_hyperparameters_have_the_names_of_version_1_too() -> None:
    x = tape_api.Variable(1.0)
    optimizer = tape_api.compat.v1.train.AdamOptimizer(0.1)
    assert (optimizer._lr, optimizer._beta1) == (0.1, 0.9)
    plain = tape_api.compat.v1.train.GradientDescentOptimizer(0.0)
    plain._learning_rate = 0.5
    plain.apply_gradients([(tape_api.constant(1.0), x)])
    assert float(x) == 0.5 and plain.learning_rate == 0.5
    with pytest.raises(AttributeError, match="'GradientDescentOptimizer' object has no attribute '_momentum'"):
        _ = plain._momentum


@pytest.mark.parametrize("eager", [False, True])
def test_a_class_of_ones_own_calls_the_step_of_the_one_above(eager: bool) -> None:
    tf = tape_api.compat.v1 if eager else graph_api
    for kind, given in (("Momentum", (0.1, 0.9)), ("Adam", (0.1,)), ("RMSProp", (0.1,)), ("GradientDescent", (0.1,))):
        above = getattr(tf.train, f"{kind}Optimizer")

        class Decaying(above):
            def _apply_dense(self, grad: Any, var: Any) -> Any:
                return super()._apply_dense(grad + 0.5 * var if var.shape.rank == 1 else grad, var)

            def _apply_sparse(self, grad: Any, var: Any) -> Any:
                return super()._apply_sparse(grad, var)

        ends = []
        for optimizer, decay in ((Decaying(*given), 0.0), (above(*given), 0.5)):
            with graph_api.Graph().as_default():
                dense, rows = tf.Variable([1.0, -2.0]), tf.Variable([[1.0], [2.0], [3.0]])

                def loss(dense: Any = dense, rows: Any = rows, decay: float = decay) -> Any:
                    penalty = 0.5 * decay * tf.reduce_sum(dense * dense)
                    return penalty + tf.reduce_sum(dense**3) + tf.reduce_sum(tf.gather(rows, [0, 2, 0]) ** 2)

                if eager:
                    for _ in range(3):
                        optimizer.minimize(loss, var_list=[dense, rows])
                    ends.append([dense.numpy(), rows.numpy()])
                    continue
                step = optimizer.minimize(loss())
                with tf.Session() as session:
                    session.run(tf.global_variables_initializer())
                    for _ in range(3):
                        session.run(step)
                    ends.append(session.run([dense, rows]))
        for own, plain in zip(*ends, strict=True):
            np.testing.assert_allclose(own, plain, rtol=1e-6, err_msg=kind)
