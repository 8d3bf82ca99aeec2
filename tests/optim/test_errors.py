"""What goes wrong says what and where, and changes nothing."""

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import graph_api as v1
import optim
import tape_api as v2


@pytest.fixture
def _graph() -> Iterator[None]:
    with v1.Graph().as_default():
        yield


def descent() -> optim.GradientDescentOptimizer:
    return optim.GradientDescentOptimizer(0.1)


BOTH = pytest.mark.parametrize("tf", [v1, v2], ids=["graph", "tape"])
ALL = pytest.mark.parametrize(
    ("tf", "optimizer"),
    [(v1, optim.AdamOptimizer), (v2, optim.AdamOptimizer), (v1, optim.keras.Adam), (v2, optim.keras.Adam)],
    ids=["graph", "tape", "graph-keras", "tape-keras"],
)


# ---- no gradients ----------------------------------------------------------------------------------------------------


EVERYWHERE: dict[str, tuple[Any, str]] = {
    "all gradients are None": (
        lambda tf, o: o.apply_gradients([(None, tf.Variable(1.0, name="w"))]),
        r"No gradients provided for any variable: .*'w:0'",
    ),
    "of many variables eight are explained and the others counted": (
        lambda tf, o: o.minimize(
            tf.constant(1.0) if tf is v1 else lambda: tf.constant(2.0),
            var_list=[tf.Variable(1.0, name=f"w{i}") for i in range(12)],
        ),
        r"\n  w7:0: .*\n  and 4 more$",
    ),
    "no pairs": (lambda tf, o: o.apply_gradients([]), r"No variables provided\."),
    "a gradient of another shape": (
        lambda tf, o: o.apply_gradients([(tf.constant([1.0, 2.0, 3.0]), tf.Variable([1.0, 2.0], name="w"))]),
        r"the gradient of variable 'w:0' .* shape \(2,\), got \(3,\)",
    ),
    "a number as a gradient": (
        lambda tf, o: o.apply_gradients([(1.0, tf.Variable([1.0, 2.0], name="w"))]),
        r"'w:0' .* shape \(2,\), got \(\)",
    ),
    "integer variables": (
        lambda tf, o: o.apply_gradients([(tf.constant(1), tf.Variable(1, name="count"))]),
        r"Invalid type tf\.int32 for count:0, expected one of: .*float32",
    ),
}


@ALL
@pytest.mark.parametrize("name", EVERYWHERE)
@pytest.mark.usefixtures("_graph")
def test_what_no_optimizer_takes(name: str, tf: Any, optimizer: Any) -> None:
    call, message = EVERYWHERE[name]
    with pytest.raises(ValueError, match=message):
        call(tf, optimizer())


IN_GRAPHS: dict[str, tuple[Any, str]] = {
    "a loss that depends on no variable": (
        lambda o: o.minimize(v1.constant(1.0, name="loss"), var_list=[v1.Variable(1.0, name="w")]),
        r"No gradients provided for any variable, check your graph .* between variables \[.*'w:0'.*\] and loss Tensor",
    ),
    "no variables": (lambda o: o.compute_gradients(v1.constant(1.0)), r"No variables to optimize\."),
    "an integer loss": (
        lambda o: o.compute_gradients(v1.multiply(v1.Variable(1), 2, name="double")),
        r"Invalid type tf\.int32 for double:0",
    ),
    "a complex variable": (
        lambda o: o.compute_gradients(v1.real(v1.Variable(1j, name="z") * 1.0)),
        r"Invalid type tf\.complex128 for z:0",
    ),
    "a gate": (
        lambda o: o.compute_gradients(v1.Variable(1.0) * 1.0, gate_gradients=7),
        re.escape("gate_gradients must be one of: Optimizer.GATE_NONE, Optimizer.GATE_OP, Optimizer.GATE_GRAPH."),
    ),
}


@pytest.mark.parametrize("name", IN_GRAPHS)
@pytest.mark.usefixtures("_graph")
def test_what_is_refused_when_a_graph_is_built(name: str) -> None:
    call, message = IN_GRAPHS[name]
    with pytest.raises(ValueError, match=message):
        call(descent())


@pytest.mark.parametrize("optimizer", [optim.GradientDescentOptimizer, optim.keras.SGD])
def test_a_callable_loss_that_depends_on_no_variable(optimizer: Any) -> None:
    w = v2.Variable(1.0, name="w")
    with pytest.raises(ValueError, match=r"No gradients provided for any variable, .* between variables \[.*'w:0'"):
        optimizer(0.1).minimize(lambda: v2.constant(1.0), var_list=[w])


def test_some_gradients_none_leave_their_variables_alone() -> None:
    """Silently in TensorFlow 1, with a warning that names them in TensorFlow 2."""
    a, b, c = [v2.Variable(1.0, name=n) for n in "abc"]
    optim.GradientDescentOptimizer(0.5).apply_gradients([(None, a), (1.0, b)])
    assert (a.numpy(), b.numpy()) == (1.0, 0.5)
    optimizer = optim.keras.Adam(0.5)
    with pytest.warns(UserWarning, match=r"Gradients do not exist for variables \['a:0', 'c:0'\] when minimizing") as w:
        optimizer.apply_gradients([(None, a), (1.0, b), (None, c)])
    assert w[0].filename == __file__
    assert (a.numpy(), c.numpy()) == (1.0, 1.0)
    assert optimizer.get_slot(a, "m") is None


# ---- gradients that do not fit ---------------------------------------------------------------------------------------


@BOTH
@pytest.mark.usefixtures("_graph")
def test_a_gradient_of_the_wrong_dtype(tf: Any) -> None:
    w = tf.Variable([1.0, 2.0], name="w")
    wrong = tf.constant([1.0, 2.0], tf.float64)
    with pytest.raises(TypeError, match=r"the gradient of variable 'w:0' .* dtype float32, got float64"):
        descent().apply_gradients([(wrong, w)])
    optim.keras.SGD(0.1).apply_gradients([(wrong, w)])


# ---- nothing changes -------------------------------------------------------------------------------------------------


def snapshot(optimizer: Any, *variables: Any) -> list[Any]:
    slots = [optimizer.get_slot(v, n) for v in variables for n in optimizer.get_slot_names()]
    return [v.numpy().tolist() for v in [*variables, *slots, optimizer.iterations]]


@pytest.mark.parametrize(
    ("bad", "error"),
    [([1.0, 2.0, 3.0], ValueError), ([1j, 2j], TypeError), ("gradient", TypeError)],
    ids=["shape", "kind", "text"],
)
def test_a_failed_step_changes_nothing(bad: Any, error: type[Exception]) -> None:
    a, b = v2.Variable(1.0), v2.Variable([1.0, 2.0])
    optimizer = optim.keras.Adam(0.5)
    optimizer.apply_gradients([(1.0, a), ([1.0, 1.0], b)])
    before = snapshot(optimizer, a, b)
    with pytest.raises(error):
        optimizer.apply_gradients([(1.0, a), (bad, b)])
    assert snapshot(optimizer, a, b) == before


def test_a_failing_constraint_changes_nothing() -> None:
    def refuse(x: Any) -> Any:
        if len(calls) > 0:
            raise RuntimeError("no")
        calls.append(x)
        return x

    calls: list[Any] = []
    a, b = v2.Variable(1.0), v2.Variable(1.0, constraint=refuse)
    optimizer = optim.keras.Adam(0.5)
    optimizer.apply_gradients([(1.0, a), (1.0, b)])
    before = snapshot(optimizer, a, b)
    with pytest.raises(RuntimeError, match="no"):
        optimizer.apply_gradients([(1.0, a), (1.0, b)])
    assert snapshot(optimizer, a, b) == before


def test_an_update_that_would_change_a_shape_changes_nothing() -> None:
    class Wider(optim.Optimizer):
        @staticmethod
        def update(gradient: Any, value: Any, slots: Any, hyper: Any, state: Any) -> Any:
            return value - gradient * v2.constant([0.1, 0.2]), {}

    a, b = v2.Variable([1.0, 2.0]), v2.Variable(1.0, name="b")
    with pytest.raises(ValueError, match=r"the new value computed for variable 'b:0' .* shape \(\), got \(2,\)"):
        Wider(False, "wider").apply_gradients([([1.0, 1.0], a), (1.0, b)])
    np.testing.assert_array_equal(a.numpy(), [1.0, 2.0])


NO_NUMBERS = {
    "text": "fast",
    "list": [0.1, 0.2],
    "vector": np.array([0.1, 0.2], np.float32),
    "complex": 1j,
    "flag": True,
    "object": object(),
    "none": None,
    "callable": lambda: "fast",
}


@BOTH
@pytest.mark.parametrize("make", [optim.GradientDescentOptimizer, optim.AdamOptimizer, optim.keras.SGD])
@pytest.mark.parametrize("rate", NO_NUMBERS.values(), ids=NO_NUMBERS)
@pytest.mark.usefixtures("_graph")
def test_a_learning_rate_that_is_no_number_is_named_and_changes_nothing(tf: Any, make: Any, rate: Any) -> None:
    w = tf.Variable([1.0, 2.0])
    with pytest.raises((ValueError, TypeError), match=r"learning_rate"):
        make(rate).apply_gradients([([1.0, 1.0], w)])
    if tf is v2:
        np.testing.assert_array_equal(w.numpy(), [1.0, 2.0])


@BOTH
@pytest.mark.parametrize("make", [optim.GradientDescentOptimizer, optim.keras.SGD])
@pytest.mark.usefixtures("_graph")
def test_variables_that_are_given_twice_are_named(tf: Any, make: Any) -> None:
    w, other = tf.Variable([1.0, 2.0], name="w"), tf.Variable(1.0, name="other")
    with pytest.warns(UserWarning, match=r"w:0 is given more than once and will make a step each time") as caught:
        make(0.5).apply_gradients([([1.0, 1.0], w), (1.0, other), ([1.0, 1.0], w)])
    assert caught[0].filename == __file__
    if tf is v2:
        np.testing.assert_array_equal(w.numpy(), [0.0, 1.0])


@BOTH
@pytest.mark.usefixtures("_graph")
def test_what_is_no_variable(tf: Any) -> None:
    w = tf.Variable(1.0)
    with pytest.raises(TypeError, match="is no variable"):
        descent().apply_gradients([(1.0, w), (1.0, tf.constant(1.0))])
    with pytest.raises(TypeError, match="pairs, got 1"):
        descent().apply_gradients([1])
    with pytest.raises(TypeError, match="`global_step` must be a variable, got int"):
        descent().apply_gradients([(1.0, w)], global_step=0)


@pytest.mark.usefixtures("_graph")
def test_variables_of_both_modes_at_once() -> None:
    a, b = v2.Variable(1.0), v1.Variable(1.0)
    with pytest.raises(ValueError, match="must be eager or belong to one graph"):
        descent().apply_gradients([(1.0, a), (1.0, b)])
    assert a.numpy() == 1.0


# ---- arguments -------------------------------------------------------------------------------------------------------


def test_an_eager_loss_needs_its_tape() -> None:
    with pytest.raises(RuntimeError, match=r"`loss` passed to Optimizer\.compute_gradients should be a function when"):
        descent().compute_gradients(v2.constant(1.0))
    with pytest.raises(ValueError, match="`tape` is required when a `Tensor` loss is passed"):
        optim.keras.SGD().minimize(v2.constant(1.0), [v2.Variable(1.0)])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: optim.GradientDescentOptimizer(0.1, name=""), "Must specify the optimizer name"),
        (lambda: optim.AdagradOptimizer(0.1, 0.0), "initial_accumulator_value must be positive: 0.0"),
        (lambda: optim.FtrlOptimizer(0.1, 0.5), "learning_rate_power 0.500000 needs to be negative or zero"),
        (
            lambda: optim.FtrlOptimizer(0.1, l1_regularization_strength=-1.0),
            "l1_regularization_strength -1.000000 needs to be positive or zero",
        ),
        (lambda: optim.keras.Ftrl(initial_accumulator_value=-1.0), "needs to be positive or zero"),
        (lambda: optim.keras.Adagrad(initial_accumulator_value=-1.0), "must not be negative"),
        (lambda: optim.keras.SGD(momentum=2.0), "`momentum` must be a float between [0, 1]"),
        (lambda: optim.keras.SGD("fast"), "Argument `learning_rate` should be float"),
        (lambda: optim.keras.SGD(speed=1.0), "Argument(s) not recognized: {'speed': 1.0}"),
        (lambda: optim.keras.SGD(clipnorm=1.0, clipvalue=1.0), "Only one of `clipnorm`, `clipvalue` and"),
        (lambda: optim.keras.get("newton"), "Could not interpret optimizer identifier: 'newton'"),
        (lambda: optim.exponential_decay(0.1, None, 1, 0.5), "global_step is required for exponential_decay."),
        (lambda: optim.piecewise_constant(1, [1], [1.0]), "boundaries should be 1 less than the length of values"),
    ],
)
def test_bad_arguments(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        make()


def test_a_missing_learning_rate() -> None:
    with pytest.raises(ValueError, match=r"learning_rate: None values not supported\."):
        optim.GradientDescentOptimizer(None).apply_gradients([(1.0, v2.Variable(1.0))])


@BOTH
@pytest.mark.parametrize(
    ("result", "error", "message"),
    [
        (lambda v, s: v, TypeError, r"Own\.update must return the new value and a dict of new slots"),
        (lambda v, s: (None, {}), TypeError, r"Own\.update must return the new value and a dict of new slots"),
        (lambda v, s: (v, {"other": v}), ValueError, r"slots \['other'\], which initial_slots does not name .*\['m'\]"),
    ],
    ids=["no pair", "no value", "unknown slot"],
)
@pytest.mark.usefixtures("_graph")
def test_what_an_update_of_ones_own_returns_is_checked(tf: Any, result: Any, error: Any, message: str) -> None:
    class Own(optim.Optimizer):
        def initial_slots(self) -> dict[str, float]:
            return {"m": 0.0}

        @staticmethod
        def update(gradient: Any, value: Any, slots: Any, hyper: Any, state: Any) -> Any:
            return result(value - gradient, slots)

    for count in (1, 20):
        variables = [tf.Variable([1.0, 2.0]) for _ in range(count)]
        with pytest.raises(error, match=message):
            Own(False, "own").apply_gradients([([1.0, 1.0], v) for v in variables])
        if tf is v2:
            np.testing.assert_array_equal([v.numpy() for v in variables], [[1.0, 2.0]] * count)
