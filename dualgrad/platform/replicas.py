"""Replicas of one program, a process each, that train one model: what they add up, and what they begin with.

Each replica is started by MPI (``mpiexec -n 4 python -m mpi4py program.py``) and runs the same program on its part of
the data. Gradients are added up in the order of the replicas, so all of them make the same step to the bit.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Sequence
from functools import reduce
from importlib import import_module
from operator import add
from typing import Any, Protocol

import numpy as np

from engine.core.detach import effect
from engine.core.eager import EagerTensor
from engine.ops.indexed_slices import IndexedSlices

_STARTED_BY_MPI = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "MV2_COMM_WORLD_SIZE")
"""Variables by which MPICH, Intel MPI, Open MPI and MVAPICH tell their processes how many they are."""


class Workers(Protocol):
    """All replicas: what an `mpi4py` communicator offers."""

    rank: int
    size: int

    def allgather(self, sendobj: Any) -> list[Any]:
        """The objects of all replicas, in their order."""


class _Current(threading.local):
    def __init__(self) -> None:
        self.workers: Workers | None = None
        self.in_replica = False


current = _Current()
"""The replicas in whose scope this is, and whether this is what one of them runs."""


def world() -> Workers | None:
    """The replicas that were started with this process; None if it is alone.

    Raises
    ------
    ImportError
        If MPI has started this process and mpi4py is not there.
    NotImplementedError
        If only ``TF_CONFIG`` speaks of other workers.
    """
    if any(name in os.environ for name in _STARTED_BY_MPI):
        try:
            found: Workers = import_module("mpi4py.MPI").COMM_WORLD
        except ImportError as error:
            raise ImportError(
                "MultiWorkerMirroredStrategy: MPI has started this process, but the package mpi4py is not installed: "
                "pip install 'dualgrad[cluster]'"
            ) from error
        return found if found.size > 1 else None
    named = sum(map(len, json.loads(os.environ.get("TF_CONFIG") or "{}").get("cluster", {}).values()))
    if named > 1:
        raise NotImplementedError(
            f"MultiWorkerMirroredStrategy: TF_CONFIG names {named} workers, which are not asked: start the program on "
            f"all of them by MPI: mpiexec -n {named} python -m mpi4py program.py"
        )
    return None


def first_of(array: np.ndarray) -> np.ndarray:
    """An array as the first replica has it: what variables begin with in the scope of several."""
    return array if current.workers is None else np.asarray(current.workers.allgather(array)[0])


def added(workers: Workers, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The sums of the arrays of all replicas."""
    everywhere = workers.allgather(list(arrays))
    return [np.asarray(reduce(add, parts)) for parts in zip(*everywhere, strict=True)]


def aggregated(pairs: Sequence[tuple[Any, Any]], workers: Workers) -> list[tuple[Any, Any]]:
    """Gradients and variables, with the sums of the gradients of all replicas; of slices, the slices of all.

    Raises
    ------
    RuntimeError
        If this is in the scope of replicas, but not in what they run.
    ValueError
        If not all replicas have the same gradients.
    """
    if not current.in_replica:
        raise RuntimeError(
            "apply_gradients: in the scope of MultiWorkerMirroredStrategy, make steps in a function that "
            "`strategy.run` calls"
        )
    effect("replicas add up gradients")
    everywhere = workers.allgather([_sent(gradient) for gradient, _ in pairs])
    if {len(other) for other in everywhere} != {len(pairs)}:
        raise ValueError(f"apply_gradients: the replicas have {[len(other) for other in everywhere]} gradients")
    result: list[tuple[Any, Any]] = []
    for (gradient, variable), parts in zip(pairs, zip(*everywhere, strict=True), strict=True):
        if len({None if part is None else len(part) for part in parts}) > 1:
            raise ValueError(f"apply_gradients: not all replicas have a gradient of one kind for {variable.name!r}")
        if gradient is None:
            result.append((None, variable))
        elif isinstance(gradient, IndexedSlices):
            values, indices = (EagerTensor(np.concatenate(x)) for x in zip(*parts, strict=True))
            result.append((IndexedSlices(values, indices, like=gradient._like), variable))
        else:
            result.append((EagerTensor(np.asarray(reduce(add, [part for (part,) in parts]))), variable))
    return result


def _sent(gradient: Any) -> tuple[np.ndarray, ...] | None:
    if gradient is None:
        return None
    if isinstance(gradient, IndexedSlices):
        return np.asarray(gradient.values), np.asarray(gradient.indices)
    return (np.asarray(gradient),)
