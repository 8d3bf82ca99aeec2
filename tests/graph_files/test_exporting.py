"""Graphs of ours as files: read again here, and (marked `peer`) by TensorFlow."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graph_api as tf
from dualgrad.files.text_format_parser import parse
from engine.runtime.errors import DataLossError, NotFoundError, UnimplementedError
from graph_api.graph_files import export
from graph_api.graph_files.elementwise_rows import ELEMENTWISE
from graph_api.graph_files.export_ways import way
from graph_api.graph_files.rows import ROWS
from tests.graph_files import golden
from tests.graph_files.golden import GOLDEN, numbers


def convnet(module: Any) -> tuple[list[str], dict[str, Any]]:
    """A convnet with its gradients: convolution, pools, batch statistics, dropout without randomness."""
    x = module.placeholder(module.float32, [None, 6, 6, 2], name="x")
    w = module.get_variable("w", initializer=numbers(3, 3, 2, 3))
    y = module.nn.conv2d(x, w, [1, 1, 1, 1], "SAME")
    mean, variance = module.nn.moments(y, [0, 1, 2])
    y = module.nn.batch_normalization(y, mean, variance, None, None, 1e-3)
    y = module.nn.max_pool(module.nn.relu(y), [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    y = module.nn.avg_pool(y, [1, 2, 2, 1], [1, 1, 1, 1], "VALID")
    logits = module.matmul(module.reshape(y, [-1, 12]), module.get_variable("v", initializer=numbers(12, 4)))
    each = module.nn.sparse_softmax_cross_entropy_with_logits(labels=module.constant([1, 3]), logits=logits)
    loss = module.reduce_mean(each, name="loss")
    for v, g in zip(module.trainable_variables(), module.gradients(loss, module.trainable_variables()), strict=True):
        module.identity(g, name=f"d_{v.op.name}")
    return ["loss:0", "d_w:0", "d_v:0"], {"x:0": numbers(2, 6, 6, 2)}


def pieces(module: Any) -> tuple[list[str], dict[str, Any]]:
    """Slices, joins, gathers, reductions over broadcasts, and the gradient of it all."""
    x = module.placeholder(module.float32, [None, 3], name="x")
    parts = module.split(module.concat([x, x[:, ::-1] * 2.0], 1), 2, axis=1)
    table = module.get_variable("table", initializer=numbers(4, 3))
    y = parts[0] * module.gather(table, [0, 2]) + module.transpose(module.stack([parts[1][0], x[-1]]), [0, 1])
    y = module.maximum(y, 0.1) ** 2 / (1 + module.reduce_sum(module.exp(x), axis=1, keepdims=True))
    y = module.where(y > 0.5, module.sqrt(module.abs(y)), module.tanh(y)) + module.pad(x[:, 1:], [[0, 0], [1, 0]])
    loss = module.reduce_sum(module.log(1.5 + module.reduce_max(y, axis=[0, 1]) + module.cumsum(y)[1, 2]), name="loss")
    module.identity(module.gradients(loss, [x])[0], name="d_x")
    return ["loss:0", "d_x:0"], {"x:0": numbers(2, 3)}


PROGRAMS: tuple[Callable[..., Any], ...] = (golden.mlp, golden.flow, golden.training, convnet, pieces)


def run_ours(program: Callable[..., Any]) -> tuple[Any, list[str], dict[str, Any], list[Any], list[str]]:
    """The message of a program's graph, and what it computes here: after initialization, and again after a step."""
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        names, feeds = program(tf)
        inits = [v.initializer.name for v in tf.global_variables()]
        results = run_steps(sess, names, feeds, inits)
        return graph.as_graph_def(), names, feeds, results, inits


def run_steps(sess: Any, names: list[str], feeds: dict[str, Any], inits: list[str]) -> list[Any]:
    for name in inits:
        sess.run(name)
    found = sess.run(names, feeds)
    if any(op.name == "train" for op in sess.graph.get_operations()):
        for _ in range(2):
            sess.run("train", feeds)
        found += sess.run(names, feeds)
    return found


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_what_we_export_we_import(program: Callable[..., Any]) -> None:
    message, names, feeds, results, inits = run_ours(program)
    assert not [node.op for node in message.node if node.op.startswith("Dualgrad>")]
    again = tf.GraphDef.FromString(message.SerializeToString())
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.import_graph_def(again, name="")
        for ours, theirs in zip(results, run_steps(sess, names, feeds, inits), strict=True):
            np.testing.assert_allclose(theirs, ours, rtol=1e-5, atol=1e-6)


def test_ops_that_tensorflow_has_not_are_kept_under_names_of_ours() -> None:
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        x = tf.placeholder(tf.float32, [4], name="x")
        (y,) = tf.gradients(tf.cumsum(tf.math.cumulative_logsumexp(x)), x)
        tf.identity(y, name="y")
        want = sess.run(y, {x: [1.0, 2.0, 0.5, 1.0]})
        message = graph.as_graph_def()
    own = [node for node in message.node if node.op.startswith("Dualgrad>")]
    assert own
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.import_graph_def(message, name="")
        assert np.array_equal(sess.run("y:0", {"x:0": [1.0, 2.0, 0.5, 1.0]}), want)
    own[0].op = "Dualgrad>OsSystem"
    with tf.Graph().as_default(), pytest.raises(UnimplementedError, match="OsSystem"):
        tf.import_graph_def(message, name="")


def test_python_functions_are_listed_not_run() -> None:
    with tf.Graph().as_default() as graph:
        tf.py_func(np.sin, [tf.constant(1.0)], tf.float32)
        message = graph.as_graph_def()
    with tf.Graph().as_default(), pytest.raises(UnimplementedError, match="PythonCall"):
        tf.import_graph_def(message)


# ---- meta graphs -----------------------------------------------------------------------------------------------------


def saved(folder: Path) -> tuple[str, dict[str, Any], list[Any]]:
    """A checkpoint with its meta graph, and the losses of the steps that follow."""
    with tf.Graph().as_default(), tf.Session() as sess:
        _, feeds = golden.training(tf)
        sess.run(tf.global_variables_initializer())
        sess.run("train", feeds)
        path = tf.train.Saver().save(sess, str(folder / "model"), global_step=1)
        return path, feeds, [sess.run(["loss:0", "train"], feeds)[0] for _ in range(3)]


def test_savers_write_meta_graphs_from_which_training_goes_on(tmp_path: Path) -> None:
    path, feeds, losses = saved(tmp_path)
    assert path is not None
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        saver = tf.train.import_meta_graph(f"{path}.meta", import_scope="again")
        saver.restore(sess, path)
        scoped = {f"again/{k}": v for k, v in feeds.items()}
        found = [sess.run(["again/loss:0", "again/train"], scoped)[0] for _ in range(3)]
        assert np.array_equal(found, losses)
        assert [v.name for v in graph.trainable_variables()] == ["again/w:0", "again/table:0", "again/v:0"]
        message = tf.train.export_meta_graph(clear_devices=True)
        assert {"variables", "trainable_variables", "to_watch", "global_step"} <= set(message.collection_def)
    with tf.Graph().as_default(), tf.Session() as sess:
        w = tf.Variable([0.0], name="w")
        sess.run(w.initializer)
        tf.train.Saver([w]).save(sess, str(tmp_path / "bare"), write_meta_graph=False)
        assert not (tmp_path / "bare.meta").exists()


def test_text_and_binary_files_say_the_same(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph:
        golden.training(tf)
        message = graph.as_graph_def()
        path = tf.train.write_graph(graph, str(tmp_path), "graph.pbtxt")
        other = tf.train.write_graph(message, str(tmp_path), "graph.pb", as_text=False)
        meta = tf.train.export_meta_graph(str(tmp_path / "graph.meta"), as_text=True)
    assert parse(tf.GraphDef, Path(path).read_bytes()) == message == tf.GraphDef.FromString(Path(other).read_bytes())
    with tf.Graph().as_default():
        tf.train.import_meta_graph(str(tmp_path / "graph.meta"))
    assert len(meta.graph_def.node) == len(message.node)
    for damaged in (b"node {", b"node: 3", b'node { name: "x', b"node { attr { key: 3 } }", b"\xff", b"node {" * 500):
        with pytest.raises(DataLossError):
            parse(tf.GraphDef, damaged)


# ---- frozen graphs ---------------------------------------------------------------------------------------------------


def test_files_hold_no_collection_of_ours() -> None:
    with tf.Graph().as_default() as graph, tf.variable_scope("a"):
        tf.get_variable("w", [2])
        meta = tf.train.export_meta_graph()
    assert sorted(meta.collection_def) == ["trainable_variables", "variables"]
    assert sorted(graph.get_all_collection_keys()) == ["trainable_variables", "variables"]


def test_graph_util() -> None:
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        _, feeds = golden.training(tf)
        sess.run(tf.global_variables_initializer())
        want = sess.run("loss:0", feeds)
        frozen = tf.graph_util.convert_variables_to_constants(sess, graph.as_graph_def(), ["loss"])
    assert not {"VarHandleOp", "ReadVariableOp", "AssignVariableOp"} & {node.op for node in frozen.node}
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.import_graph_def(frozen, name="a")
        given = {f"a/{k}": v for k, v in feeds.items()}
        np.testing.assert_allclose(sess.run("a/loss:0", given), want, rtol=1e-6)
    with pytest.raises(ValueError, match="nowhere"):
        tf.graph_util.extract_sub_graph(frozen, ["nowhere"])


def test_what_is_written_as_one_op_is_read() -> None:
    """Ops that are rows of attributes alone have op types that there are rows for, too."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.int32, [3], name="x")
        tf.bitwise.invert(x, name="y")
        message = graph.as_graph_def()
    assert [node.op for node in message.node] == ["Placeholder", "Invert"]
    assert {op.type for op in ELEMENTWISE} <= set(ROWS)
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.import_graph_def(message, name="")
        assert sess.run("y:0", {"x:0": [0, 1, -5]}).tolist() == [-1, -2, 4]


def test_an_op_is_written_in_one_way() -> None:
    assert export.graph_def
    with pytest.raises(ValueError, match="two ways"):
        way(ELEMENTWISE[0])(print)


# ---- saved models ----------------------------------------------------------------------------------------------------


def test_saved_models(tmp_path: Path) -> None:
    folder = str(tmp_path / "model")
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None], name="x")
        y = tf.multiply(x, tf.Variable(3.0, name="w"), name="y")
        sess.run(tf.global_variables_initializer())
        signature = tf.saved_model.signature_def_utils.predict_signature_def({"x": x}, {"y": y})
        builder = tf.saved_model.builder.SavedModelBuilder(folder)
        builder.add_meta_graph_and_variables(sess, ["serve", "mine"], {"times": signature})
        builder.save()
    with tf.Graph().as_default(), tf.Session() as sess:
        meta = tf.saved_model.loader.load(sess, ["mine", "serve"], folder)
        times = meta.signature_def["times"]
        assert sess.run(times.outputs["y"].name, {times.inputs["x"].name: [2.0]}) == 6.0
        with pytest.raises(RuntimeError, match="mine"):
            tf.saved_model.loader.load(sess, ["serve"], folder)
        with pytest.raises(NotFoundError):
            tf.saved_model.loader.load(sess, ["serve"], str(tmp_path))
    with pytest.raises(AssertionError, match="isn't empty"):
        tf.saved_model.builder.SavedModelBuilder(folder)


def test_each_graph_of_a_saved_model_keeps_what_trains_it(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.Variable(1.0, name="v")
        train = tf.assign_add(v, 1.0, name="train").op
        sess.run(tf.global_variables_initializer())
        builder = tf.saved_model.builder.SavedModelBuilder(str(tmp_path / "model"))
        builder.add_meta_graph_and_variables(sess, ["train"], train_op=train)
        builder.add_meta_graph(["again"], train_op=train)
        builder.save()
    for tag in ("train", "again"):
        with tf.Graph().as_default(), tf.Session() as sess:
            meta = tf.saved_model.loader.load(sess, [tag], str(tmp_path / "model"))
            assert list(meta.collection_def[tf.GraphKeys.TRAIN_OP].node_list.value) == [train.name]


# ---- with TensorFlow -------------------------------------------------------------------------------------------------


@pytest.fixture(name="tensorflow")
def _tensorflow() -> Any:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    return pytest.importorskip("tensorflow.compat.v1")


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_tensorflow_runs_what_we_export(program: Callable[..., Any], tensorflow: Any) -> None:
    message, names, feeds, results, inits = run_ours(program)
    with tensorflow.Graph().as_default(), tensorflow.Session() as sess:
        tensorflow.import_graph_def(tensorflow.GraphDef.FromString(message.SerializeToString()), name="")
        for ours, theirs in zip(results, run_steps(sess, names, feeds, inits), strict=True):
            np.testing.assert_allclose(theirs, ours, rtol=2e-5, atol=1e-6)


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore")
def test_tensorflow_trains_on_from_our_meta_graph(tmp_path: Path, tensorflow: Any) -> None:
    path, feeds, losses = saved(tmp_path)
    with tensorflow.Graph().as_default(), tensorflow.Session() as sess:
        saver = tensorflow.train.import_meta_graph(f"{path}.meta")
        saver.restore(sess, path)
        np.testing.assert_allclose([sess.run(["loss:0", "train"], feeds)[0] for _ in range(3)], losses, rtol=2e-5)
        assert [v.name for v in tensorflow.trainable_variables()] == ["w:0", "table:0", "v:0"]
        again = saver.save(sess, str(tmp_path / "theirs"))
        want = sess.run("loss:0", feeds)
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.train.import_meta_graph(f"{again}.meta").restore(sess, again)
        np.testing.assert_allclose(sess.run("loss:0", feeds), want, rtol=1e-5)


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore")
def test_saved_models_go_both_ways(tmp_path: Path, tensorflow: Any) -> None:
    for writer, reader in ((tf, tensorflow), (tensorflow, tf)):
        folder = str(tmp_path / writer.__name__)
        with writer.Graph().as_default(), writer.Session() as sess:
            x = writer.placeholder(writer.float32, [None, 2], name="x")
            y = writer.matmul(x, writer.get_variable("w", initializer=numbers(2, 3)), name="y")
            sess.run(writer.global_variables_initializer())
            want = sess.run(y, {x: numbers(4, 2)})
            writer.saved_model.simple_save(sess, folder, {"x": x}, {"y": y})
        with reader.Graph().as_default(), reader.Session() as sess:
            meta = reader.saved_model.loader.load(sess, ["serve"], folder)
            signature = meta.signature_def["serving_default"]
            found = sess.run(signature.outputs["y"].name, {signature.inputs["x"].name: numbers(4, 2)})
            np.testing.assert_allclose(found, want, rtol=1e-5)


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore")
def test_the_text_format_is_tensorflows(tensorflow: Any) -> None:
    text_format = pytest.importorskip("google.protobuf.text_format")
    whole = (GOLDEN / "training.meta").read_bytes()
    theirs = tensorflow.MetaGraphDef.FromString(whole)
    ours = parse(tf.MetaGraphDef, text_format.MessageToString(theirs).encode())
    assert str(ours.graph_def) == str(tf.MetaGraphDef.FromString(whole).graph_def)
    again = tensorflow.GraphDef()
    text_format.Merge(str(ours.graph_def), again)
    assert str(tf.GraphDef.FromString(again.SerializeToString())) == str(ours.graph_def)


# ---- gradients of the user's own -------------------------------------------------------------------------------------


@tf.RegisterGradient("TestSwapped")
def _swapped(op: Any, gradient: Any) -> list[Any]:
    return [gradient * op.inputs[0], gradient * op.inputs[1]]


def test_gradients_that_are_registered_by_name_are_found_again() -> None:
    with tf.Graph().as_default() as graph, graph.gradient_override_map({"Mul": "TestSwapped"}):
        tf.multiply(tf.placeholder(tf.float32, name="x"), tf.constant(5.0), name="y")
    definition = graph.as_graph_def()
    for _ in range(2):
        assert {n.name: n.attr["_gradient_op_type"].s for n in definition.node if n.op == "Mul"} == {
            "y": b"TestSwapped"
        }
        with tf.Graph().as_default() as graph, tf.Session() as session:
            x, y = tf.import_graph_def(definition, return_elements=["x:0", "y:0"], name="")
            definition = graph.as_graph_def()
            assert y.op.type == "Mul"
            assert session.run([y, *tf.gradients(y, x)], {x: 3.0}) == [15.0, 3.0]


def test_gradients_that_are_python_stay_behind_and_are_missed() -> None:
    with tf.Graph().as_default() as graph:
        halved = tf.custom_gradient(lambda x: (x * x, lambda ct: ct * 0.5))
        tf.identity(halved(tf.placeholder(tf.float32, name="x")), name="y")
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = tf.import_graph_def(graph.as_graph_def(), return_elements=["x:0", "y:0"])
        assert session.run(y, {x: 3.0}) == 9.0
        with pytest.raises(LookupError, match=r"no entry for: CustomGradient-IdentityN; register it"):
            tf.gradients(y, x)
