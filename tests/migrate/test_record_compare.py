"""``dualgrad record`` and ``dualgrad compare``: equal programs are equal to the bit; what differs is named."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dualgrad.files.golden import Golden, digest
from engine.runtime.errors import DataLossError, NotFoundError
from tests.migrate.in_process import dualgrad
from tests.processes import HOME, printed
from tests.programs.catalogue import HERE as PROGRAMS

GRAPH = """
import numpy as np
import tensorflow as tf

tf.set_random_seed(7)
rng = np.random.RandomState(0)
data = rng.randn(60, 5).astype(np.float32)
goal = (data[:, :1] - data[:, 1:2] > 0).astype(np.float32)

x = tf.placeholder(tf.float32, [None, 5], name="x")
labels = tf.placeholder(tf.float32, [None, 1], name="labels")
w = tf.Variable(0.1 * rng.randn(5, 1).astype(np.float32), name="w")
b = tf.Variable(tf.zeros([1]), name="b")
noise = tf.random_normal(tf.shape(x), stddev=0.1, name="noise")
logits = tf.add(tf.matmul(tf.tanh(x + noise), w), b, name="logits")
loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits), name="loss")
train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(6):
        rows = slice(10 * step, 10 * step + 10)
        value, _ = sess.run([loss, train], {x: data[rows], labels: goal[rows]})
        print("step", step, "loss", value)
"""
TAPE = """
import numpy as np
import tensorflow as tf
tf.random.set_seed(7)
rng = np.random.RandomState(0)
data = rng.randn(60, 5).astype(np.float32)
goal = (data[:, :1] - data[:, 1:2] > 0).astype(np.float32)

w = tf.Variable(0.1 * rng.randn(5, 1).astype(np.float32), name="w")
b = tf.Variable(tf.zeros([1]), name="b")
tf.random.set_seed(7)
optimizer = tf.compat.v1.train.MomentumOptimizer(0.1, 0.9)


def train_step(x, labels):
    with tf.GradientTape() as tape:
        noise = tf.random.normal(tf.shape(x), stddev=0.1, seed=0)
        logits = tf.add(tf.matmul(tf.tanh(x + noise), w), b)
        loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits))
    optimizer.apply_gradients(zip(tape.gradient(loss, [w, b]), [w, b]))
    return loss


for step in range(6):
    rows = slice(10 * step, 10 * step + 10)
    value = train_step(tf.constant(data[rows]), tf.constant(goal[rows]))
    print("step", step, "loss", value.numpy())
"""
MAP: dict[str, Any] = {
    "format": 1,
    "program": "model.py",
    "module": "tapes.py",
    "functions": [
        {
            "name": "train_step",
            "fetches": ["loss:0", "Momentum"],
            "feeds": {"x": "x:0", "labels": "labels:0"},
            "returns": ["loss:0"],
            "sites": [["model.py", 23]],
        }
    ],
    "variables": {
        "w:0": "w",
        "b:0": "b",
        "w/Momentum:0": "optimizer.get_slot(w, 'momentum')",
        "b/Momentum:0": "optimizer.get_slot(b, 'momentum')",
    },
    "ops": {"loss": 20},
}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the program and its record."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "model.py").write_text(GRAPH)
    assert dualgrad(folder, "record", "-o", "R", "model.py") == 0
    return folder


def compared(folder: Path, *arguments: str) -> dict[str, Any]:
    """What a comparison finds."""
    code = dualgrad(folder, "compare", *arguments, "--json", "found.json")
    found: dict[str, Any] = json.loads((folder / "found.json").read_text())
    assert code == {"DIFFERENT": 1, "EQUAL SO FAR": 1, "NOTHING COMPARED": 2}.get(found["verdict"], 0)
    return found


def with_tapes(recorded: Path, tmp_path: Path, text: str) -> dict[str, Any]:
    """Compare a migrated program with the record."""
    (tmp_path / "tapes.py").write_text(text)
    (tmp_path / "tapes.map.json").write_text(json.dumps(MAP))
    return compared(tmp_path, str(recorded / "R"), "tapes.py")


# ---- records ---------------------------------------------------------------------------------------------------------


def test_a_record_says_what_was_asked_fed_and_given(recorded: Path) -> None:
    golden = Golden(recorded / "R")
    first, step = golden.part("steps.json")[:2]
    assert first["fetches"] == ["init"]
    assert step["fetches"] == ["loss:0", "Momentum"]
    assert step["site"] == ["model.py", 23]
    assert list(step["feeds"]) == ["x:0", "labels:0"]
    data = np.random.RandomState(0).randn(60, 5).astype(np.float32)[:10]
    assert np.array_equal(golden.array(step["feeds"]["x:0"]), data)
    assert step["results"][1] is None
    assert set(step["after"]) == {"w:0", "b:0", "w/Momentum:0", "b/Momentum:0", "noise/counter:0"}
    assert {"Tanh:0", "logits:0", "noise/RandomStandardNormal:0"} <= set(step["ops"])
    assert golden.lines("printed.txt").startswith("step 0 loss 0.7")
    made = golden.head["made"]
    assert made["numpy"] == np.__version__
    assert made["cpu_features"]
    assert made["threads"]


def test_the_census_has_each_name_with_its_lines(recorded: Path) -> None:
    census = Golden(recorded / "R").part("census.json")
    lines = GRAPH.splitlines()
    for name, places in census.items():
        for file, line in places:
            assert file == "model.py"
            assert f"tf.{name}" in lines[line - 1]
    assert {"placeholder", "nn.sigmoid_cross_entropy_with_logits", "train.MomentumOptimizer"} <= set(census)


def test_two_records_of_one_program_are_equal_files(recorded: Path, tmp_path: Path) -> None:
    shutil.copy(recorded / "model.py", tmp_path)
    assert dualgrad(tmp_path, "record", "-o", "again", "model.py") == 0
    for file in (recorded / "R").iterdir():
        assert file.read_bytes() == (tmp_path / "again" / file.name).read_bytes(), file.name


def test_runs_are_sampled_by_kind(recorded: Path, tmp_path: Path) -> None:
    shutil.copy(recorded / "model.py", tmp_path)
    assert dualgrad(tmp_path, "record", "-o", "R", "--every", "2", "--limit", "2", "--ops", "0", "model.py") == 0
    golden = Golden(tmp_path / "R")
    assert [step["number"] for step in golden.part("steps.json")] == [0, 1, 3]
    assert not any("ops" in step for step in golden.part("steps.json"))
    assert golden.head["kept"] == {"every": 2, "limit": 2, "ops": 0, "steps": 3, "of": 7}
    assert compared(tmp_path, "R")["verdict"] == "EQUAL TO THE BIT"


def test_a_program_that_fails_is_recorded_so_far(tmp_path: Path) -> None:
    text = (
        "import tensorflow as tf\nx = tf.placeholder(tf.float32)\n"
        "with tf.Session() as s:\n    s.run(x + 1, {x: 1})\n    s.run(x)\n"
    )
    (tmp_path / "p.py").write_text(text)
    assert dualgrad(tmp_path, "record", "-o", "R", "p.py") == 1
    golden = Golden(tmp_path / "R")
    assert golden.head["program"]["exit"] == 1
    assert "feed a value" in golden.part("steps.json")[1]["error"]


def test_other_folders_are_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text("")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").write_text("mine")
    assert dualgrad(tmp_path, "record", "-o", "mine", "p.py") == 2
    assert [f.name for f in (tmp_path / "mine").iterdir()] == ["file"]


@pytest.mark.parametrize("kind", [np.float16, np.complex64, np.int8, bool])
def test_arrays_come_back_as_they_were(kind: Any, tmp_path: Path) -> None:
    from dualgrad.files.golden import GoldenWriter

    arrays = [np.array([[1, 0], [0, 1]], kind), np.zeros((0, 3), kind), np.array(1, kind)]
    arrays += [np.array([b"a\0", "\u00e9".encode(), b""], object), np.array(-0.0), np.array([np.nan, np.inf])]
    writer = GoldenWriter(tmp_path / "R")
    described = [writer.put(a) for a in arrays]
    writer.finish({}, {})
    golden = Golden(tmp_path / "R")
    for a, d in zip(arrays, described, strict=True):
        found = golden.array(d)
        assert digest(found) == digest(a)
        assert found.shape == a.shape
        assert found.dtype == a.dtype


def damages(folder: Path) -> dict[str, Any]:
    """Ways to damage a record."""

    def edit(name: str, old: bytes, new: bytes) -> None:
        content = (folder / name).read_bytes()
        assert old in content
        (folder / name).write_bytes(content.replace(old, new, 1))

    def cut() -> None:
        content = (folder / "arrays.npz").read_bytes()
        (folder / "arrays.npz").write_bytes(content[: len(content) // 2])

    return {
        "steps.json": lambda: edit("steps.json", b"loss:0", b"loss:1"),
        "arrays.npz": cut,
        "format": lambda: edit("record.json", b'"format": 1', b'"format": 9'),
        "record.json": lambda: edit("record.json", b"{", b"["),
        "missing": lambda: (folder / "graphs.json").unlink(),
    }


@pytest.mark.parametrize("kind", ["steps.json", "arrays.npz", "format", "record.json", "missing"])
def test_damaged_records_are_refused(
    recorded: Path, tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(recorded / "R", tmp_path / "R")
    damages(tmp_path / "R")[kind]()
    with pytest.raises(DataLossError):
        Golden(tmp_path / "R")
    assert dualgrad(tmp_path, "compare", "R") == 2
    assert capsys.readouterr().err.startswith("dualgrad compare: ")


def test_an_array_that_is_not_what_it_is_said_to_be(recorded: Path) -> None:
    golden = Golden(recorded / "R")
    good = golden.part("steps.json")[1]["feeds"]["x:0"]
    other = golden.part("steps.json")[1]["feeds"]["labels:0"]
    for bad in (
        {**good, "shape": [5, 10]},
        {**good, "dtype": "int32"},
        {**good, "hash": other["hash"]},
        {"shape": [1]},
    ):
        with pytest.raises(DataLossError):
            golden.array(bad)


def test_an_unfinished_record_is_refused(recorded: Path, tmp_path: Path) -> None:
    shutil.copytree(recorded / "R", tmp_path / "R")
    (tmp_path / "R" / "record.json").unlink()
    with pytest.raises(NotFoundError, match="no complete record"):
        Golden(tmp_path / "R")


# ---- the same program again ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["graphs/vae", "graphs/lstm_language_model", "graphs/ddpg", "tapes/reptile_and_maml"])
def test_programs_are_equal_to_their_records(name: str, tmp_path: Path) -> None:
    program = shutil.copy(PROGRAMS / f"{name}.py", tmp_path)
    assert dualgrad(tmp_path, "record", "--limit", "3", "-o", "R", Path(program).name) == 0
    found = compared(tmp_path, "R")
    assert found["verdict"] == "EQUAL TO THE BIT"
    assert found["uncovered"] == {}
    assert all(row["equal"] == row["steps"] > 0 for row in found["rows"].values())


@pytest.mark.parametrize(
    ("old", "new", "what", "name", "type_", "line"),
    [
        ("tf.tanh(", "tf.sin(", "operation", "Tanh", "Tanh", 15),
        ("0.1, 0.9", "0.1, 0.8", "constant", "Const", "Const", 17),
        ("stddev=0.1", "stddev=0.1000001", "constant", "noise/Const_1", "Const", 14),
        ("reduce_mean", "reduce_sum", "operation", "loss", "Mean", 16),
    ],
)
def test_a_changed_program_is_found_out(
    recorded: Path, tmp_path: Path, old: str, new: str, what: str, name: str, type_: str, line: int
) -> None:
    assert old in GRAPH
    (tmp_path / "changed.py").write_text(GRAPH.replace(old, new))
    found = compared(tmp_path, str(recorded / "R"), "changed.py")
    first = found["differences"][0]
    assert (first["what"], first["name"], first["type"]) == (what, name, type_)
    assert first["site"] == ["model.py", line]
    assert [Path(first["new_site"][0]).name, first["new_site"][1]] == ["changed.py", line]
    assert first["expected"] != first["got"]


def test_another_path_is_found_out(recorded: Path, tmp_path: Path) -> None:
    text = GRAPH.replace("sess.run([loss, train]", "sess.run([loss, train] if step < 3 else [train, loss]")
    (tmp_path / "changed.py").write_text(text)
    found = compared(tmp_path, str(recorded / "R"), "changed.py")
    assert [(d["what"], d["step"]) for d in found["differences"]] == [("path", 4)]
    assert found["uncovered"] == {"steps after the program took another path": 2}


def test_other_data_are_found_out(recorded: Path, tmp_path: Path) -> None:
    (tmp_path / "changed.py").write_text(GRAPH.replace("data[rows]", "data[rows] * (1 + (step == 2))"))
    found = compared(tmp_path, str(recorded / "R"), "changed.py")
    assert [(d["what"], d["name"], d["step"]) for d in found["differences"]] == [("fed", "x:0", 3)]


# ---- a migrated program ----------------------------------------------------------------------------------------------


def test_a_migrated_program_is_equal_to_the_bit(recorded: Path, tmp_path: Path) -> None:
    found = with_tapes(recorded, tmp_path, TAPE)
    assert found["verdict"] == "EQUAL TO THE BIT"
    assert {name: row["equal"] for name, row in found["rows"].items()} == {
        "loss:0": 6, "variable w:0": 6, "variable b:0": 6, "variable w/Momentum:0": 6, "variable b/Momentum:0": 6,
    }  # fmt: skip
    assert found["uncovered"] == {"no function for init": 1}
    assert found["own"] == 6 and found["printed"] == []


def test_slots_are_found_without_the_map(recorded: Path, tmp_path: Path) -> None:
    (tmp_path / "tapes.py").write_text(TAPE.replace("value.numpy())", "value.numpy())\noptimizer._slots.__init__()"))
    known = {**MAP, "variables": {"w:0": "w", "b:0": "b"}}
    (tmp_path / "tapes.map.json").write_text(json.dumps(known))
    found = compared(tmp_path, str(recorded / "R"), "tapes.py")
    assert found["verdict"] == "EQUAL TO THE BIT"
    assert found["rows"]["variable w/Momentum:0"]["equal"] == 6


def test_what_is_not_migrated_yet_is_no_difference_but_not_signed_either(recorded: Path, tmp_path: Path) -> None:
    text = TAPE.replace("for step in range(6)", "train = train_step\n\n\nfor step in range(0)")
    functions = [{**MAP["functions"][0], "name": "missing"}, {"name": None, "fetches": ["init"]}]
    (tmp_path / "tapes.py").write_text(
        text + "\ndef missing(*args):\n    raise NotImplementedError('not converted (1): MatMul: why')\n"
    )
    (tmp_path / "tapes.map.json").write_text(json.dumps(MAP | {"functions": functions}))
    found = compared(tmp_path, str(recorded / "R"), "tapes.py")
    assert found["verdict"] == "EQUAL SO FAR"
    assert found["uncovered"] == {"missing: not converted (1): MatMul: why": 6}
    assert {name: row["equal"] for name, row in found["rows"].items()} == {
        "variable w:0": 1, "variable b:0": 1,
    }  # fmt: skip
    assert "functions alone" in found["aside"]


def test_a_program_that_does_not_run_is_not_compared(recorded: Path, tmp_path: Path) -> None:
    (tmp_path / "tapes.py").write_text("1 / 0\n")
    (tmp_path / "tapes.map.json").write_text(json.dumps(MAP))
    assert dualgrad(tmp_path, "compare", str(recorded / "R"), "tapes.py") == 2


@pytest.mark.parametrize(
    ("old", "new", "what", "name", "ulps", "line", "step"),
    [
        ("tf.tanh(", "tf.sin(", "operation", "Tanh", None, 18, 1),
        ("0.1, 0.9", "0.1, 0.8", "constant", "Const", None, 20, 2),
        ("stddev=0.1", "stddev=np.nextafter(np.float32(0.1), np.float32(1))", "operation", "noise/mul", 2, 17, 1),
    ],
)
def test_a_wrong_migration_is_found_out(
    recorded: Path, tmp_path: Path, old: str, new: str, what: str, name: str, ulps: float | None, line: int, step: int
) -> None:
    assert old in TAPE
    found = with_tapes(recorded, tmp_path, TAPE.replace(old, new))
    assert found["verdict"] == "DIFFERENT"
    first = found["differences"][0]
    assert (first["what"], first["name"], first["step"]) == (what, name, step)
    assert [Path(first["new_site"][0]).name, first["new_site"][1]] == ["tapes.py", line]
    if ulps is not None:
        assert first["ulps"] == ulps


def test_a_function_that_raises_is_a_difference(recorded: Path, tmp_path: Path) -> None:
    text = TAPE.replace("    with tf.G", "    if x[0, 0] == data[20, 0]: raise ValueError('no')\n    with tf.G")
    found = with_tapes(recorded, tmp_path, text)
    assert [(d["what"], d["step"], d["note"]) for d in found["differences"]] == [
        ("error", 0, "it ended with 1 by itself"),
        ("error", 3, "train_step raised ValueError: no"),
    ]


def test_what_is_printed_is_compared(recorded: Path, tmp_path: Path) -> None:
    found = with_tapes(recorded, tmp_path, TAPE.replace('"loss"', '"cost"'))
    assert found["verdict"] == "DIFFERENT"
    assert found["differences"] == []
    assert found["printed"][0].startswith("line 1: 'step 0 cost")


@pytest.mark.parametrize(
    ("change", "says"), [({"format": 2}, '"format" must be 1'), ({"functions": [{"fetches": []}]}, "lacks 'name'")]
)
def test_bad_maps_are_refused(
    recorded: Path, tmp_path: Path, change: dict[str, Any], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tapes.py").write_text(TAPE)
    (tmp_path / "m.json").write_text(json.dumps(MAP | change))
    assert dualgrad(tmp_path, "compare", str(recorded / "R"), "tapes.py", "--map", "m.json") == 2
    assert says in capsys.readouterr().err


# ---- other machines, and the report ----------------------------------------------------------------------------------


def elsewhere(record: Path, tmp_path: Path, **made: str) -> Path:
    """The record as if another machine had made it."""
    shutil.copytree(record, tmp_path / "elsewhere")
    head = json.loads((tmp_path / "elsewhere" / "record.json").read_text())
    head["made"] |= {"cpu_features": ["AVX2"], **made}
    (tmp_path / "elsewhere" / "record.json").write_text(json.dumps(head))
    return tmp_path / "elsewhere"


def test_another_machine_is_not_comparable_to_the_bit(recorded: Path, tmp_path: Path) -> None:
    record = elsewhere(recorded / "R", tmp_path, numpy="1.0")
    found = compared(tmp_path, str(record))
    assert found["verdict"] == "EQUAL WITHIN ROUNDING"
    assert any(reason.startswith("numpy: 1.0 there") for reason in found["reasons"])
    assert found["operations"] > 50
    (tmp_path / "changed.py").write_text(GRAPH.replace("tf.tanh(", "tf.sin("))
    changed = compared(tmp_path, str(record), "changed.py")
    assert changed["verdict"] == "DIFFERENT"


OTHERWISE = """
import sys
import numpy as np
from dualgrad.migrate.command import main
from engine.ops import {module}
kernel = {module}.{op}.kernel
def rounded(*args, **kw):
    x = kernel(*args, **kw)
    return np.where(x.view(np.int64) & 4, np.nextafter(x, np.inf), x) if x.dtype == np.float64 else x
object.__setattr__({module}.{op}, "kernel", rounded)
sys.exit(main(["record", "-o", "R", "model.py"]))
"""


@pytest.mark.parametrize(
    ("module", "op", "verdict"),
    [("special", "lgamma", "EQUAL TO THE BIT BUT FOR PRODUCTS"), ("trig", "tanh", "DIFFERENT")],
)
def test_only_products_may_be_rounded_otherwise_on_another_machine(
    module: str, op: str, verdict: str, tmp_path: Path
) -> None:
    (tmp_path / "model.py").write_text(
        "import numpy as np\nimport tensorflow as tf\nx = tf.placeholder(tf.float64, [4, 4])\n"
        # of later runs results are recorded only, behind a difference that cancels
        "y = tf.add(tf.tanh(tf.lgamma(x)), x)\n"
        "z = tf.reduce_sum(tf.exp(y))\nslope, = tf.gradients(z, x)\n"
        "change = 2.0 * (tf.lgamma(x) - tf.lgamma(x + 1e-6))\n"
        "with tf.Session() as sess:\n    for _ in range(12):\n        print(sess.run([y, z, change, slope], "
        "{x: np.arange(1.0, 17.0).reshape(4, 4) / 5}))\n"
    )
    printed(OTHERWISE.format(module=module, op=op), cwd=tmp_path, DUALGRAD_NATIVE="0")
    found = compared(tmp_path, str(elsewhere(tmp_path / "R", tmp_path)))
    assert found["verdict"] == verdict, found["differences"]
    assert [name for name, row in found["rows"].items() if row["failed"]] == ["Tanh float64"] * (op == "tanh")


def test_the_report_says_it_all(recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "tapes.py").write_text(TAPE.replace("tf.tanh(", "tf.sin("))
    (tmp_path / "tapes.map.json").write_text(json.dumps(MAP))
    assert dualgrad(tmp_path, "compare", str(recorded / "R"), "tapes.py", "--html", "report.html") == 1
    said = capsys.readouterr().out
    page = (tmp_path / "report.html").read_text()
    for text in ("DIFFERENT", "Tanh", "the other program has Sin here", "no function for init", "variable w:0"):
        assert text in said
        assert text in page
    assert "[model.py:15]" in said
    assert "<script" not in page
    assert "http" not in page
    assert f"NumPy {np.__version__}" in page


def test_what_an_optimizer_keeps_is_made_at_its_first_step(tmp_path: Path) -> None:
    (tmp_path / "late.py").write_text(
        "import tensorflow as tf\nv = tf.Variable([1.0, 2.0])\nloss = tf.reduce_sum(v * v)\n"
        "step = tf.train.AdamOptimizer().minimize(loss)\nwith tf.Session() as sess:\n"
        "    sess.run(tf.global_variables_initializer())\n    print(sess.run(loss))\n    sess.run(step)\n"
    )
    assert dualgrad(tmp_path, "record", "-o", "record", "late.py") == 0
    assert dualgrad(tmp_path, "convert", "--functions", "-o", "late_tape.py", "late.py") == 0
    assert dualgrad(tmp_path, "compare", "record", "late_tape.py") == 0


def test_who_reads_the_output_may_stop(tmp_path: Path) -> None:
    (tmp_path / "many.py").write_text("import tensorflow as tf\n" + "tf.no_such_name\n" * 2000)
    command = [sys.executable, "-m", "dualgrad", "check", str(tmp_path / "many.py")]
    with subprocess.Popen(command, cwd=HOME, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stderr is not None
        assert "missing" in process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 1


def test_operations_of_gradients_are_seen_where_the_walk_has_become_a_program() -> None:
    import tape_api as tf
    from dualgrad.migrate.compare.traces import Event, tracing

    x, events = tf.Variable(3.0), list[Event]()

    def slope() -> None:
        with tf.GradientTape() as tape:
            y = tf.sin(x) * x
        tape.gradient(y, x)

    for _ in range(5):
        slope()
    with tracing(events):
        slope()
    assert [e.name for e in events] == ["sin", "multiply", "multiply", "multiply", "cos", "multiply", "add"]
