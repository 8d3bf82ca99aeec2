"""One function's Jacobian in both front ends, and row by row by gradients, to hold it against."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import graph_api
import tape_api
from engine.runtime.errors import InvalidArgumentError
from tests.tapes import watching

Function = Callable[..., Any]
"""``fn(tf, *tensors)``: a tensor, with either front end for `tf`."""


def on_tape(fn: Function, *values: Any, method: str = "jacobian", **options: Any) -> Any:
    """What a tape's method gives for a function of constants: a list with an entry per value."""
    tensors = [tape_api.constant(v) for v in values]
    tape, y = watching([t for t in tensors if not t.dtype.is_integer], lambda: fn(tape_api, *tensors))
    return getattr(tape, method)(y, tensors, **options)


def in_graph(fn: Function, *values: Any, method: str = "jacobian", **options: Any) -> Any:
    """What a session gives for a function of placeholders: a list with an entry per value; None where there is none."""
    tf = graph_api
    with tf.Graph().as_default():
        xs = [tf.placeholder(np.asarray(v).dtype, np.shape(v)) for v in values]
        found = getattr(tf, method)(fn(tf, *xs), xs, **options)
        with tf.Session() as session:
            fed = dict(zip(xs, values, strict=True))
            return tape_api.nest.map_structure(lambda x: None if x is None else session.run(x, fed), found)


def least_memory(fn: Function, *values: Any, **options: Any) -> int:
    """The smallest `max_bytes` for a Jacobian in both front ends: that of sweeps with one seed each."""
    least = 1
    for taken in (on_tape, in_graph):
        try:
            taken(fn, *values, **options, max_bytes=1)
        except InvalidArgumentError as error:
            found = re.search(r"`max_bytes` must be at least (\d+)", str(error))
            assert found is not None
            least = max(least, int(found[1]))
    return least


def row_by_row(fn: Function, *values: Any) -> list[np.ndarray]:
    """A matrix per value, of shape (elements of the target, elements of the value): each row is one gradient."""
    tensors = [tape_api.constant(v) for v in values]
    with tape_api.GradientTape(persistent=True) as tape:
        tape.watch(tensors)
        y = fn(tape_api, *tensors)
        elements = tape_api.unstack(tape_api.reshape(y, [-1])) if np.size(y) else []
    rows = [[tape.gradient(e, x, unconnected_gradients="zero") for x in tensors] for e in elements]
    return [
        np.stack([np.reshape(row[j].numpy(), -1) for row in rows]) if rows else np.zeros((0, np.size(v)))
        for j, v in enumerate(values)
    ]


def dense(found: Any) -> np.ndarray:
    """A Jacobian in whatever form it was handed out as an array."""
    if hasattr(found, "matmat"):
        return np.asarray(found @ np.eye(found.shape[1]))
    return np.asarray(found.toarray() if hasattr(found, "toarray") else found)


def matrix(found: Any, like: np.ndarray) -> np.ndarray:
    """A block as a matrix: zeros for None, dense for sparse."""
    return np.zeros_like(like) if found is None else dense(found).reshape(like.shape)


def points(*shapes: Sequence[int], seed: int = 0) -> list[np.ndarray]:
    """Arrays of numbers between 0.5 and 1.5."""
    rng = np.random.default_rng(seed)
    return [rng.uniform(0.5, 1.5, shape) for shape in shapes]
