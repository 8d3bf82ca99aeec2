"""Losses, metrics, activations and layers of Keras, as functions of the module that is imported as ``tf``."""

from __future__ import annotations

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
