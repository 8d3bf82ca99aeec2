"""Writes the files in ``tests/graph_files/golden`` with real TensorFlow: ``python -m tests.graph_files.golden``.

Each program is a graph with what TensorFlow computed of it, frozen (variables become constants) or with a checkpoint.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

GOLDEN = Path(__file__).parent / "golden"
STEPS = 3
"""Training steps whose losses are kept."""


def numbers(*shape: int) -> np.ndarray:
    """Numbers between -1 and 1, the same each time."""
    return np.sin(np.arange(1.0, 1 + np.prod(shape))).astype(np.float32).reshape(shape)


def weights(tf: Any, name: str, *shape: int) -> Any:
    """A variable with such numbers."""
    return tf.get_variable(name, initializer=numbers(*shape) * 0.5)


# ---- frozen graphs ---------------------------------------------------------------------------------------------------


def mlp(tf: Any) -> tuple[list[str], dict[str, Any]]:
    """Two layers, a loss, and its gradients."""
    x = tf.placeholder(tf.float32, [None, 4], name="x")
    labels = tf.placeholder(tf.int32, [None], name="labels")
    h = tf.nn.relu(tf.nn.bias_add(tf.matmul(x, weights(tf, "w1", 4, 5)), weights(tf, "b1", 5)))
    logits = tf.add(tf.matmul(h, weights(tf, "w2", 5, 3)), weights(tf, "b2", 3), name="logits")
    each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    loss = tf.reduce_mean(each, name="loss")
    for v, g in zip(tf.trainable_variables(), tf.gradients(loss, tf.trainable_variables()), strict=True):
        tf.identity(g, name=f"d_{v.op.name}")
    names = ["logits:0", "loss:0", "d_w1:0", "d_b1:0", "d_w2:0", "d_b2:0"]
    return names, {"x:0": numbers(6, 4), "labels:0": np.array([0, 1, 2, 2, 1, 0], np.int32)}


def convnet(tf: Any) -> tuple[list[str], dict[str, Any]]:
    """Convolution, batch normalization as it is at inference, pooling, and a dense layer."""
    x = tf.placeholder(tf.float32, [None, 8, 8, 2], name="x")
    y = tf.nn.conv2d(x, weights(tf, "filters", 3, 3, 2, 4), [1, 1, 1, 1], "SAME")
    scale, offset = weights(tf, "scale", 4) + 1.5, weights(tf, "offset", 4)
    mean, variance = weights(tf, "mean", 4), tf.square(weights(tf, "spread", 4)) + 0.5
    y = tf.nn.fused_batch_norm(y, scale, offset, mean, variance, is_training=False)[0]
    y = tf.nn.max_pool(tf.nn.relu6(y), [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
    flat = tf.reshape(y, tf.stack([tf.shape(y)[0], -1]))
    tf.nn.softmax(tf.matmul(flat, weights(tf, "dense", 64, 3)), name="out")
    return ["out:0"], {"x:0": numbers(2, 8, 8, 2)}


def inception(tf: Any) -> tuple[list[str], dict[str, Any]]:
    """Four ways side by side, joined along the channels, and a response normalization."""
    x = tf.placeholder(tf.float32, [None, 6, 6, 3], name="x")

    def conv(x: Any, name: str, size: int, channels: int) -> Any:
        filters = weights(tf, name, size, size, int(x.shape[3]), channels)
        return tf.nn.relu(
            tf.nn.bias_add(tf.nn.conv2d(x, filters, [1, 1, 1, 1], "SAME"), weights(tf, f"{name}_b", channels))
        )

    with tf.name_scope("mixed"):
        ways = [conv(x, "a", 1, 2), conv(conv(x, "b1", 1, 2), "b2", 3, 3), conv(conv(x, "c1", 1, 2), "c2", 5, 2)]
        ways.append(conv(tf.nn.avg_pool(x, [1, 3, 3, 1], [1, 1, 1, 1], "SAME"), "d", 1, 2))
        y = tf.nn.lrn(tf.concat(ways, 3), 2, alpha=1e-2, beta=0.75)
    tf.reduce_mean(tf.pad(y, [[0, 0], [1, 1], [0, 0], [0, 0]]), [1, 2], name="out")
    return ["out:0"], {"x:0": numbers(2, 6, 6, 3)}


def flow(tf: Any) -> tuple[list[str], dict[str, Any]]:
    """Choices in choices, loops in loops, and an array of tensors, as TensorFlow 1 writes them."""
    x = tf.placeholder(tf.float32, [], name="x")
    xs = tf.placeholder(tf.float32, [None, 2], name="xs")
    a, b = tf.cond(x > 0, lambda: tf.cond(x > 1, lambda: (x * 5, x + 1), lambda: (x * 7, x)), lambda: (x * 9, -x))
    c = tf.while_loop(lambda i, c: i < 5, lambda i, c: (i + 1, tf.cond(c > 3, lambda: c - 2, lambda: c * a)), [0, x])[1]
    d = tf.while_loop(
        lambda i, d: i < 3,
        lambda i, d: (i + 1, d + tf.while_loop(lambda e: e < 4.0, lambda e: e * 2 + 1, [tf.abs(x)])),
        [0, b],
    )[1]
    rows = tf.map_fn(lambda row: tf.reduce_sum(row) * x, xs)
    for name, value in {"a": a, "b": b, "c": c, "d": d, "rows": rows}.items():
        tf.identity(value, name=name)
    return [f"{name}:0" for name in ("a", "b", "c", "d", "rows")], {"x:0": np.float32(1.5), "xs:0": numbers(3, 2)}


FROZEN: tuple[Callable[..., Any], ...] = (mlp, convnet, inception, flow)


# ---- training --------------------------------------------------------------------------------------------------------


def training(tf: Any) -> tuple[list[str], dict[str, Any]]:
    """A regression with embeddings, Adam, a global step, a summary, and a collection of its own."""
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    ids = tf.placeholder(tf.int32, [None], name="ids")
    y = tf.placeholder(tf.float32, [None, 1], name="y")
    h = tf.tanh(tf.matmul(x, weights(tf, "w", 3, 4))) * tf.nn.embedding_lookup(weights(tf, "table", 5, 4), ids)
    loss = tf.reduce_mean(tf.square(tf.matmul(h, weights(tf, "v", 4, 1)) - y), name="loss")
    step = tf.train.get_or_create_global_step()
    tf.train.AdamOptimizer(0.05).minimize(loss, global_step=step, name="train")
    tf.summary.scalar("loss_summary", loss)
    tf.add_to_collection("to_watch", loss)
    return ["loss:0"], {"x:0": numbers(8, 3), "ids:0": np.arange(8, dtype=np.int32) % 5, "y:0": numbers(8, 1)}


def main() -> None:
    """Write all of them."""
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
    tf.disable_control_flow_v2()
    GOLDEN.mkdir(exist_ok=True)
    for program in FROZEN:
        with tf.Graph().as_default() as graph, tf.Session() as session:
            names, feeds = program(tf)
            session.run(tf.global_variables_initializer())
            results = session.run(names, feeds)
            nodes = [name.partition(":")[0] for name in names]
            frozen = tf.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), nodes)
        (GOLDEN / f"{program.__name__}.pb").write_bytes(frozen.SerializeToString(deterministic=True))
        np.savez(GOLDEN / f"{program.__name__}.npz", **feeds, **dict(zip(names, results, strict=True)))
    with tf.Graph().as_default(), tf.Session() as session:
        _, feeds = training(tf)
        session.run(tf.global_variables_initializer())
        session.run("train", feeds)
        saver = tf.train.Saver()
        saver.save(session, str(GOLDEN / "training"), write_state=False)
        losses = [session.run(["loss:0", "train"], feeds)[0] for _ in range(STEPS)]
    np.savez(GOLDEN / "training.npz", **feeds, losses=np.array(losses))


if __name__ == "__main__":
    main()
