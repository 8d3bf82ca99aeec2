"""`tf.function`: recorded once, run as a program, with the bits of the Python function; or as Python, and why."""

import contextlib
import copy
import functools
import gc
import itertools
import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tape_api as tf
from engine.core import lazy_tensor
from tape_api import variable
from tests.tapes import gradient_in, watching

RNG = np.random.default_rng(7)


@pytest.fixture(autouse=True, params=[lazy_tensor.LARGE, 0])
def as_programs(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What a function does when it is recorded is done at once, or put off: no result depends on it."""
    monkeypatch.setattr(lazy_tensor, "LARGE", request.param)
    yield
    tf.config.run_functions_eagerly(False)


def numbers(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.asarray(RNG.normal(size=shape), dtype)


def arrays(structure: Any) -> list[np.ndarray]:
    return [np.asarray(x) for x in tf.nest.flatten(structure) if x is not None]


def both(make: Callable[[], tuple[Any, Sequence[Any]]], calls: Sequence[tuple[Any, ...]]) -> Any:
    """Make a function and its variables twice; calls as Python and as a program give the same bits. The function."""
    found = []
    for eagerly in (True, False):
        tf.config.run_functions_eagerly(eagerly)
        tf.random.set_seed(3)
        function, variables = make()
        results = [arrays(function(*given)) for given in calls]
        found.append([*results, arrays([v.read_value() for v in variables])])
    for expected, got in zip(*found, strict=True):
        assert [a.tobytes() for a in got] == [a.tobytes() for a in expected]
        assert [(a.shape, a.dtype) for a in got] == [(a.shape, a.dtype) for a in expected]
    return function


def is_a_program(function: Any) -> bool:
    return "runs as a program" in function.explain() and "runs as Python" not in function.explain()


# ---- what it computes ------------------------------------------------------------------------------------------------

OPTIMIZERS = {
    "sgd": lambda: tf.keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True),
    "adam": lambda: tf.keras.optimizers.Adam(0.1, clipnorm=1.0),
    "adamw": lambda: tf.keras.optimizers.AdamW(0.1, weight_decay=0.1, use_ema=True),
    "rmsprop": lambda: tf.keras.optimizers.RMSprop(0.1, centered=True, global_clipnorm=0.5),
    "schedule": lambda: tf.keras.optimizers.SGD(tf.keras.optimizers.schedules.ExponentialDecay(0.1, 2, 0.5)),
    "version 1": lambda: tf.compat.v1.train.MomentumOptimizer(0.1, 0.9),
    "version 1, adam": lambda: tf.compat.v1.train.AdamOptimizer(0.1),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize(("sizes", "threads"), [((3, 4, 2), 1), ((300, 300, 1), 1), ((300, 300, 1), 2)])
def test_training_steps(name: str, sizes: tuple[int, ...], threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small variables, and large ones, which are updated where they lie; alone, and where others could assign."""
    monkeypatch.setattr(threading, "active_count", lambda: threads)
    weights = [numbers(a, b) * 0.1 for a, b in itertools.pairwise(sizes)]

    def make() -> tuple[Any, Sequence[Any]]:
        variables = [tf.Variable(w) for w in weights]
        optimizer = OPTIMIZERS[name]()

        @tf.function
        def step(x: Any, y: Any) -> Any:
            tape, loss = watching((), lambda: tf.reduce_mean((tf.tanh(x @ variables[0]) @ variables[1] - y) ** 2))
            optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
            return loss

        return step, variables

    batches = [(tf.constant(numbers(5, sizes[0])), tf.constant(numbers(5, sizes[2]))) for _ in range(5)]
    assert is_a_program(both(make, batches))


def test_rows_of_an_embedding() -> None:
    table = numbers(6, 3)

    def make() -> tuple[Any, Sequence[Any]]:
        variable = tf.Variable(table)
        optimizer = tf.keras.optimizers.SGD(0.5)

        @tf.function
        def step(words: Any) -> Any:
            tape, loss = watching((), lambda: tf.reduce_sum(tf.nn.embedding_lookup(variable, words) ** 2))
            optimizer.apply_gradients([(tape.gradient(loss, variable), variable)])
            variable.scatter_nd_add([[0]], [[1.0, 2.0, 3.0]])
            return loss

        return step, [variable]

    both(make, [(tf.constant(words),) for words in ([1, 2, 1], [0, 5, 5], [3, 3, 3], [2, 1, 0])])


def test_second_derivatives_draws_and_structures() -> None:
    def make() -> tuple[Any, Sequence[Any]]:
        @tf.function
        def compute(x: Any, options: Any) -> Any:
            noise = tf.random.normal(tf.shape(x), seed=5) + tf.random.uniform([])
            with tf.GradientTape() as outer:
                outer.watch(x)
                first = gradient_in(
                    x, lambda: tf.reduce_sum(tf.sin(x * options["scale"]) * tf.cast(x, tf.float64) ** 3)
                )
            return {"noise": noise, "both": (first, outer.gradient(first, x)), "none": None, "count": len(options)}

        return compute, []

    calls = [
        (tf.constant(numbers(4, dtype=np.float64)), {"scale": tf.constant(s, tf.float64)}) for s in (1.0, 2.0, 3.0)
    ]
    assert is_a_program(both(make, calls))


def test_variables_are_read_and_written_in_order() -> None:
    def make() -> tuple[Any, Sequence[Any]]:
        v, w = tf.Variable(1.0), tf.Variable([1.0, 2.0])

        @tf.function
        def change(x: Any) -> Any:
            before = v.read_value()
            v.assign_add(x)
            w.assign(w * v)
            v.assign(7.0)
            w[0].assign(v * x)
            return before, v + 1.0, w * 2.0, w

        return change, [v, w]

    assert is_a_program(both(make, [(tf.constant(float(k)),) for k in range(4)]))


def test_what_is_in_other_order_in_memory() -> None:
    x = numbers(40, 30)

    def make() -> tuple[Any, Sequence[Any]]:
        v = tf.Variable(np.zeros((30, 40), np.float32))

        @tf.function
        def change(x: Any) -> Any:
            v.assign(tf.transpose(x))
            return tf.reduce_sum(v), tf.reduce_sum(tf.transpose(x)), tf.reduce_sum(tf.transpose(v), 0)

        return change, [v]

    both(make, [(tf.constant(x * k),) for k in (1, 2, 3)])


def test_layers_with_state() -> None:
    def make() -> tuple[Any, Sequence[Any]]:
        layers = tf.keras.layers
        model = tf.keras.Sequential(
            [
                layers.Dense(8, "relu", kernel_initializer=tf.keras.initializers.GlorotUniform(1)),
                layers.BatchNormalization(),
                layers.Dropout(0.3),
                layers.Dense(1, kernel_initializer=tf.keras.initializers.GlorotUniform(2)),
            ]
        )
        model.build((None, 3))
        metric = tf.keras.metrics.Mean()

        @tf.function
        def step(x: Any, training: bool) -> Any:
            metric.update_state(tf.reduce_sum(x))
            return model(x, training=training), metric.result()

        return step, [*model.variables, *metric.variables]

    calls = [(tf.constant(numbers(6, 3)), training) for training in (True, False) * 3]
    assert is_a_program(both(make, calls))


def test_a_model_is_fitted() -> None:
    x, y = numbers(50, 4), numbers(50, 1)

    def fitted(eagerly: bool) -> list[Any]:
        tf.random.set_seed(1)
        layers = tf.keras.layers
        model = tf.keras.Sequential([layers.Dense(5, "tanh"), layers.Dropout(0.2), layers.Dense(1)])
        model.compile("adam", "mse", metrics=["mae"], run_eagerly=eagerly)
        history = model.fit(x, y, epochs=3, batch_size=16, verbose=0).history
        return [*history.values(), *model.evaluate(x, y, verbose=0), model.predict(x, verbose=0), *model.get_weights()]

    np.testing.assert_equal(fitted(False), fitted(True))


def test_a_copy_of_a_model_trains_itself() -> None:
    import copy

    model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="ones")])
    model.compile("sgd", "mse")
    data = numbers(8, 2), numbers(8, 1)
    for _ in range(3):
        model.train_on_batch(*data)
    other = copy.deepcopy(model)
    before = [w.copy() for w in model.get_weights()]
    other.train_on_batch(*data)
    assert all(np.array_equal(a, b) for a, b in zip(before, model.get_weights(), strict=True))
    assert not np.array_equal(before[0], other.get_weights()[0])


# ---- when Python runs ------------------------------------------------------------------------------------------------


def count(body: Callable[..., Any]) -> tuple[Any, list[int]]:
    ran = []

    @tf.function
    def counted(*args: Any, **kwargs: Any) -> Any:
        ran.append(1)
        return body(*args, **kwargs)

    return counted, ran


def test_once_for_each_combination() -> None:
    function, ran = count(lambda x, k=1, flag=True: x * k if flag else x)
    for _ in range(3):
        function(tf.constant(1.0))
    assert len(ran) == 1
    assert float(function(tf.constant(2.0), 3)) == float(function(tf.constant(2.0), 3)) == 6.0
    assert len(ran) == 2
    function(tf.constant([1.0]))
    function(tf.constant(1))
    function(tf.constant(1.0), flag=False)
    # numbers that Python takes for equal
    function(tf.constant(1.0), True)
    function(tf.constant(1.0), 1.0)
    assert len(ran) == 7 == function.experimental_get_tracing_count()


def test_one_tensor_given_twice() -> None:
    def difference(a: Any, b: Any) -> Any:
        return gradient_in(a, lambda: a * b)

    function = tf.function(difference)
    x, y = tf.constant(3.0), tf.constant(5.0)
    assert [float(function(x, x)) for _ in range(3)] == [6.0] * 3
    assert [float(function(x, y)) for _ in range(3)] == [5.0] * 3


def test_many_python_arguments_are_recorded_when_they_come_back() -> None:
    function, _ = count(lambda x, k: x * k)
    for k in range(40):
        assert float(function(tf.constant(2.0), k)) == 2.0 * k
    assert function.experimental_get_tracing_count() == 16


def test_a_variable_made_in_the_first_call() -> None:
    class Linear(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w: Any = None
            self.ran = 0

        @tf.function
        def __call__(self, x: Any) -> Any:
            self.ran += 1
            if self.w is None:
                self.w = tf.Variable(tf.ones([2, 1]))
            return x @ self.w

    one, other = Linear(), Linear()
    for k in range(4):
        assert float(one(tf.ones([1, 2]))[0, 0]) == 2.0 + 4 * k
        other(tf.ones([1, 2]))
        one.w.assign_add(tf.ones([2, 1]) * 2)
    assert one.ran == other.ran == 2
    assert float(other(tf.ones([1, 2]))[0, 0]) == 2.0


def test_a_method_knows_its_object() -> None:
    class Shifted:
        def __init__(self, by: float) -> None:
            self.by = by

        @tf.function
        def shift(self, x: Any) -> Any:
            return x + self.by

    found = [Shifted(k).shift.get_concrete_function(tf.TensorSpec([]))(tf.constant(1.0)) for k in (1.0, 2.0)]
    assert [float(x) for x in found] == [2.0, 3.0]
    assert Shifted.shift.python_function.__name__ == Shifted(1.0).shift.__name__ == "shift"


def test_a_tape_around_it_records_it() -> None:
    w = tf.Variable(3.0)
    function, ran = count(lambda x: w * x)
    for k in (2.0, 5.0):
        function(tf.constant(k))
        with tf.GradientTape() as tape:
            y = function(tf.constant(k))
        assert float(tape.gradient(y, w)) == k
    assert len(ran) == 1


def test_within_each_other() -> None:
    inner, ran = count(lambda x: x * 2)
    outer, ran_too = count(lambda x: inner(x) + inner(x + 1))
    assert [float(outer(tf.constant(k))) for k in (1.0, 2.0, 3.0)] == [6.0, 10.0, 14.0]
    assert (len(ran), len(ran_too)) == (2, 1)


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "bool": (lambda x: x if bool(tf.reduce_sum(x) > 2) else -x, "looked at the contents"),
    "int": (lambda x: x[: int(x[0])], "looked at the contents"),
    "numpy": (lambda x: tf.constant(np.sin(x.numpy())), "looked at the contents"),
    "np.array": (lambda x: tf.constant(np.array(tf.stop_gradient(x))), "looked at the contents"),
    "item": (lambda x: x * x[1].numpy().item(), "looked at the contents"),
    "format": (lambda x: x * float(f"{x[0]:.3f}"), "looked at the contents"),
    "axis": (lambda x: tf.reduce_sum(tf.stack([x, x * 2], tf.cast(x[0], tf.int32) % 2), 0), "contents"),
    "print": (lambda x: [x + 1, tf.print(x, output_stream=lambda text: None)][0], "it prints"),
    "py_function": (lambda x: tf.py_function(lambda y: y * 2, [x], tf.float32), "calls Python"),
    "numpy_function": (lambda x: tf.numpy_function(lambda: np.float32(LATEST[-1]), [], tf.float32), "calls Python"),
    "data": (lambda x: sum(tf.data.Dataset.from_tensor_slices(x)), "data set"),
    "kept": (lambda x: [KEPT.append(x * 2), x][1], "keeps a tensor"),
    "argument": (lambda x: [KEPT.append(x), x * 2][1], "keeps a tensor"),
}
KEPT: list[Any] = []
LATEST = [0.0]


DERIVATIVES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "jacobian": lambda tape, y, x: tape.jacobian(y, x),
    "hessian": lambda tape, y, x: tape.hessian(y, x),
    "hvp": lambda tape, y, x: tape.hvp(y, x, x),
    "batch_jacobian": lambda tape, y, x: tape.batch_jacobian(y[:, None], x[:, None]),
    "csr": lambda tape, y, x: tape.jacobian(y, x, format="csr").toarray(),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", DERIVATIVES)
def test_jacobians_are_part_of_a_program(name: str) -> None:
    def make() -> tuple[Any, Sequence[Any]]:
        @tf.function
        def derivative(x: Any) -> Any:
            with tf.GradientTape(persistent=True) as tape:
                tape.watch(x)
                y = tf.sin(x) * tf.concat([x[1:], x[:1]], 0) if name != "batch_jacobian" else tf.sin(x) * x
                y = tf.reduce_sum(y) if name in ("hessian", "hvp") else y
            return DERIVATIVES[name](tape, y, x)

        return derivative, []

    function = both(make, [(tf.constant(numbers(6, dtype=np.float64)),) for _ in range(4)])
    assert is_a_program(function) or name == "csr"


def neighbors_jacobian(form: str, use: Any = lambda found: found) -> Any:
    @tf.function
    def function(x: Any) -> Any:
        return use(gradient_in(x, lambda: x[1:] * x[:-1], method="jacobian", format=form))

    return function


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_a_sparse_jacobian_is_made_by_the_program(form: str) -> None:
    function = neighbors_jacobian(form, lambda found: {"jacobian": found})
    for k in range(4):
        x = tf.constant(np.linspace(1.0, 2.0, 6) + k)
        found, expected = (f(x)["jacobian"] for f in (function, function.python_function))
        assert type(found) is type(expected)
        assert found.toarray().tobytes() == expected.toarray().tobytes()
    assert "runs as a program" in function.explain()


def doubled_in_place(found: Any) -> Any:
    found.data *= 2.0
    return found


@pytest.mark.parametrize("use", [doubled_in_place, lambda j: j * 2.0, copy.copy, copy.deepcopy, lambda j: j.T.tocsr()])
def test_a_sparse_jacobian_of_which_python_made_another_is_made_in_python(use: Any) -> None:
    function = neighbors_jacobian("csr", use)
    for k in range(3):
        x = tf.constant(np.linspace(1.0, 2.0, 6) + k)
        assert function(x).toarray().tobytes() == function.python_function(x).toarray().tobytes()
    assert not is_a_program(function)


@pytest.mark.parametrize("look", [lambda j: j.sum(), lambda j: (j @ np.ones(6))[0], lambda j: copy.deepcopy(j).max()])
def test_a_function_that_looks_at_a_sparse_jacobian_runs_in_python(look: Any) -> None:
    function = neighbors_jacobian("csr", lambda found: tf.constant(float(look(found))))
    for k in range(3):
        x = tf.constant(np.linspace(1.0, 2.0, 6) + k)
        assert float(function(x)) == float(function.python_function(x))
    assert not is_a_program(function)


def test_an_unrolled_loop_of_many_ops_is_a_program() -> None:
    """As a determinant by minors is, of which most ops are repeated ones."""

    @tf.function
    def f(x: Any) -> Any:
        for _ in range(21_000):
            x = x + 1.0
        return x

    for k in range(2):
        assert float(f(tf.constant(float(k)))) == 21_000.0 + k
    assert is_a_program(f)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_program_runs_as_python(name: str) -> None:
    body, why = REFUSED[name]
    KEPT.clear()
    function, ran = count(body)
    for k in range(1, 6):
        x = tf.constant([float(k % 4), 2.0, 3.0])
        LATEST.append(float(k))
        np.testing.assert_array_equal(function(x), body(x))
    assert why in function.explain() and len(ran) == 5
    if name in ("bool", "int"):
        assert "test_function.py, line" in function.explain()
    if KEPT:
        assert len(KEPT) == 10


VARYING: dict[str, Callable[[Any], Any]] = {
    "range": lambda x: tf.range(x[0]),
    "mask": lambda x: tf.boolean_mask(x, x > 2) * 2,
    "of a mask": lambda x: _of_a_mask(x),
}


def _of_a_mask(x: Any) -> Any:
    return gradient_in(x, lambda: tf.reduce_sum(tf.boolean_mask(x, x > 1) ** 2))


@pytest.mark.parametrize("name", VARYING)
def test_results_of_other_shapes_come_from_one_program(name: str) -> None:
    function, ran = count(VARYING[name])
    eager = tf.function(VARYING[name])
    for k in range(1, 6):
        x = tf.constant([float(k % 4), 2.0, 3.0])
        tf.config.run_functions_eagerly(True)
        expected = eager(x)
        tf.config.run_functions_eagerly(False)
        np.testing.assert_array_equal(function(x), expected)
    # once on values, once with symbols
    assert is_a_program(function) and len(ran) == 2


def test_variables_are_made_once() -> None:
    function = tf.function(lambda x: tf.Variable(x) * 2)
    assert float(function(tf.constant(1.0))) == 2.0
    with pytest.raises(ValueError, match="only supports singleton tf"):
        function(tf.constant(1.0))


def test_shapes_are_no_contents() -> None:
    def flat(x: Any) -> Any:
        rows = tf.shape(x)[0]
        return tf.reshape(x, [rows * tf.size(x[0]), 1]) * tf.cast(rows, tf.float32) + tf.zeros([rows * 2, 1])

    function, ran = count(flat)
    for k in (1.0, 2.0, 3.0):
        np.testing.assert_array_equal(function(tf.fill([3, 2], k)), np.full((6, 1), 3 * k))
    assert len(ran) == 1


def test_an_error_is_that_of_python() -> None:
    function, _ = count(lambda x, i: tf.gather(x, i) * 2)
    x = tf.constant([1.0, 2.0])
    assert [float(function(x, tf.constant(i))) for i in (0, 1)] == [2.0, 4.0]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[0\] = 7") as caught:
        function(x, tf.constant(7))
    assert any("test_function.py" in str(entry.path) for entry in caught.traceback[1:])
    assert float(function(x, tf.constant(1))) == 4.0


def test_an_error_leaves_variables_as_they_were() -> None:
    v = tf.Variable(1.0)

    @tf.function
    def step(x: Any, i: Any) -> Any:
        found = tf.gather(x, i)
        v.assign_add(found)
        return found

    x = tf.constant([1.0, 2.0])
    for i in (0, 1):
        step(x, tf.constant(i))
    with pytest.raises(tf.errors.InvalidArgumentError):
        step(x, tf.constant(2))
    assert float(v) == 4.0


@pytest.mark.parametrize("index", [0, 999])
def test_a_first_call_that_fails_has_assigned_what_python_has(index: int) -> None:
    found = []
    for wrap in (lambda f: f, tf.function):
        v, x = tf.Variable(np.zeros((300, 300))), tf.constant(numbers(300, 300, dtype=np.float64))

        def step(x: Any, i: Any, v: Any = v) -> Any:
            v.assign(tf.tanh(x @ x))
            y = tf.gather(v @ x, i)
            if index:
                return y
            raise KeyError

        with pytest.raises((KeyError, tf.errors.InvalidArgumentError)) as caught:
            wrap(step)(x, tf.constant(index))
        found.append((caught.type, str(caught.value), np.array_equal(v.numpy(), np.tanh(x @ x))))
    assert found[0] == found[1] and found[1][2]


def test_a_first_call_computes_large_things_by_its_program() -> None:
    def gradient(x: Any) -> Any:
        tape, y = watching((x,), lambda: tf.reduce_sum(functools.reduce(lambda y, _: tf.sin(y) @ x, range(8), x)))
        kinds.append(type(y))
        return tape.gradient(y, x)

    x, function, kinds = tf.constant(numbers(300, 300)), tf.function(gradient), []
    found = [f(x).numpy().tobytes() for f in (function, function, gradient)]
    assert kinds == [lazy_tensor.LazyTensor, type(x)] and len(set(found)) == 1


def test_an_optimizer_is_told_another_rate() -> None:
    w, optimizer = tf.Variable(1.0), tf.keras.optimizers.SGD(0.5)

    @tf.function
    def step() -> Any:
        optimizer.apply_gradients([(tf.constant(1.0), w)])

    for rate, expected in ((0.5, 0.5), (0.5, 0.0), (0.5, -0.5), (2.0, -2.5), (0.0, -2.5)):
        optimizer.learning_rate = rate
        step()
        assert float(w) == expected


def test_results_and_variables_do_not_share_memory() -> None:
    v = tf.Variable(np.zeros(1 << 17, np.float32))

    @tf.function
    def step(x: Any) -> Any:
        v.assign_add(x)
        return v.read_value()

    x = tf.ones([1 << 17])
    found = [step(x) for _ in range(4)]
    assert [float(y[0]) for y in found] == [1.0, 2.0, 3.0, 4.0]


def test_threads(request: pytest.FixtureRequest) -> None:
    request.addfinalizer(functools.partial(sys.setswitchinterval, sys.getswitchinterval()))
    sys.setswitchinterval(1e-5)
    v, x = tf.Variable(tf.zeros([1 << 17])), tf.ones([1 << 17])

    @tf.function
    def step(x: Any) -> Any:
        v.assign_add(x)
        return x * 2

    threads = [threading.Thread(target=lambda: [step(x) for _ in range(20)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert np.all(v.numpy() == 80.0)


def test_what_another_thread_assigns_is_not_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    v, left, exclusively = tf.Variable(0.0), [threading.Thread(target=lambda: v.assign_add(10.0))], variable.exclusively

    def interrupted(*arguments: Any) -> Any:
        result = exclusively(*arguments)
        for thread in [left.pop() for _ in left[:]]:
            thread.start()
            thread.join()
        return result

    monkeypatch.setattr(variable, "exclusively", interrupted)
    step = tf.function(lambda x: v.assign_add(x, read_value=False))
    step(tf.constant(1.0))
    step(tf.constant(1.0))
    assert float(v) == 12.0


@pytest.mark.parametrize("taped", [False, True])
def test_nothing_of_the_first_call_is_kept(taped: bool) -> None:
    function, _ = count(lambda x: tf.sin(x) * 2)
    x = tf.constant(numbers(1000))
    with tf.GradientTape() if taped else contextlib.nullcontext() as tape:
        if tape:
            tape.watch(x)
        y = function(x)
    given, found = weakref.ref(x), weakref.ref(y)
    del x, y, tape
    gc.collect()
    assert given() is None and found() is None


def test_a_function_in_a_graph_is_part_of_it() -> None:
    import graph_api

    function = tf.function(lambda x: x * 2)
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        x = graph_api.placeholder(graph_api.float32)
        assert session.run(function(x), {x: 3.0}) == 6.0


def test_a_number_made_of_a_shape_is_not_kept() -> None:
    @tf.function
    def f(x: Any) -> Any:
        return x * float(int(tf.shape(x)[0]))

    assert [float(f(tf.ones([n]))[0]) for n in (2, 2, 3, 3)] == [2.0, 2.0, 3.0, 3.0]
    assert is_a_program(f)
