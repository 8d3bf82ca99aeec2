"""Values that are handed on only if a check passes: any (`checked_op`), of a shape, of what is finite.

A graph cannot raise while it is built for what depends on numbers; so the check becomes part of the value: whoever
fetches it, runs it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.core.aval import Aval, Shape, compatible, format_shape, is_known, merge_shapes
from engine.core.batching import Batches, elementwise_rule, like_first, materialized
from engine.core.kinds import linear
from engine.core.op import Layout, Op
from engine.core.operands import Operand
from engine.core.sparsity import ELEMENTWISE, IN_ORDER
from engine.runtime.errors import InvalidArgumentError, ShapeError


def _kernel(x: Any, *witnesses: Any, check: Callable[..., None], lead: int = 0) -> Operand:
    _checked(witnesses, check, lead)
    return x


def _checked(witnesses: Sequence[Any], check: Callable[..., None], lead: int) -> None:
    """Check, for each element of `lead` leading axes that all witnesses have."""
    if not lead:
        check(*witnesses)
        return
    for each in zip(*witnesses, strict=True):
        _checked(each, check, lead - 1)


def _batch(op: Op, size: int, flags: tuple[bool, ...], inputs: tuple[Any, ...], params: dict[str, Any]) -> Batches:
    x, *witnesses = inputs
    if any(flags[1:]):
        witnesses = materialized(witnesses, flags[1:], size)
        params = {**params, "lead": params.get("lead", 0) + 1}
    return like_first(op, size, flags, (x, *witnesses), params)


checked_op = linear(
    "checked_op",
    _kernel,
    lambda ct, x, *witnesses, **_: ct,
    lambda x, *witnesses, check, lead=0: Aval(x.shape, x.dtype),
    _batch,
    args=("x", "*witnesses"),
    refuses=True,
    sparsity=IN_ORDER,
    layout=Layout.VIEW,
    doc="`x`, once ``check(*witnesses)`` has not raised.",
)


def require_shape(have: Shape, shape: Shape, message: str) -> None:
    """Raise ShapeError, which starts with a message, unless a shape may be another one."""
    if not compatible(have, shape):
        raise ShapeError(f"{message} {format_shape(shape)}, got {format_shape(have)}")


def _shaped_abstract(x: Aval, *, shape: Shape, message: str) -> Aval:
    require_shape(x.shape, shape, message)
    return Aval(merge_shapes(x.shape, shape), x.dtype)


def _shaped_kernel(x: Any, *, shape: Shape, message: str) -> Operand:
    require_shape(x.shape, shape, message)
    return x


def _shaped_batch(op: Op, size: int, flags: tuple[bool, ...], inputs: tuple[Any, ...], params: Any) -> Operand:
    shape = params["shape"]
    return op(*inputs, **{**params, "shape": None if shape is None else (None, *shape)})


shaped_op = linear(
    "shaped_op",
    _shaped_kernel,
    lambda ct, x, **_: ct,
    _shaped_abstract,
    _shaped_batch,
    type="EnsureShape",
    args=("x",),
    simplify=lambda avals, params: 0 if is_known(avals[0].shape) else None,
    sparsity=IN_ORDER,
    layout=Layout.VIEW,
    doc="`x`, once its shape fits `shape`; the message of the error ends with the two shapes.",
)


def non_finite(array: Any) -> str | None:
    """The kind and first place of what is not finite in an array: ``"Inf and NaN values, the first NaN at (0, 2)"``."""
    if array.dtype.kind not in "fc" or np.isfinite(array).all():
        return None
    tests = [("Inf", np.isinf(array)), ("NaN", np.isnan(array))]
    faults = [(word, bad) for word, bad in tests if bad.any()]
    word, bad = faults[-1]
    first = tuple(map(int, np.argwhere(bad)[0]))
    where = f", the first {word} at {first}" if first else ""
    return f"{' and '.join(word for word, _ in faults)} values{where}"


def _finite_kernel(x: Any, *, message: str) -> Operand:
    fault = non_finite(x)
    if fault is not None:
        raise InvalidArgumentError(f"{message} : Tensor had {fault}")
    return x


finite_op = linear(
    "finite_op",
    _finite_kernel,
    lambda ct, x, *, message: finite_op(
        ct, message=f"Not a number (NaN) or infinity (Inf) values detected in gradient. {message}"
    ),
    lambda x, *, message: Aval(x.shape, x.dtype),
    elementwise_rule,
    type="CheckNumerics",
    args=("tensor",),
    refuses=True,
    sparsity=ELEMENTWISE,  # which, unlike IN_ORDER, does not say that a NaN comes through
    layout=Layout.VIEW,
    doc="`tensor`, once it has been seen that all its elements are finite; its gradient is looked at likewise.",
)


def check_numerics(tensor: Any, message: str) -> Operand:
    """`tensor`, if all its elements are finite; the same is asked of its gradient.

    Parameters
    ----------
    tensor : value
        Floating or complex.
    message : str
        What the error begins with.

    Returns
    -------
    value

    Raises
    ------
    InvalidArgumentError
        If there are infinities or NaNs: at once of an eager value, else when the graph runs, and again when a gradient
        that passes here is computed. `explain` says which op made them; `enable_check_numerics` watches all ops.
    """
    return finite_op(tensor, message=message)
