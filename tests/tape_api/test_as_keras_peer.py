"""Every optimizer, loss, metric and many layers of the installed Keras beside ours, for 20 steps."""

import inspect
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tape_api

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    tensorflow = pytest.importorskip("tensorflow")
    keras = pytest.importorskip("keras")

pytestmark = [pytest.mark.peer, pytest.mark.filterwarnings("ignore")]

STEPS = 20
COMMON: dict[str, dict[str, Any]] = {
    "": {},
    "weight_decay": {"weight_decay": 0.1},
    "clipnorm": {"clipnorm": 0.5},
    "global_clipnorm": {"global_clipnorm": 0.5},
    "clipvalue": {"clipvalue": 0.3},
    "use_ema": {"use_ema": True, "ema_momentum": 0.7},
    "ema_overwrite": {"use_ema": True, "ema_overwrite_frequency": 3},
    "accumulation": {"gradient_accumulation_steps": 3},
    "loss_scale_factor": {"loss_scale_factor": 8.0},
    "schedule": {"learning_rate": "schedule"},
    "schedule, accumulation": {"learning_rate": "schedule", "gradient_accumulation_steps": 3},
}
OWN: dict[str, list[dict[str, Any]]] = {
    "SGD": [{"momentum": 0.9}, {"momentum": 0.9, "nesterov": True}],
    "Adam": [{"amsgrad": True}, {"beta_1": 0.5, "beta_2": 0.7, "epsilon": 1e-3}],
    "AdamW": [{"amsgrad": True}],
    "RMSprop": [{"momentum": 0.5}, {"centered": True}, {"rho": 0.8, "momentum": 0.5, "centered": True}],
    "Adagrad": [{"initial_accumulator_value": 1.0}],
    "Ftrl": [{"l1_regularization_strength": 0.01, "l2_regularization_strength": 0.02}, {"beta": 0.1},
             {"l2_shrinkage_regularization_strength": 0.1}, {"learning_rate_power": -0.7}],
    "Nadam": [{"beta_1": 0.5}],
}  # fmt: skip


def classes(module: Any, base: Any) -> list[str]:
    """The public classes of Keras's that we have, too."""
    ours = getattr(tape_api.keras, module.__name__.rpartition(".")[2])
    held = {n: k for n, k in vars(module).items() if inspect.isclass(k) and issubclass(k, base) and k is not base}
    return sorted(n for n in held if n in dir(ours))


OPTIMIZERS = [n for n in classes(keras.optimizers, keras.optimizers.Optimizer) if n != "LossScaleOptimizer"]
LOSSES = classes(keras.losses, keras.losses.Loss)
METRICS = classes(keras.metrics, keras.metrics.Metric)


def cases() -> Iterator[tuple[str, dict[str, Any]]]:
    for name in OPTIMIZERS:
        for options in (*COMMON.values(), *OWN.get(name, ())):
            yield name, options


def trained(tf: Any, kinds: Any, name: str, options: dict[str, Any]) -> list[np.ndarray]:
    """Variables after 20 steps: a matrix, one with rows for gradients, and one with a gradient now and then."""
    given = {"learning_rate": 0.05, **options}
    if given["learning_rate"] == "schedule":
        given["learning_rate"] = kinds.schedules.ExponentialDecay(0.1, 4, 0.7)
    optimizer, rng = getattr(kinds, name)(**given), np.random.default_rng(0)
    variables = [tf.Variable(rng.normal(size=shape).astype(np.float32)) for shape in ((3, 2), (4, 2), (2,))]
    kept = []
    for i in range(STEPS):
        dense, rows, seldom = (rng.normal(size=shape).astype(np.float32) for shape in ((3, 2), (3, 2), (2,)))
        slices = tf.IndexedSlices(tf.constant(rows), tf.constant([2, 0, 2]), tf.constant([4, 2]))
        # Keras refuses to scale rows, and forgets what has accumulated of a variable without gradient in the last call
        if "loss_scale_factor" in options:
            slices = tf.convert_to_tensor(slices)
        is_there = i % 4 == 0 or "gradient_accumulation_steps" in options
        gradients = [tf.constant(dense), slices, tf.constant(seldom) if is_there else None]
        optimizer.apply_gradients(zip(gradients, variables, strict=True))
        kept += [v.numpy() for v in variables]
    optimizer.finalize_variable_values(variables)
    return [*kept, *[v.numpy() for v in variables], np.asarray(int(optimizer.iterations))]


@pytest.mark.parametrize(("name", "options"), list(cases()), ids=str)
def test_optimizers(name: str, options: dict[str, Any]) -> None:
    if {"use_ema", "gradient_accumulation_steps"} <= set(options):
        pytest.skip("averages move once a step here")
    ours = trained(tape_api, tape_api.keras.optimizers, name, options)
    theirs = trained(tensorflow, keras.optimizers, name, options)
    for got, wanted in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=2e-4, atol=2e-5)


def labels_for(name: str, rng: Any) -> tuple[np.ndarray, np.ndarray]:
    """Labels and predictions that a loss or metric of that name takes."""
    predictions = rng.uniform(0.05, 0.95, size=(6, 4)).astype(np.float32)
    if "Sparse" in name:
        return rng.integers(0, 4, size=6), predictions / predictions.sum(-1, keepdims=True)
    if "Categorical" in name or "Crossentropy" in name:
        predictions /= predictions.sum(-1, keepdims=True)
        return np.eye(4, dtype=np.float32)[rng.integers(0, 4, size=6)], predictions
    return rng.integers(0, 2, size=(6, 4)).astype(np.float32), predictions


LOGITS = [n for n in LOSSES if "Crossentropy" in n]


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("reduction", ["sum_over_batch_size", "sum", "none", "mean_with_sample_weight"])
def test_losses(name: str, reduction: str) -> None:
    if name == "CTC":
        pytest.skip("its labels are sequences")
    for options in ({}, *([{"from_logits": True}] if name in LOGITS else [])):
        rng = np.random.default_rng(1)
        loss = [getattr(k, name)(reduction=reduction, **options) for k in (tape_api.keras.losses, keras.losses)]
        for _ in range(STEPS):
            true, pred = labels_for(name, rng)
            for weight in (None, rng.uniform(size=6).astype(np.float32)):
                results = []
                for tf, function in zip((tape_api, tensorflow), loss, strict=True):
                    x = tf.constant(pred)
                    with tf.GradientTape() as tape:
                        tape.watch(x)
                        value = function(true, x, sample_weight=weight)
                    results.append((np.asarray(value), np.asarray(tape.gradient(value, x))))
                for got, wanted in zip(*results, strict=True):
                    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", METRICS)
def test_metrics(name: str) -> None:
    if name in ("MeanMetricWrapper", "Metric"):
        pytest.skip("it has no value of its own")
    metrics = [getattr(k, name)() for k in (tape_api.keras.metrics, keras.metrics)]
    rng = np.random.default_rng(2)
    for i in range(STEPS):
        true, pred = labels_for(name, rng)
        weight = None if i % 2 or name == "AUC" else rng.uniform(size=6).astype(np.float32)
        given = (pred,) if name in ("Mean", "Sum") else (true, pred)
        for metric in metrics:
            metric.update_state(*given, sample_weight=weight)
        np.testing.assert_allclose(*[np.asarray(metric.result()) for metric in metrics], rtol=1e-4, atol=1e-6)
    for metric in metrics:
        metric.reset_state()
    np.testing.assert_allclose(*[np.asarray(metric.result()) for metric in metrics], rtol=1e-4, atol=1e-6)
