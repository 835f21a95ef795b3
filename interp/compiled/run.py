"""A run of the compiled engine: the program's module, a thread with a large stack to run it, and how it ended.

Depth is exact, bytes and seconds are looked at 50 times a second, and so is Ctrl-C. Where the stack ends before the
depth does, the run is Exhausted all the same: generated code asks how much of it is left before it calls.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.errors import Crash, Exhausted, TagloomError, Usage
from ...core.frontend.structure import Structure
from ...core.graph import Graph
from ...core.program import Node, Program
from ...core.tag import ROOT
from ...core.value import Value, admit, borrow
from ...core.world import World
from ..alarm import Alarm, interruptible
from ..jit import crew
from ..jit.crew import LARGE
from ..jit.progress import compiling
from ..outcome import Outcome, exhausted
from ..reference import Limits, admit_arguments, limits_of, rung, structure_of
from .components import recurs
from .ending import outcome_of
from .performing import Performer
from .support import has_effects, leaves, supports
from .thread import STACK, Runner, runner
from .words import Words, write
from .words import given as array_given

DEEPEST = 2**24
"""The deepest tag, whatever the limit: more does not fit onto the stack."""
OFTEN = 0.02
"""Seconds between two looks at the clock, at memory, and at whether somebody pressed Ctrl-C."""


@dataclass(frozen=True, slots=True)
class Ready:
    """A program that has been compiled."""

    program: Program
    text: Any
    entry: Callable[..., None]
    recurs: bool
    acts: bool
    """Whether it has effects."""
    leaves: bool
    """Whether it has ops that are left to Python."""
    shares: bool
    """Whether it has loops that may be shared out over cores."""


_ready: OrderedDict[int, Ready] = OrderedDict()
_KEPT = 64
_ELSEWHERE = 'other engines keep calls in memory: engine="fast"'


def prepared(program: Program) -> Ready:
    """The machine code of a program; that of the last programs is kept in memory, of all others on disk. Raises Usage
    where there is none."""
    from ..jit import cache
    from .source import text_of

    found = _ready.get(id(program))
    if found is None or found.program is not program:
        why = supports(program)
        if why is not None:
            raise Usage("engine compiled does not run this program", got=why, hint='engine="reference" runs everything')
        made = text_of(program)
        with compiling(program.entry):
            module = cache.load(program.entry if program.entry.isidentifier() else "main", "\n".join(made.lines))
        shares = any("w.share" in line for line in made.lines)
        found = Ready(program, made, module.entry, recurs(program), has_effects(program), leaves(program), shares)
        _ready[id(program)] = found
        while len(_ready) > _KEPT:
            _ready.popitem(last=False)
    return found


def is_ready(program: Program) -> bool:
    """Whether the machine code of a program is in memory."""
    found = _ready.get(id(program))
    return found is not None and found.program is program


def is_too_deep(outcome: Outcome) -> bool:
    """Whether a run ended because the stack did, which other engines do not need."""
    return isinstance(outcome.error, Exhausted) and outcome.error.hint == _ELSEWHERE


def run_compiled(
    program: Program,
    graph: Graph,
    arguments: Sequence[object],
    *,
    limits: Limits | None = None,
    structure: Structure | None = None,
    seed: int = 0,
    world: World | None = None,
) -> Outcome | None:
    """Run a program; `graph` is what it lowers to, for what an outcome says of nodes. How it ends is data; None where
    only a machine with tokens can tell: a cell was empty when it was wanted, or an op on cells trapped.

    The limits on firings and tokens mean nothing here. Raises Usage where the program is not supported, or the
    arguments do not fit.
    """
    from ..jit import machine

    ready, limits = prepared(program), limits_of(limits)
    admitted = admit_arguments(graph, arguments, admit if ready.acts else borrow)  # what effects call may write there
    deepest = min(limits.depth, DEEPEST)
    borrowed = [each for each in admitted if isinstance(each, np.ndarray)]
    steps = deepest if ready.recurs else min(deepest, len(ready.text.sites))  # no site is twice in a tag
    words = Words(ready.text.operands, len(program.main.results), steps, seed, borrowed)
    given = np.zeros(max(1, len(admitted)), np.int64)
    arrays = []
    for at, (parameter, value) in enumerate(zip(program.main.body.parameters, admitted, strict=True)):
        if parameter.type.is_scalar:
            write(given, at, value, parameter.type.dtype)
        else:
            arrays.append(array_given(value, parameter.type))
    asks = ready.acts or ready.leaves
    performer = Performer(ready.text.trapping, words, world or World()) if asks else None
    stopped = _run(ready, words, given, arrays, deepest, limits, performer)
    if stopped is None and words.why == machine.ELSEWHERE:
        return None
    results: tuple[Value, ...] | None = None
    if stopped is None and not words.why:
        results = tuple(words.result(at, type_) for at, type_ in enumerate(program.main.results))
    structure = structure_of(graph) if structure is None else structure
    stopped = stopped or _inside(ready, words, limits)
    return outcome_of(ready.text, graph, words, results, stopped, structure, performer.trap if performer else None)


def _inside(ready: Ready, words: Words, limits: Limits) -> Exhausted | None:
    """The limit that generated code met."""
    from ..jit import machine

    if words.why == machine.DEPTH:
        return exhausted("nested calls and loops", "depth", min(limits.depth, DEEPEST))
    if words.why == machine.STACK:
        error = Exhausted(
            f"the run exceeds the {STACK:,} bytes of stack that engine compiled has for nested calls",
            rule="S12",
            hint=_ELSEWHERE,
        )
        error.limit = "depth"
        return error
    if words.why == machine.MEMORY:
        function, node, _ = ready.text.trapping[words.node]
        node = node if isinstance(node, Node) else node.nodes[-1]
        name = f"{function}.{node.name}"
        return Exhausted(f"the result of node {name} does not fit into memory", rule="S12", where=node.location or name)
    return None


def _run(
    ready: Ready,
    words: Words,
    given: Any,
    arrays: Sequence[Any],
    deepest: int,
    limits: Limits,
    performer: Performer | None,
) -> TagloomError | None:
    """Run to the end, or to a limit, or Ctrl-C."""
    failed: list[BaseException] = []

    def run() -> None:
        try:
            key = np.uint64(ROOT.key)
            ready.entry(words.address, given.ctypes.data, words.results.ctypes.data, deepest, key, *arrays)
        except BaseException as error:
            failed.append(error)
        finally:
            if performer is not None:
                performer.end()

    with interruptible() as interrupt:
        alarm = Alarm(limits.seconds, limits.bytes, interrupt)
        ringing = alarm.rings(0, None)
        if ringing is not None:
            if performer is not None:
                performer.drop()
            return rung(ringing, limits)
        thread = runner(words)
        if ready.shares and any(each.size >= LARGE for each in arrays):
            words.allow_crew(crew.begun())
        thread.begin(run)
        try:
            stopped = _waited(thread, ready, words, alarm, limits, performer)
        except BaseException:
            words.stop()
            if performer is not None:
                performer.give_up()
            thread.is_done()
            raise
        finally:
            thread.close() if ready.recurs else thread.keep()
            if performer is not None:
                performer.drop()
    if performer is not None and performer.raised is not None:
        raise Crash("an op raised", where=ready.program.entry) from performer.raised
    if failed and isinstance(failed[0], MemoryError):
        return Exhausted("the run does not fit into memory", rule="S12", where=ready.program.entry)
    if failed:
        raise Crash("compiled code failed", where=ready.program.entry) from failed[0]
    return stopped


def _waited(
    thread: Runner, ready: Ready, words: Words, alarm: Alarm, limits: Limits, performer: Performer | None
) -> TagloomError | None:
    """Wait until a run has ended; why it was told to, if it was. Meanwhile what it asks for is done."""
    is_over = thread.is_done if performer is None else performer.is_over
    while not is_over(OFTEN):
        ringing = alarm.rings(0, None)
        if ringing is not None:
            words.stop()
            if performer is not None:
                performer.give_up()
            thread.is_done()
            return rung(ringing, limits)
        if ready.shares:
            words.allow_crew(crew.begun())
    thread.is_done()
    return rung("interrupt", limits) if alarm.interrupt.pressed else None
