"""Writes the functions of the text (source says what they do)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from ....core.mix import word_key
from ....core.program.program import Node, Operand, Program
from ....core.tag import site_key
from ....core.types import HandleType, Type
from ....core.value import Literal
from ..jit import kernels
from ..jit.state import DEPTH, ELSEWHERE, MEMORY, OPERANDS, SLOT, STACK, TRAP
from . import adjoint_sums as sums
from . import cells, effects, fused, layout, loops, moves, products
from . import elementwise as arrays
from . import records as recording
from .chains import Chain, planned
from .components import recur
from .elementwise import Turned, Value
from .facts import Fact, Known, either
from .layout import Component
from .phases import Begun, Key, Phase
from .records import Record
from .support import draws, is_short, left_to_python, takes_long
from .tape_layout import Kept
from .text import Text, Trapping

AGAIN, NOTHING = "again", "nothing"
"""What a function calls itself, and what gives its result where it means nothing."""


class _Asked(NamedTuple):
    """What has been asked on every way to here: how much deeper tags may go, and whether the stack may be longer."""

    levels: int
    stack: bool


class Writer:
    """Writes one function of the text."""

    def __init__(
        self,
        program: Program,
        made: Text,
        kept: Mapping[str, Kept],
        whose: Mapping[Key, Component],
        component: Component,
    ) -> None:
        self.program, self.made, self.kept, self.whose, self.own = program, made, kept, whose, component
        self.indent = 1
        self.count = 0
        self.function = ""
        self.loops: list[tuple[int, str]] = []
        """The loops around: the number of the site, and the variable that counts."""
        self.keys = ["key"]
        self.asked = _Asked(0, False)
        self.begin = 0
        self.known = Known()
        self.spent = set[str]()  # the operands of the node that is being written which are own, and not used after it
        self.found = dict[Key, list[Fact]]()  # what is known of the results of phases

    def line(self, text: str) -> None:
        self.made.lines.append(" " * self.indent + text)

    @contextmanager
    def inside(self, head: str) -> Iterator[None]:
        """What is written meanwhile is one deeper, and what is asked there is not asked outside."""
        self.line(head)
        self.indent += 1
        asked = self.asked
        yield
        self.asked = asked
        self.indent -= 1

    @contextmanager
    def outlined(self) -> Iterator[tuple[str, str]]:
        """What is written meanwhile is a function before this one, of a name, of the address of words, and of `first`
        and `last`; if there is none that does the same: see `Text.alike`."""
        name, words = self.fresh(f"{self.own.name}_"), self.fresh("c")
        outside, indent = self.made.lines, self.indent
        self.made.lines, self.indent = [], 1
        yield name, words
        numbers: dict[str, str] = {}
        alike = "\n".join(
            re.sub(r"\b[a-z]\d+\b", lambda found: numbers.setdefault(found[0], f"{found[0][0]}{len(numbers)}"), line)
            for line in self.made.lines
        )
        if alike not in self.made.outlined:
            self.made.outlined[alike] = name
            head = ["@kernel(void(int64, int64, int64), cache=True)", f"def {name}({words}, first, last):"]
            outside[self.begin : self.begin] = [*head, *self.made.lines, f"{name} = w.there({name})"]
        self.made.alike[name] = self.made.outlined[alike]
        self.made.lines, self.indent = outside, indent

    def fresh(self, of: str = "v") -> str:
        self.count += 1
        return f"{of}{self.count}"

    def variable(self, type_: Type) -> str:
        """A variable for values of a type; of a handle of cells, two in parentheses."""
        return f"({self.fresh()}, {self.fresh()})" if isinstance(type_.dtype, HandleType) else self.fresh()

    def named(self, text: str, type_: Type) -> str:
        """A value as text that is no more than names: a handle is taken apart once, and not wherever it is used."""
        if not isinstance(type_.dtype, HandleType):
            return text
        name = self.variable(type_)
        self.line(f"{name} = {text}")
        return name

    def component(self) -> None:
        own, self.begin = self.own, len(self.made.lines)
        slots = [f"x{at}" for at in range(len(own.parameters))]
        names = [*(name for name, _ in own.hidden), *slots]
        if recur(own.members):
            self.made.lines.append(f"{AGAIN} = m.again({own.signature})")
        if own.has_arrays:
            self.made.lines.append(f"{NOTHING} = m.nothing({layout.returned(own.results)})")
        self.made.lines += [f"@kernel({own.signature}, cache=True)", f"def {own.name}({', '.join(names)}):"]
        for number, member in enumerate(own.members):
            self.function = member.function.name
            given = [slots[at] for at in layout.places(layout.slots(member.parameters), own.parameters)]
            if len(own.members) == 1:
                self.body(member, given)
                return
            with self.inside(f"if which == {number}:"):
                self.body(member, given)
        self.line(self.nothing)

    def body(self, phase: Phase, given: Sequence[str]) -> None:
        """One phase of a function. Where that has no further ones, its record is its own affair."""
        kept, address, before = self.kept[phase.function.name], "record", None
        if not phase.function.pullbacks and not kept.is_empty:
            before = recording.mark(self)
            address = loops.room(self, kept)
        made = self.region(Record(address, kept), phase.number, list(map(self.named, given, phase.parameters)))
        if not phase.number:
            made = list(map(self.solid, made))
        self.found[phase.key] = self.known.of(made)
        if before:
            recording.release(self, before)
        self.line(f"return {layout.result(layout.filled(made, layout.slots(phase.results), self.own.results))}")

    @property
    def nothing(self) -> str:
        """The return of a function that is left."""
        made = f"{NOTHING}()" if self.own.has_arrays else layout.result(list(map(layout.zero, self.own.results)))
        return f"return {made}"

    def leave(self, why: str | None = None, *, notes: bool = False) -> None:
        if why is not None:
            self.line(why)
        for site, count in reversed(self.loops) if notes else ():
            self.line(f"m.note(s, {site}, {count})")
        self.line(self.nothing)

    def ask(self, levels: int, *, stack: bool) -> None:
        """Whether the tag may be so much deeper here, and the stack longer, where that has not been asked."""
        if levels <= self.asked.levels and (self.asked.stack or not stack):
            return
        longer = "m.stack() < m.read_i(s, 3) or " if stack else ""  # in this order: fib(32) takes 6 % less
        with self.inside(f"if {longer}left < {levels}:"):
            self.leave(f"m.leave(s, {DEPTH} if left < {levels} else {STACK}, 0)")
        self.asked = _Asked(max(levels, self.asked.levels), stack or self.asked.stack)

    def site(self, node: Node) -> int:
        self.made.sites.append(node.site(self.function))
        return len(self.made.sites) - 1

    def child(self, node: Node, count: str) -> str:
        """The key of the tag of a call or an iteration here."""
        return f"d.child({self.keys[-1]}, uint64({site_key(node.site(self.function))}), uint64({count}))"

    def region(self, record: Record, number: int, given: Sequence[str]) -> list[str]:
        """Write the nodes of a phase; text of the results."""
        kept = record.kept
        phase, whole, opened = kept.phases[number], kept.whole(number), recording.Opened(self, kept, number)
        values: dict[Operand, Value] = {
            var.name: Value(text, var.type) for var, text in zip(phase.parameters, given, strict=True)
        }

        def value(operand: Operand) -> Value:
            if isinstance(operand, Literal):
                return self.literal(operand)
            if operand not in values:
                values[operand] = recording.read(self, record, operand)
            return values[operand]

        def there(operand: Operand) -> Value:
            found = value(operand)
            return found if isinstance(found, Turned) else found._replace(text=self.solid(found.text))

        plan = sums.plan(whole)
        for node in planned(whole, plan.apart):
            if isinstance(node, Chain):
                values.update(fused.chain(self, node, there))
                self.known.own |= {values[each].text for loop in node.loops for each in loop.kept}
                continue
            if node.name in plan.skipped:
                if node.name in plan.turned:
                    values[node.name] = Turned(there(node.inputs[0]).text, node.results[0].type)
                continue
            if node.name in plan.apart:
                values[node.name] = Value(sums.apart(self, plan, node, value, there), node.results[0].type)
                continue
            inputs = list(map(there, node.inputs))
            texts = [each.text for each in inputs]
            self.spent = plan.spent(node, value) & self.known.own
            if not sums.is_fresh(node.op):
                self.known.share(texts)
            opened.before(node.name)
            match node.op:
                case "cond":
                    results = self.cond(record, node, texts)
                case "while_loop":
                    results = loops.first(self, record, node, texts)
                case "call":
                    results = self.call(record, node, Begun(node, 0), texts)
                case "pullback":
                    results = self.pullback(record, node, texts)
                case "breakpoint" | "identity" | "stop_gradient":
                    results = texts
                case _:
                    results = [self.compute(node, inputs, texts)]
                    if takes_long(node) and not is_short(node, [each.type for each in inputs]):
                        self.look()
            opened.after(node.name)
            if sums.is_fresh(node.op):
                self.known.own.update(results)
            if node.op == "scatter_index":
                self.known.clean.difference_update(results)
            values.update((var.name, Value(text, var.type)) for var, text in zip(node.results, results, strict=True))
        made = [value(result).text for result in phase.results]
        for name in kept.written(number):
            recording.write(self, record, name, there(name))
            self.known.share([values[name].text])
        return made

    def solid(self, text: str) -> str:
        """A variable; if it may be zeros that are not written, they are written now."""
        if text in self.known.blank:
            self.line(f"{text} = e.solid({text})")
            self.known.blank.discard(text)
        return text

    def literal(self, literal: Literal) -> Value:
        if literal.type.is_scalar:
            return Value(kernels.constant(literal.value, literal.type.dtype), literal.type)
        return Value(arrays.literal(self, np.asarray(literal.value), literal.type), literal.type)

    def compute(self, node: Node, inputs: Sequence[Value], texts: Sequence[str]) -> str:
        result = node.results[0].type
        if draws(node):
            return arrays.drawn(self, node, inputs)
        if node.op in effects.NAMES:
            return effects.written(self, node, inputs)
        if left_to_python(node):
            return moves.written(self, node, inputs) or effects.written(self, node, inputs)
        if node.op in products.NAMES:
            return products.written(self, node, list(inputs))
        if node.op in cells.WRITTEN:
            return cells.WRITTEN[node.op](self, node, inputs)
        if not result.is_scalar:
            return arrays.elementwise(self, node, inputs)
        types = [each.type for each in inputs]
        condition = kernels.trap_condition(node.op, types, result, texts)
        if condition is not None:
            self.trap(node, inputs, condition)
        return self.made_of(kernels.expression(node.op, types, result, node.attributes, texts))

    def made_of(self, text: str) -> str:
        """A variable for this."""
        name = self.fresh()
        self.line(f"{name} = {text}")
        return name

    def trap(self, node: Node | Chain, inputs: Sequence[Value], condition: str) -> None:
        """A node has no value, on a condition."""
        with self.inside(f"if {condition}:"):
            self.hold(inputs)
            self.leave(f"m.leave(s, {TRAP}, {self.number(node, inputs)})", notes=True)

    def hold(self, inputs: Sequence[Value]) -> None:
        """Operands go where whoever waits for the run finds them."""
        for at, (text, type_) in enumerate(inputs):
            self.line(f"m.{'write' if type_.is_scalar else 'hold'}(s, {OPERANDS + SLOT * at}, {text})")

    def too_large(self, node: Node | Chain, inputs: Sequence[Value], condition: str) -> None:
        """What a node makes is too large, on a condition."""
        with self.inside(f"if {condition}:"):
            self.leave(f"m.leave(s, {MEMORY}, {self.number(node, inputs)})")

    def elsewhere(self, condition: str) -> None:
        """Only a machine with tokens goes on, on a condition."""
        if condition != "False":
            with self.inside(f"if {condition}:"):
                self.leave(f"m.leave(s, {ELSEWHERE}, 0)")

    def number(self, node: Node | Chain, inputs: Sequence[Value]) -> int:
        self.made.trapping.append(Trapping(self.function, node, tuple(type_ for _, type_ in inputs)))
        return len(self.made.trapping) - 1

    def draw_key(self, node: Node) -> str:
        where = word_key(f"{self.function}.{node.name}")
        return self.made_of(f"d.base(m.read_u(s, 6), uint64({where}), {self.keys[-1]})")

    def cond(self, record: Record, node: Node, texts: Sequence[str]) -> list[str]:
        if node.name in record.kept.below:
            self.line(f"m.write({record.address}, {record.kept.below[node.name]}, {texts[0]})")
        return self.taken(record, node, Begun(node, 0), texts[0], texts[1:])

    def taken(self, record: Record, node: Node, begun: Begun, predicate: str, texts: Sequence[str]) -> list[str]:
        """A phase of the branch that is taken."""
        names, facts = [self.variable(result.type) for result in node.results], list[list[Fact]]()
        for head, inner in zip((f"if {predicate}:", "else:"), record.kept.inner[begun.root.name], strict=True):
            with self.inside(head):
                made = self.region(Record(record.address, inner), begun.number, texts)
                facts.append(self.known.of(made))
                for name, text in zip(names, made, strict=True):
                    self.line(f"{name} = {text}")
                if not names:
                    self.line("pass")
        for name, *each in zip(names, *facts, strict=True):
            self.known.add(name, either(each))
        return names

    def pullback(self, record: Record, node: Node, texts: Sequence[str]) -> list[str]:
        """A further phase of a call, cond or loop."""
        begun = record.kept.begun[node.name]
        match begun.root.op:
            case "cond":
                at = record.kept.below[begun.root.name]
                predicate = self.made_of(f"m.read_b({record.address}, {at})")
                return self.taken(record, node, begun, predicate, texts)
            case "while_loop":
                types = [result.type for result in node.results]
                return loops.further(self, record, begun.root, begun.number, types, texts)
            case _:
                return self.call(record, node, begun, texts)

    def call(self, record: Record, node: Node, begun: Begun, texts: Sequence[str]) -> list[str]:
        """A phase of a function."""
        callee = Phase(self.program[begun.root.attribute("function")], begun.number)
        component, levels = self.whose[callee.key], len(self.loops) + 1
        self.ask(levels, stack=True)
        hidden = {
            "s": "s",
            "left": f"left - {levels}",
            "record": f"int64({self.record_of(record, begun)})" if component.recorded else "",
            "key": self.child(begun.root, "0") if component.keyed else "",
            "which": f"int64({component.position(callee.key)})",
        }
        slots = layout.filled(texts, layout.slots(callee.parameters), component.parameters)
        name = self.fresh()
        called = AGAIN if component is self.own else component.name
        self.line(f"{name} = {called}({', '.join([*(hidden[each] for each, _ in component.hidden), *slots])})")
        with self.inside("if m.read_i(s, 0) != 0:"):
            self.leave(f"m.note(s, {self.site(begun.root)}, 0)", notes=True)
        places = layout.places(layout.slots(callee.results), component.results)
        texts = [f"{name}[{place}]" if len(component.results) > 1 else name for place in places]
        texts = [self.named(text, result.type) for text, result in zip(texts, node.results, strict=True)]
        facts = self.made.facts[callee.key]
        texts = [self.made_of(text) if fact.blank else text for text, fact in zip(texts, facts, strict=True)]
        for text, fact in zip(texts, facts, strict=True):
            self.known.add(text, fact)
        return texts

    def record_of(self, record: Record, begun: Begun) -> str:
        """The record of a call, which the first phase makes."""
        callee, at = self.kept[begun.root.attribute("function")], record.kept.below.get(begun.root.name)
        if at is None or callee.is_empty:
            return "0"
        if begun.number:
            return self.made_of(f"m.read_i({record.address}, {at})")
        made = loops.room(self, callee)
        self.line(f"m.write({record.address}, {at}, {made})")
        return made

    @contextmanager
    def under(self, loop: Node, count: str) -> Iterator[None]:
        """What is written meanwhile is in an iteration of a loop."""
        key = self.keys[-1]
        if self.own.keyed and any(self.is_keyed(each) for region in loop.regions for each in region.walk()):
            key = self.fresh("key")
            self.line(f"{key} = {self.child(loop, count)}")
        self.keys.append(key)
        yield
        self.keys.pop()

    def look(self) -> None:
        """Whether whoever waits wants to end it."""
        with self.inside("if m.look(s) != 0:"):
            self.leave()

    def is_keyed(self, node: Node) -> bool:
        return draws(node) or (node.op == "call" and self.whose[node.attribute("function"), 0].keyed)
