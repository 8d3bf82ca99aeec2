"""``contrib.crf`` by hand, and ``contrib.seq2seq``: decoders and helpers."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import graph_api as tf

RNG = np.random.default_rng(2)
SCORES = RNG.normal(size=(3, 4, 3)).astype(np.float32)
TAGS = RNG.integers(0, 3, (3, 4))
STEPS = RNG.normal(size=(3, 3)).astype(np.float32)
LENGTHS = [4, 3, 1]
crf, s = tf.contrib.crf, tf.contrib.seq2seq


def score(i: int, path: Any) -> float:
    return float(
        sum(SCORES[i, t, c] for t, c in enumerate(path)) + sum(STEPS[a, b] for a, b in itertools.pairwise(path))
    )


def paths(i: int) -> list[Any]:
    return list(itertools.product(range(3), repeat=LENGTHS[i]))


def test_crf_adds_up_all_sequences() -> None:
    with tf.Session() as session:
        found, table = crf.crf_log_likelihood(tf.constant(SCORES), TAGS, LENGTHS, STEPS)
        norm = crf.crf_log_norm(tf.constant(SCORES), LENGTHS, STEPS)
        got, whole = session.run([found, norm])
    norms = [np.logaddexp.reduce([score(i, p) for p in paths(i)]) for i in range(3)]
    np.testing.assert_allclose(whole, norms, rtol=1e-5)
    np.testing.assert_allclose(
        got, [score(i, TAGS[i, :n]) - norms[i] for i, n in enumerate(LENGTHS)], rtol=1e-4, atol=1e-5
    )
    assert table is STEPS


def test_crf_finds_the_best_sequence() -> None:
    with tf.Session() as session:
        tags, best = session.run(crf.crf_decode(tf.constant(SCORES), tf.constant(STEPS), LENGTHS))
    for i, n in enumerate(LENGTHS):
        expected = max(paths(i), key=lambda p, i=i: score(i, p))
        path, value = crf.viterbi_decode(SCORES[i, :n], STEPS)
        assert tuple(tags[i, :n]) == tuple(path) == expected and not tags[i, n:].any()
        np.testing.assert_allclose([best[i], value], score(i, expected), rtol=1e-5)


def test_crf_gradient_is_what_is_expected_less_what_is() -> None:
    x, table = tf.constant(SCORES), tf.constant(STEPS)
    likely, _ = crf.crf_log_likelihood(x, TAGS, LENGTHS, table)
    with tf.Session() as session:
        gradient = session.run(tf.gradients(likely, x)[0])
    weights = np.exp([score(0, p) for p in paths(0)])
    expected = sum(w * np.eye(3)[list(p)] for w, p in zip(weights / weights.sum(), paths(0), strict=True))
    np.testing.assert_allclose(gradient[0], np.eye(3)[TAGS[0]] - expected, atol=1e-5)
    assert not gradient[2, 1:].any()


def test_crf_of_some_tags_only() -> None:
    allowed = np.zeros((3, 4, 3), bool)
    np.put_along_axis(allowed, TAGS[..., None], True, 2)
    with tf.Session() as session:
        x = tf.constant(SCORES)
        several = crf.crf_multitag_sequence_score(x, allowed, LENGTHS, STEPS)
        a, b = session.run([several, crf.crf_sequence_score(x, TAGS, LENGTHS, STEPS)])
    np.testing.assert_allclose(a, b, rtol=1e-5)
    with pytest.raises(ValueError, match="number of tags"):
        crf.crf_log_norm(tf.placeholder(tf.float32, [None, 4, None]), LENGTHS, STEPS)


def cell_and_layer() -> tuple[Any, Any]:
    return tf.nn.rnn_cell.BasicRNNCell(3), tf.layers.Dense(5, name="out")


def test_decoding_given_sequences_is_dynamic_rnn() -> None:
    x = tf.constant(SCORES)
    cell, layer = cell_and_layer()
    decoder = s.BasicDecoder(cell, s.TrainingHelper(x, LENGTHS), tf.zeros([3, 3]), layer)
    outputs, state, lengths = s.dynamic_decode(decoder, impute_finished=True)
    plain, last = tf.nn.dynamic_rnn(cell, x, LENGTHS, tf.zeros([3, 3]), scope="decoder")
    inside = tf.sequence_mask(LENGTHS, 4, tf.float32)[:, :, None]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        got, end, said, counts, expected, final = session.run(
            [outputs.rnn_output, state, outputs.sample_id, lengths, layer(plain) * inside, last]
        )
        gradients = session.run(
            [tf.gradients(tf.reduce_sum(y * y), x)[0] for y in (outputs.rnn_output, layer(plain) * inside)]
        )
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(end, final, rtol=1e-5)
    np.testing.assert_allclose(*gradients, rtol=1e-4, atol=1e-6)
    assert counts.tolist() == LENGTHS and (said[:, 0] == expected[:, 0].argmax(1)).all()


def test_decoding_what_was_said() -> None:
    table = np.eye(5, 3, dtype=np.float32)
    cell, layer = cell_and_layer()
    helper = s.GreedyEmbeddingHelper(table, [0, 1], 4)
    outputs, _, lengths = s.dynamic_decode(
        s.BasicDecoder(cell, helper, tf.zeros([2, 3]), layer), maximum_iterations=6, output_time_major=True
    )
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        kernel, bias = (v.eval(session) for v in cell.variables)
        out, shift = (v.eval(session) for v in layer.variables)
        said, counts = session.run([outputs.sample_id, lengths])
    for i in range(2):
        token, state, expected = i, np.zeros(3), []
        while len(expected) < 6 and (not expected or expected[-1] != 4):
            state = np.tanh(np.concatenate([table[token], state]) @ kernel + bias)
            token = int((state @ out + shift).argmax())
            expected.append(token)
        assert said[: counts[i], i].tolist() == expected


def test_what_is_refused() -> None:
    with pytest.raises(TypeError, match="Decoder"):
        s.dynamic_decode(None)
    with pytest.raises(TypeError, match="Helper"):
        s.BasicDecoder(None, None, None)
    with pytest.raises(ValueError, match="vector"):
        s.TrainingHelper(tf.ones([2, 3, 3]), 3)
    with pytest.raises(ValueError, match="scalar"):
        s.GreedyEmbeddingHelper(tf.ones([2, 3]), [0], [1])
    with pytest.raises(AttributeError, match="BeamSearchDecoder"):
        s.BeamSearchDecoder  # noqa: B018
