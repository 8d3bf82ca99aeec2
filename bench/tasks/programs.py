"""The programs that ``python -m bench tasks`` times: a problem from the data to the answer, with one library.

Each is `program(library)`. What a library needs is imported where it is used, as its users do. Models are written with
NumPy's names, which `xp` has: NumPy itself for SciPy's differences and for us, the library's own for others.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

Array = Any
OURS = "dualgrad"
SCIPY, BY_HAND = "SciPy", "SciPy, pattern by hand"
DIGITS = "digits.npz"


def main() -> None:
    """Run one program, and print the numbers of its answer."""
    program, library = sys.argv[1:]
    answer = np.ravel(np.asarray(globals()[program](library), float))
    print(json.dumps(answer.tolist()))


def differentiated(library: str, loss: Callable[..., Any], x0: Array) -> Callable[..., Any]:
    """Value and gradient of ``loss(xp, x)``; of SciPy, which takes differences, the value."""
    if library == SCIPY:
        return partial(loss, np)
    if library == OURS:
        import tape_api

        return tape_api.for_scipy(partial(loss, np), x0).fun_and_jac
    if library == "JAX":
        jax = _jax()
        both = jax.jit(jax.value_and_grad(partial(loss, jax.numpy)))
        return lambda x: tuple(map(np.asarray, both(x)))
    import tensorflow as tf

    @tf.function  # type: ignore[untyped-decorator]
    def call(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            value = loss(tf.experimental.numpy, x)
        return value, tape.gradient(value, x)

    return lambda x: tuple(y.numpy() for y in call(tf.constant(x)))


def _jax() -> Any:
    jax = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    return jax


def _minimized(library: str, loss: Callable[..., Any], x0: Array, **options: Any) -> Any:
    """By L-BFGS."""
    from scipy.optimize import minimize

    fun = differentiated(library, loss, x0)
    return minimize(fun, x0, jac=library != SCIPY, method="L-BFGS-B", options={"maxfun": 10**6, **options})


def _derived(library: str, f: Callable[..., Any], x0: Array, format: Any = "dense") -> tuple[Any, Any, Any]:
    """A function of a vector, its Jacobian or gradient, and its Hessian, of a vector that of a weighted sum."""
    g = partial(f, np)
    if library == OURS:
        import tape_api

        p: Any = tape_api.for_scipy(g, x0, format=format)
        return p.fun, p.jac, p.hess if np.ndim(g(x0)) == 0 else p.weighted_hess
    if library != "JAX":
        from scipy.optimize import BFGS

        return g, "2-point", BFGS()
    jax = _jax()
    g = partial(f, jax.numpy)
    hessian = jax.hessian(lambda x, *weights: weights[0] @ g(x) if weights else g(x))
    derived = map(jax.jit, (g, jax.jacfwd(g) if g(x0).ndim else jax.grad(g), hessian))
    return tuple([lambda *given, call=call: np.asarray(call(*given)) for call in derived])  # type: ignore[return-value]


def logistic(library: str) -> Array:
    """Logistic regression on handwritten digits."""
    data = np.load(DIGITS)
    x, chosen = data["x"].astype(float), np.eye(10)[data["labels"]]

    def loss(xp: Any, w: Any) -> Any:
        z = x @ xp.reshape(w, (64, 10))
        return xp.mean(xp.log(xp.sum(xp.exp(z), 1)) - xp.sum(z * chosen, 1)) + 0.01 * xp.sum(w * w)

    return _minimized(library, loss, np.zeros(640)).fun


def curve_fit(library: str) -> Array:
    """Five parameters of a decaying wave, seen at 100,000 points."""
    from scipy.optimize import least_squares

    t = np.linspace(0.0, 5.0, 100_000)
    seen = 2.0 * np.exp(-0.5 * t) * np.cos(3.0 * t + 0.3) + 0.5 + np.random.default_rng(0).normal(size=t.size) * 0.1

    def misses(xp: Any, p: Any) -> Any:
        return p[0] * xp.exp(-p[1] * t) * xp.cos(p[2] * t + p[3]) + p[4] - seen

    start = np.array([1.0, 1.0, 2.8, 0.0, 0.0])
    fun, jac, _ = _derived(library, misses, start)
    return least_squares(fun, start, jac, method="lm").x


def constrained(library: str) -> Array:
    """Rosenbrock's function of 200 numbers with 10 circles in which pairs of them lie, by trust-constr."""
    from scipy.optimize import NonlinearConstraint, minimize

    def cost(xp: Any, x: Any) -> Any:
        return xp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)

    def circles(xp: Any, x: Any) -> Any:
        return x[::20] ** 2 + x[1::20] ** 2

    x0 = np.full(200, 0.9)
    fun, jac, hess = _derived(library, cost, x0, "csr")
    within, *slopes = _derived(library, circles, x0, "csr")
    inside = NonlinearConstraint(within, -np.inf, 1.9, *slopes)
    return minimize(fun, x0, (), "trust-constr", jac, hess, constraints=inside, options={"maxiter": 5000}).fun


def brusselator(library: str) -> Array:
    """The Brusselator with diffusion on 500 points, stiff, by BDF."""
    from scipy.integrate import solve_ivp

    n = 500
    x = np.arange(1, n + 1) / (n + 1)
    y0 = np.concatenate([1.0 + np.sin(2.0 * np.pi * x), np.full(n, 3.0)])

    def slope(xp: Any, t: Any, y: Any) -> Any:
        u, v = y[:n], y[n:]
        us, vs = (xp.concatenate([np.full(1, end), w, np.full(1, end)]) for w, end in ((u, 1.0), (v, 3.0)))
        du, dv = (0.02 * (n + 1) ** 2 * (w[2:] - 2.0 * w[1:-1] + w[:-2]) for w in (us, vs))
        return xp.concatenate([1.0 + u * u * v - 4.0 * u + du, 3.0 * u - u * u * v + dv])

    fun: Any = partial(slope, np)
    how = {}
    if library == BY_HAND:
        from scipy.sparse import bmat, diags, eye

        band = diags([np.ones(n - 1), np.ones(n), np.ones(n - 1)], [-1, 0, 1])
        how = {"jac_sparsity": bmat([[band, eye(n)], [eye(n), band]])}
    elif library == OURS:
        import tape_api

        p = tape_api.for_ode(fun, y0, format="csr")
        fun, how = p.fun, {"jac": p.jac}
    elif library == "JAX":
        jax = _jax()
        f = partial(slope, jax.numpy)
        jac, fun = jax.jit(jax.jacfwd(f, 1)), jax.jit(f)
        how = {"jac": lambda t, y: np.asarray(jac(t, y))}
    return solve_ivp(fun, (0.0, 10.0), y0, method="BDF", rtol=1e-6, atol=1e-8, **how).y[:, -1]


def bratu(library: str) -> Array:
    """Bratu's equation on 300 x 300 points, by Newton's method."""
    n = 300

    def residual(xp: Any, x: Any) -> Any:
        u = xp.pad(xp.reshape(x, (n, n)), 1)
        sides = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
        return xp.reshape(sides - 4.0 * u[1:-1, 1:-1] + xp.exp(u[1:-1, 1:-1]) * (5.0 / (n + 1) ** 2), (n * n,))

    u = np.zeros(n * n)
    if library == SCIPY:
        from scipy.optimize import newton_krylov

        u = newton_krylov(partial(residual, np), u, f_tol=1e-9, inner_maxiter=200)
    else:
        from scipy.sparse.linalg import spsolve

        fun, jac, _ = _derived(library, residual, u, "csc")
        while abs(r := fun(u)).max() > 1e-9:
            u = u - spsolve(jac(u), r)
    return [u.max(), u.mean()]


def network(library: str) -> Array:
    """A network of Keras layers on handwritten digits, 20 epochs."""
    tf = _tensorflow(library)
    data, rng = np.load(DIGITS), np.random.default_rng(0)
    layers = [tf.keras.layers.Dense(64, activation="relu"), tf.keras.layers.Dense(10)]
    model = tf.keras.Sequential([tf.keras.Input((64,)), *layers])
    model.set_weights([rng.normal(size=w.shape) * 0.1 for w in model.get_weights()])
    model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    done = model.fit(data["x"], data["labels"], epochs=20, shuffle=False, verbose=0)
    return [done.history[what][-1] for what in ("loss", "accuracy")]


def _tensorflow(library: str) -> Any:
    return importlib.import_module("tape_api" if library == OURS else "tensorflow")


def gaussian_process(library: str) -> Array:
    """The hyperparameters of a Gaussian process for 300 points."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-2.0, 2.0, (300, 2))
    y = np.sin(3.0 * x[:, 0]) * x[:, 1] + 0.1 * rng.normal(size=300)
    if library == "scikit-learn":
        from sklearn.gaussian_process import GaussianProcessRegressor
        from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

        kernel = ConstantKernel(1.0, (1e-9, 1e9)) * RBF(1.0, (1e-9, 1e9)) + WhiteKernel(1.0, (1e-9, 1e9))
        return GaussianProcessRegressor(kernel, alpha=0.0).fit(x, y).log_marginal_likelihood_value_
    squares = ((x[:, None] - x) ** 2).sum(-1)

    def loss(xp: Any, p: Any) -> Any:
        height, width, noise = xp.exp(p[0]), xp.exp(p[1]), xp.exp(p[2])
        factor = xp.linalg.cholesky(height * xp.exp(-0.5 * squares / width**2) + noise * np.eye(300))
        found = xp.linalg.solve(factor, xp.reshape(y, (300, 1)))
        return 0.5 * xp.sum(found**2) + xp.sum(xp.log(xp.diagonal(factor))) + 150.0 * np.log(2.0 * np.pi)

    return -_minimized(library, loss, np.zeros(3)).fun


def session(library: str) -> Array:
    """A TensorFlow 1 program: a small network, 3,000 steps of Adam in a session."""
    tf = importlib.import_module("graph_api") if library == OURS else _tensorflow(library).compat.v1
    rng = np.random.default_rng(0)
    xs, start = rng.uniform(-1.0, 1.0, (64, 1)).astype(np.float32), rng.normal(size=(2, 16)).astype(np.float32)
    with tf.Graph().as_default(), tf.Session() as sess:
        x, y = (tf.placeholder(tf.float32, [None, 1]) for _ in range(2))
        w, b, v = tf.Variable(start[:1]), tf.Variable(np.zeros(16, np.float32)), tf.Variable(start[1:].T)
        loss = tf.reduce_mean(tf.square(tf.matmul(tf.tanh(tf.matmul(x, w) + b), v) - y))
        step = tf.train.AdamOptimizer(0.01).minimize(loss)
        sess.run(tf.global_variables_initializer())
        for _ in range(3000):
            value, _ = sess.run([loss, step], {x: xs, y: np.sin(3.0 * xs)})
    return value


def neural_ode(library: str) -> Array:
    """A network as the right-hand side of an equation, fitted to a spiral."""
    times = np.linspace(0.0, 2.0, 41)
    spiral = np.exp(-0.3 * times)[:, None] * np.stack([np.cos(3.0 * times), np.sin(3.0 * times)], 1)
    start, h = np.random.default_rng(0).normal(size=64 + 32) * 0.3, times[1]

    def loss(xp: Any, p: Any) -> Any:
        first, second, bias = xp.reshape(p[:32], (2, 16)), xp.reshape(p[32:64], (16, 2)), p[64:80]

        def slope(y: Any) -> Any:
            return xp.tanh(y @ first + bias) @ second

        def step(y: Any, _: Any) -> Any:
            k1 = slope(y)
            k2 = slope(y + 0.5 * h * k1)
            k3 = slope(y + 0.5 * h * k2)
            return y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + slope(y + h * k3))

        if library == "JAX":
            path = _jax().lax.scan(lambda y, x: (step(y, x),) * 2, spiral[:1], times[1:])[1]
        else:
            path = _tensorflow(library).scan(step, times[1:], spiral[:1])
        return xp.mean((path[:, 0] - spiral[1:]) ** 2)

    return _minimized(library, loss, start, maxiter=40).fun


def bundle(library: str) -> Array:
    """Bundle adjustment: 20 cameras and 1,000 points in 8,000 observations."""
    from scipy.optimize import least_squares

    rng = np.random.default_rng(0)
    cameras, points, seen = 20, 1000, 8000
    camera, point = rng.permutation(seen) % cameras, np.arange(seen) % points
    true = np.concatenate([
        (rng.normal(size=(cameras, 6)) * [0.1, 0.1, 0.1, 0.3, 0.3, 0.3] + [0, 0, 0, 0, 0, 8]).ravel(),
        rng.normal(size=3 * points),
    ])  # fmt: skip

    def projected(xp: Any, x: Any) -> Any:
        c, p = (x[: 6 * cameras].reshape((cameras, 6))[camera], x[6 * cameras :].reshape((points, 3))[point])
        r, t = c[:, :3], c[:, 3:]
        angle = xp.sqrt(xp.sum(r * r, 1, keepdims=True) + 1e-12)
        axis, cos, sin = r / angle, xp.cos(angle), xp.sin(angle)
        crossed = xp.stack([axis[:, i] * p[:, j] - axis[:, j] * p[:, i] for i, j in ((1, 2), (2, 0), (0, 1))], 1)
        q = p * cos + crossed * sin + axis * xp.sum(axis * p, 1, keepdims=True) * (1.0 - cos) + t
        return xp.reshape(q[:, :2] / q[:, 2:], (2 * seen,))

    pixels = projected(np, true) + 1e-3 * rng.normal(size=2 * seen)
    start, how = true + 0.02 * rng.normal(size=true.size), {}
    if library == BY_HAND:
        from scipy.sparse import csr_array

        columns = np.repeat(
            np.hstack([6 * camera[:, None] + range(6), 6 * cameras + 3 * point[:, None] + range(3)]), 2, 0
        )
        entries = np.ones(columns.size), columns.ravel(), 9 * np.arange(2 * seen + 1)
        how = {"jac_sparsity": csr_array(entries, (2 * seen, true.size))}
    fun, jac, _ = _derived(library, lambda xp, x: projected(xp, x) - pixels, start, "csr")
    return least_squares(fun, start, jac, x_scale="jac", ftol=1e-6, **how).cost


def physics(library: str) -> Array:
    """A physics-informed network for u'' = -sin(3 x) with both ends at 0."""
    x = np.linspace(0.0, np.pi, 64)[:, None]
    start = np.random.default_rng(0).normal(size=60)

    def network(xp: Any, x: Any, p: Any) -> Any:
        return x * (np.pi - x) * (xp.tanh(x * p[:20] + p[20:40]) @ xp.reshape(p[40:], (20, 1)))

    def loss(xp: Any, p: Any) -> Any:
        bent = _bent(library, lambda x: network(xp, x, p), x)
        return xp.mean((bent + np.sin(3.0 * x)) ** 2)

    found = _minimized(library, loss, start, maxiter=200)
    return network(np, x, found.x)


def _bent(library: str, u: Callable[[Any], Any], x: Array) -> Any:
    """The second derivatives of a function that is applied to each row."""
    if library == "JAX":
        jvp, ones = _jax().jvp, np.ones_like(x)
        return jvp(lambda x: jvp(u, (x,), (ones,))[1], (x,), (ones,))[1]
    tf, x = _tensorflow(library), _tensorflow(library).constant(x)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            value = u(x)
        slope = inner.gradient(value, x)
    return outer.gradient(slope, x)


def sampler(library: str) -> Array:
    """Hamiltonian Monte Carlo: 500 samples of a logistic regression's weights, ten leaps for each."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1000, 20))
    signs = np.sign(x @ rng.normal(size=20) + rng.normal(size=1000))

    def energy(xp: Any, w: Any) -> Any:
        return xp.sum(xp.log(1.0 + xp.exp(-signs * (x @ w)))) + 0.5 * xp.sum(w * w)

    w, size = np.zeros(20), 0.03
    call = differentiated(library, energy, w)
    (value, slope), samples = call(w), []
    for _ in range(500):
        v = rng.normal(size=20)
        at, there, pull, before = w, value, slope, value + 0.5 * v @ v
        for _ in range(10):
            v = v - 0.5 * size * pull
            at = at + size * v
            there, pull = call(at)
            v = v - 0.5 * size * pull
        if np.log(rng.uniform()) < before - there - 0.5 * v @ v:
            w, value, slope = at, there, pull
        samples.append(w)
    return np.mean(samples, 0)
