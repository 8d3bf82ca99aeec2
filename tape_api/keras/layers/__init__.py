"""Layers: ``tf.keras.layers``."""

from __future__ import annotations

from tape_api.keras.layers.base import Layer
from tape_api.keras.layers.convolution import Conv1D, Conv2D, Conv2DTranspose, Conv3D, SeparableConv2D
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
from tape_api.keras.layers.pooling import (
    AveragePooling1D,
    AveragePooling2D,
    AvgPool1D,
    AvgPool2D,
    GlobalAveragePooling1D,
    GlobalAveragePooling2D,
    GlobalMaxPooling1D,
    GlobalMaxPooling2D,
    MaxPool1D,
    MaxPool2D,
    MaxPooling1D,
    MaxPooling2D,
)

__all__ = [
    "Activation",
    "Add",
    "AveragePooling1D",
    "AveragePooling2D",
    "AvgPool1D",
    "AvgPool2D",
    "BatchNormalization",
    "Concatenate",
    "Conv1D",
    "Conv2D",
    "Conv2DTranspose",
    "Conv3D",
    "Dense",
    "Dropout",
    "Embedding",
    "Flatten",
    "GlobalAveragePooling1D",
    "GlobalAveragePooling2D",
    "GlobalMaxPooling1D",
    "GlobalMaxPooling2D",
    "Input",
    "InputLayer",
    "Lambda",
    "Layer",
    "LayerNormalization",
    "LeakyReLU",
    "MaxPool1D",
    "MaxPool2D",
    "MaxPooling1D",
    "MaxPooling2D",
    "ReLU",
    "Reshape",
    "SeparableConv2D",
    "Softmax",
]
