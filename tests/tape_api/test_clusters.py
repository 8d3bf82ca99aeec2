"""Descriptions of clusters, and strategies for the one worker there is. The figures are TensorFlow 2.21's."""

import json
from typing import Any

import pytest

import tape_api as tf

SPEC = {"worker": ["a:1", "b:2"], "ps": ["c:3"]}
experimental = tf.distribute.experimental


def test_a_cluster_is_names_and_addresses() -> None:
    spec = tf.train.ClusterSpec(SPEC)
    assert spec.as_dict() == SPEC and spec.jobs == ["worker", "ps"] and spec.task_indices("worker") == [0, 1]
    assert spec.task_address("worker", 1) == "b:2" and spec.job_tasks("ps") == ["c:3"] and spec.num_tasks("ps") == 1
    assert spec == tf.train.ClusterSpec(spec) and spec and not tf.train.ClusterSpec({})
    assert str(spec) == "ClusterSpec({'ps': ['c:3'], 'worker': ['a:1', 'b:2']})"
    holes = tf.train.ClusterSpec({"w": {1: "x:2"}})
    assert holes.as_dict() == {"w": {1: "x:2"}} and holes.job_tasks("w") == [None, "x:2"]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda c: c(3), "`cluster` must be a dictionary"),
        (lambda c: c({"w": "x"}), "must be a list or a dictionary"),
        (lambda c: c({"w": [1]}), "Task address 1 must be bytes or unicode"),
        (lambda c: c(SPEC).num_tasks("zz"), "No such job in cluster: 'zz'"),
        (lambda c: c(SPEC).task_address("worker", 5), "No task with index 5 in job 'worker'"),
    ],
)
def test_no_cluster(call: Any, words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        call(tf.train.ClusterSpec)


def test_resolvers(monkeypatch: pytest.MonkeyPatch) -> None:
    resolvers = tf.distribute.cluster_resolver
    monkeypatch.delenv("TF_CONFIG", raising=False)
    assert not resolvers.TFConfigClusterResolver().cluster_spec() and resolvers.TFConfigClusterResolver().master() == ""
    config = {"cluster": {"worker": ["h1:1", "h2:2"]}, "task": {"type": "worker", "index": 1}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(config))
    found = resolvers.TFConfigClusterResolver()
    assert (found.task_type, found.task_id, found.master()) == ("worker", 1, "h2:2")
    assert found.master("worker", 0, "grpc") == "grpc://h1:1"
    with pytest.raises(NotImplementedError, match=r"MPI has started none|mpiexec"):
        tf.distribute.MultiWorkerMirroredStrategy()
    monkeypatch.delenv("TF_CONFIG")
    simple = resolvers.SimpleClusterResolver(tf.train.ClusterSpec(SPEC), task_type="worker", task_id=1)
    other = resolvers.SimpleClusterResolver(tf.train.ClusterSpec({"worker": ["z:9"]}), master="m")
    with pytest.raises(NotImplementedError, match="the cluster has 2 workers, and MPI has started none"):
        tf.distribute.MultiWorkerMirroredStrategy(simple)
    assert simple.master() == "" and other.master() == "m" and simple.num_accelerators() == {}
    with pytest.raises(TypeError, match=r"must be a `tf\.train\.ClusterSpec`"):
        resolvers.SimpleClusterResolver({})


def test_one_worker_computes_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TF_CONFIG", raising=False)
    options = experimental.CommunicationOptions(5, implementation="RING")
    assert options.implementation is experimental.CommunicationImplementation.RING
    kinds = [tf.distribute.MultiWorkerMirroredStrategy, experimental.CentralStorageStrategy]
    for strategy in (*[kind() for kind in kinds], kinds[0](communication_options=options)):
        with strategy.scope():
            v = tf.Variable(2.0)
        parts = strategy.run(lambda v=v: v.assign_add(1.0))
        assert strategy.num_replicas_in_sync == 1 and strategy.reduce("sum", parts, axis=None).numpy() == 3.0
    with pytest.raises(ValueError, match="`bytes_per_pack` must be >=0"):
        experimental.CommunicationOptions(-1)
    with pytest.raises(ValueError, match="Argument `implementation` must be instance of"):
        experimental.CommunicationOptions(implementation=3)
