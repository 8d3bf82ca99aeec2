"""Of the names that published programs use, which are here: ``python -m tests.coverage_of_names [1|2]``.

The data in ``tests/usage`` say how many files use a name, not which files. So the share of files that find every name
lies between two bounds: it is least if no two missing names are used by the same file, greatest if one file lacks
all that are missing.
"""

import importlib
import os
import sys
from pathlib import Path
from typing import NamedTuple

from dualgrad.migrate.hook import API, install

USAGE = Path(__file__).parent / "usage"


class Report(NamedTuple):
    """What is missing of the names of one version."""

    files: int
    missing: dict[str, int]

    @property
    def least(self) -> float:
        """The share of files that find every name, at least."""
        return max(0.0, 1 - sum(self.missing.values()) / self.files)

    @property
    def most(self) -> float:
        """The same, at most."""
        return 1 - max(self.missing.values(), default=0) / self.files


def used(version: str) -> dict[str, int]:
    """By name: how many files use it."""
    found = {}
    for line in (USAGE / f"tensorflow{version}.txt").read_text().splitlines():
        count, _, names = line.partition(":")
        if not line.startswith("#"):
            found.update(dict.fromkeys(names.split(), int(count)))
    return found


def keywords(version: str) -> list[str]:
    """Calls with the arguments that two or more programs give by name, such as ``"argmax(axis)"``."""
    lines = (USAGE / f"keywords{version}.txt").read_text().splitlines()
    return [call for line in lines if not line.startswith("#") for call in line.split()]


def is_here(name: str) -> bool:
    """Whether ``tf.<name>`` is found, as an attribute or by importing."""
    module = importlib.import_module("tensorflow")
    for part in name.split("."):
        try:
            module = getattr(module, part)
        except AttributeError:
            try:
                module = importlib.import_module(f"{module.__name__}.{part}")
            except (ModuleNotFoundError, AttributeError):
                return False
    return True


def report(version: str) -> Report:
    """What is missing. The process must be one of its own: it takes ours for `tensorflow` from then on."""
    install(version)
    for name in [n for n in sys.modules if n.partition(".")[0] == "tensorflow"]:
        del sys.modules[name]
    usage = used(version)
    # the data do not say how many files there were: at least as many as use the most used name
    return Report(max(usage.values()), {name: count for name, count in usage.items() if not is_here(name)})


def main() -> None:
    """Print it for one version or both."""
    before = os.environ.get(API)
    for version in sys.argv[1:] or ("1", "2"):
        found = report(version)
        usage = used(version)
        print(
            f"TensorFlow {version}: {len(usage) - len(found.missing)} of {len(usage)} names are here; at least "
            f"{found.least:.1%} and at most {found.most:.1%} of {found.files} files find all. Missing, by files:"
        )
        for name, count in sorted(found.missing.items(), key=lambda item: -item[1]):
            print(f"  {count:4d} {name}")
    if before is None:
        os.environ.pop(API, None)


if __name__ == "__main__":
    main()
