"""Graphs that TensorFlow wrote, read without it: run, differentiated, trained on."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graph_api as tf
from engine.runtime.errors import DataLossError, InvalidArgumentError, OpError, UnimplementedError
from tests.graph_files.golden import FROZEN, GOLDEN, STEPS

NAMES = [program.__name__ for program in FROZEN]


def frozen(name: str) -> Any:
    return tf.GraphDef.FromString((GOLDEN / f"{name}.pb").read_bytes())


def kept(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Feeds and results."""
    with np.load(GOLDEN / f"{name}.npz") as arrays:
        every = {key: arrays[key] for key in arrays}
    placeholders = {f"{node.name}:0" for node in frozen(name).node if node.op == "Placeholder"}
    return {k: v for k, v in every.items() if k in placeholders}, {
        k: v for k, v in every.items() if k not in placeholders
    }


@pytest.mark.parametrize("name", NAMES)
def test_frozen_graphs_give_what_tensorflow_gave(name: str) -> None:
    feeds, results = kept(name)
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        tf.import_graph_def(frozen(name), name="")
        found = sess.run(list(results), feeds)
        for key, value in zip(results, found, strict=True):
            np.testing.assert_allclose(value, results[key], rtol=2e-5, atol=1e-6, err_msg=key)
        assert {node.name for node in frozen(name).node if node.op == "Placeholder"} <= set(graph._by_name)


def test_our_gradients_of_a_frozen_graph_are_those_that_tensorflow_put_into_it() -> None:
    feeds, results = kept("mlp")
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        tf.import_graph_def(frozen("mlp"), name="net")
        feeds = {f"net/{k}": v for k, v in feeds.items()}
        at = [graph.get_tensor_by_name(f"net/{n}/read:0") for n in ("w1", "b1", "w2", "b2")]
        found = sess.run(tf.gradients(graph.get_tensor_by_name("net/loss:0"), at), feeds)
        for key, value in zip(("d_w1:0", "d_b1:0", "d_w2:0", "d_b2:0"), found, strict=True):
            np.testing.assert_allclose(value, results[key], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("x", [0.4, 2.0, -1.1])
def test_choices_and_loops_of_a_file_are_differentiated(x: float) -> None:
    """They have become `cond` and `while_loop`."""
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        tf.import_graph_def(frozen("flow"), name="")
        given = {"xs:0": np.ones((2, 2), np.float32)}
        y, at = graph.get_tensor_by_name("c:0"), graph.get_tensor_by_name("x:0")
        (slope,) = sess.run(tf.gradients(y, at), {**given, "x:0": x})
        h = 1e-3
        low, high = [sess.run(y, {**given, "x:0": x + d}) for d in (-h, h)]
        np.testing.assert_allclose(slope, (high - low) / (2 * h), rtol=1e-2)
        assert {"If", "While"} <= {op.type for op in graph.get_operations()}


def test_training_goes_on_from_meta_graph_and_checkpoint() -> None:
    with np.load(GOLDEN / "training.npz") as arrays:
        feeds = {k: arrays[k] for k in arrays if k != "losses"}
        losses = arrays["losses"]
    with tf.Graph().as_default(), tf.Session() as sess:
        saver = tf.train.import_meta_graph(str(GOLDEN / "training.meta"))
        saver.restore(sess, str(GOLDEN / "training"))
        found = [sess.run(["loss:0", "train"], feeds)[0] for _ in range(STEPS)]
        np.testing.assert_allclose(found, losses, rtol=1e-5)
        assert [v.name for v in tf.trainable_variables()] == ["w:0", "table:0", "v:0"]
        assert tf.get_collection("to_watch")[0].name == "loss:0"
        assert sess.run(tf.train.get_global_step()) == 1 + STEPS
        assert tf.Summary.FromString(sess.run("loss_summary:0", feeds)).value[0].tag == "loss_summary"
        # trained by an optimizer of ours, too
        more = tf.train.GradientDescentOptimizer(0.01).minimize(tf.get_collection("to_watch")[0])
        sess.run(more, feeds)
        assert sess.run("loss:0", feeds) < found[-1]


# ---- arguments -------------------------------------------------------------------------------------------------------


def test_input_map_return_elements_and_names() -> None:
    feeds, results = kept("mlp")
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.constant(feeds["x:0"])
        logits, op = tf.import_graph_def(frozen("mlp"), {"x:0": x}, ["logits:0", "loss"])
        np.testing.assert_allclose(sess.run(logits), results["logits:0"], rtol=1e-5)
        assert (logits.name, op.name) == ("import/logits:0", "import/loss")
        (again,) = tf.import_graph_def(frozen("mlp"), {"x": x * 1.0}, ["logits:0"])
        assert again.name == "import_1/logits:0"
        (third,) = tf.import_graph_def(frozen("mlp"), {"x": x}, ["logits:0"], name="")
        (fourth,) = tf.import_graph_def(frozen("mlp"), {"x": x}, ["logits:0"], name="")
        assert (third.name, fourth.name) == ("logits:0", "logits_1:0")
        assert tf.import_graph_def(frozen("mlp")) is None
        with pytest.raises(ValueError, match="not found"):
            tf.import_graph_def(frozen("mlp"), return_elements=["nothing:0"])
        with pytest.raises(ValueError, match="not found"):
            tf.import_graph_def(frozen("mlp"), {"nothing:0": x})


def node(message: Any, name: str, op: str, *inputs: str, **attributes: Any) -> Any:
    made = message.node.add(name=name, op=op, input=list(inputs))
    for key, value in attributes.items():
        made.attr[key].CopyFrom(tf.AttrValue(**value))
    return made


def test_all_that_is_missing_is_listed_and_nothing_imported() -> None:
    message = frozen("mlp")
    node(message, "words", "HashTableV2")
    node(message, "found", "LookupTableFindV2", "words", "x", "x")
    node(message, "more", "HashTableV2")
    node(message, "small", "Neg", "x", T={"type": 14})
    with tf.Graph().as_default() as graph:
        with pytest.raises(
            UnimplementedError, match=r"HashTableV2 \(2 x, 'words'\), LookupTableFindV2.*Neg of bfloat16"
        ):
            tf.import_graph_def(message)
        assert not graph.get_operations()
        assert graph.unique_name("import") == "import"


def test_what_an_input_map_makes_idle_need_not_be_known() -> None:
    message = tf.GraphDef()
    node(message, "queue", "FIFOQueueV2")
    node(message, "batch", "QueueDequeueManyV2", "queue")
    node(message, "y", "Neg", "batch:1", T={"type": 1})
    with tf.Graph().as_default(), tf.Session() as sess:
        (y,) = tf.import_graph_def(message, {"batch:1": tf.constant(2.0)}, ["y:0"])
        assert sess.run(y) == -2


# ---- damage ----------------------------------------------------------------------------------------------------------


def floats(size: int) -> dict[str, Any]:
    return {"tensor": {"dtype": 1, "tensor_shape": {"dim": [{"size": size}]}}}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda m: node(m, "x", "NoOp"), "two nodes"),
        (lambda m: node(m, "n", "Neg", "nowhere"), "does not exist"),
        (lambda m: node(m, "n", "Neg", "^n"), "need one another"),
        (lambda m: node(m, "n", "Neg", "loss:7"), "no 7"),
        (lambda m: node(m, "n/\n", "NoOp"), "not valid"),
        (lambda m: node(m, "n", "Neg"), "n"),
        (lambda m: node(m, "n", "Merge", "x", "loss"), "nothing chooses"),
        (lambda m: node(m, "n", "Exit", "x"), "leaves a loop"),
        (lambda m: node(m, "n", "Reshape", "x", "x"), "Reshape"),
        (lambda m: node(m, "n", "PartitionedCall", "x", f={"func": {"name": "f"}}), "function 'f'"),
        (lambda m: node(m, "n", "Const", value=floats(1 << 40)), "bytes"),
        (lambda m: node(m, "n", "Const", value=floats(-4)), "shape"),
    ],
)  # fmt: skip
def test_damage_is_refused(change: Any, says: str) -> None:
    message = frozen("mlp")
    change(message)
    with tf.Graph().as_default() as graph:
        with pytest.raises(OpError, match=says):
            tf.import_graph_def(message)
        assert not graph.get_operations()


def test_bit_flips_and_truncations_give_errors_of_ours_or_graphs() -> None:
    """Whatever the bytes are: a graph, or one of our errors."""
    rng = np.random.default_rng(0)
    for name in ("mlp", "flow"):
        whole = (GOLDEN / f"{name}.pb").read_bytes()
        refused = 0
        for trial in range(40):
            data = bytearray(whole)
            if trial % 2:
                del data[int(rng.integers(len(data))) :]
            else:
                for _ in range(1 + trial % 3):
                    data[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))
            try:
                with tf.Graph().as_default():
                    tf.import_graph_def(tf.GraphDef.FromString(bytes(data)), name="")
            except (OpError, ValueError) as error:
                assert type(error).__module__ == "engine.runtime.errors", error  # noqa: PT017
                refused += 1
        assert refused > 10


def test_files_that_are_no_meta_graphs(tmp_path: Path) -> None:
    (tmp_path / "bad.meta").write_bytes(b"\xff\xff\xff")
    with tf.Graph().as_default() as graph:
        with pytest.raises(DataLossError, match=r"bad\.meta"):
            tf.train.import_meta_graph(str(tmp_path / "bad.meta"))
        with pytest.raises(tf.errors.NotFoundError):
            tf.train.import_meta_graph(str(tmp_path / "none.meta"))
        damaged = (GOLDEN / "training.meta").read_bytes().replace(b"w/read", b"w/reed", 1)
        with pytest.raises(InvalidArgumentError):
            tf.train.import_meta_graph(tf.MetaGraphDef.FromString(damaged))
        assert not graph.get_operations()


def _reimported(meta: Any) -> Any:
    graph = tf.Graph()
    with graph.as_default():
        tf.train.import_meta_graph(tf.MetaGraphDef.FromString(meta.SerializeToString()))
    return graph


def test_collections_come_back_as_what_they_held() -> None:
    # TensorFlow's first item tells a collection's kind, whatever else of the graph it holds
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [2], name="x")
        v = tf.Variable([1.0, 2.0], name="v")
        y = tf.reduce_sum(x * v)
        held = {
            "mixed": [x, v, y, tf.assign(v, x).op],
            "variables only": [v],
            "texts": ["a", b"b"],
            "numbers": [1, 2],
            "fractions": [0.5, 2],
        }
        for key, items in held.items():
            for item in items:
                graph.add_to_collection(key, item)
        again = _reimported(tf.train.export_meta_graph())
    assert [k.name for k in again.get_collection("mixed")] == ["x:0", "v:0", "Sum:0", "Assign"]
    assert again.get_collection("variables only") == again.get_collection("trainable_variables")
    assert again.get_collection("mixed")[1] is again.get_collection("variables only")[0]
    assert again.get_collection("texts") == [b"a", b"b"]
    assert again.get_collection("numbers") == [1, 2]
    assert again.get_collection("fractions") == [0.5, 2.0]


def test_collections_of_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    from graph_api.graph_files import meta_graphs

    monkeypatch.setattr(meta_graphs, "PROTO_FUNCTIONS", {})

    def to_proto(text: str) -> Any:
        return tf.NodeDef(name=text)

    tf.register_proto_function("nodes", tf.NodeDef, to_proto, lambda message: message.name.upper())
    with tf.Graph().as_default() as graph:
        graph.add_to_collection("nodes", "one")
        again = _reimported(tf.train.export_meta_graph())
    assert again.get_collection("nodes") == ["ONE"]
    with pytest.raises(TypeError, match="`to_proto` must be callable"):
        tf.register_proto_function("nodes", tf.NodeDef, "no function")


@pytest.mark.parametrize("items", [[1, "a"], [True], [object()], [0.5, None]])
def test_collections_that_files_do_not_keep(items: list[Any], caplog: pytest.LogCaptureFixture) -> None:
    with tf.Graph().as_default() as graph:
        for item in items:
            graph.add_to_collection("odd", item)
        meta = tf.train.export_meta_graph()
    assert "odd" not in meta.collection_def
    assert "the collection 'odd' is left out" in caplog.text
