"""`Problem`: a function to differentiate, its inputs by size, and its derivative written by hand."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

Size = tuple[int, ...]
Values = tuple[Any, ...]
Kind = Literal["jacobian", "hessian", "batch_jacobian"]
FIELD = "field"
"""The group of the problems from the field's own lists, which were written before anything was tuned for them."""


@dataclass(frozen=True)
class Problem:
    """A function to differentiate, written once for every library, with its derivative written by hand.

    Attributes
    ----------
    group : str
        What is special about it, such as ``"dense"`` or ``"stencil"``.
    function : callable
        ``function(tf, *values)`` gives the target. `tf` is ``graph_api``, ``tape_api``, TensorFlow itself or a stand-in
        of another library (`bench.namespaces`), and the values are its tensors.
    inputs : callable
        ``inputs(size, rng)`` gives the arrays: first those to differentiate with respect to, then the constants.
    expected : callable
        ``expected(*arrays)`` gives the derivative, by NumPy and SciPy alone and not by the same way. A Jacobian or a
        Hessian is a matrix (an array or a SciPy sparse array): one row per element of the target, one column per
        element of the sources, one after another. A batch Jacobian has the batch in front.
    quick, full : tuple of sizes
        The sizes of a quick run, and those that a full run adds.
    sources : int
        How many of the inputs are differentiated with respect to.
    kind : {"jacobian", "hessian", "batch_jacobian"}
        What is asked of the function; the target of a Hessian is a scalar.
    format : {"dense", "csr"}
        What the result shall be.
    dtype : dtype
        Of the sources.
    both_ways : bool
        Whether the derivative is sparse only to who sweeps in both directions, since it has full rows and full columns.
    name : str
        By default the function's.
    """

    group: str
    function: Callable[..., Any]
    inputs: Callable[[Size, np.random.Generator], Values]
    expected: Callable[..., Any]
    quick: tuple[Size, ...]
    full: tuple[Size, ...] = ()
    sources: int = 1
    kind: Kind = "jacobian"
    format: Literal["dense", "csr"] = "dense"
    dtype: Any = np.float64
    both_ways: bool = False
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name or self.function.__name__)

    @property
    def held_out(self) -> bool:
        """Whether it is timed and reported, but never profiled: of those new in 0.2, by the checksum of the name."""
        return self.group == FIELD and zlib.crc32(self.name.encode()) % 2 == 1

    def values(self, size: Size) -> Values:
        """The inputs of this size; always the same."""
        return self.inputs(size, np.random.default_rng(0))

    def sizes(self, full: bool = False) -> tuple[Size, ...]:
        """The sizes of a quick or a full run."""
        return self.quick + (self.full if full else ())


field_problem = partial(Problem, group=FIELD)
"""A problem from the field's own lists."""


def label(size: Size) -> str:
    """``"64x128x32"``: a size as part of a test's name."""
    return "x".join(map(str, size))
