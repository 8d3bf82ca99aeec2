"""Small files of pytest-benchmark, made here, so that what is said of them is known."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.measure import statistics_of

CALIBRATION = {
    "copy_bytes_per_s": 1e10,
    "gemm_float64_flops_per_s": 1e11,
    "gemm_float32_flops_per_s": 2e11,
    "call_seconds": 4e-7,
}
MACHINE = {"node": "here", "machine": "x86_64", "python_version": "3.12.1", "cpu": {"brand_raw": "A < B", "count": 2}}


def rounds(median: float, count: int = 20, spread: float = 0.02, seed: int = 0) -> list[float]:
    """Times around a median, in random order."""
    return list(median * (1 + spread * np.random.default_rng(seed).permutation(np.linspace(-1, 1, count))))


def entry(
    name: str, data: Sequence[float], group: str | None = None, params: Any = None, **extra: Any
) -> dict[str, Any]:
    """One benchmark."""
    return {
        "group": group,
        "name": name,
        "fullname": f"bench/test_made.py::{name}",
        "params": params,
        "param": None,
        "extra_info": extra,
        "options": {},
        "stats": statistics_of(data),
    }


def case(problem: str, size: int, mode: str, method: str, median: float, **extra: Any) -> dict[str, Any]:
    """One benchmark of the suite."""
    stage = extra.pop("stage", "warm")
    facts = {
        "problem": problem,
        "size": str(size),
        "mode": mode,
        "method": method,
        "stage": stage,
        "n": size,
        "m": size,
    }
    name = f"test_jacobian[{problem}-{size}-{mode}-{method}-{stage}]"
    return entry(name, rounds(median), f"{problem} {size}", **{**facts, **extra})


def suite() -> list[dict[str, Any]]:
    """Two problems: one at three sizes with everything known, one with next to nothing known."""
    found = []
    for n in (100, 1000, 10_000):
        facts = {"peak_bytes": 8 * n, "j_over_f": 3.0, "bytes": 16 * n, "passes": 3}
        facts |= {"held_out": n > 1000, "python_seconds": 2.5e-6 * n}
        stages = {"trace": 1e-6 * n, "plan": 2e-6 * n}
        found += [
            case("band", n, "graph", "auto", 1e-6 * n, stages=stages, **facts),
            case("band", n, "graph", "auto", 6e-6 * n, stage="cold"),
            case("band", n, "graph", "forward", 0.5e-6 * n),
            case("band", n, "tape", "auto", 1.2e-6 * n, **facts),
            case("band", n, "jax", "best", 4e-6 * n, way="jacfwd"),
            case("band", n, "tf_graph", "best", 8e-6 * n),
            case("band", n, "tf_eager", "best", 80e-6 * n),
        ]
    found.append(entry("test_bare", [0.5, 0.5, 0.5], problem="bare & small", mode="tape"))
    chain = "gradient of a chain of 200 small ops"
    for library, group, median in (
        ("tape_api", f"{chain}, eager", 1e-3),
        ("tensorflow eager", f"{chain}, eager", 10e-3),
        ("graph_api", f"{chain}, graph (built before)", 0.5e-3),
        ("tensorflow graph", f"{chain}, graph (built before)", 0.4e-3),
    ):
        found.append(entry(f"test_chain[{library}]", rounds(median), group, {"library": library}))
    return found


def write(path: Path, entries: Sequence[dict[str, Any]], **machine: Any) -> Path:
    """A file with these benchmarks."""
    content = {
        "machine_info": {**MACHINE, "calibration": CALIBRATION, **machine},
        "commit_info": {"id": "0123456789abcdef", "dirty": False},
        "benchmarks": list(entries),
        "datetime": "2026-01-02T03:04:05",
        "version": "5.0.0",
    }
    path.write_text(json.dumps(content), encoding="utf-8")
    return path
