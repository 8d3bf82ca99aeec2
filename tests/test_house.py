"""The shape of the house: who may import whom, how large a module may be, what lies at the top level."""

from __future__ import annotations

import ast
import graphlib
import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

HOME = Path(__file__).resolve().parent.parent
PACKAGES = ("engine", "optim", "graph_api", "tape_api")

# A module imports only what stands above it, inside functions too. A package stands for its modules, except for those
# with an entry of their own.
ORDER = (
    "engine.guard",
    "engine.quoting",
    "engine.frontend",
    "engine.frontend.absent",
    "engine.frontend.differences",
    "engine.frontend.methods",
    "engine.frontend.later",
    "engine.frontend.namespace",
    "engine.core",
    "engine.core.nest",
    "engine.core.operands",
    "engine.core.errors",
    "engine.core.dtypes",
    "engine.io",
    "engine.runtime",
    "engine.runtime.buffer_pool",
    "engine.runtime.packs",
    "engine.runtime.machine",
    "engine.runtime.ownership",
    "engine.runtime.later",
    "engine.runtime.collector",
    "engine.runtime.state",
    "engine.runtime.cache",
    "engine.core.sums",
    "engine.frontend.initializers",
    "engine.frontend.platform",
    "engine.core.arguments",
    "engine.core.aval",
    "engine.core.tensor_shape",
    "engine.core.value",
    "engine.core.composite",
    "engine.core.unconnected",
    "engine.core.op",
    "engine.core.sparsity",
    "engine.core.tape",
    "engine.core.function_tape",
    "engine.core.detach",
    "engine.core.eager",
    "engine.core.expand_axes",
    "engine.core.batching",
    "engine.core.structural",
    "engine.core.kinds",
    "engine.core.trace",
    "engine.core.instantiate",
    "engine.core.variable",
    "engine.ops",
    "engine.frontend.arguments",
    "engine.frontend.api",
    "engine.frontend.legacy",
    "engine.frontend.image_draws",
    "engine.frontend.vector_distributions",
    "engine.frontend.distributions",
    "engine.ops.random",
    "engine.ops.dropout",
    "engine.ops.candidates",
    "engine.frontend.sampled_losses",
    "engine.frontend.ctc",
    "engine.frontend.sparse",
    "engine.frontend.names",
    "engine.frontend.version1_images",
    "engine.frontend.version1",
    "engine.frontend.numpy_functions",
    "engine.frontend.numpy_fourier",
    "engine.frontend.numpy_compound",
    "engine.frontend.numpy_protocol",
    "engine.frontend.operators",
    "engine.frontend.saver",
    "engine.frontend.tensor_arrays",
    "engine.frontend.data",
    "engine.core.indexed_slices",
    "engine.core.row_assignment",
    "engine.aggregation",
    "engine.choices",
    "engine.powers",
    "engine.reverse",
    "engine.linearity",
    "engine.forward",
    "engine.slopes",
    "engine.jacobian.coloring",
    "engine.jacobian.coloring.lattice",
    "engine.jacobian.coloring.greedy",
    "engine.jacobian.coloring.compression",
    "engine.jacobian.structure",
    "engine.jacobian.structure.pattern",
    "engine.jacobian.structure.propagation",
    "engine.jacobian.structure.row_independence",
    "engine.transform",
    "engine.check",
    "engine.custom",
    "engine.primitive",
    "engine.jacobian.independence",
    "engine.program",
    "engine.subtraces",
    "engine.subtraces.subtrace",
    "engine.subtraces.capture",
    "engine.ops.control",
    "engine.ops.loop_kernels",
    "engine.ops.scan_loop",
    "engine.ops.varying_loop",
    "engine.ops.while_loop",
    "engine.ops.deferred",
    "engine.ops.late",
    "engine.replay",
    "engine.call_record",
    "engine.traced_function",
    "engine.jacobian.structure.path",
    "engine.jacobian.planning",
    "engine.jacobian.planning.cost",
    "engine.jacobian.structure.peeling",
    "engine.jacobian.structure.sums",
    "engine.jacobian.planning.elimination",
    "engine.jacobian.planning.direction",
    "engine.jacobian.execution",
    "engine.jacobian.execution.decompression",
    "engine.jacobian.coloring.symmetric",
    "engine.jacobian.planning.memory",
    "engine.jacobian.planning.describe",
    "engine.jacobian.planning.hessian",
    "engine.jacobian.planning.single_rows",
    "engine.jacobian.planning.plan",
    "engine.jacobian.structure.verification",
    "engine.jacobian.execution.chunks",
    "engine.jacobian.execution.evaluate",
    "engine.jacobian.execution.compiled",
    "engine.jacobian.execution.closure_conversion",
    "engine.jacobian.execution.parallel",
    "engine.jacobian.views",
    "engine.jacobian.views.results",
    "engine.jacobian.views.complex_ends",
    "engine.jacobian.views.missing",
    "engine.jacobian.callable_plan",
    "engine.jacobian.second",
    "engine.jacobian.late_specialisation",
    "engine.jacobian.views.operator",
    "engine.jacobian.plan_cache",
    "engine.jacobian.views.for_scipy",
    "engine.jacobian.taking",
    "engine.explain",
    "engine.jacobian.on_tape",
    "engine.jacobian",
    "engine.gradient_tape",
    "engine.frontend.module",
    "engine.frontend.keras",
    "engine.symbolic",
    "engine.jacobian.views.fetched",
    "engine",
    "optim",
    "graph_api",
    "tape_api",
)
TOP_LEVEL = {
    *PACKAGES,
    *("bench", "docs", "tests"),
    *("CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md", "SUPPORT.md", "pyproject.toml"),
    *("MANIFEST.in", "setup.py", ".ci", ".github", ".gitignore", ".pre-commit-config.yaml"),
}
LONGEST = 500


def module_name(path: Path) -> str:
    """``engine.ops.trig`` for ``engine/ops/trig.py``, ``engine`` for ``engine/__init__.py``."""
    parts = path.relative_to(HOME).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for package in PACKAGES for path in sorted((HOME / package).rglob("*.py"))}


def imports(name: str) -> dict[str, int]:
    """Our modules that a module imports, anywhere in its text, with the line."""
    found: dict[str, int] = {}
    for node in ast.walk(ast.parse(MODULES[name].read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            # `from engine.ops import trig` imports the module engine.ops.trig
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [i if i in MODULES else node.module for i in inner]
        else:
            continue
        found.update({n: node.lineno for n in names if n in MODULES})
    return found


def position(name: str) -> int:
    """Where in `ORDER` a module stands: at its own entry, or that of a package around it."""
    while name not in ORDER:
        assert "." in name, f"{name} is missing in ORDER (tests/test_house.py): put it where it belongs"
        name = name.rpartition(".")[0]
    return ORDER.index(name)


def test_every_entry_of_the_order_exists() -> None:
    assert [name for name in ORDER if name not in MODULES] == []


@pytest.mark.parametrize("name", MODULES)
def test_a_module_imports_only_what_stands_above_it(name: str) -> None:
    own = position(name)
    assert ORDER[own] != "engine" or name == "engine", f"{name} is missing in ORDER (tests/test_house.py)"
    below = [f"line {line}: {other}" for other, line in imports(name).items() if position(other) > own]
    assert not below, f"{name} imports what stands below it: {below}"


def test_no_two_modules_import_each_other() -> None:
    # Also within a package that has one entry in ORDER. A cycle raises CycleError, which shows it.
    list(graphlib.TopologicalSorter({name: set(imports(name)) - {name} for name in MODULES}).static_order())


@pytest.mark.parametrize(
    ("package", "forbidden"),
    [
        ("engine", {"optim", "graph_api", "tape_api"}),
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


@pytest.mark.parametrize("folder", [*PACKAGES, "bench", "tests"])
def test_modules_fit_in_the_head(folder: str) -> None:
    lengths = {str(p.relative_to(HOME)): len(p.read_text().splitlines()) for p in (HOME / folder).rglob("*.py")}
    assert {name: n for name, n in lengths.items() if n > LONGEST} == {}


@pytest.mark.parametrize("front_end", ["graph_api", "tape_api"])
def test_public_functions_say_what_they_do(front_end: str) -> None:
    module = __import__(front_end)
    silent = [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and (inspect.isroutine(value) or inspect.isclass(value)) and not value.__doc__
    ]
    assert silent == []


# ---- somebody else's package of our name -----------------------------------------------------------------------------


def run_in(folder: Path, program: str) -> subprocess.CompletedProcess[str]:
    """Run a program from `folder`, our packages being further down the path, as they are once installed."""
    # -I would hide the folder; an empty first entry of the path is what `python -c` gives
    environment = {**os.environ, "PYTHONPATH": str(HOME), "PYTHONSAFEPATH": ""}
    return subprocess.run(
        [sys.executable, "-c", program], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("front_end", ["graph_api", "tape_api"])
@pytest.mark.parametrize("theirs", ["engine.py", "engine/__init__.py", "optim.py", "optim/__init__.py"])
def test_a_package_in_the_way_is_named(tmp_path: Path, front_end: str, theirs: str) -> None:
    file = tmp_path / theirs
    file.parent.mkdir(exist_ok=True)
    file.write_text("print('imported')\n")
    result = run_in(tmp_path, f"import {front_end}")
    culprit = file.parent if file.name == "__init__.py" else file
    message = result.stderr.splitlines()[-1]
    assert message.startswith("ImportError: ")
    assert str(culprit.resolve()) in message
    assert "Rename it, or run your program from another folder" in message
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
