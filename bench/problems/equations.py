"""Linear algebra, residuals, and what is minimized in the field's lists (GradBench, COPS, CUTEst).

They were written before anything was tuned for them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from bench.problems.field import physics, physics_gradient, row
from bench.problems.problem import Size, Values, field_problem
from engine.core.operands import Operand

# ---- a determinant (GradBench's det, by elimination) -----------------------------------------------------------------


def determinant(tf: Any, matrix: Any) -> Operand:
    """The product of the pivots of Gauss's elimination, without exchanges."""
    product = 1.0
    for _ in range(int(matrix.shape[0])):
        pivot = matrix[:1, :1]
        product = product * pivot
        matrix = matrix[1:, 1:] - matrix[1:, :1] * (matrix[:1, 1:] / pivot)
    return tf.reduce_sum(product)


DETERMINANT = field_problem(
    function=determinant,
    # diagonally dominant, so that no pivot is small
    inputs=lambda size, rng: (np.eye(size[0]) + rng.uniform(-0.5, 0.5, (*size, *size)) / size[0],),
    expected=lambda matrix: row(np.linalg.det(matrix) * np.linalg.inv(matrix).T),
    quick=((6,),),
    full=((40,),),
)

# ---- a polynomial through points (GradBench's llsq) ------------------------------------------------------------------


def polynomial(tf: Any, factors: Any, times: Any, wanted: Any) -> Operand:
    """Half the squared error of a polynomial, evaluated by Horner's rule."""
    value = 0.0
    for factor in tf.unstack(factors)[::-1]:
        value = value * times + factor
    error = value - wanted
    return 0.5 * tf.reduce_sum(error * error)


def polynomial_gradient(factors: Any, times: Any, wanted: Any) -> np.ndarray:
    """Powers by errors."""
    powers = np.vander(times, len(factors), increasing=True)
    return row(powers.T @ (powers @ factors - wanted))


POLYNOMIAL = field_problem(
    function=polynomial,
    inputs=lambda size, rng: (rng.normal(size=size[1]), np.linspace(-1, 1, size[0]), rng.choice([-1.0, 1.0], size[0])),
    expected=polynomial_gradient,
    quick=((128, 8),),
    full=((4096, 32),),
)

# ---- a Gaussian process ----------------------------------------------------------------------------------------------


def gaussian_process(tf: Any, logs: Any, points: Any, wanted: Any, identity: Any) -> Operand:
    """The negative log-likelihood of a Gaussian process; `logs` are those of lengths, amplitude and noise."""
    n, d = int(points.shape[0]), int(points.shape[1])
    scaled = points * tf.exp(-logs[:d])
    between = tf.reshape(scaled, [n, 1, d]) - tf.reshape(scaled, [1, n, d])
    alike = tf.exp(2.0 * logs[d] - 0.5 * tf.reduce_sum(between * between, 2))
    covariance = alike + tf.exp(2.0 * logs[d + 1]) * identity
    roots = tf.linalg.diag_part(tf.linalg.cholesky(covariance))
    return 0.5 * tf.reduce_sum(wanted * tf.linalg.solve(covariance, wanted)) + tf.reduce_sum(tf.math.log(roots))


def gaussian_process_gradient(logs: Any, points: Any, wanted: Any, identity: Any) -> np.ndarray:
    """Half the trace of the inverse, less what is known, by each derivative of the covariance."""
    d = points.shape[1]
    squares = ((points[:, None] - points[None]) * np.exp(-logs[:d])) ** 2
    alike = np.exp(2 * logs[d] - 0.5 * squares.sum(2))
    noise = np.exp(2 * logs[d + 1]) * identity
    inverse = np.linalg.inv(alike + noise)
    known = inverse @ wanted
    weight = 0.5 * (inverse - known @ known.T)
    parts = [*(alike * square for square in np.moveaxis(squares, 2, 0)), 2 * alike, 2 * noise]
    return row([np.sum(weight * part) for part in parts])


def _process_inputs(size: Size, rng: np.random.Generator) -> Values:
    n, d = size
    return np.append(0.1 * rng.normal(size=d + 1), -1.0), rng.normal(size=size), rng.normal(size=(n, 1)), np.eye(n)


GAUSSIAN_PROCESS = field_problem(
    function=gaussian_process,
    inputs=_process_inputs,
    expected=gaussian_process_gradient,
    quick=((20, 3),),
    full=((200, 5),),
)

# ---- the smallest surface in a frame (COPS) --------------------------------------------------------------------------


def minimal_surface(tf: Any, heights: Any, above: Any, below: Any, left: Any, right: Any) -> Operand:
    """The area over a square, cut into triangles; above and below are rows, left and right are columns."""
    whole = tf.concat([above, tf.concat([left, heights, right], 1), below], 0)
    n = int(heights.shape[0]) + 1
    down, along = n * (whole[1:] - whole[:-1]), n * (whole[:, 1:] - whole[:, :-1])
    down, along = down * down, along * along
    area = tf.reduce_sum(tf.sqrt(1.0 + down[:, :-1] + along[:-1]))
    return (0.5 / n**2) * (area + tf.reduce_sum(tf.sqrt(1.0 + down[:, 1:] + along[1:])))


def minimal_surface_gradient(heights: Any, above: Any, below: Any, left: Any, right: Any) -> np.ndarray:
    """Each triangle pulls at its corners."""
    whole = np.concatenate([above, np.concatenate([left, heights, right], 1), below])
    n = len(heights) + 1
    down, along = n * np.diff(whole, axis=0), n * np.diff(whole, axis=1)
    first = np.sqrt(1 + down[:, :-1] ** 2 + along[:-1] ** 2)
    second = np.sqrt(1 + down[:, 1:] ** 2 + along[1:] ** 2)
    pulls = np.zeros_like(whole)
    for pull, ends in (
        (down[:, :-1] / first, (np.s_[:-1, :-1], np.s_[1:, :-1])),
        (along[:-1] / first, (np.s_[:-1, :-1], np.s_[:-1, 1:])),
        (down[:, 1:] / second, (np.s_[:-1, 1:], np.s_[1:, 1:])),
        (along[1:] / second, (np.s_[1:, :-1], np.s_[1:, 1:])),
    ):
        pulls[ends[0]] -= 0.5 / n * pull
        pulls[ends[1]] += 0.5 / n * pull
    return row(pulls[1:-1, 1:-1])


def _surface_inputs(size: Size, rng: np.random.Generator) -> Values:
    (n,) = size
    bow = np.sin(np.linspace(0, np.pi, n + 2))[None]
    return rng.random((n, n)), bow, 0.5 * bow, np.zeros((n, 1)), np.zeros((n, 1))


MINIMAL_SURFACE = field_problem(
    function=minimal_surface, inputs=_surface_inputs, expected=minimal_surface_gradient, quick=((16,),), full=((200,),)
)

# ---- a flame front ---------------------------------------------------------------------------------------------------

TIME_STEP, SPACING = 0.05, 0.5


def kuramoto(tf: Any, u: Any, before: Any) -> Operand:
    """The residual of an implicit step of Kuramoto and Sivashinsky's equation on a ring."""
    right, left, far_right, far_left = (tf.roll(u, shift, 0) for shift in (-1, 1, -2, 2))
    slope = (right - left) * (0.5 / SPACING)
    curvature = (right - 2.0 * u + left) * (1 / SPACING**2)
    fourth = (far_right - 4.0 * right + 6.0 * u - 4.0 * left + far_left) * (1 / SPACING**4)
    return (u - before) * (1 / TIME_STEP) + u * slope + curvature + fourth


def kuramoto_jacobian(u: Any, before: Any) -> sparse.sparray:
    """Five diagonals, and their ends in the corners."""
    n, square = len(u), SPACING**2
    slope = (np.roll(u, -1) - np.roll(u, 1)) / (2 * SPACING)
    beside, far = 1 / square - 4 / square**2, np.full(n, 1 / square**2)
    entries = {
        -2: far,
        -1: beside - u / (2 * SPACING),
        0: 1 / TIME_STEP + slope - 2 / square + 6 / square**2,
        1: beside + u / (2 * SPACING),
        2: far,
    }
    rows = np.arange(n)
    columns = np.concatenate([(rows + shift) % n for shift in entries])
    return sparse.csr_array((np.concatenate([*entries.values()]), (np.tile(rows, 5), columns)), shape=(n, n))


KURAMOTO = field_problem(
    format="csr",
    function=kuramoto,
    inputs=lambda size, rng: (rng.normal(size=size), rng.normal(size=size)),
    expected=kuramoto_jacobian,
    quick=((400,),),
    full=((20_000,),),
)

# ---- a rocket's best flight, by collocation (COPS's Goddard rocket) --------------------------------------------------

DRAG, DECAY, EXHAUST = 310.0, 500.0, 0.5


def rocket(tf: Any, height: Any, speed: Any, mass: Any, thrust: Any) -> Operand:
    """By how much height, speed and mass at equal distances of time miss the trapezoid rule."""
    drag = DRAG * speed * speed * tf.exp(-DECAY * (height - 1.0))
    changes = speed, (thrust - drag) / mass - 1.0 / (height * height), thrust * (-1 / EXHAUST)
    half = 0.1 / int(height.shape[0])
    defects = [
        x[1:] - x[:-1] - half * (change[1:] + change[:-1])
        for x, change in zip((height, speed, mass), changes, strict=True)
    ]
    return tf.concat(defects, 0)


def rocket_jacobian(height: Any, speed: Any, mass: Any, thrust: Any) -> sparse.sparray:
    """A block of two diagonals for each state and what changes it."""
    n = len(height)
    half = 0.1 / n
    falls = np.exp(-DECAY * (height - 1))
    drag = DRAG * speed**2 * falls
    one = np.ones(n)
    changes: list[list[Any]] = [
        [None, one, None, None],
        [DECAY * drag / mass + 2 / height**3, -2 * DRAG * speed * falls / mass, -(thrust - drag) / mass**2, 1 / mass],
        [None, None, None, -one / EXHAUST],
    ]

    def block(slope: Any, state: bool) -> sparse.sparray:
        if slope is None and not state:
            return sparse.csr_array((n - 1, n))
        slope = np.zeros(n) if slope is None else slope
        diagonals = [-float(state) - half * slope[:-1], float(state) - half * slope[1:]]
        return sparse.diags_array(diagonals, offsets=[0, 1], shape=(n - 1, n))

    blocks = [[block(slope, k == row) for k, slope in enumerate(of)] for row, of in enumerate(changes)]
    return sparse.csr_array(sparse.block_array(blocks))


def _rocket_inputs(size: Size, rng: np.random.Generator) -> Values:
    (n,) = size
    height = np.linspace(1, 1.01, n) + 1e-4 * rng.random(n)
    return height, 0.1 * rng.random(n), np.linspace(1, 0.6, n), 3.5 * rng.random(n)


ROCKET = field_problem(
    format="csr",
    function=rocket,
    inputs=_rocket_inputs,
    expected=rocket_jacobian,
    sources=4,
    quick=((200,),),
    full=((20_000,),),
)

# ---- Broyden's tridiagonal equations (CUTEst) ------------------------------------------------------------------------


def broyden(tf: Any, x: Any, edge: Any) -> Operand:
    """Each unknown squared, less its neighbors; `edge` is a zero."""
    return (3.0 - 2.0 * x) * x - tf.concat([edge, x[:-1]], 0) - 2.0 * tf.concat([x[1:], edge], 0) + 1.0


def broyden_jacobian(x: Any, edge: Any) -> sparse.sparray:
    """Three diagonals."""
    beside = np.ones(len(x) - 1)
    return sparse.diags_array([-beside, 3 - 4 * x, -2 * beside], offsets=[-1, 0, 1], format="csr")


BROYDEN = field_problem(
    format="csr",
    function=broyden,
    inputs=lambda size, rng: (rng.normal(size=size), np.zeros(1)),
    expected=broyden_jacobian,
    quick=((300,),),
    full=((100_000,),),
)

# ---- Woods's function, extended (CUTEst) -----------------------------------------------------------------------------


def woods(tf: Any, x: Any) -> Operand:
    """Two valleys in each group of four unknowns, and a slope between them."""
    a, b, c, d = x[::4], x[1::4], x[2::4], x[3::4]
    first, second, near, far = b - a * a, d - c * c, b + d - 2.0, b - d
    valleys = 100.0 * first * first + (1.0 - a) * (1.0 - a) + 90.0 * second * second + (1.0 - c) * (1.0 - c)
    return tf.reduce_sum(valleys + 10.0 * near * near + 0.1 * far * far)


def woods_hessian(x: Any) -> sparse.sparray:
    """Blocks of four."""
    groups = x.reshape(-1, 4)
    blocks = np.zeros((len(groups), 4, 4))
    for k, weight in ((0, 100.0), (2, 90.0)):
        blocks[:, k, k] = weight * (12 * groups[:, k] ** 2 - 4 * groups[:, k + 1]) + 2
        blocks[:, k, k + 1] = blocks[:, k + 1, k] = -4 * weight * groups[:, k]
        blocks[:, k + 1, k + 1] = 2 * weight + 20.2
    blocks[:, 1, 3] = blocks[:, 3, 1] = 19.8
    rows, columns = np.broadcast_arrays(*(4 * np.arange(len(groups))[:, None, None] + np.indices((4, 4))[:, None]))
    there = blocks != 0
    return sparse.csr_array((blocks[there], (rows[there], columns[there])), shape=(x.size, x.size))


WOODS = field_problem(
    kind="hessian",
    format="csr",
    function=woods,
    inputs=lambda size, rng: (rng.normal(size=size),),
    expected=woods_hessian,
    quick=((400,),),
    full=((40_000,),),
)

# ---- electrons that repel each other (COPS) --------------------------------------------------------------------------


def electrons(tf: Any, places: Any, identity: Any) -> Operand:
    """Coulomb's energy of electrons in space."""
    n = int(places.shape[0])
    between = tf.reshape(places, [n, 1, 3]) - tf.reshape(places, [1, n, 3])
    distance = tf.sqrt(tf.reduce_sum(between * between, 2) + identity)
    return 0.5 * tf.reduce_sum((1.0 - identity) / distance)


def electrons_hessian(places: Any, identity: Any) -> np.ndarray:
    """A block for each pair, and their sums on the diagonal."""
    n = len(places)
    between = places[:, None] - places[None]
    distance = np.sqrt((between**2).sum(2) + identity)[..., None, None]
    blocks = np.eye(3) / distance**3 - 3 * between[..., :, None] * between[..., None, :] / distance**5
    blocks = (1 - identity)[..., None, None] * blocks
    hessian = np.einsum("ijab->iajb", blocks).copy()
    for i in range(n):
        hessian[i, :, i] = -blocks[i].sum(0)
    return hessian.reshape(3 * n, 3 * n)


def _electrons_inputs(size: Size, rng: np.random.Generator) -> Values:
    places = rng.normal(size=(*size, 3))
    return places / np.linalg.norm(places, axis=1, keepdims=True), np.eye(size[0])


ELECTRONS = field_problem(
    kind="hessian",
    function=electrons,
    inputs=_electrons_inputs,
    expected=electrons_hessian,
    quick=((6,),),
    full=((40,),),
)

# ---- how a loss with a differential equation in it bends -------------------------------------------------------------


def physics_bend(tf: Any, network: Any, times: Any) -> Operand:
    """The loss of `physics`, of all its weights in one row."""
    width = int(network.shape[0]) // 3
    return physics(tf, network[:width], network[width : 2 * width], network[2 * width :], times)


def physics_hessian(network: Any, times: Any) -> np.ndarray:
    """The gradient by hand, by a complex step (W. Squire and G. Trapp, SIAM Rev. 40, 1998): exact to rounding."""
    tiny = 1e-100
    return np.stack(
        [
            physics_gradient(slopes, shifts, weights, times)[0].imag / tiny
            for slopes, shifts, weights in (
                np.split(network + 1j * tiny * direction, 3) for direction in np.eye(len(network))
            )
        ]
    )


PHYSICS_HESSIAN = field_problem(
    name="physics_hessian",
    kind="hessian",
    function=physics_bend,
    inputs=lambda size, rng: (rng.normal(size=3 * size[1]), np.linspace(0, 3, size[0])[:, None]),
    expected=physics_hessian,
    quick=((20, 6),),
    full=((200, 32),),
)
