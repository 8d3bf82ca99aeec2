"""Shortening of finished functions: lists as comprehensions, unrolled steps as loops, common parts as functions."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from dualgrad.migrate.convert import printing
from dualgrad.migrate.convert.alignment import Aligned, blocks, plain
from dualgrad.migrate.convert.body import Statement
from dualgrad.migrate.convert.identifiers import Names, Scope
from dualgrad.migrate.convert.observed_run import Run
from dualgrad.migrate.convert.outlining import Outlining
from dualgrad.migrate.convert.repetition import Repetition, sizes
from dualgrad.migrate.convert.rolling import Rolling
from engine.core.op import Node


@dataclass
class Function:
    """A function of the module, or what stands for a set of fetches that needs none.

    Attributes
    ----------
    name : str or None
        None where there is nothing to call: `values` are then the expressions of the module that were fetched, none
        where variables were only initialized.
    returns : list of tensor
    converts : dict
        The dtypes of the parameters of which it first makes tensors.
    rest : str
        The name of the parameter for all other keyword arguments, if it has one.
    gradients : list of tensor or None
        What its optimizers are given; None for rows of a matrix.
    decorator : str
        The line above it, if there is one.
    """

    name: str | None
    run: Run | None
    returns: list[Any]
    parameters: list[tuple[str, Any]] = field(default_factory=list)
    values: list[str] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    converts: dict[str, Any] = field(default_factory=dict)
    rest: str = ""
    gradients: list[Any] = field(default_factory=list)
    decorator: str = ""


class Shortening:
    """Makes the functions of a module shorter.

    Parameters
    ----------
    functions : list of Function
        Which are changed, and to which others are added.
    scope : Scope
        The names at the top of the module.
    names : Names
        What the program calls things.
    lists : dict
        Names of lists at the top of the module, by the texts of their elements.
    listed : callable
        Gives a name to the list of some variables; None for what are no variables.
    """

    def __init__(
        self, functions: list[Function], scope: Scope, names: Names, lists: dict[tuple[str, ...], str],
        listed: Callable[[Sequence[str]], str | None],
    ) -> None:  # fmt: skip
        self._functions, self._scope, self._names, self._lists = functions, scope, names, lists
        self._repetition = Repetition(lists, lambda name: name not in scope, listed)
        self._aligned = Aligned()
        self._lengths: dict[int, tuple[ast.stmt, int]] = {}

    def shorten(self) -> None:
        """Do it."""
        self._repeat()
        rolling = Rolling(self._aligned, self._length, self._lists, self._free, self._repetition.source)
        for function in self._functions:
            function.statements = rolling.roll(function.statements, [name for name, _ in function.parameters])
        for function in self._functions:
            self._name_result(function)
        Outlining(
            self._aligned, self._length, self._free, self._named, self._new_function, self._maker, self._line
        ).outline(self._functions)  # fmt: skip
        for function in self._functions:
            function.statements = rolling.roll(function.statements, [name for name, _ in function.parameters])
        self._repeat()

    def _name_result(self, function: Function) -> None:
        """Give what a function returns a name, so that statements are alike that return it and that go on with it."""
        last = function.statements[-1] if function.statements else None
        if last is None or not isinstance(last.code, ast.Return) or last.code.value is None:
            return
        if isinstance(last.code.value, (ast.Name, ast.Tuple, ast.List, ast.Constant)):
            return
        taken = {p.value for p in self._aligned.all_parts(function.statements) if p.is_name}
        taken |= {name for name, _ in function.parameters}
        name = self._free(plain(function.name or "").removeprefix("compute_") or "result", taken)
        given = copy.copy(last)
        given.code = ast.Assign([ast.Name(name, ast.Store())], last.code.value)
        last = copy.copy(last)
        last.code = ast.Return(ast.Name(name))
        function.statements[-1:] = [given, last]

    def _repeat(self) -> None:
        for function in self._functions:
            self._repetition.sizes = sizes(function.statements, self._lists)
            function.statements = self._repetition.shorten(function.statements)

    def _length(self, statement: Statement) -> int:
        length = self._lengths.get(id(statement))
        if length is None or length[0] is not statement.code:
            lines = printing.lines([statement], lambda _: "", 8)
            length = self._lengths[id(statement)] = (statement.code, sum(map(bool, lines)))
        return length[1]

    def _free(self, wanted: str, taken: set[str]) -> str:
        """A name that neither a function nor the module has."""
        scope = Scope(self._scope)
        scope.take(*taken)
        return scope.free(plain(wanted))

    def _named(self, statements: Sequence[Statement], results: Sequence[str], users: Sequence[Function]) -> str:
        """A name for what some functions have in common: that of the program's function which made it, if it is one."""
        every = [s for top in statements for block in blocks([top]) for s in block]
        makers = {self._maker(s) for s in every if _node(s) is not None}
        maker = makers.pop() if len(makers) == 1 else None
        if maker is None and isinstance(statements[-1].code, ast.Return):
            name = min((f.name or "" for f in users), key=len)
            maker = f"finish_{plain(name)}"
        if maker is not None and maker in self._scope and results:
            maker = None  # another part of that function has its name
        return self._scope.free(maker or ("compute_" + "_and_".join(results[:2]) if results else "apply"))

    def _maker(self, statement: Statement) -> str | None:
        """The name of the program's function that made a statement."""
        node = _node(statement)
        return None if node is None else self._names.function_of(node)

    def _line(self, statement: Statement) -> tuple[int, bool]:
        """The line of the program that made a statement, and whether that ends its function."""
        node = _node(statement)
        return (0, False) if node is None else self._names.line_of(node)

    @staticmethod
    def _new_function(name: str, parameters: list[str], statements: list[Statement]) -> Function:
        return Function(name, None, [], [(p, None) for p in parameters], [], statements)


def _node(statement: Statement) -> Node | None:
    return statement.node or getattr(statement.item, "node", None)
