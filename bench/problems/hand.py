"""Hand tracking: the vertices of a hand of five fingers, moved by 26 parameters; a tall dense Jacobian.

The parameters are the hand's rotation (3) and place (3), and four angles for each finger: two of its first joint, one
of each further joint. A vertex follows several bones, by weights. Like ADBench's problem of that name, on generated
hands.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.problems.problem import Problem, Size, Values
from bench.problems.rotation import matrices, rotate, rotated_by_rotation, skew
from engine.core.operands import Operand

FINGERS, JOINTS = 5, 3


def hand(
    tf: Any, pose: Any, along: Any, across: Any, turn: Any, roots: Any, bones: Any, skin: Any, palm: Any, seen: Any
) -> Operand:
    """How far each vertex is from where it was seen: (vertices, 3).

    A hinge of angle t rotates by ``along + cos(t) across + sin(t) turn`` (each of shape (4, fingers, 3, 3)).
    """
    angles = tf.reshape(pose[6:], [JOINTS + 1, FINGERS, 1, 1])
    hinges = along + tf.cos(angles) * across + tf.sin(angles) * turn
    rotation, place = tf.matmul(hinges[0], hinges[1]), roots
    frames = [tf.concat([rotation, place], 2)]
    for joint in range(1, JOINTS):
        place = place + tf.matmul(rotation, bones[joint - 1])
        rotation = tf.matmul(rotation, hinges[joint + 1])
        frames.append(tf.concat([rotation, place], 2))
    stacked = tf.reshape(tf.transpose(tf.stack(frames), [0, 1, 3, 2]), [JOINTS * FINGERS * 4, 3])
    vertices = tf.unstack(tf.matmul(skin, stacked) + palm, axis=1)
    a, b, c, x, y, z = tf.unstack(pose[:6])
    turned_x, turned_y, turned_z = rotate(tf, (a, b, c), vertices)
    return tf.stack([turned_x + x, turned_y + y, turned_z + z], axis=1) - seen


def hand_jacobian(
    pose: Any, along: Any, across: Any, turn: Any, roots: Any, bones: Any, skin: Any, palm: Any, seen: Any
) -> np.ndarray:
    """Geometry: a hinge moves a vertex behind it at right angles to its axis and to the way from the axis."""
    rows = len(seen)
    angles = pose[6:].reshape(JOINTS + 1, FINGERS, 1, 1)
    hinges = along + np.cos(angles) * across + np.sin(angles) * turn
    axes = np.stack([turn[..., 2, 1], turn[..., 0, 2], turn[..., 1, 0]], axis=-1)[..., None]
    # each hinge's axis and pivot in the hand's frame; each bone's frame
    rotation, place = hinges[0] @ hinges[1], roots
    axis, pivot, frames = [axes[0], hinges[0] @ axes[1]], [roots, roots], [(rotation, place)]
    for joint in range(1, JOINTS):
        place = place + rotation @ bones[joint - 1]
        axis.append(rotation @ axes[joint + 1])
        pivot.append(place)
        rotation = rotation @ hinges[joint + 1]
        frames.append((rotation, place))
    # a vertex's share in each bone: its weight, and weight times where it is
    shares = skin.reshape(rows, JOINTS, FINGERS, 4)
    weight = shares[..., 3:]
    at = np.stack(
        [
            np.einsum("fij,vfj->vfi", r, shares[:, k, :, :3]) + weight[:, k] * p[..., 0]
            for k, (r, p) in enumerate(frames)
        ],
        axis=1,
    )
    matrix = matrices(pose[:3])
    jacobian = np.zeros((rows, 3, len(pose)))
    vertices = at.sum((1, 2)) + palm
    jacobian[:, :, :3] = rotated_by_rotation(np.broadcast_to(pose[:3], vertices.shape), vertices)
    jacobian[:, :, 3:6] = np.eye(3)
    for hinge in range(JOINTS + 1):
        behind = max(hinge - 1, 0)
        way = at[:, behind:].sum(1) - weight[:, behind:].sum(1) * pivot[hinge][..., 0]
        moved = np.einsum("fij,vfj->vif", skew(axis[hinge][..., 0]), way)
        jacobian[:, :, 6 + FINGERS * hinge :][:, :, :FINGERS] = matrix @ moved
    return jacobian.reshape(3 * rows, len(pose))


def some_hand(size: Size, rng: np.random.Generator) -> Values:
    """A hand whose vertices follow bones at random."""
    rows = size[0]
    axes = rng.normal(size=(JOINTS + 1, FINGERS, 3))
    axes /= np.linalg.norm(axes, axis=-1, keepdims=True)
    along = axes[..., :, None] * axes[..., None, :]
    weights = rng.dirichlet(np.full(JOINTS * FINGERS + 1, 0.1), rows)
    shares = np.concatenate([0.3 * rng.normal(size=(rows, JOINTS * FINGERS, 3)), np.ones((rows, 15, 1))], axis=2)
    return (
        0.5 * rng.normal(size=6 + FINGERS * (JOINTS + 1)),
        along,
        np.eye(3) - along,
        skew(axes),
        rng.normal(size=(FINGERS, 3, 1)),
        rng.normal(size=(JOINTS - 1, FINGERS, 3, 1)),
        (weights[:, 1:, None] * shares).reshape(rows, -1),
        weights[:, :1] * rng.normal(size=(rows, 3)),
        rng.normal(size=(rows, 3)),
    )


HAND = Problem(
    group="dense",
    function=hand,
    inputs=some_hand,
    expected=hand_jacobian,
    quick=((100,), (1000,)),
    full=((10_000,), (100_000,)),
)
