"""Names that are loaded when a program first uses one of them: all but the functions of `graph_api.names`.

So `import graph_api` loads tables of names and nothing else, whatever else there is. `dualgrad.frontend.rows` says what
the lines mean.
"""

from __future__ import annotations

from dualgrad import lazy_names as common
from dualgrad.frontend.rows import below, rows
from optim.names import OPTIMIZERS

EXTENSIONS = {
    "count_up_to": "graph_api.legacy.input_producers:count_up_to",
    "add_saver": "graph_api.graph_files.meta_graphs:with_saver",
    "graph_def": "graph_api.graph_files.export:graph_def",
    "meta_graph": "graph_api.graph_files.meta_graphs:export_meta_graph",
    "saver": "graph_api.saving:Saver",
}
"""The functions that extend graphs and savers by files (`graph_api.graphs.graph.EXTENSIONS`)."""

_OWN = rows("""
engine.transforms.functions | transforms
graph_api.autograph | autograph
# ---- graphs, sessions, tensors
engine.derivatives.aggregation: | AggregationMethod
dualgrad.extras.structures | nest
engine.core.unconnected: | UnconnectedGradients
engine.transforms.gradient_tape: | GradientTape
engine.ops.indexed_slices: | IndexedSlices
engine.derivatives.primitive: | primitive
engine.runtime.errors | errors
graph_api.convert: | constant convert_to_tensor custom_gradient grad_pass_through placeholder placeholder_with_default
graph_api.graphs.defaults: | get_default_session
graph_api.control_flow.flow: | Assert Print group no_op py_func with_dependencies debugging.Assert
graph_api.control_flow.flow:tuple_ | tuple
graph_api.function: | function
graph_api.derivatives.gradients: | gradients
graph_api.graphs.graph: | Graph add_to_collection add_to_collections control_dependencies device get_collection
 get_collection_ref get_default_graph reset_default_graph
graph_api.graphs.graph_keys: | GraphKeys
graph_api.modes: | disable_eager_execution disable_v2_behavior enable_eager_execution executing_eagerly
graph_api.graphs.scopes: | AUTO_REUSE VariableScope get_variable get_variable_scope name_scope variable_scope
graph_api.sessions.session: | InteractiveSession Session
graph_api.graphs.tensor:GraphDimension | Dimension
graph_api.graphs.tensor:GraphShape | TensorShape
graph_api.graphs.tensor: | Operation Tensor
graph_api.graphs.variable: | Variable assign assign_add assign_sub local_variables model_variables
 moving_average_variables trainable_variables is_variable_initialized report_uninitialized_variables
graph_api.graphs.variable:Variable | VariableV1
graph_api.graphs.variable:local_variables_initializer | local_variables_initializer initialize_local_variables
graph_api.graphs.variable:tables_initializer | tables_initializer initialize_all_tables
# ---- random tensors
graph_api.sampling:* | random_* random.* | uniform normal gamma poisson shuffle
graph_api.sampling: | random.categorical nn.dropout
graph_api.sampling: | * random.* | truncated_normal multinomial set_random_seed
# ---- initial values
graph_api.initial_values: | initializers.Initializer
graph_api.initial_values:*_initializer | *_initializer initializers.* | zeros ones constant random_uniform
 random_normal truncated_normal variance_scaling uniform_unit_scaling glorot_uniform glorot_normal orthogonal
graph_api.initial_values:*_initializer | initializers.* | identity he_normal lecun_normal lecun_uniform he_uniform
# ---- variables
graph_api.graphs.variable:global_variables_initializer | global_variables_initializer initialize_all_variables
 initializers.global_variables
graph_api.graphs.variable:variables_initializer | variables_initializer initialize_variables initializers.variables
graph_api.graphs.variable:global_variables | global_variables all_variables
dualgrad.frontend.overrides: | RegisterGradient
# ---- control flow
graph_api.control_flow.control: | cond case switch_case while_loop
graph_api.control_flow.scans: | map_fn scan foldl foldr
graph_api.control_flow.tensor_array: | TensorArray
# ---- training
graph_api.training: | train.* | ExponentialMovingAverage cosine_decay cosine_decay_restarts exponential_decay
 inverse_time_decay linear_cosine_decay natural_exp_decay piecewise_constant polynomial_decay create_global_step
 get_global_step get_or_create_global_step global_step
graph_api.training:piecewise_constant | train.piecewise_constant_decay
graph_api.loss_functions: | losses.* | Reduction absolute_difference add_loss compute_weighted_loss cosine_distance
 get_losses get_regularization_loss get_regularization_losses get_total_loss hinge_loss huber_loss log_loss
 mean_pairwise_squared_error mean_squared_error sigmoid_cross_entropy softmax_cross_entropy
 sparse_softmax_cross_entropy
# ---- Jacobians, and what needs SciPy
graph_api.derivatives.jacobians: | batch_jacobian hessian hessian_diag hessians hvp jacobian jacobian_plan jvp vjp
graph_api.derivatives.functions_for_scipy: | for_ode for_scipy
engine.explain: | explain
graph_api.testing: | test.* | TestCase main
dualgrad.extras.testing: | test.* | is_gpu_available is_built_with_cuda gpu_device_name get_temp_dir
unittest.mock | test.mock
# ---- saving, summaries, records, files
graph_api.saving: | train.* | Saver SaverDef NewCheckpointReader CheckpointState checkpoint_exists latest_checkpoint
 get_checkpoint_mtimes get_checkpoint_state update_checkpoint_state remove_checkpoint list_variables load_checkpoint
 load_variable
graph_api.summaries: | scalar_summary histogram_summary image_summary merge_summary merge_all_summaries
graph_api.summaries: | summary.* | scalar histogram image audio text merge merge_all FileWriter FileWriterCache
 SessionLog
graph_api.summaries: | summary.* * | Event Summary
graph_api.summaries: | train.* | SummaryWriter summary_iterator
dualgrad.files.protos: | summary.TaggedRunMetadata HistogramProto
dualgrad.files.protos: | train.* | Example Features Feature FeatureList FeatureLists BytesList FloatList Int64List
 SequenceExample
dualgrad.files.graph_protos: | GraphDef MetaGraphDef NodeDef AttrValue SignatureDef TensorInfo
graph_api.graph_files.importing: | import_graph_def graph_util.import_graph_def
graph_api.graph_files.graph_util: | graph_util.* | convert_variables_to_constants extract_sub_graph
graph_api.graph_files.meta_graphs: | train.write_graph io.write_graph register_proto_function
graph_api.graph_files.meta_graphs: | train.* | import_meta_graph export_meta_graph
graph_api.graph_files.saved_models: | saved_model.loader.load saved_model.load saved_model.simple_save
 saved_model.builder.SavedModelBuilder saved_model.loader.maybe_saved_model_directory
 saved_model.utils.build_tensor_info saved_model.build_tensor_info saved_model.utils.get_tensor_from_tensor_info
graph_api.graph_files.saved_models: | saved_model.signature_def_utils.* saved_model.* | build_signature_def
 predict_signature_def
graph_api.graph_files.saved_models:SavedModelBuilder | saved_model.Builder
graph_api.graph_files.saved_models:TagConstants | saved_model.tag_constants
graph_api.graph_files.saved_models:SignatureConstants | saved_model.signature_constants
dualgrad.files.records:RecordWriter | io.TFRecordWriter python_io.TFRecordWriter
dualgrad.files.records: | io.* python_io.* | TFRecordOptions TFRecordCompressionType
dualgrad.files.records:read_records | io.tf_record_iterator python_io.tf_record_iterator
# ---- data, queues, coordinators, sessions with hooks
graph_api.data | data
dualgrad.data.experimental | contrib.data
dualgrad.data.parsing: | parse_single_example parse_example decode_raw FixedLenFeature FixedLenSequenceFeature
 VarLenFeature
dualgrad.data.csv: | decode_csv
dualgrad.platform.coordination: | train.Coordinator
graph_api.legacy.coordination: | train.* | QueueRunner add_queue_runner start_queue_runners
graph_api.legacy.queues: | * queue.* | FIFOQueue PaddingFIFOQueue RandomShuffleQueue QueueBase
graph_api.legacy.input_producers: | TextLineReader TFRecordReader WholeFileReader FixedLengthRecordReader ReaderBase
 count_up_to matching_files io.matching_files
graph_api.legacy.input_producers: | train.* | batch shuffle_batch input_producer limit_epochs string_input_producer
 range_input_producer slice_input_producer match_filenames_once
graph_api.data: | TensorSpec
# ---- sparse tensors
graph_api.sparse | sparse
graph_api.sparse: | SparseTensor SparseTensorSpec SparseTensorValue sparse_to_dense sparse_concat
 convert_to_tensor_or_sparse_tensor
graph_api.sparse:* | sparse_* | placeholder add reduce_sum reorder reshape retain softmax transpose
graph_api.sparse:sparse_dense_matmul | sparse_tensor_dense_matmul
graph_api.sparse:to_dense | sparse_tensor_to_dense
graph_api.legacy.string_parts: | string_split strings.split
# ---- layers, cells, keras
graph_api.keras | keras
graph_api.legacy.layers | layers
graph_api.legacy.rnn.cells: | nn.rnn_cell.* contrib.rnn.* | BasicLSTMCell BasicRNNCell GRUCell LSTMCell LSTMStateTuple
 RNNCell
graph_api.legacy.rnn.wrappers: | nn.rnn_cell.* contrib.rnn.* | DropoutWrapper MultiRNNCell ResidualWrapper
graph_api.legacy.rnn.loops: | nn.static_rnn contrib.rnn.static_rnn nn.dynamic_rnn nn.raw_rnn
 nn.bidirectional_dynamic_rnn
graph_api.legacy.rnn.cells:RNNCell | contrib.rnn.LayerRNNCell
# ---- contrib
optim.external: | contrib.opt.ScipyOptimizerInterface
graph_api.legacy.seq2seq | contrib.seq2seq
graph_api.legacy.rnn.sequences: | contrib.legacy_seq2seq.* nn.seq2seq.* | sequence_loss_by_example rnn_decoder
graph_api.legacy.rnn.sequences:summed_sequence_loss | contrib.legacy_seq2seq.sequence_loss nn.seq2seq.sequence_loss
graph_api.legacy.slim.framework | contrib.framework
graph_api.legacy.slim.layers | contrib.layers
graph_api.legacy.slim | contrib.slim
graph_api.control_flow.eager_calls: | py_function
graph_api.control_flow.flow:py_func | numpy_function
graph_api.legacy.recompute: | recompute_grad
graph_api.legacy.conversions: | register_tensor_conversion_function
graph_api.legacy.template: | make_template
graph_api.legacy.old_names: | colocate_with container resource_variables_enabled enable_resource_variables
 disable_resource_variables disable_control_flow_v2 control_flow_v2_enabled enable_control_flow_v2 get_local_variable
 setdiff1d init_scope get_seed random.get_seed estimator.ModeKeys
graph_api.legacy.old_names: | * version.* | VERSION GIT_VERSION COMPILER_VERSION
graph_api.legacy.old_names: | * compat.* | dimension_value dimension_at_index
graph_api.legacy.old_names: | train.* | init_from_checkpoint assert_global_step
graph_api.legacy.old_names: | test.* | compute_gradient compute_gradient_error
graph_api.legacy.old_names:get_static_value | get_static_value contrib.util.constant_value
graph_api.legacy.old_names:no_gradient | no_gradient NotDifferentiable NoGradient
graph_api.legacy.old_names:print_ | print
dualgrad.extras.ops.compositions:bincount | bincount
graph_api.sessions.run_options: | ConfigProto GPUOptions GraphOptions OptimizerOptions RunMetadata RunOptions
dualgrad.extras.image_draws:random_crop | random_crop
graph_api.legacy.hooks: | train.* | CheckpointSaverHook FeedFnHook FinalOpsHook LoggingTensorHook
 NanLossDuringTrainingError NanTensorHook SecondOrStepTimer SessionRunArgs SessionRunContext SessionRunHook
 SessionRunValues StepCounterHook StopAtStepHook SummarySaverHook CheckpointSaverListener
graph_api.legacy.monitored: | train.* | ChiefSessionCreator MonitoredSession MonitoredTrainingSession Scaffold
 SingularMonitoredSession
graph_api.control_flow.assertions: | is_tensor
graph_api.control_flow.assertions: | * debugging.* | assert_positive assert_negative assert_non_negative
 assert_non_positive assert_equal assert_none_equal assert_greater assert_greater_equal assert_less assert_less_equal
 assert_near assert_rank assert_rank_at_least is_numeric_tensor
graph_api.numerics: | check_numerics debugging.check_numerics add_check_numerics_ops verify_tensor_all_finite
 debugging.assert_all_finite
graph_api.legacy.metrics | metrics
graph_api.legacy.contrib_metrics | contrib.metrics
graph_api.legacy.distributions | distributions contrib.distributions
graph_api.legacy.sampled_losses: | nn.* | nce_loss sampled_softmax_loss
graph_api.legacy.sampled_losses: | nn.* random.* | log_uniform_candidate_sampler uniform_candidate_sampler
""")

LATER: tuple[tuple[str, str], ...] = (
    *_OWN,
    *common.DTYPES,
    *below("dtypes", common.DTYPES),
    *common.SCATTERS,
    *below("train", OPTIMIZERS),
    *common.BOTH,
    *common.VERSION1,
)
