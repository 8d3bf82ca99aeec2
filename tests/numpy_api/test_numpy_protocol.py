"""NumPy's functions on values: recorded, added to graphs, batched; and what is said where that cannot be."""

import re
from typing import Any

import numpy as np
import pytest
import scipy.special

import graph_api as tf1
import tape_api as tf
from engine.core import detach, nest
from engine.core.batching import Batched, batch_level, unbatch
from engine.core.value import Value
from engine.numpy_api import catalog, compound, functions, protocol
from engine.runtime.errors import DTypeError, SymbolicArrayError
from tests.array_functions import Function, assert_right, weights
from tests.numpy_rows import LOOKING, ROWS, W, X
from tests.tapes import watching


@pytest.mark.parametrize("name", ROWS)
def test_the_value_is_numpys_the_gradient_a_difference_and_a_graph_agrees(name: str) -> None:
    f, x = ROWS[name]
    assert_right(f, x, 1e-13, in_a_graph=name not in LOOKING)
    assert f(tf.constant(x, tf.float32)).dtype == tf.float32, "arrays beside a tensor take its dtype"


@pytest.mark.parametrize("name", [name for name in ROWS if name not in LOOKING])
def test_a_batch_is_a_loop(name: str) -> None:
    f, x = ROWS[name]
    batch = np.stack([x, x * 1.1, x[::-1] if name not in ("cholesky", "inv", "interp between") else x * 0.9])
    with batch_level() as level:
        together = unbatch(f(Batched(tf.constant(batch), level)), level, len(batch))
    np.testing.assert_allclose(together, np.stack([f(one) for one in batch]), rtol=1e-12, atol=1e-12)


ONCE = ("scipy.special.gammainc of several", "scipy.special.gdtrc of several", "scipy.special.betainc of several")
"""In shape parameters SciPy has no functions for second derivatives."""


@pytest.mark.parametrize("name", [name for name in ROWS if name not in ONCE])
def test_forward_and_second_derivatives(name: str) -> None:
    f, x = ROWS[name]
    direction = weights(x.shape)

    def total(t: Any) -> Any:
        y = f(t)
        return np.sum(y * y * weights(np.shape(y)))

    slope = tf.transforms.grad(total)
    gradient, pushed = np.asarray(slope(x)), tf.transforms.jvp(total, (x,), (direction,))[1]
    assert float(pushed) == pytest.approx(np.sum(gradient * direction), rel=1e-9, abs=1e-10)
    second = tf.transforms.hvp(total, (x,), (direction,))[0]
    quotient = (np.asarray(slope(x + 1e-6 * direction)) - np.asarray(slope(x - 1e-6 * direction))) / 2e-6
    np.testing.assert_allclose(second, quotient, rtol=2e-5, atol=2e-5)


def test_complex_parts_are_recorded() -> None:
    z = tf.constant(X + 1j * W)
    for f in (np.real, np.imag, np.angle, np.abs, np.linalg.norm):
        tape, part = watching(z, lambda f=f: f(z))
        assert part.dtype == tf.float64 and tape.gradient(part, z) is not None
        np.testing.assert_allclose(part, f(X + 1j * W), rtol=1e-14)


def test_the_rows_are_complete() -> None:
    mentioned = set(ROWS) | {"imag", "angle"}
    recorded = {**functions.RECORDED, **compound.COMPOUND}
    assert [f.__name__ for f in recorded if f.__name__ not in mentioned] == []


# ---- operators, operands, dtypes -------------------------------------------------------------------------------------

F32 = tf.constant([1.0, 2.0])
I32 = tf.constant([1, 2])
ARRAY = np.array([3.0, 4.0])


def test_arrays_on_either_side_take_the_tensors_dtype() -> None:
    for x, y in ((F32 * ARRAY, ARRAY * F32), (F32 - ARRAY, -(ARRAY - F32)), (np.add(F32, ARRAY), np.add(ARRAY, F32))):
        assert isinstance(y, tf.Tensor)
        assert x.dtype == y.dtype == tf.float32
        assert x.numpy().tobytes() == y.numpy().tobytes()
    assert (np.float64(2) * F32).dtype == tf.float32
    assert (np.eye(2) @ tf.constant([[1.0], [2.0]])).dtype == tf.float32
    assert np.arctan2([1, 2], F32).dtype == tf.float32
    held = ARRAY.copy()
    tape, y = watching(F32, lambda: np.einsum("i,i", F32, held))
    held[:] = 0.0
    assert tape.gradient(y, F32).numpy().tolist() == ARRAY.tolist(), "it may change afterwards"


def test_nothing_is_promoted_or_cut_silently() -> None:
    with pytest.raises(DTypeError, match="int32"):
        ARRAY + 0.5 + I32
    for f in (lambda x: np.add(F32, x), lambda x: np.concatenate([F32, x]), lambda x: np.einsum("i,i", F32, x)):
        for other in (tf.constant(ARRAY), 1j * ARRAY):
            with pytest.raises(DTypeError, match=r"tf\.cast"):
                f(other)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_few_elements_give_is_numpys() -> None:
    def f(x: Any) -> Any:
        yield from [np.var(x, ddof=7), np.cov(x, ddof=7), np.nanvar(x, ddof=7), np.std(x, ddof=7, where=x > 1)]
        yield from [*[np.linalg.norm(x[:0], p, (0, 1)) for p in (1, "fro")], np.linspace(x, 3.0, 1, retstep=True)[1]]

    for ours, theirs in zip(f(tf.constant(X)), f(X), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-13)


def test_comparisons_are_those_of_the_operators() -> None:
    for found in (ARRAY > F32, np.greater(ARRAY, F32), ARRAY != F32, np.not_equal(F32, ARRAY)):
        assert isinstance(found, tf.Tensor)
        assert found.numpy().tolist() == [True, True]
    assert not bool(np.ones(3) == F32), "shapes that do not fit are not equal, as with tensors"


def test_integers_follow_numpy() -> None:
    assert np.mean(I32) == 1.5, "not TensorFlow's 1"
    assert np.sum(tf.constant([True, True])) == 2
    assert np.sum(tf.constant([2**31 - 1, 1])) == 2**31
    count = np.prod(tf.shape(tf.zeros([2, 3])))
    assert [0] * count == [0] * 6, "a number of NumPy's, by which lists are repeated"
    assert np.sqrt(tf.constant(4)) == 2.0
    assert np.true_divide(I32, I32).dtype == tf.float64
    assert (np.add(I32, 1)).dtype == tf.int32
    assert np.gcd(I32, 2).tolist() == [1, 2]


def test_operators_of_graphs_keep_their_names() -> None:
    with tf1.Graph().as_default():
        x = tf1.placeholder(tf1.float32, [2], "x")
        results: tuple[Any, ...] = (ARRAY * x, ARRAY - x, ARRAY / x)
        assert [y.name for y in results] == ["mul:0", "sub:0", "truediv:0"]
        assert (x == ARRAY) is False, "tensors of a graph compare by identity"
        assert isinstance(np.equal(x, ARRAY), tf1.Tensor)


# ---- variables -------------------------------------------------------------------------------------------------------


def test_variables_are_watched() -> None:
    v = tf.Variable([1.0, 2.0])
    tape, y = watching((), lambda: np.sum(ARRAY * np.square(v)) + np.positive(v)[0])
    assert tape.gradient(y, v).numpy().tolist() == [7.0, 16.0]
    with tf.GradientTape() as tape, pytest.raises(TypeError, match=r"np.unique cannot be recorded, .* 'Variable:0'"):
        np.unique(v)
    assert np.unique(v).tolist() == [1.0, 2.0]
    assert np.median(v) == 1.5
    v.assign(np.tanh(v))
    np.testing.assert_allclose(v, np.tanh([1.0, 2.0]), rtol=1e-6)


def test_variables_of_graphs() -> None:
    with tf1.Graph().as_default(), tf1.Session() as session:
        v = tf1.Variable([1.0, 2.0])
        y = np.sum(ARRAY * np.square(v))
        session.run(v.initializer)
        assert session.run([y, tf1.gradients(y, v)[0]])[0] == 19.0
        with pytest.raises(TypeError, match=r"np.unique .*tf.unique"):
            np.unique(v)


# ---- what carries no derivative --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "look",
    [
        lambda x: np.argmax(x),
        lambda x: np.argsort(x, axis=0),
        lambda x: np.all(x, axis=0),
        lambda x: np.any(x),
        lambda x: np.count_nonzero(x, axis=1),
        lambda x: np.round(x, 1),
        lambda x: np.zeros_like(x),
        lambda x: np.shape(x),
        lambda x: np.ndim(x),
        lambda x: np.size(x),
        lambda x: np.isnan(x).any(),
        lambda x: np.floor(x),
        lambda x: np.allclose(x, X),
        lambda x: np.isclose(W, x),
        lambda x: np.array_equal(x, X),
        lambda x: np.nonzero(x)[0],
        lambda x: np.where(x),
        lambda x: np.array2string(x),
        lambda x: np.nanargmax(x, axis=1),
        lambda x: np.nanargmin(x),
        lambda x: np.argpartition(x, 1),
        lambda x: np.lexsort(x),
        lambda x: np.signbit(x),
        lambda x: np.isposinf(x),
        lambda x: np.isneginf(x),
        lambda x: np.linalg.matrix_rank(x),
        lambda x: np.tril_indices_from(x),
        lambda x: np.diag_indices_from(x[:, :2]),
        lambda x: np.min_scalar_type(x),
        lambda x: np.histogram(x)[0],
        lambda x: scipy.special.round(x),
    ],
)
def test_looking_gives_numpys_results_also_under_a_tape(look: Function) -> None:
    """Under a tape that knows the tensor, arrays and numbers are tensors that behave as NumPy's results do."""
    t = tf.constant(X)
    free = look(t)
    assert type(free) is type(look(X))
    _, found = watching(t, lambda: look(t))
    assert isinstance(found, Value) or type(found) is type(look(X))
    np.testing.assert_equal(nest.map_structure(np.asarray, found), nest.map_structure(np.asarray, look(X)))


def test_what_numpys_functions_give_under_a_tape_behaves_as_an_array() -> None:
    t = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(t)
        whole, steps, place = np.searchsorted([0.5, 1.0, 2.0], t), np.floor(t), np.argmax(t)
        assert whole.sum() == 8 and (whole + 0.5).dtype == tf.float64 and whole.size == 6 and whole.T.shape == (3, 2)
        assert [*range(place)] == [0, 1, 2, 3, 4] and {place: 1}[5] == 1 and f"{place:d}" == "5"
        assert steps[0, 1] == 1.0 and steps[steps > 0].tolist() == [1.0, 1.0, 2.0] and (~(steps > 0)).any()
        steps += 1
        for beside in (t * whole, whole * t, np.multiply(whole, t), tf.multiply(t, whole)):
            assert beside.dtype == tf.float64
            np.testing.assert_array_equal(beside.numpy(), X * whole.numpy())
        with pytest.raises(DTypeError, match="int64"):
            tf.constant([1, 2, 3], tf.int64) * np.floor(t)
        with pytest.raises(TypeError, match="item assignment"):
            whole[0] = 1
        with pytest.raises(ValueError, match="read-only"):
            whole.sort()
    assert np.isnan(t).any() == np.False_ and type(np.floor(t)) is np.ndarray


def test_numpys_assertions() -> None:
    t = tf.constant(X)
    np.testing.assert_allclose(t, X)
    np.testing.assert_allclose(t, tf.Variable(X))
    np.testing.assert_almost_equal(t, X)
    np.testing.assert_array_equal(t, X)
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(t, W)
    with pytest.raises(AssertionError):
        np.testing.assert_array_equal(t, W)


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("find", [np.argmax, np.argmin])
def test_positions_are_numpys_which_stops_at_nan(find: Any, axis: Any) -> None:
    table = np.array([[np.nan, 2.0, 1.0], [3.0, np.inf, np.nan], [-np.inf, 2.0, 4.0]])
    with tf1.Graph().as_default(), tf1.Session() as session:
        p = tf1.placeholder(tf1.float64, [3, 3])
        np.testing.assert_array_equal(session.run(find(p, axis=axis), {p: table}), find(table, axis=axis))


def test_a_graph_gets_nodes_for_them() -> None:
    with tf1.Graph().as_default(), tf1.Session() as session:
        p = tf1.placeholder(tf1.float64, [2, 3])
        for f in (np.argmax, np.round, np.zeros_like, np.ones_like, np.floor, np.isnan, np.argsort, np.count_nonzero):
            np.testing.assert_array_equal(session.run(f(p), {p: X}), f(X))
        assert session.run(np.all(p > 0.0), {p: X})
        assert (np.shape(p), np.ndim(p), np.size(p)) == ((2, 3), 2, 6)
        some = tf1.placeholder(tf1.float64, [None, 3])
        assert np.ndim(some) == 2
        with pytest.raises(TypeError, match=r"np.shape .*tf.shape"):
            np.shape(some)
        assert session.run(np.mean(some, axis=0), {some: X}).tolist() == np.mean(X, axis=0).tolist()


# ---- what cannot be done ---------------------------------------------------------------------------------------------

UNSUPPORTED: list[tuple[Function, str]] = [
    (lambda x: np.quantile(x, 0.3, method="nearest"), r"np.quantile with `method` .*tf.sort"),
    (lambda x: np.histogram(x, weights=x), r"np.histogram "),
    (lambda x: np.unique(x), r"np.unique .*tf.unique"),
    (lambda x: np.spacing(x), r"np.spacing .*functions of tf"),
    (lambda x: scipy.special.ber(x), r"scipy.special.ber .*functions of tf"),
    (lambda x: np.max(x, out=np.zeros(())), r"np.max with `out` .*tf.reduce_max"),
    (lambda x: np.pad(x, 1, mode=lambda line, *_: None), r"np.pad with `mode` .*tf.pad"),
    (lambda x: np.add(x, 1.0, out=np.zeros((2, 3))), r"np.add with `out` .*tf.math.add"),
    (lambda x: np.exp(x, where=X > 1, out=np.zeros((2, 3))), r"np.exp with `.*where.*` .*tf.math.exp"),
    (lambda x: np.sin(x, casting="unsafe"), r"np.sin with `casting` .*tf.math.sin"),
    (lambda x: np.multiply.reduceat(x, [0, 1]), r"np.multiply.reduceat .*tf.math.multiply"),
    (lambda x: np.subtract.accumulate(x), r"np.subtract.accumulate .*tf.math.subtract"),
    (lambda x: np.setdiff1d(x, [0.7]), r"np.setdiff1d .*functions of tf"),
]


@pytest.mark.parametrize(("f", "message"), UNSUPPORTED)
def test_a_path_is_not_cut_without_a_word(f: Function, message: str) -> None:
    t = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(t)
        with pytest.raises(TypeError, match=message):
            f(t)
        with pytest.raises(TypeError, match=r"float64.*tf.stop_gradient"):
            f(t * 2.0)
        free = f(tf.stop_gradient(t))
    assert not isinstance(f(t), Value)
    for found in (free, f(t)):
        np.testing.assert_equal(nest.map_structure(np.asarray, found), nest.map_structure(np.asarray, f(X)))


@pytest.mark.parametrize(("f", "message"), UNSUPPORTED)
def test_symbols_have_no_arrays(f: Function, message: str) -> None:
    with tf1.Graph().as_default():
        p = tf1.placeholder(tf1.float64, [2, 3], "p")
        with pytest.raises(TypeError, match=message) as caught:
            f(p)
        assert isinstance(caught.value, (SymbolicArrayError, NotImplementedError))
        assert "'p:0'" in str(caught.value)
    with batch_level() as level, pytest.raises(TypeError, match=message):
        f(Batched(tf.constant(X[None]), level))


def test_tensors_do_not_change() -> None:
    t = tf.constant(X)
    with pytest.raises(TypeError, match=r"np.add: argument `out` is a tensor"):
        np.add(X, X, out=t)
    total = np.zeros((2, 3))
    np.add(total, t, out=total)  # an array does, where no derivative is lost
    np.testing.assert_array_equal(total, X)
    with tf.GradientTape() as tape:
        tape.watch(t)
        with pytest.raises(TypeError, match=r"np.add with `out`"):
            np.add(total, t, out=total)


def test_the_name_of_an_array_becomes_that_of_a_tensor() -> None:
    """As in TensorFlow: ``array += tensor`` is ``array = array + tensor``, and the array stays as it is."""
    t = tf.constant([1.0, 2.0])
    a = before = np.ones(2)
    with tf.GradientTape() as tape:
        tape.watch(t)
        a += t * t
        a *= 3.0
        y = tf.reduce_sum(a * t)
    assert isinstance(a, tf.Tensor) and a.dtype is tf.float32 and before.tolist() == [1.0, 1.0]
    assert tape.gradient(y, t).numpy().tolist() == [12.0, 39.0]
    b = c = d = e = np.full(2, 8, np.float32)
    b -= t
    c /= tf.Variable([1.0, 2.0])
    d **= t
    e = np.broadcast_to(e, (3, 2)).copy()
    e //= t
    assert [x.numpy().tolist() for x in (b, c, d)] == [[7.0, 6.0], [8.0, 4.0], [8.0, 64.0]] and e.shape == (3, 2)
    m = np.ones((2, 2), np.float32)
    m @= tf.ones([2, 2])
    assert isinstance(m, tf.Tensor) and m.numpy().tolist() == [[2.0, 2.0]] * 2
    rows = np.zeros((2, 2), np.float32)
    rows[0] += t  # an element of the array is assigned to
    assert isinstance(rows, np.ndarray) and rows.tolist() == [[1.0, 2.0], [0.0, 0.0]]
    with tf1.Graph().as_default():
        g = np.ones(2, np.float32)
        g += tf1.constant([1.0, 2.0])
        assert tf1.Session().run(g).tolist() == [2.0, 3.0]


def test_what_errors_recommend_exists() -> None:
    advice = {protocol._advice(f) for f in (*protocol._UFUNCS, *catalog.UFUNCS, *protocol._OPERATORS)}
    advice |= {name for _, name in (protocol._ROWS | catalog.ROWS).values()} | set(protocol._ADVICE.values())
    advice |= set(detach.ADVICE.values())
    names = sorted({name for text in advice for name in re.findall(r"tf\.[\w.]+\w", text)})
    assert len(names) > 80
    for name in names:
        found: Any = tf
        for part in name.split(".")[1:]:
            found = getattr(found, part, None)
        assert found is not None, name
