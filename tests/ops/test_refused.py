"""Bad calls that TensorFlow refuses: in eager calls, cold and warm, and in graphs, also of unknown shapes."""

from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api

VALUES = {
    "x": np.arange(6, dtype=np.float32).reshape(2, 3),
    "n": np.arange(6, dtype=np.int32).reshape(2, 3),
    "v": np.array([1.0, 2.0, 3.0], np.float32),
    "b": np.array([[True, False, True]] * 2),
    "i": np.array([0, 1], np.int32),
    "one": np.ones((1, 3, 1), np.float32),
    "image": np.arange(9, dtype=np.float32).reshape(1, 3, 3, 1),
    "filters": np.ones((4, 4, 1, 1), np.float32),
}
WITH_AXIS = """
reduce_sum(x, AXIS) reduce_mean(x, AXIS) reduce_max(x, AXIS) reduce_min(x, AXIS) reduce_prod(x, AXIS)
reduce_any(b, AXIS) reduce_all(b, AXIS) reduce_logsumexp(x, AXIS) math.reduce_std(x, AXIS)
math.reduce_variance(x, AXIS) argmax(x, AXIS) argmin(x, AXIS) cumsum(x, AXIS) math.cumprod(x, AXIS)
nn.softmax(x, AXIS) nn.log_softmax(x, AXIS) expand_dims(x, AXIS) squeeze(one, AXIS) stack([x, x], AXIS)
unstack(x, 2, AXIS) concat([x, x], AXIS) split(x, 1, AXIS) gather(x, i, axis=AXIS) reverse(x, [AXIS])
roll(x, 1, AXIS) sort(x, AXIS) argsort(x, AXIS) one_hot(i, 3, axis=AXIS) repeat(x, 2, AXIS)
math.count_nonzero(x, AXIS) norm(x, axis=AXIS) nn.l2_normalize(x, AXIS) nn.moments(x, [AXIS])
nn.softmax_cross_entropy_with_logits(labels=x, logits=x, axis=AXIS) boolean_mask(x, [True], axis=AXIS)
reverse_sequence(x, i, seq_axis=AXIS) tensordot(x, x, axes=[[AXIS], [0]]) clip_by_norm(x, 1.0, AXIS)
"""
NAMESPACES = ("math", "linalg", "eye", "ones")
AXIS_CALLS = WITH_AXIS.replace("\n", " ").replace(") ", ")|").strip("| ").split("|")
BAD_CALLS = """
transpose(x, [0.0, 1.0]) | transpose(x, [0, 0]) | transpose(x, [0]) | transpose(x, [0, 2]) | reduce_sum(x, [0, 0])
reduce_sum(x, [0, -2]) | cast(x, None) | cast(x, 'nonsense') | math.top_k(x, -1) | math.top_k(x, 1.5)
math.top_k(x, 4) | one_hot([1.7], 3) | one_hot([1], 3.5) | one_hot([1], -1) | eye(2.7) | eye(-1) | eye(2, 2.5)
eye(2, -2) | split(x, [-2, 5], 1) | split(x, [1, 1], 1) | split(x, [4], 1) | split(x, [1.0, 2.0], 1)
split(x, 2, 1) | split(x, 0, 1) | split(x, -1, 1) | split(x, 1.5, 1) | split(x, [-1, -1], 1)
split(x, [1, 2], 1, num=3) | unstack(x, 3) | unstack(x, -1) | unstack(x, 2.5) | stack([x, v]) | concat([x, v], 0)
concat([], 0) | roll(x, [1, 2], 0) | roll(x, 1, [0, 1]) | roll(x, 1.5, 0) | nn.max_pool(image, 4, 1, 'VALID')
nn.max_pool(image, 4, 4, 'VALID') | nn.avg_pool(image, 4, 2, 'VALID') | nn.conv2d(image, filters, 1, 'VALID')
nn.conv2d(image, filters[:0], 1, 'SAME')
nn.max_pool(image, 0, 1, 'SAME') | nn.max_pool(image, 2, 0, 'SAME') | nn.max_pool(image, 2, 1.5, 'SAME')
reshape(x, [2.0, 3.0]) | reshape(x, [-2, 3]) | reshape(x, [-1, -1]) | reshape(x, [4, -1]) | reshape(x, -6)
zeros([-1]) | zeros([1.5]) | zeros(2.0) | fill([-1], 1.0) | tile(x, [1]) | tile(x, [-1, 1]) | tile(x, [1.5, 1])
pad(x, [[1, 1]]) | pad(x, [[-1, 1], [0, 0]]) | pad(x, [[1.5, 1], [0, 0]]) | repeat(x, -1, 0) | repeat(x, 1.5, 0)
repeat(x, [1, 2, 3], 0) | range(0, 3, 0) | linspace(0.0, 1.0, -1) | linspace(0.0, 1.0, 2.5)
broadcast_to(x, [2, 2]) | broadcast_to(x, [2.0, 3.0]) | gather(x, [5]) | gather(x, [-1]) | gather(x, [0.5])
gather(x, i, batch_dims=3) | gather(x, i, batch_dims=1.5) | gather_nd(x, [5]) | gather_nd(x, [[0, 0, 0]])
tensordot(x, x, 1.5) | tensordot(x, x, -1) | tensordot(x, x, [[0, 0], [0, 0]]) | where(b, x, [1.0, 2.0])
boolean_mask(x, [True]) | dynamic_partition(x, [0, 5], 2) | dynamic_partition(x, [0, 1], 1.5)
dynamic_partition(x, [0, 1], 0) | math.segment_sum(x, [1, 0]) | math.segment_sum(x, [0])
math.unsorted_segment_sum(x, [0, 1], -1) | math.in_top_k([0], x, 1) | math.in_top_k([0, 1], x, 1.5)
reverse_sequence(x, [1], seq_axis=1) | reverse_sequence(x, [1, 1], seq_axis=0) | nn.depth_to_space(image, 1.5)
nn.depth_to_space(image, 0) | space_to_batch_nd(image, [0, 1], [[0, 0], [0, 0]])
space_to_batch_nd(image, [1, 1], [[-1, 1], [0, 0]]) | batch_to_space(image, [1, 1], [[2, 2], [0, 0]])
batch_to_space(image, [1, 1], [[-1, 0], [0, 0]]) | n // 0 | n % 0 | math.floordiv(n, [0, 1, 1])
math.mod(n, [0, 1, 1]) | nn.sparse_softmax_cross_entropy_with_logits(labels=[[0], [1]], logits=x) | x + v[:2]
matmul(x, x) | add_n([x, v]) | nn.sparse_softmax_cross_entropy_with_logits(labels=[0], logits=x)
shape(x, out_type='float32') | signal.rfft(x, [1.5])
nn.sparse_softmax_cross_entropy_with_logits(labels=0, logits=x) | slice(x, [0.5, 0], [1, 1])
slice(x, [0, 0], [3, 3]) | one_hot(i, 2, on_value=5, off_value=0.5) | one_hot(i, 2, 1.5, 0, dtype='int32')
cast(1, 'string') | zeros([2**70]) | constant(10**400, 'float32') | range(float('nan')) | range(0.0, float('inf'))
add(1, 1.5) | zeros([True]) | clip_by_value([1j], 0, 1) | clip_by_norm([1j], 1) | linalg.tensor_diag(1.0)
nn.l2_loss([1j]) | math.real([True]) | math.unsorted_segment_sum(x, i, 1.5) | matmul(x, x, transpose_b=2)
einsum(None, x) | einsum(3, x) | pad(x, [1, 1]) | dynamic_stitch(3, [x]) | dynamic_stitch([i], 3)
tensordot(x, x, None)
matmul(np.ones((1, 1), np.int8), np.ones((1, 1), np.int8)) | negative(np.uint8(1))
math.erf(2) | math.lgamma(3) | math.reduce_std([1, 2]) | reduce_max([1 + 5j, 2]) | nn.relu([1j])
"""
CALLS = [c.strip() for line in BAD_CALLS.strip().splitlines() for c in line.split(" | ")]
AXES = [call.replace("AXIS", axis) for call in AXIS_CALLS for axis in ("True", "1.9", "1.0", "5", "-5", "'a'")]


def run(call: str, tf: Any, values: dict[str, Any]) -> Any:
    text = call if call[1] in " [" else f"tf.{call}"
    return eval(text, {"tf": tf, "np": np, **values})


def eager(call: str) -> Any:
    return run(call, tape_api, {name: tape_api.constant(a) for name, a in VALUES.items()})


@pytest.mark.parametrize("call", CALLS + AXES)
def test_a_bad_call_is_refused_cold_and_warm(call: str) -> None:
    with pytest.raises((ValueError, TypeError)) as cold:
        eager(call)
    with pytest.raises(type(cold.value)) as warm:
        eager(call)
    assert str(warm.value) == str(cold.value)


@pytest.mark.parametrize("known", ["shapes", "ranks", "nothing"])
def test_a_bad_call_is_refused_in_a_graph(known: str) -> None:
    shape = {"shapes": lambda a: a.shape, "ranks": lambda a: [None] * a.ndim, "nothing": lambda a: None}[known]
    accepted = []
    for call in CALLS + AXES:
        with graph_api.Graph().as_default():
            fed = {name: graph_api.placeholder(a.dtype, shape(a)) for name, a in VALUES.items()}
            try:
                out = run(call, graph_api, fed)
                with graph_api.Session() as session:
                    session.run(out, {fed[name]: a for name, a in VALUES.items()})
            except (ValueError, TypeError):
                continue
            accepted.append(call)
    assert not accepted


def test_eager_results_of_wrong_dtype_are_refused() -> None:
    with pytest.raises(TypeError, match="the function returned float64, but float32 was declared"):
        tape_api.numpy_function(lambda a: np.float64(a), [tape_api.constant(1.0)], tape_api.float32)
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        wrong = graph_api.py_func(lambda a: np.float64(a), [graph_api.constant(1.0)], graph_api.float32)
        with pytest.raises(TypeError, match="py_func: the function returned float64"):
            session.run(wrong)
        assert session.run(graph_api.py_func(lambda a: 2.0, [graph_api.constant(1.0)], graph_api.float32)) == 2


@pytest.mark.parametrize("name", ["a b", "it's", "_hidden", "-dash", "a:0", "a%"])
def test_names_that_tensorflow_does_not_allow(name: str) -> None:
    with graph_api.Graph().as_default():
        with pytest.raises(ValueError, match="is not a valid"):
            graph_api.placeholder("float32", name=name)
        with pytest.raises(ValueError, match="is not a valid scope name"), graph_api.name_scope(name):
            pass


def test_sparse_labels_with_a_last_axis_of_one_are_squeezed_by_the_loss() -> None:
    logits = np.array([[1.0, 2.0, 0.0], [0.0, 3.0, 1.0]], np.float32)
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        labels = graph_api.placeholder("int32", [None, 1])
        x = graph_api.placeholder("float32", [None, 3])
        fed = {labels: [[0], [2]], x: logits}
        squeezed = session.run(graph_api.losses.sparse_softmax_cross_entropy(labels, x), fed)
        plain = session.run(graph_api.losses.sparse_softmax_cross_entropy(labels[:, 0], x), fed)
        assert squeezed == plain


def test_weights_that_do_not_fit_are_refused_when_a_run_knows_their_shape() -> None:
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        x, w = graph_api.placeholder("float32"), graph_api.placeholder("float32")
        loss = graph_api.losses.mean_squared_error(x, x + 1, weights=w)
        assert session.run(loss, {x: np.ones((2, 3)), w: np.ones((2, 1))}) == 1
        with pytest.raises(ValueError, match="compute_weighted_loss: argument `weights`"):
            session.run(loss, {x: np.ones((2, 3)), w: np.ones(3)})


def test_complex_distances_and_variances_are_real_as_in_tensorflow() -> None:
    z = tape_api.constant(np.array([4 + 4j, 0j]))
    assert tape_api.math.squared_difference(z, 0j).numpy().tolist() == [32, 0]
    assert tape_api.math.reduce_variance(z).numpy() == np.var(z.numpy())
    assert tape_api.math.reduce_std(z).dtype == tape_api.float64


def test_compute_gradient_of_complex_arguments_counts_reals() -> None:
    exact, numeric = tape_api.test.compute_gradient(lambda x: x * x, [np.array([1 + 2j])])
    assert exact[0].tolist() == [[2, -4], [4, 2]]
    np.testing.assert_allclose(numeric[0], exact[0], atol=1e-6)
    # a complex result of a real argument counts so, too
    exact, numeric = tape_api.test.compute_gradient(lambda x: tape_api.cast(x, "complex128") * (1 + 2j), [np.ones(1)])
    assert exact[0].tolist() == [[1], [2]]
    np.testing.assert_allclose(numeric[0], exact[0], atol=1e-6)
    with pytest.raises(TypeError, match="compute_gradient: the result must be floating or complex, got int32"):
        tape_api.test.compute_gradient(lambda x: tape_api.cast(x, "int32"), [np.ones(1)])


def test_the_exponential_integral_is_nan_below_zero() -> None:
    assert np.isnan(tape_api.math.special.expint(-1.5).numpy())


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("reshape(x, [4])", "Cannot reshape a tensor with 6 elements"),
        ("reshape(x, [4, -1])", "must be evenly divisible by 4"),
        ("concat([1, 2], 0)", "Can't concatenate scalars"),
        ("concat([x, x[:, :2]], 0)", "Dimension 1 of all `values` must be equal"),
        ("split(x, 2, 1)", "Number of ways to split should evenly divide"),
        ("split(x, [1, 1], 1)", "can't split axis of size 3"),
        ("boolean_mask(x, True)", "mask cannot be scalar"),
        ("boolean_mask(x, [True])", "incompatible"),
        ("reverse(x, [0, 0])", "specified more than once"),
        ("x[5]", "slice index 5 of dimension 0 out of bounds"),
        ("x[::0]", "strides.0. must be non-zero"),
        ("x[0, 0, 0]", "input has only 2 dims"),
        ("x[0, 0][0]", "Attempting to slice scalar input"),
        ("one_hot(i, 3, on_value='a')", "must both be given"),
        # of a kernel
        ("linalg.cholesky(-eye(2))", r"^cholesky\b"),
        ("linalg.solve(ones([2, 2]), eye(2))", r"^solve\b"),
        ("linalg.inv(ones([2, 2]))", r"^inverse\b"),
        ("math.unsorted_segment_sum(x, [0, 9], 3)", r"^unsorted_segment_sum\b"),
        ("math.unsorted_segment_max(x, [0, 9], 3)", r"^unsorted_segment_max\b"),
    ],
)
def test_the_words_that_programs_look_for(call: str, words: str) -> None:
    def value(tf: Any) -> Any:
        names = "reshape", "concat", "split", "boolean_mask", "reverse", "one_hot", *NAMESPACES
        return eval(call, {n: getattr(tf, n) for n in names}, {n: tf.constant(VALUES[n]) for n in ("x", "i")})

    with pytest.raises((ValueError, TypeError, IndexError), match=words):
        value(tape_api)
    with (
        graph_api.Graph().as_default(),
        graph_api.Session() as session,
        pytest.raises((ValueError, TypeError, IndexError), match=words),
    ):
        session.run(value(graph_api))


def test_strings_that_one_hot_chooses() -> None:
    chosen = tape_api.one_hot([0, -1], 2, on_value="a", off_value="b")
    assert chosen.numpy().tolist() == [[b"a", b"b"], [b"b", b"b"]]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int64", "complex64"])
def test_python_numbers_beside_a_dtype_take_it(dtype: str) -> None:
    chosen = tape_api.one_hot([0, 1], 2, on_value=5, off_value=1, dtype=dtype)
    assert chosen.dtype.name == dtype
    np.testing.assert_array_equal(chosen, [[5, 1], [1, 5]])
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        found = session.run(graph_api.one_hot([0, 1], 2, on_value=5, dtype=graph_api.as_dtype(dtype)))
    assert found.dtype.name == dtype
    np.testing.assert_array_equal(found, [[5, 0], [0, 5]])


def test_numbers_that_one_hot_would_have_to_change_are_refused() -> None:
    with pytest.raises(TypeError, match="on_value"):
        tape_api.one_hot([0, 1], 2, on_value=5.5, dtype=tape_api.int32)
    with pytest.raises(TypeError, match="off_value"):
        tape_api.one_hot([0, 1], 2, on_value=1, off_value=tape_api.constant(0.5), dtype=tape_api.float64)


def test_batch_dims_may_be_none() -> None:
    params = np.arange(6).reshape(2, 3)
    np.testing.assert_array_equal(tape_api.gather(params, [2, 0], axis=1, batch_dims=None), params[:, [2, 0]])
