"""The base of the optimizers that bear Keras's names: TensorFlow 2's methods on the same steps."""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from dualgrad.keras.configs import Described, deserialized
from engine.core.dtypes import DType, float32
from engine.core.eager import EagerTensor
from engine.core.operands import Operand, Operation
from engine.core.trace import Symbol
from engine.core.unconnected import reasons
from engine.core.value import Value, dtype_of
from engine.core.variable import Variable
from engine.ops.compare import cast, equal, not_equal, where
from engine.ops.indexed_slices import IndexedSlices
from engine.runtime.commit import exclusively
from optim import schedules
from optim.averages import present
from optim.callables import evaluated
from optim.clip import clip_by_global_norm, clip_by_norm, clip_by_value
from optim.optimizer import Optimizer
from optim.pairs import Change, Pair, Pairs, Rate, as_gradient, require_gradient, whole
from optim.protocols import KerasProtocol, written_by_users
from optim.schedules import InverseTimeDecay, LearningRateSchedule
from optim.slots import MAKING, Done, Slots, assign_all, graph_of
from optim.transforms import accumulate


class CallableList(list[Any]):
    """A list that may be called, since ``optimizer.variables`` was a method before it became an attribute."""

    def __call__(self) -> CallableList:
        """The list itself."""
        return self


class KerasOptimizer(KerasProtocol, Optimizer):
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
    use_ema : bool
        Keep moving averages of the variables: ``average ← m average + (1 - m) value`` after each step, the value itself
        after the first, with `ema_momentum` for m.
    ema_overwrite_frequency : int, optional
        After so many steps, and again after as many, the variables take the averages. By default they do so only in
        `finalize_variable_values`.
    loss_scale_factor : float, optional
        What `scale_loss` multiplies losses by, and steps divide gradients by.
    gradient_accumulation_steps : int, optional
        Make one step of so many calls, along the mean of their gradients (`optim.transforms.accumulate`). A schedule is
        applied to the number of calls.
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
    decided_by = ("weight_decay", "_undecayed", "use_ema", "ema_momentum", "ema_overwrite_frequency")
    slot_groups: ClassVar[tuple[tuple[str, ...], ...]] = ()
    """Slots in the order in which Keras keeps them: one group for all variables, then the next."""
    in_single_precision: ClassVar[frozenset[str]] = frozenset({"learning_rate", "weight_decay"})
    """The hyperparameters that Keras holds in float32 whatever the variable is; others are exact for float64 ones."""

    def __init__(
        self,
        learning_rate: Rate = 0.001,
        name: str | None = None,
        weight_decay: float | None = None,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        global_clipnorm: float | None = None,
        use_ema: bool = False,
        ema_momentum: float = 0.99,
        ema_overwrite_frequency: int | None = None,
        loss_scale_factor: float | None = None,
        gradient_accumulation_steps: int | None = None,
        lr: Any = None,
        decay: float | None = None,
        **unknown: Any,
    ) -> None:
        if isinstance(learning_rate, str) and written_by_users(self):
            # classes written for TensorFlow 2.0 to 2.10 give the name first, and set the rate later
            learning_rate, name = 0.001, learning_rate
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
        self.use_ema, self.ema_momentum = bool(use_ema), ema_momentum
        self.ema_overwrite_frequency = ema_overwrite_frequency
        if use_ema and not 0 <= ema_momentum <= 1:
            raise ValueError(f"`ema_momentum` must be in the range [0, 1]. Received: ema_momentum={ema_momentum}")
        for what, count in (("ema_overwrite_frequency", ema_overwrite_frequency),
                            ("gradient_accumulation_steps", gradient_accumulation_steps)):  # fmt: skip
            least = 1 if what == "ema_overwrite_frequency" else 2
            if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < least):
                raise ValueError(f"`{what}` must be an integer >= {least} or None. Received: {what}={count!r}")
        self.loss_scale_factor = loss_scale_factor
        self._undecayed: tuple[Any, ...] = ()
        self._first = 0
        self.gradient_accumulation_steps = gradient_accumulation_steps
        self._accumulated = accumulate(gradient_accumulation_steps) if gradient_accumulation_steps else None
        self._averages = Slots()
        self._built_for: list[Variable] | None = None
        rate = learning_rate if lr is None else lr
        self._learning_rate = _checked_rate(InverseTimeDecay(rate, 1, decay) if decay else rate)

    @property
    def name(self) -> str:
        """The name given."""
        return self._name

    # ---- learning rate and count -------------------------------------------------------------------------------------

    @property
    def learning_rate(self) -> Value:
        """The learning rate as it is now. Assignable, unless it follows a schedule.

        On eager variables a number becomes a variable with the first step, so that it can be assigned to.
        """
        calls = self.iterations
        if self._accumulated is not None and isinstance(self._learning_rate, LearningRateSchedule):
            since = [cast(count, dtype_of(calls)) for count in self._accumulated.kept_together()[-1:]]
            calls = sum(since, calls * self.gradient_accumulation_steps)
        rate = evaluated(self._learning_rate, calls)
        if isinstance(rate, Value):
            return rate
        _checked_rate(rate)
        now: Any = EagerTensor(np.float32(rate))
        now.assign = functools.partial(setattr, self, "learning_rate")
        return now

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
    def iterations(self) -> Value:
        """The number of steps done: a variable as soon as there has been one; assignable before."""
        counts = [v for _, name, v in self._counters.items() if name == "iterations"]
        if counts:
            return counts[-1]
        start: Any = EagerTensor(np.int64(self._first))
        start.assign = self._begin_at
        return start

    def _begin_at(self, number: Any) -> None:
        if isinstance(self.iterations, Variable):
            self.iterations.assign(number)
        self._first = int(number)

    def shared_state(self) -> dict[str, Any]:
        """The number of steps, as it was assigned before the first one."""
        return {**super().shared_state(), "iterations": np.int64(self._first)}

    # ---- steps -------------------------------------------------------------------------------------------------------

    def minimize(  # type: ignore[override]
        self, loss: Any, var_list: Any = None, grad_loss: Any = None, name: str | None = None, tape: Any = None
    ) -> Done:
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
        pairs = self._to_apply()(loss, var_list, grad_loss=grad_loss, tape=tape)
        require_gradient(pairs, loss)
        return self.apply_gradients(pairs, name=name)

    def apply(self, grads: Sequence[Any], trainable_variables: Sequence[Variable] | None = None) -> Done:
        """Make a step, as Keras 3 writes it: `apply_gradients` of gradients and variables side by side.

        Parameters
        ----------
        grads : list of gradient or None
        trainable_variables : list of variable, optional
            By default those that `build` was given last.

        Returns
        -------
        operation or variable
            In a graph the operation that makes a step; else `iterations`.

        Raises
        ------
        ValueError
            If there are not as many gradients as variables, or no variables are given and `build` was not called.

        Examples
        --------
        >>> import tape_api as tf
        >>> w = tf.Variable(1.0)
        >>> optimizer = tf.keras.optimizers.SGD(0.5)
        >>> _ = optimizer.apply([tf.constant(1.0)], [w])
        >>> w.numpy()
        np.float32(0.5)
        """
        variables = self._built_for if trainable_variables is None else list(trainable_variables)
        if variables is None:
            raise ValueError("apply: argument `trainable_variables` must be given, or `build` called with them before")
        if len(grads) != len(variables):
            raise ValueError(f"apply: got {len(grads)} gradients for {len(variables)} variables")
        return self.apply_gradients(list(zip(grads, variables, strict=True)))

    def _step(self, pairs: Pairs, global_step: Any, name: str | None) -> Done:
        missing = [v for g, v in pairs if g is None]
        if 0 < len(missing) < len(pairs):
            names = [v.name for v in missing]
            text = f"Gradients do not exist for variables {names} when minimizing the loss.{reasons(missing)}"
            warnings.warn(text, stacklevel=3)
        train = super()._step(pairs, global_step, name)
        return self.iterations if train is None else train

    def scale_loss(self, loss: Any) -> Operand:
        """The loss times `loss_scale_factor`, if there is one."""
        return loss if self.loss_scale_factor is None else loss * self.loss_scale_factor

    def _step_unrecorded(self, pairs: Pairs, global_step: Any, name: str | None) -> Done:
        if (factor := self.loss_scale_factor) is not None:
            given = [(g if g is None else self._checked_gradient(g, v), v) for g, v in pairs]
            pairs = pairs.then([(g if g is None else _divided(g, factor), v) for g, v in given])
        used = [v for g, v in pairs if g is not None]
        if used and (self.use_ema or self._accumulated is not None):
            exclusively(MAKING, self.create_slots, used)
            exclusively(MAKING, self._make_averages, [v for _, v in pairs])
            self.restored()
        if self._accumulated is not None:
            pairs = self._accumulated(
                pairs.then([(self._checked_gradient(g, v), v) for g, v in pairs if g is not None])
            )
        return super()._step_unrecorded(pairs, global_step, name)

    def create_slots(self, variables: Sequence[Variable]) -> tuple[dict[str, Variable], list[Variable]]:
        """Make, unless it is there, what is kept: averages and sums of gradients too, where they are asked for."""
        self._make_averages(variables)
        if self._accumulated is not None:
            self._accumulated.make(variables)
        return super().create_slots(variables)

    def _make_averages(self, variables: Sequence[Variable]) -> None:
        for variable in variables if self.use_ema else ():
            self._averages.create(variable, "average", present)

    def follows(self) -> Sequence[Variable]:
        """With `use_ema` the averages, and the variables that they are averages of."""
        return [v for pair in self._averages.pairs() for v in pair] if self.use_ema else ()

    def _takes_deferred(self) -> bool:
        return not (
            self.clipnorm or self.global_clipnorm or self.clipvalue or self.loss_scale_factor or self._accumulated
        )

    def _followed(self, changes: list[Change], state: SimpleNamespace, read: Callable[[Variable], Any]) -> list[Change]:
        if not self.use_ema:
            return changes
        graph = graph_of([changes[0][0]])
        averaged = {id(v.handle): (v, average) for v, average in self._averages.pairs() if graph_of([v]) is graph}
        kept = cast(not_equal(state.iterations, np.int64(0)), float32)
        after: list[Change] = []
        for variable, new in changes:
            _, average = averaged.pop(id(variable.handle), (variable, None))
            if average is None:
                after.append((variable, new))
            else:
                after += self._averaged(variable, average, read(average), whole(new, read(variable)), kept, state)
        for variable, average in averaged.values():
            after += self._averaged(variable, average, read(average), read(variable), kept, state)
        return after

    def _averaged(
        self, variable: Variable, average: Variable, before: Any, value: Any, kept: Any, state: SimpleNamespace
    ) -> list[Change]:
        """A variable and its average after a step that gives the variable a value."""
        kept = cast(kept, variable.dtype) * self._in_dtype("ema_momentum", self.ema_momentum, variable.dtype)
        mean = before * kept + value * (1 - kept)
        if self.ema_overwrite_frequency is not None:
            due = equal((state.iterations + 1) % self.ema_overwrite_frequency, np.int64(0))
            value = where(due, mean, value)
        return [(variable, value), (average, mean)]

    def finalize_variable_values(self, var_list: Sequence[Variable]) -> Operation | None:
        """Give variables their moving averages, at the end of training with `use_ema`.

        Returns
        -------
        operation or None
            In a graph the operation that does it; None if it has been done.
        """
        if not self.use_ema:
            return None
        pairs = [(v, self._averages.get(v, "average")) for v in var_list]
        missing = [v.name for v, average in pairs if average is None]
        if missing:
            raise ValueError(
                f"finalize_variable_values: there are no averages of {', '.join(missing)}: no step was made"
            )
        return assign_all([(v, a.read_value()) for v, a in pairs if a is not None], "finalize")

    def build(self, var_list: Sequence[Variable]) -> None:
        """Make the state for the given variables now rather than at the first step."""
        super().build(var_list)
        self._built_for = list(var_list)
        if var_list:
            self.create_slots(var_list)
        self.restored()

    def _checked_gradient(self, gradient: Any, variable: Variable) -> Operand | IndexedSlices:
        if isinstance(gradient, IndexedSlices):
            self._require_dtype(variable)
            gradient = as_gradient(gradient.with_values(cast(gradient.values, variable.dtype)), variable)
            if written_by_users(self) is None:
                return gradient
        elif isinstance(gradient, Value):
            gradient = cast(gradient, variable.dtype)
        self._require_dtype(variable)
        return self._taken(as_gradient(gradient, variable))

    def _processed(self, pairs: Sequence[Pair]) -> Sequence[Pair]:
        gradients, variables = [g for g, _ in pairs], [v for _, v in pairs]
        if self.clipnorm:
            gradients = [clip_by_norm(g, self.clipnorm) for g in gradients]
        elif self.global_clipnorm:
            clipped = clip_by_global_norm(gradients, self.global_clipnorm)[0]
            # after Keras has clipped rows by the norm of all, they are no rows
            gradients = [g.dense() if isinstance(g, IndexedSlices) else g for g in clipped]
        elif self.clipvalue:
            gradients = [clip_by_value(g, -self.clipvalue, self.clipvalue) for g in gradients]
        else:
            return pairs
        return list(zip(gradients, variables, strict=True))

    def _updated(
        self, gradient: Any, value: Any, slots: dict[str, Any], hyper: SimpleNamespace, state: SimpleNamespace
    ) -> tuple[Any, dict[str, Any]]:
        if not isinstance(gradient, IndexedSlices):
            return super()._updated(gradient, value, slots, hyper, state)
        takes_rows = self.takes_rows()

        def each_row(function: Callable[[Any], Any]) -> Operand:
            found = gradient.with_values(function(gradient.values))
            return found.summed().values if takes_rows else found.dense()

        one = gradient.summed() if takes_rows else gradient.dense()
        return super()._updated(one, value, slots, SimpleNamespace(**vars(hyper), each_row=each_row), state)

    def _new_values(
        self, gradient: Any, value: Any, slots: dict[str, Any], hyper: SimpleNamespace, state: SimpleNamespace
    ) -> tuple[Any, dict[str, Any]]:
        if self.weight_decay is not None and getattr(hyper, "decays", True):
            weight_decay = self._in_dtype("weight_decay", self.weight_decay, dtype_of(value))
            value = value - value * weight_decay * hyper.learning_rate
        return super()._new_values(gradient, value, slots, hyper, state)

    def _in_dtype(self, name: str, x: Any, dtype: DType) -> Any:
        if isinstance(x, float) and name not in self.in_single_precision:
            return EagerTensor(np.asarray(x, dtype.numpy))
        return super()._in_dtype(name, x, dtype)

    def _current(self, name: str, step: Any) -> Any:
        if name != "learning_rate":
            return super()._current(name, step)
        calls = self.gradient_accumulation_steps or 1
        return evaluated(self._learning_rate, step if calls == 1 else step * calls + (calls - 1))

    def exclude_from_weight_decay(
        self, var_list: Sequence[Variable] | None = None, var_names: Sequence[str] | None = None
    ) -> None:
        """Let variables not decay.

        Parameters
        ----------
        var_list : list of variable, optional
        var_names : list of str, optional
            Regular expressions. A variable does not decay where one is found in its name: the last part, without the
            layer's.
        """
        self._undecayed = (frozenset(id(v.handle) for v in var_list or ()), tuple(var_names or ()))

    def hyper_for(self, variable: Variable, hyper: SimpleNamespace) -> SimpleNamespace:
        """The hyperparameters, with a note for variables that do not decay."""
        if self.weight_decay is None or not self._undecayed:
            return hyper
        handles, names = self._undecayed
        name = variable.name.rpartition("/")[2].partition(":")[0]
        if id(variable.handle) not in handles and not any(re.search(pattern, name) for pattern in names):
            return hyper
        common = vars(hyper).setdefault("in_common", {})
        if "undecayed" not in common:
            common["undecayed"] = SimpleNamespace(
                **{n: x for n, x in vars(hyper).items() if n != "in_common"}, decays=False
            )
        return common["undecayed"]

    def takes_rows(self) -> bool:
        """No: what is kept for rows without a gradient decays too, and so may the rows."""
        return False

    # ---- state -------------------------------------------------------------------------------------------------------

    def _slot_label(self, name: str) -> str:
        return name

    def _shared(self, first: Variable) -> dict[str, Variable]:
        rate = self._learning_rate
        if not isinstance(rate, Value) and not callable(rate) and graph_of([first]) is None:
            self._learning_rate = first.new_slot("learning_rate", np.float32(rate), below=False)
        return super()._shared(first)

    @property
    def variables(self) -> CallableList:
        """All variables that the optimizer made so far, in the order in which Keras has them in files."""
        slots = [slot for *_, slot in self.kept_slots()]
        counts = [] if self._accumulated is None else self._accumulated.kept_together()
        return CallableList([*self._counted(), *slots, *self._in_all(), *counts])

    def _counted(self) -> list[Variable]:
        rate = self._learning_rate
        rates = [rate] if isinstance(rate, Variable) and not isinstance(rate.handle, Symbol) else []
        return [*[v for _, name, v in self._counters.items() if name == "iterations"], *rates]

    def _in_all(self) -> list[Variable]:
        """The variables that `update` keeps for all variables together, besides their number."""
        return [v for _, name, v in self._counters.items() if name != "iterations"]

    def kept_slots(self) -> list[tuple[Variable, str, Variable]]:
        """The slots of single variables, in Keras's order: by `slot_groups`, then as in `build`."""
        order = {id(v.handle): i for i, v in enumerate(self._built_for or ())}
        group = {name: i for i, names in enumerate(self.slot_groups) for name in names}

        def place(item: tuple[Variable, str, Variable]) -> tuple[int, int]:
            return group.get(item[1], 0), order.get(id(item[0].handle), len(order))

        sums = [] if self._accumulated is None else self._accumulated.kept_slots()
        own = self._slots.items()
        return [
            *sorted(self._averages.items(), key=place), *sorted(sums, key=place),
            *(sorted(own, key=place) if self.initial_slots() else own),
        ]  # fmt: skip

    def kept_together(self) -> list[Variable]:
        """The state kept for all variables together."""
        counts = () if self._accumulated is None else self._accumulated.kept_together()
        return [*self._counted(), *self._in_all(), *counts]

    @property
    def weights(self) -> CallableList:
        """`variables` under its older name."""
        return self.variables

    # ---- configuration -----------------------------------------------------------------------------------------------

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal optimizer, as plain Python data."""
        rate = self._learning_rate
        if isinstance(rate, LearningRateSchedule):
            rate = Described(type(rate), {"class_name": type(rate).__name__, "config": rate.get_config()})
        elif not callable(rate) or isinstance(rate, Value):
            rate = float(rate)
        common = "weight_decay clipnorm global_clipnorm clipvalue use_ema ema_momentum ema_overwrite_frequency"
        common += " loss_scale_factor gradient_accumulation_steps"
        names = [*common.split(), *[n for n in self.hyperparameters if n != "learning_rate"]]
        return {"name": self.name, "learning_rate": rate, **{n: getattr(self, n) for n in names}}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> KerasOptimizer:
        """The optimizer that `get_config` came from; what Keras 2 says of compilation is left out."""
        config = {name: x for name, x in config.items() if name not in ("jit_compile", "is_legacy_optimizer")}
        rate = config.get("learning_rate")
        if isinstance(rate, dict):
            config = {**config, "learning_rate": deserialized(rate, schedules.KINDS)}
        return cls(**config)


def _divided(gradient: Any, factor: float) -> Any:
    rows = isinstance(gradient, IndexedSlices)
    return gradient.with_values(gradient.values / factor) if rows else gradient / factor


def in_single(x: Any) -> Operand:
    """A hyperparameter as Keras gets it where it casts a number, which is float32 first."""
    return cast(cast(x, float32), dtype_of(x))


def _checked_rate(rate: Any) -> float | Value | Callable[..., Any]:
    array = np.asarray(rate) if isinstance(rate, (int, float, np.generic, np.ndarray)) else None
    is_number = array is not None and array.ndim == 0 and array.dtype.kind in "fiu"
    if not is_number and not isinstance(rate, Value) and not callable(rate):
        raise ValueError(
            f"Argument `learning_rate` should be float, or an instance of LearningRateSchedule, or a callable. "
            f"Received instead: learning_rate={rate!r}"
        )
    return rate
