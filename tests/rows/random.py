"""Rows of `engine.ops.random`. The distributions themselves are tested in `tests.ops.test_random`."""

from typing import Any

import numpy as np

from engine.core import dtypes
from engine.core.value import dtype_of
from engine.ops import dropout, random
from tests.row import Row, fixed, positive, real

SEED, COUNTER = fixed([3, 4], np.int64), fixed(5, np.int64)
HALF = ("float16", "float32", "float64")


def _draws(op: Any, dtype: dtypes.DType, *parameters: Any, label: str = "") -> Row:
    """A row for an op without derivative."""
    inputs = (fixed([2, 3], np.int32), SEED, COUNTER, *parameters)
    return Row(op, inputs, {"dtype": dtype}, dtypes=("float64",), order=0, label=label or dtype.name)


def _like(function: Any, x: Any, **options: Any) -> Any:
    """`function` with x's dtype, at a fixed draw."""
    return function(dtype=dtype_of(x), draw=random.at(np.array([3, 4]), 5), **options)


ROWS = (
    _draws(random.random_uniform_op, dtypes.float64),
    _draws(random.random_uniform_op, dtypes.float16),
    _draws(random.random_normal_op, dtypes.float32),
    _draws(random.truncated_normal_op, dtypes.float32),
    _draws(random.random_integers_op, dtypes.int32, fixed(-2, np.int32), fixed(7, np.int32)),
    _draws(random.random_full_integers_op, dtypes.uint64),
    _draws(random.random_poisson_op, dtypes.int64, positive(4)),
    Row(random.scrambled_seed, (SEED,), dtypes=("float64",), order=0),
    Row(
        random.random_uniform_op,
        (real(3), real(3, low=3, high=4)),
        label="limits",
        call=lambda low, high: _like(random.uniform, low, shape=[2, 3], minval=low, maxval=high),
    ),
    Row(
        random.random_normal_op,
        (real(), positive(3)),
        label="mean and stddev",
        call=lambda mean, stddev: _like(random.normal, mean, shape=[2, 3], mean=mean, stddev=stddev),
    ),
    Row(
        random.random_gamma_op,
        (positive(4), positive(3, 1)),
        label="shape and rate",
        call=lambda a, b: _like(random.gamma, a, shape=[5], alpha=a, beta=b),
        order=1,
        by_differences=False,
    ),
    Row(random.gamma_slope, (positive(3, 4), positive(4)), order=0),
    Row(
        random.categorical_op,
        (fixed([6], np.int32), SEED, COUNTER, real(3, 4)),
        {"dtype": dtypes.int64},
        dtypes=HALF,
        order=0,
    ),
    Row(random.shuffle_op, (real(5, 2), SEED, COUNTER), wrt=(0,)),
    Row(
        random.random_uniform_op,
        (real(4, 3),),
        label="dropout",
        call=lambda x: dropout.dropout(x, 0.4, draw=random.at(np.array([1, 2]))),
    ),
    Row(
        random.random_uniform_op,
        (real(4, 3),),
        label="dropout of rows",
        call=lambda x: dropout.stateless_dropout(x, 0.5, [1, 2], noise_shape=[4, 1]),
    ),
)
