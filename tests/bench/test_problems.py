"""The derivatives written by hand agree with numeric ones, and with those of both front ends."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from bench import problems
from bench.__main__ import main
from bench.namespaces import ArrayNamespace
from bench.problems import PROBLEMS, Problem, Size, label
from bench.run import CHOOSES_KERNELS

# small enough for a column at a time; no two dimensions alike
SMALL: dict[str, Size] = {
    **{name: (4,) for name, problem in PROBLEMS.items() if len(problem.quick[0]) == 1},
    "mlp": (5, 4, 3, 2),
    "mlp_batch": (6, 5, 4, 3),
    "bottleneck": (7, 2, 5),
    "recurrent": (4, 6),
    "moments": (3, 4),
    "bundle": (2, 5, 11),
    "logistic": (12, 4),
    "network": (11, 3, 2),
    "mixture": (6, 2, 3),
    "least_squares": (5, 3),
    "attention": (4, 3, 2),
    "softmax_regression": (6, 4, 3),
    "classifier": (6, 4, 5, 3),
    "physics": (6, 3),
    "lstm": (3, 2, 4),
    "gru": (3, 5, 2, 4),
    "convolution": (2, 6, 2, 3, 4),
    "convnet": (3, 7, 2, 2, 4),
    "autoencoder": (5, 6, 4, 2),
    "layer_norm": (3, 5, 4),
    "saddle": (4, 3),
    "option": (4, 7),
    "polynomial": (9, 4),
    "gaussian_process": (6, 2),
    "physics_hessian": (6, 3),
}


def cholesky(a: Any) -> Any:
    """The factor of a symmetric matrix, which may be complex: NumPy's conjugates, so it has no complex step."""
    factor = np.zeros_like(a)
    for j in range(len(a)):
        left = a[j:, j] - factor[j:, :j] @ factor[j, :j]
        factor[j:, j] = left / np.sqrt(left[0])
    return factor


NUMPY = ArrayNamespace(np)
NUMPY.linalg.cholesky = cholesky
EACH = pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS.keys())


def dense(matrix: Any) -> Any:
    return matrix.toarray() if sparse.issparse(matrix) else matrix


def complex_step(problem: Problem, values: Any, shift: Any = 0.0, h: float = 1e-100) -> Any:
    """The Jacobian, a column at a time, exact to rounding; `shift` is added to all the sources' elements first."""
    sources = [np.asarray(v, np.float64) for v in values[: problem.sources]]
    flat = np.concatenate([s.ravel() for s in sources]) + shift
    columns = []
    for i in range(flat.size):
        moved = flat.astype(complex)
        moved[i] += 1j * h
        parts = np.split(moved, np.cumsum([s.size for s in sources])[:-1])
        shaped = [p.reshape(s.shape) for p, s in zip(parts, sources, strict=True)]
        columns.append(np.ravel(problem.function(NUMPY, *shaped, *values[problem.sources :])).imag / h)
    return np.stack(columns, axis=1)


def numeric(problem: Problem, values: Any) -> Any:
    if problem.kind != "hessian":
        return complex_step(problem, values)
    # a complex step one way, central differences of fourth order the other
    size, h = sum(v.size for v in values[: problem.sources]), 1e-3
    rows = []
    for direction in np.eye(size) * h:
        near, far = (
            (complex_step(problem, values, k * direction)[0] - complex_step(problem, values, -k * direction)[0])
            / (2 * k * h)
            for k in (1, 2)
        )
        rows.append((4 * near - far) / 3)
    return np.stack(rows)


@EACH
def test_by_hand_and_numeric(problem: Problem) -> None:
    values = problem.values(SMALL[problem.name])
    expected, found = dense(problem.expected(*values)), numeric(problem, values)
    if problem.kind == "batch_jacobian":
        rows, m, n = expected.shape
        found = np.stack([found.reshape(rows, m, rows, n)[i, :, i] for i in range(rows)])
    tolerance = {"jacobian": 1e-12, "batch_jacobian": 1e-12, "hessian": 1e-9}[problem.kind]
    if problem.dtype == np.float32:
        tolerance = 1e-6
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * np.max(np.abs(expected)))


@EACH
def test_inputs(problem: Problem) -> None:
    """They are the same each time, and the sources have the dtype that the problem says."""
    first, second = problem.values(SMALL[problem.name]), problem.values(SMALL[problem.name])
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))
    assert {v.dtype for v in first[: problem.sources]} == {np.dtype(problem.dtype)}
    assert sparse.issparse(problem.expected(*first)) == (problem.format == "csr")


def test_every_problem_is_tested() -> None:
    assert set(SMALL) == set(PROBLEMS)
    sizes = [s for p in PROBLEMS.values() for s in p.sizes(full=True)]
    assert all(isinstance(n, int) for size in sizes for n in size)
    assert label((64, 128, 32)) == "64x128x32"
    assert problems.Problem is Problem


def test_non_zeros_of_bundle_adjustment() -> None:
    values = PROBLEMS["bundle"].values((5, 60, 300))
    assert PROBLEMS["bundle"].expected(*values).nnz == 31 * 300


def test_what_is_held_out_follows_from_names_alone() -> None:
    new = [p for p in PROBLEMS.values() if p.group == "field"]
    assert {p.name for p in PROBLEMS.values() if p.held_out} < {p.name for p in new}
    assert [PROBLEMS[name].held_out for name in ("mixture", "arm", "attention", "bratu")] == [False, False, True, True]


@pytest.mark.parametrize("name", CHOOSES_KERNELS)
def test_a_run_with_chosen_kernels_is_refused(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for other in CHOOSES_KERNELS:
        monkeypatch.delenv(other, raising=False)
    monkeypatch.setenv(name, "Haswell")
    assert main(["run", "-k", "nothing"]) == 2
    assert f"{name} is set" in capsys.readouterr().err
