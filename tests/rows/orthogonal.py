"""Rows of `engine.ops.orthogonal`."""

import numpy as np
import scipy.special as sp

from engine.ops import orthogonal as ops
from tests.row import Generator, Row, fixed, positive, real

DEGREES = fixed([0.0, 1.0, 2.0, 5.0], np.float64)


def _row(name: str, *parameters: Generator) -> Row:
    given = (DEGREES, *parameters, real(3, 4))
    oracle = getattr(sp, name)
    return Row(
        getattr(ops, name),
        given,
        oracle=lambda n, *others: oracle(n.astype(int), *others),
        dtypes=("float64",),
        wrt=(len(given) - 1,),
        tol=10,
    )


ROWS = (
    *[_row(f"eval_{name}") for name in ["legendre", "chebyt", "chebyu", "laguerre", "hermite", "hermitenorm"]],
    *[_row(f"eval_{name}", positive(4)) for name in ("gegenbauer", "genlaguerre")],
    _row("eval_jacobi", positive(4), positive(4)),
)
