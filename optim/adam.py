"""Adam and its relatives: steps scaled by running averages of the gradient and of its square."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from engine.ops.arithmetic import maximum, square
from engine.ops.compare import cast_like
from engine.ops.complexes import abs
from engine.ops.explog import pow, sqrt
from optim.keras_optimizer import KerasOptimizer
from optim.optimizer import Optimizer


def _toward(average: Any, x: Any, decay: Any) -> Any:
    """A running average after one more sample."""
    return average + (x - average) * (1 - decay)


def adam(
    gradient: Any, value: Any, slots: dict[str, Any], hyper: SimpleNamespace, step: Any
) -> tuple[Any, dict[str, Any]]:
    """Adam, with g the gradient, t the number of this step from 1 on and η the learning rate.

    ::

        m ← m + (g - m) (1 - β₁)
        v ← v + (g² - v) (1 - β₂)
        value ← value - m η √(1 - β₂ᵗ) / (1 - β₁ᵗ) / (√v + ε)

    This is the form given before section 2.1 of the paper, whose ε is not that of its algorithm 1. AMSGrad divides by
    the largest √v so far.

    References
    ----------
    Kingma and Ba (2014), *Adam: A Method for Stochastic Optimization*, arXiv:1412.6980. Reddi, Kale and Kumar (2018),
    *On the Convergence of Adam and Beyond*, arXiv:1904.09237.
    """
    t = cast_like(step + 1, value)
    rate = sqrt(1 - pow(hyper.beta_2, t)) * hyper.learning_rate / (1 - pow(hyper.beta_1, t))
    new = {"m": _toward(slots["m"], gradient, hyper.beta_1), "v": _toward(slots["v"], square(gradient), hyper.beta_2)}
    scale = new["v"]
    if hyper.amsgrad:
        scale = new["vhat"] = maximum(slots["vhat"], scale)
    return value - new["m"] * rate / (sqrt(scale) + hyper.epsilon), new


def adamax(
    gradient: Any, value: Any, slots: dict[str, Any], hyper: SimpleNamespace, step: Any
) -> tuple[Any, dict[str, Any]]:
    """Adam with the maximum norm in place of the running square.

    ::

        m ← m + (g - m) (1 - β₁)
        u ← max(β₂ u, |g|)
        value ← value - η m / ((1 - β₁ᵗ) (u + ε))

    References
    ----------
    Kingma and Ba (2014), section 7.1.
    """
    t = cast_like(step + 1, value)
    m = _toward(slots["m"], gradient, hyper.beta_1)
    norm = maximum(slots["v"] * hyper.beta_2, abs(gradient))
    correction = 1 - pow(hyper.beta_1, t)
    return value - m * hyper.learning_rate / (correction * (norm + hyper.epsilon)), {"m": m, "v": norm}


def nadam(
    gradient: Any, value: Any, slots: dict[str, Any], hyper: SimpleNamespace, step: Any
) -> tuple[Any, dict[str, Any]]:
    """Adam with Nesterov's look ahead, whose momentum grows with t.

    ::

        μₜ = β₁ (1 - ½ 0.96ᵗ),  Π ← Π μₜ
        m ← m + (g - m) (1 - β₁)
        v ← v + (g² - v) (1 - β₂)
        m̂ = μₜ₊₁ m / (1 - Π μₜ₊₁) + (1 - μₜ) g / (1 - Π)
        value ← value - η m̂ / (√(v / (1 - β₂ᵗ)) + ε)

    References
    ----------
    Dozat (2016), *Incorporating Nesterov Momentum into Adam*.
    """
    t = cast_like(step + 1, value)
    now, ahead = [hyper.beta_1 * (1 - 0.5 * pow(0.96, at)) for at in (t, t + 1)]
    m = _toward(slots["m"], gradient, hyper.beta_1)
    v = _toward(slots["v"], square(gradient), hyper.beta_2)
    product = slots["momentum_product"] * now
    mean = m * ahead / (1 - product * ahead) + gradient * (1 - now) / (1 - product)
    scale = sqrt(v / (1 - pow(hyper.beta_2, t))) + hyper.epsilon
    return value - mean * hyper.learning_rate / scale, {"m": m, "v": v, "momentum_product": product}


class AdamOptimizer(Optimizer):
    """Adam, see `adam`.

    Parameters
    ----------
    learning_rate, beta1, beta2, epsilon : float, tensor, or callable returning one
    use_locking : bool
        Accepted for compatibility.
    name : str
    """

    hyperparameters = ("learning_rate", "beta_1", "beta_2", "epsilon", "amsgrad")
    counts_steps = True
    amsgrad = False
    update = staticmethod(adam)

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adam",
    ) -> None:
        super().__init__(use_locking, name)
        self.learning_rate = learning_rate
        self.beta_1, self.beta_2, self.epsilon = beta1, beta2, epsilon

    def initial_slots(self) -> dict[str, float]:
        """The running averages of the gradient and of its square."""
        return {"m": 0.0, "v": 0.0}

    def takes_rows(self) -> bool:
        """No: the averages of all rows decay."""
        return False


class Adam(KerasOptimizer):
    """Adam, see `adam`.

    Parameters
    ----------
    learning_rate : float, tensor, callable or LearningRateSchedule
    beta_1, beta_2, epsilon : float
    amsgrad : bool
    **common
        See `KerasOptimizer`.

    Examples
    --------
    >>> import tape_api as tf
    >>> w = tf.Variable(3.0)
    >>> optimizer = Adam(learning_rate=0.5)
    >>> _ = optimizer.minimize(lambda: w * w, [w])
    >>> print(f"{w.numpy():.4f}")
    2.5000
    """

    hyperparameters = ("learning_rate", "beta_1", "beta_2", "epsilon", "amsgrad")
    update = staticmethod(adam)

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: Any = 0.9,
        beta_2: Any = 0.999,
        epsilon: Any = 1e-7,
        amsgrad: bool = False,
        **common: Any,
    ) -> None:
        super().__init__(learning_rate, **common)
        self.beta_1, self.beta_2, self.epsilon = beta_1, beta_2, epsilon
        self.amsgrad = bool(amsgrad)

    def initial_slots(self) -> dict[str, float]:
        """The running averages of the gradient and of its square, and with AMSGrad the largest of the latter."""
        return {"m": 0.0, "v": 0.0, "vhat": 0.0} if self.amsgrad else {"m": 0.0, "v": 0.0}


class AdamW(Adam):
    """Adam with decoupled weight decay.

    Parameters
    ----------
    learning_rate : float, tensor, callable or LearningRateSchedule
    weight_decay : float
    **others
        As for `Adam`.

    References
    ----------
    Loshchilov and Hutter (2017), *Decoupled Weight Decay Regularization*, arXiv:1711.05101.
    """

    def __init__(self, learning_rate: Any = 0.001, weight_decay: float = 0.004, **others: Any) -> None:
        super().__init__(learning_rate, weight_decay=weight_decay, **others)


class Adamax(KerasOptimizer):
    """Adam with the maximum norm, see `adamax`.

    Parameters
    ----------
    learning_rate : float, tensor, callable or LearningRateSchedule
    beta_1, beta_2, epsilon : float
    **common
        See `KerasOptimizer`.
    """

    hyperparameters = ("learning_rate", "beta_1", "beta_2", "epsilon")
    update = staticmethod(adamax)

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: Any = 0.9,
        beta_2: Any = 0.999,
        epsilon: Any = 1e-7,
        **common: Any,
    ) -> None:
        super().__init__(learning_rate, **common)
        self.beta_1, self.beta_2, self.epsilon = beta_1, beta_2, epsilon

    def initial_slots(self) -> dict[str, float]:
        """The running average of the gradient, and its running maximum."""
        return {"m": 0.0, "v": 0.0}


class Nadam(KerasOptimizer):
    """Adam with Nesterov's momentum, see `nadam`.

    Parameters
    ----------
    learning_rate : float, tensor, callable or LearningRateSchedule
    beta_1, beta_2, epsilon : float
    **common
        See `KerasOptimizer`.
    """

    hyperparameters = ("learning_rate", "beta_1", "beta_2", "epsilon")
    update = staticmethod(nadam)

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: Any = 0.9,
        beta_2: Any = 0.999,
        epsilon: Any = 1e-7,
        **common: Any,
    ) -> None:
        super().__init__(learning_rate, **common)
        self.beta_1, self.beta_2, self.epsilon = beta_1, beta_2, epsilon

    def initial_slots(self) -> dict[str, float]:
        """The running averages of the gradient and of its square, and the product of the momenta so far."""
        return {"m": 0.0, "v": 0.0, "momentum_product": 1.0}
