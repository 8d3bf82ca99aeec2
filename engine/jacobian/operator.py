"""A Jacobian as a linear operator: products with vectors from either side, never the matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from engine.jacobian.compiled import Compiled


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
        return self._applied(self._push, x, self._source)

    def _rmatvec(self, x: Any) -> Any:
        return self._applied(self._pull, x, self._target)

    @staticmethod
    def _applied(walk: tuple[Compiled, Sequence[Any]], x: Any, start: tuple[tuple[int, ...], Any]) -> Any:
        what, values = walk
        shape, dtype = start
        ((found,),) = what(values, np.asarray(x, dtype).reshape(shape))
        return np.asarray(found).reshape(-1)
