"""Programs that draw random numbers with seeds. Each gives names and numbers; `stored.json` has TensorFlow's.

``python -m tests.draws.programs``, where TensorFlow is installed, writes what is stored anew.
"""

import json
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

STORED = Path(__file__).with_name("stored.json")


def kernels(uniform: Callable[..., Any]) -> dict[str, Any]:
    """What kernels give for the seeds 42 and 7; `uniform` is asked for each by name, dtype and arguments."""
    floats = ("float16", "float32", "float64")
    found = {f"{name} {dtype}": uniform(name, dtype) for name in ("uniform", "normal", "truncated") for dtype in floats}
    for dtype in ("int32", "int64"):
        found[f"integers {dtype}"] = uniform("integers", dtype)
        found[f"wide integers {dtype}"] = uniform("wide integers", dtype)
    for dtype in floats:
        found[f"gamma {dtype}"] = uniform("gamma", dtype)
    for dtype in ("float32", "int64"):
        found[f"poisson {dtype}"] = uniform("poisson", dtype)
    found["shuffle"] = uniform("shuffle", "int32")
    found["multinomial"] = uniform("multinomial", "float32")
    return found


ALPHA = [0.3, 1.0, 4.5]
RATE = [0.4, 9.5, 10.0, 300.0]
LOGITS = [[0.1, 2.0, -1.0, 0.5, 1.0], [0.0, 0.0, 3.0, -2.0, 0.7]]


def of_tensorflow(tf: Any) -> Callable[..., Any]:
    """TensorFlow's kernels."""
    raw = tf.raw_ops
    seeds = {"seed": 42, "seed2": 7}

    def call(name: str, dtype: str) -> Any:
        kind = tf.as_dtype(dtype)
        # a kernel goes on where it was in the call before
        tf.random.set_seed(0)
        if name in ("uniform", "normal", "truncated"):
            op = {"uniform": raw.RandomUniform, "normal": raw.RandomStandardNormal, "truncated": raw.TruncatedNormal}
            return op[name](shape=[37], dtype=kind, **seeds)
        if name.endswith("integers"):
            low, high = (-3, 10) if name == "integers" else (kind.min + 5, kind.max - 7)
            return raw.RandomUniformInt(shape=[9], minval=tf.cast(low, kind), maxval=tf.cast(high, kind), **seeds)
        if name == "gamma":
            return raw.RandomGamma(shape=[8], alpha=tf.constant(ALPHA, kind), **seeds)
        if name == "poisson":
            return raw.RandomPoissonV2(shape=[8], rate=tf.constant(RATE), dtype=kind, **seeds)
        if name == "shuffle":
            return raw.RandomShuffle(value=tf.range(23), **seeds)
        return raw.Multinomial(logits=tf.constant(LOGITS), num_samples=7, **seeds)

    return lambda name, dtype: call(name, dtype).numpy()


def eager(tf: Any) -> dict[str, Any]:
    """Calls with a global seed, with one of their own, with both, and again."""
    draw = tf.random
    found: dict[str, Any] = {}
    calls: dict[str, Callable[..., Any]] = {
        "uniform": lambda **k: draw.uniform([5], **k),
        "limits": lambda **k: draw.uniform([3], -1.0, 3.0, tf.float64, **k),
        "integers": lambda **k: draw.uniform([3], 0, 10, tf.int32, **k),
        "normal": lambda **k: draw.normal([5], 1.0, 2.0, **k),
        "truncated": lambda **k: draw.truncated_normal([5], **k),
        "gamma": lambda **k: draw.gamma([2], [0.5, 2.0], **k),
        "poisson": lambda **k: draw.poisson([2], [3.0, 20.0], **k),
        "categorical": lambda **k: draw.categorical(tf.zeros([2, 5]), 3, **k),
        "shuffle": lambda **k: draw.shuffle(tf.range(9), **k),
        "dropout": lambda **k: tf.nn.dropout(tf.ones([7]), 0.4, **k),
        "dropout of rows": lambda **k: tf.nn.dropout(tf.ones([4, 2]), 0.5, noise_shape=[4, 1], **k),
        "no dropout": lambda **k: tf.nn.dropout(tf.ones([2]), 0, **k),
        "crop": lambda **k: tf.image.random_crop(tf.reshape(tf.range(25), [5, 5]), [2, 2], **k),
    }
    for seeds in ({}, {"seed": 3}):
        tf.random.set_seed(5)
        for again in range(2):
            for name, call in calls.items():
                found[f"{name} {seeds} {again}"] = call(**seeds)
    tf.random.set_seed(0)
    found["zero"] = draw.uniform([2], seed=0)
    return found


def functions(tf: Any) -> dict[str, Any]:
    """Calls in functions: with a seed and without, in another function, for other arguments, after `set_seed`."""
    found: dict[str, Any] = {}
    graphed: Callable[[Any], Any] = tf.function
    tf.random.set_seed(1)

    @graphed
    def several(x: Any) -> Any:
        draw = tf.random
        return draw.uniform([2]), draw.normal([2]), draw.uniform([2], seed=5), draw.uniform([2], seed=5), x

    @graphed
    def inner() -> Any:
        return tf.random.uniform([2])

    @graphed
    def outer() -> Any:
        return inner(), inner(), tf.random.uniform([2])

    for again in range(4):
        found[f"several {again}"] = several(tf.zeros([1]))[:4]
        found[f"outer {again}"] = outer()
    found["inner"] = inner()
    found["another shape"] = several(tf.zeros([2]))[:4]
    tf.random.set_seed(2)
    found["after another seed"] = several(tf.zeros([1]))[:4]
    data = tf.data.Dataset.range(4).map(lambda x: tf.random.uniform([1]))
    found["mapped"] = [list(data), list(data)]
    return found


def stateless(tf: Any) -> dict[str, Any]:
    """Functions of a seed, and generators."""
    draw, seed = tf.random, [11, -3]
    found = {
        "uniform": draw.stateless_uniform([5], seed),
        "limits": draw.stateless_uniform([3], seed, -1.0, 3.0),
        "integers": draw.stateless_uniform([5], seed, 0, 10, tf.int32),
        "all integers": draw.stateless_uniform([5], seed, None, None, tf.int32),
        "normal": draw.stateless_normal([5], seed),
        "truncated": draw.stateless_truncated_normal([5], seed, dtype=tf.float64),
        "gamma": draw.stateless_gamma([3, 2], seed, [0.5, 2.0], 3.0),
        "poisson": draw.stateless_poisson([3, 2], seed, [0.5, 20.0]),
        "categorical": draw.stateless_categorical(tf.constant(LOGITS), 4, seed),
        "split": draw.experimental.stateless_split(seed, 3),
        "fold in": draw.experimental.stateless_fold_in(seed, 3),
    }
    g = draw.Generator.from_seed(1234)
    for again in range(2):
        found[f"generator {again}"] = [
            g.normal([3]), g.uniform([3], 0, 9, tf.int32), g.uniform([2]), g.truncated_normal([3]),
            g.uniform([2], None, None, tf.int64),
        ]  # fmt: skip
    found["seeds"] = g.make_seeds(2)
    found["states"] = [g.state.read_value(), *[x.state.read_value() for x in g.split(2)]]
    found["from a long seed"] = draw.Generator.from_seed(2**70 + 5).state.read_value()
    found["from a short seed"] = draw.Generator.from_seed([3, 4]).state.read_value()
    return found


def keras(tf: Any) -> dict[str, Any]:
    """Initializers and layers of Keras 3, with seeds, and without after `set_random_seed`; a model that is fitted."""
    layers, initializers, utils = tf.keras.layers, tf.keras.initializers, tf.keras.utils
    given = {
        "glorot": initializers.GlorotUniform(seed=3),
        "he": initializers.HeNormal(seed=4),
        "normal": initializers.RandomNormal(stddev=0.1, seed=3),
        "uniform": initializers.RandomUniform(seed=2**33 + 7),
        "truncated": initializers.TruncatedNormal(seed=3),
        "scaled": initializers.VarianceScaling(2.0, "fan_out", "uniform", seed=5),
    }
    found: dict[str, Any] = {name: make((4, 3)) for name, make in given.items()}
    utils.set_random_seed(7)
    found["Python's and NumPy's"] = [random.random(), np.random.rand()]
    utils.set_random_seed(7)
    x, y = np.sin(np.arange(80.0, dtype=np.float32).reshape(20, 4)), np.ones((20, 2), np.float32)
    model = tf.keras.Sequential(
        [tf.keras.Input((4,)), layers.Dense(5), layers.Dropout(0.3), layers.GaussianNoise(0.1), layers.Dense(2)]
    )
    found["weights"] = model.get_weights()
    found["Python's next"] = random.random()
    found["training"] = [model(x[:2], training=True), model(x[:2], training=True)]
    model.compile("sgd", "mse")
    for again in range(2):
        found[f"losses {again}"] = model.fit(x, y, epochs=3, batch_size=8, verbose=0).history["loss"]
    dropout = layers.Dropout(0.5, seed=11)
    found["dropout"] = [dropout(np.ones((1, 8), np.float32), training=True) for _ in range(2)]
    cells = tf.keras.Sequential(
        [tf.keras.Input((6, 3)), layers.LSTM(4, dropout=0.2, return_sequences=True), layers.GRU(3)]
    )
    found["cells"] = cells.get_weights()
    attention = layers.MultiHeadAttention(2, 3)
    attention(np.ones((1, 2, 4), np.float32), np.ones((1, 2, 4), np.float32))
    found["attention"] = attention.get_weights()
    return found


def graph(tf: Any) -> dict[str, Any]:
    """A graph's operations, in two sessions; `tf` is TensorFlow 1."""
    found: dict[str, Any] = {}
    for seed in (None, 42):
        with tf.Graph().as_default():
            if seed is not None:
                tf.set_random_seed(seed)
            own = {} if seed else {"seed": 3}
            size = tf.placeholder(tf.int32, [1])
            made = {
                "uniform": tf.random_uniform([3], **own),
                "normal": tf.random_normal([3], **own),
                "truncated": tf.truncated_normal([3], stddev=2.0, **own),
                "integers": tf.random_uniform([3], 0, 10, tf.int32, **own),
                "shuffle": tf.random_shuffle(tf.range(6), **own),
                "multinomial": tf.multinomial(tf.zeros([2, 5]), 3, **own),
                "gamma": tf.random_gamma([2], [2.0, 0.5], **own),
                "poisson": tf.random_poisson([3.0, 20.0], [2], **own),
                "dropout": tf.nn.dropout(tf.ones([6]), rate=0.4, **own),
                "no dropout": tf.nn.dropout(tf.ones([2]), rate=0.0, **own),
                "seeded": tf.random_uniform([2], seed=9),
                "sized": tf.random_uniform(size, **own),
                "last": tf.random_uniform([2], minval=-1.0, maxval=3.0, **own),
            }
            initializers = {
                "glorot": tf.glorot_uniform_initializer(**own),
                "truncated": tf.truncated_normal_initializer(stddev=0.1, **own),
                "normal": tf.random_normal_initializer(seed=3),
                "scaled": tf.variance_scaling_initializer(**own),
                "uniform": tf.random_uniform_initializer(-1, 1, **own),
            }
            variables = {k: tf.get_variable(k, [4, 2], initializer=v) for k, v in initializers.items()}
            data = tf.data.Dataset.range(4).map(lambda x, own=own: tf.random_uniform([1], **own))
            mapped = [tf.data.make_one_shot_iterator(data), tf.data.make_initializable_iterator(data)]
            elements = [iterator.get_next() for iterator in mapped]
            after = tf.random_uniform([2], **own)
            start = tf.group(tf.global_variables_initializer(), mapped[1].initializer)
            for session in range(2):
                with tf.Session() as run:
                    for n in (2, 5, 2):
                        for name, value in run.run(made, {size: [n]}).items():
                            found[f"{name} {seed} {session} {len(found)}"] = value
                    run.run(start)
                    found[f"elements {seed} {session}"] = [run.run([*elements, after]) for _ in range(3)]
                    for name, value in run.run(variables).items():
                        found[f"variable {name} {seed} {session}"] = value
    return found


def plain(found: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers as JSON has them."""

    def of(x: Any) -> Any:
        if isinstance(x, (list, tuple)):
            return [of(item) for item in x]
        return np.asarray(x.numpy() if hasattr(x, "numpy") else x).tolist()

    return {name: of(x) for name, x in found.items()}


def tensorflows(tf: Any) -> dict[str, Any]:
    """All of it, of TensorFlow."""
    found = {"kernels": plain(kernels(of_tensorflow(tf)))}
    found |= {part.__name__: plain(part(tf)) for part in (eager, functions, stateless, keras)}
    found["graph"] = plain(graph(tf.compat.v1))
    return found


if __name__ == "__main__":
    import tensorflow as tf

    STORED.write_text(json.dumps(tensorflows(tf), separators=(",", ":")) + "\n")
