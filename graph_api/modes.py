"""Switches between TensorFlow's modes. Here both modes live side by side, so there is nothing to switch."""

from __future__ import annotations


def disable_eager_execution() -> None:
    """Do nothing: this package always builds graphs."""


def disable_v2_behavior() -> None:
    """Do nothing: this package always behaves as TensorFlow 1."""


def executing_eagerly() -> bool:
    """False: this package builds graphs."""
    return False


def enable_eager_execution(*_: object, **__: object) -> None:
    """Not here.

    Raises
    ------
    RuntimeError
        Always, naming the package to use instead.
    """
    raise RuntimeError("graph_api always builds graphs; for eager execution `import tape_api as tf` instead")
