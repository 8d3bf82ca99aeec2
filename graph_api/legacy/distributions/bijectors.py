"""``tf.contrib.distributions.bijectors``: functions with an inverse, and how much they stretch.

A bijector of numbers works element by element; `event_ndims` more axes are summed up in the logarithms of its
determinants. Those whose `event_ndims` is 1 work on vectors along the last axis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import graph_api as tf
from graph_api.legacy.distributions.base import floats
from graph_api.tensor import Tensor

__all__ = [
    "Affine",
    "AffineScalar",
    "Bijector",
    "Chain",
    "Exp",
    "Identity",
    "Inline",
    "Invert",
    "PowerTransform",
    "Sigmoid",
    "Softplus",
    "Tanh",
]


class Bijector:
    """Base: a subclass defines `_forward`, `_inverse` and one of the two logarithms of determinants."""

    event_ndims = 0

    def __init__(self, name: str | None = None) -> None:
        self.name = name or type(self).__name__.lower()

    def _forward(self, x: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__}: there is no `_forward`")

    def _inverse(self, y: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__}: there is no `_inverse`")

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return -self._inverse_log_det_jacobian(self._forward(x))

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        if type(self)._forward_log_det_jacobian is Bijector._forward_log_det_jacobian:
            raise NotImplementedError(f"{type(self).__name__}: there is no logarithm of a determinant")
        return -self._forward_log_det_jacobian(self._inverse(y))

    @property
    def forward_min_event_ndims(self) -> int:
        """How many axes one value has at least."""
        return self.event_ndims

    inverse_min_event_ndims = forward_min_event_ndims

    def forward(self, x: Any, name: str = "forward") -> Tensor:
        """The image of `x`."""
        return self._forward(floats(x)[0])

    def inverse(self, y: Any, name: str = "inverse") -> Tensor:
        """The preimage of `y`."""
        return self._inverse(floats(y)[0])

    def _summed(self, x: Any, like: Any, event_ndims: Any) -> Tensor:
        """Logarithms of whole events: those of single values added up."""
        more = (self.event_ndims if event_ndims is None else int(event_ndims)) - self.event_ndims
        if more < 0:
            raise ValueError(f"{type(self).__name__}: `event_ndims` must be at least {self.event_ndims}")
        if not more:
            return x
        whole = x + tf.zeros_like(like if not self.event_ndims else tf.reduce_sum(like, -1))
        return tf.reduce_sum(whole, list(range(-more, 0)))

    def forward_log_det_jacobian(self, x: Any, event_ndims: Any = None, name: str = "forward_ldj") -> Tensor:
        """The logarithm of the absolute determinant of the Jacobian at `x`."""
        (x,) = floats(x)
        return self._summed(self._forward_log_det_jacobian(x), x, event_ndims)

    def inverse_log_det_jacobian(self, y: Any, event_ndims: Any = None, name: str = "inverse_ldj") -> Tensor:
        """The logarithm of the absolute determinant of the inverse's Jacobian at `y`."""
        (y,) = floats(y)
        return self._summed(self._inverse_log_det_jacobian(y), y, event_ndims)

    def __repr__(self) -> str:
        return f"tf.contrib.distributions.bijectors.{type(self).__name__}({self.name!r})"


class Identity(Bijector):
    """``y = x``."""

    def _forward(self, x: Any) -> Any:
        return tf.identity(x)

    def _inverse(self, y: Any) -> Any:
        return tf.identity(y)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return tf.zeros_like(x)


class Exp(Bijector):
    """``y = exp(x)``."""

    def _forward(self, x: Any) -> Any:
        return tf.exp(x)

    def _inverse(self, y: Any) -> Any:
        return tf.math.log(y)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return x

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return -tf.math.log(y)


class Sigmoid(Bijector):
    """``y = 1 / (1 + exp(-x))``."""

    def _forward(self, x: Any) -> Any:
        return tf.sigmoid(x)

    def _inverse(self, y: Any) -> Any:
        return tf.math.log(y) - tf.math.log1p(-y)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return -tf.nn.softplus(-x) - tf.nn.softplus(x)

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return -tf.math.log(y) - tf.math.log1p(-y)


class Tanh(Bijector):
    """``y = tanh(x)``."""

    def _forward(self, x: Any) -> Any:
        return tf.tanh(x)

    def _inverse(self, y: Any) -> Any:
        return tf.atanh(y)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        # log(1 - tanh(x)**2) without its cancellation
        return 2.0 * (tf.math.log(tf.constant(2.0, x.dtype)) - x - tf.nn.softplus(-2.0 * x))


class Softplus(Bijector):
    """``y = log(1 + exp(x / c)) * c``, where c is `hinge_softness`."""

    def __init__(self, hinge_softness: Any = None, validate_args: bool = False, name: str = "softplus") -> None:
        super().__init__(name)
        self.hinge_softness = hinge_softness

    def _scaled(self, x: Any, function: Callable[[Any], Any]) -> Any:
        c = self.hinge_softness
        return function(x) if c is None else function(x / c) * c

    def _forward(self, x: Any) -> Any:
        return self._scaled(x, tf.nn.softplus)

    def _inverse(self, y: Any) -> Any:
        return self._scaled(y, lambda v: v + tf.math.log(-tf.math.expm1(-v)))

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return -tf.nn.softplus(-x if self.hinge_softness is None else -x / self.hinge_softness)


class PowerTransform(Bijector):
    """``y = (1 + p x)**(1 / p)``, and ``exp(x)`` for p = 0."""

    def __init__(self, power: float = 0.0, validate_args: bool = False, name: str = "power_transform") -> None:
        super().__init__(name)
        if power < 0:
            raise ValueError(f"PowerTransform: `power` must be at least 0, got {power}")
        self.power = power

    def _forward(self, x: Any) -> Any:
        return tf.exp(tf.math.log1p(x * self.power) / self.power) if self.power else tf.exp(x)

    def _inverse(self, y: Any) -> Any:
        return tf.math.expm1(tf.math.log(y) * self.power) / self.power if self.power else tf.math.log(y)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return (1.0 / self.power - 1.0) * tf.math.log1p(x * self.power) if self.power else x


class AffineScalar(Bijector):
    """``y = scale * x + shift``, element by element."""

    def __init__(self, shift: Any = None, scale: Any = None, validate_args: bool = False,
                 name: str = "affine_scalar") -> None:  # fmt: skip
        super().__init__(name)
        self.shift, self.scale = (None if v is None else floats(v)[0] for v in (shift, scale))

    def _forward(self, x: Any) -> Any:
        y = x if self.scale is None else x * self.scale
        return y if self.shift is None else y + self.shift

    def _inverse(self, y: Any) -> Any:
        x = y if self.shift is None else y - self.shift
        return x if self.scale is None else x / self.scale

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return tf.zeros_like(x) if self.scale is None else tf.zeros_like(x) + tf.math.log(tf.abs(self.scale))


class Affine(Bijector):
    """``y = scale @ x + shift`` of vectors; the parts of `scale` that are given are added up.

    Parameters
    ----------
    shift
        ``[..., k]``.
    scale_identity_multiplier
        ``[...]``, times the identity.
    scale_diag
        ``[..., k]``, a diagonal.
    scale_tril
        ``[..., k, k]``, a lower triangle.
    """

    event_ndims = 1

    def __init__(self, shift: Any = None, scale_identity_multiplier: Any = None, scale_diag: Any = None,
                 scale_tril: Any = None, scale_perturb_factor: Any = None, scale_perturb_diag: Any = None,
                 validate_args: bool = False, name: str = "affine") -> None:  # fmt: skip
        super().__init__(name)
        if scale_perturb_factor is not None or scale_perturb_diag is not None:
            raise NotImplementedError("Affine: give the whole matrix as `scale_tril`; low ranks are not supported")
        parts = (shift, scale_identity_multiplier, scale_diag, scale_tril)
        floating = iter(floats(*[p for p in parts if p is not None]))
        self.shift, times, self._diagonal, triangle = (None if p is None else next(floating) for p in parts)
        self._triangle = None if triangle is None else tf.linalg.band_part(triangle, -1, 0)
        if times is not None:
            wide = tf.expand_dims(times, -1)
            self._diagonal = wide if self._diagonal is None else self._diagonal + wide
        if self._triangle is not None and self._diagonal is not None:
            whole = tf.linalg.diag_part(self._triangle) + self._diagonal
            self._triangle, self._diagonal = tf.linalg.set_diag(self._triangle, whole), None

    def _forward(self, x: Any) -> Any:
        if self._triangle is not None:
            x = tf.reduce_sum(self._triangle * tf.expand_dims(x, -2), -1)
        elif self._diagonal is not None:
            x = x * self._diagonal
        return x if self.shift is None else x + self.shift

    def _inverse(self, y: Any) -> Any:
        x = y if self.shift is None else y - self.shift
        if self._triangle is not None:
            rows = tf.broadcast_to(self._triangle, tf.concat([tf.shape(x)[:-1], tf.shape(self._triangle)[-2:]], 0))
            return tf.squeeze(tf.linalg.triangular_solve(rows, tf.expand_dims(x, -1)), -1)
        return x if self._diagonal is None else x / self._diagonal

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        diagonal = self._diagonal if self._triangle is None else tf.linalg.diag_part(self._triangle)
        zeros = tf.zeros_like(x)
        return tf.reduce_sum(zeros if diagonal is None else zeros + tf.math.log(tf.abs(diagonal)), -1)


class Invert(Bijector):
    """The inverse of a bijector as a bijector."""

    def __init__(self, bijector: Bijector, validate_args: bool = False, name: str | None = None) -> None:
        super().__init__(name or f"invert_{bijector.name}")
        self.bijector, self.event_ndims = bijector, bijector.event_ndims

    def _forward(self, x: Any) -> Any:
        return self.bijector._inverse(x)

    def _inverse(self, y: Any) -> Any:
        return self.bijector._forward(y)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return self.bijector._inverse_log_det_jacobian(x)

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return self.bijector._forward_log_det_jacobian(y)


class Chain(Bijector):
    """Bijectors one after the other, the last one first: ``Chain([f, g]).forward(x)`` is f of g of x."""

    def __init__(self, bijectors: Sequence[Bijector] | None = None, validate_args: bool = False,
                 name: str | None = None) -> None:  # fmt: skip
        self.bijectors = list(bijectors or [])
        super().__init__(name or "_of_".join(["chain", *(b.name for b in self.bijectors)]))
        self.event_ndims = max((b.event_ndims for b in self.bijectors), default=0)

    def _forward(self, x: Any) -> Any:
        for bijector in reversed(self.bijectors):
            x = bijector._forward(x)
        return x

    def _inverse(self, y: Any) -> Any:
        for bijector in self.bijectors:
            y = bijector._inverse(y)
        return y

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        total = tf.zeros_like(x if not self.event_ndims else tf.reduce_sum(x, -1))
        for bijector in reversed(self.bijectors):
            total = total + bijector.forward_log_det_jacobian(x, self.event_ndims)
            x = bijector._forward(x)
        return total

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        total = tf.zeros_like(y if not self.event_ndims else tf.reduce_sum(y, -1))
        for bijector in self.bijectors:
            total = total + bijector.inverse_log_det_jacobian(y, self.event_ndims)
            y = bijector._inverse(y)
        return total


class Inline(Bijector):
    """A bijector of functions that are given."""

    def __init__(self, forward_fn: Any = None, inverse_fn: Any = None, inverse_log_det_jacobian_fn: Any = None,
                 forward_log_det_jacobian_fn: Any = None, forward_min_event_ndims: int = 0,
                 validate_args: bool = False, name: str = "inline") -> None:  # fmt: skip
        super().__init__(name)
        self.event_ndims = forward_min_event_ndims
        given = {
            "_forward": forward_fn,
            "_inverse": inverse_fn,
            "_inverse_log_det_jacobian": inverse_log_det_jacobian_fn,
            "_forward_log_det_jacobian": forward_log_det_jacobian_fn,
        }
        for attribute, function in given.items():
            if function is not None:
                setattr(self, attribute, function)
