"""TensorFlow's messages for the objects of a SavedModel, and for nested structures. As in `dualgrad.files.protos`."""

from __future__ import annotations

from dualgrad.files.fields import Field
from dualgrad.files.protos import (
    ObjectReference,
    SlotVariableReference,
    TensorProto,
    TensorShapeProto,
    VersionDef,
)
from dualgrad.files.wire import Message

# ---- structures ------------------------------------------------------------------------------------------------------


class NoneValue(Message):
    """None."""


class TensorSpecProto(Message):
    """A shape and a dtype."""

    name = Field(1, "string")
    shape = Field(2, TensorShapeProto)
    dtype = Field(3, "enum")


class StructuredValue(Message):
    """A number, a text, a spec, or a list, tuple or dict of these."""

    none_value = Field(1, NoneValue, oneof="kind")
    float64_value = Field(11, "double", oneof="kind")
    int64_value = Field(12, "sint64", oneof="kind")
    string_value = Field(13, "string", oneof="kind")
    bool_value = Field(14, "bool", oneof="kind")
    tensor_shape_value = Field(31, TensorShapeProto, oneof="kind")
    tensor_dtype_value = Field(32, "enum", oneof="kind")
    tensor_spec_value = Field(33, TensorSpecProto, oneof="kind")
    tensor_value = Field(55, TensorProto, oneof="kind")
    numpy_value = Field(56, TensorProto, oneof="kind")


class TypeSpecProto(Message):
    """A spec of what is no single tensor."""

    type_spec_class = Field(1, "enum")
    type_state = Field(2, StructuredValue)
    type_spec_class_name = Field(3, "string")


class ListValue(Message):
    """A list."""

    values = Field(1, StructuredValue, repeated=True)


class TupleValue(Message):
    """A tuple."""

    values = Field(1, StructuredValue, repeated=True)


class DictValue(Message):
    """A dict."""

    fields = Field(1, StructuredValue, key="string")


class PairValue(Message):
    """A field of a named tuple."""

    key = Field(1, "string")
    value = Field(2, StructuredValue)


class NamedTupleValue(Message):
    """A named tuple."""

    name = Field(1, "string")
    values = Field(2, PairValue, repeated=True)


StructuredValue.declare("type_spec_value", Field(34, TypeSpecProto, oneof="kind"))
StructuredValue.declare("list_value", Field(51, ListValue, oneof="kind"))
StructuredValue.declare("tuple_value", Field(52, TupleValue, oneof="kind"))
StructuredValue.declare("dict_value", Field(53, DictValue, oneof="kind"))
StructuredValue.declare("named_tuple_value", Field(54, NamedTupleValue, oneof="kind"))


# ---- objects ---------------------------------------------------------------------------------------------------------


class FunctionSpec(Message):
    """The parameters of a Python function."""

    fullargspec = Field(1, StructuredValue)
    is_method = Field(2, "bool")
    input_signature = Field(5, StructuredValue)


class SavedUserObject(Message):
    """An object of a class that only its program knows."""

    identifier = Field(1, "string")
    version = Field(2, VersionDef)
    metadata = Field(3, "string")


class SavedAsset(Message):
    """A file."""

    asset_file_def_index = Field(1, "int32")


class SavedFunction(Message):
    """A ``tf.function``: what it is for each combination of arguments."""

    concrete_functions = Field(1, "string", repeated=True)
    function_spec = Field(2, FunctionSpec)


class SavedBareConcreteFunction(Message):
    """A function of tensors of known kinds."""

    concrete_function_name = Field(1, "string")
    argument_keywords = Field(2, "string", repeated=True)
    allowed_positional_arguments = Field(3, "int64")
    function_spec = Field(4, FunctionSpec)


class SavedConcreteFunction(Message):
    """The arguments and results of a function of the library, and the objects that it captures."""

    bound_inputs = Field(2, "int32", repeated=True)
    canonicalized_input_signature = Field(3, StructuredValue)
    output_signature = Field(4, StructuredValue)


class SavedConstant(Message):
    """A tensor: a node of the graph."""

    operation = Field(1, "string")


class SavedVariable(Message):
    """A variable; its value is in the checkpoint."""

    dtype = Field(1, "enum")
    shape = Field(2, TensorShapeProto)
    trainable = Field(3, "bool")
    synchronization = Field(4, "enum")
    aggregation = Field(5, "enum")
    name = Field(6, "string")
    device = Field(7, "string")


class SavedResource(Message):
    """A hash table, an iterator, or the like."""

    device = Field(1, "string")


class CapturedTensor(Message):
    """A tensor of another function."""

    name = Field(1, "string")
    concrete_function = Field(2, "string")


class SavedObject(Message):
    """An object."""

    children = Field(1, ObjectReference, repeated=True)
    slot_variables = Field(3, SlotVariableReference, repeated=True)
    user_object = Field(4, SavedUserObject, oneof="kind")
    asset = Field(5, SavedAsset, oneof="kind")
    function = Field(6, SavedFunction, oneof="kind")
    variable = Field(7, SavedVariable, oneof="kind")
    bare_concrete_function = Field(8, SavedBareConcreteFunction, oneof="kind")
    constant = Field(9, SavedConstant, oneof="kind")
    resource = Field(10, SavedResource, oneof="kind")
    captured_tensor = Field(12, CapturedTensor, oneof="kind")
    registered_name = Field(13, "string")
    dependencies = Field(15, ObjectReference, repeated=True)


class SavedObjectGraph(Message):
    """The objects of a model, the first one the root, and the functions that they have."""

    nodes = Field(1, SavedObject, repeated=True)
    concrete_functions = Field(2, SavedConcreteFunction, key="string")
