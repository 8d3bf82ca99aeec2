"""Abstract values: what is known of a value before it exists.

An `Aval` is a shape and a dtype. Dimensions may be unknown (None), and so may the rank (shape None). Small integer
vectors such as the result of ``tf.shape`` also carry their partially known *contents*, so that
``tf.reshape(x, [tf.shape(x)[0], 3])`` is known to have 3 columns while the graph is built.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeGuard

import numpy as np

from engine.core.arguments import as_int
from engine.core.dtypes import BY_NUMPY, DType, as_dtype
from engine.runtime.cache import cached
from engine.runtime.errors import ShapeError
from engine.runtime.structs import struct

Shape = tuple[int | None, ...] | None
Known = tuple[int | None, ...] | int | None


@struct(slots=True, eq=False)
class Aval:
    """Shape and dtype of a value. Nobody changes one: it is not frozen because that makes it take four times as long.

    None inside the shape is an unknown dimension, None for the whole an unknown rank. `value` is what is known of the
    contents of an integer scalar or vector: an int, or a tuple of ints and None. It is no part of equality.
    """

    shape: Shape
    dtype: DType
    value: Known = None

    @property
    def is_static(self) -> bool:
        """Whether every dimension is known."""
        return is_known(self.shape)

    @property
    def ndim(self) -> int | None:
        """The rank, or None."""
        return None if self.shape is None else len(self.shape)

    @property
    def size(self) -> int | None:
        """Number of elements, or None if not known."""
        shape = self.shape
        return None if shape is None or None in shape else math.prod(shape)  # type: ignore[arg-type]

    @property
    def nbytes(self) -> int:
        """Bytes of the elements, 0 if their number is not known."""
        return (self.size or 0) * self.dtype.size

    @property
    def has_contents(self) -> bool:
        """Whether all of the contents are known."""
        value = self.value
        return isinstance(value, int) or (value is not None and None not in value)

    def __eq__(self, other: object) -> bool:
        return type(other) is Aval and self.shape == other.shape and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))

    def __str__(self) -> str:
        return f"{self.dtype.name}{format_shape(self.shape)}"


def aval_of_array(array: Any) -> Aval:
    """The abstract value of a NumPy array or scalar."""
    dtype = array.dtype
    return Aval(array.shape, BY_NUMPY.get(dtype) or as_dtype(dtype))


def is_known(shape: Shape) -> TypeGuard[tuple[int, ...]]:
    """Whether rank and dimensions are all known."""
    return shape is not None and None not in shape


def sum_dims(dims: Sequence[int | None]) -> int | None:
    """The sum of dimensions; None if one of them is unknown."""
    known = [d for d in dims if d is not None]
    return sum(known) if len(known) == len(dims) else None


def format_shape(shape: Shape) -> str:
    """``(2, ?)`` for a shape with an unknown dimension, ``<unknown rank>`` for none."""
    if shape is None:
        return "<unknown rank>"
    inner = ", ".join("?" if d is None else str(d) for d in shape)
    return f"({inner},)" if len(shape) == 1 else f"({inner})"


def normalize_shape(shape: Any) -> Shape:
    """A shape in any of the forms programs write (int, list, TensorShape, None) as a tuple of ints and Nones."""
    if shape is None:
        return None
    if hasattr(shape, "as_tuple"):
        return shape.as_tuple()
    if isinstance(shape, (int, np.integer)):
        return (int(shape),)
    dims = []
    for dim in shape:
        dim = getattr(dim, "value", dim)
        if dim is not None:
            dim = as_int("shape", "dimension", dim)
            if dim < -1:
                raise ShapeError(f"a dimension must be >= 0 or None, got {dim} in shape {tuple(shape)}")
        dims.append(None if dim == -1 else dim)
    return tuple(dims)


def broadcast_shapes(name: str, *shapes: Shape) -> Shape:
    """The shape that NumPy's broadcasting gives, with unknown dimensions.

    If two known dimensions differ and neither is 1, there is a ShapeError, which names `name` and shows all shapes.
    """
    first = shapes[0]
    return first if shapes.count(first) == len(shapes) else _broadcast(name, shapes)


@cached(1 << 12)
def _broadcast(name: str, shapes: tuple[Shape, ...]) -> Shape:
    """The same for shapes that differ."""
    if None in shapes:
        return None
    rank = max(len(s) for s in shapes if s is not None)
    out: list[int | None] = []
    for axis in range(-rank, 0):
        dims = [s[axis] for s in shapes if s is not None and len(s) >= -axis]
        known = {d for d in dims if d is not None and d != 1}
        if len(known) > 1:
            shown = " and ".join(format_shape(s) for s in shapes)
            raise ShapeError(f"{name}: Incompatible shapes for broadcasting: {shown} (dimension {axis}: {dims})")
        if known:
            out.append(known.pop())
        else:
            out.append(None if None in dims else 1)
    return tuple(out)


def merge_shapes(a: Shape, b: Shape) -> Shape:
    """The most specific shape compatible with both, or a ShapeError."""
    if a is None or b is None:
        return b if a is None else a
    if not compatible(a, b):
        raise ShapeError(f"shapes {format_shape(a)} and {format_shape(b)} are not compatible")
    return tuple(q if p is None else p for p, q in zip(a, b, strict=True))


def common_shape(a: Shape, b: Shape) -> Shape:
    """The shape of a value that is of one of two shapes: what these differ in is not known."""
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple([p if p == q else None for p, q in zip(a, b, strict=True)])


def compatible(a: Shape, b: Shape) -> bool:
    """Whether some fully known shape fits both."""
    if a is None or b is None or a == b:
        return True
    return len(a) == len(b) and all(p is None or q is None or p == q for p, q in zip(a, b, strict=True))
