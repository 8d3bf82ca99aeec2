"""Rows of `engine.core.variable`."""

from engine.core import variable
from tests.row import Row, real

ROWS = (
    Row(
        variable.read_variable, (real(3, 4),), dtypes=("float32", "float64", "complex128"), oracle=lambda handle: handle
    ),
)
