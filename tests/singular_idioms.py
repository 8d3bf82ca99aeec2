"""Functions with a singular point on the way, each beside a smooth one that has the same derivatives there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Function = Callable[..., Any]
inf = np.inf
KEEP = np.array([False, True])
THREE = np.array([False, True, True])
"""Of three elements, the first is not chosen."""


@dataclass(frozen=True)
class Idiom:
    """A function with a singular point on the way, and a smooth one that has the same derivatives.

    Attributes
    ----------
    name : str
    fn, same : callable
        Of a front end and a vector.
    at : tuple of float
    nan : tuple of int
        The elements of the point by which derivatives may be NaN instead of those of `same`.
    """

    name: str
    fn: Function
    same: Function
    at: tuple[float, ...] = (0.0, 0.25)
    nan: tuple[int, ...] = ()


def computed(name: str, fn: Function, same: Function, at: tuple[float, ...] = (0.0, 0.25)) -> Idiom:
    """No choice is on the way: at a singular first element, NaN is allowed."""
    return Idiom(name, fn, same, at, (0,))


def unchosen(name: str, fn: Function, same: Function, at: tuple[float, ...] = (0.0, 0.25)) -> Idiom:
    """The first element is not chosen: `same` is a function of the second alone, and NaN is never allowed."""
    return Idiom(name, fn, lambda tf, x: same(tf, x + np.array([1.0, 0.0])) * np.array([0.0, 1.0]), at)


def rows(tf: Any, *parts: Any) -> Any:
    return tf.stack(parts, -1)


def log(tf: Any, x: Any) -> Any:
    return tf.math.log(x)


def sqrt(tf: Any, x: Any) -> Any:
    return tf.sqrt(x)


def root_of_second(tf: Any, x: Any) -> Any:
    """The root of the second element; the first one plays no part."""
    return tf.sqrt(x + np.array([5.0, 0.0])) * np.array([0.0, 1.0])


def itself(tf: Any, x: Any) -> Any:
    return tf.identity(x)


def squared(tf: Any, x: Any) -> Any:
    return x * x


def series(x: Any, sign: float) -> Any:
    """``cosh(sqrt(x))``, or with sign -1 ``cos(sqrt(x))``, by its Taylor series."""
    total, term = 1.0, 1.0
    for k in range(1, 12):
        term = term * (sign * x) / ((2 * k - 1) * (2 * k))
        total = total + term
    return total


COMPUTED = [
    computed("square of a root", lambda tf, x: tf.square(tf.sqrt(x)), itself),
    computed("power 2 of a root", lambda tf, x: tf.sqrt(x) ** 2, itself),
    computed("power 2.0 of a root", lambda tf, x: tf.sqrt(x) ** 2.0, itself),
    computed("root times root", lambda tf, x: tf.sqrt(x) * tf.sqrt(x), itself),
    computed("cube of a root", lambda tf, x: tf.sqrt(x) ** 3, lambda tf, x: x**1.5),
    computed("fourth power of a fourth root", lambda tf, x: (x**0.25) ** 4, itself),
    computed("fourth power of a root", lambda tf, x: tf.sqrt(x) ** 4, squared),
    computed("power -2 of rsqrt", lambda tf, x: tf.math.rsqrt(x) ** -2, itself),
    computed("a number times its root", lambda tf, x: x * tf.sqrt(x), lambda tf, x: x**1.5),
    computed("exp of log", lambda tf, x: tf.exp(tf.math.log(x)), itself),
    computed("expm1 of log", lambda tf, x: tf.math.expm1(tf.math.log(x)), itself),
    computed("exp of twice the log", lambda tf, x: tf.exp(2.0 * tf.math.log(x)), squared),
    computed(
        "exp of a sum of logs", lambda tf, x: tf.exp(tf.math.log(x) + tf.math.log(x + 1.0)), lambda tf, x: x * (x + 1.0)
    ),
    computed("sigmoid of log", lambda tf, x: tf.sigmoid(tf.math.log(x)), lambda tf, x: x / (x + 1.0)),
    computed("tanh of log", lambda tf, x: tf.tanh(tf.math.log(x)), lambda tf, x: (x * x - 1.0) / (x * x + 1.0)),
    computed("tanh of half a log", lambda tf, x: tf.tanh(0.5 * tf.math.log(x)), lambda tf, x: (x - 1.0) / (x + 1.0)),
    computed("softplus of log", lambda tf, x: tf.math.softplus(tf.math.log(x)), lambda tf, x: tf.math.log(1.0 + x)),
    computed("elu of log", lambda tf, x: tf.nn.elu(tf.math.log(x)), lambda tf, x: x - 1.0),
    computed(
        "log-sigmoid of minus log",
        lambda tf, x: tf.math.log_sigmoid(-tf.math.log(x)),
        lambda tf, x: -tf.math.log(1.0 + x),
    ),
    computed("reciprocal twice", lambda tf, x: 1.0 / (1.0 / x), itself),
    computed("reciprocal op twice", lambda tf, x: tf.math.reciprocal(tf.math.reciprocal(x)), itself),
    computed("power -1 twice", lambda tf, x: (x**-1.0) ** -1.0, itself),
    computed("one by one plus reciprocal", lambda tf, x: 1.0 / (1.0 + 1.0 / x), lambda tf, x: x / (1.0 + x)),
    computed("arctangent of a reciprocal", lambda tf, x: tf.atan(1.0 / x), lambda tf, x: 0.5 * np.pi - tf.atan(x)),
    computed("tanh of atanh", lambda tf, x: tf.tanh(tf.math.atanh(1.0 - x)), lambda tf, x: 1.0 - x),
    computed("cos of acos", lambda tf, x: tf.cos(tf.acos(1.0 - x)), lambda tf, x: 1.0 - x),
    computed("cosh of acosh", lambda tf, x: tf.cosh(tf.math.acosh(1.0 + x)), lambda tf, x: 1.0 + x),
    computed(
        "squared sine of a root",
        lambda tf, x: tf.sin(tf.sqrt(x)) ** 2,
        lambda tf, x: 0.5 * (1.0 - series(4.0 * x, -1.0)),
    ),
    computed("cosh of a root", lambda tf, x: tf.cosh(tf.sqrt(x)), lambda tf, x: series(x, 1.0)),
    computed("cos of a root", lambda tf, x: tf.cos(tf.sqrt(x)), lambda tf, x: series(x, -1.0)),
    computed("a constant zero times a root", lambda tf, x: 0.0 * tf.sqrt(x), lambda tf, x: 0.0 * x),
    computed(
        "a mask of numbers times a root",
        lambda tf, x: tf.sqrt(x) * np.array([0.0, 1.0]),
        lambda tf, x: (x + np.array([1.0, 0.0])) ** 0.5 * np.array([0.0, 1.0]),
    ),
    computed(
        "a computed mask times a log",
        lambda tf, x: tf.sqrt(x) * tf.cast(x > 0, tf.float64),
        lambda tf, x: (x + np.array([1.0, 0.0])) ** 0.5 * np.array([0.0, 1.0]),
    ),
    # through sums, products and what moves data
    computed(
        "logsumexp of logs",
        lambda tf, x: tf.reduce_logsumexp(rows(tf, tf.math.log(x), tf.zeros_like(x)), -1),
        lambda tf, x: tf.math.log(1.0 + x),
    ),
    computed(
        "a mixture of log weights",
        lambda tf, x: tf.reduce_logsumexp(tf.math.log(x) + np.array([8.0, -3.0])),
        lambda tf, x: tf.math.log(tf.reduce_sum(x * np.exp([8.0, -3.0]))),
    ),
    computed("softmax of logs", lambda tf, x: tf.nn.softmax(tf.math.log(x)), lambda tf, x: x / tf.reduce_sum(x)),
    computed(
        "log-softmax beside a log",
        lambda tf, x: tf.nn.log_softmax(rows(tf, tf.math.log(x), tf.zeros_like(x)))[:, 1],
        lambda tf, x: -tf.math.log(1.0 + x),
    ),
    computed(
        "cross entropy of logs",
        lambda tf, x: tf.nn.softmax_cross_entropy_with_logits(labels=np.array([0.0, 1.0]), logits=tf.math.log(x)),
        lambda tf, x: tf.math.log(tf.reduce_sum(x)) - tf.math.log(x[1]),
    ),
    computed(
        "sigmoid cross entropy of a log",
        lambda tf, x: tf.nn.sigmoid_cross_entropy_with_logits(labels=np.zeros(2), logits=tf.math.log(x)),
        lambda tf, x: tf.math.log(1.0 + x),
    ),
    computed(
        "sum of squared roots", lambda tf, x: tf.reduce_sum(tf.square(tf.sqrt(x))), lambda tf, x: tf.reduce_sum(x)
    ),
    computed(
        "half a sum of squared roots", lambda tf, x: tf.nn.l2_loss(tf.sqrt(x)), lambda tf, x: 0.5 * tf.reduce_sum(x)
    ),
    computed(
        "inner product of roots", lambda tf, x: tf.tensordot(tf.sqrt(x), tf.sqrt(x), 1), lambda tf, x: tf.reduce_sum(x)
    ),
    computed(
        "matrix product of roots",
        lambda tf, x: tf.matmul(tf.sqrt(x)[None], tf.sqrt(x)[:, None]),
        lambda tf, x: tf.reduce_sum(x),
    ),
    computed("einsum of roots", lambda tf, x: tf.einsum("i,i->i", tf.sqrt(x), tf.sqrt(x)), itself),
    computed("product of roots", lambda tf, x: tf.reduce_prod(rows(tf, tf.sqrt(x), tf.sqrt(x)), -1), itself),
    computed(
        "squared difference from a root", lambda tf, x: tf.math.squared_difference(tf.sqrt(x), tf.zeros_like(x)), itself
    ),
    computed("running sum of exp of log", lambda tf, x: tf.cumsum(tf.exp(tf.math.log(x))), lambda tf, x: tf.cumsum(x)),
    computed(
        "exp of a reversed log", lambda tf, x: tf.exp(tf.reverse(tf.math.log(x), [0])), lambda tf, x: tf.reverse(x, [0])
    ),
    computed(
        "segment sum of exp of log",
        lambda tf, x: tf.math.segment_sum(tf.exp(tf.math.log(x)), [0, 0]),
        lambda tf, x: tf.reduce_sum(x),
    ),
    computed(
        "mean of a repeated exp of log",
        lambda tf, x: tf.reduce_mean(tf.exp(tf.tile(tf.math.log(x), [2]))),
        lambda tf, x: tf.reduce_mean(x),
    ),
    computed(
        "exp of a gathered log",
        lambda tf, x: tf.exp(tf.gather(tf.math.log(x), [0, 0, 1])),
        lambda tf, x: tf.gather(x, [0, 0, 1]),
    ),
    computed("map_fn of exp of log", lambda tf, x: tf.map_fn(lambda e: tf.exp(tf.math.log(e)), x), itself),
    computed(
        "scan of exp of log",
        lambda tf, x: tf.scan(lambda a, e: a + tf.exp(tf.math.log(e)), x, initializer=tf.zeros([], tf.float64)),
        lambda tf, x: tf.cumsum(x),
    ),
    computed(
        "a real part of exp of log", lambda tf, x: tf.math.real(tf.cast(tf.exp(tf.math.log(x)), tf.complex128)), itself
    ),
]

UNCHOSEN = [
    unchosen("where, a root", lambda tf, x: tf.where(x > 0, tf.sqrt(x), tf.zeros_like(x)), sqrt),
    unchosen("where, a log", lambda tf, x: tf.where(x > 0, tf.math.log(x), tf.zeros_like(x)), log),
    unchosen("where, exp of log", lambda tf, x: tf.where(x > 0, tf.exp(tf.math.log(x)), tf.zeros_like(x)), itself),
    unchosen("where, a reciprocal", lambda tf, x: tf.where(x > 0, 1.0 / x, tf.zeros_like(x)), lambda tf, x: 1.0 / x),
    unchosen(
        "where, else",
        lambda tf, x: tf.where(x <= 0, tf.zeros_like(x), tf.sqrt(x) * tf.math.log(x)),
        lambda tf, x: sqrt(tf, x) * log(tf, x),
    ),
    unchosen(
        "where, then a product",
        lambda tf, x: 3.0 * tf.where(x > 0, tf.sqrt(x), tf.zeros_like(x)) + 1.0,
        lambda tf, x: 3.0 * sqrt(tf, x),
    ),
    unchosen(
        "where, then a sine",
        lambda tf, x: tf.sin(tf.where(x > 0, tf.sqrt(x), tf.zeros_like(x))),
        lambda tf, x: tf.sin(sqrt(tf, x)),
    ),
    unchosen(
        "where, then a root of it",
        lambda tf, x: tf.sqrt(tf.where(x > 0, tf.sqrt(x), tf.zeros_like(x))),
        lambda tf, x: sqrt(tf, sqrt(tf, x)),
    ),
    unchosen(
        "where twice",
        lambda tf, x: tf.where(x > 0, tf.math.log(tf.where(x > 0, x, tf.ones_like(x))), tf.zeros_like(x)),
        log,
    ),
    unchosen("a root of where", lambda tf, x: tf.sqrt(tf.where(x > 0, x, tf.zeros_like(x))), sqrt),
    unchosen("maximum", lambda tf, x: tf.maximum(tf.sqrt(x), 0.1), sqrt),
    unchosen("maximum, second", lambda tf, x: tf.maximum(np.float64(0.1), tf.sqrt(x)), sqrt),
    unchosen("minimum", lambda tf, x: tf.minimum(1.0 / x, 9.0), lambda tf, x: 1.0 / x),
    unchosen("relu of a shifted root", lambda tf, x: tf.nn.relu(tf.sqrt(x) - 0.1), sqrt),
    unchosen("relu of a log", lambda tf, x: tf.nn.relu(tf.math.log(x)), log, (0.0, 2.5)),
    unchosen("relu6 of a log", lambda tf, x: tf.nn.relu6(tf.math.log(x)), log, (0.0, 2.5)),
    unchosen("a root of relu", lambda tf, x: tf.sqrt(tf.nn.relu(x)), sqrt),
    unchosen("a root of a negative relu", lambda tf, x: tf.sqrt(tf.nn.relu(x)), root_of_second, (-1.0, 0.25)),
    unchosen("a clipped log", lambda tf, x: tf.clip_by_value(tf.math.log(x), -5.0, 5.0), log),
    unchosen("a root of a clip", lambda tf, x: tf.sqrt(tf.clip_by_value(x, 0.0, 1.0)), root_of_second, (-1.0, 0.25)),
    unchosen("divide_no_nan", lambda tf, x: tf.math.divide_no_nan(np.ones(2), tf.sqrt(x)), lambda tf, x: x**-0.5),
    unchosen(
        "reduce_max of a pair", lambda tf, x: tf.reduce_max(rows(tf, tf.sqrt(x), 0.1 * tf.ones_like(x)), -1), sqrt
    ),
    unchosen(
        "reduce_min of a pair",
        lambda tf, x: tf.reduce_min(rows(tf, 1.0 / x, 9.0 * tf.ones_like(x)), -1),
        lambda tf, x: 1.0 / x,
    ),
    Idiom("max of roots", lambda tf, x: tf.reduce_max(tf.sqrt(x)), lambda tf, x: tf.sqrt(x[1])),
    Idiom("a slice of roots", lambda tf, x: tf.sqrt(x)[1:], lambda tf, x: tf.sqrt(x[1:])),
    Idiom("an element of logs", lambda tf, x: tf.math.log(x)[1], lambda tf, x: tf.math.log(x[1])),
    Idiom(
        "a gather of roots",
        lambda tf, x: tf.gather(tf.sqrt(x), [1, 1]),
        lambda tf, x: tf.gather(tf.sqrt(x[1:]), [0, 0]),
    ),
    Idiom("a mask of roots", lambda tf, x: tf.boolean_mask(tf.sqrt(x), x > 0), lambda tf, x: tf.sqrt(x[1:])),
    Idiom("a mask of exp of log", lambda tf, x: tf.boolean_mask(tf.exp(tf.math.log(x)), x > 0), lambda tf, x: x[1:]),
    Idiom("a split of roots", lambda tf, x: tf.split(tf.sqrt(x), 2)[1], lambda tf, x: tf.sqrt(x[1:])),
    Idiom("an unstack of roots", lambda tf, x: tf.unstack(tf.sqrt(x), 2)[1], lambda tf, x: tf.sqrt(x[1])),
    Idiom("the largest of sorted roots", lambda tf, x: tf.sort(tf.sqrt(x))[1:], lambda tf, x: tf.sqrt(x[1:])),
    Idiom("top_k of logs", lambda tf, x: tf.math.top_k(tf.math.log(x), 1)[0], lambda tf, x: tf.math.log(x[1:])),
    Idiom("segment_max of roots", lambda tf, x: tf.math.segment_max(tf.sqrt(x), [0, 0]), lambda tf, x: tf.sqrt(x[1:])),
    Idiom(
        "a sum of a slice of squares of roots",
        lambda tf, x: tf.reduce_sum(tf.square(tf.sqrt(x))[1:]),
        lambda tf, x: tf.reduce_sum(x[1:]),
    ),
    Idiom(
        "partitions of roots",
        lambda tf, x: tf.dynamic_partition(tf.sqrt(x), [0, 1], 2)[1],
        lambda tf, x: tf.sqrt(x[1:]),
    ),
    Idiom(
        "an update over roots",
        lambda tf, x: tf.tensor_scatter_nd_update(tf.sqrt(x), [[0]], tf.zeros([1], tf.float64)),
        lambda tf, x: tf.concat([tf.zeros([1], tf.float64), tf.sqrt(x[1:])], 0),
    ),
    Idiom(
        "a diagonal of roots",
        lambda tf, x: tf.linalg.diag_part(tf.reshape(tf.sqrt(tf.tile(x, [2])), [2, 2]))[1:],
        lambda tf, x: tf.sqrt(x[1:]),
    ),
    Idiom(
        "a triangle of roots",
        lambda tf, x: tf.reduce_sum(tf.linalg.band_part(tf.sqrt(tf.gather(x, [[1, 1], [0, 1]])), 0, -1)),
        lambda tf, x: 3.0 * tf.sqrt(x[1]),
    ),
    Idiom(
        "pooled roots",
        lambda tf, x: tf.nn.max_pool2d(tf.reshape(tf.sqrt(x), [1, 1, 2, 1]), [1, 2], 1, "VALID"),
        lambda tf, x: tf.sqrt(x[1]),
    ),
]

BOTH = [
    # of three elements the first is not chosen, the second is; at both a zero meets an infinity
    Idiom(
        "where over exp of log",
        lambda tf, x: tf.where(THREE, tf.exp(tf.math.log(x)), tf.zeros_like(x)),
        lambda tf, x: x * THREE,
        (0.0, 0.0, 0.25),
        (1,),
    ),
    Idiom(
        "exp of where over log",
        lambda tf, x: tf.exp(tf.where(THREE, tf.math.log(x), tf.zeros_like(x))),
        lambda tf, x: x * THREE,
        (0.0, 0.0, 0.25),
        (1,),
    ),
    Idiom(
        "where over a squared root",
        lambda tf, x: 2.0 * tf.where(THREE, tf.square(tf.sqrt(x)), tf.zeros_like(x)),
        lambda tf, x: 2.0 * x * THREE,
        (0.0, 0.0, 0.25),
        (1,),
    ),
    Idiom(
        "where over a reversed squared root",
        lambda tf, x: tf.where(THREE[::-1], tf.reverse(tf.square(tf.sqrt(x)), [0]), tf.zeros_like(x)),
        lambda tf, x: tf.reverse(x * THREE, [0]),
        (0.0, 0.0, 0.25),
        (1,),
    ),
    Idiom(
        "a sum of where over exp of log",
        lambda tf, x: tf.reduce_sum(tf.where(THREE, tf.exp(tf.math.log(x)), tf.zeros_like(x))),
        lambda tf, x: tf.reduce_sum(x * THREE),
        (0.0, 0.0, 0.25),
        (1,),
    ),
    Idiom(
        "a slice of exp of log", lambda tf, x: tf.exp(tf.math.log(x))[1:], lambda tf, x: x[1:], (0.0, 0.0, 0.25), (1,)
    ),
    Idiom(
        "exp of a slice of logs", lambda tf, x: tf.exp(tf.math.log(x)[1:]), lambda tf, x: x[1:], (0.0, 0.0, 0.25), (1,)
    ),
    Idiom(
        "maximum over exp of log",
        lambda tf, x: tf.maximum(tf.exp(tf.math.log(x)), np.array([0.5, -0.5, -0.5])),
        lambda tf, x: x * THREE,
        (0.0, 0.0, 0.25),
        (1,),
    ),
    Idiom(
        "a log of weights behind where",
        lambda tf, x: tf.reduce_logsumexp(tf.where(THREE, tf.math.log(x), tf.fill([3], np.float64(-inf)))),
        lambda tf, x: tf.math.log(tf.reduce_sum(x * THREE)),
        (0.0, 0.0, 0.25),
        (1,),
    ),
    Idiom(
        "chosen by where",
        lambda tf, x: tf.where(x >= 0, tf.exp(tf.math.log(x)), tf.zeros_like(x)),
        itself,
        (0.0, 0.25),
        (0,),
    ),
    Idiom(
        "chosen by maximum",
        lambda tf, x: tf.maximum(tf.square(tf.sqrt(x)), np.float64(-1.0)),
        itself,
        (0.0, 0.25),
        (0,),
    ),
    Idiom(
        "chosen by a clip", lambda tf, x: tf.clip_by_value(tf.square(tf.sqrt(x)), -1.0, 1.0), itself, (0.0, 0.25), (0,)
    ),
    Idiom(
        "chosen twice",
        lambda tf, x: tf.where(x >= 0, tf.nn.relu(tf.square(tf.sqrt(x)) + 1.0), tf.zeros_like(x)),
        itself,
        (0.0, 0.25),
        (0,),
    ),
    Idiom(
        "not chosen, and used elsewhere",
        lambda tf, x: tf.where(x > 0, tf.sqrt(x), tf.zeros_like(x)) + tf.sin(x),
        lambda tf, x: tf.sqrt(x + np.array([1.0, 0.0])) * KEEP + tf.sin(x),
    ),
    Idiom(
        "not chosen, beside a squared root",
        lambda tf, x: tf.where(x > 0, tf.math.log(x), tf.zeros_like(x)) + tf.square(tf.sqrt(x)),
        lambda tf, x: tf.math.log(x + np.array([1.0, 0.0])) * KEEP + x,
        (0.0, 0.25),
        (0,),
    ),
]

IDIOMS = [*COMPUTED, *UNCHOSEN, *BOTH]
ELEMENTWISE = COMPUTED[: 1 + [i.name for i in COMPUTED].index("a constant zero times a root")]
"""Those that take a single number as well."""
