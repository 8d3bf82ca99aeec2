"""The base of all optimizers, with TensorFlow 1's methods.

An algorithm is one pure function of values, made of engine ops:

    ``update(gradient, value, slots, hyper, state) -> (new value, new slots)``

`slots` and the result's second item are dicts of the values that the algorithm keeps for each variable; `hyper` holds
the hyperparameters as attributes, as scalars of the variable's dtype; `state` what is kept for all variables together,
such as the number of steps done before (`state.iterations`). The base class reads the variables, applies the function
to each, and only then assigns. So one function serves eager variables and graphs, to the bit, and whatever goes wrong,
goes wrong before anything has changed.

A gradient that is zero but for some rows (`IndexedSlices`) takes the same way: these rows of variable and slots are
gathered, the function is applied to them, and they are assigned. A step then costs what its rows cost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from dualgrad.platform.replicas import aggregated, current
from engine.core.dtypes import FLOATING, DType
from engine.core.eager import EagerTensor
from engine.core.operands import Operand
from engine.core.tape import active
from engine.core.trace import Symbol
from engine.core.value import Value, as_array
from engine.core.variable import Variable, tracked_value
from engine.ops.compare import cast
from engine.ops.gather import gather
from engine.ops.indexed_slices import IndexedSlices
from engine.runtime.cache import Cache
from engine.runtime.commit import exclusively
from engine.transforms.symbolic import gradients
from optim.callables import evaluated, flat, recorded_gradients
from optim.closed_step import MOST_STEPS, ClosedStep, Hypers, computed, step_for
from optim.pairs import (
    Change,
    Pair,
    Pairs,
    as_gradient,
    as_pairs,
    label,
    require_fit,
    require_gradient,
    require_number,
    require_result,
    required,
    those_with_gradient,
    warn_of_repeated,
    whole,
)
from optim.protocols import UserProtocol, user_step, written_by_users
from optim.schedules import LearningRateSchedule
from optim.slots import MAKING, Done, Slots, Stateful, as_step, assign_all, filled, locks_of

_VERSION_1 = {"_lr": "learning_rate", "_beta1": "beta_1", "_beta2": "beta_2"}


class Optimizer(Stateful, UserProtocol):
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
    ...     def update(gradient, value, slots, hyper, state):
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
    """Whether `update` uses ``state.iterations`` (which otherwise is there only if a schedule needs it)."""
    decided_by: ClassVar[tuple[str, ...]] = ()
    """The attributes besides hyperparameters that decide what a new value is."""
    accepts: ClassVar[frozenset[DType]] = FLOATING
    """The dtypes of variables it can update."""
    _slots_at_first: ClassVar[dict[str, float]] = {}

    def __init__(self, use_locking: bool, name: str) -> None:
        if not name:
            raise ValueError("Must specify the optimizer name")
        self._name, self._use_locking = name, use_locking
        self._slots = Slots()
        self._counters = Slots()
        self._steps: Cache[Any, ClosedStep] = Cache(
            "steps of optimizers", MOST_STEPS, key="the optimizer; variables, kinds of gradients, slots"
        )

    @classmethod
    def version_1(cls, name: str) -> str:
        """The hyperparameter that an attribute of TensorFlow 1's optimizers holds; empty if it is none."""
        public = _VERSION_1.get(name, name[1:])
        return public if name[:1] == "_" and public in cls.hyperparameters else ""

    def __setattr__(self, name: str, value: Any) -> None:
        public = self.version_1(name) or name
        over = getattr(type(self), public, None)
        if isinstance(over, property):
            # what a program's subclass makes a property of reads the attributes that TensorFlow 1 has
            own = {k for k in ("_lr", f"_{public}") if self.version_1(k) == public} if over.fset is None else ()
            vars(self).update(dict.fromkeys(own, value))
            public = name
            if own:
                return
        super().__setattr__(public, value)

    def __getattr__(self, name: str) -> Any:
        if public := self.version_1(name):
            return getattr(self, public)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _facts_(self) -> dict[str, Any]:
        # a user's subclass may set an attribute when it likes; a tensor's contents are left alone
        values = {n: getattr(self, f"_{n}", getattr(self, n, None)) for n in self.hyperparameters}
        plain = (bool, int, float, str, type(None), LearningRateSchedule)
        return {n: repr(v) if isinstance(v, plain) else type(v).__name__ for n, v in values.items()}

    # ---- the algorithm -----------------------------------------------------------------------------------------------

    @staticmethod
    def update(
        gradient: Any, value: Any, slots: dict[str, Any], hyper: SimpleNamespace, state: SimpleNamespace
    ) -> tuple[Any, dict[str, Any]]:
        """The new value of a variable and the new values of its slots."""
        raise NotImplementedError("an optimizer must define `update`")

    def initial_slots(self) -> dict[str, float]:
        """The slots that `update` keeps for each variable, and what they are filled with at first."""
        return dict(self._slots_at_first)

    def hyper_for(self, variable: Variable, hyper: SimpleNamespace) -> SimpleNamespace:
        """The hyperparameters for one variable: those of its dtype."""
        return hyper

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
            GATE_NONE, GATE_OP or GATE_GRAPH. All three give what the strictest promises: every gradient is computed
            from the variables as they were before the step (``docs/updates.md``).
        aggregation_method : int, optional
            An `AggregationMethod`: in which order the contributions of several uses of a value are added up.
        colocate_gradients_with_ops : bool
            Has nothing to do: there is one device.
        grad_loss : tensor, optional
            Cotangent of `loss`, by default ones.
        tape : GradientTape, optional
            Which recorded `loss`.

        Returns
        -------
        list of (gradient or None, variable)
            None where the loss does not depend on the variable; ``tf.explain(loss, variable)`` says why.

        Raises
        ------
        ValueError
            If there are no variables, or the dtype of the loss or of a variable has no gradient.
        RuntimeError
            If an eager tensor is given without a tape.
        """
        return self._gradients(
            loss, var_list, gate_gradients, aggregation_method, colocate_gradients_with_ops, grad_loss, tape
        )

    def _gradients(
        self,
        loss: Any,
        var_list: Any = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: Any = None,
        tape: Any = None,
        deferred: bool = False,
    ) -> list[tuple[Any, Any]]:
        """The same; gradients may be `deferred`, to be computed when they are applied (`DeferredArray`)."""
        if gate_gradients not in (self.GATE_NONE, self.GATE_OP, self.GATE_GRAPH):
            raise ValueError(
                f"gate_gradients must be one of: Optimizer.GATE_NONE, Optimizer.GATE_OP, Optimizer.GATE_GRAPH.  "
                f"Not {gate_gradients}"
            )
        if callable(loss) and not isinstance(loss, Value):
            return recorded_gradients(loss, var_list, grad_loss, aggregation_method, deferred)
        if tape is not None:
            variables = flat(var_list) if var_list is not None else list(tape.watched_variables())
            gradients = tape.gradient(loss, variables, grad_loss, aggregation_method=aggregation_method)
            return list(zip(gradients, variables, strict=True))
        if not isinstance(loss, Value) or not isinstance(tracked_value(loss), Symbol):
            raise RuntimeError(
                "`loss` passed to Optimizer.compute_gradients should be a function when eager execution is enabled "
                "(or give the `tape` that recorded it)."
            )
        return self._graph_gradients(loss, var_list, grad_loss, aggregation_method)

    def _graph_gradients(
        self, loss: Any, var_list: Any, grad_loss: Any, aggregation_method: Any
    ) -> list[tuple[Any, Any]]:
        self._require_dtype(loss)
        if isinstance(grad_loss, Value):
            self._require_dtype(grad_loss)
        graph = tracked_value(loss).trace
        variables = flat(var_list) if var_list is not None else graph.trainable_variables()
        if not variables:
            raise ValueError("No variables to optimize.")
        with graph.name_scope("gradients"):
            of_variables = gradients(loss, variables, grad_loss, aggregation_method=aggregation_method)
        pairs = list(zip(of_variables, variables, strict=True))
        for gradient, variable in pairs:
            if gradient is not None:
                self._require_dtype(variable)
        return pairs

    def _require_dtype(self, x: Any) -> None:
        if x.dtype not in self.accepts:
            expected = ", ".join(sorted(d.name for d in self.accepts))
            raise ValueError(f"Invalid type {x.dtype!r} for {label(x)}, expected one of: {expected}.")

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
    ) -> Done:
        """Compute gradients and apply them; for the parameters see `compute_gradients` and `apply_gradients`.

        Returns
        -------
        operation or None
            In a graph the operation that makes a step; None if the step has been made.

        Raises
        ------
        ValueError
            If the loss depends on none of the variables (of each it is said why), and where the two methods raise.
            If it depends on some of them, the others stay as they are.
        """
        pairs = self._to_apply()(
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
    ) -> Done:
        """Make a step along given gradients, the second half of `minimize`.

        Parameters
        ----------
        grads_and_vars : iterable of (gradient or None, variable)
            Variables without gradient stay as they are. Lists and arrays take the variable's dtype. A variable that is
            given twice makes two steps, as in TensorFlow, with a warning.
        global_step : variable, optional
            To be incremented by one.
        name : str, optional
            Of the operation, by default the optimizer's.
        skip_gradients_aggregation : bool
            Whether the gradients are left alone in a replica of ``tf.distribute.MultiWorkerMirroredStrategy``; else
            those of all replicas are added up.

        Returns
        -------
        operation or None
            In a graph the operation that makes a step; None if the step has been made.

        Raises
        ------
        ValueError
            If all gradients are None (of each variable it is said why, see `explain`), or one has not its variable's
            shape or dtype. No variable is changed then.
        TypeError
            If something is not a variable.
        NotImplementedError
            In a replica of several, if a transform leaves out steps.
        """
        pairs = as_pairs(grads_and_vars)
        if not pairs:
            raise ValueError("No variables provided.")
        if current.workers is not None and not skip_gradients_aggregation:
            if pairs.when is not None:
                raise NotImplementedError(
                    "apply_gradients: a transform leaves out steps by what one replica sees; with several workers do "
                    "without it, such as loss scaling"
                )
            pairs = Pairs(aggregated(pairs, current.workers), pairs.changes)
        return self._step(pairs, global_step, name)

    def _step(self, pairs: Pairs, global_step: Any, name: str | None) -> Done:
        return as_step(pairs[0][1], self._step_unrecorded, pairs, global_step, name)

    def _step_unrecorded(self, pairs: Pairs, global_step: Any, name: str | None) -> Done:
        ready = those_with_gradient(pairs)
        # a function that is recorded sees the ops
        eager = active.function is None
        closed = step_for(self, ready) if eager else None
        if closed is None:
            ready = computed(ready)
            warn_of_repeated([v for _, v in ready])
            ready = [(self._checked_gradient(g, v), v) for g, v in ready]
        shared, slots = exclusively(MAKING, self.create_slots, [v for _, v in ready[: None if closed is None else 1]])
        if closed is None:
            self.restored()
        counters = [] if global_step is None else [required(global_step)]
        update = written_by_users(self)
        if update is not None:
            return user_step(self, update, ready, shared, counters, pairs, name or self._name)
        if closed is None and eager:
            closed = step_for(self, ready, make=True)

        def step() -> Done:
            if pairs.is_put_off:
                return assign_all(pairs.changes, name or self._name)
            read = {n: v.read_value() for n, v in shared.items()}
            state, processed = SimpleNamespace(**read), self._processed(ready)
            hyper_of = self._hypers(state)
            others = [(shared[n], new) for n, new in self.advanced(read).items()]
            others += [(each, each.read_value() + 1) for each in counters]
            if closed is not None:
                closed.run(self, processed, hyper_of, state, [*others, *pairs.changes])
                return None
            changes = [*self._changes(processed, state, hyper_of), *others]
            return assign_all([*pairs.if_due(changes), *pairs.changes], name or self._name)

        others = [*counters, *shared.values(), *[v for v, _ in pairs.changes], *self.follows()]
        if closed is not None:
            return exclusively(closed.locks(others), step)
        return exclusively(locks_of([*others, *[v for _, v in ready], *slots]), step)

    def create_slots(self, variables: Sequence[Variable]) -> tuple[dict[str, Variable], list[Variable]]:
        """Make, unless they are there, what is kept for all variables together, and the slots of some."""
        return self._shared(variables[0]), [s for v in variables for s in self._slots_of(v).values()]

    def _updated_by_rule(self, grad: Any, var: Variable, method: str) -> Done:
        if type(self).update is Optimizer.update:
            return super()._updated_by_rule(grad, var, method)
        shared, _ = self.create_slots([var])
        state = SimpleNamespace(**{n: v.read_value() for n, v in shared.items()})
        pairs = [(self._taken(as_gradient(grad, var)), var)]
        return assign_all(self._changes(pairs, state, self._hypers(state)), self._name)

    def follows(self) -> Sequence[Variable]:
        """Variables that a step changes besides those with gradients and their slots."""
        return ()

    def _changes(self, pairs: Sequence[Pair], state: SimpleNamespace, hyper_of: Hypers) -> list[Change]:
        """Each variable and slot with its new value, computed op by op. A variable given twice makes two steps."""
        pending: dict[int, Change] = {}

        def current(variable: Variable) -> Operand:
            changed = pending.get(id(variable.handle))
            return variable.read_value() if changed is None else whole(changed[1], variable.read_value())

        def change(variable: Variable, value: Any) -> None:
            again = id(variable.handle) in pending
            pending[id(variable.handle)] = (variable, whole(value, current(variable)) if again else value)

        for gradient, variable in pairs:
            slots = self._slots_of(variable)
            kept = {n: current(s) for n, s in slots.items()}
            value, new = self._updated(gradient, current(variable), kept, hyper_of(variable), state)
            constraint = getattr(variable, "constraint", None)
            if constraint is not None:
                value = constraint(whole(value, current(variable)))
            change(variable, value)
            for name, slot_value in new.items():
                change(slots[name], slot_value)
        for variable, value in pending.values():
            require_fit(value, variable, "the new value computed for")
        return self._followed([*pending.values()], state, lambda v: v.read_value())

    def _followed(self, changes: list[Change], state: SimpleNamespace, read: Callable[[Variable], Any]) -> list[Change]:
        """Changes, and those of variables that follow; ``read(variable)`` is a value before the step."""
        return changes

    def _to_apply(self) -> Callable[..., list[tuple[Any, Any]]]:
        """The function that computes gradients for `minimize`: if nobody else sees them, some when they are applied."""
        own = all(
            getattr(getattr(self, name), "__func__", None) is getattr(Optimizer, name)
            for name in ("compute_gradients", "apply_gradients")
        )
        if own and self._takes_deferred() and any(step.has_large for step in self._steps.values()):
            return partial(self._gradients, deferred=True)
        return self.compute_gradients

    def _takes_deferred(self) -> bool:
        """Whether gradients are used as they come, and only to update their variables."""
        return True

    def _processed(self, pairs: Sequence[Pair]) -> Sequence[Pair]:
        """The gradients that the updates shall use."""
        return pairs

    def _updated(
        self, gradient: Any, value: Any, slots: dict[str, Any], hyper: SimpleNamespace, state: SimpleNamespace
    ) -> tuple[Any, dict[str, Any]]:
        """New values for variable and slots, or for the rows of them that the gradient consists of."""
        if not isinstance(gradient, IndexedSlices):
            return self._new_values(gradient, value, slots, hyper, state)
        kept = {n: gather(x, gradient.indices) for n, x in slots.items()}
        value, new = self._new_values(gradient.values, gather(value, gradient.indices), kept, hyper, state)
        return gradient.with_values(value), {n: gradient.with_values(x) for n, x in new.items()}

    def _new_values(
        self, gradient: Any, value: Any, slots: dict[str, Any], hyper: SimpleNamespace, state: SimpleNamespace
    ) -> tuple[Any, dict[str, Any]]:
        return require_result(self.update(gradient, value, slots, hyper, state), slots, type(self).__name__)

    def _checked_gradient(self, gradient: Any, variable: Variable) -> Operand | IndexedSlices:
        """The gradient as a value of the variable's shape and dtype, or as distinct rows of one."""
        self._require_dtype(variable)
        checked = as_gradient(gradient, variable)
        if isinstance(checked, IndexedSlices) and written_by_users(self) is not None:
            return checked.summed()
        return self._taken(checked)

    def _taken(self, gradient: Operand | IndexedSlices) -> Operand | IndexedSlices:
        """A gradient as `update` takes it: rows as distinct rows, or as the whole."""
        if not isinstance(gradient, IndexedSlices):
            return gradient
        return gradient.summed() if self.takes_rows() else gradient.dense()

    # ---- hyperparameters ---------------------------------------------------------------------------------------------

    def _hypers(self, state: SimpleNamespace) -> Hypers:
        """The hyperparameters of a step by variable."""
        of_dtype: dict[DType, SimpleNamespace] = {}

        def hyper_of(variable: Variable) -> SimpleNamespace:
            dtype = variable.dtype
            if dtype not in of_dtype:
                of_dtype[dtype] = self._hyper(dtype, state)
            return self.hyper_for(variable, of_dtype[dtype])

        return hyper_of

    def _hyper(self, dtype: DType, state: SimpleNamespace) -> SimpleNamespace:
        step = getattr(state, "iterations", None)
        return SimpleNamespace(**{n: self._in_dtype(n, self._current(n, step), dtype) for n in self.hyperparameters})

    def _current(self, name: str, step: Any) -> Any:
        """A hyperparameter as it is now."""
        return evaluated(getattr(self, name), step)

    def _in_dtype(self, name: str, x: Any, dtype: DType) -> Any:
        """A hyperparameter as a scalar of the given dtype; flags stay what they are.

        Python numbers are float32 first, whatever the variable is: so it is in TensorFlow 1, and mostly in Keras.
        """
        if isinstance(x, bool) and name != "learning_rate":
            return x
        is_value = isinstance(x, Value)
        value = x.read_value() if isinstance(x, Variable) else x if is_value else np.asarray(as_array(x, None, name))
        require_number(value, name, dtype)
        return cast(value, dtype) if is_value else EagerTensor(cast(value, dtype))

    # ---- state -------------------------------------------------------------------------------------------------------

    def _slots_of(self, variable: Variable) -> dict[str, Variable]:
        return {
            name: self._slots.create(variable, name, partial(filled, number=fill), self._slot_label(name))
            for name, fill in self.initial_slots().items()
        }

    def _slot_label(self, name: str) -> str:
        """The end of the names of slot variables: in TensorFlow 1 the optimizer's name."""
        return self._name

    def shared_state(self) -> dict[str, Any]:
        """The state kept for all variables together, as it is at first: the number of steps, if they are counted."""
        follows = any(isinstance(getattr(self, n), LearningRateSchedule) for n in self.hyperparameters)
        return {"iterations": np.int64(0)} if self.counts_steps or follows else {}

    def advanced(self, state: dict[str, Any]) -> dict[str, Any]:
        """The state kept for all variables together, after a step."""
        return {name: value + 1 for name, value in state.items()}

    def _shared(self, first: Variable) -> dict[str, Variable]:
        """The variables of `shared_state`: one set for each graph, and one for eager variables."""
        return {n: self._counters.shared(first, n, start) for n, start in self.shared_state().items()}

    def get_slot(self, var: Variable, name: str) -> Variable | None:
        """The variable that keeps the state called `name` for `var`, None if there is none (yet)."""
        return self._slots.get(var, name)

    def get_slot_names(self) -> list[str]:
        """The names of what is kept for each variable so far."""
        return self._slots.names()

    def variables(self) -> list[Variable]:
        """All variables that the optimizer made so far, by name; in a graph those of this graph."""
        made = [*self.kept_together(), *[slot for *_, slot in self.kept_slots()]]
        here = [v for v in made if not isinstance(v.handle, Symbol) or v.handle.trace.is_current]
        return sorted(here, key=lambda v: str(v.name))

    def get_name(self) -> str:
        """The name given."""
        return self._name
