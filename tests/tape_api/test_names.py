"""The table of names, and the namespaces made of it."""

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import tape_api as tf
from engine.core.op import Op
from tape_api.names import TABLE
from tests.processes import printed


def find(path: str) -> Any:
    here: Any = tf
    for part in path.split("."):
        here = getattr(here, part)
    return here


def test_rows_of_the_table() -> None:
    for function, names in TABLE:
        values = [find(path) for path in names.split()]
        assert all(v is values[0] for v in values), f"all names of a row are one function: {names}"
        first, *_ = names.split()
        assert values[0].__doc__ and values[0].__name__ == first.rpartition(".")[2], names
        function = getattr(function, "function", function)
        if not isinstance(function, Op):
            assert "name" not in inspect.signature(function).parameters, f"the engine knows no names: {names}"


def test_functions_take_a_name() -> None:
    assert tf.sin(0.0, name="a").numpy() == tf.sin(0.0, "a").numpy() == 0.0
    assert tf.reduce_sum([1.0, 2.0], axis=0, keepdims=True, name="total").shape == (1,)
    assert tf.matmul([[1.0]], [[2.0]], name="product").numpy() == [[2.0]]


def test_functions_take_their_arguments_by_keyword() -> None:
    assert tf.add(x=1.0, y=tf.constant(2.0)).numpy() == 3.0
    assert tf.multiply(tf.constant(2.0), y=3.0).numpy() == 6.0
    assert tf.reshape(tensor=[1, 2], shape=[2, 1]).shape == (2, 1)
    assert tf.concat(values=[[1], [2]], axis=0).shape == (2,)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tf.sin(), "sin.* misses the argument `x`|missing 1 required"),
        (lambda: tf.sin(1.0, 2.0, 3.0), "takes 1 positional arguments, got 3"),
        (lambda: tf.sin(1.0, y=2.0), "got an unexpected keyword argument 'y'; its arguments are x, name"),
        (lambda: tf.add(1.0, x=2.0), "got multiple values for argument 'x'"),
        (
            lambda: tf.reduce_sum([1.0], axes=0),
            "got an unexpected keyword argument 'axes'; its arguments are input_tensor",
        ),
        (lambda: tf.reduce_sum(tf.constant([1.0]), axes=0), "unexpected keyword argument 'axes'"),
    ],
)
def test_wrong_arguments(call: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        call()


@pytest.mark.parametrize("call", [lambda: tf.sin(None), lambda: tf.add(1.0, None), lambda: tf.stack([1.0, None])])
def test_none_is_no_tensor(call: Any) -> None:
    with pytest.raises(ValueError, match=r"None values not supported"):
        call()


@pytest.mark.parametrize("path", ["nonsense", "math.nonsense", "nn.nonsense", "linalg.nonsense"])
def test_missing_names_are_missing(path: str) -> None:
    parent, _, name = f"tape_api.{path}".rpartition(".")
    with pytest.raises(AttributeError, match=rf"module '{parent}' has no attribute '{name}': dualgrad's tape_api"):
        find(path)
    assert not hasattr(tf, "nonsense")


def test_parts_can_be_imported() -> None:
    printed("from tape_api.math import log; from tape_api import nn; import tape_api.linalg as la; la.inv; nn.relu")


def test_dtypes_are_the_same_everywhere() -> None:
    assert tf.dtypes.float32 is tf.float32 and tf.as_dtype("float64") is tf.double and tf.half is tf.float16
    assert tf.dtypes.as_dtype(float) is tf.float32 and isinstance(tf.bool, tf.DType)
    assert tf.dtypes.cast(1, tf.float32).dtype is tf.float32


def test_ops_still_reject_what_they_should() -> None:
    cases = (
        (lambda: tf.matmul([1.0, 2.0], [1.0, 2.0]), "matmul: argument `a` must have rank 2 or more"),
        (lambda: tf.add([1.0, 2.0], [1.0, 2.0, 3.0]), r"Incompatible shapes for broadcasting: \(2,\) and \(3,\)"),
        (lambda: tf.reshape([1.0, 2.0], [3]), "reshape: .* with 2 elements"),
        (lambda: tf.gather([1.0, 2.0], [2]), r"gather: indices\[0\] = 2 is not in \[0, 2\)"),
        (lambda: tf.gather([1.0, 2.0], [-1]), r"gather: indices\[0\] = -1"),
        (lambda: tf.reduce_sum([1.0], axis=1), r"reduce_sum: Argument `axis` = 1 not in range \[-1, 1\)"),
        (lambda: tf.concat([[1.0], [[1.0]]], 0), "concat"),
    )
    for call, message in cases:
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            call()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: tf.squeeze([[1, 2, 3]], [1]), r"Can not squeeze dim\[1\], expected a dimension of 1, got 3"),
        (lambda: tf.linalg.matrix_transpose([1]), "should be a "),
        (lambda: tf.boolean_mask([1, 2], [[True], [False]]), "incompatible"),
        (lambda: tf.boolean_mask(1, True), "mask.*scalar"),
        (lambda: tf.expand_dims(1, axis=[0, 1]), "must be a tensor with a single value"),
        (lambda: tf.gather([1, 2, 3], [[7]]), r"indices\[0,0\] = 7 is not in \[0, 3\)"),
        (
            lambda: tf.gather_nd([1, 2, 3], [[[0], [7]]]),
            r"indices\[0,1\] = \[7\] does not index into param shape \[3\]",
        ),
        (lambda: tf.scatter_nd([[9]], [1.0], [4]), r"indices\[0\] = \[9\] does not index into shape \[4\]"),
        (lambda: tf.math.invert_permutation([1, 2, 0, -1]), "-1 is not between"),
        (lambda: tf.math.invert_permutation([0, 1, 1]), "1 is duplicated"),
        (lambda: tf.math.segment_sum([1.0, 2.0], [1, 0]), "segment ids are not increasing"),
        (lambda: tf.argmax(tf.zeros([0])), "Reduction axis 0 is empty"),
        (lambda: tf.stack([[[1, 2]]], axis=3), r"Argument `axis` = 3 not in range \[-3, 3\)"),
        (lambda: tf.split(tf.ones([5]), [2, 2]), "Sum of output sizes"),
        (lambda: tf.pad([1], [[-1, 2]]), "must be non-negative"),
        (lambda: tf.pad([1], [[0, 0]], mode="weird"), "Unknown padding mode"),
        (lambda: tf.sequence_mask([1], [1, 2]), "must be scalar"),
        (lambda: tf.constant([[1], [2, 3]]), "non-rectangular Python sequence"),
        (lambda: tf.bitcast(tf.constant([[1, 2]], tf.uint8), tf.int64), "Cannot bitcast"),
        (lambda: tf.math.bincount([-1, 2]), "Input arr must be non-negative"),
        (lambda: tf.norm([[1.0]], "bogus"), "'ord' must be a supported"),
        (lambda: tf.norm([[1.0]], "fro", axis=[0]), "must be a pair"),
        (lambda: tf.norm(tf.ones([1, 1, 1]), axis=[0, 1, 2]), "or a pair of integers"),
        (lambda: tf.constant([1, 2])[::0], "strides"),
        (lambda: tf.ones([1], tf.string), "no 1 among strings"),
    ],
)
def test_errors_have_the_words_by_which_programs_know_tensorflows(call: Callable[[], Any], words: str) -> None:
    with pytest.raises((tf.errors.InvalidArgumentError, ValueError), match=words):
        call()


def test_zeros_among_strings_are_empty_ones() -> None:
    assert tf.zeros([2], tf.string).numpy().tolist() == [b"", b""]
    assert tf.zeros_like([["a", "b"]]).numpy().tolist() == [[b"", b""]]
