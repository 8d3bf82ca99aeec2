"""Special values: kinks, ties, singular points. The figures are those of SEMANTICS.md, measured on TensorFlow 2.21.

Where TensorFlow's answer is of no use (a NaN where the derivative exists), ours is better, and is not compared.
"""

import importlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.ops import (
    arithmetic,
    cross_entropy,
    determinants,
    explog,
    extrema,
    layers,
    nn,
    reduce,
    scan,
    segment,
    sorting,
    special,
    stats,
    trig,
)
from engine.ops.compare import greater, where
from engine.ops.complexes import abs as absolute
from engine.runtime import elementary
from engine.transforms.vjp import jvp, vjp
from optim.clip import clip_by_norm
from tests.support import array

inf, nan = np.inf, np.nan


@dataclass(frozen=True)
class Kink:
    """The derivative of the sum of ``fn(*at)`` with respect to each argument; `tf` is the same in TensorFlow."""

    id: str
    fn: Callable[..., Any]
    at: tuple[Any, ...]
    gradients: tuple[Any, ...]
    tf: Callable[..., Any] | None = None

    @property
    def points(self) -> list[np.ndarray]:
        return [np.array(x, np.float64) for x in self.at]


def guarded_sqrt(x: Any) -> Any:
    return where(greater(x, 0.0 * x), explog.sqrt(x), 0.0 * x)


IDS = np.array([0, 0, 0, 1])
TIES = [1.0, 3.0, 3.0, 2.0, 3.0]
THIRDS = [0.0, 1 / 3, 1 / 3, 0.0, 1 / 3]

KINKS = (
    # extrema
    Kink("reduce_max, 3 ties", extrema.reduce_max, (TIES,), (THIRDS,), lambda tf, x: tf.reduce_max(x)),
    Kink("reduce_min, 2 ties", extrema.reduce_min, ([1, 1, 2],), ([0.5, 0.5, 0],), lambda tf, x: tf.reduce_min(x)),
    Kink(
        "unsorted_segment_max, 2 ties",
        lambda x: segment.unsorted_segment_max(x, IDS, 2),
        ([1, 3, 3, 2],),
        ([0, 0.5, 0.5, 1],),
        lambda tf, x: tf.math.unsorted_segment_max(x, IDS, 2),
    ),
    Kink(
        "sort, the middle entry", lambda x: sorting.sort(x)[1], ([3, 1, 2],), ([0, 0, 1],), lambda tf, x: tf.sort(x)[1]
    ),
    Kink(
        "top_k, a tie goes to the first",
        lambda x: sorting.top_k(x, 2)[0],
        ([2, 3, 2, 2],),
        ([1, 1, 0, 0],),
        lambda tf, x: tf.math.top_k(x, 2)[0],
    ),
    Kink("maximum, tie", arithmetic.maximum, (2.0, 2.0), (1.0, 0.0), lambda tf, x, y: tf.maximum(x, y)),
    Kink("minimum, tie", arithmetic.minimum, (2.0, 2.0), (1.0, 0.0), lambda tf, x, y: tf.minimum(x, y)),
    Kink(
        "clip, both edges",
        lambda x: arithmetic.clip(x, np.array(-1.0), np.array(1.0)),
        ([-2, -1, 0, 1, 2],),
        ([0, 1, 1, 1, 0],),
        lambda tf, x: tf.clip_by_value(x, -1.0, 1.0),
    ),
    # activations
    Kink("abs 0", absolute, (0.0,), (0.0,), lambda tf, x: tf.abs(x)),
    Kink("sign 0", arithmetic.sign, (0.0,), (0.0,), lambda tf, x: tf.sign(x)),
    Kink("relu 0", nn.relu, (0.0,), (0.0,), lambda tf, x: tf.nn.relu(x)),
    Kink("relu6 0, 6", nn.relu6, ([0, 6],), ([0, 0],), lambda tf, x: tf.nn.relu6(x)),
    Kink("leaky_relu 0", nn.leaky_relu, (0.0,), (0.2,), lambda tf, x: tf.nn.leaky_relu(x)),
    Kink("elu 0", nn.elu, (0.0,), (1.0,), lambda tf, x: tf.nn.elu(x)),
    Kink("selu 0", nn.selu, (0.0,), (1.0507009873554805,), lambda tf, x: tf.nn.selu(x)),
    Kink("softplus -800, 800", nn.softplus, ([-800, 800],), ([0, 1],), lambda tf, x: tf.nn.softplus(x)),
    Kink(
        "sigmoid xent, label 0, logit 1000",
        lambda x: cross_entropy.sigmoid_cross_entropy_with_logits(labels=np.array(0.0), logits=x),
        (1000.0,),
        (1.0,),
        lambda tf, x: tf.nn.sigmoid_cross_entropy_with_logits(labels=tf.constant(0.0, tf.float64), logits=x),
    ),
    # powers, roots, logarithms
    Kink("sqrt 0", explog.sqrt, (0.0,), (inf,), lambda tf, x: tf.sqrt(x)),
    Kink("sqrt -1", explog.sqrt, (-1.0,), (nan,), lambda tf, x: tf.sqrt(x)),
    Kink("rsqrt 0", explog.rsqrt, (0.0,), (-inf,), lambda tf, x: tf.math.rsqrt(x)),
    Kink("log 0", explog.log, (0.0,), (inf,), lambda tf, x: tf.math.log(x)),
    Kink("pow(0, 2)", explog.pow, (0.0, 2.0), (0.0, 0.0), lambda tf, x, y: tf.pow(x, y)),
    Kink("pow(-2, 2)", explog.pow, (-2.0, 2.0), (-4.0, 0.0), lambda tf, x, y: tf.pow(x, y)),
    Kink("pow(0, 0), better", explog.pow, (0.0, 0.0), (0.0, 0.0)),
    Kink("xlogy(0, 0)", special.xlogy, (0.0, 0.0), (0.0, 0.0), lambda tf, x, y: tf.math.xlogy(x, y)),
    Kink(
        "divide_no_nan(1, 0)",
        arithmetic.divide_no_nan,
        (1.0, 0.0),
        (0.0, 0.0),
        lambda tf, x, y: tf.math.divide_no_nan(x, y),
    ),
    Kink("guarded sqrt 0", guarded_sqrt, ([0, 4],), ([0, 0.25],), lambda tf, x: tf.where(x > 0, tf.sqrt(x), 0.0 * x)),
    # norms and spreads
    Kink("norm 0, better", stats.norm, ([0, 0],), ([0, 0],)),
    Kink("reduce_euclidean_norm 0, better", stats.reduce_euclidean_norm, ([0, 0],), ([0, 0],)),
    Kink("reduce_std of equal values, better", stats.reduce_std, ([2, 2, 2],), ([0, 0, 0],)),
    Kink("l2_normalize 0", layers.l2_normalize, ([0, 0],), ([1e6, 1e6],), lambda tf, x: tf.math.l2_normalize(x)),
    Kink("clip_by_norm 0", lambda x: clip_by_norm(x, 1.0), ([0, 0],), ([1, 1],), lambda tf, x: tf.clip_by_norm(x, 1.0)),
    Kink("logsumexp [-inf, 0]", reduce.reduce_logsumexp, ([-inf, 0],), ([0, 1],), lambda tf, x: tf.reduce_logsumexp(x)),
    # inverse functions
    Kink("asin 1", trig.asin, (1.0,), (inf,), lambda tf, x: tf.asin(x)),
    Kink("acos 1", trig.acos, (1.0,), (-inf,), lambda tf, x: tf.acos(x)),
    Kink("atanh 1", trig.atanh, (1.0,), (inf,), lambda tf, x: tf.atanh(x)),
    Kink("acosh 1", trig.acosh, (1.0,), (inf,), lambda tf, x: tf.acosh(x)),
    Kink("atan2(0, 0)", trig.atan2, (0.0, 0.0), (nan, nan), lambda tf, y, x: tf.atan2(y, x)),
    # products and remainders
    Kink("reduce_prod, one 0", reduce.reduce_prod, ([0, 2, 3],), ([6, 0, 0],), lambda tf, x: tf.reduce_prod(x)),
    Kink("reduce_prod, two 0", reduce.reduce_prod, ([0, 0, 3],), ([0, 0, 0],), lambda tf, x: tf.reduce_prod(x)),
    Kink("cumprod, one 0, better", scan.cumprod, ([0, 2, 3],), ([9, 0, 0],)),
    Kink("det, singular, better", determinants.det, ([[1, 2], [2, 4]],), ([[4, -2], [-2, 1]],)),
    Kink("mod(5, 2)", arithmetic.mod, (5.0, 2.0), (1.0, -2.0), lambda tf, x, y: tf.math.floormod(x, y)),
)

every_kink = pytest.mark.parametrize("kink", KINKS, ids=lambda kink: kink.id)


@every_kink
def test_reverse(kink: Kink) -> None:
    out, pull = vjp(kink.fn, *kink.points)
    for got, expected in zip(pull(np.ones_like(array(out))), kink.gradients, strict=True):
        np.testing.assert_allclose(array(got), expected, rtol=1e-12)


@every_kink
def test_forward_is_the_same(kink: Kink) -> None:
    points = kink.points
    for i, (x, expected) in enumerate(zip(points, kink.gradients, strict=True)):
        slopes = [along(kink, points, i, unit.reshape(x.shape)) for unit in np.eye(x.size)]
        np.testing.assert_allclose(np.reshape(slopes, x.shape), expected, rtol=1e-12)


def along(kink: Kink, points: list[np.ndarray], i: int, direction: np.ndarray) -> Any:
    tangents = [direction if j == i else None for j in range(len(points))]
    return array(jvp(kink.fn, points, tangents)[1]).sum()


@pytest.mark.peer
@pytest.mark.parametrize("kink", [k for k in KINKS if k.tf], ids=lambda kink: kink.id)
def test_as_in_tensorflow(kink: Kink) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tf = pytest.importorskip("tensorflow")
    assert kink.tf is not None
    xs = [tf.constant(x) for x in kink.points]
    with tf.GradientTape() as tape:
        tape.watch(xs)
        y = kink.tf(tf, *xs)
    for got, expected in zip(tape.gradient(y, xs), kink.gradients, strict=True):
        # TensorFlow keeps some constants (the slope of leaky_relu) in single precision
        np.testing.assert_allclose(got.numpy(), expected, rtol=1e-7)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.filterwarnings("ignore:invalid value")
def test_determinants_of_nan_are_nan(dtype: str) -> None:
    """Also where a column of zeros ends the factorization before it meets the NaN."""
    x = np.array([[[0, nan], [0, 1]], [[2, 0], [0, 1]]], dtype)
    for found in (determinants.det(x), *determinants.slogdet(x)):
        assert np.isnan(found).tolist() == [True, False]


def test_spectral_norm_of_complex_matrices() -> None:
    """It is no norm of the moduli, as the others are."""
    x = np.array([[1, 1j], [1j, 1]])
    np.testing.assert_allclose(stats.norm(x, 2, (0, 1)), np.linalg.norm(x, 2), rtol=1e-12)
    out, pull = vjp(lambda x: stats.norm(x, 2, (0, 1)), x + np.array([[0, 0.5j], [0, 0]]))
    u, _, vh = np.linalg.svd(x + np.array([[0, 0.5j], [0, 0]]))
    np.testing.assert_allclose(array(pull(np.ones_like(array(out)))[0]), np.outer(u[:, 0], vh[0]), rtol=1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_zeros_keep_their_signs_on_every_machine(dtype: Any) -> None:
    x, y = np.array([-0.0, 0.0] * 9, dtype), np.array([0.0, -0.0] * 9, dtype)
    by_sign = elementary.of_second(lambda x, y: np.where(np.equal(x, y), x + y, np.maximum(x, y)))
    second = [f(x, y) for f in (arithmetic.maximum, arithmetic.minimum, by_sign)]
    for found, expected in [(nn.elu(x), x), (nn.selu(x), x), *[(found, y) for found in second]]:
        np.testing.assert_array_equal(np.signbit(array(found)), np.signbit(expected))


@pytest.mark.parametrize(
    "library",
    ["dualgrad", *(pytest.param(name, marks=pytest.mark.peer) for name in ("autograd", "casadi", "jax", "torch"))],
)
def test_the_page_of_kinks_says_what_libraries_give(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(library)
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "docs"))
    kinks = importlib.import_module("kinks")
    if (said := kinks.kept().get(kinks.installed(library))) is None:
        pytest.skip(f"the page does not tell of {kinks.installed(library)}")
    assert kinks.column(library) == said
