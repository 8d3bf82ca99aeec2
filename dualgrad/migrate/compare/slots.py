"""The slots of optimizers in a migrated program that its map does not name.

A graph calls them after their variables (``w/Adam``, ``w/Adam_1``) and numbers what optimizers share
(``beta1_power_1``). On eager variables an optimizer makes them at its first step, in the same order. So a function is
called once before it is compared; then the slots are there, and correspond by variable, label and order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from engine.core.variable import Variable
from optim.optimizer import Optimizer


def optimizers(namespace: Mapping[str, Any], objects: Iterable[str] = ()) -> list[Optimizer]:
    """The optimizers of a module and of some objects in it, each once, in the order of their names in it."""
    inside = [x for name in objects for x in vars(namespace[name]).values()]
    return list({id(x): x for x in [*namespace.values(), *inside] if isinstance(x, Optimizer)}.values())


def held(found: Iterable[Optimizer]) -> dict[int, Any]:
    """The values of the slots of optimizers, by the identities of the slots."""
    return {id(v): v.read_value()._array for o in found for v in [*_shared(o), *(s for _, s in _slots(o))]}


def named(
    names: Iterable[str], changed: Iterable[str], known: Mapping[str, Variable], found: list[Optimizer], used: set[int]
) -> dict[str, Variable]:
    """Which slot each variable of the graph is that is not known.

    Parameters
    ----------
    names : iterable of str
        The variables of the graph that are not known, in the order in which they were made.
    changed : iterable of str
        Those that the function in question changes.
    known : dict
        The others: names to variables of the module.
    found : list of Optimizer
        Of the module.
    used : set of int
        Identities of the slots that the function changes.
    """
    groups: dict[tuple[str, str], list[str]] = {}
    for name in names:
        owner, _, label = name.removesuffix(":0").rpartition("/")
        groups.setdefault((owner, re.sub(r"_\d+$", "", label)), []).append(name)
    result: dict[str, Variable] = {}
    for (owner, label), wanted in groups.items():
        if f"{owner}:0" in known:
            mine = known[f"{owner}:0"]
            slots = [s for o in found for v, s in _slots(o) if v is mine and _label(s) == label]
        elif not owner:
            slots = [s for o in found for s in _shared(o) if _label(s) == label and id(s) in used]
            wanted = [name for name in wanted if name in set(changed)]
        else:
            continue
        if len(slots) == len(wanted):
            result |= zip(wanted, slots, strict=True)
    return result


def _slots(optimizer: Optimizer) -> list[tuple[Variable, Variable]]:
    """The variables with their slots, in the order in which these were made."""
    return list(optimizer._slots._slots.values())


def _shared(optimizer: Optimizer) -> list[Variable]:
    return list(optimizer._counters.all())


def _label(slot: Variable) -> str:
    return slot.name.removesuffix(":0").rpartition("/")[2]
