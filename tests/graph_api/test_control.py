"""Control flow in graphs computes what the same Python code computes on a tape, derivatives of all orders included."""

import pickle
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import graph_api as tf
import tape_api as tape
from engine.core.nest import flatten
from engine.core.variable import read_variable
from engine.runtime.errors import DTypeError, InvalidArgumentError, ShapeError, UnimplementedError
from tests.graph_api.running import run

Program = Callable[..., Any]


def in_graph(program: Program, arrays: Sequence[Any], order: int, shapes: bool = True) -> list[list[Any]]:
    """The results of a program, and the gradients of their sums up to an order, from a session."""
    with tf.Graph().as_default() as graph, tf.Session(graph=graph) as session:
        xs = [tf.placeholder(a.dtype, a.shape if shapes else None) for a in arrays]
        levels = [flatten(program(tf, *xs))]
        for _ in range(order):
            ys = [y for y in levels[-1] if y is not None and y.dtype.is_floating]
            levels.append(tf.gradients([tf.reduce_sum(y) for y in ys], xs, unconnected_gradients="zero"))
        return session.run(levels, dict(zip(xs, arrays, strict=True)))  # type: ignore[no-any-return]


def on_tape(program: Program, arrays: Sequence[Any], order: int) -> list[list[Any]]:
    """The same from nested tapes."""
    xs = [tape.constant(a) for a in arrays]
    tapes = [tape.GradientTape(persistent=True) for _ in range(order)]
    for t in tapes:
        t.__enter__()
        for x in xs:
            t.watch(x)
    levels = [flatten(program(tape, *xs))]
    for t in reversed(tapes):
        ys = [tape.reduce_sum(y) for y in levels[-1] if y.dtype.is_floating]
        t.__exit__(None, None, None)
        levels.append(t.gradient(ys, xs, unconnected_gradients="zero"))
    return [[y.numpy() for y in level] for level in levels]


# ---- programs; `tf` is either front end ------------------------------------------------------------------------------


def choice(tf: Any, x: Any, y: Any) -> Any:
    """One value is used several times inside a branch, and outside too."""
    z = x * y
    a, b = tf.cond(
        tf.reduce_sum(x) > 0.0, lambda: (tf.sin(z) * z + z * x, y), lambda: (tf.exp(z) / (1.0 + z * z), tf.tanh(x) * y)
    )
    return a * b + z


def nested_choice(tf: Any, x: Any, y: Any) -> Any:
    s = tf.reduce_sum(x)
    return tf.cond(s > 0.0, lambda: tf.cond(s > 1.0, lambda: x * y * s, lambda: x * x * y), lambda: tf.sin(x * y))


def recurrence(tf: Any, x: Any, y: Any) -> Any:
    """Captures used several times in the body; a variable that stays as it is, an integer one, a nested structure."""

    def body(i: Any, state: Any, fixed: Any) -> Any:
        a, b = state
        return i + 1, (tf.sin(a * y) + b * y, a * fixed), fixed

    _, (a, b), _ = tf.while_loop(lambda i, *_: i < 4, body, (tf.constant(0), (x * 2.0, x * y), x))
    return a * b


def until(tf: Any, x: Any, y: Any) -> Any:
    """How often it runs depends on the values."""
    return tf.while_loop(lambda v: tf.reduce_sum(v * v) < 50.0, lambda v: [v * 1.5 + y * y * v], [x])


def never(tf: Any, x: Any, y: Any) -> Any:
    return tf.while_loop(lambda v, w: tf.reduce_sum(v) > 1e6, lambda v, w: [v * y, w * v], [x, y])[0] * y


def bounded(tf: Any, x: Any, y: Any) -> Any:
    return tf.while_loop(lambda v: tf.constant(True), lambda v: [tf.sin(v) * y], [x], maximum_iterations=3)


def loop_in_choice_in_loop(tf: Any, x: Any, y: Any) -> Any:
    def inner(v: Any) -> Any:
        return tf.while_loop(lambda j, w: j < 2, lambda j, w: (j + 1, w * tf.sin(y)), (tf.constant(0), v))[1]

    def body(i: Any, v: Any) -> Any:
        return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: inner(v), lambda: v * x + v)

    return tf.while_loop(lambda i, v: i < 3, body, (tf.constant(0), x))[1]


def mapped(tf: Any, x: Any, y: Any) -> Any:
    return tf.map_fn(lambda row: tf.sin(row) * tf.reduce_sum(y * row), x)


def mapped_structure(tf: Any, x: Any, y: Any) -> Any:
    return tf.map_fn(lambda r: (r[0] * r[1], tf.exp(r[0])), (x, y), dtype=(x.dtype, x.dtype))


def scanned(tf: Any, x: Any, y: Any) -> Any:
    return tf.scan(lambda total, row: tf.sin(total) * row + y[0], x)


def scanned_from(tf: Any, x: Any, y: Any) -> Any:
    return tf.scan(lambda total, row: tf.sin(total) * row, x, initializer=y[0], reverse=True)


def folded(tf: Any, x: Any, y: Any) -> Any:
    return tf.foldl(lambda total, row: tf.tanh(total * row), x, initializer=y[1]), tf.foldr(lambda a, r: a * r + r, x)


PROGRAMS = (
    choice, nested_choice, recurrence, until, never, bounded, loop_in_choice_in_loop, mapped, mapped_structure, scanned,
    scanned_from, folded,
)  # fmt: skip


def inputs(dtype: str, sign: float = 1.0) -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    return [(sign * rng.uniform(0.2, 0.9, (3, 2))).astype(dtype), rng.uniform(-0.9, 0.9, (3, 2)).astype(dtype)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("program", PROGRAMS)
def test_graph_agrees_with_tape_to_the_bit(program: Program, dtype: str, sign: float) -> None:
    arrays = inputs(dtype, sign)
    for got, expected in zip(in_graph(program, arrays, 1), on_tape(program, arrays, 1), strict=True):
        for g, e in zip(got, expected, strict=True):
            assert g.dtype == e.dtype
            np.testing.assert_array_equal(g, e)


@pytest.mark.parametrize("program", PROGRAMS)
def test_third_derivatives(program: Program) -> None:
    arrays = inputs("float64")
    for got, expected in zip(in_graph(program, arrays, 3), on_tape(program, arrays, 3), strict=True):
        for g, e in zip(got, expected, strict=True):
            np.testing.assert_allclose(g, e, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("program", [p for p in PROGRAMS if p is not nested_choice])
def test_unknown_shapes(program: Program) -> None:
    arrays = inputs("float64")
    for got, expected in zip(in_graph(program, arrays, 1, shapes=False), on_tape(program, arrays, 1), strict=True):
        for g, e in zip(got, expected, strict=True):
            np.testing.assert_allclose(g, e, rtol=1e-12)


@pytest.mark.parametrize("program", PROGRAMS)
def test_jacobian(program: Program) -> None:
    arrays = inputs("float64")
    x, y = [tf.placeholder(a.dtype, a.shape) for a in arrays]
    target = flatten(program(tf, x, y))[0]
    feeds = {x: arrays[0], y: arrays[1]}
    with tf.Session() as session:
        got = session.run(tf.jacobian(target, x), feeds)
        flat = tf.reshape(target, [-1])
        rows = [session.run(tf.gradients(flat[k], x)[0], feeds) for k in range(flat.shape[0].value)]
    np.testing.assert_allclose(got.reshape(len(rows), -1), np.reshape(rows, (len(rows), -1)), rtol=1e-12, atol=1e-14)


# ---- what runs, and when ---------------------------------------------------------------------------------------------


def test_only_the_branch_chosen_runs() -> None:
    calls: list[str] = []

    def noted(which: str) -> Any:
        return tf.py_func(lambda: calls.append(which) or np.float32(1.0), [], tf.float32)

    p = tf.placeholder(tf.bool, [])
    y = tf.cond(p, lambda: noted("true"), lambda: noted("false"))
    assert calls == []
    run(y, {p: True})
    run(y, {p: False})
    assert calls == ["true", "false"]


def test_a_branch_that_fails_says_where() -> None:
    p, x = tf.placeholder(tf.bool), tf.placeholder(tf.float32)
    y = tf.cond(p, lambda: tf.reshape(x, [5]), lambda: x)
    run(y, {p: False, x: np.ones(3)})
    with pytest.raises(InvalidArgumentError, match=r"cond/Reshape.*test_control\.py"):
        run(y, {p: True, x: np.ones(3)})


def test_variables_are_captured() -> None:
    w = tf.Variable(3.0)
    p = tf.placeholder(tf.bool)
    y = tf.cond(p, lambda: w * w, lambda: w)
    dw = tf.gradients(y, w)[0]
    assert run([y, dw], {p: True}) == [9.0, 6.0]
    assert run([y, dw], {p: False}) == [3.0, 1.0]


@pytest.mark.filterwarnings("ignore:variable .* is read again by a gradient tape")
@pytest.mark.parametrize("assigned", [False, True])
def test_a_variable_enters_a_branch_once_for_each_value(assigned: bool) -> None:
    """Reads before a loop, in it and behind it are one operand, unless an assignment stands between them."""
    w, p = tf.Variable([3.0, 4.0]), tf.placeholder(tf.bool)
    before = w.read_value()
    update = w.assign_add([1.0, 1.0]) if assigned else None
    with tf.control_dependencies([update] if assigned else None):
        y = tf.cond(p, lambda: tf.foldl(lambda a, row: a * w + row, w, before) * w, lambda: w)
    (dw,) = tf.gradients(y, w)
    assert [x.op.op for x in y.op.inputs].count(read_variable) == 1 + assigned
    with tape.GradientTape() as recorder:
        v = tape.Variable([3.0, 4.0])
        before = v.read_value()
        if assigned:
            v.assign_add([1.0, 1.0])
        z = tape.foldl(lambda a, row: a * v + row, v, before) * v
    found, expected = run([y, dw], {p: True}), [z.numpy(), recorder.gradient(z, v).numpy()]
    np.testing.assert_array_equal(found, expected)


def test_assignments_in_a_branch() -> None:
    w = tf.Variable(3.0)
    p = tf.placeholder(tf.bool)
    y = tf.cond(p, lambda: w.assign_add(1.0), lambda: w + 0.0)
    after = w * 1.0
    with tf.Session() as session:
        session.run(w.initializer)
        assert session.run(y, {p: False}) == 3.0
        assert session.run(w) == 3.0
        assert session.run([y, after], {p: True}) == [4.0, 4.0]
        assert session.run(after, {p: True}) == 4.0  # not asked for, not assigned


def test_operations_as_results() -> None:
    w = tf.Variable(1.0)
    p = tf.placeholder(tf.bool)
    step = tf.cond(p, lambda: tf.group(w.assign(5.0)), lambda: tf.no_op())
    with tf.Session() as session:
        session.run(w.initializer)
        session.run(step, {p: False})
        assert session.run(w) == 1.0
        session.run(step, {p: True})
        assert session.run(w) == 5.0


def test_assignments_in_a_loop() -> None:
    w = tf.Variable(1.0)

    def body(i: Any) -> Any:
        with tf.control_dependencies([w.assign(w * 2.0)]):
            return [i + 1]

    n = tf.while_loop(lambda i: i < 5, body, [0])
    with tf.Session() as session:
        session.run(w.initializer)
        session.run(n)
        assert session.run(w) == 32.0


def test_random_numbers_differ_between_iterations() -> None:
    tf.set_random_seed(1)
    rows = tf.map_fn(lambda _: tf.random_uniform([]), tf.zeros([5]))
    p = tf.placeholder(tf.bool)
    x = tf.ones([100])
    dropped = tf.cond(p, lambda: tf.nn.dropout(x, 0.5), lambda: x)
    with tf.Session() as session:
        first, second = session.run(rows), session.run(rows)
        assert len({*first, *second}) == 10
        np.testing.assert_array_equal(session.run(dropped, {p: False}), np.ones(100))
        assert not np.array_equal(session.run(dropped, {p: True}), session.run(dropped, {p: True}))


def test_gradients_inside_a_loop() -> None:
    x = tf.placeholder(tf.float32)
    descend = lambda v: [v - 0.1 * tf.gradients((v - x) ** 2, v)[0]]  # noqa: E731
    y = tf.while_loop(lambda v: tf.abs(v - x) > 1e-3, descend, [0.0])
    assert abs(run(y, {x: 2.0}) - 2.0) <= 1e-3


def test_shapes_that_change() -> None:
    x = tf.placeholder(tf.float32, [1])
    loop = lambda **k: tf.while_loop(  # noqa: E731
        lambda i, v: i < 3, lambda i, v: (i + 1, tf.concat([v, v * 2.0], 0)), (0, x), **k
    )
    with pytest.raises(ShapeError, match=r"loop variable 1 .* shape \(1,\).* \(2,\).*shape_invariants"):
        loop()
    _, y = loop(shape_invariants=(tf.TensorShape([]), tf.TensorShape([None])))
    assert y.shape.as_list() == [None]
    np.testing.assert_array_equal(run(y, {x: [1.0]}), [1, 2, 2, 4, 2, 4, 4, 8])


def test_old_names_and_single_results() -> None:
    x = tf.placeholder(tf.float32)
    y = tf.cond(x > 0.0, fn1=lambda: [x], fn2=lambda: [-x])
    assert run(y, {x: -2.0}) == 2.0
    assert isinstance(tf.cond(x > 0.0, lambda: [x], lambda: [-x], strict=True), list)


def test_results_belong_to_the_caller() -> None:
    p = tf.placeholder(tf.bool)
    y = tf.cond(p, lambda: tf.constant([1.0, 2.0]), lambda: tf.zeros([2]))
    with tf.Session() as session:
        session.run(y, {p: True})[:] = 7.0
        np.testing.assert_array_equal(session.run(y, {p: True}), [1.0, 2.0])


def test_programs_with_loops_pickle() -> None:
    x = tf.placeholder(tf.float64, [3])
    y = tf.gradients(recurrence(tf, x, x), x)[0]
    with tf.Session() as session:
        expected = session.run(y, {x: np.ones(3)})
        (executable,) = session._executables.own.values()
    (got,) = pickle.loads(pickle.dumps(executable.program))(np.ones(3))
    np.testing.assert_array_equal(got, expected)


# ---- TensorArray -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("known", [True, False])
def test_tensor_array(known: bool) -> None:
    x = tf.placeholder(tf.float32, [4, 2] if known else None)
    rows = tf.TensorArray(tf.float32, size=4).unstack(x)
    out = tf.TensorArray(tf.float32, size=tf.shape(x)[0])

    def body(i: Any, h: Any, out: Any) -> Any:
        h = tf.sin(h) + rows.read(i)
        return i + 1, h, out.write(i, h * h)

    _, _, out = tf.while_loop(lambda i, *_: i < 4, body, (0, tf.zeros([2]), out))
    y = out.stack()
    dx = tf.gradients(y, x)[0]
    value = np.random.default_rng(0).normal(size=(4, 2)).astype(np.float32)
    got, grad = run([y, dx], {x: value})
    xs = tape.constant(value)
    with tape.GradientTape() as t:
        t.watch(xs)
        h, results = tape.zeros([2]), []
        for i in range(4):
            h = tape.sin(h) + xs[i]
            results.append(h * h)
        expected = tape.stack(results)
    np.testing.assert_array_equal(got, expected.numpy())
    np.testing.assert_allclose(grad, t.gradient(expected, xs).numpy(), rtol=1e-6)


def test_tensor_array_outside_of_loops() -> None:
    array = tf.TensorArray(tf.float32, size=2, dynamic_size=True)
    array = array.write(0, [1.0]).write(3, [2.0])
    np.testing.assert_array_equal(run(array.stack()), [[1], [0], [0], [2]])
    assert run([array.size(), array.read(3)])[0] == 4
    np.testing.assert_array_equal(run(array.concat()), [1, 0, 0, 2])
    with pytest.raises(InvalidArgumentError, match="element_shape"):
        tf.TensorArray(tf.float32, size=2).stack()
    with pytest.raises(DTypeError, match="value"):
        array.write(0, [1])


# ---- errors ----------------------------------------------------------------------------------------------------------


def test_errors_of_cond() -> None:
    x = tf.placeholder(tf.float32, [2])
    p = tf.placeholder(tf.bool, [])
    with pytest.raises(TypeError, match="Python bool"):
        tf.cond(True, lambda: x, lambda: x)
    with pytest.raises(DTypeError, match="`pred` must be a boolean scalar, got float32"):
        tf.cond(x[0], lambda: x, lambda: x)
    with pytest.raises(ShapeError, match=r"`pred` must be a boolean scalar, got shape \(2,\)"):
        tf.cond(x > 0.0, lambda: x, lambda: x)
    with pytest.raises(DTypeError, match="result 0 is float32 from true_fn and int32 from false_fn"):
        tf.cond(p, lambda: x, lambda: 1)
    with pytest.raises(TypeError, match="same structure"):
        tf.cond(p, lambda: (x, x), lambda: x)
    with pytest.raises(ValueError, match="must have a return value"):
        tf.cond(p, lambda: None, lambda: x)
    with pytest.raises(TypeError, match="`true_fn` must be callable"):
        tf.cond(p, x, lambda: x)


def test_gradients_of_a_loop_of_other_numbers_of_steps_in_each_run() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x, n = tf.placeholder(tf.float64, [3]), tf.placeholder(tf.int32, [])
        y = tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, 0.99 * tf.sin(y)), [tf.constant(0), x])[1]
        (g,) = tf.gradients(y, x)
        value = np.array([0.5, 1.0, -0.25])
        # room is made for as many steps as there were twice
        for steps in (5, 5, 5, 9, 0, 0, 3, 200, 200, 200, 70, 1):
            z, slope = value, np.ones(3)
            for _ in range(steps):
                z, slope = 0.99 * np.sin(z), 0.99 * slope * np.cos(z)
            found = session.run([y, g], {x: value, n: steps})
            np.testing.assert_allclose(found, [z, slope], rtol=1e-12)


def test_errors_of_while_loop() -> None:
    x = tf.placeholder(tf.float32, [2])
    w = tf.Variable(1.0)
    with pytest.raises(DTypeError, match="`cond` must be a boolean scalar, got float32"):
        tf.while_loop(lambda v: v[0], lambda v: [v], [x])
    with pytest.raises(DTypeError, match="loop variable 0 enters the loop as float32, but `body` returns it as int32"):
        tf.while_loop(lambda v: v[0] > 0.0, lambda v: [tf.cast(v, tf.int32)], [x])
    with pytest.raises(ValueError, match="structure of the loop variables"):
        tf.while_loop(lambda v: v[0] > 0.0, lambda v: [v, v], [x])
    with pytest.raises(ValueError, match="`loop_vars` must be a non-empty"):
        tf.while_loop(lambda: True, list, [])
    with pytest.raises(ShapeError, match="shape_invariants"):
        tf.while_loop(lambda v: v[0] > 0.0, lambda v: [v], [x], shape_invariants=[tf.TensorShape([3])])
    with pytest.raises(UnimplementedError, match="`cond` must not assign"):
        tf.while_loop(lambda v: w.assign_add(1.0) < 3.0, lambda v: [v], [x])


def test_errors_of_maps() -> None:
    x = tf.placeholder(tf.float32, [2])
    with pytest.raises(DTypeError, match="`dtype` says float32, but `fn` returns int32"):
        tf.map_fn(lambda v: tf.cast(v, tf.int32), x, dtype=tf.float32)
    with pytest.raises(ShapeError, match="`elems` must have at least one dimension"):
        tf.map_fn(lambda v: v, tf.constant(1.0))
    with pytest.raises(ShapeError, match="agree in the first dimension"):
        tf.map_fn(lambda v: v[0], (x, tf.zeros([3])))
    with pytest.raises(InvalidArgumentError, match="`fn` must return values like the initial one"):
        tf.foldl(lambda a, v: tf.stack([a, v]), x)
    with pytest.raises(ValueError, match="structure of the initial value"):
        tf.scan(lambda a, v: (a, v), x)


def test_gradient_of_a_loop_of_changing_shapes() -> None:
    x = tf.placeholder(tf.float32, [1])
    shapes = (tf.TensorShape([]), tf.TensorShape([None]))
    _, y = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, tf.concat([v, v * v], 0)), (0, x), shapes)
    np.testing.assert_array_equal(run(tf.gradients(y, x)[0], {x: [1.0]}), [27])


def test_gradient_of_a_loop_of_shapes_that_change_unforeseen_says_so() -> None:
    """That the shape changes must be known when the gradient is built."""
    x = tf.placeholder(tf.float32, [None])
    shapes = (tf.TensorShape([]), tf.TensorShape([None]))
    _, y = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, tf.concat([v, v * v], 0)), (0, x), shapes)
    with pytest.raises(UnimplementedError, match="loop variable 1 changes its shape"):
        run(tf.gradients(y, x)[0], {x: [1.0]})


@pytest.mark.parametrize("shape", [[3], None])
def test_arrays_grow_in_loops_whatever_is_known_of_their_elements(shape: list[int] | None) -> None:
    array = tf.TensorArray(tf.float32, 0, dynamic_size=True, element_shape=shape)
    _, array = tf.while_loop(lambda i, _: i < 4, lambda i, a: (i + 1, a.write(i, tf.ones([3]))), (0, array))
    with tf.Session() as session:
        assert session.run(array.stack()).shape == (4, 3)


def _rows_of(values: Any) -> Any:
    return tf.IndexedSlices(values, tf.constant([0, 1]), tf.constant([4]))


def _elements(values: Any) -> Any:
    return tf.SparseTensor([[0], [2]], values, [4])


@pytest.mark.parametrize(("made", "kind"), [(_rows_of, tf.IndexedSlices), (_elements, tf.SparseTensor)])
def test_composites_come_out_of_branches_and_loops_as_they_went_in(made: Any, kind: type) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant([1.0, 2.0])
        chosen = tf.cond(x[0] > 0.0, lambda: made(x * 3.0), lambda: made(x))
        looped = tf.while_loop(
            lambda i, s: i < 3, lambda i, s: (i + 1, s.with_values(s.values * 2.0)), [0, {"s": made(x)}["s"]]
        )[1]
        assert isinstance(chosen, kind) and isinstance(looped, kind)
        found = session.run([chosen.values, looped.values, tf.gradients(chosen.values, x)[0]])
        assert [a.tolist() for a in found] == [[3.0, 6.0], [8.0, 16.0], [3.0, 3.0]]


def test_rows_without_a_shape_pass_a_branch_and_elements_of_a_loop_may_become_more() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x, one = tf.constant([1.0, 2.0]), tf.constant([0, 1])
        chosen = tf.cond(x[0] > 0.0, lambda: tf.IndexedSlices(x, one), lambda: tf.IndexedSlices(-x, one))
        assert chosen.dense_shape is None

        def doubled(i: Any, s: Any) -> Any:
            indices = tf.concat([s.indices, s.indices + s.indices[-1] + 1], 0)
            return i + 1, tf.SparseTensor(indices, tf.concat([s.values, s.values], 0), s.dense_shape)

        grown = tf.while_loop(lambda i, s: i < 2, doubled, [0, tf.SparseTensor([[0]], [1.0], [9])])[1]
        assert [a.tolist() for a in session.run([chosen.values, grown.values])] == [[1.0, 2.0], [1.0] * 4]


def test_numbers_of_parallel_iterations_and_results_of_bodies_are_checked() -> None:
    with pytest.raises(TypeError, match="must be a positive integer, got 0"):
        tf.while_loop(lambda i: i < 3, lambda i: i + 1, [tf.constant(0)], parallel_iterations=0)
    with pytest.raises(ValueError, match="for all 1 loop variables, got 0"):
        tf.while_loop(lambda i: i < 3, lambda i: None, [tf.constant(0)])
