"""The collector of cycles is as it was, whatever happens while it is put off."""

import gc
from collections.abc import Iterator

import numpy as np
import pytest

import graph_api as tf
from engine.runtime.collector import uncollected
from tests.interrupts import everywhere


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = gc.isenabled()
    yield
    (gc.enable if before else gc.disable)()


@pytest.mark.parametrize("enabled", [True, False])
def test_it_is_put_off_and_given_back(enabled: bool) -> None:
    (gc.enable if enabled else gc.disable)()
    assert uncollected(lambda a: (a, gc.isenabled(), uncollected(gc.isenabled)), 1) == (1, False, False)
    assert gc.isenabled() is enabled
    with pytest.raises(ZeroDivisionError):
        uncollected(lambda: 1 // 0)
    assert gc.isenabled() is enabled


@pytest.mark.parametrize("opcodes", [False, True])
def test_interrupts_give_it_back(opcodes: bool) -> None:
    places = 0
    for place in everywhere(lambda: uncollected(lambda: None), gc.enable, opcodes):
        assert gc.isenabled(), f"not after {place}"
        places += 1
    # Python 3.13 starts to trace bytecodes too late to see any of these
    assert places > 5 or opcodes


def test_graphs_are_built_and_compiled_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, [2])
        y = tf.custom_gradient(lambda x: (x * x, lambda ct: seen.append(gc.isenabled()) or 2.0 * ct * x))(x)
        (g,) = tf.gradients(y, x)
        assert session.run(g, {x: np.ones(2)}).tolist() == [2.0, 2.0]
    assert seen and not any(seen) and gc.isenabled()
