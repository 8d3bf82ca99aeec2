"""Damage: to bytes, to text in JSON, to what is inside of a file of HDF5."""

import io
import json
import random
from typing import Any

import numpy as np

_KINDS = ("flip", "flip", "bytes", "field", "varint", "cut", "drop", "repeat", "splice", "word")
_EXTREME = [b"\0", b"\1", b"\x7f", b"\x80", b"\xff"]
_WORDS = [b"-1", b"0", b"9" * 20, b"1e999", b"nan", b'"', b"\\", b"{", b"}", b"[", b"null", b"\xff", b"\n"]


def damaged(data: bytes, dice: random.Random) -> bytes:
    """The contents of a file with something wrong in them."""
    raw = bytearray(data)
    for _ in range(dice.choice((1, 1, 1, 2, 4))):
        _once(raw, dice)
    return bytes(raw)


def _once(raw: bytearray, dice: random.Random) -> None:
    size = len(raw)
    at = dice.randrange(size + 1)
    kind = dice.choice(_KINDS)
    if kind == "flip" and size:
        for _ in range(dice.choice((1, 1, 2, 8))):
            raw[dice.randrange(size)] ^= 1 << dice.randrange(8)
    elif kind == "bytes":
        raw[at : at + dice.randint(1, 8)] = dice.randbytes(dice.randint(1, 8))
    elif kind == "field":
        width = dice.choice((1, 2, 4, 8))
        raw[at : at + width] = (
            dice.choice(_EXTREME) * width
            if dice.random() < 0.5
            else dice.randrange(1 << 40).to_bytes(8, "little")[:width]
        )
    elif kind == "varint":
        raw[at : at + dice.randint(0, 2)] = b"\xff" * dice.randint(1, 9) + bytes((dice.randrange(128),))
    elif kind == "cut":
        del raw[at:]
    elif kind == "drop":
        del raw[at : at + dice.choice((1, 2, 16, size // 4 + 1))]
    elif kind == "repeat":
        raw[at:at] = raw[at : at + dice.choice((1, 8, 64))] * dice.choice((1, 2, 50))
    elif kind == "splice" and size:
        start, length = dice.randrange(size), dice.choice((1, 8, 64, size // 2 + 1))
        raw[at : at + length] = raw[start : start + length]
    else:
        raw[at : at + dice.randint(0, 4)] = dice.choice(_WORDS)


def _other(x: Any, dice: random.Random) -> Any:
    """Something else in the place of a value of JSON."""
    numbers = (-1, 0, 3, 10**5, 10**9, 1 << 40, 1 << 70, 1e308)
    odd = (None, True, *numbers, "", "x", "../x", [], {}, [[]], {"class_name": "Dense"}, "\u0000")
    if isinstance(x, str) and x and dice.random() < 0.5:
        return damaged(x.encode(), dice).decode(errors="replace")
    return dice.choice(odd)


def damaged_json(text: str, dice: random.Random) -> str:
    """JSON with another value, key, or depth somewhere."""
    whole = [json.loads(text)]
    held: Any = whole
    while True:
        keys = list(held) if isinstance(held, dict) else list(range(len(held)))
        if not keys:
            return text
        key = dice.choice(keys)
        if isinstance(held[key], (dict, list)) and held[key] and dice.random() < 0.9:
            held = held[key]
            continue
        kind = dice.randrange(4)
        if kind == 0 and held is not whole:
            del held[key]
        elif kind == 1 and isinstance(held, dict):
            held[damaged(key.encode(), dice).decode(errors="replace")] = held.pop(key)
        elif kind == 2:
            held[key] = {"class_name": "Dense", "module": "keras.layers", "config": {"units": held[key]}}
        else:
            held[key] = _other(held[key], dice)
        return json.dumps(whole[0])


def damaged_h5(data: bytes, dice: random.Random) -> bytes:
    """A file of HDF5 with another attribute, array or link in it; or whose bytes are damaged."""
    import h5py

    if dice.random() < 0.5:
        return damaged(data, dice)
    buffer = io.BytesIO(data)
    with h5py.File(buffer, "r+") as file:
        attribute = dice.choice(sorted(file.attrs) or [""])
        if attribute.endswith("_config") and dice.random() < 0.8:
            file.attrs[attribute] = damaged_json(file.attrs[attribute], dice)
            return buffer.getvalue()
        places: list[str] = []
        file.visit(places.append)
        place = dice.choice(places)
        kind = dice.randrange(5)
        if kind == 0:
            del file[place]
        elif kind == 1:
            del file[place]
            size = 1 << dice.randrange(60)
            file.create_dataset(place, shape=(size,), chunks=(min(size, 1 << dice.randrange(16)),), dtype="u1")
        elif kind == 2:
            del file[place]
            file[place] = dice.choice([h5py.SoftLink("/"), h5py.ExternalLink("/etc/passwd", "/"), np.arange(3.0)])
        elif kind == 3:
            file[place].attrs[dice.choice(("layer_names", "weight_names", "name"))] = dice.choice(
                [1, "x", [b"\xff", b"a"]]
            )
        else:
            del file[place]
            file[place] = np.array([b"text"] * 3)
    return buffer.getvalue()
