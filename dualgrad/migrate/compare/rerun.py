"""A new run of a graph program, compared with its record run by run.

Each recorded run is made again with the recorded variables and feeds, so that what differs in one does not show in the
next. Where equal bits are expected, hashes are compared, and of the first run that differs the first operation is
looked for. Elsewhere the operations of the run are compared one by one within budgets (`opwise`), and the program is
handed the recorded results, so that it takes the recorded path.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dualgrad.files.golden import Golden, digest
from dualgrad.migrate.compare.findings import Comparison, Difference, same_numbers, shown, worst
from dualgrad.migrate.compare.matching import Recorded, matched
from dualgrad.migrate.compare.opwise import OpByOp
from dualgrad.migrate.compare.traces import Event, first_difference, hidden_difference, recorded_trace
from dualgrad.migrate.recorder import fetchable, is_data, needed
from dualgrad.migrate.watch import Run
from dualgrad.migrate.watch_tapes import Step
from engine.core.value import scalar
from engine.core.variable import variable_handle

MOST = 20
"""So many differences are shown."""


class Rerun:
    """Follows a program's runs beside the record.

    Parameters
    ----------
    golden : Golden
    comparison : Comparison
        What is found is added to it. If it has reasons why bits may differ, operations are compared within budgets.
    """

    def __init__(self, golden: Golden, comparison: Comparison) -> None:
        self.golden, self.comparison = golden, comparison
        self.steps = {step["number"]: step for step in golden.part("steps.json")}
        self.graphs = golden.part("graphs.json")
        self._recorded: dict[int, Recorded] = {}
        self.count = 0
        self.lost = self.located = False

    # ---- runs of sessions --------------------------------------------------------------------------------------------

    def around(self, run: Run, compute: Callable[[Sequence[Any]], list[Any]]) -> Sequence[Any]:
        """Make a run, beside the recorded one if there is one."""
        step = self.next("run", [x.name for x in run.flat])
        if step is None:
            return compute(run.flat)
        if "error" in step:
            self.comparison.skip("runs that failed when they were recorded")
            return compute(run.flat)
        self._lead(run, step)
        if self.comparison.reasons:
            return self._within_budgets(run, step, compute)
        nodes = needed(run) if "ops" in step else []
        extra = [x for node in nodes for x in node.outputs if fetchable(x)]
        values = compute([*run.flat, *extra])
        results, found = (
            values[: len(run.flat)],
            dict(zip([x.name for x in extra], values[len(run.flat) :], strict=True)),
        )
        self.comparison.count_step()
        self.comparison.operations += sum(is_data(v) for v in found.values())
        different = self._compare(step, results, _held(run))
        if extra and not self.located:
            self._name_first(step, [e for node in nodes for e in _event(node, found, run)], different)
        return results

    def next(self, kind: str, fetches: Sequence[str]) -> Mapping[str, Any] | None:
        """The recorded step that stands at this place; None if there is none or the program has taken another path."""
        number, self.count = self.count, self.count + 1
        step = self.steps.pop(number, None)
        if step is None or self.lost:
            if step is not None:
                self.comparison.skip("steps after the program took another path")
            return None
        same = step["kind"] == kind and len(step["fetches"]) == len(fetches)
        if same and not self.comparison.reasons:
            same = list(step["fetches"]) == list(fetches)
        if same:
            return dict(step)
        self.lost = True
        self.add(
            Difference(number, "path", kind, f"{step['kind']} {step['fetches']}", f"{kind} {list(fetches)}",
                       site=step["site"], note="the program takes another path than the recorded one")
        )  # fmt: skip
        return None

    def add(self, difference: Difference) -> None:
        """Note a difference: the first of each name, and not too many; the table counts the rest."""
        key = difference.what, difference.name
        if key in {(d.what, d.name) for d in self.comparison.differences} or len(self.comparison.differences) >= MOST:
            self.comparison.skip("differences that are counted in the table only")
        else:
            self.comparison.differences.append(difference)

    def _lead(self, run: Run, step: Mapping[str, Any]) -> None:
        """Give a run the recorded feeds and variables; say where the program itself would have fed something else."""
        for i, (name, fed) in enumerate(zip(step["feeds"], run.fed, strict=False)):
            wanted = step["feeds"][name]
            if digest(fed) != wanted["hash"]:
                given = self.golden.array(wanted)
                # what the program computes by itself may be rounded otherwise on another machine
                if not (self.comparison.reasons and self.comparison.portable and _close(given, fed)):
                    self.note(step, "fed", name, given, fed, list(run.site))
                run.fed[i] = given
        handles = {n.outputs[0].name: n.outputs[0] for n in run.graph.nodes if n.op is variable_handle}
        state = run.session._state
        wrong = [
            (handles[name], self.golden.array(wanted))
            for name, wanted in step["before"].items()
            if name in handles
            and not (state.has(id(handles[name])) and digest(state.value(id(handles[name]))) == wanted["hash"])
        ]
        state.load([handle for handle, _ in wrong], [array for _, array in wrong])
        run._before = dict(state.values)

    def _compare(self, step: Mapping[str, Any], results: Sequence[Any], held: Mapping[str, Any]) -> bool:
        """Compare results and variables to the bit; whether anything differs."""
        pairs = [("result", n, e, r) for n, e, r in zip(step["fetches"], step["results"], results, strict=True)]
        after = {**step["before"], **step["after"]}
        pairs += [("variable", name, wanted, held.get(name)) for name, wanted in after.items()]
        found = False
        for what, name, wanted, value in pairs:
            if wanted is None:
                continue
            row = self.comparison.row(name if what == "result" else f"variable {name}")
            row.steps += 1
            expected = self.golden.array(wanted) if self.golden.holds(wanted) else None
            if value is not None and (digest(value) == wanted["hash"] or same_numbers(expected, value)):
                row.equal += 1
                continue
            found, row.failed = True, row.failed + 1
            row.worst = max(row.worst, self.note(step, what, name, expected, value) or 0.0)
        return found

    def note(
        self, step: Mapping[str, Any], what: str, name: str, expected: Any, got: Any, new_site: Any = None
    ) -> float | None:
        """Note two values that differ; give how far they are apart."""
        made = Difference(step["number"], what, name, site=step["site"], new_site=new_site)
        if expected is None or got is None:
            made.expected, made.got = ["nothing" if x is None else shown(x) for x in (expected, got)]
        elif np.shape(expected) != np.shape(got) or np.asarray(expected).dtype != np.asarray(got).dtype:
            made.expected, made.got = shown(expected), shown(got)
            made.note = "another shape or dtype"
        else:
            at, made.ulps = worst(expected, got)
            made.at, made.expected, made.got = list(at), shown(expected, at), shown(got, at)
        self.add(made)
        return made.ulps

    def _name_first(self, step: Mapping[str, Any], new: Sequence[Event], different: bool) -> None:
        """Find the first operation that differs, and say all there is to say of it."""
        recorded = recorded_trace(self.golden, step, self.graphs[step["graph"]])
        known = {d["hash"] for d in [*step["feeds"].values(), *step["before"].values()]}
        self.located = name_first(self, step, recorded, new, known, different)

    # ---- within budgets ----------------------------------------------------------------------------------------------

    def _within_budgets(
        self, run: Run, step: Mapping[str, Any], compute: Callable[[Sequence[Any]], list[Any]]
    ) -> Sequence[Any]:
        """Compare operation by operation; give the program the recorded results and variables."""
        usual = compute(run.flat)
        recorded = self._recorded.setdefault(step["graph"], Recorded(self.graphs[step["graph"]]))
        feeds = {id(t): self.golden.array(d) for t, d in zip(run.feeds, step["feeds"].values(), strict=False)}
        pairs: list[tuple[Any, Any]] = list(zip(run.feeds, step["feeds"], strict=False))
        pairs += [(x, n) for x, n in zip(run.flat, step["fetches"], strict=True) if fetchable(x)]
        nodes = needed(run)
        sites = {name: node["site"] for name, node in recorded.by_name.items()}
        # results are recorded of every run, the values of operations of some
        results = {n: d for n, d in zip(step["fetches"], step["results"], strict=True) if d is not None}
        wider = {**step, "ops": {**results, **step.get("ops", {})}}
        replay = OpByOp(self.golden, self.comparison, wider, matched(nodes, recorded, pairs), sites)
        replay.run(nodes, feeds)
        replay.end()
        self.comparison.count_step()
        self._lead_on(run, step)
        return [
            u if d is None or not self.golden.holds(d) else scalar(np.array(self.golden.array(d)))
            for u, d in zip(usual, step["results"], strict=True)
        ]

    def _lead_on(self, run: Run, step: Mapping[str, Any]) -> None:
        """Set the variables to what they held after the recorded run."""
        handles = {n.outputs[0].name: n.outputs[0] for n in run.graph.nodes if n.op is variable_handle}
        after = [(handles[name], self.golden.array(d)) for name, d in step["after"].items() if name in handles]
        run.session._state.load([h for h, _ in after], [a for _, a in after])

    # ---- tapes -------------------------------------------------------------------------------------------------------

    def keep_step(self, made: Step) -> None:
        """Compare a gradient or a step on eager values with the recorded one."""
        step = self.next(made.kind, list(made.gave))
        if step is None:
            return
        self.comparison.count_step()
        for name, value in made.given.items():
            wanted = step["feeds"].get(name)
            if wanted is not None and (value is None or digest(value) != wanted["hash"]):
                self._near(step, "fed", name, self.golden.array(wanted), value, made)
        after = dict(made.after)
        for what, wanted, values in (
            ("result", dict(zip(step["fetches"], step["results"], strict=True)), made.gave),
            ("variable", {**step["before"], **step["after"]}, after),
        ):
            for name, expected in wanted.items():
                row = self.comparison.row(name if what == "result" else f"variable {name}")
                row.steps += 1
                value = values.get(name)
                if (value is None) == (expected is None) and (value is None or digest(value) == expected["hash"]):
                    row.equal += 1
                    continue
                array = None if expected is None else self.golden.array(expected)
                self._near(step, what, name, array, value, made)

    def _near(self, step: Mapping[str, Any], what: str, name: str, expected: Any, got: Any, made: Step) -> None:
        """Note values that differ, unless rounding explains it; what a tape gave follows from many operations."""
        row = self.comparison.row(
            name if what == "result" else f"variable {name}" if what == "variable" else f"fed {name}"
        )
        if self.comparison.reasons and _close(expected, got):
            row.allowed, self.comparison.portable = LOOSE, False
            return
        row.failed += 1
        row.worst = max(row.worst, self.note(step, what, name, expected, got, list(made.site)) or 0.0)


LOOSE = 2.0**10
"""Units in the last place of the largest element that values may be apart which follow from a whole program."""


def _close(expected: Any, got: Any) -> bool:
    if expected is None or got is None or np.shape(expected) != np.shape(got):
        return False
    a, b = np.asarray(expected), np.asarray(got)
    if a.dtype != b.dtype or a.dtype.kind not in "fc":
        return bool(np.array_equal(a, b))
    size = float(np.max(np.abs(a), initial=0.0))
    return bool(np.allclose(a, b, rtol=0.0, atol=LOOSE * np.finfo(a.dtype).eps * size, equal_nan=True))


def name_first(
    rerun: Any, step: Mapping[str, Any], recorded: Sequence[Event], new: Sequence[Event], known: set[str],
    different: bool,
) -> bool:  # fmt: skip
    """Add the first operation that differs to what `rerun` has found; `different` if results or variables do.

    Gives whether that is settled: further runs need not be looked at so.
    """
    pair = (first_difference if different else hidden_difference)(recorded, new, known)
    if pair is None:
        return different
    here, there = pair.here, pair.there
    made = Difference(step["number"], "operation" if here.operands else "constant", here.name, type=here.type)
    made.site, made.expected = here.site, _result(here)
    made.operands = [
        (name, shown(here.arrays[h]) if h in here.arrays else f"hash {h}")
        for name, h in zip(here.names, here.operands, strict=False)
    ]
    if there is None:
        made.got, made.note = "nothing", "the other program has no operation that takes the same operands"
    else:
        made.got, made.new_site = _result(there), there.site
        same = there.type == here.type
        made.note = "the same operation gives something else" if same else f"the other program has {there.type} here"
        strange = [h for h in there.operands if h not in here.operands]
        if here.operands and strange:
            made.note += f", which takes {', '.join(shown(there.arrays[h]) for h in strange if h in there.arrays)}"
        a, b = (e.arrays.get(e.results[0]) if e.results else None for e in (here, there))
        if (
            a is not None
            and b is not None
            and np.shape(a) == np.shape(b)
            and np.asarray(a).dtype == np.asarray(b).dtype
        ):
            at, made.ulps = worst(a, b)
            made.at, made.expected, made.got = list(at), shown(a, at), shown(b, at)
    rerun.comparison.differences.insert(0, made)
    return True


def _result(event: Event) -> str:
    if not event.results:
        return "nothing"
    h = event.results[0]
    return shown(event.arrays[h]) if h in event.arrays else f"hash {h}"


def _held(run: Run) -> dict[str, Any]:
    """The values of the variables of a run's session now."""
    state = run.session._state
    handles = [n.outputs[0] for n in run.graph.nodes if n.op is variable_handle]
    return {h.name: state.value(id(h)) for h in handles if state.has(id(h))}


def _event(node: Any, found: Mapping[str, Any], run: Run) -> list[Event]:
    """The result of an operation of ours in a run."""
    fed = {t.name: v for t, v in zip(run.feeds, run.fed, strict=True)}
    values = {**found, **fed}
    outputs = [x for x in node.outputs if x.name in found and is_data(found[x.name])]
    if not outputs:
        return []
    inputs = [(x.name, values[x.name] if x.name in values else run._before.get(id(x))) for x in node.inputs]
    inputs = [(name, v) for name, v in inputs if v is not None and is_data(v)]
    arrays = {digest(v): v for v in [*[v for _, v in inputs], *[found[x.name] for x in outputs]]}
    operands, results = [digest(v) for _, v in inputs], [digest(found[x.name]) for x in outputs]
    return [Event(node.name, node.type, operands, results, list(node.where), arrays, [n for n, _ in inputs])]
