"""``io.decode_csv`` in both modes, beside TensorFlow."""

from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api

CASES: dict[str, tuple[Any, list[Any], dict[str, Any]]] = {
    "numbers, defaults and quotes": (["1,2.5,abc", '3,,"a,""b"', "-7,1e3,"], [[0], [9.5], ["x"]], {}),
    "another delimiter": ("1;2", [np.zeros(0, np.int64), np.array([0.5])], {"field_delim": ";"}),
    "some columns": (["5,NA,7", "6,1,8,9"], [[0], [3]], {"na_value": "NA", "select_cols": [1, 2]}),
    "no quotes": (['a"b,1'], [["q"], [3]], {"use_quote_delim": False}),
    "spaces around numbers": ([" 5,1 "], [[1], [3.0]], {}),
    "an empty last field": (["a,"], [["d"], ["e"]], {}),
    "lines of two dimensions": ([["1,2"], ["3,4"]], [[0], [0]], {}),
}
WRONG: dict[str, tuple[Any, list[Any]]] = {
    "too many fields": (["1,2"], [[0]]),
    "an empty line": ([""], [["d"]]),
    "no number": (["1,x"], [[0], [1]]),
    "too large": (["99999999999,1"], [[1], [3]]),
    "a fraction": (["1.5,1"], [[1], [3.0]]),
    "a missing field": ([",x"], [np.zeros(0, np.int32), ["a"]]),
    "a quote inside": (['a"b,1'], [["q"], [3]]),
    "text behind a quote": (['"a"b,1'], [["q"], [3]]),
    "an open quote": (['"ab,1'], [["q"], [3]]),
    "an end of line": (['"",1\n'], [["d"], [3.0]]),
}


def values(columns: Any) -> list[Any]:
    return [(np.asarray(x).tolist(), np.asarray(x).dtype.kind) for x in columns]


@pytest.mark.parametrize("name", CASES)
def test_both_modes_agree(name: str) -> None:
    lines, defaults, options = CASES[name]
    eager = values(x.numpy() for x in tape_api.io.decode_csv(lines, defaults, **options))
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        assert values(session.run(graph_api.decode_csv(lines, defaults, **options))) == eager
    if name == "numbers, defaults and quotes":
        assert eager == [
            ([1, 3, -7], "i"), ([2.5, 9.5, 1000.0], "f"), ([b"abc", b'a,"b', b"x"], "O"),
        ]  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_lines_are_refused(name: str) -> None:
    with pytest.raises(tape_api.errors.InvalidArgumentError, match="record 0"):
        tape_api.io.decode_csv(*WRONG[name])


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="field_delim"):
        tape_api.io.decode_csv(["1"], [[0]], field_delim="::")
    with pytest.raises(ValueError, match="select_cols"):
        tape_api.io.decode_csv(["1,2"], [[0], [0]], select_cols=[1, 0])
    with pytest.raises(ValueError, match="default 0"):
        tape_api.io.decode_csv(["1"], [[0, 1]])
    with pytest.raises(TypeError, match="strings"):
        tape_api.io.decode_csv([1], [[0]])
    with pytest.raises(TypeError, match="column 0"):
        tape_api.io.decode_csv(["1"], [[True]])


@pytest.mark.peer
@pytest.mark.parametrize("name", [*CASES, *WRONG])
def test_beside_tensorflow(name: str) -> None:
    tensorflow = pytest.importorskip("tensorflow")
    lines, defaults, *options = CASES.get(name) or WRONG[name]
    given = options[0] if options else {}
    if name in CASES:
        expected = values(x.numpy() for x in tensorflow.io.decode_csv(lines, defaults, **given))
        assert values(x.numpy() for x in tape_api.io.decode_csv(lines, defaults, **given)) == expected
    else:
        with pytest.raises(tensorflow.errors.InvalidArgumentError):
            tensorflow.io.decode_csv(lines, defaults)


def test_files_through_a_queue(tmp_path: Any) -> None:
    tf = graph_api
    for number in range(2):
        (tmp_path / f"part-{number}.csv").write_text(f"a,b\n{number},x\n{number + 5},\n")
    with tf.Graph().as_default(), tf.Session() as session:
        files = tf.train.match_filenames_once(str(tmp_path / "part-*.csv"))
        queue = tf.train.string_input_producer(files, num_epochs=1, shuffle=False)
        _, line = tf.TextLineReader(skip_header_lines=1).read(queue)
        index, text = tf.decode_csv(line, [[0], ["none"]])
        session.run(tf.local_variables_initializer())
        assert len(session.run(files)) == 2
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        found = [tuple(session.run([index, text])) for _ in range(4)]
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run([index, text])
        coordinator.request_stop()
        coordinator.join(threads)
    assert found == [(0, b"x"), (5, b"none"), (1, b"x"), (6, b"none")]


def _shown(dataset: Any, count: int = 9) -> list[Any]:
    def plain(x: Any) -> Any:
        return {k: v.numpy().tolist() for k, v in x.items()} if isinstance(x, dict) else x.numpy().tolist()

    return [tuple(map(plain, e)) if isinstance(e, tuple) else plain(e) for e in dataset.take(count)]


@pytest.fixture
def rows(tmp_path: Any) -> str:
    path = tmp_path / "rows.csv"
    path.write_text("a,b,c,y\n" + "".join(f"{i},{i * 0.5},s{i},{i % 2}\n" for i in range(7)))
    return str(path)


def test_files_are_data_sets(rows: str) -> None:
    """The figures are TensorFlow 2.21's, the shuffled order too."""
    make = tape_api.data.experimental.make_csv_dataset
    found = _shown(make(rows, 3, label_name="y", num_epochs=1, shuffle=False))
    assert found[0] == ({"a": [0, 1, 2], "b": [0.0, 0.5, 1.0], "c": [b"s0", b"s1", b"s2"]}, [0, 1, 0])
    assert len(found) == 3 and found[2][0]["a"] == [6]
    endless = make(rows, 3, shuffle=False, select_columns=[0, 3], label_name="y")
    assert _shown(endless, 3)[2] == ({"a": [6, 0, 1]}, [0, 0, 1])
    spec = endless.element_spec
    assert spec[0]["a"].dtype is tape_api.int32 and spec[1].shape.as_list() == [3]
    shuffled = make([rows], 2, shuffle=True, shuffle_seed=3, num_epochs=1, select_columns=["a"])
    assert [x for e in _shown(shuffled) for x in e["a"]] == [5, 1, 4, 3, 0, 2, 6]
    typed = make(rows, 3, num_epochs=1, shuffle=False, column_defaults=[tape_api.float32, 0.0, "", tape_api.int64])
    assert [s.dtype.name for s in typed.element_spec.values()] == ["float32", "float32", "string", "int64"]
    named = make(rows, 7, column_names=["p", "q", "r", "s"], header=False, num_epochs=1, shuffle=False)
    assert _shown(named)[0]["p"][:2] == [b"a", b"0"]


def test_rows_that_cannot_be_read(tmp_path: Any) -> None:
    make = tape_api.data.experimental.make_csv_dataset
    path = tmp_path / "broken.csv"
    path.write_text('a,b\n1,"two\nlines"\n,x\n3,y,z\n4,w\n')
    given = {"num_epochs": 1, "shuffle": False, "column_defaults": [tape_api.int32, ""]}
    with pytest.raises(ValueError, match="required but missing"):
        _shown(make(str(path), 1, **given))
    assert _shown(make(str(path), 1, ignore_errors=True, **given)) == [
        {"a": [1], "b": [b"two\nlines"]},
        {"a": [4], "b": [b"w"]},
    ]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"label_name": "q"}, "`label_name` provided must be one of the columns"),
        ({"select_columns": ["zz"]}, "Column zz specified in `select_columns`"),
        ({"column_names": ["p", "p", "r", "s"]}, "contains duplicate column names"),
        ({"header": False}, "Neither is provided"),
        ({"column_defaults": [0]}, "1 `column_defaults` for 4 columns"),
    ],
)
def test_columns_that_are_refused(rows: str, more: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        tape_api.data.experimental.make_csv_dataset(rows, 3, shuffle=False, num_epochs=1, **more)
    with pytest.raises(ValueError, match="No files match"):
        tape_api.data.experimental.make_csv_dataset(f"{rows}.no", 3)
