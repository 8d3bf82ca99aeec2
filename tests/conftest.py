"""Settings shared by all tests."""

import gc
import os
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# Programs that tests start would compile all modules anew where nobody wants compiled modules in the tree.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
    sys.dont_write_bytecode = False
    sys.pycache_prefix = os.environ.setdefault(
        "PYTHONPYCACHEPREFIX", str(Path(__file__).resolve().parents[1] / "build" / "bytecode")
    )

# The matrices here are small; on a busy machine, BLAS threads waiting for each other take most of the time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# what each pass leaves of a program is checked
os.environ.setdefault("DUALGRAD_VERIFY", "1")

import numpy as np  # it reads the settings above

import engine.numpy_api.operators  # noqa: F401  (values get their operators)
from engine.numpy_api import manners
from tape_api.random import draws

PEERS = ("tensorflow", "jax", "autograd", "torch", "casadi", "asdex")

# The same examples each time, and no clock: a test that fails, fails everywhere.
settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.load_profile("repeatable")


def pytest_addoption(parser: Any) -> None:
    parser.addoption("--table", action="store_true", help="print which op has which rule, and what is tested of it")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what compares with peers where none of them is there, unless it is asked for."""
    if config.option.markexpr or any(find_spec(peer) for peer in PEERS):
        return
    left_out = [item for item in items if item.get_closest_marker("peer")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("peer")]


def pytest_collection_finish() -> None:
    # what was collected stays: no collection of garbage need look at it again
    gc.collect()
    gc.freeze()


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
    """NumPy's manners, which importing `dualgrad.numpy` turns on, do not last, either; nor what NumPy is to warn of."""
    errors = np.geterr()
    yield
    manners.enable(False)
    assert np.geterr() == errors


@pytest.fixture
def in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs are run by the Python functions that are generated for them."""
    from engine.executor import staged

    monkeypatch.setattr(staged, "executor", None)
