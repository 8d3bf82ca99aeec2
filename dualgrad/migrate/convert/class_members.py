"""Classes that hold their own weights: what only the methods of a class use becomes a part of its objects.

The converted module has variables, optimizers and functions at its top. Where a class of the program alone uses some of
them, and the program made one object of it, the variables are made by its constructor, and the functions are methods.
An argument of the constructor that was an optimizer's hyperparameter is one again.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from dualgrad.autograph.analysis import names as names_in
from dualgrad.migrate.check.scopes import Scopes
from dualgrad.migrate.convert import printing
from dualgrad.migrate.convert.body import Statement
from dualgrad.migrate.convert.identifiers import snake
from dualgrad.migrate.convert.repetition import expression
from dualgrad.migrate.convert.sizes import Said, Sizes

_FIRST = "self"
_KEEPS = re.compile(r"^\w+\.(create_slots|apply)\(")
"""The lines that have optimizers and averages make what they keep."""


def move_into_classes(
    text: str, names: set[str], content: dict[str, Any], seen: ProgramObjects
) -> tuple[str, dict[str, Any]]:
    """The program with classes that hold what is theirs, and the map of it.

    Parameters
    ----------
    text : str
        The whole program.
    names : set of str
        What the converted module has, of which classes may own a part.
    content : dict
        The map.
    seen : ProgramObjects
        What was seen of the program's objects and optimizers.
    """
    for name in [n.name for n in ast.parse(text).body if isinstance(n, ast.ClassDef)]:
        moved = _Owner(text, name, names, seen)
        if moved.units:
            text, content = moved.text(), moved.mapped(content)
    return text, content


class ProgramObjects:
    """Objects and optimizers of a program, as they were when it ran.

    Parameters
    ----------
    source : str
        The program.
    notes : Notes
    names : mapping
        Its global names, and what they stood for in the end.
    optimizers : dict
        By name in tape code: the optimizer, and how it was made (`Capture.optimizers`).
    inside : dict
        By the text of what a variable starts with: by class, what that is in its constructor.
    """

    def __init__(
        self, source: str, notes: Any, names: Mapping[str, Any], optimizers: Mapping[str, Any],
        inside: Mapping[str, Mapping[str, str]],
    ) -> None:  # fmt: skip
        self.tree, self.notes, self.names, self.optimizers = ast.parse(source), notes, names, optimizers
        self._lines = source.split("\n")
        simple = [n for n in ast.walk(self.tree) if isinstance(n, ast.stmt) and not hasattr(n, "body")]
        self._statements = {line: n for n in simple for line in range(n.lineno, (n.end_lineno or n.lineno) + 1)}
        self.inside = inside
        self._sizes = Sizes(self.tree, Scopes(self.tree), names, lambda _: None)

    def kept(self, start: ast.FunctionDef) -> dict[str, str]:
        """By a name at the top of the program: the attribute in which a constructor keeps what it stands for."""
        stores = [n for n in ast.walk(start) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)]
        said = {n.attr: self._sizes.at_top(ast.Attribute(n.value, n.attr, ast.Load())) for n in stores}
        return {code.id: attribute for attribute, code in said.items() if isinstance(code, ast.Name)}

    def parameters(self, start: ast.FunctionDef) -> dict[str, str]:
        """By a name at the top of the program: the parameter of a constructor that it is given for."""
        every = {n.id: name for name in _parameters(start) for n in [self._sizes.only_source(_argument(start, name))]
                 if isinstance(n, ast.Name)}  # fmt: skip
        return {name: parameter for name, parameter in every.items() if name in self.names}

    def numbers(self, kind: str, start: ast.FunctionDef, here: ast.ClassDef) -> list[tuple[ast.expr, ast.expr, Any]]:
        """The numbers that an object keeps and that built its graph: what says each in methods, and in the constructor.

        Those are meant that the class read more often in the program than it does now, `here`.
        """
        stores = Counter(n.attr for n in ast.walk(self.tree) if isinstance(n, ast.Attribute) and _is_stored(n))
        read, now = [Counter(ast.unparse(n) for n in ast.walk(c) if isinstance(n, (ast.Attribute, ast.Name))
                             and isinstance(n.ctx, ast.Load)) for c in (self._class(kind), here)]  # fmt: skip
        found: list[tuple[ast.expr, ast.expr, Any]] = []
        for line in [s for s in start.body if isinstance(s, ast.Assign) and _is_own(s.targets[0])]:
            code: Any = expression(ast.unparse(line.targets[0]))
            of = line.value if getattr(line.value, "id", "") in _parameters(start) else code
            if stores[code.attr] == 1 and any(read[text] > now[text] for text in map(ast.unparse, (code, of))):
                value = getattr(self.object_of(kind), code.attr, None)
                found.append((code, of, value))
                items: Any = enumerate(value) if isinstance(value, (list, tuple)) else getattr(value, "items", tuple)()
                for key, inner in items:
                    at = ast.Constant(key)
                    found.append((ast.Subscript(code, at, ast.Load()), ast.Subscript(of, at, ast.Load()), inner))
        return [row for row in found if type(row[-1]) in (int, float)]

    def literals(self, kind: str, here: ast.ClassDef) -> set[Any]:
        """The numbers in the text of a class that built the graph, but for those that its functions take by default."""
        told, kept = [Counter(n.value for f in c.body for s in getattr(f, "body", [f]) for n in ast.walk(s)
                              if isinstance(n, ast.Constant)) for c in (self._class(kind), here)]  # fmt: skip
        return {v for v, count in told.items() if type(v) in (int, float) and count > kept[v]}

    def _class(self, kind: str) -> ast.ClassDef:
        return next(n for n in ast.walk(self.tree) if isinstance(n, ast.ClassDef) and n.name == kind)

    def line(self, number: int) -> str:
        """A line of the program."""
        return self._lines[number - 1] if number else ""

    def statement(self, number: int) -> str:
        """The text of the statement of the program on a line; an empty one where there is none."""
        return ast.unparse(self._statements[number]) if number in self._statements else ""

    def constructor(self, kind: str) -> ast.FunctionDef | None:
        """The constructor of a class of which there was one object, in the program."""
        own = [n for n in ast.walk(self.tree) if isinstance(n, ast.ClassDef) and n.name == kind]
        found = [f for n in own for f in n.body if isinstance(f, ast.FunctionDef) and f.name == "__init__"]
        return found[0] if len(own) == len(found) == 1 and self.notes.called[found[0].lineno] == 1 else None

    def object_of(self, kind: str) -> Any:
        """The only object of a class; None if there is none."""
        known = [*self.names.values(), *(x for names in self.notes.locals.values() for x in names.values())]
        return next((x for x in known if type(x).__name__ == kind), None)

    def named(self, kind: str) -> str:
        """A pattern for the names of a class and of its object."""
        own = self.object_of(kind)
        return "|".join([kind, snake(kind), *(re.escape(n) for n, v in self.names.items() if v is own is not None)])

    def argument(self, optimizer: str, kind: str, keyword: str) -> str:
        """The expression that the program gave an optimizer, if a constructor can say it; empty if not."""
        _, made = self.optimizers.get(optimizer, (None, None))
        start, own = self.constructor(kind), self.object_of(kind)
        if made is None or start is None:
            return ""
        for call in (n for n in ast.walk(self.tree) if isinstance(n, ast.Call) and _covers(n, made.line)):
            if getattr(call.func, "attr", getattr(call.func, "id", "")) != made.kind.__name__:
                continue
            given = dict(zip(made.parameters, call.args, strict=False)) | {str(k.arg): k.value for k in call.keywords}
            code, value = given.get(keyword), made.arguments.get(keyword)
            if isinstance(code, ast.Attribute) and ast.unparse(code.value) == _FIRST:
                same = type(value) in (int, float, bool, str) and vars(own or made).get(code.attr) == value
                return ast.unparse(code) if same else ""
            if isinstance(code, ast.Name) and call in ast.walk(start) and code.id in _parameters(start):
                return code.id
        return ""

    def parameter_of(self, optimizer: str, kind: str) -> str:
        """The parameter of a constructor that an optimizer was given to; empty if there is none."""
        held, _ = self.optimizers.get(optimizer, (None, None))
        start = self.constructor(kind)
        known = self.notes.locals.get(start.lineno, {}) if start is not None else {}
        return next((n for n in _parameters(start) if held is not None and known.get(n) is held), "") if start else ""


class _Owner:
    """One class, and what it comes to own."""

    def __init__(self, text: str, kind: str, names: set[str], seen: ProgramObjects) -> None:
        self.kind, self.seen, self.lines = kind, seen, text.split("\n")
        self.tree = ast.parse(text)
        self.node = next(n for n in self.tree.body if isinstance(n, ast.ClassDef) and n.name == kind)
        methods = [n for n in self.node.body if isinstance(n, ast.FunctionDef)]
        self.start = next((n for n in methods if n.name == "__init__"), None)
        self.units: dict[str, ast.stmt] = {}
        self.slots = [n for n in self.tree.body if isinstance(n, ast.Expr) and _KEEPS.search(ast.unparse(n))]
        plain = not self.node.bases or [ast.unparse(b) for b in self.node.bases] == ["object"]
        if self.start is None or not plain or seen.constructor(kind) is None:
            return
        units = {n: node for node in self.tree.body for n in _gives(node) if n in names}
        self.units = self._alone(units)
        if any(_first(m) != _FIRST or m.decorator_list for m in methods if self._loads(m)) or not self._in_order():
            self.units = {}
        self.renamed = self._named()
        self.kept = seen.kept(seen.constructor(kind))  # type: ignore[arg-type]
        start = seen.constructor(kind)
        assert start is not None
        read = {n.id for n in ast.walk(self.node) if isinstance(n, ast.Name)}
        self.given = {name: of for name, of in seen.parameters(start).items() if name not in read}
        self.numbers, self.literals = seen.numbers(kind, start, self.node), seen.literals(kind, self.node)

    def _said(self, node: ast.stmt, starts: bool = False) -> list[tuple[ast.expr, str]]:
        """The numbers of a statement that the object keeps, as attributes; as parameters where it `starts`."""
        rows = [(of if starts else code, number) for code, of, number in self.numbers]
        told = _words(self.seen.line(self._origin(node)))
        own = sorted([row for row in rows if _last(row[0]) in told], key=lambda row: told.index(_last(row[0])))
        found: list[tuple[ast.expr, str]] = []
        for value in {number for _, number in own}:
            named = [ast.unparse(code) for code, number in own if number == value]
            edits = Said((0, 0), [(ast.Name("_"), value)], {float(w) for w in told if w.isdigit()}).edits(node)
            if len(named) in (1, len(edits)):
                names = named * len(edits) if len(named) == 1 else named
                edits.sort(key=lambda e: (e[0].lineno, e[0].col_offset))
                found += [(n, name) for (n, _), name in zip(edits, names, strict=True)]
        settled = {id(n) for n, _ in found}
        lines = re.findall(r"# line (\d+)", "\n".join(self.lines[node.lineno - 1 : node.end_lineno]))
        near = re.findall(r"\w+", "\n".join([self.seen.statement(int(number)) for number in lines]))
        # a number of a layer may be equal to one of the object by chance
        rows = [(code, number) for code, number in rows if not lines or type(number) is int or _last(code) in near]
        found += [pair for pair in Said((0, 0), rows, self.literals).edits(node) if id(pair[0]) not in settled]
        return found

    def _origin(self, node: ast.stmt) -> int:
        """The line of the program that a statement comes from."""
        texts = [*self.lines[node.lineno - 1 : node.end_lineno], *reversed(self.lines[: node.lineno - 1])]
        return next((int(found[1]) for t in texts if (found := re.search(r"# line (\d+)", t))), 0)

    def _alone(self, units: dict[str, ast.stmt]) -> dict[str, ast.stmt]:
        """The part of the module that this class alone uses."""
        users: dict[str, list[ast.stmt]] = {}
        for node in self.tree.body:
            for name in names_in(node)[0] & units.keys():
                users.setdefault(name, []).append(node)
        kept = {name: node for name, node in units.items() if name in users}
        while True:
            inside = [
                self.node,
                *kept.values(),
                *(n for n in self.slots if names_in(n)[0] & units.keys() <= kept.keys()),
            ]
            out = {
                n for n, node in kept.items() if any(u not in inside for g in _gives(node) for u in users.get(g, ()))
            }
            out |= {n for n, node in kept.items() if any(g not in kept for g in _gives(node))}
            if not out:
                return kept
            kept = {n: node for n, node in kept.items() if n not in out}

    def _in_order(self) -> bool:
        """Whether nothing is drawn or set between what moves, and something of it is used by the class itself."""
        moved = [i for i, n in enumerate(self.tree.body) if n in self.units.values() and not _is_function(n)]
        between = self.tree.body[moved[0] : moved[-1]] if moved else []
        return bool(moved) and not any(isinstance(n, ast.Expr) and n not in self.slots for n in between)

    def _loads(self, node: ast.AST) -> set[str]:
        return names_in(node)[0] & self.units.keys()

    def _named(self) -> dict[str, str]:
        """New names for what moves: without that of the object, and none that the class has already."""
        every = [n for n in ast.walk(self.node) if isinstance(n, (ast.Attribute, ast.FunctionDef))]
        taken = {n.attr if isinstance(n, ast.Attribute) else n.name for n in every}
        renamed: dict[str, str] = {}
        for name in self.units:
            bare = re.sub(rf"^(run_|compute_)?({self.seen.named(self.kind)})_(?=\D)", r"\1", name)
            bare = re.sub(r"_\d+$", "", name) if name.startswith(("variables_", "optimizer_")) else bare
            wanted = next(n for n in (bare, name, f"{name}_", f"{name}_2") if n not in taken)
            taken.add(wanted)
            renamed[name] = wanted
        return renamed

    # ---- the text ----------------------------------------------------------------------------------------------------

    def text(self) -> str:
        """The program, changed."""
        assert self.start is not None
        makes = [n for n in self._nodes() if not _is_function(n)]
        methods = [n for n in self._nodes() if _is_function(n)]
        depth = self.start.body[0].col_offset
        made = [line for n in makes for line in self._making(n, depth)]
        computed = [line for n in methods for line in ["", *self._method(n, self.start.col_offset)]]
        changed = self._rewritten()
        own = changed[self.node.lineno - 1 : self.node.end_lineno]
        body = self._constructor(own, made, computed, depth)
        gone = {i for n in self._nodes() for i in range(n.lineno, (n.end_lineno or n.lineno) + 1)}
        at = (self.start.end_lineno or 0) - self.node.lineno + 1
        computed += [""] * bool(own[at:] and own[at].strip())
        whole = [*own[: self.start.body[0].lineno - self.node.lineno], *body, *computed, *own[at:]]
        first = changed[: self.node.lineno - 1]
        kept = [line for i, line in enumerate(first, 1) if i not in gone]
        rest = [line for i, line in enumerate(changed, 1) if i > (self.node.end_lineno or 0) and i not in gone]
        joined = "\n".join([*kept, *whole, *rest])
        joined = re.sub(r"\n{4,}", "\n\n\n", joined)
        return re.sub(r"(import [^\n]*\n(?:tf\.random[^\n]*\n)?)\n*(?=class |def )", r"\1\n\n", joined)

    def _nodes(self) -> list[ast.stmt]:
        return [n for n in self.tree.body if n in self.units.values() or (n in self.slots and self._loads(n))]

    def _rewritten(self) -> list[str]:
        """The lines, where the methods of the class ask their object for what they use."""
        return _replaced(self.lines, [edit for node in self.node.body for edit in self._asked(node)])

    def _asked(self, node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
        used = self._loads(node)
        for n in ast.walk(node):
            if isinstance(n, ast.Name) and n.id in used:
                yield n, f"{_FIRST}.{self.renamed[n.id]}"

    def _making(self, node: ast.stmt, depth: int) -> list[str]:
        """The statement of the constructor that makes a variable or an optimizer."""
        names = [n for n in ast.walk(node) if isinstance(n, ast.Name) and n.id in self.renamed]
        edits: list[tuple[Any, str]] = [(n, f"{_FIRST}.{self.renamed[n.id]}") for n in names]
        name = next(iter(_gives(node)), "")
        whole = self.seen.parameter_of(name, self.kind)
        call = getattr(node, "value", None)
        if whole:
            edits = [*(e for e in edits if isinstance(e[0].ctx, ast.Store)), (call, whole)]
        elif starts := [(n, text) for n in ast.walk(node) if (text := self._started(n))]:
            within = {id(inner) for n, _ in starts for inner in ast.walk(n)}
            edits = [*(e for e in edits if id(e[0]) not in within), *starts]
        elif isinstance(call, ast.Call) and name in self.seen.optimizers:
            said = self._hyperparameters(name, call)
            # the call holds nothing else that changes
            edits = [*(e for e in edits if isinstance(e[0].ctx, ast.Store)), (call, said)] if said else edits
        else:
            edits += [(n, self.given[n.id]) for n in ast.walk(node) if isinstance(n, ast.Name) and n.id in self.given]
            edits += self._said(node, starts=True)
        return _reprinted(_replaced(self.lines, edits)[node.lineno - 1 : node.end_lineno], depth)

    def _started(self, node: ast.AST) -> str:
        """The value that a variable starts with, as the constructor says it; empty for what is something else."""
        is_start = isinstance(node, ast.expr) and self.seen.inside
        return self.seen.inside.get(ast.unparse(node), {}).get(self.kind, "") if is_start else ""

    def _hyperparameters(self, optimizer: str, call: ast.Call) -> str:
        """The call that makes an optimizer with what the constructor is given, also where that happened to be usual."""
        parameters = self.seen.optimizers[optimizer][1].parameters
        given = dict(zip(parameters, call.args, strict=False)) | {str(k.arg): k.value for k in call.keywords}
        if self._loads(call):
            return ""  # a variable is its learning rate
        said = {n: ast.unparse(v) for n, v in given.items()}
        said |= {n: text for n in parameters if (text := self.seen.argument(optimizer, self.kind, n))}
        first = [said.pop(n) for n in parameters[: len(call.args)]]
        ordered = [f"{n}={said[n]}" for n in parameters if n in said]
        return f"{ast.unparse(call.func)}({', '.join([*first, *ordered])})"

    def _method(self, node: ast.stmt, depth: int) -> list[str]:
        """The method that a function becomes."""
        assert isinstance(node, ast.FunctionDef)
        names = [n for n in ast.walk(node) if isinstance(n, ast.Name)]
        own = {a.arg for a in _arguments(node)} | {n.id for n in names if not isinstance(n.ctx, ast.Load)}
        said = self.kept.keys() - own - self.renamed.keys()
        kept = [(n, f"{_FIRST}.{self.kept[n.id]}") for n in names if n.id in said]
        lines = _replaced(self.lines, [*self._asked(node), *kept, *self._said(node)])[node.lineno - 1 : node.end_lineno]
        head = f"def {self.renamed[node.name]}({_FIRST}" + ", " * bool(_arguments(node))
        lines[0] = lines[0].replace(f"def {node.name}(", head, 1)
        return _reprinted(lines, depth)

    def _constructor(self, own: list[str], made: list[str], computed: list[str], depth: int) -> list[str]:
        """The body of the constructor, with what it makes now."""
        assert self.start is not None
        first, last = self.start.body[0].lineno, self.start.end_lineno or 0
        body = own[first - self.node.lineno : last - self.node.lineno + 1]
        self.needless = dict(self._needless_guards("\n".join([*made, *computed])))
        gone: set[int] = set()
        for guard in self.needless.values():
            gone.update(range(guard.lineno - first, (guard.end_lineno or first) - first + 1))
            while body[min(gone) - 1].lstrip().startswith("#"):  # said what the guarded statement was
                gone.add(min(gone) - 1)
        calls = [s for s in self.start.body if any(_is_own_call(n) or (isinstance(n, ast.Name) and n.id in self.units)
                                                   for n in ast.walk(s))]  # fmt: skip
        at = (calls[0].lineno if calls else last + 1) - first
        if len(self.start.body) == 1 and isinstance(self.start.body[0], ast.Pass):
            body, at = [], 0
        body, at = [line for i, line in enumerate(body) if i not in gone], at - sum(i < at for i in gone)
        unused = self._unused([*body, *made], [*self.lines, *computed])
        said = [f"{' ' * depth}# {unused}: as in the recorded run, in what stands below"] if unused else []
        return [*body[:at], *said, *made, *body[at:]]

    def _needless_guards(self, code: str) -> Iterator[tuple[str, ast.If]]:
        """The tests of the constructor for numbers that its class says now, by the text that stands for each."""
        assert self.start is not None
        said = {ast.unparse(e) for row in self.numbers for e in row[:2]}
        for node in [n for n in self.start.body if isinstance(n, ast.If)]:
            text, _, number = ast.unparse(node.test).partition(" != ")
            left = re.search(rf"(?<![\w.=]){re.escape(number)}(?![\w.])", re.sub("#.*", "", code))
            if text in said and not left and "for which this program was converted" in ast.unparse(node):
                yield text, node

    def _unused(self, body: Sequence[str], others: Sequence[str]) -> str:
        """The parameters of the constructor that nothing depends on any more."""
        assert self.start is not None
        text, every = "\n".join(body), "\n".join([*body, *others])
        unused = []
        for name in _parameters(self.start):
            kept = re.findall(rf"self\.(\w+) = {name}\b *(?:#.*)?$", text, re.M)
            uses = len(re.findall(rf"(?<![\w.]){name}\b", text)) - len(kept)
            read = any(re.search(rf"\.{attribute}\b(?! = )", every) for attribute in kept)
            if not uses and not read and name not in ("sess", "session"):
                unused.append(name)
        return " and ".join(filter(None, [", ".join(unused[:-1]), *unused[-1:]]))

    # ---- the map -----------------------------------------------------------------------------------------------------

    def mapped(self, content: dict[str, Any]) -> dict[str, Any]:
        """The map, where what has moved is reached by way of the object."""
        handle = snake(self.kind)
        while re.search(rf"(?<![\w.]){handle}\b", "\n".join(self.lines)):
            handle += "_"  # the program means something else by it

        def moved(code: str) -> str:
            tree = ast.parse(code, mode="eval")
            edits = [(n, f"{handle}.{self.renamed[n.id]}") for n in ast.walk(tree)
                     if isinstance(n, ast.Name) and n.id in self.renamed]  # fmt: skip
            return _replaced([code], edits)[0]

        functions = [self._function(f, moved) for f in content["functions"]]
        left = [said for said in content["from_run"] if said.partition(" = ")[0] not in self.needless]
        content = {**content, "from_run": left}
        found = {**content, "functions": functions, "objects": {**content.get("objects", {}), handle: self.kind}}
        for key in ("variables", "constants"):
            if key in content:
                found[key] = {name: moved(code) for name, code in content[key].items()}
        return found

    def _function(self, function: dict[str, Any], moved: Callable[[str], str]) -> dict[str, Any]:
        found = {**function, "values": [moved(v) for v in function["values"]]}
        if "variables" in function:
            found["variables"] = {name: moved(code) for name, code in function["variables"].items()}
        if function["name"] is not None:
            found["name"] = moved(function["name"])
        return found


# ---- syntax ----------------------------------------------------------------------------------------------------------


def _covers(node: ast.expr, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _gives(node: ast.stmt) -> list[str]:
    """The names that a statement at the top gives, if it is a function or a plain assignment."""
    if isinstance(node, ast.FunctionDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else []
    return [n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)]


def _is_function(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef)


def _arguments(node: ast.FunctionDef) -> list[ast.arg]:
    a = node.args
    return [*a.posonlyargs, *a.args, *([a.vararg] if a.vararg else []), *a.kwonlyargs, *([a.kwarg] if a.kwarg else [])]


def _parameters(node: ast.FunctionDef) -> list[str]:
    """The parameters of a method, without its object; none that it gives another value."""
    stored = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    return [a.arg for a in _arguments(node)[1:] if a.arg not in stored]


def _argument(node: ast.FunctionDef, name: str) -> ast.expr:
    """A name in the body of a function, that of a parameter."""
    inside = (n for s in node.body for n in ast.walk(s) if isinstance(n, ast.Name) and n.id == name)
    return next(inside, ast.Name(""))


def _is_own(node: ast.AST) -> bool:
    """Whether it is an attribute of the object."""
    return isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == _FIRST


def _words(line: str) -> list[str]:
    """The names and numbers on a line of a program."""
    return re.findall(r"\w+", line.partition("#")[0])


def _last(code: ast.expr) -> str:
    """The name of an attribute or parameter, or the key of an element of it."""
    return _words(ast.unparse(code))[-1]


def _is_stored(node: ast.AST) -> bool:
    """Whether it is an attribute that is given a value."""
    return isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)


def _first(node: ast.FunctionDef) -> str:
    return node.args.args[0].arg if node.args.args else ""


def _is_own_call(node: ast.AST) -> bool:
    """Whether it calls a method of the object."""
    return isinstance(node, ast.Call) and getattr(getattr(node.func, "value", None), "id", "") == _FIRST


def _replaced(lines: Sequence[str], edits: Sequence[tuple[Any, str]]) -> list[str]:
    """Lines in which nodes have become other texts."""
    found = [line.encode() for line in lines]
    for node, text in sorted(edits, key=lambda e: (e[0].lineno, e[0].col_offset), reverse=True):
        end = node.col_offset + len(node.arg) if isinstance(node, ast.arg) else node.end_col_offset
        if node.end_lineno != node.lineno:
            tail = found[node.end_lineno - 1][end:]
            found[node.lineno : node.end_lineno] = [b""] * (node.end_lineno - node.lineno)
            end = len(found[node.lineno - 1])
            found[node.lineno - 1] = found[node.lineno - 1][:end] + tail
        line = found[node.lineno - 1]
        found[node.lineno - 1] = line[: node.col_offset] + text.encode() + line[end:]
    return [line.decode() for line in found]


def _reprinted(lines: Sequence[str], depth: int) -> list[str]:
    """Statements at another depth, broken anew where they are too long; the lines that they come from stay beside."""
    body = ast.parse("\n".join(lines)).body
    inside = [n for top in body for n in ast.walk(top) if isinstance(n, ast.stmt)]
    if any(hasattr(n, "body") and not isinstance(n, (ast.FunctionDef, ast.With, ast.For)) for n in inside):
        return [" " * depth + line if line.strip() else "" for line in lines]
    found = printing.lines(_statements(body, lines), lambda s: s.item or "", depth)
    return found[1:] if found and not found[0] else found


def _statements(body: Sequence[ast.stmt], lines: Sequence[str]) -> list[Any]:
    made = []
    for node in body:
        told = re.search(r"  # ([^\"']*)$", lines[node.lineno - 1])
        made.append(Statement(node, told[1] if told else ""))  # type: ignore[arg-type]
        if isinstance(node, (ast.FunctionDef, ast.With, ast.For)):
            node.body = _statements(node.body, lines)
    return made
