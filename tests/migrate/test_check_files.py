"""``dualgrad check`` on several files: what one imports from another, and from files that are not given."""

import json
from pathlib import Path

import pytest

from dualgrad.migrate.check import check, files_of, judged_together
from dualgrad.migrate.check.uses import Use
from tests.migrate.test_check import TF, command

PACKAGE = {
    "pkg/__init__.py": "from .common import T\n",
    "pkg/common.py": "import tensorflow as T\ntf = T\nfrom tensorflow import nn as ops\n",
    "pkg/net.py": "from .common import T as t\nfrom pkg.common import ops\nt.foo(1)\nops.goo(2)\n",
    "pkg/sub/train.py": (
        "from ..common import *\nfrom .. import common as c\ntf.hoo\nc.tf.ioo\nfrom ... import pkg\npkg.T.joo\n"
    ),
}
MISSING = [("net.py", 3, "tf.foo"), ("net.py", 4, "tf.nn.goo")] + [
    ("train.py", line, f"tf.{name}") for line, name in [(3, "hoo"), (4, "ioo"), (6, "joo")]
]
TOGETHER = {
    "modules beside": {
        "utils.py": TF + "def f():\n    return tf.zeros([2])\n",
        "p.py": "import utils, utils as u\nfrom utils import tf\nutils.tf.foo\nu.f().goo()\ntf.hoo\n",
    },
    "folders without __init__": {
        "models/net.py": TF,
        "p.py": "import models.net, models.net as n\nmodels.net.tf.foo\nn.tf.goo\nfrom models import net\nnet.tf.hoo\n",
    },
    "a package beneath another folder": {
        "src/lib/__init__.py": "",
        "src/lib/net.py": TF,
        "tests/p.py": "from lib.net import tf as T\nfrom lib import net\nT.foo, net.tf.goo, T.hoo\n",
    },
    "imports in a circle": {
        "a.py": "from b import *\nfrom b import tf\nfrom c import x\n",
        "b.py": "from a import *\nimport tensorflow as tf\nx = 1\n",
        "p.py": "from a import tf\ntf.foo\nimport a, b\na.tf.goo\nb.a, a.b\nb.tf.hoo\n",
        "c.py": "from a import x\nfrom b import x\n",
    },
    "what other files give": {
        "layers.py": TF + "class Base:\n    def __init__(self, x):\n        self.x = x\n    def f(self):\n"
        "        self.x.foo()\nclass More(Base):\n    pass\ndef show(y):\n    y.goo()\n",
        "p.py": "import tensorflow as tf\nfrom layers import More, show\nmine = More(tf.zeros([1]))\nmine.f()\n"
        "show(tf.ones([1]))\nimport layers\nlayers.Base(tf.ones([2])).x.hoo()\n",
    },
    "an import by name": {
        "utils.py": TF,
        "p.py": "import importlib\nu = importlib.import_module('utils')\nu.tf.foo\n__import__('utils').tf.goo\n"
        "getattr(u, 'tf').hoo\n",
    },
}


def written(folder: Path, files: dict[str, str]) -> list[Path]:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return [*files_of(folder)]


def places(uses: list[Use]) -> list[tuple[str, int, str]]:
    return [(Path(use.file).name, use.line, use.name) for use in uses if not use.is_resolved]


def test_names_of_other_files_of_a_package(tmp_path: Path) -> None:
    found = check(written(tmp_path, PACKAGE))
    assert places(found) == MISSING
    assert {use.verdict for use in found if not use.is_resolved} == {"missing"}


@pytest.mark.parametrize("case", TOGETHER)
def test_files_are_checked_together(tmp_path: Path, case: str) -> None:
    found = check(written(tmp_path, TOGETHER[case]))
    names = [name.rpartition(".")[2] for *_, name in places(found)]
    assert sorted(names) == ["foo", "goo", "hoo"], found
    assert all(use.verdict == "missing" for use in found if not use.is_resolved)


def test_files_that_are_not_checked(tmp_path: Path) -> None:
    """What they give is not known; Python's own modules and installed packages are not looked for."""
    written(tmp_path, PACKAGE | {"pkg/types.py": "", "pkg/numpy.txt": "", "pkg/sub/__init__.py": "", "beside.py": TF})
    text = (
        "import types, numpy as np, beside\nfrom .common import T\nfrom . import net, sub\nfrom .gone import *\n"
        "import pkg.net\nfrom pkg import common\nT.foo\nimport os.path, not_installed\nimport importlib\n"
        "importlib.import_module('.net', 'pkg')\nfrom . import types as own\n"
    )
    (tmp_path / "pkg" / "p.py").write_text(text)
    alone = check([tmp_path / "pkg" / "p.py"])
    assert [(use.line, use.name) for use in alone] == [
        *[(1, "beside"), (2, ".common"), (3, ".net"), (3, ".sub"), (4, ".gone"), (5, "pkg.net"), (6, "pkg.common")],
        *[(10, ".net"), (11, ".types")],
    ]
    assert {(use.kind, use.verdict) for use in alone} == {("file", "not checked")}
    assert "check it together with this one" in alone[0].message
    everything = check([*files_of(tmp_path)])
    assert [p for p in places(everything) if p[0] == "p.py"] == [("p.py", 4, ".gone"), ("p.py", 7, "tf.foo")]


def test_names_that_another_file_does_not_bind(tmp_path: Path) -> None:
    files = {
        "a.py": "from numpy import *\n",
        "b.py": "globals()['tf'] = __import__('tensorflow')\nx = 1\n",
        "p.py": "from a import array\nfrom b import x, tf, __name__\ntf.foo\n",
    }
    (use,) = [use for use in check(written(tmp_path, files)) if not use.is_resolved]
    assert (Path(use.file).name, use.line, use.name, use.verdict) == ("p.py", 2, "b.tf", "not checked")
    assert use.message == "b.py does not bind it: only running tells what it is"


def test_a_package_of_version_2(tmp_path: Path) -> None:
    """The version is told from names that are reached through other files."""
    files = {
        "pkg/__init__.py": "",
        "pkg/common.py": TF,
        "pkg/a.py": "from .common import tf as T\nT.optimizers.Adam, T.GradientTape\nT.foo\n",
        "pkg/b.py": "from pkg import common\ncommon.tf.function, common.tf.optimizers.SGD\ncommon.tf.goo\n",
        "pkg/c.py": "from .common import *\ntf.GradientTape, tf.optimizers.Adam\ntf.hoo\n",
    }
    assert places(check(written(tmp_path, files))) == [
        *[("a.py", 3, "tf.foo"), ("b.py", 3, "tf.goo"), ("c.py", 3, "tf.hoo")]
    ]


def test_a_file_that_cannot_be_read_says_so_once(tmp_path: Path) -> None:
    found = check(written(tmp_path, {"old.py": "print 1\n", "p.py": "from old import tf\ntf.foo\n"}))
    assert [(Path(use.file).name, use.verdict) for use in found] == [("old.py", "not checked")]


def test_the_report_of_a_package(tmp_path: Path) -> None:
    """As text, JSON and SARIF; the exit code."""
    written(tmp_path, PACKAGE)
    code, total = "1", "4 files, 7 uses of TensorFlow: 2 same, 0 differs, 5 missing, 0 not checked"
    text = command("pkg", folder=tmp_path)
    assert (text.returncode, text.stdout.splitlines()[-1]) == (int(code), total)
    assert text.stdout.startswith("pkg/net.py:3:3: missing: tf.foo: ")
    content = json.loads(command("--format", "json", "pkg", folder=tmp_path).stdout)
    opened = [(Path(use["file"]).name, use["line"], use["name"]) for use in content["uses"] if use["verdict"] != "same"]
    assert (content["files"], opened) == (4, MISSING)
    one = command("--format", "sarif", "pkg/net.py", folder=tmp_path)
    (run,) = json.loads(one.stdout)["runs"]
    assert one.returncode == 1
    assert [result["ruleId"] for result in run["results"]] == ["not-checked"] * 2
    regions = [result["locations"][0]["physicalLocation"]["region"] for result in run["results"]]
    assert [region["startLine"] for region in regions] == [1, 2]
    (tmp_path / "pkg" / "net.py").write_text("from .common import T\nT.tanh\n")
    assert command("pkg/net.py", "pkg/common.py", folder=tmp_path).returncode == 0


def test_a_module_is_what_most_programs_that_use_it_are(tmp_path: Path) -> None:
    """By whole names in a package, and by dots."""
    files = {
        "pkg/__init__.py": "",
        "pkg/layers/__init__.py": "",
        "pkg/layers/dense.py": TF + "tf.keras.optimizers, tf.config, tf.print\ntf.assign, tf.foo\n",
        "pkg/bin/__init__.py": "",
        "pkg/bin/train.py": TF + "from pkg.layers import dense\ntf.Session\n",
        "pkg/layers/both.py": TF + "import tensorflow.contrib.eager as tfe\ntf.enable_eager_execution, tf.Session\n",
        "pkg/bin/use.py": TF + "from pkg.layers import both, dense\ntf.Graph\n",
        "pkg/bin/test.py": TF + "from ..layers import dense\ntf.contrib.layers\n",
        "pkg/bin/try_eager.py": TF + "from pkg.layers.dense import tf as t\ntf.GradientTape, tf.function\n",
    }
    assert places(check(written(tmp_path, files))) == [("dense.py", 3, "tf.foo")]
    apis = {file.name: api for file, api in judged_together([*files_of(tmp_path)]).items()}
    assert (apis["dense.py"], apis["train.py"], apis["test.py"], apis["try_eager.py"]) == ("1", "1", "1", "2")
    assert apis["use.py"] == "1"


def test_each_file_is_read_once_to_judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many others import it."""
    files = {f"m{i}.py": TF + "".join(f"import m{j}\n" for j in range(8)) for i in range(8)}
    paths, read = written(tmp_path, files), []
    monkeypatch.setattr(Path, "read_bytes", lambda self: read.append(self) or TF.encode() + b"import m0, m1, m2, m3\n")
    judged_together(paths)
    assert len(read) == len({*read}) == 8
