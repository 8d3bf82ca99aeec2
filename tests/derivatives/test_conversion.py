"""What becomes of Python and NumPy data, and which dtypes go together: SEMANTICS.md, "Sessions, shapes, dtypes"."""

import pickle
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from engine.core.dtypes import ALL, DType, as_dtype, float32, float64, int32
from engine.core.eager import EagerTensor
from engine.core.trace import Trace
from engine.core.value import as_array
from engine.ops.arithmetic import add, maximum
from engine.ops.linalg import matmul
from engine.ops.trig import sin
from engine.runtime.errors import DTypeError, InvalidArgumentError, ShapeError
from tests.support import array

F32 = EagerTensor(np.array([1.0, 2.0], np.float32))
F64 = EagerTensor(np.array([1.0, 2.0]))
I32 = EagerTensor(np.array([1, 2], np.int32))


# ---- conversion ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (1.0, "float32"),
        (1, "int32"),
        (2**40, "int64"),
        (True, "bool"),
        (1j, "complex128"),
        ([1, 2.5], "float32"),
        ([[1, 2], [3, 4]], "int32"),
        ([], "float32"),
        (np.ones(1), "float64"),
        (np.float64(1.0), "float64"),
        (np.int8(1), "int8"),
        ([np.float64(1.0), np.float64(2.0)], "float64"),
        (EagerTensor(np.ones(2, np.float16)), "float16"),
    ],
    ids=str,
)
def test_as_array_chooses_tensorflows_dtype(value: Any, dtype: str) -> None:
    assert as_array(value).dtype == dtype


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(1, "float64"), (1.5, "float16"), (1.5, "complex64"), (np.arange(2), "float32"), (np.ones(2), "float32")],
    ids=str,
)
def test_as_array_with_a_dtype_given(value: Any, dtype: str) -> None:
    assert as_array(value, dtype).dtype == dtype


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(1.5, "int32"), (1j, "float64"), (1, "bool"), (300, "int8"), (-1, "uint8"), ("a", "float32")],
    ids=str,
)
def test_as_array_changes_no_kind_of_number(value: Any, dtype: str) -> None:
    with pytest.raises(DTypeError, match=f"scale: Cannot convert .* to a tensor of dtype {dtype}"):
        as_array(value, dtype, "scale")


def test_as_array_refuses_none_and_ragged_lists() -> None:
    with pytest.raises(ValueError, match="None values not supported"):
        as_array(None)
    with pytest.raises(ValueError, match="non-rectangular Python sequence"):
        as_array([[1.0], [1.0, 2.0]])
    with pytest.raises(DTypeError, match="Cannot convert"):
        as_array(np.datetime64("2020-01-01"))


def test_dtypes_have_one_object_each() -> None:
    for dtype in ALL:
        assert as_dtype(dtype.name) is as_dtype(dtype.numpy) is as_dtype(dtype.as_numpy_dtype) is dtype
        assert pickle.loads(pickle.dumps(dtype)) is dtype
        assert dtype == dtype.name and dtype == dtype.numpy and hash(dtype) == hash(as_dtype(dtype.name))
    assert as_dtype(float) is float32 and as_dtype(int) is int32 and as_dtype("double") is float64
    with pytest.raises(DTypeError, match="not a supported dtype"):
        as_dtype("S3")


def test_dtype_objects_print_as_tensorflows() -> None:
    assert (repr(float32), str(float32)) == ("tf.float32", "<dtype: 'float32'>")
    assert isinstance(F32.dtype, DType)


# ---- operators and their dtypes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("other", [1.5, 1, np.float64(1.5), np.array([1.0, 2.0]), np.arange(2), [1, 2.5]], ids=repr)
def test_the_other_operand_takes_the_tensors_dtype(other: Any) -> None:
    for result in (F32 + other, other + F32, F32 * other, other - F32):
        assert isinstance(result, EagerTensor)
        assert result.dtype is float32


def test_integers_do_not_become_floats() -> None:
    with pytest.raises(DTypeError, match=r"Cannot convert .*1\.5.* to a tensor of dtype int32"):
        I32 + 1.5
    with pytest.raises(DTypeError, match=r"add: .*tf\.cast"):
        add(I32, 1.5)
    assert (I32 / I32).dtype is float64
    assert (I32 / 2).dtype is float64
    assert (I32 + 1).dtype is int32


def test_nothing_is_promoted_silently() -> None:
    for first, second in ((F32, F64), (F64, F32), (I32, F32)):
        with pytest.raises(
            DTypeError, match=f"add: .*`x` has {first.dtype.name} and `y` has {second.dtype.name}.*tf.cast"
        ):
            first + second
        with pytest.raises((TypeError, ValueError)):
            Trace().capture(first) + second
    with pytest.raises(DTypeError, match=r"sin: argument `x` must have one of the dtypes .*; got int32"):
        sin(I32)


def test_python_numbers_in_ops_take_the_tensors_dtype() -> None:
    assert maximum(F32, 0.5).dtype is float32
    assert array(maximum(1.5, F32)).tolist() == [1.5, 2.0]


def test_errors_of_kernels_are_explained_by_the_op() -> None:
    with pytest.raises(ShapeError, match=r"add: Incompatible shapes for broadcasting: \(2,\) and \(3,\)"):
        F32 + np.ones(3, np.float32)
    with pytest.raises(InvalidArgumentError, match="matmul: argument `a` must have rank 2 or more, got float32"):
        matmul(F32, F32)


@pytest.mark.parametrize("make", ["constant", "convert_to_tensor", "Variable"])
@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (np.array([1.5, -2.5]), "int32", [1, -2]),
        (np.float64(1.5), "int32", 1),
        (np.array([300]), "uint8", [44]),
        (np.array([1, 0]), "bool", [True, False]),
        (np.array([True]), "float32", [1.0]),
        ([1.5], "int32", None),
        ([1], "bool", None),
        ([300], "uint8", None),
    ],
)
def test_numpy_data_are_cast_and_python_data_must_fit_in_both_modes(
    make: str, value: Any, dtype: str, expected: Any
) -> None:
    def eager() -> Any:
        return getattr(tape_api, make)(value, dtype=dtype).numpy()

    def graph() -> Any:
        with graph_api.Graph().as_default(), graph_api.Session() as session:
            made = getattr(graph_api, make)(value, dtype=dtype)
            session.run(graph_api.global_variables_initializer())
            return session.run(made)

    for way in (eager, graph):
        if expected is None:
            with pytest.raises(TypeError, match="Cannot convert"):
                way()
        else:
            found = way()
            assert (found.tolist(), found.dtype.name) == (expected, dtype)


def test_of_python_data_the_first_decides_the_dtype() -> None:
    for tf in (tape_api, graph_api):
        assert (tf.add(1.5, 1).dtype, tf.multiply([1.0], [2]).dtype) == (tf.float32,) * 2


# ---- casts -----------------------------------------------------------------------------------------------------------

UNFIT = (-1.0, -0.5, 127.9, 128.0, -129.0, 300.0, 2.0**31 - 1, 2.0**31, -(2.0**31), 3e9, -3e9, 2.0**63, 2.0**64, 1e300)


@pytest.mark.parametrize("source", ["f2", "f4", "f8", "c8"])
@pytest.mark.parametrize("target", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
@pytest.mark.filterwarnings("ignore:(overflow|invalid value) encountered in cast")
def test_a_cast_to_integers_has_one_rule_in_every_place_and_mode(source: str, target: str) -> None:
    limits = np.iinfo(target)
    function = tape_api.function(lambda x: tape_api.cast(x + 0, target))
    function(tape_api.constant(np.ones(67, source)))
    for number in (*UNFIT, np.nan, np.inf, -np.inf):
        x = np.full(67, number, source)
        there = float(x[0].real)
        wanted = 0 if np.isnan(there) else int(min(max(there, int(limits.min)), int(limits.max)))
        with graph_api.Graph().as_default(), graph_api.Session() as session:
            fed = graph_api.placeholder(x.dtype, [67])
            cast = graph_api.cast(fed + 0, target)
            found = [session.run(cast, {fed: value}) for value in (np.ones_like(x), x, x)]
        found += [tape_api.cast(x, target), function(x), function(x), tape_api.cast(x[0], target)]
        assert {int(i) for part in found[1:] for i in np.ravel(part)} == {wanted}, (number, found)
