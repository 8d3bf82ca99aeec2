"""TensorFlow's messages, as far as files and programs use them. Names and numbers of fields are TensorFlow's."""

from __future__ import annotations

from dualgrad.files.fields import Field
from dualgrad.files.wire import Message

# ---- tensors ---------------------------------------------------------------------------------------------------------


class Dim(Message):
    """A dimension of a shape."""

    size = Field(1, "int64")
    name = Field(2, "string")


class TensorShapeProto(Message):
    """A shape."""

    dim = Field(2, Dim, repeated=True)
    unknown_rank = Field(3, "bool")
    Dim = Dim


class TensorProto(Message):
    """A tensor with its contents."""

    dtype = Field(1, "enum")
    tensor_shape = Field(2, TensorShapeProto)
    version_number = Field(3, "int32")
    tensor_content = Field(4, "bytes")
    float_val = Field(5, "float", repeated=True)
    double_val = Field(6, "double", repeated=True)
    int_val = Field(7, "int32", repeated=True)
    string_val = Field(8, "bytes", repeated=True)
    scomplex_val = Field(9, "float", repeated=True)
    int64_val = Field(10, "int64", repeated=True)
    bool_val = Field(11, "bool", repeated=True)
    dcomplex_val = Field(12, "double", repeated=True)
    half_val = Field(13, "int32", repeated=True)
    uint32_val = Field(16, "uint32", repeated=True)
    uint64_val = Field(17, "uint64", repeated=True)


class Extent(Message):
    """A part of a dimension; without a length the whole."""

    start = Field(1, "int64")
    length = Field(2, "int64", oneof="has_length")


class TensorSliceProto(Message):
    """A part of a tensor."""

    extent = Field(1, Extent, repeated=True)


class VersionDef(Message):
    """Versions of a producer and of what may consume."""

    producer = Field(1, "int32")
    min_consumer = Field(2, "int32")
    bad_consumers = Field(3, "int32", repeated=True)


# ---- checkpoints -----------------------------------------------------------------------------------------------------


class BundleHeaderProto(Message):
    """The entry of the empty key in an index."""

    num_shards = Field(1, "int32")
    endianness = Field(2, "enum")
    version = Field(3, VersionDef)


class BundleEntryProto(Message):
    """Where a tensor lies."""

    dtype = Field(1, "enum")
    shape = Field(2, TensorShapeProto)
    shard_id = Field(3, "int32")
    offset = Field(4, "int64")
    size = Field(5, "int64")
    crc32c = Field(6, "fixed32")
    slices = Field(7, TensorSliceProto, repeated=True)


class SavedSliceMeta(Message):
    """The shape and dtype of a tensor of a checkpoint of the first version."""

    name = Field(1, "string")
    shape = Field(2, TensorShapeProto)
    type = Field(3, "enum")
    slice = Field(4, TensorSliceProto, repeated=True)


class SavedTensorSliceMeta(Message):
    """The index of a checkpoint of the first version."""

    tensor = Field(1, SavedSliceMeta, repeated=True)
    versions = Field(2, VersionDef)


class SavedSlice(Message):
    """A part of a tensor of a checkpoint of the first version."""

    name = Field(1, "string")
    slice = Field(2, TensorSliceProto)
    data = Field(3, TensorProto)


class SavedTensorSlices(Message):
    """A record of a checkpoint of the first version."""

    meta = Field(1, SavedTensorSliceMeta)
    data = Field(2, SavedSlice)


class ObjectReference(Message):
    """An edge to an object that another one holds."""

    node_id = Field(1, "int32")
    local_name = Field(2, "string")


class SerializedTensor(Message):
    """A tensor that an object saves."""

    name = Field(1, "string")
    full_name = Field(2, "string")
    checkpoint_key = Field(3, "string")


class SlotVariableReference(Message):
    """A variable that an optimizer keeps for another one."""

    original_variable_node_id = Field(1, "int32")
    slot_name = Field(2, "string")
    slot_variable_node_id = Field(3, "int32")


class BoolValue(Message):
    """A bool that may be absent."""

    value = Field(1, "bool")


class TrackableObject(Message):
    """An object of an object-based checkpoint."""

    children = Field(1, ObjectReference, repeated=True)
    attributes = Field(2, SerializedTensor, repeated=True)
    slot_variables = Field(3, SlotVariableReference, repeated=True)
    has_checkpoint_values = Field(5, BoolValue)


class TrackableObjectGraph(Message):
    """The objects of an object-based checkpoint; the first one is the root."""

    nodes = Field(1, TrackableObject, repeated=True)


# ---- examples --------------------------------------------------------------------------------------------------------


class BytesList(Message):
    """Values of a feature."""

    value = Field(1, "bytes", repeated=True)


class FloatList(Message):
    """Values of a feature."""

    value = Field(1, "float", repeated=True)


class Int64List(Message):
    """Values of a feature."""

    value = Field(1, "int64", repeated=True)


class Feature(Message):
    """Values of one kind."""

    bytes_list = Field(1, BytesList, oneof="kind")
    float_list = Field(2, FloatList, oneof="kind")
    int64_list = Field(3, Int64List, oneof="kind")


class Features(Message):
    """Features by name."""

    feature = Field(1, Feature, key="string")


class FeatureList(Message):
    """A feature for each step of a sequence."""

    feature = Field(1, Feature, repeated=True)


class FeatureLists(Message):
    """Sequences of features by name."""

    feature_list = Field(1, FeatureList, key="string")


class Example(Message):
    """One example: features by name.

    Examples
    --------
    >>> example = Example(features=Features(feature={"x": Feature(int64_list=Int64List(value=[1, 2]))}))
    >>> Example.FromString(example.SerializeToString()).features.feature["x"].int64_list.value
    [1, 2]
    """

    features = Field(1, Features)


class SequenceExample(Message):
    """One example that is a sequence."""

    context = Field(1, Features)
    feature_lists = Field(2, FeatureLists)


# ---- events ----------------------------------------------------------------------------------------------------------


class HistogramProto(Message):
    """How values are distributed."""

    min = Field(1, "double")
    max = Field(2, "double")
    num = Field(3, "double")
    sum = Field(4, "double")
    sum_squares = Field(5, "double")
    bucket_limit = Field(6, "double", repeated=True)
    bucket = Field(7, "double", repeated=True)


class SummaryImage(Message):
    """An encoded image."""

    height = Field(1, "int32")
    width = Field(2, "int32")
    colorspace = Field(3, "int32")
    encoded_image_string = Field(4, "bytes")


class SummaryAudio(Message):
    """Encoded sound."""

    sample_rate = Field(1, "float")
    num_channels = Field(2, "int64")
    length_frames = Field(3, "int64")
    encoded_audio_string = Field(4, "bytes")
    content_type = Field(5, "string")


class PluginData(Message):
    """Which of TensorBoard's plugins shows a summary."""

    plugin_name = Field(1, "string")
    content = Field(2, "bytes")


class SummaryMetadata(Message):
    """How a summary is to be shown."""

    plugin_data = Field(1, PluginData)
    display_name = Field(2, "string")
    summary_description = Field(3, "string")
    data_class = Field(4, "enum")
    PluginData = PluginData


class SummaryValue(Message):
    """One summary with its tag."""

    node_name = Field(7, "string")
    tag = Field(1, "string")
    metadata = Field(9, SummaryMetadata)
    simple_value = Field(2, "float", oneof="value")
    image = Field(4, SummaryImage, oneof="value")
    histo = Field(5, HistogramProto, oneof="value")
    audio = Field(6, SummaryAudio, oneof="value")
    tensor = Field(8, TensorProto, oneof="value")


class Summary(Message):
    """Summaries of one moment.

    Examples
    --------
    >>> Summary(value=[Summary.Value(tag="loss", simple_value=0.5)])
    value {
      tag: "loss"
      simple_value: 0.5
    }
    <BLANKLINE>
    """

    value = Field(1, SummaryValue, repeated=True)
    Value = SummaryValue
    Image = SummaryImage
    Audio = SummaryAudio


class SessionLog(Message):
    """An event of a session: it started, stopped or wrote a checkpoint."""

    status = Field(1, "enum")
    checkpoint_path = Field(2, "string")
    msg = Field(3, "string")
    STATUS_UNSPECIFIED, START, STOP, CHECKPOINT = 0, 1, 2, 3


class TaggedRunMetadata(Message):
    """How a step ran."""

    tag = Field(1, "string")
    run_metadata = Field(2, "bytes")


class SourceMetadata(Message):
    """Who wrote the events."""

    writer = Field(1, "string")


class Event(Message):
    """One record of an event file."""

    wall_time = Field(1, "double")
    step = Field(2, "int64")
    file_version = Field(3, "string", oneof="what")
    graph_def = Field(4, "bytes", oneof="what")
    summary = Field(5, Summary, oneof="what")
    session_log = Field(7, SessionLog, oneof="what")
    tagged_run_metadata = Field(8, TaggedRunMetadata, oneof="what")
    meta_graph_def = Field(9, "bytes", oneof="what")
    source_metadata = Field(10, SourceMetadata)
