"""All caches of the product, read from its source: ``python -m tests.caches`` renews the table in docs/all-caches.md.

A cache is made by `engine.runtime.cache.Cache`, which says what it is keyed by, or by `cached`, whose key is all
arguments of a function that depends on nothing else. Whatever else holds things between calls stands in `OTHERS`, with
the reason why it is no cache.
"""

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from engine.runtime.packages import HOME, PACKAGES

_EMPTY = frozenset({"dict", "defaultdict", "WeakKeyDictionary", "WeakValueDictionary", "OrderedDict"})
_FOREVER = frozenset({"cache", "lru_cache"})
_MENTIONED = re.compile(r"[cC]ache|plans_kept|[dD]ict\(|Dictionary\(|= \{\}")

OTHERS: dict[str, dict[str, str]] = {
    "work of one call, gone with the object that does it": {
        "dualgrad/autograph/analysis.py": "closures",
        "dualgrad/files/bundle.py": "_shards _slices entries",
        "dualgrad/files/v1.py": "entries",
        "dualgrad/graph_functions/writing.py": "_handles",
        "dualgrad/migrate/census.py": "found",
        "dualgrad/migrate/check/inference.py": "before calls now",
        "dualgrad/migrate/check/scopes.py": "at attributes inside of",
        "dualgrad/migrate/check/surface.py": "_found",
        "dualgrad/migrate/check/uses.py": "found",
        "dualgrad/migrate/compare/converted.py": "_slots _unconverted",
        "dualgrad/migrate/compare/elsewhere.py": "_compiled _spread",
        "dualgrad/migrate/compare/matching.py": "_tokens places",
        "dualgrad/migrate/compare/own_run.py": "unseen",
        "dualgrad/migrate/compare/rerun.py": "_recorded",
        "dualgrad/migrate/compare/streams.py": "_before _begun",
        "dualgrad/migrate/compare/traces.py": "_left",
        "dualgrad/migrate/convert/alignment.py": "_found _new",
        "dualgrad/migrate/convert/body.py": "_code",
        "dualgrad/migrate/convert/calls.py": "_met read",
        "dualgrad/migrate/convert/class_instances.py": "_held constructors objects",
        "dualgrad/migrate/convert/class_members.py": "needless units",
        "dualgrad/migrate/convert/expressions.py": "_around _owned",
        "dualgrad/migrate/convert/facts.py": "_named",
        "dualgrad/migrate/convert/identifiers.py": "_alone _given _held _lists",
        "dualgrad/migrate/convert/items.py": "_owners",
        "dualgrad/migrate/convert/iterating.py": "named",
        "dualgrad/migrate/convert/jax_functions.py": "_paths helpers lists roots",
        "dualgrad/migrate/convert/module.py": (
            "_code _held _hosted_calls _inside _lists _said arrays constants customs inside summaries"
        ),
        "dualgrad/migrate/convert/origins.py": "_found by_extent functions",
        "dualgrad/migrate/convert/program_modules.py": "_given _trees _uses",
        "dualgrad/migrate/convert/queues.py": "_names nodes",
        "dualgrad/migrate/convert/repetition.py": "sizes",
        "dualgrad/migrate/convert/runs.py": "_same",
        "dualgrad/migrate/convert/shortening.py": "_lengths",
        "dualgrad/migrate/convert/sizes.py": "_given _set",
        "dualgrad/migrate/convert/spelling.py": "_found",
        "dualgrad/migrate/judge.py": "_reached _texts _there _told aliases",
        "dualgrad/solvers/closures.py": "taken",
        "dualgrad/solvers/trajectories.py": "_kept _stretches",
        "engine/closed/capture.py": "captured handles",
        "engine/closed/replay.py": "_slots",
        "engine/closed/traced_function.py": "_variables",
        "engine/compiler/examine.py": "_state",
        "engine/compiler/passes/columns.py": "cells grids seen",
        "engine/compiler/passes/narrowing.py": "alone by_parts cells holders need numbers pieces reads rest",
        "engine/compiler/updates/update_loop.py": "_vectors",
        "engine/compiler/verify.py": "_held _lost",
        "engine/control/checkpoints.py": "_made axis level",
        "engine/control/in_place.py": "own touched",
        "engine/core/function_tape.py": "before composites current reads written",
        "engine/core/python_state.py": "met",
        "engine/core/sparsity.py": "_links _made",
        "engine/core/tape.py": "assigned detached held left nondifferentiable variables",
        "engine/core/trace.py": "_captured",
        "engine/executor/encoding.py": "loops",
        "engine/executor/summing.py": "readers writers",
        "engine/explain/numbers.py": "cotangents",
        "engine/explain/witness.py": "watched",
        "engine/jacobian/fetched.py": "_arrays _feed _sums _wanted",
        "engine/jacobian/execution/waiting.py": "_shapes",
        "engine/jacobian/planning/direction.py": "_colors _costs _longest",
        "engine/jacobian/structure/path.py": "slots used",
        "engine/ops/philox.py": "_held",
        "engine/runtime/commit.py": "_waiting",
        "engine/runtime/elementary/c_source.py": "_known",
        "graph_api/graph_files/bodies.py": "operations values",
        "graph_api/graph_files/export_functions.py": "_read _written unknown",
        "graph_api/graph_files/exporting.py": "outputs",
        "graph_api/graph_files/importing.py": "_known",
        "graph_api/graph_files/regions.py": "_by_frames _depth _open choices exits loops switches",
        "optim/closed_step.py": "handles variables",
        "optim/external.py": "_bounds",
        "tape_api/autodiff.py": "_tangents",
        "tape_api/files/checkpoint.py": "_kept _parts",
        "tape_api/files/restored.py": "_matched _objects _of_keras",
        "tape_api/saved_model/loading.py": "_concrete",
        "tape_api/saved_model/saving.py": "_of_functions _written",
        "tape_api/functions/tracing.py": "_differs _handles _outside",
        "tape_api/files/weight_files.py": "_files",
    },
    "a table of an object or of the process that is keyed by identity or decides itself when to keep": {
        "dualgrad/autograph/conversion.py": "_OPERATORS",
        "dualgrad/frontend/namespace.py": "_MADE",
        "dualgrad/keras/host.py": "_classes _functions",
        "engine/core/late_tape.py": "_places",
        "engine/core/sparsity.py": "_broadcasts _counted",
        "engine/executor/staged.py": "tables",
        "engine/derivatives/powers.py": "_made",
        "graph_api/keras/sessions.py": "_sessions",
        "graph_api/sessions/state.py": "_packs",
        "tape_api/functions/function.py": "_methods _seen",
        "tape_api/functions/open_function.py": "_own",
    },
    "the same as long as the process is there": {
        "dualgrad/extras/arrays.py": "_of",
        "dualgrad/files/crc32c.py": "_lists _tables",
        "dualgrad/files/summary_values.py": "_limits",
        "dualgrad/frontend/bound.py": "_class _known",
        "dualgrad/keras/models.py": "_functional_form",
        "dualgrad/migrate/check/surface.py": "instance_attributes of",
        "dualgrad/migrate/convert/calls.py": "_public",
        "dualgrad/migrate/convert/identifiers.py": "_assigned_on _assignments _function_around _is_returned _parsed "
        "_starts",
        "dualgrad/migrate/convert/spelling.py": "_by_module _defaults _parameters",
        "dualgrad/migrate/internal_modules.py": "modules",
        "dualgrad/migrate/watch.py": "is_users",
        "engine/compiler/passes/columns.py": "_adds_alike",
        "engine/core/detach.py": "_installed",
        "engine/executor/loops.py": "_gives_the_same _ordinary _trials loop_of samples",
        "engine/executor/matrices.py": "_has_trtrs",
        "engine/executor/reductions.py": "_finds_the_same",
        "engine/executor/refs.py": "core_dims",
        "engine/executor/vocabulary.py": "_small_loop dots_alike is_outer",
        "engine/runtime/blas.py": "threads_wanted multiplies_in_place openblas thread_count",
        "engine/runtime/commit.py": "_unwarned",
        "engine/jacobian/planning/memory_limit.py": "memory",
    },
    "filled when modules are imported, or by the user": {
        "dualgrad/frontend/flow/composites.py": "_KINDS",
        "dualgrad/frontend/namespace.py": "FOUNDATION _INSIDE",
        "dualgrad/keras/configs.py": "OURS REGISTERED",
        "engine/core/tape.py": "NOTHING",
        "engine/derivatives/custom.py": "kwargs",
        "engine/runtime/extension.py": "unused",
        "graph_api/graphs/defaults.py": "fetched_as",
        "graph_api/graph_files/exporting.py": "WAYS",
        "graph_api/graph_files/meta_graphs.py": "PROTO_FUNCTIONS",
        "graph_api/graph_files/outputs.py": "_NAMES",
        "graph_api/graph_files/own_ops.py": "_OPS",
        "graph_api/graph_files/rows.py": "ROWS",
        "graph_api/legacy/conversions.py": "_conversions",
        "graph_api/legacy/distributions/base.py": "_divergences",
        "graph_api/legacy/layers/__init__.py": "_made_here",
        "tape_api/functions/tracing.py": "_NOTHING",
    },
    "what an object or a program is: its values, names, counters": {
        "dualgrad/keras/callbacks.py": "history",
        "dualgrad/keras/compiled.py": "_means",
        "dualgrad/keras/metrics/decisions.py": "_kept",
        "dualgrad/keras/progress.py": "_values",
        "engine/jacobian/views/fixed_patterns.py": "_triangles",
        "engine/jacobian/views/for_scipy.py": "_views",
        "engine/executor/recorder.py": "forms held numbers",
        "graph_api/graphs/graph.py": "_by_name _collections _names_in_use _overrides kept_out lines scope_counts"
        " variable_store",
        "graph_api/iterators.py": "_by_handle",
        "graph_api/keras/host.py": "_names",
        "graph_api/keras/symbols.py": "_of calls",
        "graph_api/legacy/coordination.py": "_running",
        "graph_api/sessions/resources.py": "_held _locks",
        "graph_api/sessions/state.py": "_aside _locks values",
        "optim/slots.py": "_slots",
        "tape_api/keras/board.py": "_writers",
        "tape_api/cluster.py": "_jobs",
        "tape_api/functions/function.py": "_streams",
        "tape_api/random.py": "calls counters",
        "tape_api/train.py": "_global_step",
        "tape_api/legacy/version1_sessions.py": "_collections",
    },
}
"""By reason and by module: what is no cache, or none that forgets."""


class Kept(NamedTuple):
    """Something that is kept between calls, or may be."""

    module: str
    name: str
    kind: str
    key: str
    line: int


def modules() -> Iterator[tuple[str, ast.Module]]:
    """The product's modules, without those whose text has nothing of the kind."""
    for package in PACKAGES:
        for path in sorted(Path(HOME, package).rglob("*.py")):
            name = path.relative_to(HOME).as_posix()
            if name != "engine/runtime/cache.py" and _MENTIONED.search(text := path.read_text()):
                yield name, ast.parse(text)


@functools.cache
def found() -> list[Kept]:
    """All that is made by `Cache`, `cached`, `functools`, or as an empty dict of a module or an object."""
    return [kept for name, tree in modules() for kept in _of_module(name, tree)]


def _of_module(module: str, tree: ast.Module) -> Iterator[Kept]:
    nodes = list(ast.walk(tree))
    for node in nodes:
        if isinstance(node, ast.FunctionDef):
            for decorator in node.decorator_list:
                kind = _name(decorator)
                if kind == "cached" or kind in _FOREVER:
                    arguments = ", ".join(
                        a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
                    )
                    yield Kept(module, node.name, kind, arguments or "nothing", node.lineno)
        elif isinstance(node, ast.Call):
            kind = _name(node.func)
            if kind in ("Cache", "plans_kept", "_cache"):
                given: list[ast.expr] = [*node.args, *[k.value for k in node.keywords]]
                texts = [x.value for x in given if isinstance(x, ast.Constant) and isinstance(x.value, str)]
                if kind == "Cache" and not [k for k in node.keywords if k.arg == "key"]:
                    raise ValueError(f"{module}:{node.lineno}: a cache must say its key")
                if len(texts) >= 2:
                    yield Kept(module, texts[-2], "Cache", texts[-1], node.lineno)
    for target, value, line in _assigned(tree, nodes):
        kind = _name(value)
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Call):
            kind = _name(value.func)
        if kind == "cached" or kind in _FOREVER:
            yield Kept(module, target, kind, "all arguments", line)
        elif kind in _EMPTY or (isinstance(value, ast.Dict) and not value.keys):
            yield Kept(module, target, "dict", "", line)


def _assigned(tree: ast.Module, nodes: list[ast.AST]) -> Iterator[tuple[str, ast.expr, int]]:
    """What a module and its objects hold by names that begin as something empty."""
    of_module = {id(node) for node in tree.body}
    for node in nodes:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                of_object = isinstance(target, ast.Attribute) and _name(target.value) == "self"
                if of_object or (isinstance(target, ast.Name) and id(node) in of_module):
                    yield _name(target), node.value, node.lineno


def _name(node: ast.AST) -> str:
    if isinstance(node, ast.Call):
        return _name(node.func)
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def caches() -> list[Kept]:
    """Those that know their keys."""
    return [kept for kept in found() if kept.kind in ("Cache", "cached")]


def others() -> set[tuple[str, str]]:
    """All else, which must have a reason."""
    return {(kept.module, kept.name) for kept in found() if kept.kind not in ("Cache", "cached")}


def excused() -> set[tuple[str, str]]:
    """What has one."""
    return {(module, name) for of in OTHERS.values() for module, names in of.items() for name in names.split()}


def page() -> str:
    """The page: what is written there by hand, and the table."""
    lines = [PAGE.read_text().partition(MARK)[0] + MARK, "| what | keyed by | where |", "|---|---|---|"]
    mine = {(k.name, k.key, k.module) for k in caches() if k.kind == "Cache"}
    return "\n".join([*lines, *[f"| {name} | {key} | `{module}` |" for name, key, module in sorted(mine)], ""])


PAGE = Path(HOME, "docs", "all-caches.md")
MARK = "<!-- what follows is written by `python -m tests.caches` -->\n"

if __name__ == "__main__":
    PAGE.write_text(page())
