"""A random program for a seed."""

import random
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np

import tape_api
from engine.core.eager import EagerTensor
from engine.core.nest import flatten
from engine.core.value import as_array
from engine.core.variable import Variable
from tests.fuzz import rows
from tests.fuzz.programs import LAYOUTS, NAMESPACE, Body, Instruction, Leaf, Program, _lines
from tests.fuzz.recipes import CONTROL, FROM_IDIOMS, FROM_ROWS, RECIPES, SIMPLE, UPDATE, Recipe
from tests.fuzz.related import RELATED, move_some, related_sources
from tests.fuzz.singular import adversely

SHAPES = ((), (), (1,), (2,), (3,), (3,), (4,), (2, 3), (2, 3), (3, 2), (3, 3), (2, 2), (1, 1), (1, 3), (3, 1))
ODD_SHAPES = ((0,), (0, 3), (2, 0), (2, 1, 3), (1, 1, 1), (2, 2, 2), (1, 4), (5,), (2, 3, 1), (3, 3, 3), (20,))
DTYPES = ("float64",) * 5 + ("float32",) * 3 + ("complex128", "float16", "complex64")
KINDS = ("source",) * 5 + ("constant",) * 2 + ("array", "variable", "variable")
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, np.inf, -np.inf, np.nan, 1e-30, 1e30, 3.0)
LARGEST = 400


class Generator:
    """A program in the making.

    Attributes
    ----------
    env : dict
        The value that each name has, on a tape.
    scopes : list of list of str
        The names that can be used here: those of the program, then those of each body around.
    sinks : list of list of Instruction
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.rng = np.random.default_rng(seed)
        self.chance = lambda p: self.random.random() < p
        self.choice = self.random.choice
        self.dtype = self.choice(DTYPES)
        self.finite = self.chance(0.6)
        self.leaves: list[Leaf] = []
        self.kinds: dict[str, str] = {}
        self.env: dict[str, Any] = {}
        self.scopes: list[list[str]] = [[]]
        self.sinks: list[list[Instruction]] = [[]]
        self.count = 0
        self.known = self.choice(("all", "all", "first", "rank", "nothing"))
        self.shapes: Sequence[tuple[int, ...]] = ()

    def name(self, letter: str) -> str:
        """A name not used yet."""
        self.count += 1
        return f"{letter}{self.count}"

    # ---- leaves ------------------------------------------------------------------------------------------------------

    def leaf(self, array: np.ndarray, kinds: Sequence[str] = KINDS) -> str:
        """A new leaf that holds `array`."""
        kind = self.choice(kinds)
        if array.dtype.kind not in "fc" and kind == "variable":
            kind = "array"
        layout = self.choice(tuple(LAYOUTS)) if kind == "array" and self.chance(0.5) else "C"
        name = self.name({"source": "x", "constant": "c", "array": "n", "variable": "w"}[kind])
        known = self.known if array.dtype.kind in "fc" or self.chance(0.5) else "all"
        array = np.ascontiguousarray(array).reshape(array.shape)
        array.flags.writeable = False
        leaf = Leaf(name, kind, array, layout, known if kind == "source" else "all")
        self.leaves.append(leaf)
        self.kinds[name] = kind
        self.env[name] = (
            tape_api.Variable(array)
            if kind == "variable"
            else LAYOUTS[layout](array)
            if kind == "array"
            else EagerTensor(array)
        )
        # a leaf can be used everywhere
        self.scopes[0].append(name)
        return name

    def contents(self, shape: Sequence[int], dtype: str) -> np.ndarray:
        """Some numbers."""
        shape = tuple(shape)
        style = self.random.random()
        if style < 0.2 and not self.finite:
            a = self.rng.choice(SPECIAL, shape)
        elif style < 0.35:
            a = self.structured(shape)
        elif style < 0.5:
            a = self.rng.integers(-2, 3, shape).astype(float)
        elif style < 0.6:
            a = self.rng.uniform(0.5, 2, shape)
        else:
            a = self.rng.standard_normal(shape)
        if np.dtype(dtype).kind == "c" and self.chance(0.8):
            a = a + 1j * self.rng.integers(-2, 3, shape)
        with np.errstate(all="ignore"):
            return np.asarray(a, dtype)

    def structured(self, shape: tuple[int, ...]) -> np.ndarray:
        """What compilers know about: zeros, ones, an identity, a permutation, a diagonal."""
        kind = self.choice(("zeros", "ones", "eye", "flat eye", "permutation", "diagonal", "one", "negative zeros"))
        a = np.zeros(shape)
        if kind == "ones":
            a[...] = 1
        elif kind == "negative zeros":
            a[...] = -0.0
        elif kind == "one" and a.size:
            a.flat[self.random.randrange(a.size)] = self.choice((1.0, 2.0, -1.0))
        elif kind == "flat eye":
            n = int(a.size**0.5)
            a.flat[: n * n] = np.eye(n).ravel()
        elif len(shape) > 1 and kind != "zeros":
            n = min(shape[-2:])
            rows = self.rng.permutation(n) if kind == "permutation" else np.arange(n)
            a[..., rows, np.arange(n)] = self.rng.standard_normal(n) if kind == "diagonal" else 1
        return a

    def shape(self) -> tuple[int, ...]:
        """A small shape, or one of those that a program has chosen."""
        if self.shapes:
            return self.choice(self.shapes)  # type: ignore[no-any-return]
        return self.choice(ODD_SHAPES if self.chance(0.15) else SHAPES)  # type: ignore[no-any-return]

    # ---- what there is -----------------------------------------------------------------------------------------------

    def array(self, name: str) -> np.ndarray:
        """What a name stands for, as an array."""
        value = self.env[name]
        return (
            value
            if isinstance(value, (np.ndarray, np.generic))
            else as_array(value.read_value() if isinstance(value, Variable) else value)
        )

    def is_tensor(self, name: str) -> bool:
        """Whether a name stands for a tensor, not for an array."""
        return self.kinds.get(name) != "array"

    def is_variable(self, name: str) -> bool:
        """Whether a name stands for a variable."""
        return self.kinds.get(name) == "variable"

    def available(self, test: Callable[[np.ndarray], bool]) -> str | None:
        """A name in scope whose array passes a test, preferably a late one."""
        inner, outer = self.scopes[-1], [n for s in self.scopes[:-1] for n in s]
        for names in (inner, outer) if self.chance(0.7) else (outer, inner):
            found = [n for n in names if test(self.array(n))]
            if found:
                return found[-1] if self.chance(0.5) else self.choice(found)  # type: ignore[no-any-return]
        return None

    def pick(self, kind: str, before: Sequence[str]) -> str | None:
        """An operand of an idiom; see there for the kinds."""
        if kind == "y":
            return self.partner(before[0])
        if kind == "w":
            rows = self.array(before[0]).shape[-1]
            return self.leaf(self.contents((rows, self.choice((1, rows, rows, 2))), self.array(before[0]).dtype.name))
        if kind == "i":
            shape = self.array(before[0]).shape
            count = self.choice((shape[0] if shape else 1, 2, 3))
            values = self.rng.integers(0, max(shape[0] if shape else 3, 1), count)
            array = np.sort(values) if self.chance(0.5) else values
            return self.leaf(array.astype("int32"), ("array", "constant", "source"))
        least = {"v": 1, "m": 2}.get(kind, 0)
        wanted = "f" if kind == "r" else "fc"
        found = None
        if self.chance(0.85):
            found = self.available(lambda a: a.dtype.kind in wanted and a.ndim >= least)
        if found is None:
            if len(self.scopes) > 1 and self.scopes[-1]:
                return None
            dtype = self.dtype.replace("complex128", "float64").replace("complex64", "float32")
            shape = self.shape()
            while len(shape) < least:
                shape = self.shape()
            found = self.leaf(self.contents(shape, dtype if kind == "r" else self.dtype))
        return found

    def partner(self, name: str) -> str:
        """An operand for an elementwise op beside a value: of the same dtype, of a shape that goes with its."""
        a = self.array(name)
        if self.chance(0.6):
            found = self.available(lambda b: b.dtype == a.dtype and _broadcast(a.shape, b.shape))
            if found is not None:
                return found
        shape = self.choice((a.shape, a.shape, (), a.shape[-1:], (1,) * a.ndim, (*a.shape[:-1], 1)[-a.ndim or 1 :]))
        return self.leaf(self.contents(shape, a.dtype.name))

    def like(self, name: str) -> str:
        """A value of the same shape and dtype."""
        a = self.array(name)
        found = self.available(lambda b: b.dtype == a.dtype and b.shape == a.shape)
        return self.leaf(self.contents(a.shape, a.dtype.name)) if found is None or self.chance(0.2) else found

    def variable(self) -> str:
        """A variable."""
        found = [leaf.name for leaf in self.leaves if leaf.kind == "variable"]
        return self.choice(found) if found else self.leaf(self.contents(self.shape(), self.dtype), ("variable",))

    def operand(self, example: np.ndarray, shaped: bool) -> str:
        """An operand for an op of which an example is known: a value made to look like it, or the example."""
        if example.dtype.kind not in "fc":
            return self.leaf(example, ("array", "array", "constant", "source"))
        if self.chance(0.6):
            found = self.available(lambda a: a.dtype == example.dtype and (not shaped or a.size or not example.size))
            if found is not None:
                return self.fitted(found, example, shaped)
        if self.finite or self.chance(0.6):
            return self.leaf(example)
        return self.leaf(self.contents(example.shape, example.dtype.name))

    def fitted(self, name: str, example: np.ndarray, shaped: bool) -> str:
        """A value in the range, and the shape, of an example."""
        a = self.array(name)
        if shaped and a.shape != example.shape:
            count, shape = -(-example.size // a.size) if a.size else 1, list(example.shape)
            code = f"tf.reshape(tf.reshape({{0}}, [-1])[:{example.size}], {shape})"
            if count > 1:
                code = f"tf.reshape(tf.tile(tf.reshape({{0}}, [-1]), [{count}])[:{example.size}], {shape})"
            name = (self.emit("fit", code, [name]) and self.last()) or self.leaf(example)
        if example.dtype.kind == "f" and example.size and self.chance(0.7):
            low, high = np.round([example.min(), example.max()])
            code = f"{(low + high) / 2} + {(high - low) / 2 or 0.5} * tf.tanh({{0}})"
            name = (self.emit("squash", code, [name]) and self.last()) or name
        return name

    def last(self) -> str:
        """The name assigned to last."""
        return self.sinks[-1][-1].names[0]

    # ---- instructions ------------------------------------------------------------------------------------------------

    def emit(self, recipe: str, code: str, args: Sequence[str], bodies: Sequence[Body | None] = ()) -> bool:
        """Append an instruction, if it can be run."""
        if None in bodies:
            return False
        name = self.name("v")
        instruction = Instruction((name,), code, tuple(args), tuple(b for b in bodies if b is not None), recipe)
        try:
            if bodies:
                scope = {**NAMESPACE, **self.env, "tf": tape_api}
                exec("\n".join(_lines([instruction])), scope)
                result = scope[name]
            else:
                result = _expression(code, len(args))(tape_api, *[self.env[a] for a in args])
        except (TimeoutError, MemoryError):
            raise
        except Exception:  # noqa: BLE001 - whatever it raises, it is not for this program
            return False
        parts = flatten(result)
        if not parts or not all(isinstance(p, (EagerTensor, np.ndarray, np.generic)) for p in parts):
            return False
        if not isinstance(parts[0], EagerTensor):
            # no operand was a tensor
            code = f"tf.convert_to_tensor({code})" if len(parts) == 1 else f"map(tf.convert_to_tensor, flat({code}))"
            result = EagerTensor(np.asarray(result)) if len(parts) == 1 else result
        parts = [p if isinstance(p, EagerTensor) else EagerTensor(np.asarray(p)) for p in parts]
        if any(p._array.size > LARGEST for p in parts):
            return False
        if isinstance(result, EagerTensor):
            names: tuple[str, ...] = (name,)
        else:
            names = tuple(self.name("v") for _ in parts)
            code = f"flat({code})"
        self.env.update(zip(names, parts, strict=True))
        self.sinks[-1].append(Instruction(names, code, instruction.args, instruction.bodies, recipe))
        self.scopes[-1] += names
        return True

    @contextmanager
    def inside(self, params: Sequence[tuple[str, Any]]) -> Iterator[tuple[list[str], list[Instruction]]]:
        """A body with the given parameters, each with a value that it may have."""
        names = []
        for letter, value in params:
            if isinstance(value, tuple):
                rows = self.array(value[0])
                value = rows[value[1]] if len(rows) else np.zeros(rows.shape[1:], rows.dtype)
            elif isinstance(value, str):
                value = self.array(value)
            name = letter if letter == "i" else self.name(letter)
            self.env[name] = EagerTensor(np.asarray(value))
            names.append(name)
        sink: list[Instruction] = []
        self.scopes.append([n for n in names if n != "i"])
        self.sinks.append(sink)
        try:
            yield names, sink
        finally:
            self.scopes.pop()
            self.sinks.pop()

    def grow(self, steps: int) -> None:
        """Some instructions of the kind that may stand in a body."""
        for _ in range(steps):
            nested = len(self.scopes) < 3 and self.chance(0.06)
            self.choice(CONTROL if nested else SIMPLE).make(self)

    def body(
        self, params: Sequence[tuple[str, Any]], like: str | None, result: str = "{0}", same_dtype: bool = False
    ) -> Body | None:
        """A function inside the program; its result has shape and dtype of the parameter `like`, if one is named."""
        if any(value is None for _, value in params):
            return None
        with self.inside(params) as (names, sink):
            self.grow(self.random.randrange(1, 4))
            letters = [letter for letter, _ in params]
            wanted = names[letters.index(like)] if like else names[-1] if same_dtype else None
            found = self._result(names, wanted, shape=like is not None)
        args = (found, *names[:1]) if found else ()
        return Body(tuple(names), tuple(sink), result, args) if found else None

    def _result(self, names: Sequence[str], wanted: str | None, shape: bool) -> str | None:
        """What a body returns."""
        made = [n for n in self.scopes[-1] if n not in names]
        if wanted is None:
            everything = made or self.scopes[0]
            floats = [n for n in everything if self.array(n).dtype.name == self.dtype and self.is_tensor(n)]
            return floats[-1] if floats else None
        a = self.array(wanted)
        fits = [n for n in made if self.array(n).dtype == a.dtype and (not shape or self.array(n).shape == a.shape)]
        if fits:
            return fits[-1]
        others = [n for n in made if self.array(n).dtype == a.dtype]
        if others and self.emit("glue", "{0} * 0.5 + tf.reduce_sum({1})", [wanted, others[-1]]):
            return self.last()
        return self.last() if self.emit("glue", "{0} * 0.5", [wanted]) else None

    def custom(self, x: str | None) -> Body | None:
        """A function with a gradient of its own: ``body(a) -> result, gradient``."""
        if x is None:
            return None
        with self.inside([("a", x)]) as (names, sink):
            self.grow(self.random.randrange(1, 3))
            found = self._result(names, names[0], shape=True)
            if found is None:
                return None
            gradient = self._rule(found)
        return gradient and Body(tuple(names), tuple(sink), "{0}, {b0}", (found,), (gradient,))

    def _rule(self, result: str) -> Body:
        """A gradient that is linear in the cotangent of `result`, as gradients are."""
        with self.inside([("d", result)]) as ((d,), sink):
            # what it is multiplied by does not depend on it
            self.scopes[-1].remove(d)
            self.grow(self.random.randrange(3))
            like = self.array(d)
            every = [n for scope in self.scopes for n in scope if self.array(n).dtype == like.dtype]
            scalars = [n for n in every if self.array(n).shape in ((), like.shape)]
            code = "{0} * {1}" if scalars else "{0} * tf.reduce_sum({1})"
            factor = self.choice(scalars or every or [d])
            if self.chance(0.2) or not self.emit("rule", code, [d, factor]):
                return Body((d,), (), "{0} * 2.0", (d,))
            return Body((d,), tuple(sink), "{0}", (self.last(),))


def _broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    return all(m == n or 1 in (m, n) for m, n in zip(a[::-1], b[::-1], strict=False))


@lru_cache(maxsize=4096)
def _expression(code: str, count: int) -> Callable[..., Any]:
    args = [f"a{i}" for i in range(count)]
    return eval(f"lambda {', '.join(['tf', *args])}: {code.format(*args)}", dict(NAMESPACE))  # type: ignore[no-any-return]


# ---- what to do with it ----------------------------------------------------------------------------------------------

FURTHER_KEYS = {
    "jvp": 3,
    "jacobian": 3,
    "csr": 1,
    "forward": 1,
    "reverse": 1,
    "chunks": 1,
    "batch_jacobian": 2,
    "order2": 4,
    "hessian": 2,
    "hvp": 1,
    "hessian_diag": 1,
}
FURTHER_WAYS = {
    "graph": 6,
    "unknown": 5,
    "passes": 4,
    "replay": 5,
    "watched": 3,
    "function": 1,
    "traced": 4,
    "recorded": 4,
    "thread": 0.5,
    "plan": 1.5,
    "again": 3,
    "executor": 0.2,
    "differences": 2,
    "single": 1,
    "late": 4,
}
"""How often each is tried; see `tests.fuzz.ways`."""
HOW_MANY_KEYS = (0,) * 14 + (1,) * 5 + (2,)
HOW_MANY_WAYS = (1,) * 7 + (2, 2, 3)
"""Many programs in few ways find more than few programs in many ways."""


def _some(rng: random.Random, weights: dict[str, float], count: int) -> tuple[str, ...]:
    chosen = rng.choices(list(weights), list(weights.values()), k=count)
    return tuple(dict.fromkeys(chosen))


def generate(seed: int, only: str | Recipe | None = None) -> Program:
    """The program of a seed; with `only`, one that has this recipe in it (or all that have it in their name)."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return adversely(_generate(seed, only), seed)


def _generate(seed: int, only: str | Recipe | None) -> Program:
    g = Generator(seed)
    wanted = [only] if isinstance(only, Recipe) else [r for r in RECIPES if only is not None and only in r.name]
    if only is not None and not wanted:
        raise ValueError(f"no recipe is called {only!r}")
    # with numbers of their own, such programs leave those of other seeds as they are
    further = random.Random(~seed)
    related = further.random() < RELATED
    if related:
        move_some(g, further)
    own = random.Random(f"rows {seed}")
    of_rows = own.random() < rows.SHARE
    g.shapes = rows.shapes_of(own) if of_rows else ()
    steps = g.random.choice((1, 2, 2, 3, 3, 4, 5, 6)) * (1 + of_rows) + len(g.sinks[0])
    for i in range(4 * steps):
        if len(g.sinks[0]) >= steps:
            break
        if of_rows and own.random() < 0.9:
            own.choice(rows.RECIPES).make(g)
            continue
        pool = g.random.choices((FROM_ROWS, FROM_IDIOMS, CONTROL, [UPDATE]), (5, 5, 1.5, 0.4))[0]
        g.choice(wanted if wanted and i < 2 * steps and i % 2 == 0 else pool).make(g)
    return _asked(g, seed, further if related else None)


def _asked(g: Generator, seed: int, related: random.Random | None) -> Program:
    """What is asked of what has been made."""
    made = [n for i in g.sinks[0] for n in i.names]
    used = {a for i in _all(g.sinks[0]) for a in i.args} | {a for b in _all_bodies(g.sinks[0]) for a in b.args}
    # what nobody uses; and what is updated, so that a session runs the update
    targets = [n for n in made if n not in used and g.array(n).dtype.kind in "fc"] or made[-1:]
    targets += [i.names[0] for i in g.sinks[0] if i.recipe.startswith("assign")]
    if made and g.chance(0.15):
        targets.append(g.choice(made))
    leaves = tuple(leaf for leaf in g.leaves if leaf.name in used)
    sources = [x.name for x in leaves if x.kind != "array" and x.value.dtype.kind in "fc"]
    if len(sources) > 1 and g.chance(0.5):
        sources = g.random.sample(sources, g.random.randint(1, len(sources)))
    if related is not None:
        sources = related_sources(g, sources, related)
    keys = _some(g.random, FURTHER_KEYS, g.choice(HOW_MANY_KEYS)) if sources else ()
    ways = _some(g.random, FURTHER_WAYS, g.choice(HOW_MANY_WAYS))
    return Program(
        leaves, tuple(g.sinks[0]), tuple(dict.fromkeys(targets)), tuple(sources), keys, ways, g.chance(0.4), seed
    )


def _all(instructions: Sequence[Instruction]) -> Iterator[Instruction]:
    yield from instructions
    for b in _all_bodies(instructions):
        yield from b.instructions


def _all_bodies(instructions: Sequence[Instruction]) -> Iterator[Body]:
    pending = [b for i in instructions for b in i.bodies]
    while pending:
        body = pending.pop()
        yield body
        pending += [*body.bodies, *[b for i in body.instructions for b in i.bodies]]
