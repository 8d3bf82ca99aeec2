"""Every row of the op table: values, both derivatives, batching, and graph mode against eager mode."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from engine.core.aval import aval_of_array
from engine.core.batching import Batched, batch_level, unbatch
from engine.core.eager import EagerTensor
from engine.core.nest import flatten
from engine.core.tape import Tape
from engine.core.trace import Symbol, Trace
from engine.core.value import aval_of
from engine.derivatives.forward import forward
from engine.derivatives.reverse import reverse
from engine.runtime.errors import InvalidArgumentError, ShapeError, UnimplementedError
from engine.transforms.check import check_grads, inner
from engine.transforms.vjp import jvp, recorded, vjp
from tests.op_table import CASES, ROWS, WIDE, cases, one_dtype, pure, with_derivatives
from tests.row import Row
from tests.support import (
    array,
    arrays,
    assert_close,
    assert_same_bits,
    by_dispatch,
    differentiable,
    gradient,
    interpret,
    noted,
    placeholders,
    random_like,
)

DOUBLE = with_derivatives((row, dtype) for row, dtype in CASES if dtype in ("float64", "complex128"))
LOW = with_derivatives((row, dtype) for row, dtype in CASES if dtype in ("float32", "complex64"))
HALF = [row for row in ROWS if "float32" in row.dtypes]
BATCH = 3


def eager(inputs: Sequence[Any]) -> list[EagerTensor]:
    return [EagerTensor(a) for a in inputs]


def on(row: Row, inputs: Sequence[Any], wrt: Sequence[int]) -> Callable[..., Any]:
    """The row's function of the inputs `wrt`, the others held fixed."""

    def function(*values: Any) -> Any:
        full = list(inputs)
        for i, value in zip(wrt, values, strict=True):
            full[i] = value
        return row.apply(*full)

    return function


# ---- values ----------------------------------------------------------------------------------------------------------


@cases(CASES)
def test_value(row: Row, dtype: str) -> None:
    inputs = row.arrays(dtype)
    before = [a.copy() for a in inputs]
    raw = row.apply(*inputs)
    out = row.apply(*eager(inputs))
    assert_same_bits(inputs, before)
    if inputs:
        assert all(isinstance(o, EagerTensor) for o in flatten(out)), "eager operands must give eager results"
    if not row.op.stateful:
        assert_same_bits(flatten(out), flatten(raw))
    if row.oracle is not None:
        expected = flatten(row.oracle(*inputs))
        for got, e in zip(flatten(out), expected, strict=True):
            assert_close(got, e, row.tol, array(got).dtype)


def layouts(a: np.ndarray) -> Iterator[Any]:
    """The same contents laid out differently in memory."""
    if a.ndim == 0:
        yield a[()]
        return
    spread = np.zeros((*a.shape[:-1], 2 * a.shape[-1]), a.dtype)
    spread[..., ::2] = a
    yield spread[..., ::2]
    yield np.flip(np.flip(a).copy())
    yield np.asfortranarray(a)


@cases(pure(WIDE))
def test_memory_layout_does_not_matter(row: Row, dtype: str) -> None:
    inputs = row.arrays(dtype)
    wrt = row.differentiable(inputs)
    expected = row.apply(*eager(inputs))
    rng = np.random.default_rng(0)
    cts = [random_like(rng, o) for o in differentiable(expected)]
    pulled = gradient(row.apply, inputs, wrt, cts) if wrt else []
    for variant in zip(*[(list(layouts(a)) * 3)[:3] for a in inputs], strict=True):
        for got, e in zip(flatten(row.apply(*eager(variant))), flatten(expected), strict=True):
            assert_close(got, array(e), row.tol)
        if wrt:
            for got, e in zip(gradient(row.apply, eager(variant), wrt, cts), pulled, strict=True):
                assert (got is None) == (e is None)
                if got is not None:
                    assert_close(got, array(e), row.tol)


# ---- derivatives -----------------------------------------------------------------------------------------------------


@cases([(row, dtype) for row, dtype in DOUBLE if row.by_differences])
def test_derivatives_agree_with_finite_differences(row: Row, dtype: str) -> None:
    inputs = row.arrays(dtype)
    wrt = row.differentiable(inputs)
    tol = 1e-6 * row.tol
    check_grads(on(row, inputs, wrt), [inputs[i] for i in wrt], order=row.order, rtol=tol, atol=tol)


@cases(DOUBLE)
def test_forward_agrees_with_reverse(row: Row, dtype: str) -> None:
    inputs = row.arrays(dtype)
    wrt = row.differentiable(inputs)
    points = [inputs[i] for i in wrt]
    function = lambda *values: differentiable(on(row, inputs, wrt)(*values))  # noqa: E731
    rng = np.random.default_rng(1)
    tangents = [random_like(rng, p) for p in points]
    out, pushed = jvp(function, points, tangents)
    cts = [random_like(rng, o) for o in out]
    pulled = vjp(function, *points)[1](cts)
    by_forward, by_reverse = inner(cts, pushed), inner(pulled, tangents)
    scale = 1 + sum(np.abs(array(p) * t).sum() for p, t in zip(pulled, tangents, strict=True))
    assert abs(by_forward - by_reverse) <= 1e-11 * row.tol * scale


@cases(LOW)
def test_low_precision_gradient(row: Row, dtype: str) -> None:
    """Cotangents have their input's dtype, and the same value as in double precision as far as there are digits."""
    inputs = row.arrays(dtype)
    wide = [a.astype({"f": "f8", "c": "c16"}[a.dtype.kind]) if a.dtype == dtype else a for a in inputs]
    wrt = row.differentiable(inputs)
    rng = np.random.default_rng(2)
    out = differentiable(row.apply(*eager(inputs)))
    cts = [random_like(rng, o) for o in out]
    pulled = gradient(row.apply, inputs, wrt, cts)
    wide_out = differentiable(row.apply(*eager(wide)))
    wide_cts = [c.astype(aval_of(o).dtype.numpy) for c, o in zip(cts, wide_out, strict=True)]
    for i, got, e in zip(wrt, pulled, gradient(row.apply, wide, wrt, wide_cts), strict=True):
        assert (got is None) == (e is None)
        if got is not None:
            assert aval_of(got) == aval_of_array(inputs[i])
            assert_close(got, array(e), 10 * row.tol)


@pytest.mark.parametrize("row", HALF, ids=lambda row: row.id)
def test_half_precision_keeps_its_dtype(row: Row) -> None:
    inputs = row.arrays("float16")
    try:
        out = row.apply(*eager(inputs))
    except (InvalidArgumentError, TypeError):
        return  # says clearly that it does not take half precision
    wrt = row.differentiable(inputs)
    cts = [random_like(np.random.default_rng(3), o) for o in differentiable(out)]
    for i, got in zip(wrt, gradient(row.apply, inputs, wrt, cts) if wrt else (), strict=True):
        assert got is None or aval_of(got) == aval_of_array(inputs[i])
    # the same in a graph, where abstract evaluation says the dtypes
    trace = Trace()
    fed = [i for i, a in enumerate(inputs) if a.dtype.kind == "f"]
    symbols = dict(zip(fed, placeholders(trace, [inputs[i] for i in fed]), strict=True))
    symbolic = row.apply(*[symbols.get(i, a) for i, a in enumerate(inputs)])
    got = interpret(trace, [(symbols[i], inputs[i]) for i in fed], flatten(symbolic))
    assert [aval_of(g) for g in got] == [aval_of(o) for o in flatten(out)]


# ---- graph mode agrees with eager mode to the bit --------------------------------------------------------------------


def eager_derivatives(
    row: Row, inputs: Any, wrt: Any, cts: Any, cts2: Any, order: int
) -> tuple[list[Any], list[Any], list[Any]]:
    """Values, first and second derivatives by nested tapes."""
    if not wrt:
        return flatten(row.apply(*eager(inputs))), [], []
    xs, seeds = eager(inputs), eager(cts)
    sources = [xs[i] for i in wrt]
    outer = Tape()
    for x in (*sources, *seeds):
        outer.watch(x)
    outer.start()
    nodes, _, out = recorded(row.apply, *xs)
    first = reverse(nodes, zip(differentiable(out), seeds, strict=True), sources)
    outer.stop()
    second = reverse(outer.nodes, connected(first, eager(cts2)), [*sources, *seeds]) if order > 1 else []
    return flatten(out), first, second


def connected(values: Sequence[Any], cts: Sequence[Any]) -> list[tuple[Any, Any]]:
    return [(v, ct) for v, ct in zip(values, cts, strict=True) if v is not None]


STATIC_SHAPES: dict[str, Callable[[tuple[int, ...]], Any]] = {
    "known": lambda shape: shape,
    "first dim unknown": lambda shape: (None, *shape[1:]) if shape else (),
    "dims unknown": lambda shape: (None,) * len(shape),
    "rank unknown": lambda shape: None,
}


@cases([c for c in pure(CASES) if c[0].inputs])
def test_graph_agrees_with_tape(row: Row, dtype: str) -> None:
    """Also the abstract evaluation of every op in the rules is held against what its kernel does."""
    inputs = row.arrays(dtype)
    wrt = row.differentiable(inputs)
    rng = np.random.default_rng(4)
    cts = [random_like(rng, o) for o in differentiable(row.apply(*inputs))] if wrt else []
    cts2 = [random_like(rng, inputs[i]) for i in wrt]
    # the second derivative is made of the same nodes in all real dtypes
    order = row.order if dtype in (one_dtype(row), "complex128") else min(row.order, 1)
    expected = eager_derivatives(row, inputs, wrt, cts, cts2, order)
    if wrt:
        assert_same_bits(gradient(row.apply, inputs, wrt, cts), expected[1])
    for shapes in STATIC_SHAPES if dtype == one_dtype(row) else ("known",):
        with noted(f"shapes: {shapes}"):
            assert_graph_agrees(row, shapes, inputs, cts, cts2, expected, order)


def assert_graph_agrees(row: Row, shapes: str, inputs: Any, cts: Any, cts2: Any, expected: Any, order: int) -> None:
    wrt = row.differentiable(inputs)
    trace = Trace()
    # Integers (indices, shapes) are constants of the graph where all is known, else they too come from outside.
    fed = [i for i, a in enumerate(inputs) if shapes != "known" or a.dtype.kind in "fc"] or [0]
    symbols = dict(zip(fed, placeholders(trace, [inputs[i] for i in fed], STATIC_SHAPES[shapes]), strict=True))
    operands = [symbols.get(i, a) for i, a in enumerate(inputs)]
    try:
        out = row.apply(*operands)
    except ShapeError:
        assert shapes != "known" and (row.static or row.call), "abstract evaluation must cope with unknown shapes"
        return
    feeds = [(symbols[i], inputs[i]) for i in fed]
    forward_only = len(trace.nodes)
    try:
        first, second, more = symbolic_derivatives(order, trace, [operands[i] for i in wrt], out, cts, cts2)
    except ShapeError:
        assert shapes == "rank unknown" or (shapes != "known" and row.static)
        first, second, more, expected = [], [], [], (expected[0], [], [])
        del trace.nodes[forward_only:]
    assert all(isinstance(v, Symbol) for v in (*flatten(out), *first, *second) if v is not None)
    got = interpret(trace, feeds + more, [*flatten(out), *first, *second])
    wanted = [*expected[0], *expected[1], *expected[2]]
    assert [v is None for v in got] == [v is None for v in wanted]
    # Where shapes are unknown, the terms of a sum may be added in another order: the nodes that wait to undo a possible
    # broadcasting group them, which shows in second derivatives.
    exact = len(wanted) if shapes == "known" else len(wanted) - len(expected[2])
    if shapes == "rank unknown" or (shapes != "known" and row.reorders):
        exact = 0
    assert_same_bits(got[:exact], wanted[:exact])
    rest = [(g, w) for g, w in zip(got[exact:], wanted[exact:], strict=True) if g is not None]
    assert_all_close([g for g, _ in rest], [w for _, w in rest], row)


def symbolic_derivatives(
    order: int, trace: Trace, sources: list[Any], out: Any, cts: Any, cts2: Any
) -> tuple[list[Any], list[Any], list[Any]]:
    """First and second derivatives as nodes of the trace, and the feeds of the seeds."""
    if not sources:
        return [], [], []
    outputs = differentiable(out)
    seeds = [trace.placeholder(o.aval) for o in outputs]
    first = reverse(trace.nodes, zip(outputs, seeds, strict=True), sources)
    seeds2 = [trace.placeholder(x.aval) for x in sources]
    second = reverse(trace.nodes, connected(first, seeds2), [*sources, *seeds]) if order > 1 else []
    return first, second, [*zip(seeds, cts, strict=True), *zip(seeds2, cts2, strict=True)]


# ---- batching: all at once agrees with one at a time -----------------------------------------------------------------


def batches(row: Row, dtype: str) -> Iterator[tuple[set[int], list[list[np.ndarray]]]]:
    """Which inputs are batched (all of them, then each alone), and the inputs of each element of the batch."""
    elements = [row.arrays(dtype, seed) for seed in range(BATCH)]
    every = range(len(row.inputs))
    for which in ([set(every)] if len(every) > 1 else []) + [{i} for i in every]:
        yield which, [[(e if i in which else elements[0])[i] for i in every] for e in elements]


def batched(which: set[int], elements: list[list[np.ndarray]], level: int) -> list[Any]:
    return [
        Batched(np.stack([e[i] for e in elements]), level) if i in which else elements[0][i]
        for i in range(len(elements[0]))
    ]


def unbatched(values: Any, level: int) -> list[list[np.ndarray]]:
    """The results of each element of the batch."""
    stacks = [array(unbatch(v, level, BATCH)) for v in flatten(values)]
    assert all(len(s) == BATCH for s in stacks)
    return [[s[b] for s in stacks] for b in range(BATCH)]


def assert_all_close(got: Sequence[Any], expected: Sequence[Any], row: Row) -> None:
    for g, e in zip(got, expected, strict=True):
        assert array(g).dtype == array(e).dtype
        assert_close(g, array(e), row.tol)


def about_shape_operand(error: Exception) -> bool:
    """Whether the error says that shapes and the like cannot differ between the elements of a batch."""
    return "must not differ between batch elements" in str(error)


@cases([c for c in pure(WIDE) if c[0].inputs])
def test_batched_value(row: Row, dtype: str) -> None:
    for which, elements in batches(row, dtype):
        with batch_level() as level:
            try:
                out = row.apply(*batched(which, elements, level))
            except ShapeError as error:
                if not about_shape_operand(error):
                    raise
                continue
            except UnimplementedError as error:
                if "cannot be vectorized" not in str(error):  # what `engine.core.batching.refused` says
                    raise
                continue
            got = unbatched(out, level)
        for g, element in zip(got, elements, strict=True):
            assert_all_close(g, arrays(row.apply(*element)), row)


@cases(with_derivatives(WIDE))
def test_batched_seeds(row: Row, dtype: str) -> None:
    """Batches of cotangents and of tangents, as Jacobians use them; of cotangents in a graph, too."""
    inputs = row.arrays(dtype)
    wrt = row.differentiable(inputs)
    nodes, values, out = recorded(row.apply, *inputs)
    outputs, sources = differentiable(out), [values[i] for i in wrt]
    rng = np.random.default_rng(5)
    cts = [random_like(rng, o, BATCH) for o in outputs]
    tangents = [random_like(rng, x, BATCH) for x in sources]

    def pull(b: Any) -> list[Any]:
        return reverse(nodes, [(o, ct[b]) for o, ct in zip(outputs, cts, strict=True)], sources)

    def push(b: Any) -> list[Any]:
        return forward(nodes, [(x, EagerTensor(t[b])) for x, t in zip(sources, tangents, strict=True)], outputs)

    with batch_level() as level:
        pulled = reverse(nodes, [(o, Batched(ct, level)) for o, ct in zip(outputs, cts, strict=True)], sources)
        pushed = forward(nodes, [(x, Batched(t, level)) for x, t in zip(sources, tangents, strict=True)], outputs)
        for loop, together in ((pull, pulled), (push, pushed)):
            present = [v for v in together if v is not None]
            for b, got in enumerate(unbatched(present, level)):
                alone = loop(b)
                assert [v is None for v in alone] == [v is None for v in together]
                assert_all_close(got, [v for v in alone if v is not None], row)

    if row.op.stateful:
        return
    trace = Trace()
    fed = [i for i, a in enumerate(inputs) if a.dtype.kind in "fc"]
    symbols = dict(zip(fed, placeholders(trace, [inputs[i] for i in fed]), strict=True))
    symbolic = differentiable(row.apply(*[symbols.get(i, a) for i, a in enumerate(inputs)]))
    seeds = placeholders(trace, cts)
    with batch_level() as other:
        in_graph = reverse(
            trace.nodes,
            [(o, Batched(s, other)) for o, s in zip(symbolic, seeds, strict=True)],
            [symbols[i] for i in wrt],
        )
        fetches = [None if v is None else unbatch(v, other, BATCH) for v in in_graph]
        expected = [None if v is None else unbatch(v, level, BATCH) for v in pulled]
    feeds = [*((symbols[i], inputs[i]) for i in fed), *zip(seeds, cts, strict=True)]
    assert_same_bits(interpret(trace, feeds, fetches), expected)


@cases([c for c in with_derivatives(pure(WIDE)) if c[0].inputs])
def test_batched_gradient(row: Row, dtype: str) -> None:
    """The whole gradient, its primal inputs batched: every op in the rules with any of its operands batched."""
    inputs = row.arrays(dtype)
    wrt = row.differentiable(inputs)
    trace = Trace()
    symbols = placeholders(trace, inputs)
    outputs = differentiable(row.apply(*symbols))
    rng = np.random.default_rng(6)
    cts = [random_like(rng, o) for o in differentiable(row.apply(*inputs))]
    seeds = placeholders(trace, cts)
    pulled = reverse(trace.nodes, zip(outputs, seeds, strict=True), [symbols[i] for i in wrt])
    fetches = [p for p in pulled if p is not None]
    for which, elements in batches(row, dtype):
        with batch_level() as level:
            feeds = [*zip(symbols, batched(which, elements, level), strict=True), *zip(seeds, cts, strict=True)]
            try:
                got = unbatched(interpret(trace, feeds, fetches, by_dispatch), level)
            except ShapeError as error:
                if not about_shape_operand(error):
                    raise
                continue
        for g, element in zip(got, elements, strict=True):
            feeds = [*zip(symbols, element, strict=True), *zip(seeds, cts, strict=True)]
            assert_all_close(g, interpret(trace, feeds, fetches), row)
