"""Gradient rules of the user's that are not linear in the cotangent: each row of a Jacobian is a gradient of its own.

The oracle is the loop that TensorFlow makes: `gradient` of one element after the other.
"""

import numpy as np
import pytest

import graph_api
import tape_api
from engine.derivatives.linearity import is_linear, not_linear
from engine.runtime.errors import InvalidArgumentError, SymbolicArrayError, UnimplementedError
from tests.tapes import watching

RULES = {
    "clips": lambda tf, d, t: tf.clip_by_value(d, -0.5, 0.5) * tf.cos(t),
    "sign": lambda tf, d, t: tf.sign(d) * tf.cos(t),
    "squares": lambda tf, d, t: d * d * t,
    "chooses": lambda tf, d, t: tf.where(tf.abs(d) > 1.0, tf.ones_like(d), d),
    "normalizes": lambda tf, d, t: d / (tf.norm(d) + 0.1) * t,
    "shifts": lambda tf, d, t: d + t,
    "ignores": lambda tf, d, t: t + tf.zeros_like(d),
}
FUNCTIONS = {
    "plain": lambda tf, f, x: f(x),
    "inside": lambda tf, f, x: 3 * f(x) ** 2 + x,
    "part": lambda tf, f, x: f(x)[:2] * x[1:],
    "twice": lambda tf, f, x: f(f(x) * 2) + f(x),
    "beside": lambda tf, f, x: tf.concat([f(x), x * x], 0),
    "bottleneck": lambda tf, f, x: tf.tanh(tf.reduce_sum(f(x))) * x,
    "padded": lambda tf, f, x: tf.pad(f(x[:2]), [[1, 1]]),
}
POINT = np.array([0.3, 1.0, -2.0])
WEIGHTS = np.arange(1.0, 7.0)


def custom(tf, rule):
    @tf.custom_gradient
    def f(t):
        return tf.sin(t), lambda d: RULES[rule](tf, d, t)

    return f


def recorded(function, point=POINT):
    x = tape_api.constant(point)
    tape, y = watching(x, lambda: function(x), persistent=True)
    return tape, y, x


def one_by_one(tape, y, x):
    """The Jacobian, a gradient for each element."""
    size = int(np.prod(y.shape))
    seeds = np.eye(size).reshape(size, *y.shape)
    rows = [tape.gradient(y, x, seed, unconnected_gradients="zero").numpy() for seed in seeds]
    return np.array(rows).reshape(*y.shape, *x.shape)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("rule", RULES)
def test_a_jacobian_is_the_loop_over_its_rows(rule, name):
    tape, y, x = recorded(lambda x: FUNCTIONS[name](tape_api, custom(tape_api, rule), x))
    wanted = one_by_one(tape, y, x)
    for options in ({}, {"mode": "reverse"}, {"max_bytes": 4000}):
        np.testing.assert_allclose(tape.jacobian(y, x, **options).numpy(), wanted, rtol=1e-12)
    np.testing.assert_allclose(tape.jacobian(y, x, format="csr").toarray(), wanted, rtol=1e-12)
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        for shape in ([3], [None]):
            p = graph_api.placeholder(graph_api.float64, shape)
            found = graph_api.jacobian(FUNCTIONS[name](graph_api, custom(graph_api, rule), p), p)
            np.testing.assert_allclose(session.run(found, {p: POINT}), wanted, rtol=1e-12)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("rule", RULES)
def test_a_hessian_is_the_loop_over_the_rows_of_the_gradient(rule, name):
    def weighted(tf, x):
        y = FUNCTIONS[name](tf, custom(tf, rule), x)
        return tf.reduce_sum(y * WEIGHTS[: y.shape[0]])

    x = tape_api.constant(POINT)
    with tape_api.GradientTape(persistent=True) as outer:
        outer.watch(x)
        inner, z = watching(x, lambda: weighted(tape_api, x))
        gradient = inner.gradient(z, x)
    wanted = one_by_one(outer, gradient, x)
    tape, z, x = recorded(lambda x: weighted(tape_api, x))
    np.testing.assert_allclose(tape.hessian(z, x).numpy(), wanted, rtol=1e-12)
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        p = graph_api.placeholder(graph_api.float64, [3])
        found = graph_api.hessian(weighted(graph_api, p), p)
        np.testing.assert_allclose(session.run(found, {p: POINT}), wanted, rtol=1e-12)


@pytest.mark.parametrize("rule", RULES)
def test_forward_mode_refuses_by_the_name_of_the_function(rule):
    tape, (y, z), x = recorded(lambda x: [(y := custom(tape_api, rule)(x)), y * y])
    refusals = [lambda: tape.jvp(y, x, np.ones(3)), lambda: tape.jacobian(y, x, format="operator")]
    if rule != "ignores":
        refusals.append(lambda: tape.hvp(z, x, np.ones(3)))
    for refused in refusals:
        with pytest.raises(UnimplementedError, match=r"^f: forward mode .* tf\.primitive\(fn, vjp, jvp\)"):
            refused()
    with pytest.raises(InvalidArgumentError, match=r"`mode` .* rule of f is not seen to be linear"):
        tape.jacobian(y, x, mode="forward")
    with pytest.raises(InvalidArgumentError, match=r"`sparsity` .* rule of f is not seen to be linear"):
        tape.jacobian(y, x, sparsity=np.eye(3))


def test_a_rule_for_tangents_is_used():
    clipped = tape_api.primitive(
        np.sin,
        lambda d, out, t: tape_api.clip_by_value(d, -0.5, 0.5),
        lambda tangents, out, t: tangents[0] * tape_api.cos(t),
    )
    tape, y, x = recorded(lambda x: 3 * clipped(x) + clipped(x))
    np.testing.assert_allclose(tape.jvp(y, x, np.ones(3)), 4 * np.cos(POINT))
    np.testing.assert_allclose(tape.jacobian(y, x), np.eye(3))
    np.testing.assert_allclose(tape.jacobian_plan(y, x)(POINT), np.eye(3))
    np.testing.assert_allclose(tape_api.for_scipy(lambda x: 3 * clipped(x) + clipped(x), POINT).jac(POINT), np.eye(3))


@pytest.mark.parametrize("rule", ["clips", "normalizes"])
def test_rows_of_a_batch_are_rows_of_the_whole(rule):
    point = np.arange(12.0).reshape(4, 3) / 7
    tape, y, x = recorded(lambda x: 3 * custom(tape_api, rule)(x)[:, :2], point)
    whole = one_by_one(tape, y, x)
    wanted = np.array([whole[k, :, k] for k in range(4)])
    np.testing.assert_allclose(tape.batch_jacobian(y, x), wanted, rtol=1e-12)
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        for shape in ([4, 3], [None, 3]):
            p = graph_api.placeholder(graph_api.float64, shape)
            found = graph_api.batch_jacobian(3 * custom(graph_api, rule)(p)[:, :2], p)
            np.testing.assert_allclose(session.run(found, {p: point}), wanted, rtol=1e-12)
    tape, y, x = recorded(custom(tape_api, "shifts"), point)
    with pytest.raises(InvalidArgumentError, match="rows of the target are not independent"):
        tape.batch_jacobian(y, x)


@graph_api.RegisterGradient("ClippedForJacobians")
def _clipped(op, d):
    return graph_api.clip_by_value(d, -0.5, 0.5) * 2


def overridden(p):
    with graph_api.get_default_graph().gradient_override_map({"Square": "ClippedForJacobians"}):
        y = graph_api.square(p)
    return 3 * y + p


IN_GRAPHS = {
    "overridden": overridden,
    "cond": lambda p: graph_api.cond(graph_api.reduce_sum(p) < 5, lambda: 3 * custom(graph_api, "clips")(p), lambda: p),
    "while_loop": lambda p: graph_api.while_loop(
        lambda i, v: i < 3, lambda i, v: (i + 1, custom(graph_api, "clips")(v) * 2), [0, p]
    )[1],
    "map_fn": lambda p: graph_api.map_fn(lambda v: custom(graph_api, "clips")(v) * 2, p),
    "scan": lambda p: graph_api.scan(lambda a, v: custom(graph_api, "clips")(a + v) * 2, p),
}


@pytest.mark.parametrize("name", IN_GRAPHS)
def test_rules_in_bodies_and_maps(name):
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        p = graph_api.placeholder(graph_api.float64, [3])
        y = IN_GRAPHS[name](p)
        rows = [graph_api.gradients(y, p, graph_api.constant(seed))[0] for seed in np.eye(3)]
        found, wanted = session.run([graph_api.jacobian(y, p), rows], {p: POINT})
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_zeros_that_made_a_rule_linear_may_be_others_in_the_next_call():
    def jacobian(x, shift):
        shifted = tape_api.custom_gradient(lambda t: (tape_api.sin(t), lambda d: d + shift))
        tape, y = watching(x, lambda: shifted(x))
        return tape.jacobian(y, x)

    function = tape_api.function(jacobian)
    for shift in (0.0, 0.0, 1.0, 0.0):
        found = function(tape_api.constant(POINT), tape_api.constant(shift, "float64"))
        np.testing.assert_array_equal(found, np.eye(3) + shift)


def test_a_rule_that_reads_its_cotangent_says_so():
    @tape_api.custom_gradient
    def f(t):
        return tape_api.sin(t), lambda d: d if tape_api.reduce_sum(d) > 0 else -2 * d

    tape, y, x = recorded(f)
    with pytest.raises(SymbolicArrayError, match=r"applied to the cotangents|to the cotangents of all rows"):
        tape.jacobian(y, x)


def test_forward_through_a_python_function_needs_rules_that_are_linear():
    def three(x):
        return custom(tape_api, "clips")(x) * 3

    with graph_api.Graph().as_default(), graph_api.Session() as session:
        p = graph_api.placeholder(graph_api.float64, [3])
        for function, refused in ((three, True), (lambda x: tape_api.sin(x) * 3, False)):
            y = graph_api.ensure_shape(graph_api.py_function(function, [p], graph_api.float64), [3])
            pushed = graph_api.jvp(y, p, np.ones(3))
            if refused:
                with pytest.raises(UnimplementedError, match="not seen to be linear"):
                    session.run(pushed, {p: POINT})
            else:
                np.testing.assert_allclose(session.run(pushed, {p: POINT}), 3 * np.cos(POINT))


LINEAR = {
    "itself": lambda tf, d, t: d,
    "product": lambda tf, d, t: -d * tf.cos(t),
    "chosen by other values": lambda tf, d, t: tf.where(t > 1.0, d, tf.zeros_like(d)),
    "number zero": lambda tf, d, t: tf.where(t > 1.0, d, 0.0),
    "mean": lambda tf, d, t: tf.reduce_mean(d) * t + tf.reduce_sum(d) * tf.ones_like(d),
    "moved": lambda tf, d, t: tf.concat([d[:1], tf.zeros([2], tf.float64)], 0) + tf.pad(d[:1], [[0, 2]]) + d[::-1],
    "gathered": lambda tf, d, t: tf.gather(d, [2, 1, 0]) + tf.stack([d[0], d[1], d[2]]),
    "matrix": lambda tf, d, t: tf.linalg.matvec(tf.linalg.inv(tf.eye(3, dtype=tf.float64) * 2.0), d),
    "solved": lambda tf, d, t: tf.linalg.solve(tf.eye(3, dtype=tf.float64), d[:, None])[:, 0],
    "cast": lambda tf, d, t: tf.cast(tf.cast(d, tf.float32), tf.float64) / 2.0,
    "nested": lambda tf, d, t: tf.recompute_grad(lambda u: u * 3)(d),
}
OTHERS = {
    **RULES,
    "reads": lambda tf, d, t: d if d[0] > 0 else -d,
    "compares": lambda tf, d, t: d * tf.cast(d > 0, tf.float64),
    "sorts": lambda tf, d, t: tf.sort(d),
    "own order": lambda tf, d, t: tf.gather(d, tf.argsort(d)),
    "padded with ones": lambda tf, d, t: tf.pad(d[:1], [[0, 2]], constant_values=1.0),
    "product with itself": lambda tf, d, t: d * d[0],
    "largest": lambda tf, d, t: tf.maximum(d, 0.0),
    "an array": lambda tf, d, t: np.clip(d.numpy(), -1, 1),
}


def _rule_of(rule):
    @tape_api.custom_gradient
    def f(t):
        return tape_api.sin(t), lambda d: rule(tape_api, d, t)

    tape, y, x = recorded(f)
    return next(n for n in tape._tape.nodes if n.op.name == "custom_call"), tape, y, x


@pytest.mark.parametrize("name", LINEAR)
def test_what_is_seen_to_be_linear(name):
    node, tape, y, x = _rule_of(LINEAR[name])
    assert is_linear(node)
    # then forward mode is there, and is the transpose
    np.testing.assert_allclose(tape.jvp(y, x, [1.0, 2.0, 3.0]), one_by_one(tape, y, x) @ [1.0, 2.0, 3.0], rtol=1e-6)


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_not_seen_to_be_linear(name):
    assert not is_linear(_rule_of(OTHERS[name])[0])


def test_a_recomputed_gradient_is_linear():
    f = tape_api.recompute_grad(lambda x: tape_api.sin(x) * tape_api.reduce_sum(x**2) + tape_api.nn.softmax(x))
    tape, y, x = recorded(f)
    assert not_linear(tape._tape.nodes) is None
    np.testing.assert_allclose(tape.jvp(y, x, np.ones(3)), one_by_one(tape, y, x) @ np.ones(3))
