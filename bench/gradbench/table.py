"""The table of `python -m bench gradbench --table`: our modes beside C++ by hand, on GradBench's inputs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

from bench.gradbench.differentiate import Mode
from bench.gradbench.evals import EVALS
from bench.gradbench.manual import MANUAL, library
from bench.measure import interleaved
from bench.text import as_markdown, duration

Input = dict[str, Any]
MODES: tuple[Mode, ...] = ("graph", "function")
HEAD = ("eval", "size", "graph", "function", "C++ by hand", "graph / C++", "first call, graph")
DERIVATIVE = {"gmm": "jacobian", "ba": "jacobian", "ht": "jacobian", "lstm": "jacobian", "kmeans": "dir"}
"""The function that takes the derivative; ``gradient`` elsewhere."""


def _rows(rng: np.random.Generator, *shape: int) -> list[Any]:
    return rng.normal(size=shape).tolist()


def hand(rng: np.random.Generator, vertices: int, points: int, places: bool) -> Input:
    """A skeleton of 22 bones, each hanging on one before it, of which three move each vertex.

    `places` puts points in triangles; else they are vertices.
    """
    bones, triangles = 22, 2 * vertices
    frames = np.eye(4) + 0.1 * rng.normal(size=(2, bones, 4, 4))
    frames[:, :, 3] = 0.0, 0.0, 0.0, 1.0
    weights = np.zeros((vertices, bones))
    np.put_along_axis(weights, rng.integers(0, bones, (vertices, 3)), rng.uniform(0.2, 1.0, (vertices, 3)), 1)
    model = {
        "bone_count": bones,
        "bone_names": [f"bone{i}" for i in range(bones)],
        "parents": [-1, *[int(rng.integers(0, i)) for i in range(1, bones)]],
        "base_relatives": frames[0].tolist(),
        "inverse_base_absolutes": frames[1].tolist(),
        "base_positions": np.c_[rng.normal(size=(vertices, 3)), np.ones(vertices)].tolist(),
        "weights": (weights / weights.sum(1, keepdims=True)).tolist(),
        "triangles": rng.integers(0, vertices, (triangles, 3)).tolist(),
        "is_mirrored": True,
    }
    corresponding = rng.integers(0, triangles if places else vertices, points)
    data = {"model": model, "correspondences": corresponding.tolist(), "points": _rows(rng, points, 3)}
    us = rng.uniform(0.2, 0.8, (points, 2)).tolist() if places else []
    return {"theta": rng.uniform(0.2, 1.0, 26).tolist(), "us": us, "data": data}


def inputs() -> Iterator[tuple[str, str, Input]]:
    """Evals, sizes and inputs as the suite draws them; a hand, which it reads from a file, is drawn."""
    rng = np.random.default_rng(31337)
    for d, k in ((2, 5), (10, 25), (32, 10), (64, 25)):
        parts = {"mu": rng.uniform(size=(k, d)).tolist(), "q": _rows(rng, k, d), "l": _rows(rng, k, d * (d - 1) // 2)}
        sizes = {"d": d, "k": k, "n": 1000, "m": 0, "gamma": 1.0}
        yield "gmm", f"{d} {k} 1000", {**sizes, "alpha": _rows(rng, k), **parts, "x": _rows(rng, 1000, d)}
    for layers, length in ((2, 1024), (4, 1024)):
        shapes = {"main_params": (2 * layers, 56), "extra_params": (3, 14), "state": (2 * layers, 14)}
        drawn = {name: _rows(rng, *shape) for name, shape in shapes.items()}
        yield "lstm", f"{layers} {length}", {**drawn, "sequence": rng.uniform(size=(length, 14)).tolist()}
    for n in (2500, 40_000, 1_280_000):
        yield "lse", f"{n:,}", {"x": _rows(rng, n)}
    for n in (256, 16_384):
        yield "llsq", f"{n:,} 128", {"x": _rows(rng, 128), "n": n}
    for k, n, d in ((10, 1000, 8), (100, 10_000, 8)):
        points = rng.uniform(size=(n, d))
        yield "kmeans", f"{k} {n:,} {d}", {"points": points.tolist(), "centroids": points[-k:].tolist()}
    for n in (1000, 100_000):
        yield "ode", f"{n:,} 10", {"x": rng.uniform(size=n).tolist(), "s": 10}
    for n, m, p in ((49, 7776, 31_843), (257, 65_132, 225_911)):
        camera = [0.02, -0.12, 0.2, -0.1, 0.3, -0.9, 400.0, 0.1, -0.2, -1e-7, 1e-13]
        yield (
            "ba",
            f"{p:,}",
            {"n": n, "m": m, "p": p, "cam": camera, "x": [-0.6, 0.5, -1.9], "w": 1.0, "feat": [3.0, 4.0]},
        )
    for places in (False, True):
        yield "ht", f"1,000 {'places' if places else 'vertices'}", hand(rng, 544, 1000, places)
    for n in (5, 7):
        yield "det", f"{n}", {"A": _rows(rng, n * n), "ell": n}


def agree(module: str, ours: Any, theirs: list[np.ndarray], given: Input) -> None:
    """Raise unless our derivative is that by hand."""
    if module != "ba":
        pairs = zip(ours, theirs, strict=True)
    else:
        whole = sparse.hstack([ours] if sparse.issparse(ours) else ours, "csr")
        count = 30 * given["p"]
        # ours leaves out the two elements of each observation that are always 0
        mask = np.ones((given["p"], 2, 15), bool)
        mask[:, 0, 8] = mask[:, 1, 7] = False
        whole.sort_indices()
        by_hand = np.concatenate([theirs[0][:count][mask.ravel()], theirs[0][count:]])
        pairs = zip([whole.data], [by_hand], strict=True)
    for a, b in pairs:
        np.testing.assert_allclose(np.ravel(a), np.ravel(b), rtol=1e-6, atol=1e-8 * (1 + np.abs(b).max()))


def measured(seconds: float = 1.0) -> str:
    """The table in Markdown: least times in one run, each result read and compared.

    Raises
    ------
    RuntimeError
        If there is no compiler, or no C++.
    """
    if library() is None:
        raise RuntimeError("the table stands beside C++ by hand: install g++ or clang++, and run it from a checkout")
    rows = []
    for module, size, given in inputs():
        evaluation = EVALS[module][DERIVATIVE.get(module, "gradient")]
        calls: dict[str, Callable[[], Any]] = {"C++": MANUAL[module](given)}
        firsts, by_hand = {}, calls["C++"]()
        for mode in MODES:
            start = time.perf_counter()
            calls[mode] = evaluation.prepare(mode, given)
            result = calls[mode]()
            firsts[mode] = time.perf_counter() - start
            for _ in range(3):  # a recording that was seen a few times is compiled
                result = calls[mode]()
            agree(module, result, by_hand, given)
        least = {name: min(rounds) for name, rounds in interleaved(calls, seconds).items()}
        ratio = f"{least['graph'] / least['C++']:.2f}"
        times = [duration(least[name]) for name in (*MODES, "C++")]
        rows.append((module, size, *times, ratio, duration(firsts["graph"])))
    return as_markdown([HEAD, *rows])
