"""``tf.contrib.seq2seq``: decoders, what they are fed with, and the loss of sequences."""

from graph_api.legacy.rnn.sequences import sequence_loss
from graph_api.legacy.seq2seq.decoders import BasicDecoder, BasicDecoderOutput, Decoder, dynamic_decode
from graph_api.legacy.seq2seq.helpers import GreedyEmbeddingHelper, Helper, TrainingHelper

__all__ = [
    "BasicDecoder", "BasicDecoderOutput", "Decoder", "GreedyEmbeddingHelper", "Helper", "TrainingHelper",
    "dynamic_decode", "sequence_loss",
]  # fmt: skip
