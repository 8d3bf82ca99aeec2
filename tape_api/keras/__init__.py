"""Models, layers and what trains them: ``tf.keras``."""

from __future__ import annotations

from dualgrad.keras import datasets, preprocessing
from tape_api.keras import (
    activations,
    backend,
    callbacks,
    config,
    constraints,
    initializers,
    layers,
    losses,
    metrics,
    mixed_precision,
    models,
    ops,
    optimizers,
    random,
    regularizers,
    utils,
)
from tape_api.keras.layers import Input
from tape_api.keras.mixed_precision import DTypePolicy
from tape_api.keras.models import Model, Sequential

__all__ = [
    "DTypePolicy",
    "Input",
    "Model",
    "Sequential",
    "activations",
    "backend",
    "callbacks",
    "config",
    "constraints",
    "datasets",
    "initializers",
    "layers",
    "losses",
    "metrics",
    "mixed_precision",
    "models",
    "ops",
    "optimizers",
    "preprocessing",
    "random",
    "regularizers",
    "utils",
]
