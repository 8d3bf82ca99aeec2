"""The engine's functions by their own names, for code that serves both front ends: ``functions.conv2d(x, kernel)``.

Python numbers and lists among the arguments are converted as everywhere; what comes back is a value of the kind that
the operands are of. A function is made ready when it is first asked for.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from engine.core.op import Op
from engine.core.operands import Operand
from engine.core.value import Value
from engine.ops.lift import lift

_FAMILIES = (
    *("arithmetic", "compare", "complexes", "conv", "cross_entropy", "diagonal", "decompose", "einsum", "explog"),
    *("extrema", "filling", "gather", "joining", "layers", "linalg", "nn", "partition", "pool", "rearrange"),
    *("reduce", "scan", "shape", "slicing", "solve", "sorting", "special", "stats", "trig"),
)


def __getattr__(name: str) -> Callable[..., Any]:
    for family in [] if name.startswith("_") else _FAMILIES:
        module = importlib.import_module(f"engine.ops.{family}")
        function = vars(module).get(name)
        if isinstance(function, Op) or (callable(function) and function.__module__ == module.__name__):
            made = globals()[name] = _ready(function)
            return made
    raise AttributeError(f"the engine has no function {name!r}")


def _ready(function: Any) -> Callable[..., Any]:
    converting = lift(function, lambda call, _, /, *args, **kwargs: call(*args, **kwargs))
    if not isinstance(function, Op):
        return converting

    def apply(*args: Any, **kwargs: Any) -> Operand:
        if kwargs or not all(isinstance(x, Value) for x in args):
            return converting(*args, **kwargs)
        return function(*args)

    return apply
