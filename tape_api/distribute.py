"""Strategies of distribution: ``tf.distribute``.

A machine is one device: programs written for `MirroredStrategy` run with one replica, and what they compute in it is
computed at once. With `MultiWorkerMirroredStrategy` a program that MPI starts several times is so many replicas.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from typing import Any, NamedTuple, TypeVar

import numpy as np

from dualgrad.platform import replicas
from engine.core import nest
from engine.core.detach import effect
from engine.runtime.faces import Shown
from tape_api.cluster import ClusterResolver, ClusterSpec, SimpleClusterResolver
from tape_api.library import root as tf
from tape_api.tensor import convert_to_tensor

T = TypeVar("T")


class ReduceOp(Enum):
    """How values of replicas become one."""

    SUM = "SUM"
    MEAN = "MEAN"


class InputContext(NamedTuple):
    """The argument of a function that makes a data set."""

    num_input_pipelines: int = 1
    input_pipeline_id: int = 0
    num_replicas_in_sync: int = 1

    def get_per_replica_batch_size(self, global_batch_size: int) -> int:
        """The size of the batches of a replica.

        Raises
        ------
        ValueError
            If the replicas cannot have equal parts.
        """
        if global_batch_size % self.num_replicas_in_sync:
            raise ValueError(
                f"get_per_replica_batch_size: argument `global_batch_size` must be a multiple of the "
                f"{self.num_replicas_in_sync} replicas, got {global_batch_size}"
            )
        return global_batch_size // self.num_replicas_in_sync


class ReplicaContext(Shown):
    """A replica, as the function that runs in it sees it."""

    def __init__(self, strategy: Strategy) -> None:
        self.strategy = strategy

    @property
    def num_replicas_in_sync(self) -> int:
        """How many replicas there are."""
        return self.strategy.num_replicas_in_sync

    @property
    def replica_id_in_sync_group(self) -> int:
        """Which of them this is."""
        return 0 if self.strategy.workers is None else self.strategy.workers.rank

    def all_reduce(self, reduce_op: Any, value: Any, options: Any = None) -> Any:
        """The sum or mean of the values of all replicas."""
        return self.strategy._reduced(_op(reduce_op), value)

    def merge_call(self, merge_fn: Callable[..., T], args: Sequence[Any] = (), kwargs: Any = None) -> T:
        """``merge_fn(strategy, *args)``."""
        return merge_fn(self.strategy, *args, **(kwargs or {}))


class _Current(threading.local):
    def __init__(self) -> None:
        self.strategy: Strategy | None = None
        self.replica: ReplicaContext | None = None


_current = _Current()


def _op(reduce_op: Any) -> ReduceOp:
    try:
        return ReduceOp(reduce_op.upper() if isinstance(reduce_op, str) else reduce_op)
    except ValueError:
        raise ValueError(f"`reduce_op` must be ReduceOp.SUM or ReduceOp.MEAN, got {reduce_op!r}") from None


class Strategy(Shown):
    """One replica on one device.

    Parameters
    ----------
    devices : str or list of str, optional
        At most one.
    cross_device_ops
        Accepted for compatibility: nothing crosses devices.

    Raises
    ------
    NotImplementedError
        If there are several devices.

    Examples
    --------
    >>> import tape_api as tf
    >>> strategy = tf.distribute.MirroredStrategy()
    >>> with strategy.scope():
    ...     v = tf.Variable(1.0)
    >>> parts = strategy.run(lambda x: v.assign_add(x), args=(2.0,))
    >>> strategy.num_replicas_in_sync, strategy.reduce(tf.distribute.ReduceOp.SUM, parts, axis=None).numpy()
    (1, np.float32(3.0))
    """

    workers: replicas.Workers | None = None
    """The other replicas, if there are any."""

    def __init__(self, devices: Any = None, cross_device_ops: Any = None) -> None:
        names = [devices] if isinstance(devices, str) else list(devices or ())
        if len(names) > 1:
            raise NotImplementedError(
                f"{type(self).__name__}: there is one device, the CPU of this machine, not {len(names)}: give at most "
                f"one in `devices`"
            )

    @property
    def num_replicas_in_sync(self) -> int:
        """How many replicas there are."""
        return 1 if self.workers is None else self.workers.size

    @contextmanager
    def scope(self) -> Iterator[Strategy]:
        """Makes this the strategy that `get_strategy` finds."""
        before, _current.strategy = _current.strategy, self
        others, replicas.current.workers = replicas.current.workers, self.workers
        try:
            yield self
        finally:
            _current.strategy, replicas.current.workers = before, others

    def run(
        self,
        fn: Callable[..., T],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        options: Any = None,
    ) -> T:
        """``fn(*args, **kwargs)``, in the replica."""
        before, _current.replica = _current.replica, ReplicaContext(self)
        outside, replicas.current.in_replica = replicas.current.in_replica, True
        try:
            with self.scope():
                return fn(*args, **(kwargs or {}))
        finally:
            _current.replica, replicas.current.in_replica = before, outside

    def reduce(self, reduce_op: Any, value: Any, axis: int | None) -> Any:
        """The sum or mean of the values of all replicas; with an axis, also along that."""
        op = _op(reduce_op)
        if axis is None:
            return self._reduced(op, value)

        def along(x: Any) -> Any:
            x = convert_to_tensor(x)
            total = self._reduced(ReduceOp.SUM, tf.reduce_sum(x, axis=axis))
            count = self._reduced(ReduceOp.SUM, tf.cast(tf.shape(x)[axis], total.dtype))
            return total if op is ReduceOp.SUM else total / count

        return nest.map_structure(along, value)

    def _reduced(self, op: ReduceOp, value: Any) -> Any:
        tensors = nest.map_structure(convert_to_tensor, value)
        if self.workers is None:
            return tensors
        effect("replicas add up values")
        sums = replicas.added(self.workers, [x.numpy() for x in nest.flatten(tensors)])
        count = self.workers.size if op is ReduceOp.MEAN else 1
        return nest.pack_sequence_as(tensors, [convert_to_tensor(np.asarray(x / count, x.dtype)) for x in sums])

    def gather(self, value: Any, axis: int) -> Any:
        """The values of all replicas, one behind the other along an axis."""
        if self.workers is None:
            return value
        effect("replicas gather values")
        arrays = self.workers.allgather([convert_to_tensor(x).numpy() for x in nest.flatten(value)])
        return nest.pack_sequence_as(value, [tf.concat(parts, axis) for parts in zip(*arrays, strict=True)])

    def experimental_distribute_dataset(self, dataset: Any, options: Any = None) -> Any:
        """The data set, with this replica's part of each batch: the first replica has the first rows."""
        if self.workers is None:
            return dataset
        rank, size = self.workers.rank, self.workers.size

        def part(*element: Any) -> Any:
            def rows(x: Any) -> Any:
                each = -(-int(tf.shape(x)[0]) // size)
                return x[rank * each : (rank + 1) * each]

            found = nest.map_structure(rows, element)
            return found if len(element) > 1 else found[0]

        return dataset.map(part)

    def distribute_datasets_from_function(self, dataset_fn: Callable[[InputContext], T], options: Any = None) -> T:
        """``dataset_fn(InputContext(...))``: this replica's data set."""
        return dataset_fn(self._input_context())

    def _input_context(self) -> InputContext:
        count, context = self.num_replicas_in_sync, ReplicaContext(self)
        return InputContext(count, context.replica_id_in_sync_group, count)

    def experimental_local_results(self, value: Any) -> tuple[Any, ...]:
        """The values of the replicas of this process: one."""
        return (value,)


class MirroredStrategy(Strategy):
    """Variables on all devices of a machine, of which there is one; see `Strategy`."""


class CommunicationImplementation(Enum):
    """How several workers would communicate."""

    AUTO = "AUTO"
    RING = "RING"
    NCCL = "NCCL"


class CommunicationOptions(Shown):
    """How several workers would communicate; with one, nothing of it matters.

    Raises
    ------
    ValueError
        If an argument is none of those that TensorFlow takes.
    """

    def __init__(
        self,
        bytes_per_pack: int = 0,
        timeout_seconds: float | None = None,
        implementation: Any = CommunicationImplementation.AUTO,
    ) -> None:
        if bytes_per_pack < 0:
            raise ValueError(f"Argument `bytes_per_pack` must be >=0, Received {bytes_per_pack}.")
        try:
            implementation = CommunicationImplementation(
                implementation.upper() if isinstance(implementation, str) else implementation
            )
        except ValueError:
            raise ValueError(
                "Argument `implementation` must be instance of "
                "`tf.distribute.experimental.CommunicationImplementation`."
            ) from None
        self.bytes_per_pack, self.timeout_seconds = bytes_per_pack, timeout_seconds
        self.implementation = implementation


class CentralStorageStrategy(Strategy):
    """Variables on one device, computation on others, all of which are the CPU; see `Strategy`."""

    def __init__(self, compute_devices: Any = None, parameter_device: str | None = None) -> None:
        super().__init__(compute_devices)


class OneDeviceStrategy(Strategy):
    """Everything on one device; see `Strategy`."""

    def __init__(self, device: str) -> None:
        super().__init__(device)


class MultiWorkerMirroredStrategy(Strategy):
    """One replica in each of the processes that MPI has started: ``mpiexec -n 4 python -m mpi4py program.py``.

    All run the same program. In the scope, variables begin with the values of the first replica. In `run`, optimizers
    add up the gradients of all replicas, in their order: all make the same step. So a replica's loss is its part of the
    sum over the batch of all (`tf.nn.compute_average_loss`). A program that was not started so is the only replica.

    Parameters
    ----------
    cluster_resolver : ClusterResolver, optional
        Kept: MPI knows the workers.
    communication_options : CommunicationOptions, optional
        Accepted for compatibility.

    Attributes
    ----------
    workers : communicator or None
        Of mpi4py.

    Raises
    ------
    NotImplementedError
        If ``TF_CONFIG`` or the resolver names several workers, and MPI has started none.
    ImportError
        If MPI has started this process, and mpi4py is not installed.

    Examples
    --------
    >>> import tape_api as tf
    >>> strategy = tf.distribute.MultiWorkerMirroredStrategy()
    >>> strategy.num_replicas_in_sync
    1
    """

    def __init__(self, cluster_resolver: Any = None, communication_options: Any = None) -> None:
        super().__init__()
        self.workers, self._resolver = replicas.world(), cluster_resolver
        spec = ClusterSpec({}) if cluster_resolver is None else cluster_resolver.cluster_spec()
        count = sum(spec.num_tasks(job) for job in spec.jobs if job in ("chief", "worker"))
        if count > 1 and self.workers is None:
            raise NotImplementedError(
                f"MultiWorkerMirroredStrategy: the cluster has {count} workers, and MPI has started none: start the "
                f"program with mpiexec, or run it as one process, without a resolver"
            )

    @property
    def cluster_resolver(self) -> ClusterResolver:
        """Which of the workers this process is."""
        if self._resolver is not None:
            return self._resolver
        rank = ReplicaContext(self).replica_id_in_sync_group
        return SimpleClusterResolver(ClusterSpec({}), task_type="worker", task_id=rank)


class _Default(Strategy):
    """The strategy in place where none was chosen."""


_default = _Default()


def get_strategy() -> Strategy:
    """The strategy whose scope this is, or one with the same methods that changes nothing."""
    return _current.strategy or _default


def has_strategy() -> bool:
    """Whether this is the scope of a strategy."""
    return _current.strategy is not None


def get_replica_context() -> ReplicaContext | None:
    """The replica that this runs in; None in the scope of a strategy outside `Strategy.run`."""
    if _current.replica is None and _current.strategy is None:
        return ReplicaContext(_default)
    return _current.replica


def in_cross_replica_context() -> bool:
    """Whether this is the scope of a strategy, outside `Strategy.run`."""
    return _current.replica is None and _current.strategy is not None


class CrossDeviceOps(Shown):
    """How values would cross devices, if there were several."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Any arguments."""


class HierarchicalCopyAllReduce(CrossDeviceOps):
    """See `CrossDeviceOps`."""


__all__ = [
    "CrossDeviceOps",
    "HierarchicalCopyAllReduce",
    "InputContext",
    "MirroredStrategy",
    "MultiWorkerMirroredStrategy",
    "OneDeviceStrategy",
    "ReduceOp",
    "ReplicaContext",
    "Strategy",
    "get_replica_context",
    "get_strategy",
    "has_strategy",
    "in_cross_replica_context",
]
