"""Integrals over an interval as an op: `quad_op`, computed by `scipy.integrate.quad` and `quad_vec`.

The limits are differentiated by Leibniz's rule, the parameters under the integral sign: the derivative of an integral
is an integral, and so are those of higher orders. At an infinite limit the integrand is zero, and so is the derivative.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import integrate

from dualgrad.solvers.linear_op import one_by_one
from engine.closed.function import ClosedFunction, plain
from engine.control.cond import plus
from engine.core.aval import Aval
from engine.core.batching import Batches, NotBatched, materialize
from engine.core.kinds import PushedTogether, Together, general
from engine.core.op import Op
from engine.core.value import Zero, aval_of, differentiable
from engine.ops.compare import is_finite, select
from engine.ops.creation import zeros_like
from engine.ops.reduce import reduce_sum

Options = tuple[tuple[str, Any], ...]


def _kernel(a: Any, b: Any, *params: Any, body: ClosedFunction, options: Options) -> tuple[Any, ...]:
    dtype = body.parameters[0].aval.dtype.numpy
    shapes: list[Any] = []

    def value(x: float) -> np.ndarray:
        parts = body.run(np.asarray(x, dtype), *params)
        shapes[:] = [p.shape for p in parts]
        return np.concatenate([np.reshape(p, -1) for p in parts]).astype(np.float64, copy=False)

    chosen = dict(options)
    if np.isnan(a) or np.isnan(b):
        total, error = np.full(value(0.0).size, np.nan), np.nan
    elif value(float(a) if np.isfinite(a) else float(b) if np.isfinite(b) else 0.0).size == 1:
        total, error = integrate.quad(lambda x: value(x)[0], a, b, **chosen)[:2]
    else:
        total, error, info = integrate.quad_vec(
            value, a, b, epsabs=chosen.get("epsabs", 1.49e-8), epsrel=chosen.get("epsrel", 1.49e-8),
            limit=max(chosen.get("limit", 50), 200), points=chosen.get("points"), full_output=True,
        )  # fmt: skip
        if not info.success:
            warnings.warn(f"quad: {info.message}", integrate.IntegrationWarning, stacklevel=2)
    ends = np.cumsum([0, *[int(np.prod(s, dtype=int)) for s in shapes]])
    total = np.atleast_1d(total)
    results = [
        np.asarray(total[i:j].reshape(s), r.aval.dtype.numpy)
        for i, j, s, r in zip(ends[:-1], ends[1:], shapes, body.results, strict=True)
    ]
    return (*results, np.asarray(error, dtype))


def _abstract(a: Aval, b: Aval, *params: Aval, body: ClosedFunction, options: Options) -> tuple[Aval, ...]:
    return (*[plain(r) for r in body.result_avals([plain(a), *params])], plain(a))


def _at_end(x: Any, body: ClosedFunction, params: Sequence[Any]) -> list[Any]:
    """The integrand at a limit; zero at an infinite one."""
    finite = is_finite(x)
    found = body.inline(None, [select(finite, x, zeros_like(x)), *params])
    return [select(finite, y, zeros_like(y)) for y in found]


def _jvp(
    tangents: Sequence[Any], outs: Any, a: Any, b: Any, *params: Any, body: ClosedFunction, options: Options
) -> list[Any]:
    count = len(body.results)
    totals: list[Any] = [None] * count
    given = [i for i in differentiable(params) if tangents[2 + i] is not None]
    if given:
        pushed, connected = body.pushforward([1 + i for i in given], list(range(count)))
        tangents_alone = pushed.results[count:]
        inner = pushed.derived("integrand", lambda: ClosedFunction(pushed.trace, pushed.parameters, tangents_alone))
        moved = quad_op(a, b, *params, *[tangents[2 + i] for i in given], body=inner, options=options)
        totals = [t if c else None for t, c in zip(moved, connected, strict=False)]
    for limit, t, sign in ((a, tangents[0], -1.0), (b, tangents[1], 1.0)):
        if t is not None:
            totals = [plus(s, sign * y * t) for s, y in zip(totals, _at_end(limit, body, params), strict=True)]
    return [Zero(aval_of(o)) if t is None else t for t, o in zip([*totals, None], outs, strict=True)]


def _vjp(
    wanted: Sequence[bool], previous: Sequence[Any], cts: Any, outs: Any, a: Any, b: Any, *params: Any,
    body: ClosedFunction, options: Options,
) -> list[Any]:  # fmt: skip
    totals: list[Any] = [Zero(aval_of(x)) for x in (a, b, *params)]
    count = len(body.results)
    for k, limit, sign in ((0, a, -1.0), (1, b, 1.0)):
        if wanted[k]:
            ct = sum(reduce_sum(c * y) for c, y in zip(cts, _at_end(limit, body, params), strict=False))
            totals[k] = plus(previous[k], sign * ct)
    asked = [i for i in differentiable(params) if wanted[2 + i]]
    if asked:
        pulled, connected = body.pullback([1 + i for i in asked], list(range(count)))
        found = quad_op(a, b, *params, *cts[:count], body=pulled, options=options)
        for i, part, is_connected in zip(asked, found, connected, strict=False):
            if is_connected:
                totals[2 + i] = plus(previous[2 + i], part)
    return totals


def _batch(op: Op, size: int, flags: tuple[bool, ...], inputs: tuple[Any, ...], params: dict[str, Any]) -> Batches:
    """All elements at the same points if they have the same limits, else one by one."""
    body = params["body"]
    if flags[0] or flags[1]:
        return one_by_one(op, size, flags, inputs, params)
    point = aval_of(inputs[0])
    avals = [Aval((), point.dtype), *[plain(aval_of(x)) for x in inputs[2:]]]
    inner, batched = body.batched([False, *flags[2:]], avals, size)
    outs = op(*inputs, **{**params, "body": inner})
    found: list[Any] = [o if f else NotBatched(o) for o, f in zip(outs, batched, strict=False)]
    return [*found, materialize(outs[-1], size)]


quad_op = general(
    "quad_op",
    _kernel,
    _abstract,
    vjp=Together(_vjp),
    jvp=PushedTogether(_jvp),
    batch=_batch,
    type="Integral",
    args=("a", "b", "*params"),
    multi=True,
    doc="The integrals of the results of ``body(x, *params)`` over x from a to b, and an estimate of the error.",
)
