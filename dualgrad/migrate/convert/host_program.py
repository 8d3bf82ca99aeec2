"""The program around the graph: its own source, with runs of sessions replaced by calls of the converted functions.

What only builds the graph goes, everything else stays as it was written, comments included (through libcst). `plan`
says what becomes of each statement. Where that is not sure, or where the new program does not print what the old one
printed, the functions stand alone, and the head of the file says why.
"""

from __future__ import annotations

import ast
import keyword
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from dualgrad.migrate.compare.printed import differing_lines
from dualgrad.migrate.convert import dispatching, iterating, monitoring, printing, program_initializers, trial
from dualgrad.migrate.convert.body import Statement
from dualgrad.migrate.convert.call_sites import all_calls, called, is_name, results, unpacked
from dualgrad.migrate.convert.edits import Extent, Place, Plan, Replaced, Unsafe, extent, plain_names
from dualgrad.migrate.convert.minimizations import IMPORT
from dualgrad.migrate.convert.notes import Notes
from dualgrad.migrate.convert.plan import Planner

if TYPE_CHECKING:
    import libcst

LOADED = """
ARRAYS = dict(np.load(__file__.removesuffix(".py") + ".npz"))
"""
"""Lines that make the arrays beside a converted module known to it."""
_MARKS = re.compile(r"classmethod|property|staticmethod|\w+\.(?:deleter|getter|setter)")
"""Decorators that need nothing of the program."""
LIMIT = 600
"""How many seconds the new program may take when it is tried."""


def needed() -> ModuleType:
    """The library that changes programs and keeps their comments.

    Raises
    ------
    Unsafe
        If it is not installed: the functions need it not.
    """
    try:
        libcst = import_module("libcst")
        import_module("libcst.metadata")
    except ImportError as error:
        raise Unsafe(
            "libcst, which rewrites the program's own lines and keeps its comments, is not installed "
            "(pip install 'dualgrad[migrate]')"
        ) from error
    return libcst


def rewrite(source: str, conversion: Any, notes: Notes, names: Mapping[str, Any]) -> str:
    """The whole program: the converted functions and the program's own loop.

    Parameters
    ----------
    source : str
        The program.
    conversion : Conversion
        Its `arrays` get the states of generators that have to be set.
    notes : Notes
        What was seen when it ran.
    names : mapping
        Its global names and what they stood for in the end.

    Raises
    ------
    Unsafe
        If it is not sure that it does the same.
    """
    if conversion.map["not_converted"]:
        missing = Counter("operation" if m["op"] else m["type"] for m in conversion.map["not_converted"])
        said = " and ".join(f"{count} {what}{'s' * (count > 1)}" for what, count in missing.items())
        first = conversion.map["not_converted"][0]
        where = f"line {first['site'][1]}: " if first["site"] else ""
        raise Unsafe(f"{said} could not be converted ({where}{first['why']})")
    cst = needed()
    provided = _bound(ast.parse(conversion.text).body)
    conversion.text, places = program_initializers.without_hosted(conversion.text, conversion.hosted)
    made = {name for _, name in conversion.hosted}

    def planned(objects: Mapping[str, Sequence[Any]]) -> tuple[Planner, Plan]:
        planner = Planner(source, conversion, provided, notes, dict(names), objects, places)
        return planner, planner.make_plan()

    try:
        planner, plan = planned({})
    except Unsafe:
        if all(len(objects) < 2 for objects in notes.objects.values()):
            raise
        planner, plan = planned(notes.objects)
    conversion.sayable = planner.sayable()
    restores, arrays = _restores(plan, source)
    edited = cst.metadata.MetadataWrapper(cst.parse_module(source)).visit(_editor(cst, plan, source, restores))
    imports = [line for line in edited.body if _is_import(cst, line)]
    body = [line for line in edited.body if not _is_import(cst, line) and not _is_docstring(cst, line, edited)]
    body = [inner for line in body for inner in _unguarded(cst, line)]
    halves = program_initializers.split(cst, body, made, provided)
    if halves is None:
        raise Unsafe("what its variables start with is computed from what its graph gave")
    renamed = _bound(ast.parse(edited.with_changes(body=body).code).body) & provided - made
    if renamed:
        raise Unsafe(f"{', '.join(sorted(renamed))}: a name of the program is one of the converted module's too")
    _keep_docstring(conversion, ast.get_docstring(ast.parse(source)))
    if any(replaced.run for replaced in plan.calls.values()):
        rows = dispatching.text(planner.run, planner.dispatched, planner.label)
        conversion.text = conversion.text.rstrip("\n") + "\n" + rows
    for line in planner.instances.text(planner.read_attributes(), planner.label):
        conversion.text = f"{conversion.text.rstrip()}\n\n\n{line}"
    classes = [iterating.CLASS] if "Iterator" in plan.iterators.values() else []
    classes = [text.replace(*iterating.SHUFFLED) if ".shuffle(" in source else text for text in classes]
    if any(monitoring.NAME in line for lines in plan.before.values() for line in lines):
        classes.insert(0, monitoring.CLASS)
    for text in classes:
        head, here, rest = conversion.text.partition("import tape_api as tf\n")
        conversion.text = f"{head}{here}{text.rstrip()}\n\n\n{rest.lstrip()}"
    conversion.arrays.update(arrays)
    conversion.map["from_run"] += [f"the state of a generator ({name})" for name in arrays]
    sizes = {ast.unparse(e): value for found in plan.sizes.values() for e, value in found}
    conversion.map["from_run"] += [f"{text} = {value!r}" for text, value in sizes.items()]
    return _joined(cst, conversion, imports, *halves, edited)


def _joined(
    cst: Any, conversion: Any, imports: Sequence[Any], early: Sequence[Any], body: Sequence[Any], edited: Any
) -> str:
    """The text of the whole."""
    text = conversion.text.replace(LOADED, "", 1)
    loaded = LOADED if conversion.arrays else ""
    own = [cst.Module(body=[line.with_changes(leading_lines=[])]).code for line in imports]
    ours = ["import numpy as np\n"] if conversion.arrays else []
    ours += [IMPORT] if IMPORT in text else []
    whole = text + edited.code
    uses = {
        "copy": "copy.deepcopy(",
        "os": "os.path.join(folder",
        "time": "time.time()",
        "contextlib": "contextlib.supp",
        "types": "types.SimpleNamespace(results",
    }
    ours += [f"import {name}\n" for name, use in uses.items() if use in whole]
    text = text.replace(IMPORT, "", 1)
    text = text.replace("\nimport numpy as np\n", "\n", 1)
    if "namedtuple(" in text + cst.Module(body=body).code:
        own.append("from collections import namedtuple\n")
    head, _, rest = text.partition("import tape_api as tf\n")
    lines = _ordered({*own, *ours, "import tape_api as tf\n"})
    guard = cst.parse_statement('if __name__ == "__main__":\n    pass\n')
    above = cst.Module(body=list(_spaced(cst, early)), default_indent=edited.default_indent).code
    constants = _constants(cst, body, program_initializers.read([[text]]), begins=not early)
    first = cst.Module(body=list(_spaced(cst, constants)), default_indent=edited.default_indent).code
    above = "\n".join(text for text in (first, above) if text.strip())
    body = [line for line in body if line not in constants]
    if not body:
        raise Unsafe("nothing of the program is left but what builds its graph")
    alone = [line for line in body if _stands_alone(cst, line)]
    first, *others = [line for line in body if line not in alone] or [cst.parse_statement("pass\n")]
    defined = cst.Module(
        body=[line.with_changes(leading_lines=_apart(cst, line)) for line in alone],
        default_indent=edited.default_indent,
    ).code
    plain = [line for line in first.leading_lines if line.comment is not None]
    others = [line.with_changes(leading_lines=_closer(line.leading_lines)) for line in others]
    block = guard.body.with_changes(body=[first.with_changes(leading_lines=plain), *others])
    main = cst.Module(body=[guard.with_changes(body=block)], default_indent=edited.default_indent).code
    apart = "\n\n\n" if defined.strip() else "\n\n"
    if early and (seeded := re.match(r"\s*(tf\.random\.set_seed\(.*\)\n)", rest)):
        above, rest = seeded[1] + above, rest[seeded.end() :]  # before what is drawn
    if early or constants:
        above += "\n" * (not early and not rest.lstrip().startswith(("def ", "@", "class ")))
        rest = f"\n{above}{rest.lstrip(chr(10)) if not rest.lstrip().startswith('def ') else rest}"
    named = dict.fromkeys(re.findall(r'(namedtuple\("(\w+)", "[\w ]+"\))\(', rest + defined + main))
    for made, name in named if len({name for _, name in named}) == len(named) else ():
        # a class of tuples, as sessions give them for cells, is made once
        rest, defined, main = [text.replace(f"{made}(", f"{name}(") for text in (rest, defined, main)]
        lines += f"\n{name} = {made}\n"
    return f"{head.rstrip()}\n\n{lines}{loaded}{rest.rstrip()}\n{defined.rstrip()}{apart}{main}"


def _unguarded(cst: Any, line: Any) -> list[Any]:
    """The lines of the program's own ``if __name__ == "__main__"``, which stand in ours; any other line itself."""
    test = cst.Module(body=[]).code_for_node(line.test) if isinstance(line, cst.If) else ""
    if line.__class__ is not cst.If or line.orelse or not re.fullmatch(r"\(?__name__ == ['\"]__main__['\"]\)?", test):
        return [line]
    if not isinstance(line.body, cst.IndentedBlock):
        return [line]
    first, *others = line.body.body
    return [first.with_changes(leading_lines=[*line.leading_lines, *first.leading_lines]), *others]


def _stands_alone(cst: Any, line: Any) -> bool:
    """Whether it is a function, also a lambda with a name, or a class, that needs nothing when it is defined."""
    if isinstance(line, cst.FunctionDef):
        every = [*line.params.params, *line.params.kwonly_params, *line.params.posonly_params]
        defaults = [p.default for p in every if p.default is not None]
        plain = (cst.Integer, cst.Float, cst.SimpleString, cst.UnaryOperation)
        texts = [cst.Module(body=[]).code_for_node(d) for d in defaults]
        known = all(
            isinstance(d, plain) or text in ("None", "True", "False") or re.match(r"(tf|np)(\.\w+)+(\(|$)", text)
            for d, text in zip(defaults, texts, strict=True)
        )
        noted = [p.annotation for p in every if p.annotation is not None]
        marks = [cst.Module(body=[]).code_for_node(d.decorator) for d in line.decorators]
        return known and not noted and line.returns is None and all(map(_MARKS.fullmatch, marks))
    if isinstance(line, cst.ClassDef):
        bases = all(is_name(cst, b.value, "object") for b in line.bases)
        inside = line.body.body if isinstance(line.body, cst.IndentedBlock) else ()
        rest = [s for s in inside if not (isinstance(s, cst.SimpleStatementLine) and _reads_nothing(cst, s))]
        return bases and not line.keywords and not line.decorators and all(_stands_alone(cst, s) for s in rest)
    small = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
    named = small.value if isinstance(small, cst.Assign) else None
    return isinstance(named, cst.Lambda) and all(p.default is None for p in named.params.params)


def _reads_nothing(cst: Any, line: Any) -> bool:
    """Whether a statement uses no name: a text, or an attribute of a class that is a plain value."""
    code = ast.parse(cst.Module(body=[line]).code)
    return not any(isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) for n in ast.walk(code))


def _constants(cst: Any, body: Sequence[Any], wanted: set[str], begins: bool) -> list[Any]:
    """The names of plain values with which a program `begins`, or that the module reads, and which nothing changes."""
    tree = ast.parse(cst.Module(body=body).code)
    named = {id(node): (given, read) for node, given, read in plain_names(tree)}
    plain: list[tuple[Any, set[str], set[str], bool]] = []
    for line, node in zip(body, tree.body, strict=True):
        if id(node) in named:
            plain.append((line, *named[id(node)], begins))
        elif not _stands_alone(cst, line):
            begins = False
    found: list[Any] = []
    for line, given, names, early in reversed(plain):
        if early or given & wanted:
            wanted = wanted | names
            found.insert(0, line)
    return found


def _spaced(cst: Any, lines: Sequence[Any]) -> Iterator[Any]:
    """Statements without empty lines, except around definitions."""
    before = False
    for line in lines:
        defines = isinstance(line, (cst.FunctionDef, cst.ClassDef))
        apart = _apart(cst, line) if defines or before else [c for c in line.leading_lines if c.comment]
        before = defines
        yield line.with_changes(leading_lines=apart)


def _apart(cst: Any, line: Any) -> list[Any]:
    """Two empty lines, and the comments above a definition."""
    return [cst.EmptyLine(indent=False), cst.EmptyLine(indent=False), *[c for c in line.leading_lines if c.comment]]


def _closer(lines: Sequence[Any]) -> list[Any]:
    """Lines above an indented statement, of which no two that follow each other are empty."""
    return [line for i, line in enumerate(lines) if line.comment or not i or lines[i - 1].comment]


def _ordered(lines: set[str]) -> str:
    """Imports as they are usually ordered: Python's own, then others."""
    own = [line for line in lines if re.split(r"[ .\n]", line)[1] in sys.stdlib_module_names]
    others = sorted(lines.difference(own), key=lambda line: re.split(r"[ .\n]", line)[1])
    groups = [sorted(own, key=lambda line: line.startswith("from")), others]
    return "\n".join("".join(group) for group in groups if group)


def _is_import(cst: Any, line: Any) -> bool:
    return isinstance(line, cst.SimpleStatementLine) and isinstance(line.body[0], (cst.Import, cst.ImportFrom))


def _is_docstring(cst: Any, line: Any, module: Any) -> bool:
    """Whether it is the text that says what a program is."""
    first = isinstance(line, cst.SimpleStatementLine) and line is module.body[0] and isinstance(line.body[0], cst.Expr)
    return first and isinstance(line.body[0].value, (cst.SimpleString, cst.ConcatenatedString))


def _keep_docstring(conversion: Any, said: str | None) -> None:
    """Have the head of the new program say what the old one said of itself."""
    head = 'convert."""\n'
    if said and all(line.isprintable() for line in said.split("\n")):
        told = said.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
        conversion.text = conversion.text.replace(head, f'convert.\n\n{told}\n"""\n', 1)


def bound(text: str) -> set[str]:
    """The names that a module binds at its top."""
    return _bound(ast.parse(text).body)


def _bound(body: Sequence[ast.stmt]) -> set[str]:
    """The names that statements bind where they stand, not inside of functions."""
    names: set[str] = set()
    todo: list[ast.AST] = list(body)
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif not isinstance(node, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            todo += ast.iter_child_nodes(node)
    return names


# ---- generators of random numbers ------------------------------------------------------------------------------------


def _restores(plan: Plan, source: str) -> tuple[dict[Place, list[str]], dict[str, np.ndarray]]:
    """By statement: the lines that set generators, and the arrays that they need."""
    lines: dict[Place, list[str]] = {}
    arrays: dict[str, np.ndarray] = {}
    for place, states in plan.restored.items():
        for name, state in states.items():
            key = f"{name.replace('.', '_')}_{place[0]}"
            lines.setdefault(place, []).append(_restored(name, state, key, arrays))
    return lines, arrays


def _restored(name: str, state: Any, key: str, arrays: dict[str, np.ndarray]) -> str:
    comment = "  # as the lines left it that built the graph"
    if name == "random":
        arrays[key] = np.array(state[1], np.uint32)
        return f'random.setstate(({state[0]}, tuple(ARRAYS["{key}"].tolist()), {state[2]!r})){comment}'
    if isinstance(state, dict):
        if "array" in repr(state):
            raise Unsafe(f"the state of {name} cannot be written down")
        return f"{name}.bit_generator.state = {state!r}{comment}"
    kind, keys, *numbers = state
    arrays[key] = np.asarray(keys)
    return f'{name}.set_state(("{kind}", ARRAYS["{key}"], {", ".join(repr(_number(n)) for n in numbers)})){comment}'


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


# ---- the edit --------------------------------------------------------------------------------------------------------


class _Edits:
    """Edits that carry out a plan: `_editor` makes a transformer of them.

    Parameters
    ----------
    cst : module
        The library, which is loaded when it is used.
    plan : Plan
    source : str
    restores : mapping
        By statement: the lines that set generators.
    """

    get_metadata: Any

    def __init__(self, cst: Any, plan: Plan, source: str, restores: Mapping[Place, list[str]]) -> None:
        super().__init__()
        self.cst, self.plan, self.restores = cst, plan, restores
        self.positions = sys.modules["libcst.metadata"].PositionProvider
        self._lines = source.split("\n")

    def _bytes_in(self, line: int, column: int) -> int:
        return len(self._lines[line - 1][:column].encode()) if line <= len(self._lines) else column

    def _extent(self, node: Any) -> Extent:
        extent = self.get_metadata(self.positions, node)
        start, end = extent.start, extent.end
        return start.line, self._bytes_in(start.line, start.column), end.line, self._bytes_in(end.line, end.column)

    def _place(self, node: Any) -> Place:
        return self._extent(node)[:2]

    def on_leave(self, original: Any, updated: Any) -> Any:
        result = super().on_leave(original, updated)  # type: ignore[misc]  # of the class that `_editor` adds
        if (
            isinstance(original, self.cst.BaseExpression)
            and self.plan.facts
            and self._extent(original) in self.plan.facts
        ):
            known = self.cst.parse_expression(self.plan.facts[self._extent(original)])
            around = {"lpar": updated.lpar, "rpar": updated.rpar} if updated.lpar else {}
            return known.with_changes(**around)
        if not isinstance(original, (self.cst.SimpleStatementLine, self.cst.BaseCompoundStatement)):
            return result
        small = getattr(original, "body", ())
        if isinstance(original, self.cst.SimpleStatementLine) and len(small) > 1:
            lines = [self._planned(self._place(o), _alone(self.cst, updated, i)) for i, o in enumerate(small)]
            parts = [n for line in lines for n in getattr(line, "nodes", [line])]
            kept = [n for n in parts if n is not self.cst.RemovalSentinel.REMOVE]
            if kept and all(a is b for a, b in zip(kept, parts, strict=False)) and len(kept) == len(small):
                untouched = all(n.body[0] is u for n, u in zip(kept, updated.body, strict=True))
                return updated if untouched else self.cst.FlattenSentinel(kept)
            return self.cst.FlattenSentinel(kept) if kept else self.cst.RemoveFromParent()
        planned = self._planned(self._place(original), result)
        is_simple = isinstance(original, self.cst.SimpleStatementLine)
        return self._unpacked(original.body[0], planned) if planned is result and is_simple else planned

    def _unpacked(self, original: Any, line: Any) -> Any:
        """The statements in the place of one that names what a run gives: structures are made of it, None left out."""
        replaced = self._replaced(original.value) if isinstance(original, self.cst.Assign) else None
        target = original.targets[0].target if replaced is not None and len(original.targets) == 1 else None
        if replaced is None or replaced.run or not isinstance(target, self.cst.Tuple):
            return line
        codes = [self.cst.Module(body=[]).code_for_node(e.value) for e in target.elements]
        unread = {"_", *self.plan.unread.get(self._place(original), ())}
        name = replaced.function["name"]
        own = [c for c in all_calls(self.cst, line.body[0].value) if is_name(self.cst, c.func, name)]
        shown = ["_" if code in unread else code for code in codes]
        texts = unpacked(self.cst, replaced, shown, own[0]) if own else []
        lines = [self.cst.parse_statement(f"{text}\n") for text in texts]
        if not lines:
            return line
        lines[0] = lines[0].with_changes(leading_lines=line.leading_lines, trailing_whitespace=line.trailing_whitespace)
        return self.cst.FlattenSentinel(lines) if len(lines) > 1 else lines[0]

    def _replaced(self, value: Any) -> Replaced | None:
        """The plan for a value that is a call; None if it stays, or is no call."""
        return self.plan.calls.get(self._extent(value)) if isinstance(value, self.cst.Call) else None

    def _planned(self, place: Place, updated: Any) -> Any:
        """The statements that take the place of one, with those that are added around it."""
        result = self._edited(place, updated)
        if place in self.plan.sizes:
            result = self._guarded(place, result, updated.leading_lines)
        above, below = self.plan.before.get(place, ()), self.plan.after.get(place, ())
        if result is self.cst.RemovalSentinel.REMOVE or not (above or below):
            return result
        first, *others = result.nodes if isinstance(result, self.cst.FlattenSentinel) else [result]
        comments = [self.cst.EmptyLine(comment=self.cst.Comment(line)) for line in above if line.startswith("#")]
        added = [self.cst.parse_statement(_wrapped(line)) for line in above if not line.startswith("#")]
        first = first.with_changes(leading_lines=[*first.leading_lines, *comments])
        after = [self.cst.parse_statement(line + "\n") for line in below]
        return self.cst.FlattenSentinel([*added, first, *others, *after])

    def _guarded(self, place: Place, result: Any, leading: Any) -> Any:
        """Statements behind those that refuse other data than what the functions were made for."""
        lines = [
            f"if {ast.unparse(e)} != {value!r}:  # line {place[0]}, {printing.MARK}\n    raise ValueError("
            f"{f'{ast.unparse(e)} is not {value}, for which this program was converted'!r})\n"
            for e, value in self.plan.sizes[place]
        ]
        first, *others = map(self.cst.parse_statement, lines)
        kept = [] if result is self.cst.RemovalSentinel.REMOVE else list(getattr(result, "nodes", [result]))
        leading = [] if kept else [line for line in leading if line.comment]
        return self.cst.FlattenSentinel([first.with_changes(leading_lines=leading), *others, *kept])

    def _edited(self, place: Place, updated: Any) -> Any:
        """The statements that take the place of one."""
        if place in self.plan.valued:
            target = self.cst.AssignTarget(self.cst.Name(monitoring.VALUES))
            return updated.with_changes(body=[self.cst.Assign([target], updated.body[0].value)])
        result = updated
        if place in self.plan.hosted:
            return self._hosted(place, updated)
        if place in self.plan.gone:
            return self.cst.RemoveFromParent()
        if place in self.plan.trimmed:
            names = [updated.body[0].names[i] for i in self.plan.trimmed[place]]
            names[-1] = names[-1].with_changes(comma=self.cst.MaybeSentinel.DEFAULT)
            result = updated.with_changes(body=[updated.body[0].with_changes(names=names)])
        if place in self.plan.named:
            (made,) = updated.body
            if getattr(getattr(made.value.func, "attr", None), "value", "") == "get_next":
                made = made.with_changes(value=made.value.func.value)
            if hasattr(made, "targets"):
                made = made.with_changes(
                    targets=[made.targets[0].with_changes(target=self.cst.Name(self.plan.named[place]))]
                )
            result = updated.with_changes(body=[made])
        if place in self.plan.said:
            result = self._recorded_output(place, updated)
        if place in self.plan.unrolled:
            first, *others = [self.cst.parse_statement(f"{line}\n") for line in self.plan.unrolled[place]]
            result = self.cst.FlattenSentinel([first.with_changes(leading_lines=updated.leading_lines), *others])
        if place in self.plan.emptied and place not in self.plan.opened:
            (name,) = self.plan.emptied[place]
            result = self.cst.parse_statement(f"{name} = None  # there are no sessions\n").with_changes(
                leading_lines=updated.leading_lines
            )
        return self._after(self.restores.get(place, ()), result)

    def _hosted(self, place: Place, updated: Any) -> Any:
        """The statements that make what a statement of the program made, and the statement itself if it stays."""
        texts = self.plan.hosted[place]
        if place not in self.plan.gone:
            return self._after([*self.restores.get(place, ()), *texts], updated)
        *others, last = [self.cst.parse_statement(f"{text}\n") for text in [*self.restores.get(place, ()), *texts]]
        told = getattr(getattr(updated, "trailing_whitespace", None), "comment", None)
        if told is not None and not others:
            last = last.with_changes(trailing_whitespace=updated.trailing_whitespace)
        first, *rest = [*others, last]
        return self.cst.FlattenSentinel([first.with_changes(leading_lines=updated.leading_lines), *rest])

    def _after(self, texts: Sequence[str], result: Any) -> Any:
        """Statements before what takes the place of one."""
        added = [self.cst.parse_statement(line + "\n") for line in texts]
        if not added:
            return result
        if result is self.cst.RemoveFromParent():
            return result
        first, *others = result.nodes if isinstance(result, self.cst.FlattenSentinel) else [result]
        added[0] = added[0].with_changes(leading_lines=first.leading_lines)
        return self.cst.FlattenSentinel([*added, first.with_changes(leading_lines=[]), *others])

    def _recorded_output(self, place: Place, updated: Any) -> Any:
        """The rest of a statement that only looked at the graph: its text, and plain values."""
        said = self.plan.said[place]
        end = "" if said.endswith("\n") else ", end=''"
        lines = [f"print({said.removesuffix(chr(10))!r}{end})\n"] if said else []
        lines += [f"{name} = {text}\n" for name, text in self.plan.given.get(place, {}).items()]
        if not lines:
            return self.cst.RemoveFromParent()
        first, *others = map(self.cst.parse_statement, lines)
        first = first.with_changes(leading_lines=updated.leading_lines)
        return self.cst.FlattenSentinel([first, *others]) if others else first

    def leave_EmptyLine(self, original: Any, updated: Any) -> libcst.CSTNode:
        return updated if updated.comment else updated.with_changes(indent=False)

    def leave_FunctionDef(self, original: Any, updated: Any) -> libcst.CSTNode:
        if self._place(original) not in self.plan.hollow:
            return updated
        every = [*original.params.params[1:], *original.params.kwonly_params]
        parameters = " and ".join(filter(None, [", ".join(p.name.value for p in every[:-1]), *[
            p.name.value for p in every[-1:]]]))  # fmt: skip
        said = f"  # {parameters}: as in the recorded run, in what stands above" if parameters else ""
        return updated.with_changes(body=self.cst.parse_statement(f"def f():\n    pass{said}\n").body)

    def leave_With(self, original: Any, updated: Any) -> libcst.CSTNode:
        place = self._place(original)
        if place not in self.plan.opened:
            return updated
        if place in self.plan.suppressed:
            call = self.cst.parse_expression("contextlib.suppress(tf.errors.OutOfRangeError)")
            return updated.with_changes(items=[self.cst.WithItem(call)])
        names = [
            self.cst.parse_statement(f"{n} = None  # there are no sessions\n") for n in self.plan.emptied.get(place, ())
        ]
        first, *others = names + list(updated.body.body)
        own = updated.body.header.comment
        above = [*updated.leading_lines, *([self.cst.EmptyLine(comment=own)] if own else [])]
        return self.cst.FlattenSentinel([first.with_changes(leading_lines=[*above, *first.leading_lines]), *others])

    def leave_Dict(self, original: Any, updated: Any) -> libcst.CSTNode:
        keys = self.plan.feeds.get(self._extent(original))
        if keys is None:
            return updated
        pairs = zip(updated.elements, keys, strict=True)
        return updated.with_changes(elements=[e.with_changes(key=self.cst.SimpleString(f'"{k}"')) for e, k in pairs])

    def leave_Call(self, original: Any, updated: Any) -> libcst.CSTNode:
        if self._extent(original) in self.plan.seeds:
            value = self.cst.Integer(str(self.plan.seeds[self._extent(original)]))
            equal = self.cst.AssignEqual(self.cst.SimpleWhitespace(""), self.cst.SimpleWhitespace(""))
            seed = self.cst.Arg(value, keyword=self.cst.Name("seed"), equal=equal)
            updated = updated.with_changes(args=[*updated.args, seed])
        if self._extent(original) in self.plan.loads:
            set_ = updated.func.with_changes(attr=self.cst.Name("assign"))
            return updated.with_changes(
                func=set_, args=[updated.args[0].with_changes(comma=self.cst.MaybeSentinel.DEFAULT)]
            )
        if self._extent(original) in self.plan.sets:
            code, value = self.plan.sets[self._extent(original)]
            text = self.cst.Module(body=[]).code_for_node(self._part(original, updated, value))
            return self.cst.parse_expression(f"{code}.assign({text}).numpy()")
        if self._extent(original) in self.plan.writers:
            return _writer(self.cst, updated)
        if self._extent(original) in self.plan.adds:
            return _adding(self.cst, updated)
        if self._extent(original) in self.plan.iterators:
            return iterating.iterator_call(self.cst, self.plan.iterators[self._extent(original)], updated)
        replaced = self.plan.calls.get(self._extent(original))
        if replaced is not None and replaced.function.get("iterates"):
            fetches = updated.args[0].value if updated.args else updated.func.value
            named = [self.cst.parse_expression(ast.unparse(i)) for i in replaced.iterators]
            return iterating.iterator_run(self.cst, replaced.function["iterates"], fetches, next(iter(named), None))
        if replaced is None or not (replaced.run or replaced.function["name"] or replaced.function["values"]):
            return updated
        new = called(self.cst, replaced, updated)
        return new if replaced.run else results(self.cst, replaced, new)

    def _part(self, original: Any, updated: Any, node: ast.expr) -> Any:
        """The edited form of an expression in a call that stands at the place of a node of the syntax tree."""
        todo = [(original, updated)]
        while todo:
            old, new = todo.pop()
            if isinstance(old, self.cst.BaseExpression) and self._extent(old) == extent(node):
                return new
            if type(old) is type(new):
                todo += zip(old.children, new.children, strict=False)
        raise Unsafe(f"line {node.lineno}: what is assigned is not found")

    def leave_Subscript(self, original: Any, updated: Any) -> libcst.CSTNode:
        """One of several results, of which the others are None, is asked for alone."""
        replaced = self._replaced(original.value)
        index = updated.slice[0].slice if len(updated.slice) == 1 else None
        if (
            replaced is None
            or replaced.run
            or not isinstance(updated.value, (self.cst.List, self.cst.Tuple))
            or not isinstance(index, self.cst.Index)
        ):
            return updated
        values = [e.value for e in updated.value.elements]
        with suppress(Exception):
            number = int(ast.literal_eval(self.cst.Module(body=[]).code_for_node(index.value)))
            others = [v for v in values if v is not values[number]]
            if all(is_name(self.cst, v, "None") for v in others):
                return values[number]
        return updated

    def leave_Expr(self, original: Any, updated: Any) -> libcst.CSTNode:
        """Leave a value that nobody looks at as it is, not turned into an array."""
        replaced = self._replaced(original.value)
        if replaced is None or replaced.function["name"] is None or replaced.run:
            return updated
        own = [c for c in all_calls(self.cst, updated.value) if is_name(self.cst, c.func, replaced.function["name"])]
        return updated.with_changes(value=own[0]) if own else updated


def _editor(cst: Any, plan: Plan, source: str, restores: Mapping[Place, list[str]]) -> libcst.CSTTransformer:
    """The transformer that carries out a plan."""
    needs = {"METADATA_DEPENDENCIES": (sys.modules["libcst.metadata"].PositionProvider,)}
    kind: Any = type("Editor", (_Edits, cst.CSTTransformer), needs)
    return kind(cst, plan, source, restores)


def _wrapped(line: str) -> str:
    """A statement over as many lines as it needs."""
    return "\n".join(printing.lines([Statement(ast.parse(line).body[0])], lambda _: "", 0)) + "\n"


def _writer(cst: Any, call: Any) -> Any:
    """A writer of event files, made as tape code makes it: without a graph."""
    kept = [a for i, a in enumerate(call.args) if (i == 0 and a.keyword is None)
            or (a.keyword is not None and a.keyword.value in ("logdir", "filename_suffix"))]  # fmt: skip
    args = [a.with_changes(comma=cst.MaybeSentinel.DEFAULT) for a in kept]
    return call.with_changes(func=cst.parse_expression("tf.summary.create_file_writer"), args=args)


def _adding(cst: Any, call: Any) -> Any:
    """``add_summary(writer, summary, step)``, a function of the converted module."""
    args = [
        a.with_changes(keyword=cst.Name("step")) if is_name(cst, a.keyword, "global_step") else a for a in call.args
    ]
    return call.with_changes(func=cst.Name("add_summary"), args=[cst.Arg(call.func.value), *args])


def _alone(cst: Any, line: Any, number: int) -> Any:
    """One of the statements of a line, on a line of its own."""
    small = line.body[number]
    one = small if number == len(line.body) - 1 else small.with_changes(semicolon=cst.MaybeSentinel.DEFAULT)
    above = line.leading_lines if number == 0 else []
    last = line.trailing_whitespace if number == len(line.body) - 1 else cst.TrailingWhitespace()
    return cst.SimpleStatementLine([one], leading_lines=above, trailing_whitespace=last)


# ---- trying ----------------------------------------------------------------------------------------------------------


def checked(text: str) -> str:
    """The text of a module, if it is one.

    Raises
    ------
    Unsafe
        If Python cannot compile it, or it has names that are empty or none: what cannot be read is not written.
    """
    try:
        tree = ast.parse(text)
        compile(text, "<converted>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        raise Unsafe(f"what was written for it is no Python: {error}") from None
    for node in ast.walk(tree):
        for field in ("id", "attr", "arg", "name", "asname", "module"):
            said = getattr(node, field, None)
            for part in said.split(".") if isinstance(said, str) and said != "*" else ():
                if not part.isidentifier() or keyword.iskeyword(part):
                    raise Unsafe(f"what was written for it has the name {said!r}, which is none")
    return text


def tried(conversion: Any, program: Path, arguments: Sequence[str], printed: str, words_only: bool = False) -> None:
    """Run the new program and see that it prints what the old one printed.

    Parameters
    ----------
    conversion : Conversion
    program : Path
    arguments : sequence of str
        Of the program.
    printed : str
        What the old one printed.
    words_only : bool
        Whether it prints other numbers each time it runs.

    Raises
    ------
    Unsafe
        If it does not.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / program.name
        conversion.write(file)
        found = Path(folder) / "found.json"
        ran = run_python(["-P", "-m", "dualgrad.migrate.convert.trial", str(found), str(file), *arguments])
        begun = "" if ran.returncode or words_only else trial.missing(found, conversion.starts)
    if ran.returncode:
        raise Unsafe(f"the new program fails: {(ran.stderr.splitlines() or ['no message'])[-1]}")
    if begun:
        raise Unsafe(f"{begun} does not begin with what it began with")
    if ran.stdout == printed or not differing_lines(printed, ran.stdout, words_only):
        return
    pairs = list(zip(ran.stdout.splitlines(), printed.splitlines(), strict=False))
    differ = [(a, b) for a, b in pairs if differing_lines(b, a, words_only)]
    if words_only and differ and len(ran.stdout.splitlines()) == len(printed.splitlines()):
        # where the old program says other words when it runs again, so may the new one
        again = run_python(["-m", "dualgrad", "run", str(program), *arguments]).stdout.splitlines()
        lines = zip(again, pairs, strict=False)
        if all(not differing_lines(b, a, True) or differing_lines(b, other, True) for other, (a, b) in lines):
            return
    first = next((f"it prints {a!r}, not {b!r}" for a, b in differ), "it prints more or fewer lines")
    raise Unsafe(f"the new program does not print the same: {first}")


def run_python(words: Sequence[str], *homes: Path) -> subprocess.CompletedProcess[str]:
    """Run Python, with this package and further folders on its path.

    Raises
    ------
    Unsafe
        If it does not end in time.
    """
    package = Path(__file__).resolve().parents[3]
    paths = [*(str(home.resolve()) for home in (package, *homes)), *filter(None, [os.environ.get("PYTHONPATH")])]
    try:
        return subprocess.run(
            [sys.executable, *words], env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            capture_output=True, text=True, check=False, timeout=LIMIT, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise Unsafe(f"the new program did not end within {LIMIT} s") from None
