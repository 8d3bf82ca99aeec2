"""`scipy.stats` on values: numbers are SciPy's, derivatives are difference quotients, a graph gives the same bits."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import scipy.stats as st

import graph_api as tf1
import tape_api as tf
from dualgrad.frontend.scipy_modules import METHODS
from engine.numpy_api.stats.table import STATS, UNIVARIATE
from engine.runtime.errors import SymbolicArrayError

SHAPES: dict[str, tuple[float, ...]] = {
    "truncnorm": (-0.7, 1.9),
    "norminvgauss": (1.6, -0.4),
    "johnsonsu": (0.4, 1.3),
    "johnsonsb": (0.4, 1.3),
    "triang": (0.35,),
    "wrapcauchy": (0.4,),
    "loguniform": (0.6, 3.1),
    "reciprocal": (0.6, 3.1),
    "beta": (1.7, 2.4),
    "betaprime": (1.7, 2.4),
    "f": (3.7, 5.4),
    "burr": (1.7, 2.4),
    "burr12": (1.7, 2.4),
    "exponweib": (1.7, 1.4),
    "gengamma": (1.7, 1.4),
    "genextreme": (0.3,),
    "genpareto": (-0.3,),
    "erlang": (2.0,),
    "bernoulli": (0.3,),
    "binom": (5.0, 0.4),
    "nbinom": (3.5, 0.4),
    "betabinom": (5.0, 1.7, 2.4),
    "geom": (0.3,),
    "logser": (0.6,),
    "zipf": (2.5,),
    "planck": (0.6,),
    "dlaplace": (0.8,),
}
"""Shape parameters, where they are not 1.7."""
WHOLE = {"binom": {0}, "betabinom": {0}, "erlang": {0}}
"""Shapes that are whole numbers."""
LOC, SCALE = 0.3, 1.4


def arguments(name: str) -> tuple[np.ndarray, ...]:
    """Points inside of the support, shapes, location and scale."""
    shapes = SHAPES.get(name, (1.7,) * len(UNIVARIATE[name].shapes))
    own = getattr(st, name)
    if UNIVARIATE[name].discrete:
        points = np.unique(own.ppf([0.2, 0.5, 0.9], *shapes)) + 2.0
        return (points, *map(np.array, shapes), np.array(2.0))
    points = own.ppf([0.13, 0.55, 0.86], *shapes) * SCALE + LOC
    return (points, *map(np.array, shapes), np.array(LOC), np.array(SCALE))


def continuous_arguments(name: str, method: str) -> list[int]:
    """The places of the arguments in which there are derivatives."""
    count = len(UNIVARIATE[name].shapes)
    discrete = UNIVARIATE[name].discrete
    shapes = [i + 1 for i in range(count) if i not in WHOLE.get(name, set())]
    return shapes if discrete else [0, *shapes, count + 1, count + 2]


ONCE = {"zipf"}
"""Of these SciPy has no function for second derivatives."""
CASES = [(name, method) for name in UNIVARIATE for method in UNIVARIATE[name].formulas]
ZERO: dict[str, Any] = {"unconnected_gradients": "zero"}
OF_DENSITY = ("pdf", "pmf", "logpdf", "logpmf")


def in_place(name: str, method: str) -> tuple[Callable[..., Any], list[np.ndarray]]:
    f, args = getattr(getattr(st, name), method), list(arguments(name))
    if method in ("ppf", "isf"):
        args[0] = np.array([0.1, 0.45, 0.8])
    if method == "logsf" and UNIVARIATE[name].discrete and np.isfinite(getattr(st, name).support(*args[1:])[1]):
        args[0] = args[0][:-1]  # beyond the last there is nothing
    return f, args


def quotient(f: Callable[..., Any], args: list[np.ndarray], at: int, step: float = 1e-6) -> np.ndarray:
    out = np.zeros_like(args[at])
    for i in np.ndindex(args[at].shape):
        moved = np.zeros_like(args[at])
        moved[i] = step
        up, down = list(args), list(args)
        up[at], down[at] = args[at] + moved, args[at] - moved
        out[i] = (f(*up) - f(*down)) / (2 * step)
    return out


@pytest.mark.parametrize(("name", "method"), CASES)
def test_numbers_and_first_derivatives(name: str, method: str) -> None:
    f, args = in_place(name, method)
    with tf.GradientTape(persistent=True) as tape:
        ts = [tf.constant(a) for a in args]
        tape.watch(ts)
        y = f(*ts)
        total = tf.reduce_sum(y)
    np.testing.assert_allclose(y, f(*args), rtol=2e-10, atol=1e-13)
    assert y.dtype == tf.float64
    for at in continuous_arguments(name, method):
        wanted = quotient(lambda *a: np.sum(f(*a)), args, at)
        np.testing.assert_allclose(tape.gradient(total, ts[at]), wanted, rtol=5e-6, atol=1e-6)
        pushed = tape.jvp(total, ts[at], np.ones_like(args[at]))
        assert float(pushed) == pytest.approx(np.sum(wanted), rel=5e-6, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "method"), [(n, m) for n, m in CASES if n not in ONCE and m in ("logpdf", "logpmf", "cdf")]
)
def test_second_derivatives(name: str, method: str) -> None:
    f, args = in_place(name, method)
    places = continuous_arguments(name, method)
    if method not in OF_DENSITY:
        places = [at for at in places if at in (0, len(args) - 2, len(args) - 1)]

    def slope(*given: Any) -> Any:
        with tf.GradientTape() as tape:
            ts = [tf.convert_to_tensor(a) for a in given]
            tape.watch([ts[at] for at in places])
            total = tf.reduce_sum(f(*ts))
        slopes = tape.gradient(total, [ts[at] for at in places], **ZERO)
        return tf.add_n([tf.reduce_sum(g) for g in slopes])

    for at in places:
        with tf.GradientTape() as tape:
            t = tf.constant(args[at])
            tape.watch(t)
            total = slope(*args[:at], t, *args[at + 1 :])
        wanted = quotient(lambda *a: slope(*a).numpy(), args, at)
        np.testing.assert_allclose(tape.gradient(total, t, **ZERO), wanted, rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("name", UNIVARIATE)
def test_outside_of_the_support_and_with_bad_parameters(name: str) -> None:
    own, (points, *rest) = getattr(st, name), arguments(name)
    low, high = own.support(*rest)
    steps = [-0.5, 1.0] if UNIVARIATE[name].discrete else [1e-3, 2.0]
    around = [end + sign * step for end, sign in ((low, -1), (high, 1)) for step in steps if np.isfinite(end)]
    x = np.array([*around, *points, np.nan])
    bad = np.array([-1.0]) if rest[:-2] and name not in ("skewnorm", "genextreme", "genpareto", "vonmises") else None
    for method in UNIVARIATE[name].formulas:
        f = getattr(own, method)
        at = np.array([0.0, 0.3, 1.0, 1.2, -0.1, np.nan]) if method in ("ppf", "isf") else x
        with tf.GradientTape() as tape:
            t = tf.constant(at)
            tape.watch(t)
            y = f(t, *rest)
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(y, f(at, *rest), rtol=2e-10, atol=1e-13, err_msg=method)
            if method not in ("ppf", "isf") and not UNIVARIATE[name].discrete:
                gradient = tape.gradient(y, t).numpy()
                assert np.all(gradient[: len(around)] == 0), method
                assert np.all(np.isfinite(gradient[:-1])), method
            if bad is not None and method == "cdf":
                np.testing.assert_allclose(f(tf.constant(at), bad[0] - 3, *rest[1:]), f(at, bad[0] - 3, *rest[1:]))
            if not UNIVARIATE[name].discrete:
                assert np.all(np.isnan(f(tf.constant(at), *rest[:-1], -1.0))), "a scale must be positive"


@pytest.mark.parametrize("name", UNIVARIATE)
def test_graphs_batches_and_float32(name: str) -> None:
    for method in UNIVARIATE[name].formulas:
        f, args = in_place(name, method)
        y = f(tf.constant(args[0]), *args[1:])
        with tf1.Graph().as_default(), tf1.Session() as session:
            p = tf1.placeholder(tf1.float64, args[0].shape)
            assert session.run(f(p, *args[1:]), {p: args[0]}).tobytes() == y.numpy().tobytes()
        many = tf.transforms.vmap(lambda x, f=f, args=args: f(x, *args[1:]))(args[0])
        np.testing.assert_allclose(many, y, rtol=1e-13)
        short = f(tf.constant(args[0], tf.float32), *args[1:])
        assert short.dtype == tf.float32
        np.testing.assert_allclose(short, y, rtol=2e-4, atol=1e-5)


# ---- vectors and matrices --------------------------------------------------------------------------------------------

MEAN = np.array([0.3, -0.2, 1.1])
COV = np.array([[2.0, 0.3, -0.4], [0.3, 1.5, 0.2], [-0.4, 0.2, 3.0]])
POINTS = np.array([[0.1, 0.2, 0.4], [1.0, -0.7, 0.9]])
SHARES = np.array([0.2, 0.5, 0.3])
ROOT = np.linalg.cholesky(COV)


def _square(a: Any) -> Any:
    return a @ np.transpose(a)


def _number(x: Any) -> Any:
    return x if isinstance(x, tf.Tensor) else float(x)


MULTIVARIATE: dict[str, tuple[Callable[..., Any], list[np.ndarray]]] = {
    "multivariate_normal.logpdf": (
        lambda x, m, r: st.multivariate_normal.logpdf(x, m, _square(r)),
        [POINTS, MEAN, ROOT],
    ),
    "multivariate_normal.logpdf of a point": (
        lambda x, m, r: st.multivariate_normal.logpdf(x, mean=m, cov=_square(r), allow_singular=True),
        [POINTS[0], MEAN, ROOT],
    ),
    "multivariate_normal.pdf": (
        lambda x, c: st.multivariate_normal.pdf(x, np.zeros(3), cov=c),
        [POINTS, np.array([0.5, 1.0, 2.0])],
    ),
    "multivariate_normal.logpdf of numbers": (
        lambda x, m, c: st.multivariate_normal.logpdf(x, m, c),
        [POINTS[:, 0], *map(np.array, (0.3, 1.7))],
    ),
    "multivariate_normal.entropy": (lambda r: st.multivariate_normal.entropy(MEAN, _square(r)), [ROOT]),
    "multivariate_normal frozen": (lambda m, r: st.multivariate_normal(m, _square(r)).logpdf(POINTS), [MEAN, ROOT]),
    "multivariate_t.logpdf": (
        lambda x, m, r, df: st.multivariate_t.logpdf(x, m, _square(r), df),
        [POINTS, MEAN, ROOT, np.array(3.5)],
    ),
    "multivariate_t.pdf": (lambda df: st.multivariate_t.pdf(POINTS, MEAN, COV, df=df), [np.array(3.5)]),
    "dirichlet.logpdf": (lambda x, a: st.dirichlet.logpdf(x / np.sum(x), a), [SHARES, 4 * SHARES + 1]),
    "dirichlet.logpdf of all but the last": (lambda x: st.dirichlet.logpdf(x, 4 * SHARES + 1), [SHARES[:2]]),
    "dirichlet.pdf of columns": (lambda a: st.dirichlet.pdf(np.stack([SHARES, SHARES[::-1]]).T, a), [4 * SHARES + 1]),
    "multinomial.logpmf": (lambda p: st.multinomial.logpmf([1, 4, 2], 7, p / np.sum(p)), [SHARES]),
    "multinomial.pmf": (lambda p: st.multinomial.pmf([[1, 4, 2], [1, 1, 1]], [7, 7], p / np.sum(p)), [SHARES]),
    "wishart.logpdf": (
        lambda x, df, r: st.wishart.logpdf(_square(x), _number(df), _square(r)),
        [ROOT + 0.1, np.array(4.5), ROOT],
    ),
    "wishart.pdf": (lambda df: st.wishart.pdf(COV, _number(df), COV), [np.array(4.5)]),
    "invwishart.logpdf": (
        lambda x, df, r: st.invwishart.logpdf(_square(x), _number(df), _square(r)),
        [ROOT + 0.1, np.array(4.5), ROOT],
    ),
    "invwishart.pdf": (lambda df: st.invwishart.pdf(COV, _number(df), COV), [np.array(4.5)]),
    "matrix_normal.logpdf": (
        lambda x, m, r: st.matrix_normal.logpdf(x, m, rowcov=[[1.0, 0.2], [0.2, 2.0]], colcov=_square(r)),
        [POINTS, MEAN * POINTS, ROOT],
    ),
    "matrix_normal.pdf": (lambda x: st.matrix_normal.pdf(x, rowcov=2 * np.eye(2), colcov=COV), [POINTS]),
}


@pytest.mark.parametrize("name", MULTIVARIATE)
def test_vectors_and_matrices(name: str) -> None:
    f, args = MULTIVARIATE[name]

    def total(*given: Any) -> Any:
        return np.sum(f(*given) * np.array([1.0, -0.5])[: np.size(f(*args))])

    places = range(len(args))
    np.testing.assert_allclose(f(*map(tf.constant, args)), f(*args), rtol=1e-11)
    slope = tf.transforms.grad(total, tuple(places))
    found = slope(*args)
    directions = [np.cos(1.0 + np.arange(a.size)).reshape(a.shape) for a in args]
    twice = tf.transforms.hvp(total, args, directions)
    up, down = ([a + s * 1e-5 * d for a, d in zip(args, directions, strict=True)] for s in (1, -1))
    for at in places:
        np.testing.assert_allclose(found[at], quotient(total, args, at), rtol=1e-5, atol=1e-7)
        wanted = (np.asarray(slope(*up)[at]) - np.asarray(slope(*down)[at])) / 2e-5
        np.testing.assert_allclose(twice[at], wanted, rtol=1e-4, atol=1e-5)


def test_a_normal_distribution_in_a_plane() -> None:
    cov = np.diag([1.0, 2.0, 0.0])
    inside, outside = np.array([0.3, 1.0, 0.0]), np.array([0.3, 1.0, 0.5])
    for x in (inside, outside):
        found = st.multivariate_normal.logpdf(tf.constant(x), np.zeros(3), cov, allow_singular=True)
        assert float(found) == pytest.approx(st.multivariate_normal.logpdf(x, np.zeros(3), cov, allow_singular=True))
    with pytest.raises(Exception, match="positive definite"):
        st.multivariate_normal.logpdf(tf.constant(inside), np.zeros(3), cov)


def test_a_share_with_the_exponent_0_has_a_slope() -> None:
    def log_density(a: Any) -> Any:
        return st.dirichlet.logpdf(np.array([0.3, 0.7]), a)

    one = np.ones(2)
    np.testing.assert_allclose(tf.transforms.grad(log_density)(one), np.log([0.3, 0.7]) + 1.0, rtol=1e-14)
    curvature = -(np.pi**2 / 6) * np.eye(2) + (np.pi**2 / 6 - 1.0)
    np.testing.assert_allclose(tf.transforms.hessian(log_density)(one), curvature, rtol=1e-14)


def test_off_the_simplex() -> None:
    with pytest.raises(ValueError, match="simplex"):
        st.dirichlet.logpdf(tf.constant([0.5, 0.6], tf.float64), [1.0, 2.0])


# ---- who answers -----------------------------------------------------------------------------------------------------


def _names() -> Iterator[str]:
    for owner, methods in METHODS.items():
        titles = {"rv_continuous": False, "rv_discrete": True}
        names = [n for n, d in UNIVARIATE.items() if d.discrete == titles[owner]] if owner in titles else [owner]
        yield from (f"scipy.stats.{n}.{m}" for n in names for m in methods.split() if m != "__call__")


def test_the_table_is_complete() -> None:
    assert set(STATS) <= set(_names())
    assert [
        name
        for name in STATS
        if name.split(".")[2] not in UNIVARIATE and not any(name[12:] in row for row in MULTIVARIATE)
    ] == []
    for name, distribution in UNIVARIATE.items():
        theirs = [info.name for info in getattr(st, name)._shape_info()]
        # SciPy 1.15 calls it lambda in one place, and lambda_ in all others
        assert list(distribution.shapes) == [shape if shape != "lambda" else "lambda_" for shape in theirs], name


def test_shapes_by_name_and_frozen_distributions() -> None:
    x = tf.constant([0.3, 1.2], tf.float64)
    expected = st.gamma.logpdf([0.3, 1.2], 2.0, 0.1, 3.0)
    for found in (
        st.gamma.logpdf(x, scale=3.0, a=2.0, loc=0.1),
        st.gamma(tf.constant(2.0, tf.float64), 0.1, 3.0).logpdf([0.3, 1.2]),
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-13)
    np.testing.assert_allclose(
        st.norm.logpdf(tf.constant([1, 2]), tf.constant(0.5, tf.float64)), st.norm.logpdf([1, 2], 0.5)
    )


@pytest.mark.parametrize("name", UNIVARIATE)
def test_location_and_scale_may_be_left_out(name: str) -> None:
    shapes = SHAPES.get(name, (1.7,) * len(UNIVARIATE[name].shapes))
    standard = (0.0,) if UNIVARIATE[name].discrete else (0.0, 1.0)
    points = getattr(st, name).ppf([0.13, 0.55, 0.86], *shapes)
    for method in UNIVARIATE[name].formulas:
        x = tf.constant([0.0, 0.3, 1.0] if method in ("ppf", "isf") else points, tf.float64)
        f = getattr(getattr(st, name), method)
        assert f(x, *shapes).numpy().tobytes() == f(x, *shapes, *standard).numpy().tobytes(), method
        np.testing.assert_allclose(f(x, *shapes), f(x.numpy(), *shapes), rtol=2e-10, atol=1e-13)


def test_arrays_are_scipys_business() -> None:
    assert type(st.norm.logpdf(0.0)) is np.float64
    assert st.norm.logpdf.__doc__ == st.norm.logpdf.__wrapped__.__doc__


def test_what_we_have_not_is_refused_in_words() -> None:
    class Mine(st.rv_continuous):
        def _pdf(self, x: Any) -> Any:
            return np.exp(-x)

    mine, x = Mine(a=0.0, name="norm"), tf.constant([0.3], tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(x)
        with pytest.raises(TypeError, match=r"scipy.stats.Mine.logpdf cannot be recorded.*NumPy's functions"):
            mine.logpdf(x)
        with pytest.raises(TypeError, match=r"scipy.stats.levy_stable.pdf|scipy.stats.kappa3.logpdf"):
            st.kappa3.logpdf(x, 1.0)
        with pytest.raises(TypeError, match=r"scipy.stats.multivariate_normal.logpdf of these arguments|with"):
            st.multivariate_normal.logpdf(x, cov=st.Covariance.from_diagonal([1.0]))
    with tf1.Graph().as_default(), pytest.raises(SymbolicArrayError, match=r"scipy.stats.kappa3.logpdf"):
        st.kappa3.logpdf(tf1.placeholder(tf1.float64, [3]), 1.0)
    np.testing.assert_allclose(mine.logpdf(tf.constant([0.3], tf.float64)), -0.3)
