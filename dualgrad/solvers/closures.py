"""From a user's Python function to a closed function, with all that it uses from around it as operands.

A solver calls its function often, at points of its own choice. So the function is traced once, for points of given
shapes; what runs is a program, and derivatives follow from it. What the function uses besides its arguments (tensors of
any kind: eager, of a graph, of a batch, of a function around it) is captured, so that derivatives with respect to that
are not lost. It cannot branch by Python's ``if`` on what it is called with; it says so if it does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

import engine.numpy_api.operators  # noqa: F401  (functions use Python's operators on values)
from engine.closed.capture import Region
from engine.closed.function import Body, ClosedFunction
from engine.core.aval import Aval, format_shape
from engine.core.batching import batch_level
from engine.core.dtypes import DType, float64
from engine.core.eager import EagerTensor
from engine.core.op import Node, distinct
from engine.core.trace import Symbol, constant
from engine.core.value import Value, aval_of, dtype_of, numbers_of, shape_of
from engine.core.variable import Variable
from engine.numpy_api.manners import as_arrays
from engine.ops.compare import cast
from engine.ops.joining import concat
from engine.ops.lift import opened_array
from engine.ops.shape import reshape
from engine.runtime.cache import Cache
from engine.runtime.errors import (
    DTypeError,
    InvalidArgumentError,
    OperatorNotAllowedInGraphError,
    ShapeError,
    SymbolicArrayError,
)
from engine.transforms.functions import opened

_MADE: Cache[Any, ClosedFunction] = Cache(
    "functions of solvers",
    256,
    key="what the function did when it was traced, anew in each call: ops, parameters, operands, constants",
)
_FEW = 4096
"""Bytes of a constant up to which functions are told apart by its contents."""


class _Inner(Symbol):
    """A value inside the function: an op on it and on values around stays inside, whatever these are."""

    __slots__ = ("level",)

    def numpy(self) -> NoReturn:
        """Raise: there is no array yet."""
        self._has_no_number()


class _Capturing(Body):
    """The trace of a function, in which values from around become parameters."""

    def __init__(self, level: int) -> None:
        super().__init__()
        self._level = level
        self.taken: dict[int, tuple[Any, Symbol]] = {}

    def make_symbol(self, node: Node, index: int, aval: Aval) -> Symbol:
        """A symbol of the level of this trace."""
        made = _Inner(self, node, index, aval)
        made.level = self._level
        return made

    def operand(self, x: Any, dtype: Any = None, name: str = "value") -> Any:
        """`x` as a value of this trace."""
        if isinstance(x, Symbol) and x.trace is self:
            return x
        if isinstance(x, Variable):
            x = x.read_value()
        if not isinstance(x, Value):
            return self.capture(x, dtype, name)
        if id(x) not in self.taken:
            aval = aval_of(x)
            self.taken[id(x)] = x, self.placeholder(Aval(aval.shape, aval.dtype))
        return self.taken[id(x)][1]

    def forget(self) -> None:
        """Let go of everything: the function has been copied."""
        self.taken, self.nodes, self._captured = {}, [], {}


@dataclass
class Closure:
    """A function that has been closed.

    Attributes
    ----------
    closed : ClosedFunction
        ``(arguments, captured) -> results``.
    captured : list of Value
    close : callable
        From results to the structure that the function returned.
    """

    closed: ClosedFunction
    captured: list[Any]
    close: Callable[[Sequence[Any]], Any]


def closure(function: Callable[..., Any], avals: Sequence[Aval], name: str, dtype: DType) -> Closure:
    """Close a function.

    Parameters
    ----------
    function : callable
        ``function(*values)``; it gives a value, or a structure of values.
    avals : sequence of Aval
        Of its arguments.
    name : str
        Of the solver, for errors.
    dtype : DType
        Of results that are given as numbers or arrays, and that other real results are cast to.
    """
    with batch_level() as level:
        trace = _Capturing(level)
        arguments = [trace.placeholder(a) for a in avals]
        try:
            with as_arrays():
                leaves, close = opened(function(*arguments))
        except (OperatorNotAllowedInGraphError, SymbolicArrayError) as error:
            raise type(error)(
                f"{name}: the function is traced once, for all points that a solver may choose, so it cannot look at "
                f"the contents of its arguments. Use tf.where or np.where for a choice, and functions of tensors in "
                f"place of float, math and .numpy(). ({error})"
            ) from error
        results = []
        for leaf in leaves:
            y = as_value(leaf, dtype)
            if dtype_of(y).is_complex:
                raise DTypeError(
                    f"{name}: the function must give real numbers, got {dtype_of(y).name}; give real and imaginary "
                    f"parts as numbers of their own"
                )
            results.append(trace.operand(y))
        if not results:
            raise InvalidArgumentError(f"{name}: the function must give tensors; got None. Does it lack a return?")
        region = Region(trace.nodes, arguments, results, (), lambda _: ())
        taken = list(region.captured.values())
        raw = region.closed(taken, (), (), lambda _: "")
    around = {id(inner): outer for outer, inner in trace.taken.values()}
    fixed = {len(avals) + i: np.asarray(s.node.params["value"]) for i, s in enumerate(taken) if s.node.op is constant}
    captured = [around[id(s)] for s in taken if s.node.op is not constant]
    # whoever holds a symbol of it holds the trace, which is to hold none of the values around it
    trace.forget()
    return Closure(_interned(raw, fixed), captured, close)


def _interned(raw: ClosedFunction, constants: dict[int, np.ndarray]) -> ClosedFunction:
    """The function with its constants inside, or one like it that was made before, with its programs."""
    if any(a.nbytes > _FEW for a in constants.values()):
        return raw.fixed(constants)
    number = {id(p): i for i, p in enumerate(raw.parameters)}
    lines: list[Any] = [tuple([(p.aval.shape, p.aval.dtype) for p in raw.parameters])]
    try:
        for node in raw.nodes:
            params = tuple([(k, distinct(v)) for k, v in sorted(node.params.items())])
            lines.append((node.op, tuple([number[id(x)] for x in node.inputs]), params))
            number.update({id(out): len(number) + i for i, out in enumerate(node.outputs)})
    except (TypeError, KeyError):
        return raw.fixed(constants)
    lines.append(tuple([number[id(r)] for r in raw.results]))
    lines.append(tuple([(i, a.dtype.str, a.shape, a.tobytes()) for i, a in constants.items()]))
    key = tuple(lines)
    found = _MADE.get(key)
    return _MADE.put(key, raw.fixed(constants)) if found is None else found


# ---- structures as one vector ----------------------------------------------------------------------------------------


class Packed:
    """A structure of tensors and numbers, as one flat vector and back.

    Parameters
    ----------
    tree : structure
        Arrays and numbers that are not floating become float64.
    name : str
        What to call it in errors.
    """

    def __init__(self, tree: Any, name: str) -> None:
        self._like = tree = _as_vector(tree, name)
        leaves, self._close = opened(tree)
        self.leaves = [as_floating(x, name) for x in leaves]
        dtypes = {dtype_of(x) for x in self.leaves}
        if len(dtypes) != 1:
            raise InvalidArgumentError(
                f"{name}: the parts must have one floating dtype; got {sorted(d.name for d in dtypes)}"
            )
        (self.dtype,) = dtypes
        self.shapes = [static_shape(x, name) for x in self.leaves]
        self.sizes = [int(np.prod(s, dtype=int)) for s in self.shapes]
        self.size = sum(self.sizes)

    @property
    def is_array(self) -> bool:
        """Whether it is no structure, but one array or number."""
        return opened(self._like)[0][0] is self._like

    @property
    def vector(self) -> Any:
        """The vector."""
        return flat(self.leaves)

    @property
    def aval(self) -> Aval:
        """Of the vector."""
        return Aval((self.size,), self.dtype)

    def unpacked(self, vector: Any, lead: Sequence[int] = ()) -> Any:
        """A vector in the structure; with axes `lead` in front, of such a one."""
        ends = np.cumsum([0, *self.sizes]).tolist()
        parts = [
            reshape(vector[..., a:b], [*lead, *shape])
            for a, b, shape in zip(ends[:-1], ends[1:], self.shapes, strict=True)
        ]
        return self._close(parts)

    def flattened(self, tree: Any, name: str) -> Any:
        """Another structure of the same shapes as a vector; parts of dictionaries are found by their keys."""
        leaves, _ = opened(_arranged(self._like, tree, name))
        if len(leaves) == 1 and len(self.shapes) != 1:
            raise InvalidArgumentError(f"{name}: expected {len(self.shapes)} parts; got 1")
        if len(leaves) != len(self.shapes):
            # a vector written as a list of its elements
            if len(self.shapes) == 1 and len(leaves) == self.size and all(shape_of(x) == () for x in leaves):
                return flat([as_value(x, self.dtype) for x in leaves])
            raise InvalidArgumentError(f"{name}: expected {len(self.shapes)} parts; got {len(leaves)}")
        values = [as_value(x, self.dtype) for x in leaves]
        for x, shape in zip(values, self.shapes, strict=True):
            if shape_of(x) != shape and not (shape == () and shape_of(x) == (1,)):
                raise ShapeError(f"{name}: expected the shape {format_shape(shape)}; got {format_shape(shape_of(x))}")
        return flat(values)


def _arranged(like: Any, tree: Any, name: str) -> Any:
    """A structure with the entries of its dictionaries in the order of those of another one."""
    if isinstance(like, dict):
        if not isinstance(tree, dict) or tree.keys() != like.keys():
            given = f"the keys {[*tree]}" if isinstance(tree, dict) else type(tree).__name__
            raise InvalidArgumentError(f"{name}: expected a dictionary with the keys {[*like]}; got {given}")
        return {key: _arranged(part, tree[key], name) for key, part in like.items()}
    if isinstance(like, (list, tuple)) and isinstance(tree, (list, tuple)) and len(like) == len(tree):
        return [_arranged(a, b, name) for a, b in zip(like, tree, strict=True)]
    return tree


def _as_vector(tree: Any, name: str) -> Any:
    """A list of numbers and of tensors of no axis as the vector that it is in SciPy; all else as it is."""
    if not isinstance(tree, (list, tuple)) or not tree:
        return tree
    tensors = [x for x in tree if not isinstance(x, (int, float))]
    if not tensors:
        return np.asarray(tree, np.float64)
    if not all(isinstance(x, (Value, Variable)) and shape_of(x) == () for x in tensors):
        return tree
    first, *others = {dtype_of(as_floating(x, name)) for x in tensors}
    return tree if others else flat([as_value(x, first) for x in tree])


def as_value(x: Any, dtype: DType | None = None) -> Any:
    """`x` as a value, real ones of the given dtype."""
    x = x.read_value() if isinstance(x, Variable) else opened_array(x)
    if not isinstance(x, Value):
        array = numbers_of(x)
        return EagerTensor(array if dtype is None or array.dtype.kind == "c" else array.astype(dtype.numpy, copy=False))
    if dtype is not None and dtype_of(x) is not dtype and not dtype_of(x).is_complex:
        return cast(x, dtype)
    return x


def as_floating(x: Any, name: str) -> Any:
    """`x` as a floating value; numbers and arrays of whole numbers become float64."""
    x = as_value(x)
    if dtype_of(x).is_complex:
        raise InvalidArgumentError(
            f"{name}: must be real, got {dtype_of(x).name}; give real and imaginary parts, and join them "
            f"inside the function by tf.complex"
        )
    return x if dtype_of(x).is_floating else cast(x, float64)


def static_shape(x: Any, name: str) -> tuple[int, ...]:
    """The shape, which must be known."""
    shape: Any = shape_of(x)
    if shape is None or None in shape:
        raise ShapeError(f"{name}: needs a static shape; got {format_shape(shape)}. Give it one with set_shape")
    return shape


def flat(values: Sequence[Any]) -> Any:
    """Values as one vector."""
    parts = [reshape(x, [-1]) for x in values]
    return parts[0] if len(parts) == 1 else concat(parts, 0)
