"""Programs for PETSc, on one, two and four ranks: all find what one process finds by SciPy."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse.linalg import spsolve

import tape_api as tf
from tests.cluster.test_replicas import ROOT, mpiexec

PAGE = (ROOT / "docs" / "howto" / "petsc.md").read_text(encoding="utf-8")
# each goes on with the variables of those before
PROGRAM = "\n".join(re.findall(r"^```py\n(.*?)^```", PAGE, re.M | re.S))
SAID = re.findall(r"^# (.*)$", PROGRAM, re.M)

WRONG = """
from mpi4py import MPI
from petsc4py import PETSc
import numpy as np
import tape_api as tf
from dualgrad.adapters import petsc

grid = PETSc.DMDA().create([7, 6], stencil_width=1)
shape = [end - start for start, end in reversed(grid.getGhostRanges())]
for point, layout in ((shape, PETSc.Vec().createMPI(8)), (shape, grid), ([3], grid)):
    try:
        petsc.snes(tf.for_scipy(lambda u: u[1:], np.zeros(point)), layout)
    except ValueError as error:
        PETSc.Sys.Print(error)
"""
MISFIT = r"petsc: the function does not fit on \d of the ranks\. On rank 0 it must "
REFUSED = (
    r"petsc: needs a PETSc of float64, .* a vector with ghosts \(Vec\(\)\.createGhost\), got Vec",
    MISFIT + r"take (\d+) .* give \d+; it takes \1 and .*",
    MISFIT + r"take .* it takes 3 and gives 2",
)


def printed(ranks: int, folder: Path, program: str) -> list[str]:
    pytest.importorskip("petsc4py")
    (folder / "program.py").write_text(program, encoding="utf-8")
    # there may be fewer cores than ranks: one that waits lets another one run
    waiting = {"MPIR_CVAR_ENABLE_HEAVY_YIELD": "1", "MPIR_CVAR_POLLS_BEFORE_YIELD": "1"}
    done = subprocess.run(
        [mpiexec(), "-n", str(ranks), sys.executable, "-m", "mpi4py", "program.py"],
        env={**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1", **waiting},
        cwd=folder, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.cluster
@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_ranks_find_the_same(ranks: int, tmp_path: Path) -> None:
    assert printed(ranks, tmp_path, PROGRAM) == SAID
    for said, expected in zip(printed(ranks, tmp_path, WRONG), REFUSED, strict=True):
        assert re.fullmatch(expected, said), said


def test_the_page_says_what_one_process_finds() -> None:
    def bratu(u: Any) -> Any:
        u = tf.pad(u, [[1, 1], [1, 1]])
        inner, around = u[1:-1, 1:-1], u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        return 4.0 * inner - around - 6.0 / 201**2 * tf.exp(inner)

    p = tf.for_scipy(bratu, np.zeros([200, 200]), format="csr")
    x = p.x0
    for _ in range(5):
        x = x - spsolve(p.jac(x), p.fun(x))
    np.testing.assert_allclose([x.max(), np.linalg.norm(x)], np.array(SAID[0].split()[1:], float), rtol=1e-9)

    def energy(u: Any) -> Any:
        u = tf.pad(u, [[1, 1]])
        return tf.reduce_sum(tf.sqrt(1.0 + (61.0 * (u[1:] - u[:-1])) ** 2)) + 0.25 * tf.reduce_sum((u[1:-1] - 1.0) ** 4)

    q = tf.for_scipy(energy, np.full(60, 0.5))
    found = minimize(q.fun, q.x0, jac=q.jac, hess=q.hess, method="trust-exact", options={"gtol": 1e-10})
    np.testing.assert_allclose([found.fun, np.linalg.norm(found.x)], np.array(SAID[3].split(), float), rtol=2e-9)
