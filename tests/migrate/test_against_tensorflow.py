"""Records of real TensorFlow, and ours compared with them operation by operation."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dualgrad.files.golden import Golden
from tests.migrate.test_record_compare import GRAPH, MAP, TAPE, compared
from tests.processes import printed
from tests.programs.catalogue import HERE as PROGRAMS

HOME = PROGRAMS.parents[1]
pytestmark = pytest.mark.peer


def recorded_under_tensorflow(folder: Path, program: str, *options: str) -> None:
    """Record a program in a process of its own."""
    words = ("-m", "dualgrad", "record", "--backend", "tensorflow", "-o", "T", *options, program)
    printed(*words, cwd=folder, TF_CPP_MIN_LOG_LEVEL="3")


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a graph program and its record under TensorFlow."""
    pytest.importorskip("tensorflow")
    folder = tmp_path_factory.mktemp("tensorflow")
    (folder / "model.py").write_text(GRAPH)
    recorded_under_tensorflow(folder, "model.py", "--ops", "6")
    return folder


def test_the_record_says_the_same_as_one_of_ours(graph: Path) -> None:
    golden = Golden(graph / "T")
    assert golden.head["made"]["backend"] == "tensorflow"
    init, step = golden.part("steps.json")[:2]
    assert init["fetches"] == ["init"]
    assert step["fetches"] == ["loss:0", "Momentum"]
    assert step["site"] == ["model.py", 23]
    assert list(step["feeds"]) == ["x:0", "labels:0"]
    assert set(step["after"]) == {"w:0", "b:0", "w/Momentum:0", "b/Momentum:0"}
    tanh = golden.array(step["ops"]["Tanh:0"])
    assert tanh.shape == (10, 5)
    assert "nn.sigmoid_cross_entropy_with_logits" in golden.part("census.json")
    assert not any("is_initialized" in node["name"].lower() for node in golden.part("graphs.json")[0])


def test_ours_is_within_rounding(graph: Path) -> None:
    found = compared(graph, "T")
    assert found["verdict"] == "EQUAL WITHIN ROUNDING", found["differences"]
    assert found["steps"] == 7
    rows = found["rows"]
    # the random numbers are TensorFlow's own: what follows from them is compared all the same
    assert rows["Tanh float32"]["steps"] == 6
    assert rows["MatMul float32"]["steps"] == 6
    assert rows["variable w:0"]["steps"] == 7
    assert all(row["failed"] == 0 for row in rows.values())
    assert found["printed"] == []


@pytest.mark.parametrize(
    ("old", "new", "what", "name"),
    [
        ("tf.tanh(x", "1.00001 * tf.tanh(x", "variable", "w:0"),
        ("reduce_mean", "reduce_sum", "operation", "loss:0"),
        ("0.1, 0.9", "0.1, 0.8", "variable", "w:0"),
    ],
)
def test_a_mistake_is_no_rounding(graph: Path, tmp_path: Path, old: str, new: str, what: str, name: str) -> None:
    (tmp_path / "changed.py").write_text(GRAPH.replace(old, new))
    found = compared(tmp_path, str(graph / "T"), "changed.py")
    assert found["verdict"] == "DIFFERENT"
    first = found["differences"][0]
    assert first["what"] == what
    assert first["name"] == name
    assert "they compute two things" in first["note"]


def test_a_migrated_program_is_compared_by_way_of_ours(graph: Path, tmp_path: Path) -> None:
    (tmp_path / "tapes.py").write_text(TAPE)
    (tmp_path / "tapes.map.json").write_text(json.dumps(MAP))
    found = compared(tmp_path, str(graph / "T"), "tapes.py")
    assert found["verdict"] == "EQUAL WITHIN ROUNDING", found
    assert found["rows"]["tapes.py: loss:0"]["equal"] == 6
    assert found["rows"]["graph: Tanh float32"]["failed"] == 0
    (tmp_path / "tapes.py").write_text(TAPE.replace("tf.tanh(", "tf.sin("))
    wrong = compared(tmp_path, str(graph / "T"), "tapes.py")
    assert wrong["verdict"] == "DIFFERENT"
    assert wrong["differences"][0]["name"] == "tapes.py: Tanh"


def test_gradients_of_tapes(tmp_path: Path) -> None:
    pytest.importorskip("tensorflow")
    shutil.copy(PROGRAMS / "tapes" / "jacobians_and_hessians.py", tmp_path / "p.py")
    recorded_under_tensorflow(tmp_path, "p.py")
    found: dict[str, Any] = compared(tmp_path, "T")
    assert found["verdict"] == "EQUAL WITHIN ROUNDING", found["differences"]
    assert found["steps"] > 0


@pytest.mark.parametrize("seed", range(3))
def test_budgets_are_kept_on_random_data(seed: int) -> None:
    tf = pytest.importorskip("tensorflow")
    from dualgrad.migrate.compare.budgets import budget, judged
    from engine.ops.arithmetic import add, multiply
    from engine.ops.explog import exp, log
    from engine.ops.trig import sin, tanh

    random = np.random.default_rng(seed)
    for dtype in (np.float32, np.float64):
        x = random.uniform(0.1, 5, 1000).astype(dtype)
        for op, theirs in ((exp, tf.exp), (log, tf.math.log), (sin, tf.sin), (tanh, tf.tanh)):
            wide = op(x.astype(np.float64))
            found = judged(op(x), theirs(x).numpy(), wide, 0.0, budget(op, np.dtype(dtype)))
            assert found.fits, (op, dtype, found)
        for op, theirs in ((add, tf.add), (multiply, tf.multiply)):
            assert np.array_equal(op(x, x[::-1]), theirs(x, x[::-1]).numpy())
