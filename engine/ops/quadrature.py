"""Nodes and weights of quadratures."""

from __future__ import annotations

import numpy as np

from engine.runtime.cache import cached


@cached(64)
def gauss_legendre(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of Gauss and Legendre on [0, 1], each of shape (count,).

    Examples
    --------
    >>> nodes, weights = gauss_legendre(2)
    >>> round(float(np.sum(weights * nodes**3)), 12)
    0.25
    """
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return (nodes + 1) / 2, weights / 2


@cached(64)
def panels(nodes: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The same with so many `nodes` in each of `count` panels of equal length."""
    places, weights = gauss_legendre(nodes)
    return ((np.arange(count)[:, None] + places) / count).ravel(), np.tile(weights / count, count)
