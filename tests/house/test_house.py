"""The shape of the house: who may import whom, how large a module may be, what lies at the top level."""

import ast
import functools
import graphlib
import inspect
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

HOME = Path(__file__).resolve().parents[2]
PACKAGES = ("engine", "dualgrad", "optim", "tape_api", "graph_api", "bench")

# A module imports only what stands on its own floor or above it in this list, inside functions too: also by a name in a
# string. A floor is a folder with all that is in it, except for folders with an entry of their own.
FLOORS = (
    ("engine.guard",),
    ("engine.runtime",),
    ("engine.core",),
    ("engine.ops",),
    ("engine.numpy_api", "engine.derivatives"),
    ("engine.compiler.ir", "engine.compiler.liveness", "engine.compiler.passes", "engine.compiler.verify"),
    ("engine.executor",),
    ("engine.compiler",),
    ("engine.closed", "engine.jacobian.structure.pattern", "engine.jacobian.structure.propagation"),
    ("engine.control",),
    ("engine.transforms.vjp", "engine.transforms.check"),
    ("engine.jacobian",),
    ("engine.explain", "engine.transforms", "engine.jacobian.fetched"),
    ("engine",),
    ("dualgrad.solvers", "dualgrad.cluster", "dualgrad.adapters"),
    ("dualgrad.files",),
    ("dualgrad.platform",),
    ("dualgrad.frontend", "dualgrad.autograph"),
    ("dualgrad.extras",),
    ("dualgrad.sparse", "dualgrad.data"),
    ("dualgrad.keras", "dualgrad.lazy_names"),
    ("optim",),
    ("graph_api",),
    ("dualgrad.graph_functions",),
    ("tape_api",),
    ("dualgrad.migrate", "dualgrad.__main__", "dualgrad"),
    ("bench",),
)
FLOOR = {name: floor for floor, names in enumerate(FLOORS) for name in names}
IMPORTERS = ("import_module", "import", "find_spec", "lazily")
TOP_LEVEL = {
    *PACKAGES,
    *("docs", "tests", "findings"),
    *("CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md", "pyproject.toml"),
    *("MANIFEST.in", "setup.py", ".ci", ".github", ".gitignore", ".pre-commit-config.yaml"),
    *("CITATION.cff", "CODE_OF_CONDUCT.md", "SECURITY.md"),
}
LONGEST = 800


def module_name(path: Path) -> str:
    """``engine.ops.trig`` for ``engine/ops/trig.py``, ``engine`` for ``engine/__init__.py``."""
    parts = path.relative_to(HOME).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for package in PACKAGES for path in sorted((HOME / package).rglob("*.py"))}


@dataclass(frozen=True)
class Facts:
    """What the rules ask about a module, each with its line: so no tree is kept, and each is made once."""

    imports: dict[str, int]
    tabled: dict[str, int]
    lengths: list[tuple[str, int]]
    docstrings: list[tuple[int, str]]
    untrue: list[str]


@functools.cache
def facts(name: str) -> Facts:
    text = MODULES[name].read_text()
    lines, found = text.splitlines(), Facts({}, {}, [], [], [])
    for node in ast.walk(ast.parse(text)):
        names, tabled = imported(node)
        (found.tabled if tabled else found.imports).update(
            {n: node.lineno for n in names if n in MODULES and n != name}  # type: ignore[attr-defined]
        )
        if isinstance(node, ast.FunctionDef):
            found.lengths.append((node.name, lines_of_code(node, lines)))
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.untrue.extend(untrue_parameters(node))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            found.docstrings.append((node.lineno, node.value.value))
    return found


def everywhere(wrong: Callable[[str], Any]) -> dict[str, Any]:
    """What is wrong in each module where anything is."""
    return {name: found for name in MODULES if (found := wrong(name))}


def imported(node: ast.AST) -> tuple[list[str], bool]:
    """Modules that a piece of text imports or names, and whether it only names them.

    A string that names a module counts: with a dot in it anywhere, without one where it is handed to a function that
    imports. So do the tables of what is loaded on first use, a row a line: ``graph_api.saving: | train.* | Saver``.
    """
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names], False
    if isinstance(node, ast.ImportFrom) and node.module:
        # `from engine.ops import trig` imports the module engine.ops.trig
        inner = [f"{node.module}.{alias.name}" for alias in node.names]
        return [i if i in MODULES else node.module for i in inner], False
    if isinstance(node, ast.Call) and last_name(node.func).strip("_") in IMPORTERS:
        return [x.value for x in node.args if isinstance(x, ast.Constant) and isinstance(x.value, str)], False
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and "." in node.value:
        return [re.split(":| \\| ", row)[0] for row in node.value.split("\n")], True
    return [], False


def last_name(function: ast.expr) -> str:
    """``f`` of ``f`` and of ``a.f``."""
    return str(getattr(function, "attr", getattr(function, "id", "")))


def imports(name: str, tables: bool = True) -> dict[str, int]:
    """Our modules that a module imports, anywhere in its text, with the line; also those that its `tables` name."""
    found = facts(name)
    return {**found.imports, **(found.tabled if tables or not name.endswith("lazy_names") else {})}


def floor(name: str) -> int:
    """The floor on which a module is: its own entry's, or that of a package around it."""
    entry = name
    while entry not in FLOOR:
        assert "." in entry, f"{name} is on no floor (FLOORS in tests/house/test_house.py): put it where it belongs"
        entry = entry.rpartition(".")[0]
    assert entry == name or entry not in ("engine", "dualgrad"), f"{name} needs a floor of its own"
    return FLOOR[entry]


def test_every_entry_of_the_floors_exists() -> None:
    assert [name for name in FLOOR if name not in MODULES] == []


def test_a_module_imports_only_what_stands_above_it() -> None:
    def below(name: str) -> list[str]:
        own = floor(name)
        return [f"line {line}: {other}" for other, line in imports(name).items() if floor(other) > own]

    assert everywhere(below) == {}


def test_no_two_modules_import_each_other() -> None:
    # Also on one floor. A cycle raises CycleError, which shows it. A front end's table of what is loaded on first use
    # stands for the front end, which is complete by then.
    graph = {name: set(imports(name, tables=False)) - {name} for name in MODULES}
    list(graphlib.TopologicalSorter(graph).static_order())


@pytest.mark.parametrize(
    ("package", "forbidden"),
    [
        ("engine", {"dualgrad", "optim", "graph_api", "tape_api"}),
        ("optim", {"graph_api", "tape_api"}),
        ("graph_api", {"tape_api"}),
        ("tape_api", {"graph_api"}),
    ],
)
def test_packages_that_do_not_know_each_other(package: str, forbidden: set[str]) -> None:
    for name in MODULES:
        if name.partition(".")[0] == package:
            assert {other.partition(".")[0] for other in imports(name)}.isdisjoint(forbidden), name


def test_the_top_level_holds_what_it_should() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=HOME, capture_output=True, text=True, check=False)
    if tracked.returncode or not tracked.stdout:
        pytest.skip("not a git checkout, or a copy inside of one")
    assert {line.partition("/")[0] for line in tracked.stdout.splitlines()} == TOP_LEVEL


@pytest.mark.parametrize("folder", [*PACKAGES, "tests"])
def test_modules_fit_in_the_head(folder: str) -> None:
    files = [p for p in (HOME / folder).rglob("*") if p.suffix in (".py", ".c", ".h")]
    lengths = {str(p.relative_to(HOME)): len(p.read_text().splitlines()) for p in files}
    assert {name: n for name, n in lengths.items() if n > LONGEST} == {}


BUDGETS = {
    "engine": 69_080, "dualgrad": 62_856, "graph_api": 20_943, "tape_api": 13_592, "bench": 9_458, "optim": 5_570,
    "tests": 94_706,
}  # fmt: skip
"""Lines of Python that a folder may have, stubs apart. They only fall: who adds takes away elsewhere."""


def test_folders_keep_to_their_budgets() -> None:
    lengths = {f: sum(len(p.read_text().splitlines()) for p in (HOME / f).rglob("*.py")) for f in BUDGETS}
    assert {folder: n for folder, n in lengths.items() if n > BUDGETS[folder]} == {}


LONGEST_FUNCTION = 60
"""Lines of code, without docstring, comments and empty lines."""


def lines_of_code(function: ast.FunctionDef, lines: list[str]) -> int:
    """The length of a function as a reader counts it."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    head = range(function.lineno, function.body[0].lineno)
    rest = range(body[0].lineno, (function.end_lineno or 0) + 1) if body else range(0)
    return sum(bool((text := lines[i - 1].strip()) and not text.startswith("#")) for i in (*head, *rest))


def test_functions_fit_in_the_head() -> None:
    def long(name: str) -> list[tuple[str, int]]:
        return [(function, length) for function, length in facts(name).lengths if length > LONGEST_FUNCTION]

    assert everywhere(long) == {}


@pytest.mark.parametrize("front_end", ["graph_api", "tape_api"])
def test_public_functions_say_what_they_do(front_end: str) -> None:
    module = __import__(front_end)
    silent = [
        name
        for name, value in [(name, getattr(module, name)) for name in dir(module)]
        if not name.startswith("_") and (inspect.isroutine(value) or inspect.isclass(value)) and not value.__doc__
    ]
    assert silent == []


def test_docstrings_begin_with_a_verb_or_a_noun() -> None:
    def lines(name: str) -> list[int]:
        return [line for line, text in facts(name).docstrings if text.split(maxsplit=1)[0] == "What"]

    assert everywhere(lines) == {}


BRITISH = re.compile(
    r"(behavi|col|fav|flav|hon|lab|neighb)our|(label|model|signal|travel)l(ed|ing)|centre(?![a-z])|centred|grey"
    r"|(author|character|custom|emphas|factor|final|general|initial|linear|maxim|minim|normal|optim|organ|parametr|penal"
    r"|real|recogn|regular|serial|special|stabil|standard|summar|symmetr|synchron|util|vector|visual)"
    r"is(e(?![a-z])|ed(?![a-z])|es(?![a-z])|er|ing(?![a-z])|ation|able)",
    re.IGNORECASE,
)
"""British spellings, also inside of names; words are spelled as in NumPy and SciPy."""


@functools.cache
def is_british(word: str) -> bool:
    return BRITISH.search(word) is not None


def test_words_are_spelled_as_in_numpy() -> None:
    def words(name: str) -> list[str]:
        return [word for word in set(re.findall("[A-Za-z]+", name + MODULES[name].read_text())) if is_british(word)]

    assert everywhere(words) == {}


def documented_parameters(docstring: str) -> list[str]:
    """The names in the section of parameters of a docstring in numpydoc's style."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?:\n\n\w[\w ]*\n-+\n|\Z)", docstring, re.DOTALL | re.MULTILINE)
    lines = section.group(1).splitlines() if section else []
    names = [name for line in lines if line and not line[0].isspace() for name in line.partition(" :")[0].split(",")]
    return [name for name in (name.strip(" *`") for name in names) if name.isidentifier()]


def parameters(function: ast.FunctionDef) -> set[str] | None:
    """The names of a function's parameters; None if it takes any keyword."""
    arguments = function.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return None if arguments.kwarg else {a.arg for a in (*every, *([arguments.vararg] if arguments.vararg else []))}


def untrue_parameters(node: ast.FunctionDef | ast.ClassDef) -> list[str]:
    """Parameters that a docstring names, and that the function or class does not have."""
    maker: Any = node
    if isinstance(node, ast.ClassDef):
        makers = (f for f in node.body if isinstance(f, ast.FunctionDef) and f.name in ("__init__", "__new__"))
        maker = next(makers, None)
    own = None if maker is None else parameters(maker)
    documented = documented_parameters(ast.get_docstring(node) or "")
    return [f"{node.name}({p})" for p in documented if own is not None and p not in own]


def test_documented_parameters_exist() -> None:
    assert everywhere(lambda name: facts(name).untrue) == {}


# ---- somebody else's package of our name -----------------------------------------------------------------------------


def run_in(folder: Path, program: str) -> subprocess.CompletedProcess[str]:
    """Run a program from `folder`, our packages being further down the path, as they are once installed."""
    # -I would hide the folder; an empty first entry of the path is what `python -c` gives
    environment = {**os.environ, "PYTHONPATH": str(HOME), "PYTHONSAFEPATH": ""}
    return subprocess.run(
        [sys.executable, "-c", program], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("program", "theirs"),
    [
        *(
            (f"import {front_end}", theirs)
            for front_end in ("graph_api", "tape_api")
            for theirs in ("engine.py", "engine/__init__.py", "dualgrad.py", "optim/__init__.py")
        ),
        ("import optim", "engine.py"),
        ("import bench", "engine.py"),
        ("from dualgrad import graph", "engine/__init__.py"),
        ("from dualgrad import optim", "optim.py"),
        ("from dualgrad import __version__", "engine.py"),
    ],
)
def test_a_package_in_the_way_is_named(tmp_path: Path, program: str, theirs: str) -> None:
    file = tmp_path / theirs
    file.parent.mkdir(exist_ok=True)
    file.write_text("print('imported')\n")
    result = run_in(tmp_path, program)
    culprit = file.parent if file.name == "__init__.py" else file
    message = result.stderr.splitlines()[-1]
    assert message.startswith("ImportError: ")
    assert str(culprit.resolve()) in message
    assert "Rename it; `dualgrad run PROGRAM` keeps both apart" in message
    assert result.stdout == "", "the wrong module must not even run"


@pytest.mark.parametrize("front_end", ["graph_api", "tape_api"])
def test_a_package_imported_earlier_is_named_too(tmp_path: Path, front_end: str) -> None:
    (tmp_path / "optim.py").write_text("")
    result = run_in(tmp_path, f"import optim, {front_end}")
    assert str((tmp_path / "optim.py").resolve()) in result.stderr.splitlines()[-1]


@pytest.mark.parametrize("front_end", ["graph_api", "tape_api"])
def test_other_files_are_not_in_the_way(tmp_path: Path, front_end: str) -> None:
    (tmp_path / "engines.py").write_text("raise SystemExit('imported')\n")
    (tmp_path / "engine").mkdir()  # a folder without __init__.py yields to a package further down the path
    result = run_in(tmp_path, f"import {front_end}; print({front_end}.__file__)")
    assert result.returncode == 0, result.stderr
    assert Path(result.stdout.strip()).resolve() == HOME / front_end / "__init__.py"
