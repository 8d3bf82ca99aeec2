"""Monitored sessions: their hooks become conditions and lines of the plain loop that is left of them.

``should_stop()`` becomes a look at the global step, a `StopAtStepHook` says how far it goes. A folder for checkpoints
becomes an object of the class `Checkpoints`, which begins with the latest one, and is asked to save after each run.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from dualgrad.migrate.check.values import Instance, Path
from dualgrad.migrate.convert.edits import Plan, Unsafe, extent, place
from graph_api.legacy import hooks
from graph_api.legacy.monitored import MonitoredSession, is_of_library
from graph_api.sessions.session import Session

SESSIONS = (Session, MonitoredSession)
"""The classes of sessions."""
CLASS = '''

class Checkpoints:
    """Saves every so many steps, or seconds, and at the end; `restore`: it begins with the latest in its folder."""

    def __init__(self, saver, folder, step, every_steps=None, every_secs=None, name="model.ckpt", restore=False):
        self._saver, self._path, self._step = saver, os.path.join(folder, name), step
        self._every_steps, self._every_secs = every_steps, every_secs
        latest = tf.train.latest_checkpoint(folder) if restore else None
        if latest is not None:
            saver.restore(None, latest)
        self.save()

    def save(self):
        """Save now."""
        os.makedirs(os.path.dirname(self._path), exist_ok=True)
        self._saved, self._then = int(self._step), time.time()
        self._saver.save(None, self._path, global_step=self._saved)

    def save_if_due(self):
        """Save if enough has happened since the last time."""
        if int(self._step) == self._saved:
            return
        if self._every_steps and int(self._step) >= self._saved + self._every_steps:
            self.save()
        elif self._every_secs and time.time() >= self._then + self._every_secs:
            self.save()

    def close(self):
        """Save what there is at the end."""
        if int(self._step) != self._saved:
            self.save()
'''
NAME = "checkpoints"
"""The name of the object in the program."""
VALUES = "values"
"""The name of what a run gives to a hook of the program's own."""
STOPS = "stops"
"""The name of the coordinator that a hook of the program's own asks to stop."""
LAST = "last_step"
"""The name of the step at which the program stops, if it is known only when it begins."""
_LEFT_OUT = {
    hooks.StepCounterHook: "it wrote how fast it goes",
    hooks.LoggingTensorHook: "print what the function gives",
    hooks.NanTensorHook: "look at the loss that the function gives",
}


class Monitoring:
    """Finds monitored sessions in a program's text, and plans what becomes of their hooks.

    Parameters
    ----------
    tree : ast.Module
    inference : Inference
    made : mapping
        By the line that made it, each monitored session.
    variables : mapping
        By their names in the graph, the expressions for variables in tape code.
    savers : mapping
        By the line that makes it, what makes a saver in tape code.
    ends : bool
        Whether the data may come to an end.
    """

    def __init__(
        self, tree: ast.Module, inference: Any, made: Mapping[int, Any], variables: Mapping[str, str],
        savers: Mapping[int, str], ends: bool,
    ) -> None:  # fmt: skip
        self.tree, self.inference, self.made, self.variables, self.savers = tree, inference, made, variables, savers
        self.ends = ends
        self.stops = False
        """Whether a hook of the program's own may stop the loop."""
        self.first_lines: list[str] = []
        self.read: set[str] = set()
        """The names that the new lines read."""

    def plan(self, plan: Plan, runs: list[ast.Call]) -> None:
        """Add to a plan what becomes of the sessions and of what asks them.

        Raises
        ------
        Unsafe
            If a hook does what plain lines cannot do.
        """
        withs = [(item.context_expr, n) for n in ast.walk(self.tree) if isinstance(n, ast.With) for item in n.items]
        for line, made in self.made.items():
            self._check_start(line, made)
            found = [n for x, n in withs if x.lineno <= line <= (x.end_lineno or line)]
            if len(found) != 1:
                raise Unsafe(f"line {line}: a monitored session is made outside of a with statement")
            self._session(plan, found[0], line, runs)
        above = {inner: n for n in ast.walk(self.tree) for inner in ast.iter_child_nodes(n)}
        for call in [n for n in ast.walk(self.tree) if isinstance(n, ast.Call) and self._asks(n)]:
            around = above[call]
            is_not = isinstance(around, ast.UnaryOp) and isinstance(around.op, ast.Not)
            ends = [*self._ends, *[f"{STOPS}.should_stop()"] * self.stops]
            done = ends[0] if ends else ""
            text = " or ".join(ends) or "False"
            if is_not:
                text = " and ".join(_negated(e) for e in ends) or "True"
            plan.facts[extent(around if is_not else call)] = text
            if not done and isinstance(around, ast.If) and around.test is call and not around.orelse:
                plan.gone.add(place(around))

    @staticmethod
    def _check_start(line: int, made: Any) -> None:
        """Refuse a session that begins with more than initial values or checkpoints of its own."""
        start = made.scaffold
        if start is not None and (start.init_fn is not None or start.init_feed_dict or start.local_init_feed_dict):
            raise Unsafe(
                f"line {line}: its session starts with an init_fn, or feeds: call before the loop what that does"
            )
        saves = any(isinstance(hook, hooks.CheckpointSaverHook) for hook in getattr(made, "_hooks", ()))
        if getattr(made, "restores", False) and not saves:
            raise Unsafe(f"line {line}: its session restores a checkpoint, and saves none: restore before the loop")

    @property
    def _ends(self) -> dict[str, int]:
        """The conditions by which hooks stop sessions."""
        found: dict[str, int] = {}
        for line, session in self.made.items():
            for hook in getattr(session, "_hooks", ()):
                if isinstance(hook, hooks.StopAtStepHook):
                    found[self._condition(hook, session)] = line
        if len(found) > 1:
            raise Unsafe(f"line {max(found.values())}: several sessions stop at several steps")
        return found

    def _condition(self, hook: Any, session: Any) -> str:
        step = self.variables.get(hook._step.name)
        if step is None:
            raise Unsafe("a StopAtStepHook counts by a global step that nothing changes")
        calls = [n for n in ast.walk(self.tree) if isinstance(n, ast.Call) and self._makes(n, "StopAtStepHook")]
        given: dict[str, ast.expr] = {}
        if len(calls) == 1:
            given = dict(zip(("num_steps", "last_step"), calls[0].args, strict=False))
            given |= {str(k.arg): k.value for k in calls[0].keywords}
        wish = given.get("num_steps", given.get("last_step"))
        plain = wish is not None and not any(isinstance(n, (ast.Call, ast.Yield, ast.Await)) for n in ast.walk(wish))
        text = ast.unparse(wish) if wish is not None and plain else str(hook._last_step)
        self.read |= {n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name)}
        if hook._num_steps is not None and session.restores:
            self.first_lines = [f"{LAST} = int({step}) + {text}"]
            text = LAST
        return f"{step}.numpy() >= {text}"

    def _makes(self, call: ast.Call, name: str) -> bool:
        return any(isinstance(v, Path) and v.path.endswith(name) for v in self.inference.values_of(call.func))

    def _asks(self, call: ast.Call) -> bool:
        """Whether it asks a session, or what looks after one, whether to stop."""
        if not isinstance(call.func, ast.Attribute) or call.func.attr != "should_stop":
            return False
        of = self.inference.values_of(call.func.value)
        return any(isinstance(v, Instance) and issubclass(v.kind, MonitoredSession) for v in of)

    def _session(self, plan: Plan, node: ast.With, line: int, runs: list[ast.Call]) -> None:
        """Plan for the statement in which a session is used."""
        comments = []
        taken = {n.id for n in ast.walk(self.tree) if isinstance(n, ast.Name)}
        if taken & {NAME, LAST, VALUES, STOPS}:
            raise Unsafe(f"line {line}: {NAME}, {VALUES}, {LAST} and {STOPS} are names that the new program needs")
        for hook in self.made[line]._hooks:
            name = type(hook).__name__
            if not is_of_library(hook):
                self._own(plan, node, line, hook, runs)
            elif isinstance(hook, hooks.CheckpointSaverHook):
                self._checkpoints(plan, node, line, hook, runs)
            elif isinstance(hook, hooks.SummarySaverHook):
                if hook._summaries is not None or hook._scaffold.summary_op is not None:
                    raise Unsafe(
                        f"line {line}: a SummarySaverHook writes summaries: fetch them in the loop, and give them to "
                        f"add_summary of a FileWriter"
                    )
            elif type(hook) in _LEFT_OUT:
                comments.append(f"# A {name} is left out: {_LEFT_OUT[type(hook)]}.")
            elif not isinstance(hook, hooks.StopAtStepHook):
                raise Unsafe(f"line {line}: {name} does what a plain loop does not: call it in the loop")
        if self._ends and self.first_lines:
            plan.before.setdefault(place(node), []).extend(self.first_lines)
        if comments:
            plan.before.setdefault(place(node), []).extend(comments)
        if self.ends:
            plan.suppressed.add(place(node))

    def _own(self, plan: Plan, node: ast.With, line: int, hook: Any, runs: list[ast.Call]) -> None:
        """Plan for a hook of the program's own: its methods are called where they were."""
        kind = type(hook).__name__
        refused = Unsafe(
            f"line {line}: {kind} is a hook of the program's own: fetch what it asks for in the loop, and call there "
            f"what it does"
        )
        classes = [n for n in ast.walk(self.tree) if isinstance(n, ast.ClassDef) and n.name == kind]
        calls = [n for n in ast.walk(self.tree) if isinstance(n, ast.Call) and ast.unparse(n.func) == kind]
        if len(classes) != 1 or len(calls) != 1 or plan.valued:
            raise refused
        methods = {m.name: m for m in classes[0].body if isinstance(m, ast.FunctionDef)}
        if not {*methods} <= {"__init__", "begin", "before_run", "after_run", "end"}:
            raise refused
        for at in [n for n in ast.walk(classes[0]) if isinstance(n, (ast.Call, ast.Attribute))]:
            of = at.func if isinstance(at, ast.Call) else at
            paths = [v.path for v in self.inference.values_of(of) if isinstance(v, Path)]
            if isinstance(at, ast.Call) and any(p.endswith("train.SessionRunArgs") for p in paths):
                plan.facts[extent(at)] = "None"
            elif isinstance(at, ast.Attribute) and at in classes[0].bases:
                plan.facts[extent(at)] = "object"
        contexts = [m.args.args[1].arg for n, m in methods.items() if n in ("before_run", "after_run")]
        sessions = [m.args.args[1].arg for n, m in methods.items() if n == "end"]
        within_methods = [n for m in methods.values() for n in ast.walk(m)]
        stopping = [n.func.value for n in within_methods if isinstance(n, ast.Call) and not n.args
                    and isinstance(n.func, ast.Attribute) and n.func.attr == "request_stop"]  # fmt: skip
        stopping = [n for n in stopping if isinstance(n, ast.Name) and n.id in contexts]
        used = [n for n in within_methods if isinstance(n, ast.Name) and n.id in {*contexts, *sessions}]
        if any(n not in stopping for n in used):
            raise refused  # it runs the session
        asks = STOPS if stopping else "None"
        assigned = [n for n in ast.walk(self.tree) if isinstance(n, ast.Assign) and n.value is calls[0]]
        named = isinstance(assigned[0].targets[0], ast.Name) if assigned else False
        name = assigned[0].targets[0].id if named else "hook"  # type: ignore[attr-defined]
        first = [] if named else [f"{name} = {ast.unparse(calls[0])}"]
        if stopping:
            self.stops = True
            first.insert(0, f"{STOPS} = tf.train.Coordinator()")
        self.read |= {kind}
        plan.before.setdefault(place(node), []).extend([*first, *[f"{name}.begin()"] * ("begin" in methods)])
        within = set(ast.walk(node))
        for statement in [n for n in within if isinstance(n, ast.stmt) and not hasattr(n, "body")]:
            held = [call for call in runs if call in within and call in set(ast.walk(statement))]
            if not held:
                continue
            replaced = plan.calls.get(extent(held[0]))
            asked = replaced.function["returns"] if replaced is not None else ()
            chosen = replaced is not None and bool(replaced.run)
            if not (isinstance(statement, ast.Expr) and statement.value is held[0]) or len(asked) > 1 or chosen:
                raise refused
            if "before_run" in methods:
                plan.before.setdefault(place(statement), []).append(f"{name}.before_run({asks})")
            given = f"types.SimpleNamespace(results={VALUES}.numpy())" if asked else "None"
            if asked:
                plan.valued.add(place(statement))
            if "after_run" in methods:
                plan.after.setdefault(place(statement), []).append(f"{name}.after_run({asks}, {given})")
        if "end" in methods:
            plan.after.setdefault(place(node), []).append(f"{name}.end(None)")

    def _checkpoints(self, plan: Plan, node: ast.With, line: int, hook: Any, runs: list[ast.Call]) -> None:
        """Plan for saving checkpoints."""
        if any(NAME in text for text in plan.before.get(place(node), ())) or hook._listeners:
            raise Unsafe(
                f"line {line}: checkpoints are saved by several hooks, or others listen to them: save in the loop"
            )
        step, saver = self.variables.get(hook._step.name), self.savers.get(line)
        if step is None or saver is None:
            raise Unsafe(f"line {line}: it cannot be told which variables its checkpoints hold: save in the loop")
        folder, _, name = hook._path.rpartition("/")
        timer = hook._timer
        every = f"every_steps={timer._steps}" if timer._steps is not None else f"every_secs={timer._secs}"
        own = "" if name == "model.ckpt" else f", name={name!r}"
        own += ", restore=True" if self.made[line].restores else ""
        made = f"{NAME} = Checkpoints({saver}, {self._folder(folder)}, {step}, {every}{own})"
        plan.before.setdefault(place(node), []).append(made)
        inside = set(ast.walk(node))
        for statement in [n for n in inside if isinstance(n, ast.stmt) and not hasattr(n, "body")]:
            if any(call in set(ast.walk(statement)) for call in runs if call in inside):
                plan.after.setdefault(place(statement), []).append(f"{NAME}.save_if_due()")
        plan.after.setdefault(place(node), []).append(f"{NAME}.close()")

    def _folder(self, value: str) -> str:
        """The program's expression for the folder of checkpoints."""
        for call in [n for n in ast.walk(self.tree) if isinstance(n, ast.Call)]:
            at = {"MonitoredTrainingSession": 2, "CheckpointSaverHook": 0, "SingularMonitoredSession": 4}
            for name, number in at.items():
                if self._makes(call, name):
                    given = {str(k.arg): k.value for k in call.keywords}
                    told = given.get("checkpoint_dir", call.args[number] if len(call.args) > number else None)
                    if told is not None and not any(isinstance(n, ast.Call) for n in ast.walk(told)):
                        self.read |= {n.id for n in ast.walk(told) if isinstance(n, ast.Name)}
                        return ast.unparse(told)
        return repr(value)


def _negated(condition: str) -> str:
    """The contrary of what ends a loop."""
    return condition.replace(">=", "<") if ">=" in condition else f"not {condition}"
