"""The tape that records a function, all of it: what it computes from its arguments, from variables and random draws.

Such a recording can be run again with other arguments, as a graph can (`engine.closed.traced_function`), unless the
function did something that is no op. It looked at the contents of a tensor, say, or printed. Whoever does that tells
the tape (`engine.core.detach.looked_at`, `effect`), which then knows why the function cannot be run without Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from engine.core.composite import Composite
from engine.core.op import Op
from engine.core.tape import NOTHING, Seen, Tape, active
from engine.core.value import address


class Again(Protocol):
    """Gives the arrays of values that are other ones each time the function runs."""

    def __call__(self) -> Sequence[Any]:
        """Those of the next run."""

    def take_back(self, arrays: Sequence[Any]) -> None:
        """Undo a call that gave `arrays`."""


class FunctionTape(Tape):
    """A recording of a whole function.

    Attributes
    ----------
    reads : dict
        ``id(variable) -> (variable, value)`` of the variables whose values from before the function were read.
    drawn : list of (values, function)
        Random draws, and what gives the arrays of the next run's.
    draws : bool
        Whether it draws random numbers, in branches and loops, too.
    before : dict
        ``id(variable) -> (variable, tensor)`` that it held before the function assigned to it.
    current : dict
        ``id(variable) -> value`` that a variable has now.
    written : dict
        ``id(variable) -> variable`` of the variables that were assigned to.
    made_variables : bool
        Whether the function has made any.
    has_made_variables : bool
        Whether an earlier call of it has been recorded: then it may make none.
    has_variables : bool
        Whether it has made all that it may make: an earlier call has been recorded.
    is_asked : bool
        Whether derivatives were asked for without a tape.
    refusal : str or None
        The first reason why the recording cannot be run in place of the function.
    seen : Seen
        What other tapes, around the function, are told of: what it computes from constants, too, and each read of a
        variable, but not what it does while tapes are paused.
    opened : set of int
        Identities of the tapes that began to record within the function.
    looked_at : list of value
        Constants at whose contents Python looked.
    composites : dict
        ``id(object) -> (object, composite, class)`` of objects that are no tensors: of what values each consists, and
        which class it has when the recording ends. Until then it tells when Python looks at its contents.
    measured : list of value
        Values of whose shape Python has seen a number.
    witness : Tape
        Records beside it, and fills `seen`.
    """

    def __init__(self) -> None:
        super().__init__(watch_accessed_variables=False)
        self.reads: dict[int, tuple[Any, Any]] = {}
        self.drawn: list[tuple[Sequence[Any], Again]] = []
        self.before: dict[int, Any] = {}
        self.current: dict[int, Any] = {}
        self.written: dict[int, Any] = {}
        self.made_variables = self.has_variables = self.draws = False
        self.is_asked = False
        self.refusal: str | None = None
        self.seen = Seen()
        self.opened: set[int] = set()
        self.looked_at: list[Any] = []
        self.composites: dict[int, tuple[Any, Composite, type]] = {}
        self.measured: list[Any] = []
        self.witness = Tape(watch_accessed_variables=False)
        self.witness.nondifferentiable = self.seen

    def start(self) -> None:
        """Record the current thread from here on; nothing pauses it."""
        self.witness.start()
        super().start()
        active.function = self

    def stop(self) -> None:
        """Stop recording."""
        active.function = None
        for x, _, kind in self.composites.values():
            x.__class__ = kind
        super().stop()
        self.witness.stop()

    close = stop

    def forget(self) -> None:
        """Let go of what was recorded, and of what variables were given."""
        super().forget()
        self.reads, self.before, self.current, self.written = {}, {}, {}, {}
        self.drawn, self.looked_at, self.measured, self.composites = [], [], [], {}
        self.seen = self.witness.nondifferentiable = Seen()

    def read(self, variable: Any, op: Op, out: Any) -> None:
        """Note that `variable` was read by `op`, which gave `out`."""
        if address(out) in self.tracked:
            return
        now = self.current.setdefault(id(variable), out)
        if now is not out:
            self.copied(op, now, out)
        elif id(variable) not in self.written:
            self.reads[id(variable)] = variable, out
            self.watch(out)

    def copied(self, op: Op, value: Any, out: Any) -> None:
        """Record that `op` gave `out`, which has the contents of `value`."""
        if self.knows(value):
            self.nodes.log += (op, (value,), NOTHING, out)
            self.watch(out)

    def write(self, variable: Any, value: Any) -> None:
        """Note that `variable` was given a value."""
        self.current[id(variable)] = value
        self.written[id(variable)] = variable

    def make_variable(self) -> None:
        """Note that the function makes a variable.

        Raises
        ------
        ValueError
            If it is not its first call.
        """
        if self.has_variables:
            raise ValueError(
                "tf.function only supports singleton tf.Variables created on the first call: it makes one in another "
                "call, too. Make the variable outside of the function, or only if it has not been made before, as in "
                "`if self.v is None: self.v = tf.Variable(...)`"
            )
        self.made_variables = True

    def put_back(self) -> None:
        """Give variables what they held before the function assigned to them."""
        for variable, tensor in self.before.values():
            variable._tensor = tensor

    def draw(self, values: Sequence[Any], again: Again) -> None:
        """Note `values` that are other ones each time the function runs."""
        self.drawn.append((values, again))
        self.draws = True
        self.watch_all(values)

    def watch_all(self, values: Sequence[Any]) -> None:
        """Track some values."""
        for x in values:
            self.watch(x)

    def touched(self) -> list[Any]:
        """The variables that were read or assigned to."""
        return [*[v for v, _ in self.reads.values()], *self.written.values()]
