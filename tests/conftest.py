"""Settings shared by all tests."""

from __future__ import annotations

import os

from hypothesis import settings

# The matrices here are small; on a busy machine, BLAS threads waiting for each other take most of the time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import engine.operators  # noqa: F401  (values get their operators; NumPy reads the setting above)

# The same examples each time, and no clock: a test that fails, fails everywhere.
settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.load_profile("repeatable")
