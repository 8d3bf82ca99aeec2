"""A Jacobian as a linear operator: products with vectors from either side, never the matrix."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from engine.composite import Composite
from engine.jacobian.compiled import Compiled
from engine.jacobian.path import Path
from engine.jacobian.plan import Options
from engine.jacobian.second import compiled_pull, compiled_push
from engine.value import dtype_of


class JacobianOperator(LinearOperator):
    """The Jacobian of one target with respect to one source, at one point.

    ``operator @ v`` is one forward walk, ``operator.rmatvec(u)`` one reverse walk. It can be pickled.

    Parameters
    ----------
    push, pull : (Compiled, arrays)
        The walks, with the values on the path that they take.
    target_shape, source_shape : tuple of int
    dtype : dtype
        Of the source.
    """

    def __init__(
        self,
        push: tuple[Compiled, Sequence[Any]],
        pull: tuple[Compiled, Sequence[Any]],
        target: tuple[tuple[int, ...], Any],
        source: tuple[tuple[int, ...], Any],
    ) -> None:
        self._push, self._pull = push, pull
        self._target, self._source = target, source
        rows, columns = (int(np.prod(shape, dtype=np.int64)) for shape, _ in (target, source))
        super().__init__(np.dtype(source[1]), (rows, columns))

    def _matvec(self, x: Any) -> Any:
        return self._applied(self._push, x, self._source, self._target)

    def _rmatvec(self, x: Any) -> Any:
        return self._applied(self._pull, x, self._target, self._source)

    @staticmethod
    def _applied(
        walk: tuple[Compiled, Sequence[Any]],
        x: Any,
        start: tuple[tuple[int, ...], Any],
        end: tuple[tuple[int, ...], Any],
    ) -> Any:
        what, values = walk
        shape, dtype = start
        ((found,),) = what(values, np.asarray(x, dtype).reshape(shape))
        return np.zeros(math.prod(end[0]), end[1]) if found is None else np.asarray(found).reshape(-1)


class SymbolicOperator(Composite):
    """The Jacobian of one target of a graph with respect to one source. A session returns it as a `JacobianOperator`.

    Parameters
    ----------
    path : Path
        From the one source to the one target, of known shapes.
    """

    def __init__(self, path: Path) -> None:
        self._walks = [make(path, Options(), None) for make in (compiled_push, compiled_pull)]
        self._values = [path.values[slot] for what in self._walks for slot in what.arguments]
        self._ends = [(path.shape(slot), dtype_of(path.values[slot]).numpy) for slot in (*path.targets, *path.sources)]
        self.shape = tuple([path.size(slot) for slot in (*path.targets, *path.sources)])

    def components(self) -> list[Any]:
        """The values on the path that the walks take."""
        return list(self._values)

    def rebuilt(self, components: Sequence[Any]) -> JacobianOperator:
        """The operator at these values."""
        push, pull = self._walks
        count = len(push.arguments)
        target, source = self._ends
        return JacobianOperator((push, components[:count]), (pull, components[count:]), target, source)

    def __repr__(self) -> str:
        return f"<SymbolicOperator {self.shape[0]} x {self.shape[1]}>"
