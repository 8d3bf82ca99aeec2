"""What `import graph_api` loads, and that what it leaves for later is there all the same."""

import importlib
import pkgutil
import shutil
from pathlib import Path

import pytest

from tests.processes import HOME, printed, ran


def said(program: str) -> str:
    return printed(program).strip()


def test_gradients_load_neither_scipy_nor_the_planner() -> None:
    program = """
import sys
import graph_api as tf
x = tf.placeholder(tf.float32, [None])
v = tf.Variable([1.0])
train = tf.train.AdamOptimizer().minimize(tf.reduce_sum(v * x))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    sess.run(train, {x: [2.0]})
print([m for m in sys.modules if m.startswith(("scipy", "unittest", "engine.jacobian.planning", "tape_api"))])
"""
    assert said(program) == "[]"


def test_methods_of_a_tape_that_need_the_planner() -> None:
    program = """
from engine.transforms.gradient_tape import GradientTape
from engine.core.eager import EagerTensor
import engine.numpy_api.operators, inspect, numpy as np
x = EagerTensor(np.array([1.0, 2.0]))
with GradientTape(persistent=True) as tape:
    tape.watch(x)
    y = x * x
    z = y[0]
print(tape.hessian_diag(z, x).numpy().tolist(), tape.jacobian(y, x).numpy().tolist())
print(list(inspect.signature(GradientTape.batch_jacobian).parameters)[:3], bool(GradientTape.hvp.__doc__))
"""
    assert said(program) == "[2.0, 0.0] [[2.0, 0.0], [0.0, 4.0]]\n['self', 'target', 'source'] True"


def test_ufuncs_of_scipy_are_recorded_whenever_it_is_loaded() -> None:
    program = """
import tape_api as tf
x = tf.constant([0.5])
import scipy.special, scipy.sparse
with tf.GradientTape() as tape:
    tape.watch(x)
    y = scipy.special.erf(x) + scipy.special.expit(x) + scipy.sparse.eye(1) @ x
print(type(y).__name__, "%.4f" % tape.gradient(y, x).numpy()[0])
"""
    assert said(program) == "EagerTensor 2.1138"


@pytest.mark.parametrize("front_end", ["graph_api", "tape_api"])
def test_importing_a_front_end_loads_tables_and_nothing_else(front_end: str) -> None:
    program = f"""
import sys
before = set(sys.modules)
import {front_end}
loaded = {{m for m in set(sys.modules) - before if "__file__" in vars(sys.modules[m])}}
found = {{m for m in loaded if m.partition(".")[0] in {("numpy", "scipy", *FOUR)}}}
print(*found)
"""
    tables = {"dualgrad.lazy_names", "dualgrad.platform", "optim.names", *_of("dualgrad.frontend", _TABLES)}
    tables |= {*_of("engine.runtime", "cache collector commit errors structs")}
    assert set(said(program).split()) - {*PACKAGES, front_end} <= tables | set(
        _of(front_end, "compat.v1 lazy_names names")
    )


FOUR = ("engine", "dualgrad", "optim", "graph_api", "tape_api")
PACKAGES = ("dualgrad", "dualgrad.frontend", "optim", "engine", "engine.runtime")
_TABLES = "common_names docstrings namespace rows scipy_modules tracebacks version1"


def _of(package: str, names: str) -> list[str]:
    return [f"{package}.{name}" for name in names.split()]


ROOMS = (
    *("scipy", "unittest", "socket", "http", "logging", "dualgrad.keras.layers", "dualgrad.keras.losses"),
    *("dualgrad.data", "dualgrad.extras.ops.images", "dualgrad.files.checkpoints", "dualgrad.migrate"),
    *("engine.explain", "engine.jacobian.planning"),
)
SPARSE = ("scipy.sparse", "concurrent.futures.process", "multiprocessing", "hashlib")
SELDOM = ("engine.numpy_api.catalog", "engine.control.cond", "engine.control.scan_loop", "engine.ops.conv")
LOADING = {
    "training on a tape": """
import tape_api as tf
v = tf.Variable([1.0])
with tf.GradientTape() as tape:
    loss = tf.reduce_sum(tf.nn.relu(v * v))
assert tape.gradient(loss, v).numpy() == [2.0]
""",
    "training in a graph": """
import graph_api as tf
x = tf.placeholder(tf.float32, [None])
v = tf.get_variable("v", [1], initializer=tf.ones_initializer())
train = tf.train.AdamOptimizer().minimize(tf.reduce_sum(v * x))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    sess.run(train, {x: [2.0]})
""",
    "derivatives on a tape": """
import numpy as np
import tape_api as tf
x = tf.Variable(np.ones(4))
with tf.GradientTape() as tape:
    y = tf.sin(x) * tf.reduce_sum(x)
tape.jacobian(y, x)
""",
    "derivatives in a graph": """
import numpy as np
import graph_api as tf
x = tf.placeholder(tf.float64, [4])
(hessian,) = tf.hessians(tf.reduce_sum(tf.sin(x)) ** 2, x)
tf.Session().run(hessian, {x: np.ones(4)})
""",
    "fitting": """
import numpy as np
import tape_api as tf
t = np.linspace(0.0, 1.0, 5)
p = tf.for_scipy(lambda x: x[0] * np.exp(-x[1] * t) + np.concatenate([np.cos(x[:1]), np.zeros(4)]), np.ones(2))
for _ in range(4):
    p.fun(p.x0), p.jac(p.x0)
""",
}
NEEDLESS = {"training": ROOMS, "derivatives": SPARSE, "fitting": (*SELDOM, "engine.ops.special")}
"""What programs do not need, by the first words of their names."""


@pytest.mark.parametrize("name", LOADING)
def test_programs_load_nothing_that_they_do_not_need(name: str) -> None:
    needless = NEEDLESS[name.partition(" ")[0]]
    assert said(f"{LOADING[name]}import sys\nprint(*[m for m in {needless} if m in sys.modules])") == ""


@pytest.mark.parametrize("front_end", ["graph_api", "tape_api"])
def test_every_name_is_where_its_table_says(front_end: str) -> None:
    program = f"""
import types
import {front_end} as tf

def broken(part, seen):
    for name in dir(part):
        if not name.startswith("__"):
            try:
                value = getattr(part, name)
            except Exception as error:
                yield part.__name__, name, error
            inside = vars(value).get("__waiting__") if isinstance(value, types.ModuleType) else None
            if inside is not None and id(value) not in seen:
                seen.add(id(value))
                yield from broken(value, seen)

print(*broken(tf, {{id(tf)}}))
"""
    assert said(program) == ""


@pytest.mark.parametrize("front_end", ["graph_api", "tape_api"])
def test_importing_a_module_takes_no_name(front_end: str) -> None:
    # a module may have the name of a function: `graph_api.function`
    package = importlib.import_module(front_end)
    modules = sorted(module.name for module in pkgutil.iter_modules(package.__path__))
    program = f"""
import importlib, types
import {front_end} as tf
for module in {modules}:
    importlib.import_module("{front_end}." + module)
for name, waiting in vars(tf)["__waiting__"].items():
    if not waiting.is_module and isinstance(getattr(tf, name), types.ModuleType):
        print(name)
"""
    assert front_end == "tape_api" or "function" in modules
    assert said(program) == ""


def test_tables_have_all_that_these_modules_offer() -> None:
    program = """
import graph_api as tf
from graph_api import loss_functions, training
print({*training.__all__} - {*dir(tf.train)}, {*loss_functions.__all__} - {*dir(tf.losses)})
"""
    assert said(program) == "set() set()"


def test_a_part_that_is_imported_directly_has_all_its_names() -> None:
    program = """
import tape_api.keras, tape_api.train
import tape_api as tf
print(tf.train.Checkpoint.__name__, tape_api.train.list_variables.__name__)
try:
    tape_api.keras.Sequental
except AttributeError as error:
    print("has no such name" in str(error))
"""
    assert said(program) == "Checkpoint list_variables\nTrue"


@pytest.mark.parametrize("front_end", ["graph_api", "tape_api"])
def test_star_imports_have_the_names_that_wait(front_end: str) -> None:
    program = f"""
from {front_end} import *
import builtins
builtins.print(reduce_sum.__name__, nn.relu.__name__, gradients.__name__, explain.__name__, "library" in globals())
"""
    assert said(program) == "reduce_sum relu gradients explain False"


def test_a_function_is_the_same_under_all_its_names_and_in_all_threads() -> None:
    program = """
import threading
import tape_api as tf
found, start = [], threading.Barrier(8)

def look(names):
    start.wait()
    found.extend(id(eval(name)) for name in names)

names = ["tf.sigmoid", "tf.math.sigmoid", "tf.nn.sigmoid", "tf.compat.v1.sigmoid"]
threads = [threading.Thread(target=look, args=(names[i % 4:] + names[:i % 4],)) for i in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(found), len(set(found)))
"""
    assert said(program) == "32 1"


def test_the_package_of_the_command_hands_on_both_front_ends_on_first_use() -> None:
    program = """
import sys
import dualgrad
print([m for m in ("engine", "graph_api", "tape_api", "optim", "numpy") if m in sys.modules])
print(dualgrad.__version__, dualgrad.graph.__name__, dualgrad.tape.__name__, dualgrad.optim.__name__)
print(sorted(dualgrad.__all__) == [n for n in dir(dualgrad) if n in dualgrad.__all__])
try:
    dualgrad.gradients
except AttributeError as error:
    print(str(error).partition("; ")[2])
"""
    version = said("import engine; print(engine.__version__)")
    has = "it has __version__, bench, graph, numpy, optim, tape"
    assert said(program) == f"[]\n{version} graph_api tape_api optim\nTrue\n{has}"


# ---- under the package's name, and beside files of the same names ----------------------------------------------------


def test_the_parts_of_dualgrad_are_the_packages_themselves() -> None:
    program = """
import dualgrad, sys
import dualgrad.tape as tf
import dualgrad.tape.keras.layers as layers
from dualgrad.tape.keras.layers import Dense
from dualgrad.graph import Session
import dualgrad.optim.transforms
from dualgrad.bench import compare_modes
import bench, graph_api, optim.transforms, tape_api.keras.layers
assert tf is tape_api is dualgrad.tape and layers is tape_api.keras.layers and Dense is layers.Dense
assert tape_api.__name__ == tape_api.__spec__.name == "tape_api" and Session is graph_api.Session
assert dualgrad.optim.transforms is optim.transforms and compare_modes is bench.compare_modes
try:
    import dualgrad.tape.nonsense
except ModuleNotFoundError as error:
    print(error.name)
"""
    assert said(program) == "tape_api.nonsense"


IN_THE_WAY = {
    "engine.py": ["import graph_api", "import tape_api", "import dualgrad.graph", "import dualgrad.bench"],
    "optim/__init__.py": ["import graph_api", "import tape_api", "import dualgrad.tape", "import dualgrad.optim"],
    "bench/__init__.py": ["import dualgrad.bench", "import dualgrad; dualgrad.bench"],
    "bench.py": ["from dualgrad.bench import compare_modes"],
    "graph_api.py": ["import dualgrad.graph", "import dualgrad; dualgrad.graph"],
}


@pytest.mark.parametrize("file", IN_THE_WAY)
def test_what_is_in_the_way_is_named(file: str, tmp_path: Path) -> None:
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    path.write_text("own = 1\n")
    tries = "".join(f"try:\n    {line}\nexcept ImportError as error:\n    print(error)\n" for line in IN_THE_WAY[file])
    (tmp_path / "program.py").write_text(tries)
    done = ran("-u", "program.py", cwd=tmp_path)
    lines = done.stdout.splitlines()
    culprit = path.parent if path.name == "__init__.py" else path
    assert len(lines) == len(IN_THE_WAY[file]), done.stderr
    assert all(line.startswith(f"{culprit} is in the way: ") for line in lines)


@pytest.mark.parametrize("kind", ["{}.py", "{}/__init__.py", "{}/inner.py"])
def test_a_program_runs_beside_its_own_packages_of_our_names(kind: str, tmp_path: Path) -> None:
    theirs, part = {}, ".inner" * (kind == "{}/inner.py")
    for name in (*["bench"] * (not part), "engine", "optim", "graph_api", "tape_api"):
        (tmp_path / kind.format(name)).parent.mkdir(exist_ok=True)
        (tmp_path / kind.format(name)).write_text("import helper\nown = helper.two // 2\n")
        (tmp_path / f"again_{name}.py").write_text(f"def again():\n    import {name}\n    return {name}\n")
        theirs[name] = f"import {name}{part}, again_{name}\nfrom {name}{part} import own\n"
        theirs[name] += f"assert again_{name}.again() is {name}\n"
        if part:
            theirs[name] += f"from {name} import inner\nassert inner is {name}.inner\n"
    (tmp_path / "helper.py").write_text("two = 2\n")
    ours = """import tensorflow as tf
w = tf.Variable(3.0)
step = tf.train.AdamOptimizer(0.5).minimize(w * w)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    sess.run(step)
    print(own, sess.run(w))
"""
    (tmp_path / "program.py").write_text("".join(theirs.values()) + ours)
    assert printed("-m", "dualgrad", "run", "program.py", cwd=tmp_path) == "1 2.5\n"
    checked = ran("-m", "dualgrad", "check", "program.py", cwd=tmp_path)
    assert checked.stderr == "" and "0 missing" in checked.stdout
    if kind == "{}.py":
        (tmp_path / "tape_api.py").unlink()  # which the new program imports
        (tmp_path / "program.py").write_text("".join(list(theirs.values())[:-1]) + ours)
        assert "the whole program" in ran("-m", "dualgrad", "convert", "-o", "n.py", "program.py", cwd=tmp_path).stderr
        assert printed("-m", "dualgrad", "run", "n.py", cwd=tmp_path) == "1 2.5\n"


@pytest.mark.parametrize("inside", ["site-packages", ""])
def test_a_package_of_another_distribution_is_named(inside: str, tmp_path: Path) -> None:
    theirs = tmp_path / inside / "engine" / "__init__.py"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("own = 1\n")
    # on the path before ours, or in its place
    guard = HOME / "engine" / "guard.py" if inside else shutil.copy(HOME / "engine" / "guard.py", theirs.parent)
    done = ran("-u", guard, cwd=tmp_path, PYTHONPATH=str(theirs.parent.parent))
    assert ("Another distribution has installed it" if inside else "is not ours") in done.stderr.splitlines()[-1]
