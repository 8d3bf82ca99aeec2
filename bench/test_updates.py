"""From contributions to new values: aggregation by each method, gating by each setting, and updates.

The facts that are kept with each make the report's section on them (`bench.update_tables`); `python -m bench.updates`
prints the same tables by itself.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pytest

from bench import update_tables, updates
from bench.update_tables import BY_HAND


def pytest_generate_tests(metafunc: Any) -> None:
    """Numbers of contributions, the largest only with ``--full``."""
    if "count" in metafunc.fixturenames:
        counts = updates.COUNTS if getattr(metafunc.config.option, "full", False) else updates.COUNTS[:-1]
        cases = [
            pytest.param(n, mode, marks=pytest.mark.benchmark(group=f"gradient of {n} contributions, {mode}"))
            for n in counts
            for mode in updates.MODES
        ]
        metafunc.parametrize(("count", "mode"), cases)


@pytest.mark.parametrize("method", updates.METHODS)
def test_aggregation(benchmark: Any, count: int, mode: str, method: str) -> None:
    """Time of the gradient; its error in units of the last place, its memory and its bits are kept with it."""
    call = updates.gradient_of(mode, count, method)
    result = benchmark(call)
    error = updates.error(result, count)
    benchmark.extra_info.update(table=update_tables.AGGREGATION, size=count, mode=mode, method=method)
    benchmark.extra_info.update(error=error, peak_bytes=updates.peak(call), checksum=zlib.crc32(result.tobytes()))
    assert error < (1 + np.log2(count) if method == "EXPERIMENTAL_TREE" else count)


@pytest.mark.parametrize("gate", updates.GATES)
@pytest.mark.parametrize(
    "mode",
    [pytest.param(m, marks=pytest.mark.benchmark(group=f"a step of Adam with a gate, {m}")) for m in updates.MODES],
)
def test_gating(benchmark: Any, mode: str, gate: str) -> None:
    """A step of Adam over eight layers; with each setting all gradients are held, and nothing as large as the slots."""
    step = updates.step_with(mode, gate)
    step()
    step()
    benchmark(step)
    peak = updates.peak(step)
    own = updates.variable_bytes()
    benchmark.extra_info.update(table=update_tables.GATING, mode=mode, method=gate)
    benchmark.extra_info.update(peak_bytes=peak, variable_bytes=own)
    assert peak < 1.6 * own


@pytest.mark.parametrize("library", [BY_HAND, *updates.MODES])
@pytest.mark.parametrize(
    "optimizer",
    [pytest.param(o, marks=pytest.mark.benchmark(group=f"a large update, {o}")) for o in updates.OPTIMIZERS],
)
def test_large_update(benchmark: Any, request: Any, library: str, optimizer: str) -> None:
    """An update beside the same one by hand, in blocks and in place."""
    size = updates.LARGE if getattr(request.config.option, "full", False) else 10**6
    gradient = np.random.default_rng(0).standard_normal(size).astype(np.float32)
    if library == BY_HAND:
        step = updates.by_hand(optimizer, gradient)
    else:
        step = updates.update_of(library, optimizer, [gradient])
    for _ in range(3):
        step()
    benchmark(step)
    benchmark.extra_info.update(table=update_tables.LARGE, size=size, mode=library, method=optimizer)
    if library != BY_HAND:
        benchmark.extra_info["peak_bytes"] = peak = updates.peak(step)
        assert peak < gradient.nbytes


@pytest.mark.parametrize("library", updates.MODES)
@pytest.mark.parametrize(
    "optimizer",
    [pytest.param(o, marks=pytest.mark.benchmark(group=f"an update of many, {o}")) for o in updates.OPTIMIZERS],
)
def test_update_of_many_variables(benchmark: Any, request: Any, library: str, optimizer: str) -> None:
    """Variables of 100 elements, updated together."""
    count = updates.MANY if getattr(request.config.option, "full", False) else 100
    step = updates.update_of(library, optimizer, [np.ones(updates.SHORT, np.float32)] * count)
    for _ in range(3):
        step()
    benchmark(step)
    benchmark.extra_info.update(table=update_tables.MANY, size=count, mode=library, method=optimizer)
