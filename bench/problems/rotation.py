"""Rotations by a vector (axis times angle), and their derivative."""

from __future__ import annotations

from typing import Any

import numpy as np


def rotate(tf: Any, rotation: Any, point: Any) -> tuple[Any, Any, Any]:
    """Rodrigues' formula; `rotation` and `point` are three arrays each. The angle must not be 0."""
    (a, b, c), (x, y, z) = rotation, point
    angle = tf.sqrt(a * a + b * b + c * c)
    a, b, c = a / angle, b / angle, c / angle
    cosine, sine = tf.cos(angle), tf.sin(angle)
    along = (a * x + b * y + c * z) * (1 - cosine)
    return (
        x * cosine + (b * z - c * y) * sine + a * along,
        y * cosine + (c * x - a * z) * sine + b * along,
        z * cosine + (a * y - b * x) * sine + c * along,
    )


def skew(v: Any) -> np.ndarray:
    """The matrices [v]× with ``[v]× w = v × w``, for vectors in the last axis."""
    x, y, z = np.moveaxis(np.asarray(v), -1, 0)
    zero = np.zeros_like(x)
    return np.stack([zero, -z, y, z, zero, -x, -y, x, zero], axis=-1).reshape(*zero.shape, 3, 3)


def matrices(rotation: Any) -> np.ndarray:
    """The rotation matrices of vectors in the last axis."""
    angle = np.linalg.norm(rotation, axis=-1)[..., None, None]
    k = skew(rotation) / angle
    return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * (k @ k)


def rotated_by_rotation(rotation: Any, point: Any) -> np.ndarray:
    """The derivative of the rotated point with respect to the rotation vector, as matrices [1]_.

    References
    ----------
    .. [1] G. Gallego, A. Yezzi, "A compact formula for the derivative of a 3-D rotation in exponential coordinates",
       J. Math. Imaging Vision 51 (2015), equation 8.
    """
    matrix = matrices(rotation)
    outer = rotation[..., :, None] * rotation[..., None, :]
    change = outer + (np.swapaxes(matrix, -1, -2) - np.eye(3)) @ skew(rotation)
    return -matrix @ skew(point) @ change / np.sum(rotation**2, axis=-1)[..., None, None]
