"""`docs/numbers.md`, line by line: the same bits in every mode, infinities, NaN and signs of zero included."""

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from engine.compiler.lowering import lower
from engine.compiler.pipeline import ALL_PASSES
from engine.core.structural import scale
from engine.core.trace import Trace, needed_nodes
from engine.derivatives.reverse import reverse
from engine.numpy_api import operators  # noqa: F401  (functions here use Python's operators on values)
from engine.ops import arithmetic, explog, joining, linalg, reduce, shape, trig
from engine.ops.creation import ones_like
from engine.transforms.vjp import recorded
from tests.support import array, arrays, placeholders, run_with_open_shapes

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

SPECIAL = np.array([np.inf, -np.inf, np.nan, -0.0, 0.0, 1.0, -1.0, 1e-310, 1e300, 1e-160, 2.0])
SHAPES = (
    (),
    (1,),
    (1, 1),
    (2,),
    (2, 2),
    (3, 3),
    (1, 3),
    (3, 1),
    (1, 2, 2),
    (4,),
    (3, 2, 2),
    (0,),
    (0, 2),
    (9,),
    (5, 5),
)


def same(x: Any, y: Any) -> bool:
    """Whether all bits are the same, but for those inside of a NaN."""
    x, y = np.asarray(x), np.asarray(y)
    if x.shape != y.shape or x.dtype != y.dtype:
        return False
    parts = [(x.real, y.real), (x.imag, y.imag)] if x.dtype.kind == "c" else [(x, y)]
    return all(
        np.array_equal(a, b, equal_nan=True)
        and np.array_equal(np.signbit(a) | np.isnan(a), np.signbit(b) | np.isnan(b))
        for a, b in parts
    )


def assert_same(got: Any, expected: Any, what: str = "") -> None:
    for i, (g, e) in enumerate(zip(got, expected, strict=True)):
        assert (g is None) == (e is None) and (g is None or same(g, e)), f"{what}: result {i} is\n{g}\nnot\n{e}"


# ---- random programs with structured constants -----------------------------------------------------------------------


def structured(rng: np.random.Generator, size: tuple[int, ...], dtype: str) -> np.ndarray:
    """Ones, zeros of both signs, the identity, a diagonal, a permutation, one number for all, or just numbers."""
    n = int(np.prod(size))
    rows = round(n**0.5)
    squares = [np.eye(rows), np.diag(rng.normal(size=rows)), np.eye(rows)[rng.permutation(rows)], 2 * np.eye(rows)]
    number = rng.choice([1.0, 2.0, 0.1, -1.0, np.inf, 1e300])
    others = [np.ones(n), np.zeros(n), -np.zeros(n), np.full(n, number), rng.normal(size=n)]
    found = [*others, *squares] if rows * rows == n else others
    return found[rng.integers(len(found))].reshape(size).astype(dtype)


def numbers(rng: np.random.Generator, size: tuple[int, ...], dtype: str) -> np.ndarray:
    """Ordinary and special numbers."""

    def some() -> np.ndarray:
        special = rng.random(size) < rng.choice([0.0, 0.1, 0.5])
        return np.where(special, rng.choice(SPECIAL, size=size), rng.normal(size=size))

    out = np.empty(size, dtype)
    out.real = some()
    if out.dtype.kind == "c":
        out.imag = some()
    return out


def step(rng: np.random.Generator, x: Any, dtype: str) -> Any:
    """One op on a value, often with a structured constant."""
    size = tuple(x.aval.shape)
    other = structured(rng, (size, size, (), size[-1:])[rng.integers(4)], dtype)
    exponent = np.full((1,) * rng.integers(2), rng.choice([2.0, 1.0, -1.0, 0.5, 3.0, 4.0, 0.0, 2.5]), dtype)
    axes = [a for a in range(len(size)) if rng.random() < 0.5]
    last = structured(rng, (size[-1], int(rng.choice([size[-1], 2]))), dtype) if size else other
    choices: list[Callable[[], Any]] = [
        lambda: [arithmetic.add, arithmetic.subtract, arithmetic.divide][rng.integers(3)](x, other),
        lambda: arithmetic.multiply(x, other),
        lambda: arithmetic.multiply(other, x),
        lambda: scale(x, other),
        lambda: explog.pow(x, exponent),
        lambda: [arithmetic.square, arithmetic.negative, trig.sin, explog.exp, trig.tanh][rng.integers(5)](x),
        lambda: arithmetic.multiply(x, x),
        lambda: [reduce.reduce_sum, reduce.reduce_mean, reduce.reduce_prod][rng.integers(3)](
            x, axes, bool(rng.integers(2))
        ),
        lambda: shape.transpose(x),
        lambda: shape.reshape(x, [(1, *size), (*size, 1), size][rng.integers(3)]),
        lambda: shape.broadcast_to(x, (2, *size)),
        lambda: joining.stack([x, x * 2.0]),
    ]
    if len(size) == 1:
        choices += [lambda: linalg.matvec(structured(rng, (size[0], size[0]), dtype), x)] * 2
    if len(size) > 1:
        choices += [lambda: linalg.matmul(x, last), lambda: linalg.matmul(x, last.T, transpose_b=True)]
    if len(size) == 2:
        choices += [lambda: linalg.matmul(structured(rng, (size[0], size[0]), dtype), x, transpose_a=True)]
    return choices[rng.integers(len(choices))]()


def program(seed: int) -> tuple[Callable[..., Any], list[np.ndarray]]:
    """A random function, and its arguments."""
    rng = np.random.default_rng(seed)
    dtype = rng.choice(["f8", "f4", "f8", "c16", "f2"])
    inputs = [numbers(rng, SHAPES[rng.integers(len(SHAPES))], dtype) for _ in range(rng.integers(1, 3))]
    count, seed = rng.integers(1, 7), rng.integers(1 << 60)

    def f(*xs: Any) -> Any:
        steps = np.random.default_rng(seed)
        values = list(xs)
        for _ in range(count):
            values.append(step(steps, values[-1 if steps.random() < 0.7 else steps.integers(len(values))], dtype))
        return values[-1]

    return f, inputs


def eagerly(f: Callable[..., Any], inputs: Any) -> list[Any]:
    """Value and gradients, by single kernels."""
    nodes, values, out = recorded(f, *inputs)
    found = reverse(nodes, [(out, ones_like(out))], values)
    return [array(x) for x in [out, *found] if x is not None]


def by_program(f: Callable[..., Any], inputs: Any, passes: Any) -> Any:
    """The same, by a program with some of the passes."""
    trace = Trace()
    given = placeholders(trace, inputs)
    out = f(*given)
    found = reverse(list(trace.nodes), [(out, ones_like(out))], given)
    wanted = [trace.operand(x) for x in [out, *found] if x is not None]
    nodes = needed_nodes(trace.nodes, wanted, {id(x) for x in given})
    return lower(nodes, [(x, x.aval) for x in given], wanted, passes=passes)[0](*inputs)


def subsets() -> Iterator[tuple[str, ...]]:
    yield ()
    yield ALL_PASSES
    for name in ALL_PASSES:
        yield tuple([p for p in ALL_PASSES if p != name])
        yield (name,)


@pytest.mark.parametrize("first", range(0, 120, 20))
def test_any_passes_give_the_bits_of_single_kernels(first: int) -> None:
    for seed in range(first, first + 20):
        f, inputs = program(seed)
        expected = eagerly(f, inputs)
        # each pass alone and each left out with every fourth program, all and none with each
        for passes in itertools.islice(subsets(), 2 if seed % 4 else None):
            assert_same(by_program(f, inputs, passes), expected, f"program {seed} with {passes}")


# ---- the front ends --------------------------------------------------------------------------------------------------


def by_graph(
    f: Callable[..., Any], inputs: Any, what: str, known: Callable[..., Any] = np.shape, opened: bool = False
) -> list[Any]:
    tf = graph_api
    with tf.Graph().as_default(), tf.Session() as session:
        xs = [tf.placeholder(x.dtype, known(x)) for x in inputs]
        y = f(*xs)
        found = tf.jacobian(y, xs) if what == "jacobian" else tf.gradients(y, xs, tf.ones_like(y))
        run = functools.partial(run_with_open_shapes, session) if opened else session.run
        wanted = iter(run([y, *[g for g in found if g is not None]], dict(zip(xs, inputs, strict=True))))
        return [next(wanted), *[None if g is None else next(wanted) for g in found]]


def by_tape(f: Callable[..., Any], inputs: Any, what: str) -> list[Any]:
    tf = tape_api
    xs = [tf.constant(x) for x in inputs]
    with tf.GradientTape() as tape:
        for x in xs:
            tape.watch(x)
        y = f(*xs)
    return [None if a is None else array(a) for a in [y, *getattr(tape, what)(y, xs)]]


@pytest.mark.parametrize("what", ["gradient", "jacobian"])
@pytest.mark.parametrize("first", range(1000, 1060, 20))
def test_graphs_tapes_and_replays_give_the_same_bits(first: int, what: str) -> None:
    for seed in range(first, first + 20):
        f, inputs = program(seed)
        walked = by_tape(f, inputs, what)
        for _ in range(4):
            again = by_tape(f, inputs, what)
        assert_same(again, walked, f"program {seed}, again")
        assert_same(by_graph(f, inputs, what), walked, f"program {seed}, in a graph")


PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "square of a gradient": lambda tf, x: tf.reduce_sum(x**2) ** 2,
    "roots": lambda tf, x: tf.sqrt(x**2) + tf.abs(x) ** 0.5,
    "cubes": lambda tf, x: x**3 - x**-1 + x**4,
    "a mean over nothing": lambda tf, x: tf.reduce_mean(x, axis=[]) * tf.reduce_sum(x, axis=[]),
    "products of all": lambda tf, x: tf.reduce_prod(x) * x,
    "norm": lambda tf, x: tf.norm(x, ord=3),
}
POINTS = [
    np.array(v) for v in (3.3, [1.7], [[0.3]], [-0.0], [np.inf], [np.nan, 2.0], [0.7, -0.2, -0.0], np.ones((1, 3)))
]


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize(
    "known", [np.shape, lambda x: [None] * np.ndim(x), lambda x: None], ids=["shape", "rank", "none"]
)
def test_shapes_that_are_not_known_change_no_bit(name: str, known: Callable[..., Any]) -> None:
    for x in POINTS:
        for dtype in ("f4", "f8"):
            given = [x.astype(dtype)]
            walked = by_tape(lambda x: PROGRAMS[name](tape_api, x), given, "gradient")
            for opened in {False, known is not np.shape}:
                found = by_graph(lambda x: PROGRAMS[name](graph_api, x), given, "gradient", known, opened)
                assert_same(found, walked, f"{name} {x} {opened}")


# ---- what was wrong --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "mask", [[[1, 0, 0, 1]], np.eye(3)[None], np.eye(2), [[1.0]], np.eye(4).reshape(2, 2, 4)], ids=np.shape
)
@pytest.mark.parametrize("special", [1.0, np.inf, np.nan, -0.0])
def test_a_constant_like_an_identity_matrix_is_a_constant(mask: Any, special: float) -> None:
    """Not a seed of a Jacobian: its products are sums, in which an infinity makes NaN of zeros."""
    mask = np.array(mask, np.float64)
    x = np.arange(1.0, 1 + mask.shape[-1] ** 2).reshape(mask.shape[-1], -1)
    x[0, 0] = special

    def f(x: Any) -> Any:
        return linalg.matmul(arithmetic.multiply(mask, reduce.reduce_sum(x)), linalg.matmul(mask, x), transpose_b=True)

    expected = by_program(f, [x], ())
    assert_same([linalg.matmul(mask, x)], by_program(lambda x: linalg.matmul(mask, x), [x], ALL_PASSES)[:1])
    assert_same(by_program(f, [x], ALL_PASSES), expected)
    assert_same(by_tape(f, [x], "gradient"), expected)
    assert_same(by_graph(f, [x], "gradient"), expected)


@pytest.mark.parametrize("mask", [[[1, 0, 0, 1]], np.eye(3)[None], np.eye(3).reshape(9), np.eye(2)], ids=np.shape)
def test_a_mask_like_an_identity_matrix_has_a_gradient(mask: Any) -> None:
    mask = np.array(mask, np.float64)
    x = np.linspace(-1.0, 1.0, mask.size).reshape(mask.shape)
    f = lambda x: reduce.reduce_sum(mask * trig.tanh(trig.sin(x)))  # noqa: E731
    expected = mask * (1 - np.tanh(np.sin(x)) ** 2) * np.cos(x)
    found = by_graph(f, [x], "gradient")
    np.testing.assert_allclose(found[1], expected, rtol=1e-12)
    assert_same(by_tape(f, [x], "gradient"), found)


EXPONENTS = [2.0, 3.0, 4.0, 1.0, -1.0, 0.5, 0.0, -2.0, 2.5, -0.5]


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("exponent", EXPONENTS)
def test_a_power_follows_from_base_and_exponent_alone(dtype: str, exponent: float) -> None:
    """Not from shapes, strides, neighbors, or other exponents beside it."""
    x = np.random.default_rng(0).normal(size=400).astype(dtype)
    x[:10] = SPECIAL[:10]
    y = np.array(exponent, dtype)
    power = explog.pow.kernel
    many = power(x, y)
    mixed = np.where(np.arange(400) % 3 == 0, 1.7, exponent).astype(dtype)
    assert_same([power(x, np.full(400, y))], [many])
    assert_same([power(x, y.reshape(1))], [many])
    assert_same([power(x.reshape(20, 20), np.full((20, 1), y)).ravel()], [many])
    assert_same([power(x[::-1], np.full(400, y)[::-1])[::-1]], [many])
    assert_same([power(np.repeat(x, 2)[::2], np.repeat(mixed, 2)[::2])[1::3]], [many[1::3]])
    assert_same([[power(v, y) for v in x]], [many]) if dtype == "f8" else None
    assert_same([np.concatenate([power(x[i : i + 1], y.reshape(1)) for i in range(400)])], [many])
    assert power(x[:3], y.reshape(1, 1)).shape == (1, 3)


def test_powers_of_special_numbers() -> None:
    """As TensorFlow 2.21 gives them, run beside: minus infinity to the power 0.5 is infinity, -0 to it 0."""
    x = np.array([np.inf, -np.inf, np.nan, -0.0, 0.0, -2.0, 1e200, -1e200])
    expected = {
        2.0: [np.inf, np.inf, np.nan, 0.0, 0.0, 4.0, np.inf, np.inf],
        3.0: [np.inf, -np.inf, np.nan, -0.0, 0.0, -8.0, np.inf, -np.inf],
        4.0: [np.inf, np.inf, np.nan, 0.0, 0.0, 16.0, np.inf, np.inf],
        -1.0: [0.0, -0.0, np.nan, -np.inf, np.inf, -0.5, 1e-200, -1e-200],
        0.5: [np.inf, np.inf, np.nan, 0.0, 0.0, np.nan, 1e100, np.nan],
        1.0: x,
    }
    for exponent, values in expected.items():
        assert_same([explog.pow.kernel(x, np.float64(exponent))], [np.array(values)], str(exponent))


@pytest.mark.parametrize("size", [(), (1,), (3, 1), (1, 1, 2)])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c16"])
def test_a_sum_of_one_element_is_that_element(size: tuple[int, ...], dtype: str) -> None:
    """Signs of zero and infinite complex numbers included, as in TensorFlow."""
    x = numbers(np.random.default_rng(3), size, dtype)
    x[...] = -0.0 if dtype != "c16" else complex(np.inf, -0.0)
    ones = [i for i, n in enumerate(size) if n == 1]
    for axis in ([], ones):
        for f in (reduce.reduce_sum, reduce.reduce_mean, reduce.reduce_prod):
            assert_same(arrays([f(x, axis, True)]), [x], f"{f} {axis}")
            assert_same([x], by_program(lambda x, f=f, axis=axis: f(x, axis, True), [x], ALL_PASSES)[:1])


# ---- loops over batches ----------------------------------------------------------------------------------------------


def _until(tf: Any, x: Any) -> Any:
    """Rows leave this loop after different numbers of steps."""
    step = lambda i, a: (i + 1, a * a - tf.sin(a) * 0.3)  # noqa: E731
    return tf.while_loop(lambda i, a: tf.logical_and(i < 6, tf.reduce_all(tf.abs(a) < 2.0)), step, (tf.constant(0), x))[
        1
    ]


LOOPS: dict[str, Callable[[Any, Any], Any]] = {
    "while": _until,
    "fold": lambda tf, x: tf.foldl(lambda a, e: tf.tanh(a * e) + e**3, x, initializer=x[0]),
    "scan": lambda tf, x: tf.scan(lambda a, e: a / (1.0 + e * e), x, initializer=x[0] * 0.1)[-1],
    "branch": lambda tf, x: tf.cond(tf.reduce_sum(x) > 0, lambda: tf.exp(-x * x), lambda: x * x * x),
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
@pytest.mark.parametrize("name", LOOPS)
def test_rows_of_a_batch_go_through_loops_as_each_does_alone(name: str, dtype: str) -> None:
    """Also where rows stop at different steps, meet infinities or are -0.0; by any number of rows at a time."""
    if name in ("while", "branch") and dtype == "complex64":
        pytest.skip("complex numbers have no order")
    f = LOOPS[name]
    rows = np.random.default_rng(7).normal(size=(9, 4)).astype(dtype)
    rows[2], rows[3, 1], rows[4, 0] = -0.0, np.inf, np.nan
    with np.errstate(all="ignore"):
        alone = np.stack([array(f(tape_api, tape_api.constant(r))) for r in rows])
        for some in (slice(None), slice(0, 1), slice(3, 8)):
            together = lambda x: tape_api.vectorized_map(lambda r: f(tape_api, r), x)  # noqa: E731
            compiled, given = tape_api.function(together), tape_api.constant(rows[some])
            found = [array(g(given)) for g in (together, compiled, compiled, compiled)]
            assert_same(found, [alone[some]] * 4, f"{name}, rows {some}")
