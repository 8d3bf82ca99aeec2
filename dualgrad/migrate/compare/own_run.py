"""The run of a migrated program by itself, beside the runs of the original: with its own loop, dispatch and data.

The functions that a map names are observed while the program runs. Each call from outside of them stands for the next
recorded run: it must be of the function that this became, and be given, give and leave behind the same bits. A run that
only fetched variables stands for a look at these.
"""

from __future__ import annotations

import ast
import functools
import inspect
import sys
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import CodeType
from typing import TYPE_CHECKING, Any

import numpy as np

from dualgrad.files.golden import Golden, digest
from dualgrad.migrate.compare.findings import Difference, shown
from dualgrad.migrate.patching import replaced
from dualgrad.migrate.watch_tapes import value
from engine.core import nest
from engine.core.dtypes import as_dtype
from engine.core.value import boxed
from tape_api.data import DatasetIterator
from tape_api.variable import Variable

if TYPE_CHECKING:
    from dualgrad.migrate.compare.converted import Converted, Function

_OBSERVED = "__observed__"
_LOOKS = ("numpy", "read_value", "value", "_snapshot", "__array__", "__float__", "__int__")
"""Methods by which a program looks at a variable."""
Step = Mapping[str, Any]


def runs_of(golden: Golden) -> list[dict[str, Any]]:
    """All runs of sessions in order; of those that were not kept there are hashes of what was fed and given."""
    steps = golden.part("steps.json")
    kept = {step["number"]: step for step in steps}
    for number, first, fed, given, error in golden.part("rest.json") if "rest.json" in golden.head["files"] else ():
        like = {k: v for k, v in kept[first].items() if k in ("kind", "graph", "site", "fetches", "thread")}
        feeds = {n: {**d, "hash": h} for (n, d), h in zip(kept[first]["feeds"].items(), fed, strict=True)}
        known = [*kept[first]["results"], *[None] * len(given)]  # there are none of a run that failed
        results = [h and {**(d or {}), "hash": h} for d, h in zip(known, given, strict=False)]
        taken = dict.fromkeys(kept[first].get("taken", ()))
        steps.append({**like, "number": number, "feeds": feeds, "results": results, "taken": taken})
        steps[-1] |= {"before": {}, "after": {}} | ({"error": error} if error else {})
    return sorted((s for s in steps if s["kind"] == "run"), key=lambda step: step["number"])


class OwnRun:
    """Follows a migrated program that runs by itself.

    Parameters
    ----------
    golden : Golden
    converted : Converted
        It knows the functions and variables, and notes differences.
    """

    def __init__(self, golden: Golden, converted: Converted) -> None:
        self.golden, self.converted, self.comparison = golden, converted, converted.comparison
        self.differences: list[Difference] = []
        self.unseen: dict[str, None] = {}
        self.seen = self.events = 0
        self._left: deque[tuple[Step, Function]] = deque()
        self._last: Step | None = None
        self._lost = self._within = False
        self._file, self._saving = "", False
        self._saved: set[int] = set()
        self._read: set[int] = set()
        self._begun: list[Step] = []
        """Runs that gave variables their first values, which the new program may do once more."""
        for step in runs_of(golden):
            self._expect(step, converted.function_for(step))

    def _expect(self, step: Step, function: Function | None) -> None:
        """Note a recorded run, if the new program has something in its place."""
        taken = step.get("taken", ())  # the other things that iterators give are their handles
        if (function is None and not any(step["results"])) or (function is not None and function.fills):
            pass  # nothing was fetched, or a data set stands for what it took
        elif function is None:
            self.unseen[f"what fetches {', '.join(step['fetches'])}: no function stands for it"] = None
        elif step.get("thread"):
            self.unseen["the runs of other threads, whose order is left to chance"] = None
        elif function.name or function.values or not {*step["fetches"]}.isdisjoint(taken):
            self._left.append((step, function))
        else:
            self._begun.append(step)

    # ---- watching ----------------------------------------------------------------------------------------------------

    def compiled(self, source: bytes, file: str) -> CodeType:
        """The program, in which the functions of the map say when they are called."""
        tree, self._file = ast.parse(source, file), file
        kinds = {kind: handle for handle, kind in self.converted.map.objects.items()}
        known = {f.name for f in self.converted.map.functions}
        for node in tree.body:
            inside = node.body if isinstance(node, ast.ClassDef) else [node]
            before = f"{kinds.get(node.name)}." if isinstance(node, ast.ClassDef) else ""
            for function in inside:
                if isinstance(function, ast.FunctionDef) and f"{before}{function.name}" in known:
                    made: ast.expr = ast.Name(_OBSERVED, ast.Load())
                    made = ast.Call(made, [ast.Constant(f"{before}{function.name}")], [])
                    for part in ast.walk(made):
                        ast.copy_location(part, function)
                    function.decorator_list.insert(0, made)
        code: CodeType = compile(tree, file, "exec", dont_inherit=True)
        return code

    @contextmanager
    def watching(self) -> Iterator[dict[str, Any]]:
        """Follow what runs inside of the ``with`` block; the names that the program needs for that."""

        def following(usual: Any, iterator: DatasetIterator) -> Any:
            element = usual(iterator)
            if self._is_outside():
                with self._inside():
                    self._took_next(element)
            return element

        def looking(usual: Any, variable: Variable, *args: Any, **kwargs: Any) -> Any:
            if not self._is_outside():
                return usual(variable, *args, **kwargs)
            with self._inside():
                self._looked(variable, sys._getframe(2).f_code.co_filename != self._file)
                return usual(variable, *args, **kwargs)

        def assigning(usual: Any, variable: Variable, *args: Any, **kwargs: Any) -> Any:
            if not self._is_outside():
                return usual(variable, *args, **kwargs)
            with self._inside():
                self._catch_up()
                result = usual(variable, *args, **kwargs)
                self._assigned(variable)
            return result

        looks = [(Variable, name, looking) for name in _LOOKS]
        with replaced(*looks, (Variable, "assign", assigning), (DatasetIterator, "get_next", following)):
            yield {_OBSERVED: self._observed}

    def _observed(self, name: str) -> Callable[..., Any]:
        """The decorator of the function that the map calls so."""

        def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
            @functools.wraps(function)
            def observed(*args: Any, **kwargs: Any) -> Any:
                if not self._is_outside():
                    return function(*args, **kwargs)
                with self._inside():
                    self._catch_up()
                    try:
                        result = function(*args, **kwargs)
                    except Exception:
                        self._failed(name)
                        raise
                    given = inspect.signature(function).bind(*args, **kwargs).arguments
                    self._called(name, given, result)
                return result

            return observed

        return decorated

    def _is_outside(self) -> bool:
        """Whether it is the program itself that goes on, in its main thread."""
        return not self._within and threading.current_thread() is threading.main_thread()

    @contextmanager
    def _inside(self) -> Iterator[None]:
        self._within = True
        self.converted.reach(vars(sys.modules["__main__"]))
        try:
            yield
        finally:
            self._within = False

    # ---- what happens ------------------------------------------------------------------------------------------------

    def _next(self, failed: bool = False) -> tuple[Step, Function] | None:
        """The recorded run whose turn it is; one that failed may not be tried any more."""
        while self._left and "error" in self._left[0][0] and not failed:
            self._left.popleft()
        return self._left[0] if self._left and not self._lost else None

    def _looked(self, variable: Variable, by_library: bool) -> None:
        """Compare variables that the old program fetched here, and nothing else, once the new one has seen them all.

        A saver looks at all of them, perhaps more than once; in the old program that was one run.
        """
        turn = self._next()
        if by_library:
            self._saved.add(id(variable))
        if turn is None or not turn[1].values or _assigns(turn[1]) or (by_library and self._saving):
            return  # whoever looks more often than the old program does no harm
        variables = self._fetched(turn[1])
        self._read.add(id(variable))
        if variables and self._read.issuperset(map(id, variables)):
            self._saving = by_library
            self._took(*turn, variables)

    def _fetched(self, function: Function) -> list[Any]:
        """The variables that a run fetched; none while they are not all made."""
        self.converted.variables_of(function)
        try:
            return [self.converted.evaluated(code) for code in function.values]
        except Exception:  # noqa: BLE001 - an expression of the map, before the program has come so far
            return []

    def _took(self, step: Step, function: Function, variables: list[Any]) -> None:
        self._left.popleft()
        self._read.clear()
        self._compare(step, function, {}, [value(x) for x in variables])

    def _took_next(self, element: Any) -> None:
        """Compare an element of an iterator with what the old program fetched, if it fetched that alone."""
        turn = self._next()
        if turn is None or turn[1].name is not None or turn[1].values:
            return
        step, _ = turn
        self._left.popleft()
        parts: list[Any] = [np.asarray(boxed(value(x))) for x in nest.flatten(element)]
        wanted = [(n, d) for n, d in zip(step["fetches"], step["results"], strict=True) if d is not None]
        parts += [None] * (len(wanted) - len(parts))
        self._judge([(step, "result", n, d, x) for (n, d), x in zip(wanted, parts, strict=False)])

    def _catch_up(self) -> None:
        """Compare what the old program's saver fetched, where the new one's has looked at it."""
        while (turn := self._next()) is not None and turn[1].values and not _assigns(turn[1]):
            variables = self._fetched(turn[1])
            if not variables or not self._saved.issuperset(map(id, variables)):
                break
            self._took(*turn, variables)
        self._saved.clear()
        self._saving = False

    def _assigned(self, variable: Variable) -> None:
        """Compare what the program sets a variable to with what the old one did."""
        turn = self._next()
        if turn is None:
            return
        step, function = turn
        (name,) = [n for n, code in self.converted.variables_of(function).items()
                   if self.converted.reached(n) is variable] or [""]  # fmt: skip
        alone = [f"{name.rpartition(':')[0]}/Assign"]
        if list(step["fetches"]) == alone and step["feeds"]:
            self._left.popleft()
            (wanted,) = step["feeds"].values()
            self._judge([(step, "variable", name, wanted, value(variable))])
        elif function.name is None and _assigns(function) and step["results"]:
            self._left.popleft()
            self._compare(step, function, {}, [value(variable)])

    def _failed(self, name: str) -> None:
        self.events += 1
        turn = self._next(failed=True)
        while turn is not None and "error" in turn[0] and turn[1].name != name:
            self._left.popleft()
            turn = self._next(failed=True)
        if turn is not None and "error" in turn[0]:
            self._left.popleft()

    def _called(self, name: str, given: Mapping[str, Any], result: Any) -> None:
        self.events += 1
        turn = self._next()
        if self._lost:
            return
        if turn is None or turn[1].name != name:
            before = turn[0]["number"] if turn is not None else np.inf
            own = [f for f in self.converted.map.functions if f.name == name and not f.returns]
            again = [s for s in self._begun if s["number"] < before and any(s["site"] in f.sites for f in own)]
            if again:
                self._begun.remove(again[0])
                self._compare(again[0], own[0], {}, [])
                return
            step, function = turn or (self._last, None)
            self._lose(step, f"a call of {name}", function, "one run more than were recorded" if turn is None else "")
            return
        step, function = turn
        self._left.popleft()
        self._compare(step, function, given, self.converted.returned(function, result))

    def _compare(self, step: Step, function: Function, given: Mapping[str, Any], results: list[Any]) -> None:
        """Compare a run with the recorded one; the first that differs is the last that is compared."""
        self._last = step
        told = {**step.get("taken", {}), **step["feeds"]}
        pairs = [("fed", t, told[t], _as_fed(given[p], told[t])) for p, t in function.feeds.items()
                 if p in given and told.get(t) is not None]  # fmt: skip
        wanted = dict(zip(step["fetches"], step["results"], strict=True))
        pairs += [("result", n, wanted[n], x) for n, x in zip(function.returns, results, strict=False)
                  if wanted.get(n) is not None]  # fmt: skip
        if len(results) != len(function.returns):
            pairs.append(("result", step["fetches"][0], {"hash": f"{len(function.returns)} values"}, None))
        for name, described in {**step["before"], **step["after"]}.items():
            if name in self.converted.variables_of(function) and (x := self.converted.reached(name)) is not None:
                pairs.append(("variable", name, described, value(x)))
        self._judge([(step, *pair) for pair in pairs])

    def _judge(self, values: list[tuple[Step, str, str, Any, Any]]) -> None:
        """Note the first value that differs."""
        for step, what, name, described, got in values:
            if got is not None and digest(got) == described["hash"]:
                continue
            holds = "dtype" in described and self.golden.holds(described)
            expected = shown(self.golden.array(described)) if holds else f"hash {described['hash']}"
            self._differ(Difference(step["number"], what, name, expected, "nothing" if got is None else shown(got),
                                    site=step["site"], note="when the new program runs by itself"))  # fmt: skip
            return
        self.seen += 1

    def _lose(self, step: Step | None, got: str, function: Function | None, wanted: str = "") -> None:
        told = wanted or (function and (function.name or ", ".join(function.values))) or "nothing"
        number, site = (step["number"], step["site"]) if step else (0, None)
        self._differ(Difference(number, "path", "own run", told, got, site=site,
                                note="the new program, run by itself, takes another path"))  # fmt: skip

    def _differ(self, difference: Difference) -> None:
        self.differences.append(difference)
        self._lost = True

    def wrote(self, events: Sequence[Any]) -> None:
        """Compare at which steps which summaries went to event files; what they hold is in the results of runs."""
        recorded = self.golden.part("events.json") if "events.json" in self.golden.head["files"] else None
        if recorded is None or self._lost or not self.events:
            return
        here, there = (Counter(map(tuple, some)) for some in (events, recorded))
        for step, tag in sorted({**(here - there), **(there - here)}):
            told, got = (f"written {some[step, tag]} times at step {step}" for some in (there, here))
            self._differ(Difference(0, "summary", tag, told, got, note="in the event files"))
            return

    # ---- the end -----------------------------------------------------------------------------------------------------

    def end(self, prints: bool, failed: bool) -> None:
        """Say what came of it, when the program has ended; whether it printed something, and ended as it should not."""
        known, comparison = self.converted.map, self.comparison
        if not self.events and not prints and known.whole is not True:
            comparison.aside = "It holds functions alone, and only these were compared."
            return
        with self._inside():
            self._catch_up()
        if (turn := self._next()) is not None and not failed:
            self._lose(turn[0], "nothing: it has ended", turn[1])
        comparison.own = self.seen
        why = [*known.varies, *(f"its runs round otherwise here ({r})" for r in comparison.reasons)]
        if self.differences and why:
            # other random numbers, or other bits of a sum, lead elsewhere for good
            self.unseen |= dict.fromkeys(why)
        else:
            comparison.differences[:0] = self.differences
        comparison.unseen += self.unseen


def _assigns(function: Function) -> bool:
    return any(".assign(" in code for code in function.values)


def _as_fed(given: Any, described: Mapping[str, Any]) -> Any:
    """The array that a function is given, as the session would have taken it."""
    try:
        array = np.asarray(boxed(value(given) if isinstance(given, Variable) or hasattr(given, "_array") else given))
        return array if array.dtype.kind in "SU" else array.astype(as_dtype(described["dtype"]).numpy)
    except (TypeError, ValueError):
        return None
