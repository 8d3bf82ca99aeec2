"""``tf.test``: comparing derivatives with finite differences, and questions about hardware that programs ask."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from dualgrad.extras.testing import Assertions, gpu_device_name, is_built_with_cuda, is_gpu_available, main
from dualgrad.frontend.seeds import DEFAULT_SEED
from engine.transforms import check
from tape_api.random import set_seed
from tape_api.tensor import convert_to_tensor


class TestCase(Assertions):
    """A test case with assertions about tensors and arrays."""

    def setUp(self) -> None:
        """Start all random numbers anew."""
        super().setUp()
        set_seed(DEFAULT_SEED)

    @contextmanager
    def session(self, graph: Any = None, config: Any = None, **_: Any) -> Iterator[None]:
        """Nothing: tensors have their values."""
        yield None

    cached_session = session


def compute_gradient(
    f: Callable[..., Any], x: Sequence[Any], delta: float | None = None
) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
    """Jacobians of a function by the tape, and by finite differences.

    Parameters
    ----------
    f : callable
        ``f(*x)`` returns one tensor.
    x : sequence of tensor or array
        Floating or complex.
    delta : float, optional
        Half the distance of the points that differences are taken between, by default 1/1024.

    Returns
    -------
    tuple of two tuples of array
        Per argument a Jacobian of shape ``(size of f(*x), size of the argument)``. Complex numbers count as two reals.

    Examples
    --------
    >>> import tape_api as tf
    >>> exact, numeric = compute_gradient(tf.square, [tf.constant([1.0, 2.0])])
    >>> exact[0].tolist(), bool(np.allclose(exact[0], numeric[0], atol=1e-3))
    ([[2.0, 0.0], [0.0, 4.0]], True)
    """
    exact, numeric = check.compute_gradient(f, [convert_to_tensor(a) for a in x], delta or 1 / 1024)
    return tuple(exact), tuple(numeric)


__all__ = ["TestCase", "compute_gradient", "gpu_device_name", "is_built_with_cuda", "is_gpu_available", "main"]
