"""What a machine takes: facts, a table of functions, a table of problems."""

import contextlib
import re
from typing import Any

import numpy as np
import pytest

from bench import here, run
from bench.__main__ import main
from engine.runtime import elementary
from engine.runtime.elementary.functions import FUNCTIONS


def test_functions_and_problems_are_timed(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    pytest.importorskip("threadpoolctl", reason="it names the BLAS")
    for name in run.CHOOSES_KERNELS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(here, "on_threads", lambda count: contextlib.nullcontext())
    chosen = {name: FUNCTIONS[name] for name in ("exp", "arctan2", "sigmoid")}
    monkeypatch.setattr(here, "FUNCTIONS", chosen)
    monkeypatch.setattr(here, "SIX", ("burgers", "recurrent"))
    monkeypatch.setattr(here, "installed", lambda: ["numpy"])
    assert main(["here", "--seconds", "0"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"^processor: .+ cores, vectors of (16|32|64) bytes$", shown, re.MULTILINE)
    assert f"NumPy: {np.__version__}" in shown
    assert [len(re.findall(rf"^{name}( +\d+\.\d){{4}}$", shown, re.MULTILINE)) for name in chosen] == [1, 1, 1]
    # there is no derivative of a sparse problem by hand
    unit = r" +[\d.]+ (ns|µs|ms|s)"
    assert re.search(rf"^burgers 1000{unit}{unit} +–$", shown, re.MULTILINE)
    assert re.search(rf"^recurrent 16x100{unit}{unit}{unit}$", shown, re.MULTILINE)


def test_each_function_is_timed_where_it_is_defined() -> None:
    for name, function in FUNCTIONS.items():
        given = here.operands(name, np.float64)
        assert len(given) == function.operands
        assert np.isfinite(getattr(elementary, name)(*given)).all()
