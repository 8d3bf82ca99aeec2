"""Random numbers are TensorFlow's: of its kernels, in eager code, functions and graphs."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from engine.ops import philox
from tests.draws import programs

STORED = json.loads(programs.STORED.read_text())
SEEDS = philox.Stream(42, 7, 0)


def same(found: Any, stored: Any, rtol: float) -> bool:
    """Equal, up to the last places of the logarithms and sines that TensorFlow takes."""
    if isinstance(found, list) and isinstance(stored, list):
        return len(found) == len(stored) and all(same(f, s, rtol) for f, s in zip(found, stored, strict=True))
    if isinstance(found, float) and isinstance(stored, float):
        return abs(found - stored) <= rtol * abs(stored)
    return type(found) is type(stored) and found == stored


def compare(found: dict[str, Any], part: str, rtol: float = 5e-7) -> None:
    found, stored = programs.plain(found), STORED[part]
    assert list(found) == list(stored)
    assert {name: x for name, x in found.items() if not same(x, stored[name], rtol)} == {}


# ---- the generator ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (philox.Stream(0, 0, 0), "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        (philox.Stream(2**64 - 1, 2**64 - 1, 2**64 - 1), "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        (
            philox.Stream(0x299F31D0A4093822, 0x0370734413198A2E, 0x85A308D3243F6A88),
            "d16cfe09 94fdcceb 5001e420 24126ea1",
        ),
    ],
)
def test_words_are_those_of_the_paper(stream: philox.Stream, expected: str) -> None:
    assert " ".join(f"{w:08x}" for w in philox.words(stream, 1)[0]) == expected


@pytest.mark.parametrize("low", [0, 2**32 - 5, 2**64 - 5])
@pytest.mark.parametrize("count", [3, 20, philox._AT_ONCE + 20])
def test_many_words_are_those_of_each_place(low: int, count: int) -> None:
    stream = philox.Stream(2**40 + 3, 2**64 - 1, low)
    found = philox.words(stream, count)
    for i in (0, 1, 2, count // 2, count - 1):
        carry, at = divmod(low + i, 2**64)
        place = philox.Stream(stream.key, (stream.high + carry) % 2**64, at)
        assert found[i].tolist() == philox.words(place, 1)[0].tolist()
        assert philox.words(stream, np.full(30, i, np.uint64))[7].tolist() == found[i].tolist()


def ours(name: str, dtype: str) -> np.ndarray:
    kind = np.dtype(dtype).type
    if name in ("uniform", "normal"):
        return getattr(philox, name)(SEEDS, 37, kind)
    if name == "truncated":
        return philox.truncated_normal(SEEDS, 37, kind)
    if name.endswith("integers"):
        limits = np.iinfo(kind)
        low, high = (-3, 10) if name == "integers" else (limits.min + 5, limits.max - 7)
        return philox.integers(SEEDS, 9, low, high, kind)
    if name == "gamma":
        return philox.gamma(SEEDS, 8, np.array(programs.ALPHA, kind)).astype(kind)
    if name == "poisson":
        return philox.poisson(SEEDS, 8, np.array(programs.RATE, np.float32)).astype(kind)
    if name == "shuffle":
        return philox.permutation(SEEDS, 23)
    return philox.categorical(SEEDS, 7, np.array(programs.LOGITS, np.float32))


def test_kernels() -> None:
    found = programs.kernels(ours)
    assert found.keys() == STORED["kernels"].keys()
    for name, stored in STORED["kernels"].items():
        got = found[name]
        exact = got.dtype.kind == "i" or name.startswith("uniform")
        assert got.shape == np.shape(stored)
        expected = np.asarray(stored, got.dtype)
        assert not (exact and (got != expected).any()), name
        # TensorFlow's own logarithm, sine and cosine decide the last places
        np.testing.assert_array_max_ulp(got, expected, 4) if not exact else None


# ---- programs --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", [programs.eager, programs.functions, programs.stateless])
def test_tapes(part: Callable[[Any], dict[str, Any]]) -> None:
    compare(part(tape_api), part.__name__)


def test_functions_that_run_as_python() -> None:
    tape_api.config.run_functions_eagerly(True)
    try:
        compare(programs.functions(tape_api), "functions")
    finally:
        tape_api.config.run_functions_eagerly(False)


def test_keras() -> None:
    # products and sums come on top, in another order than TensorFlow's
    compare(programs.keras(tape_api), "keras", rtol=1e-5)


def test_graphs() -> None:
    compare(programs.graph(graph_api), "graph")


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore")
def test_the_stored_numbers_are_tensorflows() -> None:
    for part, found in programs.tensorflows(pytest.importorskip("tensorflow")).items():
        compare(found, part)


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_many_numbers_are_tensorflows(dtype: str) -> None:
    tf = pytest.importorskip("tensorflow")
    count, kind = 100_001, np.dtype(dtype).type
    raw, stream = tf.raw_ops, philox.Stream(43, 7, 0)

    def theirs(op: Any) -> np.ndarray:
        tf.random.set_seed(0)
        return op(shape=[count], dtype=dtype, seed=43, seed2=7).numpy()

    assert np.array_equal(philox.uniform(stream, count, kind), theirs(raw.RandomUniform))
    for ours, op in ((philox.normal, raw.RandomStandardNormal), (philox.truncated_normal, raw.TruncatedNormal)):
        np.testing.assert_array_max_ulp(ours(stream, count, kind), theirs(op), 4)
    alpha = np.array([0.05, 0.7, 1.0, 3.0, 1e4], kind)
    tf.random.set_seed(0)
    gamma = raw.RandomGamma(shape=[5000], alpha=alpha, seed=43, seed2=7).numpy()
    accuracy = np.finfo(kind)
    found = philox.gamma(stream, 5000, alpha).astype(kind)
    np.testing.assert_allclose(found, gamma, rtol=20 * accuracy.eps, atol=accuracy.tiny)  # exponentials of up to -60
    rate = np.array([0.0, 0.3, 5.0, 9.99, 10.0, 11.5, 300.0, 5e4], kind)
    tf.random.set_seed(0)
    poisson = raw.RandomPoissonV2(shape=[5000], rate=rate, dtype=tf.int64, seed=43, seed2=7).numpy()
    assert np.array_equal(philox.poisson(stream, 5000, rate), poisson)
