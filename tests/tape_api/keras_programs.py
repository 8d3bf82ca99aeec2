"""Losses, metrics, activations and layers of Keras, as functions of the module that is imported as ``tf``."""

from typing import Any

import numpy as np


def losses_and_metrics(tf: Any) -> Any:
    """Every loss, as function, class and gradient, and the metrics."""
    rng = np.random.default_rng(7)
    true = rng.uniform(0.1, 0.9, (4, 3)).astype(np.float32)
    pred = rng.uniform(0.1, 0.9, (4, 3)).astype(np.float32)
    hot = np.eye(3, dtype=np.float32)[[0, 2, 1, 1]]
    labels = np.array([0, 2, 1, 1])
    weight = np.array([1.0, 2.0, 0.0, 0.5], np.float32)
    k = tf.keras.losses
    cases = [
        (k.MeanSquaredError(), true),
        (k.MeanAbsoluteError(), true),
        (k.MeanAbsolutePercentageError(), true),
        (k.MeanSquaredLogarithmicError(), true),
        (k.Huber(delta=0.2), true),
        (k.LogCosh(), true),
        (k.Hinge(), hot),
        (k.SquaredHinge(), hot),
        (k.Poisson(), true),
        (k.KLDivergence(), true),
        (k.CosineSimilarity(), true),
        (k.BinaryCrossentropy(), hot),
        (k.BinaryCrossentropy(from_logits=True, label_smoothing=0.1), hot),
        (k.CategoricalCrossentropy(), hot),
        (k.CategoricalCrossentropy(from_logits=True, label_smoothing=0.1), hot),
        (k.SparseCategoricalCrossentropy(), labels),
        (k.SparseCategoricalCrossentropy(from_logits=True), labels),
        (k.SparseCategoricalCrossentropy(from_logits=True, reduction="sum"), labels),
        (k.MeanSquaredError(reduction="none"), true),
    ]
    found = []
    for loss, y in cases:
        p = tf.constant(pred)
        with tf.GradientTape() as tape:
            tape.watch(p)
            value = loss(y, p)
        found.append((value, tape.gradient(value, p), loss(y, p, sample_weight=weight)))
    m = tf.keras.metrics
    metrics = [
        (m.MeanSquaredError(), true),
        (m.RootMeanSquaredError(), true),
        (m.MeanAbsoluteError(), true),
        (m.CategoricalAccuracy(), hot),
        (m.SparseCategoricalAccuracy(), labels[:, None]),
        (m.BinaryAccuracy(), hot),
        (m.CategoricalCrossentropy(), hot),
        (m.SparseCategoricalCrossentropy(), labels),
        (m.BinaryCrossentropy(), hot),
    ]
    for metric, y in metrics:
        metric.update_state(y, pred)
        first = metric.result()
        metric.update_state(y[:2], pred[1:3], sample_weight=weight[:2])
        found.append((first, metric.result()))
    return found


def activations_and_layers(tf: Any) -> Any:
    """Activations and small layers, with gradients."""
    names = (
        "elu exponential gelu hard_sigmoid leaky_relu linear log_softmax mish relu relu6 selu sigmoid silu softmax "
        "softplus softsign swish tanh"
    )
    found = []
    fns = [tf.keras.activations.get(n) for n in names.split()]
    layers = [
        tf.keras.layers.ReLU(max_value=5.0, negative_slope=0.5, threshold=1.0),
        tf.keras.layers.LeakyReLU(negative_slope=0.1),
        tf.keras.layers.Softmax(),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dropout(0.5),
        tf.keras.layers.LayerNormalization(),
        tf.keras.layers.BatchNormalization(),
        tf.keras.layers.Reshape((5, 1)),
        tf.keras.layers.Activation("tanh"),
    ]
    for fn in fns + layers:
        x = tf.constant([[-2.5, -0.5, 0.5, 2.5, 7.0], [1.0, 2.0, -3.0, 4.0, 0.25]])
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = fn(x)
        found.append((y, tape.gradient(y, x)))
    norm = tf.keras.layers.BatchNormalization(momentum=0.9)
    x = tf.constant([[1.0, 5.0], [2.0, -1.0], [4.0, 0.5]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = norm(x, training=True) ** 3
    return found, y, tape.gradient(y, x), norm(x), norm.get_weights()


def _data() -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(20, 3)).astype(np.float32)
    return x, (x.sum(1, keepdims=True) > 0).astype(np.float32), rng.uniform(0.5, 2, 20).astype(np.float32)


def _model(tf: Any, base: Any) -> Any:
    layers, constant = tf.keras.layers, tf.keras.initializers.Constant

    class Net(base):
        def __init__(self) -> None:
            super().__init__()
            self.hidden = layers.Dense(4, activation="tanh", kernel_initializer=constant(0.3))
            self.out = layers.Dense(1, activation="sigmoid", kernel_initializer=constant(-0.2))

        def call(self, inputs: Any) -> Any:
            return self.out(self.hidden(inputs))

    return Net()


def train_steps(tf: Any) -> Any:
    """What `fit` reports: with weights, own train steps and metrics, batch by batch, with several outputs."""
    x, y, weight = _data()
    k = tf.keras
    base: Any = k.Model
    network: Any = type(_model(tf, base))

    class Own(base):
        """Batches as `fit` got them, a metric of its own, and no loss in `compile`."""

        def __init__(self) -> None:
            super().__init__()
            self.net = _model(tf, base)
            self.seen = k.metrics.Mean(name="seen")

        def call(self, inputs: Any) -> Any:
            return self.net(inputs)

        @property
        def metrics(self) -> list[Any]:
            return [self.seen]

        def train_step(self, data: Any) -> Any:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(self(data) - 1.0))
            variables = self.trainable_variables
            self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
            self.seen.update_state(loss)
            return {"seen": self.seen.result(), "last": loss}

    class Older(network):
        """A train step as it was written before Keras 3."""

        def train_step(self, data: Any) -> Any:
            inputs, labels = data
            with tf.GradientTape() as tape:
                predictions = self(inputs, training=True)
                loss = self.compute_loss(y=labels, y_pred=predictions)
            variables = self.trainable_variables
            self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
            for metric in self.metrics:
                metric.update_state(*([loss] if metric.name == "loss" else [labels, predictions]))
            return {m.name: m.result() for m in self.metrics}

    out: list[Any] = []
    plain: dict[str, Any] = {"epochs": 2, "batch_size": 6, "shuffle": False, "verbose": 0}
    own = Own()
    own.compile(optimizer=k.optimizers.SGD(0.5))
    out += [own.fit(x, **plain).history[name] for name in ("seen", "last")]
    for more in (
        {},
        {"sample_weight": weight},
        {"class_weight": {0: 0.5, 1: 3.0}},
        {"validation_data": (x, y, weight)},
    ):
        model = _model(tf, base)
        model.compile(k.optimizers.SGD(0.5), "binary_crossentropy", metrics=["mse"], weighted_metrics=["mae"])
        history = model.fit(x, y, **plain, **more).history
        out += [history["loss"], [history.get(f"val_{name}", 0.0) for name in ("loss",)]]
        out += [model.evaluate(x, y, sample_weight=weight, verbose=0)]
        out += [model.train_on_batch(x[:5], y[:5]), model.test_on_batch(x, y), model.predict_on_batch(x[:2])]
    older = Older()
    older.compile("sgd", "mse")
    out += [older.fit(x, y, **plain).history["loss"]]
    given = k.Input((3,))
    hidden = k.layers.Dense(4, kernel_initializer="ones")(given)
    both = k.Model(given, [k.layers.Dense(1, kernel_initializer="ones")(hidden), hidden])
    both.compile("sgd", ["mse", "mae"], loss_weights=[1.0, 0.25])
    out += [both.fit(x, [y, np.repeat(y, 4, 1)], **plain).history["loss"], *both.predict(x[:3], verbose=0)]
    return [np.asarray(v, np.float32) for v in out]


def outputs_by_name(tf: Any) -> Any:
    """Inputs, outputs, losses and metrics by name or in order; subclasses with inputs; labels as vectors."""
    x, y, weight = _data()
    k, layers = tf.keras, tf.keras.layers
    vector = y[:, 0]
    plain: dict[str, Any] = {"epochs": 2, "batch_size": 6, "shuffle": False, "verbose": 0}

    def model(base: Any, **weights: Any) -> Any:
        first, second = k.Input((3,), name="zebra"), k.Input((3,), name="ant")
        hidden = layers.Dense(4, activation="tanh", kernel_initializer=k.initializers.Constant(0.2))
        both = layers.Subtract()([hidden(first), 0.5 * hidden(second)])
        one = layers.Dense(1, activation="sigmoid", kernel_initializer="ones", name="one")(both)
        two = layers.Dense(2, activation="softmax", kernel_initializer=k.initializers.Constant(0.1), name="two")(both)
        made = base([first, second], [one, two])
        made.compile(k.optimizers.SGD(0.3), **weights)
        return made

    class Own(k.Model):  # type: ignore[name-defined, misc]
        def train_step(self, data: Any) -> Any:
            logs = super().train_step(data)
            logs["own"] = logs["loss"] * 2
            return logs

    class Measured(layers.Layer):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.size = k.metrics.Mean(name="size")

        def call(self, inputs: Any) -> Any:
            self.size.update_state(tf.abs(inputs))
            return inputs

    out: list[Any] = []
    inputs, labels = {"ant": x[::-1], "zebra": x}, {"two": vector, "one": y}
    binary, sparse = "binary_crossentropy", "sparse_categorical_crossentropy"
    for base in (k.Model, Own):
        for options in (
            {"loss": {"two": sparse, "one": binary}, "loss_weights": {"one": 1.0, "two": 0.2}},
            {"loss": [binary, sparse], "metrics": [["accuracy", "mae"], ["accuracy"]]},
            {"loss": [binary, sparse], "metrics": {"two": "accuracy"}, "weighted_metrics": {"two": ["accuracy"]}},
        ):
            made = model(base, **options)
            history = made.fit(inputs, labels, validation_data=([x, x], [y, vector]), **plain).history
            out += [sorted(history), *[history[key] for key in sorted(history)]]
            out += [made.evaluate([x, x], [y, vector], sample_weight=[weight, 2 * weight], verbose=0)]
            out += made.predict([x, x[::-1]], verbose=0)
    for loss, metrics in (("mse", ["acc", "mae", "mape"]), (lambda a, b: tf.abs(a - b), ["accuracy"])):
        given = k.Input((3,))
        one = k.Model(given, layers.Dense(1, kernel_initializer="ones")(Measured()(given)))
        one.compile("sgd", loss, metrics=metrics)
        history = one.fit(x, vector, sample_weight=weight, **plain).history
        out += [sorted(history), *[history[key] for key in sorted(history)]]
        out += [one.fit(x, vector, class_weight={0: 0.5, 1: 3.0}, **plain).history["loss"]]
    layer = layers.Dense(2, kernel_initializer="ones")
    layer.build((None, 3))
    out += [layer(x), len(layer.weights)]
    return [v if isinstance(v, list) and isinstance(v[0], str) else np.asarray(v, np.float32) for v in out]
