"""The op that `engine.derivatives.primitive` makes of a function of arrays and of the rules that the user gives it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.core.aval import Aval, broadcast_shapes, compatible, format_shape
from engine.core.dtypes import DType
from engine.core.eager import EagerTensor
from engine.core.kinds import PushedTogether, Together, general
from engine.core.op import FROM_VJP, Op
from engine.core.operands import Operand
from engine.core.value import Value, Zero, as_array, aval_of, dtype_of, shape_of, unmasked
from engine.ops.arithmetic import add
from engine.ops.creation import zeros_like
from engine.ops.joining import stack
from engine.ops.slicing import getitem
from engine.runtime.errors import DTypeError, ShapeError, UnimplementedError


def primitive_op(
    name: str,
    fn: Callable[..., Any],
    vjp: Callable[..., Any] | None,
    jvp: Callable[..., Any] | None,
    shape: Callable[..., Any] | None,
    dtype: DType | None,
) -> Op:
    """An op of a function of NumPy's, SciPy's or the user's own: `version` says what its rules see."""

    def abstract(*avals: Aval, version: Any = None) -> Aval:
        floating = [a.dtype for a in avals if a.dtype.is_differentiable]
        result = dtype or (floating or [avals[0].dtype])[0]
        shapes = [a.shape for a in avals]
        if shape is None:
            return Aval(broadcast_shapes(name, *shapes), result)
        # a rule of the user's cannot be expected to know of shapes that are not known
        known = [s for s in shapes if s is not None]
        return Aval(tuple(shape(*known)) if len(known) == len(shapes) else None, result)

    def kernel(*arrays: Any, version: Any = None) -> np.ndarray:
        wanted = abstract(*map(aval_of, arrays))
        found = unmasked(fn(*[_read_only(a) for a in arrays]), "primitive")
        if not compatible(found.shape, wanted.shape):
            hint = "" if shape else "; if that is right, give primitive the argument `shape`, a function of shapes"
            raise ShapeError(
                f"{name}: the function returned shape {format_shape(found.shape)}, expected "
                f"{format_shape(wanted.shape)}{hint}"
            )
        if not np.can_cast(found.dtype, wanted.dtype.numpy, "same_kind"):
            raise DTypeError(f"{name}: the function returned dtype {found.dtype}, expected {wanted.dtype.name}")
        # its own: the function may have returned an argument, or keep what it returned
        return np.array(found, wanted.dtype.numpy)

    def pull(wanted: Sequence[bool], previous: Any, ct: Any, out: Any, *operands: Any, version: Any = 0) -> list[Any]:
        parts = _parts(_rule(vjp, "vjp", name)(*map(as_value, (ct, out, *operands))), len(operands), name)
        totals: list[Any] = []
        for i, (part, x) in enumerate(zip(parts, operands, strict=True)):
            if part is None or not wanted[i]:
                totals.append(Zero(aval_of(x)))
                continue
            part = _checked(part, x, f"{name}: its vjp, for argument {i}, returned")
            totals.append(part if previous[i] is None else add(previous[i], part))
        return totals

    def push(tangents: Sequence[Any], out: Any, *operands: Any, version: Any = None) -> list[Any]:
        given = [zeros_like(x) if t is None else t for t, x in zip(tangents, operands, strict=True)]
        found = _rule(jvp, "jvp", name)(tuple(map(as_value, given)), *map(as_value, (out, *operands)))
        return [_checked(found, out, f"{name}: its jvp returned")]

    def batch(op: Op, size: int, flags: tuple[bool, ...], inputs: tuple[Any, ...], params: dict[str, Any]) -> Operand:
        pairs = list(zip(inputs, flags, strict=True))
        if not size:
            one = abstract(*[_without_lead(aval_of(x)) if flag else aval_of(x) for x, flag in pairs])
            return np.zeros((0, *[int(d or 0) for d in one.shape or ()]), one.dtype.numpy)
        return stack([op(*[getitem(x, i) if flag else x for x, flag in pairs], **params) for i in range(size)])

    return general(
        name,
        kernel,
        abstract,
        vjp=Together(pull),
        jvp=FROM_VJP if jvp is None else PushedTogether(push),
        batch=batch,
        type="PyFunc",
        args=("*args",),
        doc=fn.__doc__ or "A function of the user's.",
        parts=(primitive_op, (name, fn, vjp, jvp, shape, dtype)),
    )


def _parts(returned: Any, count: int, name: str) -> Sequence[Any]:
    """The cotangents that a vjp has returned, one for each of `count` operands."""
    parts = returned if isinstance(returned, (tuple, list)) else (returned,)
    if len(parts) != count:
        raise ValueError(f"{name}: its vjp returned {len(parts)} cotangents, expected one for each of {count}")
    return parts


def _read_only(array: Any) -> Operand:
    if isinstance(array, np.ndarray):
        array = array.view()
        array.flags.writeable = False
    return array


def _without_lead(aval: Aval) -> Aval:
    return Aval(None if aval.shape is None else aval.shape[1:], aval.dtype)


def as_value(x: Any) -> Operand:
    """`x` itself if it is a value, else an eager one."""
    return x if isinstance(x, Value) else EagerTensor(x)


def _rule(rule: Callable[..., Any] | None, kind: str, name: str) -> Callable[..., Any]:
    if rule is None:
        raise UnimplementedError(
            f"{name}: a derivative of this primitive is needed, and it has no {kind}; give tf.primitive one"
        )
    return rule


def _checked(found: Any, like: Any, what: str) -> Operand:
    """A rule's result, of the shape and dtype of `like`; a plain array where the walk works on these."""
    if not isinstance(found, Value):
        found = EagerTensor(as_array(found, dtype_of(like), what))
    if not compatible(shape_of(found), shape_of(like)):
        raise ShapeError(f"{what} shape {format_shape(shape_of(found))}, expected {format_shape(shape_of(like))}")
    if dtype_of(found) is not dtype_of(like):
        raise DTypeError(f"{what} dtype {dtype_of(found).name}, expected {dtype_of(like).name}")
    return found._array if isinstance(found, EagerTensor) and not isinstance(like, Value) else found
