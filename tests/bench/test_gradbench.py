"""The tool for GradBench: every function in every mode, beside NumPy by hand and differences of values."""

import io
import itertools
import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp, multigammaln

from bench.gradbench.differentiate import MODES, Mode
from bench.gradbench.evals import EVALS
from bench.gradbench.manual import MANUAL, library
from bench.gradbench.protocol import answers
from bench.gradbench.table import DERIVATIVE, agree, hand

RNG = np.random.default_rng(11)


def uniform(*shape: int) -> list[Any]:
    return RNG.uniform(0.2, 1.0, shape).tolist()


INPUTS: dict[str, Any] = {
    "hello": 3.5,
    "gmm": {
        "d": 3,
        "k": 4,
        "n": 7,
        "m": 2,
        "gamma": 1.3,
        "alpha": uniform(4),
        "mu": uniform(4, 3),
        "q": uniform(4, 3),
        "l": uniform(4, 3),
        "x": uniform(7, 3),
    },
    "ba": {"n": 2, "m": 3, "p": 5, "cam": uniform(11), "x": [0.3, -0.4, 2.5], "w": 0.7, "feat": uniform(2)},
    "ht": hand(RNG, 10, 6, False),
    "lstm": {
        "main_params": uniform(4, 12),
        "extra_params": uniform(3, 3),
        "state": uniform(4, 3),
        "sequence": uniform(6, 3),
    },
    "det": {"A": uniform(16), "ell": 4},
    "llsq": {"x": uniform(5), "n": 9},
    "lse": {"x": uniform(8)},
    "ode": {"x": uniform(6), "s": 3},
    "kmeans": {"points": uniform(30, 2), "centroids": uniform(3, 2)},
}


def result(module: str, function: str, given: Any, mode: Mode = "graph") -> Any:
    evaluation = EVALS[module][function]
    return evaluation.shown(evaluation.prepare(mode, given)(), given)


# ---- values by NumPy -------------------------------------------------------------------------------------------------


def gmm_by_hand(given: dict[str, Any]) -> float:
    """The logarithm of a product of densities, one by one."""
    d, k, m, gamma = given["d"], given["k"], given["m"], given["gamma"]
    shares = np.exp(given["alpha"]) / np.exp(given["alpha"]).sum()
    factors = []
    for i in range(k):
        factor = np.diag(np.exp(given["q"][i]))
        columns, rows = np.triu_indices(d, 1)
        factor[rows, columns] = given["l"][i]
        factors.append(factor)
    total = 0.0
    for x in given["x"]:
        terms = [
            np.log(shares[i]) - 0.5 * np.sum((factors[i] @ (np.array(x) - given["mu"][i])) ** 2)
            + np.log(np.linalg.det(factors[i])) - 0.5 * d * np.log(2 * np.pi)
            for i in range(k)
        ]  # fmt: skip
        total += logsumexp(terms)
    freedom = d + m + 1
    for factor in factors:
        total += m * np.log(np.linalg.det(factor)) - 0.5 * gamma**2 * np.sum(factor**2)
        total += freedom * d * (np.log(gamma) - 0.5 * np.log(2)) - multigammaln(0.5 * freedom, d)
    return float(total)


def bundle_by_hand(given: dict[str, Any]) -> list[float]:
    c, away = np.array(given["cam"]), np.array(given["x"]) - given["cam"][3:6]
    theta = np.linalg.norm(c[:3])
    k = np.array([[0, -c[2], c[1]], [c[2], 0, -c[0]], [-c[1], c[0], 0]]) / theta
    seen = (np.eye(3) + np.sin(theta) * k + (1 - np.cos(theta)) * k @ k) @ away
    image = seen[:2] / seen[2]
    r = image @ image
    projected = image * (1 + c[9] * r + c[10] * r * r) * c[6] + c[7:9]
    return [*(given["w"] * (projected - given["feat"])), 1 - given["w"] ** 2]


def lstm_by_hand(given: dict[str, Any]) -> float:
    main, extra, state, sequence = (
        np.array(given[name]) for name in ("main_params", "extra_params", "state", "sequence")
    )
    size, total = extra.shape[1], 0.0

    def sigmoid(x: Any) -> Any:
        return 1 / (1 + np.exp(-x))

    for given_row, wanted in itertools.pairwise(sequence):
        value = given_row * extra[0]
        for i in range(0, len(main), 2):
            w, b = main[i].reshape(4, size), main[i + 1].reshape(4, size)
            hidden, cell = state[i], state[i + 1]
            cell = cell * sigmoid(value * w[0] + b[0]) + sigmoid(hidden * w[1] + b[1]) * np.tanh(hidden * w[3] + b[3])
            value = sigmoid(value * w[2] + b[2]) * np.tanh(cell)
            state[i], state[i + 1] = value, cell
        predicted = value * extra[1] + extra[2]
        total += wanted @ (predicted - np.log(2 + np.exp(predicted).sum()))
    return float(-total / ((len(sequence) - 1) * size))


def hand_by_hand(given: dict[str, Any]) -> np.ndarray:
    theta, model = given["theta"], given["data"]["model"]
    absolutes: list[Any] = []
    angle, moves = 6, []
    for bone, parent in enumerate(model["parents"]):
        tx = tz = 0.0
        if bone >= 2 and (bone - 2) % 4 < 3:
            tx, angle = theta[angle], angle + 1
            if (bone - 2) % 4 == 0:
                tz, angle = theta[angle], angle + 1
        turn = np.eye(4)
        rx = np.array([[1, 0, 0], [0, np.cos(tx), -np.sin(tx)], [0, np.sin(tx), np.cos(tx)]])
        rz = np.array([[np.cos(tz), -np.sin(tz), 0], [np.sin(tz), np.cos(tz), 0], [0, 0, 1]])
        turn[:3, :3] = rz @ rx
        own = np.array(model["base_relatives"][bone]) @ turn
        absolutes.append(own if parent == -1 else absolutes[parent] @ own)
        moves.append(absolutes[-1] @ np.array(model["inverse_base_absolutes"][bone]))
    weights, base = np.array(model["weights"]), np.array(model["base_positions"])
    at = np.array([sum(w * (move @ x)[:3] for w, move in zip(ws, moves, strict=True)) for ws, x in
                   zip(weights, base, strict=True)])  # fmt: skip
    at[:, 0] *= -1
    norm = np.linalg.norm(theta[:3])
    x, y, z = np.array(theta[:3]) / norm
    k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    at = at @ (np.eye(3) + np.sin(norm) * k + (1 - np.cos(norm)) * k @ k).T + theta[3:6]
    data = given["data"]
    if not given["us"]:
        return (np.array(data["points"]) - at[data["correspondences"]]).ravel()
    corners = at[np.array(model["triangles"])[data["correspondences"]]]
    u = np.array(given["us"])
    shares = np.c_[u, 1 - u.sum(1)]
    return (np.array(data["points"]) - np.einsum("pc,pcx->px", shares, corners)).ravel()


def test_values_are_those_of_numpy() -> None:
    assert result("hello", "square", 3.5) == 12.25
    np.testing.assert_allclose(result("gmm", "objective", INPUTS["gmm"]), gmm_by_hand(INPUTS["gmm"]), rtol=1e-12)
    shown, expected = result("ba", "objective", INPUTS["ba"]), bundle_by_hand(INPUTS["ba"])
    np.testing.assert_allclose([*shown["reproj_error"]["elements"], shown["w_err"]["element"]], expected, rtol=1e-12)
    np.testing.assert_allclose(result("lstm", "objective", INPUTS["lstm"]), lstm_by_hand(INPUTS["lstm"]), rtol=1e-12)
    for places in (False, True):
        given = hand(RNG, 10, 6, places)
        np.testing.assert_allclose(result("ht", "objective", given), hand_by_hand(given), rtol=1e-11, atol=1e-12)
    given = INPUTS["det"]
    np.testing.assert_allclose(
        result("det", "primal", given), np.linalg.det(np.reshape(given["A"], (4, 4))), rtol=1e-10
    )
    given = INPUTS["llsq"]
    t = np.linspace(-1, 1, given["n"])
    missed = np.sign(t) - np.polyval(given["x"][::-1], t)
    np.testing.assert_allclose(result("llsq", "primal", given), 0.5 * missed @ missed, rtol=1e-12)
    np.testing.assert_allclose(result("lse", "primal", INPUTS["lse"]), logsumexp(INPUTS["lse"]["x"]), rtol=1e-14)
    given = INPUTS["kmeans"]
    away = np.array(given["points"])[:, None] - given["centroids"]
    np.testing.assert_allclose(result("kmeans", "cost", given), (away**2).sum(2).min(1).sum(), rtol=1e-12)


def test_the_solution_of_the_equations() -> None:
    """Many steps: ``y_i = x_0 … x_i t**(i+1) / (i+1)!`` at time 2."""
    x = INPUTS["ode"]["x"]
    expected = np.cumprod(np.array(x) * 2.0 / np.arange(1, 7))
    np.testing.assert_allclose(result("ode", "primal", {"x": x, "s": 50}), expected, rtol=1e-5)


# ---- derivatives -----------------------------------------------------------------------------------------------------

GRADIENTS = {
    "gmm": ("objective", "jacobian", ("alpha", "mu", "q", "l")),
    "lstm": ("objective", "jacobian", ("main_params", "extra_params")),
    "det": ("primal", "gradient", ("A",)),
    "llsq": ("primal", "gradient", ("x",)),
    "lse": ("primal", "gradient", ("x",)),
    "ode": ("primal", "gradient", ("x",)),
}


def by_differences(module: str, function: str, names: tuple[str, ...]) -> np.ndarray:
    """Differences of values along each element of the named inputs, one after another."""
    given, slopes = INPUTS[module], []
    for name in names:
        base = np.array(given[name])
        for i in range(base.size):
            ends = []
            for step in (1e-6, -1e-6):
                moved = base.copy()
                moved.flat[i] += step
                ends.append(np.ravel(result(module, function, {**given, name: moved.tolist()}))[-1])
            slopes.append((ends[0] - ends[1]) / 2e-6)
    return np.array(slopes)


@pytest.mark.parametrize("module", GRADIENTS)
def test_gradients_are_those_of_differences(module: str) -> None:
    value, gradient, names = GRADIENTS[module]
    shown = result(module, gradient, INPUTS[module])
    flat = np.concatenate([np.ravel(shown[name]) for name in names]) if isinstance(shown, dict) else np.ravel(shown)
    np.testing.assert_allclose(flat, by_differences(module, value, names), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("places", [False, True], ids=["simple", "complicated"])
def test_jacobian_of_a_hand(places: bool) -> None:
    given = hand(RNG, 10, 6, places)
    shown = np.array(result("ht", "jacobian", given))
    assert shown.shape == (18, 26 + 2 * places)
    for column in range(26):
        ends = []
        for step in (1e-6, -1e-6):
            theta = np.array(given["theta"])
            theta[column] += step
            ends.append(hand_by_hand({**given, "theta": theta.tolist()}))
        slope = (ends[0] - ends[1]) / 2e-6
        np.testing.assert_allclose(shown[:, 2 * places + column], slope, rtol=1e-6, atol=1e-7)
    for column in range(2 * places):
        ends = []
        for step in (1e-6, -1e-6):
            us = np.array(given["us"])
            us[:, column] += step
            ends.append(hand_by_hand({**given, "us": us.tolist()}))
        np.testing.assert_allclose(shown[:, column], (ends[0] - ends[1]) / 2e-6, rtol=1e-6, atol=1e-7)


def test_jacobian_of_a_bundle() -> None:
    """The first observation's rows: camera, point and weight; the last element is that of the last weight."""
    given = INPUTS["ba"]
    shown = result("ba", "jacobian", given)
    slopes = []
    for name in ("cam", "x", "w"):
        base = np.atleast_1d(given[name])
        for i in range(base.size):
            ends = []
            for step in (1e-6, -1e-6):
                moved = base.astype(float)
                moved[i] += step
                ends.append(bundle_by_hand({**given, name: moved if name != "w" else float(moved[0])})[:2])
            slopes.append((np.array(ends[0]) - ends[1]) / 2e-6)
    rows = np.array(slopes).T
    np.testing.assert_allclose(shown["vals"][:30], rows.ravel(), rtol=1e-6, atol=1e-7)
    assert shown["vals"][30] == -2 * given["w"]
    assert shown["cols"][:15] == [*range(11), 22, 23, 24, 22 + 9]
    assert shown["rows"][:3] == [0, 15, 30]
    assert shown["rows"][-1] == 31 * given["p"]


def test_direction_of_newton() -> None:
    given = INPUTS["kmeans"]
    points, centroids = np.array(given["points"]), np.array(given["centroids"])
    nearest = ((points[:, None] - centroids) ** 2).sum(2).argmin(1)
    expected = [c - points[nearest == i].mean(0) for i, c in enumerate(centroids)]
    np.testing.assert_allclose(result("kmeans", "dir", given), expected, rtol=1e-12)


@pytest.mark.parametrize("module", INPUTS)
def test_modes_give_the_same_bits(module: str) -> None:
    for function in EVALS[module]:
        ours = [result(module, function, INPUTS[module], mode) for mode in MODES]
        assert ours[0] == ours[1] == ours[2], function


@pytest.mark.parametrize("ways", ["ff", "fr", "rf", "rr"])
def test_derivatives_within_derivatives(ways: str) -> None:
    """The values that the suite itself expects."""
    np.testing.assert_allclose(result("particle", ways, {"w": 0.0}), 0.2071918746486116, rtol=1e-9)
    np.testing.assert_allclose(result("saddle", ways, {"start": [1.0, 1.0]}), [8.246324826140356e-06] * 4, rtol=1e-9)


# ---- C++ by hand -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "given"), [*[(name, INPUTS[name]) for name in MANUAL], ("ht", hand(RNG, 10, 6, True))]
)
def test_derivatives_by_hand_are_ours(module: str, given: dict[str, Any]) -> None:
    if library() is None:
        pytest.skip("there is no compiler")
    ours = EVALS[module][DERIVATIVE.get(module, "gradient")].prepare("graph", given)()
    theirs = MANUAL[module](given)()
    agree(module, ours, theirs, given)
    theirs[0][...] *= 1.001
    with pytest.raises(AssertionError):
        agree(module, ours, theirs, given)


# ---- the protocol ----------------------------------------------------------------------------------------------------

MESSAGES = [
    {"id": 0, "kind": "start", "eval": "lse"},
    {"id": 1, "kind": "define", "module": "lse"},
    {"id": 2, "kind": "define", "module": "nosuch"},
    {"id": 3, "kind": "evaluate", "module": "lse", "function": "gradient", "input": {"x": [1.0, 1.0], "min_runs": 3}},
    {"id": 4, "kind": "evaluate", "module": "lse", "function": "gradient", "input": {"y": 0}},
    {"id": 5, "kind": "analysis", "of": 3, "valid": True},
]


def test_answers_to_messages() -> None:
    started, defined, unknown, evaluated, failed, noted = (
        json.loads(line) for line in answers(io.StringIO("\n".join(map(json.dumps, MESSAGES))), "graph")
    )
    assert started == {"id": 0, "tool": "dualgrad-graph"}
    assert defined == {"id": 1, "success": True}
    assert not unknown["success"]
    assert evaluated["output"] == [0.5, 0.5]
    assert [t["name"] for t in evaluated["timings"]] == ["first", "evaluate", "evaluate", "evaluate"]
    assert not failed["success"]
    assert "KeyError" in failed["error"]
    assert noted == {"id": 5}


def test_the_command_speaks_on_standard_input() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "bench", "gradbench", "--mode", "tape"],
        input="\n".join(map(json.dumps, MESSAGES[:4])), capture_output=True, text=True, check=True,
    )  # fmt: skip
    lines = [json.loads(line) for line in run.stdout.splitlines()]
    assert [line["id"] for line in lines] == [0, 1, 2, 3]
    assert lines[0]["tool"] == "dualgrad-tape"
    assert lines[3]["output"] == [0.5, 0.5]
