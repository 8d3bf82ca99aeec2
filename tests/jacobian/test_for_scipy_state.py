"""What `for_scipy` keeps of the last point: nothing that has changed since, and nothing of another thread's."""

import builtins
import functools
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api as tf
from engine.core.python_state import state_of

ARRAY = np.ones(1)
RATE = 1.0
NESTED = {"rates": [1.0]}
V = tf.Variable(1.0, dtype=tf.float64)
THING = SimpleNamespace(rate=1.0)


def helper(u: Any) -> Any:
    return u * helper.rate  # type: ignore[attr-defined]


helper.rate = 1.0  # type: ignore[attr-defined]
by_gradient = tf.transforms.grad(lambda u: tf.reduce_sum(u**2) * ARRAY[0])
get = NESTED["rates"].__getitem__


class Float(float):
    rate = 1.0


FLOAT = Float(1.0)


def change(to: float, session: Any = None) -> None:
    global RATE
    ARRAY[0], RATE, NESTED["rates"][0], THING.rate = to, to, to, to
    V.assign(to)
    helper.rate = to  # type: ignore[attr-defined]
    FLOAT.rate = to
    builtins.RATE_OF_ALL = to  # type: ignore[attr-defined]


@functools.wraps(tf.square)
def wrapped(u: Any) -> Any:
    return u**2 * ARRAY[0]


LONG: Any = lambda u: functools.reduce(lambda s, _: tf.sin(s) - s, range(60), u)  # noqa: E731
SQUARES: dict[str, Callable[[Any], Any]] = {
    "array": lambda u: u**2 * ARRAY[0],
    "global": lambda u: u**2 * RATE,
    "name among Python's": lambda u: u**2 * RATE_OF_ALL,  # type: ignore[name-defined] # noqa: F821
    "list in a dict": lambda u: u**2 * NESTED["rates"][0],
    "method of a list": lambda u: u**2 * get(0),
    "variable": lambda u: u**2 * V,
    "attribute": lambda u: u**2 * THING.rate,
    "attribute of a function": lambda u: helper(u**2),
    "attribute of a number": lambda u: u**2 * FLOAT.rate,
    "partial": lambda u: functools.partial(np.multiply, ARRAY)(u**2),
    "function of ours with one of the user's": lambda u: 0.5 * by_gradient(u) * u,
    "named like one of ours": wrapped,
}


@pytest.mark.parametrize("is_long", [False, True])
@pytest.mark.parametrize("name", SQUARES)
def test_what_the_function_uses_has_changed(name: str, is_long: bool) -> None:
    function, x, v = SQUARES[name], np.array([0.5, 0.25]), np.ones(2)

    def total(u: Any) -> Any:
        # long functions are traced
        return tf.reduce_sum(function(u) + (0.0 * LONG(u) if is_long else 0.0))

    change(1.0)
    p = tf.for_scipy(total, x)
    asked: list[tuple[Any, float, Any]] = [
        (p.fun, 10.0, np.sum(x**2)),
        (p.jac, 1.0, 2 * x),
        (p.hess, 10.0, 2 * np.eye(2)),
        (lambda x: p.hessp(x, v), 1.0, 2 * v),
        (lambda x: p.fun_and_jac(x)[1], 10.0, 2 * x),
    ]
    for ask, to, expected in asked:
        change(2.0)
        p.fun(x), p.jac(x)
        change(to)
        np.testing.assert_allclose(ask(x), to * expected)
    change(1.0)


def test_arguments_have_changed() -> None:
    x = np.ones(2)
    held = {"k": 1.0, "deep": [np.ones(1)]}
    p = tf.for_scipy(lambda u, d: tf.reduce_sum(u**2 * d["k"] * d["deep"][0]), x)
    p.jac(x, held)
    held["k"] = 10.0
    np.testing.assert_array_equal(p.jac(x, held), 20.0)
    held["deep"][0][0] = 2.0  # type: ignore[index]
    np.testing.assert_array_equal(p.jac(x, held), 40.0)
    q = tf.for_scipy(lambda u, n: u * {float: 1.0, int: 2.0, bool: 3.0}.get(type(n), 1.0), x)
    assert [q.fun(x, n)[0] for n in (3.0, 3, True, 3.0)] == [1.0, 2.0, 3.0, 1.0]
    r = tf.for_scipy(lambda u, a: tf.reduce_sum(u / a), x)
    assert [r.fun(x, np.array(a)) for a in (0.0, -0.0)] == [np.inf, -np.inf]
    s = tf.for_scipy(lambda u: 1 / u, np.ones(1))
    with np.errstate(divide="ignore"):
        assert [s.fun(np.array([a]))[0] for a in (0.0, -0.0)] == [np.inf, -np.inf]


def test_a_jacobian_that_was_handed_out_stays() -> None:
    x, a = np.ones(2), np.ones(1)
    for p, args in (
        (tf.for_scipy(lambda u, a: u**2 * a, x, format="operator"), (a,)),
        (tf.for_scipy(lambda u: u**2 * a, x, format="operator"), ()),
    ):
        a[0] = 1.0
        jacobian = p.jac(x, *args)
        a[0] = 10.0
        np.testing.assert_array_equal(jacobian @ x, [2.0, 2.0])


def test_a_pattern_is_as_it_was_given() -> None:
    pattern = np.eye(2)
    p = tf.for_scipy(lambda u: u**2, np.ones(2), format="csr", sparsity=pattern)
    pattern[:] = 0
    np.testing.assert_array_equal(p.jac(np.ones(2)).toarray(), 2 * np.eye(2))


def test_a_part_knows_its_point() -> None:
    whole = tf.for_scipy(lambda u: [u**2, u**3], np.ones(2))
    first, second = whole.part(0), whole.part(1)
    first.fun(np.ones(2)), second.fun(np.full(2, 2.0))
    np.testing.assert_array_equal(np.diag(first.jac(np.ones(2))), 2.0)


def test_variables_and_sessions_of_a_graph() -> None:
    g, x = graph_api, np.ones(2)
    with g.Graph().as_default():
        v = g.Variable(1.0, dtype=g.float64)
        u = g.placeholder(g.float64, [2])
        assign, to = v.assign(u[0]), np.array([10.0, 0.0])
        drawn = g.reduce_sum(u * g.random_normal([2], dtype=g.float64))
        p, q = g.for_scipy(g.reduce_sum(u**2 * v), u, x), g.for_scipy(drawn, u, x)
        for _ in range(2):
            with g.Session() as session:
                session.run(v.initializer)
                p.fun(x), p.jac(x)
                count = p.counts["fun"]
                np.testing.assert_array_equal(p.hess(x), 2 * np.eye(2))
                assert p.counts["fun"] == count
                session.run(assign, {u: to})
                np.testing.assert_array_equal(p.hess(x), 20 * np.eye(2))
                np.testing.assert_array_equal(p.jac(x), 20.0)
                assert p.fun(x) == 20.0
                assert q.fun(x) != q.fun(x)
        with g.Session() as first, g.Session() as second:
            first.run(v.initializer)
            second.run(assign, {u: to})
            with first.as_default():
                np.testing.assert_array_equal(p.jac(x), 2.0)
            with second.as_default():
                np.testing.assert_array_equal(p.jac(x), 20.0)


@pytest.mark.parametrize("kind", ["short", "long", "graph", "parts", "ode"])
def test_threads_have_points_of_their_own(kind: str) -> None:
    x0 = np.ones(2)
    if kind == "graph":
        g = graph_api
        graph = g.Graph()
        with graph.as_default():
            u = g.placeholder(g.float64, [2])
            p: Any = g.for_scipy(u**2, u, x0, session=g.Session())
    elif kind == "parts":
        p = tf.for_scipy(lambda u: [u**3, u**2], x0).part(1)
    elif kind == "ode":
        ode = tf.for_ode(lambda t, y: y**2, x0)
        p = SimpleNamespace(fun=lambda x: ode.fun(0.0, x), jac=lambda x: ode.jac(0.0, x))
    else:
        p = tf.for_scipy(lambda u: u**2 + (0.0 * LONG(u) if kind == "long" else 0.0), x0)
    p.fun(x0), p.jac(x0)

    def work(seed: int) -> int:
        wrong, rng = 0, np.random.default_rng(seed)
        for _ in range(60):
            x = rng.normal(size=2)
            wrong += not np.allclose(p.fun(x), x**2)
            wrong += not np.allclose(np.diag(p.jac(x)), 2 * x)
        return wrong

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(4) as pool:
            assert sum(pool.map(work, range(4))) == 0
    finally:
        sys.setswitchinterval(before)


def test_two_objects_that_are_made_for_the_question_are_not_taken_for_one() -> None:
    def state(a: float, b: float) -> Any:
        first, second = functools.partial(max, a), functools.partial(max, b)
        return state_of(lambda u: first(second(u)))

    assert state(1.0, 2.0).does[0][2:] != state(1.0, 3.0).does[0][2:]


class Mutable:
    """Something to look at, and ways to change it in place."""

    def __init__(self) -> None:
        self.square, self.row, self.deep = np.array([[1.0, 0.0], [3.0, 4.0]]), [1.0, 2.0], {"a": [1.0, {"b": 2.0}]}
        self.words, self.chosen, self.mask = {"x": 1.0}, {3.0}, np.array([True, False])
        self.strided = np.arange(4.0)[::2]
        self.partial = functools.partial(np.multiply, 2.0)

    def function(self) -> Callable[[Any], Any]:
        square, row, deep, words, chosen, mask = self.square, self.row, self.deep, self.words, self.chosen, self.mask
        strided, partial = self.strided, self.partial

        def keeps(u: Any, *, by: Any = words, rows: Any = row) -> Any:
            return u * by["x"] * rows[0] - rows[-1]

        def used(u: Any) -> Any:
            total = (
                u * (square[0, -1] + 5.0 * np.signbit(square[0, -1]))
                + square.size
                + partial(u) * deep["a"][1]["b"]
                + len(deep["a"])
            )  # type: ignore[index, arg-type]
            return total * (1.0 + mask[0]) + keeps(u) * max(chosen) * strided[1] + keeps(u).shape[0]

        self.keeps = keeps
        return lambda u: used(u) ** 2


CHANGES: dict[str, Callable[[Mutable], Any]] = {
    "an element": lambda m: m.square.__setitem__((0, 1), 7.0),
    "the sign of a zero": lambda m: m.square.__setitem__((0, 1), -0.0),
    "an order of axes": lambda m: setattr(m.square, "strides", m.square.strides[::-1]),
    "a truth": lambda m: m.mask.__setitem__(0, False),
    "an array with gaps": lambda m: m.strided.__setitem__(1, 9.0),
    "an item": lambda m: m.row.__setitem__(0, 5.0),
    "the order of a list": lambda m: m.row.reverse(),
    "one item more": lambda m: m.row.append(3.0),
    "a list in a dict": lambda m: m.deep["a"].append(4.0),
    "a dict in a list": lambda m: m.deep["a"][1].__setitem__("b", 6.0),  # type: ignore[index, attr-defined]
    "a value": lambda m: m.words.__setitem__("x", 8.0),
    "a set": lambda m: (m.chosen.clear(), m.chosen.add(4.0)),
    "a default by keyword": lambda m: m.keeps.__kwdefaults__.__setitem__("by", {"x": 2.5}),
    "an argument of a partial": lambda m: m.partial.__setstate__((np.add, (2.0,), {}, {})),
    "the code": lambda m: setattr(m.keeps, "__code__", (lambda u, *, by=0, rows=0: u * 11.0).__code__),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.filterwarnings("ignore:Setting the strides:DeprecationWarning")
def test_what_is_changed_in_place(name: str) -> None:
    m, x = Mutable(), np.array([0.5, 0.25])
    p = tf.for_scipy(m.function(), x)
    assert p.fun(x).tobytes() == p.fun(x).tobytes() and p.counts["fun"] == 1
    before = p.jac(x)
    CHANGES[name](m)
    after = p.jac(x)
    expected = tf.for_scipy(p.evaluations._function, x)  # type: ignore[attr-defined]
    np.testing.assert_array_equal(after, expected.jac(x))
    np.testing.assert_array_equal(p.fun(x), expected.fun(x))
    assert not np.array_equal(before, after)


def test_arguments_by_place_and_by_name_are_not_the_same() -> None:
    p = tf.for_scipy(lambda u, *args, **kwargs: u * (len(args) + 10.0 * len(kwargs)), np.ones(1))
    x = np.ones(1)
    assert [p.fun(x, "k", 2.0)[0], p.fun(x, k=2.0)[0], p.fun(x, 1, "k", 2.0)[0], p.fun(x, 1, k=2.0)[0]] == [
        2,
        10,
        3,
        11,
    ]
