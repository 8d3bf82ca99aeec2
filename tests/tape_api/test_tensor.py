"""Tensors: making them of things, comparing, printing, converting back."""

import copy
import pickle
import sys
from typing import Any

import numpy as np
import pytest

import tape_api as tf

# ---- constant and convert_to_tensor ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "dtype", "shape"),
    [
        (1.0, tf.float32, ()),
        (1, tf.int32, ()),
        (True, tf.bool, ()),
        (1j, tf.complex128, ()),
        ([1, 2.5], tf.float32, (2,)),
        ([[1, 2], [3, 4]], tf.int32, (2, 2)),
        ([], tf.float32, (0,)),
        (2**40, tf.int64, ()),
        (np.ones(1), tf.float64, (1,)),
        (np.float16(1), tf.float16, ()),
        ([np.float64(1), 2], tf.float64, (2,)),
        ([np.ones(2, np.int64)], tf.int64, (1, 2)),
        ((1.0, 2.0), tf.float32, (2,)),
        (range(3), tf.int32, (3,)),
    ],
)
@pytest.mark.parametrize("make", [tf.constant, tf.convert_to_tensor])
def test_default_dtypes(make: Any, value: Any, dtype: Any, shape: Any) -> None:
    x = make(value)
    assert isinstance(x, tf.Tensor)
    assert x.dtype is dtype and x.shape == shape


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (1, tf.float32, 1.0),
        ([True], tf.float32, [1.0]),
        (np.array([True]), tf.float32, [1.0]),
        (np.array([1.7]), tf.int32, [1]),
        (np.float64(1.7), "int32", 1),
        (np.array([2]), tf.bool, [True]),
        ([np.float64(0.5)], tf.float32, [0.5]),
        (1.5, np.float64, 1.5),
    ],
)
def test_given_dtypes(value: Any, dtype: Any, expected: Any) -> None:
    for make in (tf.constant, tf.convert_to_tensor):
        x = make(value, dtype=dtype)
        assert x.dtype == dtype
        np.testing.assert_array_equal(x, expected)


@pytest.mark.parametrize(
    ("value", "dtype", "error", "message"),
    [
        (1.5, tf.int32, TypeError, "Cannot convert .*1.5.* to a tensor of dtype int32; .* tf.cast"),
        ([1], tf.bool, TypeError, "to a tensor of dtype bool"),
        (None, None, ValueError, "None values not supported"),
        ([1, None], None, TypeError, "Cannot convert"),
        ([[1, 2], [3]], None, ValueError, "non-rectangular Python sequence"),
        ("text", tf.int32, TypeError, "Cannot convert"),
        (object(), None, ValueError, "Cannot convert"),
        (2**70, None, ValueError, "Cannot convert"),
        (300, tf.int8, TypeError, "int8"),
        (-1, tf.uint8, TypeError, "uint8"),
        (np.array(["a"]), tf.float32, ValueError, "Cannot convert"),
        (1.0, "nonsense", TypeError, "'nonsense' is not a supported dtype"),
    ],
)
def test_what_cannot_be_converted(value: Any, dtype: Any, error: type[Exception], message: str) -> None:
    for make in (tf.constant, tf.convert_to_tensor):
        with pytest.raises(error, match=message):
            make(value, dtype=dtype)


def test_a_tensor_is_not_cast() -> None:
    x = tf.constant([1.0, 2.0])
    assert tf.convert_to_tensor(x) is x and tf.constant(x) is x
    assert tf.convert_to_tensor(x, tf.float32) is x
    for make in (tf.constant, tf.convert_to_tensor):
        with pytest.raises(TypeError, match="dtype int32 was asked for, got one of dtype float32; cast it"):
            make(x, dtype=tf.int32)
        with pytest.raises(ValueError, match="dtype float64 was asked for"):
            make(tf.Variable(1.0), dtype=tf.float64)


def test_dtype_hint() -> None:
    assert tf.convert_to_tensor(1, dtype_hint=tf.float64).dtype == tf.float64
    assert tf.convert_to_tensor(1.5, dtype_hint=tf.int32).dtype == tf.float32
    assert tf.convert_to_tensor(tf.constant(1), dtype_hint=tf.float64).dtype == tf.int32


def test_shape_argument() -> None:
    np.testing.assert_array_equal(tf.constant([1, 2, 3, 4], shape=(2, 2)), [[1, 2], [3, 4]])
    np.testing.assert_array_equal(tf.constant(1.5, shape=[2, 2]), [[1.5, 1.5], [1.5, 1.5]])
    assert tf.constant(0.0, shape=[0, 3]).shape == (0, 3)
    with pytest.raises(ValueError, match=r"`value` has 2 elements, which do not fit into `shape` \(3,\)"):
        tf.constant([1.0, 2.0], shape=[3])


def test_lists_of_tensors_are_packed_and_differentiated() -> None:
    x = tf.constant(2.0)
    for make in (tf.constant, tf.convert_to_tensor):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = make([[x * x, 1.0], [x, tf.Variable(3.0)]])
        np.testing.assert_array_equal(y, [[4.0, 1.0], [2.0, 3.0]])
        assert tape.gradient(y, x).numpy() == 5.0


def test_tensors_own_their_data() -> None:
    a = np.array([1.0, 2.0])
    tensors = [tf.constant(a), tf.convert_to_tensor(a), tf.reshape(a, [1, 2]), tf.identity(a), tf.Variable(a)]
    a[0] = 99.0
    for x in tensors:
        assert np.ravel(x)[0] == 1.0
    x = tensors[0]
    x.numpy()[0] = 99.0
    np.array(x)[0] = 99.0
    np.testing.assert_array_equal(x, [1.0, 2.0])
    view = np.asarray(x)
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 99.0


def test_tensors_are_in_c_order() -> None:
    a = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    assert np.asarray(tf.constant(a)).flags.c_contiguous
    assert np.asarray(tf.constant(a.T[::-1])).flags.c_contiguous


def test_is_tensor() -> None:
    assert tf.is_tensor(tf.constant(1)) and tf.is_tensor(tf.Variable(1))
    assert not tf.is_tensor(np.ones(2)) and not tf.is_tensor(1.0)
    assert not isinstance(tf.Variable(1), tf.Tensor)


# ---- Python's protocols ----------------------------------------------------------------------------------------------


def test_back_to_python_and_numpy() -> None:
    x, s = tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant(1.5)
    assert type(x.numpy()) is np.ndarray and type(s.numpy()) is np.float32
    assert float(s) == 1.5 and int(tf.constant(3)) == 3 and complex(s) == 1.5 + 0j
    assert len(x) == 2 and [r.numpy().tolist() for r in x] == [[1.0, 2.0], [3.0, 4.0]]
    assert [1, 2, 3][tf.constant(1)] == 2 and list(range(tf.constant(2))) == [0, 1]
    assert f"{s:.2f}" == "1.50" and round(tf.constant(1.26), 1) == pytest.approx(1.3)
    assert bool(tf.constant(True)) and not tf.constant(0.0)
    assert x.shape == (2, 2) and x.shape.as_list() == [2, 2] and x.get_shape()[0] == 2 and x.ndim == 2
    assert np.sin(x).shape == (2, 2) and np.asarray(x, np.float64).dtype == np.float64


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: len(x), TypeError, "scalar tensor has no length"),
        (lambda x: list(x), TypeError, "cannot iterate over a scalar"),
        (lambda x: hash(x), TypeError, r"unhashable.*tensor.ref\(\)"),
        (lambda x: {x: 1}, TypeError, "unhashable"),
        (lambda x: bool(tf.stack([x, x])), ValueError, "ambiguous"),
        (lambda x: float(tf.stack([x, x])), TypeError, "scalars"),
        (lambda x: x.nonsense, AttributeError, "nonsense"),
        (lambda x: x.__setitem__(0, 1.0), TypeError, "item assignment.*tensor_scatter_nd_update"),
        (lambda x: x[0], ValueError, "getitem"),
        (lambda x: tf.stack([x, x])[5], ValueError, "index 5 of dimension 0 out of bounds"),
        (lambda x: x + "text", TypeError, "unsupported operand"),
        (lambda x: x + None, TypeError, "unsupported operand"),
    ],
)
def test_what_a_tensor_cannot_do(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(tf.constant(1.0))


def test_references() -> None:
    x, y = tf.constant(1.0), tf.constant(1.0)
    table = {x.ref(): "x", y.ref(): "y"}
    assert table[x.ref()] == "x" and x.ref().deref() is x and x.ref() != y.ref()


def test_copies_and_pickles() -> None:
    x = tf.constant([1.0, 2.0])
    assert copy.deepcopy(x) is x
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(x)), x)


@pytest.mark.parametrize(
    ("x", "text", "shown"),
    [
        (
            tf.constant([1.0, 2.5]),
            "tf.Tensor([1.  2.5], shape=(2,), dtype=float32)",
            "<tf.Tensor: shape=(2,), dtype=float32, numpy=array([1. , 2.5], dtype=float32)>",
        ),
        (tf.constant(3), "tf.Tensor(3, shape=(), dtype=int32)", "<tf.Tensor: shape=(), dtype=int32, numpy=3>"),
        (
            tf.constant([[1], [2]]),
            "tf.Tensor(\n[[1]\n [2]], shape=(2, 1), dtype=int32)",
            "<tf.Tensor: shape=(2, 1), dtype=int32, numpy=\narray([[1],\n       [2]], dtype=int32)>",
        ),
        (tf.constant(True), "tf.Tensor(True, shape=(), dtype=bool)", "<tf.Tensor: shape=(), dtype=bool, numpy=True>"),
    ],
)
def test_text(x: Any, text: str, shown: str) -> None:
    assert str(x) == text
    assert repr(x) == shown


# ---- equality --------------------------------------------------------------------------------------------------------


def test_equality_is_elementwise() -> None:
    x = tf.constant([1.0, 2.0])
    for other in (tf.constant([1.0, 3.0]), [1.0, 3.0], np.array([1.0, 3.0]), tf.Variable([1.0, 3.0])):
        np.testing.assert_array_equal(x == other, [True, False])
        np.testing.assert_array_equal(x != other, [False, True])
    np.testing.assert_array_equal(x == 1, [True, False])
    np.testing.assert_array_equal(np.array([1.0, 3.0]) == x, [True, False])
    assert (x == x).dtype == tf.bool


def test_equality_with_none_shapes_and_strangers() -> None:
    x = tf.constant([1.0, 2.0])
    assert (x == None) is False and (x != None) is True  # noqa: E711
    different = x == tf.constant([1.0, 2.0, 3.0])
    assert different.shape == () and not different
    assert x != tf.constant([1.0, 2.0, 3.0])
    assert (x == "text") is False and (x != object()) is True
    assert x not in [tf.constant([1.0, 2.0, 3.0]), None, "text"]


def test_equality_of_different_dtypes_raises() -> None:
    with pytest.raises(TypeError, match=r"one dtype, but `x` has float32 and `y` has int32"):
        _ = tf.constant(1.0) == tf.constant(1)
    with pytest.raises(TypeError, match="to a tensor of dtype int32"):
        _ = tf.constant(1) == 1.5


# ---- dtypes beside each other ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "other", [2, 2.0, np.float64(2), np.int8(2), np.array(2.0), np.array([2.0]), [2.0], True, np.array([True])]
)
def test_the_tensors_dtype_wins_on_either_side(other: Any) -> None:
    x = tf.constant([1.0])
    for y in (x + other, other + x, tf.add(x, other), tf.add(other, x), x * other, other - x, x / other):
        assert isinstance(y, tf.Tensor) and y.dtype == tf.float32
    v = tf.Variable([1.0])
    for y in (v + other, other + v, tf.add(v, other)):
        assert isinstance(y, tf.Tensor) and y.dtype == tf.float32


@pytest.mark.parametrize(
    "operation", [lambda x, y: x + y, lambda x, y: tf.add(x, y), lambda x, y: tf.matmul([[x]], [[y]])]
)
def test_no_silent_promotion(operation: Any) -> None:
    with pytest.raises(TypeError, match="cast one of them with"):
        operation(tf.constant(1.0), tf.constant(1.0, tf.float64))
    with pytest.raises(tf.errors.InvalidArgumentError):
        operation(tf.constant(1.0), tf.constant(1))


def test_an_int_tensor_takes_no_float() -> None:
    for call in (lambda: tf.constant(1) + 1.5, lambda: tf.add(tf.constant(1), 1.5), lambda: 1.5 * tf.constant([1])):
        with pytest.raises(TypeError, match="to a tensor of dtype int32"):
            call()


def test_integer_division() -> None:
    q = tf.constant([3]) / tf.constant([2])
    assert q.dtype == tf.float64 and q.numpy() == [1.5]
    assert (tf.constant([3]) // 2).numpy() == [1] and (tf.constant([-3]) % 2).numpy() == [1]


def test_ops_on_python_data_alone() -> None:
    assert tf.sin(1.0).dtype == tf.float32
    assert tf.reduce_sum([1, 2, 3]).numpy() == 6
    with pytest.raises(TypeError, match=r"sin: argument `x` must have one of the dtypes .* got int32"):
        tf.sin(1)


# ---- print -----------------------------------------------------------------------------------------------------------


def test_print(capsys: pytest.CaptureFixture[str], tmp_path: Any) -> None:
    tf.print("a", tf.constant([1.0, 2.0]), tf.Variable(3), {"k": tf.constant(1)}, 1.5, None, sep="|", end="!\n")
    assert capsys.readouterr().err == "a|[1 2]|3|{'k': 1}|1.5|None!\n"
    tf.print(tf.range(100), output_stream=sys.stdout)
    tf.print(tf.reshape(tf.range(8), [2, 4]), output_stream=sys.stdout, summarize=1)
    tf.print(tf.range(9), summarize=-1, output_stream=sys.stdout)
    tf.print(tf.constant([1 / 3, 1e10, 0.1]), tf.constant(1 / 3, tf.float64), [True], output_stream=sys.stdout)
    assert capsys.readouterr().out.splitlines() == [
        "[0 1 2 ... 97 98 99]",
        "[[0 ... 3]",
        " [4 ... 7]]",
        "[0 1 2 3 4 5 6 7 8]",
        "[0.333333343 1e+10 0.1] 0.33333333333333331 [True]",
    ]
    path = tmp_path / "log"
    for _ in range(2):
        tf.print("x", tf.constant(1), output_stream=f"file://{path}")
    assert path.read_text() == "x 1\nx 1\n"
    lines: list[str] = []
    tf.print(tf.constant(True), output_stream=lines.append)
    assert lines == ["1\n"]
