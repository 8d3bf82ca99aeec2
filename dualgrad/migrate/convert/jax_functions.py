"""Functions of JAX in place of those of tape code: pure ones, of the variables and of what was fed.

A tape becomes a function of what it watches (``forward``), and what was asked of it `jax.grad` of that. A function that
trained gives the gradients behind what it gave: the step is for an optimizer of JAX. What assigns to variables, draws
random numbers or loops by `tf.while_loop` is left out, and the head of the file says so.
"""

from __future__ import annotations

import ast
import copy
import re
import runpy
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dualgrad.migrate.convert import printing
from dualgrad.migrate.convert.body import Statement
from dualgrad.migrate.convert.edits import Unsafe, name_of
from dualgrad.migrate.convert.jax_names import DTYPES, HELPERS, NAMES
from dualgrad.migrate.convert.literals import substituted
from engine.core.eager import EagerTensor
from engine.core.variable import Variable

PARAMS = "params"


class Left(Exception):
    """A function that cannot be pure; the message says why."""


def written(conversion: Any, imports: str) -> str:
    """The text of the functions of a converted program, for JAX; its arrays and its map are changed to fit.

    Parameters
    ----------
    conversion : Conversion
        Its functions alone.
    imports : str
        The lines that import JAX.

    Raises
    ------
    Unsafe
        If no function is left.
    """
    text, tree = conversion.text, ast.parse(conversion.text)
    namespace = executed(conversion)
    known = _Known(tree, namespace)
    comments = {n: m[1] for n, line in enumerate(text.split("\n"), 1) if (m := re.search(r"  # (line .*)$", line))}
    done: dict[str, list[str]] = {}
    left: dict[str, str] = {}
    for function in (s for s in tree.body if isinstance(s, ast.FunctionDef) and s.name != "not_converted"):
        try:
            pure = _Pure(known, left)
            statements = pure.function(function)
            parameters = [PARAMS, *(a.arg for a in function.args.args)]
            done[function.name] = printing.checked(
                function.name, parameters, [_statement(s) for s in statements],
                lambda s: comments.get(getattr(s.code, "lineno", 0), ""),
            )  # fmt: skip
        except Left as why:
            left[function.name] = str(why)
    if not done:
        raise Unsafe(
            f"no function can be pure: {'; '.join(f'{n} {why}' for n, why in left.items())}; --to tape has them"
        )
    arrays: dict[str, np.ndarray] = {}
    top = [f"{PARAMS} = {{", *[f'    "{n}": {_value(n, v, arrays)},' for n, v in known.roots.items()], "}"]
    body = "\n".join(line for lines in done.values() for line in ["", "", *lines])
    top += [f"{n} = {_value(n, v, arrays)}" for n, v in known.constants.items() if re.search(rf"\b{n}\b", body)]
    helpers = "".join(
        "\n" + HELPERS[n].replace(f"def {n}(", f"def {known.helpers[n]}(") for n in HELPERS if n in known.helpers
    )
    said = "".join(f"\n{name} is left out: it {why}." for name, why in left.items())
    head = ast.get_docstring(tree, clean=False) or ""
    lines = [
        f'"""{head.strip()}\n{said}\n"""' if said else f'"""{head.strip()}"""',
        "",
        imports + "import numpy as np",
        "",
    ]
    if known.double:
        lines += ['jax.config.update("jax_enable_x64", True)']
    if arrays:
        lines += ['ARRAYS = dict(np.load(__file__.removesuffix(".py") + ".npz"))']
    _change(conversion, arrays, known, done)
    return "\n".join([*lines, *top]) + "\n" + helpers + body + "\n"


def executed(conversion: Any) -> dict[str, Any]:
    """The names of the module once it is executed: variables with their first values."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "functions.py"
        conversion.write(out)
        return runpy.run_path(str(out), run_name="functions")


def _change(conversion: Any, arrays: dict[str, np.ndarray], known: _Known, done: dict[str, Any]) -> None:
    conversion.arrays = arrays
    content = conversion.map
    content["whole"] = False
    content["functions"] = [
        {**f, "returns": [*f["returns"], *[name or "" for name in f.get("gradients", ())]]}
        for f in content["functions"]
        if f["name"] in done
    ]
    content["params"] = {name: keys for name, code in content["variables"].items() if (keys := known.keys(code))}


def _value(name: str, value: Any, arrays: dict[str, np.ndarray]) -> str:
    """The text that makes the first value of variables, or a constant."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k!r}: {_value(f'{name}_{k}', v, arrays)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_value(f"{name}_{i}", v, arrays) for i, v in enumerate(value)) + "]"
    array = np.asarray(value.numpy())
    if not array.any() and array.dtype.kind in "fiu" and not np.signbit(array.astype(np.float64)).any():
        return f"jnp.zeros({array.shape!r}, jnp.{array.dtype.name})"
    arrays[name] = array
    return f'jnp.asarray(ARRAYS["{name}"])'


def _statement(code: Any) -> Statement:
    """A statement as the printer takes it."""
    if isinstance(code, (ast.With, ast.FunctionDef, ast.For)):
        code = copy.copy(code)
        code.body = [_statement(s) for s in code.body]
    return Statement(code)


class _Known:
    """The names at the top of the module: variables, lists of them, constants, functions."""

    def __init__(self, tree: ast.Module, namespace: dict[str, Any]) -> None:
        self.functions = {s.name for s in tree.body if isinstance(s, ast.FunctionDef)}
        self.helpers: dict[str, str] = {}
        self._taken = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} | self.functions
        held = [v for v in namespace.values() if isinstance(v, (EagerTensor, Variable))]
        held += [v for many in namespace.values() if isinstance(many, list) for v in many if isinstance(v, Variable)]
        self.double = "tf.float64" in ast.unparse(tree) or any(v.dtype.name == "float64" for v in held)
        self.integers = any(isinstance(v, Variable) and v.dtype.name.startswith("int") for v in held)
        self._paths: dict[int, ast.expr] = {}
        self.roots: dict[str, Any] = {}
        self.lists: dict[str, list[ast.expr]] = {}
        stored = [n for s in tree.body for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        values = {n.id: namespace[n.id] for n in stored if n.id in namespace}
        self.constants = {name: value for name, value in values.items() if isinstance(value, EagerTensor)}
        for name, value in values.items():
            if isinstance(value, Variable) and id(value) not in self._paths:
                self.roots[name] = value
                self._paths[id(value)] = _item(ast.Name(PARAMS, ast.Load()), name)
        for name, value in values.items():
            pairs = list(
                value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
            )
            if not pairs or not all(isinstance(v, Variable) for _, v in pairs):
                continue
            unknown = [v for _, v in pairs if id(v) not in self._paths]
            if unknown and len(unknown) < len(pairs):
                raise Unsafe(f"{name} holds some variables that have names of their own; --to tape has them")
            if unknown:
                self.roots[name] = value
                whole = _item(ast.Name(PARAMS, ast.Load()), name)
                self._paths |= {id(v): _item(whole, key) for key, v in pairs}
            if isinstance(value, list):
                self.lists[name] = [self._paths[id(v)] for _, v in pairs]

    def helper(self, name: str) -> str:
        """The name of a helper here, where the program may have the name itself."""
        return self.helpers.setdefault(name, f"{name}_of" if name in self._taken else name)

    def keys(self, code: str) -> list[Any] | None:
        """The keys by which a variable lies in the parameters; None for what is no variable of the module."""
        node: ast.expr = ast.parse(code, mode="eval").body
        keys: list[Any] = []
        while isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            keys.insert(0, node.slice.value)
            node = node.value
        return [node.id, *keys] if isinstance(node, ast.Name) and node.id in self.roots else None


def _item(value: ast.expr, key: Any) -> ast.expr:
    return ast.Subscript(value, ast.Constant(key), ast.Load())


class _Pure(ast.NodeTransformer):
    """Makes the statements of one function pure."""

    def __init__(self, known: _Known, left: dict[str, str]) -> None:
        self.known, self.left = known, left
        self.gradients: list[ast.expr] = []
        self.count = 0
        self.counted: set[str] = set()
        self.outside: set[str] = set()

    def function(self, node: ast.FunctionDef) -> list[ast.stmt]:
        """The statements of a function; those that stepped give gradients.

        Raises
        ------
        Left
            If it cannot be pure.
        """
        if node.args.kwarg is not None:
            raise Left("minimizes by SciPy, for which there is jax.scipy.optimize")
        if node.decorator_list:
            raise Left("has a gradient of its own, for which there is jax.custom_vjp")
        self.own = {a.arg for a in node.args.args}
        self.seen = set(self.own)
        body = self.statements(copy.deepcopy(node.body))
        if not self.gradients:
            return body
        last = body[-1]
        if isinstance(last, ast.Return) and last.value is not None:
            given = list(last.value.elts) if isinstance(last.value, ast.Tuple) else [last.value]
            body.pop()
        else:
            given = []
        values = [*given, *self.gradients]
        return [*body, ast.Return(values[0] if len(values) == 1 else ast.Tuple(values, ast.Load()))]

    def statements(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Statements made pure, tapes with those that ask them."""
        found: list[ast.stmt] = []
        rest = list(body)
        while rest:
            self.seen |= set(_stored(found))
            statement = rest.pop(0)
            if isinstance(statement, ast.With):
                made, rest = self._taped(statement, rest)
                found += made
            elif isinstance(statement, ast.For):
                statement.iter = self.visit(statement.iter)
                statement.body = self.statements(statement.body)
                found.append(statement)
            elif isinstance(statement, ast.Expr) and (call := statement.value) and isinstance(call, ast.Call):
                found += self._called(statement, call)
            elif isinstance(statement, (ast.Assign, ast.Return)):
                found.append(self.visit(statement))
            else:
                raise Left(f"has statements that are none of JAX (line {statement.lineno})")
        return found

    def _called(self, statement: ast.Expr, call: ast.Call) -> list[ast.stmt]:
        method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        if method == "watch":
            return []
        if method == "append":
            return [self.visit(statement)]
        if method != "apply_gradients":
            raise Left("assigns to variables" if method.startswith("assign") else f"calls {ast.unparse(call.func)}")
        (pairs, *_) = call.args
        self.counted |= {ast.unparse(self.visit(k.value)) for k in call.keywords if k.arg == "global_step"}
        if isinstance(pairs, ast.Call) and ast.unparse(pairs.func) == "zip":
            self.gradients.append(self.visit(pairs.args[0]))
        elif isinstance(pairs, ast.List) and all(isinstance(p, ast.Tuple) for p in pairs.elts):
            self.gradients += [self.visit(p.elts[0]) for p in pairs.elts if isinstance(p, ast.Tuple)]
        else:
            raise Left("hands its gradients on in a way that is not known")
        return []

    # ---- tapes -------------------------------------------------------------------------------------------------------

    def _taped(self, block: ast.With, rest: list[ast.stmt]) -> tuple[list[ast.stmt], list[ast.stmt]]:
        """A function for what a tape saw, its gradients, and the statements that follow, which use them."""
        name = block.items[0].optional_vars
        assert isinstance(name, ast.Name)
        asked = [call for s in rest for call in _asked(s, name.id)]
        seen = set(self.seen)
        outside, self.outside = self.outside, self.outside | _loaded(rest, ())
        inside = self.statements(block.body)
        self.outside = outside
        if any(_asked(s, name.id) for s in inside):
            raise Left("asks a tape while it records")
        if len(asked) != sum(_methods(s, name.id) for s in rest):
            raise Left("asks a tape for more than gradients")
        if not asked:
            return inside, rest
        self.count += 1
        given = list(dict.fromkeys(_stored(inside)))
        sources = [self._sources(call.args[1], given) for call in asked]
        taped = _Taped(
            asked, sources, [self._target(call) for call in asked],
            [n for n in given if n in _loaded(rest, asked) | self.outside],
            list(dict.fromkeys(s for wanted in sources for s in wanted)),
            self.known.helper(f"forward{self._number()}"), [n for n in given if n in seen],
        )  # fmt: skip
        made, replaced = self._once(taped, inside) if len(asked) == 1 else self._often(taped, inside)
        return made, [_Replace(replaced).visit(s) for s in rest]

    def _number(self) -> str:
        return f"_{self.count}" if self.count > 1 else ""

    def _once(self, taped: _Taped, inside: list[ast.stmt]) -> tuple[list[ast.stmt], dict[int, ast.expr]]:
        """The function of a tape that is asked once: its value, what else is used, and the gradient."""
        (target,) = taped.targets
        scalar = _is_scalar(target, inside)
        loss = target if scalar else _call("jnp.sum", [target])
        is_named = scalar and isinstance(target, ast.Name) and target.id in taped.used
        out = [n for n in taped.used if not (is_named and n == ast.unparse(target))]
        returned: ast.expr = ast.Tuple([loss, _tuple(out)], ast.Load()) if out else loss
        keywords = [ast.keyword("has_aux", ast.Constant(True))] if out else []
        keywords += self._allowing(taped.arguments)
        made = _gradient_of(
            "jax.value_and_grad" if is_named else "jax.grad", _name(taped.forward), taped.arguments, keywords
        )
        gradients = f"gradients{self._number()}"
        outs: list[ast.expr] = [_tuple(out, ast.Store())] if out else []
        if is_named:
            value: ast.expr = ast.Name(ast.unparse(target), ast.Store())
            outs = [ast.Tuple([value, *outs], ast.Store()) if outs else value, ast.Name(gradients, ast.Store())]
        else:
            outs = [ast.Name(gradients, ast.Store()), *outs]
        targets = outs[0] if len(outs) == 1 else ast.Tuple(outs, ast.Store())
        (call,) = taped.asked
        replaced = {id(call): self._gradient(call, gradients, taped.arguments)}
        return [taped.function([*inside, ast.Return(returned)]), ast.Assign([targets], made)], replaced

    def _often(self, taped: _Taped, inside: list[ast.stmt]) -> tuple[list[ast.stmt], dict[int, ast.expr]]:
        """The function of a tape that is asked several times: all that is asked of it, and what else is used."""
        both: list[ast.expr] = [*taped.targets, *map(_name, taped.used)]
        made = [taped.function([*inside, ast.Return(ast.Tuple(both, ast.Load()))])]
        whole = _call(taped.forward, list(map(_name, taped.arguments)))
        if taped.used:
            slots = _tuple([*["_" for _ in taped.targets], *taped.used], ast.Store())
            made.append(ast.Assign([slots], whole))
        replaced: dict[int, ast.expr] = {}
        for i, (call, wanted) in enumerate(zip(taped.asked, taped.sources, strict=True)):
            taken = list(dict.fromkeys(wanted))
            parameters = ast.arguments([], [ast.arg(a) for a in taken], None, [], [], None, [])
            summed = ast.Lambda(parameters, _call("jnp.sum", [_item(whole, i)]))
            asking = _gradient_of("jax.grad", summed, taken, self._allowing(taken))
            if taken == wanted != [PARAMS] and len(taken) == 1 and not isinstance(call.args[1], ast.List):
                replaced[id(call)] = asking
                continue
            label = f"gradients{self._number() or '_1'}_{i + 1}"
            made.append(ast.Assign([ast.Name(label, ast.Store())], asking))
            replaced[id(call)] = self._gradient(call, label, taken)
        return made, replaced

    def _allowing(self, arguments: Sequence[str]) -> list[ast.keyword]:
        """A counter may lie among the parameters."""
        allowed = self.known.integers and PARAMS in arguments
        return [ast.keyword("allow_int", ast.Constant(True))] if allowed else []

    def _gradient(self, call: ast.Call, label: str, taken: list[str]) -> ast.expr:
        """The expression for what a tape was asked for."""
        sources = self._listed(call.args[1])
        values = []
        for source in sources:
            key = PARAMS if _root(source) == PARAMS else ast.unparse(source)
            whole: ast.expr = ast.Name(label, ast.Load())
            if len(taken) > 1:
                whole = _item(whole, taken.index(key))
            values.append(substituted(source, {PARAMS: whole}) if key == PARAMS else whole)
        several = isinstance(call.args[1], (ast.List, ast.Tuple)) or ast.unparse(call.args[1]) in self.known.lists
        return ast.List(values, ast.Load()) if several else values[0]

    def _listed(self, sources: ast.expr) -> list[ast.expr]:
        if isinstance(sources, ast.Name) and sources.id in self.known.lists and sources.id not in self.own:
            return [copy.deepcopy(x) for x in self.known.lists[sources.id]]
        each = sources.elts if isinstance(sources, (ast.List, ast.Tuple)) else [sources]
        found: list[ast.expr] = []
        for x in each:
            inner = x.value if isinstance(x, ast.Starred) else x
            if isinstance(inner, ast.Name) and inner.id in self.known.lists:
                found += [copy.deepcopy(v) for v in self.known.lists[inner.id]]
            else:
                found.append(self.visit(copy.deepcopy(x)))
        return found

    def _sources(self, sources: ast.expr, given: Sequence[str]) -> list[str]:
        """The names of what is differentiated for."""
        found: list[str] = []
        for x in self._listed(sources):
            if _root(x) == PARAMS:
                found.append(PARAMS)
            elif isinstance(x, ast.Name) and x.id not in given:
                found.append(x.id)
            else:
                raise Left(f"takes a gradient for {ast.unparse(x)}, which is computed on the way")
        return found

    def _target(self, call: ast.Call) -> ast.expr:
        target = self.visit(copy.deepcopy(call.args[0]))
        for keyword in call.keywords:
            if keyword.arg == "output_gradients":
                return ast.BinOp(target, ast.Mult(), self.visit(copy.deepcopy(keyword.value)))
        if isinstance(target, ast.List):
            first, *others = [_call("jnp.sum", [t]) for t in target.elts]
            whole: ast.expr = first
            for other in others:
                whole = ast.BinOp(whole, ast.Add(), other)
            return whole
        return target

    # ---- expressions -------------------------------------------------------------------------------------------------

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if isinstance(node.ctx, ast.Load) and node.id not in self.own:
            if node.id in self.known.roots:
                value: ast.expr = _item(ast.Name(PARAMS, ast.Load()), node.id)
                # the step counts it, which the function leaves to who calls it
                return ast.BinOp(value, ast.Add(), ast.Constant(1)) if ast.unparse(value) in self.counted else value
            if node.id in self.known.lists:
                return ast.List([copy.deepcopy(x) for x in self.known.lists[node.id]], ast.Load())
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        return ast.BinOp(self._operand(node.left), node.op, self._operand(node.right))

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        return ast.Compare(self._operand(node.left), node.ops, [self._operand(x) for x in node.comparators])

    def _operand(self, node: ast.expr) -> ast.expr:
        """An operand; a list, which operators of JAX do not take, as an array."""
        if not isinstance(node, (ast.List, ast.Tuple)):
            return self.visit(node)
        floats = any(isinstance(n, ast.Constant) and isinstance(n.value, float) for n in ast.walk(node))
        dtype = [ast.parse(DTYPES["float64" if self.known.double else "float32"], mode="eval").body] if floats else []
        return _call("jnp.asarray", [self.visit(node), *dtype])

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if dotted := name_of(node):
            if dotted in DTYPES:
                return ast.parse(DTYPES[dotted], mode="eval").body
            raise Left(f"has tf.{dotted}, for which there is no row")
        return ast.Attribute(self.visit(node.value), node.attr, node.ctx)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if ast.unparse(node.func).startswith(("jnp.", "jax.")):
            return node  # what a tape was asked for, which has been made already
        args = [self.visit(a) for a in node.args]
        keywords = [ast.keyword(k.arg, self.visit(k.value)) for k in node.keywords]
        if dotted := name_of(node.func):
            return self._public(dotted, args, keywords)
        if isinstance(node.func, ast.Name) and node.func.id in self.known.functions:
            if node.func.id in self.left:
                raise Left(f"calls {node.func.id}, which is left out")
            return ast.Call(node.func, [ast.Name(PARAMS, ast.Load()), *args], keywords)
        if isinstance(node.func, ast.Attribute):
            if node.func.attr == "read_value":
                return self.visit(node.func.value)
            if node.func.attr.startswith("assign"):
                raise Left("assigns to variables")
            if node.func.attr not in ("append", "gradient"):
                raise Left(f"calls {ast.unparse(node.func)}")
        func = node.func if isinstance(node.func, ast.Name) else self.visit(node.func)
        return ast.Call(func, args, keywords)

    def _public(self, dotted: str, args: list[ast.expr], keywords: list[ast.keyword]) -> ast.expr:
        if dotted.startswith("random."):
            raise Left(f"draws random numbers (tf.{dotted})")
        if dotted == "identity":
            return args[0]
        if dotted == "matmul" and not keywords:
            return _call("jnp.matmul", args)
        spelled = NAMES.get(dotted)
        if spelled is None:
            raise Left(f"has tf.{dotted}, for which there is no row")
        name = spelled.name if "." in spelled.name else self.known.helper(spelled.name)
        return _call(name, args, [ast.keyword(spelled.keywords.get(str(k.arg), k.arg), k.value) for k in keywords])


class _Replace(ast.NodeTransformer):
    def __init__(self, replaced: dict[int, ast.expr]) -> None:
        self.replaced = replaced

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if id(node) in self.replaced:
            return self.replaced[id(node)]
        self.generic_visit(node)
        return node


@dataclass
class _Taped:
    """All that was asked of a tape, for what, and what else of its block is used behind it.

    Attributes
    ----------
    arguments : list of str
        All that is differentiated for.
    before : list of str
        Names that the block changes, which had a value before it.
    """

    asked: list[ast.Call]
    sources: list[list[str]]
    targets: list[ast.expr]
    used: list[str]
    arguments: list[str]
    forward: str
    before: list[str]

    def function(self, body: list[ast.stmt]) -> ast.stmt:
        """The function of what is differentiated for."""
        before = [n for n in self.before if n not in self.arguments]
        every = [ast.arg(p) for p in [*self.arguments, *before]]
        arguments = ast.arguments([], every, None, [], [], None, [_name(n) for n in before])
        # typed stubs of Python 3.12 want type parameters, which those of 3.11 refuse
        make: Any = ast.FunctionDef
        made: ast.FunctionDef = make(self.forward, arguments, body, [], None, None)
        return made


def _asked(statement: ast.stmt, tape: str) -> list[ast.Call]:
    """The gradients that a statement asks a tape for."""
    return [
        n
        for n in ast.walk(statement)
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr == "gradient"
        and isinstance(n.func.value, ast.Name) and n.func.value.id == tape
    ]  # fmt: skip


def _methods(statement: ast.stmt, tape: str) -> int:
    """How often a statement uses a tape."""
    return sum(isinstance(n, ast.Attribute) and ast.unparse(n.value) == tape for n in ast.walk(statement))


def _gradient_of(name: str, function: ast.expr, arguments: list[str], keywords: Sequence[ast.keyword]) -> ast.expr:
    """The call of the gradient of a function."""
    numbers: list[ast.expr] = [ast.Constant(n) for n in range(len(arguments))]
    rest: list[ast.expr] = [ast.Tuple(numbers, ast.Load())] if len(arguments) > 1 else []
    return ast.Call(_call(name, [function, *rest], keywords), list(map(_name, arguments)), [])


def _name(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _call(name: str, args: Sequence[ast.expr], keywords: Sequence[ast.keyword] = ()) -> ast.Call:
    return ast.Call(ast.parse(name, mode="eval").body, list(args), list(keywords))


def _tuple(names: Sequence[str], ctx: Any = None) -> ast.Tuple:
    return ast.Tuple([ast.Name(n, ctx or ast.Load()) for n in names], ctx or ast.Load())


def _stored(body: Sequence[ast.stmt]) -> list[str]:
    """The names that statements give, not those inside of functions."""
    names: list[str] = []
    todo: list[ast.AST] = list(reversed(body))
    while todo:
        node = todo.pop()
        if isinstance(node, ast.FunctionDef):
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.append(node.id)
        if not isinstance(node, (ast.ListComp, ast.Lambda, ast.GeneratorExp)):
            todo += reversed(list(ast.iter_child_nodes(node)))
    return names


def _loaded(body: Sequence[ast.stmt], apart: Sequence[ast.Call]) -> set[str]:
    """The names that statements read, but for what tapes are asked."""
    without = {id(n) for call in apart for n in ast.walk(call)}
    return {n.id for s in body for n in ast.walk(s) if isinstance(n, ast.Name) and id(n) not in without}


def _is_scalar(target: ast.expr, body: Sequence[ast.stmt]) -> bool:
    """Whether something is one number, by how it is written."""
    given = {
        s.targets[0].id: s.value
        for s in body
        if isinstance(s, ast.Assign) and len(s.targets) == 1 and isinstance(s.targets[0], ast.Name)
    }

    def scalar(node: ast.expr) -> bool:
        if isinstance(node, ast.Name):
            return node.id in given and scalar(given[node.id])
        if isinstance(node, ast.BinOp):
            return scalar(node.left) and scalar(node.right)
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            return name.startswith("l2_loss") or (
                name in ("jnp.mean", "jnp.sum") and len(node.args) == 1 and not node.keywords
            )
        return isinstance(node, ast.Constant)

    return scalar(target)
