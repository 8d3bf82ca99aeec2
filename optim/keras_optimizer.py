"""The base of the optimizers that bear Keras's names: TensorFlow 2's methods on the same steps."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from engine.core.eager import EagerTensor
from engine.core.indexed_slices import IndexedSlices
from engine.core.trace import Symbol
from engine.core.value import Value, dtype_of
from engine.core.variable import Variable
from engine.ops.compare import cast
from optim import schedules
from optim.clip import clip_by_global_norm, clip_by_norm, clip_by_value
from optim.optimizer import Optimizer, Pair, evaluated, require_gradient
from optim.schedules import InverseTimeDecay, LearningRateSchedule
from optim.state import graph_of


class CallableList(list[Any]):
    """A list that may be called, since ``optimizer.variables`` was a method before it became an attribute."""

    def __call__(self) -> CallableList:
        """The list itself."""
        return self


class KerasOptimizer(Optimizer):
    """Base of the Keras optimizers.

    Parameters
    ----------
    learning_rate : float, tensor, callable without arguments, or LearningRateSchedule
        A schedule is applied to `iterations`. In a graph a float is fixed once a step has been built; give a
        placeholder or a variable to change it later.
    name : str, optional
    weight_decay : float, optional
        Decoupled: the variable is first multiplied by ``1 - weight_decay * learning_rate``.
    clipnorm, clipvalue, global_clipnorm : float, optional
        Clip each gradient's norm, its elements, or the norm of all gradients together. At most one of them.
    lr : float, optional
        `learning_rate` under its older name.
    decay : float, optional
        Of older programs: divide the learning rate by ``1 + decay * iterations``.

    Raises
    ------
    ValueError
        If an argument is not known, or two kinds of clipping are asked for.
    """

    counts_steps: ClassVar[bool] = True

    def __init__(
        self,
        learning_rate: Any,
        name: str | None = None,
        weight_decay: float | None = None,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        global_clipnorm: float | None = None,
        lr: Any = None,
        decay: float | None = None,
        **unknown: Any,
    ) -> None:
        if unknown:
            raise ValueError(f"Argument(s) not recognized: {unknown}")
        if sum(x is not None for x in (clipnorm, clipvalue, global_clipnorm)) > 1:
            raise ValueError(
                f"Only one of `clipnorm`, `clipvalue` and `global_clipnorm` can be set. Received: clipnorm={clipnorm}, "
                f"clipvalue={clipvalue}, global_clipnorm={global_clipnorm}"
            )
        super().__init__(False, name or type(self).__name__.lower())
        self.weight_decay = weight_decay
        self.clipnorm = clipnorm
        self.clipvalue = clipvalue
        self.global_clipnorm = global_clipnorm
        rate = learning_rate if lr is None else lr
        self._learning_rate = _checked_rate(InverseTimeDecay(rate, 1, decay) if decay else rate)

    @property
    def name(self) -> str:
        """The name given."""
        return self._name

    # ---- learning rate and count -------------------------------------------------------------------------------------

    @property
    def learning_rate(self) -> Any:
        """The learning rate as it is now. Assignable, unless it follows a schedule.

        On eager variables a number becomes a variable with the first step, so that it can be assigned to.
        """
        rate = evaluated(self._learning_rate, self.iterations)
        return rate if isinstance(rate, Value) else EagerTensor(np.float32(rate))

    @learning_rate.setter
    def learning_rate(self, learning_rate: Any) -> None:
        new = _checked_rate(learning_rate)
        is_number = not isinstance(new, Value) and not callable(new)
        if is_number and isinstance(self._learning_rate, LearningRateSchedule):
            raise TypeError(
                "This optimizer was created with a `LearningRateSchedule` object as its `learning_rate` constructor "
                "argument, hence its learning rate is not settable."
            )
        if any(isinstance(c.handle, Symbol) for c in self._counters.all()):
            raise RuntimeError(
                "the learning rate is part of a graph already and setting it would have no effect there: give the "
                "optimizer a placeholder or a variable as `learning_rate`, and feed or assign that"
            )
        if is_number and isinstance(self._learning_rate, Variable):
            self._learning_rate.assign(new)
        else:
            self._learning_rate = new

    lr = learning_rate

    @property
    def iterations(self) -> Any:
        """The number of steps done: a variable as soon as there has been one."""
        counters = self._counters.all()
        return counters[-1] if counters else EagerTensor(np.int64(0))

    # ---- steps -------------------------------------------------------------------------------------------------------

    def minimize(  # type: ignore[override]
        self, loss: Any, var_list: Any = None, grad_loss: Any = None, name: str | None = None, tape: Any = None
    ) -> Any:
        """Compute gradients and apply them.

        Parameters
        ----------
        loss : callable without arguments, tensor of a graph, or eager tensor
            An eager tensor needs the `tape` that recorded it.
        var_list : variable, structure of variables, or callable returning one
        grad_loss : tensor, optional
            Cotangent of `loss`, by default ones.
        name : str, optional
            Of the operation, in a graph.
        tape : GradientTape, optional

        Returns
        -------
        operation or variable
            In a graph the operation that makes a step; else `iterations`.

        Raises
        ------
        ValueError
            If the tape is missing, or the loss depends on none of the variables.
        """
        if isinstance(loss, EagerTensor) and tape is None:
            raise ValueError("`tape` is required when a `Tensor` loss is passed.")
        pairs = self.compute_gradients(loss, var_list, grad_loss=grad_loss, tape=tape)
        require_gradient(pairs, loss)
        return self.apply_gradients(pairs, name=name)

    def _step(self, pairs: Sequence[Pair], global_step: Any, name: str | None) -> Any:
        missing = [v.name for g, v in pairs if g is None]
        if 0 < len(missing) < len(pairs):
            warnings.warn(f"Gradients do not exist for variables {missing} when minimizing the loss.", stacklevel=3)
        train = super()._step(pairs, global_step, name)
        return self.iterations if train is None else train

    def build(self, var_list: Sequence[Variable]) -> None:
        """Make the state for the given variables now rather than at the first step."""
        if var_list:
            self._counter(var_list[0])
        for variable in var_list:
            self._slots_of(variable)

    def _checked_gradient(self, gradient: Any, variable: Variable) -> Any:
        if isinstance(gradient, IndexedSlices):
            gradient = gradient.with_values(cast(gradient.values, variable.dtype))
        elif isinstance(gradient, Value):
            gradient = cast(gradient, variable.dtype)
        return super()._checked_gradient(gradient, variable)

    def _processed(self, pairs: Sequence[Pair]) -> Sequence[Pair]:
        gradients, variables = [g for g, _ in pairs], [v for _, v in pairs]
        if self.clipnorm:
            gradients = [clip_by_norm(g, self.clipnorm) for g in gradients]
        elif self.global_clipnorm:
            gradients, _ = clip_by_global_norm(gradients, self.global_clipnorm)
        elif self.clipvalue:
            gradients = [clip_by_value(g, -self.clipvalue, self.clipvalue) for g in gradients]
        return list(zip(gradients, variables, strict=True))

    def _new_values(
        self, gradient: Any, value: Any, slots: dict[str, Any], hyper: SimpleNamespace, step: Any
    ) -> tuple[Any, dict[str, Any]]:
        if self.weight_decay is not None:
            weight_decay = self._in_dtype("weight_decay", self.weight_decay, dtype_of(value))
            value = value - value * weight_decay * hyper.learning_rate
        return super()._new_values(gradient, value, slots, hyper, step)

    def _current(self, name: str, step: Any) -> Any:
        return evaluated(self._learning_rate, step) if name == "learning_rate" else super()._current(name, step)

    def takes_rows(self) -> bool:
        """No: what is kept for rows without a gradient decays too, and so may the rows."""
        return False

    # ---- state -------------------------------------------------------------------------------------------------------

    def _slot_label(self, name: str) -> str:
        return name

    def _counter(self, first: Variable) -> Variable | None:
        rate = self._learning_rate
        if not isinstance(rate, Value) and not callable(rate) and graph_of([first]) is None:
            self._learning_rate = first.new_slot("learning_rate", np.float32(rate))
        return super()._counter(first)

    @property
    def variables(self) -> Any:
        """All variables that the optimizer made so far: count, learning rate, then what it keeps for each variable."""
        rate = self._learning_rate
        rates = [rate] if isinstance(rate, Variable) and not isinstance(rate.handle, Symbol) else []
        return CallableList([*self._counters.all(), *rates, *self._slots.all()])

    @property
    def weights(self) -> Any:
        """`variables` under its older name."""
        return self.variables

    # ---- configuration -----------------------------------------------------------------------------------------------

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal optimizer, as plain Python data."""
        rate = self._learning_rate
        if isinstance(rate, LearningRateSchedule):
            rate = {"class_name": type(rate).__name__, "config": rate.get_config()}
        elif not callable(rate) or isinstance(rate, Value):
            rate = float(rate)
        others = [n for n in self.hyperparameters if n != "learning_rate"]
        clipping = ["weight_decay", "clipnorm", "global_clipnorm", "clipvalue"]
        return {"name": self.name, "learning_rate": rate, **{n: getattr(self, n) for n in others + clipping}}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> KerasOptimizer:
        """The optimizer that `get_config` came from."""
        rate = config.get("learning_rate")
        if isinstance(rate, dict):
            config = {**config, "learning_rate": getattr(schedules, rate["class_name"]).from_config(rate["config"])}
        return cls(**config)


def _checked_rate(rate: Any) -> Any:
    is_number = isinstance(rate, (int, float, np.number)) or (isinstance(rate, np.ndarray) and rate.ndim == 0)
    if not is_number and not isinstance(rate, Value) and not callable(rate):
        raise ValueError(
            f"Argument `learning_rate` should be float, or an instance of LearningRateSchedule, or a callable. "
            f"Received instead: learning_rate={rate!r}"
        )
    return rate
