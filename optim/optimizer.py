"""The base of all optimizers, with TensorFlow 1's methods.

An algorithm is one pure function of values, made of engine ops:

    ``update(gradient, value, slots, hyper, step) -> (new value, new slots)``

`slots` and the result's second item are dicts of the values that the algorithm keeps for each variable; `hyper` holds
the hyperparameters as attributes, as scalars of the variable's dtype; `step` is the number of steps done before. The
base class reads the variables, applies the function to each, and only then assigns. So one function serves eager
variables and graphs, to the bit, and whatever goes wrong, goes wrong before anything has changed.

A gradient that is zero but for some rows (`IndexedSlices`) takes the same way: these rows of variable and slots are
gathered, the function is applied to them, and they are assigned. A step then costs what its rows cost.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from engine.core import nest
from engine.core.aval import compatible, format_shape
from engine.core.dtypes import FLOATING, DType
from engine.core.eager import EagerTensor
from engine.core.errors import DTypeError, ShapeError
from engine.core.indexed_slices import IndexedSlices
from engine.core.row_assignment import replaced
from engine.core.tape import unrecorded
from engine.core.trace import Symbol
from engine.core.value import Value, as_array, dtype_of, shape_of
from engine.core.variable import Variable, tracked_value
from engine.gradient_tape import GradientTape
from engine.ops.compare import cast
from engine.ops.creation import ones_like
from engine.ops.gather import gather
from engine.runtime.state import exclusively
from engine.symbolic import gradients
from optim.schedules import LearningRateSchedule
from optim.state import MAKING, Slots, assign_all, graph_of, locks_of

Pair = tuple[Any, Variable]


class Optimizer:
    """Base of the optimizers: gradients of a loss, and steps along them.

    A new algorithm is a subclass with `update`, its `hyperparameters` as attributes, and `initial_slots` if it keeps
    something.

    Parameters
    ----------
    use_locking : bool
        Accepted for compatibility: a step is never interleaved with another.
    name : str
        Not empty; what the operation that makes a step is called.

    Examples
    --------
    >>> import tape_api as tf
    >>> class SignDescent(Optimizer):
    ...     hyperparameters = ("rate",)
    ...     rate = 0.5
    ...     @staticmethod
    ...     def update(gradient, value, slots, hyper, step):
    ...         return value - tf.sign(gradient) * hyper.rate, {}
    >>> w = tf.Variable([1.0, -2.0])
    >>> SignDescent(False, "SignDescent").minimize(lambda: tf.reduce_sum(w * w), var_list=[w])
    >>> w.numpy()
    array([ 0.5, -1.5], dtype=float32)
    """

    GATE_NONE = 0
    GATE_OP = 1
    GATE_GRAPH = 2

    hyperparameters: ClassVar[tuple[str, ...]] = ()
    """The attributes that `update` gets as `hyper`."""
    counts_steps: ClassVar[bool] = False
    """Whether `update` uses `step` (which otherwise is None unless a schedule needs it)."""
    accepts: ClassVar[frozenset[DType]] = FLOATING
    """The dtypes of variables it can update."""

    def __init__(self, use_locking: bool, name: str) -> None:
        if not name:
            raise ValueError("Must specify the optimizer name")
        self._name = name
        self._slots = Slots()
        self._counters = Slots()

    # ---- the algorithm -----------------------------------------------------------------------------------------------

    @staticmethod
    def update(
        gradient: Any, value: Any, slots: dict[str, Any], hyper: SimpleNamespace, step: Any
    ) -> tuple[Any, dict[str, Any]]:
        """The new value of a variable and the new values of its slots."""
        raise NotImplementedError("an optimizer must define `update`")

    def initial_slots(self) -> dict[str, float]:
        """The slots that `update` keeps for each variable, and what they are filled with at first."""
        return {}

    def takes_rows(self) -> bool:
        """Whether a gradient that consists of rows (`IndexedSlices`) changes only these rows and what is kept for them.

        So it is in TensorFlow 1. Otherwise the gradient of all other rows counts as zero.
        """
        return True

    # ---- gradients ---------------------------------------------------------------------------------------------------

    def compute_gradients(
        self,
        loss: Any,
        var_list: Any = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: Any = None,
        tape: Any = None,
    ) -> list[tuple[Any, Any]]:
        """Gradients of `loss`, the first half of `minimize`.

        Parameters
        ----------
        loss : tensor of a graph, or callable without arguments
            A callable computes the loss, in either mode. An eager tensor needs the `tape` that recorded it.
        var_list : variable or structure of variables, optional
            By default the trainable variables of the graph, or those that the callable used.
        gate_gradients : int
            GATE_NONE, GATE_OP or GATE_GRAPH; checked, and otherwise without effect: a step reads every variable before
            it assigns any.
        aggregation_method, colocate_gradients_with_ops
            Accepted for compatibility.
        grad_loss : tensor, optional
            Cotangent of `loss`, by default ones.
        tape : GradientTape, optional
            Which recorded `loss`.

        Returns
        -------
        list of (gradient or None, variable)

        Raises
        ------
        ValueError
            If there are no variables, or the dtype of the loss or of a variable has no gradient.
        RuntimeError
            If an eager tensor is given without a tape.
        """
        if callable(loss) and not isinstance(loss, Value):
            return _recorded_gradients(loss, var_list, grad_loss)
        if tape is not None:
            variables = _flat(var_list) if var_list is not None else list(tape.watched_variables())
            return list(zip(tape.gradient(loss, variables, grad_loss), variables, strict=True))
        if not isinstance(loss, Value) or not isinstance(tracked_value(loss), Symbol):
            raise RuntimeError(
                "`loss` passed to Optimizer.compute_gradients should be a function when eager execution is enabled "
                "(or give the `tape` that recorded it)."
            )
        if gate_gradients not in (self.GATE_NONE, self.GATE_OP, self.GATE_GRAPH):
            raise ValueError(
                f"gate_gradients must be one of: Optimizer.GATE_NONE, Optimizer.GATE_OP, Optimizer.GATE_GRAPH.  "
                f"Not {gate_gradients}"
            )
        return self._graph_gradients(loss, var_list, grad_loss)

    def _graph_gradients(self, loss: Any, var_list: Any, grad_loss: Any) -> list[tuple[Any, Any]]:
        self._require_dtype(loss)
        if isinstance(grad_loss, Value):
            self._require_dtype(grad_loss)
        graph = tracked_value(loss).trace
        variables = _flat(var_list) if var_list is not None else graph.trainable_variables()
        if not variables:
            raise ValueError("No variables to optimize.")
        pairs = list(zip(gradients(loss, variables, grad_loss), variables, strict=True))
        for gradient, variable in pairs:
            if gradient is not None:
                self._require_dtype(variable)
        return pairs

    def _require_dtype(self, x: Any) -> None:
        if x.dtype not in self.accepts:
            expected = ", ".join(sorted(d.name for d in self.accepts))
            raise ValueError(f"Invalid type {x.dtype!r} for {_label(x)}, expected one of: {expected}.")

    # ---- steps -------------------------------------------------------------------------------------------------------

    def minimize(
        self,
        loss: Any,
        global_step: Any = None,
        var_list: Any = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: Any = None,
        tape: Any = None,
    ) -> Any:
        """Compute gradients and apply them; for the parameters see `compute_gradients` and `apply_gradients`.

        Returns
        -------
        operation or None
            In a graph the operation that makes a step; None if the step has been made.

        Raises
        ------
        ValueError
            If the loss depends on none of the variables, and where the two methods raise.
        """
        pairs = self.compute_gradients(
            loss, var_list, gate_gradients, aggregation_method, colocate_gradients_with_ops, grad_loss, tape
        )
        require_gradient(pairs, loss)
        return self.apply_gradients(pairs, global_step, name)

    def apply_gradients(
        self,
        grads_and_vars: Iterable[Any],
        global_step: Any = None,
        name: str | None = None,
        skip_gradients_aggregation: bool = False,
    ) -> Any:
        """Make a step along given gradients, the second half of `minimize`.

        Parameters
        ----------
        grads_and_vars : iterable of (gradient or None, variable)
            Variables without gradient stay as they are. Lists and arrays take the variable's dtype.
        global_step : variable, optional
            To be incremented by one.
        name : str, optional
            Of the operation, by default the optimizer's.
        skip_gradients_aggregation : bool
            Accepted for compatibility.

        Returns
        -------
        operation or None
            In a graph the operation that makes a step; None if the step has been made.

        Raises
        ------
        ValueError
            If there are no gradients, or one has not its variable's shape or dtype. No variable is changed then.
        TypeError
            If something is not a variable.
        """
        pairs = _as_pairs(grads_and_vars)
        if not pairs:
            raise ValueError("No variables provided.")
        return self._step(pairs, global_step, name)

    def _step(self, pairs: Sequence[Pair], global_step: Any, name: str | None) -> Any:
        return unrecorded(self._step_unrecorded, pairs, global_step, name)

    def _step_unrecorded(self, pairs: Sequence[Pair], global_step: Any, name: str | None) -> Any:
        ready = [(self._checked_gradient(g, v), v) for g, v in pairs if g is not None]
        if not ready:
            raise ValueError(f"No gradients provided for any variable: {[str(v) for _, v in pairs]}.")
        counter, slots = exclusively(MAKING, self._state_for, [v for _, v in ready])
        counters = [] if counter is None else [counter]
        if global_step is not None:
            counters.append(_required(global_step))

        def step() -> Any:
            changes = self._changes(ready, None if counter is None else counter.read_value())
            changes += [(each, each.read_value() + 1) for each in counters]
            return assign_all(changes, name or self._name)

        return exclusively(locks_of([*counters, *[v for _, v in ready], *slots]), step)

    def _state_for(self, variables: Sequence[Variable]) -> tuple[Variable | None, list[Variable]]:
        """The counter of the steps, if they are counted, and the slots of some variables."""
        return self._counter(variables[0]), [s for v in variables for s in self._slots_of(v).values()]

    def _changes(self, pairs: Sequence[Pair], step: Any) -> list[tuple[Variable, Any]]:
        """Each variable and slot with its new value. A variable given twice makes two steps."""
        pending: dict[int, tuple[Variable, Any]] = {}

        def current(variable: Variable) -> Any:
            found = pending.get(id(variable.handle))
            return variable.read_value() if found is None else _whole(found[1], variable.read_value())

        def change(variable: Variable, value: Any) -> None:
            again = id(variable.handle) in pending
            pending[id(variable.handle)] = (variable, _whole(value, current(variable)) if again else value)

        hypers: dict[DType, SimpleNamespace] = {}
        for gradient, variable in self._processed(pairs):
            dtype = variable.dtype
            if dtype not in hypers:
                hypers[dtype] = self._hyper(dtype, step)
            slots = self._slots_of(variable)
            value, new = self._updated(
                gradient, current(variable), {n: current(s) for n, s in slots.items()}, hypers[dtype], step
            )
            constraint = getattr(variable, "constraint", None)
            if constraint is not None:
                value = constraint(_whole(value, current(variable)))
            change(variable, value)
            for name, kept in new.items():
                change(slots[name], kept)
        for variable, value in pending.values():
            _require_fit(value, variable, "the new value computed for")
        return list(pending.values())

    def _processed(self, pairs: Sequence[Pair]) -> Sequence[Pair]:
        """The gradients that the updates shall use."""
        return pairs

    def _updated(
        self, gradient: Any, value: Any, slots: dict[str, Any], hyper: SimpleNamespace, step: Any
    ) -> tuple[Any, dict[str, Any]]:
        """New values for variable and slots, or for the rows of them that the gradient consists of."""
        if not isinstance(gradient, IndexedSlices):
            return self._new_values(gradient, value, slots, hyper, step)
        kept = {n: gather(x, gradient.indices) for n, x in slots.items()}
        value, new = self._new_values(gradient.values, gather(value, gradient.indices), kept, hyper, step)
        return gradient.with_values(value), {n: gradient.with_values(x) for n, x in new.items()}

    def _new_values(
        self, gradient: Any, value: Any, slots: dict[str, Any], hyper: SimpleNamespace, step: Any
    ) -> tuple[Any, dict[str, Any]]:
        return self.update(gradient, value, slots, hyper, step)

    def _checked_gradient(self, gradient: Any, variable: Variable) -> Any:
        """The gradient as a value of the variable's shape and dtype, or as distinct rows of one."""
        self._require_dtype(variable)
        if isinstance(gradient, IndexedSlices):
            rows = IndexedSlices(gradient.values, gradient.indices, like=variable)
            _require_fit(rows, variable, "the gradient of")
            return rows.summed() if self.takes_rows() else rows.dense()
        if isinstance(gradient, Variable):
            gradient = gradient.read_value()
        elif hasattr(gradient, "as_value"):
            gradient = gradient.as_value()
        elif not isinstance(gradient, Value):
            gradient = EagerTensor(as_array(gradient, variable.dtype, f"the gradient of variable {variable.name!r}"))
        _require_fit(gradient, variable, "the gradient of")
        return gradient

    # ---- hyperparameters ---------------------------------------------------------------------------------------------

    def _hyper(self, dtype: DType, step: Any) -> SimpleNamespace:
        return SimpleNamespace(**{n: self._in_dtype(n, self._current(n, step), dtype) for n in self.hyperparameters})

    def _current(self, name: str, step: Any) -> Any:
        """A hyperparameter as it is now."""
        return evaluated(getattr(self, name), step)

    def _in_dtype(self, name: str, x: Any, dtype: DType) -> Any:
        """A hyperparameter as a scalar of the given dtype; flags stay what they are.

        Python numbers are float32 first, whatever the variable is: so it is in TensorFlow 1, and mostly in Keras.
        """
        if isinstance(x, bool):
            return x
        if isinstance(x, Value):
            return cast(x.read_value() if isinstance(x, Variable) else x, dtype)
        return EagerTensor(cast(np.asarray(as_array(x, None, name)), dtype))

    # ---- state -------------------------------------------------------------------------------------------------------

    def _slots_of(self, variable: Variable) -> dict[str, Variable]:
        return {
            name: self._slots.create(variable, name, partial(_filled, fill=fill), self._slot_label(name))
            for name, fill in self.initial_slots().items()
        }

    def _slot_label(self, name: str) -> str:
        """What the names of slot variables end in: in TensorFlow 1 the optimizer's name."""
        return self._name

    def _counter(self, first: Variable) -> Variable | None:
        """The variable that counts the steps, if they are counted; one for each graph, beside its first variable."""
        if not self.counts_steps and not any(
            isinstance(getattr(self, n), LearningRateSchedule) for n in self.hyperparameters
        ):
            return None
        place = graph_of([first])
        for counter in self._counters.all():
            if graph_of([counter]) is place:
                return counter
        return self._counters.create(first, "iterations", lambda _: np.int64(0))

    def get_slot(self, var: Variable, name: str) -> Variable | None:
        """The variable that keeps the state called `name` for `var`, None if there is none (yet)."""
        return self._slots.get(var, name)

    def get_slot_names(self) -> list[str]:
        """The names of what is kept for each variable so far."""
        return self._slots.names()

    def variables(self) -> Any:
        """All variables that the optimizer made so far."""
        return [*self._counters.all(), *self._slots.all()]

    def get_name(self) -> str:
        """The name given."""
        return self._name


# ---- the parts -------------------------------------------------------------------------------------------------------


def evaluated(hyperparameter: Any, step: Any) -> Any:
    """What a schedule gives at `step`, what another callable returns, and anything else itself."""
    if isinstance(hyperparameter, LearningRateSchedule):
        return hyperparameter(step)
    if callable(hyperparameter) and not isinstance(hyperparameter, Value):
        return hyperparameter()
    return hyperparameter


def _recorded_gradients(loss: Any, var_list: Any, grad_loss: Any) -> list[tuple[Any, Any]]:
    """Gradients of what a callable computes."""
    known = var_list is not None and (isinstance(var_list, Value) or not callable(var_list))
    with GradientTape(watch_accessed_variables=not known) as tape:
        if known:
            tape.watch(_flat(var_list))
        value = loss()
    variables = list(tape.watched_variables()) if var_list is None else _flat(var_list)
    return list(zip(tape.gradient(value, variables, grad_loss), variables, strict=True))


def _flat(var_list: Any) -> list[Any]:
    if callable(var_list) and not isinstance(var_list, Value):
        var_list = var_list()
    return nest.flatten(var_list if isinstance(var_list, (Value, list, tuple, dict)) else list(var_list))


def _as_pairs(grads_and_vars: Iterable[Any]) -> list[Pair]:
    pairs = []
    for item in grads_and_vars:
        if not isinstance(item, (tuple, list)) or len(item) != 2:
            raise TypeError(f"`grads_and_vars` must hold (gradient, variable) pairs, got {item!r}")
        gradient, variable = item
        if not isinstance(variable, Variable):
            raise TypeError(f"`grads_and_vars` must hold (gradient, variable) pairs, but {variable!r} is no variable")
        pairs.append((gradient, variable))
    return pairs


def require_gradient(pairs: Sequence[tuple[Any, Any]], loss: Any) -> None:
    """Raise ValueError unless one of the gradients exists."""
    if all(gradient is None for gradient, _ in pairs):
        raise ValueError(
            f"No gradients provided for any variable, check your graph for ops that do not support gradients, between "
            f"variables {[str(v) for _, v in pairs]} and loss {loss}."
        )


def _whole(value: Any, before: Any) -> Any:
    """A new value as a whole, also where it consists of rows."""
    return replaced(before, value) if isinstance(value, IndexedSlices) else value


def _require_fit(value: Any, variable: Variable, what: str) -> None:
    want = shape_of(variable)
    if isinstance(value, IndexedSlices):
        value, want = value.values, None if want is None else (None, *want[1:])
    have = shape_of(value)
    if not compatible(have, want):
        raise ShapeError(
            f"{what} variable {variable.name!r} must have the variable's shape {format_shape(want)}, got "
            f"{format_shape(have)}; no variable was changed"
        )
    if dtype_of(value) is not variable.dtype:
        raise DTypeError(
            f"{what} variable {variable.name!r} must have the variable's dtype {variable.dtype.name}, got "
            f"{dtype_of(value).name} (cast it with tf.cast); no variable was changed"
        )


def _required(global_step: Any) -> Variable:
    if not isinstance(global_step, Variable):
        raise TypeError(f"`global_step` must be a variable, got {type(global_step).__name__}")
    return global_step


def _filled(variable: Variable, fill: float) -> Any:
    """The initial value of a slot."""
    shape = shape_of(variable)
    if shape is None or None in shape:
        return ones_like(variable.initialized_value()) * fill  # type: ignore[attr-defined]
    return np.full(shape, fill, variable.dtype.numpy)


def _label(x: Any) -> str:
    return getattr(x, "name", None) or repr(x)
