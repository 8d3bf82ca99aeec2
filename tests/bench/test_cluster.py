"""``python -m bench cluster`` at a small size."""

import pytest

from bench import cluster
from bench.__main__ import main


@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_the_table_has_measured_and_predicted_times(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "ROWS", 30)
    assert main(["cluster", "--shards", "3", "--workers", "1"]) == 0
    table, model = capsys.readouterr().out.split("\n\n")
    assert [row.split(" | ")[1] for row in table.splitlines()[2:]] == ["this process", "1"] * 2
    assert model.splitlines()[-1].startswith("home is busy for")
