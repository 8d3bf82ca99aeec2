"""`LossScaleOptimizer`: steps of another optimizer on a loss that is scaled up, so that float16 holds its gradients."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from dualgrad.keras.configs import deserialized, serialized
from engine.core.eager import EagerTensor
from engine.core.operands import Operand
from engine.core.value import dtype_of
from engine.core.variable import Variable
from engine.ops.arithmetic import multiply
from engine.ops.compare import cast
from engine.runtime.commit import exclusively
from optim.pairs import as_pairs
from optim.slots import MAKING, Done
from optim.transforms import LossScale
from optim.wrappers import _Around


class LossScaleOptimizer(_Around):
    """An optimizer for losses that `scale_loss` has scaled: a step is left out where a gradient is not finite.

    Parameters
    ----------
    inner_optimizer : Optimizer
        Makes the steps, with gradients divided by the scale.
    initial_scale : float
    dynamic_growth_steps : int
        After so many steps without an infinity or NaN the scale is doubled. After one with them it is halved.
    name : str, optional

    Examples
    --------
    >>> import tape_api as tf
    >>> w = tf.Variable([1.0])
    >>> optimizer = LossScaleOptimizer(tf.keras.optimizers.SGD(0.5))
    >>> with tf.GradientTape() as tape:
    ...     loss = optimizer.scale_loss(tf.reduce_sum(w * w))
    >>> optimizer.apply(tape.gradient(loss, [w]), [w])
    >>> w.numpy()
    array([0.], dtype=float32)
    """

    def __init__(
        self,
        inner_optimizer: Any,
        initial_scale: float = 2.0**15,
        dynamic_growth_steps: int = 2000,
        name: str | None = None,
        **unknown: Any,
    ) -> None:
        if unknown.pop("dynamic", True) is not True or unknown:
            raise ValueError(f"LossScaleOptimizer: unknown arguments {sorted(unknown) or ['dynamic=False']}")
        super().__init__(inner_optimizer, name or "loss_scale_optimizer")
        self.inner_optimizer = inner_optimizer
        self.initial_scale, self.dynamic_growth_steps = initial_scale, dynamic_growth_steps
        self._scaling: LossScale | None = None

    def build(self, var_list: Sequence[Variable]) -> None:
        """Make the scale, and the state of the optimizer inside, for the given variables."""
        self._make(list(var_list))
        if hasattr(self.inner_optimizer, "build"):
            self.inner_optimizer.build(var_list)

    def _make(self, variables: list[Variable]) -> None:
        if self._scaling is None and variables:
            self._scaling = LossScale(variables[0], self.initial_scale, self.dynamic_growth_steps)

    @property
    def _built_for(self) -> Any:
        return getattr(self.inner_optimizer, "_built_for", ())

    @property
    def dynamic_scale(self) -> Any:
        """The scale: a variable from the first step on."""
        return self.initial_scale if self._scaling is None else self._scaling.scale

    def scale_loss(self, loss: Any) -> Operand:
        """The loss, scaled."""
        return multiply(loss, cast(self._size(), dtype_of(loss)))

    def _size(self) -> Any:
        scale = self.dynamic_scale
        return scale.read_value() if isinstance(scale, Variable) else EagerTensor(np.float32(scale))

    get_scaled_loss = scale_loss

    def get_unscaled_gradients(self, grads: Sequence[Any]) -> list[Any]:
        """Gradients divided by the scale, for steps as they were written before Keras 3."""
        return [None if g is None else g / cast(self._size(), dtype_of(g)) for g in grads]

    def apply_gradients(
        self,
        grads_and_vars: Iterable[Any],
        global_step: Any = None,
        name: str | None = None,
        skip_gradients_aggregation: bool = False,
    ) -> Done:
        """Divide gradients by the scale and make a step, unless one is not finite."""
        pairs = as_pairs(grads_and_vars)
        exclusively(MAKING, self._make, [v for g, v in pairs if g is not None])
        ready = pairs if self._scaling is None else self._scaling(pairs)
        return self.inner_optimizer.apply_gradients(ready)

    def apply(self, grads: Sequence[Any], trainable_variables: Sequence[Variable] | None = None) -> None:
        """`apply_gradients`, with gradients and variables as two lists."""
        variables = self._built_for if trainable_variables is None else trainable_variables
        self.apply_gradients(list(zip(grads, variables, strict=True)))

    @property
    def variables(self) -> list[Variable]:  # type: ignore[override]
        """The scale, how many good steps there were since it changed, and those of the optimizer inside."""
        own = [] if self._scaling is None else self._scaling.kept_together()
        inner = self.inner_optimizer.variables
        return [*own, *(inner() if callable(inner) else inner)]

    @property
    def learning_rate(self) -> Any:
        """That of the optimizer inside."""
        return self.inner_optimizer.learning_rate

    @learning_rate.setter
    def learning_rate(self, value: Any) -> None:
        self.inner_optimizer.learning_rate = value

    @property
    def iterations(self) -> Any:
        """The number of steps of the optimizer inside."""
        return self.inner_optimizer.iterations

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal optimizer."""
        return {
            "name": self._name,
            "inner_optimizer": serialized(self.inner_optimizer),
            "initial_scale": self.initial_scale,
            "dynamic_growth_steps": self.dynamic_growth_steps,
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> LossScaleOptimizer:
        """The optimizer that `get_config` came from."""
        return cls(**{**config, "inner_optimizer": deserialized(config["inner_optimizer"])})
