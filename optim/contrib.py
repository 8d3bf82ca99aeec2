"""The optimizers of ``tf.contrib.opt``: relatives of those in `optim`, under TensorFlow 1's methods."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any

from engine.core.dtypes import float32
from engine.ops.arithmetic import maximum, multiply
from engine.ops.compare import cast_like
from engine.ops.complexes import abs
from optim.adam import AdamOptimizer, adam_with_powers, toward
from optim.external import ScipyOptimizerInterface
from optim.layerwise import LARSOptimizer
from optim.momentum import MomentumOptimizer
from optim.optimizer import Optimizer
from optim.pairs import Rate
from optim.wrappers import MovingAverageOptimizer


class NadamOptimizer(AdamOptimizer):
    """Adam that moves by ``β₁ m + (1 - β₁) g`` in place of ``m``.

    References
    ----------
    Dozat (2016), *Incorporating Nesterov Momentum into Adam*; TensorFlow's form of it, without growing momentum.
    """

    default_name = "Nadam"
    update = staticmethod(partial(adam_with_powers, nesterov=True))


def _adamax(
    gradient: Any, value: Any, slots: dict[str, Any], hyper: SimpleNamespace, state: SimpleNamespace
) -> tuple[Any, dict[str, Any]]:
    """`optim.adam.adamax`, with the power of β₁ that is kept."""
    m = toward(slots["m"], gradient, hyper.beta_1)
    norm = maximum(slots["v"] * hyper.beta_2, abs(gradient))
    rate = hyper.learning_rate / (1 - cast_like(state.beta1_power, value))
    return value - m * rate / (norm + hyper.epsilon), {"m": m, "v": norm}


class AdaMaxOptimizer(AdamOptimizer):
    """Adam with the maximum norm in place of the running square, see `optim.adam.adamax`."""

    default_name = "AdaMax"

    update = staticmethod(_adamax)


class LazyAdamOptimizer(AdamOptimizer):
    """Adam for gradients that consist of rows: what is kept for the other rows stays as it is."""

    def takes_rows(self) -> bool:
        """Yes, unlike `AdamOptimizer`."""
        return True


class DecoupledWeightDecay(Optimizer):
    """An optimizer that first takes ``weight_decay * value`` off each variable, whatever the learning rate is.

    References
    ----------
    Loshchilov and Hutter (2017), *Decoupled Weight Decay Regularization*, arXiv:1711.05101.
    """

    decided_by = ("_weight_decay",)
    _weight_decay: Any

    def _new_values(
        self, gradient: Any, value: Any, slots: dict[str, Any], hyper: SimpleNamespace, state: SimpleNamespace
    ) -> tuple[Any, dict[str, Any]]:
        decay = self._in_dtype("weight_decay", self._call_if_callable(self._weight_decay), value.dtype)
        return super()._new_values(gradient, value - multiply(value, decay), slots, hyper, state)


class AdamWOptimizer(DecoupledWeightDecay, AdamOptimizer):
    """Adam with decoupled weight decay.

    Parameters
    ----------
    weight_decay : float, tensor, or callable returning one
    learning_rate, beta1, beta2, epsilon, use_locking, name
        As for `AdamOptimizer`.
    """

    def __init__(
        self,
        weight_decay: Any,
        learning_rate: Rate = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "AdamW",
        *,
        power_dtype: Any = float32,
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, use_locking, name, power_dtype=power_dtype)
        self._weight_decay = weight_decay


class MomentumWOptimizer(DecoupledWeightDecay, MomentumOptimizer):
    """Momentum with decoupled weight decay.

    Parameters
    ----------
    weight_decay : float, tensor, or callable returning one
    learning_rate, momentum, use_locking, name, use_nesterov
        As for `MomentumOptimizer`.
    """

    def __init__(
        self,
        weight_decay: Any,
        learning_rate: Rate,
        momentum: Any,
        use_locking: bool = False,
        name: str = "MomentumW",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(learning_rate, momentum, use_locking, name, use_nesterov)
        self._weight_decay = weight_decay


__all__ = [
    "AdaMaxOptimizer",
    "AdamWOptimizer",
    "DecoupledWeightDecay",
    "LARSOptimizer",
    "LazyAdamOptimizer",
    "MomentumWOptimizer",
    "MovingAverageOptimizer",
    "NadamOptimizer",
    "ScipyOptimizerInterface",
]
