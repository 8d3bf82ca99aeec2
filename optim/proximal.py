"""Descent with a proximal step: exact shrinkage for L1 and L2 regularization."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from engine.core.operands import Operand
from engine.ops.arithmetic import maximum, sign, square
from engine.ops.complexes import abs
from engine.ops.explog import sqrt
from optim.optimizer import Optimizer
from optim.pairs import Rate


def _shrunk(value: Any, rate: Any, hyper: SimpleNamespace) -> Operand:
    """The proximal map of ``rate (λ₁ |x| + ½ λ₂ x²)`` at `value`."""
    threshold = rate * hyper.l1_regularization_strength
    size = abs(value) - threshold
    return sign(value) * maximum(size, 0) / (rate * hyper.l2_regularization_strength + 1)


def proximal_gradient_descent(
    gradient: Any, value: Any, slots: dict[str, Any], hyper: SimpleNamespace, state: SimpleNamespace
) -> tuple[Any, dict[str, Any]]:
    """``x = value - η g``, then ``sign(x) max(|x| - η λ₁, 0) / (1 + η λ₂)``.

    References
    ----------
    Duchi and Singer (2009), *Efficient Online and Batch Learning Using Forward Backward Splitting*, section 5.
    """
    rate = hyper.learning_rate
    return _shrunk(value - gradient * rate, rate, hyper), {}


def proximal_adagrad(
    gradient: Any, value: Any, slots: dict[str, Any], hyper: SimpleNamespace, state: SimpleNamespace
) -> tuple[Any, dict[str, Any]]:
    """`proximal_gradient_descent` with Adagrad's rate for each element, ``η / √a`` where ``a ← a + g²``."""
    accumulator = slots["accumulator"] + square(gradient)
    rate = hyper.learning_rate / sqrt(accumulator)
    return _shrunk(value - gradient * rate, rate, hyper), {"accumulator": accumulator}


class ProximalGradientDescentOptimizer(Optimizer):
    """Gradient descent with a proximal step, see `proximal_gradient_descent`.

    Parameters
    ----------
    learning_rate, l1_regularization_strength, l2_regularization_strength : float, tensor, or callable returning one
    use_locking : bool
        Accepted for compatibility.
    name : str
    """

    hyperparameters = ("learning_rate", "l1_regularization_strength", "l2_regularization_strength")
    update = staticmethod(proximal_gradient_descent)

    def __init__(
        self,
        learning_rate: Rate,
        l1_regularization_strength: Any = 0.0,
        l2_regularization_strength: Any = 0.0,
        use_locking: bool = False,
        name: str = "ProximalGradientDescent",
    ) -> None:
        super().__init__(use_locking, name)
        self.learning_rate = learning_rate
        self.l1_regularization_strength = l1_regularization_strength
        self.l2_regularization_strength = l2_regularization_strength


class ProximalAdagradOptimizer(Optimizer):
    """Adagrad with a proximal step, see `proximal_adagrad`.

    Parameters
    ----------
    learning_rate : float, tensor, or callable returning one
    initial_accumulator_value : float
        Above 0.
    l1_regularization_strength, l2_regularization_strength : float, tensor, or callable returning one
    use_locking : bool
        Accepted for compatibility.
    name : str
    """

    hyperparameters = ("learning_rate", "l1_regularization_strength", "l2_regularization_strength")
    update = staticmethod(proximal_adagrad)

    def __init__(
        self,
        learning_rate: Rate,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: Any = 0.0,
        l2_regularization_strength: Any = 0.0,
        use_locking: bool = False,
        name: str = "ProximalAdagrad",
    ) -> None:
        if initial_accumulator_value <= 0:
            raise ValueError(f"initial_accumulator_value must be positive: {initial_accumulator_value}")
        super().__init__(use_locking, name)
        self.learning_rate = learning_rate
        self.initial_accumulator_value = initial_accumulator_value
        self.l1_regularization_strength = l1_regularization_strength
        self.l2_regularization_strength = l2_regularization_strength

    def initial_slots(self) -> dict[str, float]:
        """The sum of the squared gradients."""
        return {"accumulator": self.initial_accumulator_value}
