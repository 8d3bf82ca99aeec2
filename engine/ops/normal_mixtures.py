"""Distributions made of two normal ones: with an exponential variable added (exponnorm), and the inverse Gaussian.

Their tails are differences of nearly equal numbers where the second term is long: there they are integrals of one sign.
Slopes are those of the closed forms, in which what is equal has been canceled by hand.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from engine.core.kinds import real_elementwise
from engine.core.op import Op
from engine.core.operands import Operand
from engine.ops.arithmetic import square
from engine.ops.compare import where
from engine.ops.explog import exp, log, sqrt
from engine.ops.likelihood import log_of_tail, odds
from engine.ops.nn import sigmoid
from engine.ops.scipy_special import erfcx, inverse_mills, log_ndtr
from engine.ops.special import typed_kernel
from engine.ops.tail_kernels import replaced
from engine.runtime.lazy_scipy import scipy

_LOST = 0.9
"""A share of the first term from which on the second one is not taken from it."""
_ROOT_HALF = math.sqrt(0.5)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(10)


def _gap(z: Any) -> Any:
    """The inverse Mills ratio plus z, positive; of the derivatives of the ratio, without a difference."""
    low = np.minimum(z, 0.0)
    ratio = -inverse_mills.kernel(low, times=1) / inverse_mills.kernel(low, times=0)
    return np.where(z < 0, ratio, z + inverse_mills.kernel(np.maximum(z, 0.0), times=0))


def _integrated(start: Any, length: Any) -> Any:
    """The integral of `_gap` of ``-t`` for t from `start`, by which the logarithm of a Mills ratio falls off."""
    at = start[..., None] + 0.5 * length[..., None] * (1 + _NODES)
    return 0.5 * length * np.sum(_gap(-at) * _WEIGHTS, -1)


def _less(first: Any, second: Any, start: Any, length: Any) -> Any:
    """The logarithm of ``exp(first) - exp(second)``, of the Mills ratios at `start` and so much later."""
    ratio = np.exp(second - first)
    lost = (ratio > _LOST) & np.isfinite(start) & np.isfinite(length)
    rest = replaced(-np.expm1(second - first), lost, lambda *at: -np.expm1(-_integrated(*at)), start, length)
    with np.errstate(divide="ignore", invalid="ignore"):
        return first + np.log(rest)


# ---- normal and exponential ------------------------------------------------------------------------------------------


def _exponnorm(x: Any, k: Any) -> Any:
    """The second term of the distribution function, in which large terms do not cancel."""
    x, k = np.broadcast_arrays(x, k)
    z = x - 1 / k
    with np.errstate(divide="ignore", invalid="ignore"):
        out = np.asarray(0.5 / np.square(k) - x / k + scipy.special.log_ndtr(z))
        low = z < -1
        if low.any():
            out[low] = np.log(0.5 * scipy.special.erfcx(-math.sqrt(0.5) * z[low])) - 0.5 * np.square(x[low])
    return out


def _gap_and_next(z: Any) -> tuple[Any, Any]:
    """``h + z`` for the inverse Mills ratio h, and ``-z * (h + z) - 1``, for negative z."""
    ratio, first, second = (inverse_mills(z, times=n) for n in range(3))
    gap = -first / ratio
    return gap, second / ratio - 2 * square(gap)


def _exponnorm_dx(out: Any, x: Any, k: Any) -> Operand:
    z = x - 1 / k
    low = where(z < 0, z, -1 + 0 * z)
    return where(z < 0, _gap_and_next(low)[0] - x, inverse_mills(z, times=0) - 1 / k)


def _gap_of(x: Any, k: Any) -> Operand:
    z = x - 1 / k
    return where(z < 0, _gap_and_next(where(z < 0, z, -1 + 0 * z))[0], z + inverse_mills(z, times=0))


def _exponnorm_dk(out: Any, x: Any, k: Any) -> Operand:
    z = x - 1 / k
    gap, more = _gap_and_next(where(z < 0, z, -1 + 0 * z))
    return where(z < 0, x * gap + more, (z + inverse_mills(z, times=0)) / k - 1) / k


log_exponnorm = real_elementwise(
    "log_exponnorm",
    typed_kernel(lambda x, k: _exponnorm(x, k) - np.log(k)),
    (_exponnorm_dx, _exponnorm_dk),
    args=("x", "k"),
    doc="Log density of a normal variable plus `k` times an exponential one.",
)


def _log_lower(x: Any, k: Any) -> Any:
    first = scipy.special.log_ndtr(x)
    return _less(first, _exponnorm(x, k), -x, 1 / k)


def _lower(x: Any, k: Any) -> Any:
    first, second = scipy.special.ndtr(x), np.exp(_exponnorm(x, k))
    lost = (second > _LOST * first) & np.isfinite(x)
    return replaced(first - second, lost, lambda x, k: np.exp(_log_lower(x, k)), x, k)


def _upper(x: Any, k: Any) -> Any:
    return scipy.special.ndtr(-x) + np.exp(_exponnorm(x, k))


def _log_upper(x: Any, k: Any) -> Any:
    return np.logaddexp(scipy.special.log_ndtr(-x), _exponnorm(x, k))


def _log_share(x: Any, k: Any) -> Any:
    x, k = np.broadcast_arrays(np.asarray(x, np.float64), np.asarray(k, np.float64))
    out = np.asarray(_exponnorm(x, k) - scipy.special.log_ndtr(x))
    low = np.asarray((x < 0) & np.isfinite(x))
    if low.any():
        first, second = (scipy.special.erfcx(_ROOT_HALF * t) for t in (-x[low], 1 / k[low] - x[low]))
        out[low] = np.log(second / first)
    near = np.asarray((out > math.log(_LOST)) & np.isfinite(x))
    if near.any():
        out[near] = -_integrated(-x[near], 1 / k[near])
    return out


def _log_share_dx(out: Any, x: Any, k: Any) -> Operand:
    low = x < 0
    here = where(low, _gap_and_next(where(low, x, -1 + 0 * x))[0], inverse_mills(x, times=0))
    return where(low, _gap_of(x, k) - here, _exponnorm_dx(out, x, k) - here)


log_share = real_elementwise(
    "log_share",
    typed_kernel(_log_share),
    (_log_share_dx, lambda out, x, k: _gap_of(x, k) / square(k)),
    args=("x", "k"),
    doc="The logarithm of the second term of `exponnorm_cdf`, by which the first one is more, over the first one.",
)


def _exponnorm_tail(name: str, sign: int, kernel: Any, rest: Any, far: Any) -> tuple[Op, Op]:
    def slopes(second: Callable[..., Operand]) -> list[Callable[..., Any]]:
        """By the second term, or what it is of the tail."""
        return [
            lambda out, x, k: sign * second(x, k) / k,
            lambda out, x, k: -sign * second(x, k) * _gap_of(x, k) / square(k),
        ]

    def of_tail(x: Any, k: Any) -> Operand:
        return odds(log_share(x, k)) if sign > 0 else sigmoid(log_exponnorm(x, k) + log(k) - log_ndtr(-x))

    tail = real_elementwise(
        name,
        typed_kernel(kernel),
        slopes(lambda x, k: k * exp(log_exponnorm(x, k))),
        args=("x", "k"),
        doc="A tail of a normal variable plus `k` times an exponential one.",
    )
    logs = dict(enumerate(slopes(of_tail)))
    return tail, log_of_tail(f"log_{name}", tail, rest, "The logarithm of that.", logs, far, __name__)


exponnorm_cdf, log_exponnorm_cdf = _exponnorm_tail("exponnorm_cdf", 1, _lower, _upper, _log_lower)
exponnorm_sf, log_exponnorm_sf = _exponnorm_tail("exponnorm_sf", -1, _upper, _lower, _log_upper)

# ---- inverse Gaussian ------------------------------------------------------------------------------------------------


def inverse_gauss(x: Any, mu: Any) -> Operand:
    """The log density."""
    return -0.5 * math.log(2 * math.pi) - 1.5 * log(x) - 0.5 * square((x / mu - 1.0) / sqrt(x))


def _mills(t: Any) -> Operand:
    return math.sqrt(0.5 * math.pi) * erfcx(_ROOT_HALF * t)


def _density_over(x: Any, mu: Any, *, sign: int) -> Any:
    x, mu = np.broadcast_arrays(np.asarray(x, np.float64), np.asarray(mu, np.float64))
    root = 1 / np.sqrt(x)
    start = root * (x / mu - 1)
    first, second = (scipy.special.erfcx(_ROOT_HALF * t) for t in (-sign * start, start + 2 * root))
    out = np.asarray(first + sign * second)
    lost = np.asarray((sign < 0) & (second > _LOST * first) & np.isfinite(root))
    if lost.any():
        out[lost] = first[lost] * -np.expm1(-_integrated(start[lost], 2 * root[lost]))
    return 1 / (math.sqrt(0.5 * math.pi) * out)


def _by_mu(x: Any, mu: Any, sign: int) -> Operand:
    return -sign * 2 * _mills((x / mu + 1) / sqrt(x)) / square(mu)


density_over = real_elementwise(
    "density_over",
    typed_kernel(_density_over),
    (
        lambda out, x, mu, *, sign: -out * (sign * out / (x * sqrt(x)) + 0.5 * (1 / square(mu) - 1 / square(x))),
        lambda out, x, mu, *, sign: out * ((x / mu - 1) / square(mu) - out * _by_mu(x, mu, sign)),
    ),
    args=("x", "mu"),
    doc="The normal density over a tail of the inverse Gaussian distribution, that from below if `sign` is 1.",
)


def _inverse_gauss_tail(name: str, sign: int) -> Op:
    def kernel(x: Any, mu: Any) -> Any:
        x, mu = np.broadcast_arrays(np.asarray(x, np.float64), np.asarray(mu, np.float64))
        with np.errstate(divide="ignore", invalid="ignore"):
            root = 1 / np.sqrt(x)
            start = root * (x / mu - 1)
            second = 2 / mu + scipy.special.log_ndtr(-root * (x / mu + 1))

            def below(start: Any, second: Any, root: Any) -> Any:
                return np.logaddexp(scipy.special.log_ndtr(start), second)

            def above(start: Any, second: Any, root: Any) -> Any:
                return _less(scipy.special.log_ndtr(-start), second, start, 2 * root)

            own, other = (below, above)[::sign]
            out = np.asarray(own(start, second, root))
            near = out > -0.1
            if near.any():
                out[near] = np.log1p(-np.exp(other(start[near], second[near], root[near])))
            return out

    return real_elementwise(
        name,
        typed_kernel(kernel),
        (
            lambda out, x, mu: sign * density_over(x, mu, sign=sign) / (x * sqrt(x)),
            lambda out, x, mu: _by_mu(x, mu, sign) * density_over(x, mu, sign=sign),
        ),
        args=("x", "mu"),
        doc="The logarithm of a tail of the inverse Gaussian distribution.",
    )


log_inverse_gauss_cdf = _inverse_gauss_tail("log_inverse_gauss_cdf", 1)
log_inverse_gauss_sf = _inverse_gauss_tail("log_inverse_gauss_sf", -1)
