"""A recorded run, operation by operation: each of ours is given the *recorded* operands.

So rounding does not add up from one operation to the next, and an operation that differs is found where it is. What the
record does not have is computed from what it has, in the dtype of the program and in float64 beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dualgrad.files.golden import Golden
from dualgrad.migrate.compare.budgets import Judgement, budget, is_bfloat, is_portable, judged, scale_of
from dualgrad.migrate.compare.findings import Comparison, Difference, exact, shown, worst
from engine.core.trace import placeholder
from engine.core.variable import assign_variable, read_variable, variable_handle, variable_is_initialized

_WIDE = {"f": np.float64, "c": np.complex128}


@dataclass
class Value:
    """A tensor's value as it is used, the same in float64, and how many operations lie since the record.

    Attributes
    ----------
    array, wide : array
        `wide` is None where there is none. Of a portable comparison it is another number in double precision, as near
        as rounding is: how far both are apart tells how far rounding takes what follows.
    since : float
        The budgets of the operations since the last recorded values, added up along the longest way.
    random : bool
        Whether it depends on random numbers that are not in the record.
    """

    array: Any
    wide: Any
    since: float = 0.0
    random: bool = False


@dataclass
class OpByOp:
    """Computes the operations of a run from recorded values.

    Parameters
    ----------
    golden : Golden
    comparison : Comparison
        What is found is added to it.
    step : dict
        The recorded run.
    names : dict
        ``id(tensor)`` to the recorded tensor's name (`matching.matched`).
    sites : dict
        Names of recorded operations to lines.
    """

    golden: Golden
    comparison: Comparison
    step: Mapping[str, Any]
    names: Mapping[int, str]
    sites: Mapping[str, Any]
    values: dict[int, Value] = field(default_factory=dict)
    state: dict[int, Value] = field(default_factory=dict)
    assigned: dict[int, Any] = field(default_factory=dict)
    dice: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def run(self, nodes: Sequence[Any], feeds: Mapping[int, Any]) -> None:
        """Go through the operations.

        Parameters
        ----------
        nodes : sequence of Operation
            Needed by the run, in order.
        feeds : dict
            ``id(tensor)`` to the recorded array.
        """
        for key, array in feeds.items():
            self.values[key] = _recorded_value(array)
        for node in nodes:
            if all(id(x) in feeds for x in node.outputs) and node.outputs:
                continue
            self.one(node)

    def one(self, node: Any) -> None:
        """One operation."""
        if node.op is variable_handle:
            held = self.step["before"].get(node.outputs[0].name)
            if held is not None and self.golden.holds(held):
                self.state[id(node.outputs[0])] = _recorded_value(self.golden.array(held))
            return
        if node.op is variable_is_initialized:
            self.values[id(node.outputs[0])] = _recorded_value(np.bool_(id(node.inputs[0]) in self.state))
            return
        if node.op is placeholder or any(not self._known(x) for x in node.inputs):
            return  # a queue's handle, say
        operands = [self._operand(x) for x in node.inputs]
        if node.op is read_variable:
            self.values[id(node.outputs[0])] = operands[0]
        elif node.op is assign_variable:
            self.assigned[id(node.inputs[0])] = node
            self.state[id(node.inputs[0])] = self.values[id(node.outputs[0])] = operands[1]
        else:
            self._computed(node, operands)

    def _known(self, x: Any) -> bool:
        return id(x) in self.values or id(x) in self.state or x.node.op is variable_handle

    def _operand(self, x: Any) -> Value:
        held = self.state.get(id(x))
        return held if held is not None else self.values.get(id(x), Value(None, None, random=True))

    def _computed(self, node: Any, operands: Sequence[Value]) -> None:
        recorded = [self._recorded(x) for x in node.outputs]
        drawn = node.op.stateful or "counter" in node.op.args
        if drawn and all(r is not None for r in recorded):
            for x, array in zip(node.outputs, recorded, strict=True):
                self.values[id(x)] = _recorded_value(array)
            return
        random = drawn or any(v.random for v in operands)
        arrays = [v.array for v in operands]
        made = _applied(node, arrays)
        if made is None:
            return
        wide = [_wide(x) for x in made] if not operands else self._in_float64(node, operands) or [None] * len(made)
        for x, ours, precise, array in zip(node.outputs, made, wide, recorded, strict=True):
            # random numbers that TensorFlow drew are in the record; all that follows from them is, too
            kind = np.asarray(ours).dtype
            same = self.comparison.portable and is_portable(node.op, node.params, kind)
            own = 0.0 if same else budget(node.op, kind)
            units = own + max([v.since for v in operands], default=0.0)
            portable = self.comparison.portable
            if portable and own and precise is not None and kind in (np.float64, np.complex128) and operands:
                size = np.maximum(np.abs(precise), scale_of(node.op, arrays, node.params))
                precise = precise + self.dice.uniform(-0.5, 0.5, np.shape(size)) * own * size * np.finfo(kind).eps
            if array is None or np.shape(array) != np.shape(ours) or random:
                known = array is not None and np.shape(array) == np.shape(ours)
                if random and known:
                    self.comparison.skip("values that follow from random numbers which are not in the record")
                more = units + float(not portable)
                self.values[id(x)] = _recorded_value(array) if known else Value(ours, precise, more, random)
                continue
            exactly = precise if any(_is_float(a) for a in [*arrays, ours]) else None
            if same and not units:
                judgement = _equal(ours, array)
            else:
                scale = scale_of(node.op, arrays, node.params)
                judgement = judged(ours, array, exactly, scale, units if portable else own, units)
            self._judge(node, x, judgement, ours, array, operands)
            self.values[id(x)] = _recorded_value(array)

    @staticmethod
    def _in_float64(node: Any, operands: Sequence[Value]) -> list[Any] | None:
        return None if any(v.wide is None for v in operands) else _applied(node, [v.wide for v in operands])

    def _recorded(self, x: Any) -> np.ndarray | None:
        described = self.step.get("ops", {}).get(self.names.get(id(x)))
        return self.golden.array(described) if described is not None and self.golden.holds(described) else None

    def _judge(self, node: Any, x: Any, found: Judgement, ours: Any, theirs: Any, operands: Sequence[Value]) -> None:
        comparison, name = self.comparison, self.names[id(x)]
        comparison.operations += 1
        row = comparison.row(f"{node.type} {np.asarray(ours).dtype.name}")
        row.steps += 1
        row.equal += found.units == 0
        row.worst, row.allowed = max(row.worst, found.units), max(row.allowed, found.allowed)
        if found.fits:
            return
        row.failed += 1
        note = found.blame
        if found.exact is not None and np.asarray(ours).dtype != np.asarray(found.exact).dtype:
            note += f"; in float64 it is {exact(found.exact)}"
        comparison.differences.append(
            Difference(
                self.step["number"], "operation", name, shown(theirs, found.at), shown(ours, found.at), list(found.at),
                found.units, node.type, self.sites.get(name.rpartition(":")[0]), list(node.where),
                [(self.names.get(id(i), i.name), shown(v.array)) for i, v in zip(node.inputs, operands, strict=True)
                 if v.array is not None],
                note,
            )
        )  # fmt: skip

    def end(self) -> None:
        """Compare what the variables hold afterwards with what the record says."""
        for key, node in self.assigned.items():
            handle, value = node.inputs[0], self.state[key]
            described = self.step["after"].get(handle.name) or self.step["before"].get(handle.name)
            if described is None or value.random or not self.golden.holds(described):
                continue
            theirs = self.golden.array(described)
            if theirs.shape != np.shape(value.array):
                continue
            if self.comparison.portable and not value.since:
                judgement = _equal(value.array, theirs)
            else:
                # what is added up may cancel: the scale is that of what it held before, too
                before = self.step["before"].get(handle.name)
                known = self.comparison.portable and before is not None and self.golden.holds(before)
                scale = max(_largest(theirs), _largest(self.golden.array(before)) if known else 0.0)
                units = max(value.since, 4.0)
                own = units if self.comparison.portable else 4.0
                judgement = judged(value.array, theirs, value.wide, scale, own, units)
            row = self.comparison.row(f"variable {handle.name}")
            row.steps, row.equal = row.steps + 1, row.equal + (judgement.units == 0)
            row.worst, row.allowed = max(row.worst, judgement.units), max(row.allowed, judgement.allowed)
            if not judgement.fits:
                row.failed += 1
                self.comparison.differences.append(
                    Difference(
                        self.step["number"], "variable", handle.name, shown(theirs, judgement.at),
                        shown(value.array, judgement.at), list(judgement.at), judgement.units, node.type,
                        self.step["site"], list(node.where), [], judgement.blame,
                    )
                )  # fmt: skip


def _equal(ours: Any, theirs: Any) -> Judgement:
    at, units = worst(theirs, ours)
    units = np.inf if units is None else units
    return Judgement(not units, units, 0.0, at, blame="this gives the same bits on every machine")


def _largest(array: Any) -> float:
    """The scale of an update's rounding errors: the variable's elements share their terms."""
    return float(np.max(np.abs(array), initial=0.0)) if _is_float(array) else 0.0


def _recorded_value(array: Any) -> Value:
    return Value(array, _wide(array))


def _wide(array: Any) -> np.ndarray:
    array = np.asarray(array)
    if is_bfloat(array):
        return array.astype(np.float64)
    return array.astype(_WIDE[array.dtype.kind]) if array.dtype.kind in _WIDE else array


def _is_float(array: Any) -> bool:
    return np.asarray(array).dtype.kind in _WIDE


def _applied(node: Any, arrays: Sequence[Any]) -> list[Any] | None:
    """The results of an operation; None if it cannot be applied to these (in float64 some cannot)."""
    try:
        with np.errstate(all="ignore"):
            made = node.op(*arrays, **node.params)
    except Exception:  # noqa: BLE001 - the run itself says what is wrong with the program
        return None
    return list(made) if node.op.multi else [made]
