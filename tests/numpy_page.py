"""``docs/numpy-and-scipy-functions.md``: which functions of NumPy's and SciPy's take tensors, from their tables.

``python -m tests.numpy_page`` writes it anew; `tests.house.test_numpy_page` says when that is due.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import scipy.special

from engine.core.op import Op
from engine.numpy_api import catalog, compound, functions, manners, protocol
from engine.numpy_api.scipy_functions import SCIPY
from engine.numpy_api.stats.table import STATS
from tests.op_table import UNTESTED_RULES

PAGE = Path(__file__).parent.parent / "docs" / "numpy-and-scipy-functions.md"
BEGIN = "<!-- from here on written by python -m tests.numpy_page -->"
_WIDTH = 120


def _listed(names: Iterable[str]) -> Iterator[str]:
    line = ""
    for name in sorted(set(names), key=str.lower):
        if len(line) + len(name) + 4 > _WIDTH:
            yield line
            line = ""
        line += f"{' ' if line else ''}`{name}`"
    yield line


def _name(function: Any) -> str:
    return protocol._name(function)


def _ufuncs() -> Iterator[tuple[str, Any]]:
    for key, ours in {**protocol._OPERATORS, **protocol._UFUNCS, **catalog.UFUNCS}.items():
        yield (key if isinstance(key, str) else _name(key)), ours


def _without(op: Any) -> list[str]:
    """The arguments in which there is no derivative."""
    if not isinstance(op, Op) or op.vjp is None:
        return []
    return [a for i, a in enumerate(op.args) if op.vjp[i] is None or (op.name, a) in UNTESTED_RULES]


def lines() -> Iterator[str]:
    """The part of the page that is written."""
    recorded = {**functions.RECORDED, **compound.COMPOUND}
    ufuncs = dict(_ufuncs())
    theirs = {n: ours for n, ours in ufuncs.items() if n.startswith("np.")}
    flat = [n for n, ours in theirs.items() if isinstance(ours, Op) and ours.vjp is None]
    flat += [f"np.{n}" for n in ("bitwise_and", "bitwise_or", "bitwise_xor", "equal", "not_equal", "floor_divide")]
    flat += [f"np.{n}" for n in ("less", "less_equal", "greater", "greater_equal")]
    of_numpy = [n for n in theirs if n not in flat]
    yield from (BEGIN, "", "## NumPy", "")
    yield f"{len({*map(_name, recorded)} | set(of_numpy))} functions are differentiable, all orders, both modes:"
    yield ""
    yield from _listed([*map(_name, recorded), *of_numpy])
    yield from ("", "These carry no derivative; eager tensors get NumPy's result, a tensor under a tape:", "")
    unlike = [*functions.UNDERIVED, *protocol._INSPECTING, *protocol._OF_SHAPES]
    yield from _listed([*map(_name, unlike), *flat])
    yield from ("", "Attributes and methods of tensors, where they are on:", "")
    yield from _listed([*manners._METHODS, *manners._ATTRIBUTES])
    special = {n.removeprefix("scipy.special."): ours for n, ours in ufuncs.items() if n.startswith("scipy.special.")}
    special = {n.removeprefix("_"): ours for n, ours in special.items()}
    special = {n: ours for n, ours in special.items() if hasattr(scipy.special, n)}
    whole = [n for n, ours in special.items() if not _without(ours)]
    also = [n.removeprefix("scipy.special.") for n in SCIPY if n.startswith("scipy.special.")]
    yield from ("", "## scipy.special", "")
    yield "In all continuous arguments (degrees and whole orders are none):"
    yield from ("", *_listed([*whole, *also]), "", "In all but the arguments named:", "")
    yield from ("| function | no derivative in |", "|---|---|")
    yield from sorted(f"| `{n}` | {', '.join(_without(ours))} |" for n, ours in special.items() if _without(ours))
    yield ""
    yield "Second derivatives in the shape parameters of incomplete gamma and beta functions and their inverses, and of"
    yield "`stdtr` in the degrees of freedom, are not implemented, and say so."
    yield from _of_distributions()
    for home in ("linalg", "fft", "integrate", "ndimage", "signal", "sparse"):
        yield from ("", f"## scipy.{home}", "")
        yield from _listed(n.removeprefix(f"scipy.{home}.") for n in SCIPY if n.startswith(f"scipy.{home}."))


def _of_distributions() -> Iterator[str]:
    """The methods of distributions, those with the same ones together."""
    methods: dict[str, list[str]] = {}
    for name in STATS:
        *_, distribution, method = name.split(".")
        methods.setdefault(distribution, []).append(method)
    together: dict[tuple[str, ...], list[str]] = {}
    for distribution, own in methods.items():
        together.setdefault(tuple(own), []).append(distribution)
    yield from ("", "## scipy.stats", "")
    yield "Methods of distributions, with location, scale and shapes, also frozen (`norm(mu, sigma).logpdf(x)`):"
    yield from ("", "| methods | distributions |", "|---|---|")
    for own, distributions in sorted(together.items(), key=lambda pair: -len(pair[1])):
        yield f"| {' '.join(f'`{m}`' for m in own)} | {' '.join(f'`{d}`' for d in sorted(distributions))} |"


def page() -> str:
    """The whole page: its beginning, which is written by hand, and what the tables say."""
    beginning = PAGE.read_text().partition(BEGIN)[0]
    return beginning + "\n".join(lines()) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
