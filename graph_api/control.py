"""Choices and loops in graphs: `cond`, `case`, `while_loop`. `graph_api.closures` says how they work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from engine.closed.capture import Region
from engine.closed.function import build
from engine.control.cond import check_predicate, cond_op
from engine.control.while_loop import while_op
from engine.core import nest
from engine.core.aval import Aval, compatible, format_shape, normalize_shape
from engine.core.dtypes import int32
from engine.core.nest import Structure
from engine.core.value import Value
from engine.ops import compare, joining, shape
from engine.ops.reduce import reduce_sum
from engine.runtime.errors import DTypeError, InvalidArgumentError, ShapeError, UnimplementedError
from graph_api.closures import Call, Closure, as_tensor, kept_apart, packed, same_shapes, where
from graph_api.convert import convert_to_tensor
from graph_api.flow import assertion
from graph_api.graph import Graph, get_default_graph
from graph_api.tensor import Operation, Tensor
from graph_api.tensor_array import TensorArray

# ---- choices ---------------------------------------------------------------------------------------------------------


def cond(
    pred: Any,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    strict: bool = False,
    name: str | None = None,
    fn1: Callable[[], Any] | None = None,
    fn2: Callable[[], Any] | None = None,
) -> Any:
    """The results of ``true_fn()`` if `pred` holds when the graph runs, else of ``false_fn()``; only one is computed.

    Parameters
    ----------
    pred : bool tensor, shape () (or of one element)
    true_fn, false_fn : callable
        Without arguments. They must return tensors (or numbers, variables, operations to run) in the same structure and
        of the same dtypes. Variables they assign to are assigned only if they are chosen.
    strict : bool
        If False, a list or tuple of one tensor stands for that tensor.
    name : str, optional
    fn1, fn2 : callable
        Old names of `true_fn` and `false_fn`.

    Returns
    -------
    structure of tensors
        Tensors made outside the functions are computed in any case, as everywhere in TensorFlow 1.

    Raises
    ------
    TypeError
        If `pred` is a Python bool (use ``if``) or not boolean, or the results differ in dtype.
    ValueError
        If `pred` is no scalar, or the structures of the results differ.

    Examples
    --------
    >>> import graph_api as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.placeholder(tf.float32)
    ...     y = tf.cond(x > 0.0, lambda: x * x, lambda: -x)
    ...     print(sess.run([y, tf.gradients(y, x)[0]], {x: -3.0}))
    [np.float32(3.0), np.float32(-1.0)]
    """
    if isinstance(pred, bool):
        raise TypeError("cond: argument `pred` must not be a Python bool; use Python's `if`, or tf.constant(...)")
    condition = convert_to_tensor(pred)
    if condition.aval.shape and all(d in (1, None) for d in condition.aval.shape):
        condition = shape.reshape(condition, [])
    check_predicate("cond", "pred", condition.aval)
    graph = get_default_graph()
    with graph.name_scope(name or "cond"):
        first = len(graph.nodes)
        true = _called(graph, "true_fn", fn1 if true_fn is None else true_fn, strict)
        false = _called(graph, "false_fn", fn2 if false_fn is None else false_fn, strict)
        _require_same(true, false)
        closure = Closure(graph, first, (), [(call.tensors, call.effects) for call in (true, false)])
        on_true, on_false = [closure.closed(region, closure.assigned) for region in closure.regions]
        operands = [*closure.values(closure.assigned), *closure.captured, *closure.values(closure.read)]
        params = {"true": on_true, "false": on_false}
        outputs = closure.apply(cond_op, [condition, *operands], params, len(true.tensors), "Merge")
        return packed(true.structure, true.leaves, outputs)


def _called(graph: Graph, name: str, function: Any, strict: bool) -> Call:
    """A branch, called once."""
    label = f"cond: argument `{name}`"
    with graph.within(graph.new_context(f"`{name}` of cond", "if that branch is taken")):
        return Call(label, _branch(label, function, strict))


def _branch(label: str, function: Any, strict: bool) -> Callable[[], Any]:
    """A branch that returns a tensor where it returned a list or tuple of one, unless `strict`."""
    if not callable(function):
        raise TypeError(f"{label} must be callable, got {function!r}")

    def branch() -> Structure[Any]:
        result = function()
        single = not strict and isinstance(result, (list, tuple)) and len(result) == 1
        return result[0] if single else result

    return branch


def _require_same(true: Call, false: Call) -> None:
    try:
        nest.assert_same_structure(true.structure, false.structure)
    except ValueError:
        raise ValueError(
            f"cond: true_fn and false_fn must return the same structure, got {true.structure!r} and {false.structure!r}"
        ) from None
    for i, (a, b) in enumerate(zip(true.tensors, false.tensors, strict=True)):
        if a.dtype is not b.dtype:
            raise DTypeError(
                f"cond: true_fn and false_fn must return the same dtypes, but result {i} is {a.dtype.name} from "
                f"true_fn and {b.dtype.name} from false_fn; cast one of them with tf.cast"
            )


def case(
    pred_fn_pairs: Any,
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str | None = None,
) -> Tensor:
    """The results of the function that stands beside the first condition that holds.

    Parameters
    ----------
    pred_fn_pairs : dict or list of (bool tensor, callable)
    default : callable, optional
        What to call if no condition holds; without it one must hold.
    exclusive : bool
        Whether only one condition may hold.
    strict, name
        As in `cond`.

    Raises
    ------
    InvalidArgumentError
        When the graph runs, if no condition holds and there is no `default`, or (if `exclusive`) more than one holds.
    TypeError
        If a condition is no tensor, or a function not callable.

    Examples
    --------
    >>> import graph_api as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.placeholder(tf.float32)
    ...     y = tf.case([(x < 0.0, lambda: -x), (x > 1.0, lambda: x * x)], default=lambda: x)
    ...     print(sess.run(y, {x: 3.0}))
    9.0
    """
    pairs = list(pred_fn_pairs.items()) if isinstance(pred_fn_pairs, dict) else list(pred_fn_pairs)
    if not pairs or not all(isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in pairs):
        raise ValueError(f"case: argument `pred_fn_pairs` must hold (condition, function) pairs, got {pred_fn_pairs!r}")
    for pred, function in pairs:
        if not isinstance(pred, Value):
            raise TypeError(f"case: a condition must be a boolean tensor, got {pred!r}")
        nest.require_callable("case", "pred_fn_pairs", function)
    with get_default_graph().name_scope(name or "case"):
        preds = [convert_to_tensor(pred) for pred, _ in pairs]
        for pred in preds:
            check_predicate("case", "pred_fn_pairs", pred.aval)
        functions = [function for _, function in pairs]
        if default is None:
            message = "case: none of the conditions holds, and there is no default:"
            default = _provided(partial(shape.identity, preds[-1]), message, preds, functions[-1])
            preds, functions = preds[:-1], functions[:-1]
        chosen = default
        for pred, function in zip(reversed(preds), reversed(functions), strict=True):
            chosen = partial(cond, pred, function, chosen, strict)
        if exclusive:
            every = [convert_to_tensor(pred) for pred, _ in pairs]
            message = "case: more than one condition holds, but they must exclude each other:"
            chosen = _provided(lambda: _at_most_one(every), message, every, chosen)
        return _branch("case: argument `default`", chosen, strict)()


def switch_case(
    branch_index: Any, branch_fns: Any, default: Callable[[], Any] | None = None, name: str | None = None
) -> Any:
    """The results of the function with the given index when the graph runs; only one is computed.

    Parameters
    ----------
    branch_index : integer scalar
    branch_fns : list of callable, or dict or list of pairs of int and callable
    default : callable, optional
        What to call if there is none with that index; otherwise the one with the largest.
    name : str, optional

    Raises
    ------
    TypeError
        If the index is no integer, or a function not callable.
    ValueError
        If the indices of the functions are not 0, 1, 2, ...

    Examples
    --------
    >>> import graph_api as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     i, x = tf.placeholder(tf.int32, []), tf.constant(3.0)
    ...     y = tf.switch_case(i, [lambda: x, lambda: x * x])
    ...     print(sess.run([y, tf.gradients(y, x)[0]], {i: 1}))
    [np.float32(9.0), np.float32(6.0)]
    """
    index = convert_to_tensor(branch_index)
    if not index.dtype.is_integer:
        raise DTypeError(f"switch_case: argument `branch_index` must be an integer, got {branch_index!r}")
    functions = nest.branches("switch_case", branch_fns)
    otherwise = default or functions.pop()
    with get_default_graph().name_scope(name or "switch_case"):
        pairs = [(compare.equal(index, convert_to_tensor(i, index.dtype)), f) for i, f in enumerate(functions)]
        return case(pairs, default=otherwise) if pairs else _branch("switch_case: `default`", otherwise, False)()


def _at_most_one(preds: Sequence[Tensor]) -> Tensor:
    return compare.less(reduce_sum(compare.cast(joining.stack(preds), int32)), 2)


def _provided(holds: Callable[[], Tensor], message: str, data: Sequence[Tensor], function: Any) -> Callable[[], Any]:
    """The function, whose results wait for an assertion."""

    def checked() -> Structure[Any]:
        check = assertion(holds(), data, message, "Assert")
        graph = get_default_graph()
        with graph.control_dependencies([check]):
            return nest.map_structure(waiting, function())

    def waiting(leaf: Any) -> Tensor | TensorArray | Operation:
        if isinstance(leaf, Operation):
            return get_default_graph().group([leaf])
        # (a number as well: as a constant of the graph it would not wait)
        waiting = shape.identity(as_tensor(leaf))
        return leaf.holding(waiting) if isinstance(leaf, TensorArray) else waiting

    return checked


# ---- loops -----------------------------------------------------------------------------------------------------------


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
    maximum_iterations: Any = None,
    return_same_structure: bool = False,
) -> Any:
    """``while cond(*loop_vars): loop_vars = body(*loop_vars)``, when the graph runs; the last `loop_vars`.

    Parameters
    ----------
    cond : callable
        ``cond(*loop_vars)`` returns a boolean scalar tensor.
    body : callable
        ``body(*loop_vars)`` returns new values for all loop variables, of the same structure and dtypes.
    loop_vars : list or tuple of (tensor, TensorArray, number or structure of these)
    shape_invariants : structure of TensorShape, optional
        What is known of the loop variables' shapes in all iterations; by default that their shapes do not change.
    parallel_iterations, swap_memory
        Accepted for compatibility.
    back_prop : bool
        If False, the result counts as a constant in gradients.
    name : str, optional
    maximum_iterations : int or int tensor, optional
    return_same_structure : bool
        If False, a single loop variable is returned as a tensor, not as a list of one.

    Raises
    ------
    TypeError, ValueError
        If `cond` does not return a boolean scalar, or `body` changes the structure, a dtype or a shape.

    Examples
    --------
    >>> import graph_api as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.placeholder(tf.float32)
    ...     _, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), (0, 1.0))
    ...     print(sess.run([y, tf.gradients(y, x)[0]], {x: 2.0}))
    [np.float32(8.0), np.float32(12.0)]
    """
    if not isinstance(loop_vars, (list, tuple)) or not loop_vars:
        raise ValueError(f"while_loop: argument `loop_vars` must be a non-empty list or tuple, got {loop_vars!r}")
    graph = get_default_graph()
    with graph.name_scope(name or "while"):
        leaves = nest.flatten(loop_vars)
        start = [None if isinstance(x, TensorArray) and not x.is_allocated else as_tensor(x) for x in leaves]
        limit = None if maximum_iterations is None else convert_to_tensor(maximum_iterations)
        graph.flow_assignments += 1  # a variable read in the loop is read in each iteration
        counter = [] if limit is None else [convert_to_tensor(0, limit.dtype)]
        first = len(graph.nodes)
        known = _invariants(loop_vars, leaves, start, shape_invariants)
        context = graph.new_context("the body of while_loop", "in an iteration, and another one in each")
        with graph.within(context):
            bound = [graph.parameter(a, "loop_var") for a in [*[Aval((), c.dtype) for c in counter], *known]]
            own = bound[len(counter) :]
            context.carried += zip(own, start, strict=True)
            arguments = [x.tracing(b) if isinstance(x, TensorArray) else b for x, b in zip(leaves, own, strict=True)]
            state = nest.pack_sequence_as(loop_vars, arguments)
            goes_on = _predicate(cond(*state))
            if limit is not None:
                goes_on = compare.logical_and(compare.less(bound[0], limit), goes_on)
            call = Call("while_loop: argument `body`", lambda *v: nest.like_loop_vars(loop_vars, body(*v)), state)
            _require_unchanged(own, call.tensors)
            after = same_shapes("while_loop: loop variable", own, call.tensors)
            nexts = [*[b + 1 for b in bound[: len(counter)]], *after]
        closure = Closure(graph, first, bound, [([goes_on], []), (nexts, call.effects)])
        # the reverse walk meets them in their order
        initial = [*counter, *kept_apart(_allocated(closure, arguments, start)[::-1], closure.captured)[::-1]]
        outputs = _looped(closure, initial, None in start)[len(counter) :]
        if not back_prop:
            outputs = [shape.stop_gradient(x) for x in outputs]
        result = packed(loop_vars, arguments, outputs)
    return (
        outputs[0]
        if len(leaves) == 1 and not return_same_structure and not isinstance(leaves[0], TensorArray)
        else result
    )


def _invariants(loop_vars: Any, leaves: Sequence[Any], start: Sequence[Any], invariants: Any) -> list[Aval]:
    """The avals of the loop variables in all iterations."""
    declared = [None] * len(leaves) if invariants is None else _up_to(loop_vars, invariants)
    known = []
    for i, (leaf, tensor, invariant) in enumerate(zip(leaves, start, declared, strict=True)):
        if tensor is None:
            known.append(Aval(None, leaf.dtype))
            continue
        aval = tensor.aval
        dims = aval.shape if invariants is None or isinstance(leaf, TensorArray) else normalize_shape(invariant)
        if isinstance(leaf, TensorArray) and leaf.dynamic_size and dims is not None:
            dims = (None, *dims[1:])
        if not compatible(dims, aval.shape):
            raise ShapeError(
                f"while_loop: argument `shape_invariants` says {format_shape(dims)} of loop variable {i}, which enters "
                f"the loop with shape {format_shape(aval.shape)}"
            )
        known.append(Aval(dims, aval.dtype))
    return known


def _up_to(structure: Any, other: Any) -> list[Any]:
    """The parts of `other` that stand where `structure` has its leaves."""
    if isinstance(structure, dict):
        return [part for key in sorted(structure) for part in _up_to(structure[key], other[key])]
    if isinstance(structure, (list, tuple)):
        return [part for a, b in zip(structure, other, strict=True) for part in _up_to(a, b)]
    return [other]


def _predicate(value: Any) -> Tensor:
    tensor = convert_to_tensor(value)
    check_predicate("while_loop", "cond", tensor.aval)
    return tensor


def _require_unchanged(before: Sequence[Any], after: Sequence[Any]) -> None:
    for i, (b, a) in enumerate(zip(before, after, strict=True)):
        if a.dtype is not b.dtype:
            raise DTypeError(
                f"while_loop: loop variable {i} enters the loop as {b.dtype.name}, but `body` returns it as "
                f"{a.dtype.name}; cast it with tf.cast"
            )
        if not compatible(a.aval.shape, b.aval.shape):
            raise ShapeError(
                f"while_loop: loop variable {i} enters the loop with shape {format_shape(b.aval.shape)}, but has shape "
                f"{format_shape(a.aval.shape)} after one iteration; to let it vary, say what stays the same with the "
                f"argument `shape_invariants`"
            )


def _allocated(closure: Closure, arguments: Sequence[Any], start: Sequence[Any]) -> list[Any]:
    """The initial values; a TensorArray of elements of unknown shape is as large as its first element needs."""
    if None not in start:
        return list(start)
    graph, bound = closure.graph, closure.regions[0].bound
    ahead = len(bound) - len(start)
    guess = [convert_to_tensor(0) if x is None else x for x in start]
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
            counters = [convert_to_tensor(0, b.dtype) for b in bound[:ahead]]
            first = region.closed(captured, handles, [], where).inline(
                graph, [*counters, *guess, *captured, *closure.values(handles)]
            )
            x = argument.zeros_for(first[0])
        initial.append(x)
    return initial


def _looped(closure: Closure, initial: Sequence[Any], specialize: bool) -> list[Any]:
    test, step = closure.regions
    if test.assigned:
        raise UnimplementedError("while_loop: argument `cond` must not assign to variables or draw random numbers")
    count = len(initial)
    operands = [*initial, *closure.values(closure.assigned), *closure.captured, *closure.values(closure.read)]
    goes_on, body = closure.closed(test, [], count), closure.closed(step, closure.assigned, count)
    if specialize:
        avals = [Aval(x.aval.shape, x.dtype) for x in operands]
        goes_on, body = build(avals, goes_on.inline), build(avals, body.inline)
    params = {"cond": goes_on, "body": body, "count": count + len(closure.assigned)}
    return closure.apply(while_op, operands, params, count, "Exit")
