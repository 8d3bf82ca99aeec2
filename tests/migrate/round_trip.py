"""Convert a program, run what came out beside what the program's sessions did, and compare to the bit."""

import contextlib
import io
import sys
import tempfile
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np

from dualgrad.migrate import watch
from dualgrad.migrate.convert import Conversion, capturing, convert
from dualgrad.migrate.convert.literals import bits
from dualgrad.migrate.convert.summaries import serialized
from engine.core.value import boxed
from graph_api.graphs.graph import reset_default_graph
from tests.migrate.in_process import interpreter_kept


@dataclass
class Seen:
    """One run of a session, with copies of what it was fed and gave."""

    run: watch.Run
    fed: dict[str, Any]
    results: dict[str, Any]
    before: dict[str, Any]
    after: dict[str, Any]


def seen(run: watch.Run) -> Seen:
    """A run, to be kept."""
    names = [x.name for x in run.flat]
    return Seen(
        run,
        {x.name: np.array(value) for x, value in zip(run.feeds, run.fed, strict=True)},
        {n: np.array(boxed(value)) for n, value in zip(names, run.results, strict=True) if value is not None},
        {name: np.array(value) for name, value in run.variables("before").items()},
        {name: np.array(value) for name, value in run.variables("after").items()},
    )


@dataclass
class RoundTrip:
    """A program, what it did, and what it was converted to."""

    program: Path
    conversion: Conversion
    runs: list[Seen]

    def difference(self, folder: Path) -> str:
        """Where the converted program first differs from the original; empty if it nowhere does."""
        out = folder / f"{self.program.stem}_tape.py"
        self.conversion.write(out)
        spec = spec_from_file_location(out.stem, out)
        assert spec is not None and spec.loader is not None
        module = module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except Exception as error:  # noqa: BLE001
            return f"importing: {type(error).__name__}: {error}"
        for number, one in enumerate(self.runs):
            try:
                found = self._replayed(one, vars(module))
            except Exception as error:  # noqa: BLE001
                found = f"{type(error).__name__}: {error}"
            if found:
                return f"run {number} of {[x.name for x in one.run.flat][:3]}: {found}"
        return ""

    def _replayed(self, one: Seen, names: dict[str, Any]) -> str:
        function = self._function(one)
        if function is None:
            return "there is no function"
        variables = function.get("variables", self.conversion.map["variables"])
        for name, code in variables.items():
            variable = eval(code, names)
            if name in one.before and variable is not None:
                variable.assign(one.before[name])
        if function["name"] is None:
            got = [eval(code, names) for code in function["values"]]
            if not function["returns"]:
                return ""
        else:
            given = names[function["name"]](**{p: one.fed[x] for p, x in function["feeds"].items()})
            got = [given] if len(function["returns"]) == 1 else list(given or [])
            shown = function.get("summaries", {})
            got = [serialized(shown[n], x) if n in shown else x for n, x in zip(function["returns"], got, strict=True)]
        for name, value in zip(function["returns"], got, strict=True):
            if not same(np.asarray(value), one.results[name]):
                return f"{name} is {np.asarray(value).ravel()[:3]}, not {one.results[name].ravel()[:3]}"
        for name, code in variables.items():
            variable = eval(code, names)
            if name in one.after and variable is not None and not same(np.asarray(variable), one.after[name]):
                return f"variable {name} differs afterwards"
        return ""

    def _function(self, one: Seen) -> dict[str, Any] | None:
        site = [Path(one.run.site[0]).name, one.run.site[1]]
        graphs = list({id(seen.run.graph): None for seen in self.runs})
        for function in self.conversion.map["functions"]:
            if function["fetches"] != [x.name for x in one.run.flat] or site not in function["sites"]:
                continue
            is_of = graphs[function["graph"]] == id(one.run.graph)
            if is_of and function["fed"] == [x.name for x in one.run.feeds]:
                found: dict[str, Any] = function
                return found
        return None


def same(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether arrays are equal to the bit."""
    return one.dtype == other.dtype and one.shape == other.shape and bits(one) == bits(other)


def round_trip(program: Path) -> RoundTrip:
    """Run and convert a program, in a folder of its own, for programs write files."""
    program = program.resolve()
    reset_default_graph()
    runs: list[Seen] = []

    def note(run: watch.Run) -> None:
        if run.error is None:
            runs.append(seen(run))

    with (
        interpreter_kept(),
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        capturing() as capture,
        contextlib.redirect_stdout(io.StringIO()),
    ):
        code = watch.watch_program(program, [], note, "1")
        assert code == 0, f"{program.name} ends with exit code {code}"
        capture.names = dict(vars(sys.modules["__main__"]))
    return RoundTrip(program, convert(capture, program), runs)
