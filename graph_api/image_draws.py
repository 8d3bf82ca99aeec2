"""Random changes of images (`engine.frontend.image_draws`) of graph tensors."""

from __future__ import annotations

import graph_api
from engine.frontend.image_draws import functions

globals().update(functions(graph_api))
