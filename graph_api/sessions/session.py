"""Sessions: running parts of a graph.

A session keeps the variables' values and a cache of executables. A call of `run` with fetches and feeds seen before
(the same tensors, the same shapes) costs a few dictionary look-ups beyond the compiled program itself. A program is
pure; the session hands it the state it reads and stores the state it assigned, in one step, only after the whole
program has succeeded. So a run that fails or is interrupted leaves every variable as it was.

Threads may share a session. A run holds the locks of the variables that it assigns to (`engine.runtime.commit`), so no
other changes them between its reading and its writing; a run that only reads waits for nobody, and what it reads stays
as it is until it has finished.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from dualgrad.frontend.absent import Absent
from engine.closed.function import ClosedFunction
from engine.compiler.examine import examine
from engine.compiler.pipeline import DEFAULT_PASSES
from engine.core import nest
from engine.core.aval import Aval, compatible, format_shape
from engine.core.composite import Composite
from engine.core.dtypes import string
from engine.core.nest import Structure
from engine.core.op import Node
from engine.core.trace import constant, needed_nodes, placeholder
from engine.core.value import NotCopied, Value, as_array, check_unmasked, fits, known_shape
from engine.core.variable import Variable, assign_variable, read_variable, variable_handle
from engine.runtime.collector import uncollected
from engine.runtime.errors import DTypeError, InvalidArgumentError, ShapeError
from engine.runtime.faces import Shown
from graph_api.graphs.defaults import as_fetched, fetched_as, stacks
from graph_api.graphs.graph import Graph, get_default_graph
from graph_api.graphs.tensor import Operation, Tensor
from graph_api.sessions.executables import Executables
from graph_api.sessions.resources import Number
from graph_api.sessions.state import State

if TYPE_CHECKING:
    from graph_api.graphs.variable import Variable as GraphVariable

K = TypeVar("K")

_ELEMENTS = (Tensor, Operation, Variable)  # what stands for itself among fetches


class Session(Shown, NotCopied):
    """Runs operations of a graph.

    Parameters
    ----------
    target : str
        Must be empty: everything runs in this process.
    graph : Graph, optional
        By default the current default graph.
    config : ConfigProto, optional

    Examples
    --------
    >>> import graph_api as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.placeholder(tf.float32)
    ...     y = x * x
    ...     print(sess.run([y, tf.gradients(y, x)[0]], {x: 3.0}))
    [np.float32(9.0), np.float32(6.0)]
    """

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        if target is not None and not isinstance(target, (str, bytes)):
            raise TypeError(f"Session: argument `target` must be a string, got {target!r}")
        if graph is not None and not isinstance(graph, Graph):
            raise TypeError(f"Session: argument `graph` must be a tf.Graph, got {graph!r}")
        if isinstance(config, (int, float, str)):
            raise TypeError(f"Session: argument `config` must be a tf.ConfigProto, got {config!r}")
        if target:
            raise ValueError(f"Session: argument `target` must be empty (there are no remote sessions), got {target!r}")
        self.graph = graph or get_default_graph()
        self._state = State()
        self._executables = Executables()
        self._contexts: list[Any] = []
        self._closed = False

    def _facts_(self) -> dict[str, Any]:
        return {"graph": repr(self.graph), "closed": self._closed}

    # ---- running -----------------------------------------------------------------------------------------------------

    @overload
    def run(
        self, fetches: Tensor | GraphVariable, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> np.ndarray: ...
    @overload
    def run(self, fetches: Operation, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> None: ...
    @overload
    def run(
        self, fetches: list[Tensor], feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> list[np.ndarray]: ...
    @overload
    def run(
        self, fetches: list[Any], feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> list[Any]: ...
    @overload
    def run(
        self, fetches: tuple[Any, ...], feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> tuple[Any, ...]: ...
    @overload
    def run(
        self, fetches: Mapping[K, Any], feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> dict[K, Any]: ...
    @overload
    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any: ...
    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        """Compute `fetches`.

        Parameters
        ----------
        fetches : tensor, operation, variable, name, or nested lists, tuples and dicts of these
        feed_dict : dict, optional
            Values for tensors (or their names): placeholders, or any other tensor, which is then not computed.
        options : RunOptions, optional
        run_metadata : RunMetadata, optional
            Stays empty: runs are not traced.

        Returns
        -------
        structure like `fetches`
            NumPy arrays (scalars for rank 0); None for operations. The caller may change them.

        Raises
        ------
        InvalidArgumentError
            If a placeholder that is needed is not fed, or an op meets bad values.
        FailedPreconditionError
            If a variable is read that has not been initialized.
        ValueError
            If a fed value's shape does not fit.
        """
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")
        if options is not None or run_metadata is not None:
            from graph_api.sessions.run_options import check

            check(options, run_metadata)
        elements, pack = self._resolve(fetches)
        if not self.graph.nodes:
            raise RuntimeError("The Session graph is empty. Add operations to the graph before calling run().")
        feeds, values, forms = self._feeds(feed_dict) if feed_dict else ((), (), ())
        if self.graph.kept_out:
            self.graph.require_allowed(elements, feeds)
        fetched = tuple(map(id, elements))
        key = (*fetched, None, *forms)
        closed, stale = self._executables.own.get(key), None
        while True:
            if closed is None:
                closed = self._executables.due(
                    key,
                    fetched,
                    feeds,
                    values,
                    lambda avals: uncollected(self._compile, elements, feeds, avals),
                    lambda avals: self._examine(elements, feeds, avals),
                    stale,
                )
            results = closed.execute(list(values))
            if results is not None:
                if closed.form is not None:
                    results = [None if k is None else results[k] for k in closed.form]
                return results[0] if pack is None else pack(results)
            # it was compiled for variables of other shapes
            closed, stale = None, closed

    def _compile(self, elements: Sequence[Any], feeds: Sequence[Any], avals: Sequence[Aval]) -> ClosedFunction:
        """The closed function from the feeds to the fetches, for feeds of some avals."""
        fed = {id(t) for t in feeds}
        wanted = [_readable(e) for e in elements]
        tensors, asked = ([x for x in xs if isinstance(x, Tensor)] for xs in (wanted, elements))
        nodes = self._needed(wanted, fed)
        unfed = [n for n in nodes if n.op is placeholder and id(n.outputs[0]) not in fed]
        nodes = _shapes_for(unfed, nodes, wanted, fed) if unfed else nodes
        self.graph.check_fed(feeds, nodes)
        # what is kept must not hold the session, which goes when nobody has it any more
        state, seen = self._state, dict[int, Aval]()
        passes = DEFAULT_PASSES
        if any(node.op is assign_variable and self._state.is_missing(node.inputs[0]) for node in nodes):
            # what gets its first value has none that could be written over
            passes = tuple([name for name in passes if name != "deferred_updates"])

        def state_aval(handle: Any) -> Aval:
            # threads may assign while this one compiles: what is noted is what the program is compiled for
            return seen.setdefault(id(handle), state.aval(handle))

        places = iter(range(len(tensors)))
        form = [next(places) if isinstance(e, Tensor) else None for e in elements]
        closed = ClosedFunction(
            self.graph,
            feeds,
            tensors,
            nodes,
            avals=avals,
            form=None if len(tensors) == len(elements) else form,
            store=state,
            after={i: t for i, t in enumerate(asked) if t.node.op is variable_handle and id(t) not in fed},
            owned=True,
            orders=None,
            state_aval=state_aval,
            describe=_describe,
            passes=passes,
        )
        closed.program  # noqa: B018 - made now, outside the locks of a run
        return closed

    def _needed(self, wanted: Sequence[Any], fed: set[int]) -> list[Node]:
        return self.graph.needed(wanted, fed)

    def _examine(self, elements: Sequence[Any], feeds: Sequence[Any], avals: Sequence[Aval]) -> list[Aval]:
        """Raise if the shapes of the feeds do not fit; what is known of all values."""
        nodes = self._needed([_readable(e) for e in elements], {id(t) for t in feeds})
        return examine(nodes, list(zip(feeds, avals, strict=True)), self._state.aval)

    def read_variables(self, variables: Sequence[Any]) -> list[Any]:
        """The values of several variables at one moment, as they lie: nobody must change them, and updates do not."""
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")
        for variable in variables:
            self.graph.as_graph_element(variable)
        return self._state.read(self._state.keys([v.handle for v in variables]))

    def load_variables(self, variables: Sequence[Any], values: Sequence[Any]) -> None:
        """Set several variables to arrays in one step, without running anything.

        Parameters
        ----------
        variables : sequence of Variable
            Of the session's graph.
        values : sequence of array
            Of the variables' dtypes; nobody else changes them.

        Raises
        ------
        ValueError
            If a variable is of another graph, or a shape does not fit; then none is changed.
        """
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")
        for variable in variables:
            self.graph.as_graph_element(variable)
        self._state.load([v.handle for v in variables], values)

    def _held(self, handles: Sequence[Any]) -> list[Any]:
        """The session, and what it holds in place of variables: other objects when they have changed."""
        return [self, *[self._state.values.get(id(handle)) for handle in handles]]

    # ---- feeds and fetches -------------------------------------------------------------------------------------------

    def _resolve(self, fetches: Any) -> tuple[Sequence[Any], Callable[[list[Any]], Any] | None]:
        """The graph elements to compute, and how to put their values into the structure of `fetches`, if it has one."""
        if type(fetches) is Tensor and fetches.trace is self.graph:
            return (fetches,), None
        if isinstance(fetches, _ELEMENTS):
            return (self._element(fetches),), None
        if type(fetches) is list and all(type(f) is Tensor and f.trace is self.graph for f in fetches):
            return fetches, list
        pack: Callable[[list[Any]], Any] = list
        if fetched_as:
            fetches = nest.map_structure(as_fetched, fetches)
            if isinstance(fetches, Composite):
                wanted, rebuild = self._resolve_composites([fetches], lambda values: values[0])
                return wanted, rebuild
        leaves = fetches
        if type(fetches) is not list or not all(isinstance(f, (*_ELEMENTS, Composite)) for f in fetches):
            leaves, pack = nest.flatten(fetches), functools.partial(nest.pack_sequence_as, fetches)
        if any(isinstance(leaf, Composite) for leaf in leaves):
            return self._resolve_composites(leaves, pack)
        return [self._element(leaf) for leaf in leaves], pack

    def _resolve_composites(
        self, leaves: Sequence[Any], pack: Callable[[list[Any]], Any]
    ) -> tuple[Sequence[Any], Callable[[list[Any]], Any]]:
        """The same with composites among the leaves: their components are fetched."""
        wanted: list[Any] = []
        parts: list[list[Any] | None] = []
        for leaf in leaves:
            part = leaf.components() if isinstance(leaf, Composite) else None
            parts.append(part)
            # None is no fetch, unless it is a component that is not known
            wanted += [leaf] if part is None else [x for x in part if x is not None]

        def rebuilt(values: list[Any]) -> Structure[Any]:
            left = iter(values)
            return pack([
                next(left) if part is None else leaf.rebuilt([None if x is None else next(left) for x in part])
                for leaf, part in zip(leaves, parts, strict=True)
            ])  # fmt: skip

        return [self._element(x) for x in wanted], rebuilt

    def _element(self, leaf: Any) -> Tensor | Operation:
        if type(leaf) is Tensor and leaf.trace is self.graph:
            return leaf
        if leaf is None:
            raise TypeError("Fetch argument None has invalid type NoneType. Did a gradient come back as None?")
        try:
            # a variable stands for what it holds after the run, as in TensorFlow 1: programs fetch the global step
            # beside the step of training. What reads it is of its place in the graph
            return self.graph.as_graph_element(leaf.handle if isinstance(leaf, Variable) else leaf)
        except TypeError:
            raise TypeError(
                f"Fetch argument {leaf!r} has invalid type {type(leaf).__name__}, must be a string, Tensor, Operation "
                f"or Variable"
            ) from None
        except (ValueError, KeyError) as error:
            raise ValueError(f"Fetch argument {leaf!r} cannot be interpreted as a Tensor. ({error.args[0]})") from None

    def _feeds(self, feed_dict: Any) -> tuple[Sequence[Any], Sequence[Any], Sequence[Any]]:
        """The tensors fed, their values, and what a program is compiled for: identities and shapes in turn."""
        tensors: list[Tensor] = []
        values: list[Any] = []
        forms: list[Any] = []
        graph = self.graph
        if not isinstance(feed_dict, Mapping):
            raise TypeError(f"Session.run: argument `feed_dict` must be a dict, got {feed_dict!r}")
        for key, value in feed_dict.items():
            if fetched_as:
                key = as_fetched(key)
            if type(key) is Tensor and key.trace is graph:
                pairs: Any = ((key, value),)
            elif isinstance(key, Composite):
                pairs = [(self._fed_tensor(one), part) for one, part in key.fed(value)]
            elif isinstance(key, tuple):
                parts = zip(nest.flatten(key), nest.flatten(value), strict=True)
                pairs = [(self._fed_tensor(one), part) for one, part in parts]
            else:
                pairs = ((self._fed_tensor(key), value),)
            for tensor, part in pairs:
                array = _fed_array(tensor, part)
                tensors.append(tensor)
                values.append(array)
                forms += (id(tensor), array.shape)
        return tensors, values, forms

    def _fed_tensor(self, key: Any) -> Tensor:
        """The tensor for a key of a feed; for a variable its handle, so that every read gives the value fed."""
        try:
            if isinstance(key, Variable):
                key = key.handle
            return self.graph.as_graph_element(key, allow_operation=False)
        except TypeError:
            raise TypeError(f"Cannot interpret feed_dict key as Tensor: {key!r}") from None
        except (KeyError, ValueError) as error:
            raise ValueError(f"Cannot interpret feed_dict key {key!r} as Tensor: {error.args[0]}") from None

    @property
    def graph_def(self) -> Any:
        """The graph as a GraphDef."""
        return self.graph.as_graph_def()

    def make_callable(self, fetches: Any, feed_list: Sequence[Any] | None = None) -> Callable[..., Any]:
        """A function that runs `fetches` with values for `feed_list` as positional arguments."""
        keys = list(feed_list or [])
        return lambda *values: self.run(fetches, dict(zip(keys, values, strict=True)))

    partial_run, partial_run_setup = Absent(), Absent()

    # ---- context -----------------------------------------------------------------------------------------------------

    def as_default(self) -> _DefaultSession:
        """A context manager that makes this the session that `eval` and `run` of tensors use."""
        return _DefaultSession(self)

    def __enter__(self) -> Session:
        if self._contexts:
            raise RuntimeError("Session context managers are not re-entrant: use Session.as_default()")
        contexts: list[AbstractContextManager[Any]] = [self.graph.as_default(), self.as_default()]
        for context in contexts:
            context.__enter__()
        self._contexts.append(contexts)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        for context in reversed(self._contexts.pop()):
            context.__exit__(kind, error, where)
        self.close()

    def close(self) -> None:
        """Free the variables' values and forget the compiled programs."""
        for value in list(self._state.values.values()):
            if type(value) is Number:
                value.resource.release(int(value))
        self._state.clear()
        self._executables.clear()
        self._closed = True


class _DefaultSession:
    """Makes a session the default one inside a `with` block."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def __enter__(self) -> Session:
        stacks.sessions.append(self._session)
        return self._session

    def __exit__(self, *_: Any) -> None:
        stacks.sessions.remove(self._session)


class InteractiveSession(Session):
    """A session that makes itself the default one until it is closed."""

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        super().__init__(target, graph, config)
        stacks.sessions.append(self)
        self._graph_context = self.graph.as_default() if graph is not None else None
        if self._graph_context is not None:
            self._graph_context.__enter__()

    def close(self) -> None:
        """Stop being the default session, and free everything."""
        if self in stacks.sessions:
            stacks.sessions.remove(self)
        if self._graph_context is not None:
            self._graph_context.__exit__(None, None, None)
            self._graph_context = None
        super().close()


def _readable(element: Any) -> Tensor | Operation:
    """The element to compute for a fetch: for a variable's handle, the variable's value."""
    if isinstance(element, Tensor) and element.node.op is variable_handle:
        return next(n for n in element.graph.nodes if n.op is read_variable and n.inputs[0] is element).outputs[0]
    return element


def _fed_array(tensor: Tensor, value: Any) -> np.ndarray:
    """The value fed for a tensor as a contiguous array of its dtype; shapes must be compatible."""
    aval = tensor._aval
    dtype = aval.dtype.numpy
    if type(value) is np.ndarray and value.dtype is dtype and value.shape == aval.shape and value.flags.c_contiguous:
        return value
    if isinstance(value, Value):
        if not hasattr(value, "numpy"):
            raise TypeError(f"The value of a feed cannot be a tf.Tensor object ({value!r} for {tensor.name})")
        value = value.numpy()
    if type(value) is np.ndarray and value.dtype is dtype:
        array = value if value.flags.c_contiguous else np.ascontiguousarray(value)
    else:
        array = _converted_feed(tensor, value)
    shape = aval.shape
    if array.shape != shape and not compatible(array.shape, shape):
        raise ShapeError(
            f"Cannot feed value of shape {array.shape} for Tensor {tensor.name}, which has shape {format_shape(shape)}"
        )
    return array


def _converted_feed(tensor: Tensor, value: Any) -> np.ndarray:
    check_unmasked(value, f"feed of {tensor.name}")
    try:
        array = np.asarray(value)
        if not array.size and not isinstance(value, np.ndarray):
            return np.zeros(array.shape, tensor.dtype.numpy)
        if array.dtype.kind not in "OSUV" and tensor.dtype is not string and array.dtype != tensor.dtype.numpy:
            fractional = array.dtype.kind == "f" and (tensor.dtype.is_integer or tensor.dtype.is_bool)
            lossy = (fractional and not isinstance(value, np.ndarray)) or array.dtype.kind == "c"
            if lossy and not tensor.dtype.is_complex:
                raise DTypeError(f"it is of dtype {array.dtype}")
            if tensor.dtype.is_integer and not fits(array, tensor.dtype.numpy):
                raise DTypeError(f"a number of dtype {array.dtype} is out of range")
            return np.ascontiguousarray(array.astype(tensor.dtype.numpy)).reshape(array.shape)
        return np.ascontiguousarray(as_array(value, tensor.dtype)).reshape(array.shape)
    except (TypeError, ValueError) as error:
        raise DTypeError(
            f"Cannot feed {value!r} for Tensor {tensor.name}, which has dtype {tensor.dtype.name}: {error}"
        ) from None


def _shapes_for(unfed: Sequence[Node], nodes: Sequence[Node], wanted: Sequence[Any], fed: set[int]) -> list[Node]:
    """The nodes that are read, with constants for tensors of which only the shape is asked for.

    So it is with the gradient of what is linear in a placeholder, which needs not be fed.
    """
    read = needed_nodes(nodes, wanted, fed, lambda n: n.control_inputs, by_shape=True)
    places, behind = set(map(id, read)), set(map(id, unfed))
    for node in nodes:
        if behind.intersection(id(x.node) for x in node.inputs if isinstance(x, Tensor)):
            behind.add(id(node))
        is_run = node in unfed if id(node) in places else node.op.stateful and node not in unfed
        if is_run and id(node) in behind:
            raise _unfed(node if node in unfed else unfed[0])
    stands_for: dict[int, Node] = {}
    for x in [x for node in read for x in node.inputs if isinstance(x, Tensor)]:
        if id(x.node) not in places and id(x) not in fed:
            value = np.broadcast_to(np.zeros((), x.dtype.numpy), known_shape(x, "a placeholder"))
            stands_for[id(x)] = Node(constant, (), {"value": value}, (x,))
    return [*stands_for.values(), *read]


def _unfed(node: Node) -> Exception:
    assert isinstance(node, Operation)
    dtype, shape = node.params["dtype"], node.params["shape"]
    return InvalidArgumentError(
        f"You must feed a value for placeholder tensor {node.name!r} with dtype {dtype.name} and shape "
        f"{format_shape(shape)}{_describe(node)}",
        node,
    )


def _describe(node: Node) -> str:
    if not isinstance(node, Operation):
        return ""
    file, line = node.where
    return f" [[operation {node.name!r}, made at {file}:{line}]]"
