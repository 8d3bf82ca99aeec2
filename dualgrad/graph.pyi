"""`graph_api` as a part of `dualgrad`. Made by ``python -m tests.stubs``."""

# of two things of one name the later one is meant
# mypy: disable-error-code="misc,no-redef"

from typing import TypeAlias

from graph_api import *
from graph_api import __version__ as __version__
from graph_api import _keras
from graph_api import _layers
from graph_api import _sparse

keras: TypeAlias = _keras
layers: TypeAlias = _layers
sparse: TypeAlias = _sparse
