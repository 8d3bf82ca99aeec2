"""FTRL-proximal: follow the regularized leader, for sparse linear models."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from engine.ops.arithmetic import clip, square
from engine.ops.explog import pow
from optim.keras_optimizer import KerasOptimizer
from optim.optimizer import Optimizer
from optim.pairs import Rate, of_rows


def ftrl(
    gradient: Any, value: Any, slots: dict[str, Any], hyper: SimpleNamespace, state: SimpleNamespace
) -> tuple[Any, dict[str, Any]]:
    """FTRL-proximal with per-coordinate rates; λ₁, λ₂ are the regularization strengths, λₛ the shrinkage, p the power.

    ::

        n' = n + g²
        z ← z + g + 2 λₛ value - (n'⁻ᵖ - n⁻ᵖ) / η value
        value ← (clip(z, -λ₁, λ₁) - z) / (n'⁻ᵖ / η + 2 (λ₂ + β / (2 η)))

    References
    ----------
    McMahan et al. (2013), *Ad Click Prediction: a View from the Trenches*, algorithm 1. The shrinkage is TensorFlow's.
    """
    rate, l1, power = hyper.learning_rate, hyper.l1_regularization_strength, -hyper.learning_rate_power
    accumulator = slots["accum"] + of_rows(square, gradient, hyper)
    root = pow(accumulator, power)
    shrunk = gradient + value * (hyper.l2_shrinkage_regularization_strength * 2)
    linear = slots["linear"] + (shrunk - (root - pow(slots["accum"], power)) / rate * value)
    l2 = hyper.l2_regularization_strength + hyper.beta / (rate * 2)
    new = (clip(linear, -l1, l1) - linear) / (root / rate + l2 * 2)
    return new, {"accum": accumulator, "linear": linear}


_STRENGTHS = ("l1_regularization_strength", "l2_regularization_strength", "l2_shrinkage_regularization_strength")
_NAMES = ("learning_rate", "learning_rate_power", "initial_accumulator_value", *_STRENGTHS, "beta")


def _take(optimizer: Any, *given: Any) -> None:
    """Keep the arguments; a ValueError if a number has the wrong sign."""
    for name, x in zip(_NAMES[1:], given, strict=True):
        setattr(optimizer, name, x)
        wanted = "negative" if name == "learning_rate_power" else "positive"
        if name != "beta" and isinstance(x, (int, float)) and (x > 0 if wanted == "negative" else x < 0):
            raise ValueError(f"{name} {x:f} needs to be {wanted} or zero")


class FtrlOptimizer(Optimizer):
    """FTRL-proximal, see `ftrl`.

    Parameters
    ----------
    learning_rate : float, tensor, or callable returning one
    learning_rate_power : float
        Not above 0.
    initial_accumulator_value, l1_regularization_strength, l2_regularization_strength : float
        Not below 0.
    use_locking, accum_name, linear_name
        Accepted for compatibility.
    name : str
    l2_shrinkage_regularization_strength : float
        Not below 0.
    beta : float, optional

    Raises
    ------
    ValueError
        If a number has the wrong sign.
    """

    hyperparameters = _NAMES
    update = staticmethod(ftrl)
    initial_accumulator_value: float

    def __init__(
        self,
        learning_rate: Rate,
        learning_rate_power: Any = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: Any = 0.0,
        l2_regularization_strength: Any = 0.0,
        use_locking: bool = False,
        name: str = "Ftrl",
        accum_name: str | None = None,
        linear_name: str | None = None,
        l2_shrinkage_regularization_strength: Any = 0.0,
        beta: Any = None,
    ) -> None:
        super().__init__(use_locking, name)
        self.learning_rate = learning_rate
        _take(
            self,
            learning_rate_power,
            initial_accumulator_value,
            l1_regularization_strength,
            l2_regularization_strength,
            l2_shrinkage_regularization_strength,
            0.0 if beta is None else beta,
        )

    def initial_slots(self) -> dict[str, float]:
        """The sum n of the squared gradients, and z."""
        return {"accum": self.initial_accumulator_value, "linear": 0.0}


class Ftrl(KerasOptimizer):
    """FTRL-proximal, see `ftrl`.

    Parameters
    ----------
    learning_rate : float, tensor, callable or LearningRateSchedule
    learning_rate_power : float
        Not above 0.
    initial_accumulator_value, l1_regularization_strength, l2_regularization_strength : float
        Not below 0.
    l2_shrinkage_regularization_strength : float
        Not below 0.
    beta : float
    **common
        See `KerasOptimizer`.

    Raises
    ------
    ValueError
        If a number has the wrong sign.
    """

    hyperparameters = _NAMES
    update = staticmethod(ftrl)
    initial_accumulator_value: float

    def __init__(
        self,
        learning_rate: Rate = 0.001,
        learning_rate_power: Any = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: Any = 0.0,
        l2_regularization_strength: Any = 0.0,
        l2_shrinkage_regularization_strength: Any = 0.0,
        beta: Any = 0.0,
        **common: Any,
    ) -> None:
        super().__init__(learning_rate, **common)
        _take(
            self,
            learning_rate_power,
            initial_accumulator_value,
            l1_regularization_strength,
            l2_regularization_strength,
            l2_shrinkage_regularization_strength,
            beta,
        )

    def initial_slots(self) -> dict[str, float]:
        """The same; the sum starts in single precision."""
        return {"accum": float(np.float32(self.initial_accumulator_value)), "linear": 0.0}
