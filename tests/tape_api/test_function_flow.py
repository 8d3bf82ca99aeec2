"""Choices and loops of a `tf.function` are single ops: the numbers of Python and of a graph, one call of a body."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api as tf
from tape_api.functions.tracing import is_symbolic
from tests.tape_api.test_function import is_a_program
from tests.tapes import watching

X = np.random.default_rng(5).normal(size=(6, 3)).astype(np.float32)
W = np.random.default_rng(6).normal(size=3).astype(np.float32)


def _limited(t: Any, x: Any, w: Any) -> Any:
    loop = t.while_loop(lambda h: t.reduce_sum(h) < 1e6, lambda h: [h * h + w], [x], maximum_iterations=3)
    return loop[0] if isinstance(loop, (list, tuple)) else loop


def _nested(t: Any, x: Any, w: Any) -> Any:
    def outer(i: Any, h: Any) -> Any:
        inner = t.while_loop(lambda j, g: j < i, lambda j, g: (j + 1, g * w + h), (0, h))[1]
        return i + 1, t.cond(t.reduce_sum(inner) > 0.0, lambda: inner * 0.5, lambda: h - inner)

    return t.while_loop(lambda i, h: i < 4, outer, (0, x))[1]


def _case(t: Any, x: Any, w: Any) -> Any:
    pairs = [(x[0, 0] > 1.0, lambda: x + w), (x[0, 0] > 0.0, lambda: x * w)]
    return t.case(pairs, default=lambda: x - w) + t.switch_case(
        t.cast(x[0, 1] > 0.0, t.int32), [lambda: w * 2.0, lambda: t.sin(w)]
    )


def _array(t: Any, x: Any, w: Any) -> Any:
    array = t.TensorArray(t.float32, size=6)
    _, _, array = t.while_loop(
        lambda i, s, a: i < 6,
        lambda i, s, a: (i + 1, s * w + t.gather(x, i), a.write(i, s * s)),
        (0, t.ones([3]), array),
    )
    return array.stack()


PROGRAMS: dict[str, Callable[..., Any]] = {
    "scan": lambda t, x, w: t.scan(lambda h, row: t.tanh(h * w + row), x, t.zeros([3])),
    "scan of pairs": lambda t, x, w: math.prod(
        t.scan(lambda s, row: (s[0] * w + row[0], s[1] + row[1] * s[0]), (x, x * x), reverse=True)
    ),
    "map": lambda t, x, w: t.map_fn(lambda row: (row * w, t.reduce_sum(row) * w), x, dtype=(t.float32, t.float32))[1],
    "folds": lambda t, x, w: (
        t.foldl(lambda s, row: s * w + t.sin(row), x) + t.foldr(lambda s, row: s + row * w, x, t.ones([3]))
    ),
    "while": lambda t, x, w: t.while_loop(lambda i, h: i < 4, lambda i, h: (i + 1, t.tanh(h * w)), (0, x))[1],
    "until": lambda t, x, w: t.while_loop(
        lambda h, y: t.reduce_sum(h * h) > 0.1, lambda h, y: (h * 0.5, y + h * w), (x, x * t.reduce_sum(x * x))
    )[1],
    "limited": _limited,
    "nested": _nested,
    "branch": lambda t, x, w: t.cond(t.reduce_sum(x) > 0.0, lambda: x * w, lambda: t.exp(x) + w),
    "case": _case,
    "array": _array,
}


def taped(program: Callable[..., Any], x: Any, w: Any) -> list[Any]:
    with tf.GradientTape() as tape:
        tape.watch([x, w])
        y = program(tf, x, w)
        loss = tf.reduce_sum(y * y)
    # a tape alone keeps rows that are gathered as rows
    return [y, loss, *map(tf.convert_to_tensor, tape.gradient(loss, [x, w]))]


def in_graph(program: Callable[..., Any], x: np.ndarray, w: np.ndarray) -> Any:
    g = graph_api
    with g.Graph().as_default(), g.Session() as session:
        given = [g.placeholder(g.float32, a.shape) for a in (x, w)]
        y = program(g, *given)
        loss = g.reduce_sum(y * y)
        return session.run([y, loss, *g.gradients(loss, given)], dict(zip(given, (x, w), strict=True)))


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_numbers_are_those_of_python_and_of_a_graph(name: str) -> None:
    program = PROGRAMS[name]
    function = tf.function(lambda x, w: taped(program, x, w))
    for k in (1.0, -1.0, 0.5, 1.0):
        x, w = tf.constant(k * X), tf.constant(W)
        found = [np.asarray(v) for v in function(x, w)]
        for others in (taped(program, x, w), in_graph(program, k * X, W)):
            assert all(a.tobytes() == np.asarray(b).tobytes() for a, b in zip(found, others, strict=True))
    assert is_a_program(function)


@pytest.mark.parametrize("name", ["scan", "map", "while", "nested"])
def test_second_derivatives_and_jacobians_agree_up_to_rounding(name: str) -> None:
    def derived(x: Any, w: Any) -> Any:
        with tf.GradientTape(persistent=True) as outer:
            outer.watch([x, w])
            inner, loss = watching([x, w], lambda: tf.reduce_sum(PROGRAMS[name](tf, x, w) ** 2))
            total = sum(tf.reduce_sum(g * g) for g in inner.gradient(loss, [x, w]))
            y = PROGRAMS[name](tf, x, w)
        return [*outer.gradient(total, [x, w]), outer.jacobian(y, w)]

    function = tf.function(derived)
    x, w = tf.constant(0.5 * X), tf.constant(W)
    for _ in range(3):
        for a, b in zip(function(x, w), derived(x, w), strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-4, atol=1e-4)
    assert is_a_program(function)


def test_a_body_is_called_once() -> None:
    calls: list[str] = []

    @tf.function
    def compute(x: Any, n: Any) -> Any:
        def note(what: str, result: Any) -> Any:
            calls.append(what)
            return result

        y = tf.scan(lambda h, row: note("scan", h + row), x)
        z = tf.while_loop(lambda i, h: note("test", i < n), lambda i, h: note("body", (i + 1, h * 2.0)), (0, y))[1]
        return tf.cond(n > 3, lambda: note("true", z), lambda: note("false", y))

    for n in (2, 500, 4, 0):
        compute(tf.ones([1000, 2]), tf.constant(n))
    assert sorted(calls) == ["body", "false", "scan", "test", "true"]
    assert compute.experimental_get_tracing_count() == 1


def test_variables_are_read_and_assigned_where_the_program_says() -> None:
    def make() -> tuple[Any, Any]:
        v = tf.Variable(1.0)

        def compute(n: Any) -> Any:
            before = v * 1.0
            v.assign_add(1.0)

            def body(i: Any, total: Any) -> Any:
                v.assign(v * 2.0 + tf.cast(i, tf.float32))
                return i + 1, total + v

            total = tf.while_loop(lambda i, _: i < n, body, (0, v))[1]
            kept = tf.cond(total > 10.0, lambda: v.assign_sub(5.0) * 1.0, lambda: v * 3.0)
            rows = tf.map_fn(lambda x: v.assign_add(x) * 1.0, tf.constant([1.0, 2.0]))
            return before, total, kept, rows, v * 1.0

        return compute, v

    (plain, a), (body, b) = make(), make()
    function = tf.function(body)
    for n in (3, 1, 0, 4):
        found, expected = function(tf.constant(n)), plain(tf.constant(n))
        assert all(np.array_equal(p, q) for p, q in zip(found, expected, strict=True)) and float(a) == float(b)
    assert is_a_program(function)


def test_an_optimizer_steps_in_a_loop() -> None:
    found = []
    for wrap in (lambda f: f, tf.function):
        w, optimizer = tf.Variable(W), tf.keras.optimizers.Adam(0.1)

        def train(n: Any, w: Any = w, optimizer: Any = optimizer) -> Any:
            def body(i: Any, _: Any) -> Any:
                tape, loss = watching((), lambda: tf.reduce_sum((X @ w[:, None] - 1.0) ** 2))
                optimizer.apply_gradients([(tape.gradient(loss, w), w)])
                return i + 1, loss

            return tf.while_loop(lambda i, _: i < n, body, (0, 0.0))[1]

        run = wrap(train)
        found.append([float(run(tf.constant(n))) for n in (1, 5, 3)] + w.numpy().tolist())
    assert found[0] == found[1] and is_a_program(run)


def test_random_numbers_go_on_from_step_to_step() -> None:
    @tf.function
    def draw(n: Any) -> Any:
        shapes = (tf.TensorShape([]), tf.TensorShape([None]))
        step = lambda i, s: (i + 1, tf.concat([s, [tf.random.normal([])]], 0))  # noqa: E731
        return tf.while_loop(lambda i, s: i < n, step, (0, tf.zeros([0])), shape_invariants=shapes)[1]

    runs = []
    for _ in range(2):
        tf.random.set_seed(3)
        runs.append(np.concatenate([draw(tf.constant(n)).numpy() for n in (2, 1, 3)]))
    assert np.array_equal(*runs) and len(set(runs[0].tolist())) == 6 and is_a_program(draw)


def test_results_may_differ_in_shape() -> None:
    @tf.function
    def squares(n: Any) -> Any:
        array = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        step = lambda i, a: (i + 1, a.write(i, tf.cast(i * i, tf.float32)))  # noqa: E731
        return tf.while_loop(lambda i, a: i < n, step, (0, array))[1].stack()

    for n in (3, 5, 1, 4):
        np.testing.assert_array_equal(squares(tf.constant(n)), np.arange(n) ** 2.0)
    assert is_a_program(squares)


def test_what_cannot_be_captured_runs_as_python() -> None:
    seen: list[float] = []

    @tf.function
    def look(x: Any) -> Any:
        def step(total: Any, row: Any) -> Any:
            seen.append(float(row))
            return total + row

        return tf.foldl(step, x)

    for _ in range(2):
        assert float(look(tf.constant([1.0, 2.0, 4.0]))) == 7.0
    assert seen == [2.0, 4.0] * 2 and "looked at the contents" in look.explain()


def test_a_tensor_of_a_loop_is_not_used_outside() -> None:
    kept: list[Any] = []

    @tf.function
    def leak(x: Any) -> Any:
        tf.map_fn(lambda row: [kept.append(row), row][1], x)
        return kept[-1] + 1.0

    with pytest.raises(tf.errors.InvalidArgumentError, match=r"out of scope|cannot be used"):
        leak(tf.constant([1.0, 2.0]))


def test_branches_return_the_same_structure() -> None:
    pair = tf.function(lambda x: tf.cond(x > 0, lambda: (x, x), lambda: x))
    kinds = tf.function(lambda x: tf.cond(x > 0, lambda: x, lambda: tf.constant(1)))
    nothing = tf.function(lambda x: tf.cond(x > 0, lambda: None, lambda: None))
    with pytest.raises(TypeError, match="the same structure"):
        pair(tf.constant(1.0))
    with pytest.raises(TypeError, match="the same dtypes"):
        kinds(tf.constant(1.0))
    assert nothing(tf.constant(1.0)) is None


def test_comparisons_within_a_loop_are_elementwise() -> None:
    def steps(n: Any) -> Any:
        step = lambda n, k: (tf.where(n % 2 == 0, n // 2, 3 * n + 1), k + 1)  # noqa: E731
        return tf.while_loop(lambda n, k: n != 1, step, (n, 0))[1]

    assert [int(tf.function(steps)(tf.constant(n))) for n in (1, 6, 7, 27)] == [0, 8, 16, 111]


def test_is_symbolic() -> None:
    found: dict[str, bool] = {}
    v = tf.Variable(1.0)

    @tf.function
    def compute(x: Any) -> Any:
        found.update(argument=is_symbolic(x), computed=is_symbolic(x > 0), variable=is_symbolic(v))
        found.update(constant=is_symbolic(tf.constant(1.0)), shape=is_symbolic(tf.shape(x)), number=is_symbolic(1.0))
        return tf.map_fn(lambda row: [found.update(row=is_symbolic(row)), row][1], x)

    compute(tf.ones([2]))
    true = {name for name, is_true in found.items() if is_true}
    assert true == {"argument", "computed", "variable", "row"} and not is_symbolic(tf.constant(1.0))


def test_layers_that_recur_are_loops() -> None:
    layer, x = tf.keras.layers.LSTM(4, return_sequences=True), tf.constant(X[None] * np.ones((2, 1, 1), np.float32))
    layer(x)

    def gradient(x: Any) -> Any:
        tape, y = watching((), lambda: tf.reduce_sum(layer(x) ** 2))
        return [y, *tape.gradient(y, layer.trainable_variables)]

    function = tf.function(gradient)
    for k in (1.0, 2.0, 0.5):
        assert all(np.array_equal(a, b) for a, b in zip(function(k * x), gradient(k * x), strict=True))
    assert is_a_program(function)
    ops = {node.op.name for known in function._known.values() for node in known._trace.nodes}
    assert "scan_op" in ops and "matmul" not in ops
