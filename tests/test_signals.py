"""`tf.signal`: in both modes, beside SciPy, beside TensorFlow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import fft

import graph_api
import tape_api
from engine.runtime.errors import DTypeError, InvalidArgumentError, ShapeError
from tests.peers import Call, both_modes, close, on_tape

RNG = np.random.default_rng(5)
X, FRAMES = RNG.normal(size=(2, 26)).astype(np.float32), RNG.normal(size=(2, 5, 8)).astype(np.float32)

CALLS: dict[str, tuple[Call, tuple[Any, ...]]] = {
    "frame": (lambda tf, x: tf.signal.frame(x, 5, 3), (X,)),
    "frame-end": (lambda tf, x: tf.signal.frame(x, 5, 3, pad_end=True, pad_value=2.0), (X,)),
    "frame-axis": (lambda tf, x: tf.signal.frame(x, 2, 1, axis=0), (X,)),
    "frame-none": (lambda tf, x: tf.signal.frame(x, 30, 2), (X,)),
    "overlap": (lambda tf, x: tf.signal.overlap_and_add(x, 3), (FRAMES,)),
    "overlap-apart": (lambda tf, x: tf.signal.overlap_and_add(x, 9), (FRAMES,)),
    "stft": (lambda tf, x: tf.math.abs(tf.signal.stft(x, 8, 3)) ** 2, (X,)),
    "stft-long": (lambda tf, x: tf.math.real(tf.signal.stft(x, 6, 2, 16, tf.signal.hamming_window, True)), (X,)),
    "inverse": (
        lambda tf, x: tf.signal.inverse_stft(
            tf.signal.stft(x, 8, 2), 8, 2, window_fn=tf.signal.inverse_stft_window_fn(2)
        ), (X,)
    ),
    "inverse-longer": (lambda tf, x: tf.signal.inverse_stft(tf.signal.stft(x, 8, 4), 10, 4, 8, None), (X,)),
    **{
        f"{name}-{kind}-{norm}": (
            lambda tf, x, name=name, kind=kind, norm=norm: getattr(tf.signal, name)(x, type=kind, norm=norm), (X,)
        )
        for name in ("dct", "idct") for kind in (1, 2, 3, 4) for norm in (None, "ortho") if kind > 1 or not norm
    },
    "dct-cut": (lambda tf, x: tf.signal.dct(x, n=9), (X,)),
    "dct-filled": (lambda tf, x: tf.signal.dct(x, type=3, n=31), (X,)),
    "mdct": (lambda tf, x: tf.signal.mdct(x, 8, pad_end=True), (X,)),
    "mdct-bare": (lambda tf, x: tf.signal.mdct(x, 8, None, norm="ortho"), (X,)),
    "inverse-mdct": (lambda tf, x: tf.signal.inverse_mdct(tf.signal.mdct(x, 8)), (X,)),
    "inverse-mdct-ortho": (
        lambda tf, x: tf.signal.inverse_mdct(tf.signal.mdct(x, 8, norm="ortho"), norm="ortho"), (X,)
    ),
    "shift": (lambda tf, x: tf.signal.fftshift(x), (X[:, :7],)),
    "shift-back": (lambda tf, x: tf.signal.ifftshift(x, axes=1), (X[:, :7],)),
    "mel": (lambda tf, x: tf.matmul(x, tf.signal.linear_to_mel_weight_matrix(5, 26, dtype=x.dtype)), (X,)),
    "mfcc": (lambda tf, x: tf.signal.mfccs_from_log_mel_spectrograms(x), (X,)),
}  # fmt: skip
VALUES: dict[str, tuple[Call, tuple[Any, ...]]] = {
    **{
        f"{name}-{size}": (lambda tf, name=name, size=size: getattr(tf.signal, f"{name}_window")(size), ())
        for name in ("hann", "hamming", "kaiser", "vorbis", "kaiser_bessel_derived")
        for size in ((1, 2, 7, 8) if name in ("hann", "hamming", "kaiser") else (2, 8))
    },
    "hann-symmetric": (lambda tf: tf.signal.hann_window(8, periodic=False, dtype=tf.float64), ()),
    "kaiser-flat": (lambda tf: tf.signal.kaiser_window(5, beta=3.0), ()),
}


@pytest.mark.parametrize("name", CALLS)
def test_both_modes(name: str) -> None:
    both_modes(*CALLS[name])


@pytest.mark.parametrize("kind", [1, 2, 3, 4])
def test_cosines_are_those_of_scipy(kind: int) -> None:
    x = X.astype(np.float64)
    np.testing.assert_allclose(tape_api.signal.dct(x, type=kind).numpy(), fft.dct(x, type=kind), rtol=1e-12, atol=1e-13)


def test_frames_of_unknown_length() -> None:
    """The number of frames is computed in the run."""
    tf = graph_api
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, None])
        y = tf.signal.frame(x, 5, 3, pad_end=True)
        z = tf.signal.overlap_and_add(y, 3)
        got, again, slope = session.run([y, z, tf.gradients(z, x)[0]], {x: X})
    on_a_tape = tape_api.signal.frame(X, 5, 3, pad_end=True)
    np.testing.assert_array_equal(got, on_a_tape)
    np.testing.assert_array_equal(again, tape_api.signal.overlap_and_add(on_a_tape, 3))
    assert slope.shape == X.shape


def test_nothing_has_transforms_and_windows() -> None:
    signal = tape_api.signal
    for kind in (2, 3, 4):
        assert signal.dct(tape_api.zeros([2, 0]), type=kind).shape == (2, 0)
    for name in ("hann", "hamming", "kaiser", "vorbis", "kaiser_bessel_derived"):
        assert getattr(signal, f"{name}_window")(0).shape == (0,)
    assert signal.stft(tape_api.zeros([0]), 4, 2).shape == (0, 3)


def test_what_is_refused() -> None:
    signal = tape_api.signal
    for call, error, words in (
        (lambda: signal.frame(X, 0, 1), InvalidArgumentError, "frame_length"),
        (lambda: signal.mfccs_from_log_mel_spectrograms(X[:, :0]), InvalidArgumentError, "bands"),
        (lambda: signal.frame(np.float32(1), 1, 1), ShapeError, "rank"),
        (lambda: signal.dct(X, type=5), InvalidArgumentError, "`type`"),
        (lambda: signal.dct(X, norm="none"), InvalidArgumentError, "`norm`"),
        (lambda: signal.dct(X, type=1, norm="ortho"), InvalidArgumentError, "type 1"),
        (lambda: signal.dct(X, axis=0), InvalidArgumentError, "last"),
        (lambda: signal.mdct(X, 6), InvalidArgumentError, "multiple of 4"),
        (lambda: signal.vorbis_window(3), InvalidArgumentError, "even"),
        (lambda: signal.hann_window(3, dtype=tape_api.int32), DTypeError, "floating"),
        (lambda: signal.linear_to_mel_weight_matrix(upper_edge_hertz=9e3), InvalidArgumentError, "sample_rate"),
    ):
        with pytest.raises(error, match=words):
            call()


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [*CALLS, *VALUES])
def test_beside_tensorflow(name: str) -> None:
    tensorflow = pytest.importorskip("tensorflow")
    call, arrays = (CALLS | VALUES)[name]
    differentiate = name in CALLS
    close(on_tape(tape_api, call, arrays, differentiate), on_tape(tensorflow, call, arrays, differentiate))
