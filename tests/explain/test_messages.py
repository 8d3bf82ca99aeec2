"""Errors and warnings about missing gradients say why, for each variable."""

import gc
import warnings
import weakref
from typing import Any

import numpy as np
import pytest

import graph_api
import optim
import tape_api
from engine.core.unconnected import why_missing
from engine.runtime.errors import UnconnectedWarning


def test_minimize_in_a_graph_says_of_each_variable_why() -> None:
    tf = graph_api
    with tf.Graph().as_default():
        a, _ = tf.Variable(1.0, name="a"), tf.Variable(2.0, name="b")
        loss = tf.floor(a * 3.0)
        with pytest.raises(ValueError, match="No gradients provided for any variable, check") as error:
            tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    lines = str(error.value).splitlines()
    assert lines[1].startswith("  a:0: floor 'Floor' has no derivative")
    assert "test_messages.py, line " in lines[1]
    assert lines[1].endswith("[no-derivative]")
    assert lines[2].startswith("  b:0: tensor 'Floor:0' does not depend on variable 'b:0'; it depends on tensor 'a:0'")


def test_apply_gradients_in_a_graph_says_why() -> None:
    tf = graph_api
    with tf.Graph().as_default():
        a = tf.Variable(1.0, name="a")
        optimizer = tf.train.AdamOptimizer(0.1)
        pairs = optimizer.compute_gradients(tf.stop_gradient(a) * 2.0)
        assert pairs == [(None, a)]
        with pytest.raises(ValueError, match=r"for any variable: .*\n  a:0: stop_gradient .*\[stopped\]"):
            optimizer.apply_gradients(pairs)


@pytest.mark.parametrize("optimizer", [optim.GradientDescentOptimizer, optim.keras.SGD])
def test_apply_gradients_after_a_tape_says_why(optimizer: Any) -> None:
    tf = tape_api
    a, b = tf.Variable(1.0, name="a"), tf.Variable(2.0, name="b")
    with tf.GradientTape() as tape:
        loss = tf.constant(0.0) + tf.round(a)
    pairs = list(zip(tape.gradient(loss, [a, b]), [a, b], strict=True))
    message = r"No gradients .*\n  a:0: round has no derivative.*\[no-derivative\]\n  b:0: .*\[no-path\]"
    with pytest.raises(ValueError, match=message):
        optimizer(0.1).apply_gradients(pairs)


def test_a_loss_that_is_called_says_why() -> None:
    tf = tape_api
    a = tf.Variable([1.0, 2.0], name="a")
    with pytest.raises(ValueError, match=r"\n  a:0: a.numpy\(\) made plain numbers .*\[left-for-numpy\]"):
        optim.keras.Adam(0.1).minimize(lambda: tf.reduce_sum(tf.constant(a.numpy() ** 2)), var_list=[a])


def test_keras_names_the_variables_without_gradient_and_says_why() -> None:
    tf = tape_api
    a, b = tf.Variable(1.0, name="a"), tf.Variable(2.0, name="b")
    with tf.GradientTape() as tape:
        loss = a * a
    grads = tape.gradient(loss, [a, b])
    with pytest.warns(UserWarning, match=r"do not exist for variables \['b:0'\] .*\n  b:0: .*\[no-path\]"):
        tf.keras.optimizers.SGD(0.1).apply_gradients(zip(grads, [a, b], strict=True))


@pytest.mark.parametrize("mode", ["graph", "tape"])
def test_scipy_says_why(mode: str) -> None:
    if mode == "tape":
        v = tape_api.Variable([1.0], name="v")
        with pytest.raises(ValueError, match=r"none of the variables: v:0\n  v:0: .*\[no-derivative\]"):
            optim.minimize(lambda: tape_api.reduce_sum(tape_api.floor(v)), [v])
        return
    tf = graph_api
    with tf.Graph().as_default(), tf.Session() as session:
        w = tf.Variable([1.0], name="v")
        session.run(tf.global_variables_initializer())
        with pytest.raises(ValueError, match=r"none of the variables: v:0\n  v:0: .*\[no-derivative\]"):
            optim.minimize(tf.reduce_sum(tf.floor(w)), [w])


@pytest.mark.parametrize("policy", ["none", "zero"])
@pytest.mark.parametrize("method", ["gradient", "jacobian"])
def test_a_tape_that_explains_warns_at_the_line(method: str, policy: str) -> None:
    tf = tape_api
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape(explain=True) as tape:
        y = x * x
    with pytest.warns(UnconnectedWarning, match=r"the gradient is None.*\[not-watched\]") as caught:
        found = getattr(tape, method)(y, x, unconnected_gradients=policy)
    assert caught[0].filename == __file__
    assert found is None or not np.any(found.numpy())


def test_many_variables_are_counted() -> None:
    tf = tape_api
    variables = [tf.Variable(1.0) for _ in range(20)]
    with tf.GradientTape() as tape:
        loss = tf.constant(1.0) * 2.0
    grads = tape.gradient(loss, variables)
    with pytest.raises(ValueError, match="No gradients") as error:
        tf.keras.optimizers.SGD(0.1).apply_gradients(zip(grads, variables, strict=True))
    assert len(str(error.value).splitlines()) == 10
    assert str(error.value).endswith("\n  and 12 more")


def test_a_training_loop_pays_once_for_a_variable_that_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    tf = tape_api
    from engine.explain import missing

    asked = []
    whole = missing.explain
    monkeypatch.setattr(missing, "explain", lambda *a, **k: asked.append(a) or whole(*a, **k))
    a, b = tf.Variable(1.0), tf.Variable(2.0)
    for _ in range(5):
        with tf.GradientTape() as tape:
            loss = a * a
        tape.gradient(loss, [a, b])
    assert len(asked) == 1


def test_a_note_keeps_nothing_alive() -> None:
    tf = graph_api
    with tf.Graph().as_default() as graph:
        v = tf.Variable(1.0)
        target = tf.constant(1.0) * 2.0
        assert tf.gradients(target, v) == [None]
        assert "[constant]" in str(why_missing(v))
    held = weakref.ref(graph)
    del graph, target
    gc.collect()
    assert held() is not None  # by v
    del v
    gc.collect()
    assert held() is None


def test_nothing_is_said_where_gradients_arrive() -> None:
    tf = tape_api
    x = tf.Variable(3.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with tf.GradientTape(explain=True) as tape:
            y = x * x
        assert tape.gradient(y, x).numpy() == 6.0
    assert why_missing(x) is None
