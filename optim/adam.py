"""Adam and its relatives: steps scaled by running averages of the gradient and of its square."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, ClassVar, TypeVar

import numpy as np

from engine.core.dtypes import DType, as_dtype, float32
from engine.core.eager import EagerTensor
from engine.core.operands import Operand
from engine.core.value import dtype_of
from engine.core.variable import Variable
from engine.ops.arithmetic import maximum, square
from engine.ops.compare import cast, cast_like
from engine.ops.complexes import abs
from engine.ops.explog import pow, sqrt
from optim.keras_optimizer import KerasOptimizer, in_single
from optim.optimizer import Optimizer
from optim.pairs import Rate, of_rows

T = TypeVar("T")


def toward(average: Any, x: Any, decay: Any) -> Operand:
    """A running average after one more sample."""
    return moved(average, x, 1 - decay)


def moved(average: Any, x: Any, weight: Any) -> Operand:
    """A running average after one more sample, which has some weight."""
    return average + (x - average) * weight


def in_common(hyper: SimpleNamespace, name: str, given: Sequence[Any], compute: Callable[..., T]) -> T:
    """``compute(*given)``, once in a step: it is the same for all variables whose hyperparameters are the same.

    `hyper` keeps it under a name; a variable of which `given` are others gets its own.
    """
    known = vars(hyper).setdefault("in_common", {})
    if name not in known or any(a is not b for a, b in zip(known[name][0], given, strict=True)):
        known[name] = given, compute(*given)
    return known[name][1]


def adam(
    gradient: Any, value: Any, slots: dict[str, Any], hyper: SimpleNamespace, state: SimpleNamespace
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
    powers = in_common(hyper, "powers", (state.iterations, hyper.beta_1, hyper.beta_2, dtype_of(value)), _powers)
    return _adam(gradient, value, slots, hyper, *powers)


def _powers(iterations: Any, beta_1: Any, beta_2: Any, dtype: DType) -> tuple[Operand, Operand]:
    t = cast(iterations + 1, dtype)
    return pow(in_single(beta_1), t), pow(in_single(beta_2), t)


def _adam(
    gradient: Any,
    value: Any,
    slots: dict[str, Any],
    hyper: SimpleNamespace,
    power_1: Any,
    power_2: Any,
    nesterov: bool = False,
) -> tuple[Any, dict[str, Any]]:
    """Adam, given β₁ᵗ and β₂ᵗ; `nesterov` moves by ``β₁ m + (1 - β₁) g`` in place of ``m``."""
    rate = in_common(
        hyper, "rate", (power_1, power_2, hyper.learning_rate), lambda p, q, rate: sqrt(1 - q) * rate / (1 - p)
    )
    weights = [
        in_common(hyper, n, (decay,), lambda x: 1 - x) for n, decay in (("m", hyper.beta_1), ("v", hyper.beta_2))
    ]
    squares = of_rows(square, gradient, hyper)
    new = {"m": moved(slots["m"], gradient, weights[0]), "v": moved(slots["v"], squares, weights[1])}
    scale = new["v"]
    if hyper.amsgrad:
        scale = new["vhat"] = maximum(slots["vhat"], scale)
    mean = new["m"]
    if nesterov:
        mean = mean * hyper.beta_1 + gradient * (1 - hyper.beta_1)
    return value - mean * rate / (sqrt(scale) + hyper.epsilon), new


def adam_with_powers(
    gradient: Any,
    value: Any,
    slots: dict[str, Any],
    hyper: SimpleNamespace,
    state: SimpleNamespace,
    nesterov: bool = False,
) -> tuple[Any, dict[str, Any]]:
    """`adam`, with the powers of the betas that are kept."""
    given = state.beta1_power, state.beta2_power, dtype_of(value)
    power_1, power_2 = in_common(hyper, "powers", given, lambda x, y, dtype: (cast(x, dtype), cast(y, dtype)))
    return _adam(gradient, value, slots, hyper, power_1, power_2, nesterov)


def adamax(
    gradient: Any, value: Any, slots: dict[str, Any], hyper: SimpleNamespace, state: SimpleNamespace
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
    t = cast_like(state.iterations + 1, value)
    m = toward(slots["m"], gradient, hyper.beta_1)
    norm = maximum(slots["v"] * hyper.beta_2, of_rows(abs, gradient, hyper))
    correction = 1 - pow(in_single(hyper.beta_1), t)
    return value - m * hyper.learning_rate / (correction * (norm + hyper.epsilon)), {"m": m, "v": norm}


def nadam(
    gradient: Any, value: Any, slots: dict[str, Any], hyper: SimpleNamespace, state: SimpleNamespace
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
    t = cast_like(state.iterations + 1, value)
    beta_1, beta_2 = in_single(hyper.beta_1), in_single(hyper.beta_2)
    decay = cast_like(EagerTensor(np.float32(0.96)), value)
    now, ahead = [beta_1 * (1 - 0.5 * pow(decay, at)) for at in (t, t + 1)]
    m = toward(slots["m"], gradient, beta_1)
    v = toward(slots["v"], of_rows(square, gradient, hyper), beta_2)
    product = cast_like(_momentum_product(state.iterations, state.momentum_product, hyper.beta_1), value)
    mean = m * ahead / (1 - product * ahead) + gradient * (1 - now) / (1 - product)
    scale = sqrt(v / (1 - pow(beta_2, t))) + hyper.epsilon
    return value - mean * hyper.learning_rate / scale, {"m": m, "v": v}


def _momentum_product(iterations: Any, before: Any, beta_1: Any) -> Operand:
    """Π after this step."""
    return before * cast_like(beta_1, before) * (1 - 0.5 * pow(0.96, cast_like(iterations + 1, before)))


class AdamOptimizer(Optimizer):
    """Adam, see `adam`.

    Parameters
    ----------
    learning_rate, beta1, beta2, epsilon : float, tensor, or callable returning one
    use_locking : bool
        Accepted for compatibility.
    name : str
    power_dtype : DType
        Of β₁ᵗ and β₂ᵗ, which are multiplied up from step to step. TensorFlow 1 keeps them in float32, also for float64
        variables, whose values differ in the 7th digit from those of exact powers.
    """

    hyperparameters = ("learning_rate", "beta_1", "beta_2", "epsilon", "amsgrad")
    amsgrad = False
    update: Any = staticmethod(adam_with_powers)
    _slots_at_first: ClassVar[dict[str, float]] = {"m": 0.0, "v": 0.0}

    def __init__(
        self,
        learning_rate: Rate = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str | None = None,
        *,
        power_dtype: Any = float32,
    ) -> None:
        super().__init__(use_locking, "Adam" if name is None else name)
        self.learning_rate = learning_rate
        self.beta_1, self.beta_2, self.epsilon = beta1, beta2, epsilon
        self._power_dtype = as_dtype(power_dtype)

    def shared_state(self) -> dict[str, Any]:
        """The powers of the betas at the first step, and the number of steps if a schedule needs it."""
        return {"beta1_power": self._beta("beta_1"), "beta2_power": self._beta("beta_2"), **super().shared_state()}

    def advanced(self, state: dict[str, Any]) -> dict[str, Any]:
        """The powers at the next step."""
        powers = {f"beta{i}_power": state.pop(f"beta{i}_power") * self._beta(f"beta_{i}") for i in (1, 2)}
        return {**powers, **super().advanced(state)}

    def _beta(self, name: str) -> EagerTensor:
        return self._in_dtype(name, self._current(name, None), self._power_dtype)

    def takes_rows(self) -> bool:
        """No: the averages of all rows decay."""
        return False


class WithBetas(KerasOptimizer):
    """Base of the Keras optimizers that keep two running averages, which decay by the two betas.

    Parameters
    ----------
    learning_rate : float, tensor, callable or LearningRateSchedule
    beta_1, beta_2, epsilon : float
    **common
        See `KerasOptimizer`.
    """

    hyperparameters: ClassVar[tuple[str, ...]] = ("learning_rate", "beta_1", "beta_2", "epsilon")
    _slots_at_first: ClassVar[dict[str, float]] = {"m": 0.0, "v": 0.0}

    def __init__(
        self, learning_rate: Rate = 0.001, beta_1: Any = 0.9, beta_2: Any = 0.999, epsilon: Any = 1e-7, **common: Any
    ) -> None:
        super().__init__(learning_rate, **common)
        self.beta_1, self.beta_2, self.epsilon = beta_1, beta_2, epsilon


class Adam(WithBetas):
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

    hyperparameters = (*WithBetas.hyperparameters, "amsgrad")
    slot_groups = (("m", "v"), ("vhat",))
    update = staticmethod(adam)

    def __init__(
        self,
        learning_rate: Rate = 0.001,
        beta_1: Any = 0.9,
        beta_2: Any = 0.999,
        epsilon: Any = 1e-7,
        amsgrad: bool = False,
        **common: Any,
    ) -> None:
        super().__init__(learning_rate, beta_1, beta_2, epsilon, **common)
        self.amsgrad = bool(amsgrad)

    def initial_slots(self) -> dict[str, float]:
        """The running averages of the gradient and of its square, and with AMSGrad the largest of the latter."""
        return {**super().initial_slots(), **({"vhat": 0.0} if self.amsgrad else {})}


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

    def __init__(self, learning_rate: Rate = 0.001, weight_decay: float = 0.004, **others: Any) -> None:
        super().__init__(learning_rate, weight_decay=weight_decay, **others)


class Adamax(WithBetas):
    """Adam with the maximum norm, see `adamax`.

    Parameters
    ----------
    learning_rate : float, tensor, callable or LearningRateSchedule
    beta_1, beta_2, epsilon : float
    **common
        See `KerasOptimizer`.
    """

    update = staticmethod(adamax)


class Nadam(WithBetas):
    """Adam with Nesterov's momentum, see `nadam`.

    Parameters
    ----------
    learning_rate : float, tensor, callable or LearningRateSchedule
    beta_1, beta_2, epsilon : float
    **common
        See `KerasOptimizer`.
    """

    update = staticmethod(nadam)
    _product_dtype = float32

    def shared_state(self) -> dict[str, Any]:
        """The number of steps, and the product of the momenta so far, which is one for all variables."""
        return {**super().shared_state(), "momentum_product": self._product_dtype.numpy.type(1)}

    def _shared(self, first: Variable) -> dict[str, Variable]:
        self._product_dtype = first.dtype
        return super()._shared(first)

    def advanced(self, state: dict[str, Any]) -> dict[str, Any]:
        """The number of steps, and the product, after a step."""
        beta_1 = self._in_dtype("beta_1", self._current("beta_1", None), dtype_of(state["momentum_product"]))
        product = _momentum_product(state["iterations"], state["momentum_product"], beta_1)
        return {"iterations": state["iterations"] + 1, "momentum_product": product}

    def product_after(self, steps: int) -> Any:
        """The product after some steps, where nothing has kept it."""
        state = {name: EagerTensor(np.asarray(x)) for name, x in self.shared_state().items()}
        while state["iterations"].numpy() < steps and state["momentum_product"].numpy() > 0:
            state = self.advanced(state)
        return state["momentum_product"].numpy()
