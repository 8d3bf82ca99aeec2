"""TensorFlow 2 style: ``import tape_api as tf``.

Eager tensors, variables, `GradientTape`, `custom_gradient`, `random`, and as much of ``keras`` as the usual tutorial
needs. The functions come from one table (`tape_api.names`); everything else is listed here.
"""

import runpy as _runpy
import sys as _sys
from pathlib import Path as _Path

_runpy.run_path(str(_Path(__file__).resolve().parent.parent / "engine" / "guard.py"))

import engine.numpy_api.operators as _operators  # importing it gives values their operators
from dualgrad import platform as _platform
from dualgrad.extras.module import Module
from dualgrad.frontend.eager_scopes import name_scope
from dualgrad.frontend.namespace import defined as _defined
from dualgrad.frontend.namespace import namespace as _namespace
from dualgrad.frontend.namespace import place_later as _place_later
from engine.aggregation import AggregationMethod
from engine.core import nest
from engine.core.dtypes import ALL as _ALL_DTYPES
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
)
from engine.core.dtypes import bool_ as bool
from engine.core.dtypes import float16 as half
from engine.core.dtypes import float64 as double
from engine.core.eager import EagerTensor as Tensor
from engine.core.tensor_shape import TensorShape
from engine.core.unconnected import UnconnectedGradients
from engine.gradient_tape import GradientTape
from engine.ops.indexed_slices import IndexedSlices
from engine.primitive import primitive
from engine.runtime import errors
from tape_api import debugging, keras, random, test, train, version1
from tape_api import library as _library
from tape_api.debugging import ensure_shape
from tape_api.flow import (
    case,
    cond,
    control_dependencies,
    custom_gradient,
    device,
    executing_eagerly,
    get_static_value,
    grad_pass_through,
    group,
    init_scope,
    no_op,
    numpy_function,
    py_function,
    switch_case,
)
from tape_api.function import function
from tape_api.functions_for_scipy import for_ode, for_scipy
from tape_api.keras import initializers, metrics, optimizers
from tape_api.lazy_names import LATER as _LATER
from tape_api.loops import foldl, foldr, map_fn, scan, vectorized_map, while_loop
from tape_api.printing import print_ as print
from tape_api.symbolic import gradients, hessians
from tape_api.tensor import TensorSpec, constant, convert_to_tensor, is_tensor
from tape_api.tensor_array import TensorArray
from tape_api.variable import Variable
from tape_api.version1 import (
    assign,
    assign_add,
    assign_sub,
    enable_eager_execution,
    multinomial,
    py_func,
    random_normal,
    set_random_seed,
)

_root = _library.root

__version__ = "2.21.0"
"""The version of TensorFlow whose behavior this follows: programs compare it with what they need."""

newaxis = None

constant_initializer = initializers.Constant
ones_initializer = initializers.Ones
random_normal_initializer = initializers.RandomNormal
random_uniform_initializer = initializers.RandomUniform
zeros_initializer = initializers.Zeros

globals().update({name: value for name, value in vars(_root).items() if not name.startswith("_")})
_root.nn.dropout = random.dropout
_v1 = _root.compat.v1
vars(_v1).update(_defined(_library.version1))
vars(_v1).update({name: getattr(version1, name) for name in version1.__all__}, train=train)
losses = _namespace("tape_api.losses")
"""Keras's losses, and those of TensorFlow 1 under names of their own."""
vars(losses).update({**_defined(_v1.losses), **_defined(keras.losses)})
_root.compat.v2 = _sys.modules["tape_api"]
vars(_root.dtypes).update(DType=DType, as_dtype=as_dtype, half=half, double=double, **{d.name: d for d in _ALL_DTYPES})

_place_later(_sys.modules[__name__], _LATER)
_place_later(_v1, _platform.VERSION1)
version1.complete(_v1, _sys.modules[__name__])
