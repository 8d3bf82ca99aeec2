"""`TensorShape`: the shape of a tensor as users see it, in both front ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from engine.core.aval import Shape, compatible, merge_shapes, normalize_shape
from engine.runtime.errors import ShapeError


class Dimension(int):
    """A known dimension: an int that also answers TensorFlow 1's ``.value``."""

    @property
    def value(self) -> int:
        """The dimension as a plain int."""
        return int(self)


class TensorShape:
    """A shape with possibly unknown dimensions or unknown rank.

    Parameters
    ----------
    dims : None, int, sequence of (int or None), or TensorShape
        None means unknown rank.

    Examples
    --------
    >>> s = TensorShape([None, 3])
    >>> s.as_list(), s.rank, s[1], s.is_compatible_with([5, 3])
    ([None, 3], 2, 3, True)
    """

    __slots__ = ("_dims",)
    unknown_dimension: Any = None

    def __init__(self, dims: Any = None) -> None:
        if isinstance(dims, (list, tuple)) and -1 in dims:
            raise ShapeError(f"Dimension -1 must be >= 0; None stands for a dimension that is not known, in {dims!r}")
        self._dims = normalize_shape(dims)

    def as_tuple(self) -> Shape:
        """The dimensions as a tuple (None for an unknown rank)."""
        return self._dims

    def as_list(self) -> list[int | None]:
        """The dimensions as a list.

        Raises
        ------
        ValueError
            If the rank is unknown.
        """
        return list(self._known("as_list"))

    def _known(self, what: str) -> tuple[int | None, ...]:
        if self._dims is None:
            raise ShapeError(
                f"TensorShape.{what}: the rank is unknown; set it with set_shape, or ask tf.shape at run time"
            )
        return self._dims

    @property
    def rank(self) -> int | None:
        """Number of dimensions, or None."""
        return None if self._dims is None else len(self._dims)

    ndims = rank

    @property
    def dims(self) -> list[Any] | None:
        """The dimensions, or None for an unknown rank."""
        return None if self._dims is None else [self._dimension(d) for d in self._dims]

    def _dimension(self, d: int | None) -> Dimension | None:
        return self.unknown_dimension if d is None else Dimension(d)

    def num_elements(self) -> int | None:
        """Number of elements, or None if it is not known."""
        if self._dims is None or None in self._dims:
            return None
        total = 1
        for d in self._dims:
            total *= d or 0
        return total

    def is_fully_defined(self) -> bool:
        """Whether every dimension is known."""
        return self._dims is not None and None not in self._dims

    def is_compatible_with(self, other: Any) -> bool:
        """Whether some fully known shape fits both."""
        return compatible(self._dims, normalize_shape(other))

    def merge_with(self, other: Any) -> TensorShape:
        """The most specific shape that fits both, or a ShapeError."""
        return type(self)(merge_shapes(self._dims, normalize_shape(other)))

    def concatenate(self, other: Any) -> TensorShape:
        """The dimensions of both, one after the other."""
        dims = normalize_shape(other)
        return type(self)(None if self._dims is None or dims is None else self._dims + dims)

    def with_rank(self, rank: int) -> TensorShape:
        """This shape, known to have the given rank, or a ShapeError."""
        return self.merge_with([None] * rank)

    def with_rank_at_least(self, rank: int) -> TensorShape:
        """This shape, or a ShapeError if its rank is known to be less."""
        return self._being(self.rank is None or self.rank >= rank, f"must have rank at least {rank}")

    def with_rank_at_most(self, rank: int) -> TensorShape:
        """This shape, or a ShapeError if its rank is known to be more."""
        return self._being(self.rank is None or self.rank <= rank, f"must have rank at most {rank}")

    def assert_same_rank(self, other: Any) -> None:
        """Raise ShapeError unless the ranks are (or may be) equal."""
        if (dims := normalize_shape(other)) is not None:
            self.with_rank(len(dims))

    def assert_is_compatible_with(self, other: Any) -> None:
        """Raise ShapeError unless compatible."""
        self.merge_with(other)

    def assert_has_rank(self, rank: int) -> None:
        """Raise ShapeError unless the rank is (or may be) the given one."""
        self.with_rank(rank)

    def assert_is_fully_defined(self) -> None:
        """Raise ShapeError unless every dimension is known."""
        self._being(self.is_fully_defined(), "is not fully defined")

    def _being(self, so: bool, otherwise: str) -> TensorShape:
        if not so:
            raise ShapeError(f"shape {self} {otherwise}")
        return self

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return type(self)(_part_of_unknown(key) if self._dims is None else self._dims[key])
        if self._dims is None:
            return self.unknown_dimension
        return self._dimension(self._dims[key])

    def __len__(self) -> int:
        return len(self._known("__len__"))

    def __iter__(self) -> Iterator[Any]:
        return iter([self._dimension(d) for d in self._known("__iter__")])

    def __bool__(self) -> bool:
        return self._dims is not None

    def __eq__(self, other: object) -> bool:
        if other is None:
            return self._dims is None
        try:
            return self._dims == normalize_shape(other)
        except (TypeError, ValueError):
            return NotImplemented

    def __hash__(self) -> int:
        return hash(self._dims)

    def __add__(self, other: Any) -> TensorShape:
        return self.concatenate(other)

    def __radd__(self, other: Any) -> TensorShape:
        return type(self)(other).concatenate(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._dims,)

    def __repr__(self) -> str:
        return f"TensorShape({None if self._dims is None else list(self._dims)})"

    def __str__(self) -> str:
        if self._dims is None:
            return "<unknown>"
        return "(" + ", ".join(str(d) for d in self._dims) + ("," if len(self._dims) == 1 else "") + ")"


def _part_of_unknown(key: slice) -> list[None] | None:
    """The dimensions that a slice takes from a shape of unknown rank: their number is known if both ends are."""
    start, stop = key.start or 0, key.stop
    if stop is None or key.step not in (None, 1) or (start < 0) != (stop < 0):
        return None
    return [None] * max(0, stop - start)
