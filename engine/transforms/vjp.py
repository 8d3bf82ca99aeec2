"""From a function of values to its derivatives, without a front end.

`vjp` and `jvp` record one call of the function on a tape and hand the recording to the reverse and the forward walk.
They may be nested: what they compute is made of ops, so it can be recorded, and differentiated, again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import engine.numpy_api.operators  # noqa: F401  (rules use Python's operators on values)
from engine.core.eager import EagerTensor
from engine.core.nest import flatten, pack_sequence_as
from engine.core.op import Node
from engine.core.tape import Tape
from engine.core.value import Value, as_array, dtype_of
from engine.derivatives.forward import forward
from engine.derivatives.reverse import reverse
from engine.derivatives.slopes import with_slopes
from engine.ops.creation import zeros_like


def recorded(fn: Callable[..., Any], *args: Any) -> tuple[Sequence[Node], tuple[Any, ...], Any]:
    """Call `fn` and record what it does with its floating or complex arguments: the nodes, its inputs, and its outputs.

    Raw arguments become eager values first. No value may occur twice: a tape tells values apart by identity.
    """
    inputs = tuple([as_value(a) for a in args])
    if len({id(x) for x in inputs}) < len(inputs):
        raise ValueError("the same value was given for two arguments; their derivatives could not be told apart")
    tape = Tape()
    for x in inputs:
        if dtype_of(x).is_differentiable:
            tape.watch(x)
    tape.start()
    try:
        outputs = fn(*inputs)
    finally:
        tape.stop()
    return tape.nodes, inputs, outputs


def vjp(fn: Callable[..., Any], *args: Any) -> tuple[Any, Callable[[Any], list[Any]]]:
    """The value of `fn` and the function that pulls a cotangent of it back to the arguments.

    ``pull(ct)``, with `ct` of the structure, shapes and dtypes of the value, is a list of one cotangent per argument,
    zeros where the value does not depend on it.

    Examples
    --------
    >>> import numpy as np
    >>> from engine.ops.arithmetic import multiply
    >>> out, pull = vjp(multiply, np.array([1., 2.]), np.array(3.))
    >>> [ct.tolist() for ct in pull(np.array([1., 10.]))]
    [[3.0, 30.0], 21.0]
    """
    nodes, inputs, out = recorded(fn, *args)

    def pull(ct: Any) -> list[Any]:
        found = reverse(with_slopes(nodes), zip(flatten(out), map(as_value, flatten(ct)), strict=True), inputs)
        return [as_value(zeros_like(x) if c is None else c) for c, x in zip(found, inputs, strict=True)]

    return out, pull


def jvp(fn: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """The value of `fn` and its derivative along `tangents`, of which None holds an argument fixed.

    The derivative has the structure of the value, and zeros where that does not depend on the arguments.

    Examples
    --------
    >>> import numpy as np
    >>> from engine.ops.arithmetic import square
    >>> [v.tolist() for v in jvp(square, [np.array([1., 2.])], [np.array([1., 10.])])]
    [[1.0, 4.0], [2.0, 40.0]]
    """
    nodes, inputs, out = recorded(fn, *primals)
    seeds = [(x, as_value(t)) for x, t in zip(inputs, tangents, strict=True) if t is not None]
    outputs = flatten(out)
    found = [zeros_like(o) if t is None else t for t, o in zip(forward(nodes, seeds, outputs), outputs, strict=True)]
    return out, pack_sequence_as(out, map(as_value, found))


def as_value(x: Any) -> Value:
    """`x` itself if it is a value, else an eager value of it."""
    return x if isinstance(x, Value) else EagerTensor(as_array(x))
