"""TensorFlow's messages for graphs: nodes, functions, meta graphs and saved models. As in `dualgrad.files.protos`."""

from __future__ import annotations

from dualgrad.files.fields import Field
from dualgrad.files.object_protos import SavedObjectGraph
from dualgrad.files.protos import BytesList, FloatList, Int64List, TensorProto, TensorShapeProto, VersionDef
from dualgrad.files.wire import Message


class ListValue(Message):
    """A list of attributes."""

    s = Field(2, "bytes", repeated=True)
    i = Field(3, "int64", repeated=True)
    f = Field(4, "float", repeated=True)
    b = Field(5, "bool", repeated=True)
    type = Field(6, "enum", repeated=True)
    shape = Field(7, TensorShapeProto, repeated=True)
    tensor = Field(8, TensorProto, repeated=True)


class AttrValue(Message):
    """An attribute of a node."""

    list = Field(1, ListValue, oneof="value")
    s = Field(2, "bytes", oneof="value")
    i = Field(3, "int64", oneof="value")
    f = Field(4, "float", oneof="value")
    b = Field(5, "bool", oneof="value")
    type = Field(6, "enum", oneof="value")
    shape = Field(7, TensorShapeProto, oneof="value")
    tensor = Field(8, TensorProto, oneof="value")
    placeholder = Field(9, "string", oneof="value")
    ListValue = ListValue


class NameAttrList(Message):
    """A function by name, with attributes."""

    name = Field(1, "string")
    attr = Field(2, AttrValue, key="string")


AttrValue.declare("func", Field(10, NameAttrList, oneof="value"))
ListValue.declare("func", Field(9, NameAttrList, repeated=True))


class NodeDef(Message):
    """A node of a graph."""

    name = Field(1, "string")
    op = Field(2, "string")
    input = Field(3, "string", repeated=True)
    device = Field(4, "string")
    attr = Field(5, AttrValue, key="string")


class ArgDef(Message):
    """An argument or result of an op or function."""

    name = Field(1, "string")
    description = Field(2, "string")
    type = Field(3, "enum")
    type_attr = Field(4, "string")
    number_attr = Field(5, "string")
    type_list_attr = Field(6, "string")
    is_ref = Field(16, "bool")


class OpDef(Message):
    """The signature of an op or function."""

    name = Field(1, "string")
    input_arg = Field(2, ArgDef, repeated=True)
    output_arg = Field(3, ArgDef, repeated=True)
    is_stateful = Field(17, "bool")
    control_output = Field(20, "string", repeated=True)


class FunctionDef(Message):
    """A function of a graph's library."""

    signature = Field(1, OpDef)
    node_def = Field(3, NodeDef, repeated=True)
    ret = Field(4, "string", key="string")
    attr = Field(5, AttrValue, key="string")
    control_ret = Field(6, "string", key="string")


class GradientDef(Message):
    """Which function is the gradient of another one."""

    function_name = Field(1, "string")
    gradient_func = Field(2, "string")


class RegisteredGradient(Message):
    """Which function is the gradient of nodes that name it."""

    gradient_func = Field(1, "string")
    registered_op_type = Field(2, "string")


class FunctionDefLibrary(Message):
    """The functions of a graph."""

    function = Field(1, FunctionDef, repeated=True)
    gradient = Field(2, GradientDef, repeated=True)
    registered_gradients = Field(3, RegisteredGradient, repeated=True)


class GraphDef(Message):
    """A graph."""

    node = Field(1, NodeDef, repeated=True)
    library = Field(2, FunctionDefLibrary)
    version = Field(3, "int32")
    versions = Field(4, VersionDef)


class SaverDef(Message):
    """How a graph is saved."""

    filename_tensor_name = Field(1, "string")
    save_tensor_name = Field(2, "string")
    restore_op_name = Field(3, "string")
    max_to_keep = Field(4, "int32")
    sharded = Field(5, "bool")
    keep_checkpoint_every_n_hours = Field(6, "float")
    version = Field(7, "enum")
    LEGACY, V1, V2 = 0, 1, 2


class SaveSliceInfoDef(Message):
    """Which part of a larger variable a variable is."""

    full_name = Field(1, "string")
    full_shape = Field(2, "int64", repeated=True)
    var_offset = Field(3, "int64", repeated=True)
    var_shape = Field(4, "int64", repeated=True)


class VariableDef(Message):
    """A variable of a graph."""

    variable_name = Field(1, "string")
    initializer_name = Field(2, "string")
    snapshot_name = Field(3, "string")
    save_slice_info_def = Field(4, SaveSliceInfoDef)
    is_resource = Field(5, "bool")
    initial_value_name = Field(6, "string")
    trainable = Field(7, "bool")


class NodeList(Message):
    """Names of nodes."""

    value = Field(1, "string", repeated=True)


class CollectionDef(Message):
    """A collection of a graph."""

    node_list = Field(1, NodeList, oneof="kind")
    bytes_list = Field(2, BytesList, oneof="kind")
    int64_list = Field(3, Int64List, oneof="kind")
    float_list = Field(4, FloatList, oneof="kind")


class TensorInfo(Message):
    """A tensor of a signature."""

    name = Field(1, "string", oneof="encoding")
    dtype = Field(2, "enum")
    tensor_shape = Field(3, TensorShapeProto)


class SignatureDef(Message):
    """A function that a graph computes: names of its inputs and outputs."""

    inputs = Field(1, TensorInfo, key="string")
    outputs = Field(2, TensorInfo, key="string")
    method_name = Field(3, "string")


class AssetFileDef(Message):
    """A file that a graph needs."""

    tensor_info = Field(1, TensorInfo)
    filename = Field(2, "string")


class MetaInfoDef(Message):
    """Who made a graph."""

    meta_graph_version = Field(1, "string")
    tags = Field(4, "string", repeated=True)
    tensorflow_version = Field(5, "string")


class MetaGraphDef(Message):
    """A graph with its collections."""

    meta_info_def = Field(1, MetaInfoDef)
    graph_def = Field(2, GraphDef)
    saver_def = Field(3, SaverDef)
    collection_def = Field(4, CollectionDef, key="string")
    signature_def = Field(5, SignatureDef, key="string")
    asset_file_def = Field(6, AssetFileDef, repeated=True)
    object_graph_def = Field(7, SavedObjectGraph)
    MetaInfoDef = MetaInfoDef


class SavedModel(Message):
    """Meta graphs of one model, told apart by their tags."""

    saved_model_schema_version = Field(1, "int64")
    meta_graphs = Field(2, MetaGraphDef, repeated=True)
