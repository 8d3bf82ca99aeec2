"""Functions that only TensorFlow's internal modules have: slots of variables, the list of devices, `pfor`, `Defun`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import graph_api as tf
from engine.core import nest
from engine.core.value import shape_of
from graph_api.legacy.metric_sums import alike
from graph_api.legacy.old_names import get_static_value


def create_slot(primary: Any, val: Any, name: str, colocate_with_primary: bool = True) -> Any:
    """A variable that is named after `primary`, begins with `val` and is not trained.

    Parameters
    ----------
    primary
        The variable that the slot belongs to.
    val
        The initial value: a tensor or an array.
    name
        The last part of the new name.
    colocate_with_primary
        Ignored: there is one device.
    """
    return tf.get_variable(f"{primary.op.name}/{name}", initializer=val, trainable=False)


def create_slot_with_initializer(
    primary: Any, initializer: Any, shape: Any, dtype: Any, name: str, colocate_with_primary: bool = True
) -> Any:
    """A slot of a shape and dtype of its own; see `create_slot`."""
    return tf.get_variable(f"{primary.op.name}/{name}", shape, dtype, initializer, trainable=False)


def create_zeros_slot(primary: Any, name: str, dtype: Any = None, colocate_with_primary: bool = True) -> Any:
    """A slot of zeros in the shape of `primary`; see `create_slot`."""
    zeros, kind = tf.zeros_initializer(), primary.dtype.base_dtype if dtype is None else dtype
    return create_slot_with_initializer(primary, zeros, shape_of(primary), kind, name)


def prevent_gradient(input: Any, message: str = "", name: str | None = None) -> Any:
    """The value of a tensor, through which no gradient can be taken.

    Parameters
    ----------
    input : tensor
    message : str
        Why not.
    name : str, optional

    Raises
    ------
    LookupError
        If a gradient through it is asked for.
    """

    def refuse(cotangent: Any) -> Any:
        raise LookupError(f"prevent_gradient: Gradient explicitly disabled. Reason: {message!r}")

    return tf.custom_gradient(lambda x: (tf.identity(x, name=name), refuse))(input)


variable = tf.Variable


class PartitionedVariable:
    """A variable in several parts: there are none, so that nothing is one."""


def metric_variable(
    shape: Any, dtype: Any, validate_shape: bool = True, name: str | None = None, **options: Any
) -> Any:
    """A local variable that begins with zeros, in the collection of metrics' variables."""
    keys = tf.GraphKeys
    return tf.Variable(
        lambda: tf.zeros(shape, dtype), trainable=False, collections=[keys.LOCAL_VARIABLES, keys.METRIC_VARIABLES],
        validate_shape=validate_shape, name=name,
    )  # fmt: skip


def remove_squeezable_dimensions(
    labels: Any, predictions: Any, expected_rank_diff: int = 0, name: str | None = None
) -> tuple[Any, Any]:
    """Labels and predictions, without a last dimension of 1 that only one of them has."""
    if expected_rank_diff:
        raise ValueError("remove_squeezable_dimensions: `expected_rank_diff` is not supported; squeeze them yourself")
    return alike(labels, predictions)


class DeviceAttributes(NamedTuple):
    """A device as TensorFlow lists it."""

    name: str
    device_type: str
    memory_limit: int = 268435456
    physical_device_desc: str = ""


def list_local_devices(session_config: Any = None) -> list[DeviceAttributes]:
    """The devices of this machine: its processor."""
    return [DeviceAttributes("/device:CPU:0", "CPU")]


def broadcast_shape(shape_x: Any, shape_y: Any) -> Any:
    """The static shape to which two shapes are broadcast."""
    return tf.broadcast_static_shape(tf.TensorShape(shape_x), tf.TensorShape(shape_y))


def smart_cond(pred: Any, true_fn: Any = None, false_fn: Any = None, name: str | None = None) -> Any:
    """`tf.cond`, or one of the functions alone if it is known which one while the graph is built."""
    known = smart_constant_value(pred)
    if known is None:
        return tf.cond(pred, true_fn, false_fn, name=name)
    return true_fn() if known else false_fn()


def smart_constant_value(pred: Any) -> bool | None:
    """Whether a condition holds; None if that is not known while the graph is built.

    Raises
    ------
    TypeError
        If it is no tensor, bool, 0 or 1.
    """
    if isinstance(pred, tf.Tensor):
        value = get_static_value(pred)
        return None if value is None else bool(value)
    if pred not in (0, 1):
        raise TypeError(f"`pred` must be a Tensor, or a Python bool, or 1 or 0. Found instead: {pred!r}")
    return bool(pred)


def pfor(
    loop_fn: Callable[[Any], Any], iters: Any, fallback_to_while_loop: bool = True, parallel_iterations: Any = None
) -> Any:
    """Results of ``loop_fn(i)`` for ``i = 0 … iters - 1``, stacked; other arguments are accepted for compatibility."""
    return tf.vectorized_map(loop_fn, tf.range(iters))


class Defun:
    """Decorator for a function of tensors of declared dtypes, which may have a gradient of its own.

    The function is called anew for each call, where TensorFlow calls it once and keeps its graph.

    Parameters
    ----------
    *input_types : DType
        The dtypes of its arguments.
    grad_func : Defun, optional
        Its gradient: a function of its arguments and of one gradient per result.
    python_grad_func : callable, optional
        Its gradient, as `RegisterGradient` takes them: of an operation, with `inputs` and `outputs`, and of one
        gradient per result.
    **options
        Others are accepted for compatibility: names, `noinline`, `shape_func`, `out_names`.

    Examples
    --------
    >>> import graph_api as tf
    >>> @Defun(tf.float32, python_grad_func=lambda op, gradient: 2.0 * gradient * op.outputs[0])
    ... def rounded(x):
    ...     return tf.round(x)
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.constant(3.2)
    ...     print(sess.run([rounded(x), *tf.gradients(rounded(x), x)]))
    [np.float32(3.0), np.float32(6.0)]
    """

    def __init__(
        self, *input_types: Any, grad_func: Any = None, python_grad_func: Callable[..., Any] | None = None,
        **options: Any,
    ) -> None:  # fmt: skip
        self._types, self._gradient, self._python_gradient = input_types, grad_func, python_grad_func
        self._function: Callable[..., Any] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function as it is, if this decorates it; otherwise its results.

        Raises
        ------
        ValueError
            If the number of arguments is not that of the declared dtypes.
        """
        if self._function is None:
            (self._function,) = args
            self.__name__ = self.__qualname__ = getattr(self._function, "__name__", "Defun")
            self.__doc__ = self._function.__doc__
            return self
        if self._types and len(args) != len(self._types):
            raise ValueError(f"{self.__name__}: it takes {len(self._types)} arguments, as Defun says, got {len(args)}")
        types = self._types or [None] * len(args)
        tensors = [tf.convert_to_tensor(x, dtype) for x, dtype in zip(args, types, strict=True)]
        if self._gradient is None and self._python_gradient is None:
            return self._function(*tensors)
        return tf.custom_gradient(self._pulled)(*tensors)

    @property
    def _pulled(self) -> Callable[..., Any]:
        """The function with its gradient, as `custom_gradient` takes it."""
        function = self._function
        assert function is not None

        @functools.wraps(function)
        def applied(*tensors: Any) -> tuple[Any, Callable[..., Any]]:
            result = function(*tensors)

            def pull(*upstream: Any, variables: Any = ()) -> Any:
                if self._gradient is not None:
                    found = self._gradient(*tensors, *upstream)
                else:
                    assert self._python_gradient is not None
                    of = SimpleNamespace(
                        inputs=list(tensors), outputs=nest.flatten(result), name=self.__name__, type=self.__name__
                    )
                    found = self._python_gradient(of, *upstream)
                gradients = list(found) if isinstance(found, (list, tuple)) else [found]
                return (gradients, [None] * len(variables)) if variables else gradients

            return result, pull

        return applied
