"""Threads that feed queues: ``train.Coordinator``, ``train.QueueRunner`` and `start_queue_runners`."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

from engine.runtime.errors import CancelledError, OutOfRangeError
from graph_api.defaults import get_default_session
from graph_api.graph import get_default_graph

QUEUE_RUNNERS = "queue_runners"


class Coordinator:
    """Lets several threads stop together, and hands the error of one on to who waits for them.

    Parameters
    ----------
    clean_stop_exception_types : tuple of classes, optional
        Errors that mean a clean stop; by default OutOfRangeError.

    Examples
    --------
    >>> import threading
    >>> import graph_api as tf
    >>> coord = tf.train.Coordinator()
    >>> thread = threading.Thread(target=lambda: coord.wait_for_stop())
    >>> thread.start()
    >>> coord.request_stop()
    >>> coord.join([thread])
    >>> coord.should_stop()
    True
    """

    def __init__(self, clean_stop_exception_types: Any = None) -> None:
        self._clean = tuple(clean_stop_exception_types or (OutOfRangeError,))
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._error: Any = None
        self._joined = False
        self._threads: set[threading.Thread] = set()

    @property
    def joined(self) -> bool:
        """Whether `join` has ended."""
        return self._joined

    def should_stop(self) -> bool:
        """Whether the threads are to stop."""
        return self._stopped.is_set()

    def request_stop(self, ex: Any = None) -> None:
        """Ask the threads to stop; an error, or what `sys.exc_info` gives, is raised by `join`."""
        with self._lock:
            if isinstance(ex, tuple):
                ex = ex[1]
            if self._joined:
                if isinstance(ex, Exception):
                    raise ex
                return
            if not self._stopped.is_set():
                if isinstance(ex, BaseException) and not isinstance(ex, self._clean):
                    self._error = ex
                self._stopped.set()

    def clear_stop(self) -> None:
        """Forget that the threads were to stop."""
        with self._lock:
            self._joined, self._error = False, None
            self._stopped.clear()

    @contextlib.contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """An error inside the `with` block stops all threads."""
        try:
            yield
        except BaseException as error:  # noqa: BLE001 - whatever it is, all threads stop, and `join` raises it
            self.request_stop(error)

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Wait until the threads are to stop; whether they are."""
        return self._stopped.wait(timeout)

    def register_thread(self, thread: threading.Thread) -> None:
        """Let `join` wait for a thread."""
        with self._lock:
            self._threads.add(thread)

    def raise_requested_exception(self) -> None:
        """Raise the error that stopped the threads, if there was one."""
        if self._error is not None:
            raise self._error

    def join(self, threads: Any = None, stop_grace_period_secs: float = 120, ignore_live_threads: bool = False) -> None:
        """Wait until all threads have ended, and raise the error that stopped them, if there was one.

        Parameters
        ----------
        threads : iterable of Thread, optional
            Besides those registered.
        stop_grace_period_secs : float
            How long threads may take once they are to stop.
        ignore_live_threads : bool
            Whether threads that take longer are left alone; else RuntimeError.
        """
        with self._lock:
            waited = list(self._threads | set(threads or ()))
        while any(t.is_alive() for t in waited) and not self.wait_for_stop(0.05):
            pass
        limit = time.monotonic() + stop_grace_period_secs
        while any(t.is_alive() for t in waited) and time.monotonic() < limit:
            for thread in waited:
                thread.join(min(0.05, max(limit - time.monotonic(), 0)))
        left = [t.name for t in waited if t.is_alive()]
        with self._lock:
            self._joined = True
            self._threads = set()
        if self._error is not None:
            raise self._error
        if left and not ignore_live_threads:
            raise RuntimeError(f"Coordinator stopped with threads still running: {' '.join(left)}")


class LooperThread(threading.Thread):
    """A thread that calls a function again and again, until a coordinator stops it.

    Parameters
    ----------
    coord : Coordinator
    timer_interval_secs : float or None
        How far apart calls begin; None: one after the other.
    target, args, kwargs
        The function; by default `run_loop`, which a subclass defines.
    """

    def __init__(
        self, coord: Coordinator, timer_interval_secs: float | None, target: Any = None, args: Any = None,
        kwargs: Any = None,
    ) -> None:  # fmt: skip
        if not isinstance(coord, Coordinator):
            raise ValueError(f"'coord' argument must be a Coordinator: {coord}")
        super().__init__(daemon=True)
        self._coord, self._interval = coord, timer_interval_secs
        self._function, self._arguments, self._named = target, args or (), kwargs or {}
        coord.register_thread(self)

    @staticmethod
    def loop(coord: Coordinator, timer_interval_secs: float | None, target: Any, args: Any = None) -> LooperThread:
        """Start such a thread."""
        thread = LooperThread(coord, timer_interval_secs, target=target, args=args)
        thread.start()
        return thread

    def run(self) -> None:
        """Call the function until the coordinator stops the thread."""
        with self._coord.stop_on_exception():
            following = time.monotonic()
            while not self._coord.should_stop():
                self.run_loop()
                if self._interval is not None:
                    following += self._interval
                    self._coord.wait_for_stop(max(following - time.monotonic(), 0))

    def run_loop(self) -> None:
        """Call the target."""
        if self._function:
            self._function(*self._arguments, **self._named)


class QueueRunner:
    """Fills a queue from threads, one for each operation.

    Parameters
    ----------
    queue : queue
    enqueue_ops : list of Operation
        A thread runs each of them again and again.
    close_op, cancel_op : Operation, optional
        Run when a thread ends, and when all are to stop; by default they close the queue.
    queue_closed_exception_types : tuple of classes, optional
        Errors that say that there is nothing more: OutOfRangeError and CancelledError.
    """

    def __init__(
        self,
        queue: Any = None,
        enqueue_ops: Sequence[Any] | None = None,
        close_op: Any = None,
        cancel_op: Any = None,
        queue_closed_exception_types: Any = None,
        queue_runner_def: Any = None,
        import_scope: Any = None,
    ) -> None:
        if queue_runner_def is not None:
            raise ValueError(
                "QueueRunner: argument `queue_runner_def` is not supported; give `queue` and `enqueue_ops`"
            )
        if queue is None or not enqueue_ops:
            raise ValueError("Must provide queue and enqueue_ops.")
        self.queue, self.enqueue_ops = queue, list(enqueue_ops)
        self.close_op = queue.close() if close_op is None else close_op
        self.cancel_op = queue.close(cancel_pending_enqueues=True) if cancel_op is None else cancel_op
        self.queue_closed_exception_types = tuple(queue_closed_exception_types or (OutOfRangeError, CancelledError))
        self._lock = threading.Lock()
        self._running: dict[int, int] = {}
        self.exceptions_raised: list[BaseException] = []

    @property
    def name(self) -> str:
        """The queue's."""
        return self.queue.name

    def create_threads(
        self, sess: Any, coord: Coordinator | None = None, daemon: bool = False, start: bool = False
    ) -> list[threading.Thread]:
        """Threads that fill the queue in a session; and one that stops them, if there is a coordinator."""
        with self._lock:
            if self._running.get(id(sess), 0) > 0:
                return []
            self._running[id(sess)] = len(self.enqueue_ops)
            self.exceptions_raised = []
        threads = [
            threading.Thread(target=self._fill, args=(sess, op, coord), daemon=daemon, name=f"QueueRunner-{op.name}")
            for op in self.enqueue_ops
        ]
        if coord is not None:
            threads.append(threading.Thread(target=self._stop, args=(sess, coord), daemon=daemon))
        for thread in threads:
            if coord is not None:
                coord.register_thread(thread)
            if start:
                thread.start()
        return threads

    def _fill(self, sess: Any, op: Any, coord: Coordinator | None) -> None:
        ended = False
        try:
            while coord is None or not coord.should_stop():
                try:
                    sess.run(op)
                except self.queue_closed_exception_types:
                    with self._lock:
                        self._running[id(sess)] -= 1
                        ended = True
                        last = self._running[id(sess)] == 0
                    if last:
                        self._close(sess, self.close_op)
                    return
        except Exception as error:
            if coord is not None:
                coord.request_stop(error)
                return
            with self._lock:
                self.exceptions_raised.append(error)
            raise
        finally:
            if not ended:
                with self._lock:
                    self._running[id(sess)] -= 1

    def _close(self, sess: Any, op: Any) -> None:
        # the session may have been closed, and with it the queue
        with contextlib.suppress(RuntimeError, CancelledError):
            sess.run(op)

    def _stop(self, sess: Any, coord: Coordinator) -> None:
        coord.wait_for_stop()
        self._close(sess, self.cancel_op)


def add_queue_runner(qr: QueueRunner, collection: str = QUEUE_RUNNERS) -> None:
    """Let `start_queue_runners` start a runner."""
    get_default_graph().add_to_collection(collection, qr)


def start_queue_runners(
    sess: Any = None,
    coord: Coordinator | None = None,
    daemon: bool = True,
    start: bool = True,
    collection: str = QUEUE_RUNNERS,
) -> list[threading.Thread]:
    """Start the threads of all runners of the graph.

    Raises
    ------
    ValueError
        If there is no session.
    """
    sess = sess or get_default_session()
    if sess is None:
        raise ValueError(
            "Cannot start queue runners: No default session is registered. Use `with sess.as_default()` or pass an "
            "explicit session to tf.start_queue_runners(sess=sess)"
        )
    runners = sess.graph.get_collection(collection)
    return [t for runner in runners for t in runner.create_threads(sess, coord, daemon=daemon, start=start)]


__all__ = [
    "Coordinator",
    "LooperThread",
    "QueueRunner",
    "add_queue_runner",
    "start_queue_runners",
]
