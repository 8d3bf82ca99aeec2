"""Linear equations whose matrix is given by its products alone, as an op: `linear_solve_op`.

``A(p) x = b``, where a closed function gives ``A(p) v``. The derivative is ``dx = A^-1 (db - dA x)``; reverse mode
solves with the transposed function, which is the reverse walk of the product. So derivatives are solutions of such
equations too.

Source: Giles, "Collected matrix derivative results for forward and reverse mode algorithmic differentiation" (2008),
sec. 2.3.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from engine.closed.function import ClosedFunction, build, plain
from engine.control.cond import plus
from engine.core.aval import Aval
from engine.core.batching import Batches
from engine.core.eager import EagerTensor
from engine.core.kinds import PushedTogether, Together, general
from engine.core.op import Op
from engine.core.tape import paused
from engine.core.value import Zero, aval_of, differentiable
from engine.ops.creation import zeros_like
from engine.ops.joining import stack
from engine.ops.shape import identity
from engine.ops.slicing import getitem
from engine.runtime.errors import ConvergenceError
from engine.transforms.gradient_tape import GradientTape


def _kernel(rhs: Any, *params: Any, product: ClosedFunction, how: Any) -> np.ndarray:
    def multiply(v: np.ndarray) -> np.ndarray:
        return np.asarray(product.run(np.asarray(v, rhs.dtype).reshape(rhs.shape), *params)[0])

    if how == "sparse":
        found = splu(sparse_matrix(product, rhs, params).tocsc().astype(np.float64)).solve(np.asarray(rhs, np.float64))
    else:
        found = how(multiply, np.asarray(rhs))
    found = np.asarray(found, rhs.dtype).reshape(rhs.shape)
    if not np.all(np.isfinite(found)) and np.all(np.isfinite(rhs)):
        raise ConvergenceError("linear_solve: the solution is not finite; is the matrix singular?")
    return found


def sparse_matrix(product: ClosedFunction, like: Any, params: Sequence[Any]) -> sparse.sparray:
    """The matrix of a linear function of its first parameter, by as few products as its pattern allows."""
    with paused(), GradientTape(watch_accessed_variables=False) as tape:
        v = EagerTensor(np.zeros(like.shape, like.dtype))
        tape.watch(v)
        (out,) = product.inline(None, [v, *[EagerTensor(np.asarray(p)) for p in params]])
    if not isinstance(out, EagerTensor):
        return sparse.csr_array((like.size, like.size))
    return tape.jacobian(out, v, format="csr")


def _abstract(rhs: Aval, *params: Aval, product: ClosedFunction, how: Any) -> Aval:
    return plain(rhs)


def transposed(product: ClosedFunction) -> ClosedFunction:
    """The product with the transposed matrix."""

    def make() -> ClosedFunction:
        pulled = product.pullback([0], [0])[0]
        avals = [plain(p.aval) for p in product.parameters]

        def function(body: Any, values: Sequence[Any]) -> list[Any]:
            # linear: where it is pulled back does not matter
            return pulled.inline(body, [zeros_like(values[0]), *values[1:], values[0]])

        return build(avals, function)

    return product.derived("transposed", make)


def _jvp(tangents: Sequence[Any], out: Any, rhs: Any, *params: Any, product: ClosedFunction, how: Any) -> list[Any]:
    given = [i for i in differentiable(params) if tangents[1 + i] is not None]
    total = tangents[0]
    if given:
        pushed = product.pushforward([1 + i for i in given], [0])[0]
        moved = pushed.inline(None, [out, *params, *[tangents[1 + i] for i in given]])[1]
        total = -moved if total is None else total - moved
    return [linear_solve_op(total, *params, product=product, how=how)]


def _vjp(
    wanted: Sequence[bool], previous: Sequence[Any], ct: Any, out: Any, rhs: Any, *params: Any,
    product: ClosedFunction, how: Any,
) -> list[Any]:  # fmt: skip
    totals: list[Any] = [Zero(aval_of(x)) for x in (rhs, *params)]
    back = linear_solve_op(ct, *params, product=transposed(product), how=getattr(how, "transposed", how))
    if wanted[0]:
        totals[0] = plus(previous[0], back)
    asked = [i for i in differentiable(params) if wanted[1 + i]]
    if asked:
        pulled, connected = product.pullback([1 + i for i in asked], [0])
        found = pulled.inline(None, [out, *params, back])
        for i, part, is_connected in zip(asked, found, connected, strict=True):
            if is_connected:
                totals[1 + i] = plus(previous[1 + i], -part)
    return totals


def one_by_one(op: Op, size: int, flags: tuple[bool, ...], inputs: tuple[Any, ...], params: dict[str, Any]) -> Batches:
    """Apply the op to each element of a batch: each one takes its own steps."""
    pairs = list(zip(inputs, flags, strict=True))
    each = [op(*[getitem(x, i) if f else x for x, f in pairs], **params) for i in range(size)]
    return [stack(parts, 0) for parts in zip(*each, strict=True)] if op.multi else stack([*map(identity, each)], 0)


linear_solve_op = general(
    "linear_solve_op",
    _kernel,
    _abstract,
    vjp=Together(_vjp),
    jvp=PushedTogether(_jvp),
    batch=one_by_one,
    type="LinearSolve",
    args=("rhs", "*params"),
    doc="The x with ``product(x, *params) = rhs``.",
)
