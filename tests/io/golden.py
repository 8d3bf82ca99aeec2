"""Writes the files in ``tests/io/golden`` with real TensorFlow: ``python -m tests.io.golden``."""

from pathlib import Path
from typing import Any

import numpy as np

GOLDEN = Path(__file__).parent / "golden"


def main() -> None:
    import tensorflow.compat.v1 as tf

    from tests.io.test_checkpoints import tensors

    def saved(make: Any, name: str, **options: Any) -> None:
        with tf.Graph().as_default(), tf.Session() as session:
            variables = make()
            session.run(tf.global_variables_initializer())
            tf.train.Saver(variables, **options).save(
                session, str(GOLDEN / name), write_meta_graph=False, write_state=False
            )

    def all_of_them(kinds: Any = None) -> list[Any]:
        given = {n: a for n, a in tensors().items() if kinds is None or n in kinds}
        return [tf.get_variable(n, initializer=a, use_resource=False) for n, a in given.items()]

    def in_parts() -> list[Any]:
        part = tf.get_variable(
            "part",
            (5, 2),
            partitioner=tf.fixed_size_partitioner(2),
            initializer=lambda shape, dtype, partition_info: np.arange(10.0, dtype=np.float32).reshape(5, 2)[
                partition_info.var_offset[0] :
            ][: shape[0]],
        )
        return [*part, tf.get_variable("whole", initializer=[7.0, 8.0])]

    saved(all_of_them, "bundle")
    saved(in_parts, "parts")
    kinds = {"v_float16", "v_float32", "v_float64", "v_bool", "v_int8", "v_int64", "v_uint8", "v_complex64", "strings"}
    saved(lambda: all_of_them(kinds | {"scalar"}), "first", write_version=tf.train.SaverDef.V1)

    def on_two_devices() -> list[Any]:
        made = []
        for i in range(2):
            with tf.device(f"/cpu:{i}"):
                made.append(tf.get_variable(f"on_{i}", initializer=np.float32(i + 1), use_resource=False))
        return made

    config = tf.ConfigProto(device_count={"CPU": 2})
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        variables = on_two_devices()
        session.run(tf.global_variables_initializer())
        saver = tf.train.Saver(variables, sharded=True, write_version=tf.train.SaverDef.V1)
        saver.save(session, str(GOLDEN / "shards"), write_meta_graph=False, write_state=False)


if __name__ == "__main__":
    main()
