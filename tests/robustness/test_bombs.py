"""What is small in a file or call and huge in memory or time is refused at once."""

import gzip
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api as tf
from dualgrad.files.graph_protos import GraphDef, NodeDef
from dualgrad.files.protos import Dim, TensorProto, TensorShapeProto
from dualgrad.files.records import read_records, record
from dualgrad.files.tensors import array_of
from dualgrad.files.text_format_parser import parse
from dualgrad.files.varints import varint
from engine.runtime.errors import DataLossError, InvalidArgumentError, OpError, ResourceExhaustedError

HUGE = 1 << 31
X = np.ones((1, 4, 4, 1), np.float32)
CALLS: dict[str, Callable[[], Any]] = {
    "max_pool": lambda: tf.nn.max_pool2d(X, HUGE, 1, "SAME"),
    "avg_pool": lambda: tf.nn.avg_pool2d(X, [HUGE, HUGE], 1, "SAME"),
    "max_pool, valid": lambda: tf.nn.max_pool2d(X, HUGE, 1, "VALID"),
    "max_pool_with_argmax": lambda: tf.nn.max_pool_with_argmax(X, HUGE, 1, "SAME"),
    "pool": lambda: tf.nn.pool(X, [HUGE, 2], "MAX", padding="SAME"),
    "extract_patches": lambda: tf.image.extract_patches(X, [1, HUGE, HUGE, 1], [1] * 4, [1] * 4, "SAME"),
    "padding": lambda: tf.nn.conv2d(X, tf.ones([2, 2, 1, 1]), 1, [[0, 0], [HUGE, HUGE], [HUGE, HUGE], [0, 0]]),
    "num_segments": lambda: tf.math.unsorted_segment_sum([1.0, 2.0], [0, 1], 1 << 40),
    "as_string, width": lambda: tf.strings.as_string([1.0], width=HUGE),
    "as_string, precision": lambda: tf.strings.as_string([1.0], precision=HUGE),
    "regex_full_match": lambda: tf.strings.regex_full_match("a" * 60, "(a+)+b"),
    "regex_replace": lambda: tf.strings.regex_replace("a" * 60, "(a|a)*b", ""),
    "depth_to_space": lambda: tf.nn.depth_to_space(tf.zeros([1, 1, 1, 4]), 1 << 20),
    "random": lambda: tf.random.uniform([1 << 32, 1 << 32]),
    "reshape": lambda: tf.reshape([1.0], [1 << 62, 1 << 62]),
    "zeros": lambda: tf.zeros([1 << 45]),
    "one_hot": lambda: tf.one_hot([1, 2], 1 << 45),
    "range": lambda: tf.range(1 << 45),
    "range, small steps": lambda: tf.range(0.0, 1.0, 1e-30),
    "eye": lambda: tf.eye(1 << 22),
    "diag": lambda: tf.linalg.diag(tf.zeros([1 << 22])),
    "segment_sum": lambda: tf.math.segment_sum([1.0, 2.0], [0, 1 << 45]),
    "expand_dims": lambda: tf.expand_dims(1.0, 1 << 40),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_that_ask_for_too_much_are_refused(name: str) -> None:
    # an op that has accepted these dtypes before does not examine the rest beforehand
    tf.expand_dims(1.0, 0)
    with pytest.raises((InvalidArgumentError, ResourceExhaustedError)):
        CALLS[name]()


def test_windows_and_strides_that_are_large_but_cost_nothing_are_computed() -> None:
    assert tf.nn.max_pool2d(X, 1000, 1000, "SAME").shape == (1, 1, 1, 1)
    assert tf.nn.max_pool2d(X, 2, HUGE, "SAME").shape == (1, 1, 1, 1)
    assert tf.nn.pool(X, [2, 2], "MAX", dilations=[HUGE, HUGE], padding="SAME").shape == (1, 4, 4, 1)


# ---- files -----------------------------------------------------------------------------------------------------------

PACKED: dict[str, Callable[[bytes], bytes]] = {"GZIP": gzip.compress, "ZLIB": zlib.compress}


@pytest.mark.parametrize("kind", PACKED)
def test_packed_records_state_how_much_they_unpack_to(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "bomb"
    path.write_bytes(PACKED[kind](record(bytes(1 << 22))))
    monkeypatch.setenv("DUALGRAD_READ_LIMIT", str(1 << 20))
    with pytest.raises(DataLossError, match=r"bomb: the record at byte 0 has .* set DUALGRAD_READ_LIMIT=4194304"):
        list(read_records(path, kind))
    for data in (
        tf.data.TextLineDataset(str(path), kind),
        tf.data.FixedLengthRecordDataset(str(path), 8, compression_type=kind),
    ):
        with pytest.raises(DataLossError, match=r"bomb: .*DUALGRAD_READ_LIMIT"):
            list(data)
    monkeypatch.setenv("DUALGRAD_READ_LIMIT", str(1 << 23))
    assert [len(x) for x in read_records(path, kind)] == [1 << 22]


def test_a_message_of_one_value_is_not_filled_without_end() -> None:
    shape = TensorShapeProto(dim=[Dim(size=1 << 40)])
    with pytest.raises(ResourceExhaustedError, match="DUALGRAD_READ_LIMIT"):
        array_of(TensorProto(dtype=1, tensor_shape=shape, float_val=[1.0]))
    small = TensorShapeProto(dim=[Dim(size=1000)])
    assert array_of(TensorProto(dtype=1, tensor_shape=small, float_val=[2.0])).tolist() == [2.0] * 1000


def _node(name: str, op: str, *inputs: str) -> NodeDef:
    node = NodeDef(name=name, op=op, input=list(inputs))
    node.attr["T"].type = 7 if op == "Unknown" else 1
    return node


@pytest.mark.parametrize("backwards", [False, True])
def test_long_chains_in_graph_files_are_read(backwards: bool) -> None:
    with graph_api.Graph().as_default() as graph:
        graph_api.constant(1.0, name="n0")
    message = graph.as_graph_def()
    nodes = [*message.node, *[_node(f"n{i}", "Neg", f"n{i - 1}") for i in range(1, 5000)]]
    whole = GraphDef(node=nodes[::-1] if backwards else nodes)
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        (last,) = graph_api.import_graph_def(whole, name="", return_elements=["n4999:0"])
        assert session.run(last) == -1.0


def test_what_only_a_saver_needs_is_left_out_in_one_pass() -> None:
    nodes = [_node("n0", "Unknown"), *[_node(f"n{i}", "Unknown", f"n{i - 1}") for i in range(1, 20_000)]]
    with graph_api.Graph().as_default() as graph:
        graph_api.import_graph_def(GraphDef(node=[*nodes, _node("save", "SaveV2", "n19999")]))
        assert not graph.get_operations()


@pytest.mark.parametrize(
    "text",
    [b"x {" * 100_000, b"node { attr { value { func { attr { value { " * 5000, b"node { name: '" + b"\\" * 100_001],
)
def test_deep_and_strange_texts_are_refused(text: bytes) -> None:
    with pytest.raises(DataLossError):
        parse(GraphDef, text)


def test_many_texts_side_by_side_are_one() -> None:
    name = parse(GraphDef, b"node { name: " + b"""'a' "b'" """ * 100_000 + b"}").node[0].name
    assert name == "ab'" * 100_000


def test_deep_messages_are_refused() -> None:
    data = b""
    for _ in range(20_000):
        data = b"\x12" + varint(len(data)) + data
    with pytest.raises(OpError):
        GraphDef.FromString(data)


def _png(width: int, height: int) -> bytes:
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(b"")), (b"IEND", b""))
    chunks = [struct.pack(">I", len(d)) + k + d + struct.pack(">I", zlib.crc32(k + d)) for k, d in parts]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def test_pictures_that_announce_too_much_are_refused() -> None:
    pytest.importorskip("PIL")
    with pytest.raises(InvalidArgumentError, match="decode_image"):
        tf.io.decode_image(_png(1 << 20, 1 << 20))


def test_postscript_is_not_handed_to_an_interpreter(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    planted = f"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n({tmp_path}/ran) (w) file closefile\n%%EOF\n"
    with pytest.raises(InvalidArgumentError, match="decode_image"):
        tf.io.decode_image(planted.encode())
    (tmp_path / "a.png").write_text(planted)
    with pytest.raises(DataLossError, match=r"a\.png"):
        tf.keras.utils.load_img(tmp_path / "a.png")
    assert not (tmp_path / "ran").exists()
