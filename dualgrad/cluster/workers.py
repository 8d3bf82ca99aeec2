"""Workers: they keep functions and shards, and evaluate derivatives on those that a task names."""

from __future__ import annotations

import functools
import operator
import pickle
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.jacobian.views.for_scipy import SciPyFunction
from engine.runtime.cache import Cache

_SHARDS, _FUNCTIONS = 1 << 14, 1 << 4
"""How many of each a worker keeps."""
_BYTES = 1 << 31
"""Bytes of the shards that it keeps; others are sent, or loaded, again."""


def _weigh(shard: tuple[Any, ...]) -> int:
    return sum([getattr(x, "nbytes", 0) for x in shard])


_shards: Cache[tuple[str, int], tuple[Any, ...]] = Cache(
    "shards", _SHARDS, _BYTES, _weigh, key="the sharded function, the number of the shard"
)
_pickled: Cache[str, bytes] = Cache("functions of shards", _FUNCTIONS, key="the sharded function")


class _Own(threading.local):
    def __init__(self) -> None:
        self.functions: Cache[str, SciPyFunction] = Cache(
            "functions of a worker's thread", _FUNCTIONS, key="thread, the sharded function"
        )


_own = _Own()
"""A function remembers its last point, so each thread has its own."""


@dataclass(frozen=True)
class Task:
    """Some neighboring shards, and what is wanted of them.

    Attributes
    ----------
    key : str
        Of the function, the same for all tasks.
    function : bytes or None
        Pickled; None where the worker should have it.
    shards : tuple of int
        Their numbers.
    what : str
        The name of one of `_DERIVATIVES`.
    x, v : array
        The point, and the vector that a derivative is multiplied by; of vectors that go with rows, one for each shard.
    """

    key: str
    function: bytes | None
    shards: tuple[int, ...]
    what: str
    x: np.ndarray
    v: Any = None


@dataclass(frozen=True)
class Done:
    """The result of a task, and the seconds that it took."""

    value: Any
    seconds: float


class Missing:
    """The answer of a worker that lacks the function or a shard."""


def carry_out(task: Task, *data: Any) -> Done | Missing:
    """Do a task.

    Parameters
    ----------
    task : Task
    *data
        One for each shard: the shard, what loads it, or None where the worker should have it.
    """
    started = time.perf_counter()
    if task.function is not None:
        _pickled.put(task.key, task.function)
    function = _own.functions.get(task.key)
    if function is None:
        pickled = _pickled.get(task.key)
        if pickled is None:
            return Missing()
        function = _own.functions.put(task.key, pickle.loads(pickled))
    shards = []
    for number, given in zip(task.shards, data, strict=True):
        shard = _shards.get((task.key, number)) if given is None else loaded(given)
        if shard is None:
            return Missing()
        if given is not None:
            _shards.put((task.key, number), shard)
        shards.append(shard)
    return Done(derived(function, task, shards), time.perf_counter() - started)


def loaded(given: Any) -> tuple[Any, ...]:
    """A shard as the further arguments of the function."""
    shard = given() if callable(given) else given
    return shard if isinstance(shard, tuple) else (shard,)


def derived(function: SciPyFunction, task: Task, shards: Sequence[tuple[Any, ...]]) -> Any:
    """The derivative of each shard, put together in their order."""
    put_together, of_shard = _DERIVATIVES[task.what]
    vectors = task.v if isinstance(task.v, list) else [task.v] * len(shards)
    each = [of_shard(function, task.x, v, shard) for v, shard in zip(vectors, shards, strict=True)]
    return put_together(each)


def added(each: Sequence[Any]) -> Any:
    """The sum, from the first to the last; of tuples, one of each place."""
    if isinstance(each[0], tuple):
        return tuple([added(parts) for parts in zip(*each, strict=True)])
    return functools.reduce(operator.add, each)


def _least_squares(function: SciPyFunction, x: np.ndarray, _: Any, shard: tuple[Any, ...]) -> tuple[Any, Any]:
    residuals, jacobian = function.fun_and_jac(x, *shard)
    return 0.5 * float(residuals @ residuals), jacobian.T @ residuals


def _normal_product(function: SciPyFunction, x: np.ndarray, v: Any, shard: tuple[Any, ...]) -> Any:
    jacobian = function.jac(x, *shard)
    return jacobian.T @ (jacobian @ v)


_DERIVATIVES: dict[str, tuple[Callable[[Sequence[Any]], Any], Callable[..., Any]]] = {
    "fun": (list, lambda p, x, v, shard: p.fun(x, *shard)),
    "fun_and_grad": (added, lambda p, x, v, shard: (p.fun(x, *shard), p.grad(x, *shard))),
    "hessp": (added, lambda p, x, v, shard: p.hessp(x, v, *shard)),
    "block": (list, lambda p, x, v, shard: p.jac(x, *shard)),
    "matvec": (list, lambda p, x, v, shard: p.jac(x, *shard) @ v),
    "rmatvec": (added, lambda p, x, v, shard: p.jac(x, *shard).T @ v),
    "least_squares": (added, _least_squares),
    "normal_product": (added, _normal_product),
}
