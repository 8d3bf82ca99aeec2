"""Variables: making, reading, assigning."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api as tf
from engine.runtime.errors import DetachWarning


@pytest.mark.parametrize(
    ("initial", "dtype", "shape"),
    [
        (1.0, tf.float32, ()),
        ([1, 2], tf.int32, (2,)),
        (np.ones((2, 3)), tf.float64, (2, 3)),
        (tf.constant([True]), tf.bool, (1,)),
        (lambda: tf.zeros([3]), tf.float32, (3,)),
        (tf.Variable([1.0]), tf.float32, (1,)),
        ([tf.constant(1.0), 2.0], tf.float32, (2,)),
    ],
)
def test_initial_values(initial: Any, dtype: Any, shape: Any) -> None:
    v = tf.Variable(initial)
    assert v.dtype is dtype and v.shape == shape and v.trainable
    assert v.numpy().dtype == dtype.numpy


def test_dtype_argument() -> None:
    assert tf.Variable(1, dtype=tf.float32).numpy().dtype == np.float32
    assert tf.Variable(np.ones(2), dtype="float32").dtype == tf.float32
    with pytest.raises(TypeError, match="to a tensor of dtype int32"):
        tf.Variable(1.5, dtype=tf.int32)
    with pytest.raises(ValueError, match="dtype float64 was asked for, got one of dtype float32"):
        tf.Variable(tf.constant(1.0), dtype=tf.float64)


def test_no_initial_value() -> None:
    with pytest.raises(ValueError, match="`initial_value` must be given"):
        tf.Variable()
    with pytest.raises(ValueError, match="`initial_value` must be given"):
        tf.Variable(None)


def test_a_variable_made_of_a_variable_is_another_one() -> None:
    v = tf.Variable([1.0, 2.0])
    w = tf.Variable(v)
    w.assign([5.0, 6.0])
    np.testing.assert_array_equal(v, [1.0, 2.0])


def test_names_and_text() -> None:
    assert tf.Variable(1.0).name == "Variable:0"
    v = tf.Variable([1.0, 2.0], name="w")
    assert v.name == "w:0" and v.device.endswith("CPU:0")
    assert repr(v) == "<tf.Variable 'w:0' shape=(2,) dtype=float32, numpy=array([1., 2.], dtype=float32)>"
    assert str(tf.Variable(1)) == "<tf.Variable 'Variable:0' shape=() dtype=int32, numpy=1>"


# ---- assigning -------------------------------------------------------------------------------------------------------


def test_assignments() -> None:
    v = tf.Variable([1.0, 2.0])
    assert v.assign([3.0, 4.0]) is v
    np.testing.assert_array_equal(v.assign_add(tf.constant([1.0, 1.0])), [4.0, 5.0])
    np.testing.assert_array_equal(v.assign_sub(np.array([1.0, 0.0])), [3.0, 5.0])
    assert v.assign([0.0, 0.0], read_value=False) is None
    v.assign(v + 1)
    np.testing.assert_array_equal(v, [1.0, 1.0])
    v.assign(tf.Variable([7.0, 8.0]))
    np.testing.assert_array_equal(v, [7.0, 8.0])


def test_augmented_operators_make_tensors() -> None:
    v = w = tf.Variable(1.0)
    v += 1.0
    assert isinstance(v, tf.Tensor) and w.numpy() == 1.0


def test_what_was_read_does_not_change() -> None:
    v = tf.Variable([1.0, 2.0])
    read, array, doubled = v.read_value(), v.numpy(), v * 2.0
    v.assign_add([1.0, 1.0])
    np.testing.assert_array_equal(read, [1.0, 2.0])
    np.testing.assert_array_equal(array, [1.0, 2.0])
    np.testing.assert_array_equal(doubled, [2.0, 4.0])


def test_the_variable_owns_its_value() -> None:
    a = np.array([1.0, 2.0])
    v = tf.Variable(a)
    v.assign(a)
    a[:] = 99.0
    v.numpy()[:] = 99.0
    np.testing.assert_array_equal(v, [1.0, 2.0])
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(v)[0] = 99.0


@pytest.mark.parametrize("method", ["assign", "assign_add", "assign_sub"])
@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        ([1.0, 2.0, 3.0], ValueError, r"the variable 'w:0' has shape \(2,\), the value( to apply)? \(3,\)"),
        ([[1.0, 2.0]], ValueError, r"the variable 'w:0' has shape \(2,\)"),
        (1.0, ValueError, r"the variable 'w:0' has shape \(2,\), the value( to apply)? \(\)"),
        (tf.constant([1, 2]), ValueError, "the variable 'w:0' has dtype float32"),
        (tf.constant([1.0, 2.0], tf.float64), TypeError, "the variable 'w:0' has dtype float32"),
        ([1j, 2j], TypeError, "the variable 'w:0' has dtype float32"),
        (None, ValueError, "None values not supported"),
    ],
)
def test_what_does_not_fit_changes_nothing(method: str, value: Any, error: type[Exception], message: str) -> None:
    v = tf.Variable([1.0, 2.0], name="w")
    with pytest.raises(error, match=message):
        getattr(v, method)(value)
    np.testing.assert_array_equal(v, [1.0, 2.0])


def test_declared_shapes() -> None:
    v = tf.Variable([1.0, 2.0], shape=[None])
    assert v.shape == [None]
    v.assign([1.0, 2.0, 3.0])
    assert v.numpy().shape == (3,) and v.ndim == 1
    with pytest.raises(ValueError, match=r"has shape \(\?,\), the value \(1, 3\)"):
        v.assign([[1.0, 2.0, 3.0]])
    v.set_shape([3])
    with pytest.raises(ValueError, match=r"has shape \(3,\)"):
        v.assign([1.0])
    free = tf.Variable([1.0], validate_shape=False)
    free.assign([[1.0, 2.0]])
    assert free.shape.rank is None and free.numpy().shape == (1, 2)
    with pytest.raises(ValueError, match=r"initial value has shape \(2,\), .* `shape` \(3,\)"):
        tf.Variable([1.0, 2.0], shape=[3])


def test_assignment_is_not_recorded() -> None:
    v, w = tf.Variable(2.0), tf.Variable(1.0)
    with tf.GradientTape() as tape:
        w.assign(v * v)
        with pytest.warns(DetachWarning, match="no derivative passes the assignment"):
            y = w * 1.0
    assert tape.gradient(y, v) is None


# ---- use as a tensor -------------------------------------------------------------------------------------------------


def test_operators_and_functions() -> None:
    v = tf.Variable([1.0, 2.0])
    np.testing.assert_array_equal(v + v, [2.0, 4.0])
    np.testing.assert_array_equal(2.0 * v - 1.0, [1.0, 3.0])
    np.testing.assert_array_equal(v**2, [1.0, 4.0])
    np.testing.assert_array_equal(-v, [-1.0, -2.0])
    np.testing.assert_array_equal(v > 1.5, [False, True])
    np.testing.assert_array_equal(tf.reduce_sum(v), 3.0)
    np.testing.assert_array_equal(np.array([1.0, 2.0]) * v, [1.0, 4.0])
    assert (tf.Variable([[1.0]]) @ tf.Variable([[2.0]])).numpy() == [[2.0]]
    assert v[1].numpy() == 2.0 and v[::-1].shape == (2,)
    for result in (v + v, tf.identity(v), tf.cast(v, tf.float32), v[0]):
        assert isinstance(result, tf.Tensor)


def test_python_protocols() -> None:
    v, s = tf.Variable([1.0, 2.0]), tf.Variable(3)
    assert [x.numpy() for x in v] == [1.0, 2.0] and len(v) == 2
    assert float(tf.Variable(1.5)) == 1.5 and int(s) == 3 and complex(s) == 3 and list(range(s)) == [0, 1, 2]
    assert bool(s) and not tf.Variable(0.0)
    assert f"{tf.Variable(1.5):.2f}" == "1.50" and "Variable" in f"{v}"
    assert np.asarray(v, np.float64).dtype == np.float64 and np.sum(v) == 3.0
    assert v.value().numpy().tolist() == v.eval().tolist() == v.initialized_value().numpy().tolist()


def test_equality_and_hashing() -> None:
    v = tf.Variable([1.0, 2.0])
    np.testing.assert_array_equal(v == v, [True, True])
    np.testing.assert_array_equal(v != [1.0, 3.0], [False, True])
    np.testing.assert_array_equal(tf.constant([1.0, 5.0]) == v, [True, False])
    assert (v == None) is False and (v != None) is True  # noqa: E711
    with pytest.raises(TypeError, match=r"unhashable.*variable.ref\(\)"):
        hash(v)
    assert {v.ref(): 1}[v.ref()] == 1 and v.ref().deref() is v


def test_copies_and_pickles() -> None:
    v = tf.Variable([1.0, 2.0], name="w", trainable=False, shape=[None])
    for other in (copy.deepcopy(v), copy.copy(v), pickle.loads(pickle.dumps(v))):
        assert other is not v and other.name == "w:0" and not other.trainable and other.shape == [None]
        other.assign_add([1.0, 1.0])
    np.testing.assert_array_equal(v, [1.0, 2.0])


def test_no_item_assignment() -> None:
    with pytest.raises(TypeError, match="item assignment"):
        tf.Variable([1.0])[0] = 2.0


def test_a_constraint_that_cannot_be_called_is_refused() -> None:
    for front in (tf, graph_api):
        with graph_api.Graph().as_default(), pytest.raises(ValueError, match="`constraint` must be None or a callable"):
            front.Variable(1.0, constraint=0)


def test_constraint_is_kept() -> None:
    assert tf.Variable(1.0, constraint=tf.nn.relu).constraint is tf.nn.relu
