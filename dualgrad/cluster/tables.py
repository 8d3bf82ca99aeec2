"""`ShardedTable`: the rows of a table, of embeddings say, which lie on workers, and are looked up and changed there."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from typing import Any

import numpy as np

from dualgrad.cluster.shards import Here
from engine.runtime.errors import InvalidArgumentError


class ShardedTable:
    """A table whose parts, each some neighboring rows, lie on workers.

    A part that changes is a new array, computed from the old one and from what changes it: Dask makes the parts of a
    worker that is lost again, from the first arrays on, or from those that were saved last.

    Parameters
    ----------
    parts : sequence
        The parts in their order: arrays of shape (rows, ...), or functions without arguments that give one, the same
        one whenever they are called.
    executor : client of Dask, or concurrent.futures.Executor, optional
        Has the parts; by default this process. From processes that are no workers of Dask all parts come back.

    Attributes
    ----------
    shape : tuple of int
        Of the whole table.

    Raises
    ------
    InvalidArgumentError
        If the rows of the parts differ in shape or dtype.

    Examples
    --------
    >>> import numpy as np
    >>> import tape_api as tf
    >>> from dualgrad import cluster
    >>> table = cluster.ShardedTable([np.zeros((3, 2)), np.ones((2, 2))])
    >>> ids = [4, 0, 4]
    >>> with tf.GradientTape() as tape:
    ...     rows = tf.constant(table.lookup(ids))
    ...     tape.watch(rows)
    ...     loss = tf.reduce_sum((rows - 3.0) ** 2)
    >>> table.apply(lambda rows, g: rows - 0.1 * g, tf.IndexedSlices(tape.gradient(loss, rows), ids))
    >>> table.lookup([0, 4]).round(2).tolist()
    [[0.6, 0.6], [1.8, 1.8]]
    """

    def __init__(self, parts: Sequence[Any], executor: Any = None) -> None:
        self._executor: Executor = Here() if executor is None else executor
        self._parts = [self._begin(_made, part) for part in parts]
        found = [future.result() for future in [self._begin(_rows_of, part) for part in self._parts]]
        kinds = {kind for _, kind in found}
        if len(kinds) != 1:
            raise InvalidArgumentError(
                f"ShardedTable: argument `parts` must have rows of one shape and dtype, got {found}"
            )
        self._ends = np.cumsum([0, *[count for count, _ in found]])
        ((row, self._dtype),) = kinds
        self.shape = (int(self._ends[-1]), *row)

    def lookup(self, ids: Any) -> np.ndarray:
        """The rows with these numbers.

        Parameters
        ----------
        ids : integer array, shape (...)

        Returns
        -------
        array, shape (..., of a row)
        """
        numbers = np.asarray(ids)
        asked = [(places, self._begin(np.take, self._parts[k], rows, 0)) for k, places, rows in self._split(numbers)]
        found = np.empty((numbers.size, *self.shape[1:]), self._dtype)
        for places, future in asked:
            found[places] = future.result()
        return found.reshape(*numbers.shape, *self.shape[1:])

    def apply(self, rule: Callable[[np.ndarray, np.ndarray], np.ndarray], *gradients: Any) -> None:
        """Change the rows that have gradients, where they are.

        Parameters
        ----------
        rule : callable
            Gives new rows for rows and their gradients. It goes to the workers by pickle. What an optimizer remembers
            of a row can be further columns of the table.
        *gradients : IndexedSlices
            Those of one row are added up in their order, however many workers there are.
        """
        ids = np.concatenate([np.ravel(np.asarray(g.indices)) for g in gradients])
        values = np.concatenate([np.asarray(g.values) for g in gradients])
        touched, which = np.unique(ids, return_inverse=True)
        summed = np.zeros((len(touched), *values.shape[1:]), values.dtype)
        np.add.at(summed, which.reshape(-1), values)
        for k, places, rows in self._split(touched):
            self._parts[k] = self._begin(_changed, self._parts[k], rows, summed[places], rule)

    def save(self, folder: str) -> None:
        """Write the parts to a new folder that all workers see; from then on lost parts are made from these files.

        Until then Dask remembers all changes since the last time.
        """
        os.makedirs(folder)
        files = [os.path.join(folder, f"{k}.npy") for k in range(len(self._parts))]
        written = [self._begin(np.save, file, part) for file, part in zip(files, self._parts, strict=True)]
        for future in written:
            future.result()
        self._parts = [self._begin(np.load, file) for file in files]

    def _split(self, ids: np.ndarray) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """For each part that has some of the rows: its number, the places of these in `ids`, their numbers in it."""
        flat = ids.reshape(-1)
        if flat.size and (flat.dtype.kind not in "iu" or flat.min() < 0 or flat.max() >= self.shape[0]):
            raise InvalidArgumentError(f"ShardedTable: rows are integers below {self.shape[0]}, got {ids}")
        part = np.searchsorted(self._ends, flat, side="right") - 1
        for k in np.unique(part).tolist():
            places = np.flatnonzero(part == k)
            yield k, places, flat[places] - self._ends[k]

    def _begin(self, function: Callable[..., Any], *args: Any) -> Any:
        """Submit a call; Dask takes futures for what they stand for."""
        return self._executor.submit(function, *[x.result() if isinstance(x, Future) else x for x in args])


def _made(part: Any) -> np.ndarray:
    return np.asarray(part() if callable(part) else part)


def _rows_of(part: np.ndarray) -> tuple[int, tuple[tuple[int, ...], str]]:
    return len(part), (part.shape[1:], part.dtype.str)


def _changed(part: np.ndarray, rows: np.ndarray, gradient: np.ndarray, rule: Callable[..., Any]) -> np.ndarray:
    changed = part.copy()
    changed[rows] = rule(part[rows], gradient)
    return changed
