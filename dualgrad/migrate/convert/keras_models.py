"""A Keras model in place of the functions of tape code: where the network is a chain of layers, and one step trains it.

The function that trains is followed back from its loss to what was fed: each layer must be one that Keras has, and
each variable belong to one of them. Then the model is made, given the program's first weights and compiled, and the
program's own loop calls ``train_on_batch``. What is not like that is refused, with the way out.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dualgrad.migrate.convert.edits import Unsafe, name_of
from dualgrad.migrate.convert.jax_functions import executed
from dualgrad.migrate.convert.literals import substituted
from dualgrad.migrate.convert.printing import unparsed
from engine.core.variable import Variable

_WAY_OUT = "--to tensorflow writes it as it is"
_ACTIVATIONS = {
    "nn.relu": "relu", "tanh": "tanh", "sigmoid": "sigmoid", "nn.elu": "elu", "nn.selu": "selu",
    "nn.softplus": "softplus", "nn.relu6": "relu6",
}  # fmt: skip
_LOSSES = {
    "nn.sigmoid_cross_entropy_with_logits": "BinaryCrossentropy(from_logits=True)",
    "nn.softmax_cross_entropy_with_logits": "CategoricalCrossentropy(from_logits=True)",
    "nn.sparse_softmax_cross_entropy_with_logits": "SparseCategoricalCrossentropy(from_logits=True)",
}
_OPTIMIZERS: dict[str, tuple[str, dict[str, str], str]] = {
    "GradientDescentOptimizer": ("SGD", {}, ""),
    "MomentumOptimizer": ("SGD", {"momentum": "momentum", "use_nesterov": "nesterov"}, ""),
    # Keras has another default for what keeps the division apart from zero
    "AdamOptimizer": ("Adam", {"beta1": "beta_1", "beta2": "beta_2", "epsilon": "epsilon"}, "epsilon=1e-08"),
}
_POOLS = {"nn.max_pool2d": "MaxPooling2D", "nn.avg_pool2d": "AveragePooling2D"}


@dataclass
class _Layer:
    """A layer: its class, arguments, variables, and what goes in."""

    kind: str
    arguments: list[str]
    variables: list[ast.expr]
    activation: str = ""

    @property
    def code(self) -> str:
        arguments = [*self.arguments, *([f'activation="{self.activation}"'] if self.activation else [])]
        bias = ["use_bias=False"] if len(self.variables) == 1 else []
        return f"tf.keras.layers.{self.kind}({', '.join([*arguments, *bias])})"


def written(conversion: Any) -> str:
    """The text of a converted program with a Keras model; its map is changed to fit.

    Raises
    ------
    Unsafe
        If the network is no chain of layers, or the program no loop around one step.
    """
    if not conversion.map.get("whole"):
        why = conversion.map.get("why", "only functions were asked for")
        raise Unsafe(f"a Keras model is trained by the program's own loop, which is not here ({why}); {_WAY_OUT}")
    return _Model(conversion).text()


class _Model:
    """Reads the functions of a module, and writes the model."""

    def __init__(self, conversion: Any) -> None:
        self.conversion = conversion
        self.tree = ast.parse(conversion.text)
        self.namespace = executed(conversion)
        self.functions = {s.name: s for s in self.tree.body if isinstance(s, ast.FunctionDef)}
        steps = [f for f in self.functions.values() if _calls(f, "apply_gradients") or _calls(f, "minimize")]
        if len(steps) != 1:
            raise Unsafe(f"it has {len(steps)} functions that train, and a Keras model has one step; {_WAY_OUT}")
        (self.step,) = steps
        self.values = self._followed(self.step)
        self.target, self.sources, self.apply = self._asked()
        self.loss, self.labels, self.logits = self._loss()
        given = self.values.get("return")
        if given is not None and ast.dump(given) != ast.dump(self._expanded(self.target, self.values)):
            raise Unsafe(f"{self.step.name} gives more than its loss, which train_on_batch does not; {_WAY_OUT}")
        self.layers: list[_Layer] = []
        self.input = self._chain(self.logits)

    # ---- reading -----------------------------------------------------------------------------------------------------

    def _followed(self, function: ast.FunctionDef) -> dict[str, ast.expr]:
        """By name, what stands for it in terms of what the function is given, and of variables."""
        values: dict[str, ast.expr] = {}
        todo = list(function.body)
        while todo:
            statement = todo.pop(0)
            if isinstance(statement, ast.With):
                todo = [*statement.body, *todo]
            elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                values[statement.targets[0].id] = self._expanded(statement.value, values)
            elif isinstance(statement, ast.Return) and statement.value is not None:
                values["return"] = self._expanded(statement.value, values)
            elif isinstance(statement, (ast.For, ast.FunctionDef)):
                raise Unsafe(f"{function.name} has a loop or a function inside, which is no layer of Keras; {_WAY_OUT}")
        return values

    def _expanded(self, node: ast.expr, values: dict[str, ast.expr]) -> ast.expr:
        outer = self

        class Expand(ast.NodeTransformer):
            def visit_Name(self, node: ast.Name) -> ast.expr:
                return copy.deepcopy(values.get(node.id, node))

            def visit_Call(self, node: ast.Call) -> ast.expr:
                made = ast.Call(
                    node.func, [self.visit(a) for a in node.args], [self._keyword(k) for k in node.keywords]
                )
                if name_of(node.func) in ("convert_to_tensor", "stop_gradient"):
                    first: ast.expr = made.args[0]
                    return first
                if isinstance(node.func, ast.Name) and (called := outer.functions.get(node.func.id)):
                    return outer._inside(called, made.args)
                return made

            def _keyword(self, keyword: ast.keyword) -> ast.keyword:
                return ast.keyword(keyword.arg, self.visit(keyword.value))

        made: ast.expr = Expand().visit(copy.deepcopy(node))
        return made

    def _inside(self, function: ast.FunctionDef, arguments: Sequence[ast.expr]) -> ast.expr:
        """The result of a call of a function of the module."""
        inside = self._followed(function).get("return", ast.Constant(None))
        made: ast.expr = substituted(inside, dict(zip([a.arg for a in function.args.args], arguments, strict=False)))
        return made

    def _asked(self) -> tuple[ast.expr, ast.expr, ast.Call]:
        """The loss, the variables, and the call of the optimizer."""
        gradients, applied = _calls(self.step, "gradient"), _calls(self.step, "apply_gradients")
        if len(gradients) == len(applied) == 1 and not applied[0].keywords:
            return gradients[0].args[0], gradients[0].args[1], applied[0]
        minimized = [] if applied else _calls(self.step, "minimize")
        named = {k.arg: k.value for call in minimized for k in call.keywords}
        if len(minimized) == 1 and set(named) == {"var_list"} and isinstance(minimized[0].args[0], ast.Lambda):
            return minimized[0].args[0].body, named["var_list"], minimized[0]
        raise Unsafe(f"{self.step.name} does more than one step of one loss, or counts its steps; {_WAY_OUT}")

    def _loss(self) -> tuple[str, str, ast.expr]:
        """The loss of Keras, the parameter of the labels, and the output of the network."""
        parameters = [a.arg for a in self.step.args.args]
        loss = self._expanded(self.target, self.values)
        if (
            isinstance(loss, ast.Call)
            and name_of(loss.func) == "reduce_mean"
            and len(loss.args) == 1
            and not loss.keywords
        ):
            inner = loss.args[0]
            pair: list[ast.expr] = []
            name = ""
            if isinstance(inner, ast.Call) and name_of(inner.func) in _LOSSES and len(inner.args) == 2:
                name, pair = _LOSSES[name_of(inner.func)], inner.args
            elif isinstance(inner, ast.Call) and name_of(inner.func) == "square":
                apart = inner.args[0]
                if isinstance(apart, ast.BinOp) and isinstance(apart.op, ast.Sub):
                    name, pair = "MeanSquaredError()", [apart.left, apart.right]
            labels = [x for x in pair if isinstance(x, ast.Name) and x.id in parameters]
            if len(labels) == 1 and len(parameters) == 2:
                (other,) = [x for x in pair if x is not labels[0]]
                return name, labels[0].id, other
        raise Unsafe(
            f"the loss of {self.step.name} is none of Keras' for an output and labels that were fed; {_WAY_OUT}"
        )

    def _shape(self, variable: ast.expr) -> list[int] | None:
        """The shape of a variable of the module; None if it is something else."""
        try:
            found = eval(ast.unparse(variable), self.namespace)  # of the module, which has been executed
        except Exception:  # noqa: BLE001 - then it is none
            return None
        return [int(n) for n in found.shape] if isinstance(found, Variable) else None

    def _chain(self, node: ast.expr) -> list[Any]:
        """Add the layers up to an expression; the shape of what goes in without the rows."""
        if isinstance(node, ast.Name) and node.id in {a.arg for a in self.step.args.args} - {self.labels}:
            return []
        bias: list[ast.expr] = []
        whole = node
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and len(self._shape(node.right) or "no") == 1:
            bias, node = [node.right], node.left
        name = name_of(node.func) if isinstance(node, ast.Call) else ""
        if isinstance(node, ast.Call) and name in ("matmul", "nn.conv2d") and (shape := self._shape(node.args[1])):
            return self._weighted(node, name, shape, bias)
        if isinstance(node, ast.Call) and not bias and (name in _ACTIVATIONS or name in _POOLS or name == "reshape"):
            given = self._chain(node.args[0])
            if name in _POOLS:
                said = {str(k.arg): unparsed(k.value) for k in node.keywords}
                arguments = [said["ksize"], f"strides={said['strides']}", f"padding={said['padding'].lower()}"]
                self.layers.append(_Layer(_POOLS[name], arguments, []))
            elif name == "reshape":
                target = [ast.literal_eval(x) for x in getattr(node.args[1], "elts", [])]
                if target[:1] != [-1]:
                    raise Unsafe(f"{unparsed(whole)} changes the rows; {_WAY_OUT}")
                size = 1
                for n in target[1:]:
                    size *= n
                given = given or ([size] if not self.layers else given)
                self.layers.append(_Layer("Reshape", [repr(tuple(target[1:]))], []))
            elif self.layers and self.layers[-1].variables and not self.layers[-1].activation:
                self.layers[-1].activation = _ACTIVATIONS[name]
            else:
                self.layers.append(_Layer("Activation", [f'"{_ACTIVATIONS[name]}"'], []))
            return given
        raise Unsafe(f"{unparsed(whole)[:70]} is no layer of Keras that follows another; {_WAY_OUT}")

    def _weighted(self, node: ast.Call, name: str, shape: list[int], bias: list[ast.expr]) -> list[Any]:
        given = self._chain(node.args[0])
        said = {str(k.arg): unparsed(k.value) for k in node.keywords}
        if name == "matmul":
            if said:
                raise Unsafe(f"{unparsed(node)[:70]} multiplies by a transpose, which is no layer of Keras; {_WAY_OUT}")
            given = given or ([shape[0]] if not self.layers else given)
            self.layers.append(_Layer("Dense", [str(shape[1])], [node.args[1], *bias]))
            return given
        given = given or ([None, None, shape[2]] if not self.layers else given)
        arguments = [
            str(shape[3]),
            repr(tuple(shape[:2])),
            f"strides={said['strides']}",
            f"padding={said['padding'].lower()}",
        ]
        self.layers.append(_Layer("Conv2D", arguments, [node.args[1], *bias]))
        return given

    # ---- writing -----------------------------------------------------------------------------------------------------

    def _optimizer(self) -> tuple[ast.Assign, str]:
        """The statement that makes the optimizer, and that of Keras."""
        assert isinstance(self.apply.func, ast.Attribute)
        name = ast.unparse(self.apply.func.value)
        made = [s for s in self.tree.body if isinstance(s, ast.Assign) and ast.unparse(s.targets[0]) == name]
        call = made[0].value if len(made) == 1 else None
        kind = name_of(call.func).rpartition(".")[2] if isinstance(call, ast.Call) else ""
        known = _OPTIMIZERS.get(kind)
        if known is None or not isinstance(call, ast.Call):
            raise Unsafe(f"{kind or name} is no optimizer that Keras has alike; {_WAY_OUT}")
        ours, keywords, more = known
        arguments = [unparsed(a) for a in call.args]
        arguments += [f"{keywords.get(str(k.arg), k.arg)}={unparsed(k.value)}" for k in call.keywords]
        if more and not any(a.startswith(more.partition("=")[0]) for a in arguments):
            arguments.append(more)
        if not all(isinstance(a, ast.Constant) for a in [*call.args, *[k.value for k in call.keywords]]):
            raise Unsafe(f"the rate of {kind} is no number; {_WAY_OUT}")
        return made[0], f"tf.keras.optimizers.{ours}({', '.join(arguments)})"

    def text(self) -> str:
        """The whole program."""
        made, optimizer = self._optimizer()
        variables = [v for layer in self.layers for v in layer.variables]
        names = [unparsed(v) for v in variables]
        trained = eval(ast.unparse(self.sources), self.namespace)
        if len(set(names)) < len(names) or len(names) != len(trained if isinstance(trained, list) else [trained]):
            raise Unsafe(f"a variable is used twice, or not trained; {_WAY_OUT}")
        lines = self.conversion.text.split("\n")
        build = [
            "model = tf.keras.Sequential(",
            "    [",
            f"        tf.keras.Input(({', '.join(map(str, self.input))},)),",
        ]
        build += [f"        {layer.code}," for layer in self.layers] + ["    ]", ")"]
        several = ", ".join(names)
        build += [
            f"model.set_weights([v.numpy() for v in ({several}{',' * (len(names) == 1)})])",
            f"{several}{',' * (len(names) == 1)} = model.weights",
        ]
        build += [f"model.compile({optimizer},", f"              loss=tf.keras.losses.{self.loss})"]
        edits: dict[int, list[str] | None] = {}
        last = max(
            s.end_lineno or 0 for s in self.tree.body if isinstance(s, ast.Assign) and s.lineno < self.step.lineno
        )
        _drop(edits, made)
        edits[last] = [*([] if made.end_lineno == last else [lines[last - 1]]), *build]
        _drop(edits, self.step)
        called = [n for n in ast.walk(self.tree) if isinstance(n, ast.Call) and ast.unparse(n.func) == self.step.name]
        text = "\n".join(_joined(lines, edits, self._calls_of(called, lines)))
        self._change()
        return _unused(text)

    def _calls_of(self, called: list[ast.Call], lines: list[str]) -> dict[int, str]:
        """Lines in which the step is called, with what stands there now."""
        found: dict[int, str] = {}
        swap = self.step.args.args[0].arg == self.labels
        for call in called:
            whole = next((n for n in ast.walk(self.tree) if _is_numpy_of(n, call)), call)
            assert isinstance(whole, ast.Call)
            if whole.lineno != whole.end_lineno or len(call.args) != 2:
                raise Unsafe(f"{self.step.name} is called over several lines; {_WAY_OUT}")
            given = [unparsed(a) for a in (reversed(call.args) if swap else call.args)]
            line = found.get(call.lineno, lines[call.lineno - 1]).encode()
            new = f"model.train_on_batch({', '.join(given)})".encode()
            found[call.lineno] = (line[: whole.col_offset] + new + line[whole.end_col_offset :]).decode()
        return found

    def _change(self) -> None:
        for f in self.conversion.map["functions"]:
            if f["name"] == self.step.name:
                f["name"] = "model.train_on_batch"
                order = sorted(f["feeds"].items(), key=lambda pair: pair[0] == self.labels)
                f["feeds"] = dict(order)


def _calls(function: ast.FunctionDef, method: str) -> list[ast.Call]:
    return [
        n
        for n in ast.walk(function)
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr == method
    ]


def _is_numpy_of(node: ast.AST, call: ast.Call) -> bool:
    func = node.func if isinstance(node, ast.Call) else None
    return isinstance(func, ast.Attribute) and func.attr == "numpy" and func.value is call


def _drop(edits: dict[int, list[str] | None], statement: ast.stmt) -> None:
    for number in range(statement.lineno, (statement.end_lineno or statement.lineno) + 1):
        edits[number] = None


def _joined(lines: list[str], edits: dict[int, list[str] | None], calls: dict[int, str]) -> list[str]:
    found: list[str] = []
    for number, line in enumerate(lines, 1):
        new = edits.get(number, [calls.get(number, line)])
        for text in new or []:
            if text or found[-2:] != ["", ""]:
                found.append(text)
    return found


def _unused(text: str) -> str:
    """A text without lists of variables at the top that nothing reads."""
    tree = ast.parse(text)
    read = [n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
    lines: list[str | None] = list(text.split("\n"))
    for s in tree.body:
        if not isinstance(s, ast.Assign) or not isinstance(s.value, ast.List) or ast.unparse(s.targets[0]) in read:
            continue
        if all(isinstance(e, (ast.Name, ast.Starred)) for e in s.value.elts) and len(s.targets) == 1:
            for number in range(s.lineno, (s.end_lineno or s.lineno) + 1):
                lines[number - 1] = None
    return "\n".join(line for line in lines if line is not None)
