"""Python's operators on values.

`Value` stands above the ops in the import order, so it gets its operators here, when the ops exist. A Python number or
an array operand takes the tensor's dtype.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from types import FunctionType
from typing import Any

import numpy as np

from engine.core.aval import format_shape
from engine.core.eager import EagerTensor, in_c
from engine.core.op import Op
from engine.core.operands import Operand
from engine.core.trace import Symbol
from engine.core.value import Value, as_array, dtype_of, shape_of
from engine.core.variable import Variable
from engine.numpy_api import manners
from engine.numpy_api.promotion import promoted
from engine.ops import arithmetic, compare, complexes, explog, indexing, linalg, slicing
from engine.ops.gather import gather
from engine.ops.lift import as_operand
from engine.ops.segment import unsorted_segment_sum
from engine.ops.shape import identity, matrix_transpose
from engine.runtime.collector import settled
from engine.runtime.errors import ShapeError
from engine.runtime.lazy_scipy import scipy

_DATA = (int, float, complex, list, tuple)
_STAND_INS = ("__array__", "as_value", "__dlpack__")
"""Attributes of objects that an operator takes for a tensor."""
"""Python data that an operator accepts beside a tensor."""


_NUMBERS = frozenset({int, float})


def sparse_matmul(matrix: Any, x: Any) -> Operand:
    """``matrix @ x``, as a composition of ops, so that its Jacobian has the matrix's pattern and all modes follow.

    In ``A @ x`` the sparse matrix is asked first, and asks the tensor for an array. It takes an array of rank 0 that
    holds an object as "not an array", and leaves the product to the tensor (`engine.core.value.not_an_array`).

    Parameters
    ----------
    matrix : scipy.sparse matrix or array, shape (m, n)
        A constant; its entries take the dtype of `x`.
    x : Value, shape (n,) or (n, k)

    Returns
    -------
    Value, shape (m,) or (m, k)
        Each row added up in the order of its columns.

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    """
    shape = shape_of(x)
    length = None if shape is None else (*shape, None)[0]
    if len(matrix.shape) != 2 or shape is None or len(shape) not in (1, 2) or length not in (None, matrix.shape[1]):
        raise ShapeError(
            f"matmul: a sparse matrix of shape {format_shape(matrix.shape)} needs a vector or a matrix of "
            f"{matrix.shape[-1]} rows; got shape {format_shape(shape)}"
        )
    entries = scipy.sparse.csr_array(matrix)
    if not entries.has_canonical_format:
        entries = entries.copy()
        entries.sum_duplicates()
    entries = entries.tocoo()
    rows, columns = (np.asarray(i, np.int64) for i in entries.coords)
    data = as_array(entries.data, dtype_of(x), "matmul")
    # the identity: a gradient with respect to `x` itself is to be a tensor, not rows of one
    terms = gather(identity(x), columns, axis=0) * (data if len(shape) == 1 else data[:, None])
    return unsorted_segment_sum(terms, rows, matrix.shape[0])


def matmul_sparse(x: Any, matrix: Any) -> Operand:
    """``x @ matrix`` for a Value of shape (m,) or (k, m) and a sparse matrix of shape (m, n)."""
    if len(shape_of(x) or ()) == 2:
        return matrix_transpose(sparse_matmul(matrix.T, matrix_transpose(x)))
    return sparse_matmul(matrix.T, x)


def _binary(op: Callable[..., Any], name: str, reflected: bool = False) -> Callable[[Value, Any], Any]:
    """A binary operator that applies `op`, converting the other operand to the tensor's dtype."""

    def operator(self: Value, other: Any) -> Any:
        if type(self) is EagerTensor and type(other) in _NUMBERS and self._array.dtype.kind in "fc":
            # of rank 0, not a NumPy scalar, with which ufuncs take longer
            other = EagerTensor(np.asarray(other, self._array.dtype))
        if manners.enabled():
            self, other = promoted((self, other))
        if not isinstance(other, Value):
            if not isinstance(other, _DATA) and not any(hasattr(other, a) for a in _STAND_INS):
                sparse: Any = sys.modules.get("scipy.sparse")  # if nobody has loaded it, this is none of its matrices
                is_one = {"matmul": "issparse", "mul": "isspmatrix"}.get(name)
                if sparse and is_one and getattr(sparse, is_one)(other):
                    # of sparse matrices, as distinct from sparse arrays, `*` is the product of matrices
                    return sparse_matmul(other, self) if reflected else matmul_sparse(self, other)
                return NotImplemented
            other = as_operand(other, self.dtype, name)
            if type(self) is EagerTensor and not isinstance(other, Value):
                other = EagerTensor(other)
        if isinstance(self, Variable) and isinstance(self.handle, Symbol):
            self = self.read_value()
        if isinstance(self, Symbol):
            return self.trace.operator(op, (other, self) if reflected else (self, other), name)
        return op(other, self) if reflected else op(self, other)

    return operator


def _logical_or_bitwise(logical: Callable[..., Any], bitwise: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, *y: (logical if dtype_of(x).is_bool else bitwise)(x, *y)


def _matmul(x: Any, y: Any) -> Any:
    """``@``; also of vectors, where values have the manners of NumPy's arrays."""
    if manners.enabled() and 1 in (len(shape_of(x) or ()), len(shape_of(y) or ())):
        product: Any = np.matmul
        return product(*[v if isinstance(v, Value) else EagerTensor(v) for v in (x, y)])
    return linalg.matmul(x, y)


_BINARY: dict[str, Callable[..., Any]] = {
    "add": arithmetic.add,
    "sub": arithmetic.subtract,
    "mul": arithmetic.multiply,
    "truediv": arithmetic.truediv,
    "floordiv": arithmetic.floordiv,
    "mod": arithmetic.mod,
    "pow": explog.pow,
    "matmul": _matmul,
    "and": _logical_or_bitwise(compare.logical_and, compare.bitwise_and),
    "or": _logical_or_bitwise(compare.logical_or, compare.bitwise_or),
    "xor": _logical_or_bitwise(compare.logical_xor, compare.bitwise_xor),
}
_COMPARISONS = {"lt": compare.less, "le": compare.less_equal, "gt": compare.greater, "ge": compare.greater_equal}


def install() -> None:
    """Give `Value` its operators. Equality is elementwise on eager tensors only: graphs compare by identity."""
    for name, op in _BINARY.items():
        setattr(Value, f"__{name}__", _binary(op, name))
        setattr(Value, f"__r{name}__", _binary(op, name, reflected=True))
    for name, op in _COMPARISONS.items():
        setattr(Value, f"__{name}__", _binary(op, op.type))  # TensorFlow names a comparison after its op
    for name, function in _METHODS.items():
        setattr(Value, f"__{name}__", _method(function))
    if in_c:
        _install_quick()
    for name, op, if_shapes_differ in (("eq", compare.equal, False), ("ne", compare.not_equal, True)):
        setattr(EagerTensor, f"__{name}__", equality(op, if_shapes_differ))


def _install_quick() -> None:
    """Give eager tensors operators in C, which leave all but the common cases to those of `Value`."""
    # of the dtypes that the op takes, and without options, they are the same
    same: dict[Any, Op] = {_matmul: linalg.matmul_op, arithmetic.truediv: arithmetic.divide}
    ops: dict[str, Any] = {**_BINARY, **_COMPARISONS, "neg": arithmetic.negative, "getitem": indexing.getitem_op}
    for name, function in ops.items():
        op = same.get(function, function)
        if isinstance(op, Op):
            for title in (f"__{name}__", f"__r{name}__") if name in _BINARY else (f"__{name}__",):
                reflected = title == f"__r{name}__"
                quick = in_c.operator(op, getattr(Value, title), reflected, name == "getitem")
                setattr(EagerTensor, title, _of_vectors(quick, getattr(Value, title)) if name == "matmul" else quick)


def _of_vectors(quick: Callable[..., Any], slow: Callable[..., Any]) -> Callable[..., Any]:
    """The product in C, which refuses vectors; these are products too where values have the manners of arrays."""

    def operator(self: Value, other: Any) -> Any:
        try:
            return quick(self, other)
        except ShapeError:
            if not manners.enabled():
                raise
        return slow(self, other)

    operator.__wrapped__ = slow  # type: ignore[attr-defined]
    return operator


def equality(op: Callable[..., Any], if_shapes_differ: bool) -> Callable[[Any, Any], Any]:
    """``==`` or ``!=`` that compares elements, but gives one bool for None and for shapes that do not broadcast."""

    def operator(self: Any, other: Any) -> Any:
        if other is None:
            return if_shapes_differ
        if type(self) is EagerTensor and type(other) is float and self._array.dtype.kind in "fc":
            other = EagerTensor(self._array.dtype.type(other))
        elif not isinstance(other, Value):
            if not isinstance(other, _DATA) and not hasattr(other, "__array__"):
                return NotImplemented
            other = as_operand(other, self.dtype, "==")
        elif isinstance(other, Symbol) and not isinstance(self, Symbol):
            return NotImplemented
        try:
            return op(self, other)
        except ShapeError:
            return EagerTensor(np.bool_(if_shapes_differ))

    return operator


def _method(function: Callable[..., Any]) -> Callable[..., Any]:
    return function if isinstance(function, FunctionType) else lambda self, *args: function(self, *args)


def _getitem(self: Value, key: Any) -> Any:
    """Indexing; also by arrays, where values have the manners of NumPy's."""
    kind = type(key)
    if kind is not int and kind is not slice and manners.enabled():
        from engine.numpy_api import array_index

        if any(map(array_index.is_array, key if kind is tuple else (key,))):
            return array_index.by_arrays(self.read_value() if isinstance(self, Variable) else self, key)
    return slicing.getitem(self, key)


def _no_item_assignment(self: Value, *_: Any) -> None:
    raise TypeError(
        f"'{type(self).__name__}' object does not support item assignment: tensors do not change. "
        f"Make a changed copy with tf.tensor_scatter_nd_update or tf.where"
    )


_METHODS: dict[str, Callable[..., Any]] = {
    "neg": arithmetic.negative,
    "pos": lambda x: x,
    "abs": complexes.abs,
    "invert": _logical_or_bitwise(compare.logical_not, compare.bitwise_not),
    "divmod": lambda x, y: (x // y, x % y),
    "rdivmod": lambda x, y: (y // x, y % x),
    "getitem": _getitem,
    "setitem": _no_item_assignment,
}
install()


def _answering(name: str) -> Callable[..., Any]:
    """One of NumPy's protocols; the tables of NumPy's functions are loaded by the first call."""

    def first(self: Value, *args: Any, **kwargs: Any) -> Any:
        settled(import_module, "engine.numpy_api.protocol").install()
        return getattr(self, name)(*args, **kwargs)

    return first


Value.__array_ufunc__ = _answering("__array_ufunc__")  # type: ignore[attr-defined]
Value.__array_function__ = _answering("__array_function__")  # type: ignore[attr-defined]
# where ``==`` means identity it must say so itself, or else Python goes on to ask the array
Value.__eq__ = lambda self, other: self is other  # type: ignore[method-assign]
manners.install()
