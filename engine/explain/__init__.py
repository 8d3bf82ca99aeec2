"""`explain`: why a gradient is None, zero, not finite, or only a part of what it should be.

`evidence` collects how values came about. `search` walks forwards from the source and backwards from the target.
`diagnose` (no gradient) and `numbers` (zeros, NaN) pick one of the reasons listed in `reasons`. `explanation` prints
it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.core import nest
from engine.core.tape import Tape, paused
from engine.core.trace import Symbol
from engine.core.value import Value, dtype_of
from engine.core.variable import Variable, tracked_value
from engine.explain.diagnose import Case, Finding, at_break, no_path, ways_missed
from engine.explain.evidence import Evidence, find_tape, of_graph, of_tape
from engine.explain.explanation import Explanation
from engine.explain.reasons import REASONS, Reason
from engine.explain.search import search
from engine.explain.witness import ExplainedTape
from engine.jacobian.taking import require_tensor
from engine.ops.indexed_slices import IndexedSlices


def explain(
    target: Any,
    source: Any,
    *,
    tape: Any = None,
    session: Any = None,
    feed_dict: Any = None,
    stop_gradients: Any = None,
) -> Any:
    """Why the gradient of `target` with respect to `source` is None, zero, NaN or partial; or that it arrives.

    Parameters
    ----------
    target : tensor
        What is differentiated.
    source : tensor, variable or structure of these
    tape : GradientTape, optional
        Which recorded the target; by default the living tape that knows most of target and source. A tape made with
        ``GradientTape(explain=True)`` knows the lines of the program, what it did not record, and all of this still
        after a derivative was taken.
    session : Session, optional
        Which holds the variables of a graph. With it, or with `feed_dict`, a graph is computed, so that zeros,
        infinities and NaNs are explained too.
    feed_dict : dict, optional
        What is fed.
    stop_gradients : tensor or list of tensors, optional
        As in ``tf.gradients``.

    Returns
    -------
    Explanation, or structure like `source`
        Print it; or ask for its `code`, `message`, `instead`, `where`, `path`. A notebook shows it with a picture.

    Raises
    ------
    TypeError
        If the source is no tensor.
    RuntimeError
        If no tape knows of the tensors any more.

    Examples
    --------
    >>> import tape_api as tf
    >>> x = tf.constant(3.0)
    >>> with tf.GradientTape(explain=True) as tape:
    ...     tape.watch(x)
    ...     y = tf.floor(x) * 2.0
    >>> tf.explain(y, x, tape=tape).code
    'no-derivative'
    """
    if not isinstance(source, Value):
        pairs = [explain(target, x, tape=tape, session=session, feed_dict=feed_dict, stop_gradients=stop_gradients)
                 for x in _flat(source)]  # fmt: skip
        return nest.pack_sequence_as(source, pairs)
    end: Any = target.as_value() if isinstance(target, IndexedSlices) else target
    if isinstance(end, Variable):
        end = end.handle
    start = tracked_value(source)
    mixed = _other_graph(end, start, source)
    if mixed is not None:
        return mixed
    with paused():
        if isinstance(start, Symbol):
            evidence = of_graph(end, [tracked_value(s) for s in _as_list(stop_gradients)])
        else:
            evidence = of_tape(_the_tape(tape, end, source))
        return _explained(evidence, end, start, source, session, feed_dict)


def _flat(source: Any) -> Sequence[Any]:
    flat: Sequence[Any] = nest.flatten(source)
    for x in flat:
        require_tensor(x, "source")
    return flat


def _as_list(x: Any) -> list[Any]:
    return [] if x is None else list(x) if isinstance(x, (list, tuple)) else [x]


def _the_tape(tape: Any, target: Any, source: Any) -> Tape:
    inner = getattr(tape, "_tape", tape)
    if inner is None:
        return find_tape(target, tracked_value(source))
    if not isinstance(inner, Tape):
        raise TypeError(f"explain: argument `tape` must be a GradientTape, got {type(tape).__name__}")
    if not isinstance(inner, ExplainedTape) and getattr(tape, "_spent", False):
        raise RuntimeError(
            "explain: the tape has let go of its recording, because a derivative was taken of it. Make it "
            "GradientTape(explain=True), or GradientTape(persistent=True)"
        )
    return inner


def _other_graph(end: Any, start: Any, source: Any) -> Explanation | None:
    """The explanation for two values that do not live in one place."""
    nowhere = Evidence((), lambda node: None)
    case = Case(search(nowhere, end, start), source)
    if not isinstance(end, Value):
        detail = f"the target is {type(end).__name__}, not a tensor"
        finding = case.finding("left-for-numpy", detail=detail, write="the tensor itself, without .numpy() or float()")
    elif isinstance(end, Symbol) and isinstance(start, Symbol) and end.trace is not start.trace:
        detail = f"{case.names['target']} and {case.names['source']} belong to different graphs"
        finding = case.finding("other-graph", detail=detail)
    elif isinstance(end, Symbol) is not isinstance(start, Symbol):
        kinds = ("an eager tensor", "a tensor of a graph")
        detail = f"the target is {kinds[isinstance(end, Symbol)]}, the source {kinds[isinstance(start, Symbol)]}"
        finding = case.finding("other-graph", detail=detail)
    else:
        return None
    return Explanation(False, [finding], [], nowhere, case.names)


def _explained(
    evidence: Evidence, end: Any, start: Any, source: Any, session: Any, feed_dict: Any
) -> Explanation:  # fmt: skip
    walks = search(evidence, end, start)
    case = Case(walks, source)
    findings: list[Finding] = []
    if not dtype_of(source).is_differentiable:
        detail = f"{case.names['source']} is of dtype {dtype_of(source).name}"
        findings = [case.finding("integer", detail=detail)]
    elif not walks.is_connected:
        findings = [at_break(case, broken) for broken in walks.breaks]
        findings = findings or [no_path(case)]
    path = walks.path(end)
    if findings:
        return Explanation(False, _distinct(findings), path, evidence, case.names)
    if not dtype_of(end).is_differentiable:
        detail = f"{case.names['target']} is of dtype {dtype_of(end).name}"
        findings = [case.finding("integer", detail=detail)]
        return Explanation(False, findings, path, evidence, case.names)
    from engine.explain.numbers import of_numbers

    findings, gradient = of_numbers(case, session, feed_dict)
    missed = _distinct(ways_missed(case))
    if missed and not findings:
        findings = [case.finding("partial", missed=missed[0].message, missed_instead=missed[0].instead)]
        findings[0] = findings[0]._replace(site=missed[0].site, node=missed[0].node)
    findings += missed[1:] if findings and findings[0].code == "partial" else missed
    arrives = findings or [case.finding("connected")]
    connected = arrives[0].code != "custom-rule"
    return Explanation(connected, arrives, path, evidence, case.names, gradient)


def _distinct(findings: Sequence[Finding]) -> list[Finding]:
    return list({(f.code, f.site, f.message): f for f in findings}.values())


__all__ = ["REASONS", "Explanation", "Finding", "Reason", "explain"]
