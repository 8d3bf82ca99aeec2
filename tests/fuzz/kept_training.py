"""Optimizers, layers, models and data sets: see `tests.fuzz.changes`."""

import functools
from typing import Any

import numpy as np

import tape_api as tf
from tests.fuzz.kept import LIVE, Ask, Read, kind, watched
from tests.fuzz.world import WORLD

# ---- optimizers ------------------------------------------------------------------------------------------------------

OPTIMIZERS = ("Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "Ftrl", "Lamb", "Nadam", "RMSprop", "SGD")
CHANGED = ("learning_rate", "beta_1", "beta_2", "epsilon", "rho", "momentum", "weight_decay", "clipnorm", "amsgrad")


def _optimizer(read: Read, name: str, tensors: bool) -> Ask:
    """Its hyperparameters are changed; its state begins anew each time."""
    v = tf.Variable(np.ones(3), dtype=tf.float64)
    made = getattr(tf.keras.optimizers, name)(0.25)
    made.build([v])
    begin = [np.asarray(x) for x in made.variables]

    def ask() -> Any:
        v.assign(np.ones(3))
        for x, value in zip(made.variables, begin, strict=True):
            x.assign(value)
        for k, each in enumerate(CHANGED):
            # without momentum, say, it has no place for it
            if isinstance(getattr(made, each, None), float) and getattr(made, each):
                setattr(made, each, WORLD.number / (8 + k))
        for _ in range(2):
            if tensors:
                made.apply_gradients([(read(tf.ones([3], tf.float64)), v)])
            else:
                with tf.GradientTape() as tape:
                    loss = tf.reduce_sum(read(v * v))
                made.apply_gradients([(tape.gradient(loss, v), v)])
        return [v.numpy(), *[np.asarray(x) for x in made.variables]]

    return ask


for _name in OPTIMIZERS:
    kind(f"optimizer {_name}", ("variable", "global"))(functools.partial(_optimizer, name=_name, tensors=True))
for _name in ("Adam", "SGD"):
    kind(f"optimizer {_name} of a loss")(functools.partial(_optimizer, name=_name, tensors=False))


@kind("optimizer in a tf.function", LIVE)
def _in_a_function(read: Read) -> Ask:
    v, made = tf.Variable(np.ones(3), dtype=tf.float64), tf.keras.optimizers.SGD(0.25, momentum=0.5)
    made.build([v])

    @tf.function
    def step() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(read(v * v))
        made.apply_gradients([(tape.gradient(loss, v), v)])
        return loss

    def ask() -> Any:
        for x in (v, *made.variables):
            x.assign(np.ones(3) if x is v else np.zeros(x.shape) if x.shape.rank else x)
        made.learning_rate = WORLD.number / 8
        return [step(), step(), v.numpy()]

    return ask


# ---- layers and models -----------------------------------------------------------------------------------------------


class Reading(tf.keras.layers.Layer):
    """A layer that looks at the world."""

    def __init__(self, read: Read) -> None:
        super().__init__(dtype="float64")
        self.read = read

    def call(self, x: Any) -> Any:
        return self.read(x * x)


def _rows() -> np.ndarray:
    return WORLD.point.reshape(-1, 1)


@kind("layer")
def _layer(read: Read) -> Ask:
    layer, function = Reading(read), tf.keras.layers.Lambda(lambda x: read(x * x), dtype="float64")
    return lambda: [watched(layer, _rows()), watched(function, _rows())]


@kind("model of layers")
def _model(read: Read) -> Ask:
    model = tf.keras.Sequential([Reading(read), tf.keras.layers.Rescaling(2.0, dtype="float64"), Reading(read)])

    class Subclass(tf.keras.Model):
        def call(self, x: Any) -> Any:
            return read(x) + model(x)

    subclass = Subclass(dtype="float64")
    return lambda: [watched(model, _rows()), watched(subclass, _rows())]


@kind("functional model")
def _functional(read: Read) -> Ask:
    inputs = tf.keras.Input((1,), dtype="float64")
    model = tf.keras.Model(inputs, Reading(read)(Reading(read)(inputs)))
    return lambda: watched(model, _rows())


@kind("losses of layers")
def _losses(read: Read) -> Ask:
    class Losing(tf.keras.layers.Layer):
        def call(self, x: Any) -> Any:
            self.add_loss(tf.reduce_sum(read(tf.reshape(x, [-1])[:1])))
            return x

    layer = Losing(dtype="float64")
    layer.build((None, 1))

    def ask() -> Any:
        layer(tf.constant(_rows()))
        return list(layer.losses)

    return ask


@kind("layers that are changed", ("nothing",))
def _changed(read: Read) -> Ask:
    layers = tf.keras.layers
    tf.keras.utils.set_random_seed(1)
    dense = layers.Dense(1, dtype="float64", kernel_initializer="ones", kernel_regularizer="l2")
    batch = layers.BatchNormalization(dtype="float64")
    norm, rescale, leak = layers.LayerNormalization(dtype="float64"), layers.Rescaling(1.0), layers.LeakyReLU()
    for each in (dense, batch, norm):
        each.build((None, 2))
    begin = [x.numpy() for x in batch.weights]

    def ask() -> Any:
        a = WORLD.number
        x = tf.constant(np.stack([WORLD.point, -2 * WORLD.point], 1))
        batch.set_weights(begin)
        dense.activation = tf.tanh if a > 2 else tf.sin
        dense.trainable = a > 2
        batch.momentum = batch.epsilon = norm.epsilon = 1 / (2 + a)
        rescale.scale, leak.negative_slope = a, a / 8
        found = [dense(x), batch(x, training=True), batch(x), norm(x), rescale(x), leak(x), *batch.get_weights()]
        return [*found, len(dense.trainable_variables), *dense.losses]

    return ask


@kind("metrics and losses that are changed", ("nothing",))
def _metrics(read: Read) -> Ask:
    mean, close = tf.keras.metrics.Mean(), tf.keras.metrics.BinaryAccuracy()
    loss, huber = tf.keras.losses.BinaryCrossentropy(), tf.keras.losses.Huber()

    def ask() -> Any:
        x = np.abs(np.sin(WORLD.point)).reshape(-1, 1)
        close.threshold = loss.label_smoothing = huber.delta = WORLD.number / 8
        loss.from_logits = WORLD.number > 2
        mean.reset_state()
        close.reset_state()
        mean.update_state(x)
        close.update_state(np.ones_like(x), x)
        return [mean.result(), close.result(), loss(np.ones_like(x), x), huber(np.ones_like(x), x)]

    return ask


@kind("training", LIVE)
def _training(read: Read) -> Ask:
    tf.keras.utils.set_random_seed(1)
    model = tf.keras.Sequential([Reading(read), tf.keras.layers.Dense(1, use_bias=False, dtype="float64")])
    model.compile(tf.keras.optimizers.SGD(0.5), "mse")
    model.build((None, 1))

    def ask() -> Any:
        weights = np.full((1, 1), WORLD.rates["variable"])
        model.layers[-1].set_weights([weights])
        model.optimizer.learning_rate = WORLD.number / 64
        x = _rows()
        found = [model.predict(x, verbose=0), model.evaluate(x, x, verbose=0), model.predict_on_batch(x)]
        model.train_on_batch(x, x, sample_weight=x[:, 0])
        history = model.fit(x, x, 2, shuffle=False, verbose=0)
        return [*found, history.history["loss"], *model.layers[-1].get_weights()]

    return ask


# ---- data ------------------------------------------------------------------------------------------------------------


def _is_read(read: Read) -> Any:
    return lambda i: read(tf.cast(tf.reshape(i, [1]), tf.float64))


@kind("data", LIVE)
def _data(read: Read) -> Ask:
    numbers = tf.data.Dataset.range(3)
    f = _is_read(read)
    made = (
        numbers.map(f).batch(2),
        numbers.filter(lambda i: f(i)[0] < 3),
        numbers.flat_map(lambda i: tf.data.Dataset.from_tensors(f(i)).repeat(2)),
        numbers.interleave(lambda i: tf.data.Dataset.from_tensors(f(i)), cycle_length=2),
        numbers.scan(np.float64(0), lambda s, i: (s + f(i)[0], s)),
        numbers.map(f, num_parallel_calls=2).prefetch(1),
    )
    return lambda: [[x.numpy() for x in each] for each in made]


@kind("data of Python")
def _data_of_python(read: Read) -> Ask:
    def rows() -> Any:
        for i in range(3):
            yield np.asarray(read(np.full(1, float(i))), np.float64).reshape(-1)[:1]

    def called(i: Any) -> Any:
        return np.asarray(read(np.full(1, float(i))), np.float64).reshape(-1)[:1]

    made = (
        tf.data.Dataset.from_generator(rows, output_signature=tf.TensorSpec([1], tf.float64)),
        tf.data.Dataset.range(3).map(lambda i: tf.numpy_function(called, [i], tf.float64)),
    )
    return lambda: [[x.numpy() for x in each] for each in made]
