"""Ready-made networks: ``tf.keras.applications``, with the layers, names and files of weights of Keras."""

from __future__ import annotations

from types import ModuleType

from dualgrad.frontend.namespace import namespace, place
from tape_api.keras.applications import common, inception, mobile, vgg
from tape_api.keras.applications.inception import InceptionV3, Xception
from tape_api.keras.applications.mobile import MobileNet, MobileNetV2
from tape_api.keras.applications.vgg import VGG16, VGG19


def _part(name: str, source: ModuleType, network: str = "") -> ModuleType:
    """A module such as ``applications.vgg16``: a network, and what its pictures and predictions need."""
    made = namespace(f"{__name__}.{name}")
    for member in (*([network] if network else ()), "decode_predictions", "preprocess_input"):
        place(made, member, getattr(source, member))
    return made


vgg16, vgg19 = _part("vgg16", vgg, "VGG16"), _part("vgg19", vgg, "VGG19")
mobilenet, mobilenet_v2 = _part("mobilenet", mobile, "MobileNet"), _part("mobilenet_v2", mobile, "MobileNetV2")
inception_v3, xception = _part("inception_v3", inception, "InceptionV3"), _part("xception", inception, "Xception")
imagenet_utils = _part("imagenet_utils", common)

__all__ = [
    "VGG16", "VGG19", "InceptionV3", "MobileNet", "MobileNetV2", "Xception", "imagenet_utils", "inception_v3",
    "mobilenet", "mobilenet_v2", "vgg16", "vgg19", "xception",
]  # fmt: skip
