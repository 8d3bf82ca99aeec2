"""Jacobians in every mode and both front ends, row by row: dtypes, control flow, shapes, structures."""

from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from engine.jacobian.views.complex_ends import joined
from engine.runtime.errors import InvalidArgumentError
from tests.jacobian.both import Function, dense, in_graph, matrix, on_tape, points, row_by_row
from tests.tapes import gradient_in, watching

MODES = ("auto", "forward", "reverse")
RNG = np.random.default_rng(0)
WIDE, TALL = RNG.normal(size=(2, 30)), RNG.normal(size=(30, 2))


def assert_right(fn: Function, *values: Any, tolerance: float = 1e-11, **options: Any) -> None:
    """Both front ends give the same bits, the numbers of the rows, and their dtypes."""
    tape, graph, rows = on_tape(fn, *values, **options), in_graph(fn, *values, **options), row_by_row(fn, *values)
    for one, other, expected, value in zip(tape, graph, rows, values, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            found, same = np.asarray(one), np.asarray(other)
            assert found.dtype == same.dtype == np.asarray(value).dtype
            assert found.shape[found.ndim - np.ndim(value) :] == np.shape(value)
            # a loop is one op of a graph, but unrolled on a tape: sums in another order
            np.testing.assert_allclose(found, same, rtol=1e-14 if fn in (repeated, scanned) else 0)
        np.testing.assert_allclose(matrix(one, expected), expected, rtol=tolerance, atol=tolerance)


# ---- functions -------------------------------------------------------------------------------------------------------


def bottleneck(tf: Any, x: Any) -> Any:
    return tf.linalg.matvec(TALL, tf.tanh(tf.linalg.matvec(WIDE, x)))


def through_complex_numbers(tf: Any, x: Any) -> Any:
    """Everything goes through two complex numbers, whose gradients are not rows of a matrix to multiply with."""
    z = tf.complex(tf.linalg.matvec(WIDE, x), tf.linalg.matvec(WIDE, x * x))
    return tf.linalg.matvec(TALL, tf.math.real(z * z) + tf.math.imag(z))


def conditional(tf: Any, x: Any) -> Any:
    return tf.cond(tf.reduce_sum(x) > 3.0, lambda: x * x, lambda: tf.sin(x))


def scanned(tf: Any, x: Any) -> Any:
    return tf.scan(lambda a, b: a * b + a, x, initializer=np.float64(1.0))


def repeated(tf: Any, x: Any) -> Any:
    return tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * tf.sin(x)), [tf.constant(0), x])[1]


def doubled(tf: Any, x: Any) -> Any:
    padded = tf.pad(x * x, [[1, 1]])
    return padded + padded + tf.pad(x, [[0, 2]])


def customized(tf: Any, x: Any) -> Any:
    @tf.custom_gradient
    def tripled(x: Any) -> Any:
        return tf.sin(x), lambda dy: dy * 3.0 * tf.cos(x)

    return tripled(x) * x


FUNCTIONS: dict[str, tuple[Function, tuple[tuple[int, ...], ...]]] = {
    "elementwise": (lambda tf, x: tf.sin(x) * x, ((4,),)),
    "matmul": (lambda tf, x, y: tf.matmul(x, y), ((3, 4), (4, 2))),
    "bottleneck": (bottleneck, ((30,),)),
    "complex bottleneck": (through_complex_numbers, ((30,),)),
    "softmax": (lambda tf, x: tf.nn.softmax(x), ((4, 3),)),
    "cumsum": (lambda tf, x: tf.cumsum(x * x), ((6,),)),
    "convolution": (lambda tf, x: tf.nn.conv2d(x, np.ones((2, 2, 1, 2)), [1, 1, 1, 1], "SAME"), ((1, 4, 4, 1),)),
    "cholesky": (lambda tf, x: tf.linalg.cholesky(9.0 * np.eye(3) + x + tf.transpose(x)), ((3, 3),)),
    "cond, one way": (conditional, ((5,),)),
    "cond, other way": (conditional, ((2,),)),
    "while": (repeated, ((4,),)),
    "scan": (scanned, ((5,),)),
    "foldl": (lambda tf, x: tf.foldl(lambda a, b: a * b, x), ((5,),)),
    "map_fn": (lambda tf, x: tf.map_fn(lambda a: a * a, x), ((5, 2),)),
    "custom gradient": (customized, ((4,),)),
    "stop_gradient": (lambda tf, x: tf.stop_gradient(x * x) * x, ((4,),)),
    "sort": (lambda tf, x: tf.sort(x * x), ((5,),)),
    "indices from the data": (lambda tf, x: tf.gather(x, tf.argsort(x)) * x, ((5,),)),
    "mask": (lambda tf, x: tf.where(x > 1.0, x * x, -x), ((5,),)),
    "two sources, two rows": (
        lambda tf, x, y: tf.stack([tf.reduce_sum(x**2.0), tf.reduce_sum(y**3.0)]),
        ((3, 4), (5,)),
    ),
    "overlapping slices": (lambda tf, x: tf.concat([x[1:] * x[:-1], x[:2], tf.reverse(x, [0])], 0), ((5,),)),
    "a source twice in a stack": (lambda tf, x: tf.stack([x, x * x, x], 1), ((3,),)),
    "broadcast of a scalar": (lambda tf, x: x * np.arange(3.0), ((),)),
    "scalar": (lambda tf, x: x * x, ((),)),
    "one element": (lambda tf, x: tf.exp(x), ((1, 1),)),
    "empty target": (lambda tf, x: x[:0] * x[:0], ((3,),)),
    "empty source": (lambda tf, x: tf.exp(x), ((0, 3),)),
    "through something empty": (lambda tf, x: tf.reduce_sum(x[:0]) * x, ((3,),)),
    "the source itself": (lambda tf, x: x, ((3, 2),)),
    "moves only": (lambda tf, x: tf.transpose(tf.reshape(x, [3, 2]))[:, ::2], ((2, 3),)),
    "a sum with zeros, broadcast": (
        lambda tf, x, y: tf.pad(tf.sin(x), [[0, 0], [1, 2]]) + tf.pad(tf.exp(y), [[1, 1], [2, 0]]),
        ((1, 2), (2, 3)),
    ),
    "a sum with zeros, twice": (doubled, ((4,),)),
    "unconnected": (lambda tf, x, y: tf.exp(x), ((3,), (2,))),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_rows_are_gradients(name: str, mode: str) -> None:
    fn, shapes = FUNCTIONS[name]
    assert_right(fn, *points(*shapes), mode=mode)


# ---- dtypes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_a_block_has_the_dtype_of_its_source(mode: str) -> None:
    x, y = points((30,), (30,))
    small = x.astype(np.float32)
    up = lambda tf, x: tf.linalg.matvec(TALL, tf.cast(tf.linalg.matvec(WIDE.astype(np.float32), x), tf.float64))  # noqa: E731
    down = lambda tf, x: tf.linalg.matvec(TALL.astype(np.float32), tf.cast(tf.linalg.matvec(WIDE, x), tf.float32))  # noqa: E731
    assert_right(lambda tf, x: tf.cast(x, tf.float64) ** 2.0, small, mode=mode, tolerance=1e-6)
    assert_right(lambda tf, x: tf.cast(x, tf.float32) ** 2.0, x, mode=mode, tolerance=1e-6)
    assert_right(up, small, mode=mode, tolerance=1e-5)
    assert_right(down, x, mode=mode, tolerance=1e-5)
    assert_right(lambda tf, x, y: tf.cast(x, tf.float64)[:3, None] * y, small, y, mode=mode, tolerance=1e-6)
    half = lambda tf, x: tf.cast(tf.exp(x), tf.float32) * tf.cast(x, tf.float32)  # noqa: E731
    assert_right(half, x.astype(np.float16), mode=mode, tolerance=5e-3)


COMPLEX = np.array([1 + 2j, 3 - 1j])
COMPLEX_ENDS: dict[str, tuple[Function, Any]] = {
    "holomorphic": (lambda tf, z: z * z, COMPLEX),
    "real target": (lambda tf, z: tf.abs(z), COMPLEX),
}


@pytest.mark.parametrize("name", COMPLEX_ENDS)
def test_complex_ends_are_swept_in_reverse(name: str) -> None:
    fn, value = COMPLEX_ENDS[name]
    for mode in ("auto", "reverse"):
        assert_right(fn, value, mode=mode)
    for run in (on_tape, in_graph):
        with pytest.raises(InvalidArgumentError, match="`mode` must be auto or reverse where a target or source"):
            run(fn, value, mode="forward")


FOURIER = np.fft.fft(np.eye(4))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("run", [on_tape, in_graph])
def test_a_complex_target_of_a_real_source_has_a_complex_jacobian(run: Any, mode: str) -> None:
    x = np.array([1.0, 2.0, -1.0, 0.5])
    for options in ({}, {"format": "csr"}, {"sparsity": np.ones((4, 4))}):
        (found,) = map(dense, run(lambda tf, x: tf.signal.fft(tf.cast(x, tf.complex128)) * 1j, x, mode=mode, **options))
        assert found.dtype == np.complex128
        np.testing.assert_allclose(found, 1j * FOURIER, atol=1e-14)
    (single,) = run(lambda tf, x: tf.complex(x, x * 2.0), x.astype(np.float32), mode=mode, format="csc")
    assert single.dtype == np.complex64
    np.testing.assert_array_equal(single.toarray(), np.eye(4) * (1 + 2j))
    assert joined(single.real, single.real * np.inf, x).data.tolist() == [complex(1, np.inf)] * 4
    # targets side by side, one of which is not connected
    real, none = run(lambda tf, x, y: tf.complex(x, x), x, x, mode=mode)
    np.testing.assert_array_equal(np.asarray(real), np.eye(4) * (1 + 1j))
    assert none is None


@pytest.mark.parametrize("run", [on_tape, in_graph])
@pytest.mark.parametrize("format", ["dense", "csr"])
def test_complex_targets_must_be_holomorphic_functions_of_complex_sources(run: Any, format: str) -> None:
    for fn in (lambda tf, z: tf.math.conj(z) * z, lambda tf, z: tf.cast(tf.abs(z), tf.complex128)):
        with pytest.raises(InvalidArgumentError, match="not a holomorphic function of the complex source"):
            run(fn, COMPLEX, format=format)
    (found,) = run(lambda tf, z: tf.exp(z) * z, COMPLEX, format=format)
    np.testing.assert_allclose(dense(found), np.diag(np.conj(np.exp(COMPLEX) * (COMPLEX + 1))))


def test_rows_of_complex_targets() -> None:
    point = np.arange(6.0).reshape(3, 2)
    wanted = np.array([np.diag(np.exp(1j * row)) * 1j for row in point])

    def fn(tf: Any, x: Any) -> Any:
        return tf.exp(tf.complex(tf.zeros_like(x), x))

    x = tape_api.constant(point)
    np.testing.assert_allclose(gradient_in(x, lambda: fn(tape_api, x), method="batch_jacobian"), wanted, atol=1e-15)
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        for shape in ([3, 2], [None, 2]):
            p = graph_api.placeholder(graph_api.float64, shape)
            found = session.run(graph_api.batch_jacobian(fn(graph_api, p), p), {p: point})
            np.testing.assert_allclose(found, wanted, atol=1e-15)


def test_complex_numbers_in_between_may_be_swept_forward() -> None:
    fn = lambda tf, x: tf.math.real(tf.signal.fft(tf.cast(x, tf.complex128)))  # noqa: E731
    for mode in MODES:
        assert_right(fn, *points((4,)), mode=mode)


@pytest.mark.parametrize("run", [on_tape, in_graph])
def test_integers_are_not_connected(run: Any) -> None:
    numbers, x = np.array([1, 2]), np.array([1.0, 2.0, 3.0])
    assert run(lambda tf, i, x: x * 2.0, numbers, x)[0] is None
    zeros = run(lambda tf, i, x: x * 2.0, numbers, x, unconnected_gradients="zero")[0]
    assert zeros.shape == (3, 2) and zeros.dtype == np.int64
    assert run(lambda tf, i, x: x * 2.0, numbers, x, unconnected_gradients="zero", format="csr")[0].nnz == 0
    assert run(lambda tf, x: x > 1.0, x) == [None]
    np.testing.assert_array_equal(
        run(lambda tf, x: tf.cast(x, tf.int32), x, unconnected_gradients="zero")[0], np.zeros((3, 3))
    )


# ---- structures ------------------------------------------------------------------------------------------------------


def in_both(fn: Any, *values: Any, **options: Any) -> list[Any]:
    """What the tape and a session give for ``fn(tf, *tensors) -> (ys, xs)``."""
    tensors = [tape_api.constant(v) for v in values]
    tape, (ys, xs) = watching(tensors, lambda: fn(tape_api, *tensors))
    results = [tape_api.nest.map_structure(np.asarray, tape.jacobian(ys, xs, **options))]
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        placeholders = [graph_api.placeholder(v.dtype, v.shape) for v in values]
        ys, xs = fn(graph_api, *placeholders)
        feed = dict(zip(placeholders, values, strict=True))
        results.append(session.run(graph_api.jacobian(ys, xs, **options), feed))
    return results


def test_nested_structures() -> None:
    x, y = points((3,), (2,))
    for found in in_both(lambda tf, x, y: ({"a": x * x * y[0], "b": [tf.reduce_sum(y) * x * x]}, {"s": (x, y)}), x, y):
        assert set(found) == {"a", "b"} and set(found["a"]) == {"s"} and isinstance(found["b"][0]["s"], tuple)
        np.testing.assert_allclose(found["a"]["s"][0], np.diag(2 * x * y[0]))
        np.testing.assert_allclose(found["b"][0]["s"][1], np.outer(x * x, np.ones(2)))


def test_a_source_twice_and_targets_that_share_parts() -> None:
    (x,) = points((3,))

    def fn(tf: Any, x: Any) -> Any:
        part = tf.sin(x)
        return [part, part, tf.concat([part, x], 0), x, tf.stack([part[0], x[1]])], [x, x]

    for found in in_both(fn, x):
        cosines = np.diag(np.cos(x))
        expected = [cosines, cosines, np.concatenate([cosines, np.eye(3)]), np.eye(3), [cosines[0], np.eye(3)[1]]]
        for row, rows in zip(found, expected, strict=True):
            np.testing.assert_array_equal(row[0], row[1])
            np.testing.assert_allclose(row[0], rows, rtol=1e-14)


def test_no_sources() -> None:
    assert [list(found) for found in in_both(lambda tf, x: (x * x, []), np.ones(3))] == [[], []]


def test_zeros_where_nothing_is_connected() -> None:
    for found in in_both(lambda tf, x, y: (x * x, [x, y]), np.ones(3), np.ones((2, 2)), unconnected_gradients="zero"):
        assert found[1].shape == (3, 2, 2) and not found[1].any()


def test_stop_gradients() -> None:
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        x = graph_api.placeholder(graph_api.float64, [2])
        z = x * x
        found = session.run(graph_api.jacobian(z * x, x, stop_gradients=[z]), {x: [2.0, 3.0]})
    np.testing.assert_array_equal(found, np.diag([4.0, 9.0]))


# ---- variables -------------------------------------------------------------------------------------------------------


def test_variables_of_a_tape() -> None:
    values = np.array([1.0, 2.0, 3.0])
    v = tape_api.Variable(values)
    tape, y = watching((), lambda: v * v, persistent=True)
    v.assign(5.0 * values)
    np.testing.assert_array_equal(tape.jacobian(y, v), np.diag(2 * values))
    np.testing.assert_array_equal(tape.hessian(y, v), np.diag([2.0] * 3))
    np.testing.assert_array_equal(tape.hessian_diag(y, v), [2.0] * 3)
    np.testing.assert_array_equal(tape.hvp(y, v, values), 2 * values)
    np.testing.assert_array_equal(tape.jvp(y, v, values), 2 * values**2)
    np.testing.assert_array_equal(tape.vjp(y, v, values), 2 * values**2)
    np.testing.assert_array_equal(tape.batch_jacobian(y, v), 2 * values)
    np.testing.assert_array_equal(tape.jacobian(y, v, format="operator") @ values, 2 * values**2)
    np.testing.assert_array_equal(tape.jacobian_plan(y, v)(values), np.diag(2 * values))


def test_variables_of_a_graph() -> None:
    tf, values = graph_api, np.array([1.0, 2.0, 3.0])
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("v", dtype=tf.float64, initializer=values)
        u = tf.placeholder(tf.float64, [3])
        y = v * v
        plan = tf.jacobian_plan(y, v)
        wanted = [
            tf.jacobian(y, v), tf.jacobian(v, v), tf.hessian(y, v), tf.hessian_diag(y, v), tf.hvp(y, v, u),
            tf.jvp(y, v, u), tf.vjp(y, v, u), tf.batch_jacobian(y, v), tf.jacobian(y, v, format="csr"),
        ]  # fmt: skip
        session.run(tf.global_variables_initializer())
        jacobian, identity, hessian, diagonal, hvp, jvp, vjp, batch, sparse = session.run(wanted, {u: values})
        session.run(v.assign(5.0 * values))
        np.testing.assert_array_equal(session.run(wanted[0]), np.diag(10 * values))
    np.testing.assert_array_equal(jacobian, np.diag(2 * values))
    np.testing.assert_array_equal(identity, np.eye(3))
    np.testing.assert_array_equal(hessian, np.diag([2.0] * 3))
    np.testing.assert_array_equal(diagonal, [2.0] * 3)
    for product in (hvp, batch):
        np.testing.assert_array_equal(product, 2 * values)
    for product in (jvp, vjp):
        np.testing.assert_array_equal(product, 2 * values**2)
    np.testing.assert_array_equal(sparse.toarray(), jacobian)
    np.testing.assert_array_equal(plan(values), jacobian)


def test_a_source_without_elements_that_no_path_leads_from_has_no_jacobian() -> None:
    def apart(tf: Any, x: Any, empty: Any) -> Any:
        return x * 2.0

    for run in (on_tape, in_graph):
        first, second = run(apart, np.array(1.0), np.zeros(0))
        assert first is not None and second is None
        (joined, other) = run(lambda tf, x, empty: tf.concat([x, empty], 0), np.ones(2), np.zeros(0))
        assert joined.shape == (2, 2) and other.shape == (2, 0)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("mode", MODES)
def test_targets_stacked_along_any_axis(axis: int, mode: str) -> None:
    rng = np.random.default_rng(4)
    weights, at = rng.normal(size=(70, 40)), rng.normal(size=40)

    def stacked(tf: Any, x: Any) -> Any:
        y = tf.reshape(tf.linalg.matvec(weights, x), [7, 10])
        return tf.stack([tf.sin(y), y * y, tf.tanh(y)], axis=axis)

    y = (weights @ at).reshape(7, 10)
    parts = [slope[..., np.newaxis] * weights.reshape(7, 10, 40) for slope in (np.cos(y), 2 * y, 1 / np.cosh(y) ** 2)]
    for taken in (on_tape, in_graph):
        (found,) = taken(stacked, at, mode=mode)
        np.testing.assert_allclose(np.asarray(found), np.stack(parts, axis), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
def test_sparse_arrays_of_float16_values_are_float32(format: str) -> None:
    """SciPy has none of float16: such an array fails at its first use."""
    x = tape_api.Variable([1.0, 2.0, 3.0], dtype=tape_api.float16)
    tape, y = watching((), lambda: x * x)
    jacobians = [tape.jacobian(y, x, format=format)]
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        known = graph_api.constant([1.0, 2.0, 3.0], graph_api.float16)
        unknown = graph_api.placeholder_with_default(np.float16([1.0, 2.0, 3.0]), [None])
        jacobians += session.run([graph_api.jacobian(x * x, x, format=format) for x in (known, unknown)])
    for each in jacobians:
        assert each.format == format
        assert each.dtype == np.float32
        np.testing.assert_array_equal((each @ np.eye(3)), np.diag([2.0, 4.0, 6.0]))
