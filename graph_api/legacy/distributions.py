"""``tf.distributions`` (`dualgrad.extras.distributions`), of graph tensors."""

from __future__ import annotations

import graph_api
from dualgrad.extras.distributions import functions

_made = functions(graph_api)
globals().update(_made)
__all__ = sorted(_made)  # noqa: PLE0605
