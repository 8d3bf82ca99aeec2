"""Each program runs unchanged under ``dualgrad run`` and prints what it prints under TensorFlow."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import graph_api
import tape_api
from tests.migrate.in_process import dualgrad
from tests.processes import printed
from tests.programs.catalogue import HERE, differences, output_of, programs, tolerance

HOME = HERE.parents[1]
PROGRAMS = programs()
ALONE = ("checkpoints", "flags_and_app")
"""Programs that clear the default graph, or end their process: they have one of their own."""


@pytest.fixture(autouse=True)
def floats_of_keras() -> Iterator[None]:
    """Programs may set the dtype of layers for all."""
    yield
    for keras in (graph_api.keras, tape_api.keras):
        keras.backend.set_floatx("float32")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", PROGRAMS, ids=[p.stem for p in PROGRAMS])
def test_a_program_prints_what_it_prints_under_tensorflow(
    program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(program, tmp_path / program.name)
    if program.stem in ALONE:
        command = [sys.executable, "-m", "dualgrad", "run", program.name]
        environment = {**os.environ, "PYTHONPATH": str(HOME)}
        ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        code, said = ran.returncode, ran.stdout
    else:
        code, said = dualgrad(tmp_path, "run", program.name), capsys.readouterr().out
    assert code == 0
    assert differences(said, output_of(program).read_text(), tolerance(program)) == []


def test_every_output_is_that_of_a_program() -> None:
    assert {p.name for p in (HERE / "outputs").iterdir()} == {output_of(p).name for p in PROGRAMS}
    assert all(output_of(p).read_text().strip() for p in PROGRAMS)


@pytest.mark.parametrize(
    ("got", "expected", "same"),
    [
        ("loss 1.0", "loss 1.0000001", True),
        ("loss 1.0", "loss 1.01", False),
        ("loss 1.0", "cost 1.0", False),
        ("[1. 2.]", "[1.  2.]", True),
        ("a\nb", "a", False),
        ("nan", "1.0", False),
    ],
)
def test_comparison(got: str, expected: str, same: bool) -> None:
    assert (differences(got, expected, 1e-5) == []) is same


@pytest.mark.peer
@pytest.mark.parametrize("folder", ["graphs", "tapes"])
def test_the_outputs_are_those_of_real_tensorflow(folder: str) -> None:
    pytest.importorskip("tensorflow")
    code = (
        "from tests.programs import catalogue, record\n"
        f"tf = record.as_version_1() if {folder == 'graphs'} else None\n"
        "from importlib.util import find_spec\n"
        f"for p in [p for p in catalogue.programs() if p.parent.name == {folder!r}]:\n"
        "    if catalogue.needs(p) and not find_spec(catalogue.needs(p)): continue\n"
        "    tf and tf.reset_default_graph()\n"
        "    said = catalogue.output_of(p).read_text()\n"
        "    found = catalogue.differences(record.what_it_prints(p), said, catalogue.tolerance(p))\n"
        "    assert not found, (p.name, found)\n"
    )
    printed(code)
