"""Pictures of models: ``tf.keras.utils.plot_model``, ``model_to_dot``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dualgrad.files import atomic
from engine.core import nest


def model_to_dot(model: Any, show_shapes: bool = False, rankdir: str = "TB", **ignored: Any) -> str:
    """The layers of a functional or sequential model as text in Graphviz's language.

    Parameters
    ----------
    model : Model
    show_shapes : bool
        Whether the shapes of the outputs are told.
    rankdir : {"TB", "LR"}
        From top to bottom, or from left to right.
    """
    nodes, edges = [], []
    makers = {id(x): layer for layer in model.layers for call in layer._calls for x in nest.flatten(call.result)}
    for layer in model.layers:
        label = f"{layer.name} ({type(layer).__name__})"
        if show_shapes:
            label += f"\\n{layer.output_shape if layer._calls else '?'}"
        nodes.append(f'  "{layer.name}" [label="{label}"];')
        for call in layer._calls:
            for x in call.inputs:
                maker = makers.get(id(x)) or getattr(x, "_input_layer", None)
                if maker is not None and maker is not layer:
                    edges.append(f'  "{maker.name}" -> "{layer.name}";')
    return "\n".join(["digraph model {", f"  rankdir={rankdir}; node [shape=record];", *nodes, *edges, "}", ""])


def plot_model(model: Any, to_file: Any = "model.png", show_shapes: bool = False, **options: Any) -> None:
    """Write a picture of a model, as text in Graphviz's language.

    Parameters
    ----------
    model : Model
    to_file : str or path
        Ending in ".dot" or ".gv".
    show_shapes : bool
    **options
        `rankdir`; others change how Keras's pictures look.

    Raises
    ------
    ImportError
        If the name has another ending: Keras needs pydot for these, too.
    """
    if Path(to_file).suffix not in (".dot", ".gv"):
        raise ImportError(
            f"plot_model: pictures such as {Path(to_file).name!r} need Graphviz, which is not used here: give a name "
            f"that ends in .dot, and run `dot -Tpng` on that file"
        )
    atomic.write(str(to_file), [model_to_dot(model, show_shapes, **options).encode()])


__all__ = ["model_to_dot", "plot_model"]
