"""Tensors of strings: what takes them, and what refuses them."""

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
    with pytest.raises((TypeError, ValueError), match=r"dtype|non-rectangular|cannot"), graph_api.Graph().as_default():
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


ODD = [b"", b"\0", b"a\0", b" b\xff ", b"\xe6\xbc", "ÄΣ ß".encode(), b"A-b-a", *[b"x" * n for n in (16, 33, 200)]]
EACH = [
    *(lambda s, x: s.lower(x), lambda s, x: s.upper(x), lambda s, x: s.strip(x), lambda s, x: s.length(x)),
    *(lambda s, x: s.length(x, unit="UTF8_CHAR"), lambda s, x: s.substr(x, 0, 2, unit="UTF8_CHAR")),
    *(lambda s, x: s.regex_replace(x, "(b|a)", r"<\1>"), lambda s, x: s.to_hash_bucket_fast(x, 1000)),
    *(lambda s, x: s.join([x, "\0"], "-"), lambda s, x: s.regex_full_match(x, "[a-z]*")),
]


@pytest.mark.parametrize("call", EACH)
def test_each_of_many_strings_is_what_it_is_alone(call: Any) -> None:
    many = np.array(ODD * 40, object)  # so many are hashed in another way than a few
    alone = [call(tape_api.strings, tape_api.constant(text)).numpy() for text in ODD]
    assert call(tape_api.strings, many).numpy().tolist() == alone * 40


def test_letters_at_the_ends_of_strings() -> None:
    for texts in (["äΣ", "ΣB", "Σ"], ["äΣ", "\0", "", "Σ"]):
        assert tape_api.strings.lower(texts, "utf-8").numpy().tolist() == [x.lower().encode() for x in texts]


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


def test_splitting_on_tapes() -> None:
    assert tape_api.strings.split("a b  c").numpy().tolist() == [b"a", b"b", b"c"]
    assert tape_api.strings.split("a,b,,c", ",", 2).numpy().tolist() == [b"a", b"b", b",c"]
    assert tape_api.strings.bytes_split("abc").numpy().tolist() == [b"a", b"b", b"c"]
    several = tape_api.strings.split([["a b", ""], ["c\0", "d  e"]])
    assert several.to_list() == [[[b"a", b"b"], []], [[b"c\0"], [b"d", b"e"]]]
    assert tape_api.strings.bytes_split(several[0]).to_list() == [[[b"a"], [b"b"]], []]


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
    rows = tf.ragged.constant([["a", "b"], [], ["c", "d", "e"]])
    assert rows.to_list() == [[b"a", b"b"], [], [b"c", b"d", b"e"]] and rows.shape.as_list() == [3, None]
    assert rows.to_tensor(shape=[None, 2]).numpy().tolist() == [[b"a", b"b"], [b"", b""], [b"c", b"d"]]
    ids = tf.keras.layers.StringLookup(vocabulary=["a", "c"])(rows)
    np.testing.assert_array_equal(ids.to_tensor(default_value=-1), [[1, 0, -1], [-1, -1, -1], [2, 0, 0]])
    np.testing.assert_array_equal(rows.row_lengths(), [2, 0, 3])


def test_buckets_are_tensorflows() -> None:
    words = ["", "a", "abcdefgh", "abcdefghijklmnop1", "x" * 33, "y" * 64, "z" * 65, "w" * 130 + "q", "e" * 500]
    wanted = [  # of TensorFlow 2.21
        *(1936946117179621455, 3694432073954588131, 4533385575889643785, 1575584516093935887, 3046993373088323127),
        *(4471793200125962424, 3688229565335330613, 3745226506001664028, 3667860430271405926),
    ]
    assert tape_api.strings.to_hash_bucket_fast(words, 2**62).numpy().tolist() == wanted
    with pytest.raises(InvalidArgumentError, match="at least 1"):
        tape_api.strings.to_hash_bucket_fast(words, 0)


def test_ragged_constants() -> None:
    tf = tape_api
    for rows, shape in (([[1, 2], [3]], [2, None]), ([[[1], [2, 3]], [[4]]], [2, None, None]), ([[], []], [2, None])):
        made = tf.ragged.constant(rows)
        assert made.to_list() == rows and made.shape.as_list() == shape
    equal = tf.ragged.constant([[[1, 2]], [[3, 4], [5, 6]]], ragged_rank=1)
    assert equal.shape.as_list() == [2, None, 2] and equal.flat_values.shape == (3, 2)
    deep = tf.ragged.constant([[[1], [2, 3]], [[4]]])
    assert deep.to_tensor().numpy().tolist() == [[[1, 0], [2, 3]], [[4, 0], [0, 0]]]
    assert deep[0, 1, 1].numpy() == 3 and deep[1:].to_list() == [[[4]]] and deep[:, :1].to_list() == [[[1]], [[4]]]
    assert tf.ragged.constant([1, 2]).shape == (2,) and tf.ragged.constant([]).dtype is tf.float32
    with pytest.raises(ValueError, match="same nesting depth"):
        tf.ragged.constant([[1, [2]]])
    with tf.GradientTape() as tape:
        x = tf.constant([1.0, 2.0, 3.0])
        tape.watch(x)
        y = tf.reduce_sum(tf.ragged.constant([[0.0, 0.0], [0.0]]).with_flat_values(x).to_tensor() ** 2)
    assert tape.gradient(y, x).numpy().tolist() == [2.0, 4.0, 6.0]


def test_code_points() -> None:
    decode, encode = tape_api.strings.unicode_decode, tape_api.strings.unicode_encode
    assert decode("aé漢", "UTF-8").numpy().tolist() == [97, 233, 28450]
    assert decode(["aé", "b"], "UTF-8").to_list() == [[97, 233], [98]]
    assert decode([["aé"], ["b"]], "UTF-8").to_list() == [[[97, 233]], [[98]]]
    broken = b"a\xffb"
    assert decode(broken, "UTF-8").numpy().tolist() == [97, 65533, 98]
    assert decode(broken, "UTF-8", errors="ignore").numpy().tolist() == [97, 98]
    assert decode(broken, "UTF-8", replacement_char=66).numpy().tolist() == [97, 66, 98]
    assert decode(b"a\x00\x01b\xc3", "UTF-8", replace_control_characters=True).numpy().tolist()[1:3] == [65533] * 2
    assert decode(b"\x00a\x00b", "UTF-16-BE").numpy().tolist() == [97, 98]
    assert encode([97, 233, 28450], "UTF-8").numpy() == "aé漢".encode()
    assert encode([97, -1, 0xD800], "UTF-8").numpy() == b"a\xef\xbf\xbd\xef\xbf\xbd"
    assert encode(decode(["a", "bc"], "UTF-8"), "UTF-16-BE").numpy().tolist() == [b"\x00a", b"\x00b\x00c"]
    for call, words in (
        (lambda: decode(broken, "UTF-8", errors="strict"), "Invalid formatting"),
        (lambda: decode("a", "foo"), "Could not create converter"),
        (lambda: encode([0x110000], "UTF-8", errors="strict"), "out of range for Unicode"),
        (lambda: encode([97], "latin-1"), "`output_encoding` must be one of"),
        (lambda: encode(97, "UTF-8"), "rank must be at least 1"),
    ):
        with pytest.raises(ValueError, match=words):
            call()


def test_tables() -> None:
    tf = tape_api
    lookup = tf.lookup
    numbers = lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([0, 1], tf.int64))
    table = lookup.StaticHashTable(numbers, -1)
    assert table.lookup(tf.constant(["a", "z"])).numpy().tolist() == [0, -1] and table["b"].numpy() == 1
    assert table.lookup(tf.ragged.constant([["a"], ["b", "c"]])).to_list() == [[0], [1, -1]]
    assert table.lookup(tf.SparseTensor([[0, 1]], ["b"], [1, 2])).values.numpy().tolist() == [1]
    assert table.size().numpy() == 2 and table.export()[1].numpy().tolist() == [0, 1]
    words = lookup.StaticVocabularyTable(numbers, 3)
    assert words.lookup(tf.constant(["a", "b", "zz", "yy", "xx", "ww"])).numpy().tolist() == [0, 1, 3, 3, 4, 2]
    assert words.size().numpy() == 5
    assert lookup.StaticVocabularyTable(None, 3).lookup(tf.constant(["q", "r"])).numpy().tolist() == [2, 1]
    int64 = tf.int64
    held = lookup.KeyValueTensorInitializer(tf.constant([5, 6], int64), tf.constant([0, 1], int64))
    found = lookup.StaticVocabularyTable(held, 4).lookup(tf.constant([5, 7, 8, 9], int64))
    assert found.numpy().tolist() == [0, 2, 5, 3]
    inside = tf.function(lookup.StaticHashTable(held, -1).lookup)
    assert inside(tf.constant([6, 7], int64)).numpy().tolist() == [1, -1]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda t: t.StaticHashTable(t.KeyValueTensorInitializer(["a", "a"], [1, 2]), 0),
            "FailedPrecondition",
            "same key",
        ),
        (
            lambda t: t.StaticHashTable(t.KeyValueTensorInitializer(["a"], [1, 2]), 0),
            "InvalidArgument",
            "shape .1. for",
        ),
        (lambda t: t.StaticHashTable(t.KeyValueTensorInitializer([1.5], [1]), 0), "NotFound", "keys must be"),
    ],
)
def test_tables_that_are_refused(call: Any, error: str, words: str) -> None:
    errors = tape_api.errors
    with pytest.raises(getattr(errors, f"{error}Error"), match=words):
        call(tape_api.lookup)
    table = tape_api.lookup.StaticHashTable(tape_api.lookup.KeyValueTensorInitializer(["a"], [1]), 0)
    with pytest.raises(TypeError, match=r"Dtype of argument `keys` must be tf\.string, received: tf\.int32"):
        table.lookup([1])
    with pytest.raises(ValueError, match="must be > 0"):
        tape_api.lookup.StaticVocabularyTable(None, 0)
