"""``contrib.crf`` by hand, and ``contrib.seq2seq``: decoders, helpers, attention."""

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


@pytest.mark.parametrize("which", ["sample", "scheduled", "inference", "custom"])
def test_other_helpers(which: str) -> None:
    table = tf.constant(np.eye(5, 3, dtype=np.float32))
    cell, layer = cell_and_layer()
    helper = {
        "sample": lambda: s.SampleEmbeddingHelper(table, [0, 1], 4, softmax_temperature=0.5, seed=1),
        "scheduled": lambda: s.ScheduledEmbeddingTrainingHelper(tf.ones([2, 4, 3]), [4, 3], table, 0.5, seed=1),
        "inference": lambda: s.InferenceHelper(
            lambda y: y[:, :3], [3], tf.float32, tf.ones([2, 3]), lambda y: tf.reduce_sum(y, 1) > 100.0
        ),
        "custom": lambda: s.CustomHelper(
            lambda: (tf.fill([2], False), tf.ones([2, 3])),
            lambda time, outputs, state: tf.cast(tf.argmax(outputs, 1), tf.int32),
            lambda time, outputs, state, sample_ids: (tf.fill([2], False), tf.ones([2, 3]), state),
        ),
    }[which]()
    outputs, _, lengths = s.dynamic_decode(
        s.BasicDecoder(cell, helper, tf.zeros([2, 3]), layer), maximum_iterations=tf.constant(4)
    )
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        got, said, counts = session.run([outputs.rnn_output, outputs.sample_id, lengths])
    assert got.shape == (2, max(counts), 5) and said.shape[:2] == got.shape[:2] and max(counts) <= 4
    if which == "scheduled":
        assert counts.tolist() == [4, 3]


@pytest.mark.parametrize("kind", ["bahdanau", "normed", "luong", "scaled", "both"])
def test_attention(kind: str) -> None:
    memory = tf.constant(RNG.normal(size=(2, 4, 6)).astype(np.float32))
    make = {
        "bahdanau": lambda: s.BahdanauAttention(5, memory, [4, 2]),
        "normed": lambda: s.BahdanauAttention(5, memory, [4, 2], normalize=True),
        "luong": lambda: s.LuongAttention(3, memory, [4, 2]),
        "scaled": lambda: s.LuongAttention(3, memory, [4, 2], scale=True),
        "both": lambda: [s.LuongAttention(3, memory, [4, 2]), s.BahdanauAttention(5, memory)],
    }[kind]()
    size = [7, 2] if kind == "both" else 7
    cell = s.AttentionWrapper(tf.nn.rnn_cell.GRUCell(3), make, size, alignment_history=True)
    helper = s.TrainingHelper(tf.ones([2, 3, 3]), [3, 3])
    outputs, state, _ = s.dynamic_decode(s.BasicDecoder(cell, helper, cell.zero_state(2, tf.float32)))
    weights = state.alignments[0] if kind == "both" else state.alignments
    history = state.alignment_history[0] if kind == "both" else state.alignment_history
    loss = tf.reduce_sum(outputs.rnn_output**2)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        got, last, seen = session.run([outputs.rnn_output, weights, history.stack()])
        gradients = session.run(tf.gradients(loss, tf.trainable_variables()))
    assert got.shape == (2, 3, 9 if kind == "both" else 7) and cell.output_size == got.shape[2]
    np.testing.assert_allclose(last.sum(1), 1.0, rtol=1e-5)
    assert seen.shape == (3, 2, 4) and not last[1, 2:].any() and (seen[-1] == last).all()
    assert all(np.isfinite(g).all() and g.any() for g in gradients)
    if kind == "bahdanau":
        assert [v.op.name for v in tf.trainable_variables()] == [
            "memory_layer/kernel",
            "decoder/attention_wrapper/gru_cell/gates/kernel",
            "decoder/attention_wrapper/gru_cell/gates/bias",
            "decoder/attention_wrapper/gru_cell/candidate/kernel",
            "decoder/attention_wrapper/gru_cell/candidate/bias",
            "decoder/attention_wrapper/bahdanau_attention/query_layer/kernel",
            "decoder/attention_wrapper/bahdanau_attention/attention_v",
            "decoder/attention_wrapper/attention_layer/kernel",
        ]


def test_small_parts_and_what_is_refused() -> None:
    memory = tf.ones([2, 4, 3])
    with tf.Session() as session:
        assert session.run(s.tile_batch(tf.constant([1, 2]), 2)).tolist() == [1, 1, 2, 2]
        assert session.run(s.hardmax(tf.constant([[1.0, 3.0, 2.0]]))).tolist() == [[0, 1, 0]]
    with pytest.raises(ValueError, match="number of units of the cell"):
        s.LuongAttention(3, memory)(tf.ones([2, 4]))
    with pytest.raises(TypeError, match="zero_state"):
        s.AttentionWrapper(tf.nn.rnn_cell.GRUCell(3), s.LuongAttention(3, memory))(memory[:, 0], tf.ones([2, 3]))
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
