"""Results of NumPy's own functions for tensors that a tape knows: tensors that behave as NumPy's results do.

A function without a derivative is recorded like any other op, so that a plan which is called at another point computes
it anew. Where nothing records, NumPy's results are handed out as they are.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from engine.core import nest
from engine.core.aval import Aval, format_shape
from engine.core.detach import is_known, looked_at
from engine.core.dtypes import BY_NUMPY, DType
from engine.core.eager import EagerTensor
from engine.core.kinds import nondifferentiable
from engine.core.op import Layout, Op
from engine.core.operands import Array, Operand
from engine.core.tape import active, paused, record
from engine.core.value import Value, as_array
from engine.core.variable import Variable
from engine.ops.compare import cast
from engine.runtime.errors import InvalidArgumentError, UnimplementedError
from engine.runtime.structs import struct


@struct(frozen=True, eq=False)
class Call:
    """A call of one of NumPy's functions."""

    function: Callable[..., Any]
    name: str
    arguments: Any
    """Positional and named arguments; `Place` stands for arrays that are operands."""
    results: tuple[tuple[tuple[int, ...], DType], ...] = ()
    """How the arrays among the results looked when it was recorded."""

    def __call__(self, *arrays: Any) -> Any:
        """Call the function."""
        args, kwargs = nest.map_structure(lambda x: arrays[x.index] if type(x) is Place else x, self.arguments)
        return self.function(*args, **kwargs)


@struct(frozen=True)
class Place:
    """The place of an operand among arguments."""

    index: int


def _numbers(x: Any) -> bool:
    return isinstance(x, (np.ndarray, np.generic, bool, int, float, complex)) and np.asarray(x).dtype in BY_NUMPY


def _kernel(*arrays: Any, call: Call) -> Sequence[Array]:
    found = [np.array(x) for x in nest.flatten(call(*arrays)) if _numbers(x)]
    for x, (shape, _) in zip(found, call.results, strict=True):
        if x.shape != shape:
            raise InvalidArgumentError(
                f"{call.name}: the result has the shape {format_shape(x.shape)} here, but {format_shape(shape)} where "
                f"it was recorded. A plan has no shapes that depend on contents; use tape.jacobian there"
            )
    return [x.astype(dtype.numpy, copy=False) for x, (_, dtype) in zip(found, call.results, strict=True)]


def _batch(op: Op, size: int, flags: tuple[bool, ...], inputs: tuple[Any, ...], params: dict[str, Any]) -> NoReturn:
    raise UnimplementedError(f"{params['call'].name}: a function of arrays does not take batches")


numpy_call = nondifferentiable(
    "numpy_call",
    _kernel,
    abstract=lambda *_, call: tuple([Aval(shape, dtype) for shape, dtype in call.results]),
    batch=_batch,
    args=("*operands",),
    multi=True,
    layout=Layout.ANY,
    doc="A function of NumPy's without a derivative, on arrays.",
)


class ArrayTensor(EagerTensor):
    """A tensor with the operators, methods and indexing of NumPy's arrays; beside another tensor it takes its dtype."""

    __slots__ = ()
    is_weak = True
    _enter = Value._enter

    def beside(self, dtype: DType) -> Operand:
        """The tensor in the dtype of another one, if that changes no value's kind."""
        if self.dtype is dtype:
            return self
        as_array(np.zeros((), self.dtype.numpy), dtype, "a result of NumPy's beside a tensor")
        return cast(self, dtype)

    def __getitem__(self, key: Any) -> Any:
        return called(operator.getitem, "getitem", (self, key), {})

    def __iter__(self) -> Iterator[Any]:
        if not self._array.ndim:
            raise TypeError("cannot iterate over a scalar tensor")
        return (self[i] for i in range(len(self._array)))

    def __hash__(self) -> int:
        looked_at(self)
        return hash(self._array[()])


nest.LEAVES.add(ArrayTensor)
for _name, _operator in vars(NDArrayOperatorsMixin).items():
    # ``a += b`` is ``a = a + b``: tensors do not change
    if callable(_operator) and (_name == "__invert__" or not _name.startswith("__i")):
        setattr(ArrayTensor, _name, _operator)


def _attribute(name: str) -> Any:
    """One of the attributes of NumPy's arrays, or of their methods."""
    if name in ("size", "nbytes", "itemsize", "strides"):
        return property(lambda self: getattr(self._array, name))
    if callable(getattr(np.ndarray, name)):
        return lambda self, *args, **kwargs: called(_method, f"the method {name}", (self, name, *args), kwargs)
    return property(lambda self: called(getattr, f"the attribute {name}", (self, name), {}))


for _name in dir(np.ndarray):
    # what tensors have themselves keeps its meaning
    if not _name.startswith("_") and not hasattr(EagerTensor, _name):
        setattr(ArrayTensor, _name, _attribute(_name))


def _method(array: Any, name: str, *args: Any, **kwargs: Any) -> Any:
    return getattr(array, name)(*args, **kwargs)


def called(function: Callable[..., Any], name: str, args: Any, kwargs: Any) -> Any:
    """Call a function with the arrays of eager values among its arguments.

    The result is NumPy's own, unless a tape knows one of the values: then arrays and numbers in it are tensors, of
    which the tape knows how they were computed.
    """
    operands: list[Any] = []

    def placed(x: Any) -> Any:
        if not isinstance(x, Value):
            return x
        operands.append(x)
        return Place(len(operands) - 1)

    arguments = nest.map_structure(placed, (_without_values_in_slices(args), kwargs))
    known = any(is_known(x, tape) for x in operands for tape in active.tapes)
    if known and active.function is None:
        operands = [x.read_value() if isinstance(x, Variable) else x for x in operands]
    else:
        for x in operands:
            looked_at(x)
    call = Call(function, name, arguments)
    with paused():
        result = call(*[np.asarray(x) for x in operands])
    leaves = nest.flatten(result)
    if not known or active.function is not None:
        return result
    if any(isinstance(x, np.ndarray) for x in nest.flatten((args, kwargs)) for y in leaves if y is x):
        # what it was told to write to
        for x in operands:
            looked_at(x)
        return result
    tensors = [ArrayTensor(np.asarray(x)[()]) if _numbers(x) else x for x in leaves]
    outputs = tuple([x for x in tensors if isinstance(x, ArrayTensor)])
    if not all(isinstance(x, (ArrayTensor, str, bytes, type(None), type, np.dtype)) for x in tensors):
        for x in operands:
            looked_at(x)
    if outputs:
        call = Call(function, name, arguments, tuple([(x._shape, x.dtype) for x in outputs]))
        record(numpy_call, tuple(operands), {"call": call}, outputs)
    return nest.pack_sequence_as(result, tensors)


def _without_values_in_slices(args: Any) -> Any:
    """Bounds of slices as Python numbers; nothing else hides in them."""

    def plain(x: Any) -> Any:
        ends: Any = [operator.index(i) if hasattr(i, "__index__") else i for i in (x.start, x.stop, x.step)]
        return slice(*ends)

    return nest.map_structure(lambda x: plain(x) if isinstance(x, slice) else x, args)
