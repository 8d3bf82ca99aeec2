"""Second derivatives and row-wise Jacobians, made of the same parts.

A Hessian is the Jacobian of a gradient. The gradient is one reverse walk with symbols; its nodes extend the path, and
the extended path is planned like any other, with sweeps that go forward (forward over reverse). What is symmetric stays
symmetric to the bit: entries below the diagonal are used for both places.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.closed.function import ClosedFunction, build
from engine.control.deferred import Recipe, deferred_op
from engine.core.aval import Aval
from engine.core.batching import Batched, batch_level, unbatch
from engine.core.eager import EagerTensor
from engine.core.expand_axes import seed_rows
from engine.core.instantiate import in_trace, instantiate
from engine.core.op import Node
from engine.core.operands import Operand
from engine.core.tape import Tape, paused
from engine.core.trace import constant_value, placeholder
from engine.core.value import aval_of, dtype_of, known_shape
from engine.derivatives.custom import custom_call
from engine.derivatives.forward import forward
from engine.derivatives.linearity import NotSeenLinearError, not_linear
from engine.derivatives.reverse import reverse
from engine.derivatives.slopes import with_slopes
from engine.jacobian.execution.evaluate import constant_beside, evaluate, walk_from
from engine.jacobian.execution.plan_programs import Mirror, numbered
from engine.jacobian.independence import zero_beside
from engine.jacobian.planning.cost import sweep_time
from engine.jacobian.planning.plan import Options, Plan, plan_for
from engine.jacobian.structure.path import Path, contents_besides, contents_of
from engine.jacobian.structure.row_independence import coupling
from engine.ops.checked import checked_op
from engine.ops.compare import cast
from engine.ops.creation import ones_like, zeros_like
from engine.ops.shape import reshape, transpose
from engine.runtime.errors import ShapeError


class UnknownShapesError(ShapeError):
    """Raised if shapes in the gradient follow from contents, which programs leave open: evaluate it and record that."""


def compiled_hessian(path: Path, options: Options, sparsity: Any) -> ClosedFunction:
    """The closed function for the blocks of the Hessian of the sum of all targets, of the values on the path."""
    mirror, _, _, second, numbers = _differentiated(path)
    with paused():
        second = second if _is_static(second) else _as_one_node(second)
        plan = plan_for(second, options, sparsity)
        blocks = evaluate(plan, second)
    # whatever was looked at: contents that ops compute are known from those of the path
    return mirror.planned(
        [b for row in blocks for b in row if b is not None],
        plan,
        form=numbered(blocks),
        contents=dict(path.used),
        numbers=numbers,
    )


def second_path(path: Path) -> Path:
    """The path to the gradients of the sum of all targets; as much is known of the values as on the path given."""
    second = _differentiated(path)[3]
    return second if _is_static(second) or not isinstance(path.values[0], EagerTensor) else _recorded(path)[3]


def _is_static(path: Path) -> bool:
    return all(aval_of(x).is_static for x in path.values)


def recorded_gradients(
    nodes: Sequence[Node], sources: Sequence[Any], targets: Sequence[Any]
) -> tuple[list[Node], list[Any]]:
    """The nodes with those that compute the gradients of the sum of all targets, and these gradients, from arrays."""
    walk, gradients = _walk_of(Path(nodes, sources, targets))
    return [*nodes, *walk.nodes], gradients


class _Whole(Recipe):
    """A closed function as one node."""

    def __init__(self, function: ClosedFunction) -> None:
        super().__init__()
        self._function = function

    def made(self, given: Sequence[Aval]) -> ClosedFunction:
        """The function itself."""
        return self._function


def _as_one_node(path: Path) -> Path:
    """A path whose nodes are one: what has a shape that follows from contents (of a loop's steps, say) is within it."""
    made = {id(out) for node in path.nodes for out in node.outputs}
    sources, targets = ([path.values[slot] for slot in side] for side in (path.sources, path.targets))
    inputs = (*sources, *targets, *[x for node in path.nodes for x in node.inputs])
    given = {id(x): x for x in inputs if id(x) not in made}
    constants = {k: a for k, a in ((k, constant_value(x)) for k, x in given.items()) if a is not None}
    taken = {k: x for k, x in given.items() if k not in constants}
    if (unknown := next((x for x in taken.values() if not aval_of(x).is_static), None)) is not None:
        raise UnknownShapesError(f"hessian: the shape of {unknown!r} follows from contents")

    def inlined(body: Any, values: Sequence[Any]) -> list[Any]:
        of = dict(zip(taken, values, strict=True)) | {k: body.constant(a) for k, a in constants.items()}
        instantiate(path.nodes, of, in_trace(body))
        # of a gradient the shape is known, whatever may be told of the values on the way to it
        return [reshape(of[id(t)], known_shape(t, "hessian")) for t in targets]

    function = build([x.aval for x in taken.values()], inlined)
    results = deferred_op(*taken.values(), recipe=_Whole(function))
    return Path([results[0].node], sources, results, known=path.contents)


_Numbers = Callable[[list[int]], list[int]]


def _differentiated(path: Path) -> tuple[Mirror, list[Any], list[Any], Path, _Numbers]:
    """The gradients of the sum of all targets, as symbols.

    With their mirror come the sources, the gradients, the path from one to the other, and what turns numbers of values
    that the mirror takes into their numbers on `path`.
    """
    if any(node.op is custom_call and type(node.outputs[0]) is EagerTensor for node in path.nodes):
        return _recorded(path)
    mirror = Mirror(path)
    with paused():
        return mirror, *_gradient(mirror), lambda numbers: numbers


def _gradient(mirror: Mirror) -> tuple[list[Any], list[Any], Path]:
    """The sources, the gradients of the sum of all targets, and the path to them."""
    inner, first = mirror.path, len(mirror.trace.nodes)
    sources = [inner.values[slot] for slot in inner.sources]
    gradients = [mirror.trace.operand(g) for g in _walked(inner.nodes, inner)]
    made = [node for node in mirror.trace.nodes[first:] if node.op is not placeholder]
    return sources, gradients, Path(with_slopes([*inner.nodes, *made]), sources, gradients, known=mirror.contents)


def _recorded(path: Path) -> tuple[Mirror, list[Any], list[Any], Path, _Numbers]:
    """The result of `_differentiated`, with the gradients computed from arrays and recorded.

    The rule of a custom gradient is a Python function. It may take what was computed beside the path, and compute from
    arrays what depends on the sources. Symbols for the values on the path would not show that.
    """
    walk, gradients = _walk_of(path)
    made = {id(out) for node in walk.everything() for out in node.outputs}
    besides = contents_besides(walk.everything()) if path.is_of_any_point else contents_of
    second = Path(
        with_slopes([*path.recorded, *walk.nodes]),
        [path.values[slot] for slot in path.sources],
        gradients,
        known=lambda x: besides(x) if id(x) in made else path.contents(x),
    )
    mirror = Mirror(second)
    ends = [[mirror.path.values[slot] for slot in side] for side in (second.sources, second.targets)]
    return mirror, ends[0], ends[1], mirror.path, lambda numbers: [path.number(second.values[k]) for k in numbers]


def _walk_of(path: Path) -> tuple[Tape, list[Any]]:
    """The gradients of the sum of all targets of a path of arrays, and what was recorded on the way to them."""
    walk = Tape(watch_accessed_variables=False)
    for x in [*[path.values[slot] for slot in path.sources], *[out for node in path.recorded for out in node.outputs]]:
        walk.watch(x)
    with paused():
        walk.start()
        return walk, _walked(path.recorded, path)


def _walked(nodes: Sequence[Node], path: Path) -> list[Any]:
    """The gradients of the sum of all targets of a path, zeros where there is none."""
    sources = [path.values[slot] for slot in path.sources]
    seeds = [(path.values[slot], ones_like(path.values[slot])) for slot in dict.fromkeys(path.targets)]
    cotangents = reverse(with_slopes(nodes), seeds, sources)
    return [zeros_like(s) if g is None else g for g, s in zip(cotangents, sources, strict=True)]


def compiled_gradient(path: Path, options: Options, sparsity: Any) -> ClosedFunction:
    """The closed function for the gradients of the sum of all targets, ``results[0]``, one per source."""
    mirror, _, gradients, _, numbers = _differentiated(path)
    return mirror.planned(gradients, _no_plan(path, options), form=[list(range(len(gradients)))], numbers=numbers)


def compiled_product(path: Path, options: Options, sparsity: Any) -> ClosedFunction:
    """The closed function for the Hessian of the sum of all targets times vectors, which are its further arguments.

    ``results[0]`` are the products, one per source.
    """
    mirror, sources, gradients, second, numbers = _differentiated(path)
    with paused():
        vectors = [mirror.trace.placeholder(s.aval) for s in sources]
        try:
            products = forward(second.nodes, list(zip(sources, vectors, strict=True)), gradients)
        except NotSeenLinearError as error:
            if not error.is_possible:
                raise
            # a rule that applies a primitive has no forward mode; the Hessian is symmetric, so reverse mode will do
            products = reverse(second.nodes, list(zip(gradients, vectors, strict=True)), sources)
        wanted = [zeros_like(s) if p is None else p for p, s in zip(products, sources, strict=True)]
    form = [list(range(len(wanted)))]
    return mirror.planned(wanted, _no_plan(path, options), vectors, form=form, numbers=numbers)


def compiled_push(path: Path, options: Options, sparsity: Any) -> ClosedFunction:
    """The closed function for the Jacobian of one target times a vector, the further argument."""
    return _compiled_walk(path, options, "forward")


def compiled_pull(path: Path, options: Options, sparsity: Any) -> ClosedFunction:
    """The closed function for a vector, the further argument, times the Jacobian of one target."""
    return _compiled_walk(path, options, "reverse")


def _compiled_walk(path: Path, options: Options, direction: str) -> ClosedFunction:
    mirror = Mirror(path)
    (target,), (source,) = ([mirror.path.values[slot] for slot in side] for side in (path.targets, path.sources))
    start, end = (source, target) if direction == "forward" else (target, source)
    vector = mirror.trace.placeholder(start.aval)
    with paused():
        (product,) = walk_from(direction, mirror.path.nodes, start, [end])(vector)
    wanted, form = ([], [[None]]) if product is None else ([product], [[0]])  # type: ignore[list-item]
    return mirror.planned(wanted, _no_plan(path, options), [vector], form=form)


def rowwise(path: Path, mode: str) -> Operand | None:
    """The Jacobian of each row of the target with respect to the same row of the source, shape (rows, m, n).

    Rows must be independent. Then one seed serves an element of all rows at once, and min(m, n) seeds do.
    """
    (target,), (source,) = ([path.values[slot] for slot in side] for side in (path.targets, path.sources))
    shape, source_shape = path.shape(path.targets[0]), path.shape(path.sources[0])
    m, n = (int(np.prod(s[1:], dtype=np.int64)) for s in (shape, source_shape))
    times = {
        direction: sum(sweep_time(node, seeds, path.live_inputs(node)) for node in path.nodes)
        for direction, seeds in (("reverse", m), ("forward", n))
    }
    direction = min(times, key=lambda d: times[d]) if mode == "auto" else mode
    if not_linear(path.nodes) is not None:
        return _rows_of_whole(path, mode)
    if target.dtype.is_complex or source.dtype.is_complex:
        # a row is a gradient
        direction = "reverse"
    start, end, count, size = (target, source, m, n) if direction == "reverse" else (source, target, n, m)
    row = (shape if start is target else source_shape)[1:]
    if count == 1:
        seeds = reshape(ones_like(start), (1, *known_shape(start, "batch_jacobian")))
    else:
        of_row = np.eye(count, dtype=dtype_of(start).numpy).reshape(count, *row)
        seeds = seed_rows(constant_beside(start, of_row), size=shape[0], position=1)
    with batch_level() as level:
        (rows,) = walk_from(direction, path.nodes, start, [end])(Batched(seeds, level))
        if rows is None:
            return None
        stacked = cast(reshape(unbatch(rows, level, count), (count, shape[0], size)), source.dtype)
    return transpose(stacked, (1, 0, 2) if direction == "reverse" else (1, 2, 0))


def _rows_of_whole(path: Path, mode: str) -> Operand | None:
    """The same out of the whole Jacobian, for rules that are not linear: a seed for all rows would be another one.

    The result raises if rows are not independent.
    """
    rows = path.shape(path.targets[0])[0]
    ((block,),) = evaluate(plan_for(path, Options(mode)), path)
    if block is None:
        return None
    split = transpose(reshape(block, (rows, -1, rows, path.size(path.sources[0]) // rows)), (0, 2, 1, 3))
    flat = reshape(split, (rows * rows, *known_shape(split, "batch_jacobian")[2:]))
    return checked_op(flat[:: rows + 1], split, check=zero_beside)


def compiled_rowwise(path: Path, options: Options, sparsity: Any) -> ClosedFunction:
    """The closed function for `rowwise`, with the values on the path as arguments.

    The plan's fact ``"rows are independent"`` says whether structure alone tells so, or the program itself checks it.
    """
    (target,), (source,) = ([path.values[slot] for slot in side] for side in (path.targets, path.sources))
    plan = _no_plan(path, options)
    independent = not_linear(path.nodes) is not None or coupling(path.nodes, source, target, path.contents) is None
    plan.facts["rows are independent"] = independent
    mirror = Mirror(path)
    with paused():
        rows = rowwise(mirror.path, options.mode)
    wanted, form = ([], [[None]]) if rows is None else ([rows], [[0]])  # type: ignore[list-item]
    return mirror.planned(wanted, plan, form=form, contents=dict(path.used))


def _no_plan(path: Path, options: Options) -> Plan:
    return Plan(options, [], [], [[None]], tuple(range(len(path.nodes))), [[(0, 0)]], {})
