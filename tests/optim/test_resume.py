"""Training that is saved, restored by a fresh program and continued goes where training in one go goes, to the bit.

Every optimizer, with each option that keeps something between steps or changes what is kept; saved by `Checkpoint`,
by `Saver` and in files of models.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graph_api
import optim
import tape_api
from optim import keras, transforms
from tests.optim.cases import CASES
from tests.support import assert_same_bits

STRAIGHT, SAVED = 12, 5
TARGET = np.array([[3.0, -1.0], [0.5, 2.0], [0.25, -4.0]], np.float32)
DECAYING = optim.schedules.ExponentialDecay(0.1, 3, 0.5)
Make = Callable[[], Any]

OPTIONS: dict[str, dict[str, Any]] = {
    "averages": {"use_ema": True, "ema_momentum": 0.9},
    "averages-overwriting": {"use_ema": True, "ema_momentum": 0.9, "ema_overwrite_frequency": 4},
    "accumulation": {"gradient_accumulation_steps": 3},
    "averages-accumulation": {"use_ema": True, "ema_overwrite_frequency": 2, "gradient_accumulation_steps": 3},
    "decay-clipnorm": {"weight_decay": 0.01, "clipnorm": 0.5},
    "clipvalue-schedule": {"learning_rate": DECAYING, "clipvalue": 0.5},
    "global_clipnorm-accumulation": {"global_clipnorm": 1.0, "gradient_accumulation_steps": 2},
}
KERAS: dict[str, dict[str, Any]] = {
    "SGD": {"momentum": 0.9, "nesterov": True},
    "RMSprop": {"centered": True, "momentum": 0.5},
    "Adam": {"amsgrad": True},
    **{name: {} for name in ("AdamW", "Adamax", "Nadam", "Adagrad", "Adadelta", "Lamb", "Ftrl")},
}
MAKES: dict[str, Make] = {case.id: case.ours for case in CASES}
MAKES |= {
    f"{name}-{option}": lambda name=name, more=more, own=own: getattr(keras, name)(
        **{"learning_rate": 0.1, **own, **more}
    )
    for name, own in KERAS.items()
    for option, more in OPTIONS.items()
}
MAKES |= {"AdamOptimizer-schedule": lambda: optim.AdamOptimizer(DECAYING)}
TRANSFORMS: dict[str, Callable[[Any], Any]] = {
    "accumulate": lambda v: transforms.accumulate(3),
    "skip_nonfinite": lambda v: transforms.skip_nonfinite(),
    "add_noise": lambda v: transforms.add_noise(0.1, seed=3),
    "LossScale": lambda v: transforms.LossScale(v, 8.0, growth_interval=3),
    "chain": lambda v: transforms.add_noise(0.1) | transforms.accumulate(2) | transforms.clip_by_global_norm(1.0),
}
# all optimizers share the options: these are one with a slot, one with several, one with numbers beside them
FEW = [name for name in MAKES if name.partition("-")[2] not in OPTIONS or name.startswith(("SGD", "Adam-", "Nadam"))]


def each(*groups: Iterable[str]) -> pytest.MarkDecorator:
    """A test with dense gradients of the first names, and with rows of the second, if there are any."""
    given = [(name, sparse) for names, sparse in zip(groups, (False, True), strict=False) for name in names]
    return pytest.mark.parametrize(("name", "sparse"), given, ids=[f"{n}-{'rows' if s else 'dense'}" for n, s in given])


rows = pytest.mark.parametrize("sparse", [False, True], ids=["dense", "rows"])


# ---- on tapes --------------------------------------------------------------------------------------------------------


class Training:
    """A program that trains a table and a bias, which have one name, and what it saves."""

    def __init__(self, make: Make, sparse: bool = False, transform: Any = None, function: bool = False) -> None:
        tf = tape_api
        self.table, self.bias = tf.Variable(np.ones((3, 2), np.float32)), tf.Variable([1.0, -2.0])
        self.optimizer, self.sparse = make(), sparse
        self.transform = None if transform is None else transform(self.table)
        self.parts = {"table": self.table, "bias": self.bias, "optimizer": self.optimizer}
        if self.transform is not None:
            self.parts["transform"] = self.transform
        self.step: Callable[[Any], Any] = tf.function(self._step) if function else self._step

    def _step(self, number: Any) -> None:
        tf = tape_api
        with tf.GradientTape() as tape:
            used = tf.gather(self.table, [2, 0, 2]) if self.sparse else self.table
            loss = tf.reduce_sum((used - TARGET) ** 2 * self.bias) + tf.reduce_sum(self.bias**2) * number
            scaled = self.transform.scaled(loss) if hasattr(self.transform, "scaled") else loss
        pairs = list(zip(tape.gradient(scaled, [self.table, self.bias]), [self.table, self.bias], strict=True))
        self.optimizer.apply_gradients(pairs if self.transform is None else self.transform(pairs))

    def run(self, first: int, last: int) -> Training:
        """Make some steps."""
        for number in range(first, last):
            self.step(tape_api.constant(0.1 * number))
        return self

    def state(self) -> list[np.ndarray]:
        """What it trains, and what is kept beside it."""
        kept = [self.optimizer, *([] if self.transform is None else [self.transform])]
        beside = [v for x in kept for v in [*x.kept_together(), *[slot for *_, slot in x.kept_slots()]]]
        return [v.numpy() for v in (self.table, self.bias, *beside)]


def resumed(path: Path, new: Callable[[], Training], before: Callable[[Training], Any] = lambda _: None) -> Training:
    """Training that was saved, restored in a fresh program, and continued."""
    first = new().run(0, SAVED)
    saved = tape_api.train.Checkpoint(**first.parts).save(str(path / "model"))
    second = new()
    before(second)
    status = tape_api.train.Checkpoint(**second.parts).restore(saved)
    second.run(SAVED, STRAIGHT)
    status.assert_consumed()
    return second


@each(MAKES, FEW)
def test_from_a_checkpoint(tmp_path: Path, name: str, sparse: bool) -> None:
    """What is kept is made, and gets its values, only in the first step after the restore."""

    def new() -> Training:
        return Training(MAKES[name], sparse)

    assert_same_bits(resumed(tmp_path, new).state(), new().run(0, STRAIGHT).state())


@pytest.mark.parametrize("name", FEW)
def test_from_a_checkpoint_where_all_is_made_already_in_another_order(tmp_path: Path, name: str) -> None:
    make = MAKES[name]

    def used_before(training: Training) -> None:
        pairs = [(tape_api.ones(v.shape), v) for v in (training.bias, training.table)]
        training.optimizer.apply_gradients(pairs)

    second = resumed(tmp_path, lambda: Training(make), used_before)
    straight = Training(make).run(0, STRAIGHT)
    assert_same_bits([second.table.numpy(), second.bias.numpy()], [straight.table.numpy(), straight.bias.numpy()])


@pytest.mark.parametrize(
    "name",
    [
        *("Adam-averages-accumulation", "SGD-averages-overwriting", "Nadam-accumulation", "RMSprop-averages"),
        *("AdamOptimizer", "FtrlOptimizer"),
    ],
)
def test_in_a_function(tmp_path: Path, name: str) -> None:
    def new() -> Training:
        return Training(MAKES[name], function=True)

    assert_same_bits(resumed(tmp_path, new).state(), new().run(0, STRAIGHT).state())


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize("make", [lambda: keras.SGD(0.1, 0.9), lambda: optim.AdamOptimizer(0.1)], ids=["keras", "v1"])
@rows
def test_what_transforms_keep(tmp_path: Path, name: str, make: Make, sparse: bool) -> None:
    def new() -> Training:
        return Training(make, sparse, TRANSFORMS[name])

    assert_same_bits(resumed(tmp_path, new).state(), new().run(0, STRAIGHT).state())


def test_averages_that_a_program_keeps(tmp_path: Path) -> None:
    tf = tape_api

    def new() -> tuple[Any, Any]:
        return tf.Variable([1.0, 2.0]), tf.train.ExponentialMovingAverage(0.5)

    (w, average), (again, other) = new(), new()
    for x in range(4):
        w.assign([x, -x])
        average.apply([w])
    path = tf.train.Checkpoint(w=w, average=average).save(str(tmp_path / "model"))
    tf.train.Checkpoint(w=again, average=other).restore(path)
    for variable, each in ((w, average), (again, other)):
        variable.assign([7.0, 8.0])
        each.apply([variable])
    assert_same_bits([average.average(w).numpy()], [other.average(again).numpy()])


class OfUsers(keras.Optimizer):
    """As users write them for Keras: what is kept is made by `build`."""

    def build(self, var_list: Any) -> None:
        super().build(var_list)
        self.kept = [self.add_variable_from_reference(v, name="kept") for v in var_list]

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any = None) -> None:
        kept = self.kept[self._get_variable_index(variable)]
        kept.assign(kept * 0.9 + gradient)
        variable.assign_sub(self.learning_rate * kept)


@pytest.mark.parametrize("with_variables", [True, False], ids=["variables", "optimizer-alone"])
@pytest.mark.parametrize("name", ["of-users", "Adam-averages-accumulation", "AdamOptimizer", "keras.Nadam"])
def test_optimizers_of_users_and_optimizers_alone(tmp_path: Path, name: str, with_variables: bool) -> None:
    def new() -> Training:
        made = Training((MAKES | {"of-users": lambda: OfUsers(0.01)})[name])
        if not with_variables:
            made.parts = {"optimizer": made.optimizer}
        return made

    first = new().run(0, SAVED)
    saved = tape_api.train.Checkpoint(**first.parts).save(str(tmp_path / "model"))
    second = new()
    if not with_variables:
        second.table.assign(first.table)
        second.bias.assign(first.bias)
    tape_api.train.Checkpoint(**second.parts).restore(saved)
    assert_same_bits(second.run(SAVED, STRAIGHT).state(), first.run(SAVED, STRAIGHT).state())


# ---- checkpoints that others wrote -----------------------------------------------------------------------------------

OTHERS: dict[str, tuple[str, dict[str, Any]]] = {
    "adam": ("Adam", {"amsgrad": True, "use_ema": True, "ema_momentum": 0.9, "ema_overwrite_frequency": 4}),
    "rms": ("RMSprop", {"centered": True, "momentum": 0.5}),
    "sgd": ("SGD", {"momentum": 0.9, "use_ema": True}),
    "v1": ("AdamOptimizer", {}),
    "accumulating": ("Adam", {"gradient_accumulation_steps": 3}),
    "averages-rare": ("SGD", {"momentum": 0.5, "use_ema": True, "ema_overwrite_frequency": 4}),
    "lamb": ("Lamb", {}),
    "adadelta": ("Adadelta", {}),
    "ftrl": ("Ftrl", {}),
    "v1-momentum": ("MomentumOptimizer", {"momentum": 0.9}),
    "v1-rms": ("RMSPropOptimizer", {"centered": True, "momentum": 0.9}),
}


class Pair:
    """A program for our front end or TensorFlow."""

    def __init__(self, tf: Any, name: str) -> None:
        kind, more = OTHERS[name]
        home = tf.compat.v1.train if kind.endswith("Optimizer") else tf.keras.optimizers
        self.a, self.b = tf.Variable([1.0, 2.0], name="a"), tf.Variable([3.0, 0.5], name="b")
        self.optimizer = getattr(home, kind)(learning_rate=0.1, **more)
        self.checkpoint = tf.train.Checkpoint(a=self.a, b=self.b, o=self.optimizer)

    def run(self, first: int, last: int) -> Pair:
        for k in range(first, last):
            self.optimizer.apply_gradients([(self.a * 2.0 + 0.1 * k, self.a), (self.b * 3.0 - 0.2 * k, self.b)])
        return self

    def values(self) -> list[np.ndarray]:
        return [self.a.numpy(), self.b.numpy()]


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("to_ours", [True, False], ids=["from-tensorflow", "to-tensorflow"])
def test_checkpoints_of_tensorflow(tmp_path: Path, name: str, to_ours: bool) -> None:
    tensorflow = pytest.importorskip("tensorflow")
    one, other = (tensorflow, tape_api) if to_ours else (tape_api, tensorflow)
    path, second = Pair(one, name).run(0, 5).checkpoint.save(str(tmp_path / "model")), Pair(other, name)
    second.checkpoint.restore(path)
    for found, expected in zip(second.run(5, 12).values(), Pair(one, name).run(0, 12).values(), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["adam", "rms", "averages-rare", "accumulating"])
@pytest.mark.parametrize(
    ("file", "to_ours"), [("m.keras", True), ("m.h5", True), ("m.keras", False)], ids=["from", "from-h5", "to"]
)
def test_models_of_keras(tmp_path: Path, name: str, file: str, to_ours: bool) -> None:
    tensorflow = pytest.importorskip("tensorflow")
    one, other = (tensorflow, tape_api) if to_ours else (tape_api, tensorflow)
    kind, more = OTHERS[name]

    def new() -> Any:
        return network(one, getattr(one.keras.optimizers, kind)(learning_rate=0.1, **more))

    first, straight = trained(new(), 0, SAVED), trained(new(), 0, STRAIGHT)
    first.save(tmp_path / file)
    second = trained(other.keras.models.load_model(tmp_path / file), SAVED, STRAIGHT)
    for found, expected in zip(second.get_weights(), straight.get_weights(), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-4)


# ---- in graphs -------------------------------------------------------------------------------------------------------


def in_graph(make: Make, sparse: bool, first: int, last: int, restore: str | None, save: str | None) -> list[Any]:
    """Some steps of a graph program; all that its variables hold in the end."""
    tf = graph_api
    with tf.Graph().as_default(), tf.Session() as session:
        table, bias = tf.Variable(np.ones((3, 2), np.float32), name="table"), tf.Variable([1.0, -2.0], name="bias")
        number = tf.placeholder(tf.float32, [])
        used = tf.gather(table, [2, 0, 2]) if sparse else table
        loss = tf.reduce_sum((used - TARGET) ** 2 * bias) + tf.reduce_sum(bias**2) * number
        optimizer = make()
        train = optimizer.minimize(loss, var_list=[table, bias])
        saver = tf.train.Saver()
        session.run(tf.global_variables_initializer())
        if restore is not None:
            saver.restore(session, restore)
        for i in range(first, last):
            session.run(train, {number: 0.1 * i})
        if save is not None:
            saver.save(session, save, write_meta_graph=False)
        return list(session.run(tf.global_variables()))


@each(FEW, FEW[::2])
def test_from_a_saver(tmp_path: Path, name: str, sparse: bool) -> None:
    make = MAKES[name]
    path = str(tmp_path / "model")
    straight = in_graph(make, sparse, 0, STRAIGHT, None, None)
    in_graph(make, sparse, 0, SAVED, None, path)
    assert_same_bits(in_graph(make, sparse, SAVED, STRAIGHT, path, None), straight)


# ---- models ----------------------------------------------------------------------------------------------------------


def network(tf: Any, optimizer: Any) -> Any:
    """A small model that is trained with an optimizer."""
    made = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(4, "tanh"), tf.keras.layers.Dense(2)])
    for i, w in enumerate(made.weights):
        w.assign(np.random.default_rng(i).standard_normal(w.shape).astype(np.float32))
    made.compile(optimizer, "mse")
    return made


def model(name: str) -> Any:
    return network(tape_api, MAKES[name]())


def trained(made: Any, first: int, last: int) -> Any:
    for i in range(first, last):
        x = np.random.default_rng(i).standard_normal((4, 3)).astype(np.float32)
        made.train_on_batch(x, x[:, :2] ** 2)
    return made


# each optimizer with two options, each option and each kind of file with one optimizer
FILES = [(f"{name}-{o}", "m.keras") for name in KERAS for o in ("averages-accumulation", "clipvalue-schedule")]
FILES += [(f"Adam-{option}", file) for option in OPTIONS for file in ("m.keras", "m.h5", "m.weights.h5", "m")]
FILES = list(dict.fromkeys(FILES))


@pytest.mark.parametrize(("name", "file"), FILES)
def test_from_the_file_of_a_model(tmp_path: Path, name: str, file: str) -> None:
    if file != "m":
        pytest.importorskip("h5py")
    first, path = trained(model(name), 0, SAVED), tmp_path / file
    if file in ("m.keras", "m.h5"):
        first.save(path)
        second = tape_api.keras.models.load_model(path)
    else:
        first.save_weights(path)
        second = model(name)
        second.load_weights(path)
    trained(second, SAVED, STRAIGHT)
    straight = trained(model(name), 0, STRAIGHT)
    assert_same_bits(second.get_weights(), straight.get_weights())
    assert_same_bits([v.numpy() for v in second.optimizer.variables], [v.numpy() for v in straight.optimizer.variables])
