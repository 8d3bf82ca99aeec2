"""Loops on tapes that become one op: the same bits, what is connected, and what Python runs step by step."""

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tape_api as tf
from tape_api.control_flow import kept_loops, loops
from tape_api.keras import ops as kops
from tests.tape_api.test_function_flow import PROGRAMS

N = 12
RANDOM = np.random.default_rng(0)
GIVEN = [0.4 * RANDOM.normal(size=(4, 4)), RANDOM.normal(size=4), RANDOM.normal(size=(N, 4)), np.float64(0.7)]
weights = tf.Variable(0.4 * RANDOM.normal(size=(4, 4)))
scale = tf.Variable(0.5, dtype=tf.float64)
rate = 0.5
mv: Callable[..., Any] = tf.linalg.matvec


def repeated(body: Callable[..., Any], y: Any, *more: Any) -> Any:
    return tf.while_loop(lambda i, *_: i < N, lambda i, *v: (i + 1, *body(i, *v)), (0, y, *more))[1:]


def holding(held: Any, body: Callable[..., Any], x: Any) -> Any:
    return repeated(lambda i, y: body(held, i, y), x)


def descent(x: Any, u: Any, y: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(y)
        loss = tf.reduce_sum(tf.sin(y * u) * x)
    return (y - 0.1 * tape.gradient(loss, y),)


def caught(y: Any) -> float:
    try:
        return float(y[0])
    except TypeError:
        return 3.0


class Holder:
    factor = 0.5


def of_functions(name: str) -> Callable[..., Any]:
    return lambda w, x, xs, u: PROGRAMS[name](tf, tf.cast(xs[:6, 1:], tf.float32), tf.cast(x[1:], tf.float32))


LOOPS: dict[str, Callable[..., Any]] = {
    **{name: of_functions(name) for name in ("scan", "scan of pairs", "map", "folds", "while", "until", "limited")},
    "variables": lambda w, x, xs, u: repeated(lambda i, y: (tf.tanh(mv(weights, y) + xs[i]) * scale,), x),
    "exchanged": lambda w, x, xs, u: repeated(lambda i, y, z: (z, y * tf.sin(z * u)), x, xs[0]),
    "lists": lambda w, x, xs, u: tf.while_loop(lambda i, y: i < N, lambda i, y: [i + 1, y * scale], [0, u])[1],
    "a mapping": lambda w, x, xs, u: repeated(lambda i, d: ({"a": d["b"] * u, "b": d["a"] + x},), {"a": x, "b": xs[1]}),
    "the number of the step": lambda w, x, xs, u: repeated(lambda i, y: (y * tf.cast(i, tf.float64) * u + xs[i],), x),
    "a gradient inside": lambda w, x, xs, u: repeated(lambda i, y: descent(x, u, y), x),
    "a loop inside": lambda w, x, xs, u: repeated(lambda i, y: repeated(lambda j, z: (tf.sin(z) * u + y,), y), x),
    "a function inside": lambda w, x, xs, u: holding(tf.function(lambda z: z * u), lambda f, i, y: (f(y),), x),
    "fori_loop": lambda w, x, xs, u: kops.fori_loop(0, N, lambda i, y: tf.tanh(mv(w, y) + xs[i]), x),
    "scan of Keras": lambda w, x, xs, u: kops.scan(lambda s, r: (s * u + r, tf.sin(s)), x, xs),
    "back_prop": lambda w, x, xs, u: tf.while_loop(
        lambda i, y: i < N, lambda i, y: (i + 1, np.tanh(y) * u), (0, x), back_prop=False
    )[1] + x * u,
    "not finite": lambda w, x, xs, u: repeated(lambda i, y: (y / tf.norm(y) + 0.0 * x,), x * 0.0),
    "not chosen": lambda w, x, xs, u: repeated(lambda i, y: (tf.where(y > 0.0, tf.sqrt(y), x) * u,), x),
    "goes through": lambda w, x, xs, u: repeated(lambda i, y, k: (y * u, k), x, w)[0],
    "stop_gradient": lambda w, x, xs, u: repeated(lambda i, y: (tf.stop_gradient(mv(w, y)) + y * u,), x),
}  # fmt: skip
STEPS: dict[str, Callable[..., Any]] = {
    "appends": lambda w, x, xs, u: holding([], lambda seen, i, y: (y * u * (seen.append(y) or len(seen)),), x),
    "keeps count": lambda w, x, xs, u: holding({}, lambda d, i, y: (y * u * d.setdefault(len(d), len(d) + 1),), x),
    "changes an array": lambda w, x, xs, u: holding(np.ones(4), lambda a, i, y: (y * np.add(a, 1.0, out=a) * u,), x),
    "catches errors": lambda w, x, xs, u: repeated(lambda i, y: (y * u * 0.1 * caught(y),), x),
    "reads an object": lambda w, x, xs, u: holding(Holder(), lambda h, i, y: (y * u * h.factor,), x),
    "asks what it is": lambda w, x, xs, u: repeated(lambda i, y: (y * (2.0 if hasattr(y, "numpy") else 3.0) * u,), x),
    "Python's integers": lambda w, x, xs, u: repeated(lambda i, y: (y + tf.cast(tf.sin(i / 10), tf.float64),), x),
    "mixes dtypes": lambda w, x, xs, u: repeated(lambda i, y: (y * i * 0.01,), x),
    "changes its shape": lambda w, x, xs, u: repeated(lambda i, y: (tf.concat([y, [u]], 0),), x),
    "draws": lambda w, x, xs, u: repeated(
        lambda i, y: (y + tf.random.stateless_uniform([4], [1, 2], dtype=tf.float64),), x
    ),
    "no step": lambda w, x, xs, u: tf.while_loop(lambda i, y: i < 0, lambda i, y: (i + 1, mv(w, y)), (0, x))[1] * u,
    "Python's number": lambda w, x, xs, u: tf.foldl(lambda s, r: s + tf.reduce_sum(r) * u, xs, 0.0),
}  # fmt: skip


@pytest.fixture
def ops(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Loops become ops at once; a number is added for each that runs."""
    ran: list[int] = []
    apply = kept_loops._Kept.__call__
    monkeypatch.setattr(kept_loops._Kept, "__call__", lambda self, *args: (ran.append(1), apply(self, *args))[1])
    monkeypatch.setattr(kept_loops, "_ENOUGH", 0)
    monkeypatch.setattr(loops, "FEW", 1)
    kept_loops._sites.clear()
    yield ran
    kept_loops._sites.clear()


def derived(f: Callable[..., Any]) -> Callable[..., Any]:
    """The values and first derivatives of a function, and second ones."""

    def run(*given: Any) -> tuple[list[Any], list[Any]]:
        sources = [*given, weights, scale]
        with tf.GradientTape() as outer:
            outer.watch(given)
            with tf.GradientTape(persistent=True) as tape:
                tape.watch(given)
                result = f(*given)
                total = tf.add_n([tf.reduce_sum(y * y) for y in tf.nest.flatten(result)])
            first = tape.gradient(total, sources)
            size = tf.add_n([tf.reduce_sum(tf.convert_to_tensor(g) ** 2) for g in first if g is not None])
        exact = [*tf.nest.flatten(result), *first, *tape.gradient(result, sources), len(tape.watched_variables())]
        return exact, outer.gradient(size, sources)

    return run


def arrays(run: Callable[..., Any]) -> list[list[Any]]:
    parts = run(*map(tf.constant, GIVEN))
    return [[None if x is None else np.asarray(tf.convert_to_tensor(x)) for x in part] for part in parts]


def assert_same(run: Callable[..., Any], wanted: list[list[Any]], rtol: float) -> None:
    found = arrays(run)
    for exact in (True, False):
        for a, b in zip(found[not exact], wanted[not exact], strict=True):
            assert (a is None) == (b is None)
            if a is not None and exact:
                assert a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
            elif a is not None:
                np.testing.assert_allclose(a, b, rtol, atol=rtol)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [*LOOPS, *STEPS])
def test_the_bits_are_those_of_steps(name: str, ops: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    f = LOOPS.get(name) or STEPS[name]
    with monkeypatch.context() as patch:
        patch.setattr(kept_loops, "_ENOUGH", 1 << 30)
        wanted = arrays(derived(f))
    kept_loops._sites.clear()
    for _ in range(4 if name in LOOPS else 2):  # the last ones are replayed
        assert_same(derived(f), wanted, 2e-4 if name in PROGRAMS else 1e-11)
    values = [np.asarray(x) for x in tf.nest.flatten(f(*map(tf.constant, GIVEN)))]
    np.testing.assert_array_equal(np.concatenate(values, None), np.concatenate(wanted[0][: len(values)], None))
    assert bool(ops) is (name in LOOPS)


def test_a_branch_that_is_not_taken_is_not_connected(ops: list[int]) -> None:
    x, w = tf.constant([1.0, 2.0]), tf.constant(3.0)
    f = lambda: repeated(lambda i, y: (tf.cond(tf.reduce_sum(y) > -1.0, lambda: y * 0.9, lambda: y * w),), x)[0]  # noqa: E731
    with tf.GradientTape() as tape:
        tape.watch([x, w])
        y = f()
    assert tape.gradient(y, w) is None and not ops
    np.testing.assert_array_equal(f(), y)
    assert ops


def test_what_is_seen_may_be_others(ops: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    factors, v = np.array([1.0, 2.0]), tf.Variable([0.0, 0.0], dtype=tf.float64)

    def f(x: Any, k: float, w: Any) -> Any:
        return repeated(lambda i, y: (y * k * rate + factors * w + v,), x)[0].numpy()

    def assert_right(k: float, w: float) -> None:
        wanted = x = RANDOM.normal(size=2)
        for _ in range(N):
            wanted = wanted * k * rate + factors * w + v.numpy()
        np.testing.assert_array_equal(f(tf.constant(x), k, tf.constant(w, tf.float64)), wanted)

    for w in (1.5, 2.5):
        v.assign([w, -w])
        assert_right(2.0, w)
    (site,) = kept_loops._sites.values()
    assert len(ops) == 2 and len(site.kept) == 1
    assert_right(3.0, 1.0)
    monkeypatch.setitem(globals(), "rate", 0.25)
    assert_right(3.0, 1.0)
    factors[1] = 7.0
    assert_right(3.0, 1.0)
    assert len(ops) == 5
    for k in range(20):  # a number that is another one each time makes no op each time
        assert_right(float(k), 1.0)
    assert len(site.kept) == kept_loops._KEPT


def test_a_look_asks_no_front_end_for_names_that_it_has_not(ops: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dualgrad.frontend.namespace.missing", lambda *_: pytest.fail("it was asked"))
    assert repeated(lambda i, y: (tf.sin(y),), tf.constant([0.0]))[0].numpy() == [0.0]


def test_assignments_in_a_loop(ops: list[int]) -> None:
    total = tf.Variable(0.0, trainable=False)

    def f() -> Any:
        total.assign(0.0)
        y = repeated(lambda i, y: (y + total.assign_add(y) * 0.5,), tf.constant(1.0))[0]
        return y.numpy(), total.numpy(), bool(ops)

    with tf.GradientTape():  # a tape may want to know of assignments
        first = f()
    assert f() == (*first[:2], True) and not first[2]


def test_errors_are_those_of_a_step(ops: list[int]) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="indices"):
        tf.map_fn(lambda i: tf.gather(tf.constant([1.0, 2.0]), i), tf.range(3), dtype=tf.float32)
    with pytest.raises(ZeroDivisionError):
        repeated(lambda i, y: (y * (1 / 0),), tf.ones(2))


def test_a_long_loop_becomes_an_op_on_its_way(monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[int] = []
    monkeypatch.setattr(kept_loops._Kept, "fits", lambda self, leaves, seen: left.append(int(leaves[0])))
    kept_loops._sites.clear()
    for count in (2, 60, 60):  # few steps do not count
        i, y = tf.while_loop(lambda i, y: i < count, lambda i, y: (i + 1, y * 0.5), (0, tf.constant(1.0)))  # noqa: B023
        assert (int(i), float(y)) == (count, 0.5**count)
    assert left == [40]
    kept_loops._sites.clear()


def test_nothing_that_a_loop_saw_is_kept_alive(ops: list[int]) -> None:
    def run() -> list[Any]:
        w, x, v = tf.constant([0.5]), tf.constant([1.0]), tf.Variable([2.0])
        with tf.GradientTape() as tape:
            tape.watch(w)
            (y,) = repeated(lambda i, y: (y * w + v,), x)
        assert ops and tape.gradient(y, w) is not None
        return [weakref.ref(t) for t in (w, x, v, tape._tape)]

    refs = run()
    gc.collect()
    assert [ref() for ref in refs] == [None] * 4
