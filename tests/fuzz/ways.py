"""The ways to run a program: each gives what the reference gives, for some of its keys."""

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

import tape_api
from engine.core.nest import flatten
from tests.fuzz.execute import (
    KEYS,
    Asked,
    Results,
    all_put_off,
    asked_of,
    attempt,
    plain,
    replayed_at_once,
    run_in_graph,
    run_on_tape,
    some_passes,
    tape_leaf,
    taped,
)
from tests.fuzz.programs import Program, compiled


@dataclass(frozen=True)
class Run:
    """What a way needs to know.

    Attributes
    ----------
    program : Program
    values : dict
        Of the leaves.
    others : dict
        Other values of the leaves that are sources, to run with before.
    keys : tuple of str
    reference : Results
    """

    program: Program
    values: dict[str, np.ndarray]
    others: dict[str, np.ndarray]
    keys: tuple[str, ...]
    reference: Results

    def tape(self, **options: Any) -> Results:
        """By a tape."""
        return run_on_tape(self.program, self.values, self.keys, **options)

    def graph(self, **options: Any) -> Results:
        """In a graph."""
        return run_in_graph(self.program, self.values, self.keys, self.reference, **options)


def _replay(run: Run) -> Results:
    with replayed_at_once():
        # other values need not be possible
        attempt(lambda: run_on_tape(run.program, run.others, run.keys))
        run.tape()
        return run.tape()


def _late(run: Run) -> Results:
    """A tape that puts off what it can, and computes it with the gradient."""

    def recorded() -> Results:
        tensors = {x.name: tape_leaf(x, run.values[x.name]) for x in run.program.leaves}
        with tape_api.GradientTape() as tape:
            tape.watch([tensors[name] for name in run.program.watched])
            found = compiled(run.program)(tape_api, *tensors.values())
        ys, xs = run.program.parted(found, tensors)
        asked = asked_of(run.program, tape, ys, xs, run.reference["value"])
        results: Results = {}
        if asked.ys and xs:
            gradients = attempt(lambda: tape.gradient(asked.ys, xs, asked.cotangents))
            of_each = gradients if isinstance(gradients, list) else []
            dense = [plain(None if g is None else tape_api.convert_to_tensor(g)) for g in of_each]
            results["gradient"] = dense if of_each else gradients
        return {**results, "value": [plain(y) for y in found]}

    with all_put_off():
        recorded()
        recorded()
        return recorded()


def _passes(run: Run) -> Results:
    with some_passes(run.program.seed):
        return run.graph()


def _thread(run: Run) -> Results:
    found: list[Results] = []

    def work() -> None:
        with np.errstate(all="ignore"):
            found.append(run.tape())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return found[0]


def _plan(run: Run) -> Results:
    """The plan of a recording at other values, called at the values."""
    if not run.program.sources or "jacobian" not in run.keys:
        return {}

    def planned() -> Any:
        asked = taped(run.program, run.others)
        _, sources = run.program.parted(run.reference["value"], run.values)
        return [plain(b) for b in flatten(asked.api.jacobian_plan(asked.ys, asked.xs)(*sources))]

    return {"jacobian": attempt(planned)}


def _executor(run: Run) -> Results:
    """A Jacobian swept by two threads."""
    if "jacobian" not in run.keys:
        return {}

    def spread() -> Any:
        asked = taped(run.program, run.values)
        with ThreadPoolExecutor(2) as pool:
            return [plain(b) for b in flatten(asked.api.jacobian(asked.ys, asked.xs, executor=pool))]

    return {"chunks": attempt(spread)}


def _function(run: Run) -> Results:
    if run.program.computed:
        # what a function returns is not what it used inside
        return {}

    def wrap(fn: Callable[..., Any], *leaves: Any) -> Any:
        # as an argument, an array would be put in C order
        stay = [isinstance(x, np.ndarray) and not x.flags.c_contiguous for x in leaves]

        def called(*given: Any) -> Any:
            rest = iter(given)
            return fn(tape_api, *[x if s else next(rest) for x, s in zip(leaves, stay, strict=True)])

        return tape_api.function(called)(*[x for x, s in zip(leaves, stay, strict=True) if not s])

    return run.tape(wrap=wrap)


def _traced(run: Run) -> Results:
    """By a `function` that computes values and derivatives, which has been recorded with other values."""
    leaves = {x.name: tape_leaf(x, run.values[x.name]) for x in run.program.leaves}
    fed = [x.name for x in run.program.leaves if x.kind == "source"]
    has_gradient = isinstance(run.reference.get("gradient"), list)
    results: Results = {}

    def recorded(given: Sequence[Any]) -> tuple[list[Any], Asked]:
        tensors = {**leaves, **dict(zip(fed, given, strict=True))}
        with tape_api.GradientTape(persistent=True) as tape:
            tape.watch([tensors[name] for name in run.program.watched])
            made = compiled(run.program)(tape_api, *tensors.values())
        ys, xs = run.program.parted(made, tensors)
        return made, asked_of(run.program, tape, ys, xs, run.reference["value"])

    def first(*given: Any) -> Any:
        made, asked = recorded(given)
        found = asked.api.gradient(asked.ys, asked.xs, asked.cotangents) if has_gradient else []
        return made, [None if g is None else tape_api.convert_to_tensor(g) for g in found]

    def further(key: str) -> Callable[..., Any]:
        return tape_api.function(lambda *given: flatten(KEYS[key](recorded(given)[1])))

    def second(*given: Any) -> Any:
        tensors = {**leaves, **dict(zip(fed, given, strict=True))}
        with tape_api.GradientTape() as tape:
            tape.watch([tensors[name] for name in run.program.watched])
            made, found = first(*given)
        _, xs = run.program.parted(made, tensors)
        found = [g for g in found if g is not None]
        further = tape.gradient(found, xs) if found else [None] * len(xs)
        return [None if g is None else tape_api.convert_to_tensor(g) for g in further]

    def called(function: Callable[..., Any], values: Mapping[str, np.ndarray]) -> Any:
        for x in run.program.leaves:
            if x.kind == "variable":
                leaves[x.name].assign(run.values[x.name])
        return function(*[tape_api.constant(values[name]) for name in fed])

    compute = tape_api.function(first)
    attempt(lambda: called(compute, run.others))
    called(compute, run.values)
    ys, found = called(compute, run.values)
    results["value"] = [plain(y) for y in ys]
    if found:
        results["gradient"] = [plain(g) for g in found]
    results["state"] = [plain(x.read_value()) for x in leaves.values() if isinstance(x, tape_api.Variable)]
    for key in KEYS.keys() & set(run.keys) if found else ():
        compute = further(key)
        attempt(lambda compute=compute: called(compute, run.others))  # type: ignore[misc]
        results[key] = attempt(lambda compute=compute: [plain(x) for x in called(compute, run.values)])  # type: ignore[misc]
    if "order2" in run.keys and found:
        compute = tape_api.function(second)
        attempt(lambda: called(compute, run.others))
        results["order2"] = attempt(lambda: [plain(g) for g in called(compute, run.values)])
    return results


def _recorded(run: Run) -> Results:
    """By tapes around a `function` that has been recorded with other values, also while such a tape recorded."""
    variables: dict[str, Any] = {}
    functions: list[Any] = []

    def wrap(fn: Callable[..., Any], *leaves: Any) -> Any:
        def called(*given: Any) -> Any:
            rest = iter(given)
            return fn(tape_api, *[next(rest) if isinstance(x, tape_api.Tensor) else x for x in leaves])

        if not functions:
            functions.append(tape_api.function(called))
        return functions[0](*[x for x in leaves if isinstance(x, tape_api.Tensor)])

    attempt(lambda: run_on_tape(run.program, run.others, (), wrap=wrap, variables=variables))
    return run.tape(wrap=wrap, variables=variables)


WAYS: dict[str, Callable[[Run], Results]] = {
    "graph": lambda run: run.graph(),
    "unknown": lambda run: run.graph(unknown=True),
    "passes": _passes,
    "again": lambda run: run.graph(first=run.others),
    "tape in graph": lambda run: run.graph(tape=True),
    "replay": _replay,
    "watched": lambda run: run.tape(watched=True),
    "function": _function,
    "traced": _traced,
    "recorded": _recorded,
    "thread": _thread,
    "single": lambda run: run.tape(one_by_one=True),
    "late": _late,
    "plan": _plan,
    "executor": _executor,
}
"""Each gives what the reference gives, for some of its keys."""
