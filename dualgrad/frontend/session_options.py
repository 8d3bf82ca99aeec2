"""Options of a session when it is made."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any


class ConfigProto(SimpleNamespace):
    """Options of a session, kept for programs that set them. Nothing here changes results or placement."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"gpu_options": GPUOptions(), "graph_options": GraphOptions()} | options)


class GPUOptions(SimpleNamespace):
    """Options for GPUs, of which there are none here; kept for programs that set them."""

    allow_growth = False


class OptimizerOptions(SimpleNamespace):
    """Options of TensorFlow's graph optimizer and compiler; kept for programs that set them."""

    DEFAULT, OFF, ON_1, ON_2 = 0, -1, 1, 2
    L1, L0 = 0, -1
    global_jit_level = opt_level = 0


class RewriterConfig(SimpleNamespace):
    """Options of TensorFlow's rewriting of graphs; kept for programs that set them."""

    DEFAULT, ON, OFF, AGGRESSIVE = 0, 1, 2, 3
    NO_MEM_OPT, MANUAL, HEURISTICS = 1, 2, 6
    DEFAULT_NUM_ITERS, ONE, TWO = 0, 1, 2


class GraphOptions(SimpleNamespace):
    """Options of a session's graph; kept for programs that set them."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"optimizer_options": OptimizerOptions(), "rewrite_options": RewriterConfig()} | options)
