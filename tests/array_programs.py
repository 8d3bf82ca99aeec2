"""Small programs as users of HIPS autograd write them; in place of autograd's modules they get ours as arguments.

Each gives a list of numbers and arrays. What autograd 1.9 gives for it is in `EXPECTED`, one number for an array: the
sum of its elements times cosines.
"""

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as onp  # noqa: ICN001  (`np` is what a program imports in its place)
import scipy.special
import scipy.stats

Program = Callable[[Any, Any], list[Any]]


def variational_autoencoder(np: Any, ag: Any) -> list[Any]:
    rng = onp.random.RandomState(4)
    data, noise = (rng.rand(10, 6) > 0.5) * 2.0 - 1.0, rng.randn(10, 2)

    def layer(m: int, n: int) -> Any:
        return rng.randn(m, n) * 0.3, rng.randn(n) * 0.1

    def net(layers: Any, x: Any) -> Any:
        for w, b in layers:
            outputs = np.dot(x, w) + b
            x = np.maximum(outputs, 0) + 0.1 * np.minimum(outputs, 0)
        return outputs

    def gaussian(x: Any, mean: Any, log_std: Any) -> Any:
        return np.sum(scipy.stats.norm.logpdf(x, mean, np.exp(log_std)), axis=-1)

    def loss(params: Any) -> Any:
        decoder, encoder = params
        out = net(encoder, data)
        mean, log_std = out[:, :2], out[:, 2:]
        latent = mean + np.exp(log_std) * noise
        likelihood = np.sum(-np.logaddexp(0, -data * net(decoder, latent)), axis=-1)
        return -np.mean(gaussian(latent, 0, 0) + likelihood - gaussian(latent, mean, log_std))

    params = ([layer(2, 5), layer(5, 6)], [layer(6, 5), layer(5, 4)])
    for _ in range(10):
        change = ag.grad(loss)(params)
        params = tuple(
            [(w - 0.1 * dw, b - 0.1 * db) for (w, b), (dw, db) in zip(net_, net_change, strict=True)]
            for net_, net_change in zip(params, change, strict=True)
        )
    return [loss(params), params[0][0][0], params[1][1][1]]


def gaussian_process(np: Any, ag: Any) -> list[Any]:
    rng = onp.random.RandomState(5)
    x = rng.randn(15, 1)
    y = onp.sin(2 * x[:, 0]) + 0.1 * rng.randn(15)
    new = onp.linspace(-1, 1, 3)[:, None]

    def covariance(params: Any, a: Any, b: Any) -> Any:
        apart = np.expand_dims(a / np.exp(params[1:]), 1) - np.expand_dims(b / np.exp(params[1:]), 0)
        return np.exp(params[0]) * np.exp(-0.5 * np.sum(apart**2, axis=2))

    def with_noise(params: Any) -> Any:
        return covariance(params[2:], x, x) + (np.exp(params[1]) + 0.001) * np.eye(len(y))

    def loss(params: Any) -> Any:
        return -scipy.stats.multivariate_normal.logpdf(y, params[0] * np.ones(len(y)), with_noise(params))

    def predict(params: Any, new: Any) -> Any:
        return params[0] + np.dot(covariance(params[2:], new, x), np.linalg.solve(with_noise(params), y - params[0]))

    params = np.zeros(4)
    for _ in range(10):
        value, slope = ag.value_and_grad(loss)(params)
        params = params - 0.02 * slope
    return [value, params, predict(params, new), ag.jacobian(predict)(params, new)]


def fluid(np: Any, ag: Any) -> list[Any]:
    n, rng = 10, onp.random.RandomState(7)

    def project(vx: Any, vy: Any) -> Any:
        apart = np.roll(vx, -1, axis=0) - np.roll(vx, 1, axis=0) + np.roll(vy, -1, axis=1) - np.roll(vy, 1, axis=1)
        p = np.zeros(vx.shape)
        for _ in range(6):
            around = np.roll(p, 1, axis=0) + np.roll(p, -1, axis=0) + np.roll(p, 1, axis=1) + np.roll(p, -1, axis=1)
            p = (-0.5 / n * apart + around) / 4.0
        vx = vx - 0.5 * n * (np.roll(p, -1, axis=0) - np.roll(p, 1, axis=0))
        return vx, vy - 0.5 * n * (np.roll(p, -1, axis=1) - np.roll(p, 1, axis=1))

    def advect(f: Any, vx: Any, vy: Any) -> Any:
        ys, xs = np.meshgrid(np.arange(n), np.arange(n))
        from_x, from_y = (xs - vx).ravel(), (ys - vy).ravel()
        left, top = np.floor(from_x).astype(int), np.floor(from_y).astype(int)
        right_share, bottom_share = from_x - left, from_y - top
        left, right, top, bottom = np.mod(left, n), np.mod(left + 1, n), np.mod(top, n), np.mod(top + 1, n)
        near = (1 - right_share) * ((1 - bottom_share) * f[left, top] + bottom_share * f[left, bottom])
        far = right_share * ((1 - bottom_share) * f[right, top] + bottom_share * f[right, bottom])
        return np.reshape(near + far, (n, n))

    smoke, target = rng.rand(n, n), rng.rand(n, n)

    def loss(params: Any) -> Any:
        vx, vy, now = np.reshape(params[: n * n], (n, n)), np.reshape(params[n * n :], (n, n)), smoke
        for _ in range(4):
            vx, vy = project(advect(vx, vx, vy), advect(vy, vx, vy))
            now = advect(now, vx, vy)
        return np.mean((target - now) ** 2)

    return list(ag.value_and_grad(loss)(rng.randn(2 * n * n) * 0.3))


def hidden_markov_model(np: Any, ag: Any) -> list[Any]:
    rng = onp.random.RandomState(8)
    seen = rng.randint(0, 4, 12)
    params = {"moves": rng.randn(3, 3), "shows": rng.randn(3, 4), "starts": rng.randn(3)}

    def log_likelihood(params: Any) -> Any:
        moves = params["moves"] - scipy.special.logsumexp(params["moves"], axis=1, keepdims=True)
        shows = params["shows"] - scipy.special.logsumexp(params["shows"], axis=1, keepdims=True)
        now = params["starts"] - scipy.special.logsumexp(params["starts"]) + shows[:, seen[0]]
        for letter in seen[1:]:
            now = scipy.special.logsumexp(now[:, None] + moves, axis=0) + shows[:, letter]
        return scipy.special.logsumexp(now)

    for _ in range(10):
        value, slope = ag.value_and_grad(log_likelihood)(params)
        params = {name: params[name] + 0.1 * slope[name] for name in params}
    return [value, params["moves"], params["starts"]]


def convolutional_net(np: Any, ag: Any) -> list[Any]:
    rng = onp.random.RandomState(9)
    pictures, labels = rng.randn(4, 8, 8), onp.eye(3)[[0, 2, 1, 0]]
    params = (rng.randn(2, 3, 3) * 0.3, rng.randn(18, 3) * 0.3)

    def convolved(x: Any, w: Any) -> Any:
        places = [(i, j) for i in range(3) for j in range(3)]
        return sum(
            np.expand_dims(x[:, i : i + 6, j : j + 6], 1) * w[None, :, i, j][:, :, None, None] for i, j in places
        )

    def loss(params: Any) -> Any:
        hidden = np.maximum(convolved(pictures, params[0]), 0.0)
        pooled = np.max(np.max(np.reshape(hidden, (4, 2, 3, 2, 3, 2)), axis=3), axis=4)
        out = np.dot(pooled.reshape(pooled.shape[0], -1), params[1])
        return -np.sum((out - scipy.special.logsumexp(out, axis=1, keepdims=True)) * labels)

    for _ in range(5):
        slope = ag.grad(loss)(params)
        params = (params[0] - 0.05 * slope[0], params[1] - 0.05 * slope[1])
    return [loss(params), *params]


def complex_optics(np: Any, ag: Any) -> list[Any]:
    x = onp.linspace(-1, 1, 16)
    light, target, wave = onp.exp(-4 * x**2), onp.exp(-8 * (x - 0.3) ** 2), onp.fft.fftfreq(16, x[1] - x[0])

    def loss(phase: Any) -> Any:
        field = np.fft.ifft(np.fft.fft(light * np.exp(1j * phase)) * np.exp(-1j * np.pi * 0.2 * wave**2))
        seen = np.abs(field) ** 2
        return np.sum((seen / np.sum(seen) - target / np.sum(target)) ** 2)

    phase = 0.3 * onp.cos(3 * x)
    for _ in range(10):
        phase = phase - 5.0 * ag.grad(loss)(phase)
    return [loss(phase), phase]


def hypergradient(np: Any, ag: Any) -> list[Any]:
    rng = onp.random.RandomState(14)
    x, y, other_x, other_y = rng.randn(12, 2), rng.randn(12), rng.randn(6, 2), rng.randn(6)

    def train_loss(w: Any, log_l2: Any) -> Any:
        return np.mean((np.dot(x, w) - y) ** 2) + np.exp(log_l2) * np.dot(w, w)

    def trained_loss(log_l2: Any, log_rate: Any) -> Any:
        w, speed = np.zeros(2), np.zeros(2)
        for _ in range(12):
            speed = 0.9 * speed - np.exp(log_rate) * ag.grad(train_loss)(w, log_l2)
            w = w + speed
        return np.mean((np.dot(other_x, w) - other_y) ** 2)

    slopes = [ag.grad(trained_loss, i)(-1.0, -3.0) for i in (0, 1)]
    return [trained_loss(-1.0, -3.0), *slopes, ag.grad(lambda a: ag.grad(trained_loss)(a, -3.0))(-1.0)]


def option_prices(np: Any, ag: Any) -> list[Any]:
    normal = scipy.stats.norm

    def price(spot: Any, strike: Any, time: Any, rate: Any, sigma: Any) -> Any:
        first = (np.log(spot / strike) + (rate + sigma**2 / 2) * time) / (sigma * np.sqrt(time))
        discounted = strike * np.exp(-rate * time)
        return spot * normal.cdf(first) - discounted * normal.cdf(first - sigma * np.sqrt(time))

    at = (100.0, 95.0, 0.5, 0.01, 0.25)
    greeks = [ag.grad(price, i)(*at) for i in (0, 2, 3, 4)]
    return [price(*at), np.array(greeks), ag.grad(ag.grad(price))(*at)]


PROGRAMS: list[Program] = [
    *(variational_autoencoder, gaussian_process, fluid, hidden_markov_model, convolutional_net, complex_optics),
    *(hypergradient, option_prices),
]


def digest(results: list[Any]) -> Iterator[float]:
    """One number for each result."""
    for result in results:
        numbers = onp.ravel(onp.asarray(result))
        yield float(onp.sum(numbers * onp.cos(onp.arange(numbers.size))))


def run(np: Any, transforms: Any) -> dict[str, list[float]]:
    """All programs, with these modules in place of autograd's."""
    ag = SimpleNamespace(**{name: getattr(transforms, name) for name in ("grad", "jacobian", "value_and_grad")})
    return {program.__name__: list(digest(program(np, ag))) for program in PROGRAMS}


EXPECTED: dict[str, list[float]] = {
    "variational_autoencoder": [3.66225145837, 0.0169418865343, -0.121154603976],
    "gaussian_process": [13.0015003733, -0.387985704341, -1.02159462804, -0.0690695384659],
    "fluid": [0.119985835965, 0.00248012225056],
    "hidden_markov_model": [-15.1676777045, -3.40525524099, -0.519362611457],
    "convolutional_net": [0.810350373904, 1.5959204247, -0.352106054368],
    "complex_optics": [0.0433730742567, -2.22199753055],
    "hypergradient": [1.29796615924, 0.0568175154325, 0.0592958016034, 0.0445605555128],
    "option_prices": [9.93076145316, -32.8650784325, 0.0207751727109],
}
"""The digests of autograd 1.9.1."""
