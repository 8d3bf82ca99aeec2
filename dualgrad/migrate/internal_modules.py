"""The modules that TensorFlow is made of, as far as programs import them, and where their names are looked for.

A program that imports one of these gets it, whether there is anything in it or not: many are imported and hardly used.
A name in it that is missing says so when it is asked for.
"""

from __future__ import annotations

from functools import cache

_PARTS = (
    "all_reduce autograph batching bayesflow bigtable boosted_trees checkpoint cloud cluster_resolver compiler "
    "constrained_optimization copy_graph crf cudnn_rnn data decision_trees deprecated distribute distributions "
    "eager estimator factorization feature_column ffmpeg framework fused_conv graph_editor grid_rnn hooks ignite "
    "image input_pipeline integrate kafka keras kernel_methods kinesis labeled_tensor layers learn legacy_seq2seq "
    "linear_optimizer lite lookup losses memory_stats metrics mixed_precision model_pruning nccl ndlstm "
    "nearest_neighbor nn opt optimizer_v2 periodic_resample predictor proto quantization quantize receptive_field "
    "recurrent reduce_slice_ops resampler rnn rpc saved_model seq2seq session_bundle signal slim solvers "
    "sparsemax specs staging stat_summarizer stateless summary tensor_forest tensorboard tensorrt testing text "
    "tfprof timeseries tpu training util"
)
"""The parts of ``tf.contrib``."""
_KERNELS = (
    "array audio batch bitwise boosted_trees candidate_sampling clustering control_flow ctc cudnn_rnn data_flow "
    "dataset image io linalg list logging lookup manip math nccl nn parsing random resource_variable rnn script "
    "sdca set sparse spectral state stateless_random string summary"
)
_FOLDERS: dict[str, tuple[str, str]] = {
    "contrib.tensorboard.plugins": ("", "projector"),
    "core.example": ("train", "example_pb2 feature_pb2"),
    "core.framework": (
        ". summary dualgrad.files.protos:",
        (
            "attr_value_pb2 cost_graph_pb2 function_pb2 graph_pb2 node_def_pb2 op_def_pb2 step_stats_pb2 "
            "summary_pb2 tensor_pb2 tensor_shape_pb2 types_pb2 variable_pb2 versions_pb2"
        ),
    ),
    "core.protobuf": (
        ". train dualgrad.files.protos:",
        (
            "cluster_pb2 config_pb2 meta_graph_pb2 queue_runner_pb2 rewriter_config_pb2 saved_model_pb2 "
            "saver_pb2 struct_pb2 tensorflow_server_pb2"
        ),
    ),
    "core.protobuf.tpu": ("", "topology_pb2"),
    "core.util": (". summary", "event_pb2"),
    "python": (
        "",
        (
            "autograph client compat data debug distribute eager estimator feature_column framework keras "
            "layers lib ops platform profiler saved_model summary tools tpu training user_ops util"
        ),
    ),
    "python.autograph.impl": ("autograph.experimental autograph", "api"),
    "python.client": ("dualgrad.migrate.internal_tools:", "session timeline"),
    "python.data": ("data", "experimental ops util"),
    "python.data.ops": ("data", "dataset_ops iterator_ops optional_ops readers"),
    "python.data.util": (". data", "convert options random_seed sparse structure"),
    "python.distribute": (
        "distribute",
        "cross_device_ops distribute_lib distribution_strategy_context reduce_util summary_op_util values",
    ),
    "python.eager": (".", "backprop context def_function function monitoring profiler tape wrap_function"),
    "python.estimator": (
        "dualgrad.migrate.internal_tools: estimator",
        "estimator export inputs model_fn run_config training util",
    ),
    "python.feature_column": ("", "feature_column feature_column_lib feature_column_v2"),
    "python.framework": (
        ". errors graph_util dualgrad.migrate.internal_tools:",
        (
            "common_shapes composite_tensor device device_spec error_interpolation framework_lib func_graph "
            "graph_util_impl load_library op_def_library op_def_registry smart_cond tensor_like type_spec "
            "versions"
        ),
    ),
    "python.keras": (
        "keras",
        (
            "activations applications constraints engine estimator layers metrics mixed_precision "
            "optimizer_v2 preprocessing saving utils"
        ),
    ),
    "python.keras.engine": (
        "keras keras.layers keras.models",
        ("base_layer base_layer_utils input_layer input_spec network node sequential training training_utils"),
    ),
    "python.keras.layers": (
        "keras.layers",
        (
            "advanced_activations convolutional convolutional_recurrent core cudnn_recurrent embeddings local "
            "merge noise normalization pooling recurrent serialization wrappers"
        ),
    ),
    "python.keras.optimizer_v2": (
        "keras.optimizers",
        ("adadelta adagrad adam adamax ftrl gradient_descent learning_rate_schedule nadam optimizer_v2 rmsprop"),
    ),
    "python.keras.preprocessing": ("keras.preprocessing", "image sequence text"),
    "python.keras.saving": ("keras.models", "hdf5_format save"),
    "python.keras.utils": (
        "keras.utils keras.losses",
        (
            "conv_utils data_utils generic_utils io_utils layer_utils losses_utils metrics_utils np_utils "
            "tf_utils vis_utils"
        ),
    ),
    "python.ops": (
        ". math nn linalg",
        (
            " ".join(f"gen_{name}_ops" for name in _KERNELS.split())
            + " "
            + "candidate_sampling_ops clustering_ops control_flow_util control_flow_util_v2 "
            "control_flow_v2_toggles critical_section_ops distributions image_grad inplace_ops io_ops "
            "linalg linalg_grad list_ops lookup_ops losses manip_ops metrics_impl nccl_ops numerics "
            "op_selector parallel_for parsing_ops proto_ops ragged random_grad resources sdca_ops "
            "session_ops sets sets_impl signal sparse_grad state_grad stateful_random_ops summary_op_util "
            "summary_ops_v2 template unconnected_gradients weights_broadcast_ops while_v2"
        ),
    ),
    "python.ops.distributions": (
        "distributions",
        (
            "bernoulli beta bijector bijector_impl categorical dirichlet dirichlet_multinomial distribution "
            "distributions exponential gamma identity_bijector kullback_leibler laplace multinomial "
            "special_math student_t transformed_distribution uniform"
        ),
    ),
    "python.ops.linalg": (
        "linalg",
        (
            "linear_operator_addition linear_operator_adjoint linear_operator_algebra "
            "linear_operator_householder linear_operator_inversion linear_operator_toeplitz "
            "linear_operator_util linear_operator_zeros"
        ),
    ),
    "python.ops.losses": ("losses", "loss_reduction"),
    "python.ops.signal": ("signal", "mel_ops mfcc_ops reconstruction_ops shape_ops signal util_ops"),
    "python.platform": ("test", "benchmark build_info resource_loader sysconfig"),
    "python.profiler": ("", "model_analyzer option_builder profiler tfprof_logger"),
    "python.saved_model": (
        "saved_model saved_model.utils saved_model.signature_def_utils",
        (
            "builder builder_impl constants load loader loader_impl main_op main_op_impl "
            "nested_structure_coder save saved_model signature_constants signature_def_utils "
            "signature_def_utils_impl simple_save tag_constants utils utils_impl"
        ),
    ),
    "python.summary": ("summary train", "plugin_asset summary_iterator"),
    "python.summary.writer": ("summary", "event_file_writer writer writer_cache"),
    "python.tools": (
        "graph_util",
        "freeze_graph inspect_checkpoint optimize_for_inference_lib saved_model_utils strip_unused_lib",
    ),
    "python.debug": ("", "lib wrappers"),
    "python.debug.lib": ("", "debug_data"),
    "python.debug.wrappers": ("", "hooks local_cli_wrapper"),
    "python.estimator.canned": ("", "head optimizers prediction_keys"),
    "python.tpu.ops": ("", "tpu_ops"),
    "python.types": ("", "core"),
    "python.tpu": ("", "bfloat16 device_assignment topology tpu tpu_config tpu_estimator tpu_function tpu_optimizer"),
    "python.training": (
        "train",
        (
            "checkpoint_management checkpoint_ops checkpointable device_setter distribute evaluation "
            "experimental queue_runner_impl server_lib session_manager summary_io sync_replicas_optimizer "
            "tracking warm_starting_util"
        ),
    ),
    "python.training.tracking": ("train", "base data_structures graph_view tracking util"),
    "python.training.checkpointable": ("train", "base data_structures tracking"),
    "python.util": (
        "dualgrad.migrate.internal_tools: compat",
        (
            "all_util compat deprecation deprecation_wrapper function_utils is_in_graph_mode keyword_args "
            "lazy_loader module_wrapper object_identity serialization tf_contextlib tf_decorator tf_export "
            "tf_inspect tf_should_use tf_stack"
        ),
    ),
}
"""By folder: the parts of the API where the names of its modules are looked for, as in `INTERNALS`, and the modules."""
_LATER: dict[str, tuple[str, str]] = {
    "compiler.tests": ("dualgrad.migrate.internal_test_util: test", "xla_test"),
    "compiler.xla": ("", "xla_data_pb2"),
    "python.autograph.core": (
        "autograph.experimental autograph",
        "ag_ctx config config_lib converter converter_testing function_wrappers unsupported_features_checker",
    ),
    "python.autograph.lang": ("autograph.experimental autograph", "directives special_functions"),
    "python.checkpoint": (
        "train . saved_model",
        (
            "async_checkpoint_helper checkpoint checkpoint_adapter checkpoint_context checkpoint_management "
            "checkpoint_options checkpoint_view functional_saver graph_view restore save_util save_util_v1 "
            "saveable_compat tensor_callable trackable_view util"
        ),
    ),
    "python.client": ("dualgrad.migrate.internal_tools: .", "client_lib pywrap_tf_session"),
    "python.data.ops": (
        "data . data.experimental",
        (
            "batch_op cache_op choose_from_datasets_op concatenate_op counter_op dataset_autograph debug_mode "
            "directed_interleave_op filter_op flat_map_op from_generator_op from_sparse_tensor_slices_op "
            "from_tensor_slices_op from_tensors_op group_by_window_op ignore_errors_op interleave_op "
            "iterator_autograph load_op map_op multi_device_iterator_ops options padded_batch_op prefetch_op "
            "ragged_batch_op random_op range_op rebatch_op repeat_op sample_from_datasets_op save_op scan_op "
            "shard_op shuffle_op skip_op snapshot_op sparse_batch_op structured_function take_op take_while_op "
            "test_mode unbatch_op unique_op window_op zip_op"
        ),
    ),
    "python.data.kernel_tests": ("test", "checkpoint_test_base test_base tf_record_test_base"),
    "python.eager": (
        "dualgrad.migrate.internal_test_util: . test autodiff",
        (
            "backprop_util benchmarks_test_base cancellation core execute executor forwardprop forwardprop_util "
            "graph_only_ops imperative_grad lift_to_graph record remote test"
        ),
    ),
    "python.eager.polymorphic_function": (
        ". types.experimental",
        (
            "atomic_function attributes autograph_util compiler_ir composite_tensor_utils concrete_function "
            "eager_function_run function_context function_type_utils polymorphic_function "
            "saved_model_exported_concrete saved_model_utils tf_method_target tracing_compilation transform"
        ),
    ),
    "python.framework": (
        "dualgrad.migrate.internal_framework: config graph_util . test experimental dualgrad.migrate.internal_tools:",
        (
            "auto_control_deps auto_control_deps_utils byte_swap_tensor c_api_util combinations "
            "composite_tensor_gradient config constant_tensor_conversion convert_to_constants "
            "cpp_shape_inference_pb2 extension_type extension_type_field flexible_dtypes function_def_to_graph "
            "gpu_util graph_to_function_def immutable_dict kernels memory_checker none_tensor op_callbacks "
            "op_def_library_pybind override_binary_operator python_memory_checker registry stack strict_mode "
            "subscribe test_combinations test_ops tfrt_utils traceable_stack type_spec_registry type_utils "
            "weak_tensor"
        ),
    ),
    "python.module": (".", "module"),
    "python.ops": (
        ". graph_api.legacy.internal_functions: math nn linalg image random train lookup",
        (
            "autograph_ops batch_ops boosted_trees_ops collective_ops composite_tensor_ops cond_v2 "
            "control_flow_grad control_flow_state control_flow_switch_case control_flow_v2_func_graphs "
            "cudnn_rnn_grad data_flow_grad default_gradient filesystem_ops gen_checkpoint_ops "
            "gen_collective_ops gen_composite_tensor_ops gen_count_ops gen_debug_ops gen_decode_proto_ops "
            "gen_encode_proto_ops gen_experimental_dataset_ops gen_filesystem_ops gen_functional_ops "
            "gen_map_ops gen_optional_ops gen_ragged_array_ops gen_ragged_conversion_ops gen_ragged_math_ops "
            "gen_random_index_shuffle_ops gen_sendrecv_ops gen_special_math_ops gen_stateful_random_ops "
            "gen_stateless_random_ops_v2 gen_sync_ops gen_tpu_ops gen_tpu_partition_ops gen_training_ops "
            "gen_uniform_quant_ops handle_data_util image_grad_test_base linalg_ops_impl "
            "lookup_grad manip_grad map_ops nn_fused_batch_norm_grad nn_impl_distribute optional_grad "
            "parsing_config parsing_grad random_crop_ops random_ops_util ref_variable "
            "resource_variables_toggle rnn_grad shape_util stateless_random_ops_v2 tensor_array_grad "
            "tensor_getitem_override tensor_math_operator_overrides weak_tensor_ops weak_tensor_test_util "
            "while_v2_indexed_slices_rewriter"
        ),
    ),
    "python.ops.linalg": (
        "linalg",
        (
            "linear_operator_block_lower_triangular linear_operator_permutation linear_operator_test_util "
            "linear_operator_tridiag property_hint_util slicing"
        ),
    ),
    "python.ops.linalg.sparse": ("sparse", "sparse_csr_matrix_grad sparse_csr_matrix_ops"),
    "python.ops.numpy_ops": (
        "experimental.numpy experimental.numpy.random",
        "np_array_ops np_arrays np_config np_dtypes np_math_ops np_random np_utils",
    ),
    "python.ops.parallel_for": ("graph_api.legacy.internal_functions: . test", "pfor test_util"),
    "python.ops.ragged": (
        "ragged . strings math nn",
        (
            "dynamic_ragged_shape ragged_array_ops ragged_autograph ragged_batch_gather_ops "
            "ragged_batch_gather_with_default_op ragged_bincount_ops ragged_check_ops ragged_concat_ops "
            "ragged_config ragged_conversion_ops ragged_dispatch ragged_embedding_ops ragged_factory_ops "
            "ragged_functional_ops ragged_gather_ops ragged_getitem ragged_image_ops ragged_map_ops "
            "ragged_math_ops ragged_operators ragged_ops ragged_squeeze_op ragged_string_ops ragged_tensor "
            "ragged_tensor_shape ragged_tensor_test_ops ragged_tensor_value ragged_util ragged_where_op "
            "row_partition segment_id_ops"
        ),
    ),
    "python.platform": ("test", "analytics device_context remote_utils self_check"),
    "python.profiler": ("", "profiler_client profiler_v2 trace"),
    "python.saved_model": (
        "saved_model",
        (
            "fingerprinting fingerprinting_utils function_deserialization function_serialization load_options "
            "load_v1_in_v2 method_name_updater path_helpers revived_types save_context save_options "
            "signature_serialization tracing_utils"
        ),
    ),
    "python.trackable": (
        ". train saved_model",
        (
            "asset autotrackable base base_delegate constants converter data_structures layer_utils "
            "python_state resource trackable_utils"
        ),
    ),
    "python.training": (
        "train",
        "basic_loops checkpoint_state_pb2 py_checkpoint_reader quantize_training saver_test_utils",
    ),
    "python.util": (
        "dualgrad.migrate.internal_tools: . experimental nest",
        (
            "custom_nest_protocol decorator_utils deprecated_module deprecated_module_new dispatch "
            "example_parser_configuration keras_deps lock_util nest_util numpy_compat tf_decorator_export "
            "traceback_utils type_annotations variable_utils"
        ),
    ),
}
"""Those of TensorFlow 2 besides, which its own tests and newer libraries import, in the same form."""
_CONTRIBUTED = {
    "crf": "ops.crf",
    "data": "ops.batching ops.grouping ops.interleave_ops ops.readers ops.sliding ops.shuffle_ops ops.threadpool",
    "eager": "tfe",
    "framework": "framework.tensor_util framework.checkpoint_utils ops.checkpoint_ops ops.ops",
    "image": "ops.image_ops ops.distort_image_ops ops.dense_image_warp ops.interpolate_spline",
    "layers": (
        "layers.encoders layers.embedding_ops layers.feature_column layers.normalization layers.optimizers "
        "layers.rev_block_lib layers.summaries layers.target_column"
    ),
    "legacy_seq2seq": "ops.seq2seq",
    "losses": "losses.loss_ops metric_learning.metric_loss_ops",
    "metrics": "ops.metric_ops ops.confusion_matrix_ops ops.histogram_ops ops.set_ops",
    "opt": (
        "training.adamax training.elastic_average_optimizer training.ggt training.lars_optimizer "
        "training.lazy_adam_optimizer training.moving_average_optimizer training.nadam_optimizer "
        "training.shampoo training.variable_clipping_optimizer training.weight_decay_optimizers"
    ),
    "rnn": "ops.core_rnn_cell_impl ops.fused_rnn_cell ops.gru_ops ops.lstm_ops ops.rnn",
    "seq2seq": (
        "ops.attention_wrapper ops.basic_decoder ops.beam_search_decoder ops.beam_search_ops ops.decoder ops.helper "
        "ops.loss ops.sampler"
    ),
    "slim": (
        "slim.evaluation slim.model_analyzer slim.summaries slim.data.data_decoder slim.data.data_provider "
        "slim.data.dataset slim.data.dataset_data_provider slim.data.parallel_reader slim.data.tfexample_decoder "
        "slim.nets.alexnet slim.nets.inception slim.nets.overfeat slim.nets.resnet_utils slim.nets.resnet_v1 "
        "slim.nets.resnet_v2 slim.nets.vgg"
    ),
    "tpu": "tpu.device_assignment tpu.tpu_config tpu.tpu_estimator tpu.tpu_function tpu.tpu_optimizer",
    "training": "training.evaluation training.hparam training.sampling_ops training.training",
}
"""The modules that its parts are made of."""


@cache
def modules() -> dict[str, str]:
    """The parts of the API for each of these modules."""
    tables = (*_LATER.items(), *_FOLDERS.items())
    rows = {f"{folder}.{name}": parts for folder, (parts, names) in tables for name in names.split()}
    rows |= {f"contrib.{name}": f"contrib.{name}" for name in _PARTS.split()}
    for name, below in _CONTRIBUTED.items():
        rows |= {f"contrib.{name}.python.{module}": f"contrib.{name}" for module in below.split()}
    return rows
