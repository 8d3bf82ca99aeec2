"""An optimizer that scales the step of each variable by the norm of its value: LAMB, for large batches."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from engine.core.operands import Operand
from engine.ops.arithmetic import square
from engine.ops.compare import cast_like, greater, logical_and, where
from engine.ops.creation import ones_like, zeros_like
from engine.ops.explog import pow, sqrt
from engine.ops.reduce import reduce_sum
from optim.adam import WithBetas, toward
from optim.keras_optimizer import in_single
from optim.pairs import of_rows


def _norm(x: Any) -> Operand:
    return sqrt(reduce_sum(square(x)))


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
    zero, one = zeros_like(size), ones_like(size)
    ratio = weights / where(greater(size, zero), size, one)
    ratio = where(logical_and(greater(weights, zero), greater(size, zero)), ratio, one)
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
