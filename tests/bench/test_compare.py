"""Two runs side by side: what counts as a change, and what does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench import compare
from bench.__main__ import main
from bench.bootstrap import ratio_interval
from bench.calibrate import FIGURES, calibrate, described, slowness
from bench.compare import FASTER, SAME, SLOWER, UNSURE
from bench.results import read
from tests.bench.made import CALIBRATION, entry, rounds, suite, write


def verdicts(tmp_path: Path, before: Any, after: Any, effect: float = 0.1, **machine: Any) -> list[str]:
    a = write(tmp_path / "a.json", [entry("test_it", before)])
    b = write(tmp_path / "b.json", [entry("test_it", after)], **machine)
    return [c.verdict for c in compare.compare(read(a), read(b), effect).changes]


# ---- the interval ----------------------------------------------------------------------------------------------------


def test_the_interval_holds_the_ratio_and_is_repeatable() -> None:
    before, after = [rounds(1.0, seed=1)], [rounds(1.5, seed=2), rounds(1.5, seed=3)]
    interval = ratio_interval(before, after)
    assert interval == ratio_interval(before, after)
    assert interval.low <= interval.ratio <= interval.high
    assert interval.low == pytest.approx(1.5, rel=0.03) and interval.high == pytest.approx(1.5, rel=0.03)


def test_equal_rounds_have_no_spread() -> None:
    assert ratio_interval([[2.0, 2.0]], [[1.0], [1.0, 1.0]]) == (0.5, 0.5, 0.5)


def test_passes_that_disagree_make_the_interval_wide() -> None:
    calm = ratio_interval([rounds(1.0, seed=1), rounds(1.0, seed=2)], [[1.0] * 20])
    torn = ratio_interval([rounds(0.8, seed=1), rounds(1.2, seed=2)], [[1.0] * 20])
    assert calm.high - calm.low < 0.05
    assert torn.low < 0.9 and torn.high > 1.1


# ---- verdicts --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("factor", "verdict"), [(1.0, SAME), (1.05, SAME), (1.3, SLOWER), (0.7, FASTER)])
def test_only_what_is_sure_and_large_is_a_change(tmp_path: Path, factor: float, verdict: str) -> None:
    assert verdicts(tmp_path, rounds(1.0, seed=1), rounds(factor, seed=2)) == [verdict]


def test_the_smallest_effect_can_be_chosen(tmp_path: Path) -> None:
    assert verdicts(tmp_path, rounds(1.0, spread=0.001), rounds(1.05, spread=0.001), effect=0.02) == [SLOWER]


def test_noise_is_no_change(tmp_path: Path) -> None:
    assert verdicts(tmp_path, rounds(1.0, spread=0.6, seed=1), rounds(1.15, spread=0.6, seed=2)) == [SAME]


def test_other_programs_that_slow_most_rounds_are_no_change(tmp_path: Path) -> None:
    assert verdicts(tmp_path, rounds(1.0), [*rounds(3.0), 1.01]) == [SAME]


def test_time_without_a_processor_is_no_change(tmp_path: Path) -> None:
    def once(median: float, share: float) -> Path:
        return made_at(tmp_path, entry("test_it", rounds(median), cpu_share=share))

    for factor, share, expected in ((1.8, 0.5, SAME), (2.5, 0.5, SLOWER), (1.8, 1.0, SLOWER)):
        pair = read(once(1.0, 1.0)), read(once(factor, share))
        assert [c.verdict for c in compare.compare(*pair).changes] == [expected]
        assert [c.verdict for c in compare.compare(*pair[::-1]).changes] == [FASTER if expected == SLOWER else SAME]


def made_at(tmp_path: Path, one: Any) -> Path:
    return write(tmp_path / "one.json", [one])


def test_two_rounds_say_nothing(tmp_path: Path) -> None:
    assert verdicts(tmp_path, [1.0, 1.0], [9.0, 9.0]) == [UNSURE]


# ---- machines --------------------------------------------------------------------------------------------------------


def slower_machine(factor: float, **different: float) -> dict[str, float]:
    """The calibration of a machine that is `factor` times as slow."""
    times = {k: different.get(k, factor) for k in CALIBRATION}
    return {k: v / times[k] if "_per_" in k else v * times[k] for k, v in CALIBRATION.items()}


def test_another_machine_is_set_right_by_calibration(tmp_path: Path) -> None:
    other = {"node": "there", "calibration": slower_machine(2.0)}
    assert verdicts(tmp_path, rounds(1.0), rounds(2.0), **other) == [SAME]
    assert verdicts(tmp_path, rounds(1.0), rounds(1.0), **other) == [FASTER]
    assert verdicts(tmp_path, rounds(1.0), rounds(3.0), **other) == [SLOWER]


def test_a_machine_slower_in_one_thing_only_widens_the_interval(tmp_path: Path) -> None:
    other = {"node": "there", "calibration": slower_machine(1.0, copy_bytes_per_s=2.0)}
    assert verdicts(tmp_path, rounds(1.0), rounds(1.8), **other) == [SAME]
    assert verdicts(tmp_path, rounds(1.0), rounds(2.5), **other) == [SLOWER]


def test_one_machine_under_load_is_less_sure_of_itself(tmp_path: Path) -> None:
    loaded = {"calibration": slower_machine(1.0, call_seconds=1.5)}
    assert verdicts(tmp_path, rounds(1.0), rounds(1.4), **loaded) == [SAME]
    assert verdicts(tmp_path, rounds(1.0), rounds(2.0), **loaded) == [SLOWER]


def test_without_calibration_it_is_said(tmp_path: Path) -> None:
    a = write(tmp_path / "a.json", suite(), calibration=None)
    b = write(tmp_path / "b.json", suite(), calibration=None, node="there")
    assert "DIFFERENT MACHINES" in compare.compare(read(a), read(b)).summary()


def test_calibration_measures_every_figure() -> None:
    figures = calibrate(seconds=0.0)
    assert set(figures) == set(FIGURES) and min(figures.values()) > 0
    assert [words for words, _ in described(figures)] == [FIGURES[name][0] for name in figures]
    assert slowness({"call_seconds": 2.0, "copy_bytes_per_s": 4.0}) == {"call_seconds": 2.0, "copy_bytes_per_s": 0.25}


# ---- the command -----------------------------------------------------------------------------------------------------


def scaled(entries: list[dict[str, Any]], mode: str, factor: float) -> list[dict[str, Any]]:
    return [
        entry(e["name"], [x * factor for x in e["stats"]["data"]], e["group"], e["params"], **e["extra_info"])
        if e["extra_info"].get("mode") == mode
        else e
        for e in entries
    ]


def test_a_run_beside_itself_is_no_change(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(write(tmp_path / "a.json", suite()))
    assert main(["compare", file, file]) == 0
    shown = capsys.readouterr().out
    assert f"{len(suite())} benchmarks in both runs: {len(suite())} no change." in shown
    assert "10%" in shown and "bootstrap" in shown


def test_a_regression_is_named_and_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = write(tmp_path / "a.json", suite())
    b = write(tmp_path / "b.json", scaled(suite(), "tape", 1.5))
    assert main(["compare", str(a), str(b)]) == 1
    shown = capsys.readouterr().out
    assert "test_jacobian[band-100-tape-auto-warm]" in shown and "1.50" in shown and "REGRESSION in 4." in shown
    assert "graph-auto" not in shown, "what did not change is listed with --all only"


def test_a_slower_peer_is_no_regression(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = write(tmp_path / "a.json", suite())
    b = write(tmp_path / "b.json", scaled(suite(), "jax", 1.5)[:-1])
    assert main(["compare", str(a), str(b), "--all"]) == 0
    shown = capsys.readouterr().out
    assert "3 of the slower ones are other libraries" in shown
    assert "Only in the first run: 1 (bench/test_made.py::test_chain[tensorflow graph])." in shown


@pytest.mark.parametrize("text", ["", "[]", '{"benchmarks": [{"name": "x"}]}', '{"benchmarks": 3}'])
def test_another_file_is_refused(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.json").write_text(text)
    assert main(["compare", str(tmp_path / "x.json"), str(tmp_path / "x.json")]) == 2
    assert "is not what pytest --benchmark-json writes" in capsys.readouterr().err


def test_a_missing_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(tmp_path / "none.json"), "-o", str(tmp_path)]) == 2
    assert "none.json: No such file" in capsys.readouterr().err


def test_files_without_rounds_are_read(tmp_path: Path) -> None:
    saved = entry("test_it", rounds(1.0))
    del saved["stats"]["data"]
    run = read(write(tmp_path / "a.json", [saved]))
    assert run.results[0].blocks == [] and np.isclose(run.results[0].median, 1.0, rtol=0.02)
