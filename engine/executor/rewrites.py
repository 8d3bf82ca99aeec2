"""Ops whose kernels cannot be recorded as rows, because they branch on contents or fill arrays of their own.

For each such op one function writes rows that compute the same numbers without either. It is given the recorder and
the kernel's operands, and raises `Opaque` for a case that has no rows; the kernel is then called from Python.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from engine.compiler.passes.inplace_concat import alloc, write_rows
from engine.compiler.passes.nan_checks import no_nan
from engine.compiler.passes.slice_concat import slice_concat
from engine.compiler.passes.slice_sum import added_up, slice_sum
from engine.core.op import Op
from engine.core.structural import contiguous, scale
from engine.core.value import scalar
from engine.executor.gathers import GATHERS
from engine.executor.hidden import Hidden, Opaque, Writer, actual_of, opaque_if, ref_of
from engine.executor.matrices import MATRICES
from engine.executor.vocabulary import expanded, joined, of_parts, placed, refused_nan, write
from engine.ops.arithmetic import divide_no_nan, part_of
from engine.ops.compare import keep_chosen
from engine.ops.complexes import complex_op
from engine.ops.explog import pow
from engine.ops.joining import concat_op, stack_op, unstack_op
from engine.ops.rearrange import pad_op, pad_place, roll_op, rolled_slices
from engine.ops.shape import as_dims


def _scale(recorder: Writer, ct: Any, partial: Any, *, either: bool = False) -> Any:
    """The product with its zero rule, which a loop of our own applies."""
    operands = [ref_of(recorder, x) for x in (ct, partial)]
    kind = operands[0].dtype.char
    opaque_if(operands[1].dtype != operands[0].dtype)
    if kind in "FD":
        out: Any = np.multiply(ct, partial)
        zero: Any = np.equal(ct, 0)
        chosen = np.logical_or(zero, np.equal(partial, 0)) if either else zero
        return scalar(np.where(np.logical_and(np.isnan(out), chosen), np.zeros((), out.dtype), out))
    opaque_if(kind not in "fd")
    with np.errstate(all="ignore"):
        real = scale.kernel(*[actual_of(x) for x in (ct, partial)], either=either)
    return recorder.elementwise((f"{'either' if either else 'scale'}_{kind}",), operands, real)


def _keep_chosen(recorder: Writer, x: Any, chosen: Any, *, fixed: bool) -> Hidden:
    """The NaN of what was not chosen made zero, which a loop of our own does."""
    operands = [ref_of(recorder, operand) for operand in (x, chosen)]
    kind = operands[0].dtype.char
    opaque_if(kind not in "fd" or operands[1].dtype != operands[0].dtype)
    real = keep_chosen.kernel(*[actual_of(operand) for operand in (x, chosen)], fixed=fixed)
    return recorder.elementwise((f"kept_{kind}",), operands, real)


def _power(recorder: Writer, x: Any, y: Any) -> Any:
    """`pow`; a square root with both ways of each element, where the kernel looks whether one is minus infinity."""
    known = isinstance(x, Hidden) and not isinstance(y, Hidden)
    if not known or y.size != 1 or y.item() != 0.5 or x.dtype.char not in "fd":
        return pow.kernel(x, y)
    base: Any = x if x.ndim >= y.ndim else x.reshape((1,) * (y.ndim - x.ndim) + x.shape)
    out = np.add(np.sqrt(base), x.dtype.type(0))
    return scalar(np.where(np.equal(base, -np.inf), x.dtype.type(np.inf), out))


def _divide_no_nan(recorder: Writer, x: Any, y: Any) -> Any:
    """`divide_no_nan` and `part_of`, where the kernel looks whether anything is divided by zero."""
    known = not isinstance(y, Hidden)
    if known:
        return divide_no_nan.kernel(x, y)
    zero = np.equal(y, 0)
    quotient = np.true_divide(x, np.where(zero, np.ones((), y.dtype), y))
    return scalar(np.where(zero, np.zeros((), x.dtype), quotient))


def _contiguous(recorder: Writer, x: Any) -> Hidden:
    return x if x.flags.c_contiguous else recorder.copy(x, np.ascontiguousarray(x.actual))


def _complex(recorder: Writer, real: Any, imag: Any) -> Hidden:
    return of_parts(recorder, (real, imag), complex_op.kernel(actual_of(real), actual_of(imag)))


def _concat(recorder: Writer, *values: Any, axis: int) -> Hidden:
    real = np.concatenate([actual_of(x) for x in values], axis)
    return joined(recorder, values, axis % real.ndim, np.ascontiguousarray(real))


def _stack(recorder: Writer, *values: Any, axis: int) -> Hidden:
    rank = len(values[0].shape) + 1
    key = (*[slice(None)] * (axis % rank), np.newaxis)
    return _concat(recorder, *[expanded(recorder, x, key) for x in values], axis=axis)


def _unstack(recorder: Writer, x: Any, *, num: int, axis: int) -> tuple[Any, ...]:
    opaque_if(x.shape[axis] != num)
    axis %= x.ndim
    turned: Any = _contiguous(recorder, x.transpose(axis, *range(axis), *range(axis + 1, x.ndim)))
    return tuple(turned)


def _write_rows(recorder: Writer, whole: Any, operand: Any, *, start: int) -> Hidden:
    write(recorder, whole, slice(start, start + len(operand)), operand)
    return whole


def _slice_concat(recorder: Writer, *vectors: Any, aval: Any, moves: Any, sums: Any) -> Hidden:
    out: Any = recorder.computed(np.empty(aval.size, aval.dtype.numpy))
    for k, of, to in moves:
        write(recorder, out, to, vectors[k][of])
    for k, of, to in sums:
        part = out[to]
        part += vectors[k][of]
    return out


def _slice_sum(recorder: Writer, *operands: Any, aval: Any, keys: Any, hows: str) -> Hidden:
    out = recorder.computed(np.empty(aval.shape, aval.dtype.numpy))
    return added_up(out, operands, keys, hows, functools.partial(write, recorder))


def _pad(recorder: Writer, x: Any, paddings: Any, *, mode: str, value: Any, lead: int = 0) -> Hidden:
    opaque_if(mode != "CONSTANT" or isinstance(paddings, Hidden))
    return placed(recorder, *pad_place(x.shape, paddings, lead), x, value)


def _roll(recorder: Writer, x: Any, shift: Any, *, axis: tuple[int, ...]) -> Hidden:
    opaque_if(isinstance(shift, Hidden) or shift.size != len(axis))
    for distance, at in zip(as_dims(shift), axis, strict=True):
        out = recorder.computed(np.empty_like(x.actual))
        for to, of in rolled_slices(x.shape, distance, at):
            write(recorder, out, to, x[of])
        x = out
    return x


def _no_nan(recorder: Writer, x: Any) -> Hidden:
    said = refused_nan(recorder, x)
    if said is None:
        raise Opaque
    return said


REWRITES: dict[Op, Callable[..., Any]] = {
    scale: _scale,
    keep_chosen: _keep_chosen,
    pow: _power,
    divide_no_nan: _divide_no_nan,
    part_of: _divide_no_nan,
    contiguous: _contiguous,
    complex_op: _complex,
    concat_op: _concat,
    stack_op: _stack,
    unstack_op: _unstack,
    alloc: lambda recorder, *, shape, dtype: recorder.computed(np.empty(shape, dtype)),
    write_rows: _write_rows,
    slice_concat: _slice_concat,
    pad_op: _pad,
    roll_op: _roll,
    slice_sum: _slice_sum,
    no_nan: _no_nan,
    **GATHERS,
    **MATRICES,
}


def rewrite_of(op: Op) -> Callable[..., Any] | None:
    """The function that writes rows for an op, or None; few programs need the table of convolutions."""
    if op.module != "engine.ops.conv":
        return REWRITES.get(op)
    from engine.executor.convolutions import CONVOLUTIONS

    return CONVOLUTIONS.get(op)
