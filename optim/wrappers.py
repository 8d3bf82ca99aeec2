"""Optimizers around others: averages of the variables, and slow weights that follow fast ones."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dualgrad.files.saver import BaseSaver, named_variables
from engine.core.variable import Variable
from engine.runtime.commit import exclusively
from engine.runtime.errors import InvalidArgumentError
from optim.averages import ExponentialMovingAverage
from optim.optimizer import Optimizer
from optim.pairs import as_pairs
from optim.slots import MAKING, Done, graph_of


class _Around(Optimizer):
    """An optimizer whose steps another one makes, with something done after each."""

    def __init__(self, optimizer: Optimizer, name: str) -> None:
        super().__init__(False, name)
        self._optimizer = optimizer

    def compute_gradients(self, *arguments: Any, **others: Any) -> list[tuple[Any, Any]]:
        """Those of the optimizer inside."""
        return self._optimizer.compute_gradients(*arguments, **others)

    def apply_gradients(
        self,
        grads_and_vars: Iterable[Any],
        global_step: Any = None,
        name: str | None = None,
        skip_gradients_aggregation: bool = False,
    ) -> Done:
        """Let the optimizer inside make a step, then do the rest.

        Returns
        -------
        operation or None
            In a graph the operation that makes a step; None if the step has been made.
        """
        pairs = as_pairs(grads_and_vars)
        variables = list({id(v.handle): v for g, v in pairs if g is not None}.values())
        graph = graph_of(variables)
        exclusively(MAKING, self._make, variables)
        self.restored()
        done = self._optimizer.apply_gradients(pairs, global_step, name)
        if graph is None:
            return self._after(variables)
        with graph.control_dependencies([done]):  # type: ignore[attr-defined]
            return self._after(variables)

    def _make(self, variables: list[Variable]) -> None:
        """Make what both keep, which may start from the variables as they are before the first step."""
        if variables:
            self._optimizer.create_slots(variables)

    def _after(self, variables: list[Variable]) -> Done:
        """Do what follows a step."""
        raise NotImplementedError

    def get_slot(self, var: Variable, name: str) -> Variable | None:
        """The slot that this optimizer or the one inside keeps for a variable."""
        return self._slots.get(var, name) or self._optimizer.get_slot(var, name)

    def get_slot_names(self) -> list[str]:
        """The names of what both keep."""
        return sorted({*self._slots.names(), *self._optimizer.get_slot_names()})

    def kept_slots(self) -> list[tuple[Variable, str, Variable]]:
        """The slots that both keep for single variables."""
        return [*self._optimizer.kept_slots(), *super().kept_slots()]

    def kept_together(self) -> list[Variable]:
        """The variables that both keep for all variables together."""
        return [*self._optimizer.kept_together(), *super().kept_together()]


class MovingAverageOptimizer(_Around):
    """An optimizer that also keeps moving averages of the variables (`ExponentialMovingAverage`).

    Parameters
    ----------
    opt : Optimizer
    average_decay : float
    num_updates : number, tensor or variable, optional
    sequential_update : bool
        Accepted for compatibility: an average always follows the step.

    Examples
    --------
    >>> import tape_api as tf
    >>> from optim import GradientDescentOptimizer
    >>> w = tf.Variable(4.0)
    >>> optimizer = MovingAverageOptimizer(GradientDescentOptimizer(0.25), average_decay=0.5)
    >>> for _ in range(2):
    ...     optimizer.minimize(lambda: w * w, var_list=[w])
    >>> w.numpy(), optimizer.average(w).numpy()
    (np.float32(1.0), np.float32(2.0))
    """

    def __init__(
        self, opt: Optimizer, average_decay: Any = 0.9999, num_updates: Any = None, sequential_update: bool = True
    ) -> None:
        super().__init__(opt, "MovingAverage")
        self._averages = ExponentialMovingAverage(average_decay, num_updates)

    def average(self, var: Variable) -> Variable | None:
        """The variable that holds the average of `var`, None if there is none."""
        return self._averages.average(var)

    def variables_to_restore(self, moving_avg_variables: Any = None) -> dict[str, Variable]:
        """See `ExponentialMovingAverage.variables_to_restore`."""
        return self._averages.variables_to_restore(moving_avg_variables)

    def swapping_saver(self, var_list: Any = None, name: str = "swapping_saver", **options: Any) -> BaseSaver:
        """A Saver that saves each average under its variable's name, and the variable under its average's.

        What it saves, an ordinary Saver restores: the variables then have their averages.

        Parameters
        ----------
        var_list : list of variables, or dict of name to variable, optional
            With averages and what they are averages of; by default all global variables.
        name : str
        **options
            Of ``train.Saver``.

        Raises
        ------
        RuntimeError
            If no step has been built, so that there are no averages.
        ValueError
            If a variable is to be saved without its average, or the other way round.
        InvalidArgumentError
            On eager variables: there `variables_to_restore` says which average belongs to which variable.
        """
        pairs = self._averages.pairs()
        if not pairs:
            raise RuntimeError("Must call apply_gradients or minimize before creating the swapping_saver")
        graph = graph_of([v for v, _ in pairs])
        if graph is None:
            raise InvalidArgumentError(
                "swapping_saver: the variables are eager; give tf.compat.v1.train.Saver what "
                "`variables_to_restore` returns"
            )
        other = {id(a.handle): b for v, average in pairs for a, b in ((v, average), (average, v))}
        named = named_variables(graph.global_variables() if var_list is None else var_list)
        kept = {id(v.handle) for v in named.values()}
        swapped = {n: other.get(id(v.handle), v) for n, v in named.items()}
        missing = sorted(v.name for v in swapped.values() if id(v.handle) not in kept)
        if missing:
            raise ValueError(f"swapping_saver: argument `var_list` lacks {', '.join(missing)}, which others go by")
        return graph.saver(swapped, name=name, **options)

    def kept_slots(self) -> list[tuple[Variable, str, Variable]]:
        """The slots that the optimizer inside keeps, and the averages."""
        return [*super().kept_slots(), *self._averages.kept_slots()]

    def _make(self, variables: list[Variable]) -> None:
        super()._make(variables)
        self._averages.make(variables)

    def _after(self, variables: list[Variable]) -> Done:
        return self._averages.apply(variables)
