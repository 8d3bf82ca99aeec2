"""Which release of TensorFlow has these names: ``tf.version``."""

from __future__ import annotations

VERSION = "2.21.0"
GIT_VERSION = f"v{VERSION}"
COMPILER_VERSION = "none"
GRAPH_DEF_VERSION = 2_000
GRAPH_DEF_VERSION_MIN_CONSUMER = GRAPH_DEF_VERSION_MIN_PRODUCER = 0

__all__ = [
    "COMPILER_VERSION",
    "GIT_VERSION",
    "GRAPH_DEF_VERSION",
    "GRAPH_DEF_VERSION_MIN_CONSUMER",
    "GRAPH_DEF_VERSION_MIN_PRODUCER",
    "VERSION",
]
