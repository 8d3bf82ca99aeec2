"""Problems whose Jacobians are mostly zeros: elementwise functions, stencils, an arrowhead."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from bench.problems.problem import Problem, Size, Values
from engine.core.operands import Operand


def decades(first: int, last: int) -> tuple[Size, ...]:
    """The sizes 10**first to 10**last."""
    return tuple((10**k,) for k in range(first, last + 1))


# ---- elementwise: a diagonal -----------------------------------------------------------------------------------------


def elementwise(tf: Any, x: Any) -> Operand:
    """Each output depends on one input."""
    return x * tf.sin(x) + tf.tanh(x)


def elementwise_jacobian(x: Any) -> sparse.sparray:
    """A diagonal."""
    return sparse.diags_array(np.sin(x) + x * np.cos(x) + 1 - np.tanh(x) ** 2, format="csr")


ELEMENTWISE = Problem(
    group="sparse",
    format="csr",
    function=elementwise,
    inputs=lambda size, rng: (rng.normal(size=size),),
    expected=elementwise_jacobian,
    quick=decades(3, 5),
    full=decades(6, 7),
)
# ---- Burgers: three diagonals ----------------------------------------------------------------------------------------

STEP, SPACING, VISCOSITY = 0.1, 0.5, 0.05
"""Of time and space, and the viscosity; moderate, so that numeric derivatives are good for any n."""


def burgers(tf: Any, u: Any, before: Any, wall: Any) -> Operand:
    """The residual of one implicit Euler step of Burgers' equation, u_t + u u_x = ν u_xx, between fixed walls."""
    padded = tf.concat([wall, u, wall], 0)
    left, right = padded[:-2], padded[2:]
    slope = (right - left) * (0.5 / SPACING)
    curvature = (right - 2.0 * u + left) * (1 / SPACING**2)
    return (u - before) * (1 / STEP) + u * slope - VISCOSITY * curvature


def burgers_jacobian(u: Any, before: Any, wall: Any) -> sparse.sparray:
    """Tridiagonal."""
    padded = np.concatenate([wall, u, wall])
    diagonal = 1 / STEP + (padded[2:] - padded[:-2]) / (2 * SPACING) + 2 * VISCOSITY / SPACING**2
    beside = u / (2 * SPACING)
    diffusion = VISCOSITY / SPACING**2
    diagonals = [(-beside - diffusion)[1:], diagonal, (beside - diffusion)[:-1]]
    return sparse.diags_array(diagonals, offsets=[-1, 0, 1], format="csr")


BURGERS = Problem(
    group="sparse",
    format="csr",
    function=burgers,
    inputs=lambda size, rng: (rng.normal(size=size), rng.normal(size=size), np.zeros(1)),
    expected=burgers_jacobian,
    quick=decades(3, 5),
    full=decades(6, 6),
)

# ---- Brusselator: a periodic stencil of two species ------------------------------------------------------------------

DIFFUSION = 10.0


def brusselator(tf: Any, state: Any, forcing: Any) -> Operand:
    """The right-hand side of the two-dimensional Brusselator on a periodic grid; `state` is (n, n, 2)."""
    u, v = tf.unstack(state, axis=2)
    uuv = u * u * v
    return tf.stack(
        [DIFFUSION * _laplacian(tf, u) + uuv - 4.4 * u + 1.0 + forcing, DIFFUSION * _laplacian(tf, v) - uuv + 3.4 * u],
        axis=2,
    )


def _laplacian(tf: Any, u: Any) -> Operand:
    return tf.roll(u, 1, 0) + tf.roll(u, -1, 0) + tf.roll(u, 1, 1) + tf.roll(u, -1, 1) - 4.0 * u


def brusselator_jacobian(state: Any, forcing: Any) -> sparse.sparray:
    """The Laplacian of a torus for each species, and a block of 2 × 2 at each point."""
    n = len(forcing)
    u, v = state[..., 0].ravel(), state[..., 1].ravel()
    ring = sparse.diags_array([1.0, 1.0, -2.0, 1.0, 1.0], offsets=[-n + 1, -1, 0, 1, n - 1], shape=(n, n))
    one = sparse.eye_array(n)
    laplacian = sparse.kron(ring, one) + sparse.kron(one, ring)
    blocks = ((2 * u * v - 4.4, u * u), (3.4 - 2 * u * v, -u * u))
    jacobian = DIFFUSION * sparse.kron(laplacian, sparse.eye_array(2))
    for i, row in enumerate(blocks):
        for j, entries in enumerate(row):
            place = sparse.coo_array(([1.0], ([i], [j])), shape=(2, 2))
            jacobian = jacobian + sparse.kron(sparse.diags_array(entries), place)
    return jacobian.tocsr()


def _brusselator_inputs(size: Size, rng: np.random.Generator) -> Values:
    n = size[0]
    return rng.uniform(0.5, 1.5, (n, n, 2)), rng.uniform(0, 5, (n, n))


BRUSSELATOR = Problem(
    group="sparse",
    format="csr",
    function=brusselator,
    inputs=_brusselator_inputs,
    expected=brusselator_jacobian,
    quick=((16,), (64,)),
    full=((128,), (256,)),
)

# ---- an arrowhead: a full row, a full column and the diagonal --------------------------------------------------------


def arrowhead(tf: Any, x: Any) -> Operand:
    """The first output depends on every input, and every output on the first input."""
    first, others = x[:1], x[1:]
    return tf.concat([tf.reshape(tf.reduce_sum(x * x), [1]), others * others * others + first * others], 0)


def arrowhead_jacobian(x: Any) -> sparse.sparray:
    """A full row, a full column, the diagonal."""
    n, others = len(x), np.arange(1, len(x))
    zeros = np.zeros_like(others)
    rows = np.concatenate([np.zeros(n, int), others, others])
    columns = np.concatenate([np.arange(n), zeros, others])
    entries = np.concatenate([2 * x, x[1:], 3 * x[1:] ** 2 + x[0]])
    return sparse.csr_array((entries, (rows, columns)), shape=(n, n))


ARROWHEAD = Problem(
    group="sparse",
    format="csr",
    both_ways=True,
    function=arrowhead,
    inputs=lambda size, rng: (rng.normal(size=size),),
    expected=arrowhead_jacobian,
    quick=decades(3, 4),
    full=decades(5, 6),
)


def dense(problem: Problem, *quick: Size) -> Problem:
    """The same with a dense result."""
    name, expected = f"{problem.name}_dense", lambda *values: problem.expected(*values).toarray()
    return replace(problem, name=name, group="dense", format="dense", expected=expected, quick=quick, full=())


ELEMENTWISE_DENSE = dense(ELEMENTWISE, (1000,), (2000,))
BURGERS_DENSE = dense(BURGERS, (1000,))
