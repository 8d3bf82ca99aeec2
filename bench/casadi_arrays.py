"""CasADi's matrices as arrays of any rank, under TensorFlow's names: as much as the problems use.

CasADi knows columns. An array here is a column of its elements, in NumPy's order, and a shape; what moves elements
about is done once to their numbers, by NumPy, and the column is indexed with the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np


class CasadiArray:
    """A column of elements and a shape.

    Parameters
    ----------
    column : casadi.SX or casadi.MX
    shape : tuple of int
    """

    __array_ufunc__ = None  # NumPy leaves operators to us

    def __init__(self, column: Any, shape: tuple[int, ...]) -> None:
        self.column = column
        self.shape = shape

    @property
    def places(self) -> np.ndarray:
        """The numbers of the elements, in the array's shape."""
        return np.arange(self.column.numel()).reshape(self.shape)

    def take(self, places: Any) -> CasadiArray:
        """The elements at some places."""
        if np.array_equal(places.ravel(), np.arange(self.column.numel())):
            return CasadiArray(self.column, places.shape)
        return CasadiArray(self.column[places.ravel().tolist()], places.shape)

    def __getitem__(self, key: Any) -> CasadiArray:
        return self.take(self.places[key])

    def __neg__(self) -> CasadiArray:
        return CasadiArray(-self.column, self.shape)

    def __add__(self, other: Any) -> CasadiArray:
        return _binary(self, other, lambda x, y: x + y)

    def __sub__(self, other: Any) -> CasadiArray:
        return _binary(self, other, lambda x, y: x - y)

    def __mul__(self, other: Any) -> CasadiArray:
        return _binary(self, other, lambda x, y: x * y)

    def __truediv__(self, other: Any) -> CasadiArray:
        return _binary(self, other, lambda x, y: x / y)

    __radd__, __rmul__ = __add__, __mul__

    def __rtruediv__(self, other: Any) -> CasadiArray:
        return _binary(other, self, lambda x, y: x / y)

    def __rsub__(self, other: Any) -> CasadiArray:
        return _binary(other, self, lambda x, y: x - y)


def _binary(x: Any, y: Any, function: Callable[[Any, Any], Any]) -> CasadiArray:
    shape = np.broadcast_shapes(_shape(x), _shape(y))
    return CasadiArray(function(_column(x, shape), _column(y, shape)), shape)


def _shape(x: Any) -> tuple[int, ...]:
    return x.shape if isinstance(x, CasadiArray) else np.shape(x)


def _column(x: Any, shape: tuple[int, ...]) -> np.ndarray:
    """A column that fits the shape; a single number fits as it is."""
    if not isinstance(x, CasadiArray):
        return x if np.ndim(x) == 0 else np.broadcast_to(x, shape).ravel()
    return x.column if x.column.numel() == 1 else x.take(np.broadcast_to(x.places, shape)).column


class CasadiNamespace:
    """CasADi under TensorFlow's names.

    Parameters
    ----------
    casadi : module
    kind : type
        ``casadi.SX`` (a graph of numbers) or ``casadi.MX`` (a graph of matrices).
    """

    def __init__(self, casadi: Any, kind: Any) -> None:
        self._casadi, self._kind = casadi, kind
        self.sin, self.cos = self._elementwise(casadi.sin), self._elementwise(casadi.cos)
        self.tanh, self.sqrt = self._elementwise(casadi.tanh), self._elementwise(casadi.sqrt)
        self.exp = self._elementwise(casadi.exp)
        self.math = SimpleNamespace(log=self._elementwise(casadi.log))
        self.nn = SimpleNamespace(softplus=self._elementwise(lambda x: casadi.log1p(casadi.exp(x))))

    @staticmethod
    def _elementwise(function: Callable[[Any], Any]) -> Callable[[CasadiArray], CasadiArray]:
        return lambda x: CasadiArray(function(x.column), x.shape)

    def constant(self, x: Any) -> np.ndarray | CasadiArray:
        """Numbers; integers stay as they are, as they are indices."""
        x = np.asarray(x)
        return x if x.dtype.kind in "iu" else CasadiArray(self._kind(self._casadi.DM(x.ravel())), x.shape)

    def reshape(self, x: CasadiArray, shape: Sequence[int]) -> CasadiArray:
        """The same elements in another shape."""
        return CasadiArray(x.column, x.places.reshape(shape).shape)

    def transpose(self, x: CasadiArray, order: Sequence[int]) -> CasadiArray:
        """Axes in another order."""
        return x.take(x.places.transpose(order))

    def roll(self, x: CasadiArray, shift: int, axis: int) -> CasadiArray:
        """Elements moved around."""
        return x.take(np.roll(x.places, shift, axis))

    def gather(self, x: CasadiArray, indices: Any) -> CasadiArray:
        """Some rows."""
        return x.take(x.places[indices])

    def unstack(self, x: CasadiArray, axis: int = 0) -> list[CasadiArray]:
        """The slices along an axis."""
        return [x.take(np.take(x.places, i, axis)) for i in range(x.shape[axis])]

    def stack(self, values: Sequence[CasadiArray], axis: int = 0) -> CasadiArray:
        """Arrays along a new axis."""
        return self._join(values, lambda places: np.stack(places, axis))

    def concat(self, values: Sequence[CasadiArray], axis: int = 0) -> CasadiArray:
        """Arrays along an axis they have."""
        return self._join(values, lambda places: np.concatenate(places, axis))

    def _join(self, values: Sequence[CasadiArray], join: Callable[[list[Any]], Any]) -> CasadiArray:
        starts = np.cumsum([0, *(v.column.numel() for v in values)])
        places = join([v.places + start for v, start in zip(values, starts, strict=False)])
        column = self._casadi.vertcat(*(v.column for v in values))
        return CasadiArray(column, (int(starts[-1]),)).take(places)

    def reduce_sum(self, x: CasadiArray) -> CasadiArray:
        """The sum of all elements."""
        return CasadiArray(self._casadi.sum1(x.column), ())

    def reduce_mean(self, x: CasadiArray) -> CasadiArray:
        """The mean of all elements."""
        return self.reduce_sum(x) * (1 / x.column.numel())
