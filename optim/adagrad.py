"""Adagrad: steps scaled by the sum of all squared gradients."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from engine.ops.arithmetic import square
from engine.ops.explog import sqrt
from optim.keras_optimizer import KerasOptimizer
from optim.optimizer import Optimizer
from optim.pairs import Rate, of_rows


def adagrad(
    gradient: Any, value: Any, slots: dict[str, Any], hyper: SimpleNamespace, state: SimpleNamespace
) -> tuple[Any, dict[str, Any]]:
    """``a ← a + g²``, then ``value - η g / √(a + ε)``.

    References
    ----------
    Duchi, Hazan and Singer (2011), *Adaptive Subgradient Methods for Online Learning and Stochastic Optimization*.
    """
    accumulator = slots["accumulator"] + of_rows(square, gradient, hyper)
    return value - gradient * hyper.learning_rate / sqrt(accumulator + hyper.epsilon), {"accumulator": accumulator}


class AdagradOptimizer(Optimizer):
    """Adagrad, see `adagrad` (ε is 0).

    Parameters
    ----------
    learning_rate : float, tensor, or callable returning one
    initial_accumulator_value : float
        Above 0.
    use_locking : bool
        Accepted for compatibility.
    name : str
    """

    hyperparameters = ("learning_rate", "epsilon")
    epsilon = 0.0
    update = staticmethod(adagrad)

    def __init__(
        self,
        learning_rate: Rate,
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str = "Adagrad",
    ) -> None:
        if initial_accumulator_value <= 0:
            raise ValueError(f"initial_accumulator_value must be positive: {initial_accumulator_value}")
        super().__init__(use_locking, name)
        self.learning_rate = learning_rate
        self.initial_accumulator_value = initial_accumulator_value

    def initial_slots(self) -> dict[str, float]:
        """The sum of the squared gradients."""
        return {"accumulator": self.initial_accumulator_value}


class Adagrad(KerasOptimizer):
    """Adagrad, see `adagrad`.

    Parameters
    ----------
    learning_rate : float, tensor, callable or LearningRateSchedule
    initial_accumulator_value, epsilon : float
    **common
        See `KerasOptimizer`.
    """

    hyperparameters = ("learning_rate", "initial_accumulator_value", "epsilon")
    update = staticmethod(adagrad)

    def __init__(
        self, learning_rate: Rate = 0.001, initial_accumulator_value: float = 0.1, epsilon: Any = 1e-7, **common: Any
    ) -> None:
        super().__init__(learning_rate, **common)
        if initial_accumulator_value < 0:
            raise ValueError(f"`initial_accumulator_value` must not be negative, got {initial_accumulator_value}")
        self.initial_accumulator_value = initial_accumulator_value
        self.epsilon = epsilon

    def takes_rows(self) -> bool:
        """Yes, where a row without a gradient stays as it is."""
        return self.weight_decay is None

    def initial_slots(self) -> dict[str, float]:
        """The sum of the squared gradients."""
        return {"accumulator": float(np.float32(self.initial_accumulator_value))}
