"""``tf.data``: data sets of eager tensors. What they do is in `dualgrad.data`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any, TypeVar

import numpy as np

from dualgrad.data import reading
from dualgrad.data.dataset import (
    AUTOTUNE,
    INFINITE_CARDINALITY,
    UNKNOWN_CARDINALITY,
    BaseDataset,
    DatasetSpec,
    Mode,
    Options,
)
from dualgrad.data.rowwise import Rowwise
from dualgrad.data.stage import Environment, Lasting, Stage, Stream
from dualgrad.data.structure import Spec, avals, flat, mapped, packed
from engine.core.arguments import as_int
from engine.core.aval import Aval
from engine.core.detach import effect
from engine.core.eager import EagerTensor
from engine.core.nest import Structure
from engine.core.tape import active, paused
from engine.core.trace import Symbol
from engine.core.value import Value
from engine.runtime.errors import InternalError, InvalidArgumentError, OpError, OutOfRangeError, of_users_function
from engine.runtime.faces import Shown
from tape_api import data_experimental as experimental
from tape_api import random
from tape_api.functions.tracing import FlowTrace
from tape_api.tensor import TensorSpec, convert_to_tensor

R = TypeVar("R")


class _Lasting(Environment):
    """An environment whose stages keep things from one iteration to the next."""

    def keep(self, stage: Any, make: Callable[[], R]) -> R:
        """The thing that a stage keeps, made when it is first asked for."""
        return vars(stage).setdefault("kept", make()) if "kept" not in vars(stage) else stage.kept


class _Function(Rowwise):
    """A user's function of elements, called for each, or for many at once where that gives the same bits."""

    captured: tuple[Any, ...] = ()

    def __init__(self, fn: Callable[..., Any], dataset: BaseDataset, before: Any = None) -> None:
        if not callable(fn):
            raise TypeError(f"`map_func` must be callable, got {fn!r}")
        self._fn, self._dataset, self._before = fn, type(dataset), before
        self._source = dataset._stage
        self._known: Any = None
        self._tried = False

    def _called(self, leaves: list[Any], ended: type[OpError] = InvalidArgumentError) -> Structure[Any]:
        with of_users_function("a data set's function", ended):
            result = self._fn(*self._dataset._arguments(leaves, self._source.spec, self._before, _contents))
        if result is None:
            raise TypeError("a data set's function must return tensors, got None")
        return tuple(result) if isinstance(result, list) else result

    def bound(self, env: Environment, ended: type[OpError] = InvalidArgumentError) -> Callable[[Any], Any]:
        """The function of flat elements; `ended` is raised where it raises what would end an iteration."""
        own = Environment.keep(env, self, random.Streams)

        def call(element: Any) -> tuple[Any, ...]:
            with random.inside(own, alone=True), self.recorded():
                made = mapped(_tensor, self._called([EagerTensor(a) for a in element], ended))
            arrays = [x._array for x in flat(made)]
            if self._known is None:
                self._known = packed(made, [Aval(None, x.dtype) for x in flat(made)])
            return tuple(arrays)

        return call

    def streams(self, env: Environment) -> Callable[[Any], Iterator[Any]]:
        """The elements of the data sets that the function makes."""
        own = Environment.keep(env, self, random.Streams)

        def start(element: Any) -> Iterator[Any]:
            with random.inside(own, alone=True):
                made = self._made(self._called([EagerTensor(a) for a in element], InternalError))
            if self._known is None:
                self._known = made.spec
            return made.stream(_Lasting()).elements()

        return start

    def _made(self, result: Any) -> Stage:
        if not isinstance(result, BaseDataset):
            raise TypeError(
                f"`map_func` must return a `Dataset` object, got {result!r} of type {type(result).__name__}"
            )  # fmt: skip
        return result._stage

    def result_spec(self, source: Stage) -> Spec:
        """The spec of the results: from calling the function on symbols, or else on the first element."""
        if not self._tried:
            self._tried = True
            with random.inside(random.Streams(), alone=True):
                spec = self._on_symbols(source)
            self._known = self._known if spec is None else spec
        if self._known is None:
            self._known = self._on_first(source)
        return self._known

    def _on_symbols(self, source: Stage) -> Spec | None:
        """The spec of the function's results for symbols; None if it does not work on symbols."""
        spec = source.spec if self._before is None else (self._before, source.spec)
        around: Any = active.region
        is_inside = getattr(around, "for_specs", False)  # of a function whose results are data sets
        trace = around if is_inside else FlowTrace()
        trace.for_specs = True
        try:
            # what it assigns to variables is not assigned
            with paused(), nullcontext() if is_inside else trace.capturing():
                return self._spec_of(self._called([trace.placeholder(a) for a in avals(spec)]))
        except Exception:  # noqa: BLE001 - it may do anything
            return None

    def _on_first(self, source: Stage) -> Spec:
        """The spec of the function's result for the first element."""
        first = next(source.stream(_Lasting()).elements(), None)
        if first is None or self._before is not None:
            raise InvalidArgumentError(
                "what a data set's function returns is not known: it does not work on symbols, and there is no element"
            )
        return self._spec_of(self._called([EagerTensor(a) for a in first]))

    def _spec_of(self, result: Any) -> Spec:
        if isinstance(result, BaseDataset):
            return result._stage.spec
        made = mapped(lambda x: x if isinstance(x, Symbol) else _tensor(x), result)
        return packed(made, [x.aval for x in flat(made)])


def _contents(x: Any) -> Any:
    """The array of a tensor; a symbol, while specs are found, has none."""
    return x._array if type(x) is EagerTensor else x


def _tensor(x: Any) -> EagerTensor:
    if isinstance(x, BaseDataset):
        raise TypeError("map: the function returned a data set; use flat_map or interleave")
    return convert_to_tensor(x)


class _Eager(Mode):
    """Tensors are there, and functions are called on them."""

    def leaf(self, value: Any) -> Any:
        """An array that nobody else holds; a symbol, while specs are found, as it is."""
        if not isinstance(value, Value) and hasattr(value, "iloc"):
            value = value.to_numpy()  # a table of pandas
        tensor = convert_to_tensor(value)
        return tensor if isinstance(tensor, Symbol) else np.asarray(tensor._array)

    def count(self, name: str, value: Any) -> Any:
        """An int, or a symbol likewise."""
        return (
            value
            if isinstance(value, Symbol)
            else as_int(name, "count", value.numpy() if hasattr(value, "numpy") else value)
        )

    def function(self, fn: Callable[..., Any], dataset: BaseDataset, before: Any = None) -> _Function:
        """The function, to be called for each element."""
        return _Function(fn, dataset, before)

    def spec(self, aval: Aval) -> TensorSpec:
        """A TensorSpec."""
        return TensorSpec(aval.shape, aval.dtype)

    def seeds(self, seed: int | None) -> tuple[int | None, int | None]:
        """By TensorFlow's rules."""
        return random.op_seeds(seed)


class Dataset(BaseDataset):
    """A pipeline of elements.

    Examples
    --------
    >>> import tape_api as tf
    >>> data = tf.data.Dataset.from_tensor_slices([1, 2, 3, 4, 5]).map(lambda x: x * 10).batch(2)
    >>> for batch in data:
    ...     print(batch.numpy())
    [10 20]
    [30 40]
    [50]
    """

    _mode = _Eager()

    def __iter__(self) -> DatasetIterator:
        return DatasetIterator(self)

    def _elements(self) -> Iterator[Any]:
        return self._stage.stream(_Lasting()).elements()

    def _packed(self, element: Any) -> Structure[Any]:
        return self._filled(self._stage.spec, iter(element), tensor=EagerTensor)

    def __len__(self) -> int:
        size = self._size()
        if size == INFINITE_CARDINALITY:
            raise TypeError("The dataset is infinite.")
        if size == UNKNOWN_CARDINALITY:
            raise TypeError("The dataset length is unknown.")
        return size

    def __bool__(self) -> bool:
        return True

    def cardinality(self) -> EagerTensor:
        """The number of elements as an int64 tensor; -1 if there is no end, -2 if it is not known."""
        return EagerTensor(np.int64(self._size()))

    def as_numpy_iterator(self) -> Iterator[Any]:
        """The elements as arrays."""

        def arrays(element: Any) -> Any:
            return mapped(lambda x: list(x.as_numpy_iterator()) if isinstance(x, Dataset) else x.numpy(), element)

        return map(arrays, iter(self))

    def reduce(self, initial_state: Any, reduce_func: Callable[..., Any], name: str | None = None) -> EagerTensor:
        """Apply a function to a state and all elements, one after the other."""
        state = mapped(_tensor, initial_state)
        for element in self:
            with of_users_function("reduce", OutOfRangeError):
                new = mapped(_tensor, reduce_func(state, element))
            state = packed(state, flat(new))
        return state

    def get_single_element(self, name: str | None = None) -> EagerTensor:
        """The only element.

        Raises
        ------
        InvalidArgumentError
            If there is none, or there are more.
        """
        elements = [x for _, x in zip(range(2), self, strict=False)]
        if len(elements) != 1:
            raise InvalidArgumentError(f"Dataset {'had more than one element' if elements else 'was empty'}.")
        return elements[0]

    def take_while(self, predicate: Callable[..., Any], name: str | None = None) -> BaseDataset:
        """The elements up to the first one for which a function does not hold."""
        return self._then(_While(self._stage, self._mode.function(predicate, self)))


class _While(Stage):
    """The elements before the first one for which a function does not hold."""

    def __init__(self, source: Stage, predicate: Any) -> None:
        self.inputs = (source,)
        self._predicate = predicate

    def stream(self, env: Environment) -> Stream:
        """Those elements."""
        holds = self._predicate.bound(env, InternalError)
        source = self.inputs[0].stream(env)

        def items() -> Iterator[Any]:
            for item in source.items:
                if not bool(holds(source.element(item))[0]):
                    return
                yield item

        return source.choosing(Lasting(items))


class DatasetIterator(Shown):
    """Goes through a data set once."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        self._left = dataset._elements()

    def __iter__(self) -> DatasetIterator:
        return self

    def __next__(self) -> Any:
        effect("it takes an element of a data set")
        return self._dataset._packed(next(self._left))

    def get_next(self) -> EagerTensor:
        """The next element.

        Raises
        ------
        OutOfRangeError
            If there is none.
        """
        try:
            return next(self)
        except StopIteration:
            raise OutOfRangeError("End of sequence") from None

    next = get_next

    @property
    def element_spec(self) -> Any:
        """The structure of the elements."""
        return self._dataset.element_spec


class TextLineDataset(Dataset, reading.Lines):
    """The lines of text files; `dualgrad.data.reading.Lines` has the parameters."""


class TFRecordDataset(Dataset, reading.TFRecords):
    """The records of TFRecord files; `dualgrad.data.reading.Lines` has the parameters."""


class FixedLengthRecordDataset(Dataset, reading.Pieces):
    """Records of `record_bytes` bytes; `dualgrad.data.reading.Pieces` has the parameters."""


__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "Dataset",
    "DatasetSpec",
    "FixedLengthRecordDataset",
    "Options",
    "TFRecordDataset",
    "TextLineDataset",
    "experimental",
]  # fmt: skip
