"""``recompute_grad`` in graphs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def recompute_grad(
    fn: Callable[..., Any], use_data_dep: Any = None, tupleize_grads: bool = False
) -> Callable[..., Any]:
    """A function that computes what `fn` computes, with the same gradients to the bit.

    A run of a graph frees what nothing needs any more, but nothing is computed twice: memory for `fn`'s parts is held
    until the gradient has used them. On tapes ``tf.recompute_grad`` computes them again.

    Parameters
    ----------
    fn : callable
        Of tensors. It may read and make variables.
    use_data_dep, tupleize_grads
        Accepted for compatibility.

    Examples
    --------
    >>> import graph_api as tf
    >>> x = tf.constant(3.0)
    >>> y = tf.recompute_grad(lambda x: x * x)(x)
    >>> tf.Session().run(tf.gradients(y, x))
    [np.float32(6.0)]
    """
    if not callable(fn):
        raise TypeError(f"recompute_grad: argument `fn` must be callable, got {fn!r}")
    return functools.wraps(fn)(lambda *args, **kwargs: fn(*args, **kwargs))
