"""A row of the op table: one op with inputs to try it on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engine.op import Op

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


def fixed(value: Any, dtype: Any = None) -> Generator:
    """A given array, whatever the dtype under test (indices, conditions, shapes)."""
    array = np.asarray(value, dtype)
    return lambda rng, _: array


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
        ``call(*inputs)`` to apply instead of ``op(*inputs, **params)``, say a public function built on the op.
    wrt : tuple of int, optional
        Operands to differentiate; by default those that are floating in this row and have a rule.
    dtypes : tuple of str
    oracle : callable, optional
        NumPy or SciPy reference of the value, ``oracle(*arrays)``; needed unless the kernel *is* the reference.
    tf : callable, optional
        ``tf(tensorflow, *tensors)``: the same in real TensorFlow; value and gradient are compared when it is installed.
    order : int
        Highest order of derivative to check (0: none, for nondifferentiable ops).
    tol : float
        Factor on the default tolerances.
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
    tf: Callable[..., Any] | None = None
    order: int = 2
    tol: float = 1.0
    label: str = ""

    @property
    def id(self) -> str:
        """A readable test id."""
        return self.op.name + (f"-{self.label}" if self.label else "")

    def apply(self, *inputs: Any) -> Any:
        """Apply the row's function."""
        return self.call(*inputs) if self.call else self.op(*inputs, **self.params)


__all__ = ["Row", "distinct", "fixed", "positive", "real", "unit"]
