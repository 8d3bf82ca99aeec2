"""`recompute_grad`: less memory for more time."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from engine.core import nest
from engine.core.batching import levels_of, lowered, raised
from engine.core.tape import active, paused
from engine.core.value import Value
from engine.ops.shape import identity
from engine.transforms.gradient_tape import GradientTape
from tape_api.control_flow.flow import custom_gradient


def recompute_grad(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function that computes what `f` computes, and whose gradient calls `f` again instead of keeping its parts.

    Parameters
    ----------
    f : callable
        Of tensors (and other things), giving a tensor or a structure of them. It may read variables.

    Examples
    --------
    >>> import tape_api as tf
    >>> square = tf.recompute_grad(lambda x: x * x)
    >>> x = tf.constant(3.0)
    >>> with tf.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = square(x)
    >>> tape.gradient(y, x).numpy()
    np.float32(6.0)
    """

    @custom_gradient
    def computed(*args: Any, **kwargs: Any) -> Any:
        # the last tape is that of `custom_gradient`, which asks for the variables that are read
        with paused(*active.tapes[:-1]):
            result = f(*args, **kwargs)

        def grad(*upstream: Any, variables: Any = None) -> list[Any] | tuple[list[Any], list[Any]]:
            # copies: a tensor that stands in two places has a gradient for each
            leaves = nest.flatten([list(args), kwargs])
            levels = sorted(levels_of([*leaves, *upstream]).items())
            leaves = [identity(raised(lowered(x, levels), levels)) if isinstance(x, Value) else x for x in leaves]
            operands = [x for x in leaves if isinstance(x, Value)]
            sources = [*[x for x in operands if x.dtype.is_differentiable], *(variables or [])]
            with GradientTape() as tape:
                tape.watch(sources)
                places, names = nest.pack_sequence_as([list(args), kwargs], leaves)
                again = f(*places, **names)
            gradients = iter(tape.gradient(nest.flatten(again), sources, list(upstream)))
            of_arguments = [next(gradients) if x.dtype.is_differentiable else None for x in operands]
            return of_arguments if variables is None else (of_arguments, list(gradients))

        return result, grad

    return functools.wraps(f)(lambda *args, **kwargs: computed(*args, **kwargs))
