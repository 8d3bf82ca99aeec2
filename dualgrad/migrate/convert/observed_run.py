"""Observation of a program, as far as its conversion needs it: graphs, gradients, steps of optimizers, runs.

While `capturing`, `gradients`, optimizers and sessions say what they are asked; otherwise they are as always. What
they add to a graph is then not a heap of nodes but one call that tape code can make too.
"""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from types import FrameType, NoneType
from typing import Any, TypeVar

import numpy as np

from dualgrad.frontend import overrides
from dualgrad.frontend.flow.closures import Closure
from dualgrad.migrate import watch
from dualgrad.migrate.convert.calls import Written, noting
from dualgrad.migrate.patching import replaced
from dualgrad.migrate.recorder import needed
from dualgrad.migrate.watch import watching
from engine.core.operands import Operation
from engine.core.trace import constant, placeholder
from engine.core.variable import Variable
from engine.derivatives.custom import CustomGradient, _Rule, custom_call
from engine.runtime.errors import InvalidArgumentError
from engine.transforms.symbolic import as_list
from graph_api import sampling
from graph_api.data import InGraph
from graph_api.derivatives import gradients, jacobians
from graph_api.graphs.graph import Graph, get_default_graph
from graph_api.graphs.tensor import Tensor
from graph_api.graphs.variable import Variable as GraphVariable
from graph_api.legacy.monitored import MonitoredSession
from graph_api.saving import Saver
from graph_api.summaries import FileWriter
from optim import optimizer
from optim.averages import ExponentialMovingAverage
from optim.external import ScipyOptimizerInterface
from optim.optimizer import Optimizer

GRADIENTS = ((gradients, "symbolic_gradients"), (jacobians, "symbolic_gradients"), (optimizer, "gradients"))
"""Where modules look the function up that adds derivatives to a graph."""
CHANGES = object()
"""The meaning of a name that stands for different things."""


@dataclass(eq=False)
class Span:
    """The nodes of a graph that one call added: from number `first` up to, but not including, `last`."""

    graph: Graph
    first: int
    last: int = 0


@dataclass(eq=False)
class Gradient(Span):
    """A call of `gradients` or `hessians`. `results` has a tensor or None per x; `method` is that of a tape."""

    ys: list[Any] = field(default_factory=list)
    xs: list[Any] = field(default_factory=list)
    grad_ys: list[Any] | None = None
    aggregation: Any = None
    zeros: bool = False
    results: list[Any] = field(default_factory=list)
    method: str = "gradient"


@dataclass(eq=False)
class Step(Span):
    """A call of an optimizer's `apply_gradients`, also by `minimize`."""

    optimizer: Any = None
    pairs: list[tuple[Any, Any]] = field(default_factory=list)
    global_step: Any = None
    result: Any = None


@dataclass(eq=False)
class Averaging(Span):
    """A call of `ExponentialMovingAverage.apply` for variables."""

    averages: Any = None
    variables: list[Any] = field(default_factory=list)


@dataclass(eq=False)
class Minimizer(Span):
    """A `ScipyOptimizerInterface`, with the arguments that it was made with; `watched` is what a callback gets."""

    interface: Any = None
    loss: Any = None
    variables: list[Any] = field(default_factory=list)
    equalities: list[Any] = field(default_factory=list)
    inequalities: list[Any] = field(default_factory=list)
    bounds: dict[Any, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    watched: list[Any] = field(default_factory=list)


@dataclass(eq=False)
class Draw(Span):
    """A call of a random function: its name and arguments, and the seeds of its own and of the graph, if any."""

    function: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)
    seed: int | None = None
    program: int | None = None
    result: Any = None


@dataclass(eq=False)
class Called(Span):
    """A call of a public function of which no more is known than what it was given and gave."""

    place: str = ""
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    result: Any = None


@dataclass(eq=False)
class Flow(Span):
    """A choice or loop, with the nodes that its functions added: what `Closure.apply` was given and gave."""

    closure: Any = None
    node: Any = None
    outputs: list[Any] = field(default_factory=list)


@dataclass(eq=False)
class Pulled(Span):
    """The nodes that a gradient function of the program's added when it was first asked, what it was given and gave.

    `names` are those of its parameters, as far as they are known.
    """

    names: list[str] = field(default_factory=list)
    cotangents: list[Any] = field(default_factory=list)
    gradients: list[Any] = field(default_factory=list)


@dataclass(eq=False)
class Custom(Span):
    """A call of a function that has a gradient of its own, under the name of the function or of that gradient.

    The last node, `node`, passes on what the others compute; `pulled` is None if its gradient was never taken.
    """

    name: str = ""
    names: list[str] = field(default_factory=list)
    node: Any = None
    pulled: Pulled | None = None


@dataclass(eq=False)
class OptimizerCall:
    """How an optimizer was made: its class, the arguments that were given, its parameters, and the program's line."""

    kind: type
    arguments: dict[str, Any]
    parameters: tuple[str, ...] = ()
    line: int = 0


@dataclass(eq=False)
class Frame:
    """A call that was going on: its function, the expression that it was evaluating, and what names stood for.

    Of the program's top only plain values are kept.
    """

    line: int
    name: str
    extent: tuple[int, int, int, int]
    known: dict[str, Any]


@dataclass(eq=False)
class Making:
    """How a variable or constant came to be: its array, how many were made before, and the frames of the program.

    The innermost is first. There are none where other modules of the program's own had a part in it.
    """

    array: np.ndarray
    number: int
    frames: list[Frame]


@dataclass(eq=False)
class Run:
    """A request to a session: elements of the graph, what was fed, and the lines of the program that asked.

    `resets` says that it has changed variables that had values. `calls` has, for each of the expressions that asked,
    how the results were put together there: `shape_of`. `taken` are the nodes that take elements of iterators
    (`iterating`). `within` are the lines of the program that were being run, of functions that called others too.
    """

    graph: Graph
    flat: list[Any]
    feeds: list[Any]
    sites: list[tuple[str, int]] = field(default_factory=list)
    resets: bool = False
    calls: dict[tuple[int, int, int, int], set[str]] = field(default_factory=dict)
    taken: list[Any] = field(default_factory=list)
    within: set[tuple[str, int]] = field(default_factory=set)


@dataclass
class Capture:
    """All that was noted while a program ran.

    Attributes
    ----------
    runs : dict
        By what was asked, so that a training loop is one entry.
    written : dict
        By the identity of a call, how it can be written, as far as that was asked.
    optimizers : dict
        By the identity of the optimizer; `kept` keeps those identities valid.
    added : dict
        The lines of the program that added something to event files: a ``"graph"``, ``"fetched"`` summaries, or
        summaries of the program's own, of ``"scalars"`` or ``"other"`` things.
    locals : dict
        By the line where a function begins, what its names stood for when it ran a session, or when it ended;
        `CHANGES` if that changed.
    savers : dict
        By the line of the program that made it, a saver and the options that it was given.
    monitored : dict
        By the line of the program that made it, a monitored session.
    names : dict
        Global names of the program, and what they stood for in the end.
    makings : dict
        By the identity of a variable or of a tensor that are given arrays, how they came to be.
    objects : dict
        By class of the program that has a constructor, its objects in the order in which they were made.
    sessions : dict
        By the identity of a graph, the sessions that ran it.
    shuffles : dict
        By file and place of the call that shuffles a data set without a seed of its own, the seeds that the graph
        chose, or none.
    """

    gradients: list[Gradient] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    averagings: list[Averaging] = field(default_factory=list)
    minimizers: list[Minimizer] = field(default_factory=list)
    draws: list[Draw] = field(default_factory=list)
    flows: list[Flow] = field(default_factory=list)
    calls: list[Called] = field(default_factory=list)
    customs: list[Custom] = field(default_factory=list)
    written: dict[int, Written | None] = field(default_factory=dict)
    variables: list[Any] = field(default_factory=list)
    creations: list[Span] = field(default_factory=list)
    made_on: dict[int, list[watch.Site]] = field(default_factory=dict)
    runs: dict[Any, Run] = field(default_factory=dict)
    optimizers: dict[int, OptimizerCall] = field(default_factory=dict)
    kept: list[Any] = field(default_factory=list)
    added: dict[watch.Site, set[str]] = field(default_factory=dict)
    locals: dict[int, dict[str, Any]] = field(default_factory=dict)
    savers: dict[watch.Site, tuple[Any, dict[str, Any]]] = field(default_factory=dict)
    monitored: dict[watch.Site, Any] = field(default_factory=dict)
    names: dict[str, Any] = field(default_factory=dict)
    makings: dict[int, Making] = field(default_factory=dict)
    objects: dict[str, list[Any]] = field(default_factory=dict)
    sessions: dict[int, list[Any]] = field(default_factory=dict)
    shuffles: dict[tuple[str, tuple[int, int, int, int]], set[Any]] = field(default_factory=dict)

    def note_run(self, seen: watch.Run) -> None:
        """Note a run, unless it failed for another reason than what it was given."""
        is_fed = seen.error is None or all(node.op is not placeholder for node in needed(seen))
        if seen.error is not None and not (isinstance(seen.error, InvalidArgumentError) and is_fed):
            return
        key = (id(seen.graph), tuple(map(id, seen.flat)), tuple(map(id, seen.feeds)))
        run = self.runs.setdefault(key, Run(seen.graph, seen.flat, seen.feeds))
        for made in self.minimizers if seen.minimizes else ():
            if made.interface.operation is seen.flat[0]:
                made.watched = made.watched or seen.watched
        if seen.site not in run.sites:
            run.sites.append(seen.site)
        sessions = self.sessions.setdefault(id(seen.graph), [])
        sessions += [] if any(s is seen.session for s in sessions) else [seen.session]
        others = len(sessions) > 1
        if not run.resets and not seen.feeds:
            before, after = seen.variables("before"), seen.variables("after")
            # what another thread is changing at this moment is not there
            run.resets = any(x is not (y := after.get(name, x)) and np.any(x != y) for name, x in before.items())
            # another session begins with variables that have no values
            run.resets |= others and not after.keys() <= before.keys()
        frame = watch.user_frame()
        run.calls.setdefault(_extent(frame), set()).add(shape_of(seen.shape))
        while frame is not None:
            if watch.is_users(frame.f_code.co_filename):
                self.note_locals(frame)
                run.within.add((frame.f_code.co_filename, frame.f_lineno))
            frame = frame.f_back  # type: ignore[assignment]

    def note_value(self, x: Any, node: Any) -> None:
        """Note how a variable or tensor came to be, if `node`, which gives its value, is an array."""
        array = np.asarray(node.params["value"]) if node.op is constant else np.asarray("")  # of no kind below
        if array.dtype.kind in "fiuO":
            self.makings[id(x)] = Making(array, len(self.makings), _frames(watch.user_frame(2)))

    def note_locals(self, frame: FrameType) -> None:
        """Note what the names of a function stand for, unless that changes."""
        if frame.f_code.co_name == "<module>":
            return
        if frame.f_code.co_name == "__init__" and frame.f_code.co_argcount:
            made = frame.f_locals.get(frame.f_code.co_varnames[0])
            found = self.objects.setdefault(type(made).__name__, [])
            found += [] if any(x is made for x in found) else [made]
        kept = self.locals.setdefault(frame.f_code.co_firstlineno, {})
        for name, value in frame.f_locals.items():
            if kept.setdefault(name, value) is not value:
                kept[name] = CHANGES

    def _hessians(self, graph: Graph, first: int, result: list[Any], ys: Any, xs: Any, **options: Any) -> None:
        plain = not set(options) - {"name", "aggregation_method"}
        if plain and len(as_list(ys)) == 1:
            found = Gradient(graph, first, len(graph.nodes), [_tensor(y) for y in as_list(ys)], as_list(xs))
            found.aggregation, found.results = options.get("aggregation_method"), list(result)
            found.method = "hessian"
            self.gradients.append(found)

    def called(self, place: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a public function, and note what nodes that makes."""
        graph = get_default_graph()
        first = len(graph.nodes)
        result = function(*args, **kwargs)
        if place == "hessians":
            self._hessians(graph, first, result, *args, **kwargs)
        elif len(graph.nodes) > first:
            self.calls.append(Called(graph, first, len(graph.nodes), place, args, kwargs, result))
        return result


def shape_of(shape: Any) -> str:
    """How results are put together, as an expression with ``@0, @1, ...`` in it; ``?`` where none says that.

    >>> shape_of([0, (1, {"b": 2})])
    "[@0, (@1, {'b': @2})]"
    """
    if isinstance(shape, int):
        return f"@{shape}"
    if type(shape) is dict:
        return "{" + ", ".join(f"{key!r}: {shape_of(value)}" for key, value in shape.items()) + "}"
    if not isinstance(shape, (list, tuple)):
        return "?"
    inside = ", ".join(map(shape_of, shape))
    if type(shape) is list:
        return f"[{inside}]"
    if type(shape) is tuple:
        return f"({inside}{',' * (len(shape) == 1)})"
    named = getattr(shape, "_fields", None)
    return (
        f'namedtuple("{type(shape).__name__}", "{" ".join(named)}")({inside})'
        if named and type(shape).__name__.isidentifier()
        else "?"
    )


def _extent(frame: FrameType) -> tuple[int, int, int, int]:
    """From where to where the call goes that a frame is making."""
    line, end, column, end_column = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None))
    return line or frame.f_lineno, column or 0, end or frame.f_lineno, end_column or 0


def _frames(frame: FrameType | None) -> list[Frame]:
    """The program's frames, from the given one outwards."""
    found = []
    while frame is not None:
        code = frame.f_code
        if watch.is_users(code.co_filename):
            if frame.f_globals.get("__name__") != "__main__":
                return []
            # Python 3.12 loses names of a comprehension at the top of a module if one looks at the locals there
            own = frame.f_globals if code.co_name == "<module>" else frame.f_locals
            plain = code.co_name != "<module>"
            known = {n: v for n, v in own.items() if plain or type(v) in (int, float, str, bool, list, tuple)}
            found.append(Frame(code.co_firstlineno, code.co_name, _extent(frame), known))
            if code.co_name == "<module>":
                break
        frame = frame.f_back
    return found


@contextmanager
def capturing(named: frozenset[str] | None = None) -> Iterator[Capture]:
    """Note what is done inside of the `with` block.

    Parameters
    ----------
    named : frozenset of str, optional
        The names of public functions of which calls are noted, by default all of them.
    """
    capture = Capture()
    changes = [(owner, name, partial(note, capture)) for owner, name, note in _NOTED]
    with replaced(*changes), noting(capture.called, named), watching(capture.note_run):
        yield capture


_NOTED: list[tuple[Any, str, Callable[..., Any]]] = []
"""Functions of the library, and what is called in their places: with what was captured and the function first."""
_Note = TypeVar("_Note", bound=Callable[..., Any])


def _in_place_of(owner: Any, name: str) -> Callable[[_Note], _Note]:
    def noted(note: _Note) -> _Note:
        _NOTED.append((owner, name, note))
        return note

    return noted


def _note_gradients(
    capture: Capture, usual: Callable[..., Any], ys: Any, xs: Any, grad_ys: Any = None, stop_gradients: Any = None,
    unconnected_gradients: Any = "none", aggregation_method: Any = None,
) -> list[Any]:  # fmt: skip
    graph = next((g for y in as_list(ys) if isinstance(g := getattr(y, "graph", None), Graph)), None)
    first = len(graph.nodes) if graph else 0
    found: list[Any] = usual(ys, xs, grad_ys, stop_gradients, unconnected_gradients, aggregation_method)
    # with stop_gradients the ops of the gradient are converted one by one: a tape has no such argument
    if graph is not None and not as_list(stop_gradients or []):
        seeds = None if grad_ys is None else [_tensor(g) for g in as_list(grad_ys)]
        zeros = getattr(unconnected_gradients, "value", unconnected_gradients) == "zero"
        capture.gradients.append(
            Gradient(
                graph, first, len(graph.nodes), [_tensor(y) for y in as_list(ys)], as_list(xs), seeds,
                aggregation_method, zeros, list(found),
            )
        )  # fmt: skip
    return found


for _module, _name in GRADIENTS:
    _in_place_of(_module, _name)(_note_gradients)


@_in_place_of(InGraph, "seeds")
def _note_shuffle(capture: Capture, usual: Callable[..., Any], self: Any, seed: int | None) -> Any:
    found = usual(self, seed)
    if seed is None and (frame := watch.user_frame()) is not None:
        capture.shuffles.setdefault((frame.f_code.co_filename, _extent(frame)), set()).add(found)
    return found


def _tensor(x: Any) -> Tensor:
    return x.read_value() if isinstance(x, Variable) else x


@_in_place_of(sampling, "drawn")
def _note_draw(
    capture: Capture, usual: Callable[..., Any], draw: Callable[..., Any], seed: int | None, name: str
) -> Tensor:
    graph, caller = get_default_graph(), sys._getframe(2)
    first = len(graph.nodes)
    own = graph.seeds_given if seed is None and graph.seed is not None else seed
    arguments = dict(caller.f_locals)
    result: Tensor = usual(draw, seed, name)
    made = Draw(graph, first, len(graph.nodes), caller.f_code.co_name, arguments, own, graph.seed, result)
    capture.draws.append(made)
    return result


@_in_place_of(Graph, "constant")
def _note_constant(
    capture: Capture, usual: Callable[..., Any], self: Graph, array: Any, name: str | None = None
) -> Any:
    found = usual(self, array, name)
    if getattr(array, "ndim", 0) and array.size:
        capture.note_value(found, found.node)
    return found


@_in_place_of(Closure, "__init__")
def _note_closure(
    capture: Capture, usual: Callable[..., Any], self: Any, graph: Graph, first: int, bound: Any, calls: Any
) -> None:
    usual(self, graph, first, bound, calls)
    self.effects = [list(effects) for _, effects in calls]
    self.first = first  # variables that are made here, the counters of random numbers, are not inside


@_in_place_of(Closure, "apply")
def _note_flow(capture: Capture, usual: Callable[..., Any], self: Any, op: Any, *given: Any) -> list[Any]:
    graph = self.graph
    before = len(graph.nodes)
    outputs: list[Any] = usual(self, op, *given)
    node = next(n for n in graph.nodes[before:] if n.op is op)
    first = self.first if self.nodes else before
    capture.flows.append(Flow(graph, first, len(graph.nodes), self, node, list(outputs)))
    return outputs


@_in_place_of(GraphVariable, "__init__")
def _note_variable(capture: Capture, usual: Callable[..., Any], self: Any, *args: Any, **kwargs: Any) -> None:
    graph = get_default_graph()
    first = len(graph.nodes)
    usual(self, *args, **kwargs)
    capture.note_value(self, self.initial_value.node)
    capture.variables.append(self)
    frames = [(f.f_code.co_filename, line) for f, line in traceback.walk_stack(sys._getframe())]
    capture.made_on[id(self)] = [frame for frame in frames if watch.is_users(frame[0])]
    capture.creations.append(Span(graph, first, len(graph.nodes)))


@_in_place_of(Optimizer, "_step")
def _note_step(
    capture: Capture, usual: Callable[..., Any], self: Any, pairs: Any, global_step: Any, name: str | None
) -> Operation:
    graph = getattr(pairs[0][1], "graph", None)
    first = len(graph.nodes) if isinstance(graph, Graph) else 0
    result: Operation = usual(self, pairs, global_step, name)
    if isinstance(graph, Graph):
        capture.steps.append(Step(graph, first, len(graph.nodes), self, list(pairs), global_step, result))
    return result


@_in_place_of(ExponentialMovingAverage, "_applied")
def _note_averages(capture: Capture, usual: Callable[..., Any], self: Any, averaged: Sequence[Any]) -> Any:
    first = len(get_default_graph().nodes)
    result = usual(self, averaged)
    numbers = [x for x in (self._decay, self._num_updates) if not isinstance(x, (int, float, GraphVariable, NoneType))]
    if result is not None and not numbers and all(isinstance(x, GraphVariable) for x in averaged):
        graph = averaged[0].graph
        capture.averagings.append(Averaging(graph, first, len(graph.nodes), self, list(averaged)))
    return result


@_in_place_of(ExponentialMovingAverage, "__init__")
@_in_place_of(Optimizer, "__init__")
def _note_optimizer(capture: Capture, usual: Callable[..., Any], self: Any, *args: Any, **kwargs: Any) -> None:
    frame, outermost = sys._getframe(2), None
    while frame is not None and frame.f_code.co_name == "__init__" and frame.f_locals.get("self") is self:
        outermost, frame = frame, frame.f_back  # type: ignore[assignment]
    signature = inspect.signature(usual if outermost is None else type(self).__init__)
    known = signature.bind(self, *args, **kwargs).arguments if outermost is None else outermost.f_locals
    names = tuple(signature.parameters)[1:]
    given = {n: known[n] for n in names if n in known}
    capture.optimizers[id(self)] = OptimizerCall(type(self), given, names, watch.user_site()[1])
    capture.kept.append(self)
    usual(self, *args, **kwargs)


@_in_place_of(ScipyOptimizerInterface, "__init__")
def _note_minimizer(
    capture: Capture, usual: Callable[..., Any], self: Any, loss: Any, var_list: Any = None, equalities: Any = None,
    inequalities: Any = None, var_to_bounds: Any = None, **options: Any,
) -> None:  # fmt: skip
    graph = get_default_graph() if isinstance(loss, Variable) else loss.graph
    first = len(graph.nodes)
    usual(self, loss, var_list, equalities, inequalities, var_to_bounds, **options)
    noted = Minimizer(graph, first, len(graph.nodes), self, _tensor(loss), list(self._problem.variables))
    noted.equalities, noted.inequalities = [[_tensor(x) for x in c or ()] for c in (equalities, inequalities)]
    noted.bounds, noted.options = dict(var_to_bounds or {}), options
    capture.minimizers.append(noted)


@_in_place_of(CustomGradient, "__call__")
def _note_custom(capture: Capture, usual: Callable[..., Any], self: CustomGradient, *args: Any, **kwargs: Any) -> Any:
    graph = get_default_graph()
    first = len(graph.nodes)
    result = usual(self, *args, **kwargs)
    if len(graph.nodes) > first and (node := graph.nodes[-1]).op is custom_call:
        names = _parameters(self._function)
        capture.customs.append(Custom(graph, first, len(graph.nodes), self._name, names, node))
    return result


@_in_place_of(_Rule, "_gradients")
def _note_pulled(capture: Capture, usual: Callable[..., Any], self: _Rule, cts: tuple[Any, ...]) -> list[Any]:
    asked = next((c for c in capture.customs if c.node.params["rule"] is self), None)
    first = len(asked.graph.nodes) if asked is not None else 0
    found: list[Any] = usual(self, cts)
    if asked is not None and asked.pulled is None:
        registered = overrides.registered(asked.name)
        names = _parameters(self.grad_fn) if registered is None else _parameters(registered)[1:]
        asked.pulled = Pulled(asked.graph, first, len(asked.graph.nodes), names, list(cts), list(found))
    return found


def _parameters(function: Callable[..., Any]) -> list[str]:
    """The names of what a function takes by position."""
    parameters = inspect.signature(function).parameters.values()
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


@_in_place_of(Saver, "__init__")
def _note_saver(capture: Capture, usual: Callable[..., Any], self: Any, var_list: Any = None, **options: Any) -> None:
    usual(self, var_list, **options)
    capture.savers[watch.user_site()] = self, options


@_in_place_of(MonitoredSession, "__init__")
def _note_monitored(capture: Capture, usual: Callable[..., Any], self: Any, *args: Any, **kwargs: Any) -> None:
    capture.monitored[watch.user_site()] = self
    usual(self, *args, **kwargs)


@_in_place_of(FileWriter, "add_graph")
def _note_shown_graph(capture: Capture, usual: Callable[..., Any], self: Any, *args: Any, **kwargs: Any) -> None:
    capture.added.setdefault(watch.user_site(), set()).add("graph")
    usual(self, *args, **kwargs)


@_in_place_of(FileWriter, "add_summary")
def _note_summary(
    capture: Capture, usual: Callable[..., Any], self: Any, summary: Any, *args: Any, **kwargs: Any
) -> None:
    site, form = watch.user_site(), "fetched"
    if not isinstance(summary, bytes):
        form = "scalars" if all(v.HasField("simple_value") for v in summary.value) else "other"
    capture.added.setdefault(site, set()).add(form)
    usual(self, summary, *args, **kwargs)
