"""The inputs of a model, as the ``input_signature`` of a function."""

from __future__ import annotations

from typing import Any

from dualgrad.keras.models import Model
from engine.core import nest
from tape_api.tensor import TensorSpec


def signature_of(model: Model) -> list[Any]:
    """The specs of a model's inputs, as one argument, with their names."""
    avals, names = model.input_avals(), model.input_keywords()
    specs = [TensorSpec(a.shape, a.dtype, n) for a, n in zip(nest.flatten(avals), names, strict=True)]
    return [nest.pack_sequence_as(avals, specs)]
