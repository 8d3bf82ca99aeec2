"""Messages declared in the language of protocol buffers: a comment, a name and the fields of each.

That language, without what is not needed here: a field of any enumeration is of the kind ``enum``, and a comment is the
docstring of the message that follows.

References
----------
https://protobuf.dev/programming-guides/proto3/
"""

from __future__ import annotations

import re
from collections import ChainMap
from types import ModuleType
from typing import Any

from dualgrad.files.fields import Field
from dualgrad.files.wire import Message

_PARTS = re.compile(
    r"// ?(?P<doc>.*)|message (?P<message>\w+) \{|oneof (?P<oneof>\w+) \{|(?P<end>\})|(?P<repeated>repeated )?"
    r"(?:map<(?P<key>\w+), (?P<item>\w+)>|(?P<kind>\w+)) (?P<name>\w+) = (?P<number>\d+);"
    r"|(?P<constant>\w+) = (?P<value>\d+);"
)


def messages(names: dict[str, Any], text: str, *modules: ModuleType, nested: str = "") -> None:
    """Declare messages.

    Parameters
    ----------
    names : dict
        The names of a module, among which those of the messages will be.
    text : str
    *modules : module
        With messages that fields are of.
    nested : str
        Messages with those that are attributes of them: ``Dim``, or ``TensorShapeDim``, in ``TensorShape.Dim``.
    """
    declared: list[tuple[Any, str | None, re.Match[str]]] = []
    doc: list[str] = []
    made: Any = None
    group: str | None = None
    for part in _PARTS.finditer(text):
        if part["doc"] is not None:
            doc.append(part["doc"])
        elif part["message"]:
            facts = {"__module__": names["__name__"], "__doc__": "\n".join(doc)}
            made = names[part["message"]] = type(part["message"], (Message,), facts)
            doc = []
        elif part["name"]:
            declared.append((made, group, part))
        elif part["constant"]:
            setattr(made, part["constant"], int(part["value"]))
        else:
            group = part["oneof"]
    known = ChainMap(names, *map(vars, modules))
    for owner, group, part in declared:
        kind = part["item"] or part["kind"]
        field = Field(int(part["number"]), known.get(kind, kind), bool(part["repeated"]), part["key"], group)
        setattr(owner, part["name"], field)
        field.__set_name__(owner, part["name"])
    for owner in dict.fromkeys(owner for owner, *_ in declared):
        owner.__init_subclass__()
    for path in nested.split():
        outer, _, inner = path.partition(".")
        setattr(names[outer], inner, names.get(inner) or names[outer + inner])
