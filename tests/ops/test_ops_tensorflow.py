"""Every row of the op table that names a TensorFlow function: values and gradients against real TensorFlow."""

import warnings
from typing import Any

import numpy as np
import pytest

from engine.core.nest import flatten
from engine.core.value import aval_of
from tests.op_table import CASES, cases
from tests.row import Row
from tests.support import array, differentiable, gradient, random_like

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    tf = pytest.importorskip("tensorflow")

pytestmark = pytest.mark.peer

COMPARED = [(row, dtype) for row, dtype in CASES if row.tf]
TOLERANCE = {"float16": 1e-2, "float32": 2e-5, "complex64": 2e-5, "float64": 1e-9, "complex128": 1e-9}


def assert_agrees(got: Any, expected: Any, row: Row, what: str) -> None:
    expected = np.asarray(tf.convert_to_tensor(expected))
    got = array(got)
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape), what
    tolerance = TOLERANCE.get(got.dtype.name, 0.0) * row.tol
    scale = np.abs(expected[np.isfinite(expected)]).max(initial=1.0) if tolerance else 1.0
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance * scale, err_msg=what)


@cases(COMPARED)
def test_agrees_with_tensorflow(row: Row, dtype: str) -> None:
    inputs = row.arrays(dtype)
    wrt = row.differentiable(inputs)
    out = flatten(row.apply(*inputs))
    tensors = [tf.constant(a) for a in inputs]
    sources = [tensors[i] for i in wrt]
    with tf.GradientTape() as tape:
        tape.watch(sources)
        theirs = tf.nest.flatten(row.in_tensorflow(tf, *tensors))
    assert len(theirs) == len(out)
    for k, (o, t) in enumerate(zip(out, theirs, strict=True)):
        assert_agrees(o, t, row, f"output {k}")
    if not wrt or dtype in row.tf_value_only:
        return
    rng = np.random.default_rng(0)
    cts = [random_like(rng, o) for o in differentiable(out)]
    targets = [t for o, t in zip(out, theirs, strict=True) if aval_of(o).dtype.is_differentiable]
    expected = tape.gradient(targets, sources, output_gradients=[tf.constant(c) for c in cts])
    for i, ours, t in zip(wrt, gradient(row.apply, inputs, wrt, cts), expected, strict=True):
        assert (ours is None) == (t is None), f"the gradient of input {i} is {ours}, TensorFlow's is {t}"
        if t is not None:
            assert_agrees(ours, t, row, f"gradient of input {i}")
