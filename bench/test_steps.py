"""Steps of programs beside TensorFlow's, which compute the same: training, what it is made of, and the machinery alone.

Each step is written once, with the module as `tf`. Weights and data are the same arrays in both libraries.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from bench import peers
from bench.digits import GraphModel, TapeModel, initial_weights
from bench.document import CHAIN, LENGTH
from bench.problems import chain, chain_gradient

Step = Callable[[], Any]
X = np.linspace(0.1, 1.0, 10)
CLOSE = 2e-3
"""How far results may differ, relatively: rounding in single precision, which training amplifies."""


def _drawn(*shape: int) -> np.ndarray:
    rng = np.random.default_rng(int(np.prod(shape)))
    return np.asarray(rng.normal(size=shape) * 0.3, np.float32)


def _classes(most: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(most).integers(0, most, shape).astype(np.int32)


# ---- training a network in each mode ---------------------------------------------------------------------------------

RATE = 0.01
OPTIMIZERS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "gradient descent": (lambda tf: tf.train.GradientDescentOptimizer(RATE), lambda tf: tf.keras.optimizers.SGD(RATE)),
    "momentum": (lambda tf: tf.train.MomentumOptimizer(RATE, 0.9), lambda tf: tf.keras.optimizers.SGD(RATE, 0.9)),
    "Adam": (lambda tf: tf.train.AdamOptimizer(RATE), lambda tf: tf.keras.optimizers.Adam(RATE)),
}
"""In a graph, and on a tape."""


LIBRARIES: dict[str, Callable[[str], GraphModel | TapeModel]] = {
    "graph_api": lambda name: GraphModel(graph_api, initial_weights(), OPTIMIZERS[name][0]),
    "tape_api": lambda name: TapeModel(tape_api, initial_weights(), OPTIMIZERS[name][1]),
    "tensorflow graph": lambda name: GraphModel(peers.tensorflow().compat.v1, initial_weights(), OPTIMIZERS[name][0]),
    "tensorflow eager": lambda name: TapeModel(peers.tensorflow(), initial_weights(), OPTIMIZERS[name][1]),
}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(
    "optimizer", [pytest.param(o, marks=pytest.mark.benchmark(group=f"a step of training, {o}")) for o in OPTIMIZERS]
)
def test_step_of_training(benchmark: Any, library: str, optimizer: str) -> None:
    """Loss, gradients and update; the loss falls."""
    model = LIBRARIES[library](optimizer)
    step = partial(model.step, _drawn(64, 64), _classes(10, 64))
    first = step()
    step()
    assert benchmark(step).loss < first.loss


# ---- the gradient of 200 small ops -----------------------------------------------------------------------------------


def on_a_tape(tf: Any) -> Step:
    """The gradient of the chain on the tape of `tape_api`, or of TensorFlow in eager mode."""
    x = tf.constant(X)

    def run() -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = chain(tf, x, LENGTH)
        return tape.gradient(y, x).numpy()

    return run


def in_a_session(tf: Any) -> Step:
    """The same as a graph, run in a session."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float64, X.shape)
        (gradient,) = tf.gradients(chain(tf, x, LENGTH), x)
        session = tf.Session()
    return lambda: session.run(gradient, {x: X})


EAGER, GRAPH = (f"gradient of a {CHAIN}, {how}" for how in ("eager", "graph (built before)"))
GRADIENTS: dict[str, tuple[str, Callable[[], Step]]] = {
    "tape_api": (EAGER, lambda: on_a_tape(tape_api)),
    "tensorflow eager": (EAGER, lambda: on_a_tape(peers.tensorflow())),
    "graph_api": (GRAPH, lambda: in_a_session(graph_api)),
    "tensorflow graph": (GRAPH, lambda: in_a_session(peers.tensorflow().compat.v1)),
}


@pytest.mark.parametrize(
    "library", [pytest.param(name, marks=pytest.mark.benchmark(group=group)) for name, (group, _) in GRADIENTS.items()]
)
def test_gradient(benchmark: Any, library: str) -> None:
    """Record 200 ops on 10 numbers and differentiate them, or run a gradient that is already part of the graph."""
    np.testing.assert_allclose(benchmark(GRADIENTS[library][1]()), chain_gradient(X, LENGTH), rtol=1e-10)


# ---- a small fetch ---------------------------------------------------------------------------------------------------


def small_fetch(tf: Any) -> Step:
    """``sum(x * x)`` of 10 numbers, fed and fetched."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float64, X.shape)
        y = tf.reduce_sum(x * x)
        session = tf.Session()
    return lambda: session.run(y, {x: X})


@pytest.mark.benchmark(group="Session.run of a small fetch, cached")
@pytest.mark.parametrize("library", ["graph_api", "tensorflow"])
def test_session_run(benchmark: Any, library: str) -> None:
    """Run two ops that were run before."""
    run = small_fetch(graph_api if library == "graph_api" else peers.tensorflow().compat.v1)
    run()
    result = benchmark(run)
    np.testing.assert_allclose(result, np.sum(X * X), rtol=1e-12)


# ---- convolutions and pools ------------------------------------------------------------------------------------------


def forward(tf: Any, function: Callable[..., Any], *inputs: Any) -> Step:
    """A function alone."""
    return lambda: [function(*inputs)]


def backward(tf: Any, function: Callable[..., Any], *inputs: Any) -> Step:
    """The gradients alone: the function is recorded once."""
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(inputs)
        y = function(*inputs)
    seed = tf.constant(_drawn(*y.shape))
    return lambda: tape.gradient(y, list(inputs), output_gradients=seed)


def _convolved(way: Callable[..., Step], x: tuple[int, ...], w: tuple[int, ...]) -> Callable[[Any], Step]:
    return lambda tf: way(tf, lambda x, w: tf.nn.conv2d(x, w, 1, "SAME"), *map(tf.constant, (_drawn(*x), _drawn(*w))))


def _pooled(way: Callable[..., Step], kind: str, width: int, shape: tuple[int, ...]) -> Callable[[Any], Step]:
    return lambda tf: way(
        tf, lambda x: getattr(tf.nn, f"{kind}_pool2d")(x, width, 2, "SAME"), tf.constant(_drawn(*shape))
    )


CONVOLUTIONS = (
    ((32, 28, 28, 1), (5, 5, 1, 32)),
    ((32, 14, 14, 32), (5, 5, 32, 64)),
    ((16, 32, 32, 3), (3, 3, 3, 16)),
    ((16, 32, 32, 16), (3, 3, 16, 32)),
    ((32, 14, 14, 64), (1, 1, 64, 64)),
)
POOLED = ((32, 28, 28, 32), (32, 14, 14, 64), (16, 32, 32, 32))
WAYS = {"": forward, "gradients of ": backward}
PARTS: dict[str, Callable[[Any], Step]] = {
    f"{said}conv2d, {'x'.join(map(str, x))} with {'x'.join(map(str, w))}": _convolved(way, x, w)
    for said, way in WAYS.items()
    for x, w in CONVOLUTIONS
} | {
    f"{said}pool {kind} {width}x{width}, {shape}": _pooled(way, kind, width, shape)
    for said, way in WAYS.items()
    for kind in ("max", "avg")
    for width in (2, 3)
    for shape in POOLED
}


# ---- steps under tf.function -----------------------------------------------------------------------------------------


def _with_weights(model: Any, *given: Any) -> Any:
    """A layer or model, built, with weights that are the same in every library."""
    model(*given)
    model.set_weights([_drawn(*w.shape) / np.sqrt(max(w.shape[:1], default=1)) for w in model.get_weights()])
    return model


def classifier(tf: Any, rows: int, inputs: int, hidden: int) -> Step:
    """Adam on a network of Keras layers."""
    layers = tf.keras.layers
    x, labels = tf.constant(_drawn(rows, inputs)), tf.constant(_classes(10, rows))
    dense = [layers.Dense(hidden, activation="relu"), layers.Dense(hidden, activation="relu"), layers.Dense(10)]
    return _supervised(tf, _with_weights(tf.keras.Sequential(dense), x), x, labels)


def images(tf: Any, rows: int) -> Step:
    """The same on images of 28 x 28 pixels, with convolutions and pools."""
    layers = tf.keras.layers
    x, labels = tf.constant(_drawn(rows, 28, 28, 1)), tf.constant(_classes(10, rows))
    model = tf.keras.Sequential(
        [
            *(layers.Conv2D(8, 3, activation="relu"), layers.MaxPooling2D()),
            *(layers.Conv2D(16, 3, activation="relu"), layers.MaxPooling2D(), layers.Flatten(), layers.Dense(10)),
        ]
    )
    return _supervised(tf, _with_weights(model, x), x, labels)


def language(tf: Any, rows: int, length: int, words: int) -> Step:
    """The same on words, with an embedding and a recurrent layer."""
    layers = tf.keras.layers
    x, labels = (tf.constant(_classes(words - i, rows, length)) for i in (0, 1))
    model = tf.keras.Sequential([
        *(layers.Embedding(words, 16), layers.GRU(32, return_sequences=True), layers.Dense(words)),
    ])  # fmt: skip
    return _supervised(tf, _with_weights(model, x), x, labels)


def _supervised(tf: Any, model: Any, x: Any, labels: Any) -> Step:
    loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer = tf.keras.optimizers.Adam(0.001)

    @tf.function  # type: ignore[untyped-decorator]
    def step(x: Any, labels: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = loss_of(labels, model(x, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    return lambda: step(x, labels)


def physics(tf: Any, points: int) -> Step:
    """A network that is to solve Burgers' equation: tapes in tapes."""
    sizes = (2, 20, 20, 20, 20, 1)
    weights = [tf.Variable(_drawn(a, b)) for a, b in pairwise(sizes)]
    biases = [tf.Variable(np.zeros(b, np.float32)) for b in sizes[1:]]
    variables, optimizer = [*weights, *biases], tf.keras.optimizers.Adam(0.001)
    x, t = tf.constant(_drawn(points, 1)), tf.constant(np.abs(_drawn(points, 1)))

    def network(x: Any, t: Any) -> Any:
        h = tf.concat([x, t], 1)
        for w, b in zip(weights[:-1], biases[:-1], strict=True):
            h = tf.tanh(tf.matmul(h, w) + b)
        return tf.matmul(h, weights[-1]) + biases[-1]

    @tf.function  # type: ignore[untyped-decorator]
    def step(x: Any, t: Any) -> Any:
        with tf.GradientTape() as tape:
            with tf.GradientTape() as second:
                second.watch(x)
                with tf.GradientTape(persistent=True) as first:
                    first.watch([x, t])
                    u = network(x, t)
                u_x, u_t = first.gradient(u, x), first.gradient(u, t)
            residual = u_t + u * u_x - 0.01 * second.gradient(u_x, x)
            loss = tf.reduce_mean(tf.square(residual)) + tf.reduce_mean(tf.square(u))
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    return lambda: step(x, t)


def q_learning(tf: Any, rows: int) -> Step:
    """A deep Q network, and a target network that follows it."""
    layers = tf.keras.layers
    before, after = tf.constant(_drawn(rows, 8)), tf.constant(_drawn(rows, 8) + 0.1)
    actions, rewards = tf.constant(_classes(4, rows)), tf.constant(_drawn(rows))
    net, target = (
        _with_weights(tf.keras.Sequential([layers.Dense(64, activation="relu"), layers.Dense(4)]), before)
        for _ in range(2)
    )
    optimizer, loss_of = tf.keras.optimizers.Adam(0.001, clipnorm=1.0), tf.keras.losses.Huber()

    @tf.function  # type: ignore[untyped-decorator]
    def step(before: Any, actions: Any, rewards: Any, after: Any) -> Any:
        wanted = rewards + 0.99 * tf.reduce_max(target(after), axis=1)
        with tf.GradientTape() as tape:
            loss = loss_of(wanted, tf.reduce_sum(net(before) * tf.one_hot(actions, 4), axis=1))
        variables = net.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        for slow, fast in zip(target.variables, net.variables, strict=True):
            slow.assign(slow * 0.995 + fast * 0.005)
        return loss

    return lambda: step(before, actions, rewards, after)


def hessian_product(tf: Any, rows: int) -> Step:
    """The product of a Hessian with a vector."""
    w, x, y, v = tf.Variable(_drawn(20, 1)), *map(tf.constant, (_drawn(rows, 20), _drawn(rows, 1), _drawn(20, 1)))

    @tf.function  # type: ignore[untyped-decorator]
    def product(v: Any) -> Any:
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                loss = tf.reduce_mean((tf.tanh(x @ w) - y) ** 2)
            along = tf.reduce_sum(inner.gradient(loss, w) * v)
        return outer.gradient(along, w)

    return lambda: product(v)


STEPS: dict[str, Callable[[Any], Step]] = {
    "classifier 64-64-64-10, 32 rows": lambda tf: classifier(tf, 32, 64, 64),
    "classifier 784-512-512-10, 128 rows": lambda tf: classifier(tf, 128, 784, 512),
    "convolutions, 64 images of 28x28": lambda tf: images(tf, 64),
    "GRU, 16 texts of 20 words": lambda tf: language(tf, 16, 20, 60),
    "Burgers' equation, 200 points": lambda tf: physics(tf, 200),
    "Burgers' equation, 5,000 points": lambda tf: physics(tf, 5000),
    "Q learning, 32 rows": lambda tf: q_learning(tf, 32),
    "product with a Hessian, 100 rows": lambda tf: hessian_product(tf, 100),
}


def agree(step: Step, expected: Step) -> None:
    """Raise AssertionError unless the first three results of a step are as those of another one."""
    for _ in range(3):
        for got, wanted in zip(map(np.asarray, _listed(step())), map(np.asarray, _listed(expected())), strict=True):
            np.testing.assert_allclose(got, wanted, CLOSE, CLOSE * np.abs(wanted).max())


def _listed(result: Any) -> list[Any]:
    return result if isinstance(result, list) else [result]


@pytest.mark.parametrize("library", ["tape_api", "tensorflow"])
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.benchmark(group=name)) for name in PARTS | STEPS]
)
def test_step(benchmark: Any, name: str, library: str) -> None:
    """A step of each library, whose results agree."""
    make = (PARTS | STEPS)[name]
    step = make(tape_api if library == "tape_api" else peers.tensorflow())
    agree(step, make(tape_api))
    benchmark(step)
