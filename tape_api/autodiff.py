"""``tf.autodiff``: derivatives forward, computed while a function runs."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from engine.core import nest
from engine.core.eager import EagerTensor
from engine.core.tape import Tape, paused
from engine.core.unconnected import UnconnectedGradients, as_policy
from engine.core.value import Value, dtype_of
from engine.core.variable import tracked_value
from engine.derivatives import strong_zeros
from engine.derivatives.forward import push
from engine.derivatives.powers import with_powers
from engine.jacobian.taking import require_tensor
from engine.jacobian.views.results import vectors_like
from engine.ops.creation import zeros_like
from engine.runtime.faces import Shown
from engine.transforms.gradient_tape import GradientTape


class ForwardAccumulator(Shown):
    """Products of Jacobians with vectors, of what is computed inside the ``with`` block.

    Parameters
    ----------
    primals : tensor, variable or structure of these
    tangents : structure like `primals`
        Of their shapes and dtypes.

    Raises
    ------
    ValueError
        If a shape or dtype differs, or two primals are one.

    Examples
    --------
    >>> import tape_api as tf
    >>> x = tf.constant([2.0, 3.0])
    >>> with tf.autodiff.ForwardAccumulator(x, tf.constant([1.0, 0.0])) as accumulator:
    ...     y = tf.reduce_prod(x)
    >>> accumulator.jvp(y).numpy()
    np.float32(3.0)
    """

    def __init__(self, primals: Any, tangents: Any) -> None:
        flat = nest.flatten(primals)
        for x in flat:
            require_tensor(x, "ForwardAccumulator: primals")
            if not dtype_of(x).is_differentiable:
                raise ValueError(f"ForwardAccumulator: primals must be floating, got dtype {dtype_of(x).name}")
        sources = [tracked_value(x) for x in flat]
        if len({id(x) for x in sources}) < len(sources):
            raise ValueError("ForwardAccumulator: a tensor stands twice among the primals: give it one tangent")
        directions = vectors_like("ForwardAccumulator", "tangents", tangents, flat)
        self._tape, self._sources, self._seen = Tape(watch_accessed_variables=False), sources, 0
        self._tangents: dict[int, Any] = {}
        for x, t in zip(sources, directions, strict=True):
            self._tape.watch(x)
            self._tangents[id(x)] = strong_zeros.seeded(t if isinstance(t, Value) else EagerTensor(t))

    def __enter__(self) -> ForwardAccumulator:
        if self._tape.is_recording:
            raise ValueError("Accumulator is already recording.")
        self._tape.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._tape.close()
        if kind is None:
            # now, so that tapes around this block see how the products come about
            self._push()

    def _push(self) -> None:
        nodes = with_powers(self._tape.nodes, self._sources)
        push(self._tangents, nodes[self._seen :])
        self._seen = len(nodes)

    def jvp(self, primals: Any, unconnected_gradients: Any = UnconnectedGradients.NONE) -> Any:
        """The Jacobian of each of some tensors, times the tangents.

        Parameters
        ----------
        primals : tensor, variable or structure of these
        unconnected_gradients : {"none", "zero"}
            What stands for a tensor that does not depend on what this was made with.
        """
        policy = as_policy(unconnected_gradients)
        with paused(self._tape):
            self._push()

        def product(x: Any) -> Value | None:
            require_tensor(x, "jvp")
            tangent = strong_zeros.settled(self._tangents.get(id(tracked_value(x))))
            if tangent is None and policy is UnconnectedGradients.ZERO:
                tangent = zeros_like(x)
            return tangent if tangent is None or isinstance(tangent, Value) else EagerTensor(tangent)

        return nest.pack_sequence_as(primals, [product(x) for x in nest.flatten(primals)])


__all__ = ["ForwardAccumulator", "GradientTape"]
