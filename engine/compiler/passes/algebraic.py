"""Algebraic simplification by constant structure: what is known of the contents of a value, and what follows from it.

**The pass `algebraic_simplification`** changes no bit, infinities, NaN and signs of zero included:

- `Stacked`: the entries along the first axis are values, which an index takes.
- `Fill`: every element is one real number, or one answer. ``1 * x`` and ``scale(1, x)`` are x; other numbers need not
  be repeated. Complex numbers are left alone: ``(1 + 0j) * x`` is not x where x is infinite or a zero has a sign.
- `Either`: every element is one of two numbers, by a condition, as a mask of what `where` chose. What either branch
  chose is all there is.

**What the seeds of a plan mean**, which is no pass and cannot be switched off. The seeds of a Jacobian are the rows of
the identity matrix. Only plans make them, by ops that nothing else uses (`identity_like`, `seed_rows`). What a sweep
makes of them is defined here, for graphs, tapes and chunks alike. An identity matrix of the user's is a matrix.

- `Identity`: the elements, flattened, are those of an identity matrix. Its product with a matrix is that matrix: it is
  no sum, so an infinity in one row does not turn all other rows into NaN.
- `Diagonal`: the elements, flattened, are those of a diagonal matrix, whose diagonal is another value: what scaling
  the rows of the identity gives. Its product with a matrix scales the rows of that matrix.
- `Repeated`: the elements are those of a smaller array, again and again along one axis: the seeds of a batch Jacobian.
  A product with a matrix is made of the smaller array.

A reshape keeps what is known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from engine.compiler.ir.code import TracedValue
from engine.compiler.ir.kernels import diagonal_product, identity_product, number_like
from engine.compiler.ir.layout import Order, order_of_result
from engine.core.aval import Aval, broadcast_shapes
from engine.core.expand_axes import seed_rows
from engine.core.op import Op
from engine.core.operands import Operand
from engine.core.sparsity import IN_ORDER
from engine.core.structural import contiguous, reshape_to, scale
from engine.ops.arithmetic import maximum, multiply
from engine.ops.compare import keep_chosen, logical_and, logical_or, not_equal, select, truncate
from engine.ops.creation import identity_like
from engine.ops.explog import pow as power
from engine.ops.indexing import getitem_op
from engine.ops.joining import stack_op
from engine.ops.linalg import matmul_op, matmul_specialized
from engine.ops.reduce import reduce_sum_op, share
from engine.runtime.structs import struct


@struct(frozen=True)
class Fill:
    """Every element is `value`."""

    value: Any


@struct(frozen=True)
class Identity:
    """The elements of the identity matrix with `rows` rows."""

    rows: int


@struct(frozen=True)
class Diagonal:
    """The elements of a diagonal matrix; `values` is its diagonal, as a vector."""

    values: TracedValue

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.values.aval.size or 0


@struct(frozen=True)
class Repeated:
    """`values`, again and again along a new axis at `position`."""

    values: TracedValue
    position: int


@struct(frozen=True)
class Stacked:
    """The entries along the first axis are `values`."""

    values: tuple[TracedValue, ...]


@struct(frozen=True)
class Either:
    """The first of two numbers where `condition` holds, else the second."""

    condition: TracedValue
    numbers: tuple[Any, Any]


_OF_MASKS = frozenset([not_equal, truncate, maximum])
"""Ops on masks whose results follow from their numbers."""

Structure = Fill | Either | Stacked | Identity | Diagonal | Repeated
SEEDS = (Identity, Diagonal, Repeated)
"""Facts about seeds, and about what a sweep makes of them."""


# ---- what is known ---------------------------------------------------------------------------------------------------


def structure_of_array(array: Any) -> Structure | None:
    """Facts about a constant."""
    if not array.size or array.dtype.kind not in "fb":
        return None
    first = array.flat[0]
    shown = array if any(array.strides) else first
    if first != array.flat[-1] or (shown != first).any():
        return None
    # zeros have signs
    if array.dtype.kind == "f" and (np.signbit(shown) != np.signbit(first)).any():
        return None
    return Fill(first.item())


def structure_of_result(op: Op, inputs: Sequence[TracedValue], params: dict[str, Any], out: Aval) -> Structure | None:
    """Facts about an op's result that follow from those about real numbers."""
    if op.fill is not None and out.dtype.is_floating:
        return Fill(op.fill(**params))
    if op is stack_op:
        return Stacked(tuple(inputs)) if params["axis"] in (0, -len(out.shape or ())) else None
    structure = inputs[0].structure if inputs else None
    if op is select or type(structure) is Either:
        return _either(op, inputs, params)
    if type(structure) is not Fill:
        return None
    if op is reduce_sum_op:
        return _counted(structure, inputs[0].aval, out)
    if not op.repeats:
        return None
    return _shared(structure, inputs[0].aval, out) if params.get("mean") else structure


def structure_of_seeds(op: Op, inputs: Sequence[TracedValue], params: dict[str, Any], out: Aval) -> Structure | None:
    """Facts about an op's result that follow from its being made of a plan's seeds."""
    if op is identity_like:
        return Identity(params["count"]) if params["first"] == 0 and params["count"] ** 2 == out.size else None
    if op is seed_rows:
        return Repeated(inputs[0], params["position"])
    structure = inputs[0].structure if inputs else None
    if isinstance(structure, (Identity, Diagonal)) and out.size == structure.rows**2:
        if op.sparsity is IN_ORDER:
            return structure
        if op is scale and _is_per_column(*inputs):
            row = reshape_to(inputs[1], shape=(structure.rows,))
            return Diagonal(scale(structure.values, row, **params) if isinstance(structure, Diagonal) else row)
    return None


def _either(op: Op, inputs: Sequence[TracedValue], params: dict[str, Any]) -> Either | None:
    """The two numbers of a choice, or of masks that are made of it."""
    facts = [x.structure for x in inputs]
    if op is select:
        x, y = facts[1:]
        return Either(inputs[0], (x.value, y.value)) if type(x) is Fill is type(y) else None
    conditions = {f.condition.value_id: f.condition for f in facts if type(f) is Either}
    if op not in _OF_MASKS or len(conditions) > 1 or any(type(f) not in (Fill, Either) for f in facts):
        return None
    pairs = [f.numbers if type(f) is Either else (f.value, f.value) for f in facts]
    dtypes = [x.dtype.numpy for x in inputs]
    yes, no = [op.kernel(*map(np.asarray, each, dtypes), **params).item() for each in zip(*pairs, strict=True)]
    return Either(next(iter(conditions.values())), (yes, no))


def _counted(structure: Fill, x: Aval, out: Aval) -> Fill | None:
    """The sum of a whole number, as often as it is there: exact in any order if it is no larger than the mantissa."""
    if not x.size or not out.size or not out.dtype.is_floating or not structure.value:
        return None
    number = float(structure.value)
    total = number * (x.size // out.size)
    exact = number.is_integer() and abs(total) <= 2.0 ** np.finfo(out.dtype.numpy).nmant
    return Fill(total) if exact else None


def _shared(structure: Fill, x: Aval, out: Aval) -> Fill | None:
    """The share of each element of a mean."""
    if not x.size or not out.size or not out.dtype.is_floating:
        return None
    return Fill(share(out.dtype.numpy.type(structure.value), out.size // x.size).item())


def _is_per_column(rows: TracedValue, x: TracedValue) -> bool:
    """Whether `x` has one element for each column of `rows`, a square matrix whose columns may have any shape."""
    shape, other = rows.aval.shape or (), x.aval.shape or ()
    return len(other) <= len(shape) and (1,) * (len(shape) - len(other)) + other == (1, *shape[1:])


# ---- what follows ----------------------------------------------------------------------------------------------------


def of_numbers(inputs: Sequence[TracedValue]) -> bool:
    """Whether something is known of an operand. What seeds meet is left to `_seed_product`, with any passes."""
    structures = [x.structure for x in inputs]
    return any(structures) and not any(isinstance(structure, SEEDS) for structure in structures)


def _chosen(op: Op, inputs: Sequence[TracedValue], params: dict[str, Any]) -> TracedValue | None:
    """The operand that is chosen everywhere."""
    x, facts = inputs[0], inputs[1].structure
    numbers = facts.numbers if type(facts) is Either else (facts.value,) if type(facts) is Fill else (0,)
    return x if all(numbers) else None


def _selected(op: Op, inputs: Sequence[TracedValue], params: dict[str, Any]) -> Any:
    """The operand that a condition takes everywhere; by another condition, where both say the same or the opposite."""
    (mask, x, y), facts = inputs, inputs[0].structure
    if type(facts) not in (Either, Fill):
        return None
    yes, no = facts.numbers if type(facts) is Either else (facts.value, facts.value)
    if yes is not no:
        return select(facts.condition, *((x, y) if yes else (y, x))) if facts.condition.aval == mask.aval else None
    taken, other = (x, y) if yes else (y, x)
    out = op.abstract(*[v.aval for v in inputs])
    if taken.aval == out and taken.order is Order.CONTIGUOUS:
        return taken
    alike = other.aval == out and other.order >= Order.DESCENDING and type(taken.structure) is Fill
    return number_like(other, number=taken.structure.value) if alike else None


def _both(op: Op, inputs: Sequence[TracedValue], params: dict[str, Any]) -> TracedValue | None:
    """The operand that tells what masks say together, if the other one says the same everywhere."""
    out = op.abstract(*[x.aval for x in inputs])
    for known, other in (inputs, inputs[::-1]):
        if type(known.structure) is Fill:
            told = other if known.structure.value is (op is logical_and) else known
            return told if told.aval == out and told.order is Order.CONTIGUOUS else None
    return None


def _entry(op: Op, inputs: Sequence[TracedValue], params: dict[str, Any]) -> TracedValue | None:
    """The value that an index takes from values stacked."""
    (at, *rest), structure = params["spec"] or (None,), inputs[0].structure
    if len(inputs) > 1 or rest or type(at) is not int or params.get("lead") or not isinstance(structure, Stacked):
        return None
    value = structure.values[at]
    return value if value.order is Order.CONTIGUOUS else None


def _one_number(op: Op, inputs: Sequence[TracedValue], params: dict[str, Any]) -> TracedValue | None:
    """One number for all elements, where all that they are computed from is one number for all."""
    if not all(type(x.structure) is Fill for x in inputs):
        return None
    out = op.abstract(*[x.aval for x in inputs], **params)
    alike = next((x for x in inputs if x.aval.shape == out.shape), None)
    if alike is None or out.size == 1 or any(x.order < Order.DESCENDING for x in inputs):
        return None
    number = op.kernel(*[np.asarray(x.structure.value, x.dtype.numpy) for x in inputs], **params)
    return number_like(alike, number=number.item())


def _power(x: TracedValue, y: TracedValue) -> TracedValue | None:
    """A power with exponent 0 or 1, as the derivatives of squares have."""
    exponent = y.structure.value if type(y.structure) is Fill else None
    shape = broadcast_shapes("pow", x.aval.shape, y.aval.shape)
    if exponent not in (0.0, 1.0) or shape != x.aval.shape or not x.dtype.is_floating or x.aval.size == 1:
        return None
    if exponent == 0.0:
        return number_like(x, number=1.0) if x.order >= Order.DESCENDING else None
    return x if x.order is Order.CONTIGUOUS else None


def _product(x: TracedValue, y: TracedValue) -> TracedValue | None:
    out = Aval(broadcast_shapes("multiply", x.aval.shape, y.aval.shape), x.dtype)
    if order_of_result(multiply, (x.order, y.order), (x.aval, y.aval), {}, out) is not Order.CONTIGUOUS:
        # what stands for the product must lie in memory as it would
        return None
    for one, other in ((x, y), (y, x)):
        if other.aval.size == out.size and type(one.structure) is Fill:
            other = other if other.order is Order.CONTIGUOUS else contiguous(other)
            if one.structure.value == 1:
                return reshape_to(other, shape=out.shape)
            if one.aval.size != 1:
                return multiply(np.asarray(one.structure.value, out.dtype.numpy), reshape_to(other, shape=out.shape))
    return None


def _scaled(ct: TracedValue, partial: TracedValue, *, either: bool = False) -> TracedValue | None:
    """A product in which no zero can meet an infinity needs no check."""
    if either:
        both = (ct.structure, partial.structure)
        unchecked = any(type(f) is Fill and math.isfinite(f.value) and f.value != 0 for f in both)
        return multiply(ct, partial) if unchecked else None
    if type(ct.structure) is Fill and ct.structure.value != 0:
        return multiply(ct, partial)
    return multiply(ct, partial) if type(partial.structure) is Fill and math.isfinite(partial.structure.value) else None


def _seed_product(op: Op, inputs: Sequence[TracedValue], params: dict[str, Any]) -> Operand | None:
    """A product of matrices with what is made of seeds, or None."""
    return _matrix_product(*inputs, **params) if any(isinstance(x.structure, SEEDS) for x in inputs) else None


def _matrix_product(
    a: TracedValue, b: TracedValue, *, transpose_a: bool = False, transpose_b: bool = False
) -> Operand | None:
    if isinstance(a.structure, Repeated):
        return _product_once(a, a.structure, b, transpose_a, transpose_b)
    if len(a.aval.shape or ()) != 2 or len(b.aval.shape or ()) != 2:
        # comes back with matrices, if there are two
        return matmul_specialized(a, b, transpose_a=transpose_a, transpose_b=transpose_b)
    if _is_diagonal(a):
        return _scaled_matrix(a.structure, b, transpose_b, True)
    return _scaled_matrix(b.structure, a, transpose_a, False) if _is_diagonal(b) else None


def _product_once(
    a: TracedValue, structure: Repeated, b: TracedValue, transpose_a: bool, transpose_b: bool
) -> Operand | None:
    """The product of the smaller array, repeated, if the axis is no axis of the product."""
    rank = len(a.aval.shape or ())
    if transpose_a or len(b.aval.shape or ()) != 2 or structure.position == rank - 1 or rank < 3:
        return None
    product = matmul_op(structure.values, b, transpose_a=False, transpose_b=transpose_b)
    # still seeds, of what comes next
    return seed_rows(product, size=a.aval.shape[structure.position], position=structure.position)  # type: ignore[index]


def _is_diagonal(x: TracedValue) -> bool:
    return isinstance(x.structure, (Identity, Diagonal)) and x.aval.shape == (x.structure.rows, x.structure.rows)


def _scaled_matrix(structure: Structure | None, matrix: TracedValue, transpose: bool, of_rows: bool) -> TracedValue:
    """The matrix (transposed) with its rows or columns scaled, in memory as a product would be."""
    if not isinstance(structure, Diagonal):
        return identity_product(matrix, transpose=transpose)
    factors = reshape_to(structure.values, shape=(structure.rows, 1) if of_rows else (1, structure.rows))
    return diagonal_product(matrix, factors, transpose=transpose)


class Simplification(NamedTuple):
    """A rewrite by what is known of operands: the ops that it looks at, and why it changes no bit."""

    name: str
    looks_at: Callable[[Op], bool]
    apply: Callable[[Op, Sequence[TracedValue], dict[str, Any]], Any]
    exact: str
    seeds: bool = False


SIMPLIFICATIONS = (
    Simplification(
        "seeds",
        lambda op: op is matmul_op,
        _seed_product,
        "it defines what a product with seeds means, with any passes",
        seeds=True,
    ),
    Simplification(
        "chosen_everywhere", lambda op: op is keep_chosen, _chosen, "no element is put to zero where no mask is zero"
    ),
    Simplification(
        "known_condition",
        lambda op: op is select,
        _selected,
        "a condition that follows from another, or says the same everywhere, says what it says",
    ),
    Simplification(
        "known_mask",
        lambda op: op is logical_and or op is logical_or,
        _both,
        "what one mask says everywhere decides, or the other does",
    ),
    Simplification(
        "entry_of_stack", lambda op: op is getitem_op, _entry, "an entry of values stacked is that value, in C order"
    ),
    Simplification(
        "unchecked_scale",
        lambda op: op is scale,
        lambda op, inputs, params: _scaled(*inputs, **params),
        "without a zero beside an infinity the check changes nothing",
    ),
    Simplification(
        "known_factor",
        lambda op: op is multiply,
        lambda op, inputs, params: _product(*inputs),
        "one times x is x, and one number times x is that number, repeated, times x; both lie in C order",
    ),
    Simplification(
        "known_power",
        lambda op: op is power,
        lambda op, inputs, params: _power(*inputs),
        "x to the power of 0 is 1, also of a NaN, and to the power of 1 it is x",
    ),
    Simplification(
        "one_number",
        lambda op: op.rounds_correctly,
        _one_number,
        "each element is the float nearest to the exact result, wherever it lies",
    ),
)
"""In the order in which they are tried."""
