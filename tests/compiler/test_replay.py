"""Compiled reverse walks: the same bits as the plain walk, whatever changes from one step to the next."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tape_api as tf
from engine.closed import replay
from engine.closed.replay import COMPILE_AFTER, counters, replayed
from engine.core.batching import Batched, batch_level
from engine.core.eager import EagerTensor
from engine.core.nest import flatten
from engine.core.op import distinct
from engine.core.tape import Tape
from engine.derivatives.reverse import reverse
from engine.derivatives.slopes import with_slopes
from engine.transforms.gradient_tape import GradientTape
from tests.op_table import NARROW, cases, two_of_each_op, with_derivatives
from tests.row import Row
from tests.support import assert_same_bits, bits, differentiable, random_like
from tests.tapes import gradient_in, watching

Step = Callable[[int], Any]
STEPS = 7
EVERY = STEPS - COMPILE_AFTER - 1
"""How many of the steps are replayed if all are of one structure: those after the one that compiles."""


@pytest.fixture(autouse=True)
def forget_walks() -> Iterator[None]:
    replay._walks.clear()
    replay._compiled.clear()
    yield
    replay._walks.clear()
    replay._compiled.clear()


def values(step: int, *shape: int, dtype: Any = np.float32) -> Any:
    """Another tensor at each step."""
    return tf.constant(np.random.default_rng([step, *shape]).standard_normal(shape).astype(dtype))


def taped(x: Any, f: Callable[[Any], Any], **options: Any) -> Any:
    return gradient_in(x, lambda: f(x), **options)


def run(make: Callable[[], Step]) -> list[Any]:
    step = make()
    return [flatten(step(i)) for i in range(STEPS)]


def assert_as_walked(make: Callable[[], Step], monkeypatch: pytest.MonkeyPatch, replays: int | None = EVERY) -> None:
    """All steps give the bits of the plain walk; so many of them were replayed."""
    before = counters["replayed"]
    got = run(make)
    if replays is not None:
        assert counters["replayed"] - before == replays
    monkeypatch.setattr(GradientTape, "_replayed", staticmethod(lambda *args, late=None, **how: reverse(*args, **how)))
    for step, (mine, expected) in enumerate(zip(got, run(make), strict=True)):
        for i, (g, e) in enumerate(zip(mine, expected, strict=True)):
            assert bits(g) == bits(e), f"step {step}, gradient {i}: {g!r}, expected {e!r}"


# ---- every op --------------------------------------------------------------------------------------------------------


@cases(with_derivatives(NARROW))
def test_rules_of_every_op(row: Row, dtype: str) -> None:
    assert_replay_agrees(row, dtype, batched=False)


@cases(two_of_each_op(with_derivatives(NARROW)))
def test_rules_of_every_op_with_batches_of_seeds(row: Row, dtype: str) -> None:
    assert_replay_agrees(row, dtype, batched=True)


def assert_replay_agrees(row: Row, dtype: str, batched: bool) -> None:
    before = counters["replayed"]
    for step in range(COMPILE_AFTER + 3):
        rng = np.random.default_rng(step)
        inputs = [EagerTensor(a) for a in row.arrays(dtype, seed=step)]
        sources = [inputs[i] for i in row.differentiable([x._array for x in inputs])]
        tape = Tape()
        for x in sources:
            tape.watch(x)
        tape.start()
        outputs = differentiable(row.apply(*inputs))
        tape.stop()
        with batch_level() as level:
            made = [Batched(random_like(rng, o, 3), level) if batched else random_like(rng, o) for o in outputs]
            seeds = list(zip(outputs, made, strict=True))
            got = replayed(tape.nodes, seeds, sources)
            if step <= COMPILE_AFTER:
                continue  # it was the plain walk that answered
            expected = reverse(with_slopes(tape.nodes), seeds, sources)
        assert [type(g) is Batched for g in got] == [type(e) is Batched for e in expected]
        assert_same_bits([_inner(g) for g in got], [_inner(e) for e in expected])
    if all(_is_plain(param) for node in tape.nodes for param in node.params.values()):
        assert counters["replayed"] - before >= 2


def _is_plain(param: Any) -> bool:
    try:
        # a closed function is made anew by each call here
        return not hasattr(distinct(param), "is_plain")
    except TypeError:
        return False


def _inner(x: Any) -> Any:
    return x.inner if type(x) is Batched else x


# ---- structures ------------------------------------------------------------------------------------------------------


def intermediate_sources() -> Step:
    def step(i: int) -> Any:
        x = values(i, 3)
        with tf.GradientTape() as tape:
            tape.watch(x)
            h = tf.exp(x)
            y = h * x
        return tape.gradient(y, [x, h, y])

    return step


def unconnected_sources() -> Step:
    def step(i: int) -> Any:
        x, other, n = values(i, 3), values(i, 2), tf.constant([1, 2, 3])
        tape, y = watching([x, other], lambda: x * x * tf.cast(n, tf.float32))
        return tape.gradient(y, [other, x, n], unconnected_gradients="zero")

    return step


def one_source_twice() -> Step:
    def step(i: int) -> Any:
        x = values(i, 3)
        tape, y = watching(x, lambda: x * x)
        return tape.gradient([y, y], [x, x])

    return step


def variables_assigned_between_steps() -> Step:
    v, w = tf.Variable([1.0, 2.0]), tf.Variable(3.0)

    def step(i: int) -> Any:
        with tf.GradientTape() as tape:
            y = v * v * w
            v.assign_add([0.5, float(i)])
            z = tf.sin(v) * w + y
        gradients = tape.gradient(z, [v, w])
        w.assign_sub(0.1)
        return gradients

    return step


def variable_of_changing_shape() -> Step:
    v = tf.Variable([1.0], shape=tf.TensorShape(None))

    def step(i: int) -> Any:
        v.assign(values(i, 1 + i % 2))
        tape, y = watching((), lambda: tf.reduce_sum(v * v))
        return tape.gradient(y, v)

    return step


def persistent_tape() -> Step:
    x = values(0, 3)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        z = y * tf.sin(x)
    return lambda i: [tape.gradient(z, x), tape.gradient(y, x), tape.gradient(z, y)]


def several_outputs() -> Step:
    def step(i: int) -> Any:
        def f(x: Any) -> Any:
            a, _, c = tf.split(x, 3)
            top, _ = tf.unstack(tf.reshape(x, [2, 3]))
            _, variance = tf.nn.moments(x, [0])
            return tf.reduce_sum(a * c) + tf.reduce_sum(top * top) + variance

        return taped(values(i, 6), f)

    return step


def changing_indices() -> Step:
    def step(i: int) -> Any:
        indices = tf.constant([i % 3, 0, (i * i) % 4, 2])
        rows = taped(values(i, 4, 2), lambda x: tf.gather(x, indices) * 3.0)
        return [rows.values, rows.indices, tf.convert_to_tensor(rows)]

    return step


def dropout() -> Step:
    tf.random.set_seed(3)
    return lambda i: taped(values(i, 20), lambda x: tf.nn.dropout(x * x, 0.5))


def random_factors() -> Step:
    tf.random.set_seed(3)
    return lambda i: taped(values(i, 5), lambda x: x * tf.random.normal([5]) + tf.random.shuffle(x))


Table = dict[str, Callable[[], Step]]
ONE_STRUCTURE: Table = {
    "reshape with tuples": lambda: lambda i: taped(
        values(i, 6), lambda x: tf.reduce_sum(tf.reshape(x, (2, 3)) ** 2) * x[0]
    ),
    "several targets": lambda: lambda i: taped(values(i, 3), lambda x: [x * x, {"a": tf.sin(x)}]),
    "weighted targets": lambda: lambda i: taped(
        values(i, 3), lambda x: [x * x, tf.sin(x)], output_gradients=[values(i + 50, 3), None]
    ),
    "Python's scalars": lambda: lambda i: taped(values(i, 3), lambda x: (x * (i + 0.5) + i) ** 2 / (1 + i)),
    "NumPy's operands": lambda: lambda i: taped(
        values(i, 3), lambda x: np.float32(i) * x * np.full(3, i, np.float32)
    ),
    "where and clip": lambda: lambda i: taped(
        values(i, 9), lambda x: tf.where(x > 0, tf.sqrt(x), tf.clip_by_value(x, -0.1 * i, 0.2))
    ),
    "float64": lambda: lambda i: taped(values(i, 3, dtype=np.float64), lambda x: tf.reduce_logsumexp(x) * x),
    **{
        make.__name__: make
        for make in (
            intermediate_sources, one_source_twice, variables_assigned_between_steps, several_outputs, changing_indices,
            dropout, random_factors,
        )
    },
}  # fmt: skip
ALTERNATING: Table = {
    # the results, and what is pulled back from them, have one dtype all the same
    "dtypes of sources": lambda: (
        lambda i: taped(values(i, 3, dtype=("float32", "float64")[i % 2]), lambda x: tf.cast(x, tf.float16))
    ),
    "dtypes": lambda: lambda i: taped(values(i, 6, dtype=("float32", "float64")[i % 2]), lambda x: tf.math.erf(x)),
    "permutations": lambda: (
        lambda i: taped(values(i, 2, 3), lambda x: tf.transpose(x, [[0, 1], [1, 0]][i % 2]) * values(i, 1, 1))
    ),
    "masks": lambda: (
        lambda i: taped(
            values(i, 6), lambda x: tf.reduce_sum(tf.boolean_mask(x, np.arange(6) % (2 + i % 3) == 0) ** 2) * 2.0
        )
    ),
    "masks of one count": lambda: (
        lambda i: taped(values(i, 6), lambda x: tf.boolean_mask(x * x, np.roll([1, 1, 0, 0, 1, 0], i) > 0))
    ),
    "rows found by where": lambda: (
        lambda i: taped(values(i, 8), lambda x: tf.reduce_sum(tf.gather_nd(x + 1, tf.where(x > 0)) ** 3))
    ),
    "segments": lambda: (
        lambda i: taped(
            values(i, 6), lambda x: tf.math.unsorted_segment_sum(x * x, [0, i % 2, 1, 1 + i % 2, 2 - i % 2, 2], 3) ** 2
        )
    ),
    "shapes": lambda: (
        lambda i: taped(values(i, 1 + i % 2, 3), lambda x: tf.reduce_mean(x * x) * tf.cast(tf.size(x), tf.float32))
    ),
    **{make.__name__: make for make in (unconnected_sources, variable_of_changing_shape, persistent_tape)},
}


@pytest.mark.filterwarnings("ignore:variable .* is read again:engine.runtime.errors.DetachWarning")
@pytest.mark.parametrize("name", ONE_STRUCTURE)
def test_a_recurring_structure_is_replayed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_as_walked(ONE_STRUCTURE[name], monkeypatch)


@pytest.mark.parametrize("name", ALTERNATING)
def test_structures_that_alternate(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_as_walked(ALTERNATING[name], monkeypatch, replays=None)


# ---- what must not be taken for equal --------------------------------------------------------------------------------


def test_parameters_that_only_look_equal() -> None:
    different = [1, 1.0, True, 0, 0.0, -0.0, False, (1,), (1.0,), (True,), complex(0, 0.0), complex(0, -0.0), "1", None]
    assert len({distinct(p) for p in different}) == len(different)
    assert distinct((1, (None, ...))) == distinct((1, (None, ...)))
    for param in (np.ones(2), [1], lambda: None):
        with pytest.raises(TypeError, match="not plain data"):
            distinct(param)


def test_parameters_are_part_of_the_structure() -> None:
    x = tf.constant([-1.0, 2.0])
    for slope in (0.0, -0.0, 0.25, 1.0):
        for _ in range(COMPILE_AFTER + 3):
            assert_same_bits([taped(x, lambda x, s=slope: tf.nn.leaky_relu(x, s))], [np.float32([slope, 1])])
    assert counters["compiled"] >= 4


def test_a_custom_gradient_is_asked_each_time() -> None:
    factor = [0.0]

    @tf.custom_gradient
    def scaled(x: Any) -> Any:
        # an array: a rule of the user's own need not be made of ops
        return x * 1.0, lambda upstream: tf.constant(np.asarray(upstream) * np.float32(factor[0]))

    x = tf.constant(2.0)
    tape, y = watching(x, lambda: scaled(x) * 3.0, persistent=True)
    for i in range(STEPS):
        factor[0] = float(i)
        assert float(tape.gradient(y, x)) == 3.0 * i


def test_a_variable_read_late_is_told_from_its_value_as_a_constant(monkeypatch: pytest.MonkeyPatch) -> None:
    def make() -> Step:
        w = tf.Variable(3.0, trainable=False)

        def step(i: int) -> Any:
            x = values(i, 2)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = x * w
                tape.watch(w)
                z = y * w
            return tape.gradient(z, [x, w])

        return step

    assert_as_walked(make, monkeypatch)
    x = tf.constant(2.0)
    w = tf.Variable(3.0, trainable=False)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * w
        tape.watch(w)
        z = y * w
    assert [float(g) for g in tape.gradient(z, [x, w])] == [9.0, 6.0]


def test_seeds_that_lie_in_another_order_have_a_replay_of_their_own() -> None:
    x, rows = tf.constant(np.arange(6.0).reshape(2, 3)), np.arange(6.0).reshape(2, 3)

    def step(seed: Any) -> None:
        gradient_in(
            x, lambda: tf.transpose(x * x) * 3.0, tf.constant(seed) if seed.flags.c_contiguous else EagerTensor(seed)
        )

    for _ in range(COMPILE_AFTER + 3):
        step(np.ascontiguousarray(rows.T))
    before = dict(counters)
    step(rows.T)
    assert (counters["replayed"], counters["walked"]) == (before["replayed"], before["walked"] + 1)
