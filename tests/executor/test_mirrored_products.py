"""Products of a matrix with its own transpose: the same bits in every mode, wherever the two lie in memory."""

from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from engine import executor
from engine.compiler import program as program_module
from engine.executor import refs, staged
from engine.ops.linalg import matmul_op
from engine.runtime.tuning import TUNING
from tests.compiler.test_program import lowered
from tests.support import assert_same_bits

SIZES = ((2, 2), (7, 3), (16, 16), (33, 5), (64, 8), (100, 2), (130, 64), (256, 256), (300, 10))


def gram(tf: Any, x: Any) -> Any:
    turned = tf.transpose(x, [*range(len(x.shape) - 2), len(x.shape) - 1, len(x.shape) - 2])
    return tf.matmul(x, turned) + tf.matmul(x, x, transpose_b=True)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("size", [*SIZES, (3, 9, 4)], ids=str)
def test_modes_agree(size: tuple[int, ...], dtype: str) -> None:
    x = np.random.default_rng(0).standard_normal(size).astype(dtype)
    with tape_api.GradientTape() as tape:
        watched = tape_api.constant(x)
        tape.watch(watched)
        y = gram(tape_api, watched)
    eager = y.numpy(), tape.gradient(y, watched).numpy()
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        fed = graph_api.placeholder(x.dtype, size)
        z = gram(graph_api, fed)
        wanted = [z, *graph_api.gradients(z, fed)]
        for _ in range(4):
            assert_same_bits(session.run(wanted, {fed: x}), eager)
    np.testing.assert_allclose(eager[0], 2 * x @ np.array(x.swapaxes(-1, -2)), rtol=1e-3 if dtype == "f4" else 1e-9)


@pytest.mark.skipif(not executor.status().active, reason=str(executor.status()))
def test_arguments_may_be_one_matrix_twice() -> None:
    """Whether they are, only a run knows: then the kernel is called."""
    rng = np.random.default_rng(1)
    for n, k in SIZES:
        x, y = rng.standard_normal((n, k)), rng.standard_normal((n, k))
        program = lowered(lambda a, b: matmul_op(a, b) * 2.0, [x, y.T])
        for given in ((x, y.T), (x, y.T), (x, x.T), (x, x.copy().T), (y, y.T)):
            assert_same_bits(program(*given), [matmul_op(*given) * 2.0])
        if 1 < k < n and k <= TUNING.mirrored_columns:
            _, recording = staged.observed(program, [x, y.T], program_module.located)
            assert any(isinstance(step, refs.Call) for step in recording.steps)
        program = lowered(lambda a: matmul_op(a, a, transpose_b=True), [x])
        program(x)
        _, recording = staged.observed(program, [x], program_module.located)
        assert all(isinstance(step, refs.Row) for step in recording.steps)
