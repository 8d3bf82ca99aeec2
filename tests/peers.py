"""Calls of public functions: one mode beside the other, beside finite differences, beside TensorFlow.

A call is ``call(tf, *tensors)``: it names functions as TensorFlow does, and returns a tensor or a structure of them.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import graph_api
import tape_api
from engine.core import nest

Call = Callable[..., Any]


def in_graph(tf: Any, call: Call, arrays: Sequence[Any], differentiate: bool = True) -> list[Any]:
    """The values, and the gradients of the sum of squares of the first floating one, in graph mode."""
    with tf.Graph().as_default(), tf.Session() as session:
        tensors = [tf.constant(a) for a in arrays]
        results = nest.flatten(call(tf, *tensors))
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        wanted = [t for t in tensors if t.dtype.is_floating]
        if differentiate and wanted:
            results += [g for g in tf.gradients(_scalar(tf, results), wanted) if g is not None]
        return [np.asarray(r) for r in session.run([tf.convert_to_tensor(r) for r in results])]


def on_tape(tf: Any, call: Call, arrays: Sequence[Any], differentiate: bool = True) -> list[Any]:
    """The same in eager mode."""
    tensors = [tf.constant(a) for a in arrays]
    wanted = [t for t in tensors if t.dtype.is_floating]
    with tf.GradientTape() as tape:
        tape.watch(wanted)
        results = nest.flatten(call(tf, *tensors))
        loss = _scalar(tf, results) if differentiate and wanted else None
    if loss is not None:
        results += [tf.convert_to_tensor(g) for g in tape.gradient(loss, wanted) if g is not None]
    return [np.asarray(r.numpy()) for r in results]


def _scalar(tf: Any, results: Sequence[Any]) -> Any:
    first = next(r for r in results if r.dtype.is_floating)
    return tf.reduce_sum(first * first)


def both_modes(call: Call, arrays: Sequence[Any], differentiate: bool = True) -> None:
    """Raise unless both modes give the same bits, and a gradient that finite differences confirm.

    `call` must name functions that both front ends have.
    """
    graph, tape = (
        run(module, call, arrays, differentiate) for run, module in ((in_graph, graph_api), (on_tape, tape_api))
    )
    assert len(graph) == len(tape)
    np.testing.assert_equal(graph, tape)
    if differentiate:
        confirmed(tape_api, call, arrays)


def confirmed(tf: Any, call: Call, arrays: Sequence[Any], step: float = 1e-5) -> None:
    """Raise unless the gradient on a tape is what differences of values along a random direction say."""
    rng = np.random.default_rng(1)
    wide = [np.asarray(a, np.float64) if np.asarray(a).dtype.kind == "f" else np.asarray(a) for a in arrays]
    places = [i for i, a in enumerate(wide) if a.dtype.kind == "f"]
    ways = {i: rng.normal(size=wide[i].shape) for i in places}

    def loss(tensors: Sequence[Any]) -> Any:
        return _scalar(tf, nest.flatten(call(tf, *tensors)))

    def moved(by: float) -> float:
        return float(loss([tf.constant(a + by * ways[i] if i in ways else a) for i, a in enumerate(wide)]))

    tensors = [tf.constant(a) for a in wide]
    with tf.GradientTape() as tape:
        tape.watch([tensors[i] for i in places])
        value = loss(tensors)
    found = tape.gradient(value, [tensors[i] for i in places], unconnected_gradients="zero")
    slope = sum(
        float(np.sum(np.asarray(tf.convert_to_tensor(g)) * ways[i])) for i, g in zip(places, found, strict=True)
    )
    measured = (moved(step) - moved(-step)) / (2 * step)
    np.testing.assert_allclose(slope, measured, rtol=1e-5, atol=1e-6)


def close(ours: Sequence[Any], theirs: Sequence[Any], rtol: float = 1e-5, atol: float = 1e-6) -> None:
    """Raise unless the values have the same dtypes and shapes, and are close."""
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        if a.dtype.kind in "OSU":
            assert a.tolist() == b.tolist()
        else:
            np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)
