"""Name scopes, variable scopes, and variables shared by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

import numpy as np

from engine.core.aval import compatible, normalize_shape
from engine.core.dtypes import DType, as_dtype, float32
from engine.core.operands import Array
from engine.core.value import Value
from engine.runtime.faces import Shown
from graph_api import initial_values
from graph_api.graphs.graph import Graph, get_default_graph
from graph_api.graphs.graph_keys import VARIABLE_SCOPES, GraphKeys
from graph_api.graphs.variable import Variable

AUTO_REUSE = "AUTO_REUSE"
"""Value of `reuse`: make the variable if it does not exist, share it if it does."""


@contextmanager
def name_scope(name: str | None = None, default_name: str | None = None, values: Any = None) -> Iterator[str]:
    """Put a prefix before the names of the operations made inside the `with` block.

    Parameters
    ----------
    name : str, optional
    default_name : str, optional
        Used if `name` is None.
    values : sequence, optional
        Tensors, by whose graph the scope is opened.

    Yields
    ------
    str
        The scope with a trailing slash.
    """
    chosen = name if name is not None else default_name
    with _graph_of_values(values).name_scope(chosen) as scope:
        yield scope


def _graph_of_values(values: Any) -> Graph:
    for value in values or ():
        graph = getattr(value, "graph", None)
        if isinstance(graph, Graph):
            return graph
    return get_default_graph()


class VariableScope(Shown):
    """A scope that `get_variable` goes by: a prefix, whether to share, and defaults.

    Attributes
    ----------
    name : str
    reuse : bool or AUTO_REUSE
    initializer, regularizer, dtype, constraint
        Defaults for `get_variable`.
    custom_getter : callable, optional
        What makes the variables, see `variable_scope`.
    original_name_scope : str
    """

    initializer: Any
    regularizer: Any
    dtype: Any
    constraint: Any

    def __init__(self, name: str, reuse: Any, parent: VariableScope | None, name_scope: str, **defaults: Any) -> None:
        self.name = name
        self.original_name_scope = name_scope
        inherited = parent.reuse if parent is not None else False
        self.reuse = inherited if reuse is None or (reuse is False and inherited is True) else reuse
        for key in ("initializer", "regularizer", "constraint", "dtype"):
            default, fallback = defaults.get(key), float32 if key == "dtype" else None
            setattr(self, key, default if default is not None else getattr(parent, key, fallback))
        self.custom_getter = _composed(defaults.get("custom_getter"), getattr(parent, "custom_getter", None))

    def reuse_variables(self) -> None:
        """From here on share variables instead of making them."""
        self.reuse = True

    def set_initializer(self, initializer: Any) -> None:
        """Set the default initializer."""
        self.initializer = initializer

    def set_regularizer(self, regularizer: Any) -> None:
        """Set the default regularizer."""
        self.regularizer = regularizer

    def set_custom_getter(self, custom_getter: Callable[..., Any] | None) -> None:
        """Set what makes the variables."""
        self.custom_getter = custom_getter

    def global_variables(self) -> list[Variable]:
        """The variables in this scope."""
        return get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES, f"{self.name}/" if self.name else None)

    def trainable_variables(self) -> list[Variable]:
        """The trainable variables in this scope."""
        return get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES, f"{self.name}/" if self.name else None)

    def get_variable(self, name: str, *args: Any, **kwargs: Any) -> Variable:
        """`get_variable` in this scope."""
        with variable_scope(self):
            return get_variable(name, *args, **kwargs)


def _composed(inner: Callable[..., Any] | None, outer: Callable[..., Any] | None) -> Callable[..., Any] | None:
    """The getter of a scope inside of another one that has a getter: the inner one's getter is the outer one."""
    if inner is None or outer is None:
        return outer if inner is None else inner
    chosen, around = inner, outer
    return lambda getter, *args, **kwargs: chosen(partial(around, getter), *args, **kwargs)


def _stack() -> list[VariableScope]:
    stack = get_default_graph().get_collection_ref(VARIABLE_SCOPES)
    if not stack:
        stack.append(VariableScope("", False, None, ""))
    return stack


def get_variable_scope() -> VariableScope:
    """The current variable scope."""
    return _stack()[-1]


@contextmanager
def variable_scope(
    name_or_scope: Any = None,
    default_name: str | None = None,
    values: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    caching_device: Any = None,
    partitioner: Any = None,
    custom_getter: Any = None,
    reuse: Any = None,
    dtype: Any = None,
    use_resource: bool | None = None,
    constraint: Any = None,
    auxiliary_name_scope: bool = True,
) -> Iterator[VariableScope]:
    """Open a scope for `get_variable` (and for names).

    Parameters
    ----------
    name_or_scope : str, VariableScope or None
    default_name : str, optional
        Used, made unique, if `name_or_scope` is None.
    values : sequence, optional
        Tensors, by whose graph the scope is opened.
    initializer, regularizer, dtype, constraint
        Defaults for variables made inside.
    reuse : bool, None or AUTO_REUSE
        True: variables must exist. AUTO_REUSE: they are shared if they exist. None: as in the enclosing scope.
    auxiliary_name_scope : bool
        Whether to open a name scope as well.
    caching_device, use_resource
        Accepted for compatibility: there is one device and one kind of variable.
    custom_getter : callable, optional
        ``custom_getter(getter, name, **arguments)`` makes the variables in place of `get_variable`, perhaps by calling
        ``getter(name, **arguments)``. That of a scope inside has this one as its getter.
    partitioner : None
        Variables in parts are out of scope.

    Raises
    ------
    TypeError
        If neither a name nor a default name is given, or the name is none.
    ValueError
        If `reuse` is of another kind.
    """
    _require_whole("variable_scope", partitioner)
    if name_or_scope is None and default_name is None:
        raise TypeError("variable_scope: If default_name is None then name_or_scope is required")
    if not isinstance(name_or_scope, (str, VariableScope, type(None))):
        raise TypeError(f"variable_scope: name_or_scope must be a string or VariableScope, got {name_or_scope!r}")
    if reuse not in (True, False, None, AUTO_REUSE):
        raise ValueError(f"variable_scope: argument `reuse` must be True, False, None or tf.AUTO_REUSE, got {reuse!r}")
    graph = _graph_of_values(values)
    with graph.as_default():
        defaults = {"initializer": initializer, "regularizer": regularizer, "dtype": dtype, "constraint": constraint}
        defaults["custom_getter"] = custom_getter
        scope, names = _opened(graph, name_or_scope, default_name, auxiliary_name_scope, reuse, defaults)
        stack = _stack()
        stack.append(scope)
        counts = graph.scope_counts
        counts[scope.name] = counts.get(scope.name, 0) + 1
        before = dict(counts) if isinstance(name_or_scope, VariableScope) else None
        try:
            with names as opened:
                if isinstance(name_or_scope, VariableScope):
                    scope.original_name_scope = name_or_scope.original_name_scope
                else:
                    scope.original_name_scope = opened
                yield scope
        finally:
            stack.remove(scope)
            _close(graph, scope.name, before)


def _close(graph: Graph, name: str, before: dict[str, int] | None) -> None:
    """Forget which default names a scope has given away, so that whoever opens it again gets the same ones.

    After a scope that was opened as an object, all counts are what they were before.
    """
    if before is None:
        before = {k: 0 if k.startswith(f"{name}/") else n for k, n in graph.scope_counts.items()}
    graph.scope_counts = before


def _opened(
    graph: Graph, name_or_scope: Any, default_name: str | None, auxiliary: bool, reuse: Any, defaults: dict[str, Any]
) -> tuple[VariableScope, AbstractContextManager[str]]:
    """The new scope, and the name scope to open with it."""
    parent = get_variable_scope()
    if isinstance(name_or_scope, VariableScope):
        name, parent = name_or_scope.name, name_or_scope
        short = name.rpartition("/")[2]
    else:
        short = name_or_scope if name_or_scope is not None else _unique(graph, parent, default_name or "")
        name = f"{parent.name}/{short}" if parent.name else short
    keep = graph.get_name_scope()
    names = graph.name_scope(short if auxiliary and short else (f"{keep}/" if keep else None))
    return VariableScope(name, reuse, parent, "", **defaults), names


def _unique(graph: Graph, parent: VariableScope, default_name: str) -> str:
    """`default_name` with a number if this scope has opened it before."""
    full = f"{parent.name}/{default_name}" if parent.name else default_name
    number = 0
    while graph.scope_counts.get(f"{full}_{number}" if number else full):
        number += 1
    return f"{default_name}_{number}" if number else default_name


def get_variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool | None = None,
    collections: Sequence[str] | None = None,
    caching_device: Any = None,
    partitioner: Any = None,
    validate_shape: bool = True,
    use_resource: bool | None = None,
    custom_getter: Any = None,
    constraint: Any = None,
    synchronization: Any = None,
    aggregation: Any = None,
) -> Variable:
    """The variable of that name in the current variable scope: a new one, or a shared one.

    Parameters
    ----------
    name : str
    shape : shape, optional
        Needed unless the initializer is a tensor or array.
    dtype : DType, optional
        By default float32.
    initializer : initializer, tensor, array or callable, optional
        By default the scope's, else glorot_uniform for floats and zeros for others.
    regularizer : callable, optional
        Its result for the variable is added to REGULARIZATION_LOSSES.
    trainable, collections, validate_shape, constraint
        As in `Variable`.
    caching_device, use_resource, synchronization, aggregation
        Accepted for compatibility: there is one device and one kind of variable.
    custom_getter : callable, optional
        As in `variable_scope`, in place of the scope's.
    partitioner : None
        Variables in parts are out of scope.

    Raises
    ------
    ValueError
        If the variable exists and the scope does not share, or does not exist and the scope only shares, or its shape
        differs.
    """
    scope = get_variable_scope()
    full = f"{scope.name}/{name}" if scope.name else name
    arguments = {
        "shape": shape, "dtype": dtype, "initializer": initializer, "regularizer": regularizer, "trainable": trainable,
        "collections": collections, "validate_shape": validate_shape, "constraint": constraint,
        "partitioner": partitioner,
    }  # fmt: skip
    getter = custom_getter or scope.custom_getter
    if getter is None:
        return _stored(full, **arguments)
    arguments["initializer"] = initializer if initializer is not None else scope.initializer
    arguments["trainable"] = trainable is not False
    return getter(
        _stored, name=full, **arguments, reuse=scope.reuse, caching_device=caching_device,
        use_resource=use_resource, synchronization=synchronization, aggregation=aggregation,
    )  # fmt: skip


def _stored(
    name: str, shape: Any = None, dtype: Any = None, initializer: Any = None, regularizer: Any = None,
    reuse: Any = None, trainable: bool | None = None, collections: Sequence[str] | None = None,
    caching_device: Any = None, partitioner: Any = None, validate_shape: bool = True, use_resource: bool | None = None,
    constraint: Any = None, synchronization: Any = None, aggregation: Any = None,
) -> Any:  # fmt: skip
    """The variable of that full name: a new one, or a shared one."""
    full, scope, graph = name, get_variable_scope(), get_default_graph()
    shares = scope.reuse if reuse is None else reuse
    _require_whole("get_variable", partitioner)
    existing = graph.variable_store.get(full)
    if existing is not None:
        return _shared(existing, full, shape, dtype, shares)
    if shares is True:
        raise ValueError(
            f"Variable {full} does not exist, or was not created with tf.get_variable(). "
            f"Did you mean to set reuse=tf.AUTO_REUSE in variable_scope?"
        )
    wanted = as_dtype(dtype) if dtype is not None else as_dtype(scope.dtype)
    chosen = initializer if initializer is not None else scope.initializer
    initial = _initial(chosen, shape, wanted, full)
    # a value brings its own dtype along, whatever is asked for (TensorFlow's choice)
    from_value = isinstance(initial, Value) or (chosen is not None and not callable(chosen))
    with graph.name_scope(None):
        variable = Variable(
            initial,
            trainable=True if trainable is None else trainable,
            collections=collections,
            validate_shape=validate_shape,
            name=full,
            dtype=None if from_value else wanted,
            constraint=constraint or scope.constraint,
        )
    graph.variable_store[full] = variable
    _regularize(variable, regularizer or scope.regularizer, graph)
    return variable


def _require_whole(name: str, partitioner: Any) -> None:
    if partitioner is not None:
        raise NotImplementedError(
            f"{name}: argument `partitioner` is not supported, as variables in parts are out of scope: leave it out (a "
            f"saver reads a variable that a checkpoint has in parts as a whole)"
        )


def _shared(existing: Variable, full: str, shape: Any, dtype: Any, shares: Any) -> Variable:
    if not shares:
        raise ValueError(
            f"Variable {full} already exists, disallowed. Did you mean to set reuse=True or reuse=tf.AUTO_REUSE in "
            f"variable_scope? It was made at {existing.op.where[0]}:{existing.op.where[1]}"
        )
    if shape is not None and not compatible(normalize_shape(shape), existing.aval.shape):
        raise ValueError(
            f"Trying to share variable {full}, but specified shape {normalize_shape(shape)} and found shape "
            f"{existing.shape}."
        )
    if dtype is not None and as_dtype(dtype) is not existing.dtype:
        raise ValueError(
            f"Trying to share variable {full}, but specified dtype {as_dtype(dtype).name} and found dtype "
            f"{existing.dtype.name}."
        )
    return existing


def _initial(initializer: Any, shape: Any, dtype: DType, full: str) -> Callable[..., Any] | Array:
    """The callable or array to make the variable from."""
    if initializer is None:
        initializer = (
            initial_values.glorot_uniform_initializer() if dtype.is_floating else initial_values.zeros_initializer()
        )
    if not callable(initializer) or isinstance(initializer, Value):
        have = initializer._shape if isinstance(initializer, Value) else np.shape(initializer)
        if shape is not None and not compatible(normalize_shape(shape), have):
            raise ValueError(
                f"get_variable: the initializer of {full} is a value of shape {have}, not of the shape {shape}; leave "
                f"out the shape, or give tf.constant_initializer(value)"
            )
        return initializer
    if isinstance(initializer, type):
        initializer = initializer()
    dims = normalize_shape(shape)
    if dims is None or None in dims:
        if shape is None and not isinstance(initializer, initial_values.Initializer):
            return initializer
        raise ValueError(f"Shape of a new variable ({full}) must be fully defined, but instead was {shape}.")
    make: Callable[..., Any] = initializer
    return lambda: make(dims, dtype=dtype)


def _regularize(variable: Variable, regularizer: Any, graph: Graph) -> None:
    if regularizer is None:
        return
    with graph.lifted(), graph.name_scope(f"{variable.op.name}/Regularizer/"):
        loss = regularizer(variable)
    if loss is not None:
        graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)
