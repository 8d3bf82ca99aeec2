"""Operators that are given by few numbers: with three diagonals, Toeplitz, circulant, Householder, permutations."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from dualgrad.extras.linear_operators.base import LinearOperator
from engine.core.dtypes import INTEGER, as_dtype, complex64, float32
from engine.core.value import shape_of
from engine.runtime.errors import InvalidArgumentError, NotKnownYet

Hint = bool | None


class LinearOperatorTridiag(LinearOperator):
    """Matrices with three diagonals, in one of the forms that `tridiagonal_solve` takes."""

    def __init__(
        self, diagonals: Any, diagonals_format: str = "compact", is_non_singular: Hint = None,
        is_self_adjoint: Hint = None, is_positive_definite: Hint = None, is_square: Hint = None,
        name: str = "LinearOperatorTridiag",
    ) -> None:  # fmt: skip
        if is_square is False:
            raise ValueError("A tridiagonal operator is always square.")
        tf = self.tf
        if diagonals_format == "sequence":
            above, main, below = (self._tensor(d, "diagonals", 1) for d in diagonals)
        elif diagonals_format == "compact":
            packed = self._tensor(diagonals, "diagonals", 2)
            above, main, below = packed[..., 0, :], packed[..., 1, :], packed[..., 2, :]
        elif diagonals_format == "matrix":
            matrix = self._tensor(diagonals, "diagonals", 2)
            main = tf.linalg.diag_part(matrix)
            zero = 0 * main[..., :1]
            above = tf.concat([tf.linalg.diag_part(matrix, k=1), zero], -1)
            below = tf.concat([zero, tf.linalg.diag_part(matrix, k=-1)], -1)
        else:
            raise ValueError(
                f"Diagonals Format must be one of compact, matrix, sequence, got : {diagonals_format}"
            )  # fmt: skip
        self._three = above, main, below
        self._diagonals = diagonals
        super().__init__(
            main.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, True, name,
            {"diagonals": diagonals, "diagonals_format": diagonals_format},
        )  # fmt: skip

    @property
    def diagonals(self) -> Any:
        """The diagonals as they were given."""
        return self._diagonals

    def _shape(self) -> Any:
        shape = shape_of(self._three[1])
        return None if shape is None else (*shape, shape[-1])

    def _to_dense(self) -> Any:
        above, main, below = self._three
        tf = self.tf
        return tf.linalg.diag(main) + tf.linalg.diag(above[..., :-1], k=1) + tf.linalg.diag(below[..., 1:], k=-1)

    def _diag_part(self) -> Any:
        return self._three[1]

    def _compact(self, adjoint: bool) -> Any:
        tf = self.tf
        above, main, below = self._three
        if adjoint:
            above, below = tf.roll(tf.math.conj(below), -1, -1), tf.roll(tf.math.conj(above), 1, -1)
            main = tf.math.conj(main)
        return tf.stack([above, main, below], -2)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        tf = self.tf
        return tf.linalg.tridiagonal_matmul(self._compact(adjoint), tf.linalg.adjoint(x) if adjoint_arg else x)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        tf = self.tf
        rhs = tf.linalg.adjoint(rhs) if adjoint_arg else rhs
        bands = self._compact(adjoint)
        batch = tf.broadcast_dynamic_shape(tf.shape(bands)[:-2], tf.shape(rhs)[:-2])
        bands, rhs = [tf.broadcast_to(x, tf.concat([batch, tf.shape(x)[-2:]], 0)) for x in (bands, rhs)]
        return tf.linalg.tridiagonal_solve(bands, rhs)


class LinearOperatorToeplitz(LinearOperator):
    """Matrices that are constant along diagonals, given by their first column and row."""

    def __init__(
        self, col: Any, row: Any, is_non_singular: Hint = None, is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None, is_square: Hint = None, name: str = "LinearOperatorToeplitz",
    ) -> None:  # fmt: skip
        if is_square is False:
            raise ValueError("Only square Toeplitz operators currently supported.")
        self._col, self._row = self._tensor(col, "col", 1), self._tensor(row, "row", 1)
        sizes = [(shape_of(x) or (None,))[-1] for x in (self._col, self._row)]
        if None not in sizes and sizes[0] != sizes[1]:
            raise ValueError(f"Expected square matrix, got mismatched sizes of `col` and `row`: {sizes}")
        super().__init__(
            self._col.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, True, name,
            {"col": col, "row": row},
        )  # fmt: skip

    @property
    def col(self) -> Any:
        """The first column."""
        return self._col

    @property
    def row(self) -> Any:
        """The first row."""
        return self._row

    def _to_dense(self) -> Any:
        tf = self.tf
        size = (shape_of(self._col) or (None,))[-1]
        if size is None:
            raise NotKnownYet("LinearOperatorToeplitz: the size of `col` must be known")
        zero = 0 * (self._col[..., :1] + self._row[..., :1])
        along = tf.concat([tf.reverse(self._row[..., 1:] + zero, [-1]), self._col + zero], -1)
        return tf.gather(along, np.arange(size)[:, None] - np.arange(size) + size - 1, axis=-1)

    def _trace(self) -> Any:
        return self._col[..., 0] * self.dtype.as_numpy_dtype((shape_of(self._col) or (0,))[-1])


class _Circulant(LinearOperator):
    """Circulant matrices of one, two or three levels, given by their eigenvalues."""

    depth: ClassVar[int] = 1

    def __init__(
        self, spectrum: Any, input_output_dtype: Any = complex64, is_non_singular: Hint = None,
        is_self_adjoint: Hint = None, is_positive_definite: Hint = None, is_square: Hint = True,
        name: str | None = None,
    ) -> None:  # fmt: skip
        if is_square is False:
            raise ValueError("A BlockCirculant operator is always square.")
        self._spectrum = self._tensor(spectrum, "spectrum", self.depth)
        if not self._spectrum.dtype.is_complex:
            if is_self_adjoint is False:
                raise ValueError("A real spectrum always corresponds to a self-adjoint operator.")
            is_self_adjoint = True
        super().__init__(
            as_dtype(input_output_dtype), None, is_non_singular, is_self_adjoint, is_positive_definite, True, name,
            {"spectrum": spectrum, "input_output_dtype": input_output_dtype},
        )  # fmt: skip

    @property
    def spectrum(self) -> Any:
        """The eigenvalues."""
        return self._spectrum

    @property
    def block_depth(self) -> int:
        """How many levels there are."""
        return self.depth

    @property
    def block_shape(self) -> Any:
        """The sizes of the levels."""
        return self.tf.TensorShape(self._sizes())

    def _sizes(self) -> list[int]:
        shape = shape_of(self._spectrum)
        if shape is None or None in shape[-self.depth :]:
            raise NotKnownYet(f"{type(self).__name__}: the shape of `spectrum` must be known, got {shape}")
        return [int(n or 0) for n in shape[-self.depth :]]

    def _shape(self) -> Any:
        size = int(np.prod(self._sizes()))
        return (*(shape_of(self._spectrum) or ())[: -self.depth], size, size)

    def _transform(self, x: Any, inverse: bool) -> Any:
        name = ("i" if inverse else "") + ("fft", "fft2d", "fft3d")[self.depth - 1]
        return getattr(self.tf.signal, name)(x)

    def _complex(self, x: Any) -> Any:
        if x.dtype.is_complex:
            return x
        return self.tf.cast(x, "complex64" if x.dtype in (float32, "float32") else "complex128")

    def _through(self, x: Any, factor: Any, adjoint_arg: bool) -> Any:
        """Columns of `x` transformed, multiplied, transformed back."""
        tf = self.tf
        rows = self._complex(tf.math.conj(x) if adjoint_arg else tf.linalg.matrix_transpose(x))
        outer = tf.shape(rows)[:-1]
        blocks = tf.reshape(rows, tf.concat([outer, self._sizes()], 0))
        spectrum = tf.cast(tf.expand_dims(factor, -self.depth - 1), blocks.dtype)
        changed = self._transform(spectrum * self._transform(blocks, False), True)
        flat = tf.reshape(changed, tf.concat([tf.shape(changed)[: -self.depth], [int(np.prod(self._sizes()))]], 0))
        back = tf.linalg.matrix_transpose(flat)
        return tf.cast(back if self.dtype.is_complex else tf.math.real(back), self.dtype)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        spectrum = self._complex(self._spectrum)
        return self._through(x, self.tf.math.conj(spectrum) if adjoint else spectrum, adjoint_arg)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        spectrum = self._complex(self._spectrum)
        return self._through(rhs, 1 / (self.tf.math.conj(spectrum) if adjoint else spectrum), adjoint_arg)

    def _as_own(self, x: Any) -> Any:
        """`x`, which is complex, in the operator's dtype."""
        return self.tf.cast(x if self.dtype.is_complex or not x.dtype.is_complex else self.tf.math.real(x), self.dtype)

    def _axes(self) -> list[int]:
        return list(range(-self.depth, 0))

    def _determinant(self) -> Any:
        return self._as_own(self.tf.reduce_prod(self._complex(self._spectrum), self._axes()))

    def _log_abs_determinant(self) -> Any:
        tf = self.tf
        return tf.cast(tf.reduce_sum(tf.math.log(tf.abs(self._spectrum)), self._axes()), self.dtype)

    def _trace(self) -> Any:
        return self._as_own(self.tf.reduce_sum(self._complex(self._spectrum), self._axes()))

    def _diag_part(self) -> Any:
        tf = self.tf
        mean = self._as_own(tf.reduce_mean(self._complex(self._spectrum), self._axes()))
        return mean[..., None] + tf.zeros([int(np.prod(self._sizes()))], self.dtype)

    def _eigvals(self) -> Any:
        tf = self.tf
        flat = tf.reshape(self._spectrum, tf.concat([tf.shape(self._spectrum)[: -self.depth], [-1]], 0))
        return self._as_own(flat)

    def _cond(self) -> Any:
        tf = self.tf
        sizes = tf.abs(self._spectrum)
        return tf.reduce_max(sizes, self._axes()) / tf.reduce_min(sizes, self._axes())

    def convolution_kernel(self, name: str | None = None) -> Any:
        """The kernel of the convolution that the product is."""
        return self._as_own(self._transform(self._complex(self._spectrum), True))

    def assert_hermitian_spectrum(self, name: str | None = None) -> Any:
        """Raise InvalidArgumentError, when that is known, unless the spectrum belongs to a real kernel."""
        tf = self.tf
        kernel = self._transform(self._complex(self._spectrum), True)
        sizes = tf.abs(kernel)
        limit = sizes.dtype.as_numpy_dtype(100 * np.finfo(sizes.dtype.as_numpy_dtype).eps)
        real = tf.reduce_all(tf.abs(tf.math.imag(kernel)) <= limit * tf.reduce_max(sizes))
        return tf.debugging.Assert(real, ["Spectrum was not Hermitian"])

    def _with(self, spectrum: Any, non_singular: Hint) -> LinearOperator:
        name = "Circulant" if self.depth == 1 else f"Circulant{self.depth}D"
        return self._like(name, spectrum, input_output_dtype=self.dtype, is_non_singular=non_singular)

    def _linop_adjoint(self) -> LinearOperator:
        return self._with(self.tf.math.conj(self._spectrum), self.is_non_singular)

    def _linop_inverse(self) -> LinearOperator:
        return self._with(1 / self._spectrum, self.is_non_singular)

    def _linop_matmul(self, right: LinearOperator) -> LinearOperator:
        if isinstance(right, _Circulant) and right.depth == self.depth:
            both = (self.is_non_singular and right.is_non_singular) or None
            one, other = self._spectrum, right._spectrum
            if one.dtype is not other.dtype:
                one, other = self._complex(one), self._complex(other)
            return self._with(one * other, both)
        return super()._linop_matmul(right)


class LinearOperatorCirculant(_Circulant):
    """Circulant matrices, given by their eigenvalues ``[..., n]``."""


class LinearOperatorCirculant2D(_Circulant):
    """Matrices of circulant blocks in a circulant order, given by their eigenvalues ``[..., n, m]``."""

    depth: ClassVar[int] = 2


class LinearOperatorCirculant3D(_Circulant):
    """The same with three levels, given by their eigenvalues ``[..., n, m, k]``."""

    depth: ClassVar[int] = 3


class LinearOperatorHouseholder(LinearOperator):
    """Reflections ``I - 2 v v* / |v|**2``, given by `reflection_axis`, v, of shape ``[..., n]``."""

    def __init__(
        self, reflection_axis: Any, is_non_singular: Hint = None, is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None, is_square: Hint = None, name: str = "LinearOperatorHouseholder",
    ) -> None:  # fmt: skip
        if is_positive_definite:
            raise ValueError("Householder operator is not positive definite.")
        if False in (is_non_singular, is_self_adjoint, is_square):
            raise ValueError("A Householder operator is always non-singular, self adjoint and square.")
        self._axis = self._tensor(reflection_axis, "reflection_axis", 1)
        super().__init__(
            self._axis.dtype, None, True, True, False, True, name, {"reflection_axis": reflection_axis}
        )  # fmt: skip

    @property
    def reflection_axis(self) -> Any:
        """The vectors that change their sign."""
        return self._axis

    def _shape(self) -> Any:
        shape = shape_of(self._axis)
        return None if shape is None else (*shape, shape[-1])

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        tf = self.tf
        x = tf.linalg.adjoint(x) if adjoint_arg else x
        v = (self._axis / tf.cast(tf.norm(self._axis, axis=-1, keepdims=True), self.dtype))[..., None]
        return x - 2 * v * tf.linalg.matmul(v, x, adjoint_a=True)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._matmul(rhs, adjoint, adjoint_arg)

    def _diag_part(self) -> Any:
        tf = self.tf
        v = self._axis / tf.cast(tf.norm(self._axis, axis=-1, keepdims=True), self.dtype)
        return 1 - 2 * v * tf.math.conj(v)

    def _determinant(self) -> Any:
        return -self.tf.ones_like(self._axis[..., 0])

    def _log_abs_determinant(self) -> Any:
        return self.tf.zeros_like(self._axis[..., 0])

    def _cond(self) -> Any:
        return self.tf.ones_like(self._axis[..., 0])

    def _eigvals(self) -> Any:
        tf = self.tf
        rest = tf.ones_like(self._axis[..., 1:])
        return tf.concat([-tf.ones_like(self._axis[..., :1]), rest], -1)

    def _linop_inverse(self) -> LinearOperator:
        return self


class LinearOperatorPermutation(LinearOperator):
    """Matrices that put row ``perm[i]`` of what they are multiplied with at i."""

    def __init__(
        self, perm: Any, dtype: Any = float32, is_non_singular: Hint = None, is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None, is_square: Hint = None, name: str = "LinearOperatorPermutation",
    ) -> None:  # fmt: skip
        if is_non_singular is False or is_square is False:
            raise ValueError("A Permutation operator is always non-singular and square.")
        self._perm = self._tensor(perm, "perm", 1, INTEGER)
        from engine.core.trace import constant_value

        known = constant_value(self._perm)
        if known is not None and not np.array_equal(
            np.sort(known, -1), np.broadcast_to(np.arange(known.shape[-1]), known.shape)
        ):
            raise InvalidArgumentError(
                f"LinearOperatorPermutation: argument `perm` is no permutation: {known.tolist()}"
            )
        super().__init__(dtype, None, True, is_self_adjoint, is_positive_definite, True, name, {"perm": perm})

    @property
    def perm(self) -> Any:
        """The permutations."""
        return self._perm

    def _shape(self) -> Any:
        shape = shape_of(self._perm)
        return None if shape is None else (*shape, shape[-1])

    def _to_dense(self) -> Any:
        tf = self.tf
        size = (shape_of(self._perm) or (None,))[-1]
        return tf.one_hot(self._perm, tf.shape(self._perm)[-1] if size is None else size, dtype=self.dtype)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._matmul(rhs, not adjoint, adjoint_arg)

    def _determinant(self) -> Any:
        return self.tf.linalg.det(self.to_dense())

    def _log_abs_determinant(self) -> Any:
        return self.tf.zeros_like(self.to_dense()[..., 0, 0])

    def _cond(self) -> Any:
        return self.tf.ones_like(self.to_dense()[..., 0, 0])
