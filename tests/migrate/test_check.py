"""``dualgrad check``: every use of TensorFlow in a file, however it is written, has a verdict."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from dualgrad.frontend.absent import ABSENT
from dualgrad.frontend.differences import DIFFERENCES
from dualgrad.migrate.check import check, files_of
from dualgrad.migrate.check.formats import as_json, as_sarif, as_text
from dualgrad.migrate.check.members import LACKING
from dualgrad.migrate.check.surface import Surface
from dualgrad.migrate.check.uses import Use, uses
from dualgrad.migrate.removed import removed
from tests.coverage_of_names import used
from tests.processes import HOME, printed, ran
from tests.programs.catalogue import HERE, programs


def found(text: str, api: str = "1") -> list[Use]:
    return uses(text, "p.py", Surface.of(api))


def verdicts(text: str, api: str = "1") -> dict[str, str]:
    """By name, of all but the import of TensorFlow itself; no name has two verdicts."""
    by_name: dict[str, set[str]] = {}
    for use in found(text, api):
        by_name.setdefault(use.name, set()).add(use.verdict)
    assert all(len(verdict) == 1 for verdict in by_name.values()), by_name
    return {name: verdict.pop() for name, verdict in by_name.items() if name != "tf"}


TF = "import tensorflow as tf\n"
NAMES = {
    "an alias": ("import tensorflow as T\nT.foo", {"tf.foo": "missing"}),
    "an alias of an alias": (TF + "T = tf\nU = T\nU.tanh\nU.foo", {"tf.tanh": "same", "tf.foo": "missing"}),
    "an alias of a part": (
        TF + "n = tf.nn\nr = n.relu6\nr(1.0)\nn.foo",
        {"tf.nn.relu6": "same", "tf.nn.foo": "missing"},
    ),
    "no alias": ("import tensorflow\ntensorflow.nn.foo", {"tf.nn.foo": "missing"}),
    "a part without alias": ("import tensorflow.nn\ntensorflow.tanh", {"tf.nn": "same", "tf.tanh": "same"}),
    "from": (
        "from tensorflow import nn as n, foo\nn.elu\nfoo()",
        {"tf.nn": "same", "tf.nn.elu": "same", "tf.foo": "missing"},
    ),
    "from a part": ("from tensorflow.nn import elu, foo", {"tf.nn.elu": "same", "tf.nn.foo": "missing"}),
    "all names of a module": ("from tensorflow.nn import *\nelu(1.0)\nmine(2)", {"tf.nn": "same", "tf.nn.elu": "same"}),
    "contrib": (
        "import tensorflow.contrib.slim as slim\nslim.conv2d\nslim.foo\nslim.nets.vgg",
        {"tf.contrib.slim": "same", "tf.contrib.slim.conv2d": "same"}
        | dict.fromkeys(["tf.contrib.slim.foo", "tf.contrib.slim.nets.vgg"], "missing"),
    ),
    "version 1 inside": (
        TF + "tf.compat.v1.Session\ntf.compat.v1.foo",
        {"tf.compat.v1.Session": "same", "tf.compat.v1.foo": "missing"},
    ),
    "internals": (
        "from tensorflow.python.framework import ops\nops.RegisterGradient\nops.foo",
        {"tf.python.framework.ops": "same", "tf.python.framework.ops.RegisterGradient": "same"}
        | {"tf.python.framework.ops.foo": "missing"},
    ),
    "a chain below what is missing": (TF + "tf.estimator.inputs.foo(1)", {"tf.estimator.inputs.foo": "missing"}),
    "a class's name": (
        TF + "tf.GraphKeys.WEIGHTS\ntf.GraphKeys.FOO",
        {"tf.GraphKeys.WEIGHTS": "same", "tf.GraphKeys.FOO": "missing"},
    ),
    "a function's own import": ("def f():\n    import tensorflow as tf\n    return tf.foo", {"tf.foo": "missing"}),
    "a name that hides it": (TF + "def f(tf):\n    return tf.foo", {}),
    "somebody else's": ("import numpy as tf\ntf.foo", {}),
    "a relative import": ("from .tensorflow import nn\nnn.foo", {".tensorflow": "not checked"}),
    "a conditional expression": (TF + "(tf.tanh if a else tf.foo)(1)", {"tf.tanh": "same", "tf.foo": "missing"}),
    "the keys of a table": (TF + "t = {'a': tf.tanh, 'b': tf.foo}\nt[k](1)", {"tf.tanh": "same", "tf.foo": "missing"}),
    "a decorator": (TF + "@tf.foo\ndef f(): pass", {"tf.foo": "missing"}),
    "an annotation": (TF + "def f(x: tf.Tensor) -> tf.foo: pass", {"tf.Tensor": "same", "tf.foo": "missing"}),
    "a default": (TF + "def f(a=tf.foo, *, b=tf.tanh): pass", {"tf.foo": "missing", "tf.tanh": "same"}),
    "getattr": (
        TF + "getattr(tf, name)\ngetattr(tf.nn, 'elu')",
        {"getattr(tf, …)": "not checked", "tf.nn.elu": "same"},
    ),
    "getattr with a default": (TF + "getattr(tf, 'foo', None)", {"tf.foo": "differs"}),
    "a lookup": (TF + "vars(tf)[n]\ntf.__dict__[n]", {"vars": "not checked", "__dict__": "not checked"}),
    "code in a string": (TF + "eval('tf.' + n)", {"eval": "not checked"}),
    "an import by name": (
        "import importlib\nimportlib.import_module('tensorflow.nn').foo\nimportlib.import_module('tensorflow.' + n)",
        {"tf.nn": "same", "tf.nn.foo": "missing", "import": "not checked"},
    ),
    "what is made of what is missing": (
        TF + "e = tf.estimator.Estimator(f)\ne.train(g)",
        {"tf.estimator.Estimator": "missing", "tf.estimator.Estimator().train": "missing"},
    ),
    "what a program is prepared for": (
        "try:\n    from tensorflow import foo\nexcept ImportError:\n    foo = None",
        {"tf.foo": "differs"},
    ),
    "a package on top": ("import tensorflow_probability as tfp", {"tensorflow_probability": "missing"}),
}


@pytest.mark.parametrize("case", NAMES)
def test_names(case: str) -> None:
    text, expected = NAMES[case]
    assert verdicts(text) == expected


X = TF + "x = tf.placeholder(tf.float32)\n"
KNOWN = {"tf.placeholder": "same", "tf.float32": "same"}
METHODS = {
    "a tensor": ("x.get_shape()\nx.foo()", {"Tensor.get_shape": "same", "Tensor.foo": "missing"}),
    "a chain": (
        "x.get_shape().as_list()\nx.get_shape().foo()",
        {"Tensor.get_shape": "same", "GraphShape.as_list": "same", "GraphShape.foo": "missing"},
    ),
    "what operators give": (
        "y = 2 * x + 1\n(-y).foo()\n(y > 1).goo()\ny[0].hoo()",
        dict.fromkeys(["Tensor.foo", "Tensor.goo", "Tensor.hoo"], "missing"),
    ),
    "what functions give": ("tf.matmul(x, x).foo()", {"tf.matmul": "same", "Tensor.foo": "missing"}),
    "a function of the file": (
        "def f(a):\n    return tf.tanh(a)\nf(x).foo()",
        {"tf.tanh": "same", "Tensor.foo": "missing"},
    ),
    "a parameter": ("def f(a, b=1):\n    a.foo()\nf(x)\nf(b=2, a=x)", {"Tensor.foo": "missing"}),
    "a lambda": ("f = lambda a: a.foo()\nf(x)", {"Tensor.foo": "missing"}),
    "a recursion": (
        "def f(a, n):\n    a.foo()\n    return f(tf.tanh(a), n - 1) if n else a\nf(x, 3).goo()",
        {"tf.tanh": "same", "Tensor.foo": "missing", "Tensor.goo": "missing"},
    ),
    "a loop": ("y = x\nfor i in range(3):\n    y = tf.tanh(y)\ny.foo()", {"tf.tanh": "same", "Tensor.foo": "missing"}),
    "lists": (
        "l = []\nl.append(x)\nfor y in l:\n    y.foo()\n[z.goo() for z in l]",
        {"Tensor.foo": "missing", "Tensor.goo": "missing"},
    ),
    "dicts": (
        "d = {}\nd['x'] = x\nfor k, v in d.items():\n    v.foo()\nd['x'].goo()",
        {"Tensor.foo": "missing", "Tensor.goo": "missing"},
    ),
    "tuples": ("def f():\n    return 1, x\na, b = f()\nb.foo()\na.goo()", {"Tensor.foo": "missing"}),
    "zip and enumerate": (
        "for i, (a, b) in enumerate(zip([x], [1])):\n    a.foo()\n    b.goo()",
        {"Tensor.foo": "missing"},
    ),
    "gradients": ("g = tf.gradients(x, [x])[0]\ng.foo()", {"tf.gradients": "same", "Tensor.foo": "missing"}),
    "pairs of an optimizer": (
        "o = tf.train.AdamOptimizer()\nfor g, v in o.compute_gradients(x):\n    v.foo()\no.goo()",
        {
            "tf.train.AdamOptimizer": "same",
            "AdamOptimizer.compute_gradients": "same",
            "IndexedSlices.foo": "missing",
            "AdamOptimizer.goo": "missing",
        },
    ),
    "with": (
        "with tf.Session() as s:\n    s.run(x)\n    s.foo()",
        {"tf.Session": "same", "Session.run": "same", "Session.foo": "missing"},
    ),
    "an attribute": (
        "class M:\n    def __init__(self):\n        self.x = x\n    def f(self):\n        self.x.foo()\nM().x.goo()",
        {"Tensor.foo": "missing", "Tensor.goo": "missing"},
    ),
    "a property": (
        "class M:\n    @property\n    def y(self):\n        return x\nM().y.foo()",
        {"Tensor.foo": "missing"},
    ),
    "a class of ours beneath": (
        "class O(tf.train.Optimizer):\n  def f(self):\n    self.minimize(x)\n    self.foo()\n    self.f()",
        {"tf.train.Optimizer": "same", "Optimizer.minimize": "same", "Optimizer.foo": "missing"},
    ),
    "a class of another package beneath": (
        "import other\nclass O(other.Base):\n    def f(self):\n        self.foo()",
        {},
    ),
    "super": (
        "class O(tf.train.Optimizer):\n    def f(self):\n        super().foo()\n        super(O, self).minimize(x)",
        {"tf.train.Optimizer": "same", "Optimizer.minimize": "same", "Optimizer.foo": "missing"},
    ),
    "results are NumPy's": (
        "tf.Session().run(x).foo()\nx.eval().foo()",
        {"tf.Session": "same", "Session.run": "same", "Tensor.eval": "same"},
    ),
    "a method that tells": ("def f(a):\n    a.get_shape().foo()\n    a.goo()", {"Tensor.get_shape": "same"}),
    "a session by its name": (
        "def f(sess):\n    sess.run(x, feed={})",
        {"Session.run": "same", "Session.run(feed=)": "missing"},
    ),
    "not a session by its name": ("def f(session):\n    session.run(x)\n    session.request('GET')", {}),
    "what only running tells": (
        "y = getattr(tf, n)(x)\ny.foo()",
        {"getattr(tf, …)": "not checked", "getattr(tf, …).foo": "not checked"},
    ),
    "flags": ("tf.app.flags.FLAGS.rate.foo()", {"tf.app.flags.FLAGS": "same"}),
    "a dtype": ("tf.float32.is_floating\ntf.float32.foo()", {"DType.is_floating": "same", "DType.foo": "missing"}),
    "a method of its own": ("tf.Tensor.mine = lambda self: 1\nx.mine()", {"tf.Tensor": "same"}),
    "a dataset": (
        "d = tf.data.Dataset.range(3).map(f).batch(2)\nd.foo()",
        {"tf.data.Dataset.range": "same", "Dataset.map": "same", "Dataset.batch": "same", "Dataset.foo": "missing"},
    ),
}


@pytest.mark.parametrize("case", METHODS)
def test_methods(case: str) -> None:
    text, expected = METHODS[case]
    assert {n: v for n, v in verdicts(X + text).items() if n not in KNOWN or n in expected} == expected


KEYWORDS = {
    "an op": (
        "tf.tanh(x=1.0, name='a', foo=1)",
        {"tf.tanh(x=)": "same", "tf.tanh(name=)": "same", "tf.tanh(foo=)": "missing"},
    ),
    "an old name": (
        "tf.reduce_sum(1.0, reduction_indices=[0], dim=1)",
        {"tf.reduce_sum(reduction_indices=)": "same", "tf.reduce_sum(dim=)": "missing"},
    ),
    "one that means nothing": (
        "tf.gather([1], [0], validate_indices=True)",
        {"tf.gather": "differs", "tf.gather(validate_indices=)": "differs"},
    ),
    "a class": (
        "tf.train.AdamOptimizer(learning_rate=1.0, foo=1)",
        {"tf.train.AdamOptimizer(learning_rate=)": "same", "tf.train.AdamOptimizer(foo=)": "missing"},
    ),
    "a method": (
        "tf.Session().run([], feed_dict={}, foo=1)",
        {"Session.run": "same", "Session.run(feed_dict=)": "same", "Session.run(foo=)": "missing"},
    ),
    "through an alias": ("f = tf.tanh\nf(foo=1)", {"tf.tanh(foo=)": "missing"}),
    "partly applied": ("import functools\nfunctools.partial(tf.tanh, foo=1)(2)", {"tf.tanh(foo=)": "missing"}),
    "too many": ("tf.placeholder(tf.float32, [], 'x', 4)", {"tf.placeholder": {"same", "missing"}}),
    "as many as there are": ("tf.concat([a], 0, 'n')", {"tf.concat": "same"}),
    "stars": ("tf.tanh(*a, **b)", {"tf.tanh": "same"}),
    "what calls a constructor": (
        "class O(tf.train.Optimizer):\n    def __init__(self):\n        tf.train.Optimizer.__init__(self, False, 'O')",
        {"tf.train.Optimizer": "same"},
    ),
}


@pytest.mark.parametrize("case", KEYWORDS)
def test_keywords(case: str) -> None:
    text, expected = KEYWORDS[case]
    by_name: dict[str, set[str]] = {}
    for use in found(TF + text):
        by_name.setdefault(use.name, set()).add(use.verdict)
    for name, verdict in expected.items():
        assert by_name[name] == (verdict if isinstance(verdict, set) else {verdict})
    missing = {name for name, verdict in by_name.items() if "missing" in verdict}
    assert missing == {name for name, verdict in expected.items() if "missing" in verdict}


ELEVEN = """\
import tensorflow as T
from tensorflow.contrib import slim
import tensorflow.contrib.seq2seq as s2s
kind = "AdamOptimizer"
x = T.placeholder(T.float32, [None, 3])
net = slim.fully_connected(x, 4, activation_function=T.tanh)
shape = net.get_shape().as_lists()
cell = s2s.BeamSearchDecoder
step = getattr(T.train, kind)
if __name__ == "__main__":
    print(shape, cell, T.Session().run(net, feed={x: [[1, 2, 3]]}))
"""


def test_a_file_of_eleven_lines_with_five_issues() -> None:
    assert len(ELEVEN.splitlines()) == 11
    open_ones = [use for use in found(ELEVEN) if not use.is_resolved]
    assert [(use.line, use.name, use.verdict) for use in open_ones] == [
        (6, "tf.contrib.slim.fully_connected(activation_function=)", "missing"),
        (7, "GraphShape.as_lists", "missing"),
        (8, "tf.contrib.seq2seq.BeamSearchDecoder", "missing"),
        (9, "getattr(T.train, …)", "not checked"),
        (11, "Session.run(feed=)", "missing"),
    ]
    lines = ELEVEN.splitlines()
    for use in open_ones:
        last = use.name.rpartition("(")[2] if use.kind == "keyword" else use.name.partition("(")[0].rpartition(".")[2]
        assert lines[use.line - 1][use.column - 1 :].startswith(last.rstrip("=)"))
    messages = [use.message for use in open_ones]
    assert messages[0].startswith("did you mean activation_fn? ")
    assert messages[2] == ABSENT["contrib.seq2seq"]


def test_what_is_missing_says_what_to_do() -> None:
    said = {use.name: use.message for use in found(TF + "tf.reduce_summ\ntf.train.Savers\ntf.optimizers.Adam\ntf.qq")}
    assert said["tf.reduce_summ"].endswith("did you mean tf.reduce_sum?")
    assert said["tf.train.Savers"].endswith("did you mean tf.train.Saver?")
    assert "it is TensorFlow 2's" in said["tf.optimizers.Adam"]
    assert said["tf.qq"] == "dualgrad has no such name (yet)"


def test_the_session_of_a_test_is_one() -> None:
    text = "class T(tf.test.TestCase):\n  def test(self):\n    with self.{}() as s:\n      s.run(0)\n      s.runn(0)\n"
    for name in ("session", "cached_session", "test_session"):
        said = {use.name.rpartition(".")[2]: use.verdict for use in found(TF + text.format(name))}
        assert (said["run"], said["runn"]) == ("same", "missing"), name


def test_the_differences_are_those_of_the_page() -> None:
    page = " ".join((HOME / "docs" / "differences.md").read_text().split())
    for name, sentence in DIFFERENCES.items():
        assert sentence in page, name
        first = name.partition(".")[0]
        assert any(Surface.of(api).has(name) for api in "12") or first[0].isupper(), name


@pytest.mark.parametrize("version", ["1", "2"])
def test_the_names_that_published_programs_use(version: str) -> None:
    """The same names are missing as when they are imported (`tests.coverage_of_names`)."""
    names = [name for name in used(version) if not name.startswith("__")]
    text = TF + "\n".join(f"tf.{name}" for name in names)
    missing = {use.name.removeprefix("tf.") for use in found(text, version) if use.verdict == "missing"}
    code = f"from tests.coverage_of_names import report; print(*report({version!r}).missing)"
    assert missing == {*printed(code).split()}


def test_all_programs_are_clean() -> None:
    assert [use for use in check(programs()) if not use.is_resolved] == []


def test_programs_in_a_folder_are_judged_with_their_modules(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "main.py").write_text(TF + "import layer\ntf.placeholder(tf.float32)\n")
    (tmp_path / "old" / "layer.py").write_text(TF + "tf.optimizers.Adam\n")
    (tmp_path / "new.py").write_text(TF + "with tf.GradientTape() as t: tf.optimizers.Adam()\n")
    (tmp_path / "cells.ipynb").write_text("{}")
    files = [*files_of(tmp_path)]
    assert [file.name for file in files] == ["cells.ipynb", "new.py", "layer.py", "main.py"]
    open_ones = [use for use in check(files) if not use.is_resolved]
    assert [(Path(use.file).name, use.verdict) for use in open_ones] == [
        ("cells.ipynb", "not checked"),
        ("layer.py", "missing"),
    ]


def test_a_module_of_the_program_called_keras(tmp_path: Path) -> None:
    (tmp_path / "keras.py").write_text("foo = 1\n")
    (tmp_path / "p.py").write_text("import keras\nkeras.foo\n")
    assert check([tmp_path / "keras.py", tmp_path / "p.py"]) == []
    assert [(use.name, use.verdict) for use in check([tmp_path / "p.py"])] == [("keras", "not checked")]
    assert [use.verdict for use in found("import keras\nkeras.foo")] == ["same", "missing"]


def test_python_2_is_not_checked() -> None:
    (use,) = found("import tensorflow as tf\nprint 1\n")
    assert (use.line, use.verdict) == (2, "not checked")
    assert use.message.startswith("Python 3 cannot read it")


def test_text() -> None:
    lines = as_text(found(TF + "tf.foo\ntf.foo\ntf.tanh\n"), 1).splitlines()
    assert lines == [
        "p.py:2:4: missing: tf.foo: dualgrad has no such name (yet) (and in line 3)",
        "1 file, 4 uses of TensorFlow: 2 same, 0 differs, 2 missing, 0 not checked",
    ]
    assert "p.py:4:4: same: tf.tanh" in as_text(found(TF + "tf.foo\ntf.foo\ntf.tanh\n"), 1, every=True)


def test_json() -> None:
    content = json.loads(as_json(found(ELEVEN), 1))
    assert content["counts"] == {"same": 10, "differs": 0, "missing": 4, "not checked": 1}
    first = {"file": "p.py", "line": 1, "column": 1, "kind": "name", "name": "tf", "verdict": "same", "message": ""}
    assert content["uses"][0] == first
    assert len(content["uses"]) == 15


def test_sarif() -> None:
    """Its shape: what the standard requires of a log, a run, a rule and a result."""
    content = json.loads(as_sarif(found(ELEVEN + "tf_relu = T.nn.relu\n"), 1))
    assert content["version"] == "2.1.0" and content["$schema"].endswith("sarif-2.1.0.json")
    (run,) = content["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "dualgrad check"
    assert [rule["id"] for rule in driver["rules"]] == ["differs", "not-checked", "missing"]
    assert len(run["results"]) == 6
    for result in run["results"]:
        rule = driver["rules"][result["ruleIndex"]]
        assert result["ruleId"] == rule["id"] and result["level"] == rule["defaultConfiguration"]["level"]
        assert result["level"] in ("note", "warning", "error") and result["message"]["text"]
        (location,) = result["locations"]
        place = location["physicalLocation"]
        assert place["artifactLocation"] == {"uri": "p.py"}
        assert place["region"]["startLine"] >= 1 and place["region"]["startColumn"] >= 1
    assert {result["level"] for result in run["results"]} == {"note", "warning", "error"}


def command(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    code = "import sys; from dualgrad.migrate.command import main; sys.exit(main(sys.argv[1:]))"
    return ran("-c", code, "check", *arguments, cwd=folder)


def test_the_command(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(ELEVEN)
    bad = command("--format", "sarif", "-o", "out.sarif", "bad.py", folder=tmp_path)
    assert (bad.returncode, bad.stdout, bad.stderr) == (1, "", "")
    assert len(json.loads((tmp_path / "out.sarif").read_text())["runs"][0]["results"]) == 5
    good = command(str(HERE / "graphs" / "vae.py"), folder=tmp_path)
    assert good.returncode == 0, good.stdout
    assert good.stdout.endswith("0 missing, 0 not checked\n")
    absent = command("no.py", folder=tmp_path)
    assert (absent.returncode, absent.stderr) == (2, "dualgrad check: there is no file no.py\n")


def test_names_that_numpy_and_python_have_given_up_are_missing() -> None:
    text = """
import numpy as np
import numpy, time, collections.abc
from collections import Mapping, deque
import scipy.misc
import edward as ed

try:
    import cPickle as pickle
except ImportError:
    import pickle
try:
    unicode
except NameError:
    unicode = str
np.float(1), numpy.Inf, np.float32, np.bool_, time.clock(), time.time(), collections.abc.Mapping, unicode
for i in xrange(3):
    range = np.product
"""
    said = [(use.line, use.name, use.verdict) for use in found(text)]
    assert said == [
        (4, "collections.Mapping", "missing"),
        (5, "scipy.misc", "missing"),
        (6, "edward", "not checked"),
        (9, "cPickle", "differs"),
        (16, "numpy.float", "missing"),
        (16, "numpy.Inf", "missing"),
        (16, "time.clock", "missing"),
        (17, "xrange", "missing"),
        (18, "numpy.product", "missing"),
    ]


def test_a_name_that_has_come_back_is_no_alarm() -> None:
    assert hasattr(np, "bool") == (removed("numpy.bool") is None)
    assert "--compat" in str(removed("numpy.float"))


def test_names_that_stand_for_lists_first_are_no_tensors_alone() -> None:
    """A list that is stacked later keeps its methods; weights of layers are the front end's variables."""
    text = """
import tensorflow as tf
class Own(tf.keras.layers.Layer):
    def build(self, shape):
        self.w = self.add_weight(shape=(shape[-1], 2))
        self.n = self.add_weight(shape=(), trainable=False)
    def call(self, x):
        self.n.assign_add(1.0)
        return tf.matmul(x, self.w) + self.w.numpy().sum() + self.n.value()
rows = []
for i in range(3):
    rows.append(tf.zeros([2]))
rows = tf.stack(rows)
states = tf.zeros([3])
states = list(tf.unstack(states))
for i in range(3):
    states = states[1:]
    states.append(tf.zeros([]))
    states.pop(0)
grads = None
for i in range(3):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(rows)
    found = tape.gradient(loss, [rows])
    grads = found if grads is None else [a + b for a, b in zip(grads, found)]
grads.reverse()
"""
    assert [u for u in uses(text, "p.py", Surface.of("2")) if not u.is_resolved] == []
    wrong = "rows.apend(1)\nOwn().add_weight(shape=()).assign_all(2)\ntf.zeros([1]).append(3)\n"
    found = [u.name for u in uses(text + wrong, "p.py", Surface.of("2")) if u.verdict == "missing"]
    assert [name.replace("EagerTensor", "Tensor") for name in found][:2] == ["Tensor.apend", "Variable.assign_all"]
    assert len(found) == 3


def test_it_foretells_where_convert_keeps_no_loop(tmp_path: Path) -> None:
    program = tmp_path / "p.py"
    program.write_text(
        TF + "q = tf.FIFOQueue(3, [tf.float32])\nx, y = tf.train.limit_epochs([1.0, 2.0], 2)\ny = tf.tanh(x)\n"
    )
    found = check([program])
    first, second, total = as_text(found, 1).splitlines()
    assert first.endswith(
        "p.py:2:8: runs, but convert keeps no loop: tf.FIFOQueue: a queue that no runner fills: read with a "
        "tf.data.Dataset, and its loop will be kept"
    )
    assert "p.py:3:17: runs, but convert keeps no loop: tf.train.limit_epochs: " in second
    # it is no finding: all of it runs
    assert total.endswith("0 missing, 0 not checked") and all(use.is_resolved for use in found)
    told = json.loads(as_json(found, 1))["unconverted"]
    assert [use["name"] for use in told] == ["tf.FIFOQueue", "tf.train.limit_epochs"]


def test_objects_are_not_blamed_for_what_tensorflows_have_not_either() -> None:
    """A value of another class comes the same way: no alarm, but for what TensorFlow's objects have."""
    text = """
import argparse, collections
import tensorflow as tf
State = collections.namedtuple("State", ["level", "rate"])
class Mine(object):
    mesh = None
class Net(tf.train.AdamOptimizer):
    def __init__(self):
        self.damping = 0.1
def show(x, cell, settings):
    x.mesh, x.level, x.damping, x.mean(), x.get("a"), x.h, x.log_prob(1.0), x.startswith("a")
    settings.depth, settings.width
    x.op.op_def
    x.thing
def show_all(things):
    for x in things:
        show(x, None, argparse.Namespace(depth=3))
        show(tf.zeros([2]), None, None)
show_all([tf.ones([2])])
tf.train.AdamOptimizer()._lr_t
direct = tf.ones([2])
direct.mean()
"""
    found = [(u.line, u.name) for u in uses(text, "p.py", Surface.of("1")) if not u.is_resolved]
    # of TensorFlow's: `op_def`, `_lr_t`; of nobody: `thing`; of a value that can be nothing else: `mean`
    expected = [(13, "Operation.op_def"), (14, "Tensor.thing"), (20, "AdamOptimizer._lr_t"), (22, "Tensor.mean")]
    assert found == expected


def test_what_is_listed_as_lacking_is_lacking() -> None:
    kinds = [
        Surface.of("1").look(path) for path in ("Tensor", "Operation", "Variable", "Graph", "Session", "SparseTensor")
    ]
    kinds += [Surface.of("1").look(f"train.{name}Optimizer") for name in ("Adam", "GradientDescent", "Momentum")]
    kinds += [Surface.of("1").look(path) for path in ("train.Saver", "VariableScope", "TensorArray", "QueueBase")]
    seen = {base.__name__: kind for kind in kinds for base in kind.__mro__}
    assert LACKING.keys() <= seen.keys() | {"GraphShape"}
    for name in LACKING.keys() & seen.keys():
        has = [n for n in LACKING[name] if Surface.of("1").has_attribute(seen[name], n)]
        assert not has, (name, has)


def test_names_of_several_versions_are_missing_only_if_all_are() -> None:
    text = """
import tensorflow as tf
try:
    v1 = tf.compat.v1
except AttributeError:
    v1 = tf
v1.foo, v1.placeholder, v1.sparse_fill_empty_rowz
def symbol(path):
    found = tf
    for part in path.split("."):
        found = getattr(found, part, None)
    return found
nest = symbol("nest")
nest.flatten, nest.map_structure
if hasattr(tf, "select"):
    y = tf.select(1, 2, 3)
tf.select(1, 2, 3)
"""
    found = [(u.line, u.name) for u in uses(text, "p.py", Surface.of("1")) if u.verdict == "missing"]
    assert {line for line, _ in found} == {7, 17}
    assert {name.rpartition(".")[2] for _, name in found} == {"foo", "sparse_fill_empty_rowz", "select"}


def test_a_function_that_is_handed_on_may_be_another_one() -> None:
    """Only a call by TensorFlow's own name says which keywords it takes."""
    text = """
import tensorflow as tf
def dense(x, activation=tf.nn.relu):
    return activation(x, slope=0.1)
dense(1.0, activation=tf.nn.elu)
tf.nn.relu(1.0, slope=0.1)
"""
    found = [(u.line, u.name) for u in uses(text, "p.py", Surface.of("1")) if u.verdict == "missing"]
    assert found == [(6, "tf.nn.relu(slope=)")]


def test_a_missing_class_is_reported_with_its_methods_but_not_what_they_give() -> None:
    text = TF + "e = tf.NoClass()\nfor row in e.rows():\n    row.flat\n    row.name.split('a')\n"
    found = [(u.line, u.name) for u in uses(text, "p.py", Surface.of("1")) if u.verdict == "missing"]
    assert found == [(2, "tf.NoClass"), (3, "tf.NoClass().rows")]


def test_names_inside_classes_of_tensorflows_own_modules() -> None:
    text = (
        "from tensorflow.core.framework import summary_pb2, tensor_shape_pb2\n"
        "summary_pb2.Summary.Value, tensor_shape_pb2.TensorShapeProto.Dim, summary_pb2.Summary.Foo\n"
        "import unittest.mock\nfrom tensorflow.python.platform import test\ntest.mock.call(1)\n"
    )
    found = [u.name for u in uses(text, "p.py", Surface.of("1")) if u.verdict == "missing"]
    assert found == ["tf.core.framework.summary_pb2.Summary.Foo"]


def test_containers_that_fill_each_other_are_read_to_an_end() -> None:
    """Lists that are each filled from the next: as many as a file likes."""
    lines = ["a400 = [tf.zeros([2])]", *(f"a{i} = []" for i in range(400)), "for x in a0: x.foo()"]
    lines += [f"a{i}.extend(a{i + 1})" for i in range(400)]
    found = uses(TF + "\n".join(lines) + "\ntf.foo\n", "p.py", Surface.of("1"))
    assert "tf.foo" in [use.name for use in found if use.verdict == "missing"]
