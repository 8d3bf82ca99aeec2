"""The closed function: the one object that is compiled, whoever made it."""

import ast
import gc
import pickle
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from engine.closed import replay
from engine.closed.function import ClosedFunction, build
from engine.core.aval import Aval
from engine.core.dtypes import float64
from engine.jacobian import plan_cache
from engine.ops.trig import sin
from engine.runtime import elementary
from tests.support import assert_same_bits
from tests.tapes import gradient_in

HOME = Path(__file__).resolve().parents[2]
VECTOR = Aval((None,), float64)
X, Y = np.linspace(-1.0, 2.0, 4), np.linspace(0.5, 1.0, 4)


def product() -> ClosedFunction:
    return build([VECTOR, VECTOR], lambda body, values: [values[0] * sin(values[1])])


# ---- what it can do --------------------------------------------------------------------------------------------------


def test_it_has_a_program_for_each_combination_of_shapes() -> None:
    f = product()
    for n in (4, 2, 4):
        assert_same_bits(f.run(X[:n], Y[:n])[0], X[:n] * elementary.sin(Y[:n]))
    assert f.at([X, Y]) is f.at([Y, X]) is not f.at([X[:2], Y[:2]])
    assert f.at([X, Y]).avals[0].shape == (4,) and f.avals[0].shape == (None,)


def test_its_derivatives_and_batches_are_closed_functions() -> None:
    f = product()
    pulled, connected = f.pullback([0, 1], [0])
    assert connected == [True, True] and f.pullback([0, 1], [0])[0] is pulled
    for got, wanted in zip(pulled.run(X, Y, np.ones(4)), (np.sin(Y), X * np.cos(Y)), strict=True):
        assert_same_bits(got, wanted)
    pushed, _ = f.pushforward([1], [0])
    assert_same_bits(pushed.run(X, Y, np.ones(4))[1], X * elementary.cos(Y))
    many, batched = f.batched([True, False], [Aval((3, 4), float64), Aval((4,), float64)], 3)
    assert batched == [True] and type(many) is ClosedFunction
    assert_same_bits(many.run(np.stack([X, Y, X]), Y)[0], np.stack([X, Y, X]) * elementary.sin(Y))
    second, _ = pulled.pullback([1], [1])
    np.testing.assert_allclose(second.run(X, Y, np.ones(4), np.ones(4))[0], -X * np.sin(Y), rtol=1e-15)


def test_its_ops_and_its_nodes_give_what_its_program_gives() -> None:
    f = build([Aval((4,), float64)] * 2, product().inline)
    x, y = tape_api.constant(X), tape_api.constant(Y)
    for found in (f.ops([x, y]), f.inline(None, [x, y])):
        assert_same_bits(found[0].numpy(), f.run(X, Y)[0])


def test_nobody_gets_hold_of_its_constants() -> None:
    f = build([], lambda body, values: [X])
    f.run()[0][:] = 0.0
    assert_same_bits(f.run()[0], X)


def test_it_holds_for_some_contents() -> None:
    f = product().like(contents={3: np.array([1, 2]), 5: None})
    assert f.fits({3: np.array([1, 2]), 5: X}.get) and not f.fits({3: np.array([1, 3])}.get)
    assert product().fits({}.get)


def test_it_can_be_pickled() -> None:
    f = product()
    copy = pickle.loads(pickle.dumps(f))
    assert_same_bits(copy.run(X, Y)[0], f.run(X, Y)[0])
    assert_same_bits(copy.pullback([1], [0])[0].run(X, Y, X)[0], f.pullback([1], [0])[0].run(X, Y, X)[0])


def test_a_plan_from_another_process_keeps_its_constants() -> None:
    with graph_api.Graph().as_default():
        x = graph_api.placeholder(graph_api.float64, [4])
        plan = graph_api.jacobian_plan(x * Y, x)
    plan(X)
    program = "import pickle, sys; sys.stdout.buffer.write(pickle.dumps(pickle.load(sys.stdin.buffer)))"
    sent = subprocess.run(
        [sys.executable, "-c", program], input=pickle.dumps(plan), capture_output=True, cwd=HOME, check=True
    )
    copy = pickle.loads(sent.stdout)
    copy(X)[:] = 0.0
    assert_same_bits(copy(X), np.diag(Y))


# ---- who makes one ---------------------------------------------------------------------------------------------------


def fetched() -> ClosedFunction:
    tf = graph_api
    with tf.Graph().as_default(), tf.Session() as session:
        x, v = tf.placeholder(tf.float64, [4]), tf.Variable(Y)
        session.run(tf.global_variables_initializer())
        session.run([x * v, tf.assign_add(v, x).op], {x: X})
        return list(session._executables.own.values())[-1]


def traced() -> ClosedFunction:
    v = tape_api.Variable(Y)
    step = tape_api.function(lambda x: (x * v, v.assign_add(x))[0])
    for _ in range(3):
        step(tape_api.constant(X))
    (made,) = step._known.values()
    return made._alone


def walked() -> ClosedFunction:
    replay._compiled.clear()
    for _ in range(replay.COMPILE_AFTER + 2):
        x = tape_api.constant(X)
        with tape_api.GradientTape() as tape:
            tape.watch(x)
            y = x * tf_sin(x)
        tape.gradient(y, x)
    (made,) = replay._compiled.values()
    return made


def differentiated() -> ClosedFunction:
    plan_cache._compiled.clear()
    x = tape_api.constant(X)
    gradient_in(x, lambda: tape_api.gather(x, [2, 0]) ** 2.0, method="jacobian")
    ((made,),) = plan_cache._compiled.values()
    return made


def tf_sin(x: Any) -> Any:
    return tape_api.sin(x)


@pytest.mark.parametrize("make", [fetched, traced, walked, differentiated])
def test_all_that_is_compiled_is_one(make: Any) -> None:
    made = make()
    assert type(made) is ClosedFunction
    lines = made.explain().splitlines()
    assert lines[0] == repr(made) and lines[-1].startswith("block for intermediates")
    state = make in (fetched, traced)
    assert ("values of variables that it reads: 1" in lines) == ("variables that it writes: 1" in lines) == state
    assert ("holds for the contents of the values 1 alone" in lines) == (make is differentiated)


def test_a_run_for_variables_of_other_shapes_changes_nothing() -> None:
    tf = graph_api
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(Y, validate_shape=False)
        session.run(tf.global_variables_initializer())
        step = tf.assign(v, v + 1.0, validate_shape=False)
        session.run(step)
        made = list(session._executables.own.values())[-1]
        session.load_variables([v], [X[:2]])
        assert made.execute([]) is None
        assert_same_bits(session.run(v), X[:2])


def test_a_run_that_writes_holds_locks_all_the_while() -> None:
    tf = graph_api
    held: list[bool] = []
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(Y)

        def looked(array: Any) -> Any:
            held.append(session._state.lock(id(v.handle))._is_owned())  # type: ignore[attr-defined]
            return array

        seen = tf.py_func(looked, [v], tf.float64)
        session.run(v.initializer)
        session.run(tf.assign(v, tf.reshape(seen, [4])))
        session.run(seen)
    assert held == [True, False]


def test_a_session_goes_with_its_last_user() -> None:
    tf = graph_api
    with tf.Graph().as_default():
        session, x = tf.Session(), tf.placeholder(tf.float64, [4])
        v = tf.Variable(Y)
        session.run(v.initializer)
        session.run(tf.assign_add(v, x), {x: X})
        alive = weakref.ref(session)
        gc.disable()
        try:
            del session
            assert alive() is None
        finally:
            gc.enable()


def test_nothing_else_makes_programs() -> None:
    """Whoever lowers nodes would have to bind arguments, state and results once more."""
    makers = set()
    for package in ("engine", "dualgrad", "optim", "tape_api", "graph_api"):
        for path in (HOME / package).rglob("*.py"):
            text = path.read_text()
            for node in ast.walk(ast.parse(text)) if "engine.compiler.lowering" in text else ():
                if isinstance(node, ast.ImportFrom) and node.module == "engine.compiler.lowering":
                    makers |= {str(path.relative_to(HOME)) for alias in node.names if alias.name == "lower"}
    assert makers == {"engine/closed/function.py"}
