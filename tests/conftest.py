"""Settings shared by all tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings

# The matrices here are small; on a busy machine, BLAS threads waiting for each other take most of the time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# whatever was calibrated on this machine, tests see the plans that all machines make
os.environ["DUALGRAD_TUNING"] = "0"
# what each pass leaves of a program is checked
os.environ.setdefault("DUALGRAD_VERIFY", "1")

import engine.numpy_api.operators  # noqa: F401  (values get their operators; NumPy reads the setting above)
from engine.numpy_api import manners
from tape_api.random import draws

# The same examples each time, and no clock: a test that fails, fails everywhere.
settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.load_profile("repeatable")


def pytest_addoption(parser: Any) -> None:
    parser.addoption("--table", action="store_true", help="print which op has which rule, and what is tested of it")


def pytest_terminal_summary(terminalreporter: Any, config: Any) -> None:
    if config.getoption("--table"):
        from tests.op_table import report

        terminalreporter.section("coverage of the op table")
        for line in report():
            terminalreporter.line(line)


@pytest.fixture(autouse=True)
def no_seed() -> None:
    """What other tests have set as a seed does not last: tests run in any order."""
    draws.reset(None)


@pytest.fixture(autouse=True)
def no_manners() -> Iterator[None]:
    """NumPy's manners, which importing `dualgrad.numpy` turns on, do not last, either."""
    yield
    manners.enable(False)


@pytest.fixture
def in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs are run by the Python functions that are generated for them."""
    from engine.executor import staged

    monkeypatch.setattr(staged, "executor", None)
