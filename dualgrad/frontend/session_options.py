"""Options of a session when it is made."""

from __future__ import annotations

from typing import Any


class ConfigProto:
    """Options of a session, kept for programs that set them. Nothing here changes results or placement."""

    def __init__(self, **options: Any) -> None:
        self.gpu_options = GPUOptions()
        self.__dict__.update(options)


class GPUOptions:
    """Options for GPUs, of which there are none here; kept for programs that set them."""

    def __init__(self, **options: Any) -> None:
        self.allow_growth = False
        self.__dict__.update(options)
