"""A structured program as Python text that numba compiles: loops are loops, calls are calls, values are variables.

What the text does is what the big-step evaluator does, one node after another. `s` is the state (jit.state), `left`
how much deeper tags may go from here, `key` the key of the tag, where random numbers want it. Wherever something must
end the run, it is said in the state, and every function that was called returns: the result then means nothing, and
who called asks the state and returns too. While they return, they note which calls and iterations they leave.

A function asks before its first call whether the tag may be deeper and the stack longer. What may take long is followed
by a look of its own. Each phase of a function is a function of the text, which finds in a record what earlier ones left
to it (kept).

The functions are written by `writer`, one after another; here is what is around them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ....core.program.program import Program
from ....core.types import Type
from ..jit import kernels
from ..jit.kernels import lane
from ..jit.state import LIBRARY, LOWEST, RECORD, SLOT
from . import layout
from .components import components, reaching, recur
from .facts import Fact
from .layout import Component
from .phases import Key
from .support import draws
from .tape_layout import Kept, kept_of
from .text import Text
from .writer import Writer

HEADER = f"""\
{kernels.HEADER}import numpy as np
from numba.types import Array, Tuple, void
from {__package__.rpartition(".")[0]}.jit import random as d, machine as m, records
"""
FOR_ARRAYS = f"""\
from {__package__.rpartition(".")[0]}.jit import arrays as e, thread_pool as w, numpy_loops as n
from {__package__.rpartition(".")[0]}.jit import products as p, references as r
"""
SHORT = 40
"""How many lines a function has that is copied to where it is called. Longer ones are called where they are; to copy
them took two thirds of the time that a training step takes to compile."""
_OPTIONS = 'cache=True, error_model="numpy", nogil=True, no_cfunc_wrapper=True'


def text_of(program: Program, *, native: bool = False) -> Text:
    """The module of a program that is supported. Its `entry` takes the addresses of a state, of the words of scalars
    and slots of arrays that are given, and of where the slots of the results go, how deep tags may go, and the key of
    the root.

    If it is to be `native`, the program being of scalars, `entry` is a function of words, and Python's own."""
    made = Text(f"{HEADER}{'' if native else FOR_ARRAYS}".splitlines())
    keyed, whose = reaching(program, draws), dict[Key, Component]()
    kept = {function.name: kept_of(program, function) for function in program.reachable()}
    made.has_records = not all(each.is_empty for each in kept.values())
    for number, members in enumerate(components(program)):
        name, phase = members[0].key
        name = f"{name}_{phase}" if phase else name
        said = name if name.isidentifier() and name.isascii() else ""
        component = Component(f"f{number}_{said}", members, members[0].function.name in keyed)
        whose.update({member.key: component for member in members})
        before = len(made.lines)
        _written(program, made, kept, whose, component)
        if len(made.lines) - before > SHORT and not native:
            made.lines.append(f"{component.name} = m.apart({component.name})")
    _entry(program, made, whose[program.entry, 0], kept[program.entry], native)
    where = __package__.rpartition(".")[0]
    if any("moves(" in line for line in made.lines):
        made.lines.insert(0, f"from {where}.jit.moves import moves")
    called = {name for line in made.lines for name in re.findall(r"\b(\w+_float(?:32|64))\(s?", line)} & set(LIBRARY)
    if called:
        made.lines.insert(0, f"from {where}.jit.library import {', '.join(sorted(called))}")
    if native:
        made.lines = [line.replace("cache=True", "cache=False") for line in made.lines]
    return made


_MEMBER = re.compile(r"\b(k|d|m|records|e|w|n|p|r|np)\.(\w+)")


def plain(lines: Sequence[str]) -> str:
    """The text of a module in which what is of other modules has a name of its own: for numba, to look into a module is
    an instruction each time."""
    head = next(at for at, line in enumerate(lines) if not line.startswith("from ") and not line.startswith("import "))
    body = "\n".join(lines[head:])
    named = sorted({found.groups() for found in _MEMBER.finditer(body)})
    names = [f"{module}_{name} = {module}.{name}" for module, name in named]
    return "\n".join([*lines[:head], *names, _MEMBER.sub(r"\1_\2", body)])


def _written(
    program: Program, made: Text, kept: Mapping[str, Kept], whose: Mapping[Key, Component], component: Component
) -> None:
    """Write a function. Of what it gets from itself it is assumed that it is its own and clean; if that turns out to be
    wrong, it is written again with what was found."""
    if recur(component.members):
        made.facts |= {each.key: [_best(type_, each.number) for type_ in each.results] for each in component.members}
    while True:
        before, assumed = made.copy(), dict(made.facts)
        writer = Writer(program, made, kept, whose, component)
        writer.component()
        found = {key: _weaker(assumed.get(key, facts), facts) for key, facts in writer.found.items()}
        if not recur(component.members) or all(found[key] == assumed[key] for key in found):
            made.facts |= found
            return
        made.restore(before)
        made.facts |= found


def _best(type_: Type, phase: int) -> Fact:
    """What is assumed of a result; that it is not blank is asked of the first phase, and of no other."""
    return Fact() if type_.is_scalar else Fact(own=True, clean=True, blank=phase > 0)


def _weaker(assumed: Sequence[Fact], found: Sequence[Fact]) -> list[Fact]:
    pairs = zip(assumed, found, strict=True)
    return [Fact(one.own and other.own, one.clean and other.clean, one.blank or other.blank) for one, other in pairs]


def _entry(program: Program, made: Text, component: Component, kept: Kept, native: bool) -> None:
    main = program.main
    arguments, begin = list[str](), 0
    for _, type_ in main.body.parameters:
        kind = f"{layout.numpy(layout.element(type_.dtype))}, {layout.axes(type_)}"
        arguments.append(
            f"m.read_{lane(type_.dtype)}(a, {begin})" if type_.is_scalar else f"m.taken(a, {begin}, {kind})"
        )
        begin += 1 if type_.is_scalar else 2 + len(type_.shape or ())
    said = {"s": "s", "left": "left", "record": "record", "key": "uint64(key)"}
    said["which"] = f"int64({component.position((main.name, 0))})"
    hidden = [said[name] for name, _ in component.hidden]
    slots = layout.filled(arguments, layout.slots(p.type for p in main.body.parameters), component.parameters)
    made.lines += [
        *([] if native else [f"@njit(int64(int64, int64, int64, int64, int64), {_OPTIONS})"]),
        "def entry(s, a, r, left, key):",
        f" m.write(s, 3, max(m.stack() - m.read_i(s, 3), m.read_i(s, {LOWEST})))",
        *[f" begin = m.read_i(s, {RECORD})"] * made.has_records,
        *[f" record = records.room(s, {kept.size * made.has_records})"] * component.recorded,
        f" made = {component.name}({', '.join([*hidden, *slots])})",
        *[" records.release(s, begin, 0)"] * made.has_records,
        " if m.read_i(s, 0) != 0: return 0",  # arrays that mean nothing would be held for ever
    ]
    for at, place in enumerate(layout.places(layout.slots(main.results), component.results)):
        part = f"made[{place}]" if len(component.results) > 1 else "made"
        made.lines.append(f" m.{'write' if main.results[at].is_scalar else 'hold'}(r, {SLOT * at}, {part})")
    made.lines.append(" return 0")
