"""Jacobians of graphs whose shapes are not known yet: planned when they are (`engine.control.deferred`).

Plans depend on shapes. Where a placeholder has unknown dimensions, the graph gets one node in place of the sweeps. It
takes all values on the path, as the sweeps would, and makes the plan once for each combination of shapes that it meets.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from engine.closed.function import Body, ClosedFunction
from engine.control.deferred import Recipe, deferred_op
from engine.core.aval import Aval
from engine.core.dtypes import int64
from engine.core.instantiate import instantiate, renamed
from engine.core.op import Node, Op
from engine.core.operands import Operand
from engine.core.sparsity import ELEMENTWISE
from engine.core.structural import broadcast_like_op, reshape_like_op, sum_to_like_op
from engine.core.tape import paused
from engine.core.value import aval_of, dtype_of, known_shape
from engine.core.variable import read_variable, variable_handle
from engine.jacobian.execution.evaluate import evaluate
from engine.jacobian.independence import checked_rows
from engine.jacobian.planning.memory_limit import check_batch_room
from engine.jacobian.planning.plan import Options, plan_for
from engine.jacobian.second import rowwise
from engine.jacobian.structure.path import Path, is_connected, with_closed_rules
from engine.jacobian.views.results import SparseJacobian, pattern_given, sparse_block, stored_by_scipy
from engine.ops.shape import identity, reshape
from engine.runtime.errors import InvalidArgumentError, ShapeError
from engine.runtime.lazy_scipy import sparse


def is_known(path: Path) -> bool:
    """Whether the shapes of all values on the path are known."""
    return all(aval_of(x).is_static for x in path.values)


class DeferredSparseJacobian(SparseJacobian):
    """A `SparseJacobian` whose pattern is known when it is fetched: `indices`, `indptr` and `shape` are values too."""

    def __init__(self, values: Any, indices: Any, indptr: Any, shape: Any, format: str) -> None:
        self.values, self.indices, self.indptr, self.shape, self.format = values, indices, indptr, shape, format

    @property
    def nnz(self) -> int:
        """Number of entries, which is not known yet."""
        raise InvalidArgumentError(f"{self!r}: the number of entries is known once shapes are; set them with set_shape")

    def diagonal(self) -> NoReturn:
        """The entries on the diagonal, whose places are not known yet."""
        raise InvalidArgumentError(f"{self!r}: the diagonal is known once shapes are; set them with set_shape")

    def components(self) -> list[Any]:
        """The values, and where they are."""
        return [self.values, self.indices, self.indptr, self.shape]

    def rebuilt(self, components: Sequence[Any]) -> sparse.sparray:
        """The `scipy.sparse` array with these values."""
        values, indices, indptr, shape = components
        return sparse.csr_array((stored_by_scipy(values), indices, indptr), shape=tuple(shape.tolist())).asformat(
            self.format
        )

    def __repr__(self) -> str:
        return f"<SparseJacobian of unknown shape, {self.format}>"


class PathCopy:
    """A path without its graph: numbers in place of values. It can be pickled."""

    def __init__(self, path: Path) -> None:
        number = path.slots
        self.avals = [aval_of(x) for x in path.values]
        self.sources, self.targets = path.sources, path.targets
        # shapes and indices, by which it is planned
        # an elementwise op's pattern follows from shapes alone: its condition may well be fed
        asked = {number[id(x)] for n in path.nodes if n.op.sparsity is not ELEMENTWISE for x in n.inputs}
        contents = {
            k: path.contents(x)
            for k, x in enumerate(path.values)
            if dtype_of(x).is_integer or (k in asked and not dtype_of(x).is_differentiable)
        }
        self.constants = {k: array for k, array in contents.items() if array is not None}
        self.taken = [k for k in range(len(path.values)) if k not in self.constants]
        self.nodes = renamed(path.nodes, number)

    def filled(self, given: Sequence[Aval]) -> tuple[Body, list[Any], Path]:
        """A path of such structure whose values, but for constants, are parameters of the given avals."""
        body = Body()
        parameters = [body.placeholder(aval) for aval in given]
        of: dict[int, Any] = dict(zip(self.taken, parameters, strict=True))
        of.update({k: body.constant(array) for k, array in self.constants.items()})
        nodes: list[Node] = []

        def make(node: Node, operands: tuple[Any, ...]) -> Sequence[Any]:
            op, params = identity if node.op is read_variable else node.op, node.params
            inner = None if op.expand is None else op.expand([aval_of(x) for x in operands], params)
            if _is_unchanged(op, operands, params):
                return operands[:1]
            if inner is None:
                nodes.append(Node(op, operands, params, tuple([of[k] for k in node.outputs])))
                return nodes[-1].outputs
            # what was deferred before is a path like any other by now
            first = len(body.nodes)
            results = inner.inline(body, operands)
            nodes.extend(body.nodes[first:])
            return results

        instantiate(self.nodes, of, make, key=int)
        return body, parameters, Path(nodes, [of[k] for k in self.sources], [of[k] for k in self.targets])

    def ends(self, given: Sequence[Aval]) -> tuple[list[Aval], list[Aval]]:
        """The avals of targets and sources if those of the parameters are given."""
        of = {**dict(enumerate(self.avals)), **dict(zip(self.taken, given, strict=True))}
        return [of[k] for k in self.targets], [of[k] for k in self.sources]


def _is_unchanged(op: Op, operands: Sequence[Any], params: dict[str, Any]) -> bool:
    """Whether a rule would not have made this node had it known the shapes (`engine.core.structural.sum_to_like`)."""
    if op not in (sum_to_like_op, broadcast_like_op, reshape_like_op):
        return False
    x = aval_of(operands[0])
    return x.is_static and op.abstract(*[aval_of(o) for o in operands], **params).shape == x.shape


class _OnPath(Recipe):
    """Something computed from the values on a path, once their shapes are known."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.copy = PathCopy(path)

    def results(self, path: Path) -> list[Any]:
        """The results to compute from a path."""
        raise NotImplementedError

    def made(self, given: Sequence[Aval]) -> ClosedFunction:
        body, parameters, path = self.copy.filled(given)
        with paused():
            results = self.results(path)
        return ClosedFunction(body, parameters, [body.operand(r) for r in results])


def _applied(recipe: Callable[..., _OnPath], path: Path, *more: Any) -> Sequence[Any]:
    """The results of a recipe for a path, as symbols."""
    closed = with_closed_rules(path)
    made = recipe(closed, *more)
    results = deferred_op(*[readable(closed, closed.values[k]) for k in made.copy.taken], recipe=made)
    results[0].trace.rely([closed.values[k] for k in made.copy.constants], results)
    return results


def readable(path: Path, x: Any) -> Operand:
    """A value that a node can take: of a variable's handle, what is read."""
    if x.node.op is not variable_handle:
        return x
    reads = [n.outputs[0] for n in path.nodes if n.op is read_variable and n.inputs[0] is x]
    return reads[0] if reads else read_variable(x)


def _plus(a: Aval, b: Aval, skipped: int = 0) -> Aval:
    """Of one's shape followed by the other's, without some axes in front, and the other's dtype."""
    return Aval(None if a.shape is None or b.shape is None else a.shape + b.shape[skipped:], b.dtype)


class _Blocks(_OnPath):
    """Blocks of a Jacobian; of a sparse one, four results per block: values, indices, indptr, shape."""

    def __init__(self, path: Path, options: Options, pattern: Any, pairs: Sequence[tuple[int, int]]) -> None:
        super().__init__(path)
        self.options, self.pattern, self.pairs = options, pattern, pairs

    def avals(self, given: Sequence[Aval]) -> tuple[Aval, ...]:
        targets, sources = self.copy.ends(given)
        avals: list[Aval] = []
        for i, j in self.pairs:
            if self.options.values_only:
                some = Aval((None,), int64)
                avals += [Aval((None,), sources[j].dtype), some, some, Aval((2,), int64)]
            else:
                avals.append(_plus(targets[i], sources[j]))
        return tuple(avals)

    def results(self, path: Path) -> list[Any]:
        sizes = [[path.size(slot) for slot in side] for side in (path.targets, path.sources)]
        pattern = None
        if self.pattern is not None:
            pattern = pattern_given("jacobian", self.pattern, (sizes[0][0], sizes[1][0]))
        plan = plan_for(path, self.options, pattern)
        blocks = evaluate(plan, path)
        parts: list[Any] = []
        for i, j in self.pairs:
            y, x = path.values[path.targets[i]], path.values[path.sources[j]]
            dtype = dtype_of(x).numpy
            if self.options.values_only:
                block = sparse_block(plan.blocks[i][j], blocks[i][j], (sizes[0][i], sizes[1][j]), "csr", dtype)
                where = [np.asarray(part, np.int64) for part in (block.indices, block.indptr, block.shape)]
                parts += [block.values, *where]
            else:
                shape = known_shape(y, "jacobian") + known_shape(x, "jacobian")
                parts.append(np.zeros(shape, dtype) if blocks[i][j] is None else reshape(blocks[i][j], shape))
        return parts


class _Diagonal(_OnPath):
    """The diagonal of the Jacobian of a value like the only source."""

    def __init__(self, path: Path, options: Options) -> None:
        super().__init__(path)
        self.options = options

    def avals(self, given: Sequence[Aval]) -> tuple[Aval, ...]:
        (source,) = self.copy.ends(given)[1]
        return (Aval(source.shape, source.dtype),)

    def results(self, path: Path) -> list[Any]:
        x = path.values[path.sources[0]]
        plan, size = plan_for(path, self.options), path.size(path.sources[0])
        ((values,),) = evaluate(plan, path)
        hessian = sparse_block(plan.blocks[0][0], values, (size, size), "csr", dtype_of(x).numpy)
        return [reshape(hessian.diagonal(), known_shape(x, "hessian_diag"))]


class _Rows(_OnPath):
    """The Jacobian of each row of the target with respect to the same row of the source."""

    def __init__(self, path: Path, mode: str) -> None:
        super().__init__(path)
        self.mode = mode

    def avals(self, given: Sequence[Aval]) -> tuple[Aval, ...]:
        (target,), (source,) = self.copy.ends(given)
        return (_plus(target, source, 1),)

    def results(self, path: Path) -> list[Any]:
        return [batch_jacobian(path, self.mode)]


def batch_jacobian(path: Path, mode: str) -> Operand:
    """The Jacobian of each row of the target with respect to the same row of the source.

    Where structure does not tell whether rows are independent, the result is a value that raises if they are not.
    """
    (target,), (source,) = ([path.values[slot] for slot in side] for side in (path.targets, path.sources))
    shape, source_shape = known_shape(target, "batch_jacobian"), known_shape(source, "batch_jacobian")
    if not shape or not source_shape or shape[0] != source_shape[0]:
        raise ShapeError(
            f"batch_jacobian: the first dimensions of y {aval_of(target)} and x {aval_of(source)} must match"
        )
    full = shape + source_shape[1:]
    check_batch_room(full, dtype_of(source))
    rows = rowwise(path, mode) if math.prod(full) else None
    if rows is None:
        return np.zeros(full, dtype_of(source).numpy)
    return checked_rows(reshape(rows, full), path.nodes, target, source)


# ---- for graphs ------------------------------------------------------------------------------------------------------


def deferred_blocks(path: Path, options: Options, sparsity: Any, format: str, zeros: bool) -> list[list[Any]]:
    """The blocks ``[target][source]`` of a path with unknown shapes, as the caller of `jacobian` gets them.

    `sparsity` is the caller's pattern; one that is not connected is zeros, not None, if `zeros`.
    """
    m, n = range(len(path.targets)), range(len(path.sources))
    pairs = [(i, j) for i in m for j in n if zeros or _connected(path, i, j)]
    results = iter(_applied(_Blocks, path, options, sparsity, pairs) if pairs else ())
    blocks: list[list[Any]] = [[None] * len(n) for _ in m]
    for i, j in pairs:
        if options.values_only:
            blocks[i][j] = DeferredSparseJacobian(next(results), next(results), next(results), next(results), format)
        else:
            blocks[i][j] = next(results)
    return blocks


def deferred_diagonal(path: Path, options: Options) -> Operand:
    """The diagonal of the Jacobian of a value like the only source, of a path with unknown shapes."""
    return _applied(_Diagonal, path, options)[0]


def deferred_rows(path: Path, mode: str) -> Operand:
    """The deferred `batch_jacobian` of a path with unknown shapes."""
    return _applied(_Rows, path, mode)[0]


def _connected(path: Path, i: int, j: int) -> bool:
    target, source = path.values[path.targets[i]], path.values[path.sources[j]]
    return is_connected(path.nodes, source, target)
