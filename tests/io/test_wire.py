"""Protocol buffers: bytes by hand, round trips, and the methods that programs use."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualgrad.files import graph_protos, object_protos, protos
from dualgrad.files.protos import Event, Example, Feature, Features, Int64List, Summary, TensorProto
from dualgrad.files.schema import messages
from dualgrad.files.varints import read_varint, read_varints, varint, varints
from engine.runtime.errors import DataLossError

messages(
    vars(),
    """
// All kinds of fields.
message Everything {
  int32 number = 1; int64 long = 2; uint64 unsigned = 3; bool flag = 4; float single = 5; double double = 6;
  string text = 7; bytes raw = 8; repeated int64 numbers = 9; repeated double doubles = 10; repeated string texts = 11;
  Everything inner = 12; repeated Everything inners = 13; map<string, int64> by_name = 14; fixed32 fixed = 15;
  oneof side { int32 left = 16; string right = 17; }
}
message Part { int32 number = 1; }
message Several {
  repeated int64 a = 1; repeated uint32 b = 2; repeated fixed32 c = 3; repeated float d = 4; repeated bytes e = 5;
}
""",
)
Everything, Part, Several = vars()["Everything"], vars()["Part"], vars()["Several"]


@given(st.integers(0, 2**64 - 1))
def test_varints_come_back(value: int) -> None:
    assert read_varint(varint(value), 0) == (value, len(varint(value)))


@given(st.lists(st.integers(0, 2**64 - 1)))
def test_many_varints_come_back(values: list[int]) -> None:
    whole = b"".join(map(varint, values))
    assert read_varints(whole).tolist() == values
    assert not values or varints(values) == whole


def test_bytes_of_the_encoding_guide() -> None:
    assert Everything(number=150).SerializeToString() == bytes.fromhex("089601")
    assert Everything(text="testing").SerializeToString() == bytes.fromhex("3a0774657374696e67")
    assert Everything(number=-2).SerializeToString() == bytes.fromhex("08feffffffffffffffff01")
    assert Everything(numbers=[3, 270, 86942]).SerializeToString() == bytes.fromhex("4a06038e029ea705")


@given(
    st.integers(-(2**31), 2**31 - 1),
    st.lists(st.integers(-(2**63), 2**63 - 1), max_size=60),
    st.lists(st.floats(allow_nan=False)),
    st.text(),
    st.binary(),
    st.dictionaries(st.text(), st.integers(-5, 5)),
)
def test_messages_come_back(number, numbers, doubles, text, raw, by_name) -> None:
    inner = Everything(text=text)
    made = Everything(number=number, numbers=numbers, doubles=doubles, text=text, raw=raw, by_name=by_name, inner=inner)
    back = Everything.FromString(made.SerializeToString())
    assert back == made
    assert (back.number, back.numbers, back.doubles, back.text, back.raw) == (number, numbers, doubles, text, raw)
    assert (dict(back.by_name), back.inner.text) == (by_name, text)


def test_to_take_over_is_to_read_what_the_other_writes() -> None:
    first = Everything(number=3, numbers=[1], inner=Everything(text="a", number=4), by_name={"a": 1, "b": 2}, left=5)
    second = Everything(
        numbers=[2, 3], inner=Everything(text="b"), by_name={"b": 7}, right="r", inners=[Everything(left=0)]
    )
    second.MergeFromString(bytes.fromhex("a83f05"))  # a field that nobody declares
    expected = Everything.FromString(first.SerializeToString() + second.SerializeToString())
    first.MergeFrom(second)
    assert first == expected
    assert (first.numbers, dict(first.by_name)) == ([1, 2, 3], {"a": 1, "b": 7})
    assert (first.inner.text, first.inner.number) == ("b", 4)
    assert first.WhichOneof("side") == "right"
    first.inners[0].left = 9
    first.inner.text = "c"
    assert (second.inners[0].left, second.inner.text) == (0, "b"), "what was taken over is a copy"


def test_repeated_numbers_that_are_not_packed_are_read() -> None:
    assert Everything.FromString(bytes.fromhex("48034804")).numbers == [3, 4]


def test_fields_that_nobody_declares_are_kept() -> None:
    data = Everything(number=3, text="x").SerializeToString()
    part = Part.FromString(data)
    assert part.number == 3
    assert part.SerializeToString() == data


@pytest.mark.parametrize(
    "data", [b"\x08", b"\x3a\x05ab", b"\x0b", b"\x00\x01", b"\x08" + b"\xff" * 11, b"\x3a\x01\xff", b"\x0d\x01\x02"]
)
def test_damaged_messages_are_refused(data: bytes) -> None:
    with pytest.raises(DataLossError):
        Everything.FromString(data)


def test_of_a_group_the_last_one_set_stays() -> None:
    made = Everything(left=0)
    assert made.WhichOneof("side") == "left"
    assert made.SerializeToString() == bytes.fromhex("800100")
    made.right = "x"
    assert (made.WhichOneof("side"), made.HasField("left"), made.left) == ("right", False, 0)


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (lambda m: setattr(m, "nonsense", 1), AttributeError),
        (lambda m: setattr(m, "number", "x"), TypeError),
        (lambda m: setattr(m, "number", 2**31), ValueError),
        (lambda m: setattr(m, "raw", "text"), TypeError),
        (lambda m: setattr(m, "numbers", [1]), AttributeError),
        (lambda m: m.numbers.append(1.5), TypeError),
        (lambda m: m.inners.append(Part()), TypeError),
        (lambda m: m.MergeFrom(Part()), TypeError),
        (lambda m: type(m)(nonsense=1), ValueError),
    ],
)
def test_wrong_values_are_refused_and_change_nothing(wrong, error) -> None:
    made = Everything(number=1)
    with pytest.raises(error):
        wrong(made)
    assert made == Everything(number=1)


def test_what_programs_do_with_summaries() -> None:
    summary = Summary(value=[Summary.Value(tag="a", simple_value=0.0)])
    summary.value.add(tag="b", simple_value=2.5)
    back = Summary()
    back.ParseFromString(summary.SerializeToString())
    assert [(v.tag, v.simple_value, v.HasField("simple_value")) for v in back.value] == [
        ("a", 0.0, True),
        ("b", 2.5, True),
    ]
    assert str(back.value[1]) == 'tag: "b"\nsimple_value: 2.5\n'
    assert copy.deepcopy(back) == back
    assert pickle.loads(pickle.dumps(back)) == back


def test_what_programs_do_with_examples() -> None:
    example = Example()
    example.features.feature["n"].int64_list.value.extend([1, 2])
    example.features.feature["s"].bytes_list.value.append(b"x")
    back = Example.FromString(example.SerializeToString())
    assert back.features.feature["n"].int64_list.value == [1, 2]
    assert back.features.feature["s"].WhichOneof("kind") == "bytes_list"
    assert back == Example(
        features=Features(
            feature={"n": Feature(int64_list=Int64List(value=[1, 2])), "s": {"bytes_list": {"value": [b"x"]}}}
        )
    )


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore")
def test_google_reads_and_writes_the_same() -> None:
    tf = pytest.importorskip("tensorflow")
    from tensorflow.core.util import event_pb2

    ours = Example()
    ours.features.feature["n"].int64_list.value.extend([1, -2, 2**40])
    ours.features.feature["f"].float_list.value.extend([0.1, 1e30])
    ours.features.feature["b"].bytes_list.value.extend([b"", b"\xff"])
    theirs = tf.train.Example.FromString(ours.SerializeToString())
    assert sorted(str(theirs).split()) == sorted(str(ours).split())
    assert Example.FromString(theirs.SerializeToString()) == ours
    event = event_pb2.Event(wall_time=1.5, step=-3)
    event.summary.value.add(tag="x", simple_value=0.0)
    assert Event(
        wall_time=1.5, step=-3, summary=Summary(value=[{"tag": "x", "simple_value": 0.0}])
    ).SerializeToString() == (event.SerializeToString())
    for array in (
        np.arange(6.0).reshape(2, 3),
        np.array([b"a", b"bc"], object),
        np.array(True),
        np.zeros((0, 2), np.int64),
    ):
        from dualgrad.files.tensors import array_of, tensor_proto

        made = tf.make_tensor_proto(array)
        assert np.array_equal(array_of(TensorProto.FromString(made.SerializeToString())), array)
        assert np.array_equal(tf.make_ndarray(type(made).FromString(tensor_proto(array).SerializeToString())), array)


_OBJECTS = [
    "CapturedTensor",
    "FunctionSpec",
    "SavedAsset",
    "SavedBareConcreteFunction",
    "SavedConcreteFunction",
    "SavedConstant",
    "SavedFunction",
    "SavedObject",
    "SavedObjectGraph",
    "SavedResource",
    "SavedUserObject",
    "SavedVariable",
]
_STRUCTURES = [
    "DictValue",
    "ListValue",
    "NamedTupleValue",
    "NoneValue",
    "PairValue",
    "StructuredValue",
    "TensorSpecProto",
    "TupleValue",
    "TypeSpecProto",
]


@pytest.mark.parametrize("number", [0, 1, -1, 63, -64, 2**31, -(2**31), 2**63 - 1, -(2**63)])
def test_signed_integers_are_folded(number: int) -> None:
    message = object_protos.StructuredValue(int64_value=number)
    data = message.SerializeToString()
    assert object_protos.StructuredValue.FromString(data).int64_value == number
    folded = 2 * number if number >= 0 else -2 * number - 1
    assert data == b"\x60" + varint(folded)


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("ours", "where"),
    [
        ("TensorShapeProto", "framework.tensor_shape"),
        ("TensorProto", "framework.tensor"),
        ("GraphDef", "framework.graph"),
        ("NodeDef", "framework.node_def"),
        ("AttrValue", "framework.attr_value"),
        ("SummaryMetadata", "framework.summary"),
        ("HistogramProto", "framework.summary"),
        ("Summary", "framework.summary"),
        ("Event", "util.event"),
        ("SessionLog", "util.event"),
        ("SavedTensorSlices", "util.saved_tensor_slice"),
        ("SavedSlice", "util.saved_tensor_slice"),
        ("SavedSliceMeta", "util.saved_tensor_slice"),
        ("SaverDef", "protobuf.saver"),
        ("MetaGraphDef", "protobuf.meta_graph"),
        ("CollectionDef", "protobuf.meta_graph"),
        ("TrackableObjectGraph", "protobuf.trackable_object_graph"),
        ("BundleEntryProto", "protobuf.tensor_bundle"),
        ("BundleHeaderProto", "protobuf.tensor_bundle"),
        ("VariableDef", "framework.variable"),
        ("SaveSliceInfoDef", "framework.variable"),
        ("NameAttrList", "framework.attr_value"),
        ("FunctionDef", "framework.function"),
        ("FunctionDefLibrary", "framework.function"),
        ("RegisteredGradient", "framework.function"),
        ("OpDef", "framework.op_def"),
        ("SignatureDef", "protobuf.meta_graph"),
        ("TensorInfo", "protobuf.meta_graph"),
        ("AssetFileDef", "protobuf.meta_graph"),
        ("SavedModel", "protobuf.saved_model"),
        *[(name, "protobuf.saved_object_graph") for name in _OBJECTS],
        *[(name, "protobuf.struct") for name in _STRUCTURES],
    ],
)
def test_fields_have_their_numbers(ours: str, where: str) -> None:
    import importlib

    pytest.importorskip("tensorflow")
    try:
        module = importlib.import_module(f"tensorflow.core.{where}_pb2")
    except ImportError:
        pytest.skip(f"the wheel has no {where}")
    descriptor = getattr(module, ours).DESCRIPTOR
    modules = (object_protos,) if where.startswith(("protobuf.saved_object", "protobuf.struct")) else ()
    for field in next(getattr(m, ours) for m in (*modules, graph_protos, protos) if hasattr(m, ours)).FIELDS.values():
        theirs = descriptor.fields_by_name[field.name]
        assert theirs.number == field.number
        assert theirs.is_repeated == (field.repeated or field.key is not None)


def test_values_are_what_they_are_before_somebody_looks() -> None:
    values: dict[str, Any] = {
        "a": [1, True, -(2**63)],
        "b": [2**32 - 1],
        "c": np.array([7]),
        "d": [0.1, 1e39],
        "e": [b"x"],
    }
    made, looked_at = Several(**values), Several(**values)
    for message in (looked_at, Several.FromString(made.SerializeToString())):
        assert [message.a, message.b, message.c, message.e] == [[1, 1, -(2**63)], [2**32 - 1], [7], [b"x"]]
        assert message.d == [float(np.float32(0.1)), np.inf]
        assert message == made
    values["a"].append(5)
    looked_at.d.append(0.5)
    looked_at.c.extend([1, 2])
    assert looked_at != made
    made.d.append(0.5)
    made.c.extend([1, 2])
    assert looked_at == made and made.ListFields()[2][1] == [7, 1, 2]


@pytest.mark.parametrize(
    "bad",
    [{"a": [2**63]}, {"a": [1.0]}, {"b": [-1]}, {"b": [2**32]}, {"c": [2**32]}, {"c": np.array([-1])}, {"d": ["1"]},
     {"d": np.ones((1, 2))}, {"e": [b"x", "y"]}],
)  # fmt: skip
def test_values_that_do_not_fit_are_refused_when_a_message_is_made(bad: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        Several(**bad)
