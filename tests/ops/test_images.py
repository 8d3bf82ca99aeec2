"""Images: sizes, crops, flips, colors and measures, in both modes, by differences, beside TensorFlow."""

import itertools
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from engine.runtime.errors import InvalidArgumentError, ShapeError
from tests.peers import Call, both_modes, close, in_graph, on_tape

RNG = np.random.default_rng(7)
BATCH = RNG.uniform(0.05, 0.95, (2, 5, 7, 3)).astype(np.float32)
OTHER = np.clip(BATCH + RNG.normal(size=BATCH.shape) * 0.1, 0, 1).astype(np.float32)
BYTES = RNG.integers(0, 256, (4, 6, 3), dtype=np.uint8)
BOXES = np.array([[0.1, 0.2, 0.8, 0.9], [-0.2, 0.1, 1.1, 0.6], [0.9, 0.8, 0.2, 0.1]], np.float32)
OWNERS = np.array([0, 1, 0], np.int32)

# what both versions of TensorFlow have
CALLS: dict[str, tuple[Call, tuple[Any, ...]]] = {
    "flip_left_right": (lambda tf, x: tf.image.flip_left_right(x), (BATCH,)),
    "flip_up_down": (lambda tf, x: tf.image.flip_up_down(x), (BATCH[0],)),
    "transpose": (lambda tf, x: tf.image.transpose(x), (BATCH,)),
    **{f"rot90-{k}": (lambda tf, x, k=k: tf.image.rot90(x, k), (BATCH,)) for k in (0, 1, 2, 3, 5)},
    "rot90-one": (lambda tf, x: tf.image.rot90(x), (BATCH[0],)),
    "crop": (lambda tf, x: tf.image.crop_to_bounding_box(x, 1, 2, 3, 4), (BATCH,)),
    "pad": (lambda tf, x: tf.image.pad_to_bounding_box(x, 1, 2, 9, 10), (BATCH,)),
    "pad-one": (lambda tf, x: tf.image.pad_to_bounding_box(x, 1, 2, 9, 10), (BATCH[0],)),
    "central_crop": (lambda tf, x: tf.image.central_crop(x, 0.5), (BATCH,)),
    "crop_and_resize": (
        lambda tf, x, b, i: tf.image.crop_and_resize(x, b, i, [4, 3], extrapolation_value=0.3),
        (BATCH, BOXES, OWNERS),
    ),
    "crop_and_resize-one": (lambda tf, x, b, i: tf.image.crop_and_resize(x, b, i, [1, 1]), (BATCH, BOXES, OWNERS)),
    "sobel_edges": (lambda tf, x: tf.image.sobel_edges(x), (BATCH,)),
    "rgb_to_grayscale": (lambda tf, x: tf.image.rgb_to_grayscale(x), (BATCH,)),
    "grayscale_to_rgb": (lambda tf, x: tf.image.grayscale_to_rgb(x[..., :1]), (BATCH,)),
    "rgb_to_hsv": (lambda tf, x: tf.image.rgb_to_hsv(x), (BATCH,)),
    "adjust_brightness": (lambda tf, x: tf.image.adjust_brightness(x, 0.1), (BATCH,)),
    "adjust_gamma": (lambda tf, x: tf.image.adjust_gamma(x, 1.7, 0.9), (BATCH,)),
    "per_image_standardization": (lambda tf, x: tf.image.per_image_standardization(x), (BATCH,)),
    "total_variation": (lambda tf, x: tf.image.total_variation(x), (BATCH,)),
    "total_variation-one": (lambda tf, x: tf.image.total_variation(x), (BATCH[0],)),
    "psnr": (lambda tf, x, y: tf.image.psnr(x, y, 1.0), (BATCH, OTHER)),
    "ssim": (lambda tf, x, y: tf.image.ssim(x, y, 1.0, filter_size=4), (BATCH, OTHER)),
    "convert": (lambda tf, x: tf.image.convert_image_dtype(x, tf.float32), (BATCH.astype(np.float64),)),
}
# TensorFlow has no gradient of these
VALUES: dict[str, tuple[Call, tuple[Any, ...]]] = {
    "crop-halves": (lambda tf, x: tf.image.crop_and_resize(x, [[0, 0, 1, 1.0]], [1], [9, 13], "nearest"), (BATCH,)),
    "hsv_to_rgb": (lambda tf, x: tf.image.hsv_to_rgb(x), (BATCH,)),
    "adjust_contrast": (lambda tf, x: tf.image.adjust_contrast(x, 1.7), (BATCH,)),
    "adjust_hue": (lambda tf, x: tf.image.adjust_hue(x, 0.3), (BATCH,)),
    "adjust_saturation": (lambda tf, x: tf.image.adjust_saturation(x, 0.7), (BATCH,)),
}
BYTE_CALLS: dict[str, tuple[Call, tuple[Any, ...]]] = {
    "gray": (lambda tf, x: tf.image.rgb_to_grayscale(x), (BYTES,)),
    "bright": (lambda tf, x: tf.image.adjust_brightness(x, 0.3), (BYTES,)),
    "contrast": (lambda tf, x: tf.image.adjust_contrast(x, 2.0), (BYTES,)),
    "float": (lambda tf, x: tf.image.convert_image_dtype(x, tf.float32), (BYTES,)),
    "wider": (lambda tf, x: tf.image.convert_image_dtype(x, tf.uint16), (BYTES,)),
    "narrower": (lambda tf, x: tf.image.convert_image_dtype(x, tf.int8, saturate=True), (BYTES,)),
    "from_float": (lambda tf, x: tf.image.convert_image_dtype(x * 1.5, tf.uint8, saturate=True), (BATCH,)),
    "standard": (lambda tf, x: tf.image.per_image_standardization(x), (BYTES,)),
    "nearest": (lambda tf, x: tf.image.resize(x, [7, 3], "nearest"), (BYTES,)),
    "hsv": (lambda tf, x: tf.image.rgb_to_hsv(tf.cast(x // 64, tf.float32)), (BYTES,)),
}
SIZES = [(3, 4), (10, 14), (5, 9), (1, 1), (8, 3)]
METHODS = ("bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic")


@pytest.mark.parametrize("name", [*CALLS, *VALUES])
def test_both_modes(name: str) -> None:
    call, arrays = (CALLS | VALUES)[name]
    # where single precision is all there is, differences are too coarse
    coarse = name in ("psnr", "ssim", "rgb_to_grayscale", "adjust_brightness", "adjust_contrast", "adjust_gamma")
    coarse |= name in ("adjust_hue", "adjust_saturation", "per_image_standardization", "convert", "crop_and_resize")
    if coarse or name in ("crop_and_resize-one", "crop-halves"):
        np.testing.assert_equal(in_graph(graph_api, call, arrays), on_tape(tape_api, call, arrays))
    else:
        both_modes(call, arrays)


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
def test_beside_tensorflow(name: str) -> None:
    tensorflow = pytest.importorskip("tensorflow")
    call, arrays = CALLS[name]
    close(on_tape(tape_api, call, arrays), on_tape(tensorflow, call, arrays), rtol=3e-5, atol=3e-5)


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [*VALUES, *BYTE_CALLS])
def test_values_beside_tensorflow(name: str) -> None:
    tensorflow = pytest.importorskip("tensorflow")
    call, arrays = (VALUES | BYTE_CALLS)[name]
    ours, theirs = (on_tape(tf, call, arrays, differentiate=False) for tf in (tape_api, tensorflow))
    close(ours, theirs, rtol=1e-5, atol=2e-6 if ours[0].dtype.kind == "f" else 1)


def resized(tf: Any, call: Call, images: Any, mode: Any) -> list[Any]:
    return mode(tf, call, (images,), differentiate=images.dtype.kind == "f")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("antialias", [False, True])
def test_resize_is_linear(method: str, antialias: bool) -> None:
    """Each mode gives the same; the gradient of <w, resize(x)> is the same map transposed; constants stay constant."""
    for size in SIZES:
        call = lambda tf, x, s=size: tf.image.resize(x, s, method, antialias=antialias)  # noqa: E731
        tape = on_tape(tape_api, call, (BATCH,))
        graph = in_graph(
            graph_api, lambda tf, x, s=size: tf.image.resize_images(x, s, min(METHODS.index(method), 3)), (BATCH,)
        )
        assert tape[0].shape == graph[0].shape == (2, *size, 3)
        x = tape_api.constant(BATCH)
        with tape_api.GradientTape() as recording:
            recording.watch(x)
            y = call(tape_api, x)
        g = recording.gradient(y, x, output_gradients=y)
        np.testing.assert_allclose(np.sum(g.numpy() * BATCH), np.sum(np.square(y.numpy())), rtol=1e-5)
        ones = call(tape_api, np.ones((1, 5, 7, 1), np.float32)).numpy()
        np.testing.assert_allclose(ones, np.ones_like(ones), rtol=2e-3)


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("antialias", [False, True])
def test_resize_beside_tensorflow(method: str, antialias: bool) -> None:
    tensorflow = pytest.importorskip("tensorflow")
    for size in SIZES:
        for images in (BATCH, BATCH[0], BYTES):
            call = lambda tf, x, s=size: tf.image.resize(x, s, method, antialias=antialias)  # noqa: E731
            # TensorFlow has no gradient of areas
            differentiate = images.dtype.kind == "f" and method != "area"
            ours, theirs = (on_tape(tf, call, (images,), differentiate) for tf in (tape_api, tensorflow))
            scale = 255 if images.dtype.kind == "u" else 1
            close(ours, theirs, rtol=2e-5, atol=2e-5 * scale)


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("method", range(4))
def test_resize_images_beside_tensorflow(method: int, align_corners: bool) -> None:
    tensorflow = pytest.importorskip("tensorflow").compat.v1
    for size, x in itertools.product([*SIZES, (5, 7)], (BATCH, BATCH[:, :1])):
        call = lambda tf, x, s=size: tf.image.resize_images(x, s, method, align_corners)  # noqa: E731
        differentiate = method != 3 or size == x.shape[1:3]
        ours, theirs = (in_graph(tf, call, (x,), differentiate) for tf in (graph_api, tensorflow))
        close(ours, theirs, rtol=2e-5, atol=2e-5)


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore")
def test_frames_beside_tensorflow() -> None:
    """Sizes that keep the ratio, paddings, crops; TensorFlow 1's single methods."""
    tensorflow = pytest.importorskip("tensorflow")
    calls: list[Call] = [
        lambda tf, x: tf.image.resize(x, [9, 9], preserve_aspect_ratio=True),
        lambda tf, x: tf.image.resize_with_pad(x, 9, 8),
        lambda tf, x: tf.image.resize_with_pad(x, 4, 11, method="bicubic", antialias=True),
        lambda tf, x: tf.image.resize_with_crop_or_pad(x, 8, 4),
        lambda tf, x: tf.image.resize_with_crop_or_pad(x, 3, 10),
        lambda tf, x: tf.image.resize_with_crop_or_pad(x, 4, 6),
    ]
    for call in calls:
        for images in (BATCH, BATCH[0]):
            close(on_tape(tape_api, call, (images,)), on_tape(tensorflow, call, (images,)), atol=2e-5)
    older: list[Call] = [
        lambda tf, x: tf.image.resize_bilinear(x, [3, 9], half_pixel_centers=True),
        lambda tf, x: tf.image.resize_bicubic(x, [3, 9], align_corners=True),
        lambda tf, x: tf.image.resize_nearest_neighbor(x, [3, 9]),
        lambda tf, x: tf.image.resize_image_with_crop_or_pad(x, 8, 4),
        lambda tf, x: tf.image.resize_image_with_pad(x, 8, 4),
        lambda tf, x: tf.image.transpose_image(x),
    ]
    for call in older:
        close(in_graph(graph_api, call, (BATCH,)), in_graph(tensorflow.compat.v1, call, (BATCH,)), atol=2e-5)


def test_sizes_known_only_in_a_run() -> None:
    tf = graph_api
    x, size = tf.placeholder(tf.float32, [None, None, None, 3]), tf.placeholder(tf.int32, [2])
    y = tf.image.resize_bilinear(x, size)
    with tf.Session() as session:
        value, slope = session.run([y, tf.gradients(y, x)[0]], {x: BATCH, size: [3, 4]})
        wanted = session.run(tf.image.resize_bilinear(tf.constant(BATCH), [3, 4]))
    np.testing.assert_array_equal(value, wanted)
    np.testing.assert_allclose(slope.sum(), value.size, rtol=1e-5)


def test_random_changes() -> None:
    """Each is one of what it may be; a seed repeats it."""
    tf = tape_api
    tf.random.set_seed(3)
    flipped = [tf.image.random_flip_left_right(BATCH[0]).numpy() for _ in range(40)]
    assert {a.tobytes() for a in flipped} == {BATCH[0].tobytes(), BATCH[0][:, ::-1].copy().tobytes()}
    part = tf.image.random_crop(BATCH, [2, 3, 4, 3]).numpy()
    assert any(np.array_equal(part, BATCH[:, i : i + 3, j : j + 4]) for i in range(3) for j in range(4))
    bright = tf.image.random_brightness(BATCH, 0.2).numpy() - BATCH
    assert np.ptp(bright) < 1e-6 and abs(bright.mean()) <= 0.2
    for name, bounds in (("hue", (0.2,)), ("contrast", (0.5, 1.5)), ("saturation", (0.5, 1.5))):
        changed = getattr(tf.image, f"random_{name}")(BATCH, *bounds).numpy()
        assert changed.shape == BATCH.shape and not np.array_equal(changed, BATCH)
    with graph_api.Session() as session:
        x = graph_api.constant(BATCH)
        crop, flip = graph_api.random_crop(x, [1, 2, 2, 3], seed=4), graph_api.image.random_flip_up_down(x)
        assert session.run(crop).shape == (1, 2, 2, 3)
        for image, given in zip(session.run(flip), BATCH, strict=True):
            assert np.array_equal(image, given) or np.array_equal(image, given[::-1])


REFUSED: dict[str, tuple[Call, type[Exception], str]] = {
    "method": (lambda tf: tf.image.resize(BATCH, [2, 2], "cubic"), InvalidArgumentError, "`method`"),
    "size": (lambda tf: tf.image.resize(BATCH, [2, 0]), InvalidArgumentError, "`size`"),
    "rank": (lambda tf: tf.image.resize(BATCH[0, 0], [2, 2]), ShapeError, "rank 3 or 4"),
    "crop": (lambda tf: tf.image.crop_to_bounding_box(BATCH, 3, 0, 3, 3), InvalidArgumentError, "do not lie in"),
    "pad": (lambda tf: tf.image.pad_to_bounding_box(BATCH, 0, 0, 4, 9), InvalidArgumentError, "do not fit"),
    "fraction": (lambda tf: tf.image.central_crop(BATCH, 1.5), InvalidArgumentError, "central_fraction"),
    "channels": (lambda tf: tf.image.rgb_to_hsv(BATCH[..., :2]), ShapeError, "3 channels"),
    "gamma": (lambda tf: tf.image.adjust_gamma(BATCH, -1.0), InvalidArgumentError, "`gamma`"),
    "bounds": (lambda tf: tf.image.random_contrast(BATCH, 2.0, 1.0), InvalidArgumentError, "lower < upper"),
    "delta": (lambda tf: tf.image.random_hue(BATCH, 0.7), InvalidArgumentError, "max_delta"),
    "part": (lambda tf: tf.image.random_crop(BATCH, [3, 1, 1, 1]), InvalidArgumentError, "no part of size"),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("tf", [graph_api, tape_api], ids=["graph", "tape"])
def test_refused(name: str, tf: Any) -> None:
    call, error, message = REFUSED[name]
    with pytest.raises(error, match=message):
        call(tf)


def test_draws_by_a_seed_are_those_of_the_seeds_numbers() -> None:
    tf = tape_api
    image = tf.constant(np.arange(24.0, dtype=np.float32).reshape(4, 2, 3) / 24)
    many, seed = tf.stack([image] * 5), [5, 6]
    drawn = tf.random.stateless_uniform([5, 1, 1, 1], seed).numpy() > 0.5
    flipped = tf.image.stateless_random_flip_left_right(many, seed).numpy()
    np.testing.assert_array_equal(flipped, np.where(drawn, many.numpy()[:, :, ::-1], many.numpy()))
    assert drawn.any()
    assert not drawn.all()
    by = tf.random.stateless_uniform([], seed, -0.25, 0.25)
    np.testing.assert_array_equal(
        tf.image.stateless_random_brightness(image, 0.25, seed), tf.image.adjust_brightness(image, by)
    )
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        built = session.run(graph_api.image.stateless_random_crop(image.numpy(), [2, 2, 3], seed))
    np.testing.assert_array_equal(built, tf.image.stateless_random_crop(image, [2, 2, 3], seed))
