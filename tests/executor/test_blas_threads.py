"""Small products are computed by one thread of BLAS, whatever its default, and that is set back afterwards."""

from pathlib import Path

import pytest

from engine.executor.extension import executor
from engine.runtime.blas import thread_count
from tests.processes import printed, ran

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(thread_count() is None, reason="NumPy has another BLAS")

HEAD = """
import ctypes, threading
import numpy as np
from engine.runtime import blas
count, of_scipy = blas.thread_count(), blas.thread_count(True)
calls = []

def noted(count):
    def set(n):
        calls.append(n)
        count.set(n)

    return blas._Count(ctypes.CFUNCTYPE(ctypes.c_int)(count.get), ctypes.CFUNCTYPE(None, ctypes.c_int)(set))

counts = noted(count), noted(of_scipy or count)
blas.thread_count = lambda of_scipy=False: counts[of_scipy]
import tape_api as tf
for each in counts:
    each.set(2)  # it may have as many as it is told, but begins with no more than there are cores

def seen(f, *args):
    calls.clear()
    out = f(*args)
    assert [each.get() for each in counts] == [2, 2]
    return calls[:], np.asarray(out)

def ones(*shape, dtype="float32"):
    rng = np.random.default_rng(shape[0])
    return tf.constant(rng.standard_normal(shape).astype(dtype))
"""


def run(body: str, **environment: str) -> None:
    printed(HEAD + body, **{"OPENBLAS_NUM_THREADS": "2", **environment})


@pytest.mark.parametrize("native", ["1", "0"])
def test_small_products_take_one_thread_in_all_modes(native: str) -> None:
    run(
        """
a, b, v = ones(130, 120), ones(120, 90), ones(120, 1)
x, w = ones(4, 12, 12, 8), ones(3, 3, 8, 16)
functions = {
    "matmul": (tf.matmul, a, b), "vector": (tf.matmul, a, v),
    "einsum": (lambda a, b: tf.einsum("ij,jk->ki", a, b), a, b),
    "conv": (lambda x, w: tf.nn.conv2d(x, w, 1, "SAME"), x, w), "stack": (tf.matmul, ones(3, 90, 90), ones(3, 90, 90)),
}
for name, (f, *args) in functions.items():
    eager, by_tape = seen(f, *args)
    g = tf.function(f)
    for _ in range(3):
        compiled, by_function = seen(g, *args)
    assert by_tape.tobytes() == by_function.tobytes(), name
    for made in (eager, compiled):
        assert made and made[::2] == [1] * (len(made) // 2) and made[1::2] == [2] * (len(made) // 2), (name, made)
""",
        DUALGRAD_NATIVE=native,
    )


@pytest.mark.skipif(thread_count(True) is None, reason="SciPy has another BLAS")
@pytest.mark.parametrize("native", ["1", "0"])
def test_all_that_lapack_computes_takes_one_thread_in_all_modes(native: str) -> None:
    run(
        """
a = ones(60, 60, dtype="float64")
a = tf.matmul(a, a, transpose_b=True) / 60.0 + tf.eye(60, dtype=tf.float64)
low, b, wide = tf.linalg.cholesky(a), ones(60, 40, dtype="float64"), ones(80, 50, dtype="float64")
la = tf.linalg
functions = {
    "cholesky": (la.cholesky, a), "solve": (la.solve, a, b), "inv": (la.inv, a), "det": (la.det, a),
    "slogdet": (lambda x: la.slogdet(x)[1], a), "eigh": (lambda x: la.eigh(x)[0], a), "eigvalsh": (la.eigvalsh, a),
    "svd": (lambda x: la.svd(x)[0], wide), "values": (lambda x: la.svd(x, compute_uv=False), wide),
    "qr": (lambda x: la.qr(x)[1], wide), "lu": (lambda x: la.lu(x)[0], a), "expm": (la.expm, a),
    "sqrtm": (la.sqrtm, a), "logm": (la.logm, tf.cast(a, tf.complex128)), "pinv": (la.pinv, wide),
    "lstsq": (la.lstsq, wide, ones(80, 3, dtype="float64")), "eig": (lambda x: la.eig(x)[0], a),
    "eigvals": (la.eigvals, a), "triangle": (la.triangular_solve, low, b),
    "cholesky_solve": (la.cholesky_solve, low, b),
    "stack": (la.cholesky, tf.stack([a, a + tf.eye(60, dtype=tf.float64)])),
}
for name, (f, *args) in functions.items():
    eager, by_tape = seen(f, *args)
    g = tf.function(lambda *args: f(*args) * 1.0)
    for _ in range(4):
        compiled, by_function = seen(g, *args)
    assert by_tape.tobytes() == by_function.tobytes(), name
    for made in (eager, compiled):
        assert made.count(1) == made.count(2) > 0, (name, made)
    with blas.one_thread():
        alone = np.asarray(f(*args))
    assert alone.tobytes() == by_tape.tobytes(), name
""",
        DUALGRAD_NATIVE=native,
    )


def test_large_systems_and_tiny_ones_leave_the_threads_alone() -> None:
    run(
        """
big, tiny = ones(500, 500), ones(6, 6)
for x in (big, tiny):
    for f in (tf.linalg.inv, tf.linalg.qr, tf.linalg.svd):
        assert seen(lambda x: f(x)[0], x)[0] == []
"""
    )


def test_large_products_and_tiny_ones_leave_the_threads_alone() -> None:
    run(
        """
big, tiny = ones(700, 700), ones(12, 12)
for x in (big, tiny):
    assert seen(tf.matmul, x, x)[0] == []
    g = tf.function(lambda x: tf.matmul(x, x) + 1.0)
    for _ in range(3):
        assert seen(g, x)[0] == []
"""
    )


def test_scopes_of_several_threads_end_with_what_was() -> None:
    run(
        """
a = ones(130, 120)

def work():
    for _ in range(200):
        tf.matmul(a, a, transpose_b=True)

threads = [threading.Thread(target=work) for _ in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
assert count.get() == 2
try:
    with blas.one_thread():
        with blas.one_thread():
            assert count.get() == 1
        assert count.get() == 1
        raise KeyError
except KeyError:
    pass
assert count.get() == 2
count.set(1)  # a limit of the user's
tf.matmul(a, a, transpose_b=True)
assert count.get() == 1
"""
    )


@pytest.mark.skipif(executor is None, reason="no native executor")
def test_addresses_are_checked() -> None:
    with pytest.raises(TypeError):
        executor.use_blas("here", 3)  # type: ignore[union-attr]


BROKEN = """
import numpy as np
multiply = np.matmul

def matmul(a, b, out=None, **kw):
    found = multiply(a, b, **kw)
    return found if out is None else {how}

np.matmul = matmul
import tape_api

tape_api.matmul([[1.0]], [[1.0]])
"""


@pytest.mark.parametrize(("how", "told"), [("out.__iadd__(found)", True), ("np.add(found, 0, out=out)", False)])
def test_a_blas_that_leaves_memory_in_its_result_is_told_of(how: str, told: bool) -> None:
    assert ("OPENBLAS_CORETYPE=NEOVERSEN1" in ran(BROKEN.replace("{how}", how)).stderr) == told
