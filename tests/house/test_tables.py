"""Rows of tables that nothing reaches: keyed by ops, by public names, by names of TensorFlow's own modules.

A row that registers itself, or stands under a key, looks used to every search for names. So each key is looked for
where it comes from: an op where code applies it or a table of public names offers it, a name in the front ends.
"""

import ast
import importlib
import inspect
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

import graph_api
import tape_api
from dualgrad.frontend.absent import ABSENT
from dualgrad.frontend.differences import DIFFERENCES
from dualgrad.migrate.internal_modules import modules
from engine.core.op import Op
from engine.core.structural import Cotangent, Tangent
from engine.numpy_api import catalog, protocol
from graph_api.graph_files import export, exporting, importing  # noqa: F401 - loads the rows of files
from graph_api.graphs.node_names import OF_FUNCTIONS
from tests.house.test_house import MODULES
from tests.house.test_names import named
from tests.op_table import OPS

FRONT_ENDS = (graph_api, tape_api)
NAMED = re.compile(r"[\w.:]+( [\w.:]+)*")
"""A string that may be a row of a table of names: ``"engine.ops.trig:sin"``, ``"sin cos"``."""


class _Uses(ast.NodeVisitor):
    """Names in code that may apply what they stand for; not those of keys, of comparisons and of what registers."""

    def __init__(self) -> None:
        self.found: Counter[str] = Counter()

    def visit_Compare(self, node: ast.Compare) -> None:
        sides = [node.left, *node.comparators]
        if not all(isinstance(o, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for o in node.ops):
            return self.generic_visit(node)
        for side in sides:
            if not isinstance(side, (ast.Name, ast.Attribute, ast.Tuple, ast.Set)):
                self.visit(side)
        return None

    def visit_Dict(self, node: ast.Dict) -> None:
        for key, value in zip(node.keys, node.values, strict=True):
            if key is not None and not isinstance(key, (ast.Name, ast.Attribute, ast.Tuple)):
                self.visit(key)
            self.visit(value)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        inside = [*node.body, *node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)]
        for part in [*inside, *(d for d in node.decorator_list if not isinstance(d, ast.Call))]:
            self.visit(part)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self.found[node.id] += 1

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self.found[node.attr] += 1
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str) and NAMED.fullmatch(node.value):
            self.found.update(re.findall(r"\w+", node.value))


def uses(text: str) -> Counter[str]:
    """How often each name stands where code may apply it."""
    visitor = _Uses()
    visitor.visit(ast.parse(text))
    return visitor.found


@cache
def applied() -> Counter[str]:
    """The same of the whole product."""
    return Counter(name for path in MODULES.values() for name in uses(path.read_text()).elements())


@cache
def names() -> dict[int, set[str]]:
    """What modules call a value, by its id."""
    found: dict[int, set[str]] = defaultdict(set)
    for module in MODULES:
        for key, value in vars(sys.modules.get(module, ast)).items():
            found[id(value)].add(key)
    return found


def held(rules: list[Any]) -> set[Op]:
    """Ops that rules apply without a name in a module: those in closures."""
    left, seen, found = list(rules), set(), set()
    while left:
        part = left.pop()
        if isinstance(part, Op):
            found.add(part)
        elif isinstance(part, tuple):
            left += part
        elif isinstance(part, (Cotangent, Tangent)):
            left.append(part._partial)
        elif inspect.isfunction(part) and part not in seen:
            seen.add(part)
            left += [cell.cell_contents for cell in part.__closure__ or ()]
    return found


def registries() -> Iterator[tuple[str, list[Op]]]:
    """Tables whose keys are ops, by where they are, with these."""
    for name in MODULES:
        for label, table in vars(sys.modules.get(name, ast)).items():
            if isinstance(table, dict) and (keys := [key for key in table if isinstance(key, Op)]):
                yield f"{name}.{label}", keys


def test_every_op_is_applied_somewhere_or_has_a_public_name() -> None:
    offered = {row[0] for row in (protocol._ROWS | catalog.ROWS).values()}
    offered |= {*protocol._UFUNCS.values(), *catalog.UFUNCS.values()}
    offered |= held([op.vjp for op in OPS.values()])
    left = [op for op in OPS.values() if op not in offered]
    assert [op.name for op in left if not any(map(applied().get, {op.name, *names()[id(op)]}))] == []


def test_what_registers_or_is_a_key_is_no_use() -> None:
    text = "@row(a)\ndef b(): return c is d\nT = {e: f}\ng(h)\n"
    assert set(uses(text)) == {"f", "g", "h"}


def test_every_row_that_is_keyed_by_an_op_has_an_op_of_the_table() -> None:
    known = {id(op) for op in OPS.values()}
    tables = dict(registries())
    assert "engine.executor.rewrites.REWRITES" in tables
    assert [(where, op.name) for where, keys in tables.items() for op in keys if id(op) not in known] == []
    mine = [x for name in MODULES if name.startswith("graph_api") for x in vars(sys.modules.get(name, ast)).values()]
    assert exporting.WAYS.keys() <= known | {id(x) for x in mine if isinstance(x, Op)}


def unnamed(texts: dict[str, str]) -> list[str]:
    """Private definitions at the top of modules that no text names again; decorators register what they decorate."""
    words = Counter(word for text in texts.values() for word in re.findall(r"\w+", text))
    return [
        f"{name}.{node.name}"
        for name, text in texts.items()
        for node in ast.parse(text).body
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name[0] == "_" and not node.name.endswith("__")
        if not node.decorator_list and words[node.name] == 1
    ]


def test_every_private_definition_is_named_again() -> None:
    assert unnamed({"a": "def _b(): ...", "c": "@row\ndef _d(): ...\ndef _e(): ...\n_e()"}) == ["a._b"]
    assert unnamed({name: path.read_text() for name, path in MODULES.items()}) == []


@pytest.mark.parametrize("name", [name for name in ABSENT if name.rpartition(".")[0] != "Session"])
def test_what_is_absent_is_absent(name: str) -> None:
    """In one front end, or it is a part that has not all that TensorFlow has there."""
    there = [front_end for front_end in FRONT_ENDS if named(front_end.__name__, name) is not None]
    assert len(there) < 2 or hasattr(getattr(there[0], name.partition(".")[0]), "__waiting__")


@pytest.mark.parametrize("name", [*DIFFERENCES, *OF_FUNCTIONS])
def test_what_is_said_of_a_name_is_said_of_one_that_is_here(name: str) -> None:
    assert any(named(front_end.__name__, name) is not None for front_end in FRONT_ENDS)


def test_parts_of_internal_modules_are_here() -> None:
    """All but ``contrib``, whose parts are named so that `check` says what each is."""
    wanted = {part for parts in modules().values() for part in parts.split()} - {"."}
    names = {part for part in wanted if not part.endswith(":") and not part.startswith("contrib.")}
    assert sorted(name for name in names if not any(named(f.__name__, name) is not None for f in FRONT_ENDS)) == []
    for part in wanted - names:
        if part.endswith(":"):
            importlib.import_module(part[:-1])
