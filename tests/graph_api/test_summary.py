"""Summaries and event files: read back by our reader, and compared with TensorFlow's and TensorBoard's."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graph_api as tf


def program(tf: Any, folder: str) -> bytes:
    """A program with summaries of all kinds, on either TensorFlow."""
    random = np.random.RandomState(0)
    images = random.randn(5, 4, 6, 3).astype(np.float32)
    images[0, 0, 0, 0] = np.nan
    values = np.concatenate([random.randn(1000).astype(np.float32), [0, 0, 1e-13, -1e-13, 1e25]])
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None], name="x")
        with tf.name_scope("a"):
            tf.summary.scalar("my loss", tf.reduce_sum(x))
            tf.summary.scalar("my loss", tf.reduce_mean(x))
            tf.summary.scalar("q", tf.reduce_max(x), family="fam")
        tf.summary.histogram("h", x)
        tf.summary.histogram("ints", tf.constant([1, 2, -3]))
        tf.summary.image("signed", tf.constant(images), max_outputs=2)
        tf.summary.image("positive", tf.constant(abs(images[1:])), 1)
        tf.summary.image("bytes", tf.constant((images[1:, :, :, :1] * 100).astype(np.uint8)), 1)
        tf.summary.audio("sound", tf.constant(np.clip(random.randn(2, 50, 2), -1, 1).astype(np.float32)), 8000, 2)
        tf.summary.text("text", tf.constant(["a", "b"]))
        merged = tf.summary.merge_all()
        writer = tf.summary.FileWriter(folder, sess.graph)
        summary = sess.run(merged, {x: values})
        writer.add_summary(summary, 3)
        writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="by hand", simple_value=2.0)]), np.int64(4))
        writer.close()
        return summary


def events(folder: Any) -> list[Any]:
    (file,) = os.listdir(folder)
    return list(tf.train.summary_iterator(os.path.join(folder, file)))


def test_what_is_written_is_read(tmp_path: Path) -> None:
    summary = program(tf, str(tmp_path))
    first, graph, third, fourth = events(tmp_path)
    assert first.file_version == "brain.Event:2"
    assert "x" in [node.name for node in tf.GraphDef.FromString(graph.graph_def).node]
    assert third.step == 3
    assert third.summary == tf.Summary.FromString(summary)
    assert (fourth.step, fourth.summary.value[0].tag, fourth.summary.value[0].simple_value) == (4, "by hand", 2.0)
    assert third.wall_time > 1e9


def test_names_become_tags() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        with tf.name_scope("scope"):
            one = tf.summary.scalar("loss", 1.0)
        two = tf.summary.scalar("with blanks!", 2.0, collections=["mine"])
        assert one.name == "scope/loss:0"
        assert one.dtype is tf.string
        tags = [tf.Summary.FromString(s).value[0].tag for s in sess.run([one, two])]
        assert tags == ["scope/loss", "with_blanks_"]
        assert tf.get_collection("mine") == [two]
        assert tf.get_collection(tf.GraphKeys.SUMMARIES) == [one]
        assert tf.summary.merge_all("nothing") is None
        assert len(tf.Summary.FromString(sess.run(tf.summary.merge([one, two]))).value) == 2


def test_what_cannot_be_described_is_refused() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        with pytest.raises(ValueError, match=r"summary.scalar 'x': a scalar is needed, got shape \(2,\)"):
            tf.summary.scalar("x", [1.0, 2.0])
        with pytest.raises(TypeError, match="real dtype"):
            tf.summary.scalar("x", "text")
        with pytest.raises(ValueError, match="dtype string"):
            tf.summary.text("x", 1.0)
        with pytest.raises(ValueError, match="max_outputs"):
            tf.summary.image("x", np.zeros((1, 2, 2, 1)), 0)
        x = tf.placeholder(tf.float32)
        with pytest.raises(tf.errors.InvalidArgumentError, match="not the same shape"):
            sess.run(tf.summary.scalar("x", x), {x: [1.0]})
        with pytest.raises(tf.errors.InvalidArgumentError, match="Nan in summary histogram for: h"):
            sess.run(tf.summary.histogram("h", x), {x: [np.nan]})
        with pytest.raises(tf.errors.InvalidArgumentError, match="last dim 1, 3, or 4"):
            sess.run(tf.summary.image("i", x), {x: np.zeros((1, 2, 2, 2))})
        same = tf.summary.scalar("same", 1.0)
        with pytest.raises(tf.errors.InvalidArgumentError, match="Duplicate tag same"):
            sess.run(tf.summary.merge([same, same]))


def test_a_writer_flushes_and_closes(tmp_path: Path) -> None:
    writer = tf.summary.FileWriter(str(tmp_path), max_queue=2, filename_suffix=".end")
    assert writer.get_logdir() == str(tmp_path)
    summary = tf.Summary(value=[tf.Summary.Value(tag="x", simple_value=1.0)])
    writer.add_summary(summary, 1)
    assert len(events(tmp_path)) == 1
    writer.add_summary(summary, 2)
    assert [e.step for e in events(tmp_path)] == [0, 1, 2]
    writer.add_summary(summary, 3)
    writer.flush()
    assert len(events(tmp_path)) == 4
    writer.close()
    writer.close()
    with pytest.raises(RuntimeError, match="the writer is closed"):
        writer.add_summary(summary, 4)
    writer.reopen()
    writer.add_session_log(tf.summary.SessionLog(status=tf.summary.SessionLog.START), 5)
    writer.close()
    assert len(os.listdir(tmp_path)) == 2
    assert all(name.endswith(".end") for name in os.listdir(tmp_path))
    with pytest.raises(TypeError, match="needed"):
        tf.summary.FileWriter(str(tmp_path / "x")).add_summary("text")
    with pytest.raises(TypeError, match="must be an instance of `Graph`"):
        tf.summary.FileWriter(str(tmp_path / "y"), graph=3)


def test_writers_are_shared_by_folder(tmp_path: Path) -> None:
    try:
        one = tf.summary.FileWriterCache.get(str(tmp_path))
        assert tf.summary.FileWriterCache.get(str(tmp_path)) is one
    finally:
        tf.summary.FileWriterCache.clear()
    assert one.event_writer.is_closed


def test_graph_definitions() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        with tf.control_dependencies([tf.no_op(name="first")]):
            y = tf.matmul(x, [[1.0], [2.0]], name="y")
        before = graph.version
        tf.identity(y, name="z")
    nodes = {n.name: n for n in graph.as_graph_def(add_shapes=True).node}
    assert (nodes["x"].op, nodes["x"].attr["dtype"].type) == ("Placeholder", 1)
    assert [d.size for d in nodes["x"].attr["shape"].shape.dim] == [-1, 2]
    assert nodes["y"].op == "MatMul"
    assert nodes["y"].input[0] == "x"
    assert nodes["y"].input[-1] == "^first"
    assert [d.size for d in nodes["y"].attr["_output_shapes"].list.shape[0].dim] == [-1, 1]
    assert [n.name for n in graph.as_graph_def(before).node] == ["z"]


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore")
def test_summaries_are_tensorflows(tmp_path: Path) -> None:
    theirs = pytest.importorskip("tensorflow").compat.v1
    ours = theirs.Summary.FromString(program(tf, str(tmp_path / "o")))
    expected = theirs.Summary.FromString(program(theirs, str(tmp_path / "t")))
    decode = theirs.io.decode_png
    for o, e in zip(ours.value, expected.value, strict=True):
        if o.WhichOneof("value") == "image":
            with theirs.Graph().as_default(), theirs.Session() as sess:
                a, b = sess.run([decode(v.image.encoded_image_string) for v in (o, e)])
            np.testing.assert_array_equal(a, b)
            o.image.encoded_image_string = e.image.encoded_image_string
        assert o == e


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore")
def test_tensorboard_reads_it(tmp_path: Path) -> None:
    module = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    program(tf, str(tmp_path))
    read = module.EventAccumulator(str(tmp_path))
    read.Reload()
    tags = read.Tags()
    assert tags["scalars"] == ["a/my_loss", "a/my_loss_1", "fam/a/fam/q", "by hand"]
    assert tags["histograms"] == ["h", "ints"]
    assert tags["images"] == ["signed/image/0", "signed/image/1", "positive/image", "bytes/image"]
    assert tags["audio"] == ["sound/audio/0", "sound/audio/1"]
    assert tags["tensors"] == ["text"]
    assert "x" in [node.name for node in read.Graph().node]
    assert [(e.step, e.value) for e in read.Scalars("by hand")] == [(4, 2.0)]
