"""Dense updates: large variables where they lie, many small ones together, with the bits of one after the other."""

import copy
import pickle
import tracemalloc
from typing import Any

import numpy as np
import pytest

import tape_api as tf
from engine.compiler.updates import deferred_updates, update_loop
from engine.compiler.updates.deferred_updates import LARGE, MANY
from engine.compiler.updates.update_loop import TILE_BYTES, UpdateLoop
from engine.runtime.cache import clear_caches
from optim import closed_step
from tests.optim.cases import IDS, PAIRS, Case
from tests.support import assert_same_bits

SHAPES = [(3,), (2, 2), (5,), (2, 2), (1, 4), ()]


@pytest.fixture
def loops(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The loops that are run."""
    seen: list[Any] = []
    monkeypatch.setattr(closed_step, "AFTER", 0)
    calls = UpdateLoop.calls
    monkeypatch.setattr(UpdateLoop, "calls", lambda self, *a: (seen.append(self), calls(self, *a))[1])
    return seen


def trained(case: Case, dtype: str, large: int, many: int, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Values of variables and slots after three steps with these thresholds."""
    monkeypatch.setattr(deferred_updates, "LARGE", large)
    monkeypatch.setattr(deferred_updates, "MANY", many)
    rng = np.random.default_rng(1)
    variables = [tf.Variable(rng.standard_normal(shape).astype(dtype)) for shape in SHAPES]
    optimizer = case.ours()
    for _ in range(3):
        gradients = [tf.constant(rng.standard_normal(v.shape).astype(dtype)) for v in variables]
        optimizer.apply_gradients(zip(gradients, variables, strict=True))
    kept = [optimizer.get_slot(v, n).numpy() for n in optimizer.get_slot_names() for v in variables]
    return [*[v.numpy() for v in variables], *kept]


@pytest.mark.parametrize(("case", "dtype"), PAIRS, ids=IDS)
def test_bits_are_those_of_one_update_after_the_other(
    case: Case, dtype: str, monkeypatch: pytest.MonkeyPatch, loops: list[Any]
) -> None:
    singly = trained(case, dtype, 1 << 40, 1 << 40, monkeypatch)
    assert not loops
    assert_same_bits(trained(case, dtype, 1 << 40, 2, monkeypatch), singly)
    assert_same_bits(trained(case, dtype, 1, 2, monkeypatch), singly)


@pytest.mark.parametrize(("case", "dtype"), PAIRS, ids=IDS)
def test_small_variables_are_put_together_wherever_updates_are_elementwise(
    case: Case, dtype: str, loops: list[Any]
) -> None:
    variables = [tf.Variable(np.ones(3, dtype)) for _ in range(MANY)]
    optimizer = case.ours()
    for _ in range(3 if case.label == "accumulated" else 1):
        optimizer.apply_gradients([(tf.ones_like(v), v) for v in variables])
    # of FTRL's update the sum of squares; norms and choices are no loops, nor is what they need
    assert len(loops) == (not case.name.lower().startswith("lamb") and "ema_overwrite_frequency" not in case.arguments)


def adam(size: int = LARGE) -> tuple[Any, Any, Any]:
    variable = tf.Variable(np.ones(size, np.float32))
    optimizer = tf.compat.v1.train.AdamOptimizer(0.1)
    gradient = tf.constant(np.linspace(-1, 1, size, dtype=np.float32))
    optimizer.apply_gradients([(gradient, variable)])
    return optimizer, variable, gradient


def address(variable: Any) -> int:
    return variable.read_value()._array.ctypes.data


def test_a_large_update_takes_the_memory_of_some_tiles() -> None:
    optimizer, variable, gradient = adam(1 << 22)
    before = address(variable)
    tracemalloc.start()
    try:
        optimizer.apply_gradients([(gradient, variable)])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert address(variable) == before
    assert peak < 8 * TILE_BYTES < variable.read_value()._array.nbytes / 8


@pytest.mark.parametrize("name", ["Adam", "RMSProp", "Adagrad", "GradientDescent"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_native_updates_have_the_bits_of_those_in_python(
    name: str, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def trained_values() -> list[np.ndarray]:
        rng = np.random.default_rng(2)
        optimizer = getattr(tf.compat.v1.train, f"{name}Optimizer")(0.1)
        # three tiles and a bit
        variable = tf.Variable(rng.normal(size=(3, (1 << 14) + 5)).astype(dtype))
        for _ in range(3):
            held = variable.read_value()
            gradient = tf.transpose(tf.constant(rng.normal(size=variable.shape[::-1]).astype(dtype)))
            optimizer.apply_gradients([(gradient, variable)])
            optimizer.apply_gradients([(gradient, variable)])
            del held
        return [variable.numpy(), *[optimizer.get_slot(variable, n).numpy() for n in optimizer.get_slot_names()]]

    monkeypatch.setattr(deferred_updates, "LARGE", 1)
    natively = trained_values()
    clear_caches()
    monkeypatch.setattr(update_loop, "tiled_table", lambda *_: None)
    assert_same_bits(trained_values(), natively)
    clear_caches()


def test_what_somebody_holds_does_not_change() -> None:
    optimizer, variable, gradient = adam()
    held, slot = variable.read_value(), optimizer.get_slot(variable, "m").read_value()
    before = held.numpy(), slot.numpy()
    optimizer.apply_gradients([(gradient, variable)])
    assert_same_bits([held.numpy(), slot.numpy()], before)
    assert not np.array_equal(variable.numpy(), before[0])


def test_a_gradient_may_be_the_variable_or_another_one() -> None:
    start = np.linspace(1, 2, LARGE, dtype=np.float32)
    a, b = tf.Variable(start), tf.Variable(2 * start)
    optimizer = tf.compat.v1.train.GradientDescentOptimizer(0.5)
    optimizer.apply_gradients([(b.read_value(), a), (a.read_value(), b)])
    assert_same_bits([a.numpy(), b.numpy()], [start - 2 * start * np.float32(0.5), 2 * start - start * np.float32(0.5)])
    optimizer.apply_gradients([(a.read_value(), a)])
    assert_same_bits([a.numpy()], [np.zeros_like(start)])


def test_a_transposed_gradient_and_one_of_another_layout() -> None:
    start = np.arange(300 * 400, dtype=np.float32).reshape(300, 400)
    a = tf.Variable(start)
    optimizer = tf.compat.v1.train.GradientDescentOptimizer(0.5)
    gradient = tf.transpose(tf.constant(np.ascontiguousarray(start.T)))
    optimizer.apply_gradients([(gradient, a)])
    assert_same_bits([a.numpy()], [start - start * np.float32(0.5)])


def test_floating_point_errors_that_raise_change_nothing() -> None:
    optimizer, variable, _ = adam()
    before = variable.numpy(), optimizer.get_slot(variable, "v").numpy()
    huge = tf.constant(np.full(variable.shape, 1e30, np.float32))
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        optimizer.apply_gradients([(huge, variable)])
    assert_same_bits([variable.numpy(), optimizer.get_slot(variable, "v").numpy()], before)


def test_an_error_in_another_update_changes_nothing() -> None:
    large, other = (tf.Variable(np.ones(LARGE, np.float32)), tf.Variable([1.0], constraint=lambda w: 1 / 0))
    optimizer = tf.compat.v1.train.GradientDescentOptimizer(0.5)
    with pytest.raises(ZeroDivisionError):
        optimizer.apply_gradients([(tf.ones_like(large), large), ([1.0], other)])
    assert_same_bits([large.numpy()], [np.ones(LARGE, np.float32)])


@pytest.mark.filterwarnings("ignore:.*is given more than once")
def test_variables_constraints_and_shapes_may_change_between_steps() -> None:
    variables = [tf.Variable([1.0, 2.0]) for _ in range(20)]
    optimizer = tf.compat.v1.train.GradientDescentOptimizer(0.5)
    ones = [(tf.constant([1.0, 1.0]), v) for v in variables]
    optimizer.apply_gradients(ones)
    variables[3].constraint = lambda w: w * 0.0
    variables[5].assign([7.0, 8.0])
    optimizer.apply_gradients(ones)
    optimizer.apply_gradients([ones[0], *ones[:15]])
    with pytest.raises(ValueError, match="must have the variable's shape"):
        optimizer.apply_gradients([(tf.constant([1.0]), variables[0]), *ones[1:]])
    got = [variables[i].numpy().tolist() for i in (0, 1, 3, 5, 19)]
    assert got == [[-1.0, 0.0], [-0.5, 0.5], [0.0, 0.0], [6.0, 7.0], [0.0, 1.0]]


def test_an_optimizer_that_has_made_a_step_is_copied_and_pickled() -> None:
    variables = [tf.Variable([1.0, 2.0]) for _ in range(20)]
    optimizer = tf.compat.v1.train.GradientDescentOptimizer(0.5)
    optimizer.apply_gradients([(tf.constant([1.0, 1.0]), v) for v in variables])
    for other in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
        other.apply_gradients([(tf.constant([1.0, 1.0]), v) for v in variables])
    assert variables[0].numpy().tolist() == [-0.5, 0.5]


def test_a_variable_kept_from_many_does_not_keep_the_others() -> None:
    variables = [tf.Variable(np.ones(100, np.float32)) for _ in range(100)]
    optimizer = tf.compat.v1.train.GradientDescentOptimizer(0.5)
    optimizer.apply_gradients([(tf.ones_like(v), v) for v in variables])
    array = variables[0].read_value()._array
    assert array.base is None or array.base.nbytes == array.nbytes


def test_updates_that_are_not_elementwise_are_made_one_by_one(loops: list[Any]) -> None:
    class Normed(tf.compat.v1.train.Optimizer):
        @staticmethod
        def update(gradient: Any, value: Any, slots: Any, hyper: Any, state: Any) -> Any:
            return value - gradient / tf.norm(gradient), {}

    variables = [tf.Variable([3.0, 4.0]) for _ in range(20)]
    Normed(False, "Normed").apply_gradients([(tf.constant([3.0, 4.0]), v) for v in variables])
    assert not loops
    np.testing.assert_allclose(variables[7].numpy(), [2.4, 3.2], rtol=1e-6)
