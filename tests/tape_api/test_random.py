"""Random numbers: seeds, sequences, distributions. (The ops themselves are tested in tests/ops/test_random.py.)"""

import random
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tape_api as tf
from tests.processes import printed
from tests.tapes import watching

DRAWS = {
    "uniform": lambda **k: tf.random.uniform([4], **k),
    "normal": lambda **k: tf.random.normal([4], **k),
    "truncated_normal": lambda **k: tf.random.truncated_normal([4], **k),
    "gamma": lambda **k: tf.random.gamma([4], 2.0, **k),
    "poisson": lambda **k: tf.random.poisson([4], 50.0, **k),
    "categorical": lambda **k: tf.random.categorical(tf.zeros([1, 1000]), 4, **k),
    "shuffle": lambda **k: tf.random.shuffle(tf.range(50), **k),
    "dropout": lambda **k: tf.nn.dropout(tf.ones([50]), 0.5, **k),
}


@pytest.fixture(params=DRAWS.values(), ids=DRAWS)
def draw(request: pytest.FixtureRequest) -> Any:
    return request.param


def same(x: Any, y: Any) -> bool:
    return np.array_equal(x, y)


def test_set_seed_starts_again(draw: Any) -> None:
    tf.random.set_seed(1)
    first = [draw() for _ in range(3)]
    tf.random.set_seed(1)
    again = [draw() for _ in range(3)]
    tf.random.set_seed(2)
    other = [draw() for _ in range(3)]
    assert all(map(same, first, again))
    assert not any(map(same, first, other)) and not same(first[0], first[1])


def test_a_call_with_a_seed_has_a_sequence_of_its_own(draw: Any) -> None:
    tf.random.set_seed(1)
    first = [draw(seed=5), draw(seed=5), draw(seed=6)]
    tf.random.set_seed(1)
    draw()
    sixth = draw(seed=6)
    again = [draw(seed=5), draw(seed=5)]
    assert same(first[0], again[0]) and same(first[1], again[1]) and same(first[2], sixth)
    assert not same(first[0], first[1]) and not same(first[0], first[2])
    tf.random.set_seed(2)
    assert not same(draw(seed=5), first[0])


def test_without_seeds_programs_differ_and_with_them_they_agree() -> None:
    def run(call: str) -> str:
        return printed(f"import tape_api as tf; print(tf.random.normal([3]{call}).numpy().tolist())")

    assert run("") != run("")
    assert run(", seed=3") == run(", seed=3")


def test_calls_from_several_threads_differ() -> None:
    tf.random.set_seed(0)
    found: list[float] = []

    def work() -> None:
        found.extend(float(tf.random.uniform([], dtype=tf.float64)) for _ in range(50))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(set(found)) == 200


def test_stateless() -> None:
    for fn in (tf.random.stateless_uniform, tf.random.stateless_normal, tf.random.stateless_truncated_normal):
        a, b, c = fn([4], seed=[1, 2]), fn([4], [1, 2]), fn([4], tf.constant([1, 3]))
        assert same(a, b) and not same(a, c)
        assert isinstance(a, tf.Tensor)
    assert tf.random.stateless_categorical(tf.zeros([2, 3]), 5, [1, 2]).shape == (2, 5)


def test_generators() -> None:
    a, b = tf.random.Generator.from_seed(1), tf.random.Generator.from_seed(1)
    first = [a.normal([3]), a.uniform([3]), a.truncated_normal([3])]
    assert all(map(same, first, [b.normal([3]), b.uniform([3]), b.truncated_normal([3])]))
    a.reset_from_seed(1)
    assert same(a.normal([3]), first[0])
    one, two = a.split(2)
    assert not same(one.normal([3]), two.normal([3]))
    free = tf.random.Generator.from_non_deterministic_state()
    assert not same(free.normal([3]), tf.random.Generator.from_non_deterministic_state().normal([3]))


def test_a_checkpoint_saves_a_generator(tmp_path: Path) -> None:
    generator = tf.random.Generator.from_seed(1)
    generator.normal([3])
    train: Any = tf.train
    path = train.Checkpoint(generator=generator).save(tmp_path / "c")
    expected = [generator.uniform([2]), generator.normal([2])]
    other = tf.random.Generator.from_seed(2)
    train.Checkpoint(generator=other).restore(path)
    assert all(map(same, [other.uniform([2]), other.normal([2])], expected))


def test_a_generator_in_a_function_goes_on() -> None:
    drawn = []
    for wrap in (lambda f: f, tf.function):
        generator = tf.random.Generator.from_seed(1)
        draw = wrap(lambda generator=generator: generator.normal([2]))
        drawn.append([draw().numpy().tolist() for _ in range(4)])
    assert drawn[0] == drawn[1] and len({tuple(x) for x in drawn[0]}) == 4


def test_what_a_generator_refuses() -> None:
    with pytest.raises(NotImplementedError, match="'threefry'"):
        tf.random.Generator.from_seed(1, alg="threefry")
    with pytest.raises(ValueError, match="three integers"):
        tf.random.Generator.from_state([1, 2])
    with pytest.raises(ValueError, match="exactly one"):
        tf.random.Generator()


def test_a_function_within_another_goes_on_with_numbers_of_its_own() -> None:
    """Also where the outer one runs as Python, and the inner one has been called by itself before."""

    def run(looks: bool) -> list[Any]:
        tf.random.set_seed(4)
        inner = tf.function(lambda: tf.random.uniform([2]))

        def body() -> Any:
            x = inner() + inner()
            return x + 0 * float(x[0]) if looks else x

        outer = tf.function(body)
        return [f().numpy().tolist() for f in (inner, outer, inner, outer, outer, inner)]

    assert run(True) == run(False)


def test_clearing_caches_changes_no_numbers() -> None:
    from engine.runtime.cache import clear_caches

    def run(clears: bool) -> list[Any]:
        tf.random.set_seed(4)
        f = tf.function(lambda: tf.random.uniform([2]))
        found = []
        for _ in range(4):
            found.append(f().numpy().tolist())
            if clears:
                clear_caches()
        return found

    assert run(True) == run(False)


def test_default_seeds_of_keras() -> None:
    """Python's generator gives them, if it is known to have been given a seed."""

    def made() -> list[float]:
        return tf.keras.initializers.RandomNormal()((2,)).numpy().tolist()

    tf.keras.utils.set_random_seed(3)
    expected, following = made(), random.random()
    random.seed(3)
    tf.random.set_seed(3)
    assert (made(), random.random()) == (expected, following)
    tf.random.set_seed(3)
    random.seed(3)
    assert (made(), random.random()) == (expected, following)
    random.seed(4)
    tf.random.set_seed(3)
    before = random.getstate()
    assert made() == expected and random.getstate() == before


def test_shapes_and_dtypes() -> None:
    assert tf.random.uniform([2, 3], dtype=tf.float64).dtype == tf.float64
    assert tf.random.uniform((2,), 0, 10, dtype=tf.int32).dtype == tf.int32
    assert tf.random.normal(tf.constant([2, 2]), mean=tf.zeros([2])).shape == (2, 2)
    assert tf.random.normal([]).shape == () and isinstance(tf.random.normal([]), tf.Tensor)
    assert tf.random.normal(shape=[2], mean=1.0, stddev=2.0, dtype=tf.float16, seed=1, name="n").dtype == tf.float16


def test_parameters_are_differentiated() -> None:
    mean, scale = tf.Variable(1.0), tf.Variable(2.0)
    tf.random.set_seed(0)
    tape, x = watching((), lambda: tf.reduce_sum(tf.random.normal([10], mean, scale)))
    dmean, dscale = tape.gradient(x, [mean, scale])
    assert dmean.numpy() == 10.0
    assert dscale.numpy() == pytest.approx((x.numpy() - 10.0) / 2.0, rel=1e-4)


def test_dropout_is_differentiated() -> None:
    x = tf.ones([100])
    tape, y = watching(x, lambda: tf.nn.dropout(x, rate=0.5))
    np.testing.assert_array_equal(tape.gradient(y, x), y)
    assert set(np.unique(y)) == {0.0, 2.0}


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tf.random.uniform([-1]), ValueError, "negative"),
        (lambda: tf.random.uniform([2], dtype=tf.int32), ValueError, "`maxval` must be given for integer dtype"),
        (lambda: tf.random.normal([2], dtype=tf.int32), ValueError, "`dtype` must be floating, got int32"),
        (lambda: tf.random.uniform("a"), ValueError, "must be an integer"),
        (lambda: tf.nn.dropout(tf.ones([2]), 1.5), ValueError, r"`rate` must be in \[0, 1\), got 1.5"),
        (
            lambda: tf.random.categorical(tf.zeros([3]), 1),
            ValueError,
            r"`logits` must have the shape \(rows, classes\)",
        ),
        (lambda: tf.random.normal([2], seed="x"), ValueError, "x"),
    ],
)
def test_mistakes(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_the_global_generator_is_the_one_that_was_set() -> None:
    before = tf.random.get_global_generator()
    assert tf.random.get_global_generator() is before
    mine = tf.random.Generator.from_seed(3)
    try:
        tf.random.set_global_generator(mine)
        assert tf.random.experimental.get_global_generator() is mine
        with pytest.raises(TypeError, match="must be a Generator"):
            tf.random.set_global_generator(3)
    finally:
        tf.random.set_global_generator(before)
