"""What Keras's optimizers have beyond their steps: learning rate, count, clipping, configuration."""

from typing import Any

import numpy as np
import pytest

import graph_api as v1
import tape_api as v2
from optim import keras
from optim.schedules import ExponentialDecay


def test_the_learning_rate_can_be_set_before_and_after_a_step() -> None:
    w = v2.Variable(1.0)
    optimizer = keras.SGD(0.5)
    assert float(optimizer.learning_rate) == 0.5
    optimizer.learning_rate = 0.25
    optimizer.apply_gradients([(1.0, w)])
    assert w.numpy() == 0.75
    optimizer.lr = 0.5
    optimizer.apply_gradients([(1.0, w)])
    assert w.numpy() == 0.25
    optimizer.learning_rate.assign(0.125)
    optimizer.apply_gradients([(1.0, w)])
    assert w.numpy() == 0.125
    assert optimizer.lr.numpy() == 0.125


def test_the_learning_rate_may_be_a_variable_of_the_program() -> None:
    w, rate = v2.Variable(1.0), v2.Variable(0.5)
    optimizer = keras.SGD(rate)
    optimizer.apply_gradients([(1.0, w)])
    rate.assign(0.25)
    optimizer.apply_gradients([(1.0, w)])
    assert w.numpy() == 0.25


def test_a_schedule_replaces_a_number_and_cannot_be_set() -> None:
    optimizer = keras.SGD(0.5)
    optimizer.learning_rate = ExponentialDecay(0.5, 1, 0.5)
    with pytest.raises(TypeError, match="hence its learning rate is not settable"):
        optimizer.learning_rate = 0.1


def test_older_arguments() -> None:
    w = v2.Variable(1.0)
    optimizer = keras.SGD(lr=0.5, decay=1.0)
    optimizer.apply_gradients([(1.0, w)])
    optimizer.apply_gradients([(1.0, w)])
    assert w.numpy() == 0.25


def test_iterations_and_variables() -> None:
    a, b = v2.Variable(1.0, name="a"), v2.Variable([1.0], name="b")
    optimizer = keras.Adam()
    assert int(optimizer.iterations) == 0
    assert optimizer.variables == []
    assert optimizer.apply_gradients([(1.0, a), ([1.0], b)]) is optimizer.iterations
    assert int(optimizer.iterations) == 1
    assert [v.name.rpartition("/")[2] for v in optimizer.variables] == [
        *("iterations:0", "learning_rate:0"), *("m:0", "v:0"), *("m:0", "v:0"),
    ]  # fmt: skip
    assert optimizer.variables() == optimizer.variables == optimizer.weights
    assert not any(v.trainable for v in optimizer.variables)
    optimizer.iterations.assign(10)
    optimizer.apply_gradients([(1.0, a)])
    assert int(optimizer.iterations) == 11


def test_variables_are_in_the_order_of_keras() -> None:
    a, b = v2.Variable(1.0, name="a"), v2.Variable([1.0], name="b")
    optimizer = keras.Adam(amsgrad=True, use_ema=True, gradient_accumulation_steps=2)
    optimizer.build([a, b])
    assert [v.name.removesuffix(":0") for v in optimizer.variables] == [
        *("iterations", "learning_rate", "a/average", "b/average", "a/accumulated", "b/accumulated"),
        *("a/m", "a/v", "b/m", "b/v", "a/vhat", "b/vhat", "accumulated_steps"),
    ]
    optimizer.build([b, a])
    assert [v.name.removesuffix(":0") for v in optimizer.variables][2:4] == ["b/average", "a/average"]


def test_averages_move_for_all_variables_and_start_from_them() -> None:
    """Those of variables without a gradient too, as in Keras; one that comes later starts from its value."""
    a, b, late = v2.Variable(1.0), v2.Variable(8.0), v2.Variable(4.0)
    optimizer = keras.SGD(1.0, use_ema=True, ema_momentum=0.5)
    with pytest.warns(UserWarning, match="Gradients do not exist"):
        optimizer.apply_gradients([(1.0, a), (None, b)])
    b.assign(16.0)
    optimizer.apply_gradients([(1.0, a), (2.0, late)])
    optimizer.finalize_variable_values([a, b, late])
    np.testing.assert_array_equal([a.numpy(), b.numpy(), late.numpy()], [-0.5, 12.0, 3.0])


@pytest.mark.filterwarnings("ignore:.*is given more than once")
def test_a_variable_given_twice_accumulates_both_gradients() -> None:
    w = v2.Variable(0.0)
    optimizer = keras.SGD(1.0, gradient_accumulation_steps=2)
    for _ in range(2):
        optimizer.apply_gradients([(1.0, w), (2.0, w)])
    assert w.numpy() == -3.0


@pytest.mark.parametrize("steps", [1, 0, True, 2.0])
def test_how_many_steps_are_accumulated(steps: object) -> None:
    with pytest.raises(ValueError, match="`gradient_accumulation_steps` must be an integer >= 2"):
        keras.SGD(gradient_accumulation_steps=steps)  # type: ignore[arg-type]


def test_build_makes_the_state_beforehand() -> None:
    a, b = v2.Variable(1.0), v2.Variable([1.0, 2.0])
    optimizer = keras.SGD(momentum=0.5)
    optimizer.build([a, b])
    assert [tuple(v.shape) for v in optimizer.variables] == [(), (), (), (2,)]
    np.testing.assert_array_equal(optimizer.get_slot(b, "momentum").numpy(), [0.0, 0.0])  # type: ignore[union-attr]


def test_gradients_and_variables_side_by_side() -> None:
    variables = [v2.Variable(2.0), v2.Variable([1.0, 2.0])]
    gradients = [v2.constant(1.0), v2.constant([2.0, 4.0])]
    optimizer = keras.SGD(0.5)
    with pytest.raises(ValueError, match="or `build` called with them before"):
        optimizer.apply(gradients)
    optimizer.apply(gradients, variables)
    optimizer.build(variables)
    assert optimizer.apply(gradients).numpy() == 2
    np.testing.assert_array_equal(variables[0], 1.0)
    np.testing.assert_array_equal(variables[1], [-1.0, -2.0])
    with pytest.raises(ValueError, match="got 1 gradients for 2 variables"):
        optimizer.apply(gradients[:1], variables)


def test_a_graph_takes_keras_optimizers() -> None:
    with v1.Graph().as_default(), v1.Session() as session:
        w = v1.Variable(1.0)
        optimizer = keras.SGD(ExponentialDecay(0.5, 1, 0.5))
        train = optimizer.minimize(w * 1.0, [w])
        session.run(v1.global_variables_initializer())
        session.run(train)
        session.run(train)
        assert session.run([w, optimizer.iterations]) == [0.25, 2]


def test_a_learning_rate_that_is_in_a_graph_already_cannot_be_set() -> None:
    with v1.Graph().as_default(), v1.Session() as session:
        w, rate = v1.Variable(1.0), v1.placeholder(v1.float32, [])
        fixed, fed = keras.SGD(0.5), keras.SGD(rate)
        fixed.minimize(w * 1.0, [w])
        train = fed.minimize(w * 1.0, [w])
        with pytest.raises(RuntimeError, match="placeholder or a variable as `learning_rate`"):
            fixed.learning_rate = 0.1
        session.run(v1.global_variables_initializer())
        session.run(train, {rate: 0.25})
        assert session.run(w) == 0.75


CONFIGURED = [
    keras.SGD(0.5, momentum=0.5, nesterov=True, clipnorm=1.0, name="mine"),
    keras.Adam(0.5, beta_1=0.5, amsgrad=True, weight_decay=0.5),
    keras.AdamW(0.5),
    keras.Adamax(0.5),
    keras.Nadam(0.5),
    keras.RMSprop(0.5, momentum=0.5, centered=True, clipvalue=0.5),
    keras.Adagrad(0.5, initial_accumulator_value=0.5),
    keras.Adadelta(0.5, global_clipnorm=0.5),
    keras.Ftrl(0.5, l1_regularization_strength=0.5),
    keras.SGD(ExponentialDecay(0.5, 10, 0.5)),
]


@pytest.mark.parametrize("optimizer", CONFIGURED, ids=lambda o: o.name)
def test_configurations(optimizer: Any) -> None:
    config = optimizer.get_config()
    again = type(optimizer).from_config(config)
    assert again.get_config() == config
    assert keras.get({"class_name": type(optimizer).__name__, "config": config}).get_config() == config

    def one_step(o: Any) -> Any:
        w = v2.Variable([1.0, -2.0])
        o.apply_gradients([([0.5, 3.0], w)])
        return w.numpy()

    np.testing.assert_array_equal(one_step(again), one_step(type(optimizer).from_config(config)))


def test_a_configuration_holds_what_was_given() -> None:
    assert keras.SGD(0.5, momentum=0.25, clipnorm=1.0).get_config() == {
        "name": "sgd",
        "learning_rate": 0.5,
        "momentum": 0.25,
        "nesterov": False,
        "weight_decay": None,
        "clipnorm": 1.0,
        "global_clipnorm": None,
        "clipvalue": None,
        "use_ema": False,
        "ema_momentum": 0.99,
        "ema_overwrite_frequency": None,
        "loss_scale_factor": None,
        "gradient_accumulation_steps": None,
    }


@pytest.mark.parametrize("tf", [v2, v1], ids=["tape", "graph"])
def test_variables_take_their_averages_at_the_end(tf: Any) -> None:
    optimizer = keras.SGD(1.0, use_ema=True, ema_momentum=0.75)
    # 4 - 1 = 3, the first average; then 2 and 0.75 * 3 + 0.25 * 2
    if tf is v2:
        w = tf.Variable(4.0)
        with pytest.raises(ValueError, match="no averages of Variable"):
            optimizer.finalize_variable_values([w])
        for _ in range(2):
            optimizer.apply_gradients([(tf.constant(1.0), w)])
        assert w.numpy() == 2.0
        optimizer.finalize_variable_values([w])
        assert w.numpy() == 2.75
        return
    with tf.Graph().as_default(), tf.Session() as session:
        w = tf.Variable(4.0)
        train = optimizer.apply_gradients([(tf.constant(1.0), w)])
        end = optimizer.finalize_variable_values([w])
        session.run(tf.global_variables_initializer())
        session.run(train), session.run(train)
        assert session.run(w) == 2.0
        session.run(end)
        assert session.run(w) == 2.75


@pytest.mark.parametrize(
    "arguments",
    [{"use_ema": True, "ema_momentum": 2.0}, {"ema_overwrite_frequency": 0}, {"gradient_accumulation_steps": 1.5}],
    ids=str,
)
def test_bad_averages_and_counts_are_refused(arguments: dict[str, Any]) -> None:
    (*_, name) = arguments
    with pytest.raises(ValueError, match=f"`{name}` must be"):
        keras.SGD(1.0, **arguments)


def test_optimizers_by_name() -> None:
    assert type(keras.get("RMSprop")) is keras.RMSprop
    optimizer = keras.SGD()
    assert keras.get(optimizer) is optimizer


def test_compute_gradients_is_still_there() -> None:
    w = v2.Variable(3.0)
    ((gradient, variable),) = keras.Adam().compute_gradients(lambda: w * w, [w])
    assert variable is w
    assert float(gradient) == 6.0


def test_variables_from_a_callable() -> None:
    made: list[Any] = []

    def loss() -> Any:
        if not made:
            made.append(v2.Variable(3.0))
        return made[0] * made[0]

    keras.SGD(0.5).minimize(loss, lambda: made)
    assert made[0].numpy() == 0.0
