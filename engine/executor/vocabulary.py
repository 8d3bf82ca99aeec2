"""NumPy's functions that kernels ask for, as rows: ufuncs, products of matrices, joins, choices, gathers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from engine.core.structural import has_nan
from engine.executor.hidden import Hidden, Opaque, Writer, actual_of, as_array, in_c_order, opaque_if, ref_of
from engine.executor.loops import loop_of, numbers_like, reduces_alike, same_bits, special_like
from engine.executor.own_loops import LOOPS
from engine.executor.reductions import accumulate, reduce
from engine.executor.refs import Ref, Row, broadcast_strides, constant_ref, core_dims, core_names, elementwise
from engine.ops.small_matrix import FUNCTIONS as SMALL_MATRICES
from engine.ops.small_product import product_in_c
from engine.runtime.blas import in_one_thread

# ---- ufuncs ----------------------------------------------------------------------------------------------------------


def apply_ufunc(recorder: Writer, ufunc: np.ufunc, method: str, inputs: Sequence[Any], kw: dict[str, Any]) -> Hidden:
    """A ufunc, or one of its methods."""
    out = kw.pop("out", None)
    if isinstance(out, tuple):
        (out,) = out
    if method == "__call__" and ufunc is np.matmul and not kw and out is None:
        return matmul(recorder, *inputs)
    if method == "__call__" and ufunc is product_in_c and kw == {"order": "C"} and out is None:
        return _small_product(recorder, *inputs)
    if method == "__call__" and ufunc in _SMALL_MATRICES and kw == {"order": "C"} and out is None:
        return _small_matrices(recorder, ufunc, inputs)
    if method == "__call__" and set(kw) <= {"order"}:
        return recorder.ufunc(ufunc, inputs, out, **kw)
    if method == "reduce" and out is None:
        return reduce(recorder, ufunc, *inputs, **kw)
    if method == "accumulate" and out is None:
        return accumulate(recorder, ufunc, *inputs, **kw)
    raise Opaque


# ---- products of matrices --------------------------------------------------------------------------------------------


def _small_product(recorder: Writer, a: Any, b: Any) -> Hidden:
    """A product of stacks of small matrices."""
    loop = f"small_matmul_{a.dtype.char}"
    opaque_if(loop not in LOOPS)
    result = recorder.computed(product_in_c(actual_of(a), actual_of(b), order="C"))
    refs = [ref_of(recorder, a), ref_of(recorder, b), result.ref]
    recorder.add(core_row((loop,), refs, (2, 2, 2), (*a.shape[-2:], b.shape[-1])))
    return result


_SMALL_MATRICES = [function for function in SMALL_MATRICES.values() if isinstance(function, np.ufunc)]


def _small_matrices(recorder: Writer, ufunc: Any, inputs: Sequence[Any]) -> Any:
    """Linear algebra of small matrices: one call of a gufunc of our own."""
    resolved = loop_of(ufunc, tuple([x.dtype for x in inputs]))
    reals = ufunc(*map(actual_of, inputs), order="C")
    results = [recorder.computed(real) for real in (reals if ufunc.nout > 1 else (reals,))]
    if resolved is None or [x.dtype for x in (*inputs, *results)] != list(resolved[1]):
        raise Opaque
    refs = [*[ref_of(recorder, x) for x in inputs], *[x.ref for x in results]]
    rows = refs[0].shape[-1]
    dims = (rows, refs[1].shape[-1]) if len(core_names(ufunc)) > 1 else (rows,)
    recorder.add(core_row(resolved[0], refs, [len(x) for x in core_dims(ufunc)], dims, len(results)))
    return tuple(results) if ufunc.nout > 1 else results[0]


def refused_nan(recorder: Writer, x: Any) -> Hidden | None:
    """A row that refuses a NaN; None if there is one now."""
    if has_nan(as_array(actual_of(x))):
        return None
    said = recorder.computed(np.ones((), bool))
    ref = ref_of(recorder, x)
    every = Ref(said.ref.root, 0, ref.shape, (0,) * len(ref.shape), said.ref.dtype)
    recorder.add_checked(elementwise((f"no_nan_{x.dtype.char}",), [ref, every]))
    return said


def matmul(recorder: Writer, a: Any, b: Any, real: Any = None) -> Hidden:
    """`numpy.matmul` of matrices and stacks of them; a vector is a matrix of one row or column."""
    opaque_if(0 in (*np.shape(a), *np.shape(b)) or not (np.ndim(a) and np.ndim(b)) or np.ndim(a) == np.ndim(b) == 1)
    resolved = loop_of(np.matmul, (a.dtype, b.dtype))
    if resolved is None or not a.dtype == b.dtype == resolved[1][-1]:
        raise Opaque
    opaque_if(a.dtype.kind == "c" and a.size == b.size == 1)
    if real is None:
        real = np.matmul(*[actual_of(x) for x in (a, b)])
    refs = [ref_of(recorder, x) for x in (a, b)]
    result = recorder.computed(real)
    left = _with_axis(refs[0], 0) if np.ndim(a) == 1 else refs[0]
    right = _with_axis(refs[1], 1) if np.ndim(b) == 1 else refs[1]
    out = result.ref
    if np.ndim(a) == 1:
        out = _with_axis(out, len(out.shape) - 1)
    elif np.ndim(b) == 1:
        out = _with_axis(out, len(out.shape))
    dims = left.shape[-2], left.shape[-1], right.shape[-1]
    if dims[1] == 1 and result.size <= _OUTER and is_outer(a.dtype, *[(x.shape, x.strides) for x in (left, right)]):
        whole = recorder.value(real.reshape(out.shape), out)
        recorder.elementwise((f"outer_{a.dtype.char}",), [left, right], None, whole)
        return result
    # NumPy asks BLAS for another product where a matrix meets its own transpose
    small = (
        max(dims) <= _SMALL and left.root is not right.root and out.strides[-2:] == (dims[2] * a.itemsize, a.itemsize)
    )
    own = small and _small_loop(a.dtype, dims, left.strides[-2:], right.strides[-2:])
    recorder.add(core_row(own or with_threads(*resolved[0]), [left, right, out], (2, 2, 2), dims))
    return result


def with_threads(ufunc: np.ufunc, index: int) -> tuple[Any, ...]:
    """A loop that computes with one thread of BLAS if this does."""
    return (ufunc, index, True) if in_one_thread() else (ufunc, index)


_SMALL = max([loop.most for loop in LOOPS.values()], default=0)
"""The largest dimension of matrices that a loop of our own multiplies; for larger ones BLAS is as quick."""


@lru_cache(maxsize=1 << 8)
def _small_loop(dtype: np.dtype, dims: tuple[int, int, int], *strides: tuple[int, int]) -> tuple[str] | None:
    """The loop of small_products.c that gives the bits of NumPy's for matrices that lie so, or None.

    It is tried on stacks of ordinary numbers, and of special ones.
    """
    cores = dims[:2], dims[1:]
    apart = [sum([abs(s) * d for s, d in zip(*each, strict=True)]) for each in zip(strides, cores, strict=True)]
    if dtype.char not in "fd" or max(apart) > _REACH:
        return None
    forms = [((_TRIED, *core), (a, *s)) for core, a, s in zip(cores, apart, strides, strict=True)]
    special = [special_like(dtype, *form, k) for k, form in enumerate(forms)]
    ordinary = [numbers_like(x) for x in special]
    ordinary[1] = ordinary[1][::-1]
    for name in (f"small_matmul_{dtype.char}", f"small_matmul_fma_{dtype.char}"):
        if name in LOOPS and all(_multiplies_alike(name, dims, *x) for x in (ordinary, special)):
            return (name,)
    return None


_TRIED = 32
"""How many matrices a product is tried on."""
_REACH = 1 << 12
"""Bytes that a matrix may reach to be tried."""


def _multiplies_alike(name: str, dims: Sequence[int], a: np.ndarray, b: np.ndarray) -> bool:
    with np.errstate(all="ignore"):
        out = np.matmul(a, b)
    refs = [constant_ref(x) for x in (a, b, out)]
    return reduces_alike([core_row((name,), refs, (2, 2, 2), dims)], list(zip(refs, (a, b), strict=False)), out)


_OUTER = 1 << 18
"""Elements up to which a product of columns and rows is one of elements: for few, BLAS takes ten times as long."""


@lru_cache(maxsize=1 << 8)
def is_outer(dtype: np.dtype, left: tuple[Any, Any], right: tuple[Any, Any]) -> bool:
    """Whether NumPy's product of columns and rows, of such shapes and strides, is that of their elements plus 0."""
    if dtype.char not in "fd":
        return False
    columns, rows = special_like(dtype, *left, 0), special_like(dtype, *right, 1)
    with np.errstate(all="ignore"):
        return same_bits(np.matmul(columns, rows), columns * rows + dtype.type(0))


def _with_axis(x: Ref, axis: int) -> Ref:
    """A view with one more axis, of size one."""
    shape, strides = (*x.shape[:axis], 1, *x.shape[axis:]), (*x.strides[:axis], x.dtype.itemsize, *x.strides[axis:])
    return Ref(x.root, x.offset, shape, strides, x.dtype)


def core_row(
    loop: tuple[Any, ...], operands: Sequence[Ref], cores: Sequence[int], dims: Sequence[int], outputs: int = 1
) -> Row:
    """The row of a loop with core dimensions.

    `cores` says how many each operand has, behind those that are broadcast to the shape of the last one; `dims` has
    their sizes, each once.
    """
    lead = [len(x.shape) - core for x, core in zip(operands, cores, strict=True)]
    stack = operands[-1].shape[: lead[-1]]
    outside = [broadcast_strides(x.shape[:k], x.strides[:k], stack) for x, k in zip(operands, lead, strict=True)]
    axes = [(d, s) for d, *s in zip(stack, *outside, strict=True) if d != 1]
    (count, steps), around = axes[-1] if axes else (1, [0] * len(operands)), axes[:-1]
    inside = itertools.chain(*[x.strides[k:] for x, k in zip(operands, lead, strict=True)])
    places = tuple([(x.root, x.offset) for x in operands])
    strides = tuple(itertools.chain(*[s for _, s in around]))
    return Row(loop, places, (count, *dims), (*steps, *inside), tuple([d for d, _ in around]), strides, outputs)


def dot(recorder: Writer, a: Any, b: Any) -> Hidden:
    """`dot` of vectors and matrices: the product of matrices of one row or column.

    Of single numbers it is their product, to which nothing is added; of one number and several it is left to NumPy.
    """
    opaque_if(len(np.shape(b)) not in (1, 2) or a.ndim not in (1, 2) or 0 in (a.size, b.size))
    if a.size == b.size == 1 and a.ndim + b.ndim > 2 and a.dtype.char in "fd":
        shape = a.shape[:-1] + b.shape[1:]
        return (a.reshape(()) * b.reshape(())).reshape(shape)
    opaque_if(1 in (a.size, b.size))
    if not all(x.flags.c_contiguous or x.flags.f_contiguous for x in (a, b)):
        refs = [ref_of(recorder, x) for x in (a, b)]
        one_place = refs[0].root is refs[1].root and refs[0].offset == refs[1].offset
        opaque_if(one_place or not dots_alike(a.dtype, *[(x.shape, x.strides) for x in refs]))
    if a.dtype.kind == "c" and a.shape[-1] == 1:
        # what becomes of infinities differs
        raise Opaque
    real = a.actual.dot(actual_of(b))
    left = a if a.ndim == 2 else a[np.newaxis]
    right = b if len(b.shape) == 2 else b[:, np.newaxis]
    opaque_if(not isinstance(real, np.ndarray))
    product = matmul(recorder, left, right, real.reshape(left.shape[0], right.shape[1]))
    return product if real.ndim == 2 else recorder.view(product, product.actual.reshape(real.shape))


@lru_cache(maxsize=1 << 8)
def dots_alike(dtype: np.dtype, left: tuple[Any, Any], right: tuple[Any, Any]) -> bool:
    """Whether `dot` of such arrays has the bits of `matmul`: of those with gaps it copies some. It is tried."""
    if dtype.char not in "fd" or max(np.prod(left[0]), np.prod(right[0])) > _OUTER:
        return False
    results = np.prod([*left[0][:-1], *right[0][1:]])
    for shift in range(1, 1 + max(_TRIALS, _RESULTS // int(results))):
        special = [special_like(dtype, *form, shift + k) for k, form in enumerate((left, right))]
        ordinary = [numbers_like(x, shift + k) for k, x in enumerate(special)]
        with np.errstate(all="ignore"):
            if not all(same_bits(np.dot(*x), np.matmul(*x)) for x in (special, ordinary)):
                return False
    return True


_TRIALS, _RESULTS = 24, 128
"""How many times, and in how many numbers, two products are compared: few agree by chance where additions differ."""


_NAMES = {"?": "b", "f": "f", "d": "d", "i": "i", "l": "l"}


def part(recorder: Writer, x: Any, k: int) -> Hidden:
    """The real part, or the imaginary one, of a complex value: a view."""
    opaque_if(x.dtype.kind != "c")
    ref, shown = x.ref, x.actual.imag if k else x.actual.real
    offset = ref.offset + k * shown.itemsize
    return recorder.value(shown, Ref(ref.root, offset, ref.shape, ref.strides, shown.dtype, ref.scalar, ref.writable))


def of_parts(recorder: Writer, parts: Sequence[Any], real: Any) -> Hidden:
    """A complex value of its real and imaginary parts, which are broadcast."""
    result = recorder.computed(real)
    for k, x in enumerate(parts):
        out = part(recorder, result, k)
        name = f"copy_{out.itemsize}" if x.dtype == out.dtype else _cast_loop(x.dtype, out.dtype)
        opaque_if(name not in LOOPS or LOOPS[name].refuses)
        recorder.elementwise((name,), [ref_of(recorder, x)], None, out)
    return result


def _cast_loop(x: np.dtype, dtype: np.dtype) -> str:
    return f"cast_{_NAMES.get(x.char)}_{_NAMES.get(dtype.char)}"


def cast(recorder: Writer, x: Any, dtype: np.dtype) -> Hidden:
    """`x` in another dtype; numbers that it has not are left to the op's own kernel."""
    real = x.actual.astype(dtype)
    if dtype == x.dtype:
        return recorder.copy(x, real)
    if dtype.kind == "c":
        nothing = np.zeros((), real.real.dtype)
        both = [part(recorder, x, k) for k in (0, 1)] if x.dtype.kind == "c" else [x, nothing]
        return of_parts(recorder, both, real)
    name = _cast_loop(x.dtype, dtype)
    loop = LOOPS.get(name)
    if loop is None or np.dtype("l").itemsize != 8 or (loop.refuses and not (real == np.trunc(x.actual)).all()):
        raise Opaque
    if not loop.refuses:
        return recorder.elementwise((name,), [x.ref], real)
    result = recorder.computed(real)
    if result.size:
        recorder.add_checked(elementwise((name,), [x.ref, result.ref]))
    return result


# ---- views and gathers -----------------------------------------------------------------------------------------------


def getitem(recorder: Writer, x: Any, key: Any) -> Hidden:
    """An index: a view, or a gather at positions that are known."""
    keys = key if isinstance(key, tuple) else (key,)
    opaque_if(any(isinstance(k, Hidden) for k in keys))
    if isinstance(x.actual, np.generic):
        return recorder.view(x, as_array(x.actual)[key])
    real = x.actual[key]
    if isinstance(real, np.generic):
        shown = recorder.view(x, x.actual[(*keys, ...)])
        return recorder.value(real, Ref(shown.ref.root, shown.ref.offset, (), (), x.dtype, True))
    if all(isinstance(k, (int, np.integer, slice, type(None), type(...))) for k in keys):
        return recorder.view(x, real) if real.size else recorder.computed(real)
    positions = np.arange(x.size).reshape(x.shape)[key]
    return take(recorder, x, positions, real)


_MOST = 1 << 20
"""Positions that one row may hold."""


def take(recorder: Writer, x: Any, positions: np.ndarray, real: Any) -> Hidden:
    """The elements at positions in the order of C, of the shape of the positions."""
    opaque_if(positions.size > _MOST or not real.flags.c_contiguous)
    result = recorder.computed(real)
    if positions.size:
        add_take(recorder, x.ref, positions.ravel(), result.ref, 0, real.itemsize)
    return result


def add_take(recorder: Writer, x: Ref, positions: np.ndarray, out: Ref, start: int, step: int) -> None:
    """The row of a gather: a copy where positions are regular."""
    offsets = np.zeros(len(positions), np.intp)
    for axis, step_x in zip(np.unravel_index(positions, x.shape), x.strides, strict=True):
        offsets += axis * step_x
    count, size = len(offsets), x.dtype.itemsize
    gap = int(offsets[1] - offsets[0]) if count > 1 else 0
    place = (out.root, out.offset + start)
    if count < 3 or (np.diff(offsets) == gap).all():
        recorder.add(Row((f"copy_{size}",), ((x.root, x.offset + int(offsets[0])), place), (count,), (gap, step)))
        return
    held = recorder.constant(offsets)
    operands = ((held.root, 0), (x.root, x.offset), place)
    recorder.add(Row((f"take_{size}",), operands, (count,), (held.strides[0], 0, step)))


def filled(recorder: Writer, shape: tuple[int, ...], dtype: np.dtype, value: Any = 0) -> Hidden:
    """An array that is full of one number."""
    result = recorder.computed(np.full(shape, value, dtype))
    if result.size:
        blank = recorder.constant(np.asarray(value, dtype))
        recorder.add(elementwise((f"copy_{result.itemsize}",), [blank, result.ref]))
    return result


def put(recorder: Writer, whole: Any, key: Any, x: Any) -> None:
    """Write a value to known positions of what rows compute, of whatever index; of several at one the last stays."""
    positions = np.arange(whole.size).reshape(whole.shape)[key]
    opaque_if(x.dtype != whole.dtype or positions.shape != x.shape or positions.size > _MOST)
    whole.actual[key] = actual_of(x)
    if not positions.size:
        return
    source = ref_of(recorder, in_c_order(recorder, x))
    offsets = np.zeros(positions.size, np.intp)
    for axis, step in zip(np.unravel_index(positions.ravel(), whole.shape), whole.strides, strict=True):
        offsets += axis * step
    held = recorder.constant(offsets)
    operands = ((held.root, 0), (source.root, source.offset), (whole.ref.root, whole.ref.offset))
    size = whole.itemsize
    recorder.add(Row((f"put_{size}",), operands, (len(offsets),), (held.strides[0], size, 0)))


# ---- functions -------------------------------------------------------------------------------------------------------


def _view(function: Callable[..., Any]) -> Callable[..., Any]:
    def handler(recorder: Writer, x: Any, *args: Any, **kw: Any) -> Hidden:
        opaque_if(not isinstance(x, Hidden))
        real = function(x.actual, *args, **kw)
        if isinstance(x.actual, np.generic):
            # NumPy made an array of the number first
            x = recorder.value(as_array(x.actual), Ref(x.ref.root, x.ref.offset, (), (), x.dtype))
            real = function(x.actual, *args, **kw)
        return recorder.view(x, real) if real.size else recorder.computed(real)

    return handler


def _method(name: str) -> Callable[..., Any]:
    def handler(recorder: Writer, x: Any, *args: Any, **kw: Any) -> Hidden:
        opaque_if(not isinstance(x, Hidden))
        return getattr(x, name)(*args, **kw)

    return handler


def _where(recorder: Writer, condition: Any, x: Any, y: Any) -> Hidden:
    choice = (condition, x, y)
    opaque_if(condition.dtype != np.bool_ or not (hasattr(x, "dtype") and hasattr(y, "dtype")) or x.dtype != y.dtype)
    real = np.where(*[actual_of(v) for v in choice])
    operands = [ref_of(recorder, v) for v in choice]
    return recorder.elementwise((f"select_{real.itemsize}",), operands, real)


def concatenate(recorder: Writer, arrays: Any, axis: int = 0, out: Any = None) -> Hidden:
    """`numpy.concatenate` along an axis."""
    opaque_if(isinstance(arrays, Hidden) or axis is None or out is not None)
    real = np.concatenate([actual_of(a) for a in arrays], axis)
    return joined(recorder, arrays, axis % real.ndim, real)


def joined(recorder: Writer, arrays: Sequence[Any], axis: int, real: Any) -> Hidden:
    """Copies into the parts of a whole."""
    opaque_if(any(a.dtype != real.dtype for a in arrays))
    result = recorder.computed(real)
    start = 0
    for a in arrays:
        stop = start + np.shape(a)[axis]
        write(recorder, result, (*[slice(None)] * axis, slice(start, stop)), a)
        start = stop
    return result


def write(recorder: Writer, whole: Any, key: Any, x: Any) -> None:
    """Write a value to a part of what rows compute."""
    opaque_if(whole.ref.root.kind != "computed" or x.dtype != whole.dtype)
    whole.actual[key] = actual_of(x)
    part = whole.actual[key]
    if isinstance(part, np.generic):
        part = whole.actual[(*key, ...) if isinstance(key, tuple) else (key, ...)]
    if not part.size:
        return
    ref = ref_of(recorder, x)
    recorder.elementwise((f"copy_{whole.itemsize}",), [ref], None, recorder.view(whole, part))


def placed(recorder: Writer, shape: tuple[int, ...], key: Any, x: Any, around: Any = 0) -> Hidden:
    """`x` at a place of an array that is full of one number elsewhere."""
    opaque_if(0 in shape)
    out = filled(recorder, shape, x.dtype, around)
    write(recorder, out, key, x)
    return out


def stack(recorder: Writer, arrays: Any, axis: int = 0, out: Any = None) -> Hidden:
    """`numpy.stack` along a new axis."""
    opaque_if(isinstance(arrays, Hidden) or out is not None)
    rank = len(arrays[0].shape) + 1
    key = (*[slice(None)] * (axis % rank), np.newaxis)
    real = np.stack([actual_of(a) for a in arrays], axis)
    return joined(recorder, [expanded(recorder, a, key) for a in arrays], axis % rank, real)


def expanded(recorder: Writer, x: Any, key: Any) -> Hidden | np.ndarray:
    """A value with one more axis, of size one."""
    if not isinstance(x, Hidden):
        return np.asarray(x)[key]
    shown = as_array(x.actual)[key]
    strides = shown.strides
    return recorder.value(shown, Ref(x.ref.root, x.ref.offset, shown.shape, strides, x.dtype))


def _reduction(ufunc: np.ufunc) -> Callable[..., Any]:
    def handler(recorder: Writer, x: Any, axis: Any = None, *, keepdims: bool = False) -> Hidden:
        return reduce(recorder, ufunc, x, axis, None, keepdims)

    return handler


def _round(recorder: Writer, x: Any) -> Hidden:
    opaque_if(x.dtype.kind != "f")
    return apply_ufunc(recorder, np.rint, "__call__", (x,), {})


def _may_share_memory(recorder: Writer, a: Any, b: Any) -> bool:
    roots = [ref_of(recorder, x).root for x in (a, b)]
    if roots[0] is not roots[1] and all(root.kind != "computed" for root in roots):
        # only a run knows
        raise Opaque
    return roots[0] is roots[1]


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    **{
        f: _view(f)
        for f in (
            np.broadcast_to,
            np.transpose,
            np.swapaxes,
            np.moveaxis,
            np.expand_dims,
            np.squeeze,
            np.flip,
            np.diagonal,
        )
    },
    np.reshape: _method("reshape"),
    np.ravel: _method("ravel"),
    np.copy: _method("copy"),
    np.where: _where,
    np.concatenate: concatenate,
    np.stack: stack,
    np.sum: _reduction(np.add),
    np.prod: _reduction(np.multiply),
    np.max: _reduction(np.maximum),
    np.min: _reduction(np.minimum),
    np.any: _reduction(np.logical_or),
    np.all: _reduction(np.logical_and),
    np.round: _round,
    np.real: lambda recorder, x: x.real,
    np.imag: lambda recorder, x: x.imag,
    np.may_share_memory: _may_share_memory,
    np.shape: lambda recorder, x: x.shape,
    np.ndim: lambda recorder, x: x.ndim,
    np.size: lambda recorder, x: x.size,
    np.zeros_like: lambda recorder, x, dtype=None: np.zeros(x.shape, dtype or x.dtype),
    np.ones_like: lambda recorder, x, dtype=None: np.ones(x.shape, dtype or x.dtype),
}
"""By NumPy's function: what to do, with the recorder in front."""
