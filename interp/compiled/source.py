"""A structured program as Python text that numba compiles: loops are loops, calls are calls, values are variables.

What the text does is what the big-step evaluator does, one node after another. `s` is the state (jit.state), `left`
how much deeper tags may go from here, `key` the key of the tag, where random numbers want it. Wherever something must
end the run, it is said in the state, and every function that was called returns: the result then means nothing, and
who called asks the state and returns too. While they return, they note which calls and iterations they leave.

A function asks before its first call whether the tag may be deeper and the stack longer. A loop looks at the state
after each iteration, or, where it only counts, after STRIP of them: then numba may still unroll it. What may take long
is followed by a look of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from ...core.mix import word_key
from ...core.program import Node, Operand, Program, Region
from ...core.tag import site_key
from ...core.types import HandleType, Type
from ...core.value import Literal
from ..jit import kernels
from ..jit.kernels import LANES, lane
from ..jit.state import DEPTH, ELSEWHERE, MEMORY, OPERANDS, SLOT, STACK, TRAP
from . import arrays, cells, counting, effects, fused, layout, products
from .arrays import Value
from .chains import Chain, planned
from .components import components, reaching, recur
from .layout import Component
from .support import draws, left_to_python, takes_long
from .text import Text, Trapping

HEADER = f"""\
{kernels.HEADER}import numpy as np
from numba.types import Array, Tuple, void
from {__package__.rpartition(".")[0]}.jit import draws as d, machine as m
"""
FOR_ARRAYS = f"""\
from {__package__.rpartition(".")[0]}.jit import crew as w, loops as n, products as p, references as r
"""
AGAIN = "again"
"""What a function calls itself."""
STRIP = 4096
_OPTIONS = 'cache=True, error_model="numpy", nogil=True, no_cfunc_wrapper=True'


def text_of(program: Program, *, native: bool = False) -> Text:
    """The module of a program that is supported. Its `entry` takes the addresses of a state, of the words of the
    arguments, and of where the slots of the results go, how deep tags may go, the key of the root, and the arrays.

    If it is to be `native`, the program being of scalars, `entry` is a function of words, and Python's own."""
    made = Text(f"{HEADER}{'' if native else FOR_ARRAYS}".splitlines())
    keyed = reaching(program, draws)
    whose: dict[str, Component] = {}
    for number, members in enumerate(components(program)):
        name = members[0].name if members[0].name.isidentifier() and members[0].name.isascii() else ""
        component = Component(f"f{number}_{name}", members, members[0].name in keyed)
        whose.update({member.name: component for member in members})
        _Writer(program, made, whose, component).component()
    _entry(program, made, whose[program.entry], native)
    if native:
        made.lines = [line.replace("cache=True", "cache=False") for line in made.lines]
    return made


def _entry(program: Program, made: Text, component: Component, native: bool) -> None:
    main = program.main
    arguments, arrays = [], []
    for at, (_, type_) in enumerate(main.body.parameters):
        arguments.append(f"m.read_{lane(type_.dtype)}(a, {at})" if type_.is_scalar else f"g{at}")
        arrays += [] if type_.is_scalar else [(f"g{at}", layout.slot(type_))]
    hidden = ["s", "left", *["uint64(key)"] * component.keyed]
    hidden += [f"int64({component.position(main.name)})"] if len(component.members) > 1 else []
    signature = f"int64({', '.join(['int64'] * 5 + [slot for _, slot in arrays])})"
    slots = layout.filled(arguments, layout.slots(p.type for p in main.body.parameters), component.parameters)
    made.lines += [
        *([] if native else [f"@njit({signature}, {_OPTIONS})"]),
        f"def entry({', '.join(['s', 'a', 'r', 'left', 'key'] + [name for name, _ in arrays])}):",
        " m.write(s, 3, m.stack() - m.read_i(s, 3))",
        f" made = {component.name}({', '.join([*hidden, *slots])})",
        " if m.read_i(s, 0) != 0: return 0",  # arrays that mean nothing would be held for ever
    ]
    for at, place in enumerate(layout.places(layout.slots(main.results), component.results)):
        part = f"made[{place}]" if len(component.results) > 1 else "made"
        made.lines.append(f" m.{'write' if main.results[at].is_scalar else 'hold'}(r, {SLOT * at}, {part})")
    made.lines.append(" return 0")


class _Asked(NamedTuple):
    """What has been asked on every way to here: how much deeper tags may go, and whether the stack may be longer."""

    levels: int
    stack: bool


class _Writer:
    """Writes one function of the text."""

    def __init__(self, program: Program, made: Text, whose: dict[str, Component], component: Component) -> None:
        self.program, self.made, self.whose, self.own = program, made, whose, component
        self.indent = 1
        self.count = 0
        self.function = ""
        self.loops: list[tuple[int, str]] = []
        """The loops around: the number of the site, and the variable that counts."""
        self.keys = ["key"]
        self.asked = _Asked(0, False)
        self.begin = 0

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
        and `last`."""
        name, words = self.fresh(f"{self.own.name}_"), self.fresh("c")
        outside, indent = self.made.lines, self.indent
        self.made.lines, self.indent = [], 1
        yield name, words
        head = ["@kernel(void(int64, int64, int64), cache=True)", f"def {name}({words}, first, last):"]
        outside[self.begin : self.begin] = [*head, *self.made.lines]
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
        hidden = ["s", "left", *["key"] * own.keyed, *["which"] * (len(own.members) > 1)]
        if recur(own.members):
            self.made.lines.append(f"{AGAIN} = m.again({own.signature})")
        self.made.lines += [f"@kernel({own.signature}, cache=True)", f"def {own.name}({', '.join([*hidden, *slots])}):"]
        for number, member in enumerate(own.members):
            self.function = member.name
            wanted = layout.slots(parameter.type for parameter in member.body.parameters)
            given = [slots[at] for at in layout.places(wanted, own.parameters)]
            if len(own.members) == 1:
                self.body(member.body, given, layout.slots(member.results))
                return
            with self.inside(f"if which == {number}:"):
                self.body(member.body, given, layout.slots(member.results))
        self.line(self.nothing)

    def body(self, region: Region, given: Sequence[str], wanted: layout.Slots) -> None:
        types = [parameter.type for parameter in region.parameters]
        made = self.region(region, list(map(self.named, given, types)))
        self.line(f"return {layout.result(layout.filled(made, wanted, self.own.results))}")

    @property
    def nothing(self) -> str:
        """The return of a function that is left."""
        return f"return {layout.result(list(map(layout.zero, self.own.results)))}"

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

    def region(self, region: Region, given: Sequence[str]) -> list[str]:
        """Write the nodes; text of the results."""
        values: dict[Operand, Value] = {
            var.name: Value(text, var.type) for var, text in zip(region.parameters, given, strict=True)
        }

        def value(operand: Operand) -> Value:
            return self.literal(operand) if isinstance(operand, Literal) else values[operand]

        for node in planned(region):
            if isinstance(node, Chain):
                values.update(fused.chain(self, node, value))
                continue
            inputs = list(map(value, node.inputs))
            texts = [each.text for each in inputs]
            match node.op:
                case "cond":
                    results = self.cond(node, texts)
                case "while_loop":
                    results = self.loop(node, texts)
                case "call":
                    results = self.call(node, texts)
                case "breakpoint" | "identity" | "stop_gradient":
                    results = texts
                case _:
                    results = [self.compute(node, inputs, texts)]
                    if takes_long(node):
                        self.look()
            values.update((var.name, Value(text, var.type)) for var, text in zip(node.results, results, strict=True))
        return [value(result).text for result in region.results]

    def literal(self, literal: Literal) -> Value:
        if literal.type.is_scalar:
            return Value(kernels.constant(literal.value, literal.type.dtype), literal.type)
        return Value(arrays.literal(self, np.asarray(literal.value), literal.type), literal.type)

    def compute(self, node: Node, inputs: Sequence[Value], texts: Sequence[str]) -> str:
        result = node.results[0].type
        if draws(node):
            return arrays.drawn(self, node, inputs)
        if node.op in effects.NAMES or left_to_python(node):
            return effects.written(self, node, inputs)
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

    def cond(self, node: Node, texts: Sequence[str]) -> list[str]:
        names = [self.variable(result.type) for result in node.results]
        for head, region in zip((f"if {texts[0]}:", "else:"), node.regions, strict=True):
            with self.inside(head):
                made = self.region(region, texts[1:])
                for name, text in zip(names, made, strict=True):
                    self.line(f"{name} = {text}")
                if not names:
                    self.line("pass")
        return names

    def call(self, node: Node, texts: Sequence[str]) -> list[str]:
        callee = self.program[node.attribute("function")]
        component, levels = self.whose[callee.name], len(self.loops) + 1
        self.ask(levels, stack=True)
        hidden = ["s", f"left - {levels}"]
        hidden += [self.child(node, "0")] if component.keyed else []
        hidden += [f"int64({component.position(callee.name)})"] if len(component.members) > 1 else []
        wanted = layout.slots(parameter.type for parameter in callee.body.parameters)
        slots = layout.filled(texts, wanted, component.parameters)
        name = self.fresh()
        called = AGAIN if component is self.own else component.name
        self.line(f"{name} = {called}({', '.join([*hidden, *slots])})")
        with self.inside("if m.read_i(s, 0) != 0:"):
            self.leave(f"m.note(s, {self.site(node)}, 0)", notes=True)
        places = layout.places(layout.slots(callee.results), component.results)
        texts = [f"{name}[{place}]" if len(component.results) > 1 else name for place in places]
        return [self.named(text, result.type) for text, result in zip(texts, node.results, strict=True)]

    def loop(self, node: Node, texts: Sequence[str]) -> list[str]:
        """A loop; its variables are variables."""
        self.ask(len(self.loops) + 1, stack=False)
        count, names = self.fresh("n"), []
        for var, text in zip(node.regions[1].parameters, texts, strict=True):
            names.append(self.variable(var.type))
            slot = layout.slot(var.type)
            self.line(f"{names[-1]} = {LANES[slot]}({text})" if slot in LANES else f"{names[-1]} = {text}")
        self.line(f"{count} = 0")
        self.loops.append((self.site(node), count))
        counter = counting.counter(node)
        if counter is None:
            with self.inside("while True:"):
                self.iteration(node, names, count)
                self.look()
        else:
            self.counted(node, names, count, counter)
        self.loops.pop()
        return names

    def counted(self, node: Node, names: Sequence[str], count: str, counter: counting.Counter) -> None:
        """A loop that counts up to a bound, by strips."""
        index, stop = names[counter.index], self.fresh()
        bound = str(counter.bound) if counter.invariant is None else names[counter.invariant]
        strip = counter.step * STRIP
        with self.inside(f"while {index} < {bound}:"):
            self.line(f"{stop} = {bound}")
            with self.inside(f"if uint64({bound}) - uint64({index}) > uint64({strip}):"):
                self.line(f"{stop} = {index} + {strip}")
            with self.inside(f"while {index} < {stop}:"):
                self.iteration(node, names, count, decided=True)
            self.look()

    def iteration(self, node: Node, names: Sequence[str], count: str, *, decided: bool = False) -> None:
        if self.own.keyed and any(self.is_keyed(each) for region in node.regions for each in region.walk()):
            key = self.fresh("key")
            self.line(f"{key} = {self.child(node, count)}")
            self.keys.append(key)
        else:
            self.keys.append(self.keys[-1])
        if not decided:
            (going,) = self.region(node.regions[0], names)
            self.line(f"if not {going}: break")
        made = self.region(node.regions[1], names)
        changed = [(name, text) for name, text in zip(names, made, strict=True) if name != text]
        if changed:
            self.line(f"{', '.join(name for name, _ in changed)} = {', '.join(text for _, text in changed)}")
        self.line(f"{count} += 1")
        self.keys.pop()

    def look(self) -> None:
        """Whether whoever waits wants to end it."""
        with self.inside("if m.look(s) != 0:"):
            self.leave()

    def is_keyed(self, node: Node) -> bool:
        return draws(node) or (node.op == "call" and self.whose[node.attribute("function")].keyed)
