"""``contrib.seq2seq``: decoders and helpers."""

from typing import Any

import numpy as np
import pytest

import graph_api as tf

RNG = np.random.default_rng(2)
SCORES = RNG.normal(size=(3, 4, 3)).astype(np.float32)
STEPS = RNG.normal(size=(3, 3)).astype(np.float32)
LENGTHS = [4, 3, 1]
s = tf.contrib.seq2seq


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
