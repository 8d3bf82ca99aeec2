"""A function that is made anew is traced anew: what it reads from around it may be another thing by then."""

import os
import random
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tape_api as tf

RATE = 0.0
RATES: dict[str, Any] = {"rate": 0.0}
LIST = [0.0]
ARRAY = np.zeros(1)
THING = SimpleNamespace(rate=0.0)
CELL = "DUALGRAD_RATE_OF_A_TEST"


def by_default(x: Any, rate: float = 0.0) -> Any:
    return x * rate


class Scaled:
    rate = 0.0

    def scaled(self, x: Any) -> Any:
        return x * self.rate


SCALED = Scaled()
FILE: list[Path] = []


def times(get: Callable[..., Any], *args: Any) -> Callable[[Any], Any]:
    return lambda x: x * get(*args)


def change(to: float) -> None:
    """Change all that the functions below read."""
    global RATE
    RATE, RATES["rate"], LIST[0], ARRAY[0], THING.rate = to, to, to, to, to
    os.environ[CELL], Scaled.rate = str(to), to
    by_default.__defaults__ = (to,)
    FILE[0].write_text(str(to))


READ: dict[str, Callable[[], Any]] = {
    "global": lambda: lambda x: x * RATE,
    "dict": lambda: lambda x: x * RATES["rate"],
    "method of a dict": lambda: times(RATES.get, "rate"),
    "method of a list": lambda: times(LIST.__getitem__, 0),
    "array": lambda: lambda x: x * ARRAY[0],
    "attribute": lambda: lambda x: x * THING.rate,
    "attribute of a class": lambda: lambda x: x * Scaled.rate,
    "bound method": lambda: SCALED.scaled,
    "attribute by name": lambda: times(getattr, SCALED, "rate"),
    "default": lambda: by_default,
    "function with a default": lambda: lambda x: by_default(x),
    "partial of a function": lambda: partial(lambda rates, x: x * rates["rate"], RATES),
    "environment": lambda: lambda x: x * float(os.environ[CELL]),
    "environment by getenv": lambda: lambda x: x * float(os.getenv(CELL) or 0),
    "file": lambda: lambda x: x * float(FILE[0].read_text()),
}


@pytest.mark.parametrize("autograph", [True, False])
@pytest.mark.parametrize("read", READ)
def test_what_it_reads_has_changed(read: str, autograph: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CELL, "0")
    FILE[:] = [tmp_path / "rate"]
    x = tf.constant([1.0])
    kept = []
    for i in (1.0, 2.0, 3.0):
        change(i)
        made = tf.function(READ[read](), autograph=autograph)
        assert float(made(x)[0]) == i
        kept.append(made)
    # one and the same function keeps what it read when it was traced
    assert [float(made(x)[0]) for made in kept] == [1.0, 2.0, 3.0]
    assert [made.experimental_get_tracing_count() for made in kept] == [1, 1, 1]


@pytest.mark.parametrize("draw", [np.random.rand, random.random, time.perf_counter, lambda: id(object())])
def test_what_is_another_each_time_is_asked_again(draw: Callable[[], Any]) -> None:
    asked: list[float] = []

    def noted() -> float:
        asked.append(float(draw()))
        return asked[-1]

    x = tf.constant([1.0], tf.float64)
    for count in (1, 2, 3):
        function = tf.function(lambda x: x * noted())
        assert [float(function(x)[0]) for _ in range(3)] == [asked[-1]] * 3
        assert len(asked) == count


def test_each_function_and_each_argument_begins_its_own_random_numbers() -> None:
    """The hash of -1 is that of -2."""
    drawn = []
    for _ in range(2):
        tf.random.set_seed(1)
        function = tf.function(lambda k: tf.random.normal([]) + 0 * k)
        drawn.append([float(function(k)) for k in (-1, -2, -1, -2)])
    assert drawn[0] == drawn[1]
    assert drawn[0][0] == drawn[0][1] != drawn[0][2] == drawn[0][3]
