"""Arguments of the diagonal family, in both front ends and on plain arrays."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from tests.support import assert_same_bits
from tests.tapes import watching

D = np.arange(9.0).reshape(3, 3)

REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "descending": (lambda tf: tf.linalg.diag(D, k=(2, 0)), "ascending order"),
    "alignment": (lambda tf: tf.linalg.diag(D, k=(-1, 1), align="LEFT"), "align.*RIGHT_LEFT.*'LEFT'"),
    "too large": (lambda tf: tf.linalg.diag(D, k=(-1, 1), num_rows=5, num_cols=5), r"do not fill.*\(5, 5\)"),
    "too few rows": (lambda tf: tf.linalg.diag(D, k=(-1, 1), num_rows=2), r"do not fill.*\(2, 3\)"),
    "number of diagonals": (lambda tf: tf.linalg.diag(D, k=(0, 1)), r"diagonal.*\(2, 3\).*\(3, 3\)"),
    "no such diagonal": (lambda tf: tf.linalg.diag_part(D, k=5), r"\(-3, 3\), got 5"),
    "no such diagonals": (lambda tf: tf.linalg.diag_part(D, k=(-3, 3)), r"\(-3, 3\), got -3"),
    "no entries, too large": (
        lambda tf: tf.linalg.diag(np.ones((2, 0)), k=(0, 1), num_rows=3, num_cols=3),
        "do not fill",
    ),
    "no entries, more diagonals": (lambda tf: tf.linalg.diag(np.ones((3, 0)), k=(0, 1)), r"0 to 1 in rows.*\(3, 0\)"),
    "diagonal to set": (lambda tf: tf.linalg.set_diag(D, D, k=(0, 1)), r"diagonal.*\(2, 3\).*\(3, 3\)"),
    "more matrices": (lambda tf: tf.linalg.set_diag(D, np.ones((4, 2, 3)), k=(0, 1)), "does not fit"),
    "padding": (lambda tf: tf.linalg.diag(np.arange(3), padding_value=1.5), "padding_value"),
}


@pytest.mark.parametrize("tf", [tape_api, graph_api], ids=["tape", "graph"])
@pytest.mark.parametrize("key", REFUSED)
def test_refused(tf: Any, key: str) -> None:
    call, message = REFUSED[key]
    for _ in range(2):  # what a kernel must find out itself, as shapes are inferred once per dtype
        with graph_api.Graph().as_default(), pytest.raises((ValueError, TypeError), match=message):
            call(tf)


@pytest.mark.parametrize(
    ("k", "options", "shape"),
    [
        ((0, 1), {}, (0, 0)),
        ((-1, 2), {"num_rows": 4}, (4, 0)),
        ((2, 3), {}, (2, 2)),
        ((-3, -2), {"padding_value": 9.0}, (2, 2)),
        ((-3, -2), {"num_cols": 1}, (2, 1)),
    ],
)
def test_diagonals_without_entries(k: tuple[int, int], options: dict[str, Any], shape: tuple[int, ...]) -> None:
    """The shapes are TensorFlow's."""
    d = np.zeros((5, k[1] - k[0] + 1, 0))
    expected = np.full((5, *shape), options.get("padding_value", 0.0))
    x = tape_api.constant(d)
    tape, y = watching(x, lambda: tape_api.linalg.diag(x, k=k, **options))
    assert_same_bits([y.numpy(), tape.gradient(y, x).numpy()], [expected, d])
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        p = graph_api.placeholder("float64", d.shape)
        y = graph_api.linalg.diag(p, k=k, **options)
        assert_same_bits(session.run([y, *graph_api.gradients(y, p)], {p: d}), [expected, d])
    assert_same_bits([tape_api.linalg.trace(np.zeros((5, 0, 3))).numpy()], [np.zeros(5)])


def test_unknown_shapes() -> None:
    tf = graph_api
    x = D[:2].astype(np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        p = tf.placeholder(tf.float32)
        y = tf.matrix_diag_part(p, k=(0, 1), padding_value=3.0)
        z = tf.matrix_set_diag(2 * p, y, k=(0, 1))
        got = session.run([y, z, *tf.gradients(z, p)], {p: x})
        bands = session.run(tf.matrix_diag(p, k=(0, 1)), {p: x})
    with tape_api.GradientTape() as tape:
        t = tape_api.constant(x)
        tape.watch(t)
        part = tape_api.linalg.diag_part(t, k=(0, 1), padding_value=3.0)
        changed = tape_api.linalg.set_diag(2 * t, part, k=(0, 1))
    assert_same_bits(got, [part.numpy(), changed.numpy(), tape.gradient(changed, t).numpy()])
    np.testing.assert_array_equal(got[1], [[0, 1, 4], [6, 4, 5]])
    assert_same_bits([bands], [tape_api.linalg.diag(tape_api.constant(x), k=(0, 1)).numpy()])
