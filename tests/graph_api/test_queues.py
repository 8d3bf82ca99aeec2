"""Queues, the threads that fill them, and input as programs of 2016 have it."""

import gzip
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graph_api as tf


def test_first_in_first_out(sess: tf.Session) -> None:
    queue = tf.FIFOQueue(10, [tf.int32, tf.string], shapes=[[], []])
    x = tf.placeholder(tf.int32, [])
    put = queue.enqueue([x, "a"])
    for i in range(3):
        sess.run(put, {x: i})
    sess.run(queue.enqueue_many([[3, 4], ["b", "c"]]))
    assert sess.run(queue.size()) == 5
    assert sess.run(queue.dequeue()) == [0, b"a"]
    numbers, names = queue.dequeue_many(3)
    assert numbers.shape.as_list() == [3]
    assert [v.tolist() for v in sess.run([numbers, names])] == [[1, 2, 3], [b"a", b"a", b"b"]]
    with tf.Session() as other:
        assert other.run(queue.size()) == 0, "each session has elements of its own"


def test_a_closed_queue_gives_what_it_has(sess: tf.Session) -> None:
    queue = tf.FIFOQueue(10, tf.float32, [[]])
    sess.run(queue.enqueue_many([[1.0, 2.0, 3.0]]))
    sess.run(queue.close())
    assert sess.run(queue.is_closed())
    with pytest.raises(tf.errors.CancelledError, match="is closed"):
        sess.run(queue.enqueue(4.0))
    assert sess.run(queue.dequeue_many(2)).tolist() == [1.0, 2.0]
    with pytest.raises(tf.errors.OutOfRangeError, match=r"insufficient elements \(requested 2, current size 1\)"):
        sess.run(queue.dequeue_many(2))
    assert sess.run(queue.dequeue_up_to(2)).tolist() == [3.0]
    with pytest.raises(tf.errors.OutOfRangeError):
        sess.run(queue.dequeue_up_to(2))


def test_who_finds_too_few_or_too_many_waits(sess: tf.Session) -> None:
    queue = tf.FIFOQueue(2, tf.int32, [[]])
    put, take = queue.enqueue_many([[1, 2, 3, 4]]), queue.dequeue()
    thread = threading.Thread(target=lambda: sess.run(put))
    thread.start()
    assert [sess.run(take) for _ in range(4)] == [1, 2, 3, 4]
    thread.join(10)
    assert not thread.is_alive()


def test_closing_the_session_ends_the_waiting() -> None:
    with tf.Graph().as_default():
        take = tf.FIFOQueue(2, tf.int32, [[]]).dequeue()
        session = tf.Session()
    found: list[Any] = []

    def wait() -> None:
        try:
            session.run(take)
        except tf.errors.CancelledError as error:
            found.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    time.sleep(0.1)
    session.close()
    thread.join(10)
    assert len(found) == 1


def test_random_order(sess: tf.Session) -> None:
    orders = []
    for seed in (1, 1, 2):
        queue = tf.RandomShuffleQueue(100, 0, tf.int64, [[]], seed=seed)
        sess.run(queue.enqueue_many([np.arange(50)]))
        orders.append(sess.run(queue.dequeue_many(50)).tolist())
    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[0]) == sorted(orders[2]) == list(range(50)) != orders[0]


def test_names_and_padding(sess: tf.Session) -> None:
    queue = tf.FIFOQueue(3, [tf.int32, tf.float32], [[], []], names=["i", "f"])
    sess.run(queue.enqueue({"i": 1, "f": 2.0}))
    assert sess.run(queue.dequeue()) == {"i": 1, "f": 2.0}
    with pytest.raises(ValueError, match="names"):
        queue.enqueue({"x": 1})
    padded = tf.PaddingFIFOQueue(3, tf.int32, [[None]])
    sess.run([padded.enqueue([[1, 2, 3]]), padded.enqueue([[4]])])
    assert sorted(sess.run(padded.dequeue_many(2)).tolist()) == [[1, 2, 3], [4, 0, 0]]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: tf.FIFOQueue(3, [tf.int32, tf.int32]).enqueue([1]), "2 tensors, got 1"),
        (lambda: tf.FIFOQueue(3, [tf.int32], [[], []]), "same length"),
        (lambda: tf.FIFOQueue(3, tf.int32).enqueue(1.5), "1.5"),
        (lambda: tf.RandomShuffleQueue(3, 5, tf.int32), "min_after_dequeue"),
        (lambda: tf.train.QueueRunner(), "Must provide"),
        (lambda: tf.train.slice_input_producer([]), "at least one"),
        (lambda: tf.train.string_input_producer([]), "non-null"),
        (lambda: tf.train.batch([tf.placeholder(tf.float32)], 2), "fully defined"),
        (lambda: tf.train.input_producer([1], num_epochs=0), "num_epochs"),
    ],
)
def test_what_is_wrong_is_refused(sess: tf.Session, wrong: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        wrong()


def test_an_element_of_another_shape_is_refused(sess: tf.Session) -> None:
    queue = tf.FIFOQueue(3, tf.float32, [[2]])
    x = tf.placeholder(tf.float32)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Expected \[2\], got \[3\]"):
        sess.run(queue.enqueue(x), {x: [1.0, 2.0, 3.0]})


# ---- coordinators ----------------------------------------------------------------------------------------------------


def test_threads_stop_together() -> None:
    coord = tf.train.Coordinator()
    counts = [0, 0]

    def work(i: int) -> None:
        while not coord.should_stop():
            counts[i] += 1
            if counts[i] == 20:
                coord.request_stop()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    coord.join(threads)
    assert coord.joined
    assert 20 in counts


def test_the_error_of_a_thread_is_raised_by_join() -> None:
    coord = tf.train.Coordinator()

    def fail() -> None:
        with coord.stop_on_exception():
            raise KeyError("from the thread")

    thread = threading.Thread(target=fail)
    thread.start()
    with pytest.raises(KeyError, match="from the thread"):
        coord.join([thread])
    clean = tf.train.Coordinator()
    clean.request_stop(tf.errors.OutOfRangeError("end"))
    clean.join([])
    other = tf.train.Coordinator()
    try:
        raise ValueError("seen")
    except ValueError:
        other.request_stop(sys.exc_info())
    with pytest.raises(ValueError, match="seen"):
        other.join()
    other.clear_stop()
    assert not other.should_stop()


def test_threads_that_go_on_are_named() -> None:
    coord, end = tf.train.Coordinator(), threading.Event()
    thread = threading.Thread(target=end.wait, name="slow")
    thread.start()
    coord.request_stop()
    with pytest.raises(RuntimeError, match="still running: slow"):
        coord.join([thread], stop_grace_period_secs=0.1)
    end.set()
    thread.join()


# ---- pipelines -------------------------------------------------------------------------------------------------------


def drained(sess: tf.Session, fetches: Any) -> list[Any]:
    """All that comes out of a pipeline of queues."""
    sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess, coord)
    found = []
    try:
        while not coord.should_stop():
            found.append(sess.run(fetches))
    except tf.errors.OutOfRangeError:
        pass
    finally:
        coord.request_stop()
    coord.join(threads, stop_grace_period_secs=10)
    return found


def test_slices_in_batches(sess: tf.Session) -> None:
    x, y = np.arange(14.0, dtype=np.float32).reshape(7, 2), np.arange(7)
    row, label = tf.train.slice_input_producer([x, y], num_epochs=2, shuffle=False)
    rows, labels = tf.train.batch([row, label], batch_size=3)
    assert rows.shape.as_list() == [3, 2]
    found = drained(sess, [rows, labels])
    assert [labels.tolist() for _, labels in found] == [[0, 1, 2], [3, 4, 5], [6, 0, 1], [2, 3, 4]]
    assert all(np.array_equal(rows, x[labels]) for rows, labels in found)


def test_shuffled_batches_with_a_smaller_last_one(sess: tf.Session) -> None:
    value = tf.train.range_input_producer(10, num_epochs=1, seed=1).dequeue()
    value.set_shape([])
    batch = tf.train.shuffle_batch([value], 4, capacity=20, min_after_dequeue=5, seed=2, allow_smaller_final_batch=True)
    found = drained(sess, batch[0])
    assert [len(b) for b in found] == [4, 4, 2]
    assert sorted(np.concatenate(found).tolist()) == list(range(10))


def test_several_threads_lose_nothing(sess: tf.Session) -> None:
    value = tf.train.input_producer(np.arange(40), num_epochs=1, shuffle=False).dequeue()
    batch = tf.train.batch({"v": value * 2}, 5, num_threads=3)
    found = drained(sess, batch)
    assert sorted(np.concatenate([b["v"] for b in found]).tolist()) == [2 * i for i in range(40)]


def test_without_epochs_it_goes_on_for_ever(sess: tf.Session) -> None:
    batch = tf.train.batch([tf.train.input_producer([1, 2, 3]).dequeue()], 6)[0]
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess, coord)
    for _ in range(20):
        assert sorted(sess.run(batch).tolist()) == [1, 1, 2, 2, 3, 3]
    coord.request_stop()
    coord.join(threads, stop_grace_period_secs=10)


def test_files_are_read(sess: tf.Session, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x\n1\n2\n")
    (tmp_path / "b").write_text("x\n3\n")
    names = tf.train.string_input_producer([str(tmp_path / "a"), str(tmp_path / "b")], num_epochs=1, shuffle=False)
    key, value = tf.TextLineReader(skip_header_lines=1).read(names)
    found = drained(sess, [key, value])
    assert [v for _, v in found] == [b"1", b"2", b"3"]
    assert [k.rpartition(b"/")[2] for k, _ in found] == [b"a:2", b"a:3", b"b:2"]
    assert names.name == "input_producer"


def test_records_and_whole_files_are_read(sess: tf.Session, tmp_path: Path) -> None:
    with tf.python_io.TFRecordWriter(str(tmp_path / "r")) as writer:
        writer.write(b"one")
        writer.write(b"two\0")
    names = tf.train.string_input_producer([str(tmp_path / "r")], num_epochs=1)
    assert drained(sess, tf.TFRecordReader().read(names)[1]) == [b"one", b"two\0"]
    (tmp_path / "w").write_bytes(gzip.compress(b"x"))
    names = tf.train.string_input_producer([str(tmp_path / "w")], num_epochs=1)
    content = (tmp_path / "w").read_bytes()
    assert drained(sess, list(tf.WholeFileReader().read(names))) == [[str(tmp_path / "w").encode(), content]]


def test_a_runner_without_coordinator_keeps_its_errors(sess: tf.Session) -> None:
    queue = tf.FIFOQueue(3, tf.float32, [[]])
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(1.0)] * 2))
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess, coord)
    assert len(threads) == 3
    assert tf.train.start_queue_runners(sess, coord) == [], "they run already"
    assert sess.run(queue.dequeue_many(5)).tolist() == [1.0] * 5
    coord.request_stop()
    coord.join(threads, stop_grace_period_secs=10)
