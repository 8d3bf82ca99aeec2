"""The libraries we compare ourselves with, where they are installed; a benchmark of one that is not is skipped."""

from __future__ import annotations

import importlib.util
import os
import sys
import warnings
from collections.abc import Callable
from types import ModuleType

import pytest


def tensorflow() -> ModuleType:
    """TensorFlow, or skip the test."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    if "tensorflow" not in sys.modules and importlib.util.find_spec("torch"):
        # imported after TensorFlow, parts of some builds of PyTorch crash
        importlib.import_module("torch._dynamo")
    found = load("tensorflow")
    found.get_logger().setLevel("ERROR")
    _started("tensorflow", lambda: found.function(lambda x: x + 1.0, jit_compile=True)(1.0))
    return found


def jax() -> ModuleType:
    """JAX, in double precision where arrays are, or skip the test."""
    found = load("jax")
    found.config.update("jax_enable_x64", True)
    _started("jax", lambda: found.jit(lambda x: x + 1.0)(1.0))
    return found


def torch() -> ModuleType:
    """PyTorch, or skip the test."""
    if "tensorflow" in sys.modules and "torch" not in sys.modules:
        pytest.skip("PyTorch must be imported before TensorFlow")
    return load("torch")


def asdex() -> ModuleType:
    """asdex, which gives JAX sparse Jacobians, or skip the test."""
    jax()
    return load("asdex")


def _started(name: str, call: Callable[[], object]) -> None:
    """Let a library start its compiler, once: no first call of ours to it shall hold that."""
    if name not in _running:
        _running.add(name)
        call()


_running: set[str] = set()


def load(name: str) -> ModuleType:
    """A library, or skip the test."""
    with warnings.catch_warnings():
        # what a peer warns about while it is imported is its own affair
        warnings.simplefilter("ignore")
        # asdex fails to import beside a JAX it does not know
        return pytest.importorskip(name, reason=f"{name} is not installed, or does not work here", exc_type=ImportError)
