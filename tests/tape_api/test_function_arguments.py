"""`tf.function`: what calls are told apart by, what one that fails leaves behind, what recording must not show."""

import collections
import dataclasses
import functools
import gc
import warnings
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tape_api as tf
from engine.core.tape import active
from tests.tapes import gradient_in


@pytest.fixture(autouse=True)
def as_programs() -> Any:
    yield
    tf.config.run_functions_eagerly(False)


def outcome(call: Callable[[], Any]) -> list[Any]:
    """Bits, errors and warnings of a call."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            found: list[Any] = [(np.asarray(x).dtype, np.asarray(x).tobytes()) for x in tf.nest.flatten(call())]
        except Exception as error:  # noqa: BLE001 - whatever it is, the other way must raise it, too
            found = [type(error), str(error)]
    assert active.function is None
    assert active.tapes == ()
    return [*found, *[(w.category, str(w.message)) for w in told]]


def both(make: Callable[[], tuple[Any, Sequence[Callable[[Any], Any]]]]) -> Any:
    """The same calls as Python and as a program have the same outcomes, random draws after them too. The function."""
    found = []
    for eagerly in (True, False):
        tf.config.run_functions_eagerly(eagerly)
        tf.random.set_seed(3)
        function, calls = make()
        found.append([outcome(functools.partial(call, function)) for call in calls])
        found[-1].append(outcome(lambda: tf.random.uniform([2])))
    assert found[0] == found[1]
    return function


@dataclasses.dataclass
class Settings:
    shift: Any
    factor: float = 2.0


@dataclasses.dataclass(frozen=True)
class Frozen:
    shift: Any
    factor: float = 2.0


@dataclasses.dataclass
class Trainer:
    weight: Any
    rate: float

    @tf.function
    def step(self, x: Any) -> Any:
        self.weight.assign_sub(self.rate * x)
        return self.weight * x


ONE = tf.constant(1.0)


def changed(held: Any, change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def call(function: Any) -> Any:
        change(held)
        return function(held, ONE)

    return call


HOLDERS: dict[str, Any] = {
    "set": (lambda: {1, 2}, lambda s, x: x * len(s), lambda s: s.add(len(s) + 5)),
    "deque": (lambda: collections.deque([1]), lambda s, x: x * len(s), lambda s: s.append(1)),
    "bytearray": (lambda: bytearray(b"a"), lambda s, x: x * len(s), lambda s: s.append(1)),
    "data class": (lambda: Settings(ONE), lambda s, x: s.shift + s.factor * x, lambda s: setattr(s, "factor", 3.0)),
    "its tensor": (lambda: Settings(ONE), lambda s, x: s.shift + x, lambda s: setattr(s, "shift", s.shift + 1.0)),
    "its array": (lambda: Settings(np.ones(2)), lambda s, x: s.shift * 1.0, lambda s: s.shift.fill(7.0)),
    "its list": (lambda: Settings([1]), lambda s, x: len(s.shift) * x, lambda s: s.shift.append(1)),
}


@pytest.mark.parametrize("name", HOLDERS)
def test_what_an_argument_holds_may_change(name: str) -> None:
    made, body, change = HOLDERS[name]

    def make() -> tuple[Any, Sequence[Any]]:
        held = made()
        same = changed(held, lambda s: None)
        return tf.function(body), [same, same, same, changed(held, change), same, same]

    both(make)


def test_objects_that_hold_the_same_share_a_program() -> None:
    def make() -> tuple[Any, Sequence[Any]]:
        def call(kind: Any, factor: Any) -> Callable[[Any], Any]:
            return lambda function: function(kind(1, factor), ONE)

        calls = [call(kind, k) for kind in (Settings, Frozen) for k in (1.0, -0.0, 0.0, 1, True)] * 3
        return tf.function(lambda s, x: tf.cast(s.factor, tf.float32) * x), calls

    function = both(make)
    assert function.experimental_get_tracing_count() == 10


def test_a_method_of_a_data_class() -> None:
    def run() -> list[Any]:
        one, other = Trainer(tf.Variable(1.0), 0.1), Trainer(tf.Variable(5.0), 0.1)
        found = []
        for k in range(6):
            found += [float(one.step(ONE)), float(other.step(ONE))]
            if k == 2:
                one.rate = 0.5
        return found

    got = run()
    tf.config.run_functions_eagerly(True)
    assert got == run()
    assert "runs as a program" in Trainer.step.explain()


def test_an_argument_that_has_no_key_is_named() -> None:
    function = tf.function(lambda q, x: x * len(q))
    function(collections.deque([1]), ONE)
    assert "what a deque among its arguments holds may be changed" in function.explain()


def test_numbers_that_python_takes_for_equal() -> None:
    values = [0.0, -0.0, float("nan"), 1, 1.0, True, np.float32(0.5), np.float32(-0.0), np.int32(1), np.bool_(True)]

    def make() -> tuple[Any, Sequence[Any]]:
        calls = [lambda function, k=k: function(ONE, k) for k in values] * 3
        return tf.function(lambda x, k: x * tf.cast(k, tf.float32) + (x if isinstance(k, int) else 0.0)), calls

    function = both(make)
    # the two float32 are tensors
    assert function.experimental_get_tracing_count() == len(values) - 1


def test_keys_of_a_dict_that_python_takes_for_equal() -> None:
    def make() -> tuple[Any, Sequence[Any]]:
        calls = [lambda function, k=k: function({k: ONE}) for k in (0.0, -0.0, 1, True, "a", b"a")] * 3
        return tf.function(lambda d: [x * tf.cast(k, tf.float32) for k, x in d.items() if k * 1 == k]), calls

    both(make)


FAILING = {
    "gather": (lambda x, i: tf.gather(x, i) + tf.random.normal([]), (tf.range(3.0), tf.constant(1)), tf.constant(9)),
    "check": (
        lambda x, i: tf.random.normal([]) + tf.debugging.check_numerics(x / i, "bad") + tf.random.uniform([], seed=4),
        (ONE, ONE),
        tf.constant(0.0),
    ),
    "cholesky": (
        lambda x, i: tf.linalg.cholesky(x * i) + tf.random.shuffle(tf.range(2.0)),
        (tf.eye(2), ONE),
        tf.constant(-1.0),
    ),
}


@pytest.mark.parametrize("name", FAILING)
def test_a_call_that_fails_draws_once(name: str) -> None:
    body, good, bad = FAILING[name]

    def make() -> tuple[Any, Sequence[Any]]:
        well, badly = (lambda function: function(*good)), (lambda function: function(good[0], bad))
        return tf.function(body), [well, well, badly, well, badly, badly, well]

    assert "runs as a program" in both(make).explain()


def test_draws_of_a_generator_that_fail() -> None:
    def make() -> tuple[Any, Sequence[Any]]:
        generator = tf.random.Generator.from_seed(4)

        def well(function: Any) -> Any:
            return function(tf.range(3.0), tf.constant(1))

        def badly(function: Any) -> Any:
            return function(tf.range(3.0), tf.constant(7))

        body = tf.function(lambda x, i: generator.normal([2]) + tf.gather(x, i))
        return body, [well, well, badly, lambda function: generator.normal([1]), badly, well]

    both(make)


ASKING = {
    "percentile": lambda x: np.percentile(x, 30.0),
    "quantile at a tensor": lambda x: np.quantile(x, x[0]),
    "array": lambda x: np.array([x[0], x[1]]) * 2.0,
    "asarray": lambda x: np.asarray(x) > 0.3,
    "unwrap": np.unwrap,
    "allclose": lambda x: np.allclose(x, x),
    "static value": lambda x: tf.constant(tf.get_static_value(x)),
}


@pytest.mark.parametrize("name", ASKING)
def test_recording_says_nothing_of_gradients(name: str) -> None:
    def make() -> tuple[Any, Sequence[Any]]:
        calls = [lambda function, k=k: function(tf.constant([0.2, 0.7, 0.4]) * k) for k in (1.0, 0.5)] * 2
        return tf.function(ASKING[name]), calls

    both(make)


def test_a_gradient_that_is_cut_off_is_reported() -> None:
    def cut(x: Any) -> Any:
        return gradient_in(x, lambda: tf.reduce_sum(np.array([x[0], x[1]]) * x[0]))

    both(lambda: (tf.function(cut), [lambda function: function(tf.constant([0.2, 0.7]))]))


def test_a_model_that_nobody_holds_is_gone() -> None:
    class Scaled(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = tf.Variable(2.0)

        @tf.function
        def __call__(self, x: Any, by: Any = None) -> Any:
            return x * self.w

    model, by = Scaled(), (lambda: None)
    assert [float(model(tf.constant(k), by)) for k in (1.0, 2.0, 3.0)] == [2.0, 4.0, 6.0]
    assert "as a program" in Scaled.__call__.explain() and Scaled.__call__.experimental_get_tracing_count() == 1
    alive = [weakref.ref(x) for x in (model, model.w, by)]
    del model, by
    gc.collect()
    assert [ref() for ref in alive] == [None] * 3
    assert float(Scaled()(tf.constant(1.0))) == 2.0
