"""Rows of `dualgrad.extras.ops.candidates`."""

import numpy as np

from dualgrad.extras.ops import candidates
from tests.row import Row, fixed

SEED, COUNTER = fixed([3, 4], np.int64), fixed(0, np.int64)
OPTIONS = {"num_sampled": 3, "range_max": 4, "log_uniform": False}

ROWS = (
    Row(candidates.candidates_op, (SEED, COUNTER), {**OPTIONS, "unique": False}, order=0, label="with repetition"),
    Row(
        candidates.candidates_op,
        (SEED, COUNTER),
        {**OPTIONS, "num_sampled": 4, "log_uniform": True, "unique": True},
        order=0,
        label="all",
    ),
)
