"""Short functions made of other ops, in both modes and beside TensorFlow."""

from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from engine.runtime.errors import InvalidArgumentError, ShapeError
from tests.peers import Call, both_modes, close, on_tape

RNG = np.random.default_rng(2)
X, W = RNG.normal(size=(3, 4)).astype(np.float32), RNG.uniform(1, 2, (3, 4)).astype(np.float32)
MAIN = np.array([[0.0], [1.0], [0.0]], np.float32)
RANKS = np.array([[[1.0, 2.0], [2.0, 4.0]], [[1.0, 0.0], [0.0, 1.0]]], np.float32)

CALLS: dict[str, tuple[Call, tuple[Any, ...]]] = {
    "scalar_mul": (lambda tf, x: tf.scalar_mul(2.5, x), (X,)),
    "polyval": (lambda tf, x, w: tf.math.polyval([w, tf.ones_like(w), x], x), (X, W)),
    "normalize": (lambda tf, x: tf.linalg.normalize(x, axis=1), (X,)),
    "tridiagonal": (lambda tf, x, w: tf.linalg.tridiagonal_solve(x + 3.0 * tf.cast(MAIN, x.dtype), w[0]), (X, W)),
    "tridiagonal-transposed": (
        lambda tf, x, w: tf.linalg.tridiagonal_solve(x + 3.0 * tf.cast(MAIN, x.dtype), w, transpose_rhs=True),
        (X, W),
    ),
    "tridiagonal-sequence": (
        lambda tf, x, w: tf.linalg.tridiagonal_solve([x[0, :3], w[1] + 3.0, x[2, 1:]], w[0], "sequence"),
        (X, W),
    ),
    "tridiagonal-matrix": (
        lambda tf, x, w: tf.linalg.tridiagonal_solve(
            tf.matmul(x, x, True) + 9.0 * tf.eye(4, dtype=x.dtype), w[0], "matrix"
        ),
        (X, W),
    ),
    "sqrtm": (lambda tf, x: tf.linalg.sqrtm(tf.matmul(x, x, transpose_b=True) + tf.eye(3, dtype=x.dtype)), (X,)),
    "normalize-1": (lambda tf, x: tf.linalg.normalize(x, ord=1, axis=0), (X,)),
    "norms of complex": (lambda tf, x: [tf.norm(tf.complex(x, W), p, -1) for p in (1, 2, np.inf, 2.5)], (X,)),
}
VALUES: dict[str, tuple[Call, tuple[Any, ...]]] = {
    "matrix_rank": (lambda tf, x: tf.linalg.matrix_rank(x), (RANKS,)),
    "bincount": (lambda tf: tf.math.bincount([1, 1, 3], minlength=5, maxlength=3), ()),
    "bincount-weights": (lambda tf: tf.math.bincount([[1, 0], [2, 2]], weights=[[0.5, 1.0], [2.0, 3.0]]), ()),
    "bincount-rows": (lambda tf: tf.math.bincount([[1, 0], [2, 2]], axis=-1, binary_output=True), ()),
    "confusion": (lambda tf: tf.math.confusion_matrix([0, 2, 2], [0, 1, 2]), ()),
    "confusion-weighted": (
        lambda tf: tf.math.confusion_matrix([0, 2], [0, 1], 4, weights=[0.5, 2.0], dtype=tf.float32), ()
    ),
    "average": (lambda tf, x: tf.nn.compute_average_loss(x, sample_weight=x, global_batch_size=7), (X,)),
    "average-own": (lambda tf, x: tf.nn.compute_average_loss(x[:, 0]), (X,)),
    "saturated": (lambda tf, x: tf.saturate_cast(x * 1e9 * 3.0, tf.int32), (X,)),
    "saturated-small": (lambda tf, x: [tf.saturate_cast(x * 300.0, d) for d in (tf.uint8, tf.float16, tf.int64)], (X,)),
    "saturated-complex": (lambda tf: tf.saturate_cast(np.array([1e300 - 1e300j, np.inf, 2j]), tf.complex64), ()),
    "saturated-wide-complex": (lambda tf: tf.saturate_cast(np.array([np.inf, -2j], "complex64"), tf.complex128), ()),
    "saturated-to-complex": (lambda tf: tf.saturate_cast(np.array([1e300, -np.inf, 2.0]), tf.complex64), ()),
    "scaled": (lambda tf, x: tf.nn.scale_regularization_loss(x), (X,)),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_both_modes(name: str) -> None:
    both_modes(*CALLS[name])


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [*CALLS, *VALUES])
def test_beside_tensorflow(name: str) -> None:
    tensorflow = pytest.importorskip("tensorflow")
    call, arrays = (CALLS | VALUES)[name]
    differentiate = name in CALLS
    close(on_tape(tape_api, call, arrays, differentiate), on_tape(tensorflow, call, arrays, differentiate))


def test_complex_numbers_saturate_by_part() -> None:
    top = float(np.finfo(np.float32).max)
    found = tape_api.saturate_cast(np.array([complex(1e300, -np.inf), complex(2, -3)]), "complex64").numpy()
    assert found.dtype == np.complex64 and found.tolist() == [complex(top, -top), complex(2, -3)]
    assert tape_api.saturate_cast(np.array([-1e300, 2.0]), "complex64").numpy().tolist() == [-top, 2]
    wide = tape_api.saturate_cast(np.array([complex(1, -np.inf)], np.complex64), "complex128").numpy()
    assert wide.dtype == np.complex128 and wide.imag == -np.inf


def test_ensure_shape() -> None:
    tf = graph_api
    x = tf.placeholder(tf.float32)
    y = tf.ensure_shape(x, [None, 4])
    assert y.shape.as_list() == [None, 4]
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(tf.gradients(y * y, x)[0], {x: X}), 2 * X)
        with pytest.raises(ShapeError, match="has not the shape"):
            session.run(y, {x: X.T})
    with pytest.raises(ShapeError, match="has not the shape"):
        tf.ensure_shape(tf.constant(X), [3])
    with pytest.raises(ShapeError, match="rank 0"):
        tape_api.scalar_mul(X, X)


def test_shapes_that_agree() -> None:
    tf = graph_api
    with tf.Graph().as_default(), tf.Session() as session:
        x, w = tf.placeholder(tf.float32, [None, 4]), tf.zeros([4, 2])
        tf.debugging.assert_shapes({w: (4, "out")})
        check = tf.debugging.assert_shapes([(x, ("N", "D")), (w, ("D", 2)), (x, (..., 4)), (x[:, 0], "N")])
        equal = tf.debugging.assert_shapes([(x, ("N", None)), (tf.zeros([3]), ("N",))])
        with tf.control_dependencies([check, tf.debugging.assert_rank_in(x, [1, 2])]):
            y = tf.identity(x)
        session.run([y, equal], {x: X})
        with pytest.raises(InvalidArgumentError, match="size 'N'"):
            session.run(equal, {x: X[:2]})
        with pytest.raises(ValueError, match="got 4 and 2"):
            tf.debugging.assert_shapes([(x, ("N", "D")), (w, (2, "D"))])
        with pytest.raises(ValueError, match="rank"):
            tf.debugging.assert_shapes([(x, ("N",))])
        with pytest.raises(ValueError, match=r"\(0, 3\)"):
            tf.debugging.assert_rank_in(x, [0, 3])


def test_scale_of_units() -> None:
    tf = graph_api
    with tf.Graph().as_default(), tf.Session() as session:
        w = tf.get_variable("w", [300, 4], initializer=tf.uniform_unit_scaling_initializer(1.43, seed=1))
        session.run(tf.global_variables_initializer())
        drawn = session.run(w)
    assert 0.98 < np.abs(drawn).max() / (1.43 * 0.1) <= 1
