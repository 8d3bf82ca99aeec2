"""Hooks: what is told of the begin of a session, of its runs, and of its end (`graph_api.monitored`)."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import graph_api as tf
from engine.core.errors import UnimplementedError
from engine.frontend.platform import logging
from graph_api.graph import get_default_graph
from graph_api.session import Session
from graph_api.training import get_global_step
from graph_api.variable import Variable


class SessionRunArgs(NamedTuple):
    """What a hook asks a run for besides."""

    fetches: Any
    feed_dict: Any = None
    options: Any = None


class SessionRunValues(NamedTuple):
    """What a run gave a hook."""

    results: Any
    options: Any = None
    run_metadata: Any = None


class SessionRunContext:
    """What a hook knows of a run."""

    def __init__(self, original_args: SessionRunArgs, session: Session) -> None:
        self.original_args = original_args
        self.session = session
        self.stop_requested = False

    def request_stop(self) -> None:
        """Let this run be the last one."""
        self.stop_requested = True


class SessionRunHook:
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


class SecondOrStepTimer:
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

    def begin(self) -> None:
        """Find the global step."""
        self._step = _required_step("StepCounterHook")

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Write it when it is time."""
        step = int(run_context.session.run(self._step))
        if self._timer.should_trigger_for_step(step):
            seconds, steps = self._timer.update_last_triggered_step(step)
            if seconds:
                logging.info("%s/sec: %g", self._step.op.name, (steps or 0) / seconds)


class CheckpointSaverHook(SessionRunHook):
    """Saves the variables every so many steps or seconds, and at the end."""

    def __init__(
        self, checkpoint_dir: Any, save_secs: float | None = None, save_steps: int | None = None, saver: Any = None,
        checkpoint_basename: str = "model.ckpt", scaffold: Any = None, listeners: Sequence[Any] | None = None,
    ) -> None:  # fmt: skip
        if listeners:
            raise UnimplementedError("CheckpointSaverHook: `listeners` are not supported; write a SessionRunHook")
        self._path = os.path.join(os.fsdecode(checkpoint_dir), checkpoint_basename)
        self._timer = SecondOrStepTimer(save_secs, save_steps)
        self._saver = saver if saver is not None else getattr(scaffold, "saver", None)

    def begin(self) -> None:
        """Find the global step and what saves."""
        self._step = _required_step("CheckpointSaverHook")
        self._saver = self._saver or tf.train.Saver()

    def after_create_session(self, session: Session, coord: Any) -> None:
        """Save what there is at the beginning."""
        self._save(session, int(session.run(self._step)))

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Save when it is time."""
        step = int(run_context.session.run(self._step))
        if self._timer.should_trigger_for_step(step):
            self._save(run_context.session, step)

    def end(self, session: Session) -> None:
        """Save what there is at the end."""
        self._save(session, int(session.run(self._step)))

    def _save(self, session: Session, step: int) -> None:
        os.makedirs(os.path.dirname(self._path) or ".", exist_ok=True)
        logging.info("Saving checkpoints for %d into %s.", step, self._path)
        assert self._saver is not None
        self._saver.save(session, self._path, global_step=step)
        self._timer.update_last_triggered_step(step)


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
        """What to feed."""
        return SessionRunArgs(None, self._feed_fn())


def _named(tensor: Any) -> str:
    return tensor if isinstance(tensor, str) else str(tensor.name)


def _required_step(hook: str) -> Variable:
    step = get_global_step()
    if step is None:
        raise RuntimeError(f"Global step should be created to use {hook}: call tf.train.get_or_create_global_step()")
    return step
