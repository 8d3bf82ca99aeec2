"""Finding a class or function by the name that a program gives as a string."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from dualgrad.keras.configs import OURS, REGISTERED, Described, deserialized, serialized
from engine.runtime.errors import InvalidArgumentError


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
            raise InvalidArgumentError(f"Could not interpret {what} identifier: {identifier!r}; known are {names}")
    if inspect.isclass(made):
        return made()
    if not callable(made):
        raise InvalidArgumentError(f"Could not interpret {what} identifier: {identifier!r}")
    return made


def described(part: str, made: Any) -> dict[str, Any]:
    """An object as plain data, from which `by_name` makes an equal one: what ``serialize`` of a part of Keras gives.

    Parameters
    ----------
    part : str
        ``"regularizers"``: our own classes are said to be there, as in Keras.
    made : object with a `get_config`, or a function

    Raises
    ------
    ValueError
        If it is neither, or a function without a name.
    """
    config = serialized(made)
    name = getattr(made, "__name__", None)
    if inspect.isroutine(made) and name not in (None, "<lambda>"):
        known = next((key for key, x in REGISTERED.items() if x is made), "function")
        return {"module": "builtins", "class_name": "function", "config": name, "registered_name": known}
    if not isinstance(config, Described):
        raise ValueError(f"{part}.serialize: {made!r} has neither a name nor a `get_config`")
    module = str(config["module"])
    is_ours = config.kind in (*OURS.values(),) and config["registered_name"] is None
    return {**config, "module": f"keras.{module.rpartition('.')[2]}" if is_ours else module}
