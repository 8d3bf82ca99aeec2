"""Several replicas of one program, started by MPI: all make the step of the whole batch."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tape_api as tf
from tests.cluster import replica_program

ROOT = Path(__file__).parents[2]


def mpiexec() -> str:
    """Of this environment, or of the machine."""
    pytest.importorskip("mpi4py")
    beside = Path(sys.executable).with_name("mpiexec")
    found = str(beside) if beside.exists() else shutil.which("mpiexec")
    if found is None:
        pytest.skip("needs mpiexec")
    return found


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    out = tmp_path_factory.mktemp("replicas")
    command = [mpiexec(), "-n", "2", sys.executable, "-m", "mpi4py", replica_program.__file__, str(out)]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads((out / f"{rank}.json").read_text()) for rank in range(2)]


@pytest.mark.cluster
def test_replicas_begin_and_end_with_the_same_variables(seen: list[dict[str, Any]]) -> None:
    one, other = seen
    assert one["first"] == other["first"]
    assert one["last"] == other["last"]
    assert one["losses"] == other["losses"]
    assert one["first"] != one["last"]


@pytest.mark.cluster
def test_their_steps_are_those_of_the_whole_batch(seen: list[dict[str, Any]]) -> None:
    model = tf.keras.Sequential([tf.keras.layers.Dense(4, "tanh"), tf.keras.layers.Dense(1)])
    model.build((None, 3))
    table = tf.Variable(tf.zeros([5, 2]))
    variables = [*model.trainable_variables, table]
    for v, value in zip(variables, seen[0]["first"], strict=True):
        v.assign(np.array(value, np.float32))
    optimizer, losses = tf.keras.optimizers.Adam(0.01), []
    for k in range(0, 24, replica_program.BATCH):
        x, y = (tf.constant(d[k : k + replica_program.BATCH]) for d in (replica_program.X, replica_program.Y))
        with tf.GradientTape() as tape:
            rows = tf.gather(table, tf.cast(tf.abs(x[:, 0]) * 2.0, tf.int32) % 5)
            loss = tf.reduce_mean(tf.reduce_sum((model(x) - y) ** 2, axis=1))
            loss += tf.reduce_sum(rows**2) / replica_program.BATCH
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        losses.append(float(loss))
    np.testing.assert_allclose(seen[0]["losses"], losses, rtol=1e-5)
    for v, value in zip(variables, seen[0]["last"], strict=True):
        np.testing.assert_allclose(v.numpy(), value, rtol=1e-4, atol=1e-6)


@pytest.mark.cluster
def test_what_replicas_say_of_themselves(seen: list[dict[str, Any]]) -> None:
    assert [s["replicas"] for s in seen] == [2, 2]
    assert [s["mean"] for s in seen] == [1.5, 1.5]
    assert [s["all"] for s in seen] == [[0, 1], [0, 1]]
    assert [s["each"] for s in seen] == [3, 3]
    for s in seen:
        assert ["strategy.run" in message for message in s["refused"]] == [True, True]


def test_a_program_that_is_alone_is_the_only_replica(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "MV2_COMM_WORLD_SIZE", "TF_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    assert strategy.num_replicas_in_sync == 1
    with strategy.scope():
        v = tf.Variable(1.0)
    optimizer = tf.keras.optimizers.SGD(1.0)
    strategy.run(lambda: optimizer.apply_gradients([(tf.constant(0.25), v)]))
    assert float(v) == 0.75


def test_other_workers_are_not_silently_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": {"worker": ["a:1", "b:1"]}, "task": {"index": 0}}))
    with pytest.raises(NotImplementedError, match=r"TF_CONFIG names 2 workers.*mpiexec -n 2"):
        tf.distribute.MultiWorkerMirroredStrategy()
    monkeypatch.setenv("PMI_SIZE", "2")
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(ImportError, match="mpi4py is not installed"):
        tf.distribute.MultiWorkerMirroredStrategy()


class Twice:
    """Two replicas that have the same, or what is said."""

    rank, size = 0, 2

    def __init__(self, other: Any = None) -> None:
        self.other = other

    def allgather(self, sendobj: Any) -> list[Any]:
        return [sendobj, sendobj if self.other is None else self.other]


def in_replicas(workers: Twice, step: Callable[[], Any]) -> None:
    strategy = tf.distribute.MirroredStrategy()
    strategy.workers = workers
    strategy.run(step)


def test_steps_that_one_replica_may_leave_out_are_refused() -> None:
    v = tf.Variable([1.0, 2.0])
    plain = tf.keras.optimizers.SGD(1.0)
    in_replicas(Twice(), lambda: plain.apply_gradients([(tf.constant([0.25, 0.5]), v)]))
    np.testing.assert_array_equal(v, [0.5, 1.0])
    scaled = tf.keras.mixed_precision.LossScaleOptimizer(tf.keras.optimizers.SGD(1.0))
    with pytest.raises(NotImplementedError, match="leaves out steps"):
        in_replicas(Twice(), lambda: scaled.apply_gradients([(tf.constant([0.25, 0.5]), v)]))
    np.testing.assert_array_equal(v, [0.5, 1.0])


def test_replicas_with_other_gradients_are_refused() -> None:
    v, optimizer = tf.Variable([1.0, 2.0]), tf.keras.optimizers.SGD(1.0)
    for other, said in (([], r"have \[1, 0\] gradients"), ([None], "gradient of one kind")):
        with pytest.raises(ValueError, match=said):
            in_replicas(Twice(other), lambda: optimizer.apply_gradients([(tf.ones(2), v)]))


def test_unequal_parts_are_refused() -> None:
    with pytest.raises(ValueError, match="multiple of the 2 replicas, got 5"):
        tf.distribute.InputContext(2, 0, 2).get_per_replica_batch_size(5)
