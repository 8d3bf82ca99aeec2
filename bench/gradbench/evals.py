"""The functions of GradBench's evals: inputs as JSON has them, a call to be timed, outputs as JSON has them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.gradbench import nested, objectives
from bench.gradbench.differentiate import Mode, What, prepared

Input = dict[str, Any]
Call = Callable[[], Any]


@dataclass(frozen=True)
class Evaluation:
    """One function of an eval.

    Attributes
    ----------
    prepare : callable
        ``prepare(mode, input)`` makes the call that is timed.
    shown : callable
        ``shown(result, input)`` makes what is sent of its result.
    """

    prepare: Callable[[Mode, Input], Call]
    shown: Callable[[Any, Input], Any]


def _numbers(x: Any) -> np.ndarray:
    return np.asarray(x, np.float64)


def _plain(result: Any, given: Input) -> Any:
    return np.asarray(result[0] if isinstance(result, list) else result).tolist()


def _flat(result: Any, given: Input) -> list[float]:
    return np.concatenate([np.ravel(part) for part in result]).tolist()


# ---- inputs of each eval ---------------------------------------------------------------------------------------------


def _one(what: What, function: Callable[..., Any], name: str, *static: str) -> Callable[[Mode, Input], Call]:
    """Of functions of one array of numbers, and of numbers that are known beforehand."""

    def prepare(mode: Mode, given: Input) -> Call:
        known = [given[key] for key in static]
        return prepared(mode, what, lambda tf, x: function(tf, x, *known), [_numbers(given[name])])

    return prepare


def _hello(what: What) -> Callable[[Mode, Input], Call]:
    return lambda mode, given: prepared(mode, what, objectives.square, [_numbers(given)])


def _gmm_parts(given: Input) -> list[np.ndarray]:
    """The four parameters; older versions of the eval have two of them in one array."""
    if "icf" not in given:
        return [_numbers(given[name]).reshape(given["k"], -1) for name in ("mu", "q", "l")]
    both = _numbers(given["icf"])
    return [_numbers(given["means"]), both[:, : given["d"]], both[:, given["d"] :]]


def _gmm(what: What) -> Callable[[Mode, Input], Call]:
    def prepare(mode: Mode, given: Input) -> Call:
        def function(tf: Any, *arrays: Any) -> Any:
            alpha, mu, q, lower, x = arrays
            return objectives.gmm(tf, alpha, mu, q, lower, x, given["gamma"], given["m"])

        return prepared(mode, what, function, [_numbers(given["alpha"]), *_gmm_parts(given)], [_numbers(given["x"])])

    return prepare


def _gmm_gradient(result: Any, given: Input) -> Any:
    alpha, mu, q, below = (part.tolist() for part in result)
    if "icf" not in given:
        return {"alpha": alpha, "mu": mu, "q": q, "l": below}
    return _flat([result[0], result[1], np.concatenate(result[2:], 1)], given)


def _bundle(what: What) -> Callable[[Mode, Input], Call]:
    def prepare(mode: Mode, given: Input) -> Call:
        n, m, p = given["n"], given["m"], given["p"]
        observed = np.stack([np.arange(p) % n, np.arange(p) % m], 1)
        cameras, points = (np.tile(_numbers(given[name]), (count, 1)) for name, count in (("cam", n), ("x", m)))
        features = np.tile(_numbers(given["feat"]), (p, 1))

        def function(tf: Any, *arrays: Any) -> Any:
            cameras, points, weights, features = arrays
            return objectives.bundle(tf, cameras, points, weights, features, observed)

        return prepared(mode, what, function, [cameras, points, np.full(p, float(given["w"]))], [features])

    return prepare


def _bundle_errors(result: Any, given: Input) -> Any:
    """Observations are all alike: the first one, and how often."""
    p = given["p"]
    return {
        "reproj_error": {"elements": result[:2].tolist(), "repeated": p},
        "w_err": {"element": float(result[-1]), "repeated": p},
    }


def _bundle_jacobian(result: Any, given: Input) -> Any:
    """The two rows of the first observation, and the last element.

    ADBench keeps 15 elements of each of these rows; two of them are always 0, and no elements of ours.
    """
    n, m, p = given["n"], given["m"], given["p"]
    blocks = result if isinstance(result, list) else [result]
    own = [*range(11), *(11 * n + np.arange(3)).tolist(), 11 * n + 3 * m]
    first = np.concatenate([block[:2].toarray() for block in blocks], 1)[:, own]
    starts = np.concatenate([15 * np.arange(2 * p + 1), 30 * p + np.arange(1, p + 1)])
    return {
        "rows": [*starts[:30].tolist(), int(starts[-1])],
        "cols": [*own, *own, 11 * n + 3 * m + p - 1],
        "vals": [*first.ravel().tolist(), float(blocks[-1][3 * p - 1, -1 if len(blocks) == 1 else p - 1])],
    }


def _hand(what: What) -> Callable[[Mode, Input], Call]:
    def prepare(mode: Mode, given: Input) -> Call:
        data, model = given["data"], dict(given["data"]["model"])
        for name in ("base_relatives", "inverse_base_absolutes", "base_positions", "weights"):
            model[name] = _numbers(model[name])
        model["triangles"] = np.asarray(model["triangles"], np.int32).reshape(-1, 3)
        corresponding = np.asarray(data["correspondences"], np.int32)
        sources = [_numbers(given["theta"])]
        if given["us"]:
            sources.append(_numbers(given["us"]).reshape(-1, 2))

        def function(tf: Any, theta: Any, *rest: Any) -> Any:
            us, points = rest if len(rest) == 2 else (None, rest[0])
            return objectives.hand(tf, theta, us, points, model, corresponding)

        return prepared(mode, what, function, sources, [_numbers(data["points"])])

    return prepare


def _hand_jacobian(result: Any, given: Input) -> Any:
    """Columns of the angles; before them, each row's own two columns of places in a triangle."""
    blocks = [block.reshape(-1, block.shape[-1]) for block in reversed(result)]
    return np.concatenate(blocks, 1).tolist()


def _lstm(what: What) -> Callable[[Mode, Input], Call]:
    def prepare(mode: Mode, given: Input) -> Call:
        main, extra, state, sequence = (
            _numbers(given[name]) for name in ("main_params", "extra_params", "state", "sequence")
        )
        return prepared(mode, what, objectives.lstm, [main, extra], [state, sequence])

    return prepare


def _det(what: What) -> Callable[[Mode, Input], Call]:
    return lambda mode, given: prepared(
        mode, what, objectives.det, [_numbers(given["A"]).reshape(given["ell"], given["ell"])]
    )


def _kmeans(what: What) -> Callable[[Mode, Input], Call]:
    return lambda mode, given: prepared(
        mode, what, objectives.kmeans, [_numbers(given["centroids"])], [_numbers(given["points"])]
    )


def _nested(function: Callable[..., Any], name: str, ways: str) -> Callable[[Mode, Input], Call]:
    def prepare(mode: Mode, given: Input) -> Call:
        start = np.atleast_1d(_numbers(given[name]))
        return prepared(mode, "value", lambda tf, x: function(tf, x, *ways), [start])

    return prepare


def _first(result: Any, given: Input) -> float:
    return float(result[0])


WAYS = ("ff", "fr", "rf", "rr")
EVALS: dict[str, dict[str, Evaluation]] = {
    "hello": {"square": Evaluation(_hello("value"), _plain), "double": Evaluation(_hello("gradient"), _plain)},
    "gmm": {"objective": Evaluation(_gmm("value"), _plain), "jacobian": Evaluation(_gmm("gradient"), _gmm_gradient)},
    "ba": {
        "objective": Evaluation(_bundle("value"), _bundle_errors),
        "jacobian": Evaluation(_bundle("csr"), _bundle_jacobian),
    },
    "ht": {
        "objective": Evaluation(_hand("value"), lambda result, _: result.ravel().tolist()),
        "jacobian": Evaluation(_hand("rows"), _hand_jacobian),
    },
    "lstm": {"objective": Evaluation(_lstm("value"), _plain), "jacobian": Evaluation(_lstm("gradient"), _flat)},
    "det": {"primal": Evaluation(_det("value"), _plain), "gradient": Evaluation(_det("gradient"), _flat)},
    "llsq": {
        "primal": Evaluation(_one("value", objectives.llsq, "x", "n"), _plain),
        "gradient": Evaluation(_one("gradient", objectives.llsq, "x", "n"), _plain),
    },
    "lse": {
        "primal": Evaluation(_one("value", objectives.lse, "x"), _plain),
        "gradient": Evaluation(_one("gradient", objectives.lse, "x"), _plain),
    },
    "ode": {
        "primal": Evaluation(_one("value", objectives.ode, "x", "s"), _plain),
        "gradient": Evaluation(_one("gradient", lambda tf, x, s: objectives.ode(tf, x, s)[-1], "x", "s"), _plain),
    },
    "kmeans": {"cost": Evaluation(_kmeans("value"), _plain), "dir": Evaluation(_kmeans("newton"), _plain)},
    "saddle": {ways: Evaluation(_nested(nested.saddle, "start", ways), _plain) for ways in WAYS},
    "particle": {ways: Evaluation(_nested(nested.particle, "w", ways), _first) for ways in WAYS},
}
"""By module and function."""
