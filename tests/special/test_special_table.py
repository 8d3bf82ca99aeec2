"""Special functions beside mpmath, from the smallest to the largest numbers: values, first and second derivatives.

The truths are in `truths.json`; `python -m tests.special.make_truths` makes them. `EXCEPTIONS` says where we are worse
than the bounds of `tests.special.measure`, by how much, and why.
"""

import functools
import math
from pathlib import Path

import numpy as np
import pytest
import scipy
import scipy.special as sp

import tape_api as tf
from engine.ops import tail_kernels
from tests.special.exceptions import EXCEPTIONS
from tests.special.measure import beyond, compared
from tests.special.rows import FUNCTIONS
from tests.special.stored import read

TRUTHS = read()
LESS_EXACT = {"stdtrit"} if np.lib.NumpyVersion(scipy.__version__) < "1.16.0" else set()
"""What SciPy 1.15 gives fewer digits of."""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_right_to_the_last_digits(name: str) -> None:
    allowed = EXCEPTIONS[name].worst if name in EXCEPTIONS else {}
    for dtype in ("float64", "float32"):
        for found in beyond(compared(name, dtype, TRUTHS[name]), dtype):
            bound = allowed.get((dtype, sum(found.order)), 1.0) * (1000 if name in LESS_EXACT else 1)
            assert found.error <= bound or (math.isnan(found.error) and bound > 1), (dtype, found)


def test_the_exceptions_are_no_looser_than_they_must_be() -> None:
    assert set(EXCEPTIONS) <= set(FUNCTIONS)
    for name, exception in EXCEPTIONS.items():
        assert len(exception.reason.split()) > 3, name
    page = (Path(__file__).parents[2] / "docs" / "special-functions.md").read_text()
    assert [name for name in FUNCTIONS if f"| `{name}` |" not in page] == []


def slope(f, *at: float, wrt: int = 0, dtype: str = "float64") -> float:  # type: ignore[no-untyped-def]
    xs = [tf.constant(v, dtype) for v in at]
    with tf.GradientTape() as tape:
        tape.watch(xs[wrt])
        y = f(*xs)
    return float(tape.gradient(y, xs[wrt]))


def test_a_shape_that_makes_a_term_vanish() -> None:
    assert slope(sp.xlogy, 0.0, 7.0) == pytest.approx(math.log(7.0), rel=1e-15)
    assert slope(sp.xlog1py, 0.0, 7.0) == pytest.approx(math.log(8.0), rel=1e-15)
    assert slope(sp.xlogy, 0.0, 0.0) == -math.inf
    assert slope(tf.math.xlogy, 0.0, 7.0) == 0.0  # as TensorFlow has it
    assert slope(lambda x: tf.transforms.grad(lambda y: sp.xlogy(x, y))(tf.constant(4.0, tf.float64)), 0.0) == 0.25
    assert slope(lambda a: sp.gammainc(a, 2.0), 1.0) == pytest.approx(
        (sp.gammainc(1 + 1e-6, 2) - sp.gammainc(1 - 1e-6, 2)) / 2e-6, rel=1e-8
    )


def test_poles_of_gamma_functions() -> None:
    assert slope(sp.rgamma, 0.0) == 1.0
    assert slope(sp.rgamma, -3.0) == pytest.approx(-6.0, rel=1e-15)
    assert slope(sp.poch, -2.0, 1.0) == pytest.approx(1.0, rel=1e-14)
    assert slope(sp.binom, 5.0, 7.0, wrt=1) == pytest.approx(1 / 42, rel=1e-13)
    assert slope(sp.beta, 0.5, -1.5) == pytest.approx(math.gamma(0.5) * math.gamma(-1.5) * -1.0, rel=1e-14)


def test_at_the_end_of_the_range() -> None:
    assert slope(sp.exp2, 1024.0) == pytest.approx(2 * math.log(2) * 2.0**1023, rel=1e-15)
    assert slope(sp.exp2, 128.0, dtype="float32") == pytest.approx(math.log(2) * 2.0**128, rel=1e-7)
    assert slope(tf.asinh, 1e20, dtype="float32") == pytest.approx(1e-20, rel=1e-6)
    for at in (math.inf, -math.inf):
        assert slope(tf.tanh, at) == slope(tf.sigmoid, at) == 0.0
    assert slope(tf.tanh, 20.0) == pytest.approx(4 * math.exp(-40.0), rel=1e-13)
    assert slope(tf.sigmoid, 3.0, dtype="float16") == pytest.approx(0.04517666, rel=2e-3)


def test_hankel_functions_of_negative_numbers() -> None:
    for function in (sp.hankel1, sp.hankel2):
        for order in (0.0, 0.3, 1.0, 2.5, -0.4):
            z = np.array([-9.0, -2.0, -0.3, 1.7])
            np.testing.assert_allclose(
                function(tf.constant(order, tf.float64), tf.constant(z)), function(order, z), 1e-12
            )


def test_one_tail_is_not_one_minus_the_other() -> None:
    p = 1e-20
    assert slope(sp.bdtr, 2.0, 5.0, p, wrt=2) == pytest.approx(-30 * p**2, rel=1e-13)
    assert float(sp.fdtr(tf.constant(3.0, tf.float64), 5.0, math.inf)) == 1.0
    assert slope(sp.fdtrc, 2.0, 2.0, 1e12, wrt=2) == pytest.approx(-1e-24, rel=1e-10)


def test_masked_entries_are_no_part_of_a_sum() -> None:
    for first in (800.0, math.inf):
        a = tf.constant(np.array([first, 0.0]))
        with tf.GradientTape() as tape:
            tape.watch(a)
            y = sp.logsumexp(a, b=np.array([0.0, 1.0]))
        assert float(y) == 0.0
        np.testing.assert_array_equal(tape.gradient(y, a), [0.0, 1.0])


def test_sums_of_exponentials_of_large_numbers() -> None:
    x = tf.constant(np.full(3, 1e8, np.float32))
    for f in (
        tf.reduce_logsumexp,
        sp.logsumexp,
        lambda x: tf.math.cumulative_logsumexp(x)[-1],
        lambda x: np.logaddexp.reduce(x),
    ):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        np.testing.assert_allclose(tape.gradient(y, x), np.full(3, 1 / 3), rtol=1e-6)


@pytest.mark.parametrize("x", [-10.0, -100.0, -1e4])
def test_log_ndtr_far_below_of_third_order(x: float) -> None:
    one = tf.transforms.grad(lambda z: sp.log_ndtr(z))
    two = tf.transforms.grad(one)
    three, z = float(tf.transforms.grad(two)(np.float64(x))), -x
    series = sum(
        c * k * (k + 1) * z ** -(k + 2) for c, k in ((1, 1), (-2, 3), (10, 5), (-74, 7), (706, 9), (-8162, 11))
    )
    assert three == pytest.approx(series, rel=1e-4 if x > -50 else 1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_share_of_nearly_all_changes_by_what_the_others_change(dtype: str) -> None:
    x, label = tf.constant([[40.0, 0.0, 1.0]], dtype), tf.constant([[1.0, 0.0, 0.0]], dtype)
    others = math.exp(-40.0) + math.exp(-39.0)
    for loss in (
        lambda x: tf.nn.softmax_cross_entropy_with_logits(label, x),
        lambda x: tf.nn.sparse_softmax_cross_entropy_with_logits(tf.constant([0]), x),
        lambda x: -tf.nn.log_softmax(x)[0, 0],
        lambda x: -sp.log_softmax(x)[0, 0],
        lambda x: -tf.nn.softmax(x)[0, 0],
    ):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = loss(x)
        np.testing.assert_allclose(tape.gradient(y, x)[0, 0], -others, rtol=1e-6)


def test_slopes_in_shapes_do_not_depend_on_what_stands_beside() -> None:
    rng = np.random.default_rng(0)
    a, b = np.exp(rng.uniform(-6, 6, (2, 60)))
    share, x = rng.uniform(0.01, 0.99, 60), np.exp(rng.uniform(-4, 4, 60))
    for kernel, arguments in (
        (lambda a, b, x: tail_kernels.betainc_by_shape(a, b, x, True), (a, b, share)),
        (lambda a, b, x: tail_kernels.fdtr_by_df(a, b, x, False), (a, b, x)),
        (tail_kernels.stdtr_by_df, (a, x)),
        (tail_kernels.igamma_by_shape, (a, x)),
        (lambda a, b: tail_kernels.beta_moment(a, b, first=1, second=1), (a, b)),
    ):
        alone = [kernel(*[v[i : i + 1] for v in arguments])[0] for i in range(60)]
        np.testing.assert_array_equal(kernel(*arguments), alone)


@pytest.mark.parametrize(
    ("function", "at"),
    [
        (sp.hyperu, (1e9, 2.5, 1.0)),
        (sp.hyperu, (1.5, -1e9, 1.0)),
        (sp.hyp1f1, (1e9, 100.0, -0.5)),
        (sp.yv, (1e9, 1e18)),
        (sp.struve, (1e9, 1e18)),
        (lambda n, x: sp.spherical_jn(10**8, x), (1.0, 1e9)),
        (lambda n, x: sp.spherical_yn(10**8, x), (1.0, -1e9)),
    ],
)
def test_steps_that_never_end_are_not_taken(function, at: tuple[float, ...]) -> None:  # type: ignore[no-untyped-def]
    """SciPy takes a step for each unit of these orders; a test that hangs fails."""
    assert math.isnan(float(function(*[tf.constant(v, tf.float64) for v in at])))
    assert math.isnan(slope(function, *at, wrt=len(at) - 1))


@pytest.mark.parametrize(
    "name", ["kn", "yn", "expn", "spherical_jn", "spherical_kn", "bdtr", "bdtrc", "nbdtr", "nbdtrc"]
)
def test_orders_and_counts_are_cut_to_whole_numbers_as_scipy_does(name: str) -> None:
    given, whole = ((2.6, 5.5), (2.0, 5.0)) if "bdtr" in name else ((1.9,), (1.0,))
    at_given, at_whole = [functools.partial(getattr(sp, name), *orders) for orders in (given, whole)]
    assert float(at_given(tf.constant(0.3, tf.float64))) == float(at_whole(tf.constant(0.3, tf.float64)))
    assert slope(at_given, 0.3) == slope(at_whole, 0.3) != 0.0


def test_what_underflows_takes_no_steps() -> None:
    assert slope(sp.hyp1f1, 1000.0, 7.0, -1e15, wrt=2) == 0.0
    assert slope(lambda x: sp.polygamma(1, x), -1e7 - 0.25) == pytest.approx(124.02510672119926, rel=1e-6)


def test_scaled_bessel_functions_far_out() -> None:
    for function, factor in ((sp.ive, 0.5 / math.pi), (sp.kve, 0.5 * math.pi)):
        for x in (1e5, 1e8, 1e20):
            value = math.sqrt(factor / x)
            assert slope(function, 2.5, x, wrt=1) == pytest.approx(-0.5 * value / x, rel=1e-4 * 1e5 / x + 1e-13)


def test_mixed_derivatives_of_beta_near_a_pole() -> None:
    def by_both(a: float, b: float) -> float:
        return slope(lambda x: tf.transforms.grad(lambda y: sp.beta(x, y))(tf.constant(b, tf.float64)), a)

    # mpmath, 60 digits
    assert by_both(0.01, -1.5) == pytest.approx(12.047437051447893, rel=1e-12)
    assert by_both(-1.5, 0.01) == pytest.approx(12.047437051447893, rel=1e-12)
    assert math.isnan(by_both(1e-8, -1.5))
