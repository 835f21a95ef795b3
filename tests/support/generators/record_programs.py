"""Generated Python programs with instances of a class, which have several names, change, and are compared by identity.

A program is a module with a class `Pair` of two numbers, and `f(n, m, p)`, of two ints and a bool. The class is a
dataclass, one that is compared by identity, or a class with an `__init__`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .python_programs import Number, PythonProgram

CLASSES = (
    "@dataclass\nclass Pair:\n    x: int\n    y: int\n",
    "@dataclass(eq=False)\nclass Pair:\n    x: int\n    y: int\n",
    "class Pair:\n    def __init__(self, x, y):\n        self.x, self.y = x, y\n",
)
HELPERS = """

def bump(one):
    one.x = (one.x + 1) % 50
    return one.y


def lesser(one, other):
    return one if one.x < other.x else other


def moved(one, k):
    return Pair((one.x + k) % 50, one.y)


def f(n, m, p):
    a, b, s, xs = Pair(n, 1), Pair(2, m), 0, []
    c = a
"""
RESULT = (
    "    return a.x, a.y, b.x, b.y, c.x, c.y, a is b, a is c, b is c, s, len(xs), sum(each.x for each in xs) % 50\n"
)


class RecordWriter:
    """Writes the statements of `f`."""

    def __init__(self, number: Number, size: int) -> None:
        self.number, self.budget, self.lines = number, size, list[str]()

    def pick(self, options: Sequence[Any]) -> Any:
        return options[self.number(0, len(options) - 1)]

    def name(self) -> str:
        """A variable that has a Pair."""
        return str(self.pick("abc"))

    def integer(self) -> str:
        return str(self.pick(["n", "m", "s", f"{self.name()}.x", f"{self.name()}.y", str(self.number(0, 5))]))

    def condition(self) -> str:
        one = f"{self.integer()} {self.pick(['<', '==', '>='])} {self.integer()}"
        return str(self.pick(["p", one, f"{self.name()} {self.pick(['is', 'is not', '==', '!='])} {self.name()}"]))

    def block(self, indent: int) -> None:
        for _ in range(self.number(1, 3)):
            self.statement(indent)

    def statement(self, indent: int) -> None:
        self.budget -= 1
        one, other = self.name(), self.name()
        new = f"Pair(({self.integer()} + 1) % 50, {self.integer()})"
        forms = [f"{one} = {new}", f"{one} = {other}", f"{one}.{self.pick('xy')} = {self.integer()}"]
        forms += [f"{one}.x = ({one}.x + {self.integer()}) % 50", f"{one}, {other} = {other}, {one}"]
        forms += [f"{one} = {other} if {self.condition()} else {self.pick([self.name(), new])}"]
        forms += [
            f"s = (s + bump({one})) % 50",
            f"{one} = lesser({other}, {self.name()})",
            f"s += int({one} is {other})",
        ]
        forms += [f"{one} = moved({other}, {self.integer()})", f"xs.append({self.pick([one, new])})"]
        kind = self.pick(["plain", "plain", "if", "for"]) if indent < 3 and self.budget > 0 else "plain"
        if kind == "plain":
            self.lines.append("    " * indent + self.pick(forms))
        elif kind == "if":
            self.lines.append("    " * indent + f"if {self.condition()}:")
            self.block(indent + 1)
            if self.pick([True, False]):
                self.lines.append("    " * indent + "else:")
                self.block(indent + 1)
        else:
            self.lines.append("    " * indent + f"for i in range({self.integer()} % 4):")
            self.block(indent + 1)


def write_record_program(number: Number, size: int = 7) -> PythonProgram:
    """A program of at least `size` statements, and its inputs, by the choices of `number`."""
    writer = RecordWriter(number, size)
    header = "from dataclasses import dataclass\n\n\n" + writer.pick(CLASSES) + HELPERS
    while writer.budget > 0:
        writer.statement(1)
    inputs = tuple((number(0, 6), number(-2, 9), bool(number(0, 1))) for _ in range(3))
    return PythonProgram(header + "\n".join(writer.lines) + "\n" + RESULT, inputs)
