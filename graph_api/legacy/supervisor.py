"""``train.Supervisor``: a session that is restored or initialized, and threads that save and write summaries."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import graph_api as tf
from dualgrad.files.protos import SessionLog, Summary, SummaryValue
from dualgrad.platform.coordination import Coordinator, LooperThread
from engine.runtime.errors import UnimplementedError
from graph_api.graph import Graph, get_default_graph
from graph_api.graph_keys import GraphKeys
from graph_api.legacy.coordination import QUEUE_RUNNERS
from graph_api.legacy.monitored import started_session
from graph_api.session import Session


class Supervisor:
    """Prepares a session, saves it from time to time, and stops all of its threads.

    Parameters
    ----------
    graph : Graph, optional
        By default the default graph. It is final from here on.
    init_op, local_init_op, summary_op : optional
        By default what initializes all variables, what initializes local ones, and all summaries merged. None: nothing.
    init_feed_dict : dict, optional
        For `init_op`.
    is_chief : bool
        Must be True: there is one process.
    logdir : path, optional
        Where checkpoints, the graph and summaries are; without it nothing is written.
    saver : Saver, optional
        None: nothing is saved or restored.
    global_step : tensor or variable, optional
        By default the one of the graph's collection.
    save_summaries_secs, save_model_secs : number
        How often; 0: never.
    stop_grace_secs : number
        How long `stop` waits for threads.
    checkpoint_basename : str
    summary_writer : FileWriter, optional
    init_fn : callable, optional
        ``init_fn(session)`` after `init_op`, if there was no checkpoint.
    ready_op, ready_for_local_init_op, recovery_wait_secs, session_manager, local_init_run_options
        Accepted for compatibility.

    Raises
    ------
    UnimplementedError
        If it is not the chief.

    Examples
    --------
    >>> import graph_api as tf
    >>> with tf.Graph().as_default():
    ...     v = tf.Variable(3.0)
    ...     supervisor = tf.train.Supervisor()
    ...     with supervisor.managed_session() as sess:
    ...         print(sess.run(v))
    3.0
    """

    USE_DEFAULT = 0

    def __init__(
        self, graph: Graph | None = None, ready_op: Any = USE_DEFAULT, ready_for_local_init_op: Any = USE_DEFAULT,
        is_chief: bool = True, init_op: Any = USE_DEFAULT, init_feed_dict: Any = None, local_init_op: Any = USE_DEFAULT,
        logdir: Any = None, summary_op: Any = USE_DEFAULT, saver: Any = USE_DEFAULT, global_step: Any = USE_DEFAULT,
        save_summaries_secs: float = 120, save_model_secs: float = 600, recovery_wait_secs: float = 30,
        stop_grace_secs: float = 120, checkpoint_basename: str = "model.ckpt", session_manager: Any = None,
        summary_writer: Any = USE_DEFAULT, init_fn: Callable[..., Any] | None = None,
        local_init_run_options: Any = None,
    ) -> None:  # fmt: skip
        if not is_chief:
            raise UnimplementedError("Supervisor: training on several machines is out of scope: leave `is_chief` True")
        self.graph = graph or get_default_graph()
        self.is_chief, self.session_manager = True, session_manager
        self.save_summaries_secs, self.save_model_secs = save_summaries_secs, save_model_secs
        self.init_feed_dict, self.init_fn, self._grace = init_feed_dict, init_fn, stop_grace_secs
        self.local_init_feed_dict = None
        self._folder = os.fsdecode(logdir) if logdir else None
        with self.graph.as_default(), self.graph.name_scope(None):
            self.init_op = self._chosen(init_op, tf.global_variables_initializer)
            self.local_init_op = self._chosen(local_init_op, tf.local_variables_initializer)
            self.summary_op = self._chosen(summary_op, tf.summary.merge_all)
            there = self.graph.get_collection(GraphKeys.GLOBAL_VARIABLES)
            self.saver = self._chosen(saver, lambda: tf.train.Saver() if there else None)
            self.global_step = self._chosen(global_step, tf.train.get_global_step)
        self.save_path = os.path.join(self._folder, checkpoint_basename) if self._folder else None
        self.summary_writer = self._chosen(
            summary_writer, lambda: tf.summary.FileWriter(self._folder) if self._folder else None
        )
        self.coord = Coordinator()
        self._threads: list[Any] = []
        self._began = False
        self.graph.finalize()

    def _chosen(self, given: Any, default: Callable[[], Any]) -> Any:
        return default() if isinstance(given, int) and given == self.USE_DEFAULT else given

    # ---- sessions ----------------------------------------------------------------------------------------------------

    def prepare_or_wait_for_session(
        self, master: str = "", config: Any = None, wait_for_checkpoint: bool = False, max_wait_secs: float = 7200,
        start_standard_services: bool = True,
    ) -> Session:  # fmt: skip
        """A session, restored from the latest checkpoint or else initialized."""
        self.coord.clear_stop()
        with self.graph.as_default():
            session = started_session(self, master, config, self._folder, None)
            if self._folder:
                tf.train.write_graph(self.graph, self._folder, "graph.pbtxt")
                if start_standard_services:
                    self.start_standard_services(session)
            self.start_queue_runners(session)
        return session

    @contextmanager
    def managed_session(
        self, master: str = "", config: Any = None, start_standard_services: bool = True,
        close_summary_writer: bool = True,
    ) -> Iterator[Session]:  # fmt: skip
        """A session for a with block. What it raises stops the threads, and is raised when they have ended."""
        try:
            session = self.prepare_or_wait_for_session(master, config, start_standard_services=start_standard_services)
        except BaseException as error:
            self.coord.request_stop(error)
            raise
        try:
            try:
                with session.as_default(), self.graph.as_default():
                    yield session
            except Exception as error:  # noqa: BLE001 - the coordinator raises it, or ends quietly for it
                self.coord.request_stop(error)
            self.stop(close_summary_writer=close_summary_writer)
        finally:
            self.coord.request_stop()
            session.close()

    def start_queue_runners(self, sess: Session, queue_runners: Any = None) -> list[Any]:
        """Start the threads of queue runners, by default of all."""
        runners = self.graph.get_collection(QUEUE_RUNNERS) if queue_runners is None else queue_runners
        started = [t for runner in runners for t in runner.create_threads(sess, self.coord, daemon=True, start=True)]
        self._threads += started
        return started

    # ---- threads -----------------------------------------------------------------------------------------------------

    def start_standard_services(self, sess: Session) -> list[LooperThread]:
        """Start the threads that save, and write summaries and the speed.

        Raises
        ------
        RuntimeError
            If there is no `logdir`.
        """
        if not self._folder:
            raise RuntimeError("Supervisor: threads that save and write summaries need a `logdir`")
        if self.summary_writer is not None and not self._began:
            self._began = True
            self.summary_writer.reopen()
            self.summary_writer.add_graph(self.graph)
            self.summary_writer.add_session_log(
                SessionLog(status=SessionLog.START), None if self.global_step is None else self._step(sess)
            )
        started = []
        if self.summary_writer is not None and self.save_summaries_secs:
            if self.summary_op is not None:
                started.append(self.loop(self.save_summaries_secs, self._summarize, (sess,)))
            if self.global_step is not None:
                before = [time.time(), self._step(sess)]
                started.append(self.loop(self.save_summaries_secs, self._count, (sess, before)))
        if self.saver is not None and self.save_model_secs:
            self._save(sess)
            started.append(self.loop(self.save_model_secs, self._save_later, (sess, [])))
        return started

    def loop(
        self, timer_interval_secs: float | None, target: Callable[..., Any], args: Sequence[Any] | None = None,
        kwargs: Any = None,
    ) -> LooperThread:  # fmt: skip
        """Call a function again and again, in a thread, until a stop is requested."""
        looper = LooperThread(self.coord, timer_interval_secs, target, args, kwargs)
        looper.start()
        self._threads.append(looper)
        return looper

    def _step(self, sess: Session) -> int:
        return int(sess.run(self.global_step))

    def _save(self, sess: Session) -> None:
        self.saver.save(sess, self.save_path, global_step=self.global_step)

    def _save_later(self, sess: Session, calls: list[None]) -> None:
        """Save, but for the first call, which is made at once."""
        if calls:
            self._save(sess)
        calls[:] = [None]

    def _summarize(self, sess: Session) -> None:
        self.summary_computed(sess, sess.run(self.summary_op))

    def _count(self, sess: Session, before: list[Any]) -> None:
        now, step = time.time(), self._step(sess)
        if now > before[0] and step > before[1]:
            tag, speed = f"{self.global_step.op.name}/sec", (step - before[1]) / (now - before[0])
            self.summary_writer.add_summary(Summary(value=[SummaryValue(tag=tag, simple_value=speed)]), step)
        before[:] = [now, step]

    def summary_computed(self, sess: Session, summary: Any, global_step: Any = None) -> None:
        """Write a summary that was computed in a session.

        Raises
        ------
        RuntimeError
            If there is nothing to write to.
        """
        if self.summary_writer is None:
            raise RuntimeError("Writing a summary requires a summary writer: give the Supervisor a `logdir`.")
        if global_step is None and self.global_step is not None:
            global_step = self._step(sess)
        self.summary_writer.add_summary(summary, global_step)

    # ---- stopping ----------------------------------------------------------------------------------------------------

    def should_stop(self) -> bool:
        """Whether a stop was requested."""
        return self.coord.should_stop()

    def request_stop(self, ex: Any = None) -> None:
        """Ask all threads to stop."""
        self.coord.request_stop(ex)

    def stop_on_exception(self) -> AbstractContextManager[None]:
        """A context manager that requests a stop when something is raised."""
        return self.coord.stop_on_exception()

    def wait_for_stop(self) -> None:
        """Wait until a stop is requested."""
        self.coord.wait_for_stop()

    def stop(self, threads: Any = None, close_summary_writer: bool = True, ignore_live_threads: bool = False) -> None:
        """Stop the threads, wait for them, and close the summary writer. What a thread raised is raised here."""
        self.coord.request_stop()
        try:
            self.coord.join(
                self._threads if threads is None else threads, self._grace, ignore_live_threads=ignore_live_threads
            )
        finally:
            self._threads = []
            if close_summary_writer and self._began:
                self.summary_writer.add_session_log(SessionLog(status=SessionLog.STOP))
                self.summary_writer.close()
                self._began = False

    PrepareSession = prepare_or_wait_for_session
    StartQueueRunners = start_queue_runners
    StartStandardServices = start_standard_services
    Loop = loop
    ShouldStop = should_stop
    RequestStop = request_stop
    StopOnException = stop_on_exception
    Stop = stop
    WaitForStop = wait_for_stop
    SummaryComputed = summary_computed
