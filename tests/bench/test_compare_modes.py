"""`bench.compare_modes` on functions of users."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import bench
from bench import modes, suite
from bench.results import read

X = np.array([0.25, 0.5, 1.0])


def quick(fn: Any, *args: Any, **options: Any) -> bench.ModeComparison:
    return bench.compare_modes(fn, *args, seconds=0.0, **options)


def test_a_vector_has_a_jacobian() -> None:
    def squares(tf: Any, x: Any) -> Any:
        return tf.square(x) + tf.reduce_sum(x)

    found = quick(squares, X)
    assert (found.name, found.derivative) == ("squares", "jacobian")
    np.testing.assert_allclose(found.result[0], np.diag(2 * X) + 1)


def test_a_scalar_has_a_gradient() -> None:
    found = quick(lambda tf, x: tf.reduce_sum(tf.sin(x)), X)
    assert (found.name, found.derivative) == ("a lambda", "gradient")
    np.testing.assert_allclose(found.result[0], np.cos(X), rtol=1e-15)


def test_a_function_of_tensors_only_uses_numpy() -> None:
    found = quick(lambda x, y: np.sin(x) * y, X, 2 * X)
    np.testing.assert_allclose(found.result[1], np.diag(np.sin(X)), rtol=1e-15)


def test_the_derivative_can_be_asked_for() -> None:
    found = quick(lambda tf, x: x * x, X, derivative="gradient")
    np.testing.assert_allclose(found.result[0], 2 * X)
    with pytest.raises(ValueError, match="derivative must be"):
        quick(lambda x: x, X, derivative="hessian")


def test_arguments_may_be_structures_and_constants() -> None:
    def model(tf: Any, x: Any, weights: Any, rows: Any) -> Any:
        return tf.gather(x * weights["scale"] + weights["shift"], rows)

    found = quick(model, X, {"scale": 2.0 * np.ones(()), "shift": np.ones(3)}, [0, 2, 2])
    assert [r.shape for r in found.result] == [(3, 3), (3,), (3, 3)], "indices are no sources"
    only = quick(model, X, {"scale": 2.0 * np.ones(()), "shift": np.ones(3)}, [0, 2, 2], sources=[0])
    assert [r.shape for r in only.result] == [(3, 3)]


def test_a_gradient_of_gathered_rows_is_made_dense() -> None:
    found = quick(lambda tf, x: tf.reduce_sum(tf.gather(x, [0, 2, 2])), X)
    np.testing.assert_array_equal(found.result[0], [1, 0, 2])


def test_what_the_function_does_not_depend_on_is_none() -> None:
    found = quick(lambda tf, x, y: tf.reduce_sum(x), X, X)
    assert found.result[1] is None


def test_numbers_are_float32_as_in_tensorflow() -> None:
    assert quick(lambda tf, x: x * x, 3.0).result[0].dtype == np.float32


def test_modes_that_differ_are_told() -> None:
    calls: list[int] = []

    def unsteady(tf: Any, x: Any) -> Any:
        calls.append(0)
        return tf.reduce_sum(x) * float(len(calls))

    with pytest.raises(AssertionError, match="graph and tape differ in function 0"):
        quick(unsteady, X)


def test_lists_of_floats_are_arrays_and_ints_stay_ints() -> None:
    def power(x: Any, n: int, word: str, extra: Any) -> Any:
        assert extra is None and word == "abc"
        return sum(x**k for k in range(1, n))

    found = quick(power, [0.5, 1.0, 2.0], 3, "abc", None)
    assert found.derivative == "jacobian"
    np.testing.assert_allclose(found.result[0], np.diag([2.0, 3.0, 5.0]))
    assert found.result[0].dtype == np.float32
    two = quick(lambda pair: pair[0] * pair[1]["w"], (X.astype(np.float32), {"w": [1.0, 2.0, 3.0]}))
    np.testing.assert_allclose(two.result[0], np.diag([1.0, 2.0, 3.0]))


@pytest.mark.parametrize(
    ("error", "message", "fn", "options"),
    [
        (ValueError, "no source holds floating-point", lambda tf, i: i, {"sources": 1}),
        (ValueError, r"returns \(int64\) does not depend", lambda tf, x, i: tf.argmax(x), {}),
        (ValueError, r"returns \(float32\) does not depend", lambda tf, x, i: tf.constant(1.0), {}),
        (ValueError, "there is no argument 2; there are 2", lambda tf, x, i: x, {"sources": [0, 2]}),
        (TypeError, "must return one tensor, got list: join several", lambda tf, x, i: [x, x], {}),
        (TypeError, "must return one tensor, got ndarray", lambda tf, x, i: np.ones(3), {}),
        (TypeError, "must be a function, got int", 3, {}),
        (TypeError, "mode: options are for Jacobians", lambda tf, x, i: tf.reduce_sum(x), {"mode": "forward"}),
        (ValueError, "computes nothing that could be compared", lambda tf, x, i: x, {"format": "operator"}),
        (TypeError, "unexpected keyword argument 'modes'", lambda tf, x, i: x, {"modes": "forward"}),
    ],
)
def test_what_cannot_be_compared_is_refused(error: Any, message: str, fn: Any, options: Any) -> None:
    with pytest.raises(error, match=message):
        quick(fn, X, 3, **options)
    with pytest.raises(Exception, match="argument 0: constant: Cannot convert"):
        quick(lambda x: x, np.array([object()]))


def test_errors_of_the_function_say_in_which_mode() -> None:
    with pytest.raises(AttributeError, match="numpy") as caught:
        quick(lambda x: x * float(x.numpy()[0]), X)
    assert "was called in graph mode, where tensors have no values" in caught.value.__notes__[0]
    with pytest.raises(AttributeError, match="placeholder") as caught:
        quick(lambda tf, x: tf.placeholder(tf.float32, []) * x, X)
    assert caught.value.__notes__ == ["compare_modes: a lambda was called in tape mode"]


# ---- what it shows ---------------------------------------------------------------------------------------------------


def made(graph: float, tape: float, build: float = 1e-3) -> bench.ModeComparison:
    """A comparison with known times."""
    rounds = {
        "graph": {"function": [1e-5] * 5, "derivative": [graph] * 5},
        "tape": {"function": [2e-5] * 5, "derivative": [tape] * 5},
    }
    built = {"graph": (build, build), "tape": (0.0, 0.0)}
    first = {"graph": 2e-4, "tape": 3e-4}
    return bench.ModeComparison("f < g", "jacobian", built, first, rounds, {"graph": 1000, "tape": 2000}, [None], 10)


def test_the_table_says_which_is_cheaper() -> None:
    shown = str(made(1e-4, 2e-4))
    assert "jacobian of f < g" in shown and "2.00 ×" in shown and "100 µs" in shown and "2 kB" in shown
    assert "Later calls are cheaper in graph mode: the other takes 2.00 × the time." in shown
    assert "Building the graph pays from 20 calls on." in shown
    assert "about the same" in str(made(1e-4, 1.05e-4))


def test_the_break_even() -> None:
    assert made(1e-4, 2e-4).break_even == 20  # 2.2 ms to begin with beside 0.3 ms; 0.1 ms saved by each of 19 more
    assert made(2e-4, 1e-4).break_even is None
    assert made(1e-4, 2e-4, build=0.0).break_even == 1


def test_the_figure_is_well_formed() -> None:
    html = made(1e-4, 2e-4)._repr_html_()
    ET.fromstring(html)
    assert "<svg" in html and "Jacobian of f &lt; g" in html


def test_the_file_can_be_reported(tmp_path: Path) -> None:
    text = made(1e-4, 2e-4).to_json(tmp_path / "mine.json")
    assert text == (tmp_path / "mine.json").read_text() and len(json.loads(text)["benchmarks"]) == 4
    html = suite.as_page(read(tmp_path / "mine.json"))
    assert "<h2>f &lt; g</h2>" in html and "takes 2.00 × the time of the graph" in html


def test_sparse_results_are_compared_by_their_parts() -> None:
    from scipy import sparse

    a, b = sparse.csr_array(np.eye(3)), sparse.csr_array(np.eye(3))
    assert modes._same_bits(a, b)
    b.data[0] = -1.0
    assert not modes._same_bits(a, b)


def test_a_matrix_times_a_vector_is_taken_as_numpy_takes_it() -> None:
    def energy(tf: Any, w: Any, v: Any) -> Any:
        return v @ (w @ v)

    w, v = np.array([[2.0, 1.0], [0.0, 3.0]]), np.array([1.0, -1.0])
    found = quick(energy, w, v)
    np.testing.assert_array_equal(found.result[1], (w + w.T) @ v)
    np.testing.assert_array_equal(found.result[0], np.outer(v, v))
    with pytest.raises(ValueError, match=r"tf.linalg.matvec\(a, b\) multiplies a matrix and a vector"):
        quick(lambda tf, w, v: tf.reduce_sum(tf.matmul(w, v)), w, v)
