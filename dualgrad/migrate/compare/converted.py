"""A migrated program, compared with the record function by function.

A map says which function computes which fetches, which of its parameters is which placeholder, and by which expression
each variable of the graph is reached in the module. Each recorded run is made again: the variables are set to what they
held, the function is called with what was fed, and what it returns and what the variables hold afterwards is compared
to the bit. Random operations draw for themselves, from where the graph's stood (`streams`). Where the record has
the values of operations, those of the function are taken down, too, and the first that differs is named.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dualgrad.files.golden import Golden, digest
from dualgrad.migrate.compare import slots
from dualgrad.migrate.compare.findings import Comparison, Difference, same_numbers
from dualgrad.migrate.compare.rerun import Rerun, name_first
from dualgrad.migrate.compare.streams import Streams, seeded
from dualgrad.migrate.compare.traces import Draws, Event, recorded_trace, tracing
from dualgrad.migrate.convert.summaries import serialized
from dualgrad.migrate.watch_tapes import value
from engine.core import nest
from engine.core.eager import EagerTensor
from engine.core.value import boxed, scalar
from engine.core.variable import Variable
from engine.ops.philox import RESERVED


@dataclass(frozen=True)
class Function:
    """One function of a migrated program.

    Attributes
    ----------
    name : str or None
        A Python expression. None where there is nothing to call: variables were initialized, or only their values
        were fetched.
    fetches : tuple of str
        The tensors and operations of the graph that it stands for.
    feeds : dict
        Parameters to placeholders, in order.
    returns : tuple of str
        What it returns.
    values : tuple of str
        Where there is nothing to call, the expressions for `returns`.
    fed : tuple of str
        All that was fed, used or not.
    sites : list of (str, int)
        The lines of the program that run it.
    summaries : dict
        Of those among `returns` that are summaries, by tag the kinds and options.
    graph : int, optional
        Which graph it is of, counted in the order in which they are first run.
    variables : dict
        As those of the map, where this graph has others of the same names.
    fills : bool
        Whether it is a run by which a thread fills a queue: the new program has a data set in its place.
    """

    name: str | None
    fetches: tuple[str, ...]
    feeds: Mapping[str, str]
    returns: tuple[str, ...]
    values: tuple[str, ...] = ()
    fed: tuple[str, ...] = ()
    sites: Sequence[Sequence[Any]] = ()
    summaries: Mapping[str, Mapping[str, Sequence[Any]]] = field(default_factory=dict)
    graph: int | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    fills: bool = False


@dataclass(frozen=True)
class Map:
    """Values that correspond in the graph and in the migrated program.

    Attributes
    ----------
    functions : list of Function
    variables : dict
        Variables of the graph to Python expressions.
    ops : dict
        Operations of the graph to lines of the module.
    varies : list of str
        Why the program prints other numbers each time it runs.
    from_run : list of str
        Values of the recorded run that stand in the module.
    constants : dict
        Constants of the graph that the module computes itself: by their names there, the names here.
    target : str
        For which library it is: a key of `dualgrad.migrate.convert.targets.TARGETS`.
    whole : bool, optional
        Whether it is a program, not functions alone; None if the map does not say.
    params : dict
        Where functions take the variables as an argument: variables of the graph to the keys by which they lie there.
    streams : dict
        By graph, operations that draw to functions of the module that draw for them alone.
    objects : dict
        Names in the expressions of this map that stand for an object of a class, the last one made: the class's.
    """

    functions: Sequence[Function]
    variables: Mapping[str, str]
    ops: Mapping[str, int]
    varies: Sequence[str] = ()
    from_run: Sequence[str] = ()
    constants: Mapping[str, str] = field(default_factory=dict)
    target: str = "tape"
    whole: bool | None = None
    params: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    objects: Mapping[str, str] = field(default_factory=dict)
    streams: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def read_map(path: Path) -> Map:
    """Read a map.

    Parameters
    ----------
    path : Path
        A JSON file.

    Raises
    ------
    ValueError
        If it is none, or lacks something; the message says what.
    """
    try:
        data = json.loads(path.read_bytes())
    except ValueError as error:
        raise ValueError(f"{path} is no JSON: {error}") from None
    if not isinstance(data, dict) or data.get("format") != 1:
        raise ValueError(f'{path} is no map of a migrated program: "format" must be 1')
    try:
        functions = [
            Function(
                f["name"],
                tuple(f["fetches"]),
                dict(f.get("feeds", {})),
                tuple(f.get("returns", ())),
                tuple(f.get("values", ())),
                tuple(f.get("fed", ())),
                [list(site) for site in f.get("sites", ())],
                dict(f.get("summaries", {})),
                f.get("graph"),
                dict(f.get("variables", {})),
                bool(f.get("fills")),
            )
            for f in data["functions"]
        ]
        varies, from_run = [[str(x) for x in data.get(name, ())] for name in ("varies", "from_run")]
        of = [dict(data.get(name, {})) for name in ("variables", "ops", "constants", "params", "objects", "streams")]
        target, whole = str(data.get("target", "tape")), data.get("whole")
        return Map(functions, of[0], of[1], varies, from_run, of[2], target, whole, *of[3:])
    except (KeyError, TypeError) as error:
        raise ValueError(f"{path}: a function of the map lacks {error}") from None


class Converted:
    """Compares the functions of a migrated program with recorded runs.

    Parameters
    ----------
    golden : Golden
    comparison : Comparison
        What is found is added to it.
    known : Map
    file : str
        The name of the migrated program.
    namespace : dict
        Of the migrated module, which has been executed.
    initial : dict
        ``id(variable)`` to the array that it was made with.
    made : dict
        By class, the object made last.
    """

    def __init__(
        self,
        golden: Golden,
        comparison: Comparison,
        known: Map,
        file: str,
        namespace: dict[str, Any],
        initial: Mapping[int, Any],
        made: Mapping[str, Any] | None = None,
    ) -> None:
        self.golden, self.comparison, self.map = golden, comparison, known
        self.file, self.namespace, self.initial = file, namespace, initial
        self.made = {} if made is None else made
        self.graphs = golden.part("graphs.json")
        self._hidden = {f"{node['name']}:0" for graph in self.graphs for node in graph if node.get("hidden")}
        self._located = False
        self._variables = known.variables
        self._slots: dict[str, Variable] = {}
        self._prepared: set[str] = set()
        self._unconverted: dict[str, str] = {}
        own = [known.streams.get(str(graph), {}) for graph in range(len(self.graphs))]
        self._streams = Streams(golden, self.graphs, own, known.whole is False)
        self._seedless = [{n["name"] for n in graph if "stream" in n and not seeded(n)} for graph in self.graphs]
        # what compares values and notes differences
        self._notes = Rerun(golden, comparison)

    def all(self) -> None:
        """Compare every recorded run for which there is a function."""
        self.set_constants()
        for step in self.golden.part("steps.json"):
            if step["kind"] != "run":
                self.comparison.skip(f"steps of the kind {step['kind']}: a map is for runs of sessions")
            elif "error" in step:
                self.comparison.skip("runs that failed when they were recorded")
            elif (function := self.function_for(step)) is None:
                fed = f", fed {', '.join(step['feeds'])}" if step["feeds"] else ""
                self.comparison.skip(f"no function for {', '.join(step['fetches'])}{fed}")
            else:
                self.one(step, function)

    def function_for(self, step: Mapping[str, Any]) -> Function | None:
        """The function that stands for a run's fetches and takes no more than what was fed.

        Of several, programs with many graphs have them, the one of this graph that was run on this line, with all
        these feeds.
        """
        fed = {*step["feeds"], *step.get("taken", ())}
        found = [
            function
            for function in self.map.functions
            if set(function.fetches) == set(step["fetches"]) and set(function.feeds.values()) <= fed
        ]

        def fits(f: Function) -> tuple[bool, ...]:
            return f.graph in (None, step["graph"]), step["site"] in f.sites, set(f.fed) == fed

        return max(found, key=fits, default=None)

    def one(self, step: Mapping[str, Any], function: Function) -> None:
        """Compare one run."""
        comparison = self.comparison
        self.variables_of(function)
        given = [*step["feeds"].values(), *step.get("taken", {}).values()]
        missing = [d for d in [*step["before"].values(), *given] if not self.golden.holds(d)]
        if missing:
            comparison.skip("runs whose operands are not in the record")
            return
        if function.fills:
            comparison.skip("runs by which threads fill queues; what was taken out is in the runs that took it")
            return
        if function.name is None and not function.values:
            self.initialized(step)
            return
        what = function.name or ", ".join(function.values)
        if what in self._unconverted:
            comparison.skip(self._unconverted[what])
            return
        try:
            self.prepare(step, function)
            self.set_variables(step)
            events: list[Event] | None = None if self._located or "ops" not in step else []
            returned = self.call(step, function, events)
        except Exception as error:  # noqa: BLE001 - whatever the program raises is a finding
            if isinstance(error, NotImplementedError) and str(error).startswith("not converted"):
                comparison.incomplete = True
                self._unconverted[what] = f"{what}: {error}"
                comparison.skip(self._unconverted[what])
                return
            self._notes.add(
                Difference(step["number"], "error", what, site=step["site"],
                           note=f"{what} raised {type(error).__name__}: {error}")
            )  # fmt: skip
            return
        comparison.count_step()
        results = dict(zip(function.returns, returned, strict=False))
        if len(returned) != len(function.returns):
            comparison.notes.append(f"{what} returns {len(returned)} values; the map says {list(function.returns)}")
        different = self.compare(step, results)
        if events:
            self.locate(step, events, different)

    def call(self, step: Mapping[str, Any], function: Function, events: list[Event] | None = None) -> list[Any]:
        """Call a function with what was fed; give the arrays that it returns."""
        if function.name is None:
            return [value(self.evaluated(expression)) for expression in function.values]
        told = {**step["feeds"], **step.get("taken", {})}
        fed = {p: self.tensor(self.golden.array(told[t])) for p, t in function.feeds.items()}
        self._streams.set(step, self.evaluated)
        draws = Draws([draw for draw in step.get("draws", ()) if draw[0] in self._seedless[step["graph"]]])
        with tracing(events, draws):
            result = self.evaluated(function.name)(*fed.values())
        self.comparison.supplied += draws.count
        return self.returned(function, result)

    @staticmethod
    def returned(function: Function, result: Any) -> list[Any]:
        """The arrays that a function gave."""
        if not function.returns:
            return []
        if function.summaries:
            given = [result] if len(function.returns) == 1 else result
            result = [
                serialized(function.summaries[name], x) if name in function.summaries else x
                for name, x in zip(function.returns, given, strict=True)
            ]
        flat = (
            [result] if len(function.returns) == 1 and not isinstance(result, (list, tuple)) else nest.flatten(result)
        )
        return [value(x) if isinstance(x, (EagerTensor, Variable)) else np.asarray(boxed(x)) for x in flat]

    def variables_of(self, function: Function) -> Mapping[str, str]:
        """The variables of the graph that a function is of, and the expressions for them, by which they are reached."""
        self._variables = {**self.map.variables, **function.variables}
        return self._variables

    def reach(self, names: dict[str, Any]) -> None:
        """Take the names of the module as they are now, with those of the objects that the map speaks of."""
        names.update({name: self.made[kind] for name, kind in self.map.objects.items() if kind in self.made})
        self.namespace = names

    def evaluated(self, expression: str) -> Any:
        """The value in the module that an expression of the map means."""
        return eval(expression, self.namespace)  # the module itself is executed: this adds nothing to trust

    def tensor(self, array: np.ndarray) -> Any:
        """An array as the library has it."""
        return EagerTensor(scalar(array))

    def set_constants(self) -> None:
        """Give the constants that the module computes itself what they held in the record, where that is kept."""
        for step in self.golden.part("steps.json"):
            for name, code in self.map.constants.items():
                described = step.get("ops", {}).get(name)
                if described is not None and self.golden.holds(described):
                    self.namespace[code] = self.tensor(self.golden.array(described))

    def set_variables(self, step: Mapping[str, Any]) -> None:
        """Set the variables to what they held before a run."""
        for name, described in step["before"].items():
            if (variable := self.variable(name, step["after"])) is not None:
                variable.assign(self.golden.array(described))

    def variable(self, name: str, changed: Collection[str] = ()) -> Variable | None:
        """The variable of the module that stands for one of the graph; None if nobody knows, or it is not made yet."""
        if name not in self._variables:
            return self._slots.get(name)
        found = self.evaluated(self._variables[name])
        if found is None and name not in changed:
            return None  # an optimizer makes what it keeps at its first step
        if not isinstance(found, Variable):
            raise TypeError(f"for {name} the map says {self._variables[name]}, which is {found!r}, no variable")
        return found

    def prepare(self, step: Mapping[str, Any], function: Function) -> None:
        """Have the slots made that a function changes, and find those that the map does not name."""
        known = self._variables
        names = {**step["before"], **step["after"]}
        unknown = [n for n in names if n not in known and n not in self._hidden]
        unmade = [n for n in names if n in known and self.reached(n) is None]
        if function.name is None or function.name in self._prepared or not unknown + unmade:
            return
        self._prepared.add(function.name)
        found = slots.optimizers(self.namespace, self.map.objects)
        before = slots.held(found)
        self.call(step, function)
        used = {key for key, array in slots.held(found).items() if array is not before.get(key)}
        mapped = {name: variable for name in known if (variable := self.reached(name)) is not None}
        self._slots |= slots.named(unknown, step["after"], mapped, found, used)

    def reached(self, name: str) -> Variable | None:
        """The variable that stands for one of the graph; None if it is not made yet, or unknown."""
        try:
            return self.variable(name)
        except Exception:  # noqa: BLE001 - it will be missed where it is needed
            return None

    def initialized(self, step: Mapping[str, Any]) -> None:
        """Compare the values that variables were made with with those that an initializer gave."""
        seedless = [draw for draw in step.get("draws", ()) if draw[0] in self._seedless[step["graph"]]]
        if seedless:
            self.comparison.supplied += len(seedless)
            self.comparison.skip("initial values that are random, without a seed")
            return
        self.comparison.count_step()
        for name, described in step["after"].items():
            if name in self._variables and name not in step["before"]:
                variable = self.evaluated(self._variables[name])
                if id(variable) not in self.initial:
                    continue
                if self.map.varies and digest(self.initial[id(variable)]) != described["hash"]:
                    self.comparison.skip("initial values that are other ones in each run")
                else:
                    self.value(step, "variable", name, described, self.initial[id(variable)])

    def compare(self, step: Mapping[str, Any], results: Mapping[str, Any]) -> bool:
        """Compare what was returned, and the variables; whether anything differs."""
        wanted = dict(zip(step["fetches"], step["results"], strict=True))
        pairs = [("result", name, wanted[name], array) for name, array in results.items() if name in wanted]
        after = {**step["before"], **step["after"]}
        for name, described in after.items():
            if (variable := self.variable(name, step["after"])) is not None:
                pairs.append(("variable", name, described, value(variable)))
            elif name in step["after"] and name not in self._hidden:
                self.comparison.skip(f"the variable {name} changes and is not in the map")
        same = [self.value(step, what, name, described, array) for what, name, described, array in pairs]
        moved = self._streams.moved(step)
        for name, *places in moved:
            expected, got = [f"{at // RESERVED} numbers" for at in places]
            self._notes.add(Difference(step["number"], "draws", name, expected, got, site=step["site"],
                                       note="the random numbers that it takes"))  # fmt: skip
        return not all(same) or bool(moved)

    def value(self, step: Mapping[str, Any], what: str, name: str, described: Any, array: Any) -> bool:
        """Compare one value; whether it is the same."""
        if described is None:
            return True
        row = self.comparison.row(name if what == "result" else f"variable {name}")
        row.steps += 1
        expected = self.golden.array(described) if self.golden.holds(described) else None
        if digest(array) == described["hash"] or same_numbers(expected, array):
            row.equal += 1
            return True
        row.failed += 1
        line = self.map.ops.get(name.rpartition(":")[0])
        place = [self.file, line] if line else None
        row.worst = max(row.worst, self._notes.note(step, what, name, expected, array, place) or 0.0)
        return False

    def locate(self, step: Mapping[str, Any], events: Sequence[Event], different: bool) -> None:
        """Name the first operation that differs of those that a function carried out."""
        self.comparison.operations += len(events)
        recorded = recorded_trace(self.golden, step, self.graphs[step["graph"]])
        known = {d["hash"] for d in [*step["feeds"].values(), *step["before"].values()]}
        before = len(self.comparison.differences)
        self._located = name_first(self._notes, step, recorded, events, known, different)
        if len(self.comparison.differences) == before:
            return
        first = self.comparison.differences[0]
        if first.new_site is None and first.name.rpartition(":")[0] in self.map.ops:
            first.new_site = [self.file, self.map.ops[first.name.rpartition(":")[0]]]
