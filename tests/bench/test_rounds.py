"""Running benchmarks: passes in turn, merged; progress; a tiny real run."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench.measure import interleaved, peak_bytes
from bench.results import read
from bench.rounds import InterleavedRounds, Progress, merged
from bench.run import CHOOSES_KERNELS
from engine import executor
from tests.bench.made import entry
from tests.processes import printed

HOME = Path(__file__).resolve().parent.parent.parent


# ---- merging ---------------------------------------------------------------------------------------------------------


def test_passes_become_one_entry() -> None:
    entries = [
        entry("test_it[a-pass1of2]", [1.0, 2.0], params={"library": "a", "bench_pass": 0}, size="3", cpu_share=0.75),
        entry("test_it[b-pass1of2]", [5.0]),
        entry("test_it[a-pass2of2]", [3.0, 4.0, 5.0], params={"library": "a", "bench_pass": 1}, cpu_share=0.5),
        entry("test_it[b-pass2of2]", [7.0]),
    ]
    a, b = merged(entries)
    assert a["name"] == "test_it[a]" and a["fullname"].endswith("::test_it[a]") and a["params"] == {"library": "a"}
    assert a["stats"]["data"] == [1.0, 2.0, 3.0, 4.0, 5.0] and a["stats"]["median"] == 3.0
    assert a["extra_info"] == {"size": "3", "blocks": [2, 3], "cpu_share": 0.75}
    assert b["stats"]["data"] == [5.0, 7.0] and b["params"] is None


@pytest.mark.parametrize("name", ["test_it[pass1of2]", "test_it[pass2of2-a]", "test_it[a-pass2of2-b]", "test_it[a]"])
def test_the_pass_leaves_no_trace_in_the_name(name: str) -> None:
    expected = {"test_it[pass1of2]": "test_it", "test_it[a-pass2of2-b]": "test_it[a-b]"}.get(name, "test_it[a]")
    assert merged([entry(name, [1.0])])[0]["name"] == expected


# ---- rounds in turn --------------------------------------------------------------------------------------------------


def test_interleaved_calls_take_turns() -> None:
    order: list[str] = []
    found = interleaved({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, seconds=0.0, least=2)
    assert [len(rounds) for rounds in found.values()] == [2, 2]
    turns = [name for name, before in zip(order, [None, *order], strict=False) if name != before]
    assert turns == ["a", "b", "a", "b", "a"], "once each to see how long they take; then a b, b a"


def test_peak_memory_is_that_of_the_call() -> None:
    size = 1 << 20
    assert size <= peak_bytes(lambda: bytearray(size)) < 1.1 * size


# ---- progress --------------------------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Session:
    items = ("one", "two")


@pytest.mark.parametrize(("out", "live"), [(Terminal(), True), (io.StringIO(), False)])
def test_progress_says_what_runs_and_what_is_left(out: io.StringIO, live: bool) -> None:
    progress = Progress(out)
    progress.pytest_collection_finish(Session())
    for name in ("one", "two"):
        progress.pytest_runtest_logstart(f"bench/test_x.py::{name}")
        progress.pytest_runtest_logfinish(f"bench/test_x.py::{name}")
    progress.pytest_sessionfinish()
    shown = out.getvalue()
    assert "test_x.py::one" in shown and "test_x.py::two" in shown and "left" in shown
    assert ("\r" in shown) == live
    assert shown.count("\n") == (0 if live else 3)


def test_when_the_time_is_over_one_pass_must_do() -> None:
    def item(number: int, *marks: str) -> Any:
        params = SimpleNamespace(params={"bench_pass": number})
        return SimpleNamespace(callspec=params, get_closest_marker=lambda name: name if name in marks else None)

    rounds = InterleavedRounds(2, seconds=1e-9)
    with pytest.raises(pytest.skip.Exception, match="the time is over"):
        rounds.pytest_runtest_setup(item(1))
    rounds.pytest_runtest_setup(item(0))
    with pytest.raises(pytest.skip.Exception, match="what is secondary is left out"):
        rounds.pytest_runtest_setup(item(0, "secondary"))
    InterleavedRounds(2, seconds=1e9).pytest_runtest_setup(item(1, "secondary"))


# ---- a real run ------------------------------------------------------------------------------------------------------

BENCHMARKS = """
import pytest

@pytest.mark.benchmark(group="sums")
@pytest.mark.parametrize("count", [10, 20])
def test_sum(benchmark, count):
    benchmark.extra_info.update(problem="sum", size=count, mode="tape", method="auto")
    assert benchmark(sum, range(count)) == count * (count - 1) // 2

def test_wrong(benchmark):
    assert benchmark(lambda: 1) == 2

def test_no_benchmark():
    raise RuntimeError("must not run")
"""


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[subprocess.CompletedProcess[str], Path]:
    pytest.importorskip("threadpoolctl", reason="threadpoolctl is not installed")
    folder = tmp_path_factory.mktemp("run")
    (folder / "test_sums.py").write_text(BENCHMARKS)
    out = folder / "new" / "out.json"
    program = [sys.executable, "-m", "bench", "run", "--json", str(out), "--seconds", "0", str(folder / "test_sums.py")]
    return _run(program), out


def _run(program: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a command without the variables with which a measurement is refused."""
    environment = {name: value for name, value in os.environ.items() if name not in CHOOSES_KERNELS}
    return subprocess.run(program, cwd=HOME, env=environment, capture_output=True, text=True, check=False)


def test_a_run_writes_what_it_measured(measured: tuple[subprocess.CompletedProcess[str], Path]) -> None:
    done, out = measured
    assert done.returncode == 1, "a wrong result fails the run"
    assert "FAILED test_sums.py::test_wrong" in done.stderr and "must not run" not in done.stderr
    assert str(executor.status()) in done.stderr
    assert "6 benchmarks to run" in done.stderr and f"Written: {out}" in done.stdout
    run = read(out)
    sums = [r for r in run.results if r.problem == "sum"]
    assert [r.size for r in sums] == ["10", "20"] and all(len(r.blocks) == 2 for r in sums)
    assert all(0 < r.extra["cpu_share"] <= 1 for r in sums)
    assert set(run.calibration) == {
        *("copy_bytes_per_s", "gemm_float64_flops_per_s", "gemm_float32_flops_per_s", "call_seconds")
    }


def test_pytest_benchmark_reads_the_file(measured: tuple[subprocess.CompletedProcess[str], Path]) -> None:
    shown = printed("-m", "pytest_benchmark", "compare", measured[1], "--columns=median", cwd=measured[1].parent)
    assert "benchmark 'sums': 2 tests" in shown


def test_only_what_matches_runs(tmp_path: Path) -> None:
    pytest.importorskip("threadpoolctl", reason="threadpoolctl is not installed")
    (tmp_path / "test_sums.py").write_text(BENCHMARKS)
    out = tmp_path / "out.json"
    # a folder may be called 20
    chosen = ["--json", str(out), "--seconds", "0", "--passes", "1", "-k", "sum[20]"]
    program = [sys.executable, "-m", "bench", "run", *chosen]
    done = _run([*program, str(tmp_path)])
    assert done.returncode == 0, done.stderr
    assert [b["name"] for b in json.loads(out.read_text())["benchmarks"]] == ["test_sum[20]"]
