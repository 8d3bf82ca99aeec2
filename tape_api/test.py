"""``tf.test``: comparing derivatives with finite differences, and questions about hardware that programs ask."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from dualgrad.extras.testing import Assertions, gpu_device_name, is_built_with_cuda, is_gpu_available, main
from engine import check
from engine.core.unconnected import UnconnectedGradients
from engine.gradient_tape import GradientTape
from tape_api.tensor import convert_to_tensor


class TestCase(Assertions):
    """A test case with assertions about tensors and arrays."""

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
        Per argument a Jacobian of shape ``(size of f(*x), size of the argument)``. If one of them is complex, complex
        numbers count as two reals each.

    Examples
    --------
    >>> import tape_api as tf
    >>> exact, numeric = compute_gradient(tf.square, [tf.constant([1.0, 2.0])])
    >>> exact[0].tolist(), bool(np.allclose(exact[0], numeric[0], atol=1e-3))
    ([[2.0, 0.0], [0.0, 4.0]], True)
    """
    arguments = [convert_to_tensor(a) for a in x]
    if any(a.dtype.is_complex for a in arguments):
        in_reals = check.compute_gradient(f, arguments, delta or 1 / 1024)
        return tuple(in_reals[0]), tuple(in_reals[1])
    with GradientTape() as tape:
        tape.watch(arguments)
        y = f(*arguments)
    size = y.numpy().size
    jacobians = tape.jacobian(y, arguments, unconnected_gradients=UnconnectedGradients.ZERO)
    exact = [j.numpy().reshape(size, a.numpy().size) for j, a in zip(jacobians, arguments, strict=True)]
    numeric = [_differences(f, arguments, i, delta or 1 / 1024) for i in range(len(arguments))]
    return tuple(exact), tuple(numeric)


def _differences(f: Callable[..., Any], arguments: Sequence[Any], which: int, delta: float) -> np.ndarray:
    point = arguments[which].numpy()
    columns = []
    for index in np.ndindex(point.shape):
        values = []
        for step in (delta, -delta):
            moved = np.array(point)
            moved[index] += step
            inputs = [convert_to_tensor(moved) if i == which else a for i, a in enumerate(arguments)]
            values.append(np.ravel(f(*inputs).numpy()))
        columns.append((values[0] - values[1]) / (2 * delta))
    return np.stack(columns, axis=1) if columns else np.zeros((np.size(f(*arguments).numpy()), 0))


__all__ = ["TestCase", "compute_gradient", "gpu_device_name", "is_built_with_cuda", "is_gpu_available", "main"]
