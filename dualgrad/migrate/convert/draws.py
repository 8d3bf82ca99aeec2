"""Operations that draw: which of them need a function of their own, so that each has a stream of random numbers.

In a graph each operation has one. Eager calls with the same kernel and seeds share one, as in TensorFlow 2; but a call
in the code of a ``tf.function`` has one of its own. So of several operations with the same seeds the first is written
as a call, and of each other one a function is made at the top of the module that draws for it alone, wherever the
module draws for this operation. So is of one that has another seed of the program than the functions will see.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from dualgrad.migrate.convert.items import DrawItem
from dualgrad.migrate.convert.literals import literal, literal_of
from dualgrad.migrate.convert.observed_run import Draw
from dualgrad.migrate.convert.spelling import path
from dualgrad.migrate.recorder import draw
from engine.core.trace import constant

Writer = Callable[[Any, DrawItem], ast.expr | None]


@dataclass
class Streams:
    """The streams of the modules that one program becomes.

    Attributes
    ----------
    seed : int or None
        Of the program, as the functions see it when they run: that of the graph that comes last.
    holders : dict
        By kernel and seeds, the operation whose draws are written as calls.
    own : dict
        By identity of a draw, the name of its function.
    """

    seed: int | None
    holders: dict[Any, Draw] = field(default_factory=dict)
    own: dict[int, str] = field(default_factory=dict)

    def is_apart(self, call: Draw, initial: bool) -> bool:
        """Whether a draw needs a function of its own; `initial` if it is only made once, at the top of a module."""
        node = node_of(call)
        if node is None or call.seed is None:
            return False
        pair = draw(node)[0].node.params["value"].tolist()
        holder = self.holders.setdefault((node.op.type, *pair), call)
        return not initial and (holder is not call or call.program != self.seed)


def node_of(call: Draw) -> Any:
    """The operation that draws; None if a call makes none, such as a dropout that drops nothing."""
    return next((node for node in call.graph.nodes[call.first : call.last] if draw(node)), None)


class _Parameters:
    """Stands for the body of a function that has what a call is given as parameters; their names and specs."""

    is_initial = False

    def __init__(self) -> None:
        self.given: list[Any] = []
        self.module = self

    def operand(self, x: Any, literals: bool) -> ast.expr:
        """A parameter, or a small constant as it is."""
        known = literal_of(x) if x.node.op is constant else None
        return self.variable(x) if known is None else literal(known)

    def variable(self, x: Any) -> ast.expr:
        """A parameter."""
        if not any(x is other for other in self.given):
            self.given.append(x)
        return ast.Name(f"x{next(i for i, other in enumerate(self.given) if other is x)}")

    def names(self) -> list[str]:
        """The names of the parameters."""
        return [f"x{i}" for i in range(len(self.given))]


def function_of(item: DrawItem, written: Writer) -> tuple[ast.expr, list[Any]] | None:
    """The expression of a function that draws for one operation alone, and what it takes; None without a spelling."""
    inside = _Parameters()
    call = written(inside, item)
    if call is None:
        return None
    arguments = ast.arguments([], [ast.arg(name) for name in inside.names()], None, [], [], None, [])
    specs: list[ast.expr] = []
    for x in inside.given:
        shape = None if x._aval.shape is None else list(x._aval.shape)
        specs.append(ast.Call(path("tf.TensorSpec"), [literal(shape), literal(x.dtype)], []))
    traced = ast.Call(path("tf.function"), [ast.Lambda(arguments, call)], [])
    return ast.Call(ast.Attribute(traced, "get_concrete_function", ast.Load()), specs, []), inside.given
