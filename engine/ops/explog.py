"""Exponentials, logarithms, roots, powers."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.dtypes import NUMERIC
from engine.kinds import elementwise
from engine.ops.arithmetic import reciprocal
from engine.ops.compare import equal, greater, not_equal, where
from engine.ops.creation import ones_like, zeros_like
from engine.value import dtype_of

exp = elementwise("exp", np.exp, (lambda out, x: out,), doc="e to the power x.")
expm1 = elementwise("expm1", np.expm1, (lambda out, x: out + 1,), doc="``exp(x) - 1``, accurate near 0.")
log = elementwise("log", np.log, (lambda out, x: reciprocal(x),), doc="Natural logarithm; the derivative at 0 is inf.")
log1p = elementwise("log1p", np.log1p, (lambda out, x: reciprocal(x + 1),), doc="``log(1 + x)``, accurate near 0.")
sqrt = elementwise("sqrt", np.sqrt, (lambda out, x: 0.5 / out,), doc="Square root; the derivative at 0 is inf.")
rsqrt = elementwise(
    "rsqrt", lambda x: np.reciprocal(np.sqrt(x)), (lambda out, x: -0.5 * out / x,), doc="``1 / sqrt(x)``."
)


def _power_kernel(x: Any, y: Any) -> Any:
    if np.ndim(y) == 0 and x.dtype.kind in "fc":
        if y == 2:
            return np.square(x)
        if y == 1:
            return np.positive(x)
        if y == -1:
            return np.reciprocal(x)
        if y == 0.5:
            return np.sqrt(x)
    return np.power(x, y)


def _power_dx(out: Any, x: Any, y: Any) -> Any:
    # exponent 0 means a constant, also at x = 0, where 0 * 0 ** -1 would be NaN
    return y * pow(x, where(equal(y, zeros_like(y)), ones_like(y), y - 1))


def _power_dy(out: Any, x: Any, y: Any) -> Any:
    zero = zeros_like(x)
    defined = not_equal(x, zero) if dtype_of(x).is_complex else greater(x, zero)
    return out * where(defined, log(where(defined, x, ones_like(x))), zero)


pow = elementwise(
    "pow",
    _power_kernel,
    (_power_dx, _power_dy),
    accepts=NUMERIC,
    doc="""``x ** y``. Derivatives: for ``y == 0`` zero in x; for ``x <= 0`` zero in y (as in TensorFlow).""",
)
