"""Losses of many classes by a few sampled ones (`dualgrad.extras.sampled_losses`), of graph tensors."""

from __future__ import annotations

import graph_api
from dualgrad.extras.sampled_losses import functions
from graph_api.sampling import drawn

globals().update(functions(graph_api, drawn, "mod"))
