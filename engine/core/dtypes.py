"""Element types. One object per type, with TensorFlow's names and NumPy's types behind them."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import numpy as np

from engine.core import nest
from engine.runtime.errors import DTypeError


class DType:
    """The type of a tensor's elements.

    One instance exists per type (``float32``, ``int64``, ...), so identity is equality; comparison also accepts
    whatever `as_dtype` accepts, so ``t.dtype == np.float32`` and ``t.dtype == "float32"`` work.

    Examples
    --------
    >>> float32.as_numpy_dtype
    <class 'numpy.float32'>
    >>> float32.is_floating, int8.max, complex64.real_dtype
    (True, 127, tf.float32)
    """

    __slots__ = (
        "as_numpy_dtype", "is_bool", "is_complex", "is_differentiable", "is_floating", "is_integer", "is_unsigned",
        "name", "numpy",
    )  # fmt: skip

    def __new__(cls, type_value: Any) -> DType:
        """The type: a new one of a name, or the one that there is of TensorFlow's number."""
        return super().__new__(cls) if isinstance(type_value, str) else as_dtype(type_value)

    def __init__(self, name: Any) -> None:
        if not isinstance(name, str):
            return  # there is one, and `__new__` has found it
        self.name = name
        self.numpy: np.dtype[Any] = np.dtype(object if name == "string" else name)
        self.as_numpy_dtype = self.numpy.type
        kind = self.numpy.kind
        self.is_floating = kind == "f"
        self.is_complex = kind == "c"
        self.is_integer = kind in "iu"
        self.is_unsigned = kind == "u"
        self.is_bool = kind == "b"
        self.is_differentiable = kind in "fc"

    @property
    def base_dtype(self) -> DType:
        """The type itself (there are no reference types)."""
        return self

    @property
    def real_dtype(self) -> DType:
        """The type of the real part: ``float32`` for ``complex64``, itself for real types."""
        return {complex64: float32, complex128: float64}.get(self, self)

    dtype: Any = property(attrgetter("numpy"), doc="NumPy's, which NumPy asks for: ``np.zeros(3, t.dtype)``.")
    kind: Any = property(attrgetter("numpy.kind"), doc="NumPy's letter for the kind of type: ``f`` for floating ones.")
    itemsize: Any = property(attrgetter("numpy.itemsize"), doc="Bytes per element, by NumPy's name for it.")
    type: Any = property(attrgetter("numpy.type"), doc="The class of NumPy's scalars.")
    size: Any = property(attrgetter("numpy.itemsize"), doc="Bytes per element.")

    @property
    def is_numeric(self) -> bool:
        """Whether it is of numbers: all but bools and strings."""
        return self.numpy.kind in "fciu"

    is_numpy_compatible, is_quantized = True, False
    """All are NumPy's; TensorFlow's quantized types are not here."""

    @property
    def as_datatype_enum(self) -> int:
        """TensorFlow's number for it, as messages of graphs hold it."""
        return next(number for number, name in NUMBERS.items() if name == self.name)

    def _bounds(self, which: str) -> Any:
        if self.is_floating:
            return np.finfo(self.numpy)
        if self.is_integer:
            return np.iinfo(self.numpy)
        raise TypeError(f"Cannot find {which} value of {self}")

    @property
    def min(self) -> int | float:
        """Smallest finite value; TypeError of a type without order."""
        return self._bounds("minimum").min

    @property
    def max(self) -> int:
        """Largest finite value; TypeError of a type without order."""
        return self._bounds("maximum").max

    @property
    def limits(self) -> tuple[int | float, int | float]:
        """The bounds of intensities in pictures: 0 and 1 of floats, 0 and the largest number of integers."""
        return (0, 1) if self.is_floating or self.is_bool else (0, self.max)

    def is_compatible_with(self, other: Any) -> bool:
        """Whether `other` names the same type."""
        return self is as_dtype(other)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DType) or other is None:
            return self is other
        try:
            return self is as_dtype(other)
        except TypeError:
            return NotImplemented

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"tf.{self.name}"

    def __str__(self) -> str:
        return f"<dtype: '{self.name}'>"

    def __reduce__(self) -> tuple[Any, ...]:
        return as_dtype, (self.name,)


NUMBERS = {
    1: "float32", 2: "float64", 3: "int32", 4: "uint8", 5: "int16", 6: "int8", 7: "string", 8: "complex64", 9: "int64",
    10: "bool", 17: "uint16", 18: "complex128", 19: "float16", 22: "uint32", 23: "uint64",
}  # fmt: skip
"""TensorFlow's numbers for dtypes, ``DataType``; 100 more stand for a reference to one."""

float16, float32, float64 = DType("float16"), DType("float32"), DType("float64")
complex64, complex128 = DType("complex64"), DType("complex128")
int8, int16, int32, int64 = DType("int8"), DType("int16"), DType("int32"), DType("int64")
uint8, uint16, uint32, uint64 = DType("uint8"), DType("uint16"), DType("uint32"), DType("uint64")
bool_ = DType("bool")
string = DType("string")
"""Strings of bytes, in arrays of objects. Only ops that look at no elements, or say so, take them."""

ALL = (
    float16, float32, float64, complex64, complex128, int8, int16, int32, int64, uint8, uint16, uint32, uint64, bool_,
)  # fmt: skip
FLOATING = frozenset(d for d in ALL if d.is_floating)
COMPLEX = frozenset(d for d in ALL if d.is_complex)
INEXACT = FLOATING | COMPLEX
INTEGER = frozenset(d for d in ALL if d.is_integer)
REAL = FLOATING | INTEGER
NUMERIC = INEXACT | INTEGER
BOOL = frozenset([bool_])
ANY = frozenset(ALL)

BY_NUMPY = {d.numpy: d for d in (*ALL, string)}
_BY_NAME = {d.name: d for d in (*ALL, string)} | {"half": float16, "float": float32, "double": float64}
_KNOWN: dict[Any, DType] = (
    BY_NUMPY
    | {d.numpy.type: d for d in ALL}
    | {float: float32, int: int32, bool: bool_, complex: complex128, str: string, bytes: string}
)


def as_dtype(type_value: Any) -> DType:
    """Return the `DType` that `type_value` stands for.

    Parameters
    ----------
    type_value : DType, numpy.dtype, NumPy scalar type, Python type, str or int
        Python's ``float`` and ``int`` mean ``float32`` and ``int32``, as in TensorFlow. A number is of `NUMBERS`, as
        nodes of graphs hold it.

    Raises
    ------
    DTypeError
        If it stands for none of ours (say, dates).

    Examples
    --------
    >>> as_dtype("double"), as_dtype(np.int16), as_dtype(float)
    (tf.float64, tf.int16, tf.float32)
    """
    if isinstance(type_value, DType):
        return type_value
    if isinstance(type_value, (np.dtype, type)) and (known := _KNOWN.get(type_value)) is not None:
        return known
    if type_value is None:
        raise DTypeError("a dtype is needed, got None")  # NumPy would take it for float64
    if type(type_value) is int and type_value % 100 in NUMBERS and type_value < 200:
        type_value = NUMBERS[type_value % 100]
    if isinstance(type_value, str) and type_value in _BY_NAME:
        return _BY_NAME[type_value]
    try:
        return BY_NUMPY[np.dtype(type_value).newbyteorder("=")]
    except (TypeError, KeyError):
        supported = ", ".join(d.name for d in ALL)
        raise DTypeError(f"{type_value!r} is not a supported dtype; supported are {supported}") from None


def require_declared(name: str, result: Any, dtypes: Any) -> None:
    """Raise unless results have the dtypes that were declared."""
    if dtypes is None:
        return
    leaves, specs = nest.flatten(result), nest.flatten(dtypes)
    if len(leaves) != len(specs):
        raise ValueError(f"{name}: argument `dtype` declares {len(specs)} results, but `fn` returns {len(leaves)}")
    for x, spec in zip(leaves, specs, strict=True):
        wanted = as_dtype(getattr(spec, "dtype", spec))
        if x.dtype is not wanted:
            raise DTypeError(f"{name}: argument `dtype` says {wanted.name}, but `fn` returns {x.dtype.name}; cast it")
