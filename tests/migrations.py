"""Whole migrations, for docs/migrations-in-full.md: each program is recorded, converted, compared, and changed by hand.

``make migrations`` writes the page anew. The programs in docs/migrations are our own, in the style of published ones,
which their first lines name. What a person changes by hand is in `BY_HAND`, and is compared again.
"""

from __future__ import annotations

import contextlib
import difflib
import io
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.migrate.in_process import dualgrad

HOME = Path(__file__).resolve().parents[1]
PAGE = HOME / "docs" / "migrations-in-full.md"
PROGRAMS = sorted((HOME / "docs" / "migrations").glob("*.py"))
BEGIN = "<!-- what follows is written by `make migrations` -->\n"
TITLES = {
    "char_rnn": "A recurrent network for characters",
    "deep_q": "Deep Q-learning",
    "gan": "A generative adversarial network",
    "logistic_regression": "Logistic regression",
    "matrix_factorization": "Collaborative filtering",
    "pinn_lbfgs": "A physics-informed network with L-BFGS",
    "style_transfer": "Style transfer",
    "text_cnn": "A convolutional network for sentences",
    "vae": "A variational autoencoder",
    "word2vec": "Word vectors",
}
BY_HAND = {
    "deep_q": [("terminal) * 0.9 * max_q", "terminal) * discount * max_q")],
    "pinn_lbfgs": [("net_u(tf_2, tf_3)", "net_u(x, t)"), ("tf.concat([tf_2, tf_3], -1)", "tf.concat([x, t], -1)")],
}
"""By program: texts of the converted one, and what a person writes there. One that is not there is not needed."""


def source(program: Path) -> tuple[str, str, str]:
    """The repository, path and commit in whose style a program is."""
    found = re.match(r'# source: (\S+) (?:"([^"]+)"|(\S+)) ([0-9a-f]{40})\n', program.read_text())
    assert found is not None, f"{program}: the first line says no source"
    return found[1], found[2] or found[3], found[4]


def section(program: Path) -> str:
    """What the page says of a program."""
    name = program.stem
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        (here / program.name).write_text(program.read_text())
        _said(here, "record", "-o", "record", program.name)
        _said(here, "convert", "-o", f"{name}_tape.py", program.name)
        converted = (here / f"{name}_tape.py").read_text()
        report = _verdict(_said(here, "compare", "record", f"{name}_tape.py"))
        changed = _changed(name, converted)
        again = ""
        if changed != converted:
            (here / f"{name}_tape.py").write_text(changed)
            again = _verdict(_said(here, "compare", "record", f"{name}_tape.py"))
    return "\n".join(_lines(program, converted, report, changed, again))


def _said(folder: Path, *arguments: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        code = dualgrad(folder, *arguments)
    assert code == 0, (arguments, out.getvalue())
    return out.getvalue()


def _verdict(report: str) -> str:
    """The beginning of a report: what holds on each machine."""
    return report.partition("\n\nname ")[0]


def _changed(name: str, text: str) -> str:
    for old, new in BY_HAND.get(name, ()):
        text = text.replace(old, new)
    return text


def _length(text: str) -> int:
    return sum(bool(line.strip()) for line in text.splitlines())


def _lines(program: Path, converted: str, report: str, changed: str, again: str) -> Iterator[str]:
    repository, path, commit = source(program)
    address = f"https://github.com/{repository}/blob/{commit}/{path.replace(' ', '%20')}"
    before, after = _length(program.read_text()), _length(converted)
    yield f"## {TITLES[program.stem]}"
    yield ""
    yield f"[`{program.name}`](migrations/{program.name}), in the style of `{path}` of [{repository}]({address}),"
    yield f"commit `{commit[:12]}`. Its {before} lines become {after}:"
    yield ""
    yield from ("```py", converted.rstrip(), "```", "")
    yield "`compare` says"
    yield ""
    yield from ("```text", *[line for line in report.splitlines()[1:] if line], "```", "")
    if changed == converted:
        yield "By hand: nothing."
    else:
        difference = difflib.unified_diff(converted.splitlines(), changed.splitlines(), lineterm="", n=0)
        yield "By hand:"
        yield ""
        yield from ("```diff", *[line for line in difference if not line.startswith(("---", "+++", "@@"))], "```", "")
        yield "`compare` says then"
        yield ""
        yield from ("```text", again.splitlines()[1], "```")
    yield ""


def sections() -> dict[str, str]:
    """By title, what the page says now."""
    _, _, rest = PAGE.read_text().partition(BEGIN)
    parts = re.split(r"(?m)^(?=## )", rest)
    return {part.partition("\n")[0].removeprefix("## "): part.rstrip() for part in parts if part.strip()}


def main() -> None:
    """Write the page anew, below its first paragraphs, which are written by hand."""
    head = PAGE.read_text().partition(BEGIN)[0]
    PAGE.write_text(head + BEGIN + "\n" + "\n".join(section(program) for program in PROGRAMS).rstrip() + "\n")


if __name__ == "__main__":
    main()
