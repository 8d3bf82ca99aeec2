"""Steps on eager variables as closed functions, which read variables, run, and write new values in one step.

In a graph a step is a number of assignments, which a session compiles with all else that it is asked for. On eager
variables `ClosedStep` makes the same of them: the optimizer's `update` is applied to symbols, once for all that it
depends on, and its results are assigned to the handles of variables and slots. From then on a program runs, with
gradients and hyperparameters as arguments. That large variables are updated where they lie, many small ones together,
and gradients that are products only then, is the compiler's doing (`engine.compiler.updates`). The bits are those of
the ops.

What has no program is done op by op (`Optimizer._changes`), and its new values are written in the same moment:

- the first steps of small variables: their program costs as much as some steps;
- gradients that consist of rows: there may be another number of them in each step;
- a variable with a constraint, or given twice, and a few small ones whose update users wrote, which may be another one
  each time. Large ones and many are traced in each step, and their program is looked up by what was traced.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from engine.closed.function import Body, ClosedFunction
from engine.compiler.eager_state import EagerState
from engine.compiler.ir.layout import Order
from engine.compiler.updates import deferred_updates
from engine.compiler.updates.deferred_updates import DeferredArray
from engine.core.aval import Aval, aval_of_array
from engine.core.dtypes import BY_NUMPY
from engine.core.eager import EagerTensor
from engine.core.instantiate import instantiate, like
from engine.core.op import distinct
from engine.core.tape import paused
from engine.core.trace import Symbol, Trace, constant, needed_nodes, placeholder
from engine.core.variable import Variable, assign_variable, read_variable, variable_handle
from engine.runtime.cache import Cache
from engine.runtime.collector import uncollected
from engine.runtime.commit import in_order
from engine.runtime.tuning import TUNING
from optim.pairs import Change, Pair, require_fit
from optim.slots import assign_all

AFTER: float = TUNING.update_steps
"""Steps that are made op by op before it is worth while to make a program, if all variables are small."""
_FOLD_LIMIT = TUNING.fold_update_bytes
_MOST = 8
"""Programs that are kept for the same variables."""
MOST_STEPS = 4
"""Groups of variables whose steps are kept, as of networks that are trained in turn."""
_FEW = 64
"""Elements up to which a constant of a user's update tells it from others."""

Hypers = Callable[[Variable], SimpleNamespace]


class ClosedStep:
    """The step along gradients of some eager variables: what later steps have in common with it.

    Parameters
    ----------
    optimizer : Optimizer
    pairs : sequence of (EagerTensor, variable)
        Checked.

    Attributes
    ----------
    inside, rest : list of int
        Positions of the pairs that a program may update, and of the others.
    forms : list
        Shapes and dtypes of those inside.
    has_large : bool
        Whether a variable is updated by itself, where it lies.
    """

    def __init__(self, optimizer: Any, pairs: Sequence[Pair]) -> None:
        self.variables = [v for _, v in pairs]
        self.slots = [optimizer._slots_of(v) for v in self.variables]
        self._held = [*self.variables, *[s for slots in self.slots for s in slots.values()]]
        self._locks: tuple[Any, tuple[Any, ...]] | None = None
        self._is_pure, self._steps = is_pure(optimizer), 0
        self._functions: Cache[Any, tuple[ClosedFunction | None]] = Cache(
            "functions of steps", _MOST, key="the step; hyperparameters, attributes that decide, other changes"
        )
        times = Counter(map(id, self.variables))
        large = {i for i, (g, _) in enumerate(pairs) if g._array.size >= deferred_updates.LARGE}
        self.inside = [
            i
            for i, (g, v) in enumerate(pairs)
            if times[id(v)] == 1 and not _is_constrained(v) and g._array.shape == v._shape
        ]
        if not self._is_pure and len(set(self.inside) - large) < deferred_updates.MANY:
            self.inside = [i for i in self.inside if i in large]
        if len(set(map(type, self.variables))) > 1 or (len(self.inside) < len(pairs) and optimizer.follows()):
            self.inside = []
        self.forms = [(self.variables[i]._shape, self.variables[i].dtype) for i in self.inside]
        self.rest = sorted({*range(len(pairs))}.difference(self.inside))
        self.has_large = not large.isdisjoint(self.inside)

    def keeps_slots(self, optimizer: Any) -> bool:
        """Whether the slots are still those that the optimizer has."""
        first = self.variables[0]
        return all(optimizer._slots.get(first, name) is slot for name, slot in self.slots[0].items())

    def locks(self, others: Sequence[Variable]) -> tuple[Any, ...]:
        """Those of the variables, their slots and some others, in order."""
        more = [lock for v in others for lock in v.locks]
        if self._locks is None or self._locks[0] != more:
            self._locks = more, in_order([*more, *[lock for v in self._held for lock in v.locks]])
        return self._locks[1]

    def run(
        self, optimizer: Any, pairs: Sequence[Pair], hyper_of: Hypers, state: SimpleNamespace, others: Sequence[Change]
    ) -> None:
        """Make the step, and some other changes in the same moment; the `locks` are held."""
        self._steps += 1
        function = None
        if self.inside and (self.has_large or self._steps > AFTER):
            if self.rest:
                others = [*optimizer._changes(computed([pairs[i] for i in self.rest]), state, hyper_of), *others]
                pairs = [pairs[i] for i in self.inside]
            numbers = _Numbers([hyper_of(v) for _, v in pairs], state)
            function, arguments = self._function(optimizer, pairs, numbers, others)
        if function is None:
            assign_all([*optimizer._changes(computed(pairs), state, hyper_of), *others], "step")
        else:
            function.execute(arguments, held=True)

    def _function(
        self, optimizer: Any, pairs: Sequence[Pair], numbers: _Numbers, others: Sequence[Change]
    ) -> tuple[ClosedFunction | None, list[Any]]:
        """The closed function of a step, None if there is none; and its arguments."""
        gradients = [g._array for g, _ in pairs]
        deferred = [a for a in gradients if type(a) is DeferredArray]
        arguments = [x for a in gradients for x in (a.factors if type(a) is DeferredArray else (a,))]
        try:
            arguments = [*arguments, *numbers.arrays, *[new._array for _, new in others]]
            key: Any = (
                *numbers.key(),
                *[distinct(getattr(optimizer, name)) for name in optimizer.decided_by],
                *map(id, optimizer.follows()),
                *[(id(v), new._array.shape, new._array.dtype) for v, new in others],
            )
            if deferred:
                key = *key, *[a.key if type(a) is DeferredArray else None for a in gradients]
        except (AttributeError, TypeError):
            # rows, a variable, a function: something that may be another one each time
            return None, []
        if self._is_pure and (kept := self._functions.get(key)) is not None:
            return kept[0], arguments
        function = None
        try:
            slots = [self.slots[i] for i in self.inside]
            kinds = [*zip(self.forms, numbers.kinds, strict=True)]
            rules: dict[Any, _Rule] = {}
            for (_, variable), own, kind in zip(pairs, slots, kinds, strict=True):
                if kind not in rules:
                    rules[kind] = _Rule(optimizer, variable, own, numbers, kind[1])
            if not self._is_pure:
                key = *key, *[rule.key() for rule in rules.values()]
                arguments += [array for rule in rules.values() for array in rule.constants]
                if (kept := self._functions.get(key)) is not None:
                    return kept[0], arguments
            of_pairs = [rules[kind] for kind in kinds]
            function = uncollected(_closed, optimizer, pairs, slots, of_pairs, numbers, others)
        except Exception:  # noqa: BLE001 - the step is made op by op, which raises what it has to
            function = None
        self._functions.put(key, (function,))
        return function, arguments


def step_for(optimizer: Any, pairs: Sequence[Pair], make: bool = False) -> ClosedStep | None:
    """The optimizer's step along gradients of such kinds of these eager variables; None if there is none.

    Parameters
    ----------
    make : bool
        Whether to make it. The pairs are checked then, and the slots are there.
    """
    gradients, variables = zip(*pairs, strict=True)
    if set(map(type, gradients)) != {EagerTensor}:
        return None
    key = (
        *map(id, variables),
        *[(g._array.shape, g._array.dtype) for g in gradients],
        *map(_is_constrained, variables),
        *optimizer.initial_slots(),
    )
    step: ClosedStep | None = optimizer._steps.get(key)
    if step is not None and step.keeps_slots(optimizer):
        return step
    if not make or isinstance(variables[0].handle, Symbol):
        return None
    return optimizer._steps.put(key, ClosedStep(optimizer, pairs))


def computed(pairs: Iterable[Pair]) -> list[Pair]:
    """Pairs with gradients that are there: those that were deferred are computed now."""
    return [(EagerTensor(g._array.computed()), v) if _is_deferred(g) else (g, v) for g, v in pairs]


def _is_deferred(gradient: Any) -> bool:
    return type(gradient) is EagerTensor and type(gradient._array) is DeferredArray


def _is_constrained(variable: Variable) -> bool:
    return getattr(variable, "constraint", None) is not None


def is_pure(optimizer: Any) -> bool:
    """Whether hyperparameters, state and what the optimizer is `decided_by` tell all that its update does."""
    update = inspect.getattr_static(optimizer, "update")
    parts = [optimizer.update, *[getattr(optimizer, name) for name in ("_updated", "_new_values", "_followed")]]
    ours = [getattr(part, "__module__", "").partition(".")[0] == __package__ for part in parts]
    return isinstance(update, staticmethod) and all(ours)


class _Numbers:
    """Hyperparameters and state as arguments of a program, and all else that it depends on.

    Attributes
    ----------
    arrays : list of array
    kinds : list of int
        For each variable which hyperparameters are its own.
    """

    def __init__(self, hypers: list[SimpleNamespace], state: SimpleNamespace) -> None:
        ids = [*map(id, hypers)]
        spaces = [*dict(zip(ids, hypers, strict=True)).values(), state]
        place = {id(space): i for i, space in enumerate(spaces)}
        self.kinds = [*map(place.__getitem__, ids)]
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
        return (*facts, *self.kinds, *[(a.shape, a.dtype) for a in self.arrays])

    def symbolic(self, symbols: Sequence[Any], kind: int) -> tuple[SimpleNamespace, SimpleNamespace]:
        """Hyperparameters of a kind and the state, with symbols in place of the arrays."""
        left = iter(symbols)
        spaces = [
            SimpleNamespace(**{n: next(left) if type(x) is EagerTensor else x for n, x in items})
            for items in self._items
        ]
        return spaces[kind], spaces[-1]


class _Rule:
    """The update of variables of one kind: a function of the gradient, the value, the slots and all numbers.

    Attributes
    ----------
    changed : list of str
        The slots that it gives new values.
    constants : list of array
        Its further arguments, see `key`.
    """

    def __init__(self, optimizer: Any, variable: Variable, slots: dict[str, Variable], numbers: _Numbers, kind: int):
        body = Body()
        operands = [body.placeholder(Aval(v._shape, v.dtype)) for v in (variable, variable, *slots.values())]
        symbols = [body.placeholder(aval_of_array(array)) for array in numbers.arrays]
        with paused():
            gradient, value, *kept = operands
            hyper, state = numbers.symbolic(symbols, kind)
            new, changed = optimizer._new_values(gradient, value, dict(zip(slots, kept, strict=True)), hyper, state)
        for each, x in [(variable, new), *[(slots[name], x) for name, x in changed.items()]]:
            require_fit(x, each, "the new value computed for")
        self._operands, self._symbols = operands, symbols
        self._results, self.changed = [body.operand(x) for x in (new, *changed.values())], [*changed]
        self._nodes = needed_nodes(body.nodes, self._results, {id(x) for x in (*operands, *symbols)})
        self._body, self._lifted = body, list[Symbol]()
        self.constants: list[np.ndarray] = []

    def parts(self) -> tuple[ClosedFunction, ClosedFunction]:
        """The function of numbers alone, once for all variables; and that of its results and a variable's own."""
        own = set(map(id, self._operands))
        for node in self._nodes:
            if not own.isdisjoint(map(id, node.inputs)):
                own.update(map(id, node.outputs))
        used = [*[x for n in self._nodes if not own.isdisjoint(map(id, n.outputs)) for x in n.inputs], *self._results]
        common = [*{id(x): x for x in used if id(x) not in own}.values()]
        shared = ClosedFunction(self._body, [*self._symbols, *self._lifted], common)
        return shared, ClosedFunction(self._body, [*self._operands, *common], self._results)

    def key(self) -> tuple[Any, ...]:
        """The key that tells it from other rules; its real and complex constants become arguments.

        Raises
        ------
        TypeError
            If another rule may do something else all the same.
        """
        places = {id(x): i for i, x in enumerate((*self._operands, *self._symbols))}
        parts: list[Any] = [*self.changed]
        for node in self._nodes:
            if node.op is constant:
                array = np.asarray(node.params["value"])
                is_number = array.dtype.kind in "fc"
                if is_number and array.ndim == 0:
                    self._lifted.append(node.outputs[0])
                    self.constants.append(array)
                    parts.append(array.dtype)
                elif not is_number and array.size <= _FEW:
                    parts.append((array.dtype, array.shape, array.tobytes()))
                else:
                    raise TypeError("an array may be another one each time")
            elif node.op is not placeholder:
                if node.op.stateful:
                    raise TypeError(f"{node.op.name} may give something else each time")
                params = [(name, distinct(param)) for name, param in node.params.items()]
                parts.append((node.op, *[places[id(x)] for x in node.inputs], *params))
            for out in node.outputs:
                places.setdefault(id(out), len(places))
        return *parts, *[places[id(x)] for x in self._results]


class _Builder:
    """The trace of a step, with what it takes."""

    def __init__(self) -> None:
        self.trace = Trace()
        self.parameters: list[Symbol] = []
        self.orders: list[Order] = []
        self.handles: dict[int, Symbol] = {}
        self.variables: dict[int, Variable] = {}

    def parameter(self, array: Any, order: Order = Order.UNKNOWN) -> Any:
        """A parameter for an array, or what computes a deferred one from parameters."""
        if type(array) is DeferredArray:
            return array.product.of([self.parameter(factor, Order.CONTIGUOUS) for factor in array.factors])
        self.parameters.append(self.trace.placeholder(Aval(array.shape, BY_NUMPY[array.dtype])))
        self.orders.append(order)
        return self.parameters[-1]

    def handle(self, variable: Variable) -> Symbol:
        """The handle of a variable."""
        if id(variable) not in self.handles:
            params = {"aval": variable.aval, "default": None}
            (handle,) = self.trace.append(variable_handle, (), params, (variable.aval,))
            self.handles[id(variable)], self.variables[id(handle)] = handle, variable
        return self.handles[id(variable)]

    def read(self, variable: Variable) -> Any:
        """The value of a variable before the step."""
        return self.trace.append(read_variable, (self.handle(variable),), {}, (variable.aval,))[0]

    def assign(self, variable: Variable, value: Any) -> None:
        """Give a variable a new value."""
        self.trace.apply(assign_variable, (self.handle(variable), self.trace.operand(value)), {})


def _closed(
    optimizer: Any,
    pairs: Sequence[Pair],
    slots: Sequence[dict[str, Variable]],
    rules: Sequence[_Rule],
    numbers: _Numbers,
    others: Sequence[Change],
) -> ClosedFunction:
    """The closed function of a step: a rule for each of the pairs, and some other changes."""
    step = _Builder()
    with paused():
        gradients = [step.parameter(g._array) for g, _ in pairs]
        symbols = [step.parameter(array) for array in numbers.arrays]
        assigned = [(v, step.parameter(new._array)) for v, new in others]
        parts = {}
        for rule in dict.fromkeys(rules):
            shared, each = rule.parts()
            common = shared.inline(step.trace, [*symbols, *map(step.parameter, rule.constants)])
            parts[rule] = each, common
        changes: list[Change] = []
        for gradient, (_, variable), own, rule in zip(gradients, pairs, slots, rules, strict=True):
            each, common = parts[rule]
            operands = [gradient, *map(step.read, [variable, *own.values()]), *common]
            of = {id(p): x for p, x in zip(each.parameters, operands, strict=True)}
            instantiate(each.nodes, of, like(step.trace))
            results = [of[id(x)] for x in each.results]
            changes += zip([variable, *[own[name] for name in rule.changed]], results, strict=True)
        _, state = numbers.symbolic(symbols, 0)
        for variable, value in [*optimizer._followed(changes, state, step.read), *assigned]:
            step.assign(variable, value)
    function = ClosedFunction(
        step.trace,
        step.parameters,
        [],
        step.trace.nodes,
        store=EagerState(step.variables),
        orders=step.orders,
        fold_limit=_FOLD_LIMIT,
    )
    function.program  # noqa: B018 - made now, as long as there is another way
    return function
