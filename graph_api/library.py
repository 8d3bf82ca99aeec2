"""The functions of the graph API, made from the table in `graph_api.names` and from what is native to graphs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from dualgrad.frontend.legacy import lift_row
from dualgrad.frontend.namespace import LIFT, build, defined, place
from engine.core.eager import EagerTensor
from engine.ops import row_assignment
from graph_api import (
    control,
    initial_values,
    loss_functions,
    overrides,
    sampling,
    scans,
    tensor_array,
    training,
    variable,
)
from graph_api.convert import finish
from graph_api.names import TABLE

NATIVE: tuple[tuple[Any, str], ...] = (
    # ---- random tensors
    (sampling.uniform, "random_uniform random.uniform"),
    (sampling.normal, "random_normal random.normal"),
    (sampling.truncated_normal, "truncated_normal random.truncated_normal"),
    (sampling.gamma, "random_gamma random.gamma"),
    (sampling.poisson, "random_poisson random.poisson"),
    (sampling.multinomial, "multinomial random.multinomial"),
    (sampling.categorical, "random.categorical"),
    (sampling.shuffle, "random_shuffle random.shuffle"),
    (sampling.set_random_seed, "set_random_seed random.set_random_seed"),
    (sampling.dropout, "nn.dropout"),
    # ---- initial values
    (initial_values.Initializer, "initializers.Initializer"),
    (initial_values.zeros_initializer, "zeros_initializer initializers.zeros"),
    (initial_values.ones_initializer, "ones_initializer initializers.ones"),
    (initial_values.constant_initializer, "constant_initializer initializers.constant"),
    (initial_values.identity_initializer, "initializers.identity"),
    (initial_values.random_uniform_initializer, "random_uniform_initializer initializers.random_uniform"),
    (initial_values.random_normal_initializer, "random_normal_initializer initializers.random_normal"),
    (initial_values.truncated_normal_initializer, "truncated_normal_initializer initializers.truncated_normal"),
    (initial_values.variance_scaling_initializer, "variance_scaling_initializer initializers.variance_scaling"),
    (initial_values.glorot_uniform_initializer, "glorot_uniform_initializer initializers.glorot_uniform"),
    (initial_values.glorot_normal_initializer, "glorot_normal_initializer initializers.glorot_normal"),
    (initial_values.he_normal_initializer, "initializers.he_normal"),
    (initial_values.he_uniform_initializer, "initializers.he_uniform"),
    (
        variable.global_variables_initializer,
        "global_variables_initializer initialize_all_variables initializers.global_variables",
    ),
    (variable.variables_initializer, "variables_initializer initialize_variables initializers.variables"),
    (variable.global_variables, "global_variables all_variables"),
    (variable.is_variable_initialized, "is_variable_initialized"),
    (variable.report_uninitialized_variables, "report_uninitialized_variables"),
    (row_assignment.scatter_update, "scatter_update"),
    (row_assignment.scatter_add, "scatter_add"),
    (row_assignment.scatter_sub, "scatter_sub"),
    (row_assignment.scatter_mul, "scatter_mul"),
    (row_assignment.scatter_div, "scatter_div"),
    (row_assignment.scatter_max, "scatter_max"),
    (row_assignment.scatter_min, "scatter_min"),
    (row_assignment.scatter_nd_update, "scatter_nd_update"),
    (row_assignment.scatter_nd_add, "scatter_nd_add"),
    (row_assignment.scatter_nd_sub, "scatter_nd_sub"),
    (overrides.RegisterGradient, "RegisterGradient"),
    # ---- control flow
    (control.cond, "cond"),
    (control.case, "case"),
    (control.switch_case, "switch_case"),
    (control.while_loop, "while_loop"),
    (scans.map_fn, "map_fn"),
    (scans.scan, "scan"),
    (scans.foldl, "foldl"),
    (scans.foldr, "foldr"),
    (tensor_array.TensorArray, "TensorArray"),
    # ---- parts of the API that are modules here: all that these offer
    (training, "train.*"),
    (loss_functions, "losses.*"),
)


def public(row: Any, name: str) -> Callable[..., Any]:
    """The public function for a row of the table."""
    return lift_row(row, finish, name, wrap=EagerTensor)


LIFT["graph_api"] = public


def tree() -> ModuleType:
    """Everything, in a tree of namespaces; ``compat.v1`` is the whole again."""
    root = build("graph_api", TABLE, public)
    for value, names in NATIVE:
        for path in names.split():
            if path.endswith(".*"):
                for name, inner in defined(value).items():
                    place(root, path[:-1] + name, inner)
            else:
                place(root, path, value)
    sys.modules["graph_api.compat.v1"] = sys.modules["graph_api"]
    place(root, "compat.v1", sys.modules["graph_api"])
    return root


root = tree()
