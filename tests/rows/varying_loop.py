"""Rows of `engine.control.varying_loop`."""

import numpy as np

from engine.closed.function import build
from engine.control import varying_loop
from engine.core.aval import Aval
from engine.core.dtypes import float64
from engine.ops.joining import concat
from engine.ops.reduce import reduce_sum
from tests.row import Row, fixed

GROWING = (Aval((None,), float64), Aval((), float64))
COND = build(GROWING, lambda body, values: [reduce_sum(values[0]) < 9.0])
DOUBLED = build(GROWING, lambda body, values: [concat([values[0], values[0] * values[1]], 0)])
PARAMS = {"cond": COND, "body": DOUBLED, "count": 1, "live": (0,), "fixed": (1,)}

ROWS = (
    # x, then (x, 2 x), then (x, 2 x, 2 x, 4 x): the sum is 9 x for a factor of 2, and its derivative in that 2 * 3 x
    Row(
        varying_loop.pull_varying_op,
        (fixed([1.0]), fixed(2.0), fixed([1.0, 1.0, 1.0, 1.0])),
        PARAMS | {"started": (False,)},
        dtypes=("float64",),
        oracle=lambda *_: (np.array([9.0]), 6.0),
        order=0,
    ),
    Row(
        varying_loop.pull_varying_op,
        (fixed([1.0]), fixed(2.0), fixed([1.0, 1.0, 1.0, 1.0]), fixed(0.5)),
        PARAMS | {"started": (True,)},
        dtypes=("float64",),
        oracle=lambda *_: (np.array([9.0]), 6.5),
        order=0,
        label="started",
    ),
)
