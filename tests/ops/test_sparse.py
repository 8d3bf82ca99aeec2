"""Sparse tensors: both modes beside each other, finite differences and TensorFlow."""

import warnings
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from engine.core import nest
from engine.runtime.errors import InvalidArgumentError
from tests.peers import both_modes, close, in_graph, on_tape
from tests.tapes import watching

PLACES = np.array([[0, 1], [0, 3], [1, 0], [2, 2], [2, 3]])
VALUES = np.array([3.0, -1.0, 2.0, 0.5, 4.0])
OTHER = np.array([[0, 1], [1, 1], [2, 3]])
DENSE = np.linspace(-1.0, 2.0, 12)


def matrix(tf: Any, values: Any, places: Any = PLACES, shape: Any = (3, 4)) -> Any:
    return tf.SparseTensor(tf.constant(places, tf.int64), values, tf.constant(shape, tf.int64))


def other(tf: Any, values: Any) -> Any:
    return matrix(tf, values[:3] * 1.5, OTHER)


def dense(tf: Any, *shape: int) -> Any:
    return tf.reshape(tf.constant(DENSE[: int(np.prod(shape))]), shape)


def unordered(tf: Any, values: Any) -> Any:
    return matrix(tf, values, PLACES[[3, 1, 0, 4, 2]])


def positive(tf: Any, values: Any) -> Any:
    return matrix(tf, values * values + 0.5)


CASES: dict[str, Any] = {
    "to_dense": lambda tf, v: tf.sparse.to_dense(matrix(tf, v)),
    "to_dense of another default": lambda tf, v: tf.sparse.to_dense(matrix(tf, v), tf.constant(7.0, v.dtype)),
    "to_dense without order": lambda tf, v: tf.sparse.to_dense(unordered(tf, v), validate_indices=False),
    "from_dense": lambda tf, v: tf.sparse.from_dense(tf.reshape(tf.concat([v, v * 0], 0), [2, 5])),
    "eye": lambda tf, v: tf.sparse.eye(3, 4, v.dtype),
    "reorder": lambda tf, v: tf.sparse.reorder(unordered(tf, v)),
    "reshape": lambda tf, v: tf.sparse.reshape(matrix(tf, v), [2, -1, 2]),
    "transpose": lambda tf, v: tf.sparse.transpose(matrix(tf, v)),
    "transpose by a permutation": lambda tf, v: tf.sparse.transpose(tf.sparse.expand_dims(matrix(tf, v)), [2, 1, 0]),
    "expand_dims": lambda tf, v: tf.sparse.expand_dims(matrix(tf, v), 1),
    "concat": lambda tf, v: tf.sparse.concat(1, [matrix(tf, v), other(tf, v)]),
    "concat of rows": lambda tf, v: tf.sparse.concat(0, [matrix(tf, v), other(tf, v), matrix(tf, v)]),
    "concat with growth": lambda tf, v: tf.sparse.concat(
        -1, [matrix(tf, v), matrix(tf, v, PLACES, (5, 6))], expand_nonconcat_dims=True
    ),
    "retain": lambda tf, v: tf.sparse.retain(matrix(tf, v), [True, False, True, True, False]),
    "add": lambda tf, v: tf.sparse.add(matrix(tf, v), other(tf, v)),
    "add with a threshold": lambda tf, v: tf.sparse.add(matrix(tf, v), other(tf, v), 1.5),
    "add to dense": lambda tf, v: tf.sparse.add(matrix(tf, v), dense(tf, 3, 4)),
    "dense and sparse": lambda tf, v: tf.sparse.add(dense(tf, 3, 4), matrix(tf, v)),
    "times dense": lambda tf, v: matrix(tf, v) * dense(tf, 3, 4),
    "times a row": lambda tf, v: matrix(tf, v) * dense(tf, 4),
    "over dense": lambda tf, v: matrix(tf, v) / (dense(tf, 3, 1) + 5.0),
    "matmul": lambda tf, v: tf.sparse.sparse_dense_matmul(matrix(tf, v), dense(tf, 4, 3)),
    "matmul by the values": lambda tf, v: tf.sparse.sparse_dense_matmul(
        matrix(tf, tf.constant(VALUES)), tf.reshape(v[:4], [4, 1])
    ),
    "matmul of adjoints": lambda tf, v: tf.sparse.sparse_dense_matmul(matrix(tf, v), dense(tf, 2, 3), True, True),
    "reduce_sum": lambda tf, v: tf.sparse.reduce_sum(matrix(tf, v)),
    "reduce_sum of rows": lambda tf, v: tf.sparse.reduce_sum(matrix(tf, v), 1),
    "reduce_sum of columns": lambda tf, v: tf.sparse.reduce_sum(matrix(tf, v), [-2], keepdims=True),
    "reduce_sum of all": lambda tf, v: tf.sparse.reduce_sum(matrix(tf, v), [0, 1], keepdims=True),
    "softmax": lambda tf, v: tf.sparse.softmax(matrix(tf, v)),
    "elementwise functions": lambda tf, v: [
        f(matrix(tf, v)) for f in (tf.abs, tf.negative, tf.square, tf.sign, tf.tanh, tf.math.erf)
    ],
    "cast": lambda tf, v: tf.cast(tf.sqrt(positive(tf, v)), tf.float64),
    "what is asked of it": lambda tf, v: (
        v
        * tf.cast(
            tf.stack([*tf.unstack(tf.shape(matrix(tf, v))), tf.size(matrix(tf, v)), tf.rank(matrix(tf, v)), 1]), v.dtype
        )
    ),
    "its rows": lambda tf, v: tf.map_fn(
        lambda r: tf.sparse.reduce_sum(r[0]) * r[1], (matrix(tf, v), v[:3]), fn_output_signature=v.dtype
    ),
    "a choice": lambda tf, v: tf.cond(v[0] > 2.0, lambda: other(tf, v * v), lambda: other(tf, v)),
    "identity": lambda tf, v: tf.identity(matrix(tf, v)),
}
VERSION1: dict[str, Any] = {
    "sparse_to_dense": lambda tf, v: tf.sparse_to_dense([[0, 1], [1, 2]], [2, 3], v[:2], 9.0),
    "sparse_to_dense of a vector": lambda tf, v: tf.sparse_to_dense([1, 3], [4], v[0]),
    "sparse_reduce_sum": lambda tf, v: tf.sparse_reduce_sum(matrix(tf, v), reduction_axes=1, keep_dims=True),
    "sparse_concat": lambda tf, v: tf.sparse_concat(0, [matrix(tf, v), matrix(tf, v)]),
    "sparse_add": lambda tf, v: tf.sparse_add(matrix(tf, v), other(tf, v), 1.0),
    "sparse_tensor_dense_matmul": lambda tf, v: tf.sparse_tensor_dense_matmul(matrix(tf, v), dense(tf, 4, 2)),
}
REFUSED: dict[str, tuple[Any, str]] = {
    "order": (lambda tf: tf.sparse.to_dense(unordered(tf, tf.constant(VALUES))), "out of order"),
    "repetition": (lambda tf: tf.sparse.to_dense(matrix(tf, tf.constant(VALUES), PLACES[[0, 0, 1, 2, 3]])), "repeated"),
    "bounds": (lambda tf: tf.sparse.to_dense(matrix(tf, tf.constant(VALUES), PLACES + 1)), "out of bounds"),
    "product": (
        lambda tf: tf.sparse.sparse_dense_matmul(matrix(tf, tf.constant(VALUES)), dense(tf, 3, 4)),
        "dimension",
    ),
    "reshape": (lambda tf: tf.sparse.reshape(matrix(tf, tf.constant(VALUES)), [5, 2]), "shape"),
    "add": (
        lambda tf: tf.sparse.add(matrix(tf, tf.constant(VALUES)), matrix(tf, tf.constant(VALUES), PLACES, (3, 5))),
        "shapes",
    ),
}


def opened(call: Any) -> Any:
    """The call, with the three parts of a sparse tensor in its place, values first."""

    def parts(x: Any) -> list[Any]:
        return [x.values, x.indices, x.dense_shape] if hasattr(x, "dense_shape") else [x]

    return lambda tf, *args: [p for x in nest.flatten(call(tf, *args)) for p in parts(x)]


@pytest.mark.parametrize("name", CASES)
def test_both_modes_and_finite_differences(name: str) -> None:
    both_modes(opened(CASES[name]), [VALUES])


@pytest.fixture(scope="module")
def theirs() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("tensorflow")


NO_GRADIENT_THERE = {
    *("concat", "concat of rows", "concat with growth", "sparse_concat", "its rows", "sparse_to_dense of a vector")
}
"""TensorFlow has no gradient of these; that of the last fails."""


@pytest.mark.peer
@pytest.mark.parametrize("name", CASES)
def test_as_tensorflow(name: str, theirs: Any) -> None:
    call = opened(CASES[name])
    differentiate = name not in NO_GRADIENT_THERE
    close(on_tape(tape_api, call, [VALUES], differentiate), on_tape(theirs, call, [VALUES], differentiate))


@pytest.mark.peer
@pytest.mark.parametrize("name", VERSION1)
def test_as_tensorflow_1(name: str, theirs: Any) -> None:
    call = opened(VERSION1[name])
    differentiate = name not in NO_GRADIENT_THERE
    ours = in_graph(graph_api, call, [VALUES], differentiate)
    close(ours, in_graph(theirs.compat.v1, call, [VALUES], differentiate))


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("tf", [tape_api, graph_api])
def test_what_is_refused(tf: Any, name: str) -> None:
    call, words = REFUSED[name]
    with graph_api.Graph().as_default(), pytest.raises(InvalidArgumentError, match=words):
        graph_api.Session().run(opened(call)(tf))


@pytest.mark.peer
@pytest.mark.parametrize("name", REFUSED)
def test_tensorflow_refuses_it_too(name: str, theirs: Any) -> None:
    with pytest.raises((theirs.errors.InvalidArgumentError, ValueError)):
        REFUSED[name][0](theirs)


def fed(tf: Any, shape: Any) -> list[Any]:
    """A sparse placeholder, fed in three ways, with what a graph network does with it."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.sparse_placeholder(tf.float32, shape, name="x")
        w = tf.constant(np.ones((4, 2), np.float32))
        y = tf.sparse_tensor_dense_matmul(x, w)
        gradient = tf.gradients(y * y, [w, x.values])
        value = tf.SparseTensorValue(PLACES, VALUES, [3, 4])
        results = []
        for given in (value, tuple(value)):
            results += nest.flatten(session.run([y, gradient, x, tf.sparse_reduce_sum(x)], {x: given}))
        if shape is not None and None not in shape:
            results.append(session.run(y, {x.values: VALUES, x.indices: PLACES}))
        assert x.get_shape().ndims == (None if shape is None else 2)
        found = session.run(x, {x: value})
        assert type(found).__name__ == "SparseTensorValue"
        results += [*x.eval({x: value}, session), found.values]
        return results


@pytest.mark.parametrize("shape", [None, [None, 4], [3, 4]])
def test_placeholders(shape: Any) -> None:
    results = fed(graph_api, shape)
    if shape == [3, 4]:  # as a tensor, which programs make of what SciPy says
        with graph_api.Graph().as_default(), graph_api.Session() as session:
            x = graph_api.sparse_placeholder(graph_api.float32, graph_api.constant(shape, graph_api.int64))
            assert x.shape.as_list() == shape
            total = graph_api.sparse_reduce_sum(x)
            assert session.run(total, {x.values: VALUES, x.indices: PLACES}) == VALUES.sum()
            assert session.run(total, {x: (PLACES, VALUES, [3, 4])}) == VALUES.sum()
            y = graph_api.sparse_placeholder(graph_api.float32, graph_api.placeholder(graph_api.int64, [2]))
            assert y.shape.as_list() == [None, None]
    dense_x = np.zeros((3, 4), np.float32)
    dense_x[tuple(PLACES.T)] = VALUES
    np.testing.assert_allclose(results[0], dense_x @ np.ones((4, 2)))
    np.testing.assert_allclose(results[1], dense_x.T @ (2 * results[0]))


@pytest.mark.peer
@pytest.mark.parametrize("shape", [None, [None, 4]])
def test_placeholders_as_in_tensorflow(shape: Any, theirs: Any) -> None:
    for a, b in zip(fed(graph_api, shape), fed(theirs.compat.v1, shape), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


@pytest.mark.peer
def test_printed_as_in_tensorflow(theirs: Any) -> None:
    here, there = [str(matrix(tf, tf.constant(VALUES))) for tf in (tape_api, theirs)]
    assert here == there and here.startswith("SparseTensor(indices=tf.Tensor(")


def test_what_a_placeholder_is_not_fed_with() -> None:
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        x = graph_api.sparse_placeholder(graph_api.float32)
        with pytest.raises(TypeError, match="tuple of 3"):
            session.run(x, {x: np.eye(2)})


@pytest.mark.parametrize(
    "parts",
    [([[0, 0]], [1.0, 2.0], [2, 2]), ([0, 0], [1.0, 2.0], [2]), ([[0, 0]], [1.0], [2, 2, 2]), ([[0, 0]], 1.0, [2, 2])],
)
@pytest.mark.parametrize("tf", [tape_api, graph_api])
def test_parts_that_do_not_fit(tf: Any, parts: Any) -> None:
    with graph_api.Graph().as_default(), pytest.raises(ValueError, match="SparseTensor"):
        tf.SparseTensor(*parts)


def test_a_sparse_tensor_is_not_taken_for_a_dense_one() -> None:
    with pytest.raises(TypeError, match=r"sparse\.to_dense"):
        tape_api.reduce_sum(matrix(tape_api, tape_api.constant(VALUES)))
    with pytest.raises(TypeError, match="from_dense"):
        tape_api.sparse.reduce_sum(tape_api.constant(VALUES))


@pytest.mark.parametrize("tf", [tape_api, graph_api])
def test_assertions_and_branches(tf: Any) -> None:
    with graph_api.Graph().as_default():
        x = matrix(tf, tf.constant(VALUES))
        tf.debugging.assert_rank(x, 2)
        tf.debugging.assert_rank_in(x, [1, 2])
        tf.debugging.assert_type(x, tf.float64)
        tf.debugging.assert_shapes([(x, ("N", 4)), (tf.ones([3]), ("N",))])
        with pytest.raises(ValueError, match="at least"):
            tf.debugging.assert_rank_at_least(x, 3)
        with pytest.raises(ValueError, match="size"):
            tf.debugging.assert_shapes([(x, (3, 5))])
    with tape_api.GradientTape() as tape:
        tape.watch(y := matrix(tape_api, tape_api.constant(VALUES)))
        total = tape_api.reduce_sum(tape_api.function(lambda p: y if p else tape_api.square(y))(False).values)
    assert tape.gradient(total, y.values).numpy().tolist() == (2 * VALUES).tolist()


def test_strings() -> None:
    x = tape_api.sparse.from_dense([["a", ""], ["", "b"]])
    assert x.values.numpy().tolist() == [b"a", b"b"]
    assert tape_api.sparse.to_dense(x, "?").numpy().tolist() == [[b"a", b"?"], [b"?", b"b"]]


@pytest.mark.parametrize("format", ["dense", "csr"])
@pytest.mark.parametrize("seed", range(6))
def test_products_with_constants_have_the_same_bits_in_both_modes(seed: int, format: str) -> None:
    """Indices behind checks are known in a graph, too: else the two would not be planned alike."""
    rng = np.random.default_rng(seed)
    pairs = [rng.standard_normal(shape) * (rng.random(shape) < 0.4) for shape in ((6, 8), (6, 6))]
    x = rng.standard_normal((8, 2))

    def function(tf: Any, x: Any) -> Any:
        for matrix in pairs:
            places = np.argwhere(matrix)
            sparse = tf.SparseTensor(places, tf.constant(matrix[matrix != 0]), matrix.shape)
            x = tf.sin(tf.sparse.sparse_dense_matmul(sparse, x))
        return x

    def array(found: Any) -> np.ndarray:
        return found.toarray() if format == "csr" else np.asarray(found)

    watched = tape_api.constant(x)
    tape, y = watching(watched, lambda: function(tape_api, watched), persistent=True)
    eager = [array(f(y, watched, format=format)) for f in (tape.jacobian, tape.hessian)]
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        fed = graph_api.placeholder(graph_api.float64, x.shape)
        z = function(graph_api, fed)
        fetched = [f(z, fed, format=format) for f in (graph_api.jacobian, graph_api.hessian)]
        for have, want in zip(session.run(fetched, {fed: x}), eager, strict=True):
            assert array(have).tobytes() == want.tobytes()
