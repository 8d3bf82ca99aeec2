"""GradBench's evals saddle and particle: minima of functions that contain derivatives themselves.

A derivative is taken forward (`jvp` along each axis) or in reverse (`grad`). The name of a function of the suite says
how: `fr` takes the outer one forward and the inner one in reverse. Loops are `tf.while_loop`, so a graph has them as
nodes, and derivatives go through them.

Source: J. Siskind and B. Pearlmutter (2008), Using programming language theory to make automatic differentiation sound
and efficient; the rule for the length of steps is theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Vector = Any
Scalar = Callable[[Vector], Any]
SMALL, TIME_STEP = 1e-5, 0.1


def slope_by(tf: Any, way: str, f: Scalar, x: Vector) -> Vector:
    """The gradient of `f` at `x`, forward or in reverse, as a tensor that outer derivatives may go through."""
    if way == "r":
        return tf.transforms.grad(f)(x)
    axes = tf.unstack(tf.eye(x.shape.as_list()[0], dtype=x.dtype))
    return tf.stack([tf.transforms.jvp(f, (x,), (axis,))[1] for axis in axes])


def argmin(tf: Any, way: str, f: Scalar, start: Vector) -> Vector:
    """The minimum of `f` by gradient descent, whose steps grow after ten successes and shrink after a failure."""

    def unfinished(x: Any, fx: Any, slope: Any, rate: Any, successes: Any, done: Any) -> Any:
        return tf.logical_not(done)

    def step(x: Any, fx: Any, slope: Any, rate: Any, successes: Any, done: Any) -> Any:
        rate, successes = tf.where(successes >= 10, 2.0 * rate, rate), tf.where(successes >= 10, 0, successes)
        ahead = x - rate * slope
        near = tf.reduce_sum((x - ahead) ** 2) <= SMALL**2
        there = f(ahead)
        better = tf.logical_and(there < fx, tf.logical_not(near))
        x, fx = tf.where(better, ahead, x), tf.where(better, there, fx)
        slope = slope_by(tf, way, f, x)
        done = tf.logical_or(near, tf.reduce_sum(slope * slope) <= SMALL**2)
        rate, successes = tf.where(better, rate, 0.5 * rate), tf.where(better, successes + 1, 0)
        return x, fx, slope, rate, successes, done

    first = (start, f(start), slope_by(tf, way, f, start))
    counters = (tf.constant(SMALL, start.dtype), tf.constant(0), tf.constant(False))
    return tf.while_loop(unfinished, step, (*first, *counters))[0]


def saddle(tf: Any, start: Vector, outer: str, inner: str) -> Vector:
    """The point p that minimizes the largest ``|p|**2 - |r|**2``, and that r: found by descents within descents."""

    def value(p: Vector, r: Vector) -> Any:
        return tf.reduce_sum(p * p) - tf.reduce_sum(r * r)

    def largest(p: Vector) -> Any:
        return value(p, argmin(tf, inner, lambda r: -value(p, r), start))

    first = argmin(tf, outer, largest, start)
    second = argmin(tf, outer, lambda r: -value(first, r), start)
    return tf.concat([first, second], 0)


def miss(tf: Any, w: Vector, inner: str) -> Any:
    """The square of where a charged particle meets the axis, by Euler's method and a last step that is cut."""
    ten, zero = tf.constant(10.0, w.dtype), tf.constant(0.0, w.dtype)
    charges = [tf.stack([ten, 10.0 - w[0]]), tf.stack([ten, zero])]

    def potential(x: Vector) -> Any:
        return tf.add_n([1.0 / tf.sqrt(tf.reduce_sum((x - charge) * (x - charge))) for charge in charges])

    def above(x: Vector, speed: Vector) -> Any:
        return (x + TIME_STEP * speed)[1] > 0.0

    def step(x: Vector, speed: Vector) -> Any:
        return x + TIME_STEP * speed, speed - TIME_STEP * slope_by(tf, inner, potential, x)

    at_first = tf.constant([0.0, 8.0], w.dtype), tf.constant([0.75, 0.0], w.dtype)
    x, speed = tf.while_loop(above, step, at_first)
    landed = x - x[1] / speed[1] * speed
    return landed[0] * landed[0]


def particle(tf: Any, start: Vector, outer: str, inner: str) -> Any:
    """The control of one of two charges that makes the particle meet the origin, ``[1]``."""
    return argmin(tf, outer, lambda w: miss(tf, w, inner), start)
