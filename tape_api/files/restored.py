"""The result of ``Checkpoint.restore``: values for the objects that there are, and for those that are made later.

Objects are found by how they hold each other. What optimizers keep for a variable is found by that variable and its
name; only where the variable is not among the objects, by its place.
"""

from __future__ import annotations

from typing import Any, NoReturn

from dualgrad.files import checkpoints
from dualgrad.files.protos import TrackableObjectGraph
from engine.core.aval import compatible, format_shape
from engine.core.value import shape_of
from engine.runtime.errors import DTypeError, ShapeError
from optim.keras_optimizer import KerasOptimizer
from optim.slots import Stateful
from tape_api.files import optimizer_files
from tape_api.files.trackable import Container, children, walk
from tape_api.in_place import put
from tape_api.variable import Variable


class Restored:
    """Restored values, and those that wait for variables that are not made yet."""

    def __init__(self, reader: checkpoints.CheckpointReader, graph: TrackableObjectGraph, owner: Any) -> None:
        self._reader, self._graph, self._owner = reader, graph, owner
        self._done: set[int] = set()
        self._matched: dict[int, Any] = {}
        self._objects: dict[int, Any] = {}
        self._of_keras: dict[int, KerasOptimizer] = {}
        self._slots = {ref.slot_variable_node_id: ref for node in graph.nodes for ref in node.slot_variables}

    def go_on(self, obj: Any, node_id: int) -> None:
        """Restore what there is now below an object, in one step; leave word where more may come."""
        slots: list[tuple[Any, Any, int]] = []
        waiting: list[tuple[Any, int]] = []
        by_place: list[tuple[Any, int]] = []
        self._collect(obj, node_id, slots, by_place, waiting, set())
        self._collect_slots(slots, by_place, waiting)
        for optimizer in self._of_keras.values():
            slots = optimizer_files.in_steps(optimizer, slots)
        put([v for v, _, _ in slots], [value for _, value, _ in slots])
        self._done.update(number for _, _, number in slots)
        self._matched.update({id(v): v for v, _, _ in slots})
        for each, number in waiting:
            vars(each).setdefault("_restoring", []).append((self, number))

    def _collect(
        self, obj: Any, number: int, found: list[Any], by_place: list[Any], waiting: list[Any], seen: set[Any]
    ) -> bool:
        """Find values for what is below an object; whether it is a container that lacks something."""
        if (id(obj), number) in seen:
            return False
        seen.add((id(obj), number))
        node = self._graph.nodes[number]
        if isinstance(obj, (Variable, Stateful)):
            self._objects.setdefault(number, obj)
        if isinstance(obj, Variable):
            if number in self._slots:
                by_place.append((obj, number))
            else:
                self._take(obj, number, found)
            return False
        held = children(obj)
        if isinstance(obj, KerasOptimizer):
            self._of_keras[id(obj)] = obj
        missing = False
        for edge in node.children:
            child = held.get(edge.local_name)
            missing |= child is None or self._collect(child, edge.node_id, found, by_place, waiting, seen)
        if isinstance(obj, Container):
            return missing
        if missing and hasattr(obj, "__dict__"):
            waiting.append((obj, number))
        return False

    def _take(self, variable: Any, number: int, found: list[Any]) -> None:
        node = self._graph.nodes[number]
        if number not in self._done and node.attributes and all(variable is not v and number != n for v, _, n in found):
            found.append((variable, self._value(variable, node.attributes[0].checkpoint_key), number))

    def _collect_slots(self, found: list[Any], by_place: list[Any], waiting: list[Any]) -> None:
        """Collect slots. A slot is known by its variable; only where this is not here, by its place."""
        for number, holder in list(self._objects.items()):
            refs = self._graph.nodes[number].slot_variables if isinstance(holder, Stateful) else ()
            kept = {(id(v), name): slot for v, name, slot in holder.kept_slots()} if refs else {}
            open_ = False
            for ref in refs:
                original = self._objects.get(ref.original_variable_node_id)
                slot = kept.get((id(original), ref.slot_name))
                open_ |= slot is None
                if slot is not None:
                    self._take(slot, ref.slot_variable_node_id, found)
            if open_ and all(holder is not each for each, _ in waiting):
                waiting.append((holder, number))
        for variable, number in by_place:
            if self._slots[number].original_variable_node_id not in self._objects and id(variable) not in self._matched:
                self._take(variable, number, found)

    def _value(self, variable: Any, key: str) -> Any:
        stored, shape = self._reader.dtype(key), self._reader.shape(key)
        if not compatible(shape, shape_of(variable)):
            raise ShapeError(
                f"Received incompatible tensor with shape {format_shape(shape)} when attempting to restore variable "
                f"with shape {format_shape(shape_of(variable))} and name {variable.name}; no variable was changed"
            )
        if stored is not variable.dtype:
            raise DTypeError(
                f"the checkpoint has {key} in dtype {getattr(stored, 'name', stored)}, the variable {variable.name} is "
                f"of dtype {variable.dtype.name}; no variable was changed"
            )
        return self._reader.stored(key)

    def assert_existing_objects_matched(self) -> Restored:
        """Raise AssertionError unless all variables that there are have been restored."""
        for obj, path in walk(self._owner._top()):
            if isinstance(obj, Variable) and id(obj) not in self._matched and obj is not self._owner._save_counter:
                raise AssertionError(f"Object not assigned a value from checkpoint: {obj!r} ({path})")
        return self

    def assert_consumed(self) -> Restored:
        """Raise AssertionError unless, besides, all values of the checkpoint have been used."""
        self.assert_existing_objects_matched()
        used = {a.checkpoint_key for i in self._done for a in self._graph.nodes[i].attributes}
        left = [
            a.checkpoint_key for n in self._graph.nodes for a in n.attributes if a.checkpoint_key not in used
        ]  # fmt: skip
        left = [key for key in left if not key.startswith("save_counter/")]
        if left:
            raise AssertionError(f"Unresolved object in checkpoint: nothing has taken the value of {', '.join(left)}")
        return self

    def assert_nontrivial_match(self) -> Restored:
        """Raise AssertionError unless a variable has been restored."""
        if not set(self._matched) - {id(self._owner._save_counter)}:
            raise AssertionError("Nothing except the root object matched a checkpointed value.")
        return self

    def expect_partial(self) -> Restored:
        """Accepted for compatibility: nothing is said of what is left over."""
        return self

    def initialize_or_restore(self, session: Any = None) -> None:
        """Accepted for compatibility: eager variables have their values."""

    run_restore_ops = initialize_or_restore


class RestoredByNames(Restored):
    """All variables have been restored by their names."""

    def __init__(self) -> None:
        self._done, self._matched = {0}, {}

    def assert_existing_objects_matched(self) -> Restored:
        """All variables had a value."""
        return self

    def assert_consumed(self) -> Restored:
        """Raise AssertionError: what else the checkpoint holds is not known to belong to these objects."""
        raise AssertionError("Restoring a name-based checkpoint. No load status is available.")


class NotRestored:
    """There was no checkpoint."""

    def _refuse(self) -> NoReturn:
        raise AssertionError("No checkpoint specified (save_path=None); nothing is being restored.")

    assert_consumed = assert_existing_objects_matched = assert_nontrivial_match = run_restore_ops = _refuse

    def expect_partial(self) -> NotRestored:
        """Nothing to expect."""
        return self

    def initialize_or_restore(self, session: Any = None) -> None:
        """Nothing to do."""
