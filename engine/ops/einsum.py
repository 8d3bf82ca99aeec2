"""Einstein summation: products of tensors written as ``"ij,jk->ik"``.

`einsum` takes the equation apart until only products of two tensors are left: repeated letters of one operand become
diagonals, letters that occur nowhere else are summed away, and the operands are multiplied in pairs, the pair with the
smallest result first. Each such product is one `einsum_op`, whose derivative is again one.

The names of dimensions in an ``einsum_op`` are letters, or digits for the axes that an ellipsis stands for, counted
from the right. Only digits broadcast (size 1 against size n); the sizes of a letter must agree.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from string import ascii_letters
from typing import Any, NamedTuple

import numpy as np

from engine.core.arguments import as_int, as_ints, normalize_axis
from engine.core.aval import Aval, broadcast_shapes
from engine.core.dtypes import INEXACT, int32, int64
from engine.core.kinds import check_dtype, multilinear, same_dtype
from engine.core.op import Layout, Op
from engine.core.operands import Operand, operands
from engine.core.sparsity import Links, Site, paired
from engine.core.structural import sum_to_like
from engine.core.sums import add_over
from engine.core.value import shape_of
from engine.ops.axis_args import static_axis
from engine.ops.diagonal import diagonal
from engine.ops.reduce import reduce_sum
from engine.ops.shape import transpose
from engine.ops.small_product import is_small, multiply_small
from engine.runtime.blas import few_threads, multiplications
from engine.runtime.cache import cached
from engine.runtime.errors import DTypeError, InvalidArgumentError, NotKnownYet, ShapeError
from engine.runtime.tuning import TUNING

_GUESS = 16
"""The size that a dimension counts for when it is not known yet and an order of multiplication must be chosen."""

# ---- the product of two tensors --------------------------------------------------------------------------------------


class _Plan(NamedTuple):
    """How to compute a product by one (stacked) matrix product."""

    swap: bool
    """Whether the operands change places, so that the result comes out in the right order."""
    order_a: tuple[int, ...]
    """Axes of the first operand: batch, free, summed."""
    order_b: tuple[int, ...]
    """Axes of the second operand: batch, summed, free."""
    batch: int
    free_a: int
    free_b: int
    order_out: tuple[int, ...]
    shared: tuple[tuple[int, int, bool], ...]
    """(axis of a, axis of b, whether it broadcasts) for each letter in both."""
    rowwise: str
    """The equation for NumPy's own einsum, if the product is one of rows (no free letters); else empty."""


def _split(equation: str) -> tuple[str, str, str]:
    terms, out = equation.split("->")
    a, b = terms.split(",")
    return a, b, out


@cached(4096)
def _plan(equation: str) -> _Plan:
    a, b, out = _split(equation)
    free = [letter for letter in out if (letter in a) != (letter in b)]
    swap = bool(free) and free[0] in b
    if swap:
        a, b = b, a
    batch = [letter for letter in out if letter in a and letter in b]
    free_a, free_b = [f for f in free if f in a], [f for f in free if f in b]
    summed = [letter for letter in a if letter in b and letter not in out]
    made = batch + free_a + free_b
    names = dict(zip(sorted(set(a + b)), ascii_letters, strict=False))
    return _Plan(
        swap,
        tuple(a.index(x) for x in batch + free_a + summed),
        tuple(b.index(x) for x in batch + summed + free_b),
        len(batch),
        len(free_a),
        len(free_b),
        tuple(made.index(x) for x in out),
        tuple((i, b.index(x), x.isdigit()) for i, x in enumerate(a) if x in b),
        "".join(names.get(x, x) for x in f"{a},{b}->{out}") if batch and not free else "",
    )


@few_threads(multiplications, TUNING.one_thread)
def _matmul(a: Any, b: Any) -> Any:
    """`numpy.matmul`, with as many threads as one product is worth."""
    return np.matmul(a, b)


def multiply_stacks(a: Any, b: Any) -> Any:
    """The product of stacks of matrices."""
    return multiply_small(a, b) if is_small(a.shape, b.shape, a.dtype) else _matmul(a, b)


def _einsum_kernel(a: Any, b: Any, *, equation: str) -> np.ndarray:
    plan = _plan(equation)
    if plan.swap:
        a, b = b, a
    if a.ndim != len(plan.order_a) or b.ndim != len(plan.order_b):
        raise ValueError("rank and number of letters differ")
    if any(a.shape[i] != b.shape[j] for i, j, _ in plan.shared):
        a, b = _matched(a, b, plan)
    numpy_a, numpy_b = a, b
    a, b = a.transpose(plan.order_a), b.transpose(plan.order_b)
    batch, free_a, summed = _cut(a.shape, plan.batch, plan.free_a)
    free_b = b.shape[b.ndim - plan.free_b :]
    if plan.rowwise and not is_small((*batch, 1, math.prod(summed)), (*batch, math.prod(summed), 1), a.dtype):
        return np.einsum(plan.rowwise, numpy_a, numpy_b)
    if not summed:
        a, b = a.reshape(a.shape + (1,) * plan.free_b), b.reshape(b.shape[: plan.batch] + (1,) * plan.free_a + free_b)
        return np.multiply(a.transpose(plan.order_out), b.transpose(plan.order_out), order="C")
    rows, columns, inner = math.prod(free_a), math.prod(free_b), math.prod(summed)
    a, b = a.reshape(*batch, rows, inner), b.reshape(*b.shape[: plan.batch], inner, columns)
    small = is_small(a.shape, b.shape, a.dtype)
    out = multiply_stacks(a, b)
    out = out.reshape(out.shape[: plan.batch] + free_a + free_b).transpose(plan.order_out)
    return out.copy() if small and not _in_order(plan) else out


def _in_order(plan: _Plan) -> bool:
    """Whether a product comes out with its axes in order."""
    return plan.order_out == tuple(range(len(plan.order_out)))


def adds_up_in_order(equation: str, a: Sequence[int], b: Sequence[int], dtype: np.dtype) -> bool:
    """Whether the product of operands of these shapes is one of numbers, or of stacks of small matrices."""
    plan = _plan(equation)
    if plan.swap:
        a, b = b, a
    if any(a[i] != b[j] for i, j, _ in plan.shared):
        return False
    batch, free_a, summed = _cut(tuple([a[i] for i in plan.order_a]), plan.batch, plan.free_a)
    columns = math.prod([b[j] for j in plan.order_b[len(plan.order_b) - plan.free_b :]]) if plan.free_b else 1
    inner = math.prod(summed)
    plain = not summed and not plan.rowwise
    return plain or is_small((*batch, math.prod(free_a), inner), (*batch, inner, columns), dtype)


def _matched(a: Any, b: Any, plan: _Plan) -> tuple[Any, Any]:
    """The operands, summed beforehand along a dimension that is summed and broadcasts; others are left to NumPy."""
    for i, j, broadcasts in plan.shared:
        n, m = a.shape[i], b.shape[j]
        if n != m and not (broadcasts and 1 in (n, m)):
            raise ValueError(f"dimensions {n} and {m} of one letter differ")
        if i in plan.order_a[plan.batch + plan.free_a :]:
            a = add_over(a, i, keepdims=True) if m == 1 else a
            b = add_over(b, j, keepdims=True) if n == 1 else b
    return a, b


def _cut(shape: tuple[int, ...], first: int, second: int) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    return shape[:first], shape[first : first + second], shape[first + second :]


MULTIPLIED = INEXACT | {int32, int64}
"""Sums of products of smaller integers do not fit into these."""


def _einsum_abstract(a: Aval, b: Aval, *, equation: str) -> Aval:
    check_dtype("einsum", "inputs", a, MULTIPLIED)
    dtype = same_dtype("einsum", ("*inputs",), (a, b))
    *terms, out = _split(equation)
    sizes: dict[str, list[int | None]] = {}
    for term, x in zip(terms, (a, b), strict=True):
        _check_rank(term, x)
        for letter, dim in zip(term, x.shape or (None,) * len(term), strict=True):
            sizes.setdefault(letter, []).append(dim)
    dims = {letter: _common_size(letter, each, equation) for letter, each in sizes.items()}
    return Aval(tuple(dims[letter] for letter in out), dtype)


def _common_size(letter: str, sizes: Sequence[int | None], equation: str) -> int | None:
    """The size of a dimension, given its size in each operand that has it."""
    if letter.isdigit():
        (dim,) = broadcast_shapes("einsum", *[(d,) for d in sizes]) or (None,)
        return dim
    known = {d for d in sizes if d is not None}
    if len(known) > 1:
        raise ShapeError(f"einsum: dimension `{letter}` of equation {equation} must have one size, got {sizes}")
    return known.pop() if known else None


def _check_rank(letters: str, x: Aval) -> None:
    if x.shape is not None and len(x.shape) != len(letters):
        raise ShapeError(f"einsum: `{letters}` names {len(letters)} dimensions, but the operand is {x}")


def _einsum_batch(
    op: Op, size: int, flags: tuple[bool, ...], inputs: tuple[Any, ...], params: dict[str, Any]
) -> Operand:
    a, b, out = _split(params["equation"])
    new = next(letter for letter in ascii_letters if letter not in a + b)
    return op(*inputs, equation=f"{new * flags[0]}{a},{new * flags[1]}{b}->{new}{out}")


def _einsum_da(ct: Any, a: Any, b: Any, *, equation: str) -> Operand:
    of_a, of_b, out = _split(equation)
    return sum_to_like(einsum_op(ct, b, equation=f"{out},{of_b}->{of_a}"), a)


def _einsum_db(ct: Any, a: Any, b: Any, *, equation: str) -> Operand:
    of_a, of_b, out = _split(equation)
    return sum_to_like(einsum_op(a, ct, equation=f"{of_a},{out}->{of_b}"), b)


def _einsum_sparsity(site: Site, i: int) -> Sequence[Links]:
    *terms, out = _split(site.params["equation"])
    pairs = [(out.index(letter), at) for at, letter in enumerate(terms[i]) if letter in out]
    return [[paired(site.shapes[i], site.results[0], pairs)]]


def _einsum_layout(avals: Any, params: dict[str, Any]) -> Layout:
    plan = _plan(params["equation"])
    a, b = [x.shape for x in avals]
    if a and b and None not in (*a, *b) and adds_up_in_order(params["equation"], a, b, avals[0].dtype.numpy):
        return Layout.FRESH
    summed = len(plan.order_a) > plan.batch + plan.free_a
    one_product = summed and not plan.rowwise and not plan.batch and _in_order(plan)
    return Layout.FRESH if one_product else Layout.ANY


einsum_op = multilinear(
    "einsum_op",
    _einsum_kernel,
    (_einsum_da, _einsum_db),
    _einsum_abstract,
    _einsum_batch,
    type="Einsum",
    args=("a", "b"),
    sparsity=_einsum_sparsity,
    layout=_einsum_layout,
    doc="Product of two tensors. No letter of `equation` repeats within an operand, and each occurs at least twice.",
)


# ---- einsum ----------------------------------------------------------------------------------------------------------


@operands("*inputs")
def einsum(equation: str, *inputs: Any) -> Operand:
    """Sum of products of tensors, in Einstein's notation.

    Parameters
    ----------
    equation : str
        One letter per dimension, operands separated by commas, then ``->`` and the letters of the result. Letters
        missing there are summed over. Without ``->``, the result has the letters that occur once, in alphabetical
        order. ``...`` stands for any number of dimensions, which are broadcast.
    *inputs : value
        The operands, of one dtype.

    Raises
    ------
    InvalidArgumentError
        If the equation is malformed or does not fit the operands (then a ShapeError).

    Examples
    --------
    >>> einsum("ij,j->i", np.array([[1., 2.], [3., 4.]]), np.array([1., 1.]))
    array([3., 7.])
    """
    shapes = [shape_of(x) for x in inputs]
    if not isinstance(equation, str):
        raise DTypeError(f"einsum: argument `equation` must be a string, got {equation!r}")
    terms, out = _parse(equation, tuple([None if shape is None else len(shape) for shape in shapes]))
    pairs = [
        _reduced(x, letters, set(out).union(*terms[:i], *terms[i + 1 :]))
        for i, (x, letters) in enumerate(zip(inputs, terms, strict=True))
    ]
    while len(pairs) > 1:
        i, j = (0, 1) if len(pairs) == 2 else _cheapest(pairs, out)
        (a, of_a), (b, of_b) = pairs[i], pairs[j]
        rest = [p for k, p in enumerate(pairs) if k not in (i, j)]
        kept = out if not rest else _kept(of_a + of_b, rest, out)
        pairs = [*rest, (einsum_op(a, b, equation=f"{of_a},{of_b}->{kept}"), kept)]
    x, letters = pairs[0]
    return x if letters == out else transpose(x, [letters.index(letter) for letter in out])


def _kept(letters: str, rest: Sequence[tuple[Any, str]], out: str) -> str:
    """The letters that are needed later, each once."""
    later = set(out).union(*(r for _, r in rest))
    return "".join(letter for letter in dict.fromkeys(letters) if letter in later)


def _cheapest(pairs: Sequence[tuple[Any, str]], out: str) -> tuple[int, int]:
    """The two operands whose product is smallest."""
    return min(combinations(range(len(pairs)), 2), key=lambda pair: _result_size(pairs, pair, out))


def _result_size(pairs: Sequence[tuple[Any, str]], pair: tuple[int, int], out: str) -> int:
    """How many elements the product of a pair of operands has, as far as is known."""
    dims: dict[str, int] = {}
    for k in pair:
        x, letters = pairs[k]
        shape = shape_of(x) or (None,) * len(letters)
        for letter, dim in zip(letters, shape, strict=True):
            dims[letter] = max(dims.get(letter, 0), _GUESS if dim is None else dim)
    rest = [p for k, p in enumerate(pairs) if k not in pair]
    return math.prod(dims[letter] for letter in _kept(pairs[pair[0]][1] + pairs[pair[1]][1], rest, out))


def _reduced(x: Any, letters: str, needed: set[str]) -> tuple[Any, str]:
    """An operand with diagonals taken for repeated letters and the letters summed away that nothing else needs."""
    for letter in dict.fromkeys(letters):
        while letters.count(letter) > 1:
            i = letters.index(letter)
            j = letters.index(letter, i + 1)
            order = [k for k in range(len(letters)) if k not in (i, j)]
            x = diagonal(_square(transpose(x, [*order, i, j]), letter))
            letters = "".join(letters[k] for k in order) + letter
    lone = [k for k, letter in enumerate(letters) if letter not in needed]
    if lone:
        x = reduce_sum(x, axis=[k - len(letters) for k in lone])
    return x, "".join(letter for letter in letters if letter in needed)


def _square(x: Any, letter: str) -> Operand:
    n, m = (shape_of(x) or (None, None))[-2:]
    if n != m and n is not None and m is not None:
        raise ShapeError(f"einsum: dimension `{letter}` is both {n} and {m} in one operand")
    return x


@cached(1024)
def _parse(equation: str, ranks: tuple[int | None, ...]) -> tuple[list[str], str]:
    """The letters of each operand and of the result, with digits for ellipses."""
    compact = equation.replace(" ", "")
    left, arrow, out = compact.partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise InvalidArgumentError(f"einsum: equation {equation!r} has {len(terms)} operands, but got {len(ranks)}")
    for term in (*terms, out):
        letters = term.replace("...", "", 1)
        if not all(letter in ascii_letters for letter in letters):
            raise InvalidArgumentError(f"einsum: equation {equation!r} may have letters, `...`, `,` and one `->`")
    if not arrow:
        present = left.replace(",", "").replace(".", "")
        out = "..." * ("..." in left) + "".join(sorted(x for x in set(present) if present.count(x) == 1))
    if len(set(out) - {"."}) != len(out.replace("...", "")):
        raise InvalidArgumentError(f"einsum: equation {equation!r} repeats a letter in its result")
    if missing := set(out) - set(left):
        raise InvalidArgumentError(f"einsum: equation {equation!r} has {sorted(missing)} in its result only")
    expanded = [_with_digits(term, rank) for term, rank in zip(terms, ranks, strict=True)]
    digits = max((("".join(c for c in term if c.isdigit())) for term in expanded), key=len)
    if digits and "..." not in out:
        raise InvalidArgumentError(f"einsum: equation {equation!r} must have `...` in its result too")
    return expanded, out.replace("...", digits)


def _with_digits(term: str, rank: int | None) -> str:
    """The operand's letters, its ellipsis replaced by one digit per axis, counted from the right."""
    letters = term.replace("...", "")
    if rank is None and letters == term:
        return term
    if rank is None:
        raise NotKnownYet(f"einsum: the rank of the operand `{term}` must be known; give it one with set_shape")
    count = rank - len(letters)
    if not 0 <= count <= (0 if letters == term else 10):
        raise ShapeError(f"einsum: `{term}` names {len(letters)} dimensions, but the operand has {rank}")
    return term.replace("...", "9876543210"[10 - count :])


@operands("a", "b")
def tensordot(a: Any, b: Any, axes: Any) -> Operand:
    """Sum of products over pairs of axes.

    Parameters
    ----------
    a, b : value
    axes : int or pair of (int or sequence of int)
        Which axes of `a` and of `b` to sum over; a number n means the last n of `a` with the first n of `b`.

    Returns
    -------
    value
        Its dimensions are the remaining ones of `a`, then those of `b`.

    Examples
    --------
    >>> tensordot(np.ones((2, 3, 4)), np.ones((4, 3, 5)), [[1, 2], [1, 0]]).shape
    (2, 5)
    """
    shapes = shape_of(a), shape_of(b)
    if shapes[0] is None or shapes[1] is None:
        raise NotKnownYet("tensordot: the ranks of `a` and `b` must be known; give them one with set_shape")
    ranks = len(shapes[0]), len(shapes[1])
    axes = static_axis("tensordot", axes, "axes")
    if isinstance(axes, (list, tuple)):
        axes = [static_axis("tensordot", side, "axes") for side in axes]
    if not isinstance(axes, (list, tuple)):
        count = as_int("tensordot", "axes", axes, 0)
        if count > min(ranks):
            raise ShapeError(f"tensordot: argument `axes` must be at most the rank of each operand {ranks}, got {axes}")
        axes = range(ranks[0] - count, ranks[0]), range(count)
    pairs = [as_ints("tensordot", "axes", side) for side in axes]
    if any(len({k % rank if rank else k for k in side}) < len(side) for side, rank in zip(pairs, ranks, strict=True)):
        raise ShapeError(f"tensordot: argument `axes` names a dimension twice: {axes}")
    if len(pairs) != 2 or len(pairs[0]) != len(pairs[1]):
        raise ShapeError(f"tensordot: argument `axes` must name as many axes of `a` as of `b`, got {axes}")
    of_a = list(ascii_letters[: ranks[0]])
    of_b = list(ascii_letters[ranks[0] : sum(ranks)])
    for i, j in zip(*pairs, strict=True):
        of_b[normalize_axis("tensordot", j, ranks[1], "axes")] = of_a[normalize_axis("tensordot", i, ranks[0], "axes")]
    out = [x for x in of_a if x not in of_b] + [x for x in of_b if x not in of_a]
    return einsum_op(a, b, equation=f"{''.join(of_a)},{''.join(of_b)}->{''.join(out)}")
