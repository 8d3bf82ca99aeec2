"""Tensors of a graph as a function for SciPy: evaluated by running the graph, differentiated at the last point."""

from __future__ import annotations

import functools
import math
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from engine.closed.function import ClosedFunction, build
from engine.compiler.ir.instruction import is_stateful
from engine.core import nest
from engine.core.aval import Aval
from engine.core.dtypes import as_dtype
from engine.core.instantiate import in_trace, instantiate
from engine.core.python_state import Same, State, Unknown, state_of
from engine.core.trace import Symbol, constant_value, needed_nodes
from engine.core.value import dtype_of
from engine.core.variable import read_variable, tracked_value, variable_handle
from engine.jacobian.deferred_specialization import PathCopy, is_known
from engine.jacobian.planning.plan import Options
from engine.jacobian.second import compiled_gradient
from engine.jacobian.structure.path import Path
from engine.jacobian.views.evaluations import Derived, Evaluations, Make, Program, Recorded, check_all_implemented
from engine.ops.reduce import reduce_sum
from engine.runtime.cache import Cache
from engine.runtime.errors import InvalidArgumentError
from engine.transforms.symbolic import ancestors

_FEW = 1 << 12
"""Numbers in all that a function computes, whose gradient is computed with it: it costs no more than the calls."""
_CAPACITY = 64
"""Combinations of shapes that a derivative is kept for."""


class Fetched(Evaluations):
    """Tensors of a graph as a function of others.

    Beside the results, a run is asked for what the derivatives in use are computed from. So they cost no second
    evaluation. ``run(fetches, feed)`` does it as a session, with `feed` in each run, and further arguments fed to
    `arguments`. At each point `fetches` is evaluated, too, and left in `fetched`. ``held(handles)`` tells where
    variables are held, and what they hold there. A gradient of few numbers is computed in the run itself if that is
    `in_trace`, which may get more nodes.
    """

    def __init__(
        self,
        ys: list[Any],
        xs: list[Any],
        run: Callable[[Any, dict[Any, Any]], Any],
        arguments: Sequence[Any] = (),
        feed: Mapping[Any, Any] | None = None,
        fetches: Any = (),
        held: Callable[[Sequence[Any]], Sequence[Any]] | None = None,
        in_trace: bool = False,
    ) -> None:
        self._in_trace = in_trace
        self._ys, self._xs, self._arguments = ys, xs, list(arguments)
        self._call, self._always, self._fetches, self._held = run, dict(feed or {}), fetches, held
        self.fetched: Any = None
        self._wanted: dict[int, Any] = {}
        self._looked: State | None = None
        self._arrays: dict[int, Any] = {}
        self._feed: dict[Any, Any] = {}
        self._made: Cache[Any, tuple[list[Any], Callable[[Sequence[Any]], Derived]]] = Cache(
            "derivatives for SciPy", _CAPACITY, key="the tensors; kind of derivative, options, ends"
        )
        self._sums: dict[tuple[int, ...], tuple[dict[int, Any], list[Any]]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        # without the graph: as the program that it is, with the values that variables have now
        if any(self.pairs):
            raise pickle.PicklingError("for_scipy: complex results of a graph cannot be pickled; give their parts")
        inputs = [*self._xs, *self._arguments]
        given = [id(tracked_value(x)) for x in inputs]
        needed = needed_nodes(self._ys[0].trace.nodes, self._ys, set(given))
        reads = [n.outputs[0] for n in needed if n.op is read_variable and id(n.inputs[0]) not in given]
        held = self._call(reads, dict(self._always)) if reads else []

        def copied(body: Any, values: Sequence[Any]) -> list[Any]:
            of = dict(zip(given, values, strict=True))
            # what is read of a variable that is a source is the point
            of |= {
                id(n.outputs[0]): of[id(n.inputs[0])] for n in needed if n.op is read_variable and id(n.inputs[0]) in of
            }
            of |= {id(r): body.constant(np.asarray(a)) for r, a in zip(reads, held, strict=True)}
            left = [n for n in needed if n.op is not variable_handle and not any(id(o) in of for o in n.outputs)]
            instantiate(left, of, in_trace(body))
            return [of[id(y)] for y in self._ys]

        closed = build([Aval(x.aval.shape, x.aval.dtype) for x in inputs], copied)
        return Recorded, (Program(closed), list, self._xs[0].dtype.numpy)

    def state(self, given: Sequence[Any]) -> Any:
        """The values of the variables that are read, unless something in the graph is another thing each time."""
        if self._held is None or self._handles is None:
            raise Unknown
        self._looked = state_of(*given, *self._always.values(), last=self._looked)
        return list(map(Same, self._held(self._handles))), self._looked

    @functools.cached_property
    def _handles(self) -> list[Any] | None:
        """The variables that are read; None if something in the graph is another thing each time."""
        given = {id(tracked_value(x)) for x in (*self._xs, *self._arguments, *self._always)}
        wanted = [tracked_value(x) for x in (*self._ys, *nest.flatten(self._fetches))]
        if not all(isinstance(x, Symbol) for x in wanted):
            return None
        needed = needed_nodes(self._ys[0].trace.nodes, wanted, given)
        needed = [n for n in needed if not any(id(o) in given for o in n.outputs)]
        if any(n.op is not variable_handle and is_stateful(n.op, n.params) for n in needed):
            return None
        return [n.outputs[0] for n in needed if n.op is variable_handle]

    def evaluate(self, parts: Sequence[np.ndarray], args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[np.ndarray]:
        """Feed a point, fetch the results. A keyword is the name of one of the tensors that arguments are fed to."""
        if not (args or kwargs or self._arguments):
            return self._results(self._xs, parts)
        # symbols of a plain trace have no names
        names = [getattr(t, "name", "").rpartition(":")[0] for t in self._arguments]
        if unknown := [key for key in kwargs if key not in names[len(args) :]]:
            raise InvalidArgumentError(
                f"for_scipy: got the argument `{unknown[0]}`, and none of the placeholders in `args` that are left has "
                f"this name; there are: {', '.join(names) or 'none'}"
            )
        given = [*args, *[kwargs[name] for name in names[len(args) :] if name in kwargs]]
        if len(given) != len(names):
            raise InvalidArgumentError(f"for_scipy: expected {len(names)} further arguments; got {len(given)}")
        return self._results([*self._xs, *self._arguments], [*parts, *given])

    def _results(self, fed: Sequence[Any], arrays: Sequence[Any]) -> list[np.ndarray]:
        self._feed = dict(zip(fed, arrays, strict=True))
        self._arrays = {}
        *found, self.fetched = self._fetched([*self._ys, self._fetches], list(self._wanted.values()))
        return [np.asarray(a) for a in found]

    def derived(self, make: Make, options: Options, sparsity: Any, ends: Any = None) -> Derived:
        """The derivative at the point fed last."""
        key = make, options, ends
        made = self._made.get(key)
        if made is None:
            ys, xs = (self._ys, self._xs) if ends is None else ([self._ys[ends[0]]], self._xs)
            if ends is not None and ends[1] is not None:
                xs = [self._xs[ends[1]]]
            path = _path(ys, xs)
            is_small = self._in_trace and make is compiled_gradient and is_known(path) and _size(path) <= _FEW
            made = self._made.put(
                key, _inlined(path, options) if is_small else _derivative(path, make, options, sparsity)
            )
        tensors, derived_at = made
        return derived_at(self._kept(tensors))

    def weighted(self, make: Make, options: Options, weights: Sequence[Any]) -> Derived:
        """The same for the weighted sum, which becomes part of the graph."""
        chosen = tuple([i for i, w in enumerate(weights) if w is not None])
        if chosen not in self._sums:
            places = {i: self._ys[i].trace.placeholder(Aval(weights[i].shape, dtype_of(self._ys[i]))) for i in chosen}
            self._sums[chosen] = places, [reduce_sum(self._ys[i] * w) for i, w in places.items()]
        places, sums = self._sums[chosen]
        key = make, options, chosen
        made = self._made.get(key) or self._made.put(key, _derivative(_path(sums, self._xs), make, options, None))
        tensors, derived_at = made
        return derived_at(self._run(tensors, {place: weights[i] for i, place in places.items()}))

    def paths(self, target: int | None = None) -> Iterator[Path | None]:
        """The way in the graph."""
        path = _path(self._ys if target is None else [self._ys[target]], self._xs)
        if not is_known(path):
            copy = PathCopy(path)
            path = copy.filled(_avals(self._kept([path.values[k] for k in copy.taken])))[2]
        yield path

    def _kept(self, tensors: Sequence[Any]) -> list[Any]:
        """Arrays of tensors at this point. What is asked for once is fetched with the results from then on."""
        missing = [t for t in tensors if id(t) not in self._arrays]
        if missing:
            self._wanted.update({id(t): t for t in missing})
            self._fetched([], missing)
        return [self._arrays[id(t)] for t in tensors]

    def _fetched(self, results: Sequence[Any], also: Any) -> list[Any]:
        """Results, and what is kept for derivatives."""
        also = list(also)
        arrays = self._run([*results, *also], {})
        self._arrays.update(zip(map(id, also), arrays[len(results) :], strict=True))
        return arrays[: len(results)]

    def _run(self, tensors: Sequence[Any], feed: dict[Any, Any]) -> list[Any]:
        arrays: list[Any] = self._call(list(tensors), {**self._always, **self._feed, **feed})
        return arrays


def _derivative(
    path: Path, make: Make, options: Options, sparsity: Any
) -> tuple[list[Any], Callable[[Sequence[Any]], Derived]]:
    """A derivative on a path, compiled once; where shapes are not known, once for each combination of shapes.

    It is given as the tensors that it takes, or that tell the shapes, and a function from their arrays to the
    derivative.
    """
    if is_known(path):
        closed = make(path, options, sparsity)
        return [path.values[slot] for slot in closed.captures], lambda arrays: (closed, list(arrays))
    copy = PathCopy(path)
    made: Cache[Any, tuple[ClosedFunction, list[Any]]] = Cache("derivatives of graphs", _CAPACITY, key="shapes")

    def derived_at(arrays: Sequence[Any]) -> Derived:
        key = tuple([np.shape(a) for a in arrays])
        found, constants = made.get(key) or made.put(key, _for_shapes(copy, arrays, make, options, sparsity))
        pool = [*arrays, *constants]
        return found, [pool[i] for i in found.captures]

    return [path.values[k] for k in copy.taken], derived_at


def _inlined(path: Path, options: Options) -> tuple[list[Any], Callable[[Sequence[Any]], Any]]:
    """A gradient as further tensors of the trace."""
    closed = compiled_gradient(path, options, None)
    found = closed.inline(path.values[path.sources[0]].trace, [path.values[slot] for slot in closed.captures])
    (row,) = closed.form
    return [found[k] for k in row], lambda arrays: (lambda *them: [them], arrays)


def _size(path: Path) -> int:
    return sum(math.prod(d or 0 for d in x.aval.shape or ()) for x in path.values if isinstance(x, Symbol))


def _for_shapes(
    copy: PathCopy, arrays: Sequence[Any], make: Make, options: Options, sparsity: Any
) -> tuple[ClosedFunction, list[Any]]:
    """The derivative, which captures some of the arrays and of the constants after them; and these constants."""
    _, parameters, path = copy.filled(_avals(arrays))
    closed = make(path, options, sparsity)
    place = {id(p): i for i, p in enumerate(parameters)}
    constants: list[Any] = []
    for x in [path.values[slot] for slot in closed.captures]:
        if id(x) not in place:
            place[id(x)] = len(arrays) + len(constants)
            constants.append(constant_value(x))
    if any(c is None for c in constants):
        raise InvalidArgumentError(
            "for_scipy: `y` is made of a Jacobian of unknown shape; set the shapes with set_shape"
        )
    captures = [place[id(path.values[slot])] for slot in closed.captures]
    return closed.like(captures=captures), [np.asarray(c) for c in constants]


def _path(ys: Sequence[Any], xs: Sequence[Any]) -> Path:
    sources = [tracked_value(x) for x in xs]
    nodes = ancestors(ys, sources)
    check_all_implemented(nodes, sources, ys)
    return Path(nodes, sources, ys)


def _avals(arrays: Sequence[Any]) -> list[Aval]:
    return [Aval(np.shape(a), as_dtype(a.dtype)) for a in arrays]
