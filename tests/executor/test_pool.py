"""Kernels of pooling: blocks, short and long lines, edges and gaps, held against windows visited one by one."""

import itertools
from typing import Any

import numpy as np
import pytest

from engine.ops import pool_kernels
from engine.ops.windows import Windows

CASES = [
    # shape, size, windows
    pytest.param((3, 9, 8, 2), (2, 2), Windows((2, 2), "VALID", (1, 1)), id="halves"),
    pytest.param((3, 9, 8, 2), (3, 3), Windows((2, 2), "SAME", (1, 1)), id="steps of two"),
    pytest.param((2, 9, 8, 40), (3, 3), Windows((1, 1), "SAME", (1, 1)), id="overlapping"),
    pytest.param((2, 7, 8, 140), (3, 2), Windows((3, 2), "SAME", (1, 1)), id="long lines"),
    pytest.param((2, 9, 8, 2), (1, 2), Windows((3, 4), "SAME", (1, 1)), id="gaps"),
    pytest.param((2, 9, 11, 2), (2, 3), Windows((1, 1), "VALID", (3, 2)), id="dilated"),
    pytest.param((2, 9, 11, 2), (2, 3), Windows((2, 3), "SAME", (3, 2)), id="dilated, steps"),
    pytest.param((2, 3, 4, 2), (2, 2), Windows((1, 2), ((4, 0), (0, 5)), (1, 1)), id="windows of padding"),
    pytest.param((2, 3, 2), (7,), Windows((1,), "SAME", (1,)), id="wider than the data"),
    pytest.param((2, 5, 4, 3, 2), (3, 2, 1), Windows((2, 1, 1), "SAME", (1, 1, 1)), id="3-d"),
    pytest.param((2, 3, 5, 4, 2), (3, 2), Windows((2, 1), "SAME", (1, 1)), id="two batch dimensions"),
]


def links(x: Any, size: tuple[int, ...], windows: Windows) -> dict[tuple[int, ...], list[tuple[int, ...]]]:
    """For each window, by its position, the positions of its entries."""
    places = pool_kernels.along("test", x, size, windows)
    space = x.shape[-1 - len(size) : -1]
    found = {}
    for window in np.ndindex(*[s.number for s in places]):
        entries = [
            tuple(
                w * stride + t * dilation - s.before
                for w, stride, t, dilation, s in zip(
                    window, windows.strides, tap, windows.dilations, places, strict=True
                )
            )
            for tap in itertools.product(*map(range, size))
        ]
        found[window] = [e for e in entries if all(0 <= i < dim for i, dim in zip(e, space, strict=True))]
    return found


@pytest.fixture(params=[1, 100, pool_kernels._BLOCK])
def _blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of one row of windows, of some, and of everything."""
    monkeypatch.setattr(pool_kernels, "_BLOCK", request.param)


@pytest.mark.usefixtures("_blocks")
@pytest.mark.parametrize(("shape", "size", "windows"), CASES)
class TestAgainstLoops:
    """Each kernel against one window after the other."""

    def test_largest(self, shape: tuple[int, ...], size: tuple[int, ...], windows: Windows) -> None:
        x = np.random.default_rng(0).normal(size=shape)
        got = pool_kernels.largest(x, size=size, windows=windows)
        for window, entries in links(x, size, windows).items():
            expected = np.max([x[(..., *e, slice(None))] for e in entries], axis=0) if entries else -np.inf
            at_window = got[(..., *window, slice(None))]
            np.testing.assert_array_equal(at_window, np.broadcast_to(expected, at_window.shape))

    def test_average(self, shape: tuple[int, ...], size: tuple[int, ...], windows: Windows) -> None:
        x = np.random.default_rng(0).normal(size=shape)
        got = pool_kernels.average(x, size=size, windows=windows)
        for window, entries in links(x, size, windows).items():
            expected = sum(x[(..., *e, slice(None))] for e in entries) / max(1, len(entries))
            np.testing.assert_allclose(got[(..., *window, slice(None))] - expected, 0, atol=1e-12)

    def test_its_transpose(self, shape: tuple[int, ...], size: tuple[int, ...], windows: Windows) -> None:
        x = np.random.default_rng(0).normal(size=shape)
        ct = np.random.default_rng(1).normal(size=pool_kernels.average(x, size=size, windows=windows).shape)
        expected = np.zeros(shape)
        for window, entries in links(x, size, windows).items():
            for e in entries:
                expected[(..., *e, slice(None))] += ct[(..., *window, slice(None))] / len(entries)
        got = pool_kernels.average_back(ct, np.array(shape), size=size, windows=windows)
        np.testing.assert_allclose(got, expected, atol=1e-12)

    def test_the_first_of_the_largest(self, shape: tuple[int, ...], size: tuple[int, ...], windows: Windows) -> None:
        rng = np.random.default_rng(0)
        x = rng.choice([-np.inf, 0.0, 1.0, 2.0], shape)  # ties
        y = pool_kernels.largest(x, size=size, windows=windows)
        which = pool_kernels.largest_tap(x, y, size=size, windows=windows)
        ct, t = rng.normal(size=y.shape), rng.normal(size=shape)
        back, forth = np.zeros(shape), np.zeros(y.shape)
        for window, entries in links(x, size, windows).items():
            for at in np.ndindex(*shape[: -1 - len(size)]) if entries else ():
                for c in range(shape[-1]):
                    first = max(entries, key=lambda e: x[(*at, *e, c)])
                    back[(*at, *first, c)] += ct[(*at, *window, c)]
                    forth[(*at, *window, c)] = t[(*at, *first, c)]
        placed = pool_kernels.scatter_taps(ct, which, np.array(shape), size=size, windows=windows)
        np.testing.assert_allclose(placed, back, atol=1e-12)
        np.testing.assert_array_equal(pool_kernels.gather_taps(t, which, size=size, windows=windows), forth)


@pytest.mark.parametrize("kernel", [pool_kernels.largest, pool_kernels.average])
def test_an_image_alone_has_the_bits_it_has_among_others(kernel: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    x, how = np.random.default_rng(0).normal(size=(5, 20, 20, 3)).astype(np.float32), Windows((2, 1), "SAME", (1, 1))
    whole = kernel(x, size=(3, 3), windows=how)
    for block in (500, 5000):
        monkeypatch.setattr(pool_kernels, "_BLOCK", block)
        for i in range(5):
            np.testing.assert_array_equal(kernel(x[i : i + 1], size=(3, 3), windows=how), whole[i : i + 1])


def test_the_size_of_buffers_stays_as_it_was() -> None:
    before = np.getbufsize()
    pool_kernels.largest(np.zeros((1, 4, 4, 1)), size=(2, 2), windows=Windows((2, 2), "SAME", (1, 1)))
    assert np.getbufsize() == before


def test_data_in_any_order() -> None:
    x, how = np.random.default_rng(0).normal(size=(3, 2, 9, 8)), Windows((2, 2), "SAME", (1, 1))
    view = x.transpose(0, 2, 3, 1)[:, ::-1]
    np.testing.assert_array_equal(
        pool_kernels.average(view, size=(3, 3), windows=how),
        pool_kernels.average(np.ascontiguousarray(view), size=(3, 3), windows=how),
    )
