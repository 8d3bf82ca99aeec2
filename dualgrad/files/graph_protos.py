"""TensorFlow's messages for graphs: nodes, functions, meta graphs and saved models. As in `dualgrad.files.protos`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dualgrad.files import object_protos, protos
from dualgrad.files.schema import messages

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


messages(
    vars(),
    """
// A list of attributes.
message ListValue {
  repeated bytes s = 2; repeated int64 i = 3; repeated float f = 4; repeated bool b = 5; repeated enum type = 6;
  repeated TensorShapeProto shape = 7; repeated TensorProto tensor = 8; repeated NameAttrList func = 9;
}
// An attribute of a node.
message AttrValue {
  oneof value {
    ListValue list = 1; bytes s = 2; int64 i = 3; float f = 4; bool b = 5; enum type = 6;
    TensorShapeProto shape = 7; TensorProto tensor = 8; string placeholder = 9; NameAttrList func = 10;
  }
}
// A function by name, with attributes.
message NameAttrList { string name = 1; map<string, AttrValue> attr = 2; }
// A node of a graph.
message NodeDef {
  string name = 1; string op = 2; repeated string input = 3; string device = 4; map<string, AttrValue> attr = 5;
}
// An argument or result of an op or function.
message ArgDef {
  string name = 1; string description = 2; enum type = 3; string type_attr = 4; string number_attr = 5;
  string type_list_attr = 6; bool is_ref = 16;
}
// The signature of an op or function.
message OpDef {
  string name = 1; repeated ArgDef input_arg = 2; repeated ArgDef output_arg = 3; bool is_stateful = 17;
  repeated string control_output = 20;
}
// A function of a graph's library.
message FunctionDef {
  OpDef signature = 1; repeated NodeDef node_def = 3; map<string, string> ret = 4; map<string, AttrValue> attr = 5;
  map<string, string> control_ret = 6;
}
// Which function is the gradient of another one.
message GradientDef { string function_name = 1; string gradient_func = 2; }
// Which function is the gradient of nodes that name it.
message RegisteredGradient { string gradient_func = 1; string registered_op_type = 2; }
// The functions of a graph.
message FunctionDefLibrary {
  repeated FunctionDef function = 1; repeated GradientDef gradient = 2;
  repeated RegisteredGradient registered_gradients = 3;
}
// A graph.
message GraphDef {
  repeated NodeDef node = 1; FunctionDefLibrary library = 2; int32 version = 3; VersionDef versions = 4;
}
// How a graph is saved.
message SaverDef {
  string filename_tensor_name = 1; string save_tensor_name = 2; string restore_op_name = 3; int32 max_to_keep = 4;
  bool sharded = 5; float keep_checkpoint_every_n_hours = 6; enum version = 7;
  enum { LEGACY = 0; V1 = 1; V2 = 2; }
}
// Which part of a larger variable a variable is.
message SaveSliceInfoDef {
  string full_name = 1; repeated int64 full_shape = 2; repeated int64 var_offset = 3; repeated int64 var_shape = 4;
}
// A variable of a graph.
message VariableDef {
  string variable_name = 1; string initializer_name = 2; string snapshot_name = 3;
  SaveSliceInfoDef save_slice_info_def = 4; bool is_resource = 5; string initial_value_name = 6; bool trainable = 7;
}
// Names of nodes.
message NodeList { repeated string value = 1; }
// A collection of a graph.
message CollectionDef {
  oneof kind {
    NodeList node_list = 1; BytesList bytes_list = 2; Int64List int64_list = 3; FloatList float_list = 4;
  }
}
// A tensor of a signature.
message TensorInfo { enum dtype = 2; TensorShapeProto tensor_shape = 3; oneof encoding { string name = 1; } }
// A function that a graph computes: names of its inputs and outputs.
message SignatureDef {
  map<string, TensorInfo> inputs = 1; map<string, TensorInfo> outputs = 2; string method_name = 3;
}
// A file that a graph needs.
message AssetFileDef { TensorInfo tensor_info = 1; string filename = 2; }
// Who made a graph.
message MetaInfoDef { string meta_graph_version = 1; repeated string tags = 4; string tensorflow_version = 5; }
// A graph with its collections.
message MetaGraphDef {
  MetaInfoDef meta_info_def = 1; GraphDef graph_def = 2; SaverDef saver_def = 3;
  map<string, CollectionDef> collection_def = 4; map<string, SignatureDef> signature_def = 5;
  repeated AssetFileDef asset_file_def = 6; SavedObjectGraph object_graph_def = 7;
}
// Meta graphs of one model, told apart by their tags.
message SavedModel { int64 saved_model_schema_version = 1; repeated MetaGraphDef meta_graphs = 2; }
""",
    object_protos,
    protos,
    nested="AttrValue.ListValue MetaGraphDef.MetaInfoDef",
)
