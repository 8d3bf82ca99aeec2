"""Masks, attention, metrics of decisions and more of Keras, as functions of the module imported as ``tf``."""

from typing import Any

import numpy as np


def _set(layer: Any, rng: np.random.Generator, scale: float = 0.3) -> None:
    """Weights of NumPy's, which are the same wherever this runs."""
    layer.set_weights([rng.normal(size=w.shape) * scale for w in layer.get_weights()])


def masks_and_attention(tf: Any) -> Any:
    """What layers do with masks, and hand on; attention with and without them; losses and metrics of masked steps."""
    rng = np.random.default_rng(0)
    layers = tf.keras.layers
    x = np.array([[1, 2, 3, 0], [4, 5, 0, 0]])
    words = layers.Embedding(10, 8, mask_zero=True)
    words(x)
    _set(words, rng, 1.0)
    heads = layers.MultiHeadAttention(num_heads=2, key_dim=8)
    heads(query=words(x), value=words(x), key=words(x))
    out: list[Any] = [len(heads.get_weights())]
    _set(heads, rng)
    out += [heads(query=(h := words(x)), value=h, key=h), heads((h := words(x)), h, use_causal_mask=True)]
    out += heads(query=words(x[:, :3]), value=words(x), return_attention_scores=True)
    out += [heads(words(x), tf.constant(rng.normal(size=(2, 3, 8)), tf.float32))]
    allowed = np.tril(np.ones((1, 4, 4), bool))
    out += [heads(tf.ones([2, 4, 8]), tf.constant(rng.normal(size=(2, 4, 8)), tf.float32), attention_mask=allowed)]
    memory = layers.LSTM(3, return_sequences=True)
    memory(words(x))
    _set(memory, rng)
    ones = tf.ones([2, 3])
    out += [memory(words(x)), memory(words(x), initial_state=[ones, ones]), memory(words(x))._keras_mask]
    model = tf.keras.Sequential([tf.keras.Input((4, 8)), memory])
    model.supports_masking = True
    out += [model(tf.ones([2, 4, 8]), mask=allowed[0, 1:3]), model(words(x))]
    both = layers.Bidirectional(layers.GRU(2), merge_mode="sum")
    both(words(x))
    _set(both, rng)
    h, turned = words(x), words(x[:, ::-1])
    out += [both(h), layers.GlobalAveragePooling1D()(h)]
    for merged in (layers.Add(), layers.Maximum(), layers.Minimum(), layers.Concatenate(), layers.Average()):
        result = merged([h, turned])
        out += [result, result._keras_mask]
    out += [layers.Attention()([h, h]), layers.AdditiveAttention(use_scale=False)([h, turned])]
    out += layers.Attention(use_scale=True, score_mode="concat")([h, h, turned], return_attention_scores=True)
    out += [layers.Attention()([h, h], use_causal_mask=True), layers.Softmax()(h, mask=np.ones((2, 4, 8), bool))]
    rows = np.array([[[1.0, 2.0], [0.0, 0.0]], [[0.0, 3.0], [4.0, 0.0]]], np.float32)
    found = layers.Masking(0.0)(rows)
    out += [found, found._keras_mask, layers.Dropout(0.5)(found)._keras_mask]
    product = layers.EinsumDense("...x,xy->...y", output_shape=3, bias_axes="y", kernel_initializer="ones")
    out += [product(rows), *product.get_weights()]
    last = layers.Dense(2, activation="softmax")
    last(h)
    _set(last, rng, 30.0)
    labels = np.array([[0, 1, 1, 0], [1, 0, 0, 1]])
    for reduction in ("sum_over_batch_size", "sum", "none"):
        out += [tf.keras.losses.SparseCategoricalCrossentropy(reduction=reduction)(labels, last(h))]
    metric = tf.keras.metrics.SparseCategoricalAccuracy()
    out += [metric(labels, last(h)), metric(labels, last(turned), sample_weight=np.array([[1.0], [3.0]], np.float32))]
    return [np.asarray(v, np.float32) for v in out]


def saturated_activations(tf: Any) -> Any:
    """Cross entropies of saturated probabilities: Keras takes what the activation was given."""
    k = tf.keras
    logits = tf.constant([[-50.0, 50.0], [100.0, -100.0], [2.0, 1.0]])
    hot = np.eye(2, dtype=np.float32)[[0, 1, 1]]
    out: list[Any] = []
    for activation, loss, labels in (
        (k.activations.softmax, k.losses.CategoricalCrossentropy(), hot),
        (k.activations.softmax, k.losses.CategoricalCrossentropy(label_smoothing=0.1), hot),
        (k.activations.softmax, k.losses.SparseCategoricalCrossentropy(), np.array([0, 1, 1])),
        (k.activations.sigmoid, k.losses.BinaryCrossentropy(), hot),
        (tf.nn.softmax, k.losses.CategoricalCrossentropy(), hot),
    ):
        with tf.GradientTape() as tape:
            tape.watch(logits)
            value = loss(labels, activation(logits))
        out += [value, tape.gradient(value, logits)]
    model = k.Sequential([k.layers.Dense(2, activation="softmax")])
    model.build((None, 1))
    model.set_weights([np.array([[60.0, -60.0]]), np.zeros(2)])
    model.compile(k.optimizers.SGD(1.0), "categorical_crossentropy", metrics=["categorical_crossentropy"])
    history = model.fit(np.array([[1.0], [-1.0], [0.5]]), hot, epochs=3, shuffle=False, verbose=0).history
    out += [history["loss"], history["categorical_crossentropy"], *model.get_weights()]
    return [np.asarray(v, np.float32) for v in out]


def symbols_of_layers(tf: Any) -> Any:
    """Inputs and outputs of layers, also inside `Sequential`; `training` by place; arrays of one's own."""
    k, layers = tf.keras, tf.keras.layers
    model = k.Sequential([layers.Dense(4, activation="relu", input_shape=(3,)), layers.Dropout(0.5), layers.Dense(2)])
    rng = np.random.default_rng(1)
    _set(model, rng)
    x = rng.normal(size=(5, 3)).astype(np.float32)
    parts = k.Model(model.inputs, [layer.output for layer in model.layers])
    late = k.Sequential([layers.Dense(3), layers.Dense(1)])
    outer = k.Model(given := k.Input((2,)), late(given))
    _set(late, rng)
    named = k.Model(model.inputs, model.layers[0].output)
    predictions = model.predict(x, verbose=0)
    predictions[0] = 1.0
    steps: list[Any] = []

    class Watching(k.Model):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.dense = layers.Dense(1, kernel_initializer="ones")

        def call(self, inputs: Any, training: Any = None) -> Any:
            return self.dense(inputs)

        def train_step(self, data: Any) -> Any:
            x, y = data
            with tf.GradientTape() as tape:
                tape.watch(x)
                loss = tf.reduce_mean((self(x, training=True) - tf.cast(y, tf.float32)) ** 2)
            steps.append((x.dtype.name, y.dtype.name))
            return {"size": tf.reduce_sum(tf.abs(tape.gradient(loss, x)))}

    watching = Watching()
    watching.compile("sgd")
    sizes = watching.fit(x.astype(np.float64), x[:, :1].astype(np.int64), verbose=0, shuffle=False).history["size"]
    out = [*parts(x), outer(np.ones((4, 2))), named(x), predictions, sizes]
    shapes = [model.output_shape, model.input_shape, outer.output_shape]
    return [*[np.asarray(v, np.float32) for v in out], shapes, steps[0]]


def decisions(tf: Any) -> Any:
    """Metrics of decisions for thresholds, of whole batches and weighted parts, and their names."""
    rng = np.random.default_rng(0)
    m = tf.keras.metrics
    labels, scores = rng.integers(0, 2, 50), rng.uniform(size=50).astype(np.float32)
    weights = rng.uniform(size=50).astype(np.float32)
    rows, columns = rng.integers(0, 2, (20, 3)).astype(np.float32), rng.uniform(size=(20, 3)).astype(np.float32)
    out: list[Any] = []
    for metric in (
        m.AUC(), m.AUC(curve="PR"), m.AUC(num_thresholds=7, summation_method="minoring"), m.AUC(thresholds=[0.1, 0.7]),
        m.AUC(curve="PR", summation_method="majoring"), m.AUC(thresholds=[0.25, 0.5, 0.75]), m.Precision(), m.Recall(),
        m.Precision(thresholds=[0.2, 0.8]), m.Recall(thresholds=0.3), m.TruePositives(), m.FalsePositives(),
        m.TrueNegatives(), m.FalseNegatives(thresholds=[0.1, 0.9]),
    ):  # fmt: skip
        metric.update_state(labels, scores)
        out.append(np.array(metric.result()))
        metric.update_state(labels[:20], scores[10:30], sample_weight=weights[:20])
        out.append(np.array(metric.result()))
        metric.reset_state()
        metric.update_state(labels[:9], scores[:9])
        out.append(np.array(metric.result()))
    for metric in (
        m.AUC(multi_label=True), m.AUC(multi_label=True, num_labels=3, label_weights=[1.0, 2.0, 0.5]),
        m.AUC(from_logits=True), m.Precision(top_k=2), m.Recall(top_k=1, class_id=1),
        m.TopKCategoricalAccuracy(k=2), m.CosineSimilarity(), m.KLDivergence(), m.Poisson(), m.LogCoshError(),
        m.Hinge(), m.SquaredHinge(), m.CategoricalHinge(), m.MeanSquaredLogarithmicError(),
    ):  # fmt: skip
        metric.update_state(rows, columns)
        out.append(np.array(metric.result()))
    among = m.SparseTopKCategoricalAccuracy(k=2)
    among.update_state([0, 2], columns[:2])
    out += [np.array(among.result())]
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, activation="sigmoid", kernel_initializer="ones")])
    model.compile("sgd", "binary_crossentropy", metrics=["AUC", m.Recall(name="found"), "mse"])
    history = model.fit(columns, rows[:, :1], epochs=2, shuffle=False, verbose=0).history
    return [*out, [history["found"], history["mse"], history["loss"]], sorted(history)[1:]]


def orders_of_layers(tf: Any) -> Any:
    """Layers of models with branches, inputs among them; weights in their order; states that are kept."""
    k, layers, rng = tf.keras, tf.keras.layers, np.random.default_rng(4)
    first, second = k.Input((3,)), k.Input((2,))
    left = layers.Dense(5, activation="tanh")(layers.Dense(4)(first))
    right = layers.Dense(6)(layers.Dense(7)(layers.Dense(8)(first)))
    shared = layers.Dense(2)
    merged = layers.Concatenate()([left, right, shared(second), shared(shared(second))])
    model = k.Model([second, first], [layers.Dense(1)(merged), left])
    _set(model, rng)
    x, y = rng.normal(size=(2, 3)).astype(np.float32), rng.normal(size=(2, 2)).astype(np.float32)
    kinds = [type(layer).__name__ for layer in model.layers]
    shapes = [list(w.shape) for w in model.get_weights()]
    kept = k.Sequential([k.Input(batch_shape=(2, 3, 2)), layers.LSTM(3, stateful=True), layers.Dense(1)])
    _set(kept, rng)
    rows = rng.normal(size=(2, 3, 2)).astype(np.float32)
    out = [kept(rows), kept(rows)]
    kept.layers[0].reset_state()
    out += [kept(rows), *model([y, x])]
    return [*[np.asarray(v, np.float32) for v in out], kinds, shapes]


def one_replica(tf: Any) -> Any:
    """A program for several devices, on the one that there is."""
    strategy = tf.distribute.MirroredStrategy(["/cpu:0"])
    seen: list[Any] = [strategy.num_replicas_in_sync, tf.distribute.has_strategy()]
    with strategy.scope():
        seen += [tf.distribute.get_strategy() is strategy, tf.distribute.in_cross_replica_context()]
        model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="ones")])
        model.build((None, 2))
        optimizer = tf.keras.optimizers.SGD(0.1)
        loss = tf.keras.losses.MeanSquaredError(reduction="none")
        size = tf.keras.metrics.Mean()
    x = np.arange(12, dtype=np.float32).reshape(6, 2) / 10
    data = tf.data.Dataset.from_tensor_slices((x, x[:, :1] ** 2)).batch(3)

    def step(inputs: Any) -> Any:
        rows, labels = inputs
        seen.append(tf.distribute.in_cross_replica_context())
        with tf.GradientTape() as tape:
            value = tf.nn.compute_average_loss(loss(labels, model(rows)), global_batch_size=3)
        gradients = tape.gradient(value, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        size.update_state(value)
        return value

    out: list[Any] = []
    for batch in strategy.experimental_distribute_dataset(data):
        parts = strategy.run(step, args=(batch,))
        out.append(strategy.reduce(tf.distribute.ReduceOp.SUM, parts, axis=None))
        out += strategy.experimental_local_results(parts)
    out.append(strategy.reduce("MEAN", tf.constant([1.0, 3.0]), axis=0))
    seen += [tf.distribute.get_strategy() is strategy, tf.distribute.in_cross_replica_context()]
    return [*[np.asarray(v) for v in out], np.asarray(size.result()), *model.get_weights(), seen]


def words_and_scales(tf: Any) -> Any:
    """Sequences of one length, pairs of words, layers that bring data into shape."""
    sequence = tf.keras.preprocessing.sequence
    rows = [[2, 3, 1, 4], [2, 1, 2, 3, 1], [4, 1], [1, 3]]
    padded = [
        sequence.pad_sequences(rows),
        sequence.pad_sequences(rows, maxlen=3, padding="post", truncating="post", value=9),
        tf.keras.utils.pad_sequences([[[1.5, 2.0]], [[3.0, 4.0], [5.0, 6.0]]], dtype="float32"),
    ]
    layers, x = tf.keras.layers, np.array([[1.0, 2.0], [3.0, 10.0], [5.0, 0.0]], np.float32)
    fitted, whole = layers.Normalization(), layers.Normalization(axis=None)
    fitted.adapt(x)
    whole.adapt(tf.data.Dataset.from_tensor_slices(x).batch(2))
    given = layers.Normalization(mean=[1.0, 2.0], variance=[4.0, 9.0], invert=True)
    out = [fitted(x), whole(x), given(x), layers.Rescaling(1 / 127.5, offset=-1)(x), layers.Identity()(x)]
    out += [fitted.mean, fitted.variance, whole.mean, given.mean, given.variance]
    pairs = [
        sequence.skipgrams([3, 1, 0, 2, 3], 4, window_size=2, negative_samples=0, shuffle=False),
        sequence.skipgrams([1, 2, 3], 4, 1, 0, seed=3, categorical=True, sampling_table=[1.0] * 4),
        [[w in range(1, 4) for w in pair] for pair in sequence.skipgrams([1, 2, 3], 4, seed=1)[0]],
    ]
    table = sequence.make_sampling_table(9, 1e-3)
    return [*padded, table, *[np.asarray(v) for v in out], pairs, [v.shape for v in fitted.weights]]


def configurations(tf: Any) -> Any:
    """Layers by their configurations, and copies of models."""
    k, layers, rng = tf.keras, tf.keras.layers, np.random.default_rng(5)
    out: list[Any] = []
    conv = layers.Conv2D(3, 5, strides=2, padding="same", activation="relu", name="first").get_config()
    out.append([conv[name] for name in ("name", "filters", "kernel_size", "strides", "padding", "activation")])
    dense = layers.Dense(4, "tanh", kernel_regularizer="l2").get_config()
    out.append([dense[name] for name in ("units", "activation", "use_bias", "trainable")])
    memory = layers.LSTM(3, return_sequences=True, dropout=0.5).get_config()
    out.append([memory[name] for name in ("units", "return_sequences", "dropout", "activation", "go_backwards")])

    class Scale(layers.Layer):  # type: ignore[name-defined, misc]
        def __init__(self, factor: float = 2.0, **kwargs: Any) -> None:
            super().__init__(**kwargs)
            self.factor = factor

        def call(self, inputs: Any) -> Any:
            return inputs * self.factor

        def get_config(self) -> Any:
            return {**super().get_config(), "factor": self.factor}

    again = Scale.from_config(Scale(3.0, name="mine").get_config())
    out.append([again.factor, again.name])
    given, other = k.Input((4, 2)), k.Input((3,))
    hidden = layers.Bidirectional(layers.GRU(3))(layers.TimeDistributed(layers.Dense(5, "relu"))(given))
    shared = layers.Dense(3, activation="tanh", name="shared")
    joined = layers.Concatenate()([hidden, shared(other), shared(shared(other))])
    inner = k.Sequential([layers.Dense(4, activation="relu"), layers.LayerNormalization()])
    model = k.Model([given, other], layers.Dense(2, activation="softmax")(inner(joined)))
    _set(model, rng)
    copy = k.models.clone_model(model)
    x, y = rng.normal(size=(2, 4, 2)).astype(np.float32), rng.normal(size=(2, 3)).astype(np.float32)
    different = not np.allclose(copy([x, y]), model([x, y]))
    copy.set_weights(model.get_weights())
    out.append([different, len(copy.layers), copy.layers[-1] is model.layers[-1], copy.get_layer("shared").name])
    stack = k.Sequential([k.Input((3,)), layers.Dense(4, activation="elu"), layers.Dropout(0.5), layers.Dense(1)])
    _set(stack, rng)
    twins = [k.models.clone_model(stack), k.Sequential.from_config(stack.get_config())]
    for twin in twins:
        twin.set_weights(stack.get_weights())
    out.append([type(layer).__name__ for layer in twins[0].layers])
    values = [copy([x, y]), model([x, y]), stack(y), *[twin(y) for twin in twins]]
    return [*[np.asarray(v, np.float32) for v in values], *out]
