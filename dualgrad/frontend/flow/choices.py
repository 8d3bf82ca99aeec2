"""Choices: `cond`, `case`, `switch_case`. `dualgrad.frontend.flow.closures` says how they work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from dualgrad.frontend.flow import batched
from dualgrad.frontend.flow.closures import Call, Closure, refused
from dualgrad.frontend.flow.composites import closed, opened
from dualgrad.frontend.flow.host import FlowHost
from engine.control.cond import check_predicate, cond_op
from engine.core import nest
from engine.core.batching import Batched, Levels, open_levels
from engine.core.dtypes import int32
from engine.core.nest import Structure
from engine.core.value import Value
from engine.ops import compare, joining, shape
from engine.ops.reduce import reduce_sum
from engine.runtime.errors import DTypeError


def cond(host: FlowHost, pred: Any, true_fn: Any, false_fn: Any, strict: bool = False, name: str | None = None) -> Any:
    """The results of ``true_fn()`` if `pred` holds when the trace runs, else of ``false_fn()``; one is computed.

    Parameters
    ----------
    pred : bool tensor, shape () (or of one element)
    true_fn, false_fn : callable
    strict : bool
        If False, a list or tuple of one tensor stands for that tensor.
    """
    condition = host.convert(pred)
    if isinstance(condition, Batched):
        check_predicate("cond", "pred", condition.aval)
        return batched.choice(condition, *[_branch("cond: a branch", fn, strict) for fn in (true_fn, false_fn)])
    if levels := open_levels():
        true_fn, false_fn = (partial(_apart, host, fn, strict, levels) for fn in (true_fn, false_fn))
        return batched.together(_cond(host, condition, true_fn, false_fn, True, name), levels)
    return _cond(host, condition, true_fn, false_fn, strict, name)


def _apart(host: FlowHost, function: Any, strict: bool, levels: Levels) -> Any:
    return batched.apart(host, _branch("cond: a branch", function, strict)(), levels)


def _cond(host: FlowHost, condition: Any, true_fn: Any, false_fn: Any, strict: bool, name: str | None) -> Any:
    if condition.aval.shape and all(d in (1, None) for d in condition.aval.shape):
        condition = shape.reshape(condition, [])
    check_predicate("cond", "pred", condition.aval)
    trace = host.trace()
    with trace.name_scope(name or "cond"):
        first = len(trace.nodes)
        true = _called(host, "true_fn", true_fn, strict)
        false = _called(host, "false_fn", false_fn, strict)
        _require_same(true, false)
        closure = Closure(trace, first, (), [(call.tensors, call.effects) for call in (true, false)])
        on_true, on_false = [closure.closed(region, closure.assigned) for region in closure.regions]
        operands = [*closure.values(closure.assigned), *closure.captured, *closure.values(closure.read)]
        params = {"true": on_true, "false": on_false}
        outputs = closure.apply(cond_op, [condition, *operands], params, len(true.tensors), "Merge")
        return closed(true.packed(host, outputs))


def _called(host: FlowHost, name: str, function: Any, strict: bool) -> Call:
    """A branch, called once."""
    label, trace = f"cond: argument `{name}`", host.trace()
    with trace.within(trace.new_context(f"`{name}` of cond", "if that branch is taken")):
        return Call(host, label, _branch(label, function, strict))


def _branch(label: str, function: Any, strict: bool) -> Callable[[], Any]:
    """A branch that returns a tensor where it returned a list or tuple of one, unless `strict`."""
    if not callable(function):
        raise TypeError(f"{label} must be callable, got {function!r}")

    def branch() -> Structure[Any]:
        result = function()
        single = not strict and isinstance(result, (list, tuple)) and len(result) == 1
        return opened(result[0] if single else result)

    return branch


def _require_same(true: Call, false: Call) -> None:
    try:
        nest.assert_same_structure(true.structure, false.structure)
    except ValueError:
        raise refused(
            TypeError(
                "cond: true_fn and false_fn arguments to tf.cond must have the same number, type, and overall "
                "structure of return values: must return the same structure, got "
                f"{true.structure!r} and {false.structure!r}"
            )
        ) from None
    if true.valued != false.valued:
        raise refused(ValueError("cond: true_fn and false_fn must return None in the same places"))
    for i, (a, b) in enumerate(zip(true.tensors, false.tensors, strict=True)):
        if a.dtype is not b.dtype:
            raise refused(
                DTypeError(
                    f"cond: true_fn and false_fn must return the same dtypes, but result {i} is {a.dtype.name} from "
                    f"true_fn and {b.dtype.name} from false_fn; cast one of them with tf.cast"
                )
            )


def case(
    host: FlowHost, pred_fn_pairs: Any, default: Any, exclusive: bool, strict: bool, name: str | None = None
) -> Any:
    """The results of the function that stands beside the first condition that holds."""
    pairs = list(pred_fn_pairs.items()) if isinstance(pred_fn_pairs, dict) else list(pred_fn_pairs)
    if not pairs or not all(isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in pairs):
        kind = TypeError if pairs else ValueError
        raise kind(f"case: argument `pred_fn_pairs` must hold (condition, function) pairs, got {pred_fn_pairs!r}")
    for pred, function in pairs:
        if not isinstance(pred, Value):
            raise TypeError(f"case: a condition must be a boolean tensor, got {pred!r}")
        nest.require_callable("case", "pred_fn_pairs", function)
    with host.trace().name_scope(name or "case"):
        preds = [host.convert(pred) for pred, _ in pairs]
        for pred in preds:
            check_predicate("case", "pred_fn_pairs", pred.aval)
        functions = [function for _, function in pairs]
        if any(isinstance(pred, Batched) for pred in preds):
            batched.require_default(default, exclusive)
        if default is None:
            message = "case: none of the conditions holds, and there is no default:"
            default = partial(host.waiting_for, partial(shape.identity, preds[-1]), message, preds, functions[-1])
            preds, functions = preds[:-1], functions[:-1]
        chosen = default
        for pred, function in zip(reversed(preds), reversed(functions), strict=True):
            chosen = partial(cond, host, pred, function, chosen, strict)
        if exclusive:
            every = [host.convert(pred) for pred, _ in pairs]
            message = "case: more than one condition holds, but they must exclude each other:"
            chosen = partial(host.waiting_for, partial(_at_most_one, every), message, every, chosen)
        return closed(_branch("case: argument `default`", chosen, strict)())


def switch_case(
    host: FlowHost, branch_index: Any, branch_fns: Any, default: Any, strict: bool, name: str | None = None
) -> Any:
    """The results of the function with the given index; of `default` (or else the last) if there is none."""
    index = host.convert(branch_index)
    if not index.dtype.is_integer:
        raise DTypeError(f"switch_case: argument `branch_index` must be an integer, got {branch_index!r}")
    functions = nest.branches("switch_case", branch_fns)
    otherwise = default or functions.pop()
    with host.trace().name_scope(name or "switch_case"):
        pairs = [(compare.equal(index, host.convert(i, index.dtype)), f) for i, f in enumerate(functions)]
        if not pairs:
            return closed(_branch("switch_case: `default`", otherwise, strict)())
        return case(host, pairs, otherwise, False, strict)


def _at_most_one(preds: Sequence[Any]) -> Any:
    return compare.less(reduce_sum(compare.cast(joining.stack(preds), int32)), 2)
