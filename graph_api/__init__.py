"""TensorFlow-1 style: ``import graph_api as tf``."""

import runpy as _runpy
import sys as _sys
from pathlib import Path as _Path

_runpy.run_path(str(_Path(__file__).resolve().parent.parent / "engine" / "guard.py"))

import engine.numpy_api.operators as _operators
from dualgrad.frontend.namespace import lazily as _lazily
from dualgrad.frontend.namespace import place_later as _place_later
from engine.aggregation import AggregationMethod
from engine.core import nest
from engine.core.dtypes import (
    DType,
    as_dtype,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    string,
    uint8,
    uint16,
    uint32,
    uint64,
)  # fmt: skip
from engine.core.dtypes import (
    bool_ as bool,
)
from engine.core.unconnected import UnconnectedGradients
from engine.gradient_tape import GradientTape
from engine.ops.indexed_slices import IndexedSlices
from engine.ops.shape import broadcast_static_shape
from engine.primitive import primitive
from engine.runtime import errors
from graph_api.convert import (
    constant,
    convert_to_tensor,
    custom_gradient,
    placeholder,
    placeholder_with_default,
)  # fmt: skip
from graph_api.defaults import get_default_session
from graph_api.flow import (
    Assert,
    Print,
    assert_equal,
    assert_greater,
    assert_greater_equal,
    assert_less,
    assert_less_equal,
    group,
    no_op,
    py_func,
    with_dependencies,
)  # fmt: skip
from graph_api.flow import (
    tuple_ as tuple,
)
from graph_api.gradients import gradients
from graph_api.graph import EXTENSIONS as _EXTENSIONS
from graph_api.graph import (
    Graph,
    add_to_collection,
    add_to_collections,
    control_dependencies,
    device,
    get_collection,
    get_collection_ref,
    get_default_graph,
    reset_default_graph,
)  # fmt: skip
from graph_api.graph_keys import GraphKeys
from graph_api.lazy_names import EXTENSIONS as _EXTENDED
from graph_api.lazy_names import LATER as _LATER
from graph_api.library import root as _root
from graph_api.modes import (
    disable_eager_execution,
    disable_v2_behavior,
    enable_eager_execution,
    executing_eagerly,
)  # fmt: skip
from graph_api.scopes import (
    AUTO_REUSE,
    VariableScope,
    get_variable,
    get_variable_scope,
    name_scope,
    variable_scope,
)  # fmt: skip
from graph_api.session import (
    InteractiveSession,
    Session,
)  # fmt: skip
from graph_api.tensor import GraphDimension as Dimension
from graph_api.tensor import GraphShape as TensorShape
from graph_api.tensor import Operation, Tensor
from graph_api.variable import (
    Variable,
    assign,
    assign_add,
    assign_sub,
    local_variables,
    local_variables_initializer,
    model_variables,
    tables_initializer,
    trainable_variables,
)  # fmt: skip

newaxis = None
__version__ = "1.15.0"  # the TensorFlow release whose names these are

globals().update({k: v for k, v in vars(_root).items() if not k.startswith("_")})
_place_later(_sys.modules[__name__], _LATER)
_EXTENSIONS.update({name: _lazily(where) for name, where in _EXTENDED.items()})
