"""NumPy's methods, attributes and indexing on tensors: where they are on, what they give, what is said elsewhere."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import graph_api as tf1
import tape_api as tf
from engine.core.batching import Batched, batch_level, unbatch
from engine.numpy_api import manners
from engine.runtime.errors import DTypeError, IndexOutOfRangeError, ShapeError
from tests.tapes import gradient_in

Function = Callable[[Any], Any]
RNG = np.random.default_rng(3)
X = RNG.normal(size=(3, 4, 5))
PLACES, MASK = np.array([2, 0, -1]), np.array([True, False, True])


@pytest.fixture
def switched_on() -> Iterator[None]:
    assert not manners.enabled()
    tf.experimental.numpy.experimental_enable_numpy_behavior()
    try:
        yield
    finally:
        manners.enable(False)


INDICES: list[Any] = [
    [0, 2],
    PLACES,
    (slice(None), PLACES),
    (slice(None), slice(1, None), PLACES),
    (PLACES, PLACES),
    (PLACES, slice(None), PLACES),
    (0, slice(None), PLACES),
    (PLACES, 0),
    (0, PLACES),
    (None, PLACES),
    (PLACES, None),
    (..., PLACES),
    (slice(None), 0, PLACES),
    MASK,
    X[:, :, 0] > 0,
    X > 0,
    (X[:, :, 0] > 0, 0),
    (MASK, slice(None), PLACES[:2]),
    (slice(None), X[0, :, 0] > 0),
    np.ix_([0, 2], [1, 3]),
    np.ix_([0, 2], [1, 3], [0, 4]),
    (PLACES[:, None], PLACES[None, :]),
    (slice(None), PLACES, None, PLACES),
    ([[0, 1], [2, 0]],),
    [],
    (PLACES, slice(None, None, -1)),
    (slice(None), np.int64(1), [0, 1]),
    ((0, 2), slice(None), (1, 1)),
]


def weights(shape: Any) -> np.ndarray:
    return np.cos(np.arange(np.prod(shape, dtype=int))).reshape(shape)


@pytest.mark.usefixtures("switched_on")
@pytest.mark.parametrize("key", INDICES, ids=str)
def test_indexing_is_numpys(key: Any) -> None:
    expected = X[key]
    slope = np.zeros_like(X)
    np.add.at(slope, key, weights(expected.shape))
    t = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(t)
        y = t[key]
        total = tf.reduce_sum(y * weights(expected.shape))
    np.testing.assert_array_equal(y, expected)
    np.testing.assert_array_equal(tape.gradient(total, t), slope)
    with tf1.Graph().as_default(), tf1.Session() as session:
        p = tf1.placeholder(tf1.float64, X.shape)
        y = p[key]
        found = session.run([y, tf1.gradients(tf1.reduce_sum(y * weights(expected.shape)), p)[0]], {p: X})
    np.testing.assert_array_equal(found[0], expected)
    np.testing.assert_array_equal(found[1], slope)
    batch = np.stack([X, 2 * X])
    with batch_level() as level:
        together = unbatch(Batched(tf.constant(batch), level)[key], level, 2)
    np.testing.assert_array_equal(together, np.stack([expected, 2 * expected]))


@pytest.mark.usefixtures("switched_on")
def test_indexing_by_tensors() -> None:
    t = tf.constant(X)
    np.testing.assert_array_equal(t[tf.constant(PLACES), 1], X[PLACES, 1])
    np.testing.assert_array_equal(t[:, tf.constant(X[0, :, 0]) > 0], X[:, X[0, :, 0] > 0])
    np.testing.assert_array_equal(t[t > 0], X[X > 0])
    with tf1.Graph().as_default(), tf1.Session() as session:
        p, i = tf1.placeholder(tf1.float64, X.shape), tf1.placeholder(tf1.int32, [None])
        np.testing.assert_array_equal(session.run(p[:, i], {p: X, i: PLACES}), X[:, PLACES])
        np.testing.assert_array_equal(session.run(p[p > 0.0], {p: X}), X[X > 0])
        with pytest.raises(ShapeError, match=r"must be the whole index.*tf\.boolean_mask"):
            p[:, p[0, :, 0] > 0.0]


@pytest.mark.usefixtures("switched_on")
def test_bad_indices() -> None:
    t = tf.constant(X)
    with pytest.raises(IndexOutOfRangeError, match="index 3 is out of range for a dimension of 3"):
        t[[0, 3]]
    with pytest.raises(ShapeError, match="too many indices: 4 for a value of rank 3"):
        t[PLACES, 0, 0, 0]
    with pytest.raises(IndexError, match="float64"):
        t[np.array([0.0, 1.0])]


METHODS: dict[str, Function] = {
    "T": lambda x: x.T,
    "mT": lambda x: x.mT,
    "real": lambda x: x.real,
    "imag": lambda x: (x * (1 + 2j) if isinstance(x, np.ndarray) else tf.complex(x, 2.0 * x)).imag,
    "sum": lambda x: x.sum(axis=(0, 1)),
    "mean": lambda x: x.mean(axis=-1, keepdims=True),
    "min": lambda x: x.min(1),
    "max": lambda x: x.max(),
    "std": lambda x: x.std(axis=0, ddof=1),
    "var": lambda x: x.var(),
    "prod": lambda x: x.prod(axis=1),
    "dot": lambda x: x.dot(np.arange(5.0)),
    "ravel": lambda x: x.ravel(),
    "flatten": lambda x: x.flatten(),
    "reshape": lambda x: x.reshape(4, -1),
    "reshape of columns": lambda x: x.reshape((5, 12), order="F"),
    "ravel of columns": lambda x: x.ravel("F") * x.flatten(order="F"),
    "flat": lambda x: x.flat if not isinstance(x, np.ndarray) else x.ravel(),
    "divmod": lambda x: divmod(x, 0.3)[1] + divmod(0.3, x)[1],
    "reshape to a shape": lambda x: x.reshape((5, 12)),
    "transpose": lambda x: x.transpose(2, 0, 1),
    "transpose all": lambda x: x.transpose(),
    "swapaxes": lambda x: x.swapaxes(0, 1),
    "squeeze": lambda x: x[None].squeeze(),
    "astype": lambda x: x.astype(np.float64),
    "copy": lambda x: x.copy(),
    "clip": lambda x: x.clip(-0.5, 0.5),
    "cumsum": lambda x: x.cumsum(axis=1),
    "cumprod": lambda x: x.cumprod(axis=1),
    "repeat": lambda x: x.repeat(2, axis=0),
    "conj": lambda x: x.conj(),
    "conjugate": lambda x: x.conjugate(),
    "take": lambda x: x.take([3, 1], axis=1),
    "compress": lambda x: x.compress([True, False, True], axis=0),
    "diagonal": lambda x: x.diagonal(1, 1, 2),
    "trace": lambda x: x.trace(0, 1, 2),
    "matmul with a vector": lambda x: x @ np.arange(5.0),
    "matmul of vectors": lambda x: x[0, 0] @ x[1, 1],
    "a vector times a matrix": lambda x: x[0, :, 0] @ x[0],
}
LOOKS: dict[str, Function] = {
    "size": lambda x: x.size,
    "itemsize": lambda x: x.itemsize,
    "nbytes": lambda x: x.nbytes,
    "argmax": lambda x: x.argmax(axis=1),
    "argmin": lambda x: x.argmin(),
    "argsort": lambda x: x.argsort(axis=0),
    "any": lambda x: (x > 3).any(),
    "all": lambda x: (x > 0).all(axis=0),
    "round": lambda x: x.round(1),
    "nonzero": lambda x: x.nonzero()[0],
    "searchsorted": lambda x: x[0, 0].searchsorted(0.3),
    "item": lambda x: x[0, 0, :1].item(),
    "tolist": lambda x: x.tolist(),
    "tobytes": lambda x: np.frombuffer(x.tobytes()),
}


@pytest.mark.usefixtures("switched_on")
@pytest.mark.parametrize("name", METHODS)
def test_methods_are_numpys(name: str) -> None:
    f = METHODS[name]
    with tf.GradientTape() as tape:
        t = tf.constant(X)
        tape.watch(t)
        y = f(t)
        total = tf.reduce_sum(y * weights(y.shape.as_list()))
    np.testing.assert_allclose(y, f(X), rtol=1e-13)
    gradient = tape.gradient(total, t)
    step = RNG.normal(size=X.shape)
    quotient = np.sum(weights(np.shape(f(X))) * (f(X + 1e-6 * step) - f(X - 1e-6 * step))) / 2e-6
    assert np.sum(tf.convert_to_tensor(gradient) * step) == pytest.approx(quotient, rel=1e-6, abs=1e-8)
    with tf1.Graph().as_default(), tf1.Session() as session:
        p = tf1.placeholder(tf1.float64, X.shape)
        if name not in ("imag", "trace"):  # a graph's tensor has a `trace` of its own, the graph
            assert session.run(f(p), {p: X}).tobytes() == y.numpy().tobytes()


@pytest.mark.usefixtures("switched_on")
@pytest.mark.parametrize("name", LOOKS)
def test_what_carries_no_derivative(name: str) -> None:
    np.testing.assert_array_equal(LOOKS[name](tf.constant(X)), LOOKS[name](X))
    np.testing.assert_array_equal(LOOKS[name](tf.Variable(X)), LOOKS[name](X))


def test_every_name_is_tried() -> None:
    tried = " ".join((*METHODS, *LOOKS))
    assert [name for name in (*manners._METHODS, *manners._ATTRIBUTES) if name not in tried] == []


def test_elsewhere_it_is_said_what_to_do() -> None:
    with tf1.Graph().as_default():
        for x in (tf.constant(X), tf.Variable(X), tf1.placeholder(tf1.float64, X.shape), tf1.Variable(X)):
            assert not hasattr(x, "T")
            with pytest.raises(AttributeError, match=r"no attribute 'sum'. Use tf.reduce_sum; .*enable_numpy_behavior"):
                x.sum()
            with pytest.raises(DTypeError, match=r"tf.gather.*experimental_enable_numpy_behavior"):
                x[[0, 1]]
            with pytest.raises(ShapeError, match="rank 2 or more"):
                x @ x[0, 0]


REAL_BESIDE_COMPLEX: dict[str, Function] = {
    "a number": lambda x: np.exp(1j * x) / (2j - x),
    "a number of NumPy's": lambda x: np.complex128(1j) * x + x,
    "an array": lambda x: x * np.array([1j, 2.0, -1j]) + np.array([1j, 2.0, -1j]) @ x,
    "a list": lambda x: np.concatenate([x, [1j]]),
    "a choice": lambda x: np.where(np.array([True, False, True]), x, 1j * x),
    "a spectrum": lambda x: np.fft.fft(x) * x,
    "a product": lambda x: np.einsum("i,j", x, np.array([1j, 2.0])),
    "a dot": lambda x: np.dot(np.array([1j, 1.0, 0.0]), x) * x,
}


@pytest.mark.usefixtures("switched_on")
@pytest.mark.parametrize("name", REAL_BESIDE_COMPLEX)
def test_what_is_real_becomes_complex_beside_something_complex(name: str) -> None:
    f, x = REAL_BESIDE_COMPLEX[name], np.array([0.3, -1.2, 0.8])
    t = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(t)
        y = f(t)
        total = tf.reduce_sum(tf.square(tf.abs(y)))
    np.testing.assert_allclose(y, f(x), rtol=1e-14)
    gradient = tape.gradient(total, t)
    assert gradient.dtype == tf.float64
    moved = [np.sum(abs(f(x + step)) ** 2 - abs(f(x - step)) ** 2) / 2e-6 for step in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(gradient, moved, rtol=1e-7, atol=1e-8)
    with tf1.Graph().as_default(), tf1.Session() as session:
        p = tf1.placeholder(tf1.float64, x.shape)
        assert session.run(f(p), {p: x}).tobytes() == y.numpy().tobytes()
    assert (tf.constant([1.0]) * 1j).dtype == tf.complex64


def test_elsewhere_a_program_casts_itself() -> None:
    with pytest.raises(DTypeError, match=r"tf\.cast"):
        tf.constant([1.0]) * 1j
    with pytest.raises(DTypeError, match=r"tf\.cast"):
        np.concatenate([tf.constant([1.0]), tf.constant([1j])])


def test_they_are_on_inside_functions_for_numpys_users() -> None:
    def f(x: Any) -> Any:
        return (x[[0, 2]].reshape(-1, 1) @ x[x > 0][:1]).sum() + x.T @ x

    x = np.array([0.5, -1.0, 2.0])
    expected = np.array([2 * 0.5 + 2.0 + 2 * 0.5, 2 * -1.0, 0.5 + 2 * 2.0])
    np.testing.assert_allclose(tf.for_scipy(f, x).jac(x), expected)
    np.testing.assert_allclose(tf.transforms.grad(f)(x), expected)
    assert not manners.enabled()
    with pytest.raises(ZeroDivisionError):
        tf.transforms.grad(lambda x: x.sum() / (1 // 0))(x)
    assert not manners.enabled()

    seen = []

    def g(x: Any) -> Any:
        other = threading.Thread(target=lambda: seen.append(manners.enabled()))
        other.start()
        other.join()
        return x.sum()

    tf.transforms.grad(g)(x)
    assert seen == [False], "other threads' tensors are as they were"


def test_numpys_functions_under_tensorflows_name() -> None:
    tnp = tf.experimental.numpy
    x = tnp.array([1.0, 2.0])
    assert isinstance(x, tf.Tensor)
    assert isinstance(tnp.zeros((2, 2)), tf.Tensor)
    np.testing.assert_array_equal(tnp.stack([x, x]).numpy(), [[1, 2], [1, 2]])
    np.testing.assert_array_equal(tnp.array([x, x]), [[1, 2], [1, 2]])
    np.testing.assert_allclose(gradient_in(x, lambda: tnp.sum(tnp.sin(x) ** 2)), np.sin([2.0, 4.0]))
    assert tnp.pi == np.pi
    with pytest.raises(AttributeError, match="nor has NumPy"):
        assert tnp.no_such_function
    with pytest.raises(ValueError, match="not promoted"):
        tnp.experimental_enable_numpy_behavior(prefer_float32=True)
    assert tf1.experimental.numpy is tnp


def test_numpy_takes_dtypes_of_tensors() -> None:
    x = tf.constant([1.0], tf.float32)
    assert np.zeros(3, dtype=x.dtype).dtype == np.float32
    assert np.finfo(x.dtype).eps == np.finfo(np.float32).eps
    assert np.issubdtype(x.dtype, np.floating)
    assert (x.dtype.kind, x.dtype.itemsize, x.dtype.type) == ("f", 4, np.float32)
