"""Statements as text: lines of at most 120 columns, with the lines of the original program beside them."""

from __future__ import annotations

import ast
import copy
import io
import tokenize
from collections.abc import Callable, Iterable, Sequence
from typing import Any

WIDTH = 120
MARK = "from the run"
"""The end of what is said of a statement that holds a value of the recorded run."""


def lines(statements: Iterable[Any], origin: Callable[[Any], str], indent: int = 0) -> list[str]:
    """The lines of some statements.

    Parameters
    ----------
    statements : iterable of Statement
    origin : callable
        Of a statement where it comes from, or an empty string.
    indent : int
        Columns before each line.
    """
    found: list[str] = []
    last = ""
    for statement in statements:
        where = origin(statement)
        comment = f"  # {where}" if where and (where != last or where.endswith(MARK)) else ""
        last = where or last
        found += _statement(statement.code, comment, origin, indent)
    # one empty line around functions, none at the ends of a block
    apart = [line for i, line in enumerate(found) if line or (0 < i < len(found) - 1 and found[i - 1])]
    return apart if not apart or apart[-1] else apart[:-1]


def _statement(code: ast.stmt, comment: str, origin: Callable[[Any], str], indent: int) -> list[str]:
    pad = " " * indent
    if isinstance(code, ast.With):
        head = ", ".join(unparsed(item) for item in code.items)
        return [f"{pad}with {head}:", *lines(code.body, origin, indent + 4)]
    if isinstance(code, ast.FunctionDef):
        head = f"{pad}def {code.name}({unparsed(code.args)}):"
        return ["", head + comment, *lines(code.body, origin, indent + 4), ""]
    if isinstance(code, ast.For):
        heads = _filled(f"for {_bare(code.target)} in {unparsed(code.iter)}:", indent, comment)
        return [*heads, *lines(code.body, origin, indent + 4)]
    before, value = _split(code)
    text = "" if value is None else unparsed(value)
    if isinstance(code, (ast.Return, ast.Assign)) and isinstance(value, ast.Tuple) and len(value.elts) > 1:
        bare = text[1:-1]
    else:
        bare = text
    if len(pad) + len(before) + len(bare) + len(comment) <= WIDTH:
        return [f"{pad}{before}{bare}{comment}"]
    if isinstance(value, (ast.BinOp, ast.BoolOp, ast.Compare, ast.IfExp)):
        text = f"({text})"
    whole = before + text
    return min([_filled(whole, indent, comment, at) for at in [None, *_openings(whole)]], key=len)


def unparsed(code: ast.AST) -> str:
    """The text of a syntax tree, with the quotes that formatters prefer."""
    return _requoted(ast.unparse(ast.fix_missing_locations(code)))


def _bare(target: ast.expr) -> str:
    """The text of what gets a value: a tuple without the outer parentheses."""
    text = unparsed(target)
    return text[1:-1] if isinstance(target, ast.Tuple) and target.elts else text


def double_quoted(text: str) -> str:
    """A text as Python writes it, in double quotes if nothing in it would have to be escaped for that."""
    return _requoted(repr(text))


def _requoted(text: str) -> str:
    """Code on one line whose strings have double quotes, where they hold no quotes and no escapes.

    It goes by tokens: what stands in a string is never taken for one. From Python 3.12 an f-string is several of them.
    """
    if "'" not in text or "\n" in text:
        return text
    found, opened = list(text), []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        kind, end = tokenize.tok_name[token.type], token.end[1]
        if kind in ("FSTRING_START", "STRING"):
            opened.append(end - len(token.string.lstrip(_PREFIXES)) if kind == "STRING" else end - 1)
        if kind in ("FSTRING_END", "STRING"):
            first, last = opened.pop(), end - 1
            if text[first] == "'" and not set(text[first + 1 : last]) & {"'", '"', "\\"} and last > first:
                found[first] = found[last] = '"'
    return "".join(found)


_PREFIXES = "rbufRBUF"


def checked(name: str, parameters: Sequence[str], statements: Sequence[Any], origin: Callable[[Any], str]) -> list[str]:
    """The lines of a function, or of statements at the top if there is no name: of the syntax tree that was meant.

    Parameters
    ----------
    name : str
    parameters : sequence of str
    statements : sequence of Statement
    origin : callable
        As for `lines`.

    Raises
    ------
    RuntimeError
        If the syntax tree of the text is another one.
    """
    first = _filled(f"def {name}({', '.join(parameters)}):", 0, "") if name else []
    text = [*first, *lines(statements, origin, 4 if name else 0)]
    meant: Any = ast.parse("\n".join([*first, "    pass"] if name else []))
    (meant.body[0] if name else meant).body = [_tree(s.code) for s in statements]
    meant = ast.parse(ast.unparse(ast.fix_missing_locations(meant)))
    if ast.dump(ast.parse("\n".join(text))) != ast.dump(meant):
        raise RuntimeError(f"{name or 'the top of the module'} is written otherwise than it was meant: {text}")
    return text


def _tree(code: Any) -> Any:
    """A statement whose body, if it has one, is made of syntax trees."""
    if not isinstance(code, (ast.With, ast.FunctionDef, ast.For)):
        return code
    new = copy.copy(code)
    new.body = [_tree(s.code) for s in code.body]  # type: ignore[attr-defined]
    return new


def _split(code: ast.stmt) -> tuple[str, ast.expr | None]:
    if isinstance(code, ast.Assign):
        bare = " = ".join(map(_bare, code.targets)) + " = "
        return bare if len(bare) < WIDTH - 8 else " = ".join(map(unparsed, code.targets)) + " = ", code.value
    if isinstance(code, ast.Return):
        return "return ", code.value
    if isinstance(code, ast.Expr):
        return "", code.value
    return unparsed(code), None


def _openings(text: str) -> list[int]:
    """Behind which brackets a text may go on in the next line: those that are in no other one first."""
    found: list[tuple[int, int]] = []
    depth = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.OP and token.string in _OPENING:
            found += [(depth, token.end[1])] if depth < 2 else []
            depth += 1
        elif token.type == tokenize.OP and token.string in _CLOSING:
            depth -= 1
    return [at for _, at in sorted(found)]


def _filled(text: str, indent: int, comment: str, cut: int | None = None) -> list[str]:
    """A statement over as many lines as it needs, each as full as it can be, below the bracket that it is in.

    Behind the bracket at `cut`, the next line begins, four columns in.
    """
    found: list[str] = []
    line, room, after = " " * indent, WIDTH - len(comment), 0
    opened = [(-1, indent + 4)]  # brackets: where they stand in this line, and where what is in them begins
    breaks: list[tuple[int, int, tuple[int, int]]] = []  # of this line: how deep, where, and in which bracket
    targets = False
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.NEWLINE, tokenize.ENDMARKER):
            break
        line += text[after : token.end[1]]
        after = token.end[1]
        if token.string in _OPENING:
            opened.append((len(line), len(line)) if len(line) < _DEEPEST else (opened[-1][0], opened[-1][1] + 4))
            if after == cut:
                found.append(line)
                line, room, breaks = " " * (indent + 4), WIDTH, []
                opened[-1] = (-1, indent + 4)
                continue
        elif token.string in _CLOSING:
            opened.pop()
        while len(line) > room and breaks:
            late = [b for b in breaks if b[1] > len(line) // 3] or breaks
            _, at, (_, column) = min(late, key=lambda b: (line[b[1] - 1] in _OPENING, b[0], -b[1]))
            found.append(line[:at].rstrip())
            rest = line[at:].lstrip()
            back = len(line) - len(rest) - column
            line, room = " " * column + rest, WIDTH
            opened = [_moved(bracket, at, back) for bracket in opened]
            breaks = [(depth, b - back, _moved(bracket, at, back)) for depth, b, bracket in breaks if b > at]
        targets = token.string == "for" or (targets and token.string != "in")  # they stay together
        if len(opened) > 1 and not targets and (token.string == "," or token.string in _OPENING):
            breaks.append((len(opened), len(line), opened[-1]))
        elif len(opened) > 1 and token.string in _SIGNS and text[after : after + 1] == " ":
            breaks.append((len(opened), len(line) - len(token.string), opened[-1]))
    found.append(line)
    found[0] += comment
    return found


def _moved(bracket: tuple[int, int], at: int, back: int) -> tuple[int, int]:
    """A bracket after the line was broken; -1 stands for those of lines before."""
    return (bracket[0] - back, bracket[1] - back) if bracket[0] >= at else (-1, bracket[1])


_OPENING, _CLOSING, _SIGNS = "([{", ")]}", ("+", "-", "*", "/", "and", "or", "for", "if")
_DEEPEST = 80
"""Column behind which what stands in brackets does not begin."""
