"""What programs are converted to computes what their sessions computed, to the bit."""

from pathlib import Path

import pytest

from dualgrad.migrate.convert.spelling import spelled
from engine.core.aval import Aval
from engine.core.dtypes import bool_, complex64, float32, int32
from engine.core.op import Op
from engine.core.trace import Trace
from engine.runtime.errors import DTypeError
from tape_api.names import TABLE
from tape_api.random import draws
from tests.migrate.in_process import dualgrad
from tests.migrate.round_trip import round_trip
from tests.programs.catalogue import HERE

SAME = """
    adversarial_examples checkpoints convnet_dropout ddpg flags_and_app gan_scopes gaussian_process
    hamiltonian_monte_carlo influence_functions layers_mlp linear_regression lstm_language_model maml
    pinn_burgers real_nvp_images rnn_cells sessions_and_graphs slim_network
    style_transfer summaries trpo vae vae_flows
"""
"""Programs that convert as a whole and compare equal."""


@pytest.mark.parametrize("name", SAME.split())
def test_the_converted_program_computes_the_same_to_the_bit(name: str, tmp_path: Path) -> None:
    trip = round_trip(HERE / "graphs" / f"{name}.py")
    assert trip.difference(tmp_path) == ""
    assert trip.conversion.map["not_converted"] == []


SEEDED = """
import numpy as np
import tensorflow as tf
tf.set_random_seed(5)
x = tf.placeholder(tf.float32, [None, 3], name="x")
w = tf.Variable(tf.truncated_normal([3, 4], stddev=0.1), name="w")
v = tf.get_variable("v", [4, 2], initializer=tf.random_uniform_initializer(-0.5, 0.5, seed=3))
copy = tf.get_variable("copy", [4, 2], initializer=tf.random_uniform_initializer(-0.5, 0.5, seed=3))
noise = tf.random_normal(tf.shape(x), 0.0, 0.3, seed=7)
h = tf.nn.dropout(tf.nn.relu(tf.matmul(x + noise, w)), keep_prob=0.5)
loss = tf.reduce_mean(tf.square(tf.matmul(h, v + copy)))
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    data = np.random.RandomState(0).randn(8, 3)
    first = sess.run([w, v])
    for i in range(3):
        print(sess.run([loss, train], {x: data})[0])
"""


def test_seeds_give_the_converted_program_the_same_random_numbers(tmp_path: Path) -> None:
    program = tmp_path / "seeded.py"
    program.write_text(SEEDED)
    trip = round_trip(program)
    # the initial values are drawn anew: they are not set from what was recorded
    for one in trip.runs:
        one.before.clear()
    assert trip.difference(tmp_path) == ""
    assert "tf.nn.dropout(" in trip.conversion.text


NAMELESS = """
import tensorflow as tf
def scaled(by):
    return lambda a: a * by
x = tf.placeholder(tf.float32, [3])
y = tf.py_func(scaled(0.5), [x * 2.0], tf.float32)
with tf.Session() as sess:
    print(sess.run(tf.reduce_sum(y), {x: [1.0, 2.0, 3.0]}))
"""


def test_what_cannot_be_converted_is_said_and_counted(tmp_path: Path) -> None:
    program = tmp_path / "nameless.py"
    program.write_text(NAMELESS)
    trip = round_trip(program)
    missing = trip.conversion.map["not_converted"]
    assert {"PyFunc"} <= {m["type"] for m in missing}
    assert trip.conversion.map["rate"] < 1.0
    compile(trip.conversion.text, "nameless_tape.py", "exec")
    assert "NotImplementedError" in trip.difference(tmp_path)


CALLS = """
import numpy as np
import tensorflow as tf
x = tf.placeholder(tf.float32, [None, 3], name="x")
ids = tf.placeholder(tf.int32, [None], name="ids")
table = tf.get_variable("table", [5, 3], initializer=tf.ones_initializer())
w = tf.get_variable("w", [3, 2], initializer=tf.ones_initializer())
logits = tf.matmul(x + tf.nn.embedding_lookup(table, ids), w)
mean, variance = tf.nn.moments(logits, [0])
error = tf.losses.mean_squared_error(tf.zeros_like(logits), logits)
loss = error + 0.1 * tf.nn.l2_loss(w) + tf.reduce_sum(mean + variance)
optimizer = tf.train.GradientDescentOptimizer(0.1)
pairs = optimizer.compute_gradients(loss)
grads, norm = tf.clip_by_global_norm([g for g, _ in pairs], 0.5)
train = optimizer.apply_gradients(zip(grads, [v for _, v in pairs]))
by_norm = optimizer.apply_gradients([(tf.clip_by_norm(g, 0.2), v) for g, v in pairs])
inner = tf.nn.l2_normalize(logits, 1)
parts = tf.gradients(inner, inner.op.inputs[1])
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(3):
        feed = {x: np.arange(6.0).reshape(2, 3) + i, ids: [1, 1 + i]}
        sess.run([loss, norm, train], feed)
        sess.run([mean, variance, error, by_norm, inner, parts], feed)
"""


def test_calls_that_make_several_nodes_stay_calls(tmp_path: Path) -> None:
    program = tmp_path / "calls.py"
    program.write_text(CALLS)
    trip = round_trip(program)
    text = trip.conversion.text
    assert trip.difference(tmp_path) == "", text
    assert trip.conversion.map["not_converted"] == []
    for call in (
        "tf.nn.moments(logits, [0])",
        "0.1 * tf.nn.l2_loss(w)",
        "tf.compat.v1.losses.mean_squared_error(",
        "grads, norm = tf.clip_by_global_norm(gradients, 0.5)",
        "optimizer.apply_gradients(zip(grads, [table, w]))",
        "[tf.clip_by_norm(gradients[0], 0.2), tf.clip_by_norm(gradients[1], 0.2)]",
    ):
        assert call in text, (call, text)
    # a gradient with respect to what it computes on the way: it cannot be one call
    assert "l2_normalize" not in text


OPS = sorted({row.name for row, _ in TABLE if isinstance(row, Op)})


@pytest.mark.parametrize("name", OPS)
def test_an_op_with_a_public_name_is_spelled_by_a_call(name: str) -> None:
    op = next(row for row, _ in TABLE if isinstance(row, Op) and row.name == name)
    for dtype in (float32, bool_, int32, complex64):
        trace = Trace()
        operands = [trace.placeholder(Aval((3, 3), dtype)) for _ in op.args]
        try:
            trace.apply(op, operands, {})
        except DTypeError:
            continue
        assert spelled(trace.nodes[-1]) is not None
        return
    pytest.fail(f"{name} takes none of the dtypes tried")


STOPPED = """
import numpy as np
import tensorflow as tf
x = tf.placeholder(tf.float32, [4])
a = tf.tanh(x)
loss = tf.reduce_sum(a * x)
(g,) = tf.gradients(loss, x, stop_gradients=[a])
(h,) = tf.gradients(tf.add_n([tf.sin(x * k) for k in (1.0, 1.1, 1.3, 1.7, 1.9)]), x,
                    aggregation_method=tf.AggregationMethod.EXPERIMENTAL_TREE)
with tf.Session() as sess:
    for i in range(3):
        print(sess.run([g, h], {x: np.arange(4.0) + i}))
"""


def test_what_a_gradient_was_told_is_not_lost(tmp_path: Path) -> None:
    program = tmp_path / "stopped.py"
    program.write_text(STOPPED)
    trip = round_trip(program)
    assert "EXPERIMENTAL_TREE" in trip.conversion.text
    # tapes have no `stop_gradients`: the gradient is not written as one, and what has no spelling is said
    assert "SpreadLike" in {m["type"] for m in trip.conversion.map["not_converted"]}
    assert trip.conversion.text.count("tape.gradient") == 1


BEGINNING = """
import numpy as np
import tensorflow as tf
x = tf.placeholder(tf.float32, [4, 5, 3], name="x")
"""
END = """
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(2):
        print(sess.run(runs, {x: np.random.RandomState(i).randn(4, 5, 3), **fed}))
"""
ALIKE = {
    "what is computed before a variable changes": """
w, fed, before = tf.Variable([2.0, 3.0]), {}, []
before.append(tf.square(w * 2.0 + tf.reduce_sum(x)))
with tf.control_dependencies(before):
    runs = [before[0], tf.assign(w, tf.exp(-w)).op]
""",
    "a state that stacked cells use more than once": """
cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.GRUCell(3) for _ in range(2)])
outputs, state = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32)
loss, fed = tf.reduce_mean(tf.square(outputs)), {}
runs = [state, tf.train.RMSPropOptimizer(0.1).minimize(loss)]
""",
    "the parts of what top_k gives": """
found, fed = tf.nn.top_k(tf.reshape(x, [4, 15]), 3), {}
runs = [found.values, found.indices, tf.gradients(tf.square(found.values), x)[0]]
""",
    "a loss that waits for shapes": """
keep = tf.placeholder(tf.float32)
w = tf.Variable(np.random.RandomState(0).randn(3, 2).astype(np.float32))
logits = tf.matmul(tf.reshape(x, [-1, 3]), w) * keep
loss = tf.losses.sparse_softmax_cross_entropy(labels=tf.range(20) % 2, logits=logits)
runs, fed = [loss, tf.train.AdamOptimizer(0.1).minimize(loss)], {keep: 0.5}
""",
    "an image that is made larger, a band, and gradients of each part": """
w, fed = tf.Variable(np.random.RandomState(0).randn(2, 2, 2, 3).astype(np.float32)), {}
image = tf.nn.conv2d_transpose(tf.expand_dims(x, 0), w, [1, 8, 10, 2], [1, 2, 2, 1])
band = tf.matrix_band_part(tf.tanh(image), 1, 0)
runs = [band, *[tf.gradients(band[..., i], x)[0] for i in range(2)]]
""",
}


@pytest.mark.parametrize("name", ALIKE)
def test_what_published_programs_do(name: str, tmp_path: Path) -> None:
    check_round_trip(ALIKE[name], tmp_path)


def check_round_trip(middle: str, folder: Path) -> None:
    """A program converts without a gap, and what it was converted to does the same."""
    program = folder / "program.py"
    program.write_text(BEGINNING + middle + END)
    trip = round_trip(program)
    assert trip.conversion.map["not_converted"] == []
    assert trip.difference(folder) == "", trip.conversion.text


def test_operations_of_one_seed_draw_the_same_without_a_seed_of_the_graph(tmp_path: Path) -> None:
    program = tmp_path / "seeds.py"
    made = "tf.get_variable('%s', [2, 3], initializer=tf.glorot_uniform_initializer(seed=7))"
    program.write_text(
        f"import tensorflow as tf\na, b = {made % 'a'}, {made % 'b'}\n"
        "y = tf.matmul(a, b, transpose_b=True)\nwith tf.Session() as sess:\n"
        "    sess.run(tf.global_variables_initializer())\n    sess.run(y)\n"
    )
    trip = round_trip(program)
    for one in trip.runs:
        one.before.clear()
    draws.reset(None)  # as in a process of its own
    assert trip.difference(tmp_path) == "", trip.conversion.text


KEPT = {
    "steps of two optimizers, in three copies": """
total = tf.Variable([1.0, 2.0, 3.0], name="total")
other = tf.Variable([0.5], name="other")
one, two = tf.train.RMSPropOptimizer(0.1), tf.train.RMSPropOptimizer(0.2)
runs, fed = [], {}
for i in range(3):
    w = tf.Variable(np.random.RandomState(i).randn(3).astype(np.float32), name="w%d" % i)
    b = tf.Variable([0.1 * i], name="b%d" % i)
    y = tf.tanh(tf.reduce_sum(x * w, 2)) + b
    a_loss, c_loss = tf.reduce_mean(tf.square(y)), tf.reduce_mean(tf.abs(y - 0.3))
    a_grads, c_grads = tf.gradients(a_loss, [w]), tf.gradients(c_loss, [b])
    runs.append([one.apply_gradients(zip(a_grads, [total])), two.apply_gradients(zip(c_grads, [other]))])
""",
    "second derivatives along several ways, differentiated again": """
draw = np.random.RandomState(0)
w, m, v = [tf.Variable(draw.randn(*n).astype(np.float32)) for n in [(3, 8), (8, 8), (8, 2)]]
p, q, r = [tf.placeholder(tf.float32, [None, 1]) for _ in range(3)]
def residuals():
    h = tf.matmul(tf.tanh(tf.matmul(tf.tanh(tf.matmul(tf.concat([p, q, r], 1), w)), m)), v)
    a, b = h[:, :1], h[:, 1:]
    u, s = tf.gradients(a, q)[0], -tf.gradients(a, p)[0]
    u_r, u_p, u_q = tf.gradients(u, [r, p, q])
    u_pp, u_qq = tf.gradients(u_p, p)[0], tf.gradients(u_q, q)[0]
    s_r, s_p, s_q = tf.gradients(s, [r, p, q])
    s_pp, s_qq = tf.gradients(s_p, p)[0], tf.gradients(s_q, q)[0]
    b_p, b_q = tf.gradients(b, [p, q])
    return u, u_r + u * u_p + s * u_q + b_p - 0.1 * (u_pp + u_qq), s_r + u * s_p + s * s_q + b_q - 0.1 * (s_pp + s_qq)
u, f, g = residuals()
loss = tf.reduce_sum(tf.square(u)) + tf.reduce_sum(tf.square(f)) + tf.reduce_sum(tf.square(g))
fed = {k: np.random.RandomState(i).rand(20, 1) for i, k in enumerate([p, q, r])}
runs = [loss, tf.train.AdamOptimizer(0.01).minimize(loss)]
""",
    "a state that is a constant unless it is fed": """
tf.get_variable_scope().set_initializer(tf.constant_initializer(0.1))
cell = tf.nn.rnn_cell.BasicLSTMCell(2)
state = cell.zero_state(4, tf.float32)
(step,) = tf.split(x[:, :1], 1, 1)
outputs, last = tf.nn.static_rnn(cell, [tf.squeeze(step, [1])], state)
fed = {state.c: np.ones([4, 2]), state.h: np.full([4, 2], 0.5)}
runs = [last, tf.reduce_sum(outputs[0])]
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(2):
        print(sess.run(last, {x: np.random.RandomState(i).randn(4, 5, 3), **fed}))
""",
    "a branch that does not use what the gradient is taken of": """
k = tf.placeholder(tf.float32, [])
y = tf.case([(tf.less(k, 0.0), lambda: k * -1.0), (tf.less(k, 4.0), lambda: k * k)], default=lambda: tf.constant(-1.0))
runs, fed = [y, tf.gradients(y, k)[0]], {k: 5.0}
""",
    "constants and fed tensors of strings": """
s = tf.placeholder(tf.string, [None])
both = tf.string_join([s, "x"], separator="_")
table, few = tf.constant(["n%d_x" % i for i in range(40)]), tf.constant([["n1", "n2"]])
code = tf.argmax(tf.cast(tf.equal(tf.expand_dims(both, 1), table[None]), tf.int32), 1)
w = tf.Variable(np.arange(40.0, dtype=np.float32))
loss = tf.reduce_sum(tf.square(tf.gather(w, code))) + tf.reduce_sum(x)
runs, fed = [loss, tf.equal(s[:, None], few), tf.gradients(loss, w)[0]], {s: ["n3", "n2", "n39"]}
""",
    "sequences turned round, of unequal lengths": """
lengths = tf.placeholder(tf.int32, [4])
w = tf.Variable(np.random.RandomState(0).randn(3, 2).astype(np.float32))
y = tf.tensordot(tf.reverse_sequence(x, lengths, seq_axis=1, batch_axis=0), w, 1)
runs, fed = [y, tf.gradients(tf.reduce_sum(y[:, 0] ** 2), w)[0]], {lengths: [5, 2, 1, 3]}
""",
    "a list that holds a variable twice": """
w, v = tf.Variable([1.0, 2.0, 3.0], name="w"), tf.Variable([0.5, 0.5, 0.5], name="v")
loss = tf.reduce_mean(tf.square(x * w + v))
runs, fed = tf.gradients(loss, [w, v, w]), {}
""",
}


@pytest.mark.parametrize("name", KEPT)
def test_no_statement_is_lost_moved_or_written_for_another(name: str, tmp_path: Path) -> None:
    check_round_trip(KEPT[name], tmp_path)


TWO_GRAPHS = """
import numpy as np
import tensorflow as tf

def build(scale):
    graph = tf.Graph()
    with graph.as_default():
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        w = tf.get_variable("w", initializer=scale * np.ones((2, 1), np.float32))
        tf.reduce_sum(tf.tanh(tf.matmul(x, w)) * scale, name="y")
        tf.train.MomentumOptimizer(0.1, 0.9).minimize(w[0, 0] ** 2, name="step")
    return graph

for scale in (1.0, 2.0):
    graph = build(scale)
    with tf.Session(graph=graph) as sess:
        with graph.as_default():
            sess.run(tf.global_variables_initializer())
        sess.run("step")
        print(sess.run("y:0", {"x:0": np.arange(6.0).reshape(3, 2)}))
"""


def test_graphs_of_equal_names_are_told_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each has variables and fetches of its own, in the conversion and when it is compared."""
    (tmp_path / "two.py").write_text(TWO_GRAPHS)
    assert round_trip(tmp_path / "two.py").difference(tmp_path) == ""
    assert dualgrad(tmp_path, "record", "-o", "record", "two.py") == 0
    assert dualgrad(tmp_path, "convert", "--functions", "-o", "two_tape.py", "two.py") == 0
    assert dualgrad(tmp_path, "compare", "record", "two_tape.py") == 0
    assert "EQUAL TO THE BIT" in capsys.readouterr().out
