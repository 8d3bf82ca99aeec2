"""The modules that TensorFlow is made of, as far as programs import them, and where their names are looked for.

A program that imports one of these gets it, whether there is anything in it or not: many are imported and hardly used.
A name in it that is missing says so when it is asked for.
"""

from __future__ import annotations

from functools import cache

_ROWS = """
compiler.tests | dualgrad.migrate.internal_test_util: test | xla_test
compiler.xla | | xla_data_pb2
contrib | contrib.* | all_reduce autograph batching bayesflow bigtable boosted_trees checkpoint cloud cluster_resolver
 compiler constrained_optimization copy_graph crf cudnn_rnn data decision_trees deprecated distribute distributions
 eager estimator factorization feature_column ffmpeg framework fused_conv graph_editor grid_rnn hooks ignite image
 input_pipeline integrate kafka keras kernel_methods kinesis labeled_tensor layers learn legacy_seq2seq
 linear_optimizer lite lookup losses memory_stats metrics mixed_precision model_pruning nccl ndlstm nearest_neighbor nn
 opt optimizer_v2 periodic_resample predictor proto quantization quantize receptive_field recurrent reduce_slice_ops
 resampler rnn rpc saved_model seq2seq session_bundle signal slim solvers sparsemax specs staging stat_summarizer
 stateless summary tensor_forest tensorboard tensorrt testing text tfprof timeseries tpu training util
contrib.data.python.ops | contrib.data | batching grouping interleave_ops readers shuffle_ops sliding threadpool
contrib.eager.python | contrib.eager | tfe
contrib.framework.python | contrib.framework | ops
contrib.framework.python.framework | contrib.framework | checkpoint_utils tensor_util
contrib.framework.python.ops | contrib.framework | arg_scope checkpoint_ops ops variables
contrib.image.python.ops | contrib.image | dense_image_warp distort_image_ops image_ops interpolate_spline
contrib.layers.python | contrib.layers | layers
contrib.layers.python.layers | contrib.layers | embedding_ops encoders feature_column initializers layers normalization
 optimizers regularizers rev_block_lib summaries target_column utils
contrib.learn.python.learn.datasets | contrib.learn.datasets.mnist | mnist
contrib.legacy_seq2seq.python.ops | contrib.legacy_seq2seq | seq2seq
contrib.losses.python.losses | contrib.losses | loss_ops
contrib.losses.python.metric_learning | contrib.losses | metric_loss_ops
contrib.metrics.python.ops | contrib.metrics | confusion_matrix_ops histogram_ops metric_ops set_ops
contrib.opt.python.training | contrib.opt | adamax elastic_average_optimizer external_optimizer ggt lars_optimizer
 lazy_adam_optimizer moving_average_optimizer nadam_optimizer shampoo variable_clipping_optimizer
 weight_decay_optimizers
contrib.rnn.python.ops | contrib.rnn | core_rnn_cell_impl fused_rnn_cell gru_ops lstm_ops rnn
contrib.rnn.python.ops | contrib.rnn nn | core_rnn
contrib.rnn.python.ops | contrib.rnn nn.rnn_cell | core_rnn_cell rnn_cell
contrib.seq2seq.python.ops | contrib.seq2seq | attention_wrapper basic_decoder beam_search_decoder beam_search_ops
 decoder helper loss sampler
contrib.slim.python.slim | | learning
contrib.slim.python.slim | contrib.slim | evaluation model_analyzer summaries
contrib.slim.python.slim.data | contrib.slim | data_provider dataset dataset_data_provider parallel_reader
 tfexample_decoder
contrib.slim.python.slim.data | graph_api.legacy.slim.data_decoder: | data_decoder
contrib.slim.python.slim.nets | contrib.slim | alexnet inception overfeat resnet_utils resnet_v1 resnet_v2 vgg
contrib.tensorboard.plugins | | projector
contrib.tpu.python.tpu | contrib.tpu | device_assignment tpu_config tpu_estimator tpu_function tpu_optimizer
contrib.training.python.training | contrib.training | evaluation hparam sampling_ops training
core.example | train | example_pb2 feature_pb2
core.framework | . summary dualgrad.files.protos: | attr_value_pb2 cost_graph_pb2 function_pb2 graph_pb2 node_def_pb2
 op_def_pb2 step_stats_pb2 summary_pb2 tensor_pb2 tensor_shape_pb2 types_pb2 variable_pb2 versions_pb2
core.protobuf | . train dualgrad.files.protos: | cluster_pb2 config_pb2 meta_graph_pb2 queue_runner_pb2 saved_model_pb2
 saver_pb2 struct_pb2 tensorflow_server_pb2
core.protobuf | dualgrad.frontend.session_options: | rewriter_config_pb2
core.protobuf.tpu | | topology_pb2
core.util | . summary | event_pb2
python | | autograph client compat data debug distribute eager estimator feature_column framework keras layers lib ops
 platform profiler saved_model summary tools tpu training user_ops util
python | dualgrad.migrate.internal_tools: | tf2
python | train | pywrap_tensorflow
python.autograph.core | autograph.experimental autograph | ag_ctx config config_lib converter converter_testing
 function_wrappers unsupported_features_checker
python.autograph.impl | autograph.experimental autograph | api
python.autograph.lang | autograph.experimental autograph | directives special_functions
python.checkpoint | train . saved_model | async_checkpoint_helper checkpoint checkpoint_adapter checkpoint_context
 checkpoint_management checkpoint_options checkpoint_view functional_saver graph_view restore save_util save_util_v1
 saveable_compat tensor_callable trackable_view util
python.client | dualgrad.migrate.internal_tools: | timeline
python.client | dualgrad.migrate.internal_tools: . | client_lib pywrap_tf_session
python.client | graph_api.legacy.conversions: . | session
python.client | graph_api.legacy.internal_functions: . | device_lib
python.data | data | experimental ops util
python.data.kernel_tests | test | checkpoint_test_base test_base tf_record_test_base
python.data.ops | data | dataset_ops iterator_ops optional_ops readers
python.data.ops | data . data.experimental | batch_op cache_op choose_from_datasets_op concatenate_op counter_op
 dataset_autograph debug_mode directed_interleave_op filter_op flat_map_op from_generator_op
 from_sparse_tensor_slices_op from_tensor_slices_op from_tensors_op group_by_window_op ignore_errors_op interleave_op
 iterator_autograph load_op map_op multi_device_iterator_ops options padded_batch_op prefetch_op ragged_batch_op
 random_op range_op rebatch_op repeat_op sample_from_datasets_op save_op scan_op shard_op shuffle_op skip_op
 snapshot_op sparse_batch_op structured_function take_op take_while_op test_mode unbatch_op unique_op window_op zip_op
python.data.util | . data | convert options random_seed sparse structure
python.data.util | nest | nest
python.debug | | lib wrappers
python.debug.lib | | debug_data
python.debug.wrappers | | hooks local_cli_wrapper
python.distribute | distribute | cross_device_ops distribute_lib distribution_strategy_context reduce_util
 summary_op_util values
python.eager | . | def_function function monitoring profiler tape wrap_function
python.eager | . tape_api.legacy.contrib_eager: | backprop
python.eager | dualgrad.migrate.internal_test_util: . config | context
python.eager | dualgrad.migrate.internal_test_util: . test autodiff | backprop_util benchmarks_test_base cancellation
 core execute executor forwardprop forwardprop_util graph_only_ops imperative_grad lift_to_graph record remote test
python.eager.polymorphic_function | . tape_api.functions.concrete: | atomic_function attributes autograph_util
 compiler_ir composite_tensor_utils concrete_function eager_function_run function_context function_type_utils
 polymorphic_function saved_model_exported_concrete saved_model_utils tf_method_target tracing_compilation transform
python.estimator | dualgrad.migrate.internal_tools: estimator | estimator export inputs model_fn run_config training
 util
python.estimator.canned | | head optimizers prediction_keys
python.feature_column | | feature_column feature_column_lib feature_column_v2
python.framework | . | constant_op indexed_slices sparse_tensor tensor tensor_conversion tensor_spec
python.framework | . contrib.util dualgrad.migrate.internal_framework: | tensor_util
python.framework | . dtypes | dtypes
python.framework | . dualgrad.migrate.internal_framework: | ops tensor_shape
python.framework | . errors graph_util dualgrad.migrate.internal_tools: | composite_tensor device device_spec
 error_interpolation framework_lib func_graph graph_util_impl load_library op_def_library op_def_registry tensor_like
 type_spec versions
python.framework | . graph_util | importer
python.framework | dualgrad.migrate.internal_framework: . random | random_seed
python.framework | dualgrad.migrate.internal_framework: config graph_util . test experimental
 dualgrad.migrate.internal_tools: | auto_control_deps auto_control_deps_utils byte_swap_tensor c_api_util combinations
 composite_tensor_gradient config constant_tensor_conversion convert_to_constants cpp_shape_inference_pb2
 extension_type extension_type_field flexible_dtypes function_def_to_graph gpu_util graph_to_function_def
 immutable_dict kernels memory_checker none_tensor op_callbacks op_def_library_pybind override_binary_operator
 python_memory_checker registry stack strict_mode subscribe test_combinations test_ops tfrt_utils traceable_stack
 type_spec_registry type_utils weak_tensor
python.framework | dualgrad.migrate.internal_test_util: test | test_util
python.framework | errors | errors errors_impl
python.framework | graph_api.legacy.conversions: . | tensor_conversion_registry
python.framework | graph_api.legacy.internal_functions: | common_shapes
python.framework | graph_api.legacy.internal_functions: . | function smart_cond
python.framework | graph_util | graph_util
python.framework | train | graph_io meta_graph
python.keras | keras | activations applications constraints engine estimator metrics mixed_precision optimizer_v2
 preprocessing saving
python.keras | keras.* | backend callbacks initializers layers losses optimizers regularizers utils
python.keras | keras.models keras | models
python.keras.datasets | keras.datasets.mnist | mnist
python.keras.engine | keras keras.layers keras.models | base_layer base_layer_utils input_layer input_spec network node
 sequential training training_utils
python.keras.layers | keras.layers | advanced_activations convolutional convolutional_recurrent core cudnn_recurrent
 embeddings local merge noise normalization pooling recurrent serialization wrappers
python.keras.optimizer_v2 | keras.optimizers | adadelta adagrad adam adamax ftrl gradient_descent
 learning_rate_schedule nadam optimizer_v2 rmsprop
python.keras.preprocessing | keras.preprocessing | sequence text
python.keras.preprocessing | keras.preprocessing.image | image
python.keras.saving | keras.models | hdf5_format save
python.keras.utils | keras.utils keras.losses | conv_utils data_utils generic_utils io_utils layer_utils losses_utils
 metrics_utils np_utils tf_utils vis_utils
python.layers | graph_api.legacy.internal_functions: layers | utils
python.layers | graph_api.legacy.internal_layers: layers | convolutional core normalization pooling
python.layers | layers | base layers
python.lib.io | io python_io | tf_record
python.lib.io | io.gfile gfile | file_io
python.module | . | module
python.ops | . | array_ops_stack clip_ops cond control_flow_case control_flow_ops custom_gradient data_flow_ops
 functional_ops gen_state_ops gradients gradients_impl gradients_util histogram_ops map_fn partitioned_variables
 resource_variable_ops script_ops sort_ops state_ops tensor_array_ops variable_v1 while_loop
python.ops | . debugging | check_ops control_flow_assert
python.ops | . graph_api.legacy.internal_functions: math nn linalg image random train lookup | autograph_ops batch_ops
 boosted_trees_ops collective_ops composite_tensor_ops cond_v2 control_flow_grad control_flow_state
 control_flow_switch_case control_flow_v2_func_graphs cudnn_rnn_grad data_flow_grad default_gradient filesystem_ops
 gen_checkpoint_ops gen_collective_ops gen_composite_tensor_ops gen_count_ops gen_debug_ops gen_decode_proto_ops
 gen_encode_proto_ops gen_experimental_dataset_ops gen_filesystem_ops gen_functional_ops gen_map_ops gen_optional_ops
 gen_ragged_array_ops gen_ragged_conversion_ops gen_ragged_math_ops gen_random_index_shuffle_ops gen_sendrecv_ops
 gen_special_math_ops gen_stateful_random_ops gen_stateless_random_ops_v2 gen_sync_ops gen_tpu_ops
 gen_tpu_partition_ops gen_training_ops gen_uniform_quant_ops handle_data_util image_grad_test_base linalg_ops_impl
 lookup_grad manip_grad map_ops nn_fused_batch_norm_grad nn_impl_distribute optional_grad parsing_config parsing_grad
 random_crop_ops random_ops_util ref_variable resource_variables_toggle rnn_grad shape_util stateless_random_ops_v2
 tensor_array_grad tensor_getitem_override tensor_math_operator_overrides weak_tensor_ops weak_tensor_test_util
 while_v2_indexed_slices_rewriter
python.ops | . initializers | init_ops init_ops_v2
python.ops | . linalg | gen_linalg_ops linalg_ops
python.ops | . math | math_ops
python.ops | . math linalg | standard_ops
python.ops | . math nn linalg | candidate_sampling_ops clustering_ops control_flow_util control_flow_util_v2
 control_flow_v2_toggles critical_section_ops distributions gen_audio_ops gen_batch_ops gen_bitwise_ops
 gen_boosted_trees_ops gen_candidate_sampling_ops gen_clustering_ops gen_control_flow_ops gen_ctc_ops gen_cudnn_rnn_ops
 gen_data_flow_ops gen_dataset_ops gen_image_ops gen_io_ops gen_list_ops gen_logging_ops gen_lookup_ops gen_manip_ops
 gen_nccl_ops gen_parsing_ops gen_random_ops gen_resource_variable_ops gen_rnn_ops gen_script_ops gen_sdca_ops
 gen_set_ops gen_sparse_ops gen_spectral_ops gen_stateless_random_ops gen_string_ops gen_summary_ops image_grad
 inplace_ops io_ops linalg linalg_grad list_ops lookup_ops losses manip_ops nccl_ops numerics op_selector parsing_ops
 proto_ops ragged random_grad resources sdca_ops session_ops sets sets_impl signal sparse_grad state_grad
 stateful_random_ops summary_op_util summary_ops_v2 template unconnected_gradients weights_broadcast_ops while_v2
python.ops | . random | random_ops
python.ops | . summary | logging_ops
python.ops | bitwise | bitwise_ops
python.ops | dualgrad.migrate.internal_gradient_checker: | gradient_checker_v2
python.ops | graph_api.legacy.internal_functions: . | gen_array_ops parallel_for variable_scope variables
python.ops | graph_api.legacy.internal_functions: . sparse | array_ops
python.ops | graph_api.legacy.internal_functions: math . | confusion_matrix
python.ops | graph_api.legacy.internal_functions: metrics | metrics
python.ops | graph_api.legacy.internal_functions: metrics . | metrics_impl
python.ops | graph_api.legacy.kernel_gradients: . math | gen_math_ops
python.ops | graph_api.legacy.kernel_gradients: nn . | gen_nn_ops
python.ops | graph_api.legacy.registered_gradients: | array_grad math_grad nn_grad
python.ops | image | image_ops image_ops_impl
python.ops | initializers | initializers_ns
python.ops | math | bincount_ops
python.ops | math . | special_math_ops
python.ops | nn | ctc_ops embedding_ops nn nn_impl rnn
python.ops | nn . | nn_ops
python.ops | nn.rnn_cell | rnn_cell
python.ops | nn.rnn_cell contrib.rnn | rnn_cell_impl
python.ops | nn.seq2seq | seq2seq
python.ops | random | stateless_random_ops
python.ops | sparse . | sparse_ops
python.ops | strings . | string_ops
python.ops | test | gradient_checker
python.ops.distributions | distributions | bernoulli beta bijector bijector_impl categorical dirichlet
 dirichlet_multinomial distribution distributions exponential gamma identity_bijector kullback_leibler laplace
 multinomial normal special_math student_t transformed_distribution uniform util
python.ops.linalg | linalg | linalg linalg_impl linear_operator linear_operator_addition linear_operator_adjoint
 linear_operator_algebra linear_operator_block_diag linear_operator_block_lower_triangular linear_operator_circulant
 linear_operator_composition linear_operator_diag linear_operator_full_matrix linear_operator_householder
 linear_operator_identity linear_operator_inversion linear_operator_kronecker linear_operator_low_rank_update
 linear_operator_lower_triangular linear_operator_permutation linear_operator_test_util linear_operator_toeplitz
 linear_operator_tridiag linear_operator_util linear_operator_zeros property_hint_util slicing
python.ops.linalg.sparse | sparse | sparse_csr_matrix_grad sparse_csr_matrix_ops
python.ops.losses | losses | loss_reduction losses losses_impl util
python.ops.numpy_ops | experimental.numpy experimental.numpy.random | np_array_ops np_arrays np_config np_dtypes
 np_math_ops np_random np_utils
python.ops.parallel_for | . | gradients
python.ops.parallel_for | graph_api.legacy.internal_functions: . | control_flow_ops
python.ops.parallel_for | graph_api.legacy.internal_functions: . test | pfor test_util
python.ops.ragged | ragged . strings math nn | dynamic_ragged_shape ragged_array_ops ragged_autograph
 ragged_batch_gather_ops ragged_batch_gather_with_default_op ragged_bincount_ops ragged_check_ops ragged_concat_ops
 ragged_config ragged_conversion_ops ragged_dispatch ragged_embedding_ops ragged_factory_ops ragged_functional_ops
 ragged_gather_ops ragged_getitem ragged_image_ops ragged_map_ops ragged_math_ops ragged_operators ragged_ops
 ragged_squeeze_op ragged_string_ops ragged_tensor ragged_tensor_shape ragged_tensor_test_ops ragged_tensor_value
 ragged_util ragged_where_op row_partition segment_id_ops
python.ops.signal | signal | dct_ops fft_ops mel_ops mfcc_ops reconstruction_ops shape_ops signal spectral_ops util_ops
 window_ops
python.platform | app | app
python.platform | flags app.flags | flags
python.platform | gfile | gfile
python.platform | logging | tf_logging
python.platform | test | analytics benchmark build_info device_context googletest remote_utils resource_loader
 self_check sysconfig test
python.profiler | | model_analyzer option_builder profiler profiler_client profiler_v2 tfprof_logger trace
python.saved_model | saved_model | fingerprinting fingerprinting_utils function_deserialization function_serialization
 load_options load_v1_in_v2 method_name_updater path_helpers revived_types save_context save_options
 signature_serialization tracing_utils
python.saved_model | saved_model saved_model.utils saved_model.signature_def_utils | builder builder_impl constants
 load loader loader_impl main_op main_op_impl nested_structure_coder save saved_model signature_constants
 signature_def_utils signature_def_utils_impl simple_save tag_constants utils utils_impl
python.summary | summary | summary
python.summary | summary train | plugin_asset summary_iterator
python.summary.writer | summary | event_file_writer writer writer_cache
python.tools | graph_util | freeze_graph inspect_checkpoint optimize_for_inference_lib saved_model_utils
 strip_unused_lib
python.tpu | | bfloat16 device_assignment topology tpu tpu_config tpu_estimator tpu_function tpu_optimizer
python.tpu.ops | | tpu_ops
python.trackable | . train saved_model | asset autotrackable base base_delegate constants converter data_structures
 layer_utils python_state resource trackable_utils
python.training | graph_api.legacy.internal_functions: . | slot_creator
python.training | train | adadelta adagrad adagrad_da adam basic_loops basic_session_run_hooks checkpoint_management
 checkpoint_ops checkpoint_state_pb2 checkpoint_utils checkpointable coordinator device_setter distribute evaluation
 experimental ftrl gradient_descent input learning_rate_decay momentum monitored_session optimizer py_checkpoint_reader
 quantize_training queue_runner queue_runner_impl rmsprop saver saver_test_utils server_lib session_manager
 session_run_hook summary_io supervisor sync_replicas_optimizer tracking training training_ops training_util
 warm_starting_util
python.training | train graph_api.legacy.moving_averages: | moving_averages
python.training.checkpointable | train | base data_structures tracking util
python.training.tracking | train | base data_structures graph_view tracking util
python.types | | core
python.util | dualgrad.migrate.internal_tools: . experimental nest | custom_nest_protocol decorator_utils
 deprecated_module deprecated_module_new dispatch example_parser_configuration keras_deps lock_util nest_util
 numpy_compat tf_decorator_export traceback_utils type_annotations variable_utils
python.util | dualgrad.migrate.internal_tools: compat | all_util compat deprecation deprecation_wrapper function_utils
 is_in_graph_mode keyword_args lazy_loader module_wrapper object_identity serialization tf_contextlib tf_decorator
 tf_export tf_inspect tf_should_use tf_stack
python.util | nest dualgrad.migrate.internal_framework: | nest
"""
"""A folder, the parts of the API in which names are looked for, in this order, and the modules in the folder.

``.`` stands for the top of the API, ``*`` for the module's own name, ``module:`` for what only TensorFlow's own modules
have.
"""


@cache
def modules() -> dict[str, str]:
    """The parts of the API for each of these modules."""
    rows: dict[str, str] = {}
    for row in _ROWS.replace("\n ", " ").strip().split("\n"):
        folder, parts, names = row.split("|")
        rows |= {f"{folder.strip()}.{name}": parts.strip().replace("*", name) for name in names.split()}
    return rows
