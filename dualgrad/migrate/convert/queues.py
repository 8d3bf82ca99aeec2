"""Queues that runners fill, as data sets: the graph says what is put in, and each run takes what comes next.

A queue of ``tf.train`` is a part of a chain: a producer goes through rows, again and again; readers, and operations on
single examples, are between its queue and that of batches. `Pipelines` follows such a chain back and writes it as one
data set. Functions are given what they take out, as the elements of iterators are (`iterating`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from dualgrad.migrate.convert import printing
from dualgrad.migrate.convert.body import Body, Statement
from dualgrad.migrate.convert.common_subgraphs import task_of
from dualgrad.migrate.convert.identifiers import Scope
from dualgrad.migrate.convert.literals import literal
from dualgrad.migrate.convert.observed_run import Run
from dualgrad.migrate.convert.shortening import Function
from dualgrad.migrate.convert.spelling import path
from engine.core.trace import constant
from engine.ops.gather import gather_op
from engine.ops.shape import identity
from graph_api.legacy import input_producers
from graph_api.legacy.coordination import QUEUE_RUNNERS
from graph_api.legacy.queues import PaddingFIFOQueue, RandomShuffleQueue, put_elements, take_elements


def runners(graph: Any) -> list[Any]:
    """The runners that fill the queues of a graph."""
    return list(graph.get_collection(QUEUE_RUNNERS))


def is_fed_by_threads(node: Any) -> bool:
    """Whether a node takes elements out of a queue that a runner fills."""
    return node.op is take_elements and any(r.queue is node.params["queue"] for r in runners(node.outputs[0].graph))


def only_feeds(run: Any) -> bool:
    """Whether a run is one of those by which a runner fills queues, and closes them."""
    asked = [getattr(x, "node", x) for x in run.flat]
    own = {id(op) for r in runners(run.graph) for op in [*r.enqueue_ops, r.close_op, r.cancel_op]}
    return bool(asked) and all(id(node) in own for node in asked)


def shuffles(graph: Any) -> bool:
    """Whether what comes out of queues is in an order that a seed does not tell, or that threads do."""
    return any(
        isinstance(r.queue, RandomShuffleQueue)
        or len(r.enqueue_ops) > 1
        or _order(_enqueue_node(graph, r.queue)) is not None
        for r in runners(graph)
    )


def _enqueue_node(graph: Any, queue: Any) -> Any:
    """The only node that puts elements into a queue.

    Raises
    ------
    ValueError
        If there are several, or none.
    """
    found = [n for n in graph.nodes if n.op is put_elements and n.params["queue"] is queue]
    if len(found) != 1:
        raise ValueError(f"{len(found)} operations put elements into the queue {queue.name!r}")
    return found[0]


def _plain(x: Any) -> Any:
    """The tensor that is passed on."""
    while x.node.op is identity:
        x = x.node.inputs[0]
    return x


def _order(put: Any) -> Any:
    """The tensor that mixes the rows which a producer puts in; None if they stay as they are."""
    rows = _plain(put.inputs[1])
    is_mixed = rows.node.op is gather_op and "shuffle" in _plain(rows.node.inputs[1]).node.op.name
    return _plain(rows.node.inputs[1]) if is_mixed else None


class Pipelines:
    """Writes the data sets of a graph's queues.

    Parameters
    ----------
    module : Module
    """

    def __init__(self, module: Any) -> None:
        self.module, self.graph = module, module.graph
        self.functions: list[Function] = []
        """Functions of one example."""
        self.lines: list[str] = []
        """The statements that make iterators."""
        self.nodes: dict[int, str] = {}
        """By identity of a node that takes elements out, the name of its iterator."""
        self._names: dict[int, str] = {}

    def gives(self, node: Any) -> bool:
        """Whether a node takes elements out of a queue of which there is a data set."""
        if id(node) not in self.nodes and is_fed_by_threads(node):
            with suppress(ValueError):
                self.nodes[id(node)] = self.iterator(node)
        return id(node) in self.nodes

    def text(self) -> list[str]:
        """The lines that make iterators, below the functions."""
        written = [printing.lines([Statement(ast.parse(line).body[0])], lambda _: "", 0) for line in self.lines]
        return ["", "", *[line for lines in written for line in lines]] if self.lines else []

    def iterator(self, node: Any) -> str:
        """The name of the iterator whose next element is what a node takes out."""
        key = id(node.params["queue"])
        if key not in self._names:
            made = ast.Call(ast.Name("iter"), [self._batches(node)], [])
            self._names[key] = self.module.scope.free("batches" if node.params["many"] else "examples")
            self.lines.append(f"{self._names[key]} = {ast.unparse(made)}")
        elif self._dequeue_nodes(node.params["queue"])[0] is not node:
            raise ValueError("a queue is emptied by several operations")
        return self._names[key]

    def _dequeue_nodes(self, queue: Any) -> list[Any]:
        return [n for n in self.graph.nodes if n.op is take_elements and n.params["queue"] is queue]

    def _batches(self, node: Any) -> ast.expr:
        """The data set of what a node takes out."""
        queue, many = node.params["queue"], node.params["many"]
        dataset = self._elements(queue)
        if isinstance(queue, RandomShuffleQueue):
            dataset = _method(dataset, "shuffle", literal(queue._capacity), seed=_seed_of(queue))
        if many:
            size = node.inputs[1]
            if size.node.op is not constant:
                raise ValueError("the size of its batches is known only when it runs")
            count = literal(int(np.asarray(size.node.params["value"])))
            name = "padded_batch" if isinstance(queue, PaddingFIFOQueue) else "batch"
            dataset = _method(dataset, name, count, drop_remainder=None if node.params["fewer"] else True)
        return dataset

    def _elements(self, queue: Any) -> ast.expr:
        """The data set of what is put into a queue."""
        if not any(r.queue is queue for r in runners(self.graph)):
            raise ValueError(f"no runner fills the queue {queue.name!r}")
        put = _enqueue_node(self.graph, queue)
        values, many = list(put.inputs[1:]), put.params["many"]
        sources = self._sources(values)
        if not sources:
            return self._produced(put)
        if len(sources) > 1:
            raise ValueError("an example is made of elements of several queues")
        (source,) = sources
        if sliced := self._slices(values, source):
            dataset, given = sliced
        elif source.op is input_producers.next_record:
            dataset, given = self._records(source), [source.outputs[1]]
        elif source.params["many"]:
            dataset, given = self._batches(source), list(source.outputs)
        else:
            dataset, given = self._elements(source.params["queue"]), list(source.outputs)
        if list(map(id, values)) != list(map(id, given)):
            dataset = _method(dataset, "map", ast.Name(self._function(given, values)))
        return _method(dataset, "unbatch") if many else dataset

    def _sources(self, values: Sequence[Any]) -> list[Any]:
        """The nodes by which values come out of other queues and out of files."""
        found: dict[int, Any] = {}
        seen: set[int] = set()
        todo = [x.node for x in values]
        while todo:
            node = todo.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            if node.op in (take_elements, input_producers.next_record):
                found[id(node)] = node
            else:
                todo += [*[x.node for x in node.inputs], *node.control_inputs]
        return list(found.values())

    def _produced(self, put: Any) -> ast.expr:
        """The data set of the rows of a tensor, again and again."""
        order, rows = _order(put), _plain(put.inputs[1])
        rows = _plain(rows.node.inputs[0]) if order is not None else rows
        return self._again(put, self._sliced([rows]), order)

    def _sliced(self, tensors: Sequence[Any]) -> ast.expr:
        if any(x.node.op is not constant and self.module.names.given_name(x) is None for x in tensors) and (
            any(x.node.op.name == "placeholder" for x in tensors)
        ):
            raise ValueError("its rows are fed")
        codes = [self._value(x) for x in tensors]
        rows = codes[0] if len(codes) == 1 else ast.Tuple(codes, ast.Load())
        return ast.Call(path("tf.data.Dataset.from_tensor_slices"), [rows], [])

    def _value(self, x: Any) -> ast.expr:
        """The expression of a tensor that does not depend on what is fed."""
        if x.node.op is constant:
            made: ast.expr = self.module.constant(x, is_data=True)
            return made
        *before, last = Body(self.module, self.module.items, self.module.items.needed([x], ()), {}, [x]).write()
        if before or not isinstance(last.code, ast.Return) or last.code.value is None:
            raise ValueError("its rows are computed by many operations")
        return last.code.value

    def _again(self, put: Any, dataset: ast.expr, order: Any) -> ast.expr:
        """A data set of rows, mixed and repeated as a producer does."""
        if order is not None:
            draw = next((d for d in self.module.capture.draws if d.result is order), None)
            seed = None if draw is None else draw.seed
            dataset = _method(dataset, "shuffle", literal(self._count(put)), seed=seed)
        counts = [n for n in self.graph.nodes if n.op is input_producers.below_limit and self._waits(put, n)]
        if not counts:
            return _method(dataset, "repeat")
        limit = counts[0].params["limit"]
        return dataset if limit == 1 else _method(dataset, "repeat", literal(limit))

    @staticmethod
    def _count(put: Any) -> int:
        shape = put.inputs[1]._aval.shape
        if shape is None or shape[0] is None:
            raise ValueError("how many rows are mixed is known only when it runs")
        return int(shape[0])

    @staticmethod
    def _waits(put: Any, count: Any) -> bool:
        """Whether a node counts how often a producer has gone through its rows."""
        seen: set[int] = set()
        todo = [put]
        while todo:
            node = todo.pop()
            if node is count:
                return True
            if id(node) not in seen:
                seen.add(id(node))
                todo += [*[x.node for x in node.inputs], *node.control_inputs]
        return False

    def _slices(self, values: Sequence[Any], source: Any) -> tuple[ast.expr, list[Any]] | None:
        """The data set of rows of several tensors, if that is all for which a number of a row is used."""
        if source.op is not take_elements or source.params["many"]:
            return None
        number = source.outputs[0]
        users = [n for n in self.graph.nodes if any(x is number for x in n.inputs)]
        rows = [n for n in users if n.op is gather_op and n.inputs[1] is number and n.inputs[0].node.op is constant]
        if not rows or len(rows) < len(users):
            return None
        put = _enqueue_node(self.graph, source.params["queue"])
        dataset = self._again(put, self._sliced([n.inputs[0] for n in rows]), _order(put))
        return dataset, [n.outputs[0] for n in rows]

    def _records(self, node: Any) -> ast.expr:
        """The data set of the records of files."""
        reader = node.params["reader"]
        key = node.outputs[0]
        if any(x is key for n in self.graph.nodes for x in n.inputs):
            raise ValueError("the key of a record is used")
        kind = _READERS.get(type(reader))
        if kind is None:
            raise ValueError(f"it reads with a {type(reader).__name__}")
        return kind(reader, self._elements(node.params["queue"]))

    def _function(self, given: Sequence[Any], values: Sequence[Any]) -> str:
        """The name of the function that makes an example of what was read."""
        module = self.module
        plan = task_of(module.items, Run(self.graph, list(values), list(given)), list(values))
        parameters = Scope(module.scope)
        named = [(parameters.free(module.names.tensor(x)), x) for x in given]
        statements = Body(
            module, module.items, [*plan.items, *plan.reads], {id(x): n for n, x in named}, values
        ).write()
        name: str = module.scope.free("example_of" if len(self.functions) == 0 else "further_example_of")
        self.functions.append(Function(name, None, list(values), named, [], statements))
        return name


def _seed_of(queue: Any) -> int | None:
    """The seed that a queue was given itself."""
    own = str(queue._seed).rpartition(" ")[2]
    return int(own) if own.isdigit() else None


def _method(of: ast.expr, name: str, *args: ast.expr, **keywords: Any) -> ast.expr:
    """A call of a method of a data set; arguments that are None are left out."""
    given = [ast.keyword(k, literal(v)) for k, v in keywords.items() if v is not None]
    return ast.Call(ast.Attribute(of, name, ast.Load()), list(args), given)


def _flat_mapped(dataset: ast.expr, text: str) -> ast.expr:
    return _method(dataset, "flat_map", ast.parse(f"lambda name: {text}", mode="eval").body)


def _lines(reader: Any, files: ast.expr) -> ast.expr:
    return _flat_mapped(files, "tf.data.TextLineDataset(name)" + f".skip({reader._skip})" * bool(reader._skip))


def _pieces(reader: Any, files: ast.expr) -> ast.expr:
    size, header, footer = reader._how
    further = "".join(f", {n}={v}" for n, v in (("header_bytes", header), ("footer_bytes", footer)) if v)
    return _flat_mapped(files, f"tf.data.FixedLengthRecordDataset(name, {size}{further})")


_READERS: dict[type, Callable[[Any, ast.expr], ast.expr]] = {
    input_producers.TextLineReader: _lines,
    input_producers.TFRecordReader: lambda reader, files: _flat_mapped(files, "tf.data.TFRecordDataset(name)"),
    input_producers.FixedLengthRecordReader: _pieces,
    input_producers.WholeFileReader: lambda reader, files: _method(files, "map", path("tf.io.read_file")),
}
"""By class of reader, how its records are read."""
