"""Kinds of things that programs annotate arguments with: ``tf.types.experimental``."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from dualgrad.frontend.namespace import namespace, place
from tape_api.concrete import ConcreteFunction
from tape_api.function import Function
from tape_api.tensor import Tensor

TensorLike = Tensor | int | float | bool | str | bytes | complex | tuple[Any, ...] | list[Any] | np.ndarray | np.generic

experimental: ModuleType = namespace("tape_api.types.experimental")
_OFFERED: dict[str, Any] = {
    "Callable": Function | ConcreteFunction,
    "ConcreteFunction": ConcreteFunction,
    "GenericFunction": Function,
    "PolymorphicFunction": Function,
    "TensorLike": TensorLike,
}
for _name, _value in _OFFERED.items():
    place(experimental, _name, _value)

__all__ = ["experimental"]
