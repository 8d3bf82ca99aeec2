"""Optimizers that users wrote for TensorFlow: classes that say what happens to one variable, and assign it themselves.

Three generations of them run unchanged. TensorFlow 1's define `_apply_dense` (`_resource_apply_dense`, `_apply_sparse`,
`_resource_apply_sparse`), with `_prepare`, `_create_slots` and `_finish` around. Keras's of TensorFlow 2.0 to 2.10
define `_resource_apply_dense` with `add_slot` and `_set_hyper`; later ones define `update_step` and `build`.

What they assign is not known beforehand. So on eager variables the variables and slots are put back as they were if
something is raised on the way.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from engine.core.eager import EagerTensor
from engine.core.operands import Operand, Operation
from engine.core.value import Value, as_array, shape_of
from engine.core.variable import Variable, assign_variable
from engine.ops.compare import cast
from engine.ops.indexed_slices import IndexedSlices
from engine.runtime.commit import exclusively
from engine.runtime.errors import InvalidArgumentError
from engine.runtime.public_names import methods_of
from optim.pairs import Change, Pair, Pairs
from optim.slots import Slots, assign_all, filled, graph_of, locks_of

Update = Callable[[Any, Variable], Any]


@methods_of("Optimizer")
class UserProtocol:
    """The methods that users' optimizers override, and those that they call.

    Those to override do nothing here, or raise NotImplementedError.
    """

    _slots: Slots
    _counters: Slots
    _name: str

    # ---- to override, TensorFlow 1 and Keras before 2.11 -------------------------------------------------------------

    def _prepare(self, *_: Any) -> None:
        """Make tensors of the hyperparameters, before each step is built."""

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        """Make what is kept for the variables."""

    def _apply_dense(self, grad: Any, var: Variable) -> Operation | Value | None:
        """Update a variable, and return the operation that does it."""
        return self._updated_by_rule(grad, var, "_apply_dense")

    def _resource_apply_dense(self, grad: Any, var: Variable, *apply_state: Any) -> Operation | Value | None:
        """The same under a later name."""
        return self._updated_by_rule(grad, var, "_resource_apply_dense")

    def _apply_sparse(self, grad: Any, var: Variable) -> Operation | Value | None:
        """Update some rows of a variable; their indices are distinct."""
        return self._updated_by_rule(grad, var, "_apply_sparse")

    def _resource_apply_sparse(
        self, grad: Any, var: Variable, indices: Any, *apply_state: Any
    ) -> Operation | Value | None:
        """The same under a later name."""
        rows = IndexedSlices(grad, indices, like=var.read_value())
        return self._updated_by_rule(rows, var, "_resource_apply_sparse")

    def _updated_by_rule(self, grad: Any, var: Variable, method: str) -> Operation | Value | None:
        """Update a variable as the class of ours does that a program's own class is derived from."""
        raise NotImplementedError(f"{type(self).__name__} does not define {method}")

    def _finish(self, update_ops: list[Any], name_scope: str) -> Operation | None:
        """One operation that runs all updates, and what comes after them."""
        trace = next((op.graph for op in update_ops if hasattr(op, "graph")), None)
        return None if trace is None else trace.group(update_ops, name_scope)

    # ---- to override, Keras from 2.11 on -----------------------------------------------------------------------------

    def update_step(self, gradient: Any, variable: Variable, learning_rate: Any = None) -> None:
        """Assign a variable its new value."""
        raise NotImplementedError(f"{type(self).__name__} does not define update_step")

    # ---- to call -----------------------------------------------------------------------------------------------------

    def _zeros_slot(self, var: Variable, slot_name: str, op_name: str) -> Variable:
        """The variable kept for a variable under a name, zeros at first."""
        return self._slots.create(var, slot_name, filled, op_name)

    def _get_or_make_slot(self, var: Variable, val: Any, slot_name: str, op_name: str) -> Variable:
        """The variable kept for a variable under a name, at first a given value."""
        return self._slots.create(var, slot_name, lambda _: val, op_name)

    def add_slot(self, var: Variable, slot_name: str, initializer: Any = "zeros", shape: Any = None) -> Variable:
        """The variable kept for a variable under a name; the initializer: a name, or a callable of shape and dtype."""

        def initial(v: Variable) -> Operand:
            if initializer in ("zeros", "ones"):
                return filled(v, initializer == "ones", shape)
            if callable(initializer):
                return initializer(shape_of(v) if shape is None else shape, v.dtype)
            return initializer

        return self._slots.create(var, slot_name, initial, slot_name)

    def add_variable_from_reference(
        self, reference_variable: Any = None, name: str | None = None, initializer: Any = "zeros", **other: Any
    ) -> Variable:
        """The variable kept for a variable; ``model_variable``, ``variable_name`` are older words for the arguments."""
        reference = other.pop("model_variable", reference_variable)
        slot_name = other.pop("variable_name", name)
        if other.get("initial_value") is not None:
            return self._get_or_make_slot(reference, other["initial_value"], slot_name, slot_name)
        return self.add_slot(reference, slot_name, initializer, other.get("shape"))

    def _create_non_slot_variable(self, initial_value: Any, name: str, colocate_with: Variable) -> Variable:
        """A variable of the optimizer itself."""
        array = as_array(initial_value)
        return self._counters.create(colocate_with, name, lambda _: array)

    def _get_non_slot_variable(self, name: str, graph: Any = None) -> Variable | None:
        """The variable of the optimizer itself that has a name."""
        counters = [v for v in self._counters.all() if v.name.removesuffix(":0").endswith(name)]
        return next((v for v in counters if graph in (None, graph_of([v]))), None)

    def _call_if_callable(self, param: Any) -> float:
        """The result of a callable, and anything else itself."""
        return param() if callable(param) and not isinstance(param, Value) else param

    def assign(self, variable: Variable, value: Any) -> Operation | Value | None:
        """Set a variable."""
        return variable.assign(value)

    def assign_add(self, variable: Any, value: Any) -> Operation | Value | None:
        """Add to a variable."""
        return variable.assign_add(value)

    def assign_sub(self, variable: Any, value: Any) -> Operation | Value | None:
        """Subtract from a variable."""
        return variable.assign_sub(value)


class KerasProtocol(UserProtocol):
    """Methods that Keras's optimizers of either generation have besides."""

    built = _built = False
    _learning_rate: Any
    _initial_decay = 0.0

    def build(self, variables: Sequence[Variable]) -> None:
        """Note the variables; classes make here what they keep for each."""
        self._trainable_variables = list(variables)
        self._index_dict = {self._var_key(v): i for i, v in enumerate(variables)}
        self.built = self._built = True

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        if not self.built:
            self.build(var_list)

    def _var_key(self, variable: Variable) -> int:
        return id(variable.handle)

    def _get_variable_index(self, variable: Variable) -> int:
        """Which of the variables that the optimizer was built for it is."""
        return self._index_dict[self._var_key(variable)]

    def _build_learning_rate(self, learning_rate: Any) -> Any:
        """The learning rate as it is kept: as it is given."""
        return learning_rate

    def _set_hyper(self, name: str, value: Any) -> None:
        """Set a hyperparameter."""
        if name == "learning_rate":
            self._learning_rate = value
        else:
            setattr(self, f"_hyper_{name}", value)

    def _get_hyper(self, name: str, dtype: Any = None) -> Any:
        """A hyperparameter, as a scalar of a dtype if one is given."""
        value = self._call_if_callable(
            self._learning_rate if name == "learning_rate" else getattr(self, f"_hyper_{name}")
        )
        return value if dtype is None else cast(value if isinstance(value, Value) else np.asarray(value), dtype)

    def _serialize_hyperparameter(self, name: str) -> Any:
        """A hyperparameter as plain Python data."""
        value = self._get_hyper(name)
        return float(value) if isinstance(value, EagerTensor) else value

    def _decayed_lr(self, var_dtype: Any) -> Operand:
        """The learning rate as it is now."""
        return cast(self.learning_rate, var_dtype)  # type: ignore[attr-defined]


def written_by_users(optimizer: UserProtocol) -> Update | None:
    """How a user's class updates one variable; None for an optimizer of ours."""
    kind = type(optimizer)
    if kind.update_step is not UserProtocol.update_step:
        return _update_step(optimizer)
    for dense, sparse in (("_apply_dense", "_apply_sparse"), ("_resource_apply_dense", "_resource_apply_sparse")):
        if getattr(kind, dense) is not getattr(UserProtocol, dense):
            return _apply(getattr(optimizer, dense), getattr(optimizer, sparse), sparse == "_apply_sparse")
    return None


def user_step(
    optimizer: Any, update: Update, pairs: Sequence[Pair], shared: dict[str, Variable], counters: Sequence[Variable],
    also: Pairs, name: str,
) -> Operation | None:  # fmt: skip
    """Let a user's class update all variables, count the step, and make the changes that transforms noted `also`.

    Returns
    -------
    operation or None
        In a graph the operation that makes the step; None if it has been made.
    """
    variables = [v for _, v in pairs]
    optimizer._create_slots(variables)
    optimizer.restored()

    def counted() -> list[Change]:
        new = optimizer.advanced({n: v.read_value() for n, v in shared.items()})
        return [*[(shared[n], x) for n, x in new.items()], *[(c, c.read_value() + 1) for c in counters]]

    optimizer._prepare(*([None] * _extra(optimizer._prepare)))
    trace = graph_of(variables)
    if trace is None:
        held = [*variables, *optimizer._slots.all(), *shared.values(), *counters]
        return exclusively(
            locks_of(held), _or_undone, held, lambda: _run(optimizer, update, pairs, counted, also, name)
        )
    if also.when is not None:
        raise InvalidArgumentError(
            f"apply_gradients: {type(optimizer).__name__} assigns variables itself, so a graph cannot leave out its "
            f"steps (accumulate, skip_nonfinite, LossScale); let it define `update` instead, see optim.Optimizer"
        )
    first = len(trace.nodes)
    updates = [update(g, v) for g, v in pairs]
    if all(op is None for op in updates):
        updates = [n.outputs[0] for n in trace.nodes[first:] if n.op is assign_variable]
    done = optimizer._finish(updates, name)
    changed = assign_all([*counted(), *also.changes], name)
    return trace.group([op for op in (done, changed) if op is not None], name)


def _run(
    optimizer: Any, update: Update, pairs: Sequence[Pair], counted: Callable[[], list[Change]], also: Pairs, name: str
) -> None:
    if not also.is_put_off:
        updates = [update(g, v) for g, v in pairs]
        optimizer._finish([op for op in updates if op is not None], name)
        assign_all(counted(), name)
    assign_all(also.changes, name)


def _or_undone(variables: Sequence[Variable], function: Callable[[], None]) -> None:
    """Call a function; if it raises, variables have their values from before."""
    before = [v.read_value() for v in variables]
    try:
        function()
    except BaseException:
        assign_all(list(zip(variables, before, strict=True)), "undo")
        raise


def _update_step(optimizer: Any) -> Update:
    takes_rate = _extra(optimizer.update_step) > 2

    def update(g: Any, v: Variable) -> Operation | Value | None:
        if takes_rate:
            return optimizer.update_step(g, v, cast(optimizer.learning_rate, v.dtype))
        return optimizer.update_step(g, v)

    return update


def _apply(dense: Callable[..., Any], sparse: Callable[..., Any], whole: bool) -> Update:
    def update(g: Any, v: Variable) -> Operation | Value | None:
        if not isinstance(g, IndexedSlices):
            return dense(g, v, *([None] * (_extra(dense) - 2)))
        g = g.summed()
        return sparse(g, v) if whole else sparse(g.values, v, g.indices, *([None] * (_extra(sparse) - 3)))

    return update


def _extra(function: Callable[..., Any]) -> int:
    """How many arguments must be given to a function by position."""
    parameters: Iterable[inspect.Parameter] = inspect.signature(function).parameters.values()
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in kinds and p.default is p.empty for p in parameters)
