"""A program for several replicas; each writes what it saw: ``mpiexec -n 2 python -m mpi4py replica_program.py OUT``."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import tape_api as tf

BATCH = 6
rng = np.random.default_rng(0)
X, Y = rng.normal(size=(24, 3)).astype(np.float32), rng.normal(size=(24, 1)).astype(np.float32)


def main(out: str) -> None:
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    context = tf.distribute.InputContext(2, 1, 2)
    rank = strategy.cluster_resolver.task_id
    tf.random.set_seed(rank)  # so that what is drawn differs
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(4, "tanh"), tf.keras.layers.Dense(1)])
        model.build((None, 3))
        table = tf.Variable(tf.random.normal([5, 2]))
        optimizer = tf.keras.optimizers.Adam(0.01)
        refused = []
        for forbidden in (lambda: model.compile("sgd"), lambda: optimizer.apply_gradients([(tf.ones([5, 2]), table)])):
            try:
                forbidden()
            except (NotImplementedError, RuntimeError) as error:
                refused.append(str(error))

    def step(x: Any, y: Any) -> Any:
        variables = [*model.trainable_variables, table]
        with tf.GradientTape() as tape:
            each = tf.reduce_sum((model(x) - y) ** 2, axis=1)
            rows = tf.gather(table, tf.cast(tf.abs(x[:, 0]) * 2.0, tf.int32) % 5)
            loss = tf.nn.compute_average_loss(each, global_batch_size=BATCH) + tf.reduce_sum(rows**2) / BATCH
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    run = tf.function(lambda x, y: strategy.run(step, args=(x, y)))
    first = [v.numpy().tolist() for v in [*model.trainable_variables, table]]
    batches = strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices((X, Y)).batch(BATCH))
    losses = [float(strategy.reduce("SUM", run(*batch), axis=None)) for batch in batches]
    mean = strategy.reduce("MEAN", tf.range(3.0) + rank, axis=0)
    everyone = strategy.gather(tf.constant([rank]), axis=0)
    seen = {
        "first": first,
        "last": [v.numpy().tolist() for v in [*model.trainable_variables, table]],
        "losses": losses,
        "mean": float(mean),
        "all": everyone.numpy().tolist(),
        "refused": refused,
        "replicas": strategy.num_replicas_in_sync,
        "each": context.get_per_replica_batch_size(BATCH),
    }
    Path(out, f"{rank}.json").write_text(json.dumps(seen))


if __name__ == "__main__":
    main(sys.argv[1])
