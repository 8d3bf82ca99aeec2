"""State that optimizers and averages keep between steps, and how their results take effect.

An update is computed as a whole before anything is assigned. On eager variables the assignments then happen, in one
step (`engine.runtime.commit`); in a graph they become operations, joined into one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from engine.core.eager import EagerTensor
from engine.core.operands import Operand, Operation
from engine.core.tape import active, unrecorded
from engine.core.trace import Symbol, Trace
from engine.core.value import Value, shape_of
from engine.core.variable import Variable, go_on
from engine.ops.creation import ones_like
from engine.ops.filling import fill
from engine.ops.indexed_slices import IndexedSlices
from engine.runtime.collector import uncollected
from engine.runtime.commit import Lock, commit, exclusively, in_order
from engine.runtime.errors import InvalidArgumentError
from engine.runtime.faces import Shown
from engine.runtime.public_names import methods_of
from optim.pairs import whole


def graph_of(variables: Iterable[Variable]) -> Trace | None:
    """The graph that all of `variables` live in; None if they are eager.

    Raises
    ------
    InvalidArgumentError
        If they do not all live in the same place.
    """
    places = [v.handle.trace if isinstance(v.handle, Symbol) else None for v in variables]
    if any(place is not places[0] for place in places):
        raise InvalidArgumentError("all variables must be eager or belong to one graph; handle each group on its own")
    return places[0] if places else None


Done = Operation | Value | None
"""The result of a step: in a graph the operation that makes it, else None, or the number of steps in Keras."""


def assign_all(changes: Sequence[tuple[Variable, Any]], name: str) -> Operation | None:
    """Give each variable its new value, or some of its rows new values (`IndexedSlices`).

    The caller holds the `locks_of` the variables.

    Returns
    -------
    operation or None
        In a graph the operation, called `name`, that makes all the assignments; None if they have been made.
    """
    graph = graph_of(variable for variable, _ in changes)
    if graph is None:
        if active.function is not None:
            changes = [(variable, whole(new, variable)) for variable, new in changes]
            if active.region is not None:
                for variable, new in changes:
                    variable.assign(new)
                return None
            for variable, new in changes:
                active.function.write(variable, new)
        commit([write for variable, new in changes for write in variable.writes(new)])
        return None
    done = [v.assign_rows(new) if isinstance(new, IndexedSlices) else v.assign(new) for v, new in changes]
    return graph.group(done, name)


def as_step(variable: Variable, update: Callable[..., Done], *arguments: Any) -> Done:
    """``update(*arguments)``, a step of `variable` and others, which no tape sees; a graph notes what makes it."""
    graph = graph_of([variable])
    if graph is None:
        return unrecorded(update, *arguments)
    made = uncollected(unrecorded, update, *arguments)
    graph.note_step(made)
    return made


def locks_of(variables: Iterable[Variable]) -> tuple[Any, ...]:
    """The locks that an update of some variables holds (`engine.runtime.commit`): none in a graph."""
    return in_order(lock for variable in variables for lock in variable.locks)


def step(variables: Sequence[Variable], values: Callable[[], Sequence[Any]]) -> Operation | None:
    """Give variables the values that a function computes from theirs, as `assign_all` does; no update comes between."""

    def update() -> Operation | None:
        return assign_all(list(zip(variables, values(), strict=True)), "step")

    return exclusively(locks_of(variables), unrecorded, update)


MAKING = (Lock(),)
"""The lock held by whoever makes slots: two threads that make their first steps at once share what they make."""


class Slots(Shown):
    """Variables that accompany variables, by name.

    Examples
    --------
    >>> import tape_api as tf
    >>> slots, w = Slots(), tf.Variable([1.0, 2.0], name="w")
    >>> slots.create(w, "momentum", lambda _: [0.0, 0.0])
    <tf.Variable 'w/momentum:0' shape=(2,) dtype=float32, numpy=array([0., 0.], dtype=float32)>
    >>> slots.get(w, "momentum") is slots.create(w, "momentum", lambda _: [9.0, 9.0])
    True
    """

    def __init__(self) -> None:
        # A handle stays what it is as long as the variable lives, and the entry keeps the variable alive.
        self._slots: dict[tuple[int, str], tuple[Variable, Variable]] = {}

    def get(self, variable: Variable, name: str) -> Variable | None:
        """The slot of that name, or None if there is none."""
        entry = self._slots.get((id(variable.handle), name))
        return None if entry is None else entry[1]

    def create(
        self, variable: Variable, name: str, initial_value: Callable[[Variable], Any], label: str = ""
    ) -> Variable:
        """The slot of that name; if there is none, a new one holding ``initial_value(variable)``.

        `label` is what the new variable's own name ends in, by default `name`.
        """
        slot = self.get(variable, name)
        if slot is None:
            made = variable.new_slot(label or name, partial(initial_value, variable))
            slot = self._slots.setdefault((id(variable.handle), name), (variable, made))[1]
        return slot

    def shared(self, variable: Variable, name: str, initial_value: Any) -> Variable:
        """The slot of that name for all variables of the graph (or for all eager ones); if there is none, a new one."""
        place = graph_of([variable])
        for (_, known), (_, slot) in list(self._slots.items()):
            if known == name and graph_of([slot]) is place:
                return slot
        made = variable.new_slot(name, initial_value, below=False)
        return self._slots.setdefault((id(variable.handle), name), (variable, made))[1]

    def items(self) -> list[tuple[Variable, str, Variable]]:
        """Variables, names, and what is kept under them, in the order in which it was made."""
        return [(variable, name, slot) for (_, name), (variable, slot) in list(self._slots.items())]

    def names(self) -> list[str]:
        """The names in use, sorted."""
        return sorted({name for _, name in list(self._slots)})

    def __iter__(self) -> Iterator[str]:
        """The names in use: as TensorFlow 1's ``optimizer._slots``, a dict of dicts, has them."""
        return iter(self.names())

    def __getitem__(self, name: str) -> dict[str, Variable]:
        """The slots of a name, by the names of their variables."""
        return {variable.name: slot for variable, known, slot in self.items() if known == name}

    def pairs(self) -> list[tuple[Variable, Variable]]:
        """Variables and what is kept for them."""
        return list(self._slots.values())

    def all(self) -> list[Variable]:
        """All slots, in the order in which they were made."""
        return [slot for _, slot in list(self._slots.values())]


@methods_of("Optimizer")
class Stateful(Shown):
    """Base of what keeps variables between steps: optimizers, transforms, averages. Checkpoints hold these variables.

    They know a slot by its variable and name, whatever the order in which slots were made.
    """

    _slots: Slots
    _counters: Slots
    _restoring: Sequence[tuple[Any, int]] = ()
    """Checkpoints that hold values for variables which are not made yet."""

    def kept_slots(self) -> list[tuple[Variable, str, Variable]]:
        """The slots of single variables: variable, name, slot."""
        return self._slots.items()

    def kept_together(self) -> list[Variable]:
        """The variables kept for all variables together."""
        return self._counters.all()

    def restored(self) -> None:
        """Give what has been made since a checkpoint was restored the values that this has for it."""
        if self._restoring:
            go_on(self)


def filled(variable: Variable, number: float = 0, shape: Any = None) -> Operand:
    """The initial value of a slot, of the variable's shape or the given one."""
    dims = shape_of(variable) if shape is None else shape
    if dims is None or None in dims:
        return ones_like(variable.initialized_value()) * number  # type: ignore[attr-defined]
    if number == 0 and graph_of([variable]) is None:
        return EagerTensor(np.zeros(dims, variable.dtype.numpy))  # of memory that is mapped where it is first written
    return fill(dims, variable.dtype.numpy.type(number))
