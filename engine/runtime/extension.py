"""The extensions in C, where they are there, wanted, and built from the sources that lie beside them.

``DUALGRAD_NATIVE=0`` does without, with the same results; ``DUALGRAD_NATIVE=require`` makes it an error that one is
missing or stale.

An extension and the modules in Python that call it are one program. In a checkout they can come apart: new sources
arrive, and the extension is still that of the old ones. So `setup.py` compiles in what the sources were
(`fingerprint`), and an extension that was built from others is refused.
"""

from __future__ import annotations

import importlib
import os
import warnings
from collections.abc import Sequence
from importlib.util import source_hash
from types import ModuleType

_VARIABLE = "DUALGRAD_NATIVE"
_REBUILD = "python setup.py build_ext --inplace"
_WITHOUT = (
    "dualgrad runs without its extensions in C: results are the same, small operations take longer. Install a C "
    f"compiler and install again; {_VARIABLE}=0 says that this is meant"
)
_HOME = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

unused: dict[str, str] = {}
"""Why each extension that was asked for and is not used is not."""


def fingerprint(files: Sequence[str], home: str = _HOME) -> str:
    """A word for what an extension is built from: its sources and headers, and a digest of each.

    Parameters
    ----------
    files : sequence of str
        Paths below `home`, with slashes.
    home : str
        The folder of the checkout.

    Raises
    ------
    OSError
        If a file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as home:
    ...     with open(f"{home}/a.h", "w") as file:
    ...         _ = file.write("")
    ...     fingerprint(["a.h"], home).partition("=")[0]
    'a.h'
    """
    parts = []
    for name in files:
        with open(os.path.join(home, name), "rb") as file:
            parts.append(f"{name}={source_hash(file.read()).hex()}")
    return ",".join(parts)


def _stale(found: ModuleType, home: str = _HOME) -> bool:
    """Whether the sources lie here, and are not those that the extension was built from."""
    built_from = getattr(found, "BUILT_FROM", None)
    if built_from is None:
        # older than this question
        return True
    names = [part.partition("=")[0] for part in built_from.split(",")]
    if not any(os.path.exists(os.path.join(home, name)) for name in names if not name.endswith(".py")):
        # installed from a wheel, which has no sources in C
        return False
    try:
        return fingerprint(names, home) != built_from
    except OSError:
        return True


def extension(name: str) -> tuple[ModuleType | None, str]:
    """An extension, None if programs do without it; and why.

    Raises
    ------
    ImportError
        If it is required, and missing or stale.
    ValueError
        If the environment variable says something else than 0, 1 or require.
    """
    module, reason = _found(name)
    if module is None:
        unused[name] = reason
    return module, reason


def _found(name: str) -> tuple[ModuleType | None, str]:
    wanted = os.environ.get(_VARIABLE, "1")
    if wanted not in ("0", "1", "require"):
        raise ValueError(f"the environment variable {_VARIABLE} must be 0, 1 or require, got {wanted!r}")
    if wanted == "0":
        return None, f"{_VARIABLE}=0"
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        if wanted == "require":
            raise ImportError(
                f"{_VARIABLE}=require, but the extension {name} cannot be imported ({error}); install a C compiler and "
                f"install again, or set {_VARIABLE}=1 to do without"
            ) from error
        if not unused:
            # once, not for each of them
            warnings.warn(_WITHOUT, stacklevel=3)
        return None, f"the extension cannot be imported: {error}"
    if not _stale(module):
        return module, "the extension is there"
    reason = f"the extension was built from other C sources than those that lie here; build it again: {_REBUILD}"
    if wanted == "require":
        raise ImportError(f"{_VARIABLE}=require, but {name} is stale: {reason}")
    warnings.warn(f"{name} is not used: {reason}", stacklevel=3)
    return None, reason
