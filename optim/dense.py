"""Dense updates of eager variables: large ones where they lie, many small ones together.

An optimizer's `update` is applied to symbols. If it consists of elementwise operations (most do; those that need a norm
do not), it becomes an `UpdateLoop`, which gives the same bits:

- A large variable is updated tile by tile, and so are its slots, where they lie if nobody else holds them. That is the
  last thing a step does: all that could fail has been done by then.
- Many small variables of one dtype are put together to one array, as are their slots and gradients; it is updated, and
  taken apart again.
- A few small ones are updated by one program (`optim.at_once`), whatever the update is made of.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from types import SimpleNamespace
from typing import Any

import numpy as np

from engine.compiler.updates.late_updates import LateArray
from engine.compiler.updates.update_loop import Overwriting, Replacing, UpdateLoop, traced_loop
from engine.core.aval import Aval
from engine.core.eager import EagerTensor
from engine.core.tape import active
from engine.core.trace import Symbol, Trace
from engine.core.variable import Variable
from engine.executor.staged import raises
from engine.runtime.buffer_pool import empty
from engine.runtime.commit import commit, in_order
from engine.runtime.packs import copied, joined
from engine.runtime.tuning import TUNING
from optim.at_once import AtOnce
from optim.pairs import Change, Pair

LARGE = TUNING.update_elements
"""Elements of a variable that is updated by itself."""
MANY = TUNING.update_variables
"""Smaller variables that are updated together, at least."""

_OTHERS = 3
"""Plans that are kept beside the last one."""

Hypers = Callable[[Variable], SimpleNamespace]
Found = tuple[UpdateLoop, list[np.ndarray], list[str]]
"""The loop of an update, the numbers it takes, and the names of the slots it changes."""


class Plan:
    """The plan of a step, which later steps need not make again if they have the same variables.

    Parameters
    ----------
    optimizer : Optimizer
    pairs : sequence of (EagerTensor, variable)
        Checked.

    Attributes
    ----------
    large : list of int
        Positions of the pairs whose variables are updated by themselves.
    kinds : list of list of int
        Of those whose variables are small, by shape and dtype.
    few : list of int
        Of those that are updated by one program.
    rest : list of int
        Of all others.
    others : list of Plan
        Those of the optimizer's last steps with other variables, as two networks trained in turn have.
    """

    def __init__(self, optimizer: Any, pairs: Sequence[Pair]) -> None:
        self.variables = [v for _, v in pairs]
        self.slots = [optimizer._slots_of(v) for v in self.variables]
        self._known = self._facts(optimizer, self.variables)
        self._shapes, self._dtypes = [g._array.shape for g, _ in pairs], [g._array.dtype for g, _ in pairs]
        every = [*self.variables, *[s for slots in self.slots for s in slots.values()]]
        self._own = [lock for v in every for lock in v.locks]
        self._locks: tuple[Any, tuple[Any, ...]] | None = None
        self._places: dict[Any, list[tuple[slice, Any]]] = {}
        self.others: list[Plan] = []
        self._sort(optimizer, pairs)

    def _sort(self, optimizer: Any, pairs: Sequence[Pair]) -> None:
        self.large, self.rest, self.few = [], [], []
        kinds: dict[Any, list[int]] = {}
        times = Counter(map(id, self.variables))
        for i, (g, v) in enumerate(pairs):
            size = g._array.size
            fixed = times[id(v)] == 1 and getattr(v, "constraint", None) is None and g._array.shape == v._shape
            if not fixed:
                self.rest.append(i)
            elif not g._array.ndim or not size:
                self.few.append(i)
            elif size >= LARGE:
                self.large.append(i)
            else:
                kinds.setdefault((v._shape, v.dtype, optimizer.hyper_kind(v)), []).append(i)
        self.kinds = list(kinds.values())
        if sum(map(len, self.kinds)) < MANY:
            self.few += [i for kind in self.kinds for i in kind]
            self.kinds = []
        self.at_once = AtOnce(optimizer, [self.variables[i] for i in self.few], [self.slots[i] for i in self.few])

    @staticmethod
    def _facts(optimizer: Any, variables: Sequence[Any]) -> tuple[list[int], list[Any], list[str]]:
        return list(map(id, variables)), list(map(_constraint, variables)), list(optimizer.initial_slots())

    def fits(self, optimizer: Any, pairs: Sequence[Pair]) -> bool:
        """Whether pairs are of the same variables, with gradients of the same kind."""
        if len(pairs) != len(self.variables):
            return False
        gradients, variables = zip(*pairs, strict=True)
        if set(map(type, gradients)) != {EagerTensor} or self._known != self._facts(optimizer, variables):
            return False
        if any(optimizer._slots.get(self.variables[0], name) is not slot for name, slot in self.slots[0].items()):
            return False
        arrays = list(map(_array, gradients))
        return list(map(_shape, arrays)) == self._shapes and list(map(_dtype, arrays)) == self._dtypes

    def locks(self, others: Sequence[Variable]) -> tuple[Any, ...]:
        """Those of the variables, their slots and some others, in order."""
        more = [lock for v in others for lock in v.locks]
        if self._locks is None or self._locks[0] != more:
            self._locks = more, in_order([*more, *self._own])
        return self._locks[1]

    def places(self, positions: Sequence[int]) -> list[tuple[slice, Any]]:
        """Where the variables at some positions lie if they are put together; and their shapes."""
        key = tuple(positions)
        if key not in self._places:
            shapes = [self._shapes[i] for i in positions]
            ends = list(itertools.accumulate([int(np.prod(shape)) for shape in shapes]))
            self._places = {key: list(zip(map(slice, [0, *ends], ends), shapes, strict=True))}
        return self._places[key]

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[()]]:
        # it is made again where it is needed
        return _no_plan, ()


_array, _shape, _dtype = map(attrgetter, ("_array", "shape", "dtype"))


def _constraint(variable: Variable) -> Callable[[Any], Any] | None:
    return getattr(variable, "constraint", None)


class Planned(list[Pair]):
    """Pairs, and the plan that they fit."""

    def __init__(self, pairs: Sequence[Pair], plan: Plan) -> None:
        super().__init__(pairs)
        self.plan = plan


def known_plan(optimizer: Any, pairs: Sequence[Pair]) -> Plan | None:
    """The plan that pairs fit, from then on the optimizer's; None if there is none."""
    plan = optimizer._plan
    if plan is None or plan.fits(optimizer, pairs):
        return plan
    for other in plan.others:
        if other.fits(optimizer, pairs):
            _follow(other, plan)
            optimizer._plan = other
            return other
    return None


def _follow(plan: Plan, before: Plan | None) -> None:
    """Let a plan keep those that an optimizer has had."""
    if before is not None:
        plan.others = [before, *[p for p in before.others if p is not plan]][:_OTHERS]
        before.others = []


def _no_plan() -> None:
    return None


def updates(
    optimizer: Any, pairs: Sequence[Pair], hyper_of: Hypers, state: SimpleNamespace, late: bool
) -> tuple[list[Change], list[Pair]]:
    """Changes for those pairs that loops can update, and the others.

    Parameters
    ----------
    late : bool
        Whether a change may be one that writes itself (`Overwriting`, `Replacing`), for several variables.
    """
    pairs = pairs if isinstance(pairs, Planned) else computed(pairs)
    plan = _plan_for(optimizer, pairs)
    if plan is None:
        return [], computed(pairs)
    rest = [pairs[i] for i in plan.rest]
    changes: list[Change] = []
    for i in plan.large:
        found = _loop(optimizer, pairs[i][1], hyper_of, state)
        if found is None:
            rest.append(pairs[i])
        else:
            changes += _by_itself(pairs[i], plan.slots[i], *found, late)
    same: dict[Any, tuple[Found, list[int]]] = {}
    for kind in plan.kinds:
        found = _loop(optimizer, plan.variables[kind[0]], hyper_of, state)
        if found is None or not found[0].keeps_bits_anywhere:
            rest += [pairs[i] for i in kind]
        else:
            loop, numbers, names = found
            key = loop.key, tuple([(x.dtype, x.tobytes()) for x in numbers]), tuple(names)
            same.setdefault(key, (found, []))[1].extend(kind)
    for found, positions in same.values():
        changes += _together(plan, pairs, positions, *found, late)
    if plan.few:
        few = computed([pairs[i] for i in plan.few])
        made = plan.at_once.changes(optimizer, few, hyper_of, state, late)
        changes += made or ()
        rest += few if made is None else ()
    return changes, computed(rest)


def computed(pairs: Iterable[Pair]) -> list[Pair]:
    """Pairs with gradients that are there: those that were to be computed late are computed now."""
    return [(EagerTensor(g._array.computed()), v) if _is_late(g) else (g, v) for g, v in pairs]


def _is_late(gradient: Any) -> bool:
    return type(gradient) is EagerTensor and type(gradient._array) is LateArray


def _plan_for(optimizer: Any, pairs: Sequence[Pair]) -> Plan | None:
    """The plan for pairs, if it is worth while to have one."""
    if isinstance(pairs, Planned):
        return None if raises() else pairs.plan
    if any(isinstance(v.handle, Symbol) for _, v in pairs[:1]) or raises() or active.function is not None:
        return None
    plan = known_plan(optimizer, pairs)
    if plan is None:
        if any(type(g) is not EagerTensor for g, _ in pairs):
            return None
        plan = Plan(optimizer, pairs)
        _follow(plan, optimizer._plan)
        optimizer._plan = plan
    return plan


def _loop(optimizer: Any, variable: Variable, hyper_of: Hypers, state: SimpleNamespace) -> Found | None:
    """The update of a variable as a loop; None if it cannot be one."""
    trace, aval = Trace(), Aval(variable._shape, variable.dtype)
    gradient, value = trace.placeholder(aval), trace.placeholder(aval)
    slots = {name: trace.placeholder(aval) for name in optimizer.initial_slots()}
    try:
        new, kept = optimizer._new_values(gradient, value, slots, hyper_of(variable), state)
        return *traced_loop(trace, [new, *kept.values()]), list(kept)
    except Exception:  # noqa: BLE001 - the update is made in another way, which raises what it has to
        return None


def _by_itself(
    pair: Pair, slots: dict[str, Variable], loop: UpdateLoop, numbers: list[np.ndarray], names: list[str], late: bool
) -> list[Change]:
    """The changes of one variable and its slots."""
    gradient, variable = pair
    held = [variable, *slots.values()]
    changed = [0, *[1 + list(slots).index(n) for n in names]]
    if late:
        return [(variable, Overwriting(loop, gradient._array, held, changed, numbers))]
    ((gradient, _),) = computed([pair])
    arrays = [gradient._array, *type(variable).arrays(held)]
    results = [empty(arrays[0].shape, arrays[0].dtype) for _ in changed]
    commit(loop.calls(arrays, numbers, results))
    return [(held[i], EagerTensor(result)) for i, result in zip(changed, results, strict=True)]


def _together(
    plan: Plan,
    pairs: Sequence[Pair],
    positions: list[int],
    loop: UpdateLoop,
    numbers: list[np.ndarray],
    names: list[str],
    late: bool,
) -> list[Change]:
    """The changes of variables that are put together."""
    places = plan.places(positions)
    held = {"": [plan.variables[i] for i in positions]}
    held.update({n: [plan.slots[i][n] for i in positions] for n in plan.slots[positions[0]]})
    arrays_of = type(held[""][0]).arrays
    flat = {n: copied(arrays_of(vs)) for n, vs in held.items()}
    gradients = joined([pairs[i][0]._array for i in positions])
    results = [flat[n] for n in ("", *names)]
    commit(loop.calls([gradients, *flat.values()], numbers, results))
    variables = [v for n in ("", *names) for v in held[n]]
    pieces = [piece for whole in results for piece in _taken_apart(whole, places)]
    if late:
        return [(variables[0], Replacing(variables, pieces))]
    return [(v, EagerTensor(piece)) for v, piece in zip(variables, pieces, strict=True)]


def _taken_apart(whole: np.ndarray, places: Sequence[tuple[slice, Any]]) -> list[np.ndarray]:
    """Parts of a vector, of some shapes, in memory of their own: one that is kept does not keep the others."""
    shape = places[0][1]
    if all(other == shape for _, other in places):
        # the rows of a matrix
        return list(map(np.ndarray.copy, whole.reshape(len(places), *shape)))
    return [whole[part].reshape(shape).copy() for part, shape in places]
