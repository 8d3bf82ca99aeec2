"""Tensors that are computed when somebody asks for their contents, while a function is recorded.

A program is made of what a function has done, and gives the results of the first call, too. What the function's large
ops give would be computed twice otherwise, and kept until it ends. So they are put off (`putting_off`). If Python looks
at contents after all, or the recording makes no program, then the same kernels run, one by one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from engine.core.aval import Aval, aval_of_array
from engine.core.dtypes import string
from engine.core.eager import EagerTensor, abstract_operand, applied_in_python, arrays_of, computed
from engine.core.function_tape import FunctionTape
from engine.core.nest import LEAVES
from engine.core.op import Op
from engine.core.tape import Tape, active, record
from engine.core.value import Value

LARGE = 1 << 16
"""Elements of an operand from which on an op is put off."""
_HELD: Any = EagerTensor.__dict__["_array"]


class LazyTensor(EagerTensor):
    """A tensor whose array is computed when it is asked for; then it is an `EagerTensor`.

    In place of the array it holds the node that gives it, as a list (op, operands, parameters, and what the kernel has
    given), as which result, and its aval.
    """

    __slots__ = ()
    dtype, _shape, _enter = Value.dtype, Value._shape, Value._enter  # type: ignore[assignment]
    ndim = property(lambda self: len(self._shape))

    @property
    def aval(self) -> Aval:
        """Shape and dtype."""
        held = _HELD.__get__(self)
        return held[2] if type(held) is tuple else aval_of_array(held)

    @property
    def _array(self) -> Any:
        left = [self]
        while left:
            held = _HELD.__get__(left[-1])
            if type(held) is not tuple:
                left.pop()
                continue
            node, index, _ = held
            op, inputs, params, results = node
            if results is not None:
                fulfil(left.pop(), results[index])
            elif waiting := [x for x in inputs if type(x) is LazyTensor]:
                left += waiting
            else:
                result = computed(op, arrays_of(inputs), params)
                node[1:] = (), params, result if op.multi else (result,)
        return _HELD.__get__(self)


LEAVES.add(LazyTensor)
TENSORS = frozenset({EagerTensor, LazyTensor})
"""Types of tensors that ops give."""


def fulfil(x: Any, array: Any) -> None:
    """Give a lazy tensor its array; one that has it keeps it."""
    if type(x) is LazyTensor:
        _HELD.__set__(x, array)
        x.__class__ = EagerTensor  # type: ignore[assignment]


def settle(values: Iterable[Any]) -> None:
    """Compute the lazy tensors among some values."""
    for x in values:
        if type(x) is LazyTensor:
            x._array  # noqa: B018 - it is computed


@contextmanager
def putting_off(function: FunctionTape) -> Iterator[None]:
    """Put off ops on large tensors that a tape knows, as long as its recording may become a program.

    If the function fails, all that it has assigned is there.
    """
    with applied_in_python(LARGE):
        active.instead = partial(_put_off, function)
        try:
            yield
        except BaseException:
            settle([variable._tensor for variable in function.written.values()])
            raise
        finally:
            active.instead = None


def _put_off(function: FunctionTape, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """The lazy results of an op; None if it is applied."""
    records = active.function is function and function in active.tapes and not function.refusal and not op.stateful
    return put_off(function, op, inputs, params) if records else None


def put_off(tape: Tape, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """The lazy results of an op on tensors that a tape knows, if they or its operands are large; else None."""
    known = [x for x in inputs if isinstance(x, EagerTensor) and tape.knows(x)]
    if not known:
        return None
    avals = [x.aval if type(x) is LazyTensor else abstract_operand(*arrays_of((x,))) for x in inputs]
    try:
        found = op.result_avals(avals, params)
    except Exception:  # noqa: BLE001 - whatever it is, the op says so when it is applied
        return None
    several = found if op.multi else (found,)
    if not all(a.is_static and a.dtype is not string for a in several):
        return None
    if LazyTensor not in map(type, known) and max(math.prod(a.shape) for a in (*avals, *several)) < LARGE:
        return None
    node = [op, inputs, params, None]
    results = tuple([_result(node, i, aval) for i, aval in enumerate(several)])
    out = results if op.multi else results[0]
    record(op, inputs, params, out)
    return out


def _result(node: list[Any], index: int, aval: Aval) -> EagerTensor:
    """A result of a node; that which tells only of shapes is there."""
    if aval.has_contents:
        return EagerTensor(np.asarray(aval.value, aval.dtype.numpy)[()])
    x: EagerTensor = object.__new__(LazyTensor)
    _HELD.__set__(x, (node, index, aval))
    return x
