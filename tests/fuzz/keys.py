"""What is asked of a function: the same calls in both front ends."""

import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import tape_api


def numbers(like: Sequence[Any]) -> list[np.ndarray]:
    """Cotangents or tangents for values of known shapes: ordinary numbers, none of them 0."""
    return list(_numbers(tuple([(tuple(shape), np.dtype(dtype)) for shape, dtype in like])))


@functools.lru_cache(maxsize=1024)
def _numbers(like: tuple[tuple[tuple[int, ...], np.dtype], ...]) -> Sequence[np.ndarray]:
    rng = np.random.default_rng(5)
    made = []
    for shape, dtype in like:
        a = np.round(rng.standard_normal(shape), 2)
        # what has the seed 0 is not asked for
        a = np.where(a == 0, 0.5, a)
        made.append(np.asarray(a + 1j * np.round(rng.standard_normal(shape), 2) if dtype.kind == "c" else a, dtype))
        made[-1].flags.writeable = False
    return made


@dataclass(frozen=True)
class Asked:
    """What is asked of one run of a program.

    Attributes
    ----------
    api : object
        Something with the methods of a `GradientTape`: a tape, or `graph_api` itself.
    ys, xs : list of tensor
        Floating targets, and sources.
    cotangents : list of array, or None
    tangents : list of array
    """

    api: Any
    ys: list[Any]
    xs: list[Any]
    cotangents: list[np.ndarray] | None
    tangents: list[np.ndarray]


def _least(jacobian: Callable[..., Any]) -> Any:
    """A Jacobian in as many chunks as can be."""
    try:
        return jacobian(max_bytes=1)
    except tape_api.errors.InvalidArgumentError as error:
        found = re.search(r"must be at least (\d+)", str(error))
        if found is None:
            raise
        return jacobian(max_bytes=int(found[1]))


KEYS: dict[str, Callable[[Asked], Any]] = {
    "jvp": lambda a: a.api.jvp(a.ys, a.xs, a.tangents),
    "jacobian": lambda a: a.api.jacobian(a.ys, a.xs),
    "csr": lambda a: a.api.jacobian(a.ys, a.xs, format="csr"),
    "forward": lambda a: a.api.jacobian(a.ys, a.xs, mode="forward"),
    "reverse": lambda a: a.api.jacobian(a.ys, a.xs, mode="reverse"),
    "chunks": lambda a: _least(lambda **options: a.api.jacobian(a.ys, a.xs, **options)),
    "batch_jacobian": lambda a: a.api.batch_jacobian(a.ys[0], a.xs[0]),
    "hessian": lambda a: a.api.hessian(a.ys[0], a.xs),
    "hvp": lambda a: a.api.hvp(a.ys[0], a.xs, a.tangents),
    "hessian_diag": lambda a: a.api.hessian_diag(a.ys[0], a.xs),
}
