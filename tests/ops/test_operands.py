"""Every function that takes tensors, given operands of every dtype in every spelling: numbers, lists, arrays, tensors.

In a graph and on a tape, however an operand is spelled, there must be one answer: the same refusal or the same value.
As a peer test, the answer must be TensorFlow's; `tests.operand_calls` lists where it is meant to differ.
"""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from dualgrad.frontend.legacy import Old
from engine.core.op import Op
from tape_api.names import TABLE
from tests.operand_calls import CALLED_ELSEWHERE, NARROWER, OTHERWISE, WIDER, calls

DTYPES = [
    "int32", "int64", "int8", "uint8", "bool", "complex64", "complex128", "float16", "float32", "float64", "string",
]  # fmt: skip
SPELLED = [dtype for dtype in DTYPES if dtype not in ("int8", "float16")]
"""Those in which spellings are compared: of each kind one that Python's own numbers have, and others."""
OF_PYTHON = {"int32", "bool", "complex128", "float32", "string"}
"""The dtypes of Python's own numbers and strings."""
CONTENTS = {
    "V": [1, 2], "W": [1, 2, 3], "M": [[2, 1], [1, 2]], "S": 1, "T": [[[[2]]]], "Q": [[[[[2]]]]], "R": [[[[2, 1, 3]]]],
}  # fmt: skip
CALLS = list(calls())
REFUSED = "refused"
OF_VERSION_2 = ("space_to_batch(", "batch_to_space(")
"""Calls whose arguments TensorFlow 1 has in another order."""


def made(name: str, dtype: str) -> np.ndarray:
    numbers = np.array(CONTENTS[name])
    if dtype != "string":
        return numbers % 2 == 1 if dtype == "bool" else numbers.astype(dtype)
    strings = np.empty(numbers.shape, object)
    strings[...] = np.array([b"%d" % n for n in numbers.ravel().tolist()], object).reshape(numbers.shape)
    return strings


def of_scalars(a: np.ndarray) -> Any:
    """Nested lists of NumPy's scalars (of bytes, where it has none)."""
    return [of_scalars(row) for row in a] if isinstance(a, np.ndarray) and a.ndim else a[()]


def spelled(call: str, dtype: str, spelling: str, tf: Any) -> dict[str, Any]:
    arrays = {name: made(name, dtype) for name in CONTENTS if name in call}
    spell = {
        "tensor": lambda a: tf.constant(a, dtype=dtype),
        "array": lambda a: a,
        "scalars": lambda a: a.tolist() if dtype == "string" else of_scalars(a),
        "python": lambda a: a.tolist(),
    }[spelling]
    return {name: spell(a) for name, a in arrays.items()}


def answer(tf: Any, call: str, dtype: str, spelling: str) -> Any:
    """What a call gives, as a list of arrays; or that it is refused, which one of three kinds of error may say."""
    # TensorFlow itself says it by any class
    errors = (TypeError, ValueError, tf.errors.OpError) if tf in (tape_api, graph_api) else Exception
    try:
        result = eval(f"tf.{call}", {"tf": tf, **spelled(call, dtype, spelling, tf)})
        results = tf.nest.flatten(result)
        if tf is graph_api:
            with graph_api.Session() as session:
                results = session.run(results)
        else:
            results = [r.numpy() for r in results]
        return [np.asarray(r, object if isinstance(r, bytes) else None) for r in results]
    except errors:
        return REFUSED


def answered(tf: Any, call: str, dtype: str, spelling: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if tf is not graph_api:
            return answer(tf, call, dtype, spelling)
        with graph_api.Graph().as_default():
            return answer(tf, call, dtype, spelling)


def agree(a: Any, b: Any, tolerance: float = 0.0) -> bool:
    if a is REFUSED or b is REFUSED:
        return a is b
    if [(x.dtype, x.shape) for x in a] != [(x.dtype, x.shape) for x in b]:
        return False
    for x, y in zip(a, b, strict=True):
        if x.dtype.kind in "fc" and tolerance:
            near = max(tolerance, 1e-2 if x.dtype.itemsize == 2 else 0.0)
            if not np.allclose(x, y, rtol=near, atol=near, equal_nan=True):
                return False
        elif not np.array_equal(x, y, equal_nan=x.dtype.kind in "fc"):
            return False
    return True


def spellings(dtype: str) -> Iterator[str]:
    yield from ("tensor", "array", "scalars")
    if dtype in OF_PYTHON:
        yield "python"


@pytest.mark.parametrize("call", CALLS)
def test_however_operands_are_spelled_there_is_one_answer(call: str) -> None:
    modules = (tape_api,) if call.startswith(OF_VERSION_2) else (tape_api, graph_api)
    for dtype in SPELLED:
        first = answered(tape_api, call, dtype, "tensor")
        for tf in modules:
            for spelling in spellings(dtype):
                found = answered(tf, call, dtype, spelling)
                assert agree(found, first), f"{tf.__name__}, {dtype} as {spelling}: {found}, not {first}"


def test_every_function_that_takes_tensors_is_called() -> None:
    called = {call.partition("(")[0] for call in CALLS}
    for row, names in TABLE:
        function = row.function if isinstance(row, Old) else row
        takes_tensors = function.args if isinstance(function, Op) else getattr(function, "__operands__", None)
        if takes_tensors and called.isdisjoint(names.split()):
            assert names.split()[0] in CALLED_ELSEWHERE, names


@pytest.mark.peer
@pytest.mark.parametrize("call", CALLS)
def test_the_answer_is_that_of_tensorflow(call: str) -> None:
    tf = pytest.importorskip("tensorflow")
    name = call.partition("(")[0]
    found: dict[str, list[str]] = {"wider": [], "narrower": [], "otherwise": []}
    for dtype in DTYPES:
        ours, theirs = (answered(module, call, dtype, "tensor") for module in (tape_api, tf))
        if not agree(ours, theirs, 1e-3):
            kind = "wider" if theirs is REFUSED else "narrower" if ours is REFUSED else "otherwise"
            found[kind].append(dtype)
    for kind, table in (("wider", WIDER), ("narrower", NARROWER), ("otherwise", OTHERWISE)):
        meant = table.get(call, table.get(name, "")).split()
        assert set(found[kind]) <= set(meant), f"{kind} than TensorFlow: {found[kind]}, meant are {meant}"
