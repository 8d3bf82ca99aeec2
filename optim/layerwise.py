"""Optimizers that scale the step of each variable by the norm of its value: LARS and LAMB, for large batches."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from engine.core.operands import Operand
from engine.core.variable import Variable
from engine.ops.arithmetic import square
from engine.ops.compare import cast_like, greater, logical_and, where
from engine.ops.creation import ones_like, zeros_like
from engine.ops.explog import pow, sqrt
from engine.ops.reduce import reduce_sum
from optim.adam import WithBetas, toward
from optim.keras_optimizer import in_single
from optim.momentum import momentum
from optim.optimizer import Optimizer
from optim.pairs import Rate, of_rows


def _norm(x: Any) -> Operand:
    return sqrt(reduce_sum(square(x)))


def _trust(weights: Any, size: Any, ratio: Any) -> Operand:
    """A ratio where both norms are above 0, and 1 elsewhere."""
    zero = zeros_like(size)
    return where(logical_and(greater(weights, zero), greater(size, zero)), ratio, ones_like(ratio))


def lamb(
    gradient: Any, value: Any, slots: dict[str, Any], hyper: SimpleNamespace, state: SimpleNamespace
) -> tuple[Any, dict[str, Any]]:
    """Adam's direction, as long as the variable, with g the gradient, t the number of this step, η the learning rate.

    ::

        m ← m + (g - m) (1 - β₁)
        v ← v + (g² - v) (1 - β₂)
        r = m / (1 - β₁ᵗ) / (√(v / (1 - β₂ᵗ)) + ε)
        value ← value - η ‖value‖ / ‖r‖ r

    References
    ----------
    You et al. (2019), *Large Batch Optimization for Deep Learning: Training BERT in 76 minutes*, arXiv:1904.00962,
    algorithm 2.
    """
    t = cast_like(state.iterations + 1, value)
    m = toward(slots["m"], gradient, hyper.beta_1)
    v = toward(slots["v"], of_rows(square, gradient, hyper), hyper.beta_2)
    move = m / (1 - pow(in_single(hyper.beta_1), t)) / (sqrt(v / (1 - pow(in_single(hyper.beta_2), t))) + hyper.epsilon)
    weights, size = _norm(value), _norm(move)
    ratio = _trust(weights, size, weights / where(greater(size, zeros_like(size)), size, ones_like(size)))
    return value - move * (ratio * hyper.learning_rate), {"m": m, "v": v}


class Lamb(WithBetas):
    """Adam with steps as long as the variable is, see `lamb`.

    Parameters
    ----------
    learning_rate : float, tensor, callable or LearningRateSchedule
    beta_1, beta_2, epsilon : float
    **common
        See `KerasOptimizer`.
    """

    update = staticmethod(lamb)


class LARSOptimizer(Optimizer):
    """Momentum whose rate is the part `eeta` of ``‖w‖ / (‖g‖ + weight_decay ‖w‖ + epsilon)``, for each variable.

    Parameters
    ----------
    learning_rate, momentum, weight_decay, eeta, epsilon : float
    name : str
    skip_list : list of str, optional
        Parts of names; such variables are updated by plain momentum.
    use_nesterov : bool

    References
    ----------
    You, Gitman and Ginsburg (2017), *Large Batch Training of Convolutional Networks*, arXiv:1708.03888, algorithm 1.
    """

    hyperparameters = ("learning_rate", "momentum", "weight_decay", "eeta", "epsilon", "nesterov")

    def __init__(
        self,
        learning_rate: Rate,
        momentum: Any = 0.9,
        weight_decay: Any = 0.0001,
        eeta: Any = 0.001,
        epsilon: Any = 0.0,
        name: str = "LARSOptimizer",
        skip_list: list[str] | None = None,
        use_nesterov: bool = False,
    ) -> None:
        if isinstance(momentum, (int, float)) and momentum < 0:
            raise ValueError(f"momentum should be positive: {momentum}")
        super().__init__(False, name)
        self.learning_rate, self.momentum, self.weight_decay = learning_rate, momentum, weight_decay
        self.eeta, self.epsilon, self.nesterov = eeta, epsilon, bool(use_nesterov)
        self._skip_list = list(skip_list or [])

    def initial_slots(self) -> dict[str, float]:
        """The accumulated gradients."""
        return {"momentum": 0.0}

    def takes_rows(self) -> bool:
        """No: the norm is that of the whole."""
        return False

    def hyper_for(self, variable: Variable, hyper: SimpleNamespace) -> SimpleNamespace:
        """The hyperparameters; those whose name is skipped have no rate of their own."""
        skipped = any(part in variable.name for part in self._skip_list)
        return SimpleNamespace(**{**vars(hyper), "skipped": skipped})

    @staticmethod
    def update(
        gradient: Any, value: Any, slots: dict[str, Any], hyper: SimpleNamespace, state: SimpleNamespace
    ) -> tuple[Any, dict[str, Any]]:
        """`momentum`, with the variable's own rate."""
        if not hyper.skipped:
            weights, size = _norm(value), _norm(gradient)
            whole = size + weights * hyper.weight_decay + hyper.epsilon
            safe = where(greater(whole, zeros_like(whole)), whole, ones_like(whole))
            rate = hyper.learning_rate * _trust(weights, size, weights * hyper.eeta / safe)
            hyper = SimpleNamespace(**{**vars(hyper), "learning_rate": rate})
            gradient = gradient + value * hyper.weight_decay
        return momentum(gradient, value, slots, hyper, state)
