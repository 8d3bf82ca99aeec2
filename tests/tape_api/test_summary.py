"""TensorFlow 2's summaries: read back, and compared with TensorFlow's own."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api as tf


def program(tf: Any, folder: str) -> None:
    random = np.random.RandomState(0)
    writer = tf.summary.create_file_writer(folder)
    with writer.as_default():
        tf.summary.scalar("loss", 0.5, step=1)
        tf.summary.histogram("h", random.randn(100), step=2, buckets=7)
        tf.summary.histogram("same", np.ones(5), step=2)
        tf.summary.image("i", random.rand(4, 5, 6, 3).astype(np.float32), step=3)
        tf.summary.image("bytes", (random.rand(1, 5, 6, 1) * 255).astype(np.uint8), step=3, max_outputs=1)
        tf.summary.text("t", "words", step=tf.Variable(4, dtype=tf.int64))
    with writer.as_default(step=7):
        tf.summary.scalar("later", 2, description="why")
    writer.close()


def values(folder: Any) -> list[tuple[int, Any]]:
    (file,) = os.listdir(folder)
    read = graph_api.train.summary_iterator(os.path.join(folder, file))
    return [(e.step, v) for e in read for v in e.summary.value]


def test_what_is_written_is_read(tmp_path: Path) -> None:
    program(tf, str(tmp_path))
    found = values(tmp_path)
    assert [(step, v.tag) for step, v in found] == [
        (1, "loss"), (2, "h"), (2, "same"), (3, "i"), (3, "bytes"), (4, "t"), (7, "later"),
    ]  # fmt: skip
    plugins = [v.metadata.plugin_data.plugin_name for _, v in found]
    assert plugins == ["scalars", "histograms", "histograms", "images", "images", "text", "scalars"]


def test_without_a_writer_or_a_step(tmp_path: Path) -> None:
    assert not bool(tf.summary.scalar("x", 1.0, step=1))
    writer = tf.summary.create_file_writer(str(tmp_path))
    with writer.as_default():
        with pytest.raises(ValueError, match="No step set"):
            tf.summary.scalar("x", 1.0)
        tf.summary.experimental.set_step(3)
        assert bool(tf.summary.scalar("x", 1.0))
        tf.summary.experimental.set_step(None)
        with pytest.raises(ValueError, match="a scalar is needed"):
            tf.summary.scalar("x", [1.0], step=1)
        with pytest.raises(ValueError, match="rank 4"):
            tf.summary.image("x", np.zeros((2, 2)), step=1)
        with pytest.raises(ValueError, match="strings are needed"):
            tf.summary.text("x", 1.0, step=1)
    writer.close()
    with writer.as_default(), pytest.raises(RuntimeError, match="already closed"):
        tf.summary.scalar("x", 1.0, step=1)
    assert [step for step, _ in values(tmp_path)] == [3]


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore")
def test_summaries_are_tensorflows(tmp_path: Path) -> None:
    theirs = pytest.importorskip("tensorflow")
    program(tf, str(tmp_path / "o"))
    program(theirs, str(tmp_path / "t"))
    ours, expected = values(tmp_path / "o"), values(tmp_path / "t")
    assert [(s, v.tag) for s, v in ours] == [(s, v.tag) for s, v in expected]
    for (_, o), (_, e) in zip(ours, expected, strict=True):
        name = o.metadata.plugin_data.plugin_name
        assert (name, o.metadata.data_class, o.metadata.summary_description) == (
            e.metadata.plugin_data.plugin_name, e.metadata.data_class, e.metadata.summary_description,
        )  # fmt: skip
        a, b = [
            theirs.make_ndarray(
                theirs.compat.v1.Summary.FromString(graph_api.Summary(value=[v]).SerializeToString()).value[0].tensor
            )
            for v in (o, e)
        ]
        if name == "images":
            assert a[:2].tolist() == b[:2].tolist()
            for x, y in zip(a[2:], b[2:], strict=True):
                np.testing.assert_array_equal(theirs.io.decode_png(x), theirs.io.decode_png(y))
        elif a.dtype == object:
            assert a.tolist() == b.tolist()
        else:
            np.testing.assert_allclose(a, b, rtol=1e-12)
