"""Recurrent cells and loops (their numbers are compared with TensorFlow's in test_layers.py)."""

from typing import Any

import numpy as np
import pytest

import graph_api as tf
from tests.graph_api.running import run

CELLS = tf.nn.rnn_cell
RNG = np.random.default_rng(0)


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def lstm(xs: np.ndarray, kernel: np.ndarray, bias: np.ndarray, units: int) -> tuple[np.ndarray, np.ndarray]:
    """Outputs and last state of an LSTM, in NumPy."""
    c = h = np.zeros((xs.shape[0], units))
    outputs = []
    for x in xs.transpose(1, 0, 2):
        i, j, f, o = np.split(np.concatenate([x, h], 1) @ kernel + bias, 4, 1)
        c = c * sigmoid(f + 1.0) + sigmoid(i) * np.tanh(j)
        h = np.tanh(c) * sigmoid(o)
        outputs.append(h)
    return np.stack(outputs, 1), c


def test_an_lstm_against_numpy() -> None:
    xs = RNG.normal(size=(2, 6, 3))
    x = tf.placeholder(tf.float64, [None, None, 3])
    outputs, state = tf.nn.dynamic_rnn(CELLS.BasicLSTMCell(4), x, dtype=tf.float64)
    kernel, bias = tf.trainable_variables()
    assert (kernel.name, bias.name) == ("rnn/basic_lstm_cell/kernel:0", "rnn/basic_lstm_cell/bias:0")
    found, last, k, b = run([outputs, state, kernel, bias], {x: xs})
    expected, c = lstm(xs, k, b, 4)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(last.c, c, rtol=1e-12)
    np.testing.assert_array_equal(last.h, found[:, -1])


def test_gradients_through_time_to_second_order() -> None:
    x = tf.placeholder(tf.float64, [1, 5, 2])
    outputs, _ = tf.nn.dynamic_rnn(CELLS.GRUCell(3), x, dtype=tf.float64)
    loss = tf.reduce_sum(outputs**2)
    (g,) = tf.gradients(loss, x)
    (h,) = tf.gradients(tf.reduce_sum(g**2), x)
    point, way = RNG.normal(size=(1, 5, 2)), RNG.normal(size=(1, 5, 2))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())

        def along(y: Any, gradient: Any) -> tuple[float, float]:
            ends = [session.run(y, {x: point + s * 1e-6 * way}) for s in (1, -1)]
            return (ends[0] - ends[1]) / 2e-6, float((session.run(gradient, {x: point}) * way).sum())

        for y, gradient in ((loss, g), (tf.reduce_sum(g**2), h)):
            numeric, exact = along(y, gradient)
            assert exact == pytest.approx(numeric, rel=1e-6)


def test_dynamic_and_static_loops_agree() -> None:
    x = tf.constant(RNG.normal(size=(3, 4, 2)), tf.float32)
    lengths = tf.constant([4, 0, 2])
    cell = CELLS.GRUCell(3)
    with tf.variable_scope("a"):
        one = tf.nn.dynamic_rnn(cell, x, lengths, dtype=tf.float32)
        rows, last = tf.nn.static_rnn(cell, tf.unstack(x, axis=1), dtype=tf.float32, sequence_length=lengths)
    first, second = run([one, (tf.stack(rows, 1), last)])
    np.testing.assert_allclose(first[0], second[0], rtol=1e-6)
    np.testing.assert_allclose(first[1], second[1], rtol=1e-6)
    assert not first[0][1].any() and not first[0][2, 2:].any() and not first[1][1].any()


def test_truncated_backpropagation_carries_the_state_by_feeding() -> None:
    x, target = tf.placeholder(tf.float32, [2, 3, 1]), tf.placeholder(tf.float32, [2, 3, 1])
    cell = CELLS.MultiRNNCell([CELLS.BasicLSTMCell(4), CELLS.BasicLSTMCell(4)])
    start = cell.zero_state(2, tf.float32)
    outputs, last = tf.nn.dynamic_rnn(cell, x, initial_state=start)
    error = tf.reduce_mean((tf.layers.dense(outputs, 1) - target) ** 2)
    train = tf.train.AdamOptimizer(0.02).minimize(error)
    wave = np.stack([np.sin(np.arange(121) * 0.3), np.cos(np.arange(121) * 0.3)]).astype(np.float32)[..., None]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        means = []
        for _ in range(12):
            state, errors = session.run(start), []
            for t in range(0, 120, 3):
                feeds = {x: wave[:, t : t + 3], target: wave[:, t + 1 : t + 4], start: state}
                _, state, found = session.run([train, last, error], feeds)
                errors.append(found)
            means.append(np.mean(errors))
    assert means[-1] < means[0] / 5


def test_dropout_in_loops_draws_anew_at_each_step_unless_variational() -> None:
    x = tf.ones([1, 50, 8])

    class Copy(CELLS.RNNCell):  # type: ignore[misc, name-defined]
        state_size = output_size = 8

        def call(self, inputs: Any, state: Any) -> Any:
            return inputs, state

    plain = CELLS.DropoutWrapper(Copy(), output_keep_prob=0.5, seed=1)
    same = CELLS.DropoutWrapper(Copy(), output_keep_prob=0.5, variational_recurrent=True, dtype=tf.float32, seed=1)
    outputs = [tf.nn.dynamic_rnn(c, x, dtype=tf.float32)[0] for c in (plain, same)]
    with tf.Session() as session:
        anew, once = session.run(outputs)
    assert set(np.unique(anew)) == {0, 2} and len(np.unique(anew[0], axis=0)) > 10 and 0.3 < anew.mean() / 2 < 0.7
    assert len(np.unique(once[0], axis=0)) == 1


BLOCKS = {
    # as TensorFlow 2.21's kernel `LSTMBlockCell` gives them: what the cell holds, and its output
    (None, False): (
        [0.8270769715309143, 0.6249780654907227, 0.44919466972351074, -1.1085366010665894],
        [0.5849353671073914, 0.283393919467926, 0.1339409053325653, -0.5255428552627563],
    ),
    (0.4, True): (
        [0.4000000059604645, 0.4000000059604645, 0.4000000059604645, -0.4000000059604645],
        [0.34165629744529724, 0.17141786217689514, 0.1521940380334854, -0.26830464601516724],
    ),
}


@pytest.mark.parametrize(("clip", "peephole"), BLOCKS)
def test_a_cell_beside_the_kernel_that_computes_it_as_one_block(clip: float | None, peephole: bool) -> None:
    x, c, h = np.sin(np.arange(6)).reshape(2, 3), np.cos(np.arange(4)).reshape(2, 2), np.sin(np.arange(4) + 2)
    cell = CELLS.LSTMCell(2, peephole, clip, name="lstm_cell")
    state = CELLS.LSTMStateTuple(tf.constant(c, tf.float32), tf.constant(h.reshape(2, 2), tf.float32))
    output, new = cell(tf.constant(x, tf.float32), state)
    values = {
        "lstm_cell/kernel": np.sin(np.arange(40) * 0.7).reshape(5, 8),
        "lstm_cell/bias": np.cos(np.arange(8)),
        **{f"lstm_cell/w_{gate}_diag": np.array([0.3, -0.2]) * k for k, gate in enumerate("ifo", 1) if peephole},
    }
    assert {v.op.name for v in tf.trainable_variables()} == values.keys()
    with tf.Session() as session:
        for variable in tf.trainable_variables():
            variable.load(values[variable.op.name].astype(np.float32), session)
        held, given = session.run([new.c, output])
    assert np.allclose(held.ravel(), BLOCKS[clip, peephole][0], rtol=1e-6)
    assert np.allclose(given.ravel(), BLOCKS[clip, peephole][1], rtol=1e-6)


def test_losses_of_sequences() -> None:
    logits, targets = RNG.normal(size=(2, 3, 4)), RNG.integers(0, 4, (2, 3))
    weights = np.array([[1.0, 1.0, 0.0], [0.5, 0.0, 0.0]])
    log_sums = np.log(np.exp(logits).sum(-1))
    each = (log_sums - np.take_along_axis(logits, targets[..., None], 2)[..., 0]) * weights
    new, old = tf.contrib.seq2seq, tf.contrib.legacy_seq2seq
    given = tf.constant(logits), tf.constant(targets), tf.constant(weights)
    lists = [tf.unstack(x, axis=1) for x in given]
    found = [
        new.sequence_loss(*given),
        new.sequence_loss(*given, average_across_batch=False),
        new.sequence_loss(*given, average_across_timesteps=False, average_across_batch=False),
        old.sequence_loss_by_example(*lists),
        old.sequence_loss(*lists),
    ]
    by_row = each.sum(1) / weights.sum(1)
    with tf.Session() as session:
        for value, wanted in zip(
            session.run(found), [each.sum() / 2.5, by_row, each, by_row, by_row.mean()], strict=True
        ):
            np.testing.assert_allclose(value, wanted, rtol=1e-6)
    with pytest.raises(ValueError, match="must be the same 3, 3, 2"):
        old.sequence_loss(lists[0], lists[1][:2], lists[2])
    with pytest.raises(AttributeError, match="beam search and attention are out of scope"):
        _ = new.BeamSearchDecoder


def test_a_decoder_feeds_back_its_outputs() -> None:
    cell = CELLS.BasicRNNCell(2)
    rows = [tf.ones([1, 2])] * 3
    outputs, last = tf.contrib.legacy_seq2seq.rnn_decoder(rows, tf.zeros([1, 2]), cell, lambda y, i: y * i)
    kernel, bias = tf.trainable_variables()
    assert kernel.name == "rnn_decoder/basic_rnn_cell/kernel:0"
    k, b, found, end = run([kernel, bias, outputs, last])
    x, h = np.ones((1, 2)), np.zeros((1, 2))
    for i, y in enumerate(found):
        x = x if i == 0 else h * i
        h = np.tanh(np.concatenate([x, h], 1) @ k + b)
        np.testing.assert_allclose(y, h, rtol=1e-5, atol=1e-6)  # a state near 0 is a difference of larger terms
    np.testing.assert_array_equal(end, found[-1])


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda x: tf.nn.dynamic_rnn(CELLS.GRUCell(2), x), ValueError, "you must give a dtype"),
        (lambda x: tf.nn.dynamic_rnn("cell", x), TypeError, "must be an RNNCell, got 'cell'"),
        (lambda x: tf.nn.static_rnn(CELLS.GRUCell(2), x, dtype=tf.float32), TypeError, "inputs must be a sequence"),
        (lambda x: tf.nn.static_rnn(CELLS.GRUCell(2), [], dtype=tf.float32), ValueError, "must not be empty"),
        (
            lambda x: tf.nn.dynamic_rnn(CELLS.GRUCell(2), x, [1, 2, 3], dtype=tf.float32),
            ValueError,
            r"one entry per element of the batch \(2\)",
        ),
        (lambda x: CELLS.MultiRNNCell([]), ValueError, "at least one cell"),
        (
            lambda x: CELLS.MultiRNNCell([CELLS.BasicLSTMCell(2)], state_is_tuple=False),
            ValueError,
            "flag state_is_tuple is not set",
        ),
        (lambda x: CELLS.DropoutWrapper(CELLS.GRUCell(2), 1.5), ValueError, "between 0 and 1"),
        (
            lambda x: tf.nn.dynamic_rnn(CELLS.GRUCell(2), tf.placeholder(tf.float32, [2, 3, None]), dtype=tf.float32),
            ValueError,
            r"inputs.shape\[-1\] to be known",
        ),
    ],
)
def test_mistakes(call: Any, kind: Any, message: str) -> None:
    with pytest.raises(kind, match=message):
        call(tf.ones([2, 3, 4]))


@pytest.mark.parametrize("kind", ["BasicLSTMCell", "LSTMCell", "GRUCell"])
def test_a_cell_knows_its_weights(kind: str) -> None:
    cell = getattr(tf.nn.rnn_cell, kind)(3)
    assert cell.weights == []
    tf.nn.static_rnn(cell, [tf.ones([2, 3])], dtype=tf.float32)
    assert cell.weights == cell.variables == cell.trainable_weights == tf.trainable_variables()
    assert len(cell.weights) > 1 and cell.graph is tf.get_default_graph()
