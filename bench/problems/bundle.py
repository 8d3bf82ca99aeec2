"""Bundle adjustment: cameras and points that explain what was seen where, in the formulation of ADBench [1]_.

A camera has 11 parameters (rotation 3, center 3, focal length 1, principal point 2, radial distortion 2), a point 3, an
observation a weight. Each observation has two residuals, and its weight one more: 31 non-zeros.

References
----------
.. [1] F. Šrajer, Z. Kukelova, A. Fitzgibbon, "A benchmark of selected algorithmic differentiation tools on some
   problems in computer vision and machine learning", Optim. Methods Softw. 33 (2018).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from bench.problems.problem import Problem, Size, Values
from bench.problems.rotation import matrices, rotate, rotated_by_rotation
from engine.core.operands import Operand


def bundle(
    tf: Any, cameras: Any, points: Any, weights: Any, camera_of: Any, point_of: Any, seen_x: Any, seen_y: Any
) -> Operand:
    """Bundle adjustment: both residuals of every observation, then the residual of every weight."""
    a, b, c, center_x, center_y, center_z, focal, shift_x, shift_y, k1, k2 = tf.unstack(
        tf.gather(cameras, camera_of), axis=1
    )
    x, y, z = tf.unstack(tf.gather(points, point_of), axis=1)
    x, y, z = rotate(tf, (a, b, c), (x - center_x, y - center_y, z - center_z))
    u, v = x / z, y / z
    square = u * u + v * v
    scale = focal * (1 + square * (k1 + square * k2))
    errors = tf.stack([weights * (u * scale + shift_x - seen_x), weights * (v * scale + shift_y - seen_y)], axis=1)
    return tf.concat([tf.reshape(errors, [-1]), 1 - weights * weights], 0)


def bundle_jacobian(
    cameras: Any, points: Any, weights: Any, camera_of: Any, point_of: Any, seen_x: Any, seen_y: Any
) -> np.ndarray:
    """The blocks of each observation by the chain rule, put in place."""
    camera = cameras[camera_of]
    rotation, center, focal, k1, k2 = camera[:, :3], camera[:, 3:6], camera[:, 6], camera[:, 9], camera[:, 10]
    away = points[point_of] - center
    matrix = matrices(rotation)
    x, y, z = np.einsum("oij,oj->io", matrix, away)
    image = np.stack([x / z, y / z], axis=1)
    square = np.sum(image**2, axis=1)
    distortion = 1 + k1 * square + k2 * square**2
    # image by point in the camera's frame, and what the distortion makes of the image
    zero = np.zeros_like(z)
    flat = np.stack([1 / z, zero, -x / z**2, zero, 1 / z, -y / z**2], axis=1).reshape(-1, 2, 3)
    bend = distortion[:, None, None] * np.eye(2)
    bend = bend + (2 * (k1 + 2 * k2 * square))[:, None, None] * image[:, :, None] * image[:, None, :]
    by_place = focal[:, None, None] * bend @ flat
    by_point = by_place @ matrix
    by_camera = np.concatenate(
        [
            by_place @ rotated_by_rotation(rotation, away),
            -by_point,
            (distortion[:, None] * image)[:, :, None],
            np.broadcast_to(np.eye(2), (len(z), 2, 2)),
            ((focal * square)[:, None] * image)[:, :, None],
            ((focal * square**2)[:, None] * image)[:, :, None],
        ],
        axis=2,
    )
    by_weight = (focal * distortion)[:, None] * image + camera[:, 7:9] - np.stack([seen_x, seen_y], axis=1)
    scale = weights[:, None, None]
    entries = np.concatenate([scale * by_camera, scale * by_point, by_weight[:, :, None]], axis=2)
    # where they go
    first_point, first_weight = cameras.size, cameras.size + points.size
    observation = np.arange(len(weights))
    columns = np.concatenate(
        [
            11 * camera_of[:, None] + np.arange(11),
            first_point + 3 * point_of[:, None] + np.arange(3),
            first_weight + observation[:, None],
        ],
        axis=1,
    )
    columns = np.concatenate([np.repeat(columns, 2, axis=0).ravel(), first_weight + observation])
    starts = np.concatenate([15 * np.arange(2 * len(weights)), 30 * len(weights) + np.arange(len(weights) + 1)])
    data = np.concatenate([entries.ravel(), -2 * weights])
    return sparse.csr_array((data, columns, starts), shape=(3 * len(weights), first_weight + len(weights)))


def scene(size: Size, rng: np.random.Generator) -> Values:
    """A generated scene: a cloud of points around the origin, cameras that look at it from all sides."""
    cameras, points, observations = size
    rotation = rng.normal(size=(cameras, 3))
    # a camera sees the origin at (0, 0, 5) in its own frame, more or less
    place = np.array([0.0, 0.0, 5.0]) + 0.2 * rng.normal(size=(cameras, 3))
    center = -np.einsum("cji,cj->ci", matrices(rotation), place)
    focal = rng.uniform(400, 600, (cameras, 1))
    shift = np.array([320.0, 240.0]) + rng.normal(size=(cameras, 2))
    radial = rng.normal(size=(cameras, 2)) * [0.1, 0.01]
    return (
        np.concatenate([rotation, center, focal, shift, radial], axis=1),
        rng.uniform(-1, 1, (points, 3)),
        rng.uniform(0.5, 1.5, observations),
        np.sort(np.arange(observations) % cameras),
        rng.permutation(np.arange(observations) % points),
        320 + 50 * rng.normal(size=observations),
        240 + 50 * rng.normal(size=observations),
    )


# the numbers of cameras, points and observations of ADBench's scenes 1, 3 and 5
BUNDLE = Problem(
    group="sparse",
    format="csr",
    function=bundle,
    inputs=scene,
    expected=bundle_jacobian,
    sources=3,
    quick=((5, 60, 300), (49, 7776, 31843)),
    full=((161, 48126, 182072), (257, 65132, 225911)),
)
