"""`TFSMLayer`: a layer that computes what a function of a SavedModel computes."""

from __future__ import annotations

from typing import Any

from dualgrad.keras.layers import Layer
from tape_api.keras_host import host


class TFSMLayer(host.bound(Layer)):  # type: ignore[misc]
    """A layer that computes what a function of a SavedModel computes; its variables are the layer's weights.

    Parameters
    ----------
    filepath : str or path
        A folder that `Model.export`, `saved_model.save`, or TensorFlow has written.
    call_endpoint : str
        The name of a function of the loaded object, or else of a signature.
    call_training_endpoint : str, optional
        That of the function for training.
    trainable : bool
    name, dtype : optional

    Raises
    ------
    ValueError
        If there is no function of that name.
    """

    def __init__(
        self, filepath: Any, call_endpoint: str = "serve", call_training_endpoint: str | None = None,
        trainable: bool = True, name: str | None = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        from tape_api.saved_model.loading import load

        super().__init__(trainable=trainable, name=name, dtype=dtype)
        self.filepath, self.call_endpoint = filepath, call_endpoint
        self.call_training_endpoint = call_training_endpoint
        loaded = load(filepath)
        wanted = [call_endpoint, *filter(None, [call_training_endpoint])]
        self._functions = {name: _endpoint(loaded, name) for name in wanted}
        concrete = [c for f in self._functions.values() for c in getattr(f, "concrete_functions", [f])]
        self._loaded_weights = list({id(v): v for c in concrete for v in c.variables}.values())
        self.built = True

    def call(self, inputs: Any, training: Any = False, **kwargs: Any) -> Any:
        """The results of the function for the inputs; a signature gives a dict."""
        wanted = self.call_training_endpoint if training and self.call_training_endpoint else self.call_endpoint
        return self._functions[wanted](inputs, **kwargs)


def _endpoint(loaded: Any, name: str) -> Any:
    found = getattr(loaded, name, None) or loaded.signatures.get(name)
    if not callable(found):
        raise ValueError(
            f"TFSMLayer: the endpoint {name!r} is neither a function of the loaded object nor a signature; there are "
            f"the signatures {', '.join(loaded.signatures) or 'none'}. Choose one by the argument `call_endpoint`"
        )
    return found
