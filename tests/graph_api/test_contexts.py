"""What is made in a function of control flow, and used where it has no value."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_api as tf
from engine.runtime.errors import InvalidArgumentError
from tests.support import noted

Keep = Callable[[Any], Any]


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as made:
        yield made


def run(fetches: Any, feed: Any = None) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feed)


# ---- functions that make something, and hand it to `keep` ------------------------------------------------------------


def _outside() -> Any:
    return tf.constant(3.0, name="x")


def _rows() -> Any:
    return tf.stack([_outside(), _outside()])


def in_a_data_set(keep: Keep) -> Any:
    made = tf.data.Dataset.from_tensor_slices(np.float32([1, 2])).map(lambda v: keep(v * 2.0))
    return made.make_one_shot_iterator().get_next()


def in_a_cell(keep: Keep) -> Any:
    class Cell(tf.nn.rnn_cell.BasicRNNCell):
        def call(self, inputs: Any, state: Any) -> Any:
            out, new = super().call(inputs, state)
            return keep(out), new

    return tf.nn.dynamic_rnn(Cell(2), tf.ones([1, 3, 2]), dtype=tf.float32)[0]


def in_a_nested_branch(keep: Keep) -> Any:
    x = _outside()
    return tf.map_fn(lambda v: tf.cond(v > 0.0, lambda: keep(v * x), lambda: v), tf.stack([x, x]))


def _with_x(make: Callable[[Any, Keep], Any]) -> Callable[[Keep], Any]:
    return lambda keep: make(_outside(), keep)


BODIES: dict[str, Callable[[Keep], Any]] = {
    "true_fn": _with_x(lambda x, keep: tf.cond(x > 5.0, lambda: keep(x * 2.0), lambda: x)),
    "false_fn": _with_x(lambda x, keep: tf.cond(x > 5.0, lambda: x, lambda: keep(x * 2.0))),
    "case": _with_x(
        lambda x, keep: tf.case([(x < 1.0, lambda: x), (x < 2.0, lambda: keep(x * 2.0))], default=lambda: x)
    ),
    "switch_case": _with_x(lambda x, keep: tf.switch_case(tf.constant(0), [lambda: x, lambda: keep(x * 2.0)])),
    "while_loop": _with_x(
        lambda x, keep: tf.while_loop(lambda i, v: i < 2, lambda i, v: (i + 1, keep(v * 2.0)), (0, x))[1]
    ),
    "the test of while_loop": _with_x(
        lambda x, keep: tf.while_loop(lambda i, v: keep(v * 2.0) < 20.0, lambda i, v: (i + 1, v * 2.0), (0, x))[1]
    ),
    "map_fn": lambda keep: tf.map_fn(lambda v: keep(v * 2.0), _rows()),
    "scan": lambda keep: tf.scan(lambda s, v: keep(s * v), _rows()),
    "foldr": lambda keep: tf.foldr(lambda s, v: keep(s * v), _rows()),
    **{body.__name__: body for body in (in_a_data_set, in_a_cell, in_a_nested_branch)},
}


# ---- ways to use it --------------------------------------------------------------------------------------------------


def _waited_for(t: Any) -> None:
    with tf.control_dependencies([t]):
        tf.no_op()


def _from_a_collection(t: Any) -> None:
    tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, t)
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        tf.no_op()


def _by_name(t: Any) -> None:
    run(tf.get_default_graph().get_tensor_by_name(t.name))


def _in_another_branch(t: Any) -> None:
    tf.cond(tf.constant(1) < 2, lambda: t * 1.0, lambda: t)


def _returned_by_another_loop(t: Any) -> None:
    tf.map_fn(lambda v: t, tf.constant([1.0, 2.0]))


USES: dict[str, Callable[[Any], Any]] = {
    "operand": lambda t: t + 1.0,
    "operand among others": lambda t: tf.add_n([tf.zeros(t.shape), t]),
    "fetched": run,
    "fetched in a list": lambda t: run([tf.constant(1.0), t]),
    "its operation run": lambda t: run(t.op),
    "evaluated": lambda t: t.eval(session=tf.Session()),
    "waited for": _waited_for,
    "grouped": lambda t: tf.group(t),
    "in a tuple": lambda t: tf.tuple([t]),
    "waited for by collection": _from_a_collection,
    "by name": _by_name,
    "name fetched": lambda t: run(t.name),
    "ys": lambda t: tf.gradients(t, tf.constant(1.0)),
    "xs": lambda t: tf.gradients(tf.constant(1.0) * 2.0, t),
    "grad_ys": lambda t: tf.gradients(tf.zeros(t.shape) * 2.0, tf.constant(1.0), t),
    "stop_gradients": lambda t: tf.gradients(tf.constant(1.0) * 2.0, tf.constant(1.0), stop_gradients=[t]),
    "jacobian": lambda t: tf.jacobian(t, tf.constant(1.0)),
    "hessians": lambda t: tf.hessians(t, tf.constant(1.0)),
    "minimized": lambda t: tf.train.GradientDescentOptimizer(0.1).minimize(
        tf.reduce_sum(t), var_list=[tf.Variable(1.0)]
    ),
    "assigned": lambda t: tf.Variable(tf.zeros_like(run(tf.constant(1.0))), validate_shape=False).assign(t),
    "initial value": lambda t: tf.Variable(t),
    "predicate": lambda t: tf.cond(tf.reduce_sum(t) > 0.0, lambda: 1.0, lambda: 2.0),
    "loop variable": lambda t: tf.while_loop(lambda v: False, lambda v: v, [t]),
    "in another branch": _in_another_branch,
    "in another loop": _returned_by_another_loop,
    "summarized": lambda t: tf.summary.histogram("h", t),
    "fed": lambda t: run(tf.constant(1.0), {t: np.zeros(t.shape.as_list())}),
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_what_a_function_made_is_not_used_outside(body: Callable[[Keep], Any]) -> None:
    for name, use in USES.items():
        kept: list[Any] = []
        with tf.Graph().as_default(), noted(name):
            body(lambda t, kept=kept: kept.append(t) or t)
            with pytest.raises((ValueError, TypeError)) as info:
                use(kept[-1])
            message = str(info.value)
            assert "outside of that function" in message or "cannot be fed" in message
            assert message.count(f"{__file__}:") == (1 if name == "fed" else 2)
            assert kept[-1].op.name in message


@pytest.mark.parametrize("use", ["operand", "fetched", "grouped"])
def test_the_lines_are_those_of_the_program(use: str) -> None:
    kept: list[Any] = []
    x = _outside()

    def branch() -> Any:
        kept.append(x * 2.0)
        return kept[0]

    tf.cond(x > 5.0, branch, lambda: x)
    with pytest.raises(InvalidArgumentError) as info:
        USES[use](kept[0])
    lines = [int(n) for n in re.findall(rf"{re.escape(__file__)}:(\d+)", str(info.value))]
    made = branch.__code__.co_firstlineno + 1
    assert lines[0] == made and lines[1] != made


def test_siblings_and_inner_functions_are_refused() -> None:
    x = _outside()
    kept: list[Any] = []
    with pytest.raises(InvalidArgumentError, match="true_fn"):
        tf.cond(x > 5.0, lambda: kept.append(x * 2.0) or x, lambda: kept[0] + 1.0)

    def outer() -> Any:
        tf.cond(x > 5.0, lambda: kept.append(x * 3.0) or x, lambda: x)
        return kept[-1]

    with pytest.raises(InvalidArgumentError, match="`true_fn` returns"):
        tf.cond(x > 5.0, outer, lambda: x)
    rows = tf.stack([x, x])
    tf.map_fn(lambda v: kept.append(v * 2.0) or v, rows)
    with pytest.raises(InvalidArgumentError, match="the body of map_fn"):
        tf.map_fn(lambda v: kept[-1] * v, rows)


def test_a_refusal_leaves_the_graph_as_it_was(graph: Any) -> None:
    kept: list[Any] = []
    BODIES["true_fn"](lambda t: kept.append(t) or t)
    count, one = len(graph.nodes), tf.constant(1.0)
    with pytest.raises(InvalidArgumentError):
        tf.add(kept[0], one, name="sum")
    with pytest.raises(InvalidArgumentError):
        tf.map_fn(lambda v: kept[0] + v, tf.constant([1.0]))
    assert len(graph.nodes) >= count and tf.add(one, 1.0).op.name == "Add"
    assert graph.context is None and run(one + 1.0) == 2.0


def test_what_a_rule_of_a_custom_gradient_made_is_not_used_outside() -> None:
    kept: list[Any] = []

    @tf.custom_gradient
    def doubled(x: Any) -> Any:
        return x * 2.0, lambda dy: kept.append(dy * 2.0) or kept[-1]

    x = tf.constant([1.0, 2.0])
    y = tf.map_fn(doubled, x)
    assert run(tf.gradients(y, x)[0]).tolist() == [2.0, 2.0]
    with pytest.raises(InvalidArgumentError, match="gradient function of custom_gradient"):
        kept[0] + 1.0


# ---- what may be used ------------------------------------------------------------------------------------------------


def test_what_is_around_may_be_used_inside() -> None:
    x = _outside()
    tripled = x * 3.0

    def outer() -> Any:
        own = tripled + 1.0
        return tf.cond(
            own > 0.0, lambda: own * tripled, lambda: tf.while_loop(lambda v: v < 3.0, lambda v: v + own, [x])
        )

    assert run(tf.cond(x > 0.0, outer, lambda: x)) == 90.0


def test_constants_and_placeholders_belong_to_no_branch() -> None:
    kept: list[Any] = []

    def branch() -> Any:
        kept.extend([tf.constant(5.0), tf.placeholder(tf.float32, [])])
        return kept[0] * kept[1]

    y = tf.cond(tf.constant(1) < 2, branch, lambda: 1.0)
    assert run([y, kept[0] + kept[1]], {kept[1]: 2.0}) == [10.0, 7.0]


def test_the_test_of_a_loop_and_its_body_are_one_function() -> None:
    kept: list[Any] = []
    loop = tf.while_loop(lambda i: kept.append(i * 2) or i < 3, lambda i: i + 1 + 0 * kept[0], [0])
    assert run(loop) == 3


def test_variables_made_in_functions_belong_to_the_graph() -> None:
    def branch() -> Any:
        weights = tf.get_variable(
            "w", [2], initializer=tf.random_normal_initializer(), regularizer=lambda v: tf.reduce_sum(v * v)
        )
        return weights * tf.Variable(lambda: tf.ones([2]) * 2.0)

    y = tf.cond(tf.constant(1) > 2, branch, lambda: tf.ones([2]))
    (penalty,) = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    w = tf.trainable_variables()[0]
    found = run([y, penalty, w, w + 0.0])
    assert np.allclose(found[1], np.sum(found[2] ** 2)) and found[0].tolist() == [1.0, 1.0]
    with pytest.raises(InvalidArgumentError, match="give a function"):
        tf.cond(tf.constant(1) > 2, lambda: tf.Variable(tf.random_normal([2])) * 1.0, lambda: tf.ones([2]))


def test_a_penalty_is_computed_once_wherever_its_variable_was_made() -> None:
    def branch() -> Any:
        tf.get_variable("w", [], regularizer=lambda v: tf.random_uniform([]))
        return tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)[0] + 0.0

    y = tf.cond(tf.constant(1) < 2, branch, lambda: 0.0)
    inside, outside = run([y, tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)[0]])
    assert inside == outside


def test_variables_are_read_anew_where_a_branch_has_read_them() -> None:
    v = tf.Variable(2.0)
    with tf.control_dependencies([v.assign_add(1.0)]):
        changed = tf.identity(v)
    y = tf.cond(tf.constant(1) < 2, lambda: v * 1.0, lambda: v * 2.0)
    assert len(run([changed, y, v * 10.0, tf.gradients(y, v)[0]])) == 4


def test_assignments_and_updates_inside_take_effect_if_they_are_taken() -> None:
    count, taken = tf.Variable(0.0), tf.placeholder(tf.bool, [])

    def branch() -> Any:
        update = count.assign_add(1.0)
        tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, update)
        with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
            return tf.identity(5.0)

    y = tf.cond(taken, branch, lambda: 6.0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run([y, count], {taken: False}) == [6.0, 0.0]
        assert session.run(y, {taken: True}) == 5.0 and session.run(count) == 1.0


def test_optimizers_summaries_and_gradients_in_branches() -> None:
    a, b, first = tf.Variable(1.0), tf.Variable(2.0), tf.placeholder(tf.bool, [])
    optimizer = tf.train.AdamOptimizer(tf.train.exponential_decay(0.1, tf.train.get_or_create_global_step(), 10, 1.0))

    def step(variable: Any) -> Any:
        tf.summary.scalar("loss", variable)
        return optimizer.minimize(variable * variable, var_list=[variable])

    train = tf.cond(first, lambda: step(a), lambda: step(b))
    slopes = tf.cond(first, lambda: tf.gradients(a * b, [a, b]), lambda: [tf.zeros([]), tf.gradients(b * b, b)[0]])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(slopes, {first: True}) == [2.0, 1.0] and session.run(slopes, {first: False}) == [0.0, 4.0]
        session.run(train, {first: True})
        assert np.allclose(session.run([a, b]), [0.9, 2.0])
        session.run(train, {first: False})
        later = session.run([a, b])
        assert np.allclose(later[0], 0.9) and 1.9 < later[1] < 1.95  # the optimizer's second step


def test_layers_in_branches_and_loops_share_their_weights() -> None:
    x = tf.placeholder(tf.float32, [None, 3])
    dense = tf.layers.Dense(2, kernel_regularizer=lambda v: tf.reduce_sum(v * v))
    y = tf.cond(tf.reduce_sum(x) > 0.0, lambda: dense(x), lambda: dense(x * 2.0))
    z = tf.map_fn(lambda row: dense(row[None])[0], x)
    normalized = tf.layers.batch_normalization(x, training=tf.constant(True))
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        total = tf.reduce_sum(y) + tf.reduce_sum(z) + tf.reduce_sum(normalized) + tf.losses.get_regularization_loss()
    gradients = tf.gradients(total, tf.trainable_variables())
    assert all(np.all(np.isfinite(g)) for g in run([g for g in gradients if g is not None], {x: np.ones((4, 3))}))


def _average() -> Any:
    v, average = tf.Variable(1.0), tf.train.ExponentialMovingAverage(0.9)
    with tf.control_dependencies([average.apply([v])]):
        return tf.identity(average.average(v))


def _element() -> Any:
    return tf.data.Dataset.from_tensor_slices([1.0, 2.0]).make_one_shot_iterator().get_next()


def _counted() -> Any:
    return tf.cast(tf.assign_add(tf.train.get_or_create_global_step(), 1), tf.float32)


def _asserted() -> Any:
    x = tf.constant(1.0)
    with tf.control_dependencies([tf.assert_greater(x, 0.0)]):
        return tf.identity(x)


@pytest.mark.parametrize("made", [lambda: tf.metrics.mean([1.0, 2.0])[1], _average, _element, _counted, _asserted])
def test_what_has_a_state_may_be_made_inside(made: Callable[[], Any]) -> None:
    y = tf.cond(tf.constant(1) < 2, made, lambda: 0.0)
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        assert session.run(y) in (1.0, 1.5)


def test_what_was_made_once_is_used_inside_and_outside() -> None:
    taken, w = tf.constant(1) < 2, tf.Variable(np.ones((4, 2), np.float32))
    slices = tf.gradients(tf.gather(w, [0, 1]), w)[0]
    cell, x = tf.nn.rnn_cell.GRUCell(3), tf.ones([2, 3])
    shared = tf.make_template("t", lambda v: v * tf.get_variable("v", [], initializer=tf.ones_initializer()))
    rate = tf.placeholder_with_default(0.1, []) * 2.0
    optimizer = tf.train.MomentumOptimizer(rate, 0.9)
    inside = [
        tf.cond(taken, lambda: tf.convert_to_tensor(slices), lambda: tf.zeros([4, 2])),
        tf.cond(taken, lambda: cell(x, x)[0], lambda: x),
        tf.map_fn(shared, tf.constant([1.0, 2.0])),
        tf.cond(taken, lambda: optimizer.minimize(tf.reduce_sum(w)), lambda: optimizer.minimize(tf.reduce_sum(w * w))),
    ]
    outside = [tf.convert_to_tensor(slices), cell(x, x)[0], shared(2.0), optimizer.minimize(tf.reduce_sum(w))]
    first, second = run([inside, outside])
    assert np.array_equal(first[0], second[0]) and np.array_equal(first[1], second[1]) and first[2][1] == second[2]


def test_a_file_with_control_flow_makes_outer_nodes_outside(graph: Any) -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    doubled = tf.multiply(x, 2.0, name="doubled")
    tf.identity(tf.cond(x > 0.0, lambda: doubled + 1.0, lambda: doubled - 1.0), name="y")
    with tf.Graph().as_default():
        y, again = tf.import_graph_def(graph.as_graph_def(), return_elements=["y:0", "doubled:0"])
        assert run([y, again + 1.0], {"import/x:0": 2.0}) == [5.0, 5.0]


# ---- numbers in functions --------------------------------------------------------------------------------------------


def test_conditions_of_case_are_checked_if_functions_return_numbers() -> None:
    taken = tf.placeholder(tf.bool, [])
    y = tf.case([(taken, lambda: 1.0), (taken, lambda: 2.0)])
    z = tf.case([(taken, lambda: 1.0), (tf.constant(True), lambda: 2.0)], default=lambda: 3.0, exclusive=True)
    assert run(y, {taken: True}) == 1.0 and run(z, {taken: False}) == 2.0
    with pytest.raises(InvalidArgumentError, match="none of the conditions"):
        run(y, {taken: False})
    with pytest.raises(InvalidArgumentError, match="more than one"):
        run(z, {taken: True})


def test_a_condition_of_one_element() -> None:
    assert [run(tf.cond(tf.constant(c), lambda: 1.0, lambda: 2.0)) for c in ([True], [[False]])] == [1.0, 2.0]
    with pytest.raises(ValueError, match="scalar"):
        tf.cond(tf.constant([True, True]), lambda: 1.0, lambda: 2.0)
    with pytest.raises(ValueError, match="None"):
        tf.cond(None, lambda: 1.0, lambda: 2.0)


NAMED: dict[str, tuple[Callable[[tf.Tensor], object], str]] = {
    "norm": (lambda x: tf.norm(x), "norm/Squeeze:0"),
    "l2_normalize": (lambda x: tf.nn.l2_normalize(x, 1), "l2_normalize:0"),
    "moments": (lambda x: tf.nn.moments(x, [0])[1], "moments/Squeeze_1:0"),
    "bias_add": (lambda x: tf.nn.bias_add(x, tf.ones([3])), "BiasAdd:0"),
    "one_hot": (lambda x: tf.one_hot([1], 3), "one_hot:0"),
    "zeros": (lambda x: tf.zeros([2]), "zeros:0"),
    "batch_normalization": (lambda x: tf.nn.batch_normalization(x, x[0], x[1], x[0], x[0], 1e-3), "batchnorm/add_1:0"),
    "sigmoid cross entropy": (lambda x: tf.nn.sigmoid_cross_entropy_with_logits(labels=x, logits=x), "logistic_loss:0"),
    "cross entropy": (
        lambda x: tf.nn.softmax_cross_entropy_with_logits_v2(labels=x, logits=x),
        "softmax_cross_entropy_with_logits/Reshape_2:0",
    ),
    "to_float": (lambda x: tf.to_float(tf.argmax(x)), "ToFloat:0"),
    "clip_by_norm": (lambda x: tf.clip_by_norm(x, 1.0), "clip_by_norm:0"),
    "top_k": (lambda x: tf.slice(x, [0, 0], [1, 1]), "Slice:0"),
}


@pytest.mark.parametrize("key", NAMED)
def test_results_without_a_name_are_called_as_in_tensorflow(key: str) -> None:
    call, name = NAMED[key]
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [2, 3], name="x")
        result = call(x)
        assert result.name == name
        assert graph.get_tensor_by_name(name) is result
        call(x)
        scope, _, last = name.partition("/")
        again = f"{scope}_1/{last}" if last else f"{scope.removesuffix(':0')}_1:0"
        assert graph.get_tensor_by_name(again) is not result
        with tf.name_scope("inner"):
            assert call(x).name == f"inner/{name}"
