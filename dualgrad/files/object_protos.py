"""TensorFlow's messages for the objects of a SavedModel, and for nested structures. As in `dualgrad.files.protos`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dualgrad.files import protos
from dualgrad.files.schema import messages

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


messages(
    vars(),
    """
// None.
message NoneValue {  }
// A shape and a dtype.
message TensorSpecProto { string name = 1; TensorShapeProto shape = 2; enum dtype = 3; }
// A number, a text, a spec, or a list, tuple or dict of these.
message StructuredValue {
  oneof kind {
    NoneValue none_value = 1; double float64_value = 11; sint64 int64_value = 12; string string_value = 13;
    bool bool_value = 14; TensorShapeProto tensor_shape_value = 31; enum tensor_dtype_value = 32;
    TensorSpecProto tensor_spec_value = 33; TypeSpecProto type_spec_value = 34; ListValue list_value = 51;
    TupleValue tuple_value = 52; DictValue dict_value = 53; NamedTupleValue named_tuple_value = 54;
    TensorProto tensor_value = 55; TensorProto numpy_value = 56;
  }
}
// A spec of what is no single tensor.
message TypeSpecProto { enum type_spec_class = 1; StructuredValue type_state = 2; string type_spec_class_name = 3; }
// A list.
message ListValue { repeated StructuredValue values = 1; }
// A tuple.
message TupleValue { repeated StructuredValue values = 1; }
// A dict.
message DictValue { map<string, StructuredValue> fields = 1; }
// A field of a named tuple.
message PairValue { string key = 1; StructuredValue value = 2; }
// A named tuple.
message NamedTupleValue { string name = 1; repeated PairValue values = 2; }
// The parameters of a Python function.
message FunctionSpec { StructuredValue fullargspec = 1; bool is_method = 2; StructuredValue input_signature = 5; }
// An object of a class that only its program knows.
message SavedUserObject { string identifier = 1; VersionDef version = 2; string metadata = 3; }
// A file.
message SavedAsset { int32 asset_file_def_index = 1; }
// A ``tf.function``: what it is for each combination of arguments.
message SavedFunction { repeated string concrete_functions = 1; FunctionSpec function_spec = 2; }
// A function of tensors of known kinds.
message SavedBareConcreteFunction {
  string concrete_function_name = 1; repeated string argument_keywords = 2; int64 allowed_positional_arguments = 3;
  FunctionSpec function_spec = 4;
}
// The arguments and results of a function of the library, and the objects that it captures.
message SavedConcreteFunction {
  repeated int32 bound_inputs = 2; StructuredValue canonicalized_input_signature = 3;
  StructuredValue output_signature = 4;
}
// A tensor: a node of the graph.
message SavedConstant { string operation = 1; }
// A variable; its value is in the checkpoint.
message SavedVariable {
  enum dtype = 1; TensorShapeProto shape = 2; bool trainable = 3; enum synchronization = 4; enum aggregation = 5;
  string name = 6; string device = 7;
}
// A hash table, an iterator, or the like.
message SavedResource { string device = 1; }
// A tensor of another function.
message CapturedTensor { string name = 1; string concrete_function = 2; }
// An object.
message SavedObject {
  repeated ObjectReference children = 1; repeated SlotVariableReference slot_variables = 3;
  string registered_name = 13; repeated ObjectReference dependencies = 15;
  oneof kind {
    SavedUserObject user_object = 4; SavedAsset asset = 5; SavedFunction function = 6; SavedVariable variable = 7;
    SavedBareConcreteFunction bare_concrete_function = 8; SavedConstant constant = 9; SavedResource resource = 10;
    CapturedTensor captured_tensor = 12;
  }
}
// The objects of a model, the first one the root, and the functions that they have.
message SavedObjectGraph {
  repeated SavedObject nodes = 1; map<string, SavedConcreteFunction> concrete_functions = 2;
}
""",
    protos,
)
