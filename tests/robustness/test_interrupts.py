"""Whatever is interrupted, wherever: state is as before or as after, and the next call works.

`OPERATIONS` is the table: each row is an operation in a mode, and is interrupted at each of its lines, or at many of
them (`tests.interrupts`). After each interrupt, variables, slots and counts are all as they were or all as they would
have become, this thread holds no lock, the same tapes record, NumPy warns of the same errors, and the operation, done
again, does what it does.
"""

import os
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import graph_api as g
import tape_api as t
from engine.compiler.updates import deferred_updates
from engine.core.tape import active
from tests.interrupts import everywhere, length


class Case(NamedTuple):
    """An operation, the variables (or what stands for them) it changes, and how to read and set them."""

    operation: Callable[[], Any]
    read: Callable[[], list[Any]]
    reset: Callable[[list[Any]], Any]
    locks: Callable[[], list[Any]]


def _values(state: list[Any]) -> list[Any]:
    return [np.asarray(x).tolist() for x in state]


# ---- tapes -----------------------------------------------------------------------------------------------------------


def eager(operation: Callable[[], Any], variables: Callable[[], list[Any]]) -> Case:
    """A case of the tape API. It is done once first, so that slots are there."""

    def reset(state: list[Any]) -> None:
        for variable, value in zip(variables(), state, strict=False):
            variable.assign(value)

    start = [v.numpy() for v in variables()]
    operation()
    reset(start)
    return Case(
        operation,
        lambda: [v.numpy() for v in variables()],
        reset,
        lambda: [lock for v in variables() for lock in v.locks],
    )


def _rows() -> Any:
    return t.IndexedSlices(t.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), t.constant([0, 2, 0]))


def _tape_variable(operation: Callable[[Any], Any], value: Any = ((1.0, 2.0), (3.0, 4.0), (5.0, 6.0))) -> Case:
    v = t.Variable(np.array(value, np.float32))
    return eager(lambda: operation(v), lambda: [v])


def _tape_optimizer(make: Callable[[], Any], sparse: bool = False, counted: bool = False) -> Case:
    a, b = t.Variable([1.0, 2.0]), t.Variable(np.ones((3, 2), np.float32))
    step = t.Variable(np.int64(0), trainable=False)
    optimizer = make()

    def operation() -> None:
        pairs = [([0.5, 0.25], a), (_rows() if sparse else np.ones((3, 2), np.float32), b)]
        if counted:
            optimizer.apply_gradients(pairs, global_step=step)
        else:
            optimizer.apply_gradients(pairs)

    def variables() -> list[Any]:
        kept = optimizer.variables
        return [a, b, step, *(kept() if callable(kept) else kept)]

    return eager(operation, variables)


def _tape_dense(sizes: list[int]) -> Case:
    variables = [t.Variable(np.ones(n, np.float32)) for n in sizes]
    gradients = [t.constant(np.linspace(1, 2, n, dtype=np.float32)) for n in sizes]
    optimizer = t.train.AdamOptimizer(0.5)
    return eager(
        lambda: optimizer.apply_gradients(zip(gradients, variables, strict=True)),
        lambda: [*variables, *optimizer.variables()],
    )


def _tape_minimize(recording: bool = False) -> Case:
    a, b = t.Variable([1.0, 2.0]), t.Variable(3.0)
    optimizer = t.keras.optimizers.Adam(0.1)

    def operation() -> None:
        if recording:
            with t.GradientTape(persistent=True):
                optimizer.minimize(lambda: t.reduce_sum(a * a) * b, [a, b])
        else:
            optimizer.minimize(lambda: t.reduce_sum(a * a) * b, [a, b])

    return eager(operation, lambda: [a, b, *optimizer.variables])


def _tape_averages() -> Case:
    a, b = t.Variable([1.0, 2.0]), t.Variable(3.0)
    averages = t.train.ExponentialMovingAverage(0.5)
    averages.apply([a, b])
    a.assign([3.0, 4.0])
    b.assign(7.0)
    return eager(lambda: averages.apply([a, b]), lambda: [a, b, averages.average(a), averages.average(b)])


def _tape_recording(persistent: bool) -> Case:
    x, seen = t.Variable(3.0), t.Variable(0.0)

    def operation() -> None:
        with t.GradientTape(persistent=persistent) as tape:
            y = x * x
            if persistent:
                with tape.stop_recording():
                    y + 1
        seen.assign(tape.gradient(y, x))

    return eager(operation, lambda: [x, seen])


def _tape_function() -> Case:
    v = t.Variable([1.0, 2.0])

    @t.function
    def step(x: Any) -> Any:
        v.assign_add(x)
        return v * 2.0

    return eager(lambda: step(np.float32([1.0, 1.0])), lambda: [v])


def _tape_metric() -> Case:
    mean = t.keras.metrics.Mean()
    return eager(lambda: mean.update_state([1.0, 2.0]), lambda: mean.variables)


def _tape_training() -> Case:
    t.random.set_seed(1)
    model = t.keras.Sequential([t.keras.layers.Dense(2)])
    model.compile("adam", "mse")
    batch = np.ones((4, 3), np.float32), np.zeros((4, 2), np.float32)
    return eager(lambda: model.train_step(batch), lambda: [*model.variables, *model.optimizer.variables])


# ---- graphs ----------------------------------------------------------------------------------------------------------


def graph(build: Callable[[], Any], cold: bool = False) -> Case:
    """A case of the graph API: what `build` makes is run in a session, one without programs if `cold`."""
    with g.Graph().as_default() as its:
        g.set_random_seed(1)
        fetch = build()
        init = g.global_variables_initializer()
        # of Adam's powers of beta, which are below 1, the doubles would be nonsense
        doubled = [v.assign(v + v).op for v in g.global_variables() if "power" not in v.name]
    session = g.Session(graph=its)
    session.run(init)
    session.run(fetch)
    session.run(doubled)
    state = session._state

    def read() -> list[Any]:
        return [np.array(state.value(key)) for key in sorted({*state.values, *state._aside})]

    def reset(values: list[Any]) -> None:
        if cold:
            session._executables.clear()
        state.values.update(zip(sorted({*state.values, *state._aside}), [v.copy()[()] for v in values], strict=True))

    return Case(lambda: session.run(fetch), read, reset, lambda: list(state._locks.values()))


def _graph_variable(operation: Callable[[Any], Any]) -> Callable[[], Any]:
    return lambda: operation(g.Variable(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], np.float32)))


def _graph_training(make: Callable[[], Any], sparse: bool = False) -> Callable[[], Any]:
    def build() -> Any:
        a, b = g.Variable([1.0, 2.0]), g.Variable(np.ones((3, 2), np.float32))
        used = g.gather(b, [0, 2, 0]) if sparse else b
        step = g.train.get_or_create_global_step()
        return make().minimize(g.reduce_sum(a * a) * g.reduce_sum(used * used), global_step=step)

    return build


def _graph_dense(sizes: list[int]) -> Any:
    variables = [g.Variable(np.linspace(1, 2, n, dtype=np.float32)) for n in sizes]
    return g.train.AdamOptimizer(0.5).apply_gradients([(g.sqrt(v) + 1.0, v) for v in variables])


def _graph_group() -> Any:
    a = g.Variable(np.ones((3, 2), np.float32))
    b = g.Variable(np.ones((4, 2), np.float32))
    c = g.Variable(5.0)
    updates = [g.scatter_add(a, [0, 2], np.ones((2, 2), np.float32)), g.scatter_sub(b, [3], [[2.0, 2.0]])]
    return g.group(*updates, c.assign_add(1.0))


def _graph_averages() -> Any:
    a, b = g.Variable([1.0, 2.0]), g.Variable(3.0)
    averages = g.train.ExponentialMovingAverage(0.5)
    with g.control_dependencies([a.assign_add([1.0, 1.0]), b.assign_sub(1.0)]):
        return averages.apply([a, b])


OPERATIONS: dict[str, Callable[[], Case]] = {
    "tape assign": lambda: _tape_variable(lambda v: v.assign(np.full((3, 2), 7.0))),
    "tape assign_add": lambda: _tape_variable(lambda v: v.assign_add(np.ones((3, 2)))),
    "tape assign_sub": lambda: _tape_variable(lambda v: v.assign_sub(np.ones((3, 2)))),
    "tape scatter_update": lambda: _tape_variable(lambda v: v.scatter_update(_rows())),
    "tape scatter_add": lambda: _tape_variable(lambda v: v.scatter_add(_rows())),
    "tape scatter_mul": lambda: _tape_variable(lambda v: v.scatter_mul(_rows())),
    "tape scatter_max": lambda: _tape_variable(lambda v: v.scatter_max(_rows())),
    "tape scatter_nd_add": lambda: _tape_variable(lambda v: v.scatter_nd_add([[1, 1]], [5.0])),
    "tape SGD": lambda: _tape_optimizer(lambda: t.keras.optimizers.SGD(0.5, momentum=0.5)),
    "tape Adam": lambda: _tape_optimizer(lambda: t.keras.optimizers.Adam(0.5)),
    "tape GradientDescent, global_step": lambda: _tape_optimizer(
        lambda: t.train.GradientDescentOptimizer(0.5), counted=True
    ),
    "tape Adam of rows, global_step": lambda: _tape_optimizer(lambda: t.train.AdamOptimizer(0.5), True, True),
    "tape Momentum of rows": lambda: _tape_optimizer(lambda: t.train.MomentumOptimizer(0.5, 0.5), True),
    "tape minimize": _tape_minimize,
    "tape minimize while recording": lambda: _tape_minimize(recording=True),
    "tape ExponentialMovingAverage": _tape_averages,
    "tape gradient": lambda: _tape_recording(False),
    "tape gradient, persistent": lambda: _tape_recording(True),
    "tape function": _tape_function,
    "tape metric": _tape_metric,
    "tape train_step": _tape_training,
    "graph initializer": lambda: graph(lambda: g.Variable([1.0, 2.0]).initializer),
    "graph assign": lambda: graph(_graph_variable(lambda v: v.assign(np.full((3, 2), 7.0)))),
    "graph assign_add": lambda: graph(_graph_variable(lambda v: v.assign_add(np.ones((3, 2))))),
    "graph scatter_update": lambda: graph(_graph_variable(lambda v: g.scatter_update(v, [1], [[9.0, 9.0]]).op)),
    "graph scatter_add": lambda: graph(_graph_variable(lambda v: g.scatter_add(v, [0, 0], np.ones((2, 2))).op)),
    "graph group": lambda: graph(_graph_group),
    "graph SGD": lambda: graph(_graph_training(lambda: g.train.GradientDescentOptimizer(0.5))),
    "graph Adam": lambda: graph(_graph_training(lambda: g.train.AdamOptimizer(0.5))),
    "graph Adam of rows": lambda: graph(_graph_training(lambda: g.train.AdamOptimizer(0.5), sparse=True)),
    "graph Adam of rows, compiled anew": lambda: graph(
        _graph_training(lambda: g.train.AdamOptimizer(0.5), sparse=True), cold=True
    ),
    "graph ExponentialMovingAverage": lambda: graph(_graph_averages),
    "graph random": lambda: graph(
        _graph_variable(lambda v: g.group(v.assign_add(g.random_uniform([3, 2], seed=1)), g.random_normal([2]).op))
    ),
}
MOST = 25
"""Interrupts of each operation, spread evenly, unless the environment's DUALGRAD_INTERRUPTS is ``all``."""


def _check(case: Case, opcodes: bool = False) -> None:
    start = case.read()
    case.operation()
    after = case.read()
    case.reset(after)
    case.operation()
    twice = case.read()
    assert _values(start) != _values(after)
    tapes, errors = active.tapes, np.geterr()
    stride = 1 if os.environ.get("DUALGRAD_INTERRUPTS") == "all" else -(-length(case.operation, opcodes) // MOST)
    for place in everywhere(case.operation, lambda: case.reset(start), opcodes, stride):
        assert not any(lock._is_owned() for lock in case.locks()), f"a lock is held after {place}"
        assert active.tapes is tapes or active.tapes == tapes, f"other tapes record after {place}"
        assert np.geterr() == errors, f"NumPy warns of other errors after {place}"
        found = _values(case.read())
        assert found in (_values(start), _values(after)), f"neither as before nor as after: {place}"
        changed = found != _values(start)
        case.operation()
        assert _values(case.read()) == _values(twice if changed else after), f"the next call fails after {place}"


pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_interrupt_at_any_line_leaves_state_as_before_or_as_after(name: str) -> None:
    _check(OPERATIONS[name]())


@pytest.mark.parametrize(
    "name", ["tape assign_add", "tape scatter_add", "tape gradient", "graph assign_add", "graph group"]
)
def test_an_interrupt_at_any_bytecode_leaves_state_as_before_or_as_after(name: str) -> None:
    _check(OPERATIONS[name](), opcodes=True)


@pytest.mark.parametrize("mode", ["tape", "graph"])
def test_an_interrupt_of_updates_where_they_lie_or_together(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deferred_updates, "LARGE", 8)
    sizes = [10, *[3] * 20]
    _check(_tape_dense(sizes) if mode == "tape" else graph(lambda: _graph_dense(sizes)))
