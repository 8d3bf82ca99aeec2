"""Losses by sampled classes, samplers, and other small parts of networks, in both modes and beside TensorFlow."""

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
CLASSES = [[0, 2, 5, 16, 4, 1], [10, 1, 7, 15, 18, 13]]
"""What TensorFlow 2.21 draws as the second run of two samplers, and how often it expects the classes."""
COUNTS_OF_CLASSES = (
    ([0.74669075, 0.52978551, 0.41093361], [1.27647638, 0.52978551, 0.28387865]),
    ([0.24] * 3, [0.24] * 3),
)
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
    """Unique classes are unique; each run draws anew."""
    tf = tape_api
    draw = getattr(tf.random, f"{name}_candidate_sampler")
    found, true, own = draw([[3]], 1, 6, True, 6, seed=7)
    assert sorted(found.numpy()) == list(range(6)) and (own.numpy() <= 1).all() and 0 < float(true[0, 0]) <= 1
    sampled = getattr(graph_api.nn, f"{name}_candidate_sampler")(np.array([[3]]), 1, 4, True, 1000, seed=7)
    with graph_api.Session() as session:
        one, two = session.run(sampled[0]), session.run(sampled[0])
    assert len(set(one)) == 4 and not np.array_equal(one, two)
    with pytest.raises(InvalidArgumentError, match="7 different classes of 6"):
        draw([[3]], 1, 7, True, 6)


def test_samplers_give_what_tensorflow_gives() -> None:
    """Classes to the bit, and their expected counts; of the second run of a session."""
    tf = graph_api
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(7)
        labels = tf.constant([[1], [2], [3]], tf.int64)
        found = []
        for draw in (tf.nn.log_uniform_candidate_sampler, tf.nn.uniform_candidate_sampler):
            results = draw(labels, 1, 6, True, 25)
            session.run(results)
            found.append(session.run(results))
        # without a repetition they are expected as often as with repetitions: six times 1 / 25
        same = session.run(tf.nn.uniform_candidate_sampler(labels, 1, 1, True, 25))
    assert [f[0].tolist() for f in found] == CLASSES
    for (_, *counts), wanted in zip(found, COUNTS_OF_CLASSES, strict=True):
        for a, b in zip(counts, wanted, strict=True):
            np.testing.assert_allclose(a.ravel()[:3], b, rtol=3e-7)
    assert np.all(same[1] == np.float32(1 / 25))


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
