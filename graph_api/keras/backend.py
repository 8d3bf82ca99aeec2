"""Settings of layers and losses: ``tf.keras.backend``. Defined in `dualgrad.keras.settings`."""

from typing import TYPE_CHECKING

from dualgrad.keras import settings as _shared
from dualgrad.keras.host import public_names as _public_names
from graph_api.graphs.graph import reset_default_graph as _reset_default_graph
from graph_api.keras.host import host as _host
from graph_api.keras.sessions import forget_session as _forget_session
from graph_api.keras.sessions import get_session, set_session

__all__ = ["clear_session", "get_session", "set_session"]


def clear_session() -> None:
    """Start again: an empty default graph, no session, names of layers numbered from the beginning."""
    _forget_session()
    _host.names().clear()
    _reset_default_graph()


if TYPE_CHECKING:
    from dualgrad.frontend.untyped import __getattr__ as __getattr__  # noqa: PLC0414
else:
    _host.fill(globals(), _shared, names=sorted({*_public_names(_shared)} - {"clear_session"}))
