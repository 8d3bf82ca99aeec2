"""Adadelta: steps in the units of the variable, from running averages of squared gradients and squared steps."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from engine.ops.arithmetic import square
from engine.ops.explog import sqrt
from optim.keras_optimizer import KerasOptimizer
from optim.optimizer import Optimizer
from optim.pairs import Rate, of_rows


def adadelta(
    gradient: Any, value: Any, slots: dict[str, Any], hyper: SimpleNamespace, state: SimpleNamespace
) -> tuple[Any, dict[str, Any]]:
    """Adadelta; the paper has no learning rate η (it is 1 there).

    ::

        a ← ρ a + (1 - ρ) g²
        s = g √(d + ε) / √(a + ε)
        d ← ρ d + (1 - ρ) s²
        value ← value - η s

    References
    ----------
    Zeiler (2012), *ADADELTA: An Adaptive Learning Rate Method*, arXiv:1212.5701.
    """
    rho, epsilon = hyper.rho, hyper.epsilon
    squares = of_rows(square, gradient, hyper)
    accum = slots["accum"] * rho + squares * (1 - rho)
    factor = sqrt(slots["accum_update"] + epsilon) / sqrt(accum + epsilon)
    moves = square(factor * gradient) if getattr(hyper, "each_row", None) is None else square(factor) * squares
    accum_update = slots["accum_update"] * rho + moves * (1 - rho)
    return value - factor * gradient * hyper.learning_rate, {"accum": accum, "accum_update": accum_update}


_NAMES = ("learning_rate", "rho", "epsilon")
_AT_FIRST = {"accum": 0.0, "accum_update": 0.0}


class AdadeltaOptimizer(Optimizer):
    """Adadelta, see `adadelta`.

    Parameters
    ----------
    learning_rate, rho, epsilon : float, tensor, or callable returning one
    use_locking : bool
        Accepted for compatibility.
    name : str
    """

    hyperparameters = _NAMES
    _slots_at_first = _AT_FIRST
    update = staticmethod(adadelta)

    def __init__(
        self,
        learning_rate: Rate = 0.001,
        rho: Any = 0.95,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adadelta",
    ) -> None:
        super().__init__(use_locking, name)
        self.learning_rate = learning_rate
        self.rho, self.epsilon = rho, epsilon


class Adadelta(KerasOptimizer):
    """Adadelta, see `adadelta`.

    Parameters
    ----------
    learning_rate : float, tensor, callable or LearningRateSchedule
    rho, epsilon : float
    **common
        See `KerasOptimizer`.
    """

    hyperparameters = _NAMES
    _slots_at_first = _AT_FIRST
    update = staticmethod(adadelta)

    def __init__(self, learning_rate: Rate = 0.001, rho: Any = 0.95, epsilon: Any = 1e-7, **common: Any) -> None:
        super().__init__(learning_rate, **common)
        self.rho, self.epsilon = rho, epsilon
