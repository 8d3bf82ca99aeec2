"""Checkpoints: TensorFlow's bytes, round trips, crashes at every step, damage."""

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dualgrad.files import atomic, bundle, checkpoints
from dualgrad.files.protos import Extent, TensorSliceProto
from engine.runtime.errors import DataLossError, NotFoundError

GOLDEN = Path(__file__).parent / "golden"
"""Written by TensorFlow 2.21; ``tests/io/golden.py`` says how."""


def tensors() -> dict[str, np.ndarray]:
    made = {
        f"v_{name}": (np.arange(6) % 2 if name == "bool" else np.arange(6)).reshape(2, 3).astype(name)
        for name in (
            *("float16", "float32", "float64", "complex64", "complex128", "bool"),
            *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        )
    }
    return {
        **made,
        "empty": np.zeros((0, 3), np.float32),
        "scalar": np.array(3, np.int64),
        "strings": np.array([b"ab", b"", b"c" * 300], object),
    }


def same(a: np.ndarray, b: np.ndarray) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tolist() == b.tolist()


def read(prefix: str) -> dict[str, np.ndarray]:
    reader = bundle.BundleReader(prefix)
    return {name: reader.tensor(name) for name in reader.names()}


def test_bundles_come_back(tmp_path: Path) -> None:
    prefix = str(tmp_path / "folder" / "m")
    bundle.write(prefix, tensors())
    back = read(prefix)
    assert back.keys() == tensors().keys()
    assert all(same(back[name], array) for name, array in tensors().items())
    assert sorted(os.listdir(tmp_path / "folder")) == ["m.data-00000-of-00001", "m.index"]


def test_names_of_any_kind_come_back(tmp_path: Path) -> None:
    given = {f"{'läng' * 50}/{i}": np.float32(i) for i in range(40)} | {"a": np.float32(-1)}
    bundle.write(str(tmp_path / "m"), given)
    assert read(str(tmp_path / "m")) == given


def test_a_checkpoint_is_the_one_that_tensorflow_writes(tmp_path: Path) -> None:
    bundle.write(str(tmp_path / "m"), tensors())
    for end in (".index", ".data-00000-of-00001"):
        assert (tmp_path / f"m{end}").read_bytes() == (GOLDEN / f"bundle{end}").read_bytes()


def test_partitioned_variables_of_tensorflow_are_put_together() -> None:
    reader = checkpoints.CheckpointReader(str(GOLDEN / "parts"))
    assert reader.get_variable_to_shape_map() == {"part": [5, 2], "whole": [2]}
    assert reader.get_tensor("part").tolist() == np.arange(10.0).reshape(5, 2).tolist()
    assert reader.get_tensor("whole").tolist() == [7.0, 8.0]


def test_checkpoints_of_the_first_version_are_read() -> None:
    reader = checkpoints.CheckpointReader(str(GOLDEN / "first"))
    given = tensors()
    names = set(reader.get_variable_to_shape_map())
    assert {"v_float16", "v_float32", "v_float64", "v_bool", "v_int64", "v_complex64", "strings"} <= names
    assert "scalar" in names and all(same(np.asarray(reader.get_tensor(n)), given[n]) for n in names)


def test_checkpoints_of_the_first_version_in_several_files(tmp_path: Path) -> None:
    whole = str(GOLDEN / "shards")
    for prefix in (whole, f"{whole}-?????-of-00002"):
        reader = checkpoints.CheckpointReader(prefix)
        assert checkpoints.exists(prefix) and reader.get_variable_to_shape_map() == {"on_0": [], "on_1": []}
        assert [reader.get_tensor(f"on_{i}") for i in range(2)] == [1.0, 2.0]
    one = "shards-00000-of-00002"
    (tmp_path / one).write_bytes((GOLDEN / one).read_bytes())
    with pytest.raises(DataLossError, match="some are missing"):
        checkpoints.CheckpointReader(str(tmp_path / "shards"))
    assert checkpoints.CheckpointReader(str(tmp_path / one)).get_tensor("on_0") == 1.0


def test_keys_of_slices() -> None:
    part = TensorSliceProto(extent=[Extent(start=0, length=2), Extent(start=0, length=2)])
    assert bundle.slice_key("part", part) == b"\x00part\x00\x01\x01\x02\x80\x82\x80\x82"
    assert bundle.slice_key("p", TensorSliceProto(extent=[Extent()])) == b"\x00p\x00\x01\x01\x01\x80\x7f"
    assert bundle.slice_key("p", TensorSliceProto(extent=[Extent(start=64, length=300)])) == (
        b"\x00p\x00\x01\x01\x01\xc0\x40\xc1\x2c"
    )


# ---- crashes ---------------------------------------------------------------------------------------------------------


class Crash(BaseException):
    """The machine stops."""


class Machine:
    """A file system that stops after so many bytes and steps."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, steps: int) -> None:
        self.left = steps
        for name in ("replace", "link", "unlink", "fsync"):
            monkeypatch.setattr(atomic.os, name, self.counted(getattr(os, name)))
        real = os.fdopen

        def fdopen(handle, mode):
            file = real(handle, mode)
            write = file.write

            class Slow:
                def write(_, data):  # noqa: N805
                    view = memoryview(data).cast("B")
                    for at in range(0, len(view), 40):
                        self.count()
                        write(view[at : at + 40])
                        file.flush()

                def __enter__(_):  # noqa: N805
                    return _

                def __exit__(_, *error):  # noqa: N805
                    file.close()

                flush = staticmethod(file.flush)
                fileno = staticmethod(file.fileno)

            return Slow()

        monkeypatch.setattr(atomic.os, "fdopen", fdopen)

    def count(self) -> None:
        if self.left <= 0:
            raise Crash
        self.left -= 1

    def counted(self, function):
        def call(*arguments):
            self.count()
            return function(*arguments)

        return call


def saved(folder: Path, value: float) -> None:
    prefix = str(folder / "m")
    bundle.write(prefix, {"w": np.full(4, value), "b": np.array([b"text"], object)})
    checkpoints.update_state(str(folder), prefix)


@pytest.mark.parametrize("first", [True, False])
def test_a_crash_at_any_step_leaves_a_whole_checkpoint(tmp_path: Path, first: bool) -> None:
    steps = 0
    found = set()
    while True:
        folder = tmp_path / str(steps)
        folder.mkdir()
        if not first:
            saved(folder, 1.0)
        with pytest.MonkeyPatch.context() as patch:
            Machine(patch, steps)
            try:
                saved(folder, 2.0)
                finished = True
            except Crash:
                finished = False
        newest = checkpoints.latest(str(folder))
        if newest is None:
            assert first and not finished
        else:
            found.add(read(newest)["w"][0])
            saved(folder, 3.0)
            assert read(str(folder / "m"))["w"][0] == 3.0
            assert sorted(os.listdir(folder)) == ["checkpoint", "m.data-00000-of-00001", "m.index"]
        if finished:
            break
        steps += 1
    assert steps > 20
    assert found == {2.0} if first else {1.0, 2.0}


def test_a_crash_while_another_crash_is_mended(tmp_path: Path) -> None:
    """Each time a little further: the newest checkpoint is whole after each."""
    saved(tmp_path, 1.0)
    for steps in range(0, 120, 3):
        with pytest.MonkeyPatch.context() as patch:
            Machine(patch, steps)
            with contextlib.suppress(Crash):
                saved(tmp_path, float(steps))
        read(str(checkpoints.latest(str(tmp_path))))


# ---- several processes -----------------------------------------------------------------------------------------------

_SAVES = """
import os, signal, sys
import numpy as np
from dualgrad.files import bundle, checkpoints

folder, mine = sys.argv[1], float(sys.argv[2])
prefix = os.path.join(folder, "m")
if mine < 0:  # killed in the midst of the tensors
    def cut(arrays, entries):
        yield bytes(1000)
        print("half", flush=True)
        sys.stdin.read(1) and os.kill(os.getpid(), signal.SIGKILL)
        yield bytes(1000)
    bundle._contents = cut
for i in range(40):
    bundle.write(prefix, {"w": np.full(5000, mine), "n": np.float64(mine)})
    checkpoints.update_state(folder, prefix)
"""


def process(folder: Path, number: int) -> subprocess.Popen[str]:
    home = Path(__file__).resolve().parents[2]
    command = [sys.executable, "-c", _SAVES, str(folder), str(number)]
    return subprocess.Popen(command, cwd=home, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


@pytest.mark.skipif(atomic.fcntl is None, reason="there are no locks")
def test_processes_that_save_under_one_name(tmp_path: Path) -> None:
    others = [process(tmp_path, i) for i in (1, 2, 3)]
    for i in range(40):
        saved(tmp_path, float(10 + i))
    assert [other.wait(60) for other in others] == [0, 0, 0]
    found = read(str(tmp_path / "m"))
    assert len({float(x) for x in [*found["w"], found["n"] if "n" in found else found["w"][0]]}) == 1
    assert sorted(os.listdir(tmp_path)) == ["checkpoint", "m.data-00000-of-00001", "m.index"]
    for other in others:
        other.communicate()


@pytest.mark.skipif(atomic.fcntl is None, reason="there are no locks")
def test_what_a_killed_save_left_is_cleared_by_the_next_and_a_running_one_is_let_be(tmp_path: Path) -> None:
    def halves() -> list[str]:
        return [n for n in os.listdir(tmp_path) if n.endswith(".tmp")]

    saved(tmp_path, 1.0)
    other = process(tmp_path, -1)
    assert other.stdout is not None and other.stdout.readline() == "half\n"
    assert len(halves()) == 1
    atomic.write(tmp_path / "another.keras", [b"x"])
    assert len(halves()) == 1, "it is still needed"
    other.communicate("k")
    assert other.returncode < 0
    assert len(halves()) == 1
    atomic.write(tmp_path / "another.keras", [b"x"])
    assert halves() == []
    assert read(str(tmp_path / "m"))["w"][0] == 1.0


def test_a_save_within_a_save_does_not_wait_for_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the handler of a signal does that says that the machine is going to stop."""
    contents, interrupted = bundle._contents, []

    def with_a_signal(*arguments):
        if not interrupted:
            interrupted.append(True)
            saved(tmp_path, 2.0)
        return contents(*arguments)

    monkeypatch.setattr(bundle, "_contents", with_a_signal)
    saved(tmp_path, 1.0)
    assert read(str(tmp_path / "m"))["w"][0] == 1.0


def test_names_as_long_as_a_file_system_takes(tmp_path: Path) -> None:
    atomic.write(tmp_path / ("n" * 250), [b"x"])
    assert os.listdir(tmp_path) == ["n" * 250]


# ---- damage ----------------------------------------------------------------------------------------------------------


def test_no_flipped_bit_of_a_tensor_goes_unnoticed(tmp_path: Path) -> None:
    prefix = str(tmp_path / "m")
    bundle.write(prefix, {"w": np.arange(5.0), "s": np.array([b"ab", b"c"], object)})
    file = tmp_path / "m.data-00000-of-00001"
    data = file.read_bytes()
    for at in range(len(data)):
        broken = bytearray(data)
        broken[at] ^= 1 << at % 8
        file.write_bytes(broken)
        with pytest.raises(DataLossError, match=r"tensor '[ws]'|number"):
            read(prefix)


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    prefix = str(tmp_path / "m")
    with pytest.raises(NotFoundError, match="Failed to find any matching files"):
        checkpoints.CheckpointReader(prefix)
    bundle.write(prefix, {"w": np.arange(500.0)})
    with pytest.raises(NotFoundError, match="Key v not found in checkpoint"):
        checkpoints.CheckpointReader(prefix).get_tensor("v")
    file = tmp_path / "m.data-00000-of-00001"
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(DataLossError, match="the file has 3999 bytes; tensor 'w' ends at 4000"):
        checkpoints.CheckpointReader(prefix).get_tensor("w")
    file.unlink()
    with pytest.raises(NotFoundError, match=r"m\.data-00000-of-00001"):
        checkpoints.CheckpointReader(prefix).get_tensor("w")


# ---- the state of a folder -------------------------------------------------------------------------------------------


def test_the_state_comes_back(tmp_path: Path) -> None:
    times = {"all_model_checkpoint_timestamps": [1.5, 2.5], "last_preserved_timestamp": 0.5}
    first, last = (str(tmp_path / name) for name in ("m-1", "m-2"))
    checkpoints.update_state(str(tmp_path), "m-2", ["m-1", "m-2"], **times)  # type: ignore[arg-type]
    assert checkpoints.get_state(str(tmp_path)) == checkpoints.CheckpointState(
        model_checkpoint_path=last, all_model_checkpoint_paths=[first, last], **times
    )
    assert checkpoints.latest(str(tmp_path)) is None, "it names a checkpoint that is not there"


def test_a_state_with_odd_names_comes_back(tmp_path: Path) -> None:
    checkpoints.update_state(str(tmp_path), str(tmp_path / 'ö "m"\\n'), save_relative_paths=True)
    assert (tmp_path / "checkpoint").read_text().splitlines()[0] == (
        r'model_checkpoint_path: "\303\266 \"m\"\\n"'
    )  # fmt: skip
    state = checkpoints.get_state(str(tmp_path))
    assert state is not None and state.model_checkpoint_path == str(tmp_path / 'ö "m"\\n')


def test_a_damaged_state_is_refused(tmp_path: Path) -> None:
    assert checkpoints.get_state(str(tmp_path)) is None
    (tmp_path / "checkpoint").write_text('model_checkpoint_path: "m')
    with pytest.raises(DataLossError, match="line 1"):
        checkpoints.get_state(str(tmp_path))
    (tmp_path / "checkpoint").write_text("")
    with pytest.raises(ValueError, match="Invalid checkpoint state"):
        checkpoints.get_state(str(tmp_path))


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore")
def test_tensorflow_reads_what_is_written(tmp_path: Path) -> None:
    tf = pytest.importorskip("tensorflow")
    prefix = str(tmp_path / "m")
    for _ in range(2):  # the second time it replaces the first
        bundle.write(prefix, tensors())
    checkpoints.update_state(str(tmp_path), prefix)
    assert tf.train.latest_checkpoint(str(tmp_path)) == prefix
    reader = tf.train.load_checkpoint(prefix)
    assert reader.get_variable_to_shape_map() == {n: list(a.shape) for n, a in tensors().items()}
    assert all(same(np.asarray(reader.get_tensor(n)), a) for n, a in tensors().items())
