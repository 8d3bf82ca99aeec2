"""Rows of tables of names, which say where a function is: none is loaded for being in a table.

A row is ``(where, names)``, where: ``"module:name"``; or ``(Old(where, ...), names)`` if TensorFlow has the arguments
in another order or under other names. `rows` and `functions` make them of texts.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from engine.runtime.structs import field, replace, struct


@struct(frozen=True, eq=False)
class Old:
    """An engine function, or where it is, with other arguments (`dualgrad.frontend.legacy`)."""

    function: Any
    renames: Mapping[str, str] = field(default_factory=dict)
    order: tuple[str, ...] | None = None
    ignored: tuple[str, ...] = ()


def rows(table: str) -> tuple[tuple[str, str], ...]:
    """Rows of names that are loaded when a program first uses one of them, from a text with a line for each.

    A line is ``where | names``. Where: ``graph_api.saving:`` if that module has it under the last part of each name,
    ``graph_api.saving:load`` for one thing under other names, ``graph_api.legacy.layers`` for a module that is a part
    of the API (with ``__all__``). ``where | pattern | names`` has the names in place of each ``*``. A line that begins
    with a blank goes on with the one before; ``#`` begins a comment.

    Examples
    --------
    >>> rows("graph_api.saving: | train.* | Saver latest_checkpoint")
    (('graph_api.saving:', 'train.Saver train.latest_checkpoint'),)
    >>> rows("graph_api.sparse:* | sparse_* | add reshape")
    (('graph_api.sparse:add', 'sparse_add'), ('graph_api.sparse:reshape', 'sparse_reshape'))
    """
    made: list[tuple[str, str]] = []
    for line in _lines(table):
        where, _, what = line.partition(" | ")
        pattern, _, names = what.partition(" | ")
        filled = [pattern.replace("*", name) for name in names.split()] if names else [pattern]
        if "*" in where:
            made += [(where.replace("*", name), one) for name, one in zip(names.split(), filled, strict=True)]
        else:
            made.append((where, " ".join(filled)))
    return tuple(made)


def functions(table: str) -> tuple[tuple[Any, str], ...]:
    """Rows of functions that have other arguments in an older TensorFlow, from a text with a line for each.

    A line is ``module.function | names | arguments``, the module below ``engine.ops`` unless a colon is behind it. The
    arguments stand in TensorFlow's order, those behind a semicolon by name only; ``old=new`` is called `new` here, and
    ``-old`` means nothing here. ``module.* | names | arguments | functions`` has the functions in place of each ``*``.

    Examples
    --------
    >>> functions("trig.* | * math.* | | sin cos")
    (('engine.ops.trig:sin', 'sin math.sin'), ('engine.ops.trig:cos', 'cos math.cos'))
    >>> ((where, names),) = functions("gather.gather | gather | params indices -validate_indices ; dim=axis")
    >>> where.function, where.order, where.renames, where.ignored
    ('engine.ops.gather:gather', ('params', 'indices', 'validate_indices'), {'dim': 'axis'}, ('validate_indices',))
    """
    made: list[tuple[Any, str]] = []
    for line in _lines(table):
        where, names, arguments, family = ([part.strip() for part in line.split("|")] + ["", ""])[:4]
        for name in family.split() or [""]:
            at = where.replace("*", name)
            at = at if ":" in at else f"engine.ops.{at.replace('.', ':')}"
            made.append((_older(at, arguments) if arguments else at, names.replace("*", name)))
    return tuple(made)


def _older(where: str, arguments: str) -> Old:
    parts = [[word.lstrip("-").partition("=") for word in part.split()] for part in arguments.split(";")]
    renames = {old: new for part in parts for old, _, new in part if new}
    ignored = tuple([word[1:] for word in arguments.split() if word.startswith("-")])
    return Old(where, renames, tuple([old for old, _, _ in parts[0]]) or None, ignored)


def pairs(text: str) -> dict[str, str]:
    """Words and what stands for each; of several there are commas between them.

    Examples
    --------
    >>> pairs("sub=subtract moments=mean,variance")
    {'sub': 'subtract', 'moments': 'mean variance'}
    """
    return {word: what.replace(",", " ") for word, _, what in (pair.partition("=") for pair in text.split())}


def _lines(table: str) -> list[str]:
    return [line for line in table.strip().replace("\n ", " ").split("\n") if not line.startswith("#")]


def below(place: str, rows: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Rows of a table with their names below another one.

    Examples
    --------
    >>> below("train", rows("optim.adam: | AdamOptimizer"))
    (('optim.adam:', 'train.AdamOptimizer'),)
    """
    return tuple([(where, " ".join([f"{place}.{name}" for name in names.split()])) for where, names in rows])


def found(where: str) -> Any:
    """Load the thing at ``"module:name"``, or the module itself."""
    module, _, name = where.partition(":")
    value: Any = importlib.import_module(module)
    return getattr(value, name) if name else value


def loaded(what: Any) -> Any:
    """The function of a row, or the `Old` one with its function."""
    return replace(what, function=found(what.function)) if isinstance(what, Old) else found(what)


class Table(Sequence[tuple[Any, str]]):
    """Rows whose functions are loaded when they are read from here; `rows` says only where they are.

    Examples
    --------
    >>> table = Table([("engine.ops.trig:sin", "sin math.sin")])
    >>> table[0][0].name, table.rows[0][0]
    ('sin', 'engine.ops.trig:sin')
    """

    def __init__(self, rows: Iterable[tuple[Any, str]]) -> None:
        self.rows = tuple(rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, i: Any) -> Any:
        what, names = self.rows[i]
        return loaded(what), names

    def __iter__(self) -> Iterator[tuple[Any, str]]:
        return (self[i] for i in range(len(self)))
