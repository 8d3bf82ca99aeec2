"""``tf.function``: a function that is recorded when it is first called, and from then on runs as a program.

Like TensorFlow's, it runs its Python code once for each combination of shapes, dtypes and Python arguments. Where that
would change what it computes it goes on to run as Python (`Function.explain` says why): where it looks at the contents
of a tensor, prints, or hands out tensors by other ways than its result.
"""

from __future__ import annotations

import dataclasses
import functools
import gc
import inspect
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, Generic, ParamSpec, TypeVar, overload

import numpy as np

from dualgrad.autograph.conversion import converting, current, why_not
from dualgrad.platform.config import functions_run_eagerly
from engine.closed.call_record import VaryingShape, are_plain, no_longer, standing_in
from engine.closed.function import plain
from engine.closed.traced_function import TracedFunction
from engine.core import nest
from engine.core.aval import Aval, common_shape
from engine.core.composite import Composite
from engine.core.detach import effect
from engine.core.dtypes import DType
from engine.core.eager import EagerTensor
from engine.core.function_tape import FunctionTape
from engine.core.lazy_tensor import TENSORS, LazyTensor, putting_off, settle
from engine.core.op import distinct
from engine.core.tape import NOTHING, Tape, active, record, references
from engine.core.tensor_shape import TensorShape
from engine.core.value import Value, dtype_of, shape_of
from engine.ops.shape import identity
from engine.runtime.cache import Cache
from engine.runtime.collector import uncollected
from engine.runtime.faces import Shown
from engine.runtime.public_names import is_named
from tape_api.autograph import HOST
from tape_api.control_flow.tensor_array import TensorArray
from tape_api.functions import symbolic
from tape_api.functions.concrete import ConcreteFunction, spec_of
from tape_api.functions.open_function import OpenFunction
from tape_api.random import Streams, inside, is_inside, is_split
from tape_api.tensor import TensorSpec, convert_to_tensor
from tape_api.variable import Variable

_KEPT = 256
"""Combinations of arguments for which a function keeps what it has recorded."""
_KEPT_AS_THEY_ARE = (TensorSpec, bool, int, float, str, type(None), np.generic, DType, TensorShape)
"""Arguments that are saved with a function."""
_AT_ONCE = 16
"""So many are recorded when they are first seen; more of them when they are seen again."""


P = ParamSpec("P")
R = TypeVar("R")


@overload
def function(func: Callable[P, R], input_signature: Any = None, **options: Any) -> Function[P, R]: ...
@overload
def function(
    func: None = None, input_signature: Any = None, **options: Any
) -> Callable[[Callable[P, R]], Function[P, R]]: ...
def function(
    func: Callable[..., Any] | None = None,
    input_signature: Any = None,
    autograph: bool = True,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    **ignored: Any,
) -> Callable[..., Any]:
    """`func`, recorded when it is first called and run as a program from then on.

    Its Python code runs once for each combination of shapes and dtypes of the tensors, and of values of the other
    arguments: what it does besides computing happens then, as in TensorFlow. A function that is no program (see
    `Function.explain`) runs as it is each time. A tape that records when it is called sees the same ops. The numbers
    are the same to the bit. Arrays among the arguments and numbers among the results become tensors.

    Parameters
    ----------
    func : callable
    input_signature : sequence of TensorSpec, or of structures of them, optional
        What the arguments must be like. Those that are no tensors are converted to the dtypes it says.
    autograph : bool
        Whether branches and loops over tensors become those of the program (`tf.autograph`).
    jit_compile
        Accepted for compatibility.
    reduce_retracing : bool
        Whether tensors of another shape than before are taken for one whose dimensions that differ are left open.

    Raises
    ------
    TypeError
        When the function is called with arguments that do not fit `input_signature`.

    Examples
    --------
    >>> import tape_api as tf
    >>> w = tf.Variable(3.0)
    >>> @tf.function
    ... def step(x):
    ...     print("runs as Python")
    ...     with tf.GradientTape() as tape:
    ...         loss = (w * x - 1.0) ** 2
    ...     w.assign_sub(0.1 * tape.gradient(loss, w))
    ...     return loss
    >>> [float(step(tf.constant(1.0))) for _ in range(3)]
    runs as Python
    [4.0, 2.559999704360962, 1.6383999586105347]
    """
    if func is None:
        options = {"autograph": autograph, "reduce_retracing": reduce_retracing}
        return functools.partial(function, input_signature=input_signature, **options)
    nest.require_callable("function", "func", func)
    return Function(func, input_signature, autograph, reduce_retracing)


class Function(Shown, Generic[P, R]):
    """A function made by `function`.

    Attributes
    ----------
    python_function : callable
    input_signature : sequence of TensorSpec, or None
    takes_object : bool
        Whether the first argument is the object whose method it is.
    """

    def __init__(
        self,
        func: Callable[..., Any],
        input_signature: Any = None,
        autograph: bool = True,
        reduce_retracing: bool = False,
    ) -> None:
        functools.update_wrapper(self, func)
        self.python_function, self.input_signature, self.autograph = func, input_signature, autograph
        self._reduces = reduce_retracing
        self._is_open = reduce_retracing or any(
            isinstance(s, TensorSpec) and not s.shape.is_fully_defined() for s in nest.flatten(input_signature)
        )
        self._open: Cache[Any, OpenFunction | str | list[Any]] = Cache(
            "functions of open shapes",
            _KEPT,
            key="the function; structure, dtypes of tensors, values of other arguments",
        )
        self._known: Cache[Any, TracedFunction | OpenFunction | str] = Cache(
            "recorded functions",
            _KEPT,
            key="the function; structure, shapes, dtypes, layouts of tensors, values of other arguments",
        )
        self._streams: dict[Any, Streams] = {}
        self._seen: dict[int, int] = {}
        self._recorded = 0
        self._without_key = ""
        self._asks = symbolic.asks(func)
        self._methods: dict[int, tuple[weakref.ref[Any], Function[..., Any]]] = {}
        self._calls: Cache[Any, Any] = Cache("arguments of functions", _KEPT, key="the function; what calls were like")
        code: Any = getattr(func, "__code__", None)
        is_free = code is not None and not inspect.ismethod(func)
        self.takes_object = is_free and code.co_varnames[: code.co_argcount][:1] == ("self",)

    def __call__(self, *given: P.args, **named: P.kwargs) -> R:
        """Call the function."""
        args: tuple[Any, ...] = given
        kwargs: dict[str, Any] = named
        specs: dict[int, TensorSpec] = {}
        if self.input_signature is not None:
            args, kwargs, specs = _fitting(self.python_function, self.input_signature, args, kwargs)
        if kwargs or not _ARE_TENSORS.issuperset(map(type, args)):
            args, kwargs = _converted((args, kwargs), (np.ndarray, np.generic))
        if active.function is not None:
            return self._as_python(args, kwargs, Streams())
        arguments: list[EagerTensor] = []
        try:
            key = _described((args, kwargs) if kwargs else args, arguments, {})
            kept = self._known.get(key)
        except (TypeError, RecursionError) as error:
            self._without_key = str(error)
            return self._as_python(args, kwargs, self._streams_of(None))
        if kept is None:
            self._note_call(key, args, kwargs)
        # a program would go on with its own random numbers, not with those of the call in the function around it
        program: Any = kept if isinstance(kept, _PROGRAMS) else None
        drawing = program is not None and program.draws and is_inside()
        if functions_run_eagerly() or active.instead is not None or drawing:
            return self._as_python(args, kwargs, self._streams_of(key))
        if program is None and (self._is_open or type(kept) is _Varying):
            opened = self._opened(key, kept, args, kwargs, arguments, specs)
            program = opened if isinstance(opened, OpenFunction) else None
        if program is not None:
            try:
                return program(arguments)
            except Exception:  # noqa: BLE001 - Python raises what it has to, at the line of the program
                return self._as_python(args, kwargs, self._streams_of(key))
        is_new = kept is None or (type(kept) is _UnderTapes and not active.tapes)
        if is_new and are_plain(active.tapes) and self._is_due(key):
            return self._record(key, args, kwargs, arguments)
        return self._as_python(args, kwargs, self._streams_of(key))

    def _note_call(self, key: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Keep what arguments were like, without the object whose method it is: that is what is saved."""
        if self.input_signature is None and self._calls.get(key) is None:
            like = nest.map_structure(spec_of, (args[self.takes_object :], kwargs))
            others = [x for x in nest.flatten(like) if not isinstance(x, _KEPT_AS_THEY_ARE)]
            # nothing is kept alive
            self._calls.put(key, f"a {type(others[0]).__name__}" if others else like)

    def calls(self) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
        """The arguments that it has been called with, with a `TensorSpec` for each tensor; none for a signature.

        Raises
        ------
        ValueError
            If it was called with something that files do not keep.
        """
        if self.input_signature is not None:
            return [((), {})]
        calls = list({repr(x): x for x in self._calls.values()}.values())
        other = next((x for x in calls if isinstance(x, str)), None)
        if other is not None:
            raise ValueError(
                f"the function {_name(self.python_function)} was called with {other}, which no file keeps: give it an "
                f"`input_signature`, or save a function of tensors, numbers and texts"
            )
        return calls

    def _streams_of(self, key: Any) -> Streams:
        """The random numbers of a combination of arguments, which go on from call to call."""
        if len(self._streams) > 16 * _KEPT:
            self._streams.clear()
        return self._streams.setdefault(key, Streams())

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else Method(self._method_of(instance), instance)

    def _method_of(self, instance: Any) -> Function[..., Any]:
        """The function as a method of an object: what it has recorded goes when the object goes."""
        key, methods = id(instance), self._methods
        if not _is_itself(instance):
            return self
        if key not in methods:
            try:
                alive = weakref.ref(instance, lambda _: methods.pop(key, None))
            except TypeError:
                return self
            made: Function[..., Any] = Function(
                self.python_function, self.input_signature, self.autograph, self._reduces
            )
            made.takes_object = True
            methods[key] = alive, made
        return methods[key][1]

    def _all(self) -> list[Function[..., Any]]:
        return [self, *[method for _, method in list(self._methods.values())]]

    def __reduce__(self) -> str | tuple[Any, ...]:
        if is_named(self, self.python_function):
            return self.python_function.__qualname__
        return Function, (self.python_function, self.input_signature, self.autograph, self._reduces)

    def __deepcopy__(self, memo: Any) -> Function[..., Any]:
        return self

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """The function for tensors of some shapes and dtypes, and for the values given of all other arguments.

        Parameters
        ----------
        *args, **kwargs
            Those of a call. A `TensorSpec` stands for a tensor; one that is not given is as ``input_signature`` says.

        Examples
        --------
        >>> import tape_api as tf
        >>> @tf.function
        ... def scale(x, twice=False):
        ...     return 2.0 * x if twice else x
        >>> f = scale.get_concrete_function(tf.TensorSpec([None]), twice=True)
        >>> f(tf.constant([1.0, 2.0])).numpy(), f.structured_outputs
        (array([2., 4.], dtype=float32), TensorSpec(shape=(None,), dtype=tf.float32, name=None))
        """
        made = ConcreteFunction(self, args, kwargs)
        given = made.structured_input_signature
        self._note_call(("concrete", _described(given, None, {})), *given)
        return made

    def open_for(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> OpenFunction | str:
        """The function called with symbols, for arguments in which a `TensorSpec` stands for each tensor.

        Returns
        -------
        OpenFunction, or str
            Or why there is none.
        """
        specs = [x for x in nest.flatten((args, kwargs)) if isinstance(x, TensorSpec)]
        key = "specs", _described((args, kwargs), None, {})
        found = self._open.get(key)
        if type(found) is OpenFunction or type(found) is str:
            return found
        avals = [Aval(s.shape.as_tuple() if s.shape.rank is not None else None, s.dtype) for s in specs]
        made = self._called_with_symbols(key, args, kwargs, specs, avals)
        if isinstance(made, OpenFunction):
            made.streams = self._streams_of(key)
        self._open.put(key, made)
        return made

    def call_open(self, made: OpenFunction, tensors: Sequence[Any], args: Any, kwargs: Any) -> Any:
        """A call of what `open_for` gave; of the function itself, where it must run as Python."""
        if active.function is not None:
            return self(*args, **kwargs)
        if functions_run_eagerly() or active.instead is not None:
            return self._as_python(args, kwargs, made.streams)
        try:
            return made(tensors)
        except Exception:  # noqa: BLE001 - Python raises what it has to, at the line of the program
            return self._as_python(args, kwargs, Streams())

    def experimental_get_tracing_count(self) -> int:
        """How often the Python code ran to be recorded."""
        return sum(function._recorded for function in self._all())

    def _facts_(self) -> dict[str, Any]:
        name = _name(self.python_function)
        return {"name": name, "state": repr(self.explain().partition("\n")[0].removeprefix(f"{name} "))}

    def explain(self) -> str:
        """How it runs: for how many combinations of arguments as a program; and why as Python for others.

        Examples
        --------
        >>> import tape_api as tf
        >>> @tf.function
        ... def rounded(x):
        ...     return x * float(x)
        >>> _ = rounded(tf.constant(1.0))
        >>> print(rounded.explain().partition(" of ")[0])
        rounded runs as Python: Python looked at the contents
        """
        name = _name(self.python_function)
        kept = [x for f in self._all() for x in (*f._known.values(), *f._open.values()) if not isinstance(x, list)]
        programs = sum(isinstance(x, _PROGRAMS) for x in kept)
        lines = [f"{name} runs as a program (combinations of arguments: {programs})"] if programs else []
        nodes = [node for x in kept if isinstance(x, _PROGRAMS) for node in x._trace.nodes]
        lines += [f"{name}: {p}" for node in nodes for p in node.params.values() if getattr(p, "tells", False)]
        reasons = [
            *[x for x in kept if type(x) in (str, _Varying)],
            *[f._without_key for f in self._all() if f._without_key],
        ]
        taped = [x.record if isinstance(x, TracedFunction) else x for x in kept]
        taped = [x for x in taped if isinstance(x, str) and (x not in reasons or type(x) is _UnderTapes)]
        lines += [f"{name} runs as Python: {reason}" for reason in dict.fromkeys(reasons)]
        lines += [f"{name} runs as Python while a tape records: {reason}" for reason in dict.fromkeys(taped)]
        why = why_not(self.python_function) if reasons and self.autograph else ""
        lines += (
            [f"{name} is not rewritten, so that branches and loops over tensors are Python's: {why}"] if why else []
        )
        return "\n".join(lines) or f"{name} has not been called"

    def _as_python(self, args: tuple[Any, ...], kwargs: dict[str, Any], streams: Streams) -> Any:
        with inside(streams):
            if (active.function is not None or is_split()) and not functions_run_eagerly():
                # also where Python runs it: branches and loops say which operation a random number is of
                result = self._rewritten(args, kwargs)
            elif self._asks and not functions_run_eagerly():
                result = symbolic.watched(self.python_function, args, kwargs)
            else:
                result = self.python_function(*args, **kwargs)
            return result if type(result) is EagerTensor else _converted(result, _DATA)

    def _rewritten(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of the Python function, with branches and loops over tensors as those of the program."""
        function = active.function
        with converting(HOST if self.autograph else None):
            try:
                return current(self.python_function)(*args, **kwargs)
            except RecursionError:
                # rewritten functions call each other by way of operators
                if not self.autograph or function is None or function.written:
                    raise
        effect("it calls itself too often to be rewritten")
        with converting(None):
            return self.python_function(*args, **kwargs)

    def _opened(
        self, key: Any, kept: Any, args: Any, kwargs: Any, arguments: list[EagerTensor], specs: dict[int, TensorSpec]
    ) -> OpenFunction | str | None:
        """The function called with symbols, where some shapes are left open, or differ from call to call."""
        if type(kept) is _Varying:
            made = self._called_with_symbols(key, args, kwargs, arguments, [plain(x.aval) for x in arguments])
            self._known.put(key, str(kept) if isinstance(made, str) else made)
            return made
        wanted = _described((args, kwargs), [], {}, shapeless=True)
        found: Any = self._open.get(wanted)
        if type(found) is OpenFunction and found.takes(arguments):
            return found
        if type(found) is str:
            return found
        avals = [Aval(specs[id(x)].shape.as_tuple() if id(x) in specs else x._shape, x.dtype) for x in arguments]
        if self._reduces and not specs:
            if found is None:
                self._open.put(wanted, avals)
                return None
            known = getattr(found, "avals", found)
            avals = [Aval(common_shape(a.shape, b.shape), a.dtype) for a, b in zip(known, avals, strict=True)]
            if all(a.is_static for a in avals):
                return None
        made = self._called_with_symbols(key, args, kwargs, arguments, avals)
        self._open.put(wanted, made)
        return made

    def _called_with_symbols(
        self, key: Any, args: Any, kwargs: Any, arguments: Sequence[Any], avals: Sequence[Aval]
    ) -> OpenFunction | str:
        """The function called with symbols in place of arguments; or why it cannot be."""

        def call(symbols: Sequence[Any]) -> Any:
            given: Any = _with((args, kwargs), {id(x): s for x, s in zip(arguments, symbols, strict=True)})
            return self._as_python(given[0], given[1], self._streams_of(key))

        before = self._recorded
        self._recorded += 1
        try:
            made = OpenFunction(call, avals, before > 0)
            if made.made_variables:
                # they are there now; whoever makes others in each call is told so
                made = OpenFunction(call, avals, True)
        except Exception as error:
            if type(error) is ValueError and "singleton" in str(error):
                raise
            return str(error)  # whatever it is, Python can run it
        return made

    def _is_due(self, key: Any) -> bool:
        """Whether to record a combination of arguments that has not been recorded."""
        seen = self._seen[hash(key)] = self._seen.get(hash(key), 0) + 1
        if len(self._seen) > 16 * _KEPT:
            self._seen.clear()
        return seen > 1 or len(self._known) < _AT_ONCE

    def _record(self, key: Any, args: tuple[Any, ...], kwargs: dict[str, Any], arguments: list[EagerTensor]) -> Any:
        """Run the Python code, and keep what it did."""
        tape = FunctionTape()
        tape.has_variables, given = self._recorded > 0, (args, kwargs)
        # of their own, as a tensor that the function takes from around it may be an argument, too
        own = [EagerTensor(x._array) for x in arguments]
        args, kwargs = _with((args, kwargs), {id(x): y for x, y in zip(arguments, own, strict=True)})
        tape.watch_all(own)
        tapes, since = active.tapes, standing_in(own, arguments)
        tape.start()
        try:
            with nullcontext() if tapes else putting_off(tape):
                result = self._as_python(args, kwargs, self._streams_of(key))
        finally:
            tape.stop()
            no_longer(own, arguments, since)
        del args, kwargs
        self._recorded += 1
        self._asks = self._asks or tape.is_asked
        drawn = tape.drawn
        try:
            made = uncollected(self._traced, tape, own, result, tapes)
        except Exception as error:  # noqa: BLE001 - Python raises what it has to, at the line of the program
            for values, again in reversed(drawn):
                again.take_back([x._array for x in values])
            result = self._as_python(*given, self._streams_of(key))
            made = str(error)
        if not tape.made_variables and not (tape.draws and is_inside()):
            self._known.put(key, made)
        settle([*nest.flatten(result), *[v._tensor for v in tape.written.values()]])
        if tapes:
            tape.forget()
            result = _with(result, {id(x): y for x, y in zip(own, arguments, strict=True)})
            refs = list(map(weakref.ref, own))
            own.clear()
            for ref, x in zip(refs, arguments, strict=True):
                mine = ref()
                if mine is not None:
                    # the rule of a custom gradient holds it, say
                    record(identity, (x,), NOTHING, mine)
        return result

    def _traced(
        self, tape: FunctionTape, arguments: list[EagerTensor], result: Any, tapes: Sequence[Tape]
    ) -> TracedFunction | str:
        """A traced function for later calls, or the reason why they run as Python."""
        of = tape.composites
        result = nest.map_structure(lambda x: of[id(x)][1] if id(x) in of else x, result) if of else result
        for x in nest.flatten(result):
            if of and isinstance(x, Composite):
                continue
            if not isinstance(x, (EagerTensor, Variable, type(None), str, bytes)):
                return f"it returns a {type(x).__name__}"
        try:
            traced = TracedFunction(tape, arguments, result)
        except VaryingShape as error:
            return _Varying(str(error))
        except Exception as error:  # noqa: BLE001 - whatever it is, Python can run it
            return str(error)
        touched = tape.touched()
        made = [weakref.ref(out) for node in tape.everything() for out in node.outputs]
        drawn = [x._array for values, _ in tape.drawn for x in values]
        late = [*traced.ends, *[v._tensor for v, _ in tape.before.values()]]
        if tape.before and threading.active_count() > 1:
            settle(late)  # op by op, as others may have assigned since
        is_due = any(type(x) is LazyTensor for x in late)
        if is_due:
            tape.put_back()
        tape.forget()
        if is_due:
            traced.fulfil(arguments, drawn)
        del late, traced.ends
        known = [*nest.flatten(result), *traced.components, *[v._tensor for v in touched]]
        held = references(tapes)
        held.update(map(id, arguments))
        made += list(map(weakref.ref, arguments))
        if _is_elsewhere(made, known, held):
            gc.collect()
            if _is_elsewhere(made, known, held):
                if tapes and isinstance(traced.record, str):
                    # it may be the tapes that keep it
                    return _UnderTapes(traced.record)
                return "it keeps a tensor, which it does not return"
        return traced


def _converted(structure: Any, kinds: Any) -> Any:
    """A structure with tensors in place of what is of some kinds."""
    if not any(isinstance(x, kinds) for x in nest.flatten(structure)):
        return structure
    return nest.map_structure(lambda x: convert_to_tensor(x) if isinstance(x, kinds) else x, structure)


def _with(structure: Any, others: dict[int, EagerTensor]) -> Any:
    """A structure with others in place of some tensors, by identity."""
    return nest.map_structure(lambda x: others.get(id(x), x), structure)


def _is_elsewhere(made: Sequence[weakref.ref[Any]], known: Sequence[Any], held: Mapping[int, int]) -> bool:
    """Whether somebody else holds one of some tensors, besides those who hold it so many times."""
    passed = set(map(id, known))
    for ref in made:
        x = ref()
        # two more: `x`, and the argument
        if x is not None and id(x) not in passed and sys.getrefcount(x) > held.get(id(x), 0) + 2:
            return True
    return False


class _UnderTapes(str):
    """Why a function runs as Python while tapes record; what it does else is not known."""

    __slots__ = ()


_PROGRAMS = (TracedFunction, OpenFunction)


class _Varying(str):
    """Why a recording is not enough: the shapes of its results differ from call to call."""

    __slots__ = ()


class Method:
    """A `Function` that is a method of an object."""

    __slots__ = ("__self__", "_function")

    def __init__(self, function: Function[..., Any], instance: Any) -> None:
        self._function, self.__self__ = function, instance

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the method."""
        return self._function(self.__self__, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """The method for tensors of some shapes and dtypes (`Function.get_concrete_function`)."""
        return self._function.get_concrete_function(self.__self__, *args, **kwargs)

    def calls(self) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
        """The arguments that the method has been called with (`Function.calls`)."""
        return self._function.calls()


class _ByIdentity:
    """An object as part of a key: equal to itself only. It is not kept alive, if it can be otherwise."""

    __slots__ = ("_hash", "_object")

    def __init__(self, x: Any) -> None:
        self._hash = id(x)
        try:
            self._object: Callable[[], Any] = weakref.ref(x)
        except TypeError:
            self._object = lambda: x

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByIdentity) and (x := self._object()) is not None and x is other._object()

    def __hash__(self) -> int:
        return self._hash


def _described(x: Any, tensors: list[EagerTensor] | None, numbers: dict[int, int], shapeless: bool = False) -> Any:
    """A key that describes arguments; the distinct tensors among them are added to `tensors`.

    If that is None, `x` is what an object holds: its tensors are constants. A `shapeless` key says nothing of shapes.

    Raises
    ------
    TypeError
        If they hold something that no program takes.
    """
    if type(x) in TENSORS:
        if tensors is None:
            return _ByIdentity(x)
        number = numbers.setdefault(id(x), len(tensors))
        if number < len(tensors):
            return "again", number
        if hasattr(x, "__dict__") and x.__dict__:
            raise TypeError("programs hang something on this tensor")
        tensors.append(x)
        array = x._array
        return array.dtype if shapeless else (array.shape, array.dtype, array.flags.c_contiguous)
    if isinstance(x, TensorSpec):
        return TensorSpec, str(x.shape), x.dtype
    if isinstance(x, (list, tuple)):
        return type(x), *[_described(item, tensors, numbers, shapeless) for item in x]
    if isinstance(x, dict):
        names = [k if type(k) is str else _described(k, None, {}) for k in x]
        return type(x), tuple(names), *[_described(item, tensors, numbers, shapeless) for item in x.values()]
    if isinstance(x, (Value, Composite, TensorArray)) and not isinstance(x, Variable):
        raise TypeError(f"what a {type(x).__name__} among its arguments stands for may be another value each time")
    if isinstance(x, np.generic):
        return type(x), x.dtype, x.tobytes()
    try:
        return distinct(x)
    except TypeError:
        return _ByIdentity(x) if _is_itself(x) else (type(x), *_contents(x))


def _is_itself(x: Any) -> bool:
    """Whether an object is equal to itself only, as far as we can know, and not to all that hold the same."""
    if isinstance(x, (Variable, type)):
        return True
    return type(x).__hash__ is not None and not isinstance(x, frozenset) and not dataclasses.is_dataclass(x)


def _contents(x: Any) -> Iterator[Any]:
    """The contents of a set, or of an object that is compared by what it holds, as part of a key."""
    if isinstance(x, (set, frozenset)):
        yield frozenset([_described(item, None, {}) for item in x])
        return
    if hasattr(x, "__dict__"):
        held = vars(x)
    elif dataclasses.is_dataclass(x):
        held = {field.name: getattr(x, field.name, None) for field in dataclasses.fields(x)}
    else:
        raise TypeError(f"what a {type(x).__name__} among its arguments holds may be changed")
    for name, item in held.items():
        yield name, _described(item, None, {})


def _fitting(
    func: Callable[..., Any], specs: Sequence[Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any], dict[int, TensorSpec]]:
    """The arguments of a call, as an ``input_signature`` wants them, and what it says of each tensor, by identity.

    Raises
    ------
    TypeError
        If they do not fit.
    """
    bound = inspect.signature(func).bind(*args, **kwargs)
    bound.apply_defaults()
    names = [name for name in bound.arguments if name != "self"]
    told: dict[int, TensorSpec] = {}
    for name, spec in zip(names, specs, strict=False):
        value = bound.arguments[name]
        leaves, wanted = nest.flatten(value), nest.flatten(spec)
        if len(wanted) == 1 and not nest.is_nested(spec):
            leaves = [value]
        if len(leaves) != len(wanted):
            raise TypeError(f"{_name(func)}: argument `{name}` must have the structure {spec}, got {value!r}")
        fitted = [_fitted(func, name, x, s) for x, s in zip(leaves, wanted, strict=True)]
        told |= {id(x): s for x, s in zip(fitted, wanted, strict=True) if isinstance(s, TensorSpec)}
        bound.arguments[name] = nest.pack_sequence_as(spec, fitted)
    return bound.args, bound.kwargs, told


def _fitted(func: Callable[..., Any], name: str, x: Any, spec: Any) -> Any:
    if not isinstance(spec, TensorSpec):
        return x
    try:
        tensor = x if isinstance(x, Value) else convert_to_tensor(x, spec.dtype)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{_name(func)}: argument `{name}` must be like {spec}, got {x!r}: {error}") from None
    if dtype_of(tensor) is not spec.dtype or not spec.shape.is_compatible_with(shape_of(tensor)):
        got = f"shape {shape_of(tensor)} and dtype {dtype_of(tensor).name}"
        raise TypeError(f"{_name(func)}: argument `{name}` must be like {spec}, got {got}")
    return tensor


def _name(func: Callable[..., Any]) -> str:
    return getattr(func, "__name__", "function")


_DATA = (np.ndarray, np.generic, int, float, complex, Variable)
"""Types of results that become tensors."""
_ARE_TENSORS = frozenset({EagerTensor, Variable})
"""Types of arguments that are handed on as they are."""
