"""TensorFlow-2 style: ``import tape_api as tf``."""

import runpy as _runpy
from pathlib import Path as _Path

_runpy.run_path(str(_Path(__file__).resolve().parent.parent / "engine" / "guard.py"))

import engine.operators  # noqa: E402, F401  (installs the operators)
from engine import errors, nest  # noqa: E402
from engine.dtypes import (  # noqa: E402
    DType, as_dtype, bool_ as bool, complex64, complex128, float16, float32, float64, int8, int16, int32, int64,
    uint8, uint16, uint32, uint64,
)  # fmt: skip
from engine.eager import EagerTensor as Tensor  # noqa: E402
from engine.gradient_tape import GradientTape, UnconnectedGradients  # noqa: E402
from engine.tensor_shape import TensorShape  # noqa: E402
from engine.namespace import missing as _missing  # noqa: E402
from tape_api.library import root as _root  # noqa: E402
from tape_api.tensor import constant, convert_to_tensor, is_tensor  # noqa: E402
from tape_api.variable import Variable  # noqa: E402

globals().update({k: v for k, v in vars(_root).items() if not k.startswith("_")})


def __getattr__(name: str) -> object:
    raise _missing("tape_api", name)
