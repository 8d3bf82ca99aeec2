"""Random functions give the same as Python, rewritten: recorded and in graphs, values and gradients, to the bit."""

import importlib.util
import os
from pathlib import Path
from typing import Any

import pytest

import tape_api
from tests.autograph.random_programs import Writer
from tests.autograph.test_programs import INPUTS, in_a_graph, on_a_tape, same

COUNT = int(os.environ.get("AUTOGRAPH_PROGRAMS", "12"))
FIRST = int(os.environ.get("AUTOGRAPH_FIRST", "0"))


def program(seed: int, folder: Path) -> Any:
    """A random function, from a file of its own."""
    file = folder / f"random_{seed}.py"
    file.write_text(Writer(seed).source("program"))
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.program


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_random_programs(seed: int, tmp_path: Path) -> None:
    f = program(seed, tmp_path)
    recorded = tape_api.function(lambda x, s, n: f(tape_api, x, s, n))
    graph = in_a_graph(f)
    for given in INPUTS:
        expected = on_a_tape(lambda x, s, n: f(tape_api, x, s, n), given)
        for name, got in (("function", on_a_tape(recorded, given)), ("graph", graph(given))):
            assert all(same(a, b) for a, b in zip(expected, got, strict=True)), (name, given, expected, got)
    assert "as Python" not in recorded.explain(), recorded.explain()
