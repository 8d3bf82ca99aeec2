"""Short functions and contexts of TensorFlow 1 that programs call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np

import graph_api as tf
from dualgrad.files.checkpoints import load_checkpoint
from dualgrad.platform.printing import written
from engine.core import nest
from engine.core.aval import Aval, normalize_shape
from engine.core.eager import EagerTensor
from engine.core.op import Node
from engine.core.operands import Operand, Operation
from engine.core.trace import known_value
from engine.core.variable import assign_variable
from engine.transforms import check
from graph_api.graphs.graph_keys import GraphKeys
from graph_api.graphs.variable import Variable

VERSION = tf.__version__
GIT_VERSION = COMPILER_VERSION = "unknown"


@contextmanager
def colocate_with(op: Any, ignore_existing: bool = False) -> Iterator[None]:
    """Note on what is made inside that it is to be where an operation is; all runs on one device nevertheless."""
    beside = op if isinstance(op, Node) else getattr(op, "op", op)

    def place(made: Any) -> str:
        made.placed_beside(beside)
        return str(made.device)

    with nullcontext() if op is None else tf.device(place):
        yield


@contextmanager
def container(container_name: str) -> Iterator[None]:
    """Nothing: a session keeps its variables itself."""
    yield


def get_seed(op_seed: int | None) -> tuple[int | None, int | None]:
    """The graph's seed and that of an operation made now; None twice if neither is set."""
    from graph_api.sampling import op_seeds

    return op_seeds(tf.get_default_graph(), op_seed) or (None, None)


def no_gradient(op_type: str) -> None:
    """Nothing: types of operations of a program's own have no gradient unless it registers one.

    Raises
    ------
    TypeError
        If `op_type` is no string.
    """
    if not isinstance(op_type, str):
        raise TypeError("op_type must be a string")


def resource_variables_enabled() -> bool:
    """Whether variables are read and written in order: they are."""
    return True


def enable_resource_variables() -> None:
    """Nothing: variables are read and written in order as it is."""


def disable_resource_variables() -> None:
    """Nothing: variables are read and written in order, which no program can tell from TensorFlow's other order."""


def disable_control_flow_v2() -> None:
    """Nothing: branches and loops are functions, which give the same numbers."""


def control_flow_v2_enabled() -> bool:
    """Whether branches and loops are functions: they are."""
    return True


def enable_control_flow_v2() -> None:
    """Nothing: branches and loops are functions as it is."""


def dimension_value(dimension: Any) -> int | None:
    """A dimension as a number; None if it is not known."""
    value = getattr(dimension, "value", dimension)
    return None if value is None else int(value)


def dimension_at_index(shape: Any, index: int) -> Any:
    """The dimension of a shape at an index; an unknown one of a shape of unknown rank."""
    shape = tf.TensorShape(shape)
    return tf.Dimension(None) if shape.ndims is None else shape.dims[index]


def get_static_value(tensor: Any, partial: bool = False) -> np.ndarray | None:
    """The value that a tensor has whatever is fed, as an array; None if that is not known while the graph is built.

    Examples
    --------
    >>> import graph_api as tf
    >>> get_static_value(tf.constant([1, 2]) + 1), get_static_value(tf.placeholder(tf.int32, [2]))
    (array([2, 3], dtype=int32), None)
    """
    return known_value(tensor)


@contextmanager
def init_scope() -> Iterator[None]:
    """No dependencies on what runs before: what is added inside may run when variables are initialized."""
    with tf.control_dependencies(None):
        yield


class ModeKeys:
    """Purposes that estimators ask a function for a model for."""

    TRAIN, EVAL, PREDICT = "train", "eval", "infer"


def get_local_variable(name: str, shape: Any = None, collections: Any = None, **options: Any) -> Any:
    """`get_variable` of a variable that is kept in no checkpoint, and not trained."""
    options["trainable"] = False
    return tf.get_variable(name, shape, collections=[*(collections or ()), GraphKeys.LOCAL_VARIABLES], **options)


def setdiff1d(x: Any, y: Any, index_dtype: Any = "int32", name: str | None = None) -> tuple[Operand, Operand]:
    """The elements of a vector that another one has not, and where they are.

    Examples
    --------
    >>> import graph_api as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     [part.tolist() for part in sess.run(setdiff1d([1, 2, 3], [2]))]
    [[1, 3], [0, 2]]
    """
    x = tf.convert_to_tensor(x)
    y = tf.convert_to_tensor(y, x.dtype)
    kept = tf.reduce_all(tf.not_equal(tf.expand_dims(x, 1), tf.expand_dims(y, 0)), 1)
    at = tf.boolean_mask(tf.range(tf.size(x)), kept)
    return tf.boolean_mask(x, kept), tf.cast(at, index_dtype)


def print_(
    *inputs: Any, output_stream: Any = None, summarize: int = 3, sep: str = " ", end: str = "\n",
    name: str | None = None,
) -> Operation:  # fmt: skip
    """An operation that prints values, of tensors and others, when it runs.

    Parameters
    ----------
    *inputs
        Tensors, structures of tensors, and anything that has a ``str``.
    output_stream : file or callable, optional
        Standard error by default, as in TensorFlow. ``"file://path"`` appends to a file.
    summarize : int
        How many entries to show at the beginning and at the end of each dimension; -1 for all.
    """
    leaves = nest.flatten(list(inputs))
    tensors = [x for x in leaves if isinstance(x, (tf.Tensor, Variable))]

    def show(*arrays: Any) -> list[Any]:
        values = iter(arrays)
        full = [EagerTensor(next(values)) if isinstance(x, (tf.Tensor, Variable)) else x for x in leaves]
        written(nest.pack_sequence_as(list(inputs), full), output_stream, summarize, sep, end)
        return []

    before = len(tf.get_default_graph().get_operations())
    tf.py_func(show, tensors, [], name=name or "PrintV2")
    operation: Operation = tf.get_default_graph().get_operations()[before:][-1]
    return operation


# ---- values from checkpoints -----------------------------------------------------------------------------------------


def init_from_checkpoint(ckpt_dir_or_file: str, assignment_map: Any) -> None:
    """Let initializers set variables to what a checkpoint holds.

    Parameters
    ----------
    ckpt_dir_or_file : str
    assignment_map : dict
        From names in the checkpoint to variables, or to names in the graph. Names that end with ``/`` stand for all
        below; ``/`` alone for all there are.

    Raises
    ------
    ValueError
        If there is no such variable or tensor, or their shapes differ. Then nothing is changed.
    """
    reader = load_checkpoint(ckpt_dir_or_file)
    shapes = reader.get_variable_to_shape_map()
    wanted = assignment_map.items() if isinstance(assignment_map, dict) else assignment_map
    pairs = [pair for here, there in wanted for pair in _assigned(here, there)]
    for name, variable in pairs:
        if name not in shapes:
            raise ValueError(f"Tensor {name} is not found in {ckpt_dir_or_file} checkpoint {sorted(shapes)[:20]}")
        if not variable.shape.is_compatible_with(shapes[name]):
            raise ValueError(
                f"Shape of variable {variable.name} ({variable.shape}) doesn't match with shape of tensor {name} "
                f"({shapes[name]}) from checkpoint reader."
            )
    for name, variable in pairs:
        graph, full = variable.graph, variable.op.name
        with graph.as_default(), graph.control_dependencies(None), graph.name_scope(None):
            initial = graph.constant(np.asarray(reader.get_tensor(name)), name=f"{full}/checkpoint_initializer")
            variable._initial = initial
            handle = variable.handle
            variable._initializer = graph.apply(assign_variable, (handle, initial), {}, name=f"{full}/Assign").op


def _assigned(name: str, there: Any) -> list[tuple[str, Variable]]:
    """The names in the checkpoint and the variables of one entry."""
    if isinstance(there, Variable):
        return [(name, there)]
    if isinstance(there, (list, tuple)):
        return [(name, variable) for variable in there]
    variables = {v.op.name: v for v in tf.global_variables()}
    if not there.endswith("/"):
        if there not in variables:
            raise ValueError(f"Variable {there} is not found in the graph; there are {sorted(variables)[:20]}")
        return [(name, variables[there])]
    if not name.endswith("/"):
        raise ValueError(f"init_from_checkpoint: {name} must end with / as {there} does")
    below, scope = ("" if text == "/" else text for text in (name, there))
    found = [(below + full[len(scope) :], v) for full, v in variables.items() if full.startswith(scope)]
    if not found:
        raise ValueError(f"init_from_checkpoint: there is no variable below {there}")
    return found


def assert_global_step(global_step_tensor: Any) -> None:
    """Raise a TypeError unless a step is a scalar integer tensor or variable."""
    if not global_step_tensor.dtype.is_integer or global_step_tensor.shape.ndims not in (0, None):
        raise TypeError(f'Existing "global_step" is not a scalar integer: {global_step_tensor}')


# ---- comparing derivatives -------------------------------------------------------------------------------------------


def compute_gradient(
    x: Any, x_shape: Any, y: Any, y_shape: Any, x_init_value: Any = None, delta: float = 1e-3,
    init_targets: Any = None, extra_feed_dict: Any = None,
) -> Any:  # fmt: skip
    """The Jacobian of a tensor by gradients, and by differences, each ``[elements of x, elements of y]``.

    Complex numbers count as two reals.

    Parameters
    ----------
    x : tensor or list of tensor
        Which can be fed.
    x_shape : shape, or list of shapes
    y : tensor
    y_shape : shape
    x_init_value : array, or list of arrays, optional
        The point; by default random numbers.
    delta : float
        Half the distance of the points that differences are taken between.
    """
    if isinstance(x, list):
        points = x_init_value or [None] * len(x)
        return [
            compute_gradient(one, shape, y, y_shape, at, delta, init_targets, extra_feed_dict)
            for one, shape, at in zip(x, x_shape, points, strict=True)
        ]
    session = tf.get_default_session() or tf.Session()
    for target in init_targets if isinstance(init_targets, (list, tuple)) else [init_targets]:
        if target is not None:
            session.run(target)
    kind = x.dtype.as_numpy_dtype
    drawn = np.random.random_sample((*x_shape, 2)) @ [1, 1j if x.dtype.is_complex else 0]
    point = drawn if x_init_value is None else x_init_value
    point, further = np.asarray(point, kind), dict(extra_feed_dict or {})
    seed = tf.placeholder(y.dtype, y_shape)
    (gradient,) = tf.gradients(y, x, grad_ys=seed)
    steps = check.unit_seeds(Aval(point.shape, x.dtype))
    seeds = check.unit_seeds(Aval(normalize_shape(y_shape), y.dtype))
    exact, numeric = (np.zeros((len(steps), len(seeds)), x.dtype.real_dtype.as_numpy_dtype) for _ in range(2))
    for j, unit in enumerate(seeds if gradient is not None else []):
        given = {**further, x: point, seed: unit}
        exact[:, j] = check.reals(session.run(tf.convert_to_tensor(gradient), given))
    for i, unit in enumerate(steps):
        near = [session.run(y, {**further, x: point + sign * kind(delta) * unit}) for sign in (1, -1)]
        numeric[i] = check.reals((near[0] - near[1]) / (2 * delta))
    return exact, numeric


def compute_gradient_error(
    x: Any, x_shape: Any, y: Any, y_shape: Any, x_init_value: Any = None, delta: float = 1e-3,
    init_targets: Any = None, extra_feed_dict: Any = None,
) -> float:  # fmt: skip
    """The largest difference of the two Jacobians that `compute_gradient` gives."""
    found = compute_gradient(x, x_shape, y, y_shape, x_init_value, delta, init_targets, extra_feed_dict)
    pairs: Sequence[Any] = found if isinstance(x, list) else [found]
    return max([float(np.abs(exact - numeric).max()) if exact.size else 0.0 for exact, numeric in pairs])
