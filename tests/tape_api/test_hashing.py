"""Hashes of texts and integers: those of TensorFlow's kernels, in layers and by themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_api as g
import tape_api as t
from dualgrad.keras.hashes import fingerprint, joined, keyed

TEXTS = np.array([["a fox"], ["the"], [""]], object)
NUMBERS = np.array([[3], [-4], [10**9]])

CASES: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "texts": (lambda L: L.Hashing(7), TEXTS),
    "integers, one masked": (lambda L: L.Hashing(7, mask_value=3), NUMBERS),
    "floats": (lambda L: L.Hashing(7), NUMBERS + 0.75),
    "keyed, one masked": (lambda L: L.Hashing(1000, salt=[5, 7], mask_value="the"), TEXTS),
    "one_hot": (lambda L: L.Hashing(5, output_mode="one_hot", salt=3), TEXTS),
    "multi_hot": (lambda L: L.Hashing(5, output_mode="multi_hot"), NUMBERS.T),
    "count": (lambda L: L.Hashing(2, output_mode="count"), NUMBERS.T),
    "one bin, masked": (lambda L: L.Hashing(1, mask_value=3), NUMBERS),
    "crossed": (lambda L: L.HashedCrossing(10), [TEXTS, NUMBERS]),
    "crossed, rows": (lambda L: L.HashedCrossing(10, "one_hot"), [TEXTS[:, 0], NUMBERS[:, 0], NUMBERS[:, 0]]),
}


def given(tf: Any, x: Any) -> Any:
    return [given(tf, v) for v in x] if isinstance(x, list) else tf.constant(x.tolist() if x.dtype == object else x)


def test_hashes_are_tensorflows() -> None:
    # numbers of TensorFlow 2.21: tf.strings.to_hash_bucket_fast, and to_hash_bucket_strong with the key [1, 2]
    texts = [bytes(range(n)) for n in (0, 3, 7, 12, 16, 25, 40, 64, 65, 128, 200)]
    fast = [397263, 466970, 184225, 4093, 750420, 433534, 543436, 367243, 373374, 878803, 148851]
    strong = [117435, 582361, 876562, 498227, 144078, 261247, 504862, 824100, 312037, 686537, 131710]
    assert [fingerprint(x) % 10**6 for x in texts] == fast
    assert [keyed(x, [1, 2]) % 10**6 for x in texts] == strong


@pytest.mark.parametrize("name", CASES)
def test_graphs_and_tapes_agree(name: str) -> None:
    make, x = CASES[name]
    ours = make(t.keras.layers)(given(t, x))
    with g.Graph().as_default(), g.Session() as sess:
        other = sess.run(make(g.keras.layers)(given(g, x)))
    assert ours.dtype.name == ("int64" if other.dtype == np.int64 else "float32")
    np.testing.assert_array_equal(ours, other)


def test_a_hash_is_a_step_of_a_model() -> None:
    model = t.keras.Sequential(
        [t.keras.Input((1,), dtype="string"), t.keras.layers.Hashing(7), t.keras.layers.Embedding(7, 2)]
    )
    assert model(given(t, TEXTS)).shape == (3, 1, 2)
    function = t.function(t.keras.layers.Hashing(7))
    for _ in range(3):
        assert function(given(t, TEXTS)).numpy().ravel().tolist() == [fingerprint(x.encode()) % 7 for x in TEXTS[:, 0]]


@pytest.mark.peer
@pytest.mark.parametrize("name", CASES)
def test_layers_hash_as_keras(name: str) -> None:
    theirs = pytest.importorskip("tensorflow")
    make, x = CASES[name]
    expected = make(theirs.keras.layers)(given(theirs, x)).numpy()
    found = make(t.keras.layers)(given(t, x)).numpy()
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.peer
def test_hashes_of_all_lengths() -> None:
    tf = pytest.importorskip("tensorflow")
    draw, most = np.random.default_rng(0), 2**62
    texts = [draw.integers(0, 256, n, np.uint8).tobytes() for n in [*range(200), 255, 256, 1000]]
    numbers = draw.integers(-(2**62), 2**62, len(texts))
    key = [123, 2**60 + 1]
    assert tf.strings.to_hash_bucket_fast(texts, most).numpy().tolist() == [fingerprint(x) % most for x in texts]
    strong = tf.strings.to_hash_bucket_strong(texts, most, key).numpy().tolist()
    assert strong == [keyed(x, key) % most for x in texts]
    crossed = tf.sparse.cross_hashed([tf.constant(texts)[:, None], tf.constant(numbers)[:, None]], most)
    ours = [
        joined(joined(0xDECAFCAFFE, fingerprint(x)), int(n) & 2**64 - 1) % most
        for x, n in zip(texts, numbers, strict=True)
    ]
    assert tf.sparse.to_dense(crossed).numpy()[:, 0].tolist() == ours
