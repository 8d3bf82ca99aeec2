"""Functions for what several functions compute: it is written once.

Items that the same functions need, and that hang together, move into a helper. What feels an assignment, or is a
gradient or depends on one, stays: when it is computed matters. So does what lies between a tensor that a tape is told
to watch and the result, since the tape must be told before the tensor is used.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dualgrad.migrate.convert.items import GradientItem, Item, Items, OpItem, StepItem, assigned, is_leaf, source
from engine.core.trace import constant
from engine.core.variable import Variable, read_variable, variable_handle
from graph_api.control_flow.flow import assert_op

LEAST = 2
"""Items from which on a helper is worth its lines."""


@dataclass(eq=False)
class FunctionTask:
    """The task of a function.

    Attributes
    ----------
    items : list of Item
        In order, without leaves.
    reads : list of Item
        The reads of variables among what is needed.
    given : list of tensor
        What is fed, or handed over.
    wanted : list of tensor
        What is returned.
    run : Run, optional
        For which it is; None for a helper.
    """

    items: list[Item]
    reads: list[Item]
    given: list[Any]
    wanted: list[Any]
    run: Any = None
    name: str = ""


@dataclass(eq=False)
class HelperItem(Item):
    """A call of a helper. `handed` are the tensors that it is given, besides the variables that it reads."""

    plan: Any = None
    handed: list[Any] = field(default_factory=list)


def extract_helpers(plans: Sequence[FunctionTask]) -> list[FunctionTask]:
    """Move what several plans have in common into helpers; these, those first that others call."""
    before = [list(plan.items) for plan in plans]
    apart: set[int] = set()
    while True:
        helpers = _shared(plans, apart)
        wrong = {id(item) for plan in plans for item in _out_of_order(plan)}
        if not wrong:
            return helpers
        apart |= wrong
        for plan, items in zip(plans, before, strict=True):
            plan.items = list(items)


def _shared(plans: Sequence[FunctionTask], apart: set[int]) -> list[FunctionTask]:
    signatures = [pair for pair in _signatures(plans) if id(pair[0]) not in apart]
    groups = [g for g in _connected(signatures) if len(g) >= LEAST and not _is_torn(g, plans)]
    owner = {id(item): number for number, group in enumerate(groups) for item in group}
    helpers = []
    for number, group in sorted(enumerate(groups), key=lambda pair: pair[1][-1].order):
        helpers.append(_helper(group, plans, owner, number))
    by_number = {owner[id(helper.items[0])]: _call(helper, plans) for helper in helpers}
    for plan in plans:
        numbers = {owner[id(item)] for item in plan.items if id(item) in owner}
        left = [item for item in plan.items if id(item) not in owner]
        plan.items = sorted([*left, *[by_number[n] for n in numbers]], key=lambda item: item.order)
    _nest(plans, list(by_number.values()))
    return helpers


def _is_torn(group: Sequence[Item], plans: Sequence[FunctionTask]) -> bool:
    """Whether something that uses a part of a group comes before something that another part needs."""
    own = {id(item) for item in group}
    outputs = {id(x) for item in group for x in item.outputs}
    taken = {id(x) for item in group for x in item.inputs}
    others = [item for plan in plans for item in plan.items if id(item) not in own]
    users = [item.order for item in others if any(id(x) in outputs for x in item.inputs)]
    makers = [item.order for item in others if any(id(x) in taken for x in item.outputs)]
    return bool(users) and bool(makers) and min(users) < max(makers)


def _out_of_order(plan: FunctionTask) -> list[Item]:
    """The items that helpers move so that the walk backwards would add up another way.

    It adds up what the uses of a value contribute, the last use first; of three, the order can be seen in the result.
    """
    if not any(isinstance(item, GradientItem) for item in plan.items):
        return []
    uses: dict[int, list[tuple[Item, Any]]] = {}
    made: dict[int, Item] = {}
    for item, helper in _expanded(plan.items, None):
        made |= {id(x): item for x in item.outputs}
        # a gradient that is differentiated itself uses what the way to its target does
        before = _before(item, made) if isinstance(item, GradientItem) and item.outputs else []
        for x in [*item.inputs, *before]:
            uses.setdefault(id(x), []).append((item, helper))
    wrong = []
    for users in uses.values():
        orders = [item.order for item, _ in users]
        if len(orders) > 2 and orders != sorted(orders):
            wrong += [item for item, helper in users if helper is not None]
    return [other for item in wrong for other in _all_of(plan.items, item)]


def _before(item: Item, made: Mapping[int, Item]) -> list[Any]:
    values: dict[int, Any] = {}
    left = list(item.inputs)
    while left:
        x = left.pop()
        if id(x) not in values:
            values[id(x)] = x
            left += made[id(x)].inputs if id(x) in made else []
    return list(values.values())


def _expanded(items: Sequence[Item], helper: Any) -> Iterator[tuple[Item, Any]]:
    for item in items:
        if isinstance(item, HelperItem):
            yield from _expanded(item.plan.items, item)
        else:
            yield item, helper


def _all_of(items: Sequence[Item], item: Item) -> list[Item]:
    """All items of the helper that an item is in."""
    for other in items:
        if isinstance(other, HelperItem):
            inside = [i for i, _ in _expanded(other.plan.items, other)]
            if item in inside:
                return inside
    return []


def _signatures(plans: Sequence[FunctionTask]) -> list[tuple[Item, frozenset[int]]]:
    """The items that more than one plan needs, and which plans these are."""
    users: dict[int, set[int]] = {}
    known: dict[int, Item] = {}
    for number, plan in enumerate(plans):
        first = min((item.order for item in plan.items if any(True for _ in assigned(item))), default=None)
        apart = _apart(plan)
        for item in plan.items:
            known[id(item)] = item
            late = first is not None and item.order > first
            users.setdefault(id(item), set()).update({number, -1 - number} if late or id(item) in apart else {number})
    return [
        (known[key], frozenset(numbers)) for key, numbers in users.items() if len(numbers) > 1 and min(numbers) >= 0
    ]


def _apart(plan: FunctionTask) -> set[int]:
    """The items of a plan that must not move: gradients, steps, what depends on them, and what tapes watch from."""
    moved = {id(x) for item in plan.items if isinstance(item, GradientItem) for x in _watched(item, plan)}
    apart = _asserted(plan)
    for item in plan.items:
        fixed = isinstance(item, (GradientItem, StepItem)) or (isinstance(item, OpItem) and not item.outputs)
        fixed = fixed or any(True for _ in assigned(item)) or (isinstance(item, OpItem) and item.node.op.stateful)
        if fixed or any(id(x) in moved for x in item.inputs) or item.after:
            apart.add(id(item))
            moved.update([id(x) for x in item.outputs])
    return apart


def _asserted(plan: FunctionTask) -> set[int]:
    """The items of a plan that only say what is asserted: they stay where that is said."""
    users: dict[int, list[Item | None]] = {id(x): [None] for x in plan.wanted}
    for item in plan.items:
        for x in item.inputs:
            users.setdefault(id(x), []).append(item)
    found: set[int] = set()
    for item in reversed(plan.items):
        after = [u for x in item.outputs for u in users.get(id(x), ())]
        is_assertion = isinstance(item, OpItem) and item.node.op is assert_op
        if is_assertion or (after and all(id(u) in found for u in after)):
            found.add(id(item))
    return found


def _watched(item: GradientItem, plan: FunctionTask) -> list[Any]:
    known = {id(x) for x in plan.given}
    sources = [source(x) for x in item.call.xs if not isinstance(x, Variable)]
    return [x for x in sources if id(x) not in known and x.node.op is not variable_handle]


def _connected(signatures: Sequence[tuple[Item, frozenset[int]]]) -> list[list[Item]]:
    """Groups of items of one signature that hang together by what they give each other."""
    made = {id(x): number for number, (item, _) in enumerate(signatures) for x in item.outputs}
    root = list(range(len(signatures)))

    def find(i: int) -> int:
        while root[i] != i:
            root[i] = i = root[root[i]]
        return i

    for number, (item, users) in enumerate(signatures):
        for x in item.inputs:
            other = made.get(id(x))
            if other is not None and signatures[other][1] == users:
                root[find(number)] = find(other)
    groups: dict[int, list[Item]] = {}
    for number, (item, _) in enumerate(signatures):
        groups.setdefault(find(number), []).append(item)
    return [sorted(group, key=lambda item: item.order) for group in groups.values()]


def _helper(group: list[Item], plans: Sequence[FunctionTask], owner: dict[int, int], number: int) -> FunctionTask:
    inside = {id(x): x for item in group for x in item.outputs}
    outside = [item for plan in plans for item in plan.items if owner.get(id(item)) != number]
    used = {id(x) for item in outside for x in item.inputs} | {id(w) for plan in plans for w in plan.wanted}
    fed = {id(f) for plan in plans for f in plan.given}  # constants and what is read of variables too
    handed: dict[int, Any] = {}
    reads: dict[int, Any] = {}
    for x in (x for item in group for x in item.inputs if id(x) not in inside):
        if id(x) in fed or x.node.op not in (read_variable, constant, variable_handle):
            handed[id(x)] = x
        elif x.node.op is read_variable:
            reads[id(x)] = x
    read_items = [r for plan in plans for r in plan.reads if id(r.outputs[0]) in reads]
    wanted = [x for x in inside.values() if id(x) in used]
    return FunctionTask(list(group), list({id(r): r for r in read_items}.values()), list(handed.values()), wanted)


def _call(helper: FunctionTask, plans: Sequence[FunctionTask]) -> HelperItem:
    handles = [x for item in [*helper.items, *helper.reads] for x in item.inputs if x.node.op is variable_handle]
    handles += [r.inputs[0] for r in helper.reads]
    after = [node for item in helper.items for node in item.after]
    inputs = [*helper.given, *{id(h): h for h in handles}.values()]
    own, given = {id(item) for item in helper.items}, {id(x) for x in helper.wanted}
    users = [i.order for p in plans for i in p.items if id(i) not in own and any(id(x) in given for x in i.inputs)]
    # before the first that uses it, behind all others
    order = min([helper.items[-1].order, *[u - 0.5 for u in users]])
    return HelperItem(order, inputs, list(helper.wanted), after, plan=helper, handed=list(helper.given))


def _nest(plans: Sequence[FunctionTask], calls: Sequence[HelperItem]) -> None:
    """Let a helper call another one, wherever that is called for nothing else."""
    for call in sorted(calls, key=lambda c: -c.order):
        users = [c for c in calls if c is not call and any(x is y for x in c.handed for y in call.outputs)]
        for user in users:
            # also the helpers that call the user: it would be computed again in these
            holding = [plan for plan in [*plans, *(c.plan for c in calls)] if user in plan.items]
            alone = all(_uses_only(plan, call, user) for plan in holding)
            if alone and holding:
                _move(call, user, holding)


def _uses_only(plan: FunctionTask, call: HelperItem, user: HelperItem) -> bool:
    outputs = {id(x) for x in call.outputs}
    others = [item for item in plan.items if item is not user and item is not call]
    used = any(id(x) in outputs for item in others for x in item.inputs) or any(id(w) in outputs for w in plan.wanted)
    return call in plan.items and not used


def _move(call: HelperItem, user: HelperItem, plans: Iterable[FunctionTask]) -> None:
    for plan in plans:
        plan.items.remove(call)
    outputs = {id(x) for x in call.outputs}
    helper: FunctionTask = user.plan
    helper.items = sorted([*helper.items, call], key=lambda item: item.order)
    known = {id(x) for x in user.handed}
    helper.given = [x for x in user.handed if id(x) not in outputs] + [x for x in call.handed if id(x) not in known]
    variables = [x for x in [*user.inputs, *call.inputs] if x.node.op is variable_handle]
    user.handed = list(helper.given)
    user.inputs = [*helper.given, *{id(v): v for v in variables}.values()]


def sparse_feeds(feeds: Sequence[Any]) -> list[list[Any]]:
    """The feeds of sparse placeholders: the indices, values and shape of each."""
    groups: dict[str, list[Any]] = {}
    for x in feeds:
        scope, _, part = x.node.name.rpartition("/")
        if part in ("indices", "values", "shape"):
            groups.setdefault(scope, []).append(x)
    return [group for group in groups.values() if len(group) == 3]


def task_of(items: Items, run: Any, wanted: list[Any]) -> FunctionTask:
    """The task of the function for a set of fetches."""
    fed = {id(f) for f in run.feeds}
    needed = items.needed(run.flat, fed)
    work = [item for item in needed if not is_leaf(item)]
    reads: list[Item] = [item for item in needed if isinstance(item, OpItem) and item.node.op is read_variable]
    used = {id(x) for item in work for x in item.inputs} | {id(w) for w in wanted}
    used |= {id(x) for group in sparse_feeds(run.feeds) if any(id(g) in used for g in group) for x in group}
    used |= {id(x) for node in run.taken for x in node.outputs}
    given = []
    for f in run.feeds:
        own = [r for r in reads if r.inputs[0] is f]
        if len(own) == 1 and id(f) not in used:  # a variable is fed: what is read of it is given
            reads.remove(own[0])
            given.append(own[0].outputs[0])
        elif own or id(f) in used:
            given.append(f)
    return FunctionTask(work, reads, given, wanted, run)
