"""Threads that feed queues: ``train.QueueRunner`` and `start_queue_runners`."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from typing import Any

from dualgrad.platform.coordination import Coordinator
from engine.runtime.errors import CancelledError, OutOfRangeError
from engine.runtime.faces import Shown
from graph_api.graphs.defaults import get_default_session
from graph_api.graphs.graph import get_default_graph

QUEUE_RUNNERS = "queue_runners"


class QueueRunner(Shown):
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


__all__ = ["QueueRunner", "add_queue_runner", "start_queue_runners"]
