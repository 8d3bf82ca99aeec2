"""Problems of the field's own lists (ADBench, GradBench, COPS, CUTEst), written before anything was tuned for them.

Mixtures, least squares, molecules, attention, kinematics, boundary values, shooting, training steps. More are in
`networks`, `simulation` and `equations`. `Problem.held_out` says which are timed and reported, but never profiled.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from bench.problems.problem import Size, Values, field_problem
from engine.core.operands import Operand


def row(*gradients: Any) -> np.ndarray:
    """The Jacobian of a scalar."""
    return np.concatenate([np.ravel(g) for g in gradients])[None]


# ---- a mixture of normal distributions (ADBench's gmm, with diagonal covariances) ------------------------------------


def mixture(tf: Any, weights: Any, means: Any, scales: Any, points: Any) -> Operand:
    """The log-likelihood of a mixture of Gaussians; `scales` are logarithms of inverse deviations."""
    z = (points - means) * tf.exp(scales)
    terms = weights + tf.reduce_sum(scales, 1) - 0.5 * tf.reduce_sum(z * z, 2)
    total = tf.reduce_sum(tf.math.log(tf.reduce_sum(tf.exp(terms), 1)))
    return total - float(points.shape[0]) * tf.math.log(tf.reduce_sum(tf.exp(weights)))


def mixture_gradient(weights: Any, means: Any, scales: Any, points: Any) -> np.ndarray:
    """By how far each point belongs to each component."""
    z = (points - means) * np.exp(scales)
    belongs = np.exp(weights + scales.sum(1) - 0.5 * (z * z).sum(2))
    belongs /= belongs.sum(1, keepdims=True)
    share = np.exp(weights) / np.exp(weights).sum()
    of_means = np.einsum("nk,nkd->kd", belongs, z * np.exp(scales))
    return row(belongs.sum(0) - len(points) * share, of_means, np.einsum("nk,nkd->kd", belongs, 1 - z * z))


def _mixture_inputs(size: Size, rng: np.random.Generator) -> Values:
    n, d, k = size
    return rng.normal(size=k), rng.normal(size=(k, d)), 0.1 * rng.normal(size=(k, d)), rng.normal(size=(n, 1, d))


MIXTURE = field_problem(
    function=mixture,
    inputs=_mixture_inputs,
    expected=mixture_gradient,
    sources=3,
    quick=((100, 5, 5),),
    full=((1000, 20, 25),),
)

# ---- linear least squares --------------------------------------------------------------------------------------------


def least_squares(tf: Any, x: Any, matrix: Any, wanted: Any) -> Operand:
    """Half the sum of the squares of the residuals."""
    residual = tf.matmul(matrix, x) - wanted
    return 0.5 * tf.reduce_sum(residual * residual)


LEAST_SQUARES = field_problem(
    function=least_squares,
    inputs=lambda size, rng: (rng.normal(size=(size[1], 1)), rng.normal(size=size), rng.normal(size=(size[0], 1))),
    expected=lambda x, matrix, wanted: row(matrix.T @ (matrix @ x - wanted)),
    quick=((64, 32),),
    full=((1024, 512),),
)

# ---- atoms that attract and repel each other -------------------------------------------------------------------------


def molecule(tf: Any, positions: Any, identity: Any) -> Operand:
    """Lennard-Jones energy of atoms in space."""
    n = int(positions.shape[0])
    between = tf.reshape(positions, [n, 1, 3]) - tf.reshape(positions, [1, n, 3])
    distance = tf.reduce_sum(between * between, 2) + identity
    near = 1.0 / (distance * distance * distance)
    return 2.0 * tf.reduce_sum((near * near - near) * (1.0 - identity))


def molecule_gradient(positions: Any, identity: Any) -> np.ndarray:
    """The sum of forces along the lines between atoms."""
    between = positions[:, None] - positions[None]
    distance = (between**2).sum(2) + identity
    pull = -6 * (2 * distance**-3 - 1) * distance**-4 * (1 - identity)
    return row(4 * np.einsum("ij,ijd->id", pull, between))


def _molecule_inputs(size: Size, rng: np.random.Generator) -> Values:
    (n,) = size
    grid = np.stack(np.meshgrid(*[np.arange(round(n ** (1 / 3)) + 1.0)] * 3), -1).reshape(-1, 3)[:n]
    return 1.1 * grid + 0.05 * rng.normal(size=(n, 3)), np.eye(n)


MOLECULE = field_problem(
    function=molecule, inputs=_molecule_inputs, expected=molecule_gradient, quick=((20,),), full=((200,),)
)

# ---- attention -------------------------------------------------------------------------------------------------------


def attention(tf: Any, query: Any, key: Any, value: Any, tokens: Any, wanted: Any) -> Operand:
    """Half the squared error of one head of attention."""
    n, width = int(tokens.shape[0]), int(query.shape[1])
    scores = tf.matmul(tf.matmul(tokens, query), tf.transpose(tf.matmul(tokens, key), (1, 0)))
    grown = tf.exp(scores * (1 / np.sqrt(width)))
    shares = grown / tf.reshape(tf.reduce_sum(grown, 1), [n, 1])
    error = tf.matmul(shares, tf.matmul(tokens, value)) - wanted
    return 0.5 * tf.reduce_sum(error * error)


def attention_gradient(query: Any, key: Any, value: Any, tokens: Any, wanted: Any) -> np.ndarray:
    """Back through the products, and through the rows of shares."""
    width = query.shape[1] ** 0.5
    q, k, v = tokens @ query, tokens @ key, tokens @ value
    shares = np.exp(q @ k.T / width)
    shares /= shares.sum(1, keepdims=True)
    error = shares @ v - wanted
    back = error @ v.T
    back = shares * (back - (back * shares).sum(1, keepdims=True)) / width
    return row(tokens.T @ (back @ k), tokens.T @ (back.T @ q), tokens.T @ (shares.T @ error))


def _attention_inputs(size: Size, rng: np.random.Generator) -> Values:
    n, d, h = size
    return (*rng.normal(size=(3, d, h)) / np.sqrt(d), rng.normal(size=(n, d)), rng.normal(size=(n, h)))


ATTENTION = field_problem(
    function=attention,
    inputs=_attention_inputs,
    expected=attention_gradient,
    sources=3,
    quick=((16, 16, 8),),
    full=((128, 64, 64),),
)

# ---- kinematics ------------------------------------------------------------------------------------------------------


def arm(tf: Any, angles: Any, lengths: Any, lower: Any) -> Operand:
    """Where the joints of a planar robot are, from the angles between neighbors (a column)."""
    total = tf.matmul(lower, angles)
    return tf.concat([tf.matmul(lower, lengths * tf.cos(total)), tf.matmul(lower, lengths * tf.sin(total))], 0)


def arm_jacobian(angles: Any, lengths: Any, lower: Any) -> np.ndarray:
    """Two triangles."""
    total = lower @ angles
    return np.concatenate([lower @ (-lengths * np.sin(total) * lower), lower @ (lengths * np.cos(total) * lower)])


ARM = field_problem(
    function=arm,
    inputs=lambda size, rng: (rng.normal(size=(*size, 1)), rng.random((*size, 1)), np.tri(size[0])),
    expected=arm_jacobian,
    quick=((7,),),
    full=((100,),),
)

# ---- a boundary value problem in the plane ---------------------------------------------------------------------------

HEAT = 2.0


def bratu(tf: Any, u: Any, edge: Any) -> Operand:
    """The residual of Bratu's equation on a square grid, with zeros (`edge`, a row of them) around it."""
    n = int(u.shape[0])
    side = tf.reshape(edge, [n, 1])
    around = tf.concat([u[1:], edge], 0) + tf.concat([edge, u[:-1]], 0)
    around = around + tf.concat([u[:, 1:], side], 1) + tf.concat([side, u[:, :-1]], 1)
    return 4.0 * u - around - HEAT / (n + 1) ** 2 * tf.exp(u)


def bratu_jacobian(u: Any, edge: Any) -> np.ndarray:
    """Five diagonals."""
    n = len(u)
    line = sparse.diags_array([-np.ones(n - 1), 2 * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1])
    plane = sparse.kron(line, sparse.eye_array(n)) + sparse.kron(sparse.eye_array(n), line)
    return sparse.csr_array(plane - sparse.diags_array(HEAT / (n + 1) ** 2 * np.exp(u).ravel()))


BRATU = field_problem(
    function=bratu,
    inputs=lambda size, rng: (rng.random((*size, *size)), np.zeros((1, *size))),
    expected=bratu_jacobian,
    format="csr",
    quick=((32,),),
    full=((300,),),
)

# ---- multiple shooting -----------------------------------------------------------------------------------------------

STEPS, STEP, STIFFNESS = 10, 0.02, 1.5


def shooting(tf: Any, states: Any) -> Operand:
    """By how much each stretch of van der Pol's oscillator, from its own start, misses the start of the next one."""
    a, b = states[:, 0], states[:, 1]
    for _ in range(STEPS):
        a, b = a + STEP * b, b + STEP * (STIFFNESS * (1.0 - a * a) * b - a)
    return tf.concat([a[:-1] - states[1:, 0], b[:-1] - states[1:, 1]], 0)


def shooting_jacobian(states: Any) -> np.ndarray:
    """A product of Jacobians of steps per stretch, beside minus one."""
    a, b = states[:-1].T
    product = np.broadcast_to(np.eye(2), (len(a), 2, 2))
    for _ in range(STEPS):
        rows = [[np.ones_like(a), np.full_like(a, STEP)], [STEP * (-2 * STIFFNESS * a * b - 1), None]]
        rows[1][1] = 1 + STEP * STIFFNESS * (1 - a * a)
        product = np.moveaxis(np.array(rows), -1, 0) @ product
        a, b = a + STEP * b, b + STEP * (STIFFNESS * (1 - a * a) * b - a)
    m = len(a)
    found = sparse.lil_array((2 * m, 2 * m + 2))
    for i in range(m):
        for k in range(2):
            found[k * m + i, 2 * i : 2 * i + 2] = product[i, k]
            found[k * m + i, 2 * i + 2 + k] = -1
    return sparse.csr_array(found)


SHOOTING = field_problem(
    function=shooting,
    inputs=lambda size, rng: (rng.normal(size=(*size, 2)),),
    expected=shooting_jacobian,
    format="csr",
    quick=((50,),),
    full=((2000,),),
)

# ---- training steps --------------------------------------------------------------------------------------------------


def softmax_regression(tf: Any, weights: Any, features: Any, labels: Any) -> Operand:
    """The mean cross entropy; `labels` are rows with a one."""
    scores = tf.matmul(features, weights)
    return tf.reduce_mean(tf.math.log(tf.reduce_sum(tf.exp(scores), 1)) - tf.reduce_sum(labels * scores, 1))


def softmax_regression_gradient(weights: Any, features: Any, labels: Any) -> np.ndarray:
    """Probabilities less labels, by features."""
    return row(features.T @ (probabilities(features @ weights) - labels) / len(labels))


def probabilities(scores: Any) -> np.ndarray:
    """The softmax of each row."""
    grown = np.exp(scores)
    return grown / grown.sum(1, keepdims=True)


def one_hot(n: int, k: int, rng: np.random.Generator) -> np.ndarray:
    """Labels as rows with a one."""
    return np.eye(k)[rng.integers(0, k, n)]


SOFTMAX_REGRESSION = field_problem(
    function=softmax_regression,
    inputs=lambda size, rng: (
        0.1 * rng.normal(size=size[1:]),
        rng.normal(size=size[:2]),
        one_hot(size[0], size[2], rng),
    ),
    expected=softmax_regression_gradient,
    quick=((32, 20, 5),),
    full=((256, 256, 10),),
)


def classifier(tf: Any, first: Any, bias: Any, second: Any, features: Any, labels: Any) -> Operand:
    """The mean cross entropy of a network with one hidden layer."""
    hidden = tf.tanh(tf.matmul(features, first) + bias)
    return softmax_regression(tf, second, hidden, labels)


def classifier_gradient(first: Any, bias: Any, second: Any, features: Any, labels: Any) -> np.ndarray:
    """Back through both layers."""
    hidden = np.tanh(features @ first + bias)
    error = (probabilities(hidden @ second) - labels) / len(labels)
    back = (error @ second.T) * (1 - hidden**2)
    return row(features.T @ back, back.sum(0), hidden.T @ error)


def _classifier_inputs(size: Size, rng: np.random.Generator) -> Values:
    n, d, h, k = size
    weights = rng.normal(size=(d, h)) / np.sqrt(d), 0.1 * rng.normal(size=h), rng.normal(size=(h, k)) / np.sqrt(h)
    return (*weights, rng.normal(size=(n, d)), one_hot(n, k, rng))


CLASSIFIER = field_problem(
    function=classifier,
    inputs=_classifier_inputs,
    expected=classifier_gradient,
    sources=3,
    quick=((32, 16, 32, 4),),
    full=((128, 784, 128, 10),),
)

# ---- a loss with a differential equation in it -----------------------------------------------------------------------


def physics(tf: Any, slopes: Any, shifts: Any, weights: Any, times: Any) -> Operand:
    """The mean square of ``u' + u - sin`` for a network u of one hidden layer; `times` are a column."""
    hidden = tf.tanh(times * slopes + shifts)
    u = tf.reduce_sum(hidden * weights, 1)
    change = tf.reduce_sum((1.0 - hidden * hidden) * (slopes * weights), 1)
    residual = change + u - tf.reduce_sum(tf.sin(times), 1)
    return tf.reduce_mean(residual * residual)


def physics_gradient(slopes: Any, shifts: Any, weights: Any, times: Any) -> np.ndarray:
    """Back through the network and through its derivative."""
    hidden = np.tanh(times * slopes + shifts)
    rest = 1 - hidden**2
    back = 2 / len(times) * (rest @ (slopes * weights) + hidden @ weights - np.sin(times[:, 0]))[:, None]
    inner = back * (weights - 2 * hidden * slopes * weights) * rest
    of_slopes = (times * inner + back * rest * weights).sum(0)
    return row(of_slopes, inner.sum(0), (back * (hidden + rest * slopes)).sum(0))


PHYSICS = field_problem(
    function=physics,
    inputs=lambda size, rng: (*rng.normal(size=(3, size[1])), np.linspace(0, 3, size[0])[:, None]),
    expected=physics_gradient,
    sources=3,
    quick=((32, 16),),
    full=((512, 128),),
)

# ---- a chain that hangs between two points ---------------------------------------------------------------------------


def hanging_chain(tf: Any, points: Any, ends: Any) -> Operand:
    """The energy of weights joined by springs; `ends` are two rows."""
    line = tf.concat([ends[:1], points, ends[1:]], 0)
    step = line[1:] - line[:-1]
    stretch = tf.sqrt(tf.reduce_sum(step * step, 1)) - 0.1
    return tf.reduce_sum(points[:, 1]) + 50.0 * tf.reduce_sum(stretch * stretch)


def hanging_chain_gradient(points: Any, ends: Any) -> np.ndarray:
    """The weight, and the pull of both springs."""
    step = np.diff(np.concatenate([ends[:1], points, ends[1:]]), axis=0)
    length = np.sqrt((step**2).sum(1, keepdims=True))
    pull = 100 * (length - 0.1) / length * step
    return row(np.array([0.0, 1.0]) + pull[:-1] - pull[1:])


def _hanging_inputs(size: Size, rng: np.random.Generator) -> Values:
    return 0.2 * np.arange(1.0, size[0] + 1)[:, None] + 0.05 * rng.normal(size=(*size, 2)), np.array(
        [[0.0, 0.0], [0.2 * size[0] + 0.2, 0.0]]
    )


HANGING_CHAIN = field_problem(
    function=hanging_chain, inputs=_hanging_inputs, expected=hanging_chain_gradient, quick=((50,),), full=((5000,),)
)
