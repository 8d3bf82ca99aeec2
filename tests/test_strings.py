"""Tensors of strings: what takes them, and what refuses them."""

from __future__ import annotations

import numpy as np
import pytest

import graph_api
import tape_api
from engine.core.dtypes import as_dtype, string


def test_the_dtype() -> None:
    assert as_dtype("string") is as_dtype(str) is as_dtype(np.object_) is string
    assert (string.as_numpy_dtype, string.is_integer, string.is_floating) == (np.object_, False, False)
    assert tape_api.string is graph_api.string is string


@pytest.mark.parametrize("given", [["a", "b\0"], [b"a", b"b\0"], np.array([b"a", "b\0"], object), ("a", b"b\0")])
def test_strings_become_bytes(given) -> None:
    assert tape_api.constant(given).numpy().tolist() == [b"a", b"b\0"]
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        fed = graph_api.placeholder(graph_api.string)
        assert session.run([graph_api.constant(given), fed], {fed: given})[0].tolist() == [b"a", b"b\0"]


def test_text_is_encoded_in_utf8() -> None:
    assert tape_api.constant("ü").numpy() == "ü".encode()
    assert tape_api.constant(np.array(["ü"])).numpy().tolist() == ["ü".encode()]


def test_ops_that_move_elements_take_them() -> None:
    results = {}
    for tf in (tape_api, graph_api):
        x, y = tf.constant(["a", "b"]), tf.constant("c")
        out = [x[0], x[1:], tf.gather(x, 1), tf.gather(x, [1, 0]), tf.stack([y, y]), *tf.unstack(x), tf.identity(y)]
        out += [
            tf.concat([x, x], 0),
            tf.reshape(x, [1, 2]),
            tf.expand_dims(y, 0),
            tf.cond(tf.constant(True), lambda y=y: y, lambda y=y: y),
        ]
        values = graph_api.Session().run(out) if tf is graph_api else [v.numpy() for v in out]
        results[tf] = [v if isinstance(v, bytes) else v.tolist() for v in values]
    assert results[tape_api] == results[graph_api]
    assert results[tape_api][:4] == [b"a", [b"b"], b"b", [b"b", b"a"]]


def test_variables_hold_them() -> None:
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        v = graph_api.Variable("start")
        session.run(v.initializer)
        assert session.run(v) == b"start"
        assert session.run(v.assign("end")) == b"end"
    w = tape_api.Variable(["a"])
    w.assign(["b"])
    assert w.numpy().tolist() == [b"b"]


@pytest.mark.parametrize(
    "call",
    [
        lambda tf: tf.constant([None, 1]),
        lambda tf: tf.constant(["a", ["b"]]),
        lambda tf: tf.constant("a", tf.float32),
        lambda tf: tf.constant(1, tf.string),
        lambda tf: tf.constant("a") + 1,
        lambda tf: tf.reduce_sum(tf.constant(["a"])),
    ],
)
@pytest.mark.parametrize("tf", [tape_api, graph_api])
def test_what_is_no_string_is_refused(tf, call) -> None:
    with pytest.raises((TypeError, ValueError), match=r"dtype|ragged|cannot"), graph_api.Graph().as_default():
        call(tf)


def test_a_number_fed_for_a_string_is_refused() -> None:
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        x = graph_api.placeholder(graph_api.string)
        with pytest.raises(TypeError, match="Cannot feed"):
            session.run(x, {x: [1]})


@pytest.mark.parametrize("tf", [tape_api, graph_api])
def test_equality(tf) -> None:
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        x, y = tf.constant([["a", "b"], ["c", ""]]), tf.constant(["a", "c"])
        out = [tf.equal(x, y), tf.not_equal(x, "b"), tf.cast(tf.equal(x, y), tf.float32) * 2.0]
        found = session.run(out) if tf is graph_api else [v.numpy() for v in out]
    assert [v.dtype for v in found] == [np.bool_, np.bool_, np.float32]
    assert [v.tolist() for v in found[:2]] == [[[True, False], [False, False]], [[True, False], [True, True]]]
