"""Data sets: elements, order, numbers and specs are TensorFlow's, in both modes; what is wrong is refused."""

import gzip
import itertools
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from tests.data import programs

STORED = json.loads(programs.FIGURES.read_text())
D = tape_api.data.Dataset


def test_eager_elements_are_tensorflows() -> None:
    found = programs.eager(tape_api)
    assert found.keys() == STORED["eager"].keys()
    for name, figures in STORED["eager"].items():
        assert json.loads(json.dumps(found[name])) == figures, name


def test_elements_in_graphs_are_tensorflows() -> None:
    found = programs.graph(graph_api)
    assert found.keys() == STORED["graph"].keys()
    for name, figures in STORED["graph"].items():
        assert json.loads(json.dumps(found[name])) == figures, name


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore")
def test_the_stored_elements_are_tensorflows() -> None:
    tf = pytest.importorskip("tensorflow")
    assert json.loads(json.dumps(programs.eager(tf))) == STORED["eager"]
    assert json.loads(json.dumps(programs.graph_of_tensorflow(tf))) == STORED["graph"]


# ---- eager -----------------------------------------------------------------------------------------------------------


def test_without_seeds_orders_differ() -> None:
    data = D.range(100).shuffle(100)
    first, second = ([int(x) for x in data] for _ in range(2))
    assert first != second
    assert sorted(first) == sorted(second) == list(range(100))


def test_a_generator_is_called_anew_and_checked() -> None:
    calls = []

    def make(n: Any) -> Iterator[Any]:
        calls.append(int(n))
        yield from range(n)

    data = D.from_generator(make, tape_api.int32, args=(3,))
    assert [int(x) for x in data.repeat(2)] == [0, 1, 2, 0, 1, 2]
    assert calls == [3, 3]
    with pytest.raises(TypeError, match="could not be converted"):
        list(D.from_generator(lambda: iter(["a"]), tape_api.int32))
    with pytest.raises(TypeError, match=r"shape \(2,\) where an element of shape \(3,\)"):
        list(D.from_generator(lambda: iter([[1, 2]]), tape_api.int32, (3,)))
    with pytest.raises(TypeError, match="expected structure"):
        list(D.from_generator(lambda: iter([(1, 2)]), (tape_api.int32,)))
    with pytest.raises(TypeError, match="must be specified"):
        D.from_generator(lambda: iter([]))


def test_a_cache_computes_once() -> None:
    calls: list[int] = []

    def seen(x: Any) -> Any:
        calls.append(0)
        return x

    def mapped(x: Any) -> Any:
        return tape_api.numpy_function(seen, [x], tape_api.int64)

    cached = D.range(3).map(mapped).cache()
    assert [list(map(int, cached)) for _ in range(3)] == [[0, 1, 2]] * 3
    assert len(calls) == 3


def test_iterators() -> None:
    iterator = iter(D.range(2))
    assert [int(iterator.get_next()), int(next(iterator))] == [0, 1]
    with pytest.raises(tape_api.errors.OutOfRangeError, match="End of sequence"):
        iterator.get_next()
    with pytest.raises(StopIteration):
        next(iterator)
    assert len(D.range(7).batch(2)) == 4
    with pytest.raises(TypeError, match="infinite"):
        len(D.range(2).repeat())
    with pytest.raises(TypeError, match="unknown"):
        len(D.range(2).filter(lambda x: x > 0))
    assert int(D.range(1).get_single_element()) == 0
    with pytest.raises(ValueError, match="more than one element"):
        D.range(2).get_single_element()


def test_elements_cannot_be_changed_from_outside() -> None:
    source = np.zeros((1, 2))
    data = D.from_tensor_slices(source)
    source[:] = 9
    for element in data:
        element.numpy()[:] = 7
    assert [x.tolist() for x in data.as_numpy_iterator()] == [[0.0, 0.0]]


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda: D.from_tensor_slices(([1, 2], [1])), ValueError, "not compatible"),
        (lambda: D.from_tensor_slices(3), ValueError, "rank >= 1"),
        (lambda: D.range(3).batch(0), ValueError, "batch_size"),
        (lambda: D.range(3).shuffle(0), ValueError, "buffer_size"),
        (lambda: D.range(3).window(0), ValueError, "size"),
        (lambda: list(D.range(3).shard(2, 2)), ValueError, "num_shards"),
        (lambda: D.range(3).map(3), TypeError, "callable"),
        (lambda: list(D.range(3).map(lambda x: None)), TypeError, "got None"),
        (lambda: list(D.range(3).flat_map(lambda x: x)), TypeError, "must return a `Dataset`"),
        (lambda: list(D.range(3).map(lambda x: tape_api.fill([x], 0)).batch(2)), ValueError, "different shapes"),
        (lambda: D.range(3).concatenate(D.from_tensors(1.0)), TypeError, "dtypes"),
        (lambda: D.zip([D.range(1)]), TypeError, "tuple or dict"),
        (lambda: D.range(3).cache("file"), NotImplementedError, "in memory"),
        (lambda: D(3), TypeError, "from_tensor_slices"),
        (lambda: D.list_files("/nothing/*"), ValueError, "No files matched"),
        (lambda: list(D.range(3).apply(tape_api.data.experimental.assert_cardinality(2))), ValueError, "2 elements"),
    ],
)
def test_what_is_wrong_is_refused(wrong: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        wrong()


def test_models_are_trained_on_data_sets() -> None:
    x = np.random.default_rng(0).normal(size=(64, 3)).astype(np.float32)
    data = D.from_tensor_slices((x, x.sum(axis=1, keepdims=True))).shuffle(64, seed=0).batch(16)
    model = tape_api.keras.Sequential([tape_api.keras.layers.Dense(1, input_shape=(3,))])
    model.compile("adam", "mse")
    losses = model.fit(data, epochs=3, verbose=0).history["loss"]
    assert losses[0] > losses[1] > losses[2]


def test_files(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\r\ntwo\nthree")
    (tmp_path / "b.gz").write_bytes(gzip.compress(b"four\n"))
    lines = tape_api.data.TextLineDataset([str(tmp_path / "a.txt")] * 2)
    assert [x.numpy() for x in lines] == [b"one", b"two", b"three"] * 2
    packed = tape_api.data.TextLineDataset(str(tmp_path / "b.gz"), "GZIP")
    assert [x.numpy() for x in packed] == [b"four"]
    named = D.list_files(str(tmp_path / "*.txt"))
    assert [x.numpy() for x in tape_api.data.TextLineDataset(named)] == [b"one", b"two", b"three"]
    (tmp_path / "c").write_bytes(b"HHaabbF")
    pieces = tape_api.data.FixedLengthRecordDataset(str(tmp_path / "c"), 2, 2, 1)
    assert [x.numpy() for x in pieces] == [b"aa", b"bb"]
    with pytest.raises(ValueError, match="Excess bytes"):
        list(tape_api.data.FixedLengthRecordDataset(str(tmp_path / "c"), 3))
    with pytest.raises(tape_api.errors.NotFoundError, match="nothing"):
        list(tape_api.data.TextLineDataset("nothing"))
    with pytest.raises(TypeError, match="filenames"):
        tape_api.data.TextLineDataset(3)


# ---- graphs ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def tf() -> Iterator[Any]:
    with graph_api.Graph().as_default():
        yield graph_api


def test_what_a_data_set_is_made_of_is_fed_when_it_starts(tf: Any) -> None:
    rows, size = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.int64, [])
    iterator = tf.data.Dataset.from_tensor_slices(rows).batch(size).make_initializable_iterator()
    batch = iterator.get_next()
    with tf.Session() as sess:
        with pytest.raises(tf.errors.FailedPreconditionError, match="has not been initialized"):
            sess.run(batch)
        fed = np.array([1.0, 2.0, 3.0], np.float32)
        sess.run(iterator.initializer, {rows: fed, size: 2})
        fed[:] = 9.0
        assert [sess.run(batch).tolist() for _ in range(2)] == [[1.0, 2.0], [3.0]]
        with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
            sess.run(batch)
        sess.run(iterator.initializer, {rows: [7.0], size: 1})
        assert sess.run(batch).tolist() == [7.0]


def test_each_session_has_its_own_iterator(tf: Any) -> None:
    following = tf.data.Dataset.range(3).make_one_shot_iterator().get_next()
    with tf.Session() as one, tf.Session() as other:
        assert [one.run(following), one.run(following), other.run(following)] == [0, 1, 0]


def test_one_shot_iterators_take_constants_only(tf: Any) -> None:
    with pytest.raises(ValueError, match="Cannot capture a placeholder"):
        tf.data.Dataset.from_tensor_slices(tf.placeholder(tf.float32, [None])).make_one_shot_iterator()
    v = tf.Variable(1)
    with pytest.raises(ValueError, match="make_initializable_iterator"):
        tf.data.Dataset.range(3).map(lambda x: tf.cast(x, tf.int32) + v).make_one_shot_iterator()


def test_an_iterator_for_several_data_sets(tf: Any) -> None:
    a, b = tf.data.Dataset.range(3), tf.data.Dataset.range(10, 12)
    iterator = tf.data.Iterator.from_structure(a.output_types, a.output_shapes)
    following = iterator.get_next()
    first, second = iterator.make_initializer(a), iterator.make_initializer(b)
    with tf.Session() as sess:
        sess.run(second)
        assert [sess.run(following) for _ in range(2)] == [10, 11]
        sess.run(first)
        assert sess.run(following) == 0
    with pytest.raises(TypeError, match="Expected output types"):
        iterator.make_initializer(tf.data.Dataset.from_tensors(1.0))


def test_an_iterator_that_is_fed(tf: Any) -> None:
    a, b = tf.data.Dataset.range(3), tf.data.Dataset.range(10, 12)
    handle = tf.placeholder(tf.string, [])
    following = tf.data.Iterator.from_string_handle(handle, a.output_types, a.output_shapes).get_next()
    one, other = a.make_one_shot_iterator(), b.make_initializable_iterator()
    with tf.Session() as sess:
        x, y = sess.run([one.string_handle(), other.string_handle()])
        sess.run(other.initializer)
        assert [sess.run(following, {handle: h}) for h in (x, y, x, y, x)] == [0, 10, 1, 11, 2]
        with pytest.raises(tf.errors.InvalidArgumentError, match="names none"):
            sess.run(following, {handle: "other"})


def test_tensors_of_one_element_come_together(tf: Any) -> None:
    x, y = tf.data.Dataset.from_tensor_slices(([1, 2], [10, 20])).make_one_shot_iterator().get_next()
    total = x + y
    with tf.Session() as sess:
        assert sess.run([x, y, total]) == [1, 10, 11]
        assert sess.run(total) == 22


def test_threads_share_an_iterator(tf: Any) -> None:
    following = tf.data.Dataset.range(200).make_one_shot_iterator().get_next()
    with tf.Session() as sess:
        found: list[int] = []

        def take() -> None:
            for _ in range(50):
                found.append(int(sess.run(following)))  # noqa: PERF401 - one at a time

        threads = [threading.Thread(target=take) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(found) == list(range(200))


def test_random_numbers_in_a_function_go_on(tf: Any) -> None:
    batch = tf.data.Dataset.range(20).map(lambda i: tf.random_uniform([])).batch(20).make_one_shot_iterator().get_next()
    with tf.Session() as sess:
        assert len(set(sess.run(batch).tolist())) == 20


def test_gradients_through_a_pipeline(tf: Any) -> None:
    x = tf.data.Dataset.from_tensor_slices([[1.0], [2.0]]).repeat().make_one_shot_iterator().get_next()
    w = tf.Variable(3.0)
    gradient = tf.gradients(tf.reduce_sum(w * x), w)[0]
    with tf.Session() as sess:
        sess.run(w.initializer)
        assert [sess.run(gradient) for _ in range(3)] == [1.0, 2.0, 1.0]


def test_results_are_the_callers_own(tf: Any) -> None:
    following = tf.data.Dataset.from_tensors(np.zeros(3)).repeat().make_one_shot_iterator().get_next()
    with tf.Session() as sess:
        sess.run(following)[:] = 7.0
        assert sess.run(following).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("tf", [graph_api, tape_api])
def test_padding_may_be_a_constant_tensor(tf: Any) -> None:
    with graph_api.Graph().as_default():
        data = tf.data.Dataset.range(3).map(lambda n: tf.range(n))
        padded = data.padded_batch(3, padded_shapes=[None], padding_values=tf.constant(-1, tf.int64))
        if tf is tape_api:
            (found,) = [x.numpy() for x in padded]
        else:
            found = tf.Session().run(padded.make_one_shot_iterator().get_next())
            assert repr(padded.output_shapes) == "TensorShape([Dimension(None), Dimension(None)])"
            with pytest.raises(ValueError, match="must be known"):
                data.padded_batch(3, [None], tf.placeholder(tf.int64, []))
    assert found.tolist() == [[-1, -1], [0, -1], [0, 1]]


ROWWISE: dict[str, tuple[Any, bool]] = {
    "numbers": (lambda x, i: tape_api.exp(x) / 3.0 + tape_api.cast(i, "float32"), True),
    "moves": (lambda x, i: {"a": tape_api.concat([x[1:], x[:1]], 0), "b": tape_api.one_hot(i, 3)}, True),
    "a sum": (lambda x, i: tape_api.reduce_sum(x), False),
    "a choice of Python's": (lambda x, i: x if int(i) else -x, False),
    "random": (lambda x, i: x + tape_api.random.uniform([5], seed=1), False),
    "another one each time": (lambda x, i: x + np.float32(next(COUNTER)), False),
    "a variable": (lambda x, i: x + COUNTED.assign_add(1.0), False),
}
COUNTER, COUNTED = itertools.count(), tape_api.Variable(0.0)


@pytest.mark.parametrize(("name", "function", "is_rowwise"), [(name, *row) for name, row in ROWWISE.items()])
def test_one_call_for_a_batch_gives_the_same_bits(name: str, function: Any, is_rowwise: bool) -> None:
    x = np.random.default_rng(0).normal(size=(20, 5)).astype(np.float32)
    data = tape_api.data.Dataset.from_tensor_slices((x, np.arange(20) % 3)).map(function)
    COUNTED.assign(0.0)
    found, alone = (
        [[(a.dtype, a.numpy().tobytes()) for a in tape_api.nest.flatten(b)] for b in d.batch(6)]
        for d in (data, data.prefetch(1))
    )
    assert data._stage.function._is_rowwise is is_rowwise and COUNTED.numpy() == 40.0 * (name == "a variable")
    assert found == alone or name in ("random", "another one each time", "a variable")
