"""A run of the compiled engine: the program's module, a thread with a large stack to run it, and how it ended. What is
over before anybody would look runs on the thread that called; so does what was over the last time, while a watchdog
sees to it that nothing else does.

Depth is exact, bytes and seconds are looked at 50 times a second, and so is Ctrl-C. Where the stack ends before the
depth does, the run is Exhausted all the same: generated code asks how much of it is left before it calls.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import cache
from struct import Struct
from typing import Any, NamedTuple

import numpy as np

from ....core.errors import Crash, Exhausted, TagloomError, Usage
from ....core.frontend.trace.pytree import Structure
from ....core.graph.graph import Graph
from ....core.program.program import Node, Program
from ....core.tag import ROOT
from ....core.value import Value, admit, borrow
from ....core.world import World
from ...outcome.outcome import Outcome, exhausted
from ..interrupt import Alarm, interruptible, resident_lately
from ..jit import cache as kept
from ..jit.native import Unlinkable, native
from ..jit.progress import compiling
from ..jit.state import DEPTH, ELSEWHERE, LARGE, MEMORY, ROOM, TRAP
from ..jit.state import STACK as NO_STACK
from ..reference import Limits, admit_arguments, limits_of, rung, structure_of
from . import arena, source, watchdog
from .call_buffer import Words, form_of
from .components import recurs
from .cost import LONG, Brief, Cost, bounded, straight
from .ending import outcome_of
from .host_calls import Performer, Waiter
from .support import has_effects, is_of_scalars, supports
from .text import Text
from .thread import NEAR, SPARE, STACK, Runner, near_stack, running

DEEPEST = 2**24
"""The deepest tag, whatever the limit: more does not fit onto the stack."""
OFTEN = 0.02
"""Seconds between two looks at the clock, at memory, and at whether somebody pressed Ctrl-C."""


@dataclass(slots=True)
class Ready:
    """A program that has been compiled."""

    program: Program
    text: Text
    entry: Callable[..., int]
    is_of_scalars: bool
    recurs: bool
    acts: bool
    """Whether it has effects."""
    asks: bool
    """Whether it leaves anything to Python: effects, or ops without machine code."""
    form: Struct
    """How its arguments lie."""
    operands: int
    """How many operands a trap has at most."""
    brief: Brief | None
    """What it takes, where sizes say that, and it leaves nothing to Python."""
    is_quick: bool = False
    """Whether its last run was over before anybody looked, and leaves nothing to Python."""
    is_deep: bool = False
    """Whether a run took more stack than there is on the thread that called."""


QUICK = 0.005
"""How many seconds a run took that is called quick."""
_ROOT = int(np.uint64(ROOT.key).astype(np.int64))
_ready: OrderedDict[int, Ready] = OrderedDict()
_compiling = kept.unforked(threading.RLock())
"""Held while a program is compiled, so that threads which want the same one wait for it."""
_KEPT = 64
_ELSEWHERE = 'other engines keep calls in memory: engine="fast"'


def prepared(program: Program) -> Ready:
    """The machine code of a program; that of the last programs is kept in memory, of all others on disk. Raises Usage
    where there is none."""
    found = _ready.get(id(program))
    if found is None or found.program is not program:
        with _compiling:
            found = _ready.get(id(program))
            if found is None or found.program is not program:
                found = _ready[id(program)] = _made(program)
            while len(_ready) > _KEPT:
                _ready.popitem(last=False)
    try:  # noqa: SIM105
        _ready.move_to_end(id(program))
    except KeyError:  # another thread has taken it away; `suppress` takes three times as long
        pass
    return found


def _made(program: Program) -> Ready:
    why = supports(program)
    if why is not None:
        raise Usage("engine compiled does not run this program", got=why, hint='engine="reference" runs everything')
    with compiling(program.entry):
        text, entry = _entry(program)
    of_scalars, acts = is_of_scalars(program), has_effects(program)
    asks = any("m.perform(" in line for line in text.lines)
    brief = None if asks else straight(program) or bounded(program)
    form = form_of([parameter.type for parameter in program.main.body.parameters])
    return Ready(program, text, entry, of_scalars, recurs(program), acts, asks, form, text.operands, brief)


def _entry(program: Program) -> tuple[Text, Callable[..., int]]:
    """The text of a program, and what is compiled of it: where all is scalars, it is loaded without numba."""
    name = program.entry if program.entry.isidentifier() else "main"
    if is_of_scalars(program):
        text = source.text_of(program, native=True)
        with suppress(Unlinkable):
            return text, native(name, "\n".join(text.lines), "entry", 5)
    text = source.text_of(program)
    return text, kept.load(name, source.plain(text.lines)).entry


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
    ready, limits = prepared(program), limits_of(limits)
    admitted = admit_arguments(graph, arguments, admit if ready.acts else borrow)  # what effects call may write there
    words, stopped, trap = _ended(ready, admitted, limits, seed, world)
    results: tuple[Value, ...] | None = None
    if stopped is not None:
        _dropped(ready, words)
    elif words.why == ELSEWHERE:
        return None
    elif words.why:
        stopped = _inside(ready, words, limits)
    else:
        results = tuple([words.result(at, type_) for at, type_ in enumerate(program.main.results)])
    structure = structure_of(graph) if structure is None else structure
    outcome = outcome_of(ready.text, graph, words, results, stopped, structure, trap)
    words.rest()
    return outcome


class _Ended(NamedTuple):
    """A run that is over: its words, why it was stopped, and why an effect trapped."""

    words: Words
    stopped: TagloomError | None
    trap: str | None


def _ended(ready: Ready, admitted: Sequence[Value], limits: Limits, seed: int, world: World | None) -> _Ended:
    """Run to the end: on this thread if it seems to be a quick run; again, if it was not."""
    deepest = min(limits.depth, DEEPEST)
    steps = deepest if ready.recurs else min(deepest, len(ready.text.sites))  # no site is twice in a tag
    for hurry in (True, False) if _may_hurry(ready, limits) else (False,):
        words = Words(admitted, ready.form, ready.operands, len(ready.program.main.results), steps, seed)
        work = _work(ready, words, deepest)
        waiter = Performer(ready.text.trapping, words, world or World()) if ready.asks else Waiter()
        with arena.Lent(words, limits.bytes) if ready.text.has_records else nullcontext():
            if hurry:
                stopped = _hurried(ready, words, work, limits)
            elif _is_brief(ready, words.borrowed, limits):
                words.allow_stack(STACK)  # it is bounded
                stopped = _here(ready, words, work, limits)
            else:
                stopped = _watched(ready, words, work, limits, waiter)
        if stopped is not None or not hurry or not _is_cut(ready, words):
            break
        _dropped(ready, words)
    return _Ended(words, stopped, waiter.trap)


def _work(ready: Ready, words: Words, deepest: int) -> Callable[[], None]:
    """The call of generated code, which holds its words."""

    def work() -> None:
        ready.entry(words.address, words.arguments_address, words.results_address, deepest, _ROOT)

    return work


def _inside(ready: Ready, words: Words, limits: Limits) -> TagloomError | None:
    """The limit that generated code met."""
    if words.why == ROOM:
        return rung("bytes", limits)
    if words.why == DEPTH:
        return exhausted("nested calls and loops", "depth", min(limits.depth, DEEPEST))
    if words.why == NO_STACK:
        error = Exhausted(
            f"the run exceeds the {STACK:,} bytes of stack that engine compiled has for nested calls",
            rule="S12",
            hint=_ELSEWHERE,
        )
        error.limit = "depth"
        return error
    if words.why == MEMORY:
        function, node, _ = ready.text.trapping[words.node]
        node = node if isinstance(node, Node) else node.nodes[-1]
        name = f"{function}.{node.name}"
        return Exhausted(f"the result of node {name} does not fit into memory", rule="S12", where=node.location or name)
    return None


def _is_brief(ready: Ready, given: Sequence[Any], limits: Limits) -> bool:
    """Whether a run is over before anybody would look, and memory suffices."""
    if ready.brief is None or limits.seconds is not None:
        return False
    if isinstance(ready.brief, Cost) and threading.current_thread() is not threading.main_thread():
        return False  # other threads may have little stack
    work, most = ready.brief.cost(given)
    return work <= LONG and resident_lately() + most <= limits.bytes


def _may_hurry(ready: Ready, limits: Limits) -> bool:
    """Whether a run on the thread that called is worth a try."""
    if not ready.is_quick or ready.is_deep or limits.seconds is not None:
        return False
    if threading.current_thread() is not threading.main_thread() or near_stack() is None:
        return False  # who knows how much stack is left
    return resident_lately() <= limits.bytes and watchdog.has_begun()


def _hurried(ready: Ready, words: Words, work: Callable[[], None], limits: Limits) -> TagloomError | None:
    """Run on the thread that called, where a watchdog stops what is not over soon."""
    words.allow_stack(NEAR, _near_end())
    with watchdog.watching(words):
        return _here(ready, words, work, limits)


def _is_cut(ready: Ready, words: Words) -> bool:
    """Whether a run that was hurried is to begin again: it took too long, or too much stack. One that was stopped may
    have met what is not there."""
    is_slow = words.is_stopped
    is_deep = not is_slow and words.why == NO_STACK
    ready.is_quick = not is_slow
    ready.is_deep = is_deep and words.lowest != _near_end()  # else it was the caller who was deep
    return is_slow or is_deep


def _dropped(ready: Ready, words: Words) -> None:
    """Let go of what a run has left that begins again, or was stopped."""
    words.drop(ready.program.main.results)
    if words.why == TRAP:
        for at, type_ in enumerate(ready.text.trapping[words.node][2]):
            words.lent(at, type_)


def _near_end() -> int:
    """How low a run may go on the stack of the thread that called, whatever it needs of it."""
    return (near_stack() or 0) + SPARE


def _here(ready: Ready, words: Words, work: Callable[[], None], limits: Limits) -> TagloomError | None:
    """Run on the thread that called: to hand over to another and back takes as long as 100,000 additions."""
    _call_crew(ready, words)
    try:
        work()
    except KeyboardInterrupt:  # which waited until machine code had ended
        return rung("interrupt", limits)
    except MemoryError:
        return None if words.is_stopped else _no_memory(ready)
    if words.wants_crew:
        _call_soon()
    return None


def _watched(
    ready: Ready, words: Words, work: Callable[[], None], limits: Limits, waiter: Waiter
) -> TagloomError | None:
    """Run on a thread of its own, to the end, or to a limit, or Ctrl-C."""
    _call_crew(ready, words)
    failed: list[BaseException] = []

    def guarded() -> None:
        try:
            work()
        except BaseException as error:
            failed.append(error)
        finally:
            waiter.end()

    begin = time.monotonic()
    with interruptible() as interrupt:
        alarm = Alarm(limits.seconds, limits.bytes, interrupt)
        ringing = alarm.rings(0 if resident_lately() > limits.bytes else 1, None)  # 0 has it look again
        if ringing is None:
            with running(words, guarded, waiter, recurs=ready.recurs) as thread:
                ringing = _waited(thread, words, alarm, waiter)
        ready.is_quick = not ready.asks and time.monotonic() - begin < QUICK
        failed += [waiter.raised] if waiter.raised is not None else []
        if failed and not isinstance(failed[0], MemoryError):
            raise Crash("compiled code failed", where=ready.program.entry) from failed[0]
        is_out = bool(failed)
        failed.clear()  # its frames hold the arguments, and this
        if interrupt.hear():
            return rung("interrupt", limits)
    if is_out:
        return _no_memory(ready)
    return None if ringing is None else rung(ringing, limits)


def _waited(thread: Runner, words: Words, alarm: Alarm, waiter: Waiter) -> str | None:
    """Wait until a run has ended; why it is to end, if it has not. Meanwhile what it asks for is done."""
    while not waiter.is_over(thread, OFTEN):
        ringing = alarm.rings(0, None)
        if ringing is not None:
            return ringing
        if words.wants_crew:
            words.allow_crew(_call_soon())
    return None


@cache
def _crew() -> Any:
    """The module of the crew, which runs of scalars do not need."""
    from ..jit import thread_pool as crew

    return crew


def _call_soon() -> int:
    """Have a crew that is not there yet begin."""
    return int(_crew().soon())


def _call_crew(ready: Ready, words: Words) -> None:
    """Have helpers at hand, if they are, or where there are large arrays; before anybody looks, since they may have to
    be compiled."""
    if ready.is_of_scalars:
        return
    crew = _crew()
    for each in words.borrowed:
        if each.size >= LARGE:
            words.allow_crew(crew.begun())
            return
    words.allow_crew(crew.at_hand())


def _no_memory(ready: Ready) -> Exhausted:
    return Exhausted("the run does not fit into memory", rule="S12", where=ready.program.entry)
