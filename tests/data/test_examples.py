"""Serialized examples as tensors, in both modes."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api


def example(number: int, **more: Any) -> bytes:
    train = tape_api.train
    feature = {
        "label": train.Feature(int64_list=train.Int64List(value=[number])),
        "x": train.Feature(float_list=train.FloatList(value=[number + 0.5, 2.0])),
        "raw": train.Feature(bytes_list=train.BytesList(value=[np.arange(3, dtype=np.uint8).tobytes()])),
        **more,
    }
    return train.Example(features=train.Features(feature=feature)).SerializeToString()


def features(tf: Any) -> dict[str, Any]:
    return {
        "label": tf.io.FixedLenFeature([], tf.int64),
        "x": tf.io.FixedLenFeature([2], tf.float32),
        "raw": tf.io.FixedLenFeature([], tf.string),
        "absent": tf.io.FixedLenFeature([2], tf.int64, default_value=[7, 8]),
    }


def values(tf: Any, made: Any) -> Any:
    if tf is graph_api:
        with graph_api.Session() as sess:
            return sess.run(made)
    return {k: v.numpy() for k, v in made.items()}


@pytest.mark.parametrize("tf", [tape_api, graph_api])
def test_features_are_tensors(tf: Any) -> None:
    with graph_api.Graph().as_default():
        made = tf.io.parse_single_example(example(3), features(tf))
        made["pixels"] = tf.io.decode_raw(made["raw"], tf.uint8)
        found = values(tf, made)
        assert (found["label"], found["x"].tolist(), found["absent"].tolist()) == (3, [3.5, 2.0], [7, 8])
        assert found["pixels"].tolist() == [0, 1, 2]
        several = values(tf, tf.io.parse_example([example(1), example(2)], features(tf)))
        assert (several["label"].tolist(), several["x"].shape, several["raw"].shape) == ([1, 2], (2, 2), (2,))


def test_a_file_of_examples(tmp_path: Path) -> None:
    tf = tape_api
    path = str(tmp_path / "f")
    with tf.io.TFRecordWriter(path) as writer:
        for i in range(4):
            writer.write(example(i))
    data = tf.data.TFRecordDataset(path).map(lambda s: tf.io.parse_single_example(s, features(tf))).batch(3)
    assert data.element_spec["x"].shape.as_list() == [None, 2]
    assert [b["label"].numpy().tolist() for b in data] == [[0, 1, 2], [3]]
    with graph_api.Graph().as_default() as _, graph_api.Session() as sess:
        g = graph_api
        rows = g.data.TFRecordDataset(path).map(lambda s: g.parse_single_example(s, features(g)))
        following = rows.make_one_shot_iterator().get_next()
        assert [sess.run(following)["label"] for _ in range(4)] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("wanted", "error", "message"),
    [
        (lambda io: {"gone": io.FixedLenFeature([], "int64")}, ValueError, r"Feature: gone .* is required"),
        (lambda io: {"x": io.FixedLenFeature([], "int64")}, ValueError, "Data types don't match"),
        (lambda io: {"x": io.FixedLenFeature([3], "float32")}, ValueError, r"Values size: 2 but output shape: \[3\]"),
        (lambda io: {"x": io.FixedLenFeature([], "float64")}, TypeError, "float32, int64 or string"),
        (lambda io: {"x": 3}, tape_api.errors.UnimplementedError, "VarLenFeature"),
        (lambda io: {}, ValueError, "Missing features"),
    ],
)
def test_what_does_not_fit_is_refused(wanted: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        tape_api.io.parse_single_example(example(1), wanted(tape_api.io))


def test_damaged_examples_and_bytes_are_refused() -> None:
    with pytest.raises(tape_api.errors.DataLossError, match="Example"):
        tape_api.io.parse_single_example(b"\x0a\xff", features(tape_api))
    with pytest.raises(ValueError, match="not a multiple of 4"):
        tape_api.io.decode_raw(b"abc", tape_api.int32)
    with pytest.raises(TypeError, match="must be of strings"):
        tape_api.io.decode_raw(3, tape_api.int32)


@pytest.mark.parametrize("before", [0, 16])
def test_names_need_not_be_text(before: int) -> None:
    others, io = [example(1)] * before, tape_api.io
    assert example(2).count(b"label") == 1
    damaged = example(2).replace(b"label", b"l\xffbel")
    assert io.parse_example([*others, damaged], {"x": io.FixedLenFeature([2], "float32")})["x"].shape == [before + 1, 2]
    asked = io.parse_example([*others, damaged], {"label": io.FixedLenFeature([], "int64", -7)})["label"]
    assert asked[-1] == -7
    with pytest.raises(tape_api.errors.DataLossError, match="Example"):
        io.parse_example([*others, damaged[:-1]], {"x": io.FixedLenFeature([2], "float32")})
    with pytest.raises(tape_api.errors.DataLossError):
        tape_api.train.Example.FromString(damaged)


def test_many_examples_are_read_as_each_alone() -> None:
    io, train, rng = tape_api.io, tape_api.train, np.random.default_rng(0)
    made = []
    for i in range(20):
        longs = train.Int64List(value=rng.integers(-(2**63), 2**63 - 1, i * i) >> rng.integers(0, 63, i * i))
        words = train.BytesList(value=[rng.bytes(100 * k) for k in range(i % 5)])
        more = {"ä" * 70: train.Feature(int64_list=longs), "w": train.Feature(bytes_list=words), "": train.Feature()}
        made.append(example(i, **more if i % 3 else {}))
    wanted = {name: io.VarLenFeature(kind) for name, kind in {"ä" * 70: "int64", "w": "string", "x": "float32"}.items()}
    together = io.parse_example(made, wanted)
    for name, feature in wanted.items():
        alone = [io.parse_single_example(x, {name: feature})[name].values.numpy() for x in made]
        assert np.array_equal(together[name].values.numpy(), np.concatenate(alone))
        assert together[name].indices[:, 0].numpy().tolist() == [i for i, x in enumerate(alone) for _ in x]
    with pytest.raises(ValueError, match="Data types don't match"):
        io.parse_example([*made, example(2, x=train.Feature(int64_list=longs))], features(tape_api))


def test_sequences() -> None:
    io = tape_api.io
    found = io.parse_single_example(example(1), {"x": io.FixedLenSequenceFeature([], "float32")})
    assert found["x"].numpy().tolist() == [1.5, 2.0]
    wanted = {"gone": io.FixedLenSequenceFeature([2], "int64", allow_missing=True)}
    assert io.parse_single_example(example(1), wanted)["gone"].shape.as_list() == [0, 2]


def of_any_length(tf: Any, many: bool) -> list[Any]:
    """Sparse features, and padded ones, of examples with 0 to 3 words."""
    train = tape_api.train
    words = [[], [b"a", b"b"], [b"c"]]
    made = [example(n, words=train.Feature(bytes_list=train.BytesList(value=w))) for n, w in enumerate(words)]
    wanted = {
        "words": tf.io.VarLenFeature(tf.string),
        "x": tf.io.VarLenFeature(tf.float32),
        "absent": tf.io.VarLenFeature(tf.int64),
    }
    if many:
        wanted["label"] = tf.io.FixedLenFeature([], tf.int64)
        found = tf.io.parse_example(made, wanted)
        padded = tf.io.FixedLenSequenceFeature([], tf.string, allow_missing=True, default_value="-")
        found["padded"] = tf.io.parse_example(made, {"words": padded})["words"]
    else:
        found = tf.io.parse_single_example(made[1], wanted)
    leaves = [found[name] for name in sorted(found)]
    parts = [p for x in leaves for p in ([x.indices, x.values, x.dense_shape] if hasattr(x, "values") else [x])]
    if tf is graph_api:
        with graph_api.Session() as sess:
            return [np.asarray(p) for p in sess.run(parts)]
    return [np.asarray(p.numpy()) for p in parts]


@pytest.mark.parametrize("many", [False, True])
def test_features_of_any_length(many: bool) -> None:
    with graph_api.Graph().as_default():
        graph, tape = of_any_length(graph_api, many), of_any_length(tape_api, many)
    assert [(a.dtype, a.tolist()) for a in graph] == [(a.dtype, a.tolist()) for a in tape]
    if many:
        assert tape[4].tolist() == [[b"-", b"-"], [b"a", b"b"], [b"c", b"-"]]
        assert [a.tolist() for a in tape[5:8]] == [[[1, 0], [1, 1], [2, 0]], [b"a", b"b", b"c"], [3, 2]]


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("many", [False, True])
def test_features_of_any_length_are_tensorflows(many: bool) -> None:
    theirs = of_any_length(pytest.importorskip("tensorflow"), many)
    ours = of_any_length(tape_api, many)
    assert [(a.dtype, a.shape, a.tolist()) for a in ours] == [(a.dtype, a.shape, a.tolist()) for a in theirs]


def test_a_sequence_of_several_examples_may_be_missing() -> None:
    io = tape_api.io
    with pytest.raises(ValueError, match="allow_missing"):
        io.parse_example([example(1)], {"x": io.FixedLenSequenceFeature([], "float32")})


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore")
def test_features_are_tensorflows() -> None:
    theirs = pytest.importorskip("tensorflow")
    ours = values(tape_api, tape_api.io.parse_single_example(example(3), features(tape_api)))
    expected = theirs.io.parse_single_example(example(3), features(theirs))
    for name, value in expected.items():
        assert np.asarray(ours[name]).tolist() == np.asarray(value.numpy()).tolist()
