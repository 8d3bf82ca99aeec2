"""RMSProp: steps scaled by a running average of the squared gradient."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from engine.ops.arithmetic import square
from engine.ops.explog import sqrt
from optim.adam import moved
from optim.keras_optimizer import KerasOptimizer
from optim.optimizer import Optimizer
from optim.pairs import Rate, of_rows


def rmsprop(
    gradient: Any, value: Any, slots: dict[str, Any], hyper: SimpleNamespace, state: SimpleNamespace
) -> tuple[Any, dict[str, Any]]:
    """RMSProp; without a slot for it there is no momentum μ.

    ::

        r ← r + (g² - r) (1 - ρ)
        p ← p + (g - p) (1 - ρ)              (centered; else p = 0)
        move ← μ move + η g / √(r - p² + ε)
        value ← value - move

    References
    ----------
    Tieleman and Hinton (2012), *Lecture 6.5: rmsprop*, COURSERA: Neural Networks for Machine Learning. Graves (2013),
    *Generating Sequences With Recurrent Neural Networks*, arXiv:1308.0850, equations 38 to 41 (centered).
    """
    weight = 1 - hyper.rho
    new = {"rms": moved(slots["rms"], of_rows(square, gradient, hyper), weight)}
    variance = new["rms"]
    if hyper.centered:
        new["mg"] = moved(slots["mg"], gradient, weight)
        variance = variance - square(new["mg"])
    move = gradient * hyper.learning_rate / sqrt(variance + hyper.epsilon)
    if "momentum" in slots:
        move = new["momentum"] = slots["momentum"] * hyper.momentum + move
    return value - move, new


_NAMES = ("learning_rate", "rho", "momentum", "epsilon", "centered")


class RMSPropOptimizer(Optimizer):
    """RMSProp, see `rmsprop`.

    Parameters
    ----------
    learning_rate, decay, momentum, epsilon : float, tensor, or callable returning one
        `decay` is ρ.
    use_locking : bool
        Accepted for compatibility.
    centered : bool
        Divide by the variance of the gradient rather than by its second moment.
    name : str
    """

    hyperparameters = _NAMES
    update = staticmethod(rmsprop)

    def __init__(
        self,
        learning_rate: Rate,
        decay: Any = 0.9,
        momentum: Any = 0.0,
        epsilon: Any = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        name: str = "RMSProp",
    ) -> None:
        super().__init__(use_locking, name)
        self.learning_rate = learning_rate
        self.rho, self.momentum, self.epsilon, self.centered = decay, momentum, epsilon, bool(centered)

    def initial_slots(self) -> dict[str, float]:
        """The running averages; that of the square starts from 1 in TensorFlow 1."""
        return {"rms": 1.0, **({"mg": 0.0} if self.centered else {}), "momentum": 0.0}


class RMSprop(KerasOptimizer):
    """RMSProp, see `rmsprop`.

    Parameters
    ----------
    learning_rate : float, tensor, callable or LearningRateSchedule
    rho, momentum, epsilon : float
    centered : bool
        Divide by the variance of the gradient rather than by its second moment.
    **common
        See `KerasOptimizer`.
    """

    hyperparameters = _NAMES
    slot_groups = (("rms",), ("momentum",), ("mg",))
    update = staticmethod(rmsprop)

    def __init__(
        self,
        learning_rate: Rate = 0.001,
        rho: Any = 0.9,
        momentum: Any = 0.0,
        epsilon: Any = 1e-7,
        centered: bool = False,
        **common: Any,
    ) -> None:
        super().__init__(learning_rate, **common)
        self.rho, self.momentum, self.epsilon, self.centered = rho, momentum, epsilon, bool(centered)

    def initial_slots(self) -> dict[str, float]:
        """The running averages, and the move if there is momentum."""
        slots = {"rms": 0.0, **({"mg": 0.0} if self.centered else {})}
        return slots if isinstance(self.momentum, (int, float)) and self.momentum == 0 else {**slots, "momentum": 0.0}
