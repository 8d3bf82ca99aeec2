"""Optimizers in the files of models: a list of arrays without names, in Keras's order.

Keras counts calls, of which `gradient_accumulation_steps` make a step; here steps and calls since the last one are
counted. The files have Keras's count.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from dualgrad.files import hdf5
from dualgrad.files.bundle import Stored
from optim.adam import Nadam
from optim.keras_optimizer import KerasOptimizer
from optim.loss_scaling import LossScaleOptimizer
from tape_api.in_place import held

Plan = list[tuple[Any, np.ndarray]]
Taken = tuple[Any, np.ndarray, int]


def kept(optimizer: Any) -> list[Any]:
    """The variables of an optimizer."""
    variables = optimizer.variables
    return list(variables() if callable(variables) else variables)


def arrays(optimizer: Any, within: bool = False) -> list[np.ndarray]:
    """The arrays that a file holds of an optimizer; `within` another one Keras keeps no product of Nadam's momenta."""
    if isinstance(optimizer, LossScaleOptimizer):
        scale, good = (x.numpy() for x in kept(optimizer)[:2])
        # Keras's has a count and a rate of its own, which it does not use
        return [np.int64(0), np.float32(0), np.int64(good), scale, *arrays(optimizer.inner_optimizer, within=True)]
    values = list(map(held, kept(optimizer)))[: -1 if within and isinstance(optimizer, Nadam) else None]
    number = calls(optimizer)
    return values if number is None else [number, *values[1:-1]]


def calls(optimizer: Any) -> np.ndarray | None:
    """How often an optimizer that accumulates gradients was called; None if there is none that does."""
    count = _count(optimizer)
    if count is None:
        return None
    steps = optimizer.iterations.numpy()
    return np.asarray(steps * optimizer.gradient_accumulation_steps + count.numpy(), steps.dtype)


def in_steps(optimizer: KerasOptimizer, found: Sequence[Taken]) -> list[Taken]:
    """Values for variables of an optimizer, with the number of calls made one of steps, and of calls since the last."""
    count, taken = _count(optimizer), []
    for variable, value, number in found:
        if count is None or variable is not optimizer.iterations:
            taken.append((variable, value, number))
        else:
            steps, rest = np.divmod(value, optimizer.gradient_accumulation_steps or 1)
            taken += [(variable, steps, number), (count, np.asarray(rest, np.int32), number)]
    return taken


def planned(optimizer: Any, stored: Sequence[Any]) -> Plan:
    """Variables of an optimizer and what they are to hold; nothing, with a warning, if the file is of another one."""
    if isinstance(optimizer, LossScaleOptimizer):
        kinds = _shapes(stored[:4]) == [()] * 4  # Keras 2 keeps no scale, and what is inside alone
        inner = planned(optimizer.inner_optimizer, stored[4:] if kinds else stored)
        own = zip(kept(optimizer)[:2], (stored[3], stored[2]), strict=True) if kinds and inner else ()
        return [*[(v, _in_dtype(hdf5.numbers(a), v.dtype.numpy)) for v, a in own], *inner]
    variables = kept(optimizer)[: None if _count(optimizer) is None else -1]
    product = variables.pop() if isinstance(optimizer, Nadam) and _shapes(stored)[-1:] != [()] else None
    older = variables[:1] + variables[2:]  # Keras 2 keeps no rate, and momenta also where there is none
    if _shapes(stored) in (_shapes(older), _shapes([*older, *optimizer._built_for] if len(older) == 1 else older)):
        variables, stored = older, stored[: len(older)]
    if _shapes(variables) != _shapes(stored):
        warnings.warn(
            f"load_weights: the state of optimizer {getattr(optimizer, 'name', '')!r} is left as it is: it keeps "
            f"arrays of shapes {_shapes(variables)}, the file has {_shapes(stored)}",
            stacklevel=4,
        )
        return []
    pairs = [(v, _in_dtype(hdf5.numbers(a), v.dtype.numpy), 0) for v, a in zip(variables, stored, strict=True)]
    if product is not None:
        pairs.append((product, np.asarray(optimizer.product_after(int(_in_dtype(pairs[0][1], np.int64)))), 0))
    return [(v, a) for v, a, _ in in_steps(optimizer, pairs)]


def _in_dtype(value: Any, dtype: Any) -> Any:
    """An array, or what lies in a file, in the dtype of a variable."""
    return value if value.dtype == dtype else np.asarray(value.array() if isinstance(value, Stored) else value, dtype)


def _count(optimizer: Any) -> Any:
    """The counter of calls since the last step; None if gradients are not accumulated, or nothing is made yet."""
    accumulated = optimizer._accumulated if isinstance(optimizer, KerasOptimizer) else None
    return next(iter([] if accumulated is None else accumulated.kept_together()), None)


def _shapes(values: Sequence[Any]) -> list[Any]:
    return [None if (shape := getattr(x, "shape", None)) is None else tuple(shape) for x in values]
