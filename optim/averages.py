"""Moving averages of variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.core.dtypes import FLOATING, float32
from engine.core.tape import unrecorded
from engine.core.variable import Variable
from engine.ops.arithmetic import minimum
from engine.ops.compare import cast
from engine.runtime.state import exclusively
from optim.schedules import as_tensor
from optim.state import Slots, assign_all, graph_of, locks_of


class ExponentialMovingAverage:
    """Keeps exponentially decaying averages of variables: ``average -= (1 - decay) * (average - variable)``.

    Parameters
    ----------
    decay : float, tensor or variable
    num_updates : number, tensor or variable, optional
        Count of updates; the decay is then ``min(decay, (1 + num_updates) / (10 + num_updates))``, which lets young
        averages move faster.
    zero_debias : bool
        Accepted for compatibility: averages start from their variables' values, so there is nothing to correct.
    name : str
        What the names of the averages end in.

    Examples
    --------
    >>> import tape_api as tf
    >>> w = tf.Variable(1.0)
    >>> ema = ExponentialMovingAverage(0.75)
    >>> ema.apply([w])
    >>> _ = w.assign(5.0)
    >>> ema.apply([w])
    >>> ema.average(w).numpy()
    np.float32(2.0)
    """

    def __init__(
        self,
        decay: Any,
        num_updates: Any = None,
        zero_debias: bool = False,
        name: str = "ExponentialMovingAverage",
    ) -> None:
        self._decay = decay
        self._num_updates = num_updates
        self._name = name
        self._averages = Slots()

    @property
    def name(self) -> str:
        """The name given."""
        return self._name

    def apply(self, var_list: Sequence[Variable]) -> Any:
        """Update the averages of the given variables. An average starts from its variable's (initial) value.

        Parameters
        ----------
        var_list : sequence of variables
            Of floating dtype.

        Returns
        -------
        operation or None
            In a graph the operation that makes the update; None if it has been made.

        Raises
        ------
        TypeError
            If something is not a floating variable.
        """
        variables = list(var_list)
        for variable in variables:
            if not isinstance(variable, Variable) or variable.dtype not in FLOATING:
                raise TypeError(f"The variables must be half, float, or double: {variable}")
        return unrecorded(self._applied, variables)

    def _applied(self, variables: Sequence[Variable]) -> Any:
        fresh = self._fresh()
        averages = [self._averages.create(v, self._name, _initial) for v in variables]

        def update() -> Any:
            changes = []
            for variable, average in zip(variables, averages, strict=True):
                old = average.read_value()
                changes.append((average, old - (old - variable.read_value()) * cast(fresh, variable.dtype)))
            return assign_all(changes, self._name)

        return exclusively(locks_of(averages), update)

    def _fresh(self) -> Any:
        """The weight of the present value, in float32."""
        decay = cast(as_tensor(self._decay), float32)
        if self._num_updates is not None:
            count = cast(as_tensor(self._num_updates), float32)
            decay = minimum(decay, (count + 1) / (count + 10))
        return 1 - decay

    def average(self, var: Variable) -> Variable | None:
        """The variable that holds the average of `var`, None if there is none."""
        return self._averages.get(var, self._name)

    def average_name(self, var: Variable) -> str:
        """The name under which the average of `var` is kept."""
        average = self.average(var)
        own = var.name.removesuffix(":0")
        return f"{own}/{self._name}" if average is None else average.name.removesuffix(":0")


def _initial(variable: Variable) -> Any:
    """What an average starts from: in a graph, the variable's initial value."""
    if graph_of([variable]) is None:
        return variable.read_value()
    return variable.initialized_value()  # type: ignore[attr-defined]
