"""Eager values: a tensor that wraps a NumPy array, and what applying an op to one means.

This path is hot. It does no abstract evaluation: a kernel runs, its result is wrapped, and tapes that track an operand
record the node. What a kernel would let pass, abstract evaluation refuses beforehand (`accept`); its answer is
remembered for all it depends on: for the dtypes alone where the kernel refuses bad shapes and parameters by itself
(`Op.strict`), else for dtypes, shapes and parameters together. What depends on contents, every kernel checks. Errors of
kernels are turned into the op's own error message by running the abstract evaluation after the fact.
"""

from __future__ import annotations

import ctypes
import operator
import sys
import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NoReturn, Self

import numpy as np

from engine.core.aval import Aval, aval_of_array
from engine.core.detach import detached, looked_at, shown, truth
from engine.core.dtypes import BY_NUMPY, DType
from engine.core.nest import LEAVES
from engine.core.op import Op, distinct
from engine.core.operands import Array, Operand, Results
from engine.core.tape import NOTHING, Recording, Seen, Tape, active, record, record_nondifferentiable
from engine.core.tensor_shape import TensorShape
from engine.core.value import Value, as_array, not_an_array
from engine.runtime import buffer_pool
from engine.runtime.errors import DTypeError, InvalidArgumentError, OpError, ResourceExhaustedError
from engine.runtime.extension import extension
from engine.runtime.public_names import methods_of
from engine.runtime.tuning import TUNING


@methods_of("Tensor")
class InMemory(Value):
    """A value whose array is there, as `_array`: what Python and NumPy ask of an eager tensor or a variable."""

    __slots__ = ()
    _array: Any

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return int(self._array.ndim)

    @property
    def device(self) -> str:
        """Where the value lies: always the CPU."""
        return "/job:localhost/replica:0/task:0/device:CPU:0"

    backing_device = device

    def cpu(self) -> Self:
        """The tensor itself: it lies there."""
        return self

    def numpy(self) -> Array:
        """A NumPy array (a NumPy scalar for rank 0) of the same contents, which the caller may change."""
        if active.tapes:
            detached(self, "numpy")
        array = self._array
        return array.copy() if isinstance(array, np.ndarray) and array.ndim else array[()]

    def ref(self) -> Reference:
        """A hashable stand-in, usable as a key (tensors themselves compare elementwise)."""
        return Reference(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        declined = not_an_array(sys._getframe(1))
        if declined is not None:
            return declined
        if active.tapes:
            detached(self, "array")
        held = self._array
        array = np.array(held, dtype=dtype, copy=copy)
        if array.base is not None or array is held:
            array = array.view()
            array.flags.writeable = False
        return array

    def __dlpack__(self, **asked: Any) -> Any:
        # whoever takes it may write to it: it is a copy, unless it must not be one
        shared = asked.get("copy") is False
        return np.array(self, copy=None if shared else True).__dlpack__(**asked)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()

    def __len__(self) -> int:
        if not self._array.ndim:
            raise TypeError("a scalar tensor has no length")
        if active.function is not None:
            active.function.measured.append(self)
        return len(self._array)

    def __bool__(self) -> bool:
        return truth(self) if active.tapes else bool(self._array)

    def __int__(self) -> int:
        if active.tapes:
            detached(self, "int")
        return int(self._array)

    def __float__(self) -> float:
        if active.tapes:
            detached(self, "float")
        return float(self._array)

    def __complex__(self) -> complex:
        if active.tapes:
            detached(self, "complex")
        return complex(self._array)

    def __index__(self) -> int:
        looked_at(self)
        return operator.index(self._array[()])


class EagerTensor(InMemory):
    """A value that is there: a read-only NumPy array (or NumPy scalar) that tapes can record.

    The array is owned by the tensor from here on; nobody may write to it.
    """

    # programs hang attributes of their own on tensors
    __slots__ = ("__dict__", "__weakref__", "_array")
    level = 0
    is_weak = False
    """Whether it takes the dtype of a tensor beside it, as arrays do."""

    def __init__(self, array: Any) -> None:
        self._array = array

    @property
    def aval(self) -> Aval:
        """Shape and dtype."""
        return aval_of_array(self._array)

    @property
    def dtype(self) -> DType:
        """Element type."""
        return BY_NUMPY[self._array.dtype]

    @property
    def _shape(self) -> tuple[int, ...]:
        return self._array.shape

    def _enter(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Results:
        if _EAGER_OR_PLAIN.issuperset(map(type, inputs)):
            return _applied_now(op, inputs, params)
        return super()._enter(op, inputs, params)

    def _bind(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Results:
        inputs = _operands(op, inputs)
        try:
            return _applied_now(op, inputs, params)
        except DTypeError:
            # conditions may be meant as such
            for kinds in ("iufc", "biufc"):
                others = _in_one_dtype(inputs, kinds)
                with suppress(DTypeError):
                    if any(x is not y for x, y in zip(inputs, others, strict=True)):
                        return op(*others, **params)
            raise

    # ---- what users see ----------------------------------------------------------------------------------------------

    def eval(self, feed_dict: Any = None, session: Any = None) -> Array:
        """The value, as `numpy` gives it. There is nothing to feed on an eager tensor."""
        if feed_dict:
            raise InvalidArgumentError("eval: an eager tensor depends on nothing that could be fed")
        looked_at(self)
        return self.numpy()

    def set_shape(self, shape: Any) -> None:
        """Raise unless `shape` fits (an eager tensor's shape is always known)."""
        self.shape.assert_is_compatible_with(shape)

    def item(self) -> float:
        """The value of a tensor with one element, as a Python number."""
        if active.tapes:
            detached(self, "numpy")
        return self._array.item()

    def tolist(self) -> Any:
        """The value as nested lists of Python numbers."""
        if active.tapes:
            detached(self, "numpy")
        return self._array.tolist()

    @property
    def shape(self) -> TensorShape:
        """The shape, as users see it."""
        if active.function is not None:
            active.function.measured.append(self)
        return TensorShape(self._shape)

    def __iter__(self) -> Iterator[Any]:
        if not self._array.ndim:
            raise TypeError("cannot iterate over a scalar tensor")
        return (self[i] for i in range(len(self)))

    def __round__(self, digits: int = 0) -> float:
        looked_at(self)
        return round(self._array.item(), digits)

    def __format__(self, spec: str) -> str:
        shown(self)
        return format(self._array[()] if not self._array.ndim else self._array, spec)

    def __hash__(self) -> int:
        raise TypeError("Tensor is unhashable, because == compares its elements; use tensor.ref() as the key")

    def __copy__(self) -> EagerTensor:
        return self

    def __deepcopy__(self, memo: Any) -> EagerTensor:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        looked_at(self)
        return EagerTensor, (self._array,)

    def __str__(self) -> str:
        shown(self)
        text = str(self._array)
        return f"tf.Tensor({_on_its_own(text)}, shape={self.shape}, dtype={self.dtype.name})"

    def __repr__(self) -> str:
        shown(self)
        return f"<tf.Tensor: shape={self.shape}, dtype={self.dtype.name}, numpy={array_text(self._array)}>"


LEAVES.add(EagerTensor)
_EAGER_OR_PLAIN = frozenset({EagerTensor, np.ndarray, tuple})
"""Types of operands that are what kernels take, or hold it."""


def arrays_of(inputs: tuple[Any, ...]) -> list[Any]:
    """Operands as kernels take them."""
    return [x._array if isinstance(x, EagerTensor) else x for x in inputs]


def _in_one_dtype(inputs: tuple[Any, ...], kinds: str) -> tuple[Any, ...]:
    """Operands, the weak ones of some kinds in the dtype of a tensor beside them if that changes no value's kind."""
    dtype = next((x.dtype for x in inputs if isinstance(x, EagerTensor) and not x.is_weak), None)
    found = []
    for x in inputs:
        if dtype is not None and getattr(x, "is_weak", False) and x._array.dtype.kind in kinds:
            with suppress(DTypeError):
                x = x.beside(dtype)
        found.append(x)
    return tuple(found)


def array_text(array: Any) -> str:
    """An array as the ``repr`` of tensors and variables shows it."""
    return _on_its_own(repr(array) if array.ndim else str(array))


def _on_its_own(text: str) -> str:
    """Text of several lines starts on a line of its own, so that columns stand below each other."""
    return f"\n{text}" if "\n" in text else text


class Reference:
    """A hashable reference to a tensor or variable: equal if it refers to the same object."""

    __slots__ = ("__weakref__", "_referent")

    def __init__(self, referent: Any) -> None:
        self._referent = referent

    def deref(self) -> Operand:
        """The value that it refers to."""
        return self._referent

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reference) and self._referent is other._referent

    def __hash__(self) -> int:
        return id(self._referent)

    def __repr__(self) -> str:
        return f"<Reference to {self._referent!r}>"


def _applied_now(op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
    instead, tapes = active.instead, active.tapes
    if instead is None and len(tapes) == 1:
        instead = tapes[0].instead
    if instead is not None and (replaced := instead(op, inputs, params)) is not None:
        return replaced
    return _applied(op, inputs, arrays_of(inputs), params)


def _applied(op: Op, inputs: tuple[Any, ...], arrays: Sequence[Any], params: dict[str, Any]) -> Any:
    """Run the kernel, wrap the result, let tapes record."""
    accept(op, arrays, params)
    result = computed(op, arrays, params)
    out = tuple([EagerTensor(a) for a in result]) if op.multi else EagerTensor(result)
    if active.tapes:
        record(op, inputs, params, out)
    return out


def computed(op: Op, arrays: Sequence[Any], params: dict[str, Any]) -> Any:
    """Run the kernel; an error says what is wrong with the op's arguments."""
    try:
        return op.kernel(*arrays, **params)
    except Exception as error:
        raise explained(error, op, arrays, params) from error


_MOST_ACCEPTED = 4096
"""So many combinations an op remembers; then it begins anew."""


def accept(op: Op, arrays: Sequence[Any], params: dict[str, Any]) -> None:
    """Run the op's abstract evaluation, which raises if it does not accept the operands; remember what it accepted.

    What is remembered is all that the answer depends on (see the module's docstring). Parameters that are not plain
    data are examined each time.
    """
    try:
        key = _accepted_key(op, arrays, params)
    except TypeError:
        key = None
    if key in op.accepted:
        return
    op.result_avals([abstract_operand(a) for a in arrays], params)
    if key is not None:
        if len(op.accepted) >= _MOST_ACCEPTED:
            op.accepted.clear()
        op.accepted.add(key)


def _accepted_key(op: Op, arrays: Sequence[Any], params: dict[str, Any]) -> Hashable:
    if not op.strict:
        static = [(name, distinct(value)) for name, value in params.items()] if params else ()
        # an operand without a dtype is a shape, given as a tuple of ints
        return (*[(a.dtype, a.shape) if hasattr(a, "dtype") else distinct(a) for a in arrays], *static)
    dtypes = tuple([getattr(a, "dtype", None) for a in arrays])
    return dtypes[0] if len(dtypes) == 1 else dtypes


def abstract_operand(x: Any) -> Aval:
    """The aval of a raw operand, with its contents where it is a small integer scalar or vector."""
    if not isinstance(x, (np.ndarray, np.generic)):
        x = np.asarray(x, dtype=None if len(np.shape(x)) and len(x) else np.int64)
    aval = aval_of_array(x)
    if x.dtype.kind in "iu" and x.ndim <= 1 and x.size <= 64:
        return Aval(aval.shape, aval.dtype, value=int(x) if x.ndim == 0 else tuple(x.tolist()))
    return aval


def _operands(op: Op, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Operands with Python numbers given the dtype of the first tensor among them; other raw data stay raw."""
    tensors = [x for x in inputs if isinstance(x, EagerTensor)]
    dtype = min(tensors, key=lambda x: x.is_weak).dtype.numpy
    # NumPy's double is a float, but beside integers and conditions it means itself
    numbers = (int,) if dtype.kind in "iu" else (int, float, complex)
    themselves: Any = np.generic if dtype.kind == "b" else ()
    return tuple(
        as_array(x, BY_NUMPY[dtype], op.name) if isinstance(x, numbers) and not isinstance(x, themselves) else x
        for x in inputs
    )


def explained(error: Exception, op: Op, arrays: Sequence[Any], params: dict[str, Any]) -> Exception:
    """The error that says what was wrong with the op's arguments: its abstract evaluation's, else the kernel's."""
    if isinstance(error, MemoryError):
        return ResourceExhaustedError.of(error, f"{op.title}({', '.join(str(abstract_operand(a)) for a in arrays)})")
    if not isinstance(error, (ValueError, TypeError, IndexError, OverflowError)):
        return error  # it is not about the arguments
    try:
        op.result_avals([abstract_operand(a) for a in arrays], params)
    except Exception as better:  # noqa: BLE001 - whatever it raises says more than the kernel did
        return better
    if isinstance(error, OpError):
        return error
    operands = ", ".join(str(abstract_operand(a)) for a in arrays)
    return InvalidArgumentError(f"{op.title}({operands}): {error}")


def _raise_explained(error: Exception, op: Op, arrays: Sequence[Any], params: dict[str, Any]) -> NoReturn:
    raise explained(error, op, arrays, params) from error


def _called(kernel: Callable[..., Any], *operands: Any, **params: Any) -> Any:
    return kernel(*operands, **params)


in_c: Any = extension("engine.core._eager")[0]
"""The extension that applies ops and records them as this module and `engine.core.tape` do, if it is there."""
if in_c:
    Tape.values_by_address = in_c.Tracked
    helpers = accept, _raise_explained, record_nondifferentiable, EagerTensor._enter, NOTHING
    callers = lambda kernel, x: kernel(x), lambda kernel, x, y: kernel(x, y), _called
    in_c.setup(EagerTensor, Value, Op, Tape, Recording, Seen, active, *helpers, *callers)
    in_c.setup_memory(TUNING.pool_bytes)


_pausing, _paused_from = threading.Lock(), list[int]()


@contextmanager
def applied_in_python(least: int = 0) -> Iterator[None]:
    """While any thread is inside, Python applies ops, so that what stands in this module can be replaced.

    Only those on a tensor of so many elements at least are meant, and on what is no `EagerTensor`.
    """
    _paused(_paused_from.append, least)
    try:
        yield
    finally:
        _paused(_paused_from.remove, least)


def _paused(change: Callable[[int], None], least: int) -> None:
    with _pausing:
        change(least)
        if in_c:
            in_c.pause(min(_paused_from, default=-1))


def is_each_seen() -> bool:
    """Whether somebody wants Python to apply each op."""
    return 0 in _paused_from


wrap: Callable[[Any], EagerTensor] = in_c.wrap if in_c else EagerTensor
"""The tensor of an array."""


in_own_memory: Callable[..., Any] = in_c.in_own_memory if in_c else _called
"""``in_own_memory(function, *arguments)``: call it while large arrays get memory that is used again.

A program that runs for the first time makes an array for each step. Mapping new pages for each takes longer than
computing what is written there.
"""


_SPARE = 1 << 22
"""Bytes from which on memory is given back at once."""


def forget_memory(nbytes: int) -> None:
    """Let the system have memory that work on so many bytes has left, also the C library's where there is a way."""
    if nbytes <= _SPARE:
        return
    buffer_pool.forget()
    if in_c:
        in_c.setup_memory(in_c.setup_memory(0))
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
