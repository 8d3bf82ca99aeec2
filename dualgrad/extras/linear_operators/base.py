"""The base of ``tf.linalg.LinearOperator*``: matrices that are known by what they do, and what is known of them.

A class of operators overrides the methods that begin with an underscore, as in TensorFlow; what it does not override is
done with the dense matrix. `tf` is the front end whose class it is (`dualgrad.frontend.bound`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from engine.core.dtypes import NUMERIC, DType, as_dtype
from engine.core.value import shape_of
from engine.core.variable import Variable
from engine.runtime.errors import InvalidArgumentError


class LinearOperator:
    """A matrix, or a batch of matrices, of shape ``[..., rows, columns]``.

    Parameters
    ----------
    dtype : DType
    graph_parents : ignored
    is_non_singular, is_self_adjoint, is_positive_definite, is_square : bool, optional
        What is known of the matrix; a hint that is wrong gives wrong results. None: nothing is known.
    name : str, optional
    parameters : dict, optional

    Raises
    ------
    ValueError
        If hints contradict each other.

    Examples
    --------
    >>> import tape_api as tf
    >>> operator = tf.linalg.LinearOperatorDiag([2.0, 4.0])
    >>> operator.solvevec([2.0, 8.0]).numpy().tolist(), float(operator.determinant())
    ([1.0, 2.0], 8.0)
    """

    per_front_end: ClassVar[bool] = True
    tf: ClassVar[Any]

    def __init__(
        self,
        dtype: Any,
        graph_parents: Any = None,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
        parameters: dict[str, Any] | None = None,
    ) -> None:
        if is_positive_definite and is_non_singular is False:
            raise ValueError("A positive definite matrix is always non-singular.")
        if is_square is False and (is_non_singular or is_self_adjoint or is_positive_definite):
            raise ValueError("A matrix that is non-singular, self-adjoint or positive definite is always square.")
        self.dtype: DType = as_dtype(dtype)
        self.is_non_singular = True if is_positive_definite else is_non_singular
        self.is_self_adjoint, self.is_positive_definite = is_self_adjoint, is_positive_definite
        self._is_square = True if self.is_non_singular or is_self_adjoint or is_positive_definite else is_square
        self.name = name or type(self).__name__
        self.parameters = parameters or {}

    def _tensor(self, value: Any, argument: str, rank: int, dtypes: Any = NUMERIC) -> Any:
        """An argument of the constructor as a tensor of at least the given rank."""
        # a variable is read whenever the operator is used
        tensor = value if isinstance(value, Variable) else self.tf.convert_to_tensor(value)
        if tensor.dtype not in dtypes:
            raise TypeError(
                f"{type(self).__name__}: argument `{argument}` must have one of the dtypes "
                f"{', '.join(d.name for d in dtypes)}; found {tensor.dtype.name}"
            )
        shape = shape_of(tensor)
        if shape is not None and len(shape) < rank:
            raise ValueError(
                f"{type(self).__name__}: argument `{argument}` must have at least {rank} dimensions, found {shape}"
            )
        return tensor

    def _like(self, name: str, *args: Any, **hints: Any) -> LinearOperator:
        """Another operator of the same front end."""
        operator: LinearOperator = getattr(self.tf.linalg, f"LinearOperator{name}")(*args, **hints)
        return operator

    # ---- shapes ------------------------------------------------------------------------------------------------------

    def _shape(self) -> Any:
        return self.tf.TensorShape(shape_of(self.to_dense()))

    def _shape_tensor(self) -> Any:
        known = shape_of_operator(self)
        if known is not None and None not in known:
            return self.tf.constant(list(known), self.tf.int32)
        return self.tf.shape(self.to_dense())

    @property
    def shape(self) -> Any:
        """The static shape."""
        return self.tf.TensorShape(self._shape())

    @property
    def batch_shape(self) -> Any:
        """The static shape without the two axes of the matrix."""
        return self.shape[:-2]

    @property
    def tensor_rank(self) -> int | None:
        """The rank of the batch of matrices."""
        known = shape_of_operator(self)
        return None if known is None else len(known)

    @property
    def domain_dimension(self) -> Any:
        """The number of columns."""
        return self.shape[-1]

    @property
    def range_dimension(self) -> Any:
        """The number of rows."""
        return self.shape[-2]

    @property
    def graph_parents(self) -> list[Any]:
        """An empty list, as in TensorFlow 2."""
        return []

    @property
    def is_square(self) -> bool | None:
        """Whether there are as many rows as columns; None if that is not known."""
        known = shape_of_operator(self)
        if self._is_square is None and known is not None and None not in known[-2:]:
            return known[-1] == known[-2]
        return self._is_square

    def shape_tensor(self, name: str | None = None) -> Any:
        """The shape as an int32 vector."""
        return self._shape_tensor()

    def batch_shape_tensor(self, name: str | None = None) -> Any:
        """The shape of the batch as an int32 vector."""
        return self._shape_tensor()[:-2]

    def tensor_rank_tensor(self, name: str | None = None) -> Any:
        """The rank as a tensor."""
        return self.tf.size(self._shape_tensor())

    def domain_dimension_tensor(self, name: str | None = None) -> Any:
        """The number of columns as a tensor."""
        return self._shape_tensor()[-1]

    def range_dimension_tensor(self, name: str | None = None) -> Any:
        """The number of rows as a tensor."""
        return self._shape_tensor()[-2]

    # ---- products and solutions --------------------------------------------------------------------------------------

    def _to_dense(self) -> Any:
        shape = self._shape_tensor()
        return self._matmul(self.tf.eye(shape[-1], batch_shape=shape[:-2], dtype=self.dtype))

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self.tf.linalg.matmul(self.to_dense(), x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def _matvec(self, x: Any, adjoint: bool = False) -> Any:
        return self.matmul(x[..., None], adjoint=adjoint)[..., 0]

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        tf = self.tf
        rhs = tf.linalg.adjoint(rhs) if adjoint_arg else rhs
        dense = self.to_dense()
        dense, rhs = same_batch(tf, dense, rhs)
        if self.is_self_adjoint and self.is_positive_definite:
            return tf.linalg.cholesky_solve(tf.linalg.cholesky(dense), rhs)
        return tf.linalg.solve(dense, rhs, adjoint=adjoint)

    def _solvevec(self, rhs: Any, adjoint: bool = False) -> Any:
        return self.solve(rhs[..., None], adjoint=adjoint)[..., 0]

    def _factor(self, x: Any, what: str) -> Any:
        """A factor or a right-hand side: a tensor of the operator's dtype, or another operator."""
        if isinstance(x, LinearOperator):
            return x
        tensor = self.tf.convert_to_tensor(x, dtype=None if hasattr(x, "dtype") else self.dtype)
        if as_dtype(tensor.dtype) is not self.dtype:
            raise TypeError(f"{self.name}.{what}: expected {self.dtype.name}, got {tensor.dtype.name}")
        return tensor

    def matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str | None = None) -> Any:
        """The product with matrices ``[..., columns, k]``, or with another operator.

        Parameters
        ----------
        x : tensor or LinearOperator
        adjoint, adjoint_arg : bool
            Whether the adjoint of this operator, or of `x`, is the factor.
        """
        x = self._factor(x, "matmul")
        if isinstance(x, LinearOperator):
            left, right = self.adjoint() if adjoint else self, x.adjoint() if adjoint_arg else x
            inner = left.shape[-1], right.shape[-2]
            if None not in [_size(n) for n in inner] and _size(inner[0]) != _size(inner[1]):
                raise ValueError(
                    f"Operators are incompatible. Expected `x` to have dimension {inner[0]}, got {inner[1]}"
                )
            return left._linop_matmul(right)
        return self._matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def matvec(self, x: Any, adjoint: bool = False, name: str | None = None) -> Any:
        """The product with vectors ``[..., columns]``."""
        return self._matvec(self._factor(x, "matvec"), adjoint=adjoint)

    def _require_square(self, what: str) -> None:
        if self.is_square is False:
            raise NotImplementedError(f"{self.name}.{what}: the operator must be square, got shape {self.shape}")

    def solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str | None = None) -> Any:
        """Solutions x of ``A @ x = rhs``, matrices ``[..., rows, k]``; of another operator, an operator.

        Raises
        ------
        NotImplementedError
            If the operator is known not to be square, or to be singular.
        """
        self._require_regular("solve")
        rhs = self._factor(rhs, "solve")
        if isinstance(rhs, LinearOperator):
            left, right = self.adjoint() if adjoint else self, rhs.adjoint() if adjoint_arg else rhs
            return left.inverse().matmul(right)
        return self._solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _require_regular(self, what: str) -> None:
        self._require_square(what)
        if self.is_non_singular is False:
            raise NotImplementedError(f"{self.name}.{what}: the operator is said to be singular")

    def solvevec(self, rhs: Any, adjoint: bool = False, name: str | None = None) -> Any:
        """Solutions x of ``A @ x = rhs``, vectors ``[..., rows]``."""
        self._require_regular("solvevec")
        return self._solvevec(self._factor(rhs, "solvevec"), adjoint=adjoint)

    def to_dense(self, name: str | None = None) -> Any:
        """The matrices as a tensor."""
        return self._to_dense()

    def add_to_tensor(self, x: Any, name: str | None = None) -> Any:
        """``A + x``."""
        return self._add_to_tensor(self._factor(x, "add_to_tensor"))

    def _add_to_tensor(self, x: Any) -> Any:
        return self.to_dense() + x

    def __matmul__(self, other: Any) -> Any:
        return self.matmul(other)

    # ---- numbers -----------------------------------------------------------------------------------------------------

    def _diag_part(self) -> Any:
        return self.tf.linalg.diag_part(self.to_dense())

    def diag_part(self, name: str | None = None) -> Any:
        """The diagonals."""
        return self._diag_part()

    def _trace(self) -> Any:
        return self.tf.reduce_sum(self.diag_part(), -1)

    def trace(self, name: str | None = None) -> Any:
        """The sums of diagonals."""
        return self._trace()

    def _determinant(self) -> Any:
        return self.tf.linalg.det(self.to_dense())

    def determinant(self, name: str | None = None) -> Any:
        """The determinants."""
        self._require_square("determinant")
        return self._determinant()

    def _log_abs_determinant(self) -> Any:
        tf = self.tf
        if self.is_self_adjoint and self.is_positive_definite:
            diagonal = tf.linalg.diag_part(tf.linalg.cholesky(self.to_dense()))
            return 2 * tf.reduce_sum(tf.math.log(diagonal), -1)
        return tf.linalg.slogdet(self.to_dense())[1]

    def log_abs_determinant(self, name: str | None = None) -> Any:
        """The logarithms of the magnitudes of determinants."""
        self._require_square("log_abs_determinant")
        return self._log_abs_determinant()

    def _eigvals(self) -> Any:
        if self.is_self_adjoint:
            return self.tf.linalg.eigvalsh(self.to_dense())
        return self.tf.linalg.eigvals(self.to_dense())

    def eigvals(self, name: str | None = None) -> Any:
        """The eigenvalues, of an operator that is self-adjoint.

        Raises
        ------
        NotImplementedError
            If it is not said to be so.
        """
        if not self.is_self_adjoint:
            raise NotImplementedError("Only self-adjoint operators have eigvals: pass is_self_adjoint=True")
        return self._eigvals()

    def _cond(self) -> Any:
        tf = self.tf
        values = tf.abs(self._eigvals() if self.is_self_adjoint else tf.linalg.svd(self.to_dense(), compute_uv=False))
        return tf.reduce_max(values, -1) / tf.reduce_min(values, -1)

    def cond(self, name: str | None = None) -> Any:
        """The largest singular values divided by the least."""
        return self._cond()

    # ---- other operators ---------------------------------------------------------------------------------------------

    def _linop_adjoint(self) -> LinearOperator:
        return self._like("Adjoint", self)

    def adjoint(self, name: str | None = None) -> LinearOperator:
        """The operator of the adjoint matrices."""
        return self if self.is_self_adjoint else self._linop_adjoint()

    H = property(adjoint)

    def _linop_inverse(self) -> LinearOperator:
        return self._like("Inversion", self)

    def inverse(self, name: str | None = None) -> LinearOperator:
        """The operator of the inverse matrices.

        Raises
        ------
        ValueError
            If the operator is not square, or said to be singular.
        """
        if self.is_square is False:
            raise ValueError("Cannot take the Inverse: This operator represents a non square matrix.")
        if self.is_non_singular is False:
            raise ValueError("Cannot take the Inverse: This operator represents a singular matrix.")
        return self._linop_inverse()

    def _linop_cholesky(self) -> LinearOperator:
        return self._like("LowerTriangular", self.tf.linalg.cholesky(self.to_dense()), is_non_singular=True)

    def cholesky(self, name: str | None = None) -> LinearOperator:
        """The operator of lower triangular matrices whose products with their adjoints are these.

        Raises
        ------
        ValueError
            If the operator is not said to be self-adjoint and positive definite.
        """
        if not (self.is_self_adjoint and self.is_positive_definite):
            raise ValueError(
                "Cannot take the Cholesky decomposition: Not a positive definite self adjoint matrix by its hints."
            )
        return self._linop_cholesky()

    def _linop_matmul(self, right: LinearOperator) -> LinearOperator:
        if right.is_identity:
            return self
        return self._like("Composition", [self, right])

    is_identity: ClassVar[bool] = False

    # ---- assertions --------------------------------------------------------------------------------------------------

    def assert_non_singular(self, name: str | None = None) -> Any:
        """Raise InvalidArgumentError, when that is known, unless the least singular value is not too small."""
        tf = self.tf
        values = tf.linalg.svd(self.to_dense(), compute_uv=False)
        least, largest = tf.reduce_min(values, -1), tf.reduce_max(values, -1)
        size = max([_size(n) or 1 for n in (self.shape[-1], self.shape[-2])])
        limit = self.dtype.real_dtype.as_numpy_dtype(size * self._precision())
        return tf.debugging.Assert(tf.reduce_all(least > limit * largest), ["Singular matrix encountered"])

    def assert_positive_definite(self, name: str | None = None) -> Any:
        """Raise InvalidArgumentError, when that is known, unless a Cholesky decomposition has a positive diagonal."""
        tf = self.tf
        dense = self.to_dense()
        values = tf.linalg.eigvalsh((dense + tf.linalg.adjoint(dense)) / 2)
        return tf.debugging.Assert(tf.reduce_all(tf.math.real(values) > 0), ["Operator was not positive definite"])

    def assert_self_adjoint(self, name: str | None = None) -> Any:
        """Raise InvalidArgumentError, when that is known, unless the matrices are their adjoints."""
        tf = self.tf
        dense = self.to_dense()
        difference = tf.abs(dense - tf.linalg.adjoint(dense))
        limit = self.dtype.real_dtype.as_numpy_dtype(10 * self._precision())
        scale = tf.reduce_max(tf.abs(dense), [-2, -1], keepdims=True)
        return tf.debugging.Assert(tf.reduce_all(difference <= limit * scale), ["Matrix was not equal to its adjoint"])

    def _precision(self) -> float:
        from numpy import finfo

        return float(finfo(self.dtype.real_dtype.numpy).eps)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} '{self.name}' shape={self.shape} dtype={self.dtype.name}>"


def _size(dimension: Any) -> int | None:
    """A dimension of either front end's shapes as a number."""
    value = getattr(dimension, "value", dimension)
    return None if value is None else int(value)


def shape_of_operator(operator: LinearOperator) -> tuple[int | None, ...] | None:
    """The static shape as a tuple; None if the rank is not known."""
    shape = operator.shape
    if shape.ndims is None:
        return None
    return tuple([_size(n) for n in shape])


def broadcast_batch(operators: Sequence[LinearOperator]) -> tuple[int | None, ...] | None:
    """The batch shape that operators have together.

    Raises
    ------
    InvalidArgumentError
        If they have none.
    """
    shapes = [shape_of_operator(operator) for operator in operators]
    if any(shape is None for shape in shapes):
        return None
    batches = [shape[:-2] for shape in shapes if shape is not None]
    out: list[int | None] = []
    for axis in range(1, max(map(len, batches)) + 1):
        sizes = {batch[-axis] for batch in batches if len(batch) >= axis} - {1}
        known = sizes - {None}
        if len(known) > 1:
            raise InvalidArgumentError(f"LinearOperator: batch shapes {batches} do not broadcast")
        out.append(next(iter(known)) if known else None if None in sizes else 1)
    return tuple(out[::-1])


def same_batch(tf: Any, one: Any, other: Any) -> tuple[Any, Any]:
    """Two batches of matrices, broadcast to one batch."""
    first, second = shape_of(one), shape_of(other)
    if first is not None and second is not None and first[:-2] == second[:-2]:
        return one, other
    batch = tf.broadcast_dynamic_shape(tf.shape(one)[:-2], tf.shape(other)[:-2])
    full = [tf.broadcast_to(x, tf.concat([batch, tf.shape(x)[-2:]], 0)) for x in (one, other)]
    return full[0], full[1]
