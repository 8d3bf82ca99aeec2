"""Loops that go on as long as a condition holds: `while_loop`. `dualgrad.frontend.flow.closures` says how they work."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dualgrad.frontend.flow import batched
from dualgrad.frontend.flow.closures import Call, Closure, as_tensor, kept_apart, packed, refused, same_shapes, where
from dualgrad.frontend.flow.composites import closed, opened, opening
from dualgrad.frontend.flow.host import FlowHost
from engine.closed.capture import Region
from engine.closed.function import build
from engine.control.checkpoints import limited
from engine.control.cond import check_predicate
from engine.control.while_loop import while_op
from engine.core import nest
from engine.core.aval import Aval, compatible, format_shape, normalize_shape
from engine.core.batching import open_levels
from engine.ops import compare, shape
from engine.runtime.errors import DTypeError, InvalidArgumentError, ShapeError, UnimplementedError


def check_parallel(parallel_iterations: Any) -> None:
    """Raise TypeError unless a number of parallel iterations, of which nothing is made here, is one."""
    if parallel_iterations is not None and parallel_iterations < 1:
        number = f"'parallel_iterations' must be a positive integer, got {parallel_iterations!r}"
        raise TypeError(f"while_loop: argument `parallel_iterations`: {number}")


def while_loop(
    host: FlowHost, cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Any, shape_invariants: Any = None,
    back_prop: bool = True, maximum_iterations: Any = None, name: str | None = None, max_bytes: int | None = None,
) -> Any:  # fmt: skip
    """``while cond(*loop_vars): loop_vars = body(*loop_vars)``, when the trace runs; the last `loop_vars`."""
    if not isinstance(loop_vars, (list, tuple)) or not loop_vars:
        raise ValueError(f"while_loop: argument `loop_vars` must be a non-empty list or tuple, got {loop_vars!r}")
    tensors = opened(loop_vars)
    if tensors is not loop_vars:
        known = _of_parts(loop_vars, tensors, shape_invariants)
        functions = opening(cond), opening(lambda *v: nest.like_loop_vars(loop_vars, body(*v)))
        return closed(while_loop(host, *functions, tensors, known, back_prop, maximum_iterations, name, max_bytes))
    more = back_prop, maximum_iterations, name, max_bytes
    if levels := open_levels():

        def run(cond: Any, body: Any, state: Any) -> Any:
            return plain_while_loop(host, cond, body, state, None, *more)

        return batched.while_loop(host, levels, run, cond, body, loop_vars)
    return plain_while_loop(host, cond, body, loop_vars, shape_invariants, *more)


def plain_while_loop(
    host: FlowHost, cond: Any, body: Any, loop_vars: Any, shape_invariants: Any, back_prop: bool,
    maximum_iterations: Any, name: str | None, max_bytes: int | None = None,
) -> Any:  # fmt: skip
    """`while_loop` of values that are no batches."""
    trace, within = host.trace(), limited("while_loop", max_bytes)
    with trace.name_scope(name or "while"):
        leaves = nest.flatten(loop_vars)
        arrays = [host.array(x) for x in leaves]
        start = [
            None if a is not None and not a.is_allocated else as_tensor(host, x if a is None else a)
            for x, a in zip(leaves, arrays, strict=True)
        ]
        limit = None if maximum_iterations is None else host.convert(maximum_iterations)
        trace.flow_assignments += 1  # a variable read in the loop is read in each iteration
        counter = [] if limit is None else [host.convert(0, limit.dtype)]
        first = len(trace.nodes)
        known = _invariants(loop_vars, arrays, start, shape_invariants)
        context = trace.new_context("the body of while_loop", "in an iteration, and another one in each")
        with trace.within(context):
            bound = [trace.parameter(a, "loop_var") for a in [*[Aval((), c.dtype) for c in counter], *known]]
            own = bound[len(counter) :]
            context.carried += zip(own, start, strict=True)
            arguments = [b if a is None else a.tracing(b) for a, b in zip(arrays, own, strict=True)]
            state = nest.pack_sequence_as(loop_vars, arguments)
            test = Call(host, "while_loop: argument `cond`", cond, state)
            goes_on = _predicate(host, test)
            if limit is not None:
                goes_on = compare.logical_and(compare.less(bound[0], limit), goes_on)
            call = Call(host, "while_loop: argument `body`", lambda *v: nest.like_loop_vars(loop_vars, body(*v)), state)
            _require_unchanged(own, call.tensors)
            after = same_shapes("while_loop: loop variable", own, call.tensors)
            nexts = [*[b + 1 for b in bound[: len(counter)]], *after]
        closure = Closure(trace, first, bound, [([goes_on], test.effects), (nexts, call.effects)])
        # the reverse walk meets them in their order
        initial = _allocated(host, closure, arguments, start)[::-1]
        initial = [*counter, *kept_apart(initial, closure.captured)[::-1]]
        outputs = _looped(closure, initial, None in start, within)[len(counter) :]
        if not back_prop:
            outputs = [shape.stop_gradient(x) for x in outputs]
        return packed(host, loop_vars, arguments, outputs)


def _invariants(loop_vars: Any, arrays: Sequence[Any], start: Sequence[Any], invariants: Any) -> list[Aval]:
    """The avals of the loop variables in all iterations."""
    declared = [None] * len(arrays) if invariants is None else up_to(loop_vars, invariants)
    known = []
    for i, (array, tensor, invariant) in enumerate(zip(arrays, start, declared, strict=True)):
        if tensor is None:
            known.append(Aval(None, array.dtype))
            continue
        aval = tensor.aval
        dims = aval.shape if invariants is None or array is not None else normalize_shape(invariant)
        if array is not None and array.dynamic_size and dims is not None:
            dims = (None, *dims[1:])
        if not compatible(dims, aval.shape):
            raise ShapeError(
                f"while_loop: argument `shape_invariants` says {format_shape(dims)} of loop variable {i}, which enters "
                f"the loop with shape {format_shape(aval.shape)}"
            )
        known.append(Aval(dims, aval.dtype))
    return known


def _of_parts(loop_vars: Any, tensors: Any, invariants: Any) -> Any:
    """The invariants of the parts of composites: how many rows or elements they have may change."""
    whole = nest.flatten(loop_vars)
    declared = [None] * len(whole) if invariants is None else up_to(loop_vars, invariants)
    known: list[Any] = []
    for leaf, given in zip(whole, declared, strict=True):
        if type(parts := opened(leaf)) is not type(leaf):
            known += [None if p.shape.ndims is None else [None, *p.shape.as_list()[1:]] for p in parts[:2]]
            known += [p.shape for p in parts[2:]]
        else:
            known.append(getattr(leaf, "shape", None) if invariants is None else given)
    return nest.pack_sequence_as(tensors, known)


def up_to(structure: Any, other: Any) -> list[Any]:
    """The parts of `other` that stand where `structure` has its leaves."""
    if isinstance(structure, Mapping):
        return [part for key in sorted(structure) for part in up_to(structure[key], other[key])]
    if isinstance(structure, (list, tuple)):
        return [part for a, b in zip(structure, other, strict=True) for part in up_to(a, b)]
    return [other]


def _predicate(host: FlowHost, test: Call) -> Any:
    if len(test.tensors) != 1:
        raise ValueError(f"while_loop: argument `cond` must return a boolean scalar, got {test.structure!r}")
    tensor = test.tensors[0]
    check_predicate("while_loop", "cond", tensor.aval)
    return tensor


def _require_unchanged(before: Sequence[Any], after: Sequence[Any]) -> None:
    if len(before) != len(after):
        counts = f"{len(before)} loop variables, got {len(after)}"
        raise ValueError(f"while_loop: argument `body` must return values, and not None, for all {counts}")
    for i, (b, a) in enumerate(zip(before, after, strict=True)):
        if a.dtype is not b.dtype:
            raise refused(
                DTypeError(
                    f"while_loop: loop variable {i} enters the loop as {b.dtype.name}, but `body` returns it as "
                    f"{a.dtype.name}; cast it with tf.cast"
                )
            )
        if not compatible(a.aval.shape, b.aval.shape):
            raise ShapeError(
                f"while_loop: loop variable {i} enters the loop with shape {format_shape(b.aval.shape)}, but has shape "
                f"{format_shape(a.aval.shape)} after one iteration; to let it vary, say what stays the same with the "
                f"argument `shape_invariants`"
            )


def _allocated(host: FlowHost, closure: Closure, arguments: Sequence[Any], start: Sequence[Any]) -> list[Any]:
    """The initial values; a TensorArray of elements of unknown shape is as large as its first element needs."""
    if None not in start:
        return list(start)
    graph, bound = closure.graph, closure.regions[0].bound
    ahead = len(bound) - len(start)
    guess = [host.convert(0) if x is None else x for x in start]
    initial = []
    for x, argument in zip(start, arguments, strict=True):
        if x is None:
            value = argument.first_written
            if value is None:
                raise InvalidArgumentError("while_loop: a TensorArray that is not written to needs an `element_shape`")
            region = Region(closure.nodes, bound, [value], [], lambda node: node.control_inputs)  # type: ignore[attr-defined]
            if region.assigned:
                raise UnimplementedError(
                    "while_loop: a TensorArray needs an `element_shape` if its elements are random, or if variables "
                    "are assigned before it is written"
                )
            captured, handles = list(region.captured.values()), list(region.handles.values())
            counters = [host.convert(0, b.dtype) for b in bound[:ahead]]
            first = region.closed(captured, handles, [], where).inline(
                graph, [*counters, *guess, *captured, *closure.values(handles)]
            )
            x = argument.zeros_for(first[0])
        initial.append(x)
    return initial


def _looped(closure: Closure, initial: Sequence[Any], specialize: bool, within: dict[str, Any]) -> list[Any]:
    test, step = closure.regions
    if test.assigned:
        raise UnimplementedError("while_loop: argument `cond` must not assign to variables or draw random numbers")
    count = len(initial)
    operands = [*initial, *closure.values(closure.assigned), *closure.captured, *closure.values(closure.read)]
    goes_on, body = closure.closed(test, [], count), closure.closed(step, closure.assigned, count)
    if specialize:
        avals = [Aval(x.aval.shape, x.dtype) for x in operands]
        goes_on, body = build(avals, goes_on.inline), build(avals, body.inline)
    params = {"cond": goes_on, "body": body, "count": count + len(closure.assigned), **within}
    return closure.apply(while_op, operands, params, count, "Exit")
