"""Damaged files of models, weights, checkpoints and data sets: each must be refused with a DataLossError that names it.

``python -m tests.damage 3000 --seed 1`` damages so many files of each kind and prints what came of it.
"""

from __future__ import annotations

import argparse
import functools
import io
import json
import random
import resource
import shutil
import struct
import tempfile
import time
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import graph_api
import tape_api
from dualgrad.files import arrays, bundle, checkpoints, table
from engine.runtime.errors import DataLossError, InvalidArgumentError, NotFoundError, UnimplementedError
from tape_api import keras
from tape_api.keras import layers

GOLDEN = Path(__file__).parent / "io" / "golden"
DOCUMENTED = (DataLossError,)


@dataclass(frozen=True)
class Format:
    """A kind of file: how good ones are made, which file of them is damaged, how, and how it is read.

    Attributes
    ----------
    make : callable
        ``make(folder)``; returns the file that is damaged.
    read : callable
        ``read(folder, file)``.
    reseal : callable, optional
        ``reseal(data, rng)``: damage below the checksums.
    allowed : tuple
        Errors besides DataLossError that the reader documents: a key that is not there any more, another shape.
    """

    make: Callable[[Path], Path]
    read: Callable[[Path, Path], Any]
    reseal: Callable[[bytes, random.Random], bytes] | None = None
    allowed: tuple[type[Exception], ...] = ()


# ---- good files ------------------------------------------------------------------------------------------------------


def model() -> Any:
    """A small model with what configurations have: layers in layers, a schedule, a loss, metrics."""
    a = keras.Input((4, 3), name="a")
    rows = layers.Bidirectional(layers.LSTM(2), name="both")(a)
    made = keras.Model(a, layers.Dense(2, "tanh", kernel_regularizer=keras.regularizers.L2(0.1), name="d")(rows))
    rate = keras.optimizers.schedules.ExponentialDecay(0.01, 10, 0.9)
    made.compile(keras.optimizers.Adam(rate), keras.losses.Huber(delta=0.5), metrics=["mae"])
    return made


@functools.cache
def _contents(kind: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        made, path = model(), Path(folder) / f"m{kind}"
        (made.save_weights if kind in (".weights.h5", ".w.h5") else made.save)(path)
        return path.read_bytes()


def _saved(kind: str, folder: Path) -> Path:
    (folder / f"m{kind}").write_bytes(_contents(kind))
    return folder / f"m{kind}"


def _bundle(end: str, folder: Path) -> Path:
    values = {"w": np.arange(300.0).reshape(3, 100), "b": np.float32(1), "s": np.array([b"ab", b"c"], object)}
    bundle.write(str(folder / "m"), values)
    return folder / f"m{end}"


def _golden(stem: str, end: str, folder: Path) -> Path:
    for file in GOLDEN.glob(f"{stem}*"):
        shutil.copy(file, folder)
    return folder / f"{stem}{end}"


def _objects(end: str, folder: Path) -> Path:
    tape_api.train.Checkpoint(net=keras.Sequential([layers.Dense(2, input_shape=(3,))])).write(str(folder / "m"))
    return folder / f"m{end}"


def _state(folder: Path) -> Path:
    checkpoints.update_state(str(folder), "m-2", ["m-1", "m-2"], all_model_checkpoint_timestamps=[1.5, 2.5])
    return folder / "checkpoint"


def _npz(folder: Path) -> Path:
    lists = np.empty(2, object)
    lists[:] = [[1, 2, 3], [4]]
    np.savez_compressed(folder / "a.npz", x=np.arange(30).reshape(5, 6), y=lists)
    return folder / "a.npz"


# ---- readers ---------------------------------------------------------------------------------------------------------


def load_model(folder: Path, file: Path) -> None:
    """A whole model."""
    del folder
    keras.models.load_model(file)


def load_weights(folder: Path, file: Path) -> None:
    """The weights of a model."""
    del folder
    _receiver().load_weights(file)


@functools.cache
def _receiver() -> Any:
    return model()


def read_checkpoint(folder: Path, file: Path) -> None:
    """All tensors of a checkpoint."""
    del folder
    reader = checkpoints.CheckpointReader(str(file).removesuffix(".index").removesuffix(".data-00000-of-00001"))
    reader.debug_string()
    for name in reader.get_variable_to_shape_map():
        reader.dtype(name)
        reader.get_tensor(name)


def restore_objects(folder: Path, file: Path) -> None:
    """The variables of objects."""
    del file
    net = keras.Sequential([layers.Dense(2, input_shape=(3,))])
    tape_api.train.Checkpoint(net=net).restore(str(folder / "m"))


def read_state(folder: Path, file: Path) -> None:
    """Which checkpoint of a folder is the newest."""
    del file
    graph_api.train.latest_checkpoint(str(folder))


def read_arrays(folder: Path, file: Path) -> None:
    """Arrays, and lists of numbers, as data sets have them."""
    del folder
    arrays.npz(file, ["x", "y"])


# ---- damage ----------------------------------------------------------------------------------------------------------

_NUMBERS = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 0x7FFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFF)


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Bytes, some of them changed, cut off, moved or doubled."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        at, size = rng.randrange(len(out) + 1), rng.choice((1, 2, 4, 8, 40, 400))
        kind = rng.randrange(8)
        if kind == 0 and out:
            out[at % len(out)] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del out[at:]
        elif kind == 2:
            del out[at : at + size]
        elif kind == 3:
            out[at:at] = rng.randbytes(size)
        elif kind == 4:
            out[at : at + size] = bytes([rng.choice((0, 255))]) * size
        elif kind == 5:
            there = rng.randrange(len(out) + 1)
            out[at : at + size] = out[there : there + size]
        elif kind == 6:
            width, number = rng.choice(("<B", "<H", "<I", "<Q", ">I")), rng.choice(_NUMBERS)
            raw = struct.pack(width, number & ((1 << 8 * struct.calcsize(width)) - 1))
            out[at : at + len(raw)] = raw
        else:
            out[at : at + size] = rng.randbytes(size)
    return bytes(out)


def _other(x: Any, rng: random.Random) -> Any:
    """Something else in the place of a value of JSON."""
    numbers = (-1, 0, 3, 10**5, 10**9, 1 << 40, 1 << 70, 1e308)
    odd = (None, True, *numbers, "", "x", "../x", [], {}, [[]], {"class_name": "Dense"}, "\u0000")
    if isinstance(x, str) and x and rng.random() < 0.5:
        return damaged(x.encode(), rng).decode(errors="replace")
    return rng.choice(odd)


def damaged_json(text: str, rng: random.Random) -> str:
    """JSON with another value, key, or depth somewhere."""
    whole = [json.loads(text)]
    held: Any = whole
    while True:
        keys = list(held) if isinstance(held, dict) else list(range(len(held)))
        if not keys:
            return text
        key = rng.choice(keys)
        if isinstance(held[key], (dict, list)) and held[key] and rng.random() < 0.9:
            held = held[key]
            continue
        kind = rng.randrange(4)
        if kind == 0 and held is not whole:
            del held[key]
        elif kind == 1 and isinstance(held, dict):
            held[damaged(key.encode(), rng).decode(errors="replace")] = held.pop(key)
        elif kind == 2:
            held[key] = {"class_name": "Dense", "module": "keras.layers", "config": {"units": held[key]}}
        else:
            held[key] = _other(held[key], rng)
        return json.dumps(whole[0])


def _in_zip(data: bytes, rng: random.Random) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        held = {name: archive.read(name) for name in archive.namelist()}
    name = rng.choice(list(held))
    if name == "config.json" and rng.random() < 0.8:
        held[name] = damaged_json(held[name].decode(), rng).encode()
    elif rng.random() < 0.1:
        del held[name]
    else:
        held[name] = damaged(held[name], rng)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
        for each, contents in held.items():
            archive.writestr(each, contents)
    return out.getvalue()


def _in_h5(data: bytes, rng: random.Random) -> bytes:
    import h5py

    buffer = io.BytesIO(data)
    with h5py.File(buffer, "r+") as file:
        attribute = rng.choice(sorted(file.attrs) or [""])
        if attribute.endswith("_config") and rng.random() < 0.8:
            file.attrs[attribute] = damaged_json(file.attrs[attribute], rng)
            return buffer.getvalue()
        places: list[str] = []
        file.visit(places.append)
        place = rng.choice(places)
        kind = rng.randrange(5)
        if kind == 0:
            del file[place]
        elif kind == 1:
            del file[place]
            size = 1 << rng.randrange(60)
            file.create_dataset(place, shape=(size,), chunks=(min(size, 1 << rng.randrange(16)),), dtype="u1")
        elif kind == 2:
            del file[place]
            file[place] = rng.choice([h5py.SoftLink("/"), h5py.ExternalLink("/etc/passwd", "/"), np.arange(3.0)])
        elif kind == 3:
            file[place].attrs[rng.choice(("layer_names", "weight_names", "name"))] = rng.choice(
                [1, "x", [b"\xff", b"a"]]
            )
        else:
            del file[place]
            file[place] = np.array([b"text"] * 3)
    return buffer.getvalue()


def _in_table(data: bytes, rng: random.Random) -> bytes:
    """A value or key of a table, below its checksums."""
    rows = list(table.items(data, "good"))
    at = rng.randrange(len(rows))
    key, value = rows[at]
    rows[at] = (key, damaged(value, rng)) if rng.random() < 0.8 else (damaged(key, rng), value)
    return table.written(sorted(dict(rows).items()))


_MISSING = (NotFoundError,)
_UNREAD = (NotFoundError, UnimplementedError)
FORMATS: dict[str, Format] = {
    "keras": Format(functools.partial(_saved, ".keras"), load_model, _in_zip),
    "h5": Format(functools.partial(_saved, ".h5"), load_model, _in_h5),
    "weights_h5": Format(functools.partial(_saved, ".weights.h5"), load_weights, _in_h5, (InvalidArgumentError,)),
    "older_weights_h5": Format(functools.partial(_saved, ".w.h5"), load_weights, _in_h5, (InvalidArgumentError,)),
    "bundle_index": Format(functools.partial(_bundle, ".index"), read_checkpoint, _in_table, _UNREAD),
    "bundle_data": Format(functools.partial(_bundle, ".data-00000-of-00001"), read_checkpoint),
    "parts_index": Format(functools.partial(_golden, "parts", ".index"), read_checkpoint, _in_table, _UNREAD),
    "objects_index": Format(
        functools.partial(_objects, ".index"), restore_objects, _in_table, (*_UNREAD, InvalidArgumentError)
    ),
    "objects_data": Format(functools.partial(_objects, ".data-00000-of-00001"), restore_objects),
    "v1": Format(functools.partial(_golden, "first", ""), read_checkpoint, _in_table, _UNREAD),
    "state": Format(_state, read_state),
    "npz": Format(_npz, read_arrays, _in_zip),
}


def attempt(kind: str, seed: int, folder: Path) -> str:
    """Damage one file and read it: "read" (the damage did no harm), "refused", or what went wrong.

    Parameters
    ----------
    kind : str
        One of `FORMATS`.
    seed : int
        Says what is damaged, and how.
    folder : Path
        An empty one, which is emptied again.
    """
    rng, form = random.Random(f"{kind} {seed}"), FORMATS[kind]
    file = form.make(folder)
    data = file.read_bytes()
    below = form.reseal is not None and rng.random() < 0.5
    file.write_bytes(form.reseal(data, rng) if form.reseal is not None and below else damaged(data, rng))
    start = time.monotonic()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            form.read(folder, file)
        said = "read"
    except (*DOCUMENTED, *form.allowed) as error:
        is_named = not isinstance(error, DataLossError) or file.name.partition(".")[0] in str(error)
        said = "refused" if is_named else f"{kind} {seed}: no name of a file: {error}"
    except Exception as error:  # noqa: BLE001 - whatever it is, it is foreign
        said = f"{kind} {seed}: {type(error).__name__}: {error}"
    taken = time.monotonic() - start
    for left in folder.iterdir():
        left.unlink()
    return said if taken < 10 else f"{kind} {seed}: took {taken:.0f} s"


def main() -> None:
    """Damage many files of each kind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for kind in FORMATS:
            if given.only and kind not in given.only.split(","):
                continue
            start = time.monotonic()
            found = Counter(attempt(kind, given.seed + i, Path(folder)) for i in range(given.count))
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            print(
                f"{kind}: {found.pop('refused', 0)} refused, {found.pop('read', 0)} read, {sum(found.values())} wrong; "
                f"{time.monotonic() - start:.1f} s, {memory} MB",
                flush=True,
            )
            for said in list(found)[:10]:
                print(f"  {said[:300]}", flush=True)


if __name__ == "__main__":
    main()
