"""Sessions with hooks: ``train.MonitoredTrainingSession`` and what belongs to it.

A hook is told of the begin, of every run, and of the end. It may ask runs to fetch more, and to stop. Everything runs
in this process: a session is its own chief.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from typing import Any

import graph_api as tf
from engine.core.errors import OutOfRangeError, UnimplementedError
from engine.core.operands import Operand
from graph_api.graph import GraphKeys, get_default_graph
from graph_api.hooks import (
    CheckpointSaverHook,
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
    StepCounterHook,
)
from graph_api.session import Session
from graph_api.training import get_or_create_global_step


class Scaffold:
    """What a session needs to begin: how to initialize its variables, and what saves them."""

    def __init__(
        self, init_op: Any = None, init_feed_dict: Any = None, init_fn: Callable[..., Any] | None = None,
        ready_op: Any = None, ready_for_local_init_op: Any = None, local_init_op: Any = None, summary_op: Any = None,
        saver: Any = None, copy_from_scaffold: Any = None, local_init_feed_dict: Any = None,
    ) -> None:  # fmt: skip
        self.init_op, self.init_feed_dict, self.init_fn = init_op, init_feed_dict, init_fn
        self.local_init_op, self.local_init_feed_dict = local_init_op, local_init_feed_dict
        self.summary_op, self.saver = summary_op, saver

    def finalize(self) -> Scaffold:
        """Add to the graph what is missing."""
        if self.init_op is None:
            self.init_op = tf.global_variables_initializer()
        if self.local_init_op is None:
            self.local_init_op = tf.local_variables_initializer()
        if self.saver is None and get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES):
            self.saver = tf.train.Saver()
        return self


class ChiefSessionCreator:
    """Makes a session whose variables are restored from a checkpoint, if there is one, or else initialized."""

    def __init__(
        self, scaffold: Scaffold | None = None, master: str = "", config: Any = None, checkpoint_dir: Any = None,
        checkpoint_filename_with_path: Any = None,
    ) -> None:  # fmt: skip
        self.scaffold = scaffold or Scaffold()
        self._master, self._config = master, config
        self._folder, self._path = checkpoint_dir, checkpoint_filename_with_path

    def create_session(self) -> Session:
        """The session."""
        scaffold = self.scaffold.finalize()
        session = Session(self._master, config=self._config)
        path = self._path or (tf.train.latest_checkpoint(os.fsdecode(self._folder)) if self._folder else None)
        if path and scaffold.saver is not None:
            scaffold.saver.restore(session, path)
        else:
            session.run(scaffold.init_op, scaffold.init_feed_dict)
            if scaffold.init_fn is not None:
                scaffold.init_fn(scaffold, session) if _takes_two(scaffold.init_fn) else scaffold.init_fn(session)
        session.run(scaffold.local_init_op, scaffold.local_init_feed_dict)
        return session


def _takes_two(function: Callable[..., Any]) -> bool:
    code = getattr(function, "__code__", None)
    return code is not None and code.co_argcount - hasattr(function, "__self__") == 2


class MonitoredSession:
    """A session that tells hooks of its runs, and stops when one of them, or the data, says so.

    Parameters
    ----------
    session_creator : ChiefSessionCreator, optional
    hooks : sequence of SessionRunHook, optional
    stop_grace_period_secs : int
        Accepted for compatibility.

    Examples
    --------
    >>> import graph_api as tf
    >>> with tf.Graph().as_default():
    ...     step = tf.train.get_or_create_global_step()
    ...     train = tf.assign_add(step, 1)
    ...     with tf.train.MonitoredSession(hooks=[tf.train.StopAtStepHook(last_step=3)]) as sess:
    ...         while not sess.should_stop():
    ...             last = sess.run(train)
    >>> int(last)
    3
    """

    def __init__(
        self, session_creator: Any = None, hooks: Sequence[SessionRunHook] | None = None,
        stop_grace_period_secs: int = 120,
    ) -> None:  # fmt: skip
        self._hooks = list(hooks or [])
        self._stop = False
        self._closed = False
        self.graph = get_default_graph()
        for hook in self._hooks:
            hook.begin()
        self._session = (session_creator or ChiefSessionCreator()).create_session()
        self._context = contextlib.ExitStack()
        self.graph.finalize()
        for hook in self._hooks:
            hook.after_create_session(self._session, None)

    def raw_session(self) -> Session:
        """The session without hooks."""
        return self._session

    def should_stop(self) -> bool:
        """Whether a hook, or the end of the data, has asked to stop."""
        return self._stop or self._closed

    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Operand | None:
        """`Session.run`, with the hooks.

        Raises
        ------
        RuntimeError
            If the session is closed.
        """
        if self._closed:
            raise RuntimeError("Run called even after should_stop requested.")
        context = SessionRunContext(SessionRunArgs(fetches, feed_dict), self._session)
        asked = {}
        feeds = dict(feed_dict or {})
        for i, hook in enumerate(self._hooks):
            request = hook.before_run(context)
            if request is None:
                continue
            if request.fetches is not None:
                asked[i] = request.fetches
            for key, value in (request.feed_dict or {}).items():
                if any(key is other for other in feeds):
                    raise RuntimeError(f"the hook {hook!r} feeds {key!r}, which is fed already")
                feeds[key] = value
        results, more = self._session.run([fetches, asked], feeds, options, run_metadata)
        for i, hook in enumerate(self._hooks):
            hook.after_run(context, SessionRunValues(more.get(i)))
        self._stop = self._stop or context.stop_requested
        return results

    def run_step_fn(self, step_fn: Callable[..., Any]) -> Operand:
        """``step_fn(context)``, whose ``run_with_hooks`` is `run` and whose ``session`` is the one without hooks."""
        return step_fn(_StepContext(self))

    def close(self) -> None:
        """Tell the hooks that it is over, and close the session."""
        if not self._closed:
            try:
                for hook in self._hooks:
                    hook.end(self._session)
            finally:
                self._free()

    def _free(self) -> None:
        self._closed = True
        self._session.close()

    def __enter__(self) -> MonitoredSession:
        self._context.enter_context(self._session.as_default())
        self._context.enter_context(self.graph.as_default())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, where: Any) -> bool:
        ended = kind is not None and issubclass(kind, OutOfRangeError)
        self._context.close()
        if kind is None or ended:
            self.close()
        else:
            self._free()
        return ended


class _StepContext:
    """What the function of `run_step_fn` is given."""

    def __init__(self, session: MonitoredSession) -> None:
        self._session = session
        self.session = session.raw_session()
        self.run_with_hooks = session.run

    def request_stop(self) -> None:
        """Stop."""
        self._session._stop = True
        raise StopIteration("step_fn has requested the iterations to stop.")


class SingularMonitoredSession(MonitoredSession):
    """A `MonitoredSession` told how to make its session by arguments of its own."""

    def __init__(
        self, hooks: Sequence[SessionRunHook] | None = None, scaffold: Scaffold | None = None, master: str = "",
        config: Any = None, checkpoint_dir: Any = None, stop_grace_period_secs: int = 120,
        checkpoint_filename_with_path: Any = None,
    ) -> None:  # fmt: skip
        creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir, checkpoint_filename_with_path)
        super().__init__(creator, hooks, stop_grace_period_secs)


def MonitoredTrainingSession(
    master: str = "", is_chief: bool = True, checkpoint_dir: Any = None, scaffold: Scaffold | None = None,
    hooks: Sequence[SessionRunHook] | None = None, chief_only_hooks: Sequence[SessionRunHook] | None = None,
    save_checkpoint_secs: Any = "default", save_summaries_steps: Any = "default", save_summaries_secs: Any = "default",
    config: Any = None, stop_grace_period_secs: int = 120, log_step_count_steps: int | None = 100,
    max_wait_secs: int = 7200, save_checkpoint_steps: Any = "default", summary_dir: Any = None,
    save_graph_def: bool = True,
) -> MonitoredSession:  # fmt: skip
    """A `MonitoredSession` that saves checkpoints and writes how fast it goes.

    Parameters
    ----------
    master, is_chief
        Must be left to their defaults: there is one process.
    checkpoint_dir : path, optional
        Where checkpoints are restored from and saved to: every 10 minutes unless `save_checkpoint_secs` or
        `save_checkpoint_steps` says otherwise.
    scaffold : Scaffold, optional
    hooks, chief_only_hooks : sequence of SessionRunHook, optional
    config : ConfigProto, optional
    log_step_count_steps : int, optional
        Every how many steps the speed is written; None: never.
    save_summaries_steps, save_summaries_secs, summary_dir
        Must be left to their defaults or None: write summaries with a `FileWriter`, or a hook of your own.
    stop_grace_period_secs, max_wait_secs, save_graph_def
        Accepted for compatibility.

    Raises
    ------
    UnimplementedError
        If something is asked for that needs several processes, or summaries.
    """
    if master or not is_chief:
        raise UnimplementedError("MonitoredTrainingSession: training on several machines is out of scope")
    if summary_dir or any(s not in ("default", None, 0) for s in (save_summaries_steps, save_summaries_secs)):
        raise UnimplementedError("MonitoredTrainingSession: write summaries with a FileWriter, or in a hook")
    scaffold = scaffold or Scaffold()
    every = [*(hooks or []), *(chief_only_hooks or [])]
    if checkpoint_dir:
        get_or_create_global_step()
        if log_step_count_steps:
            every.append(StepCounterHook(log_step_count_steps))
        secs = None if save_checkpoint_secs == "default" else save_checkpoint_secs
        steps = None if save_checkpoint_steps == "default" else save_checkpoint_steps
        if save_checkpoint_secs == save_checkpoint_steps == "default":
            secs = 600
        if secs or steps:
            every.append(CheckpointSaverHook(checkpoint_dir, secs or None, steps or None, scaffold=scaffold))
    creator = ChiefSessionCreator(scaffold, config=config, checkpoint_dir=checkpoint_dir)
    return MonitoredSession(creator, every, stop_grace_period_secs)
