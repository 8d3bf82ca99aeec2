"""Turn a graph program into tape code (``dualgrad convert``): run it, and write down what its graphs compute.

Beside ``OUT.py`` lies ``OUT.map.json``, which says where things have gone. A function's ``name`` is null where there is
nothing to call: variables were initialized, which tape code does when it makes them, or only variables were fetched,
whose expressions are in ``values`` then. Arrays that are too large to be written out are in ``OUT.npz``.
"""

# The passes, each a module:
#
# - `observed_run`: runs the program and notes graphs, calls of `gradients`, steps of optimizers, and runs of sessions;
# - `items`: what a set of fetches needs, in order; the nodes of a gradient or a step are one item;
# - `tapes`: which of them a tape must see;
# - `spelling`: the call of `tape_api` that makes a node, proved by making it (`adapters`, `literals`);
# - `calls`: calls of functions that make several nodes, as the one call that they were;
# - `identifiers`: the program's own names, from its globals, its lines and its scopes;
# - `body`, `flows`, `module`: the statements of a function (what makes tensors of its arguments, too), its loops and
#   branches; variables, constants, optimizers and functions of the module;
# - `shortening`: what is repeated is written once: as lists (`repetition`), loops (`rolling`), functions (`outlining`);
#   `alignment` says in what statements differ;
# - `tidying`, `printing`: what the next statement alone reads, lines of text;
# - `notes`, `facts`, `expressions`, `runs`, `plan`, `edits`, `host_program`, `call_sites`: the program's own lines
#   around the graph, with calls in place of runs; `dispatching`, `class_instances`: where only the running program
#   knows what a run fetches; `class_members`: what becomes a part of the program's objects;
# - `program_modules`, `inlined_main`: programs of several modules, and those whose `main` has everything in it.

from __future__ import annotations

import argparse
import ast
import builtins
import json
import re
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dualgrad.migrate import notebooks, watch
from dualgrad.migrate.convert import (
    class_members,
    host_program,
    inlined_main,
    iterating,
    nondeterminism,
    program_modules,
    provenance,
    queues,
    saver_arguments,
    summaries,
)
from dualgrad.migrate.convert.draws import Streams
from dualgrad.migrate.convert.edits import Unsafe
from dualgrad.migrate.convert.facts import is_own, plain
from dualgrad.migrate.convert.identifiers import Names, Scope
from dualgrad.migrate.convert.minimizations import IMPORT
from dualgrad.migrate.convert.module import Module
from dualgrad.migrate.convert.notes import Notes, noting
from dualgrad.migrate.convert.observed_run import Capture, capturing
from dualgrad.migrate.convert.origins import Origin, Origins
from dualgrad.migrate.convert.sizes import Said, of_constants
from dualgrad.migrate.convert.targets import TARGETS, retarget
from dualgrad.migrate.output import add_output, settled
from dualgrad.platform import progress
from engine.core.variable import read_variable
from engine.runtime.quoting import printable

OUTPUT = ("--out", "OUT.py")
HEAD = '''"""{program}, as tape code: written by dualgrad convert."""

import tape_api as tf
'''
_MISSING = '''

def not_converted(number, why):
    """Stands where the program has something that could not be converted."""
    raise NotImplementedError(f"not converted ({number}): {why}")
'''

DESCRIPTION = """Turn a TensorFlow 1 program into tape code: run it, and write what its graphs compute, with the
program's own loop around it. `dualgrad record` and `dualgrad compare` prove that both give the same bits."""


@dataclass
class Conversion:
    """A converted program.

    Attributes
    ----------
    text : str
        The module.
    map : dict
        What ``OUT.map.json`` holds.
    arrays : dict
        What ``OUT.npz`` holds.
    savers : dict
        By line of the program that makes it, what makes a saver in tape code.
    adding : dict
        The lines of the program that add something to event files, and what: `Capture.added`.
    beside : dict
        By path below the folder of the module, the program's own modules that it needs. One that is there stays.
    cells : list of Cell
        Of the notebook that the program is.
    entry : str
        The name of the main module, if the program is a folder: then it is written to a folder.
    optimizers : dict
        By name in the module: the optimizer of the graph, and how it was made (`Capture.optimizers`).
    monitored : dict
        By line of the program that makes it, a monitored session.
    hosted : list of (Origin, str)
        In order, what the program's own expressions make, and the name that it has.
    starts : list of (str, array, bool)
        Names, what they have to begin with, and whether that is a variable.
    constants : dict
        By name in the graph, the names of constants.
    inside : dict
        By the text of what makes it at the top: by class, what makes it in its constructor.
    said : dict
        By line, statements whose numbers the module says in names of the program.
    sayable : dict
        By line, statements whose numbers data decides, and that the module could say so, too.
    begun : str
        What each session begins with, if there are several.
    seeds : dict
        By place, the seed of the graph with which a call shuffles a data set.
    """

    text: str
    map: dict[str, Any]
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    savers: dict[int, str] = field(default_factory=dict)
    adding: dict[int, set[str]] = field(default_factory=dict)
    beside: dict[str, bytes] = field(default_factory=dict)
    cells: list[notebooks.Cell] = field(default_factory=list)
    entry: str = ""
    optimizers: dict[str, Any] = field(default_factory=dict)
    monitored: dict[int, Any] = field(default_factory=dict)
    hosted: list[tuple[Origin, str]] = field(default_factory=list)
    starts: list[tuple[str, np.ndarray, bool]] = field(default_factory=list)
    constants: dict[str, str] = field(default_factory=dict)
    inside: dict[str, dict[str, str]] = field(default_factory=dict)
    said: dict[int, Said] = field(default_factory=dict)
    sayable: dict[int, Said] = field(default_factory=dict)
    begun: str = ""
    seeds: dict[Any, int] = field(default_factory=dict)

    def write(self, out: str | Path) -> list[Path]:
        """Write the module and what belongs to it.

        Parameters
        ----------
        out : path
            Of the module.

        Returns
        -------
        list of Path
            What was written, the module first.
        """
        out = Path(out)
        if self.entry:
            out.mkdir(parents=True, exist_ok=True)
            out /= self.entry
        written = [out, out.with_suffix(".map.json")]
        for name, content in self.beside.items():
            module = out.parent / name
            if not module.exists():
                module.parent.mkdir(parents=True, exist_ok=True)
                module.write_bytes(content)
                written.append(module)
        text = self.text
        if notebooks.is_notebook(out):
            text = notebooks.notebook_text(text, self.cells, out.with_suffix(".npz").name)
        out.write_text(text, encoding="utf-8")
        out.with_suffix(".map.json").write_text(json.dumps({**self.map, "module": out.name}, indent=1) + "\n")
        if self.arrays:
            with out.with_suffix(".npz").open("wb") as file:
                np.savez_compressed(file, allow_pickle=False, **self.arrays)
            written.append(out.with_suffix(".npz"))
        return written


def convert(
    capture: Capture, program: Path, origins: Origins | None = None, said: dict[int, Said] | None = None
) -> Conversion:
    """The converted program.

    Parameters
    ----------
    capture : Capture
        What the program did.
    program : Path
        Its file.
    origins : Origins, optional
        Where values came from that the program drew or computed: then its own expressions make them, which need other
        lines of it.
    said : dict, optional
        By line, statements whose numbers are said in names of the program.
    """
    names, scope = Names(capture.names, capture.made_on, capture.locals.values()), Scope()
    scope.taken.update({"tf", "np", "ARRAYS", "not_converted", "minimize", "Iterator", "Checkpoints"}, summaries.NAMES)
    scope.taken.update(["dict", "enumerate", "iter", "next", "range", "vars", "zip"])
    scope.taken.update(_kept_names(capture, program))
    names.results = _names_of_results(capture, program)
    scope.taken.update(*[one.names() for one in (said or {}).values()])
    graphs = list({id(run.graph): run.graph for run in capture.runs.values()}.values())
    modules = [Module(graph, capture, names, scope, program, origins, said) for graph in graphs]
    arrays: dict[str, np.ndarray] = {}
    shown: dict[str, tuple[str, tuple[Any, ...]]] = {}
    streams = Streams(graphs[-1].seed if graphs else None)
    for module in modules:
        module.arrays, module.summaries, module.streams = arrays, shown, streams
        module.convert([run for run in capture.runs.values() if run.graph is module.graph])
    written = "\n\n\n".join("\n".join(module.text()).strip("\n") for module in modules)
    missing = [m for module in modules for m in module.missing]
    head = HEAD.format(program=printable(program.name))
    if arrays:
        head = head.replace("import tape_api", "import numpy as np\nimport tape_api") + host_program.LOADED
    if any(module.minimizes for module in modules):
        head = head.replace("import tape_api", f"{IMPORT}import tape_api")
    head += _MISSING if missing else ""
    adding = {line: forms for (file, line), forms in capture.added.items() if Path(file) == program}
    head += summaries.head(shown, adding) if shown or adding else ""
    apart = "\n\n\n" if missing or shown or adding or written.startswith(("def ", "@")) else "\n\n"
    text = f"{head.rstrip()}{apart}{written}\n"
    done = sum(module.converted for module in modules)
    content = _map(modules, missing, program, done)
    savers, slots = _savers(capture, modules, content["variables"], program)
    optimizers = {name: pair for module in modules for name, pair in module.optimizers_made().items()}
    monitored = {line: made for (file, line), made in capture.monitored.items() if Path(file) == program}
    hosted = sorted((pair for module in modules for pair in module.hosted), key=lambda pair: pair[0].number)
    starts = [start for module in modules for start in module.starts]
    constants = {name: code for module in modules for name, code in module.constants.items()}
    read = "".join(f"{line}\n" for module in modules for line in module.pipelines.text())
    return Conversion(
        text + slots + read, content, arrays, savers, adding, optimizers=optimizers, hosted=hosted, starts=starts,
        monitored=monitored, constants=constants,
        inside={text: inner for module in modules for text, inner in module.inside.items()}, said=said or {},
        begun=next((begun for module in modules[-1:] if (begun := module.begun())), ""),
        seeds={at: pair[1] for (file, at), (pair, *others) in capture.shuffles.items()
               if Path(file) == program and not others and pair[1] is not None},
    )  # fmt: skip


def _kept_names(capture: Capture, program: Path) -> set[str]:
    """The names of the program that stay: of functions and classes that run a session, of objects, and of Python."""
    lines = {line for run in capture.runs.values() for file, line in run.within if Path(file) == program}
    tree = ast.parse(program.read_bytes())
    methods = {inner for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for inner in node.body}
    found = {name for name, value in capture.names.items() if is_own(type(value)) and not isinstance(value, tuple)}
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node not in methods:
            inside = range(node.body[0].lineno, (node.end_lineno or 0) + 1)
            found.update([node.name] if not lines.isdisjoint(inside) else ())
    used = [n for n in ast.walk(tree) if isinstance(n, ast.Name)]
    own = {n.id for n in used if isinstance(n.ctx, ast.Store)} | {
        n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)
    }
    return found | ({n.id for n in used} & vars(builtins).keys() - own)


def _names_of_results(capture: Capture, program: Path) -> set[str]:
    """The names that functions of the program give to what a session gave."""
    lines = {line for run in capture.runs.values() for file, line in run.within if Path(file) == program}
    inside = [n for f in ast.walk(ast.parse(program.read_bytes())) if isinstance(f, ast.FunctionDef)
              for n in ast.walk(f) if isinstance(n, ast.Assign) and n.lineno in lines]  # fmt: skip
    return {n.id for node in inside for target in node.targets for n in ast.walk(target) if isinstance(n, ast.Name)}


def _savers(
    capture: Capture, modules: list[Module], variables: dict[str, str], program: Path
) -> tuple[dict[int, str], str]:
    """By line, what makes a saver in tape code; and the lines that make the slots of optimizers that it saves."""
    found: dict[int, str] = {}
    for (file, line), (saver, options) in capture.savers.items():
        held = saver._variables or {}
        if Path(file) == program and all(v.name in variables for v in held.values()) and held:
            given = saver_arguments.listed(held, variables, modules) or saver_arguments.by_name(held, variables)
            rest = "".join(f", {name}={plain(value)}" for name, value in options.items() if plain(value) is not None)
            found[line] = f"tf.compat.v1.train.Saver({given}{rest})"
    keeps_slots = any(re.search(r"\.(get_slot|kept_together|variables)\(", text) for text in found.values())
    keeps_slots = keeps_slots or any(m.only_initializes(x) for m in modules for run in capture.runs.values()
                                     if run.resets and run.graph is m.graph for x in run.flat)  # fmt: skip
    lines = [line for module in modules for line in module.slots_made() if keeps_slots]
    return found, "".join(f"{line}\n" for line in ["", "", *lines] if lines)


def _shown(tensors: Sequence[Any]) -> dict[str, Any]:
    """By the names of summaries, what these are made of."""
    found = {}
    for x in tensors:
        if summaries.is_summary(x.node):
            with suppress(ValueError):
                found[x.name] = summaries.described(x.node)
    return found


def _fed_as(x: Any, feeds: Sequence[Any]) -> Any:
    """The tensor that is fed for one that is given: the variable, if what is read of it is given."""
    handle = x.node.inputs[0] if x.node.op is read_variable else None
    return next((f for f in feeds if f is handle), x)


def _map(modules: list[Module], missing: list[dict[str, Any]], program: Path, done: int) -> dict[str, Any]:
    functions = [
        {
            "name": f.name,
            "fetches": [x.name for x in f.run.flat],
            "fed": [x.name for x in f.run.feeds],
            "feeds": {name: _fed_as(x, f.run.feeds).name for name, x in f.parameters},
            "returns": [x.name for x in f.returns],
            "values": f.values,
            **({"gradients": [None if g is None else g.name for g in f.gradients]} if f.gradients else {}),
            **({"variables": module.variable_names()} if module is not modules[0] else {}),
            **({"summaries": shown} if (shown := _shown(f.returns)) else {}),
            **({"fills": True} if queues.only_feeds(f.run) else {}),
            **iterating.described(f.run, iterating.kinds(f.run, module.only_initializes), module.pipelines.nodes),
            "graph": number,
            "sites": [[Path(file).name, line] for file, line in f.run.sites],
            "calls": [[list(extent), sorted(shapes)] for extent, shapes in f.run.calls.items()],
            "within": sorted({line for file, line in f.run.within if Path(file) == program}),
        }
        for number, module in enumerate(modules)
        for f in module.functions
        if f.run is not None
    ]
    variables = {name: code for module in reversed(modules) for name, code in module.variable_names().items()}
    return {
        "format": 1, "program": program.name, "module": "", "functions": functions, "variables": variables, "ops": {},
        "constants": {n: code for module in modules for n, code in module.constants.items() if n in module.from_run},
        "from_run": [name for module in modules for name in module.from_run],
        "streams": {str(i): own for i, module in enumerate(modules) if (own := module.own_draws())},
        "not_converted": missing, "rate": round(1 - len(missing) / max(done, 1), 4),
    }  # fmt: skip


def convert_program(
    program: str | Path,
    arguments: list[str] | None = None,
    api: str = "1",
    whole: bool = True,
    to: str = "tape",
    home: Path | None = None,
) -> Conversion:
    """Run a program and convert it.

    Parameters
    ----------
    program : path
    arguments : list of str, optional
        Of the program.
    api : {"1", "2", "eager"}
        What it was written for.
    whole : bool
        Whether to write the program's own loop, too.
    to : str
        For which library: a key of `dualgrad.migrate.convert.targets.TARGETS`.
    home : Path, optional
        The folder of its own modules, by default that of the file.

    Returns
    -------
    Conversion

    Raises
    ------
    Unsafe
        If the program fails, or needs what that library has not.
    """
    program = Path(program)
    with capturing(provenance.words_in(program)) as capture, noting(program, capture.note_locals) as notes:
        code = watch.watch_program(program, arguments or [], lambda run: progress.step("running the program"), api)
    if code:
        raise Unsafe(f"the program ends with exit code {code}, so that nothing is written")
    capture.names = dict(vars(sys.modules["__main__"]))
    notes.locals, notes.objects = capture.locals, capture.objects
    progress.say("writing tape code")
    keeps = whole and TARGETS[to].whole
    origins = origins_of(program, capture) if keeps else None
    said = of_constants(ast.parse(program.read_bytes()), capture.names) if keeps else {}
    conversion = convert(capture, program, origins, said)
    if keeps:
        add_program(conversion, program, arguments or [], notes, capture, home)
    if conversion.sayable and conversion.map["whole"]:
        other = convert(capture, program, origins, conversion.sayable)
        add_program(other, program, arguments or [], notes, capture, home)
        if other.map["whole"] and len(other.map["from_run"]) < len(conversion.map["from_run"]):
            conversion = other
    if (conversion.hosted or conversion.said) and keeps and not conversion.map["whole"]:
        # what is drawn or computed, or has a name, needs other lines of the program: without them, or where they give
        # something else, it is as in the run
        conversion = convert(capture, program)
        add_program(conversion, program, arguments or [], notes, capture, home)
    retarget(conversion, to)
    return conversion


def origins_of(program: Path, capture: Capture) -> Origins | None:
    """The origins of values, if the lines can be kept that they need."""
    with suppress(Unsafe, OSError, ValueError, SyntaxError):
        host_program.needed()
        return Origins(program.read_text(encoding="utf-8"), capture)
    return None


def convert_file(file: str | Path, arguments: list[str], **options: Any) -> Conversion:
    """The same for a file that may be a notebook, or no Python, and for a folder with the modules of a program.

    Raises
    ------
    SyntaxError, ValueError
        If it cannot be read.
    """
    file = Path(file)
    if file.is_dir():
        return _convert_folder(program_modules.entry_of(file), arguments, **options)
    if not notebooks.is_notebook(file):
        ast.parse(file.read_bytes())
        conversion = convert_program(file, arguments, **options)
        return _of_module(file, arguments, conversion, file.parent, options.get("to", "tape"))
    with tempfile.TemporaryDirectory() as folder:
        program = notebooks.as_program(file, folder)
        ast.parse(program.read_bytes())
        sys.path.insert(1, str(file.parent.resolve()))  # as Jupyter does
        conversion = convert_program(program, arguments, home=file.parent, **options)
    conversion.cells = notebooks.read_cells(file)
    return conversion


def _convert_folder(entry: Path, arguments: list[str], **options: Any) -> Conversion:
    """The same for a program of several modules, of which this one is run."""
    whole = program_modules.join_modules(entry)
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / entry.name
        program.write_text(whole.text, encoding="utf-8")
        ast.parse(program.read_bytes())
        sys.path.insert(1, str(entry.parent.resolve()))
        conversion = convert_program(program, arguments, home=entry.parent, **options)
        conversion = _of_module(program, arguments, conversion, entry.parent, options.get("to", "tape"))
    conversion.text = whole.with_original_lines(conversion.text, entry.name)
    conversion.entry = entry.name
    return conversion


def _of_module(file: Path, arguments: list[str], conversion: Conversion, home: Path, to: str = "tape") -> Conversion:
    """The program converted with the lines of `main` at its top, where fewer values of the run stay in it then."""
    found = conversion.map["from_run"] if conversion.map.get("whole") else ()
    whole = inlined_main.with_main_inlined(file.read_text(encoding="utf-8"), file.name) if found else None
    if whole is None:
        return conversion
    with tempfile.TemporaryDirectory() as folder:
        program, out = Path(folder) / file.name, Path(folder) / "out" / file.name
        program.write_text(whole.text, encoding="utf-8")
        out.parent.mkdir()
        progress.say("converting it with the lines of main at its top")
        words = ["-m", "dualgrad", "convert", "--to", to, "-o", str(out), str(program), *arguments]
        ran = host_program.run_python(words, home)
        if ran.returncode or not out.exists():
            return conversion
        content = json.loads(out.with_suffix(".map.json").read_text())
        stored = out.with_suffix(".npz")
        arrays = dict(np.load(stored)) if stored.exists() else {}
        text = out.read_text(encoding="utf-8")
    if not content.get("whole") or len(content["from_run"]) >= len(found):
        return conversion
    return Conversion(whole.with_original_lines(text, file.name), content, arrays, beside=conversion.beside)


def add_program(
    conversion: Conversion,
    program: Path,
    arguments: list[str],
    notes: Notes,
    capture: Capture,
    home: Path | None = None,
) -> None:
    """Put the program's own loop behind the functions, or say in the head of the file why not."""
    alone, arrays, from_run = conversion.text, dict(conversion.arrays), list(conversion.map["from_run"])
    try:
        source = program.read_text(encoding="utf-8")
        conversion.map["varies"] = nondeterminism.reasons(source, notes, capture)
        if conversion.map["varies"]:
            conversion.map["constants"] |= conversion.constants
        plain = host_program.rewrite(source, conversion, notes, capture.names)
        seen = class_members.ProgramObjects(source, notes, capture.names, conversion.optimizers, conversion.inside)
        ours = host_program.bound(conversion.text) | {name for _, name in conversion.hosted}
        text, content = class_members.move_into_classes(plain, ours, conversion.map, seen)
        _settle(conversion, [(text, content), (plain, conversion.map)], program, arguments, notes, home)
        conversion.map["whole"] = True
    except Exception as error:  # noqa: BLE001
        # whatever went wrong, the functions are right without the loop
        reason = error if isinstance(error, Unsafe) else f"{type(error).__name__} when it was rewritten: {error}"
        conversion.arrays, conversion.beside, conversion.map["from_run"] = arrays, {}, from_run
        said = f"Its functions alone: {reason}."
        conversion.text = alone.replace('convert."""\n', f'convert.\n\n{printable(said)}\n"""\n', 1)
        conversion.map |= {"whole": False, "why": str(reason)}


def _settle(
    conversion: Conversion,
    choices: Sequence[tuple[str, dict[str, Any]]],
    program: Path,
    arguments: list[str],
    notes: Notes,
    home: Path | None,
) -> None:
    """Take the first of several texts that prints what the old program printed.

    Raises
    ------
    Unsafe
        If none does.
    """
    for number, (text, content) in enumerate(choices, 1):
        try:
            conversion.text, conversion.map = host_program.checked(text), content
            conversion.beside = program_modules.companions(text, (home or program.parent).resolve())
            progress.say("running the new program: it must print the same")
            host_program.tried(conversion, program, arguments, notes.printed, bool(content["varies"]))
        except Unsafe:
            if number == len(choices) or text == choices[-1][0]:
                raise
        else:
            return


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say which arguments the subcommand takes."""
    add_output(parser, *OUTPUT, "the file to write")
    parser.add_argument("--functions", action="store_true", help="write the functions alone, not the whole program")
    parser.add_argument(
        "--to", choices=TARGETS, default="tape",
        help="the library that the new program is for: dualgrad's tapes (the default), real TensorFlow 2, a Keras "
        "model, or JAX, which gets the functions alone",
    )  # fmt: skip
    parser.add_argument(
        "program", metavar="PROGRAM", help="the file to convert, a program or a notebook, or the folder of its modules"
    )
    parser.add_argument("arguments", metavar="ARG", nargs=argparse.REMAINDER, help="what follows is the program's own")


def main(given: argparse.Namespace) -> int:
    """Convert the program; 2 if that cannot be."""
    try:
        settled(given, *OUTPUT)
    except ValueError as error:
        print(f"dualgrad convert: {error}", file=sys.stderr)  # noqa: T201
        return 2
    if not Path(given.program).exists():
        print(f"dualgrad convert: there is no file {given.program}", file=sys.stderr)  # noqa: T201
        return 2
    try:
        with progress.progress("dualgrad convert"):
            conversion = convert_file(given.program, given.arguments, whole=not given.functions, to=given.to)
        host_program.checked(conversion.text)
    except (SyntaxError, ValueError, Unsafe) as error:
        where = f"line {error.lineno}: " if isinstance(error, SyntaxError) and error.lineno else ""
        what = f"Python cannot read it: {where}{getattr(error, 'msg', error)}" if is_unread(error) else str(error)
        print(printable(f"dualgrad convert: {given.program}: {what}"), file=sys.stderr)  # noqa: T201
        return 2
    module, *further = conversion.write(given.output)
    count = sum(function["name"] is not None for function in conversion.map["functions"])
    said = f"{count} function{'s' * (count != 1)}"
    if conversion.map.get("whole"):
        said = f"the whole program, with {said}"
    elif "why" in conversion.map:
        said = f"{said} alone: {conversion.map['why']}"
    beside = ", ".join(map(str, further))
    print(f"dualgrad convert: wrote {module}: {said}; and beside it {beside}", file=sys.stderr)  # noqa: T201
    return 0


def is_unread(error: Exception) -> bool:
    """Whether a program's text is no Python."""
    return isinstance(error, (SyntaxError, ValueError)) and not isinstance(error, Unsafe)
