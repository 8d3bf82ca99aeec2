"""Settings shared by all tests."""

from __future__ import annotations

from hypothesis import settings

import engine.operators  # noqa: F401  (values get their operators)

# The same examples each time, and no clock: a test that fails, fails everywhere.
settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.load_profile("repeatable")
