"""Stages where elements come from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from dualgrad.data.stage import UNKNOWN, Element, Environment, Stage, Stream
from dualgrad.data.structure import avals, unbatched
from engine.core.dtypes import int64
from engine.core.value import boxed
from engine.runtime.errors import InvalidArgumentError


class Rows(Stage):
    """The rows of arrays (`from_tensor_slices`)."""

    def __init__(self, components: Sequence[Any], spec: Any) -> None:
        self._components = components
        self._spec = unbatched(spec)
        self.own = tuple(x for x in components if not isinstance(x, np.ndarray))
        self._length = next((a.shape[0] for a in avals(spec) if a.shape), None)

    def stream(self, env: Environment) -> Stream:
        """The numbers of the rows."""
        arrays = [env.array(x) for x in self._components]
        lengths = {len(a) for a in arrays}
        if len(lengths) > 1:
            raise InvalidArgumentError(f"from_tensor_slices: the tensors have {sorted(lengths)} rows; all need as many")
        return Stream(
            iter(range(lengths.pop() if lengths else 0)),
            lambda i: tuple([boxed(a[i]) for a in arrays]),
            lambda rows: tuple([a[rows] for a in arrays]),
        )

    def size(self, env: Environment | None = None) -> int:
        """The number of rows."""
        if env is not None and self._components:
            return len(env.array(self._components[0]))
        return UNKNOWN if self._length is None else self._length


class Once(Stage):
    """One element (`from_tensors`)."""

    def __init__(self, components: Sequence[Any], spec: Any) -> None:
        self._components, self._spec = components, spec
        self.own = tuple(x for x in components if not isinstance(x, (np.ndarray, np.generic)))

    def stream(self, env: Environment) -> Stream:
        """The element."""
        return Stream(iter([tuple([env.array(x) for x in self._components])]))

    def size(self, env: Environment | None = None) -> int:
        """One."""
        return 1


class Range(Stage):
    """Numbers from a start up to a stop."""

    def __init__(self, bounds: Sequence[Any], dtype: Any, spec: Any) -> None:
        self._bounds, self._dtype, self._spec = tuple(bounds), dtype or int64, spec
        self.own = self._bounds

    def stream(self, env: Environment) -> Stream:
        """The numbers."""
        kind = self._dtype.numpy
        numbers = range(*[env.number(x) for x in self._bounds])
        return Stream(iter(numbers), lambda i: (kind.type(i),), lambda some: (np.array(some, kind),))

    def size(self, env: Environment | None = None) -> int:
        """How many numbers."""
        counts = [self._count(env, x) for x in self._bounds]
        return UNKNOWN if None in counts else len(range(*counts))  # type: ignore[arg-type]


class Generated(Stage):
    """Elements that a Python function yields (`from_generator`), or that reading files gives."""

    def __init__(self, make: Callable[..., Iterator[Element]], spec: Any, arguments: Sequence[Any] = ()) -> None:
        self._make, self._spec, self._arguments = make, spec, tuple(arguments)
        self.own = tuple(x for x in self._arguments if not isinstance(x, (np.ndarray, np.generic)))

    def stream(self, env: Environment) -> Stream:
        """The elements that the function yields."""
        return Stream(self._make(*[env.array(x) for x in self._arguments]))
