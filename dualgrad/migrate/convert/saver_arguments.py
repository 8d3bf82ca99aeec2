"""Arguments of savers in tape code, so that checkpoints of the old program load into the new one.

Variables have their names of the graph. A list of them will do then; where names differ, it is a dictionary.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def listed(held: Mapping[str, Any], variables: Mapping[str, str], modules: Sequence[Any]) -> str:
    """The list of what is saved; empty if one of the names would be another one.

    Parameters
    ----------
    held : mapping
        By their names in a checkpoint, the variables of the graph that are saved.
    variables : mapping
        By their names in the graph, the expressions for them in tape code.
    modules : sequence of Module
        One for each graph.
    """
    if any(v.name.removesuffix(":0") != name for name, v in held.items()) or len(modules) != 1:
        return ""
    (module,) = modules
    owners = {v.name: module.owner(v.handle) for v in held.values()}
    codes = [variables[name] for name, owner in owners.items() if not owner]
    optimizers = {owner for owner in owners.values() if owner}
    # an optimizer names what it keeps as the first one of a graph does, and gives all of it
    whole = all(module.names_kept_by(o) == {name for name, owner in owners.items() if owner == o} for o in optimizers)
    if len(optimizers) > 1 or not whole or not module.named_here.issuperset(codes):
        return ""
    whole_list = module.listing(codes)
    if not optimizers:
        return whole_list
    inside = whole_list[1:-1] if whole_list.startswith("[") else f"*{whole_list}"
    return f"[{', '.join(filter(None, [inside, f'*{optimizers.pop()}.variables()']))}]"


def by_name(held: Mapping[str, Any], variables: Mapping[str, str]) -> str:
    """The dictionary of what is saved."""
    return "{" + ", ".join(f"{name!r}: {variables[v.name]}" for name, v in held.items()) + "}"
