"""What programs use beside tensors: logging, flags, mains, files, devices."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

import graph_api
import tape_api
from dualgrad.platform import flags as module
from dualgrad.platform.flags import FlagValues
from engine.runtime.errors import AlreadyExistsError, FailedPreconditionError, NotFoundError, UnimplementedError
from tests.processes import ran


def run_program(text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return ran("-c", text, *arguments)


def test_a_program_of_2017() -> None:
    program = """
import graph_api as tf
flags = tf.app.flags
flags.DEFINE_float("learning_rate", 0.01, "Initial rate.")
flags.DEFINE_integer("steps", 10, "Steps.")
flags.DEFINE_boolean("fast", False, "Whether.")
flags.DEFINE_string("data_dir", "/tmp", "Where.")
FLAGS = flags.FLAGS
def main(argv):
    tf.logging.set_verbosity(tf.logging.INFO)
    tf.logging.info("rate %g", FLAGS.learning_rate)
    tf.logging.debug("not this")
    print(FLAGS.steps, FLAGS.fast, FLAGS.data_dir, argv[1:])
    return 3
if __name__ == "__main__":
    tf.app.run()
"""
    found = run_program(program, "--learning_rate=0.5", "--steps", "7", "--fast", "--other=1", "rest")
    assert found.stdout == "7 True /tmp ['--other=1', 'rest']\n"
    assert found.stderr == "INFO:tensorflow:rate 0.5\n" and found.returncode == 3
    wrong = run_program(program, "--steps=many")
    assert wrong.returncode == 1 and "flag --steps=many" in wrong.stderr
    assert "--[no]fast: Whether. (default: False)" in run_program(program, "--help").stdout


def test_flags() -> None:
    values = FlagValues()
    module.DEFINE_enum("kind", "a", ["a", "b"], "Which.", values)
    module.DEFINE_list("names", ["x"], "Names.", values)
    module.DEFINE_multi_integer("n", [1], "Numbers.", values)
    module.DEFINE_bool("on", True, "Whether.", values, short_name="o")
    module.DEFINE_string("needed", None, "Must be.", values)
    assert "kind" in values and "other" not in values
    assert values(["p", "--kind=b", "--names=a, b", "--n=2", "--n", "0x10", "--noon", "--", "--kind=a"]) == [
        "p",
        "--kind=a",
    ]
    assert values.flag_values_dict() == {
        "kind": "b", "names": ["a", "b"], "n": [2, 16], "on": False, "o": False, "needed": None
    }  # fmt: skip
    values.kind = "a"
    assert values.kind == "a" and values["kind"].value == "a" and "kind='a'" in repr(values)
    with pytest.raises(module.IllegalFlagValueError, match="must be one of a, b"):
        values(["p", "--kind=c"])
    with pytest.raises(module.UnrecognizedFlagError, match="'x'"):
        values(["p", "--x=1"])
    with pytest.raises(module.IllegalFlagValueError, match="a value is needed"):
        values(["p", "--needed"])
    with pytest.raises(AttributeError, match="there is no flag 'absent'"):
        _ = values.absent
    with pytest.raises(module.UnrecognizedFlagError, match="define it"):
        values.absent = 1
    with pytest.raises(module.DuplicateFlagError):
        module.DEFINE_float("n", 1.0, "Again.", values)
    module.mark_flag_as_required("needed", values)
    with pytest.raises(module.IllegalFlagValueError, match="required"):
        values(["p"])
    module.register_validator("needed", lambda v: v == "yes", "say yes", values)
    with pytest.raises(module.IllegalFlagValueError, match="say yes"):
        values(["p", "--needed=no"])


def test_logging(capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
    log = graph_api.logging
    before = log.get_verbosity()
    log.set_verbosity(log.WARN)
    try:
        assert log.get_verbosity() == log.WARN == 30
        log.info("hidden")
        for i in range(5):
            log.log_every_n(log.ERROR, "every %d", 2, i)
            log.log_first_n(log.ERROR, "first %d", 1, i)
        log.warning("shown %s", "here")
    finally:
        log.set_verbosity(before)
    assert [r.message for r in caplog.records] == ["every 0", "first 0", "every 2", "every 4", "shown here"]


def test_files(tmp_path: Path) -> None:
    files = tape_api.io.gfile
    a, folder = tmp_path / "a.txt", tmp_path / "deep" / "er"
    with files.GFile(a, "w") as f:
        f.write("über\nzwei\n")
    with graph_api.gfile.Open(str(a)) as f:
        assert f.readline() == "über\n" and f.tell() > 0 and f.size() == 11 and list(f) == ["zwei\n"]
        f.seek(0)
        assert f.read(2) == "üb" and f.readlines() == ["er\n", "zwei\n"]
    assert files.GFile(a, "rb").read() == "über\nzwei\n".encode()
    files.makedirs(folder)
    files.makedirs(folder)
    files.copy(a, folder / "b")
    assert files.listdir(folder) == ["b"] and files.exists(folder / "b") and files.isdir(folder)
    assert files.glob([str(tmp_path / "*.txt")]) == [str(a)] and files.stat(a).st_size == 11
    assert [names for _, _, names in files.walk(tmp_path)][-1] == ["b"]
    with pytest.raises(AlreadyExistsError, match="overwrite"):
        files.rename(a, folder / "b")
    files.rename(a, folder / "b", overwrite=True)
    assert not files.exists(a)
    files.remove(folder / "b")
    files.rmtree(tmp_path / "deep")
    assert graph_api.gfile.ListDirectory(tmp_path) == []
    for wrong in (lambda: files.GFile(a).read(), lambda: files.listdir(a), lambda: files.remove(a)):
        with pytest.raises(NotFoundError, match=r"a\.txt"):
            wrong()
    with pytest.raises(AlreadyExistsError):
        files.mkdir(tmp_path)
    with pytest.raises(FailedPreconditionError):
        files.GFile(tmp_path).read()
    with pytest.raises(ValueError, match="mode"):
        files.GFile(a, "x")


@pytest.mark.parametrize("tf", [graph_api, tape_api], ids=["graph", "tape"])
def test_devices(tf: Any) -> None:
    config = tf.config
    (cpu,) = config.list_physical_devices()
    assert config.list_physical_devices("GPU") == [] == config.experimental.list_physical_devices("GPU")
    assert cpu.device_type == "CPU" and config.list_logical_devices("CPU")[0].name == "/device:CPU:0"
    config.set_visible_devices([], "GPU")
    config.set_visible_devices(cpu, "CPU")
    with pytest.raises(ValueError, match="one device"):
        config.set_visible_devices([], "CPU")
    with pytest.raises(ValueError, match="GPU"):
        config.experimental.set_memory_growth(cpu, True)
    with pytest.raises(UnimplementedError):
        config.set_logical_device_configuration(cpu, [config.LogicalDeviceConfiguration()] * 2)
    config.run_functions_eagerly(True)
    assert config.functions_run_eagerly()
    config.run_functions_eagerly(False)
    config.threading.set_intra_op_parallelism_threads(2)
    with pytest.raises(TypeError):
        config.threading.set_intra_op_parallelism_threads(1.5)
    assert config.threading.get_intra_op_parallelism_threads() == 2
    config.threading.set_intra_op_parallelism_threads(0)
