"""Which columns (rows) of a sparse Jacobian one sweep can carry together, and where its entries are then read.

A forward sweep gives ``J @ s``. Columns of one *color* share no row, so the sum of their seeds is one seed, and each
entry of theirs stands alone in the product: ``product[color of the column, row]`` (Curtis, Powell and Reid [1]_). Rows
and reverse sweeps are the same of the transpose. A symmetric matrix needs fewer colors, since an entry may be read at
either of its two places (Coleman and Moré [3]_). A few dense rows or columns want sweeps of both kinds (Coleman and
Verma [4]_); `engine.jacobian.planning.direction` decides that.

A row with k entries needs k colors, and how many more are needed is hard to find out. So this tries, until that bound
is reached: formulas (`engine.jacobian.coloring.lattice`), then greedy colorings (`engine.jacobian.coloring.greedy`),
then to improve on the best. All of it takes time and memory proportional to the number of entries, and gives the same
colors every time.

References
----------
.. [1] A. R. Curtis, M. J. D. Powell, J. K. Reid: On the estimation of sparse Jacobian matrices. J. Inst. Math. Appl. 13
   (1974).
.. [2] A. H. Gebremedhin, F. Manne, A. Pothen: What color is your Jacobian? Graph coloring for computing derivatives.
   SIAM Review 47 (2005).
.. [3] T. F. Coleman, J. J. Moré: Estimation of sparse Hessian matrices and graph coloring problems. Math. Programming
   28 (1984).
.. [4] T. F. Coleman, A. Verma: The efficient computation of sparse Jacobian matrices using automatic differentiation.
   SIAM J. Sci. Comput. 19 (1998).
"""

from __future__ import annotations

import numpy as np

from engine.jacobian.coloring.greedy import improve, sequential, star
from engine.jacobian.coloring.lattice import conflicts, entry_rows, lattice, positions
from engine.runtime.errors import InvalidArgumentError
from engine.runtime.lazy_scipy import sparse
from engine.runtime.structs import struct
from engine.runtime.tuning import TUNING

SMALL = TUNING.coloring_entries  # entries below which time hardly matters, and more is tried
SMALL_GRAPH = TUNING.star_coloring_entries  # entries up to which a star coloring is looked for, in a Python loop
MASKS = TUNING.coloring_masks  # bits for each entry that such loops may hold
PATIENCE = TUNING.coloring_visits  # visits to each entry, in search of fewer colors


@struct(frozen=True, eq=False)
class Coloring:
    """Columns (or rows) put together into groups.

    Parameters
    ----------
    colors : array of int32
        The color of each column; -1 for one without entries (or whose entries are all read elsewhere): it takes part
        in no sweep.
    count : int
        Number of colors, which is the number of sweeps.
    method : str
        How it was found.
    """

    colors: np.ndarray
    count: int
    method: str


# ---- columns and rows ------------------------------------------------------------------------------------------------


def color_columns(pattern: sparse.csr_array) -> Coloring:
    """Color columns so that no two of one color share a row, by the stored entries; for rows give the transpose.

    Examples
    --------
    >>> color_columns(sparse.csr_array([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]])).colors.tolist()
    [0, 1, 0, 1]
    """
    pattern = _canonical(pattern)
    used = np.zeros(pattern.shape[1], np.bool_)
    used[pattern.indices] = True
    bound = _longest(pattern)
    if bound == np.count_nonzero(used):  # one row has them all, or there are none
        return _coloring(np.cumsum(used) - 1, used, "distinct")
    colors, method = _formula(pattern, bound) or _search(pattern, bound)
    return _coloring(colors, used, method)


def _formula(pattern: sparse.csr_array, bound: int) -> tuple[np.ndarray, str] | None:
    """A coloring with `bound` colors that is found at once, if there is one."""
    for colors, method in (positions(pattern), "positions in a row"), (np.arange(pattern.shape[1]) % bound, "cyclic"):
        if _is_valid(pattern, colors, bound):
            return colors, method
    return None


def _search(pattern: sparse.csr_array, bound: int) -> tuple[np.ndarray, str]:
    """The best coloring found: by a lattice, one column after the other, and from there."""
    formula = lattice(pattern, bound, 2 * bound + 2)
    if formula is not None and (formula[1] == bound or (pattern.nnz > SMALL and formula[1] <= 1.5 * bound + 1)):
        return formula[0], "lattice"
    if not _masks_fit(pattern, bound):
        apart = _dense_rows_apart(pattern)
        return (np.arange(pattern.shape[1]), "distinct") if apart is None else (apart, "dense rows apart")
    rows_of = pattern.T.tocsr()
    orders = [np.arange(pattern.shape[1])]
    if pattern.nnz <= SMALL:
        orders.append(_largest_first(pattern, rows_of))
    starts = [(sequential(rows_of, order), "greedy") for order in orders]
    if formula is not None:
        starts.insert(0, (formula[0], "lattice"))
    start, method = min(starts, key=lambda start: start[0].max())
    better = improve(rows_of, start, bound, PATIENCE * (pattern.nnz + SMALL))
    return (better, f"{method}, improved") if better.max() < start.max() else (start, method)


def _masks_fit(pattern: sparse.csr_array, count: int) -> bool:
    """Whether a bit for each row and color takes little memory beside the entries."""
    return pattern.shape[0] * count <= MASKS * (pattern.nnz + SMALL)


def _largest_first(pattern: sparse.csr_array, rows_of: sparse.csr_array) -> np.ndarray:
    """Columns by the number of their neighbors, those in several rows counted several times."""
    ones = sparse.csr_array((np.ones(pattern.nnz, np.int64), rows_of.indices, rows_of.indptr), shape=rows_of.shape)
    return np.argsort(-(ones @ np.diff(pattern.indptr)), kind="stable")


def _dense_rows_apart(pattern: sparse.csr_array) -> np.ndarray | None:
    """Color the columns of a few very long rows apart, each class of the rest being split; None where it is no good.

    The colors are at most those of the other rows and one for each entry of the long rows.
    """
    lengths = np.diff(pattern.indptr)
    limit, cost = _threshold(lengths, lengths, weight=2.0)  # the rest may well take twice its bound
    if limit == _longest(pattern) or cost > 1.5 * _longest(pattern):
        return None
    dense = np.zeros(pattern.shape[1], np.bool_)
    dense[pattern[lengths > limit].indices] = True
    classes = np.maximum(color_columns(pattern[lengths <= limit]).colors.astype(np.int64), 0)
    inside = np.flatnonzero(dense)
    inside = inside[np.argsort(classes[inside], kind="stable")]
    sizes = np.bincount(classes[inside], minlength=int(classes.max()) + 1)
    room = np.maximum(sizes, 1)  # a class without such columns keeps its color
    colors = (np.cumsum(room) - room)[classes]
    colors[inside] += np.arange(len(inside)) - (np.cumsum(sizes) - sizes)[classes[inside]]
    return colors


def _threshold(lengths: np.ndarray, prices: np.ndarray | None, weight: float = 1.0) -> tuple[int, float]:
    """The limit t that minimizes ``weight * t`` + the sum of the prices (None: 1) of what is longer than t, and it."""
    total = np.bincount(lengths, prices)
    costs = weight * np.arange(len(total)) + (total.sum() - np.cumsum(total))
    costs[np.bincount(lengths) == 0] = np.inf
    best = int(np.argmin(costs))
    return best, float(costs[best])


def _is_valid(pattern: sparse.csr_array, colors: np.ndarray, count: int) -> bool:
    """Whether a coloring is valid; the first rows tell most that are not."""
    return next(conflicts(pattern, colors, count), None) is None


def _canonical(pattern: sparse.csr_array) -> sparse.csr_array:
    """The same entries sorted by column, none twice."""
    if not pattern.has_canonical_format:
        pattern = pattern.copy()
        pattern.sum_duplicates()
    return pattern


def same(one: sparse.csr_array, other: sparse.csr_array) -> bool:
    """Whether two patterns are equal."""
    return np.array_equal(one.indptr, other.indptr) and np.array_equal(one.indices, other.indices)


def _longest(pattern: sparse.csr_array) -> int:
    """The largest number of entries in a row, which is a lower bound on the number of colors."""
    return int(np.diff(pattern.indptr).max(initial=0))


def _coloring(colors: np.ndarray, used: np.ndarray, method: str) -> Coloring:
    """Drop colors that no used column has."""
    kept = np.zeros(int(colors.max(initial=-1)) + 1, np.bool_)
    kept[colors[used]] = True
    numbers = np.cumsum(kept, dtype=np.int32) - np.int32(1)
    result = np.full(len(colors), -1, np.int32)
    result[used] = numbers[colors[used]]
    return Coloring(result, int(np.count_nonzero(kept)), method)


# ---- symmetric matrices ----------------------------------------------------------------------------------------------


def color_symmetric(pattern: sparse.csr_array, most: int = SMALL_GRAPH) -> Coloring:
    """Color a symmetric pattern so that each entry, or its mirror image, stands alone in its row of the products.

    A star coloring has this property whatever entries the diagonal has, and so has a coloring of the columns. The
    former is looked for in patterns of at most so many entries.

    Raises
    ------
    InvalidArgumentError
        If the pattern is not symmetric.

    Examples
    --------
    An arrowhead takes two sweeps, whatever its size:

    >>> color_symmetric(sparse.csr_array([[1, 1, 1, 1], [1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 1]])).count
    2
    """
    pattern = _canonical(pattern)
    mirrored = pattern.T.tocsr()
    if not same(pattern, mirrored):
        raise InvalidArgumentError(f"color_symmetric: expected a symmetric pattern, got one of shape {pattern.shape}")
    long_rows = hubs(np.diff(pattern.indptr))
    best = _hubs_apart(pattern, long_rows) if np.any(long_rows) else color_columns(pattern)
    if pattern.nnz > most or not _masks_fit(pattern, best.count) or best.count <= _star_bound(pattern):
        return best
    graph = _without_diagonal(pattern)
    degrees = np.diff(graph.indptr)
    orders = (np.argsort(-degrees, kind="stable"), np.arange(len(degrees)))
    for order in orders[: 2 if graph.nnz <= SMALL // 10 else 1]:
        tried = _coloring(star(graph, order), np.diff(pattern.indptr) > 0, "star")
        best = tried if tried.count < best.count else best
    return best


def readable_entries(pattern: sparse.csr_array, coloring: Coloring) -> np.ndarray:
    """For each stored entry the number of one that stands alone in the products: of the pair, the lower if it does.

    If there is a pair of which neither does, it is no coloring of the pattern, and there is an InvalidArgumentError.
    """
    rows, columns, own = entry_rows(pattern), pattern.indices, np.arange(pattern.nnz)
    alone = _alone(np.multiply(rows, max(coloring.count, 1), dtype=np.intp) + coloring.colors[columns], pattern)
    mirrored = sparse.csr_array((own, pattern.indices, pattern.indptr), shape=pattern.shape).T.tocsr().data
    lower = np.where(rows >= columns, own, mirrored)
    entries = np.where(alone[lower], lower, mirrored[lower])
    if not alone[entries].all():
        raise InvalidArgumentError("readable_entries: the coloring is not one of this pattern")
    return entries


def _alone(places: np.ndarray, pattern: sparse.csr_array) -> np.ndarray:
    """Which entries share the place of their number, among all seeds' results, with no other."""
    if places.max(initial=0) < 16 * (pattern.nnz + SMALL):
        return np.bincount(places)[places] == 1
    order = np.argsort(places, kind="stable")
    same = np.diff(places[order]) == 0
    alone = np.ones(len(places), np.bool_)
    alone[order[1:][same]] = alone[order[:-1][same]] = False
    return alone


def _without_diagonal(pattern: sparse.csr_array) -> sparse.csr_array:
    rows = entry_rows(pattern)
    off = rows != pattern.indices
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows[off], minlength=pattern.shape[0]))])
    return sparse.csr_array((pattern.data[off], pattern.indices[off], indptr), shape=pattern.shape)


def _star_bound(pattern: sparse.csr_array) -> int:
    """A lower bound on the number of colors, where the diagonal is full (else 1)."""
    graph = _without_diagonal(pattern)
    size, edges = pattern.shape[0], graph.nnz // 2
    if pattern.nnz - graph.nnz < size or not size:
        return 1
    degrees = np.diff(graph.indptr)
    busiest = int(np.argmax(degrees))
    group = pattern.indices[pattern.indptr[busiest] : pattern.indptr[busiest + 1]]
    if pattern[group][:, group].nnz == len(group) ** 2:
        return len(group)  # each of a clique has a color of its own
    count = 2 if edges else 1
    if np.any((degrees[entry_rows(graph)] > 1) & (degrees[graph.indices] > 1)):
        count = 3  # a triangle, or a path on four vertices
    while edges > (count - 1) * size - count * (count - 1) // 2:
        count += 1  # two classes span a forest, which has fewer edges than vertices
    return count


def hubs(lengths: np.ndarray) -> np.ndarray:
    """Which of the rows are so long that it pays to give each a color, by which the whole row and column are read."""
    limit, bound = _threshold(lengths, None) if lengths.size else (0, 0.0)
    return (lengths > limit) & (2 * bound <= lengths.max(initial=0))


def _hubs_apart(pattern: sparse.csr_array, apart: np.ndarray) -> Coloring:
    """A color for each hub, and a coloring of the columns of the rest."""
    rest = color_columns(pattern[~apart][:, ~apart])
    colors = np.zeros(len(apart), np.int64)
    colors[apart] = np.arange(np.count_nonzero(apart))
    colors[~apart] = np.count_nonzero(apart) + np.maximum(rest.colors, 0)
    return _coloring(colors, np.diff(pattern.indptr) > 0, f"hubs apart, {rest.method}")
