"""The methods of a `GradientTape` that go beyond one gradient: Jacobians, Hessians, products with them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar, Unpack, overload

import numpy as np

from engine.closed.function import ClosedFunction
from engine.closed.replay import array_of
from engine.core import nest
from engine.core.aval import format_shape
from engine.core.op import Node
from engine.core.operands import Operand, Source
from engine.core.tape import Tape
from engine.core.trace import Symbol
from engine.core.unconnected import UnconnectedGradients, as_policy
from engine.core.value import Value, address, aval_of, dtype_of, known_shape, shape_of
from engine.core.variable import Variable, tracked_value
from engine.derivatives.forward import forward
from engine.derivatives.reverse import reverse
from engine.derivatives.slopes import with_slopes
from engine.jacobian.callable_plan import JacobianPlan, bound
from engine.jacobian.deferred_specialization import batch_jacobian, deferred_rows, is_known
from engine.jacobian.execution.evaluate import evaluate
from engine.jacobian.execution.parallel import check_executor
from engine.jacobian.independence import check_rows_by_numbers
from engine.jacobian.plan_cache import blocks_of, compiled_for, gives_arrays
from engine.jacobian.planning.memory_limit import check_batch_room
from engine.jacobian.planning.plan import Options, Plan, plan_for
from engine.jacobian.second import (
    UnknownShapesError,
    compiled_hessian,
    compiled_product,
    compiled_pull,
    compiled_push,
    compiled_rowwise,
)
from engine.jacobian.structure.path import Path, contents_besides, is_connected
from engine.jacobian.taking import Taking
from engine.jacobian.views.complex_ends import by_parts
from engine.jacobian.views.results import (
    DenseOptions,
    Format,
    JacobianOptions,
    Mode,
    SparseJacobian,
    dense_block,
    eager,
    finished_block,
    options_for,
    pattern_for,
    require_differentiable,
    require_real,
    sparse_block,
    vectors_like,
    vectors_of,
    wrapped,
)
from engine.ops.creation import ones_like, zeros_like
from engine.ops.shape import reshape
from engine.runtime.errors import InvalidArgumentError, ShapeError
from engine.runtime.lazy_scipy import sparse
from engine.runtime.public_names import methods_of

T = TypeVar("T")


@methods_of("GradientTape")
class TapeDerivatives:
    """The base of `GradientTape`; see there."""

    _tape: Tape
    _note_missing: Any
    _persistent: bool
    _spent: bool

    @overload
    def jacobian(
        self, target: Any, sources: Source[T], unconnected_gradients: Any = ..., **options: Unpack[DenseOptions]
    ) -> T: ...
    @overload
    def jacobian(
        self, target: Any, sources: list[Source[T]], unconnected_gradients: Any = ..., **options: Unpack[DenseOptions]
    ) -> list[T]: ...
    @overload
    def jacobian(
        self, target: Any, sources: Source[Any], unconnected_gradients: Any = ..., *, format: Literal["csr"],
        **options: Unpack[JacobianOptions],
    ) -> sparse.csr_array: ...  # fmt: skip
    @overload
    def jacobian(
        self, target: Any, sources: Any, unconnected_gradients: Any = ..., *, format: Format = "dense",
        **options: Unpack[JacobianOptions],
    ) -> Any: ...  # fmt: skip
    def jacobian(
        self,
        target: Any,
        sources: Any,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
        *,
        mode: Mode = "auto",
        sparsity: Any = None,
        max_bytes: int | None = None,
        format: Format = "dense",
        executor: Any = None,
    ) -> Any:
        """The derivative of every element of `target` with respect to every element of each source.

        The way there is planned once for each structure of the recording and kept (`engine.jacobian`): forward or
        reverse, rows or columns that share a sweep, cuts at bottlenecks.

        Parameters
        ----------
        target : tensor, or structure of tensors
            A structure gives a structure of Jacobians (TensorFlow accepts one tensor only).
        sources : tensor, variable or structure of these
        unconnected_gradients : UnconnectedGradients or str
        parallel_iterations, experimental_use_pfor
            Accepted for compatibility.
        mode : "auto", "forward" or "reverse"
            In which direction to sweep.
        sparsity : matrix, "detect" or None
            Where the Jacobian may be different from zero, with a row per element of the target and a column per
            element of the source. By default, and with ``"detect"``, this is found from the structure of the recording.
            A pattern that misses an entry is found out, and raises.
        max_bytes : int, optional
            Limit for the memory of result and sweeps: seeds are swept in chunks. Raises if one seed at a time is too
            much.
        format : "dense", "csr", "csc", "coo" or "operator"
            ``"dense"``: a tensor. Sparse formats: a `scipy.sparse` array of shape (elements of the target, elements of
            the source). ``"operator"``: a `scipy.sparse.linalg.LinearOperator` that multiplies without the matrix.
            Where the source is complex it multiplies with the derivative itself, of which the rows of the other
            formats, being gradients, are the conjugates.
        executor : concurrent.futures.Executor, optional
            Where to sweep, a chunk of seeds at a time: processes, threads, Dask's ``client.get_executor()``. A plan in
            one chunk is split into one per worker. The same chunks give the same bits as in one process.

        Returns
        -------
        structure like `sources` (for each target)
            Dense ones of shape ``target.shape + source.shape``, of the dtype of the source; complex if the target is.

        Raises
        ------
        RuntimeError
            On a second call, unless the tape is persistent.
        InvalidArgumentError
            If `sparsity` misses an entry; the message names it. If a complex target is not a holomorphic function of a
            complex source. If `mode` is forward or `sparsity` a matrix, and a custom gradient rule is not linear.

        Examples
        --------
        >>> import tape_api as tf
        >>> x = tf.constant([1.0, 2.0, 3.0])
        >>> with tf.GradientTape() as tape:
        ...     tape.watch(x)
        ...     y = x[1:] * x[:-1]
        >>> tape.jacobian(y, x).numpy()
        array([[2., 1., 0.],
               [0., 3., 2.]], dtype=float32)
        """
        policy = as_policy(unconnected_gradients)
        options = options_for("jacobian", mode, format, max_bytes)
        if executor is not None:
            check_executor(executor, format)
        with Taking(self, target, sources) as (targets, flat):
            if format == "operator":
                blocks = [[self._operator(t, tracked_value(s), policy) for s in flat] for t in targets]
            else:
                pattern = None if sparsity is None else pattern_for("jacobian", sparsity, targets, flat)
                arguments = flat, options, pattern, format, policy, executor
                blocks = by_parts(targets, flat, lambda parts: self._blocks(parts, *arguments), self._tape)
            if self._tape.explains:
                ways = [[is_connected(self._tape.nodes, tracked_value(x), t) for t in targets] for x in flat]
                self._note_missing(targets, [x for x, way in zip(flat, ways, strict=True) if not any(way)])
        rows = [row[0] if isinstance(sources, Value) else nest.pack_sequence_as(sources, row) for row in blocks]
        return rows[0] if isinstance(target, Value) else nest.pack_sequence_as(target, rows)

    def batch_jacobian(
        self,
        target: Any,
        source: Any,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
        *,
        mode: Mode = "auto",
    ) -> Operand:
        """The Jacobian of each row of `target` with respect to the same row of `source`.

        Parameters
        ----------
        target, source : tensor
            Of shapes ``(b, ...)`` with the same b. Row i of the target may depend on row i of the source only; this is
            checked.
        unconnected_gradients, parallel_iterations, experimental_use_pfor
            Accepted for compatibility.
        mode : "auto", "forward" or "reverse"
            In which direction to sweep.

        Returns
        -------
        tensor
            Of shape ``(b,) + target.shape[1:] + source.shape[1:]``; zeros if target and source are not connected.

        Raises
        ------
        ValueError
            If the first dimensions differ, or rows are coupled; the message names the op that couples them.
        """
        as_policy(unconnected_gradients)
        options = options_for("batch_jacobian", mode, "dense", None)
        with Taking(self, [target], [source]) as ((one,), (source,)):
            shape, source_shape = shape_of(one), shape_of(source)
            ends = (shape or (None,))[0], (source_shape or (None,))[0]
            if () in (shape, source_shape) or (None not in ends and ends[0] != ends[1]):
                raise ShapeError(
                    f"Need first dimension of target shape ({format_shape(shape)}) and source shape "
                    f"({format_shape(source_shape)}) to match."
                )
            if aval_of(one).is_static and aval_of(source).is_static:
                full = known_shape(one, "batch_jacobian") + known_shape(source, "batch_jacobian")[1:]
                check_batch_room(full, dtype_of(source))
            ((rows,),) = by_parts([one], [source], lambda ys: [[self._rows(ys[0], source, options)]], self._tape)
        return rows

    def _rows(self, target: Any, source: Any, options: Options) -> Operand:
        """The Jacobian of each row of a target; zeros where nothing is connected."""
        wanted = tracked_value(source)
        rows = None
        if self._usable(target) and self._usable(wanted):
            if gives_arrays([target, wanted]):
                what, values = self._compiled([target], [wanted], options, compiled_rowwise)
                if not what.plan.facts["rows are independent"]:
                    check_rows_by_numbers(self._tape.nodes, target, wanted)
                ((rows,),) = what(*values)
            else:
                path = Path(self._tape.nodes, [wanted], [target])
                if path.targets and path.sources and not is_known(path):
                    return deferred_rows(path, options.mode)
                return wrapped(batch_jacobian(path, options.mode))
        full = known_shape(target, "batch_jacobian") + known_shape(source, "batch_jacobian")[1:]
        return wrapped(np.zeros(full, dtype_of(source).numpy) if rows is None else reshape(rows, full))

    def hessian(
        self, target: Any, sources: Any, *, mode: Mode = "auto", max_bytes: int | None = None, format: Format = "dense"
    ) -> Any:
        """The second derivatives of the sum of `target`'s elements: forward sweeps over one reverse walk.

        Parameters
        ----------
        target : tensor
        sources : tensor, variable or structure of these
        mode, max_bytes, format
            As in `jacobian`.

        Returns
        -------
        structure like `sources` of structures like `sources`
            Block (i, j) of shape ``source_i.shape + source_j.shape``, or a sparse matrix. The whole is symmetric to the
            bit.

        Examples
        --------
        >>> import tape_api as tf
        >>> x = tf.constant([1.0, 2.0])
        >>> with tf.GradientTape() as tape:
        ...     tape.watch(x)
        ...     y = tf.reduce_prod(x) ** 2
        >>> tape.hessian(y, x).numpy()
        array([[8., 8.],
               [8., 2.]], dtype=float32)
        """
        options = options_for("hessian", mode, format, max_bytes, symmetric=True)
        with Taking(self, target, sources) as (targets, flat):
            require_real("hessian", flat)
            if format == "operator":
                rows: list[list[Any]] = [[self._hessian_operator(targets, flat)]]
            else:
                plan, blocks = self._hessian(targets, flat, options)
                shapes = [known_shape(x, "hessian") for x in flat]
                rows = [
                    [
                        finished_block(values, block, shape, inner, other, format, UnconnectedGradients.ZERO)
                        for values, block, inner, other in zip(row, row_of_plan, shapes, flat, strict=True)
                    ]
                    for row, row_of_plan, shape in zip(blocks, plan.blocks, shapes, strict=True)
                ]
        return nest.pack_sequence_as(sources, [nest.pack_sequence_as(sources, row) for row in rows])

    @overload
    def hessian_diag(self, target: Any, sources: Source[T]) -> T: ...
    @overload
    def hessian_diag(self, target: Any, sources: Any) -> Any: ...
    def hessian_diag(self, target: Any, sources: Any) -> Any:
        """The diagonal of the Hessian of the sum of `target`'s elements, in the shapes of the sources."""
        options = options_for("hessian_diag", "auto", "csr", None, symmetric=True)
        diagonals = []
        with Taking(self, target, sources) as (targets, flat):
            require_real("hessian_diag", flat)
            for source in flat:
                plan, ((values,),) = self._hessian(targets, [source], options)
                shape = known_shape(source, "hessian_diag")
                size = math.prod(shape)
                matrix = sparse_block(plan.blocks[0][0], values, (size, size), "csr", dtype_of(source).numpy)
                diagonals.append(wrapped(reshape(matrix.diagonal(), shape)))
        return nest.pack_sequence_as(sources, diagonals)

    @overload
    def jvp(self, target: Source[T], sources: Any, tangents: Any) -> T: ...
    @overload
    def jvp(self, target: Any, sources: Any, tangents: Any) -> Any: ...
    def jvp(self, target: Any, sources: Any, tangents: Any) -> Any:
        """The derivative of `target` along `tangents`: one forward walk.

        Parameters
        ----------
        target : tensor or structure of tensors
        sources : tensor, variable or structure of these
        tangents : structure like `sources`
            Of the shapes and dtypes of the sources; None for one that is held fixed.

        Returns
        -------
        structure like `target`
            Zeros where it does not depend on the sources.

        Raises
        ------
        InvalidArgumentError
            (a ValueError) if a source that has a tangent is not watched.
        """
        with Taking(self, target, sources) as (targets, flat):
            directions = eager(vectors_like("jvp", "tangents", tangents, flat))
            pairs = [(x, t) for x, t in zip(flat, directions, strict=True) if t is not None]
            moving = self._watched([x for x, _ in pairs], "jvp")
            pushed = forward(self._tape.nodes, zip(moving, [t for _, t in pairs], strict=True), targets)
        results = [wrapped(zeros_like(y) if t is None else t) for y, t in zip(targets, pushed, strict=True)]
        return nest.pack_sequence_as(target, results)

    @overload
    def vjp(self, target: Any, sources: Source[T], cotangents: Any) -> T: ...
    @overload
    def vjp(self, target: Any, sources: Any, cotangents: Any) -> Any: ...
    def vjp(self, target: Any, sources: Any, cotangents: Any) -> Any:
        """The product of `cotangents` with the Jacobian.

        It is `gradient` with ``output_gradients=cotangents``, with zeros where the target does not depend on a source.
        """
        seeds = vectors_of(cotangents, nest.flatten(target))
        return self.gradient(target, sources, seeds, UnconnectedGradients.ZERO)  # type: ignore[attr-defined]

    @overload
    def hvp(self, target: Any, sources: Source[T], vectors: Any) -> T: ...
    @overload
    def hvp(self, target: Any, sources: Any, vectors: Any) -> Any: ...
    def hvp(self, target: Any, sources: Any, vectors: Any) -> Any:
        """The product of the Hessian of the sum of `target`'s elements with `vectors`, without the matrix.

        Parameters
        ----------
        target : tensor
        sources : tensor, variable or structure of these
        vectors : structure like `sources`

        Returns
        -------
        structure like `sources`

        Raises
        ------
        InvalidArgumentError
            (a ValueError) if a source is not watched.
        """
        with Taking(self, target, sources) as (targets, flat):
            directions = eager(vectors_like("hvp", "vectors", vectors, flat))
            wanted = self._watched(flat, "hvp")
            if gives_arrays([*targets, *wanted, *[v for v in directions if v is not None]]):
                what, values = self._compiled(targets, wanted, Options(), compiled_product)
                further = [zeros_like(x) if v is None else v for x, v in zip(wanted, directions, strict=True)]
                (products,) = what(*values, *map(array_of, further))
            else:
                nodes, gradients = self._gradients(targets, wanted)
                seeds = [(x, v) for x, v in zip(wanted, directions, strict=True) if v is not None]
                pushed = forward(with_slopes(nodes), seeds, gradients)
                products = [zeros_like(x) if p is None else p for x, p in zip(wanted, pushed, strict=True)]
        return nest.pack_sequence_as(sources, [wrapped(p) for p in products])

    def jacobian_plan(
        self,
        target: Any,
        sources: Any,
        *,
        mode: Mode = "auto",
        sparsity: Any = None,
        max_bytes: int | None = None,
        format: Format = "dense",
    ) -> JacobianPlan:
        """The plan by which `jacobian` with the same arguments goes.

        Returns
        -------
        JacobianPlan
            Print it to see direction, colors, cuts and costs; call it with arrays for the sources to evaluate the
            Jacobian of the recorded function there. What carries no derivatives (comparisons, sort orders,
            `stop_gradient`) is computed anew; what Python decided (``if``, `stop_recording`) stays. It can be pickled.
        """
        options = options_for("jacobian_plan", mode, format, max_bytes)
        with Taking(self, target, sources) as (targets, flat):
            require_differentiable("jacobian_plan", [*targets, *flat])
            require_real("jacobian_plan", targets)
            everything = self._tape.everything()
            sources = [tracked_value(s) for s in flat]
            path = Path(self._tape.nodes, sources, targets, known=contents_besides(everything, sources))
            pattern = pattern_for("jacobian_plan", sparsity, targets, flat)
            return bound(plan_for(path, options, pattern), path, format, everything, self._tape.left.values())

    # ---- the parts ---------------------------------------------------------------------------------------------------

    def _usable(self, x: Any) -> bool:
        """Whether something can be differentiated, or with respect to it."""
        return dtype_of(x).is_differentiable and address(x) in self._tape.tracked

    def _compiled(
        self, targets: Sequence[Any], sources: Sequence[Any], options: Options, make: Callable[..., ClosedFunction]
    ) -> tuple[ClosedFunction, list[Any]]:
        return compiled_for(with_slopes(self._tape.nodes), sources, targets, options, None, make)

    def _blocks(
        self,
        targets: Sequence[Any],
        flat: Sequence[Any],
        options: Options,
        pattern: Any,
        format: str,
        policy: UnconnectedGradients,
        executor: Any,
    ) -> list[list[Any]]:
        wanted = [x.handle if isinstance(x, Variable) else x for x in flat]
        rows = [i for i, t in enumerate(targets) if self._usable(t)]
        columns = [j for j, s in enumerate(wanted) if self._usable(s)]
        plan, results = blocks_of(
            with_slopes(self._tape.nodes),
            [wanted[j] for j in columns],
            [targets[i] for i in rows],
            options,
            pattern,
            executor,
        )
        if format == "dense" and len(rows) == len(targets) and len(columns) == len(wanted):
            whole = [
                [dense_block(x, t, w) for x, w in zip(row, wanted, strict=True)]
                for row, t in zip(results, targets, strict=True)
            ]
            if not any(x is None for row in whole for x in row):
                return whole
        parts = {
            (i, j): (values, block)
            for i, row, blocks in zip(rows, results, plan.blocks, strict=True)
            for j, values, block in zip(columns, row, blocks, strict=True)
        }
        inner = [known_shape(w, "jacobian") for w in wanted]

        def finished(i: int, j: int, shape: tuple[int, ...]) -> Operand | SparseJacobian | sparse.sparray | None:
            values, block = parts.get((i, j), (None, None))
            if 0 in shape or 0 in inner[j]:
                values = None
            # zeros by structure are zeros: only what no path leads to is None, as for `gradient`
            zeros = values is None and (i, j) in parts and is_connected(self._tape.nodes, wanted[j], targets[i])
            absent = UnconnectedGradients.ZERO if zeros else policy
            return finished_block(values, block, shape, inner[j], wanted[j], format, absent)

        outer = [known_shape(t, "jacobian") for t in targets]
        return [[finished(i, j, shape) for j in range(len(flat))] for i, shape in enumerate(outer)]

    def _hessian(self, targets: Sequence[Any], flat: Sequence[Any], options: Options) -> tuple[Plan, list[list[Any]]]:
        """The plan for the Hessian and its blocks."""
        wanted = self._watched(flat)
        if gives_arrays([*targets, *wanted]):
            try:
                what, values = self._compiled(targets, wanted, options, compiled_hessian)
            except UnknownShapesError:
                nodes, gradients = self._gradients(targets, wanted)
                what, values = compiled_for(nodes, wanted, gradients, options)
            return what.plan, what(*values)
        nodes, gradients = self._gradients(targets, wanted)
        path = Path(with_slopes(nodes), wanted, gradients)
        plan = plan_for(path, options)
        return plan, evaluate(plan, path)

    def _gradients(self, targets: Sequence[Any], wanted: Sequence[Any]) -> tuple[list[Node], list[Any]]:
        """The gradients of the sum of all targets as values, and the nodes that lead there."""
        walk = Tape(watch_accessed_variables=False)
        walk.tracked = self._tape.tracked.copy()
        walk.start()
        try:
            seeds = [(t, ones_like(t)) for t in targets if self._usable(t)]
            cotangents = reverse(with_slopes(self._tape.nodes), seeds, wanted, ones=True)
        finally:
            walk.stop()
        return [*self._tape.nodes, *walk.nodes], [
            zeros_like(x) if g is None else g for g, x in zip(cotangents, wanted, strict=True)
        ]

    def _watched(self, flat: Sequence[Any], name: str = "hessian") -> list[Any]:
        """The sources of the method `name`, as the tape knows them."""
        wanted = [tracked_value(s) for s in flat]
        for s in wanted:
            if not self._usable(s):
                raise InvalidArgumentError(
                    f"{name}: the source {s!r} is not watched, or not of a floating or complex dtype; call "
                    "tape.watch(source) before the target is computed"
                )
        return wanted

    def _operator(self, target: Any, source: Any, policy: UnconnectedGradients) -> Any:
        """A `LinearOperator`, a `SymbolicOperator` in a graph, or None.

        Operators alone need SciPy's linear algebra, which takes long to load: they are imported here.
        """
        from engine.jacobian.views.operator import JacobianOperator, end_of, symbolic_operator, zero_operator

        if not (self._usable(source) and self._usable(target)):
            return None if policy is UnconnectedGradients.NONE else zero_operator(target, source)
        if isinstance(target, Symbol):
            return symbolic_operator(Path(self._tape.nodes, [source], [target]))
        push, pull = (self._compiled([target], [source], Options(), make) for make in (compiled_push, compiled_pull))
        if push[0].form[0][0] is None:
            return None if policy is UnconnectedGradients.NONE else zero_operator(target, source)
        return JacobianOperator(push, pull, end_of(target), end_of(source))

    def _hessian_operator(self, targets: Sequence[Any], flat: Sequence[Any]) -> Any:
        from engine.jacobian.views.operator import JacobianOperator, end_of, symbolic_operator

        if len(flat) != 1:
            raise InvalidArgumentError(f"hessian: the format 'operator' needs one source; got {len(flat)}")
        (source,) = self._watched(flat)
        if isinstance(source, Symbol):
            nodes, gradients = self._gradients(targets, [source])
            return symbolic_operator(Path(nodes, [source], gradients), symmetric=True)
        walk = self._compiled(targets, [source], Options(), compiled_product)
        return JacobianOperator(walk, walk, end_of(source), end_of(source))
