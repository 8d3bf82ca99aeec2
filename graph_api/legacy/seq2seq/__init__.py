"""``tf.contrib.seq2seq``: decoders, what they are fed with, attention, and the loss of sequences."""

from graph_api.legacy.rnn.sequences import sequence_loss
from graph_api.legacy.seq2seq.attention import (
    AttentionMechanism,
    AttentionWrapper,
    AttentionWrapperState,
    BahdanauAttention,
    LuongAttention,
    hardmax,
    tile_batch,
)
from graph_api.legacy.seq2seq.decoders import BasicDecoder, BasicDecoderOutput, Decoder, dynamic_decode
from graph_api.legacy.seq2seq.helpers import (
    CustomHelper,
    GreedyEmbeddingHelper,
    Helper,
    InferenceHelper,
    SampleEmbeddingHelper,
    ScheduledEmbeddingTrainingHelper,
    TrainingHelper,
)

__all__ = [
    "AttentionMechanism", "AttentionWrapper", "AttentionWrapperState", "BahdanauAttention", "BasicDecoder",
    "BasicDecoderOutput", "CustomHelper", "Decoder", "GreedyEmbeddingHelper", "Helper", "InferenceHelper",
    "LuongAttention", "SampleEmbeddingHelper", "ScheduledEmbeddingTrainingHelper", "TrainingHelper", "dynamic_decode",
    "hardmax", "sequence_loss", "tile_batch",
]  # fmt: skip
