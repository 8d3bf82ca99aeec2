"""Which packages are ours, and where their files are: so that messages can name the user's line."""

from __future__ import annotations

import os

PACKAGES = ("engine", "dualgrad", "optim", "tape_api", "graph_api")
HOME = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
FOLDERS = tuple(os.path.join(HOME, name) + os.sep for name in PACKAGES)
"""The beginnings of the paths of all our modules."""
