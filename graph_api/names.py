"""TensorFlow 1's names: those of the engine (`dualgrad.frontend.version1`), and clipping."""

from __future__ import annotations

from dualgrad.frontend import version1
from optim.names import CLIPPING_VERSION1

TABLE = version1.table(*CLIPPING_VERSION1)
