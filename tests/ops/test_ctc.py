"""Connectionist temporal classification, in both modes and beside TensorFlow."""

import itertools
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from engine.runtime.errors import InvalidArgumentError, UnimplementedError
from tests.peers import both_modes, close, in_graph, on_tape

RNG = np.random.default_rng(3)
LOGITS = RNG.normal(size=(7, 3, 5), scale=1.5).astype(np.float32)
LABELS = [[0, 0, 1], [3, 2], [1]]
PLACES = [[i, j] for i, row in enumerate(LABELS) for j in range(len(row))]
FLAT = [c for row in LABELS for c in row]
TIMES = [7, 5, 4]


def sparse(tf: Any, places: Any = PLACES, values: Any = FLAT, shape: Any = (3, 3)) -> Any:
    return tf.SparseTensor(places, tf.constant(values, tf.int32), shape)


def dense_loss(tf: Any, logits: Any) -> Any:
    """Blanks are class 0 here."""
    labels = [[1, 1, 2], [4, 3, 0], [2, 0, 0]]
    return tf.nn.ctc_loss(labels, logits, [3, 2, 1], TIMES, True, None, 0)


def decoded(tf: Any, found: Any) -> list[Any]:
    paths, scores = found
    return [part for p in paths for part in (p.indices, p.values, p.dense_shape)] + [scores]


VERSION1 = {
    "loss": lambda tf, x: tf.nn.ctc_loss(sparse(tf), x, TIMES),
    "batch-major": lambda tf, x: tf.nn.ctc_loss(sparse(tf), tf.transpose(x, [1, 0, 2]), TIMES, time_major=False),
    "too-short": lambda tf, x: tf.nn.ctc_loss(sparse(tf), x, [2, 5, 4], ignore_longer_outputs_than_inputs=True),
    "greedy": lambda tf, x: decoded(tf, tf.nn.ctc_greedy_decoder(x, TIMES)),
    "greedy-all": lambda tf, x: decoded(tf, tf.nn.ctc_greedy_decoder(x, TIMES, merge_repeated=False)),
    "edit_distance": lambda tf, x: (tf.edit_distance(sparse(tf), sparse(tf, [[0, 0], [2, 1]], [0, 1], [3, 2])), x),
    "edits": lambda tf, x: (tf.edit_distance(sparse(tf), sparse(tf, [[0, 0]], [9], [1, 1]), normalize=False), x),
}


def batch_cost(tf: Any, logits: Any) -> Any:
    """Blanks are the last class here."""
    labels, lengths = np.array([[1, 1, 2], [3, 3, 0], [2, 0, 0]]), np.array([[3], [2], [1]])
    probabilities = tf.nn.softmax(tf.transpose(logits, [1, 0, 2]))
    return tf.keras.backend.ctc_batch_cost(labels, probabilities, np.array(TIMES)[:, None], lengths)


BOTH = {
    "dense": dense_loss,
    "batch_cost": batch_cost,
    "greedy": VERSION1["greedy"],
    "edit_distance": VERSION1["edit_distance"],
}


def test_loss_adds_up_all_alignments() -> None:
    p = np.exp(LOGITS[:4, 2].astype(np.float64))
    p /= p.sum(1, keepdims=True)
    ways = [w for w in itertools.product(range(5), repeat=4) if [c for c, _ in itertools.groupby(w) if c != 4] == [1]]
    likely = sum(np.prod([p[t, c] for t, c in enumerate(w)]) for w in ways)
    loss = in_graph(graph_api, VERSION1["loss"], [LOGITS], differentiate=False)[0]
    np.testing.assert_allclose(loss[2], -np.log(likely), rtol=1e-5)


def test_gradient_and_modes() -> None:
    both_modes(lambda tf, x: tf.nn.ctc_loss_v2(*_dense(tf, x)) if tf is graph_api else dense_loss(tf, x), [LOGITS])


def _dense(tf: Any, x: Any) -> tuple[Any, ...]:
    return [[1, 1, 2], [4, 3, 0], [2, 0, 0]], x, [3, 2, 1], TIMES, True, None, 0


def test_second_derivatives_exist() -> None:
    with graph_api.Graph().as_default() as graph, graph_api.Session(graph=graph) as session:
        x = graph_api.constant(LOGITS)
        (first,) = graph_api.gradients(VERSION1["loss"](graph_api, x), x)
        (second,) = graph_api.gradients(graph_api.reduce_sum(first * first), x)
        assert np.isfinite(session.run(second)).all()


def test_empty_labels_are_all_blanks() -> None:
    labels = graph_api.SparseTensor(np.zeros((0, 2), np.int64), np.zeros(0, np.int32), [1, 0])
    with graph_api.Session() as session:
        loss = session.run(graph_api.nn.ctc_loss(labels, graph_api.constant(LOGITS[:, :1]), [2]))
    shifted = LOGITS[:2, 0] - np.log(np.exp(LOGITS[:2, 0]).sum(1, keepdims=True))
    np.testing.assert_allclose(loss, [-shifted[:, 4].sum()], rtol=1e-5)


def test_what_is_refused() -> None:
    tf = graph_api
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(LOGITS)
        for labels, times, message in (
            (sparse(tf), [3, 5, 4], "required: 4, available: 3"),
            (sparse(tf, values=[0, 0, 1, 4, 2, 1]), TIMES, "got 4"),
        ):
            with pytest.raises(InvalidArgumentError, match=message):
                session.run(tf.nn.ctc_loss(labels, x, times))
        with pytest.raises(UnimplementedError, match="preprocess_collapse_repeated"):
            tf.nn.ctc_loss(sparse(tf), x, TIMES, preprocess_collapse_repeated=True)
        with pytest.raises(TypeError, match="SparseTensor"):
            tf.nn.ctc_loss([[1]], x, TIMES)
        with pytest.raises(ValueError, match="rank 3"):
            tf.nn.ctc_greedy_decoder(tf.ones([2, 2]), [2])
        with pytest.raises(InvalidArgumentError, match="sequence_length"):
            session.run(tf.nn.ctc_greedy_decoder(x, [9, 1, 1])[1])
        with pytest.raises(TypeError, match="dtypes"):
            tf.edit_distance(sparse(tf), tf.SparseTensor([[0, 0]], ["a"], [1, 1]))
    with pytest.raises(ValueError, match="blank_index"):
        tape_api.nn.ctc_loss(sparse(tape_api), tape_api.constant(LOGITS), None, TIMES)


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", VERSION1)
def test_beside_tensorflow_1(name: str) -> None:
    tensorflow = pytest.importorskip("tensorflow").compat.v1
    differentiate = name in ("loss", "batch-major", "too-short")
    ours, theirs = (in_graph(tf, VERSION1[name], [LOGITS], differentiate) for tf in (graph_api, tensorflow))
    close(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", BOTH)
def test_beside_tensorflow_2(name: str) -> None:
    tensorflow = pytest.importorskip("tensorflow")
    ours, theirs = (on_tape(tf, BOTH[name], [LOGITS], name == "dense") for tf in (tape_api, tensorflow))
    close(ours, theirs, rtol=1e-4, atol=1e-5)
