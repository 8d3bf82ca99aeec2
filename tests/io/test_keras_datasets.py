"""Loaders of data sets: files of their formats, made here, where Keras keeps them."""

import gzip
import hashlib
import io
import json
import pickle
import struct
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from dualgrad.files import arrays
from dualgrad.keras import downloads
from dualgrad.keras.datasets import local_files
from engine.runtime.errors import DataLossError

datasets = tape_api.keras.datasets


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where Keras keeps files, with no network behind it."""
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))

    def no_network(*_: object, **__: object) -> None:
        raise OSError("no network")

    monkeypatch.setattr("urllib.request.urlopen", no_network)
    folder = tmp_path / "datasets"
    folder.mkdir()
    return folder


def test_mnist(home: Path) -> None:
    x, y = np.arange(3 * 28 * 28).reshape(3, 28, 28).astype(np.uint8), np.array([1, 2, 3], np.uint8)
    np.savez(home / "mnist.npz", x_train=x, y_train=y, x_test=x[:1], y_test=y[:1])
    for tf in (tape_api, graph_api):
        (a, b), (c, d) = tf.keras.datasets.mnist.load_data()
        assert a.dtype == np.uint8
        assert (a.tolist(), b.tolist(), c.shape, d.tolist()) == (x.tolist(), [1, 2, 3], (1, 28, 28), [1])
    np.savez(home / "part.npz", x_train=x)
    with pytest.raises(ValueError, match="no array y_train, x_test, y_test; it has x_train"):
        datasets.mnist.load_data("part.npz")


def test_a_file_that_is_not_there_is_said_where_to_put(home: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"put it at .*mnist\.npz"):
        datasets.mnist.load_data()
    assert list(home.iterdir()) == []


def test_fashion_mnist(home: Path) -> None:
    folder = home / "fashion-mnist"
    folder.mkdir()
    images, labels = np.arange(2 * 28 * 28).reshape(2, 28, 28).astype(np.uint8), np.array([7, 9], np.uint8)
    for which in ("train", "t10k"):
        data = struct.pack(">4I", 2051, 2, 28, 28) + images.tobytes()
        (folder / f"{which}-images-idx3-ubyte.gz").write_bytes(gzip.compress(data))
        data = struct.pack(">2I", 2049, 2) + labels.tobytes()
        (folder / f"{which}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(data))
    (x, y), _ = datasets.fashion_mnist.load_data()
    assert (x.tolist(), y.tolist()) == (images.tolist(), [7, 9])
    (folder / "train-images-idx3-ubyte.gz").write_bytes(gzip.compress(bytes(16)))
    with pytest.raises(ValueError, match="no IDX file of rank 3"):
        datasets.fashion_mnist.load_data()


def batch(first: int, names: list[bytes]) -> bytes:
    rows = np.arange(first, first + 2 * 3072).reshape(2, 3072).astype(np.uint8)
    return pickle.dumps({b"data": rows, **{name: [first, first + 1] for name in names}}, protocol=2)


@pytest.mark.parametrize("packed", [False, True])
def test_cifar10(home: Path, packed: bool) -> None:
    members = {f"data_batch_{i}": batch(i, [b"labels"]) for i in range(1, 6)} | {"test_batch": batch(9, [b"labels"])}
    if packed:
        with tarfile.open(home / "cifar-10-batches-py-target_archive", "w:gz") as tar:
            for name, data in members.items():
                info = tarfile.TarInfo(f"cifar-10-batches-py/{name}")
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
        digest = hashlib.sha256((home / "cifar-10-batches-py-target_archive").read_bytes()).hexdigest()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(datasets.cifar10, "_DIGEST", digest)
            (x, y), (_, t) = datasets.cifar10.load_data()
    else:
        (home / "cifar-10-batches-py").mkdir()
        for name, data in members.items():
            (home / "cifar-10-batches-py" / name).write_bytes(data)
        (x, y), (_, t) = datasets.cifar10.load_data()
    assert (x.shape, x.dtype, y.shape) == ((10, 32, 32, 3), np.uint8, (10, 1))
    assert y[:4, 0].tolist() == [1, 2, 2, 3]
    assert t.tolist() == [[9], [10]]
    assert x[0, 0, 0].tolist() == [1, (1 + 1024) % 256, (1 + 2048) % 256]


def test_cifar100_and_pickles_that_hold_code(home: Path) -> None:
    folder = home / "cifar-100-python"
    folder.mkdir()
    for name in ("train", "test"):
        (folder / name).write_bytes(batch(3, [b"fine_labels", b"coarse_labels"]))
    assert datasets.cifar100.load_data("coarse")[0][1].tolist() == [[3], [4]]
    with pytest.raises(ValueError, match="label_mode"):
        datasets.cifar100.load_data("other")
    (folder / "train").write_bytes(pickle.dumps(print, protocol=2))
    with pytest.raises(DataLossError, match=r"train.*which is no array"):
        datasets.cifar100.load_data()


class Evil:
    """What makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


def test_nothing_that_lies_in_the_cache_runs(home: Path, tmp_path: Path) -> None:
    mark, evil = tmp_path / "ran", Evil(tmp_path / "ran")
    inner = np.empty(2, object)
    inner[:] = [[1], [evil]]
    for planted in (np.array(evil, object), np.array([evil, evil], object), inner):
        names = ("x", "y", "x_train", "y_train", "x_test", "y_test")
        for name in ("mnist", "imdb", "boston_housing"):
            np.savez(home / f"{name}.npz", allow_pickle=True, **dict.fromkeys(names, planted))
            with pytest.raises(DataLossError, match=rf"{name}\.npz"):
                getattr(datasets, name).load_data()
    for data in (evil, {b"data": evil, b"labels": [1]}, [np.zeros(2), evil]):
        for protocol in (0, 2, 4, 5):
            for name, part in (("cifar-10-batches-py", "data_batch_1"), ("cifar-100-python", "train")):
                (home / name).mkdir(exist_ok=True)
                (home / name / part).write_bytes(pickle.dumps(data, protocol=protocol))
            for which in (datasets.cifar10, datasets.cifar100):
                with pytest.raises(DataLossError, match="which is no array"):
                    which.load_data()
    assert not mark.exists()


def test_pickles_of_every_protocol_are_read() -> None:
    lists = local_files.ragged([[1, 2], [3, 4]])
    for protocol in range(6):
        for array in (np.arange(6, dtype=">i4").reshape(2, 3), np.ones((2, 2)).T, np.array([True, False]), lists):
            for trusted in (False, True):
                found = arrays.pickled(io.BytesIO(pickle.dumps({"a": array, "n": [1]}, protocol=protocol)), trusted)
                held = {k.decode() if isinstance(k, bytes) else k: v for k, v in found.items()}
                assert held["n"] == [1]
                assert held["a"].tolist() == array.tolist()
                assert held["a"].dtype.newbyteorder("=") == array.dtype.newbyteorder("=")


def test_archives_that_unpack_to_more_than_the_limit(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DUALGRAD_READ_LIMIT", "100000")
    zeros = np.zeros(200_000, np.uint8)
    np.savez_compressed(home / "mnist.npz", x_train=zeros, y_train=zeros, x_test=zeros, y_test=zeros)
    with pytest.raises(DataLossError, match=r"mnist\.npz.*more than the 100,000 .*DUALGRAD_READ_LIMIT="):
        datasets.mnist.load_data()
    (home / "fashion-mnist").mkdir()
    (home / "fashion-mnist" / "train-images-idx3-ubyte.gz").write_bytes(gzip.compress(zeros.tobytes()))
    with pytest.raises(DataLossError, match="DUALGRAD_READ_LIMIT"):
        datasets.fashion_mnist.load_data()
    with zipfile.ZipFile(tmp_path / "b.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("a", zeros.tobytes())
    with tarfile.open(tmp_path / "b.tar.gz", "w:gz") as tar:
        info = tarfile.TarInfo("a")
        info.size = len(zeros)
        tar.addfile(info, io.BytesIO(zeros.tobytes()))
    for name in ("b.zip", "b.tar.gz"):
        with pytest.raises(DataLossError, match="DUALGRAD_READ_LIMIT"):
            downloads.unpack(tmp_path / name, tmp_path / "unpacked")
        assert not (tmp_path / "unpacked").exists()


@pytest.mark.parametrize("shape", [(1 << 50,), (3, 1 << 40), (7,)])
def test_arrays_that_announce_another_size(shape: tuple[int, ...]) -> None:
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": shape})
    stream.write(bytes(16))
    stream.seek(0)
    with pytest.raises(DataLossError, match="there are 16"):
        arrays.npy(stream, stream.getbuffer().nbytes)


def test_texts(home: Path) -> None:
    x = local_files.ragged([[4, 5, 6], [7], [8, 9], [3, 3, 3, 3]])
    y = np.array([0, 1, 0, 1])
    np.savez(home / "imdb.npz", x_train=x, y_train=y, x_test=x, y_test=y)
    (home / "imdb_word_index.json").write_text(json.dumps({"the": 1}))
    (a, b), _ = datasets.imdb.load_data(num_words=9)
    by_label = {tuple(t): label for t, label in zip(a, b, strict=True)}
    assert by_label == {(1, 7, 8, 2): 0, (1, 2): 1, (1, 2, 2): 0, (1, 6, 6, 6, 6): 1}
    (a, _), _ = datasets.imdb.load_data(maxlen=4)
    assert sorted(map(len, a)) == [2, 3]
    with pytest.raises(ValueError, match="increase it"):
        datasets.imdb.load_data(maxlen=1)
    assert datasets.imdb.get_word_index() == {"the": 1}


def test_prices(home: Path) -> None:
    np.savez(home / "boston_housing.npz", x=np.arange(20.0).reshape(10, 2), y=np.arange(10.0))
    (x, y), (u, v) = datasets.boston_housing.load_data()
    assert (x.shape, u.shape) == ((8, 2), (2, 2))
    assert sorted([*y, *v]) == list(range(10))
    np.testing.assert_array_equal(x[:, 0], 2 * y)
    with pytest.raises(ValueError, match="test_split"):
        datasets.boston_housing.load_data(test_split=1.0)


def test_files_from_anywhere(tmp_path: Path) -> None:
    source = tmp_path / "source.txt"
    source.write_text("contents")
    digest = hashlib.md5(b"contents", usedforsecurity=False).hexdigest()
    get = tape_api.keras.utils.get_file
    path = get("mine.txt", source.as_uri(), md5_hash=digest, cache_dir=str(tmp_path), cache_subdir="sub")
    assert path == str(tmp_path / "sub" / "mine.txt")
    assert Path(path).read_text() == "contents"
    source.write_text("other")
    assert Path(get("mine.txt", source.as_uri(), cache_dir=str(tmp_path), cache_subdir="sub")).read_text() == "contents"
    with pytest.raises(ValueError, match="does not hash to"):
        get("new.txt", source.as_uri(), file_hash="0" * 64, cache_dir=str(tmp_path))
    assert not (tmp_path / "datasets" / "new.txt").exists()
    with pytest.raises(ValueError, match="must be a name"):
        get("a/b", source.as_uri())
    with pytest.raises(ValueError, match="origin"):
        get("a")


def test_archives_are_unpacked(tmp_path: Path) -> None:
    archive = tmp_path / "a.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        info = tarfile.TarInfo("inner/file")
        info.size = 2
        tar.addfile(info, io.BytesIO(b"hi"))
    folder = tape_api.keras.utils.get_file("a.tar.gz", archive.as_uri(), extract=True, cache_dir=str(tmp_path / "c"))
    assert (Path(folder) / "inner" / "file").read_text() == "hi"
    assert Path(folder).name == "a_extracted"
    (tmp_path / "b.zip").write_text("no archive")
    with pytest.raises(ValueError, match="is no archive"):
        tape_api.keras.utils.get_file("b.zip", (tmp_path / "b.zip").as_uri(), extract=True, cache_dir=str(tmp_path))
