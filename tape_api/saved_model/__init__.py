"""``tf.saved_model``: objects with variables and functions in folders that TensorFlow reads and writes, too."""

from tape_api.saved_model.loading import contains_saved_model, load

__all__ = ["contains_saved_model", "load"]
