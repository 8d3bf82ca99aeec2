"""Names that graphs alone have, so that a program on tapes that uses one is told where they are.

Of the names of ``tf.compat.v1`` that ``tf`` of TensorFlow 2 has not, these are the ones that `graph_api` has, that
``tape_api.compat.v1`` has not, and of which `dualgrad.frontend.absent` says nothing else.
"""

from __future__ import annotations

NAMES: dict[str, str] = {
    "": (
        "AttrValue COMPILER_VERSION Dimension FIFOQueue FixedLenFeature FixedLenSequenceFeature "
        "FixedLengthRecordReader GIT_VERSION GraphDef GraphOptions MetaGraphDef NoGradient NodeDef "
        "NotDifferentiable OptimizerOptions PaddingFIFOQueue QueueBase RandomShuffleQueue ReaderBase RunMetadata "
        "RunOptions TFRecordReader TensorInfo TextLineReader VERSION VarLenFeature VariableScope WholeFileReader "
        "add_check_numerics_ops add_to_collections all_variables bincount convert_to_tensor_or_sparse_tensor "
        "count_up_to decode_csv decode_raw dimension_at_index dimension_value disable_resource_variables "
        "distributions get_local_variable get_seed get_variable_scope initialize_all_tables "
        "initialize_local_variables initialize_variables is_numeric_tensor make_template matching_files "
        "orthogonal_initializer parse_example parse_single_example python_io random_crop "
        "resource_variables_enabled setdiff1d sparse_add sparse_concat sparse_reduce_sum sparse_reorder "
        "sparse_reshape sparse_retain sparse_softmax sparse_tensor_dense_matmul sparse_tensor_to_dense "
        "sparse_to_dense sparse_transpose string_split uniform_unit_scaling_initializer verify_tensor_all_finite"
    ),
    "data": "get_output_classes get_output_shapes get_output_types",
    "graph_util": "convert_variables_to_constants extract_sub_graph",
    "initializers": "global_variables uniform_unit_scaling variables",
    "io": "TFRecordCompressionType tf_record_iterator",
    "losses": "add_loss get_total_loss",
    "metrics": (
        "auc false_negatives false_positives mean mean_absolute_error mean_iou mean_per_class_accuracy "
        "mean_squared_error precision recall root_mean_squared_error true_negatives true_positives"
    ),
    "nn": (
        "bidirectional_dynamic_rnn dynamic_rnn log_uniform_candidate_sampler raw_rnn rnn_cell static_rnn "
        "uniform_candidate_sampler"
    ),
    "random": "get_seed multinomial set_random_seed",
    "saved_model": (
        "Builder build_signature_def build_tensor_info builder loader predict_signature_def signature_constants "
        "signature_def_utils simple_save tag_constants utils"
    ),
    "sparse": "placeholder",
    "summary": "Event FileWriterCache SessionLog Summary TaggedRunMetadata",
    "test": "compute_gradient_error get_temp_dir mock",
    "train": (
        "CheckpointSaverHook CheckpointSaverListener ChiefSessionCreator FeedFnHook FinalOpsHook "
        "LoggingTensorHook MonitoredSession MonitoredTrainingSession NanLossDuringTrainingError NanTensorHook "
        "QueueRunner SaverDef Scaffold SecondOrStepTimer SessionRunArgs SessionRunContext SessionRunHook "
        "SessionRunValues SingularMonitoredSession StepCounterHook StopAtStepHook SummarySaverHook "
        "add_queue_runner assert_global_step batch export_meta_graph get_checkpoint_mtimes global_step "
        "import_meta_graph init_from_checkpoint input_producer limit_epochs match_filenames_once "
        "piecewise_constant_decay range_input_producer remove_checkpoint shuffle_batch slice_input_producer "
        "start_queue_runners string_input_producer update_checkpoint_state write_graph"
    ),
}
"""Names by the part of the API that they are in; of a part that is of graphs alone as a whole, its name alone."""
REMOVED = ("contrib",)
"""Parts that TensorFlow 2 has not even below ``compat.v1``."""


def is_version1(inner: str, name: str) -> bool:
    """Whether a name below ``tf.`` is one of graphs alone.

    Parameters
    ----------
    inner : str
        The part of the API: ``"train"``, or empty.
    name : str

    Examples
    --------
    >>> is_version1("", "get_variable_scope"), is_version1("train", "Scaffold"), is_version1("train", "Checkpoint")
    (True, True, False)
    """
    return name in NAMES.get(inner, "").split() or (inner.partition(".")[0] or name) in REMOVED
