"""Observing a run: what kernels ask of NumPy becomes rows.

A kernel is called with `Observed` values in place of arrays. Such a value says what shape it has and how it lies in
memory, but not what is in it: a kernel that looks at contents gets an `Opaque` error, and is called again with the
arrays themselves, as it will be in each run. What NumPy is asked to do with observed values it does with the arrays
behind them, and a row says the same. So no op is known here, and what NumPy decides (dtypes, the order in memory,
whether a reshape is a view) is read off what it did.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from types import SimpleNamespace
from typing import Any, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from engine.executor.broadcasts import made_long
from engine.executor.hidden import Hidden, Opaque, Writer, is_readable, offset_in, opaque_if
from engine.executor.loops import loop_of, replaced
from engine.executor.own_loops import LOOPS
from engine.executor.reductions import added_rows, reduce
from engine.executor.refs import Call, Recording, Ref, Root, Row, constant_ref, elementwise
from engine.executor.vocabulary import FUNCTIONS, apply_ufunc, cast, dot, getitem, part, refused_nan
from engine.runtime.structs import replace


class Recorder:
    """One run that is observed.

    If it `reruns`, the program has no effects, so that it may run a second time where a limit is not kept; instructions
    at the positions `doubted` have not kept one in an earlier run. `instruction` has the position and the operands of
    the one whose kernel is called, where it can be called again with arrays. `forms` are calls of ufuncs that were
    written, by what they depend on: a row, where its result is and of which form; `numbers` are those of forms of
    operands; `held` are constants that they read, by identity.
    """

    def __init__(self, reruns: bool = False, doubted: Collection[int] = ()) -> None:
        self.reruns, self.doubted = reruns, doubted
        self.recording = Recording([])
        self.instruction: tuple[int, Sequence[Any]] | None = None
        self.forms: dict[Any, tuple[Row, Ref, int]] = {}
        self.numbers: dict[Any, int] = {}
        self.held: dict[int, tuple[Any, Ref]] = {}

    # ---- values ------------------------------------------------------------------------------------------------------

    def root(self, kind: str, array: Any, position: int = -1) -> Root:
        """New memory, that of an array."""
        if not is_readable(array):
            return Root(kind, None, (), (), position)
        return Root(kind, array.dtype, array.shape, array.strides, position, scalar=isinstance(array, np.generic))

    def value(self, actual: Any, ref: Ref) -> Hidden:
        """A hidden value."""
        return Observed(self, actual, ref)

    def whole(self, root: Root, real: Any) -> Hidden:
        """All of a root as a value."""
        dtype = real.dtype
        ref = Ref(root, 0, real.shape, real.strides, dtype, isinstance(real, np.generic))
        return Observed(self, real, ref)

    def constant(self, array: Any) -> Ref:
        """A constant."""
        return constant_ref(array)

    def computed(self, real: Any) -> Hidden:
        """A result of rows, which is laid out as NumPy laid it out."""
        dtype, shape, strides, scalar = real.dtype, real.shape, real.strides, not isinstance(real, np.ndarray)
        root = Root("computed", dtype, shape, strides, -1, None, scalar)
        return Observed(self, real, Ref(root, 0, shape, strides, dtype, scalar))

    def add(self, step: Row | Call) -> None:
        """The next step."""
        self.recording.steps.append(step)

    def add_checked(self, row: Row, keeps: Sequence[Any] | None = None) -> None:
        """The next row, which may refuse what it is given; then the kernel of the instruction is called.

        That looks at some operands only, if these are given.
        """
        if self.instruction is None:
            raise Opaque
        position, operands = self.instruction
        looked_at = operands if keeps is None else keeps
        roots = tuple([x.ref.root for x in looked_at if type(x) is Observed])
        self.add(replace(row, position=position, keeps=roots))

    def stays_beyond(self, x: Hidden, limit: float, least: bool) -> bool:
        """Whether all numbers are below a limit, or above if `least`; then rows find the extreme one and may refuse it.

        A program that may run again looks at it after all tiles, which do not fall apart for it.
        """
        loop, bound = f"all_below_{x.dtype.char}", np.asarray(limit, x.dtype)
        if self.instruction is None or loop not in LOOPS:
            raise Opaque
        if self.instruction[0] in self.doubted or not np.all(bound < x.actual if least else x.actual < bound):
            return False
        if x.size:
            found: Any = x
            if x.ndim:
                # of what is repeated once is enough
                found = found[tuple([slice(None) if step else slice(1) for step in x.ref.strides])]
                start = np.inf if least else -np.inf
                found = reduce(self, np.minimum if least else np.maximum, found, axis=None, initial=start)
            both = [found.ref, self.constant(bound)]
            row = elementwise((loop,), [*(both[::-1] if least else both), self.computed(np.ones((), bool)).ref])
            self.add_checked(row, () if self.reruns else None)
        return True

    def look(self, loop: tuple[Any, ...], x: Ref, limit: Any) -> None:
        """Let a loop refuse a value where it is used."""
        said = Ref(Root("computed", np.dtype(bool), (), ()), 0, x.shape, (0,) * len(x.shape), np.dtype(bool))
        self.add_checked(elementwise(loop, [x, self.constant(np.asarray(limit, x.dtype)), said]))

    # ---- what NumPy is asked for -------------------------------------------------------------------------------------

    def elementwise(
        self, loop: tuple[Any, ...], operands: Sequence[Ref], real: Any, out: Observed | None = None
    ) -> Hidden:
        """The row of an elementwise loop; `real` is its result."""
        result = self.computed(real) if out is None else out
        if result.actual.size:
            refs = (*operands, result.ref)
            row = elementwise(replaced(loop, operands), refs)
            opaque_if(loop[0] in _ROUNDED_TWICE and result.dtype.kind == "c" and not _is_one_piece(row, refs))
            self.recording.steps += made_long(row, refs) if row.outer else (row,)
        return result

    def ufunc(self, ufunc: np.ufunc, inputs: Sequence[Any], out: Any = None, order: str = "K") -> Hidden:
        """A call of an elementwise ufunc."""
        reals = [x.actual if type(x) is Observed else x for x in inputs]
        # a NumPy scalar is not written to: ``+=`` gives another one
        is_new = out is None or (type(out) is Observed and isinstance(out.actual, np.generic))
        form = ufunc, order, *[x.form if type(x) is Observed and x.form >= 0 else self.form_of(x) for x in inputs]
        if is_new and (known := self.forms.get(form)) is not None:
            return self.again(*known, inputs, ufunc(*reals) if order == "K" else ufunc(*reals, order=order))
        opaque_if(ufunc.nout != 1 or ufunc.signature is not None)
        kinds = [x.dtype if hasattr(x, "dtype") else type(x) for x in inputs]
        resolved = loop_of(ufunc, tuple(kinds))
        if resolved is None:
            raise Opaque
        loop, dtypes = resolved
        operands = []
        for x, dtype in zip(inputs, dtypes, strict=False):
            if type(x) is Observed:
                operands.append(x.ref if x.ref.dtype == dtype else cast(self, x, dtype).ref)
            else:
                operands.append(self.constant(np.asarray(x, dtype)))
        if is_new:
            before = len(self.recording.steps)
            made = self.elementwise(loop, operands, ufunc(*reals) if order == "K" else ufunc(*reals, order=order))
            if kinds == [*dtypes[:-1]] and len(self.recording.steps) == before + 1:
                self.forms[form] = self.recording.steps[-1], made.ref, self.form_of(made)
            return made
        opaque_if(type(out) is not Observed or out.ref.root.kind != "computed" or out.dtype != dtypes[-1])
        for x in operands:
            if x.root is out.ref.root and x != out.ref:
                # NumPy would make a copy of what overlaps
                raise Opaque
        ufunc(*reals, out=out.actual)
        return self.elementwise(loop, operands, None, out)

    def form_of(self, x: Any) -> int:
        """The number of what a call depends on of an operand, besides where it lies."""
        known = x.ref if type(x) is Observed else x
        key = (known.dtype, known.shape, known.strides) if hasattr(known, "dtype") else type(x)
        return self.numbers.setdefault(key, len(self.numbers))

    def again(self, row: Row, made: Ref, form: int, inputs: Sequence[Any], real: Any) -> Hidden:
        """The row of a call of the form of one that was written, with its result `real`."""
        root = Root("computed", made.dtype, made.shape, made.strides, -1, None, made.scalar)
        places = [((ref := x.ref if type(x) is Observed else self.kept(x)).root, ref.offset) for x in inputs]
        row = Row(row.loop, (*places, (root, 0)), row.dims, row.steps, row.outer, row.strides)
        self.recording.steps.append(row)
        ref = Ref(root, 0, made.shape, made.strides, made.dtype, made.scalar)
        return Observed(self, real, ref, form)

    def kept(self, x: Any) -> Ref:
        """A constant, which is the same one wherever it is read."""
        if id(x) not in self.held:
            self.held[id(x)] = x, self.constant(np.asarray(x))
        return self.held[id(x)][1]

    def view(self, x: Observed, real: Any) -> Hidden:
        """A view of `x`, or its copy in C order."""
        if real.dtype == x.dtype and (isinstance(x.actual, np.generic) or real is x.actual):
            strides = real.strides
            ref = Ref(
                x.ref.root, x.ref.offset, real.shape, strides, x.dtype, isinstance(real, np.generic), x.ref.writable
            )
            return Observed(self, real, ref)
        if isinstance(real, np.ndarray) and real.size:
            offset = offset_in(real, x.actual)
            if offset is not None:
                ref = x.ref
                writable = ref.writable and (real.flags.writeable or not x.actual.flags.writeable)
                shown = Ref(ref.root, ref.offset + offset, real.shape, real.strides, real.dtype, False, writable)
                return Observed(self, real, shown)
        raise Opaque

    def copy(self, x: Observed, real: Any) -> Hidden:
        """A copy of `x`, of the same shape."""
        return self.elementwise((f"copy_{x.dtype.itemsize}",), [x.ref], real)


_ROUNDED_TWICE = (np.multiply, np.square)
"""Ufuncs whose complex loops fuse products and sums where operands lie one after the other, and not elsewhere."""


def _is_one_piece(row: Row, refs: Sequence[Ref]) -> bool:
    """Whether a row goes through its result, and through each operand that is no scalar, in one piece.

    NumPy goes through single elements of several ranks with steps of 0.
    """
    result = refs[-1]
    size = result.dtype.itemsize
    if row.dims == (1,) and any(r.shape != result.shape for r in refs):
        return False
    return not row.outer and row.steps[-1] == size and set(row.steps) <= {0, size}


class Observed(Hidden, NDArrayOperatorsMixin):
    """A value in a run that is observed; kernels take it for an array, but cannot look inside.

    `form` is the number of its form (`Recorder.form_of`), negative as long as nobody has asked for it.
    """

    __slots__ = ("form",)

    def __init__(self, recorder: Writer, actual: Any, ref: Ref, form: int = -1) -> None:
        self.recorder, self.actual, self.ref, self.form = recorder, actual, ref, form

    @property
    def T(self) -> Hidden:  # noqa: D102
        return self.recorder.view(self, self.actual.T)

    @property
    def mT(self) -> Hidden:  # noqa: D102
        return self.recorder.view(self, self.actual.mT)

    @property
    def real(self) -> Hidden:  # noqa: D102
        return part(self.recorder, self, 0) if self.dtype.kind == "c" else self

    @property
    def imag(self) -> Hidden:  # noqa: D102
        return part(self.recorder, self, 1)

    def reshape(self, *shape: Any, **kw: Any) -> Hidden:  # noqa: D102
        real = self.actual.reshape(*shape, **kw)
        try:
            return self.recorder.view(self, real)
        except Opaque:
            if kw or not isinstance(real, np.ndarray):
                raise
        if not real.size:
            return self.recorder.computed(real)
        whole = self.recorder.copy(self, np.array(self.actual, order="C"))
        return self.recorder.view(whole, whole.actual.reshape(*shape))

    def ravel(self, order: str = "C") -> Hidden:  # noqa: D102
        return self.reshape(-1) if order == "C" else self._refuse()

    def transpose(self, *axes: Any) -> Hidden:  # noqa: D102
        return self.recorder.view(self, self.actual.transpose(*axes))

    def swapaxes(self, a: int, b: int) -> Hidden:  # noqa: D102
        return self.recorder.view(self, self.actual.swapaxes(a, b))

    def squeeze(self, axis: Any = None) -> Hidden:  # noqa: D102
        return self.recorder.view(self, self.actual.squeeze(axis))

    @property
    def ctypes(self) -> SimpleNamespace:
        """With its `data`, of which can be told only whether that of another one is the same."""
        return SimpleNamespace(data=(id(self.ref.root), self.ref.offset))

    def copy(self, order: str = "C") -> Hidden:  # noqa: D102
        return self.recorder.copy(self, self.actual.copy(order))

    def astype(self, dtype: Any, **kw: Any) -> Hidden:  # noqa: D102
        if set(kw) - {"copy"}:
            self._refuse()
        if not kw.get("copy", True) and self.dtype == dtype:
            return self
        return cast(self.recorder, self, np.dtype(dtype))

    def dot(self, other: Any) -> Hidden:  # noqa: D102
        return dot(self.recorder, self, other)

    def sum(self, axis: Any = None, keepdims: bool = False) -> Hidden:  # noqa: D102
        return reduce(self.recorder, np.add, self, axis=axis, keepdims=keepdims)

    def added_rows(self, block: int) -> Hidden:
        """The sums over axis 1 of three, in blocks of so many rows; see `engine.core.sums`."""
        return added_rows(self.recorder, self, block)

    def holds_nan(self) -> bool:
        """Whether there is a NaN; if there is none in this run, rows refuse any."""
        return refused_nan(self.recorder, self) is None

    def stays_beyond(self, limit: float, least: bool) -> bool:
        """Whether all are below a limit, or above if `least`; if they are in this run, rows refuse others."""
        return self.recorder.stays_beyond(self, limit, least)

    def __getitem__(self, key: Any) -> Hidden:
        return getitem(self.recorder, self, key)

    def __iter__(self) -> Iterator[Hidden]:
        return iter([self[i] for i in range(len(self))])

    # ---- NumPy's protocols ---------------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kw: Any) -> Hidden:
        return apply_ufunc(self.recorder, ufunc, method, inputs, kw)

    def __array_function__(self, function: Callable[..., Any], types: Any, args: Any, kw: Any) -> Any:
        handler = FUNCTIONS.get(function)
        return self._refuse() if handler is None else handler(self.recorder, *args, **kw)

    # ---- what would look inside ----------------------------------------------------------------------------------

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise Opaque

    __array__ = __bool__ = __int__ = __float__ = __complex__ = __index__ = __setitem__ = __contains__ = _refuse
    item = tolist = tobytes = nonzero = view = argsort = sort = fill = _refuse
