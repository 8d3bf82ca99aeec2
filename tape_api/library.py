"""The functions of the tape API, made from the table in `tape_api.names`.

`root` holds what TensorFlow has at the top level; its attributes ``math``, ``nn``, ... hold the rest. The package
`tape_api` re-exports all of it; modules of this package that need the functions (layers, losses) take them from `root`.
`version1` holds the same under TensorFlow 1's names and with its arguments, for ``tf.compat.v1``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from dualgrad.frontend import version1 as engine_version1
from dualgrad.frontend.legacy import lift_row
from dualgrad.frontend.namespace import LIFT, build
from engine.core.eager import EagerTensor
from engine.core.op import Op
from engine.core.operands import Results
from engine.core.value import Value, as_array
from optim.clip_names import CLIPPING_VERSION1
from tape_api.names import TABLE
from tape_api.tensor import finish


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


LIFT["tape_api"] = public


root: Any = build("tape_api", TABLE, public)
version1: Any = build("tape_api.compat.v1", engine_version1.table(*CLIPPING_VERSION1), public)
