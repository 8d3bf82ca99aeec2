"""Eager ops and their recording: the extension does what Python does (`engine/core/_eager.c`)."""

import gc
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tape_api as tf
from engine.closed.replay import Structure
from engine.core.eager import EagerTensor, in_c
from engine.core.op import Op
from engine.core.tape import Recording
from engine.core.value import Value, address
from engine.ops.arithmetic import add, multiply
from engine.runtime.structs import replace
from tests.processes import printed
from tests.support import at_once
from tests.tapes import gradient_in, watching

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
    "matmul", "rmatmul", "add", "radd", "sub", "rsub", "mul", "rmul", "mod", "rmod", "floordiv", "pow", "lt", "le",
    "gt", "ge",
)  # fmt: skip


def outcome(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a call gives, with its bits; or the error."""
    try:
        found = function(*arguments)
    except Exception as error:  # noqa: BLE001 - errors are compared too
        return type(error), str(error), type(error.__cause__)
    if not isinstance(found, EagerTensor):
        return found
    array = np.asarray(found._array)
    return type(found), found.dtype, (type(found._array), array.shape), array.strides, array.tobytes()


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
    assert [node.outputs[0] is compared for _, node in tape._tape.nondifferentiable.values()] == [True]


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
    tape, y = watching((), lambda: multiply(x, v))
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


def test_values_of_a_recording_are_numbered_as_in_python() -> None:
    for tape in recordings():
        nodes = tape._tape.nodes
        one, other = Structure(nodes), Structure(list(nodes))
        assert one.slots == other.slots
        assert list(map(id, one.values)) == list(map(id, other.values))


PARAMS: list[Any] = [
    *[0, 1, 0.0, -0.0, 1.0, True, False, None, ..., "", "a", "b", 2**40, 2**70, 2**70 + 1, -(2**70), float("inf")],
    *[(), (0,), (0.0,), (-0.0,), (False,), (0, 0), ((0,),), ((0,), 0), (0, (0,)), (None, 0), ((None, 0),)],
    *[("a", (1, ...)), float("nan"), (float("nan"),), tf.float32, tf.float64, 1j, 1 + 0j, (tf.float32, 1)],
]  # fmt: skip


def logs() -> list[list[Any]]:
    """Logs of nodes that differ a little."""
    x, y, one = tf.constant([1.0, 2.0]), tf.constant([1.0, 2.0]), tf.constant(1.0)
    arrays = [
        *[np.ones(2), np.ones(2, np.float32), np.ones(1), np.ones((2, 1)), np.ones((1, 2)), np.ones((2, 2)).T],
        *[np.array(1.0), np.ones((2, 2, 2)), np.ones((2, 2, 2)).transpose(0, 2, 1), np.ones(2, ">f8")],
        *[np.array(["a"]), np.array(["ab"]), np.array(["a", "b"]), np.array([b"a"], object)],
        *[np.zeros(2, "M8[s]"), np.zeros(2, "M8[D]")],
    ]  # fmt: skip
    found = [[add, (x, y), {"p": param}, x * y] for param in PARAMS]
    found += [[add, (x, y), {"q": 0}, x * y], [add, (x, y), {"p": 0, "q": 0}, x * y], [add, (), {}, x * y]]
    found += [[add, inputs, {}, x * y] for inputs in ((x, y), (y, x), (x, x), (x,), (x, x, y), (x, y, x), (one, x))]
    found += [[op, (x,), {}, out] for op in (add, multiply) for out in (x + y, one + one, x, tf.constant([[1.0, 2.0]]))]
    found += [[add, (given,), {}, x * y] for given in [*arrays, *map(EagerTensor, arrays[:7]), (2,), (2, 3), 2]]
    z = x * y
    found += [[add, (x, y), {}, z, add, inputs, {}, z * y] for inputs in ((x, z), (z, x), (y, z), (z, z))]
    return found


@needs_c
def test_keys_are_equal_where_those_of_python_are() -> None:
    """Of the same logs, made twice so that nothing in them is the same object."""
    both = [*logs(), *logs()]
    recorded = []
    for log in both:
        recording = Recording()
        recording.log += log
        recorded.append(recording)
    ours = [Structure(recording).key for recording in recorded]
    theirs = [Structure(list(recording)).key for recording in recorded]
    for i, (key, expected) in enumerate(zip(ours, theirs, strict=True)):
        assert key == ours[i - len(both) // 2] and hash(key) == hash(ours[i - len(both) // 2]), both[i]
        same = [j for j, other in enumerate(ours) if key == other]
        assert same == [j for j, other in enumerate(theirs) if repr(expected) == repr(other)], both[i]
    assert ours[0] != theirs[0]
    assert (ours[0] == 1) is False


@needs_c
def test_a_key_outlives_what_it_was_made_of() -> None:
    x = tf.constant([1.0, 2.0])

    def key(name: str) -> Any:
        recording = Recording()
        op = replace(add, name=name)
        recording.log += [op, (x, x), {"p": ("a" + name, 2**70)}, x * x]
        return Structure(recording).key

    kept = [key(str(k)) for k in range(50)]
    gc.collect()
    assert len(set(kept)) == 50
    assert all(a != b for i, a in enumerate(kept) for b in kept[:i])


@needs_c
def test_a_parameter_that_refuses_leaves_things_as_they_were() -> None:
    x = tf.constant([1.0, 2.0])
    nested: Any = ()
    for _ in range(100_000):
        nested = (nested,)
    for param, error in (
        ([1], TypeError),
        (np.float64(1.0), TypeError),
        ((1, (len,)), TypeError),
        (nested, RecursionError),
    ):
        for _ in range(3):
            with pytest.raises(error):
                in_c.structure([add, (x, x), {"p": param}, x])
            assert len(in_c.structure([add, (x, x), {}, x + x])[0]) == 2
    before = sys.getrefcount(add)
    for _ in range(10):
        with pytest.raises(TypeError):
            in_c.structure([add, (x, x), {"p": [1]}, x])
    assert sys.getrefcount(add) == before


@needs_c
def test_a_structure_may_be_asked_for_while_one_is_made() -> None:
    x = tf.constant([1.0, 2.0])
    inner = []

    class Odd(tuple[Any, ...]):
        """A parameter that Python is asked about."""

        __slots__ = ()

        def __iter__(self) -> Any:
            inner.append(in_c.structure([multiply, (x, x), {"p": (1, 2)}, x])[1])
            log.clear()
            return iter(())

    log = [add, (x, x), {"p": Odd((1,)), "q": 3}, x, add, (x, x), {}, x]
    values, key = in_c.structure(log)
    assert len(values) == 3
    assert len(inner) == 1 and inner[0] != key
    assert inner[0] == in_c.structure([multiply, (x, x), {"p": (1, 2)}, x])[1]


@needs_c
def test_tracked_values_are_found_by_their_addresses() -> None:
    tracked = in_c.Tracked()
    values = [EagerTensor(np.float64(k)) for k in range(1000)]
    assert address(values[0]) not in tracked
    for n, x in enumerate(values):
        assert len(tracked) == n
        before = sys.getrefcount(x)
        tracked[address(x)] = x
        tracked[address(x)] = x
        assert sys.getrefcount(x) == before + 1
    other = tracked.copy()
    assert all(address(x) in t for x in values for t in (tracked, other))
    further = EagerTensor(np.float64(1.0))
    other[address(further)] = further
    assert (len(tracked), len(other)) == (1000, 1001)
    assert address(further) not in tracked
    assert -1 not in tracked and 1 not in tracked
    for wrong in ("a", None, 1.0):
        with pytest.raises(TypeError):
            wrong in tracked  # noqa: B015
        with pytest.raises(TypeError):
            tracked[wrong] = values[0]
    with pytest.raises(OverflowError):
        2**70 in tracked  # noqa: B015
    with pytest.raises(ValueError, match="address"):
        tracked[1] = values[0]
    with pytest.raises(ValueError, match="address"):
        del tracked[address(values[0])]
    before = sys.getrefcount(further)
    short = [other.copy() for _ in range(3)]
    assert sys.getrefcount(further) == before + 3
    short.clear()
    assert sys.getrefcount(further) == before


RECORDED = """
import gc, weakref
import tape_api as tf
x = tf.constant(1.0)
with tf.GradientTape(persistent=True) as tape:
    tape.watch(x)
    before, y = len(gc.get_objects()), x
    for _ in range(500):
        y = y * x
    print(len(gc.get_objects()) - before < 50)
    y.tape = tape
    z = y * x + y
gone = weakref.ref(y), weakref.ref(z)
del x, y, z, tape
gc.collect()
print([ref() for ref in gone])
"""


@needs_c
def test_the_collector_looks_at_recorded_operands_once_they_have_attributes() -> None:
    assert printed(RECORDED) == "True\n[None, None]\n"


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
        result = gradient_in(x, lambda: (x * 2.0 + x)[1:] / x[0])
        result.me = [result]  # a cycle: the collector has to find it
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

    at_once(work, range(4))
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
        assert in_c.structure([])[0] == []
