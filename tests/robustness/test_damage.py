"""Damaged and hostile files: one kind of error, which names the file, and no more memory than the reader says."""

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from dualgrad.files import arrays, bundle, checkpoints, table
from dualgrad.files.object_graph import GRAPH_KEY
from dualgrad.files.protos import (
    BundleEntryProto,
    BundleHeaderProto,
    Dim,
    ObjectReference,
    TensorShapeProto,
    TensorSliceProto,
    TrackableObject,
    TrackableObjectGraph,
    VersionDef,
)
from dualgrad.files.tensors import shape_proto
from engine.runtime.errors import DataLossError, NotFoundError, OpError, ResourceExhaustedError
from tape_api import keras
from tape_api.keras import layers

# ---- HDF5 ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def h5py() -> Any:
    return pytest.importorskip("h5py")


def net() -> Any:
    return keras.Sequential([layers.Dense(2, input_shape=(3,), name="d")])


def loading(path: Path, pattern: str) -> None:
    with pytest.raises(DataLossError, match=rf"{path.name}.*{pattern}"):
        net().load_weights(path)


@pytest.mark.parametrize("where", ["layers/dense/vars/0", "elsewhere"])
def test_nothing_outside_of_a_file_is_read(h5py: Any, tmp_path: Path, where: str) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(np.arange(6.0).astype(np.float32).tobytes())
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["x"] = np.ones((3, 2), np.float32)
    source = h5py.VirtualSource(tmp_path / "other.h5", "x", shape=(3, 2))
    layout = h5py.VirtualLayout((3, 2), np.float32)
    layout[:] = source
    plant = {
        "is a link": [
            lambda file: file.__setitem__(where, h5py.ExternalLink(str(tmp_path / "other.h5"), "x")),
            lambda file: file.__setitem__(where, h5py.SoftLink("/layers")),
        ],
        "lie in another file": [
            lambda file: file.create_dataset(where, (3, 2), "f4", external=[(str(secret), 0, 24)]),
            lambda file: file.create_virtual_dataset(where, layout),
        ],
        "is inside itself": [lambda file: file.__setitem__(where, file["layers"])],
        "neither a group nor an array": [lambda file: file.__setitem__(where, np.dtype("f4"))],
    }
    for pattern, ways in plant.items():
        for way in ways:
            path = tmp_path / "w.weights.h5"
            net().save_weights(path)
            with h5py.File(path, "r+") as file:
                if where in file:
                    del file[where]
                way(file)
            loading(path, pattern)


def test_arrays_larger_than_the_limit(h5py: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "w.weights.h5"
    for options in ({"shape": (1 << 50,)}, {"shape": (1 << 34,), "chunks": (1 << 20,), "compression": "gzip"}):
        net().save_weights(path)
        with h5py.File(path, "r+") as file:
            file.create_dataset("more", dtype="f8", **options)
        loading(path, "more than the .* that are read unasked.*DUALGRAD_READ_LIMIT=")
    net().save_weights(path)
    monkeypatch.setenv("DUALGRAD_READ_LIMIT", "20")
    loading(path, "more than the 20 ")
    monkeypatch.setenv("DUALGRAD_READ_LIMIT", "32")
    net().load_weights(path)


def test_a_text_that_is_longer_than_the_file(h5py: Any, tmp_path: Path) -> None:
    net().save(tmp_path / "m.h5")
    data = (tmp_path / "m.h5").read_bytes()
    heap = data.index(b"GCOL\x01").to_bytes(8, "little")
    for name in (b"model_config", b"layer_names", b"weight_names"):
        there = data.index(heap, data.index(name + b"\0"))
        (tmp_path / "m.h5").write_bytes(data[: there - 4] + b"\0\0\0\xf0" + data[there:])
        with pytest.raises(DataLossError, match=rf"m\.h5: the attribute {name.decode()} .* is damaged"):
            keras.models.load_model(tmp_path / "m.h5")


def test_a_heap_that_has_no_end(h5py: Any, tmp_path: Path) -> None:
    net().save(tmp_path / "m.h5")
    data = (tmp_path / "m.h5").read_bytes()
    heap = data.index(b"GCOL\x01")
    (tmp_path / "m.h5").write_bytes(data[: heap + 16] + bytes(16) + data[heap + 32 :])
    with pytest.raises(DataLossError, match=r"m\.h5: the attribute .* is damaged"):
        keras.models.load_model(tmp_path / "m.h5")


def test_an_attribute_of_text_that_is_none(h5py: Any, tmp_path: Path) -> None:
    path = tmp_path / "m.h5"
    for name in (b"model_config", b"layer_names", b"weight_names"):
        net().save(path)
        data = path.read_bytes()
        at = data.index(b"\x19\x01", data.index(name + b"\0"))  # a datatype of any length, which is text
        for kind in (0, *range(2, 16)):  # a sequence; kinds that there are not
            path.write_bytes(data[: at + 1] + bytes((kind,)) + data[at + 2 :])
            with pytest.raises(DataLossError, match=rf"m\.h5: the attribute {name.decode()} of .* is no text"):
                keras.models.load_model(path)
    for dtype in ([("x", h5py.string_dtype())], h5py.vlen_dtype("i4")):
        net().save(path)
        with h5py.File(path, "r+") as file:
            file["model_weights/d"].attrs.create("weight_names", np.zeros(0, dtype))
        with pytest.raises(DataLossError, match="weight_names of /model_weights/d is no text"):
            keras.models.load_model(path)


def test_an_attribute_whose_datatype_lies_elsewhere(h5py: Any, tmp_path: Path) -> None:
    path = tmp_path / "m.h5"
    net().save(path)
    with h5py.File(path, "r+") as file:
        file["t"] = h5py.string_dtype()
        file.attrs.create("model_config", file.attrs["model_config"], dtype=file["t"])
        del file["t"]
    with pytest.raises(DataLossError, match=r"m\.h5: the attribute model_config .* is damaged"):
        keras.models.load_model(path)


# ---- archives --------------------------------------------------------------------------------------------------------


def test_members_that_unpack_to_more_than_the_limit(h5py: Any, tmp_path: Path) -> None:
    path = tmp_path / "m.keras"
    net().save(path)
    with zipfile.ZipFile(path) as archive:
        held = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("config.json", held["config.json"])
        with archive.open("model.weights.h5", "w") as member:
            for _ in range(300):
                member.write(bytes(1 << 20))
    with pytest.raises(DataLossError, match=r"m\.keras: model\.weights\.h5 has 314,572,800 bytes, more than"):
        keras.models.load_model(path)
    lie = bytearray(path.read_bytes())
    for signature, place in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):  # of each header: the size when unpacked
        at = lie.rindex(signature)
        lie[at + place : at + place + 4] = (1000).to_bytes(4, "little")
    path.write_bytes(lie)
    with pytest.raises(DataLossError, match=r"m\.keras"):
        keras.models.load_model(path)


def test_a_configuration_that_is_too_deep(h5py: Any, tmp_path: Path) -> None:
    path = tmp_path / "m.keras"
    for text in ("[" * 100_000, '{"class_name": "Sequential", "module": "keras", "config": {"layers": [' * 3000):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("config.json", text)
            archive.writestr("model.weights.h5", b"")
        with pytest.raises(DataLossError, match=r"m\.keras"):
            keras.models.load_model(path)


def test_an_archive_of_a_version_that_there_is_not(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.arange(3))
    data = bytearray((tmp_path / "a.npz").read_bytes())
    data[data.index(b"PK\x01\x02") + 6] = 197
    (tmp_path / "a.npz").write_bytes(data)
    with pytest.raises(DataLossError, match=r"a\.npz.*zip file version 19\.7"):
        arrays.npz(tmp_path / "a.npz", ["x"])


@pytest.mark.parametrize("units", [1 << 30, 1 << 45])
def test_a_configuration_of_a_model_larger_than_the_limit(h5py: Any, tmp_path: Path, units: int) -> None:
    net().save(tmp_path / "m.h5")
    with h5py.File(tmp_path / "m.h5", "r+") as file:
        file.attrs["model_config"] = file.attrs["model_config"].replace('"units": 2', f'"units": {units}')
    with pytest.raises(DataLossError, match=r"m\.h5: variable d/kernel.* bytes, more than the .*DUALGRAD_READ_LIMIT"):
        keras.models.load_model(tmp_path / "m.h5")


def test_texts_that_are_no_model() -> None:
    good = net().to_json()
    for text in ("{", "[]", "3", "null", '{"class_name": "Sequential", "config": 3, "module": "keras"}', good[:-20]):
        with pytest.raises(DataLossError, match="model_from_json: the text"):
            keras.models.model_from_json(text)


# ---- checkpoints -----------------------------------------------------------------------------------------------------


def with_entry(prefix: Path, entry: BundleEntryProto, parts: dict[bytes, BundleEntryProto] | None = None) -> str:
    bundle.write(str(prefix), {"w": np.float32(1)})
    header = BundleHeaderProto(num_shards=1, version=VersionDef(producer=1)).SerializeToString()
    rows = {
        b"": header,
        b"w": entry.SerializeToString(),
        **{k: v.SerializeToString() for k, v in (parts or {}).items()},
    }
    Path(f"{prefix}.index").write_bytes(table.written(sorted(rows.items())))
    return str(prefix)


def test_tensors_that_announce_more_than_there_is(tmp_path: Path) -> None:
    huge = shape_proto((1 << 40, 1 << 10))
    whole = BundleEntryProto(dtype=1, shape=huge, offset=0, size=4)
    part = TensorSliceProto()
    part.extent.add()
    part.extent.add()
    key = bundle.slice_key("w", part)
    small = BundleEntryProto(dtype=1, shape=shape_proto((1,)), offset=0, size=4)
    sliced = BundleEntryProto(dtype=1, shape=huge, slices=[part])
    behind = BundleEntryProto(dtype=1, shape=shape_proto(()), offset=-4, size=4)
    unknown = BundleEntryProto(dtype=1, shape=TensorShapeProto(dim=[Dim(size=-1)]), offset=0, size=4)
    for entry, parts in ((whole, None), (sliced, {key: small}), (behind, None), (unknown, None)):
        with pytest.raises(DataLossError, match="m"):
            checkpoints.CheckpointReader(with_entry(tmp_path / "m", entry, parts)).get_tensor("w")


def test_keys_that_grow_by_sharing_beginnings(monkeypatch: pytest.MonkeyPatch) -> None:
    data = table.written([(b"a" * i, b"") for i in range(2000)])
    assert len(list(table.items(data, "m.index"))) == 2000
    monkeypatch.setenv("DUALGRAD_READ_LIMIT", "1000000")
    assert len(data) < 200_000
    with pytest.raises(DataLossError, match=r"m\.index.*1,000,000 bytes that DUALGRAD_READ_LIMIT"):
        list(table.items(data, "m.index"))


def test_a_state_whose_paths_are_patterns_or_no_paths(tmp_path: Path) -> None:
    bundle.write(str(tmp_path / "m-1"), {"w": np.float32(1)})
    for path in ("m-*", "/*/*/*/*/*/*"):
        (tmp_path / "checkpoint").write_text(f'model_checkpoint_path: "{path}"\n')
        assert graph_api.train.latest_checkpoint(str(tmp_path)) is None
    good = b'model_checkpoint_path: "m-1"\n'
    for text in (b"model_checkpoint_path: m-1\n", good + b"last_preserved_timestamp: x\n", b"\xff\xfe" + good, b"{"):
        (tmp_path / "checkpoint").write_bytes(text)
        with pytest.raises(DataLossError, match=f"{tmp_path}/checkpoint"):
            graph_api.train.latest_checkpoint(str(tmp_path))


def test_objects_that_are_not_there(tmp_path: Path) -> None:
    edge = TrackableObject(children=[ObjectReference(node_id=7, local_name="net")])
    for graph in (TrackableObjectGraph(), TrackableObjectGraph(nodes=[edge])):
        bundle.write(str(tmp_path / "m"), {GRAPH_KEY: np.array(graph.SerializeToString(), object)})
        with pytest.raises(DataLossError, match="an object that there is not"):
            tape_api.train.Checkpoint(net=net()).restore(str(tmp_path / "m"))
    with pytest.raises(NotFoundError):
        tape_api.train.Checkpoint(net=net()).restore(str(tmp_path / "none"))


# ---- memory ----------------------------------------------------------------------------------------------------------


def test_what_does_not_fit_into_memory() -> None:
    rows = tape_api.ones((1 << 21, 1))
    square = tape_api.function(lambda x: x * tape_api.transpose(x))
    fed = graph_api.placeholder(graph_api.int32, ())
    shape = [fed, fed, fed]
    with graph_api.Session() as session:
        outer, filled, drawn = (
            graph_api.random.normal([fed, 1]) * graph_api.ones([1, fed]),
            graph_api.fill(shape, 1.0),
            graph_api.random.normal(shape),
        )
        cases = [
            lambda: tape_api.zeros((1 << 50,)),
            lambda: tape_api.eye(1 << 25),
            lambda: tape_api.range(1 << 50),
            lambda: tape_api.random.normal((1 << 50,)),
            lambda: rows * tape_api.transpose(rows),
            lambda: tape_api.matmul(rows, tape_api.transpose(rows)),
            lambda: tape_api.repeat(rows, 1 << 34),
            *[lambda: square(rows)] * 3,
            lambda: session.run(outer, {fed: 1 << 22}),
            lambda: session.run(filled, {fed: 1 << 16}),
            lambda: session.run(drawn, {fed: 1 << 16}),
        ]
        for case in cases:
            with pytest.raises(ResourceExhaustedError, match=r"\w.*: Unable to allocate") as caught:
                case()
            assert isinstance(caught.value, OpError)
            assert isinstance(caught.value, MemoryError)
