"""``python -m bench tasks``: processes are timed, and answers that differ are told."""

from pathlib import Path

import numpy as np
import pytest

from bench import tasks
from bench.tasks import programs


def test_a_row_says_who_is_faster(tmp_path: Path) -> None:
    row, differ = tasks._row("brusselator", str(tmp_path), 1, True)
    assert not differ and "SciPy" in row[2] and row[3].endswith("×")


def test_another_answer_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = {programs.OURS: 1.0, programs.SCIPY: 1.0 + 1e-4}
    monkeypatch.setattr(tasks, "_process", lambda name, library, folder, cpu: (1.0, np.array(answers[library])))
    row, differ = tasks._row("bratu", str(tmp_path), 1, False)
    assert differ and row[2:] == ("SciPy 1 s (ANOTHER ANSWER)", "–")


ANSWERS = {"neural_ode": 3.21442434e-05, "sampler": 0.41213346, "constrained": 2.49414219, "bundle": 0.00631772}


@pytest.mark.parametrize("name", ANSWERS)
def test_programs_give_their_answers(name: str) -> None:
    np.testing.assert_allclose(np.ravel(getattr(programs, name)(programs.OURS))[0], ANSWERS[name], rtol=1e-5)
