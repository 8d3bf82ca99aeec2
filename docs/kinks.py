"""The table of kinks in `howto/from-jax.md`: every function is differentiated by every library that is installed.

``python docs/kinks.py`` writes their columns, and leaves those of the others as they are. Ours is computed always.
"""

from __future__ import annotations

import importlib
import re
import sys
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

HOME = Path(__file__).resolve().parents[1]
PAGE = HOME / "docs" / "howto" / "from-jax.md"
LIBRARIES = {"jax": "JAX", "autograd": "autograd", "casadi": "CasADi", "torch": "PyTorch", "dualgrad": "here"}
TIES, ZEROS, ONES = [3.0, 1.0, 3.0, 3.0], [0.0, 0.0], [1.0, 1.0]
EQUAL = np.diag([1.0, 1.0, 3.0])
OTHER = np.array([[0.5, 0.2, -0.3], [0.2, -0.4, 0.7], [-0.3, 0.7, 0.1]])


def projection(vectors: Any, n: Any) -> Any:
    return n.sum(n.matmul(n.array(OTHER), vectors[:, :2]) * vectors[:, :2])


# what a projection on the space of the first two vectors changes by: V Vᵀ S (1 - V Vᵀ) / (difference), twice
MIXED = np.outer(OTHER[:, 2] * [1, 1, 0], [0, 0, 1.0]) / (1.0 - 3.0)
PROJECTED = MIXED + MIXED.T

KINKS: dict[tuple[str, str], tuple[Callable[..., Any], tuple[Any, ...], np.ndarray | None]] = {
    ("`abs(x)`", "0"): (lambda n, x: n.abs(x), (0.0,), None),
    ("`maximum(x, y)`, to x and y", "a tie"): (lambda n, x, y: n.maximum(x, y), (1.0, 1.0), None),
    ("`minimum(x, y)`, to x and y", "a tie"): (lambda n, x, y: n.minimum(x, y), (1.0, 1.0), None),
    ("`fmax(x, y)`, to x and y", "a tie"): (lambda n, x, y: n.fmax(x, y), (1.0, 1.0), None),
    ("`max(x)` of an array", "3 ties of 4"): (lambda n, x: n.max(x), (TIES,), None),
    ("`clip(x, 0, 1)`", "0; 1"): (lambda n, x: n.sum(n.clip(x, 0.0, 1.0)), ([0.0, 1.0],), None),
    ("`relu(x)`", "0"): (lambda n, x: n.relu(x), (0.0,), None),
    ("`relu6(x)`", "0; 6"): (lambda n, x: n.sum(n.relu6(x)), ([0.0, 6.0],), None),
    ("`leaky_relu(x, 0.2)`", "0"): (lambda n, x: n.leaky_relu(x, 0.2), (0.0,), None),
    ("`norm(x)`", "0"): (lambda n, x: n.linalg.norm(x), (ZEROS,), None),
    ("`std(x)`", "equal values"): (lambda n, x: n.std(x), (ONES,), None),
    ("`hypot(x, y)`", "0, 0"): (lambda n, x, y: n.hypot(x, y), (0.0, 0.0), None),
    ("`sqrt(x @ x)`", "0"): (lambda n, x: n.sqrt(n.dot(x, x)), (ZEROS,), None),
    ("`where(x > 0, sqrt(x), 0)`", "0"): (lambda n, x: n.where(x > 0, n.sqrt(x), 0.0 * x), (0.0,), None),
    ("`x ** 0.0`", "0"): (lambda n, x: x**0.0, (0.0,), None),
    ("`x ** y`, to y", "-2, 2"): (lambda n, y: n.power(n.array(-2.0), y), (2.0,), None),
    ("`arctan2(x, y)`", "0, 0"): (lambda n, x, y: n.arctan2(x, y), (0.0, 0.0), None),
    ("`sinc(x)`", "0"): (lambda n, x: n.sinc(x), (0.0,), None),
    ("`prod(x)`", "a zero"): (lambda n, x: n.prod(x), ([0.0, 2.0, 3.0],), None),
    ("`det(a)`", "rank 1"): (lambda n, a: n.linalg.det(a), ([[1.0, 2.0], [2.0, 4.0]],), np.array([[4, -2], [-2, 1.0]])),
    ("vectors of `eigh`", "equal values"): (lambda n, a: n.sum(n.linalg.eigh(a)[1][:, 0]), (EQUAL,), None),
    ("vectors of `svd`", "equal values"): (
        lambda n, a: n.sum(n.linalg.svd(a, full_matrices=False)[0][:, 1]),
        (EQUAL,),
        None,
    ),
    ("projections made of those of `eigh`", "equal values"): (
        lambda n, a: projection(n.linalg.eigh((a + a.T) / 2.0)[1], n),
        (EQUAL,),
        PROJECTED,
    ),
    ("sums of `exp` of `eigh`'s values", "equal values"): (
        lambda n, a: n.sum(n.exp(n.linalg.eigh(a)[0])),
        (EQUAL,),
        np.diag(np.exp([1.0, 1.0, 3.0])),
    ),
    ("twice: `norm(x) ** 2`", "0"): (lambda n, x: n.linalg.norm(x) ** 2, (ZEROS,), None),
}
"""What is differentiated and where, as the page says it: function, point, and the truth if it is no convention."""


# ---- the libraries: their functions under NumPy's names, and a derivative ------------------------------------------


def with_jax() -> tuple[Any, Callable[..., Any]]:
    jax = importlib.import_module("jax")
    names = {"relu": jax.nn.relu, "relu6": jax.nn.relu6, "leaky_relu": jax.nn.leaky_relu, "dot": jax.numpy.dot}
    numpy = {name: getattr(jax.numpy, name) for name in dir(jax.numpy)}

    def derivative(f: Any, at: Any, twice: bool) -> Any:
        with jax.enable_x64(True):
            at = [jax.numpy.array(x) for x in at]
            return jax.hessian(f)(*at) if twice else jax.grad(f, range(len(at)))(*at)

    return SimpleNamespace(**numpy | names), derivative


def with_autograd() -> tuple[Any, Callable[..., Any]]:
    autograd = importlib.import_module("autograd")
    numpy = importlib.import_module("autograd.numpy")

    def derivative(f: Any, at: Any, twice: bool) -> Any:
        at = [np.array(x) for x in at]
        return autograd.hessian(f)(*at) if twice else [autograd.grad(f, i)(*at) for i in range(len(at))]

    return numpy, derivative


def with_casadi() -> tuple[Any, Callable[..., Any]]:
    ca = importlib.import_module("casadi")
    names = SimpleNamespace(
        abs=ca.fabs,
        maximum=ca.fmax,
        minimum=ca.fmin,
        fmax=ca.fmax,
        max=ca.mmax,
        clip=lambda x, low, high: ca.fmin(ca.fmax(x, low), high),
        sum=lambda x: ca.sum1(ca.sum2(x)),
        where=lambda c, a, b: ca.if_else(c, a, b),
        linalg=SimpleNamespace(norm=ca.norm_2, det=ca.det),
        array=ca.MX,
        arctan2=ca.atan2,
        **{name: getattr(ca, name) for name in ("hypot", "sqrt", "exp", "dot", "power")},
    )

    def derivative(f: Any, at: Any, twice: bool) -> Any:
        xs = [ca.MX.sym("x", *np.shape(x)) for x in at]
        y = f(*xs)
        made = [ca.hessian(y, xs[0])[0]] if twice else [ca.gradient(y, x) for x in xs]
        return [np.array(m).reshape(-1) for m in ca.Function("d", xs, made).call([ca.DM(x) for x in at])]

    return names, derivative


def with_torch() -> tuple[Any, Callable[..., Any]]:
    torch = importlib.import_module("torch")
    nn = torch.nn.functional
    numpy = {name: getattr(torch, name) for name in dir(torch)}
    names = {"relu6": nn.relu6, "leaky_relu": nn.leaky_relu, "std": lambda x: torch.std(x, correction=0)}
    names |= {"max": torch.amax, "power": torch.pow, "array": lambda x: torch.tensor(x, dtype=torch.float64)}
    names["linalg"] = torch.linalg

    def derivative(f: Any, at: Any, twice: bool) -> Any:
        at = [torch.tensor(x, dtype=torch.float64) for x in at]
        return torch.func.hessian(f)(*at) if twice else torch.func.grad(f, tuple(range(len(at))))(*at)

    return SimpleNamespace(**numpy | names), derivative


def with_dualgrad() -> tuple[Any, Callable[..., Any]]:
    tf = importlib.import_module("tape_api")
    transforms = tf.transforms
    numpy = {name: getattr(np, name) for name in dir(np)}
    names = {"relu": tf.nn.relu, "relu6": tf.nn.relu6, "leaky_relu": tf.nn.leaky_relu}

    def derivative(f: Any, at: Any, twice: bool) -> Any:
        at = [np.array(x) for x in at]
        return transforms.hessian(f)(*at) if twice else [transforms.grad(f, i)(*at) for i in range(len(at))]

    return SimpleNamespace(**numpy | names), derivative


# ---- the table -----------------------------------------------------------------------------------------------------


def written(values: np.ndarray, truth: np.ndarray | None) -> str:
    """The numbers as a reader wants them: one for all that are alike."""
    if np.isnan(values).any():
        return "NaN"
    if truth is not None:
        return "right" if np.allclose(values, truth.ravel(), atol=1e-9) else "wrong"
    numbers = [{0.5: "½"}.get(v, "⅓" if abs(v - 1 / 3) < 1e-12 else f"{v + 0.0:.4g}") for v in values.tolist()]
    return ", ".join(numbers)


def column(library: str) -> dict[tuple[str, str], str]:
    """What a library gives for each kink; where it has no such function, nothing."""
    names, derivative = globals()[f"with_{library}"]()
    found = {}
    for key, (f, at, truth) in KINKS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                got = derivative(lambda *xs, f=f: f(names, *xs), at, key[0].startswith("twice"))
            except (AttributeError, NotImplementedError) as missing:
                found[key] = ""
                print(f"{library}, {key[0]}: {missing}", file=sys.stderr)
                continue
            except (np.linalg.LinAlgError, RuntimeError):
                found[key] = "error"
                continue
        found[key] = written(np.concatenate([np.ravel(np.asarray(x, np.float64)) for x in got]), truth)
    return found


def installed(library: str) -> str:
    """Its version, or nothing."""
    try:
        return "here" if library == "dualgrad" else f"{LIBRARIES[library]} {version(library).partition('+')[0]}"
    except ImportError:
        return ""


def kept() -> dict[str, dict[tuple[str, str], str]]:
    """The columns that the page has, by their heads."""
    table = PAGE.read_text(encoding="utf-8").partition("<!-- kinks -->\n")[2].partition("\n\n")[0]
    head, _, *rows = [[cell.strip(" *") for cell in line.strip("|").split("|")] for line in table.splitlines()]
    return {name: {(r[0], r[1]): r[i + 2] for r in rows} for i, name in enumerate(head[2:])}


def main() -> None:
    columns, before = {}, kept()
    for library, name in LIBRARIES.items():
        found = installed(library)
        head = found or next((h for h in before if h.partition(" ")[0] == name), name)
        columns[head] = column(library) if found else before.get(head, {})
    ours = columns["here"]
    lines = [f"| d/dx of | at | {' | '.join(columns)} |", "|---" * (2 + len(columns)) + "|"]
    for key in KINKS:
        said = [values.get(key, "") for values in columns.values()]
        lines.append(f"| {' | '.join([*key, *(f'**{s}**' if s not in ('', ours[key]) else s for s in said)])} |")
    above, mark, below = PAGE.read_text(encoding="utf-8").partition("<!-- kinks -->\n")
    rest = re.sub(r"\A(?:\|.*\n)*", "", below)
    PAGE.write_text(above + mark + "\n".join(lines) + "\n" + rest, encoding="utf-8")


if __name__ == "__main__":
    sys.path.insert(0, str(HOME))
    main()
