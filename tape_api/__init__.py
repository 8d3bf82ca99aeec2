"""TensorFlow 2 style: ``import tape_api as tf``.

Eager tensors, variables, `GradientTape`, `custom_gradient`, `random`, and as much of ``keras`` as the usual tutorial needs.
The functions come from one table (`tape_api.names`); everything else is listed here.
"""

import runpy as _runpy
from pathlib import Path as _Path

_runpy.run_path(str(_Path(__file__).resolve().parent.parent / "engine" / "guard.py"))

import engine.operators as _operators  # importing it gives values their operators
from engine import errors, nest
from engine.dtypes import (
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
    uint8,
    uint16,
    uint32,
    uint64,
)
from engine.dtypes import bool_ as bool
from engine.dtypes import float16 as half
from engine.dtypes import float64 as double
from engine.eager import EagerTensor as Tensor
from engine.gradient_tape import GradientTape, UnconnectedGradients
from engine.namespace import missing as _missing
from engine.tensor_shape import TensorShape
from tape_api import keras, random
from tape_api.keras import initializers, losses, metrics, optimizers
from tape_api.keras.initializers import Constant as constant_initializer
from tape_api.keras.initializers import Ones as ones_initializer
from tape_api.keras.initializers import RandomNormal as random_normal_initializer
from tape_api.keras.initializers import RandomUniform as random_uniform_initializer
from tape_api.keras.initializers import Zeros as zeros_initializer
from tape_api.library import root as _root
from tape_api.module import Module
from tape_api.tensor import constant, convert_to_tensor, is_tensor
from tape_api.variable import Variable

globals().update({name: value for name, value in vars(_root).items() if not name.startswith("_")})


def __getattr__(name: str) -> object:
    raise _missing("tape_api", name)
