"""Functions of tensors that are evaluated at one point after another, and differentiated there: see `for_scipy`."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from engine.closed.function import ClosedFunction, build
from engine.core import nest
from engine.core.aval import Aval
from engine.core.batching import Batched, batch_level, unbatch
from engine.core.detach import is_raised_by_user, refusal
from engine.core.eager import EagerTensor
from engine.core.op import Node
from engine.core.python_state import State, Unknown, state_of
from engine.core.tape import Tape, paused
from engine.core.value import Value, aval_of, dtype_of, shape_of
from engine.core.variable import tracked_value
from engine.derivatives.reverse import live_path
from engine.jacobian.plan_cache import compiled_for
from engine.jacobian.planning.plan import Options
from engine.jacobian.second import UnknownShapesError, recorded_gradients
from engine.jacobian.structure.path import Path, contents_besides
from engine.jacobian.views.points import argument_of, result_of
from engine.numpy_api.manners import as_arrays
from engine.ops import complexes
from engine.ops.joining import stack
from engine.ops.reduce import reduce_sum
from engine.runtime.errors import SymbolicArrayError, UnimplementedError

Make = Callable[..., ClosedFunction]
Derived = tuple[ClosedFunction, list[Any]]
"""A compiled derivative and the arrays that it takes."""


class Evaluations:
    """A function that is evaluated at one point after another, and differentiated at the last one.

    Attributes
    ----------
    pairs : list of bool
        Which results hold complex numbers, as pairs of real ones in a last dimension of 2.
    seen : tuple of State, or None
        What `state` found, while `evaluate` is called right after it.
    """

    pairs: Sequence[bool] = ()
    seen: Any = None
    expected: tuple[Sequence[Any], Mapping[str, Any]] = ((), {})
    """Arguments besides the point that a call is likely to be given, as long as there has been none."""

    def __copy__(self) -> Evaluations:
        # pickles are another matter
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        return made

    def state(self, given: Sequence[Any]) -> Any:
        """All that the results depend on besides the point: equal as long as it and what is given are the same.

        Raises
        ------
        Unknown
            If that cannot be told.
        """
        raise Unknown

    def evaluate(self, parts: Sequence[np.ndarray], args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[np.ndarray]:
        """Go to a point; return the results there."""
        raise NotImplementedError

    def derived(self, make: Make, options: Options, sparsity: Any, ends: Any = None) -> Derived:
        """The derivative that `make` compiles, at this point.

        `ends`: (which target, which source) if not all targets, and not all sources if that is not None.
        """
        raise NotImplementedError

    def weighted(self, make: Make, options: Options, weights: Sequence[Any]) -> Derived:
        """The same for the sum of the results times weights of their shapes, None for what is left out."""
        raise NotImplementedError

    def columns(
        self, parts: Sequence[np.ndarray], args: Sequence[Any], kwargs: Mapping[str, Any], each: Sequence[bool]
    ) -> list[np.ndarray]:
        """The results at many points, which lie along the first axis of each part, and of `each` argument flagged."""
        found = []
        for i in range(len(parts[0])):
            given = [a[i] if flag else a for a, flag in zip(args, each, strict=True)]
            found.append(self.evaluate([part[i] for part in parts], given, kwargs))
        return [np.stack(results) for results in zip(*found, strict=True)]

    def total(self, each: Sequence[bool], size: int) -> Evaluations:
        """The sum over many points, which lie along the first axis of the point, and of `each` argument flagged."""
        raise UnimplementedError("for_scipy: one point after another")

    def paths(self, target: int | None = None) -> Iterator[Path | None]:
        """The ways from points to the results, or to one of them, with what is known of them at every point.

        There are several where Python decides; None if there may be others.
        """
        raise NotImplementedError


class Recorded(Evaluations):
    """A Python function of tensors, ``function(point, *args)``, recorded each time it is evaluated.

    So it may branch on values. `pack` makes the structure that it takes of tensors, `dtype` is that of the floating
    ones among `args`. If the point `is_real`, complex results are given as such, else as pairs, like the point.
    `example` is the example point; `given` tells what further arguments are like, if no call does.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        pack: Callable[[list[Any]], Any],
        dtype: np.dtype,
        is_real: bool = True,
        example: Sequence[np.ndarray] = (),
        given: Sequence[Any] = (),
    ) -> None:
        self._function, self._pack, self._dtype, self._is_real = function, pack, dtype, is_real
        self._tape = Tape(False, strict=True)
        # the arguments of the last call
        self._last: Any = example, given, {}
        self.expected = given, {}
        self._sources: list[Any] = []
        self._targets: list[Any] = []
        self._looked: State | None = None
        self._asked: State | None = None

    def __getstate__(self) -> dict[str, Any]:
        function: Any = self._function
        try:
            pickle.dumps(function)
        except (pickle.PicklingError, AttributeError, TypeError):
            # a lambda, or what is defined inside a function: it goes as the program that it is
            function = self._as_program()
        state = {"_function": function, "_pack": self._pack, "_dtype": self._dtype, "_is_real": self._is_real}
        forgotten = dict.fromkeys(("_tape", "_looked", "_asked"))
        return {**state, **forgotten, "_sources": [], "_targets": [], "_last": self._last}

    def _as_program(self) -> Program:
        """The function for arguments like the last ones; variables keep the values that they have now."""
        parts, args, kwargs = self._last
        given = [self.argument(a) for a in args]
        named = {key: self.argument(a) for key, a in kwargs.items()}
        leaves = [x for x in (*given, *named.values()) if isinstance(x, EagerTensor)]

        def traced(body: Any, values: Sequence[Any]) -> list[Any]:
            of = {id(x): v for x, v in zip(leaves, values[len(parts) :], strict=True)}
            point = self._pack(list(values[: len(parts)]))
            more = {key: of.get(id(x), x) for key, x in named.items()}
            with as_arrays():
                found = self._function(point, *[of.get(id(x), x) for x in given], **more)
            return [result_of(y, self._dtype) for y in nest.flatten(found)]

        avals = [aval_of(x) for x in (*map(EagerTensor, parts), *leaves)]
        try:
            return Program(build([Aval(a.shape, a.dtype) for a in avals], traced))
        except (TypeError, SymbolicArrayError) as error:
            raise pickle.PicklingError(
                f"for_scipy: the function is no module's, so it is pickled as the program that it is; it cannot be "
                f"traced: {error}. Define it at the top of a module, or call `fun` with its arguments before"
            ) from error

    def columns(
        self, parts: Sequence[np.ndarray], args: Sequence[Any], kwargs: Mapping[str, Any], each: Sequence[bool]
    ) -> list[np.ndarray]:
        """The results at many points at once, which lie along the first axis of each part."""
        given = [self.argument(a) for a in args]
        named = {key: self.argument(a) for key, a in kwargs.items()}
        with paused():
            found = self._at_once([EagerTensor(part) for part in parts], given, named, each, len(parts[0]))
            return [np.asarray(x._array) for x in found]

    def _at_once(
        self, parts: Sequence[Any], args: Sequence[Any], kwargs: Mapping[str, Any], each: Sequence[bool], size: int
    ) -> list[Any]:
        with batch_level() as level, as_arrays():
            point = self._pack([Batched(part, level) for part in parts])
            given = [Batched(a, level) if flag else a for a, flag in zip(args, each, strict=True)]
            found = [result_of(y, self._dtype) for y in nest.flatten(self._function(point, *given, **kwargs))]
            self.pairs = [self._is_real and dtype_of(y).is_complex for y in found]
            return [unbatch(as_pairs(y), level, size) for y in found]

    def total(self, each: Sequence[bool], size: int) -> Evaluations:
        """The sum over many points, which lie along the first axis of the point."""

        def summed(points: Any, *args: Any, **kwargs: Any) -> Any:
            (found,) = self._at_once([points], args, kwargs, each, size)
            if len(shape_of(found) or ()) != 1:
                raise UnimplementedError("for_scipy: the function gives more than a number")
            return reduce_sum(found)

        return Recorded(summed, lambda parts: parts[0], self._dtype)

    def evaluate(self, parts: Sequence[np.ndarray], args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[np.ndarray]:
        """Record the function at a point."""
        self._last = parts, args, kwargs
        self._record()
        return [y._array for y in self._targets]

    def _record(self, choices: list[bool] | None = None) -> None:
        """Record the function at the last point; `choices` are what Python is told of the truth of tensors."""
        parts, args, kwargs = self._last
        self._tape = Tape(False, strict=True)
        self._tape.choices = choices
        self._sources = self._placed(parts)
        for x in self._sources:
            self._tape.watch(x)
        given = [self.argument(a) for a in args]
        named = {key: self.argument(a) for key, a in kwargs.items()}
        try:
            self._targets = self._recorded(lambda: self.called(self._sources, given, named))
        finally:
            # also where NumPy has put another error in its place
            refused = refusal(self._tape)
            if refused is not None:
                raise refused from None

    def state(self, given: Sequence[Any]) -> Any:
        """All that the Python function sees."""
        seen = () if isinstance(self._function, Program) else (self._function,)
        # apart, as a time or a step is another one at each point
        self._looked, self._asked = state_of(*seen, last=self._looked), state_of(*given, last=self._asked)
        return self._looked, self._asked

    def argument(self, x: Any) -> Any:
        """An argument as the function gets it: arrays and floating numbers as tensors."""
        return argument_of(x, self._dtype)

    def called(self, sources: Sequence[Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        """The results of the function, real ones."""
        with as_arrays():
            found = self._function(self._pack(list(sources)), *args, **kwargs)
        results = [result_of(y, self._dtype) for y in nest.flatten(found)]
        self.pairs = [self._is_real and dtype_of(y).is_complex for y in results]
        return [as_pairs(y) for y in results]

    def _placed(self, parts: Sequence[np.ndarray]) -> list[Any]:
        """The point as what the function is differentiated with respect to."""
        return [EagerTensor(part) for part in parts]

    def derived(self, make: Make, options: Options, sparsity: Any, ends: Any = None) -> Derived:
        """The derivative of the recording."""
        targets, sources = self._targets, self._sources
        check_all_implemented(self._tape, sources, targets)
        if ends is not None:
            targets = [targets[ends[0]]]
            sources = sources if ends[1] is None else [sources[ends[1]]]
        return _compiled(self._tape.nodes, sources, targets, options, sparsity, make)

    def weighted(self, make: Make, options: Options, weights: Sequence[Any]) -> Derived:
        """The same for the weighted sum, which is recorded in addition."""
        check_all_implemented(self._tape, self._sources, self._targets)
        before = self._tape.nodes
        self._tape.nodes = before.copy()
        pairs = [(y, EagerTensor(w)) for y, w in zip(self._targets, weights, strict=True) if w is not None]
        sums = self._recorded(lambda: [reduce_sum(y * w) for y, w in pairs])
        nodes, self._tape.nodes = self._tape.nodes, before
        return _compiled(nodes, self._sources, sums, options, None, make)

    def paths(self, target: int | None = None) -> Iterator[Path | None]:
        """The recording, or one for each way that Python's decisions allow.

        Indices that were computed in it, and may be others elsewhere, are not known.
        """
        if not self._decides():
            yield self._path(target)
            return
        before = self._tape, self._sources, self._targets, self.pairs
        shapes, pending = [y._shape for y in self._targets], [[False] * 0]
        try:
            for _ in range(_MOST_WAYS):
                choices = pending.pop()
                ended = self._ends_with(choices)
                chosen = self._tape.chosen
                pending += [[*chosen[:k], not chosen[k]] for k in range(len(choices), len(chosen))]
                if ended is None or self._decides() or (ended and [y._shape for y in self._targets] != shapes):
                    break
                if ended:
                    yield self._path(target)
                if not pending:
                    return
            yield None
        finally:
            self._tape, self._sources, self._targets, self.pairs = before

    def _decides(self) -> bool:
        """Whether Python looked at a tensor whose contents are others at other points."""
        return any(self._tape.depends(tracked_value(value)) for value, *_ in self._tape.left.values())

    def _ends_with(self, choices: list[bool]) -> bool | None:
        """Record the function with other choices; whether it returns, None if what it raises is not by them alone."""
        try:
            self._record(choices)
        except Exception as error:  # noqa: BLE001 - what an op refuses here it may take at another point
            return False if is_raised_by_user(error) else None
        return True

    def _path(self, target: int | None) -> Path:
        known = contents_besides(self._tape.everything(), self._sources)
        targets = self._targets if target is None else [self._targets[target]]
        return Path(self._tape.nodes, self._sources, targets, known=known)

    def _recorded(self, function: Callable[[], list[Any]]) -> list[Any]:
        with paused():
            self._tape.start()
            return function()


def _compiled(
    nodes: Sequence[Node], sources: list[Any], targets: list[Any], options: Options, sparsity: Any, make: Make
) -> Derived:
    """A derivative; the Hessian of what has shapes that follow from contents is made of gradients at this point."""
    try:
        return compiled_for(nodes, sources, targets, options, sparsity, make)
    except UnknownShapesError:
        nodes, targets = recorded_gradients(nodes, sources, targets)
        return compiled_for(nodes, sources, targets, options, sparsity)


_MOST_WAYS = 64
"""Ways through a function that are looked for; if there are more, any entry may be different from zero."""


def as_pairs(x: Any) -> Any:
    """Complex elements as pairs of real ones, in a last dimension of 2; others as they are."""
    return stack([complexes.real(x), complexes.imag(x)], -1) if dtype_of(x).is_complex else x


class Program:
    """A function that was traced, in place of the Python function: what pickles if that does not."""

    def __init__(self, closed: ClosedFunction) -> None:
        self._closed = closed

    def __call__(self, point: Any, *args: Any, **kwargs: Any) -> list[Any]:
        """The results, one after another."""
        leaves = [x for x in nest.flatten([point, *args, *kwargs.values()]) if isinstance(x, Value)]
        return self._closed.inline(None, leaves)


def check_all_implemented(nodes: Tape | Sequence[Node], sources: Sequence[Any], targets: Sequence[Any]) -> None:
    """Raise where a path from a source to a target ends at a derivative that is not implemented, which is not zero.

    Raises
    ------
    UnimplementedError
    """
    if isinstance(nodes, Tape):
        used = {*nodes.nodes.log[::4], *[node.op for _, node in nodes.nondifferentiable.values()]}
        if not any(op.smooth for op in used):
            return
        nodes = nodes.everything()
    _, live = live_path(nodes, {id(x) for x in sources}, set())
    feeds = {id(y) for y in targets}
    for node in reversed(nodes):
        if feeds.isdisjoint(map(id, node.outputs)):
            continue
        for i, x in enumerate(node.inputs):
            if node.carries(i):
                feeds.add(id(x))
            elif i in node.op.smooth and id(x) in live:
                raise UnimplementedError(
                    f"for_scipy: the function depends on its point by the operand `{node.op.args[i]}` of "
                    f"{node.op.title}, and the derivative in it is not implemented. Keep that operand constant, or "
                    f"give the function a derivative of your own (tf.primitive)"
                )
