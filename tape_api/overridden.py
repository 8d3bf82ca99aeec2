"""``gradient_override_map`` on tapes: registered gradients for ops that are applied inside of a ``with`` block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from dualgrad.frontend.overrides import apply_overridden, checked_map
from engine.core.eager import EagerTensor, applied_in_python
from engine.core.op import Op
from engine.core.tape import active
from engine.core.value import Value


class AppliedOp:
    """An op that was applied, as a registered gradient gets it.

    Attributes
    ----------
    type, name : str
    inputs, outputs : list of tensor
    """

    def __init__(self, op: Op, inputs: Sequence[Any], params: dict[str, Any], outputs: Sequence[Any]) -> None:
        self.type = self.name = op.type
        self.inputs, self.outputs, self._params = list(inputs), list(outputs), params

    def get_attr(self, name: str) -> Any:
        """A static parameter of the op.

        Raises
        ------
        ValueError
            If it has none of that name.
        """
        if name == "T" and self.inputs:
            return self.inputs[0].dtype
        if name not in self._params:
            raise ValueError(f"operation {self.type} has no attribute {name!r}; it has {list(self._params)}")
        return self._params[name]


class CurrentGraph:
    """Result of ``tf.compat.v1.get_default_graph()`` on tapes: where ops are applied now."""

    @contextmanager
    def gradient_override_map(self, op_type_map: dict[str, str]) -> Iterator[None]:
        """Give ops of some types, where they are applied inside, the gradients registered under some names.

        Ops are applied by Python inside of it, so it is for the layers that need it and not for a whole program.

        Parameters
        ----------
        op_type_map : dict
            An op's type (``"Relu"``) to the name of a `RegisterGradient`.

        Examples
        --------
        >>> import tape_api as tf
        >>> @tf.RegisterGradient("Doubled")
        ... def _doubled(op, gradient):
        ...     return 2.0 * gradient
        >>> x = tf.constant(3.0)
        >>> with tf.GradientTape() as tape:
        ...     tape.watch(x)
        ...     with tf.compat.v1.get_default_graph().gradient_override_map({"Neg": "Doubled"}):
        ...         y = -x
        >>> float(y), float(tape.gradient(y, x))
        (-3.0, 2.0)
        """
        before = active.instead
        known = getattr(before, "known", {})
        active.instead = _Instead({**known, **checked_map(op_type_map)}, getattr(before, "around", before))
        try:
            with applied_in_python():
                yield
        finally:
            active.instead = before

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"there are no graphs on tapes: of one's methods there is gradient_override_map here, not {name!r}. "
            f"For a program that builds graphs use graph_api"
        )


_current = CurrentGraph()


def get_default_graph() -> CurrentGraph:
    """Where ops are applied now. There are no graphs on tapes: it is only asked for `gradient_override_map`."""
    return _current


class _Instead:
    """Applies the ops whose types are `known` with the gradients that are registered; all others as `around` does."""

    def __init__(self, known: dict[str, str], around: Any = None) -> None:
        self.known, self.around = known, around

    def __call__(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        name = self.known.get(op.type)
        if name is None or not active.tapes:
            return None if self.around is None else self.around(op, inputs, params)
        tensors = [x if not hasattr(x, "dtype") or isinstance(x, Value) else EagerTensor(x) for x in inputs]
        active.instead = self.around
        try:
            return apply_overridden(
                lambda *x: op(*x, **params), tensors, name, lambda out: AppliedOp(op, tensors, params, out)
            )
        finally:
            active.instead = self
