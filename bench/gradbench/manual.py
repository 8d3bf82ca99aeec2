"""Derivatives written by hand in C++, built where a compiler is there, as calls beside ours."""

from __future__ import annotations

import ctypes
import functools
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

Input = dict[str, Any]
SOURCE = Path(__file__).with_name("manual.cpp")
FLAGS = ("-O3", "-march=native", "-shared", "-fPIC")


@functools.cache
def library() -> ctypes.CDLL | None:
    """The functions of ``manual.cpp``; None where there is no compiler, or no source (wheels have none)."""
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None or not SOURCE.exists():
        return None
    with tempfile.TemporaryDirectory() as folder:
        built = Path(folder) / "manual.so"
        subprocess.run([compiler, *FLAGS, str(SOURCE), "-o", str(built)], check=True)
        return ctypes.CDLL(str(built))


def _called(name: str, arguments: Sequence[Any], results: Sequence[np.ndarray]) -> Callable[[], list[np.ndarray]]:
    """A call of one function of the library, which fills `results`."""
    kept = [np.ascontiguousarray(a) if isinstance(a, np.ndarray) else a for a in (*arguments, *results)]
    passed = [
        a.ctypes.data_as(ctypes.c_void_p) if isinstance(a, np.ndarray)
        else ctypes.c_double(a) if isinstance(a, float) else ctypes.c_long(a)
        for a in kept
    ]  # fmt: skip
    function = getattr(library(), name)
    function.restype = None

    def call() -> list[np.ndarray]:
        function(*passed)
        return kept[len(arguments) :]

    return call


def _floats(x: Any) -> np.ndarray:
    return np.asarray(x, np.float64)


def gmm(given: Input) -> Callable[[], list[np.ndarray]]:
    """The gradient in alpha, mu, q and l."""
    d, k, n = given["d"], given["k"], given["n"]
    parts = [_floats(given[name]) for name in ("alpha", "mu", "q", "l")]
    scale = [float(given["gamma"]), int(given["m"])]
    return _called("gmm", [d, k, n, *parts, _floats(given["x"]), *scale], [np.empty_like(p) for p in parts])


def lse(given: Input) -> Callable[[], list[np.ndarray]]:
    """The gradient."""
    x = _floats(given["x"])
    return _called("lse", [x.size, x], [np.empty_like(x)])


def llsq(given: Input) -> Callable[[], list[np.ndarray]]:
    """The gradient."""
    x = _floats(given["x"])
    return _called("llsq", [x.size, given["n"], x], [np.empty_like(x)])


def kmeans(given: Input) -> Callable[[], list[np.ndarray]]:
    """The direction of Newton."""
    points, centroids = _floats(given["points"]), _floats(given["centroids"])
    return _called("kmeans", [len(points), *centroids.shape, points, centroids], [np.empty_like(centroids)])


def ode(given: Input) -> Callable[[], list[np.ndarray]]:
    """The gradient of the last element."""
    x = _floats(given["x"])
    return _called("ode", [x.size, given["s"], x], [np.empty_like(x)])


def lstm(given: Input) -> Callable[[], list[np.ndarray]]:
    """The gradient in both groups of parameters."""
    main, extra, state, sequence = (
        _floats(given[name]) for name in ("main_params", "extra_params", "state", "sequence")
    )
    sizes = [len(main) // 2, len(sequence), extra.shape[1]]
    return _called("lstm", [*sizes, main, extra, state, sequence], [np.empty_like(main), np.empty_like(extra)])


def det(given: Input) -> Callable[[], list[np.ndarray]]:
    """The gradient."""
    matrix = _floats(given["A"])
    return _called("det", [given["ell"], matrix], [np.empty_like(matrix)])


def ba(given: Input) -> Callable[[], list[np.ndarray]]:
    """The elements of the Jacobian: 15 for each residual of an observation, one for each weight."""
    n, m, p = given["n"], given["m"], given["p"]
    observed = np.stack([np.arange(p) % n, np.arange(p) % m], 1)
    cameras, points = np.tile(_floats(given["cam"]), (n, 1)), np.tile(_floats(given["x"]), (m, 1))
    features = np.tile(_floats(given["feat"]), (p, 1))
    return _called("ba", [p, observed, cameras, points, np.full(p, float(given["w"])), features], [np.empty(31 * p)])


def ht(given: Input) -> Callable[[], list[np.ndarray]]:
    """The Jacobian in theta, and in the places in triangles if there are any."""
    model, data = given["data"]["model"], given["data"]
    names = ("base_relatives", "inverse_base_absolutes", "base_positions", "weights")
    parts = [_floats(model[name]) for name in names]
    corner, places = np.asarray(data["correspondences"], int), _floats(given["us"])
    if places.size:
        corner = np.asarray(model["triangles"], int).reshape(-1, 3)[corner]
    points = len(data["points"])
    sizes = [len(model["parents"]), len(parts[2]), points, int(model["is_mirrored"])]
    arguments = [*sizes, np.asarray(model["parents"], int), *parts, _floats(given["theta"]), corner.size // points]
    results = [np.empty((points, 3, 26)), np.empty((points, 3, 2))]
    call = _called("ht", [*arguments, corner, places], results)
    return call if places.size else lambda: call()[:1]


MANUAL = {
    "gmm": gmm,
    "lse": lse,
    "llsq": llsq,
    "kmeans": kmeans,
    "ode": ode,
    "lstm": lstm,
    "det": det,
    "ba": ba,
    "ht": ht,
}
"""By module: what makes the call that takes the derivative."""
