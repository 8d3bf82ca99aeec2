"""Objects that outlive a call, and functions that keep something between calls: see `tests.fuzz.changes`."""

import functools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import solve_bvp

import optim
import tape_api as tf
from dualgrad.solvers import implicit, linear, ode, quadrature
from tests.fuzz.world import HELD, READS, WORLD

Ask = Callable[[], Any]
Read = Callable[[Any], Any]


class Kind(NamedTuple):
    """A kind of object: ``make(read)`` gives a function that asks it; what it reads, and what it is asked with."""

    make: Callable[[Read], Ask]
    reads: Sequence[str]
    also: Sequence[str]


KINDS: dict[str, Kind] = {}
LIVE = ("variable", "variable in a list")
"""What a function that is traced once reads anew each time."""


def kind(name: str, reads: Sequence[str] = tuple(READS), also: Sequence[str] = ()) -> Callable[[Any], Any]:
    """A kind of object, which may look at some things."""

    def noted(make: Any) -> Any:
        KINDS[name] = Kind(make, reads, also)
        return make

    return noted


def watched(f: Callable[[Any], Any], x: Any) -> Any:
    """A result and its gradient."""
    x = tf.constant(x, tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return [y, tape.gradient(y, x)]


# ---- functions for SciPy ---------------------------------------------------------------------------------------------


def _long(u: Any) -> Any:
    """What makes a function long enough to be traced (`tests.fuzz.changes` asks for less than a user needs)."""
    for _ in range(3):
        u = tf.sin(u) - 0.5 * u
    return u


def _squares(read: Read, is_long: bool) -> Callable[[Any], Any]:
    return lambda u: read(u * u) + (_long(u) if is_long else u)


def _by_size(make: Callable[[int], Any]) -> Callable[[], Any]:
    """The object for a point of the world's size."""
    made: dict[int, Any] = {}

    def found() -> Any:
        size = WORLD.x.size
        return made[size] if size in made else made.setdefault(size, make(size))

    return found


def _for_scipy(name: str, is_long: bool, format: Any) -> None:
    def values(read: Read, what: str) -> Ask:
        p = _by_size(lambda n: tf.for_scipy(_squares(read, is_long), np.ones(n), format=format))
        if what == "columns":
            return lambda: p().fun(np.stack([WORLD.point, 2 * WORLD.point, WORLD.point / 3, np.ones(WORLD.x.size)], 1))
        return lambda: getattr(p(), what)(WORLD.point)

    def scalar(read: Read, what: str) -> Ask:
        squares = _squares(read, is_long)
        p = _by_size(lambda n: tf.for_scipy(lambda u: tf.reduce_sum(squares(u)), np.ones(n)))
        if what == "hessp":
            return lambda: p().hessp(WORLD.point, WORLD.point)
        return lambda: getattr(p(), what)(WORLD.point)

    for what in ("fun", "jac", "fun_and_jac", "columns"):
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
def _with_arguments(read: Read) -> Ask:
    p = tf.for_scipy(lambda u, a, d, f: u[0] ** 2 * a[0] * d["k"] * d["deep"][0][0] * f(u[0]), np.ones(1))

    def ask() -> Any:
        given = np.ones(1), WORLD.argument, HELD, read
        return [p.jac(*given), p.fun(*given), p.jac(*given)]

    return ask


@kind("for_scipy of parts")
def _of_parts(read: Read) -> Ask:
    p = _by_size(lambda n: tf.for_scipy(lambda u: (tf.reduce_sum(read(u * u)), u * read(u)), np.ones(n)))

    def ask() -> Any:
        x, f, h = WORLD.point, p().part(0), p().part(1)
        return [f.fun(x), h.fun(x), f.jac(x), h.jac(x), f.hess(x), p().weighted_hess(x, np.ones(1 + x.size))]

    return ask


@kind("for_scipy in two threads")
def _in_threads(read: Read) -> Ask:
    p = _by_size(lambda n: tf.for_scipy(lambda u: tf.reduce_sum(read(u * u) * u), np.ones(n)))

    def ask() -> Any:
        # the names of threads come again: each is a new one
        with ThreadPoolExecutor(2) as pool:
            points = [WORLD.point * k for k in (1.0, 2.0)]
            return list(pool.map(lambda x: [p().fun(x), p().jac(x), p().hess(x)], points))

    return ask


@kind("for_ode")
def _for_ode(read: Read) -> Ask:
    p = tf.for_ode(lambda t, y: read(y * y) * t, np.ones(2))
    return lambda: [p.jac(2.0, np.ones(2)), p.fun(2.0, np.ones(2)), p.jac(3.0, np.ones(2))]


@kind("for_bvp")
def _for_bvp(read: Read) -> Ask:
    p = tf.for_bvp(lambda x, y: [y[1], -read(y[:1])[0]], lambda ya, yb: [ya[0], yb[0] - read(yb[:1])[0] ** 2])
    x, y = np.linspace(0.0, 1.0, 4), np.ones((2, 4))
    return lambda: [p.fun(x, y), p.fun_jac(x, y), p.bc(y[:, 0], y[:, 1]), p.bc_jac(y[:, 0], y[:, 1])]


@kind("for_bvp, solved", ("array", "global", "variable", "list"))
def _solved(read: Read) -> Ask:
    p = tf.for_bvp(lambda x, y: [y[1], -read(y[:1])[0]], lambda ya, yb: [ya[0], yb[0] - WORLD.number])
    x = np.linspace(0.0, 1.0, 4)
    return lambda: solve_bvp(p.fun, p.bc, x, np.zeros((2, 4)), fun_jac=p.fun_jac, bc_jac=p.bc_jac).sol(0.5)


# ---- solvers ---------------------------------------------------------------------------------------------------------

SOLVED: dict[str, Callable[[Read, float], Any]] = {
    "root": lambda read, a: implicit.root(lambda x: read(x * x) - a, np.ones(1)).x,
    "root_scalar": lambda read, a: implicit.brentq(lambda x: tf.reduce_sum(read(tf.reshape(x, [1]))) - a, -90.0, 90.0),
    "fixed_point": lambda read, a: implicit.fixed_point(lambda x: tf.sqrt(read(x) + a), np.ones(1)),
    "minimize": lambda read, a: implicit.minimize(lambda x: tf.reduce_sum(read((x - a) ** 2) + x), np.ones(1)).x,
    "least_squares": lambda read, a: implicit.least_squares(lambda x: read(x) - a, np.ones(1)).x,
    "quad": lambda read, a: quadrature.quad(lambda t: tf.reduce_sum(read(tf.reshape(t, [1])) ** 2), 0.0, a)[0],
    "solve_ivp": lambda read, a: ode.solve_ivp(lambda t, y: -read(y), (0.0, 1.0), np.ones(1), t_eval=[a / 10]).y,
    "odeint": lambda read, a: ode.odeint(lambda y, t: -read(y), np.ones(1), [0.0, a / 10]),
    "cg": lambda read, a: linear.cg(lambda v: read(v) + v, np.full(1, a))[0],
    "gmres": lambda read, a: linear.gmres(lambda v: read(v) + v, np.full(1, a))[0],
}
"""A solution, and by its side what it depends on."""


def _solver(read: Read, solve: Callable[[Read, float], Any]) -> Ask:
    def ask() -> Any:
        def scaled(x: Any) -> Any:
            return tf.reduce_sum(solve(lambda u: read(u) * x, WORLD.number))

        return [solve(read, WORLD.number), watched(scaled, 1.25)]

    return ask


for _name, _solve in SOLVED.items():
    kind(f"solver {_name}")(functools.partial(_solver, solve=_solve))


@kind("minimize of variables")
def _minimize_variables(read: Read) -> Ask:
    v = tf.Variable(np.ones(2), dtype=tf.float64)

    def ask() -> Any:
        v.assign(np.ones(2))
        found = optim.minimize(lambda: tf.reduce_sum(read((v - WORLD.number) ** 2) + v), [v])
        return [found.x, found.fun, v.numpy()]

    return ask


# ---- interpolants ----------------------------------------------------------------------------------------------------

_KNOTS = np.array([0.0, 1.0, 2.0, 3.5, 5.0])
_HEIGHTS = np.array([0.5, 1.0, -0.25, 2.0, 1.5])


@kind("interpolants")
def _interpolants(read: Read) -> Ask:
    i = tf.experimental.scipy.interpolate
    kept = [i.CubicSpline(_KNOTS, _HEIGHTS), i.PchipInterpolator(_KNOTS, _HEIGHTS), i.interp1d(_KNOTS, _HEIGHTS)]

    def ask() -> Any:
        x, found = WORLD.point / 2, []
        for made in (*kept, i.CubicSpline(_KNOTS, read(tf.constant(_HEIGHTS)))):
            found += [made(x), *watched(lambda u, made=made: tf.reduce_sum(read(made(u))), WORLD.number / 3)]
        return found

    return ask


@kind("interpolants that are changed", ("nothing",))
def _changed_interpolants(read: Read) -> Ask:
    i = tf.experimental.scipy.interpolate
    spline, line = i.CubicSpline(_KNOTS, _HEIGHTS), i.interp1d(_KNOTS, _HEIGHTS, bounds_error=False)
    grid = i.RegularGridInterpolator((_KNOTS,), _HEIGHTS, bounds_error=False)

    def ask() -> Any:
        spline.extrapolate = WORLD.number > 2
        line.fill_value = grid.fill_value = WORLD.number
        x = np.array([-1.0, WORLD.number, 7.0])
        return [spline(x), line(x), grid(x[:, None]), watched(spline, 6.0), watched(line, 6.0)]

    return ask


# ---- tapes, transforms, functions ------------------------------------------------------------------------------------


@kind("transforms")
def _transforms(read: Read) -> Ask:
    def total(u: Any) -> Any:
        return tf.reduce_sum(read(u * u * u))

    t = tf.transforms
    made = t.grad(total), t.jacrev(_squares(read, False)), t.jacfwd(_squares(read, False)), t.hessian(total)
    mapped = t.vmap(lambda x: tf.reduce_sum(read(tf.reshape(x, [1]) ** 2)))
    return lambda: [*[f(WORLD.x.copy()) for f in made], mapped(WORLD.x.copy())]


@kind("transforms that are composed")
def _composed(read: Read) -> Ask:
    t = tf.transforms

    def cubes(u: Any) -> Any:
        return read(u * u * u)

    def one(x: Any) -> Any:
        return tf.reduce_sum(cubes(tf.reshape(x, [1])))

    each = t.vmap(t.value_and_grad(one))

    def ask() -> Any:
        x = WORLD.point
        y, pushed = t.linearize(cubes, x)
        z, pulled = t.vjp(cubes, x)
        return [each(x), y, pushed(x), z, pulled(np.ones(x.size)), t.jvp(cubes, (x,), (x,)), t.grad(t.grad(one))(x[0])]

    return ask


@kind("tape")
def _tape(read: Read) -> Ask:
    def ask() -> Any:
        x = tf.constant(WORLD.x)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = _squares(lambda u: tf.cast(read(tf.cast(u, tf.float64)), u.dtype), False)(x)
        return [tape.gradient(y, x), tape.jacobian(y, x), y]

    return ask


@kind("tape, second derivatives")
def _second(read: Read) -> Ask:
    def ask() -> Any:
        x = tf.constant(WORLD.point)
        with tf.GradientTape(persistent=True) as outer:
            outer.watch(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.reduce_sum(read(x * x) * x)
            slope = tape.gradient(y, x)
        return [
            outer.gradient(slope, x),
            outer.hessian(y, x),
            outer.hvp(y, x, x),
            outer.jacobian(slope, x, format="csr"),
        ]

    return ask


@kind("loops and branches")
def _flow(read: Read) -> Ask:
    def ask() -> Any:
        def flowing(x: Any) -> Any:
            rows = tf.stack([x, 2 * x, 3 * x])
            mapped = tf.map_fn(lambda r: read(r * r), rows)
            _, looped = tf.while_loop(lambda i, _: i < 3, lambda i, u: (i + 1, read(u) / 2), (0, x))
            scanned = tf.scan(lambda u, r: read(u) / 2 + r, rows, initializer=x)
            chosen = tf.cond(x[0] > 0.5, lambda: read(x), lambda: -read(x))
            return tf.reduce_sum(mapped) + tf.reduce_sum(looped + scanned[-1] * chosen)

        return watched(flowing, WORLD.point)

    return ask


@kind("vectorized_map")
def _vectorized(read: Read) -> Ask:
    return lambda: watched(lambda x: tf.vectorized_map(lambda r: read(r * r), tf.stack([x, 2 * x])), WORLD.point)


@kind("jacobian plan", ("nothing",))
def _plan(read: Read) -> Ask:
    def planned(n: int) -> Any:
        x = tf.ones([n], tf.float64)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.sin(x) * x[::-1]
        return tape.jacobian_plan(y, x)

    plan = _by_size(planned)
    return lambda: [plan()(WORLD.point), plan()(WORLD.point * WORLD.number)]


@kind("tf.function", LIVE)
def _function(read: Read) -> Ask:
    f = tf.function(lambda x, a: tf.cast(x, tf.float64) * read(a))
    return lambda: f(tf.constant(WORLD.x), WORLD.argument)


@kind("tf.function with Python arguments", LIVE, ("dict", "array of a dict"))
def _function_of_numbers(read: Read) -> Ask:
    f = tf.function(lambda x, a, d: read(x) * a * d["k"] * d["deep"][0])
    return lambda: f(tf.constant(WORLD.point), WORLD.number, HELD)


@kind("tf.function of open shapes", LIVE)
def _open_function(read: Read) -> Ask:
    def gradient(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = read(x * x)
        return y, tape.gradient(y, x)

    f = tf.function(gradient, input_signature=[tf.TensorSpec([None], tf.float64)])
    h = tf.function(gradient, reduce_retracing=True)
    return lambda: [f(WORLD.point), h(tf.constant(WORLD.point))]


@kind("tf.function of a method", LIVE)
def _method(read: Read) -> Ask:
    class Owner:
        @tf.function
        def call(self, x: Any) -> Any:
            return read(x) * self.weight  # type: ignore[attr-defined]

    owner = Owner()
    owner.weight = tf.Variable([1.0], dtype=tf.float64)  # type: ignore[attr-defined]

    def ask() -> Any:
        owner.weight.assign(WORLD.argument[:1])  # type: ignore[attr-defined]
        return owner.call(tf.constant(WORLD.point))

    return ask


@kind("tf.function that calls Python")
def _calls_python(read: Read) -> Ask:
    called = tf.function(lambda x: tf.numpy_function(lambda a: np.asarray(read(a), np.float64), [x], tf.float64) * x)
    return lambda: called(tf.constant(WORLD.point))


@kind("tf.function that assigns", LIVE)
def _assigns(read: Read) -> Ask:
    v = tf.Variable([1.0], dtype=tf.float64)

    @tf.function
    def step(x: Any) -> Any:
        v.assign_add(read(tf.reduce_sum(x, keepdims=True)))
        return v * x

    def ask() -> Any:
        v.assign(WORLD.argument[:1])
        return [step(tf.constant(WORLD.point)), v.numpy()]

    return ask


@kind("tf.function made anew")
def _made_anew(read: Read) -> Ask:
    # the first of a function that changes its code is rewritten from a source that is not there
    return lambda: tf.function(lambda x: read(x * x))(tf.constant(WORLD.point))


@kind("custom gradient", tuple(r for r in READS if "variable" not in r))
def _custom(read: Read) -> Ask:
    @tf.custom_gradient
    def f(u: Any) -> Any:
        return read(u), lambda upstream: upstream * read(u) * 3.0

    return lambda: watched(f, WORLD.point)


@kind("primitive")
def _primitive(read: Read) -> Ask:
    f = tf.primitive(lambda u: np.asarray(read(np.asarray(u))), vjp=lambda ct, y, u: ct * read(tf.ones_like(u)))
    p = tf.for_scipy(lambda u: tf.reduce_sum(f(u)), np.ones(2))
    return lambda: [p.fun(np.ones(2)), p.jac(np.ones(2)), p.fun(np.ones(2))]
