"""Files and pictures as tensors, and Keras's helpers for them."""

import io
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from engine.runtime.errors import InvalidArgumentError, NotFoundError

image = pytest.importorskip("PIL.Image")
PIXELS = np.random.default_rng(0).integers(0, 256, (4, 6, 4)).astype(np.uint8)


def png(*channels: int, kind: str = "PNG") -> bytes:
    """A picture with some of the channels."""
    out = io.BytesIO()
    array = PIXELS[:, :, list(channels)]
    image.fromarray(array[:, :, 0] if len(channels) == 1 else array).save(out, kind)
    return out.getvalue()


def read(tf: Any, path: str) -> list[Any]:
    """A file, decoded in the ways that programs use."""
    data = tf.io.read_file(path)
    found = [
        tf.image.decode_png(data),
        tf.image.decode_png(data, channels=3),
        tf.image.decode_png(data, channels=4),
        tf.image.decode_jpeg(data, channels=3),
        tf.image.decode_image(data, dtype=tf.float32),
    ]
    if hasattr(found[0], "numpy"):
        return [v.numpy() for v in found]
    with tf.Session() as session:
        return session.run(found)


@pytest.mark.parametrize("channels", [(0,), (0, 1, 2), (0, 1, 2, 3)])
def test_pictures_are_read(channels: Any, tmp_path: Path) -> None:
    path = tmp_path / "picture.png"
    path.write_bytes(png(*channels))
    tape = read(tape_api, str(path))
    with graph_api.Graph().as_default():
        np.testing.assert_equal(read(graph_api, str(path)), tape)
    np.testing.assert_array_equal(tape[0], PIXELS[:, :, list(channels)])


@pytest.mark.peer
@pytest.mark.parametrize("channels", [(0,), (0, 1, 2), (0, 1, 2, 3)])
def test_they_are_tensorflows(channels: Any, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tensorflow = pytest.importorskip("tensorflow")
    path = tmp_path / "picture.png"
    path.write_bytes(png(*channels))
    for a, b in zip(read(tape_api, str(path)), read(tensorflow, str(path)), strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_what_is_no_picture_is_refused(tmp_path: Path) -> None:
    tf = tape_api
    with pytest.raises(NotFoundError, match=r"absent\.png"):
        tf.io.read_file(str(tmp_path / "absent.png"))
    with pytest.raises(InvalidArgumentError, match="no picture"):
        tf.image.decode_png(b"words")
    with pytest.raises(tf.errors.UnimplementedError, match="GIF"):
        tf.image.decode_image(png(0, kind="GIF"))
    with pytest.raises(ValueError, match="channels"):
        tf.image.decode_png(png(0), channels=2)
    with pytest.raises(TypeError, match="one string"):
        tf.image.decode_png([png(0), png(0)])


@pytest.mark.parametrize("tf", [tape_api, graph_api])
def test_keras_helpers(tf: Any, tmp_path: Path) -> None:
    utils, path = tf.keras.utils, str(tmp_path / "picture.png")
    utils.save_img(path, PIXELS[:, :, :3].astype(float), scale=False)
    picture = utils.load_img(path)
    np.testing.assert_array_equal(utils.img_to_array(picture), PIXELS[:, :, :3].astype(np.float32))
    assert utils.img_to_array(picture, data_format="channels_first", dtype="uint8").shape == (3, 4, 6)
    assert utils.img_to_array(utils.load_img(path, color_mode="grayscale")).shape == (4, 6, 1)
    assert utils.load_img(path, target_size=(2, 5)).size == (5, 2)
    half = utils.img_to_array(utils.load_img(path, target_size=(4, 4), keep_aspect_ratio=True))
    np.testing.assert_array_equal(half, PIXELS[:, 1:5, :3])
    stretched = np.asarray(utils.array_to_img(np.array([[[0.0], [2.0]], [[1.0], [2.0]]])))
    assert stretched.tolist() == [[0, 255], [127, 255]]
    for wrong in (lambda: utils.load_img(path, color_mode="x"), lambda: utils.array_to_img(np.ones((2, 2)))):
        with pytest.raises(ValueError, match=r"color_mode|rank 3"):
            wrong()


@pytest.mark.parametrize("tf", [tape_api, graph_api])
def test_a_bar(tf: Any, capsys: pytest.CaptureFixture[str]) -> None:
    bar = tf.keras.utils.Progbar(4, width=8, interval=0, stateful_metrics=["rate"])
    bar.update(1, [("loss", 4.0), ("rate", 0.5)])
    bar.add(3, [("loss", 2.0), ("rate", 0.25)])
    lines = capsys.readouterr().out.split("\r")
    assert lines[1].startswith("1/4 [==......] - 0s - loss: 4.0000 - rate: 0.5000")
    assert lines[2].startswith("4/4 [========] - 0s - loss: 2.5000 - rate: 0.2500")
    assert lines[2].endswith("\n")
    quiet = tf.keras.utils.Progbar(None, verbose=0)
    quiet.add(1)
    assert not capsys.readouterr().out


@pytest.mark.parametrize("tf", [graph_api, tape_api])
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_pictures_are_written(tf: Any, channels: int) -> None:
    pixels = PIXELS[:, :, :channels]
    with graph_api.Graph().as_default():
        made = [tf.image.encode_png(pixels), tf.io.encode_png(np.stack([pixels, pixels]), compression=0)]
        one, two = [v.numpy() for v in made] if tf is tape_api else graph_api.Session().run(made)
    assert two.shape == (2,) and set(two.tolist()) == {one}
    np.testing.assert_array_equal(np.asarray(image.open(io.BytesIO(one))).reshape(pixels.shape), pixels)


def test_what_cannot_be_written_is_refused() -> None:
    with pytest.raises(TypeError, match=r"encode_png: argument `image` must be of dtype uint8 or uint16"):
        tape_api.image.encode_png(np.zeros((2, 2, 1)))
    with pytest.raises(ValueError, match=r"encode_png: argument `image` must be of shape"):
        tape_api.image.encode_png(np.zeros((2, 2, 5), np.uint8))
    with pytest.raises(InvalidArgumentError, match=r"`compression` must be from -1 to 9"):
        tape_api.image.encode_png(PIXELS, compression=10)


def test_arrays_in_messages() -> None:
    for tf in (graph_api, tape_api):
        proto = tf.make_tensor_proto([[1.0, 2.0]])
        assert tf.make_ndarray(proto).dtype == np.float32 and tf.make_ndarray(proto).tolist() == [[1.0, 2.0]]
        assert tf.make_ndarray(tf.make_tensor_proto(3, dtype=tf.int64, shape=[2])).tolist() == [3, 3]
        assert tf.make_ndarray(tf.make_tensor_proto("a")).item() == b"a"
        assert tf.make_ndarray(tf.make_tensor_proto([1, 2], shape=[2, 1])).tolist() == [[1], [2]]
        with pytest.raises(TypeError, match=r"Expected Tensor's shape: \(3,\)"):
            tf.make_tensor_proto([1, 2], shape=[3], verify_shape=True)
        assert tf.make_ndarray(tf.make_tensor_proto([1, 2], shape=[3])).tolist() == [1, 2, 2]  # as TensorFlow reads it
        with pytest.raises(ValueError, match=r"2 values do not fill the shape \(1,\)"):
            tf.make_tensor_proto([1, 2], shape=[1])
        with pytest.raises(TypeError, match="dtype int32"):
            tf.make_tensor_proto(1.5, dtype=tf.int32)
        with pytest.raises(ValueError, match="None values not supported"):
            tf.make_tensor_proto(None)


@pytest.mark.parametrize("tf", [tape_api, graph_api])
def test_jpegs_are_written(tf: Any) -> None:
    pixels = np.arange(16 * 24 * 3).reshape(16, 24, 3).astype(np.uint8)
    more = {"quality": 50, "progressive": True, "chroma_downsampling": False, "density_unit": "cm", "x_density": 100}
    with graph_api.Graph().as_default():
        calls = [tf.io.encode_jpeg(pixels), tf.image.encode_jpeg(pixels[..., :1])]
        calls.append(tf.io.encode_jpeg(pixels, y_density=50, optimize_size=True, xmp_metadata="hi", **more))
        made = [v.numpy() if tf is tape_api else graph_api.Session().run(v) for v in calls]
    # sizes and heads of TensorFlow 2.21's files
    assert [len(x) for x in made] == [881, 558, 678]
    assert made[0].startswith(b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x01\x01,\x01,\x00\x00\xff\xdb")
    assert made[2].startswith(
        b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x02\x00d\x002\x00\x00\xff\xe1\x00!http://ns.adobe"
    )
    back = np.asarray(image.open(io.BytesIO(made[0])))
    assert back.shape == pixels.shape


@pytest.mark.parametrize(
    ("shape", "more", "words"),
    [
        ((2, 2, 2), {}, "must have 1 or 3 channels"),
        ((1, 2, 2, 3), {}, "must be 3-dimensional"),
        ((2, 2, 3), {"quality": 101}, r"quality must be in \[0,100\], got 101"),
        ((2, 2, 3), {"format": "grayscale"}, "format grayscale expects 1 channels"),
    ],
)
def test_jpegs_that_are_refused(shape: Any, more: Any, words: str) -> None:
    with pytest.raises(InvalidArgumentError, match=words):
        tape_api.io.encode_jpeg(np.zeros(shape, np.uint8), **more)
