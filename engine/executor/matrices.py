"""Linear algebra as rows: NumPy's gufuncs for systems, inverses, factors and determinants, LAPACK's triangular systems.

What a gufunc says of a matrix that is singular, or not positive definite, it says by an invalid operation. Such a row
refuses what it is given; then the kernel is called with the arrays, and raises.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from engine.compiler.passes.outer_sum import outer_sum
from engine.core.op import Op
from engine.core.structural import all_beyond
from engine.executor.extension import executor
from engine.executor.hidden import Hidden, Opaque, Writer, actual_of, as_array, in_c_order, opaque_if, ref_of
from engine.executor.loops import loop_of, reduces_alike
from engine.executor.own_loops import LOOPS
from engine.executor.refs import Ref
from engine.executor.vocabulary import FUNCTIONS, core_row, dots_alike, filled, is_outer, with_threads
from engine.ops.determinants import cofactor, cofactors_of, conditions, largest_condition
from engine.ops.diagonal import embed_diagonal, matrix_diag_op, set_diag_op
from engine.ops.lapack import factoring
from engine.ops.linalg import by_dot
from engine.ops.small_matrix import MOST_COFACTORS, is_small
from engine.ops.solve import one_factorization, triangle, triangular_solve_op
from engine.runtime.blas import takes_one_thread
from engine.runtime.lazy_scipy import scipy
from engine.runtime.tuning import TUNING

# ---- gufuncs ---------------------------------------------------------------------------------------------------------


_DOUBLE = {"f": np.float64, "F": np.complex128}
"""By what NumPy is given: the precision in which it computes."""
_SINGLE = {"d": np.float32, "D": np.complex64}


def _gufunc(
    function: Callable[..., Any], name: str, cores: Sequence[int], refuses: bool, recorder: Writer, *inputs: Any
) -> Any:
    """A function of `numpy.linalg` that is one call of a gufunc; `cores`: how many core dimensions each operand has."""
    (double, *others) = {_DOUBLE.get(x.dtype.char) for x in inputs}
    if double is not None and not others:
        found = _gufunc(function, name, cores, refuses, recorder, *[x.astype(double) for x in inputs])
        results = tuple([x.astype(_SINGLE[x.dtype.char]) for x in (found if isinstance(found, tuple) else (found,))])
        return results if isinstance(found, tuple) else results[0]
    ufunc = getattr(getattr(np.linalg, "_umath_linalg", None), name, None)
    opaque_if(ufunc is None or len({x.dtype for x in inputs}) > 1 or not all(np.size(actual_of(x)) for x in inputs))
    opaque_if(any(np.ndim(actual_of(x)) < core for x, core in zip(inputs, cores, strict=False)))
    resolved = loop_of(ufunc, tuple([x.dtype for x in inputs]))
    reals = function(*[actual_of(x) for x in inputs])
    several = reals if isinstance(reals, tuple) else (reals,)
    if resolved is None or [x.dtype for x in (*inputs, *several)] != list(resolved[1]):
        raise Opaque
    made: list[Any] = [recorder.computed(real) for real in several]
    refs = [*[ref_of(recorder, x) for x in inputs], *[x.ref for x in made]]
    dims = (*refs[0].shape[-1:], *refs[1].shape[-1:]) if len(inputs) > 1 else refs[0].shape[-1:]
    row = core_row(with_threads(*resolved[0]), refs, cores, dims, len(made))
    arrays = list(zip(refs, [as_array(actual_of(x)) for x in inputs], strict=False))
    opaque_if(len(made) == 1 and not reduces_alike([row], arrays, reals))
    (recorder.add_checked if refuses else recorder.add)(row)
    return tuple(made) if isinstance(reals, tuple) else made[0]


FUNCTIONS.update({
    np.linalg.solve: partial(_gufunc, np.linalg.solve, "solve", (2, 2, 2), True),
    np.linalg.inv: partial(_gufunc, np.linalg.inv, "inv", (2, 2), True),
    np.linalg.cholesky: partial(_gufunc, np.linalg.cholesky, "cholesky_lo", (2, 2), True),
    np.linalg.det: partial(_gufunc, np.linalg.det, "det", (2, 0), False),
    np.linalg.slogdet: partial(_gufunc, np.linalg.slogdet, "slogdet", (2, 0, 0), False),
})  # fmt: skip


def _cofactor(recorder: Writer, x: Any) -> Hidden:
    if is_small(x, most=MOST_COFACTORS):
        small: Hidden = cofactor.kernel(x)
        return small
    opaque_if(x.dtype.char not in "fd")
    condition, inverse = conditions(x)
    opaque_if(not all_beyond(condition, largest_condition(x.dtype)))
    return cofactors_of(x, inverse)


# ---- triangles and diagonals -----------------------------------------------------------------------------------------


def _diagonal_of(recorder: Writer, matrix: Any, count: int, offset: int) -> Hidden:
    """A diagonal of what rows compute, to write to."""
    whole = matrix.actual[..., max(-offset, 0) :, max(offset, 0) :]
    strides = (*whole.strides[:-2], whole.strides[-2] + whole.strides[-1])
    return recorder.view(matrix, as_strided(whole, (*whole.shape[:-2], count), strides))


def _with_diagonal(recorder: Writer, matrix: Any, d: Any, offset: int) -> Hidden:
    opaque_if(d.dtype != matrix.dtype)
    if d.size:
        part = _diagonal_of(recorder, matrix, d.shape[-1], offset)
        part.actual[...] = actual_of(d)
        recorder.elementwise((f"copy_{matrix.itemsize}",), [ref_of(recorder, d)], None, part)
    return matrix


def _embed_diagonal(recorder: Writer, x: Any, ref: Any, *, offset: int = 0) -> Hidden:
    return _with_diagonal(recorder, filled(recorder, x.shape[:-1] + ref.shape[-2:], x.dtype), x, offset)


def _matrix_diag(recorder: Writer, d: Any, *, offset: int, rows: int | None, columns: int | None) -> Hidden:
    real = matrix_diag_op.kernel(actual_of(d), offset=offset, rows=rows, columns=columns)
    return _with_diagonal(recorder, filled(recorder, real.shape, d.dtype), d, offset)


def _set_diag(recorder: Writer, x: Any, d: Any, *, offset: int) -> Hidden:
    set_diag_op.kernel(actual_of(x), actual_of(d), offset=offset)  # raises if the diagonal has another size
    opaque_if(not isinstance(x, Hidden))
    return _with_diagonal(recorder, recorder.copy(x, x.actual.copy()), d, offset)


def _triangle(recorder: Writer, x: Any, *, lower: bool, diagonal: float = 1.0) -> np.ndarray | Hidden:
    kept = np.tri(x.shape[-2], x.shape[-1], 0 if lower else -1, dtype=bool)
    zero = np.zeros(1, x.dtype)
    out: Any = np.where(kept, x, zero) if lower else np.where(kept, zero, x)
    if diagonal != 1 and out.size:
        part: Any = _diagonal_of(recorder, out, min(x.shape[-2:]), 0)
        part *= diagonal
    return out


# ---- triangular systems ----------------------------------------------------------------------------------------------


@cache
def _has_trtrs() -> bool:
    """Whether LAPACK's function for triangular systems is there: SciPy's Cython interface is asked, once."""
    capsules = getattr(scipy.linalg.cython_lapack, "__pyx_capi__", {})
    functions = [capsules.get(name) for name in ("strtrs", "dtrtrs")]
    # others have integers of eight bytes
    return executor is not None and all(" int *" in str(x) for x in functions) and executor.use_trtrs(*functions)


def _triangular_solve(
    recorder: Writer, matrix: Any, rhs: Any, *, lower: bool, adjoint: bool = False
) -> Hidden | np.ndarray:
    if is_small(matrix, rhs):
        small: Hidden = triangular_solve_op.kernel(matrix, rhs, lower=lower, adjoint=adjoint)
        return small
    params = {"lower": lower, "adjoint": adjoint}
    opaque_if(matrix.dtype.char not in "fd" or rhs.dtype != matrix.dtype or not rhs.size or not _has_trtrs())
    if takes_one_thread(factoring(matrix, rhs), TUNING.one_thread):
        raise Opaque  # a row cannot tell SciPy's BLAS, which has this function, to take one
    loop = f"trtrs_{matrix.dtype.char}_of_{'lower' if lower else 'upper'}{'_adjoint' if adjoint else ''}"

    def solved(matrices: Any, out: Any) -> Hidden:
        refs = [ref_of(recorder, in_c_order(recorder, matrices)), out.ref]
        recorder.add_checked(core_row((loop,), refs, (2, 2), out.shape[-2:], 1))
        return out

    def one(a: Any, b: Any) -> Hidden:
        real = triangular_solve_op.kernel(actual_of(a), actual_of(b), **params)
        out = recorder.computed(real)
        recorder.elementwise((f"copy_{real.itemsize}",), [ref_of(recorder, b)], None, out)
        return solved(a, out)

    if matrix.ndim == 2:
        return one(matrix, rhs) if rhs.ndim == 2 else one_factorization(one, matrix, rhs)
    real = triangular_solve_op.kernel(actual_of(matrix), actual_of(rhs), **params)
    turned: Any = recorder.computed(np.empty(real.mT.shape, real.dtype))
    columns = turned.mT
    recorder.elementwise((f"copy_{real.itemsize}",), [ref_of(recorder, rhs)], None, columns)
    return recorder.copy(solved(matrix, columns), real)


# ---- sums of products of columns and rows ----------------------------------------------------------------------------

_MOST_OUTERS = max([len(loop.cores) // 2 for name, loop in LOOPS.items() if name.startswith("add_outers_")], default=0)
"""Products that one row adds."""
_LARGEST_OUTER = 1 << 22
"""Elements of a product up to which it is tried whether NumPy's is that of elements."""


def _outer_sum(recorder: Writer, *operands: Any, aval: Any, turned: Sequence[tuple[bool, bool]]) -> Hidden:
    real = outer_sum.kernel(*map(actual_of, operands), aval=aval, turned=turned)
    refs = [ref_of(recorder, x) for x in operands]
    *start, first = range(len(refs) - 2 * len(turned) + 1)
    pairs = [
        (_turned(refs[first + 2 * k], left), _turned(refs[first + 2 * k + 1], right))
        for k, (left, right) in enumerate(turned)
    ]
    forms = {tuple([(x.shape, x.strides) for x in pair]) for pair in pairs}
    opaque_if(not 0 < real.size <= _LARGEST_OUTER or not all(is_outer(real.dtype, *form) for form in forms))
    opaque_if(any(by_dot(left[0], right[0]) and not dots_alike(real.dtype, left, right) for left, right in forms))
    if start:
        out: Any = recorder.elementwise((f"copy_{real.itemsize}",), refs[:1], real)
    else:
        out = recorder.elementwise((f"outer_{real.dtype.char}",), pairs.pop(0), real)
    for k in range(0, len(pairs), _MOST_OUTERS):
        some = [_line(x, axis) for pair in pairs[k : k + _MOST_OUTERS] for axis, x in enumerate(pair)]
        loop = f"add_outers_{real.dtype.char}_{len(some) // 2}"
        recorder.add(core_row((loop,), [*some, out.ref], (*[1] * len(some), 2), real.shape))
    return out


def _turned(x: Ref, turn: bool) -> Ref:
    return Ref(x.root, x.offset, x.shape[::-1], x.strides[::-1], x.dtype) if turn else x


def _line(x: Ref, axis: int) -> Ref:
    """A column (axis 0) or row (axis 1) as a vector."""
    return Ref(x.root, x.offset, x.shape[axis : axis + 1], x.strides[axis : axis + 1], x.dtype)


MATRICES: dict[Op, Callable[..., Any]] = {
    triangular_solve_op: _triangular_solve,
    triangle: _triangle,
    embed_diagonal: _embed_diagonal,
    matrix_diag_op: _matrix_diag,
    set_diag_op: _set_diag,
    cofactor: _cofactor,
    outer_sum: _outer_sum,
}
"""By op: its kernel as rows, given the recorder in front. What it cannot write raises `Opaque`."""
