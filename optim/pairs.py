"""(gradient, variable) pairs: what `compute_gradients` gives, transforms change and `apply_gradients` takes."""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, SupportsFloat

from engine.core.aval import Shape, compatible, format_shape, is_known
from engine.core.detach import user_frame
from engine.core.dtypes import DType
from engine.core.eager import EagerTensor
from engine.core.operands import Operand
from engine.core.unconnected import reasons
from engine.core.value import Value, as_array, dtype_of, shape_of
from engine.core.variable import Variable
from engine.ops.checked import shaped_op
from engine.ops.compare import logical_and, where
from engine.ops.gather import gather
from engine.ops.indexed_slices import IndexedSlices
from engine.ops.row_assignment import replaced
from engine.runtime.errors import DTypeError, ShapeError

Pair = tuple[Any, Variable]
Change = tuple[Variable, Any]
Rate = SupportsFloat | Value | Variable | Callable[..., Any]
"""A learning rate: a number, tensor or variable, a schedule, or another function that gives one."""


class Pairs(list[Pair]):
    """Pairs, and what a step along them does besides.

    Parameters
    ----------
    pairs : iterable of (gradient or None, variable)
    changes : sequence of (variable, new value)
        What transforms keep; it changes in the same moment as the variables.
    when : scalar bool value, optional
        Whether the step changes the variables and what the optimizer keeps. The `changes` are made in any case.
    """

    def __init__(self, pairs: Iterable[Pair], changes: Sequence[Change] = (), when: Any = None) -> None:
        super().__init__(pairs)
        self.changes, self.when = list(changes), when

    def then(self, pairs: Iterable[Pair], changes: Sequence[Change] = (), when: Any = None) -> Pairs:
        """The pairs that a further transform makes of these: its changes are made only when these pairs are a step."""
        both = when if self.when is None or when is None else logical_and(self.when, when)
        return Pairs(pairs, [*self.changes, *self.if_due(changes)], self.when if both is None else both)

    def if_due(self, changes: Sequence[Change]) -> list[Change]:
        """Changes that are made only when these pairs are a step."""
        if self.when is None:
            return list(changes)
        if isinstance(self.when, EagerTensor):
            return list(changes) if bool(self.when) else []
        return [(v, _chosen(self.when, new, v.read_value())) for v, new in changes]

    @property
    def is_put_off(self) -> bool:
        """Whether it is known that these pairs are no step: on eager variables it is."""
        return isinstance(self.when, EagerTensor) and not bool(self.when)


def _chosen(when: Any, new: Any, old: Any) -> Operand | IndexedSlices:
    if isinstance(new, IndexedSlices):
        return new.with_values(where(when, new.values, gather(old, new.indices)))
    return where(when, new, old)


def as_pairs(grads_and_vars: Iterable[Any]) -> Pairs:
    """Checked pairs; what transforms have noted stays.

    Raises
    ------
    TypeError
        If an item is no pair, or its second part no variable.
    """
    pairs = []
    for item in grads_and_vars:
        if not isinstance(item, (tuple, list)) or len(item) != 2:
            raise TypeError(f"`grads_and_vars` must hold (gradient, variable) pairs, got {item!r}")
        gradient, variable = item
        if not isinstance(variable, Variable):
            raise TypeError(f"`grads_and_vars` must hold (gradient, variable) pairs, but {variable!r} is no variable")
        pairs.append((gradient, variable))
    return Pairs(pairs, getattr(grads_and_vars, "changes", ()), getattr(grads_and_vars, "when", None))


def require_gradient(pairs: Sequence[tuple[Any, Any]], loss: Any) -> None:
    """Raise ValueError, which says of each variable why, unless one of the gradients exists."""
    if all(gradient is None for gradient, _ in pairs):
        raise ValueError(
            f"No gradients provided for any variable, check your graph for ops that do not support gradients, between "
            f"variables {[str(v) for _, v in pairs]} and loss {loss}.{reasons([v for _, v in pairs])}"
        )


def those_with_gradient(pairs: Sequence[Pair]) -> list[Pair]:
    """The pairs whose gradient is not None; a ValueError that says of each variable why, if there is none."""
    ready = [pair for pair in pairs if pair[0] is not None]
    if not ready:
        variables = [v for _, v in pairs]
        raise ValueError(f"No gradients provided for any variable: {[str(v) for v in variables]}.{reasons(variables)}")
    return ready


def warn_of_repeated(variables: Sequence[Variable]) -> None:
    """Warn of variables that are given twice, by name."""
    times = Counter([id(v.handle) for v in variables])
    if len(times) < len(variables):
        names = dict.fromkeys(v.name for v in variables if times[id(v.handle)] > 1)
        user = user_frame(sys._getframe(1))
        warnings.warn_explicit(
            f"apply_gradients: {', '.join(names)} {'is' if len(names) == 1 else 'are'} given more than once and will "
            f"make a step each time, as in TensorFlow; give each variable once, with the sum of its gradients",
            UserWarning,
            user.f_code.co_filename,
            user.f_lineno,
        )


def whole(value: Any, before: Any) -> Operand:
    """A new value as a whole, also where it consists of rows."""
    return replaced(before, value) if isinstance(value, IndexedSlices) else value


def of_rows(function: Callable[[Any], Any], gradient: Any, hyper: SimpleNamespace) -> Operand:
    """``function(gradient)``; where the gradient came as rows (`KerasOptimizer`), the sum of what it gives for each.

    Rows of equal index are then not added up before they are squared: so it is in Keras 3.
    """
    each = getattr(hyper, "each_row", None)
    return function(gradient) if each is None else each(function)


def as_gradient(gradient: Any, variable: Variable) -> Operand | IndexedSlices:
    """A gradient as a value, or as rows of its variable.

    Raises
    ------
    ShapeError, DTypeError
        If it is not of its variable's shape and dtype. A shape that only a run knows is examined in the run.
    """
    if isinstance(gradient, IndexedSlices):
        return gradient.with_values(_fitting(gradient, gradient.values, variable), like=variable)
    if isinstance(gradient, Variable):
        gradient = gradient.read_value()
    elif hasattr(gradient, "as_value"):
        gradient = gradient.as_value()
    elif not isinstance(gradient, Value):
        gradient = EagerTensor(as_array(gradient, variable.dtype, f"the gradient of variable {variable.name!r}"))
    return _fitting(gradient, gradient, variable)


def _fitting(gradient: Any, values: Any, variable: Variable) -> Operand:
    """The values of a gradient, which are examined when they are there."""
    what = "the gradient of"
    require_fit(gradient, variable, what)
    want = _wanted(gradient, variable)
    if want is None or is_known(shape_of(values)):
        return values
    return shaped_op(values, shape=want, message=_must_fit(what, variable))


def _wanted(value: Any, variable: Variable) -> Shape:
    """The shape that a value, or the rows of one, must have to be a variable's."""
    whole = shape_of(variable)
    return (None, *whole[1:]) if whole and isinstance(value, IndexedSlices) else whole


def _must_fit(what: str, variable: Variable) -> str:
    return f"{what} variable {variable.name!r} must have the variable's shape"


def require_fit(value: Any, variable: Variable, what: str) -> None:
    """Raise ShapeError or DTypeError, saying `what` it is, unless a value or its rows can be the variable's."""
    want = _wanted(value, variable)
    if isinstance(value, IndexedSlices):
        count, at = shape_of(value.values), shape_of(value.indices)
        value = value.values
        if at is not None and (len(at) != 1 or not compatible(count and count[:1], at)):
            raise ShapeError(
                f"{what} variable {variable.name!r} must have a row for each index, got rows of shape "
                f"{format_shape(count)} and indices of shape {format_shape(at)}; no variable was changed"
            )
    have = shape_of(value)
    if not compatible(have, want):
        raise ShapeError(
            f"{_must_fit(what, variable)} {format_shape(want)}, got {format_shape(have)}; no variable was changed"
        )
    if dtype_of(value) is not variable.dtype:
        raise DTypeError(
            f"{what} variable {variable.name!r} must have the variable's dtype {variable.dtype.name}, got "
            f"{dtype_of(value).name} (cast it with tf.cast); no variable was changed"
        )


def require_number(x: Any, name: str, dtype: DType) -> None:
    """Raise ShapeError or DTypeError unless a hyperparameter can be a number of a dtype."""
    shape, kind = shape_of(x), dtype_of(x)
    if shape not in (None, ()):
        raise ShapeError(
            f"argument `{name}` of the optimizer must be one number, got shape {format_shape(shape)} (to scale "
            f"elements apart, multiply the gradients); no variable was changed"
        )
    if not (kind.is_floating or kind.is_integer or (kind.is_complex and dtype.is_complex)):
        raise DTypeError(
            f"argument `{name}` of the optimizer must be a number for variables of dtype {dtype.name}, got dtype "
            f"{kind.name}; no variable was changed"
        )


def require_result(result: Any, slots: Mapping[str, Any], name: str) -> tuple[Any, dict[str, Any]]:
    """Check the result of an optimizer's `update`; the error says what it should have returned."""
    if not (isinstance(result, tuple) and len(result) == 2 and result[0] is not None and isinstance(result[1], dict)):
        raise TypeError(
            f"{name}.update must return the new value and a dict of new slots, got {result!r}; no variable was changed"
        )
    if unknown := result[1].keys() - slots.keys():
        raise ValueError(
            f"{name}.update has returned the slots {sorted(unknown)}, which initial_slots does not name (it names "
            f"{sorted(slots)}); no variable was changed"
        )
    return result


def required(global_step: Any) -> Variable:
    """The variable that counts steps, or a TypeError."""
    if not isinstance(global_step, Variable):
        raise TypeError(f"`global_step` must be a variable, got {type(global_step).__name__}")
    return global_step


def label(x: Any) -> str:
    """The name of a value in an error."""
    return getattr(x, "name", None) or repr(x)
