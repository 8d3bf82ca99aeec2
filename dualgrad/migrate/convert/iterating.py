"""Data sets and their iterators: the program's own lines make them, and functions are given what comes next.

A graph's iterator is a part of the graph, whose element is another one in each run. In tape code the data set is
iterated over: a function has the element's tensors as parameters, and its call gives it ``*iterator.get_next()``.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Iterator as PythonIterator
from typing import Any

from dualgrad.data.dataset import BaseDataset
from dualgrad.migrate.check.values import Instance, Local, Path
from dualgrad.migrate.convert.edits import Unsafe
from dualgrad.migrate.convert.facts import reached
from engine.core.trace import needed_nodes
from graph_api.iterators import Iterator, next_element, next_of_handle, start_iterator, string_handle

CLASS = '''

class Iterator:
    """Goes through a data set, and can be started anew."""

    def __init__(self, dataset=None):
        self.initializer = self.make_initializer(dataset)

    def make_initializer(self, dataset):
        """A function that starts it on a data set."""

        def start():
            self._left = iter(dataset)

        return start

    def get_next(self):
        """The next element, or an OutOfRangeError."""
        return self._left.get_next()
'''
SHUFFLED = ("iter(dataset)", "iter(copy.deepcopy(dataset))  # it is shuffled alike at each start")
"""Text of the class where a data set is shuffled, which would remember how often it was gone through."""
_RESTARTED = ("make_initializable_iterator", "from_structure")
_ONCE = "make_one_shot_iterator"


def take(run: Any, of_queue: Callable[[Any], bool]) -> None:
    """Have a run be given the elements of iterators that it needs, and those of queues of which there is a data set.

    Parameters
    ----------
    run : Run
    of_queue : callable
        Whether a node takes elements out of such a queue.
    """
    before = {id(x) for node in run.taken for x in node.outputs}  # a program may be converted twice
    run.feeds = [x for x in run.feeds if id(x) not in before]
    fed = {id(x) for x in run.feeds}
    nodes = needed_nodes(run.graph.nodes, run.flat, fed, lambda node: node.control_inputs)
    run.taken = [node for node in nodes if node.op in (next_element, next_of_handle) or of_queue(node)]
    run.feeds = [*run.feeds, *[x for node in run.taken for x in node.outputs]]


def kinds(run: Any, is_other: Callable[[Any], bool]) -> list[str]:
    """The acts of a run that only starts iterators, names them, or fetches an element; empty if it does more.

    Parameters
    ----------
    run : Run
    is_other : callable
        Whether it does nothing to run something besides, which is an empty text then.
    """
    found = []
    elements = [id(x) for node in run.taken for x in node.outputs]
    for x in run.flat:
        op = getattr(x, "node", x).op
        kind = {start_iterator: "start", string_handle: "handle"}.get(op, "next" if id(x) in elements else "")
        if not kind and not is_other(x):
            return []
        found.append(kind)
    if "next" in found and (elements != [id(x) for x in run.flat] or len(run.taken) != 1):
        return []
    return found if any(found) else []


def described(run: Any, iterates: Sequence[str], made: Mapping[int, str]) -> dict[str, Any]:
    """Words of the map on the elements that a run takes: where, and of which iterator of those that are fed.

    Parameters
    ----------
    run : Run
    iterates : sequence of str
        Its `kinds`.
    made : mapping
        By identity of a node that takes elements out of a queue, the name of its iterator in the new program.
    """
    if not run.taken and not iterates:
        return {}
    taken = [
        {
            "line": node.where[1],
            "file": node.where[0],
            "names": [x.name for x in node.outputs],
            "handle": node.inputs[0].name if node.op is next_of_handle else None,
            **({"iterator": made[id(node)]} if id(node) in made else {}),
        }
        for node in run.taken
    ]
    return {"taken": taken, "iterates": list(iterates)}


class Iterating:
    """Finds data sets and iterators in a program's text.

    Parameters
    ----------
    tree : ast.Module
    inference : Inference
    """

    def __init__(self, tree: ast.Module, inference: Any) -> None:
        self.tree, self.inference = tree, inference
        self.calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call)]
        self.found = {n: kind for n in self.calls if (kind := self._kind(n))}
        self.named: dict[ast.expr, str] = {}
        """Names for iterators that the program asks for an element where it makes them, by what makes them."""
        self.returned: set[ast.expr] = set()
        """Calls that ask an iterator for the element which a function returns: it will return the iterator."""
        self.inside: set[ast.AST] = set()
        """The nodes of functions that data sets call."""

    def _is(self, node: ast.AST, kind: type) -> bool:
        return any(isinstance(v, Instance) and issubclass(v.kind, kind) for v in self.inference.values_of(node))

    def _kind(self, call: ast.Call) -> str:
        """The kind that a call becomes: ``iter``, ``Iterator`` or ``handle``; empty if it is no call of an iterator."""
        if not isinstance(call.func, ast.Attribute):
            return ""
        name = call.func.attr
        if name == "string_handle" and self._is(call.func.value, Iterator):
            return "handle"
        if name == "make_initializer" and self._is(call.func.value, Iterator):
            return "initializer"
        of_data = self._is(call.func.value, BaseDataset) or any(
            isinstance(v, Path) and v.path.startswith(("data.", "compat.v1.data."))
            for v in self.inference.values_of(call.func)
        )
        if not of_data and name == "from_structure":
            of_data = self._is(call, Iterator)
        if of_data and name == _ONCE:
            return "iter"
        return "Iterator" if of_data and name in _RESTARTED else ""

    def names_iterator(self, node: ast.expr, scopes: Any) -> bool:
        """Whether an expression is an iterator, or what starts one, or several of them."""
        if node in self.found:
            return True
        if isinstance(node, (ast.List, ast.Tuple)) and node.elts:
            return all(self.names_iterator(e, scopes) for e in node.elts)
        if isinstance(node, ast.Attribute) and node.attr == "initializer":
            return self._is(node.value, Iterator)
        if isinstance(node, ast.Name):
            sources = scopes.of[node].find(node.id)
            return bool(sources) and all(getattr(s, "node", None) in self.found for s in sources)
        return False

    def takes_next(self, node: ast.expr) -> bool:
        """Whether it asks for the next element."""
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            return False
        return node.func.attr == "get_next" and self._is(node.func.value, Iterator)

    def _around(self, node: ast.AST) -> list[ast.AST]:
        """The functions around a node."""
        kinds = (ast.FunctionDef, ast.Lambda)
        return [f for f in ast.walk(self.tree) if isinstance(f, kinds) and f is not node and node in ast.walk(f)]

    def _is_seen(self, call: ast.Call, run: ast.Call) -> bool:
        """Whether a statement, which gives names to the element where a run sees them, is no more than this call."""
        is_alone = any(isinstance(n, ast.Assign) and n.value is call for n in ast.walk(self.tree))
        return is_alone and set(self._around(call)) <= set(self._around(run))

    def name_given(self, node: ast.stmt) -> str:
        """The name of the iterator that a statement makes and asks at once, or "return"; empty for others."""
        call: Any = getattr(node, "value", None)
        if isinstance(node, ast.Return):
            return "return" if call in self.returned else ""
        made = call.func.value if self.takes_next(call) else call
        return self.named.get(made, "") if isinstance(node, ast.Assign) else ""

    def _made_by(self, asks: ast.Call, run: ast.Call) -> ast.expr | None:
        """The call that makes the iterator which is asked at once: it stands where a run is, perhaps of a function."""
        if self._is_seen(asks, run):
            return asks.func.value  # type: ignore[attr-defined]
        functions = [f for f in ast.walk(self.tree) if isinstance(f, ast.FunctionDef)]
        around = [f for f in functions if any(isinstance(n, ast.Return) and n.value is asks for n in ast.walk(f))]
        called = [c for c in self.calls if isinstance(c.func, ast.Name) and [f.name for f in around] == [c.func.id]]
        if len(called) != 1 or not self._is_seen(called[0], run):
            return None
        self.returned.add(asks)
        return called[0]

    def iterator_of(self, taken: Mapping[str, Any], run: ast.Call) -> ast.expr:
        """The iterator of which a function is given the next element where a run is, by what the map says of it.

        Raises
        ------
        Unsafe
            If it has no name there.
        """
        if "iterator" in taken:
            return ast.Name(taken["iterator"], ast.Load())
        line = int(taken["line"])
        found = [n for n in self.calls if self.takes_next(n) and n.lineno <= line <= (n.end_lineno or line)]
        of: Any = found[0].func.value if len(found) == 1 else None  # type: ignore[attr-defined]
        is_seen = isinstance(of, (ast.Name, ast.Attribute)) and set(self._around(of)) <= set(self._around(run))
        if of is not None and not is_seen and (made := self._made_by(found[0], run)) is not None:
            # made and asked in one line, which becomes the one that makes it
            used = {n.id for n in ast.walk(self.tree) if isinstance(n, ast.Name)} | set(self.named.values())
            free = (f"iterator{'_' * bool(i)}{i or ''}" for i in range(len(used) + 1))
            name = self.named.setdefault(made, next(n for n in free if n not in used))
            return ast.Name(name, ast.Load())
        if not isinstance(of, (ast.Name, ast.Attribute)):
            raise Unsafe(f"line {line}: its iterator has no name")
        return of

    def texts(self) -> PythonIterator[tuple[ast.expr, str]]:
        """The names of TensorFlow's functions that data sets call, as tape code has them."""
        seen, todo = self.inside, list[ast.AST]()
        for call in self.calls:
            paths = [v.path for v in self.inference.values_of(call.func) if isinstance(v, Path)]
            if any(path.endswith("start_queue_runners") for path in paths):
                yield call, "[]"  # no thread is needed to fill a data set
            if isinstance(call.func, ast.Attribute) and self._is(call.func.value, BaseDataset):
                todo += [*call.args, *(k.value for k in call.keywords)]
        while todo:
            node = todo.pop()
            if node in seen:
                continue
            seen.add(node)
            values = self.inference.values_of(node) if isinstance(node, ast.expr) else ()
            paths = [v.path for v in values if isinstance(v, Path)]
            text = reached(paths[0]) if len(paths) == 1 and isinstance(node, (ast.Attribute, ast.Name)) else None
            if text is not None and isinstance(node, ast.expr):
                yield node, text
                continue
            todo += [v.node for v in values if isinstance(v, Local)]
            todo += ast.iter_child_nodes(node)


# ---- calls -----------------------------------------------------------------------------------------------------------


def iterator_call(cst: Any, kind: str, call: Any) -> Any:
    """The call in place of one that makes an iterator, or names one."""
    if kind == "initializer":
        return call
    if kind == "handle":
        return call.func.value
    data = call.args[0].value if call.args and call.func.attr.value != "from_structure" else call.func.value
    arguments = [] if call.func.attr.value == "from_structure" else [cst.Arg(data)]
    return cst.Call(cst.Name(kind), arguments)


def iterator_run(cst: Any, kinds: Sequence[str], fetches: Any, iterator: Any) -> Any:
    """The expression in place of a run that only starts iterators, names them, or fetches an element."""
    several = isinstance(fetches, (cst.List, cst.Tuple))
    if "next" in kinds:
        text = "[x.numpy() for x in _]" if several else "tf.nest.map_structure(lambda x: x.numpy(), _)"
        following = cst.Call(cst.Attribute(iterator, cst.Name("get_next")))
        return cst.parse_expression(text).visit(_filling(cst, following))
    values = [e.value for e in fetches.elements] if several else [fetches]
    kept = [cst.Call(v) if k == "start" else v for v, k in zip(values, kinds, strict=True) if k]
    return kept[0] if len(kept) == 1 else cst.List([cst.Element(v) for v in kept])


def _filling(cst: Any, value: Any) -> Any:
    class Filling(cst.CSTTransformer):  # type: ignore[misc]
        """Puts a value in the place of ``_``."""

        def leave_Name(self, original: Any, updated: Any) -> Any:
            return value if updated.value == "_" else updated

    return Filling()


def next_arguments(cst: Any, taken: Sequence[Any], iterators: Sequence[Any], by_name: dict[str, Any]) -> dict[str, Any]:
    """By the first of the tensors that an element has, the argument that gives them all; by the others, None."""
    arguments: dict[str, Any] = {}
    named = iter(iterators)
    for one in taken:
        of = by_name.get(one["handle"]) if one["handle"] is not None else next(named)
        call = cst.Call(cst.Attribute(of, cst.Name("get_next")))
        arguments |= dict.fromkeys(one["names"])
        arguments[one["names"][0]] = cst.Arg(call, star="*" * (len(one["names"]) > 1))
    return arguments
