"""Eager values: a tensor that wraps a NumPy array, and what applying an op to one means.

This path is hot. It does no abstract evaluation: a kernel runs, its result is wrapped, and tapes that track an operand
record the node. Two things NumPy would let pass are caught cheaply: dtypes that an op does not accept (each combination
of dtypes is examined once per op, by the op's abstract evaluation), and kernel errors, which are turned into the op's
own error message by running the abstract evaluation after the fact.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.aval import Aval, aval_of_array
from engine.dtypes import BY_NUMPY, DType
from engine.errors import InvalidArgumentError, OpError
from engine.op import Op
from engine.tape import active, record
from engine.value import Value, as_array


class EagerTensor(Value):
    """A value that is there: a read-only NumPy array (or NumPy scalar) that tapes can record.

    Parameters
    ----------
    array : numpy.ndarray or numpy scalar
        Owned by the tensor from here on; nobody may write to it.
    """

    __slots__ = ("__weakref__", "_array")
    level = 0

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

    def _bind(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        try:
            arrays = [x._array for x in inputs]
        except AttributeError:
            inputs = _operands(op, inputs)
            arrays = [x._array if type(x) is EagerTensor else x for x in inputs]
        try:
            if tuple([a.dtype for a in arrays]) not in _accepted[op]:
                accept_dtypes(op, arrays, params)
        except (AttributeError, KeyError):
            accept_dtypes(op, arrays, params)
        try:
            result = op.kernel(*arrays, **params)
        except Exception as error:
            raise explained(error, op, arrays, params) from error
        if op.multi:
            outputs: tuple[Any, ...] = tuple([EagerTensor(a) for a in result])
            if active.tapes:
                record(op, inputs, params, outputs)
            return outputs
        out = EagerTensor(result)
        if active.tapes:
            record(op, inputs, params, (out,))
        return out


_accepted: dict[Op, set[tuple[Any, ...]]] = {}
"""The combinations of dtypes that abstract evaluation has accepted, per op."""


def accept_dtypes(op: Op, arrays: list[Any], params: dict[str, Any]) -> None:
    """Run the op's abstract evaluation, which raises if the dtypes (or shapes) are not acceptable; remember them."""
    op.abstract(*[abstract_operand(a) for a in arrays], **params)
    if all(hasattr(a, "dtype") for a in arrays):
        _accepted.setdefault(op, set()).add(tuple([a.dtype for a in arrays]))


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
    dtype = next(x._array.dtype for x in inputs if type(x) is EagerTensor)
    return tuple(
        as_array(x, BY_NUMPY[dtype], op.name) if isinstance(x, (int, float, complex, bool)) else x for x in inputs
    )


def explained(error: Exception, op: Op, arrays: list[Any], params: dict[str, Any]) -> Exception:
    """The error that says what was wrong with the op's arguments: its abstract evaluation's, else the kernel's."""
    if isinstance(error, OpError):
        return error
    try:
        op.abstract(*[abstract_operand(a) for a in arrays], **params)
    except Exception as better:
        return better
    if isinstance(error, (FloatingPointError, MemoryError, KeyboardInterrupt)):
        return error
    operands = ", ".join(str(abstract_operand(a)) for a in arrays)
    return InvalidArgumentError(f"{op.name}({operands}): {error}")
