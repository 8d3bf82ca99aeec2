"""Hooks: what is told of the begin of a session, of its runs, and of its end (`graph_api.legacy.monitored`)."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import graph_api as tf
from dualgrad.files.protos import SessionLog, Summary, SummaryValue
from dualgrad.platform import logging
from engine.runtime.faces import Shown
from graph_api.graphs.graph import get_default_graph
from graph_api.graphs.variable import Variable
from graph_api.sessions.session import Session
from graph_api.summaries import FileWriter, FileWriterCache
from graph_api.training import get_global_step


class SessionRunArgs(NamedTuple):
    """The further fetches and feeds that a hook asks a run for."""

    fetches: Any
    feed_dict: Any = None
    options: Any = None


class SessionRunValues(NamedTuple):
    """The values that a run gave a hook."""

    results: Any
    options: Any = None
    run_metadata: Any = None


class SessionRunContext(Shown):
    """The run, as far as a hook knows it."""

    def __init__(self, original_args: SessionRunArgs, session: Session) -> None:
        self.original_args = original_args
        self.session = session
        self.stop_requested = False

    def request_stop(self) -> None:
        """Let this run be the last one."""
        self.stop_requested = True


class SessionRunHook(Shown):
    """Base of hooks. Override what is of interest."""

    def begin(self) -> None:
        """Before the session: operations may still be added to the graph."""

    def after_create_session(self, session: Session, coord: Any) -> None:
        """When the session is there, its variables initialized; the graph is final."""

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Before each run: what to fetch besides."""

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """After each run, with what was asked for."""

    def end(self, session: Session) -> None:
        """Before the session closes, unless an exception ends it."""


# ---- hooks -----------------------------------------------------------------------------------------------------------


class SecondOrStepTimer(Shown):
    """Says every so many steps, or seconds, that it is time."""

    def __init__(self, every_secs: float | None = None, every_steps: int | None = None) -> None:
        if (every_secs is None) == (every_steps is None):
            raise ValueError("exactly one of `every_steps` and `every_secs` must be given")
        self._secs, self._steps = every_secs, every_steps
        self._last: tuple[int, float] | None = None

    def should_trigger_for_step(self, step: int) -> bool:
        """Whether it is time at a step."""
        if self._last is None:
            return True
        before, then = self._last
        if step == before:
            return False
        return step >= before + self._steps if self._steps is not None else time.time() >= then + float(self._secs or 0)

    def update_last_triggered_step(self, step: int) -> tuple[float | None, int | None]:
        """Note that it was done; seconds and steps since the last time."""
        now, last = time.time(), self._last
        self._last = (step, now)
        return (None, None) if last is None else (now - last[1], step - last[0])


class StopAtStepHook(SessionRunHook):
    """Stops after some steps, or at a step: by the global step."""

    def __init__(self, num_steps: int | None = None, last_step: int | None = None) -> None:
        if (num_steps is None) == (last_step is None):
            raise ValueError("StopAtStepHook: give either `num_steps` or `last_step`")
        self._num_steps, self._last_step = num_steps, last_step

    def begin(self) -> None:
        """Find the global step."""
        self._step = _required_step("StopAtStepHook")

    def after_create_session(self, session: Session, coord: Any) -> None:
        """Count from here."""
        if self._last_step is None:
            self._last_step = int(session.run(self._step)) + int(self._num_steps or 0)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Ask for the step."""
        return SessionRunArgs(self._step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Stop if the step, as it is after the run, is the last one."""
        if int(run_context.session.run(self._step)) >= int(self._last_step or 0):
            run_context.request_stop()


class LoggingTensorHook(SessionRunHook):
    """Writes the values of tensors every so many runs or seconds, or at the end only."""

    def __init__(
        self, tensors: Any, every_n_iter: int | None = None, every_n_secs: float | None = None, at_end: bool = False,
        formatter: Callable[[dict[str, Any]], str] | None = None,
    ) -> None:  # fmt: skip
        self._only_at_end = at_end and every_n_iter is None and every_n_secs is None
        if not self._only_at_end:
            self._timer = SecondOrStepTimer(every_n_secs, every_n_iter)
        self._at_end = at_end
        self._tensors = tensors if isinstance(tensors, dict) else {_named(t): t for t in tensors}
        self._formatter = formatter
        self._count = 0
        self._then: float | None = None

    def begin(self) -> None:
        """Find the tensors."""
        graph = get_default_graph()
        self._fetched = {tag: graph.as_graph_element(t) for tag, t in self._tensors.items()}

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Ask for the tensors when it is time."""
        self._due = not self._only_at_end and self._timer.should_trigger_for_step(self._count)
        return SessionRunArgs(self._fetched) if self._due else None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Write them."""
        if self._due:
            self._write(run_values.results)
            self._timer.update_last_triggered_step(self._count)
        self._count += 1

    def end(self, session: Session) -> None:
        """Write them once more, if that was asked for."""
        if self._at_end:
            self._write(session.run(self._fetched))

    def _write(self, values: dict[str, Any]) -> None:
        now, then = time.time(), self._then
        self._then = now
        text = ", ".join(f"{tag} = {values[tag]}" for tag in self._tensors)
        if self._formatter is not None:
            logging.info(self._formatter(values))
        elif then is None:
            logging.info(text)
        else:
            logging.info("%s (%.3f sec)", text, now - then)


class NanLossDuringTrainingError(RuntimeError):
    """The loss is not a number."""

    def __str__(self) -> str:
        return "NaN loss during training."


class NanTensorHook(SessionRunHook):
    """Raises, or stops, when a loss is NaN."""

    def __init__(self, loss_tensor: Any, fail_on_nan_loss: bool = True) -> None:
        self._loss, self._fail = loss_tensor, fail_on_nan_loss

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Ask for the loss."""
        return SessionRunArgs(self._loss)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Look at it."""
        if np.isnan(run_values.results).any():
            logging.error("Model diverged with loss = NaN.")
            if self._fail:
                raise NanLossDuringTrainingError
            run_context.request_stop()


class StepCounterHook(SessionRunHook):
    """Writes how many steps are made in a second."""

    def __init__(
        self, every_n_steps: int | None = 100, every_n_secs: float | None = None, output_dir: Any = None,
        summary_writer: Any = None,
    ) -> None:  # fmt: skip
        self._timer = SecondOrStepTimer(every_n_secs, every_n_steps)
        self._folder, self._writer = output_dir, summary_writer

    def begin(self) -> None:
        """Find the global step, and what writes."""
        self._step = _required_step("StepCounterHook")
        self._writer = _writer(self._writer, self._folder)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Write it when it is time."""
        step = int(run_context.session.run(self._step))
        if self._timer.should_trigger_for_step(step):
            seconds, steps = self._timer.update_last_triggered_step(step)
            if seconds:
                tag, speed = f"{self._step.op.name}/sec", (steps or 0) / seconds
                logging.info("%s: %g", tag, speed)
                if self._writer is not None:
                    self._writer.add_summary(Summary(value=[SummaryValue(tag=tag, simple_value=speed)]), step)


class SummarySaverHook(SessionRunHook):
    """Writes summaries every so many steps or seconds.

    Parameters
    ----------
    save_steps, save_secs : number, optional
        One of them.
    output_dir : path, optional
    summary_writer : FileWriter, optional
        In place of one of `output_dir`.
    scaffold : Scaffold, optional
        Whose `summary_op` is written.
    summary_op : tensor or list of tensors, optional

    Raises
    ------
    ValueError
        If not exactly one of `scaffold` and `summary_op` is given.
    """

    def __init__(
        self, save_steps: int | None = None, save_secs: float | None = None, output_dir: Any = None,
        summary_writer: Any = None, scaffold: Any = None, summary_op: Any = None,
    ) -> None:  # fmt: skip
        if (scaffold is None) == (summary_op is None):
            raise ValueError("exactly one of `scaffold` and `summary_op` must be provided")
        self._timer = SecondOrStepTimer(save_secs, save_steps)
        self._folder, self._writer = output_dir, summary_writer
        self._scaffold, self._summaries = scaffold, summary_op
        self._next: int | None = None

    def begin(self) -> None:
        """Find the global step, and what writes."""
        self._step = _required_step("SummarySaverHook")
        self._writer = _writer(self._writer, self._folder)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Ask for the summaries when it is time."""
        summary = self._scaffold.summary_op if self._summaries is None else self._summaries
        self._due = summary is not None and (self._next is None or self._timer.should_trigger_for_step(self._next))
        return SessionRunArgs(summary) if self._due else None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Write them."""
        step = int(run_context.session.run(self._step))
        if self._due and self._writer is not None:
            if self._next is None:
                self._writer.add_session_log(SessionLog(status=SessionLog.START), step)
            results = run_values.results
            for one in results if isinstance(results, list) else [results]:
                self._writer.add_summary(one, step)
            self._timer.update_last_triggered_step(step)
        self._next = step + 1

    def end(self, session: Session) -> None:
        """Let all of it be on the disk."""
        if self._writer is not None:
            self._writer.flush()


class CheckpointSaverListener(Shown):
    """Is told of the checkpoints that a `CheckpointSaverHook` saves. Override what is of interest."""

    def begin(self) -> None:
        """Before the session: operations may still be added to the graph."""

    def before_save(self, session: Session, global_step_value: int) -> None:
        """Before each checkpoint."""

    def after_save(self, session: Session, global_step_value: int) -> bool | None:
        """After each checkpoint; True: let this be the last step."""

    def end(self, session: Session, global_step_value: int) -> None:
        """Before the session closes."""


class CheckpointSaverHook(SessionRunHook):
    """Saves the variables every so many steps or seconds, and at the end."""

    def __init__(
        self, checkpoint_dir: Any, save_secs: float | None = None, save_steps: int | None = None, saver: Any = None,
        checkpoint_basename: str = "model.ckpt", scaffold: Any = None, listeners: Sequence[Any] | None = None,
    ) -> None:  # fmt: skip
        self._listeners = list(listeners or ())
        self._saved: int | None = None
        self._path = os.path.join(os.fsdecode(checkpoint_dir), checkpoint_basename)
        self._timer = SecondOrStepTimer(save_secs, save_steps)
        self._saver = saver if saver is not None else getattr(scaffold, "saver", None)

    def begin(self) -> None:
        """Find the global step and what saves."""
        self._step = _required_step("CheckpointSaverHook")
        self._saver = self._saver or tf.train.Saver()
        for listener in self._listeners:
            listener.begin()

    def after_create_session(self, session: Session, coord: Any) -> None:
        """Save what there is at the beginning, and the graph."""
        tf.train.write_graph(session.graph, os.path.dirname(self._path), "graph.pbtxt")
        self._save(session, int(session.run(self._step)))

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Save when it is time."""
        step = int(run_context.session.run(self._step))
        if self._timer.should_trigger_for_step(step) and self._save(run_context.session, step):
            run_context.request_stop()

    def end(self, session: Session) -> None:
        """Save what there is at the end."""
        step = int(session.run(self._step))
        if step != self._saved:
            self._save(session, step)
        for listener in self._listeners:
            listener.end(session, step)

    def _save(self, session: Session, step: int) -> bool:
        """Save; whether a listener asks to stop."""
        for listener in self._listeners:
            listener.before_save(session, step)
        os.makedirs(os.path.dirname(self._path) or ".", exist_ok=True)
        logging.info("Saving checkpoints for %d into %s.", step, self._path)
        assert self._saver is not None
        self._saver.save(session, self._path, global_step=step)
        self._saved = step
        self._timer.update_last_triggered_step(step)
        wishes = [listener.after_save(session, step) for listener in self._listeners]
        return any(wishes)


class FinalOpsHook(SessionRunHook):
    """Computes something at the end: `final_ops_values`."""

    def __init__(self, final_ops: Any, final_ops_feed_dict: Any = None) -> None:
        self._ops, self._feeds = final_ops, final_ops_feed_dict
        self.final_ops_values: Any = None

    def end(self, session: Session) -> None:
        """Compute it."""
        self.final_ops_values = session.run(self._ops, self._feeds)


class FeedFnHook(SessionRunHook):
    """Feeds what a function returns in every run."""

    def __init__(self, feed_fn: Callable[[], Any]) -> None:
        self._feed_fn = feed_fn

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Say what to feed."""
        return SessionRunArgs(None, self._feed_fn())


def _writer(writer: Any, folder: Any) -> FileWriter | None:
    """The writer of summaries: that which is given, or the one of a folder, or none."""
    return FileWriterCache.get(os.fsdecode(folder)) if writer is None and folder else writer


def _named(tensor: Any) -> str:
    return tensor if isinstance(tensor, str) else str(tensor.name)


def _required_step(hook: str) -> Variable:
    step = get_global_step()
    if step is None:
        raise RuntimeError(f"Global step should be created to use {hook}: call tf.train.get_or_create_global_step()")
    return step
