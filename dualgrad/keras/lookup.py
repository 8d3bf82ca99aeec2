"""Finding a class or function by the name that a program gives as a string."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from dualgrad.keras.configs import REGISTERED, Described, deserialized


def by_name(host: Any, known: Mapping[str, Any], identifier: Any, what: str) -> Any:
    """Resolve `identifier`: a name, class or configuration makes what it names, anything callable is itself.

    What is looked up is bound to the host (`dualgrad.keras.host`).

    Raises
    ------
    ValueError
        If it is neither.
    """
    if isinstance(identifier, Mapping):
        name, module = identifier.get("class_name"), identifier.get("module") or "keras"
        if name != "function" or not isinstance(identifier.get("config"), str):
            kind = host.form_of(known.get(name)) if isinstance(name, str) and name not in REGISTERED else None
            is_known = str(module).partition(".")[0] in ("keras", "tf_keras", "tensorflow", host.package)
            is_ours = is_known and inspect.isclass(kind) and not isinstance(identifier, Described)
            return deserialized(Described(kind, identifier) if is_ours else identifier)
        identifier = identifier["config"]
    made = identifier
    if isinstance(identifier, str):
        made = host.form_of(known.get(identifier, REGISTERED.get(identifier)))
        if made is None:
            names = ", ".join(sorted({n for n in known if n.islower()}))
            raise ValueError(f"Could not interpret {what} identifier: {identifier!r}; known are {names}")
    if inspect.isclass(made):
        return made()
    if not callable(made):
        raise ValueError(f"Could not interpret {what} identifier: {identifier!r}")
    return made
