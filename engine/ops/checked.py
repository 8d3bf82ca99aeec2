"""Values that are handed on only if a check passes (`checked_op`).

A graph cannot raise while it is built for what depends on numbers; so the check becomes part of the value: whoever
fetches it, runs it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from engine.core.aval import Aval
from engine.core.batching import NotBatched, materialize
from engine.core.kinds import linear
from engine.core.op import Layout, Op
from engine.core.sparsity import IN_ORDER


def _kernel(x: Any, *witnesses: Any, check: Callable[..., None], lead: int = 0) -> Any:
    _checked(witnesses, check, lead)
    return x


def _checked(witnesses: Sequence[Any], check: Callable[..., None], lead: int) -> None:
    """Check, for each element of `lead` leading axes that all witnesses have."""
    if not lead:
        check(*witnesses)
        return
    for each in zip(*witnesses, strict=True):
        _checked(each, check, lead - 1)


def _batch(op: Op, size: int, flags: tuple[bool, ...], inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
    x, *witnesses = inputs
    if any(flags[1:]):
        witnesses = [w if f else materialize(w, size) for w, f in zip(witnesses, flags[1:], strict=True)]
        params = {**params, "lead": params.get("lead", 0) + 1}
    out = op(x, *witnesses, **params)
    return out if flags[0] else NotBatched(out)


def _abstract(x: Aval, *witnesses: Aval, check: Callable[..., None], lead: int = 0) -> Aval:
    return Aval(x.shape, x.dtype)


checked_op = linear(
    "checked_op",
    _kernel,
    lambda ct, x, *witnesses, **_: ct,
    _abstract,
    _batch,
    args=("x", "*witnesses"),
    sparsity=IN_ORDER,
    layout=Layout.VIEW,
    doc="`x`, once ``check(*witnesses)`` has not raised.",
)
