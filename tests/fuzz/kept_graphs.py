"""Sessions, and what else outlives a call of a graph: see `tests.fuzz.changes`."""

from typing import Any

import numpy as np

import graph_api as g
import optim
from tests.fuzz.kept import Ask, Read, kind
from tests.fuzz.world import READS, WORLD

LIVE = ("variable",)


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
        return {self.x: WORLD.point}


@kind("session", LIVE)
def _session(read: Read) -> Ask:
    of = _Graph()
    with of.graph.as_default():
        y = of.x**2 * of.v
        wanted = [y, g.gradients(y, of.x)[0], g.jacobian(y, of.x), g.cond(of.v[0] > 1.0, lambda: y, lambda: -y)]
    return lambda: of.session().run(wanted, of.feed)


@kind("session with loops", LIVE)
def _loops(read: Read) -> Ask:
    of = _Graph()
    with of.graph.as_default():
        _, y = g.while_loop(lambda i, _: i < 3, lambda i, u: (i + 1, u * of.v / 2), (0, of.x * of.v[0]))
        scanned = g.scan(lambda a, e: a * of.v[0] + e, of.x)
        wanted = [y, g.gradients(y, of.x)[0], scanned, g.gradients(scanned, of.x)[0]]
    return lambda: of.session().run(wanted, of.feed)


@kind("make_callable", LIVE)
def _callable(read: Read) -> Ask:
    of = _Graph()
    with of.graph.as_default():
        y = of.x**2 * of.v
    made: dict[int, Any] = {}

    def ask() -> Any:
        session = of.session()
        call = made.setdefault(id(session), session.make_callable([y], [of.x]))
        return call(WORLD.point)

    return ask


@kind("for_scipy of a graph", LIVE)
def _graph_for_scipy(read: Read) -> Ask:
    of = _Graph()
    with of.graph.as_default():
        u = g.placeholder(g.float64, [3])
        p, q = g.for_scipy(u**2 * of.v, u, np.ones(3)), g.for_scipy(g.reduce_sum(u**3 * of.v), u, np.ones(3))

    def ask() -> Any:
        with of.session().as_default():
            x = np.full(3, WORLD.number)
            return [p.jac(x), p.fun(x), q.hess(x), q.fun(x), q.hessp(x, x), q.jac(x)]

    return ask


@kind("minimize of variables in a graph", LIVE)
def _minimize(read: Read) -> Ask:
    of = _Graph()
    with of.graph.as_default():
        a, w = g.placeholder(g.float64, []), g.Variable(np.ones(2), dtype=g.float64, use_resource=True)
        loss = g.reduce_sum((w - a) ** 2 * of.v + w)

    def ask() -> Any:
        session = of.session()
        session.run(w.initializer)
        found = optim.minimize(loss, [w], session=session, feed_dict={a: WORLD.number})
        return [found.x, session.run(w)]

    return ask


@kind("optimizers of graphs", LIVE)
def _optimizers(read: Read) -> Ask:
    of = _Graph()
    with of.graph.as_default():
        rate = g.placeholder(g.float32, [])
        steps = []
        for make in OPTIMIZERS:
            w = g.Variable(np.ones(2, np.float32), use_resource=True)
            made = make(rate)
            steps.append((w, made.minimize(g.reduce_sum(w**2 * g.cast(of.v, g.float32)), var_list=[w])))
        begin = g.variables_initializer([v for v in g.global_variables() if v is not of.v])

    def ask() -> Any:
        session = of.session()
        session.run(begin)
        for _ in range(2):
            session.run([step for _, step in steps], {rate: WORLD.number / 8})
        return session.run([w for w, _ in steps])

    return ask


OPTIMIZERS = (
    g.train.GradientDescentOptimizer,
    g.train.AdamOptimizer,
    lambda rate: g.train.MomentumOptimizer(rate, 0.5),
    g.train.AdagradOptimizer,
    g.train.RMSPropOptimizer,
    g.train.AdadeltaOptimizer,
    g.train.FtrlOptimizer,
)


@kind("py_func", tuple(r for r in READS if "variable" not in r), LIVE)
def _py_func(read: Read) -> Ask:
    of = _Graph()
    with of.graph.as_default():
        y = g.py_func(lambda x: np.asarray(read(x), np.float64), [of.x], g.float64)
    return lambda: of.session().run(y, of.feed)


@kind("operations added", ("array", "global", "dict", "list", "array of a dict", "array under a tensor"), LIVE)
def _added(read: Read) -> Ask:
    of = _Graph()

    def ask() -> Any:
        with of.graph.as_default():
            y = read(of.x) * of.v
        return of.session().run([y, g.gradients(y, of.x)[0]], of.feed)

    return ask
