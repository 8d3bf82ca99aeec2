"""``tf.metrics``: measures added up over runs, beside TensorFlow and by hand."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_api

RNG = np.random.default_rng(11)
RUNS = [
    {
        "labels": RNG.integers(0, 2, 8).astype(np.float32),
        "scores": RNG.uniform(size=8).astype(np.float32),
        "classes": RNG.integers(0, 4, 8),
        "guesses": RNG.integers(0, 4, 8),
        "weights": RNG.uniform(0.5, 2, 8).astype(np.float32),
    }
    for _ in range(3)
]
Metric = Callable[..., Any]

METRICS: dict[str, Metric] = {
    "mean": lambda m, d: m.mean(d["scores"]),
    "mean-weighted": lambda m, d: m.mean(d["scores"], d["weights"]),
    "accuracy": lambda m, d: m.accuracy(d["classes"], d["guesses"]),
    "accuracy-weighted": lambda m, d: m.accuracy(d["classes"], d["guesses"], weights=d["weights"]),
    "mean_absolute_error": lambda m, d: m.mean_absolute_error(d["labels"], d["scores"]),
    "mean_squared_error": lambda m, d: m.mean_squared_error(d["labels"], d["scores"], d["weights"]),
    "root_mean_squared_error": lambda m, d: m.root_mean_squared_error(d["labels"], d["scores"]),
    "true_positives": lambda m, d: m.true_positives(d["labels"], d["scores"] > 0.5),
    "false_positives": lambda m, d: m.false_positives(d["labels"], d["scores"] > 0.5, d["weights"]),
    "true_negatives": lambda m, d: m.true_negatives(d["labels"], d["scores"] > 0.5),
    "false_negatives": lambda m, d: m.false_negatives(d["labels"], d["scores"] > 0.5),
    "precision": lambda m, d: m.precision(d["labels"], d["scores"] > 0.5),
    "recall": lambda m, d: m.recall(d["labels"], d["scores"] > 0.5, d["weights"]),
    "auc": lambda m, d: m.auc(d["labels"], d["scores"]),
    "auc-weighted": lambda m, d: m.auc(d["labels"], d["scores"], d["weights"], num_thresholds=20),
    "auc-pr": lambda m, d: m.auc(d["labels"], d["scores"], curve="PR", summation_method="minoring"),
    "auc-careful": lambda m, d: m.auc(
        d["labels"], d["scores"], curve="PR", summation_method="careful_interpolation", num_thresholds=20
    ),
    "mean_per_class_accuracy": lambda m, d: m.mean_per_class_accuracy(d["classes"], d["guesses"], 4, d["weights"]),
    "mean_iou": lambda m, d: m.mean_iou(d["classes"], d["guesses"], 4),
}


def evaluated(tf: Any, metric: Metric) -> list[Any]:
    """The update and the value after each run; names of the variables and of both tensors."""
    with tf.Graph().as_default(), tf.Session() as session:
        given = {name: tf.placeholder(tf.as_dtype(a.dtype), [None] if name != "scores" else [8])
                 for name, a in RUNS[0].items()}  # fmt: skip
        value, update = metric(tf.metrics, given)
        names = [v.name for v in tf.local_variables()]
        session.run(tf.local_variables_initializer())
        results = []
        for data in RUNS:
            feeds = {given[name]: a for name, a in data.items()}
            results += [session.run(update, feeds), session.run(value)]
        return [names, *results]


@pytest.mark.parametrize("metric", METRICS.values(), ids=list(METRICS))
def test_value_is_the_last_update(metric: Metric) -> None:
    _, *results = evaluated(graph_api, metric)
    for update, value in zip(results[::2], results[1::2], strict=True):
        if np.ndim(update) == np.ndim(value):  # mean_iou updates a matrix, mean_per_class_accuracy a vector
            np.testing.assert_array_equal(update, value)


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("metric", METRICS.values(), ids=list(METRICS))
def test_beside_tensorflow(metric: Metric) -> None:
    tensorflow = pytest.importorskip("tensorflow").compat.v1
    (names, *ours), (their_names, *theirs) = evaluated(graph_api, metric), evaluated(tensorflow, metric)
    assert sorted(names) == sorted(their_names)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_by_hand() -> None:
    tf = graph_api
    value, update = tf.metrics.accuracy([1, 2, 3, 4], [1, 2, 0, 0], updates_collections="updates", name="hits")
    assert (value.name, update.name) == ("hits/value:0", "hits/update_op:0")
    assert tf.get_collection("updates") == [update]
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        assert session.run(value) == 0 and session.run(update) == 0.5 and session.run(value) == 0.5
    with pytest.raises(ValueError, match="curve"):
        tf.metrics.auc([1.0], [0.5], curve="LIFT")
    with pytest.raises(ValueError, match="one shape"):
        tf.metrics.accuracy(tf.ones([2, 3]), tf.ones([2]))


def test_accuracy_of_one_batch_takes_the_predictions_first() -> None:
    tf = graph_api
    labels, guesses = np.array([1, 0, 1, 1]), np.array([1, 1, 0, 1])
    with tf.Graph().as_default(), tf.Session() as session:
        m = tf.contrib.metrics
        assert session.run(m.accuracy(guesses, labels)) == 0.5
        assert session.run(m.accuracy(guesses, labels, weights=[3.0, 1.0, 1.0, 1.0])) == np.float32(4 / 6)
        with pytest.raises(ValueError, match="dtypes of predictions and labels"):
            m.accuracy([1.0], [1])


def test_variables_are_named_as_in_tensorflow() -> None:
    tf = graph_api
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.metrics.precision([True], [True], name="p")
        tf.metrics.mean([0.5], name="r")
        names = [v.op.name for v in tf.local_variables()]
        assert names[:2] == ["p/true_positives/count", "p/false_positives/count"]
        assert names[2:] == ["r/total", "r/count"]
        session.run([tf.local_variables_initializer(), tf.tables_initializer()])
        assert graph.get_operation_by_name("init_all_tables") is not None


# ---- shapes that only a run knows ------------------------------------------------------------------------------------

FORMS = {"vector": (3,), "column": (3, 1), "row": (1, 3), "one": (1,)}
LEFT_OPEN: dict[str, Callable[..., Any]] = {
    "accuracy": lambda m, y, x, w: m.accuracy(y, x, w),
    "mean": lambda m, y, x, w: m.mean(x, w),
    "mean_squared_error": lambda m, y, x, w: m.mean_squared_error(y, x, w),
    "precision": lambda m, y, x, w: m.precision(y, x, w),
    "auc": lambda m, y, x, w: m.auc(y, x, w),
    "true_positives": lambda m, y, x, w: m.true_positives(y, x, w),
}


def _fed(tf: Any, metric: Callable[..., Any], forms: tuple[str, str, str], known: bool) -> Any:
    """The update of a metric whose labels, predictions and weights are fed in these shapes; the error's class."""
    arrays = [np.float32([0, 1, 1]), np.float32([0, 1, 0]), np.float32([3, 1, 2])]
    arrays = [x[: np.prod(FORMS[form])].reshape(FORMS[form]) for x, form in zip(arrays, forms, strict=True)]
    with tf.Graph().as_default(), tf.Session() as session:
        fed = [tf.placeholder(tf.float32, x.shape if known else None) for x in arrays]
        try:
            update = metric(tf.metrics, *fed)[1]
            session.run(tf.local_variables_initializer())
            return session.run(update, dict(zip(fed, arrays, strict=True)))
        except (ValueError, tf.errors.InvalidArgumentError):
            return "refused"


@pytest.mark.parametrize("name", LEFT_OPEN)
@pytest.mark.parametrize(
    "forms", [("vector", "vector"), ("vector", "column"), ("column", "vector"), ("column", "column")]
)
def test_shapes_left_open_give_what_known_ones_do(name: str, forms: tuple[str, str]) -> None:
    for weights in ("vector", "column", "row", "one"):
        known, open_ = (_fed(graph_api, LEFT_OPEN[name], (*forms, weights), k) for k in (True, False))
        assert known == open_, (weights, known, open_)


@pytest.mark.parametrize("name", LEFT_OPEN)
def test_shapes_left_open_beside_tensorflow(name: str) -> None:
    tf = pytest.importorskip("tensorflow").compat.v1
    for forms in [(y, x, w) for y in ("vector", "column") for x in ("vector", "column") for w in FORMS]:
        for known in (True, False):
            ours, theirs = (_fed(api, LEFT_OPEN[name], forms, known) for api in (graph_api, tf))
            if name in ("precision", "true_positives") and forms == ("column", "column", "row"):
                assert ours == "refused"  # TensorFlow makes a table of three times three of them
            else:
                assert ours == theirs or ours == pytest.approx(theirs, rel=1e-6), (forms, known)


def test_areas_refuse_predictions_beyond_one() -> None:
    tf = graph_api
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2])
        update = tf.metrics.auc([1.0, 0.0], x)[1]
        session.run(tf.local_variables_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"predictions must be in \[0, 1\]"):
            session.run(update, {x: [1.0, -1.0]})
