"""Calls of the converted functions, as parts of a program's syntax tree, in place of runs of sessions."""

from __future__ import annotations

import ast
import io
import itertools
import re
import tokenize
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dualgrad.migrate.convert import iterating
from dualgrad.migrate.convert.edits import Replaced

if TYPE_CHECKING:
    import libcst


def called(cst: Any, found: Replaced, call: Any) -> Any:
    """The call of the function, with what was fed as its arguments."""
    function = found.function
    if found.run:
        named = {a.keyword.value if a.keyword else "": a.value for a in reversed(call.args)}
        asked = [call.func.value] if found.key is not None else []  # ``x.eval(feed)``
        asked += [a.value for a in call.args if a.keyword is None] or [named[n] for n in ("fetches",) if n in named]
        asked += [named["feed_dict"]] if "feed_dict" in named else []
        return cst.Call(cst.Name(found.run), [cst.Arg(value) for value in asked[:2]])
    if function["name"] is None:
        return None
    callee: Any = cst.Name(function["name"])
    fed = next((a.value for a in call.args if _is_feed(call, a)), None)
    further = [
        a.with_changes(keyword=cst.Name(_CALLBACKS[a.keyword.value]), comma=cst.MaybeSentinel.DEFAULT)
        for a in call.args
        if a.keyword is not None and a.keyword.value in _CALLBACKS
    ]
    if found.named is None or found.fed:
        elements = [e.value for e in fed.elements] if isinstance(fed, cst.Dict) else []
        values = [elements[x] if isinstance(x, int) else cst.parse_expression(x) for x in found.fed]
        taken = function.get("taken", ())
        next_ones = {name for one in taken for name in one["names"]}
        told = [name for name in function["fed"] if name not in next_ones]
        by_name, places = dict(zip(told, values, strict=True)), dict(zip(told, found.fed, strict=True))
        if whole := _whole_feed(found, places):
            return cst.Call(callee, [cst.Arg(cst.Name(whole), star="**"), *further])
        iterators = [cst.parse_expression(ast.unparse(i)) for i in found.iterators]
        following = iterating.next_arguments(cst, taken, iterators, by_name)
        arguments = []
        for _, group in itertools.groupby(function["feeds"].values(), lambda t: places.get(t, t)):
            first, *others = group
            form, given = found.starred.get(places.get(first, ""), "*" * bool(others)), by_name.get(first)
            if form == "*flatten":
                given = cst.Call(cst.parse_expression("tf.nest.flatten"), [cst.Arg(given)])
            arguments.append(following[first] if first in following else cst.Arg(given, star=form[:1]))
        return cst.Call(callee, [*filter(None, arguments), *further])
    return cst.Call(callee, [cst.Arg(fed, star="**"), *further])


_CALLBACKS = {"step_callback": "callback", "loss_callback": "loss_callback"}
"""Parameters of `optim.minimize` for the callbacks of a ``ScipyOptimizerInterface``."""


def _whole_feed(found: Replaced, places: Mapping[str, str | int]) -> str:
    """The name of the dict of which each element is given for the parameter of its name; empty if there is none."""
    feeds = found.function["feeds"]
    names = {str(at).partition("[")[0] for at in places.values()}
    name = names.pop() if len(names) == 1 and len(feeds) > 1 else ""
    told = all(places.get(x) == f'{name}["{p}"]' for p, x in feeds.items())
    return name if name and told and len(places) == len(feeds) and not found.starred else ""


def _is_feed(call: Any, argument: Any) -> bool:
    if argument.keyword is not None:
        return argument.keyword.value == "feed_dict"
    method = call.func.attr.value
    if method == "minimize":
        return len(call.args) > 1 and argument is call.args[1]
    return argument is not call.args[0] or method == "eval" or len(call.args) == 1


def results(cst: Any, found: Replaced, call: Any) -> Any:
    """The expression for what the session gave: arrays, None for operations."""
    count = len(found.function["returns"])
    if found.form:
        return _nested(cst, found, call)
    if call is None:
        values = [cst.parse_expression(f"{value}.numpy()") for value in found.function["values"]]
        return values[0] if not found.several else cst.List([cst.Element(v) for v in values])
    if count == 0:
        return call
    if not found.several:
        return _numpy(cst, call) if count == 1 else call
    if count == 1 and [i for i in found.leaves if i is not None] == [0]:
        none = cst.Name("None")
        return cst.List([cst.Element(none if i is None else _numpy(cst, call)) for i in found.leaves])
    asked = [i for i in found.leaves if i is not None]
    first = next(n for n, i in enumerate(found.leaves) if i is not None)
    if asked != list(range(count)) or found.leaves[first : first + count] != asked:
        form = "[" + ", ".join(f"@{n}" for n in range(len(found.leaves))) + "]"
        return _nested(cst, replace(found, form=form), call)
    every = cst.parse_expression("[x.numpy() for x in _]")
    every = every.with_changes(for_in=every.for_in.with_changes(iter=call))
    if None not in found.leaves:
        return every
    behind = len(found.leaves) - first - count
    nones = cst.Element(cst.Name("None"))
    return cst.List([*[nones] * first, cst.StarredElement(every), *[nones] * behind])


def _nested(cst: Any, found: Replaced, call: Any) -> libcst.Call:
    """The expression where some fetches are lists: what the function gives, taken apart and put together again."""
    values = ["None" if i is None else f"x{i}" for i in found.leaves]
    inside = _filled(found.form, values)
    names = [f"x{i}" for i in range(len(found.function["returns"]))]
    if not names:
        return cst.parse_expression(inside)
    every = cst.parse_expression("[x.numpy() for x in _]")
    every = every.with_changes(for_in=every.for_in.with_changes(iter=call)) if call is not None else every
    if call is None:
        every = cst.parse_expression("[" + ", ".join(f"{v}.numpy()" for v in found.function["values"]) + "]")
    elif len(names) == 1:
        every = cst.List([cst.Element(_numpy(cst, call))])
    flat = re.fullmatch(r"(namedtuple\(.*?\))\((.*)\)", inside)
    if flat and flat[2] == ", ".join(names):
        return cst.Call(cst.parse_expression(flat[1]), [cst.Arg(every, star="*")])
    function = cst.parse_expression(f"(lambda {', '.join(names)}: {inside})")
    return cst.Call(function, [cst.Arg(every, star="*")])


def unpacked(cst: Any, found: Replaced, targets: list[str], call: Any) -> list[str]:
    """Statements that name what a run gives, without the None of which nobody reads the name, ``"_"``.

    One that is a structure is a starred name at first, and is put together then. There are none where nothing of that
    is to be done, or where it cannot be.
    """
    form = found.form or "[" + ", ".join(f"@{n}" for n in range(len(found.leaves))) + "]"
    code = ast.parse(_filled(form, ["None" if i is None else f"x{i}" for i in found.leaves]), mode="eval").body
    parts = [ast.unparse(e) for e in code.elts] if isinstance(code, (ast.List, ast.Tuple)) else []
    told = [(target, part, re.findall(r"\bx\d+\b", part)) for target, part in zip(targets, parts, strict=False)
            if part != "None" or target != "_"]  # fmt: skip
    names = [target if [part] == leaves else f"*{target}" for target, part, leaves in told]
    built = [row for row, name in zip(told, names, strict=True) if name[0] == "*"]
    in_order = [leaf for *_, leaves in told for leaf in leaves] == [
        f"x{i}" for i in range(len(found.function["returns"]))
    ]
    if len(parts) != len(targets) or not names or not in_order or len(built) > 1 or len(names) == len(built):
        return []
    text = cst.Module(body=[]).code_for_node(call)
    if not built:
        given = f"[x.numpy() for x in {text}]" if len(names) > 1 else f"{text}.numpy()"
        return [f"{', '.join(names)} = {given}"] if len(told) < len(targets) else []
    ((target, part, leaves),) = built
    if not target.isidentifier() or not leaves:
        return []
    if part.startswith("namedtuple"):
        part = part.replace(f"({', '.join(leaves)})", f"(*{target})")
    places = {leaf: f"{target}[{i}]" for i, leaf in enumerate(leaves)}
    part = re.sub(r"\bx\d+\b", lambda found: places[found[0]], part).replace("'", '"')
    return [f"{', '.join(names)} = [x.numpy() for x in {text}]", f"{target} = {part}"]


def _filled(form: str, values: list[str]) -> str:
    """A form (`capture.shape_of`) with values in place of ``@0, @1, ...``; texts in it stay what they are."""
    pieces, after, mark = [], 0, ""
    for token in tokenize.generate_tokens(io.StringIO(form).readline):
        if mark and token.type == tokenize.NUMBER:
            pieces += [form[after : token.start[1] - 1], values[int(token.string)]]
            after = token.end[1]
        mark = token.string if token.string == "@" else ""
    return "".join([*pieces, form[after:]])


def _numpy(cst: Any, value: Any) -> libcst.Call:
    return cst.Call(cst.Attribute(value, cst.Name("numpy")))


def is_name(cst: Any, node: Any, name: str | None) -> bool:
    """Whether it is a name, this one."""
    return isinstance(node, cst.Name) and node.value == name


def all_calls(cst: Any, node: Any) -> list[Any]:
    """The calls in an expression, the outer ones first."""
    calls = [node] if isinstance(node, cst.Call) else []
    for child in node.children:
        calls += all_calls(cst, child)
    return calls
