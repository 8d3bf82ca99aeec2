"""`tape_api` as a part of `dualgrad`. Made by ``python -m tests.stubs``."""

# of two things of one name the later one is meant
# mypy: disable-error-code="misc,no-redef"

from typing import TypeAlias

from tape_api import *
from tape_api import __version__ as __version__
from tape_api import _debugging
from tape_api import _initializers
from tape_api import _keras
from tape_api import _metrics
from tape_api import _random
from tape_api import _sparse
from tape_api import _train

debugging: TypeAlias = _debugging
initializers: TypeAlias = _initializers
keras: TypeAlias = _keras
metrics: TypeAlias = _metrics
random: TypeAlias = _random
sparse: TypeAlias = _sparse
train: TypeAlias = _train
