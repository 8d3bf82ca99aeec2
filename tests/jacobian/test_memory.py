"""How much memory Jacobians take: what plans predict, and what `max_bytes` allows."""

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_api as g
from engine.runtime import buffer_pool
from engine.runtime.errors import InvalidArgumentError, ResourceExhaustedError
from tests.jacobian.both import Function, in_graph, least_memory, on_tape

N = 400
RNG = np.random.default_rng(0)
WEIGHTS = [RNG.normal(size=(N, N)) / 20 for _ in range(2)]
FILTERS = RNG.normal(size=(3, 3, 4, 4)) / 4


def layers(tf: Any, x: Any) -> Any:
    for w in WEIGHTS:
        x = tf.tanh(tf.linalg.matvec(w, x))
    return x


def elementwise_between(tf: Any, x: Any) -> Any:
    x = tf.linalg.matvec(WEIGHTS[0], x)
    for _ in range(5):
        x = tf.sin(x) * tf.cos(x) + x
    return tf.linalg.matvec(WEIGHTS[1], x)


def attention(tf: Any, x: Any) -> Any:
    rows = tf.reshape(x, (20, 20))
    return tf.nn.softmax(tf.matmul(rows, tf.transpose(rows)))


def inverse(tf: Any, x: Any) -> Any:
    return tf.linalg.inv(tf.reshape(x, (20, 20)) + 30 * np.eye(20))


def running(tf: Any, x: Any) -> Any:
    return tf.cumsum(tf.sin(x)) * tf.reduce_sum(x * x)


def convolution(tf: Any, x: Any) -> Any:
    image = tf.reshape(x, (1, 10, 10, 4))
    for _ in range(3):
        image = tf.tanh(tf.nn.conv2d(image, FILTERS, strides=[1, 1, 1, 1], padding="SAME"))
    return image


every_function = pytest.mark.parametrize(
    "fn", [layers, elementwise_between, attention, inverse, running, convolution], ids=lambda fn: fn.__name__
)


def compiled(fn: Function, x: np.ndarray, **options: Any) -> Callable[[], Any]:
    """The Jacobian in a graph, compiled, ready to be run; what it keeps from run to run is not there yet."""
    with g.Graph().as_default():
        given = g.placeholder(x.dtype, x.shape)
        jacobian = g.jacobian(fn(g, given), given, **options)
        session = g.Session()
    run = lambda: session.run(jacobian, {given: x})  # noqa: E731
    run()
    buffer_pool.forget()
    return run


def peak_of(run: Callable[[], Any]) -> tuple[int, Any]:
    """Bytes allocated at once during a call, and its result."""
    tracemalloc.start()
    try:
        result = run()
        return tracemalloc.get_traced_memory()[1], result
    finally:
        tracemalloc.stop()


@every_function
@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("share", [1.5, 2.0])
def test_a_limit_is_kept(fn: Function, mode: str, share: float) -> None:
    x = RNG.normal(size=N)
    whole = compiled(fn, x, mode=mode)()
    limit = int(share * whole.nbytes)
    peak, found = peak_of(compiled(fn, x, mode=mode, max_bytes=limit))
    # what Python and the function itself take is not part of the limit
    assert peak < 1.1 * limit + 100_000
    np.testing.assert_allclose(found, whole, rtol=1e-12, atol=1e-14)


def softmax(tf: Any, x: Any) -> Any:
    return tf.nn.softmax(x)


def outer(tf: Any, x: Any) -> Any:
    x = x[:40]
    return tf.tanh(x[:, None] * x[None, :])


def solved(tf: Any, x: Any) -> Any:
    return tf.linalg.solve(tf.linalg.diag(x + 9.0) + SQUARE, tf.sin(x)[:, None])


def ring(tf: Any, x: Any) -> Any:
    return x * tf.sin(tf.roll(x, 1, 0)) + tf.roll(x, -1, 0) ** 2


SQUARE = RNG.normal(size=(N, N)) / 40
FIRST_CALLS = {
    "softmax": (softmax, N, {}),
    "running": (running, N, {}),
    "outer": (outer, N, {}),
    "inverse": (inverse, N, {}),
    "solved": (solved, N, {}),
    "softmax csr": (softmax, N, {"format": "csr"}),
    "ring csr": (ring, 20_000, {"format": "csr"}),
}


def first_call(fn: Function, x: np.ndarray, front_end: str, **options: Any) -> Callable[[], Any]:
    """Everything from the function to its Jacobian, nothing of it known before."""
    if front_end == "tape":
        return lambda: on_tape(fn, x, **options)[0]

    def in_session() -> Any:
        with g.Graph().as_default():
            given = g.placeholder(x.dtype, x.shape)
            jacobian = g.jacobian(fn(g, given), given, **options)
            with g.Session() as session:
                return session.run(jacobian, {given: x})

    return in_session


@pytest.mark.parametrize("front_end", ["graph", "tape"])
@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("case", FIRST_CALLS)
def test_a_limit_is_kept_on_the_first_call(case: str, mode: str, front_end: str) -> None:
    fn, size, options = FIRST_CALLS[case]
    x = RNG.normal(size=size)
    # what the function itself takes is no part of the limit; modules are loaded by now
    own, _ = peak_of(lambda: on_tape(lambda tf, x: tf.reduce_sum(fn(tf, x)), x, method="gradient"))
    least = least_memory(fn, x, mode=mode, **options)
    limit = int(1.05 * least)
    buffer_pool.forget()
    peak, found = peak_of(first_call(fn, x, front_end, mode=mode, max_bytes=limit, **options))
    assert peak < 1.1 * limit + own + 250_000
    whole = first_call(fn, x, front_end, mode=mode, **options)()
    if options:
        assert (found != whole).nnz == 0 or abs(found - whole).max() < 1e-13
    else:
        np.testing.assert_allclose(found, whole, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("front_end", ["graph", "tape"])
def test_a_limit_that_only_a_slower_plan_keeps_is_kept(front_end: str) -> None:
    x = RNG.normal(size=N // 4)
    fn = lambda tf, x: solved(tf, tf.tile(x, [4]))  # noqa: E731
    forward, reverse = (least_memory(fn, x, mode=mode) for mode in ("forward", "reverse"))
    assert least_memory(fn, x) == reverse < 0.8 * forward
    free, bound = (on_tape(fn, x, method="jacobian_plan", **o).plan for o in ({}, {"max_bytes": reverse}))
    assert {one.direction for one in free.sweeps} == {"forward"}
    assert {one.direction for one in bound.sweeps} == {"reverse"} and bound.facts["bytes"] <= reverse
    found = first_call(fn, x, front_end, max_bytes=reverse)()
    np.testing.assert_allclose(found, first_call(fn, x, front_end)(), rtol=1e-10, atol=1e-13)


def divided(tf: Any, x: Any) -> Any:
    return tf.linalg.solve(tf.constant(SQUARE + 9 * np.eye(N)), tf.sin(x)[:, None])


@pytest.mark.parametrize("front_end", ["graph", "tape"])
@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_copies_of_matrices_are_counted(mode: str, front_end: str) -> None:
    x = RNG.normal(size=N)
    first_call(divided, x[:N], front_end, mode=mode)()
    limit = least_memory(divided, x, mode=mode)
    buffer_pool.forget()
    peak, _ = peak_of(first_call(divided, x, front_end, mode=mode, max_bytes=limit))
    # nothing of what the function itself takes is left out here, but for the matrix itself
    assert peak < limit + SQUARE.nbytes + 250_000


def test_what_a_sparse_result_takes_is_counted() -> None:
    n = 20_000
    plan = on_tape(ring, np.ones(n), method="jacobian_plan", format="csr").plan
    (block,) = plan.blocks[0]
    # on the way: positions of 8 bytes, for each entry; indices; rows' ends
    assert plan.facts["bytes"] > 60 * block.nnz
    small = on_tape(ring, np.ones(n // 10), method="jacobian_plan", format="csr").plan
    places = small.blocks[0][0].positions.nbytes + 2 * small.blocks[0][0].indices.nbytes
    assert small.facts["bytes"] > places + 2 * 8 * small.blocks[0][0].nnz


def test_first_calls_take_as_long_with_many_chunks_as_with_few() -> None:
    x = RNG.normal(size=N)
    sizes = []
    for share in (1.04, 2.0):
        with g.Graph().as_default() as graph:
            given = g.placeholder(x.dtype, x.shape)
            g.jacobian(softmax(g, given), given, max_bytes=int(share * 8 * N**2))
            sizes.append(len(graph.nodes))
    # the time goes into the nodes: chunks add none
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize("fn", [layers, elementwise_between, running], ids=lambda fn: fn.__name__)
@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_plans_predict_the_memory(fn: Function, mode: str) -> None:
    x = RNG.normal(size=N)
    with g.Graph().as_default():
        given = g.placeholder(x.dtype, x.shape)
        plan = g.jacobian_plan(fn(g, given), given, mode=mode).plan
    peak, _ = peak_of(compiled(fn, x, mode=mode))
    # a group of rows by lines cannot write over what it reads; a program without choices holds no masks
    assert 0.5 < peak / plan.facts["bytes"] < 1.35


def test_large_seeds_are_not_kept_in_chunks_either() -> None:
    x = RNG.normal(size=1500)
    w = RNG.normal(size=(1500, 1500)) / 40
    tracemalloc.start()
    try:
        run = compiled(lambda tf, x: tf.linalg.matvec(w, tf.sin(x) * tf.reduce_sum(x)), x, max_bytes=30_000_000)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # the weights and the result of the last run, at most
    assert kept < 1.2 * 8 * 1500**2, run


@pytest.mark.parametrize("options", [{}, {"format": "csr"}, {"mode": "forward"}])
def test_less_than_one_seed_takes_is_refused(options: dict[str, Any]) -> None:
    x = RNG.normal(size=N)
    least = least_memory(layers, x, **options)
    assert least > x.size**2 * 8
    with pytest.raises(InvalidArgumentError, match=r"one seed at a time; got 1000\. A sparse"):
        on_tape(layers, x, max_bytes=1000, **options)
    on_tape(layers, x, max_bytes=least, **options)


def test_products_over_cuts_keep_a_limit_too() -> None:
    narrow = [RNG.normal(size=(4, N)), RNG.normal(size=(N, 4))]
    fn = lambda tf, x: tf.linalg.matvec(narrow[1], tf.tanh(tf.linalg.matvec(narrow[0], tf.sin(x))))  # noqa: E731
    x = RNG.normal(size=N)
    limit = int(1.02 * 8 * N**2)
    free, bound = (on_tape(fn, x, method="jacobian_plan", **o).plan for o in ({}, {"max_bytes": limit}))
    assert free.sweeps[0].chain is not None
    assert bound.facts["bytes"] <= limit < free.facts["bytes"] or bound.sweeps[0].chain is not None
    np.testing.assert_allclose(on_tape(fn, x, max_bytes=limit)[0], on_tape(fn, x)[0], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("taken", [on_tape, in_graph])
def test_what_does_not_fit_into_memory_is_refused_before_it_is_allocated(taken: Any) -> None:
    x = np.ones(10**7)
    whole = r"jacobian: the dense result, 10000000 x 10000000, takes 800 TB, and this machine has .* format='csr'"
    tracemalloc.start()
    try:
        with pytest.raises(ResourceExhaustedError, match=whole):
            taken(lambda tf, x: tf.sin(x), x)
        assert tracemalloc.get_traced_memory()[1] < 500_000_000
    finally:
        tracemalloc.stop()
    with pytest.raises(MemoryError, match=r"the sparse result, .* this machine has [^']* format='operator'"):
        taken(lambda tf, x: tf.cumsum(x), x, format="csr")
    with pytest.raises(ResourceExhaustedError, match="hessian: the dense result"):
        taken(lambda tf, x: tf.reduce_sum(x**3), x, method="hessian")


def batched(tf: Any, x: Any) -> Any:
    return tf.sin(x) * tf.reduce_sum(x, 1, keepdims=True)


def batches_in_graph(fn: Function, x: np.ndarray, shape: Any) -> Any:
    with g.Graph().as_default(), g.Session() as session:
        given = g.placeholder(x.dtype, shape)
        return session.run(g.batch_jacobian(fn(g, given), given), {given: x})


@pytest.mark.parametrize(
    "taken",
    [
        lambda x: on_tape(batched, x, method="batch_jacobian"),
        lambda x: batches_in_graph(batched, x, x.shape),
        lambda x: batches_in_graph(batched, x, [None, None]),
    ],
    ids=["tape", "graph", "graph of unknown shapes"],
)
def test_a_batch_of_matrices_that_does_not_fit_into_memory_is_refused(taken: Callable[[Any], Any]) -> None:
    x = np.ones((20, 2_000_000), np.float32)
    with pytest.raises(ResourceExhaustedError, match=r"batch_jacobian: the result, .* takes 320 TB, and this .*csr"):
        taken(x)
