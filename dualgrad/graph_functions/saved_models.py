"""The message of a SavedModel, and that of its graphs which has some tags."""

from __future__ import annotations

from typing import Any

from dualgrad.files.graph_protos import MetaGraphDef, SavedModel
from graph_api.graph_files.saved_models import matching, read


def meta_graph(folder: str, tags: Any) -> tuple[SavedModel, MetaGraphDef]:
    """The message of a model, and its graph with some tags; without tags, the only one.

    Raises
    ------
    NotFoundError, DataLossError
        If there is none, or it is damaged.
    ValueError
        If there are several, and no tags.
    RuntimeError
        If none has the tags.
    """
    model = read(folder)
    if tags is not None:
        return model, matching(model, tags)
    if len(model.meta_graphs) != 1:
        there = [sorted(m.meta_info_def.tags) for m in model.meta_graphs]
        raise ValueError(
            f"saved_model.load: {folder} has {len(there)} graphs, with the tags {there}: say which by argument `tags`"
        )
    return model, model.meta_graphs[0]
