"""TensorFlow 1's names: those of the engine (`engine.frontend.version1`), and clipping."""

from __future__ import annotations

from engine.frontend import version1
from optim.names import CLIPPING_VERSION1

TABLE = version1.table(*CLIPPING_VERSION1)
