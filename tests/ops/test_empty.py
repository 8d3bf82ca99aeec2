"""Arrays without elements: every op that acts on entries takes them, and its derivatives do."""

import functools
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from engine.core.batching import elementwise_rule
from engine.core.eager import EagerTensor
from engine.ops import fft
from engine.ops.random import scrambled_seed
from engine.transforms.vjp import jvp
from tests.op_table import NARROW, cases
from tests.row import Row
from tests.support import array, differentiable, gradient

EMPTY = (0, 3)
ELEMENTWISE = [
    (row, dtype)
    for row, dtype in NARROW
    if row.op.batch is elementwise_rule
    and row.call is None
    and row.inputs
    and not row.op.multi
    and row.op is not scrambled_seed  # its last axis has two entries
]


def emptied(a: np.ndarray) -> np.ndarray:
    """An array without elements in its place; a scalar stays, to be broadcast."""
    return a if a.ndim == 0 else np.zeros(EMPTY, a.dtype)


@cases(ELEMENTWISE)
def test_no_elements(row: Row, dtype: str) -> None:
    full = row.arrays(dtype)
    if all(a.ndim == 0 for a in full):
        return
    inputs = [emptied(a) for a in full]
    out: Any = row.apply(*[EagerTensor(a) for a in inputs])
    assert array(out).size == 0
    assert array(out).dtype == array(row.apply(*full)).dtype
    wrt = row.differentiable(inputs)
    if not wrt or not differentiable(out):
        return
    ct = np.zeros_like(array(out))
    for i, got in zip(wrt, gradient(row.apply, inputs, wrt, [ct]), strict=True):
        if got is not None:
            assert (array(got).shape, array(got).dtype) == (inputs[i].shape, inputs[i].dtype)
            assert not array(got).any()
    tangents = [a if i in wrt else None for i, a in enumerate(inputs)]
    assert array(jvp(row.apply, inputs, tangents)[1]).shape == array(out).shape


def test_no_seeds_and_no_matrices() -> None:
    assert tape_api.linalg.sqrtm(np.zeros((2, 0, 0))).shape == (2, 0, 0)
    out = array(scrambled_seed(EagerTensor(np.zeros((0, 2), np.int64))))
    assert out.shape == (0, 2) and out.dtype == np.int64


def test_the_inverse_transform_of_an_empty_spectrum_is_zeros() -> None:
    # NumPy hands out whatever the memory held before
    for shape, lengths in (((2, 0), (7,)), ((2, 0), (2, 4))):
        held = [np.full((2, 7), 5.0, np.float32) for _ in range(8)]
        del held
        out = array(fft.irfft_op(EagerTensor(np.zeros(shape, np.complex64)), rank=len(lengths), lengths=lengths))
        assert out.shape == (shape[: 2 - len(lengths)] + lengths) and not out.any()


@pytest.mark.parametrize("name", ["irfft", "irfft2d", "irfft3d"])
def test_one_frequency_alone_is_no_series(name: str) -> None:
    spectrum = np.ones((1, 1, 1), np.complex64)
    for tf in (tape_api, graph_api):
        with graph_api.Graph().as_default(), pytest.raises(ValueError, match="give `fft_length`"):
            getattr(tf.signal, name)(tf.constant(spectrum))
    assert tape_api.signal.irfft(tape_api.constant(spectrum), [1]).shape == (1, 1, 1)


def test_filters_that_make_no_channels_have_no_slope() -> None:
    images, filters = np.ones((2, 4, 5, 3)), np.ones((3, 3, 3, 0))
    conv = functools.partial(tape_api.nn.depthwise_conv2d, strides=[1, 1, 1, 1], padding="SAME")
    to_images, to_filters = map(array, gradient(conv, [images, filters], [0, 1], [images[..., :0]]))
    assert (to_images.shape, to_filters.shape, to_images.any()) == (images.shape, filters.shape, False)
