"""`compute_gradients`, `apply_gradients` and `minimize`, in graphs and on eager variables."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import graph_api as v1
import optim
import tape_api as v2
from tests.tapes import watching


@pytest.fixture
def session() -> Iterator[Any]:
    with v1.Graph().as_default(), v1.Session() as session:
        yield session


def initialized(session: Any) -> None:
    session.run(v1.global_variables_initializer())


# ---- compute_gradients -----------------------------------------------------------------------------------------------


def test_all_trainable_variables_in_the_order_of_creation(session: Any) -> None:
    b, fixed, a, unused = v1.Variable(2.0), v1.Variable(1.0, trainable=False), v1.Variable(3.0), v1.Variable(0.0)
    pairs = optim.GradientDescentOptimizer(0.1).compute_gradients(a * b * b * fixed)
    assert [id(v) for _, v in pairs] == [id(b), id(a), id(unused)]
    assert pairs[2][0] is None
    initialized(session)
    assert session.run([pairs[0][0], pairs[1][0]]) == [12.0, 4.0]


def test_given_variables_and_cotangent(session: Any) -> None:
    a, b = v1.Variable([1.0, 2.0]), v1.Variable(3.0)
    optimizer = optim.GradientDescentOptimizer(0.1)
    ((g, v),) = optimizer.compute_gradients(a * b, a, grad_loss=np.float32([1.0, 10.0]))
    initialized(session)
    assert v is a
    np.testing.assert_array_equal(session.run(g), [3.0, 30.0])
    assert [v for _, v in optimizer.compute_gradients(a * b, {"x": [b], "y": a})] == [b, a]


def test_gradients_of_tensors_that_are_no_variables(session: Any) -> None:
    a = v1.Variable(3.0)
    middle = a * a
    ((g, _),) = optim.GradientDescentOptimizer(0.1).compute_gradients(middle * 2.0, [middle])
    initialized(session)
    assert session.run(g) == 2.0


@pytest.mark.parametrize("gate", [0, 1, 2])
def test_gates_are_accepted(session: Any, gate: int) -> None:
    optim.GradientDescentOptimizer(0.1).compute_gradients(v1.Variable(1.0) * 2.0, gate_gradients=gate)


def test_a_callable_loss_in_a_graph(session: Any) -> None:
    w = v1.Variable(3.0)
    train = optim.GradientDescentOptimizer(0.5).minimize(lambda: w * w, var_list=[w])
    initialized(session)
    session.run(train)
    assert session.run(w) == 0.0


def test_a_callable_loss_finds_its_variables() -> None:
    a, b = v2.Variable(2.0), v2.Variable(3.0)
    pairs = optim.GradientDescentOptimizer(0.1).compute_gradients(lambda: a * a * b)
    assert [id(v) for _, v in pairs] == [id(a), id(b)]
    assert [float(g) for g, _ in pairs] == [12.0, 4.0]


def test_a_callable_loss_with_given_variables() -> None:
    a, b = v2.Variable(2.0), v2.Variable(3.0, trainable=False)
    ((g, _),) = optim.GradientDescentOptimizer(0.1).compute_gradients(lambda: a * b, [b])
    assert float(g) == 2.0


def test_a_recorded_loss() -> None:
    a, b = v2.Variable(2.0), v2.Variable(3.0)
    tape, loss = watching((), lambda: a * b, persistent=True)
    optimizer = optim.GradientDescentOptimizer(0.1)
    assert [float(g) for g, _ in optimizer.compute_gradients(loss, [b, a], tape=tape)] == [2.0, 3.0]
    assert [float(g) for g, _ in optimizer.compute_gradients(loss, tape=tape)] == [3.0, 2.0]
    optim.keras.SGD(0.5).minimize(loss, [a], tape=tape)
    assert a.numpy() == 0.5


# ---- steps -----------------------------------------------------------------------------------------------------------


def test_a_step_of_a_graph_is_an_operation_with_the_optimizers_name(session: Any) -> None:
    w = v1.Variable([1.0, 2.0], name="w")
    optimizer = optim.AdamOptimizer(0.1)
    train = optimizer.minimize(v1.reduce_sum(w * w))
    assert isinstance(train, v1.Operation)
    assert train.name == "Adam"
    assert optimizer.get_name() == "Adam"
    assert optimizer.get_slot_names() == ["m", "v"]
    assert [optimizer.get_slot(w, n).name for n in ("m", "v")] == ["w/Adam:0", "w/Adam_1:0"]
    assert optimizer.get_slot(w, "momentum") is None
    assert v1.trainable_variables() == [w]
    assert set(optimizer.variables()) == set(v1.global_variables()) - {w}
    named = optim.GradientDescentOptimizer(0.1).minimize(v1.reduce_sum(w * w), name="descend")
    assert named.name == "descend"


def test_slots_stand_below_the_variable_scope_of_the_step(session: Any) -> None:
    """As in the checkpoints of programs whose workers each make their step in a scope of their own."""
    with v1.variable_scope("shared"):
        w = v1.get_variable("w", [2])
    with v1.variable_scope("worker"), v1.name_scope("train"):
        optimizer = optim.MomentumOptimizer(0.1, 0.9)
        optimizer.minimize(v1.reduce_sum(w * w))
    assert [v.name for v in optimizer.variables()] == ["worker/shared/w/Momentum:0"]


def test_gradients_are_made_in_a_scope_of_their_own() -> None:
    """As in TensorFlow, where programs find them by it."""
    with v1.Graph().as_default():
        w = v1.Variable([1.0, 2.0], name="w")
        ((gradient, _),) = v1.train.AdamOptimizer(0.1).compute_gradients(v1.reduce_sum(w * w))
        assert gradient.name.startswith("gradients/")


def test_variables_of_an_optimizer_are_sorted_by_name() -> None:
    """As in TensorFlow."""
    with v1.Graph().as_default():
        w, b = v1.Variable([1.0, 2.0], name="w"), v1.Variable([1.0], name="b")
        optimizer = v1.train.AdamOptimizer(0.1)
        optimizer.minimize(v1.reduce_sum(w) * b[0])
        names = ["b/Adam", "b/Adam_1", "beta1_power", "beta2_power", "w/Adam", "w/Adam_1"]
        assert [v.op.name for v in optimizer.variables()] == names


def test_gradient_descent_makes_no_variables(session: Any) -> None:
    """So a program may initialize before it asks for the step."""
    w = v1.Variable(4.0)
    initialized(session)
    session.run(optim.GradientDescentOptimizer(0.25).minimize(w * w))
    assert session.run(w) == 2.0


def test_the_global_step_is_incremented(session: Any) -> None:
    w, step = v1.Variable(4.0), v1.train.get_or_create_global_step()
    rate = optim.exponential_decay(0.25, step, 1, 0.5)
    train = optim.GradientDescentOptimizer(rate).minimize(w * w, global_step=step)
    initialized(session)
    session.run(train)
    assert session.run([w, step]) == [2.0, 1]
    session.run(train)
    assert session.run([w, step]) == [1.5, 2]


def test_the_global_step_of_eager_variables_is_incremented() -> None:
    w, step = v2.Variable(4.0), v2.Variable(0, dtype="int64")
    rate = optim.exponential_decay(0.25, step, 1, 0.5)
    optimizer = optim.GradientDescentOptimizer(rate)
    assert optimizer.minimize(lambda: w * w, global_step=step) is None
    assert (w.numpy(), step.numpy()) == (2.0, 1)
    optimizer.minimize(lambda: w * w, global_step=step)
    assert (w.numpy(), step.numpy()) == (1.5, 2)


def test_processed_gradients(session: Any) -> None:
    a, b, unused = v1.Variable([3.0, 4.0]), v1.Variable(1.0), v1.Variable(1.0)
    optimizer = optim.GradientDescentOptimizer(1.0)
    gradients, variables = zip(*optimizer.compute_gradients(v1.reduce_sum(a * a) / 2.0 + 0.0 * b), strict=True)
    clipped, norm = v1.clip_by_global_norm(gradients, 1.0)
    train = optimizer.apply_gradients(zip(clipped, variables, strict=True))
    initialized(session)
    assert session.run(norm) == 5.0
    session.run(train)
    np.testing.assert_allclose(session.run(a), [2.4, 3.2])
    assert session.run([b, unused]) == [1.0, 1.0]


def test_the_loss_fetched_with_a_step_is_that_before_it(session: Any) -> None:
    w = v1.Variable(4.0)
    loss = w * w
    train = optim.GradientDescentOptimizer(0.25).minimize(loss)
    initialized(session)
    assert session.run([train, loss]) == [None, 16.0]
    assert session.run([loss, train]) == [4.0, None]


def test_every_gradient_is_taken_before_any_variable_moves(session: Any) -> None:
    a, b = v1.Variable(1.0), v1.Variable(10.0)
    train = optim.GradientDescentOptimizer(1.0).minimize(a * b)
    initialized(session)
    session.run(train)
    assert session.run([a, b]) == [-9.0, 9.0]


@pytest.mark.filterwarnings("ignore:.*is given more than once")
def test_a_variable_given_twice_makes_two_steps(session: Any) -> None:
    w = v2.Variable(1.0)
    optim.MomentumOptimizer(0.5, 0.5).apply_gradients([(1.0, w), (1.0, w)])
    assert w.numpy() == -0.25
    w = v1.Variable(1.0)
    train = optim.MomentumOptimizer(0.5, 0.5).apply_gradients([(1.0, w), (1.0, w)])
    initialized(session)
    session.run(train)
    assert session.run(w) == -0.25


def test_constraints_are_applied(session: Any) -> None:
    w = v2.Variable([1.0, 3.0], constraint=lambda x: v2.clip_by_value(x, 0.0, 2.0))
    optim.keras.SGD(2.0).apply_gradients([([1.0, 0.0], w)])
    np.testing.assert_array_equal(w.numpy(), [0.0, 2.0])
    w = v1.Variable([1.0, 3.0], constraint=lambda x: v1.clip_by_value(x, 0.0, 2.0))
    train = optim.GradientDescentOptimizer(2.0).apply_gradients([([1.0, 0.0], w)])
    initialized(session)
    session.run(train)
    np.testing.assert_array_equal(session.run(w), [0.0, 2.0])


def test_variables_of_unknown_shape(session: Any) -> None:
    w = v1.Variable([1.0, 2.0], validate_shape=False)
    train = optim.MomentumOptimizer(0.5, 0.9).apply_gradients([(v1.constant([1.0, 1.0]), w)])
    initialized(session)
    session.run(train)
    np.testing.assert_array_equal(session.run(w), [0.5, 1.5])


def test_one_optimizer_serves_several_graphs() -> None:
    optimizer = optim.AdamOptimizer(0.5)
    for _ in range(2):
        with v1.Graph().as_default(), v1.Session() as session:
            w = v1.Variable(1.0)
            train = optimizer.apply_gradients([(1.0, w)])
            initialized(session)
            session.run(train)
            assert session.run(w) == pytest.approx(0.5)


def test_a_step_inside_a_tape_is_not_recorded() -> None:
    w = v2.Variable(3.0)
    with v2.GradientTape() as tape:
        y = w * w
        optim.keras.SGD(0.5).apply_gradients([(y, w)])
        y = y + w
    assert float(tape.gradient(y, w)) == 7.0


def test_a_wrapper_around_another_optimizer(session: Any) -> None:
    """Programs derive from tf.train.Optimizer to change the gradients that another optimizer applies."""

    class Signs(optim.Optimizer):
        def __init__(self, inner: optim.Optimizer) -> None:
            super().__init__(False, "Signs")
            self.inner = inner

        def apply_gradients(self, grads_and_vars: Any, *args: Any, **kwargs: Any) -> Any:
            return self.inner.apply_gradients([(v1.sign(g), v) for g, v in grads_and_vars], *args, **kwargs)

    w = v1.Variable([1.0, -7.0])
    train = Signs(optim.GradientDescentOptimizer(0.5)).minimize(v1.reduce_sum(w * w))
    initialized(session)
    session.run(train)
    np.testing.assert_array_equal(session.run(w), [0.5, -6.5])


def test_an_optimizer_without_an_algorithm_says_so() -> None:
    with pytest.raises(NotImplementedError, match="define `update`"):
        optim.Optimizer(False, "none").apply_gradients([(1.0, v2.Variable(1.0))])


# ---- where the steps are found ---------------------------------------------------------------------------------------


def test_a_step_of_a_graph_is_in_the_collection_train_op(session: Any) -> None:
    w = v1.Variable(1.0)
    optimizer = v1.train.AdamOptimizer(0.1)
    first = optimizer.minimize(w * w)
    second = optimizer.apply_gradients([(w * 2.0, w)])
    assert v1.get_collection(v1.GraphKeys.TRAIN_OP) == [first, second]
    meta = v1.train.export_meta_graph()
    with v1.Graph().as_default():
        v1.train.import_meta_graph(meta)
        assert [op.name for op in v1.get_collection("train_op")] == [first.name, second.name]
