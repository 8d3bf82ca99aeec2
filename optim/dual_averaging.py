"""Adagrad by dual averaging: the variable follows from the sums of all gradients and of their squares."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from engine.core.variable import Variable
from engine.ops.arithmetic import maximum, sign, square
from engine.ops.compare import cast_like
from engine.ops.complexes import abs
from engine.ops.explog import sqrt
from optim.optimizer import Optimizer
from optim.pairs import Rate


def adagrad_da(
    gradient: Any, value: Any, slots: dict[str, Any], hyper: SimpleNamespace, state: SimpleNamespace
) -> tuple[Any, dict[str, Any]]:
    """Adagrad by dual averaging, with g the gradient, t the number of this step and η the learning rate.

    ::

        G ← G + g,  Q ← Q + g²
        value ← -η sign(G) max(|G| - λ₁ t, 0) / (√Q + η λ₂ t)

    References
    ----------
    Duchi, Hazan and Singer (2011), *Adaptive Subgradient Methods for Online Learning and Stochastic Optimization*,
    equations 3 and 24.
    """
    total = slots["gradient_accumulator"] + gradient
    squares = slots["gradient_squared_accumulator"] + square(gradient)
    t = cast_like(hyper.global_step + 1, value)
    size = abs(total) - hyper.l1_regularization_strength * t
    shrunk = sign(total) * maximum(size, 0)
    scale = sqrt(squares) + hyper.learning_rate * hyper.l2_regularization_strength * t
    new = {"gradient_accumulator": total, "gradient_squared_accumulator": squares}
    return -(shrunk * hyper.learning_rate) / scale, new


class AdagradDAOptimizer(Optimizer):
    """Adagrad by dual averaging, see `adagrad_da`: for sparse linear models.

    Parameters
    ----------
    learning_rate : float, tensor, or callable returning one
    global_step : variable
        Which counts the steps.
    initial_gradient_squared_accumulator_value : float
        Above 0.
    l1_regularization_strength, l2_regularization_strength : float
    use_locking : bool
        Accepted for compatibility.
    name : str
    """

    hyperparameters = ("learning_rate", "l1_regularization_strength", "l2_regularization_strength", "global_step")

    update = staticmethod(adagrad_da)

    def __init__(
        self,
        learning_rate: Rate,
        global_step: Variable,
        initial_gradient_squared_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "AdagradDA",
    ) -> None:
        if initial_gradient_squared_accumulator_value <= 0:
            raise ValueError(
                f"initial_gradient_squared_accumulator_value must be positive: "
                f"{initial_gradient_squared_accumulator_value}"
            )
        super().__init__(use_locking, name)
        self.learning_rate, self.global_step = learning_rate, global_step
        self._initial = initial_gradient_squared_accumulator_value
        self.l1_regularization_strength = l1_regularization_strength
        self.l2_regularization_strength = l2_regularization_strength

    def initial_slots(self) -> dict[str, float]:
        """The sums of the gradients and of their squares."""
        return {"gradient_accumulator": 0.0, "gradient_squared_accumulator": self._initial}
