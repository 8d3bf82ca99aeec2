"""Compiled reverse walks: a training loop records the same tape every step, so its walk is planned once and kept.

The structure of a recording (ops, parameters, who feeds whom, shapes and dtypes) is a key. When a structure is seen
again and again, the reverse walk runs once more with symbols in place of arrays; the nodes it makes are lowered to a
`Program` whose arguments are values on the tape. From then on a gradient of that structure costs looking up the key and
running straight-line kernel calls. The walk and the rules are the same, the passes are bit-exact, so the results are
too.

While other tapes record, which want to know each op, these are applied (`ClosedFunction.ops`), not a program.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np

from engine.closed.function import ClosedFunction
from engine.closed.retrace import Retrace
from engine.compiler.ir.layout import order_of_value
from engine.core.batching import Batched
from engine.core.dtypes import DType
from engine.core.eager import EagerTensor, in_c
from engine.core.late_tape import LateTape
from engine.core.lazy_tensor import TENSORS, LazyTensor, fulfil
from engine.core.op import Node, distinct
from engine.core.operands import Operand
from engine.core.tape import Recording, active, logged, paused
from engine.core.value import address, as_array, aval_of
from engine.core.variable import Variable
from engine.derivatives.reverse import reverse
from engine.derivatives.slopes import with_slopes
from engine.ops.indexed_slices import IndexedSlices, stand_in
from engine.runtime.cache import Cache

COMPILE_AFTER = 2
"""How often a structure must have been walked before it is worth compiling."""
_CAPACITY = 256
"""Structures kept."""
_FOLD_LIMIT = 1 << 12
"""Largest constant, in bytes, of a compiled walk. It is kept as long as the walk is, and large zeros are soon made."""

_FEW = 8
"""So many values are looked for one by one."""

_walks: Cache[int, int] = Cache(
    "counted walks", _CAPACITY, key="the hash of a walk: it is a count, and decides when to compile"
)
"""Hash of a structure's key to how often it was walked; counting keeps nothing alive that way."""
_compiled: Cache[Any, ClosedFunction] = Cache(
    "compiled walks", _CAPACITY, key="ops, parameters, operands, shapes, dtypes, layouts; ends; seeds; options"
)
counters = {"walked": 0, "compiled": 0, "replayed": 0}
"""How many gradients were walked, compiled and replayed, for tests and the curious; threads may lose a count."""


def array_of(x: Any) -> Operand:
    """The array behind a value of the recording or a seed."""
    if type(x) is EagerTensor:
        return x._array
    if isinstance(x, Variable):
        return as_array(x.read_value())
    return x.inner if type(x) is Batched else x


def arrays_of(values: list[Any], places: list[int]) -> list[Any]:
    """The arrays behind some of the values."""
    return [x._array if type(x) is EagerTensor else array_of(x) for x in [values[i] for i in places]]


class Structure:
    """A recording seen as a key, equal for equal structures, with its values numbered as they appear.

    The key of a recording in C is no tuple but numbers. There is an AttributeError or TypeError if the recording holds
    something that has no structure to compare: symbols, batches, or a function among the parameters
    (`custom_gradient`), which must be asked anew each time.
    """

    __slots__ = ("_slots", "key", "values")

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._slots: dict[int, int] | None = None
        if in_c and type(nodes) is Recording:
            self.values, self.key = in_c.structure(nodes.log)
            return
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
                    if type(x) is EagerTensor:
                        array = x._array
                        parts += (array.shape, array.dtype, array.flags.c_contiguous)
                    else:
                        parts += _leaf(x)
                parts.append(slot)
            if params:
                for name, param in params.items():
                    parts += (name, distinct(param))
            if op.multi:
                slots.update(zip(map(address, result), itertools.count(len(values)), strict=False))
                values += result
                parts += [out._array.shape if type(out) is EagerTensor else out._shape for out in result]
            else:
                slots[address(result)] = len(values)
                values.append(result)
                parts.append(result._array.shape if type(result) is EagerTensor else result._shape)
        self._slots, self.values = slots, values
        self.key = tuple(parts)

    def numbers(self, values: list[Any]) -> list[Any]:
        """The numbers of some values; None for one that is not there."""
        if in_c and self._slots is None and len(values) <= _FEW:
            return in_c.places(self.values, values)
        slots = self.slots if self._slots is None else self._slots
        return [slots.get(address(x)) for x in values]

    @property
    def slots(self) -> dict[int, int]:
        """``address(value) -> number``."""
        if self._slots is None:
            self._slots = dict(zip(map(address, self.values), itertools.count(), strict=False))
        return self._slots

    def extended(self, values: list[Any]) -> tuple[Structure, list[int]]:
        """This structure, with further numbers for those of `values` that the recording does not hold; and theirs."""
        numbers = self.numbers(values)
        if None not in numbers:
            return self, numbers
        further = {address(x): x for x, number in zip(values, numbers, strict=True) if number is None}
        other = copy(self)
        other.values = [*self.values, *further.values()]
        other._slots = None
        other.key = (self.key, "extended", *[_leaf(x) for x in further.values()])
        return other, other.numbers(values)


def structure_of(nodes: Sequence[Node]) -> Structure:
    """The structure of nodes; that of a recording is found once."""
    return nodes.known(Structure) if type(nodes) is Recording else Structure(nodes)


def _leaf(x: Any) -> tuple[Any, ...]:
    """The part of the key for a value that the recording did not compute."""
    if type(x) in TENSORS:
        return x._array.shape, x._array.dtype, x._array.flags.c_contiguous
    if isinstance(x, (np.ndarray, np.generic)):
        return x.shape, x.dtype, x.flags.c_contiguous
    if isinstance(x, Variable):
        return x._shape, x.dtype
    if isinstance(x, (tuple, int)):
        # a shape: part of the structure
        return "shape", distinct(x)
    if type(x) is Batched and isinstance(x.inner, np.ndarray):
        return "batched", x.inner.shape, x.inner.dtype, x.inner.flags.c_contiguous
    raise TypeError(f"{type(x).__name__} has no structure to compare")


if in_c:
    in_c.setup_structure(DType, distinct, _leaf, array_of)
    arrays_of = in_c.arrays_of


def replayed(
    nodes: Sequence[Node],
    seeds: Sequence[tuple[Any, Any]],
    sources: Sequence[Any],
    *,
    sparse: bool = False,
    pairwise: bool = False,
    deferred: bool = False,
    ones: bool = False,
    late: LateTape | None = None,
) -> list[Any]:
    """The result of `engine.derivatives.reverse.reverse` for an eager recording, by a compiled walk where there is one.

    If the tape is a `late` one, the walk computes what it has put off, too, as far as somebody is to have it.

    While no tape is recording, the result consists of plain arrays; if they may be `deferred`, some are products
    that are still to be computed (`DeferredArray`). While one is, it consists of eager tensors.
    """
    recorded = bool(active.tapes)
    options = sparse, pairwise, ones, deferred and not recorded
    escaping = list[LazyTensor]()
    if late is not None:
        escaping, nodes = late.escaping(), late.everything()
    try:
        structure = structure_of(nodes)
        lazy = tuple([k for k, x in enumerate(structure.values) if type(x) is LazyTensor]) if escaping else ()
        ends = structure.numbers([*[t for t, _ in seeds], *sources, *escaping])
        if None in ends[: len(seeds)]:
            raise KeyError("a target was not recorded")
        if recorded and not all(type(s) is EagerTensor for _, s in seeds):
            raise TypeError("ops are kept for eager tensors")
        leaves = [_leaf(s) for _, s in seeds]
        key = (structure.key, len(seeds), len(sources), *ends, *leaves, *options, recorded, lazy)
        walk = _compiled.get(key)
    except (AttributeError, TypeError, KeyError):
        walk = key = None
    if walk is not None:
        counters["replayed"] += 1
    else:
        counters["walked"] += 1
        if key is not None:
            walks = _walks.put(hash(key), (_walks.get(hash(key)) or 0) + 1)
            if walks > (COMPILE_AFTER if late is None else 1):
                walk = _compile(nodes, structure, seeds, sources, *options, recorded, escaping, lazy)
                if walk is not None:
                    _compiled.put(key, walk)
    if walk is not None:
        if late is not None:
            late.paid()
        return _repeated(walk, structure.values, [seed for _, seed in seeds], sources, recorded, escaping)
    if late is not None:
        late.settle()
    return reverse(with_slopes(nodes), seeds, sources, sparse=sparse, pairwise=pairwise, ones=ones)


def _compile(
    nodes: Sequence[Node],
    structure: Structure,
    seeds: Sequence[tuple[Any, Any]],
    sources: Sequence[Any],
    sparse: bool,
    pairwise: bool,
    ones: bool,
    deferred: bool,
    recorded: bool,
    escaping: Sequence[LazyTensor],
    lazy: Sequence[int],
) -> ClosedFunction | None:
    """The walk, made once with symbols; None if a walk that is recorded may be another one each time.

    It takes values of the recording, by the numbers that `Structure` gives them, and the seeds. Its form says per
    source which result is the cotangent, or which two are its rows and their indices; and whether it has the batch axis
    of the seeds.
    """
    counters["compiled"] += 1
    again = Retrace(nodes, structure.values, _FOLD_LIMIT, lazy=lazy)
    given = [again.trace.placeholder(aval_of(array_of(s))) for _, s in seeds]
    levels = [s.level if type(s) is Batched else None for _, s in seeds]
    of = {id(v): s for v, s in zip(structure.values, again.symbols, strict=True)}
    with paused():
        pairs = [
            (of[id(t)], s if level is None else Batched(s, level))
            for (t, _), s, level in zip(seeds, given, levels, strict=True)
        ]
        wanted_of = [of.get(id(s), s) for s in sources]
        found = reverse(with_slopes(again.nodes), pairs, wanted_of, sparse=sparse, pairwise=pairwise, ones=ones)
    parts = [(g.values, g.indices) if type(g) is IndexedSlices else () if g is None else (array_of(g),) for g in found]
    wanted = [*[of[id(x)] for x in escaping], *[part for group in parts for part in group]]
    order = iter(range(len(escaping), len(wanted)))
    positions = [tuple([next(order) for _ in group]) for group in parts]
    form = [(None, *p)[-1] if len(p) < 2 else p for p in positions], [type(g) is Batched for g in found]
    if not recorded:
        walk = again.closed(wanted, given, [order_of_value(s) for _, s in seeds], form=form, put_off=deferred)
        walk.captures += range(len(structure.values), len(structure.values) + len(seeds))
        walk.program  # noqa: B018 - made now, so that an error is the walk's
        return walk
    walk = again.closed(wanted, given, every=True, form=form)
    try:
        walk.ops  # noqa: B018 - it raises
    except TypeError:
        return None
    return walk


def _repeated(
    walk: ClosedFunction,
    values: list[Any],
    seeds: Sequence[Any],
    sources: Sequence[Any],
    recorded: bool,
    escaping: Sequence[LazyTensor],
) -> list[Any]:
    """The cotangents for a recording of this structure. The lazy tensors that escape get their contents."""
    results, batched = walk.form
    if recorded:
        out: Sequence[Any] = walk.ops([*values, *seeds])
        return [_cotangent(out, i, source) for i, source in zip(results, sources, strict=True)]
    program = walk.program
    out = program(*arrays_of([*values, *seeds], walk.captures))
    if program.products:
        from engine.compiler.updates.deferred_updates import with_deferred_arrays

        out = with_deferred_arrays(out, program.products)
    if escaping:
        for x, array in zip(escaping, out, strict=False):
            fulfil(x, array if isinstance(array, (np.ndarray, np.generic)) else array.computed())
    found = [
        out[i] if type(i) is int else _cotangent(out, i, source) for i, source in zip(results, sources, strict=True)
    ]
    if True in batched:
        level = next(s.level for s in seeds if type(s) is Batched)
        return [Batched(g, level) if b else g for g, b in zip(found, batched, strict=True)]
    return found


def _cotangent(out: Sequence[Any], result: Any, source: Any) -> IndexedSlices | None:
    """One cotangent from the results of a walk."""
    if type(result) is tuple:
        return IndexedSlices(out[result[0]], out[result[1]], like=stand_in(source))
    return None if result is None else out[result]
