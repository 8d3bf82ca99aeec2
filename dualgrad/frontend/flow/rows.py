"""Loops over the rows of tensors: `map_fn`, `scan`, `fold`. `dualgrad.frontend.flow.closures` says how they work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dualgrad.frontend.flow import batched
from dualgrad.frontend.flow.closures import Call, Closure, as_tensor, kept_apart, same_shapes
from dualgrad.frontend.flow.composites import closed, tabled
from dualgrad.frontend.flow.host import FlowHost
from engine.closed.function import ClosedFunction, plain
from engine.control.checkpoints import limited
from engine.control.scan_loop import scan_op
from engine.core import nest
from engine.core.aval import Aval, compatible
from engine.core.batching import open_levels
from engine.core.dtypes import int64, require_declared
from engine.core.nest import Structure
from engine.ops import filling, joining, shape
from engine.runtime.errors import InvalidArgumentError, ShapeError
from engine.runtime.public_names import named


def _rows(host: FlowHost, name: str, elems: Any) -> list[Any]:
    """The tensors of a structure, each to be taken apart along its first dimension."""
    tensors = [as_tensor(host, x) for x in nest.flatten(elems)]
    if not tensors:
        raise ValueError(f"{name}: argument `elems` must hold at least one tensor")
    for x in tensors:
        if x.aval.shape == ():
            raise ShapeError(f"{name}: argument `elems` must have at least one dimension, got a scalar")
    return tensors


def _scanned(
    host: FlowHost,
    name: str,
    function: Callable[[Any, Any], tuple[Any, Any]],
    initial: Any,
    elems: Any,
    rows: Sequence[Any],
    backwards: bool,
    max_bytes: int | None = None,
) -> tuple[Any, Any]:
    """``(state, result) = function(state, row)`` for each row; the last state, and the results stacked."""
    within = limited(name, max_bytes)

    def run(function: Any, initial: Any, elems: Any, rows: Any) -> tuple[Any, Any]:
        return _scan_op(host, name, function, initial, elems, rows, {"backwards": backwards, **within})

    if levels := open_levels():
        return batched.scanned(host, levels, run, function, initial, elems, rows)
    return run(function, initial, elems, rows)


def _scan_op(
    host: FlowHost, name: str, function: Any, initial: Any, elems: Any, rows: Sequence[Any], more: dict[str, Any]
) -> tuple[Any, Any]:
    trace = host.trace()
    start = [as_tensor(host, x) for x in nest.flatten(initial)]
    trace.flow_assignments += 1  # a variable read in the loop is read in each step
    first = len(trace.nodes)
    avals = [x.aval for x in start] + [Aval(None if r.aval.shape is None else r.aval.shape[1:], r.dtype) for r in rows]
    label, carries = f"{name}: argument `fn`", len(start)
    context = trace.new_context(f"the body of {name}", "for one element, and another one for each")
    with trace.within(context):
        bound = [trace.parameter(plain(a), "element") for a in avals]
        context.carried += zip(bound, start, strict=False)
        context.rows += zip(bound[carries:], rows, strict=True)
        state = nest.pack_sequence_as(initial, bound[:carries])
        row = nest.pack_sequence_as(elems, bound[carries:])
        inner = len(trace.nodes)
        new, result = function(state, row)
        after, made = Call(host, label, lambda: new, first=inner), Call(host, label, lambda: result)
        _require_carried(label, initial, new, bound[:carries], after.tensors)
        carried = same_shapes(f"{name}: carried value", bound[:carries], after.tensors)
    if context.index is not None:
        bound, rows = [*bound, context.index], [*rows, filling.range(shape.shape(rows[0], out_type=int64)[0])]
    # what is carried and stacked as well stays one value
    same = {id(x): kept for x, kept in zip(after.tensors, carried, strict=True)}
    stacked = [same.get(id(x), x) for x in made.tensors]
    closure = Closure(trace, first, bound, [([*carried, *stacked], [*after.effects, *made.effects])])
    (region,) = closure.regions
    body = closure.closed(region, closure.assigned, carries)
    states = len(closure.assigned)
    order = [*body.results[:carries], *body.results[len(body.results) - states :]]
    body = ClosedFunction(body.trace, body.parameters, [*order, *body.results[carries : len(body.results) - states]])
    # the reverse walk meets the carries in their order, after the rows
    own = kept_apart(start[::-1], [*rows, *closure.captured])[::-1]
    start, rows = own, kept_apart(rows, [*start, *closure.captured])
    operands = [*start, *closure.values(closure.assigned), *rows, *closure.captured, *closure.values(closure.read)]
    params = {"body": body, "carries": carries + states, "sequences": len(rows), **more}
    outputs = closure.apply(scan_op, operands, params, carries, "Scan")
    last = nest.pack_sequence_as(initial, outputs[:carries])
    return last, made.packed(host, outputs[carries:])


def _require_carried(label: str, initial: Any, new: Any, before: Sequence[Any], after: Sequence[Any]) -> None:
    nest.require_like(label, initial, new)
    for b, a in zip(before, after, strict=True):
        if a.dtype is not b.dtype or not compatible(a.aval.shape, b.aval.shape):
            raise InvalidArgumentError(
                f"{label} must return values like the initial one: expected {b.aval}, got {a.aval}"
            )


def scanned(
    host: FlowHost,
    name: str,
    function: Callable[[Any, Any], tuple[Any, Any]],
    initial: Any,
    elems: Any,
    backwards: bool = False,
    max_bytes: int | None = None,
) -> tuple[Any, Any]:
    """``state, result = function(state, row)`` for each row of some tensors: the last state, the results stacked."""
    return _scanned(host, name, function, initial, elems, _rows(host, name, elems), backwards, max_bytes)


def map_fn(host: FlowHost, fn: Callable[[Any], Any], elems: Any, dtype: Any, back_prop: bool, name: str | None) -> Any:
    """`fn` applied to each row of `elems`, the results stacked."""
    with host.trace().name_scope(name or "map"):
        rows = _rows(host, "map_fn", elems)
        of_row = tabled(fn)
        _, result = _scanned(host, "map_fn", lambda _, row: ((), of_row(row)), (), elems, rows, False)
        require_declared("map_fn", result, dtype)
        return _finished(result, back_prop)


def _finished(result: Any, back_prop: bool) -> Structure[Any]:
    return result if back_prop else nest.map_structure(shape.stop_gradient, result)


def _started(host: FlowHost, name: str, elems: Any, initializer: Any, backwards: bool) -> tuple[list[Any], Any]:
    """The rows to go through, and what to start with: the initializer, or else the first row."""
    rows = _rows(host, name, elems)
    if initializer is not None:
        return rows, nest.map_structure(lambda x: as_tensor(host, x), initializer)
    first = nest.pack_sequence_as(elems, [r[-1] if backwards else r[0] for r in rows])
    return [r[:-1] if backwards else r[1:] for r in rows], first


def scan(
    host: FlowHost,
    fn: Callable[[Any, Any], Any],
    elems: Any,
    initializer: Any,
    back_prop: bool,
    reverse: bool,
    name: str | None,
    max_bytes: int | None = None,
) -> Any:
    """All intermediate results of `fold`, stacked."""

    def step(state: Any, row: Any) -> tuple[Any, Any]:
        new = fn(state, row)
        return new, new

    with host.trace().name_scope(name or "scan"):
        rows, start = _started(host, "scan", elems, initializer, reverse)
        _, stacked = _scanned(host, "scan", step, start, elems, rows, reverse, max_bytes)
        if initializer is None:
            end = slice(None, None, -1 if reverse else 1)
            pairs = zip(nest.flatten(start), nest.flatten(stacked), strict=True)
            columns = [joining.concat([shape.expand_dims(a, 0), b][end], 0) for a, b in pairs]
            stacked = nest.pack_sequence_as(stacked, columns)
        return _finished(stacked, back_prop)


def fold(
    host: FlowHost,
    kind: str,
    fn: Callable[[Any, Any], Any],
    elems: Any,
    initializer: Any,
    back_prop: bool,
    name: str | None,
    max_bytes: int | None = None,
) -> Structure[Any]:
    """``fn(... fn(fn(initializer, first row), second row) ...)``, from the last row on for a ``"foldr"``."""
    backwards = kind == "foldr"
    with host.trace().name_scope(name or kind):
        rows, start = _started(host, kind, elems, initializer, backwards)
        step = lambda state, row: (fn(state, row), ())  # noqa: E731
        last, _ = _scanned(host, kind, step, start, elems, rows, backwards, max_bytes)
        return _finished(last, back_prop)


def _by_number(fn: Callable[[Any], Any], elems: Any) -> tuple[Callable[[Any], Any], Any]:
    """A function of numbers of rows where `elems` has sparse tensors, whose rows differ in size, and these numbers."""
    leaves = nest.flatten(elems)
    sparse = [hasattr(x, "row") for x in leaves]
    if not any(sparse):
        return fn, elems

    def called(numbers: Any) -> Any:
        rows = [x.row(n) if by else n for x, n, by in zip(leaves, nest.flatten(numbers), sparse, strict=True)]
        return fn(nest.pack_sequence_as(elems, rows))

    numbers = [filling.range(x.dense_shape[0]) if by else x for x, by in zip(leaves, sparse, strict=True)]
    return called, nest.pack_sequence_as(elems, numbers)


def offered(
    module: str, mapped: Callable[..., Any], scanned: Callable[..., Any], folded: Callable[..., Any]
) -> list[Callable[..., Any]]:
    """The public `map_fn`, `scan`, `foldl` and `foldr` of a front end, made of its functions that do the work."""

    def map_fn(
        fn: Callable[[Any], Any], elems: Any, dtype: Any = None, parallel_iterations: int | None = None,
        back_prop: bool = True, swap_memory: bool = False, infer_shape: bool = True, name: str | None = None,
        fn_output_signature: Any = None,
    ) -> Any:  # fmt: skip
        """`fn` applied to each row of `elems`, the results stacked.

        Parameters
        ----------
        fn : callable
            ``fn(row)`` returns a tensor, a sparse tensor (of one shape in all rows), or a structure of such.
        elems : tensor or structure of tensors
            Of the same first dimension.
        dtype, fn_output_signature : DType or structure of these, optional
            The dtypes of the results, which must agree; known from `fn` without it.
        parallel_iterations, swap_memory, infer_shape
            Accepted for compatibility.
        back_prop : bool
            If False, the result counts as a constant in gradients.
        name : str, optional
        """
        fn, elems = _by_number(fn, elems)
        signature = fn_output_signature if dtype is None else dtype
        declared = nest.map_structure(lambda spec: getattr(spec, "of_tables", spec), signature)
        return closed(mapped(fn, elems, declared, back_prop, name))

    def scan(
        fn: Callable[[Any, Any], Any], elems: Any, initializer: Any = None, parallel_iterations: int = 10,
        back_prop: bool = True, swap_memory: bool = False, infer_shape: bool = True, reverse: bool = False,
        name: str | None = None, max_bytes: int | None = None,
    ) -> Any:  # fmt: skip
        """All intermediate results of `foldl` (of `foldr` if `reverse`), stacked; `max_bytes` as in `while_loop`."""
        return scanned(fn, elems, initializer, back_prop, reverse, name, max_bytes)

    def folding(public: str) -> Callable[..., Any]:
        def fold(
            fn: Callable[[Any, Any], Any], elems: Any, initializer: Any = None, parallel_iterations: int = 10,
            back_prop: bool = True, swap_memory: bool = False, name: str | None = None, max_bytes: int | None = None,
        ) -> Any:  # fmt: skip
            return folded(public, fn, elems, initializer, back_prop, name, max_bytes)

        return fold

    words = {
        "map_fn": map_fn.__doc__,
        "scan": scan.__doc__,
        "foldl": "``fn(... fn(fn(initializer, first row), second) ...)``; by default the first row is the initializer.",
        "foldr": "`foldl` from the last row to the first.",
    }
    made: list[Callable[..., Any]] = [map_fn, scan, folding("foldl"), folding("foldr")]
    functions = [named(function, name, doc) for function, (name, doc) in zip(made, words.items(), strict=True)]
    for function in functions:
        function.__module__ = module
    return functions
