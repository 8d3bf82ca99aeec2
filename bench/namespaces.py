"""Other array libraries under TensorFlow's names: as many of them as the problems use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from engine.core.operands import Operand


class ArrayNamespace:
    """NumPy, ``jax.numpy`` or ``autograd.numpy``.

    Parameters
    ----------
    xp : module
    softplus, sigmoid, conv2d : callable, optional
        The library's own.
    """

    def __init__(
        self,
        xp: Any,
        softplus: Callable[[Any], Any] | None = None,
        sigmoid: Callable[[Any], Any] | None = None,
        conv2d: Callable[..., Any] | None = None,
    ) -> None:
        self._xp = xp
        self.sin, self.cos, self.tanh, self.sqrt = xp.sin, xp.cos, xp.tanh, xp.sqrt
        self.exp, self.math = xp.exp, SimpleNamespace(log=xp.log)
        self.sigmoid = sigmoid or (lambda x: 1.0 / (1.0 + xp.exp(-x)))
        self.matmul, self.reshape, self.transpose, self.roll = xp.matmul, xp.reshape, xp.transpose, xp.roll
        self.reduce_sum, self.reduce_mean = xp.sum, xp.mean
        self.concat = xp.concatenate
        self.linalg = SimpleNamespace(
            solve=xp.linalg.solve, cholesky=xp.linalg.cholesky, diag_part=lambda x: xp.diagonal(x, 0, -1, -2)
        )
        self.nn = SimpleNamespace(
            softplus=softplus or (lambda x: xp.log1p(xp.exp(x))),
            relu=lambda x: xp.maximum(x, 0.0),
            conv2d=conv2d or shifted_products,
        )

    def stack(self, values: Sequence[Any], axis: int = 0) -> Operand:
        """Arrays along a new axis."""
        return self._xp.stack(values, axis)

    def unstack(self, x: Any, axis: int = 0) -> list[Any]:
        """The slices along an axis."""
        return [x[(slice(None),) * axis + (i,)] for i in range(x.shape[axis])]

    def gather(self, x: Any, indices: Any) -> Operand:
        """Some rows."""
        return x[indices]


class TorchNamespace:
    """PyTorch."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self.sin, self.cos, self.tanh, self.sqrt = torch.sin, torch.cos, torch.tanh, torch.sqrt
        self.exp, self.math = torch.exp, SimpleNamespace(log=torch.log)
        self.matmul, self.reshape, self.transpose, self.roll = torch.matmul, torch.reshape, torch.permute, torch.roll
        self.reduce_sum, self.reduce_mean = torch.sum, torch.mean
        self.concat = torch.cat
        self.sigmoid = torch.sigmoid
        self.linalg = SimpleNamespace(
            solve=torch.linalg.solve, cholesky=torch.linalg.cholesky, diag_part=torch.diagonal
        )
        self.nn = SimpleNamespace(softplus=torch.nn.functional.softplus, relu=torch.relu, conv2d=self._conv2d)

    def stack(self, values: Sequence[Any], axis: int = 0) -> Operand:
        """Tensors along a new axis."""
        return self._torch.stack(list(values), dim=axis)

    def unstack(self, x: Any, axis: int = 0) -> Sequence[Any]:
        """The slices along an axis."""
        return self._torch.unbind(x, dim=axis)

    def gather(self, x: Any, indices: Any) -> Operand:
        """Some rows."""
        return self._torch.index_select(x, 0, indices)

    def _conv2d(self, x: Any, filters: Any, strides: int, padding: str) -> Operand:
        channels_first, outputs_first = x.permute(0, 3, 1, 2), filters.permute(3, 2, 0, 1)
        found = self._torch.nn.functional.conv2d(channels_first, outputs_first, stride=strides, padding=padding.lower())
        return found.permute(0, 2, 3, 1)


def shifted_products(x: Any, filters: Any, strides: int, padding: str) -> Operand:
    """A convolution for libraries without one: a product for each place in the filter."""
    if (strides, padding) != (1, "VALID"):
        raise NotImplementedError(f"strides {strides}, padding {padding!r}: only 1 and 'VALID'")
    rows, columns = (n - k + 1 for n, k in zip(x.shape[1:3], filters.shape[:2], strict=True))
    return sum(
        x[:, i : i + rows, j : j + columns] @ filters[i, j]
        for i in range(filters.shape[0])
        for j in range(filters.shape[1])
    )
