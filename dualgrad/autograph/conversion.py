"""Rewrites functions, keeps what was rewritten, and decides which functions are the user's."""

from __future__ import annotations

import ast
import copy
import functools
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from os.path import dirname
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from dualgrad.autograph import source
from dualgrad.autograph.analysis import parameters
from dualgrad.autograph.expressions import Expressions
from dualgrad.autograph.flow import Rewriting, filled
from dualgrad.autograph.host import Host
from dualgrad.autograph.operators import Operators
from engine.core.detach import _installed
from engine.runtime.cache import Cache
from engine.runtime.packages import FOLDERS, PACKAGES

MARK = "ag__do_not_convert"
_FOREIGN = tuple(f"{dirname(str(spec.origin))}/" for spec in map(find_spec, ("numpy", "scipy")) if spec)
_KEPT: Cache[Any, Any] = Cache("rewritten functions", 4096, key="code and file")
_OPERATORS: dict[int, Operators] = {}


class _Now(threading.local):
    def __init__(self) -> None:
        self.operators: Operators | None = None


_now = _Now()


class Rewritten:
    """The code of a rewritten function.

    Attributes
    ----------
    code : CodeType
        With the file and the lines of the function.
    tree : ast.FunctionDef
    """

    def __init__(self, function: FunctionType) -> None:
        code = function.__code__
        if "site-packages" in code.co_filename and not any(map(_is_ours, function.__globals__.values())):
            raise source.Unreadable("it is of a package that knows nothing of tensors")
        found = source.definition(function)
        _require_plain(found.node, code)
        if not _is_unchanged(found, code):
            raise source.Unreadable("its source has changed since it was imported")
        node = _prepared(found)
        libraries = frozenset(
            n for n, x in function.__globals__.items() if isinstance(x, ModuleType) and _is_library(x)
        )
        if isinstance(found.node, ast.Lambda):
            node.body = [
                ast.copy_location(
                    ast.Return(Expressions(set(), _no_function, libraries - set(parameters(node))).visit(_value(node))),
                    node,
                )
            ]
        else:
            Rewriting(node, libraries=libraries).rewrite()
        self.tree = node
        self.code = _named(_compiled(node, code, found.imports, ("ag__",)), code)
        _made.update(_codes(self.code))

    def function(self, original: FunctionType, operators: Operators) -> FunctionType:
        """The function, with the globals, defaults and variables from around it of the original."""
        cells = dict(zip(original.__code__.co_freevars, original.__closure__ or (), strict=True))
        cells["ag__"] = CellType(operators)
        closure = tuple(cells[name] for name in self.code.co_freevars)
        made = FunctionType(self.code, original.__globals__, original.__name__, original.__defaults__, closure)
        made.__kwdefaults__, made.__dict__ = original.__kwdefaults__, original.__dict__
        made.__qualname__, made.__module__, made.__doc__ = original.__qualname__, original.__module__, original.__doc__
        made.__annotations__ = original.__annotations__
        return made


_made: weakref.WeakSet[CodeType] = weakref.WeakSet()


def _is_ours(x: Any) -> bool:
    """Whether `x` is a module with functions of tensors."""
    return isinstance(x, ModuleType) and x.__name__.partition(".")[0] in (*PACKAGES, "tensorflow", "keras")


def _is_library(module: ModuleType) -> bool:
    """Whether a module is NumPy's, SciPy's or of the standard library."""
    name = module.__name__.partition(".")[0]
    return name in ("numpy", "scipy") or name in sys.stdlib_module_names


def _no_function(node: ast.FunctionDef) -> None:
    raise AssertionError("a lambda holds no statements")


def _value(node: ast.FunctionDef) -> ast.expr:
    return node.body[0].value  # type: ignore[attr-defined]


def _require_plain(node: source.Definition, code: CodeType) -> None:
    """Raise if a function cannot be rewritten as a whole."""
    if code.co_flags & 0x2A0:
        raise source.Unreadable("it is a generator or a coroutine")
    body = [node.body] if isinstance(node, ast.Lambda) else node.body
    for n in (n for s in body for n in ast.walk(s)):
        name = n.func.id if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) else ""
        if name in ("eval", "exec", "locals") or (name in ("vars", "dir") and not n.args):  # type: ignore[attr-defined]
            raise source.Unreadable(f"it calls {name}() (line {n.lineno})")  # type: ignore[attr-defined]


def _prepared(found: source.Found, rewritten: bool = True) -> ast.FunctionDef:
    """A copy of a definition, without decorators, with the names that the compiler makes of private ones."""
    node = copy.deepcopy(found.node)
    if isinstance(node, ast.Lambda):
        # typed stubs of Python 3.12 want type parameters, which those of 3.11 refuse
        make: Any = ast.FunctionDef
        made = make("ag__lambda", node.args, [ast.Return(node.body)], [], None)
        ast.copy_location(made, node)
        ast.copy_location(made.body[0], node.body)
        node = made
    args = node.args
    # their values come from the function itself
    args.defaults = [ast.copy_location(ast.Constant(None), d) for d in args.defaults]
    args.kw_defaults = [d and ast.copy_location(ast.Constant(None), d) for d in args.kw_defaults]
    for a in [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]:
        if a is not None:
            a.annotation = None
    node.decorator_list, node.returns = [], None
    first = (args.posonlyargs + args.args)[:1]
    _InClass(found.owner, first[0].arg if rewritten and first else None).visit(node)
    return node


class _InClass(ast.NodeTransformer):
    """Writes out what is special of functions in a class: private names, and ``super()``."""

    def __init__(self, owner: str, first: str | None) -> None:
        self.owner, self.first = owner.lstrip("_"), first

    def _mangled(self, name: str) -> str:
        private = self.owner and name.startswith("__") and not name.endswith("__")
        return f"_{self.owner}{name}" if private else name

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        node.attr = self._mangled(node.attr)
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> Any:
        node.id = self._mangled(node.id)
        return node

    def visit_arg(self, node: ast.arg) -> Any:
        node.arg = self._mangled(node.arg)
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args and self.first:
            node.args = filled(f"__class__, {self.first}", node)[0].value.elts  # type: ignore[attr-defined]
        return node


def _compiled(node: ast.FunctionDef, code: CodeType, imports: list[ast.stmt], more: tuple[str, ...] = ()) -> CodeType:
    """The code of a definition that takes the same variables from around it as `code`."""
    lines = "".join(f"    {name} = None\n" for name in (*code.co_freevars, *more))
    (around,) = filled(f"def ag__around():\n{lines}    BODY", node, BODY=[node])
    module = ast.Module([*imports, around], [])
    ast.fix_missing_locations(module)
    flags = code.co_flags & 0x1FF0000  # what it imports from __future__
    compiled = compile(module, code.co_filename, "exec", flags=flags, dont_inherit=True)
    (outer,) = [c for c in compiled.co_consts if isinstance(c, CodeType)]
    (own,) = [c for c in outer.co_consts if isinstance(c, CodeType)]
    return own


def _is_unchanged(found: source.Found, code: CodeType) -> bool:
    """Whether a definition is what `code` was compiled from; where assertions are instrumented that is not seen."""
    if any(isinstance(n, ast.Assert) for n in ast.walk(found.node)):
        return True
    return _compiled(_prepared(found, rewritten=False), code, found.imports).co_code == code.co_code


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for c in code.co_consts:
        if isinstance(c, CodeType):
            yield from _codes(c)


def _named(code: CodeType, original: CodeType) -> CodeType:
    """Code whose parts have the name of the function that they are parts of, as tracebacks show it."""
    made = code.co_name.startswith("ag__")
    name, qualified = (original.co_name, original.co_qualname) if made else (code.co_name, code.co_qualname)
    if not made:
        qualified = (
            f"{original.co_qualname}.<locals>.{name}" if code.co_name != original.co_name else original.co_qualname
        )
    own = original if made else code.replace(co_name=name, co_qualname=qualified)
    consts = tuple(_named(c, own) if isinstance(c, CodeType) else c for c in code.co_consts)
    return code.replace(co_name=name, co_qualname=qualified, co_consts=consts)


# ---- which functions -------------------------------------------------------------------------------------------------


def is_foreign(code: CodeType) -> bool:
    """Whether code is ours, NumPy's, SciPy's or of the standard library."""
    name = code.co_filename
    if name.startswith((*FOLDERS, *_FOREIGN)):
        return True
    return name.startswith(_installed()) and "site-packages" not in name


def rewritten(function: FunctionType) -> Rewritten | str:
    """The rewritten code of a function, or why there is none."""
    code = function.__code__
    key = code, code.co_filename
    kept = _KEPT.get(key)
    if kept is None:
        try:
            kept = Rewritten(function)
        except source.Unreadable as error:
            kept = str(error)
        except (SyntaxError, ValueError, RecursionError) as error:
            kept = f"its source cannot be rewritten ({error})"
        _KEPT.put(key, kept)
    return kept


def converted(operators: Operators, f: Any) -> Any:
    """`f`, rewritten if it is a function of the user's."""
    kind = type(f)
    if kind is FunctionType:
        return _function(operators, f)
    if kind is MethodType:
        own = _function(operators, f.__func__) if type(f.__func__) is FunctionType else f.__func__
        return f if own is f.__func__ else MethodType(own, f.__self__)
    if kind is BuiltinFunctionType or kind is type:
        return operators.host.builtin(f)
    if kind is functools.partial:
        return functools.partial(converted(operators, f.func), *f.args, **f.keywords)
    call = getattr(kind, "__call__", None)  # noqa: B004 - the function is wanted
    if isinstance(f, type) or type(call) is not FunctionType or is_foreign(call.__code__):
        return f
    own = _function(operators, call)
    return f if own is call else MethodType(own, f)


def _function(operators: Operators, f: FunctionType) -> Any:
    code = f.__code__
    if code in _made or f.__dict__.get(MARK):
        return f
    if is_foreign(code):
        return _handing_on(operators, f)
    made = rewritten(f)
    return f if isinstance(made, str) else made.function(f, operators)


def _handing_on(operators: Operators, f: FunctionType) -> Any:
    """A function of ours, to which functions of the user's are given rewritten."""
    if not f.__code__.co_filename.startswith(FOLDERS) or "autograph" in f.__module__:
        return f

    def call(*args: Any, **kwargs: Any) -> Any:
        if any(type(x) is FunctionType for x in (*args, *kwargs.values())):
            args = tuple(_function(operators, x) if type(x) is FunctionType else x for x in args)
            kwargs = {k: _function(operators, x) if type(x) is FunctionType else x for k, x in kwargs.items()}
        return f(*args, **kwargs)

    return call


def operators_of(host: Host) -> Operators:
    """The operators for a front end."""
    return _OPERATORS.setdefault(id(host), Operators(host, converted))


def to_function(f: Any, host: Host) -> Any:
    """`f`, rewritten.

    Raises
    ------
    ValueError
        If it cannot be.
    """
    why = why_not(f)
    if why:
        raise ValueError(f"to_graph: {getattr(f, '__qualname__', f)} cannot be rewritten: {why}")
    return converted(operators_of(host), f)


@contextmanager
def converting(host: Host | None) -> Iterator[None]:
    """Inside, what `current` is given is rewritten for a front end; for None, it is not."""
    before, _now.operators = _now.operators, None if host is None else operators_of(host)
    try:
        yield
    finally:
        _now.operators = before


def current(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function that a library of ours calls for the user, rewritten if the function around it is."""
    return f if _now.operators is None else converted(_now.operators, f)


def why_not(f: Any) -> str:
    """Why a function is not rewritten; empty if it is."""
    f = getattr(f, "__func__", f)
    if type(f) is not FunctionType:
        return ""
    made = rewritten(f)
    return made if isinstance(made, str) else ""


def code_of(f: Any) -> str:
    """The rewritten source of a function.

    Raises
    ------
    ValueError
        If it cannot be rewritten.
    """
    own = getattr(f, "python_function", f)
    own = getattr(own, "__func__", own)
    if type(own) is not FunctionType:
        raise ValueError(f"to_code: argument `entity` must be a function, got {f!r}")
    made = rewritten(own)
    if isinstance(made, str):
        raise ValueError(f"to_code: {own.__qualname__} cannot be rewritten: {made}")
    return ast.unparse(made.tree)
