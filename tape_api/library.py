"""How a function of the engine's becomes one of the tape API (`dualgrad.frontend.namespace.FOUNDATION`)."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from dualgrad.frontend.legacy import lift_row
from engine.core.eager import EagerTensor
from engine.core.op import Op
from engine.core.operands import Results
from engine.core.value import Value, as_array
from tape_api.tensor import finish

root: Any = sys.modules["tape_api"]
"""The functions as users have them, for modules of this package."""


def _mixed(op: Op, slow: Callable[..., Any], args: tuple[Any, ...]) -> Results:
    """The op at once if its operands are tensors and Python numbers, else with all conversions."""
    dtype = None
    for x in args:
        if isinstance(x, Value):
            dtype = dtype or x.dtype
        elif type(x) is not float and type(x) is not int:
            return slow(*args)
    if dtype is None:
        return slow(*args)
    return op(*[x if isinstance(x, Value) else EagerTensor(as_array(x, dtype, op.name)) for x in args])


def quick(op: Op, slow: Callable[..., Any]) -> Callable[..., Any]:
    """A public function that applies an op at once if its operands are tensors and Python numbers."""
    count = len(op.args)

    @functools.wraps(slow)
    def call(*args: Any, **kwargs: Any) -> Results:
        if kwargs or len(args) != count:
            return slow(*args, **kwargs)
        for x in args:
            if type(x) is not EagerTensor:
                return _mixed(op, slow, args)
        return args[0]._enter(op, args, {})

    return call


def public(row: Any, name: str) -> Callable[..., Any]:
    """The public function for a row of the table."""
    lifted = lift_row(row, finish, name, wrap=EagerTensor, finished=EagerTensor)
    shortened = hasattr(lifted, "__shortcut__")
    return quick(row, lifted) if isinstance(row, Op) and not row.multi and not shortened else lifted
