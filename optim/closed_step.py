"""Steps on eager variables as closed functions, which read variables, run, and write new values in one step.

In a graph a step is a number of assignments, which a session compiles with all else that it is asked for. On eager
variables `ClosedStep` makes the same of them: the optimizer's `update` is applied to symbols, once for all that it
depends on, and its results are assigned to the handles of variables and slots. From then on a program runs, with
gradients and hyperparameters as arguments. That large variables are updated where they lie, many small ones together,
and gradients that are products only then, is the compiler's doing (`engine.compiler.updates`). The bits are those of
the ops.

What has no program is done op by op (`Optimizer._changes`), and its new values are written in the same moment:

- the first steps of a few small variables: their program costs as much as some steps;
- gradients that consist of rows: there may be another number of them in each step;
- a variable with a constraint, or given twice, and a few small ones whose update users wrote, which may be another one
  each time. Large ones and many are traced in each step, and their program is looked up by what was traced.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from engine.closed.function import ClosedFunction
from engine.compiler.eager_state import EagerState
from engine.compiler.ir.layout import Order
from engine.compiler.updates import deferred_updates
from engine.compiler.updates.deferred_updates import DeferredArray
from engine.core.aval import Aval, aval_of_array
from engine.core.eager import EagerTensor
from engine.core.instantiate import like
from engine.core.op import Node, distinct
from engine.core.tape import paused
from engine.core.trace import Symbol, Trace, constant, placeholder
from engine.core.variable import Variable, assign_variable, read_variable, variable_handle
from engine.runtime.commit import in_order
from engine.runtime.tuning import TUNING
from optim.pairs import Change, Pair, require_fit
from optim.slots import assign_all

AFTER: float = TUNING.update_steps
"""Steps that are made op by op before it is worth while to make a program for a few small variables."""
_FOLD_LIMIT = TUNING.fold_update_bytes
_MOST = 8
"""Programs that are kept for the same variables."""
_MOST_STEPS = 4
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
        self._functions: dict[Any, ClosedFunction | None] = {}
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
        self._is_worth = self.has_large or len(self.inside) >= deferred_updates.MANY

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[()]]:
        # it is made again where it is needed
        return _no_step, ()

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
        if self.inside and (self._is_worth or self._steps > AFTER):
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
        if self._is_pure and key in self._functions:
            return self._functions[key], arguments
        function = None
        try:
            traced = _Traced(self, optimizer, pairs, numbers)
            if not self._is_pure:
                key = *key, traced.structure(arguments)
            if key in self._functions:
                return self._functions[key], arguments
            function = traced.closed(others)
            function.program  # noqa: B018 - made now, as long as there is another way
        except Exception:  # noqa: BLE001 - the step is made op by op, which raises what it has to
            function = None
        if len(self._functions) >= _MOST:
            self._functions.clear()
        self._functions[key] = function
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
    steps: dict[Any, ClosedStep | None] = optimizer._steps
    step = steps.get(key)
    if step is not None and step.keeps_slots(optimizer):
        return step
    if not make or isinstance(variables[0].handle, Symbol):
        return None
    step = ClosedStep(optimizer, pairs)
    for oldest in list(steps)[: len(steps) + 1 - _MOST_STEPS]:
        steps.pop(oldest, None)
    steps[key] = step
    return step


def computed(pairs: Iterable[Pair]) -> list[Pair]:
    """Pairs with gradients that are there: those that were deferred are computed now."""
    return [(EagerTensor(g._array.computed()), v) if _is_deferred(g) else (g, v) for g, v in pairs]


def _is_deferred(gradient: Any) -> bool:
    return type(gradient) is EagerTensor and type(gradient._array) is DeferredArray


def _is_constrained(variable: Variable) -> bool:
    return getattr(variable, "constraint", None) is not None


def _no_step() -> None:
    return None


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

    def symbolic(self, parameter: Callable[[Any], Any]) -> tuple[list[SimpleNamespace], SimpleNamespace]:
        """The hyperparameters of each variable and the state, with parameters for tensors."""
        *spaces, state = [
            SimpleNamespace(**{n: parameter(x._array) if type(x) is EagerTensor else x for n, x in items})
            for items in self._items
        ]
        return [spaces[i] for i in self.kinds], state


class _Rule(NamedTuple):
    """An update that was made with symbols.

    Attributes
    ----------
    operands : list of Symbol
        The gradient, the variable's value and those of its slots.
    results : list of value
    names : list of str
        Of the slots that all results but the first are for.
    nodes : list of Node
    """

    operands: list[Any]
    results: list[Any]
    names: list[str]
    nodes: list[Node]


class _Traced:
    """A step made with symbols: the update of one variable of each kind, and in the end those of all."""

    def __init__(self, step: ClosedStep, optimizer: Any, pairs: Sequence[Pair], numbers: _Numbers) -> None:
        self._optimizer, self._pairs = optimizer, pairs
        self._slots = [step.slots[i] for i in step.inside]
        self._trace = Trace()
        self._handles: dict[int, tuple[Symbol, Variable]] = {}
        self._orders: dict[int, Order] = {}
        self._lifted: list[Symbol] = []
        self._operands: dict[int, tuple[list[Symbol], list[Any]]] = {}
        self._rules: dict[Any, _Rule] = {}
        with paused():
            self._numbers: list[Symbol] = []
            hypers, self._state = numbers.symbolic(self._number)
            self._kinds = [*zip(step.forms, numbers.kinds, strict=True)]
            for i, (kind, hyper) in enumerate(zip(self._kinds, hypers, strict=True)):
                if kind not in self._rules:
                    self._rules[kind] = self._rule(i, hyper)

    def _rule(self, i: int, hyper: SimpleNamespace) -> _Rule:
        variable, slots = self._pairs[i][1], self._slots[i]
        gradient, value, *kept = operands = self._operands_of(i)
        first = len(self._trace.nodes)
        of_slots = dict(zip(slots, kept, strict=True))
        new, changed = self._optimizer._new_values(gradient, value, of_slots, hyper, self._state)
        for each, x in [(variable, new), *[(slots[name], x) for name, x in changed.items()]]:
            require_fit(x, each, "the new value computed for")
        return _Rule(operands, [new, *changed.values()], list(changed), self._trace.nodes[first:])

    def _operands_of(self, i: int) -> list[Any]:
        """The gradient of a variable, its value and those of its slots."""
        if i not in self._operands:
            (gradient, variable), slots = self._pairs[i], self._slots[i]
            array = gradient._array
            if type(array) is DeferredArray:
                taken = [self._parameter(factor, Order.CONTIGUOUS) for factor in array.factors]
                value = array.product.of(taken)
            else:
                taken = [value] = [self._parameter(array)]
            self._operands[i] = taken, [value, *map(self._read, [variable, *slots.values()])]
        return self._operands[i][1]

    def _changes(self, i: int) -> list[Change]:
        """A variable and its slots with new values: those of the rule of its kind, for its own operands."""
        rule = self._rules[self._kinds[i]]
        of = {id(x): own for x, own in zip(rule.operands, self._operands_of(i), strict=True) if own is not x}
        make = like(self._trace)
        for node in rule.nodes if of else ():
            if any(id(x) in of for x in node.inputs):
                outputs = make(node, tuple([of.get(id(x), x) for x in node.inputs]))
                of.update(zip(map(id, node.outputs), outputs, strict=True))
        variables = [self._pairs[i][1], *[self._slots[i][name] for name in rule.names]]
        return [(v, of.get(id(x), x)) for v, x in zip(variables, rule.results, strict=True)]

    def _parameter(self, array: Any, order: Order = Order.UNKNOWN) -> Symbol:
        symbol = self._trace.placeholder(aval_of_array(array))
        self._orders[id(symbol)] = order
        return symbol

    def _number(self, array: Any) -> Symbol:
        self._numbers.append(self._parameter(array))
        return self._numbers[-1]

    def _handle(self, variable: Variable) -> Symbol:
        if id(variable) not in self._handles:
            params = {"aval": variable.aval, "default": None}
            (handle,) = self._trace.append(variable_handle, (), params, (variable.aval,))
            self._handles[id(variable)] = handle, variable
        return self._handles[id(variable)][0]

    def _read(self, variable: Variable) -> Any:
        (value,) = self._trace.append(read_variable, (self._handle(variable),), {}, (variable.aval,))
        return value

    def structure(self, arguments: list[Any]) -> tuple[Any, ...]:
        """The key that tells the rules from others; their real and complex numbers become further `arguments`.

        Raises
        ------
        TypeError
            If another step may do something else all the same.
        """
        places: dict[int, int] = {}
        parts: list[Any] = []
        for node in self._trace.nodes:
            if node.op is constant:
                array = np.asarray(node.params["value"])
                is_number = array.dtype.kind in "fc"
                if is_number and array.ndim == 0:
                    self._lifted.append(node.outputs[0])
                    arguments.append(array)
                    parts.append(array.dtype)
                elif not is_number and array.size <= _FEW:
                    parts.append((array.dtype, array.shape, array.tobytes()))
                else:
                    raise TypeError("an array may be another one each time")
            elif node.op is not placeholder and node.op is not variable_handle:
                if node.op.stateful:
                    raise TypeError(f"{node.op.name} may give something else each time")
                params = [(name, distinct(param)) for name, param in node.params.items()]
                parts.append((node.op, *[places[id(x)] for x in node.inputs], *params))
            for out in node.outputs:
                places[id(out)] = len(places)
        results = [places[id(self._trace.operand(x))] for rule in self._rules.values() for x in rule.results]
        return *parts, *results, *[name for rule in self._rules.values() for name in rule.names]

    def closed(self, others: Sequence[Change]) -> ClosedFunction:
        """The closed function of the step, and of some other changes."""
        with paused():
            changes = [change for i in range(len(self._pairs)) for change in self._changes(i)]
            changes = self._optimizer._followed(changes, self._state, self._read)
            assigned = [(v, self._parameter(new._array)) for v, new in others]
            for variable, value in [*changes, *assigned]:
                self._trace.apply(assign_variable, (self._handle(variable), self._trace.operand(value)), {})
        gradients = [x for i in range(len(self._pairs)) for x in self._operands[i][0]]
        parameters = [*gradients, *self._numbers, *[x for _, x in assigned], *self._lifted]
        return ClosedFunction(
            self._trace,
            parameters,
            [],
            self._trace.nodes,
            avals=[Aval(x.aval.shape, x.aval.dtype) for x in parameters],
            store=EagerState({id(handle): variable for handle, variable in self._handles.values()}),
            orders=[self._orders.get(id(x), Order.CONTIGUOUS) for x in parameters],
            fold_limit=_FOLD_LIMIT,
        )
