"""Convolutions and pools of usual sizes, and their gradients, beside TensorFlow's on the same processor.

``make bench`` runs these; the number in parentheses is the ratio to the fastest.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest

import tape_api
from bench import peers

LIBRARIES = ("tape_api", "tensorflow")


class Size(NamedTuple):
    """A convolution: images, and a square filter."""

    images: int
    width: int
    channels: int
    filter: int
    outputs: int

    def __str__(self) -> str:
        return (
            f"{self.images}x{self.width}x{self.width}x{self.channels} with "
            f"{self.filter}x{self.filter}x{self.channels}x{self.outputs}"
        )


SIZES = (
    Size(32, 28, 1, 5, 32),
    Size(32, 14, 32, 5, 64),
    Size(16, 32, 3, 3, 16),
    Size(16, 32, 16, 3, 32),
    Size(32, 14, 64, 1, 64),
)
POOLED = ((32, 28, 28, 32), (32, 14, 14, 64), (16, 32, 32, 32))


def _library(name: str) -> ModuleType:
    return tape_api if name == "tape_api" else peers.tensorflow()


def _random(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


def _forward(function: Callable[..., Any], *inputs: Any) -> Callable[[], Any]:
    return lambda: [function(*inputs)]


def _backward(tf: Any, function: Callable[..., Any], *inputs: Any) -> Callable[[], Any]:
    """The gradients alone: the function is recorded once."""
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(inputs)
        y = function(*inputs)
    seed = tf.constant(_random(*y.shape))
    return lambda: tape.gradient(y, list(inputs), output_gradients=seed)


def _convolution(tf: Any, size: Size) -> tuple[Callable[..., Any], Any, Any]:
    x = tf.constant(_random(size.images, size.width, size.width, size.channels))
    w = tf.constant(_random(size.filter, size.filter, size.channels, size.outputs))
    return lambda x, w: tf.nn.conv2d(x, w, 1, "SAME"), x, w


def _pool(tf: Any, kind: str, shape: tuple[int, ...], width: int) -> tuple[Callable[..., Any], Any]:
    function = getattr(tf.nn, f"{kind}_pool2d")
    return lambda x: function(x, width, 2, "SAME"), tf.constant(_random(*shape))


def _grouped(what: str) -> pytest.MarkDecorator:
    """One group of measurements per size, one measurement per library."""
    return pytest.mark.parametrize(
        ("size", "library"),
        [
            pytest.param(size, library, id=f"{size}-{library}", marks=pytest.mark.benchmark(group=f"{what}, {size}"))
            for size in SIZES
            for library in LIBRARIES
        ],
    )


def _grouped_pools(what: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        ("kind", "width", "shape", "library"),
        [
            pytest.param(
                kind,
                width,
                shape,
                library,
                id=f"{kind}-{width}-{'x'.join(map(str, shape))}-{library}",
                marks=pytest.mark.benchmark(group=f"{what} {kind} {width}x{width}, {shape}"),
            )
            for kind in ("max", "avg")
            for width in (2, 3)
            for shape in POOLED
            for library in LIBRARIES
        ],
    )


def _agree(got: Any, expected: Any) -> None:
    for g, e in zip([g.numpy() for g in got], [e.numpy() for e in expected], strict=True):
        np.testing.assert_allclose(g, e, rtol=1e-4, atol=1e-4 * np.abs(e).max())


@_grouped("conv2d")
def test_convolution(benchmark: Any, size: Size, library: str) -> None:
    """A convolution alone."""
    result = benchmark(_forward(*_convolution(_library(library), size)))
    _agree(result, _forward(*_convolution(tape_api, size))())


@_grouped("gradients of conv2d")
def test_gradients_of_a_convolution(benchmark: Any, size: Size, library: str) -> None:
    """Both gradients of a convolution."""
    tf = _library(library)
    result = benchmark(_backward(tf, *_convolution(tf, size)))
    _agree(result, _backward(tape_api, *_convolution(tape_api, size))())


@_grouped_pools("pool")
def test_pool(benchmark: Any, kind: str, width: int, shape: tuple[int, ...], library: str) -> None:
    """A pool alone."""
    result = benchmark(_forward(*_pool(_library(library), kind, shape, width)))
    _agree(result, _forward(*_pool(tape_api, kind, shape, width))())


@_grouped_pools("gradient of pool")
def test_gradient_of_a_pool(benchmark: Any, kind: str, width: int, shape: tuple[int, ...], library: str) -> None:
    """The gradient of a pool."""
    tf = _library(library)
    result = benchmark(_backward(tf, *_pool(tf, kind, shape, width)))
    _agree(result, _backward(tape_api, *_pool(tape_api, kind, shape, width))())
