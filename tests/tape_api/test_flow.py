"""Control flow, functions, modules, assertions and the rest of the small things."""

import collections
from typing import Any

import numpy as np
import pytest

import tape_api as tf
from tests.tapes import watching


def test_function_with_arguments_on_methods_and_differentiated() -> None:
    class Line(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = tf.Variable(2.0)

        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
        def apply(self, x: Any) -> Any:
            if tf.reduce_sum(x) > 0:
                return self.w * x, 1
            return x, 0

    line = Line()
    tape, (y, one) = watching((), lambda: line.apply(tf.constant([1.0, 2.0])))
    assert tape.gradient(y, line.w).numpy() == 3.0
    assert isinstance(one, tf.Tensor)


def test_cond_and_case() -> None:
    x = tf.Variable(3.0)
    tape, y = watching((), lambda: tf.cond(x > 2.0, lambda: x * x, lambda: -x))
    assert tape.gradient(y, x).numpy() == 6.0
    pairs = [(tf.constant(False), lambda: 1), (tf.constant(True), lambda: 2), (tf.constant(True), lambda: 3)]
    assert tf.case(pairs) == 2
    assert tf.case(pairs[:1], default=lambda: 9) == 9
    branches = [lambda: "a", lambda: "b"]
    assert [tf.switch_case(tf.constant(i), branches) for i in (0, 1, 7)] == ["a", "b", "b"]
    assert tf.switch_case(5, {0: branches[0]}, default=branches[1]) == "b"
    with pytest.raises(ValueError, match="contiguous"):
        tf.switch_case(1, {1: branches[0]})


def test_while_loop_returns_what_its_body_returns() -> None:
    Pair = collections.namedtuple("Pair", "i y")
    for made in (tuple, list, lambda pair: Pair(*pair)):
        found = tf.while_loop(lambda i, y: i < 3, lambda i, y: made((i + 1, y * 2.0)), (0, 1.0))  # noqa: B023
        assert type(found) is type(made((0, 1))) and [x.numpy() for x in found] == [3, 8.0]
    assert type(tf.while_loop(lambda i, y: False, lambda i, y: [i, y], (0, 1.0))) is tuple


def test_a_loop_in_a_function_keeps_its_dtypes() -> None:
    def loop() -> Any:
        return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.cast(y, tf.float64)), [0, 1.0])

    assert loop()[1].dtype is tf.float64
    with pytest.raises(TypeError, match="loop variable 1 enters the loop as float32"):
        tf.function(loop)()


def test_a_condition_is_not_none() -> None:
    with pytest.raises(ValueError, match="None"):
        tf.cond(None, lambda: 1.0, lambda: 2.0)


def test_maps_of_structures() -> None:
    x = tf.constant([1.0, 2.0, 3.0])
    pairs = tf.map_fn(lambda ab: {"s": ab[0] + ab[1]}, (x, x))
    np.testing.assert_array_equal(pairs["s"], [2.0, 4.0, 6.0])
    np.testing.assert_array_equal(tf.vectorized_map(lambda r: r + 1.0, x), [2.0, 3.0, 4.0])
    np.testing.assert_array_equal(tf.scan(lambda t, r: t + r, x, initializer=1.0), [2.0, 4.0, 7.0])
    with pytest.raises(ValueError, match="agree in the first dimension"):
        tf.map_fn(lambda ab: ab[0], (x, x[:2]))


@pytest.mark.parametrize("wrap", [lambda f: f, tf.function])
def test_maps_and_loops_of_sparse_tensors(wrap: Any) -> None:
    def rows(x: Any) -> Any:  # more than Python runs one by one; a zero that is held stays
        row = lambda v: tf.SparseTensor([[0], [2]], tf.stack([v, 0.0 * v]), [3])  # noqa: E731
        made = tf.map_fn(row, x, fn_output_signature=tf.SparseTensorSpec([3], tf.float32))
        return tf.while_loop(lambda i, s: i < 2, lambda i, s: (i + 1, s * 3.0), (0, made))[1]

    x = tf.range(1.0, 201.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        made = wrap(rows)(x)
        total = tf.reduce_sum(made.values**2)
    np.testing.assert_array_equal(made.values, np.stack([9.0 * x.numpy(), 0.0 * x.numpy()], 1).ravel())
    np.testing.assert_array_equal(tf.sparse.to_dense(made)[:, 0], 9.0 * x.numpy())
    np.testing.assert_allclose(tape.gradient(total, x), 162.0 * x.numpy(), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_a_python_number_to_start_with_takes_the_dtype_of_the_rows(dtype: str) -> None:
    rows = tf.constant([1, 2, 3], dtype)
    for fold in (tf.foldl, tf.foldr):
        total, product = fold(lambda a, x: (a[0] + x, a[1] * x), rows, initializer=(0, 2))
        assert (total.dtype, product.dtype) == (rows.dtype, rows.dtype)
        assert (int(total), int(product)) == (6, 12)
    assert tf.foldl(lambda count, x: count + 1, rows, initializer=0).dtype == tf.int32


def test_scopes_and_modes() -> None:
    with tf.name_scope("a") as scope, tf.device("/gpu:0"), tf.control_dependencies([]), tf.init_scope():
        assert scope == "a/"
    assert tf.executing_eagerly()
    assert tf.group(tf.constant(1)) is None and tf.no_op() is None
    np.testing.assert_array_equal(tf.get_static_value([1, 2]), [1, 2])
    for call in (tf.gradients, tf.hessians):
        with pytest.raises(RuntimeError, match="not supported when eager execution is enabled"):
            call(tf.constant(1.0), tf.constant(1.0))


def test_nest() -> None:
    assert tf.nest.flatten({"b": [1, (2,)], "a": 0}) == [0, 1, 2]
    assert tf.nest.map_structure(lambda x: x + 1, [1, {"a": 2}]) == [2, {"a": 3}]


# ---- Module ----------------------------------------------------------------------------------------------------------


class Block(tf.Module):
    def __init__(self, name: str | None = None) -> None:
        super().__init__(name=name)
        self.z = tf.Variable(1.0, name="z")
        self.c = [tf.Variable(1.0, name="c0"), {"k": tf.Variable(1.0, name="ck", trainable=False)}]


class Tower(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q = Block("block")
        self.m = tf.Variable(2.0, name="m")
        self.blocks = [Block(), self.q]
        self.again = self.m
        self.itself = self


def test_module_finds_its_variables() -> None:
    tower = Tower()
    # own variables first, attributes in the order of their names, nothing twice
    assert [v.name[:-2] for v in tower.variables] == ["m", "c0", "ck", "z", "c0", "ck", "z"]
    assert [v.name[:-2] for v in tower.trainable_variables] == ["m", "c0", "z", "c0", "z"]
    assert [v.name[:-2] for v in tower.non_trainable_variables] == ["ck", "ck"]
    assert [m.name for m in tower.submodules] == ["block", "block"]
    assert tower.name == "tower" and Block("other").name == "other"
    with pytest.raises(ValueError, match="not a valid module name"):
        Block("not valid")


# ---- debugging and test ----------------------------------------------------------------------------------------------


def test_assertions() -> None:
    d = tf.debugging
    x = tf.constant([1.0, 2.0])
    passing = (
        lambda: d.assert_equal(x, [1.0, 2.0]),
        lambda: d.assert_none_equal(x, 3.0),
        lambda: d.assert_less(x, 3.0),
        lambda: d.assert_less_equal(x, 2.0),
        lambda: d.assert_greater(x, 0.0),
        lambda: d.assert_greater_equal(x, 1.0),
        lambda: d.assert_near(x, x + 1e-7),
        lambda: d.assert_positive(x),
        lambda: d.assert_non_negative(x),
        lambda: d.assert_rank(x, 1),
    )
    assert [call() for call in passing] == [None] * len(passing)
    failing = (
        (lambda: d.assert_equal(x, 1.0, message="not one"), "not one\nCondition x == y did not hold"),
        (lambda: d.assert_less(x, 2.0), "x < y did not hold.\nx: \\[1 2\\]\ny: 2"),
        (lambda: d.assert_near(x, x + 0.1), "not equal to tolerance"),
        (lambda: d.assert_rank(x, 2), "must have rank 2. Received rank 1"),
        (lambda: tf.compat.v1.assert_rank(x, rank=2, data=[x], message="old"), "old: tensor must have rank 2"),
        (lambda: d.check_numerics(x / 0.0, "broken"), "broken : Tensor had Inf values"),
        (lambda: d.assert_all_finite(x * float("nan"), "broken"), "broken : Tensor had NaN values"),
        (lambda: tf.ensure_shape(x, [3]), r"Shape of tensor \(2,\) is not compatible"),
    )
    for call, message in failing:
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            call()
    assert d.check_numerics(x, "fine").numpy().tolist() == [1.0, 2.0]
    assert tf.ensure_shape(x, [None]).shape == (2,)
    assert d.is_numeric_tensor(x) and not d.is_numeric_tensor(tf.constant(True)) and not d.is_numeric_tensor(1)


def test_compute_gradient() -> None:
    a = tf.constant([[1.0, 2.0], [3.0, 4.0]], tf.float64)
    b = tf.constant([[1.0], [2.0]], tf.float64)
    exact, numeric = tf.test.compute_gradient(tf.matmul, [a, b])
    assert [j.shape for j in exact] == [(2, 4), (2, 2)]
    for e, n in zip(exact, numeric, strict=True):
        np.testing.assert_allclose(e, n, atol=1e-8)
    assert not tf.test.is_gpu_available() and not tf.test.is_built_with_cuda() and tf.test.gpu_device_name() == ""


# ---- Python functions, tensor arrays, TensorFlow 1's eager mode ------------------------------------------------------


def test_py_function_is_recorded_and_numpy_function_is_not() -> None:
    x = tf.constant(3.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.py_function(lambda a: a * a, [x], tf.float32)
        z = tf.numpy_function(lambda a: np.square(a), [x], tf.float32)
        a, b = tf.py_function(lambda a: (a * 2.0, 1), inp=[x], Tout=[tf.float32, tf.int64])
    assert y.numpy() == z.numpy() == 9.0 and b.dtype == tf.int64
    assert tape.gradient(y, x).numpy() == 6.0 and tape.gradient(a, x).numpy() == 2.0
    assert tape.gradient(z, x) is None


def test_tensor_array() -> None:
    array = tf.TensorArray(tf.float32, size=0, dynamic_size=True, clear_after_read=False)
    for i in tf.range(3):
        array = array.write(i, 2.0 ** tf.cast(i, tf.float32))
    assert array.read(2).numpy() == 4.0 and array.size().numpy() == len(array) == 3
    np.testing.assert_array_equal(array.gather([2, 0]), [4.0, 1.0])
    np.testing.assert_array_equal(tf.TensorArray(tf.int32).unstack([1, 2]).stack(), [1, 2])
    np.testing.assert_array_equal(tf.TensorArray(tf.int32, 2).scatter([1, 0], [[1], [2]]).concat(), [2, 1])
    assert tf.TensorArray(tf.float32, 0, element_shape=[3]).stack().shape == (0, 3)
    np.testing.assert_array_equal(tf.TensorArray(tf.float32, 1, element_shape=[2]).stack(), [[0.0, 0.0]])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda a: a.write(5, 1.0), tf.errors.OutOfRangeError, r"index 5 is not in \[0, 2\)"),
        (lambda a: a.read(-1), tf.errors.OutOfRangeError, r"index -1 is not in \[0, 2\)"),
        (lambda a: a.read(0), tf.errors.InvalidArgumentError, "nothing was written to index 0"),
        (lambda a: [a.write(0, 1.0).read(0), a.read(0)], tf.errors.InvalidArgumentError, "has been read already"),
        (lambda a: a.write(0, tf.constant(1)), TypeError, "dtype float32 was asked for"),
        (
            lambda a: tf.TensorArray(tf.float32, 1, element_shape=[2]).write(0, [1.0]),
            ValueError,
            r"elements have shape \(2,\), got \(1,\)",
        ),
    ],
)
def test_tensor_array_mistakes(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(tf.TensorArray(tf.float32, size=2))


def test_programs_of_the_first_eager_mode() -> None:
    v1 = tf.compat.v1
    v1.enable_eager_execution()
    tf.enable_eager_execution()
    w = tf.Variable([1.0, -2.0])
    optimizer = tf.train.GradientDescentOptimizer(learning_rate=0.25)
    step = v1.train.get_or_create_global_step()
    before = int(step)
    for _ in range(3):
        optimizer.minimize(lambda: tf.reduce_sum(w * w), global_step=step)
    np.testing.assert_array_equal(w, [0.125, -0.25])
    assert int(step) == before + 3 and tf.train.get_global_step() is step
    with pytest.raises(ValueError, match="already exists"):
        tf.train.create_global_step()
    v1.assign(w, [1.0, 1.0])
    v1.assign_add(w, [1.0, 1.0])
    np.testing.assert_array_equal(v1.assign_sub(w, [0.0, 1.0]), [2.0, 1.0])
    assert float(v1.log(1.0)) == 0.0 and v1.GradientTape is tf.GradientTape
    assert float(v1.losses.mean_squared_error([1.0, 2.0], tf.constant([1.0, 4.0]))) == 2.0
    v1.set_random_seed(1)
    assert v1.random_normal([2]).shape == (2,) and tf.compat.v2 is tf
    with pytest.raises(RuntimeError, match="imports graph_api as tf"):
        v1.disable_eager_execution()
    with pytest.raises(RuntimeError, match="not compatible with eager execution"):
        v1.placeholder(tf.float32)


def test_arguments_must_fit_the_signature() -> None:
    class Line(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32), {"b": tf.TensorSpec([], tf.float64)}])
        def apply(self, x: Any, more: Any) -> Any:
            return tf.cast(x, tf.float64) + more["b"]

    line = Line()
    assert line.apply([1, 2], {"b": 1}).numpy().tolist() == [2.0, 3.0]
    assert line.apply(x=np.ones(1, np.float32), more={"b": 1.5}).numpy().tolist() == [2.5]
    for x, more, what in (
        (tf.constant([[1.0]]), {"b": 1.0}, r"argument `x` must be like TensorSpec.*got shape \(1, 1\)"),
        (tf.constant([1]), {"b": 1.0}, "argument `x` must be like .*dtype int32"),
        ("text", {"b": 1.0}, "argument `x` must be like"),
        ([1.0], {"b": tf.constant(1.0)}, "argument `more` must be like .*dtype float32"),
        ([1.0], [1.0, 2.0], "argument `more` must have the structure"),
    ):
        with pytest.raises(TypeError, match=what):
            line.apply(x, more)


def test_rows_of_no_rows_have_the_shape_of_their_numbers() -> None:
    """A captured number is one of the shape; the first call, which records, gives it as later ones do."""
    function = tf.function(lambda x: tf.map_fn(lambda row: tf.reshape(tf.transpose(row), [-1]), x))
    assert [function(tf.zeros([0, 2])).shape for _ in range(3)] == [(0, 2)] * 3


@pytest.mark.parametrize("call", [tf.py_function, tf.numpy_function])
def test_one_result_may_come_alone_or_in_a_list(call: Any) -> None:
    x = tf.constant([1.0, 2.0])
    np.testing.assert_array_equal(call(lambda a: [2.0 * a], [x], tf.float32), [2.0, 4.0])
    (y,) = call(lambda a: 2.0 * a, [x], [tf.float32])
    np.testing.assert_array_equal(y, [2.0, 4.0])
