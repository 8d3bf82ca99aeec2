"""Ops and nodes; calling an `Op` is the only dispatch.

An `Op` is one frozen object that owns everything the engine ever asks about it:

=============  =====================================================================================================
``kernel``     what it does to NumPy arrays: ``kernel(*arrays, **params) -> array`` (a tuple if ``multi``)
``abstract``   what it does to shapes and dtypes: ``abstract(*avals, **params) -> Aval`` (a tuple if ``multi``)
``vjp``        reverse rule per operand: ``vjp[i](ct, out, *inputs, **params)`` has exactly ``inputs[i]``'s aval
``jvp``        forward rule per operand: ``jvp[i](t, out, *inputs, **params)`` has exactly ``out``'s aval
``batch``      how to apply it to many inputs at once: ``batch(op, size, flags, inputs, params)``
``sparsity``   which elements of its operands an element of the result depends on, see `engine.core.sparsity`
=============  =====================================================================================================

Operands are positional and are values; parameters are keywords and are static Python data. Rules are written with ops,
never with NumPy calls, so one rule serves plain arrays, eager tensors, graph tensors and batches of any of these, and
its result can be differentiated again. Most ops are not written by hand but made by a *kind* (`engine.core.kinds`),
which derives the rules from a partial derivative or a transpose.

An operand whose rule is None carries no derivative (the indices of a gather). An op whose ``vjp`` is None as a whole is
nondifferentiable: the path from target to source is cut there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Sequence
from enum import Enum
from typing import Any

from engine.core.aval import Aval, Shape
from engine.core.dtypes import DType
from engine.core.value import Value
from engine.runtime import elementary
from engine.runtime.errors import InvalidArgumentError
from engine.runtime.structs import field, struct

Rule = Callable[..., Any]


class FromVjp(Enum):
    """Says that an op's forward rule is the transpose of its reverse rule (`engine.derivatives.forward` applies it)."""

    FROM_VJP = "from vjp"


FROM_VJP = FromVjp.FROM_VJP


class Layout(Enum):
    """How an op's results lie in memory, on which rounding depends: sums go through memory in its own order.

    Passes need it: what they put in place of a value must lie as the value would have (`engine.compiler.ir.layout`).
    """

    FRESH = "in C order"
    KEPT = "in C order if all operands are"
    LIKE = "in the order of the operands, C order where they disagree: as NumPy makes elementwise results"
    VIEW = "as the first operand lies, or in C order: the same numbers one after the other, as a reshape gives"
    PART = "a part of an operand in C order, repeated perhaps: no axis is moved before another"
    ANY = "any order"


@struct(frozen=True, eq=False, slots=True, kw_only=True)
class Op:
    """One operation with all its rules. Make one with a kind from `engine.core.kinds`; call it to apply it.

    Attributes
    ----------
    name : str
        For messages, and the Python name of the op in its module (`module`), by which it pickles.
    type : str
        TensorFlow's op type (``"MatMul"``), the default name of graph nodes.
    args : tuple of str
        The operands' names, for messages and keyword arguments. A name starting with ``*`` takes all that are left.
    kernel, abstract, vjp, jvp, batch : see the module's docstring
    multi : bool
        Whether kernel and abstract return tuples.
    kind : str
        Which kind made it: elementwise, linear, multilinear, general or nondifferentiable.
    stateful : bool
        Whether two applications to equal inputs may differ or have effects: never merged, folded or cached.
    selects : bool
        Whether an element of the result is made of some elements of the operands only, chosen by their contents: the
        others have the derivative zero, whatever else stands on the way (`engine.derivatives.strong_zeros`).
    strict : bool
        Whether the kernel by itself refuses every combination of shapes and parameters that `abstract` refuses, so that
        only dtypes need to be examined before it runs (`engine.core.eager.accept`); tests/ops/test_checks.py tries to
        disprove it. Every kernel refuses bad *contents*.
    refuses : bool, optional
        Whether the kernel raises for some contents of operands: an infinity in a matrix, say. None: of integers alone.
    from_avals : bool
        Whether the result follows from the operands' shapes and dtypes alone, whatever their contents (``ones_like``).
    sparsity : callable, optional
        Which elements of the operands each element of the result depends on (`engine.core.sparsity`); None: on all.
    rows : callable, optional
        ``rows(ct, *inputs, **params) -> (values, indices) or None``: the cotangent of operand 0 as rows of it, if
        it is one (`engine.ops.indexed_slices`). Indices may have any rank; the values' first dimensions are theirs.
    alike : (callable, callable), optional
        Rules as in `vjp` and `jvp`, for an op of two operands that are the same value, with what both contribute.
    simplify : callable, optional
        ``simplify(avals, params) -> int or None``: index of an operand that the result equals up to its shape, once
        shapes are known. Of an op with several results: for each the index of the operand that it is.
    specialize : callable, optional
        ``specialize(*inputs, **params) -> value or None``: the same result, to the bit, by simpler ops, once shapes are
        known; None where there is nothing simpler.
    expand : callable, optional
        ``expand(avals, params) -> closed function or None``: what the op stands for, once shapes are known.
    unroll : callable, optional
        ``unroll(call, operands, params) -> results or None``: the same results, to the bit, by the steps of a loop, of
        which ``call(closed function, operands)`` adds one to a program.
    fix : callable, optional
        ``fix(inputs, arrays, params) -> (inputs, params)``: the op with fewer operands. Those of `arrays`
        (by index) are constants, which its closed functions hold then.
    merge : callable, optional
        ``merge(first, second) -> (op, params, places, places) or None``: one application with the results of two to the
        same operands, given as pairs ``(op, params)``, and where the results of either are among its.
    inline : callable, optional
        ``inline(avals, params) -> str or None``: what the kernel does as a Python expression of the operands ``{0}``,
        ``{1}``..., once shapes are known; None where the kernel must be called.
    layout : Layout, or callable
        How the results lie in memory, or ``layout(avals, params)`` that says so for given operands. Ufuncs need not
        say.
    shares : tuple of int, optional
        Positions of the operands whose memory results may share: none of NumPy's elementwise ufuncs, operand 0 of a
        view. None: any of them.
    keeps_nan : tuple of int, or callable, optional
        Positions of the operands each NaN of which makes a NaN in the result; None: all of them;
        ``keeps_nan(params)`` says so where it depends. Sums of operands need not say, nor what keeps all elements.
    elementwise : bool
        Whether an element of the result is computed from those in its place alone, the operands broadcast together, so
        that the kernel may be run on a part of them. Ops of that kind, and whose kernel is a ufunc, need not say.
    static : tuple of int
        Positions of the operands by whose contents the kernel chooses how to compute, as a power does by its exponent.
    rounds_correctly : bool
        Whether each element is the float nearest to the exact result (or, of several steps, each step's is): an element
        has the same bits wherever in an array it lies.
    takes_out : bool
        Whether the call takes ``out=``: that of the kernel, or what `inline` gives in its place. Ufuncs do.
    commutes : bool
        Whether two operands that are not complex give the same bits in either order (but inside of a NaN).
    fill : callable, optional
        ``fill(**params)``: the one number that all elements of the result are.
    repeats : bool
        Whether each element of the result is one of operand 0's, and no constant (of a mean: that, divided).
    smooth : tuple of int
        Positions of operands without a rule on which the result depends otherwise than piecewise constantly: the
        derivative exists, and is not implemented. Whoever would take a missing path for zero must refuse.
    scratch : float, or callable, optional
        The memory that a rule needs besides its result, in results, or ``scratch(shapes of operands)``. None: 2, but
        0 for elementwise, linear and multilinear ops.
    flops : callable, optional
        ``flops(operands, results, params)``: floating-point operations, given avals, where kind and shapes do not tell
        (`engine.compiler.ir.instruction`).
    parts : (callable, arguments), optional
        What makes an equal op, for pickles of one that no module has.
    """

    name: str
    type: str
    module: str
    args: tuple[str, ...]
    kernel: Callable[..., Any]
    abstract: Callable[..., Any]
    vjp: Sequence[Rule | None] | None
    jvp: Sequence[Rule | None] | FromVjp | None
    batch: Callable[..., Any]
    kind: str
    multi: bool = False
    stateful: bool = False
    selects: bool = False
    strict: bool = True
    refuses: bool | None = None
    from_avals: bool = False
    sparsity: Callable[..., Any] | None = None
    rows: Callable[..., Any] | None = None
    alike: tuple[Rule, Rule] | None = None
    simplify: Callable[[Sequence[Aval], dict[str, Any]], Any] | None = None
    specialize: Callable[..., Any] | None = None
    expand: Callable[[Sequence[Aval], dict[str, Any]], Any] | None = None
    unroll: Callable[..., Sequence[Any] | None] | None = None
    fix: Callable[..., tuple[tuple[Any, ...], dict[str, Any]]] | None = None
    merge: Callable[..., tuple[Op, dict[str, Any], Sequence[int], Sequence[int]] | None] | None = None
    inline: Callable[[Sequence[Aval], dict[str, Any]], str | None] | None = None
    layout: Layout | Callable[[Sequence[Aval], dict[str, Any]], Layout] = Layout.KEPT
    shares: tuple[int, ...] | None = None
    keeps_nan: tuple[int, ...] | Callable[[dict[str, Any]], tuple[int, ...]] | None = ()
    elementwise: bool = False
    static: tuple[int, ...] = ()
    rounds_correctly: bool = False
    takes_out: bool = False
    commutes: bool = False
    fill: Callable[..., float] | None = None
    repeats: bool = False
    smooth: tuple[int, ...] = ()
    scratch: float | Callable[[Sequence[Shape]], float] | None = None
    flops: Callable[[Sequence[Aval], Sequence[Aval], dict[str, Any]], float] | None = None
    doc: str = ""
    parts: tuple[Any, ...] | None = None
    accepted: set[Any] = field(init=False)
    """The arguments that `abstract` has accepted so far: dtypes of a strict op, else dtypes, shapes and parameters."""

    is_ufunc: bool = field(init=False)
    """Whether the kernel is an elementwise ufunc, NumPy's or our own, with one result."""

    references: frozenset[int] = field(init=False)
    """Positions of the operands of which only shape and dtype count: by convention those called `ref` or `like`."""

    def __post_init__(self) -> None:
        kernel: Any = self.kernel
        is_ufunc = elementary.is_ufunc(kernel) and kernel.signature is None and kernel.nout == 1
        derived: dict[str, Any] = {
            "accepted": set(),
            "is_ufunc": is_ufunc,
            "references": frozenset(i for i, name in enumerate(self.args) if name in ("ref", "like")),
            "elementwise": self.elementwise or self.kind == "elementwise" or is_ufunc,
            "takes_out": self.takes_out or is_ufunc,
        }
        if getattr(self.sparsity, "in_order", False):
            derived |= {"repeats": True, "keeps_nan": (0,)}
        if is_ufunc and self.layout is Layout.KEPT:
            derived["layout"] = Layout.LIKE
        if self.shares is None and (self.kind == "elementwise" or is_ufunc):
            derived["shares"] = ()
        elif self.shares is None and self.layout in (Layout.VIEW, Layout.PART):
            derived["shares"] = (0,)
        if self.scratch is None:
            derived["scratch"] = 0 if self.kind in ("elementwise", "linear", "multilinear") else 2
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    def __call__(self, *inputs: Any, **params: Any) -> Any:
        """Apply the op. Raw operands give raw results; otherwise the most abstract operand decides."""
        for x in inputs:
            if isinstance(x, Value):
                return x._enter(self, inputs, params)
        return self.kernel(*inputs, **params)

    def result_avals(self, avals: Sequence[Aval], params: dict[str, Any]) -> Any:
        """The answer of ``abstract``. Where operands are not what it expects, that is an error of theirs."""
        try:
            return self.abstract(*avals, **params)
        except (IndexError, TypeError, ValueError) as error:
            if type(error) not in (IndexError, TypeError, ValueError):
                raise
            raise InvalidArgumentError(f"{self.title}({', '.join(map(str, avals))}): {error}") from error

    @property
    def title(self) -> str:
        """The name that errors give it: its function's, without the ending of an op that a function calls."""
        return self.name.removesuffix("_op")

    def nan_keepers(self, params: dict[str, Any], operands: int) -> Sequence[int]:
        """The positions of operands, of so many, each NaN of which makes a NaN in the result."""
        keeps = self.keeps_nan(params) if callable(self.keeps_nan) else self.keeps_nan
        return range(operands) if keeps is None else keeps

    @property
    def moves(self) -> bool:
        """Whether it only moves data: each element of a result is a copy of one of an operand's, or a constant."""
        return getattr(self.sparsity, "moves", False)

    @property
    def adds(self) -> bool:
        """Whether it moves data and adds up what meets: all derivatives that are not 0 are 1."""
        return self.moves or (self.kind == "linear" and getattr(self.sparsity, "adds", False))

    @property
    def routes(self) -> bool:
        """Whether each element of a result is a sum of elements, or multiples, that are found by moving or choosing."""
        return (
            self.moves
            or self.selects
            or getattr(self.sparsity, "collects", False)
            or (self.kind == "linear" and self.elementwise)
        )

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return self.parts or (_find, (self.module, self.name))


def _find(module: str, name: str) -> Op:
    __import__(module)
    op = getattr(sys.modules[module], name)
    assert isinstance(op, Op)
    return op


_EXACT = frozenset({int, str, type(None), type(...), DType})


def distinct(param: Any) -> Hashable:
    """A hashable stand-in for a parameter of an op, equal for equal parameters only.

    Python takes ``1``, ``1.0`` and ``True`` for equal, and ``0.0`` and ``-0.0``; here they differ.

    Raises
    ------
    TypeError
        If the parameter is not plain data: an array may be changed, a function may do something else each time.
    """
    kind = type(param)
    if kind in _EXACT:
        return param
    if kind is bool:
        return kind, param
    if kind is float or kind is complex:
        return kind, repr(param)
    if kind is tuple and _EXACT.issuperset(map(type, param)):
        return param
    if isinstance(param, tuple):
        return kind, *[distinct(item) for item in param]
    if getattr(param, "is_plain", False):
        return param  # it is equal to itself alone
    raise TypeError(f"a parameter of type {kind.__name__} is not plain data")


def are_plain(params: dict[str, Any], closed: bool = False) -> bool:
    """Whether parameters are plain data: no function, which may do something else each time.

    A closed function is none either, unless they may be `closed`: one that calls no function is the same each time.
    """
    try:
        known = [distinct(param) for param in params.values()]
    except TypeError:
        return False
    return closed or not any(hasattr(param, "is_plain") for param in known)


class Node:
    """One application of an op: the same record on a tape, in a graph and in a trace.

    Attributes
    ----------
    op : Op
    inputs : tuple of Value
    params : dict
    outputs : tuple of Value
        Always a tuple, also when the op has one output.
    """

    __slots__ = ("inputs", "op", "outputs", "params")

    def __init__(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any], outputs: tuple[Any, ...]) -> None:
        self.op = op
        self.inputs = inputs
        self.params = params
        self.outputs = outputs

    def carries(self, i: int) -> bool:
        """Whether a derivative leads through operand i."""
        rules: Any = self.op.vjp
        if rules is None or rules[i] is None:
            return False
        if type(rules) is tuple:
            return True
        # of an op with any number of operands, parameters may tell
        says = getattr(rules, "carries", None)
        return says is None or bool(says(i, self.params))

    def __repr__(self) -> str:
        return f"<node {self.op.name}({len(self.inputs)} inputs) -> {len(self.outputs)} outputs>"
