"""The text of loops: their first phase, which decides how many iterations there are, and further ones, which go through
the same iterations, from the last to the first and back again in turn.

A loop looks at the state after each iteration, or, where it only counts, after STRIP of them: then numba may still
unroll it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

from ....core.program.program import Node
from ....core.types import Type
from ..jit.kernels import LANES
from ..jit.state import ROOM
from . import counted_loops as counting
from . import layout
from .facts import Fact, Known
from .records import Record
from .tape_layout import AFTER, BEFORE, FIRST, LAST, TRIPS, Kept
from .text import Text

STRIP = 4096
_DEEP = 3
"""In how many loops what is known of loop variables is tried: each may be written twice."""


class Writer(Protocol):
    """Who writes the function that a loop is in."""

    loops: list[tuple[int, str]]
    made: Text
    asked: Any
    known: Known
    spent: set[str]

    def line(self, text: str) -> None: ...
    def made_of(self, text: str) -> str: ...
    def solid(self, text: str) -> str: ...
    def inside(self, head: str) -> AbstractContextManager[None]: ...
    def fresh(self, of: str = "v") -> str: ...
    def variable(self, type_: Type) -> str: ...
    def ask(self, levels: int, *, stack: bool) -> None: ...
    def site(self, node: Node) -> int: ...
    def under(self, node: Node, count: str) -> AbstractContextManager[None]: ...
    def region(self, record: Record, number: int, given: Sequence[str]) -> list[str]: ...
    def look(self) -> None: ...
    def leave(self, why: str | None = None, *, notes: bool = False) -> None: ...


def first(writer: Writer, record: Record, node: Node, texts: Sequence[str]) -> list[str]:
    """The first phase of a loop; its variables are variables."""
    return _Forwards(writer, record, node, texts).written()


def further(
    writer: Writer, record: Record, root: Node, number: int, types: Sequence[Type], texts: Sequence[str]
) -> list[str]:
    """A further phase of the loop `root`."""
    begins = [Fact(text in writer.spent and len(writer.loops) < _DEEP, text in writer.known.clean) for text in texts]
    while True:
        before = writer.made.copy(), writer.known.copy(), writer.asked
        names, held = _back(writer, record, root, number, types, texts, begins)
        if held == begins:
            return names
        made, known, writer.asked = before
        writer.made.restore(made)
        writer.known.restore(known)
        begins = held


def _back(
    writer: Writer,
    record: Record,
    root: Node,
    number: int,
    types: Sequence[Type],
    texts: Sequence[str],
    assumed: Sequence[Fact],
) -> tuple[list[str], list[Fact]]:
    """A further phase of a loop, if so much holds of its variables in all iterations; and what does."""
    names = _variables(writer, types, texts)
    for name, fact in zip(names, assumed, strict=True):
        writer.known.add(name, fact)
    body, address = record.kept.inner[root.name][1], record.address
    at, is_back = record.kept.below[root.name], number % 2 == 1
    inner = writer.made_of("0" if body.is_empty else f"m.read_i({address}, {at + (LAST if is_back else FIRST)})")
    trips, count = writer.made_of(f"m.read_i({address}, {at + TRIPS})"), writer.fresh("n")
    writer.line(f"{count} = {f'{trips} - 1' if is_back else '0'}")
    going = f"{count} >= 0" if is_back else f"{count} < {trips}"
    with _looping(writer, root, count), writer.inside(f"while {going}:"):
        with writer.under(root, count):
            made = list(map(writer.solid, writer.region(Record(inner, body), number, names)))
            facts = writer.known.of(made)
            _pass_on(writer, names, made)
        if not body.is_empty:
            writer.line(f"{inner} = m.read_i({inner}, {BEFORE if is_back else AFTER})")
        writer.line(f"{count} {'-' if is_back else '+'}= 1")
        writer.look()
    pairs = zip(assumed, facts, strict=True)
    return names, [Fact(one.own and other.own, one.clean and other.clean) for one, other in pairs]


@contextmanager
def _looping(writer: Writer, node: Node, count: str) -> Iterator[None]:
    """What is written meanwhile is in a loop."""
    writer.ask(len(writer.loops) + 1, stack=False)
    writer.loops.append((writer.site(node), count))
    yield
    writer.loops.pop()


def _variables(writer: Writer, types: Sequence[Type], texts: Sequence[str]) -> list[str]:
    """Variables that begin with these values."""
    names = []
    for type_, text in zip(types, texts, strict=True):
        names.append(writer.variable(type_))
        slot = layout.slot(type_)
        writer.line(f"{names[-1]} = {LANES[slot]}({text})" if slot in LANES else f"{names[-1]} = {text}")
    return names


def _pass_on(writer: Writer, names: Sequence[str], made: Sequence[str]) -> None:
    """What an iteration made is what the next one begins with."""
    changed = [(name, text) for name, text in zip(names, made, strict=True) if name != text]
    if changed:
        writer.line(f"{', '.join(name for name, _ in changed)} = {', '.join(text for _, text in changed)}")


class _Forwards:
    """Writes the first phase of a loop."""

    def __init__(self, writer: Writer, record: Record, node: Node, texts: Sequence[str]) -> None:
        self.writer, self.record, self.node = writer, record, node
        self.names = _variables(writer, [var.type for var in node.regions[1].parameters], texts)
        self.deciding, self.body = record.kept.inner[node.name]
        self.further = record.kept.further[node.name]
        self.count = writer.fresh("n")
        self.last, self.first = "0", "0"
        """The records of the last iteration so far, and of the first."""

    def written(self) -> list[str]:
        writer = self.writer
        writer.line(f"{self.count} = 0")
        if self.is_recorded:
            self.last, self.first = writer.made_of("0"), writer.made_of("0")
        with _looping(writer, self.node, self.count):
            counter = counting.counter(self.node)
            if counter is None:
                with writer.inside("while True:"):
                    self.iteration()
                    writer.look()
            else:
                self.counted(counter)
        if self.further:
            address, at = self.record.address, self.record.kept.below[self.node.name]
            for word, text in ((LAST, self.last), (FIRST, self.first), (TRIPS, self.count)):
                writer.line(f"m.write({address}, {at + word}, int64({text}))")
        return self.names

    @property
    def is_recorded(self) -> bool:
        """Whether each iteration has a record."""
        return bool(self.further) and not self.body.is_empty

    def counted(self, counter: counting.Counter) -> None:
        """A loop that counts up to a bound, by strips of so many iterations: the last one may wrap, and the loop goes
        on."""
        writer, names = self.writer, self.names
        index, stop = names[counter.index], writer.fresh()
        bound = str(counter.bound) if counter.invariant is None else names[counter.invariant]
        with writer.inside(f"while {index} < {bound}:"):
            after = f"(uint64({bound}) - uint64({index}) - uint64(1)) // uint64({counter.step})"
            writer.line(f"{stop} = {self.count} + int64(min({after}, uint64({STRIP - 1}))) + 1")
            with writer.inside(f"while {self.count} < {stop}:"):
                self.iteration(decided=True)
            writer.look()

    def iteration(self, *, decided: bool = False) -> None:
        writer = self.writer
        with writer.under(self.node, self.count):
            if not decided:
                (going,) = writer.region(Record(self.record.address, self.deciding), 0, self.names)
                writer.line(f"if not {going}: break")
            inner = self.begun() if self.is_recorded else self.record.address
            made = writer.region(Record(inner, self.body), 0, self.names)
            _pass_on(writer, self.names, list(map(writer.solid, made)))
            writer.line(f"{self.count} += 1")

    def begun(self) -> str:
        """The record of an iteration that begins; those of its neighbours are told, where somebody asks."""
        writer, last = self.writer, self.last
        inner = room(writer, self.body)
        writer.line(f"m.write({inner}, {BEFORE}, {last})")
        if self.further > 1:
            with writer.inside(f"if {last} == 0:"):
                writer.line(f"{self.first} = {inner}")
            with writer.inside("else:"):
                writer.line(f"m.write({last}, {AFTER}, {inner})")
        writer.line(f"{last} = {inner}")
        return inner


def room(writer: Writer, kept: Kept) -> str:
    """A new record."""
    made = writer.made_of(f"records.room(s, {kept.size})")
    with writer.inside(f"if {made} == 0:"):
        writer.leave(f"m.leave(s, {ROOM}, 0)")
    return made
