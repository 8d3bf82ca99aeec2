"""Options of a session when it is made."""

from __future__ import annotations

from typing import Any


class ConfigProto:
    """Options of a session, kept for programs that set them. Nothing here changes results or placement."""

    def __init__(self, **options: Any) -> None:
        self.gpu_options = GPUOptions()
        self.graph_options = GraphOptions()
        self.__dict__.update(options)


class GPUOptions:
    """Options for GPUs, of which there are none here; kept for programs that set them."""

    def __init__(self, **options: Any) -> None:
        self.allow_growth = False
        self.__dict__.update(options)


class OptimizerOptions:
    """Options of TensorFlow's graph optimizer and compiler; kept for programs that set them."""

    DEFAULT, OFF, ON_1, ON_2 = 0, -1, 1, 2
    L1, L0 = 0, -1

    def __init__(self, **options: Any) -> None:
        self.global_jit_level = 0
        self.opt_level = 0
        self.__dict__.update(options)


class RewriterConfig:
    """Options of TensorFlow's rewriting of graphs; kept for programs that set them."""

    DEFAULT, ON, OFF, AGGRESSIVE = 0, 1, 2, 3
    NO_MEM_OPT, MANUAL, HEURISTICS = 1, 2, 6
    DEFAULT_NUM_ITERS, ONE, TWO = 0, 1, 2

    def __init__(self, **options: Any) -> None:
        self.__dict__.update(options)


class GraphOptions:
    """Options of a session's graph; kept for programs that set them."""

    def __init__(self, **options: Any) -> None:
        self.optimizer_options = OptimizerOptions()
        self.rewrite_options = RewriterConfig()
        self.__dict__.update(options)
