"""``dualgrad run``: a program sees what ``python PROGRAM`` would show it, and ours as ``tensorflow``."""

import gzip
import subprocess
from pathlib import Path

import numpy as np
import pytest

from dualgrad.migrate.judge import judge
from tests.processes import ran


def run(folder: Path, text: str, *arguments: str, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """Run a program's text in a folder of its own."""
    (folder / "program.py").write_text(text)
    return ran("-m", "dualgrad", "run", *options, "program.py", *arguments, cwd=folder)


def output(folder: Path, text: str, *arguments: str, options: tuple[str, ...] = ()) -> list[str]:
    result = run(folder, text, *arguments, options=options)
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


def test_a_program_sees_its_own_surroundings(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("import tensorflow as tf\ndef double(x): return tf.multiply(x, 2.0)\n")
    (tmp_path / "data.txt").write_text("3.0")
    text = """
import pickle, sys
import tensorflow as tf
from helper import double

class Own:
    pass

if __name__ == "__main__":
    print(sys.argv, __file__)
    print(type(pickle.loads(pickle.dumps(Own()))) is Own)
    x = tf.placeholder(tf.float32, name="x")
    g, = tf.gradients(double(x) * x, [x])
    with tf.Session() as sess:
        print(sess.run(g, {x: float(open("data.txt").read())}))
"""
    assert output(tmp_path, text, "--flag", "value") == ["['program.py', '--flag', 'value'] program.py", "True", "12.0"]


@pytest.mark.parametrize(("end", "code"), [("sys.exit(7)", 7), ("sys.exit('bad')", 1), ("1 / 0", 1), ("", 0)])
def test_exit_codes(tmp_path: Path, end: str, code: int) -> None:
    assert run(tmp_path, f"import sys\nimport tensorflow as tf\n{end}\n").returncode == code


def test_tracebacks_show_the_lines_of_the_program(tmp_path: Path) -> None:
    text = "import tensorflow as tf\ndef f():\n    return tf.matmul(tf.zeros([2, 3]), tf.zeros([2, 3]))\nf()\n"
    lines = run(tmp_path, text).stderr.splitlines()
    assert [line.strip() for line in lines if line.startswith("  File")] == [
        'File "program.py", line 4, in <module>',
        'File "program.py", line 3, in f',
    ]
    assert "inner dimensions must agree" in lines[-1]


def test_full_tracebacks_on_demand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DUALGRAD_TRACEBACK", "full")
    text = "import tensorflow as tf\ntf.matmul(tf.zeros([2, 3]), tf.zeros([2, 3]))\n"
    assert "engine" in run(tmp_path, text).stderr


IMPORTS = """
import tensorflow as tf
import tensorflow.compat.v1 as v1
import tensorflow.nn
from tensorflow import nn, float32
from tensorflow.nn import relu
from tensorflow.python.framework import ops
from tensorflow.python.ops import array_ops, math_ops
from tensorflow.python.ops.math_ops import reduce_sum
import tensorflow.python.training.adam as adam
from tensorflow.examples.tutorials.mnist import input_data
from tensorflow.python.data.util import nest
import tensorflow.python.data.util.nest as also_nest
from tensorflow.python.layers import utils
from tensorflow.python.framework import config, test_combinations
from tensorflow.python.eager import backprop, forwardprop, record
from tensorflow.python.ops import image_ops_impl, initializers_ns, summary_ops_v2
from tensorflow.python.ops.ragged import ragged_factory_ops
from tensorflow.python.checkpoint import checkpoint_management
assert image_ops_impl.resize_images is tf.image.resize_images and initializers_ns.zeros is tf.zeros_initializer
assert checkpoint_management.latest_checkpoint is tf.train.latest_checkpoint and ragged_factory_ops.__name__
assert backprop.val_and_grad_function and backprop.implicit_grad and backprop.make_vjp and backprop.GradientTape
assert not hasattr(summary_ops_v2, "image") and not hasattr(test_combinations, "nonsense")
from tensorflow.contrib.slim.python.slim.data import data_decoder
assert nest.flatten is also_nest.flatten and nest.flatten([[1], 2]) == [1, 2]
assert utils.smart_cond(True, lambda: 1, lambda: 2) == 1
class Decoder(data_decoder.DataDecoder):
    decode = list_items = lambda self, *given: [*given]
assert Decoder().decode(1, 2) == [1, 2]
assert tf.nn is nn is tensorflow.nn and nn.relu is relu is v1.nn.relu
assert ops.reset_default_graph is tf.reset_default_graph and array_ops.reshape is tf.reshape
assert reduce_sum is tf.reduce_sum is math_ops.reduce_sum and adam.AdamOptimizer is tf.train.AdamOptimizer
assert callable(input_data.read_data_sets) and tf.examples.tutorials.mnist.input_data is input_data
assert tf.__version__.startswith("1.15") and float32 is tf.float32
assert not hasattr(tf, "GradientTapes") and hasattr(tf, "Session")
modules = [n for n in dir(tf) if getattr(getattr(tf, n), "__file__", None)]
assert not modules, modules
assert "control" not in dir(tf) and not hasattr(tf, "control")
"""


def test_the_ways_in_which_programs_import(tmp_path: Path) -> None:
    output(tmp_path, IMPORTS)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("tf.estimator.Estimator", "estimators are out of scope"),
        ("tf.train.Savers", "module 'tensorflow.train' has no attribute 'Savers'"),
        ("tf.placeholde", "Did you mean: 'placeholder'"),
        ("tf.contrib.seq2seq.BeamSearchDecoder", "beam search and attention are out of scope"),
        ("tf.contrib.tpu.TPUEstimator", "there is one device"),
        ("from tensorflow.contrib.tpu import TPUEstimator", "cannot import name 'TPUEstimator'"),
        ("from tensorflow.python.ops import nonsense", "cannot import name 'nonsense'"),
        ("import tensorflow.nonsense", "No module named 'tensorflow.nonsense'"),
    ],
)
def test_a_missing_name_says_what_to_do_where_it_is_used(tmp_path: Path, line: str, words: str) -> None:
    result = run(tmp_path, f"import tensorflow as tf\nprint('started')\n{line}\n")
    assert result.stdout == "started\n"
    assert words in result.stderr
    assert 'File "program.py", line 3' in result.stderr


def test_a_name_of_graphs_in_a_program_with_tapes(tmp_path: Path) -> None:
    result = run(tmp_path, "import tensorflow as tf\ntf.GradientTape()\ntf.get_variable\n", options=("--api", "2"))
    assert "has no attribute 'get_variable': TensorFlow 1: run the program with --api 1" in result.stderr


TAPES = """
import tensorflow as tf
import keras
from tensorflow.keras.layers import Dense
x = tf.Variable(3.0)
with tf.GradientTape() as tape:
    y = x * x
print(tape.gradient(y, x).numpy(), tf.__version__[0], Dense is keras.layers.Dense)
"""


def test_a_program_with_tapes_is_recognized(tmp_path: Path) -> None:
    assert output(tmp_path, TAPES) == ["6.0 2 True"]


def test_the_api_can_be_told(tmp_path: Path) -> None:
    text = "import tensorflow as tf\nprint(tf.__version__[0], tf.executing_eagerly())\n"
    assert output(tmp_path, text, options=("--api", "2")) == ["2 True"]
    assert output(tmp_path, text, options=("--api", "1")) == ["1 False"]


def test_eager_execution_in_version_1(tmp_path: Path) -> None:
    text = """
import tensorflow as tf
tf.enable_eager_execution()
print(float(tf.reduce_sum(tf.to_float([[1, 2]]), reduction_indices=1)[0]))
"""
    assert output(tmp_path, text) == ["3.0"]


def test_the_names_of_version_1_inside_version_2(tmp_path: Path) -> None:
    text = """
import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()
x = tf.placeholder(tf.float32)
print(*tf.Session().run(tf.gradients(x ** 3, x), {x: 2.0}))
"""
    assert output(tmp_path, text) == ["12.0"]


def test_processes_that_a_program_starts(tmp_path: Path) -> None:
    text = """
import multiprocessing as mp
import tensorflow as tf

def square(x):
    with tf.Graph().as_default(), tf.Session() as sess:
        return float(sess.run(tf.square(tf.constant(x))))

if __name__ == "__main__":
    with mp.get_context("spawn").Pool(1) as pool:
        print(pool.map(square, [2.0, 3.0]))
"""
    assert output(tmp_path, text) == ["[4.0, 9.0]"]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    result = ran("-m", "dualgrad", "run", tmp_path / "no.py")
    assert (result.returncode, result.stdout) == (2, "")
    assert "there is no file" in result.stderr


@pytest.mark.parametrize(
    ("text", "api"),
    [
        ("import tensorflow as tf\ntf.placeholder", "1"),
        ("import tensorflow as T\nx = T.random.normal([2]).numpy()", "2"),
        ("import tensorflow as tf\nwith tf.GradientTape() as t: pass", "2"),
        ("import tensorflow as tf\ntf.compat.v1.disable_eager_execution()\ntf.random.normal([1])", "1"),
        ("import tensorflow as tf\no = tf.compat.v1.train.AdamOptimizer()\nwith tf.GradientTape() as t: pass", "2"),
        ("import tensorflow as tf\ntf.enable_eager_execution()", "eager"),
        ("import tensorflow.compat.v1 as tf\ntf.disable_v2_behavior()\ntf.layers", "1"),
        ("from tensorflow import keras\nimport tensorflow as tf\n@tf.function\ndef f(): pass", "2"),
        ("import tensorflow as tf\nprint(tf.add(1, 2))", "1"),
        ("from tensorflow import keras\nm = keras.Sequential()\nm.fit(x, y)", "2"),
        ("import tensorflow as tf\nm = tf.keras.Sequential()\nm.fit(x)\ntf.get_default_graph()", "1"),
        ("def broken(:", "1"),
    ],
)
def test_judging(tmp_path: Path, text: str, api: str) -> None:
    (tmp_path / "p.py").write_text(text)
    assert judge(tmp_path / "p.py") == api


def test_judging_looks_at_the_programs_own_modules(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("import tensorflow as tf\nx = tf.GradientTape()\n")
    (tmp_path / "p.py").write_text("import tensorflow as tf\nfrom model import x\n")
    assert judge(tmp_path / "p.py") == "2"


def digits(folder: Path, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Files as MNIST has them, with random contents."""
    random = np.random.default_rng(0)
    images = random.integers(0, 256, (count, 28, 28), dtype=np.uint8)
    labels = random.integers(0, 10, count, dtype=np.uint8)
    for name, array, magic in (("images-idx3", images, 2051), ("labels-idx1", labels, 2049)):
        content = np.array([magic, *array.shape], ">u4").tobytes() + array.tobytes()
        for which in ("train", "t10k"):
            (folder / f"{which}-{name}-ubyte.gz").write_bytes(gzip.compress(content))
    return images, labels


MNIST = """
import numpy as np
import tensorflow as tf
from tensorflow.examples.tutorials.mnist import input_data
tf.set_random_seed(3)
mnist = input_data.read_data_sets("data", one_hot=True, validation_size=20)
print(mnist.train.num_examples, mnist.validation.num_examples, mnist.test.images.shape, mnist.train.labels.dtype)
for _ in range(9):
    x, y = mnist.train.next_batch(10)
    print(x.dtype, x.shape, y.argmax(1).tolist(), mnist.train.epochs_completed, round(float(x.sum()), 3))
"""


def test_handwritten_digits(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    images, labels = digits(tmp_path / "data", 70)
    lines = output(tmp_path, MNIST)
    assert lines[0] == "50 20 (70, 784) float64"
    np.random.seed(3)
    order = np.concatenate([p := np.random.permutation(50), p[np.random.permutation(50)]])
    for k, line in enumerate(lines[1:]):
        chosen = 20 + order[10 * k : 10 * k + 10]
        pixels = images[chosen].astype(np.float32) * np.float32(1 / 255)
        start = f"float32 (10, 784) {labels[chosen].tolist()} {k // 5} "
        assert line.startswith(start)
        assert float(line.removeprefix(start)) == pytest.approx(pixels.sum(), abs=0.01)


def test_digits_that_are_not_there_or_damaged(tmp_path: Path) -> None:
    text = "from tensorflow.examples.tutorials.mnist.input_data import read_data_sets\nread_data_sets('data')\n"
    assert "put train-images-idx3-ubyte.gz" in run(tmp_path, text).stderr
    (tmp_path / "data").mkdir()
    digits(tmp_path / "data", 30)
    assert "Validation size should be between 0 and 30" in run(tmp_path, text).stderr
    name = "train-images-idx3-ubyte.gz"
    (tmp_path / "data" / name).write_bytes(gzip.compress(b"\0\0\x08\x03\0\0\0\x02"))
    assert f"{name} is no IDX file" in run(tmp_path, text).stderr


OLD = {
    "np.float": ("import numpy as np\nprint(np.float(2))", "2.0", "numpy.float is gone since NumPy 1.24: write float"),
    "np.Inf": ("import numpy\nprint(numpy.Inf)", "inf", "numpy.Inf is gone since NumPy 2.0: write numpy.inf"),
    "np.product": ("import numpy as np\nprint(np.product([2, 3]))", "6", "write numpy.prod"),
    "format": ("import numpy as np\nprint('%.1f' % np.ones([1, 1]))", "1.0", "write x.item() for x"),
    "integer format": ("import numpy as np\nprint('%d %s' % (np.ones(1), 'a'))", "1 a", "write x.item() for x"),
    "float": ("import numpy as np\nprint(float(np.ones(1)))", "1.0", "write x.item() for x"),
    "collections": ("from collections import Mapping, deque\nprint(Mapping.__name__)", "Mapping", "Python 3.10"),
    "attribute of collections": ("import collections\nprint(collections.Sized.__name__)", "Sized", "collections.abc"),
    "clock": ("import time\nprint(time.clock() > 0)", "True", "time.clock is gone since Python 3.8"),
    "getargspec": ("import inspect\nprint(inspect.getargspec(lambda a, b=1: 0)[0])", "['a', 'b']", "Python 3.11"),
    "iteritems": ("print(list({1: 2}.iteritems()))", "[(1, 2)]", "dict.iteritems is gone since Python 3"),
    "method of an array": ("import numpy as np\nprint(np.arange(3.0).ptp())", "2.0", "write numpy.ptp"),
    "xrange": ("print(list(xrange(2)))", "[0, 1]", "xrange is gone since Python 3: write range"),
    "module": ("import cPickle as pickle\nprint(pickle.loads(pickle.dumps(3)))", "3", "import pickle"),
    "logsumexp": ("from scipy.misc import logsumexp\nprint(logsumexp([0.0]))", "0.0", "scipy.special.logsumexp"),
}
"""By habit: a program, what it printed, and a part of what it is told."""


@pytest.mark.parametrize("habit", OLD)
def test_a_program_that_dies_of_a_newer_numpy_or_python_is_told_so(habit: str, tmp_path: Path) -> None:
    text, printed, told = OLD[habit]
    plain = run(tmp_path, text)
    if told == "write x.item() for x" and plain.returncode == 0:
        # NumPy before 2.4 takes it still, with a warning
        assert plain.stdout.split("\n")[0] == printed
        return
    assert plain.returncode == 1
    last = plain.stderr.splitlines()[-1]
    assert last.startswith("dualgrad run: ")
    assert told in last
    assert last.endswith("(or run with --compat)")
    assert output(tmp_path, text, options=("--compat",)) == [printed]


def test_compat_bridges_the_program_and_its_modules_alone(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("import numpy as np\n\n\ndef one():\n    return np.float(1)\n")
    text = """
import numpy as np
import tensorflow as tf
from helper import one

x = tf.placeholder(np.float, [None], name="x")
with tf.Session() as sess:
    for i in xrange(2):
        print("%.1f" % sess.run(x * one(), {x: [2.0 + i]}))
print(hasattr(np, "float"), "xrange" in vars(__builtins__))
"""
    assert output(tmp_path, text, options=("--compat",)) == ["2.0", "3.0", "False False"]
    assert not (tmp_path / "__pycache__").exists()


def test_an_error_of_the_programs_own_is_not_explained_away(tmp_path: Path) -> None:
    result = run(tmp_path, "import numpy as np\nnp.nothing_of_this_name", options=("--compat",))
    assert result.returncode == 1
    assert "dualgrad run" not in result.stderr
    assert "line 2, in <module>" in result.stderr


TESTS_OF_BOTH_MODES = """
from tensorflow.python.eager import context
from tensorflow.python.framework import constant_op, dtypes, ops, random_seed, tensor_shape, tensor_util, test_util
from tensorflow.python.ops import array_ops, gradient_checker_v2, math_ops
from tensorflow.python.platform import googletest
from tensorflow.python.util import nest

@test_util.run_all_in_graph_and_eager_modes
class Both(test_util.TensorFlowTestCase):
    def testSum(self):
        self.assertAllClose(self.evaluate(math_ops.reduce_sum(constant_op.constant([1.0, 2.0]))), 3.0)

    def testGradient(self):
        exact, numeric = gradient_checker_v2.compute_gradient(
            lambda a, b: a * b, [constant_op.constant([1.0, 2.0]), constant_op.constant([3.0])])
        self.assertAllClose(exact[1], [[1.0], [2.0]])
        self.assertLess(gradient_checker_v2.max_error(exact, numeric), 1e-2)
        self.assertGreater(gradient_checker_v2.max_error(exact, [2 * n for n in numeric]), 0.5)

    def testTools(self):
        self.assertItemsEqual(nest.flatten_with_joined_string_paths({"a": [1, 2]}), [("a/1", 2), ("a/0", 1)])
        self.assertEqual(nest.map_structure_with_paths(lambda path, x: (path, 2 * x), {"a": [3]}), {"a": [("a/0", 6)]})
        self.assertEqual(tensor_shape.unknown_shape(2).as_list(), [None, None])
        known = tensor_util.constant_value_as_shape(constant_op.constant([1, -1]))
        self.assertEqual(known.as_list(), [1, None])
        random_seed.set_seed(5)
        self.assertEqual(random_seed.get_seed(1), (5, 1))
        message = tensor_util.make_tensor_proto([1, 2])
        self.assertTrue(tensor_util.ShapeEquals(message, [2]))
        self.assertProtoEquals(str(message), tensor_util.make_tensor_proto([1, 2]))
        self.assertRaises(AssertionError, self.assertProtoEquals, str(message), tensor_util.make_tensor_proto([1, 3]))

    def testThreads(self):
        thread = self.checkedThread(lambda: 1 / 0)
        thread.start()
        self.assertRaises(AssertionError, thread.join)

class One(test_util.TensorFlowTestCase):
    @test_util.run_deprecated_v1
    def testGraph(self):
        with self.cached_session() as session:
            x = array_ops.placeholder(dtypes.float32, [2])
            self.assertAllEqual(session.run(x * 2, {x: [1, 2]}), [2, 4])

    @test_util.run_v2_only
    def testTape(self):
        self.assertEqual(constant_op.constant(3.0).numpy(), 3.0)

    def testFails(self):
        with context.eager_mode():
            self.assertEqual(constant_op.constant(3.0).numpy(), 4.0)

googletest.main()
"""


@pytest.mark.parametrize(
    ("api", "end"), [("1", "OK (skipped=4)"), ("2", "FAILED (failures=1, skipped=3)")]
)  # fmt: skip
def test_tests_written_with_tensorflows_own_tools(tmp_path: Path, api: str, end: str) -> None:
    said = run(tmp_path, TESTS_OF_BOTH_MODES, options=("--api", api)).stderr
    assert said.rstrip().endswith(end), said
