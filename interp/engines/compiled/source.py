"""The code generator: a structured program as Python source that numba compiles. Loops become loops, calls become
calls, values become variables.

The generated code evaluates nodes in the order of the big-step evaluator. Its variable `s` is the address of the state
(jit.state), `left` is how many tag levels remain, and `key` is the tag key, passed only where random numbers need it.
To end a run early, code writes the reason into the state and returns; each caller then checks the state and returns
too. Results are meaningless after that. While they return, functions record the calls and iterations that they leave:
these are the steps of the tag.

A function checks depth and stack before its first call. An operation that may take long is followed by a poll. Each
phase of a function is a generated function of its own, which reads what earlier phases saved from a record
(tape_layout).

`writer` emits the functions one by one; this module emits the module around them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ....core.program.program import Program
from ....core.types import Type
from ..jit import kernels
from ..jit.kernels import lane
from ..jit.state import MATMUL_FUNCTIONS, SLOT_WORDS, STACK_FLOOR, TAPE_NEXT
from . import layout
from .components import functions_reaching, is_recursive_group, strongly_connected_components
from .facts import ArrayFacts
from .layout import PhaseGroup
from .phases import PhaseKey
from .support import is_draw
from .tape_layout import TapeLayout, function_tape_layout
from .text import GeneratedModule
from .writer import FunctionEmitter

HEADER = f"""\
{kernels.HEADER}import numpy as np
from numba.types import Array, Tuple, void
from {__package__.rpartition(".")[0]}.jit import random as d, machine as m
"""
ARRAY_HEADER = f"""\
from {__package__.rpartition(".")[0]}.jit import arrays as e, thread_pool as w, numpy_loops as n
from {__package__.rpartition(".")[0]}.jit import matrices as p
"""
MAX_INLINE_LINES = 40
"""The most lines of a function that LLVM may inline. Longer ones stay calls: inlining them took two thirds of the
compile time of a training step."""
_NJIT_OPTIONS = 'cache=True, error_model="numpy", nogil=True, no_cfunc_wrapper=True'


def emit_module(program: Program, *, native: bool = False) -> GeneratedModule:
    """Generate the module of a supported program.

    `entry` takes the addresses of the state, of the arguments and of the results, how deep tags may go, and the key of
    the root tag. With `native`, which only programs on scalars have, `entry` is a plain function of words, without an
    `njit` decorator.
    """
    made = GeneratedModule(f"{HEADER}{'' if native else ARRAY_HEADER}".splitlines())
    keyed, whose = functions_reaching(program, is_draw), dict[PhaseKey, PhaseGroup]()
    kept = {function.name: function_tape_layout(program, function) for function in program.reachable_functions()}
    made.has_tapes = not all(each.is_empty for each in kept.values())
    for number, members in enumerate(strongly_connected_components(program)):
        name, phase = members[0].key
        name = f"{name}_{phase}" if phase else name
        said = name if name.isidentifier() and name.isascii() else ""
        component = PhaseGroup(f"f{number}_{said}", members, members[0].function.name in keyed)
        whose.update({member.key: component for member in members})
        before = len(made.lines)
        _emit_group(program, made, kept, whose, component)
        if len(made.lines) - before > MAX_INLINE_LINES and not native:
            made.lines.append(f"{component.name} = m.noinline({component.name})")
    _emit_entry(program, made, whose[program.entry, 0], kept[program.entry], native)
    where = __package__.rpartition(".")[0]
    if any("strided_op(" in line for line in made.lines):
        made.lines.insert(0, f"from {where}.jit.moves import strided_op")
    called = {name for line in made.lines for name in re.findall(r"\b(\w+_float(?:32|64))\(s?", line)} & set(
        MATMUL_FUNCTIONS
    )
    if called:
        made.lines.insert(0, f"from {where}.jit.matrices import {', '.join(sorted(called))}")
    if native:
        made.lines = [line.replace("cache=True", "cache=False") for line in made.lines]
    return made


_MODULE_MEMBER = re.compile(r"\b(k|d|m|e|w|n|p|np)\.(\w+)")


def flatten_member_access(lines: Sequence[str]) -> str:
    """Replace each access to a member of another module by a name of its own: numba emits an instruction for each
    member access."""
    head = next(at for at, line in enumerate(lines) if not line.startswith("from ") and not line.startswith("import "))
    body = "\n".join(lines[head:])
    named = sorted({found.groups() for found in _MODULE_MEMBER.finditer(body)})
    names = [f"{module}_{name} = {module}.{name}" for module, name in named]
    return "\n".join([*lines[:head], *names, _MODULE_MEMBER.sub(r"\1_\2", body)])


def _emit_group(
    program: Program,
    made: GeneratedModule,
    kept: Mapping[str, TapeLayout],
    whose: Mapping[PhaseKey, PhaseGroup],
    component: PhaseGroup,
) -> None:
    """Emit the function of a group. Its recursive results are first assumed to be unique arrays without -0.0; if that
    turns out to be wrong, the function is emitted again with weaker facts, until these agree."""
    if is_recursive_group(component.members):
        made.result_facts |= {
            each.key: [_optimistic_facts(type_, each.number) for type_ in each.results] for each in component.members
        }
    while True:
        before, assumed = made.copy(), dict(made.result_facts)
        writer = FunctionEmitter(program, made, kept, whose, component)
        writer.emit_function()
        found = {key: _weaken_facts(assumed.get(key, facts), facts) for key, facts in writer.result_facts.items()}
        if not is_recursive_group(component.members) or all(found[key] == assumed[key] for key in found):
            made.result_facts |= found
            return
        made.restore(before)
        made.result_facts |= found


def _optimistic_facts(type_: Type, phase: int) -> ArrayFacts:
    """The facts assumed of a result. Only a result of the first phase is assumed not to be lazy."""
    return (
        ArrayFacts()
        if type_.is_scalar
        else ArrayFacts(is_unique=True, has_no_negative_zero=True, may_be_lazy=phase > 0)
    )


def _weaken_facts(assumed: Sequence[ArrayFacts], found: Sequence[ArrayFacts]) -> list[ArrayFacts]:
    pairs = zip(assumed, found, strict=True)
    return [
        ArrayFacts(
            one.is_unique and other.is_unique,
            one.has_no_negative_zero and other.has_no_negative_zero,
            one.may_be_lazy or other.may_be_lazy,
        )
        for one, other in pairs
    ]


def _emit_entry(program: Program, made: GeneratedModule, component: PhaseGroup, kept: TapeLayout, native: bool) -> None:
    main = program.main
    arguments, begin = list[str](), 0
    for _, type_ in main.body.parameters:
        kind = f"{layout.numpy_dtype(layout.numba_dtype(type_.dtype))}, {layout.axes_tuple(type_)}"
        arguments.append(
            f"m.read_{lane(type_.dtype)}(a, {begin})" if type_.is_scalar else f"m.take_array(a, {begin}, {kind})"
        )
        begin += 1 if type_.is_scalar else 2 + len(type_.shape or ())
    said = {"s": "s", "left": "left", "record": "record", "key": "uint64(key)"}
    said["which"] = f"int64({component.phase_index((main.name, 0))})"
    hidden = [said[name] for name, _ in component.implicit_parameters]
    slots = layout.fill_slots(arguments, layout.slot_types(p.type for p in main.body.parameters), component.parameters)
    made.lines += [
        *([] if native else [f"@njit(int64(int64, int64, int64, int64, int64), {_NJIT_OPTIONS})"]),
        "def entry(s, a, r, left, key):",
        f" m.write(s, 3, max(m.stack_pointer() - m.read_i(s, 3), m.read_i(s, {STACK_FLOOR})))",
        *[f" begin = m.read_i(s, {TAPE_NEXT})"] * made.has_tapes,
        *[f" record = m.allocate_words(s, {kept.end * made.has_tapes})"] * component.has_tape,
        f" made = {component.name}({', '.join([*hidden, *slots])})",
        *[" m.release(s, begin, 0)"] * made.has_tapes,
        " if m.read_i(s, 0) != 0: return 0",  # meaningless arrays would never be freed
    ]
    for at, place in enumerate(layout.slot_positions(layout.slot_types(main.results), component.results)):
        part = f"made[{place}]" if len(component.results) > 1 else "made"
        store = "write" if main.results[at].is_scalar else "store_array"
        made.lines.append(f" m.{store}(r, {SLOT_WORDS * at}, {part})")
    made.lines.append(" return 0")
