"""What `import graph_api` loads, and that what it leaves for later is there all the same."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

HOME = Path(__file__).resolve().parent.parent


def said(program: str) -> str:
    result = subprocess.run([sys.executable, "-c", program], cwd=HOME, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


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
from engine.gradient_tape import GradientTape
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
def test_no_name_that_is_loaded_later_is_that_of_a_module(front_end: str) -> None:
    # importing such a module would put it in the place of the name
    package = importlib.import_module(front_end)
    modules = {module.name for module in pkgutil.iter_modules(package.__path__)}
    rows = importlib.import_module(f"{front_end}.lazy_names").LATER
    assert [n for where, names in rows if ":" in where for n in names.split() if n in modules] == []


def test_the_package_of_the_command_hands_on_both_front_ends_on_first_use() -> None:
    program = """
import sys
import dualgrad
print([m for m in ("engine", "graph_api", "tape_api", "optim", "numpy") if m in sys.modules])
print(dualgrad.__version__, dualgrad.graph.__name__, dualgrad.tape.__name__, dualgrad.optim.__name__)
print(sorted(dualgrad.__all__) == [n for n in dir(dualgrad) if n in dualgrad.__all__])
"""
    version = said("import engine; print(engine.__version__)")
    assert said(program) == f"[]\n{version} graph_api tape_api optim\nTrue"


def test_a_name_that_the_package_has_not_is_told() -> None:
    dualgrad = importlib.import_module("dualgrad")
    with pytest.raises(AttributeError, match="'dualgrad' has no attribute 'gradients'; it has __version__, graph"):
        _ = dualgrad.gradients
