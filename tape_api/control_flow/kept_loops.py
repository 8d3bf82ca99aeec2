"""Loops on a tape as one op: what Python would run step by step, where nobody can tell the difference.

The functions of a loop are called once with symbols, as they are while a function is recorded (`functions.tracing`).
Where it is known what they see (`engine.core.python_state`) and they only compute, the op that comes of it is kept, and
applied to other tensors and variables in the places where they have theirs. Python runs all else, and the first steps.
"""

from __future__ import annotations

import dis
from collections.abc import Callable, Sequence
from itertools import pairwise
from types import CodeType, FunctionType
from typing import Any, TypeVar

import numpy as np

from dualgrad.autograph.operators import Operators
from engine.closed.call_record import Untraceable, are_plain
from engine.closed.function import ClosedFunction
from engine.control.cond import cond_op
from engine.control.scan_loop import grown
from engine.core import nest
from engine.core.aval import Aval
from engine.core.batching import open_levels
from engine.core.eager import EagerTensor, wrap
from engine.core.instantiate import instantiate
from engine.core.op import Node
from engine.core.python_state import PLAIN, Look, Unknown, is_ours
from engine.core.tape import active, record, unrecorded
from engine.core.trace import constant, placeholder
from engine.core.value import Value, address
from engine.core.variable import Variable, assign_variable, read_variable
from engine.runtime.cache import Cache, cached
from tape_api.functions.tracing import FlowTensor, FlowTrace, on_values
from tape_api.random import is_inside
from tape_api.tensor import convert_to_tensor

T = TypeVar("T")

_TELLING = frozenset({"type", "isinstance", "issubclass", "hasattr", "getattr", "id", "ref", "callable", "dir", "hash"})
"""Names of functions whose answers may differ between tensors and symbols."""
FEW = 3
"""Loops of fewer steps take Python no longer."""
_ENOUGH = 100
"""Steps that Python runs before a loop becomes an op: making it takes as long as some hundred of them."""
_KEPT = 8
"""Forms in which one loop is kept."""
_LARGE, _SMALL = 1 << 30, 1 << 4
"""Integers of Python up to which a loop variable, and a number added to it, are those of an op, of 32 bits."""


class _Site:
    """A loop in the program: the steps that Python has run, and in which forms it is kept, or cannot be."""

    def __init__(self, codes: Sequence[Any]) -> None:
        self.codes, self.steps = codes, 0
        self.kept: list[tuple[Any, Any, _Kept | None]] = []


_sites: Cache[Any, _Site] = Cache(
    "loops on tapes", 256, key="code of its functions, options; all that they see; structure, shapes, dtypes"
)


class Loop:
    """A loop that may become an op.

    ``build(symbols, are_numbers)`` adds it to the trace that records, for symbols in place of what is given; by leaf,
    which of them Python has as numbers.

    Attributes
    ----------
    due : int
        After so many steps in Python it is time to ask for the op; -1 if there is none.
    """

    def __init__(self, how: tuple[Any, ...], functions: Sequence[Any], build: Callable[[Any, Any], Any]) -> None:
        self.due, self._functions, self._build = -1, functions, build
        around = active.function is not None or active.instead is not None or is_inside() or open_levels()
        if around or not functions or not are_plain(active.tapes):
            return
        codes = [code for f in functions for code in _codes(f)]
        key = (*how, *map(id, codes))
        self._site = site = _sites.get(key) or _sites.put(key, _Site(codes))
        if any(kept for *_, kept in site.kept):
            self.due = 0
        elif len(site.kept) < _KEPT and not any(form is None for form, *_ in site.kept):
            self.due = max(_ENOUGH - site.steps, 0)

    def ran(self, steps: int) -> None:
        """Note that Python has run some steps."""
        if self.due > 0 and steps >= FEW:
            self._site.steps += steps

    def __call__(self, given: Any) -> Any:
        """The loop as an op for what it is given, which has at least one step; None if Python has to run it."""
        leaves, kept = nest.flatten(given), self._site.kept
        form: Any = _form(given)
        if form is None:
            self.due += 1  # a step may make tensors of numbers
            return None
        try:
            seen: Any = Reached(*self._functions)
        except Unknown:
            form = seen = None
        does = seen and seen.does
        place = next((i for i, (like, same, _) in enumerate(kept) if like == form and same == does), len(kept))
        if place == len(kept):
            if place >= _KEPT:
                return None
            kept.append((form, does, seen and seen.tried(lambda: _Kept(self._build, given, leaves, seen))))
        found = kept[place][2]
        if found is None or not found.fits(leaves, seen):
            return None
        try:
            result = found(leaves, seen)
        except Exception:  # noqa: BLE001 - Python raises what it has to, at the line of the program
            kept[place] = form, does, None
            return None
        # where values are not finite, an op may have 0 for a derivative that is NaN
        numbers = [x._array for x in nest.flatten(result) if x.dtype.is_differentiable]
        return result if not active.tapes or all(np.isfinite(x).all() for x in numbers) else None


class Reached(Look):
    """A look at functions that may be called once with symbols in place of the tensors and variables that they see.

    `does` says nothing of these but what they are like: others in their places, `tensors` and `variables` in the order
    in which they are met, make no other program. Unknown is raised, too, where a symbol might be told from a tensor.
    """

    def __init__(self, *seen: Any) -> None:
        super().__init__()
        self.tensors: list[EagerTensor] = []
        self.does = [self.at(x) for x in seen]

    def at(self, x: Any) -> Any:
        """As above."""
        kind = type(x)
        if kind in PLAIN or kind is FunctionType or id(x) in self.met:
            return super().at(x)
        if "python_function" in getattr(x, "__dict__", ()) and is_ours(kind.__module__):
            return kind, x.autograph, str(x.input_signature), self.at(x.python_function)
        is_variable = isinstance(x, Variable)
        if kind is not EagerTensor and not is_variable:
            return super().at(x)
        if getattr(x, "__dict__", None) or (is_variable and not x.aval.is_static):
            raise Unknown
        self.met[id(x)] = len(self.met), x
        if not is_variable:
            self.tensors.append(x)
            return EagerTensor, x._array.shape, x._array.dtype
        self.variables.append(x)
        return kind, x.aval.shape, x.dtype, x.trainable, x.name

    def _function(self, f: FunctionType, assigns: bool = False) -> Any:
        if not is_ours(f.__globals__.get("__name__") or "") and _tells_symbols(f.__code__):
            raise Unknown
        return super()._function(f, assigns)

    def tried(self, make: Callable[[], T]) -> T | None:
        """The result of `make`, which calls the functions with symbols; None if it raises: Python can run them."""
        try:
            return make()
        except Exception:  # noqa: BLE001 - whatever it is, Python raises what it has to at its line
            return None
        finally:
            self._restore()

    def _restore(self) -> None:
        """Give containers and arrays the contents that they had."""
        for x, _, items in self.containers:
            if type(x) is list:
                x[:] = items
            else:
                x.clear()
                half = len(items) // 2
                x.update(items if type(x) is set else zip(items[:half], items[half:], strict=True))
        for array, dtype, shape, _, held in self.arrays:
            if array.flags.writeable:
                array[...] = np.frombuffer(bytes(held), dtype).reshape(shape)


class Stepping(Reached):
    """The same for a step of a loop in a function, which knows itself which tensors differ from call to call."""

    def __init__(self, body: FunctionType) -> None:
        super().__init__()
        self._function(body, assigns=True)

    def at(self, x: Any) -> Any:
        """As above."""
        return None if isinstance(x, (Value, Operators)) else super().at(x)

    def is_kept(self, trace: FlowTrace, leaves: Sequence[Any]) -> bool:
        """Whether a loop does to numbers what its steps do one by one, and nothing else.

        Each of its variables is one that the next step needs, and all that has a derivative is connected with all.
        """
        (loop,) = [node for node in trace.needed_for(leaves) if "body" in node.params]
        body, live = loop.params["body"], [i for i, x in enumerate(loop.outputs) if x.dtype.is_differentiable]
        reached = {_reached(x, [loop], leaves) for x in loop.inputs if x.dtype.is_differentiable}
        assigns = any(node.op is assign_variable for node in trace.nodes)
        plain = not (trace.draws or trace.made_variables or assigns or _chooses(body))
        return plain and self.holds() and all(i in body.reached([i]) for i in live) and reached <= {frozenset(live)}


@cached(1024)
def _tells_symbols(code: CodeType) -> bool:
    """Whether code catches errors, or asks for what a symbol might answer otherwise than a tensor."""
    if not _TELLING.isdisjoint(code.co_names):
        return True
    names = [step.opname for step in dis.get_instructions(code)]
    catches = any(a == "PUSH_EXC_INFO" and b != "WITH_EXCEPT_START" for a, b in pairwise(names))
    return catches or any(_tells_symbols(c) for c in code.co_consts if isinstance(c, CodeType))


class _Trace(FlowTrace):
    """The trace of a loop, of which the tensors that its functions see are operands."""

    def __init__(self, seen: Sequence[Any]) -> None:
        super().__init__()
        self._seen, self._around = set(map(id, seen)), active.tapes

    def _is_given(self, x: EagerTensor) -> bool:
        """Whether it is one of them."""
        if id(x) not in self._seen and any(tape.knows(x) for tape in self._around):
            raise Untraceable("a tape follows a tensor that is not known to be seen")
        return id(x) in self._seen

    def forget(self) -> None:
        """Let go of the tapes, too."""
        super().forget()
        self._around = ()


class Count(FlowTensor):
    """In place of an integer of Python, which has no dtype: so it can be counted with and compared, not more."""

    __slots__ = ()
    __array_ufunc__ = __array_function__ = None

    def __format__(self, spec: str = "") -> str:
        raise Untraceable("Python has a number to show")

    __repr__ = __str__ = __format__


def _counting(name: str) -> Callable[..., Any]:
    of_tensors = getattr(FlowTensor, name)

    def operator(self: Any, *other: Any) -> Any:
        steps = type(other[0]) is int and abs(other[0]) <= _SMALL if other else False
        if name[-5:-2] not in ("add", "sub") or not (steps or isinstance(other[0], Value)):
            raise Untraceable("Python may compute otherwise with its integers")
        made = of_tensors(self, *other)
        if steps:
            made.__class__ = Count
        return made

    return operator


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "neg", "abs", "invert"):
    for _side in ("", "r") if hasattr(FlowTensor, f"__r{_name}__") else ("",):
        setattr(Count, f"__{_side}{_name}__", _counting(f"__{_side}{_name}__"))


class _Kept:
    """A loop that has been traced: nodes, which take values `given` and those in some places around the functions."""

    def __init__(self, build: Callable[[Any, Any], Any], given: Any, leaves: Sequence[Any], seen: Reached) -> None:
        trace = _Trace(seen.tensors)
        tensors = list(map(convert_to_tensor, leaves))
        with trace.capturing():
            self._given = [trace.placeholder(Aval(x._shape, x.dtype)) for x in tensors]
            self._result = build(nest.pack_sequence_as(given, self._given), [type(x) is int for x in leaves])
        if trace.draws or trace.made_variables or not seen.holds():
            raise Untraceable("it does more than to compute")
        self._leaves = nest.flatten(self._result)
        trace.require_in_reach("the loop returns", self._leaves)
        nodes = trace.needed_for(self._leaves)
        places = {id(x): i for i, x in enumerate((*seen.tensors, *seen.variables))}
        taken = [pair for pair in trace._captured.values() if pair[1].node.op is placeholder]
        taken += trace._handles.values()
        self._places = [places[id(x)] for x, _ in taken]
        self._given += [symbol for _, symbol in taken]
        known = set(map(id, self._given))
        nodes = [node for node in nodes if not node.outputs or id(node.outputs[0]) not in known]
        self._reach = [_reached(x, nodes, self._leaves) for x in self._given]
        self._assigns = any(node.op is assign_variable for node in nodes)
        # what assigns runs node by node; else one program gives the results of all nodes
        first = [node for node in nodes if self._assigns or node.op is read_variable]
        self._first, self._nodes = first, [node for node in nodes if node not in first and node.op is not constant]
        self._constants = {id(n.outputs[0]): EagerTensor(n.params["value"]) for n in nodes if n.op is constant}
        self._made = [x for node in self._nodes for x in node.outputs]
        self._taken = [*[x for x in self._given if x.node.op is placeholder], *[n.outputs[0] for n in first]]
        self._program = ClosedFunction(trace, self._taken, self._made, [n for n in nodes if n not in first])
        trace.forget()

    def _values(self, leaves: Sequence[Any], seen: Reached) -> list[Any]:
        around = (*seen.tensors, *seen.variables)
        return [*leaves, *[around[place] for place in self._places]]

    def fits(self, leaves: Sequence[Any], seen: Reached) -> bool:
        """Whether tapes that record now find the same values connected as if Python ran the loop."""
        if not active.tapes:
            return True
        followed = {r for x, r in zip(self._values(leaves, seen), self._reach, strict=True) if _is_followed(x)}
        return not self._assigns and len(followed) <= 1 and None not in followed

    def __call__(self, leaves: Sequence[Any], seen: Reached) -> Any:
        """Apply it."""
        values = [EagerTensor(np.int32(x)) if type(x) is int else x for x in self._values(leaves, seen)]
        of = instantiate(self._first, dict(zip(map(id, self._given), values, strict=True)) | self._constants, on_values)
        if self._nodes:
            arrays = unrecorded(self._program.execute, [of[id(x)]._array for x in self._taken])
            of.update(zip(map(id, self._made), map(wrap, arrays), strict=True))
        for node in self._nodes if active.tapes else ():
            outs = tuple([of[id(x)] for x in node.outputs])
            record(node.op, tuple([of[id(x)] for x in node.inputs]), node.params, outs if node.op.multi else outs[0])
        return nest.pack_sequence_as(self._result, [of[id(x)] for x in self._leaves])


def _codes(f: Any) -> list[Any]:
    """The code that tells functions apart; of ours, also of those that they were given."""
    if not isinstance(f, FunctionType):
        return [type(f)]
    is_ours = (f.__globals__.get("__name__") or "").startswith("tape_api.")
    inner = [cell.cell_contents for cell in f.__closure__ or ()] if is_ours else []
    return [f.__code__, *[code for g in inner for code in _codes(g)]]


def _form(given: Any) -> Any:
    """Structure, shapes and dtypes; None if there is more than tensors, and integers that are counted with."""
    if type(given) in (tuple, list, dict):
        is_dict = type(given) is dict
        inner = [_form(x) for x in (given.values() if is_dict else given)]
        return None if None in inner else (type(given), *(given if is_dict else ()), *inner)
    if type(given) is EagerTensor:
        return given._array.shape, given.dtype
    return int if type(given) is int and abs(given) < _LARGE else None


def _is_followed(x: Any) -> bool:
    """Whether a tape follows a value, or will follow what is read of a variable."""
    reads = isinstance(x, Variable) and x.trainable
    return any(address(x) in tape.tracked or (reads and tape.watch_accessed_variables) for tape in active.tapes)


def _reached(x: Any, nodes: Sequence[Node], leaves: Sequence[Any]) -> frozenset[int] | None:
    """The numbers of the leaves that have a derivative by a symbol; None if that depends on choices of the loop."""
    live = {id(x)}
    for node in nodes:
        taken = {i for i, y in enumerate(node.inputs) if id(y) in live}
        taken = taken if node.op is read_variable else set(filter(node.carries, taken))
        body: Any = node.params.get("body")
        if taken and body is None:
            live.update(map(id, node.outputs))
        elif taken and _chooses(body):
            return None
        elif taken:
            count = node.params["count"] if "count" in node.params else node.params["carries"]
            found = grown(taken, lambda s: {r for r in body.reached(s) if r < count})  # noqa: B023
            live.update([id(node.outputs[r]) for r in body.reached(found)])
    return frozenset(i for i, leaf in enumerate(leaves) if id(leaf) in live)


def _chooses(body: ClosedFunction) -> bool:
    """Whether there is a choice in it: to a tape, a branch that is not taken is not connected."""
    inner = [p for node in body.nodes for p in node.params.values() if isinstance(p, ClosedFunction)]
    return any(node.op is cond_op for node in body.nodes) or any(map(_chooses, inner))
