"""A Jacobian as a linear operator: products with vectors from either side, never the matrix."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from engine.closed.function import ClosedFunction
from engine.control.deferred import Recipe
from engine.core.aval import Aval
from engine.core.composite import Composite
from engine.core.tape import paused
from engine.core.value import aval_of, dtype_of, known_shape
from engine.jacobian.deferred_specialization import PathCopy, is_known, readable
from engine.jacobian.execution.evaluate import walk_from
from engine.jacobian.planning.plan import Options
from engine.jacobian.second import compiled_pull, compiled_push
from engine.jacobian.structure.path import Path, with_closed_rules
from engine.jacobian.views.sparse_gradient import Operator
from engine.ops.creation import zeros_like
from engine.runtime.errors import InvalidArgumentError

Walk = tuple[Callable[..., Any], Sequence[Any]]
"""A function, mostly a closed one, of some values and a vector, which gives ``[[product]]``, and these values."""
End = tuple[tuple[int, ...], Any]
"""Shape and dtype of a target or source."""


class JacobianOperator(Operator):
    """The Jacobian of one target with respect to one source, at one point.

    ``operator @ v`` is one forward walk, ``operator.rmatvec(u)`` one reverse walk; two where a complex vector meets
    a real target or source. It can be pickled.

    Parameters
    ----------
    push, pull : (callable, arrays)
        The walks, with the values on the path that they take.
    target, source : (shape, dtype)
    """

    def __init__(self, push: Walk, pull: Walk, target: End, source: End) -> None:
        self._push, self._pull = push, pull
        self._target, self._source = target, source
        dtype = np.result_type(source[1], np.complex64) if _is_complex(target[1]) else np.dtype(source[1])
        super().__init__(dtype, (math.prod(target[0]), math.prod(source[0])))

    def _matvec(self, x: Any) -> np.ndarray:
        return self._applied(self._push, x, self._source, self._target)

    def _rmatvec(self, x: Any) -> np.ndarray:
        result = self._applied(self._pull, x, self._target, self._source)
        if _is_complex(self._target[1]) and not _is_complex(self._source[1]):
            # of a real source only the real part of the product is the gradient
            return result + 1j * self._applied(self._pull, -1j * np.asarray(x), self._target, self._source)
        return result

    def _matmat(self, x: Any) -> np.ndarray:
        return _columns(self._matvec, x, self.shape[0], self.dtype)

    def _rmatmat(self, x: Any) -> np.ndarray:
        return _columns(self._rmatvec, x, self.shape[1], self.dtype)

    @classmethod
    def _applied(cls, walk: Walk, x: Any, start: End, end: End) -> np.ndarray:
        x = np.asarray(x)
        shape, dtype = start
        if _is_complex(x.dtype) and not _is_complex(dtype):
            return cls._applied(walk, x.real, start, end) + 1j * cls._applied(walk, x.imag, start, end)
        what, values = walk
        ((product,),) = what(*values, x.astype(dtype, copy=False).reshape(shape))
        return np.zeros(math.prod(end[0]), end[1]) if product is None else np.asarray(product).reshape(-1)


def _columns(product: Callable[[Any], Any], x: Any, size: int, dtype: Any) -> np.ndarray:
    """Products with the columns of a matrix, which may have none (SciPy's own loop cannot cope with that)."""
    columns = [product(column) for column in np.asarray(x).T]
    return np.stack(columns, axis=1) if columns else np.zeros((size, 0), dtype)


def end_of(x: Any) -> End:
    """Shape and dtype of a target or source."""
    return known_shape(x, "jacobian"), dtype_of(x).numpy


def zero_operator(target: Any, source: Any) -> LinearOperator:
    """The operator of a source that the target does not depend on."""
    (shape, _), (source_shape, dtype) = end_of(target), end_of(source)
    return aslinearoperator(sparse.csr_array((math.prod(shape), math.prod(source_shape)), dtype=dtype))


def _is_complex(dtype: Any) -> bool:
    return np.dtype(dtype).kind == "c"


# ---- in a graph ------------------------------------------------------------------------------------------------------


class SymbolicOperator(Composite):
    """The Jacobian of one target of a graph with respect to one source. A session returns it as a `JacobianOperator`.

    Make one with `symbolic_operator`.

    Parameters
    ----------
    path : Path
        From the one source to the one target, of known shapes.
    symmetric : bool
        Whether the Jacobian is symmetric: then products from either side are the same walk.

    Attributes
    ----------
    shape : (rows, columns), or None
        None if it is not known yet.
    """

    __array_ufunc__ = None

    def __init__(self, path: Path, symmetric: bool) -> None:
        self.shape: tuple[int, int] | None = (path.size(path.targets[0]), path.size(path.sources[0]))
        makes = [compiled_push] if symmetric else [compiled_push, compiled_pull]
        self._walks = [make(path, Options(), None) for make in makes]
        self._values = [readable(path, path.values[slot]) for what in self._walks for slot in what.captures]
        self._ends = [(path.shape(slot), dtype_of(path.values[slot]).numpy) for slot in (*path.targets, *path.sources)]

    def components(self) -> list[Any]:
        """The values on the path that the walks take."""
        return list(self._values)

    def rebuilt(self, components: Sequence[Any]) -> JacobianOperator:
        """The operator at these values."""
        walks: list[Walk] = []
        start = 0
        for what in self._walks:
            count = len(what.captures)
            walks.append((what, components[start : start + count]))
            start += count
        target, source = self._ends
        return JacobianOperator(walks[0], walks[-1], target, source)

    def __matmul__(self, other: Any) -> NoReturn:
        raise TypeError(f"{self!r} has no products yet: multiply what a session returns for it, or use jvp and vjp")

    def __repr__(self) -> str:
        return f"<SymbolicOperator {'of unknown shape' if self.shape is None else ' x '.join(map(str, self.shape))}>"


class DeferredOperator(SymbolicOperator):
    """A `SymbolicOperator` for a path of unknown shapes: its walks are made once for each combination of shapes."""

    def __init__(self, path: Path, symmetric: bool) -> None:
        self.shape = None
        self._copy = PathCopy(path)
        directions = ["forward"] if symmetric else ["forward", "reverse"]
        self._recipes = [_Walk(self._copy, direction) for direction in directions]
        self._values = [readable(path, path.values[slot]) for slot in (*self._copy.taken, *self._copy.constants)]

    def rebuilt(self, components: Sequence[Any]) -> JacobianOperator:
        """The operator at these values."""
        arrays = dict(zip((*self._copy.taken, *self._copy.constants), components, strict=True))
        if not all(np.array_equal(arrays[k], known) for k, known in self._copy.constants.items()):
            raise InvalidArgumentError(
                "jacobian: an integer constant cannot be fed if the operator's shapes are not known beforehand; make "
                "it a placeholder_with_default"
            )
        components = components[: len(self._copy.taken)]
        target, source = (
            (np.shape(arrays[k]), np.asarray(arrays[k]).dtype) for k in (*self._copy.targets, *self._copy.sources)
        )
        return JacobianOperator((self._recipes[0], components), (self._recipes[-1], components), target, source)


class _Walk(Recipe):
    """The product of a Jacobian with a vector, worked out once shapes are known."""

    def __init__(self, copy: PathCopy, direction: str) -> None:
        super().__init__()
        self.copy, self.direction = copy, direction

    def made(self, given: Sequence[Aval]) -> ClosedFunction:
        body, parameters, path = self.copy.filled(given)
        ends = [path.values[slot] for slot in (*path.sources, *path.targets)]
        start, end = ends if self.direction == "forward" else ends[::-1]
        vector = body.placeholder(aval_of(start))
        with paused():
            (product,) = walk_from(self.direction, path.nodes, start, [end])(vector)
            product = zeros_like(end) if product is None else product
        return ClosedFunction(body, [*parameters, vector], [body.operand(product)])

    def __call__(self, *arguments: Any) -> list[Sequence[Any]]:
        """``[[product]]``, from arrays of the values on the path and a vector."""
        return [self.closed_function([aval_of(x) for x in arguments[:-1]]).run(*arguments)]


def symbolic_operator(path: Path, symmetric: bool = False) -> SymbolicOperator:
    """The Jacobian of the one target of a path with respect to the one source, as an operator."""
    closed = with_closed_rules(path)
    return (SymbolicOperator if is_known(closed) else DeferredOperator)(closed, symmetric)
