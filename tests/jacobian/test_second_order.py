"""Hessians and products with them: symmetric to the bit, sparse, against the Jacobian of the gradient; nested tapes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import graph_api
import tape_api
from engine.jacobian.execution.decompression import Result, Scattered, symmetrized
from engine.jacobian.structure.path import Path
from engine.runtime.errors import DetachWarning, InvalidArgumentError
from engine.runtime.structs import replace
from tests.jacobian.both import Function, dense, in_graph, on_tape
from tests.jacobian.both import points as some
from tests.tapes import gradient_in, watching


def rosenbrock(tf: Any, x: Any) -> Any:
    return tf.reduce_sum(100.0 * (x[1:] - x[:-1] ** 2.0) ** 2.0 + (1.0 - x[:-1]) ** 2.0)


def rosenbrock_hessian(x: np.ndarray) -> sparse.csr_array:
    diagonal = np.zeros(x.size)
    diagonal[:-1] += 1200.0 * x[:-1] ** 2 - 400.0 * x[1:] + 2.0
    diagonal[1:] += 200.0
    beside = -400.0 * x[:-1]
    return sparse.csr_array(sparse.diags_array([beside, diagonal, beside], offsets=[-1, 0, 1]))


def network(tf: Any, w: Any, v: Any, b: Any) -> Any:
    hidden = tf.tanh(tf.linalg.matmul(np.linspace(-1.0, 1.0, 12).reshape(4, 3), w) + b)
    return tf.reduce_sum(tf.sigmoid(tf.linalg.matvec(hidden, v)) ** 2.0)


NETWORK = some((3, 5), (5,), (5,))


def whole(blocks: Any, sizes: list[int]) -> np.ndarray:
    """Dense or sparse blocks as one matrix."""
    return np.block(
        [
            [dense(b).reshape(m, n) for b, n in zip(row, sizes, strict=True)]
            for row, m in zip(blocks, sizes, strict=True)
        ]
    )


def jacobian_of_gradient(fn: Function, *values: Any) -> Any:
    tensors = [tape_api.constant(v) for v in values]
    with tape_api.GradientTape() as outer:
        outer.watch(tensors)
        gradients = gradient_in(tensors, lambda: fn(tape_api, *tensors), unconnected_gradients="zero")
    return outer.jacobian([tape_api.convert_to_tensor(g) for g in gradients], tensors, unconnected_gradients="zero")


# ---- hessian ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", ["dense", "csr", "csc", "coo"])
def test_blocks_between_sources(format: str) -> None:
    sizes = [v.size for v in NETWORK]
    expected = whole(jacobian_of_gradient(network, *NETWORK), sizes)
    tape, graph = (f(network, *NETWORK, method="hessian", format=format) for f in (on_tape, in_graph))
    found = whole(tape, sizes)
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_array_equal(found, whole(graph, sizes))
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
def test_modes(mode: str) -> None:
    found = whole(on_tape(network, *NETWORK, method="hessian", mode=mode), [v.size for v in NETWORK])
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_allclose(
        found, whole(jacobian_of_gradient(network, *NETWORK), [15, 5, 5]), rtol=1e-11, atol=1e-13
    )


@pytest.mark.parametrize("run_it", [on_tape, in_graph])
@pytest.mark.parametrize("n", [2, 50, 3000])
def test_rosenbrock_is_tridiagonal(n: int, run_it: Any) -> None:
    (x,) = some((n,))
    ((found,),) = run_it(rosenbrock, x, method="hessian", format="csr")
    assert isinstance(found, sparse.csr_array) and found.nnz == 3 * n - 2
    assert (found != found.T).nnz == 0
    assert abs(found - rosenbrock_hessian(x)).max() < 1e-10
    np.testing.assert_allclose(run_it(rosenbrock, x, method="hessian_diag")[0], rosenbrock_hessian(x).diagonal())


def written_twice(tf: Any, x: Any) -> Any:
    """A sum of squares as one writes it without a name for what is squared."""
    return tf.reduce_sum(3.0 * (x[2:] * x[:-2] - x[1:-1]) * (x[2:] * x[:-2] - x[1:-1]))


def named_once(tf: Any, x: Any) -> Any:
    """The same with a name."""
    rest = x[2:] * x[:-2] - x[1:-1]
    return tf.reduce_sum(3.0 * rest * rest)


@pytest.mark.parametrize("n", [10, 3000])
def test_what_is_written_twice(n: int) -> None:
    """It gives the numbers of what has a name, in both modes the same, and as few parts to add up."""
    (x,) = some((n,))
    ((found,),) = on_tape(written_twice, x, method="hessian", format="csr")
    ((graph,),) = in_graph(written_twice, x, method="hessian", format="csr")
    ((expected,),) = on_tape(named_once, x, method="hessian", format="csr")
    assert (found != graph).nnz == (found != found.T).nnz == 0
    assert abs(found - expected).max() < 1e-12 * abs(expected).max()


def test_equal_nodes_are_planned_as_one() -> None:
    (x,) = some((6,))
    tensor = tape_api.constant(x)
    with tape_api.GradientTape(persistent=True) as tape:
        tape.watch(tensor)
        inner = tape_api.sin(tensor)
        y = [tape_api.sin(tensor) * inner, tape_api.sin(tensor) * tape_api.sin(tensor)]
    path = Path(tape._tape.nodes, [tensor], y)
    assert (len(path.nodes), len(path.merged.nodes)) == (6, 2)
    assert path.merged.targets[0] == path.merged.targets[1] and path.merged.merged is path.merged
    # a source is not what equals it
    to_inner, to_x = tape.jacobian(y[0], [inner, tensor])
    np.testing.assert_allclose(to_inner, np.diag(np.sin(x)))
    np.testing.assert_allclose(to_x, np.diag(np.sin(2 * x)))
    for one in tape.jacobian(y, tensor):
        np.testing.assert_allclose(one, np.diag(np.sin(2 * x)))


def updated_between(tf: Any, w: Any, x: Any) -> Any:
    """The same expression of a variable before and after an update."""
    before = tf.sin(w) * x
    with tf.control_dependencies([w.assign([1.0, 2.0])]):
        return before + tf.sin(w.read_value()) * x


@pytest.mark.parametrize("shape", [[2], [None]])
def test_what_is_read_before_and_after_an_update_is_not_equal(shape: list[int | None]) -> None:
    start, factors = np.array([0.5, 1.0]), np.array([3.0, 4.0])
    expected = np.diag((np.cos(start) + np.cos(2.0 * start)) * factors)
    w = tape_api.Variable(start)
    with tape_api.GradientTape() as tape, pytest.warns(DetachWarning, match="is read again"):
        y = updated_between(tape_api, w, tape_api.constant(factors))
    np.testing.assert_allclose(tape.jacobian(y, w), expected)
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        w = graph_api.Variable(start)
        x = graph_api.placeholder("float64", shape)
        y = updated_between(graph_api, w, x)
        for mode in ("forward", "reverse"):
            session.run(w.initializer)
            np.testing.assert_allclose(session.run(graph_api.jacobian(y, w, mode=mode), {x: factors}), expected)


def test_vectors_are_summed_and_linear_functions_have_zeros() -> None:
    (x,) = some((3,))
    for run_it in (on_tape, in_graph):
        np.testing.assert_allclose(run_it(lambda tf, x: x**3.0, x, method="hessian")[0][0], np.diag(6 * x))
        linear = lambda tf, x, y: tf.reduce_sum(2.0 * x)  # noqa: E731
        assert not whole(run_it(linear, x, x, method="hessian"), [3, 3]).any()
        assert all(b.nnz == 0 for row in run_it(linear, x, x, method="hessian", format="csr") for b in row)
        assert [list(d) for d in run_it(linear, x, x, method="hessian_diag")] == [[0.0] * 3] * 2


def test_scalars_and_empty_sources() -> None:
    for run_it in (on_tape, in_graph):
        np.testing.assert_allclose(run_it(lambda tf, x: x**3.0, np.float64(2.0), method="hessian"), [[12.0]])
        empty = run_it(lambda tf, x: tf.reduce_sum(x**3.0), np.zeros((0, 2)), method="hessian")
        assert empty[0][0].shape == (0, 2, 0, 2)


def test_the_same_source_twice() -> None:
    (x,) = some((3,))
    tensor = tape_api.constant(x)
    tape, y = watching(tensor, lambda: tape_api.reduce_sum(tensor**3.0))
    for row in tape.hessian(y, (tensor, tensor)):
        for block in row:
            np.testing.assert_allclose(block, np.diag(6 * x))


def test_mixed_dtypes() -> None:
    x, y = some((3,), (3,))
    fn = lambda tf, x, y: tf.reduce_sum(tf.cast(x, tf.float64) ** 2.0 * y**2.0)  # noqa: E731
    for run_it in (on_tape, in_graph):
        found = run_it(fn, x.astype(np.float32), y, method="hessian")
        assert [[np.asarray(b).dtype for b in row] for row in found] == [[np.float32, np.float64]] * 2
        np.testing.assert_array_equal(found[0][1], np.transpose(found[1][0]))


def test_complex_sources_are_refused() -> None:
    """A row, the gradient of the real part of an element, would be half of the second derivatives."""
    z = np.array([1 + 2j, 2 - 1j])
    fn = lambda tf, z: tf.reduce_sum(tf.abs(z) ** 2.0) ** 2.0  # noqa: E731
    for run_it in (on_tape, in_graph):
        for method in ("hessian", "hessian_diag"):
            with pytest.raises(InvalidArgumentError, match=f"{method}: sources must be real"):
                run_it(fn, z, method=method)


def test_tensorflow_1_hessians() -> None:
    (x,) = some((3,))
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        u, v = (graph_api.placeholder(graph_api.float64, [3]) for _ in range(2))
        first, second = graph_api.hessians(graph_api.reduce_sum(u**3.0), [u, v])
        assert second is None
        np.testing.assert_allclose(session.run(first, {u: x}), np.diag(6 * x))


# ---- products --------------------------------------------------------------------------------------------------------


def test_hvp_against_the_matrix() -> None:
    sizes = [v.size for v in NETWORK]
    dense = whole(on_tape(network, *NETWORK, method="hessian"), sizes)
    vectors = some(*[v.shape for v in NETWORK], seed=1)
    expected = dense @ np.concatenate([v.ravel() for v in vectors])
    for run_it in (with_vectors_on_tape, with_vectors_in_graph):
        found = run_it("hvp", network, NETWORK, vectors)
        np.testing.assert_allclose(np.concatenate([np.ravel(f) for f in found]), expected, rtol=1e-11, atol=1e-13)
        first = run_it("hvp", network, NETWORK, [vectors[0], None, None])
        np.testing.assert_allclose(np.ravel(first[1]), dense[15:20, :15] @ vectors[0].ravel(), rtol=1e-11)


def with_vectors_on_tape(method: str, fn: Function, values: Any, vectors: Any) -> Any:
    tensors = [tape_api.constant(v) for v in values]
    tape, y = watching(tensors, lambda: fn(tape_api, *tensors))
    return getattr(tape, method)(y, tensors, vectors)


def with_vectors_in_graph(method: str, fn: Function, values: Any, vectors: Any) -> Any:
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        xs = [graph_api.placeholder(v.dtype, v.shape) for v in values]
        found = getattr(graph_api, method)(fn(graph_api, *xs), xs, vectors)
        return session.run(found, dict(zip(xs, values, strict=True)))


@pytest.mark.parametrize("run_it", [with_vectors_on_tape, with_vectors_in_graph])
def test_jvp_and_vjp_against_the_matrix(run_it: Any) -> None:
    fn = lambda tf, x, y: [x * y, tf.reduce_sum(y**2.0), x]  # noqa: E731
    x, y, u, v, c, d, e = some((3,), (3,), (3,), (3,), (3,), (), (3,))
    products = run_it("jvp", fn, [x, y], [u, v])
    np.testing.assert_allclose(products[0], y * u + x * v)
    np.testing.assert_allclose(products[1], 2 * y @ v)
    np.testing.assert_allclose(products[2], u)
    fixed = run_it("jvp", fn, [x, y], [u, None])
    np.testing.assert_allclose(fixed[0], y * u)
    assert fixed[1] == 0.0
    pulled = run_it("vjp", fn, [x, y], [c, d, e])
    np.testing.assert_allclose(pulled[0], y * c + e)
    np.testing.assert_allclose(pulled[1], x * c + 2 * y * d)


def test_products_of_what_is_not_connected_are_zero() -> None:
    (x,) = some((3,))
    for run_it in (with_vectors_on_tape, with_vectors_in_graph):
        for method in ("hvp", "vjp"):
            found = run_it(method, lambda tf, x, y: tf.reduce_sum(x**2.0), [x, x], [x, x] if method == "hvp" else 1.0)
            assert np.all(found[0]) and not np.any(found[1])


# ---- tapes around tapes, and over graphs -----------------------------------------------------------------------------

SECOND: dict[str, Callable[[Any, Any, Any], Any]] = {
    "jacobian": lambda tape, y, x: tape.jacobian(y, x),
    "hessian": lambda tape, y, x: tape.hessian(y, x),
    "hessian_diag": lambda tape, y, x: tape.hessian_diag(y, x),
    "hvp": lambda tape, y, x: tape.hvp(y, x, x),
    "jvp": lambda tape, y, x: tape.jvp(y, x, x),
    "vjp": lambda tape, y, x: tape.vjp(y, x, y),
    "batch_jacobian": lambda tape, y, x: tape.batch_jacobian(y, x),
}


def rows(tf: Any, x: Any) -> Any:
    return x**3.0 * tf.reduce_sum(x**2.0, axis=1, keepdims=True)


@pytest.mark.parametrize("name", SECOND)
def test_an_outer_tape_records_what_an_inner_one_computes(name: str) -> None:
    (x,) = some((2, 3))

    def derivative(x: np.ndarray) -> Any:
        tensor = tape_api.constant(x)
        with tape_api.GradientTape() as outer:
            outer.watch(tensor)
            inner, y = watching(tensor, lambda: rows(tape_api, tensor))
            found = SECOND[name](inner, y, tensor)
        return found.numpy(), outer.jacobian(found, tensor).numpy()

    found, again = derivative(x)
    for index in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[index] = 1e-6
        slope = (derivative(x + step)[0] - derivative(x - step)[0]) / 2e-6
        np.testing.assert_allclose(again[(..., *index)], slope, rtol=1e-6, atol=1e-6)
    assert found.shape + x.shape == again.shape


@pytest.mark.parametrize("name", SECOND)
def test_a_tape_over_a_graph(name: str) -> None:
    (x,) = some((2, 3))
    tensor = tape_api.constant(x)
    tape, y = watching(tensor, lambda: rows(tape_api, tensor))
    expected = SECOND[name](tape, y, tensor)
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        symbol = graph_api.placeholder(graph_api.float64, [2, 3])
        with graph_api.GradientTape() as tape:
            tape.watch(symbol)
            y = rows(graph_api, symbol)
        found = session.run(SECOND[name](tape, y, symbol), {symbol: x})
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_sparse_formats_on_a_tape_over_a_graph() -> None:
    (x,) = some((4,))
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        symbol = graph_api.placeholder(graph_api.float64, [4])
        with graph_api.GradientTape(persistent=True) as tape:
            tape.watch(symbol)
            y = rosenbrock(graph_api, symbol)
            z = graph_api.sin(symbol)
        found = session.run(
            [tape.hessian(y, symbol, format="csr"), tape.jacobian(z, symbol, format="coo"),
             tape.jacobian(z, symbol, format="operator"), tape.hessian(y, symbol, format="operator")],
            {symbol: x},
        )  # fmt: skip
    assert abs(found[0] - rosenbrock_hessian(x)).max() < 1e-10
    np.testing.assert_allclose(found[1].toarray(), np.diag(np.cos(x)))
    np.testing.assert_allclose(found[2] @ np.eye(4), np.diag(np.cos(x)))
    np.testing.assert_allclose(found[3] @ np.eye(4), rosenbrock_hessian(x).toarray(), rtol=1e-13)


def test_derivatives_inside_a_persistent_tape() -> None:
    x = tape_api.constant([1.0, 2.0])
    with tape_api.GradientTape(persistent=True) as tape:
        tape.watch(x)
        found = tape.jacobian(x**2.0, x)
    np.testing.assert_array_equal(found, np.diag([2.0, 4.0]))
    np.testing.assert_array_equal(tape.gradient(found, x), [2.0, 2.0])


def test_hessians_in_a_graph_can_be_differentiated() -> None:
    (x,) = some((3,))
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        u = graph_api.placeholder(graph_api.float64, [3])
        hessian = graph_api.hessian(graph_api.reduce_sum(u**3.0), u)
        sparse_hessian = graph_api.hessian(graph_api.reduce_sum(u**3.0), u, format="csr")
        third, of_values = graph_api.gradients(hessian, u)[0], graph_api.gradients(sparse_hessian.values, u)[0]
        np.testing.assert_allclose(session.run([third, of_values], {u: x}), [[6.0] * 3] * 2)


def entries(dense: Any) -> Scattered:
    """A block with numbers 1, 2, 3... of a result at the places where `dense` is not zero."""
    found = sparse.csr_array(dense)
    return Scattered((Result(0, 0),), np.arange(found.nnz), found.indices, found.indptr, found.shape)


def test_an_entry_without_another_on_the_other_side_of_the_diagonal() -> None:
    """Patterns hold what may be different from zero; of two entries the one below says whether there are any."""
    ((found,),) = symmetrized([[entries(np.array([[1, 0, 0], [0, 1, 0], [1, 0, 1]]))]], [[(3, 3)]])
    assert isinstance(found, Scattered) and found.positions.tolist() == [0, 2, 1, 2, 3]
    assert found.indices.tolist() == [0, 2, 1, 0, 2] and found.indptr.tolist() == [0, 2, 3, 5]


@pytest.mark.parametrize("seed", range(30))
def test_blocks_on_the_diagonal_are_their_lower_triangles(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 9))
    block = entries(np.tril(rng.random((size, size)) < 0.4))
    if block.nnz and seed % 2:
        more = rng.integers(0, block.nnz, (2, int(rng.integers(1, 2 * block.nnz))))
        block = replace(block, more=(np.sort(more[0]), more[1]))
    numbers = rng.standard_normal(block.nnz)

    def matrix(block: Scattered) -> np.ndarray:
        values = numbers[block.positions]
        if block.more is not None:
            np.add.at(values, block.more[1], numbers[block.more[0]])
        return block.matrix(values).toarray()

    ((found,),) = symmetrized([[block]], [[(size, size)]])
    assert isinstance(found, Scattered) and found.matrix(numbers[found.positions]).has_sorted_indices
    lower = np.tril(matrix(block))
    np.testing.assert_array_equal(matrix(found), lower + np.tril(lower, -1).T)


@pytest.mark.parametrize("ask", ["hvp", "jvp", "hessian", "hessian_diag"])
def test_a_source_that_is_not_watched_is_refused_where_zeros_would_be_given(ask: str) -> None:
    x, w = tape_api.constant([1.0, 2.0]), tape_api.constant([3.0, 4.0])
    tape, y = watching(x, lambda: tape_api.reduce_sum(x**3 * w), persistent=True)
    more = [[tape_api.ones_like(x), tape_api.ones_like(w)]] if ask in ("hvp", "jvp") else []
    with pytest.raises(InvalidArgumentError, match="is not watched"):
        getattr(tape, ask)(y, [x, w], *more)
    if ask == "jvp":
        # what is held fixed need not be
        np.testing.assert_allclose(tape.jvp(y, [x, w], [tape_api.ones_like(x), None]), 57.0)
