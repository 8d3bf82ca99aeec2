"""What comes from files and programs stays text in whatever is written: modules, pages, pictures, reports."""

import ast
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import graph_api as tf
from dualgrad.migrate.check.formats import as_json, as_sarif, as_text
from dualgrad.migrate.check.uses import MISSES, Use
from dualgrad.migrate.compare.findings import Comparison, Difference
from dualgrad.migrate.compare.page import page
from dualgrad.migrate.convert import printing
from dualgrad.migrate.convert.call_sites import _filled
from dualgrad.migrate.convert.identifiers import identifier
from engine.explain.picture import Picture, dot, svg
from engine.runtime.quoting import markup, one_line, printable
from tests.migrate.in_process import dualgrad

CODE = "__import__('os').mkdir('ran')"
HOSTILE = [
    f"' + {CODE} + '", f'" + {CODE} + "', f"\\' + {CODE} + \\'", f"a'\" + {CODE} + \"'", f'"""\n{CODE}\n"""',
    "\\", "'", '"', f"x\n{CODE}\n#", f"\u2028{CODE}", f"\x0c{CODE}", "<script>alert(1)</script>", "]]><!--",
    "\x00\x1b[2J", "\udc80", "{x}",
]  # fmt: skip
PROGRAM = """
import tensorflow as tf
texts = {texts!r}
sess = tf.Session()
with open("graph.pb", "rb") as file:
    graph = tf.GraphDef.FromString(file.read())
hostile = tf.import_graph_def(graph, name="", return_elements=[f"text_{{i}}:0" for i in range(len(texts))])
x = tf.placeholder(tf.float32, [2], name="x")
weights = {{key: tf.Variable([1.0, 3.0]) for key in {keys!r}}}
total = tf.add_n([x * w for w in weights.values()])
for one in hostile:
    sess.run([one, x + 1.0], {{x: [1.0, 2.0]}})
sess.run(tf.global_variables_initializer())
sess.run(total, {{x: [1.0, 2.0]}})
"""


def _graph_file(texts: list[bytes]) -> bytes:
    """A graph whose constants are texts."""
    with tf.Graph().as_default() as graph:
        for i, text in enumerate(texts):
            tf.constant(text, name=f"text_{i}")
    return graph.as_graph_def().SerializeToString()


@pytest.mark.parametrize("name", ["program.py", f'a"""\n{CODE}\n"""\\.py', f"{CODE[:20]}\n#.py", "\udc80.py"])
def test_texts_of_a_graph_file_stay_texts_of_the_module(name: str, tmp_path: Path) -> None:
    texts = [t.encode(errors="surrogateescape") for t in HOSTILE]
    (tmp_path / "graph.pb").write_bytes(_graph_file(texts))
    name = name.replace("/", "_")
    keys = [HOSTILE[0], HOSTILE[3]]
    (tmp_path / name).write_text(PROGRAM.format(texts=texts, keys=keys), encoding="utf-8")
    assert dualgrad(tmp_path, "convert", "--functions", "-o", "out.py", name) == 0
    tree = ast.parse((tmp_path / "out.py").read_text(encoding="utf-8"))
    found = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    assert set(texts) <= found
    assert set(keys) <= found
    assert not {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} & {"__import__"}
    assert isinstance(tree.body[0], ast.Expr)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("text", HOSTILE)
def test_strings_get_double_quotes_by_token_or_not_at_all(text: str) -> None:
    whole = f"f({text!r}, {{{text!r}: {text.encode(errors='replace')!r}}}, f'{{x}}_y')"
    assert ast.dump(ast.parse(printing._requoted(whole))) == ast.dump(ast.parse(whole))
    assert ast.literal_eval(printing.double_quoted(text)) == text
    assert ast.parse(f'"""{printable(text)}"""  # {printable(text)}').body.__len__() == 1
    assert ast.literal_eval(_filled(f"[@0, {{{text!r}: @1}}, '@1']", ["0", "None"])) == [0, {text: None}, "@1"]
    assert identifier(text).isidentifier()


def test_what_is_written_otherwise_than_meant_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from dualgrad.migrate.convert.body import Statement

    statement = Statement(ast.parse("x = f('a', 'b')").body[0])
    assert printing.checked("", [], [statement], lambda _: "") == ['x = f("a", "b")']
    monkeypatch.setattr(printing, "_requoted", lambda text: text.replace("'a', 'b'", "'a' 'b'"))
    with pytest.raises(RuntimeError, match="otherwise than it was meant"):
        printing.checked("", [], [statement], lambda _: "")


def test_letters_that_python_takes_for_others_make_no_name_of_ours() -> None:
    assert [identifier(t) for t in ("ｔｆ", "x²", "a b", "1", "")] == ["tf_", "x2", "a_b", "_1", "value"]


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


@pytest.mark.parametrize("text", [*HOSTILE, '" onload="alert(1)'])
def test_pages_and_pictures_hold_texts_as_texts(text: str) -> None:
    picture = Picture([(text, text, True), ("", text, False)], [(0, 1, True)])
    drawn = ET.fromstring(svg(picture))
    assert {e.tag.rpartition("}")[2] for e in drawn.iter()} <= {
        *("svg", "g", "rect", "title", "text", "line"),
        *("defs", "marker", "path"),
    }
    lines = dot(picture).splitlines()
    assert lines[0] == "digraph {" and lines[-1] == "}"
    # what is left without the texts is of our making
    assert '"' not in re.sub(r'"(?:[^"\\]|\\.)*"', "", "\n".join(lines))
    assert "alert" not in re.sub(r'"(?:[^"\\]|\\.)*"', "", "\n".join(lines))
    reader = _Tags()
    reader.feed(f'<p title="{markup(text)}">{markup(text)}</p>')
    assert (reader.tags, reader.attributes) == ({"p"}, {"title"})
    assert one_line(text).isprintable() and "\n" not in one_line(text)


def test_a_report_of_a_comparison_holds_texts_as_texts() -> None:
    made = dict.fromkeys(["backend", "numpy", "blas", "blas_core", "threads", "machine", "system", "python"], "<b>")
    text = "<script>alert(1)</script>\x1b"
    record = {"made": made, "kept": {"of": 1, "steps": 1}, "program": {"file": text, "sha256": text}}
    found = Comparison(text, record, made)
    found.notes.append(text)
    found.differences.append(Difference(1, "value", text, text, text, text))
    whole = page(found)
    reader = _Tags()
    reader.feed(whole)
    assert not reader.tags & {"script", "b"}
    assert "\x1b" not in whole


@pytest.mark.parametrize("text", HOSTILE)
def test_reports_of_check_hold_texts_as_texts(text: str) -> None:
    use = Use(f"{text}.py", 1, 1, "name", "tf.x", MISSES, f"{text} [click](https://example.org)")
    (result,) = json.loads(as_sarif([use], 1).encode("ascii"))["runs"][0]["results"]
    assert "](" not in result["message"]["text"]
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri.isascii() and uri.isprintable() and not set(uri) & set(' "<>\\^`{|}:')
    assert json.loads(as_json([use], 1).encode("ascii"))["uses"][0]["file"] == use.file
    assert len(as_text([use], 1).splitlines()) == 2
    as_text([use], 1).encode()
