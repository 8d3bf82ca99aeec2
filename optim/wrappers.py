"""The base of optimizers around others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from engine.core.variable import Variable
from engine.runtime.commit import exclusively
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
        """Let the optimizer inside make a step, then do the rest."""
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
