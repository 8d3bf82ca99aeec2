"""The formats of files that are read: how to make a whole file of each, and how a program reads it.

A row of `FORMATS` is all that a new reader needs to be fuzzed (`tests.fuzz.files`).
"""

import functools
import gzip
import hashlib
import io
import json
import random
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import graph_api as tf
import tape_api
from dualgrad.files import arrays, checkpoints, limits, table
from dualgrad.files.golden import Golden, GoldenWriter
from dualgrad.files.records import read_records, record
from dualgrad.files.summary_values import png
from engine.runtime.errors import InvalidArgumentError
from graph_api.graph_files.reading import message_from
from tests.fuzz.damage import damaged, damaged_h5, damaged_json

HERE = Path(__file__).resolve().parent.parent
Files = dict[str, bytes]


@dataclass(frozen=True)
class Format:
    """A format of files.

    Attributes
    ----------
    make : callable
        Files by name, to be damaged.
    read : callable
        Reads them from a folder as a program does.
    wrap : callable, optional
        What is written of them once they are damaged: containers and checksums that are right, so that the damage
        gets behind these.
    damage : callable, optional
        ``damage(name, contents, dice)``, for files that are structured.
    errors : tuple
        Errors beside `DataLossError` that are right: of what is there, and says something else.
    named : bool
        Whether a `DataLossError` names the file, which is not so where a message is read before it is used.
    """

    make: Callable[[], Files]
    read: Callable[[Path], Any]
    wrap: Callable[[Files], Files] = dict
    damage: Callable[[str, bytes, random.Random], bytes] = lambda _, data, dice: damaged(data, dice)
    errors: tuple[type[Exception], ...] = ()
    named: bool = True


def _written(make: Callable[[Path], Any]) -> Callable[[], Files]:
    """The files that something writes into a folder."""

    def made() -> Files:
        folder = Path(tempfile.mkdtemp())
        try:
            make(folder)
            return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
        finally:
            shutil.rmtree(folder)

    return made


def _golden(folder: str, *names: str) -> Callable[[], Files]:
    return lambda: {name: (HERE / folder / "golden" / name).read_bytes() for name in names}


# ---- checkpoints -----------------------------------------------------------------------------------------------------


def _read_checkpoint(prefix: str) -> Callable[[Path], Any]:
    def read(folder: Path) -> None:
        reader = checkpoints.CheckpointReader(str(folder / prefix))
        reader.get_variable_to_dtype_map()
        for name in reader.get_variable_to_shape_map():
            reader.get_tensor(name)
        reader.debug_string()

    return read


def _state(folder: Path) -> None:
    names = [str(folder / f"model-{i}") for i in range(3)]
    checkpoints.update_state(str(folder), names[-1], names, None, [1.5, 2.5, 3.5], 7.0)


def _rows(files: Files, name: str) -> Files:
    """A table, row by row."""
    rows = table.items(files.pop(name), name)
    return files | {f"{name}/{i}/{kind}": x for i, row in enumerate(rows) for kind, x in zip("kv", row, strict=True)}


def _as_table(name: str) -> Callable[[Files], Files]:
    def wrap(files: Files) -> Files:
        rest = {n: x for n, x in files.items() if not n.startswith(f"{name}/")}
        count = (len(files) - len(rest)) // 2
        rows = {files[f"{name}/{i}/k"]: files[f"{name}/{i}/v"] for i in range(count)}
        return rest | {name: table.written(sorted(rows.items()))}

    return wrap


def _objects(folder: Path) -> None:
    tape_api.train.Checkpoint(w=tape_api.Variable([1.0, 2.0]), n=tape_api.Variable(3)).write(str(folder / "c"))


def _restored(folder: Path) -> None:
    tape_api.train.Checkpoint(w=tape_api.Variable([1.0, 2.0]), n=tape_api.Variable(3)).read(str(folder / "c"))


# ---- records ---------------------------------------------------------------------------------------------------------


def _events(folder: Path) -> None:
    with tape_api.summary.create_file_writer(str(folder)).as_default(step=1):
        tape_api.summary.scalar("loss", 0.5)
        tape_api.summary.histogram("h", np.arange(9.0))
        tape_api.summary.image("i", np.zeros([1, 2, 2, 3], np.uint8))
        tape_api.summary.text("t", "words")


def _only(folder: Path) -> Path:
    (path,) = folder.iterdir()
    return path


def _read_events(folder: Path) -> None:
    for event in tf.train.summary_iterator(str(_only(folder))):
        str(event)
        for value in event.summary.value:
            if value.HasField("tensor"):
                tf.make_ndarray(value.tensor)


EXAMPLE = tf.train.Example(
    features=tf.train.Features(
        feature={
            "x": tf.train.Feature(float_list=tf.train.FloatList(value=[1.0, 2.0])),
            "n": tf.train.Feature(int64_list=tf.train.Int64List(value=[1, 2, 3])),
            "s": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"a", b"bc"])),
        }
    )
)


def _examples() -> Files:
    return {"records": b"".join(record(EXAMPLE.SerializeToString()) for _ in range(3))}


def _payloads() -> Files:
    return {str(i): EXAMPLE.SerializeToString() for i in range(3)}


def _joined(files: Files) -> Files:
    return {"records": b"".join(map(record, files.values()))}


def _read_examples(compression: str = "") -> Callable[[Path], Any]:
    def read(folder: Path) -> None:
        for data in read_records(folder / "records", compression):
            tf.train.Example.FromString(data)

    return read


def _parse_examples(folder: Path) -> None:
    features = {
        "x": tape_api.io.FixedLenFeature([2], tape_api.float32),
        "n": tape_api.io.FixedLenSequenceFeature([], tape_api.int64, allow_missing=True),
        "s": tape_api.io.FixedLenFeature([2], tape_api.string, [b"", b""]),
    }
    data = tape_api.data.TFRecordDataset(str(folder / "records"))
    for one in data.map(lambda x: tape_api.io.parse_single_example(x, features)):
        one["x"].numpy()


# ---- graphs ----------------------------------------------------------------------------------------------------------


def _graph_text(folder: str, source: str, kind: Any, name: str) -> Callable[[], Files]:
    return lambda: {name: str(kind.FromString((HERE / folder / "golden" / source).read_bytes())).encode()}


def _import_graph(name: str) -> Callable[[Path], Any]:
    def read(folder: Path) -> None:
        message = message_from(tf.GraphDef, folder / name)
        with tf.Graph().as_default():
            tf.import_graph_def(message)

    return read


def _import_meta(name: str) -> Callable[[Path], Any]:
    def read(folder: Path) -> None:
        with tf.Graph().as_default():
            tf.train.import_meta_graph(str(folder / name))

    return read


def _saved_model(folder: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        w = tf.Variable([[1.0], [2.0]], name="w")
        y = tf.matmul(x, w, name="y")
        sess.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(sess, str(folder / "model"), {"x": x}, {"y": y})


def _load_model(folder: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.saved_model.loader.load(sess, [tf.saved_model.tag_constants.SERVING], str(folder / "model"))


def _saved_objects(folder: Path) -> None:
    class Whole(tape_api.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.w, self.parts = tape_api.Variable([[1.0], [2.0]]), [tape_api.Variable(2.0)]

        @tape_api.function(input_signature=[tape_api.TensorSpec([None, 2])])
        def __call__(self, x: Any) -> Any:
            y = tape_api.scan(lambda s, row: s + row, tape_api.matmul(x, self.w))
            return {"y": tape_api.cond(y[0, 0] > 0, lambda: y * self.parts[0], lambda: -y)}

    tape_api.saved_model.save(Whole(), folder / "model")


def _load_objects(folder: Path) -> None:
    loaded = tape_api.saved_model.load(folder / "model")
    x = tape_api.constant([[1.0, 2.0]])
    for f in (loaded, *loaded.signatures.values()):
        f(x)


# ---- golden records --------------------------------------------------------------------------------------------------


def _record(folder: Path) -> None:
    writer = GoldenWriter(folder)
    held = [writer.put(a) for a in (np.arange(6.0), np.array([b"a", b"bc"], object), np.ones((2, 2), np.float32))]
    machine = {"backend": "dualgrad", "version": "0", "numpy": "1", "blas": "b", "blas_core": "c", "threads": 1}
    made = machine | {"machine": "m", "system": "s", "python": "3", "cpu_features": []}
    head = {"made": made, "kept": {"of": 1, "steps": 1}, "program": {"file": "p.py", "sha256": "0"}, "arguments": []}
    writer.finish(head, {"steps.json": [{"results": held}], "printed.txt": "text\n"})


def _read_record(folder: Path) -> None:
    golden = Golden(folder)
    with limits.damage(folder):  # what the text of a record says is read by who compares it
        for step in golden.part("steps.json"):
            for described in step["results"]:
                if golden.holds(described):
                    golden.array(described)
    golden.lines("printed.txt")


def _sealed(files: Files) -> Files:
    """With the hashes that the damaged files have now."""
    try:
        head = json.loads(files["record.json"])
        for name, content in files.items():
            if name in head["files"]:
                head["files"][name] = hashlib.sha256(content).hexdigest()
        return files | {"record.json": json.dumps(head).encode()}
    except (ValueError, KeyError, TypeError):
        return files


# ---- arrays and Keras's files ----------------------------------------------------------------------------------------


def _npz() -> Files:
    file = io.BytesIO()
    np.savez_compressed(file, x=np.arange(100), y=np.array([[1, 2], [3]], object))
    return {"a.npz": file.getvalue()}


@functools.cache
def _model() -> Any:
    """A small model with what configurations have: layers in layers, a schedule, a loss, metrics."""
    keras = tape_api.keras
    a = keras.Input((4, 3), name="a")
    rows = keras.layers.Bidirectional(keras.layers.LSTM(2), name="both")(a)
    penalty = keras.regularizers.L2(0.1)
    model = keras.Model(a, keras.layers.Dense(2, "tanh", kernel_regularizer=penalty, name="d")(rows))
    rate = keras.optimizers.schedules.ExponentialDecay(0.01, 10, 0.9)
    model.compile(keras.optimizers.Adam(rate), keras.losses.Huber(delta=0.5), metrics=["mae"])
    return model


def _keras_file(name: str) -> Callable[[], Files]:
    return _written(lambda folder: _model().save(str(folder / name)))


def _load_keras(name: str) -> Callable[[Path], Any]:
    return lambda folder: tape_api.keras.models.load_model(str(folder / name))


def _members(make: Callable[[], Files]) -> Callable[[], Files]:
    """What is in an archive, under the archive's name."""

    def made() -> Files:
        ((name, data),) = make().items()
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return {f"{name}/{each}": archive.read(each) for each in archive.namelist()}

    return made


def _as_archive(files: Files) -> Files:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for each, contents in files.items():
            archive.writestr(each.partition("/")[2], contents)
    return {next(iter(files)).partition("/")[0]: out.getvalue()}


def _member(name: str, data: bytes, dice: random.Random) -> bytes:
    is_text = name.endswith("config.json") and dice.random() < 0.8
    return damaged_json(data.decode(), dice).encode() if is_text else damaged(data, dice)


def _keras_weights(name: str) -> Format:
    return Format(
        _written(lambda folder: _model().save_weights(folder / name)),
        lambda folder: _model().load_weights(folder / name),
        damage=lambda _, data, dice: damaged_h5(data, dice),
        errors=(InvalidArgumentError,),
    )


FORMATS: dict[str, Format] = {
    "checkpoint state": Format(_written(_state), lambda folder: checkpoints.get_state(str(folder))),
    "bundle": Format(
        _golden("io", "bundle.index", "bundle.data-00000-of-00001"), _read_checkpoint("bundle")
    ),
    "table of a bundle": Format(
        lambda: _rows(_golden("io", "bundle.index", "bundle.data-00000-of-00001")(), "bundle.index"),
        _read_checkpoint("bundle"), _as_table("bundle.index"),
    ),
    "bundle in parts": Format(
        _golden("io", "parts.index", "parts.data-00000-of-00001"), _read_checkpoint("parts")
    ),
    "table of a bundle in parts": Format(
        lambda: _rows(_golden("io", "parts.index", "parts.data-00000-of-00001")(), "parts.index"),
        _read_checkpoint("parts"), _as_table("parts.index"),
    ),
    "object graph": Format(_written(_objects), _restored),
    "table of an object graph": Format(
        lambda: _rows(_written(_objects)(), "c.index"), _restored, _as_table("c.index"), errors=(InvalidArgumentError,)
    ),
    "checkpoint of version 1": Format(_golden("io", "first"), _read_checkpoint("first")),
    "table of version 1": Format(
        lambda: _rows(_golden("io", "first")(), "first"), _read_checkpoint("first"), _as_table("first")
    ),
    "records": Format(_examples, _read_examples()),
    "records, gzip": Format(_examples, _read_examples("GZIP"), lambda f: {n: gzip.compress(x) for n, x in f.items()}),
    "records, damaged gzip": Format(
        lambda: {n: gzip.compress(x) for n, x in _examples().items()}, _read_examples("GZIP")
    ),
    "records, damaged zlib": Format(
        lambda: {n: zlib.compress(x) for n, x in _examples().items()}, _read_examples("ZLIB")
    ),
    "examples": Format(_payloads, _parse_examples, _joined, errors=(InvalidArgumentError,), named=False),
    "event file": Format(_written(_events), _read_events, named=False),
    "events": Format(
        lambda: {str(i): data for i, data in enumerate(read_records(_kept(_written(_events)())))},
        _read_events, lambda files: {"e": b"".join(map(record, files.values()))}, named=False,
    ),
    **{
        f"graph {name}": Format(
            _golden("graph_files", f"{name}.pb"), _import_graph(f"{name}.pb"),
            errors=(InvalidArgumentError,), named=False,
        )
        for name in ("mlp", "flow")
    },
    "graph, text": Format(
        _graph_text("graph_files", "mlp.pb", tf.GraphDef, "g.pbtxt"), _import_graph("g.pbtxt"),
        errors=(InvalidArgumentError,), named=False,
    ),
    "meta graph": Format(
        _golden("graph_files", "training.meta"), _import_meta("training.meta"), errors=(InvalidArgumentError,)
    ),
    "meta graph, text": Format(
        _graph_text("graph_files", "training.meta", tf.MetaGraphDef, "t.meta"), _import_meta("t.meta"),
        errors=(InvalidArgumentError,),
    ),
    "saved model": Format(_written(_saved_model), _load_model, errors=(InvalidArgumentError, RuntimeError)),
    "saved model, objects": Format(
        _written(_saved_objects), _load_objects,
        # of what is read but cannot be called so, or cannot be computed
        errors=(InvalidArgumentError, RuntimeError, TypeError, ValueError, AttributeError),
    ),
    "golden record": Format(_written(_record), _read_record),
    "golden record, hashes right": Format(_written(_record), _read_record, _sealed),
    "npz": Format(_npz, lambda folder: arrays.npz(folder / "a.npz", ["x", "y"])),
    "members of npz": Format(_members(_npz), lambda folder: arrays.npz(folder / "a.npz", ["x", "y"]), _as_archive),
}  # fmt: skip
if find_spec("PIL"):
    FORMATS["picture"] = Format(
        lambda: {"a.png": png(np.arange(48, dtype=np.uint8).reshape(4, 4, 3))},
        lambda folder: tape_api.keras.utils.load_img(folder / "a.png"),
    )
if find_spec("h5py"):
    FORMATS |= {
        # a class, argument or shape that is not here may be damage, or another model: it is named
        "keras": Format(_keras_file("m.keras"), _load_keras("m.keras"), errors=(InvalidArgumentError,)),
        "members of keras": Format(
            _members(_keras_file("m.keras")), _load_keras("m.keras"), _as_archive, _member,
            errors=(InvalidArgumentError,),
        ),
        "keras h5": Format(
            _keras_file("m.h5"), _load_keras("m.h5"), damage=lambda _, data, dice: damaged_h5(data, dice),
            errors=(InvalidArgumentError,),
        ),
        "keras weights": _keras_weights("w.weights.h5"),
        "older keras weights": _keras_weights("w.w.h5"),
    }  # fmt: skip


def _kept(files: Files) -> str:
    (data,) = files.values()
    path = Path(tempfile.mkdtemp()) / "e"
    path.write_bytes(data)
    return str(path)
