"""The libraries we compare ourselves with, where they are installed; a benchmark of one that is not is skipped."""

from __future__ import annotations

import os
import warnings
from typing import Any

import pytest


def tensorflow() -> Any:
    """TensorFlow, or skip the test."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    return _import("tensorflow")


def autograd() -> Any:
    """HIPS autograd, or skip the test."""
    return _import("autograd")


def _import(name: str) -> Any:
    with warnings.catch_warnings():
        # what a peer warns about while it is imported is its own affair
        warnings.simplefilter("ignore")
        return pytest.importorskip(name, reason=f"{name} is not installed")
