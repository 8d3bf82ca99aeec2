"""``tf.keras.export``: models as SavedModels, for those who run them without their program."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

from dualgrad.keras.layers import Layer
from engine.core import nest
from engine.runtime.faces import Shown
from tape_api.functions.function import Function, function
from tape_api.keras.signatures import signature_of
from tape_api.tensor import TensorSpec

__all__ = ["ExportArchive"]


class _Archive:
    """The object that is saved: functions and variables by name."""

    def _trackable_children(self) -> None:
        """Marks it as an object that may be saved."""


class ExportArchive(Shown):
    """Collects functions of layers and models, and writes them as a SavedModel.

    Examples
    --------
    >>> import os, tempfile
    >>> import tape_api as tf
    >>> layer = tf.keras.layers.Dense(2, kernel_initializer="ones")
    >>> _ = layer(tf.zeros([1, 3]))
    >>> archive = tf.keras.export.ExportArchive()
    >>> archive.track(layer)
    >>> serve = archive.add_endpoint("serve", layer.call, [tf.TensorSpec([None, 3])])
    >>> folder = os.path.join(tempfile.mkdtemp(), "dense")
    >>> archive.write_out(folder, verbose=False)
    >>> tf.saved_model.load(folder).serve(tf.ones([1, 3])).numpy()
    array([[3., 3.]], dtype=float32)
    """

    def __init__(self, format: str = "saved_model") -> None:
        if format != "saved_model":
            raise ValueError(f"ExportArchive: argument `format` must be 'saved_model', got {format!r}")
        self._root = _Archive()
        self._endpoints: list[str] = []
        self._tracked: list[Any] = []

    def track(self, resource: Any) -> None:
        """Have the variables of a layer or model among those of the archive.

        Raises
        ------
        ValueError
            If it is none, or has not been built.
        """
        if not isinstance(resource, Layer):
            raise ValueError(f"ExportArchive.track: a layer or model is needed, got {resource!r}")
        if not resource.built:
            raise ValueError(
                f"ExportArchive.track: {resource.name!r} has no variables yet: build it, or call it on data"
            )
        self._tracked.append(resource)

    @property
    def variables(self) -> list[Any]:
        """The variables of what is tracked."""
        return _distinct(v for layer in self._tracked for v in layer.variables)

    @property
    def trainable_variables(self) -> list[Any]:
        """Those that are trained."""
        return _distinct(v for layer in self._tracked for v in layer.trainable_variables)

    @property
    def non_trainable_variables(self) -> list[Any]:
        """The others."""
        return _distinct(v for layer in self._tracked for v in layer.non_trainable_variables)

    def add_endpoint(self, name: str, fn: Callable[..., Any], input_signature: Any = None, **ignored: Any) -> Any:
        """Add a function.

        Parameters
        ----------
        name : str
        fn : callable
        input_signature : sequence of TensorSpec, InputSpec, or structures of these, optional
            Of its arguments. Without it `fn` must be a ``tf.function`` that has been called.

        Returns
        -------
        Function

        Raises
        ------
        ValueError
            If the name is taken, or nothing is known of the arguments.
        """
        if name in self._endpoints:
            raise ValueError(f"Endpoint name '{name}' is already taken.")
        if input_signature is not None:
            made = function(fn, input_signature=[nest.map_structure(_spec, x) for x in input_signature])
        elif isinstance(fn, Function) and fn.calls():
            made = fn
        else:
            raise ValueError(
                f"ExportArchive.add_endpoint: {name!r} needs an `input_signature`, or a tf.function that has been "
                f"called"
            )
        setattr(self._root, name, made)
        self._endpoints.append(name)
        return made

    def track_and_add_endpoint(self, name: str, resource: Any, input_signature: Any, **ignored: Any) -> Any:
        """Track a layer or model, and add the function that it computes."""
        self.track(resource)
        return self.add_endpoint(name, _called(resource), input_signature)

    def add_variable_collection(self, name: str, variables: Iterable[Any]) -> None:
        """Have variables in a list of that name."""
        setattr(self._root, name, list(variables))

    def write_out(self, filepath: Any, options: Any = None, verbose: bool = True) -> None:
        """Write the SavedModel; the first function is its ``serving_default``, too.

        Raises
        ------
        ValueError
            If there are no functions.
        """
        from tape_api.saved_model.saving import save

        if not self._endpoints:
            raise ValueError("No endpoints have been set yet. Call add_endpoint().")
        functions = {name: getattr(self._root, name) for name in self._endpoints}
        functions.setdefault("serving_default", functions[self._endpoints[0]])
        for name in ("variables", "trainable_variables", "non_trainable_variables"):
            setattr(self._root, name, getattr(self, name))
        save(self._root, filepath, functions, options)
        if verbose:
            sys.stdout.write(f"Saved artifact at '{filepath}'. Endpoints: {', '.join(self._endpoints)}\n")


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
    archive = ExportArchive()
    archive.track_and_add_endpoint("serve", model, signature_of(model) if input_signature is None else input_signature)
    archive.write_out(filepath, verbose=verbose is None or bool(verbose))


def _called(layer: Any) -> Callable[..., Any]:
    """The function that a layer computes when it is not being trained."""

    def call(inputs: Any) -> Any:
        return layer(inputs)

    return call


def _spec(x: Any) -> Any:
    return x if isinstance(x, TensorSpec) else TensorSpec(x.shape, x.dtype, getattr(x, "name", None))


def _distinct(variables: Iterable[Any]) -> list[Any]:
    return list({id(v): v for v in variables}.values())
