"""The programs, what they print under TensorFlow, and how closely that must be met.

A program is written as people publish them, and deterministic: what is random has a seed. In loops of
functions draws wait for the turn before (`control_dependencies`): TensorFlow may run others in any order. The first
comment may say ``tolerance: 1e-3`` (relative; 1e-5 otherwise).
``needs: tf_keras`` says which package TensorFlow needs to run it.
``outputs`` keeps what real TensorFlow printed: ``python -m tests.programs.record`` renews it. A program that needs
``tf.contrib``, which TensorFlow 2 has not, has a twin in ``equivalents`` that does the same without.
"""

import math
import re
from pathlib import Path

HERE = Path(__file__).parent
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|\b(?:nan|inf)\b")


def programs() -> list[Path]:
    """All of them."""
    return sorted([*(HERE / "graphs").glob("*.py"), *(HERE / "tapes").glob("*.py")])


def output_of(program: Path) -> Path:
    """Where it is kept what TensorFlow prints."""
    return HERE / "outputs" / f"{program.stem}.txt"


def tolerance(program: Path) -> float:
    """How far a number may be off, relative to itself, or to 1 if it is small."""
    found = re.search(r"^# tolerance: (\S+)$", program.read_text(), re.MULTILINE)
    return float(found[1]) if found else 1e-5


def needs(program: Path) -> str | None:
    """The package that TensorFlow needs besides, if any."""
    found = re.search(r"^# needs: (\S+)$", program.read_text(), re.MULTILINE)
    return found[1] if found else None


def differences(got: str, expected: str, within: float) -> list[str]:
    """Lines that differ: in their words, or in a number by more than the tolerance."""
    ours, theirs = got.splitlines(), expected.splitlines()
    found = [] if len(ours) == len(theirs) else [f"{len(ours)} lines, not {len(theirs)}"]
    for a, b in zip(ours, theirs, strict=False):
        words = "".join(NUMBER.sub("#", a).split()) == "".join(NUMBER.sub("#", b).split())
        pairs = zip(map(float, NUMBER.findall(a)), map(float, NUMBER.findall(b)), strict=False)
        if not words or not all(math.isclose(x, y, rel_tol=within, abs_tol=within) or x == y for x, y in pairs):
            found.append(f"{a!r}, expected {b!r}")
    return found
