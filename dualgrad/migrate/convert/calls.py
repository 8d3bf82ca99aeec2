"""Calls of public functions that make several nodes, as the one call that they were.

`noting` keeps what a program gives to the functions of `graph_api` and what it gets. `spelled` finds the call of
`tape_api` that makes the same nodes: as in `spelling`, it is tried on symbols, and counts only if it makes the same
ops, with the same parameters, of the same operands, in the same order.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from dualgrad.migrate.convert.adapters import Inner, Named, Ref, Slices
from dualgrad.migrate.convert.literals import bits, data
from dualgrad.migrate.convert.spelling import PYTHON_CALLS, Spelling, call, same_node
from dualgrad.migrate.convert.spelling import spelled as spelled_node
from dualgrad.sparse.sparse_tensor import SparseTensor
from engine.core.aval import Aval
from engine.core.dtypes import DType, int64
from engine.core.expand_axes import expand_dims_op
from engine.core.trace import Symbol, Trace, constant
from engine.core.variable import Variable, read_variable
from engine.ops.checked import checked_op
from engine.ops.indexed_slices import IndexedSlices
from engine.ops.shape import stop_gradient
from graph_api.convert import default_input

_RENAMED = {"keep_dims": "keepdims", "reduction_indices": "axis", "dim": "axis", "squeeze_dims": "axis"}
_LEFT_OUT = frozenset({"name", "scope", "loss_collection"})
_NAMESPACES = ("", "nn.", "math.", "linalg.", "image.", "losses.", "sparse.")


@dataclass(eq=False)
class Written:
    """A call as it can be written.

    Attributes
    ----------
    spelling : Spelling
        With a `Ref` for each operand.
    operands : list of tensor
        In the order in which they are written.
    nodes : list of Node
        What the call makes.
    """

    spelling: Spelling
    operands: list[Any]
    nodes: list[Any] = field(default_factory=list)


_OF_LAYERS = ("batch_normalization", "moments")
"""Functions that layers call, and that are public."""
_EAGER_SESSIONS = "tape_api.legacy.version1_sessions"
"""Functions that are there for programs in TensorFlow 1's eager mode, which nobody would write anew."""

# ---- noting ----------------------------------------------------------------------------------------------------------


@functools.lru_cache(16)
def _public(named: frozenset[str] | None) -> list[tuple[Any, str, Any, str]]:
    """The functions of some names that both front ends have: module, name, function, and where `tape_api` has it."""
    layers = import_module("dualgrad.keras.functions")
    public = [(layers, name, getattr(layers, name), f"nn.{name}") for name in _OF_LAYERS]
    for prefix in _NAMESPACES:
        module = _reached("graph_api", prefix.removesuffix("."))
        names = dir(module) if isinstance(module, ModuleType) else ()
        for name in names if named is None else named.intersection(names):  # looking one up loads the module it is in
            function = getattr(module, name, None)
            places = [f"compat.v1.{prefix}{name}", *([] if prefix == "losses." else [f"{prefix}{name}"])]
            place = next((p for p in reversed(places) if callable(_reached("tape_api", p))), None)
            if place is None or _reached("tape_api", place).__module__ == _EAGER_SESSIONS:
                continue
            if isinstance(function, FunctionType) and not name.startswith("_"):
                public.append((module, name, function, place))
    return public


def _reached(module: str, path: str) -> Any:
    try:
        return operator.attrgetter(path)(import_module(module)) if path else import_module(module)
    except AttributeError:
        return None


@contextmanager
def noting(
    note: Callable[[str, Any, tuple[Any, ...], dict[str, Any]], Any], named: frozenset[str] | None = None
) -> Iterator[None]:
    """Have calls of public functions made by `note`: of the place in `tape_api`, the function and its arguments.

    Of all functions, or of those with some names.
    """

    def wrapper(function: Any, place: str) -> Callable[..., Any]:
        @functools.wraps(function)
        def noted(*args: Any, **kwargs: Any) -> Any:
            return note(place, function, args, kwargs)

        return noted

    wrappers: dict[int, Any] = {}
    for module, name, function, place in _public(named):
        wrappers.setdefault(id(function), wrapper(function, place))
        setattr(module, name, wrappers[id(function)])
    try:
        yield
    finally:
        for module, name, function, _ in _public(named):
            setattr(module, name, function)


# ---- spelling --------------------------------------------------------------------------------------------------------


def leaves(result: Any) -> list[Any]:
    """The tensors and gradients of rows that a function gives, lists among them opened."""
    if isinstance(result, (list, tuple)):
        return [leaf for x in result for leaf in leaves(x)]
    return [result]


def spelled(path: str, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any) -> Written | None:
    """The call that makes what a function gave; None if there is none, or if it is no more than one node."""
    wanted = [p for x in leaves(result) for p in _parts(x)]
    if not wanted or not all(isinstance(x, Symbol) for x in wanted):
        return None
    operands: list[Any] = []
    try:
        plain = [_plain(a, operands) for a in args]
        named = {k: _plain(v, operands) for k, v in kwargs.items() if k not in _LEFT_OUT}
    except TypeError:
        return None
    for renamed in (named, {_RENAMED.get(k, k): v for k, v in named.items()}):
        written = _tried(Spelling(path, tuple(plain), renamed), operands, wanted, isinstance(result, IndexedSlices))
        if written is not None:
            return written
    return None


def whole(
    place: str, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any, nodes: Sequence[Any],
    known: Sequence[Any] = (),
) -> Written | None:  # fmt: skip
    """The call of a function that both front ends have, for nodes of which some have no spelling of their own.

    It counts if it makes as many tensors, of the same dtypes and shapes; that their bits are the same, only comparing
    tells.

    Parameters
    ----------
    place, args, kwargs, result
        Of the call.
    nodes : sequence of Node
        What it added to the graph.
    known : sequence of Node
        Those among them that are written otherwise: loops and choices.
    """
    wanted = [p for x in leaves(result) for p in _parts(x)]
    if (
        not wanted
        or not all(isinstance(x, Symbol) for x in wanted)
        or all(n in known or _has_spelling(n) for n in nodes)
    ):
        return None
    operands: list[Any] = []
    trace = Trace()
    try:
        if not _takes_the_same(place, len(args), kwargs):
            place = f"compat.v1.{place}"
            if not _takes_the_same(place, len(args), kwargs):
                return None
        plain = tuple([_plain(a, operands) for a in args])
        named = {k: _plain(v, operands) for k, v in kwargs.items() if k not in _LEFT_OUT}
        spelling = Spelling(place, plain, named)
        # a function of the program's own is not called to see what it gives
        calls_own = any(isinstance(a, Named) for a in (*plain, *named.values()))
        made = result if calls_own else call(spelling, [trace.placeholder(_sized(_aval(x))) for x in operands])
        results = [p.aval for x in leaves(made) for p in _parts(x)]
    except Exception:  # noqa: BLE001  (whatever is wrong with it, it is not the call looked for)
        return None
    if [(a.dtype, _rank(a)) for a in results] != [(x.aval.dtype, _rank(x.aval)) for x in wanted]:
        return None
    read = [x for n in nodes for x in [*n.outputs, *n.inputs] if x.node.op is read_variable]
    reads = {id(x.node.inputs[0]): x for x in reversed(read)}
    taken = [reads.get(id(x.handle)) if isinstance(x, Variable) else x for x in operands]
    if any(x is None for x in taken):
        return None
    return Written(spelling, taken, _between(wanted, taken, nodes))


def seeded(
    place: str, args: Sequence[Any], kwargs: Mapping[str, Any], seed: int
) -> tuple[Sequence[Any], Mapping[str, Any]]:
    """The arguments of a call that draws once, with the seed that the graph chose for it."""
    function = _reached("graph_api", place.removeprefix("compat.v1."))
    given = inspect.signature(function).bind(*args, **kwargs).arguments
    if "seed" in inspect.signature(function).parameters:
        return (args, kwargs) if given.get("seed") is not None else (args, {**kwargs, "seed": seed})
    if place != "nn.nce_loss" or given.get("sampled_values") is not None:
        return args, kwargs
    labels, count = given["labels"], given.get("num_true", 1)
    drawn = Inner(
        "random.log_uniform_candidate_sampler",
        (Inner("cast", (labels, int64)), count, given["num_sampled"], True, given["num_classes"]),
        {"seed": seed},
    )
    return args, {**kwargs, "sampled_values": drawn}


def _takes_the_same(place: str, count: int, kwargs: Mapping[str, Any]) -> bool:
    """Whether `count` arguments and those by name mean the same to the function of tapes as to that of graphs."""
    of_graphs, of_tapes = _reached("graph_api", place.removeprefix("compat.v1.")), _reached("tape_api", place)
    if not (callable(of_graphs) and callable(of_tapes)):
        return False
    ours, theirs = [list(inspect.signature(f).parameters) for f in (of_graphs, of_tapes)]
    return ours[:count] == theirs[:count] and {k for k in kwargs if k not in _LEFT_OUT} <= set(theirs)


def _sized(aval: Aval) -> Aval:
    """A shape and dtype with some size where none is known: a loop over it can be made then."""
    return aval if aval.shape is None else Aval(tuple([3 if n is None else n for n in aval.shape]), aval.dtype)


def _rank(aval: Any) -> int | None:
    return None if aval.shape is None else len(aval.shape)


def _has_spelling(node: Any) -> bool:
    return node.op in (constant, read_variable, *PYTHON_CALLS) or not node.outputs or spelled_node(node) is not None


def _between(wanted: Sequence[Any], taken: Sequence[Any], nodes: Sequence[Any]) -> list[Any]:
    """The nodes by which some tensors are computed of others, in order."""
    inside, ends = {id(n) for n in nodes}, {id(x) for x in taken}
    found: set[int] = set()
    todo = [x.node for x in wanted]
    while todo:
        node = todo.pop()
        if id(node) in inside and id(node) not in found and node.op is not constant:
            found.add(id(node))
            todo += [x.node for x in node.inputs if id(x) not in ends] + list(node.control_inputs)
    return [n for n in nodes if id(n) in found and not any(id(x) in ends for x in n.outputs)]


def _parts(x: Any) -> list[Any]:
    if isinstance(x, SparseTensor):
        return [x.indices, x.values, x.dense_shape]
    return [x.values, x.indices] if isinstance(x, IndexedSlices) else [x]


def _is_global(function: FunctionType) -> bool:
    """Whether a function is what its module has under its name."""
    return function.__globals__.get(function.__name__) is function


def _plain(x: Any, operands: list[Any]) -> Any:
    """An argument, with references to operands for tensors.

    Raises
    ------
    TypeError
        If it cannot be written down.
    """
    if isinstance(x, (Symbol, Variable)):
        operands.append(x)
        return Ref(len(operands) - 1)
    if isinstance(x, IndexedSlices):
        return Slices(_plain(x.values, operands), _plain(x.indices, operands), x)
    if isinstance(x, SparseTensor):
        return Inner("SparseTensor", tuple([_plain(p, operands) for p in _parts(x)]))
    if isinstance(x, Inner):
        return Inner(x.target, tuple([_plain(a, operands) for a in x.args]), x.kwargs)
    if isinstance(x, FunctionType) and x.__module__ == "__main__" and _is_global(x):
        return Named(x.__name__, x)
    if type(x) in (list, tuple):
        return type(x)(_plain(i, operands) for i in x)
    if isinstance(x, (np.ndarray, np.generic)) and (found := data(np.asarray(x))) is not None:
        return found
    if x is None or isinstance(x, (bool, int, float, str, DType)):
        return x
    raise TypeError(f"{type(x).__name__} cannot be written down")


def _aval(x: Any) -> Aval:
    return Aval(tuple(x.shape), x.dtype) if isinstance(x, Variable) else Aval(x.aval.shape, x.aval.dtype, x.aval.value)


def _tried(spelling: Spelling, operands: list[Any], wanted: Sequence[Any], rows: bool) -> Written | None:
    trace = Trace()
    stand_ins = [trace.placeholder(_aval(x)) for x in operands]
    try:
        made = call(spelling, stand_ins)
    except Exception:  # noqa: BLE001  (whatever is wrong with it, it is not the call looked for)
        return None
    results = [p for x in leaves(made) for p in _parts(x)]
    if len(results) != len(wanted) or not all(isinstance(r, Symbol) for r in results):
        return None
    comparison = _Comparison(operands, stand_ins)
    if not all(comparison.same(x, y) for x, y in zip(wanted, results, strict=True)):
        return None
    read = comparison.read
    if any(isinstance(x, Variable) and len(read.get(i, ())) != 1 for i, x in enumerate(operands)):
        return None
    taken = [next(iter(read[i].values())) if isinstance(x, Variable) else x for i, x in enumerate(operands)]
    order = {id(node): number for number, node in enumerate(trace.nodes)}
    nodes = sorted(comparison.nodes, key=lambda pair: order[id(pair[1])])
    made = [node for node, _ in nodes]
    # of one node the call says no more than its op, but for the rows of a gradient
    return Written(spelling, taken, made) if sum(not is_alias(n) for n in made) > (not rows) else None


class _Comparison:
    """Follows tensors of the program and those that a call made back to the operands."""

    def __init__(self, operands: Sequence[Any], stand_ins: Sequence[Any]) -> None:
        self._stand_ins = {id(s): i for i, s in enumerate(stand_ins)}
        self._operands = operands
        self._met: dict[tuple[int, int], bool] = {}
        self.nodes: list[tuple[Any, Any]] = []
        self.read: dict[int, dict[int, Any]] = {}

    def same(self, x: Any, made: Any) -> bool:
        """Whether they are computed in the same way."""
        if id(made) in self._stand_ins:
            return self._is_operand(x, self._stand_ins[id(made)])
        while _stops(x) > _stops(made) > 0:
            self.nodes.append((x.node, made.node))  # stopped twice is stopped
            x = x.node.inputs[0]
        if made.node.op is constant or x.node.op is constant:
            return made.node.op is x.node.op and _equal(x.node.params["value"], made.node.params["value"])
        key = (id(x.node), id(made.node))
        if key not in self._met:
            self._met[key] = same_node(x.node, made.node) and all(map(self.same, x.node.inputs, made.node.inputs))
            self.nodes.append((x.node, made.node))
        return self._met[key] and x.index == made.index

    def _is_operand(self, x: Any, number: int) -> bool:
        operand = self._operands[number]
        if not isinstance(operand, Variable):
            return x is operand
        self.read.setdefault(number, {})[id(x)] = x
        return x.node.op is read_variable and x.node.inputs[0] is operand.handle


def _stops(x: Any) -> int:
    """How often a gradient is stopped at a tensor."""
    count = 0
    while x.node.op is stop_gradient:
        count, x = count + 1, x.node.inputs[0]
    return count


def _equal(one: Any, other: Any) -> bool:
    one, other = np.asarray(one), np.asarray(other)
    return one.dtype == other.dtype and one.shape == other.shape and bits(one) == bits(other)


def is_alias(node: Any) -> bool:
    """Whether a node gives its operand as it is, perhaps after a check, which the recorded run has passed."""
    return node.op in (default_input, checked_op) or (node.op is expand_dims_op and not node.params["axes"])


def stays_inside(nodes: Sequence[Any], results: Collection[int], users: Mapping[int, list[int]], span: range) -> bool:
    """Whether nobody outside of a span of the graph uses what the nodes of a call compute on the way."""
    inner = [x for node in nodes for x in node.outputs if id(x) not in results]
    return all(number in span for x in inner for number in users.get(id(x), ()))
