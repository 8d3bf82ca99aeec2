"""Tensors, sets and sequences as messages. The figures are TensorFlow 2.21's."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api as tf

MESSAGE = b'\x08\x01\x12\x08\x12\x02\x08\x01\x12\x02\x08\x02"\x08\x00\x00\x80?\x00\x00\x00@'


def test_a_tensor_is_the_message_that_tensorflow_writes() -> None:
    assert tf.io.serialize_tensor([[1.0, 2.0]]).numpy() == MESSAGE
    assert (
        tf.io.serialize_tensor([["a", "bc"]]).numpy()
        == b"\x08\x07\x12\x08\x12\x02\x08\x01\x12\x02\x08\x02B\x01aB\x02bc"
    )
    assert tf.io.serialize_tensor(3).numpy() == b'\x08\x03\x12\x00"\x04\x03\x00\x00\x00'
    assert tf.io.serialize_tensor(tf.zeros([0, 3], tf.bool)).numpy() == b"\x08\n\x12\x06\x12\x00\x12\x02\x08\x03"
    for x in (np.arange(6.0).reshape(2, 3), np.array([[b"x"]], object), np.array([1 + 2j])):
        back = tf.io.parse_tensor(tf.io.serialize_tensor(x), tf.as_dtype(x.dtype) if x.dtype != object else tf.string)
        np.testing.assert_array_equal(back, x)
    with graph_api.Graph().as_default():
        made = graph_api.io.parse_tensor(graph_api.io.serialize_tensor([[1.0, 2.0]]), graph_api.float32)
        assert graph_api.Session().run(made).tolist() == [[1.0, 2.0]]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"abc", "Could not parse `serialized`"),
        ([MESSAGE], "to be a scalar"),
        (MESSAGE, r"tensor \(float32\) and dtype"),
    ],
)
def test_what_is_no_such_message_is_refused(data: Any, words: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        tf.io.parse_tensor(data, tf.int32)


def test_sparse_tensors_are_three_messages() -> None:
    sp = tf.SparseTensor([[0, 1], [2, 3]], [1.0, 2.0], [3, 4])
    whole = tf.io.serialize_sparse(sp)
    assert (
        whole.shape == (3,) and whole.numpy()[1] == b'\x08\x01\x12\x04\x12\x02\x08\x02"\x08\x00\x00\x80?\x00\x00\x00@'
    )
    with pytest.raises(TypeError, match="must be a SparseTensor"):
        tf.io.serialize_sparse(tf.zeros(2))


def _parts(sp: Any) -> tuple[Any, ...]:
    return tuple(x.numpy().tolist() for x in sp.components())


A, B = np.array([[1, 2, 2], [3, 4, 9]]), np.array([[2, 5], [9, 3]])


def test_sets() -> None:
    six = [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
    assert _parts(tf.sets.union(A, B)) == (six, [1, 2, 5, 3, 4, 9], [2, 3])
    assert _parts(tf.sets.intersection(A, B)) == ([[0, 0], [1, 0], [1, 1]], [2, 3, 9], [2, 2])
    assert _parts(tf.sets.difference(A, B)) == ([[0, 0], [1, 0]], [1, 4], [2, 1])
    assert _parts(tf.sets.difference(A, B, aminusb=False)) == ([[0, 0]], [5], [2, 1])
    assert tf.sets.size(tf.sets.union(A, B)).numpy().tolist() == [3, 3]
    sparse = tf.SparseTensor([[0, 0], [1, 0]], np.array([5, 4]), [2, 2])
    assert _parts(tf.sets.union(A, sparse)) == (six, [1, 2, 5, 3, 4, 9], [2, 3])
    assert _parts(tf.sets.union([["b", "a"]], [["c"]])) == ([[0, 0], [0, 1], [0, 2]], [b"a", b"b", b"c"], [1, 3])
    deep = np.array([[[1, 2], [3, 4]], [[5, 6], [7, 7]]]), np.array([[[1, 2], [3, 5]], [[5, 6], [8, 7]]])
    assert _parts(tf.sets.difference(*deep)) == ([[0, 1, 0]], [4], [2, 2, 1])
    with graph_api.Graph().as_default():
        assert graph_api.Session().run(graph_api.sets.union(A, B)).values.tolist() == [1, 2, 5, 3, 4, 9]


@pytest.mark.parametrize(
    ("a", "b", "error", "words"),
    [
        (A, np.array([1, 2]), tf.errors.InvalidArgumentError, r"Shape \[2\] has rank 1 < 2"),
        (A, np.zeros((3, 1), int), tf.errors.InvalidArgumentError, r"Mismatched shapes \[2\] vs \[3\]"),
        (A, B.astype(np.int32), TypeError, "Types don't match, int64 vs int32"),
        (A * 1.0, B * 1.0, TypeError, "'a' has invalid dtype `float64`"),
    ],
)
def test_what_are_no_sets_is_refused(a: Any, b: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        tf.sets.union(a, b)
    with pytest.raises(TypeError, match="Expected `SparseTensor`"):
        tf.sets.size(a)


def sequence() -> bytes:
    t = tf.train
    numbers = [t.Feature(int64_list=t.Int64List(value=[i])) for i in (4, 5, 6)]
    rows = [t.Feature(float_list=t.FloatList(value=[1.0] * i)) for i in (2, 0, 1)]
    context = {
        "l": t.Feature(int64_list=t.Int64List(value=[3])),
        "s": t.Feature(bytes_list=t.BytesList(value=[b"q", b"r"])),
    }
    lists = {"t": t.FeatureList(feature=numbers), "v": t.FeatureList(feature=rows)}
    made = t.SequenceExample(context=t.Features(feature=context), feature_lists=t.FeatureLists(feature_list=lists))
    return made.SerializeToString()


def _of(tf: Any) -> tuple[Any, Any]:
    io = tf.io
    context = {"l": io.FixedLenFeature([], tf.int64), "s": io.VarLenFeature(tf.string)}
    return context, {"t": io.FixedLenSequenceFeature([], tf.int64), "v": io.VarLenFeature(tf.float32)}


def test_sequences_are_read() -> None:
    context, lists = tf.io.parse_single_sequence_example(sequence(), *_of(tf))
    assert context["l"].numpy() == 3 and context["s"].values.numpy().tolist() == [b"q", b"r"]
    assert lists["t"].numpy().tolist() == [4, 5, 6]
    assert _parts(lists["v"]) == ([[0, 0], [0, 1], [2, 0]], [1.0, 1.0, 1.0], [3, 2])
    context, lists, lengths = tf.io.parse_sequence_example([sequence(), sequence()], *_of(tf))
    assert lists["t"].numpy().tolist() == [[4, 5, 6]] * 2 and lengths["t"].numpy().tolist() == [3, 3]
    assert _parts(lists["v"])[2] == [2, 3, 2] and context["s"].dense_shape.numpy().tolist() == [2, 2]
    with graph_api.Graph().as_default():
        _, found = graph_api.io.parse_single_sequence_example(sequence(), *_of(graph_api))
        assert graph_api.Session().run(found["t"]).tolist() == [4, 5, 6]


@pytest.mark.parametrize(
    ("context", "lists", "words"),
    [
        (None, None, "Both context_features and sequence_features are None"),
        ({"x": tf.io.FixedLenFeature([], tf.int64)}, None, "Feature: x .* is required but could not be found"),
        (None, {"t": tf.io.FixedLenSequenceFeature([2], tf.int64)}, "Key: t, Index: 0.  Number of int64 values"),
        (None, {"z": tf.io.FixedLenSequenceFeature([2], tf.int64)}, "Feature list 'z' is required"),
        (None, {"t": tf.io.FixedLenSequenceFeature([], tf.float32)}, "Data types don't match"),
        (None, {"t": tf.io.FixedLenFeature([], tf.int64)}, "Unsupported FixedLenFeature"),
    ],
)
def test_sequences_that_are_refused(context: Any, lists: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        tf.io.parse_single_sequence_example(sequence(), context, lists)


def test_options_of_records_reach_the_file(tmp_path: Path) -> None:
    sizes = []
    for level in (0, 9):
        path = tmp_path / str(level)
        with tf.io.TFRecordWriter(str(path), tf.io.TFRecordOptions("GZIP", compression_level=level)) as writer:
            writer.write(b"a" * 1000)
        sizes.append(path.stat().st_size)
        assert next(iter(tf.data.TFRecordDataset(str(path), "GZIP"))).numpy() == b"a" * 1000
    assert sizes[0] > 1000 > 5 * sizes[1]
    with pytest.raises(ValueError, match="Not a valid compression_type: 'X'"):
        tf.io.TFRecordOptions("X")
