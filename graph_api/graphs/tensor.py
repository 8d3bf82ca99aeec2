"""Operations and tensors of a graph."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import engine.numpy_api.operators  # noqa: F401  (values get their operators)
from dualgrad.frontend.flow.places import user_line
from engine.core.op import Node, Op
from engine.core.operands import Operand
from engine.core.tensor_shape import Dimension, TensorShape
from engine.core.trace import Symbol
from engine.runtime.errors import ShapeError
from graph_api.graphs.defaults import session_for


def _with_unknown(operation: Callable[[int, int], int]) -> Callable[[Any, Any], Any]:
    """Arithmetic of dimensions: of known ones a dimension, with an unknown one the unknown."""

    def combined(self: Any, other: Any) -> GraphDimension | UnknownDimension:
        if other is None or isinstance(other, UnknownDimension):
            return GraphShape.unknown_dimension
        if isinstance(self, UnknownDimension):
            return self if isinstance(other, int) else NotImplemented
        return GraphDimension(operation(int(self), int(other))) if isinstance(other, int) else NotImplemented

    return combined


class DimensionArithmetic:
    """Sums, differences, products, quotients and remainders of dimensions are dimensions."""

    __slots__ = ()
    __add__ = __radd__ = _with_unknown(operator.add)
    __mul__ = __rmul__ = _with_unknown(operator.mul)
    __sub__, __rsub__ = _with_unknown(operator.sub), _with_unknown(lambda a, b: b - a)
    __floordiv__, __rfloordiv__ = _with_unknown(operator.floordiv), _with_unknown(lambda a, b: b // a)
    __mod__, __rmod__ = _with_unknown(operator.mod), _with_unknown(lambda a, b: b % a)

    def is_compatible_with(self, other: Any) -> bool:
        """Whether both may be the same: one is not known, or they are equal."""
        return (
            other is None or isinstance(self, UnknownDimension) or isinstance(other, UnknownDimension) or self == other
        )

    def assert_is_compatible_with(self, other: Any) -> None:
        """Raise ShapeError unless both may be the same."""
        if not self.is_compatible_with(other):
            raise ShapeError(f"Dimensions {self} and {other} are not compatible")

    def merge_with(self, other: Any) -> Any:
        """The known one of two dimensions; ShapeError if both are known and differ."""
        self.assert_is_compatible_with(other)
        known = other if isinstance(self, UnknownDimension) else self
        return GraphDimension(getattr(known, "value", known))


class UnknownDimension(DimensionArithmetic):
    """A dimension that is not known: ``.value`` is None, and it equals None."""

    value = None

    def __eq__(self, other: object) -> bool:
        return other is None or isinstance(other, UnknownDimension)

    def __hash__(self) -> int:
        return hash(None)

    def __repr__(self) -> str:
        return "Dimension(None)"

    def __str__(self) -> str:
        return "?"

    def __int__(self) -> int:
        raise ShapeError("the dimension is not known while the graph is built; use tf.shape(x)[i]")

    __index__ = __int__


class GraphDimension(DimensionArithmetic, Dimension):
    """A dimension that prints as TensorFlow 1's does; of None it is the unknown one."""

    def __new__(cls, value: Any) -> Any:
        """The dimension.

        Raises
        ------
        TypeError, ShapeError
            If it is no integer, or negative.
        """
        if value is None or isinstance(value, UnknownDimension):
            return GraphShape.unknown_dimension
        try:
            size = operator.index(value)
        except TypeError:
            raise TypeError(f"Dimension value must be integer or None, got {value!r}") from None
        if size < 0:
            raise ShapeError(f"Dimension {size} must be >= 0")
        return super().__new__(cls, size)

    def __repr__(self) -> str:
        return f"Dimension({int(self)})"

    __str__ = int.__repr__


class GraphShape(TensorShape):
    """TensorFlow 1's shape: dimensions are objects with ``.value``, the unknown one too."""

    __slots__ = ()
    unknown_dimension = UnknownDimension()

    def _dimension(self, d: int | None) -> Any:
        return self.unknown_dimension if d is None else GraphDimension(d)

    def __repr__(self) -> str:
        return f"TensorShape({self.dims})"

    def __str__(self) -> str:
        return super().__str__().replace("None", "?")


_OPERATORS = (
    "add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod lt le gt ge and rand or ror",
    "xor rxor getitem pow rpow invert neg abs matmul rmatmul",
)
OVERLOADABLE_OPERATORS = frozenset(f"__{name}__" for names in _OPERATORS for name in names.split())
"""The operators of tensors: classes of programs' own that stand for a tensor take them over, one by one."""


class Operation(Node):
    """A node of a graph, with a name.

    Attributes
    ----------
    name : str
        Unique in the graph.
    graph : Graph
    context : Context or None
        The function of control flow that made it (`dualgrad.frontend.flow.contexts`).
    control_inputs : list of Operation
        What must run before it although it gives it no data.
    device : str
        As requested; everything runs on this machine's CPU.
    where : tuple of (str, int)
        File and line of the user's program that made it.
    overridden : tuple of (str, str), or None
        If it stands for an operation with a gradient of the user's own: the type of that, and the gradient's name.
    """

    __slots__ = (
        "__dict__", "_colocated", "_original_op", "context", "control_inputs", "device", "graph", "name", "overridden",
        "where",
    )  # fmt: skip

    def __init__(self, graph: Any, op: Op, inputs: tuple[Any, ...], params: dict[str, Any], name: str) -> None:
        # without a call of what `Node` has: programs have operations by the thousand
        self.op, self.inputs, self.params, self.outputs = op, inputs, params, ()
        self.graph = graph
        self.name = name
        self.control_inputs = graph.current_control_inputs()
        self.device = graph.current_device
        # those between here and who calls `Graph.append`
        line = graph.made_at or user_line(4)
        self.where = graph.lines.setdefault(line, line)
        self.context = None if graph.context is None else graph.belongs(self)
        self.overridden: tuple[str, str] | None = None
        self._original_op: Node | None = None
        self._colocated: Operation | None = None

    @property
    def type(self) -> str:
        """TensorFlow's op type, ``"MatMul"``."""
        return self.overridden[0] if self.overridden else self.op.type

    @property
    def traceback(self) -> list[tuple[str, int]]:
        """Where the user's program made it."""
        return [self.where]

    @property
    def node_def(self) -> Operation:
        """The operation itself; there are no protocol buffers."""
        return self

    def made_for(self, node: Node, colocate: bool) -> None:
        """Note that the gradient of an operation made it (``_original_op``), and is to be where that is."""
        if self._original_op is None:
            self._original_op = node
        if colocate and isinstance(node, Operation):
            self.placed_beside(node)

    def placed_beside(self, other: Operation) -> None:
        """Note that it is to be on the device of another one."""
        if self._colocated is None and other is not self:
            self._colocated, self.device = other, other.device

    def colocation_groups(self) -> list[bytes]:
        """Which operations share its device by request: itself, or what it is the gradient of."""
        return [f"loc:@{self.name}".encode()] if self._colocated is None else self._colocated.colocation_groups()

    def values(self) -> tuple[Any, ...]:
        """The outputs."""
        return self.outputs

    def get_attr(self, name: str) -> Any:
        """A static parameter of the op.

        Raises
        ------
        ValueError
            If it has none of that name.
        """
        if name == "T" and self.inputs:
            return self.inputs[0].dtype
        if name in ("dtype", "T") and self.outputs:
            return self.outputs[0].dtype
        if name not in self.params:
            raise ValueError(
                f"operation {self.name!r} ({self.type}) has no attribute {name!r}; it has {list(self.params)}"
            )
        return self.params[name]

    def run(self, feed_dict: Any = None, session: Any = None) -> None:
        """Run the operation in `session`, or in the default session."""
        session_for(self.graph, session, "execute operation using `run()`").run(self, feed_dict)

    def __copy__(self) -> Operation:
        return self

    def __deepcopy__(self, memo: Any) -> Operation:
        return self

    def __repr__(self) -> str:
        return f"<tf.Operation '{self.name}' type={self.type}>"


class Tensor(Symbol):
    """The output of an operation of a graph."""

    OVERLOADABLE_OPERATORS = OVERLOADABLE_OPERATORS
    __slots__ = ("__dict__",)
    node: Operation

    @property
    def graph(self) -> Any:
        """The graph it belongs to."""
        return self.trace

    @property
    def op(self) -> Operation:
        """The operation that makes it."""
        return self.node

    @property
    def name(self) -> str:
        """``"operation:index"``."""
        return f"{self.op.name}:{self.index}"

    @property
    def value_index(self) -> int:
        """Which output of its operation it is."""
        return self.index

    @property
    def device(self) -> str:
        """As requested; everything runs on this machine's CPU."""
        return self.op.device

    @property
    def shape(self) -> GraphShape:
        """The shape, as far as it is known."""
        return GraphShape(self._aval.shape)

    def get_shape(self) -> GraphShape:
        """The shape, as far as it is known."""
        return self.shape

    @property
    def ndim(self) -> int | None:
        """The rank, None if not known."""
        return self._aval.ndim

    def consumers(self) -> list[Operation]:
        """The operations that take it as an input."""
        return [n for n in self.graph.nodes if any(x is self for x in n.inputs)]

    def eval(self, feed_dict: Any = None, session: Any = None) -> Operand:
        """The value, computed in `session` or in the default session."""
        return session_for(self.graph, session, "evaluate tensor using `eval()`").run(self, feed_dict)

    def __repr__(self) -> str:
        shape = "<unknown>" if self._aval.shape is None else str(self.shape)
        return f"<tf.Tensor '{self.name}' shape={shape} dtype={self.dtype.name}>"

    def __str__(self) -> str:
        shape = "" if self._aval.shape is None else f", shape={self.shape}"
        return f'Tensor("{self.name}"{shape}, dtype={self.dtype.name})'
