"""Lion: steps by the sign of a momentum."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, ClassVar

from engine.ops.arithmetic import sign
from optim.keras_optimizer import KerasOptimizer
from optim.pairs import Rate


def lion(
    gradient: Any, value: Any, slots: dict[str, Any], hyper: SimpleNamespace, state: SimpleNamespace
) -> tuple[Any, dict[str, Any]]:
    """``value ← value - η sign(β₁ m + (1 - β₁) g)``, then ``m ← β₂ m + (1 - β₂) g``.

    References
    ----------
    Chen et al. (2023), *Symbolic Discovery of Optimization Algorithms*, arXiv:2302.06675, algorithm 2.
    """
    m = slots["m"]
    move = m * hyper.beta_1 + gradient * (1 - hyper.beta_1)
    return value - sign(move) * hyper.learning_rate, {"m": m * hyper.beta_2 + gradient * (1 - hyper.beta_2)}


class Lion(KerasOptimizer):
    """Steps by the sign of a momentum, see `lion`.

    Parameters
    ----------
    learning_rate : float, tensor, callable or LearningRateSchedule
    beta_1, beta_2 : float
        In (0, 1].
    **common
        See `KerasOptimizer`.

    Examples
    --------
    >>> import tape_api as tf
    >>> w = tf.Variable([3.0, -1.0])
    >>> _ = Lion(0.5).minimize(lambda: tf.reduce_sum(w * w), [w])
    >>> w.numpy()
    array([ 2.5, -0.5], dtype=float32)
    """

    hyperparameters = ("learning_rate", "beta_1", "beta_2")
    in_single_precision = frozenset({"weight_decay", *hyperparameters})
    update = staticmethod(lion)
    _slots_at_first: ClassVar[dict[str, float]] = {"m": 0.0}

    def __init__(self, learning_rate: Rate = 0.001, beta_1: Any = 0.9, beta_2: Any = 0.99, **common: Any) -> None:
        super().__init__(learning_rate, **common)
        if isinstance(beta_1, (int, float)) and not 0 < beta_1 <= 1:
            raise ValueError(f"Argument `beta_1` must be in the [0, 1] range. Otherwise, the optimizer degenerates to "
                             f"SignSGD. Received: beta_1={beta_1}.")  # fmt: skip
        self.beta_1, self.beta_2 = beta_1, beta_2
