"""Names that are loaded when a program first uses one of them; `graph_api.later` says what the rows mean."""

from __future__ import annotations

from engine.frontend import later
from engine.frontend import platform as files
from engine.frontend.sampled_losses import SAMPLERS

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
    ("engine.explain.numerics:", "debugging.enable_check_numerics debugging.disable_check_numerics"),
    # ---- saving, summaries, records, files
    ("tape_api.summary", "summary"),
    ("tape_api.checkpoint:", "train.Checkpoint train.CheckpointManager"),
    ("engine.io.checkpoints:", "train.list_variables train.load_variable train.load_checkpoint"),
    ("engine.io.checkpoints:latest", "train.latest_checkpoint"),
    ("engine.io.checkpoints:get_state", "train.get_checkpoint_state"),
    ("engine.io.checkpoints:exists", "train.checkpoint_exists"),
    ("engine.io.checkpoints:CheckpointReader", "train.CheckpointReader train.NewCheckpointReader"),
    ("engine.io.protos:", "train.Example train.Features train.Feature train.FeatureList train.FeatureLists"),
    ("engine.io.protos:", "train.BytesList train.FloatList train.Int64List train.SequenceExample"),
    ("engine.io.records:RecordWriter", "io.TFRecordWriter"),
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
    *later.BOTH,
    *later.VERSION2,
    *files.BOTH,
    ("engine.io.events:", "compat.v1.train.summary_iterator"),
    ("engine.io.protos:", "compat.v1.Summary compat.v1.Event compat.v1.HistogramProto"),
    ("tape_api.sampled_losses:", "nn.nce_loss nn.sampled_softmax_loss"),
    ("tape_api.sampled_losses:", " ".join(f"random.{n}" for n in SAMPLERS.split())),
)
