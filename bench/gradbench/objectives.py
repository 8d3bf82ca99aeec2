"""The functions of GradBench's evals, written once for graphs and tapes.

`tf` is ``graph_api`` or ``tape_api``; other arguments are tensors, if not said otherwise.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import multigammaln


def square(tf: Any, x: Any) -> Any:
    """The eval hello: ``x**2``."""
    return x * x


# ---- ADBench: gmm, ba, ht, lstm --------------------------------------------------------------------------------------


def triangle_places(d: int) -> np.ndarray:
    """Where the elements below a diagonal, column by column, stand in the flat d x d matrix."""
    columns, rows = np.triu_indices(d, 1)
    return rows * d + columns


def gmm(tf: Any, alpha: Any, mu: Any, q: Any, lower: Any, x: Any, gamma: float, m: int) -> Any:
    """The logarithm of the posterior of a Gaussian mixture with a Wishart prior.

    Parameters
    ----------
    alpha : tensor, shape (k,)
    mu, q : tensors, shape (k, d)
        Means, and logarithms of the diagonals of the factors of the inverse covariances.
    lower : tensor, shape (k, d * (d - 1) / 2)
        What stands below these diagonals, column by column.
    x : tensor, shape (n, d)
    gamma, m : numbers
        Of the prior.
    """
    (n, d), k = x.shape.as_list(), alpha.shape.as_list()[0]
    diagonal, sums = tf.exp(q), tf.reduce_sum(q, 1)
    places = np.full(d * d, d * (d - 1) // 2)
    places[triangle_places(d)] = np.arange(d * (d - 1) // 2)
    below = tf.reshape(tf.gather(tf.concat([lower, tf.zeros([k, 1], x.dtype)], 1), places, axis=1), [k, d, d])
    factors = below + tf.linalg.diag(diagonal)
    centered = x[:, None, :] - mu[None, :, :]
    whitened = tf.einsum("kij,nkj->nki", factors, centered)
    terms = alpha + sums - 0.5 * tf.reduce_sum(whitened * whitened, 2)
    likelihood = tf.reduce_sum(tf.reduce_logsumexp(terms, 1)) - n * tf.reduce_logsumexp(alpha)
    freedom = d + m + 1
    constant = freedom * d * (math.log(gamma) - 0.5 * math.log(2)) - float(multigammaln(0.5 * freedom, d))
    frobenius = tf.reduce_sum(diagonal * diagonal) + tf.reduce_sum(lower * lower)
    prior = k * constant - 0.5 * gamma * gamma * frobenius + m * tf.reduce_sum(sums)
    return likelihood + prior - 0.5 * n * d * math.log(2 * math.pi)


def rotated(tf: Any, rotation: Any, points: Any) -> Any:
    """Rows of points, turned about rows of rotation vectors (Rodrigues' formula)."""
    theta = tf.sqrt(tf.reduce_sum(rotation * rotation, 1, keepdims=True))
    axis, cosine = rotation / theta, tf.cos(theta)
    along = tf.reduce_sum(axis * points, 1, keepdims=True) * (1.0 - cosine)
    return points * cosine + tf.linalg.cross(axis, points) * tf.sin(theta) + axis * along


def bundle(tf: Any, cameras: Any, points: Any, weights: Any, features: Any, observed: np.ndarray) -> Any:
    """Both residuals of each observation, then the residual of each weight.

    Parameters
    ----------
    cameras : tensor, shape (n, 11)
        Rotation (3), center (3), focal length, principal point (2), radial distortion (2).
    points : tensor, shape (m, 3)
    weights : tensor, shape (p,)
    features : tensor, shape (p, 2)
    observed : array of int, shape (p, 2)
        Which camera saw which point.
    """
    camera, point = tf.gather(cameras, observed[:, 0]), tf.gather(points, observed[:, 1])
    seen = rotated(tf, camera[:, :3], point - camera[:, 3:6])
    image = seen[:, :2] / seen[:, 2:]
    square_radius = tf.reduce_sum(image * image, 1, keepdims=True)
    distortion = 1.0 + camera[:, 9:10] * square_radius + camera[:, 10:11] * square_radius * square_radius
    projected = image * distortion * camera[:, 6:7] + camera[:, 7:9]
    errors = weights[:, None] * (projected - features)
    return tf.concat([tf.reshape(errors, [-1]), 1.0 - weights * weights], 0)


def lstm(tf: Any, main: Any, extra: Any, state: Any, sequence: Any) -> Any:
    """The loss of a network of LSTM layers whose matrices are diagonal.

    Parameters
    ----------
    main : tensor, shape (2 * layers, 4 * size)
        Weights and biases of each layer: forget, input, output, change.
    extra : tensor, shape (3, size)
        Weights of the input, weights and biases of the output.
    state : tensor, shape (2 * layers, size)
        Hidden values and cells of each layer at the beginning.
    sequence : tensor, shape (length, size)
    """
    layers, size = main.shape.as_list()[0] // 2, extra.shape.as_list()[1]
    gates = tf.reshape(main, [layers, 2, 4, size])

    def step(carry: Any, row: Any) -> Any:
        hidden, cells, total = carry
        given, wanted = row[0], row[1]
        value, new_hidden, new_cells = given * extra[0], [], []
        for i in range(layers):
            (forget_w, input_w, output_w, change_w) = (gates[i, 0, j] for j in range(4))
            (forget_b, input_b, output_b, change_b) = (gates[i, 1, j] for j in range(4))
            forget = tf.sigmoid(value * forget_w + forget_b)
            entry = tf.sigmoid(hidden[i] * input_w + input_b)
            output = tf.sigmoid(value * output_w + output_b)
            change = tf.tanh(hidden[i] * change_w + change_b)
            cell = cells[i] * forget + entry * change
            value = output * tf.tanh(cell)
            new_hidden.append(value)
            new_cells.append(cell)
        predicted = value * extra[1] + extra[2]
        normalizer = tf.math.log(2.0 + tf.reduce_sum(tf.exp(predicted)))
        total = total + tf.reduce_sum(wanted * (predicted - normalizer))
        return tf.stack(new_hidden), tf.stack(new_cells), total

    start = (state[0::2], state[1::2], tf.zeros([], main.dtype))
    pairs = tf.stack([sequence[:-1], sequence[1:]], 1)
    count = sequence.shape.as_list()[0] - 1
    totals = tf.scan(step, pairs, start)[2]
    return -totals[-1] / (count * size)


def hand(tf: Any, theta: Any, us: Any, points: Any, model: dict[str, Any], correspondences: np.ndarray) -> Any:
    """Distances of measured points from a hand's surface, ``[points, 3]``.

    Parameters
    ----------
    theta : tensor, shape (26,)
        Rotation (3), translation (3), and four angles of each finger.
    us : tensor, shape (points, 2), or None
        Places in triangles; None: points correspond to vertices.
    points : tensor, shape (points, 3)
    model : dict
        Of arrays: a skeleton, and vertices that hang on it.
    correspondences : array of int
        The triangle, or the vertex, of each point.
    """
    vertices = _skinned(tf, theta, model)
    if us is None:
        return points - tf.gather(vertices, correspondences)
    corners = [tf.gather(vertices, model["triangles"][correspondences, i]) for i in range(3)]
    u, v = us[:, :1], us[:, 1:]
    return points - (u * corners[0] + v * corners[1] + (1.0 - u - v) * corners[2])


def _rotations(tf: Any, angles: Any) -> Any:
    """Matrices of Euler angles x, z, y: ``Rz @ Ry @ Rx``, ``[bones, 3, 3]``."""
    (sx, sz, sy), (cx, cz, cy) = (tf.unstack(part(angles), axis=1) for part in (tf.sin, tf.cos))
    rows = [
        [cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx],
        [sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx],
        [-sy, cy * sx, cy * cx],
    ]
    return tf.stack([tf.stack(row, -1) for row in rows], -2)


def _turned(tf: Any, vector: Any) -> Any:
    """The matrix of a rotation vector; the identity if that is shorter than 1e-4."""
    norm = tf.sqrt(tf.reduce_sum(vector * vector))
    short = norm < 1e-4
    x, y, z = tf.unstack(vector / tf.where(short, tf.ones_like(norm), norm))
    s, c = tf.sin(norm), tf.cos(norm)
    rows = [
        [x * x + (1.0 - x * x) * c, x * y * (1.0 - c) - z * s, x * z * (1.0 - c) + y * s],
        [x * y * (1.0 - c) + z * s, y * y + (1.0 - y * y) * c, y * z * (1.0 - c) - x * s],
        [x * z * (1.0 - c) - y * s, z * y * (1.0 - c) + x * s, z * z + (1.0 - z * z) * c],
    ]
    matrix = tf.stack([tf.stack(row) for row in rows])
    return tf.where(short, tf.eye(3, dtype=vector.dtype), matrix)


FINGERS, JOINTS, FIRST_BONE, FIRST_ANGLE = 5, 3, 2, 6


def _angle_places(bones: int) -> np.ndarray:
    """Which element of theta each angle of each bone is; the 26th stands for 0.

    Each finger has four bones of which three bend, the first of them in two directions.
    """
    places = np.full((bones, 3), 26)
    angle = FIRST_ANGLE
    for finger in range(FINGERS):
        for joint in range(JOINTS):
            bone = FIRST_BONE + 4 * finger + joint
            for axis in range(2 if joint == 0 else 1):
                places[bone, axis] = angle
                angle += 1
    return places


def _skinned(tf: Any, theta: Any, model: dict[str, Any]) -> Any:
    """The vertices, ``[vertices, 3]``: moved with their bones, then all together."""
    parents = model["parents"]
    angles = tf.gather(tf.concat([theta, tf.zeros([1], theta.dtype)], 0), _angle_places(len(parents)))
    turns = tf.pad(_rotations(tf, angles), [[0, 0], [0, 1], [0, 1]]) + np.diag([0.0, 0.0, 0.0, 1.0])
    relatives = tf.unstack(tf.matmul(model["base_relatives"], turns))
    absolutes: list[Any] = []
    for parent, relative in zip(parents, relatives, strict=True):
        absolutes.append(relative if parent == -1 else tf.matmul(absolutes[parent], relative))
    moves = tf.matmul(tf.stack(absolutes), model["inverse_base_absolutes"])[:, :3, :]
    vertices = tf.einsum("bij,vj,vb->vi", moves, model["base_positions"], model["weights"])
    if model["is_mirrored"]:
        vertices = vertices * np.array([-1.0, 1.0, 1.0])
    return tf.matmul(vertices, _turned(tf, theta[:3]), transpose_b=True) + theta[3:6]


# ---- cmpad: det, llsq, lse, ode; kmeans ------------------------------------------------------------------------------


def det(tf: Any, matrix: Any) -> Any:
    """A determinant by expansion by minors along the first row; `matrix` is ``[n, n]``."""
    entries = [tf.unstack(row) for row in tf.unstack(matrix)]

    def minor(row: int, columns: tuple[int, ...]) -> Any:
        if len(columns) == 1:
            return entries[row][columns[0]]
        total = None
        for i, column in enumerate(columns):
            term = entries[row][column] * minor(row + 1, columns[:i] + columns[i + 1 :])
            total = term if total is None else total - term if i % 2 else total + term
        return total

    return minor(0, tuple(range(len(entries))))


def llsq(tf: Any, x: Any, n: int) -> Any:
    """Half the sum of squares of what a polynomial of coefficients `x` misses of ``sign(t)`` at n places."""
    t = -1.0 + np.arange(n) * 2.0 / (n - 1)
    powers = t[:, None] ** np.arange(x.shape.as_list()[0])
    missed = np.sign(t) - tf.linalg.matvec(powers, x)
    return 0.5 * tf.reduce_sum(missed * missed)


def lse(tf: Any, x: Any) -> Any:
    """The logarithm of the sum of exponentials, of its primitive parts."""
    largest = tf.reduce_max(x)
    return largest + tf.math.log(tf.reduce_sum(tf.exp(x - largest)))


def ode(tf: Any, x: Any, s: int) -> Any:
    """The solution at time 2 of ``y_0' = x_0, y_i' = x_i y_{i-1}`` from 0, by `s` steps of Runge and Kutta."""
    h = 2.0 / s

    def slope(y: Any) -> Any:
        return tf.concat([x[:1], x[1:] * y[:-1]], 0)

    y = tf.zeros_like(x)
    for _ in range(s):
        k1 = slope(y)
        k2 = slope(y + h * k1 / 2.0)
        k3 = slope(y + h * k2 / 2.0)
        k4 = slope(y + h * k3)
        y = y + h * (k1 + 2.0 * k2 + 2.0 * k3 + k4) / 6.0
    return y


def kmeans(tf: Any, centroids: Any, points: Any) -> Any:
    """The sum of squared distances of points, ``[n, d]``, from the nearest of centroids, ``[k, d]``."""
    away = points[:, None, :] - centroids[None, :, :]
    return tf.reduce_sum(tf.reduce_min(tf.reduce_sum(away * away, 2), 1))
