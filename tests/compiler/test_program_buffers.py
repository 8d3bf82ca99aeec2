"""Memory that programs keep from run to run: it changes no bit, and nobody ever sees it."""

import gc
import itertools
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from engine.compiler.ir.layout import Order
from engine.core.structural import scale
from engine.ops import arithmetic, explog, linalg, reduce, shape, trig
from engine.ops.joining import concat, stack, unstack
from engine.ops.scan import cumsum
from engine.runtime import buffer_pool, elementary
from graph_api.control_flow.flow import python_call
from tests.compiler.test_program import lowered, names
from tests.compiler.test_program_passes import ALWAYS
from tests.support import assert_same_bits, at_once

pytestmark = pytest.mark.usefixtures("in_python")

N = 150
RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(N, N)), RNG.normal(size=(N, N))


def mixed(x: Any, y: Any) -> Any:
    """Elementwise ops, products, moves and reductions; results that are looked at by several ops."""
    a = trig.sin(x) * y + 2.0
    b = linalg.matmul(a, trig.cos(y), transpose_b=True)
    c = shape.transpose(scale(b, a), (1, 0)) - x
    rows = unstack(explog.exp(-a * a), axis=0)
    d = stack([rows[0] * 2.0, rows[1]], 0) + rows[2]
    return [reduce.reduce_sum(a, 0), c * 0.5, d, shape.reshape(arithmetic.add(b, y), (-1,)), concat([c, a], 0)]


@pytest.fixture
def spare() -> Iterator[list[buffer_pool.PoolBlock]]:
    """What the pool keeps, empty at first; what earlier tests left behind is not given back meanwhile."""
    gc.collect()
    gc.disable()
    buffer_pool.forget()
    try:
        yield buffer_pool._spare
    finally:
        gc.enable()


def called(x: Any) -> Any:
    """What a function of the user's gives, which may keep what it is given."""
    return x.trace.apply(python_call, [x], {"func": lambda a: a, "dtypes": (x.dtype,), "single": True})[0]


def written(f: Any, inputs: Any, order: Order = Order.CONTIGUOUS) -> Any:
    program = lowered(f, inputs, order=order)
    assert program.buffers is not None and program.buffers.offsets
    return program


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_buffers_change_no_bit(dtype: str) -> None:
    x, y = A.astype(dtype), B.astype(dtype)
    program, plain = written(mixed, [x, y], Order.UNKNOWN), lowered(mixed, [x, y], ALWAYS)
    wide = np.repeat(x, 3, axis=1)
    others = [x, y, x.T, np.asfortranarray(y), x[::-1], wide[:, ::3], np.broadcast_to(x[0], x.shape)]
    for pair in itertools.product(others, others):
        got, expected = program(*pair), plain(*pair)
        assert_same_bits(got, expected)
        assert [g.flags.c_contiguous for g in got] == [e.flags.c_contiguous for e in expected]


def test_results_are_the_callers() -> None:
    program = written(mixed, [A, B])
    first = program(A, B)
    copies = [np.array(r) for r in first]
    program(B, A)
    assert_same_bits(first, copies)
    kept = [block.memory for block in buffer_pool._spare]
    assert kept and not any(np.may_share_memory(r, m) for r in first for m in kept)


def test_memory_of_results_is_used_again(spare: list[buffer_pool.PoolBlock]) -> None:
    program = lowered(lambda x: [trig.sin(x), concat([x, x], 0)], [A])
    first, joined = program(A)
    row = first[3]
    address = first.ctypes.data
    del first, joined
    # a part of it is held
    assert len(spare) == 1
    assert program(A)[0].ctypes.data != address
    assert_same_bits([row], [elementary.sin(A[3])])
    buffer_pool.forget()
    del row
    assert [block.memory.ctypes.data for block in spare] == [address]
    again, _ = program(A)
    assert again.ctypes.data == address and again.flags.writeable
    assert_same_bits([pickle.loads(pickle.dumps(again))], [elementary.sin(A)])


@pytest.mark.parametrize(
    "f",
    [
        pytest.param(lambda x: [shape.reshape(trig.sin(x), (-1,))], id="a view is a result"),
        pytest.param(lambda x: unstack(trig.sin(x), axis=0)[:2], id="a part is a result"),
        pytest.param(lambda x: called(trig.sin(x)), id="given to a function"),
        pytest.param(lambda x: trig.sin(x[:9]) * 2.0, id="small"),
    ],
)
def test_what_escapes_has_no_buffer(f: Any) -> None:
    program = lowered(f, [A])
    assert (program.buffers is None or not program.buffers.offsets) and "sin" in names(program)
    assert_same_bits(program(A), lowered(f, [A], ALWAYS)(A))


def test_a_product_is_not_written_over_what_it_reads() -> None:
    def chain(x: Any, y: Any) -> Any:
        for _ in range(4):
            x = linalg.matmul(trig.tanh(x), y) * 0.1
        return reduce.reduce_sum(x)

    program = written(chain, [A, B])
    starts = [start for start, _ in program.buffers.offsets.values()]
    assert len(set(starts)) == 2
    assert_same_bits(program(A, B), lowered(chain, [A, B], ALWAYS)(A, B))


def test_threads_have_memory_of_their_own() -> None:
    program, plain = written(mixed, [A, B]), lowered(mixed, [A, B], ALWAYS)
    inputs = [(A * k, B + k) for k in range(4)]
    expected = [plain(*pair) for pair in inputs]
    wrong = []

    def work(k: int) -> None:
        for _ in range(30):
            try:
                assert_same_bits(program(*inputs[k]), expected[k])
            except AssertionError as error:
                wrong.append(error)

    at_once(work, range(4))
    assert not wrong


def test_memory_is_shared_and_limited(spare: list[buffer_pool.PoolBlock], monkeypatch: pytest.MonkeyPatch) -> None:
    programs = [written(lambda x, k=k: reduce.reduce_sum(trig.sin(x) * k), [A]) for k in range(1, 12)]
    for program in programs:
        program(A)
    assert len(spare) == 1
    monkeypatch.setattr(buffer_pool, "KEPT", 1000)
    programs[0](A)
    assert not spare


def test_errors_give_the_memory_back(spare: list[buffer_pool.PoolBlock]) -> None:
    program = written(lambda x, y: reduce.reduce_sum(linalg.matmul(trig.sin(x), y)), [A, B])
    with pytest.raises(Exception, match="matmul"):
        program(A, B[:5])
    assert len(spare) == 1
    program(A, B)


def test_chunks_keep_no_buffers() -> None:
    """What a chunk needs goes before the next one comes: they are there to take little memory."""

    def f(*chunks: Any) -> Any:
        return concat([cumsum(trig.sin(chunk) * 2.0) for chunk in chunks], 0)

    program = lowered(f, [A, B, A + B])
    assert "alloc" in names(program)
    assert program.buffers is None or not program.buffers.offsets
    assert_same_bits(program(A, B, A + B), lowered(f, [A, B, A + B], ALWAYS)(A, B, A + B))


def test_programs_with_places_are_pickled() -> None:
    program = written(mixed, [A, B])
    program(A, B)
    sent = pickle.dumps(program)
    assert len(sent) < 20_000
    assert_same_bits(pickle.loads(sent)(A, B), program(A, B))
