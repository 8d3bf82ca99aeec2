"""How far numbers may lie apart that differ by rounding only."""

import numpy as np

from tests.fuzz.programs import Program

TOLERANCE = {"float16": 2e-2, "float32": 2e-4, "float64": 1e-9, "complex64": 2e-4, "complex128": 1e-9}
LARGE = 1e12
"""Derivatives larger than this consist of rounding errors."""


def close(got: np.ndarray, expected: np.ndarray, least: float = 0.0) -> bool:
    """Whether what is finite in both differs by rounding only, measured by the largest of all.

    `least` is a tolerance that must be granted anyway.
    """
    finite = np.isfinite(got) & np.isfinite(expected)
    if not finite.any():
        return True
    tolerance = max(least, tolerance_of(got, expected))
    got, expected = got[finite].astype(complex), expected[finite].astype(complex)
    size = np.abs(expected).max()
    return bool(size > LARGE or (np.abs(got - expected) <= tolerance * (1 + size)).all())


def tolerance_of(*arrays: np.ndarray) -> float:
    """The tolerance of the least precise dtype of some arrays."""
    return max(TOLERANCE.get(a.dtype.name, 1e-9) for a in arrays)


def within(program: Program) -> float:
    """The tolerance of the least precise dtype that a program casts to."""
    text = program.text + " ".join(program.recipes)
    return max([t for name, t in TOLERANCE.items() if f"tf.{name}" in text or f"to {name}" in text], default=0.0)
