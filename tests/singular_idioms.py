"""Functions with a singular point on the way, each beside a smooth one that has the same derivatives there.

A line of the tables says both functions of a front end and a vector, and the point where it is not the usual one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Function = Callable[..., Any]
KEEP = np.array([False, True])
THREE = np.array([False, True, True])
"""Of three elements, the first is not chosen."""


@dataclass(frozen=True)
class Idiom:
    """A function with a singular point on the way, and a smooth one that has the same derivatives.

    Attributes
    ----------
    name : str
        The function, as text.
    fn, same : callable
        Of a front end and a vector.
    at : tuple of float
    nan : tuple of int
        The elements of the point by which derivatives may be NaN instead of those of `same`.
    """

    name: str
    fn: Function
    same: Function
    at: tuple[float, ...]
    nan: tuple[int, ...]


def series(x: Any, sign: float) -> Any:
    """``cosh(sqrt(x))``, or with sign -1 ``cos(sqrt(x))``, by its Taylor series."""
    total, term = 1.0, 1.0
    for k in range(1, 12):
        term = term * (sign * x) / ((2 * k - 1) * (2 * k))
        total = total + term
    return total


def rows(tf: Any, *parts: Any) -> Any:
    return tf.stack(parts, -1)


def _function(text: str) -> Function:
    return eval(f"lambda tf, x: {text}", globals())  # type: ignore[no-any-return]


def table(lines: str, at: str = "0.0, 0.25", nan: tuple[int, ...] = (), same: str = "{}") -> list[Idiom]:
    """An idiom for each line."""
    found = []
    for line in lines.strip().splitlines():
        fn, smooth, point = [*map(str.strip, line.split(" | ")), at][:3]
        found.append(Idiom(fn, _function(fn), _function(same.format(smooth)), eval(f"({point},)"), nan))
    return found


ELEMENTWISE = table(
    """
    tf.square(tf.sqrt(x)) | x
    tf.sqrt(x) ** 2 | x
    tf.sqrt(x) ** 2.0 | x
    tf.sqrt(x) * tf.sqrt(x) | x
    tf.sqrt(x) ** 3 | x ** 1.5
    (x ** 0.25) ** 4 | x
    tf.sqrt(x) ** 4 | x * x
    tf.math.rsqrt(x) ** (-2) | x
    x * tf.sqrt(x) | x ** 1.5
    tf.exp(tf.math.log(x)) | x
    tf.math.expm1(tf.math.log(x)) | x
    tf.exp(2.0 * tf.math.log(x)) | x * x
    tf.exp(tf.math.log(x) + tf.math.log(x + 1.0)) | x * (x + 1.0)
    tf.sigmoid(tf.math.log(x)) | x / (x + 1.0)
    tf.tanh(tf.math.log(x)) | (x * x - 1.0) / (x * x + 1.0)
    tf.tanh(0.5 * tf.math.log(x)) | (x - 1.0) / (x + 1.0)
    tf.math.softplus(tf.math.log(x)) | tf.math.log(1.0 + x)
    tf.nn.elu(tf.math.log(x)) | x - 1.0
    tf.math.log_sigmoid(-tf.math.log(x)) | -tf.math.log(1.0 + x)
    1.0 / (1.0 / x) | x
    tf.math.reciprocal(tf.math.reciprocal(x)) | x
    (x ** (-1.0)) ** (-1.0) | x
    1.0 / (1.0 + 1.0 / x) | x / (1.0 + x)
    tf.atan(1.0 / x) | 0.5 * np.pi - tf.atan(x)
    tf.tanh(tf.math.atanh(1.0 - x)) | 1.0 - x
    tf.cos(tf.acos(1.0 - x)) | 1.0 - x
    tf.cosh(tf.math.acosh(1.0 + x)) | 1.0 + x
    tf.sin(tf.sqrt(x)) ** 2 | 0.5 * (1.0 - series(4.0 * x, -1.0))
    tf.cosh(tf.sqrt(x)) | series(x, 1.0)
    tf.cos(tf.sqrt(x)) | series(x, -1.0)
    0.0 * tf.sqrt(x) | 0.0 * x
    """,
    nan=(0,),
)
"""No choice is on the way: at a singular first element, NaN is allowed. They take a single number as well."""
MASKED = table(
    """
    tf.sqrt(x) * np.array([0.0, 1.0]) | (x + np.array([1.0, 0.0])) ** 0.5 * np.array([0.0, 1.0])
    tf.sqrt(x) * tf.cast(x > 0, tf.float64) | (x + np.array([1.0, 0.0])) ** 0.5 * np.array([0.0, 1.0])
    """,
    nan=(0,),
)
"""What is multiplied by is for the point 0."""
THROUGH_MOVES = table(
    """
    tf.reduce_logsumexp(rows(tf, tf.math.log(x), tf.zeros_like(x)), -1) | tf.math.log(1.0 + x)
    tf.reduce_logsumexp(tf.math.log(x) + np.array([8.0, -3.0])) | tf.math.log(tf.reduce_sum(x * np.exp([8.0, -3.0])))
    tf.nn.softmax(tf.math.log(x)) | x / tf.reduce_sum(x)
    tf.nn.log_softmax(rows(tf, tf.math.log(x), tf.zeros_like(x)))[:, 1] | -tf.math.log(1.0 + x)
    tf.nn.softmax_cross_entropy_with_logits(labels=np.array([0.0, 1.0]), logits=tf.math.log(x)) \
        | tf.math.log(tf.reduce_sum(x)) - tf.math.log(x[1])
    tf.nn.sigmoid_cross_entropy_with_logits(labels=np.zeros(2), logits=tf.math.log(x)) | tf.math.log(1.0 + x)
    tf.reduce_sum(tf.square(tf.sqrt(x))) | tf.reduce_sum(x)
    tf.nn.l2_loss(tf.sqrt(x)) | 0.5 * tf.reduce_sum(x)
    tf.tensordot(tf.sqrt(x), tf.sqrt(x), 1) | tf.reduce_sum(x)
    tf.matmul(tf.sqrt(x)[None], tf.sqrt(x)[:, None]) | tf.reduce_sum(x)
    tf.einsum("i,i->i", tf.sqrt(x), tf.sqrt(x)) | x
    tf.reduce_prod(rows(tf, tf.sqrt(x), tf.sqrt(x)), -1) | x
    tf.math.squared_difference(tf.sqrt(x), tf.zeros_like(x)) | x
    tf.cumsum(tf.exp(tf.math.log(x))) | tf.cumsum(x)
    tf.exp(tf.reverse(tf.math.log(x), [0])) | tf.reverse(x, [0])
    tf.math.segment_sum(tf.exp(tf.math.log(x)), [0, 0]) | tf.reduce_sum(x)
    tf.reduce_mean(tf.exp(tf.tile(tf.math.log(x), [2]))) | tf.reduce_mean(x)
    tf.exp(tf.gather(tf.math.log(x), [0, 0, 1])) | tf.gather(x, [0, 0, 1])
    tf.map_fn(lambda e: tf.exp(tf.math.log(e)), x) | x
    tf.scan(lambda a, e: a + tf.exp(tf.math.log(e)), x, initializer=tf.zeros([], tf.float64)) | tf.cumsum(x)
    tf.math.real(tf.cast(tf.exp(tf.math.log(x)), tf.complex128)) | x
    """,
    nan=(0,),
)
"""Through sums, products and what moves data."""
UNCHOSEN = table(
    """
    tf.where(x > 0, tf.sqrt(x), tf.zeros_like(x)) | tf.sqrt(x)
    tf.where(x > 0, tf.math.log(x), tf.zeros_like(x)) | tf.math.log(x)
    tf.where(x > 0, tf.exp(tf.math.log(x)), tf.zeros_like(x)) | x
    tf.where(x > 0, 1.0 / x, tf.zeros_like(x)) | 1.0 / x
    tf.where(x <= 0, tf.zeros_like(x), tf.sqrt(x) * tf.math.log(x)) | tf.sqrt(x) * tf.math.log(x)
    3.0 * tf.where(x > 0, tf.sqrt(x), tf.zeros_like(x)) + 1.0 | 3.0 * tf.sqrt(x)
    tf.sin(tf.where(x > 0, tf.sqrt(x), tf.zeros_like(x))) | tf.sin(tf.sqrt(x))
    tf.sqrt(tf.where(x > 0, tf.sqrt(x), tf.zeros_like(x))) | tf.sqrt(tf.sqrt(x))
    tf.where(x > 0, tf.math.log(tf.where(x > 0, x, tf.ones_like(x))), tf.zeros_like(x)) | tf.math.log(x)
    tf.sqrt(tf.where(x > 0, x, tf.zeros_like(x))) | tf.sqrt(x)
    tf.maximum(tf.sqrt(x), 0.1) | tf.sqrt(x)
    tf.maximum(np.float64(0.1), tf.sqrt(x)) | tf.sqrt(x)
    tf.minimum(1.0 / x, 9.0) | 1.0 / x
    tf.nn.relu(tf.sqrt(x) - 0.1) | tf.sqrt(x)
    tf.nn.relu(tf.math.log(x)) | tf.math.log(x) | 0.0, 2.5
    tf.nn.relu6(tf.math.log(x)) | tf.math.log(x) | 0.0, 2.5
    tf.sqrt(tf.nn.relu(x)) | tf.sqrt(x)
    tf.sqrt(tf.nn.relu(x)) | tf.sqrt(x + np.array([5.0, 0.0])) * np.array([0.0, 1.0]) | -1.0, 0.25
    tf.clip_by_value(tf.math.log(x), -5.0, 5.0) | tf.math.log(x)
    tf.sqrt(tf.clip_by_value(x, 0.0, 1.0)) | tf.sqrt(x + np.array([5.0, 0.0])) * np.array([0.0, 1.0]) | -1.0, 0.25
    tf.math.divide_no_nan(np.ones(2), tf.sqrt(x)) | x ** (-0.5)
    tf.reduce_max(rows(tf, tf.sqrt(x), 0.1 * tf.ones_like(x)), -1) | tf.sqrt(x)
    tf.reduce_min(rows(tf, 1.0 / x, 9.0 * tf.ones_like(x)), -1) | 1.0 / x
    """,
    same="(lambda x: {})(x + np.array([1.0, 0.0])) * np.array([0.0, 1.0])",
)
"""The first element is not chosen: the other function is one of the second alone, and NaN is never allowed."""
TAKEN = table(
    """
    tf.reduce_max(tf.sqrt(x)) | tf.sqrt(x[1])
    tf.sqrt(x)[1:] | tf.sqrt(x[1:])
    tf.math.log(x)[1] | tf.math.log(x[1])
    tf.gather(tf.sqrt(x), [1, 1]) | tf.gather(tf.sqrt(x[1:]), [0, 0])
    tf.boolean_mask(tf.sqrt(x), x > 0) | tf.sqrt(x[1:])
    tf.boolean_mask(tf.exp(tf.math.log(x)), x > 0) | x[1:]
    tf.split(tf.sqrt(x), 2)[1] | tf.sqrt(x[1:])
    tf.unstack(tf.sqrt(x), 2)[1] | tf.sqrt(x[1])
    tf.sort(tf.sqrt(x))[1:] | tf.sqrt(x[1:])
    tf.math.top_k(tf.math.log(x), 1)[0] | tf.math.log(x[1:])
    tf.math.segment_max(tf.sqrt(x), [0, 0]) | tf.sqrt(x[1:])
    tf.reduce_sum(tf.square(tf.sqrt(x))[1:]) | tf.reduce_sum(x[1:])
    tf.dynamic_partition(tf.sqrt(x), [0, 1], 2)[1] | tf.sqrt(x[1:])
    tf.tensor_scatter_nd_update(tf.sqrt(x), [[0]], tf.zeros([1], tf.float64)) \
        | tf.concat([tf.zeros([1], tf.float64), tf.sqrt(x[1:])], 0)
    tf.linalg.diag_part(tf.reshape(tf.sqrt(tf.tile(x, [2])), [2, 2]))[1:] | tf.sqrt(x[1:])
    tf.reduce_sum(tf.linalg.band_part(tf.sqrt(tf.gather(x, [[1, 1], [0, 1]])), 0, -1)) | 3.0 * tf.sqrt(x[1])
    tf.nn.max_pool2d(tf.reshape(tf.sqrt(x), [1, 1, 2, 1]), [1, 2], 1, "VALID") | tf.sqrt(x[1])
    """
)
"""The first element is left behind."""
THREE_ELEMENTS = table(
    """
    tf.where(THREE, tf.exp(tf.math.log(x)), tf.zeros_like(x)) | x * THREE
    tf.exp(tf.where(THREE, tf.math.log(x), tf.zeros_like(x))) | x * THREE
    2.0 * tf.where(THREE, tf.square(tf.sqrt(x)), tf.zeros_like(x)) | 2.0 * x * THREE
    tf.where(THREE[::-1], tf.reverse(tf.square(tf.sqrt(x)), [0]), tf.zeros_like(x)) | tf.reverse(x * THREE, [0])
    tf.reduce_sum(tf.where(THREE, tf.exp(tf.math.log(x)), tf.zeros_like(x))) | tf.reduce_sum(x * THREE)
    tf.exp(tf.math.log(x))[1:] | x[1:]
    tf.exp(tf.math.log(x)[1:]) | x[1:]
    tf.maximum(tf.exp(tf.math.log(x)), np.array([0.5, -0.5, -0.5])) | x * THREE
    tf.reduce_logsumexp(tf.where(THREE, tf.math.log(x), tf.fill([3], np.float64(-np.inf)))) \
        | tf.math.log(tf.reduce_sum(x * THREE))
    """,
    "0.0, 0.0, 0.25",
    (1,),
)
"""The first element is not chosen, the second is; at both a zero meets an infinity."""
CHOSEN = table(
    """
    tf.where(x >= 0, tf.exp(tf.math.log(x)), tf.zeros_like(x)) | x
    tf.maximum(tf.square(tf.sqrt(x)), np.float64(-1.0)) | x
    tf.clip_by_value(tf.square(tf.sqrt(x)), -1.0, 1.0) | x
    tf.where(x >= 0, tf.nn.relu(tf.square(tf.sqrt(x)) + 1.0), tf.zeros_like(x)) | x
    tf.where(x > 0, tf.math.log(x), tf.zeros_like(x)) + tf.square(tf.sqrt(x)) \
        | tf.math.log(x + np.array([1.0, 0.0])) * KEEP + x
    """,
    nan=(0,),
)
USED_ELSEWHERE = table(
    """
    tf.where(x > 0, tf.sqrt(x), tf.zeros_like(x)) + tf.sin(x) | tf.sqrt(x + np.array([1.0, 0.0])) * KEEP + tf.sin(x)
    """
)

COMPUTED = [*ELEMENTWISE, *THROUGH_MOVES]
IDIOMS = [*COMPUTED, *MASKED, *UNCHOSEN, *TAKEN, *THREE_ELEMENTS, *CHOSEN, *USED_ELSEWHERE]
