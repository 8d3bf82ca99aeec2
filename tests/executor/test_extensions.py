"""Extensions in C that were built from other sources than those beside them are not used."""

import os
import re
import shutil
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

from dualgrad.files.crc32c import in_c as checksums
from engine.core import eager
from engine.executor.extension import executor
from engine.ops import small_product, windows
from engine.runtime import elementary
from engine.runtime.extension import _stale
from tests.processes import HOME, ran

EXTENSIONS = [
    found
    for found in (executor, eager.in_c, windows.in_c, small_product.in_c, elementary.in_c, checksums)
    if found is not None
]
STALE = {
    "engine.executor._executor": "engine/executor/_executor.c=0123456789abcdef",
    "engine.core._eager": "engine/core/_eager.c=0123456789abcdef,engine/core/_gone.h=0123456789abcdef",
    # one that was built when extensions did not say so
    "engine.ops._windows": None,
    "engine.ops._products": "engine/ops/_products.c=0123456789abcdef",
    "engine.runtime.elementary._elementary": "engine/runtime/elementary/_elementary.c=0123456789abcdef",
    "engine.runtime._checksum": "engine/runtime/_checksum.c=0123456789abcdef",
}
by_name = pytest.mark.parametrize("found", EXTENSIONS, ids=lambda m: m.__name__)


def files_of(found: ModuleType) -> list[str]:
    return [part.partition("=")[0] for part in found.BUILT_FROM.split(",")]


@by_name
def test_all_that_is_included_counts(found: ModuleType) -> None:
    known = files_of(found)
    for name in known:
        for header in re.findall(r'#include "(.*)"', (HOME / name).read_text()):
            assert os.path.relpath((HOME / name).parent / header, HOME) in known


@by_name
def test_a_changed_or_missing_source_is_noticed(found: ModuleType, tmp_path: Path) -> None:
    # the modules alone are those of a wheel
    for names in ([name for name in files_of(found) if name.endswith(".py")], files_of(found)):
        for name in names:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(HOME / name, tmp_path / name)
        assert not _stale(found, str(tmp_path))
    for name in files_of(found):
        before = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(before + b"\n")
        assert _stale(found, str(tmp_path)), name
        (tmp_path / name).unlink()
        assert _stale(found, str(tmp_path)), name
        (tmp_path / name).write_bytes(before)


@pytest.mark.skipif(any(find_spec(name) is None for name in STALE), reason="an extension is not there")
@pytest.mark.parametrize(("name", "built_from"), STALE.items(), ids=STALE)
def test_a_stale_extension_is_refused(name: str, built_from: str | None) -> None:
    code = f"""
import sys, types
sys.modules[{name!r}] = found = types.ModuleType({name!r})
{built_from!r} and setattr(found, "BUILT_FROM", {built_from!r})
import dualgrad.files.crc32c
import tape_api as tf
from engine.executor import status
x = tf.constant([[[[2.0]]]])
with tf.GradientTape() as tape:
    tape.watch(x)
    y = tf.nn.max_pool2d(x * x, 1, 1, "VALID")
print(float(tape.gradient(y, x)[0, 0, 0, 0]))
print(status())
"""
    with_it, required = ran(code, DUALGRAD_NATIVE="1"), ran(code, DUALGRAD_NATIVE="require")
    said = "off (the extension was built from other C sources than those that lie here; build it again: python setup.py"
    assert with_it.stdout.startswith("4.0\n") and said in with_it.stdout, with_it
    assert f"UserWarning: {name} is not used" in with_it.stderr
    assert required.returncode and f"ImportError: DUALGRAD_NATIVE=require, but {name} is stale" in required.stderr


@pytest.mark.parametrize(("native", "times"), [("1", 1), ("0", 0)])
def test_one_word_about_extensions_that_are_not_there(native: str, times: int) -> None:
    code = f"""
import sys
sys.modules.update(dict.fromkeys({list(STALE)!r}))
import tape_api as tf
with tf.GradientTape() as tape:
    x = tf.Variable([[[[2.0]]]])
    y = tf.nn.max_pool2d(x * x, 1, 1, "VALID")
print(float(tape.gradient(y, x)[0, 0, 0, 0]))
"""
    done = ran(code, DUALGRAD_NATIVE=native)
    assert done.stdout == "4.0\n"
    assert done.stderr.count("runs without its extensions in C") == times
