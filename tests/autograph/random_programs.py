"""The source of random functions with branches, loops and jumps, like those of `tests.autograph.programs`."""

import random

FLOATS = ("a", "b", "c", "x[0]", "x[1]", "s")


class Writer:
    """Writes one function."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.lines: list[str] = []
        self.counters = 0

    def source(self, name: str) -> str:
        """The function's source."""
        self.lines = [f"def {name}(tf, x, s, n):", "    a, b, c = x[0] * 1.0, s * 0.5, x[1] + s"]
        self.block(1, 4, loop=None)
        self.lines.append("    return tf.stack([a, b, c])")
        return "\n".join(self.lines) + "\n"

    def add(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def number(self) -> str:
        d = self.draw
        one, two = d.choice(FLOATS), d.choice(FLOATS)
        return d.choice(
            [
                f"{one} * {two}",
                f"{one} + {two}",
                f"{one} - 0.5 * {two}",
                f"tf.sin({one})",
                f"tf.tanh({one} * {two})",
                f"tf.maximum({one}, {two})",
                # a second name for a tensor would be another value behind a branch: derivatives add up in another order
                f"({one} * 1.5 if {self.condition()} else {two} + 0.5)",
                f"0.25 * {one} * {one}",
            ]
        )

    def condition(self, depth: int = 0) -> str:
        d = self.draw
        simple = d.choice(
            [
                f"{d.choice(FLOATS)} > {d.choice(FLOATS)}",
                f"{d.choice(FLOATS)} < {d.choice(['0.0', '0.5', '-0.3'])}",
                f"n % 2 == {d.randint(0, 1)}",
                f"n > {d.randint(0, 3)}",
                f"-0.5 < {d.choice(FLOATS)} <= 0.8",
                d.choice(["True", "False"]),
            ]
        )
        if depth == 2 or d.random() < 0.6:
            return simple
        other = self.condition(depth + 1)
        return d.choice([f"not ({other})", f"({simple} and {other})", f"({simple} or {other})"])

    def block(self, depth: int, count: int, loop: str | None) -> None:
        for _ in range(self.draw.randint(1, count)):
            self.statement(depth, loop)

    def statement(self, depth: int, loop: str | None) -> None:
        d = self.draw
        kinds = ["set", "set", "set", "two", "add"]
        if depth < 4:
            kinds += ["if", "if", "else", "else", "elif", "while", "for", "rows", "python"]
        kinds += ["return"] * (depth > 1) + ["break", "continue"] * (loop is not None)
        kind = d.choice(kinds)
        if kind == "set":
            self.add(depth, f"{d.choice('abc')} = {self.number()}")
        elif kind == "two":
            self.add(depth, f"{', '.join(d.sample('abc', 2))} = {self.number()}, {self.number()}")
        elif kind == "add":
            self.add(depth, f"{d.choice('abc')} {d.choice(['+=', '-=', '*='])} {self.number()}")
        elif kind in ("if", "else", "elif"):
            self.add(depth, f"if {self.condition()}:")
            self.block(depth + 1, 3, loop)
            if kind == "elif":
                self.add(depth, f"elif {self.condition()}:")
                self.block(depth + 1, 2, loop)
            if kind != "if":
                self.add(depth, "else:")
                self.block(depth + 1, 3, loop)
        elif kind == "return":
            self.guarded(depth, f"return tf.stack([a, {d.choice(FLOATS)}, {d.choice(FLOATS)}])")
        elif kind in ("break", "continue"):
            self.guarded(depth, kind)
        else:
            self.loop(depth, kind)

    def guarded(self, depth: int, jump: str) -> None:
        self.add(depth, f"if {self.condition()}:")
        if self.draw.random() < 0.5:
            self.statement(depth + 1, None)
        self.add(depth + 1, jump)

    def loop(self, depth: int, kind: str) -> None:
        d, self.counters = self.draw, self.counters + 1
        k = f"k{self.counters}"
        if kind == "while":
            self.add(depth, f"{k} = {d.choice(['0', 'n - n'])}")
            also = f" and {self.condition()}" if d.random() < 0.3 else ""
            self.add(depth, f"while {k} < {d.choice(['n', '3', 'n + 1'])}{also}:")
            self.add(depth + 1, f"{k} = {k} + 1")
        else:
            over = {
                "for": d.choice(["tf.range(n)", "tf.range(3)", "tf.range(1, n + 1)", "range(n)"]),
                "rows": d.choice(["x", "tf.stack([a, b, c])"]),
                "python": d.choice(["range(2)", "[1.0, 2.0]"]),
            }[kind]
            self.add(depth, f"for {k} in {over}:")
            if kind == "rows":
                self.add(depth + 1, f"{d.choice('abc')} = {k} * 0.5 + s")
        self.block(depth + 1, 3, k)
        if d.random() < 0.2:
            self.add(depth, "else:")
            self.block(depth + 1, 2, None)
