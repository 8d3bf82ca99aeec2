"""Simulations from the field's lists of problems: differential equations, particles, robots, games.

They were written before anything was tuned for them. Most derivatives by hand are computed along with the simulation:
beside each state stands its derivative with respect to the inputs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.problems.field import row
from bench.problems.problem import Size, Values, field_problem
from bench.problems.rotation import matrices
from engine.core.operands import Operand

# ---- an ordinary differential equation (GradBench's ode) -------------------------------------------------------------

RUNGE_KUTTA = 8
"""Steps from time 0 to time 1."""


def ode(tf: Any, rates: Any, start: Any) -> Operand:
    """The end of a cascade, in which each state grows with the one before it, by Runge and Kutta's method."""
    step = 1 / RUNGE_KUTTA

    def change(state: Any) -> Operand:
        return rates * tf.concat([start[:1] + 1.0, state[:-1]], 0) - 0.5 * state * state

    state = start
    for _ in range(RUNGE_KUTTA):
        first = change(state)
        second = change(state + (step / 2) * first)
        third = change(state + (step / 2) * second)
        fourth = change(state + step * third)
        state = state + (step / 6) * (first + 2.0 * second + 2.0 * third + fourth)
    return state


def ode_jacobian(rates: Any, start: Any) -> np.ndarray:
    """The states' own derivatives, taken along."""
    n, step = len(rates), 1 / RUNGE_KUTTA

    def change(state: Any, by: Any) -> tuple[np.ndarray, np.ndarray]:
        before = np.concatenate([start[:1] + 1, state[:-1]])
        moved = np.concatenate([np.zeros((1, n)), by[:-1]])
        return rates * before - 0.5 * state**2, np.diag(before) + rates[:, None] * moved - state[:, None] * by

    state, by = start, np.zeros((n, n))
    for _ in range(RUNGE_KUTTA):
        changes = [change(state, by)]
        for length in (step / 2, step / 2, step):
            last, of_last = changes[-1]
            changes.append(change(state + length * last, by + length * of_last))
        state, by = (
            x + step / 6 * (a + 2 * b + 2 * c + d)
            for x, (a, b, c, d) in zip((state, by), zip(*changes, strict=True), strict=True)
        )
    return by


ODE = field_problem(
    function=ode,
    inputs=lambda size, rng: (rng.uniform(0.5, 1.5, size), 0.1 * rng.normal(size=size)),
    expected=ode_jacobian,
    quick=((10,),),
    full=((100,),),
)

# ---- a game: the best answer, found step by step (GradBench's saddle) ------------------------------------------------

ANSWERS, RATE = 20, 0.1


def saddle(tf: Any, x: Any, matrix: Any) -> Operand:
    """The loss from playing x (a column) if the other side climbs to its best answer."""
    pull = tf.matmul(matrix, x)
    y = 0.0 * pull
    for _ in range(ANSWERS):
        y = y + RATE * (pull - y - y * y * y)
    return tf.reduce_sum(0.5 * x * x) + tf.reduce_sum(y * pull - 0.5 * y * y - 0.25 * y * y * y * y)


def saddle_gradient(x: Any, matrix: Any) -> np.ndarray:
    """Back through the climb."""
    pull = matrix @ x
    answers = [np.zeros_like(pull)]
    for _ in range(ANSWERS):
        y = answers[-1]
        answers.append(y + RATE * (pull - y - y**3))
    y = answers.pop()
    of_pull, of_y = y, pull - y - y**3
    for y in reversed(answers):
        of_pull = of_pull + RATE * of_y
        of_y = of_y * (1 - RATE - 3 * RATE * y**2)
    return row(x + matrix.T @ of_pull)


SADDLE = field_problem(
    function=saddle,
    inputs=lambda size, rng: (rng.normal(size=(size[0], 1)), rng.normal(size=(size[1], size[0])) / np.sqrt(size[0])),
    expected=saddle_gradient,
    quick=((10, 8),),
    full=((400, 500),),
)

# ---- a particle among charges (GradBench's particle) -----------------------------------------------------------------

FLIGHT, MOMENT = 20, 0.1
"""Steps, and how long one is."""


def particle(tf: Any, charges: Any, place: Any, speed: Any) -> Operand:
    """How far from the axis a particle ends that flies past charges; `place` and `speed` are rows."""
    count = int(charges.shape[0])
    for _ in range(FLIGHT):
        away = place - charges
        square = tf.reduce_sum(away * away, 1)
        push = away / tf.reshape(square * tf.sqrt(square), [count, 1])
        speed = speed + MOMENT * tf.reshape(tf.reduce_sum(push, 0), [1, 2])
        place = place + MOMENT * speed
    return tf.reduce_sum(place[:, 1:] * place[:, 1:])


def particle_gradient(charges: Any, place: Any, speed: Any) -> np.ndarray:
    """How place and speed depend on each charge, taken along: arrays of (2, charges, 2)."""
    place, speed = place[0], speed[0]
    of_place = of_speed = np.zeros((2, *charges.shape))
    for _ in range(FLIGHT):
        away = place - charges
        square = (away**2).sum(1)
        # of each push, with respect to the way from the charge
        slope = np.eye(2) / square[:, None, None] ** 1.5
        slope = slope - 3 * away[:, :, None] * away[:, None, :] / square[:, None, None] ** 2.5
        moved = np.einsum("kij,jcd->icd", slope, of_place) - np.einsum("kij->ikj", slope)
        speed, of_speed = speed + MOMENT * (away / square[:, None] ** 1.5).sum(0), of_speed + MOMENT * moved
        place, of_place = place + MOMENT * speed, of_place + MOMENT * of_speed
    return row(2 * place[1] * of_place[1])


def _particle_inputs(size: Size, rng: np.random.Generator) -> Values:
    along, across = rng.uniform(0, 2, size), 3 * rng.choice([-1.0, 1.0], size)
    charges = np.stack([along, across], 1) + 0.3 * rng.normal(size=(*size, 2))
    return charges, np.array([[0.0, 0.5]]), np.array([[1.0, 0.0]])


PARTICLE = field_problem(
    function=particle, inputs=_particle_inputs, expected=particle_gradient, quick=((2,),), full=((100,),)
)

# ---- bodies that attract each other ----------------------------------------------------------------------------------

ORBIT, SOFTENING = 5, 0.1


def n_body(tf: Any, places: Any, speeds: Any, masses: Any) -> Operand:
    """Where bodies are, and how fast, after some leaps; `masses` are a row of (1, n, 1)."""
    n = int(places.shape[0])

    def pull(places: Any) -> Operand:
        between = tf.reshape(places, [1, n, 3]) - tf.reshape(places, [n, 1, 3])
        square = tf.reduce_sum(between * between, 2) + SOFTENING
        return tf.reduce_sum(masses * between / tf.reshape(square * tf.sqrt(square), [n, n, 1]), 1)

    for _ in range(ORBIT):
        places = places + (MOMENT / 2) * speeds
        speeds = speeds + MOMENT * pull(places)
        places = places + (MOMENT / 2) * speeds
    return tf.concat([places, speeds], 0)


def n_body_jacobian(places: Any, speeds: Any, masses: Any) -> np.ndarray:
    """The derivatives of places and speeds, taken along."""
    n, weights = len(places), masses[0, :, 0]
    by = np.eye(6 * n)
    of_places, of_speeds = by[: 3 * n], by[3 * n :]
    for _ in range(ORBIT):
        places, of_places = places + MOMENT / 2 * speeds, of_places + MOMENT / 2 * of_speeds
        between = places[None] - places[:, None]
        square = (between**2).sum(2) + SOFTENING
        slope = square[..., None, None] ** -1.5 * np.eye(3)
        slope = slope - 3 * square[..., None, None] ** -2.5 * between[..., :, None] * between[..., None, :]
        slope = weights[:, None, None] * slope
        blocks = np.einsum("ijab->iajb", slope).copy()
        for i in range(n):
            blocks[i, :, i] -= slope[i].sum(0)
        speeds = speeds + MOMENT * (weights[:, None] * between * square[..., None] ** -1.5).sum(1)
        of_speeds = of_speeds + MOMENT * blocks.reshape(3 * n, 3 * n) @ of_places
        places, of_places = places + MOMENT / 2 * speeds, of_places + MOMENT / 2 * of_speeds
    return np.concatenate([of_places, of_speeds])


N_BODY = field_problem(
    function=n_body,
    inputs=lambda size, rng: (
        rng.normal(size=(*size, 3)),
        0.3 * rng.normal(size=(*size, 3)),
        rng.uniform(0.5, 1.5, (1, *size, 1)),
    ),
    expected=n_body_jacobian,
    sources=2,
    quick=((4,),),
    full=((20,),),
)

# ---- a robot's arm in space ------------------------------------------------------------------------------------------

AROUND = np.zeros((3, 4, 4))
"""A turn around the third axis, as a sum: what stays, what the cosine and what the sine multiplies."""
AROUND[0, 2, 2] = AROUND[0, 3, 3] = AROUND[1, 0, 0] = AROUND[1, 1, 1] = AROUND[2, 1, 0] = 1
AROUND[2, 0, 1] = -1


def robot(tf: Any, angles: Any, around: Any, links: Any) -> Operand:
    """Where the hand of a robot is and where it points, from the angles of its joints (n, 1, 1) and its links."""
    turns = around[0] + tf.cos(angles) * around[1] + tf.sin(angles) * around[2]
    frame, *others = tf.unstack(tf.matmul(turns, links))
    for step in others:
        frame = tf.matmul(frame, step)
    return tf.concat([frame[:3, 3:], frame[:3, 2:3]], 0)


def robot_jacobian(angles: Any, around: Any, links: Any) -> np.ndarray:
    """Geometry: a joint turns what is behind it around its axis."""
    frames = [np.eye(4)]
    for angle, link in zip(angles.ravel(), links, strict=True):
        turn = around[0] + np.cos(angle) * around[1] + np.sin(angle) * around[2]
        frames.append(frames[-1] @ turn @ link)
    hand, direction = frames[-1][:3, 3], frames[-1][:3, 2]
    columns = [
        np.concatenate([np.cross(f[:3, 2], hand - f[:3, 3]), np.cross(f[:3, 2], direction)]) for f in frames[:-1]
    ]
    return np.stack(columns, axis=1)


def _robot_inputs(size: Size, rng: np.random.Generator) -> Values:
    links = np.broadcast_to(np.eye(4), (*size, 4, 4)).copy()
    links[:, :3, :3] = matrices(rng.normal(size=(*size, 3)))
    links[:, :3, 3] = 0.3 * rng.normal(size=(*size, 3))
    return rng.normal(size=(*size, 1, 1)), AROUND, links


ROBOT = field_problem(function=robot, inputs=_robot_inputs, expected=robot_jacobian, quick=((7,),), full=((60,),))

# ---- the price of an option ------------------------------------------------------------------------------------------

SHARPNESS = 50.0
"""How sharply a payoff bends."""


def option(tf: Any, model: Any, noise: Any) -> Operand:
    """The mean payoff over paths of a price with a volatility of its own; `noise` is (steps, 2, paths).

    The five numbers of the model: volatility (its logarithm) at first and in the long run, how fast it returns, how
    much it varies, and what its noise has to do with the price's.
    """
    steps = int(noise.shape[0])
    moment = 1 / steps
    volatility, mean, speed, spread, common = tf.unstack(model)
    own = tf.sqrt(1.0 - common * common)
    price = 0.0 * noise[0, 0]
    for t in range(steps):
        shaken = common * noise[t, 0] + own * noise[t, 1]
        size = tf.exp(volatility)
        price = price - (0.5 * moment) * size * size + moment**0.5 * size * shaken
        volatility = volatility + moment * speed * (mean - volatility) + moment**0.5 * spread * noise[t, 0]
    return tf.reduce_mean(tf.nn.softplus(SHARPNESS * (tf.exp(price) - 1.0))) * (1 / SHARPNESS)


def option_gradient(model: Any, noise: Any) -> np.ndarray:
    """The derivatives of volatility and price, taken along each path."""
    moment = 1 / len(noise)
    start, mean, speed, spread, common = model
    own = np.sqrt(1 - common**2)
    volatility = np.full(noise.shape[2], start)
    price = np.zeros_like(volatility)
    of_volatility, of_price = np.zeros((2, 5, len(price)))
    of_volatility[0] = 1
    for first, second in noise:
        size, shaken = np.exp(volatility), common * first + own * second
        of_price = of_price + (moment**0.5 * size * shaken - moment * size**2) * of_volatility
        of_price[4] += moment**0.5 * size * (first - common / own * second)
        price = price - 0.5 * moment * size**2 + moment**0.5 * size * shaken
        of_volatility = of_volatility * (1 - moment * speed)
        of_volatility[1:4] += np.stack(
            [np.full_like(first, moment * speed), moment * (mean - volatility), moment**0.5 * first]
        )
        volatility = volatility + moment * speed * (mean - volatility) + moment**0.5 * spread * first
    slope = np.exp(price) / (1 + np.exp(-SHARPNESS * (np.exp(price) - 1)))
    return row((slope * of_price).mean(1))


OPTION = field_problem(
    function=option,
    inputs=lambda size, rng: (np.array([-1.5, -1.2, 2.0, 0.5, -0.6]), rng.normal(size=(size[0], 2, size[1]))),
    expected=option_gradient,
    quick=((12, 50),),
    full=((50, 5000),),
)
