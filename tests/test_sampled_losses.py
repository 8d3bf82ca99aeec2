"""Losses by sampled classes, samplers, and other small parts of networks, in both modes and beside TensorFlow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from engine.runtime.errors import InvalidArgumentError
from tests.peers import Call, both_modes, close, in_graph, on_tape

RNG = np.random.default_rng(5)
W, B = RNG.normal(size=(9, 4)).astype(np.float32), RNG.normal(size=9).astype(np.float32)
X, LABELS = RNG.normal(size=(3, 4)).astype(np.float32), np.array([[1, 2], [8, 0], [3, 3]])
COUNTS = np.tile(np.array([0.5, 2.0, 7.0, 1.0], np.float32), (3, 1))
IMAGE = RNG.normal(size=(2, 3, 2, 6)).astype(np.float32)


def drawn(tf: Any) -> Any:
    return tf.constant([2, 5, 7], tf.int64), tf.constant([[0.3, 0.2]] * 3), tf.constant([0.4, 0.1, 0.7])


CALLS: dict[str, tuple[Call, tuple[Any, ...]]] = {
    "nce": (lambda tf, w, b, x: tf.nn.nce_loss(w, b, LABELS, x, 3, 9, 2, drawn(tf)), (W, B, X)),
    "nce-hits": (
        lambda tf, w, b, x: tf.nn.nce_loss(w, b, LABELS, x, 3, 9, 2, drawn(tf), remove_accidental_hits=True),
        (W, B, X),
    ),
    "sampled_softmax": (lambda tf, w, b, x: tf.nn.sampled_softmax_loss(w, b, LABELS, x, 3, 9, 2, drawn(tf)), (W, B, X)),
    "lrn": (lambda tf, x: tf.nn.lrn(x, 2, 1.5, 0.7, 0.6), (IMAGE,)),
}
VERSION1: dict[str, tuple[Call, tuple[Any, ...]]] = {
    "xw_plus_b": (lambda tf, w, x: tf.nn.xw_plus_b(x, tf.transpose(w), tf.ones([9])), (W, X)),
    "parts": (
        lambda tf, w, b, x: tf.nn.nce_loss(
            [w[:5], w[5:]], [b[:5], b[5:]], LABELS, x, 3, 9, 2, drawn(tf), partition_strategy="div"
        ),
        (W, B, X),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", [n for n in CALLS if n != "nce-hits"])
def test_both_modes(name: str) -> None:
    call, arrays = CALLS[name]
    if name == "lrn":
        both_modes(call, arrays)
    np.testing.assert_equal(in_graph(graph_api, call, arrays), on_tape(tape_api, call, arrays))


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
def test_beside_tensorflow(name: str) -> None:
    tensorflow = pytest.importorskip("tensorflow")
    call, arrays = CALLS[name]
    close(on_tape(tape_api, call, arrays), on_tape(tensorflow, call, arrays))


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", VERSION1)
def test_beside_tensorflow_1(name: str) -> None:
    tensorflow = pytest.importorskip("tensorflow").compat.v1
    call, arrays = VERSION1[name]
    close(in_graph(graph_api, call, arrays), in_graph(tensorflow, call, arrays))


@pytest.mark.parametrize("name", ["log_uniform", "uniform"])
def test_samplers(name: str) -> None:
    """Frequencies are those expected; unique classes are; each run draws anew."""
    tf = tape_api
    draw = getattr(tf.random, f"{name}_candidate_sampler")
    found, true, own = draw([[3, 0]], 2, 20000, False, 6, seed=1)
    counts = np.bincount(found.numpy(), minlength=6)
    p = np.log((np.arange(6) + 2) / (np.arange(6) + 1)) / np.log(7) if name == "log_uniform" else np.full(6, 1 / 6)
    np.testing.assert_allclose(counts / 20000, p, atol=0.02)
    np.testing.assert_allclose(true.numpy(), [[20000 * p[3], 20000 * p[0]]], rtol=1e-5)
    np.testing.assert_allclose(own.numpy(), 20000 * p[found.numpy()], rtol=1e-5)
    found, true, own = draw([[3]], 1, 6, True, 6)
    assert sorted(found.numpy()) == list(range(6)) and (own.numpy() <= 1).all() and 0 < float(true[0, 0]) <= 1
    sampled = getattr(graph_api.nn, f"{name}_candidate_sampler")(np.array([[3]]), 1, 4, True, 1000, seed=7)
    with graph_api.Session() as session:
        one, two = session.run(sampled[0]), session.run(sampled[0])
    assert len(set(one)) == 4 and not np.array_equal(one, two)
    with pytest.raises(InvalidArgumentError, match="7 different classes of 6"):
        draw([[3]], 1, 7, True, 6)


def test_training_of_words() -> None:
    """The loss of word2vec falls, with samples of its own."""
    tf = graph_api
    tf.set_random_seed(1)
    words, context = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.int32, [None, 1])
    embeddings = tf.Variable(tf.random_uniform([20, 8], -1.0, 1.0))
    weights, biases = tf.Variable(tf.truncated_normal([20, 8], stddev=0.3)), tf.Variable(tf.zeros([20]))
    inputs = tf.nn.embedding_lookup(embeddings, words)
    loss = tf.reduce_mean(tf.nn.nce_loss(weights, biases, context, inputs, num_sampled=5, num_classes=20))
    train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    feeds = {words: np.arange(20), context: (np.arange(20) * 7 % 20)[:, None]}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        losses = [session.run([loss, train], feeds)[0] for _ in range(60)]
    assert np.mean(losses[-10:]) < 0.7 * np.mean(losses[:10])
