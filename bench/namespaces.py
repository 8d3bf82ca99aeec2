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
    softplus : callable, optional
        The library's own.
    """

    def __init__(self, xp: Any, softplus: Callable[[Any], Any] | None = None) -> None:
        self._xp = xp
        self.sin, self.cos, self.tanh, self.sqrt = xp.sin, xp.cos, xp.tanh, xp.sqrt
        self.exp, self.math = xp.exp, SimpleNamespace(log=xp.log)
        self.matmul, self.reshape, self.transpose, self.roll = xp.matmul, xp.reshape, xp.transpose, xp.roll
        self.reduce_sum, self.reduce_mean = xp.sum, xp.mean
        self.concat = xp.concatenate
        self.nn = SimpleNamespace(softplus=softplus or (lambda x: xp.log1p(xp.exp(x))))

    def stack(self, values: Sequence[Any], axis: int = 0) -> Any:
        """Arrays along a new axis."""
        return self._xp.stack(values, axis)

    def unstack(self, x: Any, axis: int = 0) -> list[Any]:
        """The slices along an axis."""
        return [x[(slice(None),) * axis + (i,)] for i in range(x.shape[axis])]

    def gather(self, x: Any, indices: Any) -> Any:
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
        self.nn = SimpleNamespace(softplus=torch.nn.functional.softplus)

    def stack(self, values: Sequence[Any], axis: int = 0) -> Operand:
        """Tensors along a new axis."""
        return self._torch.stack(list(values), dim=axis)

    def unstack(self, x: Any, axis: int = 0) -> Sequence[Any]:
        """The slices along an axis."""
        return self._torch.unbind(x, dim=axis)

    def gather(self, x: Any, indices: Any) -> Operand:
        """Some rows."""
        return self._torch.index_select(x, 0, indices)
