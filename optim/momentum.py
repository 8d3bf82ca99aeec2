"""Gradient descent with momentum."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, ClassVar

from engine.core.dtypes import INEXACT
from optim.gradient_descent import gradient_descent
from optim.keras_optimizer import KerasOptimizer
from optim.optimizer import Optimizer
from optim.pairs import Rate


def momentum(
    gradient: Any,
    value: Any,
    slots: dict[str, Any],
    hyper: SimpleNamespace,
    state: SimpleNamespace,
    scaled: bool = False,
) -> tuple[Any, dict[str, Any]]:
    """The heavy ball, with g the gradient, μ the momentum and η the learning rate.

    TensorFlow 1 accumulates gradients, ``a ← μ a + g``, and moves by ``-η a``. Keras accumulates moves (`scaled`),
    ``a ← μ a - η g``, and moves by ``a``. The two agree as long as η stays the same.

    Nesterov's variant looks one step ahead: it moves by ``μ a + g`` (or ``- η g``) in place of ``a``.

    References
    ----------
    Polyak (1964), *Some methods of speeding up the convergence of iteration methods*. Sutskever, Martens, Dahl and
    Hinton (2013), *On the importance of initialization and momentum in deep learning*, section 2.
    """
    push = -(gradient * hyper.learning_rate) if scaled else gradient
    accumulated = slots["momentum"] * hyper.momentum + push
    move = accumulated * hyper.momentum + push if hyper.nesterov else accumulated
    return value + move if scaled else value - move * hyper.learning_rate, {"momentum": accumulated}


class MomentumOptimizer(Optimizer):
    """Gradient descent with momentum, see `momentum`.

    Parameters
    ----------
    learning_rate, momentum : float, tensor, or callable returning one
    use_locking : bool
        Accepted for compatibility.
    name : str
    use_nesterov : bool
    """

    hyperparameters = ("learning_rate", "momentum", "nesterov")
    _slots_at_first: ClassVar[dict[str, float]] = {"momentum": 0.0}
    update = staticmethod(momentum)

    def __init__(
        self,
        learning_rate: Rate,
        momentum: Any,
        use_locking: bool = False,
        name: str = "Momentum",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(use_locking, name)
        self.learning_rate = learning_rate
        self.momentum = momentum
        self.nesterov = bool(use_nesterov)


class SGD(KerasOptimizer):
    """Gradient descent, with momentum if `momentum` is not 0, see `gradient_descent` and `momentum`.

    Parameters
    ----------
    learning_rate : float, tensor, callable or LearningRateSchedule
    momentum : float
        In [0, 1].
    nesterov : bool
    **common
        See `KerasOptimizer`.

    Examples
    --------
    >>> import tape_api as tf
    >>> w = tf.Variable(3.0)
    >>> with tf.GradientTape() as tape:
    ...     loss = w * w
    >>> optimizer = SGD(0.25)
    >>> _ = optimizer.apply_gradients([(tape.gradient(loss, w), w)])
    >>> w.numpy(), int(optimizer.iterations)
    (np.float32(1.5), 1)
    """

    hyperparameters = ("learning_rate", "momentum", "nesterov")
    in_single_precision = frozenset({"learning_rate", "weight_decay", "momentum"})
    accepts = INEXACT

    def __init__(
        self, learning_rate: Rate = 0.01, momentum: float = 0.0, nesterov: bool = False, **common: Any
    ) -> None:
        super().__init__(learning_rate, **common)
        if isinstance(momentum, (int, float)) and not 0 <= momentum <= 1:
            raise ValueError(f"`momentum` must be a float between [0, 1], got {momentum}.")
        self.momentum = momentum
        self.nesterov = bool(nesterov)

    def takes_rows(self) -> bool:
        """Yes, where a row without a gradient stays as it is."""
        return not self.initial_slots() and self.weight_decay is None

    def initial_slots(self) -> dict[str, float]:
        """The accumulated moves."""
        return {} if isinstance(self.momentum, (int, float)) and self.momentum == 0 else {"momentum": 0.0}

    @staticmethod
    def update(
        gradient: Any, value: Any, slots: dict[str, Any], hyper: SimpleNamespace, state: SimpleNamespace
    ) -> tuple[Any, dict[str, Any]]:
        """`gradient_descent`, or `momentum` if there is some."""
        if not slots:
            return gradient_descent(gradient, value, slots, hyper, state)
        return momentum(gradient, value, slots, hyper, state, scaled=True)
