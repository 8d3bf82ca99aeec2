"""`Value`: the base of everything that flows through ops.

Three kinds of value exist besides plain arrays: eager ones (`engine.core.eager`), symbolic ones (`engine.core.trace`)
and batched ones (`engine.core.batching`). They share operators (installed by `engine.numpy_api.operators`) and one
method, `_bind`: calling an `Op` asks the most abstract of its operands what applying the op to it means.

Plain NumPy arrays are values too, as far as ops are concerned ("raw" values): an op applied to raw operands is its
kernel. The walks use that to run gradient rules at NumPy's own speed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import FrameType, MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np

from engine.core.aval import Aval, Shape, aval_of_array
from engine.core.dtypes import BY_NUMPY, DType, as_dtype, string
from engine.core.operands import Array, Operand, Results
from engine.core.tensor_shape import TensorShape
from engine.runtime.errors import DTypeError, InvalidArgumentError, NotKnownYet, ShapeError


class Value:
    """Something an op can be applied to."""

    __slots__ = ()
    level: int = 0
    """Who decides when operands of several kinds meet: the highest level does. Eager values have level 0, symbolic
    ones 1, batched ones 10 and more (one more for each nested batching), variables 1000 (they are read first)."""
    # NumPy must not treat a Value as a sequence to loop over, nor win ``ndarray + value``.
    __array_priority__ = 100.0

    if TYPE_CHECKING:
        # Python's operators, which `engine.numpy_api.operators` defines: a tensor gives a tensor of its kind
        def __getitem__(self, key: Any, /) -> Self: ...
        def __add__(self, other: Any, /) -> Self: ...
        def __radd__(self, other: Any, /) -> Self: ...
        def __sub__(self, other: Any, /) -> Self: ...
        def __rsub__(self, other: Any, /) -> Self: ...
        def __mul__(self, other: Any, /) -> Self: ...
        def __rmul__(self, other: Any, /) -> Self: ...
        def __truediv__(self, other: Any, /) -> Self: ...
        def __rtruediv__(self, other: Any, /) -> Self: ...
        def __floordiv__(self, other: Any, /) -> Self: ...
        def __rfloordiv__(self, other: Any, /) -> Self: ...
        def __mod__(self, other: Any, /) -> Self: ...
        def __rmod__(self, other: Any, /) -> Self: ...
        def __pow__(self, other: Any, /) -> Self: ...
        def __rpow__(self, other: Any, /) -> Self: ...
        def __matmul__(self, other: Any, /) -> Self: ...
        def __rmatmul__(self, other: Any, /) -> Self: ...
        def __and__(self, other: Any, /) -> Self: ...
        def __or__(self, other: Any, /) -> Self: ...
        def __xor__(self, other: Any, /) -> Self: ...
        def __lt__(self, other: Any, /) -> Self: ...
        def __le__(self, other: Any, /) -> Self: ...
        def __gt__(self, other: Any, /) -> Self: ...
        def __ge__(self, other: Any, /) -> Self: ...
        def __neg__(self) -> Self: ...
        def __pos__(self) -> Self: ...
        def __abs__(self) -> Self: ...
        def __invert__(self) -> Self: ...

        # and what `engine.core.operands.Operand` asks for besides, which each kind of value defines or refuses
        @property
        def ndim(self) -> Any: ...  # noqa: D102 - None in a graph where it is not known
        def __array__(self, dtype: Any = None, /) -> np.ndarray: ...
        def __len__(self) -> int: ...
        def __iter__(self) -> Iterator[Self]: ...
        def __bool__(self) -> bool: ...
        def __int__(self) -> int: ...
        def __float__(self) -> float: ...

    @property
    def aval(self) -> Aval:
        """Shape and dtype."""
        raise AttributeError(f"{type(self).__name__} does not define `aval`")

    @property
    def dtype(self) -> DType:
        """Element type."""
        return self.aval.dtype

    @property
    def _shape(self) -> Shape:
        """The static shape as a tuple, None where not known (`shape` is the front ends' richer object)."""
        return self.aval.shape

    @property
    def shape(self) -> TensorShape:
        """The shape, as users see it."""
        return TensorShape(self._shape)

    def get_shape(self) -> TensorShape:
        """The shape (TensorFlow 1's spelling)."""
        return self.shape

    def _enter(self, op: Any, inputs: tuple[Any, ...], params: dict[str, Any]) -> Results:
        """Apply `op` to `inputs`, the first value among which is this one: the one of the highest level decides."""
        top = self
        for x in inputs:
            if isinstance(x, Value) and x.level > top.level:
                top = x
        return top._bind(op, inputs, params)

    def _bind(self, op: Any, inputs: tuple[Any, ...], params: dict[str, Any]) -> Results:
        """Apply `op` to `inputs`, among which this value has the highest level."""
        raise AttributeError(f"{type(self).__name__} does not define `_bind`")


class Zero:
    """A cotangent or tangent known to be zero, which nobody needs to compute or add.

    A gradient rule may return it. It is not None: None appears in public results only and means "not connected".
    """

    __slots__ = ("aval",)

    def __init__(self, aval: Aval) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"Zero({self.aval})"


def not_an_array(caller: FrameType) -> np.ndarray | None:
    """Answer ``__array__`` where SciPy would rather leave a product to the other operand; None elsewhere.

    ``sparse_matrix @ value`` asks `value` for its array. An array of rank 0 of an object says that it has none, and
    Python goes on to ask for ``value.__rmatmul__``.
    """
    if caller.f_code.co_name not in ("_matmul_dispatch", "_rmatmul_dispatch"):
        return None
    return np.empty((), object) if caller.f_globals.get("__name__", "").startswith("scipy.sparse") else None


address = object.__hash__
"""A number that no other object has as long as this one lives.

Like `id`, but not an event that audit hooks are told of: such a hook, which packages set for reasons of their own
(filelock does, and with it PyTorch and JAX), makes each `id` take ten times as long.
"""


def aval_of(x: Any) -> Aval:
    """Shape and dtype of any value, raw ones included."""
    return x.aval if isinstance(x, Value) else aval_of_array(x)


def shape_of(x: Any) -> Shape:
    """Static shape of any value as a tuple (None where not known)."""
    return x._shape if isinstance(x, Value) else x.shape


def known_shape(x: Any, what: str) -> tuple[int, ...]:
    """Static shape of a value, which must be known: else there is a ShapeError that starts with `what`."""
    shape = x._shape if isinstance(x, Value) else x.shape
    if shape is None or None in shape:
        raise NotKnownYet(f"{what}: the shape of {x!r} must be known, got {aval_of(x)}; set it with set_shape")
    return shape  # type: ignore[return-value]


def shape_of_rank(name: str, argument: str, x: Any, least: int = 1) -> tuple[int | None, ...]:
    """Static shape of an argument, whose rank must be known and at least `least`: else there is a ShapeError."""
    shape = shape_of(x)
    if shape is None or len(shape) < least:
        raise ShapeError(f"{name}: argument `{argument}` must have a known rank of at least {least}, got shape {shape}")
    return shape


def dtype_of(x: Any) -> DType:
    """Dtype of any value."""
    if isinstance(x, Value):
        return x.dtype
    return BY_NUMPY.get(x.dtype) or as_dtype(x.dtype)


def differentiable(values: Sequence[Any]) -> list[int]:
    """The indices of the values that have derivatives."""
    return [i for i, x in enumerate(values) if dtype_of(x).is_differentiable]


def as_array(value: Any, dtype: Any = None, name: str = "value") -> Array:
    """Convert Python and NumPy data to an array (or NumPy scalar) by TensorFlow's rules.

    Python floats become float32, Python ints int32, Python complex numbers complex128; NumPy data keep their dtype.
    With `dtype` given, Python numbers take it; NumPy data of another dtype are converted only where no value changes
    kind (an int becomes a float, never the reverse).

    Raises
    ------
    DTypeError
        If the data are of no supported dtype, or would change kind.
    ValueError
        If `value` is None or ragged.
    """
    if value is None:
        raise ValueError(f"{name}: None values not supported.")
    wanted = None if dtype is None else as_dtype(dtype)
    if wanted is not None and wanted.is_differentiable and (type(value) is float or type(value) is int):
        try:
            return wanted.as_numpy_dtype(value)  # the common case, made quick
        except OverflowError:
            raise DTypeError(
                f"{name}: an integer of {int(value).bit_length()} bits does not fit {wanted.name}"
            ) from None
    if wanted is None and type(value) is float:
        return np.array(value, np.float32)
    if type(value) is int and (wanted is None or wanted.is_integer):
        target = _INT32 if wanted is None else wanted.numpy
        low, high = _LIMITS[target]
        if low <= value <= high:
            return np.array(value, target)
    numpy_like = isinstance(value, (np.ndarray, np.generic))
    if numpy_like:
        check_unmasked(value, name)
    elif hasattr(value, "__array__") or hasattr(value, "__dlpack__"):
        value, numpy_like = _array_of(value), True
    try:
        array = value if numpy_like else unmasked(value, name)
    except ValueError as error:
        if isinstance(error, InvalidArgumentError):
            raise
        if "inhomogeneous" in str(error):
            raise ValueError(
                f"{name}: Can't convert non-rectangular Python sequence to Tensor: parts of {value!r} differ in length"
            ) from None
        raise ValueError(f"{name}: cannot make one tensor of {value!r}: {error}") from None
    if array.dtype.kind == "O" and (array.size or wanted is not string):
        array = _of_objects(array)
    if array.dtype.kind in "OSU" and (wanted is None or wanted is string):
        return _strings(value, name)
    if wanted is None:
        wanted = _dtype_of_array(array, name) if numpy_like else _default_dtype(value, array, name)
    elif not array.size and not numpy_like:
        return array.astype(wanted.numpy)  # an empty list is of every dtype
    return _converted(array, wanted, name)


def held_in(x: Any) -> Any:
    """The value that an object of another library holds, or nested lists of elements with values; None if it has none.

    NumPy's arrays of objects may have values for elements, and xarray's hold any array as their data.
    """
    if isinstance(x, np.ndarray):
        is_one = x.dtype.kind == "O" and any(isinstance(i, Value) for i in x.flat)
        return x.tolist() if is_one else None
    if isinstance(x, (Value, np.generic)) or not hasattr(x, "__array__"):
        return None
    data = getattr(x, "data", None)
    return data if isinstance(data, Value) else held_in(data) if type(data) is np.ndarray else None


def numbers_of(x: Any, name: str = "value") -> np.ndarray:
    """Numbers that a solver, a file or another library hands over, as an array of a dtype of ours.

    The order of bytes is the machine's then, and floating numbers have 64 bits at most. Objects that are numbers are
    what NumPy makes of a list of them.

    Raises
    ------
    DTypeError
        If it holds no numbers.
    InvalidArgumentError
        If a mask hides some of it.
    """
    check_unmasked(x, name)
    array = _array_of(x)
    if array.dtype.kind == "O":
        array = _of_objects(array)
    return array if array.dtype in BY_NUMPY else array.astype(_dtype_of_array(array, name, _SHORTER).numpy)


_SHORTER = {"g": np.float64, "G": np.complex128}
"""By NumPy's letters for floating numbers of more than 64 bits."""


_PLAIN = frozenset({bool, int, float, complex, str, bytes, np.ndarray})


def check_unmasked(x: Any, name: str) -> None:
    """Raise if a mask hides something: a tensor has none, so that what is hidden would count."""
    if type(x) in (list, tuple):
        if not _PLAIN.issuperset(map(type, x)):
            for part in x:
                check_unmasked(part, name)
    elif isinstance(x, np.ndarray) and type(x) is not np.ndarray and np.ma.is_masked(x):
        hidden = np.count_nonzero(np.ma.getmaskarray(x))
        raise InvalidArgumentError(
            f"{name}: the mask of the array hides {hidden} of {x.size} elements, and a tensor has no "
            f"mask. Choose the others (x.compressed()), fill them in (x.filled(0.0)), or weigh them"
        )


def _array_of(x: Any) -> np.ndarray:
    is_only_shared = hasattr(x, "__dlpack__") and not hasattr(x, "__array__")
    return np.from_dlpack(x) if is_only_shared else np.asarray(x)


def unmasked(x: Any, name: str) -> np.ndarray:
    """An array of `x`, which must have no mask that hides something."""
    check_unmasked(x, name)
    return np.asarray(x)


def _of_objects(array: Any) -> np.ndarray:
    """An array of numbers of any type (fractions, decimals) as one of NumPy's; whatever else it holds, as it is."""
    try:
        converted = np.asarray(array.tolist())
        kinds = set(map(type, array.flat))
        if converted.dtype.kind == "O" and kinds != {int} and all(hasattr(kind, "__float__") for kind in kinds):
            converted = array.astype(np.float64)
    except (ValueError, TypeError):
        return array
    return converted if converted.shape == array.shape and converted.dtype.kind in _RANK_OF_KIND else array


def _strings(value: Any, name: str) -> np.ndarray:
    """Strings as an array of bytes; those of Python are encoded in UTF-8."""
    texts = value.astype(object) if isinstance(value, np.ndarray) else np.array(value, object)
    flat = [x.encode() if isinstance(x, str) else x for x in texts.ravel().tolist()]
    if not {bytes}.issuperset(map(type, flat)):
        raise _conversion_error(name, texts, None)
    return np.fromiter(flat, object, len(flat)).reshape(texts.shape)


class NotCopied:
    """An object that cannot be copied or pickled, and says so: part of its meaning is that there is one of it."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} cannot be copied or pickled; make another one instead")


def boxed(element: Any) -> Array:
    """An element of an array as a value: a string, which NumPy hands out bare, in an array of rank 0."""
    if type(element) is not bytes:
        return element
    array = np.empty((), object)
    array[()] = element
    return array


def scalar(array: Any) -> Array:
    """An array of rank 0 as a NumPy scalar, where NumPy has one; other arrays as they are."""
    return array if array.ndim or array.dtype.kind == "O" else array[()]


def _dtype_of_array(array: Any, name: str, instead: Mapping[str, Any] = MappingProxyType({})) -> DType:
    try:
        return as_dtype(instead.get(array.dtype.char, array.dtype))
    except TypeError:
        raise _conversion_error(name, array, None) from None


def _default_dtype(value: Any, array: np.ndarray, name: str) -> DType:
    """TensorFlow's dtype for Python data: that of its first NumPy item if any, else 32-bit."""
    item = value
    while isinstance(item, (list, tuple)) and item:
        item = item[0]
    if isinstance(item, (np.ndarray, np.generic)):
        return as_dtype(array.dtype)
    if array.size == 0 and array.dtype == np.float64:
        return as_dtype(np.float32)
    kind = array.dtype.kind
    try:
        if kind == "i":
            return as_dtype(np.int32 if fits(array, _INT32) else np.int64)
        return as_dtype(_OF_PYTHON_KIND.get(kind, array.dtype))
    except TypeError:
        raise _conversion_error(name, array, None) from None


_OF_PYTHON_KIND = {"f": np.float32, "c": np.complex128}


_INT32 = np.dtype(np.int32)
_LIMITS = {np.dtype(kind): (int(np.iinfo(kind).min), int(np.iinfo(kind).max)) for kind in "bBhHiIlLqQ"}
"""The least and the largest number of each integer dtype."""


def fits(array: Any, dtype: np.dtype) -> bool:
    """Whether all of some numbers lie within the limits of an integer dtype."""
    low, high = _LIMITS[dtype]
    return not array.size or bool(low <= array.min() and array.max() <= high)


def as_declared(value: Any, dtype: DType, name: str) -> Operand:
    """The result of a user's function, as an array of the dtype it was said to return, which Python numbers take.

    An array of another dtype is refused by a DTypeError.
    """
    have = getattr(value, "dtype", None)
    if have is not None and have != dtype.numpy:
        raise DTypeError(f"{name}: the function returned {have}, but {dtype.name} was declared as its result's dtype")
    return as_array(value, dtype, name)


def as_padding(known: Any, dtype: DType, name: str) -> Array:
    """The number with which a value of some dtype is padded. The 0 that is meant by default is False among bools."""
    value = known.item()
    return as_array(bool(value) if dtype.is_bool and type(value) is int and value == 0 else value, dtype, name)


_RANK_OF_KIND = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}


def _converted(array: Any, wanted: DType, name: str) -> Array:
    have = array.dtype
    if have is wanted.numpy:
        return array
    if have.kind not in _RANK_OF_KIND or wanted is string:
        raise _conversion_error(name, array, wanted)
    if have != wanted.numpy:
        own, target = _RANK_OF_KIND[have.kind], _RANK_OF_KIND[wanted.numpy.kind]
        if own > target:
            raise _conversion_error(name, array, wanted)
        if target == 1 and not fits(array, wanted.numpy):
            raise _conversion_error(name, array, wanted)
    return array.astype(wanted.numpy)


def _conversion_error(name: str, array: Any, wanted: DType | None) -> Exception:
    target = "a tensor" if wanted is None else f"a tensor of dtype {wanted.name}"
    hint = "" if wanted is None else f"; convert it yourself with tf.cast(..., tf.{wanted.name}) if that is meant"
    return DTypeError(f"{name}: Cannot convert {array!r} (dtype {array.dtype}) to {target}{hint}")
