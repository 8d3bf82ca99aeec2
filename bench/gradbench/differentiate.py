"""A derivative of a function, taken in a mode, as something that can be called again and again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

import graph_api
import tape_api

Mode = Literal["graph", "function", "tape"]
What = Literal["value", "gradient", "jacobian", "rows", "csr", "newton"]
MODES: tuple[Mode, ...] = ("graph", "function", "tape")

Function = Callable[..., Any]


def prepared(mode: Mode, what: What, function: Function, sources: Sequence[Any], others: Sequence[Any] = ()) -> Any:
    """A call without arguments that computes a value or a derivative of `function` anew.

    Parameters
    ----------
    mode : {"graph", "function", "tape"}
        A session, a `tf.function`, or a tape that records each time.
    what : {"value", "gradient", "jacobian", "rows", "csr", "newton"}
        "rows" is the Jacobian in the first source, and of each row in its own row of every other source; "csr" a sparse
        Jacobian; "newton" the gradient divided by the Hessian's diagonal.
    function : callable
        ``function(tf, *sources, *others)``.
    sources, others : sequences of arrays
        Those to differentiate with respect to, and the others. A session is fed all of them in each call; a function
        takes tensors, which are made of them once.

    Returns
    -------
    callable
        It gives arrays or SciPy's sparse arrays: one for each source, but of "value" and "csr" a single one.
    """
    arrays = [np.asarray(a) for a in (*sources, *others)]
    count = len(sources)
    if mode == "graph":
        return _in_a_session(what, function, arrays, count)
    fn = _on_a_tape(what, function, count)
    if mode == "function":
        fn = tape_api.function(fn)

    tensors = [tape_api.constant(a) for a in arrays]

    def call() -> Any:
        results = fn(*tensors)
        return results if what == "csr" else tape_api.nest.map_structure(lambda x: x.numpy(), results)

    return call


def _in_a_session(what: What, function: Function, arrays: Sequence[np.ndarray], count: int) -> Callable[[], Any]:
    tf = graph_api
    graph = tf.Graph()
    with graph.as_default():
        tensors = [tf.placeholder(a.dtype, a.shape) for a in arrays]
        y = function(tf, *tensors)
        if what == "value":
            fetched = y
        elif what == "gradient":
            fetched = tf.gradients(y, tensors[:count])
        elif what == "jacobian":
            fetched = [tf.jacobian(y, x) for x in tensors[:count]]
        elif what == "rows":
            fetched = [tf.jacobian(y, tensors[0]), *(tf.batch_jacobian(y, x) for x in tensors[1:count])]
        elif what == "csr":
            fetched = tf.jacobian(y, tensors[:count], format="csr")
        else:
            x = tensors[0]
            fetched = [tf.gradients(y, x)[0] / tf.hessian_diag(y, x)]
    session = tf.Session(graph=graph)
    feed = dict(zip(tensors, arrays, strict=True))
    return lambda: session.run(fetched, feed)


def _on_a_tape(what: What, function: Function, count: int) -> Callable[..., Any]:
    tf = tape_api

    def derivative(*tensors: Any) -> Any:
        sources = tensors[:count]
        if what == "value":
            return function(tf, *tensors)
        with tf.GradientTape(persistent=what in ("jacobian", "rows", "newton")) as tape:
            tape.watch(sources)
            y = function(tf, *tensors)
        if what == "gradient":
            return tape.gradient(y, list(sources))
        if what == "jacobian":
            return [tape.jacobian(y, x) for x in sources]
        if what == "rows":
            return [tape.jacobian(y, sources[0]), *(tape.batch_jacobian(y, x) for x in sources[1:])]
        if what == "csr":
            return tape.jacobian(y, list(sources), format="csr")
        return [tape.gradient(y, sources[0]) / tape.hessian_diag(y, sources[0])]

    return derivative
