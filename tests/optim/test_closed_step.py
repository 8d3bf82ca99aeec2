"""Steps as closed functions: the bits of one update after the other."""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import optim
import tape_api as tf
from engine.closed.function import ClosedFunction
from engine.compiler.updates import deferred_updates
from optim import closed_step
from optim.closed_step import ClosedStep
from tests.optim.cases import IDS, PAIRS, Case
from tests.optim.test_dense import trained
from tests.support import assert_same_bits

Adam = tf.keras.optimizers.Adam


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """For each step what it was made by: a closed function, or None."""
    seen: list[Any] = []
    run, function = ClosedStep.run, ClosedStep._function

    def watched(self: ClosedStep, *args: Any) -> None:
        seen.append(None)
        run(self, *args)

    def found(self: ClosedStep, *args: Any) -> Any:
        closed, arguments = function(self, *args)
        seen[-1] = closed
        return closed, arguments

    monkeypatch.setattr(ClosedStep, "run", watched)
    monkeypatch.setattr(ClosedStep, "_function", found)
    return seen


@pytest.mark.parametrize(("case", "dtype"), PAIRS, ids=IDS)
def test_bits_are_those_of_one_update_after_the_other(
    case: Case, dtype: str, monkeypatch: pytest.MonkeyPatch, made: list[Any]
) -> None:
    monkeypatch.setattr(closed_step, "AFTER", 1 << 40)
    singly = trained(case, dtype, 1 << 40, 1 << 40, monkeypatch)
    assert set(map(type, made)) <= {type(None)}
    made.clear()
    monkeypatch.setattr(closed_step, "AFTER", 0)
    assert_same_bits(trained(case, dtype, 1 << 40, 1 << 40, monkeypatch), singly)
    assert made
    assert None not in made


def steps(optimizer: Any, change: Callable[[Any, int], None] = lambda o, i: None, count: int = 6) -> list[np.ndarray]:
    """The variables after each step; before each the optimizer is changed."""
    rng, found = np.random.default_rng(2), []
    variables = [tf.Variable(rng.standard_normal(shape).astype(np.float32)) for shape in [(3,), (2, 2), ()]]
    for i in range(count):
        change(optimizer, i)
        gradients = [tf.constant(rng.standard_normal(v.shape).astype(np.float32)) for v in variables]
        optimizer.apply_gradients(zip(gradients, variables, strict=True))
        found += [v.numpy() for v in variables]
    return found


def both(monkeypatch: pytest.MonkeyPatch, *given: Any, make: Callable[[], Any] = Adam) -> tuple[Any, Any]:
    """The steps of an optimizer op by op, and those of another one with programs."""
    monkeypatch.setattr(closed_step, "AFTER", 1 << 40)
    singly = steps(make(), *given)
    monkeypatch.setattr(closed_step, "AFTER", 1)
    return singly, steps(make(), *given)


def set_rate(optimizer: Any, i: int) -> None:
    optimizer.learning_rate = 0.1 * (i + 1)


def set_flag(optimizer: Any, i: int) -> None:
    optimizer.nesterov = i % 2 == 0


def test_hyperparameters_may_change(monkeypatch: pytest.MonkeyPatch, made: list[Any]) -> None:
    singly, together = both(monkeypatch, set_rate)
    assert_same_bits(together, singly)
    singly, together = both(monkeypatch, set_flag, make=lambda: tf.keras.optimizers.SGD(0.1, momentum=0.9))
    assert_same_bits(together, singly)
    schedule = tf.keras.optimizers.schedules.ExponentialDecay(0.1, 2, 0.5)
    singly, together = both(monkeypatch, make=lambda: Adam(schedule))
    assert_same_bits(together, singly)
    assert sum(m is not None for m in made) == 3 * 5


def test_an_update_that_users_write_is_asked_each_time(made: list[Any]) -> None:
    class Mine(tf.keras.optimizers.SGD):
        asked = 0

        def update(self, gradient: Any, value: Any, slots: Any, hyper: Any, state: Any) -> Any:
            Mine.asked += 1
            return value - gradient * float(Mine.asked), slots

    steps(Mine())
    assert Mine.asked == 18
    assert set(made) == {None}


def test_networks_in_turn_have_a_plan_each(made: list[Any]) -> None:
    optimizer, nets = Adam(), [[tf.Variable(np.ones(n, np.float32))] for n in (2, 3)]
    for _ in range(5):
        for net in nets:
            optimizer.apply_gradients([(tf.ones_like(v), v) for v in net])
    assert [m is not None for m in made] == [False] * 2 * closed_step.AFTER + [True] * (10 - 2 * closed_step.AFTER)
    assert len(copy.deepcopy(optimizer)._steps) == 0


def test_a_step_that_cannot_be_made_changes_nothing(made: list[Any]) -> None:
    optimizer, v = Adam(), tf.Variable([1.0, 2.0])
    for _ in range(5):
        optimizer.apply_gradients([(tf.ones_like(v), v)])
    before = v.numpy()
    for bad in (tf.constant([1.0, 2.0, 3.0]), tf.constant([[1.0, 2.0]])):
        with pytest.raises(ValueError, match="shape"):
            optimizer.apply_gradients([(bad, v)])
    optimizer.beta_1 = tf.constant([0.5, 0.5])
    with pytest.raises(ValueError, match="beta_1"):
        optimizer.apply_gradients([(tf.ones_like(v), v)])
    assert v.numpy().tolist() == before.tolist()
    assert isinstance(made[-2], ClosedFunction) and made[-1] is None


# ---- updates that users write ----------------------------------------------------------------------------------------


class Own(tf.compat.v1.train.Optimizer):
    """What it does depends on the number of steps, which nobody but Python knows."""

    hyperparameters = ("rate",)
    rate = 0.1
    steps_done = 0

    def initial_slots(self) -> dict[str, float]:
        return {"m": 0.0, "n": 1.0}

    @staticmethod
    def update(gradient: Any, value: Any, slots: Any, hyper: Any, state: Any) -> Any:
        m = slots["m"] * (0.5 + Own.steps_done / 8) + gradient
        if Own.steps_done == 2:
            return value + m * hyper.rate, {"m": slots["n"], "n": slots["m"]}
        axis = Own.steps_done % 2
        m = m - tf.reduce_mean(m, axis=axis, keepdims=True) if len(value.shape) == 2 else m
        return value - m * hyper.rate, {"m": m}


def own_steps(large: int, many: int, monkeypatch: pytest.MonkeyPatch) -> tuple[list[np.ndarray], Any]:
    """Variables and slots after some steps with these thresholds."""
    monkeypatch.setattr(closed_step, "AFTER", 0)
    monkeypatch.setattr(deferred_updates, "LARGE", large)
    monkeypatch.setattr(deferred_updates, "MANY", many)
    rng = np.random.default_rng(3)
    variables = [tf.Variable(rng.standard_normal(shape).astype(np.float32)) for shape in [(3,), (2, 4), (2, 4), (3,)]]
    optimizer = Own(False, "Own")
    for i in range(6):
        Own.steps_done = i
        optimizer.rate = 0.1 * (i + 1)
        gradients = [tf.constant(rng.standard_normal(v.shape).astype(np.float32)) for v in variables]
        optimizer.apply_gradients(zip(gradients, variables, strict=True))
    slots = [optimizer.get_slot(v, name) for name in ("m", "n") for v in variables]
    return [v.numpy() for v in (*variables, *slots)], optimizer


@pytest.mark.parametrize(("large", "many"), [(1, 1 << 40), (1 << 40, 2), (8, 1 << 40)])
def test_what_users_write_may_be_another_update_each_time(
    large: int, many: int, monkeypatch: pytest.MonkeyPatch, made: list[Any]
) -> None:
    singly, _ = own_steps(1 << 40, 1 << 40, monkeypatch)
    assert set(made) == {None}
    made.clear()
    values, optimizer = own_steps(large, many, monkeypatch)
    assert_same_bits(values, singly)
    assert None not in made
    (step,) = optimizer._steps.values()
    # numbers are arguments; an axis is not, nor which slot is given what
    assert len(step._functions) == 3


def test_what_may_give_something_else_each_time_has_no_program(
    monkeypatch: pytest.MonkeyPatch, made: list[Any]
) -> None:
    class Noisy(tf.compat.v1.train.Optimizer):
        @staticmethod
        def update(gradient: Any, value: Any, slots: Any, hyper: Any, state: Any) -> Any:
            return value - gradient * tf.random.uniform(value.shape), {}

    monkeypatch.setattr(deferred_updates, "LARGE", 1)
    variable, optimizer = tf.Variable([1.0, 1.0]), Noisy(False, "Noisy")
    for _ in range(3):
        before = variable.numpy()
        optimizer.apply_gradients([(tf.ones([2]), variable)])
        assert len({*(before - variable.numpy()).tolist()}) == 2
    assert made == [None] * 3


# ---- what else a step changes ----------------------------------------------------------------------------------------


def test_counters_and_what_transforms_keep_change_in_the_same_moment(
    monkeypatch: pytest.MonkeyPatch, made: list[Any]
) -> None:
    def values(after: float) -> list[np.ndarray]:
        monkeypatch.setattr(closed_step, "AFTER", after)
        rng = np.random.default_rng(4)
        variables = [tf.Variable(rng.standard_normal(3).astype(np.float32)) for _ in range(3)]
        variables[1].constraint = lambda w: w * 0.5
        count, optimizer = tf.Variable(np.int64(0)), optim.AdamOptimizer(0.1)
        transform = optim.transforms.accumulate(2)
        for _ in range(8):
            pairs = [(tf.constant(rng.standard_normal(3).astype(np.float32)), v) for v in variables]
            optimizer.apply_gradients(transform(pairs), global_step=count)
        slots = [slot for *_, slot in optimizer.kept_slots()]
        others = [*optimizer.kept_together(), *transform.kept_together(), *[s for *_, s in transform.kept_slots()]]
        return [v.numpy() for v in (*variables, count, *slots, *others)]

    singly = values(1 << 40)
    assert set(made) == {None}
    made.clear()
    assert_same_bits(values(0), singly)
    assert len(made) == 4
    assert None not in made


def test_averages_follow_variables_without_a_gradient(monkeypatch: pytest.MonkeyPatch, made: list[Any]) -> None:
    def values(after: float) -> list[np.ndarray]:
        monkeypatch.setattr(closed_step, "AFTER", after)
        optimizer = Adam(0.1, use_ema=True, ema_momentum=0.5)
        a, b = tf.Variable([1.0, 2.0]), tf.Variable([3.0])
        for i in range(6):
            optimizer.ema_momentum = 0.5 if i < 3 else 0.25
            b.assign_add([1.0])
            optimizer.apply_gradients([(tf.ones([2]) * float(i), a), *([(tf.ones([1]), b)] if i % 2 == 0 else [])])
        return [v.numpy() for v in (a, b, *optimizer.variables)]

    assert_same_bits(values(0), values(1 << 40))
    assert [m is not None for m in made] == [True] * 6 + [False] * 6
