"""Programs as data: leaves, instructions, bodies of control flow; and the Python text of each.

The text is what runs: a program is printed, compiled, and called with either front end as `tf`. So what a failure
prints is what failed.
"""

from __future__ import annotations

import functools
import importlib
import textwrap
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from engine.core.nest import flatten
from tests.op_table import OPS, ROWS

BY_ID = {row.id: row for row in ROWS}
MODULES = {op.module.rpartition(".")[2]: importlib.import_module(op.module) for op in OPS.values()}
"""The modules that define ops, by the names under which programs refer to them."""


# ---- what programs may call beside the front end ---------------------------------------------------------------------


def row(name: str) -> Callable[..., Any]:
    """The function of a row of the op table."""
    return BY_ID[name].apply


def flat(result: Any) -> list[Any]:
    """The leaves of a result with several parts."""
    return flatten(result)


def function(tf: Any, body: Callable[..., Any]) -> Callable[..., Any]:
    """`body` as a ``tf.function``, where there is such a thing."""
    if hasattr(tf, "function"):
        return tf.function(body)  # type: ignore[no-any-return]
    return lambda *args: tf.convert_to_tensor(body(*map(tf.convert_to_tensor, args)))


def vectorized_map(tf: Any, body: Callable[..., Any], rows: Any) -> Any:
    """``tf.vectorized_map``, which TensorFlow 1 does not have."""
    return getattr(tf, "vectorized_map", tf.map_fn)(body, rows)


def updated(tf: Any, variable: Any, method: str, value: Any) -> Any:
    """What a variable holds after an update."""
    with tf.control_dependencies([getattr(variable, method)(value)]):
        return tf.identity(variable.read_value())


def where(tf: Any, condition: Any, x: Any, y: Any) -> Any:
    """``tf.where`` of TensorFlow 2, which broadcasts; that of TensorFlow 1 takes a vector to choose rows."""
    return getattr(tf, "where_v2", tf.where)(condition, x, y)


HELPERS = {f.__name__: f for f in (row, flat, function, vectorized_map, updated, where)}
NAMESPACE: dict[str, Any] = {**MODULES, **HELPERS, "np": np, "inf": np.inf, "nan": np.nan}


# ---- the parts -------------------------------------------------------------------------------------------------------


def array_text(a: np.ndarray) -> str:
    """An array as an expression that makes it again, to the bit but for the payload of NaNs."""
    if a.size > 3 and a.ndim and a.dtype.kind != "c" and (a == a.flat[0]).all() and not np.signbit(np.real(a.flat[0])):
        return f"np.full({a.shape}, {a.flat[0].item()!r}, {a.dtype.name!r})"
    if a.size == 0:
        return f"np.zeros({a.shape}, {a.dtype.name!r})"
    if a.dtype.kind == "c":
        # Python's complex literals lose signs of zero and what stands beside infinities
        pairs = np.stack([a.real, a.imag], -1)
        return f"{array_text(pairs)}.view({a.dtype.name!r})[..., 0]"
    return f"np.array({a.tolist()!r}, {a.dtype.name!r})"


LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "C": lambda a: a,
    "F": lambda a: np.asarray(a, order="F"),
    "strided": lambda a: np.repeat(a, 2, -1)[..., ::2] if a.ndim else a,
    "reversed": lambda a: np.flip(np.flip(a).copy()),
    "broadcast": lambda a: (
        np.broadcast_to(a.flat[0], a.shape)
        if a.size and all(x == a.flat[0] or x != x for x in a.flat)
        else np.asfortranarray(a)
    ),
}
"""How the elements of an array may lie in memory."""


@dataclass(frozen=True, eq=False)
class Leaf:
    """A value that a program starts from.

    Attributes
    ----------
    name : str
    kind : str
        ``source`` (fed, in a graph), ``constant`` (a tensor made beforehand), ``array`` (of NumPy), ``variable``.
    value : array
    layout : str
        How an array lies in memory, of `LAYOUTS`.
    known : str
        What a graph knows of a source's shape: ``all``, ``first`` (not), ``rank`` (alone), ``nothing``.
    """

    name: str
    kind: str
    value: np.ndarray
    layout: str = "C"
    known: str = "all"

    @property
    def static_shape(self) -> Any:
        """The shape of the placeholder."""
        shape = self.value.shape
        return {"all": shape, "first": (None, *shape[1:]) if shape else (), "rank": (None,) * len(shape)}.get(
            self.known
        )

    @property
    def text(self) -> str:
        """The array as Python."""
        text = array_text(self.value)
        return text if self.layout == "C" else f"LAYOUTS[{self.layout!r}]({text})"

    def __repr__(self) -> str:
        more = "".join(f", {k}={v!r}" for k, v, d in self._options() if v != d)
        return f"Leaf({self.name!r}, {self.kind!r}, {array_text(self.value)}{more})"

    def _options(self) -> list[tuple[str, str, str]]:
        return [("layout", self.layout, "C"), ("known", self.known, "all")]


@dataclass(frozen=True)
class Body:
    """A function inside a program.

    Attributes
    ----------
    params : tuple of str
    instructions : tuple of Instruction
    result : str
        What is returned; ``{0}`` stands for ``args[0]``, ``{b0}`` for the name of ``bodies[0]``.
    args : tuple of str
    bodies : tuple of Body
    """

    params: tuple[str, ...]
    instructions: tuple[Instruction, ...]
    result: str
    args: tuple[str, ...] = ()
    bodies: tuple[Body, ...] = ()


@dataclass(frozen=True)
class Instruction:
    """One line of a program (with the functions that stand before it).

    Attributes
    ----------
    names : tuple of str
        What it assigns to.
    code : str
        An expression; ``{0}`` stands for ``args[0]``, ``{b0}`` for the name of ``bodies[0]``.
    args : tuple of str
    bodies : tuple of Body
    recipe : str
        What made it.
    """

    names: tuple[str, ...]
    code: str
    args: tuple[str, ...] = ()
    bodies: tuple[Body, ...] = ()
    recipe: str = ""


@dataclass(frozen=True)
class Program:
    """A program and what is asked of it.

    Attributes
    ----------
    leaves : tuple of Leaf
    instructions : tuple of Instruction
    targets : tuple of str
    sources : tuple of str
        With respect to what the floating ones of `targets` are differentiated: leaves, or what is computed from them;
        the same more than once, or one computed from another, too.
    keys : tuple of str
        What to compute, of `tests.fuzz.execute.KEYS`, beside values and gradients.
    ways : tuple of str
        How, of `tests.fuzz.ways.WAYS`, beside a plain tape.
    weighted : bool
        Whether targets have cotangents other than ones.
    seed : int
    """

    leaves: tuple[Leaf, ...]
    instructions: tuple[Instruction, ...]
    targets: tuple[str, ...]
    sources: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    ways: tuple[str, ...] = ()
    weighted: bool = False
    seed: int = field(default=0, compare=False)

    @property
    def computed(self) -> tuple[str, ...]:
        """The sources that are no leaves."""
        leaves = {leaf.name for leaf in self.leaves}
        return tuple(dict.fromkeys(name for name in self.sources if name not in leaves))

    @property
    def results(self) -> tuple[str, ...]:
        """What the function returns: the targets, and the sources that it computes."""
        return self.targets + self.computed

    @property
    def watched(self) -> tuple[str, ...]:
        """The leaves that a tape must watch: those that are sources, or that sources may be computed from."""
        leaves = [x.name for x in self.leaves if x.kind != "array" and x.value.dtype.kind in "fc"]
        return tuple(leaves) if self.computed else self.sources

    def parted(self, results: Sequence[Any], leaves: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
        """The targets and the sources, of what the function returned."""
        count = len(self.targets)
        named = {**leaves, **dict(zip(self.computed, results[count:], strict=True))}
        return list(results[:count]), [named[name] for name in self.sources]

    @functools.cached_property
    def text(self) -> str:
        """The program as a function of the front end and its leaves that returns its `results`."""
        head = ", ".join(["tf", *[leaf.name for leaf in self.leaves]])
        lines = [*_lines(self.instructions), f"return [{', '.join(self.results)}]"]
        return f"def program({head}):\n" + textwrap.indent("\n".join(lines), "    ") + "\n"

    @functools.cached_property
    def recipes(self) -> list[str]:
        """What its instructions were made from, those in bodies included."""
        return sorted({i.recipe for i in everywhere(self.instructions)})

    def has(self, names: Collection[str]) -> bool:
        """Whether a part of some recipe's name is among `names`."""
        return any(name in recipe for recipe in self.recipes for name in names)

    def leads_through(self, recipes: Collection[str]) -> bool:
        """Whether a way from a source to a target leads through an instruction made from one of `recipes`."""
        live, needed = set(self.sources), set(self.targets)
        for i in self.instructions:
            if not live.isdisjoint(taken(i)):
                live.update(i.names)
                # an update changes what the variable holds from there on
                live.update(i.args[:1] if i.recipe.startswith("assign") else ())
        for i in reversed(self.instructions):
            if not needed.isdisjoint((*i.names, *(i.args[:1] if i.recipe.startswith("assign") else ()))):
                needed |= taken(i)
                if not live.isdisjoint(taken(i)) and not {j.recipe for j in everywhere([i])}.isdisjoint(recipes):
                    return True
        return False

    def with_values(self, values: Mapping[str, np.ndarray]) -> Program:
        """The same program with other values of its leaves."""
        return replace(
            self, leaves=tuple(replace(x, value=values[x.name]) if x.name in values else x for x in self.leaves)
        )


def everywhere(instructions: Sequence[Instruction]) -> Iterator[Instruction]:
    """All instructions, those in bodies included."""
    for i in instructions:
        yield i
        yield from _within(i.bodies)


def taken(instruction: Instruction) -> set[str]:
    """The names that an instruction uses, its bodies included."""
    found = set(instruction.args)
    pending = list(instruction.bodies)
    while pending:
        body = pending.pop()
        found.update(body.args)
        for i in body.instructions:
            found |= taken(i)
        pending += body.bodies
    return found


def _within(bodies: Sequence[Body]) -> Iterator[Instruction]:
    for body in bodies:
        yield from everywhere(body.instructions)
        yield from _within(body.bodies)


def _lines(instructions: Sequence[Instruction]) -> Iterator[str]:
    for i in instructions:
        yield from _bodies(i.bodies, i.names[0])
        bodies = {f"b{k}": f"{i.names[0]}_f{k}" for k in range(len(i.bodies))}
        yield f"{', '.join(i.names)}{',' * (i.code.startswith('flat(') and len(i.names) == 1)} = " + i.code.format(
            *i.args, **bodies
        )


def _bodies(bodies: Sequence[Body], owner: str) -> Iterator[str]:
    for k, body in enumerate(bodies):
        name = f"{owner}_f{k}"
        inner = {f"b{j}": f"{name}_f{j}" for j in range(len(body.bodies))}
        yield f"def {name}({', '.join(body.params)}):"
        result = body.result.format(*body.args, **inner)
        for line in (*_lines(body.instructions), *_bodies(body.bodies, name), f"return {result}"):
            yield textwrap.indent(line, "    ")


@functools.lru_cache(maxsize=64)
def _compiled(text: str) -> Callable[..., Any]:
    scope = dict(NAMESPACE)
    exec(compile(text, "<program>", "exec"), scope)
    return scope["program"]  # type: ignore[no-any-return]


def compiled(program: Program) -> Callable[..., Any]:
    """The program as a function."""
    return _compiled(program.text)


# ---- text to paste ---------------------------------------------------------------------------------------------------

_GRAPH_LEAF = {
    "source": "tf.placeholder({dtype!r}, {shape}, name={name!r})",
    "constant": "tf.constant({text})",
    "array": "{text}",
    "variable": "tf.Variable({text})",
}
_TAPE_LEAF = {**_GRAPH_LEAF, "source": "tf.constant({text})"}


def pasteable(program: Program, front_end: str) -> str:
    """A whole program for one front end that prints the values of targets and gradients."""
    body = program.text
    used = [m for m in MODULES if f"{m}." in body]
    helpers = [h for h in HELPERS if f"{h}(" in body] + ["LAYOUTS"] * any(x.layout != "C" for x in program.leaves)
    lines = [f"from {MODULES[m].__name__.rpartition('.')[0]} import {m}" for m in used]
    lines += [f"from tests.fuzz.programs import {', '.join(helpers)}"] if helpers else []
    head = ["import numpy as np", "from numpy import inf, nan", f"import {front_end} as tf", *lines]
    kinds = _GRAPH_LEAF if front_end == "graph_api" else _TAPE_LEAF
    leaves = [
        f"{x.name} = " + kinds[x.kind].format(text=x.text, dtype=x.value.dtype.name, shape=x.static_shape, name=x.name)
        for x in program.leaves
    ]
    call = f"ys = program({', '.join(['tf', *[x.name for x in program.leaves]])})"
    made = [f"*ys, {', '.join(program.computed)} = ys"] * bool(program.computed)
    sources = f"[{', '.join(program.sources)}]"
    if front_end == "graph_api":
        feeds = ", ".join(f"{x.name}: {x.text}" for x in program.leaves if x.kind == "source")
        tail = [
            *leaves,
            call,
            *made,
            f"gs = tf.gradients(ys, {sources}, [tf.ones_like(y) for y in ys])",
            "with tf.Session() as session:",
            "    session.run(tf.global_variables_initializer())",
            f"    print(session.run([ys, [tf.convert_to_tensor(g) for g in gs if g is not None]], {{{feeds}}}))",
        ]
    else:
        tail = [
            *leaves,
            "with tf.GradientTape() as tape:",
            f"    tape.watch([{', '.join(program.watched)}])",
            f"    {call}",
            *made,
            "print(ys)",
            f"print(tape.gradient(ys, {sources}))",
        ]
    return "\n".join([*head, "", "", body, "", *tail, ""])
