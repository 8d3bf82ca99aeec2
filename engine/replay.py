"""Compiled reverse walks: a training loop records the same tape every step, so its walk is planned once and kept.

The structure of a recording (ops, parameters, who feeds whom, shapes and dtypes) is a key. When a structure is seen
again and again, the reverse walk runs once more with symbols in place of arrays; the nodes it makes are lowered to a
`Program` whose arguments are values on the tape. From then on a gradient of that structure costs looking up the key and
running straight-line kernel calls. The walk and the rules are the same, the passes are bit-exact, so the results are
too.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np

from engine.core.batching import Batched
from engine.core.eager import EagerTensor
from engine.core.indexed_slices import IndexedSlices, stand_in
from engine.core.op import Node, distinct
from engine.core.tape import Recording, logged, paused
from engine.core.trace import Trace, placeholder
from engine.core.value import address, as_array, aval_of
from engine.core.variable import Variable
from engine.program import Program, lower
from engine.program.layout import order_of_value, orders_of
from engine.program.lowering import needed_nodes
from engine.reverse import reverse
from engine.runtime.state import remember

COMPILE_AFTER = 2
"""How often a structure must have been walked before it is worth compiling."""
_CAPACITY = 256
"""Structures remembered; the oldest gives way."""
_FOLD_LIMIT = 1 << 12
"""Largest constant, in bytes, of a compiled walk. It is kept as long as the walk is, and large zeros are soon made."""

_walks: dict[int, int] = {}
"""Hash of a structure's key to how often it was walked; counting keeps nothing alive that way."""
_compiled: dict[Any, Replay] = {}
counters = {"walked": 0, "compiled": 0, "replayed": 0}
"""How many gradients were walked, compiled and replayed, for tests and the curious; threads may lose a count."""


class Replay:
    """A compiled reverse walk.

    Attributes
    ----------
    program : Program
    arguments : list of int
        Which values of the recording (as `Structure` numbers them) the program takes; seeds follow.
    results : list of (int, pair of int, or None)
        Per source, which result of the program is its cotangent, or which two are its rows and their indices.
    batched : list of bool
        Per source, whether the cotangent has the batch axis of the seeds.
    """

    __slots__ = ("arguments", "batched", "program", "results")

    def __init__(self, program: Program, arguments: list[int], results: list[Any], batched: list[bool]) -> None:
        self.program = program
        self.arguments = arguments
        self.results = results
        self.batched = batched

    def __call__(self, values: Sequence[Any], seeds: Sequence[Any], sources: Sequence[Any]) -> list[Any]:
        """The cotangents for a recording of this structure."""
        pool = [*values, *seeds]
        out = self.program(*[array_of(pool[i]) for i in self.arguments])
        found = [_cotangent(out, i, source) for i, source in zip(self.results, sources, strict=True)]
        if True in self.batched:
            level = next(s.level for s in seeds if type(s) is Batched)
            return [Batched(g, level) if b else g for g, b in zip(found, self.batched, strict=True)]
        return found


def _cotangent(out: Sequence[Any], result: Any, source: Any) -> Any:
    """One cotangent from the results of a program; see `Replay.results`."""
    if type(result) is tuple:
        return IndexedSlices(out[result[0]], out[result[1]], like=stand_in(source))
    return None if result is None else out[result]


def array_of(x: Any) -> Any:
    """The array behind a value of the recording or a seed."""
    if type(x) is EagerTensor:
        return x._array
    if isinstance(x, Variable):
        return as_array(x.read_value())
    return x.inner if type(x) is Batched else x


class Structure:
    """A recording seen as a key, with its values numbered in the order in which they appear.

    Attributes
    ----------
    key : tuple
    values : list of Value
        By number.
    slots : dict
        ``address(value) -> number``.

    Raises
    ------
    AttributeError, TypeError
        If the recording holds something that has no structure to compare: symbols, batches, or a function among the
        parameters (`custom_gradient`), which must be asked anew each time.
    """

    __slots__ = ("key", "slots", "values")

    def __init__(self, nodes: Sequence[Node]) -> None:
        slots: dict[int, int] = {}
        values: list[Any] = []
        parts: list[Any] = []
        for op, inputs, params, result in logged(nodes):
            parts.append(op)
            for x in inputs:
                slot = slots.get(address(x))
                if slot is None:
                    slot = slots[address(x)] = len(values)
                    values.append(x)
                    parts += _leaf(x)
                parts.append(slot)
            if params:
                for name, param in params.items():
                    parts += (name, distinct(param))
            if op.multi:
                slots.update(zip(map(address, result), itertools.count(len(values)), strict=False))
                values += result
                parts += [out._array.shape for out in result]
            else:
                slots[address(result)] = len(values)
                values.append(result)
                parts.append(result._array.shape)
        self.slots, self.values = slots, values
        self.key = tuple(parts)

    def beside(self, values: Sequence[Any]) -> Structure:
        """This structure, with further numbers for those of `values` that the recording does not hold."""
        further = {address(x): x for x in values if address(x) not in self.slots}
        if not further:
            return self
        other = copy(self)
        other.values = [*self.values, *further.values()]
        other.slots = {**self.slots, **dict(zip(further, itertools.count(len(self.values)), strict=False))}
        other.key = (self.key, "beside", *[_leaf(x) for x in further.values()])
        return other


def structure_of(nodes: Sequence[Node]) -> Structure:
    """The structure of nodes; that of a recording is found once."""
    return nodes.known(Structure) if type(nodes) is Recording else Structure(nodes)


def _leaf(x: Any) -> tuple[Any, ...]:
    """What the key says of a value that the recording did not compute."""
    if type(x) is EagerTensor:
        return x._array.shape, x._array.dtype, x._array.flags.c_contiguous
    if isinstance(x, (np.ndarray, np.generic)):
        return x.shape, x.dtype, x.flags.c_contiguous
    if isinstance(x, Variable):
        return x.aval.shape, x.aval.dtype
    if isinstance(x, (tuple, int)):
        # a shape: part of the structure
        return "shape", distinct(x)
    if type(x) is Batched and isinstance(x.inner, np.ndarray):
        return "batched", x.inner.shape, x.inner.dtype, x.inner.flags.c_contiguous
    raise TypeError(f"{type(x).__name__} has no structure to compare")


def replayed(
    nodes: Sequence[Node], seeds: Sequence[tuple[Any, Any]], sources: Sequence[Any], sparse: bool = False
) -> list[Any]:
    """What `engine.reverse.reverse` returns for an eager recording, by a compiled walk where there is one.

    Call it only while no tape is recording: the result consists of plain arrays.
    """
    try:
        structure = structure_of(nodes)
        slots = structure.slots
        targets = tuple([(slots[address(t)], *_leaf(s)) for t, s in seeds])
        key = (structure.key, targets, tuple([slots.get(address(s)) for s in sources]), sparse)
        replay = _compiled.get(key)
    except (AttributeError, TypeError, KeyError):
        replay = key = None
    if replay is not None:
        counters["replayed"] += 1
        return replay(structure.values, [seed for _, seed in seeds], sources)
    counters["walked"] += 1
    if key is not None:
        walks = _walks.get(hash(key), 0) + 1
        remember(_walks, hash(key), walks, _CAPACITY)
        if walks > COMPILE_AFTER:
            remember(_compiled, key, _compile(nodes, structure, seeds, sources, sparse), _CAPACITY)
    return reverse(nodes, seeds, sources, sparse=sparse)


def _compile(
    nodes: Sequence[Node],
    structure: Structure,
    seeds: Sequence[tuple[Any, Any]],
    sources: Sequence[Any],
    sparse: bool,
) -> Replay:
    counters["compiled"] += 1
    trace = Trace()
    symbols = [_mirror(trace, v) for v in structure.values]
    seed_symbols = [trace.placeholder(aval_of(array_of(s))) for _, s in seeds]
    levels = [s.level if type(s) is Batched else None for _, s in seeds]
    of = {id(v): s for v, s in zip(structure.values, symbols, strict=True)}
    mirrored = [
        Node(n.op, tuple([of[id(x)] for x in n.inputs]), n.params, tuple([of[id(o)] for o in n.outputs])) for n in nodes
    ]
    with paused():
        pairs = [
            (of[id(t)], s if level is None else Batched(s, level))
            for (t, _), s, level in zip(seeds, seed_symbols, levels, strict=True)
        ]
        found = reverse(mirrored, pairs, [of.get(id(s), s) for s in sources], sparse=sparse)
    parts = [(g.values, g.indices) if type(g) is IndexedSlices else () if g is None else (array_of(g),) for g in found]
    wanted = [trace.operand(part) for group in parts for part in group]
    arguments = [*symbols, *seed_symbols]
    fed = {id(s) for s in arguments if s.node.op is placeholder}
    steps = needed_nodes(trace.nodes, wanted, fed, lambda node: ())
    used = fed & ({id(x) for node in steps for x in node.inputs} | {id(w) for w in wanted})
    taken = [i for i, s in enumerate(arguments) if id(s) in used]
    given = [(arguments[i], arguments[i].aval) for i in taken]
    known = {id(x): order_of_value(x) for x in structure.values}
    orders_of(nodes, known)
    orders = [*[known[id(x)] for x in structure.values], *[order_of_value(s) for _, s in seeds]]
    program, _, _ = lower(steps, given, wanted, orders=[orders[i] for i in taken], fold_limit=_FOLD_LIMIT)
    order = iter(range(len(wanted)))
    positions = [tuple([next(order) for _ in group]) for group in parts]
    results = [(None, *p)[-1] if len(p) < 2 else p for p in positions]
    return Replay(program, taken, results, [type(g) is Batched for g in found])


def _mirror(trace: Trace, x: Any) -> Any:
    """The symbol for a value of the recording: a constant for a shape, else something that is given."""
    return trace.operand(x) if isinstance(x, (tuple, int)) else trace.placeholder(aval_of(x))
