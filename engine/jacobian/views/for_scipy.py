"""Functions of tensors as SciPy's solvers want them: of one flat vector, with the derivatives that each takes.

SciPy asks for the value at a point, then perhaps for the Jacobian there, then for products with the Hessian. What the
value was computed from is kept, so that a derivative at the same point costs its sweeps only; the programs for these
are planned and compiled once. It is kept for the thread that went to the point, and used again only if all that the
function sees is known to be what it was (`Evaluations.state`); what cannot be known is computed anew.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy, deepcopy
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from engine.closed.function import ClosedFunction
from engine.core.aval import format_shape
from engine.core.python_state import Unknown
from engine.core.value import numbers_of
from engine.jacobian.execution.plan_programs import compiled_jacobian
from engine.jacobian.plan_cache import parallel
from engine.jacobian.planning.plan import Options
from engine.jacobian.second import compiled_gradient, compiled_hessian, compiled_product, compiled_pull, compiled_push
from engine.jacobian.structure.path import Path
from engine.jacobian.structure.pattern import Pattern
from engine.jacobian.views.evaluations import Derived, Evaluations, Make
from engine.jacobian.views.fixed_patterns import (
    FixedPattern,
    Triangle,
    hessian_patterns_of,
    patterns_of,
    triangle_of,
    with_indices,
)
from engine.jacobian.views.results import Format, Mode, options_for, pattern_given, sparse_block
from engine.jacobian.views.sparse_gradient import SPARSE_GRADIENTS, Products, as_derivative, require_no_dense_method
from engine.runtime.errors import InvalidArgumentError, SymbolicArrayError, UnimplementedError
from engine.runtime.faces import Shown


class _Part(Evaluations):
    """One of the results of a function that gives several. All parts share its evaluations."""

    def __init__(self, whole: SciPyFunction, index: int) -> None:
        self._whole, self._index = whole, index

    def evaluate(self, parts: Sequence[np.ndarray], args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[np.ndarray]:
        """Go to a point with all results, unless that is where the function is."""
        return self.go(_flat(parts), args, kwargs).values

    def go(self, x: Any, args: Sequence[Any], kwargs: Mapping[str, Any], here: _Here | None = None) -> _Here:
        """The same for a flat vector: the whole function knows whether another part has gone there."""
        there = self._whole._go(x, args, kwargs)
        here, pairs = here or _Here(self), there.evaluations.pairs
        self.pairs = [pairs[self._index]] if pairs else ()
        here.values, here.asked, here.is_number = [there.values[self._index]], there.asked, there.is_number
        return here

    def derived(self, make: Make, options: Options, sparsity: Any, ends: Any = None) -> Derived:
        """The derivative of this result."""
        return self._whole.evaluations.derived(
            make, options, sparsity, (self._index, None if ends is None else ends[1])
        )

    def weighted(self, make: Make, options: Options, weights: Sequence[Any]) -> Derived:
        """The same for its weighted sum."""
        count = len(self._whole._here.values)
        every = [weights[0] if i == self._index else None for i in range(count)]
        return self._whole.evaluations.weighted(make, options, every)

    def paths(self, target: int | None = None) -> Iterator[Path | None]:
        """The ways from points to this result."""
        return self._whole.evaluations.paths(self._index)


_MOST_ENTRIES = 100_000_000
_FLOAT64 = np.dtype(np.float64)


class _Here(threading.local):
    """Where one thread has evaluated a function last.

    Attributes
    ----------
    evaluations : Evaluations
        The thread's own.
    point : (point, arguments, state), or None
        None where nothing is known of what the results depend on.
    values : list of array
        The results there.
    asked : (x, args, kwargs), or None
        The last point, whatever is known of it.
    is_number : bool
        Whether it was given as one number.
    """

    def __init__(self, evaluations: Evaluations) -> None:
        self.evaluations = copy(evaluations)
        self.point: Any = None
        self.values: list[np.ndarray] = []
        self.asked: Any = None
        self.is_number = False


class SciPyFunction(Shown):
    """A function and its derivatives for SciPy: made by `for_scipy`.

    All methods take the point as one flat vector, and give arrays of float64. Further arguments, those by keyword too,
    are handed on to the function; they are not differentiated. Complex numbers of the point count as two real ones,
    real part and imaginary part, as ``z.view(np.float64)`` has them, and so do those of the results then. Of a real
    point complex results, and their Jacobian, are complex.

    If the example point is one number and so is `x`, the gradient and the Hessian of a scalar are numbers: `newton` and
    `root_scalar` want them so.

    Parameters
    ----------
    evaluations : Evaluations
    x0 : sequence of array
        The example point.
    pack : callable
        From arrays to the structure of the point.
    format, mode, sparsity, max_bytes, executor, fixed_pattern, index_dtype
        See `for_scipy`.

    Attributes
    ----------
    x0 : array, shape (n,)
        The example point.
    counts : dict
        How often the function was evaluated (``"fun"``), and its derivatives.
    """

    def __init__(
        self,
        evaluations: Evaluations,
        x0: Sequence[np.ndarray],
        pack: Callable[[list[Any]], Any],
        *,
        format: Format = "dense",
        mode: Mode = "auto",
        sparsity: Any = None,
        max_bytes: int | None = None,
        executor: Any = None,
        fixed_pattern: bool = False,
        index_dtype: Any = np.int32,
    ) -> None:
        self._here, self._pack = _Here(evaluations), pack
        self._like = [(x.shape, x.dtype) for x in x0]
        self._widths = [x.size for x in x0]
        self._ends = np.cumsum([0, *self._widths]).tolist()
        self._format, self._executor = format, executor
        self._options = options_for("for_scipy", mode, format, max_bytes)
        self._second = options_for("for_scipy", mode, format, max_bytes, symmetric=True)
        if executor is not None:
            parallel.check_executor(executor, format)
        self._fixed: dict[str, FixedPattern] | None = {} if fixed_pattern else None
        if fixed_pattern and format not in SPARSE_GRADIENTS:
            raise InvalidArgumentError(
                f"for_scipy: `fixed_pattern` is of sparse matrices: choose `format` csr, csc or coo; got {format!r}"
            )
        self._index_dtype = np.dtype(index_dtype)
        if self._index_dtype not in (np.int32, np.int64):
            raise InvalidArgumentError(f"for_scipy: `index_dtype` must be int32 or int64; got {index_dtype!r}")
        # what is done to it later is not known here
        self._sparsity = sparsity if sparsity is None or isinstance(sparsity, str) else deepcopy(sparsity)
        self._given: dict[str, Any] = {
            "format": format,
            "mode": mode,
            "sparsity": self._sparsity,
            "max_bytes": max_bytes,
            "fixed_pattern": fixed_pattern,
            "index_dtype": self._index_dtype,
        }
        self.x0 = _flat(x0)
        # parts, and what differs by its format: each has its patterns and its last point
        self._views: dict[Any, SciPyFunction] = {}
        self.counts = {"fun": 0, "jac": 0, "hess": 0, "hessp": 0}

    def _facts_(self) -> dict[str, Any]:
        return {"arguments": self.x0.size, "format": self._format, "evaluations": self.counts}

    def __getstate__(self) -> dict[str, Any]:
        # elsewhere it is evaluated anew
        return {**self.__dict__, "_here": self.evaluations, "_executor": None, "_views": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _here=_Here(state["_here"]))

    @property
    def evaluations(self) -> Evaluations:
        """Those of this thread."""
        return self._here.evaluations

    def part(self, index: int) -> SciPyFunction:
        """One of the results of a function that gives several, for the objective and the constraints of a solver.

        Parts share the evaluations: at one point the function is evaluated once for all of them.

        Parameters
        ----------
        index : int
            Results count from 0 on; those of a dict by the order of the keys.
        """
        return self._view(index, lambda: _Part(self, index))

    def parts(self) -> list[SciPyFunction]:
        """All results, each as a function (`part`)."""
        if not self._here.values:
            self._go(self.x0, *self._arguments((), {}))
        return [self.part(i) for i in range(len(self._here.values))]

    def like(self, **options: Any) -> SciPyFunction:
        """The same function with other options of `for_scipy`, for a solver that wants another format."""
        if not options.keys() <= {"format", "fixed_pattern"}:
            return self._seen_through(copy(self.evaluations), **options)
        return self._view(tuple(sorted(options.items())), lambda: copy(self.evaluations), **options)

    def _view(self, key: Any, evaluations: Callable[[], Evaluations], **options: Any) -> SciPyFunction:
        if key not in self._views:
            self._views.setdefault(key, self._seen_through(evaluations(), **options))
        found = self._views[key]
        found.x0 = self.x0
        return found

    def _seen_through(self, evaluations: Evaluations, **options: Any) -> SciPyFunction:
        shapes = [np.zeros(shape, dtype) for shape, dtype in self._like]
        evaluations.expected = self._arguments((), {})
        given = {"executor": self._executor, **self._given, **options}
        found = SciPyFunction(evaluations, shapes, self._pack, **given)
        found.x0 = self.x0
        return found

    # ---- values ------------------------------------------------------------------------------------------------------

    def fun(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """The value at `x`: a float if the function gives one scalar tensor, else all its results, flat.

        Of an array of shape (n, ...) it gives the values at its columns, shape (...) or (results, ...), as solvers ask
        for with ``vectorized=True``, and `scipy.differentiate`. A function of one number gives those of all numbers of
        an array, in its shape; further arguments of this shape, or broadcast to it, are taken apart, too.
        """
        shape = np.shape(x)
        if self._is_one_number and np.size(x) != 1:
            return self._at_columns(numbers_of(x).reshape(1, -1), shape, args, kwargs)
        is_many = len(shape) > 1 and shape[0] == self.x0.size and shape != self._like[0][0]
        if is_many and (len(shape) > 2 or np.size(x) != self.x0.size):
            return self._at_columns(numbers_of(x).reshape(self.x0.size, -1), shape[1:], args, kwargs)
        value = self._value(self._go(x, args, kwargs))
        return np.full(shape, value) if self._is_one_number and shape and self._is_scalar else value

    def _value(self, here: _Here) -> Any:
        return float(here.values[0]) if self._is_scalar else self._with_complex(_flat(here.values))

    __call__ = fun

    @property
    def _is_one_number(self) -> bool:
        return len(self._like) == 1 and self._like[0][0] == ()

    def _at_columns(self, x: np.ndarray, shape: tuple[int, ...], args: Sequence[Any], kwargs: Any) -> np.ndarray:
        if x.dtype.kind not in "fiu":
            raise InvalidArgumentError(f"for_scipy: `x` must be real; got {x.dtype.name}")
        parts = zip(self._like, self._ends[:-1], self._ends[1:], strict=True)
        points = [x.T[:, a:b].reshape(-1, *shape).astype(dtype) for (shape, dtype), a, b in parts]
        args, each = self._apart(args, shape)
        self.counts["fun"] += x.shape[1]
        try:
            found = self.evaluations.columns(points, args, kwargs, each)
        except (SymbolicArrayError, TypeError, UnimplementedError):
            # it branches on values: one by one
            found = Evaluations.columns(self.evaluations, points, args, kwargs, each)
        self._here.point = None
        if len(found) == 1 and found[0].ndim == 1:
            return found[0].astype(np.float64).reshape(shape)
        self._here.values = [y[0] for y in found]
        whole = self._with_complex(np.concatenate([y.reshape(len(y), -1) for y in found], 1).T.astype(np.float64))
        return whole.reshape(-1, *shape)

    def _apart(self, args: Sequence[Any], shape: tuple[int, ...]) -> tuple[list[Any], list[bool]]:
        """Further arguments, of which those that go with each of many numbers are rows; which ones do."""
        each = [self._is_one_number and _is_spread(np.shape(a), shape) for a in args]
        return [np.broadcast_to(a, shape).reshape(-1) if flag else a for a, flag in zip(args, each, strict=True)], each

    def _of_each(self, method: str, x: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> np.ndarray:
        """The first or second derivative of a function of one number at all numbers of an array: `newton` asks so."""
        shape, points = np.shape(x), numbers_of(x, "for_scipy: `x`").reshape(-1)
        args, each = self._apart(args, shape)
        try:
            total = self.evaluations.total(each, points.size)
            like = np.zeros(points.size, self._like[0][1])
            summed = SciPyFunction(total, [like], lambda parts: parts[0])
            if method == "jac":
                return summed.grad(points, *args, **kwargs).reshape(shape)
            return summed.hessp(points, np.ones(points.size), *args, **kwargs).reshape(shape)
        except (SymbolicArrayError, TypeError, UnimplementedError):
            rows = [[a[i] if flag else a for a, flag in zip(args, each, strict=True)] for i in range(points.size)]
            found = [getattr(self, method)(point, *row, **kwargs) for point, row in zip(points, rows, strict=True)]
            self._require_scalar(f"{method} at many numbers")
            return np.reshape(found, shape)

    def unpacked(self, x: Any) -> Any:
        """A flat vector (a solver's result) as arrays in the structure and of the shapes of the example point."""
        return self._pack(self._parts(self._checked(x)))

    # ---- first derivatives -------------------------------------------------------------------------------------------

    def jac(self, x: Any, *args: Any, triangle: Triangle | None = None, **kwargs: Any) -> Any:
        """The Jacobian at `x`, shape (results, n), in the format asked for; the gradient, shape (n,), of a scalar.

        In a sparse format the gradient is a sparse row, shape (1, n), as a constraint's must be beside other sparse
        ones, and a vector, shape (n,), wherever NumPy or SciPy ask for an array. Of a square one there are triangles
        (see `hess`). A function of one number gives its derivative at all numbers of an array, in its shape, as `fun`.
        """
        if self._is_one_number and np.size(x) != 1:
            return self._of_each("jac", x, args, kwargs)
        return self._jacobian(self._go(x, args, kwargs), triangle)

    def _jacobian(self, here: _Here, triangle: Triangle | None = None) -> Any:
        if self._is_scalar and (here.is_number or self._format in ("dense", "operator")):
            return self._gradient(here)
        self.counts["jac"] += 1
        if self._format == "operator":
            return triangle_of(self._with_complex(self._operator()), triangle)
        make = compiled_jacobian if self._executor is None else parallel.spread_over(self._executor)
        jacobian = self._finished(*self._derived(make, self._options, self._pattern()))
        if self._is_scalar:
            return SPARSE_GRADIENTS[self._format](self._stored("jac", jacobian, triangle))
        return self._stored("jac", self._with_complex(jacobian), triangle)

    def grad(self, x: Any, *args: Any, **kwargs: Any) -> np.ndarray:
        """The gradient of a scalar function, or of one that gives one number, at `x`, shape (n,)."""
        here = self._go(x, args, kwargs)
        if [y.size for y in here.values] == [1] and not self._is_scalar and not any(here.evaluations.pairs):
            return np.reshape(self.like(format="dense", fixed_pattern=False).jac(x, *args, **kwargs), -1)
        self._require_scalar("grad")
        return self._gradient(here)

    def _gradient(self, here: _Here) -> Any:
        self.counts["jac"] += 1
        what, values = self.evaluations.derived(compiled_gradient, Options(), None)
        gradient = _flat([np.asarray(part) for part in what(*values)[0]])
        return gradient[0] if here.is_number else gradient

    def fun_and_jac(self, x: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        """Both at once, for ``minimize(p.fun_and_jac, p.x0, jac=True)``."""
        here = self._go(x, args, kwargs)
        return self._value(here), self._jacobian(here)

    def jac_sparsity(self, *args: Any, triangle: Triangle | None = None, **kwargs: Any) -> sparse.sparray:
        """Where the Jacobian can be different from zero at any point, as a sparse array of ones.

        It follows from the structure of the function. Where indices are computed from other values (a sort, a mask),
        each element counts as depending on all that they choose from. Where Python decides (an ``if``), the function is
        called with the other decisions as well; where it may do what is not found so (of a loop that ends by a
        condition, say, or with numbers of a tensor), every entry counts. A `sparsity` that was given counts as it is.
        """
        pattern = self._structure("jac", args, kwargs)
        return pattern.with_data(np.ones(pattern.nnz, np.int8), triangle)

    def hess_sparsity(self, *args: Any, triangle: Triangle | None = None, **kwargs: Any) -> sparse.sparray:
        """Where the Hessian can be different from zero at any point, as a sparse array of ones.

        Of a function that gives more than a scalar it is that of any weighted sum of the results (`weighted_hess`): of
        ``(objective, constraints)`` that of the Lagrangian.
        """
        pattern = self._structure("hess", args, kwargs)
        return pattern.with_data(np.ones(pattern.nnz, np.int8), triangle)

    def _structure(self, which: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> FixedPattern:
        """The pattern of Jacobians or Hessians: found once if it is fixed."""
        if self._fixed is not None and which in self._fixed:
            return self._fixed[which]
        asked = self._here.asked
        self._go(self.x0 if asked is None else asked[0], *self._arguments(args, kwargs))
        matrix = self._pattern() if which == "jac" else None
        if matrix is None:
            matrix = self._found_pattern(which)
        format = self._format if self._format in SPARSE_GRADIENTS else "csr"
        found = FixedPattern(with_indices(matrix.astype(np.int8).asformat(format), self._index_dtype))
        return found if self._fixed is None else self._fixed.setdefault(which, found)

    def _arguments(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, Any]:
        """Further arguments: if none are given, those of the last call, or those that are expected."""
        asked = self._here.asked
        last = self.evaluations.expected if asked is None else asked[1:]
        return args or last[0], kwargs or last[1]

    def _found_pattern(self, which: str) -> sparse.sparray:
        sizes = self._sizes(which == "hess")
        blocks = [[Pattern.zero(m, n) for n in sizes[1]] for m in sizes[0]]
        for path in self.evaluations.paths():
            found = blocks if path is None else (patterns_of if which == "jac" else hessian_patterns_of)(path)
            pairs = [zip(row, more, strict=True) for row, more in zip(blocks, found, strict=True)]
            blocks = [[Pattern.dense(*p.shape) if path is None else p.union(q) for p, q in row] for row in pairs]
        entries = sum(p.nnz for row in blocks for p in row)
        if entries > _MOST_ENTRIES and all(p.is_dense for row in blocks for p in row):
            raise InvalidArgumentError(
                f"for_scipy: {which}_sparsity: Python decides by the numbers of tensors, so any of {entries:,} entries "
                f"may be different from zero at some point. Decide with tf.where, or with tf.cond in a tf.function"
            )
        rows = [[p.to_csr().astype(np.int8) for p in row] for row in blocks]
        whole = rows[0][0] if len(rows) == 1 == len(rows[0]) else sparse.block_array(rows, format="csr")
        if which == "jac" and any(self.evaluations.pairs):
            return self._with_complex(whole).astype(bool)
        return whole

    def _stored(self, which: str, matrix: Any, triangle: Triangle | None) -> Any:
        """A matrix as it is handed out: on the fixed pattern, if there is one, and the triangle that is wanted."""
        if not sparse.issparse(matrix):
            return triangle_of(matrix, triangle)
        if which == "hess":
            require_no_dense_method()
        if self._fixed is None:
            return as_derivative(with_indices(triangle_of(matrix, triangle), self._index_dtype))
        pattern = self._fixed.get(which) or self._structure(which, (), {})
        if triangle is None and pattern.is_of(matrix):
            return as_derivative(matrix)
        return as_derivative(pattern.with_data(pattern.data_of(matrix, which), triangle))

    # ---- second derivatives ------------------------------------------------------------------------------------------

    def hess(self, x: Any, *args: Any, triangle: Triangle | None = None, **kwargs: Any) -> Any:
        """The Hessian of a scalar function at `x`, shape (n, n), symmetric to the bit, in the format asked for.

        With `triangle` what lies above the diagonal (``"lower"``) or below it (``"upper"``) is left out: solvers that
        take one triangle read the other as further entries, or as none. Of many numbers it is as `jac`.
        """
        if self._is_one_number and np.size(x) != 1:
            return self._of_each("hess", x, args, kwargs)
        here = self._go(x, args, kwargs)
        self._require_scalar("hess")
        self.counts["hess"] += 1
        if here.is_number:
            return self._product(*self.evaluations.derived(compiled_product, Options(), None), 1.0)[0]
        if self._format == "operator":
            return triangle_of(self._products(*self.evaluations.derived(compiled_product, Options(), None)), triangle)
        what, values, blocks = self._derived(compiled_hessian, self._second)
        return self._stored("hess", self._finished(what, values, blocks, square=True), triangle)

    def hessp(self, x: Any, p: Any, *args: Any, **kwargs: Any) -> np.ndarray:
        """The Hessian of a scalar function at `x` times a vector, without the matrix."""
        here = self._go(x, args, kwargs)
        self._require_scalar("hessp")
        self.counts["hessp"] += 1
        product = self._product(*self.evaluations.derived(compiled_product, Options(), None), p)
        return product[0] if here.is_number and np.ndim(p) == 0 else product

    def weighted_hess(self, x: Any, v: Any, *args: Any, triangle: Triangle | None = None, **kwargs: Any) -> Any:
        """The Hessian of ``v @ fun(x)``: ``NonlinearConstraint(p.fun, lb, ub, jac=p.jac, hess=p.weighted_hess)``.

        `triangle` is as in `hess`.
        """
        self._go(x, args, kwargs)
        if any(self.evaluations.pairs):
            raise InvalidArgumentError(
                "for_scipy: weighted_hess: the results are complex; give tf.math.real(y) and tf.math.imag(y) instead"
            )
        self.counts["hess"] += 1
        ends = np.cumsum([0, *[y.size for y in self._here.values]])
        v = np.asarray(v, np.float64).reshape(-1)
        if v.size != ends[-1]:
            raise InvalidArgumentError(
                f"for_scipy: weighted_hess: `v` must have one element per result, {ends[-1]}; got {v.size}"
            )
        spans = zip(self._here.values, ends[:-1], ends[1:], strict=True)
        weights = [v[a:b].reshape(y.shape).astype(y.dtype) for y, a, b in spans]
        if self._format == "operator":
            return triangle_of(
                self._products(*self.evaluations.weighted(compiled_product, Options(), weights)), triangle
            )
        what, values = self.evaluations.weighted(compiled_hessian, self._second, weights)
        return self._stored("hess", self._finished(what, values, what(*values), square=True), triangle)

    # ---- the parts ---------------------------------------------------------------------------------------------------

    def _go(self, x: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> _Here:
        """Evaluate the function at a point, unless this thread has done that last and all is as it was then."""
        here = self._here
        evaluations = here.evaluations
        if type(evaluations) is _Part:
            self.counts["fun"] += 1
            return evaluations.go(x, args, kwargs, here)
        here.is_number = np.ndim(x) == 0 and self._is_one_number
        x = self._checked(x)
        state = _state(evaluations, args, kwargs)
        now = None if state is None else (x.tobytes(), state)
        if now is not None and now == here.point:
            return here
        here.point = None
        # what is kept must not change with what the caller has
        args, kwargs = [_kept(a) for a in args], {key: _kept(a) for key, a in kwargs.items()}
        here.asked = x, args, kwargs
        evaluations.seen = state
        try:
            here.values = evaluations.evaluate(self._parts(x), args, kwargs)
        finally:
            evaluations.seen = None
        # a function that changes what it sees is not asked for what it was
        here.point = now
        self.counts["fun"] += 1
        return here

    def _checked(self, x: Any) -> np.ndarray:
        """A copy of a point as a flat vector."""
        if type(x) is np.ndarray and x.dtype is _FLOAT64 and x.size == self.x0.size:
            return x.flatten()
        point = numbers_of(x, "for_scipy: `x`")
        if point.dtype.kind not in "fiu" or point.size != self.x0.size:
            raise InvalidArgumentError(
                f"for_scipy: `x` must be a real vector of {self.x0.size} elements; got {point.dtype.name} of shape "
                f"{format_shape(point.shape)}"
            )
        return np.array(point, np.float64).reshape(-1)

    def _with_complex(self, found: Any) -> Any:
        """Put the rows of real and imaginary parts together where results are complex."""
        pairs = self.evaluations.pairs
        if not any(pairs):
            return found
        sizes = [y.size for y in self._here.values]
        blocks = [
            sparse.kron(sparse.eye_array(n // 2), [[1, 1j]]) if pair else sparse.eye_array(n)
            for n, pair in zip(sizes, pairs, strict=True)
        ]
        join = sparse.block_diag(blocks, format="csr")
        if isinstance(found, LinearOperator):
            return aslinearoperator(join) @ found
        joined = join @ found
        return joined.asformat(found.format) if sparse.issparse(found) else joined

    def _parts(self, x: np.ndarray) -> list[np.ndarray]:
        if len(self._like) == 1:
            ((shape, dtype),) = self._like
            return [x.reshape(shape).astype(dtype)]
        starts = zip(self._like, self._ends[:-1], self._ends[1:], strict=True)
        return [x[a:b].reshape(shape).astype(dtype) for (shape, dtype), a, b in starts]

    @property
    def _is_scalar(self) -> bool:
        return len(self._here.values) == 1 and self._here.values[0].shape == ()

    def _require_scalar(self, name: str) -> None:
        if not self._is_scalar:
            shapes = ", ".join(format_shape(y.shape) for y in self._here.values)
            raise InvalidArgumentError(
                f"for_scipy: {name} needs a function that gives one scalar; got results of shape {shapes}. For the "
                f"derivatives of constraints see jac and weighted_hess"
            )

    def _pattern(self) -> sparse.csr_array | None:
        """The caller's pattern of the Jacobian."""
        if not (self._sparsity is None or isinstance(self._sparsity, str)) and (
            len(self._like) != 1 or len(self._here.values) != 1
        ):
            raise InvalidArgumentError("for_scipy: argument `sparsity` needs a function of one tensor that gives one")
        rows = sum(y.size for y in self._here.values)
        return pattern_given("for_scipy", self._sparsity, (rows, self.x0.size))

    def _derived(
        self, make: Make, options: Options, sparsity: Any = None
    ) -> tuple[ClosedFunction, list[Any], list[list[Any]]]:
        """A compiled derivative, what it takes, and the blocks that it gives."""
        what, values = self.evaluations.derived(make, options, sparsity)
        is_spread = self._executor is not None and isinstance(what, parallel.Spread)
        return what, values, what(*values, self._executor) if is_spread else what(*values)

    def _finished(
        self, what: ClosedFunction, values: list[Any], blocks: Any, square: bool = False
    ) -> np.ndarray | sparse.sparray:
        """The blocks as one matrix in the format asked for."""
        if self._format == "dense":
            return self._dense(what, values, blocks, square)
        sizes = self._sizes(square)
        rows: list[list[Any]] = []
        for i, row in enumerate(blocks):
            rows.append([])
            for j, block in enumerate(row):
                place = what.plan.blocks[i][j]
                one = sparse_block(place, block, (sizes[0][i], sizes[1][j]), self._format, np.float64)
                rows[-1].append(one.rebuilt([_own(one.values, what, values)]))
        return rows[0][0] if len(rows) == 1 == len(rows[0]) else sparse.block_array(rows, format=self._format)

    def _dense(self, what: ClosedFunction, values: list[Any], blocks: Any, square: bool = False) -> np.ndarray:
        sizes = self._sizes(square)
        if len(blocks) == 1 == len(blocks[0]) and blocks[0][0] is not None:
            return _own(blocks[0][0], what, values).reshape(sizes[0][0], sizes[1][0])
        rows = [
            [np.zeros((m, n)) if b is None else np.reshape(b, (m, n)) for b, n in zip(row, sizes[1], strict=True)]
            for row, m in zip(blocks, sizes[0], strict=True)
        ]
        return np.concatenate([np.concatenate(row, 1) for row in rows]).astype(np.float64, copy=False)

    def _sizes(self, square: bool) -> tuple[list[int], list[int]]:
        return self._widths if square else [y.size for y in self._here.values], self._widths

    def _product(self, what: ClosedFunction, values: list[Any], p: Any) -> np.ndarray:
        (products,) = what(*values, *self._parts(self._checked(p)))
        return _flat(products)

    def _products(self, what: ClosedFunction, values: list[Any]) -> LinearOperator:
        """The Hessian as an operator."""
        product: Callable[[Any], np.ndarray] = lambda p: self._product(what, values, p)  # noqa: E731
        return Products((self.x0.size,) * 2, product, product)

    def _operator(self) -> LinearOperator:
        """The Jacobian as an operator, one for each result and part of the point, put together."""
        from engine.jacobian.views.operator import JacobianOperator

        sizes = self._sizes(False)
        operators: list[list[JacobianOperator]] = []
        for i, y in enumerate(self._here.values):
            operators.append([])
            for j, like in enumerate(self._like):
                push, pull = (
                    self.evaluations.derived(make, Options(), None, (i, j)) for make in (compiled_push, compiled_pull)
                )
                operators[-1].append(JacobianOperator(push, pull, (y.shape, y.dtype), like))
        if len(operators) == 1 == len(operators[0]):
            return operators[0][0]
        cuts = [np.cumsum(s)[:-1] for s in sizes]

        def matvec(v: np.ndarray) -> np.ndarray:
            parts = np.split(v.reshape(-1), cuts[1])
            return _flat([sum(o.matvec(p) for o, p in zip(row, parts, strict=True)) for row in operators])

        def rmatvec(u: np.ndarray) -> np.ndarray:
            parts = np.split(u.reshape(-1), cuts[0])
            columns = zip(*operators, strict=True)
            return _flat([sum(o.rmatvec(p) for o, p in zip(column, parts, strict=True)) for column in columns])

        return Products((sum(sizes[0]), sum(sizes[1])), matvec, rmatvec)


def _is_spread(own: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    """Whether an array goes with each of some numbers, as SciPy's elementwise solvers hand over further arguments."""
    return len(own) == len(shape) and all(n in (1, m) for n, m in zip(own, shape, strict=True))


class SciPyODE(Shown):
    """The right-hand side of ``dy/dt = f(t, y)`` and its Jacobian for `scipy.integrate`: made by `for_ode`.

    Attributes
    ----------
    y0 : array, shape (n,)
        The initial point.
    function : SciPyFunction
        The same as a function of ``(y, t, *args)``.
    """

    def __init__(self, function: SciPyFunction, banded: bool | tuple[int, int] = False) -> None:
        self.function = function
        self.y0 = function.x0
        self._banded, self._bands = bool(banded), None if isinstance(banded, bool) else banded

    def bands(self) -> tuple[int, int]:
        """The numbers of diagonals below and above the main one that the Jacobian has at most."""
        if self._bands is None:
            pattern = self.jac_sparsity().tocoo()
            off = pattern.coords[0] - pattern.coords[1]
            self._bands = int(max(off.max(initial=0), 0)), int(max(-off.min(initial=0), 0))
        return self._bands

    @property
    def lband(self) -> int:
        """The number of diagonals below the main one."""
        return self.bands()[0]

    @property
    def uband(self) -> int:
        """The number of diagonals above the main one."""
        return self.bands()[1]

    @property
    def counts(self) -> dict[str, int]:
        """How often the function was evaluated (``"fun"``), and its Jacobian (``"jac"``)."""
        return self.function.counts

    def fun(self, t: float, y: Any, *args: Any) -> np.ndarray:
        """``dy/dt``, flat."""
        return np.atleast_1d(self.function.fun(y, t, *args))

    def jac(self, t: float, y: Any, *args: Any) -> Any:
        """The derivative of ``dy/dt`` with respect to `y`, shape (n, n).

        If it is `banded`, its diagonals, shape (lband + 1 + uband, n): entry (i, j) stands in row ``i - j + uband``.
        """
        matrix: Any = self.function.jac(y, t, *args)
        if self._banded:
            lower, upper = self.bands()
            dense = matrix.toarray() if sparse.issparse(matrix) else np.asarray(matrix).reshape(len(self.y0), -1)
            return np.stack(
                [np.pad(np.diagonal(dense, k), (k, 0) if k > 0 else (0, -k)) for k in range(upper, -lower - 1, -1)]
            )
        return matrix.reshape(1, -1) if getattr(matrix, "ndim", 2) == 1 else matrix

    def jac_sparsity(self, *args: Any, t: float = 0.0) -> sparse.sparray:
        """Where the Jacobian can be different from zero, as a sparse array of ones."""
        return self.function.jac_sparsity(t, *args)

    def unpacked(self, y: Any) -> np.ndarray:
        """A flat vector as arrays in the structure and of the shapes of the initial point."""
        return self.function.unpacked(y)


def _flat(arrays: Sequence[Any]) -> np.ndarray:
    """Arrays as one vector of float64 of its own."""
    if len(arrays) == 1:
        return np.array(arrays[0], np.float64).reshape(-1)
    return np.concatenate([np.zeros(0), *[np.reshape(a, -1) for a in arrays]]).astype(np.float64, copy=False)


def _state(evaluations: Evaluations, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """All that the results at a point depend on; None if that cannot be told."""
    try:
        return evaluations.state((len(args), *args, *kwargs, *kwargs.values()))
    except Unknown:
        return None


def _kept(x: Any) -> Any:
    return x.copy() if isinstance(x, np.ndarray) else x


def _own(array: Any, what: ClosedFunction, values: Sequence[Any]) -> np.ndarray:
    """The array as float64, a copy if anybody else holds it: solvers change what they are given in place."""
    own = np.asarray(array)
    if own.dtype != np.float64:
        return own.astype(np.float64)
    held = [*values, *what.program.constants.values()]
    return own.copy() if any(isinstance(h, np.ndarray) and np.may_share_memory(own, h) for h in held) else own
