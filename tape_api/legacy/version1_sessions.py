"""``tf.compat.v1`` in eager mode: what TensorFlow does there with placeholders, sessions, collections and scopes.

Variables are initialized when they are made, and collections of them are empty: no graph holds them. What needs a
graph raises TensorFlow's error, with the way out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, NoReturn

import numpy as np

from dualgrad.frontend import initializers
from dualgrad.frontend.eager_scopes import name_scope
from engine.core.dtypes import as_dtype, bool_, float32, string
from engine.core.tensor_shape import TensorShape
from engine.core.value import Value
from engine.runtime.faces import Shown
from tape_api import random
from tape_api.printing import print_
from tape_api.tensor import constant, convert_to_tensor
from tape_api.variable import Variable

_GRAPHS = "a program with placeholders and sessions imports graph_api as tf"


def _not_eager(what: str) -> Callable[..., NoReturn]:
    """A function that TensorFlow refuses in eager mode."""

    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(f"{what}: {_GRAPHS}")

    refuse.__doc__ = f"Not in eager mode: {_GRAPHS}."
    return refuse


placeholder = _not_eager("tf.placeholder() is not compatible with eager execution")
sparse_placeholder = _not_eager("`sparse_placeholder` is not compatible with eager execution")
make_initializable_iterator = _not_eager("`make_initializable_iterator()` is not supported in eager mode")
FileWriter = _not_eager("v1.summary.FileWriter is not compatible with eager execution: use tf.summary")
merge = merge_all = _not_eager("Merging tf.summary.* ops is not compatible with eager execution: use tf.summary")


def placeholder_with_default(input: Any, shape: Any, name: str | None = None) -> Any:
    """The default, as a tensor: nothing is fed in eager mode."""
    return convert_to_tensor(input)


def make_one_shot_iterator(dataset: Any) -> Any:
    """An iterator over a data set."""
    return iter(dataset)


# ---- sessions and variables ------------------------------------------------------------------------------------------


class Session(Shown):
    """A session without a graph, such as programs make to set options of devices.

    Parameters
    ----------
    target, graph, config : optional
        Accepted for compatibility.
    """

    def __init__(self, target: str = "", graph: Any = None, config: Any = None) -> None:
        self.target, self.graph = target, graph

    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> NoReturn:
        """Nothing to run, as in TensorFlow.

        Raises
        ------
        RuntimeError
            Always.
        """
        raise RuntimeError(f"The Session graph is empty. Add operations to the graph before calling run(): {_GRAPHS}")

    def close(self) -> None:
        """Nothing is held."""

    def as_default(self) -> Any:
        """Accepted for compatibility."""
        return nullcontext(self)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


class InteractiveSession(Session):
    """See `Session`."""


def get_default_session() -> None:
    """None: eager execution has no session."""


def global_variables_initializer() -> None:
    """Nothing: variables are initialized when they are made."""


def variables_initializer(var_list: Any, name: str = "init") -> None:
    """Nothing: variables are initialized when they are made."""


local_variables_initializer = initialize_all_variables = global_variables_initializer


def tables_initializer(name: str = "init_all_tables") -> None:
    """Nothing: tables are initialized when they are made."""


def global_variables(scope: str | None = None) -> list[Variable]:
    """An empty list: no graph holds variables; keep them, or ask the object that has them."""
    return []


trainable_variables = local_variables = model_variables = moving_average_variables = global_variables


def is_variable_initialized(variable: Variable) -> Any:
    """True."""
    return constant(True, bool_)


def report_uninitialized_variables(var_list: Any = None, name: str = "report_uninitialized_variables") -> Any:
    """No names: variables are initialized when they are made."""
    return constant(np.empty(0, object), string)


_collections: dict[Any, list[Any]] = {}


def add_to_collection(name: Any, value: Any) -> None:
    """One more thing in a collection of the program's own."""
    _collections.setdefault(name, []).append(value)


def get_collection_ref(key: Any) -> list[Any]:
    """A collection of the program's own, as the list that it is."""
    return _collections.setdefault(key, [])


def get_collection(key: Any, scope: str | None = None) -> list[Any]:
    """A copy of such a collection; empty for variables, losses and summaries, which eager mode puts nowhere."""
    return list(_collections.get(key, ()))


def reset_default_graph() -> None:
    """Forget the collections."""
    _collections.clear()


def get_losses(scope: str | None = None, loss_collection: Any = None) -> list[Any]:
    """An empty list: eager mode collects no losses."""
    return []


def get_regularization_losses(scope: str | None = None) -> list[Any]:
    """An empty list: eager mode collects no losses; a layer has them as ``losses``."""
    return []


def get_regularization_loss(scope: str | None = None, name: str = "total_regularization_loss") -> Any:
    """0: eager mode collects no losses."""
    return constant(0.0)


# ---- scopes ----------------------------------------------------------------------------------------------------------

AUTO_REUSE = "AUTO_REUSE"


@contextmanager
def variable_scope(
    name_or_scope: Any = None, default_name: str | None = None, values: Any = None, initializer: Any = None,
    regularizer: Any = None, caching_device: Any = None, partitioner: Any = None, custom_getter: Any = None,
    reuse: Any = None, dtype: Any = None, use_resource: Any = None, constraint: Any = None,
    auxiliary_name_scope: bool = True,
) -> Iterator[None]:  # fmt: skip
    """A prefix of the names of variables.

    Raises
    ------
    NotImplementedError
        If variables are to be made by a `custom_getter`, split, or regularized: give that to `get_variable`.
    """
    for label, value in (("custom_getter", custom_getter), ("partitioner", partitioner), ("regularizer", regularizer)):
        if value is not None:
            raise NotImplementedError(f"variable_scope: argument `{label}` is not supported in eager mode: {_GRAPHS}")
    before = _scope.initializer, _scope.reuse
    _scope.initializer = initializer or _scope.initializer
    _scope.reuse = reuse or _scope.reuse
    try:
        with name_scope(name_or_scope or default_name or ""):
            yield
    finally:
        _scope.initializer, _scope.reuse = before


class _Scope:
    initializer: Any = None
    reuse: Any = None


_scope = _Scope()


def get_variable(
    name: str, shape: Any = None, dtype: Any = None, initializer: Any = None, regularizer: Any = None,
    trainable: bool | None = None, collections: Any = None, caching_device: Any = None, partitioner: Any = None,
    validate_shape: bool = True, use_resource: Any = None, custom_getter: Any = None, constraint: Any = None,
    synchronization: Any = None, aggregation: Any = None,
) -> Variable:  # fmt: skip
    """A new variable in each call: eager mode keeps none by its name.

    Parameters
    ----------
    name : str
    shape : shape, optional
        Unless the initializer is a value.
    dtype : DType, optional
        By default float32.
    initializer : tensor, array or callable, optional
        By default glorot_uniform, and zeros for integers and bools.
    trainable : bool, optional
        By default true.
    constraint : callable, optional
    regularizer, collections, caching_device, partitioner, validate_shape, use_resource, custom_getter
        Accepted for compatibility, as far as they say nothing.
    synchronization, aggregation
        Accepted for compatibility.

    Raises
    ------
    RuntimeError
        If variables are to be used again.
    ValueError
        If neither the initializer nor `shape` says the shape.
    """
    if _scope.reuse:
        raise RuntimeError(
            "When eager execution is enabled variable reuse is only supported when an EagerVariableStore is active: "
            "keep the variable, and use it again"
        )
    for label, value in (("custom_getter", custom_getter), ("partitioner", partitioner), ("regularizer", regularizer)):
        if value is not None:
            raise NotImplementedError(f"get_variable: argument `{label}` is not supported in eager mode: {_GRAPHS}")
    wanted = as_dtype(dtype or float32)
    make = initializer if initializer is not None else _scope.initializer
    options = {"name": name, "trainable": trainable is not False, "constraint": constraint}
    if isinstance(make, (Value, np.ndarray, int, float, list)):
        return Variable(make, dtype=dtype, **options)
    if shape is None:
        raise ValueError(f"Shape of a new variable ({name}) must be fully defined, but instead was <unknown>.")
    if make is None:
        make = glorot_uniform_initializer() if wanted.is_floating else initializers.Zeros()
    made = make() if isinstance(make, type) else make
    dims = TensorShape(shape).as_tuple()
    held = made(dims, dtype=wanted) if not hasattr(made, "values") else made.values(dims, wanted)
    return Variable(held, dtype=wanted, **options)


def colocate_with(op: Any, ignore_existing: bool = False) -> Any:
    """Accepted for compatibility: there is one device."""
    return nullcontext()


def container(container_name: str) -> Any:
    """Accepted for compatibility: there is one process."""
    return nullcontext()


# ---- initial values, as TensorFlow 1 draws them ----------------------------------------------------------------------


_made = initializers.version1(__name__, random)
random_uniform_initializer = _made("random_uniform_initializer", initializers.UnitUniform)
random_normal_initializer = _made("random_normal_initializer", initializers.UnitNormal)
truncated_normal_initializer = _made("truncated_normal_initializer", initializers.UnitTruncatedNormal)
variance_scaling_initializer = _made("variance_scaling_initializer", initializers.VarianceScaling)
glorot_uniform_initializer = _made("glorot_uniform_initializer", initializers.GlorotUniform)
glorot_normal_initializer = _made("glorot_normal_initializer", initializers.GlorotNormal)


# ---- small things ----------------------------------------------------------------------------------------------------


def Print(
    input_: Any, data: Sequence[Any], message: str | None = None, first_n: int | None = None,
    summarize: int | None = None, name: str | None = None,
) -> Any:  # fmt: skip
    """The input, after a line with the data on standard error."""
    print_(*([] if message is None else [message]), *data, summarize=3 if summarize is None else summarize, sep="")
    return convert_to_tensor(input_)


def tuple_(tensors: Sequence[Any], name: str | None = None, control_inputs: Any = None) -> list[Any]:
    """The tensors, as a list."""
    return [x if x is None or isinstance(x, Value) else convert_to_tensor(x) for x in tensors]


def executing_eagerly_outside_functions() -> bool:
    """True."""
    return True


control_flow_v2_enabled = executing_eagerly_outside_functions


def enable_control_flow_v2() -> None:
    """Nothing: control flow is that of TensorFlow 2."""


disable_v2_tensorshape = disable_control_flow_v2 = enable_control_flow_v2
