"""Layers: ``tf.keras.layers``."""

from __future__ import annotations

from tape_api.keras.layers.base import Layer
from tape_api.keras.layers.core import (
    Activation,
    Add,
    Concatenate,
    Dense,
    Dropout,
    Embedding,
    Flatten,
    Input,
    InputLayer,
    Lambda,
    LeakyReLU,
    ReLU,
    Reshape,
    Softmax,
)
from tape_api.keras.layers.normalization import BatchNormalization, LayerNormalization

__all__ = [
    "Activation",
    "Add",
    "BatchNormalization",
    "Concatenate",
    "Dense",
    "Dropout",
    "Embedding",
    "Flatten",
    "Input",
    "InputLayer",
    "Lambda",
    "Layer",
    "LayerNormalization",
    "LeakyReLU",
    "ReLU",
    "Reshape",
    "Softmax",
]
