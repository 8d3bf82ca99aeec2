"""Programs on many short rows and on long vectors of which a few elements count.

The compiler splits rows into columns, and leaves out what is known to be zero. Both begin where arrays are longer than
those of other programs.
"""

from collections.abc import Iterator
from typing import Any

from tests.fuzz.recipes import Recipe, idiom_recipe

SHARE = 0.1
"""How many programs are of this kind."""
LENGTHS = (12, 17, 24)
SHAPES = ("p3", "p3", "p3", "p1", "p2", "p", "p", "p4", "p22", "p32", "1p", "2p", "3", "1", "", "p6", "p31", "p13")

# Operands: see `tests.fuzz.recipes.IDIOMS`.
IDIOMS = {
    "m": """
        {0}[:, 1:]
        {0}[:, :2]
        {0}[:, 0]
        {0}[:, -1:]
        {0}[:, ::-1]
        {0}[:, ::2]
        {0}[..., 0] * {0}[..., -1]
        {0}[..., :1] * {0}
        {0}[..., -1:] - {0}[..., :1]
        tf.reduce_sum({0} * {0}, -1, keepdims=True)
        tf.reduce_sum({0}, -1, keepdims=True) * {0}
        tf.reduce_sum({0}, -1)
        tf.reduce_sum({0}, 1)
        tf.reduce_mean({0}, -1, keepdims=True)
        tf.reduce_max({0}, -1, keepdims=True)
        tf.reduce_sum(tf.square({0}), axis=[0])
        tf.norm({0}, axis=-1, keepdims=True)
        {0} / (1.0 + tf.reduce_sum({0} * {0}, -1, keepdims=True))
        tf.sin({0}) * tf.cos({0}[..., :1])
        tf.stack(tf.unstack({0}, axis=-1)[::-1], -1)
        tf.unstack({0}, axis=-1)[0] + tf.unstack({0}, axis=-1)[-1]
        tf.concat([{0}, {0}[..., :1]], -1)
        tf.concat([{0}[..., 1:], {0}[..., :1]], -1)
        tf.concat([{0}, tf.ones_like({0}[..., :1])], -1)
        tf.concat([tf.zeros_like({0}[..., :1]), {0}], -1)
        tf.transpose({0})
        tf.transpose(tf.transpose({0}) * 2.0)
        tf.linalg.matrix_transpose({0})
        tf.linalg.cross({0}[..., :3], {0}[..., :3] * {0}[..., :1])
        tf.linalg.cross({0}[..., :3], tf.sin({0}[..., :3]))
        tf.linalg.cross({0}[..., :3], tf.constant([1.0, -2.0, 0.5], {0}.dtype) + 0.0 * {0}[..., :3])
        {0}[..., :2] @ tf.constant([[1.0, 2.0], [-0.5, 0.0]], {0}.dtype)
        tf.einsum('...i,...i->...', {0}, {0})
        tf.einsum('...i,...j->...ij', {0}, {0})
        tf.einsum('...ij,...j->...i', tf.stack([{0}, {0}], -2), {0})
        tf.linalg.matvec({0}[..., :, None] * {0}[..., None, :], {0})
        ({0}[..., :, None] + {0}[..., None, :]) @ ({0}[..., :, None] * {0}[..., None, :])
        tf.matmul({0}[..., :, None] + {0}[..., None, :], {0}[..., :, None] * tf.sin({0})[..., None, :], False, True)
        tf.matmul(tf.stack([{0}, {0} * {0}], -1), tf.stack([{0}, -{0}], -1), transpose_a=True)
        tf.einsum('...ij,...jk->...ki', {0}[..., :, None] + {0}[..., None, :], tf.stack([{0}, {0} * {0}], -1))
        tf.einsum('...i,...ji->...j', {0}, tf.stack([{0}, {0} + 1.0], -2))
        tf.reduce_sum({0}[..., :, None] * {0}[..., None, :], axis=[-2, -1])
        tf.reduce_sum(tf.stack([{0}, {0} * {0}, -{0}], -2), axis=-2)
        tf.reduce_sum(tf.stack([{0}, {0} * {0}, -{0}], -2), axis=[-2, -1], keepdims=True)
        tf.norm(tf.stack([{0}, {0} * {0}, {0} + 1.0], -1), axis=[-2, -1])
        tf.transpose(tf.stack([{0}, {0} * {0}], 0))
        tf.reshape({0}[..., :, None] * {0}[..., None, :], tf.concat([tf.shape({0})[:-1], [-1]], 0))
        tf.pad({0}, [[0, 0], [1, 0]])
        tf.pad({0}, [[1, 1], [0, 0]])
        tf.reshape({0}, [-1, 2])
        tf.reshape({0}, [-1])
        tf.where({0} > 0, {0}, 0.1 * {0}) if {0}.dtype.is_floating else {0}
        tf.squeeze({0}[..., :1], -1)
        {0}[..., None] * {0}[..., None, :]
        tf.tile({0}[..., :1], [1, 3])
        tf.broadcast_to({0}[..., :1], tf.shape({0}))
        tf.gather({0}, [1, 0], axis=-1)
        tf.gather({0}, [5, 0, 5], axis=0)
        tf.nn.softmax({0})
    """,
    "v": """
        {0}[-1]
        {0}[0]
        {0}[3]
        {0}[-1:] * 2.0
        {0}[2:5]
        {0}[1:-1]
        {0}[2:] - 2.0 * {0}[1:-1] + {0}[:-2]
        {0}[1:] * {0}[:-1]
        {0} + 0.1 * tf.concat([{0}[1:], {0}[:1]], 0)
        {0} + 0.1 * tf.concat([{0}[:1], {0}[:-1]], 0)
        tf.concat([tf.zeros_like({0}[:1]), {0}[:-1] * {0}[1:]], 0) + {0}
        tf.concat([{0}[:1], {0}[1:-1] + 0.1 * ({0}[2:] - {0}[:-2]), {0}[-1:]], 0)
        tf.concat([{0}[:3], {0}[8:]], 0)
        tf.concat([{0}[1:4], tf.zeros_like({0}[4:])], 0)
        tf.pad({0}[1:-1], [[1, 1]]) * {0}
        tf.roll({0}, 1, 0) - {0}
        {0}[::2]
        {0}[::-1]
        {0}[4::-1]
        tf.reduce_sum({0}[:2])
        tf.reduce_sum({0}[5:] ** 2, 0)
        {0} * {0}[:1]
        tf.sin({0}) + {0}
        {0} * {0} + 0.0
        {0} * 0.0 + {0}[:1]
        tf.stack([{0}[0], {0}[-1], {0}[1]])
        tf.split({0}, [2, -1], 0)[0]
        tf.tanh({0})
        1.0 / (2.0 + {0} * {0})
        tf.stop_gradient({0}) * {0}
    """,
    "xy": """
        {0} + {1}
        {0} * {1}
        {0} - {1}
        {0} / (1.5 + {1} * {1})
        tf.maximum({0}, {1}) if {0}.dtype.is_floating else {0}
        tf.math.squared_difference({0}, {1})
        tf.concat([{0}, {1}], -1)
        tf.concat([{0}, {1}], 0)
        tf.stack([{0}, {1}], -1)
    """,
}


def _recipes() -> Iterator[Recipe]:
    for operands, codes in IDIOMS.items():
        for code in map(str.strip, codes.strip().splitlines()):
            yield idiom_recipe("rows", operands, code)


RECIPES = list(_recipes())


def shapes_of(rng: Any) -> list[tuple[int, ...]]:
    """The shapes that the leaves of a program may have: with one length that is long."""
    length = rng.choice(LENGTHS)
    return [tuple([length if c == "p" else int(c) for c in shape]) for shape in SHAPES]
