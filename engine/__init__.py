"""The automatic-differentiation core shared by `graph_api`, `tape_api` and `optim`."""

from __future__ import annotations

import warnings as _warnings

from engine.runtime.cache import cache_info, clear_caches

__version__ = "0.3.0"
"""Ours. `graph_api.VERSION` and `tape_api.__version__` name the TensorFlow that programs find here."""

# Kernels meet infinities and NaNs as a matter of course (the branch of a `where` not taken, log(0)); TensorFlow is
# silent about them, and so are calls made from the engine. The filter is limited to warnings raised in the engine's own
# modules: NumPy calls elsewhere warn as before, and np.seterr(all="raise") still raises.
_warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"(engine|dualgrad)(\.|$)")

__all__ = ["cache_info", "clear_caches"]
