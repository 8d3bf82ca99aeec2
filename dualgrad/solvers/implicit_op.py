"""Solutions of equations as an op: a function of all that its equation uses, by the implicit function theorem.

`implicit_op` gives x with ``F(x, p) = 0``. Whatever found x, its derivative is ``dx = -F_x^-1 F_p dp``. So derivatives
of all orders, forward and reverse, need F alone: made of ops, it is differentiated where x is.

Source: Griewank and Walther, *Evaluating Derivatives*, 2nd ed., ch. 15; Christianson, "Reverse accumulation and
attractive fixed points" (1994); Blondel et al., "Efficient and Modular Implicit Differentiation" (2022).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dualgrad.solvers.linear_op import linear_solve_op, one_by_one, transposed
from dualgrad.solvers.matrices import jacobian_of, length_of
from engine.closed.function import ClosedFunction, build, plain
from engine.control.cond import plus
from engine.core.aval import Aval
from engine.core.kinds import PushedTogether, Together, general
from engine.core.value import Zero, aval_of, differentiable
from engine.ops.slicing import getitem
from engine.ops.solve import solve

DENSE = 300
"""Unknowns up to which equations with the derivative of F are solved as dense ones, if nobody says how."""


def _kernel(guess: Any, *params: Any, residual: ClosedFunction, find: Any, linear: Any) -> np.ndarray:
    found = np.asarray(find(residual, guess, params), guess.dtype)
    return found.reshape(guess.shape)


def _abstract(guess: Aval, *params: Aval, residual: ClosedFunction, find: Any, linear: Any) -> Aval:
    return plain(guess)


def derivative_in_x(residual: ClosedFunction) -> ClosedFunction:
    """The product with the derivative of F with respect to x: ``(v, x, *params) -> F_x v``."""

    def make() -> ClosedFunction:
        pushed = residual.pushforward([0], [0])[0]
        avals = [plain(p.aval) for p in residual.parameters]

        def function(body: Any, values: Sequence[Any]) -> list[Any]:
            return pushed.inline(body, [*values[1:], values[0]])[1:]

        return build([avals[0], *avals], function)

    return residual.derived("derivative in x", make)


def _solved(residual: ClosedFunction, x: Any, params: Sequence[Any], rhs: Any, linear: Any, adjoint: bool) -> Any:
    """``F_x^-1 rhs``, or with the transpose."""
    n = length_of(residual.parameters[0])
    if linear == "dense" or (linear is None and n <= DENSE):
        matrix = jacobian_of(residual, [x, *params])
        return getitem(solve(matrix, rhs[..., None], adjoint=adjoint), (..., 0))
    product = derivative_in_x(residual)
    how = "sparse" if linear is None else linear
    if adjoint:
        product, how = transposed(product), getattr(how, "transposed", how)
    return linear_solve_op(rhs, x, *params, product=product, how=how)


def _jvp(
    tangents: Sequence[Any], out: Any, guess: Any, *params: Any, residual: ClosedFunction, find: Any, linear: Any
) -> list[Any]:
    given = [i for i in differentiable(params) if tangents[1 + i] is not None]
    if not given:
        return [Zero(aval_of(out))]
    pushed = residual.pushforward([1 + i for i in given], [0])[0]
    moved = pushed.inline(None, [out, *params, *[tangents[1 + i] for i in given]])[1]
    return [-_solved(residual, out, params, moved, linear, False)]


def _vjp(
    wanted: Sequence[bool], previous: Sequence[Any], ct: Any, out: Any, guess: Any, *params: Any,
    residual: ClosedFunction, find: Any, linear: Any,
) -> list[Any]:  # fmt: skip
    totals: list[Any] = [Zero(aval_of(x)) for x in (guess, *params)]
    asked = [i for i in differentiable(params) if wanted[1 + i]]
    if asked:
        pulled, connected = residual.pullback([1 + i for i in asked], [0])
        multiplier = -_solved(residual, out, params, ct, linear, True)
        found = pulled.inline(None, [out, *params, multiplier])
        for i, part, is_connected in zip(asked, found, connected, strict=True):
            if is_connected:
                totals[1 + i] = plus(previous[1 + i], part)
    return totals


implicit_op = general(
    "implicit_op",
    _kernel,
    _abstract,
    vjp=Together(_vjp, carries=lambda i, params: i > 0),
    jvp=PushedTogether(_jvp),
    batch=one_by_one,
    type="ImplicitFunction",
    args=("guess", "*params"),
    doc="A vector x, found by ``find(residual, guess, params)``, with ``residual(x, *params) = 0``.",
)
