"""The parts of an explanation: rewritten lines, pictures, where the tape is looked for, what is refused."""

import ast
import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from engine.explain import Explanation, explain
from engine.explain.folding import folded
from engine.explain.rewrite import safe
from engine.runtime.errors import InvalidArgumentError
from tests.explain.test_breakages import executed

# ---- rewritten lines -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "y = tf.where(x > 0, tf.sqrt(x), 0.0)",
            "y = tf.where(x > 0, tf.sqrt(tf.where(x > 0, x, tf.ones_like(x))), 0.0)",
        ),
        (
            "y = tf.where(m, 0.0, tf.math.log(a + b))",
            "y = tf.where(m, 0.0, tf.math.log(tf.where(m, tf.ones_like(a + b), a + b)))",
        ),
        (
            "return np.where(d != 0, n / d, 1.0)",
            "return np.where(d != 0, n / np.where(d != 0, d, np.ones_like(d)), 1.0)",
        ),
        ("y = where(x > 0, x ** 0.5, x)", "y = where(x > 0, where(x > 0, x, ones_like(x)) ** 0.5, x)"),
        (
            "y += tf.reduce_sum(tf.where(c, tf.divide(a, b), b))",
            "y += tf.reduce_sum(tf.where(c, tf.divide(a, tf.where(c, b, tf.ones_like(b))), b))",
        ),
        ("y = tf.where(x > 0, x * 2.0, x / 3.0)", None),
        ("y = tf.sqrt(x)", None),
        ("y = tf.where(x)", None),
    ],
)
def test_a_where_is_made_safe(line: str, expected: str | None) -> None:
    body: Any = ast.parse(f"def f():\n    {line}\n").body[0]
    assert safe(body.body[0]) == expected


def test_a_safe_line_is_finite_where_the_old_one_is_not() -> None:
    """In TensorFlow; here both are, because a zero cotangent stays zero. So the lines are compared by their values."""
    tf = tape_api
    x = tf.constant([4.0, 0.0, -1.0])
    line = "y = tf.where(x > 0, tf.sqrt(x), 0.0)"
    spaces: list[dict[str, Any]] = [{"tf": tf, "x": x}, {"tf": tf, "x": x}]
    exec(line, spaces[0])
    exec(safe(ast.parse(line).body[0]) or "", spaces[1])
    assert spaces[0]["y"].numpy().tolist() == spaces[1]["y"].numpy().tolist() == [2.0, 0.0, 0.0]


def test_the_rewritten_line_is_what_to_write() -> None:
    program = (
        "x = tf.constant([4.0, 0.0])\n"
        "with tf.GradientTape(explain=True) as tape:\n"
        "    tape.watch(x)\n"
        "    y = tf.reduce_sum(tf.where(x >= 0.0, tf.sqrt(x), x))\n"
    )
    space = executed(program, {"tf": tape_api}, "rewritten")
    found = explain(space["y"], space["x"])
    assert found.code == "nan-backward"
    assert found.instead == (
        "y = tf.reduce_sum(tf.where(x >= 0.0, tf.sqrt(tf.where(x >= 0.0, x, tf.ones_like(x))), x))"
    )


# ---- pictures --------------------------------------------------------------------------------------------------------


def graph() -> Any:
    tf = graph_api
    g = tf.Graph()
    with g.as_default():
        with tf.name_scope("model"), tf.name_scope("layer"):
            x = tf.placeholder(tf.float32, [2], name="x")
            y = tf.sin(x, name='si"n'.replace('"', ""))
        tf.gradients(tf.reduce_sum(y), x)
    return g


def test_a_graph_as_dot_has_scopes_as_clusters_and_gradients_in_blue() -> None:
    text = graph().dot()
    assert text.startswith("digraph {")
    assert text.count("{") == text.count("}")
    assert text.index('subgraph "cluster_model"') < text.index('subgraph "cluster_model/layer"')
    inside = text[text.index('subgraph "cluster_gradients"') :]
    assert 'color="#1f5fbf"' in inside
    assert 'label="Sin\\nsin"' in text
    assert "#c62828" not in text


def test_a_small_graph_as_svg_and_a_large_one_refused() -> None:
    root = ET.fromstring(graph().svg())
    assert root.tag.endswith("svg")
    titles = [e.text for e in root.iter() if e.tag.endswith("title")]
    assert titles == ["model/layer/x Placeholder", "model/layer/sin Sin", "Sum", "gradients 4 ops"]
    tf = graph_api
    with tf.Graph().as_default() as large:
        x = tf.constant(1.0)
        for _ in range(400):
            x = x + 1.0
    with pytest.raises(InvalidArgumentError, match=r"use dot\(\) and Graphviz"):
        large.svg()
    assert large.dot().count("->") > 400


def layer() -> Any:
    """One layer, trained with Adam."""
    tf = graph_api
    with tf.Graph().as_default() as g:
        x, y = tf.placeholder(tf.float32, [None, 4], name="x"), tf.placeholder(tf.float32, [None, 1], name="y")
        with tf.variable_scope("dense"):
            out = tf.layers.dense(x, 1, activation=tf.tanh, name="inner")
        loss = tf.reduce_mean(tf.square(out - y), name="loss")
        tf.train.AdamOptimizer(0.1).minimize(loss, global_step=tf.train.get_or_create_global_step())
        tf.global_variables_initializer()
    return g


def test_one_layer_with_adam_is_one_screen() -> None:
    g = layer()
    picture = folded(g.nodes)
    texts = [text.partition("\n")[0] for _, text, _ in picture.boxes]
    assert texts == ["x", "y", "dense/inner", "sub", "Square", "loss", "gradients", "Adam"]
    assert [gradient for _, _, gradient in picture.boxes] == [False] * 6 + [True] * 2
    arrows = {(texts[a], texts[b]) for a, b, _ in picture.edges}
    assert {
        ("x", texts[2]),
        (texts[2], "sub"),
        ("loss", "gradients"),
        ("gradients", "Adam"),
        (texts[2], "Adam"),
    } <= arrows
    root = ET.fromstring(g.svg())
    assert float(root.get("height", "")) <= 600 and float(root.get("width", "")) <= 800
    lines = [e for e in root.iter() if e.tag.endswith("line")]
    assert len(lines) == len(picture.edges) and all(e.get("marker-end", "").startswith("url(#head-") for e in lines)
    places = [float(e.get("x", "")) for e in root.iter() if e.tag.endswith("rect") and e.get("rx")]
    # gradients and the step stand to the right of everything else
    assert min(places[6:]) > max(places[:6])


def test_a_scope_is_opened_while_the_picture_is_small() -> None:
    tf = graph_api
    with tf.Graph().as_default() as g, tf.name_scope("model"):
        x = tf.placeholder(tf.float32, [2], name="x")
        for name in ("first", "second"):
            with tf.name_scope(name):
                x = tf.sin(tf.cos(tf.tanh(x)) + 1.0)
    texts = [text.replace("\n", " ") for _, text, _ in folded(g.nodes).boxes]
    assert texts == ["model/x Placeholder", "model/first 4 ops", "model/second 4 ops"]


def broken() -> Explanation:
    tf = tape_api
    x = tf.Variable([1.0, 2.0], name="<x>")
    with tf.GradientTape(explain=True) as tape:
        y = tf.reduce_sum(tf.floor(x * 2.0))
    found: Explanation = tape.explain(y, x)
    return found


def test_the_picture_of_a_path_marks_the_broken_edge() -> None:
    found = broken()
    assert found.dot().count("✗") == 1
    assert found.dot().count("->") == len(found.path) + 1
    root = ET.fromstring(found.svg())
    assert [e.text for e in root.iter() if e.tag.endswith("text") and e.get("fill") == "#c62828"] == ["✗"]


def test_a_notebook_shows_it_and_escapes_names() -> None:
    text = broken()._repr_html_()
    assert "<x>" not in text
    assert "&lt;x&gt;" in text
    ET.fromstring(text)


def test_a_long_path_is_shown_in_part() -> None:
    tf = tape_api
    x = tf.Variable(1.0)
    with tf.GradientTape(explain=True) as tape:
        y = x
        for _ in range(500):
            y = y * 1.0
    found = tape.explain(y, x)
    assert len(found.path) == 501
    assert found.svg().count("<g>") <= 45


# ---- where the tape is found, and what is refused --------------------------------------------------------------------


def test_the_tape_is_found_among_those_that_live() -> None:
    tf = tape_api
    x, v = tf.Variable(1.0), tf.Variable(2.0)
    with tf.GradientTape() as outer, tf.GradientTape() as inner:
        y = tf.floor(x)
    with tf.GradientTape() as other:
        z = v * v
    assert explain(y, x).code == "no-derivative"
    assert explain(z, v).code == "connected"
    assert explain(z, v, tape=other).code == "connected"
    assert [t._spent for t in (outer, inner, other)] == [False, False, False]


def test_a_tape_that_has_let_go_is_named() -> None:
    tf = tape_api
    x = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        y = tf.floor(x)
    assert tape.gradient(y, x) is None
    with pytest.raises(RuntimeError, match=r"GradientTape\(explain=True\), or GradientTape\(persistent=True\)"):
        tape.explain(y, x)
    with pytest.raises(RuntimeError, match="no tape knows of these tensors"):
        explain(y, x)


def test_several_sources_give_several_explanations() -> None:
    tf = tape_api
    x, v = tf.Variable(1.0), tf.Variable(2.0)
    with tf.GradientTape(explain=True) as tape:
        y = tf.floor(x) * v
    found = tape.explain(y, {"x": x, "v": [v]})
    assert found["x"].code == "no-derivative"
    assert found["v"][0].code == "connected"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x, y: explain(y, 3.0), TypeError, "source: must be a tensor or variable, got float"),
        (lambda x, y: explain(y, np.ones(3)), TypeError, "source: must be a tensor or variable, got ndarray"),
        (lambda x, y: explain(y, x, tape=7), TypeError, "argument `tape` must be a GradientTape, got int"),
    ],
)
def test_bad_calls(call: Any, error: type[Exception], message: str) -> None:
    tf = tape_api
    x = tf.Variable(1.0)
    with tf.GradientTape(explain=True):
        y = x * x
    with pytest.raises(error, match=message):
        call(x, y)


def test_a_large_graph_is_explained_in_little_time() -> None:
    tf = graph_api
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [])
        y = tf.stop_gradient(x)
        for _ in range(3000):
            y = y * 1.5
        found = explain(y, x)
    assert found.code == "stopped"
    assert len(found.path) == 3001
