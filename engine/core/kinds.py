"""Kinds: the only code that relates kernel, VJP, JVP, batching and sparsity.

Most ops belong to a kind and state one thing, from which the kind derives both derivatives:

- `elementwise`: one partial derivative per operand. VJP and JVP both multiply by it; broadcasting is undone here, once;
  a zero cotangent stays zero whatever the partial (`engine.core.structural.scale`). An op that selects says so: where
  its partial is zero, nothing passes, not even a NaN.
- `linear`: a transpose. The JVP is the op itself, applied to the tangent.
- `multilinear`: a transpose per operand, the others held fixed. The JVP is the op with that operand replaced.
- `general`: both rules written out, or ``jvp=FROM_VJP`` said aloud (the forward rule is then the transpose of the
  reverse rule, see `engine.derivatives.forward`); `of_matrices` is one of matrices.
- `nondifferentiable`: says so; the path from target to source is cut, and `explain` can report it.

**Complex numbers.** Cotangents follow TensorFlow: the gradient is the conjugate of the derivative, so that descent goes
along it. Elementwise and multilinear VJPs therefore conjugate partials and fixed operands. That happens here and
nowhere else; a transpose given to `linear` is the adjoint, which for real-coefficient maps is the plain transpose.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Sequence
from types import FunctionType
from typing import Any, TypedDict, Unpack

import numpy as np

from engine.core.aval import Aval, broadcast_shapes
from engine.core.batching import BatchRule, elementwise_rule, leading
from engine.core.dtypes import FLOATING, INEXACT, DType
from engine.core.op import FromVjp, Layout, Op, Rule
from engine.core.operands import Operand
from engine.core.sparsity import ELEMENTWISE, rowwise
from engine.core.structural import Cotangent, Tangent, conj
from engine.core.value import Zero
from engine.runtime.errors import DTypeError
from engine.runtime.structs import struct


def _every(i: int, params: dict[str, Any]) -> bool:
    return True


@struct(eq=False)
class PerOperand(Sequence[Rule]):
    """Rules of an op with any number of operands: ``rules[i](ct, ...)`` calls ``rule(i, ct, ...)``.

    ``carries(i, params)`` says whether operand i carries a derivative; by default, each does. A rule that is told all
    operands each time takes time for their square. Where there are many, ``at_once(ct, ...)`` may give a function from
    i to the result, or None if it cannot.
    """

    rule: Callable[..., Any]
    carries: Callable[[int, dict[str, Any]], bool] = _every
    at_once: Callable[..., Callable[[int], Any] | None] | None = None

    def of_many(self, ct: Any, out: Any, operands: Sequence[Any], params: dict[str, Any]) -> Callable[[int], Any]:
        """``rule(i)``, for operands so many that each call should not be told all of them."""
        quick = None if self.at_once is None else self.at_once(ct, out, *operands, **params)
        return quick or (lambda i: self.rule(i, ct, out, *operands, **params))

    def __getitem__(self, index: Any) -> Any:
        rule = self.rule
        return lambda *args, **params: rule(index, *args, **params)

    def __len__(self) -> int:
        return sys.maxsize


class Together(Sequence[Rule]):
    """Reverse rules of an op that pulls back to all its operands at once (`engine.control.cond`).

    Parameters
    ----------
    rule : callable
        ``rule(wanted, previous, ct, out, *inputs, **params)``: a cotangent per operand (Zero where none is wanted or
        none arises). ``previous[i]`` is what is known of operand i's cotangent already, or None; the answer includes
        it. So a sum is added up in the order in which it would be without the op.
    order : callable, optional
        ``order(count, params)``: the indices of the operands in the order in which their cotangents are added up where
        some operands are the same; by default as they come.
    carries : callable, optional
        ``carries(i, params)``: whether operand i carries a derivative; by default, each does.
    """

    def __init__(
        self,
        rule: Callable[..., Any],
        order: Callable[..., Sequence[int]] | None = None,
        carries: Callable[[int, dict[str, Any]], bool] = _every,
    ) -> None:
        self.rule = rule
        self.order = order or (lambda count, params: range(count))
        self.carries = carries

    def __getitem__(self, index: Any) -> Any:
        def alone(ct: Any, out: Any, *inputs: Any, **params: Any) -> Operand | Zero:
            wanted = [i == index for i in range(len(inputs))]
            return self.rule(wanted, [None] * len(inputs), ct, out, *inputs, **params)[index]

        return alone

    def __len__(self) -> int:
        return sys.maxsize


class PushedTogether(Sequence[Rule]):
    """Forward rules of an op that pushes all its tangents forward at once.

    ``rule(tangents, out, *inputs, **params)`` gives a tangent (or Zero) per output; ``tangents[i]`` may be None. `each`
    are the rules of single operands, of an op that has them too.
    """

    def __init__(self, rule: Callable[..., Any], each: Sequence[Rule | None] | None = None) -> None:
        self.rule = rule
        self.each = each

    def __getitem__(self, index: Any) -> Any:
        def alone(t: Any, out: Any, *inputs: Any, **params: Any) -> Operand | Zero:
            return self.rule([t if i == index else None for i in range(len(inputs))], out, *inputs, **params)

        return alone

    def __len__(self) -> int:
        return sys.maxsize


class Facts(TypedDict, total=False):
    """The facts that an op may state besides its rules; `engine.core.op.Op` explains each."""

    type: str
    module: str
    args: Sequence[str]
    multi: bool
    stateful: bool
    selects: bool
    strict: bool
    refuses: bool | None
    from_avals: bool
    sparsity: Callable[..., Any] | None
    rows: Callable[..., Any] | None
    alike: tuple[Rule, Rule] | None
    simplify: Callable[..., Any] | None
    specialize: Callable[..., Any] | None
    expand: Callable[..., Any] | None
    unroll: Callable[..., Any] | None
    fix: Callable[..., Any] | None
    merge: Callable[..., Any] | None
    inline: Callable[..., str | None] | None
    layout: Layout | Callable[..., Layout]
    shares: tuple[int, ...] | None
    keeps_nan: tuple[int, ...] | Callable[[dict[str, Any]], tuple[int, ...]] | None
    elementwise: bool
    static: tuple[int, ...]
    rounds_correctly: bool
    takes_out: bool
    commutes: bool
    fill: Callable[..., float] | None
    repeats: bool
    smooth: tuple[int, ...]
    scratch: float | Callable[..., float] | None
    flops: Callable[..., float] | None
    parts: tuple[Any, ...] | None
    doc: str


def _op(kind: str, name: str, facts: Facts, **rules: Any) -> Op:
    """An op of the module that called a kind (as `collections.namedtuple` finds it)."""
    module = sys._getframe(2).f_globals["__name__"]
    fields: dict[str, Any] = {"type": camel(name), "module": module, "args": ("x",), **rules, **facts}
    return Op(name=name, kind=kind, **{**fields, "args": tuple(fields["args"])})


def camel(name: str) -> str:
    """TensorFlow's spelling of an op type: ``reduce_sum`` becomes ``ReduceSum``."""
    return "".join(part.capitalize() for part in name.strip("_").split("_"))


def check_dtype(name: str, argument: str, aval: Aval, accepted: Iterable[DType]) -> None:
    """Raise DTypeError unless the aval's dtype is among those accepted."""
    if aval.dtype not in accepted:
        allowed = ", ".join(sorted((d.name for d in accepted), key=lambda n: (n.rstrip("0123456789"), len(n), n)))
        raise DTypeError(
            f"{name}: argument `{argument}` must have one of the dtypes {allowed}; got {aval.dtype.name} "
            f"(cast it with tf.cast)"
        )


def same_dtype(name: str, args: Sequence[str], avals: Sequence[Aval]) -> DType:
    """The one dtype that all avals share, or a DTypeError: nothing is promoted silently."""
    first = avals[0].dtype
    for i, aval in enumerate(avals):
        if aval.dtype is not first:
            argument = args[i] if i < len(args) and not args[i].startswith("*") else f"{args[-1].lstrip('*')}[{i}]"
            raise DTypeError(
                f"{name}: arguments must have one dtype, but `{args[0].lstrip('*')}` has {first.name} and `{argument}` "
                f"has {aval.dtype.name}; cast one of them with tf.cast"
            )
    return first


def elementwise_abstract(
    name: str, args: Sequence[str], accepts: Iterable[DType], result: DType | None
) -> Callable[..., Aval]:
    """Abstract evaluation of a broadcasting op whose operands share one dtype."""

    def abstract(*avals: Aval, **_: Any) -> Aval:
        first = avals[0]
        for aval in avals:
            if aval.dtype is not first.dtype or aval.shape != first.shape:
                break
        else:
            if first.dtype in accepts:
                alike = first.value is None and result in (None, first.dtype)
                return first if alike else Aval(first.shape, result or first.dtype)
        for i, aval in enumerate(avals):
            check_dtype(name, args[i], aval, accepts)
        dtype = same_dtype(name, args, avals)
        return Aval(broadcast_shapes(name, *[a.shape for a in avals]), result or dtype)

    return abstract


_BLOCK = 1 << 15  # elements, of which what a kernel makes on its way stays in a cache


def in_blocks(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """An elementwise kernel made of several functions of NumPy's, which makes no large array but its result."""

    @functools.wraps(kernel)
    def made(*operands: Any, **params: Any) -> Any:
        shapes: set[Any] = {()}
        if getattr(operands[0], "size", 0) > 2 * _BLOCK:
            shapes = {x.shape if type(x) is np.ndarray and x.flags.c_contiguous else () for x in operands}
        if () in shapes or len(shapes) > 1:
            return kernel(*operands, **params)
        flat, out = [x.reshape(-1) for x in operands], np.empty(0)
        for at in range(0, flat[0].size, _BLOCK):
            part = kernel(*[x[at : at + _BLOCK] for x in flat], **params)
            out = out if at else np.empty(flat[0].shape, part.dtype)
            out[at : at + _BLOCK] = part
        return out.reshape(*shapes)

    return made if isinstance(kernel, FunctionType) else kernel


def elementwise(
    name: str,
    kernel: Callable[..., Any],
    partials: Sequence[Callable[..., Any] | float | None],
    *,
    accepts: Iterable[DType] = INEXACT,
    **facts: Unpack[Facts],
) -> Op:
    """An op that acts on each element, its operands broadcast together.

    Parameters
    ----------
    name : str
    kernel : callable
    partials : sequence
        Per operand: ``partial(out, *inputs, **params)`` made of ops, the number 1 or -1, or None if the operand carries
        no derivative.
    accepts : set of DType
    **facts
        What else is to be said of the op (`Facts`), here and for the other kinds. The type is the name in camel case,
        and the operands are called x, y and z, unless something else is said. With ``selects``, a partial that is zero
        means that the result is not made of the operand there: then no cotangent reaches it, not even one that is
        infinite or NaN.

    Examples
    --------
    ``sin = elementwise("sin", np.sin, partials=(lambda out, x: cos(x),))`` is a whole definition.
    """
    selects = facts.get("selects", False)
    names = tuple(facts.get("args", ("x", "y", "z")))[: len(partials)]
    jvp = tuple(None if p is None else Tangent(p, selects) for p in partials)
    is_sum = set(partials) <= {1, -1}
    op = _op(
        "elementwise",
        name,
        {**facts, "args": names},
        kernel=in_blocks(kernel),
        abstract=elementwise_abstract(name, names, accepts, None),
        vjp=tuple(None if p is None else Cotangent(i, p, selects) for i, p in enumerate(partials)),
        # the tangent of a sum or a difference is that of the tangents
        jvp=PushedTogether(lambda *args: _pushed(op, jvp, *args), jvp) if is_sum else jvp,
        batch=elementwise_rule,
        sparsity=ELEMENTWISE,
        keeps_nan=tuple(range(len(partials))) if is_sum else (),
    )
    return op


real_elementwise = functools.partial(elementwise, accepts=FLOATING)
"""`elementwise`, of floating point numbers that are not complex."""


def _pushed(op: Op, rules: Sequence[Any], tangents: Sequence[Any], out: Any, *inputs: Any) -> list[Any]:
    """The tangent of an op that is linear in all its operands together."""
    if all(t is not None for t in tangents):
        return [op(*tangents)]
    (tangent,) = [rule(t, out, *inputs) for t, rule in zip(tangents, rules, strict=True) if t is not None]
    return [tangent]


def linear(
    name: str,
    kernel: Callable[..., Any],
    transpose: Callable[..., Any],
    abstract: Callable[..., Any],
    batch: BatchRule,
    **facts: Unpack[Facts],
) -> Op:
    """An op linear in operand 0; further operands (shapes, references, indices) carry no derivative.

    ``transpose(ct, x, *others, **params)`` is the adjoint map applied to a cotangent; `x` may serve as reference only.
    `abstract` and `batch` are those of `Op`.
    """

    def vjp(ct: Any, out: Any, *inputs: Any, **params: Any) -> Operand:
        return transpose(ct, *inputs, **params)

    def jvp(t: Any, out: Any, *inputs: Any, **params: Any) -> Operand | Zero:
        return op(t, *inputs[1:], **params)

    args = facts.get("args", ("x",))

    def alone(rule: Rule) -> Sequence[Rule | None]:
        return _first_only(rule) if args[-1].startswith("*") else (rule, *[None] * (len(args) - 1))

    op = _op("linear", name, facts, kernel=kernel, abstract=abstract, vjp=alone(vjp), jvp=alone(jvp), batch=batch)
    return op


class _first_only(Sequence[Any]):
    """Rules of an op that is linear in operand 0 and takes any number of operands without derivative."""

    def __init__(self, rule: Rule) -> None:
        self._rule = rule

    def __getitem__(self, index: Any) -> Any:
        return self._rule if index == 0 else None

    def __len__(self) -> int:
        return sys.maxsize


def multilinear(
    name: str,
    kernel: Callable[..., Any],
    transposes: Sequence[Callable[..., Any]] | Callable[..., Any],
    abstract: Callable[..., Any],
    batch: BatchRule,
    **facts: Unpack[Facts],
) -> Op:
    """An op linear in each operand while the others are held fixed (products, contractions, convolutions).

    ``transposes[i](ct, *inputs, **params)``, with the conjugates of the inputs, must give a value of exactly
    ``inputs[i]``'s shape; for any number of operands it is ``transpose(i, ct, ...)``.
    """

    def vjp(i: int, ct: Any, out: Any, *inputs: Any, **params: Any) -> Operand:
        fixed = [x if j == i else conj(x) for j, x in enumerate(inputs)]
        if callable(transposes):
            return transposes(i, ct, *fixed, **params)
        return transposes[i](ct, *fixed, **params)

    def jvp(i: int, t: Any, out: Any, *inputs: Any, **params: Any) -> Operand | Zero:
        return op(*inputs[:i], t, *inputs[i + 1 :], **params)

    rules = {"vjp": PerOperand(vjp), "jvp": PerOperand(jvp)}
    op = _op("multilinear", name, facts, args=("x", "y"), kernel=kernel, abstract=abstract, batch=batch, **rules)
    return op


def general(
    name: str,
    kernel: Callable[..., Any],
    abstract: Callable[..., Any],
    vjp: Sequence[Rule | None],
    jvp: Sequence[Rule | None] | FromVjp,
    batch: BatchRule,
    **facts: Unpack[Facts],
) -> Op:
    """An op whose rules are written out. ``jvp=FROM_VJP`` derives the forward rules from the reverse ones."""
    return _op("general", name, facts, kernel=kernel, abstract=abstract, vjp=vjp, jvp=jvp, batch=batch)


def of_matrices(
    name: str,
    kernel: Callable[..., Any],
    abstract: Callable[..., Any],
    vjp: Rule,
    jvp: Rule | FromVjp,
    results: Sequence[int],
    **facts: Unpack[Facts],
) -> Op:
    """A general op of matrices: the last two axes of its operand, and as many of each result as `results` says."""
    rules: dict[str, Any] = {"vjp": (vjp,), "jvp": jvp if isinstance(jvp, FromVjp) else (jvp,), "batch": leading(2)}
    own: Facts = {"multi": len(results) > 1, "sparsity": rowwise(2, results=results), "scratch": 8, "refuses": True}
    every: Facts = {**own, **facts}
    return _op("general", name, every, kernel=kernel, abstract=abstract, **rules)


def nondifferentiable(
    name: str,
    kernel: Callable[..., Any],
    *,
    abstract: Callable[..., Any] | None = None,
    batch: BatchRule = elementwise_rule,
    result: DType | None = None,
    accepts: Iterable[DType] = INEXACT,
    **facts: Unpack[Facts],
) -> Op:
    """An op without derivative: the path from target to source is cut. Elementwise unless `abstract` is given."""
    abstract = abstract or elementwise_abstract(name, tuple(facts.get("args", ("x",))), accepts, result)
    return _op("nondifferentiable", name, facts, kernel=kernel, abstract=abstract, vjp=None, jvp=None, batch=batch)
