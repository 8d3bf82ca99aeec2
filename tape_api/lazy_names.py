"""Names that are loaded when a program first uses one of them; `dualgrad.frontend.rows` says what the lines mean."""

from __future__ import annotations

from dualgrad import lazy_names as common
from dualgrad.frontend.rows import below, rows
from optim.names import AVERAGES, OPTIMIZERS, SCHEDULES

_OWN = rows("""
engine.transforms.functions | transforms
# ---- tensors, variables, tapes
engine.derivatives.aggregation: | AggregationMethod
dualgrad.extras.structures | nest
engine.core.tensor_shape: | TensorShape
engine.core.unconnected: | UnconnectedGradients
engine.transforms.gradient_tape: | GradientTape
engine.ops.indexed_slices: | IndexedSlices
engine.derivatives.primitive: | primitive
engine.runtime.errors | errors
dualgrad.extras.module: | Module
dualgrad.frontend.eager_scopes: | name_scope
tape_api.tensor: | Tensor TensorSpec constant convert_to_tensor is_tensor
tape_api.control_flow.tensor_array: | TensorArray
tape_api.variable: | Variable
tape_api.legacy.version1: | assign assign_add assign_sub enable_eager_execution multinomial py_func random_normal
 set_random_seed
tape_api.random: | nn.dropout
tape_api.functions.function: | function
tape_api.autograph | autograph
tape_api.control_flow.flow: | case cond control_dependencies custom_gradient device executing_eagerly get_static_value
 grad_pass_through group init_scope no_op numpy_function py_function switch_case
tape_api.control_flow.loops: | foldl foldr map_fn scan while_loop
tape_api.functions.symbolic: | gradients hessians
tape_api.functions_for_scipy: | for_ode for_scipy
dualgrad.solvers.bvp: | for_bvp
tape_api.printing:print_ | print
tape_api.control_flow.flow:tuple_ | tuple
tape_api.debugging: | ensure_shape Assert assert_equal assert_greater assert_less assert_rank
# ---- parts of Keras
tape_api.keras.initializers | initializers
tape_api.keras.metrics | metrics
tape_api.keras.optimizers | optimizers
tape_api.keras.initializers:Constant | constant_initializer
tape_api.keras.initializers:Ones | ones_initializer
tape_api.initial_values: | random_normal_initializer random_uniform_initializer
tape_api.keras.initializers:Zeros | zeros_initializer
# ---- parts of the API that are modules here
tape_api.debugging | debugging
tape_api.keras | keras
tape_api.keras.applications | keras.applications
dualgrad.extras.ops.images: | image.resize_image_with_pad
tape_api.version | version
tape_api.random | random
tape_api.test | test
tape_api.train | train
tape_api.autodiff | autodiff
tape_api.functions.recompute: | recompute_grad
tape_api.functions.overridden: | compat.v1.get_default_graph
dualgrad.frontend.overrides: | RegisterGradient compat.v1.RegisterGradient
tape_api.distribute | distribute
tape_api.cluster | distribute.cluster_resolver
tape_api.cluster: | train.ClusterSpec
tape_api.distribute_experimental | distribute.experimental
# ---- in modules of these
tape_api.files.checkpoint: | train.* | Checkpoint CheckpointManager
dualgrad.files.checkpoints: | train.* | list_variables load_variable load_checkpoint
dualgrad.files.checkpoints:latest | train.latest_checkpoint
dualgrad.files.checkpoints:get_state | train.get_checkpoint_state
dualgrad.files.checkpoints:exists | train.checkpoint_exists
dualgrad.files.checkpoints:CheckpointReader | train.CheckpointReader train.NewCheckpointReader
dualgrad.files.protos: | train.* | Example Features Feature FeatureList FeatureLists BytesList FloatList Int64List
 SequenceExample
dualgrad.files.events: | train.summary_iterator
dualgrad.platform.coordination: | train.Coordinator
tape_api.files.saver: | train.Saver
engine.explain.check_numerics: | debugging.* | enable_check_numerics disable_check_numerics
tape_api.sampled_losses: | random.* | log_uniform_candidate_sampler uniform_candidate_sampler
engine.explain: | explain
# ---- saving, summaries, records, files
tape_api.summary | summary
tape_api.saved_model | saved_model
dualgrad.files.records:RecordWriter | io.TFRecordWriter
dualgrad.files.records: | io.TFRecordOptions
# ---- data
tape_api.data | data
dualgrad.extras.mnist | compat.v1.examples.tutorials.mnist.input_data compat.v1.contrib.learn.datasets.mnist
# ---- sparse tensors
tape_api.sparse | sparse
tape_api.sparse:SparseTensor | SparseTensor
dualgrad.sparse.sparse_tensor: | SparseTensorSpec
tape_api.ragged: | RaggedTensor strings.unicode_decode strings.unicode_encode strings.split strings.bytes_split
tape_api.ragged | ragged
tape_api.lookup | lookup
# ---- TensorFlow 1's eager mode
tape_api.legacy.contrib_eager | contrib.eager compat.v1.contrib.eager
tape_api.legacy.old_layers | layers compat.v1.layers
tape_api.sampled_losses: | nn.* | nce_loss sampled_softmax_loss
""")

LATER: tuple[tuple[str, str], ...] = (
    *_OWN,
    *common.DTYPES,
    *below("dtypes", common.DTYPES),
    *below("train", (*OPTIMIZERS, *AVERAGES, *SCHEDULES)),
    *common.BOTH,
    *common.VERSION2,
)

_OLD = rows("""
tape_api.debugging:old_assert_* | assert_* debugging.assert_* | equal greater greater_equal less less_equal none_equal
 rank rank_at_least negative non_negative non_positive positive
tape_api.debugging: | Assert check_numerics assert_near
tape_api.legacy.version1: | assign assign_add assign_sub disable_eager_execution disable_v2_behavior
 enable_eager_execution enable_resource_variables enable_v2_behavior enable_v2_tensorshape multinomial py_func
 random_gamma random_normal random_poisson random_shuffle random_uniform set_random_seed truncated_normal
dualgrad.frontend.eager_scopes:old_name_scope | name_scope
dualgrad.files.protos: | Summary Event HistogramProto
dualgrad.extras.ops.losses: | losses.Reduction
# ---- what there is of sessions, collections and scopes in eager mode
dualgrad.frontend.graph_keys: | GraphKeys
dualgrad.frontend.session_options: | ConfigProto GPUOptions
dualgrad.sparse.sparse_tensor: | SparseTensorValue
tape_api.legacy.version1_sessions: | AUTO_REUSE InteractiveSession Print Session add_to_collection colocate_with
 container control_flow_v2_enabled disable_control_flow_v2 disable_v2_tensorshape enable_control_flow_v2
 executing_eagerly_outside_functions get_collection get_collection_ref get_default_session get_variable
 global_variables global_variables_initializer initialize_all_variables is_variable_initialized local_variables
 local_variables_initializer model_variables moving_average_variables placeholder placeholder_with_default
 report_uninitialized_variables reset_default_graph sparse_placeholder tables_initializer trainable_variables
 variable_scope variables_initializer
tape_api.legacy.version1_sessions: | losses.* | get_losses get_regularization_loss get_regularization_losses
tape_api.legacy.version1_sessions: | data.* | make_one_shot_iterator make_initializable_iterator
tape_api.legacy.version1_sessions: | summary.* | FileWriter merge merge_all
tape_api.legacy.version1_sessions:tuple_ | tuple
tape_api.legacy.version1_sessions:*_initializer | *_initializer initializers.* | glorot_normal glorot_uniform
 random_normal random_uniform truncated_normal variance_scaling
""")

VERSION1: tuple[tuple[str, str], ...] = (
    *_OLD,
    *common.SCATTERS,
    *[row for row in common.VERSION1 if not row[0].startswith("dualgrad.extras.mnist")],
)
"""Names that ``tf.compat.v1`` has besides the functions of TensorFlow 1's table; for the rest it has today's names."""
