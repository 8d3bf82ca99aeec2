"""``io.decode_csv`` in both modes, beside TensorFlow."""

from __future__ import annotations

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
