"""What the op tests share: comparing values, running a trace by hand, pulling gradients."""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from engine.core.aval import Aval, aval_of_array, compatible
from engine.core.eager import EagerTensor
from engine.core.nest import flatten
from engine.core.op import Op
from engine.core.trace import Symbol, Trace, placeholder
from engine.core.value import Value, aval_of, dtype_of
from engine.derivatives.reverse import reverse
from engine.transforms.vjp import recorded
from graph_api.sessions.session import Session

TOLERANCE = {np.dtype(d): t for d, t in [("f2", 1e-2), ("f4", 2e-5), ("f8", 1e-11), ("c8", 2e-5), ("c16", 1e-11)]}
"""Relative and absolute, for two ways to compute the same thing."""


@contextmanager
def noted(what: object) -> Iterator[None]:
    """An error inside says of which of several things that one test tries it tells."""
    try:
        yield
    except Exception as error:
        error.add_note(f"with {what}")
        raise


def array(x: Any) -> np.ndarray:
    """The array of an eager or raw value."""
    assert isinstance(x, (EagerTensor, np.ndarray, np.generic)), f"not an eager value: {x!r}"
    return np.asarray(x._array if isinstance(x, EagerTensor) else x)


def arrays(values: Any) -> list[np.ndarray]:
    """The arrays of a structure of eager or raw values."""
    return [array(x) for x in flatten(values)]


def bits(x: Any) -> Any:
    """What must be equal for two results to be equal to the bit (docs/numbers.md): not what is inside of a NaN.

    None stands for itself.
    """
    if x is None:
        return None
    a = array(x)
    parts = [a.real, a.imag] if a.dtype.kind == "c" else [a]
    if a.dtype.kind in "fc":
        parts = [np.where(np.isnan(part), np.array(np.nan, part.dtype), part) for part in parts]
    return a.dtype, a.shape, *[np.ascontiguousarray(part).tobytes() for part in parts]


def assert_same_bits(got: Iterable[Any], expected: Iterable[Any]) -> None:
    for i, (g, e) in enumerate(zip(got, expected, strict=True)):
        assert bits(g) == bits(e), f"result {i} differs:\n{g!r}\nexpected\n{e!r}"


def assert_close(got: Any, expected: Any, factor: float = 1.0, dtype: Any = None) -> None:
    """Equality up to rounding in `dtype` (by default the least precise of the two)."""
    got, expected = array(got), np.asarray(expected)
    kinds = [np.dtype(dtype)] if dtype else [got.dtype, expected.dtype]
    tolerance = factor * max((TOLERANCE.get(d, 0.0) for d in kinds), default=0.0)
    assert got.shape == expected.shape, f"shape {got.shape}, expected {expected.shape}"
    scale = np.abs(expected[np.isfinite(expected)]).max(initial=1.0) if expected.dtype.kind in "fc" else 1.0
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance * scale)


def random_like(rng: np.random.Generator, x: Any, *batch: int) -> np.ndarray:
    """A random array of x's dtype and shape, with leading batch axes if given."""
    aval = aval_of(x)
    shape = (*batch, *aval.shape)  # type: ignore[misc]
    values = rng.standard_normal(shape)
    if aval.dtype.is_complex:
        values = values + 1j * rng.standard_normal(shape)
    return np.asarray(values, aval.dtype.numpy)


def differentiable(outputs: Any) -> list[Any]:
    """The floating and complex leaves of a structure of values."""
    return [o for o in flatten(outputs) if dtype_of(o).is_differentiable]


def gradient(fn: Callable[..., Any], inputs: Sequence[Any], wrt: Sequence[int], cts: Sequence[Any]) -> list[Any]:
    """Cotangents of ``inputs[i] for i in wrt``, None where not connected, for cotangents of the floating outputs."""
    nodes, values, out = recorded(fn, *inputs)
    return reverse(nodes, list(zip(differentiable(out), cts, strict=True)), [values[i] for i in wrt])


# ---- running a trace by hand -----------------------------------------------------------------------------------------


def by_kernel(op: Op, inputs: Sequence[Any], params: dict[str, Any]) -> Any:
    """Run a node the plain way: call its kernel."""
    return op.kernel(*inputs, **params)


def by_dispatch(op: Op, inputs: Sequence[Any], params: dict[str, Any]) -> Any:
    """Run a node by applying its op, whatever its operands are (batched ones, say)."""
    return op(*inputs, **params)


def interpret(
    trace: Trace, feeds: Iterable[tuple[Symbol, Any]], fetches: Sequence[Any], run: Callable[..., Any] = by_kernel
) -> list[Any]:
    """The values of `fetches`: every node of the trace run in order. None and values that are not symbols stay.

    What each node gives is held against what its abstract evaluation promised.
    """
    known = {id(symbol): value for symbol, value in feeds}
    for node in trace.nodes:
        if node.op is placeholder:
            continue
        result = run(node.op, [known[id(x)] for x in node.inputs], node.params)
        for symbol, value in zip(node.outputs, result if node.op.multi else (result,), strict=True):
            assert_promised(aval_of(value), symbol.aval, node.op)
            if symbol.aval.value is not None and not isinstance(value, Value):
                assert_contents(symbol.aval, value, node.op)
            known[id(symbol)] = value
    return [known[id(x)] if isinstance(x, Symbol) else x for x in fetches]


def assert_promised(got: Aval, promised: Aval, op: Op) -> None:
    """The shape and dtype of a result are as abstract evaluation said."""
    assert got.dtype is promised.dtype, f"{op}: abstract evaluation says {promised}, the result is {got}"
    assert compatible(got.shape, promised.shape), f"{op}: abstract evaluation says {promised}, the result is {got}"


def assert_contents(promised: Aval, got: Any, op: Op) -> None:
    """The contents of an integer result are as abstract evaluation said."""
    value = promised.value if isinstance(promised.value, tuple) else (promised.value,)
    contents = np.ravel(got).tolist()
    fits = len(value) == len(contents) and all(v is None or v == c for v, c in zip(value, contents, strict=True))
    assert fits, f"{op}: abstract evaluation says the contents are {promised.value}, they are {contents}"


def placeholders(
    trace: Trace, inputs: Sequence[Any], shape: Callable[[tuple[int, ...]], Any] = lambda s: s
) -> list[Any]:
    """One placeholder per array, its static shape being ``shape(array.shape)``."""
    return [trace.placeholder(Aval(shape(a.shape), aval_of_array(a).dtype)) for a in inputs]


def at_once(work: Callable[[Any], None], given: Iterable[Any]) -> None:
    """Call a function in a thread for each thing given, all at the same time."""
    threads = [threading.Thread(target=work, args=(each,)) for each in given]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def run_with_open_shapes(session: Session, fetches: Any, feed_dict: Any) -> list[Any]:
    """What a session computes for a family of shapes of which only ranks are known."""
    elements, _ = session._resolve(fetches)
    feeds, values, _ = session._feeds(feed_dict)
    avals = [aval_of_array(v) for v in values]
    closed = session._compile(elements, feeds, [Aval((None,) * len(a.shape or ()), a.dtype) for a in avals])
    closed.program.keep_in_python()
    found = closed.execute(list(values))
    assert found is not None
    return found if closed.form is None else [None if k is None else found[k] for k in closed.form]
