"""Functions of tensors as SciPy's solvers want them: of one flat vector, with the derivatives that each takes.

SciPy asks for the value at a point, then perhaps for the Jacobian there, then for products with the Hessian. What the
value was computed from is kept, so that a derivative at the same point costs its sweeps only; the programs for these
are planned and compiled once.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from engine.closed.function import ClosedFunction, build
from engine.core import nest
from engine.core.aval import Aval, format_shape
from engine.core.batching import Batched, batch_level, unbatch
from engine.core.detach import is_raised_by_user, refusal
from engine.core.eager import EagerTensor
from engine.core.sparsity import Sites
from engine.core.tape import Tape, paused
from engine.core.value import Value, aval_of, dtype_of
from engine.core.variable import tracked_value
from engine.jacobian.callable_plan import contents_besides
from engine.jacobian.execution.parallel import Spread, check_executor, spread_over
from engine.jacobian.execution.plan_programs import compiled_jacobian
from engine.jacobian.plan_cache import compiled_for
from engine.jacobian.planning.plan import Options
from engine.jacobian.second import compiled_gradient, compiled_hessian, compiled_product, compiled_pull, compiled_push
from engine.jacobian.structure.path import Path
from engine.jacobian.structure.pattern import Pattern
from engine.jacobian.structure.propagation import patterns
from engine.jacobian.views.operator import JacobianOperator
from engine.jacobian.views.points import argument_of, result_of
from engine.jacobian.views.results import Format, Mode, options_for, pattern_given, sparse_block
from engine.jacobian.views.sparse_gradient import SPARSE_GRADIENTS
from engine.jacobian.views.unimplemented import check_all_implemented
from engine.numpy_api.manners import as_arrays
from engine.ops import complexes
from engine.ops.joining import stack
from engine.ops.reduce import reduce_sum
from engine.runtime.errors import InvalidArgumentError, SymbolicArrayError, UnimplementedError
from engine.runtime.faces import Shown

Make = Callable[..., ClosedFunction]
Derived = tuple[ClosedFunction, list[Any]]
"""A compiled derivative and the arrays that it takes."""


class Evaluations:
    """A function that is evaluated at one point after another, and differentiated at the last one.

    Attributes
    ----------
    pairs : list of bool
        Which results hold complex numbers, as pairs of real ones in a last dimension of 2.
    """

    pairs: Sequence[bool] = ()

    def evaluate(self, parts: Sequence[np.ndarray], args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[np.ndarray]:
        """Go to a point; return the results there."""
        raise NotImplementedError

    def derived(self, make: Make, options: Options, sparsity: Any, ends: Any = None) -> Derived:
        """The derivative that `make` compiles, at this point.

        `ends`: (which target, which source) if not all targets, and not all sources if that is not None.
        """
        raise NotImplementedError

    def weighted(self, make: Make, options: Options, weights: Sequence[Any]) -> Derived:
        """The same for the sum of the results times weights of their shapes, None for what is left out."""
        raise NotImplementedError

    def columns(self, parts: Sequence[np.ndarray], args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[np.ndarray]:
        """The results at many points, which lie along the first axis of each part."""
        each = [self.evaluate([part[i] for part in parts], args, kwargs) for i in range(len(parts[0]))]
        return [np.stack(results) for results in zip(*each, strict=True)]

    def paths(self, target: int | None = None) -> Iterator[Path | None]:
        """The ways from points to the results, or to one of them, with what is known of them at every point.

        There are several where Python decides; None if there may be others.
        """
        raise NotImplementedError


class Recorded(Evaluations):
    """A Python function of tensors, recorded each time it is evaluated. So it may branch on values.

    Parameters
    ----------
    function : callable
        ``function(point, *args)``.
    pack : callable
        From tensors to the structure that the function takes.
    dtype : dtype
        Of the tensors among `args` that are floating.
    is_real : bool
        Whether the point is. If so complex results are given as such, else as pairs, like the point.
    example : sequence of array
        The example point.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        pack: Callable[[list[Any]], Any],
        dtype: np.dtype,
        is_real: bool = True,
        example: Sequence[np.ndarray] = (),
    ) -> None:
        self._function, self._pack, self._dtype, self._is_real = function, pack, dtype, is_real
        self._tape = Tape(False, strict=True)
        # the arguments of the last call
        self._last: Any = example, (), {}
        self._sources: list[Any] = []
        self._targets: list[Any] = []

    def __getstate__(self) -> dict[str, Any]:
        function: Any = self._function
        try:
            pickle.dumps(function)
        except (pickle.PicklingError, AttributeError, TypeError):
            # a lambda, or what is defined inside a function: it goes as the program that it is
            function = self._as_program()
        state = {"_function": function, "_pack": self._pack, "_dtype": self._dtype, "_is_real": self._is_real}
        return {**state, "_tape": None, "_sources": [], "_targets": [], "_last": self._last}

    def _as_program(self) -> Program:
        """The function for arguments like the last ones; variables keep the values that they have now."""
        parts, args, kwargs = self._last
        given = [self.argument(a) for a in args]
        named = {key: self.argument(a) for key, a in kwargs.items()}
        leaves = [x for x in (*given, *named.values()) if isinstance(x, EagerTensor)]

        def traced(body: Any, values: Sequence[Any]) -> list[Any]:
            of = {id(x): v for x, v in zip(leaves, values[len(parts) :], strict=True)}
            point = self._pack(list(values[: len(parts)]))
            more = {key: of.get(id(x), x) for key, x in named.items()}
            with as_arrays():
                found = self._function(point, *[of.get(id(x), x) for x in given], **more)
            return [result_of(y, self._dtype) for y in nest.flatten(found)]

        avals = [aval_of(x) for x in (*map(EagerTensor, parts), *leaves)]
        try:
            return Program(build([Aval(a.shape, a.dtype) for a in avals], traced))
        except (TypeError, SymbolicArrayError) as error:
            raise pickle.PicklingError(
                f"for_scipy: the function is no module's, so it is pickled as the program that it is; it cannot be "
                f"traced: {error}. Define it at the top of a module, or call `fun` with its arguments before"
            ) from error

    def columns(self, parts: Sequence[np.ndarray], args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[np.ndarray]:
        """The results at many points at once, which lie along the first axis of each part."""
        given = [self.argument(a) for a in args]
        named = {key: self.argument(a) for key, a in kwargs.items()}
        size = len(parts[0])
        with paused(), batch_level() as level, as_arrays():
            point = self._pack([Batched(EagerTensor(part), level) for part in parts])
            found = [result_of(y, self._dtype) for y in nest.flatten(self._function(point, *given, **named))]
            self.pairs = [self._is_real and dtype_of(y).is_complex for y in found]
            inner: list[Any] = [unbatch(as_pairs(y), level, size) for y in found]
            return [np.asarray(x._array) for x in inner]

    def evaluate(self, parts: Sequence[np.ndarray], args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[np.ndarray]:
        """Record the function at a point."""
        self._last = parts, args, kwargs
        self._record()
        return [y._array for y in self._targets]

    def _record(self, choices: list[bool] | None = None) -> None:
        """Record the function at the last point; `choices` are what Python is told of the truth of tensors."""
        parts, args, kwargs = self._last
        self._tape = Tape(False, strict=True)
        self._tape.choices = choices
        self._sources = self._placed(parts)
        for x in self._sources:
            self._tape.watch(x)
        given = [self.argument(a) for a in args]
        named = {key: self.argument(a) for key, a in kwargs.items()}
        try:
            self._targets = self._recorded(lambda: self.called(self._sources, given, named))
        finally:
            # also where NumPy has put another error in its place
            refused = refusal(self._tape)
            if refused is not None:
                raise refused from None

    def argument(self, x: Any) -> Any:
        """An argument as the function gets it: arrays and floating numbers as tensors."""
        return argument_of(x, self._dtype)

    def called(self, sources: Sequence[Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        """The results of the function, real ones."""
        with as_arrays():
            found = self._function(self._pack(list(sources)), *args, **kwargs)
        results = [result_of(y, self._dtype) for y in nest.flatten(found)]
        self.pairs = [self._is_real and dtype_of(y).is_complex for y in results]
        return [as_pairs(y) for y in results]

    def _placed(self, parts: Sequence[np.ndarray]) -> list[Any]:
        """The point as what the function is differentiated with respect to."""
        return [EagerTensor(part) for part in parts]

    def derived(self, make: Make, options: Options, sparsity: Any, ends: Any = None) -> Derived:
        """The derivative of the recording."""
        targets, sources = self._targets, self._sources
        check_all_implemented(self._tape, sources, targets)
        if ends is not None:
            targets = [targets[ends[0]]]
            sources = sources if ends[1] is None else [sources[ends[1]]]
        return compiled_for(self._tape.nodes, sources, targets, options, sparsity, make)

    def weighted(self, make: Make, options: Options, weights: Sequence[Any]) -> Derived:
        """The same for the weighted sum, which is recorded in addition."""
        check_all_implemented(self._tape, self._sources, self._targets)
        before = self._tape.nodes
        self._tape.nodes = before.copy()
        pairs = [(y, EagerTensor(w)) for y, w in zip(self._targets, weights, strict=True) if w is not None]
        sums = self._recorded(lambda: [reduce_sum(y * w) for y, w in pairs])
        nodes, self._tape.nodes = self._tape.nodes, before
        return compiled_for(nodes, self._sources, sums, options, None, make)

    def paths(self, target: int | None = None) -> Iterator[Path | None]:
        """The recording, or one for each way that Python's decisions allow.

        Indices that were computed in it, and may be others elsewhere, are not known.
        """
        if not self._decides():
            yield self._path(target)
            return
        before = self._tape, self._sources, self._targets, self.pairs
        shapes, pending = [y._shape for y in self._targets], [[False] * 0]
        try:
            for _ in range(_MOST_WAYS):
                choices = pending.pop()
                ended = self._ends_with(choices)
                chosen = self._tape.chosen
                pending += [[*chosen[:k], not chosen[k]] for k in range(len(choices), len(chosen))]
                if ended is None or self._decides() or (ended and [y._shape for y in self._targets] != shapes):
                    break
                if ended:
                    yield self._path(target)
                if not pending:
                    return
            yield None
        finally:
            self._tape, self._sources, self._targets, self.pairs = before

    def _decides(self) -> bool:
        """Whether Python looked at a tensor whose contents are others at other points."""
        return any(self._tape.depends(tracked_value(value)) for value, *_ in self._tape.left.values())

    def _ends_with(self, choices: list[bool]) -> bool | None:
        """Record the function with other choices; whether it returns, None if what it raises is not by them alone."""
        try:
            self._record(choices)
        except Exception as error:  # noqa: BLE001 - what an op refuses here it may take at another point
            return False if is_raised_by_user(error) else None
        return True

    def _path(self, target: int | None) -> Path:
        known = contents_besides(self._tape.everything())
        targets = self._targets if target is None else [self._targets[target]]
        return Path(self._tape.nodes, self._sources, targets, known=known)

    def _recorded(self, function: Callable[[], list[Any]]) -> list[Any]:
        with paused():
            self._tape.start()
            return function()


_MOST_WAYS = 64
"""Ways through a function that are looked for; if there are more, any entry may be different from zero."""
_MOST_ENTRIES = 100_000_000


def patterns_of(path: Path) -> list[list[Pattern]]:
    """Where the Jacobians along a path can be different from zero."""
    sources, targets = ([path.values[slot] for slot in side] for side in (path.sources, path.targets))
    return patterns(path.nodes, sources, targets, Sites(path.contents))


def as_pairs(x: Any) -> Any:
    """Complex elements as pairs of real ones, in a last dimension of 2; others as they are."""
    return stack([complexes.real(x), complexes.imag(x)], -1) if dtype_of(x).is_complex else x


class Program:
    """A function that was traced, in place of the Python function: what pickles if that does not."""

    def __init__(self, closed: ClosedFunction) -> None:
        self._closed = closed

    def __call__(self, point: Any, *args: Any, **kwargs: Any) -> list[Any]:
        """The results, one after another."""
        leaves = [x for x in nest.flatten([point, *args, *kwargs.values()]) if isinstance(x, Value)]
        return self._closed.inline(None, leaves)


class _Part(Evaluations):
    """One of the results of a function that gives several. All parts share its evaluations."""

    def __init__(self, whole: SciPyFunction, index: int) -> None:
        self._whole, self._index = whole, index

    def evaluate(self, parts: Sequence[np.ndarray], args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[np.ndarray]:
        """Go to a point with all results, unless another part has just been there."""
        whole = self._whole
        if self._index in whole.handed_out:
            whole.forget()
        whole._go(_flat(parts), args, kwargs)
        whole.handed_out.add(self._index)
        pairs = whole._evaluations.pairs
        self.pairs = [pairs[self._index]] if pairs else ()
        return [whole._values[self._index]]

    def derived(self, make: Make, options: Options, sparsity: Any, ends: Any = None) -> Derived:
        """The derivative of this result."""
        return self._whole._evaluations.derived(
            make, options, sparsity, (self._index, None if ends is None else ends[1])
        )

    def weighted(self, make: Make, options: Options, weights: Sequence[Any]) -> Derived:
        """The same for its weighted sum."""
        every = [weights[0] if i == self._index else None for i in range(len(self._whole._values))]
        return self._whole._evaluations.weighted(make, options, every)

    def paths(self, target: int | None = None) -> Iterator[Path | None]:
        """The ways from points to this result."""
        return self._whole._evaluations.paths(self._index)


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
    format, mode, sparsity, max_bytes, executor
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
    ) -> None:
        self._evaluations, self._pack = evaluations, pack
        self._like = [(x.shape, x.dtype) for x in x0]
        self._widths = [x.size for x in x0]
        self._ends = np.cumsum([0, *self._widths]).tolist()
        self._format, self._executor = format, executor
        self._options = options_for("for_scipy", mode, format, max_bytes)
        self._second = options_for("for_scipy", mode, format, max_bytes, symmetric=True)
        check_executor(executor, format)
        self._sparsity = sparsity
        self._point: tuple[np.ndarray, list[Any]] | None = None
        self._fresh = False
        self._is_number = False
        self._values: list[np.ndarray] = []
        self.handed_out: set[int] = set()
        self._given = {"format": format, "mode": mode, "sparsity": sparsity, "max_bytes": max_bytes}
        self.x0 = _flat(x0)
        self.counts = {"fun": 0, "jac": 0, "hess": 0, "hessp": 0}

    def _shown(self) -> dict[str, Any]:
        return {"arguments": self.x0.size, "format": self._format, "evaluations": self.counts}

    def __getstate__(self) -> dict[str, Any]:
        # elsewhere it is evaluated anew
        anew: dict[str, Any] = {"_point": None, "_fresh": False, "_values": [], "_executor": None, "handed_out": set()}
        return {**self.__dict__, **anew}

    def part(self, index: int) -> SciPyFunction:
        """One of the results of a function that gives several, for the objective and the constraints of a solver.

        Parts share the evaluations: at one point the function is evaluated once for all of them.

        Parameters
        ----------
        index : int
            Results count from 0 on; those of a dict by the order of the keys.
        """
        shapes = [np.zeros(shape, dtype) for shape, dtype in self._like]
        found = SciPyFunction(_Part(self, index), shapes, self._pack, executor=self._executor, **self._given)
        found.x0 = self.x0
        return found

    def forget(self) -> None:
        """Evaluate the function anew, at whatever point comes next."""
        self._point = None

    # ---- values ------------------------------------------------------------------------------------------------------

    def fun(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """The value at `x`: a float if the function gives one scalar tensor, else all its results, flat.

        Of a matrix, shape (n, S), it gives the values at its columns, shape (S,) or (results, S), as solvers ask for
        with ``vectorized=True``.
        """
        if np.ndim(x) == 2 and np.shape(x)[0] == self.x0.size != np.size(x):
            return self._at_columns(np.asarray(x, np.float64), args, kwargs)
        if not self._fresh:
            # asked again: variables may have changed
            self._point = None
        self._go(x, args, kwargs)
        self._fresh = False
        return float(self._values[0]) if self._is_scalar else self._with_complex(_flat(self._values))

    __call__ = fun

    def _at_columns(self, x: np.ndarray, args: Sequence[Any], kwargs: Mapping[str, Any]) -> np.ndarray:
        parts = zip(self._like, self._ends[:-1], self._ends[1:], strict=True)
        points = [x.T[:, a:b].reshape(-1, *shape).astype(dtype) for (shape, dtype), a, b in parts]
        self.counts["fun"] += x.shape[1]
        try:
            found = self._evaluations.columns(points, args, kwargs)
        except (SymbolicArrayError, TypeError, UnimplementedError):
            # it branches on values: one by one
            found = Evaluations.columns(self._evaluations, points, args, kwargs)
        self.forget()
        if len(found) == 1 and found[0].ndim == 1:
            return found[0].astype(np.float64)
        self._values = [y[0] for y in found]
        return self._with_complex(np.concatenate([y.reshape(len(y), -1) for y in found], 1).T.astype(np.float64))

    def unpacked(self, x: Any) -> Any:
        """A flat vector (a solver's result) as arrays in the structure and of the shapes of the example point."""
        return self._pack(self._parts(self._checked(x)))

    # ---- first derivatives -------------------------------------------------------------------------------------------

    def jac(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """The Jacobian at `x`, shape (results, n), in the format asked for; the gradient, shape (n,), of a scalar.

        In a sparse format the gradient is a sparse row, shape (1, n), as a constraint's must be beside other sparse
        ones, and a vector, shape (n,), wherever NumPy or SciPy ask for an array.
        """
        self._go(x, args, kwargs)
        self.counts["jac"] += 1
        if self._is_scalar and (self._is_number or self._format in ("dense", "operator")):
            what, values = self._evaluations.derived(compiled_gradient, Options(), None)
            gradient = _flat([np.asarray(part) for part in what(*values)[0]])
            return gradient[0] if self._is_number else gradient
        if self._format == "operator":
            return self._with_complex(self._operator())
        make = compiled_jacobian if self._executor is None else spread_over(self._executor)
        jacobian = self._finished(*self._derived(make, self._options, self._pattern()))
        return SPARSE_GRADIENTS[self._format](jacobian) if self._is_scalar else self._with_complex(jacobian)

    def grad(self, x: Any, *args: Any, **kwargs: Any) -> np.ndarray:
        """The gradient of a scalar function at `x`, shape (n,)."""
        self._go(x, args, kwargs)
        self._require_scalar("grad")
        return np.asarray(self.jac(x, *args, **kwargs))

    def fun_and_jac(self, x: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        """Both at once, for ``minimize(p.fun_and_jac, p.x0, jac=True)``."""
        return self.fun(x, *args, **kwargs), self.jac(x, *args, **kwargs)

    def jac_sparsity(self, *args: Any, **kwargs: Any) -> sparse.csr_array:
        """Where the Jacobian can be different from zero at any point, as a CSR array of ones.

        It follows from the structure of the function. Where indices are computed from other values (a sort, a mask),
        each element counts as depending on all that they choose from. Where Python decides (an ``if``), the function is
        called with the other decisions as well; where it may do what is not found so (of a loop that ends by a
        condition, say, or with numbers of a tensor), every entry counts.
        """
        if self._point is None:
            self._go(self.x0, args, kwargs)
        blocks = [[Pattern.zero(m, n) for n in self._widths] for m in self._sizes(False)[0]]
        for path in self._evaluations.paths():
            found = blocks if path is None else patterns_of(path)
            pairs = [zip(row, more, strict=True) for row, more in zip(blocks, found, strict=True)]
            blocks = [[Pattern.dense(*p.shape) if path is None else p.union(q) for p, q in row] for row in pairs]
        entries = sum(p.nnz for row in blocks for p in row)
        if entries > _MOST_ENTRIES and all(p.is_dense for row in blocks for p in row):
            raise InvalidArgumentError(
                f"for_scipy: jac_sparsity: Python decides by the numbers of tensors, so any of {entries:,} entries may "
                f"be different from zero at some point. Decide with tf.where, or with tf.cond in a tf.function"
            )
        rows = [[p.to_csr().astype(np.int8) for p in row] for row in blocks]
        whole = rows[0][0] if len(rows) == 1 == len(rows[0]) else sparse.block_array(rows, format="csr")
        return self._with_complex(whole).astype(bool).astype(np.int8) if any(self._evaluations.pairs) else whole

    # ---- second derivatives ------------------------------------------------------------------------------------------

    def hess(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """The Hessian of a scalar function at `x`, shape (n, n), symmetric to the bit, in the format asked for."""
        self._go(x, args, kwargs)
        self._require_scalar("hess")
        self.counts["hess"] += 1
        if self._is_number:
            return self._product(*self._evaluations.derived(compiled_product, Options(), None), 1.0)[0]
        if self._format == "operator":
            return self._products(*self._evaluations.derived(compiled_product, Options(), None))
        what, values, blocks = self._derived(compiled_hessian, self._second)
        return self._finished(what, values, blocks, square=True)

    def hessp(self, x: Any, p: Any, *args: Any, **kwargs: Any) -> np.ndarray:
        """The Hessian of a scalar function at `x` times a vector, without the matrix."""
        self._go(x, args, kwargs)
        self._require_scalar("hessp")
        self.counts["hessp"] += 1
        product = self._product(*self._evaluations.derived(compiled_product, Options(), None), p)
        return product[0] if self._is_number and np.ndim(p) == 0 else product

    def weighted_hess(self, x: Any, v: Any, *args: Any, **kwargs: Any) -> Any:
        """The Hessian of ``v @ fun(x)``: ``NonlinearConstraint(p.fun, lb, ub, jac=p.jac, hess=p.weighted_hess)``."""
        self._go(x, args, kwargs)
        if any(self._evaluations.pairs):
            raise InvalidArgumentError(
                "for_scipy: weighted_hess: the results are complex; give tf.math.real(y) and tf.math.imag(y) instead"
            )
        self.counts["hess"] += 1
        ends = np.cumsum([0, *[y.size for y in self._values]])
        v = np.asarray(v, np.float64).reshape(-1)
        if v.size != ends[-1]:
            raise InvalidArgumentError(
                f"for_scipy: weighted_hess: `v` must have one element per result, {ends[-1]}; got {v.size}"
            )
        weights = [
            v[a:b].reshape(y.shape).astype(y.dtype) for y, a, b in zip(self._values, ends[:-1], ends[1:], strict=True)
        ]
        if self._format == "operator":
            return self._products(*self._evaluations.weighted(compiled_product, Options(), weights))
        what, values = self._evaluations.weighted(compiled_hessian, self._second, weights)
        return self._finished(what, values, what(*values), square=True)

    # ---- the parts ---------------------------------------------------------------------------------------------------

    def _go(self, x: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Evaluate the function at a point, unless that is where it was evaluated last."""
        self._is_number = np.ndim(x) == 0 and self._like[0][0] == () and len(self._like) == 1
        x = self._checked(x)
        operands = [*args, *[part for item in sorted(kwargs.items()) for part in item]]
        if self._point is not None and _same([x, *operands], [self._point[0], *self._point[1]]):
            return
        self.forget()
        self.handed_out.clear()
        self._values = self._evaluations.evaluate(self._parts(x), args, kwargs)
        self._point = x, [a.copy() if isinstance(a, np.ndarray) else a for a in operands]
        self._fresh = True
        self.counts["fun"] += 1

    def _checked(self, x: Any) -> np.ndarray:
        """A copy of a point as a flat vector."""
        point = np.asarray(x)
        if point.dtype.kind not in "fiu" or point.size != self.x0.size:
            raise InvalidArgumentError(
                f"for_scipy: `x` must be a real vector of {self.x0.size} elements; got {point.dtype.name} of shape "
                f"{format_shape(point.shape)}"
            )
        return np.array(point, np.float64).reshape(-1)

    def _with_complex(self, found: Any) -> Any:
        """Put the rows of real and imaginary parts together where results are complex."""
        pairs = self._evaluations.pairs
        if not any(pairs):
            return found
        sizes = [y.size for y in self._values]
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
        starts = zip(self._like, self._ends[:-1], self._ends[1:], strict=True)
        return [x[a:b].reshape(shape).astype(dtype) for (shape, dtype), a, b in starts]

    @property
    def _is_scalar(self) -> bool:
        return len(self._values) == 1 and self._values[0].shape == ()

    def _require_scalar(self, name: str) -> None:
        if not self._is_scalar:
            shapes = ", ".join(format_shape(y.shape) for y in self._values)
            raise InvalidArgumentError(
                f"for_scipy: {name} needs a function that gives one scalar; got results of shape {shapes}. For the "
                f"derivatives of constraints see jac and weighted_hess"
            )

    def _pattern(self) -> sparse.csr_array | None:
        """The caller's pattern of the Jacobian."""
        if not (self._sparsity is None or isinstance(self._sparsity, str)) and (
            len(self._like) != 1 or len(self._values) != 1
        ):
            raise InvalidArgumentError("for_scipy: argument `sparsity` needs a function of one tensor that gives one")
        rows = sum(y.size for y in self._values)
        return pattern_given("for_scipy", self._sparsity, (rows, self.x0.size))

    def _derived(
        self, make: Make, options: Options, sparsity: Any = None
    ) -> tuple[ClosedFunction, list[Any], list[list[Any]]]:
        """A compiled derivative, what it takes, and the blocks that it gives."""
        what, values = self._evaluations.derived(make, options, sparsity)
        return what, values, what(*values, self._executor) if isinstance(what, Spread) else what(*values)

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
        return np.block(rows).astype(np.float64, copy=False)

    def _sizes(self, square: bool) -> tuple[list[int], list[int]]:
        return self._widths if square else [y.size for y in self._values], self._widths

    def _product(self, what: ClosedFunction, values: list[Any], p: Any) -> np.ndarray:
        (products,) = what(*values, *self._parts(self._checked(p)))
        return _flat(products)

    def _products(self, what: ClosedFunction, values: list[Any]) -> LinearOperator:
        """The Hessian as an operator."""
        product: Callable[[Any], np.ndarray] = lambda p: self._product(what, values, p)  # noqa: E731
        return LinearOperator((self.x0.size,) * 2, product, product, dtype=np.float64)

    def _operator(self) -> LinearOperator:
        """The Jacobian as an operator, one for each result and part of the point, put together."""
        sizes = self._sizes(False)
        operators: list[list[JacobianOperator]] = []
        for i, y in enumerate(self._values):
            operators.append([])
            for j, like in enumerate(self._like):
                push, pull = (
                    self._evaluations.derived(make, Options(), None, (i, j)) for make in (compiled_push, compiled_pull)
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

        return LinearOperator((sum(sizes[0]), sum(sizes[1])), matvec, rmatvec, dtype=np.float64)


class SciPyODE:
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

    def jac_sparsity(self, *args: Any, t: float = 0.0) -> sparse.csr_array:
        """Where the Jacobian can be different from zero, as a CSR array of ones."""
        return self.function.jac_sparsity(t, *args)

    def unpacked(self, y: Any) -> np.ndarray:
        """A flat vector as arrays in the structure and of the shapes of the initial point."""
        return self.function.unpacked(y)


def _flat(arrays: Sequence[Any]) -> np.ndarray:
    """Arrays as one vector of float64 of its own."""
    return np.concatenate([np.zeros(0), *[np.reshape(a, -1) for a in arrays]]).astype(np.float64, copy=False)


def _same(these: Sequence[Any], those: Sequence[Any]) -> bool:
    return len(these) == len(those) and all(
        bool(np.array_equal(a, b)) if isinstance(a, (np.ndarray, float, int)) else a is b
        for a, b in zip(these, those, strict=True)
    )


def _own(array: Any, what: ClosedFunction, values: Sequence[Any]) -> np.ndarray:
    """The array as float64, a copy if anybody else holds it: solvers change what they are given in place."""
    own = np.asarray(array)
    if own.dtype != np.float64:
        return own.astype(np.float64)
    held = [*values, *what.program.constants.values()]
    return own.copy() if any(isinstance(h, np.ndarray) and np.may_share_memory(own, h) for h in held) else own
