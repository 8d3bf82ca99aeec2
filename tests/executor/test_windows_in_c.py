"""Windows moved in C: the bits are those of NumPy, and what does not fit is refused."""

import itertools
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from engine.executor.loops import same_bits
from engine.ops import conv_kernels, divided_products, pool_kernels, window_products, windows
from engine.ops.windows import Windows, spans
from engine.runtime.cache import clear_caches

pytestmark = pytest.mark.skipif(windows.in_c is None, reason="the extension is not there")

GEOMETRIES = [
    # spatial dimensions, size, strides, padding, dilations
    ((7,), (3,), (1,), "SAME", (1,)),
    ((9,), (3,), (2,), "VALID", (2,)),
    ((6, 5), (2, 2), (2, 2), "SAME", (1, 1)),
    ((8, 6), (2, 3), (2, 3), "VALID", (1, 1)),
    ((7, 8), (3, 3), (1, 1), "SAME", (1, 1)),
    ((7, 8), (3, 2), (2, 1), "SAME", (1, 2)),
    ((5, 6), (3, 2), (3, 2), ((2, 1), (0, 3)), (1, 1)),
    ((9, 9), (2, 2), (3, 3), "VALID", (2, 2)),
    ((4, 5, 6), (2, 3, 2), (1, 2, 1), "SAME", (1, 1, 2)),
    ((4, 4, 4), (2, 2, 2), (2, 2, 2), "VALID", (1, 1, 1)),
]


def both(monkeypatch: pytest.MonkeyPatch, kernel: Callable[..., Any], *operands: Any, **moves: Any) -> Any:
    """What a kernel gives in C, which is what it gives with NumPy."""
    found = kernel(*operands, **moves)
    with monkeypatch.context() as patch:
        for module in (windows, conv_kernels, pool_kernels, window_products):
            patch.setattr(module, "in_c", None)
        expected = kernel(*operands, **moves)
    assert same_bits(found, expected)
    return found


def numbers(rng: np.random.Generator, shape: tuple[int, ...], dtype: str, special: bool) -> np.ndarray:
    """Numbers with ties; special ones are among them if that is wanted."""
    x = rng.integers(-2, 3, shape).astype(dtype)
    x[rng.random(shape) < 0.5] *= rng.choice([0.37, -1.0])
    if special:
        for value in (np.nan, np.inf, -np.inf, -0.0):
            x[rng.random(shape) < 0.03] = value
    return x


@pytest.mark.parametrize(("space", "size", "strides", "padding", "dilations"), GEOMETRIES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["conv", "depthwise"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_convolutions(
    name: str, space: Any, size: Any, strides: Any, padding: Any, dilations: Any, dtype: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    rng, is_whole = np.random.default_rng(0), name == "conv"
    kernels = [getattr(conv_kernels, f"{name}{part}_kernel") for part in ("", "_data", "_filters")]
    moves = {"windows": Windows(strides, padding, dilations), "stack": 0}
    sizes = ((1, 2), (3, 8), (17, 4), (33, 40)) if is_whole else itertools.product((1, 5, 33), (1, 2, 9))
    for (channels, outputs), special in itertools.product(sizes, (False, True)):
        x = numbers(rng, (3 if is_whole else 5, *space, channels), dtype, special)
        w = numbers(rng, (*size, channels, outputs), dtype, special)
        ct = both(monkeypatch, kernels[0], x, w, **moves)
        both(monkeypatch, kernels[1], np.array(x.shape), w, ct, **moves)
        both(monkeypatch, kernels[2], x, np.array(w.shape), ct, **moves)
        with monkeypatch.context() as patch:
            # two images at a time, and one that is left
            patch.setattr(windows, "CACHE", windows.CACHE if is_whole else 2 * windows.PASSES * ct[0].size)
            both(monkeypatch, kernels[2], x, np.array(w.shape), ct, **moves)


@pytest.mark.parametrize(("space", "size", "strides", "padding", "dilations"), GEOMETRIES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_pools(
    space: Any, size: Any, strides: Any, padding: Any, dilations: Any, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(1)
    moves = {"size": size, "windows": Windows(strides, padding, dilations)}
    for channels, special in itertools.product((1, 5, 16, 37), (False, True)):
        x = numbers(rng, (2, *space, channels), dtype, special)
        maximum = both(monkeypatch, pool_kernels.largest, x, **moves)
        which = both(monkeypatch, pool_kernels.largest_tap, x, maximum, **moves)
        ct = numbers(rng, which.shape, dtype, special)
        both(monkeypatch, pool_kernels.scatter_taps, ct, which, np.array(x.shape), **moves)
        both(monkeypatch, pool_kernels.average, x, **moves)
        both(monkeypatch, pool_kernels.average_back, ct, np.array(x.shape), **moves)


def test_rows_that_overlap_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    # windows over one image of one dimension could be shown without a copy, but BLAS does not take such matrices
    rng = np.random.default_rng(4)
    for stride, stack in itertools.product((1, 2), (0, 1)):
        moves = {"windows": Windows((stride,), "VALID", (1,)), "stack": stack}
        lead = (2,) * stack
        x, w = rng.normal(size=(*lead, 1, 20, 16)), rng.normal(size=(*lead, 3, 16, 1))
        ct = both(monkeypatch, conv_kernels.conv_kernel, x, w, **moves)
        both(monkeypatch, conv_kernels.conv_filters_kernel, x, np.array((3, 16, 1)), ct, **moves)


@pytest.mark.parametrize(
    ("shape", "filters"),
    [((2, 5, 0), (3, 0, 4)), ((0, 5, 3), (3, 3, 4)), ((2, 0, 33), (3, 33, 40)), ((2, 5, 33), (3, 33, 0))],
)
def test_nothing_to_convolve(shape: Any, filters: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for stride in (1, 2):
        moves = {"windows": Windows((stride,), "SAME", (1,)), "stack": 0}
        x, w = np.ones(shape), np.ones(filters)
        ct = both(monkeypatch, conv_kernels.conv_kernel, x, w, **moves)
        assert both(monkeypatch, conv_kernels.conv_data_kernel, np.array(shape), w, ct, **moves).shape == shape
        assert both(monkeypatch, conv_kernels.conv_filters_kernel, x, np.array(filters), ct, **moves).shape == filters


def test_what_does_not_fit_is_refused() -> None:
    x = np.zeros((2, 4, 4, 3), np.float32)
    moves = Windows((1, 1), "SAME", (1, 1))
    lies = windows.geometry(2, (4, 4), 3, (2, 2), moves, spans("", (4, 4), (2, 2), moves))
    points, rows = np.zeros((2, 4, 4, 3), np.float32), np.zeros((2 * 16, 12), np.float32)
    which = np.zeros(points.shape, np.uint8)
    in_c: Any = windows.in_c
    in_c.lay_out(x, rows, lies, False)
    in_c.overlay(rows, x, lies, True)
    in_c.largest_tap(x, points, which, lies)
    in_c.place(points, which, x, lies)
    frozen = rows.copy()
    frozen.flags.writeable = False
    weights = np.zeros((4, 4, 3), np.float32)
    in_c.depthwise(x, points, weights, lies, 0, 1)
    in_c.depthwise(x, points, weights[:, 0].copy(), lies, 2, 1)
    for what, step in ((2, 1), (3, 1), (-1, 1), (0, 0)):
        with pytest.raises(ValueError, match="windows:"):
            in_c.depthwise(x, points, weights, lies, what, step)
    for wrong in (rows[1:], rows[:, ::2], rows.astype(np.float64), rows.astype(">f4"), frozen):
        with pytest.raises(ValueError, match="windows: an array"):
            in_c.lay_out(x, wrong, lies, False)
    for at, value in itertools.product(range(len(lies)), (-1, 0, 1 << 50, 1 << 62)):
        changed = (*lies[:at], value, *lies[at + 1 :])
        for call in (
            lambda changed=changed: in_c.lay_out(x, rows, changed, False),
            lambda changed=changed: in_c.overlay(rows, x, changed, False),
            lambda changed=changed: in_c.place(points, which, x, changed),
            lambda changed=changed: in_c.depthwise(x, points, weights, changed, 0, 1),
        ):
            # the padding alone may be anything: what is read there is zero
            if at % 6 == 5 and 0 <= value <= 1 << 40:
                call()
            else:
                with pytest.raises(ValueError, match="windows:"):
                    call()
    starts, entries = np.array([0, 1, 2], np.intp), np.array([0, 4], np.intp)
    with pytest.raises(ValueError, match="leads out"):
        in_c.reduce(x, x, 2, 3, ((4, starts, entries), (4, starts, entries)), True, 0.0)
    with pytest.raises(TypeError, match="float32 or float64"):
        in_c.overlay(rows.astype(np.int32), x, lies, True)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("space", "size", "strides", "padding", "dilations"), GEOMETRIES)
def test_large_images_in_blocks_of_windows(
    space: Any, size: Any, strides: Any, padding: Any, dilations: Any, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng, moves = np.random.default_rng(2), {"windows": Windows(strides, padding, dilations), "stack": 0}
    for channels in (2, 17):
        x, w = (rng.normal(size=(*lead, channels)).astype(dtype) for lead in ((3, *space), (*size, 5)))
        w = w.swapaxes(-1, -2)
        ct = conv_kernels.conv_kernel(x, w, **moves)
        of_filters = conv_kernels.conv_filters_kernel(x, np.array(w.shape), ct, **moves)
        with monkeypatch.context() as patch:
            # each image has more windows than this
            patch.setattr(windows, "CACHE", 2 * w[..., 0].size)
            again = both(monkeypatch, conv_kernels.conv_kernel, x, w, **moves)
            filters_again = both(monkeypatch, conv_kernels.conv_filters_kernel, x, np.array(w.shape), ct, **moves)
        exact = 1e-5 if dtype == "float32" else 1e-12
        np.testing.assert_allclose(again, ct, rtol=exact, atol=exact)
        np.testing.assert_allclose(filters_again, of_filters, rtol=exact, atol=10 * exact)


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("in_place", [False, True])
def test_products_of_some_rows_at_a_time(threads: int, in_place: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    divide(monkeypatch, threads, in_place)
    monkeypatch.setattr(divided_products, "_SMALL_PRODUCT", 7 * 6 * 5)
    rng = np.random.default_rng(3)
    for height, step in {0: 1, 1: 1, 7: 7, 8: 4, 14: 7, 23: 6}.items():
        expected = height if threads > 1 else 4 if in_place and height > 7 else step
        assert divided_products.rows_at_once(height, 6, 5) == max(1, expected)
        for a in (rng.normal(size=(height, 6)), rng.normal(size=(6, height)).T):
            b, ct, out = rng.normal(size=(6, 5)), rng.normal(size=(height, 5)), np.empty((height, 5))
            divided_products.product(a, b, out)
            np.testing.assert_allclose(out, a @ b, rtol=1e-12)
            np.testing.assert_allclose(divided_products.product_of_columns(a, ct), a.T @ ct, rtol=1e-12, atol=1e-12)


def divide(patch: pytest.MonkeyPatch, threads: int, in_place: bool) -> None:
    """Have small products of matrices divided too, all of them laid out before."""
    patch.setattr(conv_kernels, "multiplied_straight", lambda *given: False)
    patch.setattr(divided_products, "blas_threads", lambda: threads)
    patch.setattr(divided_products, "multiplies_in_place", lambda: in_place)
    for name, value in {
        "_LEAST_ROWS": 2,
        "_FEW_ROWS": 2,
        "_AT_ONCE": 6,
        "_SUMMED": (4, 8),
        "_LEAST_COLUMNS": 2,
    }.items():
        patch.setattr(divided_products, name, value)


@pytest.mark.parametrize(("width", "outputs"), [(6, 5), (7, 5), (12, 3), (48, 1), (35, 64), (12, 65), (36, 10), (1, 4)])
@pytest.mark.parametrize("height", [1, 6, 13, 96])
def test_products_of_some_columns_at_a_time(
    height: int, width: int, outputs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    divide(monkeypatch, 1, True)
    monkeypatch.setattr(divided_products, "_SMALL_PRODUCT", 4 * 8 * 10)
    rows, columns = divided_products.rows_and_columns_at_once(height, width, outputs)
    assert 1 <= rows <= height
    assert width % columns == 0
    rng = np.random.default_rng(6)
    a, ct = rng.normal(size=(height, width)), rng.normal(size=(height, outputs))
    np.testing.assert_allclose(divided_products.product_of_columns(a, ct), a.T @ ct, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize(("space", "size", "strides", "padding", "dilations"), GEOMETRIES)
def test_products_divided_in_c(
    space: Any, size: Any, strides: Any, padding: Any, dilations: Any, in_place: bool, dtype: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    divide(monkeypatch, 1, in_place)
    rng, moves = np.random.default_rng(7), {"windows": Windows(strides, padding, dilations), "stack": 0}
    for channels, outputs in ((17, 4), (24, 9)):
        monkeypatch.setattr(divided_products, "_SMALL_PRODUCT", 40 * channels * outputs)
        x, w = (rng.normal(size=s).astype(dtype) for s in ((3, *space, channels), (*size, channels, outputs)))
        ct = both(monkeypatch, conv_kernels.conv_kernel, x, w, **moves)
        both(monkeypatch, conv_kernels.conv_data_kernel, np.array(x.shape), w, ct, **moves)
        both(monkeypatch, conv_kernels.conv_filters_kernel, x, np.array(w.shape), ct, **moves)


def test_a_product_that_does_not_fit_is_refused() -> None:
    x, w = np.ones((2, 4, 4, 8), np.float32), np.ones((32, 5), np.float32)
    moves = Windows((1, 1), "SAME", (1, 1))
    lies = windows.geometry(2, (4, 4), 8, (2, 2), moves, spans("", (4, 4), (2, 2), moves))
    points, rows, none, share = (np.zeros(s, np.float32) for s in ((32, 5), (8, 32), (0, 32, 5), (2, 32, 5)))
    in_c: Any = windows.in_c
    in_c.multiply(x, w, points, rows, none, lies, 8, 32, False, 2)
    in_c.multiply(x, w, points, rows, share, lies, 8, 16, True, 2)
    in_c.multiply(x, w, points, np.zeros((32, 32), np.float32), none, lies, 40, 32, False, 2)
    frozen = w.copy()
    frozen.flags.writeable = False
    wrong: list[tuple[Any, ...]] = [
        (x, w, points, rows, none, lies, 9, 32, False, 2),
        (x, w, points, rows, none, lies, 0, 32, False, 2),
        (x, w, points, rows, none, lies, 8, 32, False, 0),
        (x, w, points, rows, none, lies, 8, 32, False, 3),
        (x, w, points, rows, none, lies, 8, -1, True, 2),
        (x, w, points, rows, none, lies, 8, 0, True, 2),
        (x, w, points, rows, share, lies, 8, 7, True, 2),
        (x, w, points, rows, none, lies, 8, 16, True, 2),
        (x, w, points[1:], rows, none, lies, 8, 32, False, 2),
        (x, w[1:], points, rows, none, lies, 8, 32, False, 2),
        (x, frozen, points, rows, share, lies, 8, 32, True, 2),
        (x, w.astype(np.float64), points, rows, none, lies, 8, 32, False, 2),
        (x[:0], w, points, rows, none, (0, *lies[1:]), 8, 32, False, 2),
    ]
    for arguments in wrong:
        with pytest.raises(ValueError, match="windows:"):
            in_c.multiply(*arguments)


@pytest.fixture
def straight(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[Any, ...]]]:
    """What is multiplied where it lies, also if it is small, as with one thread."""
    in_c: Any = windows.in_c
    if not in_c.straight():
        pytest.skip("this processor has no registers for it")
    made = []

    def noted(*arguments: Any) -> None:
        made.extend([arguments] if arguments[7] == 0 else [])
        in_c.multiply(*arguments)

    for module in (divided_products, window_products):
        monkeypatch.setattr(module, "blas_threads", lambda: 1)
    monkeypatch.setattr(window_products, "_LEAST", 1)
    monkeypatch.setattr(window_products, "in_c", SimpleNamespace(multiply=noted, straight=lambda: True))
    clear_caches()
    yield made
    clear_caches()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("space", "size", "strides", "padding", "dilations"), GEOMETRIES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_windows_multiplied_where_they_lie(
    space: Any, size: Any, strides: Any, padding: Any, dilations: Any, dtype: str,
    straight: list[Any], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    rng, moves = np.random.default_rng(8), {"windows": Windows(strides, padding, dilations), "stack": 0}
    for (channels, outputs), groups in itertools.product(((1, 16), (3, 10), (16, 48), (17, 33), (32, 7)), (1, 3)):
        x, w = (numbers(rng, s, dtype, groups == 3) for s in ((5, *space, channels), (*size, channels, outputs)))
        with monkeypatch.context() as patch:
            # as many images at a time
            windows_each = conv_kernels.conv_kernel(x[:1], w, **moves)[..., 0].size
            for module in (windows, window_products):
                patch.setattr(module, "CACHE", groups * w[..., 0].size * windows_each)
            clear_caches()
            ct = both(monkeypatch, conv_kernels.conv_kernel, x, w, **moves)
            both(monkeypatch, conv_kernels.conv_data_kernel, np.array(x.shape), w, ct, **moves)
            both(monkeypatch, conv_kernels.conv_filters_kernel, x, np.array(w.shape), ct, **moves)
        clear_caches()
    if divided_products.multiplies_in_place():
        assert straight


@pytest.mark.parametrize("alike", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("outputs", [1, 3, 8, 10, 16, 20, 33, 72])
def test_columns_that_do_not_fill_a_register(
    outputs: int, dtype: str, alike: bool, straight: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    rng, moves = np.random.default_rng(9), {"windows": Windows((1, 1), "SAME", (1, 1)), "stack": 0}
    if not alike:
        monkeypatch.setattr(window_products, "_alike", lambda *facts: False)
    x, w = (rng.normal(size=s).astype(dtype) for s in ((3, 40, 40, 8), (3, 3, 8, outputs)))
    ct = both(monkeypatch, conv_kernels.conv_kernel, x, w, **moves)
    both(monkeypatch, conv_kernels.conv_data_kernel, np.array(x.shape), w, ct, **moves)
    both(monkeypatch, conv_kernels.conv_filters_kernel, x, np.array(w.shape), ct, **moves)
    assert bool(straight) is alike or not divided_products.multiplies_in_place() or outputs < 3


def test_a_product_where_windows_lie_is_refused_if_it_does_not_fit(straight: list[Any]) -> None:
    x, w = np.ones((2, 4, 4, 8), np.float32), np.ones((32, 5), np.float32)
    moves = Windows((1, 1), "SAME", (1, 1))
    lies = windows.geometry(2, (4, 4), 8, (2, 2), moves, spans("", (4, 4), (2, 2), moves))
    points, room, none, share = (np.zeros(s, np.float32) for s in ((32, 5), (5 * 5 * 8,), (0, 32, 5), (2, 32, 5)))
    in_c: Any = windows.in_c
    in_c.multiply(x, w, points, room, none, lies, 8, 0, False, 1)
    in_c.multiply(x, w, points, np.zeros(2 * room.size, np.float32), share, lies, 40, 0, True, 2)
    for wrong in (
        (x, w, points, room, none, lies, 8, 0, False, 2),
        (x, w, points, room[1:], none, lies, 8, 0, False, 1),
        (x, w, points, room, none, lies, 8, 0, True, 1),
        (x, w, points, room, none, lies, 0, 0, False, 1),
        (x[:1], w, points, room, none, lies, 8, 0, False, 1),
        (x, w, points[1:], room, none, lies, 8, 0, False, 1),
    ):
        with pytest.raises(ValueError, match="windows:"):
            in_c.multiply(*wrong)
    for at, value in itertools.product(range(len(lies)), (-1, 1 << 50, 1 << 62)):
        with pytest.raises(ValueError, match="windows:"):
            in_c.multiply(x, w, points, room, none, (*lies[:at], value, *lies[at + 1 :]), 8, 0, False, 1)
