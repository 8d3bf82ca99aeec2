"""``Model.export``: models as SavedModels, for those who run them without their program."""

from __future__ import annotations

import sys
from typing import Any

from engine.core import nest
from tape_api.functions.function import function
from tape_api.keras.signatures import signature_of
from tape_api.tensor import TensorSpec


class _Exported:
    """The object that is saved: the function and variables of a model by name."""

    def _trackable_children(self) -> None:
        """Marks it as an object that may be saved."""


def export(
    model: Any, filepath: Any, format: str = "tf_saved_model", verbose: Any = None, input_signature: Any = None,
    **options: Any,
) -> None:  # fmt: skip
    """Write what a model computes as a SavedModel, with the function ``serve``.

    Parameters
    ----------
    filepath : str or path
        A folder.
    format : str
        ``"tf_saved_model"``.
    verbose : bool, optional
        Whether to say so, by default yes.
    input_signature : sequence of TensorSpec, or of structures of these, optional
        By default what the model was built of, for any number of examples.

    Raises
    ------
    ValueError
        If the model has not been built, or for another format.
    """
    if format != "tf_saved_model":
        raise ValueError(
            f"Model.export: argument `format` must be 'tf_saved_model', got {format!r}: others are not written"
        )
    from tape_api.saved_model.saving import save

    signature = signature_of(model) if input_signature is None else input_signature
    if not model.built:
        raise ValueError(f"Model.export: {model.name!r} has no variables yet: build it, or call it on data")

    def call(inputs: Any) -> Any:
        return model(inputs)

    root: Any = _Exported()
    root.serve = function(call, input_signature=[nest.map_structure(_spec, x) for x in signature])
    for name in ("variables", "trainable_variables", "non_trainable_variables"):
        setattr(root, name, list({id(v): v for v in getattr(model, name)}.values()))
    save(root, filepath, {"serve": root.serve, "serving_default": root.serve})
    if verbose is None or verbose:
        sys.stdout.write(f"Saved artifact at '{filepath}'. Endpoints: serve\n")


def _spec(x: Any) -> Any:
    return x if isinstance(x, TensorSpec) else TensorSpec(x.shape, x.dtype, getattr(x, "name", None))
