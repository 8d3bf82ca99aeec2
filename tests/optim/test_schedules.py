"""Learning rates that depend on the step. Comparisons with TensorFlow itself are in test_peer.py."""

import math
from typing import Any

import numpy as np
import pytest

import graph_api as v1
import optim
import tape_api as v2
from optim.schedules import (
    CosineDecay,
    ExponentialDecay,
    InverseTimeDecay,
    LearningRateSchedule,
    PiecewiseConstantDecay,
    PolynomialDecay,
)

STEPS = range(11)
CASES = {
    "exponential": (ExponentialDecay(0.5, 4, 0.7), lambda k: 0.5 * 0.7 ** (k / 4)),
    "staircase": (ExponentialDecay(0.5, 4, 0.7, staircase=True), lambda k: 0.5 * 0.7 ** (k // 4)),
    "inverse": (InverseTimeDecay(0.5, 4, 0.7), lambda k: 0.5 / (1 + 0.7 * k / 4)),
    "inverse-staircase": (InverseTimeDecay(0.5, 4, 0.7, staircase=True), lambda k: 0.5 / (1 + 0.7 * (k // 4))),
    "polynomial": (PolynomialDecay(0.5, 4, 0.1, 2.0), lambda k: 0.4 * (1 - min(k, 4) / 4) ** 2 + 0.1),
    "cycle": (PolynomialDecay(0.5, 4, 0.1, cycle=True), lambda k: 0.4 * (1 - k / (4 * max(1, math.ceil(k / 4)))) + 0.1),
    "piecewise": (
        PiecewiseConstantDecay([2, 5], [1.0, 0.5, 0.25]),
        lambda k: 1.0 if k <= 2 else 0.5 if k <= 5 else 0.25,
    ),
    "cosine": (CosineDecay(0.5, 4, 0.1), lambda k: 0.5 * (0.9 * (1 + math.cos(math.pi * min(k, 4) / 4)) / 2 + 0.1)),
    "warmup": (
        CosineDecay(0.0, 4, warmup_target=1.0, warmup_steps=3),
        lambda k: k / 3 if k < 3 else (1 + math.cos(math.pi * min(k - 3, 4) / 4)) / 2,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_values(name: str) -> None:
    schedule, expected = CASES[name]
    rates = [schedule(k) for k in STEPS]
    assert all(r.dtype == v2.float32 for r in rates)
    np.testing.assert_allclose([r.numpy() for r in rates], [expected(k) for k in STEPS], rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32"])
def test_graph_and_tape_agree_to_the_bit(name: str, dtype: str) -> None:
    schedule, _ = CASES[name]
    with v1.Graph().as_default(), v1.Session() as session:
        step = v1.placeholder(dtype, [])
        rate = schedule(step)
        for k in STEPS:
            assert session.run(rate, {step: k}) == schedule(v2.constant(k, dtype)).numpy()


@pytest.mark.parametrize(
    ("function", "schedule"),
    [
        (lambda step: optim.exponential_decay(0.5, step, 4, 0.7, True), ExponentialDecay(0.5, 4, 0.7, True)),
        (lambda step: optim.inverse_time_decay(0.5, step, 4, 0.7), InverseTimeDecay(0.5, 4, 0.7)),
        (lambda step: optim.polynomial_decay(0.5, step, 4, cycle=True), PolynomialDecay(0.5, 4, cycle=True)),
        (lambda step: optim.cosine_decay(0.5, step, 4, 0.1), CosineDecay(0.5, 4, 0.1)),
        (lambda step: optim.piecewise_constant(step, [2], [1.0, 0.5]), PiecewiseConstantDecay([2], [1.0, 0.5])),
    ],
    ids=["exponential", "inverse", "polynomial", "cosine", "piecewise"],
)
def test_legacy_functions(function: Any, schedule: LearningRateSchedule) -> None:
    with v1.Graph().as_default(), v1.Session() as session:
        step = v1.Variable(0)
        rate, advance = function(step), step.assign_add(1)
        session.run(step.initializer)
        for k in STEPS:
            assert session.run(rate) == schedule(k).numpy()
            session.run(advance)
    eager = v2.Variable(0)
    current = function(eager)
    for k in STEPS:
        assert current().numpy() == schedule(k).numpy()
        eager.assign_add(1)


def test_natural_exponential_decay() -> None:
    rates = [optim.natural_exp_decay(0.5, k, 4, 0.7)().numpy() for k in STEPS]
    np.testing.assert_allclose(rates, [0.5 * math.exp(-0.7 * k / 4) for k in STEPS], rtol=1e-6)


def test_boundaries_may_lie_between_steps() -> None:
    schedule = PiecewiseConstantDecay([1.5], [1.0, 0.5])
    assert [float(schedule(v2.constant(k, "int64"))) for k in (1, 2)] == [1.0, 0.5]


@pytest.mark.parametrize("name", CASES)
def test_configurations(name: str) -> None:
    schedule, _ = CASES[name]
    again = type(schedule).from_config(schedule.get_config())
    assert again.get_config() == schedule.get_config()
    assert [again(k).numpy() for k in STEPS] == [schedule(k).numpy() for k in STEPS]


class Halving(LearningRateSchedule):
    """A user's own, as TensorFlow's documentation shows it."""

    def __init__(self, initial: float) -> None:
        self.initial = initial

    def __call__(self, step: Any) -> Any:
        return self.initial / (v2.cast(step, v2.float32) + 1)


def test_a_users_schedule_and_a_step_it_sees() -> None:
    w = v2.Variable(1.0)
    optimizer = optim.keras.SGD(Halving(0.5))
    assert optimizer.learning_rate.numpy() == 0.5
    optimizer.apply_gradients([(1.0, w)])
    assert optimizer.learning_rate.numpy() == 0.25
    optimizer.apply_gradients([(1.0, w)])
    assert w.numpy() == 0.25


def test_a_schedule_must_be_defined() -> None:
    with pytest.raises(NotImplementedError, match="must override `__call__"):
        LearningRateSchedule()(0)
    with pytest.raises(NotImplementedError, match="must override `get_config"):
        Halving(1.0).get_config()
