"""Greedy colorings: one column after the other, each in the first color that its rows leave free.

`sequential` is the method of Curtis, Powell and Reid as Coleman and Moré read it: greedy coloring of the graph whose
vertices are the columns, two of them adjacent where they share a row. That graph is never built; a row remembers the
colors of its columns as the bits of one integer.

That loop runs in C (engine/ops/first_fit.c) or in Python. `improve` is the iterated greedy of Culberson: each pass
takes the classes of the last coloring in another order, and never needs more colors.

References
----------
A. R. Curtis, M. J. D. Powell, J. K. Reid: On the estimation of sparse Jacobian matrices. IMA J. Appl. Math. 13 (1974).
T. F. Coleman, J. J. Moré: Estimation of sparse Jacobian matrices and graph coloring problems. SINUM 20 (1983).
J. C. Culberson: Iterated greedy graph coloring and the difficulty landscape. TR 92-07, University of Alberta (1992).
A. H. Gebremedhin, F. Manne, A. Pothen: What color is your Jacobian? SIAM Review 47 (2005).
A. H. Gebremedhin, A. Tarafdar, F. Manne, A. Pothen: New acyclic and star coloring algorithms. SISC 29 (2007).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from engine.ops.small_product import in_c
from engine.runtime.lazy_scipy import sparse


def sequential(rows_of: sparse.csr_array, order: np.ndarray) -> np.ndarray:
    """Color the rows of `rows_of` (columns of the pattern, transposed) in the given order, first fit."""
    if in_c is not None:
        return in_c.first_fit(rows_of.indptr, rows_of.indices, order, rows_of.shape[1])
    taken, colors = [0] * rows_of.shape[1], np.zeros(rows_of.shape[0], np.int64)
    starts = rows_of.indptr.tolist()
    for column in order.tolist():
        rows = rows_of.indices[starts[column] : starts[column + 1]].tolist()
        mask = 0
        for row in rows:
            mask |= taken[row]
        lowest = ~mask & (mask + 1)
        for row in rows:
            taken[row] |= lowest
        colors[column] = lowest.bit_length() - 1
    return colors


def improve(rows_of: sparse.csr_array, colors: np.ndarray, bound: int, budget: float) -> np.ndarray:
    """Fewer colors, or as many, from a valid coloring: passes until `bound` colors are reached or `budget` is spent.

    The budget is counted in entries visited and not in seconds, so that the outcome is always the same. (A color
    class visited costs as much as a few thousand entries.)
    """
    best, count, stalled = colors, int(colors.max()) + 1, 0
    columns = np.flatnonzero(np.diff(rows_of.indptr))
    for order in _orders():
        words = 1 + min(count, 4 * bound) // 64  # of a row's colors; a column looks at half of them
        budget -= (rows_of.nnz + 2000 * count) * (words + 1) / 2
        if count <= bound or budget < 0 or stalled == 3:
            return best
        rank = np.argsort(order(np.bincount(best)))
        best = sequential(rows_of, columns[np.argsort(rank[best[columns]], kind="stable")])
        smaller = int(best.max()) + 1
        stalled = 0 if smaller < count else stalled + 1
        count = smaller
    raise AssertionError  # the orders never end


def _orders() -> Iterator[Callable[[np.ndarray], np.ndarray]]:
    """Orders of the classes, given their sizes: the last first, the largest first, at random."""
    random = np.random.default_rng(0)
    while True:
        yield lambda sizes: np.arange(len(sizes))[::-1]
        yield lambda sizes: np.argsort(-sizes, kind="stable")
        yield lambda sizes: np.arange(len(sizes))[::-1]
        yield lambda sizes: random.permutation(len(sizes))


def star(graph: sparse.csr_array, order: np.ndarray) -> np.ndarray:
    """Star coloring of a graph (symmetric, no diagonal), greedy in the given order, in time linear in its edges.

    Adjacent vertices differ, and every path on four vertices has three colors at least. In other words: each pair of
    color classes spans stars. The bits in `around` are the colors that occur around a vertex, those in `often` occur
    there twice, and `hubs` holds for a vertex the colors of stars in which it is one of several leaves.
    """
    starts, entries = graph.indptr.tolist(), graph.indices.tolist()
    color, around, often, hubs = ([0] * graph.shape[0] for _ in range(4))
    for vertex in order.tolist():
        neighbors = entries[starts[vertex] : starts[vertex + 1]]
        twice = often[vertex]
        mask = around[vertex]
        for w in neighbors:
            mask |= hubs[w]
            if color[w] & twice:
                mask |= around[w]
        lowest = ~mask & (mask + 1)
        color[vertex] = lowest
        for w in neighbors:
            if color[w] & twice:
                hubs[w] |= lowest
            if not around[w] & lowest:
                around[w] |= lowest
                continue
            hubs[vertex] |= color[w]
            if not often[w] & lowest:
                often[w] |= lowest
                for x in entries[starts[w] : starts[w + 1]]:
                    if color[x] == lowest:
                        hubs[x] |= color[w]
    return np.array([c.bit_length() - 1 for c in color], np.int64)
