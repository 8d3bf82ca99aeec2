"""``tf.random_normal_initializer``, ``tf.random_uniform_initializer``: TensorFlow's own, not Keras's.

Without a seed each call draws other numbers, as ``tf.random.normal`` does; Keras's draw a seed when they are made.
"""

from __future__ import annotations

from dualgrad.frontend import initializers
from tape_api.keras_host import host


class random_normal_initializer(initializers.RandomNormal):
    """Normally distributed.

    Examples
    --------
    >>> import tape_api as tf
    >>> tf.random_normal_initializer(stddev=0.1, seed=3)([2, 2]).shape
    TensorShape([2, 2])
    """

    source = host.source


class random_uniform_initializer(initializers.RandomUniform):
    """Uniform in [minval, maxval)."""

    source = host.source
