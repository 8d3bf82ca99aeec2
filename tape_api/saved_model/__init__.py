"""``tf.saved_model``: objects with variables and functions in folders that TensorFlow reads and writes, too."""

from tape_api.saved_model.loading import contains_saved_model, load
from tape_api.saved_model.saving import Asset, LoadOptions, SaveOptions, save

DEFAULT_SERVING_SIGNATURE_DEF_KEY, SERVING, TRAINING = "serving_default", "serve", "train"

__all__ = [
    "DEFAULT_SERVING_SIGNATURE_DEF_KEY", "SERVING", "TRAINING", "Asset", "LoadOptions", "SaveOptions",
    "contains_saved_model", "load", "save",
]  # fmt: skip
