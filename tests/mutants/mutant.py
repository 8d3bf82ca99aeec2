"""A mutant: one way to break the code."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """One way to break the code.

    Attributes
    ----------
    name : str
        What is broken, in words.
    file : str
    old, new : str
        A piece of the file, there exactly once, and what to put there instead.
    tests : tuple of str
        The tests that must notice, as pytest takes them.
    """

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def applied(self, text: str) -> str:
        """The text of the file, broken.

        Raises
        ------
        ValueError
            If the piece is not there exactly once.
        """
        if text.count(self.old) != 1:
            raise ValueError(f"{self.file} has this {text.count(self.old)} times, not once: {self.old!r}")
        return text.replace(self.old, self.new)
