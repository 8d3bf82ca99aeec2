"""Operators that are given by their elements: full, triangular, diagonal, identities, zeros."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from dualgrad.extras.linear_operators.base import LinearOperator, same_batch, shape_of_operator
from engine.core.dtypes import as_dtype, float32
from engine.core.value import shape_of
from engine.runtime.errors import InvalidArgumentError

Hint = bool | None


class LinearOperatorFullMatrix(LinearOperator):
    """Matrices of which all elements are given, ``[..., rows, columns]``."""

    def __init__(
        self, matrix: Any, is_non_singular: Hint = None, is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None, is_square: Hint = None, name: str = "LinearOperatorFullMatrix",
    ) -> None:  # fmt: skip
        self._matrix = self._tensor(matrix, "matrix", 2)
        super().__init__(
            self._matrix.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name,
            {"matrix": matrix},
        )  # fmt: skip

    @property
    def matrix(self) -> Any:
        """The matrices."""
        return self._matrix

    def _to_dense(self) -> Any:
        return self._matrix


class LinearOperatorLowerTriangular(LinearOperator):
    """Lower triangular matrices; what stands above their diagonals is not read."""

    def __init__(
        self, tril: Any, is_non_singular: Hint = None, is_self_adjoint: Hint = None, is_positive_definite: Hint = None,
        is_square: Hint = None, name: str = "LinearOperatorLowerTriangular",
    ) -> None:  # fmt: skip
        if is_square is False:
            raise ValueError("Only square lower triangular operators supported at this time.")
        self._tril = self._tensor(tril, "tril", 2)
        super().__init__(
            self._tril.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, True, name, {"tril": tril}
        )

    @property
    def tril(self) -> Any:
        """The matrices as they were given."""
        return self._tril

    def _shape(self) -> Any:
        return shape_of(self._tril)

    def _to_dense(self) -> Any:
        return self.tf.linalg.band_part(self._tril, -1, 0)

    def _diag_part(self) -> Any:
        return self.tf.linalg.diag_part(self._tril)

    def _determinant(self) -> Any:
        return self.tf.reduce_prod(self._diag_part(), -1)

    def _log_abs_determinant(self) -> Any:
        return _log_abs_product(self, self._diag_part())

    def _eigvals(self) -> Any:
        return self._diag_part()

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        tf = self.tf
        rhs = tf.linalg.adjoint(rhs) if adjoint_arg else rhs
        matrix, rhs = same_batch(tf, self._tril, rhs)
        return tf.linalg.triangular_solve(matrix, rhs, lower=True, adjoint=adjoint)

    def _linop_matmul(self, right: LinearOperator) -> LinearOperator:
        if isinstance(right, (LinearOperatorLowerTriangular, LinearOperatorDiag)) and not right.is_identity:
            return self._like(
                "LowerTriangular", self.matmul(right.to_dense()),
                is_non_singular=(self.is_non_singular and right.is_non_singular) or None,
            )  # fmt: skip
        return super()._linop_matmul(right)


def _log_abs_product(operator: LinearOperator, values: Any) -> Any:
    """The logarithms of the magnitudes of products, of the operator's dtype."""
    tf = operator.tf
    return tf.cast(tf.reduce_sum(tf.math.log(tf.abs(values)), -1), operator.dtype)


class LinearOperatorDiag(LinearOperator):
    """Diagonal matrices, given by their diagonals ``[..., n]``."""

    def __init__(
        self, diag: Any, is_non_singular: Hint = None, is_self_adjoint: Hint = None, is_positive_definite: Hint = None,
        is_square: Hint = None, name: str = "LinearOperatorDiag",
    ) -> None:  # fmt: skip
        if is_square is False:
            raise ValueError("Only square diagonal operators currently supported.")
        self._diag = self._tensor(diag, "diag", 1)
        if not self._diag.dtype.is_complex:
            if is_self_adjoint is False:
                raise ValueError("A real diagonal operator is always self adjoint.")
            is_self_adjoint = True
        super().__init__(
            self._diag.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, True, name, {"diag": diag}
        )

    @property
    def diag(self) -> Any:
        """The diagonals."""
        return self._diag

    def _shape(self) -> Any:
        shape = shape_of(self._diag)
        return None if shape is None else (*shape, shape[-1])

    def _to_dense(self) -> Any:
        return self.tf.linalg.diag(self._diag)

    def _diag_part(self) -> Any:
        return self._diag

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        tf = self.tf
        x = tf.linalg.adjoint(x) if adjoint_arg else x
        return (tf.math.conj(self._diag) if adjoint else self._diag)[..., None] * x

    def _matvec(self, x: Any, adjoint: bool = False) -> Any:
        return (self.tf.math.conj(self._diag) if adjoint else self._diag) * x

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        tf = self.tf
        rhs = tf.linalg.adjoint(rhs) if adjoint_arg else rhs
        return rhs / (tf.math.conj(self._diag) if adjoint else self._diag)[..., None]

    def _solvevec(self, rhs: Any, adjoint: bool = False) -> Any:
        return rhs / (self.tf.math.conj(self._diag) if adjoint else self._diag)

    def _determinant(self) -> Any:
        return self.tf.reduce_prod(self._diag, -1)

    def _log_abs_determinant(self) -> Any:
        return _log_abs_product(self, self._diag)

    def _eigvals(self) -> Any:
        return self._diag

    def _add_to_tensor(self, x: Any) -> Any:
        return self.tf.linalg.set_diag(
            x + self.tf.linalg.diag(0 * self._diag), self.tf.linalg.diag_part(x) + self._diag
        )

    def _cond(self) -> Any:
        sizes = self.tf.abs(self._diag)
        return self.tf.reduce_max(sizes, -1) / self.tf.reduce_min(sizes, -1)

    def _hints(self) -> dict[str, Any]:
        return {
            "is_non_singular": self.is_non_singular,
            "is_self_adjoint": self.is_self_adjoint,
            "is_positive_definite": self.is_positive_definite,
            "is_square": True,
        }

    def _linop_adjoint(self) -> LinearOperator:
        return self._like("Diag", self.tf.math.conj(self._diag), **self._hints())

    def _linop_inverse(self) -> LinearOperator:
        return self._like("Diag", 1 / self._diag, **self._hints())

    def _linop_cholesky(self) -> LinearOperator:
        return self._like(
            "Diag", self.tf.sqrt(self._diag), is_non_singular=True, is_self_adjoint=True, is_positive_definite=True
        )

    def _linop_matmul(self, right: LinearOperator) -> LinearOperator:
        both = (self.is_non_singular and right.is_non_singular) or None
        if isinstance(right, LinearOperatorDiag):
            return self._like("Diag", self._diag * right._diag, is_non_singular=both)
        if isinstance(right, LinearOperatorLowerTriangular):
            return self._like("LowerTriangular", self._diag[..., None] * right.to_dense(), is_non_singular=both)
        return super()._linop_matmul(right)


class _OfSize(LinearOperator):
    """Operators that are given by a number of rows, and perhaps a batch."""

    _rows: Any
    _batch: Sequence[int]

    def _take_size(self, num_rows: Any, batch_shape: Any) -> None:
        tf = self.tf
        self._rows = num_rows if isinstance(num_rows, int) or num_rows is None else _known(tf, num_rows, "num_rows")
        if isinstance(self._rows, int) and self._rows < 0:
            raise ValueError(f"{type(self).__name__}: argument `num_rows` must not be negative, got {self._rows}")
        self._batch = [] if batch_shape is None else [int(n) for n in _listed(tf, batch_shape)]


def _known(tf: Any, value: Any, argument: str) -> Any:
    """A number that may be a tensor, as an int."""
    from engine.core.trace import constant_value

    known = constant_value(tf.convert_to_tensor(value))
    if known is None or known.ndim or known.dtype.kind not in "iu":
        raise InvalidArgumentError(f"LinearOperator: argument `{argument}` must be a known integer, got {value!r}")
    return int(known)


def _listed(tf: Any, shape: Any) -> list[Any]:
    from engine.core.trace import constant_value

    if hasattr(shape, "as_list"):
        return list(shape.as_list())
    if isinstance(shape, (list, tuple)):
        return list(shape)
    known = constant_value(tf.convert_to_tensor(shape))
    if known is None or known.ndim != 1:
        raise InvalidArgumentError(f"LinearOperator: argument `batch_shape` must be a known vector, got {shape!r}")
    return known.tolist()


class LinearOperatorScaledIdentity(_OfSize):
    """Multiples of the identity: `multiplier` has the shape of the batch."""

    def __init__(
        self, num_rows: Any, multiplier: Any, is_non_singular: Hint = None, is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None, is_square: Hint = True, assert_proper_shapes: bool = False,
        name: str = "LinearOperatorScaledIdentity",
    ) -> None:  # fmt: skip
        if is_square is False:
            raise ValueError("A ScaledIdentity operator is always square.")
        self._multiplier = self._tensor(multiplier, "multiplier", 0)
        self._take_size(num_rows, None)
        if not self._multiplier.dtype.is_complex:
            if is_self_adjoint is False:
                raise ValueError("A real multiple of the identity is always self adjoint.")
            is_self_adjoint = True
        super().__init__(
            self._multiplier.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, True, name,
            {"num_rows": num_rows, "multiplier": multiplier},
        )  # fmt: skip

    @property
    def multiplier(self) -> Any:
        """The factors."""
        return self._multiplier

    def _shape(self) -> Any:
        batch = shape_of(self._multiplier)
        return None if batch is None else (*batch, self._rows, self._rows)

    def _to_dense(self) -> Any:
        return self._multiplier[..., None, None] * self.tf.eye(self._rows, dtype=self.dtype)

    def _scale(self, adjoint: bool) -> Any:
        return (self.tf.math.conj(self._multiplier) if adjoint else self._multiplier)[..., None, None]

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._scale(adjoint) * (self.tf.linalg.adjoint(x) if adjoint_arg else x)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return (self.tf.linalg.adjoint(rhs) if adjoint_arg else rhs) / self._scale(adjoint)

    def _diag_part(self) -> Any:
        return self._multiplier[..., None] * self.tf.ones([self._rows], self.dtype)

    def _trace(self) -> Any:
        return self._multiplier * self.dtype.as_numpy_dtype(self._rows)

    def _determinant(self) -> Any:
        return self._multiplier ** self.dtype.as_numpy_dtype(self._rows)

    def _log_abs_determinant(self) -> Any:
        tf = self.tf
        logarithm = tf.cast(tf.math.log(tf.abs(self._multiplier)), self.dtype)
        return logarithm * self.dtype.as_numpy_dtype(self._rows)

    def _eigvals(self) -> Any:
        return self._diag_part()

    def _cond(self) -> Any:
        return self.tf.ones_like(self._multiplier)

    def _with(self, multiplier: Any, **hints: Any) -> LinearOperator:
        hints.setdefault("is_non_singular", self.is_non_singular)
        return self._like("ScaledIdentity", self._rows, multiplier, **hints)

    def _linop_adjoint(self) -> LinearOperator:
        return self._with(self.tf.math.conj(self._multiplier), is_positive_definite=self.is_positive_definite)

    def _linop_inverse(self) -> LinearOperator:
        return self._with(
            1 / self._multiplier, is_positive_definite=self.is_positive_definite, is_self_adjoint=self.is_self_adjoint
        )

    def _linop_cholesky(self) -> LinearOperator:
        return self._with(self.tf.sqrt(self._multiplier), is_non_singular=True)

    def _linop_matmul(self, right: LinearOperator) -> LinearOperator:
        both = (self.is_non_singular and right.is_non_singular) or None
        if isinstance(right, LinearOperatorScaledIdentity):
            return self._with(self._multiplier * right._multiplier, is_non_singular=both)
        if isinstance(right, LinearOperatorDiag):
            return self._like("Diag", self._multiplier[..., None] * right.diag, is_non_singular=both)
        return super()._linop_matmul(right)


class LinearOperatorIdentity(_OfSize):
    """The identity."""

    is_identity: ClassVar[bool] = True

    def __init__(
        self, num_rows: Any, batch_shape: Any = None, dtype: Any = None, is_non_singular: Hint = True,
        is_self_adjoint: Hint = True, is_positive_definite: Hint = True, is_square: Hint = True,
        assert_proper_shapes: bool = False, name: str = "LinearOperatorIdentity",
    ) -> None:  # fmt: skip
        if False in (is_non_singular, is_self_adjoint, is_positive_definite, is_square):
            raise ValueError("An identity operator is always self-adjoint, positive definite, square and non-singular.")
        self._take_size(num_rows, batch_shape)
        super().__init__(float32 if dtype is None else as_dtype(dtype), None, True, True, True, True, name)

    def _shape(self) -> Any:
        return (*self._batch, self._rows, self._rows)

    def _to_dense(self) -> Any:
        return self.tf.eye(self._rows, batch_shape=self._batch, dtype=self.dtype)

    def _broadcast(self, x: Any) -> Any:
        """`x` with the operator's batch."""
        if not self._batch:
            return x
        return x + self.tf.zeros([*self._batch, 1, 1], self.dtype)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._broadcast(self.tf.linalg.adjoint(x) if adjoint_arg else x)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._matmul(rhs, adjoint_arg=adjoint_arg)

    def _diag_part(self) -> Any:
        return self.tf.ones([*self._batch, self._rows], self.dtype)

    def _trace(self) -> Any:
        return self.tf.fill(self._batch, self.tf.constant(self._rows, self.dtype))

    def _determinant(self) -> Any:
        return self.tf.ones(self._batch, self.dtype)

    def _log_abs_determinant(self) -> Any:
        return self.tf.zeros(self._batch, self.dtype)

    def _eigvals(self) -> Any:
        return self._diag_part()

    def _cond(self) -> Any:
        return self._determinant()

    def add_to_tensor(self, mat: Any, name: str | None = None) -> Any:
        """``A + mat``."""
        return self._add_to_tensor(self._factor(mat, "add_to_tensor"))

    def _linop_inverse(self) -> LinearOperator:
        return self

    def _linop_cholesky(self) -> LinearOperator:
        return self

    def _linop_matmul(self, right: LinearOperator) -> LinearOperator:
        return right


class LinearOperatorZeros(_OfSize):
    """Zeros."""

    def __init__(
        self, num_rows: Any, num_columns: Any = None, batch_shape: Any = None, dtype: Any = None,
        is_non_singular: Hint = False, is_self_adjoint: Hint = True, is_positive_definite: Hint = False,
        is_square: Hint = True, assert_proper_shapes: bool = False, name: str = "LinearOperatorZeros",
    ) -> None:  # fmt: skip
        self._take_size(num_rows, batch_shape)
        self._columns = self._rows if num_columns is None else _known(self.tf, num_columns, "num_columns")
        if is_non_singular:
            raise ValueError("A zero operator is always singular.")
        if is_positive_definite:
            raise ValueError("A zero operator is always not positive-definite.")
        if is_self_adjoint and self._rows != self._columns:
            is_self_adjoint = None
        super().__init__(
            float32 if dtype is None else as_dtype(dtype), None, False, is_self_adjoint, False,
            self._rows == self._columns, name,
        )  # fmt: skip

    def _shape(self) -> Any:
        return (*self._batch, self._rows, self._columns)

    def _to_dense(self) -> Any:
        return self.tf.zeros([*self._batch, self._rows, self._columns], self.dtype)

    def _linop_adjoint(self) -> LinearOperator:
        return self._like("Zeros", self._columns, self._rows, self._batch, self.dtype)

    def _determinant(self) -> Any:
        return self.tf.zeros(self._batch, self.dtype)

    def _linop_matmul(self, right: LinearOperator) -> LinearOperator:
        shape = shape_of_operator(right)
        if right.is_square or shape is None or shape[-1] is None:
            return self
        return self._like("Zeros", self._rows, shape[-1], self._batch, self.dtype)
