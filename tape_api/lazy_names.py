"""Names that are loaded when a program first uses one of them; `graph_api.lazy_names` says what the rows mean."""

from __future__ import annotations

from dualgrad import lazy_names as common
from dualgrad import platform as files
from dualgrad.extras.sampled_losses import SAMPLERS

LATER: tuple[tuple[str, str], ...] = (
    # ---- parts of the API that are modules here
    ("tape_api.debugging", "debugging"),
    ("tape_api.keras", "keras"),
    ("tape_api.random", "random"),
    ("tape_api.test", "test"),
    ("tape_api.train", "train"),
    ("tape_api.autodiff", "autodiff"),
    ("tape_api.recompute:", "recompute_grad"),
    ("tape_api.distribute", "distribute"),
    # ---- why there is no gradient
    ("engine.explain:", "explain"),
    ("engine.explain.check_numerics:", "debugging.enable_check_numerics debugging.disable_check_numerics"),
    # ---- saving, summaries, records, files
    ("tape_api.summary", "summary"),
    ("tape_api.checkpoint:", "train.Checkpoint train.CheckpointManager"),
    ("dualgrad.files.checkpoints:", "train.list_variables train.load_variable train.load_checkpoint"),
    ("dualgrad.files.checkpoints:latest", "train.latest_checkpoint"),
    ("dualgrad.files.checkpoints:get_state", "train.get_checkpoint_state"),
    ("dualgrad.files.checkpoints:exists", "train.checkpoint_exists"),
    ("dualgrad.files.checkpoints:CheckpointReader", "train.CheckpointReader train.NewCheckpointReader"),
    ("dualgrad.files.protos:", "train.Example train.Features train.Feature train.FeatureList train.FeatureLists"),
    ("dualgrad.files.protos:", "train.BytesList train.FloatList train.Int64List train.SequenceExample"),
    ("dualgrad.files.records:RecordWriter", "io.TFRecordWriter"),
    ("tape_api.saver:", "train.Saver"),
    # ---- data
    ("tape_api.data", "data"),
    # ---- sparse tensors
    ("tape_api.sparse", "sparse"),
    ("tape_api.sparse:SparseTensor", "SparseTensor"),
    ("tape_api.sparse:", "nn.embedding_lookup_sparse nn.safe_embedding_lookup_sparse"),
    ("tape_api.string_parts:", "strings.split strings.bytes_split"),
    ("tape_api.ctc:", "nn.ctc_loss nn.ctc_greedy_decoder nn.ctc_beam_search_decoder edit_distance"),
    # ---- keras
    # ---- images, sparse tensors, strings, logging, files
    *common.BOTH,
    *common.VERSION2,
    *files.BOTH,
    ("dualgrad.files.events:", "compat.v1.train.summary_iterator"),
    ("dualgrad.files.protos:", "compat.v1.Summary compat.v1.Event compat.v1.HistogramProto"),
    ("tape_api.sampled_losses:", "nn.nce_loss nn.sampled_softmax_loss"),
    ("tape_api.sampled_losses:", " ".join(f"random.{n}" for n in SAMPLERS.split())),
)
