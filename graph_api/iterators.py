"""Iterators over data sets in graphs: operations that give another element in each run.

The state of an iterator belongs to a session (`graph_api.sessions.resources`).
"""

from __future__ import annotations

from collections.abc import Iterator as PythonIterator
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from dualgrad.data.dataset import BaseDataset
from dualgrad.data.declared import declared
from dualgrad.data.sources import Rows
from dualgrad.data.stage import Environment, Stage
from dualgrad.data.structure import DatasetLeaf, avals, batched, flat, is_structure, mapped, packed, width
from engine.core.aval import Aval
from engine.core.dtypes import DType, as_dtype, string
from engine.core.nest import Structure
from engine.core.trace import placeholder
from engine.core.value import boxed
from engine.core.variable import variable_handle
from engine.runtime.errors import FailedPreconditionError, InvalidArgumentError, OutOfRangeError
from engine.runtime.faces import Shown
from graph_api.control_flow.flow import stateful_op
from graph_api.convert import convert_to_tensor
from graph_api.graphs.graph import get_default_graph
from graph_api.graphs.tensor import GraphShape, Operation, Tensor
from graph_api.sessions.resources import Resource


class TensorSpec:
    """A shape and a dtype."""

    def __init__(self, shape: Any, dtype: Any = "float32", name: str | None = None) -> None:
        self.shape, self.dtype, self.name = GraphShape(shape), as_dtype(dtype), name

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self.shape}, dtype={self.dtype!r}, name={self.name!r})"


class _Running:
    """An iterator that has been started in a session."""

    def __init__(self, stage: Stage, captured: Sequence[Any], values: Sequence[Any]) -> None:
        # copies: what was fed, and the memory of a run, change later
        env = Environment({id(x): np.array(a) for x, a in zip(captured, values, strict=True)})
        self._left = stage.stream(env).elements()

    def next(self) -> tuple[Any, ...]:
        element = next(self._left, None)
        if element is None:
            raise OutOfRangeError("End of sequence")
        return tuple([np.array(a) for a in element])


def _started(number: Any, *values: Any, resource: Resource, stage: Stage, captured: tuple[Any, ...]) -> tuple[()]:
    resource.set(int(number), _Running(stage, captured, values))
    return ()


start_iterator = stateful_op(
    "start_iterator",
    _started,
    abstract=lambda *_, **__: (),
    type="MakeIterator",
    args=("resource", "*captured"),
    multi=True,
    doc="Starts an iterator anew.",
)


def _next(
    number: Any, *values: Any, resource: Resource, stage: Any, captured: tuple[Any, ...], spec: Any
) -> tuple[np.ndarray, ...]:
    def start() -> _Running:
        if stage is None:
            raise FailedPreconditionError(
                "GetNext() failed because the iterator has not been initialized. Ensure that you have run the "
                "initializer operation for this iterator before getting the next element."
            )
        return _Running(stage, captured, values)

    with resource.exclusively(int(number), start) as running:
        return running.next()


next_element = stateful_op(
    "next_element",
    _next,
    abstract=lambda *_, resource, stage, captured, spec: tuple(spec),
    type="IteratorGetNext",
    args=("resource", "*captured"),
    multi=True,
    doc="The next element of an iterator.",
)

_by_handle: dict[bytes, Resource] = {}
"""Iterators that have a handle as a string, by the part of it that names them in the process."""


def _handle(number: Any, *values: Any, resource: Resource, stage: Any, captured: tuple[Any, ...]) -> np.ndarray:
    if stage is not None:
        with resource.exclusively(int(number), lambda: _Running(stage, captured, values)):
            pass
    _by_handle[f"iterator{id(resource)}".encode()] = resource
    return boxed(f"iterator{id(resource)} {int(number)}".encode())


string_handle = stateful_op(
    "string_handle",
    _handle,
    abstract=lambda *_, resource, stage, captured: Aval((), string),
    type="IteratorToStringHandle",
    args=("resource", "*captured"),
    doc="A string that names an iterator of a session.",
)


def _next_of(handle: Any, *, spec: Any) -> tuple[np.ndarray, ...]:
    name, _, number = bytes(handle[()]).partition(b" ")
    if name not in _by_handle or not number.isdigit():
        raise InvalidArgumentError(f"the iterator's handle {handle[()]!r} names none; feed what string_handle() gave")
    resource = _by_handle[name]
    with resource.exclusively(int(number), _not_started) as running:
        element = running.next()
    for i, (array, aval) in enumerate(zip(element, spec, strict=True)):
        if array.dtype != aval.dtype.numpy:
            raise InvalidArgumentError(
                f"Number of components or types do not match: component {i} is of dtype {array.dtype}, expected "
                f"{aval.dtype.name}"
            )
    return element


def _not_started() -> NoReturn:
    raise FailedPreconditionError(
        "GetNext() failed because the iterator has not been initialized. Ensure that you have run the initializer "
        "operation for this iterator before getting the next element."
    )


next_of_handle = stateful_op(
    "next_of_handle",
    _next_of,
    abstract=lambda handle, *, spec: tuple(spec),
    type="IteratorGetNext",
    args=("handle",),
    multi=True,
    doc="The next element of the iterator that a string names.",
)


class Iterator(Shown):
    """Goes through a data set: `get_next` gives tensors, another element in each run.

    When there are no more elements a run raises OutOfRangeError.
    """

    def __init__(
        self, spec: Any, resource: Any = None, stage: Any = None, handle: Any = None, kind: Any = None
    ) -> None:
        self._kind = kind
        self._spec, self._resource, self._stage, self._by_name = spec, resource, stage, handle
        self._initializer: Operation | None = None

    # ---- kinds of iterators ------------------------------------------------------------------------------------------

    @staticmethod
    def from_structure(
        output_types: Any, output_shapes: Any = None, shared_name: str | None = None, output_classes: Any = None
    ) -> Iterator:
        """An iterator for any data set of some structure: `make_initializer` makes an operation for each."""
        return Iterator(declared(output_types, output_shapes, None), Resource("Iterator"))

    @staticmethod
    def from_string_handle(
        string_handle: Any, output_types: Any, output_shapes: Any = None, output_classes: Any = None
    ) -> Iterator:
        """The iterator that a string names which is fed: what running `string_handle` of another gave."""
        handle = convert_to_tensor(string_handle)
        if handle.dtype is not string:
            raise TypeError(f"from_string_handle: a scalar of dtype string is needed, got {handle.dtype.name}")
        return Iterator(declared(output_types, output_shapes, None), handle=handle)

    # ---- operations --------------------------------------------------------------------------------------------------

    @property
    def initializer(self) -> Operation:
        """The operation that starts it."""
        if self._initializer is None:
            raise ValueError("Iterator does not have an initializer.")
        return self._initializer

    def make_initializer(self, dataset: BaseDataset, name: str | None = None) -> Operation:
        """An operation that starts it on a data set.

        Raises
        ------
        TypeError, ValueError
            If the data set's elements are of another structure, or dtypes or shapes do not fit.
        """
        if not isinstance(dataset, BaseDataset):
            raise TypeError(f"make_initializer: a data set is needed, got {dataset!r}")
        if self._resource is None:
            raise ValueError("make_initializer: the iterator is named by a string; start the one that it names")
        _check_fits(self._spec, dataset._stage.spec)
        return self._start(dataset._stage, name or "make_initializer")

    def _start(self, stage: Stage, name: str) -> Operation:
        captured = tuple(stage.captures())
        params = {"resource": self._resource, "stage": stage, "captured": captured}
        return get_default_graph().apply_for_effect(
            start_iterator, (self._resource.number, *captured), params, name
        )  # fmt: skip

    def get_next(self, name: str | None = None) -> Any:
        """The next element, as a structure of tensors. Call it once: each call is an operation of its own."""
        graph = get_default_graph()
        spec = tuple(avals(self._spec))
        if self._by_name is not None:
            outputs = graph.apply(next_of_handle, (self._by_name,), {"spec": spec}, name=name or "IteratorGetNext")
        else:
            captured = () if self._stage is None else tuple(self._stage.captures())
            params = {"resource": self._resource, "stage": self._stage, "captured": captured, "spec": spec}
            operands = (self._resource.number, *captured)
            outputs = graph.apply(next_element, operands, params, name=name or "IteratorGetNext")
        left = iter(outputs)
        return packed(self._spec, [_leaf(leaf, left, self._kind) for leaf in flat(self._spec)])

    def string_handle(self, name: str | None = None) -> Tensor:
        """A tensor of a string that names the iterator, to be fed to `from_string_handle`."""
        if self._by_name is not None:
            return self._by_name
        captured = () if self._stage is None else tuple(self._stage.captures())
        params = {"resource": self._resource, "stage": self._stage, "captured": captured}
        return get_default_graph().apply(
            string_handle, (self._resource.number, *captured), params, name=name or "IteratorToStringHandle"
        )

    # ---- what is known -----------------------------------------------------------------------------------------------

    @property
    def element_spec(self) -> Any:
        """The structure of the elements."""
        return mapped(lambda aval: TensorSpec(aval.shape, aval.dtype), self._spec)

    @property
    def output_types(self) -> Structure[DType]:
        """The dtypes of the elements."""
        return mapped(lambda a: a.dtype, self._spec)

    @property
    def output_shapes(self) -> Structure[GraphShape]:
        """The shapes of the elements."""
        return mapped(lambda a: GraphShape(a.shape), self._spec)

    @property
    def output_classes(self) -> Structure[type]:
        """The classes of the elements."""
        return mapped(lambda a: Tensor, self._spec)


def _leaf(leaf: Any, left: PythonIterator[Any], kind: Any) -> Tensor:
    if isinstance(leaf, DatasetLeaf):
        return kind._of(Rows([next(left) for _ in range(width(leaf))], batched(leaf.spec, None)))
    return next(left)


def _check_fits(wanted: Any, spec: Any) -> None:
    a, b = flat(wanted), flat(spec)
    same = len(a) == len(b) and is_structure(wanted) == is_structure(spec)
    if not same or any(x.dtype is not y.dtype for x, y in zip(a, b, strict=True)):
        raise TypeError(f"Expected output types {[x.dtype.name for x in a]!r} but got {[x.dtype.name for x in b]!r}.")
    for x, y in zip(a, b, strict=True):
        if not GraphShape(x.shape).is_compatible_with(GraphShape(y.shape)):
            raise TypeError(f"Expected output shapes compatible with {x.shape} but got {y.shape}.")


def require_constant(tensor: Any) -> None:
    """Raise unless a tensor is the same in every run, and known without feeds."""
    seen: set[int] = set()
    left = [tensor.node]
    while left:
        node = left.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if node.op is placeholder:
            raise ValueError(
                f"Cannot capture a placeholder (name:{node.name}, type:Placeholder) by value; use "
                f"make_initializable_iterator"
            )
        if node.op is variable_handle and node.params["default"] is None:
            raise ValueError(
                f"Failed to create a one-shot iterator for a dataset: it depends on the variable {node.name}. Use "
                f"make_initializable_iterator"
            )
        left += [x.node for x in node.inputs]
