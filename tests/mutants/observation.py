"""What a converted program computes when it is simply run, seen without the help of ``dualgrad compare``.

A copy of its text is run in which the functions of its map are decorated: what they give to whoever calls them from
outside is what the original program's sessions gave.
"""

from __future__ import annotations

import ast
import builtins
import gc
import hashlib
import io
import os
import pickle
import resource
import signal
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

MEMORY = 6 << 30


@dataclass
class Seen:
    """What a program did.

    Attributes
    ----------
    end : str
        The exception that ended it; empty if none did.
    printed : str
    fetched : dict
        By the name of a function what it gave, call by call, where that differs from what it gave before.
    variables : dict
        By the name in the graph, what the program's variables held in the end.
    """

    end: str = ""
    printed: str = ""
    fetched: dict[str, list[str]] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)

    def changed(self, other: Seen) -> list[str]:
        """In what another run differs: none of it if every number is the same."""
        return [
            name for name in ("end", "printed", "fetched", "variables") if getattr(self, name) != getattr(other, name)
        ]


def in_child(work: Callable[[], Any], seconds: int) -> Any:
    """What a function gives in a forked child, which takes with it whatever it changed; None if it does not end."""
    with tempfile.NamedTemporaryFile() as answer:
        child = os.fork()
        if not child:
            try:
                signal.alarm(seconds)
                resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
                os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
                given = pickle.dumps(work())
                Path(answer.name).write_bytes(given)
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        content = Path(answer.name).read_bytes()
        return pickle.loads(content) if content else None


def observed(path: Path, known: dict[str, Any]) -> Seen:
    """Run a converted program; call it in a child, in a folder of its own.

    Parameters
    ----------
    path : Path
    known : dict
        Its map.
    """
    seen, out = Seen(), io.StringIO()
    main = ModuleType("__main__")
    vars(main).update(__file__=str(path), __builtins__=builtins)
    names = {str(f["name"]).rpartition(".")[2] for f in known["functions"] if f["name"]}
    fetched: dict[str, list[str]] = defaultdict(list)
    sys.argv, sys.modules["__main__"] = [str(path)], main
    sys.path.insert(0, str(path.parent))
    vars(main)["__seen__"] = _seeing(fetched)
    try:
        with redirect_stdout(out), redirect_stderr(io.StringIO()):
            exec(_decorated(path, names), vars(main))
    except SystemExit as end:
        seen.end = f"exit {end.code}" if end.code else ""
    except BaseException as error:  # noqa: BLE001 - mistakes may raise whatever they like
        seen.end = f"{type(error).__name__}: {error}"
    seen.printed, seen.fetched = out.getvalue(), dict(fetched)
    seen.variables = _final(vars(main), known)
    return seen


def _decorated(path: Path, names: set[str]) -> Any:
    """The program with some of its functions decorated."""
    tree = ast.parse(path.read_text(), str(path))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name in names:
            node.decorator_list.insert(0, ast.Name("__seen__", ast.Load()))
    return compile(ast.fix_missing_locations(tree), str(path), "exec", dont_inherit=True)


def _seeing(fetched: dict[str, list[str]]) -> Callable[..., Any]:
    """A decorator that takes down what functions give to those who are none of them."""
    depth = 0

    def decorator(function: Any) -> Any:
        if not hasattr(function, "__get__"):
            return function

        def seen(*args: Any, **named: Any) -> Any:
            nonlocal depth
            depth += 1
            try:
                result = function(*args, **named)
            finally:
                depth -= 1
            given = digest(result) if not depth else None
            if given and fetched[function.__name__][-1:] != [given]:
                fetched[function.__name__].append(given)  # to fetch the same once more changes nothing
            return result

        seen.__name__, seen.__doc__ = function.__name__, function.__doc__
        return seen

    return decorator


def _final(names: dict[str, Any], known: dict[str, Any]) -> dict[str, str]:
    """What the variables of the map hold."""
    for name, of in known.get("objects", {}).items():
        made = names.get(of)
        found = [x for x in gc.get_objects() if isinstance(made, type) and type(x) is made]
        if found:
            names[name] = found[-1]
    codes = {**known["variables"], **{n: c for f in known["functions"] for n, c in f.get("variables", {}).items()}}
    held = {}
    for name, code in codes.items():
        try:
            held[name] = digest(eval(code, names))
        except Exception as error:  # noqa: BLE001
            held[name] = type(error).__name__
    return held


def digest(value: Any) -> str:
    """What tells values apart, to the bit."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k}: {digest(v)}" for k, v in sorted(value.items(), key=str)) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(digest, value)) + "]"
    if value is None or isinstance(value, (str, bytes, bool, int, float)):
        return repr(value)
    parts = [getattr(value, name, None) for name in ("indices", "values", "dense_shape")]
    if parts[1] is not None and not callable(parts[1]):
        return digest(parts)
    try:
        array = np.asarray(value.numpy() if hasattr(value, "numpy") else value)
    except Exception:  # noqa: BLE001
        return type(value).__name__
    if array.dtype.kind == "O":
        return repr(array.tolist()) if array.size < 1000 else hashlib.sha256(repr(array.tolist()).encode()).hexdigest()
    content = array.tobytes()
    return (
        f"{array.dtype}{array.shape}{hashlib.sha256(content).hexdigest()[:16] if len(content) > 16 else content.hex()}"
    )
