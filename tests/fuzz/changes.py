"""What is kept between calls: call, change one thing, call again, compare with a process that has never called before.

``python -m tests.fuzz.changes --n 1000`` makes a world of things that functions look at (arrays, variables, globals,
cells, attributes, arguments, the environment), and objects that outlive a call, each of which looks at one of them. A
step asks some objects, changes one thing in the world, and asks them again: in this thread or in another one. A child
of a process that has asked nobody makes the same objects in the same world. Whatever is not the same to the bit is
printed, and the exit status is 1.

A ``tf.function`` sees variables and arguments only: what else it reads is as it was when it was traced.
"""

from __future__ import annotations

import argparse
import functools
import gc
import importlib
import os
import pickle
import random
import signal
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from scipy.integrate import solve_bvp
from scipy.sparse.linalg import LinearOperator

import graph_api as g
import tape_api as tf
from dualgrad.solvers import implicit, linear, ode, quadrature
from engine.runtime.cache import clear_caches

# ---- the world -------------------------------------------------------------------------------------------------------

RATE: Any = 1.0
ARRAY = np.ones(1)
OTHER = np.ones(1)
HELD: dict[str, Any] = {"k": 1.0, "deep": [np.ones(1)]}
LIST = [1.0]
THING = SimpleNamespace(rate=1.0)
NAME = "DUALGRAD_RATE"
VARIABLE = tf.Variable([1.0], dtype=tf.float64)


class Model:
    """An object whose methods are asked."""

    rate = 1.0

    def scaled(self, u: Any) -> Any:
        return u * self.rate


MODEL = Model()


def by_default(u: Any, rate: float = 1.0) -> Any:
    return u * rate


def by_keyword(u: Any, *, rate: float = 1.0) -> Any:
    return u * rate


def by_attribute(u: Any) -> Any:
    return u * by_attribute.rate  # type: ignore[attr-defined]


def by_code(u: Any) -> Any:
    return u * 1.0


RATES = (1.0, 2.5, 4.0)
_CODES = {rate: compile(f"def by_code(u): return u * {rate!r}", "<code>", "exec") for rate in RATES}


def _cell() -> tuple[Callable[[Any], Any], Callable[[float], None]]:
    rate = 1.0

    def reads(u: Any) -> Any:
        return u * rate

    def sets(to: float) -> None:
        nonlocal rate
        rate = to

    return reads, sets


by_cell, set_cell = _cell()
times_deep = functools.partial(np.multiply, HELD["deep"][0])
get = HELD.get

READS: dict[str, Callable[[Any], Any]] = {
    "global": lambda u: u * RATE,
    "array": lambda u: u * ARRAY,
    "array of a dict": lambda u: times_deep(u),
    "array in place of another": lambda u: u * OTHER[0],
    "dict": lambda u: u * HELD["k"],
    "method of a dict": lambda u: u * get("k"),
    "list": lambda u: u * LIST[0],
    "attribute": lambda u: u * THING.rate,
    "class": lambda u: u * Model.rate,
    "method": MODEL.scaled,
    "environment": lambda u: u * float(os.environ[NAME]),
    "default": by_default,
    "keyword": lambda u: by_keyword(u),
    "function": lambda u: by_attribute(u),
    "code": lambda u: by_code(u),
    "cell": by_cell,
    "variable": lambda u: u * VARIABLE,
}


class World:
    """All that is changed.

    Attributes
    ----------
    rates : dict of str to float
        By what is read.
    x : array
        The point, which is changed in place, too.
    """

    def __init__(self) -> None:
        self.rates = dict.fromkeys([*READS, "size", "dtype", "layout", "point", "argument"], 1.0)
        self.x: Any = np.ones(3)
        self.argument = np.ones(3)
        self.set(**self.rates)

    def set(self, **rates: float) -> None:
        """Change some of it."""
        global RATE, OTHER
        self.rates |= rates
        for name, rate in rates.items():
            if name == "global":
                RATE = rate
            elif name == "array":
                ARRAY[0] = rate
            elif name == "array of a dict":
                HELD["deep"][0][0] = rate
            elif name == "array in place of another":
                # another size and another dtype
                OTHER = np.full(int(2 * rate), rate, np.float32 if rate % 1 else np.float64)
            elif name in ("dict", "method of a dict"):
                self.rates |= {"dict": rate, "method of a dict": rate}
                HELD["k"] = rate
            elif name == "list":
                LIST[0] = rate
            elif name == "attribute":
                THING.rate = rate
            elif name in ("class", "method"):
                self.rates |= {"class": rate, "method": rate}
                Model.rate = rate
            elif name == "environment":
                os.environ[NAME] = str(rate)
            elif name == "default":
                by_default.__defaults__ = (rate,)
            elif name == "keyword":
                by_keyword.__kwdefaults__ = {"rate": rate}
            elif name == "function":
                by_attribute.rate = rate  # type: ignore[attr-defined]
            elif name == "code":
                by_code.__code__ = next(c for c in _CODES[rate].co_consts if hasattr(c, "co_code"))
            elif name == "cell":
                set_cell(rate)
            elif name == "variable":
                VARIABLE.assign([rate])
        if not {"size", "dtype", "layout"}.isdisjoint(rates):
            self.x, self.argument = np.ones(0), np.ones(0)
        if not {"size", "dtype", "layout", "point", "argument"}.isdisjoint(rates):
            self._place()

    def _place(self) -> None:
        size = 1 + int(self.rates["size"]) % 4
        dtype = np.float32 if self.rates["dtype"] % 1 else np.float64
        if self.x.shape != (size,):
            step = 2 if self.rates["layout"] % 1 else 1
            self.x = np.zeros(step * size, dtype)[::step]
            self.argument = np.zeros(size)
        self.x[:] = self.rates["point"] / (1.0 + np.arange(size))
        self.argument[:] = self.rates["argument"]


WORLD = World()

# ---- objects that outlive a call -------------------------------------------------------------------------------------

Ask = Callable[[], Any]


class Kind(NamedTuple):
    """A kind of object: ``make(read)`` gives a function that asks it; what it reads, and what it is asked with."""

    make: Callable[[Callable[[Any], Any]], Ask]
    reads: Sequence[str]
    also: Sequence[str]


KINDS: dict[str, Kind] = {}
GIVEN = ("size", "dtype", "layout", "point", "argument")
"""What objects are asked with."""
LIVE = ("variable",)
"""What a function that is traced once reads anew each time."""


def kind(name: str, reads: Sequence[str] = tuple(READS), also: Sequence[str] = ()) -> Callable[[Any], Any]:
    """A kind of object, which may look at some things."""

    def noted(make: Any) -> Any:
        KINDS[name] = Kind(make, reads, also)
        return make

    return noted


def _long(u: Any) -> Any:
    """What makes a function long enough to be traced."""
    s = u
    for _ in range(60):
        s = tf.sin(s) - 0.5 * s
    return s


def _squares(read: Any, is_long: bool) -> Any:
    return lambda u: read(u * u) + (_long(u) if is_long else u)


def _for_scipy(name: str, is_long: bool, format: Any) -> None:
    def values(read: Any, what: str) -> Ask:
        made: dict[int, Any] = {}

        def ask() -> Any:
            x = WORLD.x.astype(np.float64)
            p = made.get(x.size)
            if p is None:
                p = made[x.size] = tf.for_scipy(_squares(read, is_long), np.ones(x.size), format=format)
            return getattr(p, what)(x)

        return ask

    def scalar(read: Any, what: str) -> Ask:
        made: dict[int, Any] = {}
        squares = _squares(read, is_long)

        def ask() -> Any:
            x = WORLD.x.astype(np.float64)
            p = made.get(x.size)
            if p is None:
                p = made[x.size] = tf.for_scipy(lambda u: tf.reduce_sum(squares(u)), np.ones(x.size))
            return p.hessp(x, x) if what == "hessp" else getattr(p, what)(x)

        return ask

    for what in ("fun", "jac", "fun_and_jac"):
        kind(f"for_scipy {name} {what}")(functools.partial(values, what=what))
    if format == "dense":
        for what in ("fun", "grad", "hess", "hessp"):
            kind(f"for_scipy of a scalar {name} {what}")(functools.partial(scalar, what=what))


for _name, _is_long, _format in (
    ("short", False, "dense"),
    ("long", True, "dense"),
    ("sparse", False, "csr"),
    ("as an operator", False, "operator"),
):
    _for_scipy(_name, _is_long, _format)


@kind("for_scipy with arguments", ("dict", "array", "variable", "environment"), ("dict", "array of a dict"))
def _with_arguments(read: Any) -> Ask:
    p = tf.for_scipy(lambda u, a, d, f: u[0] ** 2 * a[0] * d["k"] * d["deep"][0][0] * f(u[0]), np.ones(1))

    def ask() -> Any:
        given = np.ones(1), WORLD.argument, HELD, read
        return [p.jac(*given), p.fun(*given), p.jac(*given)]

    return ask


@kind("for_ode")
def _for_ode(read: Any) -> Ask:
    p = tf.for_ode(lambda t, y: read(y * y) * t, np.ones(2))
    return lambda: [p.jac(2.0, np.ones(2)), p.fun(2.0, np.ones(2)), p.jac(3.0, np.ones(2))]


@kind("for_bvp")
def _for_bvp(read: Any) -> Ask:
    p = tf.for_bvp(lambda x, y: [y[1], -read(y[:1])[0]], lambda ya, yb: [ya[0], yb[0] - 1.0])
    x = np.linspace(0.0, 1.0, 4)
    return lambda: [p.fun_jac(x, np.ones((2, 4))), solve_bvp(p.fun, p.bc, x, np.zeros((2, 4))).sol(0.5)]


@kind("solvers")
def _solvers(read: Any) -> Ask:
    def ask() -> Any:
        a = float(WORLD.argument[0])
        return [
            implicit.root(lambda x: read(x * x) - a, np.ones(1)).x,
            implicit.minimize(lambda x: tf.reduce_sum(read((x - a) ** 2) + x), np.ones(1)).x,
            quadrature.quad(lambda t: tf.reduce_sum(read(tf.reshape(t, [1])) ** 2), 0.0, a)[0],
            ode.solve_ivp(lambda t, y: -read(y), (0.0, 1.0), np.ones(1), t_eval=[a / 10]).y,
            linear.cg(lambda v: read(v) + v, np.ones(1))[0],
        ]

    return ask


@kind("transforms")
def _transforms(read: Any) -> Ask:
    def total(u: Any) -> Any:
        return tf.reduce_sum(read(u * u * u))

    t = tf.transforms
    made = t.grad(total), t.jacrev(_squares(read, False)), t.jacfwd(_squares(read, False)), t.hessian(total)
    mapped = t.vmap(lambda x: tf.reduce_sum(read(tf.reshape(x, [1]) ** 2)))
    return lambda: [*[f(WORLD.x.copy()) for f in made], mapped(WORLD.x.copy())]


@kind("tape")
def _tape(read: Any) -> Ask:
    def ask() -> Any:
        x = tf.constant(WORLD.x)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = _squares(lambda u: tf.cast(read(tf.cast(u, tf.float64)), u.dtype), False)(x)
        return [tape.gradient(y, x), tape.jacobian(y, x), y]

    return ask


@kind("tf.function", LIVE)
def _function(read: Any) -> Ask:
    f = tf.function(lambda x, a: tf.cast(x, tf.float64) * read(a))
    return lambda: f(tf.constant(WORLD.x), WORLD.argument)


@kind("tf.function with Python arguments", LIVE, ("dict", "array of a dict"))
def _function_of_numbers(read: Any) -> Ask:
    f = tf.function(lambda x, a, d: read(x) * a * d["k"] * d["deep"][0])
    return lambda: f(tf.constant(WORLD.x.astype(np.float64)), float(WORLD.argument[0]), HELD)


@kind("tf.function of open shapes", LIVE)
def _open_function(read: Any) -> Ask:
    def gradient(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = read(x * x)
        return y, tape.gradient(y, x)

    f = tf.function(gradient, input_signature=[tf.TensorSpec([None], tf.float64)])
    h = tf.function(gradient, reduce_retracing=True)
    return lambda: [f(WORLD.x.astype(np.float64)), h(tf.constant(WORLD.x.astype(np.float64)))]


@kind("tf.function of a method", LIVE)
def _method(read: Any) -> Ask:
    class Owner:
        @tf.function
        def call(self, x: Any) -> Any:
            return read(x) * self.weight  # type: ignore[attr-defined]

    owner = Owner()
    owner.weight = tf.Variable([1.0], dtype=tf.float64)  # type: ignore[attr-defined]

    def ask() -> Any:
        owner.weight.assign(WORLD.argument[:1])  # type: ignore[attr-defined]
        return owner.call(tf.constant(WORLD.x.astype(np.float64)))

    return ask


@kind("tf.function made anew")
def _made_anew(read: Any) -> Ask:
    # the first of a function that changes its code is rewritten from a source that is not there
    return lambda: tf.function(lambda x: read(x * x))(tf.constant(WORLD.x.astype(np.float64)))


@kind("custom gradient")
def _custom(read: Any) -> Ask:
    @tf.custom_gradient
    def f(u: Any) -> Any:
        return read(u), lambda upstream: upstream * read(u) * 3.0

    def ask() -> Any:
        x = tf.constant(WORLD.x.astype(np.float64))
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return [y, tape.gradient(y, x)]

    return ask


@kind("primitive")
def _primitive(read: Any) -> Ask:
    f = tf.primitive(lambda u: np.asarray(read(np.asarray(u))), vjp=lambda ct, y, u: ct * read(tf.ones_like(u)))
    p = tf.for_scipy(lambda u: tf.reduce_sum(f(u)), np.ones(2))
    return lambda: [p.fun(np.ones(2)), p.jac(np.ones(2)), p.fun(np.ones(2))]


@kind("optimizers", LIVE)
def _optimizers(read: Any) -> Ask:
    v = tf.Variable(np.ones(3), dtype=tf.float64)
    made = [tf.keras.optimizers.SGD(1.0), tf.keras.optimizers.SGD(1.0, weight_decay=0.5)]

    def ask() -> Any:
        found = []
        for optimizer in made:
            optimizer.learning_rate = float(WORLD.argument[0])
            for _ in range(2):
                v.assign(np.ones(3))
                optimizer.apply_gradients([(read(tf.ones([3], tf.float64)), v)])
            found.append(v.numpy())
        return found

    return ask


@kind("minimize by an optimizer", ("array", "global", "variable", "attribute"))
def _minimize(read: Any) -> Ask:
    v = tf.Variable([1.0], dtype=tf.float64)
    made = tf.keras.optimizers.SGD(0.25)

    def ask() -> Any:
        v.assign([1.0])
        for _ in range(3):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(read(v * v))
            made.apply_gradients([(tape.gradient(loss, v), v)])
        return v.numpy()

    return ask


@kind("keras", LIVE)
def _keras(read: Any) -> Ask:
    tf.keras.utils.set_random_seed(1)
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, use_bias=False, dtype="float64")])
    model.compile(tf.keras.optimizers.SGD(0.5), "mse")
    model.build((None, 1))

    def ask() -> Any:
        model.set_weights([VARIABLE.numpy().reshape(1, 1)])
        model.optimizer.learning_rate = float(WORLD.argument[0]) / 8
        x = WORLD.x.astype(np.float64).reshape(-1, 1)
        found = [model(x), model.predict(x, verbose=0), model.evaluate(x, x, verbose=0)]
        model.train_on_batch(x, x)
        return [*found, *model.get_weights()]

    return ask


@kind("data", LIVE)
def _data(read: Any) -> Ask:
    made = tf.data.Dataset.range(3).map(lambda i: read(tf.cast(tf.reshape(i, [1]), tf.float64))).batch(2)
    return lambda: [x.numpy() for x in made]


# ---- the same of graphs ----------------------------------------------------------------------------------------------


class _Graph:
    """A graph whose variable holds what the world says, in a session that is another one from time to time."""

    def __init__(self) -> None:
        self.graph = g.Graph()
        with self.graph.as_default():
            self.x = g.placeholder(g.float64, [None])
            self.v = g.Variable([1.0], dtype=g.float64, use_resource=True)
            self.new = g.placeholder(g.float64, [1])
            self.assign = self.v.assign(self.new)
            self.step = self.v.assign_add(self.new)
        self._rate, self._sessions = 0.0, [g.Session(graph=self.graph), g.Session(graph=self.graph)]
        self._held: list[float | None] = [None, None]

    def session(self) -> Any:
        rate, which = WORLD.rates["variable"], int(WORLD.rates["layout"]) % 2
        session, held = self._sessions[which], self._held[which]
        if held is None:
            session.run(self.assign, {self.new: [rate]})
        elif held != rate:
            session.run(self.step, {self.new: [rate - held]})
        self._held[which] = rate
        return session

    @property
    def feed(self) -> dict[Any, Any]:
        return {self.x: WORLD.x.astype(np.float64)}


@kind("session", LIVE)
def _session(read: Any) -> Ask:
    of = _Graph()
    with of.graph.as_default():
        y = of.x**2 * of.v
        wanted = [y, g.gradients(y, of.x)[0], g.jacobian(y, of.x), g.cond(of.v[0] > 1.0, lambda: y, lambda: -y)]
    return lambda: of.session().run(wanted, of.feed)


@kind("make_callable", LIVE)
def _callable(read: Any) -> Ask:
    of = _Graph()
    with of.graph.as_default():
        y = of.x**2 * of.v
    made: dict[int, Any] = {}

    def ask() -> Any:
        session = of.session()
        call = made.setdefault(id(session), session.make_callable([y], [of.x]))
        return call(WORLD.x.astype(np.float64))

    return ask


@kind("for_scipy of a graph", LIVE)
def _graph_for_scipy(read: Any) -> Ask:
    of = _Graph()
    with of.graph.as_default():
        u = g.placeholder(g.float64, [3])
        p, q = g.for_scipy(u**2 * of.v, u, np.ones(3)), g.for_scipy(g.reduce_sum(u**3 * of.v), u, np.ones(3))

    def ask() -> Any:
        with of.session().as_default():
            x = np.full(3, float(WORLD.argument[0]))
            return [p.jac(x), p.fun(x), q.hess(x), q.fun(x), q.hessp(x, x), q.jac(x)]

    return ask


@kind("py_func", tuple(r for r in READS if r != "variable"), LIVE)
def _py_func(read: Any) -> Ask:
    of = _Graph()
    with of.graph.as_default():
        y = g.py_func(lambda x: np.asarray(read(x), np.float64), [of.x], g.float64)
    return lambda: of.session().run(y, of.feed)


@kind("operations added", ("array", "global", "dict", "list", "array of a dict"), LIVE)
def _added(read: Any) -> Ask:
    of = _Graph()

    def ask() -> Any:
        with of.graph.as_default():
            y = read(of.x) * of.v
        return of.session().run([y, g.gradients(y, of.x)[0]], of.feed)

    return ask


_TURNS, _READS = 400, 3
"""How often the objects of some things that are read are asked, and of how many things."""

# ---- asking ----------------------------------------------------------------------------------------------------------

NAMES = [(name, read) for name, each in KINDS.items() for read in each.reads]
CHANGES = tuple(WORLD.rates)


def _arrays(found: Any) -> list[np.ndarray]:
    if isinstance(found, (list, tuple)):
        return [array for each in found for array in _arrays(each)]
    if isinstance(found, dict):
        return _arrays(list(found.values()))
    if isinstance(found, LinearOperator):
        found = found @ np.ones(found.shape[1])
    array = np.asarray(found.toarray() if hasattr(found, "toarray") else found)
    if array.dtype.hasobject:
        raise TypeError(f"{type(found).__name__} is no number")
    return [array]


def answer(ask: Ask) -> Any:
    """Bytes that say all of an answer, or of an error."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [(a.dtype.str, a.shape, a.tobytes()) for a in _arrays(ask())]
    except Exception as error:  # noqa: BLE001 - it is compared
        return type(error).__name__, str(error)


def in_a_thread(ask: Ask) -> Any:
    """The same, asked by another thread."""
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(answer(ask)))
    thread.start()
    thread.join()
    return found[0]


class Clean:
    """A process that has asked nobody, whose children do."""

    def __init__(self, names: Sequence[tuple[str, str]]) -> None:
        self._known: dict[Any, Any] = {}
        # children need not load what a child has loaded that asked all of them
        for module in self._loaded(names):
            if module not in sys.modules:
                with suppress(ImportError):
                    importlib.import_module(module)
        gc.freeze()
        (here, self._write), (self._read, there) = os.pipe(), os.pipe()
        self._pid = os.fork()
        if not self._pid:
            os.close(self._write)
            os.close(self._read)
            self._serve(os.fdopen(here, "rb"), os.fdopen(there, "wb"))
        os.close(here)
        os.close(there)
        self._to, self._from = os.fdopen(self._write, "wb"), os.fdopen(self._read, "rb")

    @staticmethod
    def _loaded(names: Sequence[tuple[str, str]]) -> list[str]:
        here, there = os.pipe()
        if not os.fork():
            for name in dict(names):
                answer(KINDS[name].make(READS[KINDS[name].reads[0]]))
            os.write(there, "\n".join(sorted(sys.modules)).encode())
            os._exit(0)
        os.close(there)
        with os.fdopen(here) as found:
            return found.read().split("\n")

    def _serve(self, questions: Any, answers: Any) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        while True:
            try:
                rates, names = pickle.load(questions)
            except EOFError:
                os._exit(0)
            child = os.fork()
            if not child:
                WORLD.set(**rates)
                pickle.dump([answer(KINDS[name].make(READS[read])) for name, read in names], answers)
                answers.flush()
                os._exit(0)
            os.waitpid(child, 0)

    def answers(self, names: Sequence[tuple[str, str]]) -> list[Any]:
        """What new objects answer in the world as it is now."""
        keys = [(name, *[WORLD.rates[each] for each in (name[1], *GIVEN, *KINDS[name[0]].also)]) for name in names]
        new = [name for name, key in zip(names, keys, strict=True) if key not in self._known]
        if new:
            pickle.dump((WORLD.rates, new), self._to)
            self._to.flush()
            left = iter(pickle.load(self._from))
            self._known |= {key: next(left) for key in keys if key not in self._known}
        return [self._known[key] for key in keys]

    def close(self) -> None:
        """End it."""
        self._to.close()
        self._from.close()
        os.waitpid(self._pid, 0)


class Stale(NamedTuple):
    """An answer that a new object does not give."""

    kind: str
    read: str
    changed: str
    found: Any
    wanted: Any

    def __str__(self) -> str:
        found, wanted = _shown(self.found), _shown(self.wanted)
        return f"{self.kind}, which reads {self.read}: {found} after a change of {self.changed}; new: {wanted}"


def _shown(found: Any) -> str:
    if isinstance(found, tuple):
        return f"{found[0]}: {found[1][:200]}"
    return str([np.frombuffer(data, dtype).tolist() for dtype, _, data in found])[:200]


def steps(
    n: int, seed: int, several: int = 16, only: str = "", seconds: float = float("inf")
) -> Iterator[tuple[int, list[Stale]]]:
    """Changes, each for some objects that are asked before and after: of how many, and what was wrong."""
    every = [each for each in NAMES if only in each[0]]
    clean, rng, start = Clean(every), random.Random(seed), time.monotonic()
    kept: dict[tuple[str, str], Ask] = {}
    done = turn = 0
    try:
        while done < n and time.monotonic() - start < seconds:
            if turn % _TURNS == 0:
                # some others, or some of the same made anew
                clear_caches()
                reads = rng.sample(sorted({read for _, read in every}), min(_READS, len({read for _, read in every})))
                kept = {name: KINDS[name[0]].make(READS[name[1]]) for name in every if name[1] in reads}
            turn += 1
            # what some of them look at, or what all are asked with: one of that is another than in the beginning
            other = [each for each in GIVEN if WORLD.rates[each] != 1.0] or [rng.choice(GIVEN)]
            changed = rng.choice([*4 * reads, *other, rng.choice(CHANGES[: len(READS)])])
            some = [name for name in kept if name[1] == changed] or list(kept)
            some = rng.sample(some, min(several, len(some)))
            done += len(some)
            asked = rng.choice([answer, answer, in_a_thread])
            for name in some:
                asked(kept[name])
            rates = RATES[:2] if changed in GIVEN else RATES
            WORLD.set(**{changed: rng.choice([r for r in rates if r != WORLD.rates[changed]])})
            asked = rng.choice([answer, answer, in_a_thread])
            found = [asked(kept[name]) for name in some]
            wanted = clean.answers(some)
            pairs = zip(some, found, wanted, strict=True)
            yield len(some), [Stale(*name, changed, a, b) for name, a, b in pairs if a != b]
    finally:
        clean.close()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; 1 if anything was stale."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.changes", description=__doc__)
    parser.add_argument("--n", type=int, default=1000, help="how many changes, each for one object (default 1000)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="objects with this in their name")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="go on for at most so long")
    given = parser.parse_args(arguments)
    start, done, stale = time.monotonic(), 0, Counter[tuple[str, str, str]]()
    for count, found in steps(given.n, given.seed, only=given.only, seconds=60 * given.minutes):
        done += count
        for each in found:
            if not stale[each[:3]]:
                sys.stdout.write(f"{each}\n")
            stale[each[:3]] += 1
    seconds = time.monotonic() - start
    sys.stdout.write(f"{done} changes in {seconds:.0f} s; {stale.total()} stale answers of {len(stale)} kinds\n")
    return 1 if stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
