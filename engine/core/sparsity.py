"""Sparsity rules: which elements of its operands each element of an op's result depends on.

`engine.jacobian.structure.pattern` puts these together into the pattern of a Jacobian. A rule follows from shapes,
parameters and the contents of index operands alone, never from the values that derivatives are taken of: it holds for
all inputs. It may claim too much, never too little.

Nearly all ops fit one form, the `Link`: both sides are given labels, and an element of the result depends on those
elements of an operand that bear its label. An elementwise op labels each element by its own number; a sum labels the
elements of its operand by the place in the result that they are added to; a product of matrices labels both sides by
the row. Where one link is not enough (the taps of a convolution), a rule gives several.

`Op.sparsity` is one of

- `ELEMENTWISE`, the default of that kind: operands broadcast together;
- `MOVES` (or `Moves(...)`): each element of a result is a copy of one element of an operand, or a constant. The kernel
  itself says which: it is run on numbers in place of values. `IN_ORDER`: all elements keep their order;
- `collected(forth)`: each element of the operand is added to one place; `forth`, the move that is undone, says which;
- `along` and `rowwise(...)`: each element depends on those with the same index along the axes that nothing works on;
  `running`: of these on those up to its place;
- any other function ``rule(site, i)``: per output of the op, the links between it and operand i;
- None: every element depends on every other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import numpy as np

from engine.core.op import Node
from engine.core.value import Value, dtype_of, known_shape
from engine.runtime.tuning import TUNING

_WIDE = np.iinfo(np.int32).max
_STEPS, _EXACT = 16, TUNING.exact_entries
"""Steps of a running sum, or entries of its pattern, up to which what is behind an element is left out."""
Labels = Any  # an integer vector, or None: each element's label is its own number


def numbers(count: int, first: int = 0) -> np.ndarray:
    """``first, first + 1, ...``, `count` of them, read-only, as short integers if they fit: there may be many."""
    found = _counted.get((count, first))
    if found is None:
        found = np.arange(first, first + count, dtype=np.int32 if first + count < _WIDE else np.int64)
        found.flags.writeable = False
        _counted[count, first] = found
    return found


def counts_up(index: np.ndarray) -> bool:
    """Whether an index is 0, 1, 2..."""
    if not len(index) or _counted.get((len(index), 0)) is index:
        return True
    return index[0] == 0 and index[-1] == len(index) - 1 and bool((index[1:] > index[:-1]).all())


def nowhere(count: int, most: int) -> np.ndarray:
    """An array of -1, to be filled with numbers below `most`."""
    return np.full(count, -1, np.int32 if most < _WIDE else np.int64)


class Link(NamedTuple):
    """Element o of the result depends on element p of the operand if ``out[o] == operand[p]``, unless that is -1."""

    out: Labels
    """The labels of the result's elements, in C order; None labels each by its own number."""
    operand: Labels
    """Those of the operand's elements."""
    labels: int
    """How many labels there are, from 0 on."""

    @property
    def reversed(self) -> Link:
        """The same, of the operand's elements on the result's."""
        return Link(self.operand, self.out, self.labels)


Links = Sequence[Link]
Rule = Callable[["Site", int], Sequence[Links]]
"""``rule(site, i)``: per output of the op, the links between it and operand i."""


class UnknownContentsError(Exception):
    """A rule needs the contents of an operand that are not known: then every element depends on every other."""


class Site:
    """One application of an op, as sparsity rules see it; it raises ShapeError, which names the op, for unknown shapes.

    ``contents(value)`` is the array that a value is known to hold, or None. `shapes` and `results` are the shapes of
    operands and outputs; `inner` is what a rule has found out of closed functions among the parameters.
    """

    def __init__(self, node: Node, contents: Callable[[Any], Any]) -> None:
        self.node = node
        self.params = node.params
        self.shapes = [known_shape(x, node.op.name) if isinstance(x, Value) else np.shape(x) for x in node.inputs]
        self.results = [known_shape(out, node.op.name) for out in node.outputs]
        self._contents = contents
        self.inner: Any = None
        self._numbered: list[Any] | None = None
        self._links: dict[int, Sequence[Links]] = {}

    def size(self, i: int) -> int:
        """The number of elements of operand i."""
        return math.prod(self.shapes[i])

    def carries(self, i: int) -> bool:
        """Whether operand i carries a derivative."""
        return self.node.carries(i)

    def contents(self, i: int) -> np.ndarray:
        """The array that operand i holds; UnknownContentsError if that is not known."""
        value = self._contents(self.node.inputs[i])
        if value is None:
            raise UnknownContentsError
        return value

    def other(self, i: int) -> np.ndarray:
        """An operand beside numbers that are moved: its contents, or zeros if it is no index and only has a shape."""
        x = self.node.inputs[i]
        if isinstance(x, Value | np.ndarray | np.generic) and dtype_of(x).is_differentiable:
            return np.broadcast_to(np.int64(0), self.shapes[i])
        return self.contents(i)

    def move(self, kernel: Any, shape: tuple[int, ...]) -> tuple[Any, ...]:
        """Describe where a move takes its elements from: equal for equal moves, whatever the indices hold.

        It is given by its kernel, and by the shape of what its elements are taken from.
        """
        indices = [id(x) for x in self.node.inputs if not (isinstance(x, Value) and dtype_of(x).is_differentiable)]
        params = {name: value for name, value in self.params.items() if name not in ("lead", "like_lead") or value}
        if isinstance(axis := params.get("axis"), int) and shape:
            params["axis"] = axis % len(shape)
        return kernel, shape, indices, params

    def links(self, i: int) -> Sequence[Links]:
        """Per output, the links between it and operand i, by the op's rule."""
        if i not in self._links:
            self._links[i] = (self.node.op.sparsity or every)(self, i)
        return self._links[i]

    def offsets(self) -> list[int]:
        """The number of the first element of each operand, if all that carry a derivative are numbered in one go."""
        sizes = [self.size(i) if self.carries(i) else 0 for i in range(len(self.shapes))]
        return list(accumulate(sizes, initial=0))

    def numbered(self, **params: Any) -> list[Any]:
        """Per output, of which element of which operand each element is a copy; -1 if it is a constant.

        `params` are used in place of the op's.
        """
        if self._numbered is None:
            operands = [
                numbers(self.size(i), first + 1).reshape(self.shapes[i]) if self.carries(i) else self.other(i)
                for i, first in enumerate(self.offsets()[:-1])
            ]
            moved = self.node.op.kernel(*operands, **{**self.params, **params})
            moved = moved if self.node.op.multi else (moved,)
            self._numbered = [np.subtract(m, 1, order="C").ravel() for m in moved]
        return self._numbered


class Sites:
    """The sites of nodes, each of which is made once: what a rule found out is known when somebody asks again."""

    def __init__(self, contents: Callable[[Any], Any]) -> None:
        self._contents = contents
        self._made: dict[int, Site] = {}

    def __call__(self, node: Node) -> Site:
        """The site of a node."""
        if id(node) not in self._made:
            self._made[id(node)] = Site(node, self._contents)
        return self._made[id(node)]

    def forget(self) -> None:
        """Give back the memory of all sites; they are made again when somebody asks."""
        self._made.clear()


def every(site: Site, i: int) -> list[Links]:
    """Every element of each result depends on every element of operand i: what holds of any op."""
    operand = _alike(site.size(i))
    return [[Link(_alike(math.prod(out)), operand, 1)] for out in site.results]


def _alike(size: int) -> Labels:
    """One label for all elements."""
    return np.broadcast_to(np.int64(0), (size,))


# ---- elementwise, moves ----------------------------------------------------------------------------------------------


def ELEMENTWISE(site: Site, i: int) -> list[Links]:
    """Operands broadcast together; each element of a result depends on the elements it was computed from."""
    return [[Link(_broadcast(site.shapes[i], out), None, site.size(i))] for out in site.results]


def _broadcast(shape: tuple[int, ...], out: tuple[int, ...]) -> Labels:
    if shape == out:
        return None
    if math.prod(shape) == 1:
        return _alike(math.prod(out))
    labels = _broadcasts.get((shape, out))
    if labels is None:
        labels = np.ravel(np.broadcast_to(numbers(math.prod(shape)).reshape(shape), out))
        labels.flags.writeable = False
        _broadcasts[shape, out] = labels
    return labels


_counted: WeakValueDictionary[tuple[int, int], np.ndarray] = WeakValueDictionary()
_broadcasts: WeakValueDictionary[tuple[tuple[int, ...], tuple[int, ...]], np.ndarray] = WeakValueDictionary()
"""Labels that are in use: an expression broadcasts operands of one shape to another one again and again."""


class Moves:
    """Rule of ops that only move data: each element of a result is a copy of an operand's element, or a constant.

    If it `drops`, some elements of the operands may not be in the result; if it `fills`, some elements of the result
    may be constants. The parameters given take the place of the op's, so that constants become zero.
    """

    moves = True

    def __init__(self, *, drops: bool = True, fills: bool = True, **params: Any) -> None:
        self.drops = drops
        self.fills = fills
        self.params = params

    def numbers(self, site: Site) -> list[Any]:
        """Per output, of which element of which operand each element is a copy (`Site.offsets`); -1 for a constant."""
        return site.numbered(**self.params)

    def __call__(self, site: Site, i: int) -> list[Links]:
        """The links of operand i, per output."""
        first, count, whole = site.offsets()[i], site.size(i), site.offsets()[-1]
        found = self.numbers(site)
        return [[Link(n if count == whole else _within(n, first, count), None, count)] for n in found]


class _InOrder(Moves):
    """Rule of ops that keep all elements in C order, whatever happens to the shape."""

    in_order = True

    def numbers(self, site: Site) -> list[Any]:
        return [numbers(site.size(0))]

    def __call__(self, site: Site, i: int) -> list[Links]:
        return [[Link(None, None, site.size(i))]]


def scaled(**params: Any) -> Rule:
    """Rule of ops that give multiples of elements; with `params` in place of their own they would give copies."""

    def rule(site: Site, i: int) -> list[Links]:
        return Moves(**params)(site, i)

    rule.collects = True  # type: ignore[attr-defined]
    return rule


MOVES = Moves()
GATHERS = Moves(fills=False)
SCATTERS = Moves(drops=False)
REARRANGES = Moves(drops=False, fills=False)
IN_ORDER = _InOrder(drops=False, fills=False)


def _within(numbers: Any, first: int, count: int) -> np.ndarray:
    """Numbers counted from `first`; -1 where they do not lie in ``[first, first + count)``."""
    index = numbers - first if first else numbers
    if index.max(initial=0) < count and index.min(initial=0) >= -1:
        return index
    return np.where((index < 0) | (index >= count), -1, index)


# ---- sums of moves ---------------------------------------------------------------------------------------------------


def collected(forth: Callable[..., Any], undoes: Callable[..., Any] | None = None) -> Rule:
    """Rule of ops that add each element of operand 0 to one place of the result, or drop it.

    `forth` is the kernel of the move that this op is the transpose of: ``forth(numbers, *operands, **params)``, with
    numbers in the shape of the result, says for each element of operand 0 where it goes. Operand 0 among the `operands`
    stands for its shape only. `undoes` is the kernel of the op that is this move and takes the same parameters: its
    nodes are recognized by it.
    """

    def rule(site: Site, i: int) -> list[Links]:
        (shape,) = site.results
        count = math.prod(shape)
        operands = [site.other(j) for j in range(len(site.shapes))]
        places = forth(numbers(count, 1).reshape(shape), *operands, **site.params)
        return [[Link(None, np.ravel(places) - 1, count)]]

    rule.collects = rule.adds = True  # type: ignore[attr-defined]
    rule.undoes = undoes  # type: ignore[attr-defined]
    return rule


# ---- the same index along some axes ----------------------------------------------------------------------------------

Pairs = Sequence[tuple[int, int]]


def paired(shape: tuple[int, ...], out: tuple[int, ...], pairs: Pairs) -> Link:
    """Links elements with the same index along some axes: pairs of one of the result (`out`) and one of the operand.

    A pair one of which has size one links everything along it.
    """
    used = [(a % len(out), b % len(shape)) for a, b in pairs if out[a] == shape[b] != 1]
    dims = [out[a] for a, _ in used]
    return Link(_labels(out, [a for a, _ in used], dims), _labels(shape, [b for _, b in used], dims), math.prod(dims))


def _labels(shape: tuple[int, ...], axes: list[int], dims: list[int]) -> Labels:
    """Each element's index along `axes`, as one number; `dims` are the sizes of these axes."""
    count = math.prod(dims)
    if count == math.prod(shape) and axes == sorted(axes):
        return None
    if count == 1:
        return _alike(math.prod(shape))
    order = sorted(range(len(axes)), key=axes.__getitem__)
    labels = numbers(count).reshape(dims).transpose(order)
    spread = [d if axis in axes else 1 for axis, d in enumerate(shape)]
    return np.ravel(np.broadcast_to(labels.reshape(spread), shape))


def along(site: Site, i: int) -> list[Links]:
    """Rule of ops that work along the axes that the parameter ``axis`` names (None: all), keeping or reducing them."""
    rank, axis = len(site.shapes[i]), site.params["axis"]
    named = range(rank) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return _mixed(site, i, {a % rank for a in named})


def running(site: Site, i: int) -> list[Links]:
    """Rule of ops that go along the parameter ``axis``: each element depends on those up to its place, or before it.

    There is a link for each step. Where there are many, in a large pattern, half of its entries are not worth that.
    """
    shape, params = site.shapes[i], site.params
    steps = shape[params["axis"]]
    if steps < 2 or (steps > _STEPS and site.size(i) * steps > _EXACT):
        return along(site, i)
    ((link,),) = along(site, i)
    place = np.ravel(np.indices(shape, sparse=True)[params["axis"]] + np.zeros(shape, np.intp))
    if params["reverse"]:
        place = steps - 1 - place
    behind = int(params.get("exclusive", False))
    return [
        [
            Link(np.where(place >= k + behind, link.out, -1), np.where(place == k, link.operand, -1), link.labels)
            for k in range(steps - behind)
        ]
    ]


def along_first(site: Site, i: int) -> list[Links]:
    """Rule of ops that work along the first axis, behind the leading ones that the parameter ``lead`` counts."""
    return _mixed(site, i, {site.params.get("lead", 0)})


def _mixed(site: Site, i: int, axes: set[int]) -> list[Links]:
    shape = site.shapes[i]
    kept = [a for a in range(len(shape)) if a not in axes]
    return [
        [paired(shape, out, list(zip(kept if len(out) == len(shape) else range(len(kept)), kept, strict=True)))]
        for out in site.results
    ]


def rowwise(*cores: int, results: Sequence[int], pairs: Sequence[Pairs] = ()) -> Rule:
    """Rule of ops that broadcast over all but the last few axes, as a product of matrices does.

    `cores` says how many axes of each operand it works on, `results` how many of each output stand for these.
    ``pairs[i]`` are axes among those of operand i, counted from the end, along which it works for each index alone: of
    the output and of the operand.
    """

    def rule(site: Site, i: int) -> list[Links]:
        shape, core = site.shapes[i], cores[i]
        links: list[Links] = []
        for out, rest in zip(site.results, results, strict=True):
            common = min(len(shape) - core, len(out) - rest)
            leading = [(-rest - t, -core - t) for t in range(common, 0, -1)]
            links.append([paired(shape, out, [*leading, *(pairs[i] if pairs else ())])])
        return links

    return rule
