"""Two runs side by side: what counts as a change, and what does not."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench import compare
from bench.__main__ import main
from bench.bootstrap import ratio_interval
from bench.calibrate import FIGURES, better, calibrate, described, slowness
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


def busy(scale: float, rng: np.random.Generator, passes: int = 2, count: int = 150) -> list[list[float]]:
    """Rounds on a busy machine: processes differ, a pass may be slow as a whole, rounds are interrupted."""
    process = scale * np.exp(rng.normal(0, 0.02))
    found = []
    for _ in range(passes):
        slow = np.where(rng.random(count) < rng.random(), rng.uniform(1.1, 2.5), 1.0)
        jitter = 1 + rng.gamma(1.0, 0.02, count)
        interrupted = (rng.random(count) < 0.3) * rng.exponential(3 * scale, count)
        found.append(list(process * slow * jitter + interrupted))
    return found


def test_on_a_busy_machine_the_same_is_no_change_and_slower_is_seen() -> None:
    rng = np.random.default_rng(0)
    pairs = [(busy(1.0, rng), busy(1.0, rng)) for _ in range(60)]
    lows = np.array([ratio_interval(a, b).low for a, b in pairs])
    assert np.mean(lows > 1 + compare.EFFECT) <= 0.02
    assert np.mean(1.3 * lows > 1 + compare.EFFECT) >= 0.8
    medians = np.array([np.median(np.concatenate(b)) / np.median(np.concatenate(a)) for a, b in pairs])
    assert np.mean(medians > 1 + compare.EFFECT) > 0.2, "medians would give false alarms"


def test_one_disturbed_pass_of_three_hides_nothing() -> None:
    calm, torn = [rounds(1.0, seed=i) for i in range(3)], [rounds(1.3), rounds(1.3, seed=1), rounds(4.0, seed=2)]
    assert ratio_interval(calm, torn).low > 1.2
    assert ratio_interval(calm[:2], torn[1:]).low < 1, "with two passes it cannot be known which is right"


def test_time_without_a_processor_is_no_change(tmp_path: Path) -> None:
    def once(median: float, share: float) -> Path:
        return made_at(tmp_path, entry("test_it", rounds(median), cpu_share=share))

    for factor, share, expected in ((1.8, 0.5, SAME), (2.5, 0.5, SLOWER), (1.8, 1.0, SLOWER)):
        pair = read(once(1.0, 1.0)), read(once(factor, share))
        assert [c.verdict for c in compare.compare(*pair).changes] == [expected]
        assert [c.verdict for c in compare.compare(*pair[::-1]).changes] == [FASTER if expected == SLOWER else SAME]
    few = read(made_at(tmp_path, entry("test_it", rounds(1.0, 5)))), read(once(9.0, 1.0))
    assert [c.verdict for c in compare.compare(*few).changes] == [SLOWER]
    few = read(made_at(tmp_path, entry("test_it", rounds(1.0, 5), cpu_share=0.2))), few[1]
    assert [c.verdict for c in compare.compare(*few).changes] == [UNSURE], "all five may have been disturbed"
    short = read(once(1e-3, 1.0)), read(once(1.8e-3, 0.5))
    assert [c.verdict for c in compare.compare(*short).changes] == [SLOWER], "some short rounds had one all the time"


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
    loaded = {"calibration": slower_machine(1.5)}
    assert verdicts(tmp_path, rounds(1.0), rounds(1.4), **loaded) == [SAME]
    assert verdicts(tmp_path, rounds(1.0), rounds(2.0), **loaded) == [SLOWER]
    partly = {"calibration": slower_machine(1.0, copy_bytes_per_s=1.4)}
    assert verdicts(tmp_path, rounds(1.0), rounds(1.4), **partly) == [SLOWER], "one figure of four"


def test_the_better_look_at_the_machine_counts() -> None:
    before, after = {"call_seconds": 2.0, "copy_bytes_per_s": 4.0}, {"call_seconds": 1.0, "copy_bytes_per_s": 3.0}
    assert better(before, after) == {"call_seconds": 1.0, "copy_bytes_per_s": 4.0}
    assert better({}, after) == after == better(after, {})


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
    assert "15%" in shown and "bootstrap" in shown


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


def test_files_without_rounds_are_compared_by_their_quartiles(tmp_path: Path) -> None:
    def saved(median: float, spread: float = 0.02, count: int = 20) -> Any:
        found = entry("test_it", rounds(median, count, spread))
        del found["stats"]["data"]
        return read(write(tmp_path / "a.json", [found]))

    assert saved(1.0).results[0].blocks == [] and np.isclose(saved(1.0).results[0].median, 1.0, rtol=0.02)
    assert [c.verdict for c in compare.compare(saved(1.0), saved(1.3)).changes] == [SLOWER]
    assert [c.verdict for c in compare.compare(saved(1.0), saved(1.3, spread=0.4)).changes] == [SAME]
    assert [c.verdict for c in compare.compare(saved(1.0), saved(1.3, count=2)).changes] == [UNSURE]
