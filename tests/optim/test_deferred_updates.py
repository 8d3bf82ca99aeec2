"""Updates in graphs: large variables where they lie, many small ones together, with the bits of one after the other."""

import threading
import warnings
from typing import Any

import numpy as np
import pytest

import graph_api
import graph_api as tf
import optim
import tape_api
from engine.compiler.lowering import lower
from engine.compiler.pipeline import ALL_PASSES
from engine.compiler.updates import deferred_updates
from tests.optim.cases import IDS, PAIRS, Case
from tests.support import assert_same_bits

SHAPES = [(3,), (2, 2), (2, 2), ()]


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deferred_updates, "LARGE", 1 << 10)


def updates_of(session: Any, fetch: Any) -> Any:
    """The deferred updates of what a session runs for a fetch."""
    return session._compile([fetch], [], []).program.updates


def trained(case: Case, dtype: str, large: int, many: int, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Values of variables and slots after two steps with these thresholds."""
    monkeypatch.setattr(deferred_updates, "LARGE", large)
    monkeypatch.setattr(deferred_updates, "MANY", many)
    rng = np.random.default_rng(1)
    with tf.Graph().as_default(), tf.Session() as session:
        variables = [tf.Variable(rng.standard_normal(shape).astype(dtype)) for shape in SHAPES]
        feeds = [tf.placeholder(dtype, v.shape) for v in variables]
        optimizer = case.ours()
        train = optimizer.apply_gradients(list(zip(feeds, variables, strict=True)))
        session.run(tf.global_variables_initializer())
        for _ in range(2):
            session.run(train, {f: rng.standard_normal(f.shape.as_list()).astype(dtype) for f in feeds})
        return session.run(
            [*variables, *[optimizer.get_slot(v, n) for n in optimizer.get_slot_names() for v in variables]]
        )


@pytest.mark.parametrize(("case", "dtype"), PAIRS, ids=IDS)
def test_bits_are_those_of_one_update_after_the_other(case: Case, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    singly = trained(case, dtype, 1 << 40, 1 << 40, monkeypatch)
    assert_same_bits(trained(case, dtype, 1 << 40, 2, monkeypatch), singly)
    assert_same_bits(trained(case, dtype, 1, 2, monkeypatch), singly)


@pytest.mark.parametrize("name", ["GradientDescent", "Momentum", "Adam", "Adagrad", "RMSProp"])
def test_the_updates_of_common_optimizers_are_deferred(name: str) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        optimizer = getattr(tf.train, f"{name}Optimizer")(*((0.1, 0.9) if name == "Momentum" else (0.1,)))
        variables = [tf.Variable([1.0, 2.0]) for _ in range(20)] + [tf.Variable(np.ones(2000, np.float32))]
        train = optimizer.apply_gradients([(tf.ones_like(v) * 2.0, v) for v in variables])
        session.run(tf.global_variables_initializer())
        updates = updates_of(session, train)
        assert sorted(len(update.variables[0]) for update in updates) == [1, 20]
        assert all(len(update.variables) == 1 + len(optimizer.get_slot_names()) for update in updates)


def trainer(optimizer: Any, gradient: Any, size: int = 2000, more: int = 0) -> tuple[Any, Any, Any, Any]:
    """A session, a variable in it, a step along a gradient of it, and further variables of two elements."""
    session = tf.Session(graph=tf.Graph())
    with session.graph.as_default():
        variable = tf.Variable(np.linspace(1, 2, size, dtype=np.float32))
        others = [tf.Variable([1.0, 2.0]) for _ in range(more)]
        train = optimizer.apply_gradients([(gradient(variable), variable), *[(gradient(v), v) for v in others]])
        session.run(tf.global_variables_initializer())
    return session, variable, train, others


def value(session: Any, variable: Any) -> np.ndarray:
    return session._state.value(id(variable.handle))


def test_a_large_variable_stays_where_it_is() -> None:
    session, variable, train, _ = trainer(tf.train.AdamOptimizer(0.1), lambda v: tf.exp(v) + 1.0)
    session.run(train)
    before = value(session, variable).ctypes.data
    session.run(train)
    assert value(session, variable).ctypes.data == before


def test_what_was_fetched_does_not_change() -> None:
    session, variable, train, others = trainer(tf.train.MomentumOptimizer(0.1, 0.9), tf.exp, more=20)
    for _ in range(3):
        held = session.run([variable, others[3]])
        copies = [x.copy() for x in held]
        read, also, _ = session.run([variable, others[3], train])
        now = session.run([variable, others[3]])
        assert_same_bits([*held, read, also], [*copies, *now])
        assert not np.array_equal(read, held[0])
        held[0][:] = read[:] = 7.0
        assert_same_bits(session.run([variable, others[3]]), now)


def test_a_gradient_may_be_the_variable_or_another_one() -> None:
    start = np.linspace(1, 2, 2000, dtype=np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        a, b = tf.Variable(start), tf.Variable(2 * start)
        optimizer = tf.train.GradientDescentOptimizer(0.5)
        swapped = optimizer.apply_gradients([(b.read_value(), a), (a.read_value(), b)])
        own = optimizer.apply_gradients([(a.read_value(), a)])
        session.run(tf.global_variables_initializer())
        session.run(swapped)
        half = np.float32(0.5)
        assert_same_bits(session.run([a, b]), [start - 2 * start * half, 2 * start - start * half])
        session.run(own)
        assert_same_bits([session.run(a)], [np.zeros_like(start)])


def test_an_error_elsewhere_in_the_run_changes_nothing() -> None:
    session, variable, train, others = trainer(tf.train.AdamOptimizer(0.1), lambda v: v * 2.0, more=20)
    with session.graph.as_default():
        fails = tf.py_func(lambda x: 1 / 0, [variable], tf.float32)
    session.run(train)
    before = session.run([variable, *others])
    with pytest.raises(Exception, match="division by zero"):
        session.run([train, fails])
    assert_same_bits(session.run([variable, *others]), before)
    session.run(train)


def test_floating_point_errors_that_raise_change_nothing() -> None:
    session, variable, train, others = trainer(tf.train.GradientDescentOptimizer(1e30), lambda v: v * 1e30, more=20)
    before = session.run([variable, *others])
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        session.run(train)
    assert_same_bits(session.run([variable, *others]), before)
    session.run(train)
    assert np.isinf(session.run(variable)).all()


def test_one_of_many_may_be_assigned_between_steps() -> None:
    session, _, train, others = trainer(tf.train.GradientDescentOptimizer(0.5), tf.ones_like, more=20)
    with session.graph.as_default():
        assign = others[3].assign([7.0, 8.0])
    session.run(train)
    session.run(assign)
    session.run(train)
    assert session.run([others[3], others[4]])[0].tolist() == [6.5, 7.5]
    assert session.run(others[4]).tolist() == [0.0, 1.0]


def test_an_uninitialized_variable_is_named() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        variable = tf.Variable(np.ones(2000, np.float32), name="forgotten")
        train = tf.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.ones([2000]), variable)])
        with pytest.raises(tf.errors.FailedPreconditionError, match="forgotten"):
            session.run(train)


def test_who_reads_meanwhile_sees_one_step_or_another() -> None:
    session, variable, train, others = trainer(tf.train.GradientDescentOptimizer(1.0), tf.ones_like, 1 << 18, 20)
    with session.graph.as_default():
        session.run([variable.assign(tf.zeros([1 << 18])), *[v.assign([0.0, 0.0]) for v in others]])
    torn: list[Any] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            found = session.run([variable, others[0], others[19]])
            if len({float(x) for a in found for x in (a.min(), a.max())}) != 1:
                torn.append(found)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for thread in readers:
        thread.start()
    for _ in range(50):
        session.run(train)
    done.set()
    for thread in readers:
        thread.join()
    assert not torn
    assert session.run(variable)[0] == -50


def test_without_the_pass_there_are_none() -> None:
    with tf.Graph().as_default() as graph:
        variable = tf.Variable(np.ones(2000, np.float32))
        new = variable.assign_sub(tf.ones([2000]) * 0.5)
        nodes = [n for n in graph.nodes if n is not variable.initializer]
    some, _, none = lower(nodes, [], [], passes=ALL_PASSES)
    assert len(some.updates) == 1 and some.report["deferred_updates"] == 1 and not none
    plain, _, (one,) = lower(nodes, [], [], passes=())
    assert not plain.updates and one.handle is variable.handle
    assert new.shape == [2000]


@pytest.mark.parametrize("tf", [graph_api, tape_api], ids=["graph", "tape"])
def test_warnings_that_are_errors_do_not_split_a_step(tf: Any) -> None:
    start = np.full(100_000, 1e30, np.float32)
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        variable, gradient = tf.Variable(start), tf.constant(start)
        optimizer = optim.MomentumOptimizer(1e30, 0.9)

        def step() -> Any:
            return optimizer.apply_gradients([(gradient, variable)])

        if tf is graph_api:
            train = step()
            session.run(graph_api.global_variables_initializer())
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            session.run(train) if tf is graph_api else step()
        slot = optimizer.get_slot(variable, "momentum")
        values = session.run([variable, slot]) if tf is graph_api else [variable.numpy(), slot.numpy()]
        assert_same_bits(values, [np.full_like(start, -np.inf), start])
