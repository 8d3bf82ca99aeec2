"""NumPy's functions of polynomials, which are vectors of coefficients (see `engine.numpy_api.functions`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.core.detach import looked_at
from engine.core.eager import EagerTensor
from engine.core.operands import Operand, operands
from engine.core.value import dtype_of
from engine.numpy_api.functions import Row, constant, length, not_taken_if, rank_of


@operands("p", "x")
def _polyval(p: Any, x: Any) -> Operand:
    out = np.zeros_like(x)
    for i in range(length(p, 0)):
        out = out * x + p[i]
    return out


@operands("x")
def _vander(x: Any, N: int | None = None, increasing: bool = False) -> Operand:
    powers = np.arange(length(x, 0) if N is None else N)
    return np.power(np.expand_dims(x, -1), constant(powers if increasing else powers[::-1], x))


@operands("x", "y", "w")
def _polyfit(x: Any, y: Any, deg: int, rcond: Any = None, *, w: Any = None) -> Operand:
    n = length(x, 0)
    powers = np.vander(x, deg + 1)
    if w is not None:
        powers, y = powers * w[:, None], y * (w if rank_of(y) == 1 else w[:, None])
    scale = np.sqrt(np.sum(np.square(powers), axis=0))
    least = n * float(np.finfo(dtype_of(x).numpy).eps) if rcond is None else rcond
    coefficients = np.linalg.lstsq(powers / scale, y, least)[0]
    return coefficients / (scale if rank_of(y) == 1 else scale[:, None])


@operands("p")
def _polyder(p: Any, m: int = 1) -> Operand:
    for _ in range(m):
        n = length(p, 0) - 1
        p = p[:-1] * constant(np.arange(n, 0, -1), p)
    return p


@operands("p", "k")
def _polyint(p: Any, m: int = 1, k: Any = None) -> Operand:
    added = np.zeros(m) if k is None else np.broadcast_to(k, [m])
    for i in range(m):
        p = np.append(p / constant(np.arange(length(p, 0), 0, -1), p), added[i])
    return p


def _of_two(function: Any) -> Any:
    @operands("a1", "a2")
    def apply(a1: Any, a2: Any) -> Operand:
        n = max(length(a1, 0), length(a2, 0))
        return function(*[np.pad(a, (n - length(a, 0), 0)) for a in (a1, a2)])

    return apply


@operands("p")
def _roots(p: Any) -> Operand:
    """The eigenvalues of the companion matrix, all complex; without coefficients that are zero at the ends."""
    not_taken_if(rank_of(p) != 1)
    zeros = 0
    if isinstance(p, EagerTensor):
        looked_at(p)
        places = np.flatnonzero(p._array)
        if not len(places):
            return constant([], p)
        zeros = length(p, 0) - 1 - int(places[-1])
        p = p[int(places[0]) : int(places[-1]) + 1]
    n = length(p, 0) - 1
    below = constant(np.eye(n - 1, n), p) if n > 1 else constant(np.zeros((0, n)), p)
    companion = np.concatenate([np.reshape(-p[1:] / p[0], [1, n]), below], axis=0)
    roots = np.linalg.eigvals(companion)
    return np.append(roots, np.zeros(zeros)) if zeros else roots


@operands("seq_of_zeros")
def _poly(seq_of_zeros: Any) -> Operand:
    if rank_of(seq_of_zeros) == 2:
        seq_of_zeros = np.linalg.eigvals(seq_of_zeros)
    out: Any = constant([1.0], seq_of_zeros)
    for i in range(length(seq_of_zeros, 0)):
        out = np.append(out, [0.0]) - np.pad(seq_of_zeros[i] * out, (1, 0))
    return out


@operands("u", "v")
def _polydiv(u: Any, v: Any) -> tuple[Operand, Operand]:
    m, n = length(u, 0), length(v, 0)
    if m < n:
        return constant([0.0], u), u
    rest, quotient = u, []
    for _ in range(m - n + 1):
        quotient.append(rest[0] / v[0])
        rest = np.concatenate([rest[1:n] - quotient[-1] * v[1:], rest[n:]])
    if not length(rest, 0):
        return np.stack(quotient), constant([0.0], u)
    if isinstance(rest, EagerTensor):
        looked_at(rest)
        near = np.isclose(rest._array, 0, rtol=1e-14)
        rest = rest[min(int(np.argmin(near)) if not near.all() else len(near) - 1, len(near) - 1) :]
    return np.stack(quotient), rest


POLYNOMIALS: dict[Any, Row] = {
    np.polyval: (_polyval, "tf.pow"),
    np.vander: (_vander, "tf.pow"),
    np.polyfit: (_polyfit, "tf.linalg.lstsq"),
    np.polyder: (_polyder, "tf.multiply"),
    np.polyint: (_polyint, "tf.multiply"),
    np.polyadd: (_of_two(np.add), "tf.add"),
    np.polysub: (_of_two(np.subtract), "tf.subtract"),
    np.polymul: (operands("a1", "a2")(lambda a1, a2: np.convolve(a1, a2)), "tf.nn.conv1d"),
    np.polydiv: (_polydiv, "tf.divide"),
    np.roots: (_roots, "tf.linalg.eigvals"),
    np.poly: (_poly, "tf.nn.conv1d"),
}
"""As `engine.numpy_api.functions.RECORDED`."""
