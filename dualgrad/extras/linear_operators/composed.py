"""Operators that are made of others: products, adjoints, inverses, blocks, Kronecker products, low-rank updates."""

from __future__ import annotations

import functools
import operator as python
from collections.abc import Sequence
from typing import Any

from dualgrad.extras.linear_operators.base import LinearOperator, broadcast_batch, shape_of_operator
from engine.core.dtypes import DType
from engine.core.value import shape_of
from engine.runtime.errors import NotKnownYet

Hint = bool | None


def _listed(name: str, operators: Any) -> list[LinearOperator]:
    """Operators of one dtype.

    Raises
    ------
    ValueError
        If there are none.
    TypeError
        If their dtypes differ.
    """
    listed = list(operators)
    if not listed:
        raise ValueError(f"{name}: argument `operators` must hold at least one operator")
    _one_dtype(name, listed)
    return listed


def _one_dtype(name: str, operators: Sequence[LinearOperator]) -> DType:
    dtypes = {o.dtype.name for o in operators}
    if len(dtypes) > 1:
        raise TypeError(f"{name}: expected all operators to have the same dtype, found {', '.join(sorted(dtypes))}")
    return operators[0].dtype


def _all(operators: Sequence[LinearOperator], hint: str) -> Hint:
    return True if all(getattr(o, hint) for o in operators) else None


def _sizes(operators: Sequence[LinearOperator], axis: int) -> list[int]:
    """The numbers of rows (axis -2) or columns (-1).

    Raises
    ------
    NotKnownYet
        If one is not known.
    """
    sizes = [(shape_of_operator(o) or (None,) * 2)[axis] for o in operators]
    if None in sizes:
        raise NotKnownYet(f"LinearOperator: the shapes of {[o.name for o in operators]} must be known")
    return [int(n or 0) for n in sizes]


class LinearOperatorComposition(LinearOperator):
    """Products of operators, the first on the left."""

    def __init__(
        self, operators: Any, is_non_singular: Hint = None, is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None, is_square: Hint = None, name: str | None = None,
    ) -> None:  # fmt: skip
        self._operators = _listed("LinearOperatorComposition", operators)
        for left, right in zip(self._operators, self._operators[1:], strict=False):
            inner = [(shape_of_operator(left) or (None,))[-1], (shape_of_operator(right) or (None, None))[-2]]
            if None not in inner and inner[0] != inner[1]:
                raise ValueError(
                    f"LinearOperatorComposition: {left.name} of shape {left.shape} cannot be multiplied by "
                    f"{right.name} of shape {right.shape}"
                )
        non_singular = _all(self._operators, "is_non_singular")
        super().__init__(
            self._operators[0].dtype, None, non_singular if is_non_singular is None else is_non_singular,
            is_self_adjoint, is_positive_definite, is_square, name or "_o_".join(o.name for o in self._operators),
            {"operators": operators},
        )  # fmt: skip

    @property
    def operators(self) -> list[LinearOperator]:
        """The factors."""
        return self._operators

    def _shape(self) -> Any:
        batch = broadcast_batch(self._operators)
        first, last = shape_of_operator(self._operators[0]), shape_of_operator(self._operators[-1])
        return None if batch is None or first is None or last is None else (*batch, first[-2], last[-1])

    def _to_dense(self) -> Any:
        result = self._operators[-1].to_dense()
        for factor in self._operators[-2::-1]:
            result = factor.matmul(result)
        return result

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        factors = self._operators if adjoint else self._operators[::-1]
        result = factors[0].matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)
        for factor in factors[1:]:
            result = factor.matmul(result, adjoint=adjoint)
        return result

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        factors = self._operators[::-1] if adjoint else self._operators
        result = factors[0].solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
        for factor in factors[1:]:
            result = factor.solve(result, adjoint=adjoint)
        return result

    def _are_square(self) -> bool:
        return all(o.is_square for o in self._operators)

    def _determinant(self) -> Any:
        if not self._are_square():
            return super()._determinant()
        return functools.reduce(python.mul, [o.determinant() for o in self._operators])

    def _log_abs_determinant(self) -> Any:
        if not self._are_square():
            return super()._log_abs_determinant()
        return functools.reduce(python.add, [o.log_abs_determinant() for o in self._operators])


class LinearOperatorAdjoint(LinearOperator):
    """The adjoint of an operator."""

    def __init__(
        self, operator: LinearOperator, is_non_singular: Hint = None, is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None, is_square: Hint = None, name: str | None = None,
    ) -> None:  # fmt: skip
        self._operator = operator
        super().__init__(
            operator.dtype, None,
            operator.is_non_singular if is_non_singular is None else is_non_singular,
            operator.is_self_adjoint if is_self_adjoint is None else is_self_adjoint,
            operator.is_positive_definite if is_positive_definite is None else is_positive_definite,
            operator.is_square if is_square is None else is_square, name or f"{operator.name}_adjoint",
            {"operator": operator},
        )  # fmt: skip

    @property
    def operator(self) -> LinearOperator:
        """The operator that this is the adjoint of."""
        return self._operator

    def _shape(self) -> Any:
        shape = shape_of_operator(self._operator)
        return None if shape is None else (*shape[:-2], shape[-1], shape[-2])

    def _to_dense(self) -> Any:
        return self.tf.linalg.adjoint(self._operator.to_dense())

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._operator.matmul(x, adjoint=not adjoint, adjoint_arg=adjoint_arg)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._operator.solve(rhs, adjoint=not adjoint, adjoint_arg=adjoint_arg)

    def _determinant(self) -> Any:
        return self.tf.math.conj(self._operator.determinant())

    def _log_abs_determinant(self) -> Any:
        return self._operator.log_abs_determinant()

    def _linop_adjoint(self) -> LinearOperator:
        return self._operator

    def _linop_inverse(self) -> LinearOperator:
        return self._operator.inverse().adjoint()


class LinearOperatorInversion(LinearOperator):
    """The inverse of an operator; its products are that one's solutions."""

    def __init__(
        self, operator: LinearOperator, is_non_singular: Hint = None, is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None, is_square: Hint = None, name: str | None = None,
    ) -> None:  # fmt: skip
        if operator.is_square is False:
            raise ValueError("Cannot create an Inversion of a non-square operator.")
        if False in (operator.is_non_singular, is_non_singular):
            raise ValueError("operator must be non-singular.")
        self._operator = operator
        super().__init__(
            operator.dtype, None, True,
            operator.is_self_adjoint if is_self_adjoint is None else is_self_adjoint,
            operator.is_positive_definite if is_positive_definite is None else is_positive_definite,
            True, name or f"{operator.name}_inv", {"operator": operator},
        )  # fmt: skip

    @property
    def operator(self) -> LinearOperator:
        """The operator that this is the inverse of."""
        return self._operator

    def _shape(self) -> Any:
        return shape_of_operator(self._operator)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._operator.solve(x, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._operator.matmul(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _determinant(self) -> Any:
        return 1 / self._operator.determinant()

    def _log_abs_determinant(self) -> Any:
        return -self._operator.log_abs_determinant()

    def _linop_inverse(self) -> LinearOperator:
        return self._operator


class _OneByOne(LinearOperator):
    """Several operators; the adjoint, the inverse and the Cholesky factor are made of those of each."""

    _kind = ""
    """The class, without ``LinearOperator``."""
    _size: Any
    """Of the sizes of two operators, that of both."""

    operators: Any

    def _shape(self) -> Any:
        batch = broadcast_batch(self.operators)
        if batch is None:
            return None
        sizes = [[(shape_of_operator(o) or (None,) * 2)[axis] for o in self.operators] for axis in (-2, -1)]
        return (*batch, *[None if None in n else functools.reduce(self._size, n) for n in sizes])

    def _each(self, what: str, **hints: Any) -> LinearOperator:
        return self._like(self._kind, [getattr(o, what)() for o in self.operators], **hints)

    def _linop_adjoint(self) -> LinearOperator:
        return self._each("adjoint")

    def _linop_inverse(self) -> LinearOperator:
        return self._each("inverse", is_non_singular=self.is_non_singular)

    def _linop_cholesky(self) -> LinearOperator:
        if not all(o.is_positive_definite and o.is_self_adjoint for o in self.operators):
            return super()._linop_cholesky()
        return self._each("cholesky", is_non_singular=True)


class LinearOperatorKronecker(_OneByOne):
    """Kronecker products of operators."""

    _kind, _size = "Kronecker", python.mul

    def __init__(
        self, operators: Any, is_non_singular: Hint = None, is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None, is_square: Hint = None, name: str | None = None,
    ) -> None:  # fmt: skip
        self._operators = _listed("LinearOperatorKronecker", operators)
        known = {h: _all(self._operators, h) for h in ("is_non_singular", "is_self_adjoint", "is_positive_definite")}
        super().__init__(
            self._operators[0].dtype, None,
            known["is_non_singular"] if is_non_singular is None else is_non_singular,
            known["is_self_adjoint"] if is_self_adjoint is None else is_self_adjoint,
            known["is_positive_definite"] if is_positive_definite is None else is_positive_definite,
            _all(self._operators, "is_square") if is_square is None else is_square,
            name or "_x_".join(o.name for o in self._operators), {"operators": operators},
        )  # fmt: skip

    @property
    def operators(self) -> list[LinearOperator]:
        """The factors."""
        return self._operators

    def _through(self, x: Any, apply: Any, before: list[int], after: list[int]) -> Any:
        """``apply(i, x)`` for the axis of each factor: sizes go from `before` to `after`."""
        tf = self.tf
        columns = tf.shape(x)[-1]
        for i in range(len(self._operators)):
            left = functools.reduce(python.mul, after[:i], 1)
            right = functools.reduce(python.mul, before[i + 1 :], 1)
            outer = tf.shape(x)[:-2]
            apart = tf.reshape(x, tf.concat([outer, tf.stack([left, before[i], right * columns])], 0))
            rank = len(shape_of(apart) or ()) or 3
            swap = [*range(rank - 3), rank - 2, rank - 3, rank - 1]
            front = tf.transpose(apart, swap)
            flat = tf.reshape(front, tf.concat([outer, tf.stack([before[i], left * right * columns])], 0))
            done = apply(i, flat)
            outer = tf.shape(done)[:-2]
            back = tf.reshape(done, tf.concat([outer, tf.stack([after[i], left, right * columns])], 0))
            rank = len(shape_of(back) or ()) or 3
            back = tf.transpose(back, [*range(rank - 3), rank - 2, rank - 3, rank - 1])
            x = tf.reshape(back, tf.concat([outer, tf.stack([left * after[i] * right, columns])], 0))
        return x

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        x = self.tf.linalg.adjoint(x) if adjoint_arg else x
        columns, rows = _sizes(self._operators, -1), _sizes(self._operators, -2)
        before, after = (rows, columns) if adjoint else (columns, rows)
        return self._through(x, lambda i, flat: self._operators[i].matmul(flat, adjoint=adjoint), before, after)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        rhs = self.tf.linalg.adjoint(rhs) if adjoint_arg else rhs
        sizes = _sizes(self._operators, -1)
        return self._through(rhs, lambda i, flat: self._operators[i].solve(flat, adjoint=adjoint), sizes, sizes)

    def _to_dense(self) -> Any:
        tf = self.tf
        product = self._operators[0].to_dense()
        for factor in self._operators[1:]:
            dense = factor.to_dense()
            wide = product[..., :, None, :, None] * dense[..., None, :, None, :]
            shape = tf.shape(wide)
            rows, columns = shape[-4] * shape[-3], shape[-2] * shape[-1]
            product = tf.reshape(wide, tf.concat([shape[:-4], tf.stack([rows, columns])], 0))
        return product

    def _outer(self, parts: list[Any]) -> Any:
        """Products of all elements of vectors, in order."""
        tf = self.tf
        product = parts[0]
        for part in parts[1:]:
            wide = product[..., :, None] * part[..., None, :]
            product = tf.reshape(wide, tf.concat([tf.shape(wide)[:-2], [-1]], 0))
        return product

    def _diag_part(self) -> Any:
        if not all(o.is_square for o in self._operators):
            return super()._diag_part()
        return self._outer([o.diag_part() for o in self._operators])

    def _trace(self) -> Any:
        if not all(o.is_square for o in self._operators):
            return super()._trace()
        return functools.reduce(python.mul, [o.trace() for o in self._operators])

    def _eigvals(self) -> Any:
        return self._outer([o.eigvals() for o in self._operators])

    def _powers(self) -> list[Any]:
        sizes = _sizes(self._operators, -1)
        total = functools.reduce(python.mul, sizes)
        return [self.dtype.as_numpy_dtype(total // n) for n in sizes]

    def _determinant(self) -> Any:
        pairs = zip(self._operators, self._powers(), strict=True)
        return functools.reduce(python.mul, [o.determinant() ** n for o, n in pairs])

    def _log_abs_determinant(self) -> Any:
        pairs = zip(self._operators, self._powers(), strict=True)
        return functools.reduce(python.add, [o.log_abs_determinant() * n for o, n in pairs])

    def _cond(self) -> Any:
        return functools.reduce(python.mul, [o.cond() for o in self._operators])


class LinearOperatorBlockLowerTriangular(LinearOperator):
    """Operators in the lower triangle of a matrix of blocks: a list for each row, one longer each time."""

    def __init__(
        self, operators: Any, is_non_singular: Hint = None, is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None, is_square: Hint = None, name: str = "LinearOperatorBlockLowerTriangular",
    ) -> None:  # fmt: skip
        self._rows = [list(row) for row in operators]
        if not self._rows or [len(row) for row in self._rows] != list(range(1, len(self._rows) + 1)):
            raise ValueError(
                f"{type(self).__name__}: argument `operators` must hold rows of 1, 2, ... operators, got rows of "
                f"{[len(row) for row in self._rows]}"
            )
        self._every = [o for row in self._rows for o in row if o is not None]
        dtype = _one_dtype(type(self).__name__, self._every)
        self._on = [row[-1] for row in self._rows]
        if is_square is False or any(o.is_square is False for o in self._on):
            raise ValueError(f"{type(self).__name__}: the operators on the diagonal must be square")
        super().__init__(
            dtype, None, _all(self._on, "is_non_singular") if is_non_singular is None else is_non_singular,
            is_self_adjoint, is_positive_definite, True, name, {"operators": operators},
        )  # fmt: skip

    @property
    def operators(self) -> Any:
        """The blocks."""
        return self._rows

    def _shape(self) -> Any:
        batch = broadcast_batch(self._every)
        if batch is None:
            return None
        sizes = [(shape_of_operator(o) or (None,) * 2)[-2] for o in self._on]
        total = None if None in sizes else sum(n or 0 for n in sizes)
        return (*batch, total, total)

    def _parts(self, x: Any, axis: int) -> list[Any]:
        """The parts of a tensor that belong to the blocks."""
        return list(self.tf.split(x, _sizes(self._on, axis), -2))

    def _joined(self, parts: list[Any]) -> Any:
        """Parts below each other, of one batch."""
        tf = self.tf
        batches = [(shape_of(part) or ())[:-2] for part in parts]
        if len(set(batches)) > 1:
            batch = functools.reduce(tf.broadcast_dynamic_shape, [tf.shape(part)[:-2] for part in parts])
            parts = [tf.broadcast_to(p, tf.concat([batch, tf.shape(p)[-2:]], 0)) for p in parts]
        return tf.concat(parts, -2)

    def _block(self, i: int, j: int) -> LinearOperator | None:
        block: LinearOperator | None = self._rows[i][j] if j <= i else None
        return block

    def _summed(self, i: int, parts: list[Any], adjoint: bool, only: Sequence[int]) -> Any:
        """The sum of blocks times parts that row i has, or column i of the adjoint."""
        total: Any = None
        for j in only:
            block = self._block(j, i) if adjoint else self._block(i, j)
            if block is not None:
                term = block.matmul(parts[j], adjoint=adjoint)
                total = term if total is None else total + term
        return total

    def matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str | None = None) -> Any:
        """The product with matrices, with another operator, or with a list of one matrix for each block."""
        if not isinstance(x, (list, tuple)) or not _are_blocks(x, self._on):
            return super().matmul(x, adjoint, adjoint_arg)
        tf = self.tf
        parts = [tf.linalg.adjoint(tf.convert_to_tensor(p)) if adjoint_arg else tf.convert_to_tensor(p) for p in x]
        count = range(len(self._rows))
        return [self._summed(i, parts, adjoint, count) for i in count]

    def solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str | None = None) -> Any:
        """Solutions for matrices, for another operator, or for a list of one matrix for each block."""
        if not isinstance(rhs, (list, tuple)) or not _are_blocks(rhs, self._on):
            return super().solve(rhs, adjoint, adjoint_arg)
        tf = self.tf
        parts = [tf.linalg.adjoint(tf.convert_to_tensor(p)) if adjoint_arg else tf.convert_to_tensor(p) for p in rhs]
        return self._solved(parts, adjoint)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        x = self.tf.linalg.adjoint(x) if adjoint_arg else x
        parts, count = self._parts(x, -1), range(len(self._rows))
        return self._joined([self._summed(i, parts, adjoint, count) for i in count])

    def _solved(self, parts: list[Any], adjoint: bool) -> list[Any]:
        """Substitution, from the first block on, or from the last one of the adjoint."""
        count = len(self._rows)
        solved: list[Any] = [None] * count
        order = list(range(count - 1, -1, -1) if adjoint else range(count))
        for at, i in enumerate(order):
            known = self._summed(i, solved, adjoint, order[:at])
            solved[i] = self._on[i].solve(parts[i] if known is None else parts[i] - known, adjoint=adjoint)
        return solved

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        rhs = self.tf.linalg.adjoint(rhs) if adjoint_arg else rhs
        return self._joined(self._solved(self._parts(rhs, -2), adjoint))

    def _diag_part(self) -> Any:
        return self._joined([o.diag_part()[..., None] for o in self._on])[..., 0]

    def _trace(self) -> Any:
        return functools.reduce(python.add, [o.trace() for o in self._on])

    def _determinant(self) -> Any:
        return functools.reduce(python.mul, [o.determinant() for o in self._on])

    def _log_abs_determinant(self) -> Any:
        return functools.reduce(python.add, [o.log_abs_determinant() for o in self._on])

    def _eigvals(self) -> Any:
        return self._joined([o.eigvals()[..., None] for o in self._on])[..., 0]


def _are_blocks(x: Any, operators: Sequence[LinearOperator]) -> bool:
    """Whether a list holds one matrix for each block: a list of numbers is a matrix."""
    ranks = [len(shape_of(part) or ()) if hasattr(part, "shape") else 0 for part in x]
    return len(x) == len(operators) and min(ranks) >= 2


class LinearOperatorBlockDiag(_OneByOne, LinearOperatorBlockLowerTriangular):
    """Operators on the diagonal of a matrix of blocks."""

    _kind, _size = "BlockDiag", python.add

    def __init__(
        self, operators: Any, is_non_singular: Hint = None, is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None, is_square: Hint = True, name: str | None = None,
    ) -> None:  # fmt: skip
        self._on = _listed("LinearOperatorBlockDiag", operators)
        self._every = self._on
        self._rows = [[None] * i + [o] for i, o in enumerate(self._on)]
        known = {h: _all(self._on, h) for h in ("is_non_singular", "is_self_adjoint", "is_positive_definite")}
        given = {
            "is_non_singular": is_non_singular,
            "is_self_adjoint": is_self_adjoint,
            "is_positive_definite": is_positive_definite,
        }
        LinearOperator.__init__(
            self, self._on[0].dtype, **{h: known[h] if v is None else v for h, v in given.items()},
            name=name or "_ds_".join(o.name for o in self._on), parameters={"operators": operators},
        )  # fmt: skip

    @property
    def operators(self) -> Any:
        """The blocks."""
        return self._on

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        x = self.tf.linalg.adjoint(x) if adjoint_arg else x
        parts = self._parts(x, -2 if adjoint else -1)
        return self._joined([o.matmul(p, adjoint=adjoint) for o, p in zip(self._on, parts, strict=True)])


class LinearOperatorLowRankUpdate(LinearOperator):
    """``L + U D V*`` of an operator L, thin matrices U and V, and a small diagonal D.

    Solutions are those of the Woodbury matrix identity, determinants those of the matrix determinant lemma.
    """

    def __init__(
        self, base_operator: LinearOperator, u: Any, diag_update: Any = None, v: Any = None,
        is_diag_update_positive: Hint = None, is_non_singular: Hint = None, is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None, is_square: Hint = None, name: str = "LinearOperatorLowRankUpdate",
    ) -> None:  # fmt: skip
        self._base = base_operator
        self._u = self._tensor(u, "u", 2)
        self._v = self._u if v is None else self._tensor(v, "v", 2)
        self._diag = None if diag_update is None else self._tensor(diag_update, "diag_update", 1)
        self.is_diag_update_positive = True if diag_update is None else is_diag_update_positive
        symmetric = (
            v is None
            and base_operator.is_self_adjoint
            and not (self._diag is not None and self._diag.dtype.is_complex and not is_diag_update_positive)
        )
        definite = symmetric and base_operator.is_positive_definite and self.is_diag_update_positive
        if is_self_adjoint is None and symmetric:
            is_self_adjoint = True
        if is_positive_definite is None and definite:
            is_positive_definite = True
        for tensor, what in ((self._u, "u"), (self._v, "v"), (self._diag, "diag_update")):
            if tensor is not None and tensor.dtype.name != base_operator.dtype.name:
                raise TypeError(
                    f"LinearOperatorLowRankUpdate: argument `{what}` must have the dtype {base_operator.dtype.name}, "
                    f"got {tensor.dtype.name}"
                )
        super().__init__(
            base_operator.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name,
            {"base_operator": base_operator, "u": u, "diag_update": diag_update, "v": v},
        )  # fmt: skip

    @property
    def base_operator(self) -> LinearOperator:
        """The operator that is updated."""
        return self._base

    @property
    def u(self) -> Any:
        """The left factor."""
        return self._u

    @property
    def v(self) -> Any:
        """The right factor."""
        return self._v

    @property
    def diag_update(self) -> Any:
        """The diagonal between them, or None."""
        return self._diag

    @property
    def diag_operator(self) -> LinearOperator:
        """The diagonal as an operator."""
        if self._diag is not None:
            return self._like("Diag", self._diag, is_positive_definite=self.is_diag_update_positive)
        return self._like("Identity", (shape_of(self._u) or (None,))[-1], dtype=self.dtype)

    def _shape(self) -> Any:
        shape, u = shape_of_operator(self._base), shape_of(self._u)
        if shape is None or u is None:
            return shape
        batch = broadcast_batch([self._base, self._like("FullMatrix", self._u), self._like("FullMatrix", self._v)])
        return None if batch is None else (*batch, *shape[-2:])

    def _to_dense(self) -> Any:
        tf = self.tf
        return self._base.to_dense() + tf.linalg.matmul(self._scaled(self._u), self._v, adjoint_b=True)

    def _scaled(self, u: Any) -> Any:
        return u if self._diag is None else u * self._diag[..., None, :]

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        tf = self.tf
        x = tf.linalg.adjoint(x) if adjoint_arg else x
        u, v = (self._v, self._u) if adjoint else (self._u, self._v)
        diagonal = None if self._diag is None else tf.math.conj(self._diag) if adjoint else self._diag
        inner = tf.linalg.matmul(v, x, adjoint_a=True)
        inner = inner if diagonal is None else diagonal[..., None] * inner
        return self._base.matmul(x, adjoint=adjoint) + tf.linalg.matmul(u, inner)

    def _capacitance(self) -> Any:
        """``1 / D + V* L**-1 U``."""
        tf = self.tf
        inner = tf.linalg.matmul(self._v, self._base.solve(self._u), adjoint_a=True)
        return inner + self.diag_operator.inverse().to_dense()

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        tf = self.tf
        rhs = tf.linalg.adjoint(rhs) if adjoint_arg else rhs
        u, v = (self._v, self._u) if adjoint else (self._u, self._v)
        first = self._base.solve(rhs, adjoint=adjoint)
        small = self._like("FullMatrix", self._capacitance())
        inner = small.solve(tf.linalg.matmul(v, first, adjoint_a=True), adjoint=adjoint)
        return first - self._base.solve(tf.linalg.matmul(u, inner), adjoint=adjoint)

    def _determinant(self) -> Any:
        small = self.tf.linalg.det(self._capacitance()) * self.diag_operator.determinant()
        return self._base.determinant() * small

    def _log_abs_determinant(self) -> Any:
        small = self.tf.math.log(self.tf.abs(self.tf.linalg.det(self._capacitance())))
        small = self.tf.cast(small, self.dtype)
        return self._base.log_abs_determinant() + self.diag_operator.log_abs_determinant() + small

    def _linop_adjoint(self) -> LinearOperator:
        diagonal = None if self._diag is None else self.tf.math.conj(self._diag)
        return self._like("LowRankUpdate", self._base.adjoint(), self._v, diagonal, self._u)
