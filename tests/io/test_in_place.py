"""Variables are saved as they lie and restored into their own memory: what others hold stays, and memory too."""

import os
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from dualgrad.files import bundle, checkpoints
from engine.runtime.errors import DataLossError
from tape_api.in_place import held, put
from tests.processes import printed

COUNT = 40_000
"""Elements of a variable that is large enough to be read into its place."""


FIRST = [np.full(COUNT, 0, np.float32), np.full(COUNT, 1, np.float32), 7]


def data_of(prefix: Path) -> Path:
    return Path(bundle.data_file(str(prefix)))


def graph() -> SimpleNamespace:
    """Variables of a session, and what saves them."""
    with graph_api.Graph().as_default():
        variables = [graph_api.Variable(x, name=f"v{k}") for k, x in enumerate(FIRST)]
        saver, session = graph_api.train.Saver(), graph_api.Session()
        session.run(graph_api.global_variables_initializer())
    return SimpleNamespace(
        save=lambda path: saver.save(session, str(path)),
        restore=lambda path: saver.restore(session, str(path)),
        held=lambda: session.read_variables(variables),
        assign=lambda k, value: session.load_variables([variables[k]], [np.asarray(value)]),
    )


def tape(by_name: bool = False) -> SimpleNamespace:
    """Eager variables, and what saves them: in the order in which they are held, or by their names."""
    variables = [tape_api.Variable(x, name=f"v{k}") for k, x in enumerate(FIRST)]
    checkpoint, saver = tape_api.train.Checkpoint(v=variables), tape_api.compat.v1.train.Saver(variables)
    return SimpleNamespace(
        save=lambda path: saver.save(None, str(path)) if by_name else checkpoint.write(str(path)),
        restore=lambda path: saver.restore(None, str(path)) if by_name else checkpoint.restore(str(path)),
        held=lambda: [held(v) for v in variables],
        assign=lambda k, value: variables[k].assign(value),
    )


modes = pytest.mark.parametrize("mode", [graph, tape, partial(tape, by_name=True)], ids=["graph", "tape", "by name"])
CHANGED = np.full(COUNT, 9, np.float32)


def addresses(program: Any) -> list[int]:
    return [a.ctypes.data for a in program.held()[:2]]


@modes
def test_values_are_read_into_the_memory_of_old_ones_that_nobody_holds(mode: Callable[[], Any], tmp_path: Path) -> None:
    program = mode()
    program.save(tmp_path / "m")
    for is_held in (False, True):
        for k in range(2):
            program.assign(k, CHANGED)
        program.assign(2, np.int32(1))
        kept, before = program.held() if is_held else None, addresses(program)
        program.restore(tmp_path / "m")
        assert (addresses(program) == before) is not is_held
        assert [a.tolist() for a in program.held()] == [[0.0] * COUNT, [1.0] * COUNT, 7]
        assert kept is None or ((kept[0] == 9).all() and (kept[1] == 9).all())


@modes
@pytest.mark.parametrize("k", [0, 1])
def test_damage_changes_nothing(mode: Callable[[], Any], k: int, tmp_path: Path) -> None:
    program = mode()
    program.save(tmp_path / "m")
    program.assign(0, CHANGED)
    program.assign(1, CHANGED)
    reader = checkpoints.CheckpointReader(str(tmp_path / "m"))
    key = next(n for n in reader.get_variable_to_shape_map() if f"v{k}" in n or f"v/{k}" in n)
    with open(data_of(tmp_path / "m"), "r+b") as file:
        file.seek(reader._reader.entries[key].offset + 4 * COUNT - 1)
        file.write(b"\x01")
    with pytest.raises(DataLossError, match="checksum"):
        program.restore(tmp_path / "m")
    assert all((a == 9).all() for a in program.held()[:2])


@modes
def test_a_file_that_is_cut_while_it_is_read_is_an_error(
    mode: Callable[[], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = mode()
    program.save(tmp_path / "m")
    checked = bundle.BundleReader.stored

    def stored(reader: Any, name: str) -> Any:
        found = checked(reader, name)
        if found is not None:
            os.truncate(data_of(tmp_path / "m"), found.offset + found.size - 1)
        return found

    monkeypatch.setattr(bundle.BundleReader, "stored", stored)
    with pytest.raises(DataLossError, match=r"was cut|the file has"):
        program.restore(tmp_path / "m")


def test_a_file_that_was_cut_since_it_was_opened_is_an_error(tmp_path: Path) -> None:
    bundle.write(str(tmp_path / "m"), {"a": CHANGED, "b": CHANGED})
    reader = checkpoints.CheckpointReader(str(tmp_path / "m"))
    assert (reader.get_tensor("a") == 9).all()
    os.truncate(data_of(tmp_path / "m"), 4 * COUNT + 100)
    with pytest.raises(DataLossError, match="the file has"):
        reader.get_tensor("b")


def test_another_checkpoint_in_its_place_changes_nothing_for_a_reader(tmp_path: Path) -> None:
    bundle.write(str(tmp_path / "m"), {"a": CHANGED, "b": CHANGED})
    reader = checkpoints.CheckpointReader(str(tmp_path / "m"))
    assert (reader.get_tensor("a") == 9).all()
    bundle.write(str(tmp_path / "m"), {"a": CHANGED + 1, "b": CHANGED + 1})
    assert (reader.get_tensor("b") == 9).all()


@modes
def test_updates_meanwhile_are_not_in_the_file(
    mode: Callable[[], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = mode()
    contents = bundle._contents

    def changing(arrays: Any, entries: Any) -> Any:
        thread = threading.Thread(target=lambda: [program.assign(k, CHANGED) for k in range(2)])
        thread.start()
        thread.join()
        return contents(arrays, entries)

    monkeypatch.setattr(bundle, "_contents", changing)
    program.save(tmp_path / "m")
    monkeypatch.undo()
    assert all((a == 9).all() for a in program.held()[:2])
    program.restore(tmp_path / "m")
    assert [a[0] for a in program.held()[:2]] == [0, 1]


def test_arrays_are_put_where_the_old_ones_lie() -> None:
    v, w = (tape_api.Variable(np.zeros(COUNT, np.float32)) for _ in range(2))
    outside = w.read_value()
    before = held(v).ctypes.data
    put([v, w], [CHANGED, CHANGED.astype(np.float64)])
    assert held(v).ctypes.data == before
    assert held(v).tolist() == held(w).tolist() == CHANGED.tolist()
    assert not outside.numpy().any()
    with pytest.raises(ValueError, match="shape"):
        put([v, w], [np.zeros(COUNT, np.float32), CHANGED[1:]])
    assert held(v).tolist() == CHANGED.tolist()


def test_a_model_holds_its_weights_once() -> None:
    keras = tape_api.keras
    model = keras.Sequential([keras.Input([200]), keras.layers.Dense(200), keras.layers.Dense(1)])
    before = held(model.layers[0].kernel).ctypes.data
    model.set_weights([np.ones_like(w) for w in model.get_weights()])
    assert held(model.layers[0].kernel).ctypes.data == before


PROGRAM = """
import gc, os, resource, tempfile
import numpy as np
import {front} as tf

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

folder = tempfile.mkdtemp()
{imports}
before = peak()
{steps}
print(peak() - before)
"""
STEPS = {
    "saver": (
        "graph_api",
        "from graph_api.graph_files import meta_graphs",
        """
for i in range(8):
    tf.get_variable(f"v{i}", [16, 1 << 18], initializer=tf.ones_initializer())
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    path = tf.train.Saver().save(session, folder + "/m")
    tf.train.Saver().restore(session, path)
with tf.Session() as session:
    tf.train.Saver().restore(session, path)
""",
    ),
    "checkpoint": (
        "tape_api",
        "tf.train.Checkpoint(v=tf.Variable(1.0)).write(folder + '/w')",
        """
v = [tf.Variable(tf.ones([16, 1 << 18])) for i in range(8)]
checkpoint = tf.train.Checkpoint(v=v)
checkpoint.restore(checkpoint.save(folder + "/m"))
""",
    ),
    "keras": (
        "tape_api",
        "import h5py; tf.keras.Sequential([tf.keras.Input([2]), tf.keras.layers.Dense(2)]).save(folder + '/w.keras')",
        """
model = tf.keras.Sequential([tf.keras.Input([2048]), *[tf.keras.layers.Dense(2048) for i in range(8)]])
model.save(folder + "/m.keras")
model.save_weights(folder + "/m.weights.h5")
model.load_weights(folder + "/m.weights.h5")
model.save(folder + "/m.h5")
model.load_weights(folder + "/m.h5")
model.save_weights(folder + "/m")
model.load_weights(folder + "/m")
del model
gc.collect()
tf.keras.models.load_model(folder + "/m.keras")
""",
    ),
}
"""Programs whose variables hold 128 MB."""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is told in other units elsewhere")
@pytest.mark.parametrize("name", STEPS)
def test_state_is_held_once(name: str, tmp_path: Path) -> None:
    if name == "keras":
        pytest.importorskip("h5py")
    front, imports, steps = STEPS[name]
    code = PROGRAM.format(front=front, imports=imports, steps=steps)
    assert int(printed(code, TMPDIR=str(tmp_path)).split()[-1]) < 128 + 64
