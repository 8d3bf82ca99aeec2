"""Random ops: distributions, reproducibility, and the same numbers in both modes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special
import scipy.stats

from engine.core import dtypes
from engine.core.eager import EagerTensor
from engine.core.trace import Trace
from engine.ops import random
from engine.ops.dropout import dropout
from engine.runtime.errors import InvalidArgumentError, ShapeError, UnimplementedError
from tests.support import interpret

COUNT = 20_000
PLACE = np.array([7, 11]), np.int64(3)
DRAW = random.at(*PLACE)


def draw(function: Callable[..., Any], *args: Any, **options: Any) -> np.ndarray:
    return np.asarray(function([COUNT], *args, dtype=dtypes.float64, draw=DRAW, **options))


@pytest.mark.parametrize(
    ("sample", "distribution"),
    [
        (lambda: draw(random.uniform, -1.0, 3.0), scipy.stats.uniform(-1, 4)),
        (lambda: draw(random.normal, 2.0, 0.5), scipy.stats.norm(2, 0.5)),
        (lambda: draw(random.truncated_normal), scipy.stats.truncnorm(-2, 2)),
        (lambda: draw(random.gamma, 0.3, 2.0), scipy.stats.gamma(0.3, scale=0.5)),
        (lambda: draw(random.gamma, 40.0), scipy.stats.gamma(40.0)),
    ],
    ids=["uniform", "normal", "truncated_normal", "gamma small", "gamma large"],
)
def test_continuous_distributions(sample: Callable[[], np.ndarray], distribution: Any) -> None:
    assert scipy.stats.kstest(sample(), distribution.cdf).pvalue > 1e-3


def test_half_floats_stay_below_one() -> None:
    numbers = random.uniform([COUNT], dtype=dtypes.float16, draw=DRAW)
    assert numbers.dtype == np.float16
    assert numbers.min() >= 0 and numbers.max() < 1
    assert abs(float(numbers.mean(dtype=np.float64)) - 0.5) < 0.01


def test_poisson() -> None:
    counts = random.poisson([COUNT], np.array([0.5, 30.0]), dtypes.int64, draw=DRAW)
    assert counts.shape == (COUNT, 2)
    np.testing.assert_allclose(counts.mean(0), [0.5, 30.0], rtol=0.05)
    np.testing.assert_allclose(counts.var(0), [0.5, 30.0], rtol=0.05)


def test_integers_cover_their_range_evenly() -> None:
    numbers = random.uniform([COUNT], -2, 3, dtypes.int32, draw=DRAW)
    values, counts = np.unique(numbers, return_counts=True)
    assert numbers.dtype == np.int32 and values.tolist() == [-2, -1, 0, 1, 2]
    assert scipy.stats.chisquare(counts).pvalue > 1e-3


def test_integers_need_an_upper_limit() -> None:
    with pytest.raises(InvalidArgumentError, match="maxval"):
        random.uniform([2], dtype=dtypes.int32, draw=DRAW)
    with pytest.raises(ValueError, match="minval"):
        random.uniform([2], 3, 3, dtypes.int32, draw=DRAW)


def test_categorical() -> None:
    with np.errstate(divide="ignore"):
        logits = np.log([[0.1, 0.0, 0.9], [0.5, 0.5, 0.0]])
    classes = random.categorical(logits, COUNT, draw=DRAW)
    assert classes.shape == (2, COUNT) and classes.dtype == np.int64
    frequencies = [np.bincount(row, minlength=3) / COUNT for row in classes]
    np.testing.assert_allclose(frequencies, np.exp(logits), atol=0.02)
    assert frequencies[0][1] == 0 == frequencies[1][2]


def test_shuffle_is_a_permutation() -> None:
    rows = np.arange(20).reshape(10, 2)
    shuffled = random.shuffle(rows, draw=DRAW)
    assert not np.array_equal(shuffled, rows)
    np.testing.assert_array_equal(np.sort(shuffled, axis=0), rows)


def test_dropout_keeps_the_sum() -> None:
    x = np.ones((100, 200), np.float32)
    out = dropout(x, 0.2, draw=DRAW)
    assert set(np.unique(out)) == {np.float32(0), np.float32(1 / np.float32(0.8))}
    assert abs(out.mean() - 1) < 0.02
    np.testing.assert_array_equal(dropout(x, 0, draw=DRAW), x)
    assert np.unique(dropout(x, 0.5, noise_shape=[100, 1], draw=DRAW).std(axis=1)).tolist() == [0]
    with pytest.raises(InvalidArgumentError, match="rate"):
        dropout(x, 1.0, draw=DRAW)


def test_gamma_slope_is_that_of_the_quantile() -> None:
    alpha = np.geomspace(0.05, 500, 40)[:, None]
    level = np.linspace(0.01, 0.99, 15)
    x = scipy.special.gammaincinv(alpha, level)
    step = 1e-5 * alpha
    ends = [scipy.special.gammaincinv(alpha + s, level) for s in (step, -step)]
    np.testing.assert_allclose(random.gamma_slope(x, alpha), (ends[0] - ends[1]) / (2 * step), rtol=1e-5)


def test_a_draw_names_its_numbers() -> None:
    def numbers(a: int, b: int, counter: int) -> tuple[float, ...]:
        return tuple(random.uniform([4], draw=random.at(np.array([a, b]), counter)).tolist())

    assert numbers(1, 2, 3) == numbers(1, 2, 3)
    assert len({numbers(1, 2, 3), numbers(1, 2, 4), numbers(1, 3, 3), numbers(2, 2, 3), numbers(-1, 2, 3)}) == 5


@pytest.mark.parametrize(
    "function",
    [
        lambda draw: random.normal([2, 3], draw=draw),
        lambda draw: random.uniform([3], 0, 100, dtypes.int64, draw=draw),
        lambda draw: random.gamma([2], np.float32(2.0), draw=draw),
        lambda draw: random.categorical(np.zeros((2, 5)), 4, draw=draw),
        lambda draw: dropout(np.ones((3, 4)), 0.5, draw=draw),
    ],
    ids=["normal", "integers", "gamma", "categorical", "dropout"],
)
def test_graph_and_eager_draw_the_same(function: Callable[[Any], Any]) -> None:
    trace = Trace()
    symbols = trace.constant(PLACE[0]), trace.constant(np.asarray(PLACE[1]))
    (symbolic,) = interpret(trace, [], [function(lambda *_: symbols)])
    eager = function(lambda *_: tuple(map(EagerTensor, PLACE)))
    np.testing.assert_array_equal(symbolic, eager.numpy())


def test_stateless_parameters_are_broadcast_to_the_shape() -> None:
    assert random.stateless_gamma([3, 2], [1, 2], [1.0, 2.0]).shape == (3, 2)
    assert random.stateless_poisson([3, 2], [1, 2], np.array([1.0, 2.0])).shape == (3, 2)


def test_a_seed_is_two_integers() -> None:
    with pytest.raises(ShapeError, match="two integers"):
        random.stateless_normal([2], EagerTensor(np.array([1, 2, 3])))


def test_other_algorithms_are_refused() -> None:
    assert np.array_equal(random.stateless_uniform([3], [1, 2], alg="philox"), random.stateless_uniform([3], [1, 2]))
    with pytest.raises(UnimplementedError, match="'threefry'"):
        random.stateless_uniform([3], [1, 2], alg="threefry")


def test_a_shape_must_end_with_that_of_the_parameters() -> None:
    with pytest.raises(ShapeError, match="must end with"):
        random.stateless_gamma([2, 3], [1, 2], np.ones(2))
