"""The ops that the kinds are built from: undoing broadcasting, scaling by a partial derivative, conjugating.

*Reference operands.* Shapes may be unknown while a graph is built, so a rule cannot ask for ``x.shape``. It passes `x`
itself as a reference: ``sum_to_like(ct, x)`` sums `ct` to x's shape, whatever that turns out to be. Where shapes are
known (always, on eager values) these functions return their operand untouched if there is nothing to do.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.core.aval import Aval, Shape, broadcast_shapes
from engine.core.batching import Batches, NotBatched, leading
from engine.core.op import Layout, Op, Rule
from engine.core.operands import Operand
from engine.core.sparsity import ELEMENTWISE, IN_ORDER, REARRANGES, collected
from engine.core.sums import add_over
from engine.core.value import dtype_of, shape_of
from engine.runtime.cache import cached
from engine.runtime.errors import ShapeError
from engine.runtime.tuning import TUNING

# ---- reference ops: (x, ref) -> x in ref's shape ---------------------------------------------------------------------


def _target(x: Any, ref: Any, lead: int, ref_lead: int) -> tuple[int, ...]:
    """x's leading axes followed by ref's logical shape."""
    return tuple(x.shape[:lead]) + tuple(ref.shape[ref_lead:])


def sum_array_to(x: Any, target: tuple[int, ...], lead: int) -> Operand:
    """Sum `x` so that it has the shape `target`; both have `lead` leading axes that stay."""
    if x.shape == target:
        return x
    axes = _summed(x.shape, target, lead)
    # reduce over the axes, then restore those of size one; a sum of one element would lose the sign of a zero
    return add_over(x, axes).reshape(target) if axes else x.reshape(target)


@cached(1 << 12)
def _summed(shape: tuple[int, ...], target: tuple[int, ...], lead: int) -> tuple[int, ...]:
    """The axes to sum over, and more of size one; none if each sum is one element."""
    if math.prod(shape) == math.prod(target):
        return ()
    extra = len(shape) - len(target)
    return tuple(range(lead, lead + extra)) + tuple(
        [i for i in range(lead + extra, len(shape)) if target[i - extra] == 1 and shape[i] != 1]
    )


def broadcast_array_to(x: Any, target: tuple[int, ...], lead: int) -> np.ndarray:
    """Broadcast `x` to `target`; both have `lead` leading axes that stay."""
    shape = np.shape(x)
    if shape == target:
        return x
    ones = (1,) * (len(target) - len(shape))
    return np.broadcast_to(np.reshape(x, shape[:lead] + ones + shape[lead:]), target)


def like_abstract(x: Aval, ref: Aval, *, lead: int = 0, ref_lead: int = 0, **_: Any) -> Aval:
    """The aval of `x` in the shape of a reference; of each the first axes are its own."""
    if x.shape is None or ref.shape is None:
        return Aval(ref.shape if lead == 0 == ref_lead else None, x.dtype)
    return Aval(x.shape[:lead] + ref.shape[ref_lead:], x.dtype)


def _like_simplify(avals: Any, params: dict[str, Any]) -> int | None:
    x, ref = avals
    size = like_abstract(x, ref, **params).size
    # as many elements: at most axes of size one come or go
    return 0 if x.is_static and x.size == size else None


def like_batch(op: Op, size: int, flags: tuple[bool, ...], inputs: tuple[Any, ...], params: dict[str, Any]) -> Batches:
    """Batch rule of ops that bring an operand into the shape of a reference."""
    lead = {"lead": params.get("lead", 0) + flags[0], "ref_lead": params.get("ref_lead", 0) + flags[1]}
    out = op(*inputs, **{**params, **lead})
    return out if flags[0] else NotBatched(out)


def _like_op(name: str, type_: str, kernel: Any, vjp: Any, sparsity: Any, **facts: Any) -> Op:
    """An op ``(x, ref) -> x in ref's shape``, linear in x, indifferent to ref's values."""

    def jvp(t: Any, out: Any, x: Any, ref: Any, **params: Any) -> Operand:
        return op(t, ref, **params)

    op = Op(
        name=name,
        type=type_,
        module=__name__,
        args=("x", "ref"),
        kernel=kernel,
        abstract=like_abstract,
        vjp=(vjp, None),
        jvp=(jvp, None),
        batch=like_batch,
        kind="linear",
        sparsity=sparsity,
        simplify=_like_simplify,
        keeps_nan=(0,),
        shares=(0,),
        **facts,
    )
    return op


def _back(rule: Any) -> Rule:
    """The transpose of a reference op: another reference op, toward x."""

    def vjp(ct: Any, out: Any, x: Any, ref: Any, *, lead: int = 0, ref_lead: int = 0) -> Operand:
        return rule(ct, x, lead=lead, ref_lead=lead)

    return vjp


sum_to_like_op = _like_op(
    "sum_to_like_op",
    "SumToLike",
    lambda x, ref, *, lead=0, ref_lead=0: sum_array_to(x, _target(x, ref, lead, ref_lead), lead),
    _back(lambda *a, **k: broadcast_like(*a, **k)),
    collected(lambda out, x, ref, *, lead=0, ref_lead=0: broadcast_array_to(out, x.shape, lead)),
    layout=lambda avals, params: (
        Layout.VIEW if _same(avals[0].shape, like_abstract(*avals, **params).shape) else Layout.KEPT
    ),
)
broadcast_like_op = _like_op(
    "broadcast_like_op",
    "BroadcastLike",
    lambda x, ref, *, lead=0, ref_lead=0: broadcast_array_to(x, _target(x, ref, lead, ref_lead), lead),
    _back(lambda *a, **k: sum_to_like(*a, **k)),
    REARRANGES,
    layout=Layout.PART,
    repeats=True,
)
reshape_like_op = _like_op(
    "reshape_like_op",
    "ReshapeLike",
    lambda x, ref, *, lead=0, ref_lead=0: x.reshape(_target(x, ref, lead, ref_lead)),
    _back(lambda *a, **k: reshape_like(*a, **k)),
    IN_ORDER,
    layout=Layout.VIEW,
)


def _reshape_to_abstract(x: Aval, *, shape: tuple[int, ...]) -> Aval:
    if x.is_static and x.size != math.prod(shape):
        raise ShapeError(f"reshape_to: {x} does not fit into the shape {shape}")
    return Aval(shape, x.dtype)


reshape_to = Op(
    name="reshape_to",
    type="Reshape",
    module=__name__,
    args=("x",),
    kernel=lambda x, *, shape: x.reshape(shape),
    abstract=_reshape_to_abstract,
    vjp=(lambda ct, out, x, *, shape: reshape_like(ct, x),),
    jvp=(lambda t, out, x, *, shape: reshape_to(t, shape=shape),),
    batch=lambda op, size, flags, inputs, params: op(inputs[0], shape=(size, *params["shape"])),
    kind="linear",
    strict=False,
    sparsity=IN_ORDER,
    simplify=lambda avals, params: 0,
    inline=lambda avals, params: f"{{0}}.reshape({tuple(map(int, params['shape']))})",
    doc="`x` in a shape that is known beforehand: what lowering makes of all reshapes.",
    layout=Layout.VIEW,
)


contiguous = Op(
    name="contiguous",
    type="Identity",
    module=__name__,
    args=("x",),
    kernel=lambda x: np.asarray(x, order="C"),
    abstract=lambda x: Aval(x.shape, x.dtype),
    vjp=(lambda ct, out, x: ct,),
    jvp=(lambda t, out, x: t,),
    batch=leading(0),
    kind="linear",
    sparsity=IN_ORDER,
    doc="`x` in C order in memory: what a variable holds that `x` is assigned to. A copy only where there is need.",
    layout=Layout.FRESH,
    shares=(0,),
)


def _same(a: Shape, b: Shape) -> bool:
    return a == b and a is not None and None not in a


def sum_to_like(x: Any, ref: Any, **lead: int) -> Operand:
    """`x` summed over the axes along which ``ref`` was broadcast to x's shape: the transpose of broadcasting."""
    return x if _same(shape_of(x), shape_of(ref)) else sum_to_like_op(x, ref, **lead)


def broadcast_like(x: Any, ref: Any, **lead: int) -> Operand:
    """`x` broadcast to ref's shape."""
    return x if _same(shape_of(x), shape_of(ref)) else broadcast_like_op(x, ref, **lead)


def reshape_like(x: Any, ref: Any, **lead: int) -> Operand:
    """`x` in ref's shape, which must have as many elements."""
    return x if _same(shape_of(x), shape_of(ref)) else reshape_like_op(x, ref, **lead)


# ---- scale: a cotangent times a partial derivative -------------------------------------------------------------------


_FEW = TUNING.nan_elements


def has_nan(x: Any) -> bool:
    """Whether there is a NaN in an array that is not empty. A complex one may give a false alarm."""
    flat = x if x.ndim == 1 else x.ravel("K")
    if x.dtype.kind == "c":
        return not cmath.isfinite(flat.dot(flat))
    if flat.size <= _FEW and x.dtype.itemsize > 2:
        # squares are not negative: their sum is NaN only if one of them is
        return math.isnan(flat.dot(flat))
    # the quickest reduction that no NaN gets lost in; for a product BLAS would start threads
    largest = np.maximum.reduce(flat)
    return bool(largest != largest)


def all_beyond(x: Any, limit: float, *, least: bool = False) -> bool:
    """Whether every number of an array is below a limit, or above if `least`; rows look in each of their runs."""
    if not isinstance(x, (np.ndarray, np.generic)):
        return x.stays_beyond(limit, least)
    if least:
        return bool(np.minimum.reduce(x, axis=None, initial=np.inf) > limit)
    return bool(np.maximum.reduce(x, axis=None, initial=-np.inf) < limit)


def _scale_kernel(ct: Any, partial: Any, *, either: bool = False) -> Operand:
    out = np.multiply(ct, partial)
    if out.size and has_nan(out):
        zero = np.equal(ct, 0) | np.equal(partial, 0) if either else np.equal(ct, 0)
        return np.where(np.isnan(out) & zero, np.zeros((), out.dtype), out)
    return out


class Tangent:
    """The forward rule of one operand of an elementwise op: the tangent times a partial derivative.

    Called, it keeps zeros zero (`scale`), since it does not know where they come from. A walk that does know asks for
    the `factor` and multiplies by it (`engine.derivatives.strong_zeros`).
    """

    __slots__ = ("_partial", "_selects")

    def __init__(self, partial: Callable[..., Any] | float, selects: bool = False) -> None:
        self._partial = partial
        self._selects = selects

    def selects(self, params: dict[str, Any]) -> bool:
        """Whether a partial that is zero lets nothing through, because the operand was not chosen."""
        return self._selects or "either" in params

    def factor(self, out: Any, inputs: Sequence[Any], params: dict[str, Any]) -> Any:
        """The factor of the tangent; the numbers 1 and -1 as they are."""
        return self._partial(out, *inputs, **params) if callable(self._partial) else self._partial

    def __call__(self, t: Any, out: Any, *inputs: Any, **params: Any) -> Operand:  # noqa: D102 - a rule
        return broadcast_like(_times(t, self.factor(out, inputs, params), self.selects(params)), out)


class Cotangent(Tangent):
    """The reverse rule of one operand of an elementwise op: the cotangent times a partial derivative."""

    __slots__ = ("_index",)

    def __init__(self, index: int, partial: Callable[..., Any] | float, selects: bool = False) -> None:
        super().__init__(partial, selects)
        self._index = index

    def factor(self, out: Any, inputs: Sequence[Any], params: dict[str, Any]) -> Any:
        """The factor of the cotangent; the numbers 1 and -1 as they are."""
        return conj(self._partial(out, *inputs, **params)) if callable(self._partial) else self._partial

    def summed(self, ct: Any, inputs: Sequence[Any]) -> Operand:
        """A product in the shape of the result, summed to that of the operand."""
        return sum_to_like(ct, inputs[self._index])

    def __call__(self, t: Any, out: Any, *inputs: Any, **params: Any) -> Operand:  # noqa: D102 - a rule
        return self.summed(_times(t, self.factor(out, inputs, params), self.selects(params)), inputs)


def _times(x: Any, factor: Any, selects: bool) -> Operand:
    if type(factor) is int:
        return x if factor == 1 else -x
    return scale(x, factor, either=True) if selects else scale(x, factor)


scale = Op(
    name="scale",
    type="Scale",
    module=__name__,
    args=("ct", "partial"),
    kernel=_scale_kernel,
    abstract=lambda ct, partial, *, either=False: Aval(broadcast_shapes("scale", ct.shape, partial.shape), ct.dtype),
    vjp=(Cotangent(0, lambda out, a, b, **_: b), Cotangent(1, lambda out, a, b, **_: a, True)),
    jvp=(Tangent(lambda out, a, b, **_: b), Tangent(lambda out, a, b, **_: a, True)),
    batch=leading(0),
    kind="elementwise",
    sparsity=ELEMENTWISE,
    layout=Layout.LIKE,
    keeps_nan=lambda params: () if params.get("either") else (0,),
    rounds_correctly=True,
    doc="""``ct * partial``, but zero wherever `ct` is zero, even if the partial is infinite or NaN there.

    ``where(x > 0, sqrt(x), 0)`` has the derivative 0 at 0, because the branch not taken sends a zero cotangent through
    sqrt's infinite partial. A walk uses it where a zero means that (`engine.derivatives.strong_zeros`).

    With ``either=True`` a zero of either factor counts: the partials of an op that selects, such as `maximum`, let
    nothing through where they are zero, not even a NaN. So do the derivatives of `scale` itself in the partial: where
    `ct` is zero, the result is zero whatever the partial, and does not change with it.
    """,
)


# ---- conj, neg -------------------------------------------------------------------------------------------------------


conj_op = Op(
    name="conj_op",
    type="Conj",
    module=__name__,
    args=("x",),
    kernel=np.conjugate,
    abstract=lambda x: Aval(x.shape, x.dtype),
    vjp=(lambda ct, out, x: conj(ct),),
    jvp=(lambda t, out, x: conj(t),),
    batch=leading(0),
    kind="linear",
    sparsity=ELEMENTWISE,
    keeps_nan=(0,),
)


def conj(x: Any) -> Operand:
    """Complex conjugate; a real value is returned as it is."""
    return conj_op(x) if dtype_of(x).is_complex else x
