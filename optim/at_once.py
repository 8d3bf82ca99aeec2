"""Dense updates of a few small eager variables, as one program.

An update that is a function of its arguments alone, as those of this package are, makes the same ops at each step.
Made once with symbols, for all the variables together, they are a closed function; from then on only its program runs,
with the hyperparameters and the number of steps among its arguments. It gives the bits of the ops.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from engine.closed.function import ClosedFunction
from engine.closed.retrace import Retrace
from engine.compiler.updates.update_loop import Replacing
from engine.core.aval import Aval
from engine.core.eager import EagerTensor
from engine.core.op import distinct
from engine.core.tape import paused
from engine.core.trace import Trace
from engine.core.value import aval_of
from engine.core.variable import Variable
from engine.runtime.tuning import TUNING
from optim.pairs import Change, Pair, require_fit

AFTER: float = TUNING.update_steps
"""Steps that are made op by op before it is worth while to make a program."""
_FOLD_LIMIT = TUNING.fold_update_bytes
_MOST = 8
"""Programs that are kept for one plan."""

Hypers = Callable[[Variable], SimpleNamespace]


class AtOnce:
    """The programs for some variables, by what they depend on besides these.

    Parameters
    ----------
    optimizer : Optimizer
    variables : sequence of Variable
        Eager ones, each once.
    slots : sequence of dict
        Those of each variable.
    """

    def __init__(self, optimizer: Any, variables: Sequence[Any], slots: Sequence[dict[str, Any]]) -> None:
        self.variables, self.slots = variables, slots
        self._pure = len(set(map(type, variables))) == 1 and is_pure(optimizer)
        self._steps = 0
        self._made: dict[Any, tuple[ClosedFunction, list[Any]] | None] = {}
        self._held = [*variables, *[s for of in slots for s in of.values()]]

    def changes(
        self, optimizer: Any, pairs: Sequence[Pair], hyper_of: Hypers, state: SimpleNamespace, late: bool
    ) -> list[Change] | None:
        """The changes that a step makes, as `optim.dense.updates` gives them; None if no program makes them (yet)."""
        self._steps += 1
        if not self._pure or self._steps <= AFTER:
            return None
        numbers = _Numbers(list(map(hyper_of, self.variables)), state)
        try:
            key = *numbers.key(), *[distinct(getattr(optimizer, name)) for name in optimizer.decided_by]
        except TypeError:
            # a variable, a function: something that may be another one each time
            return None
        if key not in self._made:
            if len(self._made) >= _MOST:
                self._made.clear()
            self._made[key] = self._closed(optimizer, numbers)
        entry = self._made[key]
        if entry is None:
            return None
        step, changed = entry
        arrays = [*[g._array for g, _ in pairs], *type(self.variables[0]).arrays(self._held), *numbers.arrays]
        results = [np.asarray(x, order="C") for x in step.execute(arrays)]
        if late:
            return [(changed[0], Replacing(changed, results))]
        return [(v, EagerTensor(x)) for v, x in zip(changed, results, strict=True)]

    def _closed(self, optimizer: Any, numbers: _Numbers) -> tuple[ClosedFunction, list[Any]] | None:
        """The closed function, and what its results are the values of; None if it cannot be made."""
        again = Retrace((), (), _FOLD_LIMIT)
        placeholders = _placeholders(again.trace, [*self.variables, *self._held])
        symbols = iter(placeholders)
        gradients, values = ([next(symbols) for _ in self.variables] for _ in range(2))
        slots = [{name: next(symbols) for name in of} for of in self.slots]
        hypers, state, further = numbers.symbolic(again.trace)
        changed: list[Any] = []
        wanted: list[Any] = []
        try:
            with paused():
                each_of = zip(gradients, values, slots, hypers, strict=True)
                for variable, own, of in zip(self.variables, self.slots, each_of, strict=True):
                    new, kept = optimizer._new_values(*of, state)
                    for each, value in [(variable, new), *[(own[name], x) for name, x in kept.items()]]:
                        require_fit(value, each, "the new value computed for")
                        changed.append(each)
                        wanted.append(value)
                step = again.closed(wanted, [*placeholders, *further], owned=True)
                step.program  # noqa: B018 - made now, as long as there is another way
        except Exception:  # noqa: BLE001 - the update is made in another way, which raises what it has to
            return None
        return step, changed


class _Numbers:
    """Hyperparameters and state as arguments of a program, and all else that it depends on.

    Attributes
    ----------
    arrays : list of array
    """

    def __init__(self, hypers: list[SimpleNamespace], state: SimpleNamespace) -> None:
        spaces = list({id(space): space for space in (*hypers, state)}.values())
        self._of = [next(i for i, space in enumerate(spaces) if space is hyper) for hyper in hypers]
        self._items = [[(n, x) for n, x in vars(space).items() if n != "in_common"] for space in spaces]
        self.arrays = [x._array for items in self._items for _, x in items if type(x) is EagerTensor]

    def key(self) -> tuple[Any, ...]:
        """The other things that the program depends on.

        Raises
        ------
        TypeError
            If something is no plain data.
        """
        facts = [(n, None if type(x) is EagerTensor else (distinct(x),)) for items in self._items for n, x in items]
        return (*facts, *self._of, *[(a.shape, a.dtype) for a in self.arrays])

    def symbolic(self, trace: Trace) -> tuple[list[SimpleNamespace], SimpleNamespace, list[Any]]:
        """The hyperparameters of each variable and the state with placeholders for tensors; and these."""
        placeholders: list[Any] = []

        def symbol(x: Any) -> Any:
            if type(x) is not EagerTensor:
                return x
            placeholders.append(trace.placeholder(aval_of(x)))
            return placeholders[-1]

        *spaces, state = [SimpleNamespace(**{n: symbol(x) for n, x in items}) for items in self._items]
        return [spaces[i] for i in self._of], state, placeholders


def _placeholders(trace: Trace, variables: Sequence[Any]) -> list[Any]:
    return [trace.placeholder(Aval(v._shape, v.dtype)) for v in variables]


def is_pure(optimizer: Any) -> bool:
    """Whether hyperparameters, state and what the optimizer is `decided_by` tell all that its update does."""
    update = inspect.getattr_static(optimizer, "update")
    parts = [optimizer.update, *[getattr(optimizer, name) for name in ("_updated", "_new_values")]]
    ours = [getattr(part, "__module__", "").partition(".")[0] == __package__ for part in parts]
    return isinstance(update, staticmethod) and all(ours)
