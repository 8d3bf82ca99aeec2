"""``tf.contrib.framework``: variables of models, by scope and by name; `arg_scope`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dualgrad.extras import structures as nest
from graph_api.control_flow.assertions import is_tensor
from graph_api.convert import placeholder
from graph_api.graphs.graph import get_default_graph
from graph_api.graphs.graph_keys import GraphKeys
from graph_api.graphs.scopes import get_variable
from graph_api.graphs.variable import Variable
from graph_api.legacy.slim.arg_scope import (
    add_arg_scope,
    arg_scope,
    arg_scoped_arguments,
    current_arg_scope,
    has_arg_scope,
)
from graph_api.training import create_global_step, get_global_step, get_or_create_global_step


@add_arg_scope
def variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = True,
    collections: Sequence[str] | None = None,
    caching_device: Any = None,
    device: Any = None,
    partitioner: Any = None,
    custom_getter: Any = None,
    use_resource: Any = None,
) -> Variable:
    """`tf.get_variable`, in further collections."""
    wanted = list(dict.fromkeys([*(collections or []), GraphKeys.GLOBAL_VARIABLES]))
    return get_variable(
        name, shape, dtype, initializer, regularizer, trainable, wanted,
        partitioner=partitioner, custom_getter=custom_getter,
    )  # fmt: skip


@add_arg_scope
def model_variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = True,
    collections: Sequence[str] | None = None,
    caching_device: Any = None,
    device: Any = None,
    partitioner: Any = None,
    custom_getter: Any = None,
    use_resource: Any = None,
) -> Variable:
    """A variable that is also in the collection MODEL_VARIABLES."""
    wanted = [*(collections or []), GraphKeys.GLOBAL_VARIABLES, GraphKeys.MODEL_VARIABLES]
    return variable(
        name, shape, dtype, initializer, regularizer, trainable, wanted,
        partitioner=partitioner, custom_getter=custom_getter,
    )  # fmt: skip


def local_variable(initial_value: Any, validate_shape: bool = True, name: str | None = None) -> Variable:
    """A variable in the collection LOCAL_VARIABLES, which is not trained."""
    where = [GraphKeys.LOCAL_VARIABLES]
    return Variable(initial_value, trainable=False, collections=where, validate_shape=validate_shape, name=name)


def get_variables(
    scope: Any = None, suffix: str | None = None, collection: str = GraphKeys.GLOBAL_VARIABLES
) -> list[Any]:
    """The variables of a collection whose names begin with `scope` and end in `suffix`."""
    prefix = getattr(scope, "name", scope)
    variables = get_default_graph().get_collection(collection, prefix)
    return [v for v in variables if suffix is None or v.op.name.endswith(suffix)]


def get_model_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """`get_variables` of the collection MODEL_VARIABLES."""
    return get_variables(scope, suffix, GraphKeys.MODEL_VARIABLES)


def get_local_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """`get_variables` of the collection LOCAL_VARIABLES."""
    return get_variables(scope, suffix, GraphKeys.LOCAL_VARIABLES)


def get_trainable_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """`get_variables` of the collection TRAINABLE_VARIABLES."""
    return get_variables(scope, suffix, GraphKeys.TRAINABLE_VARIABLES)


def get_variables_by_name(given_name: str, scope: Any = None) -> list[Any]:
    """The variables of that name, in any scope below `scope`."""
    variables = get_variables(scope)
    return [v for v in variables if v.op.name == given_name or v.op.name.endswith(f"/{given_name}")]


def get_variables_by_suffix(suffix: str, scope: Any = None) -> list[Any]:
    """The variables whose names end in `suffix`."""
    return get_variables(scope, suffix)


def get_unique_variable(var_op_name: str) -> Variable:
    """The variable of exactly that name.

    Raises
    ------
    ValueError
        If there is none.
    """
    for candidate in get_variables(var_op_name):
        if candidate.op.name == var_op_name:
            return candidate
    raise ValueError(f"Variable {var_op_name} does not uniquely identify a variable")


def filter_variables(
    var_list: Sequence[Any],
    include_patterns: Sequence[str] | None = None,
    exclude_patterns: Sequence[str] | None = None,
    reg_search: bool = True,
) -> list[Any]:
    """The variables whose names match one of the patterns to include, and none of those to exclude."""
    match = re.search if reg_search else re.match

    def fits(v: Any, patterns: Sequence[str]) -> bool:
        return any(match(p, v.op.name) for p in patterns)

    return [
        v
        for v in var_list
        if (not include_patterns or fits(v, include_patterns)) and not fits(v, exclude_patterns or ())
    ]


def get_variables_to_restore(include: Sequence[str] | None = None, exclude: Sequence[str] | None = None) -> list[Any]:
    """The variables of the scopes to include (all by default), without those of the scopes to exclude."""
    variables = get_variables() if include is None else [v for scope in include for v in get_variables(scope)]
    left_out = {id(v) for scope in exclude or () for v in get_variables(scope)}
    return [v for v in dict.fromkeys(variables) if id(v) not in left_out]


def assign_from_values(var_names_to_values: Mapping[str, Any]) -> tuple[Any, dict[Any, Any]]:
    """An operation that sets variables to values, and what to feed when it is run.

    Parameters
    ----------
    var_names_to_values : dict of str to array

    Raises
    ------
    ValueError
        If a variable does not exist, or its shape is another.
    """
    feeds: dict[Any, Any] = {}
    operations = []
    for name, value in var_names_to_values.items():
        target, array = get_unique_variable(name), np.asarray(value)
        if not target.shape.is_compatible_with(array.shape):
            raise ValueError(f"assign_from_values: variable {name} has shape {target.shape}, the value {array.shape}")
        fed = placeholder(target.dtype, array.shape)
        operations.append(target.assign(fed).op)
        feeds[fed] = array
    return get_default_graph().group(operations), feeds


def assign_from_values_fn(var_names_to_values: Mapping[str, Any]) -> Callable[[Any], None]:
    """A function of a session that sets variables to values; see `assign_from_values`."""
    operation, feeds = assign_from_values(var_names_to_values)
    return lambda session: session.run(operation, feeds)


def assert_global_step(global_step_tensor: Any) -> None:
    """Raise unless it is an integer scalar."""
    if not global_step_tensor.dtype.is_integer or global_step_tensor.shape.as_list() != []:
        raise TypeError(f"Existing 'global_step' must be an integer scalar, got {global_step_tensor!r}")


def get_name_scope() -> str:
    """The current name scope."""
    return get_default_graph().get_name_scope()


__all__ = [
    "add_arg_scope", "arg_scope", "arg_scoped_arguments", "assert_global_step", "assign_from_values",
    "assign_from_values_fn", "create_global_step", "current_arg_scope", "filter_variables", "get_global_step",
    "get_local_variables", "get_model_variables", "get_name_scope", "get_or_create_global_step",
    "get_trainable_variables", "get_unique_variable", "get_variables", "get_variables_by_name",
    "get_variables_by_suffix", "get_variables_to_restore", "has_arg_scope", "is_tensor", "local_variable",
    "model_variable", "nest", "variable",
]  # fmt: skip
