"""The option of the benchmarks, and what makes ``pytest bench`` measure.

Elsewhere (``make test``) benchmarks run once, unmeasured, as tests.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent


def pytest_addoption(parser: Any) -> None:
    """``--full``: the large sizes too."""
    parser.addoption("--full", action="store_true", help="benchmarks: measure the large sizes too (up to half an hour)")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: Any) -> None:
    """Where paths in this folder alone are asked for, measure, and print one table for each problem and size."""
    config.addinivalue_line("markers", "secondary: a benchmark that a long run may leave out")
    given = config.invocation_params
    paths = [given.dir / str(a).split("::")[0] for a in config.option.file_or_dir]
    asked = [path.resolve() for path in paths if path.exists()]
    if not asked or any(path != HERE and HERE not in path.parents for path in asked):
        return
    option = config.option
    if "--benchmark-disable" not in given.args:
        option.benchmark_disable = False
    if option.benchmark_group_by == "group" and option.benchmark_sort == "min":
        option.benchmark_columns = ["min", "median", "iqr", "rounds"]
        option.benchmark_sort = "median"
