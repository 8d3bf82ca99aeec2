"""Gradients that are products of matrices, computed when their variables are updated: never two of them at once."""

from typing import Any

import numpy as np
import pytest

import graph_api as tf
import optim
import tape_api as v2
from bench.measure import peak_bytes
from engine.compiler.updates import deferred_updates
from engine.core.aval import aval_of_array
from engine.executor.staged import in_python
from engine.runtime import buffer_pool
from tests.support import assert_same_bits

WIDTH = 96
LAYERS = 5


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deferred_updates, "LARGE", 1 << 10)


class Net:
    """A net of some layers in a session of its own, and a step of training."""

    def __init__(self, optimizer: Any, batch: int = 8, dtype: str = "float32", turned: bool = False) -> None:
        rng = np.random.default_rng(0)
        self.session = tf.Session(graph=tf.Graph())
        self.x = rng.standard_normal((batch, WIDTH)).astype(dtype)
        with self.session.graph.as_default():
            self.feed = tf.placeholder(dtype, [batch, WIDTH])
            starts = [rng.standard_normal((WIDTH, WIDTH)).astype(dtype) / 10 for _ in range(LAYERS)]
            self.weights = [tf.Variable(w) for w in starts]
            out = tf.matrix_transpose(self.feed) if turned else self.feed
            for w in self.weights:
                out = tf.tanh(tf.matmul(w, out) if turned else tf.matmul(out, w))
            self.loss = tf.reduce_sum(out * out)
            self.gradients = tf.gradients(self.loss, self.weights)
            self.train = optimizer.apply_gradients(zip(self.gradients, self.weights, strict=True))
            self.session.run(tf.global_variables_initializer())

    def step(self, *fetches: Any) -> list[Any]:
        """What fetches are in a step."""
        return self.session.run([self.train, *fetches], {self.feed: self.x})[1:]

    def values(self) -> list[np.ndarray]:
        """The variables' values, with slots."""
        with self.session.graph.as_default():
            return self.session.run(tf.global_variables())

    def products(self, *fetches: Any) -> int:
        """How many gradients are computed deferred."""
        program = self.session._compile([self.train, *fetches], [self.feed], [aval_of_array(self.x)]).program
        return sum(len(update.products) for update in program.updates)


OPTIMIZERS = {
    "descent": lambda: tf.train.GradientDescentOptimizer(0.01),
    "momentum": lambda: tf.train.MomentumOptimizer(0.01, 0.9, use_nesterov=True),
    "adam": lambda: tf.train.AdamOptimizer(0.01),
}


@pytest.mark.parametrize("optimizer", OPTIMIZERS.values(), ids=OPTIMIZERS)
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(("batch", "dtype"), [(1, "float32"), (8, "float32"), (8, "float64"), (30, "float32")])
def test_bits_are_those_of_gradients_that_are_computed_first(
    optimizer: Any, batch: int, dtype: str, turned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    deferred, python = Net(optimizer(), batch, dtype, turned), Net(optimizer(), batch, dtype, turned)
    for _ in range(4):
        deferred.step()
        with in_python():
            python.step()
    assert deferred.products() >= LAYERS - 1
    monkeypatch.setattr(deferred_updates, "_is_worth_waiting", lambda *_: False)
    first = Net(optimizer(), batch, dtype, turned)
    for _ in range(4):
        first.step()
    assert not first.products()
    assert_same_bits(deferred.values(), first.values())
    assert_same_bits(python.values(), first.values())


def test_a_step_holds_one_gradient_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def peak() -> float:
        net = Net(OPTIMIZERS["adam"](), batch=2)
        for _ in range(4):
            net.step()
        buffer_pool.forget()
        return peak_bytes(net.step) / (LAYERS * net.weights[0].shape.num_elements() * 4)

    one = peak()
    monkeypatch.setattr(deferred_updates, "_is_worth_waiting", lambda *_: False)
    assert one < peak() - 0.4


def test_what_is_needed_elsewhere_is_computed_first() -> None:
    net = Net(OPTIMIZERS["descent"]())
    assert net.products(net.gradients[1]) == net.products() - 1
    before = net.values()
    (gradient,) = net.step(net.gradients[1])
    assert_same_bits(net.values()[1:2], [before[1] - gradient * np.float32(0.01)])


def test_large_batches_and_products_of_variables_are_computed_first() -> None:
    assert Net(OPTIMIZERS["descent"](), batch=WIDTH).products() == 0
    with tf.Graph().as_default(), tf.Session() as session:
        start = np.linspace(-1, 1, 2 * 40 * 50).reshape(2, 40, 50)
        a, b = [tf.Variable(x) for x in start]
        train = tf.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_sum(tf.matmul(a, b, transpose_a=True)))
        session.run(tf.global_variables_initializer())
        assert not any(u.products for u in session._compile([train], [], []).program.updates)
        session.run(train)
        ones = np.ones((50, 50))
        np.testing.assert_allclose(session.run(a), start[0] - 0.5 * start[1] @ ones, rtol=1e-12)
        np.testing.assert_allclose(session.run(b), start[1] - 0.5 * start[0] @ ones, rtol=1e-12)


@pytest.mark.parametrize("runs_before", [0, 3])
def test_a_step_that_fails_changes_nothing(runs_before: int) -> None:
    net = Net(OPTIMIZERS["adam"]())
    with net.session.graph.as_default():
        fails = tf.py_func(lambda x: 1 / 0, [net.gradients[0]], tf.float32)
    for _ in range(runs_before):
        net.step()
    before = net.values()
    with pytest.raises(tf.errors.UnknownError):
        net.step(fails)
    assert_same_bits(net.values(), before)
    net.x[0, 0] = np.inf
    with np.errstate(invalid="raise"), pytest.raises(FloatingPointError):
        net.step()
    assert_same_bits(net.values(), before)


# ---- on tapes --------------------------------------------------------------------------------------------------------


class TapeNet:
    """The same net of eager variables."""

    def __init__(self, optimizer: Any, batch: int = 8, dtype: str = "float32") -> None:
        rng = np.random.default_rng(0)
        self.x = rng.standard_normal((batch, WIDTH)).astype(dtype)
        starts = [rng.standard_normal((WIDTH, WIDTH)).astype(dtype) / 10 for _ in range(LAYERS)]
        self.weights = [v2.Variable(w) for w in starts]
        self.optimizer = optimizer

    def loss(self) -> Any:
        out = v2.constant(self.x)
        for w in self.weights:
            out = v2.tanh(v2.matmul(out, w) if w.ndim == 2 else out + w)
        return v2.reduce_sum(out * out)

    def step(self) -> None:
        self.optimizer.minimize(self.loss, var_list=self.weights)

    def values(self) -> list[np.ndarray]:
        variables = self.optimizer.variables
        return [v.numpy() for v in (*self.weights, *(variables() if callable(variables) else variables))]


EAGER = {
    "descent": lambda **_: v2.compat.v1.train.GradientDescentOptimizer(0.01),
    "adam": lambda **_: v2.compat.v1.train.AdamOptimizer(0.01),
    "keras": lambda **other: v2.keras.optimizers.Adam(0.01, **other),
}


@pytest.fixture
def products(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The products that were computed one by one, not when they were applied."""
    found: list[Any] = []
    whole = deferred_updates.DeferredArray.computed

    def computed(self: Any) -> Any:
        found.append(self)
        return whole(self)

    monkeypatch.setattr(deferred_updates.DeferredArray, "computed", computed)
    return found


@pytest.mark.parametrize("make", EAGER.values(), ids=EAGER)
@pytest.mark.parametrize(("batch", "dtype"), [(1, "float32"), (8, "float64"), (30, "float32")])
def test_tapes_give_the_bits_of_gradients_that_are_computed_first(
    make: Any, batch: int, dtype: str, products: list[Any]
) -> None:
    deferred, first = TapeNet(make(), batch, dtype), TapeNet(make(), batch, dtype)
    for _ in range(7):
        deferred.step()
        first.optimizer.apply_gradients(first.optimizer.compute_gradients(first.loss, first.weights))
    assert not products
    assert_same_bits(deferred.values(), first.values())


def test_gradients_that_are_there_stand_beside_deferred_ones(products: list[Any]) -> None:
    deferred, first = TapeNet(EAGER["adam"]()), TapeNet(EAGER["adam"]())
    for net in (deferred, first):
        net.weights.insert(2, v2.Variable(np.linspace(0, 1, WIDTH, dtype=np.float32)))
    for _ in range(7):
        deferred.step()
        first.optimizer.apply_gradients(first.optimizer.compute_gradients(first.loss, first.weights))
    assert not products
    made = [f.program for step in deferred.optimizer._steps.values() for (f,) in step._functions.values()]
    assert max(sum(len(update.products) for update in program.updates) for program in made) >= LAYERS - 1
    assert_same_bits(deferred.values(), first.values())


def test_a_step_on_a_tape_holds_one_gradient_at_a_time(products: list[Any]) -> None:
    def peak(step: Any) -> float:
        for _ in range(6):
            step()
        buffer_pool.forget()
        return peak_bytes(step) / (LAYERS * WIDTH * WIDTH * 4)

    net = TapeNet(EAGER["adam"](), batch=2)
    pairs = net.optimizer.compute_gradients
    assert peak(net.step) < peak(lambda: net.optimizer.apply_gradients(pairs(net.loss, net.weights))) - 0.4
    assert not products


@pytest.mark.usefixtures("products")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("clipnorm", 1.0),
        ("global_clipnorm", 1.0),
        ("clipvalue", 0.1),
        ("use_ema", True),
        ("gradient_accumulation_steps", 2),
    ],
)
def test_who_needs_all_gradients_gets_them(name: str, value: Any) -> None:
    deferred, first = [TapeNet(v2.keras.optimizers.SGD(0.01, **{name: value})) for _ in range(2)]
    for _ in range(7):
        deferred.step()
        first.optimizer.apply_gradients(first.optimizer.compute_gradients(first.loss, first.weights))
    assert_same_bits(deferred.values(), first.values())


@pytest.mark.usefixtures("products")
def test_users_methods_see_tensors() -> None:
    seen = []

    class Own(optim.AdamOptimizer):
        def apply_gradients(self, grads_and_vars: Any, *others: Any) -> Any:
            seen.extend(g.numpy().shape for g, _ in grads_and_vars)
            return super().apply_gradients(grads_and_vars, *others)

    net = TapeNet(Own(0.01))
    for _ in range(6):
        net.step()
    assert seen == [(WIDTH, WIDTH)] * 6 * LAYERS


def test_constraints_and_raised_errors_take_gradients_that_are_there(products: list[Any]) -> None:
    deferred, first = TapeNet(EAGER["adam"]()), TapeNet(EAGER["adam"]())
    for i in range(7):
        for net in (deferred, first):
            net.weights[2].constraint = (lambda w: w * np.float32(0.5)) if i > 4 else None
        with np.errstate(invalid="raise" if i == 4 else "warn"):
            deferred.step()
            first.optimizer.apply_gradients(first.optimizer.compute_gradients(first.loss, first.weights))
    assert len(products) >= LAYERS
    assert_same_bits(deferred.values(), first.values())
