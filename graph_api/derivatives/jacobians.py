"""Jacobians, Hessians and products with them, as new tensors of the graph."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.core import nest
from engine.core.operands import Operand, Results
from engine.core.unconnected import UnconnectedGradients, as_policy
from engine.core.value import dtype_of, known_shape
from engine.core.variable import tracked_value
from engine.derivatives.forward import forward
from engine.derivatives.slopes import with_slopes
from engine.jacobian.callable_plan import JacobianPlan, bound
from engine.jacobian.deferred_specialization import batch_jacobian as batch_jacobian_of
from engine.jacobian.deferred_specialization import deferred_blocks, deferred_diagonal, deferred_rows, is_known
from engine.jacobian.execution.evaluate import evaluate
from engine.jacobian.execution.parallel import check_executor, spread_blocks
from engine.jacobian.planning.plan import Options, plan_for
from engine.jacobian.structure.path import Path, is_connected
from engine.jacobian.views.complex_ends import by_parts
from engine.jacobian.views.results import (
    Format,
    Mode,
    SparseJacobian,
    options_for,
    pattern_for,
    require_differentiable,
    require_real,
    sparse_block,
    vectors_like,
    vectors_of,
)
from engine.ops.creation import ones_like, zeros_like
from engine.ops.indexed_slices import IndexedSlices
from engine.ops.shape import reshape
from engine.runtime.collector import uncollected
from engine.runtime.errors import InvalidArgumentError
from engine.transforms.symbolic import ancestors, as_list
from engine.transforms.symbolic import gradients as symbolic_gradients
from graph_api.derivatives.gradients import check_one_graph, gradients, graph_of
from graph_api.graphs.variable import Variable

if TYPE_CHECKING:
    # operators alone need SciPy's linear algebra, which takes long to load: imported where they are made
    from engine.jacobian.views.operator import SymbolicOperator


def jacobian(
    ys: Any,
    xs: Any,
    name: str = "jacobian",
    stop_gradients: Any = None,
    unconnected_gradients: Any = UnconnectedGradients.NONE,
    *,
    mode: Mode = "auto",
    sparsity: Any = None,
    max_bytes: int | None = None,
    format: Format = "dense",
    executor: Any = None,
) -> Any:
    """The derivative of every element of `ys` with respect to every element of each of `xs`, as new tensors.

    The way there is planned (`engine.jacobian`): forward or reverse, rows or columns that share a sweep, cuts at
    bottlenecks. Where shapes are unknown, it is planned when they are known, once for each combination of shapes.

    Parameters
    ----------
    ys : tensor, or structure of tensors
        A structure gives a structure of Jacobians.
    xs : tensor, variable, or structure of these
    name : str
        Scope of the new operations.
    stop_gradients : tensor or list of tensors, optional
        Tensors to treat as constants.
    unconnected_gradients : UnconnectedGradients or str
        ``"none"`` or ``"zero"``: what to return for an x that a y does not depend on.
    mode, sparsity, max_bytes, format, executor
        As in `GradientTape.jacobian`. What is swept in chunks is swept when the result is fetched; with an `executor`
        it cannot be differentiated again. A session returns a `scipy.sparse` array for the `SparseJacobian` of a sparse
        format, and a `scipy.sparse.linalg.LinearOperator` for a `SymbolicOperator`.

    Returns
    -------
    structure like `xs` (for each y)
        Dense ones of shape ``y.shape + x.shape``, of the dtype of the x; complex if the y is.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) as in `GradientTape.jacobian`, when the result is fetched.

    Examples
    --------
    >>> import graph_api as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.placeholder(tf.float32, [2])
    ...     print(sess.run(tf.jacobian(tf.stack([x[0] * x[1], x[1]]), x), {x: [3.0, 5.0]}))
    [[5. 3.]
     [0. 1.]]
    """
    policy = as_policy(unconnected_gradients)
    options = options_for("jacobian", mode, format, max_bytes)
    check_executor(executor, format)
    ys = nest.map_structure(lambda y: y.as_value() if isinstance(y, IndexedSlices) else y, ys)
    with graph_of(nest.flatten(ys), "ys").name_scope(name):
        targets, sources = _ends(ys, xs, "jacobian")
        if format == "operator":
            blocks = [[_operator(_path([y], [x], stop_gradients), y, x, policy) for x in sources] for y in targets]
        else:
            pattern = pattern_for("jacobian", sparsity, targets, sources)

            def blocks_of(ys: Sequence[Any]) -> list[list[Any]]:
                path = _path(ys, sources, stop_gradients)
                return _finished(path, options, pattern, ys, sources, format, policy, executor)

            blocks = uncollected(by_parts, targets, sources, blocks_of)
    return nest.pack_sequence_as(ys, [nest.pack_sequence_as(xs, row) for row in blocks])


def jacobian_plan(
    ys: Any,
    xs: Any,
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
        Print it to see direction, colors, cuts and costs; call it with arrays for `xs` to evaluate the Jacobian
        without a session. It can be pickled.
    """
    options = options_for("jacobian_plan", mode, format, max_bytes)
    targets, sources = _ends(ys, xs, "jacobian_plan")
    require_differentiable("jacobian_plan", [*targets, *sources])
    require_real("jacobian_plan", targets)
    path = _path(targets, sources, None)
    return bound(plan_for(path, options, pattern_for("jacobian_plan", sparsity, targets, sources)), path, format)


def batch_jacobian(y: Any, x: Any, name: str = "batch_jacobian", *, mode: Mode = "auto") -> Operand:
    """The Jacobian of each row of `y` with respect to the same row of `x`, as a new tensor.

    Parameters
    ----------
    y, x : tensor
        Of shapes ``(b, ...)`` with the same b. Row i of `y` may depend on row i of `x` only; this is checked.
    name : str
        Scope of the new operations.
    mode : "auto", "forward" or "reverse"
        In which direction to sweep.

    Returns
    -------
    tensor
        Of shape ``(b,) + y.shape[1:] + x.shape[1:]``.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) when the result is fetched, if rows are coupled; the message names the op that couples them.
    """
    options_for("batch_jacobian", mode, "dense", None)
    with graph_of([y], "y").name_scope(name):
        (target,), (source,) = _ends([y], [x], "batch_jacobian")

        def rows_of(ys: Sequence[Any]) -> list[list[Any]]:
            path = _path(ys, [source], None)
            if not path.sources or not path.targets:
                full = known_shape(target, "batch_jacobian") + known_shape(source, "batch_jacobian")[1:]
                return [[_in_graph(np.zeros(full, dtype_of(source).numpy), target)]]
            return [[_in_graph(batch_jacobian_of(path, mode) if is_known(path) else deferred_rows(path, mode), target)]]

        return uncollected(by_parts, [target], [source], rows_of)[0][0]


def hessian(
    y: Any, xs: Any, name: str = "hessian", *, mode: Mode = "auto", max_bytes: Any = None, format: Format = "dense"
) -> Any:
    """The second derivatives of ``sum(y)``: all blocks, symmetric to the bit.

    Parameters
    ----------
    y : tensor
    xs : tensor, variable, or structure of these
    name : str
        Scope of the new operations.
    mode, max_bytes, format
        As in `jacobian`.

    Returns
    -------
    structure like `xs` of structures like `xs`
        Block (i, j) of shape ``xs[i].shape + xs[j].shape``.
    """
    options = options_for("hessian", mode, format, max_bytes, symmetric=True)
    with graph_of([y], "y").name_scope(name):
        _, sources = _ends([y], xs, "hessian")
        require_differentiable("hessian", sources)
        require_real("hessian", sources)
        path = uncollected(_hessian_path, [y], sources)
        if format == "operator":
            if len(sources) != 1:
                raise InvalidArgumentError(f"hessian: the format 'operator' needs one x; got {len(sources)}")
            from engine.jacobian.views.operator import symbolic_operator

            rows: Any = [[symbolic_operator(path, symmetric=True)]]
        else:
            rows = uncollected(_finished, path, options, None, sources, sources, format, UnconnectedGradients.ZERO)
    return nest.pack_sequence_as(xs, [nest.pack_sequence_as(xs, row) for row in rows])


def hessians(
    ys: Any,
    xs: Any,
    name: str = "hessians",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
) -> list[Any]:
    """Second derivatives of ``sum(ys)`` with respect to each of `xs` (the diagonal blocks).

    Parameters
    ----------
    ys : tensor or list of tensors
    xs : tensor, variable, or list of these
    name, colocate_gradients_with_ops, gate_gradients, aggregation_method
        As in `gradients`.

    Returns
    -------
    list
        One tensor per x, of shape ``x.shape + x.shape``; None for an x that no y depends on.
    """
    options = options_for("hessians", "auto", "dense", None, symmetric=True)
    with graph_of(ys, "ys").name_scope(name):
        first = gradients(ys, xs, aggregation_method=aggregation_method)
        matrices: list[Any] = []
        for g, x in zip(first, as_list(xs), strict=True):
            if g is None:
                matrices.append(None)
                continue
            _, (source,) = _ends([], [x], "hessians")
            require_real("hessians", [source])
            path = uncollected(_hessian_path, as_list(ys), [source])
            blocks = uncollected(_finished, path, options, None, [source], [source], "dense", UnconnectedGradients.ZERO)
            matrices.append(blocks[0][0])
        return matrices


def hessian_diag(y: Any, xs: Any, name: str = "hessian_diag") -> Operand | list[Operand]:
    """The diagonal of the Hessian of ``sum(y)``, in the shapes of `xs`.

    Parameters
    ----------
    y : tensor
    xs : tensor, variable, or structure of these
    name : str
        Scope of the new operations.
    """
    options = options_for("hessian_diag", "auto", "csr", None, symmetric=True)
    diagonals = []
    with graph_of([y], "y").name_scope(name):
        for x in nest.flatten(xs):
            _, (source,) = _ends([y], [x], "hessian_diag")
            require_differentiable("hessian_diag", [source])
            require_real("hessian_diag", [source])
            path = uncollected(_hessian_path, [y], [source])
            if not is_known(path):
                diagonals.append(deferred_diagonal(path, options))
                continue
            ((matrix,),) = uncollected(
                _finished, path, options, None, [source], [source], "csr", UnconnectedGradients.ZERO
            )
            diagonals.append(reshape(matrix.diagonal(), known_shape(source, "hessian_diag")))
    return nest.pack_sequence_as(xs, [_in_graph(d, y) for d in diagonals])


def jvp(ys: Any, xs: Any, tangents: Any, name: str = "jvp") -> Operand | list[Operand]:
    """The derivatives of `ys` along `tangents`: one forward walk, as new tensors.

    Parameters
    ----------
    ys : tensor or structure of tensors
    xs : tensor, variable, or structure of these
    tangents : structure like `xs`
        Of their shapes and dtypes; None for an x that is held fixed.
    name : str
        Scope of the new operations.
    """
    with graph_of(nest.flatten(ys), "ys").name_scope(name):
        targets, sources = _ends(ys, xs, "jvp")
        seeds = zip(sources, vectors_like("jvp", "tangents", tangents, sources), strict=True)
        nodes = _path(targets, sources, None).nodes
        pushed = forward(nodes, [(x, t) for x, t in seeds if t is not None], targets)
        results = [_in_graph(zeros_like(y) if t is None else t, y) for y, t in zip(targets, pushed, strict=True)]
    return nest.pack_sequence_as(ys, results)


def vjp(ys: Any, xs: Any, cotangents: Any, name: str = "vjp") -> Results:
    """The products of `cotangents` with the Jacobians: `gradients` with ``grad_ys``, in the structure of `xs`."""
    flat = nest.flatten(ys)
    seeds = vectors_of(cotangents, flat)
    products = gradients(flat, nest.flatten(xs), seeds, name, unconnected_gradients="zero")
    return nest.pack_sequence_as(xs, products)


def hvp(y: Any, xs: Any, vectors: Any, name: str = "hvp") -> Operand | list[Operand]:
    """The product of the Hessian of ``sum(y)`` with `vectors`, forward over reverse, without the matrix.

    Parameters
    ----------
    y : tensor
    xs : tensor, variable, or structure of these
    vectors : structure like `xs`
    name : str
        Scope of the new operations.
    """
    with graph_of([y], "y").name_scope(name):
        _, sources = _ends([y], xs, "hvp")
        first = symbolic_gradients([y], nest.flatten(xs), [ones_like(y)], unconnected_gradients="zero")
        first = [g.as_value() if isinstance(g, IndexedSlices) else g for g in first]
        products = jvp(first, sources, vectors_like("hvp", "vectors", vectors, sources))
    return nest.pack_sequence_as(xs, products)


# ---- the parts -------------------------------------------------------------------------------------------------------


def _ends(ys: Any, xs: Any, name: str) -> tuple[list[Any], list[Any]]:
    """Targets and sources as symbols."""
    targets = [y.read_value() if isinstance(y, Variable) else y for y in nest.flatten(ys)]
    sources = nest.flatten(xs)
    for role, side in (("ys", targets), ("xs", sources)):
        for x in side:
            graph_of([x], role)
    check_one_graph([*targets, *sources])
    return targets, [tracked_value(x) for x in sources]


def _path(targets: Sequence[Any], sources: Sequence[Any], stop_gradients: Any) -> Path:
    stop = [] if stop_gradients is None else [tracked_value(s) for s in as_list(stop_gradients)]
    usable = [[x for x in side if dtype_of(x).is_differentiable] for side in (sources, targets)]
    return Path(with_slopes(ancestors(usable[1], usable[0], stop)), usable[0], usable[1], stop)


def _hessian_path(ys: Sequence[Any], sources: Sequence[Any]) -> Path:
    """From the sources to the gradients of the sum of `ys`."""
    first = symbolic_gradients(list(ys), list(sources), [ones_like(y) for y in ys], unconnected_gradients="zero")
    dense: list[Any] = [g.as_value() if isinstance(g, IndexedSlices) else g for g in first]
    return Path(with_slopes(ancestors(dense, sources)), sources, dense)


def _finished(
    path: Path,
    options: Options,
    pattern: Any,
    targets: Sequence[Any],
    sources: Sequence[Any],
    format: str,
    policy: UnconnectedGradients,
    executor: Any = None,
) -> list[list[Any]]:
    """The blocks as the caller gets them."""

    def zeros(values: Any, y: int, x: int) -> UnconnectedGradients:
        # zeros by structure are zeros: only what no path leads to is None, as for `gradients`
        connected = values is None and is_connected(path.nodes, path.values[x], path.values[y])
        return UnconnectedGradients.ZERO if connected else policy

    if is_known(path):
        plan = plan_for(path, options, pattern)
        rows = evaluate(plan, path) if executor is None else spread_blocks(plan, path, executor)
        rows = [
            [v if path.size(y) and path.size(x) else None for v, x in zip(row, path.sources, strict=True)]
            for y, row in zip(path.targets, rows, strict=True)
        ]
        blocks = [
            [
                _block(values, block, path.values[y], path.values[x], format, zeros(values, y, x))
                for values, block, x in zip(*row, path.sources, strict=True)
            ]
            for y, *row in zip(path.targets, rows, plan.blocks, strict=True)
        ]
    elif executor is None:
        blocks = deferred_blocks(path, options, pattern, format, policy is UnconnectedGradients.ZERO)
    else:
        raise InvalidArgumentError("jacobian: argument `executor` needs known shapes; set them with set_shape")
    columns = _numbered(sources)
    return [
        [
            _block(None, None, y, x, format, policy) if i is None or j is None else blocks[i][j]
            for x, j in zip(sources, columns, strict=True)
        ]
        for y, i in zip(targets, _numbered(targets), strict=True)
    ]


def _numbered(side: Sequence[Any]) -> list[int | None]:
    """Which of those that can be differentiated each is."""
    number = itertools.count()
    return [next(number) if dtype_of(x).is_differentiable else None for x in side]


def _operator(path: Path, y: Any, x: Any, policy: UnconnectedGradients) -> SymbolicOperator | None:
    """The operator of one y and one x; None, or zeros, if y does not depend on x."""
    from engine.jacobian.views.operator import symbolic_operator

    if path.sources and path.targets and (path.nodes or y is x):
        return symbolic_operator(path)
    return None if policy is UnconnectedGradients.NONE else symbolic_operator(Path([], [x], [y]))


def _block(
    values: Any, block: Any, y: Any, x: Any, format: str, policy: UnconnectedGradients
) -> Operand | SparseJacobian | None:
    if values is None and policy is UnconnectedGradients.NONE:
        return None
    shape, source_shape = known_shape(y, "jacobian"), known_shape(x, "jacobian")
    if format == "dense":
        full = shape + source_shape
        return _in_graph(np.zeros(full, dtype_of(x).numpy) if values is None else reshape(values, full), y)
    sizes = math.prod(shape), math.prod(source_shape)
    deferred: SparseJacobian = sparse_block(block, values, sizes, format, dtype_of(x).numpy)
    deferred.values = _in_graph(deferred.values, y)
    return deferred


def _in_graph(x: Any, y: Any) -> Operand:
    return y.trace.operand(x)
