"""The converted module: its variables, constants and optimizers, and a function for each set of fetches."""

from __future__ import annotations

import ast
import inspect
import itertools
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dualgrad.migrate import unconverted
from dualgrad.migrate.convert import draws, iterating, own_gradients, printing, provenance, queues
from dualgrad.migrate.convert.alignment import plain
from dualgrad.migrate.convert.body import Body, Statement, converted, leave_to_callees
from dualgrad.migrate.convert.common_subgraphs import FunctionTask, HelperItem, extract_helpers, task_of
from dualgrad.migrate.convert.flows import written_draw
from dualgrad.migrate.convert.identifiers import Names, Scope, identifier, snake
from dualgrad.migrate.convert.items import CustomItem, Items, MinimizeItem, OpItem, StepItem
from dualgrad.migrate.convert.literals import data, literal, literal_of, stored
from dualgrad.migrate.convert.minimizations import CALLBACKS
from dualgrad.migrate.convert.observed_run import Capture, Run
from dualgrad.migrate.convert.origins import Origin, Origins
from dualgrad.migrate.convert.repetition import expression, in_a_loop
from dualgrad.migrate.convert.shortening import Function, Shortening
from dualgrad.migrate.convert.sizes import Said
from dualgrad.migrate.convert.spelling import path
from dualgrad.migrate.convert.tidying import merged, reuse_names, tidied
from dualgrad.platform import progress
from engine.core.dtypes import DType, float32, int32
from engine.core.operands import Operation
from engine.core.trace import Symbol, constant
from engine.core.variable import Variable, assign_variable, read_variable, variable_handle
from engine.runtime.quoting import printable
from graph_api.graphs.graph import Graph, no_op
from graph_api.graphs.tensor import Tensor

_OF_SAVEZ = inspect.signature(np.savez_compressed).parameters
LONGEST = 70
"""Characters up to which an array is written out."""


class Module:
    """Writes the module for one graph.

    Parameters
    ----------
    graph : Graph
    capture : Capture
    names : Names
    scope : Scope
        The names taken at the top of the module.
    program : Path
        Its file.
    origins : Origins, optional
        Where values came from that the program drew or computed; without it they are those of the run.
    said : mapping, optional
        By the first line of the statement, numbers that are said as the program does.
    """

    def __init__(
        self, graph: Graph, capture: Capture, names: Names, scope: Scope, program: Path,
        origins: Origins | None = None, said: Mapping[int, Said] | None = None,
    ) -> None:  # fmt: skip
        self.graph, self.capture, self.names, self.scope, self.program = graph, capture, names, scope, program
        self.items = Items(graph, capture)
        self._note_uses()
        self.top: list[Statement] = []
        self.functions: list[Function] = []
        self.customs: dict[int, Function] = {}
        self.arrays: dict[str, np.ndarray] = {}
        self.missing: list[dict[str, Any]] = []
        self.summaries: dict[str, tuple[str, tuple[Any, ...]]] = {}
        self.converted = 0
        self.minimizes = False
        self.from_run: list[str] = []
        self.constants: dict[str, str] = {}
        self._run_calls: set[int] = set()
        self._numbers = provenance.numbers_in(program)
        self._origins, self._said_numbers = origins, said or {}
        self.hosted: list[tuple[Origin, str]] = []
        """The things that the program's own expressions make, and its name."""
        self._hosted_calls: dict[int, Origin] = {}
        self.inside: dict[str, dict[str, str]] = {}
        """By their texts, the origins of variables in constructors of classes."""
        self.starts: list[tuple[str, np.ndarray, bool]] = []
        """Of what these make: the name, the array that it must be, and whether it is a variable."""
        self._said: dict[str, str] = {}
        self._variables = {id(v.handle): v for v in capture.variables if v.graph is graph}
        self._initializers = {id(v.initializer) for v in self._variables.values()}
        self._code: dict[int, str] = {}
        self._made: set[int] = set()
        self._plans: list[FunctionTask] = []
        self._slots = _slots(capture, graph)
        self._held: dict[int, tuple[str, dict[Any, Any]]] = {}
        self._places = [id(v.handle) for v in self._variables.values() if self._origin(v) is not None]
        for key, variable in self._variables.items():
            if key not in self._slots and key not in self._code:
                self._name_variable(key, variable)
        self._lists: dict[tuple[str, ...], str] = {}
        self._seeds: set[str] = set()
        self._seed = graph.seed
        """The seed of the program at the end of what stands at the top."""
        self.streams = draws.Streams(graph.seed)
        self.is_initial = self._drew = False
        self._kinds: tuple[set[Any], set[Any]] = set(), set()
        """The kinds and the seeds of draws, of functions and of first values."""
        self._inside: dict[Any, Any] = {}
        """The draws of what a statement at the top makes variables with."""
        starts = [run for run in capture.runs.values() if run.graph is graph and self._starts(run)]
        self._resets = any(run.resets for run in starts)
        self._begins = bool(starts) and starts[0].resets
        """Whether a function gives the first values once more, which begins as all random numbers do."""
        self.renewed = len(capture.sessions.get(id(graph), ())) > 1
        self.takes = False
        self._is_saved = bool(capture.savers)
        self.named_here: set[str] = set()
        """The variables that have their names of the graph, if it is saved: a line of the program may give none."""

    def _note_uses(self) -> None:
        """Have the names know what the statements of the program use, and what gradients do."""
        spans = [c for c in (*self.capture.gradients, *self.capture.steps) if c.graph is self.graph]
        derived = {id(node): node for c in spans for node in self.graph.nodes[c.first : c.last]}
        targets = [
            (y.node, self.graph.nodes[c.first]) for c in spans if hasattr(c, "ys") for y in c.ys if c.first < c.last
        ]
        self.names.note_uses([node for node in self.graph.nodes if id(node) not in derived], targets, derived.values())

    # ---- what stands at the top --------------------------------------------------------------------------------------

    def _name_variable(self, key: int, variable: Any) -> None:
        """Give a variable its name, or all those a name that are in one list or dictionary."""
        held = self.names.holder(variable)
        inside = {} if held is None else {k: id(v.handle) for k, v in held[1].items()}
        if held is None or any(i in self._slots or i not in self._variables for i in inside.values()) or (
            not self._are_made_in_a_row(list(inside.values()))
        ):  # fmt: skip
            self._code[key] = self.scope.free(self.names.variable(variable))
            return
        name = self.scope.free(held[0])
        self._code |= {i: ast.unparse(_element(name, k)) for k, i in inside.items()}
        self._held |= dict.fromkeys(inside.values(), (name, held[1]))

    def _origin(self, variable: Any) -> Origin | None:
        """Where the value of a variable came from, if the program's text does not say it as it is."""
        start = variable.initial_value.node
        found = self._origins.origin_of(variable) if self._origins is not None and start.op is constant else None
        told = provenance.is_told(np.asarray(start.params["value"]), self._numbers) if found is not None else True
        return found if found is not None and (found.draws or not told) else None

    def _are_made_in_a_row(self, keys: Sequence[int]) -> bool:
        """Whether a list of variables draws its values one after the other, as the program did."""
        own = [key for key in keys if key in self._places]
        found = [self._origin(self._variables[key]) for key in own]
        at = [self._places.index(key) for key in own]
        return at == list(range(at[0], at[0] + len(at))) and len({o.place for o in found if o}) == 1 if at else True

    def variable(self, handle: Any) -> ast.expr:
        """The name of a variable, which is made at the top of the module when it is first used."""
        if id(handle) in self._slots:
            return self._slot(*self._slots[id(handle)])
        if id(handle) not in self._made:
            self._make(id(handle))
        return expression(self._code[id(handle)])

    def _slot(self, optimizer: Any, variable: Any, name: str) -> ast.expr:
        """The slot or counter that an optimizer keeps for a variable; None before its first step."""
        own = self.optimizer(optimizer)
        if variable is not None and not name:
            return ast.Call(path(f"{own}.average"), [self.variable(variable.handle)], [])
        if variable is not None:
            args = [self.variable(variable.handle), ast.Constant(name)]
            return ast.Call(path(f"{own}.get_slot"), args, [])
        return ast.parse(f"dict(enumerate({own}.kept_together())).get({name})", mode="eval").body

    def _make(self, key: int) -> None:
        name, held = self._held.get(key, (self._code[key], {}))
        self._made |= {id(v.handle) for v in held.values()} or {key}
        self._inside = {}
        variables = list(held.values()) or [self._variables[key]]
        values: list[ast.expr] = [self._called(self._variables[id(v.handle)]) for v in variables]
        whole = values[0]
        if held and list(held) == list(range(len(held))):
            whole = in_a_loop(values) or ast.List(values, ast.Load())
            self._lists[tuple([self._code[id(v.handle)] for v in variables])] = name
        elif held:
            whole = ast.Dict([ast.Constant(k) for k in held], values)
        item = OpItem(0, node=variables[0].op)
        self.top.append(Statement(ast.Assign([ast.Name(name, ast.Store())], whole), item))
        if found := next((self._hosted_calls[id(v)] for v in values if id(v) in self._hosted_calls), None):
            self.hosted.append((found, name))

    def _called(self, variable: Any) -> ast.expr:
        """The call that makes a variable."""
        name = identifier(self._code[id(variable.handle)]).strip("_")
        origin = self._origin(variable)
        initial = self._initial(variable, name) if origin is None else origin.code
        if origin is not None:
            self._restart([initial])
        elif self._said_numbers:
            for site in self.names.sites_of(variable):
                initial = self._said_on(site, initial)
            origin = self._said_start(variable, initial)
        keywords: list[ast.keyword] = []
        if origin is not None and origin.says_dtype:
            keywords.append(ast.keyword("dtype", literal(variable.dtype.base_dtype)))
        if not variable.trainable:
            keywords.append(ast.keyword("trainable", ast.Constant(False)))
        own = variable.name.rpartition(":")[0]
        is_named = own != "Variable" if self._is_saved else not own.startswith("Variable")
        if is_named and (self._is_saved or own != name):
            keywords.append(ast.keyword("name", ast.Constant(own)))
        call = ast.Call(path("tf.Variable"), [initial], keywords)
        start = variable.initial_value.node
        if origin is not None:
            self._hosted_calls[id(call)] = origin
            self.inside.setdefault(ast.unparse(origin.code), origin.inside)
            if start.op is constant:
                self.starts.append((variable.name, np.asarray(start.params["value"]), True))
        elif start.op is constant and (array := np.asarray(start.params["value"])).dtype.kind in "biufc":
            self._note_origin(array, variable.name, call)
        if id(call) not in self._run_calls or not own.startswith("Variable_"):
            self.named_here.add(self._code[id(variable.handle)])
        return call

    def settled(self, code: Any, item: Any) -> Any:
        """The code of an item, where the numbers that data decides are said as the program does."""
        node = _node_of(item, self.graph) if self._said_numbers and item is not None else None
        return self._said_on(self.names.statement_of(node), code)

    def _said_on(self, where: tuple[str, int] | None, code: Any) -> Any:
        """The same of what a statement of the program became."""
        said = self._said_numbers.get(where[1]) if where is not None and Path(where[0]) == self.program else None
        return code if said is None else said.settled(code)

    def _said_start(self, variable: Any, initial: ast.expr) -> Origin | None:
        """The place of a variable in the program, where what it begins with says numbers of the program."""
        where = self.names.statement_of(variable.initial_value.node)
        said = self._said_numbers.get(where[1]) if where is not None else None
        if said is None or not said.numbers or not any(getattr(n, "says", False) for n in ast.walk(initial)):
            return None
        number = -1
        for other in self.capture.variables[: self.capture.variables.index(variable)]:
            number = max(number, self.capture.makings[id(other)].number if id(other) in self.capture.makings else -1)
        return Origin(initial, said.place, number, False, False)

    def _note_origin(self, array: np.ndarray, name: str, call: ast.Call) -> None:
        """Note a value that stands in the module, if the program's text did not say it."""
        if not provenance.is_told(array, self._numbers):
            self.from_run.append(name)
            self._run_calls.add(id(call))

    def _restart(self, initial: Sequence[ast.AST]) -> None:
        """Start all random numbers anew before a second draw with one seed, as each op of a graph starts by itself."""
        nodes = [n for code in initial for n in ast.walk(code)]
        seeds = {ast.unparse(n.value) for n in nodes if isinstance(n, ast.keyword) and n.arg == "seed"}
        if seeds & self._seeds:
            self.top.append(self._seeding(self._seed))
            self._seeds.clear()
        self._seeds |= seeds

    def own_draw(self, body: Body, item: Any) -> ast.expr | None:
        """The call of the function that draws for one operation alone, if it needs one."""
        call = item.call
        self._drew |= self.is_initial
        is_apart = (
            id(call) in self.streams.own
            or self.streams.is_apart(call, self.is_initial and not self._resets)
            or self._again(call)
        )
        self._kinds[self.is_initial].add((call.function, call.seed))
        if call.program != self._seed and (self.is_initial or is_apart) and id(call) not in self.streams.own:
            self._seed = call.program
            self.top.append(self._seeding(self._seed))
        made = draws.function_of(item, written_draw) if is_apart else None
        if made is None:
            return None
        if id(call) not in self.streams.own:
            name = self.streams.own[id(call)] = self.scope.free(self.names.tensor(call.result))
            self.top.append(Statement(ast.Assign([ast.Name(name, ast.Store())], made[0]), item))
        return ast.Call(ast.Name(self.streams.own[id(call)]), [body.operand(x, literals=True) for x in made[1]], [])

    def _again(self, call: Any) -> bool:
        """Whether another draw with these seeds is in the same statement, where nothing can start anew between."""
        if not self.is_initial or call.seed is None or (node := draws.node_of(call)) is None:
            return False
        # or it goes on where it is drawn once more
        return self._resets or self._inside.setdefault((node.op.type, call.seed, call.program), call) is not call

    def own_draws(self) -> dict[str, str]:
        """Operations of the graph that draw, to the functions that draw for them alone."""
        made = [draw for draw in self.capture.draws if draw.graph is self.graph and id(draw) in self.streams.own]
        return {draws.node_of(draw).name: self.streams.own[id(draw)] for draw in made}

    def _initial(self, variable: Any, name: str) -> ast.expr:
        x = variable.initial_value
        if x.node.op.name == "constant":
            return self._array(np.asarray(x.node.params["value"]), name, bare=True)
        earlier = itertools.takewhile(lambda v: v is not variable, self._variables.values())
        begun = {id(v.initial_value): v.handle for v in earlier if v.initial_value.node.op is not constant}
        items = self.items.needed([x], begun)
        used = {id(i) for item in items for i in item.inputs} | {id(x)}
        # what another variable begins with is drawn once
        known = {key: ast.unparse(self.variable(handle)) for key, handle in begun.items() if key in used}
        self.is_initial = True
        body = Body(self, self.items, items, known, [x])
        *before, last = body.write()
        self.is_initial = False
        self._restart([s.code for s in (*before, last)])
        self.top += before
        assert isinstance(last.code, ast.Return) and last.code.value is not None
        return last.code.value

    def is_of_run(self, x: Any) -> bool:
        """Whether a tensor is an array that the program computed, and not one of a shape."""
        if x.node.op is not constant:
            return False
        array = np.asarray(x.node.params["value"])
        made = self._origins is not None and bool(self._origins.made_by(x))
        is_data = array.dtype.kind == "f" or made
        least = 1 if made and array.ndim else 2
        return is_data and array.size >= least and not provenance.is_told(array, self._numbers)

    def constant(self, x: Any, is_data: bool = False) -> ast.expr:
        """A constant of the graph; `is_data` if it is what the program reads or makes up to learn from."""
        if id(x) in self._code:
            return ast.Name(self._code[id(x)])
        array = np.asarray(x.node.params["value"])
        looks = is_data or self.is_of_run(x) or (array.dtype.kind == "f" and data(array) is None)
        origin = self._origins.origin_of(x) if self._origins is not None and looks else None
        if origin is not None:
            keywords = [ast.keyword("dtype", literal(_dtype(array)))] if origin.says_dtype else []
            call = ast.Call(path("tf.constant"), [origin.code], keywords)
            key = "" if origin.draws else ast.unparse(call)
            if key not in self._said:
                self._said[key] = ast.unparse(self._constant(x, call, origin))
            self._code[id(x)] = self.constants[x.name] = self._said[key]
            return ast.Name(self._said.pop("", self._said[key]))
        value = self._array(array, self.names.tensor(x), bare=False)
        is_stored = any(isinstance(n, ast.Name) and n.id == "ARRAYS" for n in ast.walk(value))
        if not is_stored and not is_data and not self.is_of_run(x):
            return value
        if is_data:
            self.from_run.append(x.name)
            self._run_calls.add(id(value))
            return self._constant(x, value)
        if self._origins is None or not self._origins.is_librarys(x):
            self._note_origin(array, x.name, value)  # type: ignore[arg-type]
        return self._constant(x, value)

    def _constant(self, x: Any, value: ast.expr, origin: Origin | None = None) -> ast.expr:
        """The name of a constant that is made at the top."""
        explicit = self._origins is None or bool(self._origins.made_by(x))
        source = "" if origin is None or explicit else ast.unparse(origin.code)
        name = self.scope.free(f"{source}_constant" if source.isidentifier() else self.names.tensor(x))
        self._code[id(x)] = self.constants[x.name] = name
        self.top.append(Statement(ast.Assign([ast.Name(name, ast.Store())], value), OpItem(0, node=x.node)))
        if origin is not None:
            self.hosted.append((origin, name))
            array = np.asarray(x.node.params["value"])
            self.starts += [(name, array, False)] * (array.dtype.kind != "O")  # the names of files may be made up
        return ast.Name(name)

    def _array(self, array: np.ndarray, name: str, bare: bool) -> ast.expr:
        """An array: as numbers if it is small, else from the file beside the module; `bare` if it may stay an array."""
        dtype = _dtype(array)
        plain = (dtype in (float32, int32) or array.dtype.kind in "bO") if array.size else dtype is float32
        keywords = [] if plain else [ast.keyword("dtype", literal(dtype))]
        if (
            array.size > (0 if bare and array.ndim else 1)
            and array.dtype.kind in "biuf"
            and (array == array.flat[0]).all()
            and not np.signbit(array.flat[0])
        ):
            kind = {0: "tf.zeros", 1: "tf.ones"}.get(array.flat[0].item())
            shape = literal(list(array.shape))
            if kind is not None and array.dtype.kind != "b":
                own = [] if dtype is float32 else [ast.keyword("dtype", literal(dtype))]
                return ast.Call(path(kind), [shape], own)
            value = data(array.ravel()[:1])
            if value is not None:
                return ast.Call(path("tf.constant"), [literal(value[0])], [*keywords, ast.keyword("shape", shape)])
        if (
            array.ndim == 2
            and array.size > 1
            and array.dtype.kind == "f"
            and np.array_equal(array, np.eye(*array.shape))
        ):
            return ast.Call(
                path("tf.eye"), list(map(literal, array.shape[: 1 + (len(set(array.shape)) > 1)])), keywords
            )
        value = data(array)
        if value is not None and len(repr(value)) <= LONGEST:
            return literal(value) if bare and plain else ast.Call(path("tf.constant"), [literal(value)], keywords)
        key = self._key(name)
        self.arrays[key] = stored(array)
        value = ast.Subscript(ast.Name("ARRAYS"), ast.Constant(key), ast.Load())
        return value if bare else ast.Call(path("tf.constant"), [value], [])

    def array(self, array: np.ndarray, name: str) -> ast.expr:
        """An array that need be no tensor."""
        return self._array(array, name, bare=True)

    def _key(self, name: str) -> str:
        key, count = name, 1
        while key in self.arrays or key in _OF_SAVEZ:
            count += 1
            key = f"{name}_{count}"
        return key

    def listed(self, xs: Sequence[Any], codes: list[ast.expr]) -> ast.expr:
        """A list of variables; one that is long gets a name at the top."""
        if len(xs) < 3 or not all(isinstance(x, Variable) for x in xs):
            return ast.List(codes, ast.Load())
        key = tuple(ast.unparse(c) for c in codes)
        return ast.Name(self._list_name(key, self.names.list_of(xs) or "variables"))

    def _listed(self, texts: Sequence[str]) -> str | None:
        """A name at the top for a list of variables, None if they are something else."""
        if not set(texts) <= {self._code[key] for key in self._made}:
            return None
        # of weights["w1"] and weights["w2"] the name is weights
        common = re.split(r"\W", _common_start(texts))[0].rstrip("_0123456789")
        return self._list_name(tuple(texts), common or "variables")

    def _list_name(self, key: tuple[str, ...], wanted: str) -> str:
        if key not in self._lists:
            value = ast.List(self._starred(key), ast.Load())
            name = self._lists[key] = self.scope.free(wanted)
            self.top.append(Statement(ast.Assign([ast.Name(name, ast.Store())], value)))
        return self._lists[key]

    def _starred(self, texts: tuple[str, ...]) -> list[ast.expr]:
        """Expressions of variables; a list of some of them with a star."""
        if not texts:
            return []
        averages = re.compile(re.escape(texts[0].partition(".average(")[0]) + r"\.average\((.*)\)")
        averaged = [found[1] for found in itertools.takewhile(bool, map(averages.fullmatch, texts)) if found]
        if len(averaged) > 2:
            every = f"[{texts[0].partition('(')[0]}(v) for v in {self.listing(averaged)}]"
            return [ast.Starred(expression(every), ast.Load()), *self._starred(texts[len(averaged) :])]
        begun = max((k for k in self._lists if len(k) > 1 and k == texts[: len(k)]), key=len, default=None)
        if begun is None:
            return [expression(texts[0]), *self._starred(texts[1:])]
        starred = ast.Starred(ast.Name(self._lists[begun]), ast.Load())
        return [starred, *self._starred(texts[len(begun) :])]

    def optimizer(self, optimizer: Any) -> str:
        """The name of an optimizer, which is made at the top of the module when it is first used."""
        if id(optimizer) not in self._code:
            averagings = [a for a in self.capture.averagings if a.averages is optimizer]
            name = self.scope.free(self.names.given_name(optimizer) or ("averages" if averagings else "optimizer"))
            made = self.capture.optimizers[id(optimizer)]
            version = "" if averagings else "compat.v1."
            call = ast.Call(path(f"tf.{version}train.{made.kind.__name__}"), *self._arguments(made))
            self.top.append(Statement(ast.Assign([ast.Name(name, ast.Store())], call)))
            self._code[id(optimizer)] = name
            for averaging in averagings:  # averages begin with what their variables begin with
                self.top.append(Statement(self.renewal(averaging)))
                slots = [self.variable(optimizer.average(v).handle) for v in averaging.variables]
                self.named_here.update(map(ast.unparse, slots))
        return self._code[id(optimizer)]

    def renewal(self, call: Any) -> ast.stmt:
        """The statement that renews moving averages."""
        variables = self.listed(call.variables, [self.variable(v.handle) for v in call.variables])
        return ast.Expr(ast.Call(path(f"{self.optimizer(call.averages)}.apply"), [variables], []))

    def _arguments(self, made: Any) -> tuple[list[ast.expr], list[ast.keyword]]:
        args: list[ast.expr] = []
        keywords: list[ast.keyword] = []
        for name, parameter in inspect.signature(made.kind).parameters.items():
            value = made.arguments.get(name, parameter.default)
            code = self._said_on(self.names.statement_on(str(self.program), made.line), self._hyperparameter(value))
            usual = type(value) is type(parameter.default) and value == parameter.default
            if usual and not isinstance(code, ast.Name):
                continue  # what the program gives a name to is said
            if parameter.default is parameter.empty and not keywords:
                args.append(code)
            else:
                keywords.append(ast.keyword(name, code))
        return args, keywords

    def _hyperparameter(self, value: Any) -> ast.expr:
        """An argument of an optimizer; a tensor is set before each step instead."""
        if isinstance(value, Variable):
            return self.variable(value.handle)
        number = literal_of(value) if isinstance(value, Symbol) else value
        return literal(number) if number is not None or value is None else ast.Constant(0.0)

    def custom(self, item: CustomItem) -> str:
        """The name of a function with a gradient of its own, which is written when it is first called."""
        if id(item.call) not in self.customs:
            self.customs[id(item.call)] = own_gradients.written(self, item)
        return str(self.customs[id(item.call)].name)

    # ---- functions ---------------------------------------------------------------------------------------------------

    def convert(self, runs: Sequence[Run]) -> None:
        """Functions for all sets of fetches of the graph; what one cannot be made for, it says."""
        self.pipelines = queues.Pipelines(self)
        for run in runs:
            if not queues.only_feeds(run):
                iterating.take(run, self.pipelines.gives)
        self.takes = any(run.taken for run in runs)
        places = Counter(at for run in runs if _set_to(run) is not None for at in run.calls)
        self._set = {id(run) for run in runs if _set_to(run) is not None and any(places[at] > 1 for at in run.calls)}
        plans = self._plans = [plan for run in runs if (plan := self._planned(run)) is not None]
        helpers = extract_helpers(plans)
        for helper in helpers:
            alone = next((p for p in plans if _is_call_of(p, helper)), None)
            helper.name = self.scope.free(self._name(alone.run if alone else None, helper.items, helper.wanted))
        for number, plan in enumerate([*helpers, *plans], 1):
            progress.say(f"writing function {number} of {len(helpers) + len(plans)}")
            self._guarded(plan)
        saved = [id(v.handle) for saver, _ in self.capture.savers.values() for v in (saver._variables or {}).values()]
        for key in [*self._places, *saved]:  # also what is used by nothing is drawn, and saved
            if key in self._variables and key not in self._slots:
                self.variable(self._variables[key].handle)
        order = {id(run): number for number, run in enumerate(runs)}
        self.functions.sort(key=lambda f: -1 if f.run is None else order[id(f.run)])
        self.functions = [*self.pipelines.functions, *self.functions]

    def _planned(self, run: Run) -> FunctionTask | None:
        """The function for a set of fetches; None if none is needed."""
        fed = {id(f) for f in run.feeds}
        wanted = _distinct([x for x in run.flat if isinstance(x, Symbol)])
        if not wanted and not fed and not run.resets and self._starts(run):
            self.functions.append(Function(None, run, []))
            return None
        if iterating.kinds(run, self.only_initializes) or queues.only_feeds(run):
            self.functions.append(Function(None, run, []))
            return None
        if id(run) in self._set and (variable := _variable_of(wanted[0])) is not None:
            value = ast.Constant(np.asarray(_set_to(run)).item())
            code = ast.unparse(ast.Call(ast.Attribute(self.variable(variable), "assign"), [value], []))
            self.functions.append(Function(None, run, wanted, values=[code]))
            return None
        plan = task_of(self.items, run, wanted)
        if wanted and not plan.items and all(_variable_of(x) is not None for x in wanted):
            values = [ast.unparse(self.variable(_variable_of(x))) for x in wanted]
            self.functions.append(Function(None, run, wanted, values=values))
            return None
        self.converted += len(plan.items)
        return plan

    def _guarded(self, plan: FunctionTask) -> None:
        before = len(self.missing)
        try:
            self.functions.append(self._function(plan))
        except (KeyError, TypeError, ValueError, AttributeError, StopIteration) as error:
            del self.missing[before:]
            known = [i for i in plan.items if isinstance(i, OpItem) and unconverted.is_known(i.node.op)]
            why = "" if known else f"{type(error).__name__}: {error}"
            statement = Statement(ast.Return(self.not_converted([*known, *plan.items][0], why)))
            name = plan.name or self.scope.free(f"not_converted_{len(self.functions)}")
            named = [(f"fed_{i}", x) for i, x in enumerate(plan.given)]
            self.functions.append(Function(name, plan.run, plan.wanted, named, [], [statement]))

    def _function(self, plan: FunctionTask) -> Function:
        called = _only_call(plan)
        if called is not None:
            made = next(f for f in self.functions if f.name == called.name)
            return Function(called.name, plan.run, plan.wanted, made.parameters)
        if any(x.node.op is variable_handle for x in plan.given):
            raise ValueError("a variable is fed that several operations read, or that is assigned to")
        parameters = Scope(self.scope)
        named = [(parameters.free(self.names.tensor(f)), f) for f in plan.given]
        name = plan.name or self.scope.free(self._name(plan.run, plan.items, plan.wanted))
        arguments = {id(f): n for n, f in named}
        statements = Body(self, self.items, [*plan.items, *plan.reads], arguments, plan.wanted).write()
        is_called = plan.run is not None or any(_is_call_of(p, plan) for p in self._plans)
        converts = {name: x.dtype for name, x in named} if is_called else {}
        rest = CALLBACKS if any(isinstance(item, MinimizeItem) for item in plan.items) else ""
        steps = [item.call for item in plan.items if isinstance(item, StepItem)]
        given = [g if isinstance(g, Symbol) else None for step in steps for g, _ in step.pairs if g is not None]
        return Function(name, plan.run, plan.wanted, named, [], statements, converts, rest, given)

    def _starts(self, run: Run) -> bool:
        """Whether a run gives variables their initial values, and does nothing else."""
        return all(not isinstance(x, Symbol) and self.only_initializes(x) for x in run.flat)

    def only_initializes(self, operation: Any) -> bool:
        """Whether an operation sets variables to their initial values, and nothing else."""
        if operation.op is no_op:
            return all(self.only_initializes(c) for c in operation.control_inputs)
        return id(operation) in self._initializers

    def _name(self, run: Run | None, items: Sequence[Any], wanted: Sequence[Any]) -> str:
        """A name for the function of a set of fetches, or for a helper."""
        steps = [x for x in run.flat if not isinstance(x, Symbol)] if run is not None else []
        for step in steps:
            own = self.names.given_name(step)
            if own is not None and own != "optimizer":
                return own if "train" in own or "step" in own or "update" in own else f"run_{own}"
        if any(isinstance(item, StepItem) for item in items):
            return "train_step"
        if steps:
            return f"run_{snake(steps[0].name.rpartition('/')[2])}"
        if len(wanted) == 1 and wanted[0].node.op is read_variable:
            return f"assign_{identifier(ast.unparse(self.variable(wanted[0].node.inputs[0]))).strip('_')}"
        computed = [x for x in wanted if x.node.op is not read_variable]
        labels = [*dict.fromkeys(self.names.tensor(x, whole=True) for x in computed or wanted)]
        makers = (
            {self.names.function_of(item.outputs[0].node) for item in items if item.outputs} if run is None else set()
        )
        if len(labels) > 1 and len(makers) == 1 and (maker := makers.pop()) is not None:
            return maker
        verb = "compute" if computed else "run"
        if len(labels) > 1 and len(bases := {plain(label) for label in labels}) == 1:
            return f"{verb}_{bases.pop()}"
        if len(labels) > 2:
            return f"{verb}_{labels[-1] if run is None else labels[0]}_and_{len(labels) - 1}_more"
        return f"{verb}_{'_and_'.join(labels)}"

    # ---- what cannot be converted ------------------------------------------------------------------------------------

    def not_converted(self, item: Any, why: str = "") -> ast.expr:
        """The text in the place of an op that has no spelling."""
        node = item.node if isinstance(item, OpItem) else item.outputs[0].node
        where = getattr(node, "where", None)
        site = [Path(where[0]).name, where[1]] if isinstance(where, tuple) else None
        why = why or unconverted.why(node.op)
        self.missing.append({"op": getattr(node, "name", ""), "type": node.op.type, "site": site, "why": why})
        number = len(self.missing)
        return ast.Call(ast.Name("not_converted"), [ast.Constant(number), ast.Constant(f"{node.op.type}: {why}")], [])

    def unknown(self, x: Any) -> ast.expr:
        """The text in the place of a tensor that was never computed here."""
        item = OpItem(0, node=x.node)
        return self.not_converted(item)

    def variable_names(self) -> dict[str, str]:
        """The expressions for the graph's variables, by their names in the graph."""
        kept = [key for key in self._variables if key in self._made or self._is_slot_here(key)]
        return {self._variables[key].name: ast.unparse(self.variable(self._variables[key].handle)) for key in kept}

    def slots_made(self) -> list[str]:
        """The lines that have optimizers make what they keep, for those who look before the first step."""
        steps = {id(step.optimizer): step for step in self.capture.steps if id(step.optimizer) in self._code}
        pairs = [(self._code[key], [v for g, v in step.pairs if g is not None]) for key, step in steps.items()]
        codes = [(own, [ast.unparse(self.variable(v.handle)) for v in variables]) for own, variables in pairs]
        return [f"{own}.create_slots({self.listing(names)})" for own, names in codes]

    def listing(self, texts: Sequence[str]) -> str:
        """The text of a list of variables: its name, if it has one; lists that are a part of it with a star."""
        key = tuple(texts)
        return self._lists.get(key) or ast.unparse(ast.List(self._starred(key), ast.Load()))

    def owner(self, handle: Any) -> str:
        """The optimizer that keeps a variable; empty if none does."""
        optimizer, variable, name = self._slots.get(id(handle), (None, None, ""))
        return "" if variable is not None and not name else self._code.get(id(optimizer), "")

    def names_kept_by(self, optimizer: str) -> set[str]:
        """The names in the graph of all that an optimizer keeps."""
        return {v.name for v in self._variables.values() if self.owner(v.handle) == optimizer}

    def optimizers_made(self) -> dict[str, Any]:
        """By its name here: an optimizer of the graph, and how it was made."""
        kept = {id(x): x for x in self.capture.kept}
        made = self.capture.optimizers
        return {self._code[key]: (kept[key], made[key]) for key in made if key in self._code}

    def _is_slot_here(self, key: int) -> bool:
        optimizer, variable, _ = self._slots.get(key, (None, None, ""))
        return id(optimizer) in self._code and (variable is None or id(variable.handle) in self._made)

    def origin(self, statement: Statement) -> str:
        """Where in the program a statement comes from."""
        node = _node_of(statement.item, self.graph)
        where = getattr(node, "where", None)
        if not isinstance(where, tuple):
            return ""
        file = Path(where[0]).name
        place = f"line {where[1]}" if file == self.program.name else printable(f"{file}:{where[1]}")
        return f"{place}, {printing.MARK}" if provenance.marked(statement.code, self._run_calls) else place

    def _seeding(self, seed: int | None) -> Statement:
        """The line that starts random numbers with a seed of the graph; with None, only an operation's own counts."""
        return Statement(ast.Expr(ast.Call(path("tf.random.set_seed"), [literal(seed)], [])))

    def begun(self) -> str:
        """The line with which a session begins, if there are several and random numbers are drawn: they start anew."""
        drawn = self.renewed and any(draw.graph is self.graph for draw in self.capture.draws)
        return ast.unparse(self._seeding(self.graph.seed).code) if drawn else ""

    def text(self) -> list[str]:
        """The lines of variables and functions."""
        merged([*self.customs.values(), *self.functions])
        progress.say("looking for what is said twice")
        Shortening(self.functions, self.scope, self.names, self._lists, self._listed).shorten()
        merged(self.functions)
        for function in self.functions:
            function.statements = tidied(function.statements)
        leave_to_callees(self.functions)
        reuse_names(self.functions, self.scope)
        drawn = any(draw.graph is self.graph for draw in self.capture.draws) or self.takes
        seeding = [self._seeding(self.graph.seed)] if drawn and self.graph.seed is not None else []
        # where initializers run as the program's own lines say, what is drawn here does not count
        begins = self._begins and self._drew
        anew = self._seed != self.graph.seed or begins or (not self._resets and self._kinds[0] & self._kinds[1])
        ending = [self._seeding(self.graph.seed)] if anew else []
        lines = printing.checked("", [], [*seeding, *self.top, *ending], self.origin)
        for function in [*self.customs.values(), *self.functions]:
            if function.name is None or not function.statements:
                continue
            names, whole = (
                [name for name, _ in function.parameters],
                [*converted(function.converts), *function.statements],
            )
            names += [f"**{function.rest}"] * bool(function.rest)
            decorators = [function.decorator] if function.decorator else []
            lines += ["", "", *decorators, *printing.checked(function.name, names, whole, self.origin)]
        return lines


def _element(name: str, key: Any) -> ast.expr:
    return ast.Subscript(ast.Name(name), ast.Constant(key), ast.Load())


def _set_to(run: Run) -> Any:
    """The number that a run assigns to a variable and gives, if that is all; None otherwise.

    A line that does so for many numbers computes them itself: it becomes an assignment.
    """
    node = getattr(run.flat[0], "node", None) if len(run.flat) == 1 and not run.feeds else None
    before = list(getattr(node, "control_inputs", ()))
    if node is None or node.op is not read_variable or len(before) != 1 or before[0].op is not assign_variable:
        return None
    handle, value = before[0].inputs
    is_plain = handle is node.inputs[0] and value.node.op is constant and not before[0].control_inputs
    return value.node.params["value"] if is_plain and np.ndim(value.node.params["value"]) == 0 else None


def _variable_of(x: Any) -> Tensor | None:
    """The handle of the variable that a tensor reads, or is; None if it is computed."""
    if x.node.op is variable_handle:
        return x
    return x.node.inputs[0] if x.node.op is read_variable else None


def _node_of(item: Any, graph: Graph) -> Operation | None:
    """The first node of what an item stands for."""
    if isinstance(item, HelperItem):
        return None
    if item is None or isinstance(item, OpItem):
        return getattr(item, "node", None)
    return graph.nodes[item.call.first]


def _common_start(texts: Sequence[str]) -> str:
    """The beginning that all texts have in common."""
    pairs = zip(min(texts), max(texts), strict=False)
    return "".join(a for a, _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


def _only_call(plan: FunctionTask) -> FunctionTask | None:
    """The helper whose results a function returns, if it does nothing else."""
    if plan.run is None or len(plan.items) != 1 or not isinstance(plan.items[0], HelperItem):
        return None
    helper: FunctionTask = plan.items[0].plan
    fed = set(map(id, plan.given)) >= set(map(id, helper.given))  # what others feed may be a constant here
    return helper if fed and list(map(id, helper.wanted)) == list(map(id, plan.wanted)) else None


def _is_call_of(plan: FunctionTask, helper: FunctionTask) -> bool:
    return _only_call(plan) is helper


def _slots(capture: Capture, graph: Graph) -> dict[int, tuple[Any, Any, str]]:
    """The variables that optimizers keep: the optimizer, the variable each belongs to, and its name or number."""
    by_id: dict[int, tuple[Any, Any, str]] = {}
    for step in capture.steps:
        if step.graph is not graph:
            continue
        own = step.optimizer
        for name in own.get_slot_names():
            slots = [(v, own.get_slot(v, name)) for _, v in step.pairs]
            by_id |= {id(slot.handle): (own, v, name) for v, slot in slots if slot is not None}
        by_id |= {id(v.handle): (own, None, str(i)) for i, v in enumerate(own.kept_together())}
    for call in capture.averagings:
        own = call.averages
        by_id |= {id(own.average(v).handle): (own, v, "") for v in call.variables if call.graph is graph}
    return by_id


def _distinct(xs: Sequence[Any]) -> list[Any]:
    return list({id(x): x for x in xs}.values())


def _dtype(array: np.ndarray) -> DType:
    from engine.core.dtypes import as_dtype

    return as_dtype(array.dtype)
