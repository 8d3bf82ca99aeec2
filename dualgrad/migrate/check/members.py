"""The attributes that objects of TensorFlow's classes have and ours have not, as far as programs ask for them.

A program that ran on TensorFlow asks objects only for what they have there. So these names are missing wherever they
are asked of such an object, also where a class of the program's own has the same name.
"""

from __future__ import annotations

_OPTIMIZER = "_apply_sparse_duplicate_indices _assert_valid_dtypes _get_or_make_slot_with_initializer"
_OPTIMIZER += " _non_slot_dict _resource_apply_sparse_duplicate_indices _slot_dict _valid_dtypes"
LACKING: dict[str, frozenset[str]] = {
    kind: frozenset(names.split())
    for kind, names in {
        "Tensor": "_get_first_dim _rank _shape_tuple experimental_ref ref",
        "Operation": "_add_control_input _add_control_inputs _add_input _add_outputs _get_control_flow_context "
        "_set_attr _set_control_flow_context _set_device _update_input op_def",
        "Variable": "SaveSliceInfo _AsTensor _get_save_slice_info _save_slice_info _set_save_slice_info _variable",
        "Graph": "_colocation_stack _control_dependencies_stack _device_function_stack _get_control_flow_context "
        "_kernel_label_map _name_stack _set_control_flow_context _variable_creator_scope colocate_with container "
        "create_op op_def_for_type switch_to_thread_local",
        "Session": "_config _graph _session _target list_devices",
        "GraphShape": "as_proto",
        "Optimizer": _OPTIMIZER,
        "AdamOptimizer": "_beta1_t _beta2_t _epsilon_t _get_beta_accumulators _lr_t",
        "GradientDescentOptimizer": "_learning_rate_tensor",
        "MomentumOptimizer": "_use_nesterov",
        "Saver": "_filename _last_checkpoints _next_checkpoint_time _var_list from_proto",
        "SparseTensor": "consumers",
        "VariableScope": "caching_device get_collection local_variables set_caching_device set_dtype set_use_resource "
        "use_resource",
        "TensorArray": "grad handle",
        "QueueBase": "from_list",
    }.items()
}
"""By the name of our class."""


def lacks(kind: type, name: str) -> bool:
    """Whether TensorFlow's objects have it, and ours, of a class or one that it inherits from, have not."""
    return any(name in LACKING.get(base.__name__, ()) for base in kind.__mro__)
