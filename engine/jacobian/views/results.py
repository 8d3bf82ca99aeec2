"""Forms in which a Jacobian is handed out: dense, as a SciPy matrix, or as a linear operator."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, NoReturn, TypedDict

import numpy as np

from engine.core import nest
from engine.core.aval import compatible
from engine.core.composite import Composite
from engine.core.detach import looked_at
from engine.core.eager import EagerTensor
from engine.core.function_tape import FunctionTape
from engine.core.operands import Operand
from engine.core.structural import reshape_to
from engine.core.tape import active
from engine.core.trace import Symbol
from engine.core.unconnected import UnconnectedGradients
from engine.core.value import Value, as_array, aval_of, dtype_of, known_shape, shape_of
from engine.jacobian.execution.decompression import Scattered
from engine.jacobian.planning.plan import MODES, Options
from engine.ops.selection import flat_gather_op, flat_scatter_op
from engine.runtime.cache import cached
from engine.runtime.errors import InvalidArgumentError
from engine.runtime.lazy_scipy import sparse

FORMATS = ("dense", "csr", "csc", "coo", "operator")

Mode = Literal["auto", "forward", "reverse"]
Format = Literal["dense", "csr", "csc", "coo", "operator"]


class JacobianOptions(TypedDict, total=False):
    """The options of a Jacobian besides its format."""

    parallel_iterations: int | None
    experimental_use_pfor: bool
    mode: Mode
    sparsity: Any
    max_bytes: int | None
    executor: Any


class DenseOptions(JacobianOptions, total=False):
    """The options of a dense Jacobian."""

    format: Literal["dense"]


class SparseJacobian(Composite):
    """A Jacobian block of a graph in sparse form. A session returns it as a `scipy.sparse` array.

    Parameters
    ----------
    values : value, shape (nnz,)
        The entries, row by row. They are ordinary values: they can be fetched, fed on, and differentiated.
    block : Scattered
        Where they belong.
    format : "csr", "csc" or "coo"

    Attributes
    ----------
    indices, indptr : array of int
        As in `scipy.sparse.csr_array`.
    shape : tuple of int
        Number of elements of the target and of the source.
    """

    __array_ufunc__ = None

    def __init__(self, values: Any, block: Scattered, format: str) -> None:
        self.values, self.block, self.format = values, block, format
        self.indices, self.indptr, self.shape = block.indices, block.indptr, block.shape

    @property
    def nnz(self) -> int:
        """Number of entries that can be different from zero."""
        return len(self.indices)

    def diagonal(self) -> Operand:
        """The entries on the diagonal, as a value."""
        rows = np.repeat(np.arange(self.shape[0]), np.diff(self.indptr))
        there = np.flatnonzero(rows == self.indices)
        entries = flat_gather_op(self.values, there, size=self.nnz, distinct=True)
        return flat_scatter_op(entries, rows[there], size=min(self.shape), distinct=True)

    def components(self) -> list[Any]:
        """The values."""
        return [self.values]

    def rebuilt(self, components: Sequence[Any]) -> sparse.sparray:
        """The `scipy.sparse` array with these values; float32 for float16, which SciPy has no sparse arrays of."""
        matrix = self.block.matrix(stored_by_scipy(components[0]))
        return matrix if self.format == "csr" else matrix.asformat(self.format)

    def __matmul__(self, other: Any) -> NoReturn:
        raise TypeError(f"{self!r} has no products yet: multiply what a session returns for it, or use jvp and vjp")

    def __repr__(self) -> str:
        return f"<SparseJacobian {self.shape[0]} x {self.shape[1]}, {self.nnz} entries, {self.format}>"


def stored_by_scipy(values: np.ndarray) -> np.ndarray:
    """The entries of a sparse array, in a dtype that SciPy has sparse arrays of: float32 for float16."""
    return values.astype(np.float32) if values.dtype == np.float16 else values


def sparse_block(block: Any, values: Any, shape: tuple[int, int], format: str, dtype: Any) -> SparseJacobian:
    """A block of a plan for sparse results, with its values; one that is zero has none."""
    if block is None:
        nothing = np.zeros(0, np.int32)
        block = Scattered((), nothing, nothing, np.zeros(shape[0] + 1, np.int32), shape)
    assert isinstance(block, Scattered)
    return SparseJacobian(np.zeros(0, dtype) if values is None else values, block, format)


def dense_block(values: Any, target: Any, source: Any) -> EagerTensor | None:
    """An array of numbers in the shapes of target and source; None of anything else, and of no numbers."""
    if type(values) is not np.ndarray or not values.size:
        return None
    return EagerTensor(values.reshape(known_shape(target, "jacobian") + known_shape(source, "jacobian")))


def finished_block(
    values: Any, block: Any, shape: tuple[int, ...], source_shape: tuple[int, ...], source: Any, format: str,
    policy: UnconnectedGradients,
) -> Operand | SparseJacobian | sparse.sparray | None:  # fmt: skip
    """A block as the caller gets it, of the shapes of target and source."""
    if values is None and policy is UnconnectedGradients.NONE:
        return None
    if format != "dense":
        late = sparse_block(block, values, (math.prod(shape), math.prod(source_shape)), format, dtype_of(source).numpy)
        if isinstance(values, Symbol):
            return late
        if isinstance(values, EagerTensor) and active.function is not None:
            return _watched(late, active.function)
        return late.rebuilt([np.asarray(v) for v in late.components()])
    if values is None:
        return EagerTensor(np.zeros(shape + source_shape, dtype_of(source).numpy))
    whole = reshape_to(values, shape=shape + source_shape)
    return whole if isinstance(whole, Value) else EagerTensor(whole)


def _watched(late: SparseJacobian, function: FunctionTape) -> sparse.sparray:
    """A sparse array in a function that is being recorded: it may be returned, and tells when Python needs entries."""
    matrix = late.rebuilt([late.values._array])
    kind = type(matrix)
    function.composites[id(matrix)] = matrix, late, kind

    def data(self: Any) -> np.ndarray:
        looked_at(late.values)
        return self.__dict__["data"]

    def set_data(self: Any, new: Any) -> None:
        looked_at(late.values)
        self.__dict__["data"] = new

    def reduced(self: Any, protocol: Any) -> Any:
        looked_at(late.values)
        self.__class__ = kind
        return self.__reduce_ex__(protocol)

    matrix.__class__ = type(kind.__name__, (kind,), {"data": property(data, set_data), "__reduce_ex__": reduced})
    return matrix


def options_for(name: str, mode: Any, format: Any, max_bytes: Any, symmetric: bool = False) -> Options:
    """The caller's arguments as `Options`, or a ValueError."""
    if mode not in MODES:
        raise InvalidArgumentError(f"{name}: argument `mode` must be one of {', '.join(MODES)}; got {mode!r}")
    if format not in FORMATS:
        raise InvalidArgumentError(f"{name}: argument `format` must be one of {', '.join(FORMATS)}; got {format!r}")
    if max_bytes is not None and not (_is_integer(max_bytes) and max_bytes > 0):
        raise InvalidArgumentError(
            f"{name}: argument `max_bytes` must be a positive number of bytes; got {max_bytes!r}"
        )
    return _options(mode, format in ("csr", "csc", "coo"), None if max_bytes is None else int(max_bytes), symmetric)


_options = cached(128)(Options)
"""Equal options are one object, so that looking up plans seldom needs to compare them."""


def _is_integer(x: Any) -> bool:
    """Whether it is a whole number; ``1e9`` is one."""
    if isinstance(x, (float, np.floating)):
        return float(x).is_integer()
    return isinstance(x, (int, np.integer)) and not isinstance(x, bool)


def vectors_of(given: Any, ends: Sequence[Any]) -> list[Any]:
    """The caller's vectors, flat, one per end; if there is but one end, lists of numbers are one vector."""
    vectors = nest.flatten(given)
    if len(ends) == 1 != len(vectors) and vectors and all(isinstance(x, (int, float, complex)) for x in vectors):
        array, shape = np.asarray(given), shape_of(ends[0])
        # the end itself may be given in a list
        return [array[0] if shape is not None and array.ndim == len(shape) + 1 and len(array) == 1 else array]
    return vectors


def vectors_like(name: str, argument: str, given: Any, ends: Sequence[Any]) -> list[Any]:
    """The caller's vectors, one per end and like it; None for one that is left out."""
    vectors = vectors_of(given, ends)
    if len(vectors) != len(ends):
        raise InvalidArgumentError(f"{name}: expected {len(ends)} {argument}, one per source; got {len(vectors)}")
    checked = []
    for k, (v, x) in enumerate(zip(vectors, ends, strict=True)):
        if v is not None and not isinstance(v, Value):
            v = as_array(v, dtype_of(x), f"{name}: {argument}")
        if v is not None and (dtype_of(v) is not dtype_of(x) or not compatible(shape_of(v), shape_of(x))):
            raise InvalidArgumentError(
                f"{name}: {argument}[{k}] must be {aval_of(x)} like its source; got {aval_of(v)}"
            )
        checked.append(v)
    return checked


def eager(vectors: Sequence[Any]) -> list[Any]:
    """Vectors as values; None stays None."""
    return [v if v is None else wrapped(v) for v in vectors]


def wrapped(x: Any) -> Operand:
    """A result as a value."""
    return x if isinstance(x, Value) else EagerTensor(x)


def require_differentiable(name: str, ends: Sequence[Any]) -> None:
    """Raise unless all targets and sources are of a floating or complex dtype."""
    for x in ends:
        if not dtype_of(x).is_differentiable:
            raise InvalidArgumentError(f"{name}: targets and sources must have a floating or complex dtype; got {x!r}")


def require_real(name: str, ends: Sequence[Any]) -> None:
    """Raise if a matrix of real numbers is wanted where an end is complex: it would be half of the derivatives."""
    for x in ends:
        if dtype_of(x).is_complex:
            whose = "targets" if name == "jacobian_plan" else "sources"
            raise InvalidArgumentError(
                f"{name}: {whose} must be real, since one number per entry does not hold the derivative of complex "
                f"ones; got {x!r}. Take real and imaginary parts as {whose} (tf.math.real, tf.math.imag, tf.complex)"
            )


def pattern_given(name: str, sparsity: Any, shape: tuple[int, int] | None) -> sparse.csr_array | None:
    """A sparsity pattern of the caller's as a CSR matrix of bools; None if it is to be found.

    `shape` is the one it must have, or None if that is not known yet.
    """
    if sparsity is None or (isinstance(sparsity, str) and sparsity == "detect"):
        return None
    if isinstance(sparsity, str):
        raise InvalidArgumentError(f"{name}: argument `sparsity` must be None, 'detect' or a matrix; got {sparsity!r}")
    if not sparse.issparse(sparsity):
        try:
            sparsity = np.atleast_2d(np.asarray(sparsity))
        except ValueError as error:
            raise InvalidArgumentError(f"{name}: argument `sparsity` must be a matrix: {error}") from None
    if shape is not None and sparsity.shape != shape:
        raise InvalidArgumentError(
            f"{name}: argument `sparsity` must have the shape (elements of the target, elements of the source) = "
            f"{shape}; got {sparsity.shape}"
        )
    matrix = sparse.csr_array(sparsity).astype(bool)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def pattern_for(name: str, sparsity: Any, targets: Sequence[Any], sources: Sequence[Any]) -> sparse.csr_array | None:
    """The same for ends, of which there must be one each if the caller gives a matrix."""
    if sparsity is None or isinstance(sparsity, str):
        return pattern_given(name, sparsity, None)
    if len(targets) != 1 or len(sources) != 1:
        raise InvalidArgumentError(
            f"{name}: a `sparsity` pattern needs one target and one source; got {len(targets)} and {len(sources)}"
        )
    rows, columns = aval_of(targets[0]).size, aval_of(sources[0]).size
    return pattern_given(name, sparsity, None if rows is None or columns is None else (rows, columns))
