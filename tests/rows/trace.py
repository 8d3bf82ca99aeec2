"""Rows of `engine.core.trace`."""

import numpy as np

from engine.core import trace
from tests.row import Row

VALUE = np.array([[1.5, -2.0]])

ROWS = (Row(trace.constant, (), {"value": VALUE}, dtypes=("float64",), oracle=lambda: VALUE),)
