"""A choice between two closed functions (`cond_op`). Loops are beside it: `scan_loop.py`, `while_loop.py`.

The branches are closed functions (`engine.closed.function`), parameters of the op; what they take from the graph
around them are its operands. Only the branch chosen runs. The reverse walk of a choice is the choice between the two
branches' reverse walks, which compute the forward values they need anew; the forward walk likewise. So derivatives are
choices too, and can be differentiated again.

Sums go on where they stood: the walk tells the rule what it knows of a cotangent already
(`engine.core.kinds.Together`), and the branch adds to it term by term, in the order in which a tape would. So graph and
tape agree to the bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.closed.function import ClosedFunction, with_fixed
from engine.control.sparsity import branches
from engine.core.aval import Aval, common_shape, compatible, format_shape
from engine.core.batching import Batched, Batches, NotBatched, UnknownRankError, batch_level, unbatch
from engine.core.dtypes import bool_
from engine.core.kinds import PushedTogether, Together, general
from engine.core.op import Op
from engine.core.operands import Operand
from engine.core.value import Zero, aval_of, differentiable
from engine.derivatives.strong_zeros import whole_of
from engine.ops.checked import checked_op
from engine.ops.compare import select
from engine.runtime.errors import DTypeError, InvalidArgumentError, ShapeError
from engine.runtime.structs import struct


def check_predicate(name: str, argument: str, aval: Aval) -> None:
    """Raise unless the aval is that of a boolean scalar."""
    if aval.dtype is not bool_:
        raise DTypeError(f"{name}: argument `{argument}` must be a boolean scalar, got {aval}")
    if aval.shape not in ((), None):
        raise ShapeError(
            f"{name}: argument `{argument}` must be a boolean scalar, got shape {format_shape(aval.shape)}; "
            f"reduce it with tf.reduce_all or tf.reduce_any, or choose elementwise with tf.where"
        )


def plus(previous: Any, more: Any) -> Operand:
    """A cotangent added to what there is of it already, if anything."""
    return more if previous is None else previous + more


def _cond_kernel(pred: Any, *operands: Any, true: ClosedFunction, false: ClosedFunction) -> Sequence[Operand]:
    check_predicate("cond", "pred", aval_of(pred))
    return (true if pred else false).run(*operands)


def _cond_abstract(pred: Aval, *operands: Aval, true: ClosedFunction, false: ClosedFunction) -> tuple[Aval, ...]:
    check_predicate("cond", "pred", pred)
    try:
        on_true = true.result_avals(operands)
    except InvalidArgumentError:
        # it does not fit these shapes, and that is what the predicate may be for; if it is chosen, it will raise
        return false.result_avals(operands)
    try:
        on_false = false.result_avals(operands)
    except InvalidArgumentError:
        return on_true
    return tuple([Aval(common_shape(a.shape, b.shape), a.dtype) for a, b in zip(on_true, on_false, strict=True)])


def _cond_vjp(
    wanted: Sequence[bool], previous: Sequence[Any], cts: Any, outs: Any, pred: Any, *operands: Any,
    true: ClosedFunction, false: ClosedFunction,
) -> list[Any]:  # fmt: skip
    differentiated = differentiable(outs)
    asked = [i for i in differentiable(operands) if wanted[i + 1]]
    whole = whole_of(cts, differentiated)
    paths = zip(*[branch.pullback(asked, differentiated, (), whole)[1] for branch in (true, false)], strict=True)
    kept = [i for i, path in zip(asked, paths, strict=True) if any(path)]
    totals: list[Any] = [Zero(aval_of(x)) for x in (pred, *operands)]
    if kept:
        seeded = [i for i in kept if previous[i + 1] is not None]
        back_true, back_false = (
            true.pullback(kept, differentiated, seeded, whole)[0],
            false.pullback(kept, differentiated, seeded, whole)[0],
        )
        extra = [*[cts[i] for i in differentiated], *[previous[i + 1] for i in seeded]]
        cotangents = cond_op(pred, *operands, *extra, true=back_true, false=back_false)
        for i, ct in zip(kept, cotangents, strict=True):
            totals[i + 1] = ct
    return totals


def _cond_jvp(
    tangents: Sequence[Any], outs: Any, pred: Any, *operands: Any, true: ClosedFunction, false: ClosedFunction
) -> list[Any]:
    moving = [i for i in differentiable(operands) if tangents[i + 1] is not None]
    targets = differentiable(outs)
    whole = frozenset([i - 1 for i in whole_of(tangents, range(1, len(tangents)))])
    pushed, paths = zip(*[branch.pushforward(moving, targets, whole) for branch in (true, false)], strict=True)
    ahead = [_tangents_only(p, len(outs)) for p in pushed]
    out_tangents = cond_op(pred, *operands, *[tangents[i + 1] for i in moving], true=ahead[0], false=ahead[1])
    results: list[Any] = [Zero(aval_of(x)) for x in outs]
    for i, t, path in zip(targets, out_tangents, zip(*paths, strict=True), strict=True):
        if any(path):
            results[i] = t
    return results


def _tangents_only(pushed: ClosedFunction, count: int) -> ClosedFunction:
    return pushed.derived("tangents", lambda: ClosedFunction(pushed.trace, pushed.parameters, pushed.results[count:]))


def _cond_batch(op: Op, size: int, flags: tuple[bool, ...], inputs: tuple[Any, ...], params: dict[str, Any]) -> Batches:
    true, false = params["true"], params["false"]
    if flags[0]:
        return _both(size, flags, inputs, true, false)
    avals = [aval_of(x) for x in inputs[1:]]
    fitting = {}
    for holds, branch in _fitting((true, false), flags[1:], avals):
        try:
            fitting[holds] = branch.batched(flags[1:], avals, size)[1]
        except UnknownRankError:
            raise
        except InvalidArgumentError as error:
            # it does not fit these shapes (the other branch's result has another), so it cannot be the one chosen
            wrong = error
    if not fitting:
        raise wrong
    full = [any(each) for each in zip(*fitting.values(), strict=True)]
    inner = {holds: params[str(holds).lower()].batched(flags[1:], avals, size, full)[0] for holds in fitting}
    pred = inputs[0]
    if len(inner) == 1:
        (holds,) = inner
        inner[not holds] = inner[holds]
        pred = checked_op(pred, pred, check=_Holds(holds))
    outs = op(pred, *inputs[1:], true=inner[True], false=inner[False])
    return [out if f else NotBatched(out) for out, f in zip(outs, full, strict=True)]


def _fitting(
    branches: tuple[ClosedFunction, ClosedFunction], flags: Sequence[bool], avals: Sequence[Aval]
) -> list[tuple[bool, ClosedFunction]]:
    """The branches made for batches of such shapes, or at least ranks: a constant that is fed may change a shape.

    One that only hands on what it is given would not refuse it.
    """
    known = [
        (i, a.shape[1:]) for i, (a, flag) in enumerate(zip(avals, flags, strict=True)) if flag and a.shape is not None
    ]
    for agree in (compatible, lambda a, b: a is None or len(a) == len(b)):
        pairs = zip((True, False), branches, strict=True)
        fitting = [(holds, b) for holds, b in pairs if all(agree(b.parameters[i].aval.shape, s) for i, s in known)]
        if fitting:
            return fitting
    raise ShapeError("cond: no branch fits the shapes it is used with")


@struct(frozen=True)
class _Holds:
    """Raises unless the predicate is as expected."""

    expected: bool

    def __call__(self, pred: Any) -> None:
        if bool(pred) is not self.expected:
            raise ShapeError(
                f"cond: argument `{str(not self.expected).lower()}_fn` does not fit the shapes it is used with"
            )


def _both(
    size: int, flags: Sequence[bool], inputs: Sequence[Any], true: ClosedFunction, false: ClosedFunction
) -> list[Any]:
    """A predicate that differs within the batch: both branches are computed, and each element chooses."""
    with batch_level() as level:
        pred, *operands = [Batched(x, level, size) if f else x for x, f in zip(inputs, flags, strict=True)]
        pairs = zip(true.inline(None, operands), false.inline(None, operands), strict=True)
        return [unbatch(select(pred, a, b), level, size) for a, b in pairs]


cond_op = general(
    "cond_op",
    _cond_kernel,
    _cond_abstract,
    vjp=Together(_cond_vjp, carries=lambda i, p: i > 0 and any(p[way].reached([i - 1]) for way in ("true", "false"))),
    jvp=PushedTogether(_cond_jvp),
    batch=_cond_batch,
    fix=lambda inputs, arrays, params: with_fixed(inputs, arrays, params, ("true", "false"), 1, 1),
    type="If",
    sparsity=branches,
    args=("pred", "*operands"),
    multi=True,
    doc="The results of the closed function `true` if `pred` holds, else of `false`.",
)
