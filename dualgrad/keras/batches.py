"""The batches that a model is trained on: rows of arrays, with labels and weights where there are some."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from dualgrad.keras.settings import floatx
from engine.core import nest
from engine.core.nest import Structure
from engine.core.value import unmasked
from engine.runtime.faces import Shown


def packed(x: Any, y: Any = None, sample_weight: Any = None) -> Structure[Any]:
    """A batch as steps get it: labels and weights only where there are some."""
    if y is None:
        return (x,) if isinstance(x, (tuple, list)) else x
    return (x, y) if sample_weight is None else (x, y, sample_weight)


def one_batch(x: Any, y: Any, sample_weight: Any) -> Structure[Any]:
    """A batch as steps get it, of what users write: a list of numbers is one array."""
    return packed(*map(_rows, (x, y, sample_weight)))


def unpack_x_y_sample_weight(data: Any) -> tuple[Any, Any, Any]:
    """Inputs, labels and weights of a batch; None for what is not there.

    Raises
    ------
    ValueError
        If it is a tuple of more than three.
    """
    parts = tuple(data) if isinstance(data, (tuple, list)) else (data,)
    if not 1 <= len(parts) <= 3:
        raise ValueError(
            f"Data is expected to be `x`, `(x,)`, `(x, y)` or `(x, y, sample_weight)`, got {len(parts)} parts"
        )
    return (*parts, *[None] * (3 - len(parts)))


def weighted(data: Iterable[Any], class_weight: Mapping[int, float] | None) -> Iterator[Any]:
    """Batches with the weights of the classes of their labels, which are indices or one-hot rows, if there are any.

    Raises
    ------
    ValueError
        If there are no labels, or several, or weights of samples as well.
    """
    for batch in data:
        if class_weight is None:
            yield batch
            continue
        x, y, weight = unpack_x_y_sample_weight(batch)
        if y is None or nest.is_nested(y) or weight is not None:
            raise ValueError("`class_weight` needs labels of one output, and does not go together with `sample_weight`")
        labels = np.asarray(y)
        if labels.ndim > 1 and labels.shape[-1] > 1 and (labels > 1).any():
            raise ValueError(f"`class_weight`: labels of shape {labels.shape} must be one-hot; add an axis to indices")
        classes = labels.argmax(-1) if labels.ndim > 1 and labels.shape[-1] > 1 else labels
        classes = np.rint(classes.squeeze(-1) if classes.ndim == labels.ndim > 1 else classes)
        yield x, y, np.array([class_weight.get(int(c), 1.0) for c in classes.ravel()]).reshape(classes.shape)


def split(data: tuple[Any, Any, Any], part: float) -> tuple[tuple[Any, Any, Any], tuple[Any, Any, Any]]:
    """The first rows, and the last ones."""
    if not 0 < part < 1 or not hasattr(nest.flatten(data[0])[0], "shape"):
        raise ValueError("fit: `validation_split` must be in (0, 1), and x and y arrays")
    arrays = nest.map_structure(lambda x: None if x is None else unmasked(x, "rows"), data)
    count = len(nest.flatten(arrays)[0])
    at = int(count * (1 - part))
    if at in (0, count):
        raise ValueError(f"fit: {count} samples cannot be split in two by `validation_split` {part}")
    first, last = [
        nest.map_structure(lambda x, s=s: None if x is None else x[s], arrays) for s in (np.s_[:at], np.s_[at:])
    ]
    return first, last


def batches(
    x: Any, y: Any, batch_size: int, order_of: Callable[[int], Any] | None = None, sample_weight: Any = None
) -> Iterator[Any]:
    """The rows of arrays in batches; an iterable of batches as it is.

    Raises
    ------
    ValueError
        If there are not as many rows of each.
    """
    if isinstance(x, Sequence):
        return _items(x, order_of)
    if not _is_rows(x, y):
        return iter(x)
    return _parts_of_rows(x, y, batch_size, order_of, sample_weight)


def _items(x: Sequence, order_of: Callable[[int], Any] | None) -> Iterator[Any]:
    count = len(x)
    for i in range(count) if order_of is None else order_of(count):
        yield x[int(i)]


def _parts_of_rows(
    x: Any, y: Any, batch_size: int, order_of: Callable[[int], Any] | None, sample_weight: Any
) -> Iterator[Any]:
    whole = [_rows(part) for part in (x, y, sample_weight)]
    sizes = [len(array) for part in whole for array in nest.flatten(part) if array is not None]
    if len(set(sizes)) != 1:
        raise ValueError(f"x and y must have as many rows, got {' and '.join(map(str, sizes))}")
    order = np.arange(sizes[0]) if order_of is None else order_of(sizes[0])
    for start in range(0, sizes[0], batch_size):
        rows = order[start : start + batch_size]
        yield packed(*[nest.map_structure(lambda a, r=rows: None if a is None else a[r], part) for part in whole])


class Sequence(Shown):
    """Base of data sets of a program's own: `__len__` says how many batches there are, `__getitem__` gives one.

    Parameters
    ----------
    workers, use_multiprocessing, max_queue_size
        Accepted for compatibility: batches are made as they are needed.
    """

    def __init__(self, workers: int = 1, use_multiprocessing: bool = False, max_queue_size: int = 10) -> None:
        self.workers, self.use_multiprocessing, self.max_queue_size = workers, use_multiprocessing, max_queue_size

    def __len__(self) -> int:
        """The number of batches."""
        raise NotImplementedError(f"{type(self).__name__} must define __len__, the number of batches")

    def __getitem__(self, index: int) -> Any:
        """One batch: ``x``, ``(x, y)`` or ``(x, y, sample_weight)``."""
        raise NotImplementedError(f"{type(self).__name__} must define __getitem__, which gives a batch")

    def on_epoch_end(self) -> None:
        """Called after each epoch of `fit`."""


def require_alone(method: str, x: Any, **beside: Any) -> None:
    """Raise unless what stands beside data can be one with them.

    Raises
    ------
    ValueError
        If `x` gives batches, which have labels and weights with them, and these are given, too; or weights of samples
        are not one array, nor in the structure of the labels.
    """
    kind = _kind_of_source(x)
    for name, value in beside.items():
        if kind and value is not None and (name != "class_weight" or kind == "a generator"):
            raise ValueError(f"{method}: argument `{name}` must be left out beside {kind}; put it into its batches")
    labels, weights = beside.get("y"), beside.get("sample_weight")
    if nest.is_nested(labels) and nest.is_nested(weights):
        nest.assert_same_structure(labels, weights)


def _kind_of_source(x: Any) -> str | None:
    """The kind of thing that gives batches; None for rows, and for a list of batches."""
    if hasattr(x, "cardinality"):
        return "a data set"
    if isinstance(x, Sequence):
        return "a Sequence"
    return "a generator" if hasattr(x, "__iter__") and not hasattr(x, "__getitem__") else None


def rows_at_once(x: Any, y: Any, batch_size: int | None, steps: int | None) -> int:
    """How many rows a batch has: by default 32, or what makes so many steps of all."""
    if batch_size or not steps or not _is_rows(x, y):
        return batch_size or 32
    return -(-len(nest.flatten(_rows(x))[0]) // steps)


def count_of_batches(x: Any, y: Any, batch_size: int) -> int | None:
    """How many `batches` there are, None if that is not known, or they do not end."""
    if _is_rows(x, y):
        return -(-len(nest.flatten(_rows(x))[0]) // batch_size)
    if hasattr(x, "cardinality"):
        return max(int(x.cardinality()), 0) or None
    return len(x) if hasattr(x, "__len__") else None


class Epochs:
    """The batches of one epoch after the other, from iterators that begin when Keras's do.

    A shuffled data set draws its order when an iterator begins; so it matters that Keras begins a new one as soon as
    the last batch is out, whether or not another epoch follows.

    Parameters
    ----------
    make : callable
        Begins.
    count : int, optional
        How many batches there are, if it is known.
    steps : int, optional
        How many an epoch has at most; the next one goes on behind them. By default all.
    """

    def __init__(self, make: Callable[[], Iterator[Any]], count: int | None, steps: int | None) -> None:
        self._make, self.count, self._steps = make, count, steps
        self._current: Iterator[Any] | None = None
        self._seen = 0
        self._some = False

    def next(self) -> Iterator[Any]:
        """The batches of an epoch."""
        if self._current is None or not self._steps:
            self._begin()
        for _ in itertools.count() if self._steps is None else range(self._steps):
            if self.count and self._seen >= self.count:
                break
            batch = next(self._current, self)  # type: ignore[arg-type]
            if batch is self:
                self._current = None
                return
            self._seen += 1
            self._some = True
            yield batch
        if self.count and self._seen >= self.count:
            self._begin()

    def require_some(self, method: str) -> None:
        """Raise ValueError if there has been no batch."""
        if not self._some:
            raise ValueError(f"{method}: the data have no batch, so nothing is done; see whether any samples are left")

    def _begin(self) -> None:
        self._current, self._seen = self._make(), 0


def _is_rows(x: Any, y: Any) -> bool:
    """Whether `x` has the rows of inputs; else it is an iterable of batches. A list of arrays is several inputs."""
    return y is not None or hasattr(x, "shape") or isinstance(x, dict) or has_arrays(x)


def has_arrays(x: Any) -> bool:
    """Whether `x` is a list or tuple of arrays."""
    return isinstance(x, (list, tuple)) and len(x) > 0 and all(hasattr(part, "shape") for part in x)


def _rows(part: Any) -> Structure[Any]:
    """Arrays of rows: a list of numbers is one, a list of arrays several."""
    if isinstance(part, (list, tuple)) and not (part and hasattr(part[0], "shape")):
        part = unmasked(part, "rows")
    return nest.map_structure(lambda a: None if a is None else _cast(unmasked(a, "rows")), part)


def _cast(array: np.ndarray) -> np.ndarray:
    """Floating numbers in the default dtype, as Keras has the rows of arrays."""
    return array.astype(floatx()) if array.dtype.kind == "f" else array
