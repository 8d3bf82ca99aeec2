"""Facts about the machine: its memory."""

from __future__ import annotations

import functools
import math
import os
from pathlib import Path

_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
"""Where Linux says how much memory a container may take."""


@functools.cache
def memory() -> float:
    """Bytes of memory that this process can have; infinite where the system does not say."""
    try:
        limit: float = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        limit = math.inf
    for path in _LIMITS:
        try:
            limit = min(limit, int(Path(path).read_text()))
        except (OSError, ValueError):
            # there is no such file, or it says "max"
            continue
    return limit if limit > 0 else math.inf
