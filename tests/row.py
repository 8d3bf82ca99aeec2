"""A row of the op table: one op with inputs to try it on."""

import functools
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engine.core.op import Op

Generator = Callable[[np.random.Generator, np.dtype], np.ndarray]


def real(*shape: int, low: float = -2.0, high: float = 2.0) -> Generator:
    """Floats (or complex numbers, in the square) in [low, high), of the dtype under test."""

    def make(rng: np.random.Generator, dtype: np.dtype) -> np.ndarray:
        values = rng.uniform(low, high, shape)
        if dtype.kind == "c":
            values = values + 1j * rng.uniform(low, high, shape)
        return values.astype(dtype)

    return make


def positive(*shape: int) -> Generator:
    """Floats in [0.5, 2)."""
    return real(*shape, low=0.5, high=2.0)


def unit(*shape: int) -> Generator:
    """Floats in [-0.9, 0.9)."""
    return real(*shape, low=-0.9, high=0.9)


def distinct(*shape: int) -> Generator:
    """Floats no two of which are close, in random order: for extrema and sorting, away from ties."""

    def make(rng: np.random.Generator, dtype: np.dtype) -> np.ndarray:
        count = int(np.prod(shape))
        return (rng.permutation(count).reshape(shape) * 0.37 - 0.37 * count / 2 + 0.1).astype(dtype)

    return make


def integers(*shape: int, low: int = 0, high: int, dtype: Any = np.int32) -> Generator:
    """Integers in [low, high), whatever the dtype under test."""
    return lambda rng, _: np.asarray(rng.integers(low, high, shape), dtype)


def booleans(*shape: int) -> Generator:
    """Random truth values."""
    return lambda rng, _: np.asarray(rng.integers(0, 2, shape), np.bool_)


def fixed(value: Any, dtype: Any = None) -> Generator:
    """A given array. Floats take the dtype under test (zeros, ties) unless `dtype` is given, others stay."""
    array = np.asarray(value, dtype)

    def make(rng: np.random.Generator, tested: np.dtype) -> np.ndarray:
        follows = dtype is None and array.dtype.kind in "fc" and tested.kind in "fc"
        return array.astype(tested) if follows else array

    return make


@dataclass(frozen=True)
class Row:
    """One case of one op.

    Attributes
    ----------
    op : Op
        The op this row is for (completeness is counted by it).
    inputs : tuple of generators
        ``make(rng, dtype) -> array``, one per operand.
    params : dict
        Keyword parameters of the op.
    call : callable, optional
        ``call(*inputs, *args, **options)`` to apply instead of ``op(*inputs, **params)``, say a public function built
        on the op.
    args, options : tuple, dict
        What `call` and TensorFlow's function take besides.
    wrt : tuple of int, optional
        Operands to differentiate; by default those that are floating in this row and have a rule.
    dtypes : tuple of str
        The dtypes to test; generators get each in turn.
    oracle : callable, optional
        NumPy or SciPy reference of the value, ``oracle(*arrays)``; needed unless the kernel *is* the reference. It may
        compute in double precision for all dtypes: values are compared, not dtypes.
    tf : str or callable, optional
        The same in real TensorFlow: the name of what takes what `call` takes, or ``tf(tensorflow, *tensors)``. Value
        and gradient are compared when it is installed.
    tf_value_only : tuple of str
        Dtypes in which TensorFlow's gradient is missing or wrong, so that only the value is compared.
    order : int
        Highest order of derivative to check (0: none, for nondifferentiable ops).
    tol : float
        Factor on the default tolerances.
    static : bool
        Whether it needs static shapes. All other rows must work, gradient included, where dimensions are unknown.
    reorders : bool
        Whether it chooses an order of arithmetic by static shapes, so that a graph of unknown dimensions agrees with a
        tape only up to rounding. All other rows must agree to the bit.
    by_differences : bool
        Whether finite differences give its derivative. Those of random numbers may tell of others that are accepted.
    label : str
        Distinguishes several rows of one op.
    """

    op: Op
    inputs: tuple[Generator, ...]
    params: Mapping[str, Any] = field(default_factory=dict)
    call: Callable[..., Any] | None = None
    wrt: tuple[int, ...] | None = None
    dtypes: tuple[str, ...] = ("float32", "float64")
    oracle: Callable[..., Any] | None = None
    tf: str | Callable[..., Any] | None = None
    args: tuple[Any, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    tf_value_only: tuple[str, ...] = ()
    order: int = 2
    tol: float = 1.0
    static: bool = False
    reorders: bool = False
    by_differences: bool = True
    label: str = ""

    @property
    def id(self) -> str:
        """A readable test id."""
        return self.op.name + (f"-{self.label}" if self.label else "")

    def apply(self, *inputs: Any) -> Any:
        """Apply the row's function."""
        return self.call(*inputs, *self.args, **self.options) if self.call else self.op(*inputs, **self.params)

    def in_tensorflow(self, tf: Any, *tensors: Any) -> Any:
        """Apply the row's function in TensorFlow, or in what has its names."""
        if callable(self.tf):
            return self.tf(tf, *tensors)
        assert self.tf is not None
        return functools.reduce(getattr, self.tf.split("."), tf)(*tensors, *self.args, **self.options)

    def arrays(self, dtype: str, seed: int = 0) -> list[Any]:
        """Inputs of the dtype: the same ones each time, and read-only, so that nobody can change them unnoticed."""
        rng = np.random.default_rng([zlib.crc32(self.id.encode()), seed])
        made = [np.asarray(make(rng, np.dtype(dtype))) for make in self.inputs]
        for array in made:
            array.flags.writeable = False
        return made

    def differentiable(self, arrays: Sequence[Any]) -> tuple[int, ...]:
        """The positions of the inputs to differentiate."""
        if self.op.vjp is None or not self.order:
            return ()
        if self.wrt is not None:
            return self.wrt
        inexact = [i for i, a in enumerate(arrays) if a.dtype.kind in "fc"]
        return tuple(i for i in inexact if self.call or self.op.vjp[i] is not None)


def case(*inputs: Generator, **rest: Any) -> dict[str, Any]:
    """What one of several rows of an op says by itself: see `rows`."""
    return {"inputs": inputs, **rest}


def rows(op: Op, *cases: Mapping[str, Any], **shared: Any) -> tuple[Row, ...]:
    """Rows of one op; what they share is said once, a case may say something else."""
    return tuple(Row(op, **{**shared, **each}) for each in cases)


def offered(op: Op, function: Callable[..., Any], inputs: Sequence[Generator], *args: Any, **more: Any) -> Row:
    """A row of a public function with some arguments, which TensorFlow has under the same name."""
    name = function.__name__
    shared = {"label": name, "call": function, "args": args, "tf": name}
    return Row(op, tuple(inputs), **{**shared, **more})


__all__ = ["Row", "booleans", "case", "distinct", "fixed", "integers", "offered", "positive", "real", "rows", "unit"]
