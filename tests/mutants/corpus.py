"""The programs into whose conversions mistakes are put."""

import ast
from pathlib import Path

from tests.mutants.small_programs import small_programs

HOME = Path(__file__).resolve().parents[2]


def programs(seed: int = 0) -> list[tuple[str, Path | str]]:
    """Names and files or texts: TensorFlow 1 programs of the tests and the documents, and small ones made here."""
    files = [*sorted((HOME / "tests/programs/graphs").glob("*.py")), *sorted((HOME / "docs/migrations").glob("*.py"))]
    found: list[tuple[str, Path | str]] = [(f"{p.parent.name}-{p.stem}", p) for p in files]
    return [*small_programs(seed), *found, *written_in_tests()]


def written_in_tests() -> list[tuple[str, Path | str]]:
    """The programs that stand as texts in the tests of the command."""
    found: dict[str, str] = {}
    for file in sorted((HOME / "tests/migrate").glob("test_*.py")):
        tree = ast.parse(file.read_text())
        texts = [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
        for i, text in enumerate(t for t in texts if "tensorflow" in t and "Session" in t and "\n" in t):
            try:
                ast.parse(text)
            except SyntaxError:
                continue
            found.setdefault(text, f"{file.stem}-{i}")
    return [(name, text) for text, name in found.items()]
