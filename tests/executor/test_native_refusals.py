"""Rows that may refuse what they are given: indices, matrices and numbers out of range, and what happens then."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_api as tf
from engine import executor
from engine.compiler import program as program_module
from engine.executor import staged, vocabulary
from engine.executor.encoding import table_of
from engine.executor.refs import Call
from engine.ops import complexes, explog, gather, linalg, scan, scatter, segment, solve, trig
from engine.ops.compare import cast
from engine.ops.cross_entropy import sparse_softmax_cross_entropy_with_logits
from engine.ops.decompose import cholesky
from engine.ops.determinants import det, slogdet
from engine.ops.diagonal import matrix_diag, matrix_diag_part
from tests.compiler.test_program import lowered
from tests.executor.test_native import derived, natively
from tests.support import assert_same_bits

pytestmark = pytest.mark.skipif(not executor.status().active, reason=str(executor.status()))

RNG = np.random.default_rng(0)
SQUARE = RNG.normal(size=(4, 5, 5)) + 4 * np.eye(5)
POSITIVE = SQUARE @ SQUARE.mT
X = RNG.normal(size=(6, 3))
CUBE = RNG.normal(size=(3, 2, 4))
AT = np.array([4, 0, 4, 2])

LEGAL: dict[str, tuple[Callable[..., Any], tuple[Any, ...], tuple[Any, ...]]] = {
    "gather": (lambda x, i: gather.gather(x, i), (X, AT), (X, np.array([1, 6, 0, 2]))),
    "gather int32": (lambda x, i: gather.gather(x, i, axis=1), (X, np.int32([2, 1])), (X, np.int32([2, -1]))),
    "gather batched": (lambda x, i: gather.gather(x, i, batch_dims=1), (X, np.arange(6) % 3), (X, np.arange(6))),
    # each entry is in range of all elements, but not of its axis
    "gather_nd": (
        lambda x, i: scatter.gather_nd(x, i),
        (X, np.array([[5, 2], [0, 1]])),
        (X, np.array([[5, 2], [0, 3]])),
    ),
    "gather_nd of rows": (
        lambda x, i: scatter.gather_nd(CUBE + x[0, 0], i),
        (X, np.int32([[[2, 1]], [[0, 0]]])),
        (X, np.int32([[[2, 1]], [[1, -1]]])),
    ),
    "gather_nd batched": (
        lambda x, i: scatter.gather_nd(CUBE + x[0, 0], i, batch_dims=1),
        (X, np.array([[[1, 3]], [[0, 0]], [[1, 2]]])),
        (X, np.array([[[1, 3]], [[0, 4]], [[1, 2]]])),
    ),
    "scatter_nd": (
        lambda x, i: scatter.scatter_nd(i, x, [3, 2, 3]),
        (X, np.array([[2, 1], [0, 0], [2, 1], [1, 1], [2, 0], [1, 1]])),
        (X, np.array([[2, 1], [0, 0], [2, 1], [1, 1], [2, 0], [1, 2]])),
    ),
    "tensor_scatter_update": (
        lambda x, i: scatter.tensor_scatter_nd_update(x, i, x[:2, 0]),
        (X, np.array([[4, 2], [0, 1]])),
        (X, np.array([[4, 2], [-1, 1]])),
    ),
    "segment": (
        lambda x, i: segment.unsorted_segment_sum(x, i, 5),
        (X, np.array([0, 4, -1, 4, 2, 0])),
        (X, np.array([0, 5, 1, 4, 2, 0])),
    ),
    "segments of long rows": (
        lambda x, i: segment.unsorted_segment_sum(CUBE.reshape(6, 4) * x[:, :1], i, 5),
        (X, np.array([0, 4, -1, 4, 2, 0])),
        (X, np.array([0, 5, 1, 4, 2, 0])),
    ),
    "labels": (
        lambda x, i: sparse_softmax_cross_entropy_with_logits(i, x),
        (X, np.arange(6) % 3),
        (X, np.arange(6) - 1),
    ),
    "solve": (solve.solve, (SQUARE[0], X[:5]), (np.ones((5, 5)), X[:5])),
    "inv": (solve.inv, (SQUARE,), (0 * SQUARE,)),
    "cholesky": (cholesky, (POSITIVE,), (-POSITIVE,)),
    "triangular": (solve.triangular_solve, (SQUARE, X[:5]), (SQUARE - SQUARE * np.eye(5), X[:5])),
}


def result_of(call: Callable[..., Any], *arguments: Any) -> Any:
    """What a call gives, or the kind and words of its error."""
    try:
        return [np.asarray(x).tolist() for x in call(*arguments)]
    except Exception as error:  # noqa: BLE001 - whatever it is, it must be the same
        return type(error), str(error)


@pytest.mark.parametrize("more", [0, None], ids=["computed", "given"])
@pytest.mark.parametrize("name", LEGAL)
def test_what_rows_refuse_raises_as_the_kernel_does(name: str, more: int | None) -> None:
    f, good, bad = LEGAL[name]
    program = lowered(lambda *xs: 2 * f(*[x if more is None else x + more for x in xs]), good)
    table = natively(program, good)
    expected = result_of(program.run_generated, *bad)
    assert isinstance(expected, tuple), "it should raise"
    for _ in range(10):
        # also after many errors the table is what runs
        assert result_of(program, *bad) == expected
    assert program.native is table
    assert_same_bits(program(*good), program.run_generated(*good))


def test_what_rows_refuse_and_the_kernel_takes_is_computed() -> None:
    singular = np.array(SQUARE)
    singular[2, 0] = 0
    program = lowered(det_gradient, (SQUARE,))
    natively(program, (SQUARE,))
    assert_same_bits(program(singular), program.run_generated(singular))
    numbers = np.array([1.5, -2.7, 1e30, np.nan])
    program = lowered(lambda a: cast(a * 1.0, tf.int64), (np.ones(4),))
    natively(program, (np.ones(4),))
    with np.errstate(invalid="ignore"):
        assert_same_bits(program(numbers), program.run_generated(numbers))


def det_gradient(a: Any) -> Any:
    """Determinants, and the cofactors of matrices."""
    return derived(det, [a])


def test_what_a_refused_kernel_needs_is_still_there() -> None:
    """Memory of operands that rows have read already is not used again before the rows that may refuse."""

    def f(x: Any, i: Any) -> Any:
        y = x * 2
        return solve.triangular_solve(cast(gather.gather(y, i), tf.float64), y[:3] + 1)

    good = RNG.normal(size=(4, 3)).astype(np.float64) + 3, np.array([0, 1, 2])
    program = lowered(f, good)
    natively(program, good)
    bad = good[0] * np.array([1, 0, 1]), good[1]
    assert result_of(program, *bad) == result_of(program.run_generated, *bad)


CALLED: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    **{name: (f, good) for name, (f, good, _) in LEGAL.items()},
    "single precision": (lambda a: solve.inv(cholesky(a)), (POSITIVE.astype(np.float32),)),
    "determinants": (lambda a: det(a) + slogdet(a)[1], (SQUARE,)),
    "cofactors": (det_gradient, (SQUARE,)),
    "diagonals": (lambda a: matrix_diag(matrix_diag_part(a)), (SQUARE,)),
    "running sums": (lambda a: scan.cumsum(a, axis=1, reverse=True) + scan.cumprod(a), (X,)),
    "complex parts": (
        lambda a: complexes.angle(
            complexes.complex(a[:3], a[3, 0]) * complexes.complex(1.0, a[:3]) - cast(a[0, 0], tf.complex128)
        ),
        (X,),
    ),
    "complex casts": (
        lambda a: cast(
            cast(cast(a, tf.complex64) * 1.5j, tf.complex128) + cast(cast(a, tf.float32), tf.complex128), tf.complex64
        ),
        (X,),
    ),
    "complex products": (
        lambda a: derived(
            lambda a: complexes.abs(explog.exp(complexes.complex(0.0 * a, a)) - 0.5 * complexes.complex(a, a[:1])), [a]
        ),
        (X,),
    ),
    "truncation": (lambda a: cast(a, tf.int32), (X,)),
}


@pytest.mark.parametrize("name", CALLED)
def test_nothing_is_called(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    f, inputs = CALLED[name]
    calls = []

    def watched(recording: Any, *rest: Any) -> Any:
        calls.extend(step for step in recording.steps if isinstance(step, Call))
        return table_of(recording, *rest)

    monkeypatch.setattr(staged, "table_of", watched)
    program = lowered(f, inputs)
    natively(program, inputs)
    assert not calls
    changed = [x[::-1].copy() if x.dtype.kind == "f" else x for x in inputs]
    assert_same_bits(program(*changed), program.run_generated(*changed))


def test_faults_in_writing_rows_show_in_tests_and_are_passed_over_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    given = [np.ones((7, 8)), np.ones((8, 9))]
    monkeypatch.setattr(vocabulary, "core_row", None)
    monkeypatch.setattr(staged, "strict", True)
    with pytest.raises(TypeError, match="not callable"):
        natively(lowered(linalg.matmul, given), given)
    monkeypatch.setattr(staged, "strict", False)
    _, recording = staged.observed(lowered(linalg.matmul, given), given, program_module.located)
    assert [type(step) for step in recording.steps] == [Call]


def _saturated(x: Any, ct: Any) -> Any:
    """A derivative that is quick below 2; what comes before it is needed behind it."""
    before = explog.exp(0.5 * x)
    return before * trig.tanh_slope(trig.tanh(x), x) * ct + before


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [7, 30000])
def test_what_leaves_the_range_of_a_quick_derivative_stays_native(
    n: int, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    narrow, wide = (RNG.uniform(-s, s, n).astype(dtype) for s in (2, 20))
    wide[:2] = 15, -15
    program = lowered(_saturated, [narrow, narrow])
    natively(program, [narrow, narrow])
    expected = [program.run_generated(x, narrow) for x in (narrow, wide)]
    for _ in range(2 * staged._MOST_RESUMED):
        for x, results in zip((narrow, wide), expected, strict=True):
            assert_same_bits(program(x, narrow), results)
    monkeypatch.setattr(staged, "interpreted", None)
    monkeypatch.setattr(type(program), "run_generated", None)
    assert program.native is not None
    for x, results in zip((narrow, wide), expected, strict=True):
        assert_same_bits(program(x, narrow), results)


@pytest.mark.parametrize("n", [7, 30000])
def test_effects_happen_once_where_a_quick_derivative_is_left(n: int) -> None:
    calls: list[Any] = []
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, (n,))
        noted = tf.py_func(lambda v: calls.append(v) or v, [x], tf.float64)
        noted.set_shape((n,))
        count = tf.get_variable("count", initializer=np.zeros(()))
        total = tf.get_variable("total", initializer=np.zeros(n))
        more = tf.assign_add(count, 1.0)
        before = tf.exp(0.5 * x) + more + 0 * noted
        (slope,) = tf.gradients(tf.tanh(x), x)
        step = tf.assign_add(total, slope * before)
        session.run(tf.global_variables_initializer())
        want = np.zeros(n)
        for k in range(20):
            given = np.linspace(-2, 2, n) * (10 if k % 5 == 4 else 1)
            session.run(step, {x: given})
            want += (np.exp(0.5 * given) + k + 1) / np.cosh(given) ** 2
            np.testing.assert_allclose(session.run(total), want, rtol=1e-12)
        assert session.run(count) == 20 == len(calls)
