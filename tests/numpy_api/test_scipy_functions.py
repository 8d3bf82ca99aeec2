"""SciPy's own functions on values: the value is SciPy's, the derivative a difference, a graph gives the same bits."""

import importlib
import pickle
import tracemalloc
from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.integrate
import scipy.linalg
import scipy.ndimage
import scipy.signal
import scipy.sparse
import scipy.special

import graph_api as tf1
import tape_api as tf
from dualgrad.frontend.scipy_modules import FUNCTIONS
from engine.numpy_api.scipy_functions import SCIPY
from engine.runtime.errors import SymbolicArrayError
from tests.array_functions import Function, assert_right, weights
from tests.processes import printed
from tests.tapes import gradient_in, watching

la, sp, ft, ig, nd, sg = scipy.linalg, scipy.special, scipy.fft, scipy.integrate, scipy.ndimage, scipy.signal

X = np.array([[0.7, 1.9, 0.4], [1.2, 0.3, 2.3]])
VECTOR = np.array([0.3, -1.2, 0.8])
SQUARE = np.array([[3.0, 0.3, -0.4], [0.1, 2.5, 0.2], [0.5, -0.2, 4.0]])
POSITIVE = SQUARE + SQUARE.T
IMAGE = np.cos(np.arange(42.0)).reshape(6, 7)
PLACES = np.array([[0.6, 3.2, 4.9, 2.3], [5.7, 0.2, 3.4, 2.6]])
BEYOND = np.array([[-0.7, 3.2, 6.9, 2.3], [5.7, -2.2, 3.4, 9.6]])
MODES = ("constant", "nearest", "mirror", "reflect", "grid-wrap")
BAND = np.array([[0.0, 0.3, -0.4], [3.0, 2.5, 4.0], [0.1, -0.2, 0.0]])
UPPER = np.array([[0.0, 0.3, -0.4], [3.0, 2.5, 4.0]])

ROWS: dict[str, tuple[Function, np.ndarray]] = {
    "logsumexp": (sp.logsumexp, X),
    "logsumexp along": (lambda x: sp.logsumexp(x, axis=1, keepdims=True), X),
    "logsumexp of weighted": (lambda x: sp.logsumexp(x, b=[1.0, -0.1, 2.0], axis=1), X),
    "logsumexp by weights": (lambda x: sp.logsumexp(X, b=x)[()], X),
    "logsumexp with signs": (lambda x: sp.logsumexp(x, b=[1.0, -9.0, 2.0], axis=1, return_sign=True)[0], X),
    "softmax": (sp.softmax, X),
    "softmax along": (lambda x: sp.softmax(x, axis=0), X),
    "log_softmax": (lambda x: sp.log_softmax(x, axis=(0, 1)), X),
    "polygamma": (lambda x: sp.polygamma(2, x), X),
    "multigammaln": (lambda x: sp.multigammaln(x + 2, 3), X),
    **{
        f"{name} {n} {slope}": (lambda x, name=name, n=n, slope=slope: getattr(sp, name)(n, x, slope), X)
        for name in ("spherical_jn", "spherical_yn", "spherical_in", "spherical_kn")
        for n, slope in ((0, False), (2, False), (1, True))
    },
    "comb": (lambda x: sp.comb(x + 3, 2), X),
    "perm": (lambda x: sp.perm(x + 3, 2), X),
    "factorial": (lambda x: sp.gamma(x + 1) * sp.factorial(tf.constant(3) if isinstance(x, tf.Tensor) else 3), X),
    "solve": (lambda x: la.solve(x, VECTOR), SQUARE),
    "solve for columns": (lambda x: la.solve(SQUARE, x, transposed=True), X.T),
    "solve symmetric": (lambda x: la.solve(x, VECTOR, assume_a="sym"), POSITIVE),
    "solve positive": (lambda x: la.solve(x, VECTOR, assume_a="pos", lower=True), POSITIVE),
    "solve triangular": (lambda x: la.solve(x, VECTOR, assume_a="lower triangular"), SQUARE),
    "solve_triangular": (lambda x: la.solve_triangular(x, X.T), SQUARE),
    "solve_triangular lower": (lambda x: la.solve_triangular(x, VECTOR, trans="T", lower=True), SQUARE),
    "solve_triangular unit": (lambda x: la.solve_triangular(x, VECTOR, unit_diagonal=True), SQUARE),
    "solve_banded": (lambda x: la.solve_banded((1, 1), x, VECTOR), BAND),
    "solve_banded for": (lambda x: la.solve_banded((1, 1), BAND, x), VECTOR),
    "solve_banded for columns": (lambda x: la.solve_banded((1, 1), BAND, x, check_finite=False), X.T),
    "solveh_banded": (lambda x: la.solveh_banded(x, VECTOR), UPPER),
    "solveh_banded lower": (lambda x: la.solveh_banded(x[::-1], VECTOR, lower=True), UPPER),
    "solve_toeplitz": (lambda x: la.solve_toeplitz((x + np.array([3.0, 0, 0]), [1.0, 0.2, 0.1]), VECTOR), VECTOR),
    "solve_sylvester": (lambda x: la.solve_sylvester(x, SQUARE, X.T[:, :1] * VECTOR), SQUARE),
    "solve_continuous_lyapunov": (lambda x: la.solve_continuous_lyapunov(x, POSITIVE), SQUARE),
    "solve_lyapunov": (lambda x: la.solve_lyapunov(SQUARE, x), SQUARE),
    "cholesky": (la.cholesky, POSITIVE),
    "cholesky lower": (lambda x: la.cholesky(x + np.transpose(x), lower=True), POSITIVE),
    "cho_factor and cho_solve": (lambda x: la.cho_solve(la.cho_factor(x), VECTOR), POSITIVE),
    "cho_solve lower": (lambda x: la.cho_solve((np.linalg.cholesky(POSITIVE), True), x), VECTOR),
    "inv": (la.inv, SQUARE),
    "det": (la.det, SQUARE),
    "pinv": (la.pinv, X),
    "lstsq": (lambda x: la.lstsq(x, VECTOR)[0], X.T),
    "lstsq residuals": (lambda x: la.lstsq(x, VECTOR)[1], X.T),
    "eigh": (lambda x: la.eigh(x)[0], POSITIVE),
    "eigh generalized": (lambda x: np.abs(la.eigh(POSITIVE, x, subset_by_index=(0, 1))[1]), POSITIVE @ POSITIVE),
    "eigvalsh": (lambda x: la.eigvalsh(x, lower=False), POSITIVE),
    "eig": (lambda x: np.sum(np.real(la.eig(x)[0]) ** 2), SQUARE),
    "eigvals": (lambda x: np.sum(np.real(la.eigvals(x)) ** 3), SQUARE),
    "svd": (lambda x: la.svd(x, full_matrices=False)[1], X),
    "svdvals": (la.svdvals, X),
    "qr": (lambda x: np.abs(la.qr(x, mode="economic")[1]), X.T),
    "qr r": (lambda x: np.abs(la.qr(x, mode="r")[0]), SQUARE),
    "norm": (la.norm, X),
    "norm of rows": (lambda x: la.norm(x, 1, axis=1), X),
    "expm": (la.expm, SQUARE / 3),
    "sqrtm": (la.sqrtm, SQUARE),
    "logm": (la.logm, SQUARE),
    "cosm": (la.cosm, SQUARE / 3),
    "sinm": (la.sinm, SQUARE / 3),
    "sinm of complex": (lambda x: np.abs(la.sinm(np.fft.fft(x) / 5)), SQUARE / 3),
    "tanm": (la.tanm, SQUARE / 5),
    "coshm": (la.coshm, SQUARE / 3),
    "sinhm": (la.sinhm, SQUARE / 3),
    "tanhm": (la.tanhm, SQUARE / 3),
    "expm_frechet": (lambda x: la.expm_frechet(x, POSITIVE / 4)[1], SQUARE / 3),
    "expm_frechet alone": (lambda x: la.expm_frechet(SQUARE / 3, x, compute_expm=False), SQUARE / 3),
    "fractional_matrix_power": (lambda x: la.fractional_matrix_power(x, 0.3), SQUARE),
    "fractional_matrix_power whole": (lambda x: la.fractional_matrix_power(x, -2), SQUARE),
    "lu_factor": (lambda x: la.lu_factor(np.take(x * 1.0, [1, 2, 0], 0))[0], SQUARE),
    "lu_solve": (lambda x: la.lu_solve(la.lu_factor(np.take(x * 1.0, [1, 2, 0], 0)), VECTOR), SQUARE),
    "lu_solve for columns": (lambda x: la.lu_solve(la.lu_factor(SQUARE[::-1]), x, trans=1), X.T),
    "lu_solve transposed": (
        lambda x: la.lu_solve(la.lu_factor(np.take(x * 1.0, [2, 0, 1], 0)), VECTOR, trans=1),
        SQUARE,
    ),
    "polar": (lambda x: la.polar(x)[0] + la.polar(x)[1], SQUARE),
    "polar left": (lambda x: la.polar(x, side="left")[1], SQUARE),
    "solve_discrete_lyapunov": (lambda x: la.solve_discrete_lyapunov(x, POSITIVE), SQUARE / 8),
    "pinvh": (lambda x: la.pinvh(x + np.transpose(x)), POSITIVE),
    "companion": (la.companion, VECTOR),
    "convolution_matrix": (lambda x: la.convolution_matrix(x, 4), VECTOR),
    "convolution_matrix same": (lambda x: la.convolution_matrix(x, 4, mode="same"), VECTOR),
    "convolution_matrix valid": (lambda x: la.convolution_matrix(x, 5, "valid"), VECTOR),
    "toeplitz": (lambda x: la.toeplitz(x, [9.0, 1.0, 2.0, 3.0]), VECTOR),
    "toeplitz symmetric": (la.toeplitz, VECTOR),
    "hankel": (lambda x: la.hankel(x, [9.0, 1.0, 2.0, 3.0]), VECTOR),
    "circulant": (la.circulant, VECTOR),
    "block_diag": (lambda x: la.block_diag(x, 1.0, [2.0, 3.0], x), X),
    "khatri_rao": (lambda x: la.khatri_rao(x, SQUARE), X),
    "fft": (lambda x: np.abs(ft.fft(x, 5, norm="ortho")), X),
    "ifft": (lambda x: np.abs(ft.ifft(x, axis=0)), X),
    "rfft": (lambda x: np.abs(ft.rfft(x, workers=1)), X),
    "irfft": (lambda x: ft.irfft(ft.rfft(x) * 2.0, 4), X),
    "hfft": (lambda x: ft.hfft(ft.ihfft(x, axis=0), axis=0), X),
    "ihfft": (lambda x: np.abs(ft.ihfft(x)), X),
    "fft2": (lambda x: np.abs(ft.fft2(x)), X),
    "ifft2": (lambda x: np.abs(ft.ifft2(x, (3, 2))), X),
    "rfft2": (lambda x: np.abs(ft.rfft2(x)), X),
    "irfft2": (lambda x: ft.irfft2(ft.rfft2(x)), X),
    "fftn": (lambda x: np.abs(ft.fftn(x, axes=(0,))), X),
    "ifftn": (lambda x: np.abs(ft.ifftn(x)), X),
    "rfftn": (lambda x: np.abs(ft.rfftn(x, (2, 4))), X),
    "irfftn": (lambda x: ft.irfftn(ft.rfftn(x)), X),
    "dct": (ft.dct, X),
    "idct": (lambda x: ft.idct(x, 3, norm="ortho", axis=0), X),
    "dst": (lambda x: ft.dst(x, norm="ortho"), X),
    "idst": (ft.idst, X),
    "trapezoid": (lambda x: ig.trapezoid(x, dx=0.5, axis=0), X),
    "trapezoid over": (lambda x: ig.trapezoid(X, x), np.sort(VECTOR)),
    "cumulative_trapezoid": (lambda x: ig.cumulative_trapezoid(x, [0.0, 0.3, 1.0], initial=0), X),
    "simpson": (lambda x: ig.simpson(x, x=[0.0, 0.3, 1.0]), X),
    **{
        f"map_coordinates {order} {mode}": (
            lambda x, order=order, mode=mode: nd.map_coordinates(x, BEYOND, order=order, mode=mode, cval=0.3),
            IMAGE,
        )
        for order in range(4)
        for mode in MODES
    },
    **{
        f"map_coordinates at places {order} {mode}": (
            lambda x, order=order, mode=mode: nd.map_coordinates(IMAGE, x, order=order, mode=mode),
            PLACES if mode == "constant" else BEYOND,
        )
        for order in (1, 2, 3)
        for mode in MODES
    },
    "map_coordinates unfiltered": (lambda x: nd.map_coordinates(x[0], [[0.3, 4.4]], prefilter=False), IMAGE),
    "gaussian_filter": (lambda x: nd.gaussian_filter(x, (1.0, 2.0)), IMAGE),
    "gaussian_filter1d": (lambda x: nd.gaussian_filter1d(x, 1.5, axis=0, order=1, mode="nearest"), IMAGE),
    "uniform_filter": (lambda x: nd.uniform_filter(x, 3, mode="wrap"), IMAGE),
    "uniform_filter1d": (lambda x: nd.uniform_filter1d(x, 4), IMAGE),
    "convolve1d": (lambda x: nd.convolve1d(x, [1.0, 2.0, -0.5], 0), IMAGE),
    "correlate1d": (lambda x: nd.correlate1d(x, weights=[1.0, 2.0, -0.5, 3.0], origin=1), IMAGE),
    "convolve": (lambda x: sg.convolve(x, [1.0, 2.0, 3.0, 0.5], mode="same"), VECTOR),
    "convolve of matrices": (lambda x: sg.convolve(IMAGE, x, mode="valid"), X),
    "convolve swapped": (lambda x: sg.convolve(x, IMAGE, mode="valid", method="direct"), X),
    "convolve same": (lambda x: sg.convolve(x, X, "same"), IMAGE),
    "fftconvolve": (lambda x: sg.fftconvolve(x, X[:, :2]), IMAGE),
    "convolve2d": (lambda x: sg.convolve2d(X, x, mode="full"), IMAGE),
    "correlate": (lambda x: sg.correlate(x, X, mode="same"), IMAGE),
    "correlate swapped": (lambda x: sg.correlate(x, IMAGE, mode="valid"), X),
    "sqrtm complex": (lambda x: np.abs(la.sqrtm(x - 4.0 * np.eye(3))), SQUARE),
    "diags": (lambda x: scipy.sparse.diags(x, 1) @ np.arange(4.0), VECTOR),
    "diags_array": (lambda x: scipy.sparse.diags_array(x, offsets=-1) @ np.arange(4.0), VECTOR),
    "simpson even": (lambda x: ig.simpson(x, dx=0.5, axis=0), X),
}


@pytest.mark.parametrize("name", ROWS)
def test_the_value_is_scipys_the_gradient_a_difference_and_a_graph_agrees(name: str) -> None:
    # some depend on the kind of tensor, or on its contents
    in_a_graph = name not in ("factorial", "sqrtm complex") and not name.startswith("lu_")
    assert_right(*ROWS[name], 1e-11, in_a_graph)


@pytest.mark.parametrize("name", ROWS)
def test_forward_and_second_derivatives(name: str) -> None:
    f, x = ROWS[name]
    direction = weights(x.shape)

    def total(t: Any) -> Any:
        y = f(t)
        return tf.reduce_sum(y * y * weights(y.shape.as_list()))

    def along(point: np.ndarray) -> Any:
        t = tf.constant(point)
        tape, y = watching(t, lambda: total(t), persistent=True)
        return tape.gradient(y, t).numpy(), tape.jvp(y, t, direction).numpy()

    gradient, pushed = along(x)
    assert pushed == pytest.approx(np.sum(gradient * direction), rel=1e-9, abs=1e-12)
    hessian = tf.for_scipy(total, x).hessp(x.ravel(), direction.ravel())
    step = 1e-6
    quotient = (along(x + step * direction)[0] - along(x - step * direction)[0]) / (2 * step)
    np.testing.assert_allclose(hessian.reshape(x.shape), quotient, rtol=1e-5, atol=1e-5)


def test_the_rows_are_complete() -> None:
    names = " ".join(ROWS)
    assert [name for name in SCIPY if name.rpartition(".")[2] not in names] == []
    assert {f"{home}.{name}" for home, names in FUNCTIONS.items() for name in names.split()} == set(SCIPY)
    for name in SCIPY:
        home, _, own = name.rpartition(".")
        assert callable(getattr(importlib.import_module(home), own)), name


def test_arrays_are_scipys_business() -> None:
    for name in SCIPY:
        home, _, own = name.rpartition(".")
        function = getattr(importlib.import_module(home), own)
        assert pickle.loads(pickle.dumps(function)) is function
        assert function.__doc__ == function.__wrapped__.__doc__
    assert type(la.solve(SQUARE, VECTOR)) is np.ndarray
    with pytest.raises(TypeError, match="unexpected keyword"):
        la.solve(SQUARE, VECTOR, unknown=1)


def test_what_we_have_not_is_refused_in_words() -> None:
    t = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(t)
        with pytest.raises(TypeError, match=r"scipy.fft.dct with `n` cannot be recorded.*tf.matmul"):
            ft.dct(t, n=5)
        free = ft.dct(tf.stop_gradient(t), n=5)
    np.testing.assert_array_equal(free, ft.dct(X, n=5))
    with tf1.Graph().as_default(), pytest.raises(SymbolicArrayError, match=r"scipy.fft.dct"):
        ft.dct(tf1.placeholder(tf1.float64, [3]), n=5)


def test_it_does_not_matter_who_comes_first() -> None:
    program = """
import sys
{0}
from scipy.special import logsumexp
import scipy.linalg
t = tf.constant([0.0, 0.0], tf.float64)
with tf.GradientTape() as tape:
    tape.watch(t)
    y = logsumexp(t) + scipy.linalg.norm(t + 1.0)
print(tape.gradient(y, t).numpy().round(3).tolist())
"""
    for first in ("import tape_api as tf", "import scipy.special\nimport scipy.linalg\nimport tape_api as tf"):
        assert printed(program.format(first)) == "[1.207, 1.207]\n"


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_logarithms_of_matrices_depend_on_nothing_random(dtype: str) -> None:
    """SciPy's own estimates norms of matrices larger than 2 x 2 with NumPy's random numbers."""
    rng = np.random.default_rng(0)
    for a in (3 * np.eye(6) + 0.5 * rng.standard_normal((20, 6, 6))).astype(dtype):
        before = np.random.get_state()[1:]
        first, again = la.logm(tf.constant(a)), la.logm(tf.constant(np.asfortranarray(a)))
        np.testing.assert_equal(np.random.get_state()[1:], before)
        assert first.numpy().tobytes() == again.numpy().tobytes()
        np.testing.assert_allclose(la.expm(first.numpy()), a, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["eval_legendre", "eval_chebyt", "eval_hermite"])
def test_degrees_that_would_never_end_are_refused(name: str) -> None:
    """SciPy takes a step for each degree: at 1e18 it would not come back."""
    x = tf.constant([0.5])
    function = getattr(scipy.special, name)
    with pytest.raises(ValueError, match="at most 1,000,000"):
        function(np.array([1e18]), x)
    assert function(np.array([3.0]), x).shape == (1,)


def by_order(name: str, v: Any, x: Any) -> np.ndarray:
    """The derivative of a Bessel function in its order."""
    order = tf.constant(v, tf.float64)
    return np.asarray(
        gradient_in(order, lambda: getattr(scipy.special, name)(order, np.asarray(x, np.float64))).numpy()
    )


@pytest.mark.parametrize(
    ("name", "v", "x", "wanted"),
    [
        # by mpmath with 60 digits
        ("ive", 0.3, 1e3, -3.7868962200436258693e-6),
        ("ive", 0.3, 1e6, -1.1968275353645957939e-10),
        ("ive", 0.3, 4e9, -4.73087347947377657e-16),
        ("kve", 0.5191099609531884, 197.88277643193615, 2.331499711972863e-4),
        ("kve", -0.8099564189486461, 40.226008098131004, -3.950101869079047e-3),
        ("kv", 2.3682951731770405, 69.03138525741433, 5.591399337146641e-33),
    ],
)
def test_bessel_functions_in_their_order_at_large_numbers(name: str, v: float, x: float, wanted: float) -> None:
    assert by_order(name, v, x) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("name", ["jv", "yv", "iv", "kv", "ive", "kve"])
def test_what_swings_without_end_costs_nothing(name: str) -> None:
    """An integrand that swings 1e9 times has no derivative here; the element beside it keeps its bits."""
    alone = by_order(name, [0.3], [2.0])
    tracemalloc.start()
    try:
        beside = by_order(name, [0.3, 0.3, 0.3], [2.0, 4.2e9, 1e300])
        assert tracemalloc.get_traced_memory()[1] < 10e6
    finally:
        tracemalloc.stop()
    assert beside[:1].tobytes() == alone.tobytes()
    if name in ("jv", "yv"):
        assert np.isnan(beside[1:]).all()


def test_solutions_that_lapack_scales_are_as_large_as_they_are() -> None:
    q = tf.Variable(np.array([[1e293]]))
    with tf.GradientTape() as recorded:
        x = la.solve_sylvester(np.array([[0.25]]), np.array([[0.25]]), q)
    np.testing.assert_allclose(x, [[2e293]])
    np.testing.assert_array_equal(recorded.gradient(x, q), [[2.0]])


def test_polygamma_at_poles_and_of_an_infinite_order_is_scipys() -> None:
    n, x = np.array([1.0, 1.0, 2.0, 3.0, 1.0]), np.array([-2.0, 0.0, 0.0, -1.0, -1.5])
    np.testing.assert_allclose(scipy.special.polygamma(n, tf.constant(x)), scipy.special.polygamma(n.astype(int), x))
    assert np.isnan(scipy.special.polygamma(np.inf, tf.constant(1.5)).numpy())
