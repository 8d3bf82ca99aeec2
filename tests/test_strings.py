"""Tensors of strings: what takes them, and what refuses them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from engine.core.dtypes import as_dtype, string
from engine.runtime.errors import InvalidArgumentError
from tests.peers import both_modes, close, in_graph, on_tape


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


WORDS = np.array([[b" Ab c", b"x1y22"], ["Ä-b".encode(), b""]], object)
FUNCTIONS: dict[str, Any] = {
    "lower": lambda tf, x: tf.strings.lower(x),
    "lower in utf-8": lambda tf, x: tf.strings.lower(x, encoding="utf-8"),
    "upper": lambda tf, x: tf.strings.upper(x),
    "upper in utf-8": lambda tf, x: tf.strings.upper(x, encoding="utf-8"),
    "strip": lambda tf, x: tf.strings.strip(x),
    "length": lambda tf, x: tf.strings.length(x),
    "length in characters": lambda tf, x: tf.strings.length(x, unit="UTF8_CHAR"),
    "substr": lambda tf, x: tf.strings.substr(x[0], [1, -2], [3, 3]),
    "substr in characters": lambda tf, x: tf.strings.substr(x[1, :1], 0, 1, unit="UTF8_CHAR"),
    "regex_replace": lambda tf, x: tf.strings.regex_replace(x, "([a-z])([0-9]+)", r"<\2\0>"),
    "regex_replace once": lambda tf, x: tf.strings.regex_replace(x, "[a-z]", "?", replace_global=False),
    "regex_full_match": lambda tf, x: tf.strings.regex_full_match(x, "[a-z0-9]*"),
    "join": lambda tf, x: tf.strings.join([x, "/", x], separator="|"),
    "reduce_join": lambda tf, x: tf.strings.reduce_join(x, separator=","),
    "reduce_join of an axis": lambda tf, x: tf.strings.reduce_join(x, 0, keepdims=True),
    "reduce_join of both": lambda tf, x: tf.strings.reduce_join(x, [0, 1]),
    "to_number": lambda tf, x: tf.strings.to_number(tf.strings.join([" ", tf.constant(["1.5", "-2e3"]), ""])),
    "to_number of ints": lambda tf, x: tf.strings.to_number(tf.constant([["12", "-7"]]), tf.int64),
    "as_string": lambda tf, x: tf.as_string(tf.constant([1.5, -2.25e-3, 1e6])),
    "as_string of ints": lambda tf, x: tf.strings.as_string(tf.constant([3, -12]), width=5, fill="0"),
    "as_string of bools": lambda tf, x: tf.strings.as_string(tf.constant([True, False])),
    "as_string, scientific": lambda tf, x: tf.as_string(tf.constant(1234.5), precision=2, scientific=True),
    "as_string, shortest": lambda tf, x: tf.as_string(tf.constant(1234.5), shortest=True, width=10),
    "as_string of complex numbers": lambda tf, x: tf.as_string(tf.constant(1.5 - 2j)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_in_both_modes(name: str) -> None:
    both_modes(FUNCTIONS[name], [WORDS], differentiate=False)


def tensorflow() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("tensorflow")


@pytest.mark.peer
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_tensorflows(name: str) -> None:
    results = [on_tape(tf, FUNCTIONS[name], [WORDS], False) for tf in (tape_api, tensorflow())]
    assert [np.asarray(v).tolist() for v in results[0]] == [np.asarray(v).tolist() for v in results[1]]


def splits(tf: Any, x: Any) -> list[Any]:
    """What graphs split."""
    found = [
        tf.string_split(x),
        tf.string_split(x, "-a", skip_empty=False),
        tf.strings.split(x),
        tf.strings.split(x, "b", maxsplit=1),
        tf.string_split(x, ""),
    ]
    return [part for s in found for part in (s.indices, s.values, s.dense_shape)]


SENTENCES = np.array([b"a b  cab", b"-ab-", b"", b"b"], object)


@pytest.mark.peer
def test_splitting_in_graphs() -> None:
    close(in_graph(graph_api, splits, [SENTENCES]), in_graph(tensorflow().compat.v1, splits, [SENTENCES]))


def test_splitting_one_string() -> None:
    assert tape_api.strings.split("a b  c").numpy().tolist() == [b"a", b"b", b"c"]
    assert tape_api.strings.split("a,b,,c", ",", 2).numpy().tolist() == [b"a", b"b", b",c"]
    assert tape_api.strings.bytes_split("abc").numpy().tolist() == [b"a", b"b", b"c"]
    with pytest.raises(tape_api.errors.UnimplementedError, match="ragged"):
        tape_api.strings.split(["a b"])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda tf: tf.strings.to_number("1_0"), "could not correctly convert"),
        (lambda tf: tf.strings.to_number("x", tf.int32), "could not correctly convert"),
        (lambda tf: tf.strings.substr("abc", 4, 1), "out of range"),
        (lambda tf: tf.strings.regex_replace("abc", "(", ""), "Invalid pattern"),
    ],
)
@pytest.mark.parametrize("tf", [tape_api, graph_api])
def test_contents_that_are_refused(tf: Any, call: Any, words: str) -> None:
    with graph_api.Graph().as_default(), pytest.raises(InvalidArgumentError, match=words):
        graph_api.Session().run(call(tf))


def test_characters_of_several_strings() -> None:
    tf = tape_api
    assert tf.strings.unicode_split("aü", "UTF-8").numpy().tolist() == [b"a", "ü".encode()]
    rows = tf.strings.unicode_split(["ab", "", "cde"], "UTF-8")
    assert rows.to_list() == [[b"a", b"b"], [], [b"c", b"d", b"e"]] and rows.shape.as_list() == [3, None]
    assert rows.to_tensor(shape=[None, 2]).numpy().tolist() == [[b"a", b"b"], [b"", b""], [b"c", b"d"]]
    ids = tf.keras.layers.StringLookup(vocabulary=["a", "c"])(rows)
    np.testing.assert_array_equal(ids.to_tensor(default_value=-1), [[1, 0, -1], [-1, -1, -1], [2, 0, 0]])
    assert tf.strings.reduce_join(rows, axis=-1).numpy().tolist() == [b"ab", b"", b"cde"]
    np.testing.assert_array_equal(rows.row_lengths(), [2, 0, 3])
    with pytest.raises(tf.errors.UnimplementedError, match="rank 0 or 1"):
        tf.strings.unicode_split([["a"]], "UTF-8")
