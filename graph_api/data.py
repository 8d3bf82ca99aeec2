"""``tf.data`` in graphs: data sets, and iterators that a session runs. What data sets do is in `dualgrad.data`.

A user's function is called once, while the graph is built, and becomes a closed function
(`dualgrad.frontend.flow.closures`). What it takes from the graph around it, and the tensors that a data set is made of,
are operands of the operation that starts an iterator: they have the values that they have when it runs, variables too.

The state of an iterator belongs to a session: a hidden variable of the graph holds a number, another one in each
session, under which it is found (`graph_api.sessions.resources`).
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator as PythonIterator
from typing import Any, NoReturn

import numpy as np

from dualgrad.data import experimental, reading
from dualgrad.data.dataset import AUTOTUNE, BaseDataset, Mode, Options
from dualgrad.data.stage import Environment, Stage
from dualgrad.data.structure import Spec, avals, flat, mapped, packed
from dualgrad.frontend.flow.closures import Closure
from engine.core.arguments import as_int
from engine.core.aval import Aval
from engine.core.dtypes import DType
from engine.core.nest import Structure
from engine.core.trace import Symbol
from engine.core.value import Value, boxed
from engine.runtime.errors import InternalError, InvalidArgumentError, OpError, OutOfRangeError, of_users_function
from graph_api.control_flow.flow import stateful_op
from graph_api.convert import convert_to_tensor
from graph_api.graphs.graph import get_default_graph
from graph_api.graphs.tensor import GraphShape, Tensor
from graph_api.iterators import Iterator, TensorSpec, require_constant
from graph_api.sampling import counted_apart, op_seeds
from graph_api.sessions.resources import Resource

# ---- functions -------------------------------------------------------------------------------------------------------


class _Function:
    """A user's function of elements, called once and closed."""

    def __init__(self, fn: Callable[..., Any], dataset: BaseDataset, before: Any = None) -> None:
        if not callable(fn):
            raise TypeError(f"`map_func` must be callable, got {fn!r}")
        graph = get_default_graph()
        spec, kind = dataset._stage.spec, type(dataset)
        first = len(graph.nodes)
        context = graph.new_context("a data set's function", "for one element, and another one for each")
        scope = graph.name_scope("dataset_function")
        with graph.control_dependencies(None), graph.within(context), scope, counted_apart(graph):
            parameters = ([] if before is None else avals(before)) + avals(spec)
            bound = [graph.parameter(a, "arg") for a in parameters]
            arguments = kind._arguments(bound, spec, before)
            result = fn(*arguments)
            if result is None:
                raise TypeError("a data set's function must return tensors, got None")
            self._inner: Stage | None = result._stage if isinstance(result, BaseDataset) else None
            result = tuple(result) if isinstance(result, list) else result
            made = () if self._inner is not None else mapped(convert_to_tensor, result)
            tensors = self._inner.captures() if self._inner is not None else flat(made)
        self._spec = packed(made, [x._aval for x in tensors]) if self._inner is None else self._inner.spec
        closure = Closure(graph, first, bound, [(tensors, ())])
        self._given = tensors
        self._states = len(closure.assigned)
        self._trace = closure.closed(closure.regions[0], closure.assigned)
        held = closure.values([*closure.assigned, *closure.read])
        self._captures = closure.captured, held
        self.captured = (*closure.captured, *held)

    def result_spec(self, source: Stage) -> Spec:
        """The spec of the results."""
        return self._spec

    def bound(self, env: Environment, ended: type[OpError] = InvalidArgumentError) -> Callable[[Any], Any]:
        """The function of flat elements; `ended` is raised where it raises what would end an iteration."""
        taken, held = [[env.values[id(x)] for x in group] for group in self._captures]
        state = env.keep(self, lambda: held[: self._states])
        read, count = held[self._states :], len(self._given)

        def call(element: Any) -> tuple[Any, ...]:
            with of_users_function("a data set's function", ended):
                results = self._trace.run(*element, *state, *taken, *read)
            state[:] = results[count:]
            return tuple([boxed(r) for r in results[:count]])

        return call

    def streams(self, env: Environment) -> Callable[[Any], PythonIterator[Any]]:
        """The elements of the data sets that the function makes."""
        if self._inner is None:
            raise TypeError("`map_func` must return a `Dataset` object")
        inner, call = self._inner, self.bound(env, InternalError)

        def start(element: Any) -> PythonIterator[Any]:
            values = {id(x): np.array(a) for x, a in zip(self._given, call(element), strict=True)}
            return inner.stream(Environment({**env.values, **values})).elements()

        return start


class InGraph(Mode):
    """Tensors have values when an iterator is started."""

    def leaf(self, value: Any) -> Tensor:
        """A tensor of the graph."""
        if not isinstance(value, Value) and hasattr(value, "iloc"):
            value = value.to_numpy()  # a table of pandas
        return convert_to_tensor(value)

    def count(self, name: str, value: Any) -> Symbol | int:
        """An int, or a tensor of the graph."""
        return value if isinstance(value, Symbol) else as_int(name, "count", value)

    def function(self, fn: Callable[..., Any], dataset: BaseDataset, before: Any = None) -> _Function:
        """The function, closed."""
        return _Function(fn, dataset, before)

    def spec(self, aval: Aval) -> TensorSpec:
        """A TensorSpec."""
        return TensorSpec(aval.shape, aval.dtype)

    def seeds(self, seed: int | None) -> tuple[int | None, int | None]:
        """By the rules of all operations that draw random numbers."""
        return op_seeds(get_default_graph(), seed) or (None, None)


# ---- data sets -------------------------------------------------------------------------------------------------------


class Dataset(BaseDataset):
    """A pipeline of elements.

    Examples
    --------
    >>> import graph_api as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     data = tf.data.Dataset.from_tensor_slices([1, 2, 3]).map(lambda x: x * 10).batch(2)
    ...     batch = data.make_one_shot_iterator().get_next()
    ...     print(sess.run(batch), sess.run(batch))
    [10 20] [30]
    """

    _mode = InGraph()

    def make_one_shot_iterator(self) -> Iterator:
        """An iterator that starts by itself, once in each session.

        Raises
        ------
        ValueError
            If the data set depends on placeholders or variables.
        """
        for tensor in self._stage.captures():
            require_constant(tensor)
        # TensorFlow gives it a seed, which operations made later miss
        op_seeds(get_default_graph(), None)
        return Iterator(self._stage.spec, Resource("OneShotIterator"), self._stage, kind=type(self)._plain())

    def make_initializable_iterator(self, shared_name: str | None = None) -> Iterator:
        """An iterator that running its `initializer` starts; placeholders are fed then."""
        made = Iterator(self._stage.spec, Resource("Iterator"), kind=type(self)._plain())
        made._initializer = made._start(self._stage, "MakeIterator")
        return made

    def __iter__(self) -> NoReturn:
        raise RuntimeError("dataset.__iter__() is only supported when eager execution is enabled; use an iterator's")

    @property
    def output_types(self) -> Structure[DType]:
        """The dtypes of the elements."""
        return Iterator(self._stage.spec).output_types

    @property
    def output_shapes(self) -> Structure[GraphShape]:
        """The shapes of the elements."""
        return Iterator(self._stage.spec).output_shapes

    @property
    def output_classes(self) -> Structure[type]:
        """The classes of the elements."""
        return Iterator(self._stage.spec).output_classes

    def cardinality(self) -> Tensor:
        """The number of elements as an int64 tensor; -1 if there is no end, -2 if it is not known."""
        return convert_to_tensor(np.int64(self._size()))

    def reduce(self, initial_state: Any, reduce_func: Callable[..., Any], name: str | None = None) -> Tensor:
        """Apply a function to a state and all elements, one after the other: a structure of tensors."""
        leaves, spec = self._components(initial_state)
        function = self._mode.function(reduce_func, self, before=spec)
        every = [*self._stage.captures(), *function.captured, *leaves]
        captured = tuple({id(x): x for x in every}.values())
        params = {
            "stage": self._stage, "function": function, "initial": tuple(leaves), "captured": captured,
            "spec": tuple(avals(function.result_spec(self._stage))),
        }  # fmt: skip
        outputs = get_default_graph().apply(reduce_dataset, captured, params, name=name or "ReduceDataset")
        return packed(spec, outputs)

    filter_with_legacy_function = BaseDataset.filter
    map_with_legacy_function = BaseDataset.map


def _reduced(*values: Any, stage: Stage, function: Any, initial: Any, captured: Any, spec: Any) -> tuple[Any, ...]:
    env = Environment({id(x): np.array(a) for x, a in zip(captured, values, strict=True)})
    step, state = function.bound(env, OutOfRangeError), tuple([env.array(x) for x in initial])
    for element in stage.stream(env).elements():
        state = step((*state, *element))
    return tuple([np.array(a) for a in state])


reduce_dataset = stateful_op(
    "reduce_dataset",
    _reduced,
    abstract=lambda *_, stage, function, initial, captured, spec: tuple(spec),
    type="ReduceDataset",
    args=("*captured",),
    multi=True,
    doc="What a function makes of all elements of a data set.",
)


class TextLineDataset(Dataset, reading.Lines):
    """The lines of text files; `dualgrad.data.reading.Lines` has the parameters."""


class TFRecordDataset(Dataset, reading.TFRecords):
    """The records of TFRecord files; `dualgrad.data.reading.Lines` has the parameters."""


class FixedLengthRecordDataset(Dataset, reading.Pieces):
    """Records of `record_bytes` bytes; `dualgrad.data.reading.Pieces` has the parameters."""


def make_one_shot_iterator(dataset: Dataset) -> Iterator:
    """An iterator that starts by itself; see `Dataset.make_one_shot_iterator`."""
    return dataset.make_one_shot_iterator()


def make_initializable_iterator(dataset: Dataset, shared_name: str | None = None) -> Iterator:
    """An iterator with an initializer; see `Dataset.make_initializable_iterator`."""
    return dataset.make_initializable_iterator(shared_name)


def get_output_types(dataset_or_iterator: Any) -> Structure[DType]:
    """The dtypes of the elements."""
    return dataset_or_iterator.output_types


def get_output_shapes(dataset_or_iterator: Any) -> Structure[GraphShape]:
    """The shapes of the elements."""
    return dataset_or_iterator.output_shapes


def get_output_classes(dataset_or_iterator: Any) -> Structure[type]:
    """The classes of the elements."""
    return dataset_or_iterator.output_classes


__all__ = [
    "AUTOTUNE", "Dataset", "FixedLengthRecordDataset", "Iterator", "Options", "TFRecordDataset", "TextLineDataset",
    "experimental", "get_output_classes", "get_output_shapes", "get_output_types", "make_initializable_iterator",
    "make_one_shot_iterator",
]  # fmt: skip
