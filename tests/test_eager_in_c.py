"""Eager ops and their recording: the extension does what Python does (`engine/core/_eager.c`)."""

from __future__ import annotations

import gc
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tape_api as tf
from engine.core.eager import EagerTensor, in_c
from engine.core.op import Op
from engine.core.value import Value
from engine.ops.arithmetic import add, multiply
from engine.replay import Structure

needs_c = pytest.mark.skipif(in_c is None, reason="without the extension there is nothing to compare")

OPERANDS: list[Any] = [
    np.arange(6.0).reshape(2, 3),
    np.arange(6, dtype=np.float32).reshape(2, 3)[:, ::-1],
    np.arange(6, dtype=np.int32).reshape(2, 3),
    np.array([[True, False, True]]),
    np.float64(1.5),
    np.ones((2, 3), np.complex64),
    2, 0.1, -1, 1e300, 10**400, True, "a", None, [1.0, 2.0, 3.0],
]  # fmt: skip
KEYS: list[Any] = [
    0, -1, 5, slice(1, None), slice(None, None, -1), ..., None, (), (0, 1), (slice(None), 1), (..., None, 0), (0, 0, 0),
    (slice(None, None, 0),), True, 1.0, [0, 1], np.array([True, False]), np.int64(1), (..., ...), 10**30,
    slice(np.int64(0), 1), "a",
]  # fmt: skip
NAMES = (
    "matmul",
    "rmatmul",
    "add",
    "radd",
    "sub",
    "rsub",
    "mul",
    "rmul",
    "mod",
    "rmod",
    "floordiv",
    "pow",
    "lt",
    "le",
    "gt",
    "ge",
)


def outcome(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a call gives, with its bits; or the error."""
    try:
        found = function(*arguments)
    except Exception as error:  # noqa: BLE001 - errors are compared too
        return type(error), str(error), type(error.__cause__)
    if not isinstance(found, EagerTensor):
        return found
    array = np.asarray(found._array)
    return type(found), found.dtype, array.shape, array.strides, array.tobytes()


@needs_c
@pytest.mark.parametrize("name", NAMES)
def test_an_operator_does_what_that_of_python_does(name: str) -> None:
    quick, slow = getattr(EagerTensor, f"__{name}__"), getattr(Value, f"__{name}__")
    assert quick.__wrapped__ is slow
    for first in OPERANDS[:6]:
        for second in [*OPERANDS, *map(tf.constant, OPERANDS[:6])]:
            x = tf.constant(first)
            assert outcome(quick, x, second) == outcome(slow, x, second), (first, second)


@needs_c
def test_an_index_selects_what_the_op_selects() -> None:
    for array in OPERANDS[:6]:
        x = tf.constant(array)
        for key in KEYS:
            assert outcome(EagerTensor.__getitem__, x, key) == outcome(Value.__getitem__, x, key), (array, key)
    words = tf.constant(["a", "b"])
    assert outcome(EagerTensor.__getitem__, words, 1) == outcome(Value.__getitem__, words, 1)


def test_what_is_recorded() -> None:
    x, y = tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        total, rest, parts, compared = add(x, y), x[1:], tf.split(x, 2), x > y
        y + y
    found = [(n.op.type, n.inputs[0] is x, n.params, n.outputs) for n in tape._tape.nodes]
    assert [f[:3] for f in found[:2]] == [("AddV2", True, {}), ("StridedSlice", True, {"spec": ((1, None, None),)})]
    assert [list(map(id, f[3])) for f in found] == [[id(total)], [id(rest)], list(map(id, parts))]
    # what comes from tracked values without a derivative is kept beside the nodes
    assert [node.outputs[0] is compared for _, node in tape._tape.beside.values()] == [True]


@needs_c
def test_variables_are_read_and_recorded_as_python_does() -> None:
    v, w = tf.Variable([[1.0, 2.0], [3.0, 4.0]]), tf.Variable([0.5, 0.25], trainable=False)
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    programs: list[tuple[str, Any, Any]] = [
        *[("__mul__", v, v), ("__add__", v, w), ("__radd__", v, x), ("__add__", x, v), ("__matmul__", x, v)],
        *[("__neg__", v, None), ("__mul__", v, 0.5), ("__rsub__", v, 2), ("__gt__", v, w), ("__truediv__", w, v)],
        ("__mul__", w, [1.0, 2.0]),
    ]
    for name, first, second in programs:
        given = (first,) if second is None else (first, second)
        keys, found = [], []
        for method in (getattr(type(first), name), getattr(Value, name)):
            with tf.GradientTape(persistent=True) as tape:
                found.append(outcome(method, *given))
            keys.append(Structure(tape._tape.nodes).key)
            assert [u.name for u in tape.watched_variables()] == (["Variable:0"] if any(g is v for g in given) else [])
        assert found[0] == found[1], name
        assert keys[0] == keys[1], name
    with tf.GradientTape() as tape:
        y = multiply(x, v)
    assert tape.gradient(y, v).numpy().tolist() == x.numpy().tolist()


def recordings() -> list[Any]:
    """Tapes with nodes of all kinds."""
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    x = tf.constant(np.arange(6.0).reshape(2, 3)[:, ::-1])
    programs: list[Callable[[], Any]] = [
        lambda: tf.reduce_sum(v * v @ v + 1.0),
        lambda: tf.concat([x[1:], x[:1] * 2.0], 0) + np.ones(3),
        lambda: tf.reshape(tf.transpose(x), [-1]) * 0.5,
        lambda: [part * 2.0 for part in tf.split(x, 3, axis=1)],
        lambda: tf.gather(x, [1, 0]) + tf.cast(v[0, 0], tf.float64),
        lambda: tf.stack([x[i, i] for i in range(2)] * 20),
    ]
    tapes = []
    for program in programs:
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            program()
        tapes.append(tape)
    return tapes


def test_the_key_of_a_recording_is_that_of_its_nodes() -> None:
    for tape in recordings():
        nodes = tape._tape.nodes
        one, other = Structure(nodes), Structure(list(nodes))
        assert one.key == other.key
        assert list(map(type, one.key)) == list(map(type, other.key))
        assert one.slots == other.slots
        assert list(map(id, one.values)) == list(map(id, other.values))


def test_ops_are_silent_about_infinities_and_numpy_is_not() -> None:
    x = tf.constant([-1.0, 0.0])
    # tf.sqrt and x / x call NumPy's ufuncs, and so does an op on plain arrays
    assert np.isnan(tf.sqrt(x).numpy()[0])
    assert np.isnan((x / x).numpy()[1])
    assert np.isinf((x * 1e300).numpy()[0])
    assert np.isinf(multiply(np.float64([1e300]), np.float64([1e300]))[0])
    with pytest.raises(RuntimeWarning):
        np.sqrt(np.array([-1.0]))
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        tf.sqrt(x)


def test_an_error_names_the_op_and_what_caused_it() -> None:
    with pytest.raises(ValueError, match=r"add.*\(2,\).*\(3,\)") as caught:
        tf.constant([1.0, 2.0]) + tf.constant([1.0, 2.0, 3.0])
    assert isinstance(caught.value.__cause__, ValueError)
    with pytest.raises(TypeError):
        tf.constant([1.0]) + tf.constant([1])


def test_a_kernel_that_fails_leaves_no_trace() -> None:
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        for _ in range(3):
            with pytest.raises(ValueError, match="add"):
                x + tf.constant([1.0, 2.0, 3.0])
    assert not tape._tape.nodes.log
    assert len(tape._tape.tracked) == 1


def test_nothing_is_kept_or_lost() -> None:
    """References are counted right: what ops make goes when nobody holds it, and what they take stays."""
    x = tf.constant(np.ones(3))
    array = x._array

    def work() -> None:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = (x * 2.0 + x)[1:] / x[0]
        tape.gradient(y, x)
        for wrong in (None, "a", [1, [2]]):
            with pytest.raises((TypeError, ValueError)):
                x + wrong  # type: ignore[operator]
        with pytest.raises(IndexError):
            x[7]

    for _ in range(8):
        work()
    gc.collect()
    before = len(gc.get_objects()), sys.getrefcount(array), sys.getrefcount(x), sys.getrefcount(add)
    for _ in range(50):
        work()
    gc.collect()
    after = len(gc.get_objects()), sys.getrefcount(array), sys.getrefcount(x), sys.getrefcount(add)
    assert after[0] - before[0] < 50
    assert after[1:] == before[1:]


def test_each_thread_is_recorded_by_its_own_tapes() -> None:
    found: dict[int, list[float]] = {}

    def work(k: int) -> None:
        x = tf.constant(np.full(3, float(k)))
        for _ in range(20):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = x
                for _ in range(20):
                    y = y * 1.0 + x
            found[k] = tape.gradient(y, x).numpy().tolist()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {k: [21.0] * 3 for k in range(4)}


@needs_c
def test_the_extension_refuses_what_it_cannot_take() -> None:
    x = tf.constant(1.0)
    for call in (
        lambda: x._enter(1, (x,), {}),
        lambda: x._enter(add, [x, x], {}),
        lambda: in_c.structure([1, 2, 3, 4]),
        lambda: in_c.structure((1,)),
        lambda: in_c.structure([add, (x, x), {}, 1.0]),
        lambda: in_c.places((x,), [x]),
        lambda: in_c.arrays_of([x], (0,)),
        lambda: in_c.operator(1, len),
        lambda: Op.__call__(1, x),
    ):
        with pytest.raises(TypeError):
            call()
    for bad in (1, -1, 2**70):
        with pytest.raises((IndexError, OverflowError)):
            in_c.arrays_of([x], [bad])
    assert in_c.places([x, add, x], [x, 1, add]) == [2, None, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert in_c.structure([]) == ([], ())
