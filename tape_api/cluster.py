"""Descriptions of clusters, ``train.ClusterSpec`` and ``distribute.cluster_resolver``: names and addresses only.

Nothing here opens a connection: a program that asks where it runs is answered, and runs in one process.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from engine.runtime.faces import Shown


class ClusterSpec:
    """Jobs, and the addresses of their tasks.

    Parameters
    ----------
    cluster : ClusterSpec, or dict of str to list of str or dict of int to str

    Raises
    ------
    TypeError
        If it is something else.

    Examples
    --------
    >>> ClusterSpec({"worker": ["a:1", "b:2"]}).task_address("worker", 1)
    'b:2'
    """

    def __init__(self, cluster: Any) -> None:
        if isinstance(cluster, ClusterSpec):
            cluster = cluster.as_dict()
        if not isinstance(cluster, Mapping):
            raise TypeError("`cluster` must be a dictionary mapping job names to lists of addresses, or a ClusterSpec")
        self._jobs: dict[str, dict[int, str]] = {}
        for job, tasks in cluster.items():
            if isinstance(tasks, Sequence) and not isinstance(tasks, (str, bytes)):
                tasks = dict(enumerate(tasks))
            if not isinstance(tasks, Mapping):
                raise TypeError(f"The tasks for job {job!r} must be a list or a dictionary from integers to strings.")
            for address in tasks.values():
                if not isinstance(address, (str, bytes)):
                    raise TypeError(f"Task address {address!r} must be bytes or unicode")
            names = {int(i): a.decode() if isinstance(a, bytes) else a for i, a in tasks.items()}
            self._jobs[str(job)] = dict(sorted(names.items()))

    def as_dict(self) -> dict[str, Any]:
        """The jobs, each with a list of addresses, or a dict if some numbers are left out."""
        whole = {job: list(tasks) == list(range(len(tasks))) for job, tasks in self._jobs.items()}
        return {job: list(tasks.values()) if whole[job] else dict(tasks) for job, tasks in self._jobs.items()}

    @property
    def jobs(self) -> list[str]:
        """The names of the jobs."""
        return list(self._jobs)

    def _tasks(self, job: str) -> dict[int, str]:
        if job not in self._jobs:
            raise ValueError(f"No such job in cluster: {job!r}")
        return self._jobs[job]

    def num_tasks(self, job_name: str) -> int:
        """How many tasks a job has."""
        return len(self._tasks(job_name))

    def task_indices(self, job_name: str) -> list[int]:
        """The numbers of a job's tasks."""
        return list(self._tasks(job_name))

    def task_address(self, job_name: str, task_index: int) -> str:
        """The address of a task.

        Raises
        ------
        ValueError
            If there is no such job or task.
        """
        tasks = self._tasks(job_name)
        if task_index not in tasks:
            raise ValueError(f"No task with index {task_index!r} in job {job_name!r}")
        return tasks[task_index]

    def job_tasks(self, job_name: str) -> list[str | None]:
        """The addresses of a job's tasks, None for numbers that are left out."""
        tasks = self._tasks(job_name)
        return [tasks.get(i) for i in range(max(tasks, default=-1) + 1)]

    def __bool__(self) -> bool:
        return bool(self._jobs)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, ClusterSpec) and self._jobs == other._jobs

    def __hash__(self) -> int:
        return hash(json.dumps(self._jobs, sort_keys=True))

    def __repr__(self) -> str:
        return f"ClusterSpec({dict(sorted(self.as_dict().items()))})"


class ClusterResolver(Shown):
    """Base of what says which cluster there is. A subclass defines `cluster_spec` and `master`."""

    task_type: str | None = None
    task_id: int | None = None
    rpc_layer: str | None = None
    environment: str | None = ""

    def cluster_spec(self) -> ClusterSpec:
        """The cluster."""
        raise NotImplementedError(f"{type(self).__name__} must define cluster_spec()")

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """The address of a task, by default of this one."""
        raise NotImplementedError(f"{type(self).__name__} must define master()")

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None
    ) -> dict[str, int]:
        """How many devices of each kind besides CPUs there are: none."""
        return defaultdict(int)

    def _address(self, job: str | None, task: int | None, layer: str | None) -> str:
        spec = self.cluster_spec()
        job = self.task_type if job is None else job
        task = self.task_id if task is None else task
        layer = self.rpc_layer if layer is None else layer
        if job is None or task is None:
            return ""
        address = spec.task_address(job, task)
        return f"{layer}://{address}" if layer else address


class SimpleClusterResolver(ClusterResolver):
    """A cluster that is given.

    Parameters
    ----------
    cluster_spec : ClusterSpec
    master : str
        The address that `master` gives where no task is asked for.
    task_type, task_id, environment, num_accelerators, rpc_layer : optional

    Raises
    ------
    TypeError
        If `cluster_spec` is no ClusterSpec.
    """

    def __init__(
        self, cluster_spec: ClusterSpec, master: str = "", task_type: str | None = None, task_id: int | None = None,
        environment: str = "", num_accelerators: Mapping[str, int] | None = None, rpc_layer: str | None = None,
    ) -> None:  # fmt: skip
        if not isinstance(cluster_spec, ClusterSpec):
            raise TypeError("cluster_spec must be a `tf.train.ClusterSpec`.")
        self._spec, self._master, self._accelerators = cluster_spec, master, num_accelerators
        self.task_type, self.task_id = task_type, task_id
        self.environment, self.rpc_layer = environment, rpc_layer

    def cluster_spec(self) -> ClusterSpec:
        """The cluster."""
        return self._spec

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """The address of a task; by default the one given."""
        if task_type is not None and task_id is not None:
            return self._address(task_type, task_id, rpc_layer)
        layer = rpc_layer or self.rpc_layer
        return f"{layer}://{self._master}" if layer and self._master else self._master

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None
    ) -> dict[str, int]:
        """As given; by default none."""
        return dict(self._accelerators) if self._accelerators is not None else defaultdict(int)


class TFConfigClusterResolver(ClusterResolver):
    """The cluster that the environment variable ``TF_CONFIG`` describes, as JSON; an empty one without it.

    Parameters
    ----------
    task_type, task_id, rpc_layer, environment : optional
        In place of what is there.
    """

    def __init__(
        self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None,
        environment: str | None = None,
    ) -> None:  # fmt: skip
        held = _tf_config()
        task = held.get("task", {})
        self.task_type = task.get("type") if task_type is None else str(task_type)
        found = task.get("index") if task_id is None else task_id
        self.task_id = None if found is None else int(found)
        self.rpc_layer = held.get("rpc_layer") if rpc_layer is None else rpc_layer
        self.environment = environment

    def cluster_spec(self) -> ClusterSpec:
        """The cluster."""
        return ClusterSpec(_tf_config().get("cluster", {}))

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """The address of a task, by default of this one; nothing if there is no cluster, or only one task."""
        spec = self.cluster_spec()
        alone = not spec or (len(spec.jobs) == 1 and len(spec.job_tasks(spec.jobs[0])) == 1)
        return "" if alone else self._address(task_type, task_id, rpc_layer)


def _tf_config() -> dict[str, Any]:
    held = json.loads(os.environ.get("TF_CONFIG") or "{}")
    if not isinstance(held, dict):
        raise ValueError(f"TF_CONFIG must hold a JSON object, got {held!r}")
    return held


__all__ = ["ClusterResolver", "SimpleClusterResolver", "TFConfigClusterResolver"]
