"""Jacobians of complex targets, put together from those of the real and the imaginary part.

Of real unknowns that is the derivative, a complex matrix, as `jax.jacfwd` gives it. Of complex unknowns one complex
number for each entry is enough only where the function is holomorphic, and is then what its gradient is, the conjugate
of the derivative, as TensorFlow has it. That is checked: of any other function half of the derivative would be lost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from engine.core.dtypes import float32
from engine.core.eager import EagerTensor
from engine.core.tape import Tape, paused
from engine.core.value import dtype_of
from engine.jacobian.views.results import SparseJacobian
from engine.ops.checked import checked_op
from engine.ops.compare import cast
from engine.ops.complexes import complex as complex_of
from engine.ops.complexes import imag, real
from engine.ops.creation import zeros_like
from engine.runtime.errors import InvalidArgumentError
from engine.runtime.lazy_scipy import sparse


def by_parts(
    targets: Sequence[Any],
    sources: Sequence[Any],
    blocks_of: Callable[[Sequence[Any]], list[list[Any]]],
    tape: Tape | None = None,
) -> list[list[Any]]:
    """``blocks_of(targets)``, ``[target][source]``, where those of a complex target come from its two parts.

    A tape records the parts as long as it takes.
    """
    if not any(dtype_of(y).is_complex for y in targets):
        return blocks_of(targets)
    before = None if tape is None else tape.nodes
    try:
        with nullcontext() if tape is None else paused():
            if tape is not None:
                tape.nodes = tape.nodes.copy()
                tape.start()
            parts = [[part(y) if dtype_of(y).is_complex else y for y in targets] for part in (real, imag)]
        rows = zip(targets, *map(blocks_of, parts), strict=True)
        return [
            [joined(a, b, x) for a, b, x in zip(first, second, sources, strict=True)]
            if dtype_of(y).is_complex
            else first
            for y, first, second in rows
        ]
    finally:
        if tape is not None and before is not None:
            tape.nodes = before


def joined(first: Any, second: Any, source: Any) -> Any:
    """The block of a complex target, in any format, from those of its two parts; None if neither is connected.

    Raises
    ------
    InvalidArgumentError
        If the source is complex and the function not holomorphic; in a graph, when it is fetched.
    """
    if first is None and second is None:
        return None
    if isinstance(first, SparseJacobian) or isinstance(second, SparseJacobian):
        whole = second if first is None else first
        made = object.__new__(type(whole))
        values = [None if part is None else part.values for part in (first, second)]
        # both parts take all of the target, so their patterns are one
        if first is not None and second is not None and isinstance(first.indices, np.ndarray):
            assert np.array_equal(first.indices, second.indices)
        made.__dict__.update(whole.__dict__, values=_joined(values[0], values[1], source))
        return made
    if sparse.issparse(first) or sparse.issparse(second):
        whole = (second if first is None else first).copy()
        real, imag = [np.zeros_like(whole.data) if part is None else part.data for part in (first, second)]
        assert first is None or second is None or np.array_equal(first.tocoo().coords, second.tocoo().coords)
        if dtype_of(source).is_complex:
            check_holomorphic(real, imag)
            whole.data[...] = real
        else:
            whole = whole.astype(np.result_type(whole.dtype, np.complex64))
            whole.data.real, whole.data.imag = real, imag
        return whole
    return _joined(first, second, source)


def _joined(first: Any, second: Any, source: Any) -> Any:
    first = zeros_like(second) if first is None else first
    second = zeros_like(first) if second is None else second
    if dtype_of(source).is_complex:
        joined = checked_op(first, first, second, check=check_holomorphic)
    else:
        wide = float32 if dtype_of(first).size < 4 else dtype_of(first)
        joined = complex_of(cast(first, wide), cast(second, wide))
    return EagerTensor(joined) if isinstance(joined, np.ndarray) else joined


def check_holomorphic(real: Any, imag: Any) -> None:
    """Raise unless the gradients of real and imaginary part are those of a holomorphic function, but for rounding."""
    real, imag = np.asarray(real), np.asarray(imag)
    finite = np.isfinite(real) & np.isfinite(imag)
    apart = np.abs(imag - 1j * real, where=finite, out=np.zeros(real.shape, real.real.dtype))
    largest = np.max(np.abs(real), initial=0, where=finite), np.max(np.abs(imag), initial=0, where=finite)
    if np.any(apart > np.sqrt(np.finfo(real.dtype).eps) * max(largest)):
        raise InvalidArgumentError(
            "jacobian: the target is complex and not a holomorphic function of the complex source, so one complex "
            "number per entry does not hold its derivative. Take the Jacobians of tf.math.real(y) and tf.math.imag(y), "
            "or differentiate with respect to the real and imaginary parts of the source"
        )
