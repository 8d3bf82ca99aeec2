"""Objects say what they are: in one line, and in a notebook."""

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import graph_api
import tape_api
from dualgrad.frontend.namespace import listing
from engine.runtime.faces import pattern_picture
from engine.runtime.packages import FOLDERS
from tests.tapes import gradient_in, watching


def graph() -> graph_api.Graph:
    with graph_api.Graph().as_default() as made:
        v = graph_api.Variable([1.0, 2.0])
        graph_api.train.AdamOptimizer(0.1).minimize(graph_api.reduce_sum(v * v))
    return made


def tape() -> Any:
    w = tape_api.Variable([1.0, 2.0])
    made, (made.y, made.w) = watching((), lambda: (w * w, w), persistent=True)
    return made


def plan() -> Any:
    x = tape_api.ones([100], tape_api.float64)
    return gradient_in(x, lambda: x * tape_api.roll(x, 1, 0), method="jacobian_plan", format="csr")


def double(x: Any) -> Any:
    return x * 2.0


def called() -> Any:
    function = tape_api.function(double)
    function(tape_api.constant(1.0))
    return function


def history() -> Any:
    model = tape_api.keras.Sequential([tape_api.keras.layers.Dense(1, kernel_initializer="zeros")])
    model.compile("sgd", "mse")
    return model.fit(np.ones((4, 2)), np.ones((4, 1)), verbose=0, epochs=2)


SHOWN = [
    (graph, "<Graph operations=", "variables=5>"),
    (lambda: graph_api.Session(graph=graph()), "<Session graph=<Graph operations=", "closed=False>"),
    (tape, "<GradientTape state=stopped, operations=2, persistent=True>", ""),
    (lambda: tape_api.function(double), "<Function name=double, state='has not been called'>", ""),
    (called, "<Function name=double, state='runs as a program (combinations of arguments: 1)'>", ""),
    (plan, "<JacobianPlan blocks=100x100, format=csr, seeds=1, entries=200>", ""),
    (lambda: tape_api.for_scipy(double, np.zeros(3)), "<SciPyFunction arguments=3, format=dense, ", ">"),
    (lambda: graph_api.train.AdamOptimizer(0.1), "<AdamOptimizer learning_rate=0.1, beta_1=0.9, ", ">"),
    (lambda: tape_api.keras.optimizers.Adam(0.1), "<Adam learning_rate=", ">"),
    (history, "<History epochs=2, loss=", ">"),
]


@pytest.mark.parametrize(("make", "begins", "ends"), SHOWN)
def test_one_line_and_a_table(make: Callable[[], Any], begins: str, ends: str) -> None:
    made = make()
    said = repr(made)
    assert said.startswith(begins) and said.endswith(ends) and "\n" not in said
    page = made._repr_html_()
    ET.fromstring(page)
    assert type(made).__name__ in page


def test_a_plan_draws_its_pattern_and_a_history_its_epochs() -> None:
    assert "<svg" in plan()._repr_html_()
    assert history()._repr_html_().count("<tr>") == 2 + 3


def test_a_graph_that_is_too_large_is_not_drawn() -> None:
    with graph_api.Graph().as_default() as made:
        x = graph_api.constant(1.0)
        for _ in range(1000):
            x = x + 1.0
    assert "<svg" not in made._repr_html_() and "graph.dot()" in made._repr_html_()


def test_an_optimizer_that_is_not_made_yet() -> None:
    class Own(graph_api.train.Optimizer):
        hyperparameters = ("rate",)

        def __init__(self) -> None:
            self.said = repr(self)
            super().__init__(False, "Own")

    assert Own().said == "<Own rate=None>"


def test_names_are_text_and_no_markup() -> None:
    def f(x: Any) -> Any:
        return x

    f.__qualname__ = f.__name__ = "<script>"
    assert "<script>" not in tape_api.function(f)._repr_html_()


def test_a_pattern_has_a_cell_for_each_entry() -> None:
    picture = pattern_picture(np.array([0, 1, 2]), np.array([0, 1, 2]), (3, 3))
    assert picture.count("z") == 3
    large = pattern_picture(np.arange(10_000), np.arange(10_000), (10_000, 10_000))
    assert large.count("z") == 60
    ET.fromstring(pattern_picture(np.array([], int), np.array([], int), (0, 5)))


def test_objects_say_what_they_hold() -> None:
    tf, old = tape_api, tape_api.compat.v1.train
    with graph_api.Graph().as_default():
        graph_api.train.get_or_create_global_step()
        queue = graph_api.FIFOQueue(3, graph_api.float32)
        context = graph_api.train.MonitoredSession(hooks=[graph_api.train.StopAtStepHook(last_step=3)])
    for made, said in (
        (tf.for_ode(lambda t, y: -y, np.ones(3)), r"<SciPyODE function=SciPyFunction, y0=float64\(3,\), banded=False>"),
        (tf.train.Checkpoint(v=tf.Variable(1.0)), r"<Checkpoint parts=1 in all, v=float32\(\)>"),
        (tf.train.CheckpointManager(tf.train.Checkpoint(), "x", 3), r"<CheckpointManager checkpoint=.*most=3.*>"),
        (tf.train.ExponentialMovingAverage(0.9), r"<ExponentialMovingAverage decay=0.9.*>"),
        (tf.autodiff.ForwardAccumulator(tf.ones(2), tf.ones(2)), r"<ForwardAccumulator sources=1 in all.*>"),
        (old.Saver([tf.Variable(1.0)]), r"<Saver .*max_to_keep=5.*variables=1 in all>"),
        (
            tf.experimental.scipy.interpolate.CubicSpline(np.arange(5.0), np.arange(5.0)),
            r"<CubicSpline x=float64\(5,\), .*>",
        ),
        (tf.TensorArray(tf.float32, 3), r"<TensorArray dtype=float32, dynamic_size=False.*>"),
        (tf.random.Generator.from_seed(1), r"<Generator state_var=int64\(3,\)>"),
        (tf.keras.initializers.HeNormal(seed=1), r"<HeNormal .*seed=1.*>"),
        (tf.keras.optimizers.schedules.CosineDecay(0.1, 5), r"CosineDecay\(initial_learning_rate=0.1, .*\)"),
        (tf.keras.callbacks.EarlyStopping(patience=3), r"<EarlyStopping monitor='val_loss'.*patience=3.*>"),
        (tf.keras.callbacks.LearningRateScheduler(double), r"<LearningRateScheduler schedule=double.*>"),
        (tf.keras.regularizers.L2(0.5), r"<L2 .*l2=0.5>"),
        (tf.keras.losses.Huber(2.0), r"<Huber name='huber_loss', .*fn=huber.*>"),
        (tf.distribute.MirroredStrategy(), r"<MirroredStrategy>"),
        (tf.compat.v1.ConfigProto(allow_soft_placement=True), r"ConfigProto\(gpu_options=.*placement=True\)"),
        (queue, r"<FIFOQueue dtypes=1 in all, .*capacity=3.*>"),
        (context, r"<MonitoredSession hooks=1 in all.*stop=False, closed=False, graph=Graph.*>"),
    ):
        assert re.fullmatch(said, repr(made)), repr(made)


OURS = [Path(folder).name for folder in FOLDERS]


def public_classes(module: ModuleType, seen: set[int]) -> Iterator[type]:
    """The classes of ours that a front end offers below a name."""
    for value in [getattr(module, name) for name in listing(module) if not name.startswith("_")]:
        if isinstance(value, ModuleType) and value.__name__.partition(".")[0] in OURS and id(value) not in seen:
            seen.add(id(value))
            yield from public_classes(value, seen)
        elif inspect.isclass(value) and value.__module__.partition(".")[0] in OURS:
            yield value


@pytest.mark.parametrize("front_end", [graph_api, tape_api])
def test_every_public_class_says_what_its_objects_are(front_end: ModuleType) -> None:
    silent = {
        c.__name__
        for c in public_classes(front_end, set())
        if c.__repr__ is object.__repr__ and any(map(inspect.isfunction, vars(c).values()))
    }
    # there are no objects of the one, and the other is a file
    assert silent <= {"Asset", "Inflated"}
