"""Names that are loaded when a program first uses one of them: all but the functions of `graph_api.names`.

A row is ``(where, names)``. Where: ``"graph_api.saving:"`` if that module has it under the last part of each name,
``"graph_api.saving:load"`` for one thing under other names, ``"graph_api.legacy.layers"`` for a module that is a part
of the API (with ``__all__``). So `import graph_api` loads tables of names and nothing else, whatever else there is.
"""

from __future__ import annotations

from dualgrad import lazy_names as common
from dualgrad import platform as files

_SPARSE = (
    *("add", "fill_empty_rows", "maximum", "minimum", "reduce_max", "reduce_max_sparse", "reduce_sum"),
    *("reduce_sum_sparse", "reorder", "reset_shape", "reshape", "retain", "segment_mean", "segment_sqrt_n"),
    *("segment_sum", "slice", "softmax", "transpose"),
)
"""The names that TensorFlow 1 has as ``sparse_...`` besides."""

_TRAIN = (
    *("AdadeltaOptimizer", "AdagradDAOptimizer", "AdagradOptimizer", "AdamOptimizer", "ExponentialMovingAverage"),
    *("FtrlOptimizer", "GradientDescentOptimizer", "MomentumOptimizer", "Optimizer", "ProximalAdagradOptimizer"),
    *("ProximalGradientDescentOptimizer", "RMSPropOptimizer", "cosine_decay", "cosine_decay_restarts"),
    *("create_global_step", "exponential_decay", "get_global_step", "get_or_create_global_step", "global_step"),
    *("inverse_time_decay", "linear_cosine_decay", "natural_exp_decay", "piecewise_constant"),
    *("piecewise_constant_decay", "polynomial_decay"),
)
"""Names that `graph_api.training` offers."""

_LOSSES = (
    *("Reduction", "absolute_difference", "add_loss", "compute_weighted_loss", "cosine_distance", "get_losses"),
    *("get_regularization_loss", "get_regularization_losses", "get_total_loss", "hinge_loss", "huber_loss"),
    *("log_loss", "mean_pairwise_squared_error", "mean_squared_error", "sigmoid_cross_entropy"),
    *("softmax_cross_entropy", "sparse_softmax_cross_entropy"),
)
"""Names that `graph_api.loss_functions` offers."""

EXTENSIONS = {
    "add_saver": "graph_api.graph_files.meta_graphs:with_saver",
    "graph_def": "graph_api.graph_files.export:graph_def",
    "meta_graph": "graph_api.graph_files.meta_graphs:export_meta_graph",
    "saver": "graph_api.saving:Saver",
}
"""The functions that extend graphs and savers by files (`graph_api.graph.EXTENSIONS`)."""

LATER: tuple[tuple[str, str], ...] = (
    ("engine.function_transforms", "transforms"),
    # ---- graphs, sessions, tensors
    ("engine.aggregation:", "AggregationMethod"),
    ("engine.core.nest", "nest"),
    *common.DTYPES,
    ("engine.core.unconnected:", "UnconnectedGradients"),
    ("engine.gradient_tape:", "GradientTape"),
    ("engine.ops.indexed_slices:", "IndexedSlices"),
    ("engine.primitive:", "primitive"),
    ("engine.runtime.errors", "errors"),
    ("graph_api.convert:", "constant convert_to_tensor custom_gradient placeholder placeholder_with_default"),
    ("graph_api.defaults:", "get_default_session"),
    ("graph_api.flow:", "Assert Print assert_equal assert_greater assert_greater_equal assert_less assert_less_equal"),
    ("graph_api.flow:", "group no_op py_func with_dependencies"),
    ("graph_api.flow:tuple_", "tuple"),
    ("graph_api.gradients:", "gradients"),
    ("graph_api.graph:", "Graph add_to_collection add_to_collections control_dependencies device get_collection"),
    ("graph_api.graph:", "get_collection_ref get_default_graph reset_default_graph"),
    ("graph_api.graph_keys:", "GraphKeys"),
    ("graph_api.modes:", "disable_eager_execution disable_v2_behavior enable_eager_execution executing_eagerly"),
    ("graph_api.scopes:", "AUTO_REUSE VariableScope get_variable get_variable_scope name_scope variable_scope"),
    ("graph_api.session:", "InteractiveSession Session"),
    ("graph_api.tensor:GraphDimension", "Dimension"),
    ("graph_api.tensor:GraphShape", "TensorShape"),
    ("graph_api.tensor:", "Operation Tensor"),
    ("graph_api.variable:", "Variable assign assign_add assign_sub local_variables local_variables_initializer"),
    ("graph_api.variable:", "model_variables moving_average_variables tables_initializer trainable_variables"),
    # ---- random tensors
    ("graph_api.sampling:uniform", "random_uniform random.uniform"),
    ("graph_api.sampling:normal", "random_normal random.normal"),
    ("graph_api.sampling:", "truncated_normal random.truncated_normal"),
    ("graph_api.sampling:gamma", "random_gamma random.gamma"),
    ("graph_api.sampling:poisson", "random_poisson random.poisson"),
    ("graph_api.sampling:", "multinomial random.multinomial random.categorical"),
    ("graph_api.sampling:shuffle", "random_shuffle random.shuffle"),
    ("graph_api.sampling:", "set_random_seed random.set_random_seed nn.dropout"),
    # ---- initial values
    ("graph_api.initial_values:", "initializers.Initializer"),
    ("graph_api.initial_values:zeros_initializer", "zeros_initializer initializers.zeros"),
    ("graph_api.initial_values:ones_initializer", "ones_initializer initializers.ones"),
    ("graph_api.initial_values:constant_initializer", "constant_initializer initializers.constant"),
    ("graph_api.initial_values:identity_initializer", "initializers.identity"),
    ("graph_api.initial_values:random_uniform_initializer", "random_uniform_initializer initializers.random_uniform"),
    ("graph_api.initial_values:random_normal_initializer", "random_normal_initializer initializers.random_normal"),
    (
        "graph_api.initial_values:truncated_normal_initializer",
        "truncated_normal_initializer initializers.truncated_normal",
    ),
    (
        "graph_api.initial_values:variance_scaling_initializer",
        "variance_scaling_initializer initializers.variance_scaling",
    ),
    (
        "graph_api.initial_values:uniform_unit_scaling_initializer",
        "uniform_unit_scaling_initializer initializers.uniform_unit_scaling",
    ),
    ("graph_api.initial_values:glorot_uniform_initializer", "glorot_uniform_initializer initializers.glorot_uniform"),
    ("graph_api.initial_values:glorot_normal_initializer", "glorot_normal_initializer initializers.glorot_normal"),
    ("graph_api.initial_values:he_normal_initializer", "initializers.he_normal"),
    ("graph_api.initial_values:he_uniform_initializer", "initializers.he_uniform"),
    # ---- variables
    (
        "graph_api.variable:global_variables_initializer",
        "global_variables_initializer initialize_all_variables initializers.global_variables",
    ),
    ("graph_api.variable:variables_initializer", "variables_initializer initialize_variables initializers.variables"),
    ("graph_api.variable:global_variables", "global_variables all_variables"),
    ("graph_api.variable:", "is_variable_initialized report_uninitialized_variables"),
    *common.SCATTERS,
    ("dualgrad.frontend.overrides:", "RegisterGradient"),
    # ---- control flow
    ("graph_api.control:", "cond case switch_case while_loop"),
    ("graph_api.scans:", "map_fn scan foldl foldr"),
    ("graph_api.legacy.internal_functions:", "vectorized_map"),
    ("graph_api.tensor_array:", "TensorArray"),
    # ---- training
    ("graph_api.training:", " ".join(f"train.{name}" for name in _TRAIN)),
    ("graph_api.loss_functions:", " ".join(f"losses.{name}" for name in _LOSSES)),
    # ---- Jacobians, and what needs SciPy
    ("graph_api.jacobians:", "batch_jacobian hessian hessian_diag hessians hvp jacobian jacobian_plan jvp vjp"),
    ("graph_api.functions_for_scipy:", "for_ode for_scipy"),
    # ---- why there is no gradient
    ("engine.explain:", "explain"),
    # ---- tests
    ("graph_api.testing:", "test.TestCase test.main"),
    # ---- saving, summaries, records, files
    ("graph_api.saving:", "train.Saver train.SaverDef train.NewCheckpointReader train.CheckpointState"),
    ("graph_api.saving:", "train.checkpoint_exists train.latest_checkpoint train.get_checkpoint_mtimes"),
    ("graph_api.saving:", "train.get_checkpoint_state train.update_checkpoint_state train.remove_checkpoint"),
    ("graph_api.saving:", "train.list_variables train.load_checkpoint train.load_variable"),
    ("graph_api.summaries:", "summary.scalar summary.histogram summary.image summary.audio summary.text"),
    ("graph_api.summaries:", "summary.merge summary.merge_all summary.tensor_summary summary.Event summary.Summary"),
    ("graph_api.summaries:", "summary.FileWriter summary.FileWriterCache summary.SessionLog train.SummaryWriter"),
    ("graph_api.summaries:", "Summary Event train.summary_iterator scalar_summary histogram_summary image_summary"),
    ("graph_api.summaries:", "merge_summary merge_all_summaries"),
    ("dualgrad.files.protos:", "summary.TaggedRunMetadata HistogramProto"),
    ("dualgrad.files.graph_protos:", "GraphDef MetaGraphDef NodeDef AttrValue"),
    ("graph_api.graph_files.importing:", "import_graph_def graph_util.import_graph_def"),
    ("graph_api.graph_files.graph_util:", "graph_util.convert_variables_to_constants graph_util.extract_sub_graph"),
    ("graph_api.graph_files.graph_util:", "graph_util.remove_training_nodes"),
    ("graph_api.graph_files.meta_graphs:", "train.import_meta_graph train.export_meta_graph train.write_graph"),
    ("graph_api.graph_files.meta_graphs:", "io.write_graph register_proto_function"),
    ("dualgrad.files.graph_protos:", "SignatureDef TensorInfo"),
    ("graph_api.graph_files.saved_models:", "saved_model.loader.load saved_model.load saved_model.simple_save"),
    ("graph_api.graph_files.saved_models:", "saved_model.builder.SavedModelBuilder"),
    ("graph_api.graph_files.saved_models:SavedModelBuilder", "saved_model.Builder"),
    ("graph_api.graph_files.saved_models:", "saved_model.loader.maybe_saved_model_directory"),
    ("graph_api.graph_files.saved_models:TagConstants", "saved_model.tag_constants"),
    ("graph_api.graph_files.saved_models:SignatureConstants", "saved_model.signature_constants"),
    ("graph_api.graph_files.saved_models:", "saved_model.utils.build_tensor_info saved_model.build_tensor_info"),
    ("graph_api.graph_files.saved_models:", "saved_model.utils.get_tensor_from_tensor_info"),
    ("graph_api.graph_files.saved_models:", "saved_model.signature_def_utils.build_signature_def"),
    ("graph_api.graph_files.saved_models:", "saved_model.signature_def_utils.predict_signature_def"),
    ("graph_api.graph_files.saved_models:", "saved_model.build_signature_def saved_model.predict_signature_def"),
    ("dualgrad.files.protos:", "train.Example train.Features train.Feature train.FeatureList train.FeatureLists"),
    ("dualgrad.files.protos:", "train.BytesList train.FloatList train.Int64List train.SequenceExample"),
    ("dualgrad.files.records:RecordWriter", "io.TFRecordWriter python_io.TFRecordWriter"),
    # ---- data, queues, coordinators, sessions with hooks
    ("graph_api.data", "data"),
    ("dualgrad.data.parsing:", "parse_single_example parse_example decode_raw"),
    ("dualgrad.data.csv:", "decode_csv"),
    ("dualgrad.data.parsing:", "FixedLenFeature FixedLenSequenceFeature VarLenFeature"),
    ("graph_api.legacy.coordination:", "train.Coordinator train.LooperThread train.QueueRunner train.add_queue_runner"),
    ("graph_api.legacy.coordination:", "train.start_queue_runners"),
    ("graph_api.legacy.queues:", "FIFOQueue PaddingFIFOQueue RandomShuffleQueue QueueBase queue.FIFOQueue"),
    ("graph_api.legacy.queues:", "queue.PaddingFIFOQueue queue.RandomShuffleQueue queue.QueueBase"),
    ("graph_api.legacy.input_producers:", "train.batch train.shuffle_batch train.input_producer train.limit_epochs"),
    ("graph_api.legacy.input_producers:", "train.string_input_producer train.range_input_producer"),
    ("graph_api.legacy.input_producers:", "train.slice_input_producer TextLineReader TFRecordReader WholeFileReader"),
    ("graph_api.legacy.input_producers:", "FixedLengthRecordReader ReaderBase"),
    ("graph_api.legacy.input_producers:", "train.match_filenames_once matching_files io.matching_files"),
    ("graph_api.data:", "TensorSpec"),
    # ---- sparse tensors
    ("graph_api.sparse", "sparse"),
    ("graph_api.sparse:", "SparseTensor SparseTensorValue sparse_to_dense sparse_concat sparse_split"),
    ("graph_api.sparse:placeholder", "sparse_placeholder"),
    ("graph_api.sparse:sparse_dense_matmul", "sparse_tensor_dense_matmul"),
    ("graph_api.sparse:to_dense", "sparse_tensor_to_dense"),
    ("graph_api.sparse:to_indicator", "sparse_to_indicator"),
    *[(f"graph_api.sparse:{name}", f"sparse_{name}") for name in _SPARSE],
    ("graph_api.sparse:", "nn.embedding_lookup_sparse nn.safe_embedding_lookup_sparse"),
    ("graph_api.sparse:", "convert_to_tensor_or_sparse_tensor"),
    ("graph_api.legacy.string_parts:", "string_split strings.split"),
    (
        "graph_api.legacy.ctc:",
        "nn.ctc_loss nn.ctc_loss_v2 nn.ctc_greedy_decoder nn.ctc_beam_search_decoder edit_distance",
    ),
    ("graph_api.legacy.ctc:", "nn.ctc_beam_search_decoder_v2"),
    # ---- layers, cells, keras
    ("graph_api.keras", "keras"),
    ("graph_api.legacy.layers", "layers"),
    ("graph_api.legacy.rnn.cells:", "nn.rnn_cell.BasicLSTMCell nn.rnn_cell.BasicRNNCell nn.rnn_cell.GRUCell"),
    ("graph_api.legacy.rnn.cells:", "nn.rnn_cell.LSTMCell nn.rnn_cell.LSTMStateTuple nn.rnn_cell.RNNCell"),
    ("graph_api.legacy.rnn.wrappers:", "nn.rnn_cell.DeviceWrapper nn.rnn_cell.DropoutWrapper nn.rnn_cell.MultiRNNCell"),
    ("graph_api.legacy.rnn.wrappers:", "nn.rnn_cell.ResidualWrapper"),
    ("graph_api.legacy.rnn.loops:", "nn.dynamic_rnn nn.static_rnn nn.raw_rnn"),
    ("graph_api.legacy.rnn.loops:", "nn.bidirectional_dynamic_rnn nn.static_bidirectional_rnn"),
    ("graph_api.legacy.rnn.cells:", "contrib.rnn.BasicLSTMCell contrib.rnn.BasicRNNCell contrib.rnn.GRUCell"),
    ("graph_api.legacy.rnn.cells:", "contrib.rnn.LSTMCell contrib.rnn.LSTMStateTuple contrib.rnn.RNNCell"),
    ("graph_api.legacy.rnn.cells:", "contrib.rnn.LayerNormBasicLSTMCell"),
    ("graph_api.legacy.rnn.wrappers:", "contrib.rnn.DeviceWrapper contrib.rnn.DropoutWrapper contrib.rnn.MultiRNNCell"),
    ("graph_api.legacy.rnn.wrappers:", "contrib.rnn.ResidualWrapper contrib.rnn.OutputProjectionWrapper"),
    ("graph_api.legacy.rnn.wrappers:", "contrib.rnn.InputProjectionWrapper contrib.rnn.EmbeddingWrapper"),
    ("graph_api.legacy.rnn.loops:", "contrib.rnn.static_rnn contrib.rnn.static_bidirectional_rnn"),
    # ---- contrib
    ("optim.contrib", "contrib.opt"),
    ("graph_api.legacy.seq2seq", "contrib.seq2seq"),
    ("graph_api.legacy.crf", "contrib.crf"),
    (
        "graph_api.legacy.rnn.sequences:",
        "contrib.legacy_seq2seq.sequence_loss_by_example nn.seq2seq.sequence_loss_by_example",
    ),
    ("graph_api.legacy.rnn.sequences:", "contrib.legacy_seq2seq.rnn_decoder nn.seq2seq.rnn_decoder"),
    ("graph_api.legacy.rnn.sequences:", "contrib.legacy_seq2seq.basic_rnn_seq2seq nn.seq2seq.basic_rnn_seq2seq"),
    (
        "graph_api.legacy.rnn.sequences:summed_sequence_loss",
        "contrib.legacy_seq2seq.sequence_loss nn.seq2seq.sequence_loss",
    ),
    ("graph_api.legacy.slim.framework", "contrib.framework"),
    ("graph_api.legacy.slim.layers", "contrib.layers"),
    ("graph_api.legacy.slim", "contrib.slim"),
    ("graph_api.eager_calls:", "py_function"),
    ("graph_api.flow:py_func", "numpy_function"),
    ("graph_api.legacy.recompute:", "recompute_grad"),
    ("graph_api.legacy.conversions:", "register_tensor_conversion_function"),
    ("graph_api.legacy.template:", "make_template"),
    ("graph_api.run_options:", "ConfigProto GPUOptions RunMetadata RunOptions"),
    # ---- images, metrics, losses, sparse tensors, strings, logging, files
    *common.BOTH,
    *common.VERSION1,
    ("dualgrad.extras.image_draws:random_crop", "random_crop"),
    # ---- flags, programs' mains, files, devices
    ("graph_api.legacy.hooks:", "train.CheckpointSaverHook train.FeedFnHook train.FinalOpsHook"),
    ("graph_api.legacy.hooks:", "train.LoggingTensorHook train.NanLossDuringTrainingError train.NanTensorHook"),
    ("graph_api.legacy.hooks:", "train.SecondOrStepTimer train.SessionRunArgs train.SessionRunContext"),
    ("graph_api.legacy.hooks:", "train.SessionRunHook train.SessionRunValues train.StepCounterHook"),
    ("graph_api.legacy.hooks:", "train.StopAtStepHook train.SummarySaverHook train.CheckpointSaverListener"),
    ("graph_api.legacy.supervisor:", "train.Supervisor"),
    ("graph_api.legacy.monitored:", "train.ChiefSessionCreator train.MonitoredSession train.MonitoredTrainingSession"),
    ("graph_api.legacy.monitored:", "train.Scaffold train.SingularMonitoredSession"),
    ("graph_api.assertions:", "assert_positive debugging.assert_positive assert_negative debugging.assert_negative"),
    (
        "graph_api.assertions:",
        "assert_non_negative debugging.assert_non_negative assert_non_positive debugging.assert_non_positive",
    ),
    ("graph_api.assertions:", "assert_none_equal debugging.assert_none_equal assert_near debugging.assert_near"),
    ("graph_api.assertions:", "assert_rank debugging.assert_rank assert_rank_at_least debugging.assert_rank_at_least"),
    ("graph_api.assertions:", "assert_scalar debugging.assert_scalar assert_type debugging.assert_type"),
    ("graph_api.assertions:", "assert_integer debugging.assert_integer is_numeric_tensor debugging.is_numeric_tensor"),
    ("graph_api.assertions:", "is_tensor assert_rank_in debugging.assert_rank_in debugging.assert_shapes"),
    ("graph_api.flow:", "debugging.Assert"),
    ("graph_api.numerics:", "check_numerics debugging.check_numerics add_check_numerics_ops verify_tensor_all_finite"),
    ("graph_api.numerics:", "debugging.assert_all_finite"),
    ("graph_api.legacy.metrics", "metrics"),
    ("graph_api.legacy.contrib_metrics", "contrib.metrics"),
    ("graph_api.legacy.distributions", "distributions contrib.distributions"),
    ("graph_api.legacy.distributions.bijectors", "contrib.distributions.bijectors"),
    ("graph_api.legacy.sampled_losses:", "nn.nce_loss nn.sampled_softmax_loss"),
    ("graph_api.legacy.sampled_losses:", " ".join(f"nn.{n} random.{n}" for n in common.SAMPLERS)),
    *files.VERSION1,
    *files.BOTH,
)
