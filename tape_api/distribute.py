"""Strategies of distribution for the one device that there is: ``tf.distribute``.

Programs written for `MirroredStrategy` run with one replica: what they compute in it is computed at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from typing import Any, NamedTuple, TypeVar

from engine.core import nest
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
        """The size of the batches of a replica."""
        return global_batch_size


class ReplicaContext:
    """The one replica, as the function that runs in it sees it."""

    num_replicas_in_sync = 1
    replica_id_in_sync_group = 0

    def __init__(self, strategy: Strategy) -> None:
        self.strategy = strategy

    def all_reduce(self, reduce_op: Any, value: T, options: Any = None) -> T:
        """The value: there are no others."""
        _op(reduce_op)
        return value

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


class Strategy:
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

    num_replicas_in_sync = 1

    def __init__(self, devices: Any = None, cross_device_ops: Any = None) -> None:
        names = [devices] if isinstance(devices, str) else list(devices or ())
        if len(names) > 1:
            raise NotImplementedError(
                f"{type(self).__name__}: there is one device, the CPU of this machine, not {len(names)}: give at most "
                f"one in `devices`"
            )

    @contextmanager
    def scope(self) -> Iterator[Strategy]:
        """Makes this the strategy that `get_strategy` finds."""
        before, _current.strategy = _current.strategy, self
        try:
            yield self
        finally:
            _current.strategy = before

    def run(
        self,
        fn: Callable[..., T],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        options: Any = None,
    ) -> T:
        """``fn(*args, **kwargs)``, in the replica."""
        before, _current.replica = _current.replica, ReplicaContext(self)
        try:
            with self.scope():
                return fn(*args, **(kwargs or {}))
        finally:
            _current.replica = before

    def reduce(self, reduce_op: Any, value: Any, axis: int | None) -> Any:
        """The value of the one replica; with an axis, its sum or mean along that."""
        op = _op(reduce_op)
        if axis is None:
            return nest.map_structure(convert_to_tensor, value)
        function = tf.reduce_sum if op is ReduceOp.SUM else tf.reduce_mean
        return nest.map_structure(lambda x: function(x, axis=axis), value)

    def gather(self, value: T, axis: int) -> T:
        """The value of the one replica."""
        return value

    def experimental_distribute_dataset(self, dataset: T, options: Any = None) -> T:
        """The data set, all of which goes to the one replica."""
        return dataset

    def distribute_datasets_from_function(self, dataset_fn: Callable[[InputContext], T], options: Any = None) -> T:
        """``dataset_fn(InputContext())``."""
        return dataset_fn(InputContext())

    def experimental_distribute_values_from_function(self, value_fn: Callable[[ReplicaContext], T]) -> T:
        """The value that the function gives for the one replica."""
        return value_fn(ReplicaContext(self))

    def experimental_local_results(self, value: Any) -> tuple[Any, ...]:
        """The values of the replicas: one."""
        return (value,)


class MirroredStrategy(Strategy):
    """Variables on all devices of a machine, of which there is one; see `Strategy`."""


class OneDeviceStrategy(Strategy):
    """Everything on one device; see `Strategy`."""

    def __init__(self, device: str) -> None:
        super().__init__(device)


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


class CrossDeviceOps:
    """How values would cross devices, if there were several."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Any arguments."""


class HierarchicalCopyAllReduce(CrossDeviceOps):
    """See `CrossDeviceOps`."""


class NcclAllReduce(CrossDeviceOps):
    """See `CrossDeviceOps`."""


class ReductionToOneDevice(CrossDeviceOps):
    """See `CrossDeviceOps`."""


__all__ = [
    "CrossDeviceOps",
    "HierarchicalCopyAllReduce",
    "InputContext",
    "MirroredStrategy",
    "NcclAllReduce",
    "OneDeviceStrategy",
    "ReduceOp",
    "ReductionToOneDevice",
    "ReplicaContext",
    "Strategy",
    "get_replica_context",
    "get_strategy",
    "has_strategy",
    "in_cross_replica_context",
]
