"""TensorFlow's messages, as far as files and programs use them. Names and numbers of fields are TensorFlow's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dualgrad.files.schema import messages

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


messages(
    vars(),
    """
// A dimension of a shape.
message Dim { int64 size = 1; string name = 2; }
// A shape.
message TensorShapeProto { repeated Dim dim = 2; bool unknown_rank = 3; }
// A tensor with its contents.
message TensorProto {
  enum dtype = 1; TensorShapeProto tensor_shape = 2; int32 version_number = 3; bytes tensor_content = 4;
  repeated float float_val = 5; repeated double double_val = 6; repeated int32 int_val = 7;
  repeated bytes string_val = 8; repeated float scomplex_val = 9; repeated int64 int64_val = 10;
  repeated bool bool_val = 11; repeated double dcomplex_val = 12; repeated int32 half_val = 13;
  repeated uint32 uint32_val = 16; repeated uint64 uint64_val = 17;
}
// A part of a dimension; without a length the whole.
message Extent { int64 start = 1; oneof has_length { int64 length = 2; } }
// A part of a tensor.
message TensorSliceProto { repeated Extent extent = 1; }
// Versions of a producer and of what may consume.
message VersionDef { int32 producer = 1; int32 min_consumer = 2; repeated int32 bad_consumers = 3; }
// The entry of the empty key in an index.
message BundleHeaderProto { int32 num_shards = 1; enum endianness = 2; VersionDef version = 3; }
// Where a tensor lies.
message BundleEntryProto {
  enum dtype = 1; TensorShapeProto shape = 2; int32 shard_id = 3; int64 offset = 4; int64 size = 5;
  fixed32 crc32c = 6; repeated TensorSliceProto slices = 7;
}
// The shape and dtype of a tensor of a checkpoint of the first version.
message SavedSliceMeta {
  string name = 1; TensorShapeProto shape = 2; enum type = 3; repeated TensorSliceProto slice = 4;
}
// The index of a checkpoint of the first version.
message SavedTensorSliceMeta { repeated SavedSliceMeta tensor = 1; VersionDef versions = 2; }
// A part of a tensor of a checkpoint of the first version.
message SavedSlice { string name = 1; TensorSliceProto slice = 2; TensorProto data = 3; }
// A record of a checkpoint of the first version.
message SavedTensorSlices { SavedTensorSliceMeta meta = 1; SavedSlice data = 2; }
// The contents of the file ``checkpoint`` of a folder: the newest checkpoint, all that are kept, the oldest first, when
// they were written, in seconds, and when the last one was written that stays for good.
message CheckpointState {
  string model_checkpoint_path = 1; repeated string all_model_checkpoint_paths = 2;
  repeated double all_model_checkpoint_timestamps = 3; double last_preserved_timestamp = 4;
}
// An edge to an object that another one holds.
message ObjectReference { int32 node_id = 1; string local_name = 2; }
// A tensor that an object saves.
message SerializedTensor { string name = 1; string full_name = 2; string checkpoint_key = 3; }
// A variable that an optimizer keeps for another one.
message SlotVariableReference {
  int32 original_variable_node_id = 1; string slot_name = 2; int32 slot_variable_node_id = 3;
}
// A bool that may be absent.
message BoolValue { bool value = 1; }
// An object of an object-based checkpoint.
message TrackableObject {
  repeated ObjectReference children = 1; repeated SerializedTensor attributes = 2;
  repeated SlotVariableReference slot_variables = 3; BoolValue has_checkpoint_values = 5;
}
// The objects of an object-based checkpoint; the first one is the root.
message TrackableObjectGraph { repeated TrackableObject nodes = 1; }
// Values of a feature.
message BytesList { repeated bytes value = 1; }
// Values of a feature.
message FloatList { repeated float value = 1; }
// Values of a feature.
message Int64List { repeated int64 value = 1; }
// Values of one kind.
message Feature { oneof kind { BytesList bytes_list = 1; FloatList float_list = 2; Int64List int64_list = 3; } }
// Features by name.
message Features { map<string, Feature> feature = 1; }
// A feature for each step of a sequence.
message FeatureList { repeated Feature feature = 1; }
// Sequences of features by name.
message FeatureLists { map<string, FeatureList> feature_list = 1; }
// One example: features by name.
//
// Examples
// --------
// >>> example = Example(features=Features(feature={"x": Feature(int64_list=Int64List(value=[1, 2]))}))
// >>> Example.FromString(example.SerializeToString()).features.feature["x"].int64_list.value
// [1, 2]
message Example { Features features = 1; }
// One example that is a sequence.
message SequenceExample { Features context = 1; FeatureLists feature_lists = 2; }
// How values are distributed.
message HistogramProto {
  double min = 1; double max = 2; double num = 3; double sum = 4; double sum_squares = 5;
  repeated double bucket_limit = 6; repeated double bucket = 7;
}
// An encoded image.
message SummaryImage { int32 height = 1; int32 width = 2; int32 colorspace = 3; bytes encoded_image_string = 4; }
// Encoded sound.
message SummaryAudio {
  float sample_rate = 1; int64 num_channels = 2; int64 length_frames = 3; bytes encoded_audio_string = 4;
  string content_type = 5;
}
// Which of TensorBoard's plugins shows a summary.
message PluginData { string plugin_name = 1; bytes content = 2; }
// How a summary is to be shown.
message SummaryMetadata {
  PluginData plugin_data = 1; string display_name = 2; string summary_description = 3; enum data_class = 4;
}
// One summary with its tag.
message SummaryValue {
  string tag = 1; string node_name = 7; SummaryMetadata metadata = 9;
  oneof value {
    float simple_value = 2; SummaryImage image = 4; HistogramProto histo = 5; SummaryAudio audio = 6;
    TensorProto tensor = 8;
  }
}
// Summaries of one moment.
//
// Examples
// --------
// >>> Summary(value=[Summary.Value(tag="loss", simple_value=0.5)])
// value {
//   tag: "loss"
//   simple_value: 0.5
// }
// <BLANKLINE>
message Summary { repeated SummaryValue value = 1; }
// An event of a session: it started, stopped or wrote a checkpoint.
message SessionLog {
  enum status = 1; string checkpoint_path = 2; string msg = 3;
  enum { STATUS_UNSPECIFIED = 0; START = 1; STOP = 2; CHECKPOINT = 3; }
}
// How a step ran.
message TaggedRunMetadata { string tag = 1; bytes run_metadata = 2; }
// Who wrote the events.
message SourceMetadata { string writer = 1; }
// One record of an event file.
message Event {
  double wall_time = 1; int64 step = 2; SourceMetadata source_metadata = 10;
  oneof what {
    string file_version = 3; bytes graph_def = 4; Summary summary = 5; SessionLog session_log = 7;
    TaggedRunMetadata tagged_run_metadata = 8; bytes meta_graph_def = 9;
  }
}
""",
    nested="TensorShapeProto.Dim SummaryMetadata.PluginData Summary.Value Summary.Image Summary.Audio",
)
