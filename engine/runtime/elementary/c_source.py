"""The elementary functions in C: their steps, run on symbols, write it.

The text is included once for each width of vectors, which `_elementary.c` says in macros. `setup.py` runs this
before there is an engine, of which nothing is imported.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from engine.runtime.elementary.steps import DOUBLE, SINGLE, Format

_TYPES = {"number": "V", "bits": "U", "mask": "M"}
WAYS = 2
"""Vectors that take each step side by side: a step waits for the one before it longer than it takes."""


class Symbol:
    """A value in C: a vector of numbers, of their bits, or of masks."""

    def __init__(self, machine: Machine, text: str, kind: str) -> None:
        self._machine, self.text, self.kind = machine, text, kind

    def _with(self, form: str, other: Any, result: str) -> Symbol:
        return self._machine.step(form.format(self.text, self._machine.operand(other, self.kind)), result)

    def __neg__(self) -> Symbol:
        return self._machine.step(f"-{self.text}", "number")

    def __invert__(self) -> Symbol:
        return self._machine.step(f"~{self.text}", self.kind)

    def __hash__(self) -> int:
        return id(self)


def _define(name: str, form: str, result: str = "") -> None:
    setattr(Symbol, name, lambda self, other: self._with(form, other, result or self.kind))


for _name, _operator in {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "and": "&", "or": "|", "xor": "^"}.items():
    _define(f"__{_name}__", f"{{0}} {_operator} {{1}}")
    _define(f"__r{_name}__", f"{{1}} {_operator} {{0}}")
for _name, _operator in {"lt": "<", "gt": ">", "le": "<=", "ge": ">=", "eq": "==", "ne": "!="}.items():
    _define(f"__{_name}__", f"(M)({{0}} {_operator} {{1}})", "mask")
for _name, _operator in {"lshift": "<<", "rshift": ">>"}.items():
    setattr(
        Symbol,
        f"__{_name}__",
        lambda self, places, sign=_operator: self._machine.step(f"{self.text} {sign} {places}", "bits"),
    )


class Machine:
    """Writes steps down, each once, for so many vectors side by side.

    `rare` has the functions that are rarely called: by function, its name and its text. Results are rounded to single
    precision if it is `single`.
    """

    def __init__(
        self, ways: int, rare: dict[Any, tuple[str, list[str]]], form: Format = DOUBLE, single: bool = False
    ) -> None:
        self.lines: list[str] = []
        self.format, self.single = form, single
        self._ways, self._rare = ways, rare
        self._known: dict[tuple[str, str], Symbol] = {}
        self._count = 0

    def step(self, text: str, kind: str) -> Symbol:
        """The value of an expression."""
        if (text, kind) not in self._known:
            self._count += 1
            name = f"t{self._count}#"
            self.write(f"const {_TYPES[kind]} {name} = {text};")
            self._known[text, kind] = Symbol(self, name, kind)
        return self._known[text, kind]

    def write(self, line: str) -> None:
        """A line for each of the vectors."""
        self.lines += ["    " + line.replace("#", f"_{way}") for way in range(self._ways if "#" in line else 1)]

    def operand(self, x: Any, kind: str) -> str:
        """A value or a constant as a piece of C."""
        if isinstance(x, Symbol):
            return x.text
        if kind == "bits":
            return f"BITS({x & (1 << self.format.width) - 1:#x})"
        number = float(x)
        text = number.hex().lstrip("-") + ("f" if self.format is SINGLE else "")
        text = "INFINITY" if math.isinf(number) else "NAN" if math.isnan(number) else text
        return f"NUMBER({'-' if math.copysign(1.0, number) < 0 else ''}{text})"

    def bits(self, x: Symbol) -> Symbol:
        """The bits of numbers."""
        return self.step(f"(U){self.operand(x, 'number')}", "bits")

    def number(self, bits: Symbol) -> Symbol:
        """Numbers of bits."""
        return self.step(f"(V){bits.text}", "number")

    def select(self, mask: Symbol, x: Any, y: Any) -> Symbol:
        """The one number or the other."""
        return self.step(f"SELECT({mask.text}, {self.operand(x, 'number')}, {self.operand(y, 'number')})", "number")

    def larger(self, x: Any, y: Any) -> Symbol:
        """The first number if it is larger, else the second."""
        return self.step(f"LARGER({self.operand(x, 'number')}, {self.operand(y, 'number')})", "number")

    def smaller(self, x: Any, y: Any) -> Symbol:
        """The first number if it is smaller, else the second."""
        return self.step(f"SMALLER({self.operand(x, 'number')}, {self.operand(y, 'number')})", "number")

    def sqrt(self, x: Symbol) -> Symbol:
        """Square roots."""
        return self.step(f"ROOT({x.text})", "number")

    def rarely(self, mask: Symbol, function: Callable[..., Any], operands: tuple[Symbol, ...], others: Any) -> Any:
        """``function(machine, *operands)`` where the mask says so, which is seldom anywhere, and `others` elsewhere.

        It is a function in C, too: so its steps are not in the way of those that are often taken.
        """
        several = isinstance(others, tuple)
        if (key := (function, self.single)) not in self._rare:
            machine = Machine(1, self._rare, self.format, self.single)
            found = function(machine, *[Symbol(machine, f"x{i}", "number") for i in range(len(operands))])
            values = [machine.operand(value, "number") for value in (found if several else (found,))]
            for i, value in enumerate(values):
                machine.write(f"out[{i}] = {value};")
            given = ", ".join([f"const V x{i}" for i in range(len(operands))])
            name = f"rare{len(self._rare)}"
            text = [f"RARE void NAMED({name})({given}, V *out)", "{", *machine.lines, "}"]
            self._rare[key] = name, [line.replace("#", "_0") for line in text]
        self._count += 1
        name, count = f"r{self._count}", len(others) if several else 1
        for i, other in enumerate(others if several else (others,)):
            self.write(f"V {name}_{i}# = {self.operand(other, 'number')};")
        self.write(f"if ({' || '.join([f'ANY({mask.text})'.replace('#', f'_{way}') for way in range(self._ways)])}) {{")
        self.write(f"    V {name}#[{count}];")
        self.write(f"    NAMED({self._rare[key][0]})({', '.join([x.text for x in operands])}, {name}#);")
        for i in range(count):
            self.write(f"    {name}_{i}# = SELECT({mask.text}, {name}#[{i}], {name}_{i}#);")
        self.write("}")
        results = tuple([Symbol(self, f"{name}_{i}#", "number") for i in range(count)])
        return results if several else results[0]


def _function(name: str, function: Any, kind: str, rare: dict[Any, Any]) -> list[str]:
    """A function of ``kind`` "d", "f" (of float32 in double precision) or "short" (in its own)."""
    machine, known = Machine(WAYS, rare, SINGLE if kind == "short" else DOUBLE, kind == "f"), len(rare)
    letters, count = "xy"[: function.operands], function.operands
    for each in letters:
        machine.write(f"const V {each}# = {each}s[#];")
    given = [Symbol(machine, f"{each}#", "number") for each in letters]
    if kind == "short":
        value, *masks = function.short(machine, *given)
        for text, mask in zip(("odd[#]", "gone[#]"), [*masks, False], strict=False):
            machine.write(f"{text} = {'(M){0}' if mask is False else mask.text};")
    else:
        value = function.steps(machine, *given)
    machine.write(f"out[#] = {value.text};")
    results = (
        ", ".join([f"const V *{each}s" for each in letters]) + ", V *out" + ", M *odd, M *gone" * (kind == "short")
    )
    before = [line for _, text in list(rare.values())[known:] for line in text]
    head = f"INLINED void NAMED({name}_{kind})({results})"
    looked = "ODD_OR_SMALL" if function.underflows else "ODD"
    kernel = f"KERNEL{count}({name}, {kind}, {looked})"
    if kind == "short":
        kernel = f"SHORT{count}({name})"
    return [*before, head, "{", *[line.replace("[_", "[") for line in machine.lines], "}", kernel]


def written(functions: dict[str, Any]) -> str:
    """The text: each function in double precision, those that have steps in single precision, and a table of them."""
    rare: dict[Any, tuple[str, list[str]]] = {}

    def all_of(kind: str, chosen: Callable[[Any], bool]) -> list[str]:
        each = [_function(name, function, kind, rare) for name, function in functions.items() if chosen(function)]
        return [line for lines in each for line in lines]

    rows = []
    for name, each in functions.items():
        facts = f'{each.operands}, "{each.numpy}", {each.has_pole:d}, {each.underflows:d}, "{each.steps.__doc__}"'
        rows.append(f"    X({name}, {facts})")
    double = [*all_of("d", lambda each: True), *all_of("f", lambda each: each.short is None)]
    short = all_of("short", lambda each: each.short is not None)
    text = ["#define KIND d", *double, "#undef KIND", "#define KIND f", *short, "#undef KIND"]
    return "\n".join([*text, "#undef EACH_FUNCTION", "#define EACH_FUNCTION(X) \\", " \\\n".join(rows), ""])
