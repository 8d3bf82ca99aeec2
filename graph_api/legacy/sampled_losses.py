"""Losses of many classes by a few sampled ones (`dualgrad.extras.sampled_losses`), of graph tensors."""

from __future__ import annotations

import graph_api
from dualgrad.extras.sampled_losses import functions
from graph_api import sampling

# looked up at each call, as whoever watches draws replaces it
globals().update(functions(graph_api, lambda *draw: sampling.drawn(*draw), "mod"))
