"""Parts of TensorFlow's API that dualgrad has, asked of the packages themselves: names, arguments, results."""

from __future__ import annotations

import dis
import functools
import inspect
import re
import types
import typing
from collections.abc import Callable
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import numpy as np

from dualgrad.extras.module import Module
from dualgrad.frontend.absent import reason
from dualgrad.frontend.differences import difference
from dualgrad.frontend.signatures import engine_function
from dualgrad.migrate.check.values import NOTHING, Fixed, Instance, Many, Unknown, Values, union
from dualgrad.migrate.hook import ROOTS, find
from engine.core.eager import EagerTensor
from engine.core.op import Op
from engine.core.operands import Operand, Operation
from engine.core.value import Value as Tensor
from engine.core.variable import Variable
from engine.runtime.packages import PACKAGES
from graph_api.graphs.tensor import Operation as GraphOperation
from graph_api.graphs.tensor import Tensor as GraphTensor
from optim.optimizer import Optimizer

NUMPY = frozenset({"run", "eval", "numpy", "predict", "predict_on_batch", "get_weights", "get_value", "get_config"})
"""Methods that give what is no longer TensorFlow's."""


WORDS = (
    *(("operation", "Operation"), ("variable", "Variable"), ("tensor", "Tensor")),
    *(("gradient", "Tensor"), ("gradient", "IndexedSlices"), ("IndexedSlices", "IndexedSlices")),
)
"""Words of a documentation, and what they mean."""
PLAIN = (str, bytes, int, float, list, tuple, dict, set, np.ndarray, np.random.RandomState)
"""Classes that anything may be of: their methods do not tell."""
COMPOUND = (
    *("nn.rnn_cell.LSTMStateTuple", "SparseTensor", "IndexedSlices", "RaggedTensor", "TensorArray", "Variable"),
    *("distributions.Normal", "keras.Model", "data.Dataset", "train.Saver", "NodeDef", "GraphDef"),
)
"""Classes of what programs handle beside tensors, in the same variables."""


class Surface:
    """The names of one API.

    Parameters
    ----------
    version : {"1", "2", "eager"}
        As `dualgrad.migrate.hook.install` takes it.
    """

    def __init__(self, version: str) -> None:
        self.version = version
        self.tensor: type = GraphTensor if version == "1" else EagerTensor
        self._found: dict[str, Any] = {}

    def has(self, path: str) -> bool:
        """Whether ``tf.<path>`` is here."""
        return self.look(path) is not MISSING

    def look(self, path: str) -> Any:
        """The object that ``tf.<path>`` is; `MISSING` if it is not here."""
        if path not in self._found:
            try:
                self._found[path] = find(path, self.version)
            except AttributeError:
                self._found[path] = self._inside(path)
        return self._found[path]

    def _inside(self, path: str) -> Any:
        """A name in one of TensorFlow's own modules: ``python.framework.ops.RegisterGradient``."""
        parent, _, name = path.rpartition(".")
        module = self.look(parent) if parent else MISSING
        is_there = module is not MISSING and name in dir(module)
        return getattr(module, name) if is_there else MISSING

    def verdict(self, path: str) -> tuple[str, str]:
        """The verdict on a name below ``tf.`` and what there is to say."""
        if self.has(path):
            said = difference(path.removeprefix("compat.v1.").removeprefix("compat.v2."))
            return ("differs", said) if said else ("same", "")
        return "missing", self.why_not(path)

    def why_not(self, path: str) -> str:
        """Why a name is not here and what to use instead."""
        known = reason(path)
        if known:
            return known
        other = "2" if self.version == "1" else "1"
        if path and Surface.of(other).has(path):
            return f"it is TensorFlow {other}'s, and the program was judged to be for the other one (--api {other})"
        parent, _, name = path.rpartition(".")
        if not self.has(parent):
            return self.why_not(parent)
        near = get_close_matches(name, [n for n in dir(self.look(parent)) if not n.startswith("_")], 1, 0.8)
        hint = f"; did you mean tf.{f'{parent}.' if parent else ''}{near[0]}?" if near else ""
        return f"dualgrad has no such name (yet){hint}"

    @staticmethod
    @functools.cache
    def of(version: str) -> Surface:
        """That of a version, made once."""
        return Surface(version)

    @functools.cached_property
    def telling(self) -> dict[str, type]:
        """Methods that tell what has them: only tensors, variables or shapes do."""
        common = {name for plain in PLAIN for name in dir(plain)}
        words: dict[str, type] = {}
        for kind in (self.tensor, self.look("Variable"), self.look("TensorShape")):
            for name in dir(kind):
                if not name.startswith("_") and name not in common and callable(getattr(kind, name, None)):
                    words.setdefault(name, kind)
        optimizer = self.look("keras.optimizers.Optimizer")
        if isinstance(optimizer, type):
            words.update(dict.fromkeys(("apply_gradients", "minimize"), optimizer))
        return words

    # ---- objects -----------------------------------------------------------------------------------------------------

    def is_tensor(self, kind: type) -> bool:
        """Whether operators on such objects give tensors."""
        return issubclass(kind, (Tensor, Variable))

    def has_attribute(self, kind: type, name: str) -> bool | None:
        """Whether objects of a class have it; None if only running tells."""
        if hasattr(kind, name) or name in instance_attributes(kind):
            return True
        if issubclass(kind, Optimizer):
            return bool(kind.version_1(name))
        if issubclass(kind, Module) and any(self.has_attribute(k, name) for k in kind.__subclasses__()):
            return True  # what hands a layer out does not say which one it is
        # values have a `__getattr__` that says what to use instead
        fills = getattr(kind, "__getattr__", None) is not None and not self.is_tensor(kind)
        return None if fills or issubclass(kind, types.ModuleType) else False

    @functools.cached_property
    def elsewhere(self) -> frozenset[str]:
        """The attributes of what programs take for tensors: arrays, containers, tuples of states, sparse tensors."""
        kinds = (*PLAIN, *(kind for path in COMPOUND if isinstance(kind := self.look(path), type)))
        return frozenset(name for kind in kinds for name in dir(kind))

    def attribute(self, kind: type, name: str) -> Values:
        """The value of the attribute, unless it is a method."""
        member = inspect.getattr_static(kind, name, None)
        getter = member.fget if isinstance(member, property) else getattr(member, "func", None)
        if getter is not None:
            return self.result(getter, f"{kind.__name__}.{name}")
        for base in kind.__mro__:
            if name in (annotations := inspect.get_annotations(base)):
                meant = _evaluated(annotations[name], vars(import_module(base.__module__)))
                return self.values_of(meant, frozenset({Unknown(f"{kind.__name__}.{name}")}))
        return NOTHING if member is not None else frozenset({Unknown(f"{kind.__name__}.{name}")})

    def result(self, function: Callable[..., Any], source: str, owner: type | None = None) -> Values:
        """The result of a function, or of a method of `owner`: by its annotation, or else its documentation."""
        if source.rpartition(".")[2] in NUMPY:
            return NOTHING
        engine = engine_function(function)
        tensor: Values = frozenset({Instance(self.tensor)})
        if isinstance(engine, Op):
            return frozenset({Many(tensor)}) if engine.multi else tensor
        inner = _unwrapped(engine if engine is not None else function)
        annotation = getattr(inner, "__annotations__", {}).get("return", Any)
        meant = _evaluated(annotation, getattr(inner, "__globals__", {}))
        left_open = tensor if engine is not None else self._documented(inspect.getdoc(inner) or "", f"{source}()")
        of_arrays = engine is not None and meant is np.ndarray  # a tensor, once a front end has made it public
        return tensor if of_arrays else self.values_of(meant, left_open, owner)

    def _documented(self, doc: str, source: str) -> Values:
        """The result as the documentation says it, for where the annotation leaves it open."""
        section = re.search(r"^Returns\n-+\n((?:.+\n?)+)", doc, re.MULTILINE)
        said = section.group(1) if section else ""
        names = {name for word, name in WORDS if re.search(rf"\b{word}s?\b", said, re.IGNORECASE)}
        kinds = {self.tensor if name == "Tensor" else self.look(name) for name in names}
        if kinds:
            return frozenset(Instance(kind) for kind in kinds if isinstance(kind, type))
        plain = re.match(r"(array|ndarray|int|float|str|bool|dict)\b", said)
        return NOTHING if plain else frozenset({Unknown(source)})

    def values_of(self, annotation: Any, left_open: Values, owner: type | None = None) -> Values:
        """The values that an annotation allows; `left_open` for ``Any``."""
        if annotation in (Any, object) or isinstance(annotation, (str, typing.TypeVar)):
            return left_open
        if annotation is typing.Self and owner is not None:
            return frozenset({Instance(owner)})
        if annotation is None or annotation is type(None):
            return NOTHING
        origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
        if origin in (typing.Union, types.UnionType):
            return union(*(self.values_of(a, left_open, owner) for a in inner))
        if origin is tuple and inner and inner[-1] is not Ellipsis:
            return frozenset({Fixed(tuple(self.values_of(a, left_open, owner) for a in inner))})
        if origin is not None and isinstance(origin, type) and hasattr(origin, "__iter__"):
            wanted = inner[-1:] if issubclass(origin, dict) else inner[:1]
            return frozenset({Many(union(*(self.values_of(a, left_open, owner) for a in wanted)))})
        if isinstance(origin, type) and hasattr(origin, "__enter__"):
            return frozenset({Many(self.values_of(inner[0], left_open, owner))})
        return self._of_class(annotation) if isinstance(annotation, type) else NOTHING

    def _of_class(self, kind: type) -> Values:
        """An object of it, if it is one of ours; of the front end's tensors where it stands for all tensors."""
        if kind is Operand or (issubclass(kind, Tensor) and issubclass(self.tensor, kind)):
            return frozenset({Instance(self.tensor)})
        variable = self.look("Variable")
        if issubclass(kind, Variable) and issubclass(variable, kind):
            return frozenset({Instance(variable)})
        kind = GraphOperation if kind is Operation else kind
        ours = kind.__module__.partition(".")[0] in PACKAGES
        return frozenset({Instance(kind)}) if ours else NOTHING


def tensorflow_path(module: str) -> str | None:
    """``"nn"`` for ``"tensorflow.nn"``; None for a module that is not TensorFlow's."""
    root, _, inner = module.partition(".")
    if root not in ROOTS:
        return None
    return ".".join(filter(None, (ROOTS[root], inner)))


MISSING: Any = object()
"""The answer of `Surface.look` for a name that is not here."""


def _unwrapped(function: Any) -> Any:
    """The function that decorators wrap; `unittest.mock.call`, which has every attribute, wraps nothing."""
    try:
        return inspect.unwrap(function)
    except ValueError:
        return function


def _evaluated(annotation: Any, names: dict[str, Any]) -> Any:
    """The type that an annotation says; itself where its names are for type checkers only."""
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, dict(names))
    except (NameError, TypeError, AttributeError, SyntaxError):
        return annotation


@functools.cache
def instance_attributes(kind: type) -> frozenset[str]:
    """The attributes that methods of a class give to its objects."""
    names: set[str] = set()
    for base in kind.__mro__:
        names.update(inspect.get_annotations(base))
        for value in vars(base).values():
            code = getattr(_unwrapped(value) if callable(value) else None, "__code__", None)
            if code is not None:
                names.update(i.argval for i in dis.get_instructions(code) if i.opname == "STORE_ATTR")
    return frozenset(names)
