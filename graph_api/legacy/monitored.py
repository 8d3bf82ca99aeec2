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
from dualgrad.platform.coordination import Coordinator
from engine.core.operands import Operand
from engine.runtime.errors import OutOfRangeError, UnimplementedError
from engine.runtime.faces import Shown
from graph_api.graphs.graph import get_default_graph
from graph_api.graphs.graph_keys import GraphKeys
from graph_api.legacy.coordination import start_queue_runners
from graph_api.legacy.hooks import (
    CheckpointSaverHook,
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
    StepCounterHook,
    SummarySaverHook,
)
from graph_api.sessions.session import Session
from graph_api.training import get_or_create_global_step


class Scaffold(Shown):
    """The parts that a session needs to begin: how to initialize its variables, and what saves them."""

    def __init__(
        self, init_op: Any = None, init_feed_dict: Any = None, init_fn: Callable[..., Any] | None = None,
        ready_op: Any = None, ready_for_local_init_op: Any = None, local_init_op: Any = None, summary_op: Any = None,
        saver: Any = None, copy_from_scaffold: Any = None, local_init_feed_dict: Any = None,
    ) -> None:  # fmt: skip
        self.init_op, self.init_feed_dict, self.init_fn = init_op, init_feed_dict, init_fn
        self.local_init_op, self.local_init_feed_dict = local_init_op, local_init_feed_dict
        self.summary_op, self.saver = summary_op, saver

    def finalize(self) -> Scaffold:
        """Add to the graph what is missing. It is noted there, for whoever makes another session of the graph."""
        there = get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES)
        self.init_op = _once(self.init_op, GraphKeys.INIT_OP, tf.global_variables_initializer)
        self.local_init_op = _once(self.local_init_op, GraphKeys.LOCAL_INIT_OP, tf.local_variables_initializer)
        self.summary_op = _once(self.summary_op, GraphKeys.SUMMARY_OP, tf.summary.merge_all)
        self.saver = _once(self.saver, GraphKeys.SAVERS, lambda: tf.train.Saver() if there else None)
        return self


class ChiefSessionCreator(Shown):
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
        return started_session(self.scaffold.finalize(), self._master, self._config, self._folder, self._path)


def _once(given: Any, key: str, make: Callable[[], Any]) -> Any:
    """The given thing, or what the graph has noted, or what is made now, and noted."""
    noted = get_default_graph().get_collection_ref(key)
    if given is None and not noted and (made := make()) is not None:
        noted.append(made)
    return noted[0] if given is None and noted else given


def started_session(scaffold: Any, master: str, config: Any, folder: Any, path: Any) -> Session:
    """A session whose variables are restored from a checkpoint, if there is one, or else initialized.

    Parameters
    ----------
    scaffold : Scaffold
        What is run and restored; None is left out.
    master : str
    config : ConfigProto, optional
    folder : path, optional
        The latest checkpoint there is restored.
    path : path, optional
        In place of it.
    """
    session = Session(master, config=config)
    state = tf.train.get_checkpoint_state(os.fsdecode(folder)) if folder and not path else None
    path = path or (state and state.model_checkpoint_path)
    if path and scaffold.saver is not None:
        scaffold.saver.restore(session, path)
        if state:
            scaffold.saver.recover_last_checkpoints(state.all_model_checkpoint_paths)
    else:
        if scaffold.init_op is not None:
            session.run(scaffold.init_op, scaffold.init_feed_dict)
        if scaffold.init_fn is not None:
            scaffold.init_fn(scaffold, session) if _takes_two(scaffold.init_fn) else scaffold.init_fn(session)
    if scaffold.local_init_op is not None:
        session.run(scaffold.local_init_op, scaffold.local_init_feed_dict)
    return session


def _takes_two(function: Callable[..., Any]) -> bool:
    code = getattr(function, "__code__", None)
    return code is not None and code.co_argcount - hasattr(function, "__self__") == 2


class Hooked(list[Any]):
    """The fetches of a run, and what hooks ask for besides: whoever watches sessions can tell them apart."""


def is_of_library(hook: Any) -> bool:
    """Whether a hook is one of those that are here, and not of a class of the program's own."""
    return type(hook).__module__.startswith("graph_api.")


def telling(hook: Any, method: str, *args: Any) -> Any:
    """The result of a method of a hook, which may run the session too."""
    return getattr(hook, method)(*args)


class MonitoredSession(Shown):
    """A session that tells hooks of its runs, and stops when one of them, or the data, says so.

    Parameters
    ----------
    session_creator : ChiefSessionCreator, optional
    hooks : sequence of SessionRunHook, optional
    stop_grace_period_secs : int
        How long `close` waits for the threads that feed queues.

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
        self._grace = stop_grace_period_secs
        self._stop = False
        self._closed = False
        self.graph = get_default_graph()
        for hook in self._hooks:
            hook.begin()
        creator = session_creator or ChiefSessionCreator()
        self.restores = bool(getattr(creator, "_folder", None) or getattr(creator, "_path", None))
        self.scaffold = getattr(creator, "scaffold", None)
        self._session = creator.create_session()
        self._context = contextlib.ExitStack()
        self.graph.finalize()
        self._coord = Coordinator()
        self._threads = start_queue_runners(self._session, self._coord)
        for hook in self._hooks:
            telling(hook, "after_create_session", self._session, self._coord)

    def raw_session(self) -> Session:
        """The session without hooks."""
        return self._session

    _tf_sess = raw_session  # under this name programs ask for it

    def should_stop(self) -> bool:
        """Whether a hook, a thread that feeds a queue, or the end of the data, has asked to stop."""
        return self._stop or self._closed or self._coord.should_stop()

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
        own = {i: asked.pop(i) for i in list(asked) if not is_of_library(self._hooks[i])}
        wanted = Hooked([[fetches, own] if own else fetches, asked])
        both: Any = self._session.run(wanted, feeds, options, run_metadata)
        results, more = both
        if own:
            results, found = results
            more = {**more, **found}
        for i, hook in enumerate(self._hooks):
            telling(hook, "after_run", context, SessionRunValues(more.get(i)))
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
                    telling(hook, "end", self._session)
            finally:
                self._free()

    def _free(self) -> None:
        self._closed = True
        self._coord.request_stop()
        self._session.close()
        self._coord.join(self._threads, self._grace, ignore_live_threads=True)

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
    """The argument of the function of `run_step_fn`."""

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
    save_summaries_steps, save_summaries_secs : number, optional
        How often the summaries of the graph are written: every 100 steps by default.
    summary_dir : path, optional
        Where to; by default to `checkpoint_dir`.
    stop_grace_period_secs, max_wait_secs, save_graph_def
        Accepted for compatibility.

    Raises
    ------
    UnimplementedError
        If something is asked for that needs several processes.
    """
    if master or not is_chief:
        raise UnimplementedError("MonitoredTrainingSession: training on several machines is out of scope")
    scaffold = scaffold or Scaffold()
    every = [*(hooks or []), *(chief_only_hooks or [])]
    folder = summary_dir or checkpoint_dir
    if folder:
        get_or_create_global_step()
        if log_step_count_steps and log_step_count_steps > 0:
            every.append(StepCounterHook(log_step_count_steps, output_dir=folder))
        each, after = (None if s == "default" else s or None for s in (save_summaries_steps, save_summaries_secs))
        if save_summaries_steps == save_summaries_secs == "default":
            each = 100
        if each or after:
            every.append(SummarySaverHook(each, after, output_dir=folder, scaffold=scaffold))
    if checkpoint_dir:
        secs = None if save_checkpoint_secs == "default" else save_checkpoint_secs
        steps = None if save_checkpoint_steps == "default" else save_checkpoint_steps
        if save_checkpoint_secs == save_checkpoint_steps == "default":
            secs = 600
        if secs or steps:
            every.append(CheckpointSaverHook(checkpoint_dir, secs or None, steps or None, scaffold=scaffold))
    creator = ChiefSessionCreator(scaffold, config=config, checkpoint_dir=checkpoint_dir)
    return MonitoredSession(creator, every, stop_grace_period_secs)
