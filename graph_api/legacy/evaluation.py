"""``tf.contrib.training``'s evaluation: waiting for checkpoints, and computing something for each of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import graph_api as tf
from graph_api.legacy.hooks import FinalOpsHook, SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from graph_api.legacy.monitored import ChiefSessionCreator, MonitoredSession
from graph_api.saving import latest_checkpoint
from graph_api.session import Session
from graph_api.summaries import FileWriterCache

_EVAL_STEP = "eval_step"


def wait_for_new_checkpoint(
    checkpoint_dir: Any, last_checkpoint: Any = None, seconds_to_sleep: float = 1, timeout: float | None = None
) -> str | None:
    """Wait until a folder has another checkpoint than `last_checkpoint`.

    Returns
    -------
    str or None
        The path of the newest checkpoint; None if there was none within `timeout` seconds.
    """
    stop = None if timeout is None else time.monotonic() + timeout
    while True:
        found = latest_checkpoint(checkpoint_dir)
        if found is not None and found != last_checkpoint:
            return found
        if stop is not None and time.monotonic() + seconds_to_sleep > stop:
            return None
        time.sleep(seconds_to_sleep)


def checkpoints_iterator(
    checkpoint_dir: Any,
    min_interval_secs: float = 0,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
) -> Iterator[str]:
    """Each new checkpoint of a folder, as it appears.

    Parameters
    ----------
    checkpoint_dir : path
    min_interval_secs : float
        The least time between two of them.
    timeout : float, optional
        How many seconds to wait for one; by default for ever.
    timeout_fn : callable, optional
        Called when there was none in time: what is true ends the iteration. Without it, the first time does.

    Yields
    ------
    str
        The path of a checkpoint.
    """
    last = None
    while True:
        found = wait_for_new_checkpoint(checkpoint_dir, last, timeout=timeout)
        if found is None:
            if timeout_fn is None or timeout_fn():
                return
            continue
        begun, last = time.monotonic(), found
        yield found
        time.sleep(max(0.0, begun + min_interval_secs - time.monotonic()))


def get_or_create_eval_step() -> Any:
    """The local variable that counts evaluations; the graph has one."""
    graph = tf.get_default_graph()
    known = graph.get_collection(tf.GraphKeys.EVAL_STEP)
    if known:
        return known[0]
    keys = [tf.GraphKeys.LOCAL_VARIABLES, tf.GraphKeys.EVAL_STEP]
    start = tf.zeros_initializer()
    return tf.get_variable(_EVAL_STEP, [], tf.int64, start, trainable=False, collections=keys)


class StopAfterNEvalsHook(SessionRunHook):
    """Stops an evaluation after so many runs; with None it goes on until the data end."""

    def __init__(self, num_evals: int | None, log_progress: bool = True) -> None:
        self._wanted, self._count = num_evals, None

    def _set_evals_completed_tensor(self, updated_eval_step: Any) -> None:
        self._count = updated_eval_step

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Ask how many there were."""
        return None if self._count is None else SessionRunArgs(self._count)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Stop when it is enough."""
        if self._wanted is not None and self._count is not None and run_values.results >= self._wanted:
            run_context.request_stop()


class SummaryAtEndHook(SessionRunHook):
    """Writes summaries when a session ends.

    Parameters
    ----------
    log_dir : path, optional
    summary_writer : FileWriter, optional
        In place of one of `log_dir`.
    summary_op : tensor, optional
        By default all summaries of the graph.
    feed_dict : dict, optional
        For the run that computes them.

    Raises
    ------
    ValueError
        If neither `log_dir` nor `summary_writer` is given.
    """

    def __init__(
        self, log_dir: Any = None, summary_writer: Any = None, summary_op: Any = None, feed_dict: Any = None
    ) -> None:
        if log_dir is None and summary_writer is None:
            raise ValueError("SummaryAtEndHook: give `log_dir` or `summary_writer`")
        self._folder, self._writer, self._summary, self._feeds = log_dir, summary_writer, summary_op, feed_dict

    def begin(self) -> None:
        """Find what writes, and what is written."""
        self._writer = self._writer or FileWriterCache.get(self._folder)
        self._summary = tf.summary.merge_all() if self._summary is None else self._summary
        self._step = tf.train.get_or_create_global_step()

    def end(self, session: Session) -> None:
        """Compute and write them."""
        if self._summary is not None:
            step, text = session.run([self._step, self._summary], self._feeds)
            self._writer.add_summary(text, int(step))
            self._writer.flush()


def evaluate_once(
    checkpoint_path: Any, master: str = "", scaffold: Any = None, eval_ops: Any = None, feed_dict: Any = None,
    final_ops: Any = None, final_ops_feed_dict: Any = None, hooks: Sequence[SessionRunHook] | None = None,
    config: Any = None,
) -> Any:  # fmt: skip
    """Evaluate one checkpoint.

    Parameters
    ----------
    checkpoint_path : path
        From which variables are restored.
    master, scaffold, config
        As `MonitoredTrainingSession` takes them.
    eval_ops : tensor, operation, list or dict, optional
        Run again and again, until a hook (`StopAfterNEvalsHook`) or the data end it.
    feed_dict : dict, optional
        For `eval_ops`.
    final_ops, final_ops_feed_dict : optional
        Run once, at the end.
    hooks : sequence of SessionRunHook, optional

    Returns
    -------
    array, list, dict or None
        The values of `final_ops`.
    """
    told = list(hooks or [])
    step = get_or_create_eval_step()
    if eval_ops is not None:
        counted = tf.assign_add(step, 1)
        for hook in told:
            if isinstance(hook, StopAfterNEvalsHook):
                hook._set_evals_completed_tensor(counted)
        eval_ops = [eval_ops, counted]
    last = FinalOpsHook(final_ops, final_ops_feed_dict) if final_ops is not None else None
    creator = ChiefSessionCreator(scaffold, master, config, checkpoint_filename_with_path=checkpoint_path)
    with MonitoredSession(creator, [*told, *filter(None, [last])]) as session:
        while eval_ops is not None and not session.should_stop():
            session.run(eval_ops, feed_dict)
    return None if last is None else last.final_ops_values
