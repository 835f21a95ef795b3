"""Random functions on objects: attributes, aliases, classes, loops, exits, recursion and exceptions, and calls of them.

A program is text; its functions take two objects of a linked class and a number. It reads and writes attributes, and
may raise, as Python does.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

CLASSES = """
from dataclasses import dataclass, field


class Item:
    scale = 3

    def __init__(self, n, x, link=None):
        self.n, self.x, self.link = n, x, link
        self.items, self.table = [n, 2], {"n": n, "owner": link}

    def add(self, k):
        self.n = self.n + k
        return self.n

    @property
    def size(self):
        return self.n * self.scale


class Special(Item):
    def add(self, k):
        self.x = self.x + 0.5
        return k - self.n


@dataclass
class Pair:
    n: int
    link: object = None
    parts: list = field(default_factory=list)
    made = 0

    def __post_init__(self):
        Pair.made += 1

    def __add__(self, other):
        return Pair(self.n + other.n, self)

    def __lt__(self, other):
        return self.n < other.n

    def __getitem__(self, position):
        return self.parts[position]

    def __str__(self):
        return f"{self.n} of {len(self.parts)}"


class Triple(Pair):
    def __init__(self, n, third):
        super().__init__(n)
        if third is not None:
            self.third = third
        self.last = n

    @property
    def twice(self):
        return 2 * self.n

    @twice.setter
    def twice(self, n):
        self.n = n

    @classmethod
    def of(cls, n):
        return cls(n, None)


TOTAL = 0
"""


class _Writer:
    def __init__(self, draw: random.Random) -> None:
        self.draw, self.depth = draw, 0

    def number(self, depth: int = 2) -> str:
        """An int expression."""
        draw = self.draw
        leaves = [
            "k",
            "m",
            "a.n",
            "b.n",
            "TOTAL",
            "a.size",
            str(draw.randrange(-3, 9)),
            f"helper(a, {draw.randrange(4)})",
            *self.other_numbers(),
        ]
        if depth == 0 or draw.random() < 0.3:
            return draw.choice(leaves)
        one, other = self.number(depth - 1), self.number(depth - 1)
        return draw.choice(
            [
                f"({one} {draw.choice('+-*')} {other})",
                f"({one} // {other})",
                f"({one} % {other})",
                f"({one} if {self.test(depth - 1)} else {other})",
                f"max({one}, {other})",
                f"abs({one})",
                f"{self.item()}.add({one})",
                f"({one} and {other})",
            ]
        )

    def other_numbers(self) -> list[str]:
        """More int expressions."""
        return []

    def other_statements(self) -> list[Callable[[], list[str]]]:
        """More statements without a block."""
        return []

    def test(self, depth: int = 1) -> str:
        """A condition."""
        draw = self.draw
        tests = [
            f"{self.number(0)} {draw.choice(['<', '<=', '==', '!=', '>'])} {self.number(0)}",
            f"{self.item()} is {self.item()}",
            f"{self.item()}.link is None",
            f"{self.item()}.link is not None",
            f"isinstance({self.item()}, Special)",
            f"a.x {draw.choice(['<', '>'])} b.x",
        ]
        if depth == 0 or draw.random() < 0.6:
            return draw.choice(tests)
        one, other = self.test(depth - 1), self.test(depth - 1)
        return draw.choice([f"({one} and {other})", f"({one} or {other})", f"not ({one})"])

    def item(self) -> str:
        return self.draw.choice(["a", "b", "a", "b", "c"])

    def statement(self, depth: int, in_loop: bool) -> list[str]:
        """The lines of a statement."""
        draw = self.draw
        simple = [
            *self.other_statements(),
            lambda: [f"{self.item()}.n = {self.number()}"],
            lambda: [f"{self.item()}.n += {self.number(1)}"],
            lambda: [f"{self.item()}.x = {self.item()}.x * {draw.choice(['0.5', '1.5', 'a.n'])}"],
            lambda: [f"{self.item()}.link = {draw.choice(['a', 'b', 'c', 'None'])}"],
            lambda: [f"{draw.choice('km')} = {self.number()}"],
            lambda: [f"c = {draw.choice(['a', 'b', 'a.link', 'b.link'])}"],
            lambda: [f"a, b = b, {draw.choice(['a', 'c'])}"],
            lambda: [f"TOTAL = TOTAL + {self.number(1)}"],
            lambda: [f"late = {self.number(0)}"],
        ]
        if depth == 0 or draw.random() < 0.45:
            return draw.choice(simple)()
        kind = draw.randrange(7)
        if kind <= 2:
            lines = [f"if {self.test()}:", *self.block(depth - 1, in_loop)]
            if draw.random() < 0.6:
                lines += ["else:", *self.block(depth - 1, in_loop)]
            return lines
        if kind == 3:
            name = draw.choice("ij")
            lines = [
                f"for {name} in range({draw.choice(['3', '4', 'k % 4', 'b.n % 5'])}):",
                *self.block(depth - 1, True),
            ]
            return lines + (["else:", *self.block(0, in_loop)] if draw.random() < 0.3 else [])
        if kind == 4:
            self.depth += 1
            counter = f"w{self.depth}"
            body = [f"    {counter} += 1", *self.block(depth - 1, True)]
            return [f"{counter} = 0", f"while {counter} < {draw.randrange(1, 5)} and {self.test(0)}:", *body]
        if kind == 5 and in_loop:
            return [f"if {self.test()}:", f"    {draw.choice(['break', 'continue'])}"]
        endings = ["return a, k", "return c", "raise ValueError('no')", "return late", "return a.x"]
        return [f"if {self.test()}:", f"    {draw.choice([f'return {self.number()}', *endings])}"]

    def block(self, depth: int, in_loop: bool) -> list[str]:
        count = self.draw.randrange(1, 3 if depth else 2)
        return [f"    {line}" for _ in range(count) for line in self.statement(depth, in_loop)]


class _ContainerWriter(_Writer):
    """Programs with lists and dicts, which objects share, too."""

    def other_numbers(self) -> list[str]:
        one = self.item()
        position = self.draw.choice(["0", "1", "-1", "k", "m", "-2"])
        return [f"len({one}.items)", f"{one}.items[{position}]", f"{one}.table['n']", f"({one}.items is b.items)"]

    def other_statements(self) -> list[Callable[[], list[str]]]:
        draw, one = self.draw, f"{self.item()}.items"
        owner = draw.choice(["a", "b", "c", "None"])
        return [
            lambda: [f"{one}.append({self.number(1)})"],
            lambda: [f"{one}[{draw.choice(['0', '-1', 'k'])}] = {self.number(1)}"],
            lambda: [f"{one}[0] += {self.number(0)}"],
            lambda: [f"if {one}:", f"    m = {one}.pop()"],
            lambda: [f"for x in {one}:", f"    {draw.choice(['m = m + x', 'k = x', self.item() + '.n = x'])}"],
            lambda: [f"for i, x in enumerate({one}):", "    m = i - x"],
            lambda: [f"{self.item()}.items = {self.item()}.items"],
            lambda: [f"{self.item()}.table['n'] = {self.number(1)}"],
            lambda: [f"{self.item()}.table['owner'] = {owner}"],
            lambda: [f"c = {self.item()}.table['owner']"],
        ]


class _CreatingWriter(_ContainerWriter):
    """Programs that make objects and lists, print, and write attributes of classes, too."""

    def other_numbers(self) -> list[str]:
        own = ["p.n", "len(p.parts)", "Pair.made", "p.parts[0]", "len(q)", "p[-1]", "Item.scale"]
        more = ["sum([x for x in a.items if x > m])", "sum(y.n for y in q)", "(p < Pair(2))", "t.twice", "t.last"]
        return [*super().other_numbers(), *own, *more]

    def other_statements(self) -> list[Callable[[], list[str]]]:
        draw, one = self.draw, self.item()
        owner = draw.choice(["a", "b", "c", "None"])
        name = f"add{draw.randrange(1000)}"
        return [
            *super().other_statements(),
            lambda: [f"c = Item({self.number(1)}, 0.5, {owner})"],
            lambda: [f"{one} = Special(k, {draw.choice(['0.25', 'a.x'])})"],
            lambda: [f"p = {draw.choice(['Pair(k)', 'Pair(m, a, [k, 1])', 'p + Pair(m)', 'Pair(1, parts=q)'])}"],
            lambda: [f"p.parts.append({self.number(1)})"],
            lambda: [f"p.parts = [{self.number(1)}, m]", "p.link = q"],
            lambda: [f"q = [Pair(i) for i in range({draw.choice(['3', 'k % 4', 'm % 3'])})]"],
            lambda: ["q = q + [p]", "p.n += 1"],
            lambda: ["for y in q:", f"    y.n += {self.number(0)}"],
            lambda: [f"t = Triple({self.number(0)}, {draw.choice(['None', 'k', 'm'])})"],
            lambda: ["t = Triple.of(m)", f"t.twice = {self.number(1)}"],
            lambda: ["t.third = m", "k = t.third"],
            lambda: [f"print({self.number(1)}, k / 2, p)"],
            lambda: [f"print(f'{{a.n:4d}}{{b.x!r}}|{{p}}', end={draw.choice(['chr(10)', repr(';'), repr('')])})"],
            lambda: [f"{one}.label = f'{{k}}-{{m}}'", f"print({one}.label)"],
            lambda: [f"{draw.choice(['Item.scale', 'Pair.made'])} += {self.number(0)}"],
            lambda: ["try:", f"    m = {self.number(1)}", "finally:", f"    a.n += {self.number(0)}"],
            lambda: ["try:", f"    m = {self.number(1)}", "except (ZeroDivisionError, IndexError):", "    m = 7"],
            lambda: (
                [f"def {name}(y):", "    nonlocal m", f"    m = m + y * {self.number(0)}", "    return m - 1"]
                + [f"k = {name}(2)"]
            ),
            lambda: [
                f"r = {{'n': {self.number(0)}, 'p': p}}",
                "r['n'] += 1",
                f"{one}.table['owner'] = r['p'].link and b",
            ],
            lambda: ["m = sorted(a.items)[0]", f"k = {draw.choice(['max', 'min', 'sum'])}(b.items)"],
            lambda: ["if m in a.items:", "    m = a.items.index(m)"],
        ]


def write_object_program(seed: int, kind: type[_Writer] = _Writer) -> str:
    """The text of a module: two classes, a helper that may recur, and the function `program(a, b, k)`."""
    writer = kind(random.Random(seed))
    lines = ["    global TOTAL", "    c, m = a, 1"]
    if isinstance(writer, _CreatingWriter):
        lines.append("    p, q, t = Pair(k), [], Triple(m, None)")
    for _ in range(writer.draw.randrange(2, 6)):
        lines += [f"    {line}" for line in writer.statement(2, False)]
    lines.append("    return " + writer.draw.choice(["k", "a.n", "c", "(k, b.x)", "a is b", "m"]))
    helper = [
        "def helper(item, depth):",
        "    if item is None or depth <= 0:",
        f"        return {writer.draw.choice(['0', '1', 'depth'])}",
        f"    {writer.draw.choice(['item.n = item.n + 1', 'depth -= 0', 'item.x = -item.x'])}",
        f"    return {writer.draw.choice(['item.n', '1'])} + helper(item.link, depth - 1)",
    ]
    return "\n".join([CLASSES, *helper, "", "", "def program(a, b, k):", *lines, ""])


def write_container_program(seed: int) -> str:
    """The text of a module as `write_object_program` writes it, with lists and dicts."""
    return write_object_program(seed, _ContainerWriter)


def write_creating_program(seed: int) -> str:
    """The text of a module as `write_container_program` writes it, with new objects, printed text and more."""
    return write_object_program(seed, _CreatingWriter)


def write_calls(module: Any, seed: int, count: int) -> list[tuple[Any, ...]]:
    """Calls of `program`, which share objects."""
    draw = random.Random(seed)
    items: list[Any] = []
    for _ in range(4):
        kind = module.Special if draw.random() < 0.25 else module.Item
        items.append(kind(draw.randrange(-4, 9), draw.randrange(8) / 4, draw.choice([None, *items])))
    return [(draw.choice(items), draw.choice(items), draw.randrange(-2, 6)) for _ in range(count)]
