"""Pipelines that run on either TensorFlow, and show what comes out of them as text.

``python -m tests.data.programs`` writes what real TensorFlow makes of them to ``figures.json``.
"""

import collections
import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np

FIGURES = Path(__file__).with_name("figures.json")
X, Y = np.arange(10.0).reshape(5, 2), np.array([1, 2, 3, 4, 5])


def shown(x: Any) -> Any:
    """Arrays with their dtypes, in structures, as text that is the same for all versions of NumPy."""
    if isinstance(x, dict):
        return {k: shown(v) for k, v in sorted(x.items())}
    if isinstance(x, (tuple, list)):
        return [shown(v) for v in x]
    if isinstance(x, (np.ndarray, np.generic)):
        return [x.dtype.name, str(x.tolist())]
    return str(x)


def pipelines(tf: Any) -> dict[str, Any]:
    """Data sets for both modes."""
    D = tf.data.Dataset
    rows = D.from_tensor_slices((X, Y))
    pair = collections.namedtuple("pair", "x y")

    def summed(a: Any, b: Any) -> Any:
        return {"sum": tf.reduce_sum(a), "next": b + 1}

    def larger(a: Any, b: Any) -> Any:
        return tf.greater(b, 2)

    def window_batch(w: Any) -> Any:
        return w.batch(3)

    def repeated(i: Any) -> Any:
        return D.from_tensors(i).repeat(i + 2)

    def up_to(i: Any) -> Any:
        return D.range(i)

    def filled(i: Any) -> Any:
        return tf.fill([i], i)

    def filled_and_number(i: Any) -> Any:
        return tf.fill([i], i), i

    def tens(i: Any) -> Any:
        def plus(j: Any) -> Any:
            return j + i * 10

        return D.range(i).map(plus)

    return {
        "rows": rows,
        "batch": rows.batch(2),
        "batch of full ones": rows.batch(2, drop_remainder=True),
        "shuffle": rows.shuffle(3, seed=7).batch(2).repeat(2),
        "shuffle all": D.range(12).shuffle(12, seed=1).repeat(3),
        "shuffle the same": D.range(8).shuffle(3, seed=4, reshuffle_each_iteration=False).repeat(2),
        "shuffle more": D.range(5).shuffle(50, seed=0),
        "map": rows.map(summed),
        "filter": rows.filter(larger),
        "enumerate": rows.enumerate(5) if hasattr(D, "enumerate") else None,
        "windows": D.range(10).window(3, 2).flat_map(window_batch),
        "full windows": D.range(10).window(3, 2, 2, True).flat_map(window_batch),
        "interleave": D.range(3).interleave(repeated, cycle_length=2, block_length=2),
        "interleave uneven": D.range(7).interleave(up_to, cycle_length=3, block_length=2),
        "flat_map": D.range(1, 6).flat_map(up_to),
        "nested": D.range(1, 5).flat_map(tens),
        "zip": D.zip((D.range(3), D.range(5).batch(2))),
        "concatenate": D.range(3).concatenate(D.range(10, 12)),
        "take": D.range(5).take(3),
        "skip": D.range(5).skip(3),
        "shard": D.range(10).shard(3, 1),
        "down": D.range(10, 0, -3),
        "dict": D.from_tensors({"a": [1, 2], "b": "x"}),
        "padded": D.range(4).map(filled).padded_batch(3, padded_shapes=[None]),
        "padded to": D.range(4).map(filled_and_number).padded_batch(2, padded_shapes=([5], [])),
        "generator": D.from_generator(
            lambda: iter([(1, [1.0, 2.0]), (2, [3.0, 4.0])]), (tf.int32, tf.float32), ((), (2,))
        ),
        "unbatch": rows.batch(2).unbatch(),
        "cache": D.range(5).shuffle(5, seed=1).cache().repeat(2),
        "prefetch": D.range(3).prefetch(1),
        "namedtuple": D.from_tensor_slices(pair([1, 2], [3, 4])).map(lambda p: p.x + p.y),
        "strings": D.from_tensor_slices(["a", "bc"]).batch(2),
    }


def eager(tf: Any) -> dict[str, Any]:
    """What eager iteration gives, with the number of elements and the spec."""
    results = {}
    for name, data in pipelines(tf).items():
        found = [shown(x) for x in itertools.islice(data.as_numpy_iterator(), 40)]
        results[name] = [found, int(data.cardinality()), str(data.element_spec)]
    tf.random.set_seed(3)
    D = tf.data.Dataset
    for name in ("seeded", "seeded again"):
        results[name] = [shown(x) for x in D.range(8).shuffle(4).as_numpy_iterator()]
    results["reduce"] = shown(D.range(5).reduce(np.int64(0), lambda s, v: s + v).numpy())
    results["take_while"] = [shown(x) for x in D.range(5).take_while(lambda v: v < 3).as_numpy_iterator()]
    return results


def drained(tf: Any, session: Any, data: Any) -> list[Any]:
    iterator = tf.data.make_initializable_iterator(data)
    following = iterator.get_next()
    session.run(iterator.initializer)
    found: list[Any] = []
    try:
        for _ in range(40):
            found.append(shown(session.run(following)))  # noqa: PERF401 - it ends by an exception
    except tf.errors.OutOfRangeError:
        found.append("end")
    return found


def graph(tf: Any) -> dict[str, Any]:
    """What a session gives."""
    with tf.Graph().as_default(), tf.Session() as session:
        D = tf.data.Dataset
        results: dict[str, Any] = {
            name: drained(tf, session, data) for name, data in pipelines(tf).items() if data is not None
        }
        scale = tf.constant(10.0, tf.float64)
        results["captured"] = drained(tf, session, D.from_tensor_slices(X).map(lambda a: a * scale))
        v = tf.Variable(5.0, name="v")
        session.run(v.initializer)
        results["variable"] = drained(tf, session, D.range(2).map(lambda i: tf.cast(i, tf.float32) + v))
        double = D.range(3).map(lambda i: tf.py_func(lambda a: a * 2, [i], tf.int64))
        results["py_func"] = drained(tf, session, double)
        total = D.range(5).reduce(np.int64(0), lambda s, x: s + x)
        results["reduce"] = shown(session.run(total))
        rows = D.from_tensor_slices((X, Y))
        results["types"] = str((rows.output_types, rows.output_shapes, rows.batch(2).output_shapes))
        return results


def graph_of_tensorflow(tf: Any) -> dict[str, Any]:
    """The same of real TensorFlow, with the shapes of version 1."""
    tf.compat.v1.disable_v2_tensorshape()
    try:
        return graph(tf.compat.v1)
    finally:
        tf.compat.v1.enable_v2_tensorshape()


def main() -> None:
    import tensorflow as tf

    figures = {"eager": eager(tf)}
    figures["graph"] = graph_of_tensorflow(tf)
    FIGURES.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
