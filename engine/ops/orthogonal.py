"""Orthogonal polynomials of a degree that carries no derivative, by recurrences in degree (DLMF 18.9)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.core.kinds import real_elementwise
from engine.core.op import Op
from engine.core.operands import Operand
from engine.ops.arithmetic import maximum
from engine.ops.creation import ones_like, zeros_like
from engine.ops.special import named_kernel, no_derivative
from engine.runtime.lazy_scipy import scipy

HIGHEST = 1_000_000
"""The highest degree, which takes milliseconds a number; at 1e18 the recurrence would never end."""


def _polynomial(name: str, slope: Callable[..., Operand], parameters: str = "", doc: str = "") -> Op:
    """``eval_name(n, *parameters, x)``: the degrees are whole numbers, for which SciPy has loops of their own."""

    def kernel(n: Any, *others: Any) -> Any:
        n = np.asarray(n)
        if np.any(n != np.round(n)):
            raise ValueError(f"eval_{name}: argument `n` must hold whole numbers")
        if np.any(np.abs(n) > HIGHEST):
            raise ValueError(f"eval_{name}: argument `n` must be at most {HIGHEST:,}: each degree is a step")
        return getattr(scipy.special, f"eval_{name}")(n.astype(np.int64), *others)

    args = ("n", *parameters.split(), "x")
    return real_elementwise(
        f"eval_{name}",
        named_kernel(f"eval_{name}", kernel),
        (None, *[no_derivative(f"eval_{name}", p) for p in parameters.split()], slope),
        args=args,
        smooth=(0,),
        refuses=True,
        doc=doc,
    )


def _below(n: Any) -> Operand:
    """The degree below; for 0 anything will do, since it is multiplied by 0."""
    return maximum(n - 1, zeros_like(n))


def _positive(n: Any) -> Operand:
    """1 for a degree above 0, else 0."""
    return maximum(0 * n, n - _below(n))


eval_jacobi = _polynomial(
    "jacobi",
    lambda out, n, a, b, x: _positive(n) * (n + a + b + 1) / 2 * eval_jacobi(_below(n), a + 1, b + 1, x),
    "alpha beta",
    doc="Jacobi polynomial of degree n.",
)
eval_legendre = _polynomial(
    "legendre",
    lambda out, n, x: _positive(n) * (n + 1) / 2 * eval_jacobi(_below(n), ones_like(x), ones_like(x), x),
    doc="Legendre polynomial of degree n.",
)
eval_gegenbauer = _polynomial(
    "gegenbauer",
    lambda out, n, alpha, x: _positive(n) * 2 * alpha * eval_gegenbauer(_below(n), alpha + 1, x),
    "alpha",
    doc="Gegenbauer polynomial of degree n.",
)
eval_chebyt = _polynomial(
    "chebyt", lambda out, n, x: n * eval_chebyu(_below(n), x), doc="Chebyshev polynomial of the first kind."
)
eval_chebyu = _polynomial(
    "chebyu",
    lambda out, n, x: _positive(n) * 2 * eval_gegenbauer(_below(n), 2 * ones_like(x), x),
    doc="Chebyshev polynomial of the second kind.",
)
eval_laguerre = _polynomial(
    "laguerre",
    lambda out, n, x: -_positive(n) * eval_genlaguerre(_below(n), ones_like(x), x),
    doc="Laguerre polynomial of degree n.",
)
eval_genlaguerre = _polynomial(
    "genlaguerre",
    lambda out, n, alpha, x: -_positive(n) * eval_genlaguerre(_below(n), alpha + 1, x),
    "alpha",
    doc="Associated Laguerre polynomial of degree n.",
)
eval_hermite = _polynomial(
    "hermite", lambda out, n, x: 2 * n * eval_hermite(_below(n), x), doc="Hermite polynomial of the physicists."
)
eval_hermitenorm = _polynomial(
    "hermitenorm", lambda out, n, x: n * eval_hermitenorm(_below(n), x), doc="Hermite polynomial of the probabilists."
)
