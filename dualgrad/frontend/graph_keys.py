"""``tf.GraphKeys``."""

from __future__ import annotations


class GraphKeys:
    """Names of the standard collections."""

    GLOBAL_VARIABLES = "variables"
    VARIABLES = "variables"
    LOCAL_VARIABLES = "local_variables"
    MODEL_VARIABLES = "model_variables"
    TRAINABLE_VARIABLES = "trainable_variables"
    REGULARIZATION_LOSSES = "regularization_losses"
    LOSSES = "losses"
    UPDATE_OPS = "update_ops"
    SUMMARIES = "summaries"
    TRAIN_OP = "train_op"
    GLOBAL_STEP = "global_step"
    WEIGHTS = "weights"
    BIASES = "biases"
    ACTIVATIONS = "activations"
    METRIC_VARIABLES = "metric_variables"
    MOVING_AVERAGE_VARIABLES = "moving_average_variables"
    CONCATENATED_VARIABLES = "concatenated_variables"
    SAVERS, SAVEABLE_OBJECTS = "savers", "saveable_objects"
    INIT_OP, LOCAL_INIT_OP, SUMMARY_OP = "init_op", "local_init_op", "summary_op"
    READY_OP, READY_FOR_LOCAL_INIT_OP = "ready_op", "ready_for_local_init_op"
    QUEUE_RUNNERS, TABLE_INITIALIZERS = "queue_runners", "table_initializer"
    ASSET_FILEPATHS, EVAL_STEP = "asset_filepaths", "eval_step"
    COND_CONTEXT, WHILE_CONTEXT = "cond_context", "while_context"
