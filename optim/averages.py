"""Moving averages of variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from engine.core.dtypes import FLOATING, float32
from engine.core.operands import Operand, Operation
from engine.core.tape import active, unrecorded
from engine.core.variable import Variable
from engine.ops.arithmetic import minimum
from engine.ops.compare import cast
from engine.runtime.commit import commit_computing, exclusively
from optim.schedules import as_tensor
from optim.slots import Slots, Stateful, assign_all, graph_of, locks_of


class ExponentialMovingAverage(Stateful):
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

    _averages_of: ClassVar[Any] = Variable

    def __init__(
        self, decay: Any, num_updates: Any = None, zero_debias: bool = False, name: str = "ExponentialMovingAverage"
    ) -> None:
        self._decay = decay
        self._num_updates = num_updates
        self._name = name
        self._averages = self._slots = Slots()
        self._counters = Slots()

    @property
    def name(self) -> str:
        """The name given."""
        return self._name

    def apply(self, var_list: Sequence[Variable]) -> Operation | None:
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
            If something is no variable, or not floating.
        """
        averaged = list(var_list)
        for x in averaged:
            if not isinstance(x, self._averages_of) or x.dtype not in FLOATING:
                raise TypeError(f"The variables must be half, float, or double: {x}")
        return unrecorded(self._applied, averaged)

    def _applied(self, averaged: Sequence[Any]) -> Operation | None:
        fresh = self._fresh()
        averages = [self._average_of(x) for x in averaged]
        self.restored()

        def update() -> Operation | None:
            changes, writes = [], []
            is_eager = active.function is None and graph_of(averages) is None
            for x, average in zip(averaged, averages, strict=True):
                value, weight = as_tensor(x), cast(fresh, x.dtype)
                if is_eager and average.shape == value.shape:
                    writes += _moved(average, value, np.asarray(weight))
                else:
                    old = average.read_value()
                    changes.append((average, old - (old - value) * weight))
            done = assign_all(changes, self._name)
            commit_computing(writes)
            return done

        return exclusively(locks_of(averages), update)

    def _average_of(self, x: Any) -> Variable:
        """The variable for an average, made if need be."""
        return self._averages.create(x, self._name, present)

    def _fresh(self) -> Operand:
        """The weight of the present value, in float32."""
        decay = cast(as_tensor(self._decay), float32)
        if self._num_updates is not None:
            count = cast(as_tensor(self._num_updates), float32)
            decay = minimum(decay, (count + 1) / (count + 10))
        return 1 - decay

    def average(self, var: Variable) -> Variable | None:
        """The variable that holds the average of `var`, None if there is none."""
        return self._averages.get(var, self._name)

    def variables_to_restore(self, moving_avg_variables: Any = None) -> dict[str, Any]:
        """A map for a Saver that restores averages into the variables that they are averages of.

        Parameters
        ----------
        moving_avg_variables : list of variable, optional
            Those that have averages; by default the ones that averages were made of, in a graph also the trainable
            variables.

        Returns
        -------
        dict
            From names in a checkpoint to variables: averages to what they are averages of; in a graph all other
            global variables, but for the averages, to themselves.

        Raises
        ------
        ValueError
            If two variables go by one name.

        Examples
        --------
        >>> import graph_api as tf
        >>> with tf.Graph().as_default():
        ...     w, step = tf.Variable(1.0, name="w"), tf.Variable(0, trainable=False, name="step")
        ...     sorted(ExponentialMovingAverage(0.5).variables_to_restore([w]))
        ['step', 'w/ExponentialMovingAverage']
        """
        variables = self._averaged_by_default() if moving_avg_variables is None else moving_avg_variables
        averaged = list({id(v.handle): v for v in variables}.values())
        by_name = {self.average_name(v): v for v in averaged}
        if len(by_name) < len(averaged):
            names = sorted(self.average_name(v) for v in averaged)
            raise ValueError(f"variables_to_restore: variables must have names of their own; averages go by {names}")
        graph = graph_of(averaged)
        if graph is None:
            return by_name
        own = {id(v.handle) for v in averaged}
        others = {v.op.name: v for v in graph.global_variables() if id(v.handle) not in own}
        # averages are not restored themselves: what the checkpoint has for them goes to the variables
        return by_name | {name: v for name, v in others.items() if name not in by_name}

    def _averaged_by_default(self) -> list[Variable]:
        averaged = [v for v, _ in self._averages.pairs()]
        graph = graph_of(averaged)
        return averaged if graph is None else [*averaged, *graph.trainable_variables()]

    def average_name(self, var: Variable) -> str:
        """The name under which the average of `var` is kept."""
        average = self.average(var)
        own = var.name.removesuffix(":0")
        return f"{own}/{self._name}" if average is None else average.name.removesuffix(":0")


def _moved(average: Any, value: Any, weight: np.ndarray) -> list[tuple[Any, ...]]:
    """Writes that move an average towards a value where it lies."""
    old, new, changes = average.renewal()
    writes, tile = [], min(old.size, 1 << 14) or 1
    scratch = np.empty(tile, old.dtype)
    for at in range(0, old.size, tile):
        o, v, n = [a.reshape(-1)[at : at + tile] for a in (old, value._array, new)]
        s = scratch[: o.size]
        writes += [(np.subtract, o, v, s), (np.multiply, s, weight, s), (np.subtract, o, s, n)]
    return writes + changes


def present(variable: Variable) -> Operand:
    """The value that an average starts from: in a graph, the variable's initial value."""
    if graph_of([variable]) is None:
        return variable.read_value()
    return variable.initialized_value()  # type: ignore[attr-defined]
