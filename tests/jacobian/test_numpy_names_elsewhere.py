"""Every function of NumPy's that tensors take: a plan holds at another point or is refused, a pattern holds at all."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tape_api as tf
from engine.numpy_api import protocol
from engine.runtime.errors import InvalidArgumentError
from tests import numpy_rows
from tests.tapes import gradient_in

pytestmark = pytest.mark.filterwarnings("ignore")

EDGES = [-1.0, 0.0, 0.5, 1.0]
TABLE = np.array([2.0, 3.0, 5.0, 7.0, 11.0, 13.0])
STEPS: dict[str, Callable[[Any], Any]] = {
    # without a derivative, or of tensors that have none
    "where of numbers": lambda x: np.where(x > 0.5, 2.0, 3.0),
    "where of whole numbers": lambda x: np.where(x > 0.5, 1, 0),
    "floor": np.floor,
    "ceil": np.ceil,
    "rint": np.rint,
    "trunc": np.trunc,
    "round": np.round,
    "around": np.around,
    "round to decimals": lambda x: np.round(x, 1),
    "sign": np.sign,
    "signbit": np.signbit,
    "floor_divide": lambda x: np.floor_divide(x, 0.3),
    "remainder": lambda x: np.mod(x, 0.7),
    "divmod": lambda x: np.divmod(x, 0.7)[0],
    "heaviside": lambda x: np.heaviside(x, 0.5),
    "frexp": lambda x: np.frexp(x)[1],
    "argsort": np.argsort,
    "argmax": np.argmax,
    "argmin": np.argmin,
    "nanargmax": np.nanargmax,
    "nanargmin": np.nanargmin,
    "argpartition": lambda x: np.argpartition(x, 1),
    "lexsort": lambda x: np.lexsort((x,)),
    "searchsorted": lambda x: np.searchsorted(EDGES, x),
    "searchsorted in it": lambda x: np.searchsorted(np.sort(x), 0.1),
    "digitize": lambda x: np.digitize(x, EDGES),
    "select": lambda x: np.select([x > 0.5, x > 0.0], [2.0, 3.0], 4.0),
    "piecewise": lambda x: np.piecewise(x, [x < 0.0, x >= 0.0], [2.0, 3.0]),
    "clip of whole numbers": lambda x: np.clip(np.floor(x).astype(int), -1, 1),
    "any": lambda x: np.any(x > 0.5),
    "all": lambda x: np.all(x > -0.5),
    "logical_or.reduce": lambda x: np.logical_or.reduce(x > 0.5),
    "count_nonzero": lambda x: np.count_nonzero(x > 0.5),
    "isnan": lambda x: np.isnan(np.where(x > 0.5, np.nan, x)),
    "isinf": lambda x: np.isinf(np.where(x > 0.5, np.inf, x)),
    "isfinite": lambda x: np.isfinite(np.where(x > 0.5, np.inf, x)),
    "isposinf": lambda x: np.isposinf(np.where(x > 0.5, np.inf, x)),
    "isneginf": lambda x: np.isneginf(np.where(x > 0.5, -np.inf, x)),
    "isclose": lambda x: np.isclose(np.floor(x), 0.0),
    "allclose": lambda x: np.allclose(np.floor(x), 0.0),
    "array_equal": lambda x: np.array_equal(np.sort(x), x),
    "array_equiv": lambda x: np.array_equiv(np.floor(x), 0.0),
    "isin": lambda x: np.isin(np.floor(x), [0.0, 2.0]),
    "isreal": np.isreal,
    "nonzero": lambda x: np.nonzero(x > 0.5)[0].sum(),
    "flatnonzero": lambda x: np.flatnonzero(x > 0.5).sum(),
    "argwhere": lambda x: np.argwhere(x > 0.5).sum(),
    "where of places": lambda x: np.where(x > 0.5)[0].sum(),
    "nonzero of one shape": lambda x: np.nonzero(np.floor(x) + 0.5)[0][::-1],
    "unique": lambda x: np.unique(np.floor(x))[0],
    "unique_counts": lambda x: np.unique_counts(np.floor(x)).counts[0],
    "bincount": lambda x: np.bincount(np.clip(np.floor(x), 0, 2).astype(int), minlength=3)[1],
    "histogram": lambda x: np.histogram(x, EDGES)[0][1],
    "histogram_bin_edges": lambda x: np.histogram_bin_edges(x, 3)[1],
    "less": lambda x: np.less(x, 0.5),
    "greater_equal": lambda x: np.greater_equal(x, 0.5),
    "equal": lambda x: np.equal(np.floor(x), 0.0),
    "not_equal": lambda x: np.floor(x) != 0.0,
    "logical_and": lambda x: np.logical_and(x > 0.5, x < 1.0),
    "logical_not": lambda x: np.logical_not(x > 0.5),
    "logical_xor": lambda x: np.logical_xor(x > 0.5, x > 0.0),
    "bitwise_and": lambda x: (x > 0.5) & (x < 1.0),
    "left_shift": lambda x: np.left_shift(1, np.digitize(x, EDGES)),
    "gcd": lambda x: np.gcd(np.digitize(x, EDGES), 2),
    "matrix_rank": lambda x: np.linalg.matrix_rank(np.floor(x)[:, None] * np.floor(x)),
    "astype": lambda x: tf.cast(np.astype(x, np.int64), tf.float64),
    "a method": lambda x: np.floor(x).sum() + np.floor(x).max() + np.floor(x).cumsum(),
    "a function of steps": lambda x: np.sin(np.floor(x)) + np.median(np.floor(x)) + np.sort(np.floor(x)),
    "an index": lambda x: np.floor(x)[::-1] + np.floor(x)[[0, 0, 1, 1]],
    "in place": lambda x: _added(np.floor(x), 2.0),
    "ones_like": np.ones_like,
    "zeros_like": lambda x: np.zeros_like(x) + 2.0,
    "spacing": lambda x: np.spacing(tf.stop_gradient(x)),
    "nextafter": lambda x: np.nextafter(tf.stop_gradient(x), 3.0),
    "setdiff1d": lambda x: np.setdiff1d(np.floor(x), [0.0]).sum(),
    "trim_zeros": lambda x: np.trim_zeros(np.floor(x)).sum(),
    # chosen by contents, with a derivative
    "interp": lambda x: np.interp(x, EDGES, [0.0, 1.0, 4.0, -2.0]),
    "interp between": lambda x: np.interp(0.3, np.sort(x), EDGES),
    "median": np.median,
    "percentile": lambda x: np.percentile(x, 30),
    "quantile": lambda x: np.quantile(x, 0.6),
    "nan_to_num": lambda x: np.nan_to_num(np.where(x > 0.5, np.nan, x)),
    "nanmean": lambda x: np.nanmean(np.where(x > 0.5, np.nan, x)),
    "fmax": lambda x: np.fmax(x, 0.3),
    "copysign": lambda x: np.copysign(2.0, x),
    "sort": np.sort,
    "take": lambda x: np.take(x, np.argsort(x)),
    "take_along_axis": lambda x: np.take_along_axis(x, np.argsort(x), 0),
    "compress": lambda x: np.sum(np.compress([True, False, True, True], x)),
    "ptp": np.ptp,
    "max": np.max,
    # by Python
    "a number": lambda x: float(tf.stop_gradient(x)[0]),
    "numpy": lambda x: tf.stop_gradient(x).numpy(),
    "a decision": lambda x: 2.0 if x[0] > 0.5 else 3.0,
    "a list": lambda x: [2.0, 3.0, 5.0, 7.0][np.argmax(x)],
    "an array by an index": lambda x: TABLE[np.argsort(x)],
    "a loop": lambda x: sum(1.0 for v in x if v > 0.5),
    "cond": lambda x: tf.cond(x[1] > 0.5, lambda: x * 2.0, lambda: x[::-1] ** 2),
    "switch_case": lambda x: tf.switch_case(
        np.argmax(x), [lambda: x, lambda: x[::-1], lambda: x * x, lambda: x[0] * x]
    ),
    "case": lambda x: tf.case([(x[0] > 0.5, lambda: x), (x[1] > 0.0, lambda: x[::-1])], default=lambda: x[0] + x),
    "while_loop": lambda x: tf.while_loop(lambda y: tf.reduce_sum(y) < 3.0, lambda y: (y + tf.abs(y) + 0.5,), (x,))[0],
    "map_fn": lambda x: tf.map_fn(lambda v: tf.cond(v > 0.5, lambda: v * v, lambda: 3.0 * v), x),
    "scan": lambda x: tf.scan(lambda s, v: tf.cond(v > s, lambda: s + v, lambda: s * v), x),
    "foldl": lambda x: tf.foldl(lambda s, v: tf.cond(v > s, lambda: v, lambda: s), x),
}


def _added(x: Any, y: Any) -> Any:
    x += y
    return x


def of_rows() -> dict[str, tuple[Callable[[Any], Any], np.ndarray]]:
    """The functions that carry derivatives, at a point and at others."""
    return {name: row for name, row in numpy_rows.ROWS.items() if name not in ("poly", "roots")}


def fresh(f: Callable[[Any], Any], at: np.ndarray) -> np.ndarray:
    x = tf.constant(at)
    return np.asarray(gradient_in(x, lambda: f(x), method="jacobian", unconnected_gradients="zero"))


def plan_of(f: Callable[[Any], Any], at: np.ndarray) -> Any:
    x = tf.constant(at)
    return gradient_in(x, lambda: f(x), method="jacobian_plan")


def check(
    f: Callable[[Any], Any], points: list[np.ndarray], jacobians: list[np.ndarray] | None = None
) -> tuple[int, int]:
    """A plan and a pattern made at the first point, at the others; how often the plan held, how often it refused."""
    held, refused, refused_at_home = 0, 0, False
    try:
        plan: Any = plan_of(f, points[0])
    except InvalidArgumentError:
        plan = None
    function = tf.for_scipy(f, points[0], format="csr")
    pattern = function.jac_sparsity().toarray() != 0
    for i, at in enumerate(points):
        expected = (jacobians[i] if jacobians else fresh(f, at)).reshape(-1, at.size)
        assert not (~pattern & (expected != 0) & ~np.isnan(expected)).any(), "an entry outside of the pattern"
        np.testing.assert_allclose(np.asarray(function.jac(at).toarray()), expected, rtol=1e-9, atol=1e-12)
        try:
            found = None if plan is None else np.asarray(plan(at)).reshape(-1, at.size)
        except InvalidArgumentError:
            refused_at_home |= at is points[0]
            found = None
        if found is None:
            refused += 1
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
            held += 1
    assert not refused_at_home
    return held, refused


PYTHON = ("a number", "numpy", "a decision", "a list", "an array by an index", "a loop", "cond", "switch_case", "case")
SHAPES = ("nonzero", "flatnonzero", "argwhere", "where of places", "unique", "unique_counts")
SHAPES = (*SHAPES, "setdiff1d", "trim_zeros")
LOOPS = ("while_loop", "map_fn", "scan", "foldl")


@pytest.mark.parametrize("name", STEPS)
def test_at_other_points(name: str) -> None:
    rng = np.random.default_rng(len(name))
    step = STEPS[name]
    points = [1.3 * rng.normal(size=4) for _ in range(11)]

    def f(x: Any) -> Any:
        found = step(x)
        return x * (tf.cast(found, tf.float64) if isinstance(found, tf.Tensor) and found.dtype.is_bool else found)

    _, refused = check(f, points)
    assert (refused > 0) == (name in PYTHON + LOOPS + SHAPES), "what is recorded is computed anew"


@pytest.mark.parametrize("name", of_rows())
def test_what_carries_derivatives_at_other_points(name: str) -> None:
    f, x = of_rows()[name]
    rng = np.random.default_rng(len(name))
    points = [x, *[x * (1 + 0.1 * rng.normal(size=x.shape)) for _ in range(2)]]
    try:
        jacobians = [fresh(f, at) for at in points]
    except Exception:  # noqa: BLE001
        pytest.skip("it does not take the point")
    check(lambda t: f(tf.reshape(t, x.shape)), [p.ravel() for p in points], jacobians)


def test_the_names_are_complete() -> None:
    """Each name that the protocol serves stands in one of the tables here."""
    text = inspect.getsource(numpy_rows) + inspect.getsource(inspect.getmodule(check))  # type: ignore[arg-type]
    underived = [*protocol.UNDERIVED, *protocol._INSPECTING]
    text_only = ("array2string", "array_repr", "array_str", "save", "savez", "savez_compressed", "savetxt")
    missing = {f.__name__ for f in underived if f"np.{f.__name__}" not in text and f"linalg.{f.__name__}" not in text}
    assert missing <= {*text_only, "iscomplex", "min_scalar_type", "shape", "ndim", "size", "amax", "amin"}, missing
