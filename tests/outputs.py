"""What real TensorFlow gives for the small programs of the tests, kept: ``python -m tests.outputs`` renews it.

A program is a function of the module that it calls ``tf``: of TensorFlow 1 in `tests.graph_api.programs` and
`tests.graph_api.forms`, of TensorFlow 2 in `tests.tape_api.programs`. A test without TensorFlow knows by the files
what must come out, one with it that the files are right.
"""

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

HERE = Path(__file__).parent
Program = Callable[[Any], Any]


def plain(x: Any) -> Any:
    """A structure with lists in place of tuples and ``{"dtype": ..., "value": ...}`` in place of tensors."""
    if isinstance(x, Mapping):
        return {key: plain(value) for key, value in x.items()}
    if isinstance(x, (list, tuple, set)):
        return [plain(item) for item in (sorted(x) if isinstance(x, set) else x)]
    if x is None or (isinstance(x, (str, bool, int, float)) and not isinstance(x, np.generic)):
        return x
    if hasattr(x, "dense_shape"):
        return plain({"values": x.values, "indices": x.indices})
    array = np.asarray(x)
    value = array.astype("U").tolist() if array.dtype.kind in "cOS" else array.tolist()
    return {"dtype": array.dtype.name, "shape": list(array.shape), "value": value}


def assert_agree(got: Any, expected: Any, where: str, tolerance: float | None = None) -> None:
    """Raise unless two plain structures are equal, their numbers up to rounding."""
    assert type(got) is type(expected), f"{where}: {got!r}, TensorFlow {expected!r}"
    if isinstance(got, dict) and "dtype" in got:
        assert (got["dtype"], got["shape"]) == (expected["dtype"], expected["shape"]), where
        within = tolerance or (1e-9 if got["dtype"] in ("float64", "complex128") else 2e-5)
        numbers = [np.asarray(v["value"]) for v in (got, expected)]
        if got["dtype"].startswith("complex"):
            numbers = [v.astype(complex) for v in numbers]
        if numbers[0].dtype.kind in "fc":
            np.testing.assert_allclose(*numbers, rtol=within, atol=within, err_msg=where)
        else:
            np.testing.assert_array_equal(*numbers, err_msg=where)
    elif isinstance(got, dict):
        assert got.keys() == expected.keys(), where
        for key in got:
            assert_agree(got[key], expected[key], f"{where}[{key!r}]", tolerance)
    elif isinstance(got, list):
        assert len(got) == len(expected), where
        for i, (g, e) in enumerate(zip(got, expected, strict=True)):
            assert_agree(g, e, f"{where}[{i}]", tolerance)
    elif isinstance(got, float):
        assert got == pytest.approx(expected, rel=2e-5, abs=2e-5, nan_ok=True), where
    else:
        assert got == expected, where


def kept(folder: str) -> dict[str, Any]:
    """What TensorFlow gives for the programs of a folder, by their names."""
    return json.loads((HERE / folder / "outputs.json").read_text())  # type: ignore[no-any-return]


def in_a_graph(tf: Any, program: Program) -> Any:
    """What a program of TensorFlow 1 gives in a graph of its own."""
    with tf.Graph().as_default():
        return plain(program(tf))


def given_by(tensorflow: Any) -> dict[str, dict[str, Any]]:
    """What real TensorFlow gives for all programs, by folders."""
    from tests.graph_api.forms import FORMS, in_a_session
    from tests.graph_api.programs import PROGRAMS as GRAPHS
    from tests.tape_api.programs import PROGRAMS as TAPES

    v1 = tensorflow.compat.v1
    graphs = {program.__name__: in_a_graph(v1, program) for program in GRAPHS}
    graphs |= {form.__name__: plain(in_a_session(v1, form)) for form in FORMS}
    return {"graph_api": graphs, "tape_api": {program.__name__: plain(program(tensorflow)) for program in TAPES}}


def main() -> None:
    """Keep what the TensorFlow that is installed gives."""
    import tensorflow as tf

    for folder, found in given_by(tf).items():
        (HERE / folder / "outputs.json").write_text(json.dumps(found, separators=(",", ":")).replace('],"', '],\n"'))
        sys.stdout.write(f"{folder}: {len(found)} programs\n")


if __name__ == "__main__":
    main()
