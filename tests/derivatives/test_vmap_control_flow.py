"""Control flow inside `transforms.vmap`: what each element does by itself, in both front ends, and its derivatives."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from engine.runtime.errors import UnimplementedError
from tests.tapes import watching

X = np.array([[1.0, -2.0, 3.0], [4.0, 0.5, -6.0]])


def grown(tf: Any, v: Any) -> Any:
    return tf.while_loop(lambda i, s: tf.abs(s) < 50.0, lambda i, s: (i + 1, s * s + 1.5), (0, v))[1]


def scaled(tf: Any, i: Any, s: Any) -> Any:
    return i + 1, tf.cond(s[0] > s[1], lambda: s * 2.0, lambda: s + 1.0)


def cubed(tf: Any, r: Any) -> Any:
    return tf.cond(r[0] > 2.0, lambda: tf.reduce_sum(r**3), lambda: tf.reduce_sum(r))


def ruled(tf: Any, v: Any) -> Any:
    """A function whose gradient rule refers to the element, also in a loop."""
    return tf.custom_gradient(lambda w: (tf.sin(w), lambda ct: ct * grown(tf, w) * tf.cos(w)))(v) * v


def by_tape(tf: Any, v: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(v)
        y = tf.gather(v, [0, 0, 1]) ** 3
    return tf.convert_to_tensor(tape.gradient(y, v, v[:1] * v))


ELEMENTS: dict[str, Callable[..., Any]] = {
    "cond": lambda tf, v: tf.cond(v > 0.0, lambda: v * v, lambda: -v),
    "cond of two": lambda tf, v: tf.cond(v > 0.0, lambda: {"a": v, "b": [2.0 * v]}, lambda: {"a": -v, "b": [v]})["b"][
        0
    ],
    "one condition": lambda tf, v: tf.cond(tf.reduce_sum(tf.constant(X)) > 0.0, lambda: v * v, lambda: -v),
    "root": lambda tf, v: tf.cond(v > 0.0, lambda: tf.sqrt(v), lambda: tf.zeros_like(v)),
    "case": lambda tf, v: tf.case([(v > 2.0, lambda: v), (v > 0.0, lambda: 2.0 * v)], default=lambda: -v),
    "switch": lambda tf, v: tf.switch_case(
        tf.cast(v, "int32") % 3, [lambda: v, lambda: v * v, lambda: v**3], default=lambda: 0.5 * v
    ),
    "while": grown,
    "steps": lambda tf, v: tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s * v), (0, v))[1],
    "most steps": lambda tf, v: tf.while_loop(
        lambda i, s: tf.abs(s) < 9.0, lambda i, s: (i + 1, s * s), (0, v), maximum_iterations=2
    )[1],
    "while in cond": lambda tf, v: tf.cond(v > 2.0, lambda: grown(tf, v), lambda: v),
    "rule": ruled,
    "gradient by a rule": lambda tf, v: tf.transforms.grad(lambda w: ruled(tf, w))(v),
    "recomputed": lambda tf, v: tf.transforms.grad(lambda w: tf.recompute_grad(lambda a, b: grown(tf, a) * b)(w, w))(v),
    "grad": lambda tf, v: tf.transforms.grad(lambda w: tf.cond(w > 2.0, lambda: w**3, lambda: w))(v),
}
ROWS: dict[str, Callable[..., Any]] = {
    "cond in while": lambda tf, r: tf.while_loop(lambda i, s: i < 3, lambda i, s: scaled(tf, i, s), (0, r))[1],
    "scan": lambda tf, r: tf.scan(lambda a, e: tf.cond(e > 0.0, lambda: a + e, lambda: a * e), r),
    "foldl": lambda tf, r: tf.foldl(lambda a, e: a * 2.0 + e, r),
    "map_fn": lambda tf, r: tf.map_fn(lambda e: e * r, r),
    "hessian": lambda tf, r: tf.transforms.hessian(lambda z: cubed(tf, z))(r),
    "Jacobian of a batch by a rule": lambda tf, r: tf.transforms.jacrev(tf.transforms.vmap(lambda v: ruled(tf, v)))(r),
    "tape": by_tape,
    "batch": lambda tf, r: tf.transforms.vmap(lambda v: grown(tf, v))(r),
    "other axes": lambda tf, r: tf.transforms.vmap(
        lambda v: tf.cond(v[0] > 2.0, lambda: v, lambda: -v), in_axes=1, out_axes=1
    )(tf.stack([r, 2.0 * r])),
}
CASES = [(n, f, np.ravel(X)) for n, f in ELEMENTS.items()] + [(n, f, X) for n, f in ROWS.items()]


def in_graph(fn: Callable[..., Any], x: np.ndarray, many: bool) -> list[np.ndarray]:
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        p = graph_api.placeholder(x.dtype, x.shape)
        y = graph_api.transforms.vmap(lambda v: fn(graph_api, v))(p) if many else fn(graph_api, p)
        return session.run([y, graph_api.gradients(y, p)[0]], {p: x})


def on_tape(run: Callable[..., Any], x: np.ndarray) -> list[np.ndarray]:
    v = tape_api.constant(x)
    tape, y = watching(v, lambda: run(v))
    return [y.numpy(), tape.gradient(y, v).numpy()]


@pytest.mark.parametrize(("name", "fn", "x"), CASES, ids=[c[0] for c in CASES])
def test_elements_choose_and_end_by_themselves(name: str, fn: Callable[..., Any], x: np.ndarray) -> None:
    one_by_one = [np.stack(parts) for parts in zip(*[in_graph(fn, row, False) for row in x], strict=True)]
    many = tape_api.transforms.vmap(lambda v: fn(tape_api, v))
    compiled = tape_api.function(many)
    for found in (on_tape(many, x), on_tape(compiled, x), on_tape(compiled, x), in_graph(fn, x, True)):
        np.testing.assert_equal(found, one_by_one)


@pytest.mark.parametrize("tf", [tape_api, graph_api], ids=["tape", "graph"])
def test_refusals(tf: Any) -> None:
    with graph_api.Graph().as_default():
        x = tf.constant(X[0])
        with pytest.raises(UnimplementedError, match="case: inside vmap it needs a `default`"):
            tf.transforms.vmap(lambda v: tf.case([(v > 0.0, lambda: v)]))(x)
        for ask, message in (("jacobian", "this derivative cannot be taken"), ("gradient", "use tf.transforms.grad")):
            with pytest.raises(UnimplementedError, match=message):
                tf.transforms.vmap(lambda v, ask=ask: getattr(tf.GradientTape(), ask)(v * 1.0, x))(x)


def test_arrays_of_tensors_in_a_graph_are_refused() -> None:
    with graph_api.Graph().as_default():
        start = (0, graph_api.TensorArray(graph_api.float64, 2))
        loop = graph_api.transforms.vmap(
            lambda v: graph_api.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, a.write(i, v)), start)
        )
        with pytest.raises(UnimplementedError, match=r"vmap: .* tensors, got TensorArray"):
            loop(X[0])
