"""`gradients`: symbolic derivatives, added to a trace as nodes.

The walk is `engine.derivatives.reverse` over the trace's own nodes; this module chooses the nodes and the seeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.core.aval import compatible, format_shape
from engine.core.op import Node
from engine.core.operands import Operand
from engine.core.trace import Symbol
from engine.core.unconnected import UnconnectedGradients, as_policy
from engine.core.value import Value, as_array, dtype_of, shape_of
from engine.core.variable import Variable, tracked_value
from engine.derivatives.aggregation import is_pairwise
from engine.derivatives.reverse import reverse
from engine.derivatives.slopes import with_slopes
from engine.ops.creation import ones_like, zeros_like
from engine.ops.indexed_slices import IndexedSlices
from engine.runtime.errors import DTypeError, InvalidArgumentError, ShapeError
from engine.runtime.patience import patience


def as_list(x: Any) -> list[Any]:
    """A list of what is given: a list or tuple as it is, anything else as its only item."""
    return list(x) if isinstance(x, (list, tuple)) else [x]


@patience("differentiating a graph")
def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    stop_gradients: Any = None,
    unconnected_gradients: Any = UnconnectedGradients.NONE,
    aggregation_method: Any = None,
) -> list[Any]:
    """Derivatives of the sum of all elements of `ys` with respect to each of `xs`, as new symbols.

    Parameters
    ----------
    ys, xs : symbol, variable, or list of these
    grad_ys : value or list of (value or None), optional
        Cotangents of `ys`; None entries mean ones.
    stop_gradients : symbol or list, optional
        Values to treat as constants.
    unconnected_gradients : UnconnectedGradients or str
    aggregation_method : int, optional
        An `AggregationMethod`.

    Returns
    -------
    list
        One symbol per x, None (or zeros) where no path leads from it to any y. For an x whose rows are gathered it is
        an `IndexedSlices`.

    Raises
    ------
    ValueError
        If the number of `grad_ys` or a shape does not fit.
    TypeError
        If something is not a tensor, or a dtype does not fit.
    """
    policy, pairwise = as_policy(unconnected_gradients), is_pairwise(aggregation_method, "gradients")
    targets = [_read(y, "ys") for y in as_list(ys)]
    sources = as_list(xs)
    for x in sources:
        _require_symbolic(x, "xs")
    stop = [tracked_value(s) for s in as_list(stop_gradients)] if stop_gradients is not None else []
    seeds = list(zip(targets, _seeds(targets, grad_ys), strict=True))
    wanted = [tracked_value(x) for x in sources]
    usable = [(y, seed) for y, seed in seeds if dtype_of(y).is_differentiable]
    kept = [w if dtype_of(w).is_differentiable else None for w in wanted]
    differentiated = [w for w in kept if w is not None]
    nodes = with_slopes(ancestors([y for y, _ in usable], differentiated, stop))
    visit = targets[0].trace.visited if targets else iter
    cotangents = reverse(
        nodes, usable, differentiated, stop, sparse=True, pairwise=pairwise, ones=grad_ys is None, visit=visit
    )
    by_id = {id(w): g for w, g in zip(differentiated, cotangents, strict=True)}
    results = [None if w is None else by_id[id(w)] for w in kept]
    missing = [x for g, x in zip(results, sources, strict=True) if g is None and isinstance(x, Variable)]
    if missing:
        _note_missing(targets, missing, stop)
    if policy is UnconnectedGradients.ZERO:
        results = [zeros_like(x) if g is None else g for g, x in zip(results, sources, strict=True)]
    return [_in_trace(g, w) for g, w in zip(results, wanted, strict=True)]


def _note_missing(targets: Sequence[Any], variables: Sequence[Any], stop: Sequence[Any]) -> None:
    from engine.explain.missing import note_in_graph

    note_in_graph(targets, variables, stop)


def _read(y: Any, argument: str) -> Any:
    y = y.as_value() if type(y) is IndexedSlices else y
    _require_symbolic(y, argument)
    return y.read_value() if isinstance(y, Variable) else y


def _require_symbolic(x: Any, argument: str) -> None:
    if isinstance(tracked_value(x) if isinstance(x, Value) else x, Symbol):
        return
    raise TypeError(
        f"gradients: argument `{argument}` must hold tensors or variables of a graph, got {type(x).__name__}; "
        f"for eager tensors use a GradientTape"
    )


def _seeds(targets: Sequence[Any], grad_ys: Any) -> list[Any]:
    seeds = [None] * len(targets) if grad_ys is None else as_list(grad_ys)
    if len(seeds) != len(targets):
        raise InvalidArgumentError(f"Length mismatch. Passed {len(seeds)} grad_ys for {len(targets)} ys")
    return [_seed(y, g, i) for i, (y, g) in enumerate(zip(targets, seeds, strict=True))]


def _seed(y: Symbol, given: Any, i: int) -> Operand:
    if given is None:
        if y.dtype.is_complex:
            raise DTypeError(
                f"gradients: Gradients of complex tensors must set grad_ys (y.dtype = {y.dtype!r}); of ys[{i}] it "
                f"is not said which derivative is meant; tf.ones_like(y) as grad_ys[{i}] gives that of its real part"
            )
        return ones_like(y)
    if isinstance(given, IndexedSlices):
        # rows that do not say of what they are rows are some of `y`
        known = given.dense_shape is not None
        given = (given if known else IndexedSlices(given.values, given.indices, like=y)).as_value()
    if not isinstance(given, Value):
        given = as_array(given, y.dtype, f"gradients: grad_ys[{i}]")
    if not compatible(shape_of(given), shape_of(y)):
        raise ShapeError(
            f"gradients: grad_ys[{i}] has shape {format_shape(shape_of(given))}, but ys[{i}] has shape "
            f"{format_shape(shape_of(y))}"
        )
    if dtype_of(given) is not y.dtype:
        raise DTypeError(
            f"gradients: grad_ys[{i}] has dtype {dtype_of(given).name}, but ys[{i}] has dtype {y.dtype.name}; "
            f"cast it with tf.cast"
        )
    if isinstance(given, Variable):
        given = given.read_value()
    return y.trace.operand(given)


def _in_trace(g: Any, source: Symbol) -> Value | IndexedSlices | None:
    """A gradient is a symbol of the graph, also if it is a constant."""
    if type(g) is IndexedSlices:
        return g.map(source.trace.operand)
    return g if g is None or isinstance(g, Symbol) else source.trace.operand(g)


def ancestors(targets: Sequence[Symbol], sources: Sequence[Symbol], stop: Sequence[Symbol] = ()) -> list[Node]:
    """The nodes that the targets are computed from, in the order of execution."""
    return targets[0].trace.path_nodes(targets, sources, stop) if targets else []
